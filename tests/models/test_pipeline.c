// SPDX-License-Identifier: GPL-3.0-or-later
// Steps of pipelines: closed forms of the schedules, and what is worked out by hand.
#include "tests/support/play.h"

// All chunks of a stage together take so long per micro-batch.
typedef struct stage_times {
    sim_time forward[8], backward[8]; // by stage
    uint32_t chunks;
} stage_times;

static void fill_stage(const void *owner, parallel_place place, play_rank *out)
{
    const stage_times *t = owner;
    for (uint32_t c = 0; c < t->chunks; c++)
        out->chunks[c] = (play_chunk){ .forward = { PLAY_WORK(t->forward[place.pipeline] / t->chunks) },
                                       .forward_count = 1,
                                       .backward = { PLAY_WORK(t->backward[place.pipeline] / t->chunks) },
                                       .backward_count = 1 };
}

static stage_times equal_stages(uint32_t chunks)
{
    stage_times t = { .chunks = chunks };
    for (uint32_t s = 0; s < 8; s++) {
        t.forward[s] = 2003000 * 12; // 2, 3 and 4 chunks divide it
        t.backward[s] = 4013000 * 12;
    }
    return t;
}

static play_options options_of(const stage_times *t, schedule_kind kind, uint32_t stages,
                               uint32_t micro_batches)
{
    return (play_options){ .sizes = { 1, 1, stages, { 0 } },
                           .schedule = { .kind = kind, .micro_batches = micro_batches, .chunks = t->chunks },
                           .fill = fill_stage,
                           .owner = t,
                           .program = { .overlap_pipeline = true },
                           .steps = 1,
                           .no_latency = true,
                           .instant = true };
}

// The norm's all-reduce moves a few bytes, each step of a ring less than a picosecond: rounded up once.
enum { NORM_PS = 1 };

static void assert_closed(const play_options *o, sim_time bubble, sim_time busy)
{
    const uint32_t stages = o->sizes.pipeline;
    const sim_time norm = stages > 1 ? NORM_PS : 0;
    const played p = play(o);
    if (p.step_ps[0] != busy + bubble + norm)
        fail_msg("%s, p %u, m %u, v %u: got %lld, want %lld", schedule_kind_words[o->schedule.kind], stages,
                 o->schedule.micro_batches, o->schedule.chunks, (long long)p.step_ps[0],
                 (long long)(busy + bubble + norm));
    for (lane_id l = 0; l < stages; l++) {
        assert_int_equal(p.spent[l][BLAME_FORWARD] + p.spent[l][BLAME_BACKWARD], busy);
        assert_int_equal(p.spent[l][BLAME_BUBBLE], bubble);
        assert_int_equal(p.spent[l][BLAME_PP_WAIT], norm);
    }
    // A forward and a backward per pass and lane, the optimizer, the norm and each message where they are told.
    assert_int_equal(p.spans, p.counted.spans);
    assert_int_equal(p.collectives, p.counted.collectives);
    assert_int_equal(p.transfers, p.counted.transfers);
}

// T = (m + p - 1) (f + b), of which p - 1 times (f + b) is idle on every stage: Narayanan et al., SC 2021, section 2.2.1.
static void gpipe_and_1f1b_have_their_closed_form(void **state)
{
    (void)state;
    const stage_times t = equal_stages(1);
    const sim_time each = t.forward[0] + t.backward[0];
    for (int kind = SCHEDULE_GPIPE; kind <= SCHEDULE_1F1B; kind++)
        for (uint32_t stages = 1; stages <= 8; stages++)
            for (uint32_t micro_batches = 1; micro_batches <= 16; micro_batches++) {
                const play_options o = options_of(&t, (schedule_kind)kind, stages, micro_batches);
                assert_closed(&o, (stages - 1) * each, micro_batches * each);
            }
}

// T = m (f + b) + (p - 1) (f + b) / v: section 2.2.2.
static void interleaved_has_its_closed_form(void **state)
{
    (void)state;
    for (uint32_t chunks = 2; chunks <= 4; chunks++) {
        const stage_times t = equal_stages(chunks);
        const sim_time each = t.forward[0] + t.backward[0];
        for (uint32_t stages = 2; stages <= 8; stages++)
            for (uint32_t micro_batches = stages; micro_batches <= 16; micro_batches += stages) {
                const play_options o = options_of(&t, SCHEDULE_INTERLEAVED_1F1B, stages, micro_batches);
                assert_closed(&o, (stages - 1) * each / chunks, micro_batches * each);
            }
    }
}

// Without overlap the same, as long as messages and restarts take no time: when a stage hands something over, the next one has
// nothing else to do.
static void blocking_costs_nothing_by_itself(void **state)
{
    (void)state;
    const stage_times t = equal_stages(1);
    const sim_time each = t.forward[0] + t.backward[0];
    for (int kind = SCHEDULE_GPIPE; kind <= SCHEDULE_1F1B; kind++)
        for (uint32_t stages = 1; stages <= 5; stages++)
            for (uint32_t micro_batches = 1; micro_batches <= 7; micro_batches++) {
                play_options o = options_of(&t, (schedule_kind)kind, stages, micro_batches);
                o.program.overlap_pipeline = false;
                assert_closed(&o, (stages - 1) * each, micro_batches * each);
            }
}

// GPipe is a flow shop: T = sum of f + (m - 1) max f, and the same with b.
static void the_slowest_stage_decides_gpipe(void **state)
{
    (void)state;
    const stage_times t = { { 3001000, 11007000, 4003000, 8009000 },
                            { 5011000, 9013000, 14017000, 6019000 },
                            1 };
    for (uint32_t micro_batches = 1; micro_batches <= 9; micro_batches++) {
        const play_options o = options_of(&t, SCHEDULE_GPIPE, 4, micro_batches);
        assert_int_equal(play(&o).step_ps[0], 26020000 + (micro_batches - 1) * 11007000 + 34060000 +
                                                  (micro_batches - 1) * 14017000 + NORM_PS);
    }
}

// 1F1B, p = 3, m = 4, in us; stage 1 takes 11 and 13, stage 0 3 and 5, stage 2 4 and 6.
//     stage 0   F0 0-3   F1 3-6   F2 6-9   B0 38-43  F3 43-46  B1 62-67  B2 86-91  B3 99-104
//     stage 1   F0 3-14  F1 14-25 B0 25-38 F2 38-49  B1 49-62  F3 62-73  B2 73-86  B3 86-99
//     stage 2   F0 14-18 B0 18-24 F1 25-29 B1 29-35  F2 49-53  B2 53-59  F3 73-77  B3 77-83
// Stage 1 is never without work between 3 and 99. Bubbles: 104 - 4 x 8 = 72, 104 - 4 x 24 = 8, 104 - 4 x 10 = 64. Whose fault:
//     stage 0 waits for stage 1 9-38, 46-62, 67-86, 91-99, together 72
//     stage 1 waits for stage 0 0-3, and at the end 99-104
//     stage 2 waits for stage 1 0-14, but for the 3 in which that waits for stage 0; 24-25, 35-49, 59-73; in the norm for
//       stage 0 83-104, but for 83-86 and 91-99, in which that waits for stage 1
static void a_slow_stage_by_hand(void **state)
{
    (void)state;
    const sim_time us = 1000000;
    const stage_times t = { { 3 * us, 11 * us, 4 * us }, { 5 * us, 13 * us, 6 * us }, 1 };
    const play_options o = options_of(&t, SCHEDULE_1F1B, 3, 4);
    const played p = play(&o);
    assert_int_equal(p.step_ps[0], 104 * us + NORM_PS);
    static const sim_time bubbles[] = { 72000000, 8000000, 64000000 };
    for (lane_id l = 0; l < 3; l++)
        assert_spent(&p, l,
                     (sim_time[BLAME_CAUSES]){ [BLAME_FORWARD] = 4 * t.forward[l],
                                               [BLAME_BACKWARD] = 4 * t.backward[l],
                                               [BLAME_BUBBLE] = bubbles[l],
                                               [BLAME_PP_WAIT] = NORM_PS });
    // stage 0: 3 + 5 of stage 1; 3 + 5 + 5 of stage 2. stage 1: 72 of stage 0; 11 + 1 + 14 + 14 + 3 + 8 of stage 2
    assert_int_equal(p.caused_bubble[0], (3 + 5 + 3 + 5 + 5) * us);
    assert_int_equal(p.caused_bubble[1], (72 + 11 + 1 + 14 + 14 + 3 + 8) * us);
    assert_int_equal(p.caused_bubble[2], 0);
    for (lane_id l = 0; l < 3; l++)
        assert_int_equal(p.caused_peer[l], 0);
}

// A message takes c < f. GPipe: the first micro-batch is p - 1 messages late at the last stage, and p - 1 more on the way back.
// The last stage waits for the first message, and in the norm for the first stage: if m < p that is still waiting for its first
// gradient then, which comes m b before the end, when the last stage has been done since (p - 1) (b + c) before the end.
static void messages_beside_passes_delay_the_first(void **state)
{
    (void)state;
    const stage_times t = equal_stages(1);
    const sim_time each = t.forward[0] + t.backward[0], c = 1709000;
    for (uint32_t stages = 2; stages <= 6; stages++)
        for (uint32_t micro_batches = 1; micro_batches <= 7; micro_batches++) {
            play_options o = options_of(&t, SCHEDULE_GPIPE, stages, micro_batches);
            o.message_ps = c;
            const played p = play(&o);
            assert_int_equal(p.step_ps[0],
                             (micro_batches + stages - 1) * each + 2 * (stages - 1) * c + NORM_PS);
            assert_int_equal(p.spent[stages - 1][BLAME_PP_WAIT],
                             (micro_batches < stages ? 2 : 1) * c + NORM_PS);
        }
}

// 1F1B on two stages: forward i + 2 of the first stage follows backward i, whose round trip takes 2 (f + b) + 2 c. So every
// second micro-batch adds 2 c:
//     T = (m + 1) (f + b) + 2 c ceil(m / 2)
static void messages_beside_passes_delay_round_trips(void **state)
{
    (void)state;
    const stage_times t = equal_stages(1);
    const sim_time each = t.forward[0] + t.backward[0], c = 1709000;
    for (uint32_t micro_batches = 1; micro_batches <= 9; micro_batches++) {
        play_options o = options_of(&t, SCHEDULE_1F1B, 2, micro_batches);
        o.message_ps = c;
        assert_int_equal(play(&o).step_ps[0],
                         (micro_batches + 1) * each + 2 * c * ((micro_batches + 1) / 2) + NORM_PS);
    }
}

// p = 2, m = 2, 1F1B with blocking exchanges; a message takes c, the host r to start again; f, b.
//     stage 0   F0 - f                          sends F0            - f + c        restarts - f + c + r
//               F1 - 2f + c + r                 waits for stage 1   - 2f + b + c + r
//               sends F1, receives B0           - 2f + b + 2c + r   restarts - 2f + b + 2c + 2r
//               B0 - 2f + 2b + 2c + 2r          waits for stage 1   - 3f + 2b + 2c + 2r
//               receives B1                     - 3f + 2b + 3c + 2r restarts - 3f + 2b + 3c + 3r
//               B1 - 3f + 3b + 3c + 3r
//     stage 1   waits for F0 - f, receives it   - f + c             restarts - f + c + r
//               F0, B0 - 2f + b + c + r         exchanges and restarts as stage 0 does - 2f + b + 2c + 2r
//               F1, B1 - 3f + 2b + 2c + 2r      sends B1            - 3f + 2b + 3c + 2r restarts - 3f + 2b + 3c + 3r
//               waits for the end               - 3f + 3b + 3c + 3r
static void blocking_exchanges_by_hand(void **state)
{
    (void)state;
    const stage_times t = equal_stages(1);
    const sim_time f = t.forward[0], b = t.backward[0], c = 1709000, r = 60013000;
    play_options o = options_of(&t, SCHEDULE_1F1B, 2, 2);
    o.message_ps = c;
    o.program.overlap_pipeline = false;
    o.restart_ps = r;
    o.steps = 2;
    const played p = play(&o);
    assert_int_equal(p.step_ps[0], 3 * (f + b + c + r) + NORM_PS);
    assert_int_equal(p.step_ps[1], p.step_ps[0]);
    for (lane_id l = 0; l < 2; l++)
        assert_spent(&p, l,
                     (sim_time[BLAME_CAUSES]){ [BLAME_FORWARD] = 2 * f,
                                               [BLAME_BACKWARD] = 2 * b,
                                               [BLAME_LAUNCH] = 3 * r,
                                               [BLAME_BUBBLE] = f + b,
                                               [BLAME_PP_WAIT] = 3 * c + NORM_PS });
}

// Two replicas of two stages. Stage 1 of the second replica is slower by x, and has the last word in everything.
static void fill_slow_replica(const void *owner, parallel_place place, play_rank *out)
{
    const sim_time *late = owner;
    const sim_time x = place.pipeline == 1 && place.data == 1 ? *late : 0;
    out->chunks[0] = (play_chunk){ .forward = { PLAY_WORK(20011000 + x) },
                                   .forward_count = 1,
                                   .backward = { PLAY_WORK(30013000), PLAY_BUCKET(4000) },
                                   .backward_count = 2 };
    out->optimizer = (work){ .gpu_ps = 1009000 };
}

// One micro-batch. Stage 1 of the second replica hands its gradient over x later than that of the first, so stage 0 of the
// second replica ends its backward x later: bubble. In the reductions both stages of the first replica wait x for those of the
// second, which are at work then: wait for peer. In the norm stage 1 of the first replica waits for stage 0, also while that
// waits for its peer: there it takes over cause and culprit, and has as much less bubble as it waited for its own peer.
static void a_slow_stage_keeps_other_replicas_waiting(void **state)
{
    (void)state;
    const sim_time late = 7001000;
    const play_options o = { .sizes = { 1, 2, 2, { 0 } },
                             .schedule = { .kind = SCHEDULE_1F1B, .micro_batches = 1 },
                             .fill = fill_slow_replica,
                             .owner = &late,
                             .program = { .overlap_pipeline = true, .overlap_gradients = true },
                             .steps = 1,
                             .no_latency = true,
                             .instant = true };
    const sim_time none = 0;
    play_options healthy = o;
    healthy.owner = &none;
    const played p = play(&o), even = play(&healthy);
    assert_int_equal(p.step_ps[0], even.step_ps[0] + late);
    for (lane_id l = 0; l < 4; l++) { // lanes: (data, pipeline) = (0, 0), (1, 0), (0, 1), (1, 1)
        const sim_time more = p.spent[l][BLAME_BUBBLE] + p.spent[l][BLAME_PEER] -
                              even.spent[l][BLAME_BUBBLE] - even.spent[l][BLAME_PEER];
        assert_int_equal(more, l == 3 ? 0 : late);
    }
    assert_int_equal(p.spent[0][BLAME_PEER], late);
    assert_int_equal(p.spent[1][BLAME_PEER], 0);
    assert_int_equal(p.spent[2][BLAME_PEER], 2 * late);
    assert_int_equal(p.caused_peer[1], 2 * late);
    assert_int_equal(p.caused_peer[3], late);
    assert_int_equal(p.caused_bubble[3], even.caused_bubble[3] + (uint64_t)late);
}

// Both ends add up the gradients of a tied table (E), then all sum the norm.
static void fill_with_table(const void *owner, parallel_place place, play_rank *out)
{
    (void)owner;
    (void)place;
    out->chunks[0] = (play_chunk){ .forward = { PLAY_WORK(20011000) },
                                   .forward_count = 1,
                                   .backward = { PLAY_WORK(30013000) },
                                   .backward_count = 1 };
}

// 2,000,000 elements of 4 bytes between two ranks at 431.7 GB/s by the costs of test_costs.h.
// Stage 2 is done first, waits for stage 0 all the way back, then both wait for the table; stage 1 for both of them.
static void both_ends_add_up_a_tied_table(void **state)
{
    (void)state;
    play_options o = { .sizes = { 1, 1, 3, { 0 } },
                       .schedule = { .kind = SCHEDULE_1F1B, .micro_batches = 1 },
                       .fill = fill_with_table,
                       .program = { .overlap_pipeline = true, .activation_bytes = 1000000 },
                       .steps = 1 };
    const sim_time without = play(&o).step_ps[0];
    o.program.tied_table = true;
    o.program.table_elements = 2000000;
    const played p = play(&o);
    // 4e6 B / 431.7e9 = 9265693.77 ps: 9422000 + 9265693.77, and 2 (3407000 + 9265693.77)
    const sim_time table = 18687694 + 25345388;
    assert_int_equal(p.step_ps[0], without + table);
    assert_int_equal(p.network_bytes, p.programmed_bytes);
    assert_int_equal(p.spans, p.counted.spans);
    assert_int_equal(p.collectives, p.counted.collectives);
    assert_int_equal(p.transfers, p.counted.transfers);
    const played again = (o.reverse = true, play(&o));
    assert_played_same(&p, &again);
}

static void who_waits_is_named(void **state)
{
    (void)state;
    const stage_times t = equal_stages(1);
    const sim_time each = t.forward[0] + t.backward[0];
    play_options o = options_of(&t, SCHEDULE_1F1B, 2, 1);
    o.limit = t.forward[0] + 1;
    assert_string_equal(play(&o).waiting, "rank 0 of stage 0 waits for a message in step 0");
    o.program.overlap_pipeline = false;
    assert_string_equal(play(&o).waiting, "rank 0 of stage 0 waits in an exchange in step 0");
    o.limit = 2 * each; // both are in the norm, which takes a picosecond
    assert_string_equal(play(&o).waiting, "rank 0 of stage 0 waits for other stages in step 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpipe_and_1f1b_have_their_closed_form),
        cmocka_unit_test(interleaved_has_its_closed_form),
        cmocka_unit_test(blocking_costs_nothing_by_itself),
        cmocka_unit_test(the_slowest_stage_decides_gpipe),
        cmocka_unit_test(a_slow_stage_by_hand),
        cmocka_unit_test(messages_beside_passes_delay_the_first),
        cmocka_unit_test(messages_beside_passes_delay_round_trips),
        cmocka_unit_test(blocking_exchanges_by_hand),
        cmocka_unit_test(a_slow_stage_keeps_other_replicas_waiting),
        cmocka_unit_test(both_ends_add_up_a_tied_table),
        cmocka_unit_test(who_waits_is_named),
    };
    return cmocka_run_group_tests_name("pipeline", tests, NULL, NULL);
}
