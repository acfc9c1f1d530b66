// SPDX-License-Identifier: GPL-3.0-or-later
// tests/support/fluid_bench.h: a fluid network with one client that notes when its transfers are delivered, and events that
// start transfers and change links.
#pragma once
#include "models/network/fluid_network.h"
#include "models/network/topology_build.h"
#include "sim/array.h"
#include "tests/support/fabric.h"
#include "tests/support/random.h"
#include <inttypes.h>
#include <stdlib.h>

// On the fabric of tests/support/fabric.h: GPUs 0 and 1 share NIC 0 of node 0, GPUs 8 and 9 NIC 0 of node 1, and so on. The
// cable carries 48.3 GB/s, PCIe 53.1 GB/s, NVLink 431.7 GB/s; 281300 ps from node to node, 300200 ps inside a node.
enum { LOG_MAX = 4096, NODE = 300200, NET = 281300 };

typedef struct planned {
    sim_time start_ps;
    gpu_id from, to;
    uint64_t bytes;
    uint32_t weight; // 0: 1
    uint64_t cap_mBps;
} planned;

typedef struct bench {
    arena *a;
    sim *s;
    const topology *t;
    network *n;
    uint16_t client, kind_start, kind_link, kind_pause;
    uint32_t count;
    sim_time ends_ps[LOG_MAX]; // by tag; -1: not delivered
    transfer_id ids[LOG_MAX];
    const planned *plan;
    void (*after)(struct bench *b, uint32_t tag); // when one is delivered
} bench;

static inline void on_delivered(void *owner, uint64_t tag, transfer_id id)
{
    bench *b = owner;
    assert_false(network_in_flight(b->n, id));
    assert_true(tag < LOG_MAX && b->ends_ps[tag] < 0);
    b->ends_ps[tag] = sim_now(b->s);
    b->count++;
    const uint64_t words[] = { tag, (uint64_t)sim_now(b->s) };
    sim_digest_add(b->s, 1, words, 2, 1);
    if (b->after) b->after(b, (uint32_t)tag);
}

static inline vertex_id host_of(const topology *t, uint32_t host)
{
    return topology_gpu_count(t) > 0 ? topology_gpu_vertex(t, host) : topology_nic_vertex(t, host);
}

static inline transfer_id send(bench *b, uint32_t tag, const planned *p)
{
    network_edge edge = { .from = host_of(b->t, p->from), .to = host_of(b->t, p->to), .bytes = p->bytes };
    assert_true(tag < LOG_MAX);
    b->ids[tag] = network_start(b->n, &(network_request){ .edges = &edge,
                                                          .edge_count = 1,
                                                          .delay_crossings = 1,
                                                          .rate_cap_mBps = p->cap_mBps,
                                                          .weight = p->weight ? p->weight : 1,
                                                          .queue_pairs = 1,
                                                          .twin = tag,
                                                          .multiplicity = 1,
                                                          .client = b->client,
                                                          .tag = tag });
    return b->ids[tag];
}

static inline void on_start(sim *s, void *owner, const sim_event *event)
{
    bench *b = owner;
    (void)s;
    send(b, event->target, &b->plan[event->target]);
}

// extra: parts per thousand
static inline void on_link(sim *s, void *owner, const sim_event *event)
{
    bench *b = owner;
    (void)s;
    network_set_link(b->n, event->target, event->extra / 1000.0);
}

// Bare hosts with one NIC each on one switch, at the rate of the other fabric's cables, without delays.
static inline const topology *hosts_on_a_switch(arena *a, uint32_t hosts)
{
    topology *t = topology_create(a);
    for (uint32_t i = 0; i < hosts; i++)
        topology_add_node(t, &(node_wiring){ .nics = 1 });
    sim_error error = { 0 };
    assert_true(topology_add_single_switch(t, &(single_switch_def){ .rate_mBps = CABLE_MBPS }, NULL, &error));
    topology_seal(t);
    assert_true(topology_check(t, NULL, &error));
    return t;
}

static inline void on_pause(sim *s, void *owner, const sim_event *event)
{
    (void)s;
    (void)owner;
    (void)event;
}

static inline bench *bench_on(arena *a, const topology *t, const fluid_options *options,
                              const sim_options *loop)
{
    bench *b = arena_new(a, bench);
    b->a = a;
    b->s = sim_create(a, loop);
    b->t = t;
    b->n = network_create_fluid(a, b->s, b->t, options);
    b->client = network_add_client(b->n, on_delivered, b);
    b->kind_start = sim_add_kind(b->s, "start", SIM_ACT, on_start, b);
    b->kind_pause = sim_add_kind(b->s, "pause", SIM_ACT, on_pause, b);
    b->kind_link = sim_add_kind(b->s, "link", SIM_ACT, on_link, b);
    for (uint32_t i = 0; i < LOG_MAX; i++)
        b->ends_ps[i] = -1;
    return b;
}

static inline bench *bench_create(const fluid_options *options, const sim_options *loop)
{
    static const fluid_options exact = { 0 };
    arena *a = arena_create("test");
    return bench_on(a, test_fabric(a, 2, WIRING_SWITCH, SCALE_UP_MBPS, CABLE_MBPS),
                    options ? options : &exact, loop);
}

static inline void bench_destroy(bench *b)
{
    sim_destroy(b->s);
    arena_destroy(b->a);
}

static inline void plan_starts(bench *b, const planned *plan, uint32_t count)
{
    b->plan = plan;
    for (uint32_t i = 0; i < count; i++)
        sim_schedule(b->s, plan[i].start_ps, b->kind_start, i, 0);
}

static inline link_id find_link(const bench *b, const char *name)
{
    char text[160];
    for (link_id l = 0; l < topology_link_count(b->t); l++)
        if (strcmp(topology_link_name(b->t, l, text, sizeof text), name) == 0) return l;
    fail_msg("no link %s", name);
    return NO_ID;
}

// The clock goes on to this instant: something must happen for that.
static inline void run_until(bench *b, sim_time at_ps)
{
    sim_schedule(b->s, at_ps, b->kind_pause, 0, 0);
    sim_run(b->s, at_ps);
    assert_int_equal(sim_now(b->s), at_ps);
}

static inline void change_link(bench *b, sim_time at_ps, const char *name, uint32_t permille)
{
    sim_schedule(b->s, at_ps, b->kind_link, find_link(b, name), permille);
}

static inline void run_to_end(bench *b)
{
    network_verify(b->n);
    assert_int_equal(sim_run(b->s, SIM_TIME_MAX), SIM_DRAINED);
    network_verify(b->n);
}

static inline void check_rest(const bench *b)
{
    network_counters c = network_counters_of(b->n);
    assert_int_equal(c.in_flight, 0);
    assert_int_equal(c.bytes_sent, c.bytes_received);
    assert_int_equal(network_stuck(b->n).transfers, 0);
}

// Each round of the shares loses less than a unit of 1 mB/s and each end is rounded up to a picosecond, before the others go
// on faster: by hand in real numbers, ends agree to 2 ps.
static inline void check_end(const bench *b, uint32_t tag, sim_time want_ps)
{
    if (llabs(b->ends_ps[tag] - want_ps) > 2)
        fail_msg("transfer %" PRIu32 " ends at %" PRId64 " ps, want %" PRId64, tag, b->ends_ps[tag], want_ps);
}

// start_ps of an edge: its latency.
static inline transfer_id send_stream(bench *b, uint32_t tag, const planned *edges, uint32_t count,
                                      uint32_t crossings)
{
    network_edge made[8];
    for (uint32_t e = 0; e < count; e++)
        made[e] = (network_edge){ .from = topology_gpu_vertex(b->t, edges[e].from),
                                  .to = topology_gpu_vertex(b->t, edges[e].to),
                                  .bytes = edges[e].bytes,
                                  .latency_ps = edges[e].start_ps };
    b->ids[tag] = network_start(b->n, &(network_request){ .edges = made,
                                                          .edge_count = count,
                                                          .delay_crossings = crossings,
                                                          .weight = 1,
                                                          .queue_pairs = 1,
                                                          .multiplicity = 1,
                                                          .client = b->client,
                                                          .tag = tag });
    return b->ids[tag];
}
