// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/plans.h"

static void check_rows(collective_algorithm algorithm, const uint32_t *sizes, plan_cut cut,
                       const plans_row *want, size_t count)
{
    arena *a = arena_create("test");
    const ring_set g = plans_group(a, sizes, 2, 1, 0);
    plan p, streams;
    const plan_request r = {
        .kind = COLLECTIVE_ALL_REDUCE, .algorithm = algorithm, .rings = &g, .bytes = 9, .cut = cut
    };
    plans_check(a, &r, &p, &streams);
    plans_compare(&p, want, count);
    arena_destroy(a);
}

// Nodes of 2 and 1 ranks, pieces of 5 and 4 bytes: rank 1 gives its head, rank 0, what it has; the network sums 0's and 2's.
static void direct_by_hand(void **state)
{
    (void)state;
    static const plans_row want[] = {
        { 1, 0, 0, 0, true, 5, -1, -1, 0 },  { 0, 2, 1, 0, false, 5, 0, -1, 1 },
        { 2, 0, 1, 0, false, 5, -1, -1, 1 }, { 1, 0, 1, 1, true, 4, -1, -1, 0 },
        { 0, 2, 2, 1, false, 4, 3, -1, 1 },  { 2, 0, 2, 1, false, 4, -1, -1, 1 },
        { 0, 1, 2, 0, false, 5, 2, -1, 0 },  { 0, 1, 3, 1, false, 4, 5, -1, 0 },
    };
    check_rows(ALGORITHM_COLLNET_DIRECT, (const uint32_t[]){ 2, 1 }, (plan_cut){ .chunk_bytes = 5 }, want,
               ARRAY_COUNT(want));
}

static void chain_by_hand(void **state)
{
    (void)state;
    static const plans_row want[] = {
        { 2, 1, 0, 0, true, 9, -1, -1, 0 }, { 1, 0, 1, 0, true, 9, 0, -1, 0 },
        { 0, 3, 2, 0, false, 9, 1, -1, 1 }, { 3, 0, 2, 0, false, 9, -1, -1, 1 },
        { 0, 1, 3, 0, false, 9, 3, -1, 0 }, { 1, 2, 4, 0, false, 9, 4, -1, 0 },
    };
    check_rows(ALGORITHM_COLLNET_CHAIN, (const uint32_t[]){ 3, 1 }, (plan_cut){ 0 }, want, ARRAY_COUNT(want));
}

typedef struct spoilt_case {
    const char *name;
    void (*spoil)(plan *p);
} spoilt_case;

static void not_all_in_the_sum(plan *p)
{
    p->messages[1].after_received = PLAN_NONE; // rank 1's part may come too late
}
static void no_operation(plan *p)
{
    p->edges[p->messages[1].edge].operation = 0; // 2 gets what 0's node has, not the sum
}
static void operation_out_of_range(plan *p)
{
    p->edges[p->messages[1].edge].operation = 2;
}
static void two_operations(plan *p)
{
    p->operations = 2;
    p->edges[p->messages[1].edge].operation = 2;
}
static void a_part_that_may_come_last(plan *p)
{
    p->messages[6].reduces = true; // the sum, with rank 1's own, is added to rank 1's own
}
static void no_switch_there(plan *p)
{
    p->messages[1].to = p->edges[p->messages[1].edge].to = 3;
}
static void a_switch_without_a_task(plan *p)
{
    p->switches = 1; // which sends what nobody brought
    p->messages[7].from = p->edges[p->messages[7].edge].from = 3;
    p->messages[6].from = 3;
}
static const spoilt_case spoilt[] = {
    { "not all in the sum", not_all_in_the_sum },
    { "no operation", no_operation },
    { "operation out of range", operation_out_of_range },
    { "two operations", two_operations },
    { "a part that may come last", a_part_that_may_come_last },
    { "no switch there", no_switch_there },
    { "a switch without a task", a_switch_without_a_task },
};

static void the_proof_finds_the_mistake(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(spoilt); i++) {
        arena *a = arena_create("test");
        const ring_set g = plans_group(a, (const uint32_t[]){ 2, 1 }, 2, 1, 0);
        plan p, streams;
        const plan_request r = { .kind = COLLECTIVE_ALL_REDUCE,
                                 .algorithm = ALGORITHM_COLLNET_DIRECT,
                                 .rings = &g,
                                 .bytes = 10,
                                 .cut = { .chunk_bytes = 5 } };
        plans_check(a, &r, &p, &streams);
        spoilt[i].spoil(&p);
        if (plan_is_valid(a, &p)) fail_msg("%s", spoilt[i].name);
        arena_destroy(a);
    }
}

// Over nodes each NIC of R sends an R-th of the buffer once, and receives it once; a ring of n ranks has it send nearly twice
// as much. 3 nodes of 4 ranks, 2 NICs.
static void each_nic_carries_its_part_once(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    const ring_set g = plans_group(a, (const uint32_t[]){ 4, 4, 4 }, 3, 2, 0);
    for (collective_algorithm i = ALGORITHM_COLLNET_DIRECT; i <= ALGORITHM_COLLNET_CHAIN; i++) {
        plan p;
        plan_collnet(
            a, &(plan_request){ .kind = COLLECTIVE_ALL_REDUCE, .algorithm = i, .rings = &g, .bytes = 1000 },
            &p);
        uint32_t found = 0;
        for (uint32_t e = 0; e < p.edge_count; e++) {
            const plan_edge *edge = &p.edges[e];
            if (edge->operation == 0) continue;
            found++;
            assert_int_equal(edge->bytes, 500);
            assert_int_equal(edge->from % 4, edge->operation == 1 ? 0 : 2); // the heads are the chains' first
            assert_int_equal(edge->to, (edge->from + 4) % 12);
        }
        assert_int_equal(found, 6);
        assert_int_equal(p.operations, 2);
    }
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(direct_by_hand), cmocka_unit_test(chain_by_hand),
                                        cmocka_unit_test(the_proof_finds_the_mistake),
                                        cmocka_unit_test(each_nic_carries_its_part_once) };
    return cmocka_run_group_tests_name("collnet", tests, NULL, NULL);
}
