// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "models/training/blame.h"
#include "sim/array.h"
#include <string.h>

static const uint32_t ones[] = { 1, 1, 1, 1 };

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
    blame *b = blame_create(a, 1, ones);
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
    blame *b = blame_create(a, 2, ones);
    blame_start_step(b, 0);
    work(b, 0, 70, BLAME_FORWARD);
    work(b, 1, 100, BLAME_FORWARD);
    blame_idle(b, 1, 140, BLAME_EXPOSED_TP, 140);
    work(b, 1, 200, BLAME_FORWARD);
    blame_idle(b, 1, 230, BLAME_DATA, 230);
    work(b, 1, 300, BLAME_FORWARD);
    blame_idle_for_peer(b, 0, 300, 1, 1, BLAME_PEER, 300);
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
    blame *b = blame_create(a, 2, ones);
    blame_start_step(b, 0);
    work(b, 0, 25, BLAME_FORWARD);
    blame_idle(b, 1, 37, BLAME_DATA, 37);
    work(b, 1, 41, BLAME_FORWARD);
    blame_idle(b, 1, 90, BLAME_FAULT, 90);
    blame_idle_for_peer(b, 0, 60, 1, 1, BLAME_PEER, 91);
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
        blame *b = blame_create(a, 2, ones);
        blame_start_step(b, 0);
        for (int i = 0; i < 2; i++)
            if (i == first)
                blame_idle(b, 1, 50, BLAME_DATA, 50);
            else
                blame_idle_for_peer(b, 0, 50, 1, 1, BLAME_PEER, 50);
        assert_spent(b, 0, (sim_time[BLAME_CAUSES]){ [BLAME_PEER] = 50 });
        arena_destroy(a);
    }
}

static void a_lane_cannot_wait_for_itself(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    blame *b = blame_create(a, 1, ones);
    blame_start_step(b, 7);
    blame_idle_for_peer(b, 0, 30, 0, 0, BLAME_PEER, 30);
    assert_spent(b, 0, (sim_time[BLAME_CAUSES]){ [BLAME_OTHER] = 23 });
    arena_destroy(a);
}

static void assert_caused(const blame *b, lane_id lane, uint64_t peer, uint64_t bubble)
{
    assert_true(blame_caused_by(b, lane, BLAME_PEER) == peer);
    assert_true(blame_caused_by(b, lane, BLAME_BUBBLE) == bubble);
}

// Lane 2 works until 300. Lane 1 waits for it from 100 to 300, then works until 340. Lane 0, which stands for three ranks,
// waits for lane 1 from 40 to 340: 40-100 and 300-340 by its own fault, 100-300 by that of lane 2.
static void culprits_are_handed_on(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    blame *b = blame_create(a, 3, (const uint32_t[]){ 3, 1, 1 });
    blame_start_step(b, 0);
    work(b, 2, 300, BLAME_FORWARD);
    work(b, 1, 100, BLAME_FORWARD);
    blame_idle_for_peer(b, 1, 300, 2, 2, BLAME_PEER, 300);
    work(b, 1, 340, BLAME_FORWARD);
    work(b, 0, 40, BLAME_FORWARD);
    blame_idle_for_peer(b, 0, 340, 1, 1, BLAME_PEER, 340);
    assert_spent(b, 0, (sim_time[BLAME_CAUSES]){ [BLAME_FORWARD] = 40, [BLAME_PEER] = 300 });
    assert_caused(b, 0, 0, 0);
    assert_caused(b, 1, 3 * 100, 0);
    assert_caused(b, 2, 200 + 3 * 200, 0);
    blame_start_step(b, 340); // a new step has new culprits
    assert_caused(b, 1, 0, 0);
    arena_destroy(a);
}

// Lane 1 is idle from 0 to 60 for lane 0, then works until 100. Lane 0 is idle from 20 to 100 for lane 1: until 60 that one was
// idle for lane 0 itself, of which nobody is the culprit.
static void nobody_is_the_culprit_of_its_own_waiting(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    blame *b = blame_create(a, 2, ones);
    blame_start_step(b, 0);
    work(b, 0, 20, BLAME_FORWARD);
    blame_idle_for_peer(b, 1, 60, 0, 0, BLAME_PEER, 60);
    work(b, 1, 100, BLAME_FORWARD);
    blame_idle_for_peer(b, 0, 100, 1, 1, BLAME_PEER, 100);
    assert_spent(b, 0, (sim_time[BLAME_CAUSES]){ [BLAME_FORWARD] = 20, [BLAME_PEER] = 80 });
    assert_caused(b, 0, 60, 0);
    assert_caused(b, 1, 40, 0);
    arena_destroy(a);
}

// 16,384 lanes have room for 128 intervals each, 32 bytes every one; an array that has grown to that leaves as much behind.
static void many_lanes_do_not_keep_much(void **state)
{
    (void)state;
    enum { LANES = 16384, ROUNDS = 300 };
    arena *a = arena_create("test");
    uint32_t *multiplicity = arena_array(a, uint32_t, LANES);
    for (lane_id l = 0; l < LANES; l++)
        multiplicity[l] = 1;
    blame *b = blame_create(a, LANES, multiplicity);
    blame_start_step(b, 0);
    for (sim_time round = 0; round < ROUNDS; round++)
        for (lane_id l = 0; l < LANES; l++)
            blame_idle(b, l, (round + 1) * 1009, BLAME_DATA, round * 1009);
    blame_end_step(b, ROUNDS * 1009);
    assert_true(arena_high_water_bytes(a) < (size_t)2 * (64 << 20) + (16 << 20));
    arena_destroy(a);
}

// Lane 1 of another stage works 0-50, waits for lane 2 50-80, for a message 80-90, works 90-120: all of that is a bubble to
// lane 0, caused by lane 1, but for 50-80 by lane 2, and 80-90 by nobody.
static void waiting_for_another_stage_is_bubble(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    blame *b = blame_create(a, 3, ones);
    blame_start_step(b, 0);
    work(b, 2, 80, BLAME_FORWARD);
    work(b, 1, 50, BLAME_FORWARD);
    blame_idle_for_peer(b, 1, 80, 2, 2, BLAME_PEER, 80);
    blame_idle(b, 1, 90, BLAME_PP_WAIT, 90);
    work(b, 1, 120, BLAME_FORWARD);
    work(b, 0, 10, BLAME_FORWARD);
    blame_idle_for_stage(b, 0, 120, 1, 1, 120);
    assert_spent(b, 0, (sim_time[BLAME_CAUSES]){ [BLAME_FORWARD] = 10, [BLAME_BUBBLE] = 110 });
    assert_caused(b, 1, 0, 40 + 30);
    assert_caused(b, 2, 30, 30);
    arena_destroy(a);
}

// Waiting for a lane of another stage in a collective takes over its causes, and what is left is bubble.
static void the_own_cause_may_be_bubble(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    blame *b = blame_create(a, 2, ones);
    blame_start_step(b, 0);
    work(b, 1, 50, BLAME_FORWARD);
    blame_idle(b, 1, 57, BLAME_EXPOSED_DP, 57);
    blame_idle_for_peer(b, 0, 60, 1, 1, BLAME_BUBBLE, 60);
    assert_spent(b, 0, (sim_time[BLAME_CAUSES]){ [BLAME_BUBBLE] = 53, [BLAME_EXPOSED_DP] = 7 });
    assert_caused(b, 1, 0, 53);
    arena_destroy(a);
}

// Lane 0 (as 4) works to 100 and waits for a slow link (part 1) to 150. Lane 1 (as 2) waits from 90 for lane 0 in a collective:
// 10 for lane 0 itself, then 50 of its exposed DP; lane 2 (as 1) of another stage from 80: 20 and 50, all of them bubble. The
// link has caused 4 x 50 + 2 x 50 of exposed DP and 50 of bubble; the next step starts from nothing.
static void parts_are_culprits_and_handed_on(void **state)
{
    (void)state;
    static const uint32_t multiplicity[] = { 4, 2, 1 };
    arena *a = arena_create("test");
    blame *b = blame_create(a, 3, multiplicity);
    blame_set_parts(b, 2);
    blame_start_step(b, 0);
    work(b, 0, 100, BLAME_FORWARD);
    work(b, 1, 90, BLAME_FORWARD);
    work(b, 2, 80, BLAME_FORWARD);
    assert_int_equal(blame_idle_for_part(b, 0, 150, BLAME_EXPOSED_DP, 1, 150), 50);
    blame_idle_for_peer(b, 1, 150, 0, 0, BLAME_PEER, 151);
    blame_idle_for_stage(b, 2, 150, 0, 0, 151);
    assert_spent(
        b, 1, (sim_time[BLAME_CAUSES]){ [BLAME_FORWARD] = 90, [BLAME_PEER] = 10, [BLAME_EXPOSED_DP] = 50 });
    assert_spent(b, 2, (sim_time[BLAME_CAUSES]){ [BLAME_FORWARD] = 80, [BLAME_BUBBLE] = 70 });
    assert_int_equal(blame_caused_by_part(b, 1, BLAME_EXPOSED_DP), 4 * 50 + 2 * 50);
    assert_int_equal(blame_caused_by_part(b, 1, BLAME_BUBBLE), 50);
    assert_int_equal(blame_caused_by_part(b, 0, BLAME_EXPOSED_DP), 0);
    assert_caused(b, 0, 2 * 10, 20);
    blame_end_step(b, 150);
    blame_start_step(b, 150);
    assert_int_equal(blame_caused_by_part(b, 1, BLAME_EXPOSED_DP), 0);
    arena_destroy(a);
}

// Lane 1 is idle for 3 after every 7 of work, so often that what is old is dropped again and again. Lane 0 has stood still
// since 11 all the while, then lane 2 since `late`: both are charged along every one of the intervals in their time.
static void what_is_still_asked_for_is_kept(void **state)
{
    (void)state;
    enum { INTERVALS = 30000, LATE = 200000 };
    arena *a = arena_create("test");
    blame *b = blame_create(a, 3, ones);
    blame_start_step(b, 0);
    work(b, 0, 11, BLAME_FORWARD);
    for (sim_time i = 0; i < INTERVALS; i++) {
        if (10 * i == LATE) { // lane 0 is charged, and both have time to go on from here
            blame_idle_for_peer(b, 0, LATE, 1, 1, BLAME_PEER, LATE + 1);
            work(b, 2, LATE, BLAME_FORWARD);
        }
        work(b, 1, 10 * i + 7, BLAME_FORWARD);
        blame_idle(b, 1, 10 * i + 10, BLAME_DATA, 10 * i + 10);
    }
    // From 11 on there are the intervals 1 to INTERVALS - 1 of 3 each.
    const sim_time end = 10 * INTERVALS;
    blame_idle_for_peer(b, 0, end, 1, 1, BLAME_PEER, end + 1);
    blame_idle_for_peer(b, 2, end, 1, 1, BLAME_PEER, end + 1);
    assert_int_equal(blame_of_lane(b, 0)[BLAME_DATA], 3 * (INTERVALS - 1));
    assert_int_equal(blame_of_lane(b, 2)[BLAME_DATA], 3 * (end - LATE) / 10);
    assert_caused(b, 1, (uint64_t)(7 * (INTERVALS - 1) - 1 + 7 * (end - LATE) / 10), 0);
    blame_end_step(b, end);
    arena_destroy(a);
}

// Lane 0 waits for lane 1, which works, but is late because of lane 2, until 30; then lane 1 waits for that one itself.
static void who_makes_a_peer_slow_is_the_culprit(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    blame *b = blame_create(a, 3, ones);
    blame_start_step(b, 0);
    work(b, 1, 30, BLAME_FORWARD);
    blame_idle_for_peer(b, 1, 40, 2, 2, BLAME_PEER, 40);
    work(b, 1, 55, BLAME_FORWARD);
    blame_idle_for_stage(b, 0, 55, 1, 2, 55);
    assert_spent(b, 0, (sim_time[BLAME_CAUSES]){ [BLAME_BUBBLE] = 55 });
    assert_caused(b, 1, 0, 0);
    assert_caused(b, 2, 10, 55);
    work(b, 2, 70, BLAME_FORWARD); // and nobody is the culprit of its own waiting in this way either
    blame_idle_for_stage(b, 2, 80, 1, 2, 80);
    assert_caused(b, 2, 10, 55);
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
        cmocka_unit_test(nobody_is_the_culprit_of_its_own_waiting),
        cmocka_unit_test(many_lanes_do_not_keep_much),
        cmocka_unit_test(culprits_are_handed_on),
        cmocka_unit_test(parts_are_culprits_and_handed_on),
        cmocka_unit_test(waiting_for_another_stage_is_bubble),
        cmocka_unit_test(the_own_cause_may_be_bubble),
        cmocka_unit_test(what_is_still_asked_for_is_kept),
        cmocka_unit_test(who_makes_a_peer_slow_is_the_culprit),
    };
    return cmocka_run_group_tests_name("blame", tests, NULL, NULL);
}
