// SPDX-License-Identifier: GPL-3.0-or-later
// models/network/topology_facts.h: what can be told about a fabric before any traffic: counts, bisection, diameter,
// oversubscription; and a picture as text for Graphviz.
#pragma once
#include "models/network/topology.h"
#include <stdio.h>

typedef struct tier_facts {
    uint32_t switches;
    uint32_t ports_down, ports_up; // of the switch that has most of them
    // The greatest, over the groups of switches that serve the same NICs, of the rates of all links down over those of all
    // links up; 0: nothing is above.
    double oversubscription;
} tier_facts;

typedef struct topology_facts {
    uint32_t links[LINK_CLASSES]; // directed
    uint32_t tiers;               // of switches of the network
    tier_facts tier[TIERS_MAX];
    // The nodes in their order are cut in two where half of the NICs are reached (one node: its NICs). The bisection is the
    // greatest rate at which the first half can send to the second through the network, all NICs together: the least cut
    // between the halves, exactly, for in a tree with traffic spread over its equal links the cut never splits them.
    // 0 and known false for lists of cables, and where there are fewer than two NICs.
    bool has_bisection;
    uint64_t bisection_mBps;
    double
        bisection_ratio; // of what the half with the lesser rate of NICs could send into a network without limits
    uint32_t
        diameter; // links between the two NICs that are farthest apart, of those that the network joins; 0: no two
} topology_facts;

// Scratch lives in the arena and is released.
topology_facts topology_facts_of(arena *a, const topology *t);

// A digraph for dot: switches in tiers, nodes below; parallel cables and both directions are one edge, labelled with count
// and rate. Up to `insides` nodes are drawn with all their parts, each in a box; beyond, a node is one box that says what is
// in it. Failures stay in out, for its owner to check.
void topology_write_dot(arena *a, const topology *t, uint32_t insides, FILE *out);
