// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/array.h"
#include "sim/words.h"
#include "tests/support/near.h"
#include <string.h>

static const char *const keys[] = { "nodes", "node", "fabric", "oversubscription", "rate", "x" };

struct nearest_case {
    const char *name, *text, *want;
};
static const struct nearest_case nearest_cases[] = {
    { "one letter replaced", "nodez", "nodes" },
    { "the first of equally near words", "nodexs", "nodes" },
    { "one letter too many", "raate", "rate" },
    { "one letter missing", "fabrc", "fabric" },
    { "two neighbours swapped", "fbaric", "fabric" },
    { "capitals cost little", "FABRIC", "fabric" },
    { "three edits in a long word", "over_subscriptoin", "oversubscription" },
    { "a short word allows one edit", "rzzz", NULL },
    { "nothing in common", "q", NULL },
    { "the empty text is near nothing", "", NULL },
    { "a text without end is near nothing",
      "oversubscriptionoversubscriptionoversubscriptionoversubscriptionoversubscription", NULL },
};

static void nearest_is_found(void **state)
{
    const struct nearest_case *c = *state;
    const char *got = words_nearest(c->text, keys, ARRAY_COUNT(keys));
    if (!c->want)
        assert_null(got);
    else
        assert_string_equal(got, c->want);
}

static void foreign_text_is_cut(void **state)
{
    (void)state;
    char shown[WORDS_SHOWN_SIZE];
    assert_string_equal(words_show(shown, "400 Gb/s"), "400 Gb/s");
    assert_string_equal(words_show(shown, "1234567890123456789012345678901234567890"),
                        "1234567890123456789012345678901234567890");
    assert_string_equal(words_show(shown, "12345678901234567890123456789012345678901"),
                        "1234567890123456789012345678901234567890...");
    // characters are counted, not bytes
    assert_string_equal(words_show(shown, "\u00b5\u00b5\u00b5\u00b5\u00b5\u00b5\u00b5\u00b5\u00b5\u00b5"
                                          "\u00b5\u00b5\u00b5\u00b5\u00b5\u00b5\u00b5\u00b5\u00b5\u00b5s"),
                        "\u00b5\u00b5\u00b5\u00b5\u00b5\u00b5\u00b5\u00b5\u00b5\u00b5"
                        "\u00b5\u00b5\u00b5\u00b5\u00b5\u00b5\u00b5\u00b5\u00b5\u00b5s");
    char junk[1000];
    memset(junk, 0x80, sizeof(junk) - 1);
    junk[sizeof(junk) - 1] = 0;
    assert_true(strlen(words_show(shown, junk)) < WORDS_SHOWN_SIZE);
}

static void lists_are_bounded(void **state)
{
    (void)state;
    char list[64];
    assert_string_equal(words_list(list, sizeof(list), keys, 3, 12), "nodes, node, fabric");
    assert_string_equal(words_list(list, sizeof(list), keys, 6, 2), "nodes, node and 4 more");
    assert_string_equal(words_list(list, 8, keys, 3, 12), "nodes, ");
    assert_string_equal(words_list(list, sizeof(list), keys, 0, 12), "");
}

int main(void)
{
    struct CMUnitTest tests[ARRAY_COUNT(nearest_cases) + 2];
    for (size_t i = 0; i < ARRAY_COUNT(nearest_cases); i++)
        tests[i] = (struct CMUnitTest){ .name = nearest_cases[i].name,
                                        .test_func = nearest_is_found,
                                        .initial_state = (void *)&nearest_cases[i] };
    tests[ARRAY_COUNT(nearest_cases)] = (struct CMUnitTest)cmocka_unit_test(foreign_text_is_cut);
    tests[ARRAY_COUNT(nearest_cases) + 1] = (struct CMUnitTest)cmocka_unit_test(lists_are_bounded);
    return cmocka_run_group_tests_name("words", tests, NULL, NULL);
}
