// SPDX-License-Identifier: GPL-3.0-or-later
// models/collective/library.h: a collective library as data: what its tuner believes, how its kernels cut a buffer. Catalogue
// values (models/catalogue/collectives/); what its kernels get out of the hardware is link_costs.h's.
#pragma once
#include "models/collective/plan.h"
#include "models/hardware/link_costs.h"
#include "models/network/topology.h"
#include "sim/bind.h"

typedef enum collective_protocol {
    PROTOCOL_LL,
    PROTOCOL_LL128,
    PROTOCOL_SIMPLE,
    PROTOCOLS
} collective_protocol;
extern const char *const collective_protocol_words[]; // "ll", "ll128", "simple"; ends with NULL

enum { PROTOCOL_AUTO = -1, ALGORITHM_AUTO = -1 };

typedef struct collective_choice {
    collective_algorithm algorithm;
    collective_protocol protocol;
    double predicted_s; // for choosing only: its time is pace.h's
} collective_choice;

// As the library's tuner believes. The latency of a hop is from end to end: wire and switches are in it.
typedef struct protocol_terms {    // one protocol of an algorithm
    sim_time base_ps;              // once per collective
    sim_time hop_ps[LINK_CLASSES]; // per hop, by the widest class of link it crosses
} protocol_terms;

typedef struct nvls_terms { // all-reduce in the NVSwitch
    sim_time base_ps;       // the whole latency, from end to end
    sim_time network_ps;    // beside it, over nodes
    uint32_t least_ranks;   // below it stays with the ring
} nvls_terms;

typedef struct nvls_tree_terms {
    sim_time base_ps, node_ps;
    sim_time network_ps; // per hop between nodes
} nvls_tree_terms;

typedef struct collnet_terms { // SHARP
    sim_time base_ps, hop_ps[LINK_CLASSES];
    sim_time rank_ps;             // for each other rank of a node
    uint32_t most_ranks_per_node; // 0: any number
} collnet_terms;

typedef struct pat_terms {
    sim_time base_ps, network_ps;
    double hop_ratio;     // share of network_ps that a step of the tree adds
    sim_time rank_ps;     // for each rank
    double rate_ratio;    // of the rings' rate
    uint64_t chunk_bytes; // the most
} pat_terms;

enum { NODE_CLASSES = 3 }; // one node, two, more

typedef struct generation_caps { // of the tuner, by what the GPUs are
    // [NODE_CLASSES] items [bytes/s]: of all channels together; the others per channel; of NVLS trees per head.
    bind_numbers ll, tree, tree_ll128, nvls_tree;
    double ring_ll128_Bps;
    double nvls_ratio;           // share of the NVLink rate that NVLS gets; 0: no NVLS
    double collnet_direct_ratio; // of what the NICs give
    double plateau_ratio;        // of the latency of large all-reduces by rings of Simple over nodes
} generation_caps;

typedef struct protocol_cut { // how the kernels of one protocol cut a buffer
    uint32_t threads;         // of a channel
    uint64_t
        thread_bytes; // a channel is used when each of its threads has so many; rings of LL: on each rank
    uint64_t ring_chunk_bytes, tree_chunk_bytes; // the most; of payload
    uint64_t pipe_chunk_bytes;                   // of broadcast and reduce
    uint32_t slices;                             // of a ring's chunk
    uint64_t least_slice_bytes;
    double wire_ratio; // bytes on the wire per byte of payload
} protocol_cut;

typedef struct library_tuning {
    protocol_terms tree[PROTOCOLS];
    nvls_tree_terms nvls_tree;
    collnet_terms collnet_direct, collnet_chain;
    pat_terms pat;
    double ring_ll_ratio, ring_ll128_ratio; // of the rate that the search found
    double tree_ratio, tree_ll_ratio, tree_ll128_node_ratio, tree_ll128_ratio;
    uint64_t plateau_bytes;      // per channel and rank: from there on a ring's latency has plateau_ratio
    sim_time post_ps[HOST_CPUS]; // of the host thread; three times that for Simple
    int ll_row[HOST_CPUS];       // gpu_generation whose caps of LL serve over nodes
    bind_numbers corrections[PROTOCOLS]; // of a tree's rate, for 64 B, 128 B, ...; 1 beyond
    bind_numbers search_rates;           // a NIC gets the first of them that is not above its line rate
    generation_caps generations[GENERATIONS];
} library_tuning;

typedef struct library_kernels {
    protocol_cut cuts[PROTOCOLS];
    uint32_t slots;            // chunks of one slice in flight on a connection
    double peer_network_Bps;   // one channel's share of a NIC, for sends
    uint32_t peers_at_once;    // of an all-to-all
    uint64_t least_part_bytes; // of a send on one channel
    uint64_t most_part_bytes;  // in a node: larger ones take more channels
    uint64_t most_network_part_bytes;
} library_kernels;

typedef struct collective_library {
    const char *name;
    protocol_terms ring[PROTOCOLS];
    nvls_terms nvls;
    // Bytes read and written in the GPU's memory per byte that its links move. While a collective runs, its kernels hold a
    // multiprocessor for each of its channels as well. 0: what computes beside it is not slowed.
    double memory_traffic;
    library_tuning tuning;
    library_kernels kernels;
} collective_library;
extern const bind_row collective_library_binds[];
// Bytes on the wire for so much payload, rounded up.
uint64_t library_wire_bytes(const protocol_cut *cut, uint64_t payload_bytes);
