// SPDX-License-Identifier: GPL-3.0-or-later
// validate/results.h: the committed table of results, results.csv, one line for each measured training step (written by
// windtunnel validate training --results), and what README.md tells of it.
#pragma once
#include "validate/training_suite.h"
#include <stdio.h>

// One line for each row of the suite. Times are seconds, with five digits; errors and memory are ratios.
void results_write(const training_suite *suite, const played_case *played, FILE *out);
// Refused: tables with other columns than results_write() gives them, and numbers that are none. Rows that were not scored have
// their reason.
bool results_read(arena *a, const char *path, compared_row_array *out, sim_error *error);
// A row of a Markdown table for each source, and one for all rows that count.
void results_write_table(arena *a, const compared_row_array *rows, FILE *out);
