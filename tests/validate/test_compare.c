// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "validate/compare.h"

// Pairs of (1, 2, 3, 4) and (1, 3, 2, 4): five in the same order, one in the other: (5 - 1) / 6.
static void tau_counts_pairs(void **state)
{
    (void)state;
    const double left[] = { 1, 2, 3, 4 }, right[] = { 1, 3, 2, 4 }, back[] = { 9, 7, 5, 3 };
    assert_near(compare_tau(left, right, 4), 4.0 / 6.0, 1e-15);
    assert_near(compare_tau(left, left, 4), 1.0, 1e-15);
    assert_near(compare_tau(left, back, 4), -1.0, 1e-15);
}

// (1, 1, 2) and (1, 2, 3): two pairs agree, one is equal on the left: 2 / sqrt((3 - 1) 3).
static void tau_takes_ties_out(void **state)
{
    (void)state;
    const double left[] = { 1, 1, 2 }, right[] = { 1, 2, 3 }, same[] = { 5, 5, 5 };
    assert_near(compare_tau(left, right, 3), 2.0 / sqrt(6.0), 1e-15);
    assert_true(isnan(compare_tau(left, same, 3)));
    assert_true(isnan(compare_tau(left, right, 1)));
}

static const compared_row rows[] = {
    { .id = "a1", .source = "a", .measured = 2.0, .simulated = 2.2, .constant = 3.0 }, // +0.1, constant +0.5
    { .id = "b1", .source = "b", .measured = 1.0, .unknown_reason = "why" },
    { .id = "a2", .source = "a", .measured = 4.0, .simulated = 2.0, .constant = (double)NAN }, // -0.5
    { .id = "a3", .source = "a", .measured = 5.0, .simulated = 5.0, .constant = 4.0 }, // 0, constant -0.2
};

static compared_row_array all_rows(arena *a)
{
    compared_row_array out = { 0 };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
        *array_push(&out, a) = rows[i];
    return out;
}

static void sources_are_summed_up(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    const compared_row_array all = all_rows(a);
    const compared_source_array sources = compare_sources(a, &all);
    assert_int_equal(sources.count, 2);
    const compared_source *s = &sources.items[0];
    assert_string_equal(s->source, "a");
    assert_int_equal(s->n, 3);
    assert_int_equal(s->unknown, 0);
    assert_near(s->mape, 0.2, 1e-12);
    assert_near(s->median, 0.1, 1e-12);
    assert_near(s->worst, -0.5, 1e-12);
    assert_near(s->constant_mape, 0.35, 1e-12);
    assert_near(s->tau, 1.0 / 3.0, 1e-12); // measured 2 4 5, simulated 2.2 2 5: two pairs agree, one does not
    assert_int_equal(sources.items[1].n, 0);
    assert_int_equal(sources.items[1].unknown, 1);
    assert_true(isnan(sources.items[1].mape) && isnan(sources.items[1].median) &&
                isnan(sources.items[1].worst));
    arena_destroy(a);
}

static void misses_come_first(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    const compared_row_array all = all_rows(a);
    const uint32_t *order = compare_order(a, &all), want[] = { 2, 0, 3, 1 };
    for (size_t i = 0; i < ARRAY_COUNT(want); i++)
        assert_int_equal(order[i], want[i]);
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tau_counts_pairs),
        cmocka_unit_test(tau_takes_ties_out),
        cmocka_unit_test(sources_are_summed_up),
        cmocka_unit_test(misses_come_first),
    };
    return cmocka_run_group_tests_name("compare", tests, NULL, NULL);
}
