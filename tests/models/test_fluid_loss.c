// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "tests/support/fabrics.h"
#include "tests/support/fluid_bench.h"

// Three hosts on one switch, 48.3 GB/s, 256,000 ps up and 25,300 ps down; packets of 4096 + 82 bytes.
static const transport_terms usual = { .recovery = RECOVERY_SELECTIVE_REPEAT,
                                       .payload_bytes = 4096,
                                       .wire_bytes = 4178,
                                       .timeout_ps = INT64_C(1000000000),
                                       .key = 77 };

typedef struct lossy {
    const char *link;
    link_fault_def faults;
} lossy;

static bench *bench_of(const transport_terms *terms, const lossy *rows, uint32_t count,
                       const sim_options *loop)
{
    arena *a = arena_create("test");
    topology *t = topology_create(a);
    for (uint32_t i = 0; i < 3; i++)
        topology_add_node(t, &(node_wiring){ .nics = 1 });
    topology_set_policy(t, &(fabric_policy){ .queue_pairs = 1, .reroute_ps = SIM_TIME_MAX, .terms = *terms });
    const single_switch_def def = { .rate_mBps = CABLE_MBPS,
                                    .cable_delay_ps = 25300,
                                    .switch_delay_ps = 230700 };
    sim_error error = { 0 };
    assert_true(topology_add_single_switch(t, &def, NULL, &error));
    topology_seal(t);
    bench named = { .t = t };
    for (uint32_t i = 0; i < count; i++)
        topology_fault_link(t, find_link(&named, rows[i].link), &rows[i].faults);
    return bench_on(a, t, &(fluid_options){ 0 }, loop);
}

// ---- rates

struct rate_case {
    const char *name;
    transport_terms terms;
    lossy fault;
    sim_time want_ps;      // of 5,000,011 B from host 0 to host 1
    uint64_t resent_bytes; // counted at that link
};
#define TERMS(recovery_, window_)                                                                            \
    {                                                                                                        \
        .recovery = recovery_, .payload_bytes = 4096, .wire_bytes = 4178, .window_bytes = window_,           \
        .timeout_ps = INT64_C(1000000000), .key = 77                                                         \
    }
#define DOWN_1 "leaf 0 > node 1 nic 0"
static const struct rate_case rate_cases[] = {
    { "no faults",
      TERMS(RECOVERY_GO_BACK_N, 0),
      { DOWN_1, { .loss = 0 } },
      103519897 + NET,
      0 }, // 5000011e3 / 48.3
    // 48.3 x 0.996; 4997120 x 0.004 / 0.996 B again: all packets but the last, of 2891 B
    { "selective repeat",
      TERMS(RECOVERY_SELECTIVE_REPEAT, 0),
      { DOWN_1, { .loss = 0.004 } },
      103935640 + NET,
      20069 },
    // 562.6 ns hold 6.63 packets: 0.996 / (1 + 6 x 0.004) = 0.97265625
    { "go-back-N", TERMS(RECOVERY_GO_BACK_N, 0), { DOWN_1, { .loss = 0.004 } }, 106430095 + NET, 140481 },
    // 305 round trips of 562,600 ps and 2,891 B
    { "a window of 16 KiB, no faults",
      TERMS(RECOVERY_GO_BACK_N, 16384),
      { DOWN_1, { .loss = 0 } },
      171652856 + NET,
      0 },
    // e = 1 - (1 - 1e-7)^33424 = 0.00333682, r = 50.6 ns, tau = 84.8033 ns: 0.994682769 of the rate, 453 ps later
    { "the link sends again",
      TERMS(RECOVERY_GO_BACK_N, 0),
      { DOWN_1, { .bit_error_rate = 1e-7, .repeats = true } },
      104073280 + NET + 453,
      26728 },
};

static void rates_are_what_faults_leave(void **state)
{
    const struct rate_case *c = *state;
    static const planned plan[] = { { 0, 0, 1, 5000011, 0, 0 } };
    bench *b = bench_of(&c->terms, &c->fault, 1, NULL);
    plan_starts(b, plan, 1);
    run_to_end(b);
    check_end(b, 0, c->want_ps);
    const link_troubles troubles = network_link_troubles(b->n, find_link(b, DOWN_1));
    assert_int_equal(troubles.retransmitted_bytes, c->resent_bytes);
    assert_int_equal(troubles.retransmitted_packets, (c->resent_bytes + 4095) / 4096);
    assert_int_equal(troubles.timeouts, 0);
    assert_int_equal(network_link_bytes(b->n, find_link(b, DOWN_1)), 5000011);
    assert_int_equal(network_link_troubles(b->n, find_link(b, "node 0 nic 0 > leaf 0")).retransmitted_bytes,
                     0);
    assert_int_equal(network_counters_of(b->n).retransmitted_bytes,
                     c->fault.faults.repeats ? 0 : c->resent_bytes);
    check_rest(b);
    bench_destroy(b);
}

// Each has half of 48.3 x 0.996, which is less than its cap.
static void flows_share_what_a_lossy_link_has_left(void **state)
{
    (void)state;
    static const planned plan[] = { { 0, 0, 1, 5000011, 0, 0 }, { 0, 2, 1, 5000011, 0, 0 } };
    const lossy fault = { DOWN_1, { .loss = 0.004 } };
    bench *b = bench_of(&usual, &fault, 1, NULL);
    plan_starts(b, plan, 2);
    run_to_end(b);
    check_end(b, 0, 207871279 + NET);
    check_end(b, 1, 207871279 + NET);
    assert_int_equal(network_link_troubles(b->n, find_link(b, DOWN_1)).retransmitted_bytes, 2 * 20069);
    bench_destroy(b);
}

// 1 - 0.996 x 0.99 of the packets are lost: 4997120 x 0.01396 / 0.98604 = 70747.4 B again, 2 of 7 parts of them at the first.
static void links_that_lose_share_the_blame(void **state)
{
    (void)state;
    static const planned plan[] = { { 0, 0, 1, 5000011, 0, 0 } };
    const lossy faults[] = { { "node 0 nic 0 > leaf 0", { .loss = 0.004 } }, { DOWN_1, { .loss = 0.01 } } };
    bench *b = bench_of(&usual, faults, 2, NULL);
    plan_starts(b, plan, 1);
    run_to_end(b);
    assert_int_equal(network_link_troubles(b->n, find_link(b, faults[0].link)).retransmitted_bytes, 20213);
    assert_int_equal(network_link_troubles(b->n, find_link(b, faults[1].link)).retransmitted_bytes,
                     70747 - 20213);
    assert_int_equal(network_counters_of(b->n).retransmitted_bytes, 70747);
    check_end(b, 0, 104985494 + NET); // 5000011e3 / (48.3 x 0.98604)
    bench_destroy(b);
}

// ---- lost ends

enum { MESSAGES = 1000 };

// One after the other, so that each has its path to itself.
static void send_next(bench *b, uint32_t tag)
{
    if (tag + 1 < MESSAGES) send(b, tag + 1, &(planned){ 0, 0, 1, 4096, 0, 0 });
}

// Of 1,000 messages 0.3 / 0.7 x 1,000 = 428.6 waits are expected, with a standard deviation of sqrt(1000 x 0.3) / 0.7 = 24.7.
static void lost_ends_wait_for_the_timeout(void **state)
{
    (void)state;
    const lossy fault = { DOWN_1, { .loss = 0.3 } };
    bench *b = bench_of(&usual, &fault, 1, NULL);
    b->after = send_next;
    send(b, 0, &(planned){ 0, 0, 1, 4096, 0, 0 });
    run_to_end(b);
    assert_int_equal(b->count, MESSAGES);
    const uint64_t timeouts = network_counters_of(b->n).timeouts;
    assert_in_range(timeouts, 355, 502);
    assert_int_equal(network_link_troubles(b->n, find_link(b, DOWN_1)).timeouts, timeouts);
    // Each is one packet, and sent again by itself.
    const link_troubles troubles = network_link_troubles(b->n, find_link(b, DOWN_1));
    assert_int_equal(troubles.retransmitted_bytes, timeouts * 4096);
    assert_int_equal(troubles.retransmitted_packets, timeouts);
    // 4096e3 / (48.3 x 0.7) = 121,148 ps each, and the waits
    const sim_time moving_ps = MESSAGES * INT64_C(121148);
    assert_in_range(b->ends_ps[MESSAGES - 1] - moving_ps - MESSAGES * NET -
                        (sim_time)timeouts * usual.timeout_ps,
                    0, MESSAGES);
    assert_false(network_is_steady(b->n));
    check_rest(b);
    bench_destroy(b);
}

// A stream of many steps waits as often as so many messages.
static void steps_of_a_stream_wait_as_messages(void **state)
{
    (void)state;
    const lossy fault = { DOWN_1, { .loss = 0.01 } };
    const network_edge edge = { .from = 0, .to = 1, .bytes = 4096 };
    uint64_t timeouts = 0;
    for (uint64_t key = 0; key < 100; key++) {
        transport_terms terms = usual;
        terms.key = key;
        bench *b = bench_of(&terms, &fault, 1, NULL);
        network_edge own = edge;
        own.from = host_of(b->t, 0);
        own.to = host_of(b->t, 1);
        network_start(b->n, &(network_request){ .edges = &own,
                                                .edge_count = 1,
                                                .delay_crossings = 50,
                                                .weight = 1,
                                                .queue_pairs = 1,
                                                .multiplicity = 1,
                                                .client = b->client });
        run_to_end(b);
        timeouts += network_counters_of(b->n).timeouts;
        bench_destroy(b);
    }
    assert_in_range(timeouts, 29, 72); // 5,000 x 0.01 / 0.99 = 50.5, 3 standard deviations of 7.1
}

// Waits of an eighth of the clock: some message waits beyond half of it, and stands still.
static void a_wait_beyond_the_clock_never_ends(void **state)
{
    (void)state;
    const lossy fault = { DOWN_1, { .loss = 0.3 } };
    transport_terms terms = usual;
    terms.timeout_ps = SIM_TIME_MAX / 8;
    bench *b = bench_of(&terms, &fault, 1, NULL);
    b->after = send_next;
    send(b, 0, &(planned){ 0, 0, 1, 4096, 0, 0 });
    run_to_end(b);
    assert_true(b->count < MESSAGES);
    assert_true(sim_now(b->s) <= SIM_TIME_MAX / 2);
    const network_stuck_report stuck = network_stuck(b->n);
    assert_int_equal(stuck.transfers, 1);
    assert_int_equal(stuck.from, host_of(b->t, 0));
    assert_int_equal(stuck.down, NO_ID);
    bench_destroy(b);
}

// Of 300 alike 0.3 / 0.7 x 300 = 128.6 waits are expected, with a standard deviation of sqrt(300 x 0.3) / 0.7 = 13.6.
static void messages_that_begin_together_wait_apart(void **state)
{
    (void)state;
    enum { TWINS = 300 };
    const lossy fault = { DOWN_1, { .loss = 0.3 } };
    planned plan[TWINS];
    bench *b = bench_of(&usual, &fault, 1, NULL);
    for (uint32_t i = 0; i < TWINS; i++)
        plan[i] = (planned){ 0, 0, 1, 4096, 0, 0 };
    plan_starts(b, plan, TWINS);
    run_to_end(b);
    assert_in_range(network_counters_of(b->n).timeouts, 88, 169);
    bench_destroy(b);
}

// Whoever waits does so whatever the order of events, and with whatever else begins at the same time.
static void waits_do_not_depend_on_order(void **state)
{
    (void)state;
    planned plan[200];
    uint64_t digests[2], timeouts[2];
    const lossy fault = { DOWN_1, { .loss = 0.2 } };
    for (uint32_t i = 0; i < 200; i++)
        plan[i] = (planned){ i / 4 * 1000000, i % 2 * 2, 1, 4096 + 100 * i, 0, 0 };
    for (uint32_t turn = 0; turn < 2; turn++) {
        bench *b = bench_of(&usual, &fault, 1, &(sim_options){ .reverse_phases = turn == 1 });
        plan_starts(b, plan, 200);
        run_to_end(b);
        digests[turn] = sim_digest(b->s);
        timeouts[turn] = network_counters_of(b->n).timeouts;
        bench_destroy(b);
    }
    assert_int_equal(digests[0], digests[1]);
    assert_int_equal(timeouts[0], timeouts[1]);
    assert_true(timeouts[0] > 0);
}

// ---- bundles

// Adaptive routing over two spines, four hosts; one of the two links from leaf 0 up loses 0.4 % of its packets.
static bench *bench_of_spines(const transport_terms *terms, link_id *lossy_link)
{
    const uint32_t m[] = { 2, 2 }, w[] = { 1, 2 };
    const xgft_def def = fabrics_xgft_def(2, m, w, NULL);
    arena *a = arena_create("test");
    topology *t = fabrics_nodes(a, 4, NULL);
    sim_error error = { 0 };
    topology_set_policy(
        t, &(fabric_policy){
               .routing = ROUTING_ADAPTIVE, .queue_pairs = 1, .reroute_ps = SIM_TIME_MAX, .terms = *terms });
    assert_true(topology_add_xgft(t, &def, &(fabric_places){ { NULL } }, &error));
    topology_seal(t);
    bench named = { .t = t };
    *lossy_link = find_link(&named, "leaf 0 > spine 1");
    topology_fault_link(t, *lossy_link, &(link_fault_def){ .loss = 0.004 });
    return bench_on(a, t, &(fluid_options){ 0 }, NULL);
}

static void a_bundle_blames_its_member(void **state)
{
    (void)state;
    static const planned plan[] = { { 0, 0, 2, 5000011, 0, 0 } };
    link_id lossy_link;
    bench *b = bench_of_spines(&usual, &lossy_link);
    plan_starts(b, plan, 1);
    run_to_end(b);
    // p = 0.004 x 48.1068 / (48.3 + 48.1068) = 0.00199599: 4997120 p / (1 - p) = 9,994.2
    assert_int_equal(network_link_troubles(b->n, lossy_link).retransmitted_bytes, 9994);
    assert_int_equal(network_counters_of(b->n).retransmitted_bytes, 9994);
    assert_int_equal(network_link_troubles(b->n, find_link(b, "leaf 0 > spine 0")).retransmitted_bytes, 0);
    bench_destroy(b);
}

// 48.3 (1 - 0.00199599) for 50 us; nothing crosses the link that loses for 30 us, in which 97 % of the other are left; then as
// before for the last 1,184,301.3 of 5,000,011 B.
static void a_member_that_is_down_loses_nothing(void **state)
{
    (void)state;
    enum { PATH = 4 * 25300 + 3 * 230700 };
    static const planned plan[] = { { 0, 0, 2, 5000011, 0, 0 }, { 0, 0, 2, 5000011, 0, 0 } };
    link_id lossy_link;
    bench *returns = bench_of_spines(&usual, &lossy_link);
    plan_starts(returns, plan, 1);
    change_link(returns, 50000000, "leaf 0 > spine 1", 0);
    change_link(returns, 80000000, "leaf 0 > spine 1", 1000);
    run_to_end(returns);
    check_end(returns, 0, 104568735 + PATH);
    bench_destroy(returns);

    bench *without = bench_of_spines(&usual, &lossy_link);
    plan_starts(without, plan, 2);
    change_link(without, 0, "leaf 0 > spine 1", 0);
    run_to_end(without);
    check_end(without, 1, 213443086 + PATH); // two on 46.851
    assert_int_equal(network_counters_of(without->n).retransmitted_bytes, 0);
    assert_int_equal(network_counters_of(without->n).timeouts, 0);
    bench_destroy(without);
}

int main(void)
{
    struct CMUnitTest tests[ARRAY_COUNT(rate_cases) + 9] = {
        cmocka_unit_test(flows_share_what_a_lossy_link_has_left),
        cmocka_unit_test(links_that_lose_share_the_blame),
        cmocka_unit_test(lost_ends_wait_for_the_timeout),
        cmocka_unit_test(steps_of_a_stream_wait_as_messages),
        cmocka_unit_test(a_wait_beyond_the_clock_never_ends),
        cmocka_unit_test(messages_that_begin_together_wait_apart),
        cmocka_unit_test(waits_do_not_depend_on_order),
        cmocka_unit_test(a_bundle_blames_its_member),
        cmocka_unit_test(a_member_that_is_down_loses_nothing),
    };
    for (size_t i = 0; i < ARRAY_COUNT(rate_cases); i++)
        tests[9 + i] = (struct CMUnitTest){ .name = rate_cases[i].name,
                                            .test_func = rates_are_what_faults_leave,
                                            .initial_state = (void *)&rate_cases[i] };
    return cmocka_run_group_tests_name("fluid_loss", tests, NULL, NULL);
}
