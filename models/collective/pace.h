// SPDX-License-Identifier: GPL-3.0-or-later
// models/collective/pace.h: how long a collective takes alone, as its kernels run it: in slices that move through channels,
// each with its cost. A pure function of the library's terms, a layout and a size; one file per algorithm (pace_ring.c, ...)
// has the equation, its source and its range. Constants are the catalogue's (link_costs/, nic_costs/, collectives/).
//
// Two parts, for a collective that is played as streams: what has to be waited for in any case, and what the bytes take at the
// running rate. Neither depends on anybody else.
#pragma once
#include "models/collective/layout.h"
#include "models/collective/library.h"
#include "models/collective/plan.h"

#define PACE_LONGEST_PS (SIM_TIME_MAX / 4) // of each part; what takes longer is cut off there

typedef struct collective_pace {
    uint32_t channels;
    uint64_t chunk_bytes; // of one channel, rounded up
    uint64_t slice_bytes; // the first slice of a chunk, rounded up
    uint32_t slices;      // in a chunk
    uint32_t slots;       // slices in flight inside a node; twice as many through a NIC
    // Alone the collective takes latency_ps + stream_ps. latency: entry, fill and drain of the pipeline. stream: all of its
    // bytes at the rate of the running pipeline, so that an edge carries its bytes at bytes / stream_ps, never faster. In a
    // collective of one slice it is that slice.
    sim_time latency_ps, stream_ps;
    sim_time entry_ps; // of the latency: before anything moves
    // What one slice of one channel meets, the first of a chunk (rings; broadcast and reduce by Simple; 0 elsewhere).
    sim_time slice_ps;       // of its work, beside its bytes
    sim_time work_ps;        // of the CTA that sends it inside its node
    sim_time out_work_ps;    // of one that sends it to the NIC
    sim_time visible_ps;     // after its work, inside a node, until the next GPU sees it
    sim_time message_ps;     // of the NIC, beside its bytes
    sim_time host_ps;        // of the host thread
    sim_time nic_ps;         // of the NIC or the host thread, whichever is longer
    sim_time network_hop_ps; // then, between nodes, until the next GPU sees it
    sim_time drain_ps;       // of the last slice, once it is there
    uint32_t steps;          // of a loop, one behind the other (rings)
    double loops;            // that the buffer takes; the last may be a part of one
} collective_pace;

// bytes: the size column of nccl-tests (plan.h). The algorithm is one that the layout has (tuner.h). One rank takes no time.
// A send goes to one peer, of a communicator with the layout's ranks; inside a node if the layout has one node. Of an
// all-to-all of unequal parts only the largest row is known here (bytes): all others are taken to be as large.
collective_pace pace_of(const collective_library *library, const collective_layout *layout,
                        collective_kind kind, collective_algorithm algorithm, collective_protocol protocol,
                        uint64_t bytes);
// What a step of a plan in one piece takes alone, of an algorithm whose steps differ (recursive, hierarchical, PAT). With the
// entry the steps add up to the pace, but for rounding.
typedef struct step_pace {
    sim_time latency_ps, stream_ps; // as of a pace
} step_pace;
bool pace_has_steps(collective_algorithm algorithm);
void pace_steps_of(const collective_library *library, const collective_layout *layout, collective_kind kind,
                   collective_algorithm algorithm, collective_protocol protocol, uint64_t bytes,
                   uint32_t count, step_pace *steps);
// Of an all-to-all of unequal parts, when all of them are known (plan.h). The rings say who is on which node.
collective_pace pace_unequal(arena *scratch, const collective_library *library,
                             const collective_layout *layout, const ring_set *rings, const uint64_t *parts);
static inline sim_time pace_time_ps(const collective_pace *pace)
{
    return pace->latency_ps + pace->stream_ps;
}
