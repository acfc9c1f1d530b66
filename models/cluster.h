// SPDX-License-Identifier: GPL-3.0-or-later
// models/cluster.h: the part of a scenario that says what there is: nodes and the fabric between them, as plain definitions;
// or a named system of the catalogue, which says the same.
// Bound by scenario.c with the tables of cluster.c; models/cluster_fabric.h makes a topology of it.
#pragma once
#include "models/hardware/node.h"
#include "models/network/topology.h"
#include "sim/document.h"

typedef enum fabric_topology {
    FABRIC_SINGLE_SWITCH,
    FABRIC_FAT_TREE,
    FABRIC_SPINE_LEAF,
    FABRIC_RAIL_OPTIMIZED,
    FABRIC_RAIL_ONLY,
    FABRIC_FILE
} fabric_topology;
extern const char *const fabric_topology_words[];

typedef struct tree_numbers { // an extended generalised fat tree, from the hosts up
    bind_numbers children, parents, cables;
} tree_numbers;

typedef struct link_override { // of every link of the network
    double rate_Bps;           // payload
    sim_time delay_ps;
    bool has_rate, has_delay;
} link_override;

typedef struct cable_entry { // a row of a list of cables
    const char *a, *b;
    double rate_Bps; // of the line
    sim_time delay_ps;
    uint32_t count;
} cable_entry;
ARRAY_OF(cable_entry, cable_entry_array);

typedef struct fabric_def {
    bool given;
    int topology; // fabric_topology
    struct {      // which keys were written
        bool network_switch, spine_switch, core_switch, tiers, oversubscription, xgft, leaves, spines,
            uplinks, group, cables, cable, cable_set, link, mtu, queue_pair_rate, recovery, timeout;
    } has;
    switch_def network_switch, spine_switch, core_switch;
    uint32_t tiers; // 0: as few as suffice
    bind_numbers oversubscription;
    tree_numbers xgft;
    uint32_t leaves, spines, uplinks, group_nodes; // 0: as many as fit
    cable_entry_array cables;
    const char *file; // NULL, for its rows are in cables
    bind_numbers
        cable_m; // from NICs to leaves, from leaves to spines, from spines to cores; the last goes on
    cable_set_def cable_set;
    link_override link;
    int routing; // routing_kind
    uint32_t queue_pairs;
    double queue_pair_rate_Bps; // 0: no cap
    sim_time reroute_ps;        // SIM_TIME_MAX: never
    int transport;              // 0: as the NIC says; else 1 + transport_kind
    uint64_t mtu_bytes;
    int recovery;          // loss_recovery; where the transport is not TCP
    uint64_t window_bytes; // 0: none
    sim_time timeout_ps;
    bool sharp; // its switches sum
} fabric_def;

typedef struct node_entry { // a row of cluster.nodes, where that is a list
    node_def node;
    uint32_t count;
} node_entry;
ARRAY_OF(node_entry, node_entry_array);

typedef struct node_group { // nodes that are alike and follow one another
    const node_def *node;
    uint32_t count;
} node_group;

typedef struct degraded_entry { // a row of cluster.degraded: one part and what is left of it
    const char *gpu, *nic, *link;
    double clock_ratio, memory_ratio, rate_ratio;
    double loss, bit_error_rate; // of packets, of bits
    int retry;                   // degraded_retry
    bool both;                   // of a link: the way back as well
    uint32_t index;              // of parallel links
    struct {                     // which keys were written
        bool gpu, nic, link, clock, memory, rate, loss, bit_error_rate, retry, both, index;
    } has;
} degraded_entry;
ARRAY_OF(degraded_entry, degraded_entry_array);

typedef struct cluster_def {
    const char *name;      // of a system of the catalogue; NULL: none
    node_def node;         // that jobs run on; of a list, the first with GPUs, or the first
    uint32_t nodes;        // all of them
    node_entry_array list; // where cluster.nodes is one
    fabric_def fabric;
    degraded_entry_array degraded;
    // not bound:
    node_group *groups;
    uint32_t group_count;
} cluster_def;

extern const bind_row cable_binds[]; // of one row of a list of cables
// cluster.node and cluster.nodes, or cluster.nodes as a list.
extern const bind_row cluster_binds[], cluster_list_binds[];
extern const bind_row degraded_binds[]; // cluster_degraded.c
bool cluster_is_list(const document *doc);
// Before it is bound: reads the file of cables into the document, adds the default set of cables. Places stay right.
bool cluster_prepare(arena *a, document *doc, sim_error *error);
// Once it is bound: fills groups and, of a list, node and nodes; completes each node.
bool cluster_complete(arena *a, cluster_def *c, bool list, const bind_reader *r, sim_error *error);
// Holds its parts against each other. What only the builders know (ports, tiers) they refuse themselves.
bool cluster_check(const cluster_def *c, const bind_reader *r, sim_error *error);

// A line for each kind of node whose NICs are faster than what joins them to their GPUs.
void cluster_warnings(const cluster_def *c, arena *a, text_list *out);

// Whether what is played can depend on a number that was read into field: not on adaptive routing where routes are static, on
// the delay of NICs where no connection has a window or losses, nor on kinds of cable that no length asks for. True of every
// field that is not the cluster's.
bool cluster_rests_on(const cluster_def *c, const void *field);

uint64_t cluster_gpus(const cluster_def *c);
const node_def *cluster_node_at(const cluster_def *c, node_id n);
const switch_def *cluster_switch_of_tier(const cluster_def *c, uint32_t tier); // 0: leaves
const node_def *cluster_node_of_gpu(const cluster_def *c, uint64_t gpu);
// How many GPUs from the first on are alike and in nodes with as many: what one job can take.
uint64_t cluster_gpus_alike(const cluster_def *c);
// The nodes that have those GPUs, in order.
node_id *cluster_nodes_alike(const cluster_def *c, arena *a, uint32_t *count);
