// SPDX-License-Identifier: GPL-3.0-or-later
// The inside of one server: GPUs, the links between them, NICs. The order of parts is the one routing.c counts on
// (topology_internal.h).
#include "models/network/topology_internal.h"
#include "sim/check.h"

// GPUs to a hub: the NVSwitch (all NVSwitch chips of a server are one vertex: every GPU is cabled to each of them alike)
// or the CPU.
static void add_star(topology *t, const topology_node *node, const node_wiring *wiring, link_class class)
{
    for (uint32_t i = 0; i < node->gpus; i++) {
        topology_link up = { .from = node->first_gpu + i,
                             .to = node->hub,
                             .class = class,
                             .rate_mBps = wiring->scale_up_rate_mBps,
                             .delay_ps = wiring->scale_up_delay_ps };
        topology_add_cable(t, &up);
    }
}

// The GPU's rate is split evenly over its n - 1 links; the rest of the division, under n - 1 mB/s, is lost.
static void add_mesh(topology *t, const topology_node *node, const node_wiring *wiring)
{
    for (uint32_t i = 0; i < node->gpus; i++)
        for (uint32_t j = i + 1; j < node->gpus; j++) {
            topology_link link = { .from = node->first_gpu + i,
                                   .to = node->first_gpu + j,
                                   .class = LINK_NVLINK,
                                   .rate_mBps = wiring->scale_up_rate_mBps / (node->gpus - 1),
                                   .delay_ps = wiring->scale_up_delay_ps };
            topology_add_cable(t, &link);
        }
}

static void add_nics(topology *t, node_id id, topology_node *node, const node_wiring *wiring)
{
    node->nic_base = t->nic_vertices.count;
    node->first_nic = t->vertices.count;
    for (uint32_t i = 0; i < node->nics; i++)
        *array_push(&t->nic_vertices, t->arena) = topology_add_vertex(t, VERTEX_NIC, id, i);
    node->nic_link_base = t->links.count;
    for (uint32_t i = 0; i < node->gpus; i++) {
        uint32_t nic = node->nics ? wiring->nic_of_gpu[i] : NO_ID;
        *array_push(&t->gpu_nics, t->arena) = nic;
        if (nic == NO_ID) continue;
        SIM_ASSERT(nic < node->nics);
        topology_link up = { .from = node->first_gpu + i,
                             .to = node->first_nic + nic,
                             .class = LINK_PCIE,
                             .rate_mBps = wiring->nic_pcie_rate_mBps };
        topology_add_cable(t, &up);
    }
}

void topology_add_node(topology *t, const node_wiring *wiring)
{
    // The network's links come after those of all nodes.
    SIM_ASSERT(!t->sealed && t->shape == SHAPE_NO_NETWORK);
    SIM_ASSERT(wiring->gpus < 65536 && wiring->nics < 65536); // mesh pairs stay within 32 bits
    SIM_ASSERT(wiring->nics == 0 || wiring->gpus == 0 || wiring->nic_of_gpu);
    node_id id = t->nodes.count;
    topology_node node = { .gpus = wiring->gpus,
                           .nics = wiring->nics,
                           .scale_up = wiring->scale_up,
                           .first_gpu = t->vertices.count,
                           .hub = NO_ID,
                           .gpu_base = t->gpu_vertices.count };
    for (uint32_t i = 0; i < node.gpus; i++)
        *array_push(&t->gpu_vertices, t->arena) = topology_add_vertex(t, VERTEX_GPU, id, i);
    if (node.gpus > 0 && node.scale_up == WIRING_SWITCH)
        node.hub = topology_add_vertex(t, VERTEX_NVSWITCH, id, 0);
    if (node.gpus > 0 && node.scale_up == WIRING_HOST) node.hub = topology_add_vertex(t, VERTEX_CPU, id, 0);
    node.scale_up_base = t->links.count;
    if (node.scale_up == WIRING_SWITCH) add_star(t, &node, wiring, LINK_NVLINK);
    if (node.scale_up == WIRING_HOST) add_star(t, &node, wiring, LINK_PCIE);
    if (node.scale_up == WIRING_MESH) add_mesh(t, &node, wiring);
    add_nics(t, id, &node, wiring);
    *array_push(&t->nodes, t->arena) = node;
}
