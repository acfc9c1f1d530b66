// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/scratch.h"

#include "validate/collective_case.h"

static const char rules[] =
    "- where: { gpu: H100 }\n  evidence: e\n  cluster: box\n  class: hopper-node\n"
    "- where: { fabric: IB, nodes: '2' }\n  evidence: e\n  class: infiniband-2\n"
    "  set: { cluster.fabric.queue_pairs: 2, cluster.node.gpus: 8 }\n"
    "- where: { algorithm: Ring }\n  evidence: e\n  set: { network.algorithm: ring }\n"
    "- where: { notes: '*torch*' }\n  evidence: e\n  harness: { more: 10 us, least: 38 us }\n"
    "- where: { notes: '*profiled*' }\n  evidence: two modes\n  sizes_from: 1 MiB\n"
    "- where: { id: 'a*' }\n  evidence: e\n  together: a\n  compare: c\n"
    "- where: { id: bad }\n  fault: broken\n"
    "- where: { id: bad }\n  fault: and again\n"
    "- where: { id: odd }\n  unknown: odd\n";

#define HEADER "id,size_bytes,time_us,collective,algorithm,gpu,gpus,gpus_per_node,fabric,notes\n"

typedef struct loaded {
    arena *a;
    rule_array rules;
    collective_rows rows;
} loaded;

static loaded load(const char *rows)
{
    loaded l = { .a = arena_create("test") };
    sim_error error = { 0 };
    scratch_write("r.yaml", rules);
    scratch_write("c.csv", rows);
    if (!rules_read(l.a, "r.yaml", &collective_rule_language, &l.rules, &error) ||
        !collective_rows_read(l.a, "c.csv", &l.rows, &error))
        fail_msg("%s", error.message);
    return l;
}

static collective_case case_at(loaded *l, uint32_t run)
{
    return collective_case_of(l->a, &l->rows.runs.items[run], &l->rules);
}

static void rules_make_a_system(void **state)
{
    (void)state;
    loaded l = load(HEADER "a1,8,1,alltoall,Ring,H100,16,8,IB,in torch\n"
                           "one,8,1,all_reduce,auto,H100,8,8,IB,\n"
                           "slow,8,1,sendrecv,auto,H100,8,8,,profiled\n");
    const collective_case two = case_at(&l, 0), one = case_at(&l, 1), slow = case_at(&l, 2);
    assert_null(two.unknown);
    assert_string_equal(two.cluster, "box");
    assert_int_equal(two.class, CLASS_INFINIBAND_2);
    assert_int_equal(two.kind, COLLECTIVE_ALL_TO_ALL);
    assert_int_equal(two.sets.count, 3);
    assert_string_equal(two.sets.items[0], "cluster.fabric.queue_pairs=2");
    assert_string_equal(two.algorithm, "ring");
    assert_string_equal(two.together, "a");
    assert_string_equal(two.compare, "c");
    assert_int_equal(one.class, CLASS_HOPPER_NODE);
    assert_int_equal(one.sets.count, 0);
    assert_string_equal(one.algorithm, "auto");
    assert_string_equal(one.compare, "");
    assert_int_equal(slow.sizes_from, 1 << 20);
    assert_string_equal(slow.sizes_reason, "two modes");
    // 5 + 10 is less than the floor of 38; 100 + 10
    assert_near(collective_case_printed_s(&two, 5e-6), 38e-6, 1e-12);
    assert_near(collective_case_printed_s(&two, 100e-6), 110e-6, 1e-12);
    assert_near(collective_case_printed_s(&one, 5e-6), 5e-6, 1e-12);
    arena_destroy(l.a);
}

static void one_node_has_no_fabric(void **state)
{
    (void)state;
    loaded l = load(HEADER "r,8,1,all_reduce,Ring,H100,8,8,IB,\n");
    sim_error error = { 0 };
    rule_array all = { 0 };
    scratch_write("f.yaml", "- where: { gpu: H100 }\n  evidence: e\n  cluster: box\n  class: roce\n"
                            "  set: { cluster.fabric.switch: s, cluster.node.nic: n }\n");
    assert_true(rules_read(l.a, "f.yaml", &collective_rule_language, &all, &error));
    const collective_case c = collective_case_of(l.a, &l.rows.runs.items[0], &all);
    assert_int_equal(c.sets.count, 1);
    assert_string_equal(c.sets.items[0], "cluster.node.nic=n");
    arena_destroy(l.a);
}

static void what_is_not_known_is_said(void **state)
{
    (void)state;
    loaded l = load(HEADER "gpu,8,1,all_reduce,auto,H1OO,8,8,,\n"
                           "far,8,1,all_reduce,auto,Frobnicator,8,8,,\n"
                           "kind,8,1,all_reduced,auto,H100,8,8,,\n"
                           "odd,8,1,all_reduce,auto,H100,8,8,,\n"
                           "bad,8,1,all_reduce,auto,H100,8,8,,\n");
    assert_string_equal(case_at(&l, 0).unknown, "the GPU \"H1OO\" is not known; the nearest is \"H100\"");
    assert_string_equal(case_at(&l, 1).unknown, "the GPU \"Frobnicator\" is not known");
    assert_string_equal(case_at(&l, 2).unknown,
                        "the collective \"all_reduced\" is not known; the nearest is \"all_reduce\"");
    assert_string_equal(case_at(&l, 3).unknown, "odd");
    assert_string_equal(case_at(&l, 4).fault, "broken"); // the first
    arena_destroy(l.a);
}

static void a_fabric_without_a_class_is_not_known(void **state)
{
    (void)state;
    loaded l = load(HEADER "r,8,1,all_reduce,auto,H200,16,8,I8,\n"
                           "bare,8,1,all_reduce,auto,H200,16,8,,\n"
                           "one,8,1,all_reduce,auto,H200,8,8,,\n");
    sim_error error = { 0 };
    rule_array all = { 0 };
    scratch_write("f.yaml", "- where: { gpu: H200 }\n  evidence: e\n  cluster: box\n  class: hopper-node\n"
                            "- where: { fabric: IB }\n  evidence: e\n  class: infiniband-2\n");
    assert_true(rules_read(l.a, "f.yaml", &collective_rule_language, &all, &error));
    assert_string_equal(collective_case_of(l.a, &l.rows.runs.items[0], &all).unknown,
                        "the fabric \"I8\" is not known; the nearest is \"IB\"");
    assert_string_equal(collective_case_of(l.a, &l.rows.runs.items[1], &all).unknown,
                        "several nodes, and the fabric is not stated");
    assert_null(collective_case_of(l.a, &l.rows.runs.items[2], &all).unknown);
    arena_destroy(l.a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rules_make_a_system, scratch_enter, scratch_leave),
        cmocka_unit_test_setup_teardown(one_node_has_no_fabric, scratch_enter, scratch_leave),
        cmocka_unit_test_setup_teardown(what_is_not_known_is_said, scratch_enter, scratch_leave),
        cmocka_unit_test_setup_teardown(a_fabric_without_a_class_is_not_known, scratch_enter, scratch_leave),
    };
    return cmocka_run_group_tests_name("collective_case", tests, NULL, NULL);
}
