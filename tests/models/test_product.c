// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "models/hardware/product.h"
#include "sim/array.h"

// No catalogue's: no two numbers are alike.
static tile_def odd_tiles[] = { { 192, 96, 0.713 }, { 96, 96, 0.589 } };
static product_def odd_products(void)
{
    return (product_def){ .format = DTYPE_BF16,
                          .operand_bytes = 2.0,
                          .tiles = { .items = odd_tiles, .count = 2 },
                          .depth_step = 64,
                          .depth_overhead = 37.0,
                          .memory_efficiency = 0.811,
                          .start_s = 3.1e-6,
                          .wave_s = 0.23e-6,
                          .blend = 4.0 };
}
static const product_gpu odd_gpu = {
    .multiprocessors = 97, .peak_flops = 291e12, .vector_flops = 17e12, .memory_Bps = 1931e9
};

static product_shape shape_of(uint64_t batch, uint64_t m, uint64_t n, uint64_t k)
{
    const double x = (double)m, y = (double)n, z = (double)k;
    return (product_shape){ .batch = batch,
                            .m = m,
                            .n = n,
                            .k = k,
                            .element_bytes = 2.0,
                            .bytes = 2.0 * (double)batch * (x * y + y * z + x * z) };
}

struct product_case {
    const char *name;
    uint64_t batch, m, n, k;
    double want_compute_s, want_memory_s, want_s;
    uint32_t want_rows, want_split;
    bool want_turned;
    uint64_t want_waves;
};

// R = 291e12 / 97 = 3e12 FLOP/s of one multiprocessor: each element of depth takes 2 192 96 / (.713 R) = 17.23422 ns of a tile
// of 192 x 96 and 10.43124 ns of one of 96 x 96. M at 1931e9 x .811 B/s. t = 3.1 us + (C^4 + M^4)^(1/4).
static const struct product_case cases[] = {
    // 192 x 96: 6 x 11 tiles in one wave, 17.23422 x (1024 + 37) + 230 ns. Turned the same; 96 x 96: 121 tiles in two waves.
    { "one wave", 1, 1024, 1024, 1024, 1.851550912e-05, 4.017427385e-06, 2.162576008e-05, 192, 1, false, 1 },
    // 18,625 rows are 195 of 96, a row more than two waves of 97: 3 (10.43124 x 293 + 230). 192 x 96: 98, a tile too many for
    // one wave: 2 (17.23422 x 293 + 230) = 10.559 us.
    { "a wave more for one row", 1, 18625, 96, 256, 9.859059423e-06, 8.404091591e-06, 1.406137968e-05, 96, 1,
      false, 3 },
    // 96 x 96: 3 x 1 x 5 tiles; six parts of each fill one wave: depth ceil(2048 / 6) = 342 in slices of 64 is 384: 10.43124
    // x 421 + 230 = 4.621552 us, and 6 sums of 8 x 5 x 256 x 64 bytes. Eight parts would be two waves.
    { "split over the depth", 5, 256, 64, 2048, 7.132443899e-06, 4.289440698e-06, 1.045505651e-05, 96, 6,
      false, 1 },
    // Depth 96 is two slices: 10.43124 x (128 + 37) + 230 ns, two tiles at once.
    { "slices of the depth", 1, 192, 96, 96, 1.951154499e-06, 5.884903397e-08, 5.051154903e-06, 96, 1, false,
      1 },
    // 41 rows: 43 tiles of 192 columns each, split in two; memory takes longer.
    { "flat: bound by memory, a turned tile", 1, 41, 8192, 8192, 7.489059043e-05, 8.656300569e-05,
      9.98454796e-05, 192, 2, true, 1 },
    // Heads of 108: rows of 216 bytes are no multiple of 16, so the vector units work: R = 17e12 / 97.
    { "heads that leave the matrix units", 64, 512, 512, 108, 5.868784589e-04, 3.046549101e-05,
      5.899795243e-04, 192, 1, false, 12 },
};

static void matches_hand_computation(void **state)
{
    const struct product_case *c = *state;
    const product_def def = odd_products();
    const product_shape shape = shape_of(c->batch, c->m, c->n, c->k);
    const product_cost got = product_time(&def, &odd_gpu, &shape);
    assert_near(got.compute_s, c->want_compute_s, 1e-9);
    assert_near(got.memory_s, c->want_memory_s, 1e-9);
    assert_near(got.time_s, c->want_s, 1e-9);
    assert_int_equal(got.tile->rows, c->want_rows);
    assert_int_equal(got.turned, c->want_turned);
    assert_int_equal(got.split, c->want_split);
    assert_int_equal(got.waves, c->want_waves);
}

static void quantising_comes_before_the_product(void **state)
{
    (void)state;
    product_def def = odd_products();
    const product_shape shape = shape_of(1, 1024, 1024, 1024);
    const double plain_s = product_time(&def, &odd_gpu, &shape).time_s;
    def.quantise_bytes = 5.0; // 5 x 1024 x 1024 bytes at 1931e9 x .811
    assert_near(product_time(&def, &odd_gpu, &shape).time_s, plain_s + 3.347856154e-06, 1e-9);
}

static void blend_goes_from_the_sum_to_the_longer(void **state)
{
    (void)state;
    product_def def = odd_products();
    const product_shape shape = shape_of(1, 18625, 96, 256);
    def.blend = 1.0;
    assert_near(product_time(&def, &odd_gpu, &shape).time_s, 3.1e-6 + 9.859059423e-06 + 8.404091591e-06,
                1e-9);
    def.blend = 1e6;
    assert_near(product_time(&def, &odd_gpu, &shape).time_s, 3.1e-6 + 9.859059423e-06, 1e-9);
}

static void alignment_is_of_rows_of_n_and_k(void **state)
{
    (void)state;
    static const struct {
        uint64_t m, n, k;
        double element_bytes;
        bool want;
    } rows[] = { { 4097, 4096, 4096, 2.0, true }, { 4096, 4097, 4096, 2.0, false },
                 { 4096, 4096, 150, 2.0, false }, { 4096, 4096, 152, 2.0, true },
                 { 4096, 4100, 4100, 4.0, true }, { 4096, 4104, 4096, 1.0, false },
                 { 4096, 4112, 4096, 1.0, true } };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        product_shape shape = shape_of(1, rows[i].m, rows[i].n, rows[i].k);
        shape.element_bytes = rows[i].element_bytes;
        assert_int_equal(product_is_aligned(&shape), rows[i].want);
    }
}

// More work never takes less time, and a better GPU never more; the tiles make steps, never dips.
static void more_work_never_takes_less(void **state)
{
    (void)state;
    const product_def def = odd_products();
    product_gpu better = odd_gpu;
    better.peak_flops *= 1.25;
    better.memory_Bps *= 1.25;
    double before_s = 0.0;
    for (uint64_t m = 8; m <= 40000; m += 96) {
        const product_shape shape = shape_of(1, m, 3072, 1024);
        const double time_s = product_time(&def, &odd_gpu, &shape).time_s;
        assert_true(time_s >= before_s);
        assert_true(product_time(&def, &better, &shape).time_s <= time_s);
        before_s = time_s;
    }
}

int main(void)
{
    enum { ROWS = ARRAY_COUNT(cases) };
    struct CMUnitTest tests[ROWS + 4] = {
        [ROWS] = cmocka_unit_test(quantising_comes_before_the_product),
        [ROWS + 1] = cmocka_unit_test(blend_goes_from_the_sum_to_the_longer),
        [ROWS + 2] = cmocka_unit_test(alignment_is_of_rows_of_n_and_k),
        [ROWS + 3] = cmocka_unit_test(more_work_never_takes_less),
    };
    for (size_t i = 0; i < ROWS; i++)
        tests[i] = (struct CMUnitTest){ .name = cases[i].name,
                                        .test_func = matches_hand_computation,
                                        .initial_state = (void *)&cases[i] };
    return cmocka_run_group_tests_name("product", tests, NULL, NULL);
}
