// SPDX-License-Identifier: GPL-3.0-or-later
// models/collective/layout.h: what the times of a collective depend on, of the group that runs it: how many ranks, how they
// lie in nodes, what their links and NICs give. It knows no topology: who fills it has looked there.
#pragma once
#include "models/hardware/link_costs.h"
#include <stdbool.h>

typedef struct collective_layout {
    uint32_t ranks, nodes;   // node: one NVLink domain
    uint32_t ranks_per_node; // the least over the nodes
    uint32_t nics_per_node;  // that serve the ranks of a node; 0 with one node
    // Payload per direction of one GPU's scale-up port (0: ranks stand alone in their nodes) and of one NIC; the slowest.
    uint64_t link_mBps, nic_mBps;
    uint64_t pair_mBps; // between two members of a node that are next to one another; 0: as link_mBps
    sim_time link_delay_ps, net_delay_ps; // of the longest paths: a hop is never shorter
    bool nvswitch, nvls, sharp;           // what the hardware has
    bool adaptive;                        // the network spreads one connection over its paths
    const scale_up_costs *link;           // never NULL: what a CTA does is in it
    const nic_costs *nic;                 // NULL with one node
    // 0: the library's choice. Channels of rings, trees and NVLS (NCCL_MIN_CTAS and NCCL_MAX_CTAS); of all sends together
    // (NCCL_MIN_P2P_NCHANNELS), and of those to one peer in another node (NCCL_NCHANNELS_PER_NET_PEER), powers of two.
    uint32_t channels, send_channels, peer_channels;
    uint32_t queue_pairs; // per connection
    // Of a send whose communicator, of the given ranks, is wider than its two members: the nodes of that. Then nic_mBps is
    // the sender's own NIC also inside a node. 0: there is no more than the layout says.
    uint32_t send_nodes;
} collective_layout;
