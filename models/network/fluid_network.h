// SPDX-License-Identifier: GPL-3.0-or-later
// models/network/fluid_network.h: the fluid engine behind network.h. Every request with bytes left has a rate; the rates are
// the weighted max-min fair shares of the links' capacities (maxmin.h), worked out anew once per instant in which requests
// come or go or links change, and then only where something can differ. Work left is an exact integer, so a result depends
// neither on the order of events nor on the solver.
//
// A request's life: its own latency passes; its bytes flow; when the last has been sent they are off the links, and the
// latencies of its edges and the delays of their paths later it is delivered. Alone it takes as long as on the ideal network.
//
// A stream of many edges is one flow over the union of their paths and moves at the pace of its slowest edge. A link that
// several of its edges cross is loaded that many times; fluid_path.c says how bytes that differ from edge to edge are
// reduced to whole factors, and by how much that can err.
//
// A link that goes down stops the flows that cross it at once: their rate is 0. When the fabric's reroute_ps have passed,
// routing knows and they take the path that it then gives, or stand still while there is none (network_stuck()); when the link
// returns, what still waits on it moves at once, and routing again follows after reroute_ps. Flows on a bundle at once get
// less of it, or stand still where no links of it lead on over links that are up. Bytes that have been
// sent are not lost with a link, unless resends says so.
#pragma once
#include "models/network/maxmin.h"
#include "models/network/network.h"

typedef struct fluid_options {
    uint32_t flows; // expected in flight at once; more is fine
    // Whether what was on the way when a link went down is sent again: of every flow that crosses it the bytes of one round
    // trip at the rate it had, at most what it had sent on this path. RoCE: yes, losses are the end points' affair.
    // InfiniBand, NVLink, PCIe: no, the link itself repeats what has not been acknowledged.
    bool resends;
    // Completion windows: a transfer may end late by at most this share of the time its bytes flow, so that many end together
    // and the rates are worked out less often. 0: exact. 0.001 to 0.01 is useful; see fluid_counters.latest_ps.
    double completion_window;
    // The bottleneck count: when nothing is in flight and several transfers of equal size begin at one instant, with weight 1,
    // without caps and one edge each, they are played as one phase that ends at the exact instant at which the last of them
    // would (maxmin.h has the proof); the others end with it, which is late. Anything that happens during a phase turns
    // them into flows of their own, each having moved at the phase's rate.
    bool bottleneck_count;
    maxmin_policy policy; // of the solver; the result is the same
    uint32_t check_every; // of the solver
} fluid_options;

network *network_create_fluid(arena *a, sim *s, const topology *t, const fluid_options *options);

typedef struct fluid_counters {
    uint64_t settles;                 // instants in which rates were worked out
    uint64_t rate_changes;            // of flows; their completions moved
    uint64_t reroutes;                // flows that took another path
    uint64_t windowed;                // completions that a window made late
    sim_time latest_ps;               // by how much at most
    uint64_t phases, phase_transfers; // played by the bottleneck count to their end
    maxmin_counters solver;
} fluid_counters;
fluid_counters fluid_counters_of(const network *n);
uint64_t fluid_link_rate_mBps(const network *n,
                              uint32_t link_or_bundle); // what it carries now, x no multiplicity
uint64_t fluid_rate_mBps(const network *n,
                         transfer_id id); // of each unit of it (fluid_path.c), as of the last settle
