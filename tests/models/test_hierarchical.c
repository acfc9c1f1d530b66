// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/plans.h"

// Two nodes of two, 9 bytes (3 2 2 2): inside, shares 0 and 2 are summed at the nodes' first ranks, 1 and 3 at the second ones;
// over nodes each is summed at its owner and comes back; then the first and the second ranks exchange what they have.
static void two_nodes_by_hand(void **state)
{
    (void)state;
    static const plans_row want[] = {
        { 0, 1, 0, 1, true, 2, -1, -1, 0 },  { 0, 1, 0, 3, true, 2, -1, -1, 0 },
        { 1, 0, 0, 0, true, 3, -1, -1, 0 },  { 1, 0, 0, 2, true, 2, -1, -1, 0 },
        { 2, 3, 0, 1, true, 2, -1, -1, 0 },  { 2, 3, 0, 3, true, 2, -1, -1, 0 },
        { 3, 2, 0, 0, true, 3, -1, -1, 0 },  { 3, 2, 0, 2, true, 2, -1, -1, 0 },
        { 0, 2, 1, 2, true, 2, 3, -1, 0 },   { 1, 3, 1, 3, true, 2, 1, -1, 0 },
        { 2, 0, 1, 0, true, 3, 6, -1, 0 },   { 3, 1, 1, 1, true, 2, 4, -1, 0 },
        { 0, 2, 2, 0, false, 3, 2, 10, 0 },  { 1, 3, 2, 1, false, 2, 0, 11, 0 },
        { 2, 0, 2, 2, false, 2, 7, 8, 0 },   { 3, 1, 2, 3, false, 2, 5, 9, 0 },
        { 0, 1, 3, 0, false, 3, 2, 10, 0 },  { 0, 1, 3, 2, false, 2, 14, -1, 0 },
        { 1, 0, 3, 1, false, 2, 0, 11, 0 },  { 1, 0, 3, 3, false, 2, 15, -1, 0 },
        { 2, 3, 3, 0, false, 3, 12, -1, 0 }, { 2, 3, 3, 2, false, 2, 7, 8, 0 },
        { 3, 2, 3, 1, false, 2, 13, -1, 0 }, { 3, 2, 3, 3, false, 2, 5, 9, 0 },
    };
    arena *a = arena_create("test");
    const ring_set g = plans_group(a, (const uint32_t[]){ 2, 2 }, 2, 1, 0);
    plan p, streams;
    const plan_request r = {
        .kind = COLLECTIVE_ALL_REDUCE, .algorithm = ALGORITHM_HIERARCHICAL, .rings = &g, .bytes = 9
    };
    plans_check(a, &r, &p, &streams);
    plans_compare(&p, want, ARRAY_COUNT(want));
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(two_nodes_by_hand) };
    return cmocka_run_group_tests_name("hierarchical", tests, NULL, NULL);
}
