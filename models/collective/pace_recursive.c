// SPDX-License-Identifier: GPL-3.0-or-later
// Recursive halving (reduce-scatter) and doubling (all-gather), both for an all-reduce. With p = 2^k ranks, step d
// exchanges S/2^(d+1) with the rank 2^d away, in the node while 2^(d+1) <= g:
//     T = T0 + phases x sum over d < k of (hop_d + S/2^(d+1) / B_d) [+ 2 (hop + S/B) to fold n - p ranks in and out]
//     B_d = min8(m e, port) in the node; min3(m e, NIC) over nodes, NIC of one rank's share, NIC min(1, NICs/g)
//     hop = c + L in the node; c + x + L_net over nodes     e = s / (c + s/R): one channel's rate, s its slice
// phases: 2 for an all-reduce, 1 for the others. So the large exchanges stay in the node and those of S/n and its like
// cross.
// Source: Thakur, Rabenseifner, Gropp: "Optimization of collective communication operations in MPICH", IJHPCA 19(1), 2005.
// NCCL has no such algorithm; constants are those of its rings of Simple, links that steps of other ranks share are not
// counted.
#include "models/collective/pace_internal.h"
#include <math.h>

typedef struct exchange {
    const pace_request *q;
    double channels;
    double latency_s, stream_s; // of the steps so far
} exchange;

static void add_step(exchange *e, double bytes, bool network)
{
    const collective_layout *l = e->q->layout;
    const kernel_costs *costs = &l->link->protocols[PROTOCOL_SIMPLE];
    const double most = (double)e->q->library->kernels.cuts[PROTOCOL_SIMPLE].ring_chunk_bytes / 2;
    const double slice = fmin(most, bytes / e->channels), slice_s = units_s_from_ps(costs->slice_ps);
    const double all_Bps = e->channels * slice / (slice_s + slice / costs->rate_Bps);
    if (!network) {
        e->latency_s += pace_visible_s(l, PROTOCOL_SIMPLE);
        e->stream_s += bytes / pace_soft_min(all_Bps, pace_link_Bps(l), SOFT_LINK);
        return;
    }
    const double nic_Bps = (double)l->nic_mBps * 1e-3 * fmin(1, (double)l->nics_per_node / l->ranks_per_node);
    const double post_s = 2 * units_s_from_ps(l->nic->post_ps) * pace_channels_per_thread(l, e->channels);
    e->latency_s += pace_network_hop_s(l, l->nic->hops[PROTOCOL_SIMPLE].ring_ps) + post_s +
                    units_s_from_ps(l->nic->message_ps) + pace_rendezvous_hop_s(l, slice);
    e->stream_s += bytes / pace_soft_min(all_Bps, nic_Bps, SOFT_NIC);
}

collective_pace pace_recursive(const pace_request *q)
{
    const collective_layout *l = q->layout;
    exchange e = {
        .q = q, .channels = chunking_channels(q->library, l, ALGORITHM_RECURSIVE, PROTOCOL_SIMPLE, q->bytes)
    };
    const uint32_t phases = q->kind == COLLECTIVE_ALL_REDUCE ? 2 : 1;
    uint32_t power = 1, steps = 0;
    double bytes = (double)q->bytes;
    for (; power <= l->ranks / 2; power *= 2) {
        bytes /= 2;
        const bool network = l->nodes > 1 && power * 2 > l->ranks_per_node;
        for (uint32_t phase = 0; phase < phases; phase++)
            add_step(&e, bytes, network);
        steps += phases;
    }
    for (uint32_t fold = 0; fold < phases && power < l->ranks; fold++, steps++)
        add_step(&e, (double)q->bytes, l->nodes > 1);
    const double entry_s = pace_entry_s(l) +
                           units_s_from_ps(l->link->protocols[PROTOCOL_SIMPLE].ring_entry_ps);
    collective_pace pace = pace_make(entry_s + e.latency_s, e.stream_s);
    pace.channels = (uint32_t)e.channels;
    pace.slices = 1;
    pace.slots = q->library->kernels.slots;
    pace.steps = steps;
    pace.loops = 1;
    return pace;
}
