// SPDX-License-Identifier: GPL-3.0-or-later
// What the builders of networks make and refuse. Paths: test_routing.c.
#include "tests/support/near.h"

#include "tests/support/fabrics.h"
#include "tests/support/text.h"

// ---- counts by closed forms

typedef enum built_kind { FAT_TREE, XGFT, SPINE_LEAF, RAILS, RAIL_ONLY } built_kind;

typedef struct count_case {
    const char *name;
    built_kind kind;
    uint32_t nodes, nics; // GPU nodes with so many NICs; 0: bare hosts
    uint32_t ports, tiers;
    double leaf_ratio, spine_ratio;
    uint32_t m[3], w[3], p[3];
    uint32_t leaves, spines_wanted, uplinks, group;
    uint32_t want_leaves, want_spines, want_cores, want_cables; // cables of the network
} count_case;
static const count_case count_cases[] = {
    // k = 8: k^3 / 4 hosts, k^2 / 2 leaves, as many spines, k^2 / 4 cores, 3 k^3 / 4 cables
    { "k = 8, three tiers, full", FAT_TREE, .nodes = 128, .ports = 8, .tiers = 3, .leaf_ratio = 1,
      .spine_ratio = 1, .want_leaves = 32, .want_spines = 32, .want_cores = 16, .want_cables = 384 },
    // 16 leaves a pod ... half of the pods: cores need half as many, with two cables each
    { "k = 8, three tiers, half of the pods", FAT_TREE, .nodes = 64, .ports = 8, .tiers = 3, .leaf_ratio = 1,
      .spine_ratio = 1, .want_leaves = 16, .want_spines = 16, .want_cores = 8, .want_cables = 192 },
    { "k = 8, two tiers, full", FAT_TREE, .nodes = 32, .ports = 8, .tiers = 2, .leaf_ratio = 1,
      .spine_ratio = 1, .want_leaves = 8, .want_spines = 4, .want_cables = 64 },
    // four leaves: two spines with two cables to each
    { "fewer spines suffice", FAT_TREE, .nodes = 16, .ports = 8, .tiers = 2, .leaf_ratio = 1,
      .spine_ratio = 1, .want_leaves = 4, .want_spines = 2, .want_cables = 32 },
    // three leaves: 12 cables, which two spines take; the last leaf has one host
    { "any number of hosts", FAT_TREE, .nodes = 9, .ports = 8, .tiers = 2, .leaf_ratio = 1, .spine_ratio = 1,
      .want_leaves = 3, .want_spines = 2, .want_cables = 9 + 12 },
    { "as few tiers as suffice: one", FAT_TREE, .nodes = 4, .ports = 8, .leaf_ratio = 1, .spine_ratio = 1,
      .want_leaves = 1, .want_cables = 4 },
    { "as few tiers as suffice: two", FAT_TREE, .nodes = 32, .ports = 8, .leaf_ratio = 1, .spine_ratio = 1,
      .want_leaves = 8, .want_spines = 4, .want_cables = 64 },
    // 9 leaves in 3 pods of 4; 12 spines; 3 pods x 4 uplinks fit 2 cores of 8 ports a group: 8 cores
    { "as few tiers as suffice: three", FAT_TREE, .nodes = 33, .ports = 8, .leaf_ratio = 1, .spine_ratio = 1,
      .want_leaves = 9, .want_spines = 12, .want_cores = 8, .want_cables = 33 + 36 + 48 },
    // 64 ports 3:1: 48 down, 16 up; 96 NICs
    { "leaves three to one", FAT_TREE, .nodes = 12, .nics = 8, .ports = 64, .tiers = 2, .leaf_ratio = 3,
      .spine_ratio = 1, .want_leaves = 2, .want_spines = 1, .want_cables = 96 + 32 },
    // 64 ports 2:1: 21 up, 42 down; 3 leaves x 21 cables fit one spine of 64
    { "leaves two to one", FAT_TREE, .nodes = 126, .ports = 64, .tiers = 2, .leaf_ratio = 2, .spine_ratio = 1,
      .want_leaves = 3, .want_spines = 1, .want_cables = 126 + 63 },
    // 1.4 = 7 / 5 is not exact in binary: 12 ports are 5 up and 7 down
    { "a ratio that rounding must not spoil", FAT_TREE, .nodes = 14, .ports = 12, .tiers = 2,
      .leaf_ratio = 1.4, .spine_ratio = 1, .want_leaves = 2, .want_spines = 1, .want_cables = 14 + 10 },
    // spines 3:1 of 8 ports: 6 down, 2 up; 8 leaves, 2 pods of 6, 4 spines each, 2 uplinks to one core a group
    { "spines three to one", FAT_TREE, .nodes = 32, .ports = 8, .tiers = 3, .leaf_ratio = 1, .spine_ratio = 3,
      .want_leaves = 8, .want_spines = 8, .want_cores = 4, .want_cables = 32 + 32 + 16 },
    { "a definition with parallel cables", XGFT, .nodes = 24, .tiers = 2, .m = { 6, 4 }, .w = { 1, 3 },
      .p = { 1, 2 }, .want_leaves = 4, .want_spines = 3, .want_cables = 24 + 24 },
    { "two cables from every host", XGFT, .nodes = 12, .tiers = 2, .m = { 4, 3 }, .w = { 2, 2 },
      .p = { 1, 1 }, .want_leaves = 6, .want_spines = 4, .want_cables = 24 + 12 },
    // 7 hosts of 12: two of three leaves' places, one of two pods
    { "the right end is missing", XGFT, .nodes = 7, .tiers = 3, .m = { 2, 3, 2 }, .w = { 1, 2, 2 },
      .p = { 1, 1, 1 }, .want_leaves = 4, .want_spines = 4, .want_cores = 4, .want_cables = 7 + 8 + 8 },
    { "one tier by definition", XGFT, .nodes = 5, .tiers = 1, .m = { 6 }, .w = { 1 }, .p = { 3 },
      .want_leaves = 1, .want_cables = 15 },
    // 40 NICs over 3 leaves: 14 each, rounded up to two whole nodes
    { "spines and leaves, whole nodes", SPINE_LEAF, .nodes = 5, .nics = 8, .ports = 32, .leaves = 3,
      .spines_wanted = 4, .uplinks = 8, .want_leaves = 3, .want_spines = 4, .want_cables = 40 + 24 },
    { "as few leaves as suffice", SPINE_LEAF, .nodes = 41, .ports = 12, .spines_wanted = 2, .uplinks = 2,
      .want_leaves = 5, .want_spines = 2, .want_cables = 41 + 10 },
    // 16 nodes in groups of 4: 4 x 8 leaves with 4 uplinks; 128 cables over spines of 32 ports: 4
    { "rails", RAILS, .nodes = 16, .nics = 8, .ports = 32, .group = 4, .leaf_ratio = 1, .spine_ratio = 1,
      .want_leaves = 32, .want_spines = 4, .want_cables = 128 + 128 },
    { "rails of one group", RAILS, .nodes = 16, .nics = 8, .ports = 64, .leaf_ratio = 1, .spine_ratio = 1,
      .want_leaves = 8, .want_spines = 2, .want_cables = 128 + 128 },
    { "rails two to one", RAILS, .nodes = 16, .nics = 8, .ports = 64, .leaf_ratio = 2, .spine_ratio = 1,
      .want_leaves = 8, .want_spines = 1, .want_cables = 128 + 64 },
    // 12 nodes, groups of 4: 3 x 4 = 12 leaves of 4 down and 4 up, pods of 4 leaves: 3 pods, 12 spines, 2 cores a group
    { "rails, three tiers, pods of whole groups", RAILS, .nodes = 12, .nics = 4, .ports = 8, .tiers = 3,
      .leaf_ratio = 1, .spine_ratio = 1, .want_leaves = 12, .want_spines = 12, .want_cores = 8,
      .want_cables = 48 + 48 + 48 },
    { "rails apart", RAIL_ONLY, .nodes = 16, .nics = 8, .ports = 16, .want_leaves = 8, .want_cables = 128 },
};

static bool build(const count_case *c, topology *t, const fabric_places *where, sim_error *error)
{
    fat_tree_def tree = fabrics_fat_tree_def(c->ports, c->tiers, c->leaf_ratio, c->spine_ratio);
    switch (c->kind) {
    case FAT_TREE: return topology_add_fat_tree(t, &tree, where, error);
    case XGFT: {
        xgft_def def = fabrics_xgft_def(c->tiers, c->m, c->w, c->p);
        for (uint32_t l = 0; l < c->tiers; l++)
            def.tier[l].ports = c->ports;
        return topology_add_xgft(t, &def, where, error);
    }
    case SPINE_LEAF: {
        const spine_leaf_def def = { .leaves = c->leaves,
                                     .spines = c->spines_wanted,
                                     .uplinks = c->uplinks,
                                     .tier = { fabrics_tier(c->ports), fabrics_tier(c->ports) } };
        return topology_add_spine_leaf(t, &def, where, error);
    }
    case RAILS: {
        const rail_def def = { .group_nodes = c->group, .tree = tree };
        return topology_add_rail_optimized(t, &def, where, error);
    }
    case RAIL_ONLY: {
        const fabric_tier leaf = fabrics_tier(c->ports);
        return topology_add_rail_only(t, &leaf, where, error);
    }
    }
    return false;
}

static topology *nodes_of(arena *a, const count_case *c)
{
    const node_wiring wiring = fabrics_gpu_node(c->nics);
    return fabrics_nodes(a, c->nodes, c->nics ? &wiring : NULL);
}

static void network_has_its_parts(void **state)
{
    const count_case *c = *state;
    arena *a = arena_create("test");
    const fabric_places none = { 0 };
    sim_error error = { 0 };
    topology *t = nodes_of(a, c);
    const uint32_t before = topology_link_count(t);
    const bool built = build(c, t, &none, &error);
    fabrics_seal(t, built, &error);
    assert_int_equal(topology_count_kind(t, VERTEX_LEAF), c->want_leaves);
    assert_int_equal(topology_count_kind(t, VERTEX_SPINE), c->want_spines);
    assert_int_equal(topology_count_kind(t, VERTEX_CORE), c->want_cores);
    assert_int_equal(topology_link_count(t) - before, 2 * c->want_cables);
    // No switch has more cables than ports; the two links of a cable lead to and fro.
    for (vertex_id v = 0; v < topology_vertex_count(t); v++) {
        uint32_t cables;
        topology_outgoing(t, v, &cables);
        if (c->ports && topology_vertex_at(t, v)->kind >= VERTEX_LEAF) assert_true(cables <= c->ports);
    }
    for (link_id l = 0; l < topology_link_count(t); l++) {
        const topology_link *there = topology_link_at(t, l),
                            *back = topology_link_at(t, topology_link_back(l));
        assert_true(there->from == back->to && there->to == back->from && there->class == back->class);
    }
    arena_destroy(a);
}

// ---- rates and delays of links

static void links_are_as_slow_as_their_ends(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    const fabric_places none = { 0 };
    sim_error error = { 0 };
    topology *t = topology_create(a);
    node_wiring slow = { .nics = 1, .nic_rate_mBps = 777 }, fast = { .nics = 1, .nic_rate_mBps = 9999 },
                any = { .nics = 1 };
    topology_add_node(t, &slow);
    topology_add_node(t, &fast);
    topology_add_node(t, &any);
    const uint32_t m[] = { 2, 2 }, w[] = { 1, 1 };
    xgft_def def = fabrics_xgft_def(2, m, w, NULL);
    def.tier[0] = (fabric_tier){ .port_rate_mBps = 5000, .switch_delay_ps = 17, .cable_delay_ps = 3 };
    def.tier[1] = (fabric_tier){ .port_rate_mBps = 1111, .switch_delay_ps = 29, .cable_delay_ps = 5 };
    fabrics_seal(t, topology_add_xgft(t, &def, &none, &error), &error);
    static const struct {
        const char *name;
        uint64_t rate_mBps;
        sim_time delay_ps;
    } want[] = {
        { "node 0 nic 0 > leaf 0", 777, 3 + 17 }, { "leaf 0 > node 0 nic 0", 777, 3 },
        { "node 1 nic 0 > leaf 0", 5000, 20 },    { "leaf 0 > node 1 nic 0", 5000, 3 },
        { "node 2 nic 0 > leaf 1", 5000, 20 },    { "leaf 1 > node 2 nic 0", 5000, 3 },
        { "leaf 0 > spine 0", 1111, 5 + 29 },     { "spine 0 > leaf 0", 1111, 5 + 17 },
        { "leaf 1 > spine 0", 1111, 34 },         { "spine 0 > leaf 1", 1111, 22 },
    };
    assert_int_equal(topology_link_count(t), ARRAY_COUNT(want));
    for (link_id l = 0; l < ARRAY_COUNT(want); l++) {
        char name[160];
        assert_string_equal(topology_link_name(t, l, name, sizeof name), want[l].name);
        assert_true(topology_link_at(t, l)->rate_mBps == want[l].rate_mBps);
        assert_int_equal(topology_link_at(t, l)->delay_ps, want[l].delay_ps);
    }
    arena_destroy(a);
}

// ---- what is refused

typedef struct refuse_case {
    count_case c;
    fabric_key key;
    const char *message, *hint;
} refuse_case;
static const refuse_case refuse_cases[] = {
    { { "more leaves than a spine has ports", FAT_TREE, .nodes = 33, .ports = 8, .tiers = 2, .leaf_ratio = 1,
        .spine_ratio = 1 },
      FABRIC_NODES,
      "33 NICs need more leaves than a switch \"box\" above them has ports (8)",
      "at most 32 NICs, tiers: 3, or more oversubscription" },
    { { "more pods than a core has ports", FAT_TREE, .nodes = 129, .ports = 8, .leaf_ratio = 1,
        .spine_ratio = 1 },
      FABRIC_NODES,
      "129 NICs need more pods than a switch \"box\" above them has ports (8)",
      "at most 128 NICs, or more oversubscription" },
    { { "no port up", FAT_TREE, .nodes = 9, .ports = 8, .leaf_ratio = 8, .spine_ratio = 1 },
      FABRIC_OVERSUBSCRIPTION,
      "the 8 ports of switch \"box\" do not suffice for both NICs and spines",
      "a switch with more ports, or less oversubscription" },
    { { "no port up from spines", FAT_TREE, .nodes = 9, .ports = 8, .tiers = 3, .leaf_ratio = 1,
        .spine_ratio = 9 },
      FABRIC_OVERSUBSCRIPTION,
      "the 8 ports of switch \"box\" do not suffice for both tiers beside the spines",
      "a spine_switch with more ports, or less oversubscription" },
    { { "too many hosts", XGFT, .nodes = 25, .tiers = 2, .m = { 6, 4 }, .w = { 1, 3 }, .p = { 1, 2 } },
      FABRIC_XGFT,
      "this tree has places for 24 NICs, but there are 25",
      "at most 24 NICs, or greater numbers in m" },
    { { "too few ports", XGFT, .nodes = 24, .ports = 11, .tiers = 2, .m = { 6, 4 }, .w = { 1, 3 },
        .p = { 1, 2 } },
      FABRIC_XGFT,
      "a leaf of this tree needs 12 ports, but switch \"box\" has 11",
      "m x p of its tier plus w x p of the next: at most 11" },
    { { "too few ports of the last tier", XGFT, .nodes = 24, .ports = 12, .tiers = 2, .m = { 4, 7 },
        .w = { 1, 3 }, .p = { 1, 2 } },
      FABRIC_XGFT,
      "a spine of this tree needs 14 ports, but switch \"box\" has 12",
      "m x p of its tier plus w x p of the next: at most 12" },
    { { "far too many links", XGFT, .nodes = 24, .tiers = 2, .m = { 6, 4 }, .w = { 1, 1000000 },
        .p = { 1, 1000000 } },
      FABRIC_TOPOLOGY,
      "this fabric has more than the 100000000 links that are built",
      "fewer nodes, or fewer parallel cables" },
    { { "uplinks that are not even", SPINE_LEAF, .nodes = 9, .ports = 16, .spines_wanted = 4, .uplinks = 7 },
      FABRIC_UPLINKS,
      "7 uplinks of a leaf are not the same number of cables to each of 4 spines",
      "uplinks: 8" },
    { { "fewer uplinks than spines", SPINE_LEAF, .nodes = 9, .ports = 16, .spines_wanted = 4, .uplinks = 1 },
      FABRIC_UPLINKS,
      "1 uplinks of a leaf are not the same number of cables to each of 4 spines",
      "uplinks: 4" },
    { { "nothing but uplinks", SPINE_LEAF, .nodes = 9, .ports = 16, .spines_wanted = 3, .uplinks = 18 },
      FABRIC_UPLINKS,
      "18 uplinks leave none of the 16 ports of leaf \"box\" for NICs",
      "uplinks: 6" },
    { { "too few leaves", SPINE_LEAF, .nodes = 25, .ports = 16, .leaves = 2, .spines_wanted = 4,
        .uplinks = 4 },
      FABRIC_LEAVES,
      "2 leaves \"box\" with 4 uplinks have ports for 24 NICs, but there are 25",
      "leaves: 3" },
    { { "spines that are full", SPINE_LEAF, .nodes = 100, .ports = 16, .spines_wanted = 2, .uplinks = 4 },
      FABRIC_SPINES,
      "9 leaves with 2 cables to each spine need more than the 16 ports of spine \"box\"",
      "at most 8 leaves, or more spines" },
    { { "a group too large", RAILS, .nodes = 9, .nics = 4, .ports = 8, .group = 5, .leaf_ratio = 1,
        .spine_ratio = 1 },
      FABRIC_GROUP,
      "leaf \"box\" has 4 ports for nodes, but a group has 5",
      "group: 4" },
    { { "too many rails", RAILS, .nodes = 9, .nics = 8, .ports = 8, .tiers = 2, .leaf_ratio = 1,
        .spine_ratio = 1 },
      FABRIC_NODES,
      "72 NICs need more leaves than a switch \"box\" above them has ports (8)",
      "at most 32 NICs, tiers: 3, or more oversubscription" },
    { { "rails apart, too long", RAIL_ONLY, .nodes = 9, .nics = 8, .ports = 8 },
      FABRIC_NODES,
      "9 nodes do not fit the 8 ports of a rail's switch \"box\"",
      "at most 8 nodes, or topology: rail-optimized" },
};

static void mistake_is_refused(void **state)
{
    const refuse_case *c = *state;
    arena *a = arena_create("test");
    sim_place places[FABRIC_KEYS];
    fabric_places where;
    for (uint32_t k = 0; k < FABRIC_KEYS; k++) {
        places[k] = (sim_place){ .file = "s.yaml", .line = k + 1, .column = 1 };
        where.at[k] = &places[k];
    }
    sim_error error = { 0 };
    topology *t = nodes_of(a, &c->c);
    assert_false(build(&c->c, t, &where, &error));
    assert_int_equal(error.exit_code, SIM_EXIT_INPUT);
    assert_string_equal(error.message, c->message);
    assert_string_equal(error.hint, c->hint);
    assert_int_equal(error.line, c->key + 1);
    arena_destroy(a);
}

static void rails_need_their_nodes_links(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    const fabric_places none = { 0 };
    const fabric_tier leaf = fabrics_tier(8);
    sim_error error = { 0 };
    topology *t = fabrics_nodes(a, 2, &(node_wiring){ .nics = 2 });
    assert_false(topology_add_rail_only(t, &leaf, &none, &error));
    assert_string_equal(error.message,
                        "NIC 0 of node 0 serves no GPU that others reach inside the node, so its rail is "
                        "cut off");
    assert_string_equal(error.hint, "topology: rail-optimized, or one NIC");

    const node_wiring four = fabrics_gpu_node(4), one = fabrics_gpu_node(1);
    t = fabrics_nodes(a, 2, &four);
    topology_add_node(t, &one);
    sim_error_clear(&error);
    assert_false(topology_add_rail_only(t, &leaf, &none, &error));
    assert_string_equal(error.message, "node 2 has 1 NICs, but there are 4 rails that nothing else joins");
    assert_string_equal(error.hint, "topology: rail-optimized, or as many NICs in every node");

    const node_wiring without = fabrics_gpu_node(0);
    t = fabrics_nodes(a, 2, &four);
    topology_add_node(t, &without);
    sim_error_clear(&error);
    assert_false(topology_add_rail_only(t, &leaf, &none, &error));
    assert_string_equal(error.message, "node 2 has no NIC, so it cannot reach the other 2 nodes");
    arena_destroy(a);
}

// ---- lists of cables

typedef struct list_case {
    const char *name;
    const char *ends[6][2];
    uint32_t line; // of the refusal; 0: none has a place
    const char *message, *hint;
} list_case;
static const list_case list_cases[] = {
    { "a cable twice",
      { { "node0/nic0", "leaf0" }, { "node1/nic0", "leaf0" }, { "leaf0", "node0/nic0" } },
      3,
      "the cable between leaf0 and node0/nic0 is listed twice",
      "it stands in line 1; parallel cables are one row with count: 2" },
    { "an end that is no name",
      { { "node0/nic0", "switch" } },
      1,
      "a cable cannot end at \"switch\"",
      "write node0/nic1, or leaf0, spine0, core0 for a switch; there are 3 nodes with 3 NICs" },
    { "a NIC that is not there",
      { { "node0/nic1", "leaf0" } },
      1,
      "a cable cannot end at \"node0/nic1\"",
      "write node0/nic1, or leaf0, spine0, core0 for a switch; there are 3 nodes with 3 NICs" },
    { "a node that is not there",
      { { "leaf0", "node3/nic0" } },
      1,
      "a cable cannot end at \"node3/nic0\"",
      "write node0/nic1, or leaf0, spine0, core0 for a switch; there are 3 nodes with 3 NICs" },
    { "a switch without a number",
      { { "leaf", "node0/nic0" } },
      1,
      "a cable cannot end at \"leaf\"",
      "write node0/nic1, or leaf0, spine0, core0 for a switch; there are 3 nodes with 3 NICs" },
    { "to itself", { { "leaf7", "leaf 7" } }, 1, "a cable joins \"leaf7\" with itself", "" },
    { "two islands",
      { { "node0/nic0", "leaf0" }, { "node1/nic0", "leaf0" }, { "node2/nic0", "leaf1" } },
      99,
      "the fabric is not connected: no cables lead from node 0 nic 0 to node 2 nic 0",
      "" },
    { "a NIC without a cable",
      { { "node0/nic0", "leaf0" }, { "node1/nic0", "leaf0" } },
      99,
      "the fabric is not connected: no cables lead from node 0 nic 0 to node 2 nic 0",
      "" },
    { "NICs do not pass on",
      { { "node0/nic0", "leaf0" },
        { "node1/nic0", "leaf0" },
        { "node1/nic0", "leaf1" },
        { "node2/nic0", "leaf1" } },
      99,
      "the fabric is not connected: no cables lead from node 0 nic 0 to node 2 nic 0",
      "" },
    { "a direct cable is one NIC's alone",
      { { "node0/nic0", "leaf0" }, { "node1/nic0", "leaf0" }, { "node0/nic0", "node2/nic0" } },
      99,
      "the fabric is not connected: no cables lead from node 1 nic 0 to node 2 nic 0",
      "" },
    { "a chain of direct cables",
      { { "node0/nic0", "node1/nic0" }, { "node1/nic0", "node2/nic0" } },
      99,
      "the fabric is not connected: no cables lead from node 0 nic 0 to node 2 nic 0",
      "" },
};

static bool add_list(topology *t, const list_case *c, sim_error *error)
{
    listed_cable cables[6];
    sim_place places[7];
    uint32_t count = 0;
    for (; count < 6 && c->ends[count][0]; count++) {
        places[count] = (sim_place){ .file = "c.csv", .line = count + 1, .column = 1 };
        cables[count] = (listed_cable){ .a = c->ends[count][0],
                                        .b = c->ends[count][1],
                                        .rate_mBps = 5000,
                                        .delay_ps = 7,
                                        .count = 1,
                                        .where = &places[count],
                                        .where_a = &places[count],
                                        .where_b = &places[count] };
    }
    places[6] = (sim_place){ .file = "s.yaml", .line = 99, .column = 1 };
    return topology_add_cables(t, cables, count, &places[6], error);
}

static void list_is_refused(void **state)
{
    const list_case *c = *state;
    arena *a = arena_create("test");
    sim_error error = { 0 };
    assert_false(add_list(fabrics_nodes(a, 3, NULL), c, &error));
    assert_string_equal(error.message, c->message);
    assert_string_equal(error.hint, c->hint);
    assert_int_equal(error.line, c->line);
    arena_destroy(a);
}

static void lists_are_built(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    sim_error error = { 0 };
    // Three NICs pair by pair need no switch; a switch that leads nowhere is one more.
    const list_case triangle = {
        .ends = { { "node0/nic0", "1" }, { "nic 1", "node2/nic0" }, { "node 2 nic 0", "node0/nic0" } }
    };
    topology *t = fabrics_nodes(a, 3, NULL);
    fabrics_seal(t, add_list(t, &triangle, &error), &error);
    assert_int_equal(topology_link_count(t), 6);
    assert_int_equal(topology_path_facts(t, topology_nic_vertex(t, 2), topology_nic_vertex(t, 1)).links, 1);

    // Two planes that only NICs join are fine where all NICs are on both.
    const list_case planes = { .ends = { { "node0/nic0", "leaf0" },
                                         { "node0/nic0", "leaf1" },
                                         { "node1/nic0", "leaf0" },
                                         { "node1/nic0", "leaf1" } } };
    t = fabrics_nodes(a, 2, NULL);
    fabrics_seal(t, add_list(t, &planes, &error), &error);
    assert_int_equal(topology_path_facts(t, topology_nic_vertex(t, 0), topology_nic_vertex(t, 1)).links, 2);

    // Numbers may have gaps; a NIC slows its cable down; parallel cables are cables.
    const listed_cable cables[] = { { "node0/nic0", "leaf12", 5000, 7, 3, NULL, NULL, NULL },
                                    { "core3", "leaf12", 5000, 7, 1, NULL, NULL, NULL },
                                    { "node1/nic0", "core3", 300, 7, 1, NULL, NULL, NULL } };
    t = fabrics_nodes(a, 2, &(node_wiring){ .nics = 1, .nic_rate_mBps = 900 });
    fabrics_seal(t, topology_add_cables(t, cables, ARRAY_COUNT(cables), NULL, &error), &error);
    char name[160];
    assert_int_equal(topology_link_count(t), 10);
    assert_string_equal(topology_link_name(t, 4, name, sizeof name), "node 0 nic 0 > leaf 12");
    assert_true(topology_link_at(t, 4)->rate_mBps == 900);
    assert_true(topology_link_at(t, 8)->rate_mBps == 300);
    arena_destroy(a);
}

// A chain of switches longer than a path may be.
static void long_chains_are_refused(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    sim_error error = { 0 };
    listed_cable cables[14];
    char names[13][16];
    for (uint32_t i = 0; i < 13; i++)
        snprintf(names[i], sizeof names[i], "leaf%u", i);
    for (uint32_t i = 0; i < 12; i++)
        cables[i] = (listed_cable){ .a = names[i], .b = names[i + 1], .rate_mBps = 1, .count = 1 };
    cables[12] = (listed_cable){ .a = "node0/nic0", .b = "leaf0", .rate_mBps = 1, .count = 1 };
    cables[13] = (listed_cable){ .a = "node1/nic0", .b = "leaf12", .rate_mBps = 1, .count = 1 };
    topology *t = fabrics_nodes(a, 2, NULL);
    assert_true(topology_add_cables(t, cables, 14, NULL, &error));
    topology_seal(t);
    assert_false(topology_check(t, NULL, &error));
    assert_string_equal(error.message,
                        "from leaf 0 to leaf 11 it is 11 cables; a path has at most 10 between switches");
    arena_destroy(a);
}

// ---- names

static void vertices_are_found_by_name(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    const fabric_places none = { 0 };
    sim_error error = { 0 };
    const node_wiring wiring = fabrics_gpu_node(4);
    topology *t = fabrics_nodes(a, 5, &wiring);
    const fat_tree_def def = fabrics_fat_tree_def(8, 2, 1, 1);
    fabrics_seal(t, topology_add_fat_tree(t, &def, &none, &error), &error);
    for (vertex_id v = 0; v < topology_vertex_count(t); v++) { // every name leads back
        char name[100];
        vertex_id found;
        topology_vertex_name(t, v, name, sizeof name);
        assert_true(topology_find_vertex(t, name, NULL, &found, &error));
        assert_int_equal(found, v);
    }
    static const struct {
        const char *text, *name;
    } short_names[] = {
        { "gpu 12", "node 1 gpu 4" }, { "gpu12", "node 1 gpu 4" },         { "nic 17", "node 4 nic 1" },
        { "17", "node 4 nic 1" },     { " node3/gpu 7 ", "node 3 gpu 7" }, { "leaf4", "leaf 4" },
    };
    for (size_t i = 0; i < ARRAY_COUNT(short_names); i++) {
        char name[100];
        vertex_id found;
        assert_true(topology_find_vertex(t, short_names[i].text, NULL, &found, &error));
        assert_string_equal(topology_vertex_name(t, found, name, sizeof name), short_names[i].name);
    }
    static const char *const wrong[] = {
        "",       "gpu 40",        "20",       "node 5 gpu 0", "node 0 gpu 8", "leaf 5",
        "core 0", "node 0 leaf 0", "spine -1", "gpu 3 x",      "99999999999",  "gpu",
        "rack 1", "node 1"
    };
    for (size_t i = 0; i < ARRAY_COUNT(wrong); i++) {
        vertex_id found;
        sim_error_clear(&error);
        assert_false(topology_find_vertex(t, wrong[i], NULL, &found, &error));
        assert_string_equal(
            error.hint, "write \"gpu 3\", \"node 2 nic 1\", \"leaf 0\" or a host's number, counted from 0: 5 "
                        "nodes, 40 x gpu, 5 x nvswitch, 20 x nic, 5 x leaf, 4 x spine");
    }
    assert_string_equal(error.message, "there is no \"node 1\" in the fabric");
    arena_destroy(a);
}

// ---- who shares what

static void domains_and_nics(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    node_wiring tray = fabrics_gpu_node(4), lone = fabrics_gpu_node(4), none = fabrics_gpu_node(0);
    topology *t = topology_create(a);
    tray.opens_domain = true;
    topology_add_node(t, &tray);
    tray.opens_domain = false;
    tray.joins_domain = true;
    topology_add_node(t, &tray);
    topology_add_node(t, &tray);
    topology_add_node(t, &lone);
    topology_add_node(t, &none);
    const vertex_id first = topology_gpu_vertex(t, 0), third = topology_gpu_vertex(t, 23),
                    other = topology_gpu_vertex(t, 24);
    assert_int_equal(topology_domain_of(t, first), topology_domain_of(t, third));
    assert_int_equal(topology_domain_of(t, first), topology_domain_of(t, topology_nic_vertex(t, 11)));
    assert_true(topology_domain_of(t, third) < topology_domain_of(t, other));
    assert_int_equal(topology_domain_of(t, other), topology_domain_of(t, topology_gpu_vertex(t, 31)));
    assert_int_equal(topology_count_kind(t, VERTEX_NVSWITCH), 3);
    nic_id nic;
    uint32_t count;
    assert_true(topology_nics_of_gpu(t, 29, &nic, &count));
    assert_int_equal(nic, 3 * 4 + 2);
    assert_int_equal(count, 1);
    assert_false(topology_nics_of_gpu(t, 32, &nic, &count));
    assert_int_equal(topology_gpu_of(t, topology_gpu_vertex(t, 31)), 31);
    assert_int_equal(topology_nic_of(t, topology_nic_vertex(t, 13)), 13);
    arena_destroy(a);
}

// ---- size: three tiers for 16,384 hosts, by counts

static void large_trees_are_lean(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    const fabric_places none = { 0 };
    sim_error error = { 0 };
    topology *t = fabrics_nodes(a, 16384, NULL);
    const fat_tree_def def = fabrics_fat_tree_def(64, 3, 1, 1);
    fabrics_seal(t, topology_add_fat_tree(t, &def, &none, &error), &error);
    // 512 leaves, 16 pods of 32 spines, 16 pods x 32 uplinks over 8 cores in each of 32 groups, four cables each
    assert_int_equal(topology_count_kind(t, VERTEX_LEAF), 512);
    assert_int_equal(topology_count_kind(t, VERTEX_SPINE), 512);
    assert_int_equal(topology_count_kind(t, VERTEX_CORE), 256);
    assert_int_equal(topology_link_count(t), 2 * 3 * 16384);
    assert_true(arena_used_bytes(a) < 160 * (size_t)topology_link_count(t)); // arrays grow twofold
    arena_destroy(a);
}

int main(void)
{
    enum { C = ARRAY_COUNT(count_cases), R = ARRAY_COUNT(refuse_cases), L = ARRAY_COUNT(list_cases) };
    struct CMUnitTest tests[C + R + L + 7];
    size_t n = 0;
    for (size_t i = 0; i < C; i++)
        tests[n++] = (struct CMUnitTest){ count_cases[i].name, network_has_its_parts, NULL, NULL,
                                          (void *)&count_cases[i] };
    for (size_t i = 0; i < R; i++)
        tests[n++] = (struct CMUnitTest){ refuse_cases[i].c.name, mistake_is_refused, NULL, NULL,
                                          (void *)&refuse_cases[i] };
    for (size_t i = 0; i < L; i++)
        tests[n++] = (struct CMUnitTest){ list_cases[i].name, list_is_refused, NULL, NULL,
                                          (void *)&list_cases[i] };
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(links_are_as_slow_as_their_ends);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(rails_need_their_nodes_links);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(lists_are_built);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(long_chains_are_refused);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(vertices_are_found_by_name);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(domains_and_nics);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(large_trees_are_lean);
    SIM_ASSERT(n == ARRAY_COUNT(tests));
    return cmocka_run_group_tests_name("topology_build", tests, NULL, NULL);
}
