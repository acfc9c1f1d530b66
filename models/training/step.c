// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/training/step.h"
#include "models/digest.h"
#include "sim/array.h"
#include "sim/graph.h"
#include <stdio.h>

// What ended last of all that an operation waited for: the culprit of the idle time before it. At equal ends the least node
// is taken, so that the order of events does not show.
typedef struct waited_for {
    sim_time end;
    uint32_t node; // NO_ID: nothing yet
} waited_for;

typedef struct meeting { // one collective of the program, of one group, in the current step
    uint32_t number;     // in collectives
    sim_time last_arrival, end;
    lane_id last_lane;
} meeting;

typedef struct segment { // of an idle interval, collected from its end backwards
    sim_time end;
    lane_id peer; // NO_ID: exposed communication
} segment;
ARRAY_OF(segment, segment_array);

struct step_player {
    arena *arena;
    sim *sim;
    step_settings settings;
    collectives *collectives;
    graph *graph;
    blame *blame;
    uint32_t op_count; // nodes of a lane: lane x op_count + operation
    uint32_t collective_count;
    waited_for *waited;   // per node
    sim_time *started;    // per node: start of work, or arrival at a collective
    meeting *meetings;    // group x collective_count + slot
    lane_id *group_lanes; // group x data + member
    group_id *group_of_lane;
    uint32_t group_count;
    segment_array segments; // scratch
    uint16_t kind_start, kind_work_end;
    uint32_t step;
    sim_time step_start;
    bool stopped;
};

static lane_id node_lane(const step_player *p, uint32_t node)
{
    return node / p->op_count;
}

static const program_op *node_op(const step_player *p, uint32_t node)
{
    return &p->settings.program->ops.items[node % p->op_count];
}

static meeting *meeting_of(const step_player *p, lane_id lane, uint32_t slot)
{
    return &p->meetings[(size_t)p->group_of_lane[lane] * p->collective_count + slot];
}

// Charges the idle time of a lane up to `until`, when `node` ended it. A collective is charged in two parts, and
// what lay before the lane's own arrival at it is the business of whatever that arrival had waited for.
static void charge_idle(step_player *p, lane_id lane, sim_time until, uint32_t node)
{
    const sim_time from = blame_busy_until(p->blame, lane);
    if (until <= from) return;
    const sim_time now = sim_now(p->sim);
    array_clear(&p->segments);
    sim_time end = until;
    while (end > from && node != NO_ID && node_op(p, node)->kind == OP_COLLECTIVE) {
        const meeting *m = meeting_of(p, lane, node_op(p, node)->slot);
        *array_push(&p->segments, p->arena) = (segment){ .end = end, .peer = NO_ID };
        if (m->last_arrival < end) end = m->last_arrival;
        if (end > p->started[node]) {
            *array_push(&p->segments, p->arena) = (segment){ .end = end, .peer = m->last_lane };
            end = p->started[node];
        }
        node = p->waited[node].node;
    }
    if (end > from) blame_idle(p->blame, lane, end, BLAME_OTHER, now);
    while (p->segments.count) {
        const segment last = *array_pop(&p->segments);
        if (last.peer == NO_ID)
            blame_idle(p->blame, lane, last.end, BLAME_EXPOSED_DP, now);
        else
            blame_idle_for_peer(p->blame, lane, last.end, last.peer, now);
    }
}

static blame_cause cause_of(op_kind kind)
{
    switch (kind) {
    case OP_FORWARD: return BLAME_FORWARD;
    case OP_BACKWARD:
    case OP_BACKWARD_PIECE: return BLAME_BACKWARD;
    case OP_OPTIMIZER: return BLAME_OPTIMIZER;
    case OP_COLLECTIVE: break;
    }
    return BLAME_OTHER;
}

// Results are recorded per rank, so that folding does not show (DESIGN.md 2.1).
static void digest_task(step_player *p, lane_id lane, const program_op *op, sim_time start, sim_time end,
                        uint64_t bytes)
{
    const lane_def *l = &p->settings.lanes->lanes[lane];
    uint64_t words[] = {
        0, sim_digest_text(op->name), op->micro_batch, (uint64_t)start, (uint64_t)end, bytes
    };
    for (uint32_t i = 0; i < l->multiplicity; i++) {
        words[0] = lane_rank(p->settings.lanes, lane, i);
        sim_digest_add(p->sim, DIGEST_TASK, words, ARRAY_COUNT(words), 1);
    }
}

static void tell_span(step_player *p, uint32_t node, sim_time start, sim_time end)
{
    const step_listener *listener = &p->settings.listener;
    if (!listener->on_span) return;
    const lane_id lane = node_lane(p, node);
    const program_op *op = node_op(p, node);
    step_span span = {
        .step = p->step,
        .lane = lane,
        .op = op,
        .work = program_work(op, p->settings.costs_of_lane[lane]),
        .start_ps = start,
        .end_ps = end,
    };
    if (op->kind == OP_COLLECTIVE) {
        span.tag = p->group_of_lane[lane] * p->collective_count + op->slot;
        span.bytes = p->settings.program->collectives.items[op->slot].bytes;
    }
    listener->on_span(listener->owner, &span);
}

static void start_work(step_player *p, uint32_t node)
{
    const sim_time now = sim_now(p->sim);
    const lane_id lane = node_lane(p, node);
    const program_op *op = node_op(p, node);
    const work *w = program_work(op, p->settings.costs_of_lane[lane]);
    charge_idle(p, lane, now, p->waited[node].node);

    sim_time parts[BLAME_CAUSES] = { 0 };
    parts[BLAME_LAUNCH] = w->launch_ps;
    parts[BLAME_RECOMPUTE] = w->recompute_ps;
    parts[cause_of(op->kind)] = w->duration_ps - w->launch_ps - w->recompute_ps;
    blame_work(p->blame, lane, now + w->duration_ps, parts);
    sim_schedule(p->sim, now + w->duration_ps, p->kind_work_end, node, 0);
}

static void on_ready(void *owner, uint32_t node)
{
    step_player *p = owner;
    const program_op *op = node_op(p, node);
    p->started[node] = sim_now(p->sim);
    if (op->kind != OP_COLLECTIVE) {
        start_work(p, node);
        return;
    }
    const lane_id lane = node_lane(p, node);
    collective_arrive(p->collectives, meeting_of(p, lane, op->slot)->number,
                      p->settings.lanes->lanes[lane].place.data);
}

static void finish_node(step_player *p, uint32_t node)
{
    const sim_time now = sim_now(p->sim);
    uint32_t count;
    const uint32_t *after = graph_successors(p->graph, node, &count);
    for (uint32_t i = 0; i < count; i++) {
        waited_for *w = &p->waited[after[i]];
        if (w->node == NO_ID || w->end < now || (w->end == now && node < w->node))
            *w = (waited_for){ .end = now, .node = node };
    }
    graph_done(p->graph, node);
}

static lane_id last_lane_of_step(const step_player *p)
{
    lane_id last = 0;
    for (lane_id l = 1; l < p->settings.lanes->count; l++)
        if (blame_busy_until(p->blame, l) > blame_busy_until(p->blame, last)) last = l;
    return last;
}

// A lane's step ends with the last of its streams: a collective may end after its last work.
static void charge_step_end(step_player *p, lane_id lane)
{
    const sim_time busy_until = blame_busy_until(p->blame, lane);
    const program *program_ = p->settings.program;
    uint32_t last_op = NO_ID;
    sim_time last_end = busy_until;
    for (uint32_t slot = 0; slot < p->collective_count; slot++) {
        const sim_time end = meeting_of(p, lane, slot)->end;
        if (end <= last_end) continue;
        last_end = end;
        last_op = program_->collectives.items[slot].op;
    }
    if (last_op != NO_ID) charge_idle(p, lane, last_end, lane * p->op_count + last_op);
}

static void end_step(step_player *p)
{
    const sim_time now = sim_now(p->sim);
    const uint32_t lanes = p->settings.lanes->count;
    for (lane_id l = 0; l < lanes; l++)
        charge_step_end(p, l);
    // Nobody charges anything at this instant any more, so what the last lane waited for just now is known as well.
    const lane_id last = last_lane_of_step(p);
    for (lane_id l = 0; l < lanes; l++)
        if (l != last) blame_idle_for_peer(p->blame, l, now, last, now + 1);
    blame_end_step(p->blame, now);

    const step_end end = {
        .step = p->step++, .start_ps = p->step_start, .end_ps = now, .accounts = p->blame
    };
    const uint64_t words[] = { end.step, (uint64_t)end.start_ps, (uint64_t)now, p->settings.tokens_per_step };
    sim_digest_add(p->sim, DIGEST_STEP, words, ARRAY_COUNT(words), 1);
    const step_listener *listener = &p->settings.listener;
    if (listener->on_step && !listener->on_step(listener->owner, &end)) p->stopped = true;
    if (!step_player_is_finished(p)) sim_schedule(p->sim, now, p->kind_start, 0, 0);
}

static void end_if_done(step_player *p)
{
    if (graph_done_count(p->graph) == graph_node_count(p->graph)) end_step(p);
}

static void on_work_end(sim *s, void *owner, const sim_event *event)
{
    step_player *p = owner;
    const uint32_t node = event->target;
    const lane_id lane = node_lane(p, node);
    const work *w = program_work(node_op(p, node), p->settings.costs_of_lane[lane]);
    (void)s;
    digest_task(p, lane, node_op(p, node), p->started[node], event->time, (uint64_t)w->bytes);
    tell_span(p, node, p->started[node], event->time);
    finish_node(p, node);
    end_if_done(p);
}

static void on_collective_done(void *owner, const collective_result *result)
{
    step_player *p = owner;
    const uint32_t slot = result->tag % p->collective_count, group = result->tag / p->collective_count;
    const uint32_t data = p->settings.lanes->sizes.data;
    const lane_id *lanes = &p->group_lanes[(size_t)group * data];
    meeting *m = &p->meetings[result->tag];
    m->last_arrival = result->last_arrival_ps;
    m->end = result->end_ps;
    m->last_lane = lanes[result->last_member];

    const program_collective *planned = &p->settings.program->collectives.items[slot];
    const step_listener *listener = &p->settings.listener;
    if (listener->on_collective) {
        const step_collective told = {
            .step = p->step, .name = planned->name, .result = result, .last_lane = m->last_lane
        };
        listener->on_collective(listener->owner, &told);
    }
    const uint32_t op = planned->op;
    for (uint32_t member = 0; member < data; member++) {
        const uint32_t node = lanes[member] * p->op_count + op;
        digest_task(p, lanes[member], node_op(p, node), p->started[node], result->end_ps, planned->bytes);
        tell_span(p, node, p->started[node], result->end_ps);
    }
    for (uint32_t member = 0; member < data; member++)
        finish_node(p, lanes[member] * p->op_count + op);
    end_if_done(p);
}

static void on_collective_moved(void *owner, const collective_transfer *transfer)
{
    const step_player *p = owner;
    const group_id group = transfer->tag / p->collective_count;
    p->settings.listener.on_transfer(p->settings.listener.owner, p->step,
                                     collectives_group(p->collectives, group), transfer);
}

static void on_start(sim *s, void *owner, const sim_event *event)
{
    step_player *p = owner;
    (void)s;
    p->step_start = event->time;
    blame_start_step(p->blame, event->time);
    for (uint32_t node = 0; node < graph_node_count(p->graph); node++)
        p->waited[node] = (waited_for){ .end = 0, .node = NO_ID };
    for (uint32_t group = 0; group < p->group_count; group++)
        for (uint32_t slot = 0; slot < p->collective_count; slot++) {
            const program_collective *planned = &p->settings.program->collectives.items[slot];
            const uint32_t tag = group * p->collective_count + slot;
            p->meetings[tag].number = collective_open(p->collectives,
                                                      &(collective_request){
                                                          .kind = planned->kind,
                                                          .group = group,
                                                          .bytes = planned->bytes,
                                                          .tag = tag,
                                                          .forced_protocol = p->settings.forced_protocol,
                                                      });
        }
    graph_rewind(p->graph);
    graph_start(p->graph, on_ready, p);
}

// Data-parallel groups: the lanes that differ in their data coordinate only, in its order, which is the ring's.
static void build_groups(step_player *p)
{
    const lane_table *table = p->settings.lanes;
    const uint32_t data = table->sizes.data;
    const uint32_t groups = table->count / data;
    p->group_lanes = arena_array(p->arena, lane_id, table->count);
    p->group_of_lane = arena_array(p->arena, group_id, table->count);
    vertex_id *members = arena_array(p->arena, vertex_id, data);
    for (lane_id l = 0; l < table->count; l++) {
        const lane_def *first = &table->lanes[l];
        if (first->place.data != 0) continue;
        for (uint32_t d = 0; d < data; d++) {
            parallel_place place = first->place;
            place.data = d;
            const lane_id member = table->lane_of_rank[parallel_rank_at(table->sizes, place)];
            SIM_ASSERT(table->lanes[member].multiplicity == first->multiplicity);
            members[d] = p->settings.vertex_of_lane[member];
            p->group_lanes[(size_t)p->group_count * data + d] = member;
            p->group_of_lane[member] = p->group_count;
        }
        const group_id id = collectives_add_group(
            p->collectives,
            &(group_def){
                .members = members, .count = data, .multiplicity = first->multiplicity, .label = "dp" });
        SIM_ASSERT(id == p->group_count);
        p->group_count++;
    }
    SIM_ASSERT(p->group_count == groups);
}

static void build_graph(step_player *p)
{
    const program *program_ = p->settings.program;
    const uint32_t lanes = p->settings.lanes->count;
    p->op_count = program_->ops.count;
    p->graph = graph_create(p->arena);
    graph_add_nodes(p->graph, lanes * p->op_count);
    for (lane_id l = 0; l < lanes; l++)
        for (uint32_t e = 0; e < program_->edges.count; e++)
            graph_add_edge(p->graph, l * p->op_count + program_->edges.items[e].before,
                           l * p->op_count + program_->edges.items[e].after);
    graph_seal(p->graph);
    SIM_VERIFY(graph_is_acyclic(p->graph));
}

step_player *step_player_create(arena *a, sim *s, network *n, const step_settings *settings)
{
    step_player *p = arena_new(a, step_player);
    p->arena = a;
    p->sim = s;
    p->settings = *settings;
    p->collective_count = settings->program->collectives.count;
    p->collectives = collectives_create(
        a, s, n,
        &(collectives_options){
            .terms = settings->terms,
            .grain = settings->grain,
            .forced_algorithm = settings->forced_algorithm,
            .done = on_collective_done,
            .moved = settings->listener.on_transfer ? on_collective_moved : NULL,
            .owner = p,
        });
    build_graph(p);
    build_groups(p);
    const uint32_t nodes = graph_node_count(p->graph);
    p->waited = arena_array(a, waited_for, nodes);
    p->started = arena_array(a, sim_time, nodes);
    p->meetings = arena_array(a, meeting, (size_t)p->group_count * p->collective_count);
    p->blame = blame_create(a, settings->lanes->count);
    p->kind_start = sim_add_kind(s, "step start", SIM_ACT, on_start, p);
    p->kind_work_end = sim_add_kind(s, "work end", SIM_ACT, on_work_end, p);
    return p;
}

void step_player_start(step_player *p)
{
    sim_schedule(p->sim, sim_now(p->sim), p->kind_start, 0, 0);
}

uint32_t step_player_steps_done(const step_player *p)
{
    return p->step;
}

bool step_player_is_finished(const step_player *p)
{
    return p->stopped || p->step == p->settings.steps;
}

collectives *step_player_collectives(const step_player *p)
{
    return p->collectives;
}

uint32_t step_player_meeting_count(const step_player *p)
{
    return p->group_count * p->collective_count;
}

char *step_player_describe_wait(const step_player *p, char *buffer, size_t size)
{
    const uint32_t inside = graph_first_running(p->graph);
    const uint32_t node = inside != UINT32_MAX ? inside : graph_first_waiting(p->graph);
    if (node == UINT32_MAX)
        snprintf(buffer, size, "nothing waits");
    else
        snprintf(buffer, size, "rank %u waits %s \"%s\" in step %u",
                 p->settings.lanes->lanes[node_lane(p, node)].first_rank,
                 inside != UINT32_MAX ? "in" : "before", node_op(p, node)->name, p->step);
    return buffer;
}
