// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "models/hardware/roofline.h"
#include "sim/array.h"

// A GPU of no catalogue: no number is round, no two are alike.
static double forward_x[] = { 700, 5300 }, forward_y[] = { 0.211, 0.347 };
static double backward_x[] = { 900, 4700 }, backward_y[] = { 0.173, 0.289 };
static tile_def tiles[] = { { 192, 96, 0.713 }, { 96, 96, 0.589 } };
static product_def products = { .format = DTYPE_BF16,
                                .operand_bytes = 2.0,
                                .tiles = { .items = tiles, .count = 2 },
                                .depth_step = 64,
                                .depth_overhead = 37.0,
                                .memory_efficiency = 0.811,
                                .start_s = 3.1e-6,
                                .wave_s = 0.23e-6,
                                .blend = 4.0 };
static attention_def attention = { .program = PROGRAM_FA2,
                                   .head_size = 128,
                                   .forward = { forward_x, forward_y, 2 },
                                   .backward = { backward_x, backward_y, 2 } };

static gpu_def odd_gpu(void)
{
    return (gpu_def){ .name = "odd",
                      .multiprocessors = 131,
                      .peak_flops = { [DTYPE_BF16] = 937.3e12 },
                      .vector_flops = 61.7e12,
                      .memory_rate_Bps = 3117e9,
                      .clock_ratio = 0.871,
                      .launch_s = 11.9004e-6,
                      .kernels = { .products = { .items = &products, .count = 1 },
                                   .flash = PROGRAM_FA2,
                                   .attention = { .items = &attention, .count = 1 },
                                   .attention_fill = 0.9,
                                   .stream_efficiency = 0.817,
                                   .kernel_overhead_s = 2.37e-6 } };
}

struct cost_case {
    const char *name;
    kernel_shape kernel;
    double clock_ratio, memory_ratio;
    sim_time want_ns;
    kernel_bound want_bound;
    double want_efficiency;
};
#define MATMUL(batch_, m_, n_, k_)                                                                           \
    {                                                                                                        \
        .class = KERNEL_MATMUL, .type = DTYPE_BF16, .batch = (batch_), .m = (m_), .n = (n_), .k = (k_),      \
        .flop = 2.0 * (batch_) * (m_) * (n_) * (k_),                                                         \
        .bytes = 2.0 * (batch_) * ((double)(m_) * (n_) + (double)(n_) * (k_) + (double)(m_) * (k_)),         \
        .launches = 1                                                                                        \
    }
// Causal: half of the square. passes: 4 tensors forward, 8 backward.
#define ATTENTION(class_, heads_, length_, size_, flop_per_pair, passes)                                     \
    {                                                                                                        \
        .class = (class_), .type = DTYPE_BF16, .batch = (heads_), .m = (length_), .n = (length_),            \
        .k = (size_), .flop = (flop_per_pair) * (heads_) * (double)(length_) * (length_) * (size_) / 2.0,    \
        .bytes = (passes)*2.0 * (heads_) * (length_) * (size_), .launches = 1                                \
    }
#define ELEMENTWISE(flop_, bytes_, launches_)                                                                \
    {                                                                                                        \
        .class = KERNEL_ELEMENTWISE, .type = DTYPE_BF16, .batch = 1, .m = 1, .n = 1, .k = 1,                 \
        .flop = (flop_), .bytes = (bytes_), .launches = (launches_)                                          \
    }

// Products as product.h has it, R = 937.3e12 x .871 x clock / 131; others t = 2.37 us n + max(F / (P e clock), B / (3117e9 .817
// memory)); rounded to ns.
static const struct cost_case cost_cases[] = {
    // 192 x 96: 22 x 65 tiles, 11 waves of 36,864 x 5093 / (.713 R) + .23 us; M = 60.50 us
    { "product", MATMUL(1, 4099, 6152, 5000), 1, 1, 470450, BOUND_TENSOR_CORE, 0.571876374474 },
    // 7 x 22 x 7 tiles of 192 x 96, 9 waves of depth 128 + 37: 14.39 us; B = 43825040 bytes: 17.33
    { "batch of products, bound by memory", MATMUL(7, 4099, 616, 128), 1, 1, 22197, BOUND_HBM,
      0.633043663364 },
    { "slow clock and memory", MATMUL(1, 8209, 16408, 40008), 0.93, 0.71, 20407095, BOUND_TENSOR_CORE,
      0.563459800251 },
    // one tile of 96 x 96: 0.737 us beside the start of 3.1
    { "product bound by launch", MATMUL(1, 61, 56, 48), 1, 1, 3837, BOUND_LAUNCH, 9.11840082309e-05 },
    { "flat product, bound by memory", MATMUL(1, 17, 8192, 8208), 1, 1, 57118, BOUND_HBM, 0.758480648097 },
    { "flat product, slow memory", MATMUL(1, 17, 8192, 8208), 1, 0.37, 147520, BOUND_HBM, 0.29367474009 },
    // heads of 108 leave the matrix units: R = 61.7e12 x .871 / 131
    { "product on the vector units", MATMUL(24, 2048, 2048, 108), 1, 1, 949255, BOUND_VECTOR,
      0.0244378720749 },
    // length 2741: e = .211 + .136 log(2741 / 700) / log(5300 / 700) = .302702; 72 x 22 / 131 = 12.09 blocks: x .93955
    { "attention forward", ATTENTION(KERNEL_ATTENTION_FORWARD, 72, 2741, 128, 4.0, 4.0), 1, 1, 521859,
      BOUND_TENSOR_CORE, 0.283112300055 },
    // the clock of the tables is not gpu.clock_ratio's, but this GPU's own counts
    { "attention forward, half the clock", ATTENTION(KERNEL_ATTENTION_FORWARD, 72, 2741, 128, 4.0, 4.0), 0.5,
      1, 1041348, BOUND_TENSOR_CORE, 0.141878317138 },
    // head size 80: x (80 / (96 + 18.6)) / (128 / 146.6) = .79952
    { "attention backward, head size 80", ATTENTION(KERNEL_ATTENTION_BACKWARD, 72, 2741, 80, 10.0, 8.0), 1, 1,
      1225964, BOUND_TENSOR_CORE, 0.188301692834 },
    // below the first length: .211 (613 / 700)^(1/2); head size 64: x .88741
    { "attention forward, short, head size 64", ATTENTION(KERNEL_ATTENTION_FORWARD, 72, 613, 64, 4.0, 4.0), 1,
      1, 36079, BOUND_TENSOR_CORE, 0.102407156253 },
    // beyond the last length: .289; head size 192: x 1.04416
    { "attention backward, long, head size 192",
      ATTENTION(KERNEL_ATTENTION_BACKWARD, 2, 70001, 192, 10.0, 8.0), 1, 1, 33878914, BOUND_TENSOR_CORE,
      0.296279511283 },
    // 123043782 bytes: 48.3171 us
    { "elementwise", ELEMENTWISE(4.0 * 4099 * 5003, 6.0 * 4099 * 5003, 1), 1, 1, 50687, BOUND_HBM,
      0.778800607848 },
    // 555948369 bytes: 218.310991 us; the overhead three times
    { "elementwise in three launches", ELEMENTWISE(0.0, 9.0 * 12347 * 5003, 3), 1, 1, 225421, BOUND_HBM,
      0.79123098506574063 },
    { "elementwise, bound by launch", ELEMENTWISE(1.0, 770.0, 1), 1, 1, 2370, BOUND_LAUNCH,
      0.000104233081414 },
    // 13.41 GFLOP on the vector units: 217.3420 us
    { "elementwise, bound by arithmetic", ELEMENTWISE(13.41e9, 2.9e6, 1), 1, 1, 219712, BOUND_VECTOR,
      0.989213048489 },
    { "a launch count of none is one kernel", ELEMENTWISE(1.0, 770.0, 0), 1, 1, 2370, BOUND_LAUNCH,
      0.000104233081414 },
    { "nothing to do", ELEMENTWISE(0.0, 0.0, 1), 1, 1, 0, BOUND_LAUNCH, 0.0 },
};

static void cost_matches_hand_computation(void **state)
{
    const struct cost_case *c = *state;
    arena *a = arena_create("roofline");
    const gpu_def gpu = odd_gpu();
    const roofline *r = roofline_create(a, &gpu);
    const kernel_cost got = roofline_cost(r, &c->kernel, c->clock_ratio, c->memory_ratio);
    assert_int_equal(got.time_ps, c->want_ns * PS_PER_NS);
    assert_int_equal(got.bound, c->want_bound);
    assert_near(got.efficiency, c->want_efficiency, 1e-9);
    arena_destroy(a);
}

static void an_answer_does_not_depend_on_earlier_ones(void **state)
{
    (void)state;
    arena *a = arena_create("roofline");
    const gpu_def gpu = odd_gpu();
    const roofline *r = roofline_create(a, &gpu);
    kernel_shape kernel = MATMUL(1, 4099, 6152, 5000);
    const sim_time first_ps = roofline_cost(r, &kernel, 1.0, 1.0).time_ps;
    for (size_t i = 0; i < ARRAY_COUNT(cost_cases); i++)
        roofline_cost(r, &cost_cases[ARRAY_COUNT(cost_cases) - 1 - i].kernel, 1.0, 1.0);
    assert_int_equal(roofline_cost(r, &kernel, 1.0, 1.0).time_ps, first_ps);
    arena_destroy(a);
}

static void work_never_takes_no_time(void **state)
{
    (void)state;
    arena *a = arena_create("roofline");
    gpu_def gpu = odd_gpu();
    gpu.kernels.kernel_overhead_s = 0.0;
    const roofline *r = roofline_create(a, &gpu);
    const kernel_shape tiny = ELEMENTWISE(0.0, 3.0, 1);
    assert_int_equal(roofline_cost(r, &tiny, 1.0, 1.0).time_ps, PS_PER_NS); // 1.2 ps of work
    arena_destroy(a);
}

// Of 131 multiprocessors 17 are taken, of 3117 GB/s 200. Attention is bound by arithmetic: 131 / 114 of its time but for the
// overhead of 2.37 us. Elementwise kernels get 0.817 of the memory: 2546.589 GB/s, and 2346.589 beside. A product of so many
// tiles (192 x 96: 21 x 65 = 1365, turned 42 x 33 = 1386) has 11 waves on 131 multiprocessors and 12 on 114.
static void what_moves_beside_slows(void **state)
{
    (void)state;
    arena *a = arena_create("roofline");
    const gpu_def gpu = odd_gpu();
    const roofline *r = roofline_create(a, &gpu);
    const gpu_taken taken = { 17.0, 200e9 };
    const struct {
        kernel_shape kernel;
        double share; // of the time without overhead_s
        double overhead_s;
    } rows[] = {
        { ATTENTION(KERNEL_ATTENTION_FORWARD, 32, 4096, 128, 4.0, 4.0), 131.0 / 114.0, 2.37e-6 },
        { ELEMENTWISE(0.0, 9.0 * 12347 * 5003, 1), 2546.589 / 2346.589, 2.37e-6 },
        { ELEMENTWISE(13.41e9, 2.9e6, 1), 131.0 / 114.0, 2.37e-6 },
        { MATMUL(1, 4000, 6200, 64000), 12.0 / 11.0, 3.1e-6 },
        { ELEMENTWISE(0.0, 0.0, 1), 1.0, 0.0 },
    };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        const kernel_shape *kernel = &rows[i].kernel;
        const kernel_cost cost = roofline_cost(r, kernel, 1.0, 1.0);
        const double time_s = units_s_from_ps(cost.time_ps) - rows[i].overhead_s;
        const double more_s = units_s_from_ps(roofline_slowed_ps(r, kernel, &cost, 1.0, 1.0, &taken));
        assert_near(more_s + 1e-9, time_s * (rows[i].share - 1.0) + 1e-9, 2e-3);
        const gpu_taken nothing = { 0.0, 0.0 };
        assert_int_equal(roofline_slowed_ps(r, kernel, &cost, 1.0, 1.0, &nothing), 0);
    }
    arena_destroy(a);
}

// Whatever is taken, half is left; a user's time grows by the share by which the model's grows.
static void half_is_left_and_given_times_grow_alike(void **state)
{
    (void)state;
    arena *a = arena_create("roofline");
    const gpu_def gpu = odd_gpu();
    roofline *r = roofline_create(a, &gpu);
    kernel_shape norm = ELEMENTWISE(0.0, 9.0 * 12347 * 5003, 1);
    norm.name = "norm";
    const gpu_taken all = { 500.0, 9e12 };
    const kernel_cost model = roofline_cost(r, &norm, 1.0, 1.0);
    const double share = (double)roofline_slowed_ps(r, &norm, &model, 1.0, 1.0, &all) / (double)model.time_ps;
    assert_near(share, 1.0 - 2.37e-6 / units_s_from_ps(model.time_ps), 1e-4); // twice, but for the overhead
    kernel_time row = { "norm", 1, 1, 1, 1, 77e-6 };
    const kernel_time_array times = { .items = &row, .count = 1 };
    roofline_use_times(r, &times);
    const kernel_cost given = roofline_cost(r, &norm, 1.0, 1.0);
    assert_near((double)roofline_slowed_ps(r, &norm, &given, 1.0, 1.0, &all), share * 77e6, 1e-4);
    arena_destroy(a);
}

// A time is taken for the name and shape that it was measured for, and is longer on a GPU that is not healthy.
static void a_users_time_replaces_the_model(void **state)
{
    (void)state;
    arena *a = arena_create("roofline");
    const gpu_def gpu = odd_gpu();
    roofline *r = roofline_create(a, &gpu);
    kernel_shape product = MATMUL(1, 4099, 6152, 5000), norm = ELEMENTWISE(0.0, 9.0 * 12347 * 5003, 1);
    product.name = "mlp.up";
    norm.name = "mlp.norm";
    kernel_time rows[] = { { "mlp.up", 1, 4099, 6152, 5000, 613.4567e-6 },
                           { "mlp.norm", 1, 1, 1, 1, 77e-6 } };
    const kernel_time_array times = { .items = rows, .count = 2 };
    roofline_use_times(r, &times);
    const kernel_cost got = roofline_cost(r, &product, 1.0, 1.0);
    assert_true(got.is_given);
    assert_int_equal(got.time_ps, 613457 * PS_PER_NS);
    assert_int_equal(got.bound, BOUND_TENSOR_CORE);
    assert_int_equal(roofline_cost(r, &product, 0.8, 0.5).time_ps, 766821 * PS_PER_NS); // 613.4567 / 0.8
    assert_int_equal(roofline_cost(r, &norm, 0.8, 0.5).time_ps, 154000 * PS_PER_NS);    // 77 / 0.5
    product.m++;
    assert_false(roofline_cost(r, &product, 1.0, 1.0).is_given);
    product.m--;
    product.name = "mlp.up.dgrad";
    assert_false(roofline_cost(r, &product, 1.0, 1.0).is_given);
    assert_int_equal(roofline_cost(r, &product, 1.0, 1.0).time_ps, 470450 * PS_PER_NS);
    arena_destroy(a);
}

static void better_parts_never_cost_time(void **state)
{
    (void)state;
    arena *a = arena_create("roofline");
    const gpu_def gpu = odd_gpu();
    gpu_def better = odd_gpu();
    better.clock_ratio = 0.991;
    better.memory_rate_Bps = 4733e9;
    const roofline *r = roofline_create(a, &gpu), *s = roofline_create(a, &better);
    for (size_t i = 0; i < ARRAY_COUNT(cost_cases); i++) {
        const kernel_shape *kernel = &cost_cases[i].kernel;
        const sim_time time_ps = roofline_cost(r, kernel, 1.0, 1.0).time_ps;
        assert_true(roofline_cost(s, kernel, 1.0, 1.0).time_ps <= time_ps);
        assert_true(roofline_cost(r, kernel, 0.5, 0.5).time_ps >= time_ps);
    }
    arena_destroy(a);
}

static void launch_and_words(void **state)
{
    (void)state;
    arena *a = arena_create("roofline");
    const gpu_def gpu = odd_gpu();
    const roofline *r = roofline_create(a, &gpu);
    assert_int_equal(roofline_launch_ps(r), 11900 * PS_PER_NS);
    assert_ptr_equal(roofline_gpu(r), &gpu);
    assert_string_equal(kernel_bound_words[BOUND_TENSOR_CORE], "tensor-core");
    assert_string_equal(kernel_bound_words[BOUND_HBM], "hbm");
    assert_string_equal(kernel_bound_words[BOUND_LAUNCH], "launch");
    assert_string_equal(kernel_bound_words[BOUND_VECTOR], "vector");
    assert_null(kernel_bound_words[BOUND_VECTOR + 1]);
    arena_destroy(a);
}

int main(void)
{
    enum { ROWS = ARRAY_COUNT(cost_cases) };
    struct CMUnitTest tests[ROWS + 7] = {
        [ROWS] = cmocka_unit_test(an_answer_does_not_depend_on_earlier_ones),
        [ROWS + 1] = cmocka_unit_test(work_never_takes_no_time),
        [ROWS + 2] = cmocka_unit_test(better_parts_never_cost_time),
        [ROWS + 3] = cmocka_unit_test(launch_and_words),
        [ROWS + 4] = cmocka_unit_test(a_users_time_replaces_the_model),
        [ROWS + 5] = cmocka_unit_test(what_moves_beside_slows),
        [ROWS + 6] = cmocka_unit_test(half_is_left_and_given_times_grow_alike),
    };
    for (size_t i = 0; i < ROWS; i++)
        tests[i] = (struct CMUnitTest){ .name = cost_cases[i].name,
                                        .test_func = cost_matches_hand_computation,
                                        .initial_state = (void *)&cost_cases[i] };
    return cmocka_run_group_tests_name("roofline", tests, NULL, NULL);
}
