// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/collective/plan_cache.h"
#include "sim/array.h"
#include "sim/map.h"

typedef struct cached_rings {
    ring_set rings;
    uint32_t next; // with the same hash key, or NO_ID
} cached_rings;

ARRAY_OF(cached_plan, cached_plan_array);
ARRAY_OF(cached_rings, cached_rings_array);

struct plan_cache {
    arena *arena;
    collective_grain grain;
    bool keep_starts;
    cached_plan_array plans;
    cached_rings_array rings;
    map *by_key; // mixed key -> the latest plan with it; the others follow by .next
    map *rings_by_key;
};

plan_cache *plan_cache_create(arena *a, collective_grain grain, bool keep_starts)
{
    plan_cache *c = arena_new(a, plan_cache);
    *c = (plan_cache){ .arena = a,
                       .grain = grain,
                       .keep_starts = keep_starts,
                       .by_key = map_create(a),
                       .rings_by_key = map_create(a) };
    return c;
}

// ---- rings ----

static uint64_t rings_key(const ring_set *rings)
{
    uint64_t key = rings->ranks;
    for (size_t i = 0; i < (size_t)rings->ranks * rings->count; i++)
        key = (key ^ rings->orders[i]) * UINT64_C(0x9e3779b97f4a7c15) + (key >> 32);
    return key;
}

static bool same_rings(const ring_set *a, const ring_set *b)
{
    if (a->ranks != b->ranks || a->count != b->count || a->nodes != b->nodes) return false;
    const size_t size = (size_t)a->ranks * a->count * sizeof *a->orders;
    if (memcmp(a->orders, b->orders, size) != 0) return false;
    if (a->nodes > 0 &&
        memcmp(a->node_starts, b->node_starts, ((size_t)a->nodes + 1) * sizeof *a->node_starts) != 0)
        return false;
    if (!a->chains != !b->chains) return false;
    return !a->chains || memcmp(a->chains, b->chains, size) == 0;
}

uint32_t plan_cache_add_rings(plan_cache *c, const ring_set *rings, bool *added)
{
    const uint64_t key = rings_key(rings);
    uint32_t first = NO_ID;
    map_get(c->rings_by_key, key, &first);
    *added = false;
    for (uint32_t i = first; i != NO_ID; i = c->rings.items[i].next)
        if (same_rings(&c->rings.items[i].rings, rings)) return i;
    *added = true;
    *array_push(&c->rings, c->arena) = (cached_rings){ .rings = *rings, .next = first };
    map_set(c->rings_by_key, key, c->rings.count - 1);
    return c->rings.count - 1;
}

const ring_set *plan_cache_rings(const plan_cache *c, uint32_t index)
{
    SIM_ASSERT(index < c->rings.count);
    return &c->rings.items[index].rings;
}

// ---- transfers and who waits for whom ----

// Messages of one step on one edge follow one another in a plan. Returns, per message, its transfer.
static uint32_t *build_transfers(arena *a, cached_plan *c)
{
    const plan_message *messages = c->plan.messages;
    uint32_t *transfer_of = arena_array(a, uint32_t, c->plan.message_count);
    for (uint32_t m = 0; m < c->plan.message_count; m++) {
        bool begins = m == 0 || messages[m].step != messages[m - 1].step ||
                      messages[m].edge != messages[m - 1].edge;
        if (begins) c->first_messages[c->transfer_count++] = m;
        transfer_of[m] = c->transfer_count - 1;
    }
    c->first_messages[c->transfer_count] = c->plan.message_count;
    return transfer_of;
}

static uint32_t add_predecessor(uint32_t *out, uint32_t count, uint32_t transfer)
{
    for (uint32_t i = 0; i < count; i++)
        if (out[i] == transfer) return count;
    out[count] = transfer;
    return count + 1;
}

// The transfers that one waits for, each once, into out, which has room for all waits of its messages. They are few.
static uint32_t find_predecessors(const cached_plan *c, const uint32_t *transfer_of, uint32_t transfer,
                                  uint32_t *out)
{
    const plan *p = &c->plan;
    uint32_t count = 0;
    for (uint32_t m = c->first_messages[transfer]; m < c->first_messages[transfer + 1]; m++) {
        const int32_t before[] = { p->messages[m].after_own, p->messages[m].after_received };
        for (size_t i = 0; i < ARRAY_COUNT(before); i++)
            if (before[i] != PLAN_NONE) count = add_predecessor(out, count, transfer_of[before[i]]);
        uint32_t first;
        const uint32_t more = p->more_count > 0 ? plan_more_waits(p, m, &first) : 0;
        for (uint32_t i = 0; i < more; i++)
            count = add_predecessor(out, count, transfer_of[p->more[first + i].received]);
    }
    SIM_ASSERT(count <= UINT8_MAX);
    return count;
}

// Rows of followers by counting: sizes, then starts, then entries, which move each start to the next row's; last, back.
static void build_followers(arena *a, cached_plan *c)
{
    const uint32_t messages = c->plan.message_count;
    const size_t waits = 2 * (size_t)messages + c->plan.more_count;
    c->first_messages = arena_array(a, uint32_t, (size_t)messages + 1); // as many as there may be at most
    c->waits = arena_array(a, uint8_t, messages);
    c->follower_starts = arena_array(a, uint32_t, (size_t)messages + 1);
    c->followers = arena_array(a, uint32_t, waits);
    arena_mark_t mark = arena_mark(a);
    const uint32_t *transfer_of = build_transfers(a, c);
    uint32_t *before = arena_array(a, uint32_t, waits), *next = before;
    for (uint32_t t = 0; t < c->transfer_count; t++) {
        c->waits[t] = (uint8_t)find_predecessors(c, transfer_of, t, next);
        for (uint32_t i = 0; i < c->waits[t]; i++)
            c->follower_starts[*next++ + 1]++;
    }
    for (uint32_t t = 0; t < c->transfer_count; t++)
        c->follower_starts[t + 1] += c->follower_starts[t];
    next = before;
    for (uint32_t t = 0; t < c->transfer_count; t++)
        for (uint32_t i = 0; i < c->waits[t]; i++)
            c->followers[c->follower_starts[*next++]++] = t;
    for (uint32_t t = c->transfer_count; t > 0; t--)
        c->follower_starts[t] = c->follower_starts[t - 1];
    c->follower_starts[0] = 0;
    arena_release(a, mark);
}

// ---- plans ----

static plan_request request_of(const plan_cache *c, const plan_cache_key *key)
{
    return (plan_request){ .kind = key->kind,
                           .algorithm = key->algorithm,
                           .rings = plan_cache_rings(c, key->rings),
                           .bytes = key->bytes,
                           .grain = c->grain };
}

bool plan_cache_exists(const plan_cache *c, const plan_cache_key *key)
{
    const plan_request request = request_of(c, key);
    return plan_exists(&request);
}

static bool same_key(const plan_cache_key *a, const plan_cache_key *b)
{
    const bool rings = a->kind == COLLECTIVE_SEND_RECV || a->rings == b->rings;
    return a->kind == b->kind && a->algorithm == b->algorithm && rings && a->bytes == b->bytes;
}

uint32_t plan_cache_find(plan_cache *c, const plan_cache_key *key)
{
    const plan_request request = request_of(c, key);
    const uint32_t rings = key->kind == COLLECTIVE_SEND_RECV ? NO_ID : key->rings;
    const uint64_t hash = key->bytes ^ (uint64_t)rings << 36 ^ (uint64_t)key->kind << 60 ^
                          (uint64_t)key->algorithm << 56;
    uint32_t first = NO_ID;
    map_get(c->by_key, hash, &first);
    for (uint32_t i = first; i != NO_ID; i = c->plans.items[i].next)
        if (same_key(&c->plans.items[i].key, key)) return i;
    cached_plan *made = array_push(&c->plans, c->arena);
    made->key = *key;
    made->next = first;
    plan_build(c->arena, &request, &made->plan);
    if (made->plan.message_count > 0) build_followers(c->arena, made);
    map_set(c->by_key, hash, c->plans.count - 1);
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
        state->waits = arena_array(c->arena, uint8_t, p->transfer_count);
        if (c->keep_starts) state->starts = arena_array(c->arena, int64_t, p->transfer_count);
    }
    if (p->transfer_count > 0) memcpy(state->waits, p->waits, p->transfer_count);
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
