// SPDX-License-Identifier: GPL-3.0-or-later
// tests/support/fabric.h: small fabrics for tests: nodes of eight GPUs on an NVSwitch with four NICs, joined by one switch.
// A GPU's NVLink carries 431.7 GB/s, PCIe to the NIC 53.1 GB/s, the cable of a NIC 48.3 GB/s. Delays: 300.2 ns from GPU to
// GPU in a node, 281.3 ns between nodes.
#pragma once
#include "models/network/topology_build.h"
#include "sim/check.h"

#define SCALE_UP_MBPS UINT64_C(431700000000000)
#define PCIE_MBPS UINT64_C(53100000000000)
#define CABLE_MBPS UINT64_C(48300000000000)
#define SCALE_UP_PATH_PS 300200
#define NETWORK_PATH_PS 281300

// Scale-up and network rates are free: laws vary them.
static inline const topology *test_fabric(arena *a, uint32_t nodes, node_wiring_kind kind,
                                          uint64_t scale_up_mBps, uint64_t cable_mBps)
{
    static const uint32_t nic_of_gpu[] = { 0, 0, 1, 1, 2, 2, 3, 3 };
    node_wiring wiring = { .gpus = 8,
                           .nics = 4,
                           .scale_up = kind,
                           .scale_up_rate_mBps = scale_up_mBps,
                           .scale_up_delay_ps = 150100,
                           .nic_pcie_rate_mBps = PCIE_MBPS,
                           .nic_of_gpu = nic_of_gpu };
    single_switch_def def = { .rate_mBps = cable_mBps, .cable_delay_ps = 25300, .switch_delay_ps = 230700 };
    topology *t = topology_create(a);
    for (uint32_t i = 0; i < nodes; i++)
        topology_add_node(t, &wiring);
    sim_error error = { 0 };
    bool built = topology_add_single_switch(t, &def, NULL, &error);
    topology_seal(t);
    SIM_ASSERT(built && topology_check(t, NULL, &error));
    return t;
}
