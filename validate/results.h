// SPDX-License-Identifier: GPL-3.0-or-later
// validate/results.h: the committed table of results, results.csv, one line for each measured training step (written by
// windtunnel validate training --results), and what README.md tells of it.
#pragma once
#include "sim/error.h"
#include "validate/compare.h"
#include <stdio.h>

// Refused: what training_suite_write() does not write.
bool results_read(arena *a, const char *path, compared_row_array *out, sim_error *error);
// A row of a Markdown table for each source, and one for all rows that count.
void results_write_table(arena *a, const compared_row_array *rows, FILE *out);
