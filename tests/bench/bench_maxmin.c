// SPDX-License-Identifier: GPL-3.0-or-later
// bench_maxmin: what one event costs (a flow departs, another arrives, shares are resolved) on two-tier fat trees at full
// bisection, routed by d-mod-k, with random pairs of hosts:
//   replay     the incremental solve of maxmin_resolve.c
//   component  a solve from scratch of all flows connected with the change through shared links, which is what SimGrid's
//              selective update does; on the same data and with the same rounds, its closure and solve only
//   full       a solve from scratch of all flows
// All three take turns on the same events. It fails when the levels by two ways differ, or when the replay does more work
// than a row allows, counted, not timed: it never fails for being slow (tests/bench/README.md).
//     bench_maxmin            1,024, 16,384 and 65,536 hosts, 1, 2 and 4 flows per host: about 20 s
//     bench_maxmin --quick    256 and 1,024 hosts: run by ctest
#include "models/network/maxmin_internal.h"
#include "sim/os.h"
#include "tests/support/random.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 5 };

typedef struct tree { // leaves = spines = hosts per leaf = arity
    uint32_t arity, hosts;
} tree;

typedef struct workload {
    const char *name;
    uint32_t arity, flows_per_host;
    uint32_t warm, events;               // of the replay, in each round
    uint32_t samples;                    // of the others, in each round
    double most_incidences, most_pushes; // per event of the replay, on average
} workload;

typedef struct bench {
    arena *arena;
    maxmin *m;
    tree tree;
    uint64_t random;
    uint32_t *ids, flow_count;
    // the component of a change
    uint32_t stamp, *link_stamps, *flow_stamps, *links, *flows;
    uint32_t component_flows;
} bench;

// Links of a tree with n hosts: 0 .. n - 1 up from a host, n .. 2 n - 1 down to it, then arity x arity up from a leaf to a
// spine, then as many down from a spine to a leaf. Returns the hops: 2 within a leaf, else 4 over spine to mod arity.
static uint32_t tree_route(const tree *t, uint32_t from, uint32_t to, uint32_t path[4])
{
    uint32_t leaf_from = from / t->arity, leaf_to = to / t->arity, spine = to % t->arity;
    path[0] = from;
    path[1] = t->hosts + to;
    path[2] = 2 * t->hosts + leaf_from * t->arity + spine;
    path[3] = 3 * t->hosts + spine * t->arity + leaf_to;
    return leaf_from == leaf_to ? 2 : 4;
}

static void flow_start(bench *b, uint32_t slot)
{
    uint32_t path[4];
    uint32_t from = test_random_below(&b->random, b->tree.hosts);
    uint32_t to = test_random_below(&b->random, b->tree.hosts - 1);
    to += to >= from;
    maxmin_demand demand = { .links = path, .weight = 1, .cap = MAXMIN_NONE };
    demand.hops = tree_route(&b->tree, from, to, path);
    b->ids[slot] = maxmin_arrive(b->m, &demand);
}

static void replace_one(bench *b)
{
    uint32_t count, slot = test_random_below(&b->random, b->flow_count);
    maxmin_depart(b->m, b->ids[slot]);
    flow_start(b, slot);
    maxmin_resolve(b->m, &count);
}

static void bench_open(bench *b, const workload *w)
{
    *b = (bench){ .arena = arena_create("bench"), .random = w->arity * 1000u + w->flows_per_host };
    if (!b->arena) exit(2);
    b->tree = (tree){ .arity = w->arity, .hosts = w->arity * w->arity };
    b->flow_count = b->tree.hosts * w->flows_per_host;
    uint32_t link_count = 4 * b->tree.hosts, count;
    b->m = maxmin_create(b->arena,
                         &(maxmin_options){ .links = link_count, .flows = b->flow_count, .path_usual = 4 });
    for (uint32_t l = 0; l < link_count; l++)
        maxmin_add_link(b->m, UINT64_C(50000000000000)); // 400 Gb/s in mB/s
    b->ids = arena_array(b->arena, uint32_t, b->flow_count);
    b->links = arena_array(b->arena, uint32_t, link_count);
    b->link_stamps = arena_array(b->arena, uint32_t, link_count);
    b->flows = arena_array(b->arena, uint32_t, b->flow_count);
    b->flow_stamps = arena_array(b->arena, uint32_t, b->flow_count);
    for (uint32_t slot = 0; slot < b->flow_count; slot++)
        flow_start(b, slot);
    maxmin_resolve(b->m, &count);
}

static void component_add_link(bench *b, uint32_t link, uint32_t *count)
{
    if (b->link_stamps[link] == b->stamp) return;
    b->link_stamps[link] = b->stamp;
    b->links[(*count)++] = link;
}

// All flows that share a link with a flow that shares a link with ... the changed links; then their solve.
static void component_solve(bench *b, const uint32_t *changed, uint32_t changed_count)
{
    maxmin *m = b->m;
    uint32_t link_count = 0;
    b->stamp++;
    b->component_flows = 0;
    for (uint32_t i = 0; i < changed_count; i++)
        component_add_link(b, changed[i], &link_count);
    for (uint32_t i = 0; i < link_count; i++) {
        const maxmin_link *link = &m->links[b->links[i]];
        const uint32_t *list = maxmin_list(m, link);
        for (uint32_t j = 0; j < link->count; j++) {
            uint32_t id = maxmin_flow_of(m, list[j]);
            if (b->flow_stamps[id] == b->stamp) continue;
            b->flow_stamps[id] = b->stamp;
            b->flows[b->component_flows++] = id;
            const maxmin_flow *flow = maxmin_flow_at(m, id);
            for (uint32_t h = 0; h < flow->hops; h++)
                component_add_link(b, flow->path[h], &link_count);
        }
    }
    maxmin_fill(m, b->flows, b->component_flows);
}

// ---- measuring

typedef enum way { REPLAY, COMPONENT, FULL, WAYS } way;

typedef struct measured {
    double us[WAYS][ROUNDS]; // per event
    double us_median[WAYS];
    uint64_t hash[WAYS];
    double incidences[WAYS];                  // per event
    double touched, changed, dirtied, pushes; // per event of the replay
    double memory_MiB;
} measured;

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 29;
}

// The levels by slot: as they are after the replay, or as a solve from scratch left them for the flows it solved.
static uint64_t hash_levels(const bench *b, way which)
{
    uint64_t hash = 0;
    for (uint32_t slot = 0; slot < b->flow_count; slot++) {
        uint32_t id = b->ids[slot];
        bool solved = which == FULL || (which == COMPONENT && b->flow_stamps[id] == b->stamp);
        hash = mix(hash, solved ? b->m->full_levels[id] : maxmin_level(b->m, id));
    }
    return hash;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y); // equal durations are the same value: which one comes first cannot show
}

static double median(const double *values)
{
    double sorted[ROUNDS];
    memcpy(sorted, values, sizeof sorted);
    qsort(sorted, ROUNDS, sizeof *sorted, compare_doubles);
    return sorted[ROUNDS / 2];
}

static void measure_replay(bench *b, const workload *w, measured *r, int round)
{
    for (uint32_t i = 0; i < w->warm; i++)
        replace_one(b); // brings its memory back into the caches
    maxmin_counters before = maxmin_counters_of(b->m);
    double start = os_cpu_s();
    for (uint32_t i = 0; i < w->events; i++)
        replace_one(b);
    r->us[REPLAY][round] = (os_cpu_s() - start) * 1e6 / w->events;
    maxmin_counters after = maxmin_counters_of(b->m);
    double each = 1.0 / ((double)w->events * ROUNDS);
    r->incidences[REPLAY] += (double)(after.incidences - before.incidences) * each;
    r->touched += (double)(after.flows_touched - before.flows_touched) * each;
    r->changed += (double)(after.flows_changed - before.flows_changed) * each;
    r->dirtied += (double)(after.links_dirtied - before.links_dirtied) * each;
    r->pushes += (double)(after.queue_pushes - before.queue_pushes) * each;
}

// One more event, solved in all three ways.
static void measure_sample(bench *b, const workload *w, measured *r, int round)
{
    maxmin *m = b->m;
    uint32_t changed[8], changed_count = 0, count, slot = test_random_below(&b->random, b->flow_count);
    const maxmin_flow *flow = maxmin_flow_at(m, b->ids[slot]);
    for (uint32_t h = 0; h < flow->hops; h++)
        changed[changed_count++] = flow->path[h];
    maxmin_depart(m, b->ids[slot]);
    flow_start(b, slot);
    flow = maxmin_flow_at(m, b->ids[slot]);
    for (uint32_t h = 0; h < flow->hops; h++)
        changed[changed_count++] = flow->path[h];
    maxmin_resolve(m, &count);
    r->hash[REPLAY] = mix(r->hash[REPLAY], hash_levels(b, REPLAY));

    uint64_t incidences = maxmin_counters_of(m).incidences;
    double start = os_cpu_s();
    component_solve(b, changed, changed_count);
    r->us[COMPONENT][round] += (os_cpu_s() - start) * 1e6 / w->samples;
    r->hash[COMPONENT] = mix(r->hash[COMPONENT], hash_levels(b, COMPONENT));
    uint64_t incidences_component = maxmin_counters_of(m).incidences;

    start = os_cpu_s();
    maxmin_fill(m, m->active, m->flow_count);
    r->us[FULL][round] += (os_cpu_s() - start) * 1e6 / w->samples;
    r->hash[FULL] = mix(r->hash[FULL], hash_levels(b, FULL));
    double each = 1.0 / ((double)w->samples * ROUNDS);
    r->incidences[COMPONENT] += (double)(incidences_component - incidences) * each;
    r->incidences[FULL] += (double)(maxmin_counters_of(m).incidences - incidences_component) * each;
}

// False when the ways did not agree.
static bool measure(const workload *w, measured *r)
{
    bench b;
    *r = (measured){ 0 };
    bench_open(&b, w);
    for (int round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < w->samples; i++)
            measure_sample(&b, w, r, round);
        measure_replay(&b, w, r, round);
    }
    for (int i = 0; i < WAYS; i++)
        r->us_median[i] = median(r->us[i]);
    r->memory_MiB = (double)arena_used_bytes(b.arena) / 1048576;
    maxmin_audit_report audit = maxmin_audit(b.m);
    bool right = !audit.wrong_levels && !audit.wrong_closings && !audit.overloaded_links &&
                 !audit.flows_without_bottleneck && !audit.broken_lists;
    arena_destroy(b.arena);
    return right && r->hash[REPLAY] == r->hash[COMPONENT] && r->hash[REPLAY] == r->hash[FULL];
}

static void print_header(void)
{
    printf("two-tier fat trees, d-mod-k, random pairs; one flow replaced per event; CPU time and counts per "
           "event,\n"
           "medians of %d rounds taken in turn; ratio: how many times the replay is faster\n",
           ROUNDS);
    printf("%-7s %4s | %9s | %12s %8s | %12s %8s | %7s %7s %6s %7s %9s %10s | %6s | %s\n", "tree", "per",
           "replay", "component", "", "full", "", "flows", "flows", "links", "queue", "inci-", "incidences",
           "memory", "levels,");
    printf("%-7s %4s | %9s | %12s %8s | %12s %8s | %7s %7s %6s %7s %9s %10s | %6s | %s\n", "", "host", "us",
           "us", "ratio", "us", "ratio", "touched", "changed", "dirty", "pushes", "dences", "component",
           "MiB", "by all three");
}

static void print_row(const workload *w, const measured *r, bool same)
{
    printf("%-7s %4" PRIu32
           " | %9.2f | %12.1f %8.1f | %12.1f %8.1f | %7.1f %7.1f %6.1f %7.1f %9.1f %10.0f | %6.1f | "
           "%016" PRIx64 " %s\n",
           w->name, w->flows_per_host, r->us_median[REPLAY], r->us_median[COMPONENT],
           r->us_median[COMPONENT] / r->us_median[REPLAY], r->us_median[FULL],
           r->us_median[FULL] / r->us_median[REPLAY], r->touched, r->changed, r->dirtied, r->pushes,
           r->incidences[REPLAY], r->incidences[COMPONENT], r->memory_MiB, r->hash[REPLAY],
           same ? "same" : "DIFFERENT");
    fflush(stdout);
}

// Counts are the same on every machine: too many are a loss of speed that no clock needs to see.
static bool counts_are_low(const workload *w, const measured *r)
{
    if (r->incidences[REPLAY] <= w->most_incidences && r->pushes <= w->most_pushes) return true;
    printf("%s with %" PRIu32 " flows per host: more than %.0f incidences or %.0f queue pushes per event\n",
           w->name, w->flows_per_host, w->most_incidences, w->most_pushes);
    return false;
}

static const workload quick_workloads[] = {
    { "F256", 16, 1, 0, 60, 4, 95, 27 },
    { "F256", 16, 2, 0, 60, 4, 350, 85 },
    { "F256", 16, 4, 0, 40, 4, 3000, 600 },
    { "F1024", 32, 1, 0, 60, 2, 95, 27 },
};
static const workload workloads[] = {
    { "F1024", 32, 1, 2000, 20000, 40, 95, 27 },   { "F1024", 32, 2, 1000, 4000, 40, 350, 85 },
    { "F1024", 32, 4, 500, 1000, 40, 3000, 600 },  { "F16384", 128, 1, 10000, 20000, 4, 95, 27 },
    { "F16384", 128, 2, 2000, 4000, 4, 350, 85 },  { "F16384", 128, 4, 500, 1000, 4, 3000, 600 },
    { "F65536", 256, 1, 20000, 40000, 2, 95, 27 }, { "F65536", 256, 2, 4000, 4000, 2, 350, 85 },
    { "F65536", 256, 4, 500, 500, 2, 3000, 600 },
};

static bool run(const workload *rows, size_t count, measured *results)
{
    bool good = true;
    print_header();
    for (size_t i = 0; i < count; i++) {
        bool same = measure(&rows[i], &results[i]);
        print_row(&rows[i], &results[i], same);
        good &= same & counts_are_low(&rows[i], &results[i]);
    }
    return good;
}

int main(int argc, char **argv)
{
    measured results[sizeof workloads / sizeof *workloads];
    bool quick = argc == 2 && strcmp(argv[1], "--quick") == 0;
    if (argc > 1 && !quick) {
        fprintf(stderr, "usage: bench_maxmin [--quick]\n");
        return 2;
    }
    if (quick) return run(quick_workloads, sizeof quick_workloads / sizeof *quick_workloads, results) ? 0 : 1;
    bool good = run(workloads, sizeof workloads / sizeof *workloads, results);
    printf("16,384 hosts, 1 flow per host: %.0f times faster than the component (wanted: 300)\n",
           results[3].us_median[COMPONENT] / results[3].us_median[REPLAY]);
    printf("1 flow per host: an event at 65,536 hosts costs %.2f times one at 1,024 (wanted: at most 2)\n",
           results[6].us_median[REPLAY] / results[0].us_median[REPLAY]);
    return good ? 0 : 1;
}
