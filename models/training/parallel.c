// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/training/parallel.h"
#include "sim/check.h"

uint32_t parallel_ranks(parallel_sizes sizes)
{
    return sizes.tensor * sizes.data * sizes.pipeline;
}

parallel_place parallel_place_of(parallel_sizes sizes, rank_id rank)
{
    SIM_ASSERT(rank < parallel_ranks(sizes));
    return (parallel_place){
        .tensor = rank % sizes.tensor,
        .data = rank / sizes.tensor % sizes.data,
        .pipeline = rank / sizes.tensor / sizes.data,
    };
}

rank_id parallel_rank_at(parallel_sizes sizes, parallel_place place)
{
    SIM_ASSERT(place.tensor < sizes.tensor && place.data < sizes.data && place.pipeline < sizes.pipeline);
    return (place.pipeline * sizes.data + place.data) * sizes.tensor + place.tensor;
}

uint64_t parallel_nearest_divisor(uint64_t value, uint64_t wanted)
{
    SIM_ASSERT(value > 0 && wanted > 0);
    if (wanted >= value) return value;
    for (uint64_t distance = 0;; distance++) { // ends: value itself divides
        if (wanted > distance && value % (wanted - distance) == 0) return wanted - distance;
        if (value % (wanted + distance) == 0) return wanted + distance;
    }
}
