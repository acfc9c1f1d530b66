// SPDX-License-Identifier: GPL-3.0-or-later
// bench_route: how long it takes to build the fabric of 16,384 hosts in three tiers, what it holds, and what a route costs.
// There is no peer to compare with: a hash over all paths shows that each run asked the same.
//     bench_route            16,384 hosts, 4 million routes of each kind
//     bench_route --quick    128 hosts, a few thousand: run by ctest so that the program never rots
#include "models/network/routing.h"
#include "tests/support/fabrics.h"
#include "tests/support/random.h"
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

typedef struct bench_size {
    uint32_t hosts, ports;
    uint64_t routes;
} bench_size;

static double seconds_since(clock_t start)
{
    return (double)(clock() - start) / CLOCKS_PER_SEC;
}

static const topology *build(arena *a, const bench_size *size, routing_kind routing)
{
    const fabric_places none = { 0 };
    sim_error error = { 0 };
    const clock_t start = clock();
    topology *t = fabrics_nodes(a, size->hosts, NULL);
    topology_set_policy(t, &(fabric_policy){ .routing = routing, .hash_key = 42, .queue_pairs = 1 });
    const fat_tree_def def = fabrics_fat_tree_def(size->ports, 3, 1, 1);
    const bool built = topology_add_fat_tree(t, &def, &none, &error);
    fabrics_seal(t, built, &error);
    printf("%-9s %u hosts, %u links, %.1f ms, %.1f MB in use\n", routing_words[routing], size->hosts,
           topology_link_count(t), seconds_since(start) * 1e3, (double)arena_used_bytes(a) * 1e-6);
    return t;
}

static void measure(const topology *t, const fabric_state *state, uint64_t routes, const char *what)
{
    uint64_t random = 1, hash = 0, links = 0;
    const uint32_t nics = topology_nic_count(t);
    const clock_t start = clock();
    for (uint64_t i = 0; i < routes; i++) {
        uint32_t path[TOPOLOGY_PATH_MAX];
        const vertex_id from = topology_nic_vertex(t, test_random_below(&random, nics)),
                        to = topology_nic_vertex(t, test_random_below(&random, nics));
        const uint32_t count = route_find(t, state, from, to, 0, path);
        for (uint32_t k = 0; k < count; k++)
            hash = (hash ^ path[k]) * UINT64_C(0x100000001b3);
        links += count;
    }
    printf("  %-22s %6.1f ns a route, %.2f links, hash %016" PRIx64 "\n", what,
           seconds_since(start) * 1e9 / (double)routes, (double)links / (double)routes, hash);
}

int main(int argc, char **argv)
{
    const bool quick = argc == 2 && strcmp(argv[1], "--quick") == 0;
    if (argc > 1 && !quick) {
        fprintf(stderr, "usage: bench_route [--quick]\n");
        return 2;
    }
    const bench_size size = quick ? (bench_size){ 128, 8, 4000 } : (bench_size){ 16384, 64, 4000000 };
    for (routing_kind routing = ROUTING_STATIC; routing <= ROUTING_ADAPTIVE; routing++) {
        arena *a = arena_create("bench");
        const topology *t = build(a, &size, routing);
        fabric_state *state = fabric_state_create(a, t);
        measure(t, NULL, size.routes, "all links up");
        // A cable between a leaf and a spine: few routes meet it, but all must look.
        fabric_set_avoided(state, 2 * size.hosts, true);
        fabric_set_avoided(state, 2 * size.hosts + 1, true);
        measure(t, state, size.routes, "one cable avoided");
        arena_destroy(a);
    }
    return 0;
}
