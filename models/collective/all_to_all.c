// SPDX-License-Identifier: GPL-3.0-or-later
// The all-to-all, pairwise: in step k = 1 .. n - 1 rank r sends its part for rank r + k, and receives from r - k (modulo n). So
// in each step every port sends once and receives once.
//     T = (n - 1) (alpha + S / (n B))    T, alpha [s]   S [bytes]: the buffer of a rank   n [ranks]   B [bytes/s]: a port's
// Thakur, Rabenseifner, Gropp: "Optimization of collective communication operations in MPICH", IJHPCA 19(1), 2005 (long
// messages). Holds where the ports of the ranks are the limit, all alike. As NCCL does, ranks do not wait for one another
// between steps; NCCL sends to up to eight peers at once, which hides latencies that are counted here.
//
// Its chunks are the parts for each rank: chunk t of rank r's buffer goes to rank t; cut in K pieces, chunks t K and after.
// Unequal parts are those of a matrix; what is empty is not sent.
#include "models/collective/plan.h"
#include "sim/check.h"

static uint64_t part_bytes(const plan_request *r, uint32_t from, uint32_t to)
{
    const uint32_t n = r->rings->ranks;
    return r->parts ? r->parts[(size_t)from * n + to] : plan_chunk_bytes(r->bytes, n, to);
}

static bool is_sent(const plan_request *r, uint32_t from, uint32_t to)
{
    return from != to && (!r->parts || part_bytes(r, from, to) > 0);
}

static uint32_t pieces_of(const plan_request *r)
{
    uint64_t largest = 0;
    for (uint32_t from = 0; from < (r->parts ? r->rings->ranks : 1); from++)
        for (uint32_t to = 0; to < r->rings->ranks; to++)
            if (part_bytes(r, from, to) > largest) largest = part_bytes(r, from, to);
    return plan_pieces(&r->cut, largest);
}

static uint64_t edge_count(const plan_request *r)
{
    const uint32_t n = r->rings->ranks;
    if (!r->parts) return (uint64_t)n * (n - 1);
    uint64_t edges = 0;
    for (uint32_t from = 0; from < n; from++)
        for (uint32_t to = 0; to < n; to++)
            edges += is_sent(r, from, to);
    return edges;
}

uint64_t plan_all_to_all_messages(const plan_request *r)
{
    return edge_count(r) * pieces_of(r);
}

// By sender, each one's in the order of its rounds.
static void fill_edges(const plan_request *r, plan *p)
{
    uint32_t made = 0;
    for (uint32_t from = 0; from < p->ranks; from++)
        for (uint32_t k = 1; k < p->ranks; k++) {
            const uint32_t to = (from + k) % p->ranks;
            if (!is_sent(r, from, to)) continue;
            p->edges[made++] =
                (plan_edge){ .from = from, .to = to, .rings = 1, .bytes = part_bytes(r, from, to) };
        }
    SIM_ASSERT(made == p->edge_count);
}

static void fill_messages(arena *a, const plan_request *r, plan *p, uint32_t pieces)
{
    const uint32_t n = p->ranks;
    arena_mark_t mark = arena_mark(a);
    uint32_t *edges = arena_array(a, uint32_t, n), made = 0; // each sender's next
    int32_t *latest = arena_array(a, int32_t, n);            // 1 + each sender's last message
    for (uint32_t e = p->edge_count; e > 0; e--)
        edges[p->edges[e - 1].from] = e - 1;
    for (uint32_t step = 0; step < p->steps; step++)
        for (uint32_t from = 0; from < n; from++) {
            const uint32_t to = (from + 1 + step / pieces) % n, piece = step % pieces;
            if (!is_sent(r, from, to)) continue;
            p->messages[made] = (plan_message){ .from = from,
                                                .to = to,
                                                .edge = edges[from],
                                                .step = step,
                                                .chunk = to * pieces + piece,
                                                .after_own = latest[from] - 1,
                                                .after_received = PLAN_NONE,
                                                .bytes = plan_chunk_bytes(part_bytes(r, from, to), pieces,
                                                                          piece) };
            latest[from] = (int32_t)++made;
            edges[from] += piece == pieces - 1;
        }
    SIM_ASSERT(made == p->message_count);
    arena_release(a, mark);
}

void plan_all_to_all(arena *a, const plan_request *r, plan *out)
{
    const uint32_t n = r->rings->ranks;
    SIM_ASSERT(n > 0 && edge_count(r) <= INT32_MAX);
    SIM_ASSERT((r->parts != NULL) == (r->kind == COLLECTIVE_ALL_TO_ALL_UNEQUAL));
    const uint32_t pieces = pieces_of(r);
    *out = (plan){ .kind = r->kind,
                   .ranks = n,
                   .rings = 1,
                   .chunks = plan_chunks(n, pieces),
                   .share_chunks = pieces,
                   .steps = n - 1,
                   .bytes = r->bytes,
                   .parts = r->parts };
    out->edge_count = (uint32_t)edge_count(r);
    if (out->edge_count == 0) {
        out->steps = 0;
        return;
    }
    out->edges = arena_array(a, plan_edge, out->edge_count);
    fill_edges(r, out);
    if (r->grain != GRAIN_MESSAGES) return;
    SIM_ASSERT(plan_all_to_all_messages(r) <= INT32_MAX);
    out->steps *= pieces;
    out->message_count = (uint32_t)plan_all_to_all_messages(r);
    out->messages = arena_array(a, plan_message, out->message_count);
    fill_messages(a, r, out, pieces);
}

double all_to_all_time_s(uint32_t ranks, double bytes, double alpha_s, double rate_Bps)
{
    SIM_ASSERT(ranks > 0 && rate_Bps > 0);
    return (ranks - 1.0) * (alpha_s + bytes / (ranks * rate_Bps));
}
