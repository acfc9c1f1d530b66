// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/training/program.h"
#include "sim/check.h"
#include <math.h>

const char *const op_stream_words[] = { "compute", "dp", NULL };

typedef struct builder {
    arena *a;
    program *out;
    uint32_t last[STREAMS]; // latest operation per stream; NO_ID: none
} builder;

// Streams keep their order: each operation waits for the one before it on its stream.
static uint32_t add_op(builder *b, program_op op)
{
    const uint32_t id = b->out->ops.count;
    *array_push(&b->out->ops, b->a) = op;
    if (b->last[op.stream] != NO_ID)
        *array_push(&b->out->edges, b->a) = (program_edge){ .before = b->last[op.stream], .after = id };
    b->last[op.stream] = id;
    return id;
}

static void add_edge(builder *b, uint32_t before, uint32_t after)
{
    *array_push(&b->out->edges, b->a) = (program_edge){ .before = before, .after = after };
}

static uint32_t add_compute(builder *b, op_kind kind, const char *name, uint32_t micro_batch, uint32_t piece)
{
    return add_op(b, (program_op){ .kind = kind,
                                   .stream = STREAM_COMPUTE,
                                   .name = name,
                                   .micro_batch = micro_batch,
                                   .piece = piece,
                                   .slot = NO_ID });
}

static uint32_t add_collective(builder *b, collective_kind kind, const char *name, uint64_t bytes)
{
    const uint32_t slot = b->out->collectives.count;
    *array_push(&b->out->collectives, b->a) =
        (program_collective){ .kind = kind, .bytes = bytes, .name = name, .op = b->out->ops.count };
    return add_op(b, (program_op){ .kind = OP_COLLECTIVE,
                                   .stream = STREAM_DP,
                                   .name = name,
                                   .micro_batch = NO_ID,
                                   .piece = NO_ID,
                                   .slot = slot });
}

static uint64_t bytes_of(uint64_t elements, double element_bytes)
{
    return (uint64_t)ceil((double)elements * element_bytes);
}

// Reduces the buckets from next on that were full after a piece of the backward pass; they wait for operation done. The
// order of the stream makes the later ones wait too. Returns the first bucket that is left.
static uint32_t add_reductions(builder *b, const pass_costs *costs, const program_settings *s, uint32_t next,
                               uint32_t piece, uint32_t done)
{
    const bool zero = s->sharding == SHARDING_ZERO_1;
    for (uint32_t first = next; next < costs->bucket_count && costs->buckets[next].piece <= piece; next++) {
        const uint32_t reduction = add_collective(b, zero ? COLLECTIVE_REDUCE_SCATTER : COLLECTIVE_ALL_REDUCE,
                                                  zero ? "gradient reduce-scatter" : "gradient all-reduce",
                                                  bytes_of(costs->buckets[next].elements, s->gradient_bytes));
        if (next == first) add_edge(b, done, reduction);
    }
    return next;
}

// The last micro-batch: its backward pass in pieces, each followed by the buckets that it filled, or, without overlap, the
// whole pass followed by all of them.
static void add_last_backward(builder *b, const pass_costs *costs, const program_settings *s,
                              uint32_t micro_batch)
{
    const uint32_t last = costs->piece_count - 1;
    if (!s->overlap_gradients) {
        add_reductions(b, costs, s, 0, last, add_compute(b, OP_BACKWARD, "backward", micro_batch, NO_ID));
        return;
    }
    for (uint32_t piece = 0, next = 0; piece <= last; piece++)
        next = add_reductions(b, costs, s, next, piece,
                              add_compute(b, OP_BACKWARD_PIECE, "backward", micro_batch, piece));
}

void program_build(arena *a, const pass_costs *costs, const program_settings *s, program *out)
{
    SIM_ASSERT(s->sharding == SHARDING_NONE || s->sharding == SHARDING_ZERO_1);
    builder b = { .a = a, .out = out, .last = { NO_ID, NO_ID } };
    const bool communicates = s->data > 1;
    const bool zero = s->sharding == SHARDING_ZERO_1;
    *out = (program){ 0 };
    for (uint32_t i = 0; i < s->micro_batches; i++) {
        add_compute(&b, OP_FORWARD, "forward", i, NO_ID);
        if (communicates && i + 1 == s->micro_batches)
            add_last_backward(&b, costs, s, i);
        else
            add_compute(&b, OP_BACKWARD, "backward", i, NO_ID);
    }
    // Each replica holds a share of the reduced gradients, so their norm is the sum of one number per replica (fp32).
    if (communicates && zero)
        add_edge(&b, b.last[STREAM_COMPUTE],
                 add_collective(&b, COLLECTIVE_ALL_REDUCE, "gradient norm all-reduce", 4));
    const uint32_t reduced = b.last[STREAM_DP];
    const uint32_t optimizer = add_compute(&b, OP_OPTIMIZER, "optimizer", NO_ID, NO_ID);
    if (reduced != NO_ID) add_edge(&b, reduced, optimizer);
    if (communicates && zero)
        for (uint32_t i = 0; i < costs->bucket_count; i++) {
            const uint32_t gather = add_collective(&b, COLLECTIVE_ALL_GATHER, "parameter all-gather",
                                                   bytes_of(costs->buckets[i].elements, s->parameter_bytes));
            if (i == 0) add_edge(&b, optimizer, gather);
        }
}

const work *program_work(const program_op *op, const pass_costs *costs)
{
    switch (op->kind) {
    case OP_FORWARD: return &costs->forward;
    case OP_BACKWARD: return &costs->backward;
    case OP_BACKWARD_PIECE: return &costs->pieces[op->piece];
    case OP_OPTIMIZER: return &costs->optimizer;
    case OP_COLLECTIVE: break;
    }
    return NULL;
}
