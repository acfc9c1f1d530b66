// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/plans.h"

// Two nodes of two, 9 bytes: lane 0 (5 bytes) has node 0 above node 1, lane 1 (4 bytes) node 1 above node 0.
static void two_nodes_by_hand(void **state)
{
    (void)state;
    static const plans_row want[] = {
        { 1, 0, 0, 0, true, 5, -1, -1, 0 }, { 1, 0, 0, 1, true, 4, -1, -1, 0 },
        { 3, 2, 0, 0, true, 5, -1, -1, 0 }, { 3, 2, 0, 1, true, 4, -1, -1, 0 },
        { 0, 2, 1, 1, true, 4, 1, -1, 0 },  { 2, 0, 1, 0, true, 5, 2, -1, 0 },
        { 0, 1, 2, 0, false, 5, 5, 0, 0 },  { 0, 2, 2, 0, false, 5, 5, 0, 0 },
        { 2, 0, 2, 1, false, 4, 3, 4, 0 },  { 2, 3, 2, 1, false, 4, 3, 4, 0 },
        { 0, 1, 3, 1, false, 4, 8, -1, 0 }, { 2, 3, 3, 0, false, 5, 7, -1, 0 },
    };
    arena *a = arena_create("test");
    const ring_set g = plans_group(a, (const uint32_t[]){ 2, 2 }, 2, 1, 0);
    plan p, streams;
    const plan_request r = {
        .kind = COLLECTIVE_ALL_REDUCE, .algorithm = ALGORITHM_TREE, .rings = &g, .bytes = 9
    };
    plans_check(a, &r, &p, &streams);
    assert_int_equal(p.steps, 4);
    // What waits for several is proved only with all of them.
    plan_wait *more = p.more;
    p.more_count--;
    assert_false(plan_is_valid(a, &p));
    p.more_count++;
    more[0].received = 2; // to another
    assert_false(plan_is_valid(a, &p));
    more[0].received = 0;
    more[0].message = 7; // out of order, and twice
    more[1].message = 6;
    assert_false(plan_is_valid(a, &p));
    more[0].message = 6;
    more[1].message = 7;
    plans_compare(&p, want, ARRAY_COUNT(want));
    assert_true(plan_is_valid(a, &p));
    arena_destroy(a);
}

// Three nodes of one, from position 0: it feeds both trees, 2 over 1 and 1 over 2. Back, everything is turned round.
static void rooted_by_hand(void **state)
{
    (void)state;
    static const plans_row down[] = { { 0, 2, 0, 0, false, 5, -1, -1, 0 },
                                      { 0, 1, 0, 1, false, 4, -1, -1, 0 },
                                      { 1, 2, 1, 1, false, 4, 1, -1, 0 },
                                      { 2, 1, 1, 0, false, 5, 0, -1, 0 } };
    static const plans_row up[] = { { 1, 2, 0, 0, true, 5, -1, -1, 0 },
                                    { 2, 1, 0, 1, true, 4, -1, -1, 0 },
                                    { 1, 0, 1, 1, true, 4, 1, -1, 0 },
                                    { 2, 0, 1, 0, true, 5, 0, -1, 0 } };
    arena *a = arena_create("test");
    const ring_set g = plans_group(a, (const uint32_t[]){ 1, 1, 1 }, 3, 1, 0);
    plan p, streams;
    plan_request r = { .kind = COLLECTIVE_BROADCAST, .algorithm = ALGORITHM_TREE, .rings = &g, .bytes = 9 };
    plans_check(a, &r, &p, &streams);
    plans_compare(&p, down, ARRAY_COUNT(down));
    r.kind = COLLECTIVE_REDUCE;
    plans_check(a, &r, &p, &streams);
    plans_compare(&p, up, ARRAY_COUNT(up));
    arena_destroy(a);
}

// Up and down in both trees, a node sends at most as much as a ring would have it send, two buffers: three halves where it is
// an inner node, one where it is a leaf. That is what the second tree is for.
static void no_node_sends_more_than_two_buffers(void **state)
{
    (void)state;
    for (uint32_t nodes = 2; nodes <= 40; nodes += 2) {
        arena *a = arena_create("test");
        uint32_t sizes[40];
        for (uint32_t v = 0; v < nodes; v++)
            sizes[v] = 2;
        const ring_set g = plans_group(a, sizes, nodes, 2, 0);
        plan p;
        plan_tree(a, &(plan_request){ .kind = COLLECTIVE_ALL_REDUCE, .rings = &g, .bytes = 4000 }, &p);
        for (uint32_t v = 0; v < nodes; v++) {
            uint64_t sent = 0;
            for (uint32_t e = 0; e < p.edge_count; e++)
                if (p.edges[e].from / 2 == v && p.edges[e].to / 2 != v) sent += p.edges[e].bytes;
            assert_true(sent <= 2 * 4000);
        }
        arena_destroy(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(two_nodes_by_hand), cmocka_unit_test(rooted_by_hand),
                                        cmocka_unit_test(no_node_sends_more_than_two_buffers) };
    return cmocka_run_group_tests_name("tree", tests, NULL, NULL);
}
