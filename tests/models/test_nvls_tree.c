// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/plans.h"

// NVLS on two ranks, whose switch is position 2; rank 0 owns 5 of 9 bytes, rank 1 owns 4. The switch reads all, gives each its
// sum; each sends it once, and it comes to both.
static void one_node_by_hand(void **state)
{
    (void)state;
    static const plans_row want[] = {
        { 0, 2, 0, 0, true, 5, -1, -1, 1 },  { 0, 2, 0, 1, true, 4, -1, -1, 1 },
        { 1, 2, 0, 0, true, 5, -1, -1, 1 },  { 1, 2, 0, 1, true, 4, -1, -1, 1 },
        { 2, 0, 0, 0, false, 5, -1, -1, 1 }, { 2, 1, 0, 1, false, 4, -1, -1, 1 },
        { 0, 2, 1, 0, false, 5, 4, -1, 2 },  { 1, 2, 1, 1, false, 4, 5, -1, 2 },
        { 2, 0, 1, 0, false, 5, -1, -1, 2 }, { 2, 0, 1, 1, false, 4, -1, -1, 2 },
        { 2, 1, 1, 0, false, 5, -1, -1, 2 }, { 2, 1, 1, 1, false, 4, -1, -1, 2 },
    };
    arena *a = arena_create("test");
    const ring_set g = plans_group(a, (const uint32_t[]){ 2 }, 1, 1, 0);
    plan p, streams;
    const plan_request r = {
        .kind = COLLECTIVE_ALL_REDUCE, .algorithm = ALGORITHM_NVLS, .rings = &g, .bytes = 9
    };
    plans_check(a, &r, &p, &streams);
    plans_compare(&p, want, ARRAY_COUNT(want));
    assert_int_equal(p.switches, 1);
    assert_int_equal(p.operations, 2);
    arena_destroy(a);
}

static void spoil_and_restore(arena *a, plan *p, plan_message *field, plan_message wrong)
{
    const plan_message right = *field;
    *field = wrong;
    assert_false(plan_is_valid(a, p));
    *field = right;
    assert_true(plan_is_valid(a, p));
}

// Two nodes of two ranks: lane 0 is head 0 in the tree whose root is node 0. Node 1's head sends its node's sum up in step 1;
// head 0 adds what its switch gave it, and sends down, and to its switch, in step 2; node 1's copies come in step 3.
static void two_nodes_by_hand(void **state)
{
    (void)state;
    static const plans_row lane[] = {
        { 0, 4, 0, 0, true, 3, -1, -1, 1 },  { 1, 4, 0, 0, true, 3, -1, -1, 1 },
        { 4, 0, 0, 0, false, 3, -1, -1, 1 }, { 2, 5, 0, 0, true, 3, -1, -1, 2 },
        { 3, 5, 0, 0, true, 3, -1, -1, 2 },  { 5, 2, 0, 0, false, 3, -1, -1, 2 },
        { 2, 0, 1, 0, true, 3, 16, -1, 0 },  { 0, 2, 2, 0, false, 3, 4, 26, 0 },
        { 0, 4, 2, 0, false, 3, 4, 26, 5 },  { 4, 0, 2, 0, false, 3, -1, -1, 5 },
        { 4, 1, 2, 0, false, 3, -1, -1, 5 }, { 2, 5, 3, 0, false, 3, 28, -1, 6 },
        { 5, 2, 3, 0, false, 3, -1, -1, 6 }, { 5, 3, 3, 0, false, 3, -1, -1, 6 },
    };
    arena *a = arena_create("test");
    const ring_set g = plans_group(a, (const uint32_t[]){ 2, 2 }, 2, 1, 0);
    plan p, streams;
    const plan_request r = {
        .kind = COLLECTIVE_ALL_REDUCE, .algorithm = ALGORITHM_NVLS_TREE, .rings = &g, .bytes = 9
    };
    plans_check(a, &r, &p, &streams);
    uint32_t at = 0;
    for (uint32_t m = 0; m < p.message_count; m++) {
        const plan_message *got = &p.messages[m];
        if (got->chunk != 0) continue;
        const plans_row *want = &lane[at++];
        uint32_t first;
        const uint32_t more = plan_more_waits(&p, m, &first);
        assert_int_equal(got->from, want->from);
        assert_int_equal(got->to, want->to);
        assert_int_equal(got->step, want->step);
        assert_int_equal(got->bytes, want->bytes);
        assert_int_equal(got->after_received, want->after_received);
        assert_int_equal(more > 0 ? (int32_t)p.more[first].received : PLAN_NONE, want->more);
        assert_int_equal(p.edges[got->edge].operation, want->operation);
    }
    assert_int_equal(at, ARRAY_COUNT(lane));
    assert_int_equal(p.message_count, 4 * ARRAY_COUNT(lane));

    // As streams: in a node 9 bytes and the sender's own parts, 3 + 2 and 2 + 2; and between heads what their lanes carry.
    assert_int_equal(streams.edge_count, 8);
    static const plan_edge edges[] = { { 0, 1, 4, 0, 14 }, { 0, 2, 2, 0, 5 },  { 1, 0, 4, 0, 13 },
                                       { 1, 3, 2, 0, 4 },  { 2, 3, 4, 0, 14 }, { 2, 0, 2, 0, 5 },
                                       { 3, 2, 4, 0, 13 }, { 3, 1, 2, 0, 4 } };
    for (uint32_t e = 0; e < streams.edge_count; e++)
        assert_memory_equal(&streams.edges[e], &edges[e], sizeof edges[e]);

    // The proof finds a switch that gets nothing, a sum sent up before it is there, and a copy that nothing brought.
    plan_message wrong = p.messages[26]; // 2 > 0
    wrong.after_received = PLAN_NONE;
    spoil_and_restore(a, &p, &p.messages[26], wrong);
    wrong = p.messages[0];
    wrong.chunk = 1; // as long as the other chunks: no
    spoil_and_restore(a, &p, &p.messages[0], wrong);
    wrong = p.messages[29]; // 0 > switch, the whole sum
    wrong.after_received = PLAN_NONE;
    spoil_and_restore(a, &p, &p.messages[29], wrong);
    p.edges[p.messages[0].edge].operation = 0;
    assert_false(plan_is_valid(a, &p));
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(one_node_by_hand),
                                        cmocka_unit_test(two_nodes_by_hand) };
    return cmocka_run_group_tests_name("nvls_tree", tests, NULL, NULL);
}
