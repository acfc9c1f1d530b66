// SPDX-License-Identifier: GPL-3.0-or-later
// Idle time to its causes (blame.h): what a lane waited for has just ended.
#include "models/training/step_internal.h"

static const blame_cause exposed_by_role[ROLES] = { [ROLE_TENSOR] = BLAME_EXPOSED_TP,
                                                    [ROLE_DATA] = BLAME_EXPOSED_DP,
                                                    [ROLE_MOVE] = BLAME_PP_WAIT,
                                                    [ROLE_TABLE] = BLAME_PP_WAIT,
                                                    [ROLE_NORM] = BLAME_PP_WAIT };

void step_idle_exposed(step_player *p, lane_id lane, group_id group, sim_time end, sim_time known)
{
    const lane_group *g = &p->groups.items[group];
    const blame_cause cause = exposed_by_role[g->role];
    const sim_time from = blame_busy_until(p->blame, lane);
    if (g->slow_link != NO_ID && end > from) { // the link is to blame for what it adds, not for the whole
        const sim_time anyway = (sim_time)((double)(end - from) * g->healthy_ratio);
        blame_idle(p->blame, lane, from + anyway, cause, known);
        blame_idle_for_part(p->blame, lane, end, cause, g->slow_link, known);
    }
    blame_idle(p->blame, lane, end, cause, known);
}

// A lane of another stage that is still at work is what a pipeline's end looks like: bubble.
static blame_cause waiting_for(const step_player *p, lane_id lane, lane_id peer)
{
    return step_lane_def(p, lane)->place.pipeline == step_lane_def(p, peer)->place.pipeline ? BLAME_PEER
                                                                                            : BLAME_BUBBLE;
}

static void idle_for_peer(step_player *p, lane_id lane, sim_time end, lane_id peer, sim_time now)
{
    step_catch_up(p, peer);
    blame_idle_for_peer(p->blame, lane, end, peer, p->slow_mate[peer], waiting_for(p, lane, peer), now);
}

// Data calls end one after another: what lay before the lane's own arrival at one is the business of the one before it, if it
// was still waiting then. So the idle time is cut from its end backwards.
void step_charge_data(step_player *p, lane_id lane, sim_time until, uint32_t call)
{
    const sim_time from = blame_busy_until(p->blame, lane), now = step_now(p);
    sim_time end = until;
    array_clear(&p->segments);
    while (end > from) {
        const data_meeting *m = &p->data_meetings[p->data_meeting_start[lane] + call];
        const data_times *own = &p->data_times[p->data_start[lane] + call];
        *array_push(&p->segments, p->arena) = (segment){ .end = end, .peer = NO_ID };
        if (m->last_arrival < end) end = m->last_arrival;
        if (end > own->joined) {
            *array_push(&p->segments, p->arena) = (segment){ .end = end, .peer = m->last_lane };
            end = own->joined;
        }
        if (own->joined == own->lined)
            break; // by the lane itself, at work until then or charged for it already
        call--;
    }
    if (end > from) blame_idle(p->blame, lane, end, BLAME_OTHER, now);
    while (p->segments.count) {
        const segment last = *array_pop(&p->segments);
        if (last.peer == NO_ID)
            step_idle_exposed(p, lane, p->data_group[lane], last.end, now);
        else
            idle_for_peer(p, lane, last.end, last.peer, now);
    }
}

static lane_id other_side(const step_player *p, lane_id lane, const program_move *move)
{
    return move->sends ? p->move_receiver[move->direction][lane] : p->move_sender[move->direction][lane];
}

static lane_id receiver_of(const step_player *p, lane_id lane, const program_move *move)
{
    return move->sends ? p->move_receiver[move->direction][lane] : lane;
}

void step_charge_message(step_player *p, lane_id lane, const program_move *move)
{
    const lane_id receiver = receiver_of(p, lane, move);
    const message_state *m = step_message(p, receiver, move->message);
    const sim_time now = step_now(p);
    const lane_id peer = other_side(p, lane, move);
    step_catch_up(p, peer);
    blame_idle_for_stage(p->blame, lane, m->handed, peer, p->slow_mate[peer], now);
    step_idle_exposed(p, lane, p->move_group[move->direction][receiver], m->end, now);
}

// By the one that moved last; ties: the first in the program.
void step_charge_moves(step_player *p, lane_id lane, const program_op *exchange)
{
    const program_move *moves = &step_program(p, lane)->moves.items[exchange->first], *last = moves;
    for (uint32_t i = 1; i < exchange->count; i++)
        if (step_message(p, receiver_of(p, lane, &moves[i]), moves[i].message)->end >
            step_message(p, receiver_of(p, lane, last), last->message)->end)
            last = &moves[i];
    step_charge_message(p, lane, last);
}

void step_charge_meeting(step_player *p, lane_id lane, group_id group, sim_time last_arrival,
                         lane_id last_lane)
{
    const sim_time now = step_now(p);
    if (last_lane != lane) idle_for_peer(p, lane, last_arrival, last_lane, now);
    step_idle_exposed(p, lane, group, now, now);
}

// A lane's step ends with its data calls, which may outlast its work; then it waits for the last one.
void step_charge_end(step_player *p)
{
    const sim_time now = step_now(p);
    lane_id last = 0;
    for (lane_id l = 0; l < p->lane_count; l++) {
        const uint32_t calls = step_program(p, l)->data_calls.count;
        if (calls == 0) continue;
        const sim_time end = p->data_meetings[p->data_meeting_start[l] + calls - 1].end;
        if (end > blame_busy_until(p->blame, l)) step_charge_data(p, l, end, calls - 1);
    }
    for (lane_id l = 1; l < p->lane_count; l++)
        if (blame_busy_until(p->blame, l) > blame_busy_until(p->blame, last)) last = l;
    // Nobody charges anything at this instant any more, so what the last lane waited for just now is known as well.
    for (lane_id l = 0; l < p->lane_count; l++)
        if (l != last) idle_for_peer(p, l, now, last, now + 1);
}
