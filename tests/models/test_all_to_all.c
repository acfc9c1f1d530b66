// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/lone.h"
#include "tests/support/plans.h"

#include "models/collective/plan.h"
#include "sim/array.h"
#include <inttypes.h>

// Every rank ends with its part of everyone's buffer, whatever the times; what is moved is everything but the parts that
// ranks keep: n S less the sum of all parts, S.
static void every_small_one_is_valid_and_optimal(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    for (uint32_t n = 1; n <= 9; n++) {
        const uint64_t sizes[] = { 0, 1, n - 1, n, 12345 };
        for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
            arena_mark_t mark = arena_mark(a);
            plan messages, streams;
            plan_all_to_all(a,
                            &(plan_request){ .kind = COLLECTIVE_ALL_TO_ALL,
                                             .rings = &(ring_set){ .ranks = n, .count = 1 },
                                             .bytes = sizes[i],
                                             .grain = GRAIN_MESSAGES },
                            &messages);
            plan_all_to_all(a,
                            &(plan_request){ .kind = COLLECTIVE_ALL_TO_ALL,
                                             .rings = &(ring_set){ .ranks = n, .count = 1 },
                                             .bytes = sizes[i],
                                             .grain = GRAIN_STREAMS },
                            &streams);
            if (!plan_is_valid(a, &messages))
                fail_msg("%" PRIu64 " bytes over %" PRIu32 " ranks", sizes[i], n);
            assert_int_equal(plan_payload_bytes(&messages), (n - 1) * sizes[i]);
            assert_int_equal(messages.message_count, n * (n - 1));
            assert_int_equal(
                plan_message_count(&(plan_request){ .kind = COLLECTIVE_ALL_TO_ALL,
                                                    .algorithm = ALGORITHM_PAIRWISE,
                                                    .rings = &(ring_set){ .ranks = n, .count = 1 },
                                                    .bytes = 7 }),
                n * (n - 1));
            assert_int_equal(streams.steps, n - 1);
            assert_int_equal(streams.edge_count, n * (n - 1));
            assert_null(streams.messages);
            arena_release(a, mark);
        }
    }
    arena_destroy(a);
}

// Parts of 4, 3 and 3 bytes.
static void three_ranks_by_hand(void **state)
{
    (void)state;
    static const struct {
        uint32_t from, to, step, edge;
        uint64_t bytes;
        int32_t after_own;
    } want[] = { { 0, 1, 0, 0, 3, -1 }, { 1, 2, 0, 2, 3, -1 }, { 2, 0, 0, 4, 4, -1 },
                 { 0, 2, 1, 1, 3, 0 },  { 1, 0, 1, 3, 4, 1 },  { 2, 1, 1, 5, 3, 2 } };
    arena *a = arena_create("test");
    plan p;
    plan_all_to_all(a,
                    &(plan_request){ .kind = COLLECTIVE_ALL_TO_ALL,
                                     .rings = &(ring_set){ .ranks = 3, .count = 1 },
                                     .bytes = 10,
                                     .grain = GRAIN_MESSAGES },
                    &p);
    assert_int_equal(p.message_count, ARRAY_COUNT(want));
    for (size_t i = 0; i < ARRAY_COUNT(want); i++) {
        const plan_message *m = &p.messages[i];
        assert_int_equal(m->from, want[i].from);
        assert_int_equal(m->to, want[i].to);
        assert_int_equal(m->step, want[i].step);
        assert_int_equal(m->edge, want[i].edge);
        assert_int_equal(m->chunk, want[i].to);
        assert_int_equal(m->bytes, want[i].bytes);
        assert_int_equal(m->after_own, want[i].after_own);
        assert_int_equal(m->after_received, PLAN_NONE);
    }
    arena_destroy(a);
}

// Of a good plan, a message that carries another's part instead: one part comes nowhere.
static void a_part_for_another_is_found(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    plan p;
    plan_all_to_all(a,
                    &(plan_request){ .kind = COLLECTIVE_ALL_TO_ALL,
                                     .rings = &(ring_set){ .ranks = 4, .count = 1 },
                                     .bytes = 16,
                                     .grain = GRAIN_MESSAGES },
                    &p); // equal parts, so that only their owner is wrong
    p.messages[5].chunk = p.messages[5].from;
    assert_false(plan_is_valid(a, &p));
    plan_all_to_all(a,
                    &(plan_request){ .kind = COLLECTIVE_ALL_TO_ALL,
                                     .rings = &(ring_set){ .ranks = 4, .count = 1 },
                                     .bytes = 16,
                                     .grain = GRAIN_MESSAGES },
                    &p);
    p.chunks = 8;
    p.bytes = 32;
    assert_false(plan_is_valid(a, &p));
    arena_destroy(a);
}

// From 0: 5 to rank 1, 3 to rank 2; from 1: 8 to rank 2; from 2: 4 to rank 0. What ranks keep is not sent, nor what is empty.
static const uint64_t unequal[] = { 7, 5, 3, 0, 0, 8, 4, 0, 6 };

static void unequal_parts_by_hand(void **state)
{
    (void)state;
    static const plans_row whole[] = { { 0, 1, 0, 1, false, 5, -1, -1, 0 },
                                       { 1, 2, 0, 2, false, 8, -1, -1, 0 },
                                       { 2, 0, 0, 0, false, 4, -1, -1, 0 },
                                       { 0, 2, 1, 2, false, 3, -1, -1, 0 } };
    // At most 4 bytes: every part in two pieces.
    static const plans_row cut[] = {
        { 0, 1, 0, 2, false, 3, -1, -1, 0 }, { 1, 2, 0, 4, false, 4, -1, -1, 0 },
        { 2, 0, 0, 0, false, 2, -1, -1, 0 }, { 0, 1, 1, 3, false, 2, -1, -1, 0 },
        { 1, 2, 1, 5, false, 4, -1, -1, 0 }, { 2, 0, 1, 1, false, 2, -1, -1, 0 },
        { 0, 2, 2, 4, false, 2, -1, -1, 0 }, { 0, 2, 3, 5, false, 1, -1, -1, 0 }
    };
    arena *a = arena_create("test");
    plan p, streams;
    plan_request r = { .kind = COLLECTIVE_ALL_TO_ALL_UNEQUAL,
                       .algorithm = ALGORITHM_PAIRWISE,
                       .rings = &(ring_set){ .ranks = 3, .count = 1 },
                       .bytes = 15,
                       .parts = unequal };
    plans_check(a, &r, &p, &streams);
    plans_compare(&p, whole, ARRAY_COUNT(whole));
    assert_int_equal(plan_message_count(&r), 4);
    assert_int_equal(p.messages[3].after_own, 0);
    assert_int_equal(streams.edge_count, 4);
    p.messages[3].bytes++; // no longer what the matrix says, nor what the edge does
    assert_false(plan_is_valid(a, &p));
    r.cut = (plan_cut){ .chunk_bytes = 4 };
    plans_check(a, &r, &p, &streams);
    plans_compare(&p, cut, ARRAY_COUNT(cut));
    assert_int_equal(p.messages[6].after_own, 3);
    r.parts = (const uint64_t[9]){ [4] = 1000 }; // each keeps what it has
    plans_check(a, &r, &p, &streams);
    assert_int_equal(p.message_count, 0);
    assert_int_equal(streams.steps, 0);
    arena_destroy(a);
}

// Matrices that are drawn, with as many empty parts as full ones, and equal parts; whole and in pieces.
static void drawn_parts_are_valid(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        arena *a = arena_create("test");
        uint64_t random = seed, sent = 0;
        const uint32_t n = 1 + test_random_below(&random, seed % 10 == 0 ? 64 : 9);
        uint64_t *parts = arena_array(a, uint64_t, (size_t)n * n);
        for (uint32_t i = 0; i < n * n; i++) {
            parts[i] = test_random_below(&random, 2) * test_random_below(&random, 1000);
            sent += i / n != i % n ? parts[i] : 0;
        }
        plan_request r = { .kind = COLLECTIVE_ALL_TO_ALL_UNEQUAL,
                           .algorithm = ALGORITHM_PAIRWISE,
                           .rings = &(ring_set){ .ranks = n, .count = 1 },
                           .parts = parts };
        if (seed % 2)
            r.cut = (plan_cut){ .chunk_bytes = 1 + test_random_below(&random, 900),
                                .slices = (uint32_t)(seed % 3) };
        plan p, streams;
        plans_check(a, &r, &p, &streams);
        assert_int_equal(plan_payload_bytes(&p), sent);
        assert_int_equal(plan_message_count(&r), p.message_count);
        r.kind = COLLECTIVE_ALL_TO_ALL;
        r.parts = NULL;
        r.bytes = 12347;
        plans_check(a, &r, &p, &streams);
        assert_int_equal(plan_payload_bytes(&p), (n - 1) * r.bytes);
        arena_destroy(a);
    }
}

static void time_is_that_of_the_formula(void **state)
{
    (void)state;
    // 6 (2.9e-6 + 1.337e9 / (7 x 431e9))
    assert_near(all_to_all_time_s(7, 1.337e9, 2.9e-6, 431e9), 2.6763327146171693e-3, 1e-12);
    assert_near(all_to_all_time_s(1, 1.337e9, 2.9e-6, 431e9), 0.0, 1e-12);
}

struct played_case {
    const char *name;
    lone_case lone;
    uint64_t rate_mBps;
};
static const struct played_case played[] = {
    { "two", { 1, 2, 1, COLLECTIVE_ALL_TO_ALL, 33554432, PROTOCOL_AUTO }, SCALE_UP_MBPS },
    { "a node", { 1, 8, 1, COLLECTIVE_ALL_TO_ALL, 7340032, PROTOCOL_AUTO }, SCALE_UP_MBPS },
    { "a node, a small part", { 1, 8, 1, COLLECTIVE_ALL_TO_ALL, 131072, PROTOCOL_LL }, SCALE_UP_MBPS },
    { "a GPU in each of seven nodes",
      { 7, 7, 8, COLLECTIVE_ALL_TO_ALL, 70000000, PROTOCOL_AUTO },
      CABLE_MBPS },
};

// Alone, on both networks and in both grains (test_costs.h): entry, and the parts for n - 1 others through a rank's port.
static void playing_takes_as_long_as_by_hand(void **state)
{
    const struct played_case *c = *state;
    for (int engine = ENGINE_IDEAL; engine <= ENGINE_FLUID; engine++)
        for (int grain = GRAIN_STREAMS; grain <= GRAIN_MESSAGES; grain++) {
            double predicted_ps;
            const sim_time got_ps = lone_play(&c->lone, (network_engine)engine, (collective_grain)grain,
                                              &predicted_ps);
            const double others = (c->lone.ranks - 1.0) / c->lone.ranks;
            const double want_ps = TEST_ENTRY_PS +
                                   others * (double)c->lone.bytes / ((double)c->rate_mBps * 1e-15);
            if (fabs((double)got_ps - want_ps) > 3 || fabs((double)got_ps - predicted_ps) > 3)
                fail_msg("engine %d, grain %d: %" PRId64 " ps, want %.0f, predicted %.0f", engine, grain,
                         got_ps, want_ps, predicted_ps);
        }
}

// Two nodes, one NIC per two GPUs: a GPU sends 8 parts of 1000000 B through half of a NIC of 48.3 GB/s, and 7 over NVLink
// beside them.
static void over_nodes_the_nics_are_the_limit(void **state)
{
    (void)state;
    const lone_case l = { 2, 16, 1, COLLECTIVE_ALL_TO_ALL, 16000000, PROTOCOL_AUTO };
    const double want_ps = TEST_ENTRY_PS + 16 * 1e9 / 48.3;
    for (int engine = ENGINE_IDEAL; engine <= ENGINE_FLUID; engine++)
        for (int grain = GRAIN_STREAMS; grain <= GRAIN_MESSAGES; grain++)
            assert_true(fabs((double)lone_play(&l, (network_engine)engine, (collective_grain)grain, NULL) -
                             want_ps) < 20);
}

int main(void)
{
    struct CMUnitTest tests[ARRAY_COUNT(played) + 7];
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_COUNT(played); i++)
        tests[n++] = (struct CMUnitTest){ played[i].name, playing_takes_as_long_as_by_hand, NULL, NULL,
                                          (void *)&played[i] };
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(every_small_one_is_valid_and_optimal);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(three_ranks_by_hand);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(a_part_for_another_is_found);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(unequal_parts_by_hand);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(drawn_parts_are_valid);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(time_is_that_of_the_formula);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(over_nodes_the_nics_are_the_limit);
    SIM_ASSERT(n == ARRAY_COUNT(tests));
    return cmocka_run_group_tests_name("all_to_all", tests, NULL, NULL);
}
