// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/scratch.h"

#include "sim/array.h"
#include "sim/csv.h"
#include "tests/support/text.h"

static csv_reader *open_text(arena *a, const char *text, sim_error *error)
{
    return csv_open_text(a, "t.csv", text, strlen(text), error);
}

// ---- what is read, written back as [field|field] with line:column of the first

struct read_case {
    const char *name, *text, *want;
};
static const struct read_case read_cases[] = {
    { "plain", "a,b\n17,x y\n-3,\n", "[a|b]1:1 [17|x y]2:1 [-3|]3:1 " },
    { "no end of line at the end", "a,b\n1,2", "[a|b]1:1 [1|2]2:1 " },
    { "carriage returns", "a,b\r\n1,2\r\n3,4\r\n", "[a|b]1:1 [1|2]2:1 [3|4]3:1 " },
    { "blanks around fields and empty lines", "\n  a , b\t\n\n \t\n 1 ,  2 3 \n\n", "[a|b]2:3 [1|2 3]5:2 " },
    { "quotes", "a,\"b,c\"\n\"say \"\"hi\"\"\",\"\"\n \"x\" , \" y \"\n",
      "[a|b,c]1:1 [say \"hi\"|]2:1 [x| y ]3:2 " },
    { "lines inside quotes", "a,b\n\"one\ntwo\",3\n4,5\n", "[a|b]1:1 [one\ntwo|3]2:1 [4|5]4:1 " },
    { "a byte order mark",
      "\xEF\xBB\xBF"
      "a\n7\n",
      "[a]1:1 [7]2:1 " },
    { "other scripts", "na\xC3\xAFve,b\n\xE2\x82\xAC,\xF0\x9F\x98\x80\n",
      "[na\xC3\xAFve|b]1:1 [\xE2\x82\xAC|\xF0\x9F\x98\x80]2:1 " },
    { "only a header", "a,b\n", "[a|b]1:1 " },
};

static size_t show(char *out, size_t at, const csv_field *row, uint32_t columns)
{
    at += (size_t)sprintf(out + at, "[");
    for (uint32_t c = 0; c < columns; c++)
        at += (size_t)sprintf(out + at, "%s%s", c ? "|" : "", row[c].text);
    return at + (size_t)sprintf(out + at, "]%u:%u ", row[0].place.line, row[0].place.column);
}

static void fields_are_read(void **state)
{
    const struct read_case *c = *state;
    arena *a = arena_create("test");
    sim_error error = { 0 };
    char got[1024];
    csv_reader *r = open_text(a, c->text, &error);
    assert_non_null(r);
    size_t at = show(got, 0, csv_column(r, 0), csv_columns(r));
    for (const csv_field *row = csv_next(r, &error); row; row = csv_next(r, &error))
        at = show(got, at, row, csv_columns(r));
    assert_false(sim_failed(&error));
    assert_string_equal(got, c->want);
    arena_destroy(a);
}

// ---- what is refused

static const struct read_case refuse_cases[] = {
    { "nothing", "", "t.csv:1:1: error: the table is empty: its first line must name the columns\n" },
    { "empty lines", "\n \n",
      "t.csv:3:1: error: the table is empty: its first line must name the columns\n" },
    { "a column without a name", "a,,b\n",
      "t.csv:1:3: error: this column has no name\n    1 | a,,b\n      |   ^\n" },
    { "a column twice", "a,b,a\n",
      "t.csv:1:5: error: two columns are named \"a\"\n    1 | a,b,a\n      |     ^\n" },
    { "too few fields", "a,b,c\n1,2,3\n4,5\n",
      "t.csv:3:3: error: this row has 2 fields, but the header names 3\n    3 | 4,5\n      |   ^\n" },
    { "one field", "a,b,c\n4\n",
      "t.csv:2:1: error: this row has 1 field, but the header names 3\n    2 | 4\n      | ^\n" },
    { "too many fields", "a,b\n1,2,3\n",
      "t.csv:2:5: error: this row has 3 fields, but the header names 2\n    2 | 1,2,3\n      |     ^\n" },
    { "a quote inside", "a,b\n1,2\"3\n",
      "t.csv:2:4: error: a quote stands inside a field that does not begin with one\n    2 | 1,2\"3\n      | "
      "   ^\n" },
    { "a quote left open", "a,b\n1,\"2\n3,4\n",
      "t.csv:2:3: error: this quote is never closed\n    2 | 1,\"2\n      |   ^\n" },
    { "more behind a quote", "a,b\n\"1\"2,3\n",
      "t.csv:2:4: error: a comma or the end of the line is missing behind the quote\n    2 | \"1\"2,3\n      "
      "|    ^\n" },
    { "no UTF-8", "a,b\n1,\xFF\n", "t.csv:2:3: error: this is not UTF-8 text\n    2 | 1,?\n      |   ^\n" },
};

static void mistakes_are_refused(void **state)
{
    const struct read_case *c = *state;
    arena *a = arena_create("test");
    sim_error error = { 0 };
    csv_reader *r = open_text(a, c->text, &error);
    while (r && csv_next(r, &error))
        continue;
    assert_int_equal(error.exit_code, SIM_EXIT_INPUT);
    assert_error_prints(&error, c->want);
    arena_destroy(a);
}

static void a_zero_byte_is_refused(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    sim_error error = { 0 };
    csv_reader *r = csv_open_text(a, "t.csv", "a,b\n1,\0", 7, &error);
    assert_non_null(r);
    assert_null(csv_next(r, &error));
    assert_string_equal(error.message, "a zero byte is no text");
    arena_destroy(a);
}

static void too_many_columns_are_refused(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    sim_error error = { 0 };
    char text[400] = "";
    for (int i = 0; i < CSV_COLUMNS_MAX; i++)
        sprintf(text + strlen(text), "%sc%d", i ? "," : "", i);
    assert_non_null(open_text(a, text, &error));
    strcat(text, ",more");
    assert_null(open_text(a, text, &error));
    assert_string_equal(error.message, "there are more than 64 columns");
    arena_destroy(a);
}

static void a_document_has_the_fields_with_their_places(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    sim_error error = { 0 };
    document doc;
    csv_reader *r = open_text(a, "a,rate\nx,400 Gb/s\n\ny,\n", &error);
    assert_true(csv_document(r, &doc, &error));
    assert_int_equal(doc.root->kind, DOC_SEQUENCE);
    assert_int_equal(doc.root->count, 2);
    assert_int_equal(doc.root->unrolled, 6); // the list, two mappings, three values
    const doc_node *rate = document_find(doc.root->items[0], "rate");
    assert_string_equal(rate->scalar, "400 Gb/s");
    assert_int_equal(rate->place.line, 2);
    assert_int_equal(rate->place.column, 3);
    assert_null(document_find(doc.root->items[1], "rate")); // empty is left out
    assert_string_equal(document_find(doc.root->items[1], "a")->scalar, "y");

    r = open_text(a, "a,rate\nx\n", &error);
    assert_false(csv_document(r, &doc, &error));
    assert_string_equal(error.message, "this row has 1 field, but the header names 2");
    arena_destroy(a);
}

static void a_file_is_read_or_refused(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    sim_error error = { 0 };
    scratch_write("t.csv", "a,b\n5,6\n");
    csv_reader *r = csv_open(a, "t.csv", NULL, &error);
    uint32_t column;
    assert_non_null(r);
    assert_true(csv_find_column(r, "b", &column));
    assert_int_equal(column, 1);
    assert_false(csv_find_column(r, "c", &column));
    assert_string_equal(csv_next(r, &error)[1].text, "6");
    const sim_place where = { .file = "s.yaml", .line = 3, .column = 9 };
    assert_null(csv_open(a, "none.csv", &where, &error));
    assert_int_equal(error.line, 3);
    assert_int_equal(error.exit_code, SIM_EXIT_INPUT);
    arena_destroy(a);
}

int main(void)
{
    enum { READ = ARRAY_COUNT(read_cases), REFUSED = ARRAY_COUNT(refuse_cases) };
    struct CMUnitTest tests[READ + REFUSED + 4] = {
        [READ + REFUSED] = cmocka_unit_test(a_zero_byte_is_refused),
        [READ + REFUSED + 1] = cmocka_unit_test(too_many_columns_are_refused),
        [READ + REFUSED + 2] = cmocka_unit_test(a_document_has_the_fields_with_their_places),
        [READ + REFUSED + 3] = cmocka_unit_test_setup_teardown(a_file_is_read_or_refused, scratch_enter,
                                                               scratch_leave),
    };
    for (size_t i = 0; i < READ; i++)
        tests[i] = (struct CMUnitTest){ read_cases[i].name, fields_are_read, NULL, NULL,
                                        (void *)&read_cases[i] };
    for (size_t i = 0; i < REFUSED; i++)
        tests[READ + i] = (struct CMUnitTest){ refuse_cases[i].name, mistakes_are_refused, NULL, NULL,
                                               (void *)&refuse_cases[i] };
    return cmocka_run_group_tests_name("csv", tests, NULL, NULL);
}
