// SPDX-License-Identifier: GPL-3.0-or-later
// From the messages of a plan to transfers, and which transfer waits for which, for what of it (plan_cache.h).
#include "models/collective/plan_cache.h"
#include "sim/array.h"

// Messages of one step on one edge follow one another in a plan, and so do those of one act.
static bool begins_transfer(const cached_plan *c, uint32_t m)
{
    const plan_message *own = &c->plan.messages[m], *before = own - 1;
    const uint32_t operation = c->plan.edges[own->edge].operation;
    if (own->step != before->step || operation != c->plan.edges[before->edge].operation) return true;
    return operation == 0 && (c->key.apart || own->edge != before->edge);
}

// Returns, per message, its transfer.
static uint32_t *build_transfers(arena *a, cached_plan *c)
{
    uint32_t *transfer_of = arena_array(a, uint32_t, c->plan.message_count);
    for (uint32_t m = 0; m < c->plan.message_count; m++) {
        if (m == 0 || begins_transfer(c, m)) c->first_messages[c->transfer_count++] = m;
        transfer_of[m] = c->transfer_count - 1;
    }
    c->first_messages[c->transfer_count] = c->plan.message_count;
    return transfer_of;
}

// Messages of a transfer on one edge follow one another. What a switch sends on is what it has been given.
static void build_edges(cached_plan *c)
{
    uint32_t count = 0;
    for (uint32_t t = 0; t < c->transfer_count; t++) {
        c->first_edges[t] = count;
        for (uint32_t m = c->first_messages[t]; m < c->first_messages[t + 1]; m++) {
            const plan_message *message = &c->plan.messages[m];
            if (message->from >= c->plan.ranks) continue;
            if (count == c->first_edges[t] || c->edges[count - 1].edge != message->edge)
                c->edges[count++] = (transfer_edge){ .edge = message->edge };
            c->edges[count - 1].bytes += message->bytes;
        }
        if (count - c->first_edges[t] > c->most_edges) c->most_edges = count - c->first_edges[t];
    }
    c->first_edges[c->transfer_count] = count;
}

typedef struct follower { // `later` waits for `earlier`
    uint32_t earlier, later;
    follower_kind kind;
} follower;
ARRAY_OF(follower, follower_array);

static void add_follower(arena *a, follower_array *all, uint32_t since, follower made)
{
    for (uint32_t i = since; i < all->count; i++)
        if (all->items[i].earlier == made.earlier && all->items[i].kind == made.kind) return;
    *array_push(all, a) = made;
}

// What a transfer waits for, each once; few.
static void find_predecessors(arena *a, const cached_plan *c, const uint32_t *transfer_of, uint32_t transfer,
                              follower_array *all)
{
    const plan *p = &c->plan;
    const uint32_t since = all->count;
    for (uint32_t m = c->first_messages[transfer]; m < c->first_messages[transfer + 1]; m++) {
        const plan_message *message = &p->messages[m];
        uint32_t first;
        if (message->after_own != PLAN_NONE && !c->key.at_once && !c->key.apart)
            add_follower(a, all, since, (follower){ transfer_of[message->after_own], transfer, FOLLOWS_OWN });
        if (message->after_received != PLAN_NONE)
            add_follower(a, all, since,
                         (follower){ transfer_of[message->after_received], transfer, FOLLOWS_DATA });
        const uint32_t more = p->more_count > 0 ? plan_more_waits(p, m, &first) : 0;
        for (uint32_t i = 0; i < more; i++)
            add_follower(a, all, since,
                         (follower){ transfer_of[p->more[first + i].received], transfer, FOLLOWS_DATA });
    }
}

// Rows of followers by counting: sizes, then starts, then entries, which move each start to the next row's; last, back.
static void sort_followers(cached_plan *c, const follower_array *all)
{
    memset(c->follower_starts, 0, ((size_t)c->transfer_count + 1) * sizeof *c->follower_starts);
    for (uint32_t i = 0; i < all->count; i++)
        c->follower_starts[all->items[i].earlier + 1]++;
    for (uint32_t t = 0; t < c->transfer_count; t++)
        c->follower_starts[t + 1] += c->follower_starts[t];
    for (uint32_t i = 0; i < all->count; i++) {
        const uint32_t at = c->follower_starts[all->items[i].earlier]++;
        c->followers[at] = all->items[i].later;
        c->follower_kinds[at] = (uint8_t)all->items[i].kind;
    }
    for (uint32_t t = c->transfer_count; t > 0; t--)
        c->follower_starts[t] = c->follower_starts[t - 1];
    c->follower_starts[0] = 0;
}

// The transfer that was so many earlier on its edge has made room once all that pass it on have copied it; where nobody does,
// once it is received.
static void add_slot(arena *a, const cached_plan *c, uint32_t earlier, uint32_t later, follower_array *all)
{
    const uint32_t since = all->count;
    bool passed_on = false;
    for (uint32_t f = c->follower_starts[earlier]; f < c->follower_starts[earlier + 1]; f++) {
        if (c->follower_kinds[f] != FOLLOWS_DATA) continue;
        SIM_ASSERT(c->followers[f] < later); // no circle
        add_follower(a, all, since, (follower){ c->followers[f], later, FOLLOWS_SLOT });
        passed_on = true;
    }
    if (!passed_on) add_follower(a, all, since, (follower){ earlier, later, FOLLOWS_DATA });
}

// Transfers that follow one another: over one edge, apart also of one ring.
static size_t line_of(const cached_plan *c, uint32_t transfer)
{
    const plan_message *m = cached_first_message(c, transfer);
    return c->key.apart ? (size_t)m->edge * c->plan.rings + m->ring : m->edge;
}

static size_t line_count(const cached_plan *c)
{
    return (size_t)c->plan.edge_count * (c->key.apart ? c->plan.rings : 1);
}

static void add_slots(arena *a, const cached_plan *c, follower_array *all)
{
    uint32_t *window = arena_array(a, uint32_t, line_count(c) * 2 * c->key.slots);
    uint32_t *sent = arena_array(a, uint32_t, line_count(c));
    for (uint32_t t = 0; t < c->transfer_count; t++) {
        const uint32_t edge = cached_first_message(c, t)->edge;
        const uint32_t slots = (c->leaves[edge] ? 2 : 1) * c->key.slots;
        const size_t line = line_of(c, t);
        uint32_t *place = &window[line * 2 * c->key.slots + sent[line] % slots];
        if (sent[line] >= slots) add_slot(a, c, *place, t, all);
        *place = t;
        sent[line]++;
    }
}

// Which of the edges lead from node to node.
static void find_leaving(arena *a, cached_plan *c, const ring_set *rings)
{
    c->leaves = arena_array(a, bool, c->plan.edge_count);
    const arena_mark_t mark = arena_mark(a);
    uint32_t *node_of = arena_array(a, uint32_t, rings->ranks);
    for (uint32_t v = 0; v < plan_nodes(rings); v++)
        for (uint32_t place = plan_node_start(rings, v); place < plan_node_start(rings, v + 1); place++)
            node_of[rings->orders[place]] = v;
    for (uint32_t e = 0; e < c->plan.edge_count; e++) {
        const plan_edge *edge = &c->plan.edges[e];
        const bool inside = edge->from >= rings->ranks || edge->to >= rings->ranks; // to or from a switch
        c->leaves[e] = !inside && node_of[edge->from] != node_of[edge->to];
    }
    arena_release(a, mark);
}

static void chain_lines(arena *a, cached_plan *c)
{
    const arena_mark_t mark = arena_mark(a);
    uint32_t *latest1 = arena_array(a, uint32_t, line_count(c)); // 1 + the last of each line
    for (uint32_t t = 0; t < c->transfer_count; t++) {
        uint32_t *before1 = &latest1[line_of(c, t)];
        c->next_on_edge[t] = NO_ID;
        c->first_on_edge[t] = *before1 == 0;
        if (*before1 > 0) c->next_on_edge[*before1 - 1] = t;
        *before1 = t + 1;
    }
    arena_release(a, mark);
}

// The transfers in which a rank had a part last: one to it and one from it, of one step.
typedef struct rank_turn {
    uint32_t step, sent1, received1; // of that step, 1 + transfer
    uint32_t before[2];              // 1 + transfer, of the step before
} rank_turn;

static rank_turn *turn_at(rank_turn *turns, uint32_t rank, uint32_t step)
{
    rank_turn *own = &turns[rank];
    if (own->step != step)
        *own = (rank_turn){ .step = step,
                            .before = { own->sent1 > 0 ? own->sent1 : own->before[0],
                                        own->received1 > 0 ? own->received1 : own->before[1] } };
    return own;
}

static void add_turns(arena *a, const cached_plan *c, rank_turn *turns, uint32_t t, follower_array *all,
                      uint32_t since)
{
    const plan_message *first = cached_first_message(c, t);
    rank_turn *const ends[] = { turn_at(turns, first->from, first->step),
                                turn_at(turns, first->to, first->step) };
    for (size_t e = 0; e < ARRAY_COUNT(ends); e++)
        for (size_t b = 0; b < ARRAY_COUNT(ends[e]->before); b++)
            if (ends[e]->before[b] > 0)
                add_follower(a, all, since, (follower){ ends[e]->before[b] - 1, t, FOLLOWS_DATA });
    SIM_ASSERT(ends[0]->sent1 == 0 && ends[1]->received1 == 0); // one each in a step
    ends[0]->sent1 = ends[1]->received1 = t + 1;
}

// How many waits there may be at most. Of each message: for the one before of its own, for what it received, for the one
// before on its edge, and in turn for two transfers of the step before at either end; beside these the plan's further ones.
// With slots as many again, for all that pass on what made room, and one where nobody does.
static size_t most_followers(const cached_plan *c)
{
    enum { WAITS = 3, WAITS_IN_TURN = 4 };
    const size_t messages = c->plan.message_count, each = c->key.in_turn ? WAITS + WAITS_IN_TURN : WAITS,
                 waits = each * messages + c->plan.more_count;
    return c->key.slots > 0 ? 2 * waits + messages : waits;
}

static void take_room(arena *a, cached_plan *c)
{
    const uint32_t messages = c->plan.message_count; // transfers are no more
    c->first_messages = arena_array(a, uint32_t, (size_t)messages + 1);
    c->first_edges = arena_array(a, uint32_t, (size_t)messages + 1);
    c->edges = arena_array(a, transfer_edge, messages);
    c->waits = arena_array(a, uint16_t, messages);
    c->follower_starts = arena_array(a, uint32_t, (size_t)messages + 1);
    c->next_on_edge = arena_array(a, uint32_t, messages);
    c->first_on_edge = arena_array(a, bool, messages);
    c->followers = arena_array(a, uint32_t, most_followers(c));
    c->follower_kinds = arena_array(a, uint8_t, most_followers(c));
}

void plan_transfers_build(arena *a, cached_plan *c, const ring_set *rings)
{
    const size_t most = most_followers(c);
    take_room(a, c);
    find_leaving(a, c, rings);
    const arena_mark_t mark = arena_mark(a);
    const uint32_t *transfer_of = build_transfers(a, c);
    build_edges(c);
    follower_array all = { 0 };
    array_reserve(&all, a, (uint32_t)most);
    chain_lines(a, c);
    rank_turn *turns = c->key.in_turn ? arena_array(a, rank_turn, c->plan.ranks) : NULL;
    for (uint32_t t = 0; t < c->transfer_count; t++) {
        const uint32_t since = all.count;
        find_predecessors(a, c, transfer_of, t, &all);
        if (turns) add_turns(a, c, turns, t, &all, since);
        if (c->key.apart && c->next_on_edge[t] != NO_ID)
            *array_push(&all, a) = (follower){ t, c->next_on_edge[t], FOLLOWS_OWN };
    }
    sort_followers(c, &all);
    if (c->key.slots > 0) {
        add_slots(a, c, &all);
        SIM_ASSERT(all.count <= most);
        sort_followers(c, &all);
    }
    for (uint32_t i = 0; i < all.count; i++)
        c->waits[all.items[i].later]++;
    arena_release(a, mark);
}
