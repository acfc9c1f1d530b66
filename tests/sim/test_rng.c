// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "sim/array.h"
#include "sim/rng.h"
#include <gsl/gsl_randist.h>

// The known answers that the authors publish with their reference code (Random123, kat_vectors, philox4x32 10).
static const struct vector {
    const char *name;
    uint32_t counter[4], key[2], want[4];
} vectors[] = {
    { "zeros", { 0, 0, 0, 0 }, { 0, 0 }, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
    { "ones",
      { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff },
      { 0xffffffff, 0xffffffff },
      { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
    { "digits of pi",
      { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 },
      { 0xa4093822, 0x299f31d0 },
      { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
};

static void philox_gives_the_known_answers(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(vectors); i++) {
        uint32_t got[4];
        rng_philox4x32(vectors[i].counter, vectors[i].key, got);
        for (size_t w = 0; w < 4; w++)
            assert_int_equal(got[w], vectors[i].want[w]);
    }
}

static void same_name_same_draws(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    rng *first = rng_create(a, 7, "failure", 3, 1);
    (void)rng_u64(rng_create(a, 7, "checkpoint", 3, 1)); // a new component shifts nothing
    rng *again = rng_create(a, 7, "failure", 3, 1);
    for (int i = 0; i < 1000; i++)
        assert_true(rng_u64(first) == rng_u64(again));
    arena_destroy(a);
}

// The draws of a stream are part of every committed result: they must not change by accident. Worked out by a separate
// program from the description in rng.c.
static void the_derivation_is_fixed(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    rng *r = rng_create(a, UINT64_C(0x123456789abcdef0), "failure", 3, 1);
    assert_true(rng_u64(r) == UINT64_C(0x462afcf6ae3cc0fc));
    assert_true(rng_u64(r) == UINT64_C(0x9a80a68014289bb7));
    assert_true(rng_u64(r) == UINT64_C(0x78977384d5330fe8));
    arena_destroy(a);
}

// Streams that differ in one bit of one part share no draw and are uncorrelated.
static void streams_are_independent(void **state)
{
    (void)state;
    static const struct {
        uint64_t seed;
        const char *name;
        uint64_t index, replication;
    } others[] = {
        { 8, "failure", 3, 1 },
        { 7 | UINT64_C(1) << 63, "failure", 3, 1 },
        { 7, "failurf", 3, 1 },
        { 7, "failure", 2, 1 },
        { 7, "failure", 3 | UINT64_C(1) << 63, 1 },
        { 7, "failure", 3, 0 },
        { 7, "failure", 3, 1 | UINT64_C(1) << 63 },
        { 7, "failure", 1, 3 },
        { 3, "failure", 7, 1 },
        { 7, "", 3, 1 },
    };
    enum { DRAWS = 4000 };
    for (size_t i = 0; i < ARRAY_COUNT(others); i++) {
        arena *a = arena_create("test");
        rng *x = rng_create(a, 7, "failure", 3, 1);
        rng *y = rng_create(a, others[i].seed, others[i].name, others[i].index, others[i].replication);
        double product = 0.0;
        for (int d = 0; d < DRAWS; d++) {
            uint64_t from_x = rng_u64(x), from_y = rng_u64(y);
            assert_true(from_x != from_y);
            product += ((double)from_x * 0x1p-64 - 0.5) * ((double)from_y * 0x1p-64 - 0.5);
        }
        // each product has variance 1/144: five standard errors of the mean
        assert_true(fabs(product / DRAWS) < 5.0 / 12.0 / sqrt(DRAWS));
        arena_destroy(a);
    }
}

static void uniform_fills_the_unit_interval(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    rng *r = rng_create(a, 11, "uniform", 0, 0);
    enum { DRAWS = 20000, BINS = 16 };
    uint32_t bins[BINS] = { 0 };
    double sum = 0.0;
    for (int i = 0; i < DRAWS; i++) {
        double u = rng_uniform(r);
        assert_true(u >= 0.0 && u < 1.0);
        sum += u;
        bins[(int)(u * BINS)]++;
    }
    assert_true(fabs(sum / DRAWS - 0.5) < 5.0 / sqrt(12.0 * DRAWS));
    double chi2 = 0.0, expected = (double)DRAWS / BINS;
    for (int i = 0; i < BINS; i++)
        chi2 += (bins[i] - expected) * (bins[i] - expected) / expected;
    assert_true(chi2 < 44.3); // 15 degrees of freedom: exceeded with a chance of 1e-4
    arena_destroy(a);
}

static void below_reaches_all_values_evenly(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    rng *r = rng_create(a, 13, "below", 0, 0);
    uint32_t seen[7] = { 0 };
    for (int i = 0; i < 14000; i++)
        seen[rng_below(r, 7)]++;
    for (int i = 0; i < 7; i++)
        assert_true(fabs(seen[i] - 2000.0) < 5.0 * sqrt(14000.0 * 6.0 / 49.0));
    assert_int_equal(rng_below(r, 1), 0);
    // a bound just above 2^63 makes nearly half of all first draws unfair
    uint64_t bound = (UINT64_C(1) << 63) + 1;
    uint32_t upper_half = 0;
    for (int i = 0; i < 4000; i++) {
        uint64_t value = rng_below(r, bound);
        assert_true(value < bound);
        upper_half += value >= bound / 2;
    }
    assert_true(fabs(upper_half - 2000.0) < 5.0 * sqrt(1000.0));
    arena_destroy(a);
}

static void gsl_draws_from_the_same_stream(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    rng *mixed = rng_create(a, 17, "x", 0, 0), *plain = rng_create(a, 17, "x", 0, 0);
    gsl_rng *view = rng_gsl(mixed);
    assert_string_equal(gsl_rng_name(view), "philox4x32-10");
    for (int i = 0; i < 100; i++) {
        uint64_t low = gsl_rng_get(view), high = gsl_rng_get(view);
        assert_true((high << 32 | low) == rng_u64(plain));
        assert_true(gsl_rng_uniform(view) == rng_uniform(plain));
        assert_true(rng_u64(mixed) == rng_u64(plain));
    }
    // a seed given through GSL starts over
    gsl_rng_set(view, 5);
    uint64_t first = rng_u64(mixed);
    (void)rng_u64(mixed);
    gsl_rng_set(view, 5);
    assert_true(rng_u64(mixed) == first);
    arena_destroy(a);
}

static void exponential_has_its_mean(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    gsl_rng *view = rng_gsl(rng_create(a, 19, "failure", 0, 0));
    enum { DRAWS = 20000 };
    double sum = 0.0, mean = 13.37;
    for (int i = 0; i < DRAWS; i++) {
        double value = gsl_ran_exponential(view, mean);
        assert_true(value >= 0.0);
        sum += value;
    }
    assert_true(fabs(sum / DRAWS - mean) < 4.0 * mean / sqrt(DRAWS));
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_gives_the_known_answers),  cmocka_unit_test(same_name_same_draws),
        cmocka_unit_test(the_derivation_is_fixed),         cmocka_unit_test(streams_are_independent),
        cmocka_unit_test(uniform_fills_the_unit_interval), cmocka_unit_test(below_reaches_all_values_evenly),
        cmocka_unit_test(gsl_draws_from_the_same_stream),  cmocka_unit_test(exponential_has_its_mean),
    };
    return cmocka_run_group_tests_name("rng", tests, NULL, NULL);
}
