// SPDX-License-Identifier: GPL-3.0-or-later
#include "validate/training_rows.h"
#include "sim/check.h"
#include "sim/map.h"
#include "sim/units.h"
#include "sim/words.h"
#include "validate/training_field.h"
#include <math.h>
#include <string.h>

const char *const training_column_words[] = { "id",
                                              "source",
                                              "table",
                                              "year",
                                              "provenance",
                                              "model",
                                              "params_b",
                                              "layers",
                                              "hidden",
                                              "heads",
                                              "kv_heads",
                                              "ffn",
                                              "vocab",
                                              "seq_len",
                                              "experts",
                                              "topk",
                                              "gpu",
                                              "gpus",
                                              "gpus_per_node",
                                              "fabric",
                                              "tp",
                                              "pp",
                                              "vpp",
                                              "cp",
                                              "ep",
                                              "dp",
                                              "sp",
                                              "zero_stage",
                                              "sharding",
                                              "recompute",
                                              "micro_batch",
                                              "global_batch_seqs",
                                              "dtype",
                                              "framework",
                                              "step_time_s",
                                              "tokens_per_s_per_gpu",
                                              "tflops_per_gpu",
                                              "flops_kind",
                                              "mfu",
                                              "mem_gb",
                                              "notes",
                                              NULL };

// Of the others a table may have as many as it likes.
static const training_column required[] = { COLUMN_ID,     COLUMN_SOURCE,      COLUMN_LAYERS,
                                            COLUMN_HIDDEN, COLUMN_HEADS,       COLUMN_SEQ_LEN,
                                            COLUMN_GPU,    COLUMN_GPUS,        COLUMN_TP,
                                            COLUMN_PP,     COLUMN_MICRO_BATCH, COLUMN_GLOBAL_BATCH_SEQS };
static const training_column speeds[] = { COLUMN_STEP_TIME_S, COLUMN_TOKENS_PER_S_PER_GPU,
                                          COLUMN_TFLOPS_PER_GPU };
enum { NO_COLUMN = -1 };

typedef struct table {
    csv_reader *csv;
    int column_of[CSV_COLUMNS_MAX]; // training_column
    int place_of[TRAINING_COLUMNS]; // in the table; NO_COLUMN
} table;

static bool find_columns(table *t, sim_error *error)
{
    char shown[WORDS_SHOWN_SIZE];
    for (int c = 0; c < TRAINING_COLUMNS; c++)
        t->place_of[c] = NO_COLUMN;
    for (uint32_t i = 0; i < csv_columns(t->csv); i++) {
        const csv_field *name = csv_column(t->csv, i);
        int c = 0;
        while (c < TRAINING_COLUMNS && strcmp(name->text, training_column_words[c]) != 0)
            c++;
        if (c == TRAINING_COLUMNS) {
            sim_fail(error, SIM_EXIT_INPUT, &name->place,
                     "there is no column \"%s\" in a table of training steps", words_show(shown, name->text));
            return words_hint(error, name->text, training_column_words, TRAINING_COLUMNS, TRAINING_COLUMNS,
                              "columns");
        }
        t->column_of[i] = c;
        t->place_of[c] = (int)i;
    }
    return true;
}

static bool check_columns(const table *t, sim_error *error)
{
    const sim_place *where = &csv_column(t->csv, 0)->place;
    for (size_t i = 0; i < ARRAY_COUNT(required); i++)
        if (t->place_of[required[i]] == NO_COLUMN)
            return sim_fail(error, SIM_EXIT_INPUT, where, "the column \"%s\" is missing",
                            training_column_words[required[i]]) ||
                   sim_hint(error,
                            "a table of training steps has the columns of validate/measured/training.csv");
    for (size_t i = 0; i < ARRAY_COUNT(speeds); i++)
        if (t->place_of[speeds[i]] != NO_COLUMN) return true;
    sim_fail(error, SIM_EXIT_INPUT, where, "nothing is measured: no column says how fast a step is");
    return sim_hint(error, "one of step_time_s, tokens_per_s_per_gpu, tflops_per_gpu");
}

static bool read_fields(arena *a, const table *t, const csv_field *fields, training_row *row,
                        sim_error *error)
{
    row->place = fields[0].place;
    for (int c = 0; c < TRAINING_COLUMNS; c++) {
        const int place = t->place_of[c];
        row->fields[c] = "";
        if (place != NO_COLUMN &&
            !training_field_read(a, (training_column)c, &fields[place], &row->fields[c], error))
            return false;
    }
    return true;
}

static bool read_rows(arena *a, table *t, training_row_array *out, sim_error *error)
{
    char shown[WORDS_SHOWN_SIZE];
    uint32_t earlier;
    const csv_field *fields;
    text_map *ids = text_map_create(a);
    while ((fields = csv_next(t->csv, error)) != NULL) {
        training_row *row = array_push(out, a);
        if (!read_fields(a, t, fields, row, error)) return false;
        const char *id = row->fields[COLUMN_ID];
        const sim_place *where = &fields[t->place_of[COLUMN_ID]].place;
        if (!*id) return sim_fail(error, SIM_EXIT_INPUT, where, "a row without an id");
        if (text_map_get(ids, id, &earlier))
            return sim_fail(error, SIM_EXIT_INPUT, where, "the id \"%s\" stands twice, first in line %u",
                            words_show(shown, id), earlier);
        text_map_set(ids, id, where->line);
    }
    return !sim_failed(error);
}

bool training_rows_read(arena *a, const char *path, training_row_array *out, sim_error *error)
{
    csv_reader *csv = csv_open(a, path, NULL, error);
    return csv && training_rows_take(a, csv, out, error);
}

bool training_rows_take(arena *a, csv_reader *csv, training_row_array *out, sim_error *error)
{
    table t = { .csv = csv };
    return find_columns(&t, error) && check_columns(&t, error) && read_rows(a, &t, out, error);
}

double training_row_number(const training_row *row, training_column column)
{
    double value;
    sim_error error = { 0 };
    const char *text = row->fields[column];
    return *text && units_parse(UNIT_NONE, text, &value, NULL, &error) ? value : (double)NAN;
}
