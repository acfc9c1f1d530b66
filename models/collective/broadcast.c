// SPDX-License-Identifier: GPL-3.0-or-later
// The broadcast: the root's buffer goes round the ring in pieces, one behind the other, and stops before it is back. The root
// is position 0, wherever the rings begin. Each of several rings takes every R-th piece.
//     streams   T = (n - 1) alpha + S / (R B)              a pipeline of pieces that take no time each
//     messages  T = (n + K - 2) (alpha + S / (R K B))      K pieces on each ring
// T, alpha [s]   S [bytes]   n [ranks]   R [rings]   B [bytes/s]: what one ring gets of its slowest hop
// Pieces are of 512 KiB, the chunk of NCCL's broadcasts (BROADCAST_CHUNKSTEPS: one of the eight steps of a buffer of
// 4 MiB), but at most 64 on a ring, so that large buffers do not make plans without end; a cut has its own. A rank sends a
// piece when the one before it has arrived, where NCCL has up to eight on their way.
// The reduce goes the same way and ends at the root: from the one after it on, each adds its own and sends on.
#include "models/collective/plan.h"
#include "sim/check.h"

enum { PIECE_BYTES = 524288, PIECES_MAX = 64 };

typedef struct broadcast_hop { // of one ring from one position to the next: a message per piece
    uint32_t edge, ring;
    uint32_t place;  // of the sender, counted from the first to send
    uint32_t before; // the hop of the same ring into the sender; not for the first
} broadcast_hop;

typedef struct broadcast_work {
    const ring_set *rings;
    plan *plan;
    uint32_t pieces;
    uint32_t *positions; // ring x ranks + place from the first to send
    uint32_t *places;    // position x rings + ring
    uint32_t *edge_of;   // position x rings + ring
    uint32_t *hop_of;    // position x rings + ring
    broadcast_hop *hops; // by edge, then ring
    uint32_t hop_count;
} broadcast_work;

// Without a cut, on each of the rings.
static uint32_t usual_pieces(uint64_t bytes, uint32_t rings)
{
    const uint64_t pieces = bytes / rings / PIECE_BYTES + (bytes / rings % PIECE_BYTES > 0);
    return pieces == 0 ? 1 : pieces < PIECES_MAX ? (uint32_t)pieces : PIECES_MAX;
}

static uint32_t pieces_of(const plan_request *r)
{
    const uint32_t rings = r->rings->count;
    if (r->cut.chunk_bytes == 0 && r->cut.slices <= 1) return usual_pieces(r->bytes, rings);
    return plan_pieces(&r->cut, r->bytes / rings + (r->bytes % rings > 0));
}

static void find_places(arena *a, broadcast_work *w)
{
    const uint32_t n = w->plan->ranks, count = w->plan->rings;
    w->positions = arena_array(a, uint32_t, (size_t)n * count);
    w->places = arena_array(a, uint32_t, (size_t)n * count);
    w->edge_of = arena_array(a, uint32_t, (size_t)n * count);
    w->hop_of = arena_array(a, uint32_t, (size_t)n * count);
    for (uint32_t r = 0; r < count; r++) {
        const uint32_t *order = &w->rings->orders[(size_t)r * n];
        uint32_t first = 0;
        while (order[first] != 0)
            first++;
        if (w->plan->kind == COLLECTIVE_REDUCE) first++;
        for (uint32_t i = 0; i < n; i++) {
            const uint32_t position = order[(first + i) % n];
            w->positions[(size_t)r * n + i] = position;
            w->places[(size_t)position * count + r] = i;
        }
    }
}

// All pieces of one ring: chunks k R + r.
static uint64_t ring_bytes(const broadcast_work *w, uint32_t ring)
{
    uint64_t bytes = 0;
    for (uint32_t k = 0; k < w->pieces; k++)
        bytes += plan_chunk_bytes(w->plan->bytes, w->plan->chunks, k * w->plan->rings + ring);
    return bytes;
}

// By sender; rings that send from one position to the same next one share an edge. Then the hops, by edge and ring.
static void add_sender(broadcast_work *w, uint32_t from)
{
    plan *p = w->plan;
    const uint32_t n = p->ranks, first = p->edge_count;
    for (uint32_t r = 0; r < p->rings; r++) {
        const uint32_t place = w->places[(size_t)from * p->rings + r];
        if (place == n - 1) continue;
        const uint32_t to = w->positions[(size_t)r * n + place + 1];
        uint32_t e = first;
        while (e < p->edge_count && p->edges[e].to != to)
            e++;
        if (e == p->edge_count) p->edges[p->edge_count++] = (plan_edge){ .from = from, .to = to };
        p->edges[e].rings++;
        p->edges[e].bytes += ring_bytes(w, r);
        w->edge_of[(size_t)from * p->rings + r] = e;
    }
    for (uint32_t e = first; e < p->edge_count; e++)
        for (uint32_t r = 0; r < p->rings; r++) {
            const size_t at = (size_t)from * p->rings + r;
            if (w->places[at] == n - 1 || w->edge_of[at] != e) continue;
            w->hop_of[at] = w->hop_count;
            w->hops[w->hop_count++] = (broadcast_hop){ .edge = e, .ring = r, .place = w->places[at] };
        }
}

// Piece k leaves place h in step h + k.
static void fill_messages(arena *a, broadcast_work *w)
{
    plan *p = w->plan;
    const uint32_t n = p->ranks;
    int32_t *latest = arena_array(a, int32_t, w->hop_count); // 1 + the message of the hop in the step before
    int32_t *now = arena_array(a, int32_t, w->hop_count);
    for (uint32_t h = 0; h < w->hop_count; h++) {
        broadcast_hop *hop = &w->hops[h];
        if (hop->place == 0) continue;
        const uint32_t sender = w->positions[(size_t)hop->ring * n + hop->place - 1];
        hop->before = w->hop_of[(size_t)sender * p->rings + hop->ring];
    }
    uint32_t made = 0;
    for (uint32_t step = 0; step < p->steps; step++) {
        for (uint32_t h = 0; h < w->hop_count; h++) {
            const broadcast_hop *hop = &w->hops[h];
            now[h] = 0;
            if (step < hop->place || step - hop->place >= w->pieces) continue;
            const uint32_t chunk = (step - hop->place) * p->rings + hop->ring;
            p->messages[made] = (plan_message){ .from = p->edges[hop->edge].from,
                                                .to = p->edges[hop->edge].to,
                                                .edge = hop->edge,
                                                .step = step,
                                                .chunk = chunk,
                                                .after_own = latest[h] - 1,
                                                .after_received = hop->place > 0 ? latest[hop->before] - 1
                                                                                 : PLAN_NONE,
                                                .ring = (uint16_t)hop->ring,
                                                .reduces = p->kind == COLLECTIVE_REDUCE,
                                                .bytes = plan_chunk_bytes(p->bytes, p->chunks, chunk) };
            now[h] = (int32_t)++made;
        }
        int32_t *swap = latest;
        latest = now;
        now = swap;
    }
    SIM_ASSERT(made == p->message_count);
}

uint64_t plan_broadcast_messages(const plan_request *r)
{
    return (uint64_t)(r->rings->ranks - 1) * r->rings->count * pieces_of(r);
}

void plan_broadcast(arena *a, const plan_request *r, plan *out)
{
    const ring_set *rings = r->rings;
    const uint32_t n = rings->ranks, pieces = pieces_of(r);
    SIM_ASSERT(r->kind == COLLECTIVE_BROADCAST || r->kind == COLLECTIVE_REDUCE);
    SIM_ASSERT(n > 0 && rings->count > 0 && rings->count <= UINT16_MAX);
    SIM_ASSERT((uint64_t)n * rings->count <= UINT32_MAX && r->bytes <= UINT64_MAX / 2);
    *out = (plan){ .kind = r->kind, .ranks = n, .rings = rings->count, .bytes = r->bytes };
    out->chunks = plan_chunks(out->rings, pieces);
    if (n == 1) return;
    out->steps = r->grain == GRAIN_STREAMS ? n - 1 : n - 1 + pieces - 1;
    out->edges = arena_array(a, plan_edge, (size_t)(n - 1) * out->rings);
    if (r->grain == GRAIN_MESSAGES) {
        SIM_ASSERT(plan_broadcast_messages(r) <= INT32_MAX);
        out->message_count = (uint32_t)plan_broadcast_messages(r);
        out->messages = arena_array(a, plan_message, out->message_count);
    }
    arena_mark_t mark = arena_mark(a);
    broadcast_work w = { .rings = rings, .plan = out, .pieces = pieces };
    w.hops = arena_array(a, broadcast_hop, (size_t)(n - 1) * out->rings);
    find_places(a, &w);
    for (uint32_t from = 0; from < n; from++)
        add_sender(&w, from);
    if (r->grain == GRAIN_MESSAGES) fill_messages(a, &w);
    arena_release(a, mark);
}

double broadcast_time_s(uint32_t ranks, uint32_t rings, double bytes, collective_grain grain, double alpha_s,
                        double rate_Bps)
{
    SIM_ASSERT(ranks > 0 && rings > 0 && rate_Bps > 0 && bytes >= 0);
    if (ranks == 1) return 0;
    const double wire_s = bytes / (rings * rate_Bps);
    if (grain == GRAIN_STREAMS) return (ranks - 1.0) * alpha_s + wire_s;
    const double pieces = usual_pieces((uint64_t)bytes, rings);
    return (ranks + pieces - 2.0) * (alpha_s + wire_s / pieces);
}
