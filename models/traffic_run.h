// SPDX-License-Identifier: GPL-3.0-or-later
// models/traffic_run.h: flows on the fabric of a scenario, from end to end: load, build, draw or read the flows, play,
// summarise, write. What models/run.h is for training steps. A job in the scenario is not played.
#pragma once
#include "models/network/fluid_network.h"
#include "models/run.h"
#include "models/traffic/traffic.h"

// What the hosts are that flows name by number: the NICs of the cluster or its GPUs, both node by node.
typedef enum traffic_ends { TRAFFIC_NICS, TRAFFIC_GPUS } traffic_ends;
extern const char *const traffic_ends_words[]; // "nics", "gpus"; ends with NULL

typedef struct traffic_progress {
    uint64_t finished, flows;
    uint64_t events;
    double wall_s; // since the start of the run
} traffic_progress;

typedef struct traffic_run_options {
    run_options run;        // its progress and owner stay NULL
    const char *flows_path; // a flow file (models/traffic/flow_file.h); NULL: the pattern
    pattern_def pattern;    // not yet checked
    int ends;               // traffic_ends
    // "leaf 0 > spine 3 @ 1 ms" (models/traffic/link_change.h), by link_change_kind; of network.engine fluid only
    text_list link_changes[LINK_CHANGE_KINDS];
    // Asked now and then; false stops the run at the end of the current instant. NULL: never.
    bool (*progress)(void *owner, const traffic_progress *progress);
    void *owner;
} traffic_run_options;

typedef struct hot_link {
    const char *name;
    uint64_t bytes;
    double busy_ratio; // of the time that was played
} hot_link;
enum { HOT_LINKS_MAX = 5 };

typedef struct traffic_run_result {
    run_result run;         // world and blame stay empty
    const topology *fabric; // NULL: it could not be built
    uint32_t hosts;
    const char *what; // "perm, 100.0 MB each, seed 42", or "flows of FILE"; NULL: refused before
    traffic_results flows;
    bool has_fluid;
    fluid_counters fluid;            // of the engine "fluid"
    hot_link hottest[HOT_LINKS_MAX]; // busiest first
    uint32_t hottest_count;
    bool ends_are_shared; // by the bottleneck count: only the last and longest of them are exact
    text_list warnings;   // of what the result leaves out, or what may not be meant
} traffic_run_result;

// As run_execute(). Flows that can never finish: false, with exit code 1 and a result that tells of the others.
bool traffic_run_execute(const traffic_run_options *options, traffic_run_result *result, sim_error *error);
void traffic_run_free(traffic_run_result *result);
