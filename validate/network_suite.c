// SPDX-License-Identifier: GPL-3.0-or-later
#include "validate/network_suite.h"
#include "models/traffic_run.h"
#include "sim/csv.h"
#include "sim/os.h"
#include "sim/words.h"
#include "validate/folder.h"
#include <math.h>
#include <string.h>

ARRAY_OF(unit_kind, unit_kind_array);

typedef struct network_judge {
    arena *a;
    const network_suite_options *options;
    const char *folder;
    network_case_array cases;
    network_suite *out;
    unit_kind_array units;
    sim_error *error;
} network_judge;

static const unit_kind unit_of_answer[] = {
    [ANSWER_LATENCY] = UNIT_TIME, [ANSWER_RATE] = UNIT_RATE, [ANSWER_SHARE] = UNIT_NONE
};

// ---- what was measured

static const char *field(const network_field_array *row, const char *column)
{
    for (uint32_t i = 0; i < row->count; i++)
        if (strcmp(row->items[i].column, column) == 0) return row->items[i].text;
    return NULL;
}

// The number of a value such as "380.0 / 391.8" or "0.49 Gb/s (Reno)" that the case takes.
static const char *part_of_value(arena *a, const char *value, uint32_t take)
{
    for (; take > 1; take--) {
        const char *slash = strstr(value, " /");
        if (!slash) return "";
        value = slash + 2;
    }
    value += strspn(value, " ");
    size_t length = strcspn(value, "(");
    const char *bar = strstr(value, " /");
    if (bar && (size_t)(bar - value) < length) length = (size_t)(bar - value);
    while (length > 0 && value[length - 1] == ' ')
        length--;
    return arena_text_n(a, value, length);
}

// A number with its unit, or with that of the column. NAN and the reason where there is none.
static double measured_of(const network_judge *j, const network_case *c, const network_field_array *row,
                          const char **reason)
{
    const unit_kind kind = unit_of_answer[c->answer];
    const char *text = c->measured ? c->measured : part_of_value(j->a, field(row, "value"), c->take);
    const bool bare = *text && strspn(text, "0123456789.eE+-") == strlen(text);
    const char *whole = bare && kind != UNIT_NONE ? arena_format(j->a, "%s %s", text, field(row, "unit"))
                                                  : text;
    sim_error error = { 0 };
    double value;
    if (units_parse(kind, whole, &value, NULL, &error) && value > 0.0) return value;
    char shown[WORDS_SHOWN_SIZE];
    *reason = arena_format(j->a, "\"%s\" is no number to compare with", words_show(shown, whole));
    return (double)NAN;
}

// ---- what is simulated

static double answer_of(const network_case *c, const traffic_run_result *r)
{
    const cluster_def *cluster = &r->run.scenario->cluster;
    const double flow_s = units_s_from_ps(r->flows.completion_last_ps);
    const double rate_Bps = (double)r->flows.bytes / flow_s;
    if (c->answer == ANSWER_LATENCY) return flow_s + units_s_from_ps(2 * cluster->node.nic.delay_ps);
    return c->answer == ANSWER_RATE ? rate_Bps : rate_Bps / cluster->node.nic.rate_Bps;
}

// One flow, from the last host to the first.
static bool play(const network_judge *j, const network_case *c, const text_list *sets, double *out)
{
    const traffic_run_options options = {
        .run = { .scenario_path = arena_format(j->a, "%s/network/base.yaml", j->folder),
                 .sets = sets->items,
                 .set_count = sets->count,
                 .catalogue_path = j->options->catalogue_path },
        .pattern = { .kind = PATTERN_INCAST, .bytes = c->size_bytes, .rounds = 1, .seed = 42 },
    };
    traffic_run_result r;
    const bool played = traffic_run_execute(&options, &r, j->error);
    if (played) *out = answer_of(c, &r);
    traffic_run_free(&r);
    return played;
}

static bool simulate(const network_judge *j, const network_case *c, double *out)
{
    double less = 0.0;
    text_list both = { 0 };
    if (!play(j, c, &c->set, out)) return false;
    for (uint32_t i = 0; i < c->set.count + c->less.count; i++)
        *array_push(&both, j->a) = i < c->set.count ? c->set.items[i] : c->less.items[i - c->set.count];
    if (c->less.count > 0 && !play(j, c, &both, &less)) return false;
    *out = (*out - less) * c->times;
    return true;
}

// ---- rows

static compared_row *add_row(network_judge *j, const char *id, const char *source, unit_kind unit)
{
    compared_row *row = array_push(&j->out->rows, j->a);
    *row = (compared_row){
        .id = id, .source = source, .measured = (double)NAN, .simulated = (double)NAN, .constant = (double)NAN
    };
    *array_push(&j->units, j->a) = unit;
    return row;
}

static bool judge_case(network_judge *j, const network_case *c, const network_field_array *row,
                       const char *table, const char *id)
{
    const char *source = j->options->data ? table
                                          : arena_format(j->a, "%s, %s", table, network_role_words[c->role]);
    compared_row *made = add_row(j, id, source, unit_of_answer[c->answer]);
    made->measured = measured_of(j, c, row, &made->unknown_reason);
    return made->unknown_reason || simulate(j, c, &made->simulated);
}

static bool judge_row(network_judge *j, const network_field_array *row, const char *table, const char *id)
{
    const char *reason = "no case of validate/network/cases.yaml says how such a row is played";
    bool found = false;
    uint32_t played = 0;
    for (uint32_t i = 0; i < j->cases.count; i++) {
        const network_case *c = &j->cases.items[i];
        if (!network_case_holds(c, row)) continue;
        if (c->unknown && !found) reason = c->unknown;
        found = true;
        if (c->unknown) continue;
        const char *own = played++ ? arena_format(j->a, "%s/%u", id, played) : id;
        if (!judge_case(j, c, row, table, own)) return false;
    }
    if (played > 0) return true;
    const char *source = j->options->data ? table : arena_format(j->a, "%s, held", table);
    add_row(j, id, source, UNIT_NONE)->unknown_reason = reason;
    return true;
}

static bool check_columns(const csv_reader *csv, const char *path, bool *has_id, sim_error *error)
{
    static const char *const needed[] = { "metric", "value", "unit" };
    uint32_t found = 0;
    bool is_named = false;
    *has_id = false;
    for (uint32_t i = 0; i < csv_columns(csv); i++) {
        const char *name = csv_column(csv, i)->text;
        for (size_t k = 0; k < ARRAY_COUNT(needed); k++)
            found += strcmp(name, needed[k]) == 0;
        *has_id |= strcmp(name, "id") == 0;
        is_named |= strcmp(name, "item") == 0 || strcmp(name, "id") == 0;
    }
    if (found == ARRAY_COUNT(needed) && is_named) return true;
    return sim_fail(error, SIM_EXIT_INPUT, &csv_column(csv, 0)->place,
                    "%s has not the columns of a table of measured networks", path) ||
           sim_hint(error, "it needs metric, value, unit, and item or id");
}

static bool judge_table(network_judge *j, const char *path, const char *table)
{
    csv_reader *csv = csv_open(j->a, path, NULL, j->error);
    const csv_field *fields;
    bool has_id;
    if (!csv || !check_columns(csv, path, &has_id, j->error)) return false;
    while ((fields = csv_next(csv, j->error)) != NULL) {
        network_field_array row = { 0 };
        const uint32_t line = fields[0].place.line;
        for (uint32_t i = 0; i < csv_columns(csv); i++)
            *array_push(&row, j->a) = (network_field){ csv_column(csv, i)->text, fields[i].text };
        const char *id = has_id ? field(&row, "id") : arena_format(j->a, "%s:%u", table, line);
        if (!judge_row(j, &row, table, id)) return false;
    }
    return !sim_failed(j->error);
}

static bool judge_tables(network_judge *j)
{
    static const char *const published[] = { "network-gear", "loss-effects" };
    if (j->options->data) return judge_table(j, j->options->data, "data");
    for (size_t i = 0; i < ARRAY_COUNT(published); i++)
        if (!judge_table(j, arena_format(j->a, "%s/%s.csv", j->options->measured, published[i]),
                         published[i]))
            return false;
    return true;
}

bool network_suite_build(arena *a, const network_suite_options *options, network_suite *out, sim_error *error)
{
    network_judge j = { .a = a, .options = options, .out = out, .error = error };
    *out = (network_suite){ 0 };
    j.folder = validate_folder(a, error);
    if (!j.folder) return false;
    const char *cases = arena_format(a, "%s/network/cases.yaml", j.folder);
    if (!network_cases_read(a, cases, &j.cases, error) || !judge_tables(&j)) return false;
    out->units = j.units.items;
    return true;
}
