// SPDX-License-Identifier: GPL-3.0-or-later
// tests/support/fabrics.h: networks of every kind in C, for tests of topology, routing and engines. Hosts are bare, with one
// NIC each, unless said. Links carry 48.3 GB/s and delay 25.3 ns, switches 230.7 ns, charged on the way in.
#pragma once
#include "models/network/topology_build.h"
#include "sim/array.h"
#include "sim/check.h"

enum { FABRICS_CABLE_PS = 25300, FABRICS_SWITCH_PS = 230700 };
#define FABRICS_RATE_MBPS UINT64_C(48300000000000)

static inline fabric_tier fabrics_tier(uint32_t ports)
{
    return (fabric_tier){ .name = "box",
                          .ports = ports,
                          .port_rate_mBps = FABRICS_RATE_MBPS,
                          .switch_delay_ps = FABRICS_SWITCH_PS,
                          .cable_delay_ps = FABRICS_CABLE_PS,
                          .adaptive_ppm = 970000 };
}

// Eight GPUs behind an NVSwitch with as many NICs, GPU g by NIC g nics / 8.
static inline node_wiring fabrics_gpu_node(uint32_t nics)
{
    static const uint32_t eight[] = { 0, 1, 2, 3, 4, 5, 6, 7 }, four[] = { 0, 0, 1, 1, 2, 2, 3, 3 },
                          one[8] = { 0 };
    return (node_wiring){ .gpus = 8,
                          .nics = nics,
                          .scale_up = WIRING_SWITCH,
                          .scale_up_rate_mBps = UINT64_C(431700000000000),
                          .scale_up_delay_ps = 150100,
                          .nic_pcie_rate_mBps = UINT64_C(53100000000000),
                          .nic_of_gpu = nics == 8   ? eight
                                        : nics == 4 ? four
                                                    : one };
}

static inline topology *fabrics_nodes(arena *a, uint32_t nodes, const node_wiring *wiring)
{
    const node_wiring bare = { .nics = 1 };
    topology *t = topology_create(a);
    for (uint32_t n = 0; n < nodes; n++)
        topology_add_node(t, wiring ? wiring : &bare);
    return t;
}

static inline const topology *fabrics_seal(topology *t, bool built, sim_error *error)
{
    topology_seal(t);
    const bool fine = built && topology_check(t, NULL, error);
    if (!fine) sim_error_print(error, stderr);
    SIM_ASSERT(fine);
    return t;
}

// m, w, p as in topology_build.h; as many hosts as there are places.
static inline xgft_def fabrics_xgft_def(uint32_t tiers, const uint32_t *m, const uint32_t *w,
                                        const uint32_t *p)
{
    xgft_def def = { .tiers = tiers };
    for (uint32_t l = 0; l < tiers; l++) {
        def.children[l] = m[l];
        def.parents[l] = w[l];
        def.cables[l] = p ? p[l] : 1;
        def.tier[l] = fabrics_tier(0);
    }
    return def;
}

static inline const topology *fabrics_xgft(arena *a, uint32_t hosts, const xgft_def *def,
                                           const fabric_policy *policy)
{
    const fabric_places none = { 0 };
    sim_error error = { 0 };
    topology *t = fabrics_nodes(a, hosts, NULL);
    if (policy) topology_set_policy(t, policy);
    return fabrics_seal(t, topology_add_xgft(t, def, &none, &error), &error);
}

// Two and three tiers of switches of so many ports, not oversubscribed unless said.
static inline fat_tree_def fabrics_fat_tree_def(uint32_t ports, uint32_t tiers, double leaves, double spines)
{
    return (fat_tree_def){ .tiers = tiers,
                           .oversubscription = { leaves, spines },
                           .tier = { fabrics_tier(ports), fabrics_tier(ports), fabrics_tier(ports) } };
}
