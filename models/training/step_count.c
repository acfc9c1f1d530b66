// SPDX-License-Identifier: GPL-3.0-or-later
// How much a step is, before it is played. Lanes of a stage do the same, so one of each is counted.
#include "models/training/step_internal.h"

typedef struct counter {
    const step_player *player;
    lane_id lane;
    uint64_t lanes; // like it
    uint64_t spans;
    uint64_t collectives[ROLES],
        transfers[ROLES]; // as often as lanes take part, of the groups with this role
} counter;

static void add_collective(counter *c, group_id group, collective_kind kind, uint64_t bytes, uint64_t times)
{
    const step_player *p = c->player;
    const group_role role = (group_role)p->groups.items[group].role;
    const collective_request request = {
        .kind = kind, .group = group, .bytes = bytes, .forced_protocol = p->settings.forced_protocol
    };
    c->spans += c->lanes * times;
    c->collectives[role] += c->lanes * times;
    c->transfers[role] += c->lanes * times * collective_transfer_count(p->collectives, &request);
}

static void add_passes(counter *c, const chunk_costs *costs, const pass_plan *items, uint64_t times)
{
    for (uint32_t i = 0; i < items->item_count && times > 0; i++) {
        const pass_item *item = &items->items[i];
        if (item->kind == ITEM_WORK) c->spans += c->lanes * times;
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
    case OP_OPTIMIZER: c->spans += c->lanes; break;
    case OP_PASS: // counted by chunk
    case OP_SEND:
    case OP_RECEIVE:
    case OP_EXCHANGE:
    case OP_LINE:
    case OP_DATA_WAIT: break;
    }
}

// A step has one marked pass of each direction through a chunk, or none.
static void add_chunk(counter *c, uint32_t chunk, bool first_marked, bool last_marked)
{
    const step_player *p = c->player;
    const chunk_costs *costs = p->settings.costs_of_lane[c->lane]->chunks[chunk];
    const uint64_t micro_batches = p->settings.schedule->micro_batches;
    add_passes(c, costs, &costs->forward, micro_batches - first_marked);
    add_passes(c, costs, &costs->first_forward, first_marked);
    add_passes(c, costs, &costs->backward, micro_batches - last_marked);
    add_passes(c, costs, &costs->last_backward, last_marked);
}

static void count_lanes(counter *c)
{
    const step_player *p = c->player;
    const program *program_ = step_program(p, c->lane);
    bool marked[2] = { false, false }; // by direction: in all chunks or in none
    for (uint32_t i = 0; i < program_->ops.count; i++) {
        const program_op *op = &program_->ops.items[i];
        if (op->kind == OP_PASS && op->marked) marked[op->direction] = true;
        add_op(c, program_, op);
    }
    for (uint32_t chunk = 0; chunk < p->settings.schedule->chunks; chunk++)
        add_chunk(c, chunk, marked[PASS_FORWARD], marked[PASS_BACKWARD]);
    for (uint32_t i = 0; i < program_->data_calls.count; i++)
        add_collective(c, p->data_group[c->lane], program_->data_calls.items[i].kind,
                       program_->data_calls.items[i].bytes, 1);
    for (uint32_t i = 0; i < program_->moves.count; i++) { // told by its receiver
        if (program_->moves.items[i].sends) continue;
        c->spans += c->lanes;
        c->collectives[ROLE_MOVE] += c->lanes;
        c->transfers[ROLE_MOVE] += c->lanes;
    }
}

// All groups of a role have as many lanes, each of which was counted.
static void share_out(const step_player *p, counter *c)
{
    bool shared[ROLES] = { [ROLE_MOVE] = true }; // counted once already
    for (group_id g = 0; g < p->groups.count; g++) {
        const lane_group *group = &p->groups.items[g];
        if (shared[group->role]) continue;
        shared[group->role] = true;
        c->collectives[group->role] /= group->lane_count;
        c->transfers[group->role] /= group->lane_count;
    }
}

step_counts step_player_counts(const step_player *p)
{
    counter c = { .player = p };
    for (uint32_t stage = 0; stage < p->settings.lanes->sizes.pipeline; stage++) {
        c.lanes = 0;
        for (lane_id l = 0; l < p->lane_count; l++)
            if (step_lane_def(p, l)->place.pipeline == stage && c.lanes++ == 0) c.lane = l;
        count_lanes(&c);
    }
    share_out(p, &c);
    step_counts sum = { .spans = c.spans };
    for (int role = 0; role < ROLES; role++) {
        sum.collectives += c.collectives[role];
        sum.transfers += c.transfers[role];
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
