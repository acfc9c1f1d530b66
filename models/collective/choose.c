// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/collective/choose.h"
#include "sim/check.h"
#include <math.h>

const char *const collective_protocol_words[] = { "ll", "ll128", "simple", NULL };

static const bind_row protocol_binds[] = {
    BIND_TIME(protocol_terms, base_ps, "base", BIND_AT_LEAST(0), BIND_AT_MOST(1), BIND_REQUIRED,
              BIND_NOTE("once per collective")),
    BIND_TIME(protocol_terms, hop_ps[LINK_NVLINK], "nvlink", BIND_AT_LEAST(0), BIND_AT_MOST(1), BIND_REQUIRED,
              BIND_NOTE("per step, between GPUs over NVLink")),
    BIND_TIME(protocol_terms, hop_ps[LINK_PCIE], "pcie", BIND_AT_LEAST(0), BIND_AT_MOST(1), BIND_REQUIRED,
              BIND_NOTE("per step, between GPUs over PCIe")),
    BIND_TIME(protocol_terms, hop_ps[LINK_NETWORK], "network", BIND_AT_LEAST(0), BIND_AT_MOST(1),
              BIND_REQUIRED, BIND_NOTE("per step, between nodes")),
    BIND_NUMBER(protocol_terms, payload_ratio, "payload_ratio", BIND_AT_LEAST(0.01), BIND_AT_MOST(1),
                BIND_REQUIRED, BIND_NOTE("payload per byte on the wire")),
    BIND_END,
};

static const bind_row ring_binds[] = {
    { .type = BIND_TYPE_STRUCT,
      .key = "ll",
      .offset = PROTOCOL_LL * sizeof(protocol_terms),
      .rows = protocol_binds,
      .size = sizeof(protocol_terms),
      .required = true,
      .note = "low latency: a flag beside each word" },
    { .type = BIND_TYPE_STRUCT,
      .key = "ll128",
      .offset = PROTOCOL_LL128 * sizeof(protocol_terms),
      .rows = protocol_binds,
      .size = sizeof(protocol_terms),
      .required = true,
      .note = "low latency: a flag in each line of 128 bytes" },
    { .type = BIND_TYPE_STRUCT,
      .key = "simple",
      .offset = PROTOCOL_SIMPLE * sizeof(protocol_terms),
      .rows = protocol_binds,
      .size = sizeof(protocol_terms),
      .required = true,
      .note = "full rate: a flag per slice" },
    BIND_END,
};

const bind_row collective_terms_binds[] = {
    BIND_TEXT(collective_terms, name, "name", BIND_REQUIRED, BIND_NOTE("library and version")),
    BIND_STRUCT(collective_terms, ring, "ring", ring_binds, BIND_REQUIRED, BIND_NOTE("ring, by protocol")),
    BIND_TIME(collective_terms, send_recv_base_ps, "send_recv_base", BIND_AT_LEAST(0), BIND_AT_MOST(1),
              BIND_REQUIRED, BIND_NOTE("once per point-to-point transfer")),
    BIND_END,
};

uint64_t protocol_wire_bytes(const protocol_terms *terms, uint64_t payload_bytes)
{
    SIM_ASSERT(terms->payload_ratio > 0 && terms->payload_ratio <= 1);
    if (terms->payload_ratio == 1) return payload_bytes; // exact above 2^53 as well
    double wire_bytes = ceil((double)payload_bytes / terms->payload_ratio);
    SIM_ASSERT(wire_bytes < 0x1p63);
    return (uint64_t)wire_bytes;
}

// NCCL's affine prediction for one protocol of the ring algorithm:
//     T = base + steps hop + b / (B ratio)     T, base, hop [s]   B [bytes/s]   ratio [payload per byte on the wire]
//     b = steps S / n: the bytes [bytes] over one edge   S [bytes]   n [ranks]
// NVIDIA/nccl src/graph/tuning.cc, ncclTopoTuneModel and ncclTopoGetAlgoTime. Good for choosing between protocols as NCCL
// does, not for the time (FINDINGS-collectives.md (d)). Left out: caps of LL and LL128 per channel, and the latency of the
// path, which is the same for all three.
static double predicted_s(const protocol_terms *terms, collective_kind kind, uint32_t ranks, uint64_t bytes,
                          const path_facts *hop)
{
    double steps = kind == COLLECTIVE_ALL_REDUCE ? 2.0 * (ranks - 1) : ranks - 1.0;
    double edge_bytes = steps * (double)bytes / ranks;
    double rate_Bps = (double)hop->rate_mBps / 1e3 * terms->payload_ratio;
    return units_s_from_ps(terms->base_ps) + steps * units_s_from_ps(terms->hop_ps[hop->class]) +
           edge_bytes / rate_Bps;
}

// Sends up to this size go by LL inside a node, larger ones and those over the network by Simple, whatever is forced for
// rings. NVIDIA/nccl src/enqueue.cc, NCCL_P2P_LL_THRESHOLD (16,384 bytes per channel; LL buffers for network peers are off
// by default). Channels are not modelled: as for one.
static const uint64_t send_recv_ll_bytes = 16384;

//     T = base + hop + S / (B ratio), as above with one step.
static collective_choice choose_send_recv(const collective_terms *terms, uint64_t bytes,
                                          const path_facts *hop)
{
    bool ll = bytes <= send_recv_ll_bytes && hop->class != LINK_NETWORK;
    collective_choice choice = { .protocol = ll ? PROTOCOL_LL : PROTOCOL_SIMPLE,
                                 .base_ps = terms->send_recv_base_ps };
    const protocol_terms *protocol = &terms->ring[choice.protocol];
    choice.predicted_s = units_s_from_ps(choice.base_ps) + units_s_from_ps(protocol->hop_ps[hop->class]) +
                         (double)bytes / ((double)hop->rate_mBps / 1e3 * protocol->payload_ratio);
    return choice;
}

static bool considered(collective_protocol protocol, const path_facts *hop)
{
    return protocol != PROTOCOL_LL128 || hop->class != LINK_PCIE;
}

collective_choice collective_choose(const collective_terms *terms, collective_kind kind, uint32_t ranks,
                                    uint64_t bytes, const path_facts *slowest_hop, int forced)
{
    SIM_ASSERT(ranks > 0 && kind < COLLECTIVE_KINDS && forced >= PROTOCOL_AUTO && forced < PROTOCOLS);
    if (ranks == 1) return (collective_choice){ .protocol = PROTOCOL_SIMPLE };
    SIM_ASSERT(slowest_hop->rate_mBps > 0);
    if (kind == COLLECTIVE_SEND_RECV) return choose_send_recv(terms, bytes, slowest_hop);
    collective_choice best = { .predicted_s = INFINITY };
    for (int i = 0; i < PROTOCOLS; i++) {
        collective_protocol protocol = (collective_protocol)i;
        if (forced == PROTOCOL_AUTO ? !considered(protocol, slowest_hop) : forced != i) continue;
        double seconds = predicted_s(&terms->ring[i], kind, ranks, bytes, slowest_hop);
        if (seconds > best.predicted_s) continue;
        best = (collective_choice){ .protocol = protocol,
                                    .base_ps = terms->ring[i].base_ps,
                                    .predicted_s = seconds };
    }
    return best;
}
