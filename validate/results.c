// SPDX-License-Identifier: GPL-3.0-or-later
#include "validate/results.h"
#include "sim/check.h"
#include "sim/csv.h"
#include "sim/units.h"
#include <math.h>
#include <string.h>

enum {
    RESULT_ID,
    RESULT_SOURCE,
    RESULT_MEASURED,
    RESULT_SIMULATED,
    RESULT_ERROR,
    RESULT_CONSTANT,
    RESULT_MEMORY,
    RESULT_STATUS,
    RESULT_REASON,
    RESULT_COLUMNS
};
static const char *const columns[RESULT_COLUMNS] = { "id",          "source", "measured_s",
                                                     "simulated_s", "error",  "constant_error",
                                                     "memory",      "status", "reason" };

// ---- the file is read

static bool check_columns(const csv_reader *r, sim_error *error)
{
    for (uint32_t i = 0; i < RESULT_COLUMNS; i++)
        if (i >= csv_columns(r) || strcmp(csv_column(r, i)->text, columns[i]) != 0)
            return sim_fail(error, SIM_EXIT_INPUT, &csv_column(r, 0)->place,
                            "column %u of a table of results is \"%s\"", i + 1, columns[i]);
    return true;
}

static bool read_number(const csv_field *field, double *out, sim_error *error)
{
    *out = (double)NAN;
    return !*field->text || units_parse(UNIT_NONE, field->text, out, &field->place, error);
}

bool results_read(arena *a, const char *path, compared_row_array *out, sim_error *error)
{
    const csv_field *f;
    csv_reader *r = csv_open(a, path, NULL, error);
    if (!r || !check_columns(r, error)) return false;
    while ((f = csv_next(r, error)) != NULL) {
        double constant_error;
        compared_row row = { .id = f[RESULT_ID].text, .source = f[RESULT_SOURCE].text };
        if (!read_number(&f[RESULT_MEASURED], &row.measured, error) ||
            !read_number(&f[RESULT_SIMULATED], &row.simulated, error) ||
            !read_number(&f[RESULT_CONSTANT], &constant_error, error))
            return false;
        row.constant = row.measured * (1.0 + constant_error);
        if (strcmp(f[RESULT_STATUS].text, "scored") != 0) row.unknown_reason = f[RESULT_REASON].text;
        *array_push(out, a) = row;
    }
    return !sim_failed(error);
}

// ---- the file is written

static void write_quoted(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"') fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

// In quotes where it must be; the others stay as sort and grep like them.
static void write_text(FILE *out, const char *text)
{
    if (strpbrk(text, ",\"\r\n"))
        write_quoted(out, text);
    else
        fputs(text, out);
    fputc(',', out);
}

static void write_number(FILE *out, const char *format, double value)
{
    if (isfinite(value)) fprintf(out, format, value);
    fputc(',', out);
}

void results_write(const training_suite *suite, const played_case *played, FILE *out)
{
    const compared_row_array rows = training_suite_compare(suite, played);
    for (int i = 0; i < RESULT_COLUMNS; i++)
        fprintf(out, "%s%s", i ? "," : "", columns[i]);
    fputc('\n', out);
    for (uint32_t i = 0; i < rows.count; i++) {
        const compared_row *row = &rows.items[i];
        write_text(out, row->id);
        write_text(out, row->source);
        write_number(out, "%.5g", row->measured);
        write_number(out, "%.5g", row->simulated);
        write_number(out, "%.4f", compared_error(row));
        write_number(out, "%.4f", row->unknown_reason ? (double)NAN : row->constant / row->measured - 1.0);
        write_number(out, "%.3f", played[i].status == PLAYED_UNKNOWN ? (double)NAN : played[i].memory_ratio);
        fprintf(out, "%s,", played_status_words[played[i].status]);
        write_quoted(out, played[i].reason);
        fputc('\n', out);
    }
}

// ---- a table for README.md

static void cell(FILE *out, const char *format, double value)
{
    fputs(" ", out);
    if (isfinite(value)) fprintf(out, format, value);
    fputs(" |", out);
}

static void write_line(const char *name, const compared_source *s, FILE *out)
{
    fprintf(out, "| %s | %u | %u |", name, s->n, s->unknown);
    cell(out, "%.1f %%", 100.0 * s->mape);
    cell(out, "%.1f %%", 100.0 * s->median);
    cell(out, "%+.0f %%", 100.0 * s->worst);
    cell(out, "%.2f", s->tau);
    cell(out, "%.0f %%", 100.0 * s->constant_mape);
    fputc('\n', out);
}

// Sources of which nothing counts are told together.
void results_write_table(arena *a, const compared_row_array *rows, FILE *out)
{
    const compared_source_array sources = compare_sources(a, rows);
    compared_row_array all = { 0 };
    uint32_t silent = 0, silent_rows = 0;
    for (uint32_t i = 0; i < rows->count; i++) {
        compared_row row = rows->items[i];
        row.source = "all";
        *array_push(&all, a) = row;
    }
    fputs("| source | rows | not played | mean error | median | worst | order | constant |\n"
          "| --- | --- | --- | --- | --- | --- | --- | --- |\n",
          out);
    for (uint32_t i = 0; i < sources.count; i++) {
        if (sources.items[i].n) {
            write_line(sources.items[i].source, &sources.items[i], out);
        } else {
            silent++;
            silent_rows += sources.items[i].unknown;
        }
    }
    if (silent) fprintf(out, "| %u more sources | 0 | %u | | | | | |\n", silent, silent_rows);
    const compared_source_array total = compare_sources(a, &all);
    if (total.count) write_line("all", &total.items[0], out);
}
