// SPDX-License-Identifier: GPL-3.0-or-later
// models/network/network_internal.h: what the network engines share; nobody else includes it. network.c owns the requests
// in flight (slots with generations, recycled), their edges and the counters; an engine decides when one is delivered.
#pragma once
#include "models/network/network.h"
#include "sim/array.h"

typedef struct transfer {
    uint32_t generation;        // odd while in flight
    uint32_t next_free;         // slot; only while free
    uint32_t edges, edge_count; // edges: where its block begins in the pool
    uint32_t prepared1; // 1 + the number of the prepared request whose edges these are; 0: they are its own
    uint32_t delay_crossings, weight, queue_pairs, twin, multiplicity;
    sim_time latency_ps;
    uint64_t rate_cap_mBps, tag;
    uint64_t bytes; // of all edges, x multiplicity
    uint16_t client;
} transfer;

typedef struct network_client {
    network_delivered *delivered;
    void *owner;
} network_client;

ARRAY_OF(transfer, transfer_array);
ARRAY_OF(network_edge, network_edge_array);
ARRAY_OF(network_client, network_client_array);

// The table of functions behind the interface; one constant per engine.
typedef struct network_ops {
    network_engine engine;
    void (*start)(network *n, uint32_t slot);  // schedules its delivery
    void (*cancel)(network *n, uint32_t slot); // forgets it
    void (*verify)(const network *n);          // the engine's own state; asserts
    void (*carry)(network *n, uint32_t slot,
                  uint64_t times); // its bytes, so many times, on the links; then it is free
    network *(*create_like)(arena *a, sim *s, const network *n);
    // Those that an engine without them leaves NULL:
    void (*set_link)(network *n, link_id l, double ratio);
    uint64_t (*link_bytes)(const network *n,
                           link_id l);   // where more than link_bytes[] and even spreading is known
    bool (*is_steady)(const network *n); // NULL: always
    // Whether a request in flight stands still; then the first link or bundle of its path that is down, or NO_ID.
    bool (*stuck)(const network *n, uint32_t slot, uint32_t *down);
} network_ops;

enum { EDGE_BLOCK_SIZES = 32 };

typedef struct link_losses { // of connections that cross a link
    uint64_t resent_bytes;   // full packets but for a part of one
    uint64_t last_bytes;     // of packets that ended messages, one for each timeout
    uint64_t timeouts;
} link_losses;

struct network {
    const network_ops *ops;
    arena *arena;
    sim *sim;
    const topology *topology;
    network_client_array clients;
    transfer_array transfers;
    uint32_t free_transfer;  // slot, or NO_ID
    transfer_array prepared; // what a slot begins as
    network_edge_array edges;
    uint32_t free_edges[EDGE_BLOCK_SIZES]; // per power of two: a block of so many edges, or NO_ID
    // Of links, then of bundles; counted by the engine, at the latest when it finishes a request.
    uint64_t *link_bytes;
    link_losses *losses; // of links; NULL: no link loses packets
    network_counters counters;
    void *state; // the engine's
};

network *network_create(arena *a, sim *s, const topology *t, const network_ops *ops, void *state);
// The engine has delivered a request: counts its bytes, recycles the slot and tells the client.
void network_finish(network *n, uint32_t slot);
static inline const network_edge *network_edges(const network *n, const transfer *t)
{
    return &n->edges.items[t->edges];
}
