// SPDX-License-Identifier: GPL-3.0-or-later
// models/training/step_internal.h: what the files of the step player share; nobody else includes it.
//   step.c         lanes go through their programs; steps begin and end; the interface
//   step_work.c    work while others move beside it
//   step_groups.c  groups of lanes, their collectives: opened, joined, ended
//   step_charge.c  idle time to its causes
//   step_count.c   how much a step is
//
// A lane stands at one operation of its stage's program. An operation that needs others opens or joins a meeting, the open
// instance of a collective, of a group that the lane is a member of:
//
//     lane_state --op--> program_op --group of its role--> lane_group --open--> meeting --number--> collective
//                                                          members: group_lanes[first_lane ...]
//
// Arrays are indexed in one of three ways:
//     lane                        lanes, tensor_group, data_group, norm_group, table_group, alone_start
//     direction and lane          move_group, move_sender by the lane that receives, move_receiver by the one that sends
//     lane, then its n-th thing   message_states[receiver x messages + message], data_times[data_start[lane] + call],
//                                 data_meetings[data_meeting_start[lane] + call]: the same ones for all lanes of a group
#pragma once
#include "models/training/step.h"
#include "sim/array.h"

enum { STEP_NORM_BYTES = 4 }; // of OP_NORM: one fp32 number

// Roles of groups: what their collectives are for.
typedef enum group_role { ROLE_TENSOR, ROLE_DATA, ROLE_MOVE, ROLE_TABLE, ROLE_NORM, ROLES } group_role;

// A group of lanes. Of a folded tensor-parallel group the members are the ranks of its only lane, which arrives for all.
typedef struct lane_group {
    uint8_t role;                    // group_role
    uint32_t first_lane, lane_count; // in group_lanes
    uint32_t arrivals;               // of each lane: members it stands for
    uint32_t open;                   // its meeting, or NO_ID. ROLE_MOVE has as many as there are messages
    uint32_t slow_link;   // the degraded link that sets its pace, by its place in slow_links; or NO_ID
    double healthy_ratio; // with a slow_link: what its collectives would take without, against what they take
} lane_group;

typedef struct meeting { // a collective that is open
    uint64_t serial;     // for the listener
    group_id group;
    uint32_t number;  // in collectives
    uint32_t subject; // ROLE_MOVE: the message; ROLE_DATA: the data call
    uint32_t next_free;
    const char *name;
} meeting;

typedef enum lane_wait {
    WAIT_NOT,     // an event of its own is pending
    WAIT_TENSOR,  // for the collective of its tensor-parallel group
    WAIT_MESSAGE, // for the message of its operation
    WAIT_MOVES,   // for the moves of an exchange
    WAIT_DATA,    // for data calls before wanted
    WAIT_MEETING, // for OP_TABLE or OP_NORM
    WAIT_END      // its program is done
} lane_wait;

typedef struct lane_state {
    uint8_t wait;      // lane_wait
    bool tensor_begun; // a collective of the tensor-parallel group has not ended
    bool data_joined;  // it has arrived at the data call data_done
    bool is_done;      // with everything of this step
    bool begun;        // its operation has begun and goes on
    uint32_t op, item; // of the program; of the pass
    uint32_t data_lined, data_done;
    uint32_t wanted;     // WAIT_DATA
    uint32_t missing;    // WAIT_MOVES
    sim_time op_start;   // of a pass, of work outside passes
    sim_time joined;     // when it arrived at a collective that is not data parallel
    sim_time tensor_end; // alone_tensor: of the collective begun
    uint8_t beside;      // set of beside_group: whose collectives or messages it takes part in
    uint32_t moving;     // messages
    sim_handle goes_on;  // the event of its own
    sim_time goes_on_ps;
    bool runs;        // alone_tensor: that event is where its pass stops next; the pass has been played
    sim_time run_ps;  //   until here, where `item` or `work` begins
    const work *work; // that is going on; NULL: none
    uint8_t cause;    // of it, a blame_cause
    sim_time work_start, work_left, settled_ps; // work_left of its gpu_ps are left to do from settled_ps on
    sim_time slowed_ps[BESIDE_GROUPS];          // how much longer it took until then
} lane_state;

// Of one data call: of a lane, and of its group.
typedef struct data_times {
    sim_time lined, joined;
} data_times;
typedef struct data_meeting {
    sim_time last_arrival, end;
    lane_id last_lane;
} data_meeting;

typedef struct message_state {
    sim_time handed, end; // -1: not yet. handed: both sides are there, or with overlap the sender is
    uint32_t meeting;     // NO_ID: none is open
} message_state;

ARRAY_OF(lane_group, lane_group_array);
ARRAY_OF(meeting, meeting_array);

typedef struct segment { // of an idle interval, collected from its end backwards
    sim_time end;
    lane_id peer; // NO_ID: exposed communication
} segment;
ARRAY_OF(segment, segment_array);

// A tensor-parallel collective taken at its time alone: of one group and call.
typedef struct alone_call {
    uint32_t shape; // in collectives
    sim_time time_ps;
    uint64_t times; // in this step
} alone_call;

struct step_player {
    arena *arena;
    sim *sim;
    network *network;
    step_settings settings;
    collectives *collectives;
    blame *blame;
    lane_state *lanes;
    uint32_t lane_count, done_count;

    lane_group_array groups;
    lane_id *group_lanes;
    uint32_t group_lane_count;
    group_id *tensor_group, *data_group, *norm_group, *table_group; // by lane; NO_ID: none
    group_id *move_group[2]; // by direction and receiving lane; NO_ID: nothing comes from there
    lane_id *move_sender[2], *move_receiver[2]; // by direction and receiving, sending lane

    uint32_t messages;             // of a lane
    message_state *message_states; // lane x messages
    uint32_t *data_start;          // by lane: its first data_times; with one more at the end
    data_times *data_times;
    uint32_t *data_meeting_start; // by lane: its group's first data_meeting
    data_meeting *data_meetings;

    meeting_array meetings;
    uint32_t free_meeting;
    uint64_t serial;

    // alone_tensor: by lane its first alone_call: those of its chunks, one after another, then those of its program.
    uint32_t *alone_start;
    alone_call *alone_calls;

    lane_id *slow_mate;        // by lane: whom its tensor-parallel group waits for
    const link_id *slow_links; // of the fabric: those that are degraded
    uint32_t slow_link_count;
    uint64_t *pass_names;   // digest words, by direction
    uint64_t code_name;     // of OP_CODE
    uint64_t **call_names;  // by stage and data call
    segment_array segments; // scratch
    uint16_t kind_start, kind_goes_on;
    uint32_t step;
    sim_time step_start;
    bool stopped;
};

static inline const lane_def *step_lane_def(const step_player *p, lane_id l)
{
    return &p->settings.lanes->lanes[l];
}

static inline const program *step_program(const step_player *p, lane_id l)
{
    return &p->settings.programs[step_lane_def(p, l)->place.pipeline];
}

static inline message_state *step_message(const step_player *p, lane_id receiver, uint32_t message)
{
    return &p->message_states[(size_t)receiver * p->messages + message];
}

static inline sim_time step_now(const step_player *p)
{
    return sim_now(p->sim);
}

// ---- step_work.c
// These know no player: a lane's state may be a copy, to see what will come.
void step_work_begin(lane_state *own, const work *w, blame_cause cause, sim_time start);
sim_time step_work_end(const lane_state *own); // if nothing changes
void step_work_settle(lane_state *own, sim_time until);
sim_time step_work_launch(const lane_state *own);               // waiting for the host
sim_time step_work_slowed(const lane_state *own, sim_time end); // by what moved beside it
void step_work_charge(step_player *p, lane_id lane, sim_time end);

// ---- step.c
// The lane begins or ceases to take part in what moves.
void step_set_beside(step_player *p, lane_id lane, beside_group group, bool moves);
void step_catch_up(step_player *p, lane_id lane); // its idle time until now has been charged
void step_advance(step_player *p, lane_id lane);  // what it waited for is there
void step_digest_task(step_player *p, lane_id lane, uint64_t name, uint32_t chunk, uint32_t micro_batch,
                      sim_time start, sim_time end);
void step_tell_span(step_player *p, const step_span *span);
void step_check_done(step_player *p, lane_id lane);
void step_end_exchange(step_player *p, lane_id lane); // all its moves have moved

// ---- step_groups.c
void step_build_groups(step_player *p);
void step_begin_tensor(step_player *p, lane_id lane, const tensor_call *call);
void step_join_meeting(step_player *p, lane_id lane, const program_op *op); // OP_TABLE, OP_NORM
void step_line_data(step_player *p, lane_id lane, uint32_t first, uint32_t count);
void step_hand_over(step_player *p, lane_id sender, const program_move *move);
void step_ask_for(step_player *p, lane_id receiver, const program_move *move);
collectives_options step_collectives_options(step_player *p);

// ---- step_charge.c
// The lane was idle until end for communication of a group that all had joined, as is known from `known` on.
void step_idle_exposed(step_player *p, lane_id lane, group_id group, sim_time end, sim_time known);
// What a lane waited for has just ended, and nothing has been charged since its last work.
void step_charge_data(step_player *p, lane_id lane, sim_time until, uint32_t call);
void step_charge_message(step_player *p, lane_id lane, const program_move *move);
void step_charge_moves(step_player *p, lane_id lane, const program_op *exchange);
void step_charge_meeting(step_player *p, lane_id lane, group_id group, sim_time last_arrival,
                         lane_id last_lane);
void step_charge_end(step_player *p);
