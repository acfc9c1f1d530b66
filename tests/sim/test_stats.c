// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "sim/array.h"
#include "sim/stats.h"

// 1.37, -2.91, 4.83, 0.59, 7.77: mean 11.65 / 5 = 2.33; squared deviations 0.9216 + 27.4576 + 6.25 + 3.0276 + 29.5936
// = 67.2504; variance 67.2504 / 4 = 16.8126.
static void running_moments(void **state)
{
    (void)state;
    static const double values[] = { 1.37, -2.91, 4.83, 0.59, 7.77 };
    stats_running r = { 0 };
    assert_true(isnan(stats_variance(&r)));
    assert_true(isnan(stats_half_width(&r, 0.95)));
    stats_add(&r, values[0]);
    assert_near(r.mean, 1.37, 0.0);
    assert_true(isnan(stats_variance(&r)));
    assert_true(isnan(stats_half_width(&r, 0.95)));
    for (size_t i = 1; i < ARRAY_COUNT(values); i++)
        stats_add(&r, values[i]);
    assert_int_equal(r.count, 5);
    assert_near(r.mean, 2.33, 1e-12);
    assert_near(stats_variance(&r), 16.8126, 1e-12);
    assert_true(r.least == -2.91 && r.greatest == 7.77);
    // 4 degrees of freedom: t = 2.776445105 (95 %) and 4.604094871 (99 %), from printed tables; times sqrt(16.8126 / 5)
    assert_near(stats_half_width(&r, 0.95), 2.776445105 * 1.833717535, 2e-9);
    assert_near(stats_half_width(&r, 0.99), 4.604094871 * 1.833717535, 2e-9);
}

// A large offset leaves the variance as it is: 1e9 + {4, 7, 13, 16} has variance 30 (Welford's point).
static void variance_survives_an_offset(void **state)
{
    (void)state;
    static const double values[] = { 4, 7, 13, 16 };
    stats_running r = { 0 };
    for (size_t i = 0; i < ARRAY_COUNT(values); i++)
        stats_add(&r, 1e9 + values[i]);
    assert_near(stats_variance(&r), 30.0, 1e-12);
    assert_near(r.mean, 1e9 + 10.0, 1e-15);
}

// 3.5 for 17 ticks, 1.25 for 40, 9 for none, 0 for 13, 2 for 30 more: 59.5 + 50 + 0 + 0 + 60 = 169.5 over 100 ticks.
static void level_is_weighted_by_time(void **state)
{
    (void)state;
    stats_level l;
    stats_level_start(&l, 1000, 3.5);
    assert_true(isnan(stats_level_mean(&l, 1000)));
    assert_near(stats_level_mean(&l, 1001), 3.5, 0.0);
    stats_level_set(&l, 1017, 1.25);
    stats_level_set(&l, 1057, 9.0);
    stats_level_set(&l, 1057, 0.0);
    stats_level_set(&l, 1070, 2.0);
    assert_near(stats_level_mean(&l, 1100), 1.695, 1e-15);
    assert_near(stats_level_mean(&l, 1100), 1.695, 1e-15); // asking changes nothing
    assert_true(l.greatest == 9.0);
}

// A tenth is not exact in binary: a plain sum of 1e6 terms of 0.1 is off by 1.3e-11 of it, a compensated one by an ulp.
static void level_is_compensated(void **state)
{
    (void)state;
    stats_level l;
    stats_level_start(&l, 0, 0.1);
    for (sim_time now = 1; now <= 1000000; now++)
        stats_level_set(&l, now, 0.1);
    assert_near(stats_level_mean(&l, 1000000), 0.1, 3e-16);
}

// Sorted: -1.5 0.25 2 3.75 8 11. (n - 1) f = 5 f: f = 0.3 is 1.5, half-way from 0.25 to 2; f = 0.93 is 4.65.
static void quantiles_are_of_type_seven(void **state)
{
    (void)state;
    static const struct {
        double fraction, want;
    } cases[] = { { 0.0, -1.5 }, { 0.3, 1.125 }, { 0.5, 2.875 }, { 0.93, 9.95 }, { 1.0, 11.0 } };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        double values[] = { 8, 0.25, 11, -1.5, 3.75, 2 };
        assert_near(stats_quantile(values, 6, cases[i].fraction), cases[i].want, 1e-14);
        assert_true(values[0] == -1.5 && values[5] == 11.0);
    }
    double one[] = { 4.2 };
    assert_near(stats_quantile(one, 1, 0.77), 4.2, 0.0);
    assert_true(isnan(stats_quantile(one, 0, 0.5)));
    double zeros[] = { 0.0, -0.0, 0.0 };
    assert_false(signbit(stats_quantile(zeros, 3, 0.5)));
}

// From 1 to 1000 in three bins: edges 1, 10, 100, 1000.
static void histogram_counts_between_its_edges(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    stats_histogram *h = stats_histogram_create(a, 1.0, 1000.0, 3);
    static const double values[] = { 0.0,  -5.0, 0.999, 1.0,   9.99,   10.01,
                                     55.0, 99.9, 100.1, 999.0, 1000.0, INFINITY };
    for (size_t i = 0; i < ARRAY_COUNT(values); i++)
        stats_histogram_add(h, values[i]);
    double from, to;
    assert_int_equal(stats_histogram_below(h), 3);
    assert_int_equal(stats_histogram_count(h, 0, &from, &to), 2);
    assert_true(from == 1.0);
    assert_near(to, 10.0, 1e-14);
    assert_int_equal(stats_histogram_count(h, 1, &from, &to), 3);
    assert_near(from, 10.0, 1e-14);
    assert_near(to, 100.0, 1e-14);
    assert_int_equal(stats_histogram_count(h, 2, &from, &to), 2);
    assert_true(to == 1000.0);
    assert_int_equal(stats_histogram_above(h), 2);
    arena_destroy(a);
}

// Each edge, as reported, falls into the bin it opens, and the number just below it into the one before.
static void histogram_edges_belong_above(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    enum { BINS = 37 };
    stats_histogram *h = stats_histogram_create(a, 3.1e-6, 7.7e3, BINS);
    double from, to, before = 3.1e-6;
    for (uint32_t i = 0; i < BINS; i++) {
        assert_int_equal(stats_histogram_count(h, i, &from, &to), 0);
        assert_true(from == before && from < to);
        before = to;
        stats_histogram_add(h, from);
        stats_histogram_add(h, nextafter(to, 0.0));
        assert_int_equal(stats_histogram_count(h, i, &from, &to), 2);
    }
    assert_int_equal(stats_histogram_below(h) + stats_histogram_above(h), 0);
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(running_moments),
        cmocka_unit_test(variance_survives_an_offset),
        cmocka_unit_test(level_is_weighted_by_time),
        cmocka_unit_test(level_is_compensated),
        cmocka_unit_test(quantiles_are_of_type_seven),
        cmocka_unit_test(histogram_counts_between_its_edges),
        cmocka_unit_test(histogram_edges_belong_above),
    };
    return cmocka_run_group_tests_name("stats", tests, NULL, NULL);
}
