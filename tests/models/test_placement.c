// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "models/training/placement.h"
#include "tests/support/text.h"

enum { RANKS_MAX = 12 };

// Three nodes of four GPUs; node 1 has none for the job, so that the GPUs 4 to 7 are those of node 2.
static const node_id nodes[] = { 0, 2, 3 };

static placement_def def_of(placement_kind kind, uint32_t ranks, const placement_row_array *rows)
{
    return (placement_def){
        .kind = kind, .ranks = ranks, .gpus_per_node = 4, .nodes = nodes, .node_count = 3, .rows = rows
    };
}

// ---- which GPU

struct placed_case {
    const char *name;
    placement_kind kind;
    uint32_t ranks;
    placement_row rows[RANKS_MAX];
    gpu_id want[RANKS_MAX];
};
static const struct placed_case placed[] = {
    { "packed", PLACEMENT_PACKED, 6, { { 0, 0, 0 } }, { 0, 1, 2, 3, 4, 5 } },
    // rank r on node r mod 2, GPU r div 2
    { "round-robin over two nodes", PLACEMENT_ROUND_ROBIN, 8, { { 0, 0, 0 } }, { 0, 4, 1, 5, 2, 6, 3, 7 } },
    { "round-robin, the last node in part",
      PLACEMENT_ROUND_ROBIN,
      9,
      { { 0, 0, 0 } },
      { 0, 4, 8, 1, 5, 9, 2, 6, 10 } },
    { "round-robin on one node", PLACEMENT_ROUND_ROBIN, 3, { { 0, 0, 0 } }, { 0, 1, 2 } },
    { "a list, in any order",
      PLACEMENT_LIST,
      3,
      { { 2, 0, 3 }, { 0, 3, 1 }, { 1, 2, 0 } },
      { 9, 4, 3 } }, // node 3 is the third: 8 + 1
};

static void gpus_match(void **state)
{
    const struct placed_case *c = *state;
    arena *a = arena_create("test");
    sim_error error = { 0 };
    placement_row_array rows = { 0 };
    if (c->kind == PLACEMENT_LIST)
        for (uint32_t i = 0; i < c->ranks; i++)
            *array_push(&rows, a) = c->rows[i];
    const placement_def d = def_of(c->kind, c->ranks, &rows);
    assert_true(placement_check(&d, a, NULL, &error));
    const gpu_id *gpus = placement_build(a, &d);
    for (rank_id r = 0; r < c->ranks; r++)
        assert_int_equal(gpus[r], c->want[r]);
    arena_destroy(a);
}

// ---- lists that are refused; at which row stands in test_scenario.c

struct refusal_case {
    const char *name;
    uint32_t ranks, count;
    placement_row rows[RANKS_MAX];
    const char *want;
};
static const struct refusal_case refusals[] = {
    { "a rank that is not there",
      2,
      2,
      { { 0, 0, 0 }, { 2, 0, 1 } },
      "windtunnel: error: rank 2 is not there: the job has ranks 0 to 1\n"
      "  hint: the nearest is rank 1\n" },
    { "a rank twice",
      3,
      3,
      { { 0, 0, 0 }, { 2, 2, 1 }, { 2, 0, 2 } },
      "windtunnel: error: rank 2 is on GPU 1 of node 2 already\n"
      "  hint: no row has rank 1\n" },
    { "a rank twice, and one that comes later",
      4,
      4,
      { { 0, 0, 0 }, { 0, 2, 1 }, { 1, 0, 2 }, { 3, 0, 3 } },
      "windtunnel: error: rank 0 is on GPU 0 of node 0 already\n"
      "  hint: no row has rank 2\n" },
    { "a rank twice, and none too few",
      2,
      3,
      { { 0, 0, 0 }, { 1, 0, 1 }, { 0, 0, 2 } },
      "windtunnel: error: rank 0 is on GPU 0 of node 0 already\n"
      "  hint: leave one of the two rows out\n" },
    { "a node without GPUs",
      1,
      1,
      { { 0, 1, 0 } },
      "windtunnel: error: the job has no GPUs on node 1\n"
      "  hint: the nearest that has is node 2\n" },
    { "a node beyond the last",
      1,
      1,
      { { 0, 4294967295, 0 } },
      "windtunnel: error: the job has no GPUs on node 4294967295\n"
      "  hint: the nearest that has is node 3\n" },
    { "a GPU beyond the node's last",
      1,
      1,
      { { 0, 2, 4 } },
      "windtunnel: error: GPU 4 is not there: node 2 has GPUs 0 to 3\n"
      "  hint: the nearest is GPU 3\n" },
    { "two ranks on one GPU: the nearest free one, the lesser at ties",
      3,
      3,
      { { 0, 2, 1 }, { 1, 2, 0 }, { 2, 2, 1 } }, // GPUs 5, 4, 5: 6 is free beside it, 4 is not
      "windtunnel: error: ranks 0 and 2 are both on GPU 1 of node 2\n"
      "  hint: GPU 2 of node 2 is free\n" },
    { "two ranks on one GPU, free ones on both sides",
      2,
      2,
      { { 0, 2, 0 }, { 1, 2, 0 } }, // GPU 4: 3 and 5
      "windtunnel: error: ranks 0 and 1 are both on GPU 0 of node 2\n"
      "  hint: GPU 3 of node 0 is free\n" },
    { "a gap",
      3,
      2,
      { { 0, 0, 1 }, { 2, 0, 0 } }, // GPU 1 is taken, 0 too
      "windtunnel: error: no row has rank 1, and the job has ranks 0 to 2\n"
      "  hint: GPU 2 of node 0 is free\n" },
};

static void refusal_matches(void **state)
{
    const struct refusal_case *c = *state;
    arena *a = arena_create("test");
    sim_error error = { 0 };
    placement_row_array rows = { 0 };
    for (uint32_t i = 0; i < c->count; i++)
        *array_push(&rows, a) = c->rows[i];
    const placement_def d = def_of(PLACEMENT_LIST, c->ranks, &rows);
    assert_false(placement_check(&d, a, NULL, &error));
    assert_int_equal(error.exit_code, SIM_EXIT_INPUT);
    assert_error_prints(&error, c->want);
    arena_destroy(a);
}

// ---- tensor-parallel groups

struct split_case {
    const char *name;
    placement_kind kind;
    parallel_sizes sizes;
    uint32_t gpus_together;
    bool keeps;
    placement_split want;
};
static const struct split_case splits[] = {
    { "a node each", PLACEMENT_PACKED, { 4, 3, 1, { 0 } }, 4, true, { 0, 0, 0 } },
    { "two groups per node", PLACEMENT_PACKED, { 2, 3, 2, { 0 } }, 4, true, { 0, 0, 0 } },
    // groups of ranks 0 to 2 and 3 to 5: the second has GPU 3 of node 0 and 4 of the next
    { "the second is torn", PLACEMENT_PACKED, { 3, 2, 2, { 0 } }, 4, false, { 3, 3, 4 } },
    { "nodes that share their switches", PLACEMENT_PACKED, { 8, 1, 1, { 0 } }, 8, true, { 0, 0, 0 } },
    { "wider than a node", PLACEMENT_PACKED, { 8, 1, 1, { 0 } }, 4, false, { 0, 0, 4 } },
    { "round-robin tears neighbours", PLACEMENT_ROUND_ROBIN, { 2, 4, 1, { 0 } }, 4, false, { 0, 0, 4 } },
    // on two nodes the even ranks are on the first: tensor is the outer axis, its neighbours 4 ranks apart
    { "round-robin, tensor outside",
      PLACEMENT_ROUND_ROBIN,
      { 2, 4, 1, { AXIS_DATA, AXIS_TENSOR, AXIS_PIPELINE } },
      4,
      true,
      { 0, 0, 0 } },
    // neighbours 2 ranks apart: ranks 2 and 4 are GPUs 2 and 4
    { "packed, tensor outside",
      PLACEMENT_PACKED,
      { 3, 2, 1, { AXIS_DATA, AXIS_TENSOR, AXIS_PIPELINE } },
      4,
      false,
      { 0, 0, 4 } },
    { "groups of one", PLACEMENT_ROUND_ROBIN, { 1, 12, 1, { 0 } }, 4, true, { 0, 0, 0 } },
};

static void split_matches(void **state)
{
    const struct split_case *c = *state;
    arena *a = arena_create("test");
    const placement_def d = def_of(c->kind, parallel_ranks(c->sizes), NULL);
    placement_split split = { 0 };
    assert_int_equal(
        placement_keeps_tensor_groups(placement_build(a, &d), c->sizes, c->gpus_together, &split), c->keeps);
    assert_int_equal(split.rank, c->want.rank);
    assert_int_equal(split.gpu, c->want.gpu);
    assert_int_equal(split.other_gpu, c->want.other_gpu);
    arena_destroy(a);
}

int main(void)
{
    struct CMUnitTest tests[ARRAY_COUNT(placed) + ARRAY_COUNT(refusals) + ARRAY_COUNT(splits)];
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_COUNT(placed); i++)
        tests[n++] = (struct CMUnitTest){ placed[i].name, gpus_match, NULL, NULL, (void *)&placed[i] };
    for (size_t i = 0; i < ARRAY_COUNT(refusals); i++)
        tests[n++] = (struct CMUnitTest){ refusals[i].name, refusal_matches, NULL, NULL,
                                          (void *)&refusals[i] };
    for (size_t i = 0; i < ARRAY_COUNT(splits); i++)
        tests[n++] = (struct CMUnitTest){ splits[i].name, split_matches, NULL, NULL, (void *)&splits[i] };
    return cmocka_run_group_tests_name("placement", tests, NULL, NULL);
}
