// SPDX-License-Identifier: GPL-3.0-or-later
// Paths by arithmetic on the shape (topology_internal.h says where each link is): no tables, no search, so that asking
// per message costs a few additions.
#include "models/network/topology_internal.h"
#include "sim/check.h"

// One end of a path: which GPU or NIC of which node.
typedef struct path_end {
    const topology_node *node;
    node_id node_number;
    bool gpu;
    uint32_t number; // within the node
    uint32_t nic;    // through which it leaves the node (itself, if it is a NIC); NO_ID: it cannot
} path_end;

static path_end end_of(const topology *t, vertex_id v)
{
    const topology_vertex *vertex = topology_vertex_at(t, v);
    SIM_ASSERT(vertex->kind == VERTEX_GPU || vertex->kind == VERTEX_NIC);
    const topology_node *node = &t->nodes.items[vertex->node];
    path_end end = { .node = node,
                     .node_number = vertex->node,
                     .gpu = vertex->kind == VERTEX_GPU,
                     .number = vertex->number,
                     .nic = vertex->number };
    if (end.gpu) end.nic = t->gpu_nics.items[node->gpu_base + vertex->number];
    return end;
}

static uint32_t route_scale_up(const topology_node *node, uint32_t from, uint32_t to, link_id *path)
{
    SIM_ASSERT(node->scale_up !=
               WIRING_NONE); // topology_check() refuses several GPUs without links between them
    if (node->scale_up == WIRING_MESH) {
        uint32_t least = from < to ? from : to, greatest = from < to ? to : from;
        path[0] = node->scale_up_base + 2 * topology_mesh_pair(node->gpus, least, greatest) + (from > to);
        return 1;
    }
    path[0] = node->scale_up_base + 2 * from;
    path[1] = node->scale_up_base + 2 * to + 1;
    return 2;
}

// Through the network: GPU > NIC > switch > NIC > GPU, without the ends that are NICs already. A GPU and its own NIC meet
// at the NIC and do not go out.
static uint32_t route_network(const topology *t, const path_end *from, const path_end *to, link_id *path)
{
    SIM_ASSERT(from->nic != NO_ID && to->nic != NO_ID);
    uint32_t links = 0;
    if (from->gpu) path[links++] = from->node->nic_link_base + 2 * from->number;
    if (from->node_number != to->node_number || from->nic != to->nic) {
        SIM_ASSERT(t->shape == SHAPE_SINGLE_SWITCH);
        path[links++] = t->network_base + 2 * (from->node->nic_base + from->nic);
        path[links++] = t->network_base + 2 * (to->node->nic_base + to->nic) + 1;
    }
    if (to->gpu) path[links++] = to->node->nic_link_base + 2 * to->number + 1;
    return links;
}

uint32_t topology_route(const topology *t, vertex_id from, vertex_id to, link_id path[TOPOLOGY_PATH_MAX])
{
    if (from == to) return 0;
    path_end a = end_of(t, from), b = end_of(t, to);
    if (a.gpu && b.gpu && a.node_number == b.node_number)
        return route_scale_up(a.node, a.number, b.number, path);
    return route_network(t, &a, &b, path);
}

path_facts topology_path_facts(const topology *t, vertex_id from, vertex_id to)
{
    link_id path[TOPOLOGY_PATH_MAX];
    path_facts facts = { .rate_mBps = UINT64_MAX, .class = LINK_NVLINK };
    facts.links = topology_route(t, from, to, path);
    for (uint32_t i = 0; i < facts.links; i++) {
        const topology_link *link = topology_link_at(t, path[i]);
        if (link->rate_mBps < facts.rate_mBps) facts.rate_mBps = link->rate_mBps;
        if (link->class > facts.class) facts.class = link->class;
        facts.delay_ps += link->delay_ps;
    }
    return facts;
}
