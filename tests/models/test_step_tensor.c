// SPDX-License-Identifier: GPL-3.0-or-later
// Steps of tensor-parallel groups: their collectives in passes, and groups played as one lane.
#include "tests/support/play.h"

enum { CALL_BYTES = 20000000, MICRO_BATCHES = 3 };

static sim_time call_ps(uint64_t bytes)
{
    return play_ring_ps(COLLECTIVE_ALL_REDUCE, 2, bytes);
}

typedef struct pair {  // of ranks, in one group
    sim_time first[2]; // work before the collective, by rank
    sim_time beside;   // work while the collective moves
    uint64_t bytes;
} pair;

// A forward waits for its collective at once, a backward after the work beside it.
static void fill_pair(const void *owner, parallel_place place, play_rank *out)
{
    const pair *p = owner;
    const play_piece first = PLAY_WORK(p->first[place.tensor]),
                     call = PLAY_TENSOR(COLLECTIVE_ALL_REDUCE, p->bytes);
    out->chunks[0] = (play_chunk){ .forward = { first, call, PLAY_JOIN, PLAY_WORK(5003000) },
                                   .forward_count = 4,
                                   .backward = { PLAY_WORK(40009000), call, PLAY_WORK(p->beside), PLAY_JOIN,
                                                 PLAY_WORK(7001000) },
                                   .backward_count = 5 };
    out->optimizer = (work){ .gpu_ps = 3011000 };
}

static play_options options_of(const pair *p)
{
    return (play_options){ .sizes = { 2, 1, 1, { 0 } },
                           .schedule = { .kind = SCHEDULE_1F1B, .micro_batches = MICRO_BATCHES },
                           .fill = fill_pair,
                           .owner = p,
                           .steps = 1 };
}

// Rank 1 comes to the forward's collective 4.007 us after rank 0, which waits for it as for a peer; then both wait for the
// collective. The backward's collective moves beside the work that follows and is exposed by what is longer than that.
static void a_slow_rank_keeps_its_group_waiting(void **state)
{
    (void)state;
    static const sim_time beside[] = { 30013000, 90017000 };
    for (size_t i = 0; i < ARRAY_COUNT(beside); i++) {
        const pair rows = { { 20011000, 24018000 }, beside[i], CALL_BYTES };
        const play_options o = options_of(&rows);
        const played p = play(&o);
        const sim_time call = call_ps(CALL_BYTES), norm = call_ps(4), late = 4007000;
        const sim_time exposed = call > beside[i] ? call - beside[i] : 0;
        assert_int_equal(exposed > 0, i == 0);
        assert_int_equal(p.step_ps[0], MICRO_BATCHES * (24018000 + call + 5003000 + 40009000 + beside[i] +
                                                        exposed + 7001000) +
                                           norm + 3011000);
        for (lane_id l = 0; l < 2; l++)
            assert_spent(
                &p, l,
                (sim_time[BLAME_CAUSES]){ [BLAME_FORWARD] = MICRO_BATCHES * (rows.first[l] + 5003000),
                                          [BLAME_BACKWARD] = MICRO_BATCHES * (40009000 + beside[i] + 7001000),
                                          [BLAME_OPTIMIZER] = 3011000,
                                          [BLAME_PEER] = l == 0 ? MICRO_BATCHES * late : 0,
                                          [BLAME_EXPOSED_TP] = MICRO_BATCHES * (call + exposed) + norm });
        assert_int_equal(p.caused_peer[0], 0);
        assert_int_equal(p.caused_peer[1], MICRO_BATCHES * late);
        assert_int_equal(p.network_bytes, p.programmed_bytes);
        assert_int_equal(
            p.spans, 2 * (5 * MICRO_BATCHES + 1 + 2 * MICRO_BATCHES + 1)); // works, optimizer; collectives
        assert_int_equal(p.spans, p.counted.spans);
        assert_int_equal(p.collectives, 2 * MICRO_BATCHES + 1);
        assert_int_equal(p.collectives, p.counted.collectives);
        assert_int_equal(p.transfers, p.counted.transfers);
    }
}

// Two data-parallel groups {0, 2} and {1, 3}, two tensor-parallel groups {0, 1} and {2, 3}; rank 3 is slow in its forward.
// Rank 2 waits for it, and then ranks 0 and 1 wait in the reduction for ranks 2 and 3, for the time by which rank 3 is late.
static void fill_square(const void *owner, parallel_place place, play_rank *out)
{
    const bool slow = place.tensor == 1 && place.data == 1;
    (void)owner;
    out->chunks[0] = (play_chunk){ .forward = { PLAY_WORK(slow ? 26014000 : 20011000),
                                                PLAY_TENSOR(COLLECTIVE_ALL_REDUCE, CALL_BYTES), PLAY_JOIN },
                                   .forward_count = 3,
                                   .backward = { PLAY_WORK(30013000), PLAY_BUCKET(4000) },
                                   .backward_count = 2 };
}

// In the reduction's wait ranks 2 and 3 are at work (their backward is late), so they are the culprits there, not rank 3.
static void delays_pass_from_group_to_group(void **state)
{
    (void)state;
    const play_options o = { .sizes = { 2, 2, 1, { 0 } },
                             .schedule = { .kind = SCHEDULE_1F1B, .micro_batches = 1 },
                             .fill = fill_square,
                             .steps = 1 };
    const played p = play(&o);
    const sim_time late = 6003000;
    for (lane_id l = 0; l < 4; l++) {
        assert_int_equal(p.spent[l][BLAME_PEER], l < 3 ? late : 0);
        assert_int_equal(p.caused_peer[l], l == 2 ? late : l == 3 ? 2 * late : 0);
    }
    assert_int_equal(p.step_ps[0], 26014000 + call_ps(CALL_BYTES) + 30013000 + call_ps(16000) + call_ps(4));
}

static void who_waits_is_named(void **state)
{
    (void)state;
    const pair rows = { { 20011000, 24018000 }, 30013000, CALL_BYTES };
    play_options o = options_of(&rows);
    o.limit = 22000000;
    assert_string_equal(
        play(&o).waiting,
        "rank 0 of stage 0 waits for its tensor-parallel group in step 0, forward of micro-batch 0");
}

// ---- a group as one lane, and its collectives at their time alone

// Four ranks a node, each with a NIC of its own, so that nothing else moves on the NVSwitches: stages of two chunks.
static void slow_down(play_piece *pieces, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t set = 1; set < BESIDE_SETS; set++)
            pieces[i].work.slowed_ps[set] = pieces[i].work.gpu_ps / 7 * set / (2 + i % 3);
}

static void fill_group(const void *owner, parallel_place place, play_rank *out)
{
    (void)owner;
    for (uint32_t c = 0; c < 2; c++) {
        const sim_time more = 1000 * (sim_time)(11 * place.pipeline + 5 * place.data + 3 * c);
        out->chunks[c] = (play_chunk){ .forward = { PLAY_NEEDS(1), PLAY_WORK(21013000 + more),
                                                    PLAY_TENSOR(COLLECTIVE_ALL_REDUCE, 4000000), PLAY_JOIN,
                                                    PLAY_NEEDS(0), PLAY_WORK(9007000) },
                                       .forward_count = 6,
                                       .backward = { PLAY_WORK(17011000), PLAY_BUCKET(480000),
                                                     PLAY_TENSOR(COLLECTIVE_ALL_GATHER, 1200000),
                                                     PLAY_WORK(11003000 + more), PLAY_JOIN,
                                                     PLAY_TENSOR(COLLECTIVE_REDUCE_SCATTER, 6000000),
                                                     PLAY_JOIN, PLAY_WORK(23017000), PLAY_BUCKET(720000) },
                                       .backward_count = 9,
                                       .norm_elements = 120 };
        out->chunks[c].forward[5].work.host_ps = 60013000; // some of it behind the host
        slow_down(out->chunks[c].forward, out->chunks[c].forward_count);
        slow_down(out->chunks[c].backward, out->chunks[c].backward_count);
    }
    out->optimizer = (work){ .gpu_ps = 3011000 + 1000 * place.data };
}

typedef struct group_case {
    const char *name;
    schedule_def schedule;
    program_settings program;
    sim_time restart_ps;
} group_case;
static const group_case group_cases[] = {
    { "everything beside something",
      { SCHEDULE_INTERLEAVED_1F1B, 2, 4, 2 },
      { .sharding = SHARDING_ZERO_1,
        .overlap_gradients = true,
        .overlap_parameters = true,
        .overlap_pipeline = true,
        .sequence_parallel = true,
        .activation_bytes = 800000,
        .tied_table = true,
        .table_elements = 40000 },
      0 },
    { "nothing beside anything",
      { SCHEDULE_INTERLEAVED_1F1B, 2, 4, 2 },
      { .sharding = SHARDING_ZERO_1, .scatter_gather = true, .activation_bytes = 800000 },
      18013000 },
    { "whole messages",
      { SCHEDULE_INTERLEAVED_1F1B, 2, 2, 2 },
      { .overlap_gradients = true,
        .overlap_pipeline = true,
        .activation_bytes = 800000,
        .tied_table = true,
        .table_elements = 40000 },
      0 },
};

static void a_lane_for_a_group_does_not_show(void **state)
{
    const group_case *c = *state;
    for (int engine = ENGINE_IDEAL; engine <= ENGINE_FLUID; engine++)
        for (int grain = GRAIN_STREAMS; grain <= GRAIN_MESSAGES; grain++) {
            play_options o = { .sizes = { 4, 2, 2, { 0 } },
                               .schedule = c->schedule,
                               .fill = fill_group,
                               .program = c->program,
                               .restart_ps = c->restart_ps,
                               .steps = 2,
                               .nodes = 4,
                               .gpu_stride = 2,
                               .engine = (network_engine)engine,
                               .grain = (collective_grain)grain };
            const played ranks = play(&o);
            assert_int_equal(ranks.lanes, 16);
            assert_int_equal(ranks.network_bytes, ranks.programmed_bytes);
            o.fold = true;
            const played folded = play(&o);
            assert_true(folded.was_folded);
            assert_int_equal(folded.lanes, 4);
            assert_played_same(&ranks, &folded);
            assert_int_equal(folded.transfer_bytes, ranks.transfer_bytes);
            o.alone = true;
            for (int reverse = 0; reverse < 2; reverse++) {
                o.reverse = reverse;
                const played alone = play(&o);
                assert_true(alone.was_alone);
                assert_played_same(&ranks, &alone);
                assert_memory_equal(folded.spent, alone.spent, sizeof folded.spent);
                assert_memory_equal(folded.caused_peer, alone.caused_peer, sizeof folded.caused_peer);
                assert_memory_equal(folded.caused_bubble, alone.caused_bubble, sizeof folded.caused_bubble);
            }
        }
}

int main(void)
{
    struct CMUnitTest tests[ARRAY_COUNT(group_cases) + 3];
    size_t n = 0;
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(a_slow_rank_keeps_its_group_waiting);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(delays_pass_from_group_to_group);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(who_waits_is_named);
    for (size_t i = 0; i < ARRAY_COUNT(group_cases); i++)
        tests[n++] = (struct CMUnitTest){ group_cases[i].name, a_lane_for_a_group_does_not_show, NULL, NULL,
                                          (void *)&group_cases[i] };
    SIM_ASSERT(n == ARRAY_COUNT(tests));
    return cmocka_run_group_tests_name("step_tensor", tests, NULL, NULL);
}
