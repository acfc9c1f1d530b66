// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "models/training/blame.h"
#include "sim/array.h"
#include <string.h>

static void work(blame *b, lane_id lane, sim_time end, blame_cause cause)
{
    sim_time parts[BLAME_CAUSES] = { 0 };
    parts[cause] = end - blame_busy_until(b, lane);
    blame_work(b, lane, end, parts);
}

static void assert_spent(const blame *b, lane_id lane, const sim_time want[BLAME_CAUSES])
{
    for (int cause = 0; cause < BLAME_CAUSES; cause++)
        if (blame_of_lane(b, lane)[cause] != want[cause])
            fail_msg("lane %u, %s: got %lld, want %lld", lane, blame_cause_words[cause],
                     (long long)blame_of_lane(b, lane)[cause], (long long)want[cause]);
}

static void words_and_kinds_agree(void **state)
{
    (void)state;
    assert_null(blame_cause_words[BLAME_CAUSES]);
    assert_string_equal(blame_cause_words[BLAME_OPTIMIZER], "optimizer");
    assert_string_equal(blame_cause_words[BLAME_PEER], "wait for peer");
    assert_string_equal(blame_cause_words[BLAME_EXPOSED_DP], "exposed DP");
    assert_string_equal(blame_cause_words[BLAME_OTHER], "other");
    assert_true(blame_is_compute(BLAME_FORWARD) && blame_is_compute(BLAME_OPTIMIZER));
    assert_false(blame_is_compute(BLAME_LAUNCH) || blame_is_compute(BLAME_OTHER));
}

// Work in parts, an idle interval, one that is already over, and a second step that starts from nothing.
static void one_lane_by_hand(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    blame *b = blame_create(a, 1);
    blame_start_step(b, 1009);
    blame_work(b, 0, 1709, (sim_time[BLAME_CAUSES]){ [BLAME_FORWARD] = 641, [BLAME_LAUNCH] = 59 });
    blame_idle(b, 0, 1801, BLAME_EXPOSED_DP, 1801);
    blame_idle(b, 0, 1800, BLAME_FAULT, 1801); // was over before
    work(b, 0, 1811, BLAME_OPTIMIZER);
    blame_end_step(b, 1811);
    assert_spent(
        b, 0,
        (sim_time[BLAME_CAUSES]){
            [BLAME_FORWARD] = 641, [BLAME_LAUNCH] = 59, [BLAME_EXPOSED_DP] = 92, [BLAME_OPTIMIZER] = 10 });
    blame_start_step(b, 1811);
    work(b, 0, 1824, BLAME_BACKWARD);
    blame_end_step(b, 1824);
    assert_spent(b, 0, (sim_time[BLAME_CAUSES]){ [BLAME_BACKWARD] = 13 });
    arena_destroy(a);
}

// Lane 1 works 0-100, is idle 100-140 (exposed TP), works 140-200, is idle 200-230 (data), works 230-300. Lane 0 works until
// 70 and waits for it until 300: 30 + 60 + 70 for a peer that computes, 40 and 30 along the peer's causes.
static void waiting_for_a_peer_is_charged_along_its_causes(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    blame *b = blame_create(a, 2);
    blame_start_step(b, 0);
    work(b, 0, 70, BLAME_FORWARD);
    work(b, 1, 100, BLAME_FORWARD);
    blame_idle(b, 1, 140, BLAME_EXPOSED_TP, 140);
    work(b, 1, 200, BLAME_FORWARD);
    blame_idle(b, 1, 230, BLAME_DATA, 230);
    work(b, 1, 300, BLAME_FORWARD);
    blame_idle_for_peer(b, 0, 300, 1, 300);
    blame_end_step(b, 300);
    assert_spent(
        b, 0,
        (sim_time[BLAME_CAUSES]){
            [BLAME_FORWARD] = 70, [BLAME_PEER] = 30 + 60 + 70, [BLAME_EXPOSED_TP] = 40, [BLAME_DATA] = 30 });
    arena_destroy(a);
}

// The wait begins and ends inside idle intervals of the peer: only the common part counts.
static void only_the_common_time_is_charged_on(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    blame *b = blame_create(a, 2);
    blame_start_step(b, 0);
    work(b, 0, 25, BLAME_FORWARD);
    blame_idle(b, 1, 37, BLAME_DATA, 37);
    work(b, 1, 41, BLAME_FORWARD);
    blame_idle(b, 1, 90, BLAME_FAULT, 90);
    blame_idle_for_peer(b, 0, 60, 1, 91);
    assert_spent(b, 0,
                 (sim_time[BLAME_CAUSES]){
                     [BLAME_FORWARD] = 25, [BLAME_DATA] = 12, [BLAME_PEER] = 4, [BLAME_FAULT] = 19 });
    arena_destroy(a);
}

// What a peer is charged at the same instant does not show, whichever of the two is charged first.
static void charges_of_one_instant_do_not_see_each_other(void **state)
{
    (void)state;
    for (int first = 0; first < 2; first++) {
        arena *a = arena_create("test");
        blame *b = blame_create(a, 2);
        blame_start_step(b, 0);
        for (int i = 0; i < 2; i++)
            if (i == first)
                blame_idle(b, 1, 50, BLAME_DATA, 50);
            else
                blame_idle_for_peer(b, 0, 50, 1, 50);
        assert_spent(b, 0, (sim_time[BLAME_CAUSES]){ [BLAME_PEER] = 50 });
        arena_destroy(a);
    }
}

static void a_lane_cannot_wait_for_itself(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    blame *b = blame_create(a, 1);
    blame_start_step(b, 7);
    blame_idle_for_peer(b, 0, 30, 0, 30);
    assert_spent(b, 0, (sim_time[BLAME_CAUSES]){ [BLAME_OTHER] = 23 });
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_and_kinds_agree),
        cmocka_unit_test(one_lane_by_hand),
        cmocka_unit_test(waiting_for_a_peer_is_charged_along_its_causes),
        cmocka_unit_test(only_the_common_time_is_charged_on),
        cmocka_unit_test(charges_of_one_instant_do_not_see_each_other),
        cmocka_unit_test(a_lane_cannot_wait_for_itself),
    };
    return cmocka_run_group_tests_name("blame", tests, NULL, NULL);
}
