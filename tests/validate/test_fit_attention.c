// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "validate/fit_attention.h"

// Rows of one program, causal, heads of 128, 24 sequences x heads.
static measured_kernel row_of(uint64_t length, kernel_pass pass, double time_s)
{
    return (measured_kernel){ .table = MEASURED_ATTENTION,
                              .batch = 24,
                              .m = length,
                              .n = length,
                              .k = 128,
                              .value_size = 128,
                              .pass = pass,
                              .time_s = time_s };
}

// Of a peak of 311e12 FLOP/s on 97 multiprocessors: FLOP = f 24 l^2 128 / 2, f 4 forward and 10 backward; blocks
// b = 24 l / 128 / 97, of which (2048 / l)^(1/2) are lost.
static double share(double l, double factor, double time_s)
{
    const double blocks = 24.0 * l / 128.0 / 97.0;
    return factor * 24.0 * l * l * 128.0 / 2.0 / time_s / 311e12 * (blocks + sqrt(2048.0 / l)) / blocks;
}

static void both_passes_are_parted_where_forward_is_known(void **state)
{
    (void)state;
    arena *a = arena_create("fit");
    const measured_kernel kernels[] = { row_of(2048, PASS_ONLY_FORWARD, 0.31e-3),
                                        row_of(2048, PASS_BOTH, 1.27e-3), row_of(8192, PASS_BOTH, 19.3e-3) };
    attention_rows rows = { 0 };
    attention_array tables = { 0 };
    for (int i = 0; i < 3; i++)
        *array_push(&rows, a) = (attention_row){ &kernels[i], PROGRAM_FA2, 0 };
    fit_attention(a, &rows, 311e12, 97, &tables);
    assert_int_equal(tables.count, 1);
    const attention_def *t = &tables.items[0];
    assert_int_equal(t->program, PROGRAM_FA2);
    assert_int_equal(t->head_size, 128);
    assert_int_equal(t->forward.count, 2);
    assert_int_equal(t->backward.count, 2);
    assert_near(t->forward.x[0], 2048.0, 1e-9);
    assert_near(t->forward.y[0], share(2048, 4, 0.31e-3), 2e-6);
    assert_near(t->backward.y[0], share(2048, 10, 0.96e-3), 2e-6);
    assert_near(t->forward.y[1], share(8192, 14, 19.3e-3), 2e-6); // one rate for both
    assert_near(t->backward.y[1], share(8192, 14, 19.3e-3), 2e-6);
    arena_destroy(a);
}

// Three rows of a source count as one of another; lengths of one octave are one point.
static void sources_have_equal_weight(void **state)
{
    (void)state;
    arena *a = arena_create("fit");
    const measured_kernel kernels[] = { row_of(4096, PASS_ONLY_FORWARD, 2.0e-3),
                                        row_of(4096, PASS_ONLY_FORWARD, 2.1e-3),
                                        row_of(4096, PASS_ONLY_FORWARD, 2.2e-3),
                                        row_of(3072, PASS_ONLY_FORWARD, 0.9e-3) };
    attention_rows rows = { 0 };
    attention_array tables = { 0 };
    for (uint32_t i = 0; i < 4; i++)
        *array_push(&rows, a) = (attention_row){ &kernels[i], PROGRAM_FA3, i / 3 };
    fit_attention(a, &rows, 311e12, 97, &tables);
    assert_int_equal(tables.items[0].forward.count, 1);
    assert_near(tables.items[0].forward.x[0], round(sqrt(4096.0 * 3072.0)), 1e-9);
    const double first = cbrt(share(4096, 4, 2.0e-3) * share(4096, 4, 2.1e-3) * share(4096, 4, 2.2e-3));
    assert_near(tables.items[0].forward.y[0], sqrt(first * share(3072, 4, 0.9e-3)), 2e-6);
    assert_int_equal(tables.items[0].backward.count, 0);
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_passes_are_parted_where_forward_is_known),
        cmocka_unit_test(sources_have_equal_weight),
    };
    return cmocka_run_group_tests_name("fit_attention", tests, NULL, NULL);
}
