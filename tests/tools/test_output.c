// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"
#include "tests/support/text.h"
#include "tools/output.h"

static int start(void **state)
{
    *state = arena_create("test");
    return *state ? 0 : -1;
}

static int finish(void **state)
{
    arena_destroy(*state);
    return 0;
}

// ---- tables

static void columns_are_aligned(void **state)
{
    static const table_column columns[] = { { "part", false }, { "count", true }, { "what", false } };
    char text[512];
    table t = table_make(*state, columns, ARRAY_COUNT(columns));
    table_cell(&t, "gpu");
    table_cell(&t, "%d", 16384);
    table_cell(&t, "H100");
    table_cell(&t, "switch %d", 7);
    table_cell(&t, "9");
    table_cell(&t, "%s", "");
    table_cell(&t, "µ-NIC"); // five characters, six bytes
    table_cell(&t, "%s", "");
    table_cell(&t, "x");
    FILE *stream = tmpfile();
    table_print(&t, "  ", stream);
    assert_string_equal(text_read_back(stream, text, sizeof(text)), "  part      count  what\n"
                                                                    "  gpu       16384  H100\n"
                                                                    "  switch 7      9\n"
                                                                    "  µ-NIC            x\n");
}

static void titles_may_be_left_out(void **state)
{
    static const table_column columns[] = { { NULL, true }, { NULL, true } };
    char text[512];
    table t = table_make(*state, columns, ARRAY_COUNT(columns));
    table_cell(&t, "1");
    table_cell(&t, "22");
    table_cell(&t, "333");
    table_cell(&t, "4");
    FILE *stream = tmpfile();
    table_print(&t, "", stream);
    assert_string_equal(text_read_back(stream, text, sizeof(text)), "  1  22\n333   4\n");
}

static void empty_tables_print_their_titles(void **state)
{
    static const table_column columns[] = { { "a", false }, { "b", false } };
    char text[64];
    table t = table_make(*state, columns, ARRAY_COUNT(columns));
    FILE *stream = tmpfile();
    table_print(&t, "", stream);
    assert_string_equal(text_read_back(stream, text, sizeof(text)), "a  b\n");
}

static void cells_are_whole_and_printable(void **state)
{
    static const table_column columns[] = { { NULL, false } };
    char text[4096], want[2048];
    memset(want, 'x', sizeof(want));
    want[2000] = 0;
    table t = table_make(*state, columns, 1);
    table_cell(&t, "%s", want);
    table_cell(&t, "a\nb\x1b[31m caf\xe9 \xc2\x9b");
    FILE *stream = tmpfile();
    table_print(&t, "", stream);
    text_read_back(stream, text, sizeof(text));
    strcpy(want + 2000, "\na?b?[31m caf? ?\n");
    assert_string_equal(text, want);
}

// ---- numbers

static void counts_have_separators(void **state)
{
    arena *a = *state;
    assert_string_equal(output_count(a, 0), "0");
    assert_string_equal(output_count(a, 999), "999");
    assert_string_equal(output_count(a, 1000), "1,000");
    assert_string_equal(output_count(a, 12345678), "12,345,678");
    assert_string_equal(output_count(a, UINT64_MAX), "18,446,744,073,709,551,615");
}

static void numbers_are_readable(void **state)
{
    arena *a = *state;
    assert_string_equal(output_number(a, UNIT_TIME, 0.0012344), "1.234 ms");
    assert_string_equal(output_bytes(a, 80.0 * 1024 * 1024 * 1024), "80.00 GiB");
    assert_string_equal(output_percent(a, 0.41287), "41.3 %");
    assert_string_equal(output_percent(a, 1.0), "100.0 %");
}

struct duration_case {
    double seconds;
    const char *want;
};
static const struct duration_case durations[] = {
    { 0.0, "0 s" },         { 0.49, "0 s" },          { 59.4, "59 s" },         { 59.5, "1 min 00 s" },
    { 90.0, "1 min 30 s" }, { 3599.9, "1 h 00 min" }, { 7512.0, "2 h 05 min" }, { 273600.0, "3 d 04 h" },
};

static void durations_have_two_units(void **state)
{
    (void)state;
    char text[64];
    for (size_t i = 0; i < ARRAY_COUNT(durations); i++)
        assert_string_equal(output_duration(text, sizeof(text), durations[i].seconds), durations[i].want);
}

struct shares_case {
    double shares[4];
    uint32_t count, want[4];
};
static const struct shares_case shares[] = {
    { { 1.0 }, 1, { 1000 } },
    { { 1.0 / 3, 1.0 / 3, 1.0 / 3 }, 3, { 334, 333, 333 } }, // the earlier of equals gets the rest
    { { 0.00044, 0.00044, 0.99912 }, 3, { 1, 0, 999 } },     // 0.44 + 0.44 + 999.12: rests .44 .44 .12
    { { 0.2508, 0.2507, 0.2506, 0.2479 }, 4, { 251, 251, 250, 248 } }, // rests .8 .7 .6 .9; three are missing
    { { 0.1, 0.2 }, 2, { 100, 200 } },                                 // they need not be all
    { { 0.0, 1.0 }, 2, { 0, 1000 } },
};

static void shares_add_up(void **state)
{
    for (size_t i = 0; i < ARRAY_COUNT(shares); i++) {
        uint32_t tenths[4];
        output_round_shares(*state, shares[i].shares, shares[i].count, tenths);
        for (uint32_t k = 0; k < shares[i].count; k++)
            if (tenths[k] != shares[i].want[k])
                fail_msg("row %zu, share %u: %u instead of %u", i, k, tenths[k], shares[i].want[k]);
    }
}

// ---- JSON

static void json_is_indented(void **state)
{
    (void)state;
    char text[2048];
    FILE *stream = tmpfile();
    json_writer j = json_make(stream);
    json_object(&j, NULL);
    json_text(&j, "text", "x");
    json_text(&j, "none", NULL);
    json_number(&j, "number", 0.1);
    json_number(&j, "infinite", INFINITY);
    json_count(&j, "count", UINT64_MAX);
    json_integer(&j, "integer", INT64_MIN);
    json_bool(&j, "yes", true);
    json_bool(&j, "no", false);
    json_null(&j, "null");
    json_array(&j, "array");
    json_count(&j, NULL, 1);
    json_object(&j, NULL);
    json_close(&j);
    json_array(&j, NULL);
    json_close(&j);
    json_close(&j);
    json_object(&j, "object");
    json_bool(&j, "inner", true);
    json_close(&j);
    json_close(&j);
    assert_string_equal(text_read_back(stream, text, sizeof(text)), "{\n"
                                                                    "  \"text\": \"x\",\n"
                                                                    "  \"none\": null,\n"
                                                                    "  \"number\": 0.1,\n"
                                                                    "  \"infinite\": null,\n"
                                                                    "  \"count\": 18446744073709551615,\n"
                                                                    "  \"integer\": -9223372036854775808,\n"
                                                                    "  \"yes\": true,\n"
                                                                    "  \"no\": false,\n"
                                                                    "  \"null\": null,\n"
                                                                    "  \"array\": [\n"
                                                                    "    1,\n"
                                                                    "    {},\n"
                                                                    "    []\n"
                                                                    "  ],\n"
                                                                    "  \"object\": {\n"
                                                                    "    \"inner\": true\n"
                                                                    "  }\n"
                                                                    "}\n");
}

struct text_case {
    const char *text, *want;
};
static const struct text_case texts[] = {
    { "", "[\n  \"\"\n]\n" },
    { "a \"b\" \\c/", "[\n  \"a \\\"b\\\" \\\\c/\"\n]\n" },
    { "\b\f\n\r\t", "[\n  \"\\b\\f\\n\\r\\t\"\n]\n" },
    { "\x01\x1f\x7f", "[\n  \"\\u0001\\u001f\\u007f\"\n]\n" },
    { "µ €  𝄞", "[\n  \"µ €  𝄞\"\n]\n" },
    { "caf\xe9!", "[\n  \"caf\\ufffd!\"\n]\n" },                                     // ISO 8859-1
    { "\xc0\x80\xed\xa0\x80", "[\n  \"\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\"\n]\n" }, // overlong, surrogate
};

static void json_texts_are_escaped(void **state)
{
    (void)state;
    char text[256];
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++) {
        FILE *stream = tmpfile();
        json_writer j = json_make(stream);
        json_array(&j, NULL);
        json_text(&j, NULL, texts[i].text);
        json_close(&j);
        assert_string_equal(text_read_back(stream, text, sizeof(text)), texts[i].want);
    }
}

static const double numbers[] = { 0.0,     1.0,     -1.5,
                                  0.1,     1e15,    123456789012345680.0,
                                  1e300,   5e-324,  2.2250738585072014e-308,
                                  1.0 / 3, 2.0 / 3, 9007199254740993.0,
                                  4.35e-7 };

static void json_numbers_read_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(numbers); i++) {
        char text[64];
        double got;
        FILE *stream = tmpfile();
        json_writer j = json_make(stream);
        json_array(&j, NULL);
        json_number(&j, NULL, numbers[i]);
        json_close(&j);
        text_read_back(stream, text, sizeof(text));
        assert_int_equal(sscanf(text, "[ %lf ]", &got), 1);
        assert_memory_equal(&got, &numbers[i], sizeof(got));
    }
}

static void errors_are_objects(void **state)
{
    (void)state;
    static const char yaml[] = "a: 1\nbad: \"x\"\n";
    const sim_place place = {
        .file = "f.yaml", .line = 2, .column = 6, .text = yaml, .text_length = sizeof(yaml) - 1
    };
    sim_error placed = { 0 }, bare = { 0 };
    char text[512];
    sim_fail(&placed, SIM_EXIT_INPUT, &place, "\"x\" is wrong");
    sim_hint(&placed, "y");
    sim_fail(&bare, SIM_EXIT_NO, NULL, "no");
    FILE *stream = tmpfile();
    json_writer j = json_make(stream);
    json_object(&j, NULL);
    json_error(&j, &placed);
    json_error(&j, &bare);
    json_close(&j);
    assert_string_equal(text_read_back(stream, text, sizeof(text)),
                        "{\n"
                        "  \"error\": {\n"
                        "    \"exit_code\": 2,\n"
                        "    \"file\": \"f.yaml\",\n"
                        "    \"line\": 2,\n"
                        "    \"column\": 6,\n"
                        "    \"message\": \"\\\"x\\\" is wrong\",\n"
                        "    \"hint\": \"y\"\n"
                        "  },\n"
                        "  \"error\": {\n"
                        "    \"exit_code\": 1,\n"
                        "    \"file\": null,\n"
                        "    \"line\": null,\n"
                        "    \"column\": null,\n"
                        "    \"message\": \"no\",\n"
                        "    \"hint\": null\n"
                        "  }\n"
                        "}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_aligned),
        cmocka_unit_test(titles_may_be_left_out),
        cmocka_unit_test(empty_tables_print_their_titles),
        cmocka_unit_test(counts_have_separators),
        cmocka_unit_test(cells_are_whole_and_printable),
        cmocka_unit_test(numbers_are_readable),
        cmocka_unit_test(durations_have_two_units),
        cmocka_unit_test(shares_add_up),
        cmocka_unit_test(json_is_indented),
        cmocka_unit_test(json_texts_are_escaped),
        cmocka_unit_test(json_numbers_read_back),
        cmocka_unit_test(errors_are_objects),
    };
    return cmocka_run_group_tests_name("output", tests, start, finish);
}
