// SPDX-License-Identifier: GPL-3.0-or-later
// What fields of measured steps may hold, one by one and together.
#include "tests/support/scratch.h"

#include "tests/support/text.h"
#include "validate/training_field.h"
#include <string.h>

#define WHOLE(greatest_) "a whole number from 1 to " greatest_ ", or nothing where it is not published"
#define NUMBER(least_, greatest_)                                                                            \
    "a number from " least_ " to " greatest_ ", or nothing where it is not published"

static const struct refused_field {
    training_column column;
    const char *text, *why, *hint; // behind "step_time_s cannot be "
} refused[] = {
    { COLUMN_STEP_TIME_S, "1e300", "\"1e300\": the greatest is 1000000", NUMBER("1e-06", "1000000") },
    { COLUMN_STEP_TIME_S, "0", "\"0\": the least is 1e-06", NUMBER("1e-06", "1000000") },
    { COLUMN_STEP_TIME_S, "1 s", "\"1 s\": that is no number", NUMBER("1e-06", "1000000") },
    { COLUMN_STEP_TIME_S, "90 %", "\"90 %\": that is no number", NUMBER("1e-06", "1000000") },
    { COLUMN_STEP_TIME_S, "inf", "\"inf\": that is no number", NUMBER("1e-06", "1000000") },
    { COLUMN_TOKENS_PER_S_PER_GPU, "-3", "\"-3\": the least is 1e-06", NUMBER("1e-06", "1e+09") },
    { COLUMN_TFLOPS_PER_GPU, "0", "\"0\": the least is 1e-06", NUMBER("1e-06", "1000000") },
    { COLUMN_PARAMS_B, "foo", "\"foo\": that is no number", NUMBER("1e-06", "1000000") },
    { COLUMN_MFU, "38.3", "\"38.3\": the greatest is 1", NUMBER("1e-06", "1") },
    { COLUMN_MEM_GB, "0", "\"0\": the least is 1e-06", NUMBER("1e-06", "100000") },
    { COLUMN_YEAR, "23", "\"23\": the least is 1990",
      "a whole number from 1990 to 2100, or nothing where it is not published" },
    { COLUMN_DP, "0", "\"0\": the least is 1", WHOLE("1000000") },
    { COLUMN_DP, "1e300", "\"1e300\": the greatest is 1000000", WHOLE("1000000") },
    { COLUMN_GPUS, "7.6", "\"7.6\": that is no whole number, the nearest is 8", WHOLE("1000000") },
    { COLUMN_EP, "0", "\"0\": the least is 1", WHOLE("1000000") },
    { COLUMN_TOPK, "0", "\"0\": the least is 1", WHOLE("100000") },
    { COLUMN_GPUS_PER_NODE, "0", "\"0\": the least is 1", WHOLE("1024") },
    { COLUMN_SP, "foo", "\"foo\": that is no number",
      "a whole number from 0 to 1, or nothing where it is not published" },
    { COLUMN_SP, "nan", "\"nan\": that is no number",
      "a whole number from 0 to 1, or nothing where it is not published" },
    { COLUMN_SP, "-1", "\"-1\": the least is 0",
      "a whole number from 0 to 1, or nothing where it is not published" },
    { COLUMN_ZERO_STAGE, "4", "\"4\": the greatest is 3",
      "a whole number from 0 to 3, or nothing where it is not published" },
    { COLUMN_SHARDING, "ZeRO-12", "\"ZeRO-12\"", "did you mean \"ZeRO-1\"?" }, // not ZeRO-1 of 2
    { COLUMN_RECOMPUTE, "full (all)", "\"full (all)\"", "one of: none, full, selective" },
    { COLUMN_DTYPE, "bf61", "\"bf61\"", "did you mean \"bf16\"?" },
    { COLUMN_FLOPS_KIND, "both", "\"both\"", "one of: model, hardware" },
};

static void what_no_measurement_can_have_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(refused); i++) {
        arena *a = arena_create("test");
        sim_error error = { 0 };
        const char *text;
        const csv_field field = { .text = refused[i].text,
                                  .place = { .file = "t.csv", .line = 3, .column = 7 } };
        assert_false(training_field_read(a, refused[i].column, &field, &text, &error));
        assert_string_equal(
            error.message,
            arena_format(a, "%s cannot be %s", training_column_words[refused[i].column], refused[i].why));
        assert_string_equal(error.hint, refused[i].hint);
        assert_int_equal(error.exit_code, SIM_EXIT_INPUT);
        assert_int_equal(error.line, 3);
        assert_int_equal(error.column, 7);
        arena_destroy(a);
    }
}

static void fields_are_read(void **state)
{
    (void)state;
    static const struct {
        training_column column;
        const char *text, *want;
    } cases[] = {
        { COLUMN_GPUS, "8.0", "8" },
        { COLUMN_GPUS, "1e3", "1000" },
        { COLUMN_SP, "", "" },
        { COLUMN_STEP_TIME_S, "0.08816", "0.08816" },
        { COLUMN_SHARDING, "FSDP2 degree 8", "FSDP2 degree 8" },
        { COLUMN_SHARDING, "FSDP+DP", "FSDP+DP" },
        { COLUMN_SHARDING, "DDP, no gradient bucketing", "DDP, no gradient bucketing" },
        { COLUMN_RECOMPUTE, "selective (op)", "selective (op)" },
        { COLUMN_DTYPE, "fp8-cs", "fp8-cs" },
        { COLUMN_NOTES, "-1 foo", "-1 foo" },
    };
    arena *a = arena_create("test");
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        sim_error error = { 0 };
        const char *text;
        const csv_field field = { .text = cases[i].text };
        assert_true(training_field_read(a, cases[i].column, &field, &text, &error));
        assert_string_equal(text, cases[i].want);
    }
    arena_destroy(a);
}

static training_row row_of(void) // two replicas of two stages of two GPUs, two micro-batches each
{
    training_row row;
    for (int c = 0; c < TRAINING_COLUMNS; c++)
        row.fields[c] = "";
    row.fields[COLUMN_HIDDEN] = "1024";
    row.fields[COLUMN_HEADS] = "16";
    row.fields[COLUMN_GPUS] = "8";
    row.fields[COLUMN_TP] = row.fields[COLUMN_PP] = "2";
    row.fields[COLUMN_MICRO_BATCH] = "1";
    row.fields[COLUMN_GLOBAL_BATCH_SEQS] = "4";
    return row;
}

static void layouts_that_cannot_be_say_why(void **state)
{
    (void)state;
    static const struct {
        training_column column;
        const char *text;
        training_column other;
        const char *other_text, *want;
    } cases[] = {
        { COLUMN_DP, "2", COLUMN_SP, "1", NULL },
        { COLUMN_HEADS, "10", COLUMN_NOTES, "", "heads 10 does not divide hidden 1024; nearest is 8" },
        { COLUMN_KV_HEADS, "3", COLUMN_NOTES, "", "kv_heads 3 does not divide heads 16; nearest is 2" },
        { COLUMN_TP, "3", COLUMN_NOTES, "", "tp 3 does not divide heads 16; nearest is 2" },
        { COLUMN_KV_HEADS, "1", COLUMN_NOTES, "", "tp 2 does not divide kv_heads 1; nearest is 1" },
        { COLUMN_FFN, "4095", COLUMN_NOTES, "", "tp 2 does not divide ffn 4095; nearest is 1" },
        { COLUMN_DP, "3", COLUMN_NOTES, "", "tp 2 x pp 2 x dp 3 are not gpus 8; dp 2 would be" },
        { COLUMN_CP, "2", COLUMN_DP, "2", "tp 2 x pp 2 x cp 2 x dp 2 are not gpus 8; dp 1 would be" },
        { COLUMN_PP, "3", COLUMN_NOTES, "", "tp 2 x pp 3 do not divide gpus 8; nearest is 6" },
        { COLUMN_PP, "1000000", COLUMN_CP, "1000000",
          "tp 2 x pp 1000000 x cp 1000000 want at least 2000000000000 GPUs, but gpus is 8" },
        { COLUMN_GLOBAL_BATCH_SEQS, "5", COLUMN_NOTES, "",
          "global_batch_seqs 5 is no multiple of micro_batch 1 x 2 replicas; nearest is 4" },
        { COLUMN_GLOBAL_BATCH_SEQS, "1", COLUMN_NOTES, "",
          "global_batch_seqs 1 is no multiple of micro_batch 1 x 2 replicas; nearest is 2" },
        { COLUMN_GLOBAL_BATCH_SEQS, "5", COLUMN_MICRO_BATCH, "", NULL },
        { COLUMN_VPP, "2", COLUMN_PP, "1", "vpp 2 with pp 1; vpp 1 or pp 2 would be" },
        { COLUMN_SP, "1", COLUMN_TP, "1", "sp 1 with tp 1; sp 0 or tp 2 would be" },
        { COLUMN_TOPK, "2", COLUMN_NOTES, "",
          "topk without experts: leave it empty where the model has none" },
        { COLUMN_EP, "2", COLUMN_NOTES, "", "ep 2 without experts; ep 1 would be" },
        { COLUMN_EP, "1", COLUMN_NOTES, "", NULL },
        { COLUMN_EP, "3", COLUMN_EXPERTS, "8", "ep 3 does not divide experts 8; nearest is 2" },
        { COLUMN_TOPK, "9", COLUMN_EXPERTS, "8", "topk 9 of experts 8; at most 8" },
        { COLUMN_ZERO_STAGE, "0", COLUMN_SHARDING, "ZeRO-1, all ranks",
          "zero_stage 0 is not what sharding \"ZeRO-1\" is; zero_stage 1 would be" },
        { COLUMN_ZERO_STAGE, "3", COLUMN_SHARDING, "DDP",
          "zero_stage 3 is not what sharding \"DDP\" is; zero_stage 0 would be" },
        { COLUMN_ZERO_STAGE, "2", COLUMN_SHARDING, "FSDP (params not resharded)", NULL },
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        arena *a = arena_create("test");
        training_row row = row_of();
        row.fields[cases[i].column] = cases[i].text;
        row.fields[cases[i].other] = cases[i].other_text;
        const char *why = training_layout_refusal(a, &row);
        if (cases[i].want && why)
            assert_string_equal(why, cases[i].want);
        else if (cases[i].want || why)
            fail_msg("%s instead of %s", why, cases[i].want);
        arena_destroy(a);
    }
}

static void stages_follow_from_either_column(void **state)
{
    (void)state;
    training_row row = row_of();
    assert_int_equal(training_zero_stage(&row), -1);
    row.fields[COLUMN_SHARDING] = "distributed optimizer, by a flag";
    assert_int_equal(training_zero_stage(&row), 1);
    row.fields[COLUMN_SHARDING] = "FSDP2";
    assert_int_equal(training_zero_stage(&row), 2);
    row.fields[COLUMN_ZERO_STAGE] = "3";
    assert_int_equal(training_zero_stage(&row), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_no_measurement_can_have_is_refused),
        cmocka_unit_test(fields_are_read),
        cmocka_unit_test(layouts_that_cannot_be_say_why),
        cmocka_unit_test(stages_follow_from_either_column),
    };
    return cmocka_run_group_tests_name("training_field", tests, NULL, NULL);
}
