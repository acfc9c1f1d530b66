// SPDX-License-Identifier: GPL-3.0-or-later
#include "validate/collective_rows.h"
#include "sim/map.h"
#include "sim/units.h"
#include "sim/words.h"
#include "validate/field_rule.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const run_column_words[] = {
    "id",           "source", "provenance",    "collective",    "algorithm", "protocol",
    "gpu",          "gpus",   "gpus_per_node", "nics_per_node", "nic_gbps",  "fabric",
    "nccl_version", "dtype",  "notes",         "nodes",         NULL
};

// Those of a row follow those of a run; bandwidths follow from size and time.
enum {
    ROW_SIZE = RUN_NODES,
    ROW_TIME,
    ROW_ALGORITHM_BANDWIDTH,
    ROW_BUS_BANDWIDTH,
    ROW_IN_PLACE,
    TABLE_COLUMNS
};
static const char *const table_words[TABLE_COLUMNS] = {
    "id",    "source",        "provenance",    "collective", "algorithm", "protocol",     "gpu",
    "gpus",  "gpus_per_node", "nics_per_node", "nic_gbps",   "fabric",    "nccl_version", "dtype",
    "notes", "size_bytes",    "time_us",       "algbw_gbs",  "busbw_gbs", "in_place",
};
static const int required[] = { RUN_ID,   RUN_COLLECTIVE, RUN_GPU, RUN_GPUS, RUN_GPUS_PER_NODE,
                                ROW_SIZE, ROW_TIME };

enum { NO_COLUMN = -1 };

typedef struct table {
    arena *arena;
    csv_reader *csv;
    int place_of[TABLE_COLUMNS]; // in the table; NO_COLUMN
    text_map *runs;              // by id
    collective_rows *out;
    sim_error *error;
} table;

static bool find_columns(table *t)
{
    char shown[WORDS_SHOWN_SIZE];
    for (int c = 0; c < TABLE_COLUMNS; c++)
        t->place_of[c] = NO_COLUMN;
    for (uint32_t i = 0; i < csv_columns(t->csv); i++) {
        const csv_field *name = csv_column(t->csv, i);
        int c = 0;
        while (c < TABLE_COLUMNS && strcmp(name->text, table_words[c]) != 0)
            c++;
        if (c == TABLE_COLUMNS) {
            sim_fail(t->error, SIM_EXIT_INPUT, &name->place,
                     "there is no column \"%s\" in a table of collectives", words_show(shown, name->text));
            return words_hint(t->error, name->text, table_words, TABLE_COLUMNS, TABLE_COLUMNS, "columns");
        }
        t->place_of[c] = (int)i;
    }
    for (size_t i = 0; i < ARRAY_COUNT(required); i++)
        if (t->place_of[required[i]] == NO_COLUMN)
            return sim_fail(t->error, SIM_EXIT_INPUT, &csv_column(t->csv, 0)->place,
                            "the column \"%s\" is missing", table_words[required[i]]) ||
                   sim_hint(t->error,
                            "a table of collectives has the columns of validate/measured/collectives.csv");
    return true;
}

static const char *text_of(const table *t, const csv_field *fields, int column)
{
    return t->place_of[column] == NO_COLUMN ? "" : fields[t->place_of[column]].text;
}

static const sim_place *place_of(const table *t, const csv_field *fields, int column)
{
    return &fields[t->place_of[column] == NO_COLUMN ? 0 : t->place_of[column]].place;
}

// ---- what may be in a field

static const char *const algorithm_words[] = { "auto",     "Ring",    "Tree",          "NVLS",
                                               "NVLSTree", "CollNet", "CollNetDirect", "CollNetChain",
                                               "PAT",      "p2p",     "DeepEP",        NULL };
static const char *const protocol_words[] = { "auto", "Simple", "LL", "LL128", "FP8 payload", NULL };
static const char *const dtype_words[] = { "int8",   "uint8",  "int32",    "uint32",   "int64",
                                           "uint64", "half",   "float",    "double",   "fp16",
                                           "fp32",   "fp64",   "bfloat16", "bf16",     "fp8",
                                           "f8e4m3", "f8e5m2", "fp8_e4m3", "fp8_e5m2", NULL };
static const char *const in_place_words[] = { "0", "1", NULL };

// No NIC: the run stays on NVLink. The greatest are far beyond what is sold.
static const field_rule rules[TABLE_COLUMNS] = {
    [RUN_ALGORITHM] = { .kind = FIELD_WORD, .words = algorithm_words, .open = algorithm_words },
    [RUN_PROTOCOL] = { .kind = FIELD_WORD, .words = protocol_words, .open = protocol_words },
    [RUN_NICS_PER_NODE] = FIELD_COUNT_RULE(0, 1024),
    [RUN_NIC_GBPS] = FIELD_NUMBER_RULE(0.1, 16000),
    [RUN_DTYPE] = { .kind = FIELD_WORD, .words = dtype_words, .open = dtype_words },
    [ROW_IN_PLACE] = { .kind = FIELD_WORD, .words = in_place_words },
};

static bool check_fields(const table *t, const csv_field *fields)
{
    const char *plain;
    for (int c = 0; c < TABLE_COLUMNS; c++)
        if (t->place_of[c] != NO_COLUMN &&
            !field_rule_read(t->arena, &rules[c], table_words[c], &fields[t->place_of[c]], &plain, t->error))
            return false;
    return true;
}

// Nodes without NICs reach each other over NVLink alone.
static bool check_nics(const table *t, const csv_field *fields, const measured_run *run)
{
    const char *nics = run->fields[RUN_NICS_PER_NODE], *fabric = run->fields[RUN_FABRIC];
    const sim_place *where = place_of(t, fields, RUN_NICS_PER_NODE);
    if (!*nics || strtod(nics, NULL) > 0.0) return true;
    if (*run->fields[RUN_NIC_GBPS]) {
        sim_fail(t->error, SIM_EXIT_INPUT, where, "nics_per_node %s with nic_gbps %s", nics,
                 run->fields[RUN_NIC_GBPS]);
        return sim_hint(t->error, "leave nic_gbps empty where no NIC is used");
    }
    if (run->nodes == 1 || strstr(fabric, "NVL") || strstr(fabric, "nvl")) return true;
    sim_fail(t->error, SIM_EXIT_INPUT, where, "nics_per_node %s on %u nodes", nics, run->nodes);
    return sim_hint(t->error, "1 or more, nothing where it is not published, or NVLink as the fabric");
}

// ---- a run

enum { RANKS_MAX = 1 << 20 };

static bool read_count(const table *t, const csv_field *fields, int column, uint32_t least, uint32_t *out)
{
    uint64_t value;
    const sim_place *where = place_of(t, fields, column);
    if (!units_parse_count(text_of(t, fields, column), &value, where, t->error)) return false;
    *out = (uint32_t)value;
    if (value >= least && value <= RANKS_MAX) return true;
    return sim_fail(t->error, SIM_EXIT_INPUT, where, "%s must be between %u and %d", table_words[column],
                    least, RANKS_MAX);
}

// Of a node with eight GPUs a run may use five.
static bool count_ranks(const table *t, const csv_field *fields, measured_run *run)
{
    if (!read_count(t, fields, RUN_GPUS, 2, &run->ranks) ||
        !read_count(t, fields, RUN_GPUS_PER_NODE, 1, &run->per_node))
        return false;
    if (run->per_node > run->ranks) run->per_node = run->ranks;
    if (run->ranks % run->per_node != 0)
        return sim_fail(t->error, SIM_EXIT_INPUT, place_of(t, fields, RUN_GPUS),
                        "%u GPUs are not alike on nodes of %u", run->ranks, run->per_node);
    run->nodes = run->ranks / run->per_node;
    run->fields[RUN_NODES] = arena_format(t->arena, "%u", run->nodes);
    return true;
}

static bool begin_run(table *t, const csv_field *fields, uint32_t *index)
{
    static const int stated[] = { RUN_COLLECTIVE, RUN_GPU };
    measured_run *run = array_push(&t->out->runs, t->arena);
    *index = t->out->runs.count - 1;
    run->place = *place_of(t, fields, RUN_ID);
    for (int c = 0; c < RUN_NODES; c++)
        run->fields[c] = text_of(t, fields, c);
    if (!*run->fields[RUN_ID]) return sim_fail(t->error, SIM_EXIT_INPUT, &run->place, "a row without an id");
    for (size_t i = 0; i < ARRAY_COUNT(stated); i++)
        if (!*run->fields[stated[i]])
            return sim_fail(t->error, SIM_EXIT_INPUT, place_of(t, fields, stated[i]),
                            "the first row of a run says its %s", run_column_words[stated[i]]);
    text_map_set(t->runs, run->fields[RUN_ID], *index);
    return count_ranks(t, fields, run) && check_nics(t, fields, run);
}

// What a later row says again must be the same; notes are also of single rows.
static bool check_same(const table *t, const csv_field *fields, const measured_run *run)
{
    char shown[WORDS_SHOWN_SIZE];
    for (int c = 0; c < RUN_NOTES; c++) {
        const char *text = text_of(t, fields, c);
        if (*text && strcmp(text, run->fields[c]) != 0)
            return sim_fail(t->error, SIM_EXIT_INPUT, place_of(t, fields, c),
                            "the %s of the run \"%s\" was another in line %u", run_column_words[c],
                            words_show(shown, run->fields[RUN_ID]), run->place.line);
    }
    return true;
}

// ---- a row

static bool read_size(table *t, const csv_field *fields, uint32_t run)
{
    measured_size *size = array_push(&t->out->sizes, t->arena);
    const char *time = text_of(t, fields, ROW_TIME);
    const sim_place *where = place_of(t, fields, ROW_TIME);
    double time_us;
    *size = (measured_size){ .run = run, .time_s = (double)NAN };
    size->wrong = strstr(text_of(t, fields, RUN_NOTES), "WRONG RESULTS IN THIS ROW") != NULL;
    if (!units_parse_count(text_of(t, fields, ROW_SIZE), &size->bytes, place_of(t, fields, ROW_SIZE),
                           t->error))
        return false;
    if (!*time) return true;
    if (!units_parse(UNIT_NONE, time, &time_us, where, t->error)) return false;
    if (!(time_us > 0.0)) return sim_fail(t->error, SIM_EXIT_INPUT, where, "a time must be above zero");
    size->time_s = time_us / 1e6;
    return true;
}

static bool read_row(table *t, const csv_field *fields)
{
    uint32_t run;
    if (!check_fields(t, fields)) return false;
    if (!text_map_get(t->runs, text_of(t, fields, RUN_ID), &run)) {
        if (!begin_run(t, fields, &run)) return false;
    } else if (!check_same(t, fields, &t->out->runs.items[run])) {
        return false;
    }
    return read_size(t, fields, run);
}

bool collective_rows_read(arena *a, const char *path, collective_rows *out, sim_error *error)
{
    csv_reader *csv = csv_open(a, path, NULL, error);
    return csv && collective_rows_take(a, csv, out, error);
}

bool collective_rows_take(arena *a, csv_reader *csv, collective_rows *out, sim_error *error)
{
    const csv_field *fields;
    *out = (collective_rows){ 0 };
    table t = { .arena = a, .csv = csv, .runs = text_map_create(a), .out = out, .error = error };
    if (!find_columns(&t)) return false;
    while ((fields = csv_next(t.csv, error)) != NULL)
        if (!read_row(&t, fields)) return false;
    return !sim_failed(error);
}
