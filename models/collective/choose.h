// SPDX-License-Identifier: GPL-3.0-or-later
// models/collective/choose.h: NCCL's latency terms, and the choice of protocol by predicted time as NCCL's tuner does it.
// Terms are catalogue values (models/catalogue/collectives/).
#pragma once
#include "models/collective/library.h"

typedef collective_library collective_terms;

typedef struct ring_hops {         // what the choice knows of a group's rings and switch, or of a lone send
    uint64_t rate_mBps;            // of all rings together, past their slowest hop: NCCL's sum over channels
    uint32_t counts[LINK_CLASSES]; // hops of all rings, by the widest class of link they cross
    uint64_t nvls_rate_mBps; // of an all-reduce's buffer in the NVSwitch that all members are on; 0: none
} ring_hops;

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
