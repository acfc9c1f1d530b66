// SPDX-License-Identifier: GPL-3.0-or-later
// One message from position 0 to position 1: a point-to-point transfer as pipelines use it.
#include "models/collective/plan.h"

void plan_send_recv(arena *a, uint64_t bytes, collective_grain grain, plan *out)
{
    *out = (plan){
        .kind = COLLECTIVE_SEND_RECV, .ranks = 2, .rings = 1, .chunks = 1, .steps = 1, .bytes = bytes
    };
    out->edge_count = 1;
    out->edges = arena_new(a, plan_edge);
    *out->edges = (plan_edge){ .from = 0, .to = 1, .rings = 1, .bytes = bytes };
    if (grain != GRAIN_MESSAGES) return;
    out->message_count = 1;
    out->messages = arena_new(a, plan_message);
    *out->messages = (plan_message){
        .from = 0, .to = 1, .after_own = PLAN_NONE, .after_received = PLAN_NONE, .bytes = bytes
    };
}
