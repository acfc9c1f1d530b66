// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/scratch.h"

#include "models/windtunnel.h"

// Two replicas of a model of a few thousand parameters.
#define TINY                                                                                                 \
    "cluster: { node: a100-4x }\n"                                                                           \
    "model: { name: wee, layers: 2, hidden: 64, heads: 4, kv_heads: 2, ffn: 96, vocabulary: 100,\n"          \
    "  max_sequence: 64, activation: swiglu, norm: rmsnorm, position: rope }\n"                              \
    "plan: { gpus: 2 }\n"                                                                                    \
    "training: { global_batch: 4 }\n"                                                                        \
    "run: { steps: 3 }\n"

static const char *catalogue_of(const scratch_folder *folder)
{
    static char path[4200];
    snprintf(path, sizeof path, "%s/models/catalogue", folder->before);
    return path;
}

static windtunnel *load(const scratch_folder *folder)
{
    windtunnel_error error;
    scratch_write("s.yaml", TINY);
    windtunnel *w = windtunnel_load("s.yaml", catalogue_of(folder), &error);
    if (!w) fail_msg("%s", error.text);
    assert_int_equal(error.exit_code, 0);
    assert_string_equal(error.text, "");
    return w;
}

static void a_scenario_is_run_and_asked(void **state)
{
    windtunnel *w = load(*state);
    windtunnel_error error;
    double seconds = -1.0, joule = -1.0;
    const char *unit, *reason;
    assert_false(windtunnel_value(w, "step_time", &seconds, &unit, &reason));
    assert_string_equal(reason, "nothing has been run");
    assert_null(unit);
    assert_null(windtunnel_metric(w, 0));
    assert_false(windtunnel_is_done(w));

    assert_true(windtunnel_run(w, NULL, NULL, NULL, &error));
    assert_true(windtunnel_is_done(w));
    assert_true(windtunnel_value(w, "step_time", &seconds, &unit, &reason));
    assert_true(seconds > 0.0 && seconds < 1.0);
    assert_string_equal(unit, "s");
    assert_null(reason);
    assert_true(windtunnel_value(w, "step_time", &seconds, NULL, NULL));
    assert_false(windtunnel_value(w, "energy_per_step", &joule, &unit, &reason));
    assert_string_equal(unit, "J");
    assert_string_equal(reason, "power is not modelled in this version");
    assert_false(windtunnel_value(w, "colour", &joule, &unit, &reason));
    assert_string_equal(reason, "there is no such metric");
    assert_near(joule, -1.0, 0); // untouched
    assert_string_equal(windtunnel_metric(w, 0), "step_time");
    uint32_t metrics = 0;
    while (windtunnel_metric(w, metrics))
        metrics++;
    assert_int_equal(metrics, 32);
    windtunnel_free(w);
}

static void the_example_of_the_header_runs(void **state)
{
    scratch_write("scenario.yaml", TINY);
    assert_int_equal(setenv("WINDTUNNEL_CATALOGUE", catalogue_of(*state), 1), 0);
    windtunnel_error error;
    double seconds = 0.0;
    windtunnel *w = windtunnel_load("scenario.yaml", NULL, &error);
    assert_true(w && windtunnel_set(w, "run.steps=1", &error) && windtunnel_run(w, NULL, NULL, NULL, &error));
    assert_true(windtunnel_value(w, "step_time", &seconds, NULL, NULL));
    assert_true(seconds > 0.0);
    windtunnel_free(w);
    assert_int_equal(unsetenv("WINDTUNNEL_CATALOGUE"), 0);
}

// Settings add up, in order; a refused one changes nothing; two simulations do not meet.
static void settings_change_the_result(void **state)
{
    windtunnel *w = load(*state), *other = load(*state);
    windtunnel_error error;
    assert_true(windtunnel_run(w, NULL, NULL, NULL, &error));
    const uint64_t before = windtunnel_digest(w);
    assert_false(windtunnel_set(w, "plan.data=seven", &error));
    assert_int_equal(error.exit_code, 2);
    assert_string_equal(error.text, "--set:1:11: error: \"seven\" is not a number\n"
                                    "    1 | plan.data=seven\n"
                                    "      |           ^\n"
                                    "  hint: a whole number is written like \"12\"\n");
    assert_false(windtunnel_set(w, "plan.colour=7", NULL));
    assert_false(windtunnel_set(w, "training.global_batch=0", NULL));
    assert_true(windtunnel_run(w, NULL, NULL, NULL, NULL));
    assert_true(windtunnel_digest(w) == before);

    assert_true(windtunnel_set(w, "training.global_batch=8", &error));
    assert_true(windtunnel_set(w, "training.global_batch=6", &error));
    assert_true(windtunnel_run(w, NULL, NULL, NULL, &error));
    assert_true(windtunnel_digest(w) != before);
    assert_true(windtunnel_set(w, "training.global_batch=4", &error));
    assert_true(windtunnel_run(w, NULL, NULL, NULL, &error));
    assert_true(windtunnel_run(other, NULL, NULL, NULL, &error));
    assert_true(windtunnel_digest(w) == before);
    assert_true(windtunnel_digest(other) == before);
    windtunnel_free(w);
    windtunnel_free(other);
}

// Each of these settings contradicts what there was before it; only a check and a run look at them together.
static void keys_that_depend_on_one_another_are_set_one_by_one(void **state)
{
    static const char *const sets[] = {
        "plan={ data: 7, gpus: 2 }",
        "cluster.nodes=2",
        "cluster.fabric.topology=single-switch",
        "cluster.fabric.switch=qm8790",
        "plan.data=8",
        "plan.gpus=8",
        "model.heads=7",
        "model.hidden=56",
        "model.kv_heads=7",
        "training.global_batch=24",
    };
    windtunnel *w = load(*state);
    windtunnel_error error;
    assert_true(windtunnel_check(w, &error));
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if (!windtunnel_set(w, sets[i], &error)) fail_msg("%s", error.text);
    assert_true(windtunnel_set(w, "plan.data=5", &error));
    assert_false(windtunnel_check(w, &error));
    assert_int_equal(error.exit_code, 2);
    static const char refusal[] =
        "--set:1:6: error: tensor 1 x pipeline 1 x data 5 = 5, but the cluster has 8 "
        "GPUs\n"
        "    1 | plan.data=5\n"
        "      |      ^\n"
        "  hint: data: 8, or gpus: 5\n";
    assert_string_equal(error.text, refusal);
    assert_false(windtunnel_run(w, NULL, NULL, NULL, &error));
    assert_string_equal(error.text, refusal);
    assert_true(windtunnel_set(w, "plan.data=8", &error));
    assert_true(windtunnel_check(w, &error));
    assert_int_equal(error.exit_code, 0);
    assert_true(windtunnel_run(w, NULL, NULL, NULL, &error));
    assert_true(windtunnel_is_done(w));
    windtunnel_free(w);
}

// A cluster without a model; even the keys that a mapping must have come one after another.
static void a_fragment_is_completed_by_settings(void **state)
{
    windtunnel_error error;
    scratch_write("s.yaml", "plan: { gpus: 2 }\n");
    windtunnel *w = windtunnel_load("s.yaml", catalogue_of(*state), &error);
    if (!w) fail_msg("%s", error.text);
    assert_false(windtunnel_run(w, NULL, NULL, NULL, &error));
    assert_string_equal(error.text,
                        "s.yaml:1:1: error: \"cluster\" is missing\n"
                        "    1 | plan: { gpus: 2 }\n"
                        "      | ^\n"
                        "  hint: cluster: what there is, or the name of a system of the catalogue\n");
    assert_true(windtunnel_set(w, "cluster.node=a100-4x", &error));
    assert_false(windtunnel_check(w, &error));
    assert_string_equal(error.text,
                        "s.yaml:1:1: error: the scenario has no \"model:\", so there is nothing to train\n"
                        "    1 | plan: { gpus: 2 }\n"
                        "      | ^\n"
                        "  hint: model: llama3-8b\n");
    assert_false(windtunnel_set(w, "model=gpt2-1.6b", &error)); // no such part
    assert_true(windtunnel_set(w, "model=gpt2-1.5b", &error));
    assert_true(windtunnel_set(w, "model.layers=2", &error));
    assert_true(windtunnel_set(w, "training.micro_batch=2", &error));
    assert_true(windtunnel_set(w, "training.global_batch=4", &error));
    assert_true(windtunnel_check(w, NULL));
    assert_true(windtunnel_run(w, NULL, NULL, NULL, &error));
    windtunnel_free(w);
}

static void a_scenario_that_is_refused_is_not_loaded(void **state)
{
    windtunnel_error error;
    scratch_write("s.yaml", "cluster: { node: dgx-h101 }\n");
    assert_null(windtunnel_load("s.yaml", catalogue_of(*state), NULL));
    assert_null(windtunnel_load("s.yaml", catalogue_of(*state), &error));
    assert_int_equal(error.exit_code, 2);
    assert_string_equal(
        error.text, "s.yaml:1:18: error: unknown node \"dgx-h101\"\n"
                    "    1 | cluster: { node: dgx-h101 }\n"
                    "      |                  ^\n"
                    "  hint: did you mean \"dgx-h100\"? nodes: a100-40gb-8x-16x100g, a100-40gb-8x-4x200g, "
                    "a100-4x, a100-8x-16x100g, a100-8x-4x100g-opa, a100-8x-4x100g, a100-8x-4x200g, "
                    "a100-pcie-8x, aws-p4d, dgx-2, dgx-a100-40gb, dgx-a100 and 15 more\n");
    windtunnel_free(NULL);
}

static bool stop_after_one(void *owner, uint32_t steps_done, uint32_t steps)
{
    uint32_t *asked = owner;
    (*asked)++;
    assert_int_equal(steps, 3);
    return steps_done < 1;
}

// A cancelled run keeps what it has played, in the database too; a run that was refused has nothing.
static void runs_may_be_cancelled_and_refused(void **state)
{
    windtunnel *w = load(*state);
    windtunnel_error error;
    uint32_t asked = 0;
    double seconds = 0.0;
    const char *reason;
    assert_true(windtunnel_run(w, "run.db", stop_after_one, &asked, &error));
    assert_int_equal(asked, 1);
    assert_int_equal(error.exit_code, 0);
    assert_false(windtunnel_is_done(w));
    assert_true(windtunnel_digest(w) == 0);
    assert_true(windtunnel_value(w, "step_time", &seconds, NULL, NULL));
    assert_int_equal(access("run.db", F_OK), 0);

    assert_false(windtunnel_run(w, "run.db", NULL, NULL, &error));
    assert_int_equal(error.exit_code, 2);
    assert_string_equal(error.text, "windtunnel: error: the output \"run.db\" exists already\n"
                                    "  hint: remove it first, or write to another file\n");
    assert_false(windtunnel_value(w, "step_time", &seconds, NULL, &reason));
    assert_string_equal(reason, "the run was refused or failed");
    assert_true(windtunnel_set(w, "training.micro_batch=1000000", &error)); // not a divisor
    assert_false(windtunnel_run(w, NULL, NULL, NULL, &error));
    assert_int_equal(error.exit_code, 2);
    assert_true(windtunnel_set(w, "training.micro_batch=1", &error));
    assert_true(windtunnel_set(
        w, "cluster.node={ base: a100-4x, gpu: { base: a100-sxm-80gb, memory: 1 MB } }", &error));
    assert_false(windtunnel_run(w, NULL, NULL, NULL, &error));
    assert_int_equal(error.exit_code, 1);
    windtunnel_free(w);
}

static void the_version_is_said(void **state)
{
    (void)state;
    unsigned major, minor, patch;
    char rest;
    assert_int_equal(sscanf(windtunnel_version(), "%u.%u.%u%c", &major, &minor, &patch, &rest), 3);
}

int main(void)
{
#define IN_SCRATCH(test_) cmocka_unit_test_setup_teardown(test_, scratch_enter, scratch_leave)
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(a_scenario_is_run_and_asked),
        IN_SCRATCH(the_example_of_the_header_runs),
        IN_SCRATCH(settings_change_the_result),
        IN_SCRATCH(keys_that_depend_on_one_another_are_set_one_by_one),
        IN_SCRATCH(a_fragment_is_completed_by_settings),
        IN_SCRATCH(a_scenario_that_is_refused_is_not_loaded),
        IN_SCRATCH(runs_may_be_cancelled_and_refused),
        cmocka_unit_test(the_version_is_said),
    };
    return cmocka_run_group_tests_name("windtunnel", tests, NULL, NULL);
}
