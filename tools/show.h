// SPDX-License-Identifier: GPL-3.0-or-later
// tools/show.h: the subjects of windtunnel show, one per file. Each prints its answer, or fills error and returns false.
#pragma once
#include "tools/answer.h"
#include "tools/command.h"

typedef struct schedule_options { // of a schedule; NULL: not given
    int kind;                     // a schedule_kind
    const char *stages, *micro_batches, *virtual_stages;
} schedule_options;

typedef struct kernel_options { // of a layer's kernels; NULL: not given
    const char *tensor, *micro_batch, *sequence;
    int attention; // of attention_words
    bool sequence_parallel, unfused;
} kernel_options;

typedef struct show_request {
    arena *arena;
    const scenario_options *options;
    const char *entry;   // of the catalogue; NULL: all
    run_result *result;  // with the scenario, for the subjects that want one
    bool dot;            // the fabric as text for Graphviz
    const char *ends[2]; // of the path; model and GPU
    const schedule_options *schedule;
    const char *stage; // whose operations are shown; NULL: the slowest
    const kernel_options *kernels;
} show_request;

// "2 x 4096 x 3072 x 2048": batch where it is more than one, m, n, k; elements of an elementwise kernel.
const char *show_kernel_shape(arena *a, const kernel_shape *kernel);

bool show_memory(const show_request *q, sim_error *error);
bool show_plan(const show_request *q, sim_error *error);
bool show_path(const show_request *q, sim_error *error);
bool show_fabric(const show_request *q, sim_error *error);
bool show_schedule(const show_request *q, sim_error *error);
bool show_kernels(const show_request *q, sim_error *error);
bool show_catalogue(const show_request *q, sim_error *error);
