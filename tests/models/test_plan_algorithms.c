// SPDX-License-Identifier: GPL-3.0-or-later
// Every algorithm's plan for every kind that it serves: proved, with as many bytes and steps as its file says, over all
// groups of 1 to 9 ranks however they are spread over nodes, and over larger ones that are drawn.
#include "tests/support/plans.h"

static uint32_t log2_up(uint32_t n)
{
    uint32_t log = 0;
    while (UINT32_C(1) << log < n)
        log++;
    return log;
}

static uint32_t largest_node(const ring_set *g)
{
    uint32_t largest = 0;
    for (uint32_t v = 0; v < g->nodes; v++)
        if (g->node_starts[v + 1] - g->node_starts[v] > largest)
            largest = g->node_starts[v + 1] - g->node_starts[v];
    return largest;
}

// n - 1 buffers are the least that is moved; twice that where all end with a sum, unless switches add up what is on its way.
static uint64_t want_bytes(const plan_request *r)
{
    const uint64_t n = r->rings->ranks, nodes = r->rings->nodes, bytes = r->bytes;
    const uint64_t twice = collective_sums_for_all(r->kind) ? 2 : 1;
    switch (r->algorithm) {
    case ALGORITHM_NVLS:
    case ALGORITHM_NVLS_TREE: return (n + nodes) * bytes + 2 * (nodes - 1) * bytes;
    case ALGORITHM_COLLNET_DIRECT:
    case ALGORITHM_COLLNET_CHAIN: return 2 * (n - nodes) * bytes + nodes * bytes;
    default: return twice * (n - 1) * bytes;
    }
}

static uint64_t want_between_nodes(const plan_request *r, const plan *p)
{
    const uint64_t nodes = r->rings->nodes, twice = collective_sums_for_all(r->kind) ? 2 : 1;
    switch (r->algorithm) {
    case ALGORITHM_TREE:
    case ALGORITHM_NVLS:
    case ALGORITHM_NVLS_TREE:
    case ALGORITHM_HIERARCHICAL: return twice * (nodes - 1) * r->bytes;
    case ALGORITHM_COLLNET_DIRECT:
    case ALGORITHM_COLLNET_CHAIN: return nodes * r->bytes;
    default: return plans_bytes_between_nodes(r->rings, p); // whatever it is
    }
}

static uint32_t want_steps(const plan_request *r, const plan *p)
{
    const uint32_t n = r->rings->ranks, nodes = r->rings->nodes, g = largest_node(r->rings);
    const uint32_t twice = collective_sums_for_all(r->kind) ? 2 : 1;
    uint32_t power = 1;
    while (power <= n / 2)
        power *= 2;
    switch (r->algorithm) {
    case ALGORITHM_RING: return twice * (n - 1);
    case ALGORITHM_NVLS: return 1;
    case ALGORITHM_NVLS_TREE: return 2 * log2_up(nodes) + 2;
    case ALGORITHM_COLLNET_DIRECT: return g > 1 ? 3 : 1;
    case ALGORITHM_COLLNET_CHAIN: return 2 * g - 1;
    case ALGORITHM_PAT: return log2_up(n);
    case ALGORITHM_RECURSIVE: return twice * log2_up(power) + (power < n ? 2 : 0);
    case ALGORITHM_HIERARCHICAL: return twice * (g - 1 + nodes - 1);
    default: return p->steps; // trees: see below
    }
}

// What each rank sends and receives by NVLS: the buffer and its part, each way.
static void check_links(const plan_request *r, const plan *messages)
{
    const uint32_t heads = messages->ranks / r->rings->nodes;
    for (uint32_t v = 0; v < r->rings->nodes; v++)
        for (uint32_t i = 0; i < heads; i++) {
            const uint32_t rank = plan_chain_at(r->rings, 0, v, i), lane_chunks = messages->chunks / heads;
            uint64_t out = 0, in = 0;
            for (uint32_t e = 0; e < messages->edge_count; e++) {
                const plan_edge *edge = &messages->edges[e];
                if (edge->from == rank && edge->to >= messages->ranks) out += edge->bytes;
                if (edge->to == rank && edge->from >= messages->ranks) in += edge->bytes;
            }
            const uint64_t want = r->bytes +
                                  plan_range_bytes(r->bytes, messages->chunks, i * lane_chunks, lane_chunks);
            if (out != want || in != want) plans_fail(r, "a link's bytes");
        }
}

static void check_steps(const plan_request *r, const plan *streams)
{
    const ring_set *g = r->rings;
    if (g->ranks == 1) {
        assert_int_equal(streams->steps, 0);
        return;
    }
    if (streams->steps != want_steps(r, streams)) plans_fail(r, "steps");
    if (r->algorithm != ALGORITHM_TREE) return;
    // The longest way up; with position 0 as the root it also leads from the head of its node's chain to its place.
    const uint32_t inside = largest_node(g) - 1, way = inside + log2_up(g->nodes);
    const bool rooted = r->kind == COLLECTIVE_BROADCAST || r->kind == COLLECTIVE_REDUCE;
    const uint32_t most = rooted ? way + inside : 2 * way;
    if (streams->steps > most) plans_fail(r, "the tree is too deep");
    if (!rooted && plan_nodes_alike(g) && streams->steps != most) plans_fail(r, "the tree's depth");
}

static void check(arena *a, const plan_request *r)
{
    arena_mark_t mark = arena_mark(a);
    plan messages, streams;
    plans_check(a, r, &messages, &streams);
    if (plan_payload_bytes(&messages) != want_bytes(r)) plans_fail(r, "bytes of messages");
    if (plan_payload_bytes(&streams) != want_bytes(r)) plans_fail(r, "bytes of streams");
    if (messages.ranks > 1 &&
        (plans_bytes_between_nodes(r->rings, &messages) != want_between_nodes(r, &messages) ||
         plans_bytes_between_nodes(r->rings, &streams) != want_between_nodes(r, &streams)))
        plans_fail(r, "bytes between nodes");
    if (messages.switches > 0) check_links(r, &messages);
    check_steps(r, &streams);
    assert_int_equal(plan_message_count(r), messages.message_count);
    arena_release(a, mark);
}

static const collective_kind kinds[] = { COLLECTIVE_ALL_REDUCE, COLLECTIVE_REDUCE_SCATTER,
                                         COLLECTIVE_ALL_GATHER, COLLECTIVE_BROADCAST,
                                         COLLECTIVE_REDUCE,     COLLECTIVE_BARRIER };

static void check_all(arena *a, const ring_set *g, uint64_t bytes, plan_cut cut)
{
    for (collective_algorithm algorithm = 0; algorithm < ALGORITHMS; algorithm++)
        for (size_t k = 0; k < ARRAY_COUNT(kinds); k++) {
            const plan_request r = {
                .kind = kinds[k], .algorithm = algorithm, .rings = g, .bytes = bytes, .cut = cut
            };
            if (plan_exists(&r)) check(a, &r);
        }
}

// All ways to write n as a sum of node sizes, in order: bit i of the pattern ends a node behind member i.
static uint32_t sizes_of(uint32_t n, uint32_t pattern, uint32_t *sizes)
{
    uint32_t nodes = 0, size = 0;
    for (uint32_t i = 0; i < n; i++) {
        size++;
        if (i < n - 1 && !(pattern >> i & 1)) continue;
        sizes[nodes++] = size;
        size = 0;
    }
    return nodes;
}

static uint32_t smallest(const uint32_t *sizes, uint32_t nodes)
{
    uint32_t least = sizes[0];
    for (uint32_t v = 1; v < nodes; v++)
        if (sizes[v] < least) least = sizes[v];
    return least;
}

static void check_sizes(arena *a, const ring_set *g)
{
    const uint32_t n = g->ranks;
    const uint64_t sizes[] = { 0, 1, n - 1, n, n + 1, 12347, UINT64_C(3000000000000000013) };
    for (size_t i = 0; i < ARRAY_COUNT(sizes); i++)
        check_all(a, g, sizes[i], (plan_cut){ 0 });
    check_all(a, g, 12347, (plan_cut){ .slices = 2 });
    check_all(a, g, 1013, (plan_cut){ .chunk_bytes = 97, .slices = 1 });
    check_all(a, g, 1013, (plan_cut){ .chunk_bytes = 211, .slices = 3 });
}

static void every_small_group(void **state)
{
    const uint32_t n = *(const uint32_t *)*state;
    for (uint32_t pattern = 0; pattern < UINT32_C(1) << (n - 1); pattern++) {
        uint32_t sizes[9] = { 0 };
        const uint32_t nodes = sizes_of(n, pattern, sizes), least = smallest(sizes, nodes);
        for (uint32_t rings = 1; rings <= least; rings++) {
            arena *a = arena_create("test");
            const ring_set g = plans_group(a, sizes, nodes, rings, pattern % 3 * rings);
            if (plan_nodes_alike(&g))
                check_sizes(a, &g);
            else
                check_all(a, &g, 1013, (plan_cut){ .chunk_bytes = pattern % 2 * 300, .slices = 1 + n % 2 });
            arena_destroy(a);
        }
    }
}

enum { SEEDS = 60, RANKS_MAX = 64 };

// Every second one over nodes that are alike, for that is what some algorithms need.
static void larger_groups_that_are_drawn(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint64_t random = seed;
        uint32_t sizes[RANKS_MAX] = { 0 }, nodes = 0, left = 10 + test_random_below(&random, RANKS_MAX - 9);
        const uint32_t size = 1 + test_random_below(&random, 8);
        while (left > 0) {
            const uint32_t drawn = seed % 2 ? size : 1 + test_random_below(&random, 9);
            if (seed % 2 && left < size) break;
            sizes[nodes++] = drawn < left ? drawn : left;
            left -= sizes[nodes - 1];
        }
        const uint32_t rings = 1 + test_random_below(&random, smallest(sizes, nodes));
        arena *a = arena_create("test");
        const ring_set g = plans_group(a, sizes, nodes, rings, random);
        const uint64_t bytes = test_random_below(&random, 100000);
        check_all(a, &g, bytes,
                  (plan_cut){ .chunk_bytes = test_random_below(&random, 2) * (bytes / 3 + 1),
                              .slices = 1 + test_random_below(&random, 2) });
        arena_destroy(a);
    }
}

// 16 nodes of 8 GPUs and 8 NICs, 8 GiB in chunks of 2 MiB in two slices: what is played message by message at most. Every one
// of R lanes has an R-th of it, 4096 / R chunks, and all lanes together 8192 slices. Each goes over 127 edges up and 127
// down; by NVLS over 2 x 9 links in each node, and up and down between 16; by SHARP up and down between each head and 7
// others, and from each head to the next.
static void the_largest_in_messages(void **state)
{
    (void)state;
    static const struct {
        collective_algorithm algorithm;
        uint32_t messages;
    } want[] = { { ALGORITHM_RING, 2 * 127 * 8192 },
                 { ALGORITHM_TREE, 2 * 127 * 8192 },
                 { ALGORITHM_NVLS_TREE, (16 * 18 + 30) * 8192 },
                 { ALGORITHM_COLLNET_DIRECT, (2 * 112 + 16) * 8192 } };
    static const uint32_t sizes[] = { 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8 };
    assert_true(sizeof(plan_message) <= 40);
    for (size_t i = 0; i < ARRAY_COUNT(want); i++) {
        arena *a = arena_create("test");
        const ring_set g = plans_group(a, sizes, ARRAY_COUNT(sizes), 8, 0);
        plan p;
        plan_build(a,
                   &(plan_request){ .kind = COLLECTIVE_ALL_REDUCE,
                                    .algorithm = want[i].algorithm,
                                    .rings = &g,
                                    .bytes = UINT64_C(8) << 30,
                                    .grain = GRAIN_MESSAGES,
                                    .cut = { .chunk_bytes = 2 << 20, .slices = 2 } },
                   &p);
        assert_int_equal(p.message_count, want[i].messages);
        assert_true(arena_high_water_bytes(a) < 320000000);
        arena_destroy(a);
    }
}

int main(void)
{
    static const uint32_t ranks[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };
    static const char *const names[] = { "1 rank",  "2 ranks", "3 ranks", "4 ranks", "5 ranks",
                                         "6 ranks", "7 ranks", "8 ranks", "9 ranks" };
    struct CMUnitTest tests[ARRAY_COUNT(ranks) + 2];
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_COUNT(ranks); i++)
        tests[n++] = (struct CMUnitTest){ names[i], every_small_group, NULL, NULL, (void *)&ranks[i] };
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(larger_groups_that_are_drawn);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(the_largest_in_messages);
    return cmocka_run_group_tests_name("plan_algorithms", tests, NULL, NULL);
}
