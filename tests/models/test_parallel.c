// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "models/training/parallel.h"
#include "sim/array.h"

struct place_case {
    const char *name;
    parallel_sizes sizes;
    rank_id rank;
    parallel_place want;
};
// Tensor innermost, then data, then pipeline.
static const struct place_case cases[] = {
    { "the first rank", { 3, 5, 7 }, 0, { 0, 0, 0 } },
    { "tensor is innermost", { 3, 5, 7 }, 2, { 2, 0, 0 } },
    { "then data", { 3, 5, 7 }, 14, { 2, 4, 0 } },
    { "then pipeline", { 3, 5, 7 }, 71, { 2, 3, 4 } }, // 71 = (4 x 5 + 3) x 3 + 2
    { "the last rank", { 3, 5, 7 }, 104, { 2, 4, 6 } },
    { "data alone", { 1, 8, 1 }, 5, { 0, 5, 0 } },
    { "a million", { 8, 125000, 1 }, 999999, { 7, 124999, 0 } },
};

static void place_matches(void **state)
{
    const struct place_case *c = *state;
    const parallel_place got = parallel_place_of(c->sizes, c->rank);
    assert_int_equal(got.tensor, c->want.tensor);
    assert_int_equal(got.data, c->want.data);
    assert_int_equal(got.pipeline, c->want.pipeline);
    assert_int_equal(parallel_rank_at(c->sizes, c->want), c->rank);
}

static void every_rank_has_its_own_place(void **state)
{
    (void)state;
    const parallel_sizes sizes = { 2, 3, 5 };
    assert_int_equal(parallel_ranks(sizes), 30);
    for (rank_id r = 0; r < 30; r++)
        assert_int_equal(parallel_rank_at(sizes, parallel_place_of(sizes, r)), r);
}

static void divisors_are_near(void **state)
{
    (void)state;
    assert_int_equal(parallel_nearest_divisor(32, 5), 4);
    assert_int_equal(parallel_nearest_divisor(32, 7), 8);
    assert_int_equal(parallel_nearest_divisor(32, 6), 4); // 8 is as near
    assert_int_equal(parallel_nearest_divisor(32, 33), 32);
    assert_int_equal(parallel_nearest_divisor(31, 17), 31);
}

int main(void)
{
    struct CMUnitTest tests[ARRAY_COUNT(cases) + 2];
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++)
        tests[i] = (struct CMUnitTest){ cases[i].name, place_matches, NULL, NULL, (void *)&cases[i] };
    tests[ARRAY_COUNT(cases)] = (struct CMUnitTest)cmocka_unit_test(every_rank_has_its_own_place);
    tests[ARRAY_COUNT(cases) + 1] = (struct CMUnitTest)cmocka_unit_test(divisors_are_near);
    return cmocka_run_group_tests_name("parallel", tests, NULL, NULL);
}
