// SPDX-License-Identifier: GPL-3.0-or-later
// Recursive halving (reduce-scatter) and doubling (all-gather), both for an all-reduce. With p = 2^L of n ranks, step k
// exchanges S/2^(k+1) with the rank d = 2^k away (of shares, those of both have to be sent), in the node where 2 d divides g:
//     T = T0 + phases x sum over k < L of (hop_k + S/2^(k+1) / B_k) [+ hop + S'/B to fold n - p ranks in, and out]
//     B_k = min8(m e, pair) in the node; min3(m e, NIC) over nodes, NIC of one rank's share, NIC min(1, NICs/g)
//     hop = c + L in the node; c + x + L_net over nodes     e = s / (c + s/R): one channel's rate, s its slice
// phases: 2 for an all-reduce, 1 for the others. S': all of the buffer for an all-reduce; else a share one way, all others the
// other. So the large exchanges stay in the node and those of S/n and its like cross.
// Source: Thakur, Rabenseifner, Gropp: "Optimization of collective communication operations in MPICH", IJHPCA 19(1), 2005.
// NCCL has no such algorithm; constants are those of its rings of Simple, links that steps of other ranks share are not
// counted.
#include "models/collective/pace_internal.h"
#include "sim/check.h"
#include <math.h>

typedef struct exchange {
    double bytes; // from one rank to the other
    bool network;
} exchange;

static double channels_of(const pace_request *q)
{
    return chunking_channels(q->library, q->layout, ALGORITHM_RECURSIVE, PROTOCOL_SIMPLE, q->bytes);
}

static uint32_t rounds_of(uint32_t ranks) // floor(log2)
{
    return plan_doublings(plan_power_within(ranks));
}

static bool has_folds(const collective_layout *l)
{
    return plan_power_within(l->ranks) < l->ranks;
}

static uint32_t step_count(const pace_request *q)
{
    const uint32_t phases = q->kind == COLLECTIVE_ALL_REDUCE ? 2 : 1;
    return phases * rounds_of(q->layout->ranks) + (has_folds(q->layout) ? 2 : 0);
}

static exchange fold_of(const pace_request *q, bool out)
{
    const collective_layout *l = q->layout;
    const double all = (double)q->bytes, share = all / l->ranks;
    const bool share_only = (q->kind == COLLECTIVE_REDUCE_SCATTER && out) ||
                            (q->kind == COLLECTIVE_ALL_GATHER && !out);
    return (exchange){
        .bytes = q->kind == COLLECTIVE_ALL_REDUCE ? all
                 : share_only                     ? share
                                                  : all - share,
        .network = l->nodes > 1,
    };
}

// In the order of the plan (recursive.c).
static exchange exchange_at(const pace_request *q, uint32_t step)
{
    const collective_layout *l = q->layout;
    const uint32_t rounds = rounds_of(l->ranks), last = step_count(q) - 1;
    if (has_folds(l)) {
        if (step == 0 || step == last) return fold_of(q, step == last);
        step--;
    }
    const bool halves = q->kind != COLLECTIVE_ALL_GATHER && step < rounds;
    const uint32_t k = halves ? step : rounds - 1 - step % rounds,
                   others = l->ranks - plan_power_within(l->ranks);
    const double part = exp2(k + 1.0), all = (double)q->bytes;
    const double shares = exp2(rounds) / part + ceil(others / part); // of the ranks that have the most
    return (exchange){ .bytes = q->kind == COLLECTIVE_ALL_REDUCE ? all / part : all * shares / l->ranks,
                       .network = l->nodes > 1 && l->ranks_per_node % (UINT32_C(2) << k) != 0 };
}

typedef struct exchange_time {
    double latency_s, stream_s;
} exchange_time;

static exchange_time time_of(const pace_request *q, const exchange *e)
{
    const collective_layout *l = q->layout;
    const double channels = channels_of(q);
    const kernel_costs *costs = &l->link->protocols[PROTOCOL_SIMPLE];
    const double most = (double)q->library->kernels.cuts[PROTOCOL_SIMPLE].ring_chunk_bytes / 2;
    const double slice = fmin(most, e->bytes / channels), slice_s = units_s_from_ps(costs->slice_ps);
    const double all_Bps = channels * slice / (slice_s + slice / costs->rate_Bps);
    if (!e->network)
        return (exchange_time){ pace_visible_s(l, PROTOCOL_SIMPLE),
                                e->bytes / pace_soft_min(all_Bps, pace_pair_Bps(l), SOFT_LINK) };
    const double nic_Bps = (double)l->nic_mBps * 1e-3 * fmin(1, (double)l->nics_per_node / l->ranks_per_node);
    const double post_s = 2 * units_s_from_ps(l->nic->post_ps) * pace_channels_per_thread(l, channels);
    return (exchange_time){ pace_network_hop_s(l, l->nic->hops[PROTOCOL_SIMPLE].ring_ps) + post_s +
                                units_s_from_ps(l->nic->message_ps) + pace_rendezvous_hop_s(l, slice),
                            e->bytes / pace_soft_min(all_Bps, nic_Bps, SOFT_NIC) };
}

collective_pace pace_recursive(const pace_request *q)
{
    const uint32_t steps = step_count(q);
    const double entry_s = pace_entry_s(q->layout) +
                           units_s_from_ps(q->layout->link->protocols[PROTOCOL_SIMPLE].ring_entry_ps);
    double latency_s = 0, stream_s = 0;
    for (uint32_t step = 0; step < steps; step++) {
        const exchange e = exchange_at(q, step);
        const exchange_time time = time_of(q, &e);
        latency_s += time.latency_s;
        stream_s += time.stream_s;
    }
    collective_pace pace = pace_make(entry_s + latency_s, stream_s);
    pace.channels = (uint32_t)channels_of(q);
    pace.slices = 1;
    pace.slots = q->library->kernels.slots;
    pace.entry_ps = pace_ps(entry_s);
    pace.steps = steps;
    pace.loops = 1;
    return pace;
}

void pace_recursive_steps(const pace_request *q, uint32_t count, step_pace *steps)
{
    SIM_ASSERT(count == step_count(q));
    for (uint32_t step = 0; step < count; step++) {
        const exchange e = exchange_at(q, step);
        const exchange_time time = time_of(q, &e);
        steps[step] = (step_pace){ pace_ps(time.latency_s), pace_ps(time.stream_s) };
    }
}
