// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "sim/array.h"
#include "sim/words.h"
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
    { "a word that goes on where the text ends", "over", "oversubscription" },
    { "the same in capitals", "OVER", "oversubscription" },
    { "a word that has the text inside", "scrip", "oversubscription" },
    { "inside, the same in capitals", "SCRIP", "oversubscription" },
    { "two letters stand in too many words", "ov", NULL },
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

static void what_was_begun_is_meant(void **state)
{
    (void)state;
    static const char *const parts[] = { "B200", "H100-80GB-SXM", "H100-SXM" };
    assert_string_equal(words_nearest("h100", parts, ARRAY_COUNT(parts)), "H100-SXM"); // two edits from B200
    assert_string_equal(words_nearest("B20", parts, ARRAY_COUNT(parts)), "B200");
    assert_int_equal(words_alike("h100-sxm", "H100-80GB-SXM"), 5);
    assert_int_equal(words_alike("H100", "H100"), 4);
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

static void hints_name_one_or_all(void **state)
{
    (void)state;
    sim_error error = { 0 };
    sim_fail(&error, SIM_EXIT_INPUT, NULL, "unknown");
    assert_false(words_hint(&error, "nodez", keys, ARRAY_COUNT(keys), 3, "keys"));
    assert_string_equal(error.hint, "did you mean \"nodes\"?");
    assert_false(words_hint(&error, "q", keys, ARRAY_COUNT(keys), 3, "keys of plan"));
    assert_string_equal(error.hint, "keys of plan: nodes, node, fabric and 3 more");
}

static void several_that_hold_a_text_are_listed(void **state)
{
    (void)state;
    static const char *const nodes[] = { "a100-4x", "dgx-2", "dgx-a100", "dgx-h100", "vtrain-a100" };
    sim_error error = { 0 };
    sim_fail(&error, SIM_EXIT_INPUT, NULL, "unknown");
    assert_false(words_hint_holders(&error, "A100", nodes, ARRAY_COUNT(nodes), 2, "nodes"));
    assert_string_equal(error.hint, "nodes with \"A100\": a100-4x, dgx-a100 and 1 more");
    assert_false(words_hint_holders(&error, "H100", nodes, ARRAY_COUNT(nodes), 2, "nodes"));
    assert_string_equal(error.hint, "did you mean \"dgx-h100\"?");
    assert_false(words_hint_holders(&error, "dg", nodes, ARRAY_COUNT(nodes), 2, "nodes"));
    assert_string_equal(error.hint, "nodes: a100-4x, dgx-2 and 3 more");
}

static void long_numbers_are_grouped(void **state)
{
    (void)state;
    char text[WORDS_GROUPED_SIZE];
    assert_string_equal(words_grouped(text, 0), "0");
    assert_string_equal(words_grouped(text, 314), "314");
    assert_string_equal(words_grouped(text, 3141), "3,141");
    assert_string_equal(words_grouped(text, 314159), "314,159");
    assert_string_equal(words_grouped(text, UINT64_MAX), "18,446,744,073,709,551,615");
}

struct character_case {
    const char *name, *text, *want; // the printable text
    uint32_t count;
};
static const struct character_case character_cases[] = {
    { "ASCII", "a z", "a z", 3 },
    { "two, three and four bytes", "\u00b5\u20ac\U0001f300", "\u00b5\u20ac\U0001f300", 3 },
    { "controls", "a\tb\x7f\x1b[", "a?b??[", 6 },
    { "a C1 control of two bytes", "\xc2\x9b\xc2\xa0", "?\xc2\xa0", 2 },
    { "a byte that begins nothing", "\x80z", "?z", 2 },
    { "a character cut short", "\xe2\x82", "??", 2 },
    { "an overlong slash", "\xc0\xaf", "??", 2 },
    { "a surrogate", "\xed\xa0\x80", "???", 3 },
};

static void characters_are_counted_and_made_printable(void **state)
{
    const struct character_case *c = *state;
    char got[64];
    size_t left = strlen(c->text), used = 0;
    assert_int_equal(words_count_characters(c->text, left), c->count);
    for (const char *text = c->text; left > 0;) {
        size_t written, read = words_copy_printable(text, left, got + used, &written);
        used += written;
        text += read;
        left -= read;
    }
    got[used] = 0;
    assert_string_equal(got, c->want);
}

int main(void)
{
    enum { NEAREST = ARRAY_COUNT(nearest_cases), CHARACTERS = ARRAY_COUNT(character_cases), PLAIN = 6 };
    struct CMUnitTest tests[PLAIN + NEAREST + CHARACTERS] = {
        cmocka_unit_test(what_was_begun_is_meant),
        cmocka_unit_test(foreign_text_is_cut),
        cmocka_unit_test(lists_are_bounded),
        cmocka_unit_test(hints_name_one_or_all),
        cmocka_unit_test(several_that_hold_a_text_are_listed),
        cmocka_unit_test(long_numbers_are_grouped),
    };
    struct CMUnitTest *next = tests + PLAIN;
    for (size_t i = 0; i < NEAREST; i++)
        *next++ = (struct CMUnitTest){ .name = nearest_cases[i].name,
                                       .test_func = nearest_is_found,
                                       .initial_state = (void *)&nearest_cases[i] };
    for (size_t i = 0; i < CHARACTERS; i++)
        *next++ = (struct CMUnitTest){ .name = character_cases[i].name,
                                       .test_func = characters_are_counted_and_made_printable,
                                       .initial_state = (void *)&character_cases[i] };
    return cmocka_run_group_tests_name("words", tests, NULL, NULL);
}
