// SPDX-License-Identifier: GPL-3.0-or-later
// The data: links, flows, the list of flows of each link, and the batch of changes that waits for maxmin_resolve().
#include "models/network/maxmin_internal.h"
#include "sim/array.h"

enum { DENSE_PERCENT = 50, DENSE_FLOOR = 1024, LEAST_SIZE_CLASS = 3 };

// ---- room

static void *grow(maxmin *m, void *old, size_t old_count, size_t count, size_t size)
{
    return arena_resize(m->arena, old, old_count * size, count * size, MAXMIN_LINE_BYTES);
}

// A link is dirty once and a flow is touched once per resolve, with an entry for its old level and one for its cap; the
// watch is set anew at the beginning and in rounds in which a flow is let rise, each once. So nothing has to grow during a
// resolve.
static void grow_queue(maxmin *m)
{
    uint64_t wanted = (uint64_t)m->link_capacity + 3 * (uint64_t)m->flow_capacity + 1;
    SIM_ASSERT(wanted < LEVEL_QUEUE_END);
    m->queue.entries = grow(m, m->queue.entries, m->queue.capacity, wanted, sizeof *m->queue.entries);
    m->queue.capacity = (uint32_t)wanted;
}

static void grow_links(maxmin *m, uint64_t wanted)
{
    SIM_ASSERT(wanted <= MAXMIN_FLOW_BIT); // ids share 32 bits with MAXMIN_FLOW_BIT
    size_t old = m->link_capacity;
    m->links = grow(m, m->links, old, wanted, sizeof *m->links);
    m->seeds = grow(m, m->seeds, old, wanted, sizeof *m->seeds);
    m->closing = grow(m, m->closing, old, wanted, sizeof *m->closing);
    m->loose = grow(m, m->loose, old, wanted, sizeof *m->loose);
    m->shares = grow(m, m->shares, old, wanted, sizeof *m->shares);
    m->full_closings = grow(m, m->full_closings, old, wanted, sizeof *m->full_closings);
    m->seen = grow(m, m->seen, old, wanted, sizeof *m->seen);
    m->link_capacity = (uint32_t)wanted;
    grow_queue(m);
}

static void grow_flows(maxmin *m, uint64_t wanted)
{
    SIM_ASSERT(wanted <= MAXMIN_FLOW_BIT && wanted << m->hop_bits <= UINT32_MAX); // incidences have 32 bits
    size_t old = m->flow_capacity;
    m->flows = grow(m, m->flows, old, wanted, m->flow_bytes);
    m->active = grow(m, m->active, old, wanted, sizeof *m->active);
    m->candidates = grow(m, m->candidates, old, wanted, sizeof *m->candidates);
    m->moved = grow(m, m->moved, old, wanted, sizeof *m->moved);
    m->touched = grow(m, m->touched, old, wanted, sizeof *m->touched);
    m->changes = grow(m, m->changes, old, wanted, sizeof *m->changes);
    m->full_levels = grow(m, m->full_levels, old, wanted, sizeof *m->full_levels);
    if (m->factors)
        m->factors = grow(m, m->factors, old << m->hop_bits, wanted << m->hop_bits, sizeof *m->factors);
    m->flow_capacity = (uint32_t)wanted;
    grow_queue(m);
}

maxmin *maxmin_create(arena *a, const maxmin_options *options)
{
    SIM_ASSERT(options->path_usual >= 2 && options->path_usual <= MAXMIN_PATH_USUAL_MAX);
    maxmin *m = arena_new(a, maxmin);
    m->arena = a;
    m->options = *options;
    if (!m->options.dense_percent) m->options.dense_percent = DENSE_PERCENT;
    if (!m->options.dense_floor) m->options.dense_floor = DENSE_FLOOR;
    while ((1u << m->hop_bits) < options->path_usual)
        m->hop_bits++;
    size_t record = sizeof(maxmin_flow) + 2 * options->path_usual * sizeof(uint32_t);
    m->flow_bytes = (record + MAXMIN_LINE_BYTES - 1) / MAXMIN_LINE_BYTES * MAXMIN_LINE_BYTES;
    m->free_flow = MAXMIN_END;
    for (int i = 0; i < MAXMIN_SIZE_CLASSES; i++)
        m->free_lists[i] = UINT32_MAX;
    m->epoch = 1;
    m->prefix = MAXMIN_NONE;
    grow_links(m, options->links ? options->links : 16);
    grow_flows(m, options->flows ? options->flows : 16);
    return m;
}

// ---- lists of incidences

static uint32_t pool_take(maxmin *m, uint32_t size_class)
{
    SIM_ASSERT(size_class < MAXMIN_SIZE_CLASSES);
    uint32_t base = m->free_lists[size_class];
    if (base != UINT32_MAX) {
        m->free_lists[size_class] = m->pool[base];
        return base;
    }
    uint64_t wanted = (uint64_t)m->pool_used + (UINT64_C(1) << size_class);
    SIM_ASSERT(wanted <= UINT32_MAX);
    if (wanted > m->pool_capacity) {
        uint64_t capacity = wanted < UINT32_MAX / 2 ? 2 * wanted : UINT32_MAX;
        m->pool = grow(m, m->pool, m->pool_capacity, capacity, sizeof *m->pool);
        m->pool_capacity = (uint32_t)capacity;
    }
    base = m->pool_used;
    m->pool_used = (uint32_t)wanted;
    return base;
}

static void pool_give(maxmin *m, uint32_t base, uint32_t size_class)
{
    m->pool[base] = m->free_lists[size_class];
    m->free_lists[size_class] = base;
}

// Moves a full list to a place of the next size.
static void list_grow(maxmin *m, maxmin_link *link)
{
    bool few = link->count == MAXMIN_FEW;
    uint32_t size_class = few ? LEAST_SIZE_CLASS : link->list.many.size_class + 1;
    uint32_t base = pool_take(m, size_class);
    memcpy(m->pool + base, maxmin_list(m, link), link->count * sizeof *m->pool);
    if (!few) pool_give(m, link->list.many.base, link->list.many.size_class);
    link->list.many.base = base;
    link->list.many.size_class = size_class;
}

static void list_add(maxmin *m, maxmin_link *link, uint32_t incidence, uint32_t *place)
{
    bool full = link->count < MAXMIN_FEW    ? false
                : link->count == MAXMIN_FEW ? true
                                            : link->count == UINT32_C(1) << link->list.many.size_class;
    if (full) list_grow(m, link);
    *place = link->count;
    if (link->count < MAXMIN_FEW)
        link->list.few[link->count] = incidence;
    else
        m->pool[link->list.many.base + link->count] = incidence;
    link->count++;
}

// The last one takes the free place.
static void list_remove(maxmin *m, maxmin_link *link, uint32_t place)
{
    uint32_t base = link->list.many.base;
    uint32_t size_class = link->list.many.size_class;
    bool many = link->count > MAXMIN_FEW;
    uint32_t *list = many ? m->pool + base : link->list.few;
    uint32_t last = list[--link->count];
    SIM_ASSERT(place <= link->count);
    if (place < link->count) {
        list[place] = last;
        maxmin_flow *flow = maxmin_flow_at(m, last >> m->hop_bits);
        maxmin_places(m, flow)[last & ((1u << m->hop_bits) - 1)] = place;
    }
    if (many && link->count == MAXMIN_FEW) {
        memcpy(link->list.few, list, sizeof link->list.few);
        pool_give(m, base, size_class);
    }
}

// ---- the batch

static void link_seed(maxmin *m, uint32_t id, uint32_t how)
{
    maxmin_link *link = &m->links[id];
    if (link->mark >> 2 != m->epoch) {
        link->mark = m->epoch << 2;
        m->seeds[m->seed_count++] = id;
    }
    link->mark |= how;
}

uint32_t maxmin_add_link(maxmin *m, uint64_t capacity)
{
    SIM_ASSERT(capacity <= INT64_MAX);
    if (m->link_count == m->link_capacity) grow_links(m, 2 * (uint64_t)m->link_capacity);
    m->links[m->link_count] =
        (maxmin_link){ .capacity = capacity, .closing = MAXMIN_NONE, .remaining = capacity };
    return m->link_count++;
}

void maxmin_set_capacity(maxmin *m, uint32_t id, uint64_t capacity)
{
    SIM_ASSERT(id < m->link_count && capacity <= INT64_MAX);
    maxmin_link *link = &m->links[id];
    m->prefix = maxmin_min(m->prefix, link->closing);
    link->remaining += capacity - link->capacity;
    link->capacity = capacity;
    link_seed(m, id, MAXMIN_BOUNDED);
}

static uint32_t record_take(maxmin *m)
{
    uint32_t id = m->free_flow;
    if (id != MAXMIN_END) {
        m->free_flow = maxmin_flow_at(m, id)->active;
        return id;
    }
    if (m->flow_high == m->flow_capacity) grow_flows(m, 2 * (uint64_t)m->flow_capacity);
    return m->flow_high++;
}

static void record_give(maxmin *m, uint32_t id)
{
    maxmin_flow *record = maxmin_flow_at(m, id);
    record->weight = 0;
    record->active = m->free_flow;
    m->free_flow = id;
}

// Whether a flow has a factor other than 1: most networks never have any, and then there is no room for them.
static bool needs_factors(maxmin *m, const maxmin_demand *demand)
{
    bool needs = false;
    for (uint32_t h = 0; demand->factors && h < demand->hops; h++) {
        SIM_ASSERT(demand->factors[h] >= 1);
        needs |= demand->factors[h] != 1;
    }
    if (needs && !m->factors)
        m->factors = grow(m, NULL, 0, (size_t)m->flow_capacity << m->hop_bits, sizeof *m->factors);
    return needs;
}

// Puts the flow on its next link.
static void flow_attach(maxmin *m, const maxmin_flow *flow, uint32_t id, uint32_t part, uint32_t link_id)
{
    SIM_ASSERT(link_id < m->link_count);
    maxmin_flow *record = maxmin_flow_at(m, part);
    maxmin_link *link = &m->links[link_id];
    uint32_t incidence = part << m->hop_bits | record->hops;
    uint64_t load = maxmin_load_per_level(m, flow, incidence);
    SIM_ASSERT(load <= INT64_MAX && link->weight <= INT64_MAX - load);
    // If the path named a link twice, the newest entry of its list would be of this flow.
    SIM_ASSERT(!link->count || maxmin_flow_of(m, maxmin_list(m, link)[link->count - 1]) != id);
    link->weight += load;
    list_add(m, link, incidence, &maxmin_places(m, record)[record->hops]);
    link_seed(m, link_id, MAXMIN_BOUNDED);
    record->path[record->hops++] = link_id;
}

// Lays the path over as many records as it takes; the last place of a full one names the next.
static void flow_set_path(maxmin *m, uint32_t id, const maxmin_demand *demand)
{
    uint32_t part = id;
    bool has_factors = needs_factors(m, demand);
    maxmin_flow_at(m, id)->has_factors = has_factors;
    for (uint32_t h = 0; h < demand->hops; h++) {
        uint32_t used = maxmin_flow_at(m, part)->hops;
        if (used + 1 == m->options.path_usual && h + 1 < demand->hops) {
            uint32_t next = record_take(m); // may move all records
            *maxmin_flow_at(m, next) = (maxmin_flow){ .level = MAXMIN_NONE, .active = id, .is_part = true };
            maxmin_flow_at(m, part)->has_more = true;
            maxmin_flow_at(m, part)->path[used] = next;
            part = next;
            used = 0;
        }
        if (has_factors) m->factors[part << m->hop_bits | used] = demand->factors[h];
        flow_attach(m, maxmin_flow_at(m, id), id, part, demand->links[h]);
    }
    m->incidences += demand->hops;
}

static void arrived_push(maxmin *m, uint32_t id)
{
    if (m->arrived_count == m->arrived_capacity) {
        size_t wanted = m->arrived_capacity ? 2 * (size_t)m->arrived_capacity : 64;
        SIM_ASSERT(wanted <= UINT32_MAX);
        m->arrived = grow(m, m->arrived, m->arrived_capacity, wanted, sizeof *m->arrived);
        m->arrived_capacity = (uint32_t)wanted;
    }
    m->arrived[m->arrived_count++] = id;
}

uint32_t maxmin_arrive(maxmin *m, const maxmin_demand *demand)
{
    SIM_ASSERT(demand->weight >= 1);
    SIM_ASSERT(demand->cap == MAXMIN_NONE || demand->cap <= INT64_MAX);
    SIM_ASSERT(demand->hops > 0 || demand->cap != MAXMIN_NONE); // else nothing bounds its rate
    for (uint32_t h = 0; h < demand->hops; h++)
        __builtin_prefetch(&m->links[demand->links[h]], 1);
    uint32_t id = record_take(m);
    *maxmin_flow_at(m, id) =
        (maxmin_flow){ .level = MAXMIN_NONE,
                       .cap_level = demand->cap == MAXMIN_NONE ? MAXMIN_NONE : demand->cap / demand->weight,
                       .weight = demand->weight,
                       .active = m->flow_count };
    m->active[m->flow_count++] = id;
    arrived_push(m, id);
    flow_set_path(m, id, demand);
    return id;
}

static maxmin_flow *flow_get(const maxmin *m, uint32_t id)
{
    SIM_ASSERT(id < m->flow_high);
    maxmin_flow *flow = maxmin_flow_at(m, id);
    SIM_ASSERT(flow->weight > 0); // a flow that has departed is our bug
    return flow;
}

// Takes the flow off the links of one of its records.
static void part_detach(maxmin *m, const maxmin_flow *flow, uint32_t part)
{
    maxmin_flow *record = maxmin_flow_at(m, part);
    for (uint32_t h = 0; h < record->hops; h++)
        __builtin_prefetch(&m->links[record->path[h]], 1);
    for (uint32_t h = 0; h < record->hops; h++) {
        maxmin_link *link = &m->links[record->path[h]];
        uint64_t load = maxmin_load_per_level(m, flow, part << m->hop_bits | h);
        link->weight -= load;
        if (flow->level != MAXMIN_NONE) link->remaining += load * flow->level;
        list_remove(m, link, maxmin_places(m, record)[h]);
        link_seed(m, record->path[h], MAXMIN_SEED);
    }
    m->incidences -= record->hops;
}

void maxmin_depart(maxmin *m, uint32_t id)
{
    maxmin_flow *flow = flow_get(m, id);
    m->prefix = maxmin_min(m->prefix, flow->level);
    uint32_t last = m->active[--m->flow_count];
    m->active[flow->active] = last;
    maxmin_flow_at(m, last)->active = flow->active;
    for (uint32_t part = id; part != MAXMIN_END; part = maxmin_next_part(m, part))
        part_detach(m, flow, part);
    for (uint32_t part = id, next; part != MAXMIN_END; part = next) {
        next = maxmin_next_part(m, part);
        record_give(m, part);
    }
}

// ---- questions

uint64_t maxmin_level(const maxmin *m, uint32_t id)
{
    const maxmin_flow *flow = flow_get(m, id);
    SIM_ASSERT(flow->level != MAXMIN_NONE); // it has arrived, but maxmin_resolve() has not been called since
    return flow->level;
}

uint64_t maxmin_rate(const maxmin *m, uint32_t id)
{
    return maxmin_level(m, id) * flow_get(m, id)->weight;
}

uint64_t maxmin_closing_level(const maxmin *m, uint32_t id)
{
    SIM_ASSERT(id < m->link_count);
    return m->links[id].closing;
}

uint64_t maxmin_load(const maxmin *m, uint32_t id)
{
    uint64_t load = 0;
    for (uint32_t i = 0; i < maxmin_flows_on(m, id); i++) {
        uint32_t incidence = maxmin_list(m, &m->links[id])[i];
        uint32_t flow = maxmin_flow_of(m, incidence);
        load += maxmin_load_per_level(m, maxmin_flow_at(m, flow), incidence) * maxmin_level(m, flow);
    }
    return load;
}

uint64_t maxmin_capacity(const maxmin *m, uint32_t id)
{
    SIM_ASSERT(id < m->link_count);
    return m->links[id].capacity;
}

uint32_t maxmin_link_count(const maxmin *m)
{
    return m->link_count;
}

uint32_t maxmin_flow_count(const maxmin *m)
{
    return m->flow_count;
}

uint32_t maxmin_flows_on(const maxmin *m, uint32_t id)
{
    SIM_ASSERT(id < m->link_count);
    return m->links[id].count;
}

uint32_t maxmin_flow_on(const maxmin *m, uint32_t id, uint32_t index)
{
    SIM_ASSERT(id < m->link_count && index < m->links[id].count);
    return maxmin_flow_of(m, maxmin_list(m, &m->links[id])[index]);
}

maxmin_counters maxmin_counters_of(const maxmin *m)
{
    maxmin_counters counters = m->counters;
    counters.queue_pushes = m->queue.pushes;
    counters.queue_moves = m->queue.moves;
    return counters;
}

uint64_t maxmin_least_share(const uint64_t *capacities, const uint32_t *flows, uint32_t links)
{
    uint64_t least = MAXMIN_NONE;
    for (uint32_t l = 0; l < links; l++)
        if (flows[l] > 0) least = maxmin_min(least, capacities[l] / flows[l]);
    return least;
}

unsigned __int128 maxmin_phase_end(unsigned __int128 work, uint64_t share)
{
    SIM_ASSERT(share > 0 && share != MAXMIN_NONE);
    return work / share + (work % share != 0);
}
