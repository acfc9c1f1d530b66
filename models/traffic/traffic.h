// SPDX-License-Identifier: GPL-3.0-or-later
// models/traffic/traffic.h: plays flows between hosts on a network and notes when they end: a list in the order of its
// starts, or a closed loop, whose flows start when others have ended (models/traffic/pattern.h). It knows no files and no
// rows; who wants every flow listens.
#pragma once
#include "models/network/network.h"
#include "models/traffic/link_change.h"
#include "models/traffic/pattern.h"

typedef struct traffic_done { // a flow that has ended
    uint64_t flow;            // its number: place in the list; of a loop, step or round x hosts + sender
    uint32_t from, to;
    uint64_t bytes;
    sim_time start_ps, end_ps;
} traffic_done;

typedef struct traffic_settings {
    const vertex_id *hosts; // where the flows begin and end: GPUs or NICs
    uint32_t host_count;
    traffic_flow_array flows;                               // ordered by start; empty: a loop
    pattern_def loop;                                       // ring or churn, checked; where flows is empty
    link_change_array changes;                              // in order; only on an engine whose links change
    void (*on_done)(void *owner, const traffic_done *done); // NULL: nobody listens
    void (*on_changes)(void *owner); // links are about to change; once per instant. NULL: nobody listens
    void *owner;
} traffic_settings;

typedef struct traffic traffic;
// What settings point at is kept, not copied. Once all flows have finished, links that would change later do not, and the
// run stops.
traffic *traffic_create(arena *a, sim *s, network *n, const traffic_settings *settings);
void traffic_start(traffic *t); // once, before the first event

typedef struct traffic_results {
    uint64_t flows; // that there are, started or not
    uint64_t started, finished;
    uint64_t bytes; // of flows that have finished
    // Of flows that have finished; 0 while none has. Completion: on the clock. Duration: since the flow's own start.
    sim_time completion_first_ps, completion_last_ps, duration_least_ps, duration_greatest_ps;
    unsigned __int128 completion_sum_ps, duration_sum_ps;
} traffic_results;
const traffic_results *traffic_results_of(const traffic *t);
// The mean of count times; sums are exact, so it is rounded once. 0 of none.
double traffic_mean_s(unsigned __int128 sum_ps, uint64_t count);

// No flow ends later than this, in seconds, on a network that shares every link among the flows that cross it: what could
// run over the clock is refused before it starts. In floating point, because it may be far beyond the clock.
// At any time a flow under way has a bottleneck, a link of its path that is full, on which no other flow is faster (max-min
// fairness). A list: a link l is full for load_l / C_l at most, so a flow of h links takes no longer than
//     h max over l of load_l / C_l + delays           load_l [bytes], C_l [bytes/s]
// A loop has one flow per host under way, over each link l at most n_l of them, so a flow of B bytes is never slower than
//     min over l of C_l / n_l
// and the loop takes no longer than its steps one after another (ring: n_l known from its N paths; churn: n_l <= N). Twice
// that covers rates that are rounded down. Where links change, paths may too: then all flows one after another over the
// longest path at the least rate that a link ever has, from the latest change on.
double traffic_longest_s(arena *scratch, const topology *fabric, const traffic_settings *settings);
