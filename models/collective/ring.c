// SPDX-License-Identifier: GPL-3.0-or-later
// The ring: every rank sends only to its next neighbour. Reduce-scatter: in step s rank r sends chunk r - 1 - s, its own
// contribution added to what it received the step before, so that after n - 1 steps rank r holds the whole sum of chunk r.
// All-gather: in step s rank r sends chunk r - s, first its own, then what it received. All-reduce: one after the other.
// Patarasuk, Yuan: "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 69(2), 2009.
#include "models/collective/plan.h"
#include "sim/check.h"

static bool ring_kind(collective_kind kind)
{
    return kind == COLLECTIVE_ALL_REDUCE || kind == COLLECTIVE_REDUCE_SCATTER ||
           kind == COLLECTIVE_ALL_GATHER;
}

static uint32_t ring_steps(collective_kind kind, uint32_t ranks)
{
    return kind == COLLECTIVE_ALL_REDUCE ? 2 * (ranks - 1) : ranks - 1;
}

// (rank - back) modulo ranks, for back <= ranks.
static uint32_t ring_back(uint32_t rank, uint32_t back, uint32_t ranks)
{
    return rank >= back ? rank - back : rank + ranks - back;
}

static uint32_t ring_next(uint32_t rank, uint32_t ranks)
{
    return rank + 1 == ranks ? 0 : rank + 1;
}

// A reduce-scatter sends every chunk but the sender's own over an edge; an all-gather every chunk but the receiver's own.
static void plan_edges(arena *a, plan *p)
{
    p->edge_count = p->ranks;
    p->edges = arena_array(a, plan_edge, p->edge_count);
    for (uint32_t r = 0; r < p->ranks; r++) {
        plan_edge *edge = &p->edges[r];
        *edge = (plan_edge){ .from = r, .to = ring_next(r, p->ranks) };
        if (p->kind != COLLECTIVE_ALL_GATHER)
            edge->bytes += p->bytes - plan_chunk_bytes(p->bytes, p->ranks, edge->from);
        if (p->kind != COLLECTIVE_REDUCE_SCATTER)
            edge->bytes += p->bytes - plan_chunk_bytes(p->bytes, p->ranks, edge->to);
    }
}

static void plan_messages(arena *a, plan *p)
{
    uint32_t n = p->ranks;
    SIM_ASSERT((uint64_t)p->steps * n <= INT32_MAX);
    p->message_count = p->steps * n;
    p->messages = arena_array(a, plan_message, p->message_count);
    uint32_t scatter_steps = p->kind == COLLECTIVE_ALL_GATHER ? 0 : n - 1;
    for (uint32_t step = 0; step < p->steps; step++) {
        bool reduces = step < scatter_steps;
        uint32_t back = reduces ? step + 1 : step - scatter_steps;
        int32_t row_before = (int32_t)(step * n) - (int32_t)n; // used from step 1 on
        for (uint32_t r = 0; r < n; r++) {
            plan_message *m = &p->messages[step * n + r];
            *m = (plan_message){
                .from = r, .to = ring_next(r, n), .edge = r, .step = step, .reduces = reduces
            };
            m->chunk = ring_back(r, back, n);
            m->bytes = plan_chunk_bytes(p->bytes, n, m->chunk);
            m->after_own = step ? row_before + (int32_t)r : PLAN_NONE;
            m->after_received = step ? row_before + (int32_t)ring_back(r, 1, n) : PLAN_NONE;
        }
    }
}

void plan_ring(arena *a, collective_kind kind, uint32_t ranks, uint64_t bytes, collective_grain grain,
               plan *out)
{
    SIM_ASSERT(ring_kind(kind) && ranks > 0);
    SIM_ASSERT(bytes <= UINT64_MAX / 2); // an edge of an all-reduce carries nearly twice the buffer
    *out = (plan){ .kind = kind, .ranks = ranks, .chunks = ranks, .bytes = bytes };
    out->steps = ring_steps(kind, ranks);
    if (ranks == 1) return;
    plan_edges(a, out);
    if (grain == GRAIN_MESSAGES) plan_messages(a, out);
}

// Ring without contention: each of the steps moves S/n bytes over every edge.
//     T = steps (alpha + S / (n B))     T, alpha [s]   S [bytes]   B [bytes/s]   n [ranks]
//     steps = 2 (n - 1) for an all-reduce, n - 1 for a reduce-scatter or an all-gather
// Patarasuk, Yuan 2009, as above. Holds for equal edges and for S a multiple of n; below that the largest chunk,
// ceil(S / n), sets the pace, because every chunk visits every edge.
double ring_time_s(collective_kind kind, uint32_t ranks, double bytes, double alpha_s, double rate_Bps)
{
    SIM_ASSERT(ring_kind(kind) && ranks > 0 && rate_Bps > 0);
    return ring_steps(kind, ranks) * (alpha_s + bytes / (ranks * rate_Bps));
}
