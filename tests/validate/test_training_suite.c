// SPDX-License-Identifier: GPL-3.0-or-later
// Measured rows are played on the made-up parts of tests/cli/catalogue.
#include "tests/support/scratch.h"

#include "tests/support/near.h"

#include "sim/os.h"
#include "validate/results.h"
#include "validate/training_explain.h"
#include <stdlib.h>
#include <string.h>

#define HEADER                                                                                               \
    "id,source,model,layers,hidden,heads,seq_len,vocab,gpu,gpus,tp,pp,micro_batch,global_batch_seqs,step_"   \
    "time_s\n"

static const char rows[] = HEADER "first,A,m,2,1024,16,512,1000,CHIP,2,1,1,1,4,0.02\n"
                                  "big,A,m,2,1024,16,512,1000,CHIP,2,1,1,100000,200000,0.02\n"
                                  "open,A,m,2,1024,16,512,1000,CHIP,2,1,1,,8,1000\n"
                                  "torn,B,m,2,1024,16,512,1000,CHIP,2,3,1,1,4,0.02\n"
                                  "far,B,m,2,1024,16,512,1000,SHIP,2,1,1,1,4,0.02\n";

static const char rules[] =
    "- where: { gpu: CHIP }\n  evidence: e\n"
    "  set: { cluster.node: box, model.activation: gelu, model.norm: layernorm, model.position: "
    "none }\n"
    "- where: { id: open }\n  evidence: e\n  choices: { training.micro_batch: [1, 2, 4] }\n";

static training_options options_of(const scratch_folder *folder)
{
    static char parts[sizeof folder->before + 32];
    scratch_write("v/training/base.yaml", "windtunnel: 1\nrun: { steps: 1, trace: summary }\n");
    scratch_write("v/training/systems.yaml", rules);
    scratch_write("v/training/frameworks.yaml", "[]\n");
    scratch_write("v/training/limits.yaml", "[]\n");
    scratch_write("v/measured/training.csv", rows);
    assert_int_equal(setenv("WINDTUNNEL_VALIDATE", "v", 1), 0);
    snprintf(parts, sizeof parts, "%s/tests/cli/catalogue", folder->before);
    return (training_options){ .catalogue_path = parts, .jobs = 1 };
}

static void rows_are_played(void **state)
{
    arena *a = arena_create("test");
    sim_error error = { 0 };
    training_suite suite;
    training_options options = options_of(*state);
    played_case *played = NULL;
    if (!training_suite_open(a, &options, &suite, &error) ||
        !training_suite_play(&suite, &options, &played, &error))
        fail_msg("%s", error.message);
    assert_int_equal(suite.rows.count, 5);
    assert_int_equal(played[0].status, PLAYED_SCORED);
    assert_true(played[0].least_s > 0.0 && played[0].memory_ratio < 1.0);
    assert_int_equal(played[1].status, PLAYED_SCORED); // it ran, whatever is counted here
    assert_true(played[1].memory_ratio > 1.0);
    assert_int_equal(played[2].status, PLAYED_RANGE);
    assert_true(played[2].least_s < played[2].greatest_s);
    assert_non_null(strstr(played[2].reason, "not published: training.micro_batch 1 to 4; "));
    assert_non_null(strstr(played[2].reason, ", measured above"));
    assert_string_equal(played[3].reason, "tp 3 does not divide heads 16; nearest is 2");
    assert_string_equal(played[4].reason,
                        "column gpu: no catalogue GPU is called \"SHIP\"; nearest is \"CHIP\"");
    const compared_row_array compared = training_suite_compare(&suite, played);
    assert_null(compared.items[0].unknown_reason);
    assert_near(compared.items[0].simulated, played[0].least_s, 0);
    assert_string_equal(compared.items[2].unknown_reason, played[2].reason);
    arena_destroy(a);
}

static void processes_change_nothing(void **state)
{
    arena *a = arena_create("test");
    sim_error error = { 0 };
    training_options options = options_of(*state);
    char *text[2];
    for (uint32_t i = 0; i < 2; i++) {
        size_t length;
        training_suite suite;
        played_case *played = NULL;
        options.jobs = i + 1;
        assert_true(training_suite_open(a, &options, &suite, &error));
        assert_true(training_suite_play(&suite, &options, &played, &error));
        FILE *out = os_open_memory(&text[i], &length);
        results_write(&suite, played, out);
        assert_int_equal(fclose(out), 0);
    }
    assert_string_equal(text[0], text[1]);
    assert_non_null(
        strstr(text[0], "\ntorn,B,0.02,,,,,unknown,\"tp 3 does not divide heads 16; nearest is 2\"\n"));
    free(text[0]);
    free(text[1]);
    arena_destroy(a);
}

static void rows_are_chosen(void **state)
{
    static const struct {
        training_choice choice;
        const char *want;
    } cases[] = {
        { { .source = "B" }, "torn far " },
        { { .id = "open" }, "open " },
        { { .every = 2 }, "first open torn " }, // of each source
        { { .source = "A", .every = 3 }, "first " },
    };
    const training_options options = options_of(*state);
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        arena *a = arena_create("test");
        sim_error error = { 0 };
        training_suite suite;
        const char *ids = "";
        assert_true(training_suite_open(a, &options, &suite, &error));
        assert_true(training_suite_choose(&suite, &cases[i].choice, &error));
        for (uint32_t k = 0; k < suite.rows.count; k++) {
            assert_ptr_equal(suite.cases[k].row, &suite.rows.items[k]);
            ids = arena_format(a, "%s%s ", ids, suite.rows.items[k].fields[COLUMN_ID]);
        }
        assert_string_equal(ids, cases[i].want);
        arena_destroy(a);
    }
}

static double step_s(const run_options *wanted)
{
    sim_error error = { 0 };
    run_result r;
    if (!run_execute(wanted, &r, &error)) fail_msg("%s", error.message);
    const double time_s = summary_find(&r.summary, "step_time")->value;
    run_free(&r);
    return time_s;
}

// What is told of a row is a scenario that takes the same time; slower parts make it longer, by less than they are slower.
static void a_row_is_explained(void **state)
{
    arena *a = arena_create("test");
    sim_error error = { 0 };
    training_suite suite;
    sensitivity_array all = { 0 };
    training_options options = options_of(*state);
    options.choice.id = "first";
    assert_true(training_suite_open(a, &options, &suite, &error));
    assert_true(training_suite_choose(&suite, &options.choice, &error));
    const run_options wanted = training_suite_run(&suite, &options, 0, 0);
    run_result r;
    assert_true(run_execute(&wanted, &r, &error));
    FILE *out = fopen("told.yaml", "w");
    assert_non_null(out);
    training_explain_write(r.scenario->document.root, 0, out);
    assert_int_equal(fclose(out), 0);
    const run_options told = { .scenario_path = "told.yaml",
                               .catalogue_path = options.catalogue_path,
                               .ignore_memory = true };
    assert_near(step_s(&told), summary_find(&r.summary, "step_time")->value, 0);

    if (!training_explain_sensitivity(&suite, &options, 0, &r, &all, &error)) fail_msg("%s", error.message);
    double sum = 0.0, launch = 0.0;
    for (uint32_t i = 0; i < all.count; i++) {
        assert_string_not_equal(all.items[i].name, "rate of the network"); // of one node there is none
        assert_true(all.items[i].change >= 0.0 && all.items[i].change < 0.1);
        sum += all.items[i].change;
        if (strcmp(all.items[i].name, "launch by the host") == 0) launch = all.items[i].change;
    }
    assert_true(launch > sum / 2.0);        // kernels so small wait for the host
    assert_true(sum > 0.09 && sum < 0.105); // together they are nearly all of the step
    run_free(&r);
    arena_destroy(a);
}

int main(void)
{
#define IN_SCRATCH(test_) cmocka_unit_test_setup_teardown(test_, scratch_enter, scratch_leave)
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(rows_are_played),
        IN_SCRATCH(processes_change_nothing),
        IN_SCRATCH(rows_are_chosen),
        IN_SCRATCH(a_row_is_explained),
    };
    return cmocka_run_group_tests_name("training_suite", tests, NULL, NULL);
}
