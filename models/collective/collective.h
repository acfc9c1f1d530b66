// SPDX-License-Identifier: GPL-3.0-or-later
// models/collective/collective.h: plays plans on a network. A group is an ordered list of endpoints; a collective on it
// starts when its last member has arrived, and its owner is told at its end. Its rings are those of ring_order.h, so that a
// group over nodes uses all NICs that serve it. Plans are cached (plan_cache.h).
// Bytes of every collective are checked against its plan at its end.
//
// What runs, and for how long alone, is the library's (tuner.h, pace.h), for the layout of the group (group_layout.h).
// Grains: streams: the latency of the pace passes, then one request moves all edges, never faster than the pace; where steps
// differ, stage after stage does so (collective_shape.c). messages: what a step sends over an edge, or a switch sums in an act,
// is a transfer, which waits for those before it and for the data that it passes on (message_shape.c, message_play.h).
//
// Digest: one record per collective, times its multiplicity: kind, node of the first member, ranks, start (last arrival),
// end, bytes, label. The node rather than the member, so that folding the equal groups inside a node does not show.
#pragma once
#include "models/collective/group_layout.h"
#include "models/collective/pace.h"
#include "models/network/network.h"
#include "sim/engine.h"

typedef struct collectives collectives;
typedef uint32_t group_id;

typedef struct group_def {
    const vertex_id *members; // each once; their order is that of the shares; copied
    uint32_t count;
    uint32_t multiplicity;       // how many such groups this one stands for
    uint32_t communicator_ranks; // of the communicator whose members send to each other; 0: the group is it
    uint32_t communicator_nodes; // NVLink domains over which it lies; 0: as many as the group
    const char *label;           // "dp", "tp", ...; copied
} group_def;

typedef struct collective_request {
    collective_kind kind; // SEND_RECV: in groups of two, from member 0 to member 1
    group_id group;
    uint64_t bytes;      // as plan.h defines them
    uint32_t tag;        // the owner's number
    int forced_protocol; // collective_protocol, or PROTOCOL_AUTO
    // ALL_TO_ALL_UNEQUAL, as plan.h defines them; kept, not copied: one address is one matrix as long as the player lives.
    const uint64_t *parts;
} collective_request;

typedef struct collective_result { // what the owner is told, and what the trace records
    uint32_t tag;
    collective_kind kind;
    group_id group;
    collective_algorithm algorithm;
    collective_protocol protocol;
    collective_grain grain;
    uint32_t ranks, multiplicity;
    uint64_t bytes;
    uint64_t payload_bytes; // payload over all edges of one instance; the protocol's flags are not in it
    sim_time first_arrival_ps, last_arrival_ps, end_ps;
    uint32_t last_member; // position of the last to arrive; ties: the least position
} collective_result;

typedef void collective_done(void *owner, const collective_result *result); // may open and arrive at others
// Told for each edge of a finished transfer or stage of a stream when set (trace level transfers); opens none.
typedef struct collective_transfer {
    uint32_t tag;
    vertex_id from, to;
    uint64_t bytes; // payload
    sim_time start_ps, end_ps;
} collective_transfer;
typedef void collective_moved(void *owner, const collective_transfer *transfer);

typedef struct collectives_options {
    const collective_library *library;   // kept, not copied
    const collective_hardware *hardware; // likewise
    collective_grain grain;              // what is asked for: streams or messages
    int forced_algorithm;                // collective_algorithm, or ALGORITHM_AUTO (tuner.h)
    collective_done *done;
    collective_moved *moved; // may be NULL
    void *owner;
    // Where collectives are tried that need not be played (below); nothing else runs on it. May be NULL.
    sim *alone;
} collectives_options;

collectives *collectives_create(arena *a, sim *s, network *n, const collectives_options *options);
group_id collectives_add_group(collectives *c, const group_def *def);
uint32_t collectives_group_count(const collectives *c);
// Valid until the next collectives_add_group().
const group_def *collectives_group(const collectives *c, group_id g);
uint32_t collectives_ring_count(const collectives *c, group_id g); // side by side
// The link that sets the pace of its rings when nothing else moves; NO_ID: none, or a bundle (collective_pace.c).
// healthy_ratio: how long a large buffer would take, were no link degraded, against how long it does.
link_id collectives_slowest_link(collectives *c, group_id g, double *healthy_ratio);
uint32_t collectives_rings(const collectives *c, group_id g); // the same number where groups have equal rings
// An instance waits for the arrival of every member. Returns its number, which is used again after its end. A group of one
// ends in the instant in which its member arrives (still an event).
uint32_t collective_open(collectives *c, const collective_request *request);
void collective_arrive(collectives *c, uint32_t collective, uint32_t member); // each member once

// ---- collectives that need not be played, because nobody moves on their links meanwhile (collective_alone.c)

// A request without its tag, found once for many times.
uint32_t collective_shape(collectives *c, const collective_request *request);
const collective_pace *collective_pace_at(collectives *c,
                                          uint32_t shape); // until the next collective_shape()
// Whether the time alone is the same whenever it begins; not with completion windows, nor without options.alone.
bool collectives_know_alone(const collectives *c);
// From the last arrival to the end when nothing else moves and every link has the rate that it began with (degraded ones
// theirs), to the tick. Played once for each shape, or for one of those that lie alike inside their nodes, on a network of
// the same kind.
sim_time collective_alone_ps(collectives *c, uint32_t shape);
// Leaves in the digest and in the counters of the collectives what playing one from its last arrival at start_ps on would have
// left, but tells nobody.
void collective_record_alone(collectives *c, uint32_t shape, sim_time start_ps, sim_time end_ps);
// Leaves in the counters of the network, and on its links, what playing so many would have left, but for its high water mark.
void collective_carry_alone(collectives *c, uint32_t shape, uint64_t times);

// ----

// Messages of its plan, before it is built: what it will take of memory. 0 in the streams grain.
uint64_t collective_message_count(collectives *c, const collective_request *request);
// How many transfers its owner is told, for estimates of rows.
uint64_t collective_transfer_count(collectives *c, const collective_request *request);
// The time it takes alone from its last arrival, by its pace.
double collective_predict_s(collectives *c, const collective_request *request);

typedef struct collectives_counters {
    uint64_t played, messages; // instances ended; transfers asked of the network
    uint64_t alone;            // of the instances: not played, but recorded (collective_record_alone())
    uint64_t plans;            // built
    uint64_t plan_hits;        // instances opened beyond the first of each (kind, group, bytes, protocol)
    // Of all ended instances, flags included, x multiplicity: what the network delivered for them.
    unsigned __int128 network_bytes;
} collectives_counters;
collectives_counters collectives_counters_of(const collectives *c);
uint32_t collectives_open_count(const collectives *c); // instances not yet ended (deadlock reports)
