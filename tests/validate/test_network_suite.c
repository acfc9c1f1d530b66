// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/scratch.h"

#include "tests/support/near.h"

#include "tests/support/text.h"
#include "validate/network_suite.h"
#include <string.h>

static void build(arena *a, const char *data, network_suite *out)
{
    sim_error error = { 0 };
    const network_suite_options options = { .measured = "validate/measured",
                                            .data = data,
                                            .catalogue_path = "models/catalogue" };
    if (network_suite_build(a, &options, out, &error)) return;
    sim_error_print(&error, stderr);
    fail();
}

static const compared_row *row_of(const network_suite *s, const char *id)
{
    for (uint32_t i = 0; i < s->rows.count; i++)
        if (strcmp(s->rows.items[i].id, id) == 0) return &s->rows.items[i];
    fail_msg("no row %s", id);
    return NULL;
}

// 83 rows and 43, of which two have two numbers that are compared beside.
static void every_published_row_is_told(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    network_suite s;
    uint32_t unknown = 0;
    build(a, NULL, &s);
    for (uint32_t i = 0; i < s.rows.count; i++) {
        const compared_row *row = &s.rows.items[i];
        unknown += row->unknown_reason != NULL;
        if (row->unknown_reason) {
            assert_null(strstr(row->unknown_reason, "no case of"));
        } else {
            assert_true(row->measured > 0.0 && row->simulated > 0.0);
        }
    }
    assert_int_equal(s.rows.count, 83 + 43 + 2);
    assert_int_equal(unknown, 104);
    arena_destroy(a);
}

// 2 x (10 ns + 555 ns) + 130 ns and 2 B at 12.5 GB/s x 4096 / 4122, where measurement leaves 0.96 of it: 12 GB/s, 167 ps;
// 50 GB/s x 4096 / 4178; 12.5 GB/s of which one core moves 5.25; 25 Gb/s x 1448 / 1538.
static void flows_are_those_of_the_rows(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    network_suite s;
    build(a, NULL, &s);
    assert_near(row_of(&s, "network-gear:27")->measured, 1.26e-6, 1e-12);
    assert_near(row_of(&s, "network-gear:27")->simulated, 1.260167e-6, 1e-6);
    assert_near(row_of(&s, "network-gear:29")->simulated, 2.520334e-6, 1e-6);
    assert_near(row_of(&s, "network-gear:37")->simulated, 49.018669e9, 1e-4);
    assert_near(row_of(&s, "network-gear:37")->measured, 49e9, 1e-12);
    assert_near(row_of(&s, "network-gear:80/2")->measured, 48.975e9, 1e-12);
    assert_near(row_of(&s, "tcp-100g-4n")->simulated, 5.25e9, 1e-4);
    assert_near(row_of(&s, "tcp-25g-azure")->simulated, 2.942132640e9, 1e-4);
    assert_string_equal(row_of(&s, "network-gear:27")->source, "network-gear, fit");
    assert_string_equal(row_of(&s, "network-gear:29")->source, "network-gear, held");
    arena_destroy(a);
}

// ---- cases

struct case_mistake {
    const char *name, *yaml, *want;
};
static const struct case_mistake mistakes[] = {
    { "an unknown key", "- wher: { id: x }\n",
      "cases.yaml:1:3: error: a case has no \"wher\"\n"
      "    1 | - wher: { id: x }\n"
      "      |   ^\n"
      "  hint: did you mean \"where\"?\n" },
    { "an unknown answer", "- where: { id: x }\n  answer: latencies\n",
      "cases.yaml:2:11: error: there is no answer \"latencies\"\n"
      "    2 |   answer: latencies\n"
      "      |           ^\n"
      "  hint: did you mean \"latency\"?\n" },
    { "no evidence", "- where: { id: x }\n  answer: rate\n",
      "cases.yaml:1:3: error: this case does not say what it rests on\n"
      "    1 | - where: { id: x }\n"
      "      |   ^\n"
      "  hint: evidence: where it is known from, or unknown: why it is not played\n" },
    { "no rows", "- where: {}\n  evidence: x\n",
      "cases.yaml:1:3: error: this case does not say for which rows it holds\n"
      "    1 | - where: {}\n"
      "      |   ^\n"
      "  hint: where: { metric: \"ib_write_lat*\" }\n" },
    { "the number before the first", "- where: { id: x }\n  take: 0\n",
      "cases.yaml:2:9: error: take must be 1 to 99\n"
      "    2 |   take: 0\n"
      "      |         ^\n" },
    { "flows of nothing", "- where: { id: x }\n  size: 0 B\n",
      "cases.yaml:2:9: error: size must be above zero\n"
      "    2 |   size: 0 B\n"
      "      |         ^\n" },
    { "answers that vanish", "- where: { id: x }\n  times: 0\n",
      "cases.yaml:2:10: error: times must be above zero\n"
      "    2 |   times: 0\n"
      "      |          ^\n" },
    { "a list of settings", "- where: { id: x }\n  set: [a]\n",
      "cases.yaml:2:8: error: this is a mapping here, not a list\n"
      "    2 |   set: [a]\n"
      "      |        ^\n" },
    { "no list", "where: { id: x }\n",
      "cases.yaml:1:1: error: this is a list here, not a mapping\n"
      "    1 | where: { id: x }\n"
      "      | ^\n" },
};

static void mistakes_are_shown(void **state)
{
    const struct case_mistake *c = *state;
    void *folder = NULL;
    arena *a = arena_create("test");
    network_case_array cases = { 0 };
    sim_error error = { 0 };
    char text[1024];
    assert_int_equal(scratch_enter(&folder), 0);
    scratch_write("cases.yaml", c->yaml);
    assert_false(network_cases_read(a, "cases.yaml", &cases, &error));
    assert_string_equal(text_of_error(&error, text, sizeof text), c->want);
    arena_destroy(a);
    assert_int_equal(scratch_leave(&folder), 0);
}

static void cases_hold_for_rows_that_match(void **state)
{
    (void)state;
    network_field where[] = { { "metric", "ib_*_lat*" }, { "unit", "us" } };
    network_field row[] = { { "metric", "ib_write_lat 2B" }, { "value", "1.3" }, { "unit", "us" } };
    const network_case c = { .where = { .items = where, .count = 2 } };
    network_field_array fields = { .items = row, .count = 3 };
    assert_true(network_case_holds(&c, &fields));
    row[2].text = "ns";
    assert_false(network_case_holds(&c, &fields));
    fields.count = 1; // without the column
    assert_false(network_case_holds(&c, &fields));
}

int main(void)
{
    struct CMUnitTest tests[ARRAY_COUNT(mistakes) + 3] = {
        cmocka_unit_test(every_published_row_is_told),
        cmocka_unit_test(flows_are_those_of_the_rows),
        cmocka_unit_test(cases_hold_for_rows_that_match),
    };
    for (size_t i = 0; i < ARRAY_COUNT(mistakes); i++)
        tests[3 + i] = (struct CMUnitTest){ .name = mistakes[i].name,
                                            .test_func = mistakes_are_shown,
                                            .initial_state = (void *)&mistakes[i] };
    return cmocka_run_group_tests_name("network_suite", tests, NULL, NULL);
}
