// SPDX-License-Identifier: GPL-3.0-or-later
// Rings of channels: all-reduce, reduce-scatter, all-gather. A channel's share of the buffer goes in loops of n chunks of C
// bytes (the last loop: what is left, over n); a chunk in K slices s0, s1. With g ranks on a node and N nodes:
//     T = T0 + sum over loops (steps x step) + K w(s0) [+ L_net if N > 1 and g > 1]
//     step = the longest of
//         w(s0) + w(s1)                                            the CTA's own work
//         one node:  w(s0) + L                                     a slice and its way
//         N > 1:     (g w(s0) + (g-1) L + x(s0) + L_net) / g       a slice once round the node
//                    x(s0) + x(s1)                                 the NIC or the host thread
//         K (2 w(s0) + x(s0) + L_net + L) / (2 slots)              slots of the network hop (one node: K (2 w + 2 L) / slots)
//     w(s) = c + s/R   x(s) = max(host, m + s / B_nic)   steps = 2 (n-1), n - 1 for the others
//     c, L, m, L_net, host [s]   s, C [bytes]   R, B_nic [bytes/s]: of one channel
// R is soft_min(CTA, its share of the port), which over nodes carries g - 1 of g hops. host: one thread per GPU serves all
// channels of its NIC, 2 t_op for each slice of each; for LL it also reads every line of 16 bytes; above a size it waits
// for a rendezvous, whose way is within L_net.
// Source: a fit of slices through channels to collectives.csv; NVIDIA/nccl src/device/prims_simple.h, all_reduce.h for the
// order of the steps. Within 1 % of the recursion slice by slice on average and 10 % at worst (slice_ring.c,
// test_pace_ring.c: where two terms are equal), 18 % on Slingshot below 1 MiB. Of the published runs: small sizes 2 to 7 %,
// middle 3 to 15 %, plateau 1 to 4 %. Left out: nodes that differ, NICs that serve GPUs unevenly, registered buffers,
// graphs of launches.
#include "models/collective/pace_internal.h"
#include <math.h>

static double work_s(const slice_ring *r, double bytes, double rate_Bps)
{
    return r->slice_s + bytes / rate_Bps;
}

static double service_s(const slice_ring *r, double bytes)
{
    return fmax(r->host_s, r->message_s + bytes / r->nic_Bps);
}

static double host_s(const pace_request *q, double channels, double message_bytes)
{
    const collective_layout *l = q->layout;
    const double wire_bytes = message_bytes * q->library->kernels.cuts[q->protocol].wire_ratio;
    double each_s = 2 * units_s_from_ps(l->nic->post_ps) + pace_rendezvous_thread_s(l, wire_bytes);
    if (q->protocol == PROTOCOL_LL) each_s += units_s_from_ps(l->nic->line_ps) * wire_bytes / 16;
    return each_s * pace_channels_per_thread(l, channels);
}

static void add_network(const pace_request *q, double channels, slice_ring *ring)
{
    const collective_layout *l = q->layout;
    const protocol_cut *cut = &q->library->kernels.cuts[q->protocol];
    const double chunk = fmin(ring->chunk_bytes, ring->bytes / ring->ranks);
    ring->nic_Bps = pace_routed_nics_Bps(l) / channels / cut->wire_ratio;
    ring->message_s = units_s_from_ps(l->nic->message_ps);
    ring->hop_s = pace_network_hop_s(l, l->nic->hops[q->protocol].ring_ps);
    ring->host_s = host_s(q, channels, chunking_slices(cut, chunk).first_bytes);
}

slice_ring pace_ring_channel(const pace_request *q)
{
    const collective_layout *l = q->layout;
    const protocol_cut *cut = &q->library->kernels.cuts[q->protocol];
    const kernel_costs *costs = &l->link->protocols[q->protocol];
    const double channels = chunking_channels(q->library, l, ALGORITHM_RING, q->protocol, q->bytes);
    const uint32_t g = l->nodes == 1 ? l->ranks : l->ranks_per_node;
    slice_ring ring = { .ranks = l->ranks,
                        .ranks_per_node = g,
                        .steps = (q->kind == COLLECTIVE_ALL_REDUCE ? 2 : 1) * (l->ranks - 1),
                        .slices = cut->slices,
                        .slots = q->library->kernels.slots / cut->slices,
                        .bytes = (double)q->bytes / channels,
                        .chunk_bytes = (double)cut->ring_chunk_bytes,
                        .least_slice_bytes = (double)cut->least_slice_bytes,
                        .link_Bps = costs->rate_Bps,
                        .network_Bps = costs->rate_Bps,
                        .slice_s = units_s_from_ps(costs->slice_ps),
                        .visible_s = pace_visible_s(l, q->protocol) };
    if (g > 1) {
        const double hops = l->nodes == 1 ? 1 : g / (g - 1.0);
        const double share_Bps = pace_link_Bps(l) / channels * hops / cut->wire_ratio;
        ring.link_Bps = pace_soft_min(costs->rate_Bps, share_Bps, SOFT_LINK);
        if (l->nodes == 1) ring.network_Bps = ring.link_Bps;
    }
    if (l->nodes > 1) add_network(q, channels, &ring);
    return ring;
}

// Of a loop whose chunks have so many bytes.
static double step_s(const slice_ring *r, double chunk)
{
    const uint32_t g = r->ranks_per_node;
    const double s0 = slice_ring_slice_bytes(r, chunk, 0);
    const double s1 = r->slices > 1 ? slice_ring_slice_bytes(r, chunk, 1) : 0;
    const double first_s = work_s(r, s0, r->link_Bps);
    const double second_s = r->slices > 1 ? work_s(r, s1, r->link_Bps) : 0;
    if (g == r->ranks) {
        const double window_s = 2 * (first_s + r->visible_s) * r->slices / r->slots;
        return fmax(fmax(first_s + second_s, first_s + r->visible_s), window_s);
    }
    const double out_s = work_s(r, s0, r->network_Bps);
    const double out_second_s = r->slices > 1 ? work_s(r, s1, r->network_Bps) : 0;
    const double own_s = g > 1 ? first_s + second_s : out_s + out_second_s;
    const double nic_s = service_s(r, s0);
    const double round_s = ((g - 1) * (first_s + r->visible_s) + out_s + nic_s + r->hop_s) / g;
    const double both_s = nic_s + (r->slices > 1 ? service_s(r, s1) : 0);
    const double window_s = (out_s + nic_s + r->hop_s + first_s + r->visible_s) * r->slices /
                            (2.0 * r->slots);
    return fmax(fmax(own_s, round_s), fmax(both_s, window_s));
}

typedef struct ring_loops {
    double full, last_chunk; // whole loops before the last; bytes of a chunk of the last
} ring_loops;

static ring_loops loops_of(const slice_ring *r)
{
    const double loop_bytes = r->chunk_bytes * r->ranks;
    const double full = fmax(0, ceil(r->bytes / loop_bytes) - 1);
    return (ring_loops){ .full = full, .last_chunk = (r->bytes - full * loop_bytes) / r->ranks };
}

static double stream_s(const slice_ring *r)
{
    const ring_loops loops = loops_of(r);
    return r->steps * (loops.full * step_s(r, r->chunk_bytes) + step_s(r, loops.last_chunk));
}

// What the last step, which only receives, adds behind the others.
static double drain_s(const slice_ring *r)
{
    const double s0 = slice_ring_slice_bytes(r, loops_of(r).last_chunk, 0);
    const bool leaves = r->ranks_per_node < r->ranks && r->ranks_per_node > 1;
    return r->slices * work_s(r, s0, r->network_Bps) + (leaves ? r->hop_s : 0);
}

// From the moment when the last slice with bytes is there: its work and that of an empty one, or all slices of the last chunk,
// which a rank works on once it has sent its own, as long ago as the last one was on its way.
static double last_drain_s(const slice_ring *r)
{
    const double chunk = loops_of(r).last_chunk, s0 = slice_ring_slice_bytes(r, chunk, 0);
    const double work0_s = work_s(r, s0, r->network_Bps);
    if (s0 >= chunk) return work0_s + (r->slices - 1) * r->slice_s;
    return fmax(work0_s, r->slices * work0_s - r->visible_s);
}

double pace_ring_closed_s(const slice_ring *ring)
{
    return stream_s(ring) + drain_s(ring);
}

collective_pace pace_ring(const pace_request *q)
{
    const slice_ring r = pace_ring_channel(q);
    const ring_loops loops = loops_of(&r);
    const double chunk = loops.full > 0 ? r.chunk_bytes : loops.last_chunk;
    const double s0 = slice_ring_slice_bytes(&r, chunk, 0);
    const double entry_s = pace_entry_s(q->layout) +
                           units_s_from_ps(q->layout->link->protocols[q->protocol].ring_entry_ps);
    collective_pace pace = pace_make(entry_s + drain_s(&r), stream_s(&r));
    pace.channels = chunking_channels(q->library, q->layout, ALGORITHM_RING, q->protocol, q->bytes);
    pace.chunk_bytes = (uint64_t)ceil(chunk);
    pace.slice_bytes = (uint64_t)ceil(s0);
    pace.slices = r.slices;
    pace.slots = r.slots;
    pace.steps = r.steps;
    pace.loops = loops.full + loops.last_chunk / r.chunk_bytes;
    pace.entry_ps = pace_ps(entry_s);
    pace.slice_ps = pace_ps(r.slice_s);
    pace.work_ps = pace_ps(work_s(&r, s0, r.link_Bps));
    pace.out_work_ps = pace_ps(work_s(&r, s0, r.network_Bps));
    pace.drain_ps = pace_ps(last_drain_s(&r));
    pace.visible_ps = pace_ps(r.visible_s);
    if (q->layout->nodes > 1) {
        pace.message_ps = pace_ps(r.message_s);
        pace.host_ps = pace_ps(r.host_s);
        pace.nic_ps = pace_ps(service_s(&r, s0));
        pace.network_hop_ps = pace_ps(r.hop_s);
    }
    return pace;
}
