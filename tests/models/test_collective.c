// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "models/collective/collective.h"
#include "sim/array.h"
#include "tests/support/fabric.h"
#include "tests/support/random.h"
#include "tests/support/test_costs.h"
#include <inttypes.h>

enum { RESULTS_MAX = 512, MOVED_MAX = 65536, PROGRAM_SIZE = 60 };

typedef struct bench {
    arena *a;
    sim *s;
    const topology *t;
    network *n;
    collectives *c;
    uint16_t kind_arrive;
    bool chain; // each end of a collective of the first PROGRAM_SIZE opens one more
    uint32_t count, moved_count;
    collective_result results[RESULTS_MAX];
    collective_transfer moved[MOVED_MAX];
} bench;

static void on_done(void *owner, const collective_result *result)
{
    bench *b = owner;
    assert_true(b->count < RESULTS_MAX);
    assert_int_equal(result->end_ps, sim_now(b->s));
    b->results[b->count++] = *result;
    if (!b->chain || result->tag >= PROGRAM_SIZE) return;
    uint32_t i = collective_open(b->c, &(collective_request){ .kind = COLLECTIVE_REDUCE_SCATTER,
                                                              .group = result->group,
                                                              .bytes = result->bytes + 1,
                                                              .tag = result->tag + PROGRAM_SIZE,
                                                              .forced_protocol = PROTOCOL_AUTO });
    for (uint32_t m = 0; m < result->ranks; m++)
        collective_arrive(b->c, i, m);
}

static void on_arrive(sim *s, void *owner, const sim_event *event)
{
    bench *b = owner;
    (void)s;
    collective_arrive(b->c, event->target, event->extra);
}

static void on_moved(void *owner, const collective_transfer *transfer)
{
    bench *b = owner;
    assert_true(b->moved_count < MOVED_MAX);
    b->moved[b->moved_count++] = *transfer;
}

static bench *bench_create_at(uint64_t scale_up_mBps, uint32_t nodes, node_wiring_kind wiring,
                              collective_grain grain, bool moved, const sim_options *options)
{
    arena *a = arena_create("test");
    bench *b = arena_new(a, bench);
    b->a = a;
    b->s = sim_create(a, options);
    b->t = test_fabric(a, nodes, wiring, scale_up_mBps, CABLE_MBPS);
    b->n = network_create_ideal(a, b->s, b->t);
    b->c = collectives_create(a, b->s, b->n,
                              &(collectives_options){ .library = &test_usual_costs.library,
                                                      .hardware = &test_usual_costs.hardware,
                                                      .grain = grain,
                                                      .done = on_done,
                                                      .moved = moved ? on_moved : NULL,
                                                      .owner = b });
    b->kind_arrive = sim_add_kind(b->s, "arrive", SIM_ACT, on_arrive, b);
    return b;
}

static bench *bench_create(uint32_t nodes, node_wiring_kind wiring, collective_grain grain, bool moved,
                           const sim_options *options)
{
    return bench_create_at(SCALE_UP_MBPS, nodes, wiring, grain, moved, options);
}

static void bench_destroy(bench *b)
{
    sim_destroy(b->s);
    arena_destroy(b->a);
}

// Members are GPUs first, first + stride, ..
static group_id add_group(bench *b, uint32_t count, gpu_id first, uint32_t stride, uint32_t multiplicity)
{
    vertex_id members[64];
    assert_true(count <= 64);
    for (uint32_t i = 0; i < count; i++)
        members[i] = topology_gpu_vertex(b->t, first + i * stride);
    return collectives_add_group(
        b->c,
        &(group_def){ .members = members, .count = count, .multiplicity = multiplicity, .label = "tp" });
}

static uint32_t open_all(bench *b, group_id g, collective_kind kind, uint64_t bytes, int protocol,
                         uint32_t tag)
{
    collective_request request = {
        .kind = kind, .group = g, .bytes = bytes, .tag = tag, .forced_protocol = protocol
    };
    uint32_t i = collective_open(b->c, &request);
    for (uint32_t m = 0; m < collectives_group(b->c, g)->count; m++)
        collective_arrive(b->c, i, m);
    return i;
}

// What must hold when nothing is going on: nobody is left, and the bytes of the two sides agree.
static void check_rest(const bench *b)
{
    network_verify(b->n);
    network_counters n = network_counters_of(b->n);
    collectives_counters c = collectives_counters_of(b->c);
    assert_int_equal(collectives_open_count(b->c), 0);
    assert_int_equal(n.bytes_sent, n.bytes_received);
    assert_int_equal(n.bytes_received, c.network_bytes);
    assert_int_equal(n.delivered, c.messages);
}

typedef struct lone {
    sim_time time_ps;
    double predicted_s;
    collective_result result;
} lone;

static lone play_lone(uint32_t nodes, node_wiring_kind wiring, collective_grain grain, uint32_t ranks,
                      gpu_id first, uint32_t stride, collective_kind kind, uint64_t bytes, int protocol)
{
    bench *b = bench_create(nodes, wiring, grain, false, NULL);
    group_id g = add_group(b, ranks, first, stride, 1);
    collective_request request = { .kind = kind, .group = g, .bytes = bytes, .forced_protocol = protocol };
    lone out = { .predicted_s = collective_predict_s(b->c, &request) };
    open_all(b, g, kind, bytes, protocol, 0);
    assert_int_equal(b->count, 0);
    assert_int_equal(sim_run(b->s, SIM_TIME_MAX), SIM_DRAINED);
    assert_int_equal(b->count, 1);
    check_rest(b);
    out.result = b->results[0];
    out.time_ps = out.result.end_ps - out.result.last_arrival_ps;
    bench_destroy(b);
    return out;
}

// ---- times worked out by hand ----

struct hand_case {
    const char *name;
    uint32_t nodes;
    node_wiring_kind wiring;
    uint32_t ranks, stride;
    collective_kind kind;
    uint64_t bytes;
    int protocol;
    double want_ps;
};
// By the costs of test_costs.h.
static const struct hand_case hands[] = {
    // s = 3086419.5 B, 7149454.48 ps at 431.7 GB/s: 8419000 + 6 (3407000 + 7149454.48) + 1003000 + 7149454.48
    { "all-reduce on four GPUs, Simple", 1, WIRING_SWITCH, 4, 1, COLLECTIVE_ALL_REDUCE, 12345678,
      PROTOCOL_SIMPLE, 79910181.4 },
    // s = 200.2 B, doubled, 8289.86 ps at 48.3 GB/s: 6613000 + 4 (2711000 + 8289.86) + 301000
    { "all-gather over five nodes, LL", 5, WIRING_SWITCH, 5, 8, COLLECTIVE_ALL_GATHER, 1001, PROTOCOL_LL,
      17791159.4 },
    // s = 960 B in lines of 1024, 2372.02 ps: 14009000 + 7 (1907000 + 2372.02) + 903000 + 2372.02
    { "reduce-scatter on eight GPUs, LL128", 1, WIRING_SWITCH, 8, 1, COLLECTIVE_REDUCE_SCATTER, 7680,
      PROTOCOL_LL128, 28279976.1 },
    // 19314000 + 9173642 B at 48.3 GB/s
    { "send-recv between nodes", 2, WIRING_SWITCH, 2, 8, COLLECTIVE_SEND_RECV, 9173641, PROTOCOL_AUTO,
      209244476.6 },
    // Seven rings fill a GPU's seven links of 61.67 GB/s: s = 28007 B, 64876.07 ps: 8419000 + 7 (3407000 + 64876.07) +
    // 1003000 + 64876.07
    { "all-gather in a mesh", 1, WIRING_MESH, 8, 1, COLLECTIVE_ALL_GATHER, 224056, PROTOCOL_SIMPLE,
      33790008.6 },
    // as one byte: 8419000 + 6 (3407000 + 0.58) + 1003000 + 0.58
    { "of no bytes: base and steps", 1, WIRING_SWITCH, 4, 1, COLLECTIVE_ALL_REDUCE, 0, PROTOCOL_SIMPLE,
      29864004.1 },
    { "alone: nothing to do", 1, WIRING_SWITCH, 1, 1, COLLECTIVE_ALL_REDUCE, 12345678, PROTOCOL_AUTO, 0 },
};

// In both grains: messages have whole bytes.
static void time_is_as_by_hand(void **state)
{
    const struct hand_case *c = *state;
    for (int g = GRAIN_STREAMS; g <= GRAIN_MESSAGES; g++) {
        const lone got = play_lone(c->nodes, c->wiring, (collective_grain)g, c->ranks, 0, c->stride, c->kind,
                                   c->bytes, c->protocol);
        const double byte_ps = c->nodes > 1 ? 42 : 18; // at the slowest rate, in a protocol that doubles it
        assert_true(fabs((double)got.time_ps - c->want_ps) <= (g == GRAIN_STREAMS ? 2 : 2 + 8 * byte_ps));
        assert_true(fabs(got.predicted_s * 1e12 - c->want_ps) <= 2);
        assert_int_equal(got.result.bytes, c->bytes);
        assert_int_equal(got.result.ranks, c->ranks);
        assert_int_equal(got.result.grain, g);
    }
}

// Four rings over four NICs, one channel: s = 77204 B. Inside, a GPU's port carries 7 of 8 hops: w = 1003000 + 77204 B
// at 8/7 of 431.7 GB/s = 1159482.6; through the NICs x = 77204 B at 4 x 48.3 GB/s = 399606.6. Once round the node, 7 (w
// + 2404000) + 1003000 + x + 13008000, in eight steps: 4919373.1 each. 8419000 + 30 x 4919373.1 + 1003000 + 13008000.
// Messages end before the last crossing, which the closed form adds: two thirds of it less.
static void rings_over_all_nics_by_hand(void **state)
{
    (void)state;
    const double want_ps = 170011193;
    for (int g = GRAIN_STREAMS; g <= GRAIN_MESSAGES; g++) {
        const lone got = play_lone(2, WIRING_SWITCH, (collective_grain)g, 16, 0, 1, COLLECTIVE_ALL_REDUCE,
                                   1235264, PROTOCOL_SIMPLE);
        assert_near((double)got.time_ps, want_ps, g == GRAIN_STREAMS ? 1e-7 : 0.07);
        assert_near(got.predicted_s * 1e12, want_ps, 1e-7);
    }
}

// ---- laws of the ring ----

// On an idle node, and over nodes with a rank each: T = base + steps (hop + S / n / B) + slice [+ S / n / B inside a
// node], to the picosecond for streams, for messages to a byte a step; and the textbook's formula, with hop for its
// alpha.
static void ring_keeps_its_formula(void **state)
{
    (void)state;
    static const struct {
        uint32_t nodes, ranks, stride;
        uint64_t bytes;
    } rows[] = { { 1, 2, 1, 1 },       { 1, 3, 1, 10485763 },  { 1, 7, 1, 1337000000 },
                 { 1, 8, 1, 65536 },   { 1, 8, 1, 12345679 },  { 3, 3, 8, 99990 },
                 { 7, 7, 8, 1000003 }, { 16, 16, 8, 1 << 24 }, { 16, 16, 8, 77777777 },
                 { 33, 33, 8, 7 } };
    static const collective_kind kinds[] = { COLLECTIVE_ALL_REDUCE, COLLECTIVE_REDUCE_SCATTER,
                                             COLLECTIVE_ALL_GATHER };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
        for (size_t k = 0; k < ARRAY_COUNT(kinds); k++) {
            const uint32_t n = rows[i].ranks, steps = (kinds[k] == COLLECTIVE_ALL_REDUCE ? 2 : 1) * (n - 1);
            const bool node = rows[i].nodes == 1;
            const double rate_Bps = (double)(node ? SCALE_UP_MBPS : CABLE_MBPS) / 1e3;
            const double hop_ps = node ? TEST_HOP_PS(PROTOCOL_SIMPLE) : TEST_NETWORK_HOP_PS(PROTOCOL_SIMPLE);
            const double once_ps = TEST_BASE_PS(PROTOCOL_SIMPLE) + TEST_SLICE_PS(PROTOCOL_SIMPLE) +
                                   (node ? (double)rows[i].bytes / n / rate_Bps * 1e12 : 0);
            const double want_ps = once_ps + 1e12 * ring_time_s(kinds[k], n, 1, (double)rows[i].bytes,
                                                                hop_ps * 1e-12, rate_Bps);
            for (int g = GRAIN_STREAMS; g <= GRAIN_MESSAGES; g++) {
                const lone got = play_lone(rows[i].nodes, WIRING_SWITCH, (collective_grain)g, n, 0,
                                           rows[i].stride, kinds[k], rows[i].bytes, PROTOCOL_SIMPLE);
                const double allowed_ps = g == GRAIN_STREAMS ? 3 : 2 + (steps + 1) * (1 + 1e12 / rate_Bps);
                if (fabs((double)got.time_ps - want_ps) > allowed_ps)
                    fail_msg("row %zu, kind %d, grain %d: %" PRId64 " ps, want %.0f", i, (int)kinds[k], g,
                             got.time_ps, want_ps);
            }
        }
}

// Where a path takes longer than the protocol's hop, its delay counts, and nothing twice: 300200 in place of 10, with
// s/B = 7149454.48: 8419000 + 6 (1003000 + 300200 + s/B) + 1003000 + s/B.
static void the_longer_of_hop_and_delay_counts(void **state)
{
    (void)state;
    test_costs quick;
    test_costs_copy(&test_usual_costs, &quick);
    quick.link.protocols[PROTOCOL_SIMPLE].visible_ps = 10;
    for (int grain = 0; grain < 2; grain++) {
        bench *b = bench_create(1, WIRING_SWITCH, (collective_grain)grain, false, NULL);
        b->c = collectives_create(b->a, b->s, b->n,
                                  &(collectives_options){ .library = &quick.library,
                                                          .hardware = &quick.hardware,
                                                          .grain = (collective_grain)grain,
                                                          .done = on_done,
                                                          .owner = b });
        group_id g = add_group(b, 4, 0, 1, 1);
        open_all(b, g, COLLECTIVE_ALL_REDUCE, 12345678, PROTOCOL_SIMPLE, 0);
        sim_run(b->s, SIM_TIME_MAX);
        assert_true(fabs((double)b->results[0].end_ps - 67287381.4) < 12);
        check_rest(b);
        bench_destroy(b);
    }
}

// The cables of all NICs carry the same in both directions: 2 x 15/16 of the buffer, a quarter each; those of GPUs no
// more than a single ring would put on them. In messages, each ring has its own.
static void all_nics_carry_alike(void **state)
{
    (void)state;
    const uint64_t bytes = 64 * 70001;
    for (int grain = 0; grain < 2; grain++) {
        bench *b = bench_create(2, WIRING_SWITCH, (collective_grain)grain, false, NULL);
        group_id g = add_group(b, 16, 0, 1, 1);
        open_all(b, g, COLLECTIVE_ALL_REDUCE, bytes, PROTOCOL_SIMPLE, 0);
        sim_run(b->s, SIM_TIME_MAX);
        check_rest(b);
        uint32_t cables = 0;
        for (link_id l = 0; l < topology_link_count(b->t); l++) {
            const topology_link *link = topology_link_at(b->t, l);
            if (link->class == LINK_NVLINK) assert_in_range(network_link_bytes(b->n, l), 0, 30 * bytes / 16);
            if (link->class != LINK_NETWORK) continue;
            cables++;
            assert_int_equal(network_link_bytes(b->n, l), 30 * bytes / 16 / 4);
        }
        assert_int_equal(cables, 2 * 2 * 4);
        // an edge from each GPU to the next inside its node, eight of them round it, and one over each NIC; 16 hops
        // of 4 rings
        const uint64_t transfers = grain == GRAIN_STREAMS ? 24 : 30 * 64;
        collective_request request = {
            .kind = COLLECTIVE_ALL_REDUCE, .group = g, .bytes = bytes, .forced_protocol = PROTOCOL_SIMPLE
        };
        assert_int_equal(collective_transfer_count(b->c, &request), transfers);
        assert_int_equal(collectives_counters_of(b->c).messages, grain == GRAIN_STREAMS ? 1 : transfers);
        bench_destroy(b);
    }
}

// ---- arrivals and life ----

static void starts_with_the_last_arrival(void **state)
{
    (void)state;
    for (int grain = 0; grain < 2; grain++) {
        const lone apart = play_lone(1, WIRING_SWITCH, (collective_grain)grain, 4, 0, 1,
                                     COLLECTIVE_ALL_REDUCE, 12345678, PROTOCOL_SIMPLE);
        bench *b = bench_create(1, WIRING_SWITCH, (collective_grain)grain, false, NULL);
        group_id g = add_group(b, 4, 0, 1, 5);
        uint32_t i = collective_open(b->c, &(collective_request){ .kind = COLLECTIVE_ALL_REDUCE,
                                                                  .group = g,
                                                                  .bytes = 12345678,
                                                                  .tag = 77,
                                                                  .forced_protocol = PROTOCOL_SIMPLE });
        static const sim_time arrivals_ps[] = { 4001, 5003, 1009, 5003 };
        for (uint32_t m = 0; m < 4; m++)
            sim_schedule(b->s, arrivals_ps[m], b->kind_arrive, i, m);
        assert_int_equal(sim_run(b->s, 5002), SIM_REACHED_LIMIT);
        assert_int_equal(network_counters_of(b->n).started, 0);
        assert_int_equal(collectives_open_count(b->c), 1);
        sim_run(b->s, SIM_TIME_MAX);
        assert_int_equal(b->count, 1);
        const collective_result *r = &b->results[0];
        assert_int_equal(r->tag, 77);
        assert_int_equal(r->group, g);
        assert_int_equal(r->kind, COLLECTIVE_ALL_REDUCE);
        assert_int_equal(r->protocol, PROTOCOL_SIMPLE);
        assert_int_equal(r->multiplicity, 5);
        assert_int_equal(r->first_arrival_ps, 1009);
        assert_int_equal(r->last_arrival_ps, 5003);
        assert_int_equal(r->last_member, 1); // of the two that came last
        assert_int_equal(r->end_ps, 5003 + apart.time_ps);
        assert_int_equal(r->payload_bytes, 2 * 3 * 12345678);
        assert_int_equal(network_counters_of(b->n).bytes_received, 5 * 2 * 3 * 12345678);
        check_rest(b);
        bench_destroy(b);
    }
}

static void groups_are_kept(void **state)
{
    (void)state;
    bench *b = bench_create(1, WIRING_SWITCH, GRAIN_STREAMS, false, NULL);
    char label[] = "dp";
    vertex_id members[] = { topology_gpu_vertex(b->t, 6), topology_gpu_vertex(b->t, 1) };
    group_id g = collectives_add_group(
        b->c, &(group_def){ .members = members, .count = 2, .multiplicity = 3, .label = label });
    members[0] = 0;
    label[0] = 'x';
    assert_int_equal(collectives_group_count(b->c), 1);
    const group_def *def = collectives_group(b->c, g);
    assert_int_equal(def->members[0], topology_gpu_vertex(b->t, 6));
    assert_int_equal(def->multiplicity, 3);
    assert_string_equal(def->label, "dp");
    bench_destroy(b);
}

static void plans_are_built_once(void **state)
{
    (void)state;
    for (int grain = 0; grain < 2; grain++) {
        bench *b = bench_create(1, WIRING_SWITCH, (collective_grain)grain, false, NULL);
        group_id first = add_group(b, 4, 0, 1, 1), second = add_group(b, 4, 4, 1, 1);
        size_t used_bytes = 0;
        for (uint32_t round = 0; round < 3; round++) {
            open_all(b, first, COLLECTIVE_ALL_REDUCE, 1000, PROTOCOL_AUTO, 0);
            open_all(b, first, COLLECTIVE_ALL_REDUCE, 1000, PROTOCOL_AUTO,
                     1); // at the same time: states of their own
            open_all(b, second, COLLECTIVE_ALL_REDUCE, 1000, PROTOCOL_AUTO, 2);
            open_all(b, first, COLLECTIVE_ALL_GATHER, 1000, PROTOCOL_AUTO, 3);
            open_all(b, first, COLLECTIVE_ALL_REDUCE, 1001, PROTOCOL_AUTO, 4);
            sim_run(b->s, SIM_TIME_MAX);
            check_rest(b);
            // all that an instance needs is used again: nothing is allocated after the first round
            if (round > 0) assert_int_equal(arena_used_bytes(b->a), used_bytes);
            used_bytes = arena_used_bytes(b->a);
        }
        collectives_counters c = collectives_counters_of(b->c);
        assert_int_equal(c.played, 15);
        assert_int_equal(c.plans, 3);
        assert_int_equal(c.plan_hits, 11); // 15 less 4 of (group, kind, bytes)
        // rings of four: 4 (6 + 6 + 6 + 3 + 6) messages a round
        assert_int_equal(c.messages, grain == GRAIN_STREAMS ? 15 : 3 * 4 * 27);
        bench_destroy(b);
    }
}

// Requests whose hash keys are the same (groups 0 and 1 differ in bit 32, rings of 4 and of 5 ranks in bit 36) are
// still told apart.
static void equal_keys_are_told_apart(void **state)
{
    (void)state;
    bench *b = bench_create(1, WIRING_SWITCH, GRAIN_STREAMS, false, NULL);
    group_id first = add_group(b, 4, 0, 1, 1), second = add_group(b, 4, 4, 1, 1),
             third = add_group(b, 5, 0, 1, 1);
    const uint64_t other = UINT64_C(1000) ^ UINT64_C(1) << 32, third_bytes = UINT64_C(1000) ^ UINT64_C(1)
                                                                                                  << 36;
    open_all(b, first, COLLECTIVE_ALL_GATHER, 1000, PROTOCOL_SIMPLE, 0);
    open_all(b, second, COLLECTIVE_ALL_GATHER, other, PROTOCOL_SIMPLE, 1);
    open_all(b, third, COLLECTIVE_ALL_GATHER, third_bytes, PROTOCOL_SIMPLE, 2);
    sim_run(b->s, SIM_TIME_MAX);
    check_rest(b);
    assert_int_equal(collectives_counters_of(b->c).plan_hits, 0);
    assert_int_equal(collectives_counters_of(b->c).plans, 3);
    assert_int_equal(b->results[0].payload_bytes, 3 * 1000);
    assert_int_equal(b->results[1].payload_bytes, 3 * other);
    assert_int_equal(b->results[2].payload_bytes, 4 * third_bytes);
    assert_int_equal(b->results[1].last_member, 0);
    bench_destroy(b);
}

// Every message is told with its own start and end; a stream's edges with those of the whole.
// Two matrices of one size on one group: each has the plan of its own parts, and one that is played again no other.
static void matrices_are_told_apart(void **state)
{
    (void)state;
    static const uint64_t to_first[9] = { 0, 0, 0, 1000, 0, 0, 700, 0, 300 },
                          to_last[9] = { 400, 0, 600, 0, 0, 500, 0, 0, 0 };
    static const uint64_t *const played[] = { to_first, to_last, to_first };
    static const uint64_t payloads[] = { 1700, 1100, 1700 };
    for (int grain = GRAIN_STREAMS; grain <= GRAIN_MESSAGES; grain++) {
        bench *b = bench_create(1, WIRING_SWITCH, (collective_grain)grain, false, NULL);
        const group_id g = add_group(b, 3, 0, 1, 1);
        for (uint32_t i = 0; i < ARRAY_COUNT(played); i++) {
            const uint32_t opened = collective_open(
                b->c, &(collective_request){ .kind = COLLECTIVE_ALL_TO_ALL_UNEQUAL,
                                             .group = g,
                                             .bytes = 1000,
                                             .forced_protocol = PROTOCOL_AUTO,
                                             .parts = played[i] });
            for (uint32_t m = 0; m < 3; m++)
                collective_arrive(b->c, opened, m);
            assert_int_equal(sim_run(b->s, SIM_TIME_MAX), SIM_DRAINED);
            assert_int_equal(b->results[i].payload_bytes, payloads[i]);
        }
        assert_int_equal(collectives_counters_of(b->c).plans, 2);
        bench_destroy(b);
    }
}

static void transfers_are_told(void **state)
{
    (void)state;
    bench *b = bench_create(1, WIRING_SWITCH, GRAIN_MESSAGES, true, NULL);
    open_all(b, add_group(b, 4, 0, 1, 1), COLLECTIVE_ALL_REDUCE, 12345678, PROTOCOL_SIMPLE, 9);
    sim_run(b->s, SIM_TIME_MAX);
    assert_int_equal(b->moved_count, 24);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < b->moved_count; i++) {
        const collective_transfer *m = &b->moved[i];
        bytes += m->bytes;
        assert_int_equal(m->tag, 9);
        assert_in_range(m->end_ps - m->start_ps - 3407000 - units_wire_time_ps(m->bytes, SCALE_UP_MBPS) + 2,
                        0, 4);
        assert_true(m->start_ps >= 8419000); // the base has passed
    }
    assert_int_equal(bytes, 6 * 12345678);
    bench_destroy(b);

    b = bench_create(1, WIRING_SWITCH, GRAIN_STREAMS, true, NULL);
    open_all(b, add_group(b, 4, 0, 1, 1), COLLECTIVE_ALL_REDUCE, 12345678, PROTOCOL_SIMPLE, 9);
    sim_run(b->s, SIM_TIME_MAX);
    assert_int_equal(b->moved_count, 4);
    assert_int_equal(b->moved[0].bytes + b->moved[1].bytes + b->moved[2].bytes + b->moved[3].bytes,
                     6 * 12345678);
    assert_int_equal(b->moved[3].from, topology_gpu_vertex(b->t, 3));
    assert_int_equal(b->moved[3].to, topology_gpu_vertex(b->t, 0));
    assert_int_equal(b->moved[3].start_ps, 0);
    assert_int_equal(b->moved[3].end_ps, 79910181);
    bench_destroy(b);
}

// ---- determinism ----

// Collectives of all kinds at random times, with many arrivals in the same instant; each one that ends opens one more.
static uint64_t play_program(uint64_t seed, collective_grain grain, bool moved, const sim_options *options,
                             collective_result *by_tag)
{
    uint64_t random = seed;
    bench *b = bench_create(3, WIRING_SWITCH, grain, moved, options);
    b->chain = true;
    const group_id groups[] = { add_group(b, 8, 0, 1, 1), add_group(b, 3, 1, 8, 7), add_group(b, 2, 6, 4, 2),
                                add_group(b, 1, 3, 1, 1), add_group(b, 12, 0, 2, 1) };
    for (uint32_t tag = 0; tag < PROGRAM_SIZE; tag++) {
        collective_request request = { .group = groups[test_random_below(&random, ARRAY_COUNT(groups))],
                                       .bytes = test_random_below(&random, 30) * 4099,
                                       .tag = tag };
        const uint32_t count = collectives_group(b->c, request.group)->count;
        request.kind = (collective_kind)test_random_below(&random, count == 2 ? 4 : 3);
        request.forced_protocol = (int)test_random_below(&random, 4) - 1;
        uint32_t i = collective_open(b->c, &request);
        for (uint32_t m = 0; m < count; m++)
            sim_schedule(b->s, 7000000 * (sim_time)test_random_below(&random, 20), b->kind_arrive, i, m);
    }
    assert_int_equal(sim_run(b->s, SIM_TIME_MAX), SIM_DRAINED);
    assert_int_equal(b->count, 2 * PROGRAM_SIZE);
    check_rest(b);
    for (uint32_t i = 0; i < b->count; i++)
        by_tag[b->results[i].tag] = b->results[i];
    uint64_t digest = sim_digest(b->s);
    bench_destroy(b);
    return digest;
}

static void assert_same_results(const collective_result *a, const collective_result *b)
{
    for (uint32_t tag = 0; tag < 2 * PROGRAM_SIZE; tag++) {
        assert_int_equal(a[tag].tag, tag);
        assert_int_equal(b[tag].tag, tag);
        assert_int_equal(a[tag].kind, b[tag].kind);
        assert_int_equal(a[tag].group, b[tag].group);
        assert_int_equal(a[tag].first_arrival_ps, b[tag].first_arrival_ps);
        assert_int_equal(a[tag].last_arrival_ps, b[tag].last_arrival_ps);
        assert_int_equal(a[tag].last_member, b[tag].last_member);
        assert_int_equal(a[tag].end_ps, b[tag].end_ps);
    }
}

static void results_do_not_depend_on_the_order(void **state)
{
    (void)state;
    static const uint64_t seeds[] = { 7, 90001 };
    static const queue_kind queues[] = { QUEUE_BUCKET, QUEUE_RADIX, QUEUE_HEAP };
    static collective_result first[2 * PROGRAM_SIZE], other[2 * PROGRAM_SIZE];
    for (size_t i = 0; i < ARRAY_COUNT(seeds); i++)
        for (int grain = 0; grain < 2; grain++) {
            uint64_t want = play_program(seeds[i], (collective_grain)grain, false, NULL, first);
            for (size_t q = 0; q < ARRAY_COUNT(queues); q++)
                for (int reverse = 0; reverse < 2; reverse++) {
                    sim_options options = { .queue = queues[q], .reverse_phases = reverse };
                    uint64_t got = play_program(seeds[i], (collective_grain)grain, reverse, &options, other);
                    if (got != want)
                        fail_msg("seed %" PRIu64 ", %s, reverse %d: digest %016" PRIx64 ", want %016" PRIx64,
                                 seeds[i], queue_kind_words[queues[q]], reverse, got, want);
                    assert_same_results(first, other);
                }
        }
    // A different program must not have the same digest.
    assert_true(play_program(7, GRAIN_STREAMS, false, NULL, first) !=
                play_program(8, GRAIN_STREAMS, false, NULL, first));
}

// Three equal pairs inside a node, and one that stands for three: same digest, same bytes.
static void folding_does_not_show(void **state)
{
    (void)state;
    uint64_t digests[2], bytes[2];
    for (int folded = 0; folded < 2; folded++) {
        bench *b = bench_create(1, WIRING_SWITCH, GRAIN_STREAMS, false, NULL);
        for (uint32_t pair = 0; pair < (folded ? 1 : 3); pair++)
            open_all(b, add_group(b, 2, pair, 4, folded ? 3 : 1), COLLECTIVE_ALL_GATHER, 70001, PROTOCOL_AUTO,
                     0);
        sim_run(b->s, SIM_TIME_MAX);
        check_rest(b);
        digests[folded] = sim_digest(b->s);
        bytes[folded] = (uint64_t)network_counters_of(b->n).bytes_received;
        bench_destroy(b);
    }
    assert_true(digests[0] == digests[1]);
    assert_true(bytes[0] == bytes[1]);
}

int main(void)
{
    struct CMUnitTest tests[ARRAY_COUNT(hands) + 12];
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_COUNT(hands); i++)
        tests[n++] = (struct CMUnitTest){ hands[i].name, time_is_as_by_hand, NULL, NULL, (void *)&hands[i] };
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(ring_keeps_its_formula);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(the_longer_of_hop_and_delay_counts);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(all_nics_carry_alike);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(rings_over_all_nics_by_hand);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(starts_with_the_last_arrival);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(groups_are_kept);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(plans_are_built_once);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(equal_keys_are_told_apart);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(matrices_are_told_apart);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(transfers_are_told);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(results_do_not_depend_on_the_order);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(folding_does_not_show);
    SIM_ASSERT(n == ARRAY_COUNT(tests));
    return cmocka_run_group_tests_name("collective", tests, NULL, NULL);
}
