// SPDX-License-Identifier: GPL-3.0-or-later
// tools/validate.h: the subjects of windtunnel validate, one per file, and the form in which every suite is told.
#pragma once
#include "tools/command.h"
#include "validate/training_suite.h"

typedef struct validate_request {
    arena *arena;
    const char *catalogue, *measured; // folders; NULL: the usual ones
    const char *data;                 // a user's table instead of the published ones; NULL: those
    bool json, quiet, rows;           // rows: each with its error
    const char *results;              // file for a line about each row; NULL: none
    training_options
        training; // of training; of collectives its jobs, its progress and the source that is chosen
} validate_request;

bool validate_kernels(const validate_request *q, sim_error *error);
bool validate_network(const validate_request *q, sim_error *error);
bool validate_training(const validate_request *q, sim_error *error);
bool validate_collectives(const validate_request *q, sim_error *error);
bool validate_explain(const validate_request *q, sim_error *error); // of the one row that was chosen

typedef struct validate_columns { // what a suite may tell of its rows beside their errors
    bool constant;                // the model to beat
    const double *memory_ratios;  // NULL: no such column
    const unit_kind *units;       // of the rows; NULL: all are times
} validate_columns;
// With each the rows, misses first; then by source, then what is unknown.
void validate_print(arena *a, const compared_row_array *rows, bool each, const validate_columns *columns,
                    FILE *out);
// What is unknown, by its reason.
void validate_print_reasons(arena *a, const compared_row_array *rows, const char *title, FILE *out);
// An object with what every suite has; the caller may add to it, and closes it.
void validate_json_begin(arena *a, json_writer *j, const char *suite, const compared_row_array *rows);
void validate_print_json(arena *a, const char *suite, const compared_row_array *rows, FILE *out);
// Of what has been told: is any row scored? If not, the answer is no (exit code 1), with the first reason.
bool validate_scored(const compared_row_array *rows, sim_error *error);
// The folder of measurements: given, or the usual one.
const char *validate_measured(arena *a, const char *given, sim_error *error);
