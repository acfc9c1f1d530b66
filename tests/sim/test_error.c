// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "sim/array.h"
#include "tests/support/text.h"
#include <string.h>

struct print_case {
    const char *name;
    const char *text; // of the file, or NULL
    uint32_t line, column;
    const char *want;
};

#define TEN "abcdefghij"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
// ten characters of three bytes each
#define WIDE                                                                                                 \
    "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2"   \
    "\x82\xac\xe2\x82\xac"

static const struct print_case print_cases[] = {
    { "caret under the column", "link:\n      rate: 0 Gb/s\n", 2, 13,
      "a.yaml:2:13: error: wrong\n    2 |       rate: 0 Gb/s\n      |             ^\n" },
    { "no text, no line", NULL, 2, 13, "a.yaml:2:13: error: wrong\n" },
    { "no column, no caret", "x: 1\ny: 2\n", 2, 0, "a.yaml:2: error: wrong\n    2 | y: 2\n" },
    { "no line, only the file", "x: 1\n", 0, 7, "a.yaml: error: wrong\n" },
    { "last line without a break", "x: 1\ny: 2", 2, 4,
      "a.yaml:2:4: error: wrong\n    2 | y: 2\n      |    ^\n" },
    { "caret behind the end", "x:\ny: 2\n", 1, 3, "a.yaml:1:3: error: wrong\n    1 | x:\n      |   ^\n" },
    { "caret far behind the end", "x:\ny: 2\n", 1, 37,
      "a.yaml:1:37: error: wrong\n    1 | x:\n      |   ^\n" },
    { "a line that is not there", "x: 1\n", 9, 2, "a.yaml:9:2: error: wrong\n" },
    { "an empty line", "x: 1\n\ny: 2\n", 2, 1, "a.yaml:2:1: error: wrong\n" },
    { "CR LF and CR end lines", "a\r\nb\rccc\n", 3, 2,
      "a.yaml:3:2: error: wrong\n    3 | ccc\n      |  ^\n" },
    { "NEL, LS and PS end lines",
      "a\xc2\x85"
      "b\xe2\x80\xa8"
      "c\xe2\x80\xa9"
      "d",
      4, 1, "a.yaml:4:1: error: wrong\n    4 | d\n      | ^\n" },
    { "a byte order mark has no column", "\xef\xbb\xbfx: y\n", 1, 4,
      "a.yaml:1:4: error: wrong\n    1 | x: y\n      |    ^\n" },
    { "characters, not bytes",
      "gr\xc3\xb6\xc3\x9f"
      "e: \xe2\x82\xac\xf0\x9f\x90\x81x\n",
      1, 10,
      "a.yaml:1:10: error: wrong\n    1 | gr\xc3\xb6\xc3\x9f"
      "e: \xe2\x82\xac\xf0\x9f\x90\x81x\n      |          ^\n" },
    { "tabs become spaces", "\t\tx: 1\n", 1, 3, "a.yaml:1:3: error: wrong\n    1 |   x: 1\n      |   ^\n" },
    { "controls and stray bytes become ?", "\x1b[31m\x7f\xff\xc0\xaf\xed\xa0\x80\xc2\x9bx\n", 1, 14,
      "a.yaml:1:14: error: wrong\n    1 | ?[31m????????x\n      |              ^\n" },
    { "120 characters are whole", HUNDRED TEN TEN "\n", 1, 120,
      "a.yaml:1:120: error: wrong\n    1 | " HUNDRED TEN TEN "\n      | "
      "                                                                                                    "
      "                   ^\n" },
    { "cut behind", HUNDRED HUNDRED "\n", 1, 2,
      "a.yaml:1:2: error: wrong\n    1 | " HUNDRED TEN TEN "...\n      |  ^\n" },
    { "cut on both sides", HUNDRED HUNDRED HUNDRED "\n", 1, 151,
      "a.yaml:1:151: error: wrong\n    1 | ...b"
      "cdefghij" HUNDRED TEN "a...\n      | "
      "                                                              ^\n" },
    { "cut before", HUNDRED HUNDRED "\n", 1, 201,
      "a.yaml:1:201: error: wrong\n    1 | ..." HUNDRED TEN TEN "\n      | "
      "                                                                                                    "
      "                       ^\n" },
    { "cut, of characters of three bytes",
      WIDE WIDE WIDE WIDE WIDE WIDE WIDE WIDE WIDE WIDE WIDE WIDE WIDE "x\n", 1, 131,
      "a.yaml:1:131: error: wrong\n    1 | ..."
      "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2"
      "\x82\xac" WIDE WIDE WIDE WIDE WIDE WIDE WIDE WIDE WIDE WIDE WIDE "x\n      | "
      "                                                                                                    "
      "                      ^\n" },
};

static void prints_the_place(void **state)
{
    const struct print_case *c = *state;
    sim_error error = { 0 };
    sim_place place = { .file = "a.yaml", .line = c->line, .column = c->column, .text = c->text };
    place.text_length = c->text ? strlen(c->text) : 0;
    assert_false(sim_fail(&error, SIM_EXIT_INPUT, &place, "wrong"));
    assert_error_prints(&error, c->want);
}

static void prints_without_place(void **state)
{
    (void)state;
    sim_error error = { 0 };
    assert_false(sim_failed(&error));
    assert_false(sim_fail(&error, SIM_EXIT_NO, NULL, "needs %d GiB, has %d", 91, 80));
    assert_true(sim_failed(&error));
    assert_int_equal(error.exit_code, SIM_EXIT_NO);
    assert_error_prints(&error, "windtunnel: error: needs 91 GiB, has 80\n");
    sim_error_clear(&error);
    assert_false(sim_failed(&error));
    assert_int_equal(error.message[0], 0);
}

static void prints_the_hint_last(void **state)
{
    (void)state;
    const char *text = "rat: 3 Gb/s\n";
    sim_place place = { "scenarios/x.yaml", 1, 1, text, strlen(text) };
    sim_error error = { 0 };
    sim_fail(&error, SIM_EXIT_INPUT, &place, "unknown key \"%s\"", "rat");
    assert_false(sim_hint(&error, "known keys: %s", "rate, delay"));
    assert_false(sim_hint(&error, "did you mean \"%s\"?", "rate"));
    assert_error_prints(&error, "scenarios/x.yaml:1:1: error: unknown key \"rat\"\n"
                                "    1 | rat: 3 Gb/s\n"
                                "      | ^\n"
                                "  hint: did you mean \"rate\"?\n");
}

static void keeps_the_first_failure(void **state)
{
    (void)state;
    sim_place place = { "x.yaml", 3, 4, NULL, 0 };
    sim_error error = { 0 };
    sim_fail(&error, SIM_EXIT_NO, &place, "first");
    sim_fail(&error, SIM_EXIT_INPUT, NULL, "second");
    assert_int_equal(error.exit_code, SIM_EXIT_NO);
    assert_error_prints(&error, "x.yaml:3:4: error: first\n");
}

// The quoted text may be the user's: no byte of it may command a terminal.
static void messages_are_printable(void **state)
{
    (void)state;
    sim_error error = { 0 };
    sim_place place = { "a\x1b"
                        "b.yaml",
                        0, 0, NULL, 0 };
    sim_fail(&error, SIM_EXIT_INPUT, &place, "not a number: \"%s\"", "1\n\t\x1b[2J\xc2\x9b\xfe\xc3\xbc");
    sim_hint(&error, "not \"%s\"", "\x07");
    assert_error_prints(&error, "a?b.yaml: error: not a number: \"1???[2J??\xc3\xbc\"\n  hint: not \"?\"\n");
}

// 341 characters of three bytes are 1023 bytes and fit; one more does not, and the cut falls between characters.
static void long_messages_are_cut_between_characters(void **state)
{
    (void)state;
    char text[3 * 400 + 1] = "", want[3 * 400 + 1] = "";
    for (int i = 0; i < 341; i++)
        strcat(text, "\xe2\x82\xac");
    sim_error error = { 0 };
    sim_fail(&error, SIM_EXIT_INPUT, NULL, "%s", text);
    assert_string_equal(error.message, text);

    sim_error_clear(&error);
    sim_fail(&error, SIM_EXIT_INPUT, NULL, "%s\xe2\x82\xac", text);
    for (int i = 0; i < 340; i++)
        strcat(want, "\xe2\x82\xac");
    assert_string_equal(error.message, strcat(want, "..."));

    // control characters shrink from two bytes to one: the cut tail must not show as stray bytes
    text[0] = '\xc2';
    text[1] = '\x9b';
    text[2] = 'x';
    sim_error_clear(&error);
    sim_fail(&error, SIM_EXIT_INPUT, NULL, "%s\xe2\x82\xac", text);
    assert_int_equal(error.message[0], '?');
    assert_int_equal(error.message[1], 'x');
    assert_null(strchr(error.message + 2, '?'));
    assert_string_equal(error.message + strlen(error.message) - 6, "\xe2\x82\xac...");
}

static void long_file_names_are_cut(void **state)
{
    (void)state;
    char name[700];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    sim_place place = { name, 1, 1, NULL, 0 };
    sim_error error = { 0 };
    sim_fail(&error, SIM_EXIT_INPUT, &place, "wrong");
    assert_int_equal(strlen(error.file), 511);
    assert_string_equal(error.file + 507, "n...");
}

int main(void)
{
    struct CMUnitTest tests[ARRAY_COUNT(print_cases) + 6] = { { 0 } };
    size_t count = 0;
    for (size_t i = 0; i < ARRAY_COUNT(print_cases); i++)
        tests[count++] = (struct CMUnitTest){ .name = print_cases[i].name,
                                              .test_func = prints_the_place,
                                              .initial_state = (void *)(uintptr_t)&print_cases[i] };
    const struct CMUnitTest others[] = {
        cmocka_unit_test(prints_without_place),
        cmocka_unit_test(prints_the_hint_last),
        cmocka_unit_test(keeps_the_first_failure),
        cmocka_unit_test(messages_are_printable),
        cmocka_unit_test(long_messages_are_cut_between_characters),
        cmocka_unit_test(long_file_names_are_cut),
    };
    memcpy(tests + count, others, sizeof others);
    return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}
