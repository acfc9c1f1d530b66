// SPDX-License-Identifier: GPL-3.0-or-later
// models/run_output.h: the database of a run, from its opening to its end; for run.c and traffic_run.c.
#pragma once
#include "models/run.h"

// The database that the options ask for, for a run that may write so many rows; *resolved is the scenario written out. NULL
// and error: the output is the scenario itself or a file that it includes (also with force), exists already, cannot be
// written, would be very large.
trace *run_output_open(arena *a, const run_options *options, const scenario *s,
                       const trace_estimate *estimate, const char **resolved, sim_error *error);
// The row of a run that goes on, with what follows from any scenario. kind: "step", "traffic"; resolved: the scenario written
// out.
row_run run_output_row(const scenario *s, const char *kind, const char *resolved);
// Writes how the run ended and closes; *database, which may be NULL, is NULL then. False: the database could not be completed;
// the run counts as failed, and error says so unless it already says something.
bool run_output_close(tables *t, trace **database, run_result *result, sim_error *error);
// After a failure: before the clock has started no file is left, from then on the database says how the run ended.
void run_output_end(tables *t, trace **database, bool has_started, run_result *result, sim_error *error);
