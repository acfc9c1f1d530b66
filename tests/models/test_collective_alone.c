// SPDX-License-Identifier: GPL-3.0-or-later
// Collectives that are only counted against the same ones played: equal ends, digest, counters and bytes of every link.
#include "tests/support/near.h"

#include "models/collective/collective.h"
#include "models/network/fluid_network.h"
#include "sim/array.h"
#include "tests/support/fabric.h"
#include "tests/support/test_costs.h"

enum { NODES = 3 };

typedef struct bench {
    arena *a;
    sim *s, *alone;
    const topology *t;
    network *n;
    collectives *c;
    sim_time end_ps;
    uint32_t ended;
} bench;

static void on_done(void *owner, const collective_result *result)
{
    bench *b = owner;
    b->ended++;
    b->end_ps = result->end_ps;
}

static bench bench_create(network_engine engine)
{
    bench b = { .a = arena_create("test") };
    b.s = sim_create(b.a, NULL);
    b.alone = sim_create(b.a, NULL);
    b.t = test_fabric(b.a, NODES, WIRING_SWITCH, SCALE_UP_MBPS, CABLE_MBPS);
    b.n = engine == ENGINE_IDEAL ? network_create_ideal(b.a, b.s, b.t)
                                 : network_create_fluid(b.a, b.s, b.t, &(fluid_options){ .check_every = 97 });
    return b;
}

static void add_player(bench *b, collective_grain grain)
{
    b->c = collectives_create(b->a, b->s, b->n,
                              &(collectives_options){ .library = &test_usual_costs.library,
                                                      .hardware = &test_usual_costs.hardware,
                                                      .grain = grain,
                                                      .done = on_done,
                                                      .owner = b,
                                                      .alone = b->alone });
}

static void bench_destroy(const bench *b)
{
    network_verify(b->n);
    sim_destroy(b->s);
    sim_destroy(b->alone);
    arena_destroy(b->a);
}

typedef struct group_case {
    gpu_id first;
    uint32_t count, stride, multiplicity;
} group_case;

static const group_case groups[] = {
    { 0, 8, 1, 1 },  // a node
    { 9, 5, 1, 7 },  // inside another, standing for seven
    { 16, 8, 1, 2 }, // placed as the first
    { 0, 24, 1, 1 }, // all nodes, four rings
    { 1, 3, 8, 5 },  // one GPU in each
    { 3, 2, 11, 3 }, // a pair over nodes
    { 21, 2, 1, 1 }, // a pair in a node
    { 6, 1, 1, 4 },  // nobody to talk to
};

typedef struct request_case {
    collective_kind kind;
    uint64_t bytes;
    int protocol;
} request_case;

static const request_case requests[] = {
    { COLLECTIVE_ALL_REDUCE, 1337003, PROTOCOL_AUTO }, { COLLECTIVE_ALL_GATHER, 70000001, PROTOCOL_SIMPLE },
    { COLLECTIVE_REDUCE_SCATTER, 4099, PROTOCOL_LL },  { COLLECTIVE_ALL_REDUCE, 0, PROTOCOL_AUTO },
    { COLLECTIVE_BROADCAST, 2000003, PROTOCOL_AUTO },  { COLLECTIVE_ALL_TO_ALL, 900001, PROTOCOL_AUTO },
    { COLLECTIVE_SEND_RECV, 8388611, PROTOCOL_AUTO }
};

static group_id add_group(bench *b, const group_case *g)
{
    vertex_id members[24];
    for (uint32_t i = 0; i < g->count; i++)
        members[i] = topology_gpu_vertex(b->t, g->first + i * g->stride);
    return collectives_add_group(
        b->c, &(group_def){
                  .members = members, .count = g->count, .multiplicity = g->multiplicity, .label = "dp" });
}

// The one bench plays, the other one counts; both one after another, each from where the last one ended.
static void both(bench *played, bench *counted, group_id g, const request_case *r, uint32_t times)
{
    const collective_request request = {
        .kind = r->kind, .group = g, .bytes = r->bytes, .forced_protocol = r->protocol
    };
    const uint32_t shape = collective_shape(counted->c, &request);
    const sim_time alone_ps = collective_alone_ps(counted->c, shape);
    assert_int_equal(collective_alone_ps(counted->c, shape), alone_ps);
    for (uint32_t k = 0; k < times; k++) {
        const sim_time start_ps = sim_now(played->s);
        const uint32_t i = collective_open(played->c, &request);
        for (uint32_t m = 0; m < collectives_group(played->c, g)->count; m++)
            collective_arrive(played->c, i, m);
        assert_int_equal(sim_run(played->s, SIM_TIME_MAX), SIM_DRAINED);
        assert_int_equal(played->end_ps - start_ps, alone_ps);
        collective_record_alone(counted->c, shape, start_ps, start_ps + alone_ps);
    }
    collective_carry_alone(counted->c, shape, times);
}

static void check_equal(const bench *played, const bench *counted)
{
    const collectives_counters a = collectives_counters_of(played->c),
                               b = collectives_counters_of(counted->c);
    assert_int_equal(a.alone, 0);
    assert_int_equal(b.alone, b.played);
    assert_int_equal(a.played, b.played);
    assert_int_equal(a.messages, b.messages);
    assert_int_equal(a.plans, b.plans);
    assert_int_equal(a.plan_hits, b.plan_hits);
    assert_true(a.network_bytes == b.network_bytes);
    const network_counters c = network_counters_of(played->n), d = network_counters_of(counted->n);
    assert_int_equal(c.started, d.started);
    assert_int_equal(c.delivered, d.delivered);
    assert_true(c.bytes_sent == d.bytes_sent && c.bytes_received == d.bytes_received);
    assert_int_equal(d.in_flight, 0);
    assert_int_equal(d.in_flight_high_water, 0);
    assert_true(sim_digest(played->s) == sim_digest(counted->s));
    for (link_id l = 0; l < topology_link_count(played->t); l++)
        assert_int_equal(network_link_bytes(played->n, l), network_link_bytes(counted->n, l));
    assert_int_equal(counted->ended, 0);
    assert_int_equal(sim_now(counted->s), 0);
}

static void counting_leaves_what_playing_leaves(void **state)
{
    (void)state;
    for (int engine = ENGINE_IDEAL; engine <= ENGINE_FLUID; engine++)
        for (int grain = GRAIN_STREAMS; grain <= GRAIN_MESSAGES; grain++) {
            bench played = bench_create((network_engine)engine),
                  counted = bench_create((network_engine)engine);
            add_player(&played, (collective_grain)grain);
            add_player(&counted, (collective_grain)grain);
            for (size_t g = 0; g < ARRAY_COUNT(groups); g++) {
                const group_id id = add_group(&played, &groups[g]);
                assert_int_equal(add_group(&counted, &groups[g]), id);
                for (size_t r = 0; r < ARRAY_COUNT(requests); r++)
                    if (requests[r].kind != COLLECTIVE_SEND_RECV || groups[g].count == 2)
                        both(&played, &counted, id, &requests[r], (uint32_t)(r % 3 + 1));
            }
            check_equal(&played, &counted);
            bench_destroy(&played);
            bench_destroy(&counted);
        }
}

// The second group lies in its node as the first one does; that it stands for more groups counts only where bytes are counted.
static void equal_places_are_played_once(void **state)
{
    (void)state;
    bench b = bench_create(ENGINE_FLUID);
    add_player(&b, GRAIN_MESSAGES);
    const uint64_t bytes = 1337003;
    uint64_t handled[3];
    sim_time alone_ps[3];
    for (uint32_t node = 0; node < 3; node++) {
        // The last one visits its GPUs in another order.
        vertex_id members[8];
        for (uint32_t i = 0; i < 8; i++)
            members[i] = topology_gpu_vertex(b.t, 8 * node + (node == 2 ? 3 * i % 8 : i));
        const group_id g = collectives_add_group(
            b.c, &(group_def){ .members = members, .count = 8, .multiplicity = 1 + node, .label = "tp" });
        alone_ps[node] = collective_alone_ps(
            b.c, collective_shape(b.c, &(collective_request){ .kind = COLLECTIVE_ALL_REDUCE,
                                                              .group = g,
                                                              .bytes = bytes,
                                                              .forced_protocol = PROTOCOL_AUTO }));
        handled[node] = sim_counters_of(b.alone).handled;
    }
    assert_true(handled[0] > 0);
    assert_int_equal(handled[1], handled[0]);
    assert_int_equal(handled[2], 2 * handled[0]);
    assert_int_equal(alone_ps[1], alone_ps[0]);
    assert_int_equal(alone_ps[2], alone_ps[0]);
    bench_destroy(&b);
}

static void times_alone_need_a_clock_and_a_steady_network(void **state)
{
    (void)state;
    const fluid_options options[] = { { .flows = 1 },
                                      { .completion_window = 0.01 },
                                      { .bottleneck_count = true } };
    for (size_t i = 0; i < ARRAY_COUNT(options); i++) {
        bench b = { .a = arena_create("test") };
        b.s = sim_create(b.a, NULL);
        b.alone = sim_create(b.a, NULL);
        b.t = test_fabric(b.a, 1, WIRING_SWITCH, SCALE_UP_MBPS, CABLE_MBPS);
        b.n = network_create_fluid(b.a, b.s, b.t, &options[i]);
        add_player(&b, GRAIN_STREAMS);
        assert_int_equal(collectives_know_alone(b.c), i == 0);
        sim_destroy(b.alone);
        b.alone = NULL;
        add_player(&b, GRAIN_STREAMS);
        assert_false(collectives_know_alone(b.c));
        bench_destroy(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(counting_leaves_what_playing_leaves),
                                        cmocka_unit_test(equal_places_are_played_once),
                                        cmocka_unit_test(times_alone_need_a_clock_and_a_steady_network) };
    return cmocka_run_group_tests_name("collective alone", tests, NULL, NULL);
}
