// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/digest.h"
#include "models/training/step_internal.h"
#include <inttypes.h>
#include <stdio.h>

// ---- what is told

void step_digest_task(step_player *p, lane_id lane, uint64_t name, uint32_t chunk, uint32_t micro_batch,
                      sim_time start, sim_time end)
{
    const lane_table *table = p->settings.lanes;
    uint64_t words[] = { 0, name, chunk, micro_batch, (uint64_t)start, (uint64_t)end };
    for (uint32_t i = 0; i < table->lanes[lane].multiplicity; i++) {
        words[0] = lane_rank(table, lane, i);
        sim_digest_add(p->sim, DIGEST_TASK, words, ARRAY_COUNT(words), 1);
    }
}

void step_tell_span(step_player *p, const step_span *span)
{
    const step_listener *listener = &p->settings.listener;
    if (listener->on_span) listener->on_span(listener->owner, span);
}

static const program_op *op_of(const step_player *p, lane_id lane)
{
    return &step_program(p, lane)->ops.items[p->lanes[lane].op];
}

// ---- work

static void go_on_at(step_player *p, lane_id lane, sim_time time)
{
    lane_state *own = &p->lanes[lane];
    own->wait = WAIT_NOT;
    own->goes_on_ps = time;
    own->goes_on = sim_schedule(p->sim, time, p->kind_goes_on, lane, 0);
}

static void begin_work(step_player *p, lane_id lane, const work *w, blame_cause cause)
{
    lane_state *own = &p->lanes[lane];
    step_work_begin(own, w, cause, step_now(p));
    go_on_at(p, lane, step_work_end(own));
}

static void end_work(step_player *p, lane_id lane)
{
    lane_state *own = &p->lanes[lane];
    const program_op *op = op_of(p, lane);
    const bool in_pass = op->kind == OP_PASS;
    step_work_settle(own, step_now(p));
    step_work_charge(p, lane, step_now(p));
    step_tell_span(
        p, &(step_span){ .step = p->step,
                         .lane = lane,
                         .stream = STREAM_COMPUTE,
                         .name = in_pass && own->work->codes ? coding_step_words[CODING_ENCODE] : op->name,
                         .micro_batch = op->micro_batch,
                         .chunk = in_pass || op->kind == OP_CODE ? op->chunk : NO_ID,
                         .work = own->work,
                         .launch_ps = step_work_launch(own),
                         .slowed_ps = step_work_slowed(own, step_now(p)),
                         .start_ps = own->work_start,
                         .end_ps = step_now(p) });
    own->work = NULL;
}

static blame_cause cause_of(const program_op *pass, const work *w)
{
    if (w->codes) return BLAME_CODING;
    return pass->direction == PASS_FORWARD ? BLAME_FORWARD : BLAME_BACKWARD;
}

static const pass_plan *pass_of(const chunk_costs *costs, const program_op *op)
{
    if (op->direction == PASS_FORWARD) return op->marked ? &costs->first_forward : &costs->forward;
    return op->marked ? &costs->last_backward : &costs->backward;
}

// ---- collectives of the tensor-parallel group

// Its place among those of the lane: first the calls of the chunks, then those of the program.
static alone_call *alone_call_of(step_player *p, lane_id lane, const program_op *op, uint32_t index)
{
    const stage_costs *costs = p->settings.costs_of_lane[lane];
    const uint32_t chunks = op->kind == OP_PASS ? op->chunk : p->settings.schedule->chunks;
    uint32_t place = p->alone_start[lane] + index;
    for (uint32_t c = 0; c < chunks; c++)
        place += costs->chunks[c]->tensor_call_count;
    return &p->alone_calls[place];
}

// At run_ps, which may lie ahead of the clock: nobody else is concerned. forecast: it leaves no traces.
static void begin_alone(step_player *p, lane_id lane, lane_state *own, uint32_t index, bool forecast)
{
    alone_call *call = alone_call_of(p, lane, op_of(p, lane), index);
    own->tensor_end = own->run_ps + call->time_ps;
    own->tensor_begun = true;
    own->beside |= 1 << BESIDE_TENSOR;
    if (forecast) return;
    call->times++;
    collective_record_alone(p->collectives, call->shape, own->run_ps, own->tensor_end);
}

static bool join_alone(step_player *p, lane_id lane, lane_state *own, sim_time until, bool forecast)
{
    if (own->tensor_begun && own->tensor_end > own->run_ps) {
        if (own->tensor_end > until) return false;
        if (!forecast) step_idle_exposed(p, lane, p->tensor_group[lane], own->tensor_end, own->tensor_end);
        own->run_ps = own->tensor_end;
    }
    own->tensor_begun = false;
    own->beside &= (uint8_t) ~(1 << BESIDE_TENSOR);
    return true;
}

// ---- runs (alone_tensor): a pass between two places where others can take part is one event, at its end. It is played to see
// when that is, and again once it is past, at the latest when a collective begins or ends beside it, which slows what follows.

static bool run_work(step_player *p, lane_id lane, lane_state *own, const work *w, sim_time until,
                     bool forecast)
{
    const program_op *op = op_of(p, lane);
    if (!own->work) step_work_begin(own, w, cause_of(op, w), own->run_ps);
    sim_time end = step_work_end(own);
    if (own->beside >> BESIDE_TENSOR & 1 && own->tensor_end < end && own->tensor_end <= until) {
        if (own->tensor_end > own->settled_ps) step_work_settle(own, own->tensor_end);
        own->beside &= (uint8_t) ~(1 << BESIDE_TENSOR);
        end = step_work_end(own);
    }
    if (end > until) return false;
    step_work_settle(own, end);
    if (!forecast) step_work_charge(p, lane, end);
    own->work = NULL;
    own->run_ps = end;
    return true;
}

// False: until lies within the item.
static bool run_item(step_player *p, lane_id lane, lane_state *own, const pass_item *item, sim_time until,
                     bool forecast)
{
    const chunk_costs *costs = p->settings.costs_of_lane[lane]->chunks[op_of(p, lane)->chunk];
    switch ((pass_item_kind)item->kind) {
    case ITEM_WORK: return run_work(p, lane, own, &costs->works[item->index], until, forecast);
    case ITEM_TENSOR: begin_alone(p, lane, own, item->index, forecast); return true;
    case ITEM_JOIN: return join_alone(p, lane, own, until, forecast);
    case ITEM_BUCKET: break;
    }
    SIM_ASSERT(false);
    return false;
}

// From run_ps to a bucket or the end of the pass (true), but not beyond until.
static bool run(step_player *p, lane_id lane, lane_state *own, sim_time until, bool forecast)
{
    const program_op *op = op_of(p, lane);
    const pass_plan *items = pass_of(p->settings.costs_of_lane[lane]->chunks[op->chunk], op);
    for (; own->item < items->item_count; own->item++) {
        const pass_item *item = &items->items[own->item];
        if (item->kind == ITEM_BUCKET) break;
        if (!run_item(p, lane, own, item, until, forecast)) return false;
    }
    return true;
}

static sim_time run_end(step_player *p, lane_id lane)
{
    lane_state copy = p->lanes[lane];
    run(p, lane, &copy, SIM_TIME_MAX, true);
    return copy.run_ps;
}

void step_catch_up(step_player *p, lane_id lane)
{
    if (p->lanes[lane].runs) run(p, lane, &p->lanes[lane], step_now(p), false);
}

void step_set_beside(step_player *p, lane_id lane, beside_group group, bool moves)
{
    lane_state *own = &p->lanes[lane];
    const uint8_t bit = (uint8_t)(1 << group);
    if (moves == !!(own->beside & bit)) return;
    step_catch_up(p, lane);
    if (own->work) step_work_settle(own, step_now(p));
    own->beside ^= bit;
    if (!own->work && !own->runs) return;
    const sim_time time = own->runs ? run_end(p, lane) : step_work_end(own);
    if (time == own->goes_on_ps) return;
    own->goes_on_ps = time;
    sim_move(p->sim, own->goes_on, time);
}

// ---- operations: true when it has ended, false when the lane waits, for an event of its own or for others

// ITEM_BUCKET: gradients to be reduced, or parameters that are needed. True: the pass goes on.
static bool play_bucket(step_player *p, lane_id lane, const program_op *op, uint32_t bucket)
{
    const program *program_ = step_program(p, lane);
    lane_state *own = &p->lanes[lane];
    if (op->direction == PASS_BACKWARD) {
        const uint32_t *starts = program_->reductions[op->chunk];
        step_line_data(p, lane, starts[bucket], starts[bucket + 1] - starts[bucket]);
        return true;
    }
    const uint32_t gather = program_->gathers[op->chunk] - bucket;
    if (own->data_done > gather) return true;
    own->wanted = gather + 1;
    own->wait = WAIT_DATA;
    return false;
}

// False: the lane waits, and is to come back to the item; or it works, and to the next.
static bool play_item(step_player *p, lane_id lane, const program_op *op, const pass_item *item)
{
    const chunk_costs *costs = p->settings.costs_of_lane[lane]->chunks[op->chunk];
    lane_state *own = &p->lanes[lane];
    switch ((pass_item_kind)item->kind) {
    case ITEM_WORK:
        begin_work(p, lane, &costs->works[item->index], cause_of(op, &costs->works[item->index]));
        own->item++;
        return false;
    case ITEM_TENSOR: step_begin_tensor(p, lane, &costs->tensor_calls[item->index]); return true;
    case ITEM_JOIN:
        if (!own->tensor_begun) return true;
        own->wait = WAIT_TENSOR;
        return false;
    case ITEM_BUCKET: return play_bucket(p, lane, op, item->index);
    }
    SIM_ASSERT(false);
    return false;
}

// alone_tensor: true when the lane stands at a bucket or at the end of its pass.
static bool play_run(step_player *p, lane_id lane)
{
    lane_state *own = &p->lanes[lane];
    if (run(p, lane, own, step_now(p), false)) {
        own->run_ps = step_now(p); // it may have waited there
        return true;
    }
    go_on_at(p, lane, run_end(p, lane));
    own->runs = true;
    return false;
}

static bool play_pass(step_player *p, lane_id lane, const program_op *op)
{
    const pass_plan *items = pass_of(p->settings.costs_of_lane[lane]->chunks[op->chunk], op);
    lane_state *own = &p->lanes[lane];
    if (!own->begun) own->op_start = own->run_ps = step_now(p);
    own->begun = true;
    for (;;) {
        if (p->settings.alone_tensor && !play_run(p, lane)) return false;
        if (own->item == items->item_count) break;
        if (!play_item(p, lane, op, &items->items[own->item])) return false;
        own->item++;
    }
    step_digest_task(p, lane, p->pass_names[op->direction], op->chunk, op->micro_batch, own->op_start,
                     step_now(p));
    return true;
}

// Work outside passes; name: for the digest.
static bool play_work(step_player *p, lane_id lane, const work *w, blame_cause cause, uint64_t name,
                      uint32_t chunk)
{
    lane_state *own = &p->lanes[lane];
    if (own->begun) {
        step_digest_task(p, lane, name, chunk, NO_ID, own->op_start, step_now(p));
        return true;
    }
    own->begun = true;
    own->op_start = step_now(p);
    begin_work(p, lane, w, cause);
    return false;
}

static bool play_code(step_player *p, lane_id lane, const program_op *op)
{
    const work *w = &p->settings.costs_of_lane[lane]->chunks[op->chunk]->works[op->first];
    return play_work(p, lane, w, BLAME_CODING, p->code_name, op->chunk);
}

static bool play_optimizer(step_player *p, lane_id lane)
{
    return play_work(p, lane, p->settings.costs_of_lane[lane]->optimizer, BLAME_OPTIMIZER, p->pass_names[2],
                     NO_ID);
}

static bool play_tensor(step_player *p, lane_id lane, const program_op *op)
{
    lane_state *own = &p->lanes[lane];
    if (own->begun) return true;
    own->begun = true;
    if (p->settings.alone_tensor) {
        own->run_ps = step_now(p);
        begin_alone(p, lane, own, op->first, false);
        join_alone(p, lane, own, SIM_TIME_MAX, false);
        go_on_at(p, lane, own->run_ps);
    } else {
        step_begin_tensor(p, lane, &step_program(p, lane)->tensor_calls.items[op->first]);
        own->wait = WAIT_TENSOR;
    }
    return false;
}

static bool play_exchange(step_player *p, lane_id lane, const program_op *op)
{
    lane_state *own = &p->lanes[lane];
    if (own->begun) return true;
    own->begun = true;
    own->wait = WAIT_MOVES;
    own->missing = op->count;
    for (uint32_t i = op->first; i < op->first + op->count; i++) {
        const program_move *move = &step_program(p, lane)->moves.items[i];
        if (move->sends)
            step_hand_over(p, lane, move);
        else
            step_ask_for(p, lane, move);
    }
    return false;
}

static bool play_receive(step_player *p, lane_id lane, const program_op *op)
{
    const program_move *move = &step_program(p, lane)->moves.items[op->first];
    if (step_message(p, lane, move->message)->end >= 0) return true;
    p->lanes[lane].wait = WAIT_MESSAGE;
    return false;
}

static bool play_meeting(step_player *p, lane_id lane, const program_op *op)
{
    lane_state *own = &p->lanes[lane];
    if (own->begun) return true;
    own->begun = true;
    own->wait = WAIT_MEETING;
    step_join_meeting(p, lane, op);
    return false;
}

static bool play_op(step_player *p, lane_id lane, const program_op *op)
{
    lane_state *own = &p->lanes[lane];
    switch ((op_kind)op->kind) {
    case OP_PASS: return play_pass(p, lane, op);
    case OP_SEND: step_hand_over(p, lane, &step_program(p, lane)->moves.items[op->first]); return true;
    case OP_RECEIVE: return play_receive(p, lane, op);
    case OP_EXCHANGE: return play_exchange(p, lane, op);
    case OP_TENSOR: return play_tensor(p, lane, op);
    case OP_LINE: step_line_data(p, lane, op->first, op->count); return true;
    case OP_DATA_WAIT:
        if (own->data_done >= op->first) return true;
        own->wanted = op->first;
        own->wait = WAIT_DATA;
        return false;
    case OP_TABLE:
    case OP_NORM: return play_meeting(p, lane, op);
    case OP_CODE: return play_code(p, lane, op);
    case OP_OPTIMIZER: return play_optimizer(p, lane);
    }
    SIM_ASSERT(false);
    return false;
}

void step_advance(step_player *p, lane_id lane)
{
    lane_state *own = &p->lanes[lane];
    const program *program_ = step_program(p, lane);
    while (own->op < program_->ops.count) {
        if (!play_op(p, lane, &program_->ops.items[own->op])) return;
        own->op++;
        own->item = 0;
        own->begun = false;
    }
    own->wait = WAIT_END;
    step_check_done(p, lane);
}

static void on_goes_on(sim *s, void *owner, const sim_event *event)
{
    step_player *p = owner;
    lane_state *own = &p->lanes[event->target];
    (void)s;
    if (own->work && !own->runs) end_work(p, event->target);
    own->runs = false;
    step_advance(p, event->target);
}

// The host runs dry while both sides of an exchange stand still.
void step_end_exchange(step_player *p, lane_id lane)
{
    const sim_time until = step_now(p) + p->settings.restart_ps;
    step_charge_moves(p, lane, op_of(p, lane));
    if (p->settings.restart_ps > 0) blame_idle(p->blame, lane, until, BLAME_LAUNCH, until);
    go_on_at(p, lane, until);
}

// ---- steps

static void begin_lane(step_player *p, lane_id lane)
{
    p->lanes[lane] = (lane_state){ 0 };
    for (uint32_t i = 0; i < p->messages; i++)
        p->message_states[(size_t)lane * p->messages + i] =
            (message_state){ .handed = -1, .end = -1, .meeting = NO_ID };
}

static void on_start(sim *s, void *owner, const sim_event *event)
{
    step_player *p = owner;
    (void)s;
    p->step_start = event->time;
    p->done_count = 0;
    blame_start_step(p->blame, event->time);
    for (lane_id l = 0; l < p->lane_count; l++)
        begin_lane(p, l);
    for (lane_id l = 0; l < p->lane_count; l++)
        step_advance(p, l);
}

static void carry_alone(step_player *p)
{
    if (!p->settings.alone_tensor) return;
    for (uint32_t i = 0; i < p->alone_start[p->lane_count]; i++) {
        alone_call *call = &p->alone_calls[i];
        if (call->times > 0) collective_carry_alone(p->collectives, call->shape, call->times);
        call->times = 0;
    }
}

static void end_step(step_player *p)
{
    const sim_time now = step_now(p);
    step_charge_end(p);
    blame_end_step(p->blame, now);
    carry_alone(p);
    const step_end end = {
        .step = p->step++, .start_ps = p->step_start, .end_ps = now, .accounts = p->blame
    };
    const uint64_t words[] = { end.step, (uint64_t)end.start_ps, (uint64_t)now, p->settings.tokens_per_step };
    sim_digest_add(p->sim, DIGEST_STEP, words, ARRAY_COUNT(words), 1);
    const step_listener *listener = &p->settings.listener;
    if (listener->on_step && !listener->on_step(listener->owner, &end)) p->stopped = true;
    if (!step_player_is_finished(p)) sim_schedule(p->sim, now, p->kind_start, 0, 0);
}

void step_check_done(step_player *p, lane_id lane)
{
    lane_state *own = &p->lanes[lane];
    if (own->wait != WAIT_END || own->is_done) return;
    if (own->data_done < step_program(p, lane)->data_calls.count) return;
    own->is_done = true;
    if (++p->done_count == p->lane_count) end_step(p);
}

// ---- the interface

// Those of one lane: of its chunks, then of its program.
static void find_alone_calls(step_player *p, lane_id lane, uint32_t *next)
{
    const stage_costs *costs = p->settings.costs_of_lane[lane];
    const program *program_ = step_program(p, lane);
    for (uint32_t c = 0; c <= p->settings.schedule->chunks; c++) {
        const bool of_program = c == p->settings.schedule->chunks;
        const tensor_call *calls = of_program ? program_->tensor_calls.items : costs->chunks[c]->tensor_calls;
        const uint32_t count = of_program ? program_->tensor_calls.count
                                          : costs->chunks[c]->tensor_call_count;
        for (uint32_t i = 0; i < count; i++) {
            alone_call *call = &p->alone_calls[(*next)++];
            call->shape = collective_shape(
                p->collectives, &(collective_request){ .kind = calls[i].kind,
                                                       .group = p->tensor_group[lane],
                                                       .bytes = calls[i].bytes,
                                                       .forced_protocol = p->settings.forced_protocol });
            call->time_ps = collective_alone_ps(p->collectives, call->shape);
        }
    }
}

static void build_alone_calls(step_player *p)
{
    uint32_t count = 0, next = 0;
    p->alone_start = arena_array(p->arena, uint32_t, (size_t)p->lane_count + 1);
    for (lane_id l = 0; l < p->lane_count; l++) {
        p->alone_start[l] = count;
        for (uint32_t c = 0; c < p->settings.schedule->chunks; c++)
            count += p->settings.costs_of_lane[l]->chunks[c]->tensor_call_count;
        count += step_program(p, l)->tensor_calls.count;
    }
    p->alone_start[p->lane_count] = count;
    p->alone_calls = arena_array(p->arena, alone_call, count);
    for (lane_id l = 0; l < p->lane_count; l++)
        find_alone_calls(p, l, &next);
}

step_player *step_player_create(arena *a, sim *s, network *n, const step_settings *settings)
{
    SIM_ASSERT(!settings->alone_tensor || (!settings->listener.on_span && !settings->listener.on_transfer &&
                                           !settings->listener.on_collective));
    step_player *p = arena_new(a, step_player);
    p->arena = a;
    p->sim = s;
    p->network = n;
    p->settings = *settings;
    p->lane_count = settings->lanes->count;
    p->lanes = arena_array(a, lane_state, p->lane_count);
    const collectives_options options = step_collectives_options(p);
    p->collectives = collectives_create(a, s, n, &options);
    step_build_groups(p);
    if (settings->alone_tensor) build_alone_calls(p);
    p->pass_names = arena_array(a, uint64_t, 3);
    p->pass_names[PASS_FORWARD] = sim_digest_text("forward");
    p->pass_names[PASS_BACKWARD] = sim_digest_text("backward");
    p->pass_names[2] = sim_digest_text("optimizer");
    p->code_name = sim_digest_text("gradient coding");
    uint32_t *multiplicity = arena_array(a, uint32_t, p->lane_count);
    for (lane_id l = 0; l < p->lane_count; l++)
        multiplicity[l] = settings->lanes->lanes[l].multiplicity;
    p->blame = blame_create(a, p->lane_count, multiplicity);
    blame_set_parts(p->blame, p->slow_link_count);
    p->kind_start = sim_add_kind(s, "step start", SIM_ACT, on_start, p);
    p->kind_goes_on = sim_add_kind(s, "lane goes on", SIM_ACT, on_goes_on, p);
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

unsigned __int128 step_player_caused_by_link(const step_player *p, uint32_t place, blame_cause cause)
{
    SIM_ASSERT(place < p->slow_link_count);
    return blame_caused_by_part(p->blame, place, cause);
}

char *step_player_describe_wait(const step_player *p, char *buffer, size_t size)
{
    static const char *const words[] = { [WAIT_NOT] = "works",
                                         [WAIT_TENSOR] = "waits for its tensor-parallel group",
                                         [WAIT_MESSAGE] = "waits for a message",
                                         [WAIT_MOVES] = "waits in an exchange",
                                         [WAIT_DATA] = "waits for its data-parallel group",
                                         [WAIT_MEETING] = "waits for other stages",
                                         [WAIT_END] = "waits for its data-parallel group" };
    for (lane_id l = 0; l < p->lane_count; l++) {
        const lane_state *own = &p->lanes[l];
        if (own->is_done) continue;
        const bool at_end = own->op == step_program(p, l)->ops.count;
        const program_op *op = at_end ? NULL : op_of(p, l);
        const int used = snprintf(buffer, size, "rank %u of stage %u %s in step %u",
                                  step_lane_def(p, l)->first_rank, step_lane_def(p, l)->place.pipeline,
                                  words[own->wait], p->step);
        if (op && op->micro_batch != NO_ID && used > 0 && (size_t)used < size)
            snprintf(buffer + used, size - (size_t)used, ", %s of micro-batch %u", op->name, op->micro_batch);
        return buffer;
    }
    snprintf(buffer, size, "nothing waits");
    return buffer;
}
