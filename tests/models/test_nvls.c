// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/lone.h"

#include "models/collective/plan.h"
#include "sim/array.h"

// 2 to 9 ranks: each sends its whole buffer and its share once more.
static void every_rank_sends_a_buffer_and_a_share(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    for (uint32_t n = 2; n <= 9; n++) {
        const uint64_t sizes[] = { 0, 1, n, 12345 };
        for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
            plan p;
            plan_nvls(a,
                      &(plan_request){ .kind = COLLECTIVE_ALL_REDUCE,
                                       .rings = &(ring_set){ .ranks = n, .count = 1 },
                                       .bytes = sizes[i] },
                      &p);
            assert_int_equal(p.edge_count, n);
            assert_int_equal(p.steps, 1);
            assert_null(p.messages);
            for (uint32_t r = 0; r < n; r++) {
                assert_int_equal(p.edges[r].from, r);
                assert_int_equal(p.edges[r].to, (r + 1) % n);
                assert_int_equal(p.edges[r].bytes, sizes[i] + plan_chunk_bytes(sizes[i], n, r));
            }
            assert_int_equal(plan_payload_bytes(&p), (n + 1) * sizes[i]);
        }
    }
    arena_destroy(a);
}

static void time_is_that_of_the_formula(void **state)
{
    (void)state;
    // 24.9e-6 + 1.337e9 / 275e9; with a link of 301 GB/s 24.9e-6 + 8/7 x 1.337e9 / 301e9
    assert_near(nvls_time_s(7, 1.337e9, 24.9e-6, 275e9, 431e9), 4.886718181818182e-3, 1e-12);
    assert_near(nvls_time_s(7, 1.337e9, 24.9e-6, 275e9, 301e9), 5.10131196013289e-3, 1e-12);
}

// Nodes as in fabric.h.
static const topology *nvls_fabric(arena *a, uint64_t link_mBps)
{
    static const uint32_t nic_of_gpu[] = { 0, 0, 1, 1, 2, 2, 3, 3 };
    node_wiring wiring = { .gpus = 8,
                           .nics = 4,
                           .scale_up = WIRING_SWITCH,
                           .scale_up_rate_mBps = link_mBps,
                           .scale_up_delay_ps = 150100,
                           .nic_pcie_rate_mBps = PCIE_MBPS,
                           .nic_of_gpu = nic_of_gpu };
    topology *t = topology_create(a);
    topology_add_node(t, &wiring);
    topology_add_node(t, &wiring);
    sim_error error = { 0 };
    assert_true(topology_add_single_switch(t, &(single_switch_def){ .rate_mBps = CABLE_MBPS }, NULL, &error));
    topology_seal(t);
    return t;
}

// The first node's NVSwitch can sum, in loops of 16 KiB for each GPU; the second's cannot.
enum { NVLS_ENTRY_PS = 24907000, NVLS_CHUNK_BYTES = 16384 };
#define NVLS_GBPS 277.3

struct played_case {
    const char *name;
    uint32_t first, ranks;
    collective_kind kind;
    uint64_t bytes;
    int protocol, algorithm;
    collective_grain grain;
    uint64_t link_mBps;
    collective_algorithm want;
    bool held_back; // by the links: a buffer and a share on each
};
static const struct played_case played[] = {
    { "a node", 0, 8, COLLECTIVE_ALL_REDUCE, 805306368, PROTOCOL_AUTO, ALGORITHM_AUTO, GRAIN_STREAMS,
      SCALE_UP_MBPS, ALGORITHM_NVLS, false },
    { "held back by the links", 0, 8, COLLECTIVE_ALL_REDUCE, 805306368, PROTOCOL_AUTO, ALGORITHM_AUTO,
      GRAIN_STREAMS, UINT64_C(300000000000000), ALGORITHM_NVLS, true },
    { "part of a node", 1, 5, COLLECTIVE_ALL_REDUCE, 805306368, PROTOCOL_AUTO, ALGORITHM_AUTO, GRAIN_STREAMS,
      SCALE_UP_MBPS, ALGORITHM_NVLS, false },
    { "too few", 1, 4, COLLECTIVE_ALL_REDUCE, 805306368, PROTOCOL_AUTO, ALGORITHM_AUTO, GRAIN_STREAMS,
      SCALE_UP_MBPS, ALGORITHM_RING, false },
    { "few, but forced", 1, 2, COLLECTIVE_ALL_REDUCE, 805306368, PROTOCOL_AUTO, ALGORITHM_NVLS, GRAIN_STREAMS,
      UINT64_C(931700000000000), ALGORITHM_NVLS, false },
    { "small", 0, 8, COLLECTIVE_ALL_REDUCE, 1 << 20, PROTOCOL_AUTO, ALGORITHM_AUTO, GRAIN_STREAMS,
      SCALE_UP_MBPS, ALGORITHM_RING, false },
    { "a ring forced", 0, 8, COLLECTIVE_ALL_REDUCE, 805306368, PROTOCOL_AUTO, ALGORITHM_RING, GRAIN_STREAMS,
      SCALE_UP_MBPS, ALGORITHM_RING, false },
    { "another protocol forced", 0, 8, COLLECTIVE_ALL_REDUCE, 805306368, PROTOCOL_LL128, ALGORITHM_AUTO,
      GRAIN_STREAMS, SCALE_UP_MBPS, ALGORITHM_RING, false },
    { "an all-gather has none", 0, 8, COLLECTIVE_ALL_GATHER, 805306368, PROTOCOL_AUTO, ALGORITHM_NVLS,
      GRAIN_STREAMS, SCALE_UP_MBPS, ALGORITHM_RING, false },
    { "nor has a group over nodes", 4, 8, COLLECTIVE_ALL_REDUCE, 805306368, PROTOCOL_AUTO, ALGORITHM_NVLS,
      GRAIN_STREAMS, SCALE_UP_MBPS, ALGORITHM_RING, false },
    { "nor a switch that cannot", 8, 8, COLLECTIVE_ALL_REDUCE, 805306368, PROTOCOL_AUTO, ALGORITHM_NVLS,
      GRAIN_STREAMS, SCALE_UP_MBPS, ALGORITHM_RING, false },
    { "as messages", 0, 8, COLLECTIVE_ALL_REDUCE, 805306368, PROTOCOL_AUTO, ALGORITHM_AUTO, GRAIN_MESSAGES,
      SCALE_UP_MBPS, ALGORITHM_NVLS, false },
    { "nor a rank alone", 3, 1, COLLECTIVE_ALL_REDUCE, 805306368, PROTOCOL_AUTO, ALGORITHM_NVLS,
      GRAIN_STREAMS, SCALE_UP_MBPS, ALGORITHM_RING, false },
};

// Latency: entry and two loops of 16 KiB from each of h GPUs; then the buffer at the rate of the copy loops, or (n + 1)
// / n of it at that of a link.
static double want_ps(const struct played_case *c)
{
    const double share = (double)plan_chunk_bytes(c->bytes, c->ranks, 0);
    const double moving_ps = c->held_back ? ((double)c->bytes + share) / ((double)c->link_mBps * 1e-15)
                                          : (double)c->bytes / NVLS_GBPS * 1e3;
    return NVLS_ENTRY_PS + 2.0 * c->ranks * NVLS_CHUNK_BYTES / NVLS_GBPS * 1e3 + moving_ps;
}

static void check_links(const struct played_case *c, const network *n, vertex_id member)
{
    uint32_t count;
    const topology *t = network_topology(n);
    const link_id up = topology_outgoing(t, member, &count)[0];
    const uint64_t share = plan_chunk_bytes(c->bytes, c->ranks, 0);
    assert_int_equal(topology_link_at(t, up)->class, LINK_NVLINK);
    const uint64_t off = c->grain == GRAIN_MESSAGES ? 1000 : 1; // of 12,288 acts, each rounded
    const uint64_t least = c->bytes + share - off, most = c->bytes + share + off - 1;
    assert_in_range(network_link_bytes(n, up), least, most);
    assert_in_range(network_link_bytes(n, topology_link_back(up)), least, most);
}

// On both networks; the forecast says the same, and each link of a member carries its buffer and a share, both ways.
static void the_switch_sums_where_it_can(void **state)
{
    const struct played_case *c = *state;
    test_costs first, second;
    test_costs_copy(&test_usual_costs, &first);
    test_costs_copy(&test_usual_costs, &second);
    first.link.nvls =
        (nvls_costs){ .channels = 1, .rate_Bps = NVLS_GBPS * 1e9, .chunk_bytes = NVLS_CHUNK_BYTES };
    first.link.nvls_entry_ps = NVLS_ENTRY_PS;
    first.link.search.nvls_rate_Bps = 46e9;
    const collective_costs kinds[] = { first.kind, second.kind };
    static const uint32_t kind_of_node[] = { 0, 1 };
    const collective_hardware hardware = { .kinds = kinds, .kind_of_node = kind_of_node };
    for (int engine = ENGINE_IDEAL; engine <= ENGINE_FLUID; engine++) {
        arena *a = arena_create("test");
        sim *s = sim_create(a, NULL);
        const topology *t = nvls_fabric(a, c->link_mBps);
        network *n = engine == ENGINE_IDEAL
                         ? network_create_ideal(a, s, t)
                         : network_create_fluid(a, s, t, &(fluid_options){ .check_every = 1 });
        collective_result got = { 0 };
        collectives *player = collectives_create(a, s, n,
                                                 &(collectives_options){ .library = &first.library,
                                                                         .hardware = &hardware,
                                                                         .grain = c->grain,
                                                                         .forced_algorithm = c->algorithm,
                                                                         .done = lone_done,
                                                                         .owner = &got });
        vertex_id members[8];
        for (uint32_t i = 0; i < c->ranks; i++)
            members[i] = topology_gpu_vertex(t, c->first + i);
        const group_id g = collectives_add_group(
            player, &(group_def){ .members = members, .count = c->ranks, .multiplicity = 1, .label = "tp" });
        const collective_request request = {
            .kind = c->kind, .group = g, .bytes = c->bytes, .forced_protocol = c->protocol
        };
        const double predicted_s = collective_predict_s(player, &request);
        const uint32_t i = collective_open(player, &request);
        for (uint32_t m = 0; m < c->ranks; m++)
            collective_arrive(player, i, m);
        assert_int_equal(sim_run(s, SIM_TIME_MAX), SIM_DRAINED);
        assert_string_equal(collective_algorithm_words[got.algorithm], collective_algorithm_words[c->want]);
        if (c->want == ALGORITHM_NVLS && c->ranks > 1) {
            // Acts of the switch are a loop each: the times of thousands are rounded.
            const double within_ps = c->grain == GRAIN_MESSAGES ? 1e-4 * want_ps(c) : 3;
            assert_true(fabs((double)got.end_ps - want_ps(c)) < within_ps);
            if (!c->held_back) assert_near(predicted_s, want_ps(c) * 1e-12, 1e-8);
            check_links(c, n, members[0]);
        }
        network_verify(n);
        sim_destroy(s);
        arena_destroy(a);
    }
}

int main(void)
{
    struct CMUnitTest tests[ARRAY_COUNT(played) + 2];
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_COUNT(played); i++)
        tests[n++] = (struct CMUnitTest){ played[i].name, the_switch_sums_where_it_can, NULL, NULL,
                                          (void *)&played[i] };
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(every_rank_sends_a_buffer_and_a_share);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(time_is_that_of_the_formula);
    SIM_ASSERT(n == ARRAY_COUNT(tests));
    return cmocka_run_group_tests_name("nvls", tests, NULL, NULL);
}
