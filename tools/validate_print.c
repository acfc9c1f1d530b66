// SPDX-License-Identifier: GPL-3.0-or-later
// How every suite of windtunnel validate is told.
#include "tools/validate.h"
#include <math.h>
#include <string.h>

// ---- for people

static void cell_share(table *t, double share)
{
    if (isfinite(share))
        table_cell(t, "%+.1f %%", 100.0 * share);
    else
        table_cell(t, "%s", "");
}

static void print_rows(arena *a, const compared_row_array *rows, const validate_columns *columns, FILE *out)
{
    table_column titles[7] = {
        { "row", false }, { "source", false }, { "measured", true }, { "simulated", true }, { "error", true }
    };
    const uint32_t *order = compare_order(a, rows);
    uint32_t count = 5;
    if (columns->constant) titles[count++] = (table_column){ "constant", true };
    if (columns->memory_ratios) titles[count++] = (table_column){ "memory", true };
    table t = table_make(a, titles, count);
    for (uint32_t i = 0; i < rows->count; i++) {
        const compared_row *row = &rows->items[order[i]];
        if (row->unknown_reason) break;
        table_cell(&t, "%s", row->id);
        table_cell(&t, "%s", row->source);
        const unit_kind unit = columns->units ? columns->units[order[i]] : UNIT_TIME;
        table_cell(&t, "%s", output_number(a, unit, row->measured));
        table_cell(&t, "%s", output_number(a, unit, row->simulated));
        cell_share(&t, compared_error(row));
        if (columns->constant) cell_share(&t, row->constant / row->measured - 1.0);
        if (columns->memory_ratios) table_cell(&t, "%.0f %%", 100.0 * columns->memory_ratios[order[i]]);
    }
    if (!t.cells.count) return;
    table_print(&t, "", out);
    fputc('\n', out);
}

typedef struct reason_count {
    const char *reason;
    uint32_t rows;
    const char *first; // its id
} reason_count;
ARRAY_OF(reason_count, reason_count_array);

void validate_print_reasons(arena *a, const compared_row_array *rows, const char *title, FILE *out)
{
    const table_column columns[] = { { "rows", true }, { "such as", false }, { title, false } };
    reason_count_array reasons = { 0 };
    for (uint32_t i = 0; i < rows->count; i++) {
        const compared_row *row = &rows->items[i];
        uint32_t k = 0;
        if (!row->unknown_reason) continue;
        while (k < reasons.count && strcmp(reasons.items[k].reason, row->unknown_reason) != 0)
            k++;
        if (k == reasons.count)
            *array_push(&reasons, a) = (reason_count){ .reason = row->unknown_reason, .first = row->id };
        reasons.items[k].rows++;
    }
    if (!reasons.count) return;
    table t = table_make(a, columns, ARRAY_COUNT(columns));
    for (uint32_t i = 0; i < reasons.count; i++) {
        table_cell(&t, "%u", reasons.items[i].rows);
        table_cell(&t, "%s", reasons.items[i].first);
        table_cell(&t, "%s", reasons.items[i].reason);
    }
    fputc('\n', out);
    table_print(&t, "", out);
}

static void print_sources(arena *a, const compared_row_array *rows, const validate_columns *told, FILE *out)
{
    static const table_column columns[] = { { "source", false }, { "rows", true },    { "unknown", true },
                                            { "MAPE", true },    { "median", true },  { "worst", true },
                                            { "tau", true },     { "constant", true } };
    const compared_source_array sources = compare_sources(a, rows);
    if (sources.count == 0) return;
    table t = table_make(a, columns, told->constant ? 8 : 7);
    for (uint32_t i = 0; i < sources.count; i++) {
        const compared_source *s = &sources.items[i];
        table_cell(&t, "%s", s->source);
        table_cell(&t, "%u", s->n);
        table_cell(&t, "%u", s->unknown);
        table_cell(&t, "%s", isfinite(s->mape) ? output_percent(a, s->mape) : "");
        table_cell(&t, "%s", isfinite(s->median) ? output_percent(a, s->median) : "");
        cell_share(&t, s->worst);
        table_cell(&t, "%s", isfinite(s->tau) ? arena_format(a, "%.2f", s->tau) : "");
        if (told->constant)
            table_cell(&t, "%s", isfinite(s->constant_mape) ? output_percent(a, s->constant_mape) : "");
    }
    table_print(&t, "", out);
}

static void print_legend(const compared_row_array *rows, const validate_columns *told, FILE *out)
{
    uint32_t i = 0;
    while (i < rows->count && rows->items[i].unknown_reason)
        i++;
    if (i == rows->count) return;
    fputs("error: simulated / measured - 1; MAPE, median: of its absolute value; tau: 1 where all are in "
          "order\n",
          out);
    if (told->constant)
        fputs("constant: the error of one rate for all rows of a GPU and number format, the model to beat\n",
              out);
    if (told->memory_ratios) fputs("memory: what the fullest GPU needs of what it has\n", out);
}

void validate_print(arena *a, const compared_row_array *rows, bool each, const validate_columns *columns,
                    FILE *out)
{
    if (each) print_rows(a, rows, columns, out);
    print_sources(a, rows, columns, out);
    print_legend(rows, columns, out);
    validate_print_reasons(a, rows, "unknown, because", out);
}

bool validate_scored(const compared_row_array *rows, sim_error *error)
{
    for (uint32_t i = 0; i < rows->count; i++)
        if (!rows->items[i].unknown_reason) return true;
    if (rows->count == 0)
        return sim_fail(error, SIM_EXIT_NO, NULL, "the table has no rows, so nothing is scored");
    const compared_row *first = &rows->items[0];
    if (rows->count == 1)
        sim_fail(error, SIM_EXIT_NO, NULL, "the one row is not scored");
    else
        sim_fail(error, SIM_EXIT_NO, NULL, "none of %u rows is scored", rows->count);
    return sim_hint(error, "%s: %s", first->id, first->unknown_reason);
}

// ---- for machines

static void json_sources(arena *a, json_writer *j, const compared_row_array *rows)
{
    const compared_source_array sources = compare_sources(a, rows);
    json_array(j, "sources");
    for (uint32_t i = 0; i < sources.count; i++) {
        const compared_source *s = &sources.items[i];
        json_object(j, NULL);
        json_text(j, "source", s->source);
        json_count(j, "n", s->n);
        json_count(j, "unknown", s->unknown);
        json_number(j, "mape", s->mape);
        json_number(j, "median", s->median);
        json_number(j, "worst", s->worst);
        json_number(j, "tau", s->tau);
        json_number(j, "baseline_mape", s->constant_mape);
        json_close(j);
    }
    json_close(j);
}

void validate_json_begin(arena *a, json_writer *j, const char *suite, const compared_row_array *rows)
{
    json_object(j, NULL);
    json_text(j, "suite", suite);
    json_sources(a, j, rows);
    json_array(j, "rows");
    for (uint32_t i = 0; i < rows->count; i++) {
        const compared_row *row = &rows->items[i];
        json_object(j, NULL);
        json_text(j, "id", row->id);
        json_text(j, "source", row->source);
        json_number(j, "measured", row->measured);
        json_number(j, "simulated", row->simulated);
        json_number(j, "error", compared_error(row));
        json_text(j, "unknown_reason", row->unknown_reason);
        json_close(j);
    }
    json_close(j);
}

void validate_print_json(arena *a, const char *suite, const compared_row_array *rows, FILE *out)
{
    json_writer j = json_make(out);
    validate_json_begin(a, &j, suite, rows);
    json_close(&j);
}
