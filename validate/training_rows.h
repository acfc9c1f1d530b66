// SPDX-License-Identifier: GPL-3.0-or-later
// validate/training_rows.h: measured training steps, read from a CSV table with columns of measured/training.csv
// (measured/README.md). Fields stay text; what they mean for a scenario is training_case.h.
#pragma once
#include "sim/array.h"
#include "sim/csv.h"
#include <stdbool.h>

typedef enum training_column {
    COLUMN_ID,
    COLUMN_SOURCE,
    COLUMN_TABLE,
    COLUMN_YEAR,
    COLUMN_PROVENANCE,
    COLUMN_MODEL,
    COLUMN_PARAMS_B,
    COLUMN_LAYERS,
    COLUMN_HIDDEN,
    COLUMN_HEADS,
    COLUMN_KV_HEADS,
    COLUMN_FFN,
    COLUMN_VOCAB,
    COLUMN_SEQ_LEN,
    COLUMN_EXPERTS,
    COLUMN_TOPK,
    COLUMN_GPU,
    COLUMN_GPUS,
    COLUMN_GPUS_PER_NODE,
    COLUMN_FABRIC,
    COLUMN_TP,
    COLUMN_PP,
    COLUMN_VPP,
    COLUMN_CP,
    COLUMN_EP,
    COLUMN_DP,
    COLUMN_SP,
    COLUMN_ZERO_STAGE,
    COLUMN_SHARDING,
    COLUMN_RECOMPUTE,
    COLUMN_MICRO_BATCH,
    COLUMN_GLOBAL_BATCH_SEQS,
    COLUMN_DTYPE,
    COLUMN_FRAMEWORK,
    COLUMN_STEP_TIME_S,
    COLUMN_TOKENS_PER_S_PER_GPU,
    COLUMN_TFLOPS_PER_GPU,
    COLUMN_FLOPS_KIND,
    COLUMN_MFU,
    COLUMN_MEM_GB,
    COLUMN_NOTES,
    TRAINING_COLUMNS
} training_column;
extern const char *const training_column_words[]; // "id", ..., "notes", NULL

typedef struct training_row {
    const char *fields[TRAINING_COLUMNS]; // "": not stated
    sim_place place;
} training_row;
ARRAY_OF(training_row, training_row_array);

// All rows of a table, in its order. Refused at their place: what is no CSV, columns that are required and missing (those that
// say what was run, and one of the three that say how fast), unknown columns, an id that is empty or stands twice, a value
// that no measurement can have (training_field.h).
bool training_rows_read(arena *a, const char *path, training_row_array *out, sim_error *error);
bool training_rows_take(arena *a, csv_reader *csv, training_row_array *out,
                        sim_error *error); // of an open table
// A number; NAN where the field is empty.
double training_row_number(const training_row *row, training_column column);
