// SPDX-License-Identifier: GPL-3.0-or-later
// Steps of data-parallel replicas; of pipelines in test_pipeline.c, of tensor-parallel groups in test_step_tensor.c.
#include "tests/support/play.h"

// What a rank computes; launch and recompute are part of the forward and of each backward time.
typedef struct times {
    sim_time forward, piece[2], optimizer, launch, recompute;
} times;

typedef struct job {
    parallel_sizes sizes;
    uint64_t elements[2]; // of the bucket that is full after each piece
    times ranks[8];
} job;

// The host is behind by `launch` in each piece: it has launched the last kernel of a pass when all of the pass has ended.
static play_piece piece_of(const times *t, sim_time before, sim_time duration, sim_time recompute)
{
    return (play_piece){ .kind = ITEM_WORK,
                         .work = { .gpu_ps = duration - t->launch,
                                   .host_ps = before + duration,
                                   .recompute_ps = recompute,
                                   .bytes = 1.0 } };
}

static void fill_replica(const void *owner, parallel_place place, play_rank *out)
{
    const job *j = owner;
    const times *t = &j->ranks[parallel_rank_at(j->sizes, place)];
    out->chunks[0] = (play_chunk){
        .forward = { piece_of(t, 0, t->forward, 0) },
        .forward_count = 1,
        .backward = { piece_of(t, 0, t->piece[0], t->recompute), PLAY_BUCKET(j->elements[0]),
                      piece_of(t, t->piece[0], t->piece[1], t->recompute), PLAY_BUCKET(j->elements[1]) },
        .backward_count = 4
    };
    out->optimizer = (work){ .gpu_ps = t->optimizer };
}

static sim_time reduce_ps(const play_options *o, const job *j, uint32_t i)
{
    return play_ring_ps(o->program.sharding == SHARDING_ZERO_1 ? COLLECTIVE_REDUCE_SCATTER
                                                               : COLLECTIVE_ALL_REDUCE,
                        j->sizes.data, j->elements[i] * PLAY_GRADIENT_BYTES);
}

static sim_time gather_ps(const job *j, uint32_t i)
{
    return play_ring_ps(COLLECTIVE_ALL_GATHER, j->sizes.data, j->elements[i] * PLAY_PARAMETER_BYTES);
}

#define HEALTHY                                                                                              \
    {                                                                                                        \
        .forward = 200017000, .piece = { 100003000, 120011000 }, .optimizer = 20007000, .launch = 1003000,   \
        .recompute = 2011000                                                                                 \
    }
static const times healthy = HEALTHY;

static job four_replicas(void)
{
    return (job){ .sizes = { 1, 4, 1, { 0 } },
                  .elements = { 40000000, 12345676 },
                  .ranks = { HEALTHY, HEALTHY, HEALTHY, HEALTHY } };
}

static play_options options_of(const job *j, uint32_t micro_batches, int sharding, bool overlap)
{
    return (play_options){ .sizes = j->sizes,
                           .schedule = { .kind = SCHEDULE_1F1B, .micro_batches = micro_batches },
                           .fill = fill_replica,
                           .owner = j,
                           .program = { .sharding = sharding, .overlap_gradients = overlap },
                           .steps = 1 };
}

// m (f + b) + collectives + optimizer, to the picosecond; all of the collectives is exposed.
static void without_overlap_everything_adds_up(void **state)
{
    (void)state;
    const job j = four_replicas();
    for (int sharding = SHARDING_NONE; sharding <= SHARDING_ZERO_1; sharding++) {
        play_options o = options_of(&j, 3, sharding, false);
        o.steps = 2;
        sim_time communication = reduce_ps(&o, &j, 0) + reduce_ps(&o, &j, 1);
        if (sharding == SHARDING_ZERO_1)
            communication += play_ring_ps(COLLECTIVE_ALL_REDUCE, 4, 4) + gather_ps(&j, 0) + gather_ps(&j, 1);
        const sim_time backward = healthy.piece[0] + healthy.piece[1];
        const sim_time want = 3 * (healthy.forward + backward) + communication + healthy.optimizer;
        const played p = play(&o);
        assert_int_equal(p.steps, 2);
        assert_int_equal(p.step_ps[0], want);
        assert_int_equal(p.step_ps[1], want);
        for (lane_id l = 0; l < 4; l++)
            assert_spent(&p, l,
                         (sim_time[BLAME_CAUSES]){
                             [BLAME_FORWARD] = 3 * (healthy.forward - healthy.launch),
                             [BLAME_BACKWARD] = 3 * (backward - 2 * healthy.launch - 2 * healthy.recompute),
                             [BLAME_RECOMPUTE] = 6 * healthy.recompute,
                             [BLAME_OPTIMIZER] = healthy.optimizer,
                             [BLAME_LAUNCH] = 9 * healthy.launch,
                             [BLAME_EXPOSED_DP] = communication });
        assert_string_equal(p.waiting, "nothing waits");
    }
}

// A bucket that is reduced while the last piece computes is not exposed; a long one delays the next on their stream.
static void with_overlap_the_stream_is_a_chain(void **state)
{
    (void)state;
    job j = four_replicas();
    j.elements[0] = 400000; // 52 us, done before the second piece
    play_options o = options_of(&j, 1, SHARDING_NONE, true);
    played p = play(&o);
    const sim_time compute = healthy.forward + healthy.piece[0] + healthy.piece[1];
    assert_true(reduce_ps(&o, &j, 0) < healthy.piece[1]);
    assert_int_equal(p.step_ps[0], compute + reduce_ps(&o, &j, 1) + healthy.optimizer);
    assert_int_equal(p.spent[2][BLAME_EXPOSED_DP], reduce_ps(&o, &j, 1));
    assert_int_equal(p.spent[2][BLAME_PEER], 0);

    j = four_replicas(); // the first takes 586 us: the second starts at its end
    p = play(&o);
    const sim_time first_end = healthy.forward + healthy.piece[0] + reduce_ps(&o, &j, 0);
    assert_true(first_end > compute);
    assert_int_equal(p.step_ps[0], first_end + reduce_ps(&o, &j, 1) + healthy.optimizer);
    assert_int_equal(p.spent[0][BLAME_EXPOSED_DP], first_end + reduce_ps(&o, &j, 1) - compute);
    assert_int_equal(p.spent[0][BLAME_PEER], 0);
}

// Overlap never makes a step slower than the sum of its parts, nor faster than the longer of its streams.
static void overlap_stays_between_its_bounds(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= 20; i++) {
        job j = four_replicas();
        j.elements[0] = 4000004 * i;
        j.elements[1] = 4 * (i * 2654435761u % 9999991);
        play_options o = options_of(&j, 1, SHARDING_NONE, true);
        const sim_time overlapped = play(&o).step_ps[0];
        o.program.overlap_gradients = false;
        const sim_time apart = play(&o).step_ps[0];
        const sim_time communication = reduce_ps(&o, &j, 0) + reduce_ps(&o, &j, 1);
        const sim_time compute = apart - communication;
        assert_true(overlapped <= apart);
        assert_true(overlapped >= compute && overlapped >= communication + healthy.optimizer);
    }
}

// Forward in two halves of 100.013 us, the first of which needs bucket 1, the second bucket 0 as well.
static void fill_gathered(const void *owner, parallel_place place, play_rank *out)
{
    fill_replica(owner, place, out);
    out->chunks[0].forward_count = 4;
    out->chunks[0].forward[0] = PLAY_NEEDS(1);
    out->chunks[0].forward[1] = out->chunks[0].forward[3] = PLAY_WORK(100013000);
    out->chunks[0].forward[2] = PLAY_NEEDS(0);
}

// Bucket 1 is gathered in G1, then bucket 0 in G0: the first half begins at G1, the second at G1 + max(first half, G0); the
// forwards of other micro-batches wait for nothing. At the end there is nothing to gather.
static void parameters_are_gathered_beside_the_first_forward(void **state)
{
    (void)state;
    for (uint64_t elements = 400000; elements <= 40000000; elements *= 100) {
        job j = four_replicas();
        j.elements[0] = elements;
        play_options o = options_of(&j, 2, SHARDING_ZERO_1, false);
        o.fill = fill_gathered;
        o.program.overlap_parameters = true;
        o.steps = 2;
        const sim_time g0 = gather_ps(&j, 0), g1 = gather_ps(&j, 1), half = 100013000;
        const sim_time backward = healthy.piece[0] + healthy.piece[1];
        const sim_time waited = g1 + (g0 > half ? g0 - half : 0);
        const sim_time reduced = reduce_ps(&o, &j, 0) + reduce_ps(&o, &j, 1) +
                                 play_ring_ps(COLLECTIVE_ALL_REDUCE, 4, 4);
        const played p = play(&o);
        assert_int_equal(g0 > half, elements == 40000000);
        assert_int_equal(p.step_ps[1], waited + 4 * half + 2 * backward + reduced + healthy.optimizer);
        assert_int_equal(p.step_ps[0], p.step_ps[1]);
        assert_int_equal(p.spent[3][BLAME_EXPOSED_DP], waited + reduced);
        assert_int_equal(p.spent[3][BLAME_FORWARD], 4 * half);
        assert_int_equal(p.network_bytes, p.programmed_bytes);
    }
}

// Rank 2 takes 1.5 times as long. In us, T1 and T2 the two reductions:
//     the others compute until 420.031; rank 2 ends its pieces at 450.030 and 630.0465
//     bucket 1 from 450.030 to 450.030 + T1 < 630.0465; bucket 2 from 630.0465, when rank 2 arrives, for T2
//     the others wait for rank 2 420.031 - 450.030, for bucket 1 T1, for rank 2 until 630.0465, for bucket 2 T2, and at the
//     end for the rest of rank 2's optimizer
static void one_slow_rank_by_hand(void **state)
{
    (void)state;
    job j = four_replicas();
    j.elements[0] = 400000;
    j.ranks[2] = (times){ .forward = 300025500,
                          .piece = { 150004500, 180016500 },
                          .optimizer = 30010500,
                          .launch = 1003000,
                          .recompute = 2011000 };
    const play_options o = options_of(&j, 1, SHARDING_NONE, true);
    const sim_time t1 = reduce_ps(&o, &j, 0), t2 = reduce_ps(&o, &j, 1);
    assert_true(450030000 + t1 < 630046500);
    const played p = play(&o);
    const sim_time waited = (450030000 - 420031000) + (630046500 - 450030000 - t1) + 10003500;
    assert_int_equal(p.step_ps[0], 630046500 + t2 + 30010500);
    for (lane_id l = 0; l < 4; l++) {
        assert_int_equal(p.caused_peer[l], l == 2 ? 3 * waited : 0);
        if (l == 2) continue;
        assert_spent(&p, l,
                     (sim_time[BLAME_CAUSES]){ [BLAME_FORWARD] = 200017000 - 1003000,
                                               [BLAME_BACKWARD] = 220014000 - 2006000 - 4022000,
                                               [BLAME_RECOMPUTE] = 4022000,
                                               [BLAME_OPTIMIZER] = 20007000,
                                               [BLAME_LAUNCH] = 3009000,
                                               [BLAME_PEER] = waited,
                                               [BLAME_EXPOSED_DP] = t1 + t2 });
    }
    assert_spent(&p, 2,
                 (sim_time[BLAME_CAUSES]){ [BLAME_FORWARD] = 300025500 - 1003000,
                                           [BLAME_BACKWARD] = 330021000 - 2006000 - 4022000,
                                           [BLAME_RECOMPUTE] = 4022000,
                                           [BLAME_OPTIMIZER] = 30010500,
                                           [BLAME_LAUNCH] = 3009000,
                                           [BLAME_EXPOSED_DP] = t2 });
}

// Launches of a pass: H of the second piece counts from the beginning of the pass, so a first piece that takes longer on the
// GPU leaves less, and then no, waiting for the host.
static void fill_late_launch(const void *owner, parallel_place place, play_rank *out)
{
    const sim_time *first = owner;
    (void)place;
    out->chunks[0] = (play_chunk){ .forward = { PLAY_WORK(*first), PLAY_WORK(20009000) },
                                   .forward_count = 2,
                                   .backward = { PLAY_WORK(1) },
                                   .backward_count = 1 };
    out->chunks[0].forward[1].work.host_ps = 50021000;
}

static void the_host_runs_ahead_within_a_pass(void **state)
{
    (void)state;
    static const sim_time rows[][2] = { // first piece; waiting for the host
                                        { 7001000, 50021000 - 7001000 - 20009000 },
                                        { 30011000, 50021000 - 30011000 - 20009000 },
                                        { 30012000, 0 },
                                        { 90001000, 0 }
    };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        const play_options o = { .sizes = { 1, 1, 1, { 0 } },
                                 .schedule = { .kind = SCHEDULE_1F1B, .micro_batches = 3 },
                                 .fill = fill_late_launch,
                                 .owner = &rows[i][0],
                                 .steps = 1 };
        const played p = play(&o);
        assert_int_equal(p.spent[0][BLAME_LAUNCH], 3 * rows[i][1]);
        assert_int_equal(p.step_ps[0], 3 * (rows[i][0] + rows[i][1] + 20009000 + 1));
    }
}

// Two data-parallel groups, ranks {0, 2} and {1, 3}; the second has a slower optimizer. At the end the first group waits for
// the second: while that computes for a peer, and while that gathers its parameters along with it.
static void the_end_of_a_step_is_charged_along_the_last_lane(void **state)
{
    (void)state;
    job j = { .sizes = { 2, 2, 1, { 0 } },
              .elements = { 4000002, 6000004 },
              .ranks = { HEALTHY, HEALTHY, HEALTHY, HEALTHY } };
    j.ranks[1].optimizer = j.ranks[3].optimizer = 190019000;
    const play_options o = options_of(&j, 1, SHARDING_ZERO_1, false);
    const played p = play(&o);
    const sim_time norm = play_ring_ps(COLLECTIVE_ALL_REDUCE, 2, 4); // in both groups that a rank is in
    const sim_time reduced = reduce_ps(&o, &j, 0) + reduce_ps(&o, &j, 1) + norm;
    const sim_time gathered = gather_ps(&j, 0) + gather_ps(&j, 1);
    const sim_time before = healthy.forward + healthy.piece[0] + healthy.piece[1] + reduced + norm;
    assert_int_equal(p.step_ps[0], before + 190019000 + gathered);
    assert_true(gathered <
                190019000 - 20007000); // the first group is done before the second begins to gather
    for (lane_id l = 0; l < 4; l++) {
        assert_int_equal(p.spent[l][BLAME_PEER], l % 2 ? 0 : 190019000 - 20007000 - gathered);
        assert_int_equal(p.spent[l][BLAME_EXPOSED_DP], reduced + (l % 2 ? gathered : 2 * gathered));
        assert_int_equal(p.spent[l][BLAME_EXPOSED_TP], norm);
    }
}

// Queues, reversed phases and what is listened to do not show, also when ranks differ and many things happen at once.
static void the_order_of_events_does_not_show(void **state)
{
    (void)state;
    for (int grain = GRAIN_STREAMS; grain <= GRAIN_MESSAGES; grain++) {
        job j = { .sizes = { 2, 4, 1, { 0 } }, .elements = { 4000000, 12345676 } };
        for (rank_id r = 0; r < 8; r++)
            j.ranks[r] = healthy;
        j.ranks[1].forward = j.ranks[6].forward = 230011000; // two equally late
        j.ranks[5].piece[1] = j.ranks[0].piece[1] = 180007000;
        j.ranks[3].optimizer = 50021000;
        play_options o = options_of(&j, 2, SHARDING_ZERO_1, true);
        o.steps = 3;
        o.grain = (collective_grain)grain;
        const played first = play(&o);
        for (int kind = QUEUE_BUCKET; kind <= QUEUE_HEAP; kind++)
            for (int i = 0; i < 4; i++) {
                o.queue = (queue_kind)kind;
                o.reverse = i % 2;
                o.quiet = i / 2;
                const played other = play(&o);
                assert_played_same(&first, &other);
                assert_memory_equal(first.spent, other.spent, sizeof first.spent);
            }
        j.ranks[3].optimizer += 1000;
        assert_true(play(&o).digest != first.digest);
    }
}

static void listeners_are_told_of_everything(void **state)
{
    (void)state;
    const job j = four_replicas();
    play_options o = options_of(&j, 1, SHARDING_ZERO_1, true);
    o.steps = 3;
    played p = play(&o);
    // per lane: forward, 2 pieces, optimizer, 2 reductions, norm, 2 gathers
    assert_int_equal(p.spans, 3 * 4 * 9);
    assert_int_equal(p.collectives, 3 * 5);
    assert_int_equal(p.transfers, 3 * 5 * 4); // an edge of the ring each
    assert_int_equal(p.counted.spans, 4 * 9);
    assert_int_equal(p.counted.collectives, 5);
    assert_int_equal(p.counted.transfers, 5 * 4);
    const uint64_t elements = j.elements[0] + j.elements[1];
    // reduce-scatter and all-gather (n - 1) S, the norm 2 (n - 1) S
    assert_int_equal(p.transfer_bytes,
                     3 * (3 * elements * (PLAY_GRADIENT_BYTES + PLAY_PARAMETER_BYTES) + 6 * 4));
    assert_int_equal(p.network_bytes, p.transfer_bytes);
    assert_int_equal(p.programmed_bytes, p.transfer_bytes);

    o.stop_after = 2;
    p = play(&o);
    assert_int_equal(p.steps, 2);
}

static void a_replica_alone_only_computes(void **state)
{
    (void)state;
    const job j = { .sizes = { 1, 1, 1, { 0 } }, .elements = { 5, 6 }, .ranks = { HEALTHY } };
    play_options o = options_of(&j, 7, SHARDING_NONE, true);
    o.steps = 2;
    const played p = play(&o);
    assert_int_equal(p.step_ps[1],
                     7 * (healthy.forward + healthy.piece[0] + healthy.piece[1]) + healthy.optimizer);
    assert_int_equal(p.collectives + p.transfers, 0);
    assert_int_equal(p.spans, 2 * (3 * 7 + 1));
}

static void who_waits_is_named(void **state)
{
    (void)state;
    job j = four_replicas();
    j.ranks[0].piece[0] = 1000000;
    j.ranks[0].launch = j.ranks[0].recompute = 0;
    play_options o = options_of(&j, 1, SHARDING_NONE, true);
    o.limit = 1;
    assert_string_equal(play(&o).waiting, "rank 0 of stage 0 works in step 0, forward of micro-batch 0");
    o.limit =
        320000000; // rank 0 is in its second piece since 201.017 us, to 321.028 us; the others compute until 420.031 us
    assert_string_equal(play(&o).waiting, "rank 0 of stage 0 works in step 0, backward of micro-batch 0");
    o.limit = 330000000;
    assert_string_equal(play(&o).waiting, "rank 0 of stage 0 waits for its data-parallel group in step 0");

    j = four_replicas(); // gathers at the end, when the program is done
    j.elements[0] = 400000000;
    o = options_of(&j, 1, SHARDING_ZERO_1, true);
    o.limit = play(&o).step_ps[0] - 1;
    assert_string_equal(play(&o).waiting, "rank 0 of stage 0 waits for its data-parallel group in step 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_overlap_everything_adds_up),
        cmocka_unit_test(with_overlap_the_stream_is_a_chain),
        cmocka_unit_test(overlap_stays_between_its_bounds),
        cmocka_unit_test(parameters_are_gathered_beside_the_first_forward),
        cmocka_unit_test(one_slow_rank_by_hand),
        cmocka_unit_test(the_host_runs_ahead_within_a_pass),
        cmocka_unit_test(the_end_of_a_step_is_charged_along_the_last_lane),
        cmocka_unit_test(the_order_of_events_does_not_show),
        cmocka_unit_test(listeners_are_told_of_everything),
        cmocka_unit_test(a_replica_alone_only_computes),
        cmocka_unit_test(who_waits_is_named),
    };
    return cmocka_run_group_tests_name("step", tests, NULL, NULL);
}
