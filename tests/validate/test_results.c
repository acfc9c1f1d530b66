// SPDX-License-Identifier: GPL-3.0-or-later
// README.md tells the accuracy. Its table is made from validate/results.csv, so this test makes it anew and compares; with
// WINDTUNNEL_REWRITE=1 it writes the file's part between the markers instead.
#include "tests/support/near.h"

#include "sim/os.h"
#include "validate/results.h"
#include <stdlib.h>
#include <string.h>

static const char readme[] = "README.md";
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
    char *text = NULL, *table = make_table(a);
    size_t length = 0;
    sim_error error = { 0 };
    assert_true(os_read_file(readme, 1 << 20, &text, &length, NULL, &error));
    char *from = strstr(text, begin_marker), *to = strstr(text, end_marker);
    assert_true(from && to && from < to);
    from += strlen(begin_marker);
    if (getenv("WINDTUNNEL_REWRITE")) {
        FILE *out = fopen(readme, "w");
        assert_non_null(out);
        fprintf(out, "%.*s%s%s", (int)(from - text), text, table, to);
        assert_int_equal(fclose(out), 0);
    } else {
        *to = '\0';
        assert_string_equal(from, table);
    }
    free(text);
    free(table);
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_readme_tells_the_accuracy) };
    return cmocka_run_group_tests_name("results", tests, NULL, NULL);
}
