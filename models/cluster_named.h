// SPDX-License-Identifier: GPL-3.0-or-later
// models/cluster_named.h: a cluster that is only named: so many nodes of a kind of the catalogue, joined by a healthy fabric as
// large as they need, or a system of the catalogue, whole. Read as a scenario of nothing else. A name of both is the node's.
//
// The fabric: of the switch that the node's NIC names, without oversubscription, adaptive where the switch is; rails where a
// node has several NICs, a fat tree where it has one. Nodes that share their NVSwitches need none.
#pragma once
#include "models/scenario.h"

typedef struct cluster_named {
    const char *name;   // of a node or a system of the catalogue
    uint32_t nodes;     // of a node; 0: one. Of a system it says nothing: all of it is there
    int topology;       // fabric_topology of a node's fabric, or -1: as above
    const char *called; // what the text that is made of it is called in messages
} cluster_named;

typedef struct cluster_named_places { // what messages point at; NULL: nowhere
    const sim_place *name, *topology;
} cluster_named_places;

bool cluster_named_is_system(arena *a, const catalogue *parts, const char *name);
// sets come last, as those of a scenario. Refuses names that neither a node nor a system has, nodes without NICs or with NICs
// that name no switch, a topology for a system.
bool cluster_named_load(arena *a, const catalogue *parts, const cluster_named *wanted,
                        const cluster_named_places *places, const char *const *sets, uint32_t set_count,
                        scenario *out, sim_error *error);
