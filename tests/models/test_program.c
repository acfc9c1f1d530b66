// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "models/training/program.h"
#include "sim/graph.h"

// Two buckets are full after the first of three pieces, none after the second, one after the third.
static const gradient_bucket three_buckets[] = { { 7001, 0 }, { 7002, 0 }, { 411, 2 } };
static const pass_costs costs = { .pieces = (work[3]){ { 0 } },
                                  .piece_count = 3,
                                  .buckets = (gradient_bucket *)three_buckets,
                                  .bucket_count = 3 };

struct op_want {
    op_kind kind;
    const char *name;
    uint32_t micro_batch, piece;
    collective_kind collective;
    uint64_t bytes;
};
#define COMPUTE(kind_, name_, micro_batch_)                                                                  \
    {                                                                                                        \
        kind_, name_, micro_batch_, NO_ID, 0, 0                                                              \
    }
#define PIECE(micro_batch_, piece_)                                                                          \
    {                                                                                                        \
        OP_BACKWARD_PIECE, "backward", micro_batch_, piece_, 0, 0                                            \
    }
#define REDUCE(bytes_)                                                                                       \
    {                                                                                                        \
        OP_COLLECTIVE, "gradient all-reduce", NO_ID, NO_ID, COLLECTIVE_ALL_REDUCE, bytes_                    \
    }
#define SCATTER(bytes_)                                                                                      \
    {                                                                                                        \
        OP_COLLECTIVE, "gradient reduce-scatter", NO_ID, NO_ID, COLLECTIVE_REDUCE_SCATTER, bytes_            \
    }
#define GATHER(bytes_)                                                                                       \
    {                                                                                                        \
        OP_COLLECTIVE, "parameter all-gather", NO_ID, NO_ID, COLLECTIVE_ALL_GATHER, bytes_                   \
    }
#define NORM                                                                                                 \
    {                                                                                                        \
        OP_COLLECTIVE, "gradient norm all-reduce", NO_ID, NO_ID, COLLECTIVE_ALL_REDUCE, 4                    \
    }

struct program_case {
    const char *name;
    program_settings settings;
    uint32_t op_count;
    struct op_want ops[16];
    uint32_t edge_count;
    program_edge edges[24];
};
static const struct program_case cases[] = {
    { "one replica has no collectives",
      { .micro_batches = 2, .data = 1, .overlap_gradients = true, .gradient_bytes = 4, .parameter_bytes = 2 },
      5,
      { COMPUTE(OP_FORWARD, "forward", 0), COMPUTE(OP_BACKWARD, "backward", 0),
        COMPUTE(OP_FORWARD, "forward", 1), COMPUTE(OP_BACKWARD, "backward", 1),
        COMPUTE(OP_OPTIMIZER, "optimizer", NO_ID) },
      4,
      { { 0, 1 }, { 1, 2 }, { 2, 3 }, { 3, 4 } } },
    { "all-reduce beside the last backward pass",
      { .micro_batches = 2, .data = 3, .overlap_gradients = true, .gradient_bytes = 4, .parameter_bytes = 2 },
      10,
      { COMPUTE(OP_FORWARD, "forward", 0), COMPUTE(OP_BACKWARD, "backward", 0),
        COMPUTE(OP_FORWARD, "forward", 1), PIECE(1, 0), REDUCE(28004), REDUCE(28008), PIECE(1, 1),
        PIECE(1, 2), REDUCE(1644), COMPUTE(OP_OPTIMIZER, "optimizer", NO_ID) },
      11,
      // streams: 0 1 2 3 6 7 9 and 4 5 8; a bucket waits for its piece, the optimizer for the last bucket
      { { 0, 1 },
        { 1, 2 },
        { 2, 3 },
        { 3, 6 },
        { 6, 7 },
        { 7, 9 },
        { 4, 5 },
        { 5, 8 },
        { 3, 4 },
        { 7, 8 },
        { 8, 9 } } },
    { "all-reduce after it",
      { .micro_batches = 1, .data = 3, .gradient_bytes = 2, .parameter_bytes = 2 },
      6,
      { COMPUTE(OP_FORWARD, "forward", 0), COMPUTE(OP_BACKWARD, "backward", 0), REDUCE(14002), REDUCE(14004),
        REDUCE(822), COMPUTE(OP_OPTIMIZER, "optimizer", NO_ID) },
      6,
      { { 0, 1 }, { 1, 5 }, { 2, 3 }, { 3, 4 }, { 1, 2 }, { 4, 5 } } },
    { "ZeRO-1: reduce-scatter, norm, all-gather",
      { .micro_batches = 1,
        .data = 2,
        .sharding = SHARDING_ZERO_1,
        .overlap_gradients = true,
        .gradient_bytes = 4,
        .parameter_bytes = 2 },
      12,
      { COMPUTE(OP_FORWARD, "forward", 0), PIECE(0, 0), SCATTER(28004), SCATTER(28008), PIECE(0, 1),
        PIECE(0, 2), SCATTER(1644), NORM, COMPUTE(OP_OPTIMIZER, "optimizer", NO_ID), GATHER(14002),
        GATHER(14004), GATHER(822) },
      15,
      { { 0, 1 },
        { 1, 4 },
        { 4, 5 },
        { 5, 8 },
        { 2, 3 },
        { 3, 6 },
        { 6, 7 },
        { 7, 9 },
        { 9, 10 },
        { 10, 11 },
        { 1, 2 },
        { 5, 6 },
        { 5, 7 },
        { 7, 8 },
        { 8, 9 } } },
    { "ZeRO-1 over one replica is nothing",
      { .micro_batches = 1,
        .data = 1,
        .sharding = SHARDING_ZERO_1,
        .gradient_bytes = 4,
        .parameter_bytes = 2 },
      3,
      { COMPUTE(OP_FORWARD, "forward", 0), COMPUTE(OP_BACKWARD, "backward", 0),
        COMPUTE(OP_OPTIMIZER, "optimizer", NO_ID) },
      2,
      { { 0, 1 }, { 1, 2 } } },
};

static void assert_op(const program *p, uint32_t i, const struct op_want *want)
{
    const program_op *op = &p->ops.items[i];
    assert_int_equal(op->kind, want->kind);
    assert_string_equal(op->name, want->name);
    assert_int_equal(op->micro_batch, want->micro_batch);
    assert_int_equal(op->piece, want->piece);
    if (want->kind != OP_COLLECTIVE) {
        assert_int_equal(op->stream, STREAM_COMPUTE);
        assert_int_equal(op->slot, NO_ID);
        return;
    }
    assert_int_equal(op->stream, STREAM_DP);
    const program_collective *c = &p->collectives.items[op->slot];
    assert_int_equal(c->op, i);
    assert_int_equal(c->kind, want->collective);
    assert_int_equal(c->bytes, want->bytes);
    assert_string_equal(c->name, want->name);
}

static bool has_edge(const program *p, program_edge edge)
{
    for (uint32_t i = 0; i < p->edges.count; i++)
        if (memcmp(&p->edges.items[i], &edge, sizeof edge) == 0) return true;
    return false;
}

static void program_matches(void **state)
{
    const struct program_case *c = *state;
    arena *a = arena_create("test");
    program p;
    program_build(a, &costs, &c->settings, &p);
    assert_int_equal(p.ops.count, c->op_count);
    uint32_t collectives = 0;
    for (uint32_t i = 0; i < p.ops.count; i++) {
        assert_op(&p, i, &c->ops[i]);
        collectives += p.ops.items[i].kind == OP_COLLECTIVE;
    }
    assert_int_equal(p.collectives.count, collectives);
    for (uint32_t i = 0; i < c->edge_count; i++)
        if (!has_edge(&p, c->edges[i])) fail_msg("no edge %u > %u", c->edges[i].before, c->edges[i].after);
    assert_int_equal(p.edges.count, c->edge_count);

    graph *g = graph_create(a);
    graph_add_nodes(g, p.ops.count);
    for (uint32_t i = 0; i < p.edges.count; i++)
        graph_add_edge(g, p.edges.items[i].before, p.edges.items[i].after);
    graph_seal(g);
    assert_true(graph_is_acyclic(g));
    arena_destroy(a);
}

static void work_belongs_to_operations(void **state)
{
    (void)state;
    assert_ptr_equal(program_work(&(program_op){ .kind = OP_FORWARD }, &costs), &costs.forward);
    assert_ptr_equal(program_work(&(program_op){ .kind = OP_BACKWARD }, &costs), &costs.backward);
    assert_ptr_equal(program_work(&(program_op){ .kind = OP_BACKWARD_PIECE, .piece = 2 }, &costs),
                     &costs.pieces[2]);
    assert_ptr_equal(program_work(&(program_op){ .kind = OP_OPTIMIZER }, &costs), &costs.optimizer);
    assert_null(program_work(&(program_op){ .kind = OP_COLLECTIVE }, &costs));
    assert_string_equal(op_stream_words[STREAM_COMPUTE], "compute");
    assert_string_equal(op_stream_words[STREAM_DP], "dp");
    assert_null(op_stream_words[STREAMS]);
}

int main(void)
{
    struct CMUnitTest tests[ARRAY_COUNT(cases) + 1];
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++)
        tests[i] = (struct CMUnitTest){ cases[i].name, program_matches, NULL, NULL, (void *)&cases[i] };
    tests[ARRAY_COUNT(cases)] = (struct CMUnitTest)cmocka_unit_test(work_belongs_to_operations);
    return cmocka_run_group_tests_name("program", tests, NULL, NULL);
}
