// SPDX-License-Identifier: GPL-3.0-or-later
// models/network/maxmin.h: weighted max-min fair shares, in integers, kept up to date while flows come and go. It knows
// rows and columns (links and flows), not networks or clocks; rates are in units of its caller (the fluid network: 1 mB/s).
//
// The problem. Link l has a capacity C_l; flow f crosses the links of its path, has a weight w_f, perhaps a cap u_f, and
// loads link l with a_lf times its rate (factor, 1 by default). A common water level rises; a flow's rate is w_f times the
// level at which it freezes: when a link of its path is full, or at its cap. In integers, round by round:
//     s_l = floor(rem_l / cnt_l)   rem_l: capacity left   cnt_l: sum of a w over the flows of l that are not frozen
//     s   = min over links with cnt_l > 0 of s_l, and over flows not frozen of floor(u_f / w_f)
//     every flow that crosses a link with s_l = s, or whose cap is reached at s, freezes at level s, all at once
// A round depends on the state before it only, so the levels are a function of the instance: not of the order of flows,
// links or batches, nor of ids. Against the allocation in real numbers a level is low by at most one unit per round.
// Classical properties: Bertsekas, Gallager, "Data Networks", 2nd edition, 1992, section 6.5.2.
//
// Changes are gathered and then resolved at once, by replaying the rounds only where something can differ
// (maxmin_resolve.c states the algorithm and why it is exact), or all anew where much differs (maxmin_full.c).
#pragma once
#include "sim/arena.h"
#include <stdbool.h>

#define MAXMIN_NONE UINT64_MAX // a flow without a cap; the closing level of a link that never fills up
enum { MAXMIN_PATH_USUAL_MAX = 64 };

typedef enum maxmin_policy {
    MAXMIN_AUTO,        // incremental; in the dense regime all anew
    MAXMIN_INCREMENTAL, // always incremental
    MAXMIN_FULL,        // always all anew
} maxmin_policy;

typedef struct maxmin_options {
    uint32_t links, flows; // expected; the arrays grow beyond, amortised
    // Links on a usual path, 2 to MAXMIN_PATH_USUAL_MAX: a flow's record takes 32 + 8 path_usual bytes, rounded up to 64.
    // A longer path, of any length, takes several records.
    uint32_t path_usual;
    maxmin_policy policy;
    // AUTO gives up an incremental solve when the links whose shares it follows hold more than this share of all incidences
    // (and more than dense_floor of them), and solves all anew: the result is the same. 0: 50 %, and 1,024.
    uint32_t dense_percent, dense_floor;
    // The oracle (a solve from scratch) judges every so many resolves. 0: as the build says: with CHECKS each one up to
    // 2,000 flows and each 1,000th above, otherwise none.
    uint32_t check_every;
} maxmin_options;

typedef struct maxmin maxmin;
maxmin *maxmin_create(arena *a, const maxmin_options *options); // lives and dies with the arena
uint32_t maxmin_add_link(maxmin *m, uint64_t capacity); // ids count from 0; capacity below 2^63, 0 allowed

typedef struct maxmin_demand {
    const uint32_t *links; // hops of them, copied, all different: two crossings of one link are a factor of 2
    const uint32_t *factors; // one per link, >= 1; NULL: all 1
    uint32_t hops;           // 0 only with a cap
    uint32_t weight;         // >= 1
    uint64_t cap;            // below 2^63, or MAXMIN_NONE
} maxmin_demand;

// A batch: changes in any order. They count from the next maxmin_resolve() on. A flow's path, weight, factor or cap changes
// by departing and arriving in one batch.
uint32_t maxmin_arrive(maxmin *m,
                       const maxmin_demand *demand); // the id may be that of a flow which has departed
void maxmin_depart(maxmin *m, uint32_t flow);
void maxmin_set_capacity(maxmin *m, uint32_t link, uint64_t capacity); // 0: its flows stand still

typedef struct maxmin_change {
    uint64_t rate; // the new one
    uint32_t flow;
} maxmin_change;
// Flows whose rate differs from that before the batch, and all that arrived: count of them, valid until the next call of
// maxmin_resolve(). Their order follows ids and history: what the caller makes of them must not depend on it.
const maxmin_change *maxmin_resolve(maxmin *m, uint32_t *count);

// As of the latest resolve; the flow must not have arrived since.
uint64_t maxmin_rate(const maxmin *m, uint32_t flow);  // weight times level, 0 possible
uint64_t maxmin_level(const maxmin *m, uint32_t flow); // at which it froze
uint64_t maxmin_closing_level(const maxmin *m,
                              uint32_t link);         // at which it froze flows; MAXMIN_NONE: it never did
uint64_t maxmin_load(const maxmin *m, uint32_t link); // sum of factor times rate; at most the capacity

uint64_t maxmin_capacity(const maxmin *m, uint32_t link);
uint32_t maxmin_link_count(const maxmin *m);
uint32_t maxmin_flow_count(const maxmin *m);
uint32_t maxmin_flows_on(const maxmin *m, uint32_t link); // how many flows cross it
uint32_t maxmin_flow_on(const maxmin *m, uint32_t link,
                        uint32_t index); // one of them; the order changes with every batch

// What the work was. Sets (dirty links, touched and changed flows, incidences) follow from the instance; the queue's counts
// may also depend on the order of a batch, so they are not part of a result that must not.
typedef struct maxmin_counters {
    uint64_t batches;     // resolves
    uint64_t full_solves; // of them
    uint64_t links_dirtied, flows_touched, flows_changed;
    uint64_t incidences;   // (flow, link) pairs visited by either way of solving
    uint64_t queue_pushes; // of links and flows
    uint64_t queue_moves;  // entries dealt out to a nearer bin
    uint64_t stale_pops;   // links whose share had risen since it was queued, or that had no flow left
    uint64_t checks;       // by the oracle
} maxmin_counters;
maxmin_counters maxmin_counters_of(const maxmin *m);

// What a solve from scratch and the definition say about the levels at hand (after a resolve). All zero: they are right.
typedef struct maxmin_audit_report {
    uint32_t wrong_levels, wrong_closings; // differ from those of the solve from scratch
    uint32_t overloaded_links;
    uint32_t
        flows_without_bottleneck; // none of its links is full with it among the fastest, and it is not at its cap
    uint32_t broken_lists;        // links whose list of flows, sum of weights or rest of capacity is wrong
} maxmin_audit_report;
maxmin_audit_report maxmin_audit(maxmin *m);
void maxmin_verify(maxmin *m); // asserts that maxmin_audit() finds nothing

// The bottleneck count: when n_l flows of equal size S cross link l, all start together, weights and factors are 1 and there
// are no caps, then the last one ends at ceil(S / r) with r = min over l of floor(C_l / n_l), exactly.
// Proof. The link with the least share closes first; its flows have the least rate r of all and keep it until they end, for
// the same set keeps the link full while the shares of all others only rise. Every other flow is never slower than r.
// Holds for one phase alone on its links, whatever the paths; it says nothing of when the other flows end.
// The least share; MAXMIN_NONE if no link carries a flow. flows[l] = n_l.
uint64_t maxmin_least_share(const uint64_t *capacities, const uint32_t *flows, uint32_t links);
// ceil(work / share) in the caller's unit of time, work = S in rate units times time units; share > 0, for with 0 the phase
// never ends.
unsigned __int128 maxmin_phase_end(unsigned __int128 work, uint64_t share);
