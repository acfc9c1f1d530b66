// SPDX-License-Identifier: GPL-3.0-or-later
// models/collective/plan_cache.h: plans by (kind, algorithm, rings, bytes), each built once, with what playing one
// message by message needs: which messages travel together, who waits for whom, and blocks of waiting counts that are
// lent to instances and come back. One grain per cache.
//
// Messages of one step on one edge are one transfer, whatever their rings, where all rings go in step. Rings over nodes
// do not: each is at its crossing when others are inside, and their messages are transfers apart. What a switch sums in one
// act is one transfer over all edges of the act, which move at one pace.
#pragma once
#include "models/collective/plan.h"
#include "models/ids.h"

// For what of a transfer another waits: that its sender has copied it; that it is received; that what it passes on
// has made room.
typedef enum follower_kind { FOLLOWS_OWN, FOLLOWS_DATA, FOLLOWS_SLOT } follower_kind;
enum { NIC_READY = 2 };

// What one instance keeps per transfer while it is played.
typedef struct plan_state {
    uint16_t *waits;         // per transfer: predecessors still missing
    uint8_t *nic;            // per transfer: NIC_READY once it is copied and the one before it has left
    int64_t *starts;         // per transfer: time of its start
    struct plan_state *next; // of the free ones
} plan_state;

typedef struct plan_cache_key {
    collective_kind kind;
    collective_algorithm algorithm;
    uint32_t rings; // as plan_cache_add_rings() numbered them
    uint64_t bytes;
    plan_cut cut;
    uint32_t slots; // transfers of an edge in flight, between nodes twice as many; 0: any number
    // Each message is a transfer of its own, and waits for the one before on its edge and ring only.
    bool apart;
    bool at_once; // what a rank sends to one does not wait for what it sends to another
    // A rank ends a step, sending and receiving, before it begins the next: a rendezvous in each.
    bool in_turn;
    const uint64_t *parts; // ALL_TO_ALL_UNEQUAL: kept, not copied; one address is one matrix
} plan_cache_key;

// What a transfer carries over one edge.
typedef struct transfer_edge {
    uint32_t edge;
    uint64_t bytes;
} transfer_edge;

typedef struct cached_plan {
    plan plan;
    plan_cache_key key;
    uint32_t next;            // with the same hash key, or NO_ID
    uint32_t transfer_count;  // 0 in the streams grain
    uint32_t *first_messages; // transfer_count + 1: where the messages of a transfer begin
    uint32_t *first_edges;    // transfer_count + 1: where its edges begin
    transfer_edge *edges;
    uint32_t most_edges;       // of a transfer
    uint16_t *waits;           // per transfer: its number of predecessors
    uint32_t *follower_starts; // transfer_count + 1 entries into followers
    uint32_t *followers;       // the transfers that wait for a transfer
    uint8_t *follower_kinds;   // follower_kind: for what
    uint32_t *next_on_edge;    // per transfer: the one behind it (apart: of its ring), or NO_ID
    bool *first_on_edge;
    bool *leaves; // per edge: from node to node
    plan_state *free_states;
} cached_plan;

// plan_transfers.c: the rest of a plan of messages that has its plan and key; rings: its own.
void plan_transfers_build(arena *a, cached_plan *c, const ring_set *rings);

typedef struct plan_cache plan_cache;
plan_cache *plan_cache_create(arena *a, collective_grain grain);
// Equal rings get the same number; others are kept, not copied, and *added is true.
uint32_t plan_cache_add_rings(plan_cache *c, const ring_set *rings, bool *added);
const ring_set *plan_cache_rings(const plan_cache *c,
                                 uint32_t index); // valid until the next plan_cache_add_rings()
bool plan_cache_exists(const plan_cache *c, const plan_cache_key *key); // plan_exists()
uint64_t plan_cache_messages(const plan_cache *c,
                             const plan_cache_key *key); // of a plan that need not be there yet
// Builds a missing one.
uint32_t plan_cache_find(plan_cache *c, const plan_cache_key *key);
cached_plan *plan_cache_at(plan_cache *c, uint32_t index);  // valid until the next plan_cache_find()
plan_state *plan_cache_lend(plan_cache *c, uint32_t index); // waits at their beginning
void plan_cache_return(plan_cache *c, uint32_t index, plan_state *state);
uint32_t plan_cache_count(const plan_cache *c);

static inline const plan_message *cached_first_message(const cached_plan *c, uint32_t transfer)
{
    return &c->plan.messages[c->first_messages[transfer]];
}

static inline uint32_t cached_edge_count(const cached_plan *c, uint32_t transfer)
{
    return c->first_edges[transfer + 1] - c->first_edges[transfer];
}

static inline uint64_t cached_transfer_payload(const cached_plan *c, uint32_t transfer)
{
    uint64_t bytes = 0;
    for (uint32_t e = c->first_edges[transfer]; e < c->first_edges[transfer + 1]; e++)
        bytes += c->edges[e].bytes;
    return bytes;
}
