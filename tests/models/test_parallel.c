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
// Tensor innermost, then data, then pipeline, unless the order says otherwise.
static const struct place_case cases[] = {
    { "the first rank", { 3, 5, 7, { 0 } }, 0, { 0, 0, 0 } },
    { "tensor is innermost", { 3, 5, 7, { 0 } }, 2, { 2, 0, 0 } },
    { "then data", { 3, 5, 7, { 0 } }, 14, { 2, 4, 0 } },
    { "then pipeline", { 3, 5, 7, { 0 } }, 71, { 2, 3, 4 } }, // 71 = (4 x 5 + 3) x 3 + 2
    { "the last rank", { 3, 5, 7, { 0 } }, 104, { 2, 4, 6 } },
    { "data alone", { 1, 8, 1, { 0 } }, 5, { 0, 5, 0 } },
    // 71 = (2 x 7 + 3) x 4 + 3 with data 4, pipeline 7, tensor 3
    { "data innermost, then pipeline",
      { 3, 4, 7, { AXIS_DATA, AXIS_PIPELINE, AXIS_TENSOR } },
      71,
      { 2, 3, 3 } },
    // 71 = (3 x 3 + 1) x 7 + 1 with pipeline 7, tensor 3, data 4
    { "pipeline innermost, then tensor",
      { 3, 4, 7, { AXIS_PIPELINE, AXIS_TENSOR, AXIS_DATA } },
      71,
      { 1, 3, 1 } },
    { "the usual order, written out",
      { 3, 5, 7, { AXIS_TENSOR, AXIS_DATA, AXIS_PIPELINE } },
      71,
      { 2, 3, 4 } },
    { "a million", { 8, 125000, 1, { 0 } }, 999999, { 7, 124999, 0 } },
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

// Each order read from its text: the innermost axis is the one on which rank 1 differs from rank 0.
static void every_rank_has_its_own_place(void **state)
{
    (void)state;
    static const char *const orders[] = { "tp-dp-pp", "tp-pp-dp", "dp-tp-pp",
                                          "dp-pp-tp", "pp-tp-dp", "pp-dp-tp" };
    static const parallel_place seconds[] = { { 1, 0, 0 }, { 1, 0, 0 }, { 0, 1, 0 },
                                              { 0, 1, 0 }, { 0, 0, 1 }, { 0, 0, 1 } };
    for (size_t o = 0; o < ARRAY_COUNT(orders); o++) {
        parallel_sizes sizes = { 2, 3, 5, { 0 } };
        assert_true(parallel_order_read(orders[o], sizes.order));
        assert_int_equal(parallel_ranks(sizes), 30);
        assert_int_equal(parallel_rank_at(sizes, seconds[o]), 1);
        for (rank_id r = 0; r < 30; r++)
            assert_int_equal(parallel_rank_at(sizes, parallel_place_of(sizes, r)), r);
    }
}

static void other_orders_are_not_read(void **state)
{
    (void)state;
    static const char *const texts[] = { "",         "tp",       "tp-dp",    "tp-dp-dp",  "tp-dp-pp-",
                                         "tp_dp-pp", "tp-dp-cp", "TP-DP-PP", "tp-dp-pp ", "tpddp-pp" };
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++) {
        uint8_t order[PARALLEL_AXES] = { 7, 7, 7 };
        assert_false(parallel_order_read(texts[i], order));
        assert_int_equal(order[0], 7);
    }
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
    static const struct CMUnitTest others[] = {
        cmocka_unit_test(every_rank_has_its_own_place),
        cmocka_unit_test(other_orders_are_not_read),
        cmocka_unit_test(divisors_are_near),
    };
    struct CMUnitTest tests[ARRAY_COUNT(cases) + ARRAY_COUNT(others)];
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++)
        tests[i] = (struct CMUnitTest){ cases[i].name, place_matches, NULL, NULL, (void *)&cases[i] };
    memcpy(tests + ARRAY_COUNT(cases), others, sizeof others);
    return cmocka_run_group_tests_name("parallel", tests, NULL, NULL);
}
