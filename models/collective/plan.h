// SPDX-License-Identifier: GPL-3.0-or-later
// models/collective/plan.h: a collective as data: who sends what to whom after what. Built without a clock. Ranks are
// positions 0 .. n-1 in the group. Two grains of the same plan: messages, each with its predecessors; and streams, one edge
// per pair of positions with all bytes that cross it and the number of steps they take.
//
// How the buffer is cut in chunks, and what an edge carries, with n ranks, R rings and S bytes:
//     rings         n R chunks; chunk p R + r belongs to position p and goes round ring r. So what belongs to a position lies
//                   together: its share of an all-gather or a reduce-scatter is its R chunks, one from each ring. An edge
//                   carries, of each ring that uses it, all n chunks but one (all-reduce: twice, each time without one).
//     broadcast     K R pieces; piece k R + r goes round ring r behind piece (k - 1) R + r. An edge carries all K of each of
//                   its rings. A reduce takes the same way back.
//     trees         K pieces of each lane, which lie together: a lane is one of two trees over nodes, for each NIC of a node.
//     NVLS, SHARP   likewise; lanes are the heads (NVLS-tree: times its two trees), and the NICs of a node.
//     all-to-all    n parts of each rank's buffer, part p for position p; an edge carries the part for its receiver.
//     send-recv     one chunk, one edge: S.
// PAT, halving and doubling, and hierarchical plans have a chunk, or K pieces of it, for each position's share. The files say
// more. A cut puts more pieces in place of one: see plan_cut.
//
// Switches that sum. Positions n .. n + switches - 1 are the NVSwitches of the nodes: to them go and from them come the
// messages of NVLS, so that each GPU's link carries what it really does. All messages of one step on edges of one operation
// are one act of a switch (or of a network's switches): it begins when all that they wait for is there, adds up, for each
// chunk, what the ranks among the senders carry, and gives the sum to all receivers. SHARP's are the edges from a node's NIC to
// the next node's, in a circle: each NIC sends its share once and receives it once, and where switches are apart, so do they.
#pragma once
#include "sim/arena.h"
#include <stdbool.h>
#include <stdint.h>

typedef enum collective_kind {
    COLLECTIVE_ALL_REDUCE,
    COLLECTIVE_REDUCE_SCATTER,
    COLLECTIVE_ALL_GATHER,
    COLLECTIVE_SEND_RECV,
    COLLECTIVE_BROADCAST, // from position 0
    COLLECTIVE_ALL_TO_ALL,
    COLLECTIVE_REDUCE,             // to position 0
    COLLECTIVE_BARRIER,            // an all-reduce of (next to) nothing
    COLLECTIVE_ALL_TO_ALL_UNEQUAL, // with a part of its own size from each rank to each
    COLLECTIVE_KINDS
} collective_kind;
extern const char *const collective_kind_words[]; // "all-reduce", "reduce-scatter", ...; ends with NULL

typedef enum collective_algorithm {
    ALGORITHM_RING, // broadcasts and reduces go along rings as well
    ALGORITHM_NVLS, // all-reduce inside an NVSwitch
    ALGORITHM_SEND_RECV,
    ALGORITHM_PAIRWISE,
    ALGORITHM_TREE,           // two binary trees over nodes, a chain inside each
    ALGORITHM_NVLS_TREE,      // NVLS inside nodes, two binary trees over them
    ALGORITHM_COLLNET_DIRECT, // SHARP over nodes; inside, all send to all heads
    ALGORITHM_COLLNET_CHAIN,  // SHARP over nodes; inside, a chain
    ALGORITHM_PAT,            // parallel aggregated trees
    ALGORITHM_RECURSIVE,      // halving and doubling
    ALGORITHM_HIERARCHICAL,   // rings inside nodes, rings over nodes
    ALGORITHMS
} collective_algorithm;
// "ring", "nvls", "send-recv", "pairwise", "tree", "nvls-tree", "collnet-direct", ...; ends with NULL.
extern const char *const collective_algorithm_words[];

typedef enum collective_grain { GRAIN_STREAMS, GRAIN_MESSAGES } collective_grain;
extern const char *const collective_grain_words[]; // "streams", "messages"; ends with NULL

enum { PLAN_NONE = -1, PLAN_CHECK_RANKS_MAX = 64 };

typedef struct ring_set { // rings over the positions of a group (ring_order.h says which), and its nodes
    uint32_t ranks, count;
    const uint32_t *orders; // count x ranks: ring by ring, the positions in the order in which it visits them
    // Rings go node by node. node_starts: nodes + 1 places in a ring at which nodes begin; no nodes: all are on one.
    uint32_t nodes;
    const uint32_t *node_starts;
    // As orders, but each node from the member at the ring's NIC on, also where the ring comes by another; NULL: as orders.
    const uint32_t *chains;
} ring_set;

// Finer pieces, as a library moves them through its buffers. Without a cut ({0}) each chunk goes as a whole.
typedef struct plan_cut {
    uint64_t chunk_bytes; // a lane's buffer goes in as many loops, or pieces, as this needs; 0: in one
    uint32_t slices;      // of each chunk, one behind the other; 0: one
} plan_cut;

typedef struct plan_request {
    collective_kind kind;
    collective_algorithm algorithm;
    const ring_set *rings;
    uint64_t bytes; // all-gather: gathered; reduce-scatter: before scattering; else the buffer of one rank
    collective_grain grain;
    plan_cut cut;
    // ALL_TO_ALL_UNEQUAL: sender x ranks + receiver; kept, not copied. bytes is the largest sum of a row.
    const uint64_t *parts;
} plan_request;

typedef struct plan_message {
    uint32_t from, to; // positions in the group
    uint32_t edge;     // index of the pair from > to in the plan's edges
    uint32_t step;     // from 0
    uint32_t chunk;    // which part of the buffer
    // Messages of earlier steps. The sender's one before this on the same ring, or PLAN_NONE: on each ring a rank sends one
    // message after another (chains_by_edge: to each of its receivers).
    int32_t after_own;
    // The message that the sender must have received, or PLAN_NONE; others: plan_more_waits().
    int32_t after_received;
    uint16_t ring;
    bool reduces; // the receiver adds it to its own
    uint64_t bytes;
} plan_message;

typedef struct plan_edge { // all that one position sends to another
    uint32_t from, to;
    uint32_t rings;     // that use this pair
    uint32_t operation; // of switches that sum, from 1; 0: plain messages. Of stages: the stage, from 1
    uint64_t bytes;     // in the messages grain the sum of its messages
} plan_edge;

typedef struct plan_wait { // a further message that its sender must have received
    uint32_t message, received;
} plan_wait;

// Of streams whose steps differ (recursive, hierarchical, PAT): what moves at once, before the next stage begins. An edge is of
// one stage, and those of a stage stand together, each pair once.
typedef struct edge_stage {
    uint32_t first_edge, edge_count;
    uint32_t steps; // that it has as messages
} edge_stage;

typedef struct plan {
    collective_kind kind;
    uint32_t ranks, rings, chunks;
    // All-gather, reduce-scatter: of each position; position p has those from p share_chunks on.
    uint32_t share_chunks;
    uint32_t steps;   // that follow one another, each with its latency; of pieces in a pipeline: in its grain
    uint64_t bytes;   // the size column of nccl-tests: the whole buffer
    plan_edge *edges; // in both grains: each pair (and operation) once, by sender
    uint32_t edge_count;
    // GRAIN_MESSAGES, by step, then edge, then ring; those of one step and operation stand together, where its first edge is.
    plan_message *messages;
    uint32_t message_count;
    plan_wait *more; // by message
    uint32_t more_count;
    edge_stage *stages; // GRAIN_STREAMS; stage_count 0: all is one
    uint32_t stage_count;
    uint32_t switches, operations;
    bool chains_by_edge;
    const uint64_t *parts; // of the request
} plan;

// One algorithm per file. One rank alone sends nothing. Of the rings nothing is kept.
void plan_ring(arena *a, const plan_request *r, plan *out); // all-reduce, barrier, reduce-scatter, all-gather
void plan_send_recv(arena *a, const plan_request *r, plan *out); // one message from position 0 to position 1
void plan_broadcast(arena *a, const plan_request *r, plan *out); // position 0 to all others; reduce: back
// A part for each rank, the first ones a byte larger; or those of the request.
void plan_all_to_all(arena *a, const plan_request *r, plan *out);
void plan_nvls(arena *a, const plan_request *r, plan *out);      // all-reduce, barrier
void plan_nvls_tree(arena *a, const plan_request *r, plan *out); // all-reduce, barrier
void plan_tree(arena *a, const plan_request *r, plan *out);      // all-reduce, barrier, broadcast, reduce
void plan_collnet(arena *a, const plan_request *r, plan *out);   // all-reduce, barrier
void plan_pat(arena *a, const plan_request *r, plan *out);       // all-gather, reduce-scatter
void plan_recursive(arena *a, const plan_request *r,
                    plan *out); // all-reduce, barrier, reduce-scatter, all-gather
void plan_hierarchical(arena *a, const plan_request *r, plan *out); // likewise
// Whichever kind and algorithm are; plan_exists() is true.
void plan_build(arena *a, const plan_request *r, plan *out);
// Whether that algorithm has a plan for the kind over these nodes. What the hardware has is not known here.
bool plan_exists(const plan_request *r);
collective_algorithm plan_usual_algorithm(collective_kind kind); // the one that there always is
// How many messages a plan has in their grain, before it is built.
uint64_t plan_message_count(const plan_request *r);
uint64_t plan_ring_messages(const plan_request *r);
uint64_t plan_broadcast_messages(const plan_request *r);
uint64_t plan_all_to_all_messages(const plan_request *r);

// An all-reduce, or what is one but for its size.
static inline bool collective_sums_for_all(collective_kind kind)
{
    return kind == COLLECTIVE_ALL_REDUCE || kind == COLLECTIVE_BARRIER;
}
// How many pieces a cut makes of so many bytes of one lane.
uint32_t plan_pieces(const plan_cut *cut, uint64_t lane_bytes);
uint32_t plan_chunks(uint32_t lanes, uint32_t pieces); // their product, which must be a number of chunks
uint32_t plan_doublings(uint32_t count);               // of 1 until it is no less: ceil(log2)
uint32_t plan_power_within(uint32_t count);            // the largest power of two that is no more
uint32_t plan_nodes(const ring_set *rings);
uint32_t plan_node_start(const ring_set *rings,
                         uint32_t node);           // a place in each ring; node = nodes: their end
uint32_t plan_largest_node(const ring_set *rings); // its number of members
bool plan_nodes_alike(const ring_set *rings);      // all have equally many members
// The member at a place of the chain that begins at the ring's NIC.
uint32_t plan_chain_at(const ring_set *rings, uint32_t ring, uint32_t node, uint32_t place);

// The messages beside after_received that a message waits for: more[first] .. more[first + count - 1].
uint32_t plan_more_waits(const plan *p, uint32_t message, uint32_t *first);
// Even shares; the first ones get the remainder, a byte each. The shares of all chunks add up to bytes.
uint64_t plan_chunk_bytes(uint64_t bytes, uint32_t chunks, uint32_t chunk);
uint64_t plan_range_bytes(uint64_t bytes, uint32_t chunks, uint32_t first,
                          uint32_t count); // of chunks side by side
// Over all edges but those from switches, which send on what has been counted.
uint64_t plan_payload_bytes(const plan *p);
// Proves a plan of messages, of at most PLAN_CHECK_RANKS_MAX ranks: acyclic, positions and sizes in range, a chain of sends
// per rank and ring (or edge and ring), edges that add up, and every rank ends with what the kind promises, whatever the times
// of the messages (plan_proof.c says how): all-reduce and barrier, the whole sum; reduce, that at position 0;
// reduce-scatter, the sum of its share; all-gather, everyone's share; send-recv, broadcast, the buffer of position 0;
// all-to-all, its part of everyone's buffer.
bool plan_is_valid(arena *scratch, const plan *p);

// R rings without contention (source and range in ring.c): all-reduce T = 2 (n-1) (alpha + S/(nRB)), others half of it.
double ring_time_s(collective_kind kind, uint32_t ranks, uint32_t rings, double bytes, double alpha_s,
                   double rate_Bps);
// Likewise (broadcast.c, all_to_all.c, nvls.c).
double broadcast_time_s(uint32_t ranks, uint32_t rings, double bytes, collective_grain grain, double alpha_s,
                        double rate_Bps);
double all_to_all_time_s(uint32_t ranks, double bytes, double alpha_s, double rate_Bps);
double nvls_time_s(uint32_t ranks, double bytes, double base_s, double rate_Bps, double link_Bps);
