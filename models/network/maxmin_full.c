// SPDX-License-Identifier: GPL-3.0-or-later
// The solve from scratch: the rounds of maxmin.h, one after another. It is the oracle of the incremental solve, and what
// remains when so much changes that replaying costs more than starting again. Shares only rise, so a queue of links by a
// share that may be out of date works: a link that comes out too early goes back in.
// Cost: the incidences, plus the queue's work on links and capped flows.
#include "models/network/maxmin_internal.h"

// Adds a flow's weight to the links of one of its records.
static inline void fill_add(maxmin *m, const maxmin_flow *flow, uint32_t part)
{
    const maxmin_flow *record = maxmin_flow_at(m, part);
    m->full_levels[part] = MAXMIN_NONE;
    for (uint32_t h = 0; h < record->hops; h++) {
        uint32_t id = record->path[h];
        maxmin_share *share = &m->shares[id];
        if (!share->open) {
            share->remaining = m->links[id].capacity;
            m->full_closings[id] = MAXMIN_NONE;
            m->seen[m->seen_count++] = id;
        }
        share->open += maxmin_load_per_level(m, flow, part << m->hop_bits | h);
    }
    m->counters.incidences += record->hops;
}

static void fill_begin(maxmin *m, const uint32_t *flows, uint32_t count)
{
    level_queue_clear(&m->queue);
    m->seen_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const maxmin_flow *flow = maxmin_flow_at(m, flows[i]);
        if (flow->cap_level != MAXMIN_NONE)
            level_queue_push(&m->queue, flow->cap_level, MAXMIN_FLOW_BIT | flows[i]);
        for (uint32_t part = flows[i]; part != MAXMIN_END; part = maxmin_next_part(m, part))
            fill_add(m, flow, part);
    }
    for (uint32_t i = 0; i < m->seen_count; i++) {
        const maxmin_share *share = &m->shares[m->seen[i]];
        level_queue_push(&m->queue, share->remaining / share->open, m->seen[i]);
    }
}

// All records of a flow get its level, so that the record in a link's list says whether its flow is frozen.
static inline void fill_freeze(maxmin *m, uint32_t id, uint64_t level)
{
    const maxmin_flow *flow = maxmin_flow_at(m, id);
    for (uint32_t part = id; part != MAXMIN_END; part = maxmin_next_part(m, part)) {
        const maxmin_flow *record = maxmin_flow_at(m, part);
        m->full_levels[part] = level;
        for (uint32_t h = 0; h < record->hops; h++) {
            maxmin_share *share = &m->shares[record->path[h]];
            uint64_t load = maxmin_load_per_level(m, flow, part << m->hop_bits | h);
            SIM_ASSERT(load * level <= share->remaining && load <= share->open);
            share->remaining -= load * level;
            share->open -= load;
        }
    }
}

static void fill_round(maxmin *m, uint32_t entry)
{
    const uint64_t level = m->queue.level;
    uint32_t closing_count = 0, candidate_count = 0;
    for (uint32_t next; entry != LEVEL_QUEUE_END; entry = next) {
        next = m->queue.entries[entry].next;
        uint32_t item = m->queue.entries[entry].item;
        if (item & MAXMIN_FLOW_BIT) {
            m->candidates[candidate_count++] = item & ~MAXMIN_FLOW_BIT;
            continue;
        }
        const maxmin_share *share = &m->shares[item];
        uint64_t now = share->open > 0 ? share->remaining / share->open : MAXMIN_NONE;
        SIM_ASSERT(now >= level);
        if (now == level) {
            m->closing[closing_count++] = item;
        } else {
            m->counters.stale_pops++;
            if (share->open > 0) level_queue_put(&m->queue, entry, now);
        }
    }
    for (uint32_t i = 0; i < closing_count; i++) {
        const maxmin_link *link = &m->links[m->closing[i]];
        const uint32_t *list = maxmin_list(m, link);
        m->full_closings[m->closing[i]] = level;
        for (uint32_t j = 0; j < link->count; j++)
            if (m->full_levels[list[j] >> m->hop_bits] == MAXMIN_NONE)
                fill_freeze(m, maxmin_flow_of(m, list[j]), level);
        m->counters.incidences += link->count;
    }
    for (uint32_t i = 0; i < candidate_count; i++)
        if (m->full_levels[m->candidates[i]] == MAXMIN_NONE) fill_freeze(m, m->candidates[i], level);
}

void maxmin_fill(maxmin *m, const uint32_t *flows, uint32_t count)
{
    fill_begin(m, flows, count);
    for (uint32_t entry; (entry = level_queue_take(&m->queue)) != LEVEL_QUEUE_END;)
        fill_round(m, entry);
}

void maxmin_solve_all(maxmin *m)
{
    m->counters.full_solves++;
    for (uint32_t i = 0; i < m->seed_count; i++) { // also where no flow is left
        maxmin_link *link = &m->links[m->seeds[i]];
        link->closing = MAXMIN_NONE;
        link->remaining = link->capacity;
    }
    maxmin_fill(m, m->active, m->flow_count);
    for (uint32_t i = 0; i < m->seen_count; i++) {
        maxmin_link *link = &m->links[m->seen[i]];
        link->closing = m->full_closings[m->seen[i]];
        link->remaining = m->shares[m->seen[i]].remaining;
    }
    for (uint32_t i = 0; i < m->flow_count; i++) {
        uint32_t id = m->active[i];
        maxmin_flow *flow = maxmin_flow_at(m, id);
        uint64_t level = m->full_levels[id];
        SIM_ASSERT(level != MAXMIN_NONE);
        if (level == flow->level) continue;
        flow->level = level;
        m->changes[m->change_count++] = (maxmin_change){ .rate = level * flow->weight, .flow = id };
    }
}
