// SPDX-License-Identifier: GPL-3.0-or-later
// The ring: every rank sends only to its next neighbour. With ranks named by their place in the ring: reduce-scatter: in
// step s rank r sends chunk r - 1 - s, its own contribution added to what it received the step before, so that after n - 1
// steps rank r holds the whole sum of chunk r. All-gather: in step s rank r sends chunk r - s, first its own, then what it
// received. All-reduce: one after the other.
// Patarasuk, Yuan: "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 69(2), 2009.
// Several rings do this side by side, each with its own chunks. Cut, a ring goes round once per loop, and each chunk of a loop
// is slices that follow one another: with L loops of Z slices, rank p's share of ring r are chunks (p R + r) L Z and the
// L Z - 1 after it. Slice z of loop l is sent in step (l j + s) Z + z, for s of j steps: after the sender's slice before it,
// and, but for s = 0, after the same slice of the step before has come.
#include "models/collective/plan.h"
#include "sim/check.h"

static bool ring_kind(collective_kind kind)
{
    return collective_sums_for_all(kind) || kind == COLLECTIVE_REDUCE_SCATTER ||
           kind == COLLECTIVE_ALL_GATHER;
}

static uint32_t ring_steps(collective_kind kind, uint32_t ranks)
{
    return collective_sums_for_all(kind) ? 2 * (ranks - 1) : ranks - 1;
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

// Of one ring in one position's share.
static uint64_t share_bytes(const plan *p, uint32_t position, uint32_t ring)
{
    const uint32_t each = p->share_chunks / p->rings;
    return plan_range_bytes(p->bytes, p->chunks, (position * p->rings + ring) * each, each);
}

typedef struct ring_hop { // of one ring from one position to the next: a message per step
    uint32_t edge, ring;
    uint32_t place;  // of the sender in its ring
    uint32_t before; // the hop of the same ring into the sender
} ring_hop;

typedef struct ring_work {
    const ring_set *rings;
    plan *plan;
    uint32_t *places;     // position x rings + ring: where the ring visits it
    uint32_t *edge_of;    // position x rings + ring: the edge by which the ring leaves it
    uint32_t *hop_of;     // position x rings + ring: the hop by which the ring leaves it
    ring_hop *hops;       // by edge, then ring: the messages of a step
    uint64_t *ring_bytes; // all of each ring
    uint32_t slices;
} ring_work;

// What one ring sends over the edge between two of its neighbours: a reduce-scatter every chunk but the sender's own, an
// all-gather every chunk but the receiver's own.
static uint64_t hop_bytes(const ring_work *w, uint32_t ring, uint32_t from, uint32_t to)
{
    const plan *p = w->plan;
    uint64_t bytes = 0;
    if (p->kind != COLLECTIVE_ALL_GATHER) bytes += w->ring_bytes[ring] - share_bytes(p, from, ring);
    if (p->kind != COLLECTIVE_REDUCE_SCATTER) bytes += w->ring_bytes[ring] - share_bytes(p, to, ring);
    return bytes;
}

static void find_places(arena *a, ring_work *w)
{
    w->ring_bytes = arena_array(a, uint64_t, w->rings->count);
    for (uint32_t r = 0; r < w->rings->count; r++)
        for (uint32_t v = 0; v < w->rings->ranks; v++)
            w->ring_bytes[r] += share_bytes(w->plan, v, r);
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
            p->edges[e].bytes += hop_bytes(w, r, from, to);
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

// The messages of one slice in one of the ring's own steps; returns the one after the last.
static plan_message *fill_row(const ring_work *w, plan_message *m, uint32_t loop, uint32_t step,
                              uint32_t slice)
{
    const plan *p = w->plan;
    const uint32_t row = p->ranks * p->rings, each = p->share_chunks / p->rings;
    const uint32_t scatter_steps = p->kind == COLLECTIVE_ALL_GATHER ? 0 : p->ranks - 1;
    const bool reduces = step < scatter_steps;
    const uint32_t back = reduces ? step + 1 : step - scatter_steps;
    const int32_t first = (int32_t)(m - p->messages);
    for (uint32_t h = 0; h < row; h++, m++) {
        const ring_hop *hop = &w->hops[h];
        const plan_edge *edge = &p->edges[hop->edge];
        *m = (plan_message){ .from = edge->from,
                             .to = edge->to,
                             .edge = hop->edge,
                             .step = (uint32_t)first / row,
                             .ring = (uint16_t)hop->ring,
                             .reduces = reduces };
        const uint32_t owner = ring_at(w->rings, hop->ring, ring_back(hop->place, back, p->ranks));
        m->chunk = (owner * p->rings + hop->ring) * each + loop * w->slices + slice;
        m->bytes = plan_chunk_bytes(p->bytes, p->chunks, m->chunk);
        m->after_own = first > 0 ? first - (int32_t)row + (int32_t)h : PLAN_NONE;
        m->after_received = step > 0 ? first - (int32_t)(w->slices * row) + (int32_t)hop->before : PLAN_NONE;
    }
    return m;
}

static void plan_messages(const ring_work *w)
{
    const plan *p = w->plan;
    const uint32_t loops = p->share_chunks / p->rings / w->slices, steps = ring_steps(p->kind, p->ranks);
    plan_message *next = p->messages;
    for (uint32_t loop = 0; loop < loops; loop++)
        for (uint32_t step = 0; step < steps; step++)
            for (uint32_t slice = 0; slice < w->slices; slice++)
                next = fill_row(w, next, loop, step, slice);
    SIM_ASSERT(next == p->messages + p->message_count);
}

// Of the chunk of one rank on one ring.
static uint32_t pieces_of(const plan_request *r)
{
    const uint64_t chunks = (uint64_t)r->rings->ranks * r->rings->count;
    return plan_pieces(&r->cut, r->bytes / chunks + (r->bytes % chunks > 0));
}

uint64_t plan_ring_messages(const plan_request *r)
{
    SIM_ASSERT(ring_kind(r->kind));
    return (uint64_t)ring_steps(r->kind, r->rings->ranks) * r->rings->ranks * r->rings->count * pieces_of(r);
}

void plan_ring(arena *a, const plan_request *r, plan *out)
{
    const ring_set *rings = r->rings;
    SIM_ASSERT(ring_kind(r->kind) && rings->ranks > 0 && rings->count > 0 && rings->count <= UINT16_MAX);
    SIM_ASSERT(r->bytes <= UINT64_MAX / 2); // an edge of an all-reduce carries nearly twice the buffer
    *out = (plan){ .kind = r->kind, .ranks = rings->ranks, .rings = rings->count, .bytes = r->bytes };
    const uint32_t hops = plan_chunks(out->ranks, out->rings), pieces = pieces_of(r);
    out->share_chunks = plan_chunks(out->rings, pieces);
    out->chunks = plan_chunks(hops, pieces);
    out->steps = ring_steps(r->kind, out->ranks);
    if (out->ranks == 1) return;
    out->edges = arena_array(a, plan_edge, hops); // fewer where rings share a pair
    if (r->grain == GRAIN_MESSAGES) {
        SIM_ASSERT(plan_ring_messages(r) <= INT32_MAX);
        out->steps *= pieces;
        out->message_count = (uint32_t)plan_ring_messages(r);
        out->messages = arena_array(a, plan_message, out->message_count);
    }
    arena_mark_t mark = arena_mark(a);
    ring_work w = { .rings = rings, .plan = out, .slices = r->cut.slices > 0 ? r->cut.slices : 1 };
    find_places(a, &w);
    plan_edges(&w);
    if (r->grain == GRAIN_MESSAGES) {
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
