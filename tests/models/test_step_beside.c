// SPDX-License-Identifier: GPL-3.0-or-later
// Steps in which collectives and messages slow the work that they move beside, by hand.
#include "tests/support/play.h"

#define MS INT64_C(1000000000)

// Beside messages every forward takes a quarter longer.
static void fill_stages(const void *owner, parallel_place place, play_rank *out)
{
    const sim_time forward = place.pipeline == 0 ? 10 * MS : 12 * MS;
    (void)owner;
    out->chunks[0] = (play_chunk){ .forward = { PLAY_WORK(forward) },
                                   .forward_count = 1,
                                   .backward = { PLAY_WORK(20 * MS) },
                                   .backward_count = 1 };
    out->chunks[0].forward[0].work.slowed_ps[1 << BESIDE_PIPELINE] = forward / 4;
}

// One forward, one backward, in ms, messages in brackets:
//     stage 0   F 0-10 [10-13]   F 10-20.6: until 13 it does 2.4   [20.6-23.6]
//     stage 1   F 13-25.6: 7.6 until 20.6, 2.4 until 23.6, 2 more   B 25.6-45.6 [45.6-48.6]
//               F 45.6-58.2: until 48.6 it does 2.4                 B 58.2-78.2 [78.2-81.2]
//     stage 0   B 48.6-68.6, B 81.2-101.2
// Stage 0 is idle from 20.6 to 45.6 and from 68.6 to 78.2 for stage 1, and for messages of 3 and 3; stage 1 until 10, for the
// message of 3, and in the end for stage 0 from 78.2 on, which itself waits for a message of 3 then.
static void a_message_slows_a_kernel_from_its_middle_to_its_middle(void **state)
{
    (void)state;
    const play_options o = { .sizes = { 1, 1, 2, { 0 } },
                             .schedule = { .kind = SCHEDULE_1F1B, .micro_batches = 2 },
                             .fill = fill_stages,
                             .program = { .overlap_pipeline = true },
                             .no_latency = true,
                             .message_ps = 3 * MS, // whatever its bytes
                             .instant = true,
                             .steps = 1 };
    const played p = play(&o);
    const sim_time norm = p.step_ps[0] -
                          101200 * MS / 1000; // of the gradients: 4 bytes over an instant switch
    assert_in_range(norm, 0, 10);
    assert_int_equal(p.spent[0][BLAME_FORWARD], 20 * MS);
    assert_int_equal(p.spent[0][BLAME_SLOWED_PP], 600 * MS / 1000);
    assert_int_equal(p.spent[0][BLAME_BACKWARD], 40 * MS);
    assert_int_equal(p.spent[0][BLAME_BUBBLE], 34600 * MS / 1000);
    assert_int_equal(p.spent[0][BLAME_PP_WAIT], 6 * MS + norm);
    assert_int_equal(p.spent[1][BLAME_FORWARD], 24 * MS);
    assert_int_equal(p.spent[1][BLAME_SLOWED_PP], 1200 * MS / 1000);
    assert_int_equal(p.spent[1][BLAME_BUBBLE], 10 * MS + 20 * MS);
    assert_int_equal(p.spent[1][BLAME_PP_WAIT], 3 * MS + 3 * MS + norm);
}

typedef struct replica {
    sim_time
        slowed_ps; // of the second piece, of 10 ms, while the reduction of the first one's gradients goes on
    sim_time host_ps;
    uint64_t elements;
} replica;

static void fill_replica(const void *owner, parallel_place place, play_rank *out)
{
    const replica *r = owner;
    (void)place;
    out->chunks[0] = (play_chunk){
        .backward = { PLAY_WORK(2 * MS), PLAY_BUCKET(r->elements), PLAY_WORK(10 * MS) }, .backward_count = 3
    };
    out->chunks[0].backward[2].work.slowed_ps[1 << BESIDE_DATA] = r->slowed_ps;
    out->chunks[0].backward[2].work.host_ps = r->host_ps;
}

static played play_replicas(const replica *r, sim_time *reduction)
{
    const play_options o = { .sizes = { 1, 4, 1, { 0 } },
                             .schedule = { .kind = SCHEDULE_1F1B, .micro_batches = 1 },
                             .fill = fill_replica,
                             .owner = r,
                             .program = { .overlap_gradients = true },
                             .steps = 1 };
    *reduction = play_ring_ps(COLLECTIVE_ALL_REDUCE, 4, r->elements * PLAY_GRADIENT_BYTES);
    return play(&o);
}

// While the reduction takes c, 10 ms of work that would take 10 + x in all do 10 c / (10 + x); the rest is as fast as ever.
static void work_goes_on_where_the_reduction_ends(void **state)
{
    (void)state;
    static const sim_time slowed[] = { 0, 1, 2500 * MS / 1000, 3333333333, 10 * MS };
    for (size_t i = 0; i < ARRAY_COUNT(slowed); i++) {
        sim_time c;
        const replica r = { slowed[i], 0, 100000000 };
        const played p = play_replicas(&r, &c);
        assert_in_range(c, 1 * MS, 9 * MS);
        const sim_time done = (sim_time)((__int128)c * (10 * MS) / (10 * MS + slowed[i]));
        const sim_time more = c - done;
        assert_int_equal(p.step_ps[0], 2 * MS + 10 * MS + more);
        assert_spent(&p, 3, (sim_time[BLAME_CAUSES]){ [BLAME_BACKWARD] = 12 * MS, [BLAME_SLOWED_DP] = more });
    }
}

static void a_long_reduction_slows_all_of_it_and_is_exposed(void **state)
{
    (void)state;
    sim_time c;
    const replica r = { 3333333333, 0, 1500000000 };
    const played p = play_replicas(&r, &c);
    assert_true(c > 14 * MS);
    assert_int_equal(p.step_ps[0], 2 * MS + c);
    assert_spent(&p, 0,
                 (sim_time[BLAME_CAUSES]){ [BLAME_BACKWARD] = 12 * MS,
                                           [BLAME_SLOWED_DP] = 3333333333,
                                           [BLAME_EXPOSED_DP] = c - 13333333333 });
}

// The last kernel ends 15 ms after the pass began, because of the host; the GPU has time for what is slower.
static void what_hides_behind_the_host_costs_nothing(void **state)
{
    (void)state;
    sim_time c;
    const replica slowed = { 1 * MS, 15 * MS, 100000000 }, fast = { 0, 15 * MS, 100000000 };
    const played p = play_replicas(&slowed, &c), q = play_replicas(&fast, &c);
    assert_int_equal(p.step_ps[0], 15 * MS);
    assert_int_equal(p.digest, q.digest);
    assert_spent(&p, 0, (sim_time[BLAME_CAUSES]){ [BLAME_BACKWARD] = 12 * MS, [BLAME_LAUNCH] = 3 * MS });
}

// Work of 10 ms beside a collective of the tensor-parallel group and the longer reduction of the gradients: 15 ms beside both,
// 12.5 beside the reduction, 12 beside the other.
static void fill_square(const void *owner, parallel_place place, play_rank *out)
{
    (void)owner;
    (void)place;
    out->chunks[0] = (play_chunk){ .backward = { PLAY_WORK(2 * MS), PLAY_BUCKET(100000000),
                                                 PLAY_TENSOR(COLLECTIVE_ALL_REDUCE, 100000000),
                                                 PLAY_WORK(10 * MS), PLAY_JOIN },
                                   .backward_count = 5 };
    sim_time *slowed = out->chunks[0].backward[3].work.slowed_ps;
    slowed[1 << BESIDE_TENSOR] = 2 * MS;
    slowed[1 << BESIDE_DATA] = 2500 * MS / 1000;
    slowed[1 << BESIDE_TENSOR | 1 << BESIDE_DATA] = 5 * MS;
}

// Who alone slows it more is charged for the time of both. On the ideal network neither collective slows the other.
static void of_two_the_worse_is_charged(void **state)
{
    (void)state;
    const play_options o = { .sizes = { 2, 4, 1, { 0 } },
                             .schedule = { .kind = SCHEDULE_1F1B, .micro_batches = 1 },
                             .fill = fill_square,
                             .program = { .overlap_gradients = true },
                             .engine = ENGINE_IDEAL,
                             .steps = 1 };
    const sim_time both = play_ring_ps(COLLECTIVE_ALL_REDUCE, 2, 100000000),
                   data = play_ring_ps(COLLECTIVE_ALL_REDUCE, 4, 400000000),
                   norm = play_ring_ps(COLLECTIVE_ALL_REDUCE, 2, 4);
    const sim_time first = both * 2 / 3, second = (data - both) * 4 / 5, more = data - first - second;
    assert_true(both < data && first + second < 10 * MS);
    const played p = play(&o);
    assert_int_equal(p.step_ps[0], 12 * MS + more + norm);
    assert_spent(&p, 5,
                 (sim_time[BLAME_CAUSES]){
                     [BLAME_BACKWARD] = 12 * MS, [BLAME_SLOWED_DP] = more, [BLAME_EXPOSED_TP] = norm });
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_slows_a_kernel_from_its_middle_to_its_middle),
        cmocka_unit_test(work_goes_on_where_the_reduction_ends),
        cmocka_unit_test(a_long_reduction_slows_all_of_it_and_is_exposed),
        cmocka_unit_test(what_hides_behind_the_host_costs_nothing),
        cmocka_unit_test(of_two_the_worse_is_charged),
    };
    return cmocka_run_group_tests_name("step_beside", tests, NULL, NULL);
}
