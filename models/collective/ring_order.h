// SPDX-License-Identifier: GPL-3.0-or-later
// models/collective/ring_order.h: which rings a group's collectives run on, from its members and the fabric. One ring
// leaves a node by one NIC only, so a group that spans nodes gets a ring per NIC, as NCCL does with its channels; a mesh of
// direct links gets rings that use each link alike. It knows no plans, no sizes, no time.
//
// One node, GPUs behind an NVSwitch or the host: one ring in the group's order. A GPU has one link, which a ring fills.
// One node, a mesh: as many rings as the mesh has disjoint ones, up to this rule: one for 2 members; n - 1, all there can
// be, for odd n and for even n from 8 to 16; n - 2 for other even n (all there can be for 6). Of 4 members all six rings,
// which use each link twice: the two disjoint ones would leave links idle.
// Several nodes: members are taken node by node, nodes in the order in which the group first names them. There are as many
// rings as NICs serve the members of a node, the least over the nodes; with one, it keeps the group's order inside nodes.
// With more, a node's members are ordered by NIC and each ring has a NIC to enter by and another to leave by: each NIC is
// entered by one ring and left by one ring at most (exactly, where the node has no more NICs than there are rings).
// Rails: every second node is passed backwards, so that a ring enters a node by the NIC of the number that it left the
// last one by, if the nodes are alike. With an odd number of nodes, the one crossing back to the first changes rails.
// Nodes may hold different numbers of members, and members of a node may stand anywhere in the group.
#pragma once
#include "models/collective/plan.h"
#include "models/network/topology.h"

// Members: GPUs (or NICs of bare hosts), each once. The topology is sealed.
ring_set ring_order_make(arena *a, const topology *t, const vertex_id *members, uint32_t count);
