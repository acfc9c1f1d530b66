// SPDX-License-Identifier: GPL-3.0-or-later
// README.md tells the accuracy of steps. Its table is made from validate/results.csv.
#include "tests/support/readme.h"

#include "validate/results.h"

static const char begin_marker[] = "<!-- accuracy: begin (made by tests/validate/test_results.c) -->\n";
static const char end_marker[] = "<!-- accuracy: end -->\n";

static void the_readme_tells_the_accuracy(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    char *text = NULL;
    size_t length = 0;
    sim_error error = { 0 };
    compared_row_array rows = { 0 };
    FILE *out = os_open_memory(&text, &length);
    assert_non_null(out);
    assert_true(results_read(a, "validate/results.csv", &rows, &error));
    results_write_table(a, &rows, out);
    assert_int_equal(fclose(out), 0);
    readme_check(begin_marker, end_marker, text);
    free(text);
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_readme_tells_the_accuracy) };
    return cmocka_run_group_tests_name("results", tests, NULL, NULL);
}
