// SPDX-License-Identifier: GPL-3.0-or-later
// The ring: every rank sends only to its next neighbour. With ranks named by their place in the ring: reduce-scatter: in
// step s rank r sends chunk r - 1 - s, its own contribution added to what it received the step before, so that after n - 1
// steps rank r holds the whole sum of chunk r. All-gather: in step s rank r sends chunk r - s, first its own, then what it
// received. All-reduce: one after the other.
// Patarasuk, Yuan: "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 69(2), 2009.
// Several rings do this side by side, each with its own chunks.
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

// (place - back) modulo ranks, for back <= ranks.
static uint32_t ring_back(uint32_t place, uint32_t back, uint32_t ranks)
{
    return place >= back ? place - back : place + ranks - back;
}

// The position at a place of a ring; the place after the last is the first.
static uint32_t ring_at(const ring_set *rings, uint32_t ring, uint32_t place)
{
    return rings->orders[(size_t)ring * rings->ranks + (place == rings->ranks ? 0 : place)];
}

// All the bytes of one ring: of its chunks p R + r, those before the remainder have a byte more.
static uint64_t ring_bytes(const plan *p, uint32_t ring)
{
    uint64_t more = p->bytes % p->chunks;
    return p->bytes / p->chunks * p->ranks + (more > ring ? (more - ring - 1) / p->rings + 1 : 0);
}

// What one ring sends over the edge between two of its neighbours: a reduce-scatter every chunk but the sender's own, an
// all-gather every chunk but the receiver's own.
static uint64_t hop_bytes(const plan *p, uint32_t ring, uint32_t from, uint32_t to)
{
    uint64_t bytes = 0, all = ring_bytes(p, ring);
    if (p->kind != COLLECTIVE_ALL_GATHER)
        bytes += all - plan_chunk_bytes(p->bytes, p->chunks, from * p->rings + ring);
    if (p->kind != COLLECTIVE_REDUCE_SCATTER)
        bytes += all - plan_chunk_bytes(p->bytes, p->chunks, to * p->rings + ring);
    return bytes;
}

typedef struct ring_hop { // of one ring from one position to the next: a message per step
    uint32_t edge, ring;
    uint32_t place;  // of the sender in its ring
    uint32_t before; // the hop of the same ring into the sender
} ring_hop;

typedef struct ring_work {
    const ring_set *rings;
    plan *plan;
    uint32_t *places;  // position x rings + ring: where the ring visits it
    uint32_t *edge_of; // position x rings + ring: the edge by which the ring leaves it
    uint32_t *hop_of;  // position x rings + ring: the hop by which the ring leaves it
    ring_hop *hops;    // by edge, then ring: the messages of a step
} ring_work;

static void find_places(arena *a, ring_work *w)
{
    const uint32_t n = w->rings->ranks, count = w->rings->count;
    w->places = arena_array(a, uint32_t, (size_t)n * count);
    w->edge_of = arena_array(a, uint32_t, (size_t)n * count);
    for (uint32_t r = 0; r < count; r++)
        for (uint32_t i = 0; i < n; i++)
            w->places[(size_t)ring_at(w->rings, r, i) * count + r] = i;
}

// Rings that send from one position to the same next one share an edge. A position has few edges, so they are just tried.
static void plan_edges(ring_work *w)
{
    plan *p = w->plan;
    for (uint32_t from = 0; from < p->ranks; from++) {
        const uint32_t first = p->edge_count;
        for (uint32_t r = 0; r < p->rings; r++) {
            const size_t at = (size_t)from * p->rings + r;
            const uint32_t to = ring_at(w->rings, r, w->places[at] + 1);
            uint32_t e = first;
            while (e < p->edge_count && p->edges[e].to != to)
                e++;
            if (e == p->edge_count) p->edges[p->edge_count++] = (plan_edge){ .from = from, .to = to };
            p->edges[e].rings++;
            p->edges[e].bytes += hop_bytes(p, r, from, to);
            w->edge_of[at] = e;
        }
    }
}

static void find_hops(arena *a, ring_work *w)
{
    const plan *p = w->plan;
    const uint32_t n = p->ranks, count = p->rings;
    w->hops = arena_array(a, ring_hop, (size_t)n * count);
    w->hop_of = arena_array(a, uint32_t, (size_t)n * count);
    uint32_t made = 0;
    for (uint32_t e = 0; e < p->edge_count; e++)
        for (uint32_t r = 0; r < count; r++) {
            const size_t at = (size_t)p->edges[e].from * count + r;
            if (w->edge_of[at] != e) continue;
            w->hop_of[at] = made;
            w->hops[made++] = (ring_hop){ .edge = e, .ring = r, .place = w->places[at] };
        }
    for (uint32_t h = 0; h < made; h++) {
        const uint32_t r = w->hops[h].ring, before = ring_at(w->rings, r, ring_back(w->hops[h].place, 1, n));
        w->hops[h].before = w->hop_of[(size_t)before * count + r];
    }
}

static void plan_messages(const ring_work *w)
{
    plan *p = w->plan;
    const uint32_t row = p->ranks * p->rings; // of one step
    const uint32_t scatter_steps = p->kind == COLLECTIVE_ALL_GATHER ? 0 : p->ranks - 1;
    for (uint32_t step = 0; step < p->steps; step++) {
        bool reduces = step < scatter_steps;
        uint32_t back = reduces ? step + 1 : step - scatter_steps;
        int32_t row_before = (int32_t)(step * row) - (int32_t)row; // used from step 1 on
        for (uint32_t h = 0; h < row; h++) {
            const ring_hop *hop = &w->hops[h];
            const plan_edge *edge = &p->edges[hop->edge];
            plan_message *m = &p->messages[step * row + h];
            *m = (plan_message){ .from = edge->from,
                                 .to = edge->to,
                                 .edge = hop->edge,
                                 .step = step,
                                 .ring = (uint16_t)hop->ring,
                                 .reduces = reduces };
            uint32_t owner = ring_at(w->rings, hop->ring, ring_back(hop->place, back, p->ranks));
            m->chunk = owner * p->rings + hop->ring;
            m->bytes = plan_chunk_bytes(p->bytes, p->chunks, m->chunk);
            m->after_own = step ? row_before + (int32_t)h : PLAN_NONE;
            m->after_received = step ? row_before + (int32_t)hop->before : PLAN_NONE;
        }
    }
}

uint64_t plan_ring_messages(collective_kind kind, const ring_set *rings)
{
    SIM_ASSERT(ring_kind(kind));
    return (uint64_t)ring_steps(kind, rings->ranks) * rings->ranks * rings->count;
}

void plan_ring(arena *a, collective_kind kind, const ring_set *rings, uint64_t bytes, collective_grain grain,
               plan *out)
{
    SIM_ASSERT(ring_kind(kind) && rings->ranks > 0 && rings->count > 0 && rings->count <= UINT16_MAX);
    SIM_ASSERT((uint64_t)rings->ranks * rings->count <= UINT32_MAX);
    SIM_ASSERT(bytes <= UINT64_MAX / 2); // an edge of an all-reduce carries nearly twice the buffer
    *out = (plan){ .kind = kind, .ranks = rings->ranks, .rings = rings->count, .bytes = bytes };
    out->chunks = out->ranks * out->rings;
    out->steps = ring_steps(kind, out->ranks);
    if (out->ranks == 1) return;
    out->edges = arena_array(a, plan_edge, out->chunks); // fewer where rings share a pair
    if (grain == GRAIN_MESSAGES) {
        SIM_ASSERT((uint64_t)out->steps * out->chunks <= INT32_MAX);
        out->message_count = out->steps * out->chunks;
        out->messages = arena_array(a, plan_message, out->message_count);
    }
    arena_mark_t mark = arena_mark(a);
    ring_work w = { .rings = rings, .plan = out };
    find_places(a, &w);
    plan_edges(&w);
    if (grain == GRAIN_MESSAGES) {
        find_hops(a, &w);
        plan_messages(&w);
    }
    arena_release(a, mark);
}

// R rings without contention: each of the steps moves S/(n R) bytes over every hop of every ring.
//     T = steps (alpha + S / (n R B))     T, alpha [s]   S [bytes]   n [ranks]   R [rings]
//     B [bytes/s]: what one ring gets of its slowest hop     steps = 2 (n - 1) for an all-reduce, n - 1 for the others
// Patarasuk, Yuan 2009, as above, for each ring. The rings together carry R B, the sum over channels by which NCCL reckons
// (src/graph/tuning.cc, ncclTopoTuneModel: bandwidth = channels x that of one). Where each ring has a NIC of its own, B is
// the NIC's rate, as long as a pair inside the node that m rings share carries m B. Holds for hops of equal latency and for
// S a multiple of n R; below that the largest chunk, ceil(S / (n R)), sets the pace, because every chunk of a ring visits
// all its hops. Chunks and slices in flight, which hide latency in middle sizes, are left out.
double ring_time_s(collective_kind kind, uint32_t ranks, uint32_t rings, double bytes, double alpha_s,
                   double rate_Bps)
{
    SIM_ASSERT(ring_kind(kind) && ranks > 0 && rings > 0 && rate_Bps > 0);
    return ring_steps(kind, ranks) * (alpha_s + bytes / ((double)ranks * rings * rate_Bps));
}
