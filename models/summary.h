// SPDX-License-Identifier: GPL-3.0-or-later
// models/summary.h: the numbers a run answers with: definitions and units in one place. A value that is not known is NULL
// with a reason, never 0. Every known value is part of the digest but for marked facts, which are told only.
#pragma once
#include "models/world.h"
#include "sim/stats.h"

typedef struct summary_value {
    const char *metric; // "step_time"
    unit_kind kind;     // how people read it
    const char *unit;   // of value: "s", "1", "B", "FLOP/s", "1/s"
    bool known;
    double value;
    const char *reason; // why it is not known; NULL when known
    const char *explanation;
    bool is_fact; // not a result: equal runs may differ in it, such as a folded and an unfolded one in a byte
} summary_value;
ARRAY_OF(summary_value, summary_array);

typedef struct summary_input { // of the steps that have ended; times x multiplicity
    const world *world;
    stats_running step_s;
    sim_time played_ps;                      // their lengths together
    const unsigned __int128 *blame_ps;       // BLAME_CAUSES
    const unsigned __int128 *blame_of_stage; // stage x BLAME_CAUSES + cause
    unsigned __int128 gpu_time_ps;           // the sum of either
    // Idle time of others with this lane as the culprit; by degraded link, as topology_degraded_links() lists them.
    const unsigned __int128 *peer_by_lane, *bubble_by_lane, *caused_by_link;
    const uint64_t *link_bytes; // by link
    bool healthy_known;         // models/healthy.h
    double healthy_step_s;      // a step with all parts healthy
    const char *healthy_reason; // why that is not known
} summary_input;

double summary_executed_flop(const world *w); // by all ranks in a step, recomputation included
void summary_build(arena *a, const summary_input *input, summary_array *out);
const summary_value *summary_find(const summary_array *s, const char *metric); // NULL: no such metric
void summary_digest(const summary_array *s, sim *engine);
// Numbers of the catalogue that the result rests on and whose grade is "assumed".
typedef struct assumption {
    const char *path, *value, *source;
} assumption;
ARRAY_OF(assumption, assumption_array);
void summary_assumptions(arena *a, const scenario *s, assumption_array *out);
// Classes of costs that collectives take by rule, because nobody has named them.
void summary_usual_costs(arena *a, const scenario *s, assumption_array *out);
