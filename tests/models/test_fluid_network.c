// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "tests/support/fluid_bench.h"

// ---- sharing, worked by hand

enum { SHARING_MAX = 5 };
struct sharing_case {
    const char *name;
    planned plan[SHARING_MAX];
    sim_time want_ps[SHARING_MAX];
};
static const struct sharing_case sharings[] = {
    // Both at 24.15 B/ns until 1000003e3 / 24.15 = 41407992; then the other has 2000026 B left at 48.3.
    { "two of unlike size on one cable",
      { { 0, 0, 8, 1000003, 0, 0 }, { 0, 1, 10, 3000029, 0, 0 } },
      { 41407992 + NET, 82816398 + NET } },
    // The third meets only the second, at the receiving cable, and has 24.15 to its end; the second then 24.15 of either.
    { "arrivals while others move",
      { { 0, 0, 8, 5000011, 0, 0 }, { 30000001, 1, 8, 1000003, 0, 0 }, { 30000001, 2, 9, 700001, 0, 0 } },
      { 138716667 + NET, 85900768 + NET, 73478324 + NET } },
    // Three at 16.1; two end at one instant, 2000002e3 / 16.1, and leave 2000001 B to the third, at 48.3.
    { "two depart at one instant",
      { { 0, 0, 8, 2000002, 0, 0 }, { 0, 1, 9, 2000002, 0, 0 }, { 0, 0, 12, 4000003, 0, 0 } },
      { 124223727 + NET, 124223727 + NET, 165631615 + NET } },
    // The third is capped at 7 B/ns; of the other 41.3 the weights make 30.975 and 10.325, until the cap no longer matters.
    { "weights and a cap",
      { { 0, 0, 8, 3000017, 3, 0 },
        { 0, 1, 8, 1000003, 1, 0 },
        { 0, 0, 10, 900007, 2, UINT64_C(7000000000001) } },
      { 96852785 + NET, 96852591 + NET, 128572429 + NET } },
    // Four to the receiving cable of GPUs 8 and 9, 12.075 each; the fifth leaves another NIC with what these spare there.
    { "two tiers of shares",
      { { 0, 0, 8, 4000037, 0, 0 },
        { 0, 1, 10, 4000037, 0, 0 },
        { 0, 2, 8, 4000037, 0, 0 },
        { 0, 3, 9, 1000003, 0, 0 },
        { 0, 4, 8, 2000003, 0, 0 } },
      { 227744928 + NET, 113872754 + NET, 227744928 + NET, 82815984 + NET, 144927785 + NET } },
    // 431.7 shared by two out of GPU 0 and by two into GPU 5; the one to the network is alone on its way.
    { "inside a node and out of it",
      { { 0, 0, 5, 50000017, 0, 0 },
        { 0, 0, 6, 70000003, 0, 0 },
        { 0, 1, 5, 60000011, 0, 0 },
        { 0, 0, 8, 1000003, 0, 0 } },
      { 231642423 + NODE, 277970860 + NODE, 254806644 + NODE, 20703996 + NET } },
    { "nothing to send",
      { { 0, 0, 8, 0, 0, 0 }, { 0, 0, 8, 1000003, 0, 0 }, { 5, 3, 9, 0, 0, 0 } },
      { NET, 20703996 + NET, 5 + NET } },
    { "many to one, one after another",
      { { 0, 0, 8, 1000003, 0, 0 },
        { 1000001, 1, 9, 1000003, 0, 0 },
        { 2000002, 2, 8, 1000003, 0, 0 },
        { 3000003, 3, 9, 1000003, 0, 0 },
        { 4000004, 4, 8, 1000003, 0, 0 } },
      { 97103307 + NET, 101103311 + NET, 102603312 + NET, 103269980 + NET, 103519980 + NET } },
};

static void shares_are_as_by_hand(void **state)
{
    const struct sharing_case *c = *state;
    for (int reverse = 0; reverse < 2; reverse++) {
        bench *b = bench_create(NULL, &(sim_options){ .reverse_phases = reverse == 1 });
        uint32_t count = 0;
        while (count < SHARING_MAX && c->plan[count].from != c->plan[count].to)
            count++;
        plan_starts(b, c->plan, count);
        run_to_end(b);
        for (uint32_t i = 0; i < count; i++)
            check_end(b, i, c->want_ps[i]);
        check_rest(b);
        bench_destroy(b);
    }
}

// A client that starts the next transfer when one is delivered; without delays arrival and departure fall on one instant,
// and what shares the link with both does not notice.
static void follow_with_the_next(bench *b, uint32_t tag)
{
    static const planned next = { 0, 0, 2, 1000003, 0, 0 };
    if (tag % 2 == 0 && tag < 6) send(b, tag + 2, &next);
}

static void arrival_and_departure_at_one_instant(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    bench *b = bench_on(a, hosts_on_a_switch(a, 4), &(fluid_options){ 0 }, NULL);
    static const planned plan[] = { { 0, 0, 2, 1000003, 0, 0 }, { 0, 0, 1, 4000012, 0, 0 } };
    b->after = follow_with_the_next;
    plan_starts(b, plan, 2);
    run_to_end(b);
    // The four short ones in a row, each at 24.15: ceil(1000003e3 / 24.15) each; the long one ends with the last.
    for (uint32_t i = 0; i < 4; i++)
        check_end(b, 2 * i, (i + 1) * (sim_time)41407992);
    check_end(b, 1, 4 * (sim_time)41407992);
    // Settles: at the start, at the ends of the four, and where the long one ends, 1 ps before the last of them, which then
    // has all. The long one's rate changed once, when it began.
    fluid_counters c = fluid_counters_of(b->n);
    assert_int_equal(c.settles, 6);
    assert_int_equal(c.rate_changes, 1 + 4 + 1);
    bench_destroy(b);
}

static void cancelled_ones_leave_their_share(void **state)
{
    (void)state;
    static const planned plan[] = { { 0, 0, 8, 5000011, 0, 0 }, { 0, 1, 10, 3000029, 0, 0 } };
    bench *b = bench_create(NULL, NULL);
    send(b, 0, &plan[0]);
    send(b, 1, &plan[1]);
    network_cancel(b->n, send(b, 2, &plan[0])); // in the instant of its start
    run_until(b, 20000000);
    assert_int_equal(network_link_bytes(b->n, find_link(b, "node 0 nic 0 > leaf 0")), 2 * 483000);
    assert_int_equal(network_link_bytes(b->n, find_link(b, "leaf 0 > node 1 nic 1")), 483000);
    network_cancel(b->n, b->ids[0]);
    assert_int_equal(network_counters_of(b->n).bytes_sent, 3000029);
    run_to_end(b);
    assert_int_equal(b->ends_ps[0], -1);
    check_end(b, 1, 20000000 + 52112402 + NET); // 2517029 B left at 48.3
    assert_int_equal(network_link_bytes(b->n, find_link(b, "node 0 nic 0 > leaf 0")), 483000 + 3000029);
    check_rest(b);
    bench_destroy(b);
}

// ---- against the ideal network

static sim_time play_lone(bool fluid, const network_request *request)
{
    arena *a = arena_create("test");
    bench *b = bench_on(a, test_fabric(a, 2, WIRING_SWITCH, SCALE_UP_MBPS, CABLE_MBPS), &(fluid_options){ 0 },
                        NULL);
    if (!fluid) {
        b->n = network_create_ideal(a, b->s, b->t);
        b->client = network_add_client(b->n, on_delivered, b);
    }
    network_request own = *request;
    own.client = b->client;
    network_start(b->n, &own);
    run_to_end(b);
    sim_time end_ps = b->ends_ps[0];
    bench_destroy(b);
    return end_ps;
}

// Edges of a random request: one; or a ring through random GPUs of one NIC each, so that no link is crossed twice, of equal
// bytes or of sizes that differ by up to 8 bytes.
static uint32_t random_edges(uint64_t *random, const topology *t, bool ring, network_edge *edges)
{
    uint32_t count = ring ? 2 + test_random_below(random, 6) : 1, shift = test_random_below(random, 8);
    uint64_t bytes = test_random_below(random, 3) ? 100000 + test_random_below(random, 10000000) : 0;
    for (uint32_t e = 0; e < count; e++) {
        gpu_id from = (e + shift) % 8 * 2,
               to = ring ? ((e + 1) % count + shift) % 8 * 2 : from + 1 + test_random_below(random, 15);
        edges[e] = (network_edge){ .from = topology_gpu_vertex(t, from),
                                   .to = topology_gpu_vertex(t, to % 16),
                                   .bytes = bytes,
                                   .latency_ps = test_random_below(random, 5000000) };
    }
    return count;
}

static void alone_it_equals_the_ideal_network(void **state)
{
    (void)state;
    const uint64_t seed = 6150911;
    uint64_t random = seed;
    arena *a = arena_create("test");
    const topology *t = test_fabric(a, 2, WIRING_SWITCH, SCALE_UP_MBPS, CABLE_MBPS);
    for (uint32_t i = 0; i < 200; i++) {
        network_edge edges[8];
        bool ring = i % 2 == 1;
        network_request request = { .edges = edges,
                                    .edge_count = random_edges(&random, t, ring, edges),
                                    .latency_ps = test_random_below(&random, 2) ? 1234567 : 0,
                                    .delay_crossings = 1 + test_random_below(&random, 9),
                                    .weight = 1 + test_random_below(&random, 3),
                                    .queue_pairs = 1,
                                    .multiplicity = 1 };
        if (test_random_below(&random, 3) == 0) request.rate_cap_mBps = 1 + test_random(&random) % CABLE_MBPS;
        // A weight rounds the level, so the rate: by less than the weight.
        sim_time ideal_ps = play_lone(false, &request), fluid_ps = play_lone(true, &request);
        sim_time allowed_ps = request.weight > 1 ? 1 : 0;
        if (fluid_ps < ideal_ps || fluid_ps > ideal_ps + allowed_ps)
            fail_msg("seed %" PRIu64 ", case %" PRIu32 ": fluid %" PRId64 " ps, ideal %" PRId64, seed, i,
                     fluid_ps, ideal_ps);
    }
    arena_destroy(a);
}

// ---- streams

// A ring of four GPUs; a transfer out of GPU 0 shares one of its eight links. It slows the whole ring, which leaves the rest
// of the other links to others.
static void stream_moves_at_the_pace_of_its_slowest_edge(void **state)
{
    (void)state;
    static const planned ring[] = { { 0, 0, 1, 30000017, 0, 0 },
                                    { 0, 1, 2, 30000017, 0, 0 },
                                    { 0, 2, 3, 30000017, 0, 0 },
                                    { 0, 3, 0, 30000017, 0, 0 } };
    static const planned out = { 0, 0, 5, 90000001, 0, 0 }, beside = { 0, 2, 6, 3000029, 0, 0 };
    bench *b = bench_create(NULL, NULL);
    send_stream(b, 0, ring, 4, 6);
    send(b, 1, &out);
    send(b, 2, &beside);
    run_to_end(b);
    check_end(b, 0, 138985486 + 6 * NODE); // 30000017e3 / 215.85
    check_end(b, 1, 277970855 + NODE);     // 29999984 B while the ring moves, the rest at 431.7
    check_end(b, 2, 13898676 + NODE);      // 3000029e3 / 215.85
    assert_int_equal(network_link_bytes(b->n, find_link(b, "node 0 nvswitch 0 > node 0 gpu 2")), 30000017);
    check_rest(b);
    bench_destroy(b);
}

// Two edges of a stream on one cable: it loads it twice, and each edge gets as much as a transfer of one edge.
static void stream_loads_a_link_as_often_as_it_crosses(void **state)
{
    (void)state;
    static const planned pair[] = { { 4001, 0, 8, 1000003, 0, 0 }, { 9007, 1, 10, 1000001, 0, 0 } };
    static const planned other = { 0, 0, 12, 1000003, 0, 0 };
    bench *b = bench_create(NULL, NULL);
    send_stream(b, 0, pair, 2, 3);
    send(b, 1, &other);
    run_until(b, 1000000);
    assert_int_equal(fluid_rate_mBps(b->n, b->ids[0]), 16100000000000);
    assert_int_equal(fluid_link_rate_mBps(b->n, find_link(b, "node 0 nic 0 > leaf 0")), 48300000000000);
    assert_int_equal(fluid_link_rate_mBps(b->n, find_link(b, "node 0 gpu 0 > node 0 nic 0")), 32200000000000);
    run_to_end(b);
    check_end(b, 0, 62111926 + 9007 + 3 * NET); // half of 2000004 B at 16.1, then the longest latency
    check_end(b, 1, 62111947 + NET);            // its last byte alone
    assert_int_equal(network_link_bytes(b->n, find_link(b, "node 0 nic 0 > leaf 0")), 3000007);
    check_rest(b);
    bench_destroy(b);
}

// Edges of two sizes: the greater counts for two, wherever it goes.
static void stream_of_unlike_edges(void **state)
{
    (void)state;
    static const planned pair[] = { { 0, 0, 8, 2000006, 0, 0 }, { 0, 2, 12, 1000003, 0, 0 } };
    static const planned other = { 0, 3, 14, 3000029, 0, 0 };
    bench *b = bench_create(NULL, NULL);
    send_stream(b, 0, pair, 2, 1);
    send(b, 1, &other);
    run_to_end(b);
    check_end(b, 0, 41407992 + NET); // 2000006e3 / 48.3
    check_end(b, 1, 82816398 + NET); // 24.15 beside it
    assert_int_equal(network_link_bytes(b->n, find_link(b, "node 0 nic 0 > leaf 0")), 2000006);
    assert_int_equal(network_link_bytes(b->n, find_link(b, "leaf 0 > node 1 nic 2")), 1000003);
    check_rest(b);
    bench_destroy(b);
}

// ---- options

// Two end 3 % apart; with windows of 5 % the first waits for the instant at which the second ends.
static void windows_let_transfers_end_together(void **state)
{
    (void)state;
    static const planned plan[] = { { 0, 0, 8, 1000003, 0, 0 },
                                    { 0, 2, 10, 1030003, 0, 0 },
                                    { 0, 4, 12, 2000003, 0, 0 } };
    bench *b = bench_create(&(fluid_options){ .completion_window = 0.05 }, NULL);
    plan_starts(b, plan, 3);
    run_to_end(b);
    // ends at 20703996, 21325114, 41407992 ps, up to multiples of 2^19, 2^20 and 2^20 ps
    check_end(b, 0, 20971520 + NET);
    check_end(b, 1, 22020096 + NET);
    check_end(b, 2, 41943040 + NET);
    fluid_counters c = fluid_counters_of(b->n);
    assert_int_equal(c.windowed, 3);
    assert_int_equal(c.latest_ps, 22020096 - 21325114);
    check_rest(b);
    bench_destroy(b);
}

// Six of equal size, three into one cable: all end when those three do.
static void phase_ends_with_its_last(void **state)
{
    (void)state;
    static const planned plan[] = { { 0, 0, 8, 2000003, 0, 0 },  { 0, 2, 8, 2000003, 0, 0 },
                                    { 0, 4, 9, 2000003, 0, 0 },  { 0, 4, 10, 2000003, 0, 0 },
                                    { 0, 12, 0, 2000003, 0, 0 }, { 0, 0, 1, 2000003, 0, 0 } };
    bench *b = bench_create(&(fluid_options){ .bottleneck_count = true }, NULL);
    plan_starts(b, plan, 6);
    run_until(b, 1000000);
    assert_int_equal(fluid_rate_mBps(b->n, b->ids[4]), 16100000000000);
    assert_int_equal(fluid_link_rate_mBps(b->n, find_link(b, "leaf 0 > node 1 nic 0")), 48300000000000);
    assert_int_equal(network_link_bytes(b->n, find_link(b, "leaf 0 > node 1 nic 0")), 3 * 16100);
    network_verify(b->n);
    run_to_end(b);
    for (uint32_t i = 0; i < 6; i++)
        check_end(b, i, 124223789 + (i == 5 ? NODE : NET)); // 2000003e3 / 16.1
    fluid_counters c = fluid_counters_of(b->n);
    assert_int_equal(c.phases, 1);
    assert_int_equal(c.phase_transfers, 6);
    assert_int_equal(c.solver.flows_changed, 0);
    assert_int_equal(network_link_bytes(b->n, find_link(b, "leaf 0 > node 1 nic 0")), 6000009);
    check_rest(b);
    bench_destroy(b);
}

// Broken up at 31055900 ps, when each has moved 500000 B (rounded): three with 1500003 B go on at their own rates.
static void phase_is_broken_up(void **state)
{
    (void)state;
    static const planned plan[] = { { 0, 0, 8, 2000003, 0, 0 },   { 0, 2, 8, 2000003, 0, 0 },
                                    { 0, 4, 9, 2000003, 0, 0 },   { 0, 6, 12, 2000003, 0, 0 },
                                    { 31055901, 5, 14, 0, 0, 0 }, { 31055901, 5, 14, 1000003, 0, 0 } };
    const struct {
        uint32_t starts, cancelled, degraded;
        sim_time want_ps[4];
    } rows[] = {
        // 500000.01 B each; the arrival shares the cable of NIC 2 with one of the three, but both get what they had
        { 6, 9, 0, { 124223789, 124223790, 124223790, 31055901 + 31055963 } },
        // one is taken away: the two others have 24.15
        { 4, 1, 0, { 31055901 + 62111926, -1, 31055901 + 62111926, 31055901 + 31055963 } },
        // a link of one at a tenth, and back at once: 4.83, then as before
        { 4, 9, 1, { 124223789, 124223790, 124223790, 31055901 + 31055963 } },
    };
    for (size_t r = 0; r < ARRAY_COUNT(rows); r++) {
        bench *b = bench_create(&(fluid_options){ .bottleneck_count = true }, NULL);
        plan_starts(b, plan, rows[r].starts);
        if (rows[r].degraded) change_link(b, 31055901, "node 1 nic 3 > node 1 gpu 7", 100);
        run_until(b, 31055900);
        network_verify(b->n);
        if (rows[r].cancelled < 4) {
            run_until(b, 31055901);
            network_cancel(b->n, b->ids[rows[r].cancelled]);
            network_verify(b->n);
        }
        run_to_end(b);
        for (uint32_t i = 0; i < 4; i++)
            check_end(b, i, rows[r].want_ps[i] < 0 ? -1 : rows[r].want_ps[i] + NET);
        assert_int_equal(fluid_counters_of(b->n).phases, 0);
        check_rest(b);
        bench_destroy(b);
    }
}

// ---- laws on random traffic

enum { RANDOM_TRANSFERS = 240, RANDOM_HOSTS = 16, FABRICS = 4 };

// Nodes of GPUs on one switch, and trees of sixteen hosts under each kind of routing.
static const topology *random_fabric(arena *a, uint32_t which)
{
    if (which == 0) return test_fabric(a, 2, WIRING_SWITCH, SCALE_UP_MBPS, CABLE_MBPS);
    static const routing_kind routings[] = { 0, ROUTING_STATIC, ROUTING_ECMP, ROUTING_ADAPTIVE };
    const fabric_tier tier = { .name = "switch",
                               .port_rate_mBps = CABLE_MBPS,
                               .switch_delay_ps = 230700,
                               .cable_delay_ps = 25300,
                               .adaptive_ppm = 970000 };
    topology *t = topology_create(a);
    for (uint32_t i = 0; i < RANDOM_HOSTS; i++)
        topology_add_node(t, &(node_wiring){ .nics = 1 });
    sim_error error = { 0 };
    assert_true(topology_add_xgft(t,
                                  &(xgft_def){ .tiers = 2,
                                               .children = { 4, 4 },
                                               .parents = { 1, 3 },
                                               .cables = { 1, 1 },
                                               .tier = { tier, tier } },
                                  &(fabric_places){ { NULL } }, &error));
    topology_set_policy(t, &(fabric_policy){ .routing = routings[which],
                                             .hash_key = 5,
                                             .queue_pairs = which == 2 ? 3 : 1,
                                             .reroute_ps = 7000000 });
    topology_seal(t);
    assert_true(topology_check(t, NULL, &error));
    return t;
}

typedef struct random_run {
    uint64_t digest;
    network_counters counters;
    fluid_counters fluid;
} random_run;

static void random_follow(bench *b, uint32_t tag)
{
    if (tag >= RANDOM_TRANSFERS / 2 || tag % 3) return;
    uint64_t random = tag;
    planned next = { 0,
                     test_random_below(&random, 8),
                     8 + test_random_below(&random, 8),
                     test_random_below(&random, 2000000),
                     1 + test_random_below(&random, 2),
                     0 };
    send(b, RANDOM_TRANSFERS + tag, &next);
}

// Waves of equal transfers, for phases of the bottleneck count; some have an odd one, and links change in between.
static void plan_in_waves(planned *plan)
{
    for (uint32_t i = 0; i < RANDOM_TRANSFERS; i++) {
        plan[i].start_ps = (sim_time)(i / 12) * 20000000;
        plan[i].bytes = i % 50 == 3 ? plan[i].bytes : 50003;
        plan[i].weight = 1;
        plan[i].cap_mBps = 0;
    }
}

static void random_plan(bench *b, uint64_t *random, bool waves)
{
    planned *plan = arena_array(b->a, planned, RANDOM_TRANSFERS);
    for (uint32_t i = 0; i < RANDOM_TRANSFERS; i++) {
        uint32_t from = test_random_below(random, RANDOM_HOSTS);
        plan[i] =
            (planned){ .start_ps = (sim_time)test_random_below(random, 400) * 1000000,
                       .from = from,
                       .to = (from + 1 + test_random_below(random, RANDOM_HOSTS - 1)) % RANDOM_HOSTS,
                       .bytes = test_random_below(random, 3000000),
                       .weight = 1 + test_random_below(random, 3),
                       .cap_mBps = test_random_below(random, 4) ? 0 : 1 + test_random(random) % CABLE_MBPS };
    }
    if (waves) plan_in_waves(plan);
    plan_starts(b, plan, RANDOM_TRANSFERS);
    // Links go down, degrade and come back; none changes twice in one instant, which would leave it to the order.
    for (uint32_t i = 0; i < 30; i++) {
        link_id l = test_random_below(random, topology_link_count(b->t));
        sim_time at_ps = (sim_time)test_random_below(random, 400) * 1000000 + i;
        sim_schedule(b->s, at_ps, b->kind_link, l, test_random_below(random, 3) * 333);
        sim_schedule(b->s, at_ps + 50000100, b->kind_link, l, 1000);
    }
}

// What arrives at the ends: everything that was received, and parts of what was cancelled.
static void check_arrivals(const bench *b, const network_counters *c)
{
    uint64_t carried = 0;
    for (link_id l = 0; l < topology_link_count(b->t); l++) {
        const topology_link *link = topology_link_at(b->t, l);
        if (topology_vertex_at(b->t, link->to)->kind == (topology_gpu_count(b->t) ? VERTEX_GPU : VERTEX_NIC))
            carried += network_link_bytes(b->n, l);
    }
    assert_true(carried >= c->bytes_received);
    if (c->cancelled == 0) assert_int_equal(carried, c->bytes_received);
}

// No link's bytes ever fall.
static void check_growth(const bench *b, uint64_t *before)
{
    for (link_id l = 0; l < topology_link_count(b->t); l++) {
        const uint64_t now = network_link_bytes(b->n, l);
        assert_true(now >= before[l]);
        before[l] = now;
    }
}

static random_run play_random(uint64_t seed, uint32_t fabric, bool cancels, const fluid_options *options,
                              const sim_options *loop)
{
    uint64_t random = seed;
    arena *a = arena_create("test");
    bench *b = bench_on(a, random_fabric(a, fabric), options, loop);
    if (!options->bottleneck_count) b->after = random_follow;
    random_plan(b, &random, options->bottleneck_count);
    uint64_t *carried = arena_array(a, uint64_t, topology_link_count(b->t));
    for (uint32_t k = 1; k <= 10; k++) {
        run_until(b, k * (sim_time)30000000);
        network_verify(b->n);
        check_growth(b, carried);
        uint32_t victim = test_random_below(&random, RANDOM_TRANSFERS);
        if (cancels && network_in_flight(b->n, b->ids[victim])) network_cancel(b->n, b->ids[victim]);
    }
    for (link_id l = 0; l < topology_link_count(b->t); l++)
        sim_schedule(b->s, 900000000, b->kind_link, l, 1000);
    run_to_end(b);
    check_rest(b);
    random_run run = { sim_digest(b->s), network_counters_of(b->n), fluid_counters_of(b->n) };
    check_arrivals(b, &run.counters);
    bench_destroy(b);
    return run;
}

static bool same_run(const random_run *a, const random_run *b)
{
    return a->digest == b->digest && a->counters.bytes_sent == b->counters.bytes_sent &&
           a->counters.retransmitted_bytes == b->counters.retransmitted_bytes &&
           a->fluid.settles == b->fluid.settles && a->fluid.rate_changes == b->fluid.rate_changes &&
           a->fluid.reroutes == b->fluid.reroutes;
}

static void neither_queue_nor_order_nor_solver_shows(void **state)
{
    (void)state;
    static const sim_options loops[] = { { .queue = QUEUE_RADIX },
                                         { .queue = QUEUE_HEAP, .reverse_phases = true },
                                         { .queue = QUEUE_BUCKET, .reverse_phases = true } };
    static const maxmin_policy policies[] = { MAXMIN_FULL, MAXMIN_INCREMENTAL, MAXMIN_AUTO };
    uint64_t reroutes = 0, resent = 0, windowed = 0, phases = 0;
    for (uint64_t seed = 501; seed < 513; seed++) {
        const uint32_t fabric = seed % FABRICS;
        fluid_options options = { .resends = seed % 2 == 0,
                                  .completion_window = seed % 3 == 0 ? 0.01 : 0.0,
                                  .bottleneck_count = seed % 3 == 1 };
        random_run want = play_random(seed, fabric, seed % 5 > 0, &options, NULL);
        reroutes += want.fluid.reroutes;
        resent += want.counters.retransmitted_bytes;
        windowed += want.fluid.windowed;
        phases += want.fluid.phases;
        for (size_t i = 0; i < ARRAY_COUNT(loops); i++) {
            options.policy = policies[i];
            random_run got = play_random(seed, fabric, seed % 5 > 0, &options, &loops[i]);
            if (!same_run(&got, &want)) fail_msg("seed %" PRIu64 ", variant %zu", seed, i);
        }
    }
    assert_true(reroutes > 0 && resent > 0 && windowed > 0 && phases > 0); // all of it was played
}

// The hosts of a switch under other numbers: every transfer ends when it did.
static void renaming_hosts_changes_nothing(void **state)
{
    (void)state;
    enum { HOSTS = 12, TRANSFERS = 150 };
    uint64_t random = 90017;
    uint32_t name[HOSTS];
    planned plans[2][TRANSFERS];
    for (uint32_t i = 0; i < HOSTS; i++)
        name[i] = i * 5 % HOSTS;
    for (uint32_t i = 0; i < TRANSFERS; i++) {
        const uint32_t from = test_random_below(&random, HOSTS);
        plans[0][i] = (planned){ .start_ps = (sim_time)test_random_below(&random, 50) * 1000000,
                                 .from = from,
                                 .to = (from + 1 + test_random_below(&random, HOSTS - 1)) % HOSTS,
                                 .bytes = 1 + test_random_below(&random, 900000),
                                 .weight = 1 + test_random_below(&random, 3) };
        plans[1][i] = plans[0][i];
        plans[1][i].from = name[plans[0][i].from];
        plans[1][i].to = name[plans[0][i].to];
    }
    uint64_t digests[2];
    for (int k = 0; k < 2; k++) {
        arena *a = arena_create("test");
        bench *b = bench_on(a, hosts_on_a_switch(a, HOSTS), &(fluid_options){ 0 }, NULL);
        plan_starts(b, plans[k], TRANSFERS);
        run_to_end(b);
        assert_int_equal(b->count, TRANSFERS);
        digests[k] = sim_digest(b->s);
        bench_destroy(b);
    }
    assert_int_equal(digests[0], digests[1]);
}

int main(void)
{
    static const struct CMUnitTest others[] = {
        cmocka_unit_test(arrival_and_departure_at_one_instant),
        cmocka_unit_test(cancelled_ones_leave_their_share),
        cmocka_unit_test(alone_it_equals_the_ideal_network),
        cmocka_unit_test(stream_moves_at_the_pace_of_its_slowest_edge),
        cmocka_unit_test(stream_loads_a_link_as_often_as_it_crosses),
        cmocka_unit_test(stream_of_unlike_edges),
        cmocka_unit_test(windows_let_transfers_end_together),
        cmocka_unit_test(phase_ends_with_its_last),
        cmocka_unit_test(phase_is_broken_up),
        cmocka_unit_test(renaming_hosts_changes_nothing),
        cmocka_unit_test(neither_queue_nor_order_nor_solver_shows),
    };
    struct CMUnitTest tests[ARRAY_COUNT(sharings) + ARRAY_COUNT(others)];
    for (size_t i = 0; i < ARRAY_COUNT(sharings); i++)
        tests[i] = (struct CMUnitTest){ sharings[i].name, shares_are_as_by_hand, NULL, NULL,
                                        (void *)&sharings[i] };
    memcpy(tests + ARRAY_COUNT(sharings), others, sizeof others);
    return cmocka_run_group_tests_name("fluid_network", tests, NULL, NULL);
}
