// SPDX-License-Identifier: GPL-3.0-or-later
// models/network/fluid_internal.h: what the files of the fluid engine share; nobody else includes it.
//   fluid_network.c  the life of a request: begins, moves, is sent, is delivered; settling; the table of functions
//   fluid_path.c     from a request to links, factors, work and latency; into the solver and out of it
//   fluid_loss.c     what windows and lossy links leave of a connection; what is sent again; lost ends of messages
//   fluid_links.c    links that change: capacities, what is sent again, other paths; bytes per link
//   fluid_phase.c    the bottleneck count
#pragma once
#include "models/network/fluid_network.h"
#include "models/network/network_internal.h"
#include "models/network/routing.h"

// Work is counted in units of 1e-15 B: what 1 mB/s does in 1 ps.
#define FLUID_WORK_PER_BYTE UINT64_C(1000000000000000)

typedef unsigned __int128 fluid_work;

// One link or bundle of a flow's path.
typedef struct fluid_crossing {
    uint32_t link;
    uint32_t factor;
    uint64_t bytes; // of all edges of the request that cross it
} fluid_crossing;

typedef enum fluid_stage {
    FLUID_NONE,
    FLUID_WAITING, // the request's own latency passes
    FLUID_MOVING,
    FLUID_LOST, // the last packet of one of its messages is lost, which its sender does not know yet
    FLUID_SENT, // the latency of its edges passes
} fluid_stage;

typedef struct fluid_flow { // by slot of its transfer
    fluid_work left;        // to do as of since_ps
    sim_time since_ps, begin_ps;
    sim_time delay_ps; // of its longest path
    sim_time tail_ps;  // from the last byte sent to the delivery
    uint64_t rate_mBps;
    uint64_t cap_mBps;                  // of the unit; MAXMIN_NONE: none
    uint64_t pace_bytes;                // the whole work, rounded up
    uint64_t path_bytes;                // of these: moved when it took its path
    uint64_t counted_bytes;             // of these: already counted on links
    sim_handle event;                   // the end of its stage; none while its rate is 0, or its phase has it
    uint32_t solver_flow;               // NO_ID: it is not in the solver
    uint32_t crossings, crossing_count; // crossings: where its block begins in the pool; while it moves
    uint32_t phase_place;               // 1 + place in the phase, 0: in none
    uint8_t stage;
    bool strays;        // from the path that a healthy fabric would give it
    sim_time resent_ps; // when it last sent again what was on the way; -1: never
} fluid_flow;

typedef struct fluid_demand {
    fluid_work work;
    uint64_t pace_bytes;
    uint64_t cap_mBps;
    sim_time delay_ps, tail_ps;
    bool strays;
} fluid_demand;

typedef struct fluid_known_path { // of a prepared request, as the links were when it was found
    fluid_demand demand;
    uint32_t crossings, crossing_count; // crossings: where its block begins in the pool
    uint64_t as_of1;                    // 1 + fluid_network.changes; 0: none is known
} fluid_known_path;

// An edge of a request, or one of its queue pairs (fluid_path.c).
typedef struct fluid_strand {
    uint32_t edge, pair, pairs; // which; pairs 0: before the first
    uint64_t bytes, cap_mBps;   // cap: MAXMIN_NONE if there is none
    sim_time delay_ps, latency_ps;
    double loss;         // of one of its packets, on all its path
    double resent_ratio; // bytes sent again, to its bytes
    uint32_t count;      // of path
    bool strays;
    uint32_t path[TOPOLOGY_PATH_MAX];
} fluid_strand;

ARRAY_OF(fluid_flow, fluid_flow_array);
ARRAY_OF(fluid_known_path, fluid_known_path_array);
ARRAY_OF(fluid_crossing, fluid_crossing_array);
ARRAY_OF(uint32_t, fluid_id_array);

typedef struct fluid_network {
    fluid_options options;
    fabric_state *fabric;
    maxmin *solver; // its links are those of the topology, then the bundles
    fluid_flow_array flows;
    fluid_id_array slot_of_flow; // by the solver's id
    fluid_crossing_array pool;   // blocks of powers of two
    uint32_t free_blocks[EDGE_BLOCK_SIZES];
    bool settle_is_due;
    uint16_t kind_begins, kind_sent, kind_times_out, kind_delivered, kind_settles, kind_converges,
        kind_phase_ends;
    fluid_counters counters;

    // The path that is being worked out.
    fluid_crossing_array path;
    uint32_t *place_of_link; // while strands are laid on it: 1 + place in path, 0: not in it
    fluid_id_array links_of_path, factors_of_path;

    fluid_known_path_array known_paths; // by prepared request
    uint64_t changes;                   // of links, and of what routing knows of them

    sim_handle *convergences; // by link: routing learns of its latest change. NULL until one changes
    fluid_id_array died;      // since the latest settle; some perhaps twice, or up again
    fluid_id_array converged; // likewise, of which routing learns at the next settle
    fluid_id_array adapted;  // links that died or returned since the latest settle, while routing is adaptive
    fluid_id_array diverted; // scratch: slots

    // The bottleneck count.
    fluid_id_array gathering; // slots of what began since the latest settle
    fluid_id_array phase;     // of the members of the phase that goes on
    sim_handle phase_end;     // none: there is no phase
    bool phase_is_disturbed;
    uint64_t phase_rate_mBps;
    uint32_t *phase_flows; // members by link
} fluid_network;

// ---- fluid_network.c
void fluid_settle_later(network *n);
fluid_work fluid_work_left(const network *n, const fluid_flow *flow); // now
// Does what the old rate has done, takes the new one and sets the end by it.
void fluid_set_rate(network *n, uint32_t slot, uint64_t rate_mBps);
// The bytes are off the links: the request is delivered when its latency has passed; at once if there is none, unless
// it is to be an event.
void fluid_finish_moving(network *n, uint32_t slot, bool as_event);

// ---- fluid_path.c
fluid_demand fluid_find_path(network *n, uint32_t slot); // its links go to f->path
fluid_demand fluid_recall_path(network *n,
                               uint32_t slot); // the same; of a prepared request as long as no link changes
void fluid_store_path(network *n, uint32_t slot); // f->path, as the flow's
void fluid_forget_path(network *n, uint32_t slot);
bool fluid_path_is_same(const network *n, uint32_t slot); // f->path as the stored one
void fluid_enter(network *n, uint32_t slot);              // into the solver, by its stored path
void fluid_leave(network *n, uint32_t slot);              // out of the solver

// From {0} through all strands of the request, by edge and queue pair; false at the end.
bool fluid_next_strand(const network *n, const transfer *t, fluid_strand *s);

// ---- fluid_loss.c
bool fluid_minds_transport(const network *n); // a window, or a link that loses packets
// Of a strand through the network, whose path is known: its losses, and the cap that they and the window set.
void fluid_limit_strand(const network *n, fluid_strand *s);
// The request has been sent: counts what was sent again. How often it waits for a timeout; mostly 0.
uint32_t fluid_count_losses(network *n, uint32_t slot);

// ---- fluid_links.c
void fluid_set_link(network *n, link_id l, double ratio);
void fluid_on_converges(sim *s, void *owner, const sim_event *event);
void fluid_apply_changes(network *n); // what links mean for flows, before rates are worked out
// Counts what the flow has moved and not been counted; to_end: all that it has to move.
void fluid_count_links(network *n, uint32_t slot, bool to_end);
void fluid_carry(network *n, uint32_t slot,
                 uint64_t times); // counts a request that does not move, by its path of now
uint64_t fluid_link_bytes(const network *n, link_id l);
bool fluid_stuck(const network *n, uint32_t slot, uint32_t *down);

// ---- fluid_phase.c
bool fluid_phase_takes(network *n, uint32_t slot);  // of a flow that begins to move; false: the option is off
void fluid_phase_remove(network *n, uint32_t slot); // of a member, or of one that gathers
void fluid_phase_disturb(network *n);               // what goes on ends with the next settle
void fluid_phase_settle(network *n);                // before rates are worked out: forms it, or ends it
void fluid_on_phase_ends(sim *s, void *owner, const sim_event *event);
