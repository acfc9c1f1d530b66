// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "models/training/step.h"
#include "sim/array.h"
#include "tests/support/fabric.h"
#include "tests/support/nccl_terms.h"

enum { LANES_MAX = 8, STEPS_MAX = 4, GRADIENT_BYTES = 4, PARAMETER_BYTES = 2 };

// What a lane computes; launch and recompute are part of the forward and of each backward time.
typedef struct times {
    sim_time forward, piece[2], optimizer, launch, recompute;
} times;

typedef struct play_options {
    parallel_sizes sizes;
    bool fold;
    uint32_t micro_batches, steps;
    int sharding;
    bool overlap;
    uint64_t elements[2]; // of the bucket that is full after each piece
    times lanes[LANES_MAX];
    queue_kind queue;
    bool reverse, quiet; // quiet: no spans, collectives and transfers are asked for
    collective_grain grain;
    uint32_t stop_after; // steps; 0: never
    sim_time limit;      // 0: none
} play_options;

typedef struct played {
    uint64_t digest;
    uint32_t steps, spans, collectives, transfers;
    sim_time step_ps[STEPS_MAX];
    sim_time spent[LANES_MAX][BLAME_CAUSES]; // of the last step
    uint64_t transfer_bytes;
    uint32_t lanes, stop_after;
    sim_time last_end;
    char waiting[128];
} played;

static void on_span(void *owner, const step_span *span)
{
    played *p = owner;
    p->spans++;
    assert_true(span->start_ps <= span->end_ps && span->start_ps >= p->last_end);
    assert_int_equal(span->op->kind == OP_COLLECTIVE, span->work == NULL);
    if (span->work) assert_int_equal(span->end_ps - span->start_ps, span->work->duration_ps);
}

static void on_collective(void *owner, const step_collective *told)
{
    played *p = owner;
    p->collectives++;
    assert_int_equal(told->step, p->steps);
}

static void on_transfer(void *owner, uint32_t step, const group_def *group, const collective_transfer *moved)
{
    played *p = owner;
    p->transfers++;
    p->transfer_bytes += moved->bytes * group->multiplicity;
    assert_int_equal(step, p->steps);
}

static bool on_step(void *owner, const step_end *end)
{
    played *p = owner;
    assert_int_equal(end->step, p->steps);
    assert_int_equal(end->start_ps, p->last_end);
    p->last_end = end->end_ps;
    p->step_ps[p->steps++] = end->end_ps - end->start_ps;
    for (lane_id l = 0; l < p->lanes; l++) {
        memcpy(p->spent[l], blame_of_lane(end->accounts, l), sizeof p->spent[l]);
        sim_time sum = 0; // conservation, again
        for (int cause = 0; cause < BLAME_CAUSES; cause++)
            sum += p->spent[l][cause];
        assert_int_equal(sum, end->end_ps - end->start_ps);
    }
    return p->steps != p->stop_after;
}

static work work_of(sim_time duration, const times *t)
{
    return (work){ .duration_ps = duration, .launch_ps = t->launch, .bytes = 1.0 };
}

static void fill_costs(arena *a, const play_options *o, const times *t, pass_costs *out)
{
    work *pieces = arena_array(a, work, 2);
    gradient_bucket *buckets = arena_array(a, gradient_bucket, 2);
    for (uint32_t i = 0; i < 2; i++) {
        pieces[i] = work_of(t->piece[i], t);
        pieces[i].recompute_ps = t->recompute;
        buckets[i] = (gradient_bucket){ .elements = o->elements[i], .piece = i };
    }
    *out = (pass_costs){ .forward = work_of(t->forward, t),
                         .pieces = pieces,
                         .piece_count = 2,
                         .buckets = buckets,
                         .bucket_count = 2,
                         .optimizer = (work){ .duration_ps = t->optimizer } };
    out->backward = (work){ .duration_ps = t->piece[0] + t->piece[1],
                            .launch_ps = 2 * t->launch,
                            .recompute_ps = 2 * t->recompute,
                            .bytes = 2.0 };
}

static step_settings settings_of(arena *a, const topology *fabric, const play_options *o, played *out)
{
    lane_table *table = arena_new(a, lane_table);
    program *p = arena_new(a, program);
    const uint32_t ranks = parallel_ranks(o->sizes);
    double *healthy = arena_array(a, double, ranks);
    for (rank_id r = 0; r < ranks; r++)
        healthy[r] = 1.0;
    lanes_build(a, o->sizes, o->fold, (gpu_health){ healthy, healthy }, table);
    out->lanes = table->count;
    vertex_id *vertices = arena_array(a, vertex_id, table->count);
    const pass_costs **costs_of_lane = arena_array(a, const pass_costs *, table->count);
    for (lane_id l = 0; l < table->count; l++) {
        pass_costs *costs = arena_new(a, pass_costs);
        fill_costs(a, o, &o->lanes[table->lanes[l].first_rank], costs);
        costs_of_lane[l] = costs;
        vertices[l] = topology_gpu_vertex(fabric, table->lanes[l].first_rank);
    }
    program_build(a, costs_of_lane[0],
                  &(program_settings){ .micro_batches = o->micro_batches,
                                       .data = o->sizes.data,
                                       .sharding = o->sharding,
                                       .overlap_gradients = o->overlap,
                                       .gradient_bytes = GRADIENT_BYTES,
                                       .parameter_bytes = PARAMETER_BYTES },
                  p);
    return (step_settings){ .lanes = table,
                            .vertex_of_lane = vertices,
                            .program = p,
                            .costs_of_lane = costs_of_lane,
                            .terms = &test_terms,
                            .grain = o->grain,
                            .forced_protocol = PROTOCOL_SIMPLE,
                            .steps = o->steps,
                            .tokens_per_step = 4242 };
}

static played play(const play_options *o)
{
    arena *a = arena_create("test");
    played out = { .stop_after = o->stop_after };
    sim *s = sim_create(a, &(sim_options){ .queue = o->queue, .reverse_phases = o->reverse });
    const topology *fabric = test_fabric(a, 1, WIRING_SWITCH, SCALE_UP_MBPS, CABLE_MBPS);
    network *n = network_create_ideal(a, s, fabric);
    step_settings settings = settings_of(a, fabric, o, &out);
    settings.listener = (step_listener){ .on_step = on_step, .owner = &out };
    if (!o->quiet) {
        settings.listener.on_span = on_span;
        settings.listener.on_collective = on_collective;
        settings.listener.on_transfer = on_transfer;
    }
    step_player *p = step_player_create(a, s, n, &settings);
    step_player_start(p);
    assert_false(step_player_is_finished(p));
    sim_run(s, o->limit ? o->limit : SIM_TIME_MAX);
    assert_int_equal(step_player_steps_done(p), out.steps);
    assert_true(step_player_is_finished(p) == !o->limit);
    step_player_describe_wait(p, out.waiting, sizeof out.waiting);
    if (!o->limit) assert_int_equal(collectives_open_count(step_player_collectives(p)), 0);
    network_verify(n);
    out.digest = sim_digest(s);
    sim_destroy(s);
    arena_destroy(a);
    return out;
}

// A ring on one node by the "simple" protocol: base + steps hop + steps S / n / B, rounded up. n divides S.
static sim_time ring_ps(collective_kind kind, uint32_t ranks, uint64_t bytes)
{
    const uint64_t steps = (kind == COLLECTIVE_ALL_REDUCE ? 2 : 1) * (ranks - 1);
    assert_int_equal(bytes % ranks, 0);
    const unsigned __int128 scaled = (unsigned __int128)(steps * bytes / ranks) * UINT64_C(1000000000000000);
    return 8419000 + (sim_time)steps * 3407000 + (sim_time)((scaled + SCALE_UP_MBPS - 1) / SCALE_UP_MBPS);
}

static sim_time reduce_ps(const play_options *o, uint32_t i)
{
    return ring_ps(o->sharding == SHARDING_ZERO_1 ? COLLECTIVE_REDUCE_SCATTER : COLLECTIVE_ALL_REDUCE,
                   o->sizes.data, o->elements[i] * GRADIENT_BYTES);
}

static sim_time gather_ps(const play_options *o, uint32_t i)
{
    return ring_ps(COLLECTIVE_ALL_GATHER, o->sizes.data, o->elements[i] * PARAMETER_BYTES);
}

static void assert_spent(const played *p, lane_id lane, const sim_time want[BLAME_CAUSES])
{
    for (int cause = 0; cause < BLAME_CAUSES; cause++)
        if (p->spent[lane][cause] != want[cause])
            fail_msg("lane %u, %s: got %lld ps, want %lld ps", lane, blame_cause_words[cause],
                     (long long)p->spent[lane][cause], (long long)want[cause]);
}

#define HEALTHY                                                                                              \
    {                                                                                                        \
        .forward = 200017000, .piece = { 100003000, 120011000 }, .optimizer = 20007000, .launch = 1003000,   \
        .recompute = 2011000                                                                                 \
    }
static const times healthy = HEALTHY;

static play_options four_replicas(void)
{
    return (play_options){ .sizes = { 1, 4, 1 },
                           .micro_batches = 1,
                           .steps = 1,
                           .overlap = true,
                           .elements = { 40000000, 12345676 },
                           .lanes = { HEALTHY, HEALTHY, HEALTHY, HEALTHY } };
}

// m (f + b) + collectives + optimizer, to the picosecond; all of the collectives is exposed.
static void without_overlap_everything_adds_up(void **state)
{
    (void)state;
    for (int sharding = SHARDING_NONE; sharding <= SHARDING_ZERO_1; sharding++) {
        play_options o = four_replicas();
        o.overlap = false;
        o.micro_batches = 3;
        o.steps = 2;
        o.sharding = sharding;
        sim_time communication = reduce_ps(&o, 0) + reduce_ps(&o, 1);
        if (sharding == SHARDING_ZERO_1)
            communication += ring_ps(COLLECTIVE_ALL_REDUCE, 4, 4) + gather_ps(&o, 0) + gather_ps(&o, 1);
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
    play_options o = four_replicas();
    o.elements[0] = 400000; // 52 us, done before the second piece
    played p = play(&o);
    const sim_time compute = healthy.forward + healthy.piece[0] + healthy.piece[1];
    assert_true(reduce_ps(&o, 0) < healthy.piece[1]);
    assert_int_equal(p.step_ps[0], compute + reduce_ps(&o, 1) + healthy.optimizer);
    assert_int_equal(p.spent[2][BLAME_EXPOSED_DP], reduce_ps(&o, 1));
    assert_int_equal(p.spent[2][BLAME_PEER] + p.spent[2][BLAME_OTHER], 0);

    o = four_replicas(); // the first takes 586 us: the second starts at its end
    p = play(&o);
    const sim_time first_end = healthy.forward + healthy.piece[0] + reduce_ps(&o, 0);
    assert_true(first_end > compute);
    assert_int_equal(p.step_ps[0], first_end + reduce_ps(&o, 1) + healthy.optimizer);
    assert_int_equal(p.spent[0][BLAME_EXPOSED_DP], first_end + reduce_ps(&o, 1) - compute);
    assert_int_equal(p.spent[0][BLAME_PEER] + p.spent[0][BLAME_OTHER], 0);
}

// Overlap never makes a step slower than the sum of its parts, nor faster than the longer of its streams.
static void overlap_stays_between_its_bounds(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= 20; i++) {
        play_options o = four_replicas();
        o.elements[0] = 4000004 * i;
        o.elements[1] = 4 * (i * 2654435761u % 9999991);
        const sim_time overlapped = play(&o).step_ps[0];
        o.overlap = false;
        const sim_time apart = play(&o).step_ps[0];
        const sim_time communication = reduce_ps(&o, 0) + reduce_ps(&o, 1);
        const sim_time compute = apart - communication;
        assert_true(overlapped <= apart);
        assert_true(overlapped >= compute && overlapped >= communication + healthy.optimizer);
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
    play_options o = four_replicas();
    o.elements[0] = 400000;
    const times slow = { .forward = 300025500,
                         .piece = { 150004500, 180016500 },
                         .optimizer = 30010500,
                         .launch = 1003000,
                         .recompute = 2011000 };
    o.lanes[2] = slow;
    const sim_time t1 = reduce_ps(&o, 0), t2 = reduce_ps(&o, 1);
    assert_true(450030000 + t1 < 630046500);
    const played p = play(&o);
    assert_int_equal(p.step_ps[0], 630046500 + t2 + 30010500);
    for (lane_id l = 0; l < 4; l++) {
        if (l == 2) continue;
        assert_spent(&p, l,
                     (sim_time[BLAME_CAUSES]){ [BLAME_FORWARD] = 200017000 - 1003000,
                                               [BLAME_BACKWARD] = 220014000 - 2006000 - 4022000,
                                               [BLAME_RECOMPUTE] = 4022000,
                                               [BLAME_OPTIMIZER] = 20007000,
                                               [BLAME_LAUNCH] = 3009000,
                                               [BLAME_PEER] = (450030000 - 420031000) +
                                                              (630046500 - 450030000 - t1) + 10003500,
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

// Two data-parallel groups, ranks {0, 2} and {1, 3}; the second has a slower optimizer. At the end the first group waits for
// the second: while that computes for a peer, and while that gathers its parameters along with it.
static void the_end_of_a_step_is_charged_along_the_last_lane(void **state)
{
    (void)state;
    play_options o = { .sizes = { 2, 2, 1 },
                       .micro_batches = 1,
                       .steps = 1,
                       .sharding = SHARDING_ZERO_1,
                       .elements = { 4000002, 6000004 },
                       .lanes = { HEALTHY, HEALTHY, HEALTHY, HEALTHY } };
    o.lanes[1].optimizer = o.lanes[3].optimizer = 90019000;
    const played p = play(&o);
    const sim_time reduced = reduce_ps(&o, 0) + reduce_ps(&o, 1) + ring_ps(COLLECTIVE_ALL_REDUCE, 2, 4);
    const sim_time gathered = gather_ps(&o, 0) + gather_ps(&o, 1);
    const sim_time before = healthy.forward + healthy.piece[0] + healthy.piece[1] + reduced;
    assert_int_equal(p.step_ps[0], before + 90019000 + gathered);
    assert_true(gathered < 90019000 - 20007000); // the first group is done before the second begins to gather
    for (lane_id l = 0; l < 4; l++) {
        assert_int_equal(p.spent[l][BLAME_OTHER], 0);
        assert_int_equal(p.spent[l][BLAME_PEER], l % 2 ? 0 : 90019000 - 20007000 - gathered);
        assert_int_equal(p.spent[l][BLAME_EXPOSED_DP], reduced + (l % 2 ? gathered : 2 * gathered));
    }
}

static void assert_same(const played *x, const played *y)
{
    assert_true(x->digest == y->digest);
    assert_memory_equal(x->step_ps, y->step_ps, sizeof x->step_ps);
    assert_memory_equal(x->spent, y->spent, sizeof x->spent);
}

// Queues, reversed phases and what is listened to do not show, also when ranks differ and many things happen at once.
static void the_order_of_events_does_not_show(void **state)
{
    (void)state;
    for (int grain = GRAIN_STREAMS; grain <= GRAIN_MESSAGES; grain++) {
        play_options o = { .sizes = { 2, 4, 1 },
                           .micro_batches = 2,
                           .steps = 3,
                           .sharding = SHARDING_ZERO_1,
                           .overlap = true,
                           .grain = (collective_grain)grain,
                           .elements = { 4000000, 12345676 } };
        for (rank_id r = 0; r < 8; r++)
            o.lanes[r] = healthy;
        o.lanes[1].forward = o.lanes[6].forward = 230011000; // two equally late
        o.lanes[5].piece[1] = o.lanes[0].piece[1] = 180007000;
        o.lanes[3].optimizer = 50021000;
        const played first = play(&o);
        for (int kind = QUEUE_BUCKET; kind <= QUEUE_HEAP; kind++)
            for (int i = 0; i < 4; i++) {
                o.queue = (queue_kind)kind;
                o.reverse = i % 2;
                o.quiet = i / 2;
                const played other = play(&o);
                assert_same(&first, &other);
            }
        o.lanes[3].optimizer += 1000;
        assert_true(play(&o).digest != first.digest);
    }
}

// A lane that stands for two ranks gives the records of two.
static void folding_does_not_show(void **state)
{
    (void)state;
    for (uint32_t data = 1; data <= 4; data++) {
        play_options o = { .sizes = { 2, data, 1 },
                           .micro_batches = 2,
                           .steps = 2,
                           .overlap = true,
                           .elements = { 4000008, 12345684 } };
        for (rank_id r = 0; r < 8; r++)
            o.lanes[r] = healthy;
        const played unfolded = play(&o);
        o.fold = true;
        const played folded = play(&o);
        assert_int_equal(unfolded.lanes, 2 * data);
        assert_int_equal(folded.lanes, data);
        assert_true(folded.digest == unfolded.digest);
        assert_memory_equal(folded.step_ps, unfolded.step_ps, sizeof folded.step_ps);
        assert_int_equal(folded.transfer_bytes, unfolded.transfer_bytes);
    }
}

static void listeners_are_told_of_everything(void **state)
{
    (void)state;
    play_options o = four_replicas();
    o.steps = 3;
    o.sharding = SHARDING_ZERO_1;
    played p = play(&o);
    // per lane: forward, 2 pieces, optimizer, 2 reductions, norm, 2 gathers
    assert_int_equal(p.spans, 3 * 4 * 9);
    assert_int_equal(p.collectives, 3 * 5);
    assert_int_equal(p.transfers, 3 * 5 * 4); // an edge of the ring each
    const uint64_t elements = o.elements[0] + o.elements[1];
    // reduce-scatter and all-gather (n - 1) S, the norm 2 (n - 1) S
    assert_int_equal(p.transfer_bytes, 3 * (3 * elements * (GRADIENT_BYTES + PARAMETER_BYTES) + 6 * 4));

    o.stop_after = 2;
    p = play(&o);
    assert_int_equal(p.steps, 2);
}

static void a_replica_alone_only_computes(void **state)
{
    (void)state;
    play_options o = { .sizes = { 1, 1, 1 },
                       .micro_batches = 7,
                       .steps = 2,
                       .overlap = true,
                       .elements = { 5, 6 },
                       .lanes = { HEALTHY } };
    const played p = play(&o);
    assert_int_equal(p.step_ps[1],
                     7 * (healthy.forward + healthy.piece[0] + healthy.piece[1]) + healthy.optimizer);
    assert_int_equal(p.collectives + p.transfers, 0);
    assert_int_equal(p.spans, 2 * 15);
}

static void who_waits_is_named(void **state)
{
    (void)state;
    play_options o = four_replicas();
    o.lanes[0].piece[0] = 1000;
    o.limit =
        320000000; // rank 0 is in its reduction since 200.018 us and in its second piece; the others compute
    assert_string_equal(play(&o).waiting, "rank 0 waits in \"gradient all-reduce\" in step 0");
    o.limit = 1;
    assert_string_equal(play(&o).waiting, "rank 0 waits in \"forward\" in step 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_overlap_everything_adds_up),
        cmocka_unit_test(with_overlap_the_stream_is_a_chain),
        cmocka_unit_test(overlap_stays_between_its_bounds),
        cmocka_unit_test(one_slow_rank_by_hand),
        cmocka_unit_test(the_end_of_a_step_is_charged_along_the_last_lane),
        cmocka_unit_test(the_order_of_events_does_not_show),
        cmocka_unit_test(folding_does_not_show),
        cmocka_unit_test(listeners_are_told_of_everything),
        cmocka_unit_test(a_replica_alone_only_computes),
        cmocka_unit_test(who_waits_is_named),
    };
    return cmocka_run_group_tests_name("step", tests, NULL, NULL);
}
