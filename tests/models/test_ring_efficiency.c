// SPDX-License-Identifier: GPL-3.0-or-later
// What rings inside a node get out of its links, by the bytes that pass a rank.
#include "tests/support/lone.h"

#include "models/collective/plan.h"
#include "sim/array.h"

static double x[] = { 1e6, 1e9 }, y[] = { 0.5, 0.8 };
static const bind_points curve = { .x = x, .y = y, .count = 2 };

typedef struct timed {
    double predicted_s, played_s;
} timed;

static timed play(collective_kind kind, uint32_t first, uint64_t bytes, int protocol, collective_grain grain,
                  const bind_points *efficiency)
{
    arena *a = arena_create("test");
    sim *s = sim_create(a, NULL);
    const topology *t = test_fabric(a, 2, WIRING_SWITCH, SCALE_UP_MBPS, CABLE_MBPS);
    network *n = network_create_fluid(a, s, t, &(fluid_options){ .check_every = 1 });
    collective_result got = { 0 };
    collectives *player = collectives_create(a, s, n,
                                             &(collectives_options){ .terms = &test_terms,
                                                                     .ring_efficiency = efficiency,
                                                                     .grain = grain,
                                                                     .forced_algorithm = ALGORITHM_RING,
                                                                     .done = lone_done,
                                                                     .owner = &got });
    vertex_id members[8];
    for (uint32_t i = 0; i < 8; i++)
        members[i] = topology_gpu_vertex(t, first + i);
    const group_id g = collectives_add_group(
        player, &(group_def){ .members = members, .count = 8, .multiplicity = 1, .label = "tp" });
    const collective_request request = {
        .kind = kind, .group = g, .bytes = bytes, .forced_protocol = protocol
    };
    timed out = { .predicted_s = collective_predict_s(player, &request) };
    const uint32_t open = collective_open(player, &request);
    for (uint32_t m = 0; m < 8; m++)
        collective_arrive(player, open, m);
    assert_int_equal(sim_run(s, SIM_TIME_MAX), SIM_DRAINED);
    out.played_s = units_s_from_ps(got.end_ps);
    network_verify(n);
    sim_destroy(s);
    arena_destroy(a);
    return out;
}

struct share_case {
    const char *name;
    collective_kind kind;
    uint64_t bytes, past_bytes; // of the buffer; past a rank
    int protocol;
    double share;
};
static const struct share_case shares[] = {
    { "beyond the last point", COLLECTIVE_ALL_REDUCE, 805306368, 1409286144, PROTOCOL_SIMPLE, 0.8 },
    { "before the first", COLLECTIVE_REDUCE_SCATTER, 800000, 700000, PROTOCOL_SIMPLE, 0.5 },
    // sqrt(1e6 1e9) = 31,622,777 lies halfway between the logarithms
    { "between them", COLLECTIVE_ALL_GATHER, 36140316, 31622776, PROTOCOL_SIMPLE, 0.65 },
    // 120 bytes of 128 at 0.9375: the payload has the share all the same
    { "of payload", COLLECTIVE_ALL_GATHER, 36140316, 31622776, PROTOCOL_LL128, 0.65 },
};

// The time that the share costs: b / B (1 / share - 1 / ratio of the protocol).
static void rings_get_their_share(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(shares); i++) {
        const struct share_case *c = &shares[i];
        const double ratio = test_terms.ring[c->protocol].payload_ratio;
        const double want_s = (double)c->past_bytes / ((double)SCALE_UP_MBPS / 1e3) *
                              (1.0 / c->share - 1.0 / ratio);
        const timed all = play(c->kind, 0, c->bytes, c->protocol, GRAIN_STREAMS, NULL);
        const timed some = play(c->kind, 0, c->bytes, c->protocol, GRAIN_STREAMS, &curve);
        assert_near(some.played_s - all.played_s, want_s, 1e-5);
        assert_near(some.predicted_s - all.predicted_s, want_s, 1e-5);
    }
}

static void other_rings_get_all(void **state)
{
    (void)state;
    static const bind_points none = { 0 };
    const timed across = play(COLLECTIVE_ALL_REDUCE, 4, 805306368, PROTOCOL_SIMPLE, GRAIN_STREAMS, NULL);
    const timed messages = play(COLLECTIVE_ALL_REDUCE, 0, 805306368, PROTOCOL_SIMPLE, GRAIN_MESSAGES, NULL);
    const timed inside = play(COLLECTIVE_ALL_REDUCE, 0, 805306368, PROTOCOL_SIMPLE, GRAIN_STREAMS, NULL);
    assert_near(play(COLLECTIVE_ALL_REDUCE, 4, 805306368, PROTOCOL_SIMPLE, GRAIN_STREAMS, &curve).played_s,
                across.played_s, 0);
    assert_near(play(COLLECTIVE_ALL_REDUCE, 0, 805306368, PROTOCOL_SIMPLE, GRAIN_MESSAGES, &curve).played_s,
                messages.played_s, 0);
    assert_near(play(COLLECTIVE_ALL_REDUCE, 0, 805306368, PROTOCOL_SIMPLE, GRAIN_STREAMS, &none).played_s,
                inside.played_s, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rings_get_their_share),
        cmocka_unit_test(other_rings_get_all),
    };
    return cmocka_run_group_tests_name("ring_efficiency", tests, NULL, NULL);
}
