// SPDX-License-Identifier: GPL-3.0-or-later
// The ideal network: every transfer has its path to itself.
//     T = latency + max over edges of (latency_e + crossings delay_e + ceil(bytes_e / rate_e))      all [ps]
//     delay_e: the sum of delays of the path's links   rate_e: the least rate of its links, the request's cap,
//     or over the network what its queue pairs carry, [mB/s]
// The bytes follow one another through the path as through a pipe (cut-through), so each link's time is not added up.
// Exact for a lone transfer; a lower bound in traffic. Rounded up once per edge; one event per request.
#include "models/network/network_internal.h"

ARRAY_OF(sim_handle, handle_array);

typedef struct ideal_network {
    handle_array deliveries; // by slot
    uint16_t kind;
} ideal_network;

static sim_time edge_time_ps(const network *n, const transfer *t, const network_edge *edge)
{
    path_facts path = topology_path_facts(n->topology, edge->from, edge->to);
    uint64_t rate_mBps = path.rate_mBps;
    if (path.class == LINK_NETWORK) {
        const uint64_t cap_mBps = topology_connection_cap_mBps(n->topology, t->queue_pairs);
        if (cap_mBps < rate_mBps) rate_mBps = cap_mBps;
    }
    if (t->rate_cap_mBps > 0 && t->rate_cap_mBps < rate_mBps) rate_mBps = t->rate_cap_mBps;
    __int128 time_ps = (__int128)edge->latency_ps + (__int128)t->delay_crossings * path.delay_ps +
                       units_wire_time_ps(edge->bytes, rate_mBps);
    SIM_ASSERT(time_ps <= SIM_TIME_MAX);
    return (sim_time)time_ps;
}

static sim_handle *delivery_of(network *n, uint32_t slot)
{
    ideal_network *ideal = n->state;
    while (ideal->deliveries.count <= slot)
        array_push(&ideal->deliveries, n->arena);
    return &ideal->deliveries.items[slot];
}

static void ideal_start(network *n, uint32_t slot)
{
    const ideal_network *ideal = n->state;
    const transfer *t = &n->transfers.items[slot];
    sim_time longest_ps = 0;
    for (uint32_t e = 0; e < t->edge_count; e++) {
        sim_time time_ps = edge_time_ps(n, t, &network_edges(n, t)[e]);
        if (time_ps > longest_ps) longest_ps = time_ps;
    }
    SIM_ASSERT(t->latency_ps <= SIM_TIME_MAX - sim_now(n->sim) - longest_ps); // the horizon
    *delivery_of(n, slot) = sim_schedule(n->sim, sim_now(n->sim) + t->latency_ps + longest_ps, ideal->kind,
                                         slot, t->generation);
}

static void ideal_cancel(network *n, uint32_t slot)
{
    ideal_network *ideal = n->state;
    sim_cancel(n->sim, ideal->deliveries.items[slot]);
}

static void ideal_verify(const network *n)
{
    const ideal_network *ideal = n->state;
    for (uint32_t slot = 0; slot < n->transfers.count; slot++) {
        bool in_flight = n->transfers.items[slot].generation % 2 == 1;
        SIM_ASSERT(sim_pending(n->sim, ideal->deliveries.items[slot]) == in_flight);
    }
}

static void count_links(network *n, const transfer *t, uint64_t times)
{
    uint32_t path[TOPOLOGY_PATH_MAX];
    for (uint32_t e = 0; e < t->edge_count; e++) {
        const network_edge *edge = &network_edges(n, t)[e];
        uint32_t links = topology_route(n->topology, edge->from, edge->to, path);
        for (uint32_t i = 0; i < links; i++)
            n->link_bytes[path[i]] += edge->bytes * times;
    }
}

static void on_delivered(sim *s, void *owner, const sim_event *event)
{
    network *n = owner;
    (void)s;
    SIM_ASSERT(n->transfers.items[event->target].generation == event->extra);
    count_links(n, &n->transfers.items[event->target], 1);
    network_finish(n, event->target);
}

static void ideal_carry(network *n, uint32_t slot, uint64_t times)
{
    delivery_of(n, slot); // none, but every slot has a place for one
    count_links(n, &n->transfers.items[slot], times);
}

static network *ideal_create_like(arena *a, sim *s, const network *n)
{
    return network_create_ideal(a, s, n->topology);
}

static const network_ops ideal_ops = { .engine = ENGINE_IDEAL,
                                       .start = ideal_start,
                                       .cancel = ideal_cancel,
                                       .verify = ideal_verify,
                                       .carry = ideal_carry,
                                       .create_like = ideal_create_like };

network *network_create_ideal(arena *a, sim *s, const topology *t)
{
    ideal_network *ideal = arena_new(a, ideal_network);
    network *n = network_create(a, s, t, &ideal_ops, ideal);
    ideal->kind = sim_add_kind(s, "transfer delivered", SIM_ACT, on_delivered, n);
    return n;
}
