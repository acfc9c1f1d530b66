// SPDX-License-Identifier: GPL-3.0-or-later
// models/collective/group_layout.h: the layout of a group (layout.h), read off the fabric: how its members lie in
// NVLink domains, what the slowest of their links and NICs carry as they are now, and what the nodes' hardware costs a
// collective library.
#pragma once
#include "models/collective/layout.h"
#include "models/collective/plan.h"
#include "models/network/topology.h"

typedef struct collective_costs { // of one kind of node
    const scale_up_costs *link;
    const nic_costs *nic; // NULL: it has no NICs
} collective_costs;

typedef struct collective_hardware { // of a cluster; kept, not copied
    const collective_costs *kinds;
    const uint32_t *kind_of_node; // NULL: all nodes are of the first kind
    bool sharp;                   // the network's switches sum
    // What users override (layout.h); 0: the library's choice.
    uint32_t channels, send_channels, peer_channels;
} collective_hardware;

typedef enum layout_health { LAYOUT_AS_IT_IS, LAYOUT_HEALTHY } layout_health; // as if no link were degraded

// Where members lie on nodes that differ, costs are those of the slowest: the least rate of Simple, the longest hop
// of a ring.
collective_layout group_layout(const topology *t, const collective_hardware *hardware, const ring_set *rings,
                               const vertex_id *members, layout_health health);
// What the first NIC of a GPU puts on its wire as it is now; 0: it has none.
uint64_t group_layout_nic_mBps(const topology *t, vertex_id member);
