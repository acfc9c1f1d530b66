// SPDX-License-Identifier: GPL-3.0-or-later
// models/training/step.h: plays training steps. One graph of (lane, operation) nodes is built from the program and played
// once per step: compute operations take their time on the lane, collectives start when their last lane has arrived. A step
// ends when its last operation ends; then the next one starts on all lanes.
// It writes no rows: a listener is told what happened.
#pragma once
#include "models/collective/collective.h"
#include "models/training/blame.h"
#include "models/training/lane.h"
#include "models/training/program.h"

typedef struct step_span { // one operation of one lane
    uint32_t step;         // from 0
    lane_id lane;
    const program_op *op;
    const work *work; // NULL: a collective, then:
    uint32_t tag;     //   which one of the step, below step_player_meeting_count()
    uint64_t bytes;   //   of the collective
    sim_time start_ps, end_ps;
} step_span;

typedef struct step_collective {
    uint32_t step;
    const char *name;
    const collective_result *result; // its tag is below step_player_meeting_count()
    lane_id last_lane;               // the last to arrive
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
    void (*on_transfer)(void *owner, uint32_t step, const group_def *group,
                        const collective_transfer *transfer);
    bool (*on_step)(void *owner, const step_end *end); // false: play no more steps
    void *owner;
} step_listener;

typedef struct step_settings {
    const lane_table *lanes;
    const vertex_id *vertex_of_lane; // the endpoint of the lane's first rank
    const program *program;
    const pass_costs *const *costs_of_lane;
    const collective_terms *terms;
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
uint32_t step_player_meeting_count(const step_player *p); // collectives of one step, all groups
// Who waits for what when nothing moves any more, for the message; returns buffer.
char *step_player_describe_wait(const step_player *p, char *buffer, size_t size);
