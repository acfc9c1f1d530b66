// SPDX-License-Identifier: GPL-3.0-or-later
// models/training/parallel.h: ranks and their coordinates. Order of groups, innermost first: tensor, data, pipeline
// (DESIGN.md 8), so that
//     rank = (pipeline x D + data) x T + tensor
#pragma once
#include "models/ids.h"

typedef struct parallel_sizes {
    uint32_t tensor, data, pipeline; // T, D, P
} parallel_sizes;

typedef struct parallel_place {
    uint32_t tensor, data, pipeline;
} parallel_place;

uint32_t parallel_ranks(parallel_sizes sizes);
parallel_place parallel_place_of(parallel_sizes sizes, rank_id rank);
rank_id parallel_rank_at(parallel_sizes sizes, parallel_place place);
// The divisor of value nearest to wanted, the lesser at ties: what a refused size could be instead. Both are above zero.
uint64_t parallel_nearest_divisor(uint64_t value, uint64_t wanted);
