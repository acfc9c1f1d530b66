// SPDX-License-Identifier: GPL-3.0-or-later
// models/network/topology_internal.h: what the builders and routing.c share; nobody else includes it. Beside the graph it
// keeps, per node, where that node's parts begin, so that routing.c finds every link by arithmetic and needs no tables.
#pragma once
#include "models/network/topology.h"
#include "sim/array.h"

// Where the parts of one node begin. The order inside a node is fixed (topology_node.c):
//   vertices  GPUs, then the hub (the NVSwitch or the CPU, if there is one), then NICs
//   links     SWITCH, HOST: 2 i from GPU i to the hub, 2 i + 1 back; MESH: by pairs (topology_mesh_pair);
//             then 2 i from GPU i to its NIC, 2 i + 1 back, if there are NICs
typedef struct topology_node {
    uint32_t gpus, nics;
    node_wiring_kind scale_up;
    vertex_id first_gpu, hub, first_nic;
    gpu_id gpu_base; // of the cluster's GPUs and NICs
    nic_id nic_base;
    link_id scale_up_base, nic_link_base;
} topology_node;

// How the nodes are joined. Single switch: links 2 i from NIC i of the cluster to the switch, 2 i + 1 back.
typedef enum topology_shape { SHAPE_NO_NETWORK, SHAPE_SINGLE_SWITCH } topology_shape;

ARRAY_OF(topology_vertex, topology_vertex_array);
ARRAY_OF(topology_link, topology_link_array);
ARRAY_OF(topology_node, topology_node_array);
ARRAY_OF(uint32_t, topology_u32_array);

struct topology {
    arena *arena;
    topology_vertex_array vertices;
    topology_link_array links;
    topology_node_array nodes;
    topology_u32_array gpu_vertices,
        gpu_nics;                    // per GPU of the cluster: its vertex; its NIC within its node, or NO_ID
    topology_u32_array nic_vertices; // per NIC of the cluster
    uint32_t kind_counts[VERTEX_KINDS];
    topology_shape shape;
    link_id network_base;
    bool sealed;
    uint32_t *out_starts; // vertex_count + 1 entries into out_links
    link_id *out_links;
};

vertex_id topology_add_vertex(topology *t, vertex_kind kind, node_id node, uint32_t number);
// Two links, there and back: the first's id; the second's is one more.
link_id topology_add_cable(topology *t, const topology_link *there);

// The pair of GPUs i < j of a mesh of n GPUs, counted row by row: (0,1) (0,2) .. (0,n-1) (1,2) ..
static inline uint32_t topology_mesh_pair(uint32_t n, uint32_t i, uint32_t j)
{
    return i * (2 * n - i - 1) / 2 + (j - i - 1);
}
