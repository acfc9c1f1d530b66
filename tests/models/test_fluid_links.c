// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "models/network/routing.h"
#include "tests/support/fluid_bench.h"
#include "tests/support/reference_flows.h"

// ---- links that change

static void link_down_and_up(void **state)
{
    (void)state;
    static const planned plan[] = { { 0, 0, 8, 5000011, 0, 0 }, { 0, 1, 10, 3000029, 0, 0 } };
    bench *b = bench_create(NULL, NULL);
    plan_starts(b, plan, 2);
    change_link(b, 40000000, "leaf 0 > node 1 nic 0", 0);
    change_link(b, 90000000, "leaf 0 > node 1 nic 0", 1000);
    run_until(b, 60000000);
    network_stuck_report stuck = network_stuck(b->n);
    assert_int_equal(stuck.transfers, 1);
    assert_int_equal(stuck.from, topology_gpu_vertex(b->t, 0));
    assert_int_equal(stuck.to, topology_gpu_vertex(b->t, 8));
    assert_int_equal(stuck.down, find_link(b, "leaf 0 > node 1 nic 0"));
    assert_int_equal(fluid_rate_mBps(b->n, b->ids[0]), 0);
    assert_int_equal(fluid_rate_mBps(b->n, b->ids[1]), CABLE_MBPS);
    assert_int_equal(network_link_bytes(b->n, find_link(b, "leaf 0 > node 1 nic 0")),
                     966000); // 24.15 x 40000
    run_to_end(b);
    check_end(b, 0, 173519897 + NET); // 966000 B before, 50000000 ps of nothing, 4034011 B at 48.3
    check_end(b, 1, 82112402 + NET);  // 966000 B before, 2034029 B at 48.3
    assert_int_equal(network_counters_of(b->n).retransmitted_bytes, 0);
    check_rest(b);
    bench_destroy(b);
}

static void link_degraded_and_repaired(void **state)
{
    (void)state;
    static const planned plan[] = { { 0, 0, 8, 5000011, 0, 0 }, { 0, 1, 10, 3000029, 0, 0 } };
    bench *b = bench_create(NULL, NULL);
    plan_starts(b, plan, 2);
    change_link(b, 40000000, "leaf 0 > node 1 nic 0", 250);
    change_link(b, 190000000, "leaf 0 > node 1 nic 0", 1000);
    run_to_end(b);
    check_end(b, 0, 236019897 + NET); // 150000000 ps at 12.075
    check_end(b, 1, 96149869 + NET);  // 36.225 from 40000000 on
    check_rest(b);
    bench_destroy(b);
}

static void link_down_for_good(void **state)
{
    (void)state;
    static const planned plan[] = { { 1000, 0, 8, 1000003, 0, 0 },
                                    { 1000, 3, 9, 0, 0, 0 },
                                    { 2000, 1, 10, 1000003, 0, 0 } };
    bench *b = bench_create(NULL, NULL);
    plan_starts(b, plan, 3);
    change_link(b, 500, "node 0 gpu 0 > node 0 nic 0", 0);
    run_to_end(b);
    assert_int_equal(b->ends_ps[0], -1);
    check_end(b, 1, 1000 + NET);
    check_end(b, 2, 2000 + 20703996 + NET);
    network_stuck_report stuck = network_stuck(b->n);
    assert_int_equal(stuck.transfers, 1);
    assert_int_equal(stuck.down, find_link(b, "node 0 gpu 0 > node 0 nic 0"));
    change_link(b, 777000000, "node 0 gpu 0 > node 0 nic 0", 1000);
    run_to_end(b);
    check_end(b, 0, 777000000 + 20703996 + NET);
    check_rest(b);
    bench_destroy(b);
}

// Down and up within one instant is nothing, in either order of events.
static void link_that_blinks(void **state)
{
    (void)state;
    static const planned plan[] = { { 0, 0, 8, 1000003, 0, 0 } };
    bench *b = bench_create(&(fluid_options){ .resends = true }, NULL);
    plan_starts(b, plan, 1);
    change_link(b, 10000000, "node 0 nic 0 > leaf 0", 0);
    change_link(b, 10000000, "node 0 nic 0 > leaf 0", 1000);
    run_to_end(b);
    check_end(b, 0, 20703996 + NET);
    assert_int_equal(network_counters_of(b->n).retransmitted_bytes, 0);
    check_rest(b);
    bench_destroy(b);
}

// What was on the way at 24.15 for two delays, 13586 B, is sent again; with the first link of a path it is limited to what
// had been sent.
static void what_was_on_the_way_is_sent_again(void **state)
{
    (void)state;
    static const planned plan[] = { { 0, 0, 8, 5000011, 0, 0 },
                                    { 0, 1, 10, 3000029, 0, 0 },
                                    { 39999000, 4, 9, 70001, 0, 0 } };
    bench *b = bench_create(&(fluid_options){ .resends = true }, NULL);
    plan_starts(b, plan, 2);
    change_link(b, 40000000, "leaf 0 > node 1 nic 0", 0);
    change_link(b, 40000000, "node 0 gpu 0 > node 0 nic 0", 0);
    change_link(b, 90000000, "node 0 gpu 0 > node 0 nic 0", 1000);
    change_link(b, 90000000, "leaf 0 > node 1 nic 0", 1000);
    run_to_end(b);
    check_end(b, 0, 173801181 + NET);
    check_end(b, 1, 82112402 + NET);
    assert_int_equal(network_counters_of(b->n).retransmitted_bytes, 13586);
    check_rest(b);
    bench_destroy(b);

    b = bench_create(&(fluid_options){ .resends = true }, NULL);
    b->plan = plan;
    sim_schedule(b->s, plan[2].start_ps, b->kind_start, 2, 0);
    change_link(b, 40000000, "leaf 0 > node 1 nic 0", 0);
    change_link(b, 40001000, "leaf 0 > node 1 nic 0", 1000);
    run_to_end(b);
    check_end(b, 2, 40001000 + 1449290 + NET); // 70000.7 B: 48 of the 48.3 sent are lost
    assert_int_equal(network_counters_of(b->n).retransmitted_bytes, 48);
    check_rest(b);
    bench_destroy(b);

    // A ring of two nodes: 27173 B on either edge, at 48.3.
    b = bench_create(&(fluid_options){ .resends = true }, NULL);
    static const planned ring[] = { { 0, 0, 8, 5000011, 0, 0 }, { 0, 8, 0, 5000011, 0, 0 } };
    send_stream(b, 0, ring, 2, 1);
    change_link(b, 40000000, "leaf 0 > node 1 nic 0", 0);
    change_link(b, 90000000, "leaf 0 > node 1 nic 0", 1000);
    run_until(b, 39999999);
    uint64_t before = network_link_bytes(b->n, find_link(b, "leaf 0 > node 0 nic 0"));
    run_until(b, 50000000);
    uint64_t after = network_link_bytes(b->n, find_link(b, "leaf 0 > node 0 nic 0"));
    assert_int_equal(before, 1931999);
    assert_int_equal(after, 1932000);
    run_to_end(b);
    check_end(b, 0, 154082485 + NET); // 5027184e3 / 48.3 and 50000000
    assert_int_equal(network_counters_of(b->n).retransmitted_bytes, 27173);
    assert_int_equal(network_link_bytes(b->n, find_link(b, "leaf 0 > node 0 nic 0")), 5000011);
    check_rest(b);
    bench_destroy(b);
}

// ---- other paths

// Hosts 0 and 1 under leaf 0, 2 and 3 under leaf 1, two spines; 50 B/ns everywhere, no delays. What goes to host 2 takes
// spine 0, to host 3 spine 1.
static const topology *four_hosts(arena *a, const fabric_policy *policy, uint32_t adaptive_ppm)
{
    const fabric_tier tier = { .name = "switch",
                               .port_rate_mBps = UINT64_C(50000000000000),
                               .adaptive_ppm = adaptive_ppm };
    const xgft_def def = {
        .tiers = 2, .children = { 2, 2 }, .parents = { 1, 2 }, .cables = { 1, 1 }, .tier = { tier, tier }
    };
    topology *t = topology_create(a);
    for (uint32_t i = 0; i < 4; i++)
        topology_add_node(t, &(node_wiring){ .nics = 1 });
    sim_error error = { 0 };
    assert_true(topology_add_xgft(t, &def, &(fabric_places){ { NULL } }, &error));
    topology_set_policy(t, policy);
    topology_seal(t);
    assert_true(topology_check(t, NULL, &error));
    return t;
}

static bench *bench_of_four(const fabric_policy *policy, uint32_t adaptive_ppm, const sim_options *loop)
{
    arena *a = arena_create("test");
    return bench_on(a, four_hosts(a, policy, adaptive_ppm), &(fluid_options){ 0 }, loop);
}

struct reroute_case {
    const char *name;
    sim_time reroute_ps;
    struct {
        sim_time at_ps;
        const char *link;
        uint32_t permille;
    } changes[4];
    planned late; // a third transfer
    sim_time want_ps[3];
    uint64_t spine0_bytes, spine1_bytes; // from leaf 0
    uint64_t reroutes;
};
// 0 > 2 has 3000011 B, 1 > 3 2000003 B. The third's end is not looked at where it has no bytes.
static const struct reroute_case reroutes[] = {
    // 500000 B to 10 us, nothing to 15 us, 25 B/ns beside the other to 35 us, then on its own path again.
    { "around a link and back",
      5000000,
      { { 10000000, "leaf 0 > spine 0", 0 }, { 30000000, "leaf 0 > spine 0", 1000 } },
      { 0, 0, 1, 0, 0, 0 },
      { 75000220, 50000060, 0 },
      2500011,
      2500003,
      2 },
    { "never",
      SIM_TIME_MAX,
      { { 10000000, "leaf 0 > spine 0", 0 }, { 30000000, "leaf 0 > spine 0", 1000 } },
      { 0, 0, 1, 0, 0, 0 },
      { 80000220, 40000060, 0 },
      3000011,
      2000003,
      0 },
    // It is up again before routing has followed.
    { "up before routing learns",
      5000000,
      { { 10000000, "leaf 0 > spine 0", 0 },
        { 13000000, "leaf 0 > spine 0", 1000 },
        { 14000000, "leaf 0 > spine 0", 0 },
        { 18999999, "leaf 0 > spine 0", 1000 } },
      { 0, 0, 1, 0, 0, 0 },
      { 60000220 + 3000000 + 4999999, 40000060, 0 },
      3000011,
      2000003,
      0 },
    // Nothing leads there from 15 us on; what returns at 40 us is found at 45 us.
    { "no way at all, then another",
      5000000,
      { { 10000000, "leaf 0 > spine 0", 0 },
        { 10000000, "leaf 0 > spine 1", 0 },
        { 40000000, "leaf 0 > spine 1", 1000 } },
      { 0, 0, 1, 0, 0, 0 },
      // from 45 us 25 each; before that the other alone, 250000 B from 40 us on; it ends at 95.00012 us
      { 45000000 + 50000120 + 25000160, 45000000 + 50000120, 0 },
      500000,
      4500014,
      1 },
    // What begins before routing follows waits with the others; what begins later takes the live path at once.
    { "begun while the link is down",
      5000000,
      { { 10000000, "spine 0 > leaf 1", 0 } },
      { 12000000, 1, 2, 250000, 0, 0 },
      // 15 us: three on spine 1, 16.67 each: the third ends at 30 us; then 25 each: the other has 1000003 B; at the end 50
      { 30000000 + 40000120 + 25000160, 30000000 + 40000120, 30000000 },
      500000,
      4750014 - 0,
      2 },
};

static void paths_follow_the_links(void **state)
{
    const struct reroute_case *c = *state;
    for (int reverse = 0; reverse < 2; reverse++) {
        bench *b = bench_of_four(&(fabric_policy){ .queue_pairs = 1, .reroute_ps = c->reroute_ps }, 1000000,
                                 &(sim_options){ .reverse_phases = reverse == 1 });
        const planned plan[] = { { 0, 0, 2, 3000011, 0, 0 }, { 0, 1, 3, 2000003, 0, 0 }, c->late };
        plan_starts(b, plan, 3);
        for (uint32_t i = 0; i < 4 && c->changes[i].link; i++)
            change_link(b, c->changes[i].at_ps, c->changes[i].link, c->changes[i].permille);
        run_to_end(b);
        for (uint32_t i = 0; i < 3; i++)
            check_end(b, i, c->want_ps[i]);
        assert_int_equal(network_link_bytes(b->n, find_link(b, "leaf 0 > spine 0")), c->spine0_bytes);
        assert_int_equal(network_link_bytes(b->n, find_link(b, "leaf 0 > spine 1")), c->spine1_bytes);
        assert_int_equal(fluid_counters_of(b->n).reroutes, c->reroutes);
        check_rest(b);
        bench_destroy(b);
    }
}

// Two links as one at 90 %: 45 B/ns each; one of them goes at 10 us, which leaves 22.5 each and all bytes to the other; at
// 50 us it returns at half its rate and carries a third.
static void bundle_loses_a_member(void **state)
{
    (void)state;
    bench *b = bench_of_four(
        &(fabric_policy){ .routing = ROUTING_ADAPTIVE, .queue_pairs = 1, .reroute_ps = 5000000 }, 900000,
        NULL);
    static const planned plan[] = { { 0, 0, 2, 3000011, 0, 0 }, { 0, 1, 3, 2000003, 0, 0 } };
    plan_starts(b, plan, 2);
    change_link(b, 10000000, "leaf 0 > spine 0", 0);
    change_link(b, 50000000, "leaf 0 > spine 0", 500);
    run_until(b, 5000000);
    assert_int_equal(fluid_rate_mBps(b->n, b->ids[0]), 45000000000000);
    assert_int_equal(network_link_bytes(b->n, find_link(b, "leaf 0 > spine 0")), 225000);
    assert_int_equal(network_link_bytes(b->n, find_link(b, "spine 1 > leaf 1")), 225000);
    run_until(b, 20000000);
    assert_int_equal(fluid_rate_mBps(b->n, b->ids[0]), 22500000000000);
    assert_int_equal(network_link_bytes(b->n, find_link(b, "leaf 0 > spine 0")), 450000);
    assert_int_equal(network_link_bytes(b->n, find_link(b, "leaf 0 > spine 1")), 900000);
    run_to_end(b);
    // 450000 + 900000 B by 50 us; 33.75 each until the shorter has sent its 650003 B; the longer then 50 from its NIC
    check_end(b, 1, 50000000 + 19259349);
    check_end(b, 0, 50000000 + 19259349 + 20000160);
    assert_int_equal(network_link_bytes(b->n, find_link(b, "leaf 0 > spine 0")), 450000 + (2300014 + 0) / 3);
    assert_int_equal(network_link_bytes(b->n, find_link(b, "leaf 0 > spine 1")),
                     450000 + 1800000 + 2300014 - 2300014 / 3);
    assert_int_equal(fluid_counters_of(b->n).reroutes, 0);
    check_rest(b);
    bench_destroy(b);
}

// What is left of the bundle up ends at spine 1, and that down begins at spine 0: nothing leads to leaf 1 until a link returns.
// 500000 B by 10 us; from 30 us on 45 B/ns are left, half for each while both flow. The way back is whole.
static void bundles_that_do_not_match_carry_nothing(void **state)
{
    (void)state;
    bench *b = bench_of_four(
        &(fabric_policy){ .routing = ROUTING_ADAPTIVE, .queue_pairs = 1, .reroute_ps = 5000000 }, 900000,
        NULL);
    static const planned plan[] = { { 0, 0, 2, 3000011, 0, 0 },
                                    { 0, 2, 1, 2000003, 0, 0 },
                                    { 20000000, 1, 3, 1000003, 0, 0 } };
    plan_starts(b, plan, 3);
    change_link(b, 10000000, "leaf 0 > spine 0", 0);
    change_link(b, 10000000, "spine 1 > leaf 1", 0);
    change_link(b, 30000000, "spine 1 > leaf 1", 1000);
    run_until(b, 25000000);
    assert_int_equal(fluid_rate_mBps(b->n, b->ids[0]), 0);
    assert_int_equal(fluid_rate_mBps(b->n, b->ids[2]), 0);
    const network_stuck_report stuck = network_stuck(b->n);
    assert_int_equal(stuck.transfers, 2);
    assert_int_equal(stuck.down, find_link(b, "leaf 0 > spine 0"));
    run_to_end(b);
    check_end(b, 1, 40000060);
    check_end(b, 2, 74444578);
    check_end(b, 0, 107778089);
    assert_int_equal(fluid_counters_of(b->n).reroutes, 3); // one leaves the bundles, and both return to them
    check_rest(b);
    bench_destroy(b);
}

// The same for good, as with static routing.
static void bundles_that_never_match_are_reported(void **state)
{
    (void)state;
    static const routing_kind kinds[] = { ROUTING_STATIC, ROUTING_ADAPTIVE };
    for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
        bench *b = bench_of_four(
            &(fabric_policy){ .routing = kinds[i], .queue_pairs = 1, .reroute_ps = 5000000 }, 900000, NULL);
        static const planned plan[] = { { 0, 0, 2, 3000011, 0, 0 } };
        plan_starts(b, plan, 1);
        change_link(b, 10000000, "leaf 0 > spine 0", 0);
        change_link(b, 10000000, "spine 1 > leaf 1", 0);
        run_to_end(b);
        assert_int_equal(b->ends_ps[0], -1);
        assert_int_equal(network_stuck(b->n).transfers, 1);
        assert_int_equal(network_stuck(b->n).down, find_link(b, "leaf 0 > spine 0"));
        network_verify(b->n);
        bench_destroy(b);
    }
}

// Three queue pairs by hash: their bytes go where routing says, and each is capped.
static void queue_pairs_spread_and_are_capped(void **state)
{
    (void)state;
    static const uint64_t caps_mBps[] = { 0, UINT64_C(5000000000000) };
    for (size_t i = 0; i < ARRAY_COUNT(caps_mBps); i++) {
        const fabric_policy policy = { .routing = ROUTING_ECMP,
                                       .hash_key = 77,
                                       .queue_pairs = 3,
                                       .queue_pair_cap_mBps = caps_mBps[i],
                                       .reroute_ps = SIM_TIME_MAX };
        bench *b = bench_of_four(&policy, 1000000, NULL);
        uint64_t want[2] = { 0, 0 };
        for (uint32_t q = 0; q < 3; q++) {
            uint32_t path[TOPOLOGY_PATH_MAX];
            assert_int_equal(route_find(b->t, NULL, host_of(b->t, 0), host_of(b->t, 2), q, path), 4);
            want[path[1] == find_link(b, "leaf 0 > spine 1")] += q == 0 ? 1000001 : 1000000;
        }
        send(b, 0, &(planned){ 0, 0, 2, 3000001, 0, 0 });
        run_to_end(b);
        check_end(b, 0, i == 0 ? 60000020 : 200000200); // 3000001 B at 50; 1000001 B at 5
        assert_int_equal(network_link_bytes(b->n, find_link(b, "leaf 0 > spine 0")), want[0]);
        assert_int_equal(network_link_bytes(b->n, find_link(b, "leaf 0 > spine 1")), want[1]);
        assert_int_equal(network_link_bytes(b->n, find_link(b, "node 0 nic 0 > leaf 0")), 3000001);
        check_rest(b);
        bench_destroy(b);
    }
}

// ---- reference flows

struct reference_case {
    const char *name;
    const reference_tree *tree;
    reference_kind kind;
    uint64_t bytes;
    uint32_t rounds;
    double last_s, mean_s; // 0: not stated
    double within_s;
};
// Worked out by two other programs: reference_flows.h says what is played. Churn of few rounds; more of it is chaotic.
static const struct reference_case references[] = {
    { "ring of 64", &reference_f64, REFERENCE_RING, UINT64_C(1) << 30, 1, 0.042278584, 0, 1e-9 },
    { "permutation", &reference_f64, REFERENCE_PERM, 100000000, 1, 0.006, 0.0031875, 1e-9 },
    { "permutation, random sizes", &reference_f64, REFERENCE_PERMRAND, 100000000, 1, 0.007045003, 0.003004677,
      1e-9 },
    { "8 permutations at once", &reference_f64, REFERENCE_PERMK, 100000000, 8, 0.032113727, 0.014929005,
      1e-9 },
    { "8 permutations at once, three tiers", &reference_f128r3, REFERENCE_PERMK, 100000000, 8, 0.028235199,
      0.015584099, 1e-9 },
    { "all to all", &reference_f64, REFERENCE_A2A, 1000000, 1, 0.00126, 0.00126, 1e-9 },
    { "all to all, random sizes", &reference_f64, REFERENCE_A2ARAND, 1000000, 1, 0.0013747, 0.001062188,
      1e-9 },
    { "churn of 2 rounds", &reference_f64, REFERENCE_CHURN, 100000000, 2, 0.013240595, 0.006052308, 1e-9 },
    { "churn of 5 rounds", &reference_f64, REFERENCE_CHURN, 100000000, 5, 0.027841895, 0.012329228, 1e-9 },
    { "churn of 20 rounds", &reference_f64, REFERENCE_CHURN, 100000000, 20, 0.102226539, 0, 1e-7 },
};

static void ends_are_those_of_reference(void **state)
{
    const struct reference_case *c = *state;
    arena *a = arena_create("test");
    sim *s = sim_create(a, NULL);
    // The oracle judges now and then: each time would take minutes.
    network *n = network_create_fluid(a, s, reference_topology(a, c->tree, 0),
                                      &(fluid_options){ .check_every = 97 });
    reference_run run = reference_play(a, s, n, c->kind, c->bytes, c->rounds);
    double last_s = units_s_from_ps(run.last_ps), mean_s = (double)run.sum_ps * 1e-12 / (double)run.finished;
    if (fabs(last_s - c->last_s) > c->within_s + 1e-12)
        fail_msg("last %.12f s, want %.9f", last_s, c->last_s);
    if (c->mean_s > 0 && fabs(mean_s - c->mean_s) > c->within_s + 1e-12)
        fail_msg("mean %.12f s, want %.9f", mean_s, c->mean_s);
    network_verify(n);
    sim_destroy(s);
    arena_destroy(a);
}

// ---- prepared requests

// One stream of two edges after another, every 7 us, 300 in all, while links fail, are slow and return, and routing follows
// 5 us later (adaptive routing at once): with each request made anew, or prepared once for all.
static bench *streams_while_links_change(bool prepared, uint32_t adaptive_ppm)
{
    const fabric_policy policy = { .routing = adaptive_ppm > 0 ? ROUTING_ADAPTIVE : ROUTING_STATIC,
                                   .queue_pairs = 1,
                                   .reroute_ps = 5000000 };
    bench *b = bench_of_four(&policy, adaptive_ppm, NULL);
    const network_edge edges[] = { { host_of(b->t, 0), host_of(b->t, 2), 100003, 1000 },
                                   { host_of(b->t, 1), host_of(b->t, 3), 70001, 500 } };
    network_request request = { .edges = edges,
                                .edge_count = 2,
                                .delay_crossings = 3,
                                .weight = 1,
                                .queue_pairs = 1,
                                .multiplicity = 2,
                                .client = b->client };
    const uint32_t number = network_prepare(b->n, &request);
    change_link(b, 300000000, "leaf 0 > spine 0", 0);
    change_link(b, 600000000, "leaf 0 > spine 0", 310);
    change_link(b, 900000000, "leaf 0 > spine 0", 1000);
    change_link(b, 1200000000, "spine 1 > leaf 1", 0);
    change_link(b, 1400000000, "leaf 0 > spine 0", 0); // now nothing leads there
    change_link(b, 1500000000, "leaf 0 > spine 0", 1000);
    for (uint32_t i = 0; i < 300; i++) {
        run_until(b, (sim_time)i * 7000000);
        request.tag = i;
        if (prepared)
            network_start_prepared(b->n, number, i);
        else
            network_start(b->n, &request);
    }
    run_to_end(b);
    return b;
}

static void prepared_requests_follow_the_links(void **state)
{
    (void)state;
    for (uint32_t adaptive_ppm = 0; adaptive_ppm <= 900000; adaptive_ppm += 900000) {
        bench *anew = streams_while_links_change(false, adaptive_ppm),
              *prepared = streams_while_links_change(true, adaptive_ppm);
        assert_int_equal(anew->count, 300);
        assert_memory_equal(anew->ends_ps, prepared->ends_ps, sizeof anew->ends_ps);
        assert_true(anew->ends_ps[0] + 293 * INT64_C(7000000) < anew->ends_ps[293]); // the links were felt
        for (link_id l = 0; l < topology_link_count(anew->t); l++)
            assert_int_equal(network_link_bytes(anew->n, l), network_link_bytes(prepared->n, l));
        bench_destroy(anew);
        bench_destroy(prepared);
    }
}

int main(void)
{
    static const struct CMUnitTest others[] = {
        cmocka_unit_test(link_down_and_up),
        cmocka_unit_test(link_degraded_and_repaired),
        cmocka_unit_test(link_down_for_good),
        cmocka_unit_test(link_that_blinks),
        cmocka_unit_test(what_was_on_the_way_is_sent_again),
        cmocka_unit_test(bundle_loses_a_member),
        cmocka_unit_test(bundles_that_do_not_match_carry_nothing),
        cmocka_unit_test(bundles_that_never_match_are_reported),
        cmocka_unit_test(queue_pairs_spread_and_are_capped),
        cmocka_unit_test(prepared_requests_follow_the_links),
    };
    struct CMUnitTest tests[ARRAY_COUNT(reroutes) + ARRAY_COUNT(references) + ARRAY_COUNT(others)];
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_COUNT(reroutes); i++)
        tests[n++] = (struct CMUnitTest){ reroutes[i].name, paths_follow_the_links, NULL, NULL,
                                          (void *)&reroutes[i] };
    for (size_t i = 0; i < ARRAY_COUNT(references); i++)
        tests[n++] = (struct CMUnitTest){ references[i].name, ends_are_those_of_reference, NULL, NULL,
                                          (void *)&references[i] };
    memcpy(tests + n, others, sizeof others);
    return cmocka_run_group_tests_name("fluid_links", tests, NULL, NULL);
}
