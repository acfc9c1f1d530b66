// SPDX-License-Identifier: GPL-3.0-or-later
// Which lanes talk to each other, and the collectives between them.
#include "models/training/step_internal.h"

// ---- meetings

static group_id tag_group(const step_player *p, uint32_t tag)
{
    return p->meetings.items[tag].group;
}

static uint32_t open_meeting(step_player *p, group_id group, collective_kind kind, uint64_t bytes,
                             const char *name)
{
    uint32_t m = p->free_meeting;
    if (m == NO_ID) {
        array_push(&p->meetings, p->arena);
        m = p->meetings.count - 1;
    } else {
        p->free_meeting = p->meetings.items[m].next_free;
    }
    const uint32_t number = collective_open(
        p->collectives, &(collective_request){ .kind = kind,
                                               .group = group,
                                               .bytes = bytes,
                                               .tag = m,
                                               .forced_protocol = p->settings.forced_protocol });
    p->meetings.items[m] = (meeting){ .serial = p->serial++, .group = group, .number = number, .name = name };
    return m;
}

// The first of a group to come opens what it comes to; there is one at a time.
static uint32_t meeting_of(step_player *p, group_id group, collective_kind kind, uint64_t bytes,
                           const char *name)
{
    lane_group *g = &p->groups.items[group];
    if (g->open == NO_ID) g->open = open_meeting(p, group, kind, bytes, name);
    return g->open;
}

static void arrive(step_player *p, uint32_t m, uint32_t member)
{
    collective_arrive(p->collectives, p->meetings.items[m].number, member);
}

void step_begin_tensor(step_player *p, lane_id lane, const tensor_call *call)
{
    const group_id group = p->tensor_group[lane];
    const uint32_t m = meeting_of(p, group, call->kind, call->bytes, call->name);
    const uint32_t arrivals = p->groups.items[group].arrivals;
    lane_state *own = &p->lanes[lane];
    SIM_ASSERT(!own->tensor_begun);
    own->tensor_begun = true;
    own->joined = step_now(p);
    step_set_beside(p, lane, BESIDE_TENSOR, true);
    for (uint32_t i = 0; i < arrivals; i++)
        arrive(p, m, step_lane_def(p, lane)->place.tensor + i);
}

void step_join_meeting(step_player *p, lane_id lane, const program_op *op)
{
    const parallel_place place = step_lane_def(p, lane)->place;
    const bool table = op->kind == OP_TABLE;
    const group_id group = table ? p->table_group[lane] : p->norm_group[lane];
    const uint64_t bytes = table ? step_program(p, lane)->table_bytes : STEP_NORM_BYTES;
    p->lanes[lane].joined = step_now(p);
    arrive(p, meeting_of(p, group, COLLECTIVE_ALL_REDUCE, bytes, op->name),
           table ? place.pipeline > 0 : place.pipeline);
}

// A lane has taken part in a collective, or received a message, from start on.
static void tell_communication(step_player *p, lane_id lane, op_stream stream, const meeting *m,
                               const collective_result *result, sim_time start)
{
    const schedule_def *order = p->settings.schedule;
    const bool is_message = p->groups.items[m->group].role == ROLE_MOVE;
    step_tell_span(p, &(step_span){
                          .step = p->step,
                          .lane = lane,
                          .stream = stream,
                          .name = m->name,
                          .micro_batch = is_message ? m->subject % order->micro_batches : NO_ID,
                          .chunk = is_message ? m->subject / order->micro_batches % order->chunks : NO_ID,
                          .collective = m->serial,
                          .bytes = result->bytes,
                          .start_ps = start,
                          .end_ps = result->end_ps,
                      });
}

// ---- the stream of the data-parallel group

static void join_data(step_player *p, lane_id lane)
{
    lane_state *own = &p->lanes[lane];
    if (own->data_joined || own->data_done == own->data_lined) return;
    const data_call *call = &step_program(p, lane)->data_calls.items[own->data_done];
    const uint32_t m = meeting_of(p, p->data_group[lane], call->kind, call->bytes, call->name);
    p->meetings.items[m].subject = own->data_done;
    own->data_joined = true;
    p->data_times[p->data_start[lane] + own->data_done].joined = step_now(p);
    arrive(p, m, step_lane_def(p, lane)->place.data);
}

void step_line_data(step_player *p, lane_id lane, uint32_t first, uint32_t count)
{
    lane_state *own = &p->lanes[lane];
    SIM_ASSERT(first == own->data_lined); // in their order
    for (uint32_t i = 0; i < count; i++)
        p->data_times[p->data_start[lane] + own->data_lined++].lined = step_now(p);
    join_data(p, lane);
    step_set_beside(p, lane, BESIDE_DATA, own->data_joined);
}

static void end_data_of(step_player *p, lane_id lane, const meeting *m, const collective_result *result)
{
    lane_state *own = &p->lanes[lane];
    const sim_time joined = p->data_times[p->data_start[lane] + m->subject].joined;
    SIM_ASSERT(own->data_joined && own->data_done == m->subject);
    step_digest_task(p, lane, p->call_names[step_lane_def(p, lane)->place.pipeline][m->subject], NO_ID,
                     m->subject, joined, result->end_ps);
    tell_communication(p, lane, STREAM_DP, m, result, joined);
    own->data_joined = false;
    own->data_done++;
    join_data(p, lane);
    step_set_beside(p, lane, BESIDE_DATA, own->data_joined);
}

static void end_data(step_player *p, const meeting *m, const collective_result *result, lane_id last_lane)
{
    const lane_group *g = &p->groups.items[m->group];
    const lane_id *lanes = &p->group_lanes[g->first_lane];
    const uint32_t count = g->lane_count;
    p->data_meetings[p->data_meeting_start[lanes[0]] + m->subject] = (data_meeting){
        .last_arrival = result->last_arrival_ps, .end = result->end_ps, .last_lane = last_lane
    };
    for (uint32_t i = 0; i < count; i++)
        end_data_of(p, lanes[i], m, result);
    for (uint32_t i = 0; i < count; i++) {
        lane_state *own = &p->lanes[lanes[i]];
        if (own->wait == WAIT_DATA && own->data_done >= own->wanted) {
            step_charge_data(p, lanes[i], result->end_ps, own->wanted - 1);
            step_advance(p, lanes[i]);
        } else {
            step_check_done(p, lanes[i]);
        }
    }
}

// ---- messages of the pipeline

// With overlap the receiver has made room before; otherwise both sides come.
static uint32_t message_meeting(step_player *p, lane_id receiver, const program_move *move)
{
    message_state *state = step_message(p, receiver, move->message);
    if (state->meeting != NO_ID) return state->meeting;
    const uint32_t m = open_meeting(p, p->move_group[move->direction][receiver], COLLECTIVE_SEND_RECV,
                                    step_program(p, receiver)->message_bytes,
                                    move->direction == PASS_FORWARD ? "activations" : "activation gradients");
    p->meetings.items[m].subject = move->message;
    state->meeting = m;
    return m;
}

static void count_moving(step_player *p, lane_id lane, uint32_t more)
{
    lane_state *own = &p->lanes[lane];
    own->moving += more; // UINT32_MAX: one less
    step_set_beside(p, lane, BESIDE_PIPELINE, own->moving > 0);
}

void step_hand_over(step_player *p, lane_id sender, const program_move *move)
{
    const lane_id receiver = p->move_receiver[move->direction][sender];
    const uint32_t m = message_meeting(p, receiver, move);
    arrive(p, m, 0);
    if (!p->settings.overlap_pipeline) return; // both stand still
    arrive(p, m, 1);
    count_moving(p, sender, 1);
    count_moving(p, receiver, 1);
}

void step_ask_for(step_player *p, lane_id receiver, const program_move *move)
{
    arrive(p, message_meeting(p, receiver, move), 1);
}

static void one_has_moved(step_player *p, lane_id lane)
{
    lane_state *own = &p->lanes[lane];
    SIM_ASSERT(own->wait == WAIT_MOVES && own->missing > 0);
    if (--own->missing == 0) step_end_exchange(p, lane);
}

static void end_message(step_player *p, const meeting *m, const collective_result *result)
{
    const lane_id *lanes = &p->group_lanes[p->groups.items[m->group].first_lane];
    const lane_id sender = lanes[0], receiver = lanes[1];
    message_state *state = step_message(p, receiver, m->subject);
    state->handed = result->last_arrival_ps;
    state->end = result->end_ps;
    state->meeting = NO_ID;
    tell_communication(p, receiver, STREAM_PP, m, result, result->last_arrival_ps);
    if (!p->settings.overlap_pipeline) {
        one_has_moved(p, sender);
        one_has_moved(p, receiver);
        return;
    }
    count_moving(p, sender, UINT32_MAX);
    count_moving(p, receiver, UINT32_MAX);
    const lane_state *own = &p->lanes[receiver];
    if (own->wait != WAIT_MESSAGE) return;
    const program *program_ = step_program(p, receiver);
    const program_move *move = &program_->moves.items[program_->ops.items[own->op].first];
    if (move->message != m->subject) return;
    step_charge_message(p, receiver, move);
    step_advance(p, receiver);
}

// ---- collectives that all members wait for

static void end_tensor(step_player *p, const meeting *m, const collective_result *result, lane_id last_lane)
{
    const lane_group g = p->groups.items[m->group];
    for (uint32_t i = 0; i < g.lane_count; i++) {
        const lane_id lane = p->group_lanes[g.first_lane + i];
        p->lanes[lane].tensor_begun = false;
        step_set_beside(p, lane, BESIDE_TENSOR, false);
        tell_communication(p, lane, STREAM_TP, m, result, p->lanes[lane].joined);
    }
    for (uint32_t i = 0; i < g.lane_count; i++) {
        const lane_id lane = p->group_lanes[g.first_lane + i];
        if (p->lanes[lane].wait != WAIT_TENSOR) continue;
        step_charge_meeting(p, lane, m->group, result->last_arrival_ps, last_lane);
        step_advance(p, lane);
    }
}

static void end_other(step_player *p, const meeting *m, const collective_result *result, lane_id last_lane)
{
    const lane_group g = p->groups.items[m->group];
    for (uint32_t i = 0; i < g.lane_count; i++) {
        const lane_id lane = p->group_lanes[g.first_lane + i];
        SIM_ASSERT(p->lanes[lane].wait == WAIT_MEETING);
        tell_communication(p, lane, STREAM_PP, m, result, p->lanes[lane].joined);
        step_charge_meeting(p, lane, m->group, result->last_arrival_ps, last_lane);
    }
    for (uint32_t i = 0; i < g.lane_count; i++)
        step_advance(p, p->group_lanes[g.first_lane + i]);
}

static void on_done(void *owner, const collective_result *result)
{
    step_player *p = owner;
    const meeting m = p->meetings.items[result->tag]; // it may be used again before this is over
    lane_group *g = &p->groups.items[m.group];
    const group_role role = (group_role)g->role;
    const lane_id last_lane = p->group_lanes[g->first_lane + result->last_member / g->arrivals];
    const step_listener *listener = &p->settings.listener;
    if (listener->on_collective)
        listener->on_collective(listener->owner, &(step_collective){ .step = p->step,
                                                                     .number = m.serial,
                                                                     .name = m.name,
                                                                     .result = result,
                                                                     .last_lane = last_lane });
    p->meetings.items[result->tag].next_free = p->free_meeting;
    p->free_meeting = result->tag;
    if (role != ROLE_MOVE) g->open = NO_ID;
    switch (role) {
    case ROLE_TENSOR: end_tensor(p, &m, result, last_lane); break;
    case ROLE_DATA: end_data(p, &m, result, last_lane); break;
    case ROLE_MOVE: end_message(p, &m, result); break;
    case ROLE_TABLE:
    case ROLE_NORM: end_other(p, &m, result, last_lane); break;
    case ROLES: break;
    }
}

static void on_moved(void *owner, const collective_transfer *transfer)
{
    const step_player *p = owner;
    const step_listener *listener = &p->settings.listener;
    listener->on_transfer(listener->owner, p->step, p->meetings.items[transfer->tag].serial,
                          collectives_group(p->collectives, tag_group(p, transfer->tag)), transfer);
}

collectives_options step_collectives_options(step_player *p)
{
    return (collectives_options){
        .library = p->settings.library,
        .hardware = p->settings.hardware,
        .grain = p->settings.grain,
        .forced_algorithm = p->settings.forced_algorithm,
        .done = on_done,
        .moved = p->settings.listener.on_transfer ? on_moved : NULL,
        .owner = p,
        .alone = p->settings.alone_sim,
    };
}

// ---- groups

static vertex_id vertex_of(const step_player *p, lane_id lane, uint32_t rank)
{
    return p->settings.vertex_of_rank[lane_rank(p->settings.lanes, lane, rank)];
}

static lane_id lane_at(const step_player *p, parallel_place place)
{
    const lane_table *table = p->settings.lanes;
    return table->lane_of_rank[parallel_rank_at(table->sizes, place)];
}

// Domains of NVLink over which the stages of a lane's pipeline lie. Those of one domain may stand anywhere among them.
static uint32_t domains_of_pipeline(const step_player *p, lane_id lane)
{
    const topology *t = network_topology(p->network);
    parallel_place place = step_lane_def(p, lane)->place;
    uint32_t domains = 0, stages = p->settings.lanes->sizes.pipeline;
    for (uint32_t stage = 0; stage < stages; stage++) {
        place.pipeline = stage;
        const uint32_t own = topology_domain_of(t, vertex_of(p, lane_at(p, place), 0));
        bool seen = false;
        for (place.pipeline = 0; place.pipeline < stage && !seen; place.pipeline++)
            seen = topology_domain_of(t, vertex_of(p, lane_at(p, place), 0)) == own;
        domains += !seen;
    }
    return domains;
}

// Groups of the collectives and of lanes have the same numbers. Sends between stages go over the communicator of the pipeline.
static group_id add_group(step_player *p, group_role role, const lane_id *lanes, uint32_t count,
                          uint32_t arrivals, const char *label)
{
    const uint32_t multiplicity = role == ROLE_TENSOR ? 1 : step_lane_def(p, lanes[0])->multiplicity;
    const uint32_t members = count * arrivals;
    vertex_id *vertices = arena_array(p->arena, vertex_id, members);
    for (uint32_t i = 0; i < members; i++)
        vertices[i] = vertex_of(p, lanes[i / arrivals], i % arrivals);
    const bool sends = role == ROLE_MOVE;
    const group_id id = collectives_add_group(
        p->collectives, &(group_def){ .members = vertices,
                                      .count = members,
                                      .multiplicity = multiplicity,
                                      .communicator_ranks = sends ? p->settings.lanes->sizes.pipeline : 0,
                                      .communicator_nodes = sends ? domains_of_pipeline(p, lanes[0]) : 0,
                                      .label = label });
    *array_push(&p->groups, p->arena) = (lane_group){ .role = (uint8_t)role,
                                                      .first_lane = p->group_lane_count,
                                                      .lane_count = count,
                                                      .arrivals = arrivals,
                                                      .open = NO_ID,
                                                      .slow_link = NO_ID };
    SIM_ASSERT(id == p->groups.count - 1);
    for (uint32_t i = 0; i < count; i++)
        p->group_lanes[p->group_lane_count++] = lanes[i];
    return id;
}

static uint32_t *coordinate(parallel_place *place, parallel_axis axis)
{
    return axis == AXIS_TENSOR ? &place->tensor : axis == AXIS_DATA ? &place->data : &place->pipeline;
}

// The group of the lanes that differ from the first in their coordinate on an axis alone, in its order, which for data is that
// of the shares; ids: of the group, by lane. lanes has room for them. False: first is not the first of them, or is alone.
static bool add_group_along(step_player *p, group_role role, lane_id first, parallel_axis axis,
                            uint32_t count, const char *label, group_id *ids, lane_id *lanes)
{
    const lane_def *lane = step_lane_def(p, first);
    const uint32_t arrivals = axis == AXIS_TENSOR ? lane->multiplicity : 1;
    parallel_place place = lane->place;
    if (count == 1 || *coordinate(&place, axis) != 0) return false;
    count /= arrivals;
    for (uint32_t i = 0; i < count; i++) {
        *coordinate(&place, axis) = i;
        lanes[i] = lane_at(p, place);
    }
    const group_id id = add_group(p, role, lanes, count, arrivals, label);
    for (uint32_t i = 0; i < count; i++)
        ids[lanes[i]] = id;
    return true;
}

static void add_stage_groups(step_player *p, lane_id first, lane_id *lanes)
{
    const uint32_t stages = p->settings.lanes->sizes.pipeline;
    if (!add_group_along(p, ROLE_NORM, first, AXIS_PIPELINE, stages, "pp", p->norm_group, lanes)) return;
    if (!p->settings.tied_table) return;
    const lane_id ends[] = { first, lanes[stages - 1] };
    const group_id table = add_group(p, ROLE_TABLE, ends, 2, 1, "embedding");
    p->table_group[ends[0]] = p->table_group[ends[1]] = table;
}

// What a lane receives: activations from the stage before, their gradients from the one behind; around the ends where there
// are several chunks.
static void add_move_groups(step_player *p, lane_id receiver)
{
    const uint32_t stages = p->settings.lanes->sizes.pipeline;
    if (stages == 1) return;
    for (int direction = PASS_FORWARD; direction <= PASS_BACKWARD; direction++) {
        const uint32_t stage = step_lane_def(p, receiver)->place.pipeline;
        const bool forward = direction == PASS_FORWARD;
        const bool at_end = stage == (forward ? 0 : stages - 1);
        if (at_end && p->settings.schedule->chunks == 1) continue;
        parallel_place place = step_lane_def(p, receiver)->place;
        place.pipeline = (stage + (forward ? stages - 1 : 1)) % stages;
        const lane_id lanes[] = { lane_at(p, place), receiver };
        p->move_group[direction][receiver] = add_group(p, ROLE_MOVE, lanes, 2, 1, "pp");
        p->move_sender[direction][receiver] = lanes[0];
        p->move_receiver[direction][lanes[0]] = receiver;
    }
}

static uint32_t *ids_by_lane(step_player *p)
{
    uint32_t *ids = arena_array(p->arena, uint32_t, p->lane_count);
    for (lane_id l = 0; l < p->lane_count; l++)
        ids[l] = NO_ID;
    return ids;
}

// Once per program, for there is one at the end of every data call.
static void build_call_names(step_player *p)
{
    const uint32_t stages = p->settings.lanes->sizes.pipeline;
    p->call_names = arena_array(p->arena, uint64_t *, stages);
    for (uint32_t stage = 0; stage < stages; stage++) {
        const data_call_array *calls = &p->settings.programs[stage].data_calls;
        p->call_names[stage] = arena_array(p->arena, uint64_t, calls->count);
        for (uint32_t i = 0; i < calls->count; i++)
            p->call_names[stage][i] = sim_digest_text(calls->items[i].name);
    }
}

// Data calls of each lane, and those of its group, kept with the group's first lane.
static void build_data_times(step_player *p)
{
    uint32_t own = 0, shared = 0;
    p->data_start = arena_array(p->arena, uint32_t, p->lane_count);
    p->data_meeting_start = arena_array(p->arena, uint32_t, p->lane_count);
    for (lane_id l = 0; l < p->lane_count; l++) {
        const uint32_t calls = step_program(p, l)->data_calls.count;
        p->data_start[l] = own;
        own += calls;
        if (p->data_group[l] == NO_ID) continue;
        const lane_group *g = &p->groups.items[p->data_group[l]];
        const lane_id first = p->group_lanes[g->first_lane];
        p->data_meeting_start[l] = first == l ? shared : p->data_meeting_start[first];
        if (first == l) shared += calls;
    }
    p->data_times = arena_array(p->arena, data_times, own);
    p->data_meetings = arena_array(p->arena, data_meeting, shared);
}

// The slowest link on the ways between neighbours of a group's rings, where that is a degraded one: it sets the group's pace.
static void find_slow_link(step_player *p, group_id group)
{
    const topology *t = network_topology(p->network);
    lane_group *g = &p->groups.items[group];
    const link_id slowest = collectives_slowest_link(p->collectives, group, &g->healthy_ratio);
    if (slowest == NO_ID || topology_link_at(t, slowest)->health_ratio == 1.0) return;
    uint32_t low = 0, high = p->slow_link_count; // they ascend
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (p->slow_links[middle] <= slowest)
            low = middle;
        else
            high = middle;
    }
    SIM_ASSERT(p->slow_links[low] == slowest);
    g->slow_link = low;
}

static void build_slow_links(step_player *p)
{
    p->slow_links = topology_degraded_links(network_topology(p->network), &p->slow_link_count);
    for (group_id g = 0; g < p->groups.count && p->slow_link_count > 0; g++)
        find_slow_link(p, g);
}

// Of each lane the one of its tensor-parallel group whose GPU is slow, which makes all of the group late; itself where none is.
static void build_slow_mates(step_player *p)
{
    p->slow_mate = arena_array(p->arena, lane_id, p->lane_count);
    for (lane_id l = 0; l < p->lane_count; l++) {
        p->slow_mate[l] = l;
        if (p->tensor_group[l] == NO_ID) continue;
        const lane_group *g = &p->groups.items[p->tensor_group[l]];
        for (uint32_t i = 0; i < g->lane_count; i++) {
            const lane_id mate = p->group_lanes[g->first_lane + i];
            const lane_def *slow = step_lane_def(p, p->slow_mate[l]), *other = step_lane_def(p, mate);
            if (other->clock_ratio * other->memory_ratio < slow->clock_ratio * slow->memory_ratio)
                p->slow_mate[l] = mate;
        }
    }
}

void step_build_groups(step_player *p)
{
    const parallel_sizes sizes = p->settings.lanes->sizes;
    const uint32_t roles =
        2 * 2 + 4; // a lane is in two groups of two for each direction, and in one of each other role
    p->group_lanes = arena_array(p->arena, lane_id, (size_t)p->lane_count * roles);
    lane_id *scratch = arena_array(p->arena, lane_id, parallel_ranks(sizes));
    p->tensor_group = ids_by_lane(p);
    p->data_group = ids_by_lane(p);
    p->norm_group = ids_by_lane(p);
    p->table_group = ids_by_lane(p);
    for (int direction = PASS_FORWARD; direction <= PASS_BACKWARD; direction++) {
        p->move_group[direction] = ids_by_lane(p);
        p->move_sender[direction] = ids_by_lane(p);
        p->move_receiver[direction] = ids_by_lane(p);
    }
    p->free_meeting = NO_ID;
    for (lane_id l = 0; l < p->lane_count; l++)
        add_group_along(p, ROLE_TENSOR, l, AXIS_TENSOR, sizes.tensor, "tp", p->tensor_group, scratch);
    for (lane_id l = 0; l < p->lane_count; l++)
        add_group_along(p, ROLE_DATA, l, AXIS_DATA, sizes.data, "dp", p->data_group, scratch);
    for (lane_id l = 0; l < p->lane_count; l++)
        add_stage_groups(p, l, scratch);
    for (lane_id l = 0; l < p->lane_count; l++)
        add_move_groups(p, l);
    p->messages = sizes.pipeline > 1 ? program_messages(p->settings.schedule) : 0;
    p->message_states = arena_array(p->arena, message_state, (size_t)p->lane_count * p->messages);
    build_data_times(p);
    build_call_names(p);
    build_slow_links(p);
    build_slow_mates(p);
}

step_groups step_player_groups_of(const step_player *p, lane_id lane)
{
    return (step_groups){ .tensor = p->tensor_group[lane],
                          .data = p->data_group[lane],
                          .norm = p->norm_group[lane],
                          .table = p->table_group[lane],
                          .from = { p->move_group[PASS_FORWARD][lane], p->move_group[PASS_BACKWARD][lane] } };
}
