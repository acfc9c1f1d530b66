// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/training/lane.h"
#include "sim/check.h"

static bool group_folds(rank_id first, uint32_t tensor, uint32_t gpus_per_node, gpu_health health)
{
    if (first / gpus_per_node != (first + tensor - 1) / gpus_per_node) return false;
    for (rank_id r = first + 1; r < first + tensor; r++)
        if (health.clock_ratio[r] != health.clock_ratio[first] ||
            health.memory_ratio[r] != health.memory_ratio[first])
            return false;
    return true;
}

void lanes_build(arena *a, parallel_sizes sizes, bool fold_node, uint32_t gpus_per_node, gpu_health health,
                 lane_table *out)
{
    const uint32_t ranks = parallel_ranks(sizes);
    *out = (lane_table){
        .lanes = arena_array(a, lane_def, ranks),
        .lane_of_rank = arena_array(a, lane_id, ranks),
        .sizes = sizes,
    };
    const bool neighbours = sizes.order[0] == AXIS_TENSOR; // else the ranks of a group are not consecutive
    for (rank_id group = 0; group < ranks; group += sizes.tensor) {
        const bool folds = fold_node && neighbours && group_folds(group, sizes.tensor, gpus_per_node, health);
        const uint32_t together = folds ? sizes.tensor : 1;
        for (rank_id first = group; first < group + sizes.tensor; first += together) {
            out->lanes[out->count] = (lane_def){
                .first_rank = first,
                .multiplicity = together,
                .place = parallel_place_of(sizes, first),
                .clock_ratio = health.clock_ratio[first],
                .memory_ratio = health.memory_ratio[first],
            };
            for (uint32_t i = 0; i < together; i++)
                out->lane_of_rank[first + i] = out->count;
            out->count++;
        }
    }
}
