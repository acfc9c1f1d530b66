// SPDX-License-Identifier: GPL-3.0-or-later
// models/run.h: one run end to end: load, check, build, play, summarise, write. What tools, validation and tests call; the C
// interface for other programs is models/windtunnel.h. Errors by value; nothing is printed and nothing exits.
#pragma once
#include "models/breakdown.h"
#include "models/link_alerts.h"
#include "models/recorder.h"

typedef struct run_progress {
    uint32_t steps_done, steps;
    uint64_t events;
    double wall_s; // since the start of the run
} run_progress;

// What the user of the caller can do about a refusal, beside changing the scenario. NULL: nothing.
typedef struct run_hints {
    const char *force;        // where an output exists already: "--force replaces it"
    const char *trace_anyway; // where the trace is too large: "--trace-anyway writes them all"
} run_hints;

typedef struct run_options {
    const char *scenario_path;
    const char *const *sets; // "path=value"
    uint32_t set_count;
    const char *catalogue_path; // NULL: found (models/part.h)
    const char *output_path;    // NULL: no database
    bool force;                 // replace an existing database
    bool trace_anyway;          // write more than the estimate allows
    bool ignore_memory; // play also what does not fit: a measured run fitted, whatever is counted here
    run_hints hints;
    const char *arguments;    // as the user typed them, for run_env; NULL: unknown
    queue_kind queue;         // for tests: the result is the same
    bool reverse_phases;      // for tests: the result is the same
    bool play_tensor;         // for tests: world_options.play_tensor; the result is the same
    uint64_t fail_allocation; // for tests: this allocation of the run's arena fails; 0: none
    // Asked now and then, and after every step; false stops the run at the end of the current instant. NULL: never.
    bool (*progress)(void *owner, const run_progress *progress);
    void *owner;
} run_options;

typedef enum run_state { RUN_RUNNING, RUN_DONE, RUN_FAILED, RUN_CANCELLED } run_state;
extern const char *const run_state_words[]; // "running", "done", "failed", "cancelled", NULL

typedef struct blame_share {
    const char *cause;
    bool idle;
    double share;  // of the GPU time of all steps
    double time_s; // per GPU and step, mean
} blame_share;
ARRAY_OF(blame_share, blame_share_array);

typedef struct run_counters {
    uint64_t events, collectives, messages, plan_hits, transfers, trace_rows;
    unsigned __int128 bytes_sent;
    uint64_t collectives_alone; // of collectives: taken at the time that they need alone
    // Of the fluid engine: instants in which rates were worked out, flows that were looked at then. 0 for the others.
    uint64_t settles, flows_touched;
    uint32_t pending_high_water;
    uint64_t arena_bytes; // high-water mark
} run_counters;

typedef struct run_result {
    run_state state;          // RUN_FAILED also when it was refused
    arena *arena;             // owns everything below
    const scenario *scenario; // NULL: it could not be read
    const world *world;       // NULL: it could not be built
    stage_memory memory;      // known when has_memory, also where the job does not fit
    bool has_memory;
    uint32_t steps_done;
    uint64_t digest; // of a run that is done
    summary_array summary;
    blame_share_array blame;   // causes that occur, compute first
    blame_class_array classes; // the same by pipeline stage
    culprit_array culprits;
    busy_link_array links;
    link_alert_array alerts;
    assumption_array assumptions;
    run_counters counters;
    double wall_s, cpu_s;
} run_result;

// Reads and checks a scenario without playing it; result->scenario and ->arena are set as far as it got.
// job_wanted: a scenario with only "cluster:" is refused.
bool run_load(const run_options *options, bool job_wanted, run_result *result, sim_error *error);
// Reads a scenario that is still being put together: only syntax, keys, units and ranges are checked (scenario_try()).
bool run_try(const run_options *options, sim_error *error);
// Everything that run_execute() does before the clock starts, but for the output: what a run would refuse is refused here.
// A cluster without a job passes unless job_wanted; its fabric is built, and result->world stays NULL.
bool run_check(const run_options *options, bool job_wanted, run_result *result, sim_error *error);
// The whole run. Returns false with error when it was refused or failed (error->exit_code), true when it is done or was
// cancelled (state; exit code 130). The result is valid in every case until run_free().
bool run_execute(const run_options *options, run_result *result, sim_error *error);
void run_free(run_result *result);
