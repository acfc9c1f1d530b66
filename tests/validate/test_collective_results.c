// SPDX-License-Identifier: GPL-3.0-or-later
// README.md tells the accuracy of collectives. Its tables are made from validate/results_collectives.csv.
#include "tests/support/scratch.h"

#include "tests/support/readme.h"
#include "tests/support/text.h"

#include "validate/collective_results.h"
#include <math.h>

static const char begin_marker[] =
    "<!-- collectives: begin (made by tests/validate/test_collective_results.c) -->\n";
static const char end_marker[] = "<!-- collectives: end -->\n";

static void the_readme_tells_the_accuracy(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    char *text = NULL;
    size_t length = 0;
    sim_error error = { 0 };
    collective_point_array points = { 0 };
    prototype_array prototype;
    FILE *out = os_open_memory(&text, &length);
    assert_non_null(out);
    assert_true(collective_results_read(a, "validate/results_collectives.csv", &points, &error));
    assert_true(collective_prototype_read(a, "validate", &prototype, &error));
    collective_results_write_table(a, &points, &prototype, out);
    assert_int_equal(fclose(out), 0);
    readme_check(begin_marker, end_marker, text);
    free(text);
    arena_destroy(a);
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    sim_error error = { 0 };
    collective_point_array points = { 0 }, back = { 0 };
    *array_push(&points, a) = (collective_point){ .run = "r, \"1\"",
                                                  .collective = "all_reduce",
                                                  .algorithm = "ring",
                                                  .compare = "c",
                                                  .class = CLASS_ROCE,
                                                  .is_fit = true,
                                                  .ranks = 16,
                                                  .bytes = 3 << 20,
                                                  .measured_s = 2e-3,
                                                  .simulated_s = 1e-3,
                                                  .reason = "" };
    *array_push(&points, a) = (collective_point){ .run = "r2",
                                                  .collective = "sendrecv",
                                                  .algorithm = "auto",
                                                  .compare = "",
                                                  .class = -1,
                                                  .ranks = 2,
                                                  .bytes = 8,
                                                  .measured_s = (double)NAN,
                                                  .simulated_s = (double)NAN,
                                                  .status = POINT_UNKNOWN,
                                                  .reason = "why, then" };
    for (uint64_t bytes = 16; bytes <= 64; bytes *= 2) {
        collective_point *p = array_push(&points, a);
        *p = points.items[1];
        p->bytes = bytes; // for the reason that has been told
        if (bytes == 64) p->compare = "c";
    }
    FILE *out = fopen("r.csv", "w");
    assert_non_null(out);
    collective_results_write(&points, out);
    assert_int_equal(fclose(out), 0);
    char text[1024];
    // ln(1 / 2) = -0.6931
    assert_string_equal(text_read_back(fopen("r.csv", "r"), text, sizeof text),
                        "run,class,collective,algorithm,compare,ranks,role,bytes,measured_us,simulated_us,"
                        "error,status,reason\n"
                        "\"r, \"\"1\"\"\",roce,all_reduce,ring,c,16,fit,3145728,2000,1000,-0.6931,scored,\n"
                        "r2,,sendrecv,auto,,2,held,8,,,,unknown,\"why, then\"\n"
                        "r2,,sendrecv,auto,c,2,held,64,,,,unknown,\"why, then\"\n");
    assert_true(collective_results_read(a, "r.csv", &back, &error));
    assert_int_equal(back.count, 3);
    assert_string_equal(back.items[0].run, "r, \"1\"");
    assert_int_equal(back.items[0].class, CLASS_ROCE);
    assert_true(back.items[0].is_fit && !back.items[1].is_fit);
    assert_int_equal(back.items[0].bytes, 3 << 20);
    assert_near(back.items[0].simulated_s, 1e-3, 1e-12);
    assert_int_equal(back.items[1].class, -1);
    assert_true(isnan(back.items[1].measured_s));
    assert_int_equal(back.items[1].status, POINT_UNKNOWN);
    assert_string_equal(back.items[1].reason, "why, then");
    arena_destroy(a);
}

#define COLUMNS                                                                                              \
    "run,class,collective,algorithm,compare,ranks,role,bytes,measured_us,simulated_us,error,status,reason\n"

static void mistakes_are_told_at_their_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        { "run,kind\n", "column 2 of a table of results is not \"class\"" },
        { COLUMNS "r,boat,all_reduce,auto,,2,fit,8,1,1,0,scored,\n",
          "there is no \"boat\" in a table of results" },
        { COLUMNS "r,roce,all_reduce,auto,,2,fat,8,1,1,0,scored,\n",
          "there is no \"fat\" in a table of results" },
        { COLUMNS "r,roce,all_reduce,auto,,2,fit,8,1,1,0,lost,\n",
          "there is no \"lost\" in a table of results" },
        { COLUMNS "r,roce,all_reduce,auto,,2,fit,8,x,1,0,scored,\n", NULL }, // units_parse() says it
        { COLUMNS "r,roce,all_reduce,auto,,-2,fit,8,1,1,0,scored,\n", NULL },
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        arena *a = arena_create("test");
        sim_error error = { 0 };
        collective_point_array points = { 0 };
        scratch_write("r.csv", cases[i].text);
        assert_false(collective_results_read(a, "r.csv", &points, &error));
        if (cases[i].message) assert_string_equal(error.message, cases[i].message);
        assert_int_equal(error.exit_code, SIM_EXIT_INPUT);
        arena_destroy(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_readme_tells_the_accuracy),
        cmocka_unit_test_setup_teardown(what_is_written_is_read, scratch_enter, scratch_leave),
        cmocka_unit_test_setup_teardown(mistakes_are_told_at_their_place, scratch_enter, scratch_leave),
    };
    return cmocka_run_group_tests_name("collective_results", tests, NULL, NULL);
}
