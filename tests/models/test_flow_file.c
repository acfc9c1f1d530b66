// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/scratch.h"

#include "models/traffic/flow_file.h"
#include "tests/support/text.h"

#define HEADER "start_ns,src,dst,bytes\n"
static const flow_file_limits limits = { .hosts = 64, .flows = TRAFFIC_LIST_MAX };

// ---- what is read

struct good_case {
    const char *name, *text;
    uint32_t count;
    traffic_flow last;
};
static const struct good_case good[] = {
    { "one flow", HEADER "7,3,11,9173641\n", 1, { 7000, 9173641, 3, 11 } },
    { "no end of the last line", HEADER "7,3,11,9173641", 1, { 7000, 9173641, 3, 11 } },
    { "equal starts, any hosts", HEADER "0,3,11,5\n0,63,0,6\n0,3,11,7\n", 3, { 0, 7, 3, 11 } },
    { "lines of another system",
      "start_ns,src,dst,bytes\r\n1,3,11,5\r\n2,4,12,6\r\n",
      2,
      { 2000, 6, 4, 12 } },
    { "a byte order mark", "\xef\xbb\xbf" HEADER "1,3,11,5\n", 1, { 1000, 5, 3, 11 } },
    { "blanks around numbers", HEADER " 1 ,\t3, 11\t,  5 \n", 1, { 1000, 5, 3, 11 } },
    { "empty lines", HEADER "\n1,3,11,5\n \t\n\r\n2,4,12,6\n\n", 2, { 2000, 6, 4, 12 } },
    { "leading zeros", HEADER "0007,03,0011,00000000000000000000005\n", 1, { 7000, 5, 3, 11 } },
    { "no bytes", HEADER "1,3,11,0\n", 1, { 1000, 0, 3, 11 } },
    { "the latest start, the most bytes",
      HEADER "4611686018427387,3,11,9223372036854775807\n",
      1,
      { INT64_C(4611686018427387000), UINT64_C(9223372036854775807), 3, 11 } },
};

static void flows_are_read(void **state)
{
    const struct good_case *c = *state;
    arena *a = arena_create("test");
    sim_error error = { 0 };
    traffic_flow_array flows = { 0 };
    if (!flow_file_parse(a, "flows.csv", c->text, strlen(c->text), &limits, &flows, &error))
        fail_msg("%s", error.message);
    assert_int_equal(flows.count, c->count);
    const traffic_flow *last = &flows.items[flows.count - 1];
    assert_true(last->start_ps == c->last.start_ps && last->bytes == c->last.bytes);
    assert_int_equal(last->from, c->last.from);
    assert_int_equal(last->to, c->last.to);
    arena_destroy(a);
}

// ---- what is refused, with row and column

struct bad_case {
    const char *name, *text, *want;
};
#define IS_NOT_WHOLE(shown_) "must be a whole number in plain digits, but is \"" shown_ "\"\n"
static const struct bad_case bad[] = {
    { "nothing", "",
      "flows.csv: error: the file is empty\n  hint: its first line is start_ns,src,dst,bytes\n" },
    { "only a mark", "\xef\xbb\xbf",
      "flows.csv: error: the file is empty\n  hint: its first line is start_ns,src,dst,bytes\n" },
    { "no header", "1,3,11,5\n",
      "flows.csv:1:1: error: the first line must be the header\n"
      "    1 | 1,3,11,5\n"
      "      | ^\n"
      "  hint: start_ns,src,dst,bytes\n" },
    { "another header behind a mark",
      "\xef\xbb\xbf"
      "src,dst,bytes,start_ns\n1,3,11,5\n",
      "flows.csv:1:1: error: the first line must be the header\n"
      "    1 | src,dst,bytes,start_ns\n"
      "      | ^\n"
      "  hint: start_ns,src,dst,bytes\n" },
    { "the header alone", HEADER, "flows.csv: error: there is no flow below the header\n" },
    { "lines of an old system", "start_ns,src,dst,bytes\r1,3,11,5\r",
      "flows.csv:1:23: error: a carriage return that does not end a line\n"
      "    1 | start_ns,src,dst,bytes\n"
      "      |                       ^\n" },
    { "a carriage return in a row", HEADER "1,3\r,11,5\n",
      "flows.csv:2:4: error: a carriage return that does not end a line\n"
      "    2 | 1,3\n"
      "      |    ^\n" },
    { "a column is missing", HEADER "1,3,11,5\n2,3,11\n",
      "flows.csv:3:7: error: \"bytes\" is missing: a flow is start_ns,src,dst,bytes\n"
      "    3 | 2,3,11\n"
      "      |       ^\n" },
    { "a comment", HEADER "# a comment\n",
      "flows.csv:2:1: error: \"start_ns\" " IS_NOT_WHOLE("# a comment") "    2 | # a comment\n"
                                                                        "      | ^\n" },
    { "semicolons", HEADER "1;3;11;5\n",
      "flows.csv:2:1: error: \"start_ns\" " IS_NOT_WHOLE("1;3;11;5") "    2 | 1;3;11;5\n"
                                                                     "      | ^\n" },
    { "a column too many", HEADER "1,3,11,5,9\n",
      "flows.csv:2:10: error: a fifth column: a flow is start_ns,src,dst,bytes\n"
      "    2 | 1,3,11,5,9\n"
      "      |          ^\n" },
    { "an empty field", HEADER "1,3,,5\n",
      "flows.csv:2:5: error: \"dst\" is empty\n"
      "    2 | 1,3,,5\n"
      "      |     ^\n" },
    { "quotes", HEADER "1,3,\"11\",5\n",
      "flows.csv:2:5: error: \"dst\" is in quotes\n"
      "    2 | 1,3,\"11\",5\n"
      "      |     ^\n"
      "  hint: numbers stand without quotes\n" },
    { "negative", HEADER "1,3,11, -5\n",
      "flows.csv:2:9: error: \"bytes\" is negative: -5\n"
      "    2 | 1,3,11, -5\n"
      "      |         ^\n" },
    { "a fraction", HEADER "1.5,3,11,5\n",
      "flows.csv:2:1: error: \"start_ns\" " IS_NOT_WHOLE("1.5") "    2 | 1.5,3,11,5\n"
                                                                "      | ^\n" },
    { "an exponent", HEADER "1,3,11,1e6\n",
      "flows.csv:2:8: error: \"bytes\" " IS_NOT_WHOLE("1e6") "    2 | 1,3,11,1e6\n"
                                                             "      |        ^\n" },
    { "a sign", HEADER "1,+3,11,5\n",
      "flows.csv:2:3: error: \"src\" " IS_NOT_WHOLE("+3") "    2 | 1,+3,11,5\n"
                                                          "      |   ^\n" },
    { "a blank inside", HEADER "1,3,11,5 000\n",
      "flows.csv:2:8: error: \"bytes\" " IS_NOT_WHOLE("5 000") "    2 | 1,3,11,5 000\n"
                                                               "      |        ^\n" },
    { "a word", HEADER "1,h3,11,5\n",
      "flows.csv:2:3: error: \"src\" " IS_NOT_WHOLE("h3") "    2 | 1,h3,11,5\n"
                                                          "      |   ^\n" },
    { "no text at all", HEADER "1,\xff\x01,11,5\n",
      "flows.csv:2:3: error: \"src\" " IS_NOT_WHOLE("??") "    2 | 1,??,11,5\n"
                                                          "      |   ^\n" },
    { "more than 64 bits", HEADER "1,3,11,18446744073709551616\n",
      "flows.csv:2:8: error: \"bytes\" is too large: 18446744073709551616 is more than 9223372036854775807\n"
      "    2 | 1,3,11,18446744073709551616\n"
      "      |        ^\n" },
    { "more than 63 bits", HEADER "1,3,11,9223372036854775808\n",
      "flows.csv:2:8: error: \"bytes\" is too large: 9223372036854775808 is more than 9223372036854775807\n"
      "    2 | 1,3,11,9223372036854775808\n"
      "      |        ^\n" },
    { "a host beyond the last", HEADER "1,64,11,5\n",
      "flows.csv:2:3: error: host 64 is not there: the fabric has hosts 0 to 63\n"
      "    2 | 1,64,11,5\n"
      "      |   ^\n" },
    { "a host far beyond", HEADER "1,3,4294967296,5\n",
      "flows.csv:2:5: error: \"dst\" is too large: 4294967296 is more than 4294967295\n"
      "    2 | 1,3,4294967296,5\n"
      "      |     ^\n" },
    { "to itself", HEADER "1,11,11,5\n",
      "flows.csv:2:6: error: host 11 sends to itself\n"
      "    2 | 1,11,11,5\n"
      "      |      ^\n" },
    { "out of order", HEADER "7,3,11,5\n\n6,3,11,5\n",
      "flows.csv:4:1: error: this flow starts at 6 ns, before the one above it, at 7 ns\n"
      "    4 | 6,3,11,5\n"
      "      | ^\n"
      "  hint: flows stand in the order of their start: sort -n -t, -k1,1 below the header\n" },
    { "later than the clock", HEADER "4611686018427388,3,11,5\n",
      "flows.csv:2:1: error: a start at 4611686018427388 ns is later than the 53 days after which flows may "
      "start\n"
      "    2 | 4611686018427388,3,11,5\n"
      "      | ^\n" },
    { "more bytes than can be counted", HEADER "1,3,11,9223372036854775807\n1,3,11,1\n",
      "flows.csv:3:8: error: with this flow they move more than the 9223372036854775807 bytes that can be "
      "counted\n"
      "    3 | 1,3,11,1\n"
      "      |        ^\n" },
};

static void refusal_names_row_and_column(void **state)
{
    const struct bad_case *c = *state;
    arena *a = arena_create("test");
    sim_error error = { 0 };
    traffic_flow_array flows = { 0 };
    assert_false(flow_file_parse(a, "flows.csv", c->text, strlen(c->text), &limits, &flows, &error));
    assert_int_equal(error.exit_code, SIM_EXIT_INPUT);
    assert_error_prints(&error, c->want);
    arena_destroy(a);
}

static void a_zero_byte_is_no_digit(void **state)
{
    (void)state;
    static const char text[] = HEADER "1,3,1\0001,5\n";
    arena *a = arena_create("test");
    sim_error error = { 0 };
    traffic_flow_array flows = { 0 };
    assert_false(flow_file_parse(a, "flows.csv", text, sizeof(text) - 1, &limits, &flows, &error));
    assert_error_prints(&error, "flows.csv:2:5: error: \"dst\" " IS_NOT_WHOLE("1") "    2 | 1,3,1?1,5\n"
                                                                                   "      |     ^\n");
    arena_destroy(a);
}

// One flow more than are held is refused at its row, before memory ends; empty lines are no flows.
static void too_many_flows(void **state)
{
    (void)state;
    static const char text[] = HEADER "0,0,1,1\n\n0,0,1,1\n0,0,1,1\n0,0,1,1\n";
    arena *a = arena_create("test");
    sim_error error = { 0 };
    traffic_flow_array flows = { 0 };
    assert_true(
        flow_file_parse(a, "flows.csv", text, sizeof(text) - 1, &(flow_file_limits){ 2, 4 }, &flows, &error));
    flows = (traffic_flow_array){ 0 };
    assert_false(
        flow_file_parse(a, "flows.csv", text, sizeof(text) - 1, &(flow_file_limits){ 2, 3 }, &flows, &error));
    assert_error_prints(&error,
                        "flows.csv:6:1: error: more than the 3 flows that are held in memory at once\n"
                        "    6 | 0,0,1,1\n"
                        "      | ^\n"
                        "  hint: play the file in parts\n");
    assert_int_equal(flows.count, 3);
    arena_destroy(a);
}

// ---- files

static void files_are_read_and_refused(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    sim_error error = { 0 };
    traffic_flow_array flows = { 0 };
    scratch_write("flows.csv", HEADER "7,3,11,9173641\n");
    assert_true(flow_file_read(a, "flows.csv", &limits, &flows, &error));
    assert_int_equal(flows.count, 1);
    flows = (traffic_flow_array){ 0 };
    assert_false(flow_file_read(a, "none.csv", &limits, &flows, &error));
    assert_error_prints(&error, "windtunnel: error: cannot read \"none.csv\": No such file or directory\n");

    // 10^9 flows are too many to read at all: the file's size says so (a file with a hole takes no room).
    int large = open("large.csv", O_CREAT | O_WRONLY, 0600);
    assert_true(large >= 0);
    assert_int_equal(ftruncate(large, (off_t)8000000000), 0);
    assert_int_equal(close(large), 0);
    error = (sim_error){ 0 };
    assert_false(flow_file_read(a, "large.csv", &limits, &flows, &error));
    assert_error_prints(
        &error, "windtunnel: error: cannot read \"large.csv\": it is 8000.0 MB; at most 536.9 MB are read\n");
    arena_destroy(a);
}

// The file's text is not in the arena, so it must be freed when the arena ends (AddressSanitizer looks).
static void memory_that_ends_leaves_nothing(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    jmp_buf escape;
    scratch_write("flows.csv", HEADER "7,3,11,9173641\n");
    arena_set_escape(a, &escape);
    arena_fail_after(a, 1);
    if (setjmp(escape) == 0) {
        sim_error error = { 0 };
        traffic_flow_array flows = { 0 };
        flow_file_read(a, "flows.csv", &limits, &flows, &error);
        fail_msg("the arena did not end");
    }
    assert_ptr_equal(arena_escape(a), &escape);
    arena_destroy(a);
}

int main(void)
{
    struct CMUnitTest tests[ARRAY_COUNT(good) + ARRAY_COUNT(bad) + 4];
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_COUNT(good); i++)
        tests[n++] = (struct CMUnitTest){ good[i].name, flows_are_read, NULL, NULL, (void *)&good[i] };
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++)
        tests[n++] = (struct CMUnitTest){ bad[i].name, refusal_names_row_and_column, NULL, NULL,
                                          (void *)&bad[i] };
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(a_zero_byte_is_no_digit);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(too_many_flows);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test_setup_teardown(files_are_read_and_refused, scratch_enter,
                                                                    scratch_leave);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test_setup_teardown(memory_that_ends_leaves_nothing,
                                                                    scratch_enter, scratch_leave);
    SIM_ASSERT(n == ARRAY_COUNT(tests));
    return cmocka_run_group_tests_name("flow_file", tests, NULL, NULL);
}
