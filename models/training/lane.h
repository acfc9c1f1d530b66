// SPDX-License-Identifier: GPL-3.0-or-later
// models/training/lane.h: lanes, that is, what is played. A lane stands for its ranks, which do the same at the same time;
// every total, count and byte multiplies by their number. Ranks of a lane are consecutive (a tensor-parallel group).
#pragma once
#include "models/training/parallel.h"
#include "sim/arena.h"
#include <stdbool.h>

// Health of every GPU of the job, by rank; 1 is a healthy one. Owned by the world.
typedef struct gpu_health {
    const double *clock_ratio;
    const double *memory_ratio;
} gpu_health;

typedef struct lane_def {
    rank_id first_rank;
    uint32_t multiplicity; // number of ranks
    parallel_place place;  // of the first rank
    double clock_ratio, memory_ratio;
} lane_def;

typedef struct lane_table {
    lane_def *lanes;
    uint32_t count;
    lane_id *lane_of_rank;
    parallel_sizes sizes;
} lane_table;

// fold_node: tensor-parallel groups that lie inside one node and whose GPUs are all alike become one lane each, if tensor is
// the innermost axis; otherwise every rank is a lane. gpus_per_node is for packed placement (rank r on GPU r).
void lanes_build(arena *a, parallel_sizes sizes, bool fold_node, uint32_t gpus_per_node, gpu_health health,
                 lane_table *out);
