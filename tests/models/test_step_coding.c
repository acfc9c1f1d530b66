// SPDX-License-Identifier: GPL-3.0-or-later
// Steps whose gradients are reduced in another form: cast or compressed.
#include "tests/support/play.h"

// Two buckets, full after each half of the backward pass.
typedef struct coded_job {
    bool in_pass; // encoded there: a piece before each bucket
    uint64_t elements[2];
    gradient_tensor matrices[2];
    sim_time coding_ps[CODING_STEPS];
} coded_job;

enum { FORWARD_PS = 200017000, HALF_PS = 100003000, OPTIMIZER_PS = 20007000 };

static void fill(const void *owner, parallel_place place, play_rank *out)
{
    const coded_job *j = owner;
    play_chunk *chunk = &out->chunks[0];
    (void)place;
    *chunk = (play_chunk){ .forward = { PLAY_WORK(FORWARD_PS) }, .forward_count = 1 };
    memcpy(chunk->coding_ps, j->coding_ps, sizeof j->coding_ps);
    for (int i = 0; i < 2; i++) {
        chunk->backward[chunk->backward_count++] = PLAY_WORK(HALF_PS);
        play_piece encode = PLAY_WORK(j->coding_ps[CODING_ENCODE]);
        encode.work.codes = true;
        if (j->in_pass) chunk->backward[chunk->backward_count++] = encode;
        play_piece bucket = PLAY_BUCKET(j->elements[i]);
        bucket.matrix = j->matrices[i];
        chunk->backward[chunk->backward_count++] = bucket;
    }
    out->optimizer = (work){ .gpu_ps = OPTIMIZER_PS };
}

static play_options options_of(const coded_job *j, gradient_coding coding)
{
    return (play_options){ .sizes = { .tensor = 1, .data = 4, .pipeline = 1 },
                           .schedule = { .kind = SCHEDULE_1F1B, .micro_batches = 1 },
                           .fill = fill,
                           .owner = j,
                           .program = { .overlap_gradients = j->in_pass, .coding = coding },
                           .steps = 2 };
}

static void assert_step(const played *p, sim_time want, sim_time coding)
{
    const sim_time compute = FORWARD_PS + 2 * HALF_PS + OPTIMIZER_PS;
    for (uint32_t i = 0; i < p->steps; i++)
        assert_int_equal(p->step_ps[i], want);
    for (lane_id l = 0; l < 4; l++)
        assert_spent(p, l,
                     (sim_time[BLAME_CAUSES]){ [BLAME_FORWARD] = FORWARD_PS,
                                               [BLAME_BACKWARD] = 2 * HALF_PS,
                                               [BLAME_OPTIMIZER] = OPTIMIZER_PS,
                                               [BLAME_CODING] = coding,
                                               [BLAME_EXPOSED_DP] = want - compute - coding });
    assert_int_equal(p->transfer_bytes, p->programmed_bytes);
}

// Behind the pass: while a bucket is reduced the next one is cast, and the one before it is cast back. With R_0 and R_1 the
// reductions of half of the bytes, both longer than a cast e and a cast back d:  e + R_0 + R_1 + d.
static void casts_go_on_beside_reductions(void **state)
{
    (void)state;
    const coded_job j = { .elements = { 40000000, 12345676 }, .coding_ps = { 30011000, 0, 31013000 } };
    const play_options o = options_of(&j, (gradient_coding){ .kind = CODING_CAST, .reduced = DTYPE_BF16 });
    const sim_time e = j.coding_ps[CODING_ENCODE], d = j.coding_ps[CODING_DECODE];
    const sim_time reduced = play_ring_ps(COLLECTIVE_ALL_REDUCE, 4, 80000000) +
                             play_ring_ps(COLLECTIVE_ALL_REDUCE, 4, 24691352);
    const played p = play(&o);
    assert_step(&p, FORWARD_PS + 2 * HALF_PS + e + reduced + d + OPTIMIZER_PS, 2 * (e + d));
    assert_int_equal(p.programmed_bytes,
                     2 * (2 * 3 * UINT64_C(104691352))); // steps x 2 (n - 1) S, of all replicas
}

// In the pass: the first reduction hides behind the second half and its cast; the second one is exposed, and what is cast back
// of the first bucket hides behind it.
static void casts_in_the_pass_take_its_time(void **state)
{
    (void)state;
    const coded_job j = { .in_pass = true,
                          .elements = { 4000000, 12345676 },
                          .coding_ps = { 30011000, 0, 31013000 } };
    const play_options o = options_of(&j, (gradient_coding){ .kind = CODING_CAST, .reduced = DTYPE_BF16 });
    const sim_time e = j.coding_ps[CODING_ENCODE], d = j.coding_ps[CODING_DECODE];
    const sim_time first = play_ring_ps(COLLECTIVE_ALL_REDUCE, 4, 8000000);
    const sim_time second = play_ring_ps(COLLECTIVE_ALL_REDUCE, 4, 24691352);
    assert_true(first < HALF_PS + e && second > d);
    const played p = play(&o);
    assert_step(&p, FORWARD_PS + 2 * (HALF_PS + e) + second + d + OPTIMIZER_PS, 2 * (e + d));
}

// Rank 4: P of 160,000 and Q of 64,000 bytes, P of 64,000 and Q of 49,376. Recoding takes longer than any reduction, so both
// of the first bucket and the P of the second hide:  e + P_0 + 2 c + Q_1 + d.
static void factors_are_reduced_in_turn(void **state)
{
    (void)state;
    const coded_job j = { .elements = { 40000000, 12344000 },
                          .matrices = { { 10000, 4000 }, { 4000, 3086 } },
                          .coding_ps = { 10007000, 90017000, 10009000 } };
    const play_options o = options_of(&j, (gradient_coding){ .kind = CODING_POWERSGD, .rank = 4 });
    const sim_time e = j.coding_ps[CODING_ENCODE], c = j.coding_ps[CODING_RECODE],
                   d = j.coding_ps[CODING_DECODE];
    const sim_time first = play_ring_ps(COLLECTIVE_ALL_REDUCE, 4, 160000);
    const sim_time last = play_ring_ps(COLLECTIVE_ALL_REDUCE, 4, 49376);
    assert_true(first > e && first < c && last > d);
    const played p = play(&o);
    assert_step(&p, FORWARD_PS + 2 * HALF_PS + e + first + 2 * c + last + d + OPTIMIZER_PS, 2 * (e + c + d));
    assert_int_equal(p.programmed_bytes, 2 * 2 * 3 * (160000 + 64000 + 64000 + 49376));
}

// Gathered from all four: 4 x 400,000 x 8 and 4 x 123,457 x 8 bytes.
static void greatest_values_are_gathered(void **state)
{
    (void)state;
    const coded_job j = { .elements = { 40000000, 12345676 }, .coding_ps = { 10007000, 0, 10009000 } };
    const play_options o = options_of(&j, (gradient_coding){ .kind = CODING_TOP_K, .ratio = 0.01 });
    const sim_time e = j.coding_ps[CODING_ENCODE], d = j.coding_ps[CODING_DECODE];
    const sim_time gathered = play_ring_ps(COLLECTIVE_ALL_GATHER, 4, 12800000) +
                              play_ring_ps(COLLECTIVE_ALL_GATHER, 4, 3950624);
    const played p = play(&o);
    assert_step(&p, FORWARD_PS + 2 * HALF_PS + e + gathered + d + OPTIMIZER_PS, 2 * (e + d));
}

// All that is asked for moves, and the order in which events of one instant are handled does not show.
static void shares_are_exchanged(void **state)
{
    (void)state;
    const coded_job j = { .in_pass = true,
                          .elements = { 40000000, 12345676 },
                          .coding_ps = { 10007000, 5003000, 10009000 } };
    for (int sharding = SHARDING_NONE; sharding <= SHARDING_ZERO_1; sharding++) {
        play_options o = options_of(&j,
                                    (gradient_coding){ .kind = CODING_QUANTIZE, .bits = 8, .block = 2048 });
        o.program.sharding = sharding;
        const played p = play(&o);
        assert_int_equal(p.transfer_bytes, p.programmed_bytes);
        const sim_time coded = 2 * (10007000 + 10009000 + (sharding == SHARDING_NONE ? 5003000 : 0));
        assert_int_equal(p.spent[0][BLAME_CODING], coded);
        o.reverse = true;
        o.queue = QUEUE_HEAP;
        const played again = play(&o);
        assert_played_same(&p, &again);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(casts_go_on_beside_reductions),
                                        cmocka_unit_test(casts_in_the_pass_take_its_time),
                                        cmocka_unit_test(factors_are_reduced_in_turn),
                                        cmocka_unit_test(greatest_values_are_gathered),
                                        cmocka_unit_test(shares_are_exchanged) };
    return cmocka_run_group_tests_name("step_coding", tests, NULL, NULL);
}
