// SPDX-License-Identifier: GPL-3.0-or-later
// README.md tells the accuracy. Its table is made from validate/results.csv, so this test makes it anew and compares; with
// WINDTUNNEL_REWRITE=1 it writes the file's part between the markers instead.
#include "tests/support/scratch.h"

#include "tests/support/marked.h"
#include "validate/results.h"

static const char begin_marker[] = "<!-- accuracy: begin (made by tests/validate/test_results.c) -->\n";
static const char end_marker[] = "<!-- accuracy: end -->\n";

static char *make_table(arena *a)
{
    char *text = NULL;
    size_t length = 0;
    sim_error error = { 0 };
    compared_row_array rows = { 0 };
    FILE *out = os_open_memory(&text, &length);
    assert_non_null(out);
    assert_true(results_read(a, "validate/results.csv", &rows, &error));
    results_write_table(a, &rows, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void the_readme_tells_the_accuracy(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    char *table = make_table(a);
    assert_marked_part("README.md", begin_marker, end_marker, table);
    free(table);
    arena_destroy(a);
}

#define HEADER "id,source,measured_s,simulated_s,error,constant_error,memory,status,reason\n"

static void other_tables_are_refused(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "id,source,measured\n", "column 3 of a table of results is \"measured_s\"" },
        { "id,source\n", "column 3 of a table of results is \"measured_s\"" },
        { HEADER "a,b,long,1,0,0,0,scored,\n", "\"long\" is not a number" },
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        arena *a = arena_create("test");
        sim_error error = { 0 };
        compared_row_array rows = { 0 };
        scratch_write("results.csv", cases[i][0]);
        assert_false(results_read(a, "results.csv", &rows, &error));
        assert_string_equal(error.message, cases[i][1]);
        arena_destroy(a);
    }
}

// The constant was +50 %, so 1.5 times what was measured; a range counts nowhere.
static void rows_are_read_as_they_were_compared(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    sim_error error = { 0 };
    compared_row_array rows = { 0 };
    scratch_write("results.csv", HEADER "a,\"b, c\",2.5,2,-0.2,0.5,0.71,scored,\"\"\n"
                                        "d,e,7,,,,0.3,range,\"not published: x\"\n");
    assert_true(results_read(a, "results.csv", &rows, &error));
    assert_int_equal(rows.count, 2);
    assert_string_equal(rows.items[0].source, "b, c");
    assert_near(rows.items[0].simulated, 2.0, 0);
    assert_near(rows.items[0].constant, 3.75, 1e-15);
    assert_null(rows.items[0].unknown_reason);
    assert_true(isnan(rows.items[1].simulated));
    assert_string_equal(rows.items[1].unknown_reason, "not published: x");
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_readme_tells_the_accuracy),
        cmocka_unit_test_setup_teardown(other_tables_are_refused, scratch_enter, scratch_leave),
        cmocka_unit_test_setup_teardown(rows_are_read_as_they_were_compared, scratch_enter, scratch_leave),
    };
    return cmocka_run_group_tests_name("results", tests, NULL, NULL);
}
