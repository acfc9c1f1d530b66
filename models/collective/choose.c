// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/collective/choose.h"
#include "sim/check.h"
#include <math.h>

uint64_t protocol_wire_bytes(const protocol_terms *terms, uint64_t payload_bytes)
{
    SIM_ASSERT(terms->payload_ratio > 0 && terms->payload_ratio <= 1);
    if (terms->payload_ratio == 1) return payload_bytes; // exact above 2^53 as well
    double wire_bytes = ceil((double)payload_bytes / terms->payload_ratio);
    SIM_ASSERT(wire_bytes < 0x1p63);
    return (uint64_t)wire_bytes;
}

// The mean over the rings' hops [s]: what a step costs on average, for a chunk meets one hop after another.
static double hop_s(const protocol_terms *terms, const ring_hops *hops)
{
    double sum_s = 0, count = 0;
    for (int class = 0; class < LINK_CLASSES; class ++) {
        sum_s += hops->counts[class] * units_s_from_ps(terms->hop_ps[class]);
        count += hops->counts[class];
    }
    return sum_s / count;
}

// NCCL's affine prediction for one protocol of the ring algorithm:
//     T = base + steps hop + b / (B ratio)     T, base, hop [s]   B [bytes/s]   ratio [payload per byte on the wire]
//     b = steps S / n: the bytes [bytes] past one rank, over all rings   S [bytes]   n [ranks]
// NVIDIA/nccl src/graph/tuning.cc, ncclTopoTuneModel and ncclTopoGetAlgoTime: B is the sum over channels; of the steps, as
// many as a chunk has hops between nodes are charged the network's latency, the others that of the node. We take the mean
// over the ring, nodes / n of the hops where NCCL has (nodes - 1) / (n - 1). Good for choosing between protocols as NCCL
// does, not for the time, which at middle sizes it gets wrong. Left out: caps of LL and LL128 per channel, and paths that take
// longer than the hop of the table.
// A broadcast sends all its bytes past each rank.
static double predicted_s(const protocol_terms *terms, collective_kind kind, uint32_t ranks, uint64_t bytes,
                          const ring_hops *hops)
{
    double steps = kind == COLLECTIVE_ALL_REDUCE ? 2.0 * (ranks - 1) : ranks - 1.0;
    double passing_bytes = kind == COLLECTIVE_BROADCAST ? (double)bytes : steps * (double)bytes / ranks;
    double rate_Bps = (double)hops->rate_mBps / 1e3 * terms->payload_ratio;
    return units_s_from_ps(terms->base_ps) + steps * hop_s(terms, hops) + passing_bytes / rate_Bps;
}

// Sends up to this size go by LL inside a node, larger ones and those over the network by Simple, whatever is forced for
// rings. NVIDIA/nccl src/enqueue.cc, NCCL_P2P_LL_THRESHOLD (16,384 bytes per channel; LL buffers for network peers are off
// by default). Channels are not modelled: as for one.
static const uint64_t send_recv_ll_bytes = 16384;

//     T = base + steps (hop + s / (B ratio)), as above; s [bytes]: of one message
// An all-to-all is such messages, from each rank one after another.
static collective_choice choose_send_recv(const collective_terms *terms, uint32_t steps, uint64_t bytes,
                                          const ring_hops *hops)
{
    bool ll = bytes <= send_recv_ll_bytes && hops->counts[LINK_NETWORK] == 0;
    collective_choice choice = { .algorithm = ALGORITHM_SEND_RECV,
                                 .protocol = ll ? PROTOCOL_LL : PROTOCOL_SIMPLE,
                                 .base_ps = terms->send_recv_base_ps };
    const protocol_terms *protocol = &terms->ring[choice.protocol];
    const double step_s = hop_s(protocol, hops) +
                          (double)bytes / ((double)hops->rate_mBps / 1e3 * protocol->payload_ratio);
    choice.predicted_s = units_s_from_ps(choice.base_ps) + steps * step_s;
    return choice;
}

static bool considered(collective_protocol protocol, const ring_hops *hops)
{
    return protocol != PROTOCOL_LL128 || hops->counts[LINK_PCIE] == 0;
}

static collective_choice choose_ring(const collective_terms *terms, collective_kind kind, uint32_t ranks,
                                     uint64_t bytes, const ring_hops *hops, int forced)
{
    collective_choice best = { .predicted_s = INFINITY };
    for (int i = 0; i < PROTOCOLS; i++) {
        collective_protocol protocol = (collective_protocol)i;
        if (forced == PROTOCOL_AUTO ? !considered(protocol, hops) : forced != i) continue;
        double seconds = predicted_s(&terms->ring[i], kind, ranks, bytes, hops);
        if (seconds > best.predicted_s) continue;
        best = (collective_choice){ .protocol = protocol,
                                    .base_ps = terms->ring[i].base_ps,
                                    .predicted_s = seconds };
    }
    return best;
}

//     T = base + S / A    A [bytes/s]: what the group's slowest member does, or its link (nvls.c)
static void consider_nvls(const collective_terms *terms, uint32_t ranks, uint64_t bytes,
                          const ring_hops *hops, int forced, int algorithm, collective_choice *best)
{
    if (hops->nvls_rate_mBps == 0 || algorithm == ALGORITHM_RING) return;
    if (forced != PROTOCOL_AUTO && forced != PROTOCOL_SIMPLE) return;
    const double seconds = units_s_from_ps(terms->nvls.base_ps) +
                           (double)bytes / ((double)hops->nvls_rate_mBps / 1e3);
    const bool better = ranks >= terms->nvls.least_ranks && seconds <= best->predicted_s;
    if (algorithm != ALGORITHM_NVLS && !better) return;
    *best = (collective_choice){ .algorithm = ALGORITHM_NVLS,
                                 .protocol = PROTOCOL_SIMPLE,
                                 .predicted_s = seconds };
}

collective_choice collective_choose(const collective_terms *terms, collective_kind kind, uint32_t ranks,
                                    uint64_t bytes, const ring_hops *hops, int forced, int algorithm)
{
    SIM_ASSERT(ranks > 0 && kind < COLLECTIVE_KINDS && forced >= PROTOCOL_AUTO && forced < PROTOCOLS);
    SIM_ASSERT(algorithm >= ALGORITHM_AUTO && algorithm <= ALGORITHM_NVLS);
    if (ranks == 1)
        return (collective_choice){ .algorithm = plan_usual_algorithm(kind), .protocol = PROTOCOL_SIMPLE };
    SIM_ASSERT(hops->rate_mBps > 0);
    if (kind == COLLECTIVE_SEND_RECV) return choose_send_recv(terms, 1, bytes, hops);
    if (kind == COLLECTIVE_ALL_TO_ALL) {
        const uint64_t part_bytes = plan_chunk_bytes(bytes, ranks, 0);
        collective_choice choice = choose_send_recv(terms, ranks - 1, part_bytes, hops);
        choice.algorithm = ALGORITHM_PAIRWISE;
        return choice;
    }
    collective_choice best = choose_ring(terms, kind, ranks, bytes, hops, forced);
    if (kind == COLLECTIVE_ALL_REDUCE) consider_nvls(terms, ranks, bytes, hops, forced, algorithm, &best);
    return best;
}
