// SPDX-License-Identifier: GPL-3.0-or-later
// models/network/topology_internal.h: what the builders and routing share; nobody else includes it. Beside the graph it
// keeps where the parts of each node and of each tier begin, so that a link is found by arithmetic and needs no tables.
#pragma once
#include "models/network/topology_build.h"
#include "sim/array.h"

// The order of parts inside a node is fixed (topology_node.c):
//   vertices  GPUs, then the hub (the NVSwitch or the CPU, if there is one), PCIe switches, sockets, then NICs
//   links     SWITCH, HOST without a tree: 2 i from GPU i to the hub, 2 i + 1 back; MESH: by pairs (topology_pair)
//             without a tree: 2 k from a GPU to one of its NICs, GPU by GPU, 2 k + 1 back
//             with a tree: 2 i from GPU i up, 2 i from NIC i up, 2 s from switch s up; sockets by pairs
typedef struct topology_node {
    uint32_t gpus, nics, pcie_switches, sockets; // sockets 0: no tree
    node_wiring_kind scale_up;
    bool through_host;
    vertex_id first_gpu, hub, first_nic, first_pcie, first_socket; // hub: perhaps that of an earlier node
    gpu_id gpu_base;                                               // of the cluster's GPUs and NICs
    nic_id nic_base;
    link_id scale_up_base, gpu_device_base, nic_device_base, uplink_base, socket_base;
    uint64_t nic_rate_mBps; // of its NICs' lines; 0: any
} topology_node;

typedef struct topology_gpu {
    vertex_id vertex;
    uint32_t nic, nics; // first of its NICs within its node, NO_ID: none; how many
    link_id nic_links;  // to them, without a tree
} topology_gpu;

typedef struct topology_nic {
    vertex_id vertex;
    uint32_t gpu; // within its node, the first that it serves; NO_ID: none
    uint32_t
        slot; // place at the leaves of a tree, counted from the left: the destination number of static routing
} topology_nic;

// A tree of switches: an extended generalised fat tree whose right end may be missing. Level 0 are the NICs, level l the
// switches of tier l. A switch serves a range of span[l] slots and shares it with planes[l] - 1 others; they are numbered
// (slot / span[l]) planes[l] + plane. A vertex of level l has ports[l + 1] = parents x cables links up; port q leads to
// parent q mod parents, by cable q / parents. Parent d of a switch in plane j is in plane j + d planes[l] above.
//   up link of port q of vertex x of level l: first_link[l] + 2 (x ports[l + 1] + q); down is one more
typedef struct topology_tree {
    uint32_t levels;
    uint32_t parents[TIERS_MAX + 1], cables[TIERS_MAX + 1],
        ports[TIERS_MAX + 1]; // [l]: between levels l - 1 and l
    uint32_t span[TIERS_MAX + 1], planes[TIERS_MAX + 1], groups[TIERS_MAX + 1]; // groups: ranges that exist
    vertex_id first_vertex[TIERS_MAX + 1];
    link_id first_link[TIERS_MAX + 1];
    uint32_t
        first_bundle[TIERS_MAX + 1]; // of level l, counted from 0: up of group g at + 2 g, down at + 2 g + 1
    uint32_t adaptive_ppm[TIERS_MAX + 1];
} topology_tree;

// Cables one by one: switches are the vertices from first_switch on.
typedef struct topology_list {
    vertex_id first_switch;
    uint32_t switches;
    uint8_t *distance; // switches x switches: links between two; LIST_FAR: no way. With all links up
} topology_list;
enum { LIST_FAR = 255, LIST_SWITCHES_MAX = 2048, LIST_HOPS_MAX = 10 };

typedef enum topology_shape { SHAPE_NO_NETWORK, SHAPE_TREE, SHAPE_LIST } topology_shape;

ARRAY_OF(topology_vertex, topology_vertex_array);
ARRAY_OF(topology_link, topology_link_array);
ARRAY_OF(topology_node, topology_node_array);
ARRAY_OF(topology_gpu, topology_gpu_array);
ARRAY_OF(topology_nic, topology_nic_array);
ARRAY_OF(link_id, link_id_array);
ARRAY_OF(link_faults, link_faults_array);

struct topology {
    arena *arena;
    topology_vertex_array vertices;
    topology_link_array links;
    topology_node_array nodes;
    topology_gpu_array gpus;
    topology_nic_array nics;
    uint32_t kind_counts[VERTEX_KINDS];
    uint32_t shared_hubs; // NVSwitches that belong to no node
    fabric_policy policy;
    topology_shape shape;
    bool rails_apart; // NICs of different numbers do not meet in the network
    topology_tree tree;
    topology_list list;
    bool sealed;
    uint32_t *out_starts; // vertex_count + 1 entries into out_links
    link_id *out_links;
    uint64_t *bundle_rates_mBps; // of sealed ones
    link_id_array degraded;      // ascending
    link_id_array faulty;        // ascending
    link_faults_array faults;    // as faulty
    bool loses;
};

vertex_id topology_add_vertex(topology *t, vertex_kind kind, node_id node, uint32_t number);
// Two links, there and back: the first's id; the second's is one more.
link_id topology_add_cable(topology *t, const topology_link *there);

// Lowers the rate of a link, and with it that of its bundle; health: of health_ratio.
void topology_lower_rate(topology *t, link_id l, double ratio, double health);

// The pair i < j of n, counted row by row: (0,1) (0,2) .. (0,n-1) (1,2) ..
static inline uint32_t topology_pair(uint32_t n, uint32_t i, uint32_t j)
{
    return i * (2 * n - i - 1) / 2 + (j - i - 1);
}

// ---- trees (topology_tree.c)

// What a builder decides: sizes as in topology_tree, and the number of leaves.
typedef struct tree_shape {
    uint32_t tiers;
    uint32_t children[TIERS_MAX], parents[TIERS_MAX], cables[TIERS_MAX]; // [0]: between NICs and leaves
    uint32_t leaves;
} tree_shape;
// NICs without a slot of their own have the next one in order (slots NULL). Nothing is checked but sizes: a fabric has at most
// TREE_LINKS_MAX links.
bool topology_add_tree(topology *t, const tree_shape *shape, const fabric_tier *tiers, const uint32_t *slots,
                       const fabric_places *where, sim_error *error);
#define TREE_LINKS_MAX UINT64_C(100000000)
// Every node has a NIC, or there is one node: what all networks ask for.
bool topology_check_nics(const topology *t, const fabric_places *where, sim_error *error);
// How a switch's ports are shared between up and down; false: it has too few for both.
bool tree_split_ports(uint32_t ports, double oversubscription, uint32_t *down, uint32_t *up);
// The fewest switches above, a divisor of uplinks, whose ports suffice for so many below with all their uplinks; 0: none.
uint32_t tree_fewest_parents(uint32_t below, uint32_t uplinks, uint32_t ports);
// The tiers above leaves: shape->parents and cables of tier 1 and 2, children of tier 1; tiers 0: as few as suffice.
// uplinks: of each leaf.  pod_multiple: leaves of a pod are a multiple of it, if so many fit.
bool tree_plan_upper_tiers(const topology *t, const fat_tree_def *def, uint32_t uplinks,
                           uint32_t pod_multiple, const fabric_places *where, tree_shape *shape,
                           sim_error *error);

// Of a bundle, from the rates of its members as they are now.
uint64_t tree_bundle_rate_mBps(const topology *t, uint32_t bundle);

// ---- lists (topology_list.c)

// Fills distance by breadth first search over links that are not flagged in avoided (NULL: none is).
void list_fill_distances(const topology *t, const uint8_t *avoided, uint8_t *distance);
// Of a sealed one: paths that are too long.
bool list_check_lengths(const topology *t, const sim_place *where, sim_error *error);
