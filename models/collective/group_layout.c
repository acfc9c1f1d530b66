// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/collective/group_layout.h"
#include "sim/check.h"
#include <math.h>

typedef struct layout_search {
    const topology *topology;
    const ring_set *rings;
    const vertex_id *members;
    layout_health health;
    collective_layout *out;
} layout_search;

static vertex_id member_at(const layout_search *s, uint32_t ring, uint32_t place)
{
    return s->members[s->rings->orders[(size_t)ring * s->rings->ranks + place % s->rings->ranks]];
}

static uint64_t rate_of(const layout_search *s, uint32_t link)
{
    const uint64_t rate_mBps = topology_rate_mBps(s->topology, link);
    if (s->health == LAYOUT_AS_IT_IS || link >= topology_link_count(s->topology)) return rate_mBps;
    return (uint64_t)llround((double)rate_mBps / topology_link_at(s->topology, link)->health_ratio);
}

static path_facts path_of(const layout_search *s, vertex_id from, vertex_id to)
{
    path_facts facts = topology_path_facts(s->topology, from, to);
    if (s->health == LAYOUT_AS_IT_IS) return facts;
    uint32_t path[TOPOLOGY_PATH_MAX];
    const uint32_t links = topology_route(s->topology, from, to, path);
    facts.rate_mBps = UINT64_MAX;
    for (uint32_t i = 0; i < links; i++) {
        const uint64_t rate_mBps = rate_of(s, path[i]);
        if (rate_mBps < facts.rate_mBps) facts.rate_mBps = rate_mBps;
    }
    return facts;
}

// ---- inside a node

static bool is_member(const layout_search *s, vertex_id v, uint32_t first, uint32_t end)
{
    for (uint32_t place = first; place < end; place++)
        if (member_at(s, 0, place) == v) return true;
    return false;
}

// What leaves a GPU for its NVSwitch, or for the other members of its node over links of their own; through the host, what the
// way to the next member carries.
static uint64_t port_mBps(const layout_search *s, uint32_t place, uint32_t first, uint32_t end,
                          const path_facts *next)
{
    uint32_t count;
    uint64_t sum_mBps = 0;
    const link_id *links = topology_outgoing(s->topology, member_at(s, 0, place), &count);
    for (uint32_t i = 0; i < count; i++) {
        const topology_link *link = topology_link_at(s->topology, links[i]);
        if (link->class != LINK_NVLINK) continue;
        if (topology_vertex_at(s->topology, link->to)->kind == VERTEX_NVSWITCH ||
            is_member(s, link->to, first, end))
            sum_mBps += rate_of(s, links[i]);
    }
    return sum_mBps > 0 ? sum_mBps : next->rate_mBps;
}

static bool is_switched(const layout_search *s, vertex_id v)
{
    uint32_t count;
    const link_id *links = topology_outgoing(s->topology, v, &count);
    for (uint32_t i = 0; i < count; i++)
        if (topology_vertex_at(s->topology, topology_link_at(s->topology, links[i])->to)->kind ==
            VERTEX_NVSWITCH)
            return true;
    return false;
}

static void look_inside(const layout_search *s, uint32_t first, uint32_t end)
{
    collective_layout *l = s->out;
    if (end - first < l->ranks_per_node) l->ranks_per_node = end - first;
    for (uint32_t place = first; place < end; place++) {
        l->nvswitch &= is_switched(s, member_at(s, 0, place));
        if (end - first == 1) continue;
        const uint32_t next = place + 1 < end ? place + 1 : first;
        const path_facts path = path_of(s, member_at(s, 0, place), member_at(s, 0, next));
        const uint64_t rate_mBps = port_mBps(s, place, first, end, &path);
        if (rate_mBps < l->link_mBps) l->link_mBps = rate_mBps;
        if (path.rate_mBps < l->pair_mBps) l->pair_mBps = path.rate_mBps;
        if (path.delay_ps > l->link_delay_ps) l->link_delay_ps = path.delay_ps;
    }
}

// ---- between nodes

static void look_between(const layout_search *s, vertex_id from, vertex_id to)
{
    collective_layout *l = s->out;
    const path_facts path = path_of(s, from, to);
    if (path.rate_mBps < l->nic_mBps) l->nic_mBps = path.rate_mBps;
    if (path.delay_ps > l->net_delay_ps) l->net_delay_ps = path.delay_ps;
}

// Every ring's crossings, and from the first node to all others: trees and sends go farther than to the next.
static void look_around(const layout_search *s)
{
    for (uint32_t v = 0; v < s->rings->nodes; v++) {
        const uint32_t end = plan_node_start(s->rings, v + 1);
        for (uint32_t r = 0; r < s->rings->count; r++)
            look_between(s, member_at(s, r, end - 1), member_at(s, r, end));
        if (v > 0) look_between(s, member_at(s, 0, 0), member_at(s, 0, end - 1));
    }
}

// A connection of several queue pairs is spread over the NICs of its GPU.
static uint32_t nics_of_connection(const layout_search *s)
{
    uint32_t least = s->out->queue_pairs, count;
    nic_id first;
    for (uint32_t m = 0; m < s->rings->ranks; m++) {
        if (topology_vertex_at(s->topology, s->members[m])->kind == VERTEX_NIC) return 1;
        if (topology_nics_of_gpu(s->topology, topology_gpu_of(s->topology, s->members[m]), &first, &count) &&
            count < least)
            least = count;
    }
    return least;
}

// Bonded ports: each queue pair leaves by one cable of its NIC.
static uint32_t cables_of_connection(const layout_search *s)
{
    const topology *t = s->topology;
    uint32_t least = s->out->queue_pairs, links;
    for (uint32_t m = 0; m < s->rings->ranks && least > 1; m++) {
        nic_id nic;
        uint32_t nics, cables = 0;
        const vertex_id v = s->members[m];
        if (topology_vertex_at(t, v)->kind == VERTEX_NIC)
            nic = topology_nic_of(t, v);
        else if (!topology_nics_of_gpu(t, topology_gpu_of(t, v), &nic, &nics))
            continue;
        const link_id *out = topology_outgoing(t, topology_nic_vertex(t, nic), &links);
        for (uint32_t i = 0; i < links; i++)
            cables += topology_link_at(t, out[i])->class == LINK_NETWORK;
        if (cables < least) least = cables;
    }
    return least;
}

static void add_network(const layout_search *s)
{
    collective_layout *l = s->out;
    l->nic_mBps = UINT64_MAX;
    look_around(s);
    l->nic_mBps *= cables_of_connection(s);
    const uint64_t cap_mBps = topology_connection_cap_mBps(s->topology, l->queue_pairs);
    if (cap_mBps < l->nic_mBps) l->nic_mBps = cap_mBps;
    l->nics_per_node = s->rings->count * nics_of_connection(s);
    // One way between any two nodes leaves routing no choice.
    l->adaptive = topology_policy(s->topology)->routing == ROUTING_ADAPTIVE ||
                  topology_bundle_count(s->topology) == 0;
}

uint64_t group_layout_nic_mBps(const topology *t, vertex_id member)
{
    uint32_t count;
    nic_id first;
    if (topology_vertex_at(t, member)->kind != VERTEX_GPU ||
        !topology_nics_of_gpu(t, topology_gpu_of(t, member), &first, &count))
        return 0;
    const link_id *links = topology_outgoing(t, topology_nic_vertex(t, first), &count);
    for (uint32_t i = 0; i < count; i++)
        if (topology_link_at(t, links[i])->class == LINK_NETWORK) return topology_rate_mBps(t, links[i]);
    return 0;
}

// ---- costs

static void use_costs(const layout_search *s, const collective_costs *costs)
{
    collective_layout *l = s->out;
    if (!l->link || costs->link->protocols[COSTS_SIMPLE].rate_Bps < l->link->protocols[COSTS_SIMPLE].rate_Bps)
        l->link = costs->link;
    if (l->nodes == 1) return;
    SIM_ASSERT(costs->nic); // topology_check() refuses what cannot reach the others
    if (!l->nic || costs->nic->hops[COSTS_SIMPLE].ring_ps > l->nic->hops[COSTS_SIMPLE].ring_ps)
        l->nic = costs->nic;
}

collective_layout group_layout(const topology *t, const collective_hardware *hardware, const ring_set *rings,
                               const vertex_id *members, layout_health health)
{
    collective_layout out = { .ranks = rings->ranks,
                              .nodes = plan_nodes(rings),
                              .ranks_per_node = rings->ranks,
                              .link_mBps = UINT64_MAX,
                              .pair_mBps = UINT64_MAX,
                              .nvswitch = true,
                              .sharp = hardware->sharp,
                              .channels = hardware->channels,
                              .send_channels = hardware->send_channels,
                              .peer_channels = hardware->peer_channels,
                              .queue_pairs = topology_policy(t)->queue_pairs };
    const layout_search s = {
        .topology = t, .rings = rings, .members = members, .health = health, .out = &out
    };
    for (uint32_t v = 0; v < out.nodes; v++)
        look_inside(&s, plan_node_start(rings, v), plan_node_start(rings, v + 1));
    if (out.ranks_per_node == 1) out.link_mBps = out.pair_mBps = 0;
    out.nvls = out.nvswitch;
    if (out.nodes > 1) add_network(&s);
    uint32_t latest = NO_ID;
    for (uint32_t m = 0; m < rings->ranks; m++) {
        const uint32_t kind = hardware->kind_of_node
                                  ? hardware->kind_of_node[topology_vertex_at(t, members[m])->node]
                                  : 0;
        if (kind != latest) use_costs(&s, &hardware->kinds[kind]);
        latest = kind;
    }
    return out;
}
