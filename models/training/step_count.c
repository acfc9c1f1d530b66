// SPDX-License-Identifier: GPL-3.0-or-later
// How much a step is, before it is played. Lanes of a stage do the same, so one of each is counted.
#include "models/training/step_internal.h"

typedef struct counter {
    const step_player *player;
    lane_id lane;
    step_counts one;   // of this lane; collectives and transfers of its groups, as a share of them
    uint64_t messages; // of distinct plans
} counter;

static void add_collective(counter *c, group_id group, collective_kind kind, uint64_t bytes, uint64_t times)
{
    collectives *all = c->player->collectives;
    const uint32_t lanes = c->player->groups.items[group].lane_count;
    const collective_request request = {
        .kind = kind, .group = group, .bytes = bytes, .forced_protocol = c->player->settings.forced_protocol
    };
    c->one.spans += times;
    c->one.collectives += (times + lanes - 1) / lanes;
    c->one.transfers += (times * collective_transfer_count(all, &request) + lanes - 1) / lanes;
}

static void add_pass(counter *c, const chunk_costs *costs, const pass_plan *items, uint64_t times)
{
    for (uint32_t i = 0; i < items->item_count; i++) {
        const pass_item *item = &items->items[i];
        if (item->kind == ITEM_WORK) c->one.spans += times;
        if (item->kind != ITEM_TENSOR) continue;
        const tensor_call *call = &costs->tensor_calls[item->index];
        add_collective(c, c->player->tensor_group[c->lane], call->kind, call->bytes, times);
    }
}

static void add_op(counter *c, const program *program_, const program_op *op)
{
    const step_player *p = c->player;
    const tensor_call *call;
    switch ((op_kind)op->kind) {
    case OP_TENSOR:
        call = &program_->tensor_calls.items[op->first];
        add_collective(c, p->tensor_group[c->lane], call->kind, call->bytes, 1);
        break;
    case OP_TABLE:
        add_collective(c, p->table_group[c->lane], COLLECTIVE_ALL_REDUCE, program_->table_bytes, 1);
        break;
    case OP_NORM: add_collective(c, p->norm_group[c->lane], COLLECTIVE_ALL_REDUCE, 4, 1); break;
    case OP_OPTIMIZER: c->one.spans++; break;
    case OP_PASS: // counted by chunk
    case OP_SEND:
    case OP_RECEIVE:
    case OP_EXCHANGE:
    case OP_LINE:
    case OP_DATA_WAIT: break;
    }
}

static void count_lane(counter *c)
{
    const step_player *p = c->player;
    const program *program_ = step_program(p, c->lane);
    const stage_costs *costs = p->settings.costs_of_lane[c->lane];
    const uint64_t micro_batches = p->settings.schedule->micro_batches;
    for (uint32_t chunk = 0; chunk < p->settings.schedule->chunks;
         chunk++) { // marked passes have more pieces
        add_pass(c, costs->chunks[chunk], &costs->chunks[chunk]->forward, micro_batches - 1);
        add_pass(c, costs->chunks[chunk], &costs->chunks[chunk]->first_forward, 1);
        add_pass(c, costs->chunks[chunk], &costs->chunks[chunk]->backward, micro_batches - 1);
        add_pass(c, costs->chunks[chunk], &costs->chunks[chunk]->last_backward, 1);
    }
    for (uint32_t i = 0; i < program_->ops.count; i++)
        add_op(c, program_, &program_->ops.items[i]);
    for (uint32_t i = 0; i < program_->data_calls.count; i++)
        add_collective(c, p->data_group[c->lane], program_->data_calls.items[i].kind,
                       program_->data_calls.items[i].bytes, 1);
    for (uint32_t i = 0; i < program_->moves.count; i++) { // told by its receiver
        if (program_->moves.items[i].sends) continue;
        c->one.spans++;
        c->one.collectives++;
        c->one.transfers++;
    }
}

step_counts step_player_counts(const step_player *p)
{
    const uint32_t stages = p->settings.lanes->sizes.pipeline;
    step_counts sum = { 0 };
    for (uint32_t stage = 0; stage < stages; stage++) {
        counter c = { .player = p, .lane = NO_ID };
        uint64_t lanes = 0;
        for (lane_id l = 0; l < p->lane_count; l++) {
            if (step_lane_def(p, l)->place.pipeline != stage) continue;
            if (c.lane == NO_ID) c.lane = l;
            lanes++;
        }
        count_lane(&c);
        sum.spans += lanes * c.one.spans;
        sum.collectives += lanes * c.one.collectives;
        sum.transfers += lanes * c.one.transfers;
    }
    return sum;
}

static uint64_t messages_of(const step_player *p, group_id group, collective_kind kind, uint64_t bytes)
{
    return collective_message_count(p->collectives,
                                    &(collective_request){ .kind = kind, .group = group, .bytes = bytes });
}

// Each kind and size once, of the first lane.
static bool is_new(const data_call *calls, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (calls[k].kind == calls[i].kind && calls[k].bytes == calls[i].bytes) return false;
    return true;
}

uint64_t step_player_plan_messages(const step_player *p)
{
    uint64_t messages = 0;
    for (lane_id l = 0; l < p->lane_count; l++) {
        const parallel_place place = step_lane_def(p, l)->place;
        if (place.tensor > 0 || place.data > 0) continue;
        const program *program_ = step_program(p, l);
        const stage_costs *costs = p->settings.costs_of_lane[l];
        for (uint32_t i = 0; i < program_->data_calls.count; i++)
            if (is_new(program_->data_calls.items, i))
                messages += messages_of(p, p->data_group[l], program_->data_calls.items[i].kind,
                                        program_->data_calls.items[i].bytes);
        for (uint32_t c = 0; c < p->settings.schedule->chunks; c++)
            for (uint32_t i = 0; i < costs->chunks[c]->tensor_call_count; i++)
                messages += messages_of(p, p->tensor_group[l], costs->chunks[c]->tensor_calls[i].kind,
                                        costs->chunks[c]->tensor_calls[i].bytes);
    }
    return messages;
}
