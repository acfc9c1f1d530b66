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
//                   its rings.
//     all-to-all    n parts of each rank's buffer, part p for position p; an edge carries the part for its receiver.
//     send-recv     one chunk, one edge: S.
//     NVLS          n shares, streams only: an edge carries S and the sender's share, which is what the sender's link carries.
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
// "ring", "nvls", "send-recv", "pairwise"; ends with NULL.
extern const char *const collective_algorithm_words[];

typedef enum collective_grain { GRAIN_STREAMS, GRAIN_MESSAGES } collective_grain;
extern const char *const collective_grain_words[]; // "streams", "messages"; ends with NULL

enum { PLAN_NONE = -1, PLAN_CHECK_RANKS_MAX = 64 };

typedef struct ring_set { // rings over the positions of a group (ring_order.h says which)
    uint32_t ranks, count;
    const uint32_t *orders; // count x ranks: ring by ring, the positions in the order in which it visits them
} ring_set;

typedef struct plan_message {
    uint32_t from, to; // positions in the group
    uint32_t edge;     // index of the pair from > to in the plan's edges
    uint32_t step;     // from 0
    uint32_t chunk;    // which part of the buffer
    // Messages of earlier steps. The sender's one before this on the same ring, or PLAN_NONE: on each ring a rank sends one
    // message after another.
    int32_t after_own;
    int32_t after_received; // the message the sender must have received, or PLAN_NONE
    uint16_t ring;
    bool reduces; // the receiver adds it to its own
    uint64_t bytes;
} plan_message;

typedef struct plan_edge { // all that one position sends to another
    uint32_t from, to;
    uint32_t rings; // that use this pair
    uint64_t bytes; // in the messages grain the sum of its messages
} plan_edge;

typedef struct plan {
    collective_kind kind;
    uint32_t ranks, rings, chunks;
    uint32_t steps;   // that follow one another, each with its latency; of pieces in a pipeline: in its grain
    uint64_t bytes;   // the size column of nccl-tests: the whole buffer
    plan_edge *edges; // in both grains: each pair once, by sender
    uint32_t edge_count;
    plan_message *messages; // GRAIN_MESSAGES, by step, then edge, then ring; NULL otherwise
    uint32_t message_count;
} plan;

// ring.c. bytes: all-reduce the buffer of one rank; all-gather the gathered buffer; reduce-scatter the buffer before
// scattering. One rank alone sends nothing. Of the rings nothing is kept.
void plan_ring(arena *a, collective_kind kind, const ring_set *rings, uint64_t bytes, collective_grain grain,
               plan *out);
// How many messages that plan has in their grain, before it is built.
uint64_t plan_ring_messages(collective_kind kind, const ring_set *rings);
// send_recv.c. One message from position 0 to position 1.
void plan_send_recv(arena *a, uint64_t bytes, collective_grain grain, plan *out);
// broadcast.c. The buffer of position 0 to all others.
void plan_broadcast(arena *a, const ring_set *rings, uint64_t bytes, collective_grain grain, plan *out);
uint64_t plan_broadcast_messages(const ring_set *rings, uint64_t bytes);
// all_to_all.c. bytes: the buffer of one rank, with a part for each rank, the first ones a byte larger.
void plan_all_to_all(arena *a, uint32_t ranks, uint64_t bytes, collective_grain grain, plan *out);
uint64_t plan_all_to_all_messages(uint32_t ranks);
// nvls.c. An all-reduce in the NVSwitch, in the grain of streams.
void plan_nvls(arena *a, uint32_t ranks, uint64_t bytes, plan *out);
// Whichever kind and algorithm are.
void plan_build(arena *a, collective_kind kind, collective_algorithm algorithm, const ring_set *rings,
                uint64_t bytes, collective_grain grain, plan *out);
collective_algorithm plan_usual_algorithm(collective_kind kind); // the one that there always is
uint64_t plan_message_count(collective_kind kind, const ring_set *rings, uint64_t bytes);

// Even shares; the first ones get the remainder, a byte each. The shares of all chunks add up to bytes.
uint64_t plan_chunk_bytes(uint64_t bytes, uint32_t chunks, uint32_t chunk);
uint64_t plan_payload_bytes(const plan *p); // over all edges
// Proves a plan of messages, of at most PLAN_CHECK_RANKS_MAX ranks: acyclic, positions and sizes in range, a chain of sends
// per rank and ring, edges that add up, and every rank ends with what the kind promises, whatever the times of the messages
// (plan.c says how): all-reduce, the whole sum; reduce-scatter, the sum of its share; all-gather, everyone's share;
// send-recv, broadcast, the buffer of position 0; all-to-all, its part of everyone's buffer.
bool plan_is_valid(arena *scratch, const plan *p);

// R rings without contention (source and range in ring.c): all-reduce T = 2 (n-1) (alpha + S/(nRB)), others half of it.
double ring_time_s(collective_kind kind, uint32_t ranks, uint32_t rings, double bytes, double alpha_s,
                   double rate_Bps);
// Likewise (broadcast.c, all_to_all.c, nvls.c).
double broadcast_time_s(uint32_t ranks, uint32_t rings, double bytes, collective_grain grain, double alpha_s,
                        double rate_Bps);
double all_to_all_time_s(uint32_t ranks, double bytes, double alpha_s, double rate_Bps);
double nvls_time_s(uint32_t ranks, double bytes, double base_s, double rate_Bps, double link_Bps);
