// SPDX-License-Identifier: GPL-3.0-or-later
// PAT (parallel aggregated trees): all-gather and reduce-scatter where each rank is alone in its node. Blocks of all depths
// of a binomial tree are sent together, so that the pipeline fills in ceil(log2 n) hops and every rank sends (n - 1)/n of
// the buffer:
//     T = T0 + ceil(log2 n) (c + s/R + x(s) + L_net) + S (n-1)/n / (m s / stage)     stage = max(c + s/R, x(s), host)
// with the symbols of pace_ring.c, m channels and s = min(chunk, a rank's block on a channel).
// Source: NVIDIA/nccl src/device/all_gather.h (PAT) for the order; constants are the rings'. No run of it is published:
// untested.
#include "models/collective/pace_internal.h"
#include <math.h>

collective_pace pace_pat(const pace_request *q)
{
    const collective_layout *l = q->layout;
    const kernel_costs *costs = &l->link->protocols[PROTOCOL_SIMPLE];
    const double n = l->ranks,
                 channels = chunking_channels(q->library, l, ALGORITHM_PAT, PROTOCOL_SIMPLE, q->bytes);
    const double block = (double)q->bytes / n / channels;
    const double slice = fmin(block, (double)q->library->tuning.pat.chunk_bytes);
    const double work_s = units_s_from_ps(costs->slice_ps) + slice / costs->rate_Bps;
    const double host_s = 2 * units_s_from_ps(l->nic->post_ps) * pace_channels_per_thread(l, channels) +
                          pace_rendezvous_thread_s(l, slice);
    const double nic_s = fmax(host_s,
                              units_s_from_ps(l->nic->message_ps) + slice * channels / pace_nics_Bps(l));
    const double hop_s = pace_network_hop_s(l, l->nic->hops[PROTOCOL_SIMPLE].ring_ps);
    const double latency_s = pace_entry_s(l) + units_s_from_ps(costs->ring_entry_ps) +
                             pace_tree_depth(l->nodes) * (work_s + nic_s + hop_s);
    const double stream_s = (n - 1) * block / slice * fmax(work_s, nic_s);
    collective_pace pace = pace_make(latency_s, stream_s);
    pace.channels = (uint32_t)channels;
    pace.chunk_bytes = pace.slice_bytes = (uint64_t)ceil(slice);
    pace.slices = 1;
    pace.slots = q->library->kernels.slots;
    pace.loops = block / slice;
    pace.work_ps = pace_ps(work_s);
    pace.nic_ps = pace_ps(nic_s);
    pace.network_hop_ps = pace_ps(hop_s);
    return pace;
}
