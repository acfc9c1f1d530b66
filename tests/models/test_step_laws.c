// SPDX-License-Identifier: GPL-3.0-or-later
// Laws of steps, on jobs made up at random: time and bytes are kept, and neither the order of events at one instant nor what is
// played instead of what shows in any result. A failure names its seed.
#include "tests/support/play.h"

#include "tests/support/random.h"

enum { SEEDS = 60 };

typedef struct random_job {
    uint64_t seed;
    uint32_t chunks, tensor;
    bool alike; // ranks of a tensor-parallel group compute the same, so that it may be one lane
} random_job;

static sim_time random_time(uint64_t *state)
{
    return 1000 + (sim_time)test_random_below(state, 40000) * 1000;
}

static uint64_t random_bytes(uint64_t *state) // 2, 3 and 4 ranks share it evenly
{
    return 12 * (uint64_t)(1 + test_random_below(state, 100000));
}

static play_piece random_call(uint64_t *state)
{
    static const collective_kind kinds[] = { COLLECTIVE_ALL_REDUCE, COLLECTIVE_REDUCE_SCATTER,
                                             COLLECTIVE_ALL_GATHER };
    const collective_kind kind = kinds[test_random_below(state, ARRAY_COUNT(kinds))];
    return PLAY_TENSOR(kind, random_bytes(state));
}

// shape: the same in all lanes of a stage; times: by replica, and unless they are alike by rank.
static play_piece random_work(uint64_t *times)
{
    play_piece piece = PLAY_WORK(random_time(times));
    if (test_random_below(times, 3) == 0) piece.work.host_ps = random_time(times) * 2;
    if (test_random_below(times, 4) == 0) piece.work.recompute_ps = piece.work.gpu_ps / 2;
    return piece;
}

// Work, and perhaps a collective with or without work beside it.
static void add_some(const random_job *j, play_piece *pieces, uint32_t *count, uint64_t *shape,
                     uint64_t *times)
{
    pieces[(*count)++] = random_work(times);
    if (j->tensor == 1 || test_random_below(shape, 3) == 0) return;
    pieces[(*count)++] = random_call(shape);
    if (test_random_below(shape, 2)) pieces[(*count)++] = random_work(times);
    pieces[(*count)++] = PLAY_JOIN;
}

static void fill_at_random(const void *owner, parallel_place place, play_rank *out)
{
    const random_job *j = owner;
    uint64_t times = j->seed * 1000003 + place.pipeline * 101 + place.data * 10007 +
                     (j->alike ? 0 : place.tensor * 7);
    for (uint32_t c = 0; c < j->chunks; c++) {
        uint64_t shape = j->seed * 999983 + place.pipeline * 103 + c;
        play_chunk *chunk = &out->chunks[c];
        const bool two = test_random_below(&shape, 2);
        if (two) chunk->forward[chunk->forward_count++] = PLAY_NEEDS(1);
        add_some(j, chunk->forward, &chunk->forward_count, &shape, &times);
        chunk->forward[chunk->forward_count++] = PLAY_NEEDS(0);
        add_some(j, chunk->forward, &chunk->forward_count, &shape, &times);
        add_some(j, chunk->backward, &chunk->backward_count, &shape, &times);
        chunk->backward[chunk->backward_count++] = PLAY_BUCKET(random_bytes(&shape));
        add_some(j, chunk->backward, &chunk->backward_count, &shape, &times);
        if (two) chunk->backward[chunk->backward_count++] = PLAY_BUCKET(random_bytes(&shape));
        chunk->norm_elements = 12 * test_random_below(&shape, 50);
    }
    out->optimizer = (work){ .gpu_ps = random_time(&times) };
}

static program_settings random_program(uint64_t *r)
{
    program_settings s = {
        .sharding = test_random_below(r, 2) ? SHARDING_ZERO_1 : SHARDING_NONE,
        .sequence_parallel = test_random_below(r, 2),
        .scatter_gather = test_random_below(r, 2),
        .overlap_gradients = test_random_below(r, 2),
        .overlap_pipeline = test_random_below(r, 3) > 0,
        .tied_table = test_random_below(r, 2),
        .activation_bytes = 80000 + 12 * test_random_below(
                                             r, 50000), // no share goes by the protocol for short messages
        .table_elements = 12 * (1 + test_random_below(r, 9000)),
    };
    s.overlap_parameters = s.sharding == SHARDING_ZERO_1 && test_random_below(r, 2);
    return s;
}

// Nodes of four ranks. Unless data comes first, each tensor-parallel group is within one.
static play_options random_options(uint64_t seed, random_job *j)
{
    uint64_t r = seed;
    const uint32_t tensor = 1u << test_random_below(&r, 3), data = 1 + test_random_below(&r, 3);
    const uint32_t stages = 1 + test_random_below(&r, 4);
    const schedule_kind kind = stages == 1 ? SCHEDULE_1F1B : (schedule_kind)test_random_below(&r, 3);
    const bool interleaved = kind == SCHEDULE_INTERLEAVED_1F1B;
    const uint32_t chunks = interleaved ? 2 + test_random_below(&r, 2) : 1;
    const uint32_t micro_batches = interleaved ? stages * (1 + test_random_below(&r, 2))
                                               : 1 + test_random_below(&r, 5);
    *j = (random_job){
        .seed = seed, .chunks = chunks, .tensor = tensor, .alike = test_random_below(&r, 4) > 0
    };
    const program_settings program_ = random_program(&r);
    parallel_sizes sizes = { tensor, data, stages, { 0 } };
    static const char *const orders[] = { "tp-dp-pp", "tp-pp-dp", "dp-tp-pp" };
    parallel_order_read(orders[test_random_below(&r, ARRAY_COUNT(orders))], sizes.order);
    return (play_options){ .sizes = sizes,
                           .schedule = { kind, stages, micro_batches, chunks },
                           .fill = fill_at_random,
                           .owner = j,
                           .program = program_,
                           .restart_ps = program_.overlap_pipeline ? 0 : random_time(&r),
                           .steps = 2,
                           .nodes = (tensor * data * stages + 3) / 4,
                           .gpu_stride = 2,
                           .engine = test_random_below(&r, 2) ? ENGINE_FLUID : ENGINE_IDEAL,
                           .grain = test_random_below(&r, 3) ? GRAIN_STREAMS : GRAIN_MESSAGES };
}

static void assert_same(uint64_t seed, const char *what, const played *x, const played *y)
{
    if (x->digest != y->digest || x->step_ps[0] != y->step_ps[0] || x->step_ps[1] != y->step_ps[1] ||
        memcmp(x->total, y->total, sizeof x->total) != 0 || x->network_bytes != y->network_bytes)
        fail_msg("seed %u: %s shows: steps of %lld and %lld ps against %lld and %lld ps", (unsigned)seed,
                 what, (long long)x->step_ps[0], (long long)x->step_ps[1], (long long)y->step_ps[0],
                 (long long)y->step_ps[1]);
}

static bool blames_the_same(const played *x, const played *y)
{
    return memcmp(x->spent, y->spent, sizeof x->spent) == 0 &&
           memcmp(x->caused_peer, y->caused_peer, sizeof x->caused_peer) == 0 &&
           memcmp(x->caused_bubble, y->caused_bubble, sizeof x->caused_bubble) == 0;
}

// Causes add up to the step for each lane, and none is unknown (both asserted by play.h); bytes are those of the programs.
static void time_and_bytes_are_kept(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        random_job j;
        const play_options o = random_options(seed, &j);
        const played p = play(&o);
        if (p.network_bytes != p.programmed_bytes || p.transfer_bytes != p.programmed_bytes)
            fail_msg("seed %u: %llu bytes delivered, %llu programmed", (unsigned)seed,
                     (unsigned long long)p.network_bytes, (unsigned long long)p.programmed_bytes);
        assert_int_equal(p.spans, 2 * p.counted.spans);
        assert_int_equal(p.collectives, 2 * p.counted.collectives);
        assert_int_equal(p.transfers, 2 * p.counted.transfers);
    }
}

static void the_order_of_events_does_not_show(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        random_job j;
        play_options o = random_options(seed, &j);
        o.quiet = true;
        const played first = play(&o);
        for (int kind = QUEUE_BUCKET; kind <= QUEUE_HEAP; kind++) {
            o.queue = (queue_kind)kind;
            o.reverse = kind != QUEUE_RADIX;
            const played other = play(&o);
            assert_same(seed, "the order of events", &first, &other);
            if (!blames_the_same(&first, &other))
                fail_msg("seed %u: the order of events shows in the blame", (unsigned)seed);
        }
    }
}

static void lanes_for_groups_do_not_show(void **state)
{
    (void)state;
    uint32_t folded_jobs = 0, alone_jobs = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        random_job j;
        play_options o = random_options(seed, &j);
        if (!j.alike || o.sizes.tensor == 1) continue;
        o.quiet = true;
        const played ranks = play(&o);
        o.fold = true;
        const played folded = play(&o);
        assert_same(seed, "folding", &ranks, &folded);
        folded_jobs += folded.was_folded;
        o.alone = true;
        const played alone = play(&o);
        assert_same(seed, "the time alone", &ranks, &alone);
        alone_jobs += alone.was_alone;
        if (!blames_the_same(&folded, &alone))
            fail_msg("seed %u: the time alone shows in the blame", (unsigned)seed);
    }
    assert_true(folded_jobs >= SEEDS / 4 && alone_jobs >= SEEDS / 8); // there was something to see
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_and_bytes_are_kept),
        cmocka_unit_test(the_order_of_events_does_not_show),
        cmocka_unit_test(lanes_for_groups_do_not_show),
    };
    return cmocka_run_group_tests_name("step_laws", tests, NULL, NULL);
}
