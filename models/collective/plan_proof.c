// SPDX-License-Identifier: GPL-3.0-or-later
// The proof of a plan of messages. Every message waits for messages of earlier steps only, so there is no cycle, and none
// among the transfers of a step's messages on one edge either, nor among the acts of switches. The proof goes through the
// messages in their order and finds for each whose contributions it carries: its sender's own, if the sender begins with that
// chunk, and what came with the messages that it waits for, added, or in place of it. What a message does not wait for, it does
// not carry, whatever else may have arrived.
//     A message that brings all that a chunk can hold, and is not to be added, is whole; others are parts. Parts may only be
// received where they are used for certain: each message on which a rank puts its own contribution to a chunk waits for all
// parts of that chunk that the rank ever receives. (Not so what a switch adds up for the same rank alone: the contribution then
// comes back, as a part, and leaves for good with what waits for that.) A whole one contains the rank's own contribution, which
// left after all parts were there; so it comes last, whatever the times of the messages. A rank without a whole one ends with
// its own and with all parts that it receives, in whatever order they come.
#include "models/collective/plan.h"
#include "sim/check.h"

typedef struct act_chunk { // what an act of a switch does with a chunk
    uint64_t sum;
    uint32_t receivers, receiver; // how many, and the last of them
} act_chunk;

typedef struct plan_proof {
    const plan *plan;
    uint64_t *carried; // per message: whose contributions, a bit each
    bool *returns;     // per message: it is part of a sum that its sender alone receives
    act_chunk *act;    // per chunk
    uint32_t *parts;   // rank x chunks: received messages that are not whole
    bool *used;        // rank x chunks: something was sent that waits for all of them
    uint64_t *ends;    // rank x chunks: whose contributions the rank ends with, unless a whole one comes
    bool *spoilt;      // rank x chunks: one came twice, or in place of others
    bool *whole;       // rank x chunks
} plan_proof;

static uint64_t all_ranks(uint32_t ranks)
{
    return ranks == 64 ? UINT64_MAX : (UINT64_C(1) << ranks) - 1;
}

static size_t at(const plan_proof *f, uint32_t rank, uint32_t chunk)
{
    return (size_t)rank * f->plan->chunks + chunk;
}

// ---- what a kind begins with and promises ----

static bool to_all_kind(collective_kind kind)
{
    return kind == COLLECTIVE_ALL_TO_ALL || kind == COLLECTIVE_ALL_TO_ALL_UNEQUAL;
}

static bool from_one_kind(collective_kind kind)
{
    return kind == COLLECTIVE_SEND_RECV || kind == COLLECTIVE_BROADCAST;
}

static bool has_shares(collective_kind kind)
{
    return kind == COLLECTIVE_ALL_GATHER || kind == COLLECTIVE_REDUCE_SCATTER || to_all_kind(kind);
}

static uint32_t owner_of(const plan *p, uint32_t chunk)
{
    return chunk / p->share_chunks;
}

static uint64_t own_of(const plan *p, uint32_t rank, uint32_t chunk)
{
    bool has = true; // all-reduce, reduce-scatter, all-to-all: its own contribution to every chunk
    if (p->kind == COLLECTIVE_ALL_GATHER) has = rank == owner_of(p, chunk);
    if (from_one_kind(p->kind)) has = rank == 0;
    return has ? UINT64_C(1) << rank : 0;
}

// All that there is of a chunk: what a message is whole that brings it.
static uint64_t whole_of(const plan *p, uint32_t chunk)
{
    if (p->kind == COLLECTIVE_ALL_GATHER) return UINT64_C(1) << owner_of(p, chunk);
    if (from_one_kind(p->kind)) return 1;
    if (p->kind != COLLECTIVE_ALL_TO_ALL_UNEQUAL) return all_ranks(p->ranks);
    const uint32_t owner = owner_of(p, chunk);
    uint64_t senders = UINT64_C(1) << owner;
    for (uint32_t from = 0; from < p->ranks; from++)
        if (p->parts[(size_t)from * p->ranks + owner] > 0) senders |= UINT64_C(1) << from;
    return senders;
}

static bool is_promised(const plan *p, uint32_t rank, uint32_t chunk)
{
    if (p->kind == COLLECTIVE_REDUCE) return rank == 0;
    if (p->kind == COLLECTIVE_ALL_GATHER || !has_shares(p->kind)) return true;
    return rank == owner_of(p, chunk);
}

static uint64_t size_of(const plan *p, const plan_message *m)
{
    if (p->kind != COLLECTIVE_ALL_TO_ALL_UNEQUAL && p->kind != COLLECTIVE_ALL_TO_ALL)
        return plan_chunk_bytes(p->bytes, p->chunks, m->chunk);
    const uint64_t part = p->parts ? p->parts[(size_t)m->from * p->ranks + owner_of(p, m->chunk)]
                                   : plan_chunk_bytes(p->bytes, p->ranks, owner_of(p, m->chunk));
    return plan_chunk_bytes(part, p->share_chunks, m->chunk % p->share_chunks);
}

// ---- what can be read off messages by themselves ----

// A received message that this one waits for.
static bool wait_in_range(const plan *p, const plan_message *message, int64_t received)
{
    return received < p->message_count && p->messages[received].to == message->from &&
           p->messages[received].step < message->step && message->from < p->ranks;
}

static bool own_in_range(const plan *p, const plan_message *message)
{
    const int64_t own = message->after_own;
    if (own == PLAN_NONE) return true;
    if (own < 0 || own >= p->message_count) return false;
    const plan_message *before = &p->messages[own];
    return before->from == message->from && before->ring == message->ring && before->step < message->step &&
           (!p->chains_by_edge || before->edge == message->edge);
}

static bool message_in_range(const plan *p, uint32_t m)
{
    const plan_message *message = &p->messages[m];
    const uint32_t positions = p->ranks + p->switches;
    if (message->from >= positions || message->to >= positions || message->from == message->to) return false;
    if (message->chunk >= p->chunks || message->step >= p->steps || message->ring >= p->rings) return false;
    if (message->edge >= p->edge_count || message->bytes != size_of(p, message)) return false;
    const plan_edge *edge = &p->edges[message->edge];
    if (edge->from != message->from || edge->to != message->to || edge->operation > p->operations)
        return false;
    const bool at_switch = message->from >= p->ranks || message->to >= p->ranks;
    if (at_switch && (edge->operation == 0 || (message->from >= p->ranks && message->to >= p->ranks)))
        return false;
    const int64_t received = message->after_received;
    if (received < PLAN_NONE || (received != PLAN_NONE && !wait_in_range(p, message, received))) return false;
    return own_in_range(p, message);
}

static bool more_in_range(const plan *p)
{
    for (uint32_t i = 0; i < p->more_count; i++) {
        const plan_wait *wait = &p->more[i];
        if (wait->message >= p->message_count || (i > 0 && p->more[i - 1].message > wait->message))
            return false;
        const plan_message *message = &p->messages[wait->message];
        if (message->after_received == PLAN_NONE || !wait_in_range(p, message, wait->received)) return false;
    }
    return true;
}

// By step and edge, but those of an operation together, where its first edge is.
static bool in_order(arena *scratch, const plan *p)
{
    uint32_t *firsts = arena_array(scratch, uint32_t, (size_t)p->operations + 1); // 1 + edge
    for (uint32_t e = p->edge_count; e > 0; e--)
        firsts[p->edges[e - 1].operation] = e;
    for (uint32_t m = 1; m < p->message_count; m++) {
        const plan_message *a = &p->messages[m - 1], *b = &p->messages[m];
        const uint32_t a_operation = p->edges[a->edge].operation, b_operation = p->edges[b->edge].operation;
        const uint32_t a_place = a_operation > 0 ? firsts[a_operation] - 1 : a->edge;
        const uint32_t b_place = b_operation > 0 ? firsts[b_operation] - 1 : b->edge;
        if (a->step != b->step ? a->step > b->step : a_place > b_place) return false;
        if (a->step == b->step && a_place == b_place && a->edge > b->edge) return false;
    }
    return true;
}

// A rank's sends on one ring are one chain: one of them is the first, and none has two followers.
static bool sends_are_chains(arena *scratch, const plan *p)
{
    bool *begun = arena_array(scratch, bool, (size_t)p->ranks * p->rings);
    bool *followed = arena_array(scratch, bool, p->message_count);
    for (uint32_t m = 0; m < p->message_count; m++) {
        const plan_message *message = &p->messages[m];
        bool *taken = message->after_own == PLAN_NONE ? &begun[message->from * p->rings + message->ring]
                                                      : &followed[message->after_own];
        if (*taken) return false;
        *taken = true;
    }
    return true;
}

// On one edge and ring, those of a step follow one of the step before, whichever that is.
static bool edges_are_chains(arena *scratch, const plan *p)
{
    typedef struct edge_chain {
        uint32_t step, before; // 1 + the latest step, and the one before it
    } edge_chain;
    edge_chain *chains = arena_array(scratch, edge_chain, (size_t)p->edge_count * p->rings);
    for (uint32_t m = 0; m < p->message_count; m++) {
        const plan_message *message = &p->messages[m];
        edge_chain *chain = &chains[(size_t)message->edge * p->rings + message->ring];
        if (chain->step != message->step + 1)
            *chain = (edge_chain){ .step = message->step + 1, .before = chain->step };
        const uint32_t follows = message->after_own == PLAN_NONE ? 0
                                                                 : p->messages[message->after_own].step + 1;
        if (follows != chain->before) return false;
    }
    return true;
}

static bool edges_add_up(arena *scratch, const plan *p)
{
    uint64_t *sums = arena_array(scratch, uint64_t, p->edge_count);
    bool *used = arena_array(scratch, bool, (size_t)p->edge_count * p->rings);
    for (uint32_t m = 0; m < p->message_count; m++) {
        sums[p->messages[m].edge] += p->messages[m].bytes;
        used[p->messages[m].edge * p->rings + p->messages[m].ring] = true;
    }
    for (uint32_t e = 0; e < p->edge_count; e++) {
        uint32_t rings = 0;
        for (uint32_t r = 0; r < p->rings; r++)
            rings += used[e * p->rings + r];
        if (sums[e] != p->edges[e].bytes || rings != p->edges[e].rings) return false;
    }
    return true;
}

// ---- what messages carry ----

// Parts of an all-to-all lie side by side: those for one rank are one chunk here, from each sender its own.
static bool adds(const plan *p, const plan_message *m)
{
    return m->reduces || to_all_kind(p->kind);
}

static bool is_whole(const plan_proof *f, uint32_t m)
{
    const plan_message *message = &f->plan->messages[m];
    return !adds(f->plan, message) && f->carried[m] == whole_of(f->plan, message->chunk);
}

// A sum must not get one contribution twice; a copy replaces what was there.
static bool join(const plan_proof *f, uint32_t received, uint32_t chunk, uint64_t *held)
{
    const plan_message *message = &f->plan->messages[received];
    if (message->chunk != chunk) return true; // it is only waited for
    const bool sum = adds(f->plan, message);
    if (sum && (*held & f->carried[received])) return false;
    *held = sum ? *held | f->carried[received] : f->carried[received];
    return true;
}

// What the sender puts into it.
static bool carry(const plan_proof *f, uint32_t m)
{
    const plan *p = f->plan;
    const plan_message *message = &p->messages[m];
    f->carried[m] = 0;
    if (message->from >= p->ranks) return true; // a switch has nothing of its own
    uint64_t held = own_of(p, message->from, message->chunk);
    if (message->after_received != PLAN_NONE &&
        !join(f, (uint32_t)message->after_received, message->chunk, &held))
        return false;
    uint32_t first;
    const uint32_t more = plan_more_waits(p, m, &first);
    for (uint32_t i = 0; i < more; i++)
        if (!join(f, p->more[first + i].received, message->chunk, &held)) return false;
    f->carried[m] = held;
    return held != 0; // nothing to send is a mistake of the plan
}

// One act of a switch: messages first .. end - 1. Each chunk's sum is what all of its messages bring.
static bool carry_sums(const plan_proof *f, uint32_t first, uint32_t end)
{
    const plan *p = f->plan;
    for (uint32_t m = first; m < end; m++)
        f->act[p->messages[m].chunk] = (act_chunk){ 0 };
    for (uint32_t m = first; m < end; m++) {
        act_chunk *act = &f->act[p->messages[m].chunk];
        if (act->sum & f->carried[m]) return false;
        act->sum |= f->carried[m];
        if (p->messages[m].to >= p->ranks) continue;
        act->receivers++;
        act->receiver = p->messages[m].to;
    }
    for (uint32_t m = first; m < end; m++) {
        const act_chunk *act = &f->act[p->messages[m].chunk];
        f->carried[m] = act->sum;
        f->returns[m] = act->receivers == 1 && act->receiver == p->messages[m].from &&
                        act->sum != whole_of(p, p->messages[m].chunk);
        if (act->sum == 0) return false;
    }
    return true;
}

static bool carry_all(const plan_proof *f)
{
    const plan *p = f->plan;
    for (uint32_t m = 0, end; m < p->message_count; m = end) {
        const uint32_t operation = p->edges[p->messages[m].edge].operation;
        for (end = m; end < p->message_count && (end == m || operation > 0); end++) {
            if (p->messages[end].step != p->messages[m].step ||
                p->edges[p->messages[end].edge].operation != operation)
                break;
            if (!carry(f, end)) return false;
        }
        if (operation > 0 && !carry_sums(f, m, end)) return false;
    }
    return true;
}

// ---- what ranks end with ----

static void count_waits(const plan_proof *f, uint32_t received, uint32_t chunk, uint32_t *parts, bool *whole)
{
    if (f->plan->messages[received].chunk != chunk) return;
    if (is_whole(f, received))
        *whole = true;
    else
        ++*parts;
}

static bool waits_for_parts(const plan_proof *f, uint32_t m)
{
    const plan *p = f->plan;
    const plan_message *message = &p->messages[m];
    if (message->from >= p->ranks || f->returns[m]) return true;
    uint32_t parts = 0, first;
    bool whole = false;
    if (message->after_received != PLAN_NONE)
        count_waits(f, (uint32_t)message->after_received, message->chunk, &parts, &whole);
    const uint32_t more = plan_more_waits(p, m, &first);
    for (uint32_t i = 0; i < more; i++)
        count_waits(f, p->more[first + i].received, message->chunk, &parts, &whole);
    const size_t place = at(f, message->from, message->chunk);
    if (!whole) f->used[place] = true;
    return whole || parts == f->parts[place];
}

static bool receive_all(const plan_proof *f)
{
    const plan *p = f->plan;
    for (uint32_t rank = 0; rank < p->ranks; rank++)
        for (uint32_t chunk = 0; chunk < p->chunks; chunk++)
            f->ends[at(f, rank, chunk)] = own_of(p, rank, chunk);
    for (uint32_t m = 0; m < p->message_count; m++) {
        const plan_message *message = &p->messages[m];
        if (message->to >= p->ranks) continue;
        const size_t place = at(f, message->to, message->chunk);
        if (is_whole(f, m)) {
            f->whole[place] = true;
            continue;
        }
        f->parts[place]++;
        if ((f->ends[place] & f->carried[m]) || !adds(p, message)) f->spoilt[place] = true;
        f->ends[place] |= f->carried[m];
    }
    for (uint32_t m = 0; m < p->message_count; m++)
        if (!waits_for_parts(f, m)) return false;
    return true;
}

static bool promise_kept(const plan_proof *f)
{
    const plan *p = f->plan;
    for (uint32_t rank = 0; rank < p->ranks; rank++)
        for (uint32_t chunk = 0; chunk < p->chunks; chunk++) {
            const size_t place = at(f, rank, chunk);
            if (!is_promised(p, rank, chunk)) continue;
            const bool parts_first = f->parts[place] == 0 || (f->used[place] && own_of(p, rank, chunk) != 0);
            const bool complete = !f->spoilt[place] && f->ends[place] == whole_of(p, chunk);
            if (f->whole[place] ? !parts_first : !complete) return false;
        }
    return true;
}

static bool shape_in_range(const plan *p)
{
    if (!has_shares(p->kind)) return true;
    return p->share_chunks > 0 && (uint64_t)p->share_chunks * p->ranks == p->chunks;
}

bool plan_is_valid(arena *scratch, const plan *p)
{
    SIM_ASSERT(p->ranks > 0 && p->ranks <= PLAN_CHECK_RANKS_MAX && p->chunks > 0 && p->rings > 0);
    SIM_ASSERT(p->messages || p->steps == 0); // the streams grain has nothing to replay
    if (!shape_in_range(p)) return false;
    for (uint32_t m = 0; m < p->message_count; m++)
        if (!message_in_range(p, m)) return false;
    arena_mark_t mark = arena_mark(scratch);
    const size_t places = (size_t)p->ranks * p->chunks;
    plan_proof f = { .plan = p };
    f.carried = arena_array(scratch, uint64_t, p->message_count);
    f.returns = arena_array(scratch, bool, p->message_count);
    f.act = arena_array(scratch, act_chunk, p->chunks);
    f.parts = arena_array(scratch, uint32_t, places);
    f.used = arena_array(scratch, bool, places);
    f.ends = arena_array(scratch, uint64_t, places);
    f.spoilt = arena_array(scratch, bool, places);
    f.whole = arena_array(scratch, bool, places);
    bool valid = more_in_range(p) && in_order(scratch, p) &&
                 (p->chains_by_edge ? edges_are_chains(scratch, p) : sends_are_chains(scratch, p)) &&
                 edges_add_up(scratch, p) && carry_all(&f) && receive_all(&f) && promise_kept(&f);
    arena_release(scratch, mark);
    return valid;
}
