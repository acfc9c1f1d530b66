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
void recorder_write_summary(tables *t, trace_opt_int job, const summary_array *summary);
// What the link has damaged since before, which is brought up to date; of a link without faults nothing.
void recorder_add_troubles(const network *n, link_id l, link_troubles *before, row_link_sample *row);
// The fabric as rows: nodes, then vertices, then links, each in the order of its ids.
typedef struct part_bases {
    uint32_t first_vertex, first_link; // part_id of vertex 0 and of link 0
} part_bases;
// health: by GPU of the cluster.
part_bases recorder_write_parts(tables *t, const topology *fabric, const cluster_def *cluster,
                                gpu_health health);
// What the machine is; run_env also says how the program was called (NULL: unknown).
void recorder_write_env(tables *t, const char *arguments);
// Asked after every step; false stops the run.
void recorder_on_step(recorder *r, bool (*after_step)(void *owner), void *owner);
// The length of a step whose GPU time is more than a row can tell, which stopped the run; 0: there is none.
sim_time recorder_too_long_step_ps(const recorder *r);
summary_input recorder_totals(const recorder *r);
// Rows that a run of this scenario would write at each level.
trace_estimate recorder_estimate(const world *w);
