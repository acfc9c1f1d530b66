// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "models/collective/parts_file.h"
#include "sim/array.h"
#include "tests/support/text.h"
#include <string.h>

static arena *scratch;

static int open_scratch(void **state)
{
    (void)state;
    scratch = arena_create("parts");
    return 0;
}

static int close_scratch(void **state)
{
    (void)state;
    arena_destroy(scratch);
    return 0;
}

// ---- what is read

static void weights_are_read(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "2,0.5,1\n0,3,9\n1e1,0,.25\n",
        "\xef\xbb\xbf 2 ,\t5E-1, 1.\r\n\r\n0,3,9\r\n \n10.0,0,0.25",
    };
    static const double want[] = { 2, 0.5, 1, 0, 3, 9, 10, 0, 0.25 };
    for (size_t t = 0; t < ARRAY_COUNT(texts); t++) {
        sim_error error = { 0 };
        parts_weights w;
        if (!parts_file_parse(scratch, "p.csv", texts[t], strlen(texts[t]), 3, &w, &error))
            fail_msg("%s", error.message);
        for (size_t i = 0; i < ARRAY_COUNT(want); i++)
            assert_true(w.weights[i] == want[i]);
        // Rows 3.5, 12 and 10.25, columns 12, 3.5 and 10.25; their mean 25.75 / 3.
        assert_near(w.row_max, 12, 1e-15);
        assert_near(w.row_max_per_mean, 36 / 25.75, 1e-12);
        assert_near(w.column_max, 12, 1e-15);
        assert_near(w.column_max_per_mean, 36 / 25.75, 1e-12);
    }
}

// The largest row holds exactly what is asked for: 12 of weight are 1,000 elements of 4 bytes, so 1 is 83.33. Ends of row 0:
// 166.7, 208.3, 291.7; of row 1: 0, 250, 1000; of row 2: 833.3, 833.3, 854.2.
static void parts_are_scaled(void **state)
{
    (void)state;
    static const char text[] = "2,0.5,1\n0,3,9\n10,0,0.25\n";
    static const uint64_t want[] = { 166, 42, 83, 0, 250, 750, 833, 0, 21 };
    sim_error error = { 0 };
    parts_weights w;
    uint64_t parts[9];
    assert_true(parts_file_parse(scratch, "p.csv", text, strlen(text), 3, &w, &error));
    assert_int_equal(parts_scale(&w, 1000, 4, parts), 4 * (42 + 83 + 750 + 833));
    for (size_t i = 0; i < ARRAY_COUNT(want); i++)
        assert_int_equal(parts[i], 4 * want[i]);
    // 29 of 100 are 29, though 0.29 is a little less than that as a binary fraction.
    static const char hundredths[] = "71,29\n0,0\n";
    assert_true(parts_file_parse(scratch, "p.csv", hundredths, strlen(hundredths), 2, &w, &error));
    assert_int_equal(parts_scale(&w, 100, 1, parts), 29);
    // One element, and nobody's part of it is a whole one but that of the rank itself.
    static const char small[] = "3,1\n1,3\n";
    assert_true(parts_file_parse(scratch, "p.csv", small, strlen(small), 2, &w, &error));
    assert_int_equal(parts_scale(&w, 1, 4, parts), 4); // the end of row 0 is its own
    assert_int_equal(parts[1], 4);
    assert_int_equal(parts[0] + parts[2] + parts[3], 4);
}

// ---- what is refused, with line and column

struct bad_case {
    const char *name, *text, *want;
};
#define HINT "  hint: one row per sender, one column per receiver, no header; whole or decimal\n"
static const struct bad_case bad[] = {
    { "nothing", "", "p.csv: error: the file has 0 rows, but there are 2 ranks, a row for each\n" },
    { "a row is missing", "1,2\n",
      "p.csv: error: the file has 1 row, but there are 2 ranks, a row for each\n" },
    { "a row too many", "1,2\n3,4\n5,6\n",
      "p.csv:3:1: error: a row too many: there are 2 ranks, a row for each\n    3 | 5,6\n      | ^\n" },
    { "a column is missing", "1,2\n3\n",
      "p.csv:2:2: error: this row has 1 column, but there are 2 ranks, a column for each\n"
      "    2 | 3\n      |  ^\n" },
    { "a column too many", "1,2\n3,4,5\n",
      "p.csv:2:5: error: a column too many: there are 2 ranks, a column for each\n"
      "    2 | 3,4,5\n      |     ^\n" },
    { "an empty field", "1,\n3,4\n", "p.csv:1:3: error: a weight is missing\n    1 | 1,\n      |   ^\n" },
    { "negative", "1, -2\n3,4\n",
      "p.csv:1:4: error: a weight is negative: -2\n    1 | 1, -2\n      |    ^\n" },
    { "a header", "to 0,to 1\n3,4\n",
      "p.csv:1:1: error: a weight must be a number, but is \"to 0\"\n    1 | to 0,to 1\n      | ^\n" HINT },
    { "no finite number", "1,2\n3,nan\n",
      "p.csv:2:3: error: a weight must be a number, but is \"nan\"\n    2 | 3,nan\n      |   ^\n" HINT },
    { "hexadecimal", "1,0x10\n3,4\n",
      "p.csv:1:3: error: a weight must be a number, but is \"0x10\"\n    1 | 1,0x10\n      |   ^\n" HINT },
    { "a point alone", ".,1\n3,4\n",
      "p.csv:1:1: error: a weight must be a number, but is \".\"\n    1 | .,1\n      | ^\n" HINT },
    { "an exponent without digits", "1e+,1\n3,4\n",
      "p.csv:1:1: error: a weight must be a number, but is \"1e+\"\n    1 | 1e+,1\n      | ^\n" HINT },
    { "characters count", "1,\xc3\xa4\xc3\xb6,4\n",
      "p.csv:1:3: error: a weight must be a number, but is \"\xc3\xa4\xc3\xb6\"\n"
      "    1 | 1,\xc3\xa4\xc3\xb6,4\n      |   ^\n" HINT },
    { "too large", "1e201,1\n3,4\n",
      "p.csv:1:1: error: a weight is too large: more than 1e+200\n    1 | 1e201,1\n      | ^\n" },
    { "all zero", "0,0\n0,0\n",
      "p.csv: error: no rank sends anything to another\n"
      "  hint: a weight above zero that is not on the diagonal\n" },
    { "all stays", "3,0\n0,4\n",
      "p.csv: error: no rank sends anything to another\n"
      "  hint: a weight above zero that is not on the diagonal\n" },
};

static void mistakes_are_shown(void **state)
{
    const struct bad_case *c = *state;
    sim_error error = { 0 };
    parts_weights w;
    assert_false(parts_file_parse(scratch, "p.csv", c->text, strlen(c->text), 2, &w, &error));
    assert_int_equal(error.exit_code, SIM_EXIT_INPUT);
    assert_error_prints(&error, c->want);
}

int main(void)
{
    struct CMUnitTest tests[2 + ARRAY_COUNT(bad)] = {
        cmocka_unit_test(weights_are_read),
        cmocka_unit_test(parts_are_scaled),
    };
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++)
        tests[2 + i] = (struct CMUnitTest){ .name = bad[i].name,
                                            .test_func = mistakes_are_shown,
                                            .initial_state = (void *)&bad[i] };
    return cmocka_run_group_tests_name("parts_file", tests, open_scratch, close_scratch);
}
