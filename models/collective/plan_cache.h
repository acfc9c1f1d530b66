// SPDX-License-Identifier: GPL-3.0-or-later
// models/collective/plan_cache.h: plans by (kind, ranks, bytes), each built once, with what playing one message by message
// needs: who waits for whom, and blocks of waiting counts that are lent to instances and come back. One grain per cache.
#pragma once
#include "models/collective/plan.h"

// What one instance keeps per message while it is played.
typedef struct plan_state {
    uint8_t *waits;          // per message: predecessors still missing
    int64_t *starts;         // per message: time of its start; only if the cache keeps starts
    struct plan_state *next; // of the free ones
} plan_state;

typedef struct cached_plan {
    plan plan;
    uint32_t next;             // with the same hash key, or UINT32_MAX
    uint8_t *waits;            // per message: its number of predecessors
    uint32_t *follower_starts; // message_count + 1 entries into followers
    uint32_t *followers;       // the messages that wait for a message
    plan_state *free_states;
} cached_plan;

typedef struct plan_cache plan_cache;
plan_cache *plan_cache_create(arena *a, collective_grain grain, bool keep_starts);
uint32_t plan_cache_find(plan_cache *c, collective_kind kind, uint32_t ranks,
                         uint64_t bytes);                   // builds a missing one
cached_plan *plan_cache_at(plan_cache *c, uint32_t index);  // valid until the next plan_cache_find()
plan_state *plan_cache_lend(plan_cache *c, uint32_t index); // waits at their beginning
void plan_cache_return(plan_cache *c, uint32_t index, plan_state *state);
uint32_t plan_cache_count(const plan_cache *c);
