// SPDX-License-Identifier: GPL-3.0-or-later
// models/recorder.h: writes what happens in a run as rows of the trace tables, and keeps the totals that the summary needs.
#pragma once
#include "models/summary.h"
#include "models/tables.h"

typedef struct recorder recorder;
recorder *recorder_create(arena *a);
// For world_create(): asks only for what this level writes. Rows go nowhere before recorder_describe().
step_listener recorder_listener(recorder *r, trace_level level);
// Takes the tables and writes the entities of the world: parts, ranks, lanes, kernels. Once, before the first event.
void recorder_describe(recorder *r, const world *w, tables *t);
void recorder_write_summary(recorder *r, const summary_array *summary);
// Asked after every step; false stops the run.
void recorder_on_step(recorder *r, bool (*after_step)(void *owner), void *owner);
summary_input recorder_totals(const recorder *r);
// Rows that a run of this scenario would write at each level.
trace_estimate recorder_estimate(const world *w);
