// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "validate/kernel_model.h"
#include "validate/kernel_suite.h"

static const catalogue parts = { "models/catalogue" }; // tests run in the root of the source tree

static void build(arena *a, kernel_suite *out)
{
    const kernel_suite_options options = { .measured = "validate/measured", .parts = &parts };
    sim_error error = { 0 };
    if (kernel_suite_build(a, &options, out, &error)) return;
    sim_error_print(&error, stderr);
    fail();
}

// Every row is simulated or says why not; the aims are met where a set was fitted.
static void published_kernels_are_predicted(void **state)
{
    (void)state;
    arena *a = arena_create("suite");
    kernel_suite suite;
    build(a, &suite);
    assert_int_equal(suite.rows.count, suite.of.count);
    uint32_t known = 0;
    for (uint32_t i = 0; i < suite.rows.count; i++) {
        const compared_row *row = &suite.rows.items[i];
        known += row->unknown_reason == NULL;
        assert_true((row->unknown_reason != NULL) == !(row->simulated > 0.0));
    }
    assert_true(known > 9000);
    for (int aim = 0; aim < AIMS; aim++) {
        const aimed_gpu_array gpus = kernel_suite_aim(a, &suite, (kernel_aim)aim);
        assert_true(gpus.count >= 5);
        for (uint32_t i = 0; i < gpus.count; i++)
            assert_true(gpus.items[i].fit_rows == 0 ||
                        gpus.items[i].fit_median <= kernel_aim_median((kernel_aim)aim));
    }
    arena_destroy(a);
}

// Whole sources that no set was fitted to: what their median error is, and may not exceed.
static void sources_held_back_are_predicted(void **state)
{
    (void)state;
    static const struct {
        const char *source;
        double median;
    } held[] = {
        { "MooreThreads/SimuMax, Transformer Engine general_gemm; A100-PCIe-80GB bf16; held", 0.05 },
        { "ai-dynamo/aiconfigurator, TensorRT-LLM 1.3.0rc20; H200-SXM-141GB bf16; held", 0.05 },
        { "ai-dynamo/aiconfigurator, FlashAttention-2; A100-SXM4-80GB bf16; held", 0.10 },
        { "ai-dynamo/aiconfigurator, FlashAttention-3; H100-SXM5-80GB bf16; held", 0.11 },
        { "ai-dynamo/aiconfigurator, FlashAttention-3 class; H200-SXM-141GB bf16; held", 0.10 },
        { "MooreThreads/SimuMax, Transformer Engine attention; A100-PCIe-80GB bf16; held", 0.12 },
    };
    arena *a = arena_create("suite");
    kernel_suite suite;
    build(a, &suite);
    const compared_source_array sources = compare_sources(a, &suite.rows);
    for (size_t i = 0; i < ARRAY_COUNT(held); i++) {
        uint32_t j = 0;
        while (j < sources.count && strcmp(sources.items[j].source, held[i].source) != 0)
            j++;
        assert_true(j < sources.count);
        assert_true(sources.items[j].n > 20);
        assert_true(sources.items[j].median <= held[i].median);
    }
    arena_destroy(a);
}

static void every_set_of_the_split_is_made(void **state)
{
    (void)state;
    arena *a = arena_create("split");
    sim_error error = { 0 };
    kernel_split split;
    assert_true(kernel_split_read(a, "validate/measured", &split, &error));
    for (uint32_t i = 0; i < split.rows.count; i++)
        if (strcmp(split.rows.items[i].table, "collectives") != 0)
            assert_non_null(kernel_split_set(&split, split.rows.items[i].kernels));
    for (uint32_t i = 0; i < split.sets.count; i++) {
        gpu_def gpu;
        assert_true(
            kernel_model_gpu(a, &parts, split.sets.items[i].gpu, split.sets.items[i].kernels, &gpu, &error));
    }
    arena_destroy(a);
}

static void a_row_of_its_own_recipe_wants_a_line_of_its_own(void **state)
{
    (void)state;
    arena *a = arena_create("split");
    sim_error error = { 0 };
    kernel_split split;
    assert_true(kernel_split_read(a, "validate/measured", &split, &error));
    measured_kernel row = { .table = MEASURED_GEMM,
                            .gpu = "H100-SXM5-80GB",
                            .dtype = "fp8",
                            .source = "ai-dynamo/aiconfigurator, TensorRT-LLM 1.3.0rc20" };
    assert_string_equal(kernel_split_of(&split, &row)->kernels, "h100-burst");
    row.dtype = "fp8(block-scaled)";
    assert_string_equal(kernel_split_of(&split, &row)->kernels, "h100-block");
    row.source = "somebody";
    assert_null(kernel_split_of(&split, &row));
    row.dtype = "bf16"; // any source on a known GPU
    assert_string_equal(kernel_split_of(&split, &row)->kernels, "h100");
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_kernels_are_predicted),
        cmocka_unit_test(sources_held_back_are_predicted),
        cmocka_unit_test(every_set_of_the_split_is_made),
        cmocka_unit_test(a_row_of_its_own_recipe_wants_a_line_of_its_own),
    };
    return cmocka_run_group_tests_name("kernel_suite", tests, NULL, NULL);
}
