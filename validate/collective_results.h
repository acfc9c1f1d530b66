// SPDX-License-Identifier: GPL-3.0-or-later
// validate/collective_results.h: the committed table of results, results_collectives.csv, one line for each run and
// size that counts, and for each run and reason why others do not (written by windtunnel validate collectives --results), and
// what README.md tells of it.
#pragma once
#include "validate/collective_suite.h"
#include <stdio.h>

// Times are microseconds, with five digits.
void collective_results_write(const collective_point_array *points, FILE *out);
// Refused: tables with other columns than collective_results_write() gives them, words and numbers that are none.
bool collective_results_read(arena *a, const char *path, collective_point_array *out, sim_error *error);
// A Markdown table: classes by bands, beside the prototype; then what is aimed at, and the order of algorithms.
void collective_results_write_table(arena *a, const collective_point_array *points,
                                    const prototype_array *prototype, FILE *out);
