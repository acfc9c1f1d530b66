// SPDX-License-Identifier: GPL-3.0-or-later
// models/collective/plan_cache.h: plans by (kind, algorithm, rings, bytes), each built once, with what playing one message
// by message needs: which messages travel together, who waits for whom, and blocks of waiting counts that are lent to
// instances and come back. One grain per cache.
//
// Messages of one step on one edge are one transfer, whatever their rings. Rings that share a pair of neighbours share its
// link, each step of all of them at the same time, and pay the latency of that step once. As transfers of their own they
// would each have the whole link on a network without contention, and m rings would be m times too fast there.
#pragma once
#include "models/collective/plan.h"
#include "models/ids.h"

// What one instance keeps per transfer while it is played.
typedef struct plan_state {
    uint8_t *waits;          // per transfer: predecessors still missing
    int64_t *starts;         // per transfer: time of its start; only if the cache keeps starts
    struct plan_state *next; // of the free ones
} plan_state;

typedef struct plan_cache_key {
    collective_kind kind;
    collective_algorithm algorithm;
    uint32_t rings; // as plan_cache_add_rings() numbered them
    uint64_t bytes;
} plan_cache_key;

typedef struct cached_plan {
    plan plan;
    plan_cache_key key;
    uint32_t next;             // with the same hash key, or NO_ID
    uint32_t transfer_count;   // 0 in the streams grain
    uint32_t *first_messages;  // transfer_count + 1: where the messages of a transfer begin
    uint8_t *waits;            // per transfer: its number of predecessors
    uint32_t *follower_starts; // transfer_count + 1 entries into followers
    uint32_t *followers;       // the transfers that wait for a transfer
    plan_state *free_states;
} cached_plan;

typedef struct plan_cache plan_cache;
plan_cache *plan_cache_create(arena *a, collective_grain grain, bool keep_starts);
// Equal rings get the same number; others are kept, not copied, and *added is true.
uint32_t plan_cache_add_rings(plan_cache *c, const ring_set *rings, bool *added);
const ring_set *plan_cache_rings(const plan_cache *c,
                                 uint32_t index); // valid until the next plan_cache_add_rings()
bool plan_cache_exists(const plan_cache *c, const plan_cache_key *key); // plan_exists()
// Builds a missing one. Send-recv is the same for all rings of two ranks.
uint32_t plan_cache_find(plan_cache *c, const plan_cache_key *key);
cached_plan *plan_cache_at(plan_cache *c, uint32_t index);  // valid until the next plan_cache_find()
plan_state *plan_cache_lend(plan_cache *c, uint32_t index); // waits at their beginning
void plan_cache_return(plan_cache *c, uint32_t index, plan_state *state);
uint32_t plan_cache_count(const plan_cache *c);

static inline const plan_message *cached_first_message(const cached_plan *c, uint32_t transfer)
{
    return &c->plan.messages[c->first_messages[transfer]];
}

static inline uint64_t cached_transfer_bytes(const cached_plan *c, uint32_t transfer)
{
    uint64_t bytes = 0;
    for (uint32_t m = c->first_messages[transfer]; m < c->first_messages[transfer + 1]; m++)
        bytes += c->plan.messages[m].bytes;
    return bytes;
}
