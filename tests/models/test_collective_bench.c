// SPDX-License-Identifier: GPL-3.0-or-later
// One collective on a cluster, against the closed forms of the player, by hand.
#include "tests/support/scratch.h"

#include "models/collective/pace.h"
#include "models/collective_bench.h"
#include "tests/support/loaded.h"

// Three nodes with eight GPUs and eight NICs of 200 Gb/s, of which 96 % are payload: 24 GB/s. Two GPUs of each take part, so
// two NICs of a node do, and there are two rings of six hops: three of NVLink at 300 x 0.8 GB/s, three over the network.
#define CLUSTER "cluster: { node: dgx-a100, nodes: 3, fabric: { topology: single-switch, switch: qm8790 } }\n"
#define IDEAL CLUSTER "network:\n  engine: ideal\n"
#define FLUID CLUSTER "network:\n  engine: fluid\n"

typedef struct set_up {
    loaded l;
    collective_bench *bench;
} set_up;

// The bench keeps the scenario: so both lie where they stay.
static set_up *make(const scratch_folder *folder, const char *text, const char *set, uint32_t nodes,
                    uint32_t gpus)
{
    set_up *u = calloc(1, sizeof *u);
    const char *const sets[] = { set };
    assert_non_null(u);
    if (!loaded_read(&u->l, folder, text, sets, set ? 1 : 0) || !scenario_check(&u->l.s, false, &u->l.error))
        fail_msg("%s", u->l.error.message);
    const collective_bench_options wanted = { .nodes = nodes, .gpus_per_node = gpus };
    u->bench = collective_bench_create(u->l.a, &u->l.s, &wanted, &u->l.error);
    assert_non_null(u->bench);
    return u;
}

static void drop(set_up *u)
{
    arena_destroy(u->l.a);
    free(u);
}

static collective_bench_result play(const set_up *u, collective_kind kind, uint64_t bytes, int algorithm,
                                    int protocol, collective_grain grain)
{
    const collective_bench_request request = { kind, bytes, algorithm, protocol, grain, NULL };
    collective_bench_result result;
    assert_null(collective_bench_refuse(u->bench, &request).why);
    collective_bench_play(u->bench, &request, &result);
    assert_false(result.cancelled);
    return result;
}

// What the library's kernels take on such a layout, made by hand; pace.h has tests of its own.
static sim_time paced_ps(const set_up *u, collective_kind kind, collective_algorithm algorithm,
                         collective_protocol protocol, uint32_t *channels)
{
    const node_def *node = &u->l.s.cluster.node;
    const collective_layout layout = { .ranks = 6,
                                       .nodes = 3,
                                       .ranks_per_node = 2,
                                       .nics_per_node = 2,
                                       .link_mBps = UINT64_C(240000000000000),
                                       .nic_mBps = UINT64_C(24000000000000),
                                       .nvswitch = true,
                                       .nvls = true,
                                       .adaptive = true,
                                       .link = &node->scale_up.costs,
                                       .nic = &node->nic.costs,
                                       .queue_pairs = 1 };
    const collective_pace pace = pace_of(&u->l.s.network.collectives, &layout, kind, algorithm, protocol,
                                         12000000);
    *channels = pace.channels;
    return pace_time_ps(&pace);
}

static void times_are_those_of_the_kernels(void **state)
{
    static const struct {
        collective_kind kind;
        collective_algorithm algorithm;
        collective_protocol protocol;
        uint64_t wire_bytes;   // of a rank, mean
        sim_time nic_least_ps; // of the busiest NIC; 0: not looked at
    } rows[] = {
        // 2 x 5/6 x 12 MB; a NIC carries half of it
        { COLLECTIVE_ALL_REDUCE, ALGORITHM_RING, PROTOCOL_SIMPLE, 20000000, 416666667 },
        { COLLECTIVE_ALL_REDUCE, ALGORITHM_RING, PROTOCOL_LL, 40000000,
          833333334 }, // twice the bytes on the wire
        { COLLECTIVE_ALL_REDUCE, ALGORITHM_TREE, PROTOCOL_SIMPLE, 20000000, 0 },
        { COLLECTIVE_ALL_GATHER, ALGORITHM_RING, PROTOCOL_SIMPLE, 10000000, 208333334 },
        { COLLECTIVE_REDUCE_SCATTER, ALGORITHM_RING, PROTOCOL_SIMPLE, 10000000, 208333334 },
        { COLLECTIVE_BROADCAST, ALGORITHM_RING, PROTOCOL_SIMPLE, 10000000, 250000000 },
    };
    set_up *u = make(*state, IDEAL, NULL, 3, 2);
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        uint32_t channels;
        const sim_time want_ps = paced_ps(u, rows[i].kind, rows[i].algorithm, rows[i].protocol, &channels);
        const collective_bench_result r = play(u, rows[i].kind, 12000000, (int)rows[i].algorithm,
                                               (int)rows[i].protocol, GRAIN_STREAMS);
        assert_in_range(r.time_ps + 1, want_ps, want_ps + 2);
        assert_int_equal(r.algorithm, rows[i].algorithm);
        assert_int_equal(r.protocol, rows[i].protocol);
        assert_int_equal(r.channels, channels);
        assert_int_equal(r.wire_bytes, rows[i].wire_bytes);
        if (rows[i].nic_least_ps) assert_int_equal(r.nic_least_ps, rows[i].nic_least_ps);
        const collective_bench_result m = play(u, rows[i].kind, 12000000, (int)rows[i].algorithm,
                                               (int)rows[i].protocol, GRAIN_MESSAGES);
        assert_near((double)m.time_ps, (double)want_ps, 0.06); // what is gathered in one loop: 5.4 %
        assert_int_equal(m.wire_bytes, rows[i].wire_bytes);
    }
    drop(u);
}

static void pairs_are_played_at_once(void **state)
{
    set_up *u = make(*state, IDEAL, NULL, 3, 2);
    // Every second pair crosses the network, and is the slower.
    uint32_t channels;
    collective_bench_result r = play(u, COLLECTIVE_SEND_RECV, 12000000, ALGORITHM_AUTO, PROTOCOL_AUTO,
                                     GRAIN_STREAMS);
    const sim_time sent_ps = paced_ps(u, COLLECTIVE_SEND_RECV, ALGORITHM_SEND_RECV, PROTOCOL_SIMPLE,
                                      &channels);
    assert_in_range(r.time_ps + 1, sent_ps, sent_ps + 2);
    assert_int_equal(r.channels, channels);
    assert_int_equal(r.algorithm, ALGORITHM_SEND_RECV);
    assert_int_equal(r.protocol, PROTOCOL_SIMPLE);
    assert_int_equal(r.wire_bytes, 12000000); // each rank sends a buffer
    assert_int_equal(r.nic_least_ps, 500000000);
    assert_int_equal(
        play(u, COLLECTIVE_SEND_RECV, 12000000, ALGORITHM_SEND_RECV, PROTOCOL_AUTO, GRAIN_STREAMS).digest,
        r.digest);
    // A rank sends 2 MB to each of four others over its NIC and to one over NVLink.
    r = play(u, COLLECTIVE_ALL_TO_ALL, 12000000, ALGORITHM_AUTO, PROTOCOL_AUTO, GRAIN_STREAMS);
    const sim_time exchanged_ps = paced_ps(u, COLLECTIVE_ALL_TO_ALL, ALGORITHM_PAIRWISE, PROTOCOL_SIMPLE,
                                           &channels);
    assert_in_range(r.time_ps + 1, exchanged_ps, exchanged_ps + 2);
    assert_int_equal(r.algorithm, ALGORITHM_PAIRWISE);
    assert_int_equal(r.nic_least_ps, 333333334);
    drop(u);
}

// Five ranks send 30 MB each to the first one, whose NIC carries those of the four on other nodes at 24 GB/s: 5 ms. On the way
// out none of them would take more than 1.25 ms. So too in messages, each of which has its own share.
static void a_hot_receiver_takes_as_long_as_its_column(void **state)
{
    set_up *u = make(*state, FLUID, NULL, 3, 2);
    uint64_t parts[36] = { 0 };
    for (uint32_t from = 0; from < 6; from++)
        parts[from * 6] = 30000000; // its own stays
    for (int grain = GRAIN_STREAMS; grain <= GRAIN_MESSAGES; grain++) {
        collective_bench_request request = {
            COLLECTIVE_ALL_TO_ALL_UNEQUAL, 30000000, ALGORITHM_AUTO, PROTOCOL_AUTO,
            (collective_grain)grain,       parts
        };
        collective_bench_result r;
        assert_null(collective_bench_refuse(u->bench, &request).why);
        collective_bench_play(u->bench, &request, &r);
        assert_int_equal(r.algorithm, ALGORITHM_PAIRWISE);
        assert_int_equal(r.nic_least_ps, 5000000000);
        assert_int_equal(r.wire_bytes, 25000000); // five of six send
        // As long as where all receive as much, which the kernels slow down a little.
        const collective_bench_result equal = play(u, COLLECTIVE_ALL_TO_ALL, 180000000, ALGORITHM_AUTO,
                                                   PROTOCOL_AUTO, (collective_grain)grain);
        assert_int_equal(equal.nic_least_ps, 5000000000);
        assert_near((double)r.time_ps, (double)equal.time_ps, 1e-6);
        assert_near((double)r.time_ps, 5.2e9, 0.04);
    }
    drop(u);
}

// Channels to a peer are those of all ranks' communicator, not of the pair: published runs of H100 (collectives.csv) show three
// rates, of one channel, two and four; within a tenth, for the costs are fitted to other runs as well.
static void sends_have_the_channels_of_all_ranks(void **state)
{
    static const struct {
        uint32_t nodes, gpus, channels;
        double measured_Bps;
    } rows[] = { { 2, 8, 4, 43.0e9 },    // of 16 channels, two batches of peers take four each
                 { 2, 4, 4, 40.9e9 },    // one batch
                 { 10, 4, 2, 26.2e9 },   // of 16, five batches
                 { 10, 8, 1, 15.2e9 } }; // ten batches
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        set_up *u = make(*state,
                         "cluster:\n  node: dgx-h100\n  nodes: 10\n"
                         "  fabric: { topology: rail-optimized, switch: qm9700, cable: 30 m }\n",
                         NULL, rows[i].nodes, rows[i].gpus);
        const uint64_t bytes = UINT64_C(1) << 33;
        const collective_bench_result r = play(u, COLLECTIVE_SEND_RECV, bytes, ALGORITHM_AUTO, PROTOCOL_AUTO,
                                               GRAIN_STREAMS);
        assert_int_equal(r.channels, rows[i].channels);
        assert_near((double)bytes / units_s_from_ps(r.time_ps), rows[i].measured_Bps, 0.1);
        drop(u);
    }
}

// Two nodes with one GPU each, whose NIC has a cable to each of two switches: a queue pair takes one of them, by chance.
static double bonded_ms(const scratch_folder *folder, uint32_t queue_pairs, uint32_t seed)
{
    char text[1024];
    snprintf(text, sizeof(text),
             "cluster:\n  node: { base: dgx-h100, nics: 1, nic: connectx-6 }\n  nodes: 2\n"
             "  fabric:\n    topology: file\n    routing: ecmp\n    queue_pairs: %u\n    cables:\n"
             "      - { a: node0/nic0, b: leaf0, rate: 200 Gb/s, delay: 500 ns }\n"
             "      - { a: node0/nic0, b: leaf1, rate: 200 Gb/s, delay: 500 ns }\n"
             "      - { a: node1/nic0, b: leaf0, rate: 200 Gb/s, delay: 500 ns }\n"
             "      - { a: node1/nic0, b: leaf1, rate: 200 Gb/s, delay: 500 ns }\n"
             "run: { seed: %u }\n",
             queue_pairs, seed);
    set_up *u = make(folder, text, NULL, 2, 1);
    const collective_bench_result r = play(u, COLLECTIVE_ALL_REDUCE, UINT64_C(1) << 30, ALGORITHM_RING,
                                           PROTOCOL_SIMPLE, GRAIN_STREAMS);
    drop(u);
    return units_s_from_ps(r.time_ps) * 1e3;
}

static void bonded_cables_are_taken_by_queue_pairs(void **state)
{
    uint32_t on_one = 0, on_both = 0;
    // 2 x 1/2 x 1 GiB at 24 GB/s: 44.74 ms
    assert_near(bonded_ms(*state, 1, 1), 44.74, 0.01);
    for (uint32_t seed = 1; seed <= 8; seed++) {
        const double time_ms = bonded_ms(*state, 2, seed);
        if (fabs(time_ms / 44.74 - 1) < 0.01)
            on_one++;
        else if (time_ms < 0.7 * 44.74 && time_ms > 0.5 * 44.74)
            on_both++;
    }
    assert_int_equal(on_one + on_both, 8);
    assert_true(on_one > 0 && on_both > 0);
}

static void plays_know_nothing_of_one_another(void **state)
{
    set_up *u = make(*state, FLUID, NULL, 3, 2);
    const collective_bench_result first = play(u, COLLECTIVE_ALL_REDUCE, 12000000, ALGORITHM_AUTO,
                                               PROTOCOL_AUTO, GRAIN_STREAMS);
    play(u, COLLECTIVE_ALL_TO_ALL, 77777, ALGORITHM_AUTO, PROTOCOL_AUTO, GRAIN_MESSAGES);
    const size_t used = arena_used_bytes(u->l.a);
    const collective_bench_result again = play(u, COLLECTIVE_ALL_REDUCE, 12000000, ALGORITHM_AUTO,
                                               PROTOCOL_AUTO, GRAIN_STREAMS);
    assert_int_equal(arena_used_bytes(u->l.a), used);
    assert_int_equal(again.time_ps, first.time_ps);
    assert_int_equal(again.digest, first.digest);
    assert_int_equal(again.events, first.events);
    drop(u);
}

static void facts_tell_of_nodes_and_nics(void **state)
{
    set_up *u = make(*state, IDEAL, NULL, 2, 0);
    const collective_bench_facts *f = collective_bench_facts_of(u->bench);
    assert_int_equal(f->nodes, 2);
    assert_int_equal(f->gpus_per_node, 8);
    assert_int_equal(f->ranks, 16);
    assert_int_equal(f->domain_nodes, 1);
    assert_int_equal(f->nics_per_node, 8);
    assert_int_equal(f->nic_mBps, 24000000000000);
    assert_true(f->leaves_domain && !f->degraded);
    drop(u);
    // Eight GPUs on four NICs: two share one, and three of them have two.
    u = make(*state, IDEAL, "cluster.node.nics=4", 0, 3);
    f = collective_bench_facts_of(u->bench);
    assert_int_equal(f->nodes, 3);
    assert_int_equal(f->ranks, 9);
    assert_int_equal(f->nics_per_node, 2);
    drop(u);
    // Sixteen on eight GPUs: each has two.
    u = make(*state, IDEAL, "cluster={ node: { base: dgx-a100, nics: 16 } }", 0, 3);
    assert_int_equal(collective_bench_facts_of(u->bench)->nics_per_node, 6);
    drop(u);
    // Two racks of eighteen trays, the second with two of them.
    u = make(*state,
             "cluster: { node: gb200-nvl72-tray, nodes: 20, fabric: { topology: rail-optimized, switch: "
             "qm9700 } }\n",
             NULL, 0, 0);
    f = collective_bench_facts_of(u->bench);
    assert_int_equal(f->domain_nodes, 2);
    assert_int_equal(f->nics_per_node, 4);
    assert_true(f->leaves_domain);
    drop(u);
    u = make(*state, "cluster: { node: dgx-h100 }\n", NULL, 0, 0);
    f = collective_bench_facts_of(u->bench);
    assert_int_equal(f->domain_nodes, 1);
    assert_false(f->leaves_domain);
    drop(u);
}

// A NIC at half its rate: its ring takes twice as long for its bytes, and all are nearly as slow as that.
// A DGX A100 has a NIC with one cable for each GPU: queue pairs change something where they choose among paths (two leaves),
// have a rate of their own, or a GPU has two NICs.
static void queue_pairs_are_felt_where_they_choose(void **state)
{
    static const struct {
        const char *fabric, *set;
        uint32_t nodes;
        bool felt;
    } rows[] = {
        { "single-switch, switch: qm8790", NULL, 3, false },
        { "single-switch, switch: qm8790", NULL, 1, false },
        { "single-switch, switch: qm8790", "cluster.fabric.queue_pair_rate=10 Gb/s", 3, true },
        { "single-switch, switch: qm9700", "cluster.node.nics=16", 3, true },
        { "spine-leaf, switch: qm8790, leaves: 2, spines: 2, uplinks: 8", NULL, 3, false },
        { "spine-leaf, switch: qm8790, leaves: 2, spines: 2, uplinks: 8, routing: ecmp", NULL, 3, true },
    };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        char text[512];
        snprintf(text, sizeof(text), "cluster: { node: dgx-a100, nodes: 3, fabric: { topology: %s } }\n",
                 rows[i].fabric);
        set_up *u = make(*state, text, rows[i].set, rows[i].nodes, 0);
        assert_int_equal(collective_bench_feels_queue_pairs(u->bench), rows[i].felt);
        drop(u);
    }
}

static void degraded_parts_are_felt(void **state)
{
    set_up *healthy = make(*state, FLUID, NULL, 3, 2),
           *slow = make(*state, FLUID, "cluster.degraded=[{ nic: node 1 nic 0, rate: 0.5 }]", 3, 2);
    const collective_bench_result before = play(healthy, COLLECTIVE_ALL_REDUCE, 12000000, ALGORITHM_AUTO,
                                                PROTOCOL_SIMPLE, GRAIN_STREAMS),
                                  after = play(slow, COLLECTIVE_ALL_REDUCE, 12000000, ALGORITHM_AUTO,
                                               PROTOCOL_SIMPLE, GRAIN_STREAMS);
    char name[192];
    assert_true(collective_bench_facts_of(slow->bench)->degraded);
    assert_int_equal(collective_bench_facts_of(slow->bench)->nic_mBps, 24000000000000);
    assert_int_equal(before.nic_least_ps, 416666667);
    assert_int_equal(after.nic_least_ps, 833333334);
    assert_in_range(after.time_ps - before.time_ps, 300000000, 416666667);
    topology_link_name(collective_bench_fabric(slow->bench), after.busiest_link, name, sizeof name);
    assert_string_equal(name, "node 1 nic 0 > leaf 0");
    drop(healthy);
    drop(slow);
}

static void bus_bandwidth_is_that_of_nccl_tests(void **state)
{
    (void)state;
    // multi-10x8-h100.log: 33,554,432 bytes on 80 ranks in 798.52 us are 82.99 GB/s all-reduced;
    // 33,553,920 gathered in 682.20 us 48.57, reduced and scattered in 689.11 us 48.08, all to all in 970.33 us 34.15;
    // sent in 2271.70 us 14.77.
    const struct {
        collective_kind kind;
        uint64_t bytes;
        double time_us, bus_GBps;
    } rows[] = {
        { COLLECTIVE_ALL_REDUCE, 33554432, 798.52, 82.99 },
        { COLLECTIVE_ALL_GATHER, 33553920, 682.20, 48.57 },
        { COLLECTIVE_REDUCE_SCATTER, 33553920, 689.11, 48.08 },
        { COLLECTIVE_ALL_TO_ALL, 33553920, 970.33, 34.15 },
        { COLLECTIVE_SEND_RECV, 33554432, 2271.70, 14.77 },
    };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
        assert_near(
            collective_bench_bus_Bps(rows[i].kind, 80, rows[i].bytes, (sim_time)(rows[i].time_us * 1e6)) *
                1e-9,
            rows[i].bus_GBps, 3e-4);
    assert_true(collective_bench_bus_factor(COLLECTIVE_BROADCAST, 7) == 1.0);
}

static void refused(const set_up *u, collective_bench_request request, const char *why, const char *valid)
{
    const collective_bench_obstacle o = collective_bench_refuse(u->bench, &request);
    assert_non_null(o.why);
    assert_string_equal(o.why, why);
    if (valid)
        assert_string_equal(o.valid, valid);
    else
        assert_null(o.valid);
}

static void what_cannot_be_played_is_refused(void **state)
{
    set_up *two = make(*state, IDEAL, NULL, 2, 0),
           *old = make(*state, "cluster: { node: dgx-a100 }\n", NULL, 0, 0),
           *one = make(*state, "cluster: { node: dgx-h100 }\n", NULL, 0, 0);
    refused(two,
            (collective_bench_request){ COLLECTIVE_SEND_RECV, 8, ALGORITHM_RING, PROTOCOL_AUTO, 0, NULL },
            "send-recv has no algorithm \"ring\" here", "send-recv");
    refused(
        two,
        (collective_bench_request){ COLLECTIVE_ALL_GATHER, 8, ALGORITHM_PAIRWISE, PROTOCOL_AUTO, 0, NULL },
        "all-gather has no algorithm \"pairwise\" here", "ring, recursive or hierarchical");
    refused(two, (collective_bench_request){ COLLECTIVE_ALL_TO_ALL, 8, ALGORITHM_AUTO, PROTOCOL_LL, 0, NULL },
            "pairwise has no protocol \"ll\"", "simple");
    refused(one,
            (collective_bench_request){ COLLECTIVE_ALL_GATHER, 8, ALGORITHM_NVLS, PROTOCOL_AUTO, 0, NULL },
            "all-gather has no algorithm \"nvls\" here", "ring or recursive");
    refused(two,
            (collective_bench_request){ COLLECTIVE_ALL_REDUCE, 8, ALGORITHM_NVLS, PROTOCOL_AUTO, 0, NULL },
            "NVLS needs an NVSwitch that can sum", "ring, tree, recursive or hierarchical");
    refused(old,
            (collective_bench_request){ COLLECTIVE_ALL_REDUCE, 8, ALGORITHM_NVLS, PROTOCOL_AUTO, 0, NULL },
            "NVLS needs an NVSwitch that can sum", "ring, tree or recursive");
    refused(one, (collective_bench_request){ COLLECTIVE_ALL_REDUCE, 8, ALGORITHM_NVLS, PROTOCOL_LL, 0, NULL },
            "nvls has no protocol \"ll\"", "simple");
    const collective_bench_result nvls = play(one, COLLECTIVE_ALL_REDUCE, 1 << 30, ALGORITHM_NVLS,
                                              PROTOCOL_SIMPLE, GRAIN_STREAMS);
    assert_int_equal(nvls.algorithm, ALGORITHM_NVLS);
    assert_int_equal(nvls.channels, 16);
    assert_int_equal(nvls.nic_least_ps, 0);
    drop(two);
    drop(old);
    drop(one);
}

static void what_is_too_large_is_refused(void **state)
{
    set_up *many = make(*state,
                        "cluster: { node: dgx-a100, nodes: 600, fabric: { topology: single-switch, "
                        "link: { rate: 1 MB/s, delay: 1 us } } }\n",
                        NULL, 0, 0);
    refused(many,
            (collective_bench_request){ COLLECTIVE_ALL_TO_ALL, 8, ALGORITHM_AUTO, PROTOCOL_AUTO, 0, NULL },
            "all-to-all between 4800 ranks has 23,035,200 pairs, more than the 4.2 million that are played",
            NULL);
    refused(many,
            (collective_bench_request){ COLLECTIVE_ALL_REDUCE, 8, ALGORITHM_RING, PROTOCOL_AUTO,
                                        GRAIN_MESSAGES, NULL },
            "all-reduce between 4800 ranks has 368,563,200 messages; at most 25 million, which take 2 "
            "GB of memory, are played one by one",
            "streams");
    refused(many,
            (collective_bench_request){ COLLECTIVE_ALL_REDUCE, UINT64_C(1) << 30, ALGORITHM_AUTO,
                                        PROTOCOL_AUTO, 0, NULL },
            "1.000 GiB may take longer than the 53 days that the clock is given", NULL);
    drop(many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(times_are_those_of_the_kernels, scratch_enter, scratch_leave),
        cmocka_unit_test_setup_teardown(pairs_are_played_at_once, scratch_enter, scratch_leave),
        cmocka_unit_test_setup_teardown(a_hot_receiver_takes_as_long_as_its_column, scratch_enter,
                                        scratch_leave),
        cmocka_unit_test_setup_teardown(sends_have_the_channels_of_all_ranks, scratch_enter, scratch_leave),
        cmocka_unit_test_setup_teardown(bonded_cables_are_taken_by_queue_pairs, scratch_enter, scratch_leave),
        cmocka_unit_test_setup_teardown(plays_know_nothing_of_one_another, scratch_enter, scratch_leave),
        cmocka_unit_test_setup_teardown(facts_tell_of_nodes_and_nics, scratch_enter, scratch_leave),
        cmocka_unit_test_setup_teardown(queue_pairs_are_felt_where_they_choose, scratch_enter, scratch_leave),
        cmocka_unit_test_setup_teardown(degraded_parts_are_felt, scratch_enter, scratch_leave),
        cmocka_unit_test(bus_bandwidth_is_that_of_nccl_tests),
        cmocka_unit_test_setup_teardown(what_cannot_be_played_is_refused, scratch_enter, scratch_leave),
        cmocka_unit_test_setup_teardown(what_is_too_large_is_refused, scratch_enter, scratch_leave),
    };
    return cmocka_run_group_tests_name("collective_bench", tests, NULL, NULL);
}
