// SPDX-License-Identifier: GPL-3.0-or-later
// NVLS: an all-reduce whose sums the NVSwitch makes. Rank r asks the switch for the sum of share r, for which the switch reads
// that share from every rank, and sends the sum back once, to be copied to all. So each rank's link carries out of it the
// whole buffer and one share, and as much into it, where a ring carries nearly two buffers:
//     b = S (n + 1) / n     S [bytes]: the buffer of a rank   n [ranks]   b [bytes]: each way
// As streams, it is n edges in a circle, each with b bytes: every link between a GPU and its NVSwitch then carries what NVLS
// puts on it. As messages, each piece is two acts of the switch (nvls_tree.c). Alone
//     T = base + max(S / A, b / B)    T, base [s]   A [bytes/s]: of buffer, as measured   B [bytes/s]: of a link
// A is of the GPUs' copy loops, not of the links: channels x rate of one, 16 x 17.95 GB/s on Hopper; base is the whole latency.
// That is a closed form for large buffers; what plays has the loops of chunks, which middle sizes feel (pace_nvls.c).
#include "models/collective/nvls_tree.h"
#include "sim/check.h"

void plan_nvls(arena *a, const plan_request *r, plan *out)
{
    const uint32_t ranks = r->rings->ranks;
    SIM_ASSERT(ranks > 1 && r->bytes <= UINT64_MAX / 4);
    *out = (plan){ .kind = r->kind, .ranks = ranks, .rings = 1, .chunks = ranks, .bytes = r->bytes };
    if (r->grain == GRAIN_MESSAGES) {
        nvls_tree_fill(a, r, out);
        return;
    }
    out->steps = 1;
    out->edge_count = ranks;
    out->edges = arena_array(a, plan_edge, ranks);
    for (uint32_t i = 0; i < ranks; i++)
        out->edges[i] = (plan_edge){ .from = i,
                                     .to = (i + 1) % ranks,
                                     .rings = 1,
                                     .bytes = r->bytes + plan_chunk_bytes(r->bytes, ranks, i) };
}

double nvls_time_s(uint32_t ranks, double bytes, double base_s, double rate_Bps, double link_Bps)
{
    SIM_ASSERT(ranks > 1 && rate_Bps > 0 && link_Bps > 0);
    const double loops_s = bytes / rate_Bps, wire_s = bytes * (ranks + 1.0) / (ranks * link_Bps);
    return base_s + (loops_s > wire_s ? loops_s : wire_s);
}
