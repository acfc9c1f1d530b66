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
extern const char *const collective_protocol_words[]; // "ll", "ll128", "simple"; ends with NULL

// The latency of a hop is from end to end: what the library measured when its table was made, so wire and switches are in
// it, and a path's own delay counts only where it is the longer of the two.
typedef struct protocol_terms {    // one protocol of the ring algorithm
    sim_time base_ps;              // once per collective
    sim_time hop_ps[LINK_CLASSES]; // per hop, by the widest class of link it crosses
    // Payload per byte on the wire: LL 1/2 (a flag beside each word), LL128 120/128, Simple 1.
    double payload_ratio;
} protocol_terms;

typedef struct collective_terms {
    const char *name;
    protocol_terms ring[PROTOCOLS];
    sim_time send_recv_base_ps;
    struct nvls_terms {       // all-reduce in the NVSwitch; its rate is the hardware's
        sim_time base_ps;     // the whole latency, from end to end
        uint32_t least_ranks; // below it stays with the ring
    } nvls;
    // What its kernels hold of a GPU while they run: a thread block for each channel, which has a multiprocessor to itself.
    struct channel_terms {
        uint32_t in_node;      // of a group inside a node, or inside a domain of NVSwitches
        uint32_t over_nodes;   // at most
        uint32_t per_gpu;      // over nodes for each member in a node; of a send and receive
        double memory_traffic; // bytes read and written in the GPU's memory per byte that its links move
    } channels;                // all 0: nothing
} collective_terms;
extern const bind_row collective_terms_binds[];

typedef struct ring_hops {         // what the choice knows of a group's rings and switch, or of a lone send
    uint64_t rate_mBps;            // of all rings together, past their slowest hop: NCCL's sum over channels
    uint32_t counts[LINK_CLASSES]; // hops of all rings, by the widest class of link they cross
    uint64_t nvls_rate_mBps; // of an all-reduce's buffer in the NVSwitch that all members are on; 0: none
} ring_hops;

enum { PROTOCOL_AUTO = -1, ALGORITHM_AUTO = -1 };

typedef struct collective_choice {
    collective_algorithm algorithm;
    collective_protocol protocol;
    sim_time base_ps;   // once, beside the steps
    double predicted_s; // for choosing only; the players have their own times
} collective_choice;
// forced: a collective_protocol, or PROTOCOL_AUTO for the least predicted time (ties: the later of LL, LL128, Simple).
// LL128 is only considered where every hop is NVLink or the network (it needs stores of 128 bytes to arrive whole, which
// PCIe between GPUs does not promise); forced, it is taken, as NCCL does. Send-recv and the messages of an all-to-all have a
// rule of their own (choose.c). One rank alone costs nothing.
// algorithm: a collective_algorithm, or ALGORITHM_AUTO: the lesser predicted time of ring and NVLS (ties: NVLS). NVLS is there
// for an all-reduce that has a rate in the NVSwitch, with the protocol Simple only; where it is not, the ring is taken, as NCCL
// does, also if NVLS is forced. One node's all-gather and reduce-scatter have no NVLS in NCCL (its rule needs CollNet).
collective_choice collective_choose(const collective_terms *terms, collective_kind kind, uint32_t ranks,
                                    uint64_t bytes, const ring_hops *hops, int forced, int algorithm);
// Bytes on the wire for a payload: payload / ratio, rounded up.
uint64_t protocol_wire_bytes(const protocol_terms *terms, uint64_t payload_bytes);
