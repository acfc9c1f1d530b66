// SPDX-License-Identifier: GPL-3.0-or-later
// A send to one peer, over k channels, chunk after chunk:
//     T = T0 + (part / chunk + 1) w     part = S / k
//     w = chunk / min8(chunk / (chunk/R), port / k) in a node;   chunk k / min3(k chunk / (c + chunk/R), NIC) over nodes
//     S, part, chunk [bytes]   R, port, NIC [bytes/s]   c, T0 [s]   min_p: pace_soft_min
// In a node c is hidden (c + chunk/R is what one CTA needs, but two chunks overlap: 355 GB/s measured with 32 channels). k
// is the whole curve (chunking.c): 80, 82, 162, 300, 355 GB/s at 32 to 512 MiB on 8 H100. Over nodes one rank of a node
// crosses and has its NIC to itself, as in nccl-tests' sendrecv.
// The NIC's own cost of a message (nic_costs.message) is within c: a channel copies, posts and is served chunk by chunk.
// Beside c it would be counted twice, and the NIC is not slower for chunks than for streams: with one queue pair 128 KiB at
// a time go at the line rate and 16 KiB at 97 % of it (NVIDIA/nccl issue 2409), and an all-to-all over ten nodes fills it.
// Source: fit to collectives.csv: 8 H100 and B200 nodes over 2 to 64, 4 to 8 % in all bands.
#include "models/collective/pace_internal.h"
#include <math.h>

collective_pace pace_send_recv(const pace_request *q)
{
    const collective_layout *l = q->layout;
    const peer_cut cut = chunking_peers(q->library, l, q->bytes);
    const double rate_Bps = l->link->protocols[PROTOCOL_SIMPLE].rate_Bps, chunk = cut.chunk_bytes;
    const double k = cut.channels;
    const sim_time chunk_ps = l->nodes == 1 ? l->link->peers.chunk_ps : l->nic->peers.chunk_ps;
    const double alone_s = units_s_from_ps(chunk_ps) + chunk / rate_Bps;
    const double chunk_s = l->nodes == 1
                               ? chunk / pace_soft_min(chunk / alone_s, pace_link_Bps(l) / k, SOFT_LINK)
                               : chunk * k /
                                     pace_soft_min(chunk * k / alone_s, (double)l->nic_mBps * 1e-3, SOFT_NIC);
    const double entry_s = l->nodes == 1 ? fmax(units_s_from_ps(l->link->peers.entry_ps),
                                                units_s_from_ps(l->link_delay_ps))
                                         : pace_network_hop_s(l, l->nic->peers.entry_ps);
    collective_pace pace = pace_make(entry_s + chunk_s, cut.part_bytes / chunk * chunk_s);
    pace.channels = cut.channels;
    pace.chunk_bytes = pace.slice_bytes = (uint64_t)ceil(chunk);
    pace.slices = 1;
    pace.slots = q->library->kernels.slots;
    pace.steps = 1;
    pace.loops = cut.part_bytes / chunk;
    pace.work_ps = pace_ps(alone_s);
    return pace;
}
