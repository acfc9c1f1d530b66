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
