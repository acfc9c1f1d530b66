// SPDX-License-Identifier: GPL-3.0-or-later
// The inside of one server: GPUs, the links between them, NICs, the PCIe tree. The order of parts is the one routing_node.c
// counts on (topology_internal.h).
#include "models/network/topology_internal.h"
#include "sim/check.h"

// GPUs to a hub: the NVSwitch (all NVSwitch chips of a domain are one vertex: every GPU is cabled to each of them alike)
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

// ---- parts

static void add_gpus(topology *t, node_id id, topology_node *node, const node_wiring *wiring)
{
    node->gpu_base = t->gpus.count;
    node->first_gpu = t->vertices.count;
    for (uint32_t i = 0; i < node->gpus; i++) {
        topology_gpu gpu = { .vertex = topology_add_vertex(t, VERTEX_GPU, id, i), .nic = NO_ID };
        if (node->nics > 0) {
            gpu.nic = wiring->nic_of_gpu[i];
            gpu.nics = wiring->nics_of_gpu ? wiring->nics_of_gpu[i] : 1;
            SIM_ASSERT(gpu.nics > 0 && gpu.nic < node->nics && gpu.nics <= node->nics - gpu.nic);
        }
        *array_push(&t->gpus, t->arena) = gpu;
    }
}

static void add_hub(topology *t, node_id id, topology_node *node, const node_wiring *wiring)
{
    node->hub = NO_ID;
    if (node->gpus == 0) return;
    if (node->scale_up == WIRING_HOST && node->sockets == 0)
        node->hub = topology_add_vertex(t, VERTEX_CPU, id, 0);
    if (node->scale_up != WIRING_SWITCH) return;
    if (wiring->joins_domain) {
        SIM_ASSERT(id > 0);
        node->hub = t->nodes.items[id - 1].hub;
        SIM_ASSERT(node->hub != NO_ID && t->vertices.items[node->hub].node == NO_ID);
    } else if (wiring->opens_domain) {
        node->hub = topology_add_vertex(t, VERTEX_NVSWITCH, NO_ID, t->shared_hubs++);
    } else {
        node->hub = topology_add_vertex(t, VERTEX_NVSWITCH, id, 0);
    }
}

static void add_nics(topology *t, node_id id, topology_node *node)
{
    node->nic_base = t->nics.count;
    node->first_nic = t->vertices.count;
    for (uint32_t i = 0; i < node->nics; i++) {
        uint32_t first = NO_ID;
        for (uint32_t g = node->gpus; g-- > 0;) {
            const topology_gpu *gpu = &t->gpus.items[node->gpu_base + g];
            if (gpu->nic <= i && i - gpu->nic < gpu->nics) first = g;
        }
        *array_push(&t->nics, t->arena) = (topology_nic){ .vertex = topology_add_vertex(t, VERTEX_NIC, id, i),
                                                          .gpu = first,
                                                          .slot = t->nics.count - 1 };
    }
}

// ---- PCIe

static void add_direct_links(topology *t, const topology_node *node, const node_wiring *wiring)
{
    for (uint32_t i = 0; i < node->gpus && node->nics > 0; i++) {
        topology_gpu *gpu = &t->gpus.items[node->gpu_base + i];
        gpu->nic_links = t->links.count;
        for (uint32_t k = 0; k < gpu->nics; k++) {
            topology_link up = { .from = node->first_gpu + i,
                                 .to = node->first_nic + gpu->nic + k,
                                 .class = LINK_PCIE,
                                 .rate_mBps = wiring->nic_pcie_rate_mBps };
            topology_add_cable(t, &up);
        }
    }
}

// Devices, or switches, to the parts that they hang on, over which they are spread in order.
static link_id add_spread(topology *t, vertex_id first, uint32_t count, vertex_id first_above, uint32_t above,
                          uint64_t rate_mBps, sim_time delay_ps)
{
    const link_id base = t->links.count;
    for (uint32_t i = 0; i < count; i++) {
        topology_link up = { .from = first + i,
                             .to = first_above + (uint32_t)((uint64_t)i * above / count),
                             .class = LINK_PCIE,
                             .rate_mBps = rate_mBps,
                             .delay_ps = delay_ps };
        topology_add_cable(t, &up);
    }
    return base;
}

static void add_tree(topology *t, topology_node *node, const pcie_wiring *p)
{
    const bool switches = node->pcie_switches > 0;
    const vertex_id above = switches ? node->first_pcie : node->first_socket;
    const uint32_t count = switches ? node->pcie_switches : node->sockets;
    node->gpu_device_base = add_spread(t, node->first_gpu, node->gpus, above, count, p->gpu_rate_mBps,
                                       p->delay_ps);
    node->nic_device_base = add_spread(t, node->first_nic, node->nics, above, count, p->nic_rate_mBps,
                                       p->delay_ps);
    node->uplink_base = add_spread(t, node->first_pcie, node->pcie_switches, node->first_socket,
                                   node->sockets, p->uplink_rate_mBps, p->delay_ps);
    node->socket_base = t->links.count;
    for (uint32_t i = 0; i < node->sockets; i++)
        for (uint32_t j = i + 1; j < node->sockets; j++) {
            topology_link link = { .from = node->first_socket + i,
                                   .to = node->first_socket + j,
                                   .class = LINK_PCIE,
                                   .rate_mBps = p->socket_rate_mBps,
                                   .delay_ps = p->socket_delay_ps };
            topology_add_cable(t, &link);
        }
}

void topology_add_node(topology *t, const node_wiring *wiring)
{
    // The network's links come after those of all nodes.
    SIM_ASSERT(!t->sealed && t->shape == SHAPE_NO_NETWORK);
    SIM_ASSERT(wiring->gpus < 65536 && wiring->nics < 65536); // mesh pairs stay within 32 bits
    SIM_ASSERT(wiring->nics == 0 || wiring->gpus == 0 || wiring->nic_of_gpu);
    const pcie_wiring *p = &wiring->pcie;
    const node_id id = t->nodes.count;
    topology_node node = { .gpus = wiring->gpus,
                           .nics = wiring->nics,
                           .pcie_switches = p->switches,
                           .sockets = p->sockets,
                           .scale_up = wiring->scale_up,
                           .through_host = p->through_host,
                           .nic_rate_mBps = wiring->nic_rate_mBps };
    SIM_ASSERT(node.sockets > 0 || (node.pcie_switches == 0 && !node.through_host));
    add_gpus(t, id, &node, wiring);
    add_hub(t, id, &node, wiring);
    node.first_pcie = t->vertices.count;
    for (uint32_t i = 0; i < node.pcie_switches; i++)
        topology_add_vertex(t, VERTEX_PCIE, id, i);
    node.first_socket = t->vertices.count;
    for (uint32_t i = 0; i < node.sockets; i++)
        topology_add_vertex(t, VERTEX_CPU, id, i);
    add_nics(t, id, &node);

    node.scale_up_base = t->links.count;
    if (node.scale_up == WIRING_SWITCH) add_star(t, &node, wiring, LINK_NVLINK);
    if (node.scale_up == WIRING_HOST && node.sockets == 0) add_star(t, &node, wiring, LINK_PCIE);
    if (node.scale_up == WIRING_MESH) add_mesh(t, &node, wiring);
    if (node.sockets == 0)
        add_direct_links(t, &node, wiring);
    else
        add_tree(t, &node, p);
    *array_push(&t->nodes, t->arena) = node;
}
