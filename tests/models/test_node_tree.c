// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "models/collective/node_tree.h"
#include "sim/array.h"
#include <inttypes.h>

enum { NODES_MAX = 70 };

// Written out: 0 over 4, 4 over 2, 2 over 1 and 3. Five nodes, one further: 1 over 0 (as 5 would be), 0 over 3, 3 over 2 and 4.
// Six: 5 hangs below 4 (6 is not there), and backwards. Rooted, the others are four, backwards, and five, one further.
static void parents_by_hand(void **state)
{
    (void)state;
    static const struct {
        uint32_t nodes, tree;
        bool rooted;
        uint32_t parents[6];
    } cases[] = {
        { 5, 0, false, { 0, 2, 4, 2, 0 } },
        { 5, 1, false, { 1, 1, 3, 0, 3 } },
        { 6, 0, false, { 0, 2, 4, 2, 0, 4 } },
        { 6, 1, false, { 1, 5, 3, 1, 3, 5 } },
        { 5, 0, true, { 0, 2, 4, 2, 0 } },
        { 5, 1, true, { 0, 0, 3, 1, 3 } },
        { 6, 1, true, { 0, 5, 3, 5, 3, 0 } },
        { 2, 1, false, { 1, 1 } },
        { 2, 1, true, { 0, 0 } },
        { 1, 1, false, { 0 } },
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++)
        for (uint32_t v = 0; v < cases[i].nodes; v++)
            if (node_tree_parent(cases[i].nodes, cases[i].tree, cases[i].rooted, v) != cases[i].parents[v])
                fail_msg("case %zu, node %" PRIu32 ": %" PRIu32, i, v,
                         node_tree_parent(cases[i].nodes, cases[i].tree, cases[i].rooted, v));
}

static uint32_t check_tree(uint32_t nodes, uint32_t tree, bool rooted, uint32_t *children)
{
    uint32_t deepest = 0;
    for (uint32_t v = 0; v < nodes; v++) {
        uint32_t depth = 0;
        for (uint32_t at = v; node_tree_parent(nodes, tree, rooted, at) != at; depth++) {
            assert_true(depth < nodes); // else it goes round
            at = node_tree_parent(nodes, tree, rooted, at);
        }
        const uint32_t parent = node_tree_parent(nodes, tree, rooted, v);
        if (parent != v && ++children[parent] > 2) fail_msg("%" PRIu32 " nodes: three children", nodes);
        if (depth > deepest) deepest = depth;
    }
    return deepest;
}

// Every tree has all nodes, at most two below each, and is as deep as it must be. An inner node of one is a leaf of the other,
// but for the root of rooted ones and, where an odd number is renamed, one more.
static void two_trees_share_the_work(void **state)
{
    (void)state;
    for (uint32_t nodes = 1, log = 0; nodes <= NODES_MAX; nodes++) {
        if (UINT32_C(1) << log < nodes) log++;
        for (int rooted = 0; rooted < 2; rooted++) {
            uint32_t children[NODE_TREES][NODES_MAX] = { { 0 } }, both = 0;
            for (uint32_t tree = 0; tree < NODE_TREES; tree++)
                assert_int_equal(check_tree(nodes, tree, rooted, children[tree]), log);
            for (uint32_t v = (uint32_t)rooted; v < nodes; v++)
                both += children[0][v] > 0 && children[1][v] > 0;
            const bool even = (nodes - (uint32_t)rooted) % 2 == 0;
            if (both > (even ? 0u : 1u))
                fail_msg("%" PRIu32 " nodes, rooted %d: %" PRIu32 " are inner in both", nodes, rooted, both);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(parents_by_hand),
                                        cmocka_unit_test(two_trees_share_the_work) };
    return cmocka_run_group_tests_name("node_tree", tests, NULL, NULL);
}
