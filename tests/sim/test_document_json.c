// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/scratch.h"

#include "sim/array.h"
#include "sim/document.h"
#include "tests/support/text.h"

static arena *scratch;

static int set_up(void **state)
{
    (void)state;
    scratch = arena_create("test");
    return scratch ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    arena_destroy(scratch);
    return 0;
}

static void write_node(const doc_node *n, FILE *out)
{
    if (n->kind == DOC_SCALAR) {
        fprintf(out, n->quoted ? "\"%s\"" : "%s", n->scalar);
        return;
    }
    fputc(n->kind == DOC_MAPPING ? '{' : '[', out);
    for (uint32_t i = 0; i < n->count; i++) {
        if (i) fputs(", ", out);
        if (n->kind == DOC_MAPPING) fprintf(out, "%s: ", n->pairs[i].key);
        write_node(n->kind == DOC_MAPPING ? n->pairs[i].value : n->items[i], out);
    }
    fputc(n->kind == DOC_MAPPING ? '}' : ']', out);
}

static bool parse(const char *text, document *doc, sim_error *error)
{
    return document_parse_json(scratch, "t.json", text, strlen(text), doc, error);
}

struct fine_case {
    const char *text, *want;
};
static const struct fine_case fine_cases[] = {
    { "{}", "{}" },
    { " [ ] ", "[]" },
    { "\xef\xbb\xbf{\"a\": 1}\r\n", "{a: 1}" }, // a byte order mark
    { "{\"a\":1e-05,\"b\":-0.5E+3,\"c\":[true,false,null]}",
      "{a: 1e-05, b: -0.5E+3, c: [true, false, null]}" },
    { "{\n\t\"tab\": \"1\"\n}", "{tab: \"1\"}" },
    { "{\"include\": \"x\", \"<<\": \"y\", \"\": 0}", "{include: \"x\", <<: \"y\", : 0}" },
    { "[NaN, Infinity, -Infinity, 0, -0]", "[NaN, Infinity, -Infinity, 0, -0]" },
    { "\"\\\"\\\\\\/ \\u00e9 \\u20AC \\uD83D\\ude00 \xc3\xa9\"",
      "\"\"\\/ \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xc3\xa9\"" },
    { "{\"a\": {\"a\": {\"a\": []}}, \"b\": \"a: b # c\"}", "{a: {a: {a: []}}, b: \"a: b # c\"}" },
};
static void json_is_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(fine_cases); i++) {
        document doc;
        sim_error error = { 0 };
        char got[512];
        assert_true(parse(fine_cases[i].text, &doc, &error));
        FILE *stream = tmpfile();
        assert_non_null(stream);
        write_node(doc.root, stream);
        assert_string_equal(text_read_back(stream, got, sizeof got), fine_cases[i].want);
    }
}

static void controls_are_escaped(void **state)
{
    (void)state;
    document doc;
    sim_error error = { 0 };
    assert_true(parse("\"\\b\\f\\n\\r\\t\"", &doc, &error));
    assert_string_equal(doc.root->scalar, "\b\f\n\r\t");
    assert_true(doc.root->quoted);
}

static void places_are_those_of_the_text(void **state)
{
    (void)state;
    document doc;
    sim_error error = { 0 };
    assert_true(parse("{\n  \"\xc3\xa9\": [1,\n   22]\n}", &doc, &error));
    const doc_pair *pair = &doc.root->pairs[0];
    assert_int_equal(pair->key_place.line, 2);
    assert_int_equal(pair->key_place.column, 3);
    assert_int_equal(pair->value->place.column, 8); // the letter is one column
    assert_int_equal(pair->value->items[1]->place.line, 3);
    assert_int_equal(pair->value->items[1]->place.column, 4);
    assert_string_equal(pair->value->place.file, "t.json");
    assert_int_equal(doc.root->unrolled, 4);
    assert_int_equal(doc.root->height, 3);
}

struct refused_case {
    const char *text;
    uint32_t line, column;
    const char *message;
};
static const struct refused_case refused_cases[] = {
    { "", 1, 1, "not valid JSON: a value is missing at the end of the text" },
    { "OPTConfig {", 1, 1, "not valid JSON: here stands \"O\" instead of a value" },
    { "{\"a\": 1} x", 1, 10, "not valid JSON: here stands \"x\" instead of the end of the text" },
    { "{\"a\": 1,}", 1, 9, "not valid JSON: here stands \"}\" instead of a key in double quotes" },
    { "[1,]", 1, 4, "not valid JSON: here stands \"]\" instead of a value" },
    { "[1 2]", 1, 4, "not valid JSON: here stands \"2\" instead of \",\" or \"]\"" },
    { "{\"a\" 1}", 1, 6, "not valid JSON: here stands \"1\" instead of \":\" behind a key" },
    { "{'a': 1}", 1, 2, "not valid JSON: here stands \"'\" instead of a key in double quotes" },
    { "{\"a\": 1", 1, 8, "not valid JSON: \",\" or \"}\" is missing at the end of the text" },
    { "{\"a\": \"b}", 1, 7, "not valid JSON: this text does not end" },
    { "# no\n{}", 1, 1, "not valid JSON: here stands \"#\" instead of a value" },
    { "[01]", 1, 3, "not valid JSON: a number does not begin with 0" },
    { "[+1]", 1, 2, "not valid JSON: here stands \"+\" instead of a value" },
    { "[-]", 1, 3, "not valid JSON: here stands \"]\" instead of a digit" },
    { "[1.]", 1, 4, "not valid JSON: here stands \"]\" instead of a digit" },
    { "[1e]", 1, 4, "not valid JSON: here stands \"]\" instead of a digit" },
    { "[True]", 1, 2, "not valid JSON: here stands \"T\" instead of a value" },
    { "[\"a\nb\"]", 1, 4, "not valid JSON: the control character 0x0A stands in a text" },
    { "[\"\\x\"]", 1, 4,
      "not valid JSON: here stands \"x\" instead of an escape: one of \\\" \\\\ \\/ \\b \\f \\n "
      "\\r \\t \\u" },
    { "[\"\\u12g4\"]", 1, 7,
      "not valid JSON: here stands \"g\" instead of one of the four hexadecimal digits "
      "behind \\u" },
    { "[\"\\u0000\"]", 1, 3, "not valid JSON: a text cannot hold a zero byte" },
    { "[\"\\ud83d\"]", 1, 3, "not valid JSON: half of a pair of surrogates" },
    { "[\"\\ud83d\\n\"]", 1, 3, "not valid JSON: half of a pair of surrogates" },
    { "[\"\\ud83d\\u0041\"]", 1, 3, "not valid JSON: half of a pair of surrogates" },
    { "[\"\\ude00\"]", 1, 3, "not valid JSON: half of a pair of surrogates" },
    { "[\"\xff\"]", 1, 3, "not valid JSON: the text is not UTF-8" },
    { "{\"a\": 1,\n \"b\": 2,\n \"a\": 3}", 3, 2, "the key \"a\" is already given in line 1" },
};
static void everything_else_is_refused_where_it_stands(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(refused_cases); i++) {
        const struct refused_case *c = &refused_cases[i];
        document doc;
        sim_error error = { 0 };
        assert_false(parse(c->text, &doc, &error));
        assert_string_equal(error.message, c->message);
        assert_int_equal(error.line, c->line);
        assert_int_equal(error.column, c->column);
        assert_int_equal(error.exit_code, SIM_EXIT_INPUT);
    }
}

static void depth_is_limited(void **state)
{
    (void)state;
    char text[2 * DOCUMENT_DEPTH_MAX + 3] = "";
    for (int depth = DOCUMENT_DEPTH_MAX; depth <= DOCUMENT_DEPTH_MAX + 1; depth++) {
        document doc;
        sim_error error = { 0 };
        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        text[2 * depth] = 0;
        const bool fine = parse(text, &doc, &error);
        assert_int_equal(fine, depth == DOCUMENT_DEPTH_MAX);
        if (!fine) assert_string_equal(error.message, "nested deeper than 64 levels");
    }
}

static void files_are_read_whole(void **state)
{
    (void)state;
    document doc;
    sim_error error = { 0 };
    assert_false(document_load_json(scratch, "none.json", NULL, &doc, &error));
    assert_int_equal(error.exit_code, SIM_EXIT_INPUT);
    scratch_write("c.json", "{\"a\": [1]}\n");
    error = (sim_error){ 0 };
    assert_true(document_load_json(scratch, "c.json", NULL, &doc, &error));
    assert_string_equal(document_find(doc.root, "a")->items[0]->scalar, "1");
    assert_string_equal(doc.file, "c.json");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_is_read),
        cmocka_unit_test(controls_are_escaped),
        cmocka_unit_test(places_are_those_of_the_text),
        cmocka_unit_test(everything_else_is_refused_where_it_stands),
        cmocka_unit_test(depth_is_limited),
        cmocka_unit_test_setup_teardown(files_are_read_whole, scratch_enter, scratch_leave),
    };
    return cmocka_run_group_tests_name("document_json", tests, set_up, tear_down);
}
