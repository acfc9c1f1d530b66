// SPDX-License-Identifier: GPL-3.0-or-later
// models/training/parallel.h: ranks and their coordinates. The order of the axes is the plan's, innermost first; the usual one
// is tensor, data, pipeline, where
//     rank = (pipeline x D + data) x T + tensor
#pragma once
#include "models/ids.h"
#include <stdbool.h>

typedef enum parallel_axis { AXIS_TENSOR, AXIS_DATA, AXIS_PIPELINE, PARALLEL_AXES } parallel_axis;
extern const char *const parallel_axis_words[]; // "tensor", "data", "pipeline"; ends with NULL

typedef struct parallel_sizes {
    uint32_t tensor, data, pipeline; // T, D, P
    uint8_t order[PARALLEL_AXES];    // of parallel_axis, innermost first; all 0: tensor, data, pipeline
} parallel_sizes;

typedef struct parallel_place {
    uint32_t tensor, data, pipeline;
} parallel_place;

uint32_t parallel_ranks(parallel_sizes sizes);
parallel_place parallel_place_of(parallel_sizes sizes, rank_id rank);
rank_id parallel_rank_at(parallel_sizes sizes, parallel_place place);
// Reads "tp-dp-pp", innermost first: each axis once. False: text is something else, and order is left as it was.
bool parallel_order_read(const char *text, uint8_t order[PARALLEL_AXES]);
uint64_t parallel_common_divisor(uint64_t a, uint64_t b); // the greatest; with 0: the other one
// The divisor of value nearest to wanted, the lesser at ties: what a refused size could be instead. Both are above zero.
uint64_t parallel_nearest_divisor(uint64_t value, uint64_t wanted);
