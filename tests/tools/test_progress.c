// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"
#include "tests/support/text.h"
#include "tools/progress.h"

struct line_case {
    run_progress now;
    const char *want;
};
static const struct line_case lines[] = {
    { { .steps_done = 12, .steps = 300, .wall_s = 3.75 },
      "step 12 of 300  4 %  3.2 steps/s  1 min 30 s left" }, // 288 / 3.2
    { { .steps_done = 300, .steps = 300, .wall_s = 2.0 }, "step 300 of 300  100 %  150 steps/s  0 s left" },
    { { .steps_done = 1, .steps = 2, .wall_s = 7200.0 },
      "step 1 of 2  50 %  2 h 00 min per step  2 h 00 min left" },
    { { .steps_done = 2260, .steps = 1000000, .wall_s = 2.0 },
      "step 2260 of 1000000  0 %  1130 steps/s  14 min 43 s left" },
    { { .steps_done = 4999, .steps = 5000, .wall_s = 50.0 },
      "step 4999 of 5000  100 %  100 steps/s  0 s left" },
    { { .steps_done = 1, .steps = 3, .wall_s = 80.0 }, "step 1 of 3  33 %  0.0125 steps/s  2 min 40 s left" },
    { { .steps_done = 0, .steps = 3, .events = 2340000, .wall_s = 9.0 }, "step 1 of 3  2.3 million events" },
};

struct flows_case {
    traffic_progress now;
    const char *want;
};
static const struct flows_case flow_lines[] = {
    { { .finished = 2016, .flows = 8064, .wall_s = 1.5 },
      "2016 of 8064 flows  25 %  1.34e+03 flows/s  5 s left" }, // 6048 / 1344 = 4.5, ties up
    { { .finished = 3, .flows = UINT64_C(300000000000), .wall_s = 1.0 },
      "3 of 300000000000 flows  0 %  3 flows/s  1157407 d 09 h left" },
    { { .finished = 0, .flows = 8064, .events = 2340000, .wall_s = 9.0 },
      "0 of 8064 flows  2.3 million events" },
};

static void lines_say_how_many_flows(void **state)
{
    (void)state;
    char text[160];
    for (size_t i = 0; i < ARRAY_COUNT(flow_lines); i++)
        assert_string_equal(progress_format_flows(text, sizeof(text), &flow_lines[i].now),
                            flow_lines[i].want);
    progress p = { .out = tmpfile() };
    assert_non_null(p.out);
    assert_true(progress_show_flows(&p, &(traffic_progress){ .finished = 1, .flows = 4, .wall_s = 0.4 }));
    assert_true(progress_show_flows(&p, &(traffic_progress){ .finished = 2, .flows = 4, .wall_s = 1.0 }));
    assert_string_equal(text_read_back(p.out, text, sizeof(text)),
                        "\r2 of 4 flows  50 %  2 flows/s  1 s left\r");
}

static void lines_say_how_far(void **state)
{
    (void)state;
    char text[160];
    for (size_t i = 0; i < ARRAY_COUNT(lines); i++)
        assert_string_equal(progress_format(text, sizeof(text), &lines[i].now), lines[i].want);
}

// Not before half a second, then at most five times a second; a shorter line covers a longer one; nothing stays.
static void the_line_is_rewritten(void **state)
{
    (void)state;
    char text[512];
    progress p = { .out = tmpfile() };
    assert_non_null(p.out);
    assert_true(progress_show(&p, &(run_progress){ .steps_done = 1, .steps = 100, .wall_s = 0.4 }));
    assert_true(progress_show(&p, &(run_progress){ .steps_done = 2, .steps = 100, .wall_s = 1.0 }));
    assert_true(progress_show(&p, &(run_progress){ .steps_done = 3, .steps = 100, .wall_s = 1.1 }));
    assert_true(progress_show(&p, &(run_progress){ .steps_done = 4, .steps = 8, .wall_s = 2.0 }));
    progress_clear(&p);
    assert_string_equal(text_read_back(p.out, text, sizeof(text)),
                        "\rstep 2 of 100  2 %  2 steps/s  49 s left\r"
                        "\rstep 4 of 8  50 %  2 steps/s  2 s left  \r"
                        "\r                                      \r");
}

static void nothing_is_shown_elsewhere(void **state)
{
    (void)state;
    progress p = { .out = NULL };
    assert_true(progress_show(&p, &(run_progress){ .steps_done = 2, .steps = 100, .wall_s = 1.0 }));
    progress_clear(&p);
    assert_int_equal(p.width, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_say_how_far),
        cmocka_unit_test(lines_say_how_many_flows),
        cmocka_unit_test(the_line_is_rewritten),
        cmocka_unit_test(nothing_is_shown_elsewhere),
    };
    return cmocka_run_group_tests_name("progress", tests, NULL, NULL);
}
