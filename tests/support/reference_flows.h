// SPDX-License-Identifier: GPL-3.0-or-later
// tests/support/reference_flows.h: workloads on fat trees whose completion times are known to nine digits, for tests and
// benches of the network. Written apart from models/traffic, which plays the same ones, so that a mistake there cannot hide
// here. Trees are at full bisection, every link 400 Gb/s in each direction; routing is d-mod-k.
//     ring      2 (N - 1) steps of floor(B / N) to the next host; a step starts when the host's own send and its receive of
//               the one before are over
//     perm      a permutation without fixed points (Sattolo), B each; permrand: about B; permk: K of them, about B
//     a2a       everyone to every other, B; a2arand: about B
//     churn     every host keeps one flow in the air, K in a row, to random hosts, about B
// "About B": floor(B / 2) + draw mod (B + 1), drawn after the permutations, from SplitMix64.
#pragma once
#include "models/network/fluid_network.h"
#include "models/network/topology_build.h"
#include "sim/array.h"
#include "tests/support/random.h"
#include <string.h>

typedef enum reference_kind {
    REFERENCE_RING,
    REFERENCE_PERM,
    REFERENCE_PERMRAND,
    REFERENCE_PERMK,
    REFERENCE_A2A,
    REFERENCE_A2ARAND,
    REFERENCE_CHURN
} reference_kind;

typedef struct reference_tree {
    uint32_t tiers, children[TIERS_MAX], parents[TIERS_MAX];
} reference_tree;
static const reference_tree reference_f64 = { 2, { 8, 8 }, { 1, 8 } };
static const reference_tree reference_f128r3 = { 3, { 4, 4, 8 }, { 1, 4, 4 } };
static const reference_tree reference_f1024 = { 2, { 32, 32 }, { 1, 32 } };
static const reference_tree reference_f16384 = { 2, { 128, 128 }, { 1, 128 } };

typedef struct reference_run {
    sim *sim;
    network *net;
    uint16_t client;
    reference_kind kind;
    uint64_t bytes;
    uint32_t hosts, rounds;
    vertex_id *vertices;
    uint64_t *streams;        // churn: the state of the draws, by host
    uint32_t *started, *sent; // loops: by host
    uint64_t finished;
    sim_time last_ps;
    unsigned __int128 sum_ps;
} reference_run;

static inline const topology *reference_topology(arena *a, const reference_tree *tree, sim_time link_delay_ps)
{
    xgft_def def = { .tiers = tree->tiers };
    topology *t = topology_create(a);
    uint32_t hosts = 1;
    for (uint32_t l = 0; l < tree->tiers; l++) {
        def.children[l] = tree->children[l];
        def.parents[l] = tree->parents[l];
        def.cables[l] = 1;
        def.tier[l] = (fabric_tier){ .name = "switch",
                                     .port_rate_mBps = UINT64_C(50000000000000),
                                     .cable_delay_ps = link_delay_ps,
                                     .adaptive_ppm = 1000000 };
        hosts *= tree->children[l];
    }
    for (uint32_t i = 0; i < hosts; i++)
        topology_add_node(t, &(node_wiring){ .nics = 1 });
    sim_error error = { 0 };
    bool good = topology_add_xgft(t, &def, &(fabric_places){ { NULL } }, &error);
    topology_seal(t);
    SIM_ASSERT(good && topology_check(t, NULL, &error));
    return t;
}

static inline void reference_send(reference_run *r, uint32_t from, uint32_t to, uint64_t bytes)
{
    network_edge edge = { .from = r->vertices[from], .to = r->vertices[to], .bytes = bytes };
    network_start(r->net, &(network_request){ .edges = &edge,
                                              .edge_count = 1,
                                              .delay_crossings = 1,
                                              .weight = 1,
                                              .queue_pairs = 1,
                                              .multiplicity = 1,
                                              .client = r->client,
                                              .tag = from });
}

static inline uint64_t reference_size(const reference_run *r, uint64_t *stream)
{
    return r->bytes / 2 + test_random(stream) % (r->bytes + 1);
}

static inline void reference_churn(reference_run *r, uint32_t host)
{
    uint64_t *stream = &r->streams[host];
    uint32_t to = (uint32_t)(test_random(stream) % (r->hosts - 1));
    to += to >= host;
    r->started[host]++;
    reference_send(r, host, to, reference_size(r, stream));
}

static inline void reference_ring(reference_run *r, uint32_t host)
{
    uint32_t before = host ? host - 1 : r->hosts - 1, step = r->started[host];
    if (step == 2 * (r->hosts - 1) || r->sent[host] < step || r->sent[before] < step) return;
    r->started[host]++;
    reference_send(r, host, host + 1 < r->hosts ? host + 1 : 0, r->bytes / r->hosts);
}

static inline void reference_on_delivered(void *owner, uint64_t tag, transfer_id id)
{
    reference_run *r = owner;
    uint32_t host = (uint32_t)tag;
    (void)id;
    r->finished++;
    r->last_ps = sim_now(r->sim);
    r->sum_ps += (uint64_t)sim_now(r->sim);
    if (r->kind == REFERENCE_CHURN && r->started[host] < r->rounds) reference_churn(r, host);
    if (r->kind != REFERENCE_RING) return;
    r->sent[host]++;
    reference_ring(r, host);
    reference_ring(r, host + 1 < r->hosts ? host + 1 : 0);
}

static inline void reference_permutations(arena *a, reference_run *r, uint64_t seed)
{
    uint64_t stream = seed;
    uint32_t *to = arena_array(a, uint32_t, (size_t)r->rounds * r->hosts);
    for (uint32_t k = 0; k < r->rounds; k++) {
        uint32_t *p = to + (size_t)k * r->hosts;
        for (uint32_t i = 0; i < r->hosts; i++)
            p[i] = i;
        for (uint32_t i = r->hosts - 1; i > 0; i--) {
            uint32_t j = (uint32_t)(test_random(&stream) % i), other = p[i];
            p[i] = p[j];
            p[j] = other;
        }
    }
    for (uint32_t f = 0; f < r->rounds * r->hosts; f++)
        reference_send(r, f % r->hosts, to[f],
                       r->kind == REFERENCE_PERM ? r->bytes : reference_size(r, &stream));
}

static inline void reference_all_to_all(reference_run *r, uint64_t seed)
{
    uint64_t stream = seed;
    for (uint32_t from = 0; from < r->hosts; from++)
        for (uint32_t to = 0; to < r->hosts; to++)
            if (from != to)
                reference_send(r, from, to, r->kind == REFERENCE_A2A ? r->bytes : reference_size(r, &stream));
}

// Plays to the end on n, whose topology is a reference tree; rounds 1 where the workload has none.
static inline reference_run reference_play(arena *a, sim *s, network *n, reference_kind kind, uint64_t bytes,
                                           uint32_t rounds)
{
    const uint64_t seed = 42;
    reference_run run = { .sim = s,
                          .net = n,
                          .kind = kind,
                          .bytes = bytes,
                          .rounds = rounds,
                          .hosts = topology_nic_count(network_topology(n)) };
    reference_run *r = arena_new(a, reference_run); // the network keeps its address
    *r = run;
    r->client = network_add_client(n, reference_on_delivered, r);
    r->vertices = arena_array(a, vertex_id, r->hosts);
    r->streams = arena_array(a, uint64_t, r->hosts);
    r->started = arena_array(a, uint32_t, r->hosts);
    r->sent = arena_array(a, uint32_t, r->hosts);
    for (uint32_t i = 0; i < r->hosts; i++) {
        r->vertices[i] = topology_nic_vertex(network_topology(n), i);
        r->streams[i] = seed * 1000003 + i;
    }
    for (uint32_t i = 0; i < r->hosts && kind == REFERENCE_RING; i++)
        reference_ring(r, i);
    for (uint32_t i = 0; i < r->hosts && kind == REFERENCE_CHURN; i++)
        reference_churn(r, i);
    if (kind == REFERENCE_PERM || kind == REFERENCE_PERMRAND || kind == REFERENCE_PERMK)
        reference_permutations(a, r, seed);
    if (kind == REFERENCE_A2A || kind == REFERENCE_A2ARAND) reference_all_to_all(r, seed);
    SIM_ASSERT(sim_run(s, SIM_TIME_MAX) == SIM_DRAINED);
    return *r;
}
