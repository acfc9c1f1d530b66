// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "models/training/lane.h"
#include "sim/array.h"

enum { RANKS_MAX = 24 };

struct lane_case {
    const char *name;
    parallel_sizes sizes;
    bool fold_node;
    uint32_t gpus_per_node;
    rank_id slow;        // this rank's clock is 0.83; NO_ID: none
    rank_id slow_memory; // this rank's memory is 0.71
    uint32_t count;      // lanes
    uint32_t multiplicity[RANKS_MAX];
};
static const struct lane_case cases[] = {
    { "unfolded: a lane per rank",
      { 4, 2, 1, { 0 } },
      false,
      8,
      NO_ID,
      NO_ID,
      8,
      { 1, 1, 1, 1, 1, 1, 1, 1 } },
    { "folded: a lane per tensor-parallel group", { 4, 2, 1, { 0 } }, true, 8, NO_ID, NO_ID, 2, { 4, 4 } },
    { "data parallel alone folds nothing", { 1, 4, 1, { 0 } }, true, 4, NO_ID, NO_ID, 4, { 1, 1, 1, 1 } },
    { "a slow clock unfolds its group only", { 4, 2, 1, { 0 } }, true, 8, 6, NO_ID, 5, { 4, 1, 1, 1, 1 } },
    { "slow memory too", { 4, 2, 1, { 0 } }, true, 8, NO_ID, 0, 5, { 1, 1, 1, 1, 4 } },
    { "a group over two nodes stays unfolded",
      { 4, 3, 1, { 0 } },
      true,
      6,
      NO_ID,
      NO_ID,
      6,
      { 4, 1, 1, 1, 1, 4 } },
    { "groups whose ranks lie apart stay unfolded",
      { 2, 2, 1, { AXIS_DATA, AXIS_TENSOR, AXIS_PIPELINE } },
      true,
      8,
      NO_ID,
      NO_ID,
      4,
      { 1, 1, 1, 1 } },
    { "a group may end where its node ends", { 3, 2, 2, { 0 } }, true, 6, NO_ID, NO_ID, 4, { 3, 3, 3, 3 } },
};

static void lanes_match(void **state)
{
    const struct lane_case *c = *state;
    arena *a = arena_create("test");
    double clock[RANKS_MAX], memory[RANKS_MAX];
    for (rank_id r = 0; r < RANKS_MAX; r++) {
        clock[r] = r == c->slow ? 0.83 : 1.0;
        memory[r] = r == c->slow_memory ? 0.71 : 1.0;
    }
    lane_table table;
    lanes_build(a, c->sizes, c->fold_node, c->gpus_per_node,
                (gpu_health){ .clock_ratio = clock, .memory_ratio = memory }, &table);
    assert_int_equal(table.count, c->count);
    rank_id next = 0;
    for (lane_id l = 0; l < table.count; l++) {
        const lane_def *lane = &table.lanes[l];
        const parallel_place place = parallel_place_of(c->sizes, next);
        assert_int_equal(lane->first_rank, next);
        assert_int_equal(lane->multiplicity, c->multiplicity[l]);
        assert_memory_equal(&lane->place, &place, sizeof place);
        for (uint32_t i = 0; i < lane->multiplicity; i++, next++) {
            assert_int_equal(table.lane_of_rank[next], l);
            assert_near(lane->clock_ratio, clock[next], 0);
            assert_near(lane->memory_ratio, memory[next], 0);
        }
    }
    assert_int_equal(next, parallel_ranks(c->sizes));
    arena_destroy(a);
}

int main(void)
{
    struct CMUnitTest tests[ARRAY_COUNT(cases)];
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++)
        tests[i] = (struct CMUnitTest){ cases[i].name, lanes_match, NULL, NULL, (void *)&cases[i] };
    return cmocka_run_group_tests_name("lane", tests, NULL, NULL);
}
