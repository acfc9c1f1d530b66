// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/plans.h"

static void one_message_from_first_to_second(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    static const uint64_t sizes[] = { 0, 1, 9173641 };
    for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
        plan messages, streams;
        plan_send_recv(
            a, &(plan_request){ .kind = COLLECTIVE_SEND_RECV, .bytes = sizes[i], .grain = GRAIN_MESSAGES },
            &messages);
        plan_send_recv(
            a, &(plan_request){ .kind = COLLECTIVE_SEND_RECV, .bytes = sizes[i], .grain = GRAIN_STREAMS },
            &streams);
        assert_true(plan_is_valid(a, &messages));
        assert_int_equal(messages.message_count, 1);
        assert_int_equal(messages.messages[0].bytes, sizes[i]);
        assert_null(streams.messages);
        assert_int_equal(streams.edge_count, 1);
        assert_int_equal(streams.edges[0].from, 0);
        assert_int_equal(streams.edges[0].to, 1);
        assert_int_equal(streams.edges[0].bytes, sizes[i]);
        assert_int_equal(streams.steps, 1);
    }
    arena_destroy(a);
}

// 10 bytes, at most 5 at a time, each in two slices.
static void pieces_follow_one_another(void **state)
{
    (void)state;
    static const plans_row want[] = { { 0, 1, 0, 0, false, 3, -1, -1, 0 },
                                      { 0, 1, 1, 1, false, 3, -1, -1, 0 },
                                      { 0, 1, 2, 2, false, 2, -1, -1, 0 },
                                      { 0, 1, 3, 3, false, 2, -1, -1, 0 } };
    arena *a = arena_create("test");
    plan p, streams;
    const plan_request r = { .kind = COLLECTIVE_SEND_RECV,
                             .algorithm = ALGORITHM_SEND_RECV,
                             .rings = &(ring_set){ .ranks = 2, .count = 1 },
                             .bytes = 10,
                             .cut = { .chunk_bytes = 5, .slices = 2 } };
    plans_check(a, &r, &p, &streams);
    plans_compare(&p, want, ARRAY_COUNT(want));
    for (int32_t m = 0; m < 4; m++)
        assert_int_equal(p.messages[m].after_own, m - 1);
    assert_int_equal(streams.steps, 1);
    arena_destroy(a);
}

static void the_wrong_way_round_is_found(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    plan p;
    plan_send_recv(a, &(plan_request){ .kind = COLLECTIVE_SEND_RECV, .bytes = 77, .grain = GRAIN_MESSAGES },
                   &p);
    p.messages[0].from = p.edges[0].from = 1;
    p.messages[0].to = p.edges[0].to = 0;
    assert_false(plan_is_valid(a, &p));
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_message_from_first_to_second),
        cmocka_unit_test(pieces_follow_one_another),
        cmocka_unit_test(the_wrong_way_round_is_found),
    };
    return cmocka_run_group_tests_name("send_recv", tests, NULL, NULL);
}
