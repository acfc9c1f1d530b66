// SPDX-License-Identifier: GPL-3.0-or-later
// tests/support/lone.h: one collective alone on the fabric of fabric.h, from its last arrival to its end.
#pragma once
#include "models/collective/collective.h"
#include "models/network/fluid_network.h"
#include "tests/support/fabric.h"
#include "tests/support/near.h"
#include "tests/support/test_costs.h"

typedef struct lone_case { // GPUs 0, stride, 2 stride ..
    uint32_t nodes, ranks, stride;
    collective_kind kind;
    uint64_t bytes;
    int protocol;
} lone_case;

static inline void lone_done(void *owner, const collective_result *result)
{
    *(collective_result *)owner = *result;
}

// predicted_ps: what collective_predict_s() says; may be NULL.
static inline sim_time lone_play(const lone_case *l, network_engine engine, collective_grain grain,
                                 double *predicted_ps)
{
    arena *a = arena_create("test");
    sim *s = sim_create(a, NULL);
    const topology *t = test_fabric(a, l->nodes, WIRING_SWITCH, SCALE_UP_MBPS, CABLE_MBPS);
    network *n = engine == ENGINE_IDEAL
                     ? network_create_ideal(a, s, t)
                     : network_create_fluid(a, s, t, &(fluid_options){ .check_every = 97 });
    collective_result result = { 0 };
    collectives *c = collectives_create(a, s, n,
                                        &(collectives_options){ .library = &test_usual_costs.library,
                                                                .hardware = &test_usual_costs.hardware,
                                                                .grain = grain,
                                                                .done = lone_done,
                                                                .owner = &result });
    vertex_id members[64];
    assert_true(l->ranks <= 64);
    for (uint32_t i = 0; i < l->ranks; i++)
        members[i] = topology_gpu_vertex(t, i * l->stride);
    const group_id g = collectives_add_group(
        c, &(group_def){ .members = members, .count = l->ranks, .multiplicity = 1, .label = "ep" });
    const collective_request request = {
        .kind = l->kind, .group = g, .bytes = l->bytes, .forced_protocol = l->protocol
    };
    if (predicted_ps) *predicted_ps = 1e12 * collective_predict_s(c, &request);
    const uint32_t i = collective_open(c, &request);
    for (uint32_t m = 0; m < l->ranks; m++)
        collective_arrive(c, i, m);
    assert_int_equal(sim_run(s, SIM_TIME_MAX), SIM_DRAINED);
    assert_int_equal(collectives_open_count(c), 0);
    network_verify(n);
    assert_int_equal(network_counters_of(n).bytes_received, collectives_counters_of(c).network_bytes);
    assert_int_equal(result.ranks, l->ranks);
    sim_destroy(s);
    arena_destroy(a);
    return result.end_ps - result.last_arrival_ps;
}
