// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/scratch.h"

#include "tests/support/text.h"

#include "validate/collective_rows.h"
#include <math.h>

#define HEADER "id,size_bytes,time_us,in_place,source,collective,gpu,gpus,gpus_per_node,fabric,notes\n"

static void a_run_is_told_in_its_first_row(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    collective_rows rows;
    sim_error error = { 0 };
    scratch_write("c.csv", HEADER "one,8,12.5,0,S,all_reduce,H100,16,8,IB,n\n"
                                  "two,1024,,0,S,alltoall,B200,5,8,nvlink,\n"
                                  "one,8,11,1,,all_reduce,,,,,\n"
                                  "one,0,3,0,,,,,,,WRONG RESULTS IN THIS ROW\n");
    if (!collective_rows_read(a, "c.csv", &rows, &error)) fail_msg("%s", error.message);
    assert_int_equal(rows.runs.count, 2);
    const measured_run *one = &rows.runs.items[0], *two = &rows.runs.items[1];
    assert_string_equal(one->fields[RUN_FABRIC], "IB");
    assert_string_equal(one->fields[RUN_ALGORITHM], ""); // no such column
    assert_string_equal(one->fields[RUN_NODES], "2");
    assert_int_equal(one->ranks, 16);
    assert_int_equal(one->per_node, 8);
    assert_int_equal(two->per_node, 5); // of a node of eight
    assert_int_equal(two->nodes, 1);
    assert_int_equal(rows.sizes.count, 4);
    assert_int_equal(rows.sizes.items[2].run, 0);
    assert_near(rows.sizes.items[2].time_s, 11e-6, 1e-12);
    assert_true(isnan(rows.sizes.items[1].time_s));
    assert_true(rows.sizes.items[3].wrong && !rows.sizes.items[0].wrong);
    assert_int_equal(rows.sizes.items[3].bytes, 0);
    arena_destroy(a);
}

#define SYSTEM                                                                                               \
    "id,size_bytes,time_us,collective,gpu,gpus,gpus_per_node,in_place,algorithm,protocol,dtype,nics_per_"    \
    "node,nic_gbps,fabric\n"
#define RUN "r,8,1,all_reduce,H100,16,8,"

static void fields_hold_what_a_measurement_can_have(void **state)
{
    (void)state;
    static const struct {
        const char *fields, *message, *hint;
        uint32_t column; // 0: it is read
    } cases[] = {
        { "1,\"NVLSTree expected\",LL128,bf16/fp16 (not stated),8,400,IB", "", "", 0 },
        { "0,NVLS/NVLSTree auto,FP8 payload,float,,,", "", "", 0 },
        { ",,,,0,,NVLink5 NVL72", "", "", 0 },
        { "2,,,,,,", "in_place cannot be \"2\"", "one of: 0, 1", 28 },
        { "0,Rng,,,,,", "algorithm cannot be \"Rng\"", "did you mean \"Ring\"?", 30 },
        { "0,,LL12,,,,", "protocol cannot be \"LL12\"", "did you mean \"LL128\"?", 31 },
        { "0,,,flaot,,,", "dtype cannot be \"flaot\"", "did you mean \"float\"?", 32 },
        { "0,,,,-1,,", "nics_per_node cannot be \"-1\": the least is 0",
          "a whole number from 0 to 1024, or nothing where it is not published", 33 },
        { "0,,,,1e9,,", "nics_per_node cannot be \"1e9\": the greatest is 1024",
          "a whole number from 0 to 1024, or nothing where it is not published", 33 },
        { "0,,,,1.5,,", "nics_per_node cannot be \"1.5\": that is no whole number, the nearest is 2",
          "a whole number from 0 to 1024, or nothing where it is not published", 33 },
        { "0,,,,8,0,", "nic_gbps cannot be \"0\": the least is 0.1",
          "a number from 0.1 to 16000, or nothing where it is not published", 35 },
        { "0,,,,8,1e6,", "nic_gbps cannot be \"1e6\": the greatest is 16000",
          "a number from 0.1 to 16000, or nothing where it is not published", 35 },
        { "0,,,,8,fast,", "nic_gbps cannot be \"fast\": that is no number",
          "a number from 0.1 to 16000, or nothing where it is not published", 35 },
        { "0,,,,0,400,", "nics_per_node 0 with nic_gbps 400", "leave nic_gbps empty where no NIC is used",
          33 },
        { "0,,,,0,,IB", "nics_per_node 0 on 2 nodes",
          "1 or more, nothing where it is not published, or NVLink as the fabric", 33 },
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        arena *a = arena_create("test");
        collective_rows rows;
        sim_error error = { 0 };
        scratch_write("c.csv", arena_format(a, SYSTEM RUN "%s\n", cases[i].fields));
        assert_int_equal(collective_rows_read(a, "c.csv", &rows, &error), cases[i].column == 0);
        assert_string_equal(error.message, cases[i].message);
        assert_string_equal(error.hint, cases[i].hint);
        assert_int_equal(error.column, cases[i].column);
        assert_int_equal(error.line, cases[i].column ? 2 : 0);
        arena_destroy(a);
    }
}

static void mistakes_are_told_at_their_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
        uint32_t line;
    } cases[] = {
        { "id,size_bytes\n", "the column \"collective\" is missing", 1 },
        { "id,collective,gpu,gpus,gpus_per_node,size_bytes\n", "the column \"time_us\" is missing", 1 },
        { "id,size\n", "there is no column \"size\" in a table of collectives", 1 },
        { "id,nodes\n", "there is no column \"nodes\" in a table of collectives", 1 },
        { HEADER ",8,1,0,S,all_reduce,H100,8,8,,\n", "a row without an id", 2 },
        { HEADER "r,8,1,0,S,,H100,8,8,,\n", "the first row of a run says its collective", 2 },
        { HEADER "r,8,1,0,S,all_reduce,,8,8,,\n", "the first row of a run says its gpu", 2 },
        { HEADER "r,8,1,0,S,all_reduce,H100,1,8,,\n", "gpus must be between 2 and 1048576", 2 },
        { HEADER "r,8,1,0,S,all_reduce,H100,8,0,,\n", "gpus_per_node must be between 1 and 1048576", 2 },
        { HEADER "r,8,1,0,S,all_reduce,H100,12,8,,\n", "12 GPUs are not alike on nodes of 8", 2 },
        { HEADER "r,8,1,0,S,all_reduce,H100,8,8,,\nr,8,1,1,,all_gather,,,,,\n",
          "the collective of the run \"r\" was another in line 2", 3 },
        { HEADER "r,8,0,0,S,all_reduce,H100,8,8,,\n", "a time must be above zero", 2 },
        { HEADER "r,8,-1,0,S,all_reduce,H100,8,8,,\n", "a time must be above zero", 2 },
        { HEADER "r,-8,1,0,S,all_reduce,H100,8,8,,\n", NULL, 2 }, // units_parse_count() says it
        { HEADER "r,8,fast,0,S,all_reduce,H100,8,8,,\n", NULL, 2 },
        { HEADER "r,8,1,0,S,all_reduce,H100,many,8,,\n", NULL, 2 },
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        arena *a = arena_create("test");
        collective_rows rows;
        sim_error error = { 0 };
        scratch_write("c.csv", cases[i].text);
        assert_false(collective_rows_read(a, "c.csv", &rows, &error));
        if (cases[i].message) assert_string_equal(error.message, cases[i].message);
        assert_int_equal(error.line, cases[i].line);
        assert_int_equal(error.exit_code, SIM_EXIT_INPUT);
        arena_destroy(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_run_is_told_in_its_first_row, scratch_enter, scratch_leave),
        cmocka_unit_test_setup_teardown(fields_hold_what_a_measurement_can_have, scratch_enter,
                                        scratch_leave),
        cmocka_unit_test_setup_teardown(mistakes_are_told_at_their_place, scratch_enter, scratch_leave),
    };
    return cmocka_run_group_tests_name("collective_rows", tests, NULL, NULL);
}
