// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "models/collective/plan.h"
#include "sim/array.h"

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
        cmocka_unit_test(the_wrong_way_round_is_found),
    };
    return cmocka_run_group_tests_name("send_recv", tests, NULL, NULL);
}
