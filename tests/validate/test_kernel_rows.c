// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/scratch.h"

#include "tests/support/text.h"
#include "validate/kernel_rows.h"

#define GEMM "gpu,dtype,m,n,k,groups,time_us,lib,kind,provenance,notes,out_dtype,accumulate\n"
#define ATTENTION                                                                                            \
    "gpu,impl,dtype,pass,causal,batch,seqlen,heads,head_dim,time_ms,provenance,head_dim_v,window\n"
#define ELEMENTWISE "gpu,op,pass,dtype,bytes,time_us,impl,provenance\n"

static bool read_text(arena *a, const char *text, measured_kernel_array *out, sim_error *error)
{
    FILE *file = fopen("rows.csv", "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    return kernel_rows_read(a, "rows.csv", out, error);
}

static void rows_of_each_table_are_read(void **state)
{
    (void)state;
    arena *a = arena_create("rows");
    sim_error error = { 0 };
    measured_kernel_array rows = { 0 };
    assert_true(
        read_text(a,
                  GEMM "A100,fp16,4096,12288,512,3,1911.5,torch cuBLAS (graph off),wgrad,"
                       "github:microsoft/vidur@7d47:data/x.csv,includes dynamic activation quantise,fp32,1\n",
                  &rows, &error));
    const measured_kernel *r = &rows.items[0];
    assert_int_equal(r->table, MEASURED_GEMM);
    assert_int_equal(r->line, 2);
    assert_string_equal(r->source, "microsoft/vidur, torch cuBLAS");
    assert_int_equal(r->batch, 3);
    assert_int_equal(r->m, 4096);
    assert_int_equal(r->n, 12288);
    assert_int_equal(r->k, 512);
    assert_near(r->time_s, 1911.5e-6, 1e-12);
    assert_near(r->result_bytes, 8.0, 1e-12); // read and written as fp32
    assert_true(r->quantises);
    assert_null(r->unknown);
    assert_near(measured_kernel_flop(r), 2.0 * 3 * 4096 * 12288 * 512.0, 1e-12);

    assert_true(read_text(
        a, ATTENTION "H100,FA (x),bf16,bwd,True,2,1024,6,192,0.5,https://github.com/o/r/pull/7,128,\n", &rows,
        &error));
    r = &rows.items[1];
    assert_string_equal(r->source, "o/r/pull/7, FA");
    assert_int_equal(r->batch, 12);
    assert_int_equal(r->k, 192);
    assert_false(r->full_mask);
    assert_int_equal(r->pass, PASS_ONLY_BACKWARD);
    assert_near(measured_kernel_flop(r), 5.0 * (192 + 128) * 12 * 1024 * 1024 / 2.0, 1e-12);

    assert_true(read_text(a, ELEMENTWISE "H100,rms_norm,fwd,bf16,1000,2.5,,\n", &rows, &error));
    r = &rows.items[2];
    assert_string_equal(r->what, "rms_norm fwd");
    assert_string_equal(r->source, "not stated");
    assert_near(r->bytes, 1000.0, 1e-12);
    arena_destroy(a);
}

struct unknown_case {
    const char *name, *text, *want;
};
static const struct unknown_case unknowns[] = {
    { "no number", GEMM "A100,fp16,many,8,8,1,1,x,gemm,y,,,\n", "m \"many\" is no number" },
    { "no time", GEMM "A100,fp16,8,8,8,1,,x,gemm,y,,,\n", "no value of time_us was published" },
    { "a time of zero", GEMM "A100,fp16,8,8,8,1,0,x,gemm,y,,,\n", "time_us is not above zero" },
    { "a fraction", GEMM "A100,fp16,8.5,8,8,1,1,x,gemm,y,,,\n",
      "m 8.5 is no whole number from 1 to 100000000" },
    { "many", GEMM "A100,fp16,1e9,8,8,1,1,x,gemm,y,,,\n", "m 1e9 is no whole number from 1 to 100000000" },
    { "a time of ages", GEMM "A100,fp16,8,8,8,1,1e300,x,gemm,y,,,\n",
      "time_us 1e300 is longer than any kernel" },
    { "a format", GEMM "A100,fp16,8,8,8,1,1,x,gemm,y,,fp23,\n",
      "out_dtype \"fp23\" is none of fp16, bf16, fp32" },
    { "neither yes nor no", GEMM "A100,fp16,8,8,8,1,1,x,gemm,y,,,yes\n",
      "accumulate \"yes\" is none of 0, 1" },
    { "grouped", GEMM "A100,fp16,8,8,8,1,1,x,grouped forward,y,,,\n",
      "grouped products are not modelled in this version" },
    { "tuned", GEMM "A100,fp16,8,8,8,1,1,x,best-of-kernels (tuned),y,,,\n",
      "a choice over many kernels, not a library's" },
    { "a pass of training", ATTENTION "H100,FA,bf16,end to end,True,1,1,1,1,1,x,,\n",
      "neither fwd, bwd nor fwd+bwd" },
    { "no mask", ATTENTION "H100,FA,bf16,fwd,any,1,1,1,1,1,x,,\n", "no mask was published" },
    { "a window", ATTENTION "H100,FA,bf16,fwd,True,1,1,1,1,1,x,,128\n",
      "windows are not modelled in this version" },
    { "no bytes moved", ELEMENTWISE "H100,copy,,bf16,0,1,x,y\n", "it moves no bytes" },
    { "bytes of a data centre", ELEMENTWISE "H100,copy,,bf16,1e300,1,x,y\n",
      "it moves more bytes than any kernel" },
};

static void what_cannot_be_compared_says_why(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(unknowns); i++) {
        arena *a = arena_create("rows");
        sim_error error = { 0 };
        measured_kernel_array rows = { 0 };
        assert_true(read_text(a, unknowns[i].text, &rows, &error));
        assert_int_equal(rows.count, 1);
        assert_string_equal(rows.items[0].unknown, unknowns[i].want);
        arena_destroy(a);
    }
}

static void other_tables_are_refused(void **state)
{
    (void)state;
    static const char *const tables[][2] = {
        { "gpu,dtype,m,n,time_us,lib,kind\nx,y,1,1,1,z,gemm\n",
          "rows.csv:1:1: error: these are not the columns of gemm.csv, attention.csv or elementwise.csv of "
          "measured kernels\n"
          "    1 | gpu,dtype,m,n,time_us,lib,kind\n"
          "      | ^\n"
          "  hint: nearest is gemm.csv, of which it lacks k, provenance\n" },
        { "a,b\n1\n",
          "rows.csv:1:1: error: these are not the columns of gemm.csv, attention.csv or elementwise.csv of "
          "measured kernels\n"
          "    1 | a,b\n"
          "      | ^\n"
          "  hint: nearest is elementwise.csv, of which it lacks gpu, op, pass, dtype, bytes, time_us, "
          "impl, provenance\n" },
    };
    for (size_t i = 0; i < ARRAY_COUNT(tables); i++) {
        arena *a = arena_create("rows");
        sim_error error = { 0 };
        measured_kernel_array rows = { 0 };
        assert_false(read_text(a, tables[i][0], &rows, &error));
        assert_int_equal(error.exit_code, SIM_EXIT_INPUT);
        assert_error_prints(&error, tables[i][1]);
        arena_destroy(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_of_each_table_are_read, scratch_enter, scratch_leave),
        cmocka_unit_test_setup_teardown(what_cannot_be_compared_says_why, scratch_enter, scratch_leave),
        cmocka_unit_test_setup_teardown(other_tables_are_refused, scratch_enter, scratch_leave),
    };
    return cmocka_run_group_tests_name("kernel_rows", tests, NULL, NULL);
}
