// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "models/collective/ring_order.h"
#include "models/network/topology_build.h"
#include "sim/array.h"
#include <inttypes.h>

enum { GPUS_MAX = 40, MEMBERS_MAX = 64 };

typedef struct node_shape {
    uint32_t gpus;
    uint32_t per_nic; // GPUs that share a NIC; 0: no NICs
    node_wiring_kind wiring;
} node_shape;

static const topology *fabric(arena *a, const node_shape *shapes, uint32_t nodes)
{
    topology *t = topology_create(a);
    for (uint32_t v = 0; v < nodes; v++) {
        const node_shape *s = &shapes[v];
        uint32_t nic_of_gpu[GPUS_MAX];
        for (uint32_t g = 0; s->per_nic && g < s->gpus; g++)
            nic_of_gpu[g] = g / s->per_nic;
        topology_add_node(t, &(node_wiring){ .gpus = s->gpus,
                                             .nics = s->per_nic ? (s->gpus - 1) / s->per_nic + 1 : 0,
                                             .scale_up = s->wiring,
                                             .scale_up_rate_mBps = UINT64_C(431700000000000),
                                             .scale_up_delay_ps = 150100,
                                             .nic_pcie_rate_mBps = UINT64_C(53100000000000),
                                             .nic_of_gpu = nic_of_gpu });
    }
    single_switch_def def = { .rate_mBps = UINT64_C(48300000000000), .cable_delay_ps = 25300 };
    sim_error error = { 0 };
    assert_true(topology_add_single_switch(t, &def, NULL, &error));
    topology_seal(t);
    assert_true(topology_check(t, NULL, &error));
    return t;
}

// The first GPUs of every node, node by node.
static uint32_t first_gpus(const topology *t, uint32_t per_node, vertex_id *members)
{
    uint32_t count = 0;
    for (gpu_id g = 0; g < topology_gpu_count(t); g++) {
        vertex_id v = topology_gpu_vertex(t, g);
        if (topology_vertex_at(t, v)->number >= per_node) continue;
        assert_true(count < MEMBERS_MAX);
        members[count++] = v;
    }
    return count;
}

static const topology_link *link_at(const topology *t, vertex_id from, vertex_id to, uint32_t at)
{
    link_id path[TOPOLOGY_PATH_MAX];
    assert_true(at < topology_route(t, from, to, path));
    return topology_link_at(t, path[at]);
}

// Each ring visits each position once.
static void check_rings(const ring_set *s, uint32_t ranks)
{
    assert_int_equal(s->ranks, ranks);
    for (uint32_t r = 0; r < s->count; r++) {
        uint64_t seen = 0;
        for (uint32_t i = 0; i < ranks; i++)
            seen |= UINT64_C(1) << s->orders[r * ranks + i];
        assert_true(seen == (ranks == 64 ? UINT64_MAX : (UINT64_C(1) << ranks) - 1));
    }
}

// Rings pass one node after another, and those members are the node's chain; where nodes are alike, chains of one ring begin at
// members of NICs of one number.
static void check_nodes(const topology *t, const vertex_id *members, const ring_set *s, bool alike)
{
    assert_int_equal(s->node_starts[0], 0);
    assert_int_equal(s->node_starts[s->nodes], s->ranks);
    for (uint32_t r = 0; r < s->count; r++)
        for (uint32_t v = 0; v < s->nodes; v++) {
            const uint32_t head = plan_chain_at(s, r, v, 0),
                           count = plan_node_start(s, v + 1) - plan_node_start(s, v);
            uint64_t in_ring = 0, in_chain = 0;
            for (uint32_t i = 0; i < count; i++) {
                const uint32_t member = plan_chain_at(s, r, v, i);
                assert_int_equal(topology_domain_of(t, members[member]),
                                 topology_domain_of(t, members[head]));
                in_chain |= UINT64_C(1) << member;
                in_ring |= UINT64_C(1) << s->orders[r * s->ranks + plan_node_start(s, v) + i];
            }
            assert_true(in_ring == in_chain);
            if (!alike || s->nodes == 1) continue;
            const uint32_t first = plan_chain_at(s, r, 0, 0), other = v == 0 ? 1 : 0;
            const vertex_id nic = link_at(t, members[head], members[plan_chain_at(s, r, other, 0)], 0)->to;
            const vertex_id first_nic = link_at(t, members[first], members[plan_chain_at(s, r, 1, 0)], 0)->to;
            assert_int_equal(topology_vertex_at(t, nic)->number, topology_vertex_at(t, first_nic)->number);
        }
}

// The plan is proved, moves as many bytes as any algorithm must, and both grains have the same edges.
static void check_plan(arena *a, const ring_set *s, collective_kind kind, uint64_t bytes)
{
    const uint64_t factor = kind == COLLECTIVE_ALL_REDUCE ? 2 : 1, n = s->ranks;
    arena_mark_t mark = arena_mark(a);
    plan messages, streams;
    plan_ring(a, &(plan_request){ .kind = kind, .rings = s, .bytes = bytes, .grain = GRAIN_MESSAGES },
              &messages);
    plan_ring(a, &(plan_request){ .kind = kind, .rings = s, .bytes = bytes, .grain = GRAIN_STREAMS },
              &streams);
    if (!plan_is_valid(a, &messages))
        fail_msg("%s of %" PRIu64 " bytes over %" PRIu64 " ranks, %" PRIu32 " rings",
                 collective_kind_words[kind], bytes, n, s->count);
    assert_int_equal(messages.rings, s->count);
    assert_int_equal(messages.chunks, n * s->count);
    assert_int_equal(messages.steps, factor * (n - 1));
    assert_int_equal(messages.message_count, factor * (n - 1) * n * s->count);
    assert_int_equal(plan_payload_bytes(&messages), factor * (n - 1) * bytes);
    assert_int_equal(streams.edge_count, messages.edge_count);
    assert_int_equal(streams.steps, messages.steps);
    assert_null(streams.messages);
    for (uint32_t e = 0; e < streams.edge_count; e++)
        assert_memory_equal(&streams.edges[e], &messages.edges[e], sizeof streams.edges[e]);
    arena_release(a, mark);
}

static void check_plans(arena *a, const ring_set *s)
{
    const uint64_t sizes[] = { 0, 1, s->ranks - 1, s->ranks, 12345 };
    for (collective_kind kind = 0; kind < COLLECTIVE_SEND_RECV; kind++)
        for (size_t i = 0; i < ARRAY_COUNT(sizes); i++)
            check_plan(a, s, kind, sizes[i]);
}

// ---- one node ----

static void one_ring_behind_a_switch_or_the_host(void **state)
{
    (void)state;
    static const node_wiring_kind wirings[] = { WIRING_SWITCH, WIRING_HOST };
    for (size_t w = 0; w < ARRAY_COUNT(wirings); w++)
        for (uint32_t n = 1; n <= 9; n++) {
            arena *a = arena_create("test");
            const topology *t = fabric(a, &(node_shape){ 9, 1, wirings[w] }, 1);
            vertex_id members[9];
            for (uint32_t i = 0; i < n; i++)
                members[i] = topology_gpu_vertex(t, (5 * i + 2) % 9);
            ring_set s = ring_order_make(a, t, members, n);
            assert_int_equal(s.count, 1);
            for (uint32_t i = 0; i < n; i++)
                assert_int_equal(s.orders[i], i); // the group's order, whatever the GPUs' numbers
            check_rings(&s, n);
            check_plans(a, &s);
            arena_destroy(a);
        }
}

// No two rings use one directed link, or of four members exactly two; as many rings as the header promises.
static void a_mesh_has_disjoint_rings(void **state)
{
    (void)state;
    static const uint32_t want[] = {
        [1] = 1,  [2] = 1,   [3] = 2,   [4] = 6,   [5] = 4,   [6] = 4,   [7] = 6,   [8] = 7,   [9] = 8,
        [10] = 9, [12] = 11, [14] = 13, [16] = 15, [17] = 16, [18] = 16, [20] = 18, [33] = 32, [40] = 38
    };
    for (uint32_t n = 1; n < ARRAY_COUNT(want); n++) {
        if (want[n] == 0) continue;
        arena *a = arena_create("test");
        const topology *t = fabric(a, &(node_shape){ GPUS_MAX, 0, WIRING_MESH }, 1);
        vertex_id members[GPUS_MAX];
        first_gpus(t, n, members);
        ring_set s = ring_order_make(a, t, members, n);
        assert_int_equal(s.count, want[n]);
        check_rings(&s, n);
        uint32_t *uses = arena_array(a, uint32_t, topology_link_count(t));
        for (uint32_t r = 0; n > 1 && r < s.count; r++)
            for (uint32_t i = 0; i < n; i++) {
                link_id path[TOPOLOGY_PATH_MAX];
                uint32_t from = s.orders[r * n + i], to = s.orders[r * n + (i + 1) % n];
                assert_int_equal(topology_route(t, members[from], members[to], path), 1);
                assert_true(++uses[path[0]] <= (n == 4 ? 2 : 1));
            }
        if (n <= 9) check_plans(a, &s);
        arena_destroy(a);
    }
}

static void four_in_a_mesh_by_hand(void **state)
{
    (void)state;
    static const uint32_t want[] = {
        0, 1, 2, 3, 0, 3, 2, 1, 0, 1, 3, 2, 0, 2, 3, 1, 0, 2, 1, 3, 0, 3, 1, 2
    }; // the three cycles, both ways
    arena *a = arena_create("test");
    const topology *t = fabric(a, &(node_shape){ 4, 1, WIRING_MESH }, 1);
    vertex_id members[4];
    first_gpus(t, 4, members);
    ring_set s = ring_order_make(a, t, members, 4);
    assert_int_equal(s.count, 6);
    assert_memory_equal(s.orders, want, sizeof want);
    arena_destroy(a);
}

// ---- several nodes ----

typedef struct crossing_count {
    uint32_t left, entered;
} crossing_count;

// Every NIC that serves a member is left and entered by one ring; returns whether all crossings but those into node 0 keep
// their rail, and sets *last to whether those do.
static bool check_nics(const topology *t, const vertex_id *members, const ring_set *s, bool *last)
{
    crossing_count counts[256] = { 0 };
    bool served[256] = { false }, rails = true;
    *last = true;
    const uint32_t n = s->ranks;
    for (uint32_t i = 0; i < n; i++) { // a member's NIC: where its path to another node begins
        const vertex_id elsewhere = topology_vertex_at(t, members[i])->node ==
                                            topology_vertex_at(t, members[0])->node
                                        ? members[n - 1]
                                        : members[0];
        served[link_at(t, members[i], elsewhere, 0)->to] = true;
    }
    for (uint32_t r = 0; r < s->count; r++)
        for (uint32_t i = 0; i < n; i++) {
            vertex_id from = members[s->orders[r * n + i]], to = members[s->orders[r * n + (i + 1) % n]];
            if (topology_vertex_at(t, from)->node == topology_vertex_at(t, to)->node) continue;
            vertex_id out = link_at(t, from, to, 0)->to, in = link_at(t, from, to, 3)->from;
            counts[out].left++;
            counts[in].entered++;
            bool keeps = topology_vertex_at(t, out)->number == topology_vertex_at(t, in)->number;
            if (topology_vertex_at(t, to)->node == 0)
                *last = *last && keeps;
            else
                rails = rails && keeps;
        }
    for (vertex_id v = 0; v < topology_vertex_count(t); v++) {
        assert_int_equal(counts[v].left, served[v]);
        assert_int_equal(counts[v].entered, served[v]);
    }
    return rails;
}

static void every_nic_is_used_and_rails_are_kept(void **state)
{
    (void)state;
    static const node_wiring_kind wirings[] = { WIRING_SWITCH, WIRING_HOST, WIRING_MESH };
    for (uint32_t nodes = 2; nodes <= 4; nodes++)
        for (uint32_t per_node = 1; per_node <= 8; per_node++)
            for (uint32_t per_nic = 1; per_nic <= 8; per_nic *= 2)
                for (size_t w = 0; w < ARRAY_COUNT(wirings); w++) {
                    arena *a = arena_create("test");
                    node_shape shapes[4];
                    for (uint32_t v = 0; v < nodes; v++)
                        shapes[v] = (node_shape){ 8, per_nic, wirings[w] };
                    const topology *t = fabric(a, shapes, nodes);
                    vertex_id members[MEMBERS_MAX];
                    const uint32_t n = first_gpus(t, per_node, members);
                    ring_set s = ring_order_make(a, t, members, n);
                    assert_int_equal(s.count, (per_node - 1) / per_nic + 1);
                    check_rings(&s, n);
                    assert_int_equal(s.nodes, nodes);
                    check_nodes(t, members, &s, true);
                    bool last;
                    assert_true(check_nics(t, members, &s, &last));
                    assert_int_equal(last, nodes % 2 == 0 || s.count == 1);
                    if (per_node <= 4) check_plans(a, &s);
                    arena_destroy(a);
                }
}

struct order_case {
    const char *name;
    node_shape shapes[3];
    uint32_t nodes, count;
    gpu_id gpus[12];
    uint32_t rings;
    uint32_t want[32];
};
static const struct order_case orders[] = {
    { "two nodes, four NICs",
      { { 4, 1, WIRING_SWITCH }, { 4, 1, WIRING_SWITCH } },
      2,
      8,
      { 0, 1, 2, 3, 4, 5, 6, 7 },
      4,
      { 0, 1, 2, 3, 7, 6, 5, 4, 1, 2, 3, 0, 4, 7, 6, 5, 2, 3, 0, 1, 5, 4, 7, 6, 3, 0, 1, 2, 6, 5, 4, 7 } },
    { "three nodes, two GPUs to a NIC",
      { { 4, 2, WIRING_SWITCH }, { 4, 2, WIRING_SWITCH }, { 4, 2, WIRING_SWITCH } },
      3,
      12,
      { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 },
      2,
      { 0, 1, 2, 3, 7, 6, 5, 4, 8, 9, 10, 11, 2, 3, 0, 1, 5, 4, 7, 6, 10, 11, 8, 9 } },
    { "meshes go zigzag",
      { { 4, 1, WIRING_MESH }, { 4, 1, WIRING_MESH } },
      2,
      8,
      { 0, 1, 2, 3, 4, 5, 6, 7 },
      4,
      { 0, 1, 3, 2, 6, 7, 5, 4, 1, 2, 0, 3, 7, 4, 6, 5, 2, 3, 1, 0, 4, 5, 7, 6, 3, 0, 2, 1, 5, 6, 4, 7 } },
    // positions 0 3 in the node that comes first, 1 2 in the other, each from the lower NIC on
    { "nodes mixed, in the order of their first member",
      { { 4, 1, WIRING_SWITCH }, { 4, 1, WIRING_SWITCH } },
      2,
      4,
      { 6, 3, 0, 5 },
      2,
      { 3, 0, 1, 2, 0, 3, 2, 1 } },
    { "one NIC: the group's order inside the nodes",
      { { 4, 4, WIRING_SWITCH }, { 4, 4, WIRING_SWITCH } },
      2,
      5,
      { 7, 3, 2, 5, 0 },
      1,
      { 0, 3, 1, 2, 4 } },
    // 4 NICs in one node, 2 in the other: the rings begin at NICs 0 and 2 of the first
    { "as many rings as the node with fewest NICs has",
      { { 4, 1, WIRING_SWITCH }, { 3, 2, WIRING_SWITCH } },
      2,
      7,
      { 0, 1, 2, 3, 4, 5, 6 },
      2,
      { 0, 1, 2, 3, 6, 5, 4, 2, 3, 0, 1, 5, 4, 6 } },
};

static void order_is_as_by_hand(void **state)
{
    const struct order_case *c = *state;
    arena *a = arena_create("test");
    const topology *t = fabric(a, c->shapes, c->nodes);
    vertex_id members[12];
    for (uint32_t i = 0; i < c->count; i++)
        members[i] = topology_gpu_vertex(t, c->gpus[i]);
    ring_set s = ring_order_make(a, t, members, c->count);
    assert_int_equal(s.count, c->rings);
    for (uint32_t i = 0; i < c->rings * c->count; i++)
        assert_int_equal(s.orders[i], c->want[i]);
    check_rings(&s, c->count);
    check_nodes(t, members, &s, false);
    check_plans(a, &s);
    arena_destroy(a);
}

// In meshes over nodes, no link inside a node carries two rings (even members) or three (odd).
static void meshes_over_nodes_spread_their_rings(void **state)
{
    (void)state;
    for (uint32_t per_node = 2; per_node <= 9; per_node++) {
        arena *a = arena_create("test");
        const node_shape shapes[] = { { per_node, 1, WIRING_MESH }, { per_node, 1, WIRING_MESH } };
        const topology *t = fabric(a, shapes, 2);
        vertex_id members[18];
        const uint32_t n = first_gpus(t, per_node, members);
        ring_set s = ring_order_make(a, t, members, n);
        plan p;
        plan_ring(a,
                  &(plan_request){
                      .kind = COLLECTIVE_ALL_REDUCE, .rings = &s, .bytes = 70001, .grain = GRAIN_STREAMS },
                  &p);
        for (uint32_t e = 0; e < p.edge_count; e++)
            assert_in_range(p.edges[e].rings, 1, per_node % 2 ? 2 : 1);
        arena_destroy(a);
    }
}

int main(void)
{
    struct CMUnitTest tests[ARRAY_COUNT(orders) + 5];
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_COUNT(orders); i++)
        tests[n++] = (struct CMUnitTest){ orders[i].name, order_is_as_by_hand, NULL, NULL,
                                          (void *)&orders[i] };
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(one_ring_behind_a_switch_or_the_host);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(a_mesh_has_disjoint_rings);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(four_in_a_mesh_by_hand);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(every_nic_is_used_and_rails_are_kept);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(meshes_over_nodes_spread_their_rings);
    SIM_ASSERT(n == ARRAY_COUNT(tests));
    return cmocka_run_group_tests_name("ring_order", tests, NULL, NULL);
}
