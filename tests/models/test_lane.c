// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "models/training/lane.h"
#include "sim/array.h"

enum { RANKS_MAX = 24 };

struct lane_case {
    const char *name;
    parallel_sizes sizes;
    bool folded;
    uint32_t count; // lanes
    uint32_t multiplicity;
    lane_id lane_of_rank[RANKS_MAX];
};
static const struct lane_case cases[] = {
    { "unfolded: a lane per rank", { 2, 2, 1, { 0 } }, false, 4, 1, { 0, 1, 2, 3 } },
    { "folded: a lane per tensor-parallel group",
      { 4, 2, 1, { 0 } },
      true,
      2,
      4,
      { 0, 0, 0, 0, 1, 1, 1, 1 } },
    { "data parallel alone folds nothing", { 1, 4, 1, { 0 } }, true, 4, 1, { 0, 1, 2, 3 } },
    { "three axes", { 2, 2, 2, { 0 } }, true, 4, 2, { 0, 0, 1, 1, 2, 2, 3, 3 } },
    { "groups whose ranks lie apart", // rank = (pipeline x 2 + tensor) x 2 + data
      { 2, 2, 2, { AXIS_DATA, AXIS_TENSOR, AXIS_PIPELINE } },
      true,
      4,
      2,
      { 0, 1, 0, 1, 2, 3, 2, 3 } },
    { "tensor outermost", // rank = tensor x 3 + data
      { 2, 3, 1, { AXIS_DATA, AXIS_PIPELINE, AXIS_TENSOR } },
      true,
      3,
      2,
      { 0, 1, 2, 0, 1, 2 } },
};

static void lanes_match(void **state)
{
    const struct lane_case *c = *state;
    arena *a = arena_create("test");
    double clock[RANKS_MAX], memory[RANKS_MAX];
    for (rank_id r = 0; r < RANKS_MAX; r++) { // the same in a lane
        clock[r] = 1.0 - 0.01 * c->lane_of_rank[r];
        memory[r] = 1.0 - 0.03 * c->lane_of_rank[r];
    }
    lane_table table;
    lanes_build(a, c->sizes, c->folded, (gpu_health){ .clock_ratio = clock, .memory_ratio = memory }, &table);
    assert_int_equal(table.count, c->count);
    for (rank_id r = 0; r < parallel_ranks(c->sizes); r++)
        assert_int_equal(table.lane_of_rank[r], c->lane_of_rank[r]);
    for (lane_id l = 0; l < table.count; l++) {
        const lane_def *lane = &table.lanes[l];
        const parallel_place place = parallel_place_of(c->sizes, lane->first_rank);
        assert_int_equal(lane->multiplicity, c->multiplicity);
        assert_memory_equal(&lane->place, &place, sizeof place);
        assert_near(lane->clock_ratio, 1.0 - 0.01 * l, 0);
        assert_near(lane->memory_ratio, 1.0 - 0.03 * l, 0);
        for (uint32_t i = 0; i < lane->multiplicity; i++) {
            const rank_id rank = lane_rank(&table, l, i);
            assert_int_equal(table.lane_of_rank[rank], l);
            assert_int_equal(parallel_place_of(c->sizes, rank).tensor,
                             c->multiplicity == 1 ? place.tensor : i);
        }
    }
    arena_destroy(a);
}

int main(void)
{
    struct CMUnitTest tests[ARRAY_COUNT(cases)];
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++)
        tests[i] = (struct CMUnitTest){ cases[i].name, lanes_match, NULL, NULL, (void *)&cases[i] };
    return cmocka_run_group_tests_name("lane", tests, NULL, NULL);
}
