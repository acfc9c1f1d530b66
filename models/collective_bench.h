// SPDX-License-Identifier: GPL-3.0-or-later
// models/collective_bench.h: one collective on a cluster where nothing else moves, as a benchmark plays it: every rank arrives
// at once, the time runs until the last one is done. The fabric is built once for a cluster and its ranks; each play has a
// clock and a network of its own, so that plays know nothing of one another and take no memory beyond their end.
//
// Ranks are packed: rank r on GPU r mod g of the r div g-th node, g GPUs of each node, from the first on. A send-recv is that
// of nccl-tests: each rank sends to the next one and the last to the first, all at once.
#pragma once
#include "models/collective/layout.h"
#include "models/scenario.h"

typedef struct collective_bench collective_bench;

typedef struct collective_bench_options {
    uint32_t nodes;         // of those that a job can take (cluster_nodes_alike()); 0: all of them
    uint32_t gpus_per_node; // 0: all of them
    queue_kind queue;
    bool reverse_phases; // sim_options.reverse_phases
    // Asked now and then while a collective is played; true stops it at the end of the current instant. NULL: never.
    bool (*poll)(void *owner);
    void *owner;
} collective_bench_options;

typedef struct collective_bench_facts {
    uint32_t nodes, gpus_per_node, ranks;
    // Nodes whose GPUs share their links: one, or the trays of a rack; the least over the racks.
    uint32_t domain_nodes;
    uint32_t domains;   // of them that the ranks lie in
    bool leaves_domain; // not all ranks are in one such domain
    // NICs that serve the ranks of a node, the least over the nodes, and what the slowest of them carries of payload per
    // direction when nothing is degraded. 0: some node has none.
    uint32_t nics_per_node;
    uint64_t nic_mBps;
    bool degraded; // some NIC of them has less than that now
} collective_bench_facts;

typedef struct collective_bench_request {
    collective_kind kind;
    uint64_t bytes; // as plan.h defines them: the size column of nccl-tests
    int algorithm;  // collective_algorithm, or ALGORITHM_AUTO: the library's choice
    int protocol;   // collective_protocol, or PROTOCOL_AUTO
    collective_grain grain;
    const uint64_t *parts; // ALL_TO_ALL_UNEQUAL, as plan.h defines them; else NULL
} collective_bench_request;

typedef struct collective_bench_result {
    sim_time time_ps;
    bool cancelled; // by poll; the rest means nothing
    // Of several pairs those of the last to end.
    collective_algorithm algorithm;
    collective_protocol protocol;
    uint32_t channels; // of the library, side by side; of a send, to one peer
    uint64_t
        wire_bytes; // that a GPU sends, the protocol's flags included: the mean over the ranks, rounded up
    // How long the busiest link would be busy with the bytes that crossed it at its rate (degraded: what is left of it): no
    // collective that moves these bytes is faster. Of the links of NICs into the network, and of all links. 0: none.
    sim_time nic_least_ps, link_least_ps;
    link_id busiest_link; // NO_ID: none
    uint64_t events, digest;
} collective_bench_result;

// s: checked (scenario_check()); its network says engine and library terms. NULL with error when the fabric cannot be built.
// At least two ranks, on nodes that there are, with as many GPUs: the caller sees to it.
collective_bench *collective_bench_create(arena *a, const scenario *s,
                                          const collective_bench_options *options, sim_error *error);
const collective_bench_facts *collective_bench_facts_of(const collective_bench *b);
const topology *collective_bench_fabric(const collective_bench *b);
// Whether more queue pairs of a connection change anything: each takes a path of its own, or leaves by another cable or NIC, or
// has a rate of its own, or they even out what static routes meet.
bool collective_bench_feels_queue_pairs(const collective_bench *b);
const collective_layout *collective_bench_layout(const collective_bench *b); // of all ranks

// Why a request cannot be played, as a sentence without an end, or NULL. valid: what could be asked for instead, or NULL.
typedef struct collective_bench_obstacle {
    const char *why, *valid;
    enum { OBSTACLE_ALGORITHM, OBSTACLE_PROTOCOL, OBSTACLE_GRAIN, OBSTACLE_BYTES } about;
} collective_bench_obstacle;
collective_bench_obstacle collective_bench_refuse(const collective_bench *b,
                                                  const collective_bench_request *request);
// Plays what collective_bench_refuse() lets pass.
void collective_bench_play(collective_bench *b, const collective_bench_request *request,
                           collective_bench_result *result);

// nccl-tests' bandwidths [B/s], as its manual defines them: the algorithm's is bytes over time; the bus's is that times
//     all-reduce 2 (n - 1) / n; all-gather, reduce-scatter, all-to-all (n - 1) / n; the others 1       n [ranks]
// which is what each rank's link carries if the bytes go the shortest way, so that it can be held against hardware.
double collective_bench_bus_factor(collective_kind kind, uint32_t ranks);
double collective_bench_bus_Bps(collective_kind kind, uint32_t ranks, uint64_t bytes, sim_time time_ps);
