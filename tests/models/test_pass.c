// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "tests/support/text.h"
#include "tests/support/tiny.h"

typedef struct bench {
    arena *a;
    gpu_def gpu;
    llm_def model;
    pass_settings settings;
    pass_costs costs;
    sim_error error;
} bench;

static int enter(void **state)
{
    static bench b;
    b = (bench){
        .a = arena_create("test"), .gpu = tiny_gpu(), .model = tiny_model(), .settings = tiny_settings(4)
    };
    *state = &b;
    return b.a ? 0 : -1;
}

static int leave(void **state)
{
    bench *b = *state;
    arena_destroy(b->a);
    return 0;
}

static bool build(bench *b)
{
    sim_error_clear(&b->error);
    return pass_build(b->a, &b->model, roofline_create(b->a, &b->gpu), &b->settings, &b->costs, &b->error);
}

// Three kernels of the embedding of 96 tokens x 64: gather (1 launch and 2 calls, 24,576 B), position (2 and 2,
// 36,864 B), dropout (1 and 6, 30,720 B). At 10 GB/s and 0.3 us a launch they take 2,758, 4,286 and 3,372 ns. The ten
// calls are spread 3, 3, 4, so the last launch of each is call 4, 9 and 14, issued after 3, 8 and 13 x 850 ns.
//     gather waits until 2,550, ends 5,308; position waits until 6,800, ends 11,086; dropout starts at once, ends 14,458
static void three_kernels_and_their_host_by_hand(void **state)
{
    bench *b = *state;
    b->model.position = POSITION_LEARNED;
    b->model.dropout = true;
    b->settings.memory.layers_here = 0;
    b->settings.memory.has_head = false;
    assert_true(build(b));
    const work *f = &b->costs.forward;
    assert_int_equal(f->duration_ps, 14458 * PS_PER_NS);
    assert_int_equal(f->launch_ps, (2550 + 1492) * PS_PER_NS);
    assert_int_equal(f->recompute_ps, 0);
    assert_int_equal(f->kernels, 4);
    assert_near(f->bytes, 24576 + 36864 + 30720, 1e-12);
    assert_near(f->flop, 6144 * (1 + 1 + 2), 1e-12);
}

struct optimizer_case {
    const char *name;
    int optimizer, sharding;
    sim_time want_ns;
    double bytes;
};
// Norm 4, clip 8, Adam 4 + 16 + 8 + 2, SGD 4 + 8 + 8 + 2 bytes per element, one launch each, at 10 GB/s and 0.3 us each.
static const struct optimizer_case optimizers[] = {
    // 31,344 elements: 12,837.6 + 25,375.2 + 94,332
    { "Adam on a quarter of the parameters", OPTIMIZER_ADAM, SHARDING_ZERO_1, 132545, 31344 * 42.0 },
    // 125,376 elements: 50,450.4 + 100,600.8 + 376,428
    { "Adam on all of them", OPTIMIZER_ADAM, SHARDING_NONE, 527479, 125376 * 42.0 },
    // 12,837.6 + 25,375.2 + 69,256.8
    { "SGD", OPTIMIZER_SGD, SHARDING_ZERO_1, 107470, 31344 * 34.0 },
};

static void optimizer_matches(void **state)
{
    const struct optimizer_case *c = *state;
    void *bench_ = NULL;
    assert_int_equal(enter(&bench_), 0);
    bench *b = bench_;
    b->settings.memory.optimizer = c->optimizer;
    b->settings.memory.sharding = c->sharding;
    assert_true(build(b));
    assert_int_equal(b->costs.optimizer.duration_ps, c->want_ns * PS_PER_NS);
    assert_int_equal(b->costs.optimizer.launch_ps, 0); // issued after 0, 850 and 1,700 ns
    assert_near(b->costs.optimizer.bytes, c->bytes, 1e-12);
    leave(&bench_);
}

struct bucket_case {
    const char *name;
    uint64_t bucket_bytes;
    bool tied;
    uint32_t pieces, count;
    gradient_bucket want[8];
};
// The backward pass fills buckets from the head (16,448; tied: 64) over three layers (30,848 each) to the embedding (16,384).
static const struct bucket_case buckets[] = {
    { "no limit: one bucket", 0, false, 1, 1, { { 125376, 0 } } },
    // 16,448 + 30,848 -> one, 7,296 left; two layers -> one, 28,992 left; embedding -> one, 5,376 left
    { "cut inside a layer", 160000, false, 3, 4, { { 40000, 0 }, { 40000, 1 }, { 40000, 2 }, { 5376, 2 } } },
    { "exactly full at the end of a layer", 4 * 78144, false, 2, 2, { { 78144, 0 }, { 47232, 1 } } },
    { "exactly full at the very end", 4 * 62688, false, 2, 2, { { 62688, 0 }, { 62688, 1 } } },
    { "one from each part",
      4 * 30000 + 3,
      false,
      4,
      5,
      { { 30000, 0 }, { 30000, 1 }, { 30000, 2 }, { 30000, 3 }, { 5376, 3 } } },
    { "smaller than a part",
      4 * 20000,
      false,
      4,
      7,
      { { 20000, 0 }, { 20000, 0 }, { 20000, 1 }, { 20000, 2 }, { 20000, 2 }, { 20000, 3 }, { 5376, 3 } } },
    // tied: 64 + 3 x 30,848 = 92,608 before the table
    { "a tied table is complete at the end", 4 * 92608, true, 2, 2, { { 92608, 0 }, { 16384, 1 } } },
};

static void buckets_match(void **state)
{
    const struct bucket_case *c = *state;
    void *bench_ = NULL;
    assert_int_equal(enter(&bench_), 0);
    bench *b = bench_;
    b->model.tied_embeddings = c->tied;
    assert_true(build(b));
    const work whole = b->costs.backward;
    b->settings.memory.bucket_bytes = c->bucket_bytes;
    assert_true(build(b));
    assert_int_equal(b->costs.piece_count, c->pieces);
    assert_int_equal(b->costs.bucket_count, c->count);
    uint64_t elements = 0;
    for (uint32_t i = 0; i < c->count; i++) {
        assert_int_equal(b->costs.buckets[i].elements, c->want[i].elements);
        assert_int_equal(b->costs.buckets[i].piece, c->want[i].piece);
        elements += b->costs.buckets[i].elements;
    }
    assert_int_equal(elements, memory_parameters_here(&b->model, &b->settings.memory));

    work sum = { 0 };
    for (uint32_t i = 0; i < c->pieces; i++) {
        const work *piece = &b->costs.pieces[i];
        assert_true(piece->duration_ps > 0);
        sum.duration_ps += piece->duration_ps;
        sum.launch_ps += piece->launch_ps;
        sum.recompute_ps += piece->recompute_ps;
        sum.flop += piece->flop;
        sum.bytes += piece->bytes;
        sum.kernels += piece->kernels;
    }
    assert_int_equal(sum.duration_ps, whole.duration_ps);
    assert_int_equal(sum.launch_ps, whole.launch_ps);
    assert_int_equal(sum.recompute_ps, whole.recompute_ps);
    assert_int_equal(sum.kernels, whole.kernels);
    assert_near(sum.flop, whole.flop, 1e-12);
    assert_near(sum.bytes, whole.bytes, 1e-12);
    assert_int_equal(b->costs.backward.duration_ps, whole.duration_ps);
    leave(&bench_);
}

// 1 B is less than an element: a bucket for each.
static void a_bucket_holds_an_element_at_least(void **state)
{
    bench *b = *state;
    b->settings.memory.bucket_bytes = 1;
    assert_true(build(b));
    assert_int_equal(b->costs.bucket_count, TINY_PARAMETERS);
    assert_int_equal(b->costs.piece_count, 5);
}

// With a host that takes no time and layers alone, what is computed again is the forward pass, and nothing waits.
static void full_recomputation_is_the_forward_pass(void **state)
{
    bench *b = *state;
    b->gpu.launch_s = 0;
    b->settings.memory.has_embedding = b->settings.memory.has_head = false;
    assert_true(build(b));
    const work backward = b->costs.backward;
    assert_int_equal(backward.recompute_ps, 0);
    b->settings.memory.recompute = RECOMPUTE_FULL;
    assert_true(build(b));
    assert_int_equal(b->costs.backward.recompute_ps, b->costs.forward.duration_ps);
    assert_int_equal(b->costs.backward.duration_ps, backward.duration_ps + b->costs.forward.duration_ps);
    assert_int_equal(b->costs.backward.launch_ps + b->costs.forward.launch_ps, 0);
    assert_near(b->costs.backward.flop, backward.flop + b->costs.forward.flop, 1e-12);
}

static uint64_t calls_of(const pass_costs *costs, const char *name)
{
    uint64_t calls = 0;
    for (uint32_t i = 0; i < costs->kernel_count; i++)
        if (strcmp(costs->kernels[i].shape.name, name) == 0) calls += costs->kernels[i].calls;
    return calls;
}

// Five micro-batches of three layers; a kernel that is computed again is the same kernel, called more often.
static void distinct_kernels_are_counted(void **state)
{
    bench *b = *state;
    assert_true(build(b));
    for (uint32_t i = 0; i < b->costs.kernel_count; i++)
        for (uint32_t j = 0; j < i; j++)
            assert_false(
                memcmp(&b->costs.kernels[i].shape, &b->costs.kernels[j].shape, sizeof(kernel_shape)) == 0);
    assert_int_equal(calls_of(&b->costs, "embedding.gather"), 5);
    assert_int_equal(calls_of(&b->costs, "attention.core"), 15);
    assert_int_equal(calls_of(&b->costs, "attention.core.backward"), 15);
    assert_int_equal(calls_of(&b->costs, "head.logits"), 5);
    assert_int_equal(calls_of(&b->costs, "optimizer.adam"), 1);
    const uint32_t before = b->costs.kernel_count;
    b->settings.memory.recompute = RECOMPUTE_FULL;
    assert_true(build(b));
    assert_int_equal(b->costs.kernel_count, before);
    assert_int_equal(calls_of(&b->costs, "attention.core"), 30);
}

// A slower clock never makes a pass faster, and a pass takes at least what the host needs for its calls.
static void a_slow_gpu_takes_longer(void **state)
{
    bench *b = *state;
    b->gpu.launch_s = 0;
    assert_true(build(b));
    const pass_costs healthy = b->costs;
    b->settings.clock_ratio = 0.5;
    assert_true(build(b));
    assert_true(b->costs.forward.duration_ps > healthy.forward.duration_ps);
    assert_int_equal(b->costs.bucket_count, healthy.bucket_count);
    b->settings.clock_ratio = 1.0;
    b->settings.memory_ratio = 0.5;
    assert_true(build(b));
    // The three kernels of the optimizer are memory's alone: 100,300.8 + 200,601.6 + 752,256 ns, and 300 each.
    assert_int_equal(b->costs.optimizer.duration_ps, 1054059 * PS_PER_NS);
}

static void impossible_numbers_are_refused(void **state)
{
    bench *b = *state;
    b->gpu.memory_rate_Bps = 20;
    assert_false(build(b));
    assert_error_prints(
        &b->error, "windtunnel: error: kernel \"embedding.gather\" would take longer than 1000 s on tiny\n"
                   "  hint: the GPU's peaks, rates and efficiencies, or the micro-batch, are out of range\n");

    b->gpu.memory_rate_Bps = 300;
    b->settings.memory.has_head = false;
    b->settings.memory.layers_here = 100;
    assert_false(build(b));
    assert_error_prints(&b->error,
                        "windtunnel: error: one pass of a micro-batch would take longer than a day\n"
                        "  hint: layers, micro-batch or the GPU's numbers are out of range\n");

    // 1.2e15 parameters, 3 x 57 million launches of a second each: 1.7e20 ps, beyond 64 bits.
    b->gpu = tiny_gpu();
    b->gpu.memory_rate_Bps = b->gpu.vector_flops = 1e18;
    for (int type = 0; type < DTYPES; type++)
        b->gpu.peak_flops[type] = 1e18;
    b->gpu.kernel_overhead_s = 0;
    b->gpu.launch_s = 1;
    b->model.hidden = 1000000;
    b->model.ffn = 10000000;
    b->settings.memory.layers_here = b->model.layers = 40;
    assert_false(build(b));
    assert_string_equal(b->error.message, "one pass of a micro-batch would take longer than a day");
}

int main(void)
{
    struct CMUnitTest tests[ARRAY_COUNT(optimizers) + ARRAY_COUNT(buckets) + 6];
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_COUNT(optimizers); i++)
        tests[n++] = (struct CMUnitTest){ optimizers[i].name, optimizer_matches, NULL, NULL,
                                          (void *)&optimizers[i] };
    for (size_t i = 0; i < ARRAY_COUNT(buckets); i++)
        tests[n++] = (struct CMUnitTest){ buckets[i].name, buckets_match, NULL, NULL, (void *)&buckets[i] };
#define WITH_BENCH(test_) (struct CMUnitTest) cmocka_unit_test_setup_teardown(test_, enter, leave)
    tests[n++] = WITH_BENCH(three_kernels_and_their_host_by_hand);
    tests[n++] = WITH_BENCH(a_bucket_holds_an_element_at_least);
    tests[n++] = WITH_BENCH(full_recomputation_is_the_forward_pass);
    tests[n++] = WITH_BENCH(distinct_kernels_are_counted);
    tests[n++] = WITH_BENCH(a_slow_gpu_takes_longer);
    tests[n++] = WITH_BENCH(impossible_numbers_are_refused);
    SIM_ASSERT(n == ARRAY_COUNT(tests));
    return cmocka_run_group_tests_name("pass", tests, NULL, NULL);
}
