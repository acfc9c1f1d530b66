// SPDX-License-Identifier: GPL-3.0-or-later
// tools/show_plan.h: what `windtunnel show plan` says, gathered once and printed for people (show_plan.c) or machines
// (show_plan_json.c). Times are forecasts: nothing waits but for tensor-parallel collectives, each alone on its links.
#pragma once
#include "tools/show.h"

typedef struct plan_group { // groups with as many members and rings, for the same purpose
    const char *label, *purpose;
    uint32_t members, rings;
    uint64_t count;        // of the whole job; pairs between which messages go both ways count once
    const char *from, *to; // first and last member of the first of them
} plan_group;
ARRAY_OF(plan_group, plan_group_array);

typedef struct plan_stage { // of one GPU, the slowest
    const char *gpu;
    double clock_ratio, memory_ratio; // of that GPU, against those of a healthy one
    uint32_t layers;
    uint32_t in_flight; // at most so many forwards, each through one chunk, await their backwards
    bool has_embedding, has_head;
    uint64_t parameters; // before ZeRO shares them out
    uint64_t memory_bytes;
    double forward_s, backward_s; // of a micro-batch through all its chunks
    double flop;                  // of both, recomputation included
} plan_stage;

typedef struct plan_pass {
    const char *name;
    double time_s; // tensor-parallel collectives included
    work work;     // of all chunks together; host_ps is not theirs
    double launch_s;
} plan_pass;

typedef struct plan_op { // operations of a step that are called alike
    const char *name;
    op_stream stream;
    uint64_t count;
    double least_s, greatest_s, total_s; // each by itself
    uint64_t bytes;                      // together
} plan_op;
ARRAY_OF(plan_op, plan_op_array);

typedef struct plan_bucket { // of one size, in following chunks
    uint32_t first_chunk, last_chunk;
    uint32_t count; // in each chunk
    uint64_t elements;
    uint64_t least_bytes, greatest_bytes; // of the collectives that reduce one of them
    uint64_t sent_bytes;                  // of all of them
} plan_bucket;
ARRAY_OF(plan_bucket, plan_bucket_array);

typedef struct plan_kernel {
    const kernel_use *use;
    uint64_t calls; // per step
} plan_kernel;
ARRAY_OF(plan_kernel, plan_kernel_array);

typedef struct plan_facts {
    const world *world;
    plan_group_array groups;
    plan_stage *stages;
    uint32_t slowest;
    // Of the stage that is looked at:
    uint32_t stage;
    plan_pass passes[3]; // forward, backward, optimizer
    plan_op_array ops;
    plan_bucket_array buckets;
    plan_kernel_array kernels;
} plan_facts;

enum { PLAN_SLOWEST = UINT32_MAX }; // instead of a stage
plan_facts plan_facts_of(arena *a, const world *w, uint32_t stage);
static inline bool plan_is_degraded(const plan_stage *s)
{
    return s->clock_ratio != 1.0 || s->memory_ratio != 1.0;
}
static inline double plan_stage_s(const plan_stage *s)
{
    return s->forward_s + s->backward_s;
}
void plan_print_json(arena *a, const plan_facts *f);
