// SPDX-License-Identifier: GPL-3.0-or-later
// models/collective/slice_ring.h: a ring collective of one channel, slice by slice: when each rank may work on which slice,
// solved exactly by (max, +) recursion. The oracle that the closed form (pace_ring.c) is held against; and the numbers that
// both start from. All nodes are alike, so the ranks of one node with a periodic edge stand for all.
#pragma once
#include "sim/arena.h"

typedef struct slice_ring {
    uint32_t ranks, ranks_per_node; // equal: one node
    uint32_t steps;                 // sends of a loop: 2 (n - 1) for an all-reduce, n - 1 for the others
    uint32_t slices;                // of a chunk, 1 or 2
    uint32_t slots;                 // slices in flight inside a node; twice as many through the NIC
    double bytes;                   // of the buffer, on this channel
    double chunk_bytes;             // the most
    double least_slice_bytes;
    double link_Bps;    // of one channel that sends inside the node
    double network_Bps; // of one that sends to the NIC
    double nic_Bps;     // its share of the NIC, of payload
    double slice_s;     // of work per slice, beside its bytes
    double visible_s;   // then, until the next GPU sees it
    double message_s;   // of the NIC per slice, beside its bytes
    double hop_s;       // then, until the next node sees it
    double host_s; // of the host thread for one slice of all of its channels: the least between two slices
} slice_ring;

double slice_ring_slice_bytes(const slice_ring *ring, double chunk_bytes, uint32_t slice); // 0 or 1
double slice_ring_s(arena *scratch, const slice_ring *ring);
