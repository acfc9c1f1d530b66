// SPDX-License-Identifier: GPL-3.0-or-later
// models/training/lane.h: lanes, that is, what is played. A lane stands for its ranks, which do the same at the same time;
// every total, count and byte multiplies by their number. They are one rank, or all ranks of a tensor-parallel group.
#pragma once
#include "models/hardware/gpu.h"
#include "models/training/parallel.h"
#include "sim/arena.h"
#include <stdbool.h>

typedef struct lane_def {
    rank_id first_rank;
    uint32_t multiplicity; // number of ranks: 1, or T with tensor coordinates 0 .. T - 1
    parallel_place place;  // of the first rank
    double clock_ratio, memory_ratio;
} lane_def;

static inline bool lane_is_degraded(const lane_def *lane)
{
    return lane->clock_ratio < 1.0 || lane->memory_ratio < 1.0;
}

typedef struct lane_table {
    lane_def *lanes; // by first rank
    uint32_t count;
    lane_id *lane_of_rank;
    parallel_sizes sizes;
} lane_table;

// health: by rank. folded: every tensor-parallel group is one lane, whose GPUs must be alike; otherwise every rank is a lane.
void lanes_build(arena *a, parallel_sizes sizes, bool folded, gpu_health health, lane_table *out);
// The i-th rank that a lane stands for, by its tensor coordinate.
rank_id lane_rank(const lane_table *t, lane_id l, uint32_t i);
