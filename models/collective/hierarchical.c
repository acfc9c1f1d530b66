// SPDX-License-Identifier: GPL-3.0-or-later
// Rings inside nodes and rings over them, of N nodes with g ranks each: a reduce-scatter inside each node, after which the rank
// at place j holds the node's sum of shares (0, j) .. (N - 1, j); an all-reduce over nodes among those at place j; and an
// all-gather inside each node. A reduce-scatter has only what sums, an all-gather only what copies. So of the buffer only a
// g-th part crosses each NIC.
//     bytes   (n - 1) S over all edges, all-reduce twice that; of it between nodes (N - 1) S, twice that
//     rounds  (g - 1) + (N - 1), all-reduce twice that     S [bytes]   n = g N [ranks]
// Pieces of the shares follow one another: inside a node the next one while the one before is between nodes. A place is one in
// the chain of the first ring. The rings themselves are those of ring.c.
#include "models/collective/plan_sketch.h"

typedef struct hierarchical_work {
    plan_sketch *sketch;
    uint32_t nodes, size;
    bool sums, copies;
    uint32_t piece;
} hierarchical_work;

typedef struct hierarchical_lengths { // rounds of the three stages, and of the longest
    uint32_t scatter, across, gather, longest;
} hierarchical_lengths;

static hierarchical_lengths lengths_of(const hierarchical_work *w)
{
    hierarchical_lengths l = { .scatter = w->sums ? w->size - 1 : 0,
                               .across = (w->sums + w->copies) * (w->nodes - 1),
                               .gather = w->copies ? w->size - 1 : 0 };
    l.longest = l.scatter > l.gather ? l.scatter : l.gather;
    if (l.across > l.longest) l.longest = l.across;
    return l;
}

static hierarchical_work work_of(plan_sketch *s, const plan_request *r)
{
    const uint32_t nodes = plan_nodes(r->rings);
    return (hierarchical_work){ .sketch = s,
                                .nodes = nodes,
                                .size = r->rings->ranks / nodes,
                                .sums = r->kind != COLLECTIVE_ALL_GATHER,
                                .copies = r->kind != COLLECTIVE_REDUCE_SCATTER };
}

static uint32_t rank_at(const hierarchical_work *w, uint32_t node, uint32_t place)
{
    return plan_chain_at(w->sketch->request->rings, 0, node, place);
}

static void add_share(const hierarchical_work *w, sketch_send send, uint32_t owner)
{
    send.chunk = owner * w->sketch->pieces + w->piece;
    send.count = 1;
    sketch_add(w->sketch, &send);
}

// Inside each node, of all shares of one place in each round.
static void draw_inside(const hierarchical_work *w, uint32_t step, bool sums)
{
    for (uint32_t round = 0; round < w->size - 1; round++)
        for (uint32_t v = 0; v < w->nodes; v++)
            for (uint32_t i = 0; i < w->size; i++) {
                const uint32_t place = (i + 2 * w->size - round - sums) % w->size;
                const sketch_send send = { .from = rank_at(w, v, i),
                                           .to = rank_at(w, v, (i + 1) % w->size),
                                           .step = step + round,
                                           .reduces = sums };
                for (uint32_t other = 0; other < w->nodes; other++)
                    add_share(w, send, rank_at(w, other, place));
            }
}

// Over nodes, of one share of each place in each round.
static void draw_across(const hierarchical_work *w, uint32_t step, bool sums)
{
    for (uint32_t round = 0; round < w->nodes - 1; round++)
        for (uint32_t v = 0; v < w->nodes; v++)
            for (uint32_t i = 0; i < w->size; i++) {
                const uint32_t owner = (v + 2 * w->nodes - round - sums) % w->nodes;
                add_share(w,
                          (sketch_send){ .from = rank_at(w, v, i),
                                         .to = rank_at(w, (v + 1) % w->nodes, i),
                                         .step = step + round,
                                         .reduces = sums },
                          rank_at(w, owner, i));
            }
}

static uint64_t share_bytes(const hierarchical_work *w, uint32_t node, uint32_t place)
{
    const plan *p = w->sketch->plan;
    return plan_range_bytes(p->bytes, p->chunks, rank_at(w, node, place) * w->sketch->pieces,
                            w->sketch->pieces);
}

// A ring that sums sends all but the sender's own, one that copies all but the receiver's own.
static void add_inside(const hierarchical_work *w, const uint64_t *places, uint32_t stage, bool sums)
{
    plan_sketch *s = w->sketch;
    for (uint32_t v = 0; v < w->nodes; v++)
        for (uint32_t i = 0; i < w->size; i++) {
            const uint32_t beside = (i + 1) % w->size;
            const sketch_send send = { .from = rank_at(w, v, i),
                                       .to = rank_at(w, v, beside),
                                       .operation = sketch_stage(s, stage) };
            sketch_add_edge(s, &send, s->plan->bytes - places[sums ? i : beside]);
        }
}

static void add_across(const hierarchical_work *w, const uint64_t *places, uint32_t stage)
{
    plan_sketch *s = w->sketch;
    for (uint32_t v = 0; v < w->nodes; v++)
        for (uint32_t i = 0; i < w->size; i++) {
            const uint32_t behind = (v + 1) % w->nodes;
            const sketch_send send = { .from = rank_at(w, v, i),
                                       .to = rank_at(w, behind, i),
                                       .operation = sketch_stage(s, stage) };
            sketch_add_edge(s, &send,
                            w->sums * (places[i] - share_bytes(w, v, i)) +
                                w->copies * (places[i] - share_bytes(w, behind, i)));
        }
}

static void draw_edges(const hierarchical_work *w)
{
    plan_sketch *s = w->sketch;
    const bool inside = w->size > 1, across = w->nodes > 1;
    uint64_t *places = arena_array(s->arena, uint64_t, w->size); // of all shares of a place
    for (uint32_t v = 0; v < w->nodes; v++)
        for (uint32_t i = 0; i < w->size; i++)
            places[i] += share_bytes(w, v, i);
    uint32_t stage = 0;
    if (inside && w->sums) add_inside(w, places, stage++, true);
    if (across) add_across(w, places, stage++);
    if (inside && w->copies) add_inside(w, places, stage, false);
}

static void draw(plan_sketch *s)
{
    hierarchical_work w = work_of(s, s->request);
    if (s->pass == SKETCH_EDGES) {
        draw_edges(&w);
        return;
    }
    const hierarchical_lengths l = lengths_of(&w);
    for (w.piece = 0; w.piece < s->pieces; w.piece++) {
        uint32_t step = w.piece * l.longest;
        if (w.sums) draw_inside(&w, step, true);
        step += l.scatter;
        if (w.sums) draw_across(&w, step, true);
        if (w.copies) draw_across(&w, step + (w.sums ? w.nodes - 1 : 0), false);
        if (w.copies) draw_inside(&w, step + l.across, false);
    }
}

void plan_hierarchical(arena *a, const plan_request *r, plan *out)
{
    SIM_ASSERT(plan_nodes_alike(r->rings));
    const uint32_t n = r->rings->ranks;
    *out = (plan){ .kind = r->kind, .ranks = n, .rings = 1, .bytes = r->bytes };
    const uint32_t pieces = plan_pieces(&r->cut, (r->bytes + n - 1) / n);
    out->share_chunks = pieces;
    out->chunks = plan_chunks(n, pieces);
    if (n == 1) return;
    plan_sketch s = { .request = r, .plan = out, .arena = a, .pieces = pieces };
    const hierarchical_work w = work_of(&s, r);
    const hierarchical_lengths l = lengths_of(&w);
    const bool streams = r->grain == GRAIN_STREAMS;
    const uint32_t steps[] = { l.scatter, l.across, l.gather };
    out->steps = l.scatter + l.across + l.gather + (streams ? 0 : (pieces - 1) * l.longest);
    for (uint32_t i = 0; i < ARRAY_COUNT(steps); i++)
        out->stage_count += streams && steps[i] > 0;
    sketch_plan(&s, &(sketch_algorithm){ .draw = draw });
    for (uint32_t i = 0, stage = 0; i < ARRAY_COUNT(steps) && streams; i++)
        if (steps[i] > 0) out->stages[stage++].steps = steps[i];
}
