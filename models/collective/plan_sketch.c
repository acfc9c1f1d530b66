// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/collective/plan_sketch.h"

enum { POSITION_BITS = 22, OPERATION_BITS = 20 };

// ---- edges ----

static uint64_t pair_key(const sketch_send *send)
{
    SIM_ASSERT(send->from < 1u << POSITION_BITS && send->to < 1u << POSITION_BITS &&
               send->operation < 1u << OPERATION_BITS);
    return ((uint64_t)send->from << POSITION_BITS | send->to) << OPERATION_BITS | send->operation;
}

void sketch_add_edge(plan_sketch *s, const sketch_send *send, uint64_t bytes)
{
    SIM_ASSERT(s->pass == SKETCH_EDGES && send->from != send->to && send->lane < s->plan->rings);
    uint32_t e;
    if (!map_get(s->edge_by_pair, pair_key(send), &e)) {
        e = s->edges.count;
        map_set(s->edge_by_pair, pair_key(send), e);
        *array_push(&s->edges, s->arena) =
            (plan_edge){ .from = send->from, .to = send->to, .operation = send->operation };
        *array_push(&s->lanes, s->arena) = 0;
    }
    s->edges.items[e].bytes += bytes;
    if (s->lanes.items[e] == send->lane + 1) return;
    s->lanes.items[e] = send->lane + 1;
    s->edges.items[e].rings++;
}

// In the order in which they were drawn.
static void take_stages(plan_sketch *s)
{
    plan *p = s->plan;
    memcpy(p->edges, s->edges.items, p->edge_count * sizeof *p->edges);
    for (uint32_t e = 0; e < p->edge_count; e++) {
        edge_stage *stage = &p->stages[p->edges[e].operation - 1];
        if (stage->edge_count++ == 0) *stage = (edge_stage){ .first_edge = e, .edge_count = 1, .steps = 1 };
        SIM_ASSERT(e == stage->first_edge + stage->edge_count - 1); // they stand together
    }
}

// By sender, each sender's in the order in which they were drawn; the map then has the final numbers.
static void sort_edges(plan_sketch *s)
{
    plan *p = s->plan;
    uint32_t *starts = arena_array(s->arena, uint32_t, (size_t)p->ranks + p->switches + 1);
    for (uint32_t e = 0; e < s->edges.count; e++)
        starts[s->edges.items[e].from + 1]++;
    for (uint32_t v = 0; v < p->ranks + p->switches; v++)
        starts[v + 1] += starts[v];
    for (uint32_t e = 0; e < s->edges.count; e++) {
        const plan_edge *edge = &s->edges.items[e];
        const uint32_t at = starts[edge->from]++;
        p->edges[at] = *edge;
        map_set(s->edge_by_pair,
                pair_key(&(sketch_send){ .from = edge->from, .to = edge->to, .operation = edge->operation }),
                at);
    }
}

// ---- messages ----

static uint32_t *received_at(const plan_sketch *s, uint32_t rank, uint32_t chunk)
{
    return &s->received[(size_t)rank * s->plan->chunks + chunk];
}

static void note_receipt(plan_sketch *s, const sketch_receipt *receipt)
{
    uint32_t *latest = received_at(s, receipt->rank, receipt->chunk);
    const bool joins = receipt->reduces && *latest > 0;
    if (s->pass == SKETCH_COUNT) {
        *latest = joins ? *latest + 1 : 1;
        return;
    }
    const uint32_t index = receipt->message;
    s->behind[index] = index + 1;
    if (joins) {
        s->behind[index] = s->behind[*latest - 1];
        s->behind[*latest - 1] = index + 1;
    }
    *latest = index + 1;
}

static void end_act(plan_sketch *s)
{
    for (uint32_t i = 0; i < s->receipts.count; i++)
        note_receipt(s, &s->receipts.items[i]);
    array_clear(&s->receipts);
}

static void begin_act(plan_sketch *s, const sketch_send *send)
{
    if (s->act_operation != send->operation || s->act_step != send->step) end_act(s);
    s->act_operation = send->operation;
    s->act_step = send->step;
}

static void receive(plan_sketch *s, const sketch_send *send, uint32_t chunk, uint32_t message)
{
    if (send->to >= s->plan->ranks) return;
    const sketch_receipt receipt = { send->to, chunk, message, send->reduces };
    if (send->operation > 0)
        *array_push(&s->receipts, s->arena) = receipt;
    else
        note_receipt(s, &receipt);
}

static void count_message(plan_sketch *s, const sketch_send *send, uint32_t chunk)
{
    if (send->from < s->plan->ranks) {
        const uint32_t waits = *received_at(s, send->from, chunk);
        s->more_count += waits > 1 ? waits - 1 : 0;
    }
    receive(s, send, chunk, s->message_count++);
}

// In the order in which they came: a copy before what is added to it.
static void write_waits(plan_sketch *s, plan_message *m)
{
    const uint32_t latest = m->from < s->plan->ranks ? *received_at(s, m->from, m->chunk) : 0;
    if (latest == 0) return;
    for (uint32_t at = s->behind[latest - 1];; at = s->behind[at - 1]) {
        SIM_ASSERT(s->messages[at - 1].step < m->step);
        if (m->after_received == PLAN_NONE)
            m->after_received = (int32_t)(at - 1);
        else
            s->more[s->more_count++] = at - 1;
        if (at == latest) return;
    }
}

static void write_message(plan_sketch *s, const sketch_send *send, uint32_t edge, uint32_t chunk)
{
    const uint32_t index = s->message_count++;
    plan_message *m = &s->messages[index];
    *m = (plan_message){ .from = send->from,
                         .to = send->to,
                         .edge = edge,
                         .step = send->step,
                         .chunk = chunk,
                         .after_own = PLAN_NONE,
                         .after_received = PLAN_NONE,
                         .ring = (uint16_t)send->lane,
                         .reduces = send->reduces,
                         .bytes = plan_chunk_bytes(s->plan->bytes, s->plan->chunks, chunk) };
    SIM_ASSERT(send->step < s->plan->steps);
    s->more_starts[index] = s->more_count;
    write_waits(s, m);
    receive(s, send, chunk, index);
}

void sketch_add(plan_sketch *s, const sketch_send *send)
{
    const plan *p = s->plan;
    if (s->pass == SKETCH_EDGES) {
        sketch_add_edge(s, send, plan_range_bytes(p->bytes, p->chunks, send->chunk, send->count));
        return;
    }
    begin_act(s, send);
    uint32_t edge = 0;
    bool found = s->pass == SKETCH_COUNT || map_get(s->edge_by_pair, pair_key(send), &edge);
    SIM_ASSERT(found && send->chunk + send->count <= p->chunks);
    for (uint32_t c = send->chunk; c < send->chunk + send->count; c++) {
        if (s->pass == SKETCH_COUNT)
            count_message(s, send, c);
        else
            write_message(s, send, edge, c);
    }
}

// ---- in their order ----

typedef enum sketch_digit { BY_RING, BY_EDGE, BY_PLACE, BY_STEP, SKETCH_DIGITS } sketch_digit;

// Where the messages of each edge stand within a step: those of an operation where its first edge is.
static uint32_t *places_of_edges(const plan_sketch *s)
{
    const plan *p = s->plan;
    uint32_t *places = arena_array(s->arena, uint32_t, p->edge_count);
    uint32_t *firsts = arena_array(s->arena, uint32_t, (size_t)p->operations + 1); // 1 + edge
    for (uint32_t e = 0; e < p->edge_count; e++) {
        const uint32_t operation = p->edges[e].operation;
        if (operation > 0 && firsts[operation] == 0) firsts[operation] = e + 1;
        places[e] = operation > 0 ? firsts[operation] - 1 : e;
    }
    return places;
}

static uint32_t digit_of(const plan_message *m, const uint32_t *places, sketch_digit digit)
{
    switch (digit) {
    case BY_RING: return m->ring;
    case BY_EDGE: return m->edge;
    case BY_PLACE: return places[m->edge];
    case BY_STEP:
    case SKETCH_DIGITS: break;
    }
    return m->step;
}

// Radix sort, least digit first, each by counting; stable.
static uint32_t *order_of_messages(const plan_sketch *s)
{
    const plan *p = s->plan;
    const uint32_t count = s->message_count, bounds[] = { p->rings, p->edge_count, p->edge_count, p->steps };
    const uint32_t *places = places_of_edges(s);
    uint32_t *order = arena_array(s->arena, uint32_t, count), *next = arena_array(s->arena, uint32_t, count);
    for (uint32_t m = 0; m < count; m++)
        order[m] = m;
    for (int digit = 0; digit < SKETCH_DIGITS; digit++) {
        if (digit == BY_PLACE && p->operations == 0) continue;
        uint32_t *starts = arena_array(s->arena, uint32_t, (size_t)bounds[digit] + 1);
        for (uint32_t m = 0; m < count; m++)
            starts[digit_of(&s->messages[m], places, (sketch_digit)digit) + 1]++;
        for (uint32_t i = 0; i < bounds[digit]; i++)
            starts[i + 1] += starts[i];
        for (uint32_t i = 0; i < count; i++)
            next[starts[digit_of(&s->messages[order[i]], places, (sketch_digit)digit)]++] = order[i];
        uint32_t *swap = order;
        order = next;
        next = swap;
    }
    return order;
}

// A sender's one before, on the same edge and ring: the last of an earlier step.
typedef struct sketch_chain {
    uint32_t last, before; // 1 + message: of its latest step, and of the one before
} sketch_chain;

static void chain_message(plan *p, sketch_chain *chain, uint32_t m)
{
    if (chain->last == 0 || p->messages[chain->last - 1].step != p->messages[m].step)
        chain->before = chain->last;
    p->messages[m].after_own = (int32_t)chain->before - 1;
    chain->last = m + 1;
}

static void sort_messages(plan_sketch *s)
{
    plan *p = s->plan;
    const uint32_t *order = order_of_messages(s);
    uint32_t *now = arena_array(s->arena, uint32_t, s->message_count);
    sketch_chain *chains = arena_array(s->arena, sketch_chain, (size_t)p->edge_count * p->rings);
    uint32_t more = 0;
    for (uint32_t m = 0; m < s->message_count; m++)
        now[order[m]] = m;
    for (uint32_t m = 0; m < s->message_count; m++) {
        const plan_message *drawn = &s->messages[order[m]];
        p->messages[m] = *drawn;
        if (drawn->after_received != PLAN_NONE)
            p->messages[m].after_received = (int32_t)now[drawn->after_received];
        chain_message(p, &chains[(size_t)drawn->edge * p->rings + drawn->ring], m);
        for (uint32_t i = s->more_starts[order[m]]; i < s->more_starts[order[m] + 1]; i++)
            p->more[more++] = (plan_wait){ .message = m, .received = now[s->more[i]] };
    }
    SIM_ASSERT(more == p->more_count);
}

// ---- the passes ----

static void draw_edges(plan_sketch *s, const sketch_algorithm *algorithm)
{
    plan *p = s->plan;
    s->pass = SKETCH_EDGES;
    s->edge_by_pair = map_create(s->arena);
    s->edges = (plan_edge_array){ 0 };
    s->lanes = (sketch_index_array){ 0 };
    if (algorithm->prepare) algorithm->prepare(s);
    algorithm->draw(s);
    p->edge_count = s->edges.count;
    for (uint32_t e = 0; e < s->edges.count; e++)
        if (s->edges.items[e].operation > p->operations) p->operations = s->edges.items[e].operation;
}

static void count_messages(plan_sketch *s, const sketch_algorithm *algorithm)
{
    s->pass = SKETCH_COUNT;
    s->receipts = (sketch_receipt_array){ 0 };
    s->received = arena_array(s->arena, uint32_t, (size_t)s->plan->ranks * s->plan->chunks);
    algorithm->draw(s);
    SIM_ASSERT(s->message_count <= INT32_MAX);
    s->plan->message_count = s->message_count;
    s->plan->more_count = s->more_count;
    s->message_count = s->more_count = 0;
}

static void write_messages(plan_sketch *s, const sketch_algorithm *algorithm)
{
    const plan *p = s->plan;
    s->pass = SKETCH_WRITE;
    s->receipts = (sketch_receipt_array){ 0 };
    s->received = arena_array(s->arena, uint32_t, (size_t)p->ranks * p->chunks);
    s->messages = arena_array(s->arena, plan_message, p->message_count);
    s->behind = arena_array(s->arena, uint32_t, p->message_count);
    s->more = arena_array(s->arena, uint32_t, p->more_count);
    s->more_starts = arena_array(s->arena, uint32_t, (size_t)p->message_count + 1);
    algorithm->draw(s);
    SIM_ASSERT(s->message_count == p->message_count && s->more_count == p->more_count);
    s->more_starts[s->message_count] = s->more_count;
}

// What the plan keeps is taken from the arena before what only one pass needs; so the edges, whose number is not known
// before they are drawn, are drawn twice.
void sketch_plan(plan_sketch *s, const sketch_algorithm *algorithm)
{
    plan *p = s->plan;
    SIM_ASSERT(p->rings <= UINT16_MAX && p->chunks > 0 && p->bytes <= UINT64_MAX / 4);
    const bool messages = s->request->grain == GRAIN_MESSAGES;
    const arena_mark_t counting = arena_mark(s->arena);
    draw_edges(s, algorithm);
    if (messages) count_messages(s, algorithm);
    arena_release(s->arena, counting);
    p->chains_by_edge = true;
    p->edges = arena_array(s->arena, plan_edge, p->edge_count);
    p->stages = arena_array(s->arena, edge_stage, p->stage_count);
    if (messages) {
        p->messages = arena_array(s->arena, plan_message, p->message_count);
        p->more = arena_array(s->arena, plan_wait, p->more_count);
    }
    const arena_mark_t writing = arena_mark(s->arena);
    draw_edges(s, algorithm);
    if (p->stage_count > 0)
        take_stages(s);
    else
        sort_edges(s);
    if (messages) {
        write_messages(s, algorithm);
        sort_messages(s);
    }
    arena_release(s->arena, writing);
}
