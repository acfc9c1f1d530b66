// SPDX-License-Identifier: GPL-3.0-or-later
// Paths inside a node: over its scale-up links, and through its PCIe tree.
#include "models/network/routing_internal.h"
#include "sim/check.h"

// A GPU or NIC in the PCIe tree.
typedef struct pcie_device {
    link_id link; // up from it
    uint32_t number, count;
} pcie_device;

static pcie_device device_of(const topology_node *node, bool gpu, uint32_t number)
{
    return (pcie_device){ .link = (gpu ? node->gpu_device_base : node->nic_device_base) + 2 * number,
                          .number = number,
                          .count = gpu ? node->gpus : node->nics };
}

static uint32_t spread(uint32_t number, uint32_t above, uint32_t count)
{
    return (uint32_t)((uint64_t)number * above / count);
}

static uint32_t route_pcie(const topology_node *node, pcie_device from, pcie_device to, bool through_host,
                           uint32_t *path)
{
    const uint32_t switches = node->pcie_switches, sockets = node->sockets;
    uint32_t links = 0, a, b, switch_a = 0, switch_b = 0;
    path[links++] = from.link;
    if (switches > 0) {
        switch_a = spread(from.number, switches, from.count);
        switch_b = spread(to.number, switches, to.count);
        a = spread(switch_a, sockets, switches);
        b = spread(switch_b, sockets, switches);
    } else {
        a = spread(from.number, sockets, from.count);
        b = spread(to.number, sockets, to.count);
    }
    const bool climbs = switches > 0 && (through_host || switch_a != switch_b);
    if (climbs) path[links++] = node->uplink_base + 2 * switch_a;
    if (a < b) path[links++] = node->socket_base + 2 * topology_pair(sockets, a, b);
    if (a > b) path[links++] = node->socket_base + 2 * topology_pair(sockets, b, a) + 1;
    if (climbs) path[links++] = node->uplink_base + 2 * switch_b + 1;
    path[links++] = to.link + 1;
    return links;
}

uint32_t route_domain(const topology_node *from, uint32_t from_gpu, const topology_node *to, uint32_t to_gpu,
                      uint32_t *path)
{
    if (from == to && from_gpu == to_gpu) return 0;
    switch (from->scale_up) {
    case WIRING_NONE: break; // topology_check() refuses several GPUs without links between them
    case WIRING_MESH: {
        const uint32_t low = from_gpu < to_gpu ? from_gpu : to_gpu,
                       high = from_gpu < to_gpu ? to_gpu : from_gpu;
        path[0] = from->scale_up_base + 2 * topology_pair(from->gpus, low, high) + (from_gpu > to_gpu);
        return 1;
    }
    case WIRING_HOST:
        if (from->sockets > 0)
            return route_pcie(from, device_of(from, true, from_gpu), device_of(to, true, to_gpu), false,
                              path);
        path[0] = from->scale_up_base + 2 * from_gpu;
        path[1] = to->scale_up_base + 2 * to_gpu + 1;
        return 2;
    case WIRING_SWITCH:
        path[0] = from->scale_up_base + 2 * from_gpu;
        path[1] = to->scale_up_base + 2 * to_gpu + 1;
        return 2;
    }
    SIM_ASSERT(false);
    return 0;
}

uint32_t route_gpu_nic(const topology *t, const topology_node *node, uint32_t gpu, uint32_t nic, bool to_nic,
                       uint32_t *path)
{
    if (node->sockets > 0) {
        const pcie_device g = device_of(node, true, gpu), n = device_of(node, false, nic);
        return route_pcie(node, to_nic ? g : n, to_nic ? n : g, node->through_host, path);
    }
    const topology_gpu *own = &t->gpus.items[node->gpu_base + gpu];
    if (own->nic == NO_ID || nic < own->nic || nic - own->nic >= own->nics) return 0;
    path[0] = own->nic_links + 2 * (nic - own->nic) + !to_nic;
    return 1;
}

uint32_t route_nic_nic(const topology_node *node, uint32_t from, uint32_t to, uint32_t *path)
{
    return route_pcie(node, device_of(node, false, from), device_of(node, false, to), node->through_host,
                      path);
}
