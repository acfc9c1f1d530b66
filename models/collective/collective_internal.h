// SPDX-License-Identifier: GPL-3.0-or-later
// models/collective/collective_internal.h: what the files of the player share; nobody else includes it.
//   collective.c        groups and instances: arrivals, messages and streams on the network, the end
//   collective_shape.c  what all equal requests share: algorithm, pace, plan, bytes
//   message_shape.c     how a plan is cut for that, and what each transfer costs
//   message_play.c      plays plans message by message
//   collective_pace.c   the link that sets a group's pace
//   collective_alone.c  collectives that need not be played: how long they take, and what they leave behind
#pragma once
#include "models/collective/collective.h"
#include "models/collective/plan_cache.h"
#include "sim/array.h"
#include "sim/map.h"

typedef struct group {
    group_def def;
    uint64_t node, label;     // words of the digest
    uint32_t rings;           // of the cache of plans
    collective_layout layout; // ranks 0: nobody has asked
    uint32_t free_instance;
} group;

typedef struct message_step {
    sim_time moving_ps, seen_ps; // of most_bytes; from there on until it is seen
    uint64_t most_bytes;         // of a transfer, over one edge
} message_step;

// What a stream moves at once, after which the next stage begins; most have one.
typedef struct stream_stage {
    uint32_t first_edge, edge_count;
    uint64_t busiest_bytes; // of an edge
    sim_time latency_ps, stream_ps;
    uint32_t prepared; // of the network; NO_ID until the first is started
} stream_stage;

// All that equal requests share: the plan laid on the group's endpoints, with the protocol it is played by.
typedef struct shape {
    collective_request key; // the tag means nothing
    uint32_t next;          // with the same hash key, or NO_ID
    uint32_t plan;
    bool opened; // not only asked about
    collective_choice choice;
    collective_pace pace;
    network_edge *edges;    // one per edge of the plan, with all its bytes on the wire
    uint64_t busiest_bytes; // of an edge
    uint64_t payload_bytes, network_bytes;
    uint32_t least_rings; // that share an edge
    // Messages (message_shape.c): by slices; in a line of equal pieces, each seen after hop_ps; or by the steps of the plan.
    bool by_slices;
    uint64_t slice_bytes;          // of one ring, in pace.work_ps
    sim_time rest_ps, nic_rest_ps; // of the lane and of the NIC, after each slice
    sim_time drain_ps;
    uint64_t line_bytes; // on the wire, that follow one another over an edge
    sim_time hop_ps;
    message_step *steps;  // of the plan; NULL: by slices or in a line
    uint32_t requests;    // that one instance asks of the network
    stream_stage *stages; // as many; NULL: messages
    sim_time alone_ps;    // ALONE_UNKNOWN: nobody has asked
} shape;

enum { BARRIER_BYTES = 4 }; // what an all-reduce of one number moves

#define ALONE_UNKNOWN ((sim_time)-1)

typedef struct instance {
    uint32_t shape, tag;
    uint32_t next_free; // of its group
    bool open, started;
    uint32_t missing;  // members not yet there
    uint64_t *arrived; // a bit per member
    sim_time first_arrival_ps, last_arrival_ps;
    uint32_t last_member;
    uint64_t payload_moved;
    uint32_t stage; // of its stream
    sim_time stage_start_ps;
} instance;

typedef struct message_player message_player;

ARRAY_OF(group, group_array);
ARRAY_OF(shape, shape_array);
ARRAY_OF(instance, instance_array);

struct collectives {
    arena *arena;
    sim *sim;
    network *network;
    collectives_options options;
    plan_cache *plans;
    group_array groups;
    shape_array shapes;
    map *shape_by_key; // mixed key -> the latest shape with it; the others follow by .next
    instance_array instances;
    uint32_t open_count;
    uint16_t client, kind_end;
    collectives_counters counters;
    uint32_t *crossings;        // by link or bundle, scratch of collectives_slowest_link(); NULL until then
    struct alone_player *alone; // NULL until it is needed
    message_player *messages;   // NULL in the streams grain
    network_edge *edges;        // scratch of message_request(), for the transfer with the most
    uint32_t edges_room;
};

// ---- collective_shape.c
const collective_layout *group_layout_of(collectives *c,
                                         group_id g); // until the next collectives_add_group()
uint32_t shape_find(collectives *c, const collective_request *request);
static inline const shape *shape_at(const collectives *c, uint32_t s) // until the next shape_find()
{
    SIM_ASSERT(s < c->shapes.count);
    return &c->shapes.items[s];
}
static inline const cached_plan *shape_plan(const collectives *c, const shape *s)
{
    return plan_cache_at(c->plans, s->plan);
}
const protocol_cut *shape_cut(const collectives *c, const shape *s);
const ring_set *shape_rings(const collectives *c, const shape *s);
// At which so many bytes take that long, rounded up, as the network rounds their time up; 0: no cap, for they take no
// time or would need a rate beyond any link's.
uint64_t shape_cap_mBps(uint64_t bytes, sim_time time_ps);
// What the network is asked for, but for client and tag.
network_request shape_stream(const collectives *c, const shape *s, uint32_t stage);

// ---- message_shape.c
void message_cut(const collectives *c, shape *s, plan_cache_key *key); // choice and pace are known
void message_find_times(collectives *c, shape *s, const collective_layout *layout); // its plan too
// What a transfer takes: of its sender, before the NIC has it; of the network at least; until it is seen; of the lane then,
// and at least from its beginning on.
typedef struct slice_times {
    bool by_nic;
    sim_time copy_ps, moving_ps, seen_ps, rest_ps, lane_ps;
} slice_times;
slice_times message_times(const collectives *c, const shape *s, uint32_t t);
// What the network carries of transfer t over one of its edges in the cached plan.
uint64_t message_wire_bytes(const collectives *c, const shape *s, uint32_t t, uint32_t edge);
// Of transfer t; its edges are the player's until the next call.
network_request message_request(collectives *c, const shape *s, uint32_t t);

// ---- collective.c
// The record of the digest, and what one instance that has ended adds to the counters but for its requests.
void collective_count_end(collectives *c, const shape *s, sim_time start_ps, sim_time end_ps);
void collective_count_opened(collectives *c, uint32_t s);
