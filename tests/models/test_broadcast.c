// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/lone.h"
#include "tests/support/plans.h"

#include "models/collective/plan.h"
#include "sim/array.h"
#include <inttypes.h>

// R rings of n ranks: ring r visits r, r + step, r + 2 step .., step prime to n; so roots lie at other places, and rings share
// edges where their steps are equal.
static ring_set some_rings(arena *a, uint32_t ranks, uint32_t count)
{
    uint32_t *orders = arena_array(a, uint32_t, (size_t)ranks * count);
    for (uint32_t r = 0; r < count; r++) {
        const uint32_t step = r < 2 ? 1 : ranks - 1;
        for (uint32_t i = 0; i < ranks; i++)
            orders[r * ranks + i] = (r + i * step) % ranks;
    }
    return (ring_set){ .ranks = ranks, .count = count, .orders = orders };
}

// Every rank ends with all of the root's buffer, whatever the times; each ring moves its part over n - 1 of its hops, so that
// (n - 1) S are moved in all, as few as can be.
static void every_small_broadcast_is_valid_and_optimal(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    static const uint64_t sizes[] = { 0, 1, 3, 12345, 524288, 524289, 3000001, 200000003 };
    for (uint32_t n = 1; n <= 9; n++)
        for (uint32_t count = 1; count <= 4; count++)
            for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
                arena_mark_t mark = arena_mark(a);
                const ring_set rings = some_rings(a, n, count);
                plan messages, streams;
                plan_broadcast(a,
                               &(plan_request){ .kind = COLLECTIVE_BROADCAST,
                                                .rings = &rings,
                                                .bytes = sizes[i],
                                                .grain = GRAIN_MESSAGES },
                               &messages);
                plan_broadcast(a,
                               &(plan_request){ .kind = COLLECTIVE_BROADCAST,
                                                .rings = &rings,
                                                .bytes = sizes[i],
                                                .grain = GRAIN_STREAMS },
                               &streams);
                if (!plan_is_valid(a, &messages))
                    fail_msg("%" PRIu64 " bytes over %" PRIu32 " ranks on %" PRIu32 " rings", sizes[i], n,
                             count);
                assert_int_equal(plan_payload_bytes(&messages), (n - 1) * sizes[i]);
                assert_int_equal(plan_payload_bytes(&streams), (n - 1) * sizes[i]);
                assert_int_equal(plan_message_count(&(plan_request){
                                     .kind = COLLECTIVE_BROADCAST, .rings = &rings, .bytes = sizes[i] }),
                                 messages.message_count);
                assert_int_equal(streams.steps, n - 1);
                assert_null(streams.messages);
                for (uint32_t e = 0; e < messages.edge_count; e++)
                    assert_int_equal(messages.edges[e].bytes, streams.edges[e].bytes);
                arena_release(a, mark);
            }
    arena_destroy(a);
}

// Three ranks, ring 2 0 1, 1048577 bytes in three pieces, of which the first two have a byte more: 0 > 1 > 2.
static void three_ranks_by_hand(void **state)
{
    (void)state;
    static const struct {
        uint32_t from, to, step, chunk;
        uint64_t bytes;
        int32_t after_own, after_received;
    } want[] = {
        { 0, 1, 0, 0, 349526, -1, -1 }, { 0, 1, 1, 1, 349526, 0, -1 }, { 1, 2, 1, 0, 349526, -1, 0 },
        { 0, 1, 2, 2, 349525, 1, -1 },  { 1, 2, 2, 1, 349526, 2, 1 },  { 1, 2, 3, 2, 349525, 4, 3 }
    };
    static const uint32_t order[] = { 2, 0, 1 };
    arena *a = arena_create("test");
    plan p;
    plan_broadcast(a,
                   &(plan_request){ .kind = COLLECTIVE_BROADCAST,
                                    .rings = &(ring_set){ .ranks = 3, .count = 1, .orders = order },
                                    .bytes = 1048577,
                                    .grain = GRAIN_MESSAGES },
                   &p);
    assert_int_equal(p.message_count, ARRAY_COUNT(want));
    assert_int_equal(p.steps, 4);
    for (size_t i = 0; i < ARRAY_COUNT(want); i++) {
        const plan_message *m = &p.messages[i];
        assert_int_equal(m->from, want[i].from);
        assert_int_equal(m->to, want[i].to);
        assert_int_equal(m->step, want[i].step);
        assert_int_equal(m->chunk, want[i].chunk);
        assert_int_equal(m->bytes, want[i].bytes);
        assert_int_equal(m->after_own, want[i].after_own);
        assert_int_equal(m->after_received, want[i].after_received);
        assert_false(m->reduces);
    }
    p.messages[5].after_received = 1; // it would send on what it need not have yet
    assert_false(plan_is_valid(a, &p));
    arena_destroy(a);
}

// The ring 2 0 1 back to rank 0, in pieces of 5 and 4 bytes: 1 > 2 > 0.
static void a_reduce_by_hand(void **state)
{
    (void)state;
    static const plans_row want[] = { { 1, 2, 0, 0, true, 5, -1, -1, 0 },
                                      { 1, 2, 1, 1, true, 4, -1, -1, 0 },
                                      { 2, 0, 1, 0, true, 5, 0, -1, 0 },
                                      { 2, 0, 2, 1, true, 4, 1, -1, 0 } };
    static const uint32_t order[] = { 2, 0, 1 };
    arena *a = arena_create("test");
    plan p, streams;
    const plan_request r = { .kind = COLLECTIVE_REDUCE,
                             .rings = &(ring_set){ .ranks = 3, .count = 1, .orders = order },
                             .bytes = 9,
                             .cut = { .chunk_bytes = 5 } };
    plans_check(a, &r, &p, &streams);
    plans_compare(&p, want, ARRAY_COUNT(want));
    p.messages[3].reduces = false; // the root would lose its own
    assert_false(plan_is_valid(a, &p));
    arena_destroy(a);
}

static void times_are_those_of_the_formulas(void **state)
{
    (void)state;
    // 6 x 2.9e-6 + 1.337e9 / 431e9, and (7 + 64 - 2) (2.9e-6 + 1.337e9 / (64 x 431e9))
    assert_near(broadcast_time_s(7, 1, 1.337e9, GRAIN_STREAMS, 2.9e-6, 431e9), 3.1194881670533645e-3, 1e-12);
    assert_near(broadcast_time_s(7, 1, 1.337e9, GRAIN_MESSAGES, 2.9e-6, 431e9), 3.5445388051044084e-3, 1e-12);
    // 12 x 1.7e-6 + 9.173e6 / (4 x 48.3e9), and (13 + 5 - 2) (1.7e-6 + 9.173e6 / (20 x 48.3e9)): 5 pieces of 2.29e6
    assert_near(broadcast_time_s(13, 4, 9.173e6, GRAIN_STREAMS, 1.7e-6, 48.3e9), 6.787929606625259e-5, 1e-12);
    assert_near(broadcast_time_s(13, 4, 9.173e6, GRAIN_MESSAGES, 1.7e-6, 48.3e9), 1.7913374741200828e-4,
                1e-12);
    assert_near(broadcast_time_s(1, 1, 1e9, GRAIN_STREAMS, 1e-6, 1e9), 0.0, 1e-12);
}

// Played alone, on both networks and in both grains, with chunks that hold all (test_costs.h): base and n - 1 hops of the whole
// buffer; in the node over NVLink, a GPU per node over NICs.
static void playing_takes_as_long_as_by_hand(void **state)
{
    (void)state;
    static const lone_case cases[] = {
        { 1, 2, 1, COLLECTIVE_BROADCAST, 33554432, PROTOCOL_SIMPLE },
        { 1, 8, 1, COLLECTIVE_BROADCAST, 7340032, PROTOCOL_SIMPLE },
        { 1, 8, 1, COLLECTIVE_REDUCE, 1000, PROTOCOL_SIMPLE },
        { 7, 7, 8, COLLECTIVE_BROADCAST, 134217728, PROTOCOL_SIMPLE },
        { 16, 16, 8, COLLECTIVE_REDUCE, 1, PROTOCOL_SIMPLE },
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++)
        for (int engine = ENGINE_IDEAL; engine <= ENGINE_FLUID; engine++)
            for (int grain = GRAIN_STREAMS; grain <= GRAIN_MESSAGES; grain++) {
                const lone_case *l = &cases[i];
                double predicted_ps;
                const sim_time got_ps = lone_play(l, (network_engine)engine, (collective_grain)grain,
                                                  &predicted_ps);
                const bool node = l->nodes == 1;
                const double hop_ps = node ? TEST_HOP_PS(PROTOCOL_SIMPLE)
                                           : TEST_NETWORK_HOP_PS(PROTOCOL_SIMPLE);
                const double rate_Bps = (double)(node ? SCALE_UP_MBPS : CABLE_MBPS) / 1e3;
                const double want_ps = TEST_BASE_PS(PROTOCOL_SIMPLE) +
                                       (l->ranks - 1) * (hop_ps + (double)l->bytes / rate_Bps * 1e12);
                if (fabs((double)got_ps - want_ps) > l->ranks ||
                    fabs((double)got_ps - predicted_ps) > l->ranks)
                    fail_msg("case %zu, engine %d, grain %d: %" PRId64 " ps, want %.0f, predicted %.0f", i,
                             engine, grain, got_ps, want_ps, predicted_ps);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_small_broadcast_is_valid_and_optimal),
                                        cmocka_unit_test(three_ranks_by_hand),
                                        cmocka_unit_test(a_reduce_by_hand),
                                        cmocka_unit_test(times_are_those_of_the_formulas),
                                        cmocka_unit_test(playing_takes_as_long_as_by_hand) };
    return cmocka_run_group_tests_name("broadcast", tests, NULL, NULL);
}
