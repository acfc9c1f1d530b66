// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "sim/lines.h"
#include <string.h>

static const char table[] = "\xef\xbb\xbf" // a byte order mark
                            "17, 2.5 ,\t3\r\n"
                            " \t\r\n"
                            "\n"
                            "\xc3\xa9t\xc3\xa9,,8\n"
                            "5";

static void expect_line(line_reader *r, uint32_t number, const char *text)
{
    assert_true(lines_next(r));
    assert_int_equal(r->line_number, number);
    assert_int_equal(r->line_end - r->line, strlen(text));
    assert_memory_equal(r->line, text, strlen(text));
}

static void lines_end_in_either_way_and_the_last_in_none(void **state)
{
    (void)state;
    line_reader r = lines_open("a.csv", table, sizeof(table) - 1);
    expect_line(&r, 1, "17, 2.5 ,\t3");
    assert_false(lines_is_blank(&r));
    expect_line(&r, 2, " \t");
    assert_true(lines_is_blank(&r));
    expect_line(&r, 3, "");
    assert_true(lines_is_blank(&r));
    expect_line(&r, 4, "\xc3\xa9t\xc3\xa9,,8");
    expect_line(&r, 5, "5");
    assert_false(lines_next(&r));
    r = lines_open("empty.csv", "", 0);
    assert_false(lines_next(&r));
}

static void expect_field(const line_reader *r, const char **at, const char *text, uint32_t column)
{
    const line_field f = lines_take_field(r, at);
    assert_int_equal(f.end - f.begin, strlen(text));
    assert_memory_equal(f.begin, text, strlen(text));
    const sim_place place = lines_place(r, f.begin);
    assert_string_equal(place.file, "a.csv");
    assert_int_equal(place.line, r->line_number);
    assert_int_equal(place.column, column);
}

static void fields_have_no_blanks_and_their_columns_count_characters(void **state)
{
    (void)state;
    line_reader r = lines_open("a.csv", table, sizeof(table) - 1);
    assert_true(lines_next(&r));
    const char *at = r.line;
    expect_field(&r, &at, "17", 1);
    at++;
    expect_field(&r, &at, "2.5", 5);
    at++;
    expect_field(&r, &at, "3", 11);
    assert_ptr_equal(at, r.line_end);
    while (r.line_number < 4)
        assert_true(lines_next(&r));
    at = r.line;
    expect_field(&r, &at, "\xc3\xa9t\xc3\xa9", 1);
    at++;
    expect_field(&r, &at, "", 5);
    at++;
    expect_field(&r, &at, "8", 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_end_in_either_way_and_the_last_in_none),
        cmocka_unit_test(fields_have_no_blanks_and_their_columns_count_characters),
    };
    return cmocka_run_group_tests_name("lines", tests, NULL, NULL);
}
