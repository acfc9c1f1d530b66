// SPDX-License-Identifier: GPL-3.0-or-later
// The incremental solve: dynamic water-filling. The rounds of the solve from scratch are replayed in increasing level, but
// only for links that are dirty; clean links and untouched flows follow their old trajectory.
//
// Prefix. For a departed flow take its old level, for an arrived one the least floor(C_l / W_l) over its path (W_l: the
// weight of all flows of l), for a link with a new capacity the lesser of its old closing level and floor(C_l / W_l). Below
// the least of these, t0, nothing differs between the old and the new run but the load of links by the changed flows, and
// no such link can close there in either. So a flow with an old level below t0 keeps it, even where an arrived flow freezes
// at its cap below t0.
//
// Closing levels. Let sigma_l be the level of the round in which link l closes, none if it never does. Then a flow's level is
// the least of its cap level and of the sigma_l of its path, and sigma_l follows from the flows of l with a lower level.
//
// Theorem. After all rounds of level <= s: (i) a dirty link has the remaining capacity and the open weight of the solve from
// scratch after its round s; (ii) a clean link has the same frozen flows at the same levels as in the old solution.
// Proof, by induction over s. A clean link matters only when one of its flows leaves its old trajectory. It does so by
// freezing at s below its old level, for a dirty link closed, or by not freezing at its old level s, for every link that
// closed there is dirty and did not close. Either way it is in moved[] in that very round, and its clean links are
// reconstructed as they are after round s from the new levels of touched flows and the old levels of the others, which
// are on their old trajectory by (ii). Such a link had not been due to close by s: in the first case the flow's old level,
// the least sigma of its path, is above s; in the second it is s, and a clean link closing at s would have held the flow.
// A link becomes dirty at most once, so the replay ends, with the levels of the solve from scratch to the bit.
//
// Loose links. Most links that a changed flow crosses never fill up, before or after; to follow them by all their flows
// would be most of the work. A link that closed nowhere in the old solution is watched from afar instead, by two numbers:
//     open_l   the weight of its flows that rise above their old level     W_l: of all its flows
//     rem_l    C_l less the load of the others, the frozen ones at their new levels, the rest at their old ones
// Before round s a flow that is not frozen and does not rise above its old level has an old level of at least s. So if all
// flows of l that are not frozen stood at s + 1, the load would be at most C_l - rem_l + (s + 1) open_l + (W_l - open_l), and
//     rem_l - W_l >= s open_l
// implies that l does not close in round s: it holds no flow, and nothing of it needs to be known. No flow that freezes
// makes this false for the rounds to come. Letting one rise above its old level s keeps it true for s, but not for what lies
// above. So an entry in the queue, the watch, stands on the least level at which it is about to become false for some loose
// link; after that round all are looked at, and those without room for the next are reconstructed as above.
//
// Cost: the incidences of the dirty links, where a solver that starts again on the connected component pays for all of it.
// The visits to flows and links of a large network miss the caches, so what the next steps will read is prefetched.
#include "models/network/maxmin_internal.h"

// The flows of a clean link that is about to become dirty. A longer list is read in order, which hardware foresees.
static inline void prefetch_flows(const maxmin *m, const maxmin_link *link)
{
    if (link->count > MAXMIN_FEW) {
        __builtin_prefetch(m->pool + link->list.many.base);
        return;
    }
    for (uint32_t i = 0; i < link->count; i++)
        __builtin_prefetch(maxmin_flow_at(m, link->list.few[i] >> m->hop_bits), 1);
}

// From here on the flow's level is what the replay says; its old one is kept in touched[] and, until it freezes, in place.
static inline void flow_touch(maxmin *m, maxmin_flow *flow, uint32_t id)
{
    // the links of the first record, which are all of them as a rule
    for (uint32_t h = 0; h < flow->hops; h++)
        __builtin_prefetch(&m->links[flow->path[h]], 1);
    flow->mark = m->epoch << 1;
    m->rising++;
    m->touched[m->touched_count++] = (maxmin_touched){ .level = flow->level, .flow = id };
    if (flow->level != MAXMIN_NONE) level_queue_push(&m->queue, flow->level, MAXMIN_FLOW_BIT | id);
    if (flow->cap_level != MAXMIN_NONE && flow->cap_level != flow->level)
        level_queue_push(&m->queue, flow->cap_level, MAXMIN_FLOW_BIT | id);
}

// Reconstructs a link as it is when all flows whose old level is below frozen_below, and the touched flows that are frozen,
// have frozen.
static void link_make_dirty(maxmin *m, uint32_t id, uint64_t frozen_below)
{
    maxmin_link *link = &m->links[id];
    const uint32_t *list = maxmin_list(m, link);
    const uint32_t count = link->count, touched = m->epoch << 1, frozen = touched | 1;
    uint64_t used = 0, open = 0;
    // Which flows are frozen is hard to foresee for a processor: no branch asks.
    uint32_t *fresh = m->candidates, fresh_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t flow_id = maxmin_flow_of(m, list[i]);
        const maxmin_flow *flow = maxmin_flow_at(m, flow_id);
        uint64_t load = maxmin_load_per_level(m, flow, list[i]);
        uint64_t is_old = flow->mark < touched;
        uint64_t is_fixed = (flow->mark == frozen) | (is_old & (flow->level < frozen_below));
        used += (load & (0 - is_fixed)) * flow->level;
        open += load & (is_fixed - 1);
        fresh[fresh_count] = flow_id;
        fresh_count += (uint32_t)(is_old & ~is_fixed);
    }
    for (uint32_t i = 0; i < fresh_count; i++)
        flow_touch(m, maxmin_flow_at(m, fresh[i]), fresh[i]);
    SIM_ASSERT(used <= link->capacity);
    link->mark = maxmin_dirty_mark(m);
    link->closing = MAXMIN_NONE;
    link->remaining = link->capacity - used;
    link->open = open;
    if (open > 0) level_queue_push(&m->queue, link->remaining / open, id);
    m->dirtied += count;
    m->counters.links_dirtied++;
}

// What a loose link has to spare: rem - W above.
static inline uint64_t link_room(const maxmin_link *link)
{
    return link->remaining - link->weight;
}

// Whether a link whose flows are all on their old trajectory can be loose. Both sides as signed numbers.
static inline bool link_has_room(const maxmin_link *link)
{
    return link->closing == MAXMIN_NONE && (int64_t)link->remaining >= (int64_t)link->weight;
}

static inline void link_make_loose(maxmin *m, uint32_t id)
{
    m->links[id].mark = maxmin_loose_mark(m);
    m->links[id].open = 0;
    m->loose[m->loose_count++] = id;
}

// Tells the links of one of its records that a flow freezes. Those that are dirty, or loose if it has risen, give it its share;
// the loose that have counted it at its old level get back the difference. One that is neither becomes loose if it can; when
// it cannot, the answer is true: it has to become dirty after the round. The two kinds are hard to foresee: no branch asks.
static inline bool part_freeze(maxmin *m, const maxmin_flow *flow, uint32_t part, uint64_t level,
                               bool has_risen)
{
    const maxmin_flow *record = maxmin_flow_at(m, part);
    const uint32_t dirty = maxmin_dirty_mark(m), loose = maxmin_loose_mark(m);
    const bool falls = level < flow->level && !has_risen;
    const uint64_t returned = falls ? flow->level - level : 0;
    bool spoils = false;
    for (uint32_t h = 0; h < record->hops; h++) {
        maxmin_link *link = &m->links[record->path[h]];
        const uint64_t load = maxmin_load_per_level(m, flow, part << m->hop_bits | h);
        if (falls && link->mark != dirty && link->mark != loose) {
            if (link_has_room(link))
                link_make_loose(m, record->path[h]);
            else
                spoils = true;
        }
        const uint64_t is_loose = link->mark == loose;
        const uint64_t takes = (uint64_t)(link->mark == dirty) | (is_loose & has_risen);
        const uint64_t taken = load & (0 - takes);
        SIM_ASSERT(taken * level <= link->remaining && taken <= link->open);
        link->remaining += (load & (0 - is_loose)) * returned - taken * level;
        link->open -= taken;
    }
    m->visited += record->hops;
    return spoils;
}

static inline void flow_freeze(maxmin *m, maxmin_flow *flow, uint32_t id, uint64_t level)
{
    // One that has arrived rises from the beginning; another has moved already when it was let rise.
    const bool has_risen = flow->level < level || flow->level == MAXMIN_NONE;
    bool spoils = false;
    for (uint32_t part = id; part != MAXMIN_END; part = maxmin_next_part(m, part))
        spoils |= part_freeze(m, flow, part, level, has_risen);
    if (spoils) m->moved[m->moved_count++] = id;
    flow->level = level;
    flow->mark |= 1;
    m->rising--;
}

// Whether a clean link of the flow closes at this level; a dirty one that does has frozen all its flows already.
static bool flow_is_held(const maxmin *m, uint32_t id, uint64_t level)
{
    bool held = false;
    for (uint32_t part = id; part != MAXMIN_END; part = maxmin_next_part(m, part)) {
        const maxmin_flow *record = maxmin_flow_at(m, part);
        for (uint32_t h = 0; h < record->hops; h++) {
            const maxmin_link *link = &m->links[record->path[h]];
            held |= link->closing == level;
        }
    }
    return held;
}

static void flow_prefetch_neighbours(const maxmin *m, uint32_t id)
{
    const maxmin_flow *flow = maxmin_flow_at(m, id);
    for (uint32_t h = 0; h < flow->hops; h++) {
        const maxmin_link *link = &m->links[flow->path[h]];
        if (link->mark >> 2 != m->epoch && !link_has_room(link)) prefetch_flows(m, link);
    }
}

// Whether a loose link cannot close up to this level.
static inline bool link_is_safe(const maxmin_link *link, uint64_t level)
{
    return link_room(link) >= (unsigned __int128)level * link->open;
}

// Up to which level a loose link cannot close.
static inline uint64_t link_safe_level(const maxmin_link *link)
{
    return link->open > 0 ? link_room(link) / link->open : MAXMIN_NONE;
}

// A flow of a link that is not dirty is let rise above its old level, that of this round.
static void link_let_rise(maxmin *m, uint32_t id, uint64_t load, uint64_t level)
{
    maxmin_link *link = &m->links[id];
    if (link->mark != maxmin_loose_mark(m)) {
        if (!link_has_room(link)) {
            link_make_dirty(m, id, level + 1);
            return;
        }
        link_make_loose(m, id);
    }
    link->remaining += load * level;
    link->open += load;
    if (!link_is_safe(link, level + 1))
        link_make_dirty(m, id, level + 1);
    else if (!link_is_safe(link, m->watch))
        m->watch = link_safe_level(link);
}

// The clean links of a flow that has left its old trajectory become loose or dirty.
static void flow_spread(maxmin *m, uint32_t id, uint64_t level)
{
    const maxmin_flow *flow = maxmin_flow_at(m, id);
    const uint32_t dirty = maxmin_dirty_mark(m), loose = maxmin_loose_mark(m);
    const bool rises = flow->mark == m->epoch << 1;
    for (uint32_t part = id; part != MAXMIN_END; part = maxmin_next_part(m, part)) {
        const maxmin_flow *record = maxmin_flow_at(m, part);
        for (uint32_t h = 0; h < record->hops; h++) {
            uint32_t mark = m->links[record->path[h]].mark;
            if (mark == dirty) continue;
            if (rises)
                link_let_rise(m, record->path[h], maxmin_load_per_level(m, flow, part << m->hop_bits | h),
                              level);
            else if (mark != loose) // else it knows since the flow froze
                link_make_dirty(m, record->path[h], level + 1);
        }
    }
}

// After the round on which the watch stood: loose links that might close in the next become dirty, the others are watched on.
static void watch_move(maxmin *m, uint64_t level)
{
    m->watch = MAXMIN_NONE;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < m->loose_count; i++) {
        const maxmin_link *link = &m->links[m->loose[i]];
        if (link->mark != maxmin_loose_mark(m)) continue;
        if (!link_is_safe(link, level + 1)) {
            link_make_dirty(m, m->loose[i], level + 1);
            continue;
        }
        m->watch = maxmin_min(m->watch, link_safe_level(link));
        m->loose[kept++] = m->loose[i];
    }
    m->loose_count = kept;
}

// Sorts out the entries of one level: links that close now, before anything has changed, to closing[], flows to
// candidates[]. A link whose share has risen goes back into the queue.
// Returns the watch's entry if it stands here.
static uint32_t round_gather(maxmin *m, uint32_t entry, uint32_t *closing_count, uint32_t *candidate_count)
{
    const uint64_t level = m->queue.level;
    uint32_t watch = LEVEL_QUEUE_END;
    for (uint32_t next; entry != LEVEL_QUEUE_END; entry = next) {
        next = m->queue.entries[entry].next;
        uint32_t item = m->queue.entries[entry].item;
        if (item == MAXMIN_WATCH) {
            if (m->watch == level) watch = entry; // else it stands lower by now, or has passed
            continue;
        }
        if (item & MAXMIN_FLOW_BIT) {
            m->candidates[(*candidate_count)++] = item & ~MAXMIN_FLOW_BIT;
            continue;
        }
        const maxmin_link *link = &m->links[item];
        uint64_t share = link->open > 0 ? link->remaining / link->open : MAXMIN_NONE;
        SIM_ASSERT(share >= level);
        if (share == level) {
            m->closing[(*closing_count)++] = item;
        } else {
            m->counters.stale_pops++;
            if (link->open > 0) level_queue_put(&m->queue, entry, share);
        }
    }
    return watch;
}

static void round_play(maxmin *m, uint32_t entry)
{
    SIM_ASSERT(entry !=
               LEVEL_QUEUE_END); // a rising flow stands on a dirty link, which has an entry, or has a cap
    const uint64_t level = m->queue.level, watch_before = m->watch;
    const uint32_t touched = m->epoch << 1;
    uint32_t closing_count = 0, candidate_count = 0;
    m->moved_count = 0;
    const uint32_t watch_entry = round_gather(m, entry, &closing_count, &candidate_count);
    for (uint32_t i = 0; i < closing_count; i++) {
        maxmin_link *link = &m->links[m->closing[i]];
        const uint32_t *list = maxmin_list(m, link);
        link->closing = level;
        for (uint32_t j = 0; j < link->count; j++) {
            uint32_t id = maxmin_flow_of(m, list[j]);
            maxmin_flow *flow = maxmin_flow_at(m, id);
            if (flow->mark == touched) flow_freeze(m, flow, id, level);
        }
        m->visited += link->count;
    }
    for (uint32_t i = 0; i < candidate_count; i++) { // at their old level or their cap
        uint32_t id = m->candidates[i];
        maxmin_flow *flow = maxmin_flow_at(m, id);
        if (flow->mark != touched) continue; // a dirty link has frozen it
        if (flow->cap_level == level || flow_is_held(m, id, level))
            flow_freeze(m, flow, id, level);
        else
            m->moved[m->moved_count++] = id; // it rises on
    }
    for (uint32_t i = 0; i < m->moved_count; i++)
        flow_prefetch_neighbours(m, m->moved[i]);
    for (uint32_t i = 0; i < m->moved_count; i++)
        flow_spread(m, m->moved[i], level);
    if (watch_entry != LEVEL_QUEUE_END) {
        watch_move(m, level);
        if (m->watch != MAXMIN_NONE) level_queue_put(&m->queue, watch_entry, m->watch);
    } else if (m->watch != watch_before) {
        level_queue_push(&m->queue, m->watch, MAXMIN_WATCH);
    }
}

// Touches a flow that has arrived; it rises above its old level from the beginning.
static void arrived_touch(maxmin *m, maxmin_flow *flow, uint32_t id)
{
    flow_touch(m, flow, id);
    for (uint32_t part = id; part != MAXMIN_END; part = maxmin_next_part(m, part)) {
        const maxmin_flow *record = maxmin_flow_at(m, part);
        for (uint32_t h = 0; h < record->hops; h++)
            m->links[record->path[h]].open += maxmin_load_per_level(m, flow, part << m->hop_bits | h);
    }
}

// Touches the arrived flows, completes the bound of the prefix lemma and makes the changed links loose or dirty. What cannot
// close up to a level bounds the prefix no lower than that.
static void replay_begin(maxmin *m)
{
    level_queue_clear(&m->queue);
    m->touched_count = 0;
    m->rising = 0;
    m->loose_count = 0;
    m->watch = MAXMIN_NONE;
    uint64_t prefix = m->prefix;
    for (uint32_t i = 0; i < m->seed_count; i++)
        m->links[m->seeds[i]].open = 0;
    for (uint32_t i = 0; i < m->arrived_count; i++) {
        maxmin_flow *flow = maxmin_flow_at(m, m->arrived[i]);
        if (!flow->weight || flow->mark == m->epoch << 1)
            continue; // it has departed again, or is named twice
        arrived_touch(m, flow, m->arrived[i]);
    }
    for (uint32_t i = 0; i < m->seed_count; i++) {
        maxmin_link *link = &m->links[m->seeds[i]];
        if (link_has_room(link)) {
            link->mark = maxmin_loose_mark(m);
            m->loose[m->loose_count++] = m->seeds[i];
            m->watch = maxmin_min(m->watch, link_safe_level(link));
            continue;
        }
        prefetch_flows(m, link);
        if ((link->mark & MAXMIN_BOUNDED) && link->weight > 0)
            prefix = maxmin_min(prefix, link->capacity / link->weight);
    }
    prefix = maxmin_min(prefix, m->watch);
    for (uint32_t i = 0; i < m->seed_count; i++)
        if (m->links[m->seeds[i]].mark != maxmin_loose_mark(m)) link_make_dirty(m, m->seeds[i], prefix);
    if (m->watch != MAXMIN_NONE) level_queue_push(&m->queue, m->watch, MAXMIN_WATCH);
}

static bool replay_is_dense(const maxmin *m)
{
    return m->dirtied > m->dirty_limit;
}

// As it was before the batch, so that the solve from scratch can tell what changes.
static void replay_abandon(maxmin *m)
{
    for (uint32_t i = 0; i < m->touched_count; i++)
        maxmin_flow_at(m, m->touched[i].flow)->level = m->touched[i].level;
}

static void replay_commit(maxmin *m)
{
    for (uint32_t i = 0; i < m->touched_count; i++) {
        const maxmin_flow *flow = maxmin_flow_at(m, m->touched[i].flow);
        if (flow->level != m->touched[i].level)
            m->changes[m->change_count++] = (maxmin_change){ .rate = flow->level * flow->weight,
                                                             .flow = m->touched[i].flow };
    }
}

// How many incidences dirty links may hold before a solve from scratch is expected to be cheaper.
static uint64_t dirty_limit_of(const maxmin *m)
{
    if (m->options.policy != MAXMIN_AUTO) return MAXMIN_NONE;
    uint64_t limit = m->incidences / 100 * m->options.dense_percent;
    return limit < m->options.dense_floor ? m->options.dense_floor : limit;
}

// Whether to try at all: not when the batch alone is too much, and after several failures in a row only now and then (after
// the n-th failure the next 2^(n-1) - 1 batches are solved from scratch at once, at most 15).
static bool replay_is_promising(maxmin *m)
{
    uint64_t seeded = 0;
    for (uint32_t i = 0; i < m->seed_count; i++)
        seeded += m->links[m->seeds[i]].count;
    if (seeded > m->dirty_limit) return false;
    if (m->dense_skips == 0 || m->incidences <= m->options.dense_floor) return true;
    m->dense_skips--;
    return false;
}

bool maxmin_replay(maxmin *m)
{
    enum { MOST_FAILURES = 4 };
    m->visited = 0;
    m->dirtied = 0;
    m->dirty_limit = dirty_limit_of(m);
    if (!replay_is_promising(m)) return false;
    replay_begin(m);
    // When no flow rises any more, what is left in the queue are links that no flow will close.
    while (m->rising > 0 && !replay_is_dense(m))
        round_play(m, level_queue_take(&m->queue));
    m->counters.incidences += m->visited + m->dirtied;
    m->counters.flows_touched += m->touched_count;
    if (replay_is_dense(m)) {
        m->dense_skips = (1u << m->dense_failures) - 1;
        m->dense_failures += m->dense_failures < MOST_FAILURES;
        replay_abandon(m);
        return false;
    }
    m->dense_failures = 0;
    replay_commit(m);
    return true;
}

static void batch_end(maxmin *m)
{
    m->seed_count = 0;
    m->arrived_count = 0;
    m->prefix = MAXMIN_NONE;
    if (++m->epoch < MAXMIN_EPOCH_END) return;
    m->epoch = 1;
    for (uint32_t l = 0; l < m->link_count; l++)
        m->links[l].mark = 0;
    for (uint32_t f = 0; f < m->flow_high; f++)
        maxmin_flow_at(m, f)->mark = 0;
}

static bool check_is_due(const maxmin *m)
{
    enum { EACH_UP_TO_FLOWS = 2000, EVERY_ABOVE = 1000 };
    uint32_t every = m->options.check_every;
    if (every == 0 && SIM_CHECKS_ON) every = m->flow_count <= EACH_UP_TO_FLOWS ? 1 : EVERY_ABOVE;
    return every > 0 && m->counters.batches % every == 0;
}

const maxmin_change *maxmin_resolve(maxmin *m, uint32_t *count)
{
    m->counters.batches++;
    m->change_count = 0;
    if (m->seed_count > 0 || m->arrived_count > 0)
        if (m->options.policy == MAXMIN_FULL || !maxmin_replay(m)) maxmin_solve_all(m);
    batch_end(m);
    m->counters.flows_changed += m->change_count;
    if (check_is_due(m)) {
        m->counters.checks++;
        maxmin_audit_report report = maxmin_judge(m);
        SIM_ASSERT(!report.wrong_levels && !report.wrong_closings);
        SIM_ASSERT(!report.overloaded_links && !report.flows_without_bottleneck && !report.broken_lists);
    }
    *count = m->change_count;
    return m->changes;
}
