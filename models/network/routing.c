// SPDX-License-Identifier: GPL-3.0-or-later
// Paths from end to end: out of a node, through the network, into a node.
#include "models/network/routing_internal.h"
#include "sim/check.h"

// One end of a path: which GPU or NIC of which node.
typedef struct path_end {
    const topology_node *node;
    uint32_t gpu; // within the node; NO_ID: the end is a NIC
    uint32_t nic; // through which it leaves the node (itself, if it is a NIC); NO_ID: it cannot
} path_end;

typedef struct route_wish {
    uint32_t queue_pair;
    bool single; // of route_key
} route_wish;

static path_end end_of(const topology *t, vertex_id v, uint32_t queue_pair)
{
    const topology_vertex *vertex = topology_vertex_at(t, v);
    SIM_ASSERT(vertex->kind == VERTEX_GPU || vertex->kind == VERTEX_NIC);
    path_end end = { .node = &t->nodes.items[vertex->node], .gpu = NO_ID, .nic = vertex->number };
    if (vertex->kind == VERTEX_NIC) return end;
    const topology_gpu *gpu = &t->gpus.items[end.node->gpu_base + vertex->number];
    end.gpu = vertex->number;
    end.nic = gpu->nic == NO_ID ? NO_ID : gpu->nic + queue_pair % gpu->nics;
    return end;
}

static bool one_domain(const path_end *a, const path_end *b)
{
    if (a->gpu == NO_ID || b->gpu == NO_ID) return false;
    return a->node == b->node || (a->node->scale_up == WIRING_SWITCH && b->node->scale_up == WIRING_SWITCH &&
                                  a->node->hub == b->node->hub);
}

// Rails apart: to the GPU of the receiver's rail, over the links of the sender's node; returns links, and moves the end.
static uint32_t change_rails(const topology *t, path_end *from, uint32_t rail, uint32_t *path)
{
    const topology_node *node = from->node;
    const uint32_t there = t->nics.items[node->nic_base + rail].gpu;
    uint32_t links = 0;
    if (node->sockets > 0 &&
        node->scale_up == WIRING_HOST) { // one PCIe tree has them all: straight to the NIC
        links = from->gpu == NO_ID ? route_nic_nic(node, from->nic, rail, path)
                                   : route_gpu_nic(t, node, from->gpu, rail, true, path);
        from->gpu = NO_ID;
        from->nic = rail;
        return links;
    }
    if (from->gpu == NO_ID) {
        from->gpu = t->nics.items[node->nic_base + from->nic].gpu;
        links += route_gpu_nic(t, node, from->gpu, from->nic, false, path);
    }
    links += route_domain(node, from->gpu, node, there, path + links);
    from->gpu = there;
    from->nic = rail;
    return links;
}

static uint32_t route_nics(const topology *t, const fabric_state *state, const path_end *from,
                           const path_end *to, route_wish wish, uint32_t *path)
{
    route_key key = { .from = from->node->nic_base + from->nic,
                      .to = to->node->nic_base + to->nic,
                      .single = wish.single };
    if (key.from == key.to) return 0;
    if (t->policy.routing == ROUTING_ECMP)
        key.hash = routing_hash(&t->policy, key.from, key.to, wish.queue_pair);
    switch (t->shape) {
    case SHAPE_NO_NETWORK: break; // route_without_network() has its paths
    case SHAPE_TREE: return route_tree(t, state, &key, path);
    case SHAPE_LIST: return route_list(t, state, &key, path);
    }
    SIM_ASSERT(false);
    return ROUTE_NONE;
}

// Through the network: GPU > NIC > switches > NIC > GPU, without the ends that are NICs already. A GPU and its own NIC meet
// at the NIC and do not go out.
static uint32_t route_network(const topology *t, const fabric_state *state, path_end from, path_end to,
                              route_wish wish, uint32_t *path)
{
    SIM_ASSERT(from.nic != NO_ID && to.nic != NO_ID);
    uint32_t links = 0;
    if (t->rails_apart && from.nic != to.nic) links = change_rails(t, &from, to.nic, path);
    if (from.gpu != NO_ID) links += route_gpu_nic(t, from.node, from.gpu, from.nic, true, path + links);
    const uint32_t between = route_nics(t, state, &from, &to, wish, path + links);
    if (between == ROUTE_NONE) return ROUTE_NONE;
    links += between;
    if (to.gpu != NO_ID) links += route_gpu_nic(t, to.node, to.gpu, to.nic, false, path + links);
    return links;
}

// The GPU at which an end meets others: itself, or the first that a NIC serves. NO_ID: none.
static uint32_t gpu_of(const topology *t, const path_end *end)
{
    return end->gpu != NO_ID ? end->gpu : t->nics.items[end->node->nic_base + end->nic].gpu;
}

// No switch joins the NICs: they meet in the PCIe tree of their node, else over their GPUs and the links between these.
static uint32_t route_without_network(const topology *t, const path_end *from, const path_end *to,
                                      uint32_t *path)
{
    if (from->node == to->node && from->node->sockets > 0)
        return route_nic_nic(from->node, from->nic, to->nic, path);
    const path_end a = { .node = from->node, .gpu = gpu_of(t, from), .nic = from->nic },
                   b = { .node = to->node, .gpu = gpu_of(t, to), .nic = to->nic };
    if (!one_domain(&a, &b)) return ROUTE_NONE;
    uint32_t links = 0;
    if (from->gpu == NO_ID) links = route_gpu_nic(t, a.node, a.gpu, a.nic, false, path);
    links += route_domain(a.node, a.gpu, b.node, b.gpu, path + links);
    if (to->gpu == NO_ID) links += route_gpu_nic(t, b.node, b.gpu, b.nic, true, path + links);
    return links;
}

static uint32_t route_ends(const topology *t, const fabric_state *state, const path_end *from,
                           const path_end *to, route_wish wish, uint32_t *path)
{
    if (one_domain(from, to)) return route_domain(from->node, from->gpu, to->node, to->gpu, path);
    const bool mixed = (from->gpu == NO_ID) != (to->gpu == NO_ID);
    if (mixed && from->node == to->node) {
        const bool to_nic = to->gpu == NO_ID;
        const uint32_t links = route_gpu_nic(t, from->node, to_nic ? from->gpu : to->gpu,
                                             to_nic ? to->nic : from->nic, to_nic, path);
        if (links > 0) return links;
    }
    if (t->shape == SHAPE_NO_NETWORK) return route_without_network(t, from, to, path);
    return route_network(t, state, *from, *to, wish, path);
}

static uint32_t route_wished(const topology *t, const fabric_state *state, vertex_id from, vertex_id to,
                             route_wish wish, uint32_t *path)
{
    if (from == to) return 0;
    const path_end a = end_of(t, from, wish.queue_pair), b = end_of(t, to, wish.queue_pair);
    return route_ends(t, state, &a, &b, wish, path);
}

uint32_t route_find(const topology *t, const fabric_state *state, vertex_id from, vertex_id to,
                    uint32_t queue_pair, uint32_t path[TOPOLOGY_PATH_MAX])
{
    const uint32_t links = route_wished(t, state, from, to, (route_wish){ queue_pair, false }, path);
    if (!state || state->avoided_count == 0 || links == ROUTE_NONE) return links;
    // Trees and lists have gone round what is avoided; inside a node there is no other way.
    for (uint32_t i = 0; i < links; i++)
        if (path[i] < t->links.count && state->avoided[path[i]]) return ROUTE_NONE;
    return links;
}

uint32_t route_wait(const topology *t, const fabric_state *state, vertex_id from, vertex_id to,
                    uint32_t queue_pair, uint32_t path[TOPOLOGY_PATH_MAX])
{
    const uint32_t links = route_wished(t, NULL, from, to, (route_wish){ queue_pair, true }, path);
    for (uint32_t i = 0; i < links; i++)
        if (state->down[path[i]]) return links;
    return route_find(t, NULL, from, to, queue_pair, path);
}

// The most links between two GPUs of a node, and between a GPU and a NIC of it: through a PCIe tree up to a switch, a socket,
// another socket and down again, else over the hub, and straight to the NIC.
static uint32_t longest_inside(const topology *t, bool to_nic)
{
    uint32_t most = 0;
    for (node_id n = 0; n < t->nodes.count; n++) {
        const topology_node *node = &t->nodes.items[n];
        const bool tree = node->sockets > 0 && (to_nic || node->scale_up == WIRING_HOST);
        const uint32_t links = tree ? 5 : to_nic ? 1 : 2;
        if (links > most) most = links;
    }
    return most;
}

uint32_t route_longest(const topology *t)
{
    const uint32_t inside = longest_inside(t, false), ends = 2 * longest_inside(t, true);
    uint32_t longest = 0;
    switch (t->shape) {
    case SHAPE_NO_NETWORK: return inside;
    case SHAPE_TREE: longest = ends + 2 * t->tree.levels; break;
    case SHAPE_LIST: longest = ends + LIST_HOPS_MAX + 2; break;
    }
    return t->rails_apart ? longest + inside : longest;
}

uint32_t topology_route(const topology *t, vertex_id from, vertex_id to, uint32_t path[TOPOLOGY_PATH_MAX])
{
    const uint32_t links = route_find(t, NULL, from, to, 0, path);
    SIM_ASSERT(links != ROUTE_NONE);
    return links;
}

path_facts topology_path_facts(const topology *t, vertex_id from, vertex_id to)
{
    uint32_t path[TOPOLOGY_PATH_MAX];
    path_facts facts = { .rate_mBps = UINT64_MAX, .class = LINK_NVLINK };
    facts.links = topology_route(t, from, to, path);
    for (uint32_t i = 0; i < facts.links; i++) {
        // All links of a bundle are alike in class and delay.
        const uint64_t rate_mBps = topology_rate_mBps(t, path[i]);
        const topology_link *link = topology_link_at(
            t, path[i] < t->links.count ? path[i] : topology_bundle_members(t, path[i]).first);
        if (rate_mBps < facts.rate_mBps) facts.rate_mBps = rate_mBps;
        if (link->class > facts.class) facts.class = link->class;
        facts.delay_ps += link->delay_ps;
    }
    return facts;
}
