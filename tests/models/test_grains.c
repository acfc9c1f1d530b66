// SPDX-License-Identifier: GPL-3.0-or-later
// Both grains of a collective on the fluid network, alone and beside a transfer that goes on for as long as the collective.
#include "tests/support/near.h"

#include "models/collective/collective.h"
#include "models/network/fluid_network.h"
#include "sim/array.h"
#include "tests/support/fabric.h"
#include "tests/support/test_costs.h"
#include <inttypes.h>

typedef struct bench {
    sim *s;
    network *n;
    bool done;
    collective_result result;
    transfer_id rival;
} bench;

static void on_done(void *owner, const collective_result *result)
{
    bench *b = owner;
    b->done = true;
    b->result = *result;
    if (network_in_flight(b->n, b->rival)) network_cancel(b->n, b->rival);
}

static void rival_ended(void *owner, uint64_t tag, transfer_id id)
{
    (void)owner;
    (void)tag;
    (void)id;
    fail_msg("the rival ends before the collective");
}

static void start_rival(bench *b, gpu_id from, gpu_id to)
{
    const topology *t = network_topology(b->n);
    network_edge edge = { .from = topology_gpu_vertex(t, from),
                          .to = topology_gpu_vertex(t, to),
                          .bytes = UINT64_C(1000000000000000) };
    b->rival = network_start(b->n, &(network_request){ .edges = &edge,
                                                       .edge_count = 1,
                                                       .delay_crossings = 1,
                                                       .weight = 1,
                                                       .queue_pairs = 1,
                                                       .multiplicity = 1,
                                                       .client = network_add_client(b->n, rival_ended, b) });
}

typedef struct group_case {
    uint32_t nodes;
    node_wiring_kind wiring;
    uint32_t ranks, stride;
} group_case;

// GPUs 0, stride, 2 stride .. The rival shares a way of the first of them: to the next, or out of the node.
static collective_result play(const group_case *g, network_engine engine, collective_grain grain, bool rival,
                              collective_kind kind, uint64_t bytes)
{
    arena *a = arena_create("test");
    bench b = { .s = sim_create(a, NULL) };
    const topology *t = test_fabric(a, g->nodes, g->wiring, SCALE_UP_MBPS, CABLE_MBPS);
    b.n = engine == ENGINE_IDEAL ? network_create_ideal(a, b.s, t)
                                 : network_create_fluid(a, b.s, t, &(fluid_options){ .check_every = 997 });
    collectives *c = collectives_create(a, b.s, b.n,
                                        &(collectives_options){ .library = &test_usual_costs.library,
                                                                .hardware = &test_usual_costs.hardware,
                                                                .grain = grain,
                                                                .done = on_done,
                                                                .owner = &b });
    vertex_id members[64];
    assert_true(g->ranks <= ARRAY_COUNT(members));
    for (uint32_t i = 0; i < g->ranks; i++)
        members[i] = topology_gpu_vertex(t, i * g->stride);
    group_id group = collectives_add_group(
        c, &(group_def){ .members = members, .count = g->ranks, .multiplicity = 1, .label = "dp" });
    uint32_t i = collective_open(
        c, &(collective_request){
               .kind = kind, .group = group, .bytes = bytes, .forced_protocol = PROTOCOL_AUTO });
    if (rival) start_rival(&b, 0, g->nodes > 1 ? 8 : g->stride);
    for (uint32_t m = 0; m < g->ranks; m++)
        collective_arrive(c, i, m);
    assert_int_equal(sim_run(b.s, SIM_TIME_MAX), SIM_DRAINED);
    assert_true(b.done);
    network_verify(b.n);
    network_counters counters = network_counters_of(b.n);
    assert_int_equal(counters.bytes_sent, counters.bytes_received);
    sim_destroy(b.s);
    arena_destroy(a);
    return b.result;
}

static const group_case groups[] = { { 1, WIRING_SWITCH, 2, 1 },   { 1, WIRING_SWITCH, 5, 1 },
                                     { 1, WIRING_MESH, 8, 1 },     { 1, WIRING_HOST, 4, 2 },
                                     { 2, WIRING_SWITCH, 16, 1 },  { 3, WIRING_HOST, 12, 2 },
                                     { 6, WIRING_MESH, 6, 8 },     { 16, WIRING_SWITCH, 32, 4 },
                                     { 64, WIRING_SWITCH, 64, 8 }, { 3, WIRING_SWITCH, 24, 1 },
                                     { 2, WIRING_MESH, 16, 1 },    { 5, WIRING_HOST, 40, 1 },
                                     { 8, WIRING_SWITCH, 64, 1 } };
static const uint64_t sizes[] = { 1, 63, 4099, 262147, 1 << 20, 8388611, 1337000003 };
static const collective_kind kinds[] = { COLLECTIVE_ALL_REDUCE, COLLECTIVE_ALL_GATHER };

// Within 1 % from 1 MiB on, within 2 alpha below (alpha: the protocol's hop inside a node, the shortest there is).
static void check_pair(size_t g, uint64_t bytes, const collective_result *streams,
                       const collective_result *messages)
{
    const double streams_ps = (double)(streams->end_ps - streams->last_arrival_ps),
                 messages_ps = (double)(messages->end_ps - messages->last_arrival_ps);
    const double alpha_ps = (double)test_terms.ring[streams->protocol].hop_ps[LINK_NVLINK];
    const double allowed_ps = bytes >= 1 << 20 ? 0.01 * messages_ps : 2.0 * alpha_ps;
    assert_int_equal(streams->protocol, messages->protocol);
    if (fabs(streams_ps - messages_ps) > allowed_ps)
        fail_msg("group %zu, %" PRIu64 " bytes: streams %.0f ps, messages %.0f ps", g, bytes, streams_ps,
                 messages_ps);
}

static void grains_agree(bool rival)
{
    for (size_t g = 0; g < ARRAY_COUNT(groups); g++)
        for (size_t i = 0; i < ARRAY_COUNT(sizes); i++)
            for (size_t k = 0; k < ARRAY_COUNT(kinds); k++) {
                collective_result streams = play(&groups[g], ENGINE_FLUID, GRAIN_STREAMS, rival, kinds[k],
                                                 sizes[i]);
                collective_result messages = play(&groups[g], ENGINE_FLUID, GRAIN_MESSAGES, rival, kinds[k],
                                                  sizes[i]);
                check_pair(g, sizes[i], &streams, &messages);
                if (!rival || sizes[i] < 1 << 20) continue;
                const collective_result lone = play(&groups[g], ENGINE_FLUID, GRAIN_STREAMS, false, kinds[k],
                                                    sizes[i]);
                assert_true((double)streams.end_ps > 1.05 * (double)lone.end_ps); // the rival is felt
            }
}

// Alone, where no edges share a link, streams end on the picosecond as on the ideal network.
static void alone_it_is_ideal(void **state)
{
    (void)state;
    for (size_t g = 0; g < ARRAY_COUNT(groups); g++)
        for (size_t i = 0; i < ARRAY_COUNT(sizes); i++)
            for (int grain = GRAIN_STREAMS; grain <= GRAIN_MESSAGES; grain++) {
                const collective_result fluid = play(&groups[g], ENGINE_FLUID, (collective_grain)grain, false,
                                                     COLLECTIVE_ALL_REDUCE, sizes[i]);
                const collective_result ideal = play(&groups[g], ENGINE_IDEAL, (collective_grain)grain, false,
                                                     COLLECTIVE_ALL_REDUCE, sizes[i]);
                assert_int_equal(fluid.end_ps, ideal.end_ps);
            }
}

static void grains_agree_alone(void **state)
{
    (void)state;
    grains_agree(false);
}

static void grains_agree_beside_a_rival(void **state)
{
    (void)state;
    grains_agree(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone_it_is_ideal),
        cmocka_unit_test(grains_agree_alone),
        cmocka_unit_test(grains_agree_beside_a_rival),
    };
    return cmocka_run_group_tests_name("grains", tests, NULL, NULL);
}
