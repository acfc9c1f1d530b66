// SPDX-License-Identifier: GPL-3.0-or-later
// The fluid engine against SimGrid: the same transfers over the same links by the same paths, taking turns in one run, medians
// of CPU time. It fails when the clocks at the end, or the end of any transfer, differ by more than 1e-9 of the clock; it
// never fails for being slow. First random small networks, for their ends alone, then the races (tests/bench/README.md).
//     bench_simgrid            about 2 minutes, nearly all of it SimGrid's
//     bench_simgrid --quick    small sizes: run by ctest so that the program never rots
#define _DEFAULT_SOURCE // MAP_ANONYMOUS
#include "models/network/fluid_network.h"
#include "sim/os.h"
#include "tests/bench/bench_simgrid_peer.h"
#include "tests/support/reference_flows.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

// SimGrid ends together what ends within 1e-9 s. Transfers are so large that a run lasts tens of seconds: then this is far
// below the 1e-9 of the clock that is asked for. It costs no side anything, for time has no scale without latencies.
enum { SCALE = 1000, PEER_RUNS = 3, OWN_RUNS = 2 * PEER_RUNS };
static const double most_difference = 1e-9;
static const reference_tree reference_f256 = { 2, { 16, 16 }, { 1, 16 } };

// ---- what both play

typedef struct match {
    const topology *fabric;
    load load;
    load_slot *slots;
} match;

typedef struct outcome { // in memory that a child shares with its parent
    double cpu_s;
    uint64_t peak_bytes;
    double ends_s[];
} outcome;

static size_t transfer_count(const load *l)
{
    return (size_t)l->slots * l->rounds;
}

static void match_open(match *m, arena *a, const topology *t, uint32_t slots, uint32_t rounds)
{
    const uint32_t links = topology_link_count(t) + topology_bundle_count(t);
    uint64_t *rates = arena_array(a, uint64_t, links);
    for (uint32_t l = 0; l < links; l++)
        rates[l] = topology_rate_mBps(t, l);
    m->fabric = t;
    m->slots = arena_array(a, load_slot, slots);
    m->load = (load){ .hosts = topology_nic_count(t),
                      .links = links,
                      .slots = slots,
                      .rounds = rounds,
                      .link_mBps = rates,
                      .slot = m->slots };
}

// Gives slot i its ends and the path between them; bytes are the caller's.
static void match_set(match *m, arena *a, uint32_t i, uint32_t from, uint32_t to, const uint64_t *bytes)
{
    uint32_t path[TOPOLOGY_PATH_MAX];
    const uint32_t links = topology_route(m->fabric, topology_nic_vertex(m->fabric, from),
                                          topology_nic_vertex(m->fabric, to), path);
    uint32_t *copy = arena_array(a, uint32_t, links);
    memcpy(copy, path, links * sizeof *path);
    m->slots[i] = (load_slot){ .from = from, .to = to, .path = copy, .path_links = links, .bytes = bytes };
}

static uint64_t draw_bytes(uint64_t *stream) // about 100 MB, as in reference_flows.h, times SCALE
{
    return SCALE * (UINT64_C(50000000) + test_random(stream) % UINT64_C(100000001));
}

// ---- our side

typedef struct own_player {
    const match *match;
    sim *sim;
    network *net;
    uint16_t client;
    uint32_t *started; // by slot
    double *ends_s;
} own_player;

static void own_start(own_player *p, uint32_t i)
{
    const load_slot *slot = &p->match->slots[i];
    network_edge edge = { .from = topology_nic_vertex(p->match->fabric, slot->from),
                          .to = topology_nic_vertex(p->match->fabric, slot->to),
                          .bytes = slot->bytes[p->started[i]++] };
    network_start(p->net, &(network_request){ .edges = &edge,
                                              .edge_count = 1,
                                              .delay_crossings = 1,
                                              .rate_cap_mBps = slot->rate_cap_mBps,
                                              .weight = 1,
                                              .queue_pairs = 1,
                                              .multiplicity = 1,
                                              .client = p->client,
                                              .tag = i });
}

static void own_on_delivered(void *owner, uint64_t tag, transfer_id id)
{
    own_player *p = owner;
    const uint32_t i = (uint32_t)tag, rounds = p->match->load.rounds;
    (void)id;
    p->ends_s[(size_t)i * rounds + p->started[i] - 1] = units_s_from_ps(sim_now(p->sim));
    if (p->started[i] < rounds) own_start(p, i);
}

static void own_play(const match *m, outcome *out)
{
    arena *a = arena_create("bench");
    SIM_ASSERT(a);
    own_player p = { .match = m, .sim = sim_create(a, NULL), .ends_s = out->ends_s };
    p.net = network_create_fluid(a, p.sim, m->fabric, &(fluid_options){ .flows = m->load.slots });
    p.client = network_add_client(p.net, own_on_delivered, &p);
    p.started = arena_array(a, uint32_t, m->load.slots);
    const double start_s = os_cpu_s();
    for (uint32_t i = 0; i < m->load.slots; i++)
        own_start(&p, i);
    SIM_ASSERT(sim_run(p.sim, SIM_TIME_MAX) == SIM_DRAINED);
    out->cpu_s = os_cpu_s() - start_s;
    network_verify(p.net);
    sim_destroy(p.sim);
    arena_destroy(a);
}

static void peer_play(const match *m, outcome *out)
{
    simgrid_peer *peer = simgrid_create(&m->load);
    const double start_s = os_cpu_s();
    simgrid_play(peer, out->ends_s);
    out->cpu_s = os_cpu_s() - start_s;
}

// ---- taking turns

static size_t outcome_size(const load *l)
{
    return sizeof(outcome) + transfer_count(l) * sizeof(double);
}

static outcome *outcome_create(const load *l)
{
    void *memory = mmap(NULL, outcome_size(l), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        perror("bench_simgrid: mmap");
        exit(2);
    }
    return memory;
}

// In a process of its own, both sides alike.
static void play_apart(void (*play)(const match *, outcome *), const match *m, outcome *out)
{
    int status = 0;
    for (size_t i = 0; i < transfer_count(&m->load); i++)
        out->ends_s[i] = NAN; // what never ends agrees with nothing
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        play(m, out);
        out->peak_bytes = os_peak_memory_bytes();
        fflush(NULL);
        _exit(0); // SimGrid's platform is not taken down
    }
    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror("bench_simgrid: fork");
        exit(2);
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fprintf(stderr, "bench_simgrid: a player did not come to its end\n");
        exit(1);
    }
}

typedef struct comparison {
    double own_s, peer_s; // clocks at the end
    double clock_ratio,
        worst_ratio; // differences over the clock: of the clocks; the largest of any transfer's end
    bool same;
} comparison;

static comparison compare(const load *l, const outcome *own, const outcome *peer)
{
    comparison c = { .same = true };
    double worst_s = 0;
    for (size_t i = 0; i < transfer_count(l); i++) {
        c.own_s = fmax(c.own_s, own->ends_s[i]);
        c.peer_s = fmax(c.peer_s, peer->ends_s[i]);
        const double difference_s = fabs(own->ends_s[i] - peer->ends_s[i]);
        worst_s = fmax(worst_s, difference_s);
        c.same &= !isnan(difference_s); // one did not end
    }
    c.clock_ratio = fabs(c.own_s - c.peer_s) / c.peer_s;
    c.worst_ratio = worst_s / c.peer_s;
    c.same &= c.clock_ratio <= most_difference && c.worst_ratio <= most_difference;
    return c;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y); // equal durations are the same value: which one comes first cannot show
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare_doubles);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

// ---- random small networks

static uint64_t draw_between(uint64_t *stream, uint64_t least, uint64_t most)
{
    return least + test_random(stream) % (most - least + 1);
}

// Trees of one to three tiers, each with its own rate, every NIC with its own; all three ways of routing.
static const topology *draw_fabric(arena *a, uint64_t *stream)
{
    xgft_def def = { .tiers = (uint32_t)draw_between(stream, 1, TIERS_MAX) };
    topology *t = topology_create(a);
    uint32_t hosts = 1;
    for (uint32_t l = 0; l < def.tiers; l++) {
        def.children[l] = (uint32_t)draw_between(stream, l ? 2 : 3, 4);
        def.parents[l] = l ? (uint32_t)draw_between(stream, 1, 3) : 1;
        def.cables[l] = l ? (uint32_t)draw_between(stream, 1, 2) : 1;
        def.tier[l] = (fabric_tier){ .name = "switch",
                                     .port_rate_mBps = draw_between(stream, 10000000000000, 50000000000000),
                                     .adaptive_ppm = (uint32_t)draw_between(stream, 950000, 1000000) };
        hosts *= def.children[l];
    }
    topology_set_policy(t,
                        &(fabric_policy){ .routing = (routing_kind)draw_between(stream, 0, ROUTING_ADAPTIVE),
                                          .hash_key = test_random(stream),
                                          .queue_pairs = 1,
                                          .reroute_ps = SIM_TIME_MAX });
    for (uint32_t i = 0; i < hosts; i++) {
        node_wiring wiring = { .nics = 1,
                               .nic_rate_mBps = draw_between(stream, 5000000000000, 60000000000000) };
        topology_add_node(t, &wiring);
    }
    sim_error error = { 0 };
    SIM_ASSERT(topology_add_xgft(t, &def, &(fabric_places){ { NULL } }, &error));
    topology_seal(t);
    SIM_ASSERT(topology_check(t, NULL, &error));
    return t;
}

// Random pairs, some twice; every third slot has a cap.
static match draw_match(arena *a, uint64_t *stream)
{
    match m;
    const topology *t = draw_fabric(a, stream);
    const uint32_t hosts = topology_nic_count(t), rounds = (uint32_t)draw_between(stream, 1, 4);
    match_open(&m, a, t, (uint32_t)draw_between(stream, 2, (uint64_t)3 * hosts), rounds);
    for (uint32_t i = 0; i < m.load.slots; i++) {
        uint64_t *bytes = arena_array(a, uint64_t, rounds);
        for (uint32_t r = 0; r < rounds; r++)
            bytes[r] = draw_bytes(stream);
        const uint32_t from = (uint32_t)(test_random(stream) % hosts);
        const uint32_t to = (from + (uint32_t)draw_between(stream, 1, hosts - 1)) % hosts;
        match_set(&m, a, i, from, to, bytes);
        if (i % 3 == 0) m.slots[i].rate_cap_mBps = draw_between(stream, 1000000000000, 20000000000000);
    }
    return m;
}

static bool agree_on_random_networks(uint32_t count)
{
    bool same = true;
    size_t transfers = 0;
    double worst_ratio = 0;
    for (uint32_t seed = 1; seed <= count; seed++) {
        arena *a = arena_create("match");
        SIM_ASSERT(a);
        uint64_t stream = seed;
        const match m = draw_match(a, &stream);
        outcome *own = outcome_create(&m.load), *peer = outcome_create(&m.load);
        play_apart(own_play, &m, own);
        play_apart(peer_play, &m, peer);
        const comparison c = compare(&m.load, own, peer);
        if (!c.same) printf("seed %" PRIu32 ": an end differs by %.1e of the clock\n", seed, c.worst_ratio);
        same &= c.same;
        worst_ratio = fmax(worst_ratio, c.worst_ratio);
        transfers += transfer_count(&m.load);
        munmap(own, outcome_size(&m.load));
        munmap(peer, outcome_size(&m.load));
        arena_destroy(a);
    }
    printf("%" PRIu32 " random networks, %zu transfers: ends differ by at most %.1e of the clock: %s\n\n",
           count, transfers, worst_ratio, same ? "same" : "DIFFERENT");
    return same;
}

// ---- races

typedef enum race_load { RACE_PAIRS, RACE_PERMUTATIONS } race_load;

typedef struct race {
    const char *name;
    const reference_tree *tree;
    routing_kind routing;
    race_load load;
    uint32_t per_host, rounds; // slots of each host, transfers of each slot
    double target;             // how many times faster; 0: none stated
    bool quick;
} race;

static const race races[] = {
    { "64 hosts, 1 per NIC, hashed", &reference_f64, ROUTING_ECMP, RACE_PAIRS, 1, 5, 0, true },
    { "64 hosts, 4 per NIC, hashed", &reference_f64, ROUTING_ECMP, RACE_PAIRS, 4, 2, 0, true },
    { "permk K=2, F64", &reference_f64, ROUTING_STATIC, RACE_PERMUTATIONS, 2, 1, 0, true },
    { "1,024 hosts, 1 per NIC, hashed", &reference_f1024, ROUTING_ECMP, RACE_PAIRS, 1, 5, 200, false },
    { "1,024 hosts, 1 per NIC, d-mod-k", &reference_f1024, ROUTING_STATIC, RACE_PAIRS, 1, 5, 0, false },
    { "1,024 hosts, 4 per NIC, hashed", &reference_f1024, ROUTING_ECMP, RACE_PAIRS, 4, 2, 400, false },
    { "permk K=8, F128r3", &reference_f128r3, ROUTING_STATIC, RACE_PERMUTATIONS, 8, 1, 100, false },
    { "permk K=8, F256", &reference_f256, ROUTING_STATIC, RACE_PERMUTATIONS, 8, 1, 100, false },
};

// As reference_topology(), with a choice of routing.
static const topology *race_fabric(arena *a, const race *r)
{
    xgft_def def = { .tiers = r->tree->tiers };
    topology *t = topology_create(a);
    uint32_t hosts = 1;
    for (uint32_t l = 0; l < def.tiers; l++) {
        def.children[l] = r->tree->children[l];
        def.parents[l] = r->tree->parents[l];
        def.cables[l] = 1;
        def.tier[l] =
            (fabric_tier){ .name = "switch", .port_rate_mBps = 50000000000000, .adaptive_ppm = 1000000 };
        hosts *= def.children[l];
    }
    topology_set_policy(
        t, &(fabric_policy){
               .routing = r->routing, .hash_key = 42, .queue_pairs = 1, .reroute_ps = SIM_TIME_MAX });
    for (uint32_t i = 0; i < hosts; i++)
        topology_add_node(t, &(node_wiring){ .nics = 1 });
    sim_error error = { 0 };
    SIM_ASSERT(topology_add_xgft(t, &def, &(fabric_places){ { NULL } }, &error));
    topology_seal(t);
    SIM_ASSERT(topology_check(t, NULL, &error));
    return t;
}

// Slot k hosts + i goes from host i: to a random host that no other of its slots goes to, or by the k-th permutation of
// reference_flows.h.
static uint32_t *draw_destinations(arena *a, const race *r, uint32_t hosts, uint64_t *stream)
{
    uint32_t *to = arena_array(a, uint32_t, (size_t)r->per_host * hosts);
    for (uint32_t k = 0; k < r->per_host; k++) {
        uint32_t *p = to + (size_t)k * hosts;
        for (uint32_t i = 0; i < hosts; i++)
            p[i] = i;
        for (uint32_t i = hosts - 1; i > 0 && r->load == RACE_PERMUTATIONS; i--) {
            const uint32_t j = (uint32_t)(test_random(stream) % i), other = p[i];
            p[i] = p[j];
            p[j] = other;
        }
        for (uint32_t i = 0; i < hosts && r->load == RACE_PAIRS; i++) {
            bool fresh = false;
            while (!fresh) {
                p[i] = (uint32_t)((i + 1 + test_random(stream) % (hosts - 1)) % hosts);
                fresh = true;
                for (uint32_t before = 0; before < k; before++)
                    fresh &= to[(size_t)before * hosts + i] != p[i];
            }
        }
    }
    return to;
}

static match race_match(arena *a, const race *r)
{
    match m;
    uint64_t stream = 42;
    const topology *t = race_fabric(a, r);
    const uint32_t hosts = topology_nic_count(t);
    match_open(&m, a, t, r->per_host * hosts, r->rounds);
    const uint32_t *to = draw_destinations(a, r, hosts, &stream);
    for (uint32_t i = 0; i < m.load.slots; i++) {
        uint64_t *bytes = arena_array(a, uint64_t, r->rounds);
        for (uint32_t k = 0; k < r->rounds; k++)
            bytes[k] = draw_bytes(&stream);
        match_set(&m, a, i, i % hosts, to[i], bytes);
    }
    return m;
}

static bool run_race(const race *r)
{
    arena *a = arena_create("race");
    SIM_ASSERT(a);
    const match m = race_match(a, r);
    outcome *own = outcome_create(&m.load), *peer = outcome_create(&m.load);
    double own_s[OWN_RUNS], peer_s[PEER_RUNS];
    comparison c = { 0 };
    bool same = true;
    for (int run = 0; run < PEER_RUNS; run++) {
        play_apart(own_play, &m, own);
        own_s[2 * run] = own->cpu_s;
        play_apart(peer_play, &m, peer);
        peer_s[run] = peer->cpu_s;
        play_apart(own_play, &m, own);
        own_s[2 * run + 1] = own->cpu_s;
        c = compare(&m.load, own, peer);
        same &= c.same;
    }
    const double transfers = (double)transfer_count(&m.load);
    const double own_us = median(own_s, OWN_RUNS) * 1e6 / transfers;
    const double peer_us = median(peer_s, PEER_RUNS) * 1e6 / transfers;
    const double times = peer_us / own_us;
    char target[32] = "-";
    if (r->target > 0)
        snprintf(target, sizeof target, "%.0f %s", r->target, times >= r->target ? "met" : "MISSED");
    printf("%-32s %9.0f %11.1f %8.2f %7.0f %11s  %14.9f %14.9f %8.1e %8.1e  %s\n", r->name, transfers,
           peer_us, own_us, times, target, c.peer_s, c.own_s, c.clock_ratio, c.worst_ratio,
           same ? "same" : "DIFFERENT");
    munmap(own, outcome_size(&m.load));
    munmap(peer, outcome_size(&m.load));
    arena_destroy(a);
    return same;
}

int main(int argc, char **argv)
{
    const bool quick = argc == 2 && strcmp(argv[1], "--quick") == 0;
    if (argc > 1 && !quick) {
        fprintf(stderr, "usage: bench_simgrid [--quick]\n");
        return 2;
    }
    bool same = agree_on_random_networks(quick ? 10 : 200);
    printf("CPU time per transfer in us, medians of %d runs of SimGrid and %d of ours, in turn; clocks at "
           "the end\n"
           "in s; differences over the clock: of the clocks, and of the end that differs most\n",
           PEER_RUNS, OWN_RUNS);
    printf("%-32s %9s %11s %8s %7s %11s  %14s %14s %8s %8s\n", "", "transfers", "SimGrid us", "own us",
           "times", "target", "SimGrid clock", "own clock", "clocks", "ends");
    for (size_t i = 0; i < ARRAY_COUNT(races); i++)
        if (races[i].quick || !quick) same &= run_race(&races[i]);
    return same ? 0 : 1;
}
