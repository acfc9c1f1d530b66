// SPDX-License-Identifier: GPL-3.0-or-later
// The all-to-all, pairwise: in step k = 1 .. n - 1 rank r sends its part for rank r + k, and receives from r - k (modulo n). So
// in each step every port sends once and receives once.
//     T = (n - 1) (alpha + S / (n B))    T, alpha [s]   S [bytes]: the buffer of a rank   n [ranks]   B [bytes/s]: a port's
// Thakur, Rabenseifner, Gropp: "Optimization of collective communication operations in MPICH", IJHPCA 19(1), 2005 (long
// messages). Holds where the ports of the ranks are the limit, all alike. As NCCL does, ranks do not wait for one another
// between steps; NCCL sends to up to eight peers at once, which hides latencies that are counted here.
//
// Its chunks are the parts for each rank: chunk t of rank r's buffer goes to rank t.
#include "models/collective/plan.h"
#include "sim/check.h"

uint64_t plan_all_to_all_messages(uint32_t ranks)
{
    return (uint64_t)ranks * (ranks - 1);
}

static void fill_messages(plan *p)
{
    const uint32_t n = p->ranks;
    for (uint32_t step = 0; step < n - 1; step++)
        for (uint32_t from = 0; from < n; from++) {
            const uint32_t m = step * n + from, edge = from * (n - 1) + step;
            const uint32_t to = p->edges[edge].to;
            p->messages[m] = (plan_message){ .from = from,
                                             .to = to,
                                             .edge = edge,
                                             .step = step,
                                             .chunk = to,
                                             .after_own = step > 0 ? (int32_t)(m - n) : PLAN_NONE,
                                             .after_received = PLAN_NONE,
                                             .bytes = plan_chunk_bytes(p->bytes, n, to) };
        }
}

void plan_all_to_all(arena *a, uint32_t ranks, uint64_t bytes, collective_grain grain, plan *out)
{
    SIM_ASSERT(ranks > 0 && plan_all_to_all_messages(ranks) <= INT32_MAX);
    *out = (plan){ .kind = COLLECTIVE_ALL_TO_ALL,
                   .ranks = ranks,
                   .rings = 1,
                   .chunks = ranks,
                   .steps = ranks - 1,
                   .bytes = bytes };
    if (ranks == 1) return;
    out->edge_count = ranks * (ranks - 1);
    out->edges = arena_array(a, plan_edge, out->edge_count);
    for (uint32_t from = 0; from < ranks; from++)
        for (uint32_t k = 1; k < ranks; k++) {
            const uint32_t to = (from + k) % ranks;
            out->edges[from * (ranks - 1) + k - 1] = (plan_edge){
                .from = from, .to = to, .rings = 1, .bytes = plan_chunk_bytes(bytes, ranks, to)
            };
        }
    if (grain != GRAIN_MESSAGES) return;
    out->message_count = out->edge_count;
    out->messages = arena_array(a, plan_message, out->message_count);
    fill_messages(out);
}

double all_to_all_time_s(uint32_t ranks, double bytes, double alpha_s, double rate_Bps)
{
    SIM_ASSERT(ranks > 0 && rate_Bps > 0);
    return (ranks - 1.0) * (alpha_s + bytes / (ranks * rate_Bps));
}
