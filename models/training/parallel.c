// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/training/parallel.h"
#include "sim/check.h"
#include <string.h>

const char *const parallel_axis_words[] = { "tensor", "data", "pipeline", NULL };

uint32_t parallel_ranks(parallel_sizes sizes)
{
    return sizes.tensor * sizes.data * sizes.pipeline;
}

// Neighbours on axis are that many ranks apart: the product of the sizes of the axes inside it.
static uint32_t stride_of(parallel_sizes sizes, parallel_axis axis)
{
    static const uint8_t usual[PARALLEL_AXES] = { AXIS_TENSOR, AXIS_DATA, AXIS_PIPELINE };
    const uint32_t along[PARALLEL_AXES] = { sizes.tensor, sizes.data, sizes.pipeline };
    const uint8_t *given = sizes.order;
    const uint8_t *order = given[0] || given[1] || given[2] ? given : usual;
    uint32_t stride = 1;
    for (uint32_t i = 0; i < PARALLEL_AXES; i++) {
        SIM_ASSERT(order[i] < PARALLEL_AXES);
        if (order[i] == axis) return stride;
        stride *= along[order[i]];
    }
    SIM_ASSERT(false); // an axis that the order leaves out
    return stride;
}

parallel_place parallel_place_of(parallel_sizes sizes, rank_id rank)
{
    SIM_ASSERT(rank < parallel_ranks(sizes));
    return (parallel_place){
        .tensor = rank / stride_of(sizes, AXIS_TENSOR) % sizes.tensor,
        .data = rank / stride_of(sizes, AXIS_DATA) % sizes.data,
        .pipeline = rank / stride_of(sizes, AXIS_PIPELINE) % sizes.pipeline,
    };
}

rank_id parallel_rank_at(parallel_sizes sizes, parallel_place place)
{
    SIM_ASSERT(place.tensor < sizes.tensor && place.data < sizes.data && place.pipeline < sizes.pipeline);
    return place.tensor * stride_of(sizes, AXIS_TENSOR) + place.data * stride_of(sizes, AXIS_DATA) +
           place.pipeline * stride_of(sizes, AXIS_PIPELINE);
}

bool parallel_order_read(const char *text, uint8_t order[PARALLEL_AXES])
{
    static const char *const short_words[PARALLEL_AXES] = { "tp", "dp", "pp" };
    uint8_t read[PARALLEL_AXES];
    uint32_t seen = 0;
    if (strlen(text) != strlen("tp-dp-pp")) return false;
    for (uint32_t i = 0; i < PARALLEL_AXES; i++) {
        const char *word = text + (size_t)i * 3;
        uint8_t axis = 0;
        while (axis < PARALLEL_AXES && memcmp(word, short_words[axis], 2) != 0)
            axis++;
        if (axis == PARALLEL_AXES || (i + 1 < PARALLEL_AXES && word[2] != '-')) return false;
        read[i] = axis;
        seen |= 1u << axis;
    }
    if (seen != (1u << PARALLEL_AXES) - 1) return false;
    memcpy(order, read, sizeof(read));
    return true;
}

uint64_t parallel_common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
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
