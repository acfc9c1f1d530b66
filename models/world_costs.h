// SPDX-License-Identifier: GPL-3.0-or-later
// models/world_costs.h: what the GPUs of a job compute with, each distinct thing once: the passes through a chunk by what lies
// in it and by the health of the GPU, the optimizer's step by what a stage holds. Lanes share them.
#pragma once
#include "models/scenario.h"
#include "models/training/step.h"

typedef struct costed_chunk {
    uint32_t layers;
    bool has_embedding, has_head;
    chunk_costs costs;
    uint64_t users; // chunks of ranks that have these costs
} costed_chunk;

typedef struct costed_optimizer {
    uint64_t parameters; // of a GPU, before ZeRO shares them out
    double clock_ratio, memory_ratio;
    optimizer_costs costs;
    uint64_t users; // ranks
} costed_optimizer;

typedef struct costed_stage { // of one stage and state of health
    uint32_t stage;
    double clock_ratio, memory_ratio;
    stage_costs costs;
} costed_stage;

typedef struct world_costs {
    costed_chunk **chunks;
    uint32_t chunk_count;
    costed_optimizer **optimizers;
    uint32_t optimizer_count;
    costed_stage **stages;
    uint32_t stage_count;
    const stage_costs **of_lane;
} world_costs;

// What a healthy GPU, or one with these ratios, computes in a chunk when nothing moves beside it: for `show`.
bool world_build_chunk(arena *a, const scenario *s, const roofline *gpu, const stage_table *stages,
                       const stage_chunk *chunk, double clock_ratio, double memory_ratio, chunk_costs *out,
                       sim_error *error);
// Of all lanes. A job has few stages and states of health that differ.
// beside: what the collectives of their groups take of the GPU.
bool world_build_costs(arena *a, const scenario *s, const roofline *gpu, const stage_table *stages,
                       const lane_table *lanes, const gpu_taken beside[BESIDE_GROUPS], world_costs *out,
                       sim_error *error);
