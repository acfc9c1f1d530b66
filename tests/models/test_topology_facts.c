// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "models/network/topology_facts.h"
#include "tests/support/fabrics.h"
#include "tests/support/random.h"
#include "tests/support/text.h"

// ---- bisection against a textbook maximum flow

// Edmonds and Karp over single links: the rate at which the NICs of the first half can send to the others.
static uint64_t maximum_flow(arena *a, const topology *t, uint32_t first_nics)
{
    const arena_mark_t mark = arena_mark(a);
    const uint32_t vertices = topology_vertex_count(t), links = topology_link_count(t);
    uint64_t *left = arena_array(a, uint64_t, links), flow = 0;
    link_id *by = arena_array(a, link_id, vertices);
    vertex_id *queue = arena_array(a, vertex_id, vertices);
    for (link_id l = 0; l < links; l++)
        left[l] = topology_link_at(t, l)->class == LINK_NETWORK ? topology_link_at(t, l)->rate_mBps : 0;
    for (;;) {
        vertex_id sink = NO_ID;
        uint32_t filled = 0;
        for (vertex_id v = 0; v < vertices; v++)
            by[v] = NO_ID;
        for (nic_id n = 0; n < first_nics; n++) {
            by[topology_nic_vertex(t, n)] = NO_ID - 1;
            queue[filled++] = topology_nic_vertex(t, n);
        }
        for (uint32_t next = 0; next < filled && sink == NO_ID; next++) {
            uint32_t rows;
            const link_id *row = topology_outgoing(t, queue[next], &rows);
            for (uint32_t i = 0; i < rows && sink == NO_ID; i++) {
                const vertex_id to = topology_link_at(t, row[i])->to;
                if (left[row[i]] == 0 || by[to] != NO_ID) continue;
                by[to] = row[i];
                queue[filled++] = to;
                if (topology_vertex_at(t, to)->kind == VERTEX_NIC) sink = to;
            }
        }
        if (sink == NO_ID) break;
        uint64_t least = UINT64_MAX;
        for (vertex_id v = sink; by[v] < NO_ID - 1; v = topology_link_at(t, by[v])->from)
            if (left[by[v]] < least) least = left[by[v]];
        for (vertex_id v = sink; by[v] < NO_ID - 1; v = topology_link_at(t, by[v])->from) {
            left[by[v]] -= least;
            left[topology_link_back(by[v])] += least;
        }
        flow += least;
    }
    arena_release(a, mark);
    return flow;
}

// Trees of random shape, with NICs and tiers of random rates.
static void bisection_is_the_maximum_flow(void **state)
{
    (void)state;
    uint64_t random = 20;
    for (uint32_t round = 0; round < 150; round++) {
        arena *a = arena_create("test");
        const fabric_places none = { 0 };
        sim_error error = { 0 };
        uint32_t m[3], w[3] = { 1 }, p[3], places = 1;
        const uint32_t tiers = 1 + test_random_below(&random, 3);
        for (uint32_t l = 0; l < tiers; l++) {
            m[l] = 1 + test_random_below(&random, 4);
            w[l] = l ? 1 + test_random_below(&random, 3) : 1;
            p[l] = 1 + test_random_below(&random, 2);
            places *= m[l];
        }
        const uint32_t hosts = places - test_random_below(&random, (places + 1) / 2);
        xgft_def def = fabrics_xgft_def(tiers, m, w, p);
        for (uint32_t l = 0; l < tiers; l++)
            def.tier[l].port_rate_mBps = 100 + test_random_below(&random, 900);
        topology *t = topology_create(a);
        for (uint32_t n = 0; n < hosts; n++)
            topology_add_node(
                t, &(node_wiring){ .nics = 1, .nic_rate_mBps = 100 + test_random_below(&random, 900) });
        fabrics_seal(t, topology_add_xgft(t, &def, &none, &error), &error);
        const topology_facts f = topology_facts_of(a, t);
        assert_int_equal(f.has_bisection, hosts > 1);
        if (hosts > 1) assert_int_equal(f.bisection_mBps, maximum_flow(a, t, hosts / 2));
        arena_destroy(a);
    }
}

// ---- rows by hand

static topology_facts facts_of_fat_tree(arena *a, uint32_t nodes, uint32_t nics, const fat_tree_def *def)
{
    const fabric_places none = { 0 };
    const node_wiring wiring = fabrics_gpu_node(nics);
    sim_error error = { 0 };
    topology *t = fabrics_nodes(a, nodes, nics ? &wiring : NULL);
    return topology_facts_of(a, fabrics_seal(t, topology_add_fat_tree(t, def, &none, &error), &error));
}

static void a_full_tree(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    const fat_tree_def def = fabrics_fat_tree_def(8, 3, 1, 1);
    const topology_facts f = facts_of_fat_tree(a, 128, 0, &def);
    assert_int_equal(f.tiers, 3);
    static const tier_facts want[] = { { 32, 4, 4, 1.0 }, { 32, 4, 4, 1.0 }, { 16, 8, 0, 0.0 } };
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(f.tier[i].switches, want[i].switches);
        assert_int_equal(f.tier[i].ports_down, want[i].ports_down);
        assert_int_equal(f.tier[i].ports_up, want[i].ports_up);
        assert_near(f.tier[i].oversubscription, want[i].oversubscription, 1e-12);
    }
    assert_int_equal(f.links[LINK_NETWORK], 768);
    assert_int_equal(f.links[LINK_NVLINK], 0);
    assert_true(f.bisection_mBps == 64 * FABRICS_RATE_MBPS);
    assert_near(f.bisection_ratio, 1.0, 1e-12);
    assert_int_equal(f.diameter, 6);
    arena_destroy(a);
}

// 2 x 8 NICs under one leaf of 21 ports up and 42 down, and 2 x 8 more NICs; no node is split.
static void an_oversubscribed_tree(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    const fat_tree_def def = fabrics_fat_tree_def(16, 2, 3, 1); // 12 down, 4 up
    const topology_facts f = facts_of_fat_tree(a, 6, 4, &def);
    assert_int_equal(f.tiers, 2);
    assert_int_equal(f.tier[0].switches, 2);
    assert_near(f.tier[0].oversubscription, 3.0, 1e-12);
    assert_true(f.bisection_mBps == 4 * FABRICS_RATE_MBPS); // of 12 NICs
    assert_near(f.bisection_ratio, 1.0 / 3.0, 1e-12);
    assert_int_equal(f.links[LINK_PCIE], 2 * 6 * 8);
    assert_int_equal(f.links[LINK_NVLINK], 2 * 6 * 8);
    assert_int_equal(f.diameter, 4);
    arena_destroy(a);
}

static void rails_and_lists(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    const fabric_places none = { 0 };
    sim_error error = { 0 };
    const node_wiring wiring = fabrics_gpu_node(4);
    topology *t = fabrics_nodes(a, 4, &wiring);
    const fabric_tier leaf = fabrics_tier(8);
    fabrics_seal(t, topology_add_rail_only(t, &leaf, &none, &error), &error);
    topology_facts f = topology_facts_of(a, t);
    assert_int_equal(f.tiers, 1);
    assert_int_equal(f.tier[0].ports_down, 4);
    assert_true(f.bisection_mBps == 8 * FABRICS_RATE_MBPS); // half of 16 NICs, each inside its leaf
    assert_int_equal(f.diameter, 2);

    // One group of rails: its halves are nodes, not rails, so all traffic stays in the leaves.
    t = fabrics_nodes(a, 4, &wiring);
    const rail_def rails = { .tree = fabrics_fat_tree_def(8, 2, 3, 1) };
    fabrics_seal(t, topology_add_rail_optimized(t, &rails, &none, &error), &error);
    f = topology_facts_of(a, t);
    assert_true(f.bisection_mBps == 8 * FABRICS_RATE_MBPS);
    assert_near(f.tier[0].oversubscription, 2.0, 1e-12); // 4 nodes a leaf, 2 of 6 : 2 ports are used up
    assert_int_equal(f.diameter, 4);

    const listed_cable cables[] = { { "node0/nic0", "leaf0", 10, 0, 1, NULL, NULL, NULL },
                                    { "node1/nic0", "leaf2", 10, 0, 1, NULL, NULL, NULL },
                                    { "leaf0", "leaf1", 10, 0, 1, NULL, NULL, NULL },
                                    { "leaf1", "leaf2", 10, 0, 1, NULL, NULL, NULL } };
    t = fabrics_nodes(a, 2, NULL);
    fabrics_seal(t, topology_add_cables(t, cables, ARRAY_COUNT(cables), NULL, &error), &error);
    f = topology_facts_of(a, t);
    assert_false(f.has_bisection);
    assert_int_equal(f.diameter, 4);
    assert_int_equal(f.tier[0].switches, 3);
    arena_destroy(a);
}

static void a_node_alone(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    const node_wiring wiring = fabrics_gpu_node(0);
    sim_error error = { 0 };
    const topology *t = fabrics_seal(fabrics_nodes(a, 1, &wiring), true, &error);
    const topology_facts f = topology_facts_of(a, t);
    assert_int_equal(f.tiers, 0);
    assert_false(f.has_bisection);
    assert_int_equal(f.diameter, 0);
    assert_int_equal(f.links[LINK_NVLINK], 16);
    arena_destroy(a);
}

// ---- pictures

static const char two_hosts[] =
    "graph fabric {\n"
    "  graph [rankdir=TB, ranksep=1.6, nodesep=0.25, splines=line, fontname=\"Helvetica\"];\n"
    "  node [shape=box, fontname=\"Helvetica\", fontsize=11];\n"
    "  edge [fontname=\"Helvetica\", fontsize=8];\n"
    "  label=\"network (steelblue) 48.30 GB/s\";\n"
    "  subgraph tier_leaf {\n"
    "    rank=same;\n"
    "    node [style=filled, fillcolor=lightblue];\n"
    "    b2 [label=\"leaf 0\"];\n"
    "    b3 [label=\"leaf 1\"];\n"
    "    b2 -- b3 [style=invis];\n"
    "  }\n";

static void pictures_are_text(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    sim_error error = { 0 };
    const listed_cable cables[] = { { "node0/nic0", "leaf0", FABRICS_RATE_MBPS, 0, 1, NULL, NULL, NULL },
                                    { "node1/nic0", "leaf1", FABRICS_RATE_MBPS, 0, 1, NULL, NULL, NULL },
                                    { "leaf0", "leaf1", FABRICS_RATE_MBPS, 0, 3, NULL, NULL, NULL } };
    topology *t = fabrics_nodes(a, 2, NULL);
    fabrics_seal(t, topology_add_cables(t, cables, ARRAY_COUNT(cables), NULL, &error), &error);
    static char text[4000], want[4000];
    FILE *out = tmpfile();
    topology_write_dot(a, t, 1, out); // two nodes are more than one: boxes
    snprintf(want, sizeof want,
             "%s  subgraph nodes {\n"
             "    rank=same;\n"
             "    b4 [label=\"node 0\\n1 x nic\"];\n"
             "    b5 [label=\"node 1\\n1 x nic\"];\n"
             "    b4 -- b5 [style=invis];\n"
             "  }\n"
             "  b3 -- b2 [color=steelblue, label=\"3x\", penwidth=1.8];\n"
             "  b2 -- b4 [color=steelblue];\n"
             "  b3 -- b5 [color=steelblue];\n"
             "}\n",
             two_hosts);
    assert_string_equal(text_read_back(out, text, sizeof text), want);

    out = tmpfile();
    topology_write_dot(a, t, 2, out); // with what is in them
    snprintf(want, sizeof want,
             "%s  subgraph cluster_node0 {\n"
             "    label=\"node 0\";\n"
             "    b0 [label=\"nic 0\"];\n"
             "  }\n"
             "  subgraph cluster_node1 {\n"
             "    label=\"node 1\";\n"
             "    b1 [label=\"nic 0\"];\n"
             "  }\n"
             "  b2 -- b0 [color=steelblue];\n"
             "  b3 -- b1 [color=steelblue];\n"
             "  b3 -- b2 [color=steelblue, label=\"3x\", penwidth=1.8];\n"
             "}\n",
             two_hosts);
    assert_string_equal(text_read_back(out, text, sizeof text), want);
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bisection_is_the_maximum_flow),
        cmocka_unit_test(a_full_tree),
        cmocka_unit_test(an_oversubscribed_tree),
        cmocka_unit_test(rails_and_lists),
        cmocka_unit_test(a_node_alone),
        cmocka_unit_test(pictures_are_text),
    };
    return cmocka_run_group_tests_name("topology_facts", tests, NULL, NULL);
}
