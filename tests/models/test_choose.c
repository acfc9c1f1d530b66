// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "models/collective/choose.h"
#include "sim/array.h"
#include "tests/support/nccl_terms.h"

static const ring_hops nvlink = { .rate_mBps = UINT64_C(431700000000000), .counts = { [LINK_NVLINK] = 8 } };
static const ring_hops pcie = { .rate_mBps = UINT64_C(24300000000000), .counts = { [LINK_PCIE] = 4 } };
static const ring_hops network_hop = { .rate_mBps = UINT64_C(48300000000000),
                                       .counts = { [LINK_NETWORK] = 16 } };
// Two nodes of eight, a ring on each of eight NICs.
static const ring_hops nodes = { .rate_mBps = UINT64_C(386400000000000),
                                 .counts = { [LINK_NVLINK] = 8 * 14, [LINK_NETWORK] = 8 * 2 } };
static const ring_hops hosts = { .rate_mBps = UINT64_C(48300000000000),
                                 .counts = { [LINK_PCIE] = 6, [LINK_NETWORK] = 2 } };

static const ring_hops nvls = { .rate_mBps = UINT64_C(431700000000000),
                                .counts = { [LINK_NVLINK] = 8 },
                                .nvls_rate_mBps = UINT64_C(277300000000000) };

struct choice_case {
    const char *name;
    collective_kind kind;
    uint32_t ranks;
    uint64_t bytes;
    const ring_hops *hops;
    int forced;
    collective_protocol want;
    double want_s;
};
static const struct choice_case choices[] = {
    // 6.613e-6 + 14 x 0.607e-6 + 14/8 x 65537 / (431.7e9 / 2); LL128 would take 41.0 us, Simple 56.4 us
    { "small: LL", COLLECTIVE_ALL_REDUCE, 8, 65537, &nvlink, PROTOCOL_AUTO, PROTOCOL_LL,
      1.5642340050961314e-05 },
    // 14.009e-6 + 14 x 1.907e-6 + 14/8 x 2.9e7 / (431.7e9 x 120/128); LL 250 us, Simple 173.7 us
    { "middle: LL128", COLLECTIVE_ALL_REDUCE, 8, 29000000, &nvlink, PROTOCOL_AUTO, PROTOCOL_LL128,
      1.661027223380434e-4 },
    // 8.419e-6 + 14 x 3.407e-6 + 14/8 x 1.337e9 / 431.7e9
    { "large: Simple", COLLECTIVE_ALL_REDUCE, 8, 1337000000, &nvlink, PROTOCOL_AUTO, PROTOCOL_SIMPLE,
      5.475968748899699e-3 },
    // 8.419e-6 + 6 x 5.701e-6 + 6/4 x 2.1e6 / 24.3e9; LL128 would take 167 us but is not for PCIe
    { "no LL128 over PCIe", COLLECTIVE_ALL_REDUCE, 4, 2100000, &pcie, PROTOCOL_AUTO, PROTOCOL_SIMPLE,
      1.7225462962962963e-4 },
    { "LL128 over PCIe when forced", COLLECTIVE_ALL_REDUCE, 4, 2100000, &pcie, PROTOCOL_LL128, PROTOCOL_LL128,
      1.672986049382716e-4 },
    // 14.009e-6 + 15 x 4.013e-6 + 15/16 x 7.7e6 / (48.3e9 x 120/128)
    { "all-gather between nodes", COLLECTIVE_ALL_GATHER, 16, 7700000, &network_hop, PROTOCOL_AUTO,
      PROTOCOL_LL128, 2.3362428985507246e-4 },
    // 6.613e-6 + 15 x 2.711e-6 + 15/16 x 9001 / (48.3e9 / 2)
    { "reduce-scatter between nodes", COLLECTIVE_REDUCE_SCATTER, 16, 9001, &network_hop, PROTOCOL_AUTO,
      PROTOCOL_LL, 4.762741770186335e-5 },
    { "Simple when forced", COLLECTIVE_REDUCE_SCATTER, 16, 9001, &network_hop, PROTOCOL_SIMPLE,
      PROTOCOL_SIMPLE, 2.1875870885093167e-4 },
    // hop (14 x 1.907 + 2 x 4.013)/16 = 2.17025e-6: 14.009e-6 + 30 hop + 30/16 x 8e7 / (386.4e9 x 120/128)
    { "all NICs of two nodes: LL128", COLLECTIVE_ALL_REDUCE, 16, 80000000, &nodes, PROTOCOL_AUTO,
      PROTOCOL_LL128, 4.931951749482401e-4 },
    // hop (14 x 3.407 + 2 x 14.011)/16 = 4.7325e-6: 8.419e-6 + 30 hop + 30/16 x 8.59e9 / 386.4e9
    { "all NICs of two nodes: Simple", COLLECTIVE_ALL_REDUCE, 16, 8590000000, &nodes, PROTOCOL_AUTO,
      PROTOCOL_SIMPLE, 4.183323561490683e-2 },
    // one hop over PCIe is enough. Hop (6 x 5.701 + 2 x 14.011)/8 = 7.7785e-6: 8.419e-6 + 7 hop + 7/8 x 5e6 / 48.3e9
    { "no LL128 where a hop is PCIe", COLLECTIVE_ALL_GATHER, 8, 5000000, &hosts, PROTOCOL_AUTO,
      PROTOCOL_SIMPLE, 1.5344821014492754e-4 },
    // 5.303e-6 + 3.407e-6 + 9173641 / 431.7e9
    // 24.907e-6 + 2.9e7 / 277.3e9, where LL128 would take 166.1 us
    { "middle, in an NVSwitch that sums", COLLECTIVE_ALL_REDUCE, 8, 29000000, &nvls, PROTOCOL_AUTO,
      PROTOCOL_SIMPLE, 1.2948687737910928e-4 },
    { "small, in an NVSwitch that sums: LL", COLLECTIVE_ALL_REDUCE, 8, 65537, &nvls, PROTOCOL_AUTO,
      PROTOCOL_LL, 1.5642340050961314e-05 },
    { "an all-gather in an NVSwitch that sums", COLLECTIVE_ALL_GATHER, 5, 1337000000, &nvls, PROTOCOL_AUTO,
      PROTOCOL_SIMPLE, 2.4996935137827194e-3 },
    { "send-recv in a node", COLLECTIVE_SEND_RECV, 2, 9173641, &nvlink, PROTOCOL_AUTO, PROTOCOL_SIMPLE,
      2.9960037062775074e-05 },
    // 5.303e-6 + 0.607e-6 + 16384 / (431.7e9 / 2)
    { "send-recv, small", COLLECTIVE_SEND_RECV, 2, 16384, &nvlink, PROTOCOL_SIMPLE, PROTOCOL_LL,
      5.985904563354181e-06 },
    // 5.303e-6 + 3.407e-6 + 16385 / 431.7e9
    { "send-recv, a byte more", COLLECTIVE_SEND_RECV, 2, 16385, &nvlink, PROTOCOL_AUTO, PROTOCOL_SIMPLE,
      8.747954598100533e-06 },
    // 5.303e-6 + 14.011e-6 + 16384 / 48.3e9
    { "send-recv between nodes, small", COLLECTIVE_SEND_RECV, 2, 16384, &network_hop, PROTOCOL_AUTO,
      PROTOCOL_SIMPLE, 1.965321325051760e-05 },
    { "one rank costs nothing", COLLECTIVE_ALL_REDUCE, 1, 9173641, &nvlink, PROTOCOL_AUTO, PROTOCOL_SIMPLE,
      0 },
};

static void choice_is_as_by_hand(void **state)
{
    const struct choice_case *c = *state;
    collective_choice got = collective_choose(&test_terms, c->kind, c->ranks, c->bytes, c->hops, c->forced,
                                              ALGORITHM_AUTO);
    assert_int_equal(got.protocol, c->want);
    assert_near(got.predicted_s, c->want_s, 1e-9);
    const bool in_switch = c->kind == COLLECTIVE_ALL_REDUCE && c->hops == &nvls && c->want == PROTOCOL_SIMPLE;
    assert_int_equal(got.algorithm, in_switch ? ALGORITHM_NVLS : plan_usual_algorithm(c->kind));
    sim_time base_ps = in_switch ? 0 : test_terms.ring[c->want].base_ps; // the latency is that of its step
    if (c->kind == COLLECTIVE_SEND_RECV) base_ps = test_terms.send_recv_base_ps;
    assert_int_equal(got.base_ps, c->ranks == 1 ? 0 : base_ps);
}

static void ties_go_to_the_later(void **state)
{
    (void)state;
    collective_terms equal = { .name = "equal" };
    for (int i = 0; i < PROTOCOLS; i++)
        equal.ring[i] = test_terms.ring[PROTOCOL_LL];
    collective_choice got = collective_choose(&equal, COLLECTIVE_ALL_GATHER, 5, 70001, &nvlink, PROTOCOL_AUTO,
                                              ALGORITHM_AUTO);
    assert_int_equal(got.protocol, PROTOCOL_SIMPLE);
    equal.ring[PROTOCOL_SIMPLE].base_ps++;
    got = collective_choose(&equal, COLLECTIVE_ALL_GATHER, 5, 70001, &nvlink, PROTOCOL_AUTO, ALGORITHM_AUTO);
    assert_int_equal(got.protocol, PROTOCOL_LL128);
    got = collective_choose(&equal, COLLECTIVE_ALL_GATHER, 5, 70001, &pcie, PROTOCOL_AUTO, ALGORITHM_AUTO);
    assert_int_equal(got.protocol, PROTOCOL_LL);
}

struct wire_case {
    const char *name;
    double ratio;
    uint64_t payload, want;
};
static const struct wire_case wires[] = {
    { "LL doubles", 0.5, 4097, 8194 },
    { "a line of LL128", 0.9375, 120, 128 },
    { "rounded up", 0.9375, 121, 130 }, // 129.07
    { "nothing", 0.9375, 0, 0 },
    { "Simple is exact beyond 2^53", 1, UINT64_C(9007199254740993), UINT64_C(9007199254740993) },
};

static void wire_bytes_round_up(void **state)
{
    const struct wire_case *c = *state;
    assert_true(protocol_wire_bytes(&(protocol_terms){ .payload_ratio = c->ratio }, c->payload) == c->want);
}

// ---- the catalogue's keys ----

static bool read_terms(arena *a, const char *yaml, collective_terms *out, sim_error *error)
{
    document doc;
    if (!document_parse(a, "terms.yaml", yaml, strlen(yaml), NULL, &doc, error)) return false;
    bind_reader *reader = bind_reader_create(a, NULL, NULL);
    bind_reader_allow_missing(reader); // of what the kernels do
    return bind_read(reader, collective_library_binds, doc.root, "", out, error);
}

static const char terms_yaml[] =
    "name: test\n"
    "nvls: { base: 24.907 us, least_ranks: 5 }\n"
    "send_recv_base: 5.303 us\n"
    "ring:\n"
    "  ll: { base: 6.613 us, nvlink: 607 ns, pcie: 1013 ns, network: 2711 ns, payload_ratio: 0.5 }\n"
    "  ll128: { base: 14.009 us, nvlink: 1907 ns, pcie: 2503 ns, network: 4013 ns, "
    "payload_ratio: 0.9375 }\n"
    "  simple: { base: 8.419 us, nvlink: 3407 ns, pcie: 5701 ns, network: 14011 ns, "
    "payload_ratio: 1 }\n"
    "channels: { in_node: 23, over_nodes: 17, per_gpu: 3, memory_traffic: 2.1 }\n";

static void keys_fill_their_fields(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    sim_error error = { 0 };
    collective_terms got;
    if (!read_terms(a, terms_yaml, &got, &error)) fail_msg("%s", error.message);
    assert_string_equal(got.name, "test");
    assert_int_equal(got.nvls.base_ps, test_terms.nvls.base_ps);
    assert_int_equal(got.nvls.least_ranks, test_terms.nvls.least_ranks);
    assert_int_equal(got.send_recv_base_ps, test_terms.send_recv_base_ps);
    assert_int_equal(got.channels.in_node, 23);
    assert_int_equal(got.channels.over_nodes, 17);
    assert_int_equal(got.channels.per_gpu, 3);
    assert_near(got.channels.memory_traffic, 2.1, 1e-15);
    for (int i = 0; i < PROTOCOLS; i++) {
        assert_int_equal(got.ring[i].base_ps, test_terms.ring[i].base_ps);
        for (int class = 0; class < LINK_CLASSES; class ++)
            assert_int_equal(got.ring[i].hop_ps[class], test_terms.ring[i].hop_ps[class]);
        assert_near(got.ring[i].payload_ratio, test_terms.ring[i].payload_ratio, 1e-15);
    }
    arena_destroy(a);
}

int main(void)
{
    struct CMUnitTest tests[ARRAY_COUNT(choices) + ARRAY_COUNT(wires) + 2];
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_COUNT(choices); i++)
        tests[n++] = (struct CMUnitTest){ choices[i].name, choice_is_as_by_hand, NULL, NULL,
                                          (void *)&choices[i] };
    for (size_t i = 0; i < ARRAY_COUNT(wires); i++)
        tests[n++] = (struct CMUnitTest){ wires[i].name, wire_bytes_round_up, NULL, NULL, (void *)&wires[i] };
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(ties_go_to_the_later);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(keys_fill_their_fields);
    SIM_ASSERT(n == ARRAY_COUNT(tests));
    return cmocka_run_group_tests_name("choose", tests, NULL, NULL);
}
