// SPDX-License-Identifier: GPL-3.0-or-later
// What all plans share, and the proof of a plan of messages. Every message waits for messages of earlier steps only, so
// there is no cycle, and none among the transfers of a step's messages on one edge either. The proof replays the messages
// step by step and keeps, per rank and chunk, whose contributions the rank holds. A message carries only what its
// predecessors guarantee: a received message joins its receiver's state not when it arrives, which is a matter of time, but
// when a send says that it waits for it (after_received), or at the end. So what holds in the replay holds for all times.
#include "models/collective/plan.h"
#include "sim/check.h"
#include <string.h>

const char *const collective_kind_words[] = { "all-reduce", "reduce-scatter", "all-gather",
                                              "send-recv",  "broadcast",      "all-to-all",
                                              "reduce",     "barrier",        "all-to-all-unequal",
                                              NULL };
const char *const collective_algorithm_words[] = { "ring", "nvls",      "send-recv",      "pairwise",
                                                   "tree", "nvls-tree", "collnet-direct", "collnet-chain",
                                                   "pat",  "recursive", "hierarchical",   NULL };
const char *const collective_grain_words[] = { "streams", "messages", NULL };

uint64_t plan_chunk_bytes(uint64_t bytes, uint32_t chunks, uint32_t chunk)
{
    SIM_ASSERT(chunk < chunks);
    return bytes / chunks + (chunk < bytes % chunks);
}

uint64_t plan_payload_bytes(const plan *p)
{
    uint64_t sum = 0;
    for (uint32_t e = 0; e < p->edge_count; e++)
        sum += p->edges[e].bytes;
    return sum;
}

collective_algorithm plan_usual_algorithm(collective_kind kind)
{
    SIM_ASSERT(kind < COLLECTIVE_KINDS);
    if (kind == COLLECTIVE_SEND_RECV) return ALGORITHM_SEND_RECV;
    return kind == COLLECTIVE_ALL_TO_ALL ? ALGORITHM_PAIRWISE : ALGORITHM_RING;
}

void plan_build(arena *a, collective_kind kind, collective_algorithm algorithm, const ring_set *rings,
                uint64_t bytes, collective_grain grain, plan *out)
{
    SIM_ASSERT(algorithm == plan_usual_algorithm(kind) ||
               (algorithm == ALGORITHM_NVLS && kind == COLLECTIVE_ALL_REDUCE && grain == GRAIN_STREAMS));
    switch (algorithm) {
    case ALGORITHM_RING:
        if (kind == COLLECTIVE_BROADCAST)
            plan_broadcast(a, rings, bytes, grain, out);
        else
            plan_ring(a, kind, rings, bytes, grain, out);
        return;
    case ALGORITHM_NVLS: plan_nvls(a, rings->ranks, bytes, out); return;
    case ALGORITHM_SEND_RECV: plan_send_recv(a, bytes, grain, out); return;
    case ALGORITHM_PAIRWISE: plan_all_to_all(a, rings->ranks, bytes, grain, out); return;
    case ALGORITHM_TREE:
    case ALGORITHM_NVLS_TREE:
    case ALGORITHM_COLLNET_DIRECT:
    case ALGORITHM_COLLNET_CHAIN:
    case ALGORITHM_PAT:
    case ALGORITHM_RECURSIVE:
    case ALGORITHM_HIERARCHICAL:
    case ALGORITHMS: break;
    }
    SIM_ASSERT(algorithm < ALGORITHMS);
}

uint64_t plan_message_count(collective_kind kind, const ring_set *rings, uint64_t bytes)
{
    switch (kind) {
    case COLLECTIVE_ALL_REDUCE:
    case COLLECTIVE_REDUCE_SCATTER:
    case COLLECTIVE_ALL_GATHER: return plan_ring_messages(kind, rings);
    case COLLECTIVE_SEND_RECV: return 1;
    case COLLECTIVE_BROADCAST: return plan_broadcast_messages(rings, bytes);
    case COLLECTIVE_ALL_TO_ALL: return plan_all_to_all_messages(rings->ranks);
    case COLLECTIVE_REDUCE:
    case COLLECTIVE_BARRIER:
    case COLLECTIVE_ALL_TO_ALL_UNEQUAL:
    case COLLECTIVE_KINDS: break;
    }
    SIM_ASSERT(kind < COLLECTIVE_KINDS);
    return 0;
}

typedef struct replay {
    const plan *plan;
    uint64_t *held;    // ranks x chunks: whose contributions, a bit each
    uint64_t *carried; // per message
    bool *joined;
} replay;

static uint64_t all_ranks(uint32_t ranks)
{
    return ranks == 64 ? UINT64_MAX : (UINT64_C(1) << ranks) - 1;
}

static uint64_t *held_at(const replay *r, uint32_t rank, uint32_t chunk)
{
    return &r->held[(size_t)rank * r->plan->chunks + chunk];
}

// Everything that can be read off one message by itself.
static bool message_in_range(const plan *p, uint32_t m)
{
    const plan_message *message = &p->messages[m];
    if (message->from >= p->ranks || message->to >= p->ranks || message->from == message->to) return false;
    if (message->chunk >= p->chunks || message->step >= p->steps || message->ring >= p->rings) return false;
    if (message->bytes != plan_chunk_bytes(p->bytes, p->chunks, message->chunk)) return false;
    if (message->edge >= p->edge_count) return false;
    const plan_edge *edge = &p->edges[message->edge];
    if (edge->from != message->from || edge->to != message->to) return false;
    int64_t own = message->after_own, received = message->after_received;
    if (own < PLAN_NONE || own >= p->message_count || received < PLAN_NONE || received >= p->message_count)
        return false;
    if (own != PLAN_NONE &&
        (p->messages[own].from != message->from || p->messages[own].ring != message->ring ||
         p->messages[own].step >= message->step))
        return false;
    return received == PLAN_NONE ||
           (p->messages[received].to == message->from && p->messages[received].step < message->step);
}

static bool in_order(const plan *p)
{
    for (uint32_t m = 1; m < p->message_count; m++) {
        const plan_message *a = &p->messages[m - 1], *b = &p->messages[m];
        if (a->step != b->step ? a->step > b->step : a->edge > b->edge) return false;
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

// A sum must not get one contribution twice; a copy replaces what was there.
static bool replay_join(replay *r, uint32_t m)
{
    if (r->joined[m]) return true;
    r->joined[m] = true;
    const plan_message *message = &r->plan->messages[m];
    uint64_t *held = held_at(r, message->to, message->chunk);
    // Parts of an all-to-all lie side by side: those for one rank are one chunk here, from each sender its own.
    const bool adds = message->reduces || r->plan->kind == COLLECTIVE_ALL_TO_ALL;
    if (adds && (*held & r->carried[m])) return false;
    *held = adds ? *held | r->carried[m] : r->carried[m];
    return true;
}

static bool replay_send(replay *r, uint32_t m)
{
    const plan_message *message = &r->plan->messages[m];
    if (message->after_received != PLAN_NONE && !replay_join(r, (uint32_t)message->after_received))
        return false;
    r->carried[m] = *held_at(r, message->from, message->chunk);
    return r->carried[m] != 0; // nothing to send is a mistake of the plan
}

// Messages stand by step and wait for earlier steps: their order is one that their predecessors allow.
static bool replay_all(replay *r)
{
    for (uint32_t m = 0; m < r->plan->message_count; m++)
        if (!replay_send(r, m)) return false;
    for (uint32_t m = 0; m < r->plan->message_count; m++)
        if (!replay_join(r, m)) return false;
    return true;
}

static void replay_begin(const replay *r)
{
    const plan *p = r->plan;
    for (uint32_t rank = 0; rank < p->ranks; rank++)
        for (uint32_t chunk = 0; chunk < p->chunks; chunk++) {
            bool has = true; // all-reduce, reduce-scatter, all-to-all: its own contribution to every chunk
            if (p->kind == COLLECTIVE_ALL_GATHER) has = rank == chunk / p->rings;
            if (p->kind == COLLECTIVE_SEND_RECV || p->kind == COLLECTIVE_BROADCAST) has = rank == 0;
            *held_at(r, rank, chunk) = has ? UINT64_C(1) << rank : 0;
        }
}

static bool replay_promise(const replay *r)
{
    const plan *p = r->plan;
    for (uint32_t rank = 0; rank < p->ranks; rank++)
        for (uint32_t chunk = 0; chunk < p->chunks; chunk++) {
            uint64_t want = all_ranks(p->ranks);
            if (p->kind == COLLECTIVE_REDUCE_SCATTER && chunk / p->rings != rank) continue;
            if (p->kind == COLLECTIVE_ALL_GATHER) want = UINT64_C(1) << chunk / p->rings;
            if (p->kind == COLLECTIVE_SEND_RECV || p->kind == COLLECTIVE_BROADCAST) want = 1;
            if (p->kind == COLLECTIVE_ALL_TO_ALL && chunk != rank) want = UINT64_C(1) << rank; // as before
            if (*held_at(r, rank, chunk) != want) return false;
        }
    return true;
}

bool plan_is_valid(arena *scratch, const plan *p)
{
    SIM_ASSERT(p->ranks > 0 && p->ranks <= PLAN_CHECK_RANKS_MAX && p->chunks > 0 && p->rings > 0);
    SIM_ASSERT(p->messages || p->steps == 0); // the streams grain has nothing to replay
    bool shares = p->kind == COLLECTIVE_ALL_GATHER || p->kind == COLLECTIVE_REDUCE_SCATTER;
    if (shares && p->chunks != p->ranks * p->rings) return false;
    if (p->kind == COLLECTIVE_ALL_TO_ALL && p->chunks != p->ranks) return false;
    for (uint32_t m = 0; m < p->message_count; m++)
        if (!message_in_range(p, m)) return false;
    arena_mark_t mark = arena_mark(scratch);
    replay r = { .plan = p };
    r.held = arena_array(scratch, uint64_t, (size_t)p->ranks * p->chunks);
    r.carried = arena_array(scratch, uint64_t, p->message_count);
    r.joined = arena_array(scratch, bool, p->message_count);
    replay_begin(&r);
    bool valid = in_order(p) && sends_are_chains(scratch, p) && edges_add_up(scratch, p) && replay_all(&r) &&
                 replay_promise(&r);
    arena_release(scratch, mark);
    return valid;
}
