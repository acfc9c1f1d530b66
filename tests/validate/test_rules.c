// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/scratch.h"

#include "tests/support/near.h"

#include "validate/training_case.h"

static void stars_stand_for_any_text(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *text;
        bool want;
    } cases[] = {
        { "A100", "A100", true },
        { "A100", "A100-80GB", false },
        { "A100*", "A100-80GB", true },
        { "A100*", "A100", true },
        { "*80GB*", "A100-80GB-SXM", true },
        { "*", "", true },
        { "", "", true },
        { "", "x", false },
        { "a*b*c", "axxbxbc", true },
        { "a*b*c", "axxbxbd", false },
        { "*ab", "aab", true },
        { "a", "", false },
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++)
        if (rule_matches(cases[i].pattern, cases[i].text) != cases[i].want)
            fail_msg("\"%s\" and \"%s\"", cases[i].pattern, cases[i].text);
}

static training_row row_of(const char *source, const char *gpu)
{
    training_row row;
    for (int c = 0; c < TRAINING_COLUMNS; c++)
        row.fields[c] = "";
    row.fields[COLUMN_SOURCE] = source;
    row.fields[COLUMN_GPU] = gpu;
    return row;
}

static void a_rule_holds_where_all_match(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    rule_array rules = { 0 };
    sim_error error = { 0 };
    scratch_write("r.yaml", "- where: { source: [X, Y], gpu: 'A100*' }\n"
                            "  unless: { source: Y, gpu: A100-40GB }\n"
                            "  evidence: e\n"
                            "  grade: assumed\n"
                            "  set: { plan.tensor: 8, plan.layers: [1, 2] }\n"
                            "  choices: { training.micro_batch: [1, 2] }\n"
                            "  convention: 6p\n"
                            "  constant: 138 TFLOP/s\n"
                            "- unknown: never\n");
    assert_true(rules_read(a, "r.yaml", &training_rule_language, &rules, &error));
    assert_int_equal(rules.count, 2);
    const rule *r = &rules.items[0];
    const training_row xs[] = { row_of("X", "A100"), row_of("Y", "A100-80GB"), row_of("Z", "A100"),
                                row_of("X", "H100"), row_of("Y", "A100-40GB"), row_of("X", "A100-40GB") };
    const bool want[] = { true, true, false, false, false, true };
    for (size_t i = 0; i < ARRAY_COUNT(want); i++)
        assert_int_equal(rule_holds(r, xs[i].fields), want[i]);
    assert_string_equal(r->set.items[0], "plan.tensor=8");
    assert_string_equal(r->set.items[1], "plan.layers=[1, 2]");
    assert_int_equal(r->choices.items[0].values.count, 2);
    assert_int_equal(r->convention, COUNT_6P);
    assert_near(r->constant_flops, 138e12, 1e-15);
    assert_true(rule_holds(&rules.items[1], xs[0].fields)); // of every row
    assert_int_equal(rules.items[1].convention, -1);
    arena_destroy(a);
}

static void mistakes_are_told_at_their_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
        uint32_t line;
    } cases[] = {
        { "a: 1\n", "a file of rules is a list here, not a mapping", 1 },
        { "- x\n", "a rule is a mapping here, not a single value", 1 },
        { "- evidence: e\n  were: {}\n", "there is no key of a rule \"were\"", 2 },
        { "- where: { sourc: x }\n  evidence: e\n", "there is no column \"sourc\"", 1 },
        { "- evidence: e\n  grade: measured\n", "there is no grade \"measured\"", 2 },
        { "- evidence: e\n  convention: 8p\n", "there is no convention \"8p\"", 2 },
        { "- evidence: e\n  set: [1]\n", "set is a mapping here, not a list", 2 },
        { "- evidence: e\n  choices: 1\n", "choices is a mapping here, not a single value", 2 },
        { "- evidence: e\n  choices: { plan.tensor: [] }\n",
          "a choice of no value at all; leave \"plan.tensor\" out", 2 },
        { "- where: 1\n", "the choice of rows is a mapping here, not a single value", 1 },
        { "- where: { source: { a: b } }\n", "this is a single value here, not a mapping", 1 },
        { "- set: { plan.tensor: 1 }\n", "a rule without evidence", 1 },
        { "- evidence: e\n  constant: 138\n", NULL, 2 }, // units_parse() says it
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        arena *a = arena_create("test");
        rule_array rules = { 0 };
        sim_error error = { 0 };
        scratch_write("r.yaml", cases[i].text);
        assert_false(rules_read(a, "r.yaml", &training_rule_language, &rules, &error));
        if (cases[i].message) assert_string_equal(error.message, cases[i].message);
        assert_int_equal(error.line, cases[i].line);
        assert_int_equal(error.exit_code, SIM_EXIT_INPUT);
        arena_destroy(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stars_stand_for_any_text),
        cmocka_unit_test_setup_teardown(a_rule_holds_where_all_match, scratch_enter, scratch_leave),
        cmocka_unit_test_setup_teardown(mistakes_are_told_at_their_place, scratch_enter, scratch_leave),
    };
    return cmocka_run_group_tests_name("rules", tests, NULL, NULL);
}
