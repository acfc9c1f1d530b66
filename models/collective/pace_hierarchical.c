// SPDX-License-Identifier: GPL-3.0-or-later
// Rings in three operations, one behind the other: reduce-scatter in each node, the operation itself among the GPUs of one
// place in all nodes on a g-th of the buffer, all-gather in each node:
//     all-reduce      T = ring RS(g, S) + ring AR(N, S/g) + ring AG(g, S)
//     reduce-scatter  T = ring RS(g, S) + ring RS(N, S/g)     all-gather  T = ring AG(N, S/g) + ring AG(g, S)
// each with its entry, for each is a kernel of its own. The g rings over nodes run side by side; each has its share of the
// NICs.
// Source: pace_ring.c for the parts; as frameworks compose NCCL's operations. No run of it is published: untested.
#include "models/collective/pace_internal.h"
#include "sim/check.h"

typedef struct stage {
    collective_layout layout;
    collective_kind kind;
    uint64_t bytes;
} stage;

enum { STAGES_MAX = 3 };

// In their order; returns how many there are.
static uint32_t stages_of(const pace_request *q, stage stages[STAGES_MAX])
{
    const collective_layout *l = q->layout;
    const uint32_t g = l->ranks_per_node;
    uint32_t count = 0;
    SIM_ASSERT(l->nodes > 1 && g > 1);
    collective_layout node = *l, across = *l;
    node.nodes = 1;
    node.ranks = g;
    node.nics_per_node = 0;
    if (l->pair_mBps > 0) node.link_mBps = l->pair_mBps; // one ring in each node
    across.ranks = l->nodes;
    across.ranks_per_node = 1;
    across.nics_per_node = l->nics_per_node > g ? l->nics_per_node / g : 1;
    if (l->nics_per_node < g) across.nic_mBps = l->nic_mBps * l->nics_per_node / g;
    if (q->kind != COLLECTIVE_ALL_GATHER)
        stages[count++] = (stage){ node, COLLECTIVE_REDUCE_SCATTER, q->bytes };
    stages[count++] = (stage){ across, q->kind, (q->bytes + g - 1) / g };
    if (q->kind != COLLECTIVE_REDUCE_SCATTER)
        stages[count++] = (stage){ node, COLLECTIVE_ALL_GATHER, q->bytes };
    return count;
}

static collective_pace stage_pace(const pace_request *q, const stage *own)
{
    pace_request part = *q;
    part.layout = &own->layout;
    part.kind = own->kind;
    part.bytes = own->bytes;
    return pace_ring(&part);
}

collective_pace pace_hierarchical(const pace_request *q)
{
    stage stages[STAGES_MAX];
    const uint32_t count = stages_of(q, stages);
    collective_pace sum = { 0 };
    for (uint32_t i = 0; i < count; i++) {
        const collective_pace pace = stage_pace(q, &stages[i]);
        if (i == 0) sum = (collective_pace){ .slices = pace.slices, .slots = pace.slots };
        if (pace.channels > sum.channels) sum.channels = pace.channels; // of the stage with the most
        if (pace.chunk_bytes > sum.chunk_bytes) sum.chunk_bytes = pace.chunk_bytes;
        if (pace.slice_bytes > sum.slice_bytes) sum.slice_bytes = pace.slice_bytes;
        sum.latency_ps += pace.latency_ps;
        sum.stream_ps += pace.stream_ps;
        sum.steps += pace.steps;
        sum.loops += pace.loops;
    }
    return sum;
}

// The steps of a stage are alike; its entry is spread over them.
void pace_hierarchical_steps(const pace_request *q, uint32_t count, step_pace *steps)
{
    stage stages[STAGES_MAX];
    const uint32_t stage_count = stages_of(q, stages);
    uint32_t step = 0;
    for (uint32_t i = 0; i < stage_count; i++) {
        const collective_pace pace = stage_pace(q, &stages[i]);
        SIM_ASSERT(pace.steps <= count - step);
        for (uint32_t end = step + pace.steps; step < end; step++)
            steps[step] = (step_pace){ pace.latency_ps / pace.steps, pace.stream_ps / pace.steps };
    }
    SIM_ASSERT(step == count);
}
