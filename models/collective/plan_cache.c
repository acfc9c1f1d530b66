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
    cached_plan_array plans;
    cached_rings_array rings;
    map *by_key; // mixed key -> the latest plan with it; the others follow by .next
    map *rings_by_key;
};

plan_cache *plan_cache_create(arena *a, collective_grain grain)
{
    plan_cache *c = arena_new(a, plan_cache);
    *c = (plan_cache){ .arena = a, .grain = grain, .by_key = map_create(a), .rings_by_key = map_create(a) };
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

// ---- plans ----

static plan_request request_of(const plan_cache *c, const plan_cache_key *key)
{
    return (plan_request){ .kind = key->kind,
                           .algorithm = key->algorithm,
                           .rings = plan_cache_rings(c, key->rings),
                           .bytes = key->bytes,
                           .grain = c->grain,
                           .cut = key->cut,
                           .parts = key->parts };
}

bool plan_cache_exists(const plan_cache *c, const plan_cache_key *key)
{
    const plan_request request = request_of(c, key);
    return plan_exists(&request);
}

uint64_t plan_cache_messages(const plan_cache *c, const plan_cache_key *key)
{
    const plan_request request = request_of(c, key);
    return plan_message_count(&request);
}

static bool same_key(const plan_cache_key *a, const plan_cache_key *b)
{
    return a->kind == b->kind && a->algorithm == b->algorithm && a->rings == b->rings &&
           a->bytes == b->bytes && a->cut.chunk_bytes == b->cut.chunk_bytes &&
           a->cut.slices == b->cut.slices && a->slots == b->slots && a->apart == b->apart &&
           a->at_once == b->at_once && a->in_turn == b->in_turn && a->parts == b->parts;
}

uint32_t plan_cache_find(plan_cache *c, const plan_cache_key *key)
{
    const plan_request request = request_of(c, key);
    const uint64_t hash = key->bytes ^ (uint64_t)key->rings << 36 ^ (uint64_t)key->kind << 60 ^
                          (uint64_t)key->algorithm << 56;
    uint32_t first = NO_ID;
    map_get(c->by_key, hash, &first);
    for (uint32_t i = first; i != NO_ID; i = c->plans.items[i].next)
        if (same_key(&c->plans.items[i].key, key)) return i;
    cached_plan *made = array_push(&c->plans, c->arena);
    made->key = *key;
    made->next = first;
    plan_build(c->arena, &request, &made->plan);
    if (made->plan.message_count > 0) plan_transfers_build(c->arena, made, request.rings);
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
        state->waits = arena_array(c->arena, uint16_t, p->transfer_count);
        state->nic = arena_array(c->arena, uint8_t, p->transfer_count);
        state->starts = arena_array(c->arena, int64_t, p->transfer_count);
    }
    if (p->transfer_count > 0) memcpy(state->waits, p->waits, p->transfer_count * sizeof *state->waits);
    for (uint32_t i = 0; i < p->transfer_count; i++)
        state->nic[i] = p->first_on_edge[i];
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
