// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/plans.h"

// Five ranks, 13 bytes (3 3 3 2 2). Distance 4: only an owner's own share goes on, for from place 4 on the tree would go round;
// distance 2 likewise; distance 1: the own one, and that of the owner two places before.
static void five_ranks_by_hand(void **state)
{
    (void)state;
    static const plans_row want[] = {
        { 0, 4, 0, 0, false, 3, -1, -1, 0 }, { 1, 0, 0, 1, false, 3, -1, -1, 0 },
        { 2, 1, 0, 2, false, 3, -1, -1, 0 }, { 3, 2, 0, 3, false, 2, -1, -1, 0 },
        { 4, 3, 0, 4, false, 2, -1, -1, 0 }, { 0, 2, 1, 0, false, 3, -1, -1, 0 },
        { 1, 3, 1, 1, false, 3, -1, -1, 0 }, { 2, 4, 1, 2, false, 3, -1, -1, 0 },
        { 3, 0, 1, 3, false, 2, -1, -1, 0 }, { 4, 1, 1, 4, false, 2, -1, -1, 0 },
        { 0, 1, 2, 0, false, 3, -1, -1, 0 }, { 0, 1, 2, 3, false, 2, 8, -1, 0 },
        { 1, 2, 2, 1, false, 3, -1, -1, 0 }, { 1, 2, 2, 4, false, 2, 9, -1, 0 },
        { 2, 3, 2, 2, false, 3, -1, -1, 0 }, { 2, 3, 2, 0, false, 3, 5, -1, 0 },
        { 3, 4, 2, 3, false, 2, -1, -1, 0 }, { 3, 4, 2, 1, false, 3, 6, -1, 0 },
        { 4, 0, 2, 4, false, 2, -1, -1, 0 }, { 4, 0, 2, 2, false, 3, 7, -1, 0 },
    };
    arena *a = arena_create("test");
    const ring_set g = plans_group(a, (const uint32_t[]){ 1, 1, 1, 1, 1 }, 5, 1, 0);
    plan p, streams;
    plan_request r = { .kind = COLLECTIVE_ALL_GATHER, .algorithm = ALGORITHM_PAT, .rings = &g, .bytes = 13 };
    plans_check(a, &r, &p, &streams);
    plans_compare(&p, want, ARRAY_COUNT(want));
    // Backwards, rank 4 sends first, a step on; rank 2, which hears of rank 3's part for 0 then, adds it and sends two on.
    r.kind = COLLECTIVE_REDUCE_SCATTER;
    plans_check(a, &r, &p, &streams);
    assert_int_equal(p.steps, 3);
    bool found = false;
    for (uint32_t m = 0; m < p.message_count; m++) {
        const plan_message *message = &p.messages[m];
        if (message->from != 2 || message->chunk != 0) continue;
        assert_int_equal(message->to, 0);
        assert_int_equal(message->step, 1);
        assert_int_equal(p.messages[message->after_received].from, 3);
        found = true;
    }
    assert_true(found);
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(five_ranks_by_hand) };
    return cmocka_run_group_tests_name("pat", tests, NULL, NULL);
}
