// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/plans.h"

#include "models/collective/plan.h"
#include "sim/array.h"
#include <inttypes.h>

static const collective_kind kinds[] = { COLLECTIVE_ALL_REDUCE, COLLECTIVE_REDUCE_SCATTER,
                                         COLLECTIVE_ALL_GATHER };

// One ring in the group's order.
static ring_set one_ring(arena *a, uint32_t ranks)
{
    uint32_t *order = arena_array(a, uint32_t, ranks);
    for (uint32_t i = 0; i < ranks; i++)
        order[i] = i;
    return (ring_set){ .ranks = ranks, .count = 1, .orders = order };
}

// All kinds, 1 to 9 ranks and 64, sizes that divide and that do not: the plan is proved; it moves exactly as many bytes as
// any algorithm must: (n - 1) S over all ranks for a reduce-scatter or an all-gather, twice that for an all-reduce.
static void every_small_ring_is_valid_and_optimal(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    static const uint32_t ranks[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 64 };
    for (size_t k = 0; k < ARRAY_COUNT(kinds); k++)
        for (size_t i = 0; i < ARRAY_COUNT(ranks); i++) {
            const uint32_t n = ranks[i];
            const uint64_t sizes[] = { 0, 1, n - 1, n, 12345 };
            for (size_t j = 0; j < ARRAY_COUNT(sizes); j++) {
                const uint64_t factor = kinds[k] == COLLECTIVE_ALL_REDUCE ? 2 : 1;
                arena_mark_t mark = arena_mark(a);
                const ring_set rings = one_ring(a, n);
                plan messages, streams;
                plan_ring(a,
                          &(plan_request){
                              .kind = kinds[k], .rings = &rings, .bytes = sizes[j], .grain = GRAIN_MESSAGES },
                          &messages);
                plan_ring(a,
                          &(plan_request){
                              .kind = kinds[k], .rings = &rings, .bytes = sizes[j], .grain = GRAIN_STREAMS },
                          &streams);
                if (!plan_is_valid(a, &messages))
                    fail_msg("%s of %" PRIu64 " bytes over %" PRIu32 " ranks",
                             collective_kind_words[kinds[k]], sizes[j], n);
                assert_int_equal(messages.steps, factor * (n - 1));
                assert_int_equal(messages.message_count, factor * (n - 1) * n);
                assert_int_equal(plan_ring_messages(&(plan_request){ .kind = kinds[k], .rings = &rings }),
                                 messages.message_count);
                assert_int_equal(plan_payload_bytes(&messages), factor * (n - 1) * sizes[j]);
                assert_null(streams.messages);
                assert_int_equal(streams.steps, messages.steps);
                assert_int_equal(streams.edge_count, messages.edge_count);
                for (uint32_t e = 0; e < streams.edge_count; e++) {
                    uint64_t sum = 0;
                    for (uint32_t m = 0; m < messages.message_count; m++)
                        if (messages.messages[m].from == e) sum += messages.messages[m].bytes;
                    assert_int_equal(streams.edges[e].bytes, sum);
                    assert_int_equal(streams.edges[e].from, e);
                    assert_int_equal(streams.edges[e].to, (e + 1) % n);
                    assert_int_equal(streams.edges[e].rings, 1);
                }
                arena_release(a, mark);
            }
        }
    arena_destroy(a);
}

// The three-rank all-reduce of 10 bytes (chunks of 4, 3, 3) written out by hand.
static void three_ranks_by_hand(void **state)
{
    (void)state;
    static const struct {
        uint32_t from, to, step, chunk;
        bool reduces;
        uint64_t bytes;
        int32_t after_own, after_received;
    } want[] = {
        { 0, 1, 0, 2, true, 3, -1, -1 }, { 1, 2, 0, 0, true, 4, -1, -1 }, { 2, 0, 0, 1, true, 3, -1, -1 },
        { 0, 1, 1, 1, true, 3, 0, 2 },   { 1, 2, 1, 2, true, 3, 1, 0 },   { 2, 0, 1, 0, true, 4, 2, 1 },
        { 0, 1, 2, 0, false, 4, 3, 5 },  { 1, 2, 2, 1, false, 3, 4, 3 },  { 2, 0, 2, 2, false, 3, 5, 4 },
        { 0, 1, 3, 2, false, 3, 6, 8 },  { 1, 2, 3, 0, false, 4, 7, 6 },  { 2, 0, 3, 1, false, 3, 8, 7 },
    };
    arena *a = arena_create("test");
    const ring_set rings = one_ring(a, 3);
    plan p;
    plan_ring(a,
              &(plan_request){
                  .kind = COLLECTIVE_ALL_REDUCE, .rings = &rings, .bytes = 10, .grain = GRAIN_MESSAGES },
              &p);
    assert_int_equal(p.message_count, ARRAY_COUNT(want));
    for (size_t i = 0; i < ARRAY_COUNT(want); i++) {
        const plan_message *m = &p.messages[i];
        assert_int_equal(m->from, want[i].from);
        assert_int_equal(m->to, want[i].to);
        assert_int_equal(m->edge, want[i].from);
        assert_int_equal(m->step, want[i].step);
        assert_int_equal(m->chunk, want[i].chunk);
        assert_int_equal(m->reduces, want[i].reduces);
        assert_int_equal(m->bytes, want[i].bytes);
        assert_int_equal(m->after_own, want[i].after_own);
        assert_int_equal(m->after_received, want[i].after_received);
    }
    arena_destroy(a);
}

// Two ranks, 15 bytes, at most 4 at a time in two slices: two loops; rank 0's share are chunks 0 to 3, two of each loop. A
// slice waits for its sender's slice before it, and for the same slice of the step before, but not in a loop's first step.
static void loops_and_slices_by_hand(void **state)
{
    (void)state;
    static const plans_row want[] = {
        { 0, 1, 0, 4, true, 2, -1, -1, 0 },  { 1, 0, 0, 0, true, 2, -1, -1, 0 },
        { 0, 1, 1, 5, true, 2, -1, -1, 0 },  { 1, 0, 1, 1, true, 2, -1, -1, 0 },
        { 0, 1, 2, 0, false, 2, 1, -1, 0 },  { 1, 0, 2, 4, false, 2, 0, -1, 0 },
        { 0, 1, 3, 1, false, 2, 3, -1, 0 },  { 1, 0, 3, 5, false, 2, 2, -1, 0 },
        { 0, 1, 4, 6, true, 2, -1, -1, 0 },  { 1, 0, 4, 2, true, 2, -1, -1, 0 },
        { 0, 1, 5, 7, true, 1, -1, -1, 0 },  { 1, 0, 5, 3, true, 2, -1, -1, 0 },
        { 0, 1, 6, 2, false, 2, 9, -1, 0 },  { 1, 0, 6, 6, false, 2, 8, -1, 0 },
        { 0, 1, 7, 3, false, 2, 11, -1, 0 }, { 1, 0, 7, 7, false, 1, 10, -1, 0 },
    };
    arena *a = arena_create("test");
    const ring_set rings = one_ring(a, 2);
    plan p, streams;
    const plan_request r = {
        .kind = COLLECTIVE_ALL_REDUCE, .rings = &rings, .bytes = 15, .cut = { .chunk_bytes = 4, .slices = 2 }
    };
    plans_check(a, &r, &p, &streams);
    plans_compare(&p, want, ARRAY_COUNT(want));
    for (int32_t m = 0; m < (int32_t)ARRAY_COUNT(want); m++)
        assert_int_equal(p.messages[m].after_own, m < 2 ? PLAN_NONE : m - 2);
    assert_int_equal(streams.steps, 2);
    arena_destroy(a);
}

struct time_case {
    const char *name;
    collective_kind kind;
    uint32_t ranks, rings;
    double bytes, alpha_s, rate_Bps, want_s;
};
static const struct time_case times[] = {
    // 12 (2.9e-6 + 1.337e9 / (7 x 431e9))
    { "all-reduce on 7 GPUs", COLLECTIVE_ALL_REDUCE, 7, 1, 1.337e9, 2.9e-6, 431e9, 5.3526654292343386e-3 },
    // 12 (1.7e-6 + 9.173e6 / (13 x 48.3e9))
    { "all-gather on 13", COLLECTIVE_ALL_GATHER, 13, 1, 9.173e6, 1.7e-6, 48.3e9, 1.9570817009077876e-4 },
    { "reduce-scatter on 13", COLLECTIVE_REDUCE_SCATTER, 13, 1, 9.173e6, 1.7e-6, 48.3e9,
      1.9570817009077876e-4 },
    { "one rank costs nothing", COLLECTIVE_ALL_REDUCE, 1, 1, 1.337e9, 2.9e-6, 431e9, 0.0 },
    // 30 (4.7e-6 + 8.59e9 / (16 x 8 x 48.3e9))
    { "all-reduce on 16, eight rings", COLLECTIVE_ALL_REDUCE, 16, 8, 8.59e9, 4.7e-6, 48.3e9,
      4.1823841614906834e-2 },
};

static void ring_matches_hand_computation(void **state)
{
    const struct time_case *c = *state;
    assert_near(ring_time_s(c->kind, c->ranks, c->rings, c->bytes, c->alpha_s, c->rate_Bps), c->want_s, 1e-9);
}

int main(void)
{
    struct CMUnitTest tests[ARRAY_COUNT(times) + 3];
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_COUNT(times); i++)
        tests[n++] = (struct CMUnitTest){ times[i].name, ring_matches_hand_computation, NULL, NULL,
                                          (void *)&times[i] };
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(every_small_ring_is_valid_and_optimal);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(three_ranks_by_hand);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(loops_and_slices_by_hand);
    SIM_ASSERT(n == ARRAY_COUNT(tests));
    return cmocka_run_group_tests_name("ring", tests, NULL, NULL);
}
