// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/collective/plan_cache.h"
#include "sim/array.h"
#include "sim/map.h"

ARRAY_OF(cached_plan, cached_plan_array);

struct plan_cache {
    arena *arena;
    collective_grain grain;
    bool keep_starts;
    cached_plan_array plans;
    map *by_key; // mixed key -> the latest plan with it; the others follow by .next
};

plan_cache *plan_cache_create(arena *a, collective_grain grain, bool keep_starts)
{
    plan_cache *c = arena_new(a, plan_cache);
    *c = (plan_cache){ .arena = a, .grain = grain, .keep_starts = keep_starts, .by_key = map_create(a) };
    return c;
}

static void add_follower(cached_plan *c, int32_t before, uint32_t message)
{
    if (before != PLAN_NONE) c->followers[c->follower_starts[before]++] = message;
}

// Rows of followers by counting: sizes, then starts, then entries, which move each start to the next row's; last, back.
static void build_followers(arena *a, cached_plan *c)
{
    uint32_t count = c->plan.message_count, waiting = 0;
    c->waits = arena_array(a, uint8_t, count);
    c->follower_starts = arena_array(a, uint32_t, (size_t)count + 1);
    for (uint32_t m = 0; m < count; m++) {
        const plan_message *message = &c->plan.messages[m];
        const int32_t before[] = { message->after_own, message->after_received };
        for (size_t i = 0; i < ARRAY_COUNT(before); i++) {
            if (before[i] == PLAN_NONE) continue;
            c->waits[m]++;
            c->follower_starts[before[i] + 1]++;
            waiting++;
        }
    }
    for (uint32_t m = 0; m < count; m++)
        c->follower_starts[m + 1] += c->follower_starts[m];
    c->followers = arena_array(a, uint32_t, waiting);
    for (uint32_t m = 0; m < count; m++) {
        add_follower(c, c->plan.messages[m].after_own, m);
        add_follower(c, c->plan.messages[m].after_received, m);
    }
    for (uint32_t m = count; m > 0; m--)
        c->follower_starts[m] = c->follower_starts[m - 1];
    c->follower_starts[0] = 0;
}

uint32_t plan_cache_find(plan_cache *c, collective_kind kind, uint32_t ranks, uint64_t bytes)
{
    uint64_t key = bytes ^ (uint64_t)ranks << 36 ^ (uint64_t)kind << 60;
    uint32_t first = UINT32_MAX;
    map_get(c->by_key, key, &first);
    for (uint32_t i = first; i != UINT32_MAX; i = c->plans.items[i].next) {
        const plan *p = &c->plans.items[i].plan;
        if (p->kind == kind && p->ranks == ranks && p->bytes == bytes) return i;
    }
    cached_plan *made = array_push(&c->plans, c->arena);
    made->next = first;
    if (kind == COLLECTIVE_SEND_RECV)
        plan_send_recv(c->arena, bytes, c->grain, &made->plan);
    else
        plan_ring(c->arena, kind, ranks, bytes, c->grain, &made->plan);
    SIM_ASSERT(made->plan.ranks == ranks);
    if (made->plan.message_count > 0) build_followers(c->arena, made);
    map_set(c->by_key, key, c->plans.count - 1);
    return c->plans.count - 1;
}

cached_plan *plan_cache_at(plan_cache *c, uint32_t index)
{
    SIM_ASSERT(index < c->plans.count);
    return &c->plans.items[index];
}

plan_state *plan_cache_lend(plan_cache *c, uint32_t index)
{
    cached_plan *p = plan_cache_at(c, index);
    plan_state *state = p->free_states;
    if (state) {
        p->free_states = state->next;
    } else {
        state = arena_new(c->arena, plan_state);
        state->waits = arena_array(c->arena, uint8_t, p->plan.message_count);
        if (c->keep_starts) state->starts = arena_array(c->arena, int64_t, p->plan.message_count);
    }
    if (p->plan.message_count > 0) memcpy(state->waits, p->waits, p->plan.message_count);
    return state;
}

void plan_cache_return(plan_cache *c, uint32_t index, plan_state *state)
{
    cached_plan *p = plan_cache_at(c, index);
    state->next = p->free_states;
    p->free_states = state;
}

uint32_t plan_cache_count(const plan_cache *c)
{
    return c->plans.count;
}
