// SPDX-License-Identifier: GPL-3.0-or-later
// From position 0 to position 1: a point-to-point transfer as pipelines use it; one message, or the pieces of a cut.
#include "models/collective/plan.h"
#include "sim/check.h"

void plan_send_recv(arena *a, const plan_request *r, plan *out)
{
    const uint32_t pieces = plan_pieces(&r->cut, r->bytes);
    const bool messages = r->grain == GRAIN_MESSAGES;
    *out = (plan){
        .kind = COLLECTIVE_SEND_RECV, .ranks = 2, .rings = 1, .chunks = pieces, .steps = 1, .bytes = r->bytes
    };
    out->edge_count = 1;
    out->edges = arena_new(a, plan_edge);
    *out->edges = (plan_edge){ .from = 0, .to = 1, .rings = 1, .bytes = r->bytes };
    if (!messages) return;
    out->steps = out->message_count = pieces;
    out->messages = arena_array(a, plan_message, pieces);
    for (uint32_t m = 0; m < pieces; m++)
        out->messages[m] = (plan_message){ .from = 0,
                                           .to = 1,
                                           .step = m,
                                           .chunk = m,
                                           .after_own = (int32_t)m - 1,
                                           .after_received = PLAN_NONE,
                                           .bytes = plan_chunk_bytes(r->bytes, pieces, m) };
}
