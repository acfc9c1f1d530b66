// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/show_plan.h"
#include <math.h>

// What a collective of the group takes, for lanes ask for the same again and again.
typedef struct alone_memo {
    collective_kind kind;
    uint64_t bytes;
    sim_time time_ps;
} alone_memo;
ARRAY_OF(alone_memo, alone_memo_array);

typedef struct gatherer {
    arena *a;
    const world *w;
    plan_facts *out;
    lane_id *slowest; // by stage
    alone_memo_array memo;
    group_id memo_group; // tensor-parallel, that the memo is of
    // Of the stage that is looked at:
    lane_id lane;
    step_groups groups;
} gatherer;

static double alone_s(const gatherer *g, group_id group, collective_kind kind, uint64_t bytes)
{
    return collective_predict_s(
        step_player_collectives(g->w->player),
        &(collective_request){ .kind = kind,
                               .group = group,
                               .bytes = bytes,
                               .forced_protocol = scenario_forced_protocol(g->w->scenario) });
}

static void look_at_lane(gatherer *g, lane_id lane)
{
    g->lane = lane;
    g->groups = step_player_groups_of(g->w->player, g->lane);
}

static void look_at(gatherer *g, uint32_t stage)
{
    look_at_lane(g, g->slowest[stage]);
}

// ---- groups

// By group: what it is for. NULL: messages of backward passes, whose pair the forward passes have named already.
static const char **find_purposes(const gatherer *g)
{
    const world *w = g->w;
    const char **purposes = arena_array(g->a, const char *,
                                        collectives_group_count(step_player_collectives(w->player)));
    for (lane_id l = 0; l < w->lanes.count; l++) {
        const step_groups own = step_player_groups_of(w->player, l);
        const bool first = w->lanes.lanes[l].place.pipeline == 0;
        if (own.tensor != NO_ID) purposes[own.tensor] = "activations and their gradients";
        if (own.table != NO_ID) purposes[own.table] = "the tied table's gradient";
        if (own.data != NO_ID)
            purposes[own.data] = w->scenario->plan.sharding == SHARDING_NONE ? "gradients"
                                                                             : "gradients and parameters";
        if (own.norm != NO_ID) purposes[own.norm] = "norm of the gradients";
        if (own.from[PASS_FORWARD] != NO_ID)
            purposes[own.from[PASS_FORWARD]] = first ? "messages from chunk to chunk"
                                                     : "messages between stages";
    }
    return purposes;
}

static const char *vertex_text(arena *a, const world *w, vertex_id v)
{
    char name[128];
    return arena_format(a, "%s", topology_vertex_name(w->fabric, v, name, sizeof(name)));
}

static void gather_groups(gatherer *g)
{
    const collectives *c = step_player_collectives(g->w->player);
    const char **purposes = find_purposes(g);
    for (group_id id = 0; id < collectives_group_count(c); id++) {
        const group_def *group = collectives_group(c, id);
        const uint32_t rings = collectives_ring_count(c, id);
        if (!purposes[id]) continue;
        plan_group *known = NULL;
        for (uint32_t i = 0; i < g->out->groups.count && !known; i++) {
            plan_group *k = &g->out->groups.items[i];
            if (k->members == group->count && k->rings == rings && strcmp(k->purpose, purposes[id]) == 0)
                known = k;
        }
        if (!known) {
            known = array_push(&g->out->groups, g->a);
            *known = (plan_group){ .label = group->label,
                                   .purpose = purposes[id],
                                   .members = group->count,
                                   .rings = rings,
                                   .from = vertex_text(g->a, g->w, group->members[0]),
                                   .to = vertex_text(g->a, g->w, group->members[group->count - 1]) };
        }
        known->count += group->multiplicity;
    }
}

// ---- stages

static sim_time tensor_ps(void *owner, const tensor_call *call)
{
    gatherer *g = owner;
    if (g->memo_group != g->groups.tensor) g->memo.count = 0;
    g->memo_group = g->groups.tensor;
    for (uint32_t i = 0; i < g->memo.count; i++)
        if (g->memo.items[i].kind == call->kind && g->memo.items[i].bytes == call->bytes)
            return g->memo.items[i].time_ps;
    const double seconds = alone_s(g, g->groups.tensor, call->kind, call->bytes);
    const alone_memo known = { call->kind, call->bytes, (sim_time)(seconds * 1e12 + 0.5) };
    *array_push(&g->memo, g->a) = known;
    return known.time_ps;
}

static sim_time nothing_ps(void *owner, const tensor_call *call)
{
    (void)owner;
    (void)call;
    return 0;
}

// Of a micro-batch through all chunks, one way.
static sim_time passes_ps(gatherer *g, pass_direction direction)
{
    const stage_costs *costs = g->w->costs.of_lane[g->lane];
    sim_time sum_ps = 0;
    for (uint32_t c = 0; c < g->w->stages.chunks; c++) {
        const chunk_costs *chunk = costs->chunks[c];
        const bool forward = direction == PASS_FORWARD;
        sum_ps += pass_length_ps(chunk, forward ? &chunk->forward : &chunk->backward, tensor_ps, g);
    }
    return sum_ps;
}

// Of equal ones the first.
static void find_slowest(gatherer *g)
{
    const world *w = g->w;
    sim_time *longest_ps = arena_array(g->a, sim_time, w->stages.stages);
    g->slowest = arena_array(g->a, lane_id, w->stages.stages);
    for (lane_id l = 0; l < w->lanes.count; l++) {
        const uint32_t stage = w->lanes.lanes[l].place.pipeline;
        look_at_lane(g, l);
        const sim_time here_ps = passes_ps(g, PASS_FORWARD) + passes_ps(g, PASS_BACKWARD);
        if (here_ps <= longest_ps[stage]) continue;
        longest_ps[stage] = here_ps;
        g->slowest[stage] = l;
    }
}

static void gather_stage(gatherer *g, uint32_t stage)
{
    const world *w = g->w;
    plan_stage *s = &g->out->stages[stage];
    look_at(g, stage);
    const lane_def *lane = &w->lanes.lanes[g->lane];
    const memory_settings memory = scenario_memory_settings(w->scenario, &w->stages, stage);
    const stage_costs *costs = w->costs.of_lane[g->lane];
    *s = (plan_stage){ .gpu = vertex_text(g->a, w, w->vertex_of_rank[lane_rank(&w->lanes, g->lane, 0)]),
                       .clock_ratio = lane->clock_ratio,
                       .memory_ratio = lane->memory_ratio,
                       .forward_s = units_s_from_ps(passes_ps(g, PASS_FORWARD)),
                       .backward_s = units_s_from_ps(passes_ps(g, PASS_BACKWARD)),
                       .layers = stage_layers(&w->stages, stage),
                       .in_flight = schedule_peak_in_flight(&w->schedule, stage),
                       .has_embedding = memory.has_embedding,
                       .has_head = memory.has_head,
                       .parameters = memory_parameters_here(&w->scenario->model, &memory),
                       .memory_bytes = w->memory.of_stage[stage].total_bytes };
    for (uint32_t c = 0; c < w->stages.chunks; c++)
        s->flop += costs->chunks[c]->flop;
}

static void gather_stages(gatherer *g)
{
    const uint32_t stages = g->w->stages.stages;
    plan_stage *all = g->out->stages = arena_array(g->a, plan_stage, stages);
    find_slowest(g);
    for (uint32_t stage = 0; stage < stages; stage++) {
        gather_stage(g, stage);
        if (plan_stage_s(&all[stage]) > plan_stage_s(&all[g->out->slowest])) g->out->slowest = stage;
    }
}

// ---- passes of the stage

static void add_work(plan_pass *pass, const work *w)
{
    pass->work.gpu_ps += w->gpu_ps;
    pass->work.recompute_ps += w->recompute_ps;
    pass->work.flop += w->flop;
    pass->work.bytes += w->bytes;
    pass->work.kernels += w->kernels;
}

static void add_pass(gatherer *g, plan_pass *pass, const chunk_costs *chunk, const pass_plan *items)
{
    sim_time work_ps = 0;
    for (uint32_t i = 0; i < items->item_count; i++) {
        if (items->items[i].kind != ITEM_WORK) continue;
        const work *done = &chunk->works[items->items[i].index];
        add_work(pass, done);
        work_ps += done->gpu_ps;
    }
    pass->time_s += units_s_from_ps(pass_length_ps(chunk, items, tensor_ps, g));
    pass->launch_s += units_s_from_ps(pass_length_ps(chunk, items, nothing_ps, g) - work_ps);
}

static void gather_passes(gatherer *g)
{
    const stage_costs *costs = g->w->costs.of_lane[g->lane];
    plan_pass *passes = g->out->passes;
    passes[0].name = "forward";
    passes[1].name = "backward";
    passes[2].name = "optimizer";
    for (uint32_t c = 0; c < g->w->stages.chunks; c++) {
        add_pass(g, &passes[0], costs->chunks[c], &costs->chunks[c]->forward);
        add_pass(g, &passes[1], costs->chunks[c], &costs->chunks[c]->backward);
    }
    add_work(&passes[2], costs->optimizer);
    const sim_time launch_ps = costs->optimizer->host_ps - costs->optimizer->gpu_ps;
    passes[2].launch_s = launch_ps > 0 ? units_s_from_ps(launch_ps) : 0.0;
    passes[2].time_s = units_s_from_ps(costs->optimizer->gpu_ps) + passes[2].launch_s;
}

// ---- operations of the stage

static void add_op(gatherer *g, const char *name, op_stream stream, uint64_t times, double each_s,
                   uint64_t bytes)
{
    plan_op_array *ops = &g->out->ops;
    uint32_t i = 0;
    if (times == 0) return;
    while (i < ops->count && !(strcmp(ops->items[i].name, name) == 0 && ops->items[i].stream == stream))
        i++;
    if (i == ops->count)
        *array_push(
            ops, g->a) = (plan_op){ .name = name, .stream = stream, .least_s = each_s, .greatest_s = each_s };
    plan_op *op = &ops->items[i];
    op->count += times;
    op->least_s = fmin(op->least_s, each_s);
    op->greatest_s = fmax(op->greatest_s, each_s);
    op->total_s += each_s * (double)times;
    op->bytes += bytes * times;
}

static void add_collective(gatherer *g, const char *name, op_stream stream, group_id group,
                           collective_kind kind, uint64_t bytes, uint64_t times)
{
    add_op(g, name, stream, times, alone_s(g, group, kind, bytes), bytes);
}

static void add_tensor_calls(gatherer *g, const chunk_costs *chunk, const pass_plan *items, uint64_t times)
{
    for (uint32_t i = 0; i < items->item_count; i++) {
        if (items->items[i].kind != ITEM_TENSOR) continue;
        const tensor_call *call = &chunk->tensor_calls[items->items[i].index];
        add_collective(g, call->name, STREAM_TP, g->groups.tensor, call->kind, call->bytes, times);
    }
}

static void add_passes(gatherer *g)
{
    const stage_costs *costs = g->w->costs.of_lane[g->lane];
    const uint64_t times = g->w->schedule.def.micro_batches;
    for (int direction = PASS_FORWARD; direction <= PASS_BACKWARD; direction++)
        for (uint32_t c = 0; c < g->w->stages.chunks; c++) {
            const chunk_costs *chunk = costs->chunks[c];
            const pass_plan *items = direction == PASS_FORWARD ? &chunk->forward : &chunk->backward;
            add_op(g, pass_direction_words[direction], STREAM_COMPUTE, times,
                   units_s_from_ps(pass_length_ps(chunk, items, nothing_ps, g)), 0);
        }
    for (uint32_t c = 0; c < g->w->stages.chunks; c++) {
        add_tensor_calls(g, costs->chunks[c], &costs->chunks[c]->forward, times);
        add_tensor_calls(g, costs->chunks[c], &costs->chunks[c]->backward, times);
    }
}

// The group in which a message of this stage moves: that of its receiver.
static group_id group_of_move(const gatherer *g, const program_move *move)
{
    const lane_table *lanes = &g->w->lanes;
    const uint32_t stages = lanes->sizes.pipeline;
    if (!move->sends) return g->groups.from[move->direction];
    parallel_place place = lanes->lanes[g->lane].place;
    place.pipeline = (place.pipeline + (move->direction == PASS_FORWARD ? 1 : stages - 1)) % stages;
    const lane_id receiver = lanes->lane_of_rank[parallel_rank_at(lanes->sizes, place)];
    return step_player_groups_of(g->w->player, receiver).from[move->direction];
}

static void add_moves(gatherer *g, const program *p)
{
    static const char *const words[2][2] = { { "activations, received", "activations, sent" },
                                             { "activation gradients, received",
                                               "activation gradients, sent" } };
    for (int kind = 0; kind < 4; kind++) { // both directions, first what is received
        const program_move *first = NULL;
        uint64_t count = 0;
        for (uint32_t i = 0; i < p->moves.count; i++) {
            const program_move *move = &p->moves.items[i];
            if (move->direction != kind / 2 || move->sends != kind % 2) continue;
            if (!first) first = move;
            count++;
        }
        if (first)
            add_collective(g, words[kind / 2][kind % 2], STREAM_PP, group_of_move(g, first),
                           COLLECTIVE_SEND_RECV, p->message_bytes, count);
    }
}

static void add_program_op(gatherer *g, const program *p, const program_op *op)
{
    switch ((op_kind)op->kind) {
    case OP_TENSOR: {
        const tensor_call *call = &p->tensor_calls.items[op->first];
        add_collective(g, call->name, STREAM_TP, g->groups.tensor, call->kind, call->bytes, 1);
        break;
    }
    case OP_TABLE:
        add_collective(g, op->name, STREAM_PP, g->groups.table, COLLECTIVE_ALL_REDUCE, p->table_bytes, 1);
        break;
    case OP_NORM: add_collective(g, op->name, STREAM_PP, g->groups.norm, COLLECTIVE_ALL_REDUCE, 4, 1); break;
    case OP_OPTIMIZER: add_op(g, op->name, STREAM_COMPUTE, 1, g->out->passes[2].time_s, 0); break;
    case OP_PASS: // these are counted otherwise
    case OP_SEND:
    case OP_RECEIVE:
    case OP_EXCHANGE:
    case OP_LINE:
    case OP_CODE:
    case OP_DATA_WAIT: break;
    }
}

// Encoded in the last backward pass or behind it.
static void add_coding(gatherer *g)
{
    const stage_costs *costs = g->w->costs.of_lane[g->lane];
    for (uint32_t c = 0; c < g->w->stages.chunks; c++) {
        const chunk_costs *chunk = costs->chunks[c];
        for (uint32_t i = 0; chunk->coding && i < chunk->bucket_count * CODING_STEPS; i++) {
            const uint32_t index = chunk->coding[i / CODING_STEPS].works[i % CODING_STEPS];
            if (index == NO_WORK) continue;
            const work *w = &chunk->works[index];
            add_op(g, coding_step_words[i % CODING_STEPS], STREAM_COMPUTE, 1,
                   units_s_from_ps(w->gpu_ps > w->host_ps ? w->gpu_ps : w->host_ps), 0);
        }
    }
}

static void gather_ops(gatherer *g)
{
    const program *p = &g->w->programs[g->out->stage];
    add_passes(g);
    add_coding(g);
    add_moves(g, p);
    for (uint32_t i = 0; i < p->data_calls.count; i++) {
        const data_call *call = &p->data_calls.items[i];
        add_collective(g, call->name, STREAM_DP, g->groups.data, call->kind, call->bytes, 1);
    }
    for (uint32_t i = 0; i < p->ops.count; i++)
        add_program_op(g, p, &p->ops.items[i]);
}

// ---- buckets and kernels of the stage

// Of all collectives that reduce it.
static uint64_t sent_bytes(const gatherer *g, const gradient_bucket *bucket)
{
    const gradient_coding coding = scenario_gradient_coding(g->w->scenario);
    uint64_t bytes = 0;
    for (int step = CODING_ENCODE; step <= CODING_RECODE; step++) {
        data_call calls[CODING_CALLS_MAX];
        const uint32_t count = coding_calls(&coding, bucket, (coding_step)step, calls);
        for (uint32_t i = 0; i < count; i++)
            bytes += calls[i].bytes;
    }
    return bytes;
}

static void add_sent(plan_bucket *row, uint64_t bytes)
{
    row->sent_bytes += bytes;
    if (bytes < row->least_bytes) row->least_bytes = bytes;
    if (bytes > row->greatest_bytes) row->greatest_bytes = bytes;
}

static bool same_buckets(const chunk_costs *a, const chunk_costs *b)
{
    bool same = a->bucket_count == b->bucket_count;
    for (uint32_t i = 0; same && i < a->bucket_count; i++)
        same = a->buckets[i].elements == b->buckets[i].elements;
    return same;
}

// Buckets of one size that follow one another share a row, and so do chunks with the same ones.
static void gather_buckets(gatherer *g)
{
    const chunk_costs *const *chunks = g->w->costs.of_lane[g->lane]->chunks;
    if (g->w->lanes.sizes.data == 1) return;
    for (uint32_t first = 0, behind; first < g->w->stages.chunks; first = behind) {
        const chunk_costs *chunk = chunks[first];
        for (behind = first + 1; behind < g->w->stages.chunks && same_buckets(chunk, chunks[behind]);)
            behind++;
        for (uint32_t i = 0, end; i < chunk->bucket_count; i = end) {
            for (end = i + 1;
                 end < chunk->bucket_count && chunk->buckets[end].elements == chunk->buckets[i].elements;)
                end++;
            plan_bucket *row = array_push(&g->out->buckets, g->a);
            *row = (plan_bucket){ .first_chunk = first,
                                  .last_chunk = behind - 1,
                                  .count = end - i,
                                  .elements = chunk->buckets[i].elements,
                                  .least_bytes = UINT64_MAX };
            for (uint32_t k = i; k < end; k++)
                add_sent(row, sent_bytes(g, &chunk->buckets[k]));
        }
    }
}

static bool same_kernel(const kernel_use *a, const kernel_use *b)
{
    const kernel_shape *x = &a->shape, *y = &b->shape;
    return strcmp(x->name, y->name) == 0 && x->batch == y->batch && x->m == y->m && x->n == y->n &&
           x->k == y->k && a->cost.time_ps == b->cost.time_ps;
}

static void add_kernels(gatherer *g, const kernel_use *uses, uint32_t count, uint64_t times)
{
    plan_kernel_array *all = &g->out->kernels;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t i = 0;
        while (i < all->count && !same_kernel(all->items[i].use, &uses[k]))
            i++;
        if (i == all->count) *array_push(all, g->a) = (plan_kernel){ .use = &uses[k] };
        all->items[i].calls += uses[k].calls * times;
    }
}

static void gather_kernels(gatherer *g)
{
    const world *w = g->w;
    const stage_costs *costs = w->costs.of_lane[g->lane];
    for (uint32_t c = 0; c < w->stages.chunks; c++)
        add_kernels(g, costs->chunks[c]->kernels, costs->chunks[c]->kernel_count,
                    w->schedule.def.micro_batches);
    for (uint32_t c = 0; c < w->stages.chunks; c++)
        add_kernels(g, costs->chunks[c]->coding_kernels, costs->chunks[c]->coding_kernel_count, 1);
    for (uint32_t o = 0; o < w->costs.optimizer_count; o++) {
        const optimizer_costs *optimizer = &w->costs.optimizers[o]->costs;
        if (&optimizer->work == costs->optimizer)
            add_kernels(g, optimizer->kernels, optimizer->kernel_count, 1);
    }
}

plan_facts plan_facts_of(arena *a, const world *w, uint32_t stage)
{
    plan_facts out = { .world = w };
    gatherer g = { .a = a, .w = w, .out = &out, .memo_group = NO_ID };
    gather_groups(&g);
    gather_stages(&g);
    out.stage = stage == PLAN_SLOWEST ? out.slowest : stage;
    look_at(&g, out.stage);
    gather_passes(&g);
    gather_ops(&g);
    gather_buckets(&g);
    gather_kernels(&g);
    return out;
}
