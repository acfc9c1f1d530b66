// SPDX-License-Identifier: GPL-3.0-or-later
// validate/collective_rows.h: measured collectives, read from a CSV table with columns of measured/collectives.csv
// (measured/README.md): runs of nccl-tests and its like, each with one row for a size. What holds for a run may stand in its
// first row alone.
#pragma once
#include "sim/array.h"
#include "sim/csv.h"
#include <stdbool.h>

typedef enum run_column {
    RUN_ID,
    RUN_SOURCE,
    RUN_PROVENANCE,
    RUN_COLLECTIVE,
    RUN_ALGORITHM,
    RUN_PROTOCOL,
    RUN_GPU,
    RUN_GPUS,
    RUN_GPUS_PER_NODE,
    RUN_NICS_PER_NODE,
    RUN_NIC_GBPS,
    RUN_FABRIC,
    RUN_NCCL_VERSION,
    RUN_DTYPE,
    RUN_NOTES,
    RUN_NODES, // of no table: it follows from the others
    RUN_COLUMNS
} run_column;
extern const char *const run_column_words[]; // "id", ..., "nodes", NULL

typedef struct measured_run {
    const char *fields[RUN_COLUMNS]; // "": not stated
    uint32_t ranks, nodes, per_node; // ranks of a node; of one node all of them
    sim_place place;                 // of its first row
} measured_run;
ARRAY_OF(measured_run, measured_run_array);

typedef struct measured_size {
    uint32_t run;
    uint64_t bytes; // the size column of nccl-tests
    double time_s;  // NAN: not published
    bool wrong;     // the test itself reported wrong results
} measured_size;
ARRAY_OF(measured_size, measured_size_array);

typedef struct collective_rows {
    measured_run_array runs; // in the order of their first rows
    measured_size_array sizes;
} collective_rows;

// Refused at their line: what is no CSV; columns that are unknown, or needed and missing; a run that differs from its first
// row, or says neither collective, GPU nor how many; sizes, times and counts that are none or negative; fewer than two ranks;
// ranks that are not alike on all nodes; by one rule (field_rule.h) words of algorithm, protocol, dtype and in_place that are
// none of theirs ("NVLS expected" goes on behind one), NICs and their speeds that cannot be.
bool collective_rows_read(arena *a, const char *path, collective_rows *out, sim_error *error);
// The same from a reader that has read its header.
bool collective_rows_take(arena *a, csv_reader *csv, collective_rows *out, sim_error *error);
