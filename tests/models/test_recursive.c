// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/plans.h"

static void check_rows(collective_kind kind, uint64_t bytes, const plans_row *want, size_t count)
{
    arena *a = arena_create("test");
    const ring_set g = plans_group(a, (const uint32_t[]){ 3 }, 1, 1, 0);
    plan p, streams;
    const plan_request r = { .kind = kind, .algorithm = ALGORITHM_RECURSIVE, .rings = &g, .bytes = bytes };
    plans_check(a, &r, &p, &streams);
    plans_compare(&p, want, count);
    arena_destroy(a);
}

// Rank 2 is beyond the power 2: it gives all to rank 0 and gets the sum from it.
static void three_ranks_sum_by_hand(void **state)
{
    (void)state;
    static const plans_row want[] = {
        { 2, 0, 0, 0, true, 5, -1, -1, 0 }, { 2, 0, 0, 1, true, 4, -1, -1, 0 },
        { 0, 1, 1, 1, true, 4, 1, -1, 0 },  { 1, 0, 1, 0, true, 5, -1, -1, 0 },
        { 0, 1, 2, 0, false, 5, 0, 3, 0 },  { 1, 0, 2, 1, false, 4, 2, -1, 0 },
        { 0, 2, 3, 0, false, 5, 0, 3, 0 },  { 0, 2, 3, 1, false, 4, 5, -1, 0 },
    };
    check_rows(COLLECTIVE_ALL_REDUCE, 9, want, ARRAY_COUNT(want));
}

// Rank 2 keeps its own part of its share (3 bytes); rank 0 adds up the others' for it.
static void three_ranks_scatter_by_hand(void **state)
{
    (void)state;
    static const plans_row want[] = {
        { 2, 0, 0, 0, true, 4, -1, -1, 0 }, { 2, 0, 0, 1, true, 3, -1, -1, 0 },
        { 0, 1, 1, 1, true, 3, 1, -1, 0 },  { 1, 0, 1, 0, true, 4, -1, -1, 0 },
        { 1, 0, 1, 2, true, 3, -1, -1, 0 }, { 0, 2, 2, 2, true, 3, 4, -1, 0 },
    };
    check_rows(COLLECTIVE_REDUCE_SCATTER, 10, want, ARRAY_COUNT(want));
}

static void three_ranks_gather_by_hand(void **state)
{
    (void)state;
    static const plans_row want[] = {
        { 2, 0, 0, 2, false, 3, -1, -1, 0 }, { 0, 1, 1, 0, false, 4, -1, -1, 0 },
        { 0, 1, 1, 2, false, 3, 0, -1, 0 },  { 1, 0, 1, 1, false, 3, -1, -1, 0 },
        { 0, 2, 2, 0, false, 4, -1, -1, 0 }, { 0, 2, 2, 1, false, 3, 3, -1, 0 },
    };
    check_rows(COLLECTIVE_ALL_GATHER, 10, want, ARRAY_COUNT(want));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(three_ranks_sum_by_hand),
                                        cmocka_unit_test(three_ranks_scatter_by_hand),
                                        cmocka_unit_test(three_ranks_gather_by_hand) };
    return cmocka_run_group_tests_name("recursive", tests, NULL, NULL);
}
