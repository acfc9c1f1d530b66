// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "models/network/network.h"
#include "sim/array.h"
#include "tests/support/fabric.h"
#include "tests/support/random.h"
#include <inttypes.h>

enum { LOG_MAX = 4096 };

typedef struct bench {
    arena *a;
    sim *s;
    const topology *t;
    network *n;
    uint16_t client;
    uint32_t count;
    uint64_t tags[LOG_MAX];
    sim_time times_ps[LOG_MAX];
    transfer_id ids[LOG_MAX];
} bench;

static void on_delivered(void *owner, uint64_t tag, transfer_id id)
{
    bench *b = owner;
    assert_false(network_in_flight(b->n, id));
    assert_true(b->count < LOG_MAX);
    b->tags[b->count] = tag;
    b->times_ps[b->count] = sim_now(b->s);
    b->ids[b->count++] = id;
}

static bench *bench_create(const sim_options *options)
{
    arena *a = arena_create("test");
    bench *b = arena_new(a, bench);
    b->a = a;
    b->s = sim_create(a, options);
    b->t = test_fabric(a, 2, WIRING_SWITCH, SCALE_UP_MBPS, CABLE_MBPS);
    b->n = network_create_ideal(a, b->s, b->t);
    b->client = network_add_client(b->n, on_delivered, b);
    return b;
}

static void bench_destroy(bench *b)
{
    sim_destroy(b->s);
    arena_destroy(b->a);
}

static transfer_id send(bench *b, uint64_t tag, gpu_id from, gpu_id to, uint64_t bytes, uint32_t multiplicity)
{
    network_edge edge = { .from = topology_gpu_vertex(b->t, from),
                          .to = topology_gpu_vertex(b->t, to),
                          .bytes = bytes };
    return network_start(b->n, &(network_request){ .edges = &edge,
                                                   .edge_count = 1,
                                                   .delay_crossings = 1,
                                                   .weight = 1,
                                                   .queue_pairs = 1,
                                                   .multiplicity = multiplicity,
                                                   .client = b->client,
                                                   .tag = tag });
}

// ---- times worked out by hand ----

struct time_case {
    const char *name;
    network_edge edges[3]; // from and to: GPUs
    uint32_t edge_count;
    sim_time latency_ps;
    uint32_t crossings;
    uint64_t cap_mBps;
    sim_time want_ps;
};
static const struct time_case times[] = {
    // 1234567 + 300200 + ceil(9173641 x 1000 / 0.4317)
    { "through the NVSwitch", { { 0, 5, 9173641, 0 } }, 1, 1234567, 1, 0, 22784805 },
    { "no bytes", { { 0, 5, 0, 0 } }, 1, 1234567, 1, 0, 1534767 },
    { "delay charged seven times", { { 0, 5, 9173641, 0 } }, 1, 1234567, 7, 0, 24586005 },
    // 2345678 + 281300 + ceil(9173641 x 1000 / 0.0483)
    { "between nodes: the cable is the narrowest", { { 0, 9, 9173641, 0 } }, 1, 2345678, 1, 0, 192557434 },
    { "capped", { { 0, 9, 9173641, 0 } }, 1, 2345678, 1, UINT64_C(31100000000000), 297599358 },
    { "a cap above the rate", { { 0, 9, 9173641, 0 } }, 1, 2345678, 1, UINT64_C(91100000000000), 192557434 },
    // 3 x 300200 + 18817367; 5100000 + 3 x 281300 + 21189628; 777 + 3 x 281300 + 41407930: the last is the longest
    { "a stream goes at the pace of its slowest edge",
      { { 0, 5, 8123457, 0 }, { 5, 9, 1023459, 5100000 }, { 9, 0, 2000003, 777 } },
      3,
      3456789,
      3,
      0,
      45709396 },
    { "nothing at all, at once", { { 0, 5, 0, 0 } }, 1, 0, 0, 0, 0 },
};

static void time_is_as_by_hand(void **state)
{
    const struct time_case *c = *state;
    bench *b = bench_create(NULL);
    network_edge edges[3];
    for (uint32_t e = 0; e < c->edge_count; e++) {
        edges[e] = c->edges[e];
        edges[e].from = topology_gpu_vertex(b->t, c->edges[e].from);
        edges[e].to = topology_gpu_vertex(b->t, c->edges[e].to);
    }
    network_start(b->n, &(network_request){ .edges = edges,
                                            .edge_count = c->edge_count,
                                            .latency_ps = c->latency_ps,
                                            .delay_crossings = c->crossings,
                                            .rate_cap_mBps = c->cap_mBps,
                                            .weight = 1,
                                            .queue_pairs = 1,
                                            .multiplicity = 1,
                                            .client = b->client,
                                            .tag = UINT64_C(0x123456789abcdef0) });
    assert_int_equal(b->count, 0); // delivery is an event, even of nothing
    assert_int_equal(sim_run(b->s, SIM_TIME_MAX), SIM_DRAINED);
    assert_int_equal(b->count, 1);
    assert_int_equal(b->times_ps[0], c->want_ps);
    assert_true(b->tags[0] == UINT64_C(0x123456789abcdef0));
    network_verify(b->n);
    bench_destroy(b);
}

// ---- life of a transfer, counters ----

static void counters_follow_a_transfer(void **state)
{
    (void)state;
    bench *b = bench_create(NULL);
    transfer_id first = send(b, 1, 0, 5, 1000003, 1), second = send(b, 2, 3, 12, 2000029, 6);
    transfer_id third = send(b, 3, 12, 3, 512927357, 2);
    assert_true(network_in_flight(b->n, first) && network_in_flight(b->n, second));
    assert_false(network_in_flight(b->n, (transfer_id){ 0 }));
    network_verify(b->n);
    network_counters c = network_counters_of(b->n);
    assert_int_equal(c.started, 3);
    assert_int_equal(c.in_flight, 3);
    assert_int_equal(c.bytes_sent, 1000003 + 6 * 2000029 + 2 * 512927357);
    assert_int_equal(c.bytes_received, 0);
    network_cancel(b->n, third);
    assert_false(network_in_flight(b->n, third));
    network_verify(b->n);
    assert_int_equal(sim_run(b->s, SIM_TIME_MAX), SIM_DRAINED);
    network_verify(b->n);
    c = network_counters_of(b->n);
    assert_int_equal(b->count, 2); // nobody is told of a cancelled one
    assert_int_equal(c.delivered, 2);
    assert_int_equal(c.cancelled, 1);
    assert_int_equal(c.bytes_sent, 1000003 + 6 * 2000029);
    assert_int_equal(c.bytes_received, c.bytes_sent);
    assert_int_equal(c.in_flight, 0);
    assert_int_equal(c.in_flight_high_water, 3);
    // A slot is used again under another generation: the old name stays stale.
    transfer_id again = send(b, 4, 0, 1, 7, 1);
    assert_true(again.index1 <= 3);
    assert_true(network_in_flight(b->n, again));
    assert_false(network_in_flight(b->n, first) || network_in_flight(b->n, second) ||
                 network_in_flight(b->n, third));
    network_cancel(b->n, again);
    assert_int_equal(network_engine_of(b->n), ENGINE_IDEAL);
    assert_ptr_equal(network_topology(b->n), b->t);
    assert_string_equal(network_engine_words[ENGINE_IDEAL], "ideal");
    bench_destroy(b);
}

static uint64_t link_bytes(const bench *b, const char *name)
{
    char text[160];
    for (link_id l = 0; l < topology_link_count(b->t); l++)
        if (strcmp(topology_link_name(b->t, l, text, sizeof text), name) == 0)
            return network_link_bytes(b->n, l);
    fail_msg("no link %s", name);
    return 0;
}

static void links_count_what_they_carried(void **state)
{
    (void)state;
    bench *b = bench_create(NULL);
    send(b, 1, 0, 5, 1000003, 1);
    send(b, 2, 0, 12, 2000029, 3);
    network_cancel(b->n, send(b, 3, 0, 12, 77, 1));
    assert_int_equal(sim_run(b->s, SIM_TIME_MAX), SIM_DRAINED);
    assert_int_equal(link_bytes(b, "node 0 gpu 0 > node 0 nvswitch 0"), 1000003);
    assert_int_equal(link_bytes(b, "node 0 nvswitch 0 > node 0 gpu 5"), 1000003);
    assert_int_equal(link_bytes(b, "node 0 nvswitch 0 > node 0 gpu 0"), 0);
    assert_int_equal(link_bytes(b, "node 0 gpu 0 > node 0 nic 0"), 2000029);
    assert_int_equal(link_bytes(b, "node 0 nic 0 > leaf 0"), 2000029);
    assert_int_equal(link_bytes(b, "leaf 0 > node 1 nic 2"), 2000029);
    assert_int_equal(link_bytes(b, "node 1 nic 2 > node 1 gpu 4"), 2000029);
    assert_int_equal(link_bytes(b, "leaf 0 > node 0 nic 0"), 0);
    assert_int_equal(network_counters_of(b->n).bytes_sent,
                     1000003 + 3 * 2000029); // those of other links among them
    bench_destroy(b);
}

// 2^40 requests of 2^30 bytes, as each of 16 groups: 2^74 bytes, which no 64 bits hold.
static void bytes_are_counted_beyond_64_bits(void **state)
{
    (void)state;
    bench *b = bench_create(NULL);
    const network_edge edge = { .from = topology_gpu_vertex(b->t, 0),
                                .to = topology_gpu_vertex(b->t, 5),
                                .bytes = UINT64_C(1) << 30 };
    network_carry(b->n,
                  &(network_request){ .edges = &edge,
                                      .edge_count = 1,
                                      .delay_crossings = 1,
                                      .weight = 1,
                                      .queue_pairs = 1,
                                      .multiplicity = 16,
                                      .client = b->client },
                  UINT64_C(1) << 40);
    const network_counters c = network_counters_of(b->n);
    assert_true(c.bytes_sent == (unsigned __int128)1 << 74 && c.bytes_received == c.bytes_sent);
    network_verify(b->n);
    bench_destroy(b);
}

// ---- laws on random traffic ----

// Random starts, streams, cancellations and multiplicities: bytes are kept, and every link carried what crossed it.
static void random_traffic_keeps_bytes(void **state)
{
    (void)state;
    const uint64_t seed = 20240611;
    uint64_t random = seed;
    bench *b = bench_create(NULL);
    uint64_t *want = arena_array(b->a, uint64_t, topology_link_count(b->t));
    uint64_t sent = 0;
    for (uint32_t round = 0; round < 40; round++) {
        transfer_id last = { 0 };
        for (uint32_t k = 0; k < 25; k++) {
            network_edge edges[9];
            uint32_t count = 1 + test_random_below(&random, 9),
                     multiplicity = 1 + test_random_below(&random, 4);
            bool cancelled = test_random_below(&random, 5) == 0;
            for (uint32_t e = 0; e < count; e++) {
                uint32_t from = test_random_below(&random, 16),
                         to = (from + 1 + test_random_below(&random, 15)) % 16;
                edges[e] = (network_edge){ .from = topology_gpu_vertex(b->t, from),
                                           .to = topology_gpu_vertex(b->t, to),
                                           .bytes = test_random_below(&random, 1000000) };
                link_id path[TOPOLOGY_PATH_MAX];
                uint32_t links = topology_route(b->t, edges[e].from, edges[e].to, path);
                for (uint32_t i = 0; i < links && !cancelled; i++)
                    want[path[i]] += edges[e].bytes;
                if (!cancelled) sent += edges[e].bytes * multiplicity;
            }
            last = network_start(b->n, &(network_request){ .edges = edges,
                                                           .edge_count = count,
                                                           .delay_crossings = 1,
                                                           .weight = 1,
                                                           .queue_pairs = 1,
                                                           .multiplicity = multiplicity,
                                                           .client = b->client });
            if (cancelled) network_cancel(b->n, last);
        }
        network_verify(b->n);
        sim_run(b->s, sim_now(b->s) + 3000000);
        network_verify(b->n);
    }
    assert_int_equal(sim_run(b->s, SIM_TIME_MAX), SIM_DRAINED);
    network_verify(b->n);
    network_counters c = network_counters_of(b->n);
    if (c.bytes_sent != sent || c.bytes_received != sent || c.delivered + c.cancelled != 1000)
        fail_msg("seed %" PRIu64 ": sent %" PRIu64 ", received %" PRIu64 ", want %" PRIu64, seed,
                 (uint64_t)c.bytes_sent, (uint64_t)c.bytes_received, sent);
    for (link_id l = 0; l < topology_link_count(b->t); l++)
        if (network_link_bytes(b->n, l) != want[l]) fail_msg("seed %" PRIu64 ": link %" PRIu32, seed, l);
    bench_destroy(b);
}

static sim_time lone_ps(uint64_t scale_up_mBps, uint64_t cable_mBps, gpu_id from, gpu_id to, uint64_t bytes)
{
    bench b = { .a = arena_create("test") };
    b.s = sim_create(b.a, NULL);
    b.t = test_fabric(b.a, 2, WIRING_SWITCH, scale_up_mBps, cable_mBps);
    b.n = network_create_ideal(b.a, b.s, b.t);
    b.client = network_add_client(b.n, on_delivered, &b);
    send(&b, 0, from, to, bytes, 1);
    sim_run(b.s, SIM_TIME_MAX);
    sim_time end_ps = b.times_ps[0];
    bench_destroy(&b);
    return end_ps;
}

static void a_faster_link_never_slows_a_transfer(void **state)
{
    (void)state;
    const uint64_t seed = 77003;
    uint64_t random = seed;
    for (uint32_t i = 0; i < 60; i++) {
        uint64_t slow = 1 + test_random(&random) % CABLE_MBPS,
                 fast = slow + test_random(&random) % CABLE_MBPS;
        uint32_t from = test_random_below(&random, 16), to = (from + 1 + test_random_below(&random, 15)) % 16;
        uint64_t bytes = test_random_below(&random, 3000);
        if (lone_ps(fast, fast, from, to, bytes) > lone_ps(slow, slow, from, to, bytes))
            fail_msg("seed %" PRIu64 ", case %" PRIu32, seed, i);
    }
}

int main(void)
{
    struct CMUnitTest tests[ARRAY_COUNT(times) + 5];
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_COUNT(times); i++)
        tests[n++] = (struct CMUnitTest){ times[i].name, time_is_as_by_hand, NULL, NULL, (void *)&times[i] };
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(bytes_are_counted_beyond_64_bits);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(counters_follow_a_transfer);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(links_count_what_they_carried);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(random_traffic_keeps_bytes);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(a_faster_link_never_slows_a_transfer);
    SIM_ASSERT(n == ARRAY_COUNT(tests));
    return cmocka_run_group_tests_name("ideal_network", tests, NULL, NULL);
}
