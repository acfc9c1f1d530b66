// SPDX-License-Identifier: GPL-3.0-or-later
// models/training/step.h: plays training steps. Every lane goes through its stage's program (program.h), one operation after
// another on its compute stream; collectives of its groups start when their last member has arrived, messages of the pipeline
// when they are handed over. A step ends when the last lane has done everything; then the next one starts on all lanes.
// It writes no rows: a listener is told what happened.
//
// Lanes (lane.h) stand for whole tensor-parallel groups or for single ranks. Where a group's collectives have their links to
// themselves (fold.h) they may be taken at the time that they need alone instead of being played (alone_tensor): the same
// results in a small part of the time. A pass is then one event, or one more for each bucket that is complete or needed in it.
//
// Digest: one record per pass, optimizer, OP_CODE and data-parallel collective of every rank: rank, name, chunk and
// micro-batch (of a data-parallel collective none and its number among the calls of the program), start, end; collectives have
// records of their own (collective.h).
#pragma once
#include "models/collective/collective.h"
#include "models/training/blame.h"
#include "models/training/lane.h"
#include "models/training/program.h"

// What a lane of a stage computes with: by health of its GPU.
typedef struct stage_costs {
    const chunk_costs *const *chunks; // of the stage
    const work *optimizer;
} stage_costs;

typedef struct step_span { // one operation of one lane
    uint32_t step;         // from 0
    lane_id lane;
    op_stream stream;
    const char *name;
    uint32_t micro_batch, chunk; // NO_ID: none
    const work *work;            // NULL: a collective or a message, then:
    uint64_t collective;         //   its number (step_collective)
    uint64_t bytes;              //   of the collective
    sim_time launch_ps;          // of work: waiting for the host
    sim_time slowed_ps;          // of work: by what moved beside it
    sim_time start_ps, end_ps;
} step_span;

typedef struct step_collective {
    uint32_t step;
    uint64_t number; // through all steps, in the order in which they were opened
    const char *name;
    const collective_result *result;
    lane_id last_lane; // the last to arrive
} step_collective;

typedef struct step_end {
    uint32_t step;
    sim_time start_ps, end_ps;
    const blame *accounts; // of this step, all lanes
} step_end;

typedef struct step_listener { // any function may be NULL
    void (*on_span)(void *owner, const step_span *span);
    void (*on_collective)(void *owner, const step_collective *collective);
    // It stands for as many transfers as there are groups (group->multiplicity).
    void (*on_transfer)(void *owner, uint32_t step, uint64_t collective, const group_def *group,
                        const collective_transfer *transfer);
    bool (*on_step)(void *owner, const step_end *end); // false: play no more steps
    void *owner;
} step_listener;

typedef struct step_settings {
    const lane_table *lanes;
    const vertex_id *vertex_of_rank;
    const program *programs;      // by stage
    const schedule_def *schedule; // of these programs
    const stage_costs *const *costs_of_lane;
    bool tied_table;       // some programs have OP_TABLE
    bool overlap_pipeline; // as in program_settings
    bool alone_tensor;     // allowed only if nobody listens to spans, collectives and transfers
    sim_time restart_ps;   // of the host after a blocking exchange
    sim *alone_sim;        // nothing else runs on it (collective.h); may be NULL without alone_tensor
    const collective_library *library;
    const collective_hardware *hardware;
    collective_grain grain;
    int forced_protocol;  // collective_protocol, or PROTOCOL_AUTO
    int forced_algorithm; // collective_algorithm, or ALGORITHM_AUTO
    uint32_t steps;
    uint64_t tokens_per_step;
    step_listener listener;
} step_settings;

typedef struct step_player step_player;
step_player *step_player_create(arena *a, sim *s, network *n, const step_settings *settings);
void step_player_start(step_player *p); // the first step begins now
uint32_t step_player_steps_done(const step_player *p);
bool step_player_is_finished(const step_player *p); // all steps, or the listener said enough
collectives *step_player_collectives(const step_player *p);
// The groups of a lane; NO_ID: it is in none of that kind.
typedef struct step_groups {
    group_id tensor, data, norm, table;
    group_id from[2]; // by pass_direction: it receives messages of these passes from the first member
} step_groups;
step_groups step_player_groups_of(const step_player *p, lane_id lane);
// What one step will tell its listener, for estimates of rows.
typedef struct step_counts {
    uint64_t spans, collectives, transfers;
} step_counts;
step_counts step_player_counts(const step_player *p);
// Messages of all plans that it keeps for the whole run, one for each rings, kind and bytes; 0 in the streams grain.
uint64_t step_player_plan_messages(const step_player *p);
// Time that GPUs were idle in the present or latest step because a degraded link is slow: waiting for messages and collectives
// whose pace it sets, and for those who did. x multiplicity; by cause. place: in topology_degraded_links().
unsigned __int128 step_player_caused_by_link(const step_player *p, uint32_t place, blame_cause cause);
// Who waits for what when nothing moves any more, for the message; returns buffer.
char *step_player_describe_wait(const step_player *p, char *buffer, size_t size);
