// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "models/hardware/gpu.h"
#include "sim/array.h"
#include "tests/support/text.h"

#define GPU_UP_TO_CURVES                                                                                     \
    "name: odd\n"                                                                                            \
    "architecture: none\n"                                                                                   \
    "multiprocessors: 131\n"                                                                                 \
    "peak: { bf16: 937.3 TFLOP/s, fp8: 1.8741 PFLOP/s }\n"                                                   \
    "vector: 61.7 TFLOP/s\n"                                                                                 \
    "memory: 79 GiB\n"                                                                                       \
    "memory_rate: 3117 GB/s\n"                                                                               \
    "reserved_memory: 1.75 GiB\n"                                                                            \
    "power: 691 W\n"                                                                                         \
    "clock_ratio: 0.871\n"                                                                                   \
    "kernel_overhead: 2.37 us\n"                                                                             \
    "launch: 11.9 us\n"
#define OTHER_CURVES                                                                                         \
    "attention_forward_efficiency: [[700, 0.211], [5300, 0.347]]\n"                                          \
    "attention_backward_efficiency: [[900, 0.173], [4700, 0.289]]\n"                                         \
    "memory_efficiency: [[1.1 MB, 0.613], [230 MB, 0.817]]\n"

static bool read_gpu(arena *a, const char *text, gpu_def *out, sim_error *error)
{
    document doc;
    assert_true(document_parse(a, "gpu.yaml", text, strlen(text), NULL, &doc, error));
    return bind_read(bind_reader_create(a, NULL, NULL), gpu_binds, doc.root, "", out, error);
}

static void every_key_fills_its_field(void **state)
{
    (void)state;
    arena *a = arena_create("gpu");
    gpu_def gpu;
    sim_error error = { 0 };
    assert_true(read_gpu(a,
                         GPU_UP_TO_CURVES
                         "matmul_efficiency: [[1.3e9, 0.217], [4.1e10, 0.563], [2.9e12, 1]]\n" OTHER_CURVES,
                         &gpu, &error));
    assert_string_equal(gpu.name, "odd");
    assert_string_equal(gpu.architecture, "none");
    assert_int_equal(gpu.multiprocessors, 131);
    assert_near(gpu.peak_flops[DTYPE_BF16], 937.3e12, 1e-9);
    assert_near(gpu.peak_flops[DTYPE_FP8], 1874.1e12, 1e-9);
    static const dtype absent[] = { DTYPE_FP32, DTYPE_TF32, DTYPE_FP16, DTYPE_FP4 };
    for (size_t i = 0; i < ARRAY_COUNT(absent); i++)
        assert_true(gpu.peak_flops[absent[i]] == 0.0);
    assert_near(gpu.vector_flops, 61.7e12, 1e-9);
    assert_int_equal(gpu.memory_bytes, UINT64_C(79) << 30);
    assert_near(gpu.memory_rate_Bps, 3117e9, 1e-9);
    assert_int_equal(gpu.reserved_bytes, UINT64_C(7) << 28);
    assert_near(gpu.power_W, 691.0, 1e-9);
    assert_near(gpu.clock_ratio, 0.871, 1e-9);
    assert_near(gpu.kernel_overhead_s, 2.37e-6, 1e-9);
    assert_near(gpu.launch_s, 11.9e-6, 1e-9);
    assert_int_equal(gpu.matmul.count, 3);
    assert_near(gpu.matmul.x[1], 4.1e10, 1e-9);
    assert_near(gpu.matmul.y[1], 0.563, 1e-9);
    assert_near(gpu.attention_forward.x[1], 5300.0, 1e-9);
    assert_near(gpu.attention_backward.y[0], 0.173, 1e-9);
    assert_near(gpu.memory.x[1], 230e6, 1e-9);
    arena_destroy(a);
}

struct refusal {
    const char *name, *curve, *want;
};
static const struct refusal refusals[] = {
    { "a size of zero", "[[0, 0.217], [4.1e10, 0.563]]",
      "gpu.yaml:13:20: error: point 1 of a curve lies at 0, not above zero\n"
      "   13 | matmul_efficiency: [[0, 0.217], [4.1e10, 0.563]]\n"
      "      |                    ^\n" },
    { "a share of zero", "[[1.3e9, 0.217], [4.1e10, 0]]",
      "gpu.yaml:13:20: error: point 2 of a curve has the share 0, which is not above 0 and at most 1\n"
      "   13 | matmul_efficiency: [[1.3e9, 0.217], [4.1e10, 0]]\n"
      "      |                    ^\n" },
    { "a share above one", "[[1.3e9, 1.217], [4.1e10, 0.563]]",
      "gpu.yaml:13:20: error: point 1 of a curve has the share 1.217, which is not above 0 and at most 1\n"
      "   13 | matmul_efficiency: [[1.3e9, 1.217], [4.1e10, 0.563]]\n"
      "      |                    ^\n" },
};

static void refused(void **state)
{
    const struct refusal *c = *state;
    arena *a = arena_create("gpu");
    gpu_def gpu;
    sim_error error = { 0 };
    const char *text = arena_format(a, GPU_UP_TO_CURVES "matmul_efficiency: %s\n" OTHER_CURVES, c->curve);
    assert_false(read_gpu(a, text, &gpu, &error));
    assert_int_equal(error.exit_code, SIM_EXIT_INPUT);
    assert_error_prints(&error, c->want);
    arena_destroy(a);
}

int main(void)
{
    enum { ROWS = ARRAY_COUNT(refusals) };
    struct CMUnitTest tests[ROWS + 1] = { [ROWS] = cmocka_unit_test(every_key_fills_its_field) };
    for (size_t i = 0; i < ROWS; i++)
        tests[i] = (struct CMUnitTest){ .name = refusals[i].name,
                                        .test_func = refused,
                                        .initial_state = (void *)&refusals[i] };
    return cmocka_run_group_tests_name("gpu", tests, NULL, NULL);
}
