// SPDX-License-Identifier: GPL-3.0-or-later
// All-to-all: a send to each peer, eight peers at a time, k channels each:
//     one node:  T = T0 + n t_peer + S (n-1)/n / min8(m e, share x port) + 2 chunk/e     m = min(all, k (n-1))
//     N > 1:     T = T0 + T1 + (n-g) t_peer + S (n-g)/n / min3(m e, NIC) + 2 chunk/e     m = min(all, k min(n-1, 8))
//     e = chunk / (c + chunk/R): one channel's rate   NIC: of one rank's share, NIC min(1, NICs/g)
//     S, chunk [bytes]   R, e, port, NIC [bytes/s]   T0, T1, t_peer, c [s]   n ranks, g of them on a node
// Source: fit to collectives.csv, alltoall on 8 H100 and over 10 nodes: 6 % in the middle, 4 % above; two racks of NVL72 come
// out four times too fast (few NICs in use there, or an oversubscribed network).
//
// Unequal parts, a matrix of them: as long as the slowest rank, of what it sends (its row) or of what it receives (its column),
// inside its node and over its NIC, each as above: T0, t_peer and S with the peers that it exchanges something with, their
// number for n-1 and n-g, the mean part for S/n; m as if it did with all. No rank is faster than the largest part alone on its
// k channels, which is what few peers come to. A NIC has NIC min(1, NICs x its bytes / those of its node), which is the same
// where all are alike. Sends and receives run on the same channels, so both go at the same rates. Whose paths cross in the
// network, max-min says when it is played. No run with unequal parts is published: untested.
#include "models/collective/pace_internal.h"
#include <math.h>

typedef struct exchange { // what one rank sends or receives, all inside its node or all outside
    double part_bytes;    // mean
    uint32_t peers;       // to or from whom
    uint32_t at_once;     // of all of its peers
} exchange;

typedef struct channel { // one of those to a peer
    peer_cut cut;
    double chunk_s, used; // used: all of the rank
} channel;

static channel channel_of(const pace_request *q, const exchange *x)
{
    const collective_layout *l = q->layout;
    const peer_cut cut = chunking_peers(q->library, l, (uint64_t)ceil(x->part_bytes));
    const sim_time chunk_ps = l->nodes == 1 ? l->link->peers.chunk_ps : l->nic->peers.chunk_ps;
    return (channel){ .cut = cut,
                      .chunk_s = units_s_from_ps(chunk_ps) +
                                 cut.chunk_bytes / l->link->protocols[PROTOCOL_SIMPLE].rate_Bps,
                      .used = fmin(cut.all_channels, (double)cut.channels * x->at_once) };
}

static collective_pace make(const pace_request *q, const channel *c, double latency_s, double stream_s)
{
    collective_pace pace = pace_make(latency_s + 2 * c->chunk_s, stream_s);
    pace.channels = (uint32_t)c->used;
    pace.chunk_bytes = pace.slice_bytes = (uint64_t)ceil(c->cut.chunk_bytes);
    pace.slices = 1;
    pace.slots = q->library->kernels.slots;
    pace.steps = q->layout->ranks - 1;
    pace.loops = c->cut.part_bytes / c->cut.chunk_bytes;
    pace.work_ps = pace_ps(c->chunk_s);
    return pace;
}

static collective_pace inside(const pace_request *q, const exchange *x)
{
    const collective_layout *l = q->layout;
    const channel c = channel_of(q, x);
    const double latency_s = pace_entry_s(l) + (x->peers + 1) * units_s_from_ps(l->link->peers.peer_ps);
    const double rate_Bps = pace_soft_min(c.used * (c.cut.chunk_bytes / c.chunk_s),
                                          pace_link_Bps(l) * l->link->peers.all_to_all_ratio, SOFT_LINK);
    return make(q, &c, latency_s, x->part_bytes * x->peers / rate_Bps);
}

static collective_pace outside(const pace_request *q, const exchange *x, double nic_Bps)
{
    const collective_layout *l = q->layout;
    const channel c = channel_of(q, x);
    const double latency_s = pace_entry_s(l) + units_s_from_ps(l->nic->peers.all_to_all_entry_ps) +
                             x->peers * units_s_from_ps(l->nic->peers.peer_ps);
    const double rate_Bps = pace_soft_min(c.used * (c.cut.chunk_bytes / c.chunk_s), nic_Bps, SOFT_NIC);
    return make(q, &c, latency_s, x->part_bytes * x->peers / rate_Bps);
}

static uint32_t at_once_outside(const pace_request *q, uint32_t peers)
{
    const uint32_t most = q->library->kernels.peers_at_once;
    return peers > most ? most : peers;
}

collective_pace pace_all_to_all(const pace_request *q)
{
    const collective_layout *l = q->layout;
    const uint32_t n = l->ranks, g = l->ranks_per_node;
    const double part_bytes = (double)q->bytes / n;
    if (l->nodes == 1) return inside(q, &(exchange){ part_bytes, n - 1, n - 1 });
    const double nic_Bps = (double)l->nic_mBps * 1e-3 * fmin(1, (double)l->nics_per_node / g);
    return outside(q, &(exchange){ part_bytes, n - g, at_once_outside(q, n - 1) }, nic_Bps);
}

// ---- unequal parts

typedef struct load { // of a rank in one direction
    uint64_t bytes, largest_bytes;
    uint32_t peers;
} load;

typedef struct unequal {
    pace_request inner, outer; // between members of a node; of different ones
    const ring_set *rings;
    const uint64_t *parts;
    collective_pace slowest;
} unequal;

static void add_part(load *l, uint64_t bytes)
{
    l->bytes += bytes;
    l->peers += bytes > 0;
    if (bytes > l->largest_bytes) l->largest_bytes = bytes;
}

// Of the rank at a place of the rings with those at the places from first to end (not included).
static load load_of(const unequal *u, uint32_t place, uint32_t first, uint32_t end, bool sends)
{
    const uint32_t *order = u->rings->orders, rank = order[place];
    const size_t n = u->rings->ranks;
    load sum = { 0 };
    for (uint32_t p = first; p < end; p++)
        if (p != place) add_part(&sum, u->parts[sends ? rank * n + order[p] : order[p] * n + rank]);
    return sum;
}

static load both(load a, load b)
{
    return (load){ .bytes = a.bytes + b.bytes,
                   .largest_bytes = a.largest_bytes > b.largest_bytes ? a.largest_bytes : b.largest_bytes,
                   .peers = a.peers + b.peers };
}

static void keep_slower(unequal *u, collective_pace pace)
{
    if (pace_time_ps(&pace) > pace_time_ps(&u->slowest)) u->slowest = pace;
}

static exchange mean_of(const load *l, uint32_t at_once)
{
    return (exchange){ (double)l->bytes / l->peers, l->peers, at_once };
}

static exchange largest_of(const load *l)
{
    return (exchange){ (double)l->largest_bytes, 1, 1 };
}

static void look_at_rank(unequal *u, const load *inner, const load *outer, uint64_t node_bytes)
{
    const collective_layout *l = u->outer.layout;
    const uint32_t others = l->ranks - 1, at_once = at_once_outside(&u->outer, others);
    if (inner->peers > 0 && l->link_mBps > 0) {
        const exchange all = mean_of(inner, l->nodes == 1 ? others : at_once), largest = largest_of(inner);
        keep_slower(u, inside(&u->inner, &all));
        keep_slower(u, inside(&u->inner, &largest));
    }
    if (outer->peers > 0) {
        const double nic_Bps = (double)l->nic_mBps * 1e-3;
        const double share = (double)l->nics_per_node * (double)outer->bytes / (double)node_bytes;
        const exchange all = mean_of(outer, at_once), largest = largest_of(outer);
        keep_slower(u, outside(&u->outer, &all, nic_Bps * fmin(1, share)));
        keep_slower(u, outside(&u->outer, &largest, nic_Bps));
    }
}

static void look_at_node(unequal *u, uint32_t first, uint32_t end, bool sends, load *outer)
{
    uint64_t node_bytes = 0;
    for (uint32_t place = first; place < end; place++) {
        outer[place] = both(load_of(u, place, 0, first, sends),
                            load_of(u, place, end, u->rings->ranks, sends));
        node_bytes += outer[place].bytes;
    }
    for (uint32_t place = first; place < end; place++) {
        const load inner = load_of(u, place, first, end, sends);
        look_at_rank(u, &inner, &outer[place], node_bytes);
    }
}

collective_pace pace_unequal(arena *scratch, const collective_library *library,
                             const collective_layout *layout, const ring_set *rings, const uint64_t *parts)
{
    const arena_mark_t mark = arena_mark(scratch);
    collective_layout node = *layout;
    if (layout->nodes > 1) {
        node.nodes = 1;
        node.send_nodes = layout->nodes;
    }
    unequal u = { .rings = rings, .parts = parts };
    u.outer = (pace_request){ .library = library,
                              .layout = layout,
                              .kind = COLLECTIVE_ALL_TO_ALL_UNEQUAL,
                              .protocol = PROTOCOL_SIMPLE };
    u.inner = u.outer;
    u.inner.layout = &node;
    load *outer = arena_array(scratch, load, rings->ranks);
    for (uint32_t v = 0; v < plan_nodes(rings); v++)
        for (int sends = 0; sends < 2; sends++)
            look_at_node(&u, plan_node_start(rings, v), plan_node_start(rings, v + 1), sends == 1, outer);
    arena_release(scratch, mark);
    return u.slowest;
}
