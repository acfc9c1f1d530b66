// SPDX-License-Identifier: GPL-3.0-or-later
// models/network/topology.h: the fabric as a graph. Vertices are GPUs, switches of a node, NICs, switches of the network;
// every cable is two directed links with rate, delay and class. Built once by the builders (one per file), then read only:
// states that change in time (down, degraded) belong to the network engines. It knows no traffic.
#pragma once
#include "models/ids.h"
#include "sim/arena.h"
#include "sim/error.h"
#include "sim/units.h"

typedef enum vertex_kind {
    VERTEX_GPU,
    VERTEX_NVSWITCH,
    VERTEX_PCIE,
    VERTEX_CPU,
    VERTEX_NIC,
    VERTEX_LEAF,
    VERTEX_SPINE,
    VERTEX_CORE,
    VERTEX_KINDS
} vertex_kind;
// "gpu", "nvswitch", "pcie-switch", "cpu", "nic", "leaf", "spine", "core"; ends with NULL
extern const char *const vertex_kind_words[];

typedef enum link_class { LINK_NVLINK, LINK_PCIE, LINK_NETWORK, LINK_CLASSES } link_class;
extern const char *const link_class_words[]; // "nvlink", "pcie", "network"; ends with NULL

typedef struct topology_vertex {
    vertex_kind kind;
    node_id node;    // the server it is in; NO_ID: a switch of the network
    uint32_t number; // within its kind and node (or within its kind, outside nodes)
} topology_vertex;

typedef struct topology_link {
    vertex_id from, to;
    link_class class;
    uint64_t rate_mBps; // payload, this direction
    sim_time delay_ps;
} topology_link;

// SWITCH: every GPU to one NVSwitch vertex; MESH: an NVLink per pair; HOST: every GPU to one CPU vertex by PCIe.
typedef enum node_wiring_kind { WIRING_NONE, WIRING_SWITCH, WIRING_MESH, WIRING_HOST } node_wiring_kind;

// One server's inside, as the builder of nodes wants it (made from a node_def by models/world.c).
typedef struct node_wiring {
    uint32_t gpus, nics; // a bare host has no GPUs: its NICs are the ends of transfers
    node_wiring_kind scale_up;
    uint64_t scale_up_rate_mBps; // of one GPU, per direction (MESH: shared evenly by its gpus - 1 links)
    sim_time scale_up_delay_ps;  // of one link: a path through the NVSwitch or the CPU has two
    uint64_t nic_pcie_rate_mBps; // GPU to its NIC
    const uint32_t *nic_of_gpu;  // gpus entries, copied; several GPUs may share a NIC; ignored when nics is 0
} node_wiring;

typedef struct topology topology;
topology *topology_create(arena *a);
void topology_add_node(topology *t, const node_wiring *wiring); // topology_node.c

typedef struct single_switch_def {
    uint32_t ports;           // 0: as many as needed
    uint64_t rate_mBps;       // payload rate of a NIC's cable: the lesser of NIC and port
    sim_time cable_delay_ps;  // one cable
    sim_time switch_delay_ps; // port to port, charged once per crossing
} single_switch_def;
// topology_single_switch.c: every NIC of the nodes added so far to one switch ("leaf 0"). Refuses more NICs than ports and
// nodes without NICs when there are several nodes. A lone node without NICs needs no switch: nothing is added.
bool topology_add_single_switch(topology *t, const single_switch_def *def, const sim_place *where,
                                sim_error *error);
void topology_seal(topology *t); // no more parts; makes the rows of outgoing links
// What no path could bridge is refused: no vertices, links without a rate, GPUs of a node without links between them,
// parts that are not connected.
bool topology_check(const topology *t, const sim_place *where, sim_error *error);

uint32_t topology_vertex_count(const topology *t);
uint32_t topology_link_count(const topology *t);
const topology_vertex *topology_vertex_at(const topology *t, vertex_id v);
const topology_link *topology_link_at(const topology *t, link_id l);
const link_id *topology_outgoing(const topology *t, vertex_id v, uint32_t *count); // sealed only; by link id
uint32_t topology_node_count(const topology *t);
uint32_t topology_gpu_count(const topology *t);
uint32_t topology_nic_count(const topology *t);
vertex_id topology_gpu_vertex(const topology *t, gpu_id gpu);
vertex_id topology_nic_vertex(const topology *t, nic_id nic);
// "node 3 gpu 5", "node 3 nic 1", "spine 7"; returns buffer.
char *topology_vertex_name(const topology *t, vertex_id v, char *buffer, size_t size);
// "node 0 gpu 1 > node 0 nvswitch 0"; returns buffer.
char *topology_link_name(const topology *t, link_id l, char *buffer, size_t size);
uint32_t topology_count_kind(const topology *t, vertex_kind kind);

// routing.c: the path of a transfer, by arithmetic on the shape; returns the count of links, 0 when from == to.
// Both ends are GPUs or NICs. GPUs of one node talk over its scale-up links, of different nodes through their NICs.
enum { TOPOLOGY_PATH_MAX = 16 };
uint32_t topology_route(const topology *t, vertex_id from, vertex_id to, link_id path[TOPOLOGY_PATH_MAX]);

// Of a path: the least rate, the sum of delays, the "widest" class it crosses (network > pcie > nvlink). From a vertex to
// itself: no links, no delay, and no limit (UINT64_MAX) to the rate.
typedef struct path_facts {
    uint64_t rate_mBps;
    sim_time delay_ps;
    link_class class;
    uint32_t links;
} path_facts;
path_facts topology_path_facts(const topology *t, vertex_id from, vertex_id to);
