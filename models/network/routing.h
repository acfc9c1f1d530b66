// SPDX-License-Identifier: GPL-3.0-or-later
// models/network/routing.h: the path of a connection, by arithmetic on the shape of the fabric: no tables of pairs, no
// allocation, a few dozen additions and divisions for a path that is up.
//
// Ends are GPUs or NICs. GPUs of one domain talk over its links; others through their NICs: queue pair q of a GPU with n NICs
// by its NIC q mod n. A GPU and a NIC of its node meet inside the node where cables allow. Between rails that nothing joins
// (rail-only), traffic first crosses the sender's node to the GPU of the receiver's rail, or where
// GPUs meet in the PCIe tree alone straight to the rail's NIC. Without a network NICs meet in the
// PCIe tree of their node, else over their GPUs.
//
// In a tree a path climbs to the first tier whose switches serve both ends, and goes straight down. Going up from level l (0:
// the NIC), there are parents x cables ports q, of which
//   static    takes q = floor(d / planes_l) mod ports, d the receiver's place at the leaves: d-mod-k. Permutations that shift
//             all by the same number then never share a link of a tree that is not oversubscribed. Of parallel cables down it
//             takes floor(d / planes_(l+1)) mod cables, by which they are used evenly.
//             Zahavi: "Fat-tree routing and node ordering providing contention free traffic for MPI global collectives", 2012.
//   ecmp      takes a hash of (source NIC, receiving NIC, queue pair, level), uniform over the ports (routing_hash).
//   adaptive  takes all at once: the path names the bundles of its links (topology_bundle_members).
// In a list of cables every hop is one of those that shorten the way: d mod their count, or by hash; adaptive is refused there.
//
// While links are avoided (fabric_state.h): the choices at each level are tried in order, static from its own port on round
// to the one before it, ecmp first its own port and then from a second hash on; the first whose whole path is not avoided is
// taken, the lowest level turning last. Static and ecmp paths that meet no avoided link stay as they are. Adaptive routing
// leaves a link of a bundle out as soon as it is down, and has no path where no single links up and down are all live.
#pragma once
#include "models/network/fabric_state.h"

#define ROUTE_NONE UINT32_MAX

// Ids of links and bundles; their count, 0 when from == to, ROUTE_NONE when nothing leads there. state NULL: all links up.
uint32_t route_find(const topology *t, const fabric_state *state, vertex_id from, vertex_id to,
                    uint32_t queue_pair, uint32_t path[TOPOLOGY_PATH_MAX]);
// The links on which a connection waits while route_find() knows no path: those of a healthy fabric. Of adaptive routing, as
// long as one of these is down, the single links that static routing would take: bundles may have live members left although
// no path leads over them.
uint32_t route_wait(const topology *t, const fabric_state *state, vertex_id from, vertex_id to,
                    uint32_t queue_pair, uint32_t path[TOPOLOGY_PATH_MAX]);
// No path between two GPUs has more links; a bundle counts as one.
uint32_t route_longest(const topology *t);
