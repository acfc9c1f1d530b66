// SPDX-License-Identifier: GPL-3.0-or-later
// How much a step is, before it is played. Lanes of a stage do the same, so one of each is counted.
#include "models/training/step_internal.h"
#include "sim/map.h"

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
    case OP_NORM: add_collective(c, p->norm_group[c->lane], COLLECTIVE_ALL_REDUCE, STEP_NORM_BYTES, 1); break;
    case OP_CODE:
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

// ---- plans

typedef struct plan_size {
    uint32_t rings;
    collective_kind kind;
    uint64_t bytes;
    uint32_t next; // with the same key, or NO_ID
} plan_size;
ARRAY_OF(plan_size, plan_size_array);

typedef struct plan_counter {
    const step_player *player;
    map *seen;    // the numbers of rings and programs that have been counted
    map *by_size; // mixed keys of sizes -> the latest of them
    plan_size_array sizes;
    uint64_t messages;
} plan_counter;

// Plans are kept by rings, kind and bytes (models/collective/plan_cache.h).
static void add_plan(plan_counter *c, group_id group, collective_kind kind, uint64_t bytes)
{
    const step_player *p = c->player;
    const uint32_t rings = kind == COLLECTIVE_SEND_RECV ? NO_ID : collectives_rings(p->collectives, group);
    const uint64_t key = bytes ^ (uint64_t)rings << 36 ^ (uint64_t)kind << 60;
    uint32_t first = NO_ID;
    map_get(c->by_size, key, &first);
    for (uint32_t i = first; i != NO_ID; i = c->sizes.items[i].next) {
        const plan_size *known = &c->sizes.items[i];
        if (known->rings == rings && known->kind == kind && known->bytes == bytes) return;
    }
    *array_push(&c->sizes,
                p->arena) = (plan_size){ .rings = rings, .kind = kind, .bytes = bytes, .next = first };
    map_set(c->by_size, key, c->sizes.count - 1);
    c->messages += collective_message_count(
        p->collectives, &(collective_request){ .kind = kind, .group = group, .bytes = bytes });
}

// Lanes of a stage run the same program: each stage is looked at once for each set of rings.
static bool is_new(plan_counter *c, group_id group, uint32_t stage)
{
    if (group == NO_ID) return false;
    const uint64_t key = (uint64_t)collectives_rings(c->player->collectives, group) << 32 | stage;
    uint32_t roles = 0;
    const uint32_t role = UINT32_C(1) << c->player->groups.items[group].role;
    map_get(c->seen, key, &roles);
    map_set(c->seen, key, roles | role);
    return !(roles & role);
}

static void add_tensor_plans(plan_counter *c, lane_id l, group_id group)
{
    const step_player *p = c->player;
    const program *program_ = step_program(p, l);
    for (uint32_t chunk = 0; chunk < p->settings.schedule->chunks; chunk++) {
        const chunk_costs *costs = p->settings.costs_of_lane[l]->chunks[chunk];
        for (uint32_t i = 0; i < costs->tensor_call_count; i++)
            add_plan(c, group, costs->tensor_calls[i].kind, costs->tensor_calls[i].bytes);
    }
    for (uint32_t i = 0; i < program_->tensor_calls.count; i++)
        add_plan(c, group, program_->tensor_calls.items[i].kind, program_->tensor_calls.items[i].bytes);
}

static void add_plans(plan_counter *c, lane_id l)
{
    const step_player *p = c->player;
    const step_groups own = step_player_groups_of(p, l);
    const program *program_ = step_program(p, l);
    const uint32_t stage = step_lane_def(p, l)->place.pipeline;
    if (is_new(c, own.tensor, stage)) add_tensor_plans(c, l, own.tensor);
    if (is_new(c, own.data, stage))
        for (uint32_t i = 0; i < program_->data_calls.count; i++)
            add_plan(c, own.data, program_->data_calls.items[i].kind, program_->data_calls.items[i].bytes);
    if (is_new(c, own.norm, stage)) add_plan(c, own.norm, COLLECTIVE_ALL_REDUCE, STEP_NORM_BYTES);
    if (is_new(c, own.table, stage)) add_plan(c, own.table, COLLECTIVE_ALL_REDUCE, program_->table_bytes);
    for (int direction = PASS_FORWARD; direction <= PASS_BACKWARD; direction++)
        if (is_new(c, own.from[direction], stage))
            add_plan(c, own.from[direction], COLLECTIVE_SEND_RECV, program_->message_bytes);
}

uint64_t step_player_plan_messages(const step_player *p)
{
    if (p->settings.grain == GRAIN_STREAMS) return 0;
    const arena_mark_t mark = arena_mark(p->arena);
    plan_counter c = { .player = p, .seen = map_create(p->arena), .by_size = map_create(p->arena) };
    for (lane_id l = 0; l < p->lane_count; l++)
        add_plans(&c, l);
    arena_release(p->arena, mark);
    return c.messages;
}
