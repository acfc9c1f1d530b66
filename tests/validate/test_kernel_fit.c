// SPDX-License-Identifier: GPL-3.0-or-later
// Kernel sets made from a folder of made-up measurements, on GPUs of the catalogue.
#include "tests/support/scratch.h"

#include "tests/support/text.h"
#include "validate/kernel_fit.h"

static const char split[] = "table,source,gpu,dtype,role,kernels,program,why\n"
                            "gemm,*,H100X,,fit,lender,,\n";
static const char sets[] =
    "kernels,gpu,like,flash,stream_efficiency,stream_grade,stream_source,overhead_gpu,overhead_grade\n"
    "lender,h100-sxm,,fa2,0.71,measured,copies,H100X,measured\n"
    "kin,h200-sxm,lender,fa3,0.73,assumed,guess,H100X,assumed\n";
static const char assumed[] = "kernels,program,head_size,length,forward_tflops,backward_tflops,source\n"
                              "lender,fa2,64,1024,123.675,98.94,recalled\n"
                              "lender,fa2,64,4096,247.35,197.88,recalled\n";
static const char overlap[] = "topic,gpu,setting,value,unit\n"
                              "launch,H100X,\"kernels, one launch\",0.9,us\n"
                              "launch,H100X,\"kernels, separate launches\",2350,ns\n";
static const char attention[] = "gpu,impl,dtype,pass,causal,batch,seqlen,heads,head_dim,time_ms,provenance\n";

// 36 products of three depths at 600 TFLOP/s and 5 us each.
static void write_products(void)
{
    FILE *out = fopen("measured/gemm.csv", "w");
    assert_non_null(out);
    fputs("gpu,dtype,m,n,k,time_us,lib,kind,provenance\n", out);
    for (int m = 1; m <= 4; m++)
        for (int n = 1; n <= 3; n++)
            for (int k = 1; k <= 3; k++) {
                const double flop = 2.0 * (768.0 * m) * (1024.0 * n) * (1280.0 * k);
                fprintf(out, "H100X,bf16,%d,%d,%d,%.6g,cuBLAS,gemm,github:a/b@c\n", 768 * m, 1024 * n,
                        1280 * k, flop / 600e6 + 5.0);
            }
    assert_int_equal(fclose(out), 0);
}

static void write_folder(void)
{
    scratch_write("measured/split.csv", split);
    scratch_write("measured/kernel_sets.csv", sets);
    scratch_write("measured/attention_assumed.csv", assumed);
    scratch_write("measured/overlap.csv", overlap);
    scratch_write("measured/attention.csv", attention);
    write_products();
}

static void tell_nobody(const char *line)
{
    (void)line;
}

static bool fit(arena *a, const scratch_folder *folder, const char *only, fitted_sets *out, sim_error *error)
{
    const catalogue parts = { arena_format(a, "%s/models/catalogue", folder->before) };
    const kernel_fit_options options = {
        .measured = "measured", .parts = &parts, .only = only, .tell = tell_nobody
    };
    return kernel_fit_all(a, &options, out, error);
}

static void assert_holds(const char *text, const char *part)
{
    if (!strstr(text, part)) fail_msg("\"%s\" is not in:\n%s", part, text);
}

static void what_a_set_lacks_is_lent(void **state)
{
    arena *a = arena_create("fit");
    sim_error error = { 0 };
    fitted_sets all = { 0 }, alone = { 0 };
    write_folder();
    if (!fit(a, *state, NULL, &all, &error) || !fit(a, *state, "kin", &alone, &error))
        fail_msg("%s", error.message);
    assert_int_equal(all.count, 2);
    const char *own = kernel_set_text(a, &all, &all.items[0], &error);
    assert_holds(own, "name: lender\nflash: fa2\nstream_efficiency:\n  value: 0.71\n  source: \"copies\"\n"
                      "  grade: measured\nkernel_overhead:\n  value: 2.35 us\n");
    assert_holds(own, "    source: \"gemm.csv: a/b, cuBLAS on H100X, 36 rows\"\n    grade: measured\n");
    assert_holds(own, "and bias: below 2,048 "); // no row has fewer than 512
    // Of 989.4 TFLOP/s: 123.675 is a share of 0.125, and so on.
    assert_holds(own, "  - program: fa2\n    head_size: 64\n    source: \"recalled\"\n    grade: assumed\n"
                      "    forward: [[1024, 0.125], [4096, 0.25]]\n"
                      "    backward: [[1024, 0.1], [4096, 0.2]]\n");
    const char *lent = kernel_set_text(a, &all, &all.items[1], &error);
    assert_holds(lent, "    source: \"the shares of lender; gemm.csv: a/b, cuBLAS on H100X, 36 rows\"\n"
                       "    grade: assumed\n");
    assert_holds(lent, "    source: \"the shares of lender; recalled\"\n");
    // Alone it is the same: whoever lends is fitted with it.
    assert_string_equal(alone.items[1].def->kernels, "kin");
    assert_string_equal(kernel_set_text(a, &alone, &alone.items[1], &error), lent);
    arena_destroy(a);
}

struct refusal {
    const char *name, *file, *text, *only, *message;
};
static const struct refusal refusals[] = {
    { "no set", NULL, NULL, "kim", "kernel_sets.csv has no set \"kim\"" },
    { "a lender that is no set", "measured/kernel_sets.csv",
      "kernels,gpu,like,flash,stream_efficiency,stream_grade,stream_source,overhead_gpu,overhead_grade\n"
      "kin,h200-sxm,lander,fa3,0.73,assumed,guess,H100X,assumed\n",
      NULL, "in kernel_sets.csv \"kin\" is like \"lander\", which is no set" },
    { "a set that is none", "measured/split.csv",
      "table,source,gpu,dtype,role,kernels,program,why\ngemm,*,H100X,,fit,lander,,\n", NULL,
      "kernel_sets.csv has no set \"lander\", which split.csv names" },
    { "no column", "measured/overlap.csv", "topic,gpu,setting,value\n", NULL,
      "the column \"unit\" is missing" },
    { "no overhead", "measured/overlap.csv", "topic,gpu,setting,value,unit\n", NULL,
      "overlap.csv has no launches apart on \"H100X\"" },
    { "no program", "measured/attention_assumed.csv",
      "kernels,program,head_size,length,forward_tflops,backward_tflops,source\n"
      "lender,fa9,64,1024,1,1,recalled\n",
      NULL, "rows[0].program cannot be \"fa9\"" },
};

static void mistakes_are_refused(void **state)
{
    for (size_t i = 0; i < ARRAY_COUNT(refusals); i++) {
        const struct refusal *r = &refusals[i];
        arena *a = arena_create("fit");
        sim_error error = { 0 };
        fitted_sets out = { 0 };
        write_folder();
        if (r->file) scratch_write(r->file, r->text);
        assert_false(fit(a, *state, r->only, &out, &error));
        assert_string_equal(error.message, r->message);
        arena_destroy(a);
    }
}

static void a_set_without_products_has_no_file(void **state)
{
    arena *a = arena_create("fit");
    sim_error error = { 0 };
    fitted_sets out = { 0 };
    write_folder();
    scratch_write("measured/gemm.csv", "gpu,dtype,m,n,k,time_us,lib,kind,provenance\n");
    assert_true(fit(a, *state, "lender", &out, &error));
    assert_null(kernel_set_text(a, &out, &out.items[0], &error));
    assert_string_equal(error.message, "kernel set lender has no products of 16 bit, of its own or lent");
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_a_set_lacks_is_lent, scratch_enter, scratch_leave),
        cmocka_unit_test_setup_teardown(mistakes_are_refused, scratch_enter, scratch_leave),
        cmocka_unit_test_setup_teardown(a_set_without_products_has_no_file, scratch_enter, scratch_leave),
    };
    return cmocka_run_group_tests_name("kernel_fit", tests, NULL, NULL);
}
