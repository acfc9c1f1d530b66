// SPDX-License-Identifier: GPL-3.0-or-later
// Broadcast and reduce: a pipeline along the rings' channels. Chunks of C bytes pass n - 1 hops, X of them between nodes:
//     Simple       T = T0 + (n - 1 - X) (w + L) + X (w + x + L_net) + (K - 1) stage     K = b / C
//     LL, LL128    T = T0 + (n - 1 - X) (c + L) + X (c + m + L_net) + K stage
//     stage = max(w, x, (2 w + x + L_net + L) / (2 slots)); one node: max(w, 2 (w + L) / slots)
//     X = N with several ranks on a node, for most rings begin in the midst of the root's and come back to it; else N - 1
// with the symbols of pace_ring.c, b the bytes of a channel and w = c + C/R. Chunks of Simple are stored and sent on, those
// of LL and LL128 go through line by line. A line of stages with two slots and more and equal units takes exactly the sum
// of its stages and K - 1 times the longest.
// Source: NVIDIA/nccl src/device/broadcast.h, reduce.h and prims_ll128.h; one step of 512 KiB at a time (nccl-constants.csv,
// bcast_reduce_chunk_steps). Constants are the rings'. No broadcast of NCCL is in collectives.csv: untested by itself. Steps of
// InternEvo with one broadcast after another over 1,024 GPUs (training.csv) need the lines: chunks stored at each hop would
// take five times the step.
#include "models/collective/pace_internal.h"
#include <math.h>

typedef struct pipe_stage {
    double hop_s, network_hop_s;           // of a chunk from GPU to GPU, from node to node
    double line_hop_s, line_network_hop_s; // of its first line
    double stage_s;
    double work_s, nic_s;
} pipe_stage;

static pipe_stage stage_of(const slice_ring *r, double chunk)
{
    pipe_stage p = { .work_s = r->slice_s + chunk / r->link_Bps };
    p.hop_s = p.work_s + r->visible_s;
    p.line_hop_s = r->slice_s + r->visible_s;
    p.line_network_hop_s = r->slice_s + r->message_s + r->hop_s;
    if (r->ranks_per_node == r->ranks) {
        p.stage_s = fmax(p.work_s, 2 * p.hop_s / r->slots);
        return p;
    }
    p.nic_s = fmax(r->host_s, r->message_s + chunk / r->nic_Bps);
    p.network_hop_s = r->slice_s + chunk / r->network_Bps + p.nic_s + r->hop_s;
    p.stage_s = fmax(fmax(p.work_s, p.nic_s), (p.network_hop_s + p.hop_s) / (2.0 * r->slots));
    return p;
}

collective_pace pace_pipe(const pace_request *q)
{
    const collective_layout *l = q->layout;
    slice_ring r = pace_ring_channel(q);
    r.slots = q->library->kernels.slots; // one step each, where slices of a ring's chunk are two
    const double chunk = fmin(r.bytes, (double)q->library->kernels.cuts[q->protocol].pipe_chunk_bytes);
    const pipe_stage p = stage_of(&r, chunk);
    const double entry_s = pace_entry_s(l) + units_s_from_ps(l->link->protocols[q->protocol].ring_entry_ps);
    const uint32_t crossings = l->nodes == 1 ? 0 : l->ranks_per_node > 1 ? l->nodes : l->nodes - 1;
    const bool lines = q->protocol != PROTOCOL_SIMPLE;
    const uint32_t inside = l->ranks - 1 - crossings;
    const double loops = r.bytes / chunk;
    const double fill_s = lines ? inside * p.line_hop_s + crossings * p.line_network_hop_s + p.stage_s
                                : inside * p.hop_s + crossings * p.network_hop_s;
    const double stream_s = fmin(loops * p.stage_s, fill_s + (loops - 1) * p.stage_s);
    collective_pace pace = pace_make(entry_s + fill_s + (loops - 1) * p.stage_s - stream_s, stream_s);
    pace.channels = chunking_channels(q->library, l, ALGORITHM_RING, q->protocol, q->bytes);
    pace.chunk_bytes = (uint64_t)ceil(chunk);
    pace.slices = 1;
    pace.slots = r.slots;
    pace.steps = l->ranks - 1;
    pace.loops = loops;
    pace.entry_ps = pace_ps(entry_s);
    if (lines) return pace;
    pace.slice_bytes = pace.chunk_bytes;
    pace.slice_ps = pace_ps(r.slice_s);
    pace.work_ps = pace_ps(p.work_s);
    pace.out_work_ps = pace_ps(r.slice_s + chunk / r.network_Bps);
    pace.visible_ps = pace_ps(r.visible_s);
    if (l->nodes > 1) {
        pace.message_ps = pace_ps(r.message_s);
        pace.host_ps = pace_ps(r.host_s);
    }
    pace.nic_ps = pace_ps(p.nic_s);
    pace.network_hop_ps = pace_ps(r.hop_s);
    return pace;
}
