// SPDX-License-Identifier: GPL-3.0-or-later
// PAT (parallel aggregated trees): all-gather and reduce-scatter where each rank is alone in its node. Blocks of all depths
// of a binomial tree are sent together, so that the pipeline fills in ceil(log2 n) hops and every rank sends (n - 1)/n of
// the buffer:
//     T = T0 + ceil(log2 n) (c + s/R + x(s) + L_net) + S (n-1)/n / (m s / stage)     stage = max(c + s/R, x(s), host)
// with the symbols of pace_ring.c, m channels and s = min(chunk, a rank's block on a channel).
// Source: NVIDIA/nccl src/device/all_gather.h (PAT) for the order; constants are the rings'. No run of it is published:
// untested.
#include "models/collective/pace_internal.h"
#include "sim/check.h"
#include <math.h>

typedef struct pat_times {
    double channels, block, slice; // bytes: a rank's block on a channel, what of it moves at once
    double work_s, nic_s, hop_s;
} pat_times;

static pat_times terms_of(const pace_request *q)
{
    const collective_layout *l = q->layout;
    const kernel_costs *costs = &l->link->protocols[PROTOCOL_SIMPLE];
    pat_times t = { .channels = chunking_channels(q->library, l, ALGORITHM_PAT, PROTOCOL_SIMPLE, q->bytes) };
    t.block = (double)q->bytes / l->ranks / t.channels;
    t.slice = fmin(t.block, (double)q->library->tuning.pat.chunk_bytes);
    t.work_s = units_s_from_ps(costs->slice_ps) + t.slice / costs->rate_Bps;
    const double host_s = 2 * units_s_from_ps(l->nic->post_ps) * pace_channels_per_thread(l, t.channels) +
                          pace_rendezvous_thread_s(l, t.slice);
    t.nic_s = fmax(host_s, units_s_from_ps(l->nic->message_ps) + t.slice * t.channels / pace_nics_Bps(l));
    t.hop_s = pace_network_hop_s(l, l->nic->hops[PROTOCOL_SIMPLE].ring_ps);
    return t;
}

// Of so many blocks, one behind the other.
static double stream_s(const pat_times *t, double blocks)
{
    return blocks * t->block / t->slice * fmax(t->work_s, t->nic_s);
}

collective_pace pace_pat(const pace_request *q)
{
    const collective_layout *l = q->layout;
    const pat_times t = terms_of(q);
    const uint32_t rounds = plan_doublings(l->ranks);
    const double entry_s = pace_entry_s(l) +
                           units_s_from_ps(l->link->protocols[PROTOCOL_SIMPLE].ring_entry_ps);
    collective_pace pace = pace_make(entry_s + rounds * (t.work_s + t.nic_s + t.hop_s),
                                     stream_s(&t, l->ranks - 1.0));
    pace.channels = (uint32_t)t.channels;
    pace.chunk_bytes = pace.slice_bytes = (uint64_t)ceil(t.slice);
    pace.slices = 1;
    pace.slots = q->library->kernels.slots;
    pace.loops = t.block / t.slice;
    pace.entry_ps = pace_ps(entry_s);
    pace.steps = rounds;
    pace.work_ps = pace_ps(t.work_s);
    pace.nic_ps = pace_ps(t.nic_s);
    pace.network_hop_ps = pace_ps(t.hop_s);
    return pace;
}

// A rank sends, d places on, the blocks that lie at multiples of 2 d places in their trees and whose way does not lead once
// round (pat.c).
void pace_pat_steps(const pace_request *q, uint32_t count, step_pace *steps)
{
    const pat_times t = terms_of(q);
    const uint32_t ranks = q->layout->ranks;
    SIM_ASSERT(count == plan_doublings(ranks));
    for (uint32_t step = 0; step < count; step++) {
        const bool gathers = q->kind == COLLECTIVE_ALL_GATHER;
        const uint64_t d = UINT64_C(1) << (gathers ? count - 1 - step : step);
        const uint64_t blocks = (ranks - d + 2 * d - 1) / (2 * d);
        steps[step] = (step_pace){ pace_ps(t.work_s + t.nic_s + t.hop_s),
                                   pace_ps(stream_s(&t, (double)blocks)) };
    }
}
