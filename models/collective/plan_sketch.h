// SPDX-License-Identifier: GPL-3.0-or-later
// models/collective/plan_sketch.h: puts a plan together from what an algorithm sends, in the order in which it thinks of it.
// An algorithm is a function that draws: it says who sends which chunks to whom in which step; a rank may only send what
// it was drawn to receive before, in an earlier step. The sketch finds what each message must wait for: all parts of a
// sum that its sender has received of that chunk, or the copy that has replaced them. It is drawn up to three times: for the
// edges, to count messages, and to write them.
#pragma once
#include "models/collective/plan.h"
#include "sim/array.h"
#include "sim/map.h"

typedef enum sketch_pass { SKETCH_EDGES, SKETCH_COUNT, SKETCH_WRITE } sketch_pass;

ARRAY_OF(plan_edge, plan_edge_array);
ARRAY_OF(uint32_t, sketch_index_array);

typedef struct sketch_receipt {
    uint32_t rank, chunk, message;
    bool reduces;
} sketch_receipt;
ARRAY_OF(sketch_receipt, sketch_receipt_array);

typedef struct plan_sketch {
    const plan_request *request;
    plan *plan;
    arena *arena;
    sketch_pass pass;
    uint32_t pieces;          // of what belongs together and is sent behind one another
    void *owner;              // the algorithm's own, made anew by each prepare
    plan_edge_array edges;    // as they are drawn
    sketch_index_array lanes; // per edge: 1 + the lane that was drawn last
    map *edge_by_pair;
    uint32_t *
        received; // rank x chunks: SKETCH_COUNT how many messages a send would wait for; SKETCH_WRITE 1 + the latest
    uint32_t *
        behind; // per message: 1 + the one its receiver got behind it of that chunk; behind the latest, the first
    // What the act of a switch that is being drawn brings: nothing of the same act waits for it.
    sketch_receipt_array receipts;
    uint32_t act_operation, act_step;
    uint32_t message_count, more_count;
    plan_message *messages; // as they are drawn
    uint32_t *more_starts;  // per message, and one more
    uint32_t *more;         // received messages
} plan_sketch;

typedef struct sketch_send {
    uint32_t from, to, step;
    uint32_t
        lane; // one of the plan's rings; all of one lane are drawn before the next where they share an edge
    uint32_t operation; // as in plan_edge
    uint32_t chunk;
    uint32_t count; // of chunks that follow, each a message of its own
    bool reduces;
} sketch_send;

typedef struct sketch_algorithm {
    void (*prepare)(
        plan_sketch
            *s); // makes what draw needs, in the sketch's arena, where it does not stay; NULL: nothing
    void (*draw)(plan_sketch *s);
} sketch_algorithm;

// The plan has its kind, ranks, rings, chunks, and, at the latest when prepared, steps, switches and stage_count; edges of
// stages are drawn stage by stage. Fills the rest of it; of stages each has a step.
void sketch_plan(plan_sketch *s, const sketch_algorithm *algorithm);
void sketch_add(plan_sketch *s, const sketch_send *send);
// In SKETCH_EDGES, in place of sketch_add(), where sums are quicker than all messages.
void sketch_add_edge(plan_sketch *s, const sketch_send *send, uint64_t bytes);

// What algorithms draw once for the edges, with all pieces side by side, and piece by piece for the messages.
static inline uint32_t sketch_rounds(const plan_sketch *s)
{
    return s->pass == SKETCH_EDGES ? 1 : s->pieces;
}
// For streams of stages: their operation; of messages there are none.
static inline uint32_t sketch_stage(const plan_sketch *s, uint32_t stage)
{
    return s->plan->stage_count > 0 ? 1 + stage : 0;
}
static inline uint32_t sketch_pieces_each(const plan_sketch *s)
{
    return s->pass == SKETCH_EDGES ? s->pieces : 1;
}
