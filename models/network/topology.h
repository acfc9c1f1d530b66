// SPDX-License-Identifier: GPL-3.0-or-later
// models/network/topology.h: the fabric as a graph. Vertices are GPUs, switches of a node, NICs, switches of the network;
// every cable is two directed links with rate, delay and class, the way there with an even id and the way back with the
// next odd one. Built once by the builders (topology_build.h), then read only: states that change in time (down, degraded)
// are in fabric_state.h. It knows no traffic. Paths: routing.h; counts and pictures: topology_facts.h.
#pragma once
#include "models/ids.h"
#include "models/network/transport.h"
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
enum { TIERS_MAX = 3 }; // of switches of the network: leaf, spine, core

typedef enum link_class { LINK_NVLINK, LINK_PCIE, LINK_NETWORK, LINK_CLASSES } link_class;
extern const char *const link_class_words[]; // "nvlink", "pcie", "network"; ends with NULL

typedef struct topology_vertex {
    vertex_kind kind;
    node_id
        node; // the server it is in; NO_ID: a switch of the network, or an NVSwitch that several nodes share
    uint32_t number; // within its kind and node (or within its kind, outside nodes)
} topology_vertex;

typedef struct topology_link {
    vertex_id from, to;
    link_class class;
    uint64_t rate_mBps; // payload, this direction, at the start of a run
    sim_time delay_ps;
    double health_ratio; // that rate against what it has when healthy (1)
} topology_link;

typedef enum routing_kind {
    ROUTING_STATIC,  // by destination: d-mod-k
    ROUTING_ECMP,    // by a hash of source, destination and queue pair
    ROUTING_ADAPTIVE // over all equal links at once: bundles
} routing_kind;
extern const char *const routing_words[]; // "static", "ecmp", "adaptive"; ends with NULL

typedef struct fabric_policy { // how the network carries connections
    routing_kind routing;
    uint64_t hash_key;            // of ECMP, drawn from the run's seed
    uint32_t queue_pairs;         // of a connection, unless its request has more; >= 1
    uint64_t queue_pair_cap_mBps; // of each; 0: none
    sim_time reroute_ps;          // from a link's failure until routes avoid it; SIM_TIME_MAX: never
    transport_terms terms;        // of connections over the network
} fabric_policy;

typedef struct topology topology;
topology *topology_create(arena *a);
void topology_set_policy(topology *t,
                         const fabric_policy *policy); // before it is sealed; else static, one queue pair
const fabric_policy *topology_policy(const topology *t);
// The most that a connection over the network carries whose request has so many queue pairs; UINT64_MAX: no cap.
uint64_t topology_connection_cap_mBps(const topology *t, uint32_t queue_pairs);
void topology_seal(topology *t); // no more parts; makes the rows of outgoing links
// What no path could bridge is refused: no vertices, links without a rate, GPUs of a node without links between them,
// parts that are not connected.
bool topology_check(const topology *t, const sim_place *where, sim_error *error);

uint32_t topology_vertex_count(const topology *t);
uint32_t topology_link_count(const topology *t);
const topology_vertex *topology_vertex_at(const topology *t, vertex_id v);
const topology_link *topology_link_at(const topology *t, link_id l);
static inline link_id topology_link_back(link_id l)
{
    return l ^ 1;
} // the other direction of the same cable
const link_id *topology_outgoing(const topology *t, vertex_id v, uint32_t *count); // sealed only; by link id
// Links whose health_ratio is below 1, by link id.
const link_id *topology_degraded_links(const topology *t, uint32_t *count);

// Links that damage what they carry, from the start of a run to its end (topology_faults.c).
typedef struct link_faults {
    double loss;         // of packets, on this link alone; their connection sends them again
    double frame_error;  // of frames, which the link itself sends again
    double resent_ratio; // bytes sent again for frame_error, to those that get through
} link_faults;
// NULL: none, as mostly.
const link_faults *topology_faults_of(const topology *t, link_id l);
// Those that have any, by link id.
const link_id *topology_faulty_links(const topology *t, uint32_t *count);
uint64_t topology_packet_bytes(const topology *t, link_id l); // payload of a full one
uint64_t topology_frame_bytes(const topology *t, link_id l);  // with its headers
// Whether any link loses packets, which is decided by random numbers as a run goes on.
bool topology_loses(const topology *t);
double topology_loss(const topology *t, link_id l); // of a packet

uint32_t topology_node_count(const topology *t);
uint32_t topology_gpu_count(const topology *t);
uint32_t topology_nic_count(const topology *t);
vertex_id topology_gpu_vertex(const topology *t, gpu_id gpu);
vertex_id topology_nic_vertex(const topology *t, nic_id nic);
// The NICs that serve a GPU are nic .. nic + count - 1 of the cluster; false: none does.
bool topology_nics_of_gpu(const topology *t, gpu_id gpu, nic_id *nic, uint32_t *count);
gpu_id topology_gpu_of(const topology *t, vertex_id v); // the number of a GPU or NIC in the cluster
nic_id topology_nic_of(const topology *t, vertex_id v);
// GPUs of one domain talk over NVLink, or inside one node, without the network: mostly a node, or the trays of a rack. Of a
// GPU or NIC; numbers only say who shares one, and rise with the nodes.
uint32_t topology_domain_of(const topology *t, vertex_id v);
uint32_t topology_count_kind(const topology *t, vertex_kind kind);

// "node 3 gpu 5", "node 3 nic 1", "spine 7"; returns buffer.
char *topology_vertex_name(const topology *t, vertex_id v, char *buffer, size_t size);
// "node 0 gpu 1 > node 0 nvswitch 0"; of a bundle "leaf 2 > spines", "spines > leaf 2"; returns buffer.
char *topology_link_name(const topology *t, uint32_t link_or_bundle, char *buffer, size_t size);
// The vertex that a text names: "node 3 gpu 5", "node3/gpu5", "leaf 2"; "gpu 12" and "nic 7" count through the cluster, and
// so does a bare number: host 7 is NIC 7. Refuses what is not there, saying what is.
bool topology_find_vertex(const topology *t, const char *text, const sim_place *where, vertex_id *out,
                          sim_error *error);
// Says that no link leads from one vertex to the other, and where links from there lead.
bool topology_refuse_pair(const topology *t, vertex_id from, vertex_id to, const sim_place *where,
                          sim_error *error);

// Bundles: where routing is adaptive, the links that spread one way between two tiers count as one, for traffic is spread
// evenly over those that are up. They exist in trees of two and more tiers, whatever the routing, and are numbered behind
// the links: per group of switches that serve the same NICs one up and one down.
uint32_t topology_bundle_count(const topology *t); // ids from topology_link_count() on
typedef struct bundle_members {
    link_id first;      // every second id from here on: first, first + 2, ..
    uint32_t count;     // of links
    uint32_t ratio_ppm; // of their rates together that traffic can fill
} bundle_members;
bundle_members topology_bundle_members(const topology *t, uint32_t bundle);
uint32_t topology_bundle_of_link(const topology *t, link_id l); // NO_ID: in none
// Of a link, or of a bundle with all its members up: the sum of their rates times the ratio. Sealed only.
uint64_t topology_rate_mBps(const topology *t, uint32_t link_or_bundle);

enum { TOPOLOGY_PATH_MAX = 24 };
// The path of queue pair 0 while all links are up (routing.h has the others): ids of links and bundles; 0 when from == to.
uint32_t topology_route(const topology *t, vertex_id from, vertex_id to, uint32_t path[TOPOLOGY_PATH_MAX]);

// Of that path: the least rate, the sum of delays, the "widest" class it crosses (network > pcie > nvlink). From a vertex to
// itself: no links, no delay, and no limit (UINT64_MAX) to the rate.
typedef struct path_facts {
    uint64_t rate_mBps;
    sim_time delay_ps;
    link_class class;
    uint32_t links;
} path_facts;
path_facts topology_path_facts(const topology *t, vertex_id from, vertex_id to);
