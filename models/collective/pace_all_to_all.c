// SPDX-License-Identifier: GPL-3.0-or-later
// All-to-all: a send to each peer, eight peers at a time, k channels each:
//     one node:  T = T0 + n t_peer + S (n-1)/n / min8(m e, share x port) + 2 chunk/e     m = min(all, k (n-1))
//     N > 1:     T = T0 + T1 + (n-g) t_peer + S (n-g)/n / min3(m e, NIC) + 2 chunk/e     m = min(all, k min(n-1, 8))
//     e = chunk / (c + chunk/R): one channel's rate   NIC: of one rank's share, NIC min(1, NICs/g)
//     S, chunk [bytes]   R, e, port, NIC [bytes/s]   T0, T1, t_peer, c [s]   n ranks, g of them on a node
// Source: fit to collectives.csv, alltoall on 8 H100 and over 10 nodes: 6 % in the middle, 4 % above; two racks of NVL72 come
// out four times too fast (few NICs in use there, or an oversubscribed network).
#include "models/collective/pace_internal.h"
#include <math.h>

collective_pace pace_all_to_all(const pace_request *q)
{
    const collective_layout *l = q->layout;
    const uint32_t n = l->ranks, g = l->ranks_per_node;
    const double part_bytes = (double)q->bytes / n;
    const peer_cut cut = chunking_peers(q->library, l, (uint64_t)ceil(part_bytes));
    const bool node = l->nodes == 1;
    const sim_time chunk_ps = node ? l->link->peers.chunk_ps : l->nic->peers.chunk_ps;
    const double chunk_s = units_s_from_ps(chunk_ps) +
                           cut.chunk_bytes / l->link->protocols[PROTOCOL_SIMPLE].rate_Bps;
    const double one_Bps = cut.chunk_bytes / chunk_s;
    const uint32_t at_once = !node && n - 1 > q->library->kernels.peers_at_once
                                 ? q->library->kernels.peers_at_once
                                 : n - 1;
    const double channels = fmin(cut.all_channels, (double)cut.channels * at_once);
    double latency_s = pace_entry_s(l), remote_bytes, rate_Bps;
    if (node) {
        latency_s += n * units_s_from_ps(l->link->peers.peer_ps);
        remote_bytes = part_bytes * (n - 1);
        rate_Bps = pace_soft_min(channels * one_Bps, pace_link_Bps(l) * l->link->peers.all_to_all_ratio,
                                 SOFT_LINK);
    } else {
        latency_s += units_s_from_ps(l->nic->peers.all_to_all_entry_ps) +
                     (n - g) * units_s_from_ps(l->nic->peers.peer_ps);
        remote_bytes = part_bytes * (n - g);
        const double nic_Bps = (double)l->nic_mBps * 1e-3 * fmin(1, (double)l->nics_per_node / g);
        rate_Bps = pace_soft_min(channels * one_Bps, nic_Bps, SOFT_NIC);
    }
    collective_pace pace = pace_make(latency_s + 2 * chunk_s, remote_bytes / rate_Bps);
    pace.channels = (uint32_t)channels;
    pace.chunk_bytes = pace.slice_bytes = (uint64_t)ceil(cut.chunk_bytes);
    pace.slices = 1;
    pace.slots = q->library->kernels.slots;
    pace.steps = n - 1;
    pace.loops = cut.part_bytes / cut.chunk_bytes;
    pace.work_ps = pace_ps(chunk_s);
    return pace;
}
