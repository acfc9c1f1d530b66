// SPDX-License-Identifier: GPL-3.0-or-later
// One collective on a cluster, against the closed forms of the player, by hand.
#include "tests/support/scratch.h"

#include "models/collective_bench.h"
#include "tests/support/loaded.h"

// Three nodes with eight GPUs and eight NICs of 200 Gb/s, of which 96 % are payload: 24 GB/s. Two GPUs of each take part, so
// two NICs of a node do, and there are two rings of six hops: three of NVLink, three over the network.
#define CLUSTER "cluster: { node: dgx-a100, nodes: 3, fabric: { topology: single-switch, switch: qm8790 } }\n"
#define TERMS                                                                                                \
    "  collectives:\n"                                                                                       \
    "    name: test\n"                                                                                       \
    "    ring:\n"                                                                                            \
    "      ll: { base: 6.613 us, nvlink: 607 ns, pcie: 1.013 us, network: 2.711 us, payload_ratio: 0.5 }\n"  \
    "      ll128: { base: 14.009 us, nvlink: 1.907 us, pcie: 2.503 us, network: 4.013 us, payload_ratio: "   \
    "0.9375 }\n"                                                                                             \
    "      simple: { base: 8.419 us, nvlink: 3.407 us, pcie: 5.701 us, network: 14.011 us, payload_ratio: "  \
    "1 }\n"                                                                                                  \
    "    send_recv_base: 5.303 us\n"                                                                         \
    "    nvls: { base: 24.907 us, least_ranks: 5 }\n"
#define IDEAL CLUSTER "network:\n  engine: ideal\n" TERMS
#define FLUID CLUSTER "network:\n  engine: fluid\n" TERMS

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
    const collective_bench_request request = { kind, bytes, algorithm, protocol, grain };
    collective_bench_result result;
    assert_null(collective_bench_refuse(u->bench, &request).why);
    collective_bench_play(u->bench, &request, &result);
    assert_false(result.cancelled);
    return result;
}

static void times_are_those_of_the_closed_forms(void **state)
{
    set_up *u = make(*state, IDEAL, NULL, 3, 2);
    // A hop is (3.407 + 14.011) / 2 = 8.709 us. Of an all-reduce of 12 MB a NIC carries 2 x 5/6 x 6 MB = 10 MB:
    // 8.419 + 10 x 8.709 + 10e6 / 24e3 us, the last of it 416.666667.
    collective_bench_result r = play(u, COLLECTIVE_ALL_REDUCE, 12000000, ALGORITHM_RING, PROTOCOL_SIMPLE,
                                     GRAIN_STREAMS);
    assert_int_equal(r.time_ps, 512175667);
    assert_int_equal(r.algorithm, ALGORITHM_RING);
    assert_int_equal(r.protocol, PROTOCOL_SIMPLE);
    assert_int_equal(r.channels, 2);
    assert_int_equal(r.wire_bytes, 20000000); // 2 x 5/6 x 12 MB
    assert_int_equal(r.nic_least_ps, 416666667);
    assert_int_equal(r.link_least_ps, 416666667);
    // Message by message ten steps of a chunk of 1 MB, 41.666667 us each.
    r = play(u, COLLECTIVE_ALL_REDUCE, 12000000, ALGORITHM_RING, PROTOCOL_SIMPLE, GRAIN_MESSAGES);
    assert_int_equal(r.time_ps, 512175670);
    // LL puts twice the bytes on the wire: 6.613 + 10 x (0.607 + 2.711) / 2 + 20e6 / 24e3 us.
    r = play(u, COLLECTIVE_ALL_REDUCE, 12000000, ALGORITHM_AUTO, PROTOCOL_LL, GRAIN_STREAMS);
    assert_int_equal(r.time_ps, 6613000 + 16590000 + 833333334);
    assert_int_equal(r.wire_bytes, 40000000);
    assert_int_equal(r.nic_least_ps, 833333334);
    // Half the steps and half the bytes; of a broadcast all of them, half by each ring.
    r = play(u, COLLECTIVE_ALL_GATHER, 12000000, ALGORITHM_AUTO, PROTOCOL_SIMPLE, GRAIN_STREAMS);
    assert_int_equal(r.time_ps, 8419000 + 43545000 + 208333334);
    r = play(u, COLLECTIVE_REDUCE_SCATTER, 12000000, ALGORITHM_AUTO, PROTOCOL_SIMPLE, GRAIN_STREAMS);
    assert_int_equal(r.time_ps, 8419000 + 43545000 + 208333334);
    r = play(u, COLLECTIVE_BROADCAST, 12000000, ALGORITHM_AUTO, PROTOCOL_SIMPLE, GRAIN_STREAMS);
    assert_int_equal(r.time_ps, 8419000 + 43545000 + 250000000);
    drop(u);
}

static void pairs_are_played_at_once(void **state)
{
    set_up *u = make(*state, IDEAL, NULL, 3, 2);
    // Every second pair crosses the network: 5.303 + 14.011 + 12e6 / 24e3 us.
    collective_bench_result r = play(u, COLLECTIVE_SEND_RECV, 12000000, ALGORITHM_AUTO, PROTOCOL_AUTO,
                                     GRAIN_STREAMS);
    assert_int_equal(r.time_ps, 519314000);
    assert_int_equal(r.algorithm, ALGORITHM_SEND_RECV);
    assert_int_equal(r.protocol, PROTOCOL_SIMPLE);
    assert_int_equal(r.wire_bytes, 12000000); // each rank sends a buffer
    assert_int_equal(r.nic_least_ps, 500000000);
    assert_int_equal(
        play(u, COLLECTIVE_SEND_RECV, 12000000, ALGORITHM_SEND_RECV, PROTOCOL_AUTO, GRAIN_STREAMS).digest,
        r.digest);
    // Of 30 pairs 6 are inside a node: a hop is (6 x 3.407 + 24 x 14.011) / 30 = 11.8902 us. A rank sends 2 MB to each of
    // four others over its NIC and to one over NVLink, at 300 x 0.9133 GB/s, one after another:
    // 5.303 + 5 x 11.8902 + 4 x 2e6 / 24e3 + 2e6 / 273.99e3 us
    r = play(u, COLLECTIVE_ALL_TO_ALL, 12000000, ALGORITHM_AUTO, PROTOCOL_AUTO, GRAIN_STREAMS);
    assert_near((double)r.time_ps, 405386869.0, 1e-7);
    assert_int_equal(r.algorithm, ALGORITHM_PAIRWISE);
    assert_int_equal(r.nic_least_ps, 333333334);
    drop(u);
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

// A NIC at half its rate: its ring takes twice as long for its bytes, and all are as slow as that.
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
    assert_int_equal(after.time_ps - before.time_ps, 416666667);
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
    refused(two, (collective_bench_request){ COLLECTIVE_SEND_RECV, 8, ALGORITHM_RING, PROTOCOL_AUTO, 0 },
            "send-recv has no algorithm \"ring\"", "send-recv");
    refused(two, (collective_bench_request){ COLLECTIVE_ALL_GATHER, 8, ALGORITHM_PAIRWISE, PROTOCOL_AUTO, 0 },
            "all-gather has no algorithm \"pairwise\"", "ring");
    refused(two, (collective_bench_request){ COLLECTIVE_ALL_TO_ALL, 8, ALGORITHM_AUTO, PROTOCOL_LL, 0 },
            "all-to-all takes its protocol by size and path, as NCCL does", "auto");
    refused(one, (collective_bench_request){ COLLECTIVE_ALL_GATHER, 8, ALGORITHM_NVLS, PROTOCOL_AUTO, 0 },
            "NVLS is modelled for all-reduce, not for all-gather", "ring");
    refused(two, (collective_bench_request){ COLLECTIVE_ALL_REDUCE, 8, ALGORITHM_NVLS, PROTOCOL_AUTO, 0 },
            "NVLS sums inside one NVSwitch, and the ranks are on several", "ring");
    refused(old, (collective_bench_request){ COLLECTIVE_ALL_REDUCE, 8, ALGORITHM_NVLS, PROTOCOL_AUTO, 0 },
            "the links between the GPUs of node \"dgx-a100\" cannot sum, so there is no NVLS", "ring");
    refused(
        one,
        (collective_bench_request){ COLLECTIVE_ALL_REDUCE, 8, ALGORITHM_NVLS, PROTOCOL_AUTO, GRAIN_MESSAGES },
        "NVLS is not modelled message by message", "streams");
    refused(one, (collective_bench_request){ COLLECTIVE_ALL_REDUCE, 8, ALGORITHM_NVLS, PROTOCOL_LL, 0 },
            "NVLS has no protocol \"ll\"", "simple");
    const collective_bench_result nvls = play(one, COLLECTIVE_ALL_REDUCE, 1 << 30, ALGORITHM_NVLS,
                                              PROTOCOL_SIMPLE, GRAIN_STREAMS);
    assert_int_equal(nvls.algorithm, ALGORITHM_NVLS);
    assert_int_equal(nvls.channels, 1);
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
    refused(many, (collective_bench_request){ COLLECTIVE_ALL_TO_ALL, 8, ALGORITHM_AUTO, PROTOCOL_AUTO, 0 },
            "all-to-all between 4800 ranks has 23,035,200 pairs, more than the 4.2 million that are played",
            NULL);
    refused(
        many,
        (collective_bench_request){ COLLECTIVE_ALL_REDUCE, 8, ALGORITHM_AUTO, PROTOCOL_AUTO, GRAIN_MESSAGES },
        "all-reduce between 4800 ranks has up to 368,563,200 messages; at most 25 million, which take 2 "
        "GB of memory, are played one by one",
        "streams");
    refused(many,
            (collective_bench_request){ COLLECTIVE_ALL_REDUCE, UINT64_C(1) << 30, ALGORITHM_AUTO,
                                        PROTOCOL_AUTO, 0 },
            "1.000 GiB may take longer than the 53 days that the clock is given", NULL);
    drop(many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(times_are_those_of_the_closed_forms, scratch_enter, scratch_leave),
        cmocka_unit_test_setup_teardown(pairs_are_played_at_once, scratch_enter, scratch_leave),
        cmocka_unit_test_setup_teardown(plays_know_nothing_of_one_another, scratch_enter, scratch_leave),
        cmocka_unit_test_setup_teardown(facts_tell_of_nodes_and_nics, scratch_enter, scratch_leave),
        cmocka_unit_test_setup_teardown(degraded_parts_are_felt, scratch_enter, scratch_leave),
        cmocka_unit_test(bus_bandwidth_is_that_of_nccl_tests),
        cmocka_unit_test_setup_teardown(what_cannot_be_played_is_refused, scratch_enter, scratch_leave),
        cmocka_unit_test_setup_teardown(what_is_too_large_is_refused, scratch_enter, scratch_leave),
    };
    return cmocka_run_group_tests_name("collective_bench", tests, NULL, NULL);
}
