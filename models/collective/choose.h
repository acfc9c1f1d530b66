// SPDX-License-Identifier: GPL-3.0-or-later
// models/collective/choose.h: NCCL's latency terms, and the choice of protocol by predicted time as NCCL's tuner does it.
// Terms are catalogue values (models/catalogue/collectives/).
#pragma once
#include "models/collective/plan.h"
#include "models/network/topology.h"
#include "sim/bind.h"

typedef enum collective_protocol {
    PROTOCOL_LL,
    PROTOCOL_LL128,
    PROTOCOL_SIMPLE,
    PROTOCOLS
} collective_protocol;
extern const char *const collective_protocol_words[]; // "ll", "ll128", "simple"

typedef struct protocol_terms {    // one protocol of the ring algorithm
    sim_time base_ps;              // once per collective
    sim_time hop_ps[LINK_CLASSES]; // per step, by the widest class of link a step crosses
    double
        payload_ratio; // payload per byte on the wire: LL 1/2 (flag beside each word), LL128 120/128, Simple 1
} protocol_terms;

typedef struct collective_terms {
    const char *name;
    protocol_terms ring[PROTOCOLS];
    sim_time send_recv_base_ps;
} collective_terms;
extern const bind_row collective_terms_binds[];

typedef struct collective_choice {
    collective_protocol protocol;
    sim_time base_ps; // once
    double predicted_s;
} collective_choice;
// forced: a collective_protocol, or -1 for the least predicted time (ties: the later of LL, LL128, Simple).
// LL128 is only considered where every hop is NVLink or the network (NCCL needs 128-byte stores kept whole), not over PCIe hosts.
collective_choice collective_choose(const collective_terms *terms, collective_kind kind, uint32_t ranks,
                                    uint64_t bytes, const path_facts *slowest_hop, int forced);
