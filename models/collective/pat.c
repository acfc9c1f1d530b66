// SPDX-License-Identifier: GPL-3.0-or-later
// Parallel aggregated trees, for one rank per node: every rank's share goes out over a binomial tree of its own, all trees
// alike but shifted, and what they send over a pair in the same round is one message. An all-gather begins with the largest
// distance, so that what travels far is small: with d = 2^(L-1), .., 2, 1, a rank that has a share whose owner is a multiple
// of 2 d places before it sends it d places on, unless that would lead once round. A reduce-scatter is the same backwards.
//     bytes   (n - 1) S over all edges     S [bytes]   n [ranks], any number
//     rounds  L = ceil(log2 n)
// Jeaugey: "PAT: a new algorithm for all-gather and reduce-scatter operations at scale", 2025 (arXiv:2506.20252); Bruck et
// al.: "Efficient algorithms for all-to-all communications in multiport message-passing systems", IEEE TPDS 8, 1997.
// Pieces follow one another, each a round behind the one before.
#include "models/collective/plan_sketch.h"

// All that a rank sends in the round of distance d: shares of owners that lie at the sender's place in their tree.
static void draw_sender(plan_sketch *s, sketch_send send, uint32_t d, uint32_t piece)
{
    const uint32_t n = s->plan->ranks, begin = send.reduces ? d : 0;
    send.to = send.reduces ? (send.from + n - d) % n : (send.from + d) % n;
    uint64_t bytes = 0;
    for (uint64_t place = begin; place + (send.reduces ? 0 : d) < n; place += 2 * (uint64_t)d) {
        const uint32_t owner = (send.from + n - (uint32_t)place) % n;
        send.chunk = owner * s->pieces + piece;
        if (s->pass == SKETCH_EDGES)
            bytes += plan_range_bytes(s->plan->bytes, s->plan->chunks, send.chunk, s->pieces);
        else
            sketch_add(s, &send);
    }
    if (s->pass == SKETCH_EDGES) sketch_add_edge(s, &send, bytes);
}

static void draw(plan_sketch *s)
{
    const uint32_t rounds = plan_doublings(s->plan->ranks);
    const bool reduces = s->plan->kind == COLLECTIVE_REDUCE_SCATTER;
    for (uint32_t piece = 0; piece < sketch_rounds(s); piece++)
        for (uint32_t round = 0; round < rounds; round++)
            for (uint32_t from = 0; from < s->plan->ranks; from++)
                draw_sender(s,
                            (sketch_send){ .from = from,
                                           .step = round + piece,
                                           .operation = sketch_stage(s, round),
                                           .count = 1,
                                           .reduces = reduces },
                            UINT32_C(1) << (reduces ? round : rounds - 1 - round), piece);
}

void plan_pat(arena *a, const plan_request *r, plan *out)
{
    SIM_ASSERT(r->kind == COLLECTIVE_ALL_GATHER || r->kind == COLLECTIVE_REDUCE_SCATTER);
    *out = (plan){ .kind = r->kind, .ranks = r->rings->ranks, .rings = 1, .bytes = r->bytes };
    const uint32_t pieces = plan_pieces(&r->cut, (r->bytes + out->ranks - 1) / out->ranks);
    out->share_chunks = pieces;
    out->chunks = plan_chunks(out->ranks, pieces);
    if (out->ranks == 1) return;
    const bool streams = r->grain == GRAIN_STREAMS;
    out->steps = plan_doublings(out->ranks) + (streams ? 0 : pieces - 1);
    out->stage_count = streams ? out->steps : 0;
    plan_sketch s = { .request = r, .plan = out, .arena = a, .pieces = pieces };
    sketch_plan(&s, &(sketch_algorithm){ .draw = draw });
}
