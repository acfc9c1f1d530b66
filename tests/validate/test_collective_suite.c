// SPDX-License-Identifier: GPL-3.0-or-later
// Measured collectives are played on the made-up parts of tests/cli/catalogue.
#include "tests/support/scratch.h"

#include "models/cluster_named.h"
#include "models/collective_bench.h"
#include "sim/os.h"
#include "validate/collective_results.h"
#include <math.h>

#define HEADER                                                                                               \
    "id,size_bytes,time_us,in_place,source,collective,algorithm,gpu,gpus,gpus_per_node,fabric,notes\n"

static const char rows[] = HEADER "plain,1048576,900,0,A,all_reduce,auto,CHIP,4,4,,\n"
                                  "plain,1048576,40,1,,,,,,,,\n" // the first use connects: the lesser counts
                                  "plain,1048577,50,0,,,,,,,,\n"
                                  "plain,2048,9,0,,,,,,,,WRONG RESULTS IN THIS ROW\n"
                                  "again-1,65536,20,0,B,all_reduce,Ring,CHIP,4,4,,\n"
                                  "again-2,65536,30,0,B,all_reduce,Ring,CHIP,4,4,,\n"
                                  "again-3,65536,70,0,B,all_reduce,Ring,CHIP,4,4,,\n"
                                  "again-1,33554432,1000,0,,,,,,,,\n"
                                  "again-2,33554432,1500,0,,,,,,,,\n"
                                  "again-3,33554432,4000,0,,,,,,,,\n"
                                  "torch,8,40,0,C,all_gather,auto,CHIP,3,4,,in torch\n"
                                  "small,8,40,0,C,all_gather,auto,CHIP,4,4,,profiled\n"
                                  "ill,8,40,0,C,all_gather,auto,CHIP,4,4,,\n"
                                  "nothing,0,3,0,C,all_gather,auto,CHIP,4,4,,\n"
                                  "unsaid,8,,0,C,all_gather,auto,CHIP,4,4,,\n"
                                  "tree,8,40,0,C,all_gather,PAT,CHIP,4,4,,\n"
                                  "wide,8,40,0,C,all_gather,auto,CHIP,8,8,,\n"
                                  "two,8,40,0,C,sendrecv,auto,CHIP,8,4,IB,\n"
                                  "far,8,40,0,C,sendrecv,auto,SHIP,8,4,rope,\n";

static const char rules[] =
    "- where: { gpu: CHIP }\n  evidence: e\n  cluster: box\n  class: hopper-node\n"
    "- where: { fabric: IB }\n  evidence: e\n  class: infiniband-2\n"
    "- where: { algorithm: Ring }\n  evidence: e\n  set: { network.algorithm: ring }\n"
    "- where: { algorithm: PAT }\n  evidence: e\n  set: { network.algorithm: shrub }\n"
    "- where: { notes: '*torch*' }\n  evidence: e\n  harness: { more: 10 us, least: 1 s }\n"
    "- where: { notes: '*profiled*' }\n  evidence: two modes\n  sizes_from: 1 MiB\n"
    "- where: { id: 'again-*' }\n  evidence: e\n  together: again\n"
    "- where: { id: ill }\n  fault: it is ill\n";

static collective_suite_options options_of(const scratch_folder *folder)
{
    static char parts[sizeof folder->before + 32];
    scratch_write("v/collectives/systems.yaml", rules);
    scratch_write("v/collectives/benchmarks.yaml", "[]\n");
    scratch_write("v/collectives/limits.yaml", "[]\n");
    scratch_write("v/collectives/prototype.csv",
                  "class,collective,band,role,points,error,in_1.07,in_1.15,in_1.3\n"
                  "hopper-node,all_reduce,middle,fit,3,0.2,0,1,3\n"
                  "hopper-node,all_reduce,middle,held,1,0.4,0,0,0\n"
                  "hopper-node,all_gather,floor,held,2,0.5,0,0,1\n");
    scratch_write("v/measured/collectives.csv", rows);
    scratch_write("v/measured/split.csv", "table,source,gpu,dtype,role,kernels,program,why\n"
                                          "collectives,again-*,,,fit,,,\n"
                                          "collectives,*,,,held,,,\n");
    scratch_write("v/measured/kernel_sets.csv",
                  "kernels,gpu,like,flash,stream_efficiency,stream_grade,stream_source,"
                  "overhead_gpu,overhead_grade\n");
    assert_int_equal(setenv("WINDTUNNEL_VALIDATE", "v", 1), 0);
    snprintf(parts, sizeof parts, "%s/tests/cli/catalogue", folder->before);
    return (collective_suite_options){ .catalogue_path = parts, .jobs = 1 };
}

static const collective_point *point_of(const collective_suite *s, const char *run, uint64_t bytes)
{
    for (uint32_t i = 0; i < s->points.count; i++)
        if (strcmp(s->points.items[i].run, run) == 0 && s->points.items[i].bytes == bytes)
            return &s->points.items[i];
    fail_msg("no point of %s", run);
    return NULL;
}

// What the models say, asked without the suite.
static double alone_s(arena *a, const collective_suite_options *o, uint32_t ranks, collective_kind kind,
                      uint64_t bytes)
{
    catalogue parts;
    scenario s;
    sim_error error = { 0 };
    collective_bench_result result;
    assert_true(catalogue_find(a, o->catalogue_path, &parts, &error));
    assert_true(cluster_named_load(a, &parts,
                                   &(cluster_named){ .name = "box", .topology = -1, .called = "t" },
                                   &(cluster_named_places){ 0 }, NULL, 0, &s, &error));
    assert_true(scenario_check(&s, false, &error));
    collective_bench *b = collective_bench_create(
        a, &s, &(collective_bench_options){ .gpus_per_node = ranks }, &error);
    assert_non_null(b);
    collective_bench_play(
        b,
        &(collective_bench_request){
            .kind = kind, .bytes = bytes, .algorithm = ALGORITHM_AUTO, .protocol = PROTOCOL_AUTO },
        &result);
    return units_s_from_ps(result.time_ps);
}

static void runs_are_played(void **state)
{
    arena *a = arena_create("test");
    sim_error error = { 0 };
    collective_suite s;
    const collective_suite_options o = options_of(*state);
    if (!collective_suite_play(a, &o, &s, &error)) fail_msg("%s", error.message);
    const collective_point *plain = point_of(&s, "plain", 1048576);
    assert_int_equal(plain->status, POINT_SCORED);
    assert_near(plain->measured_s, 40e-6, 1e-12);
    assert_near(plain->simulated_s, alone_s(a, &o, 4, COLLECTIVE_ALL_REDUCE, 1048576), 1e-12);
    assert_false(plain->is_fit);
    const collective_point *again = point_of(&s, "again-N1", 65536);
    assert_near(again->measured_s, 30e-6, 1e-12); // the median
    assert_true(again->is_fit);
    assert_string_equal(again->algorithm, "ring");
    const collective_point *two = point_of(&s, "two", 8); // over a fabric
    assert_int_equal(two->status, POINT_SCORED);
    assert_int_equal(two->class, CLASS_INFINIBAND_2);
    const collective_point *torch = point_of(&s, "torch", 8);
    assert_int_equal(torch->ranks, 3);
    assert_near(torch->simulated_s, 1.0, 1e-12); // its floor
    arena_destroy(a);
}

static void what_does_not_count_says_why(void **state)
{
    arena *a = arena_create("test");
    sim_error error = { 0 };
    collective_suite s;
    const collective_suite_options o = options_of(*state);
    assert_true(collective_suite_play(a, &o, &s, &error));
    static const struct {
        const char *run;
        uint64_t bytes;
        point_status status;
        const char *reason;
    } cases[] = {
        { "plain", 2048, POINT_FAULT, "the test itself found wrong results at this size" },
        { "ill", 8, POINT_FAULT, "it is ill" },
        { "small", 8, POINT_UNKNOWN, "two modes" },
        { "nothing", 0, POINT_UNKNOWN, "nothing is sent" },
        { "unsaid", 8, POINT_UNKNOWN, "no time is published" },
        { "tree", 8, POINT_UNKNOWN, "network.algorithm cannot be \"shrub\"" },
        { "wide", 8, POINT_UNKNOWN, "a node \"box\" has 4 GPUs, not 8" },
        { "far", 8, POINT_UNKNOWN, "the GPU \"SHIP\" is not known; the nearest is \"CHIP\"" },
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        const collective_point *p = point_of(&s, cases[i].run, cases[i].bytes);
        assert_int_equal(p->status, cases[i].status);
        assert_string_equal(p->reason, cases[i].reason);
        assert_true(isnan(p->simulated_s));
    }
    const compared_row_array compared = collective_suite_compare(a, &s.points);
    assert_int_equal(compared.count, s.points.count);
    for (uint32_t i = 0; i < compared.count; i++) {
        const compared_row *row = &compared.items[i];
        if (strcmp(row->id, "ill:8") == 0) assert_string_equal(row->unknown_reason, "fault: it is ill");
        if (strcmp(row->id, "far:8") == 0) assert_string_equal(row->source, "not known; held back");
        if (strcmp(row->id, "again-N1:65536") == 0) assert_string_equal(row->source, "one node, Hopper; fit");
    }
    arena_destroy(a);
}

// Of 32 MiB the repeats took 1, 1.5 and 4 times the best; of 64 KiB nothing is told.
static void repeats_spread(void **state)
{
    arena *a = arena_create("test");
    sim_error error = { 0 };
    collective_suite s;
    const collective_suite_options o = options_of(*state);
    assert_true(collective_suite_play(a, &o, &s, &error));
    assert_int_equal(s.spreads.count, 1);
    const collective_spread *spread = &s.spreads.items[0];
    assert_string_equal(spread->run, "again-N1");
    assert_int_equal(spread->n, 3);
    assert_near(spread->median, 1.5, 1e-12);
    assert_near(spread->upper, 2.75, 1e-12); // half way from 1.5 to 4
    assert_near(spread->greatest, 4.0, 1e-12);
    arena_destroy(a);
}

static void the_prototype_is_weighed_by_points(void **state)
{
    arena *a = arena_create("test");
    sim_error error = { 0 };
    prototype_array all;
    (void)options_of(*state);
    assert_true(collective_prototype_read(a, "v", &all, &error));
    static const struct {
        point_choice choice;
        double mean, in_115, in_13;
    } cases[] = {
        // (3 x 0.2 + 0.4) / 4; all: (0.6 + 0.4 + 1) / 6, 1 and 4 of 6 points
        { { .class = CLASS_HOPPER_NODE, .band = BAND_MIDDLE }, 0.25, 0.25, 0.75 },
        { { .class = -1, .band = -1 }, 1.0 / 3.0, 1.0 / 6.0, 2.0 / 3.0 },
        { { .class = -1, .band = BAND_MIDDLE, .role = ROLE_FIT_ONLY }, 0.2, 1.0 / 3.0, 1.0 },
        { { .class = -1, .band = -1, .role = ROLE_HELD_ONLY }, 1.4 / 3.0, 0.0, 1.0 / 3.0 },
        { { .class = -1, .band = -1, .collective = "all_gather" }, 0.5, 0.0, 0.5 },
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        const point_score s = collective_prototype_score(&all, &cases[i].choice);
        assert_near(s.mean, cases[i].mean, 1e-12);
        assert_near(s.within[0], 0.0, 1e-12);
        assert_near(s.within[1], cases[i].in_115, 1e-12);
        assert_near(s.within[2], cases[i].in_13, 1e-12);
        assert_true(isnan(s.median) && isnan(s.bias));
    }
    const point_choice none = { .class = CLASS_RACK, .band = -1 };
    assert_int_equal(collective_prototype_score(&all, &none).n, 0);
    assert_true(isnan(collective_prototype_score(&all, &none).mean));
    arena_destroy(a);
}

static void processes_change_nothing(void **state)
{
    arena *a = arena_create("test");
    sim_error error = { 0 };
    collective_suite_options o = options_of(*state);
    char *text[2];
    for (uint32_t i = 0; i < 2; i++) {
        size_t length;
        collective_suite s;
        o.jobs = i + 1;
        assert_true(collective_suite_play(a, &o, &s, &error));
        FILE *out = os_open_memory(&text[i], &length);
        collective_results_write(&s.points, out);
        assert_int_equal(fclose(out), 0);
    }
    assert_string_equal(text[0], text[1]);
    free(text[0]);
    free(text[1]);
    arena_destroy(a);
}

static void runs_are_chosen(void **state)
{
    arena *a = arena_create("test");
    sim_error error = { 0 };
    collective_suite s;
    collective_suite_options o = options_of(*state);
    o.source = "B";
    assert_true(collective_suite_play(a, &o, &s, &error));
    assert_int_equal(s.points.count, 2);
    o.source = "pl*";
    assert_true(collective_suite_play(a, &o, &s, &error));
    assert_int_equal(s.points.count, 3);
    o.source = "plane";
    assert_false(collective_suite_play(a, &o, &s, &error));
    assert_string_equal(error.message, "no run has the id or the source \"plane\"");
    assert_string_equal(error.hint, "did you mean \"plain\"?");
    arena_destroy(a);
}

static void mistakes_in_data_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *path, *text, *message;
    } cases[] = {
        { "v/collectives/systems.yaml", "- evidence: e\n  convention: 6p\n",
          "there is no key of a rule \"convention\"" },
        { "v/collectives/systems.yaml", "- evidence: e\n  class: boat\n", "there is no class \"boat\"" },
        { "v/collectives/systems.yaml", "- evidence: e\n  harness: { most: 1 us }\n",
          "there is no key of a harness \"most\"" },
        { "v/collectives/systems.yaml", "- evidence: e\n  harness: 1 us\n",
          "harness is a mapping here, not a single value" },
        { "v/collectives/systems.yaml", "- evidence: e\n  harness: { more: [1 us] }\n",
          "more is a single value here, not a list" },
        { "v/collectives/systems.yaml", "- evidence: e\n  sizes_from: [1 MiB]\n",
          "sizes_from is a single value here, not a list" },
        { "v/collectives/systems.yaml", "- where: { model: x }\n  evidence: e\n",
          "there is no column \"model\"" },
        { "v/measured/split.csv", "table,source,gpu,dtype,role,kernels,program,why\ngemm,S,,,fit,k,,\n",
          "in split.csv the source \"S\" has no GPU" },
        { "v/collectives/prototype.csv",
          "class,collective,band,role,points,error,in_1.07,in_1.15,in_1.3\nboat,all_reduce,middle,fit,3,0.2,"
          "0,1,3\n",
          NULL },
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        arena *a = arena_create("test");
        sim_error error = { 0 };
        collective_suite s;
        const collective_suite_options o = options_of(*state);
        scratch_write(cases[i].path, cases[i].text);
        assert_false(collective_suite_play(a, &o, &s, &error));
        if (cases[i].message) assert_string_equal(error.message, cases[i].message);
        assert_int_equal(error.exit_code, SIM_EXIT_INPUT);
        arena_destroy(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(runs_are_played, scratch_enter, scratch_leave),
        cmocka_unit_test_setup_teardown(what_does_not_count_says_why, scratch_enter, scratch_leave),
        cmocka_unit_test_setup_teardown(repeats_spread, scratch_enter, scratch_leave),
        cmocka_unit_test_setup_teardown(the_prototype_is_weighed_by_points, scratch_enter, scratch_leave),
        cmocka_unit_test_setup_teardown(processes_change_nothing, scratch_enter, scratch_leave),
        cmocka_unit_test_setup_teardown(runs_are_chosen, scratch_enter, scratch_leave),
        cmocka_unit_test_setup_teardown(mistakes_in_data_are_told, scratch_enter, scratch_leave),
    };
    return cmocka_run_group_tests_name("collective_suite", tests, NULL, NULL);
}
