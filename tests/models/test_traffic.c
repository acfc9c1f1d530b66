// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "models/traffic/traffic.h"
#include "tests/support/fabric.h"
#include "tests/support/random.h"
#include <inttypes.h>

// Bare hosts on one switch: cables of 48.3 GB/s, 25.3 ns, the switch 230.7 ns: a path takes 281.3 ns.
enum { DONE_MAX = 40000 };

typedef struct stage {
    arena *a;
    sim *s;
    const topology *fabric;
    network *n;
    traffic_settings settings;
    traffic *t;
    uint32_t done_count;
    traffic_done done[DONE_MAX];
} stage;

static void note(void *owner, const traffic_done *done)
{
    stage *b = owner;
    assert_true(b->done_count < DONE_MAX);
    assert_true(done->end_ps == sim_now(b->s));
    b->done[b->done_count++] = *done;
}

static stage *stage_create(const topology *(*fabric)(arena *a, uint32_t hosts), uint32_t hosts,
                           const sim_options *options)
{
    arena *a = arena_create("test");
    stage *b = arena_new(a, stage);
    b->a = a;
    b->s = sim_create(a, options);
    b->fabric = fabric(a, hosts);
    b->n = network_create_ideal(a, b->s, b->fabric);
    vertex_id *ends = arena_array(a, vertex_id, hosts);
    const bool gpus = topology_gpu_count(b->fabric) > 0;
    for (uint32_t i = 0; i < hosts; i++)
        ends[i] = gpus ? topology_gpu_vertex(b->fabric, i) : topology_nic_vertex(b->fabric, i);
    b->settings = (traffic_settings){ .hosts = ends, .host_count = hosts, .on_done = note, .owner = b };
    return b;
}

static void play(stage *b)
{
    b->t = traffic_create(b->a, b->s, b->n, &b->settings);
    traffic_start(b->t);
    assert_int_equal(sim_run(b->s, SIM_TIME_MAX), SIM_DRAINED);
    network_verify(b->n);
}

static void stage_destroy(stage *b)
{
    sim_destroy(b->s);
    arena_destroy(b->a);
}

static const topology *bare_hosts(arena *a, uint32_t hosts)
{
    const node_wiring host = { .nics = 1 };
    const single_switch_def def = { .rate_mBps = CABLE_MBPS,
                                    .cable_delay_ps = 25300,
                                    .switch_delay_ps = 230700 };
    topology *t = topology_create(a);
    sim_error error = { 0 };
    for (uint32_t i = 0; i < hosts; i++)
        topology_add_node(t, &host);
    const bool built = topology_add_single_switch(t, &def, NULL, &error);
    topology_seal(t);
    SIM_ASSERT(built && topology_check(t, NULL, &error));
    return t;
}

// Two nodes of eight GPUs: ring neighbours are near (NVSwitch) or far (through the network).
static const topology *near_and_far(arena *a, uint32_t hosts)
{
    SIM_ASSERT(hosts == 16);
    return test_fabric(a, 2, WIRING_SWITCH, SCALE_UP_MBPS, CABLE_MBPS);
}

static sim_time alone_ps(const stage *b, uint32_t from, uint32_t to, uint64_t bytes)
{
    const path_facts path = topology_path_facts(b->fabric, b->settings.hosts[from], b->settings.hosts[to]);
    return path.delay_ps + units_wire_time_ps(bytes, path.rate_mBps);
}

// ---- a list

static void a_list_ends_as_by_hand(void **state)
{
    (void)state;
    stage *b = stage_create(bare_hosts, 5, NULL);
    traffic_flow flows[] = {
        { 1234000, 9173641, 0, 3 }, // 281300 + ceil(9173641 / 48.3e9 x 1e12) + 281300 = 190211756
        { 1234000, 0, 1, 3 },       // 281300
        { 7777000, 1023459, 3, 0 }, // 281300 + 21189628
        { 300000000, 77, 4, 2 },    // 281300 + 1595
    };
    b->settings.flows = (traffic_flow_array){ .items = flows, .count = 4, .capacity = 4 };
    play(b);
    const traffic_results *r = traffic_results_of(b->t);
    assert_true(r->flows == 4 && r->started == 4 && r->finished == 4);
    assert_true(r->bytes == 9173641 + 1023459 + 77);
    // In the order of their ends: 1, 2, 0, 3.
    static const uint64_t order[] = { 1, 2, 0, 3 };
    static const sim_time ends_ps[] = { 1515300, 29247928, 191445756, 300282895 };
    assert_int_equal(b->done_count, 4);
    for (int i = 0; i < 4; i++) {
        assert_true(b->done[i].flow == order[i]);
        assert_true(b->done[i].end_ps == ends_ps[i]);
        assert_true(b->done[i].start_ps == flows[order[i]].start_ps);
        assert_int_equal(b->done[i].to, flows[order[i]].to);
    }
    assert_true(r->completion_first_ps == 1515300 && r->completion_last_ps == 300282895);
    assert_true((uint64_t)r->completion_sum_ps == 522491879);
    assert_true(r->duration_least_ps == 281300 && r->duration_greatest_ps == 190211756);
    assert_true((uint64_t)r->duration_sum_ps == 281300 + 21470928 + 190211756 + 282895);
    assert_near(traffic_mean_s(r->completion_sum_ps, r->finished), 130.62296975e-6, 1e-12);
    assert_true(traffic_mean_s(0, 0) == 0.0);
    stage_destroy(b);
}

static void a_list_of_many_at_once(void **state)
{
    (void)state;
    stage *b = stage_create(bare_hosts, 64, NULL);
    const pattern_def p = { PATTERN_A2A, 1000003, 1, 42 };
    pattern_draw(b->a, &p, 64, &b->settings.flows);
    play(b);
    const traffic_results *r = traffic_results_of(b->t);
    assert_true(r->finished == 4032);
    assert_true(r->completion_first_ps == r->completion_last_ps);
    assert_true(r->completion_last_ps == 20985296); // 281300 + ceil(1000003 / 48.3e9 x 1e12)
    assert_true(network_counters_of(b->n).bytes_received == r->bytes && r->bytes == UINT64_C(4032) * 1000003);
    stage_destroy(b);
}

// ---- loops

// Without contention all steps of a ring last equally long.
static void a_ring_of_equals(void **state)
{
    (void)state;
    stage *b = stage_create(bare_hosts, 7, NULL);
    b->settings.loop = (pattern_def){ PATTERN_RING, 64215492, 1,
                                      42 }; // 7 chunks of 9173641 B and 5 B left over
    play(b);
    const traffic_results *r = traffic_results_of(b->t);
    const sim_time step_ps = 190211756;
    assert_true(r->flows == 84 && r->finished == 84 && r->bytes == UINT64_C(84) * 9173641);
    assert_true(r->completion_first_ps == step_ps && r->completion_last_ps == 12 * step_ps);
    assert_true(r->completion_sum_ps == (unsigned __int128)(7 * 78 * step_ps)); // 1 + 2 + .. + 12 = 78
    assert_true(r->duration_least_ps == step_ps && r->duration_greatest_ps == step_ps);
    assert_true(b->done[83].flow / 7 == 11);
    stage_destroy(b);
}

// The rule as a recurrence: e[i][s] = max(e[i][s - 1], e[i - 1][s - 1]) + d[i], with d[i] the time of a send from i alone.
static void a_ring_waits_for_both_neighbours(void **state)
{
    (void)state;
    enum { N = 16, STEPS = 30 };
    stage *b = stage_create(near_and_far, N, NULL);
    b->settings.loop = (pattern_def){ PATTERN_RING, N * 123457, 1, 42 };
    play(b);
    sim_time end_ps[STEPS][N], d_ps[N];
    for (uint32_t i = 0; i < N; i++)
        d_ps[i] = alone_ps(b, i, (i + 1) % N, 123457);
    assert_true(d_ps[6] < d_ps[7]); // near and far
    for (uint32_t s = 0; s < STEPS; s++)
        for (uint32_t i = 0; i < N; i++) {
            const sim_time own_ps = s ? end_ps[s - 1][i] : 0,
                           received_ps = s ? end_ps[s - 1][(i + N - 1) % N] : 0;
            end_ps[s][i] = (own_ps > received_ps ? own_ps : received_ps) + d_ps[i];
        }
    assert_int_equal(b->done_count, N * STEPS);
    for (uint32_t k = 0; k < b->done_count; k++) {
        const uint64_t step = b->done[k].flow / N, from = b->done[k].flow % N;
        assert_int_equal(b->done[k].from, from);
        assert_int_equal(b->done[k].to, (from + 1) % N);
        assert_true(b->done[k].end_ps == end_ps[step][from]);
    }
    stage_destroy(b);
}

// Each host sends one after another, without a gap, what its own stream draws.
static void churn_keeps_one_flow_in_the_air(void **state)
{
    (void)state;
    enum { N = 16, ROUNDS = 9 };
    stage *b = stage_create(near_and_far, N, NULL);
    const pattern_def p = { PATTERN_CHURN, 1234567, ROUNDS, 42 };
    b->settings.loop = p;
    play(b);
    assert_int_equal(b->done_count, N * ROUNDS);
    assert_int_equal(network_counters_of(b->n).in_flight_high_water, N);
    sim_time last_ps = 0;
    for (uint32_t i = 0; i < N; i++) {
        pattern_stream stream = pattern_churn_stream(&p, i);
        sim_time now_ps = 0;
        for (uint32_t k = 0, at = 0; k < ROUNDS; k++) {
            const traffic_flow want = pattern_churn_next(&p, &stream, N, i);
            while (b->done[at].flow != (uint64_t)k * N + i)
                at++;
            assert_true(b->done[at].start_ps == now_ps);
            assert_int_equal(b->done[at].to, want.to);
            assert_true(b->done[at].bytes == want.bytes);
            now_ps += alone_ps(b, i, want.to, want.bytes);
            assert_true(b->done[at].end_ps == now_ps);
        }
        if (now_ps > last_ps) last_ps = now_ps;
    }
    assert_true(traffic_results_of(b->t)->completion_last_ps == last_ps);
    stage_destroy(b);
}

// ---- the digest knows no order of events

static uint64_t digest_of(pattern_kind kind, const sim_options *options)
{
    stage *b = stage_create(near_and_far, 16, options);
    const pattern_def p = { kind, 300007, pattern_has_rounds(kind) ? 5 : 1, 42 };
    if (pattern_is_loop(kind))
        b->settings.loop = p;
    else
        pattern_draw(b->a, &p, 16, &b->settings.flows);
    b->settings.on_done = NULL;
    play(b);
    const uint64_t digest = sim_digest(b->s);
    stage_destroy(b);
    return digest;
}

static void digests_are_equal_and_differ(void **state)
{
    (void)state;
    uint64_t seen[PATTERN_KINDS];
    for (int kind = 0; kind < PATTERN_KINDS; kind++) {
        seen[kind] = digest_of((pattern_kind)kind, NULL);
        assert_true(digest_of((pattern_kind)kind, &(sim_options){ .queue = QUEUE_RADIX }) == seen[kind]);
        assert_true(digest_of((pattern_kind)kind, &(sim_options){ .reverse_phases = true }) == seen[kind]);
        for (int other = 0; other < kind; other++)
            assert_true(seen[other] != seen[kind]);
    }
}

// ---- the bound

static void bound_is_as_by_hand(void **state)
{
    (void)state;
    stage *b = stage_create(bare_hosts, 4, NULL);
    // Host 3 receives 9173641 + 1023459 B: two links, each twice as long as the fuller one, and the path's delay.
    traffic_flow flows[] = { { 0, 9173641, 0, 3 }, { 0, 2000003, 2, 1 }, { 7777000, 1023459, 1, 3 } };
    b->settings.flows = (traffic_flow_array){ .items = flows, .count = 3, .capacity = 3 };
    assert_near(traffic_longest_s(b->a, b->fabric, &b->settings),
                7.777e-6 + 2.0 * (2.0 * 10197100.0 / 48.3e9 + 281.3e-9), 1e-12);
    // A ring loads each link once: 6 steps.
    b->settings.flows.count = 0;
    b->settings.loop = (pattern_def){ PATTERN_RING, 4 * 123457, 1, 42 };
    assert_near(traffic_longest_s(b->a, b->fabric, &b->settings), 6.0 * (2.0 * 123457.0 / 48.3e9 + 281.3e-9),
                1e-12);
    // All four over one link, at most half more than asked for; sixteen links as slow as the slowest (256 ns, with switch).
    b->settings.loop = (pattern_def){ PATTERN_CHURN, 123457, 20, 42 };
    assert_near(traffic_longest_s(b->a, b->fabric, &b->settings),
                20.0 * (2.0 * 1.5 * 123457.0 * 4.0 / 48.3e9 + TOPOLOGY_PATH_MAX * 256.0e-9), 1e-12);
    stage_destroy(b);
}

static void nothing_ends_later_than_the_bound(void **state)
{
    (void)state;
    uint64_t random = 20240713;
    for (uint32_t round = 0; round < 24; round++) {
        stage *b = stage_create(near_and_far, 16, NULL);
        const pattern_kind kind = (pattern_kind)(round % PATTERN_KINDS);
        const pattern_def p = { kind, 16 + test_random_below(&random, 3000000),
                                pattern_has_rounds(kind) ? 1 + test_random_below(&random, 5) : 1, round };
        if (pattern_is_loop(kind))
            b->settings.loop = p;
        else
            pattern_draw(b->a, &p, 16, &b->settings.flows);
        const double bound_s = traffic_longest_s(b->a, b->fabric, &b->settings);
        play(b);
        const double last_s = units_s_from_ps(traffic_results_of(b->t)->completion_last_ps);
        if (last_s > bound_s) fail_msg("%s: %g s, bound %g s", pattern_words[kind], last_s, bound_s);
        stage_destroy(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_ends_as_by_hand),
        cmocka_unit_test(a_list_of_many_at_once),
        cmocka_unit_test(a_ring_of_equals),
        cmocka_unit_test(a_ring_waits_for_both_neighbours),
        cmocka_unit_test(churn_keeps_one_flow_in_the_air),
        cmocka_unit_test(digests_are_equal_and_differ),
        cmocka_unit_test(bound_is_as_by_hand),
        cmocka_unit_test(nothing_ends_later_than_the_bound),
    };
    return cmocka_run_group_tests_name("traffic", tests, NULL, NULL);
}
