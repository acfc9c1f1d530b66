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

static void add(const pace_request *q, const collective_layout *layout, collective_kind kind, uint64_t bytes,
                collective_pace *sum)
{
    pace_request part = *q;
    part.layout = layout;
    part.kind = kind;
    part.bytes = bytes;
    const collective_pace pace = pace_ring(&part);
    if (sum->channels == 0)
        *sum = (collective_pace){ .channels = pace.channels, .slices = pace.slices, .slots = pace.slots };
    if (pace.chunk_bytes > sum->chunk_bytes) sum->chunk_bytes = pace.chunk_bytes;
    if (pace.slice_bytes > sum->slice_bytes) sum->slice_bytes = pace.slice_bytes;
    sum->latency_ps += pace.latency_ps;
    sum->stream_ps += pace.stream_ps;
    sum->steps += pace.steps;
    sum->loops += pace.loops;
}

collective_pace pace_hierarchical(const pace_request *q)
{
    const collective_layout *l = q->layout;
    const uint32_t g = l->ranks_per_node;
    SIM_ASSERT(l->nodes > 1 && g > 1);
    collective_layout node = *l, across = *l;
    node.nodes = 1;
    node.ranks = g;
    node.nics_per_node = 0;
    across.ranks = l->nodes;
    across.ranks_per_node = 1;
    across.nics_per_node = l->nics_per_node > g ? l->nics_per_node / g : 1;
    if (l->nics_per_node < g) across.nic_mBps = l->nic_mBps * l->nics_per_node / g;
    const uint64_t part_bytes = (q->bytes + g - 1) / g;
    collective_pace sum = { 0 };
    if (q->kind != COLLECTIVE_ALL_GATHER) add(q, &node, COLLECTIVE_REDUCE_SCATTER, q->bytes, &sum);
    add(q, &across, q->kind, part_bytes, &sum);
    if (q->kind != COLLECTIVE_REDUCE_SCATTER) add(q, &node, COLLECTIVE_ALL_GATHER, q->bytes, &sum);
    return sum;
}
