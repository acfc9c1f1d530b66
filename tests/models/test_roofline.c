// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "models/hardware/roofline.h"
#include "sim/array.h"

// A GPU of no catalogue: no number is round, no two are alike.
static double matmul_x[] = { 1.3e9, 4.1e10, 2.9e12 }, matmul_y[] = { 0.217, 0.563, 0.741 };
static double forward_x[] = { 700, 5300 }, forward_y[] = { 0.211, 0.347 };
static double backward_x[] = { 900, 4700 }, backward_y[] = { 0.173, 0.289 };
static double memory_x[] = { 1.1e6, 2.3e8 }, memory_y[] = { 0.613, 0.817 };

static gpu_def odd_gpu(void)
{
    return (gpu_def){ .name = "odd",
                      .peak_flops = { [DTYPE_BF16] = 937.3e12 },
                      .vector_flops = 61.7e12,
                      .memory_rate_Bps = 3117e9,
                      .clock_ratio = 0.871,
                      .kernel_overhead_s = 2.37e-6,
                      .launch_s = 11.9004e-6,
                      .matmul = { matmul_x, matmul_y, 3 },
                      .attention_forward = { forward_x, forward_y, 2 },
                      .attention_backward = { backward_x, backward_y, 2 },
                      .memory = { memory_x, memory_y, 2 } };
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

// t = 2.37 us n + max(F / (P e 0.871 clock), B / (3117e9 m memory)), e and m linear in log10 x, rounded to ns.
static const struct cost_case cost_cases[] = {
    // F = 252280767694: e = .563 + .178 log(F / 4.1e10) / log(2.9e12 / 4.1e10) = .63894; F / (P e c) = 483.645597 us
    { "product between two points", MATMUL(1, 4099, 6151, 5003), 1, 1, 486016, BOUND_TENSOR_CORE,
      0.55380256139745421 },
    // 7 products together: F = 4467557486, 16.06 us; B = 43555554 at .75346, 18.5457723 us
    { "batch of products, bound by memory", MATMUL(7, 4099, 613, 127), 1, 1, 20916, BOUND_HBM,
      0.66807943999288777 },
    // F = 10779856842182 is beyond the last point: e = .741; 19.160863 ms at 0.93 of the clock
    { "product beyond the curve, slow clock", MATMUL(1, 8209, 16411, 40009), 0.93, 0.71, 19163233,
      BOUND_TENSOR_CORE, 0.6001579955077766 },
    // B = 17182 below the first point: m = .613, 9.0 ns beside 2370 of overhead
    { "product below the curve, bound by launch", MATMUL(1, 61, 53, 47), 1, 1, 2379, BOUND_LAUNCH,
      0.002317087692369726 },
    { "flat product, bound by memory", MATMUL(1, 17, 8191, 8209), 1, 1, 56750, BOUND_HBM,
      0.76339888546396839 },
    // the same bytes at 0.37 of the rate: 54.3801830 / 0.37 = 146.9734676 us
    { "flat product, slow memory", MATMUL(1, 17, 8191, 8209), 1, 0.37, 149343, BOUND_HBM,
      0.29008983849313463 },
    // length 2741: e = .211 + .136 log(2741 / 700) / log(5300 / 700) = .30271
    { "attention forward", ATTENTION(KERNEL_ATTENTION_FORWARD, 72, 2741, 128, 4.0, 4.0), 1, 1, 562745,
      BOUND_TENSOR_CORE, 0.26254289561793737 },
    // head size 80: x 80 (128 + 18.6) / (128 (80 + 18.6)) = .92926
    { "attention backward, head size 80", ATTENTION(KERNEL_ATTENTION_BACKWARD, 72, 2741, 80, 10.0, 8.0), 1, 1,
      1137986, BOUND_TENSOR_CORE, 0.20285934673531264 },
    // below the first length: .211; head size 64: x .88741
    { "attention forward, short, head size 64", ATTENTION(KERNEL_ATTENTION_FORWARD, 72, 613, 64, 4.0, 4.0), 1,
      1, 25025, BOUND_TENSOR_CORE, 0.14764226934912947 },
    // beyond the last length: .289; head size 192: x 1.04416
    { "attention backward, long, head size 192",
      ATTENTION(KERNEL_ATTENTION_BACKWARD, 2, 70001, 192, 10.0, 8.0), 1, 1, 38192245, BOUND_TENSOR_CORE,
      0.26281848796020352 },
    // 123043782 bytes: m = .613 + .204 log(B / 1.1e6) / log(2.3e8 / 1.1e6) = .79311
    { "elementwise", ELEMENTWISE(4.0 * 4099 * 5003, 6.0 * 4099 * 5003, 1), 1, 1, 52142, BOUND_HBM,
      0.75706851309903 },
    // 555948369 bytes at .817: 218.310991 us; the overhead three times
    { "elementwise in three launches", ELEMENTWISE(0.0, 9.0 * 12347 * 5003, 3), 1, 1, 225421, BOUND_HBM,
      0.79123098506574063 },
    { "elementwise, bound by launch", ELEMENTWISE(1.0, 770.0, 1), 1, 1, 2370, BOUND_LAUNCH,
      0.00010423308141415863 },
    // 13.41 GFLOP on the vector units: 249.531547 us
    { "elementwise, bound by arithmetic", ELEMENTWISE(13.41e9, 2.9e6, 1), 1, 1, 251902, BOUND_VECTOR,
      0.86280369869855089 },
    { "a launch count of none is one kernel", ELEMENTWISE(1.0, 770.0, 0), 1, 1, 2370, BOUND_LAUNCH,
      0.00010423308141415863 },
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
    kernel_shape kernel = MATMUL(1, 4099, 6151, 5003);
    const sim_time first_ps = roofline_cost(r, &kernel, 1.0, 1.0).time_ps;
    for (size_t i = 0; i < ARRAY_COUNT(cost_cases); i++)
        roofline_cost(r, &cost_cases[ARRAY_COUNT(cost_cases) - 1 - i].kernel, 1.0, 1.0);
    assert_int_equal(roofline_cost(r, &kernel, 1.0, 1.0).time_ps, first_ps);
    arena_destroy(a);
}

static void one_point_is_a_constant(void **state)
{
    (void)state;
    arena *a = arena_create("roofline");
    gpu_def gpu = odd_gpu();
    gpu.memory.count = 1;
    gpu.kernel_overhead_s = 0.0;
    const roofline *r = roofline_create(a, &gpu);
    const kernel_shape large = ELEMENTWISE(0.0, 7.13e9, 1);
    assert_int_equal(roofline_cost(r, &large, 1.0, 1.0).time_ps,
                     3731576 * PS_PER_NS); // 7.13e9 / (3117e9 .613)
    const kernel_shape tiny = ELEMENTWISE(0.0, 3.0, 1);
    assert_int_equal(roofline_cost(r, &tiny, 1.0, 1.0).time_ps, PS_PER_NS); // 1.6 ps of work, but never none
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
    struct CMUnitTest tests[ROWS + 4] = {
        [ROWS] = cmocka_unit_test(an_answer_does_not_depend_on_earlier_ones),
        [ROWS + 1] = cmocka_unit_test(one_point_is_a_constant),
        [ROWS + 2] = cmocka_unit_test(better_parts_never_cost_time),
        [ROWS + 3] = cmocka_unit_test(launch_and_words),
    };
    for (size_t i = 0; i < ROWS; i++)
        tests[i] = (struct CMUnitTest){ .name = cost_cases[i].name,
                                        .test_func = cost_matches_hand_computation,
                                        .initial_state = (void *)&cost_cases[i] };
    return cmocka_run_group_tests_name("roofline", tests, NULL, NULL);
}
