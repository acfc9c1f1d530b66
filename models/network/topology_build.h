// SPDX-License-Identifier: GPL-3.0-or-later
// models/network/topology_build.h: the builders of fabrics, one per file. First the nodes (topology_add_node), then at most
// one network over all their NICs, then topology_seal(). Each builder checks its parameters and refuses with the nearest
// valid choice, before it adds anything.
#pragma once
#include "models/network/topology.h"

// SWITCH: every GPU to one NVSwitch vertex; MESH: an NVLink per pair; HOST: through the CPU, or through the PCIe tree.
typedef enum node_wiring_kind { WIRING_NONE, WIRING_SWITCH, WIRING_MESH, WIRING_HOST } node_wiring_kind;

// PCIe switches under sockets: device d of n hangs on switch d switches / n, switch s on socket s sockets / switches; without
// switches, device d of n hangs on socket d sockets / n. Sockets are linked pair by pair.
typedef struct pcie_wiring {
    uint32_t switches, sockets; // sockets 0: no tree, each GPU has a link to each of its NICs
    uint64_t gpu_rate_mBps, nic_rate_mBps, uplink_rate_mBps, socket_rate_mBps;
    sim_time delay_ps, socket_delay_ps; // of a link of PCIe, of one between sockets
    bool through_host;                  // between GPU and NIC the path passes a socket
} pcie_wiring;

// One server's inside (made from a node_def by models/cluster_fabric.c).
typedef struct node_wiring {
    uint32_t gpus, nics; // a bare host has no GPUs: its NICs are the ends of transfers
    node_wiring_kind scale_up;
    bool joins_domain;           // SWITCH: its GPUs are on the NVSwitches of the node before
    bool opens_domain;           // SWITCH: nodes behind it join; its NVSwitches belong to no node
    uint64_t scale_up_rate_mBps; // of one GPU, per direction (MESH: shared evenly by its gpus - 1 links)
    sim_time scale_up_delay_ps;  // of one link: a path through the NVSwitch or the CPU has two
    uint64_t nic_pcie_rate_mBps; // GPU to its NIC, where there is no tree
    const uint32_t *nic_of_gpu;  // gpus entries, copied; several GPUs may share a NIC; ignored when nics is 0
    const uint32_t *nics_of_gpu; // how many NICs from there on serve it; NULL: one
    pcie_wiring pcie;
    uint64_t nic_rate_mBps; // payload of a NIC's line; 0: as the port at the other end of its cable
} node_wiring;

void topology_add_node(topology *t, const node_wiring *wiring); // topology_node.c
// A link has less than its rate from the start: ratio of it, above 0 and at most 1, rounded to the nearest 1 mB/s and at
// least 1. Once for each link, of a sealed topology and before anybody else looks at it.
void topology_degrade_link(topology *t, link_id l, double ratio);
// A link damages packets from the start (topology_faults.c). Once for each link, after it is degraded. Its rate falls by what
// it sends in vain; its health_ratio is that of one connection that has it to itself, as if it were one of four alike.
typedef struct link_fault_def {
    double loss; // packets; the link must be of the network, and the policy's terms say what packets are
    double bit_error_rate; // what error correction leaves; damages frames of one packet each
    bool repeats;          // the link sends damaged frames again; else they are lost as packets are
} link_fault_def;
void topology_fault_link(topology *t, link_id l, const link_fault_def *def);

// Keys at which a builder may have something to refuse; where each was written, or NULL.
typedef enum fabric_key {
    FABRIC_TOPOLOGY,
    FABRIC_NODES,
    FABRIC_TIERS,
    FABRIC_OVERSUBSCRIPTION,
    FABRIC_XGFT,
    FABRIC_LEAVES,
    FABRIC_SPINES,
    FABRIC_UPLINKS,
    FABRIC_GROUP,
    FABRIC_KEYS
} fabric_key;
typedef struct fabric_places {
    const sim_place *at[FABRIC_KEYS];
} fabric_places;

typedef struct fabric_tier {  // switches of one tier, and the cables below them
    const char *name;         // of the switch, for messages
    uint32_t ports;           // 0: as many as needed (not where their number decides the shape)
    uint64_t port_rate_mBps;  // payload
    sim_time switch_delay_ps; // port to port, charged once per crossing, on the way in
    sim_time cable_delay_ps;
    uint32_t adaptive_ppm; // share of bundled links that traffic can fill, millionths
} fabric_tier;

// topology_single_switch.c: every NIC to one switch. A lone node without NICs needs no switch: nothing is added.
typedef struct single_switch_def {
    uint32_t ports;           // 0: as many as needed
    uint64_t rate_mBps;       // payload rate of a port
    sim_time cable_delay_ps;  // one cable
    sim_time switch_delay_ps; // port to port
} single_switch_def;
bool topology_add_single_switch(topology *t, const single_switch_def *def, const sim_place *where,
                                sim_error *error);

// topology_fat_tree.c: leaves and spines, or pods of them under cores, as small as the NICs allow: a switch gives 1 /
// (1 + oversubscription) of its ports to what is above it. NICs fill the leaves in order. As many parallel cables, and so
// few switches above, as their ports allow.
typedef struct fat_tree_def {
    uint32_t tiers;                         // 2 or 3; 0: as few as suffice, one if a leaf does
    double oversubscription[TIERS_MAX - 1]; // of leaves, of spines
    fabric_tier tier[TIERS_MAX];
} fat_tree_def;
bool topology_add_fat_tree(topology *t, const fat_tree_def *def, const fabric_places *where,
                           sim_error *error);

// An extended generalised fat tree as in its definition (Oehring, Ibel, Das, Kumar: "On generalized fat trees", IPPS 1995):
// a switch of tier l has children[l] below it, a vertex of tier l - 1 has parents[l] above it, joined by cables[l] each.
// NICs are numbered in order from the left. With fewer NICs than places, the switches that would have none below are left out.
typedef struct xgft_def {
    uint32_t tiers;
    uint32_t children[TIERS_MAX], parents[TIERS_MAX], cables[TIERS_MAX]; // [0]: between NICs and leaves
    fabric_tier tier[TIERS_MAX];
} xgft_def;
bool topology_add_xgft(topology *t, const xgft_def *def, const fabric_places *where, sim_error *error);

// topology_spine_leaf.c: so many of each; every leaf has uplinks / spines cables to every spine.
typedef struct spine_leaf_def {
    uint32_t leaves; // 0: as few as the ports allow
    uint32_t spines, uplinks;
    fabric_tier tier[2];
} spine_leaf_def;
bool topology_add_spine_leaf(topology *t, const spine_leaf_def *def, const fabric_places *where,
                             sim_error *error);

// topology_rail.c: NIC r of each node of a group to leaf r of the group; above, spines and cores as in a fat tree.
typedef struct rail_def {
    uint32_t group_nodes; // 0: as many as a leaf has ports for
    fat_tree_def tree;
} rail_def;
bool topology_add_rail_optimized(topology *t, const rail_def *def, const fabric_places *where,
                                 sim_error *error);
// No spines: NIC r of every node to leaf r. Traffic to another rail first crosses the sender's node to the GPU of that rail.
bool topology_add_rail_only(topology *t, const fabric_tier *leaf, const fabric_places *where,
                            sim_error *error);

// topology_list.c: cables one by one. Ends are NICs ("node0/nic1") and switches ("leaf3", "spine0", "core12").
typedef struct listed_cable {
    const char *a, *b;
    uint64_t rate_mBps; // payload, each direction
    sim_time delay_ps;
    uint32_t count; // parallel cables
    const sim_place *where, *where_a, *where_b;
} listed_cable;
bool topology_add_cables(topology *t, const listed_cable *cables, uint32_t count, const sim_place *where,
                         sim_error *error);
