// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/training/lane.h"
#include "sim/check.h"

rank_id lane_rank(const lane_table *t, lane_id l, uint32_t i)
{
    const lane_def *lane = &t->lanes[l];
    SIM_ASSERT(l < t->count && i < lane->multiplicity);
    parallel_place place = lane->place;
    place.tensor += i;
    return i == 0 ? lane->first_rank : parallel_rank_at(t->sizes, place);
}

// A folded group is a lane where its rank with tensor coordinate 0 stands: the least of its ranks.
void lanes_build(arena *a, parallel_sizes sizes, bool folded, gpu_health health, lane_table *out)
{
    const uint32_t ranks = parallel_ranks(sizes), together = folded ? sizes.tensor : 1;
    *out = (lane_table){
        .lanes = arena_array(a, lane_def, ranks / together),
        .lane_of_rank = arena_array(a, lane_id, ranks),
        .sizes = sizes,
    };
    for (rank_id first = 0; first < ranks; first++) {
        const parallel_place place = parallel_place_of(sizes, first);
        if (folded && place.tensor != 0) continue;
        const lane_id l = out->count++;
        out->lanes[l] = (lane_def){
            .first_rank = first,
            .multiplicity = together,
            .place = place,
            .clock_ratio = health.clock_ratio[first],
            .memory_ratio = health.memory_ratio[first],
        };
        for (uint32_t i = 0; i < together; i++) {
            const rank_id rank = lane_rank(out, l, i);
            SIM_ASSERT(health.clock_ratio[rank] == health.clock_ratio[first] &&
                       health.memory_ratio[rank] == health.memory_ratio[first]);
            out->lane_of_rank[rank] = l;
        }
    }
}
