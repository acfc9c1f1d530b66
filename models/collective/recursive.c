// SPDX-License-Identifier: GPL-3.0-or-later
// Recursive halving and doubling, over the p = 2^L <= n first ranks: with d = 1, 2, .., p/2, ranks d apart exchange the halves
// of what they still sum, so that each ends with the sum of its own; and with d = p/2, .., 2, 1 they exchange all that they
// have. So the large exchanges are between neighbours, and small ones travel far. Reduce-scatter is the first, all-gather the
// second, all-reduce both. Each of the e = n - p other ranks first gives rank i = its number - p what it has, and at last gets
// from it what it lacks.
//     bytes   (n - 1) S over all edges, all-reduce twice that     S [bytes]   n [ranks]
//     rounds  L, all-reduce 2 L; and 2 more where n is no power of two
// Thakur, Rabenseifner, Gropp: "Optimization of collective communication operations in MPICH", IJHPCA 19(1), 2005.
// The buffer is cut in units: for an all-reduce p, one for each rank of the power; else n, a share each: rank i works on that
// of rank p + i as well. Having halved by distances below d, rank i still sums the units u = i modulo d. Pieces of the units
// follow one another, each after all rounds of the one before.
#include "models/collective/plan_sketch.h"

typedef struct recursive_work {
    plan_sketch *sketch;
    uint32_t power, others, units;
    uint32_t piece, step;
} recursive_work;

static uint32_t rounds_of(collective_kind kind, uint32_t ranks)
{
    const uint32_t power = plan_power_within(ranks);
    return (collective_sums_for_all(kind) ? 2 : 1) * plan_doublings(power) + (power < ranks ? 2 : 0);
}

// Units first, first + stride, .. below end.
static void add_units(const recursive_work *w, sketch_send send, uint32_t first, uint32_t end,
                      uint32_t stride)
{
    plan_sketch *s = w->sketch;
    const uint32_t pieces = s->pass == SKETCH_EDGES ? s->pieces : 1;
    uint64_t bytes = 0;
    send.step = w->step;
    send.operation = sketch_stage(s, w->step);
    send.count = 1;
    for (uint32_t unit = first; unit < end; unit += stride) {
        send.chunk = unit * s->pieces + w->piece;
        if (s->pass == SKETCH_EDGES)
            bytes += plan_range_bytes(s->plan->bytes, s->plan->chunks, send.chunk, pieces);
        else
            sketch_add(s, &send);
    }
    if (s->pass == SKETCH_EDGES && first < end) sketch_add_edge(s, &send, bytes);
}

// Those that rank `first` of the power and each stride-th behind it work on.
static void add_block(const recursive_work *w, sketch_send send, uint32_t first, uint32_t stride)
{
    add_units(w, send, first, w->power, stride);
    if (w->units > w->power) add_units(w, send, w->power + first, w->power + w->others, stride);
}

static void draw_fold(recursive_work *w)
{
    for (uint32_t i = 0; i < w->others; i++) {
        const uint32_t other = w->power + i;
        const sketch_send send = { .from = other, .to = i, .reduces = true };
        switch (w->sketch->plan->kind) {
        case COLLECTIVE_ALL_GATHER:
            add_units(w, (sketch_send){ .from = other, .to = i }, other, other + 1, 1);
            break;
        case COLLECTIVE_REDUCE_SCATTER:
            add_units(w, send, 0, other, 1);
            add_units(w, send, other + 1, w->units, 1);
            break;
        default: add_units(w, send, 0, w->units, 1);
        }
    }
    w->step += w->others > 0;
}

static void draw_unfold(recursive_work *w)
{
    for (uint32_t i = 0; i < w->others; i++) {
        const uint32_t other = w->power + i;
        const sketch_send send = { .from = i, .to = other };
        switch (w->sketch->plan->kind) {
        case COLLECTIVE_ALL_GATHER:
            add_units(w, send, 0, other, 1);
            add_units(w, send, other + 1, w->units, 1);
            break;
        case COLLECTIVE_REDUCE_SCATTER:
            add_units(w, (sketch_send){ .from = i, .to = other, .reduces = true }, other, other + 1, 1);
            break;
        default: add_units(w, send, 0, w->units, 1);
        }
    }
    w->step += w->others > 0;
}

static void draw_halving(recursive_work *w)
{
    for (uint32_t d = 1; d < w->power; d *= 2, w->step++)
        for (uint32_t i = 0; i < w->power; i++) {
            const uint32_t to = i ^ d;
            add_block(w, (sketch_send){ .from = i, .to = to, .reduces = true }, to % (2 * d), 2 * d);
        }
}

static void draw_doubling(recursive_work *w)
{
    for (uint32_t d = w->power / 2; d > 0; d /= 2, w->step++)
        for (uint32_t i = 0; i < w->power; i++)
            add_block(w, (sketch_send){ .from = i, .to = i ^ d }, i % (2 * d), 2 * d);
}

static void draw(plan_sketch *s)
{
    const plan *p = s->plan;
    const uint32_t power = plan_power_within(p->ranks);
    recursive_work w = {
        .sketch = s, .power = power, .others = p->ranks - power, .units = p->chunks / s->pieces
    };
    for (w.piece = 0; w.piece < sketch_rounds(s); w.piece++) {
        w.step = w.piece * rounds_of(p->kind, p->ranks);
        draw_fold(&w);
        if (p->kind != COLLECTIVE_ALL_GATHER) draw_halving(&w);
        if (p->kind != COLLECTIVE_REDUCE_SCATTER) draw_doubling(&w);
        draw_unfold(&w);
    }
}

void plan_recursive(arena *a, const plan_request *r, plan *out)
{
    const uint32_t n = r->rings->ranks, units = collective_sums_for_all(r->kind) ? plan_power_within(n) : n;
    *out = (plan){ .kind = r->kind, .ranks = n, .rings = 1, .bytes = r->bytes };
    const uint32_t pieces = plan_pieces(&r->cut, (r->bytes + units - 1) / units);
    out->share_chunks = pieces;
    out->chunks = plan_chunks(units, pieces);
    if (n == 1) return;
    const bool streams = r->grain == GRAIN_STREAMS;
    out->steps = rounds_of(r->kind, n) * (streams ? 1 : pieces);
    out->stage_count = streams ? out->steps : 0;
    plan_sketch s = { .request = r, .plan = out, .arena = a, .pieces = pieces };
    sketch_plan(&s, &(sketch_algorithm){ .draw = draw });
}
