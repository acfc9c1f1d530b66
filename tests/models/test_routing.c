// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "models/network/routing.h"
#include "tests/support/fabrics.h"
#include "tests/support/random.h"
#include <string.h>

// ---- fabrics of every kind, small

static topology *with_policy(topology *t, routing_kind routing)
{
    topology_set_policy(t, &(fabric_policy){ .routing = routing, .hash_key = 77, .queue_pairs = 1 });
    return t;
}

static const topology *single_switch(arena *a, routing_kind routing)
{
    sim_error error = { 0 };
    topology *t = with_policy(fabrics_nodes(a, 5, NULL), routing);
    const single_switch_def def = { .rate_mBps = FABRICS_RATE_MBPS };
    return fabrics_seal(t, topology_add_single_switch(t, &def, NULL, &error), &error);
}

static const topology *fat_tree(arena *a, routing_kind routing, uint32_t hosts, const node_wiring *wiring,
                                const fat_tree_def *def)
{
    const fabric_places none = { 0 };
    sim_error error = { 0 };
    topology *t = with_policy(fabrics_nodes(a, hosts, wiring), routing);
    return fabrics_seal(t, topology_add_fat_tree(t, def, &none, &error), &error);
}

static const topology *two_tiers(arena *a, routing_kind routing)
{
    const fat_tree_def def = fabrics_fat_tree_def(8, 2, 1, 1);
    return fat_tree(a, routing, 13, NULL, &def); // the fourth leaf has one host
}

static const topology *three_tiers(arena *a, routing_kind routing)
{
    const fat_tree_def def = fabrics_fat_tree_def(6, 3, 1, 2);
    return fat_tree(a, routing, 29, NULL, &def);
}

static const topology *parallel_cables(arena *a, routing_kind routing)
{
    const uint32_t m[] = { 4, 3 }, w[] = { 1, 2 }, p[] = { 1, 2 };
    const xgft_def def = fabrics_xgft_def(2, m, w, p);
    return fabrics_xgft(a, 12, &def, &(fabric_policy){ .routing = routing, .hash_key = 5, .queue_pairs = 1 });
}

static const topology *two_leaves_each(arena *a, routing_kind routing)
{
    const uint32_t m[] = { 3, 2, 2 }, w[] = { 2, 2, 1 }, p[] = { 1, 1, 3 };
    const xgft_def def = fabrics_xgft_def(3, m, w, p);
    if (routing == ROUTING_ADAPTIVE) routing = ROUTING_STATIC; // NICs on two leaves have no bundles
    return fabrics_xgft(a, 11, &def, &(fabric_policy){ .routing = routing, .hash_key = 6, .queue_pairs = 1 });
}

static const topology *spine_leaf(arena *a, routing_kind routing)
{
    const fabric_places none = { 0 };
    sim_error error = { 0 };
    const node_wiring wiring = fabrics_gpu_node(4);
    topology *t = with_policy(fabrics_nodes(a, 5, &wiring), routing);
    const spine_leaf_def def = {
        .leaves = 3, .spines = 2, .uplinks = 4, .tier = { fabrics_tier(16), fabrics_tier(16) }
    };
    return fabrics_seal(t, topology_add_spine_leaf(t, &def, &none, &error), &error);
}

static const topology *rails(arena *a, routing_kind routing, uint32_t nodes, uint32_t group, uint32_t tiers)
{
    const fabric_places none = { 0 };
    sim_error error = { 0 };
    const node_wiring wiring = fabrics_gpu_node(4);
    topology *t = with_policy(fabrics_nodes(a, nodes, &wiring), routing);
    const rail_def def = { .group_nodes = group, .tree = fabrics_fat_tree_def(8, tiers, 1, 1) };
    return fabrics_seal(t, topology_add_rail_optimized(t, &def, &none, &error), &error);
}

static const topology *two_tiers_of_rails(arena *a, routing_kind routing)
{
    return rails(a, routing, 5, 3, 2);
}

static const topology *three_tiers_of_rails(arena *a, routing_kind routing)
{
    return rails(a, routing, 5, 2, 3);
}

static const topology *rails_apart(arena *a, routing_kind routing)
{
    const fabric_places none = { 0 };
    sim_error error = { 0 };
    const node_wiring wiring = fabrics_gpu_node(4);
    topology *t = with_policy(fabrics_nodes(a, 3, &wiring), routing);
    const fabric_tier leaf = fabrics_tier(3);
    return fabrics_seal(t, topology_add_rail_only(t, &leaf, &none, &error), &error);
}

// Two trays on one NVSwitch, two on another.
static const topology *racks(arena *a, routing_kind routing)
{
    const fabric_places none = { 0 };
    sim_error error = { 0 };
    node_wiring wiring = fabrics_gpu_node(4);
    topology *t = with_policy(topology_create(a), routing);
    for (uint32_t n = 0; n < 4; n++) {
        wiring.opens_domain = n % 2 == 0;
        wiring.joins_domain = n % 2 == 1;
        topology_add_node(t, &wiring);
    }
    const fat_tree_def def = fabrics_fat_tree_def(8, 2, 1, 1);
    return fabrics_seal(t, topology_add_fat_tree(t, &def, &none, &error), &error);
}

// A PCIe tree: four GPUs and two NICs under two switches under two sockets.
static node_wiring pcie_node(bool through_host)
{
    static const uint32_t nics[] = { 0, 0, 1, 1 };
    return (node_wiring){ .gpus = 4,
                          .nics = 2,
                          .scale_up = WIRING_HOST,
                          .scale_up_rate_mBps = 1,
                          .nic_of_gpu = nics,
                          .pcie = { .switches = 2,
                                    .sockets = 2,
                                    .gpu_rate_mBps = UINT64_C(24100000000000),
                                    .nic_rate_mBps = UINT64_C(53100000000000),
                                    .uplink_rate_mBps = UINT64_C(27700000000000),
                                    .socket_rate_mBps = UINT64_C(19300000000000),
                                    .delay_ps = 110300,
                                    .socket_delay_ps = 217100,
                                    .through_host = through_host } };
}

static const topology *pcie_trees(arena *a, routing_kind routing)
{
    const node_wiring wiring = pcie_node(false);
    const fat_tree_def def = fabrics_fat_tree_def(4, 2, 1, 1);
    return fat_tree(a, routing, 3, &wiring, &def);
}

static const topology *pcie_rails_apart(arena *a, routing_kind routing)
{
    const fabric_places none = { 0 };
    sim_error error = { 0 };
    const node_wiring wiring = pcie_node(true);
    topology *t = with_policy(fabrics_nodes(a, 2, &wiring), routing);
    const fabric_tier leaf = fabrics_tier(3);
    return fabrics_seal(t, topology_add_rail_only(t, &leaf, &none, &error), &error);
}

static listed_cable listed(const char *from, const char *to)
{
    return (
        listed_cable){ .a = from, .b = to, .rate_mBps = FABRICS_RATE_MBPS, .delay_ps = 50900, .count = 1 };
}

// A ring of four leaves, host 4 on two of them, and a chord.
static const topology *cables(arena *a, routing_kind routing)
{
    const listed_cable list[] = {
        listed("leaf0", "leaf1"),      listed("leaf1", "leaf2"),      listed("leaf2", "leaf3"),
        listed("leaf3", "leaf0"),      listed("node0/nic0", "leaf0"), listed("node1/nic0", "leaf1"),
        listed("node2/nic0", "leaf2"), listed("node3/nic0", "leaf3"), listed("node4/nic0", "leaf0"),
        listed("leaf1", "node4/nic0"), listed("spine0", "leaf1"),     listed("spine0", "leaf3"),
    };
    sim_error error = { 0 };
    if (routing == ROUTING_ADAPTIVE) routing = ROUTING_STATIC;
    topology *t = with_policy(fabrics_nodes(a, 5, NULL), routing);
    return fabrics_seal(t, topology_add_cables(t, list, ARRAY_COUNT(list), NULL, &error), &error);
}

// ---- nodes that no network joins: their NICs still are ends

static const topology *alone(arena *a, uint32_t nodes, const node_wiring *wiring)
{
    sim_error error = { 0 };
    return fabrics_seal(fabrics_nodes(a, nodes, wiring), true, &error);
}

static const topology *node_alone(arena *a, routing_kind routing)
{
    (void)routing;
    const node_wiring wiring = fabrics_gpu_node(8);
    return alone(a, 1, &wiring);
}

static const topology *rack_alone(arena *a, routing_kind routing)
{
    (void)routing;
    sim_error error = { 0 };
    topology *t = topology_create(a);
    node_wiring wiring = fabrics_gpu_node(4);
    wiring.opens_domain = true;
    topology_add_node(t, &wiring);
    wiring.opens_domain = false;
    wiring.joins_domain = true;
    topology_add_node(t, &wiring);
    return fabrics_seal(t, true, &error);
}

static const topology *mesh_alone(arena *a, routing_kind routing)
{
    (void)routing;
    node_wiring wiring = fabrics_gpu_node(4);
    wiring.scale_up = WIRING_MESH;
    return alone(a, 1, &wiring);
}

static const topology *host_alone(arena *a, routing_kind routing)
{
    (void)routing;
    node_wiring wiring = fabrics_gpu_node(8);
    wiring.scale_up = WIRING_HOST;
    return alone(a, 1, &wiring);
}

static const topology *pcie_alone(arena *a, routing_kind routing)
{
    (void)routing;
    const node_wiring wiring = pcie_node(false);
    return alone(a, 1, &wiring);
}

static const topology *one_gpu_alone(arena *a, routing_kind routing)
{
    (void)routing;
    static const uint32_t first[] = { 0 }, count[] = { 3 };
    const node_wiring wiring = { .gpus = 1,
                                 .nics = 3,
                                 .scale_up = WIRING_NONE,
                                 .nic_pcie_rate_mBps = UINT64_C(53100000000000),
                                 .nic_of_gpu = first,
                                 .nics_of_gpu = count };
    return alone(a, 1, &wiring);
}

typedef struct fabric_case {
    const char *name;
    const topology *(*build)(arena *a, routing_kind routing);
} fabric_case;
static const fabric_case fabrics[] = {
    { "one switch", single_switch },
    { "two tiers", two_tiers },
    { "three tiers, spines two to one", three_tiers },
    { "parallel cables", parallel_cables },
    { "two leaves for every NIC", two_leaves_each },
    { "spines and leaves", spine_leaf },
    { "rails under two tiers", two_tiers_of_rails },
    { "rails under three tiers", three_tiers_of_rails },
    { "rails apart", rails_apart },
    { "racks of two trays", racks },
    { "PCIe trees", pcie_trees },
    { "a list of cables", cables },
    { "rails apart, PCIe trees through the host", pcie_rails_apart },
    { "one node, no network", node_alone },
    { "a rack of two trays, no network", rack_alone },
    { "a mesh, no network", mesh_alone },
    { "GPUs behind the host, no network", host_alone },
    { "a PCIe tree, no network", pcie_alone },
    { "one GPU with three NICs, no network", one_gpu_alone },
};

// ---- what every path must be

static bool is_end(const topology *t, vertex_id v)
{
    const vertex_kind kind = topology_vertex_at(t, v)->kind;
    return kind == VERTEX_GPU || kind == VERTEX_NIC;
}

// Links that meet end to end, none twice, and in the network first up, then down.
static void check_links(const topology *t, const fabric_state *state, const uint32_t *path, uint32_t links,
                        vertex_id from, vertex_id to)
{
    vertex_id at = from;
    bool falling = false;
    for (uint32_t i = 0; i < links; i++) {
        const topology_link *link = topology_link_at(t, path[i]);
        assert_int_equal(link->from, at);
        at = link->to;
        if (state) assert_false(fabric_is_avoided(state, path[i]));
        for (uint32_t j = 0; j < i; j++)
            assert_int_not_equal(path[i], path[j]);
        if (link->class != LINK_NETWORK) continue;
        const vertex_kind low = topology_vertex_at(t, link->from)->kind,
                          high = topology_vertex_at(t, at)->kind;
        if (high < low) falling = true;
        if (high > low) assert_false(falling);
    }
    assert_int_equal(at, to);
}

// A bundle stands for links from where the path is to where it goes on: expanded by links that fit.
static uint32_t expand(const topology *t, vertex_id from, const uint32_t *path, uint32_t links, uint32_t *out)
{
    const uint32_t all = topology_link_count(t);
    vertex_id at = from;
    for (uint32_t i = 0; i < links; i++) {
        uint32_t id = path[i];
        if (id >= all) {
            const bundle_members m = topology_bundle_members(t, id);
            id = NO_ID;
            for (uint32_t k = 0; k < m.count; k++) {
                const link_id member = m.first + 2 * k;
                assert_int_equal(topology_bundle_of_link(t, member), path[i]);
                if (topology_link_at(t, member)->from != at) continue;
                // it must lead to where the rest of the path can begin
                const vertex_id to = topology_link_at(t, member)->to;
                if (i + 1 < links && path[i + 1] < all && topology_link_at(t, path[i + 1])->from != to)
                    continue;
                id = member;
            }
            assert_int_not_equal(id, NO_ID);
        }
        out[i] = id;
        at = topology_link_at(t, id)->to;
    }
    return links;
}

static void every_path_is_one(void **state)
{
    const fabric_case *c = *state;
    for (routing_kind routing = ROUTING_STATIC; routing <= ROUTING_ADAPTIVE; routing++) {
        arena *a = arena_create("test");
        const topology *t = c->build(a, routing);
        const bool listed = topology_bundle_count(t) == 0 && c->build == cables;
        for (vertex_id from = 0; from < topology_vertex_count(t); from++)
            for (vertex_id to = 0; to < topology_vertex_count(t); to++) {
                if (!is_end(t, from) || !is_end(t, to)) continue;
                const bool gpus = topology_vertex_at(t, from)->kind == VERTEX_GPU &&
                                  topology_vertex_at(t, to)->kind == VERTEX_GPU;
                for (uint32_t q = 0; q < 3; q++) {
                    uint32_t path[TOPOLOGY_PATH_MAX], links[TOPOLOGY_PATH_MAX];
                    const uint32_t count = route_find(t, NULL, from, to, q, path);
                    assert_true(count <= TOPOLOGY_PATH_MAX);
                    assert_true(!gpus || count <= route_longest(t));
                    assert_true((count == 0) == (from == to));
                    expand(t, from, path, count, links);
                    if (listed) { // leaves pass on from one to another
                        vertex_id at = from;
                        for (uint32_t i = 0; i < count; i++) {
                            assert_int_equal(topology_link_at(t, links[i])->from, at);
                            at = topology_link_at(t, links[i])->to;
                        }
                        assert_int_equal(at, to);
                    } else {
                        check_links(t, NULL, links, count, from, to);
                    }
                    if (routing == ROUTING_STATIC && q > 0 &&
                        topology_vertex_at(t, from)->kind == VERTEX_NIC &&
                        topology_vertex_at(t, to)->kind == VERTEX_NIC) {
                        uint32_t first[TOPOLOGY_PATH_MAX]; // static: no matter which queue pair
                        assert_int_equal(route_find(t, NULL, from, to, 0, first), count);
                        assert_memory_equal(first, path, count * sizeof *path);
                    }
                }
            }
        arena_destroy(a);
    }
}

// ---- failures: with any links avoided, a path is found exactly where there is one

// Whether a climb and a descent over links that are not avoided lead from one NIC to another; lists: any walk over switches.
static bool can_reach(arena *a, const topology *t, const fabric_state *state, vertex_id from, vertex_id to,
                      bool any_walk)
{
    const arena_mark_t mark = arena_mark(a);
    const uint32_t count = topology_vertex_count(t);
    bool *seen = arena_array(a, bool, 2 * (size_t)count); // going up, going down
    uint32_t *queue = arena_array(a, uint32_t, 2 * (size_t)count), filled = 0;
    bool found = false;
    seen[from] = true;
    queue[filled++] = from;
    for (uint32_t next = 0; next < filled && !found; next++) {
        const bool down = queue[next] >= count;
        const vertex_id at = queue[next] % count;
        uint32_t rows;
        const link_id *row = topology_outgoing(t, at, &rows);
        for (uint32_t i = 0; i < rows; i++) {
            const topology_link *link = topology_link_at(t, row[i]);
            if (link->class != LINK_NETWORK || fabric_is_avoided(state, row[i])) continue;
            const vertex_kind low = topology_vertex_at(t, at)->kind,
                              high = topology_vertex_at(t, link->to)->kind;
            if (link->to == to) found = true;
            if (high == VERTEX_NIC || (!any_walk && down && high > low)) continue;
            const uint32_t place = link->to + (!any_walk && (down || high < low) ? count : 0);
            if (seen[place]) continue;
            seen[place] = true;
            queue[filled++] = place;
        }
    }
    arena_release(a, mark);
    return found;
}

static void failures_are_routed_around(void **state)
{
    const fabric_case *c = *state;
    for (routing_kind routing = ROUTING_STATIC; routing <= ROUTING_ADAPTIVE; routing++) {
        arena *a = arena_create("test");
        const topology *t = c->build(a, routing);
        if (c->build == rails_apart || c->build == pcie_rails_apart ||
            topology_count_kind(t, VERTEX_LEAF) == 0) {
            // its paths cross nodes: the oracle does not
            arena_destroy(a);
            return;
        }
        uint64_t random = 9;
        uint32_t found = 0, lost = 0, kept = 0;
        for (uint32_t round = 0; round < 40; round++) {
            fabric_state *fabric = fabric_state_create(a, t);
            // one link, two, ... up to a third of the network's
            for (uint32_t k = 0; k <= round * topology_link_count(t) / 120; k++) {
                const link_id l = (link_id)(test_random(&random) % topology_link_count(t));
                if (topology_link_at(t, l)->class != LINK_NETWORK) continue;
                fabric_set_avoided(fabric, l, true);
                fabric_set_up(fabric, l, false); // which adaptive routing sees
            }
            for (nic_id x = 0; x < topology_nic_count(t); x++)
                for (nic_id y = 0; y < topology_nic_count(t); y++) {
                    if (x == y) continue;
                    const vertex_id from = topology_nic_vertex(t, x), to = topology_nic_vertex(t, y);
                    uint32_t path[TOPOLOGY_PATH_MAX], healthy[TOPOLOGY_PATH_MAX];
                    const uint32_t count = route_find(t, fabric, from, to, round, path);
                    const bool there = can_reach(a, t, fabric, from, to, c->build == cables);
                    assert_int_equal(count != ROUTE_NONE, there);
                    lost += !there;
                    if (!there) continue;
                    found++;
                    // bundles name no links that could be followed
                    if (topology_policy(t)->routing == ROUTING_ADAPTIVE) continue;
                    if (c->build != cables) check_links(t, fabric, path, count, from, to);
                    // a path that was not touched stays as it is
                    const uint32_t before = route_find(t, NULL, from, to, round, healthy);
                    bool touched = false;
                    for (uint32_t i = 0; i < before; i++)
                        touched |= fabric_is_avoided(fabric, healthy[i]);
                    if (touched || c->build == cables) continue;
                    assert_int_equal(count, before);
                    assert_memory_equal(path, healthy, count * sizeof *path);
                    kept++;
                }
        }
        assert_true(found > 100 && lost > 10);
        assert_true(kept > 50 || c->build == cables || topology_policy(t)->routing == ROUTING_ADAPTIVE);
        arena_destroy(a);
    }
}

// ---- d-mod-k

static const char *names_of(const topology *t, vertex_id from, vertex_id to, uint32_t queue_pair, char *text)
{
    uint32_t path[TOPOLOGY_PATH_MAX];
    char name[160];
    const uint32_t count = route_find(t, NULL, from, to, queue_pair, path);
    assert_int_not_equal(count, ROUTE_NONE);
    topology_vertex_name(t, from, text, 100);
    for (uint32_t i = 0; i < count; i++) {
        strcat(text, " > ");
        if (path[i] < topology_link_count(t))
            strcat(text, topology_vertex_name(t, topology_link_at(t, path[i])->to, name, sizeof name));
        else
            strcat(strcat(strcat(text, "("), topology_link_name(t, path[i], name, sizeof name)), ")");
    }
    return text;
}

struct dmodk_case {
    const char *name;
    uint32_t tiers, m[3], w[3], p[3], hosts;
    nic_id from, to;
    const char *want;
};
static const struct dmodk_case dmodk_cases[] = {
    // spine = dst mod 8
    { "two tiers of 64",
      2,
      { 8, 8 },
      { 1, 8 },
      { 1, 1 },
      64,
      3,
      61,
      "node 3 nic 0 > leaf 0 > spine 5 > leaf 7 > node 61 nic 0" },
    { "inside a leaf",
      2,
      { 8, 8 },
      { 1, 8 },
      { 1, 1 },
      64,
      57,
      62,
      "node 57 nic 0 > leaf 7 > node 62 nic 0" },
    // aggregation = dst mod 4 = 2 of pod 0 and of pod 6, core port (102 / 4) mod 4 = 1: core 2 + 4
    { "three tiers of 128",
      3,
      { 4, 4, 8 },
      { 1, 4, 4 },
      { 1, 1, 1 },
      128,
      5,
      102,
      "node 5 nic 0 > leaf 1 > spine 2 > core 6 > spine 26 > leaf 25 > node 102 nic 0" },
    { "inside a pod",
      3,
      { 4, 4, 8 },
      { 1, 4, 4 },
      { 1, 1, 1 },
      128,
      98,
      109,
      "node 98 nic 0 > leaf 24 > spine 25 > leaf 27 > node 109 nic 0" },
    // port = 37 mod 4 = 1: spine 1 mod 2 by its cable 0; down cable (37 / 2) mod 2 = 0
    { "parallel cables",
      2,
      { 8, 6 },
      { 1, 2 },
      { 1, 2 },
      48,
      9,
      37,
      "node 9 nic 0 > leaf 1 > spine 1 > leaf 4 > node 37 nic 0" },
    // the leaf is dst mod 2 of the pair
    { "two leaves for every NIC",
      2,
      { 4, 3 },
      { 2, 2 },
      { 1, 1 },
      12,
      1,
      11,
      "node 1 nic 0 > leaf 1 > spine 3 > leaf 5 > node 11 nic 0" },
};

static void dmodk_is_as_by_hand(void **state)
{
    const struct dmodk_case *c = *state;
    arena *a = arena_create("test");
    const xgft_def def = fabrics_xgft_def(c->tiers, c->m, c->w, c->p);
    const topology *t = fabrics_xgft(a, c->hosts, &def, NULL);
    char text[1000];
    assert_string_equal(names_of(t, topology_nic_vertex(t, c->from), topology_nic_vertex(t, c->to), 0, text),
                        c->want);
    arena_destroy(a);
}

// On trees that are not oversubscribed, every shift of all hosts by the same number uses each link once at most.
static const struct dmodk_case full_trees[] = {
    { "two tiers", .tiers = 2, .m = { 8, 8 }, .w = { 1, 8 }, .p = { 1, 1 }, .hosts = 64 },
    { "two tiers, parallel cables", .tiers = 2, .m = { 8, 5 }, .w = { 1, 2 }, .p = { 1, 4 }, .hosts = 40 },
    { "three tiers", .tiers = 3, .m = { 3, 3, 6 }, .w = { 1, 3, 3 }, .p = { 1, 1, 1 }, .hosts = 54 },
    { "three tiers, parallel cables", .tiers = 3, .m = { 4, 4, 3 }, .w = { 1, 4, 2 }, .p = { 1, 1, 2 },
      .hosts = 48 },
};

static void shifts_do_not_collide(void **state)
{
    const struct dmodk_case *c = *state;
    arena *a = arena_create("test");
    const xgft_def def = fabrics_xgft_def(c->tiers, c->m, c->w, c->p);
    const topology *t = fabrics_xgft(a, c->hosts, &def, NULL);
    uint32_t *uses = arena_array(a, uint32_t, topology_link_count(t));
    for (uint32_t shift = 1; shift < c->hosts; shift++) {
        memset(uses, 0, topology_link_count(t) * sizeof *uses);
        for (nic_id host = 0; host < c->hosts; host++) {
            uint32_t path[TOPOLOGY_PATH_MAX];
            const uint32_t count = topology_route(t, topology_nic_vertex(t, host),
                                                  topology_nic_vertex(t, (host + shift) % c->hosts), path);
            for (uint32_t i = 0; i < count; i++)
                assert_int_equal(uses[path[i]]++, 0);
        }
    }
    arena_destroy(a);
}

// ---- permutations whose completion times are known from two independent programs: flows of 1e8 bytes over links of 5e10 B/s
// that start together end after 2 ms for each flow on the fullest link

struct permutation_case {
    const char *name;
    uint32_t tiers, m[3], w[3], hosts;
    double last_s;
    uint64_t sum; // of i p[i], to know the permutation by
};
static const struct permutation_case permutation_cases[] = {
    { "F64", 2, { 8, 8 }, { 1, 8 }, 64, 0.006, 64777 },
    { "F256", 2, { 16, 16 }, { 1, 16 }, 256, 0.008, 4200304 },
    { "F1024", 2, { 32, 32 }, { 1, 32 }, 1024, 0.010, 268005841 },
    { "F1024r3", 3, { 8, 8, 16 }, { 1, 8, 8 }, 1024, 0.010, 268005841 },
    { "F4096", 2, { 64, 64 }, { 1, 64 }, 4096, 0.010, UINT64_C(17229250236) },
};

static void permutations_end_when_they_must(void **state)
{
    const struct permutation_case *c = *state;
    arena *a = arena_create("test");
    const xgft_def def = fabrics_xgft_def(c->tiers, c->m, c->w, NULL);
    const topology *t = fabrics_xgft(a, c->hosts, &def, NULL);
    uint32_t *to = arena_array(a, uint32_t, c->hosts),
             *uses = arena_array(a, uint32_t, topology_link_count(t)), most = 0;
    uint64_t random = 42, sum = 0; // Sattolo
    for (uint32_t i = 0; i < c->hosts; i++)
        to[i] = i;
    for (uint32_t i = c->hosts - 1; i > 0; i--) {
        const uint32_t j = (uint32_t)(test_random(&random) % i), swapped = to[i];
        to[i] = to[j];
        to[j] = swapped;
    }
    for (uint32_t i = 0; i < c->hosts; i++) {
        uint32_t path[TOPOLOGY_PATH_MAX];
        const uint32_t count = topology_route(t, topology_nic_vertex(t, i), topology_nic_vertex(t, to[i]),
                                              path);
        sum += (uint64_t)i * to[i];
        for (uint32_t k = 0; k < count; k++)
            if (++uses[path[k]] > most) most = uses[path[k]];
    }
    assert_true(sum == c->sum);
    assert_near(most * 0.002, c->last_s, 1e-12);
    arena_destroy(a);
}

// ---- ECMP

static const topology *ecmp_tree(arena *a, uint64_t key)
{
    const uint32_t m[] = { 4, 8, 4 }, w[] = { 1, 8, 4 };
    const xgft_def def = fabrics_xgft_def(3, m, w, NULL);
    return fabrics_xgft(a, 128, &def,
                        &(fabric_policy){ .routing = ROUTING_ECMP, .hash_key = key, .queue_pairs = 1 });
}

// Ports taken by all pairs of hosts in different pods and eight queue pairs: each leaf spreads over its eight spines, and
// each spine over its four cores whatever the leaf chose. Every count is within five standard deviations of its share.
static void hashes_spread_evenly(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    const topology *t = ecmp_tree(a, 4711);
    uint32_t *uses = arena_array(a, uint32_t, topology_link_count(t));
    const uint32_t from_leaf = 4 * 96 * 8; // hosts x receivers x queue pairs
    for (nic_id x = 0; x < 128; x++)
        for (nic_id y = 0; y < 128; y++)
            for (uint32_t q = 0; q < 8 && x / 32 != y / 32; q++) {
                uint32_t path[TOPOLOGY_PATH_MAX];
                assert_int_equal(
                    route_find(t, NULL, topology_nic_vertex(t, x), topology_nic_vertex(t, y), q, path), 6);
                for (uint32_t i = 0; i < 6; i++)
                    uses[path[i]]++;
            }
    for (link_id l = 0; l < topology_link_count(t); l += 2) {
        const topology_link *link = topology_link_at(t, l);
        const vertex_kind low = topology_vertex_at(t, link->from)->kind;
        if (low == VERTEX_NIC) continue;
        const double trials = low == VERTEX_LEAF ? from_leaf
                                                 : 8.0 * from_leaf; // of a pod's spines and cores together
        const double share = low == VERTEX_LEAF ? 1.0 / 8 : 1.0 / 32;
        const double deviation = sqrt(trials * share * (1.0 - share));
        assert_true(fabs(uses[l] - trials * share) < 5.0 * deviation);
        assert_true(fabs(uses[l + 1] - trials * share) < 5.0 * deviation);
    }
    arena_destroy(a);
}

// Another queue pair, pair of hosts or key is another draw; the same is the same.
static void hashes_depend_on_all_of_it(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    const topology *t = ecmp_tree(a, 1), *same = ecmp_tree(a, 1), *other = ecmp_tree(a, 2);
    uint32_t differs[3] = { 0 };
    for (nic_id x = 0; x < 32; x++) {
        uint32_t p[TOPOLOGY_PATH_MAX], q[TOPOLOGY_PATH_MAX];
        const vertex_id from = topology_nic_vertex(t, x), to = topology_nic_vertex(t, 64 + x);
        assert_int_equal(route_find(t, NULL, from, to, 0, p), 6);
        assert_int_equal(route_find(same, NULL, from, to, 0, q), 6);
        assert_memory_equal(p, q, 6 * sizeof *p);
        route_find(t, NULL, from, to, 1, q);
        differs[0] += p[1] != q[1];
        route_find(other, NULL, from, to, 0, q);
        differs[1] += p[1] != q[1];
        route_find(t, NULL, from, topology_nic_vertex(t, 64 + (x + 1) % 32), 0, q);
        differs[2] += p[1] != q[1];
    }
    for (uint32_t i = 0; i < 3; i++)
        assert_in_range(differs[i], 20, 32); // 7 / 8 of 32 are expected
    arena_destroy(a);
}

// ---- the stated order of alternatives

static void the_next_port_is_taken(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    const uint32_t m[] = { 4, 4 }, w[] = { 1, 4 };
    const xgft_def def = fabrics_xgft_def(2, m, w, NULL);
    const topology *t = fabrics_xgft(a, 16, &def, NULL);
    fabric_state *fabric = fabric_state_create(a, t);
    const vertex_id from = topology_nic_vertex(t, 1), to = topology_nic_vertex(t, 15);
    char name[160];
    for (uint32_t k = 0; k < 4; k++) { // spine 15 mod 4 = 3, then 0, 1, 2; then none
        uint32_t path[TOPOLOGY_PATH_MAX];
        assert_int_equal(route_find(t, fabric, from, to, 0, path), 4);
        assert_int_equal(topology_vertex_at(t, topology_link_at(t, path[1])->to)->number, (3 + k) % 4);
        // one dies on the way up, the next on the way down, and so on
        fabric_set_avoided(fabric, path[1 + k % 2], true);
    }
    uint32_t path[TOPOLOGY_PATH_MAX];
    assert_int_equal(route_find(t, fabric, from, to, 0, path), ROUTE_NONE);
    assert_int_equal(fabric_avoided_count(fabric), 4);
    assert_int_equal(route_find(t, fabric, from, topology_nic_vertex(t, 2), 0, path), 2); // inside the leaf
    assert_int_equal(route_find(t, fabric, to, from, 0, path),
                     4); // only the directions of the links above have died
    fabric_set_avoided(fabric, path[0], true);
    assert_string_equal(topology_link_name(t, path[0], name, sizeof name), "node 15 nic 0 > leaf 3");
    assert_int_equal(route_find(t, fabric, to, from, 0, path), ROUTE_NONE);
    fabric_set_avoided(fabric, path[0], false);
    arena_destroy(a);
}

// What dies inside a node has no other way.
static void nodes_have_one_way(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    const topology *t = spine_leaf(a, ROUTING_STATIC);
    fabric_state *fabric = fabric_state_create(a, t);
    const vertex_id from = topology_gpu_vertex(t, 1), to = topology_gpu_vertex(t, 20);
    uint32_t path[TOPOLOGY_PATH_MAX];
    assert_int_equal(route_find(t, fabric, from, to, 0, path), 6);
    fabric_set_avoided(fabric, path[0], true);
    assert_int_equal(route_find(t, fabric, from, to, 0, path), ROUTE_NONE);
    assert_int_equal(route_find(t, fabric, topology_gpu_vertex(t, 0), to, 0, path), 6); // by the same NIC
    arena_destroy(a);
}

// ---- paths by hand through nodes, rails and bundles

struct named_case {
    const char *name;
    const topology *(*build)(arena *a, routing_kind routing);
    routing_kind routing;
    const char *from, *to;
    uint32_t queue_pair;
    const char *want;
};

static const topology *through_host(arena *a, routing_kind routing)
{
    const node_wiring wiring = pcie_node(true);
    const fat_tree_def def = fabrics_fat_tree_def(4, 2, 1, 1);
    return fat_tree(a, routing, 3, &wiring, &def);
}

// Devices on two sockets, no PCIe switches.
static const topology *sockets_only(arena *a, routing_kind routing)
{
    node_wiring wiring = pcie_node(false);
    wiring.pcie.switches = 0;
    const fat_tree_def def = fabrics_fat_tree_def(4, 2, 1, 1);
    return fat_tree(a, routing, 2, &wiring, &def);
}

// Two GPUs with three NICs each and one with two.
static const topology *many_nics(arena *a, routing_kind routing)
{
    static const uint32_t first[] = { 0, 3, 6 }, count[] = { 3, 3, 2 };
    node_wiring wiring = fabrics_gpu_node(8);
    wiring.gpus = 3;
    wiring.nic_of_gpu = first;
    wiring.nics_of_gpu = count;
    const fat_tree_def def = fabrics_fat_tree_def(16, 2, 1, 1);
    return fat_tree(a, routing, 2, &wiring, &def);
}

static const struct named_case named_cases[] = {
    { "another rail, first over NVLink", rails_apart, ROUTING_STATIC, "node0/gpu1", "node2/gpu6", 0,
      "node 0 gpu 1 > node 0 nvswitch 0 > node 0 gpu 6 > node 0 nic 3 > leaf 3 > node 2 nic 3 > node 2 gpu "
      "6" },
    { "the same rail", rails_apart, ROUTING_STATIC, "node0/gpu1", "node2/gpu0", 0,
      "node 0 gpu 1 > node 0 nic 0 > leaf 0 > node 2 nic 0 > node 2 gpu 0" },
    { "from NIC to NIC of another rail", rails_apart, ROUTING_STATIC, "node1/nic0", "node2/nic2", 0,
      "node 1 nic 0 > node 1 gpu 0 > node 1 nvswitch 0 > node 1 gpu 4 > node 1 nic 2 > leaf 2 > node 2 nic "
      "2" },
    { "rails of a group meet at a spine", two_tiers_of_rails, ROUTING_STATIC, "node0/gpu0", "node2/gpu7", 0,
      // slot of node 2's NIC 3: leaf 3 x 3 + 2 = 11; three uplinks: port 11 mod 3 = 2
      "node 0 gpu 0 > node 0 nic 0 > leaf 0 > spine 2 > leaf 3 > node 2 nic 3 > node 2 gpu 7" },
    { "one rail, one leaf", two_tiers_of_rails, ROUTING_STATIC, "node0/gpu2", "node2/gpu3", 0,
      "node 0 gpu 2 > node 0 nic 1 > leaf 1 > node 2 nic 1 > node 2 gpu 3" },
    { "trays of a rack", racks, ROUTING_STATIC, "node0/gpu3", "node1/gpu5", 0,
      "node 0 gpu 3 > nvswitch 0 > node 1 gpu 5" },
    { "between racks", racks, ROUTING_STATIC, "node1/gpu0", "node2/gpu0", 0,
      "node 1 gpu 0 > node 1 nic 0 > leaf 1 > spine 0 > leaf 2 > node 2 nic 0 > node 2 gpu 0" },
    { "under one PCIe switch", pcie_trees, ROUTING_STATIC, "node0/gpu0", "node0/gpu1", 0,
      "node 0 gpu 0 > node 0 pcie-switch 0 > node 0 gpu 1" },
    { "between sockets", pcie_trees, ROUTING_STATIC, "node0/gpu2", "node0/gpu1", 0,
      "node 0 gpu 2 > node 0 pcie-switch 1 > node 0 cpu 1 > node 0 cpu 0 > node 0 pcie-switch 0 > node 0 gpu "
      "1" },
    { "to the NIC under the switch", pcie_trees, ROUTING_STATIC, "node0/gpu3", "node1/gpu0", 0,
      "node 0 gpu 3 > node 0 pcie-switch 1 > node 0 nic 1 > leaf 0 > spine 0 > leaf 1 > node 1 nic 0 > node "
      "1 "
      "pcie-switch 0 > node 1 gpu 0" },
    { "to a NIC of the node, over the sockets", pcie_trees, ROUTING_STATIC, "node0/gpu0", "node0/nic1", 0,
      "node 0 gpu 0 > node 0 pcie-switch 0 > node 0 cpu 0 > node 0 cpu 1 > node 0 pcie-switch 1 > node 0 nic "
      "1" },
    { "without GPUDirect", through_host, ROUTING_STATIC, "node0/gpu0", "node1/nic0", 0,
      "node 0 gpu 0 > node 0 pcie-switch 0 > node 0 cpu 0 > node 0 pcie-switch 0 > node 0 nic 0 > leaf 0 > "
      "spine 0 "
      "> leaf 1 > node 1 nic 0" },
    { "on the sockets", sockets_only, ROUTING_STATIC, "node1/gpu3", "node1/gpu0", 0,
      "node 1 gpu 3 > node 1 cpu 1 > node 1 cpu 0 > node 1 gpu 0" },
    { "queue pairs take turns over a GPU's NICs", many_nics, ROUTING_STATIC, "node0/gpu0", "node1/gpu2", 5,
      "node 0 gpu 0 > node 0 nic 2 > leaf 0 > spine 0 > leaf 1 > node 1 nic 7 > node 1 gpu 2" },
    { "bundles of two tiers", two_tiers, ROUTING_ADAPTIVE, "1", "12", 0,
      "node 1 nic 0 > leaf 0 > (leaf 0 > spines) > (spines > leaf 3) > node 12 nic 0" },
    { "bundles of three tiers", three_tiers, ROUTING_ADAPTIVE, "1", "28", 0,
      "node 1 nic 0 > leaf 0 > (leaf 0 > spines) > (spines 0 to 2 > cores) > (cores > spines 6 to 8) > "
      "(spines > leaf "
      "9) > node 28 nic 0" },
    { "bundles inside a pod", three_tiers, ROUTING_ADAPTIVE, "1", "4", 0,
      "node 1 nic 0 > leaf 0 > (leaf 0 > spines) > (spines > leaf 1) > node 4 nic 0" },
    { "no bundles inside a leaf", two_tiers, ROUTING_ADAPTIVE, "1", "3", 0,
      "node 1 nic 0 > leaf 0 > node 3 nic 0" },
    { "cables: the shorter way round", cables, ROUTING_STATIC, "1", "2", 0,
      "node 1 nic 0 > leaf 1 > leaf 2 > node 2 nic 0" },
    // from leaf 1 to leaf 3 by leaf 0, leaf 2 or spine 0, in the order of their cables: 3 mod 3 = 0
    { "cables: by destination among equals", cables, ROUTING_STATIC, "1", "3", 0,
      "node 1 nic 0 > leaf 1 > leaf 0 > leaf 3 > node 3 nic 0" },
    { "no network: from NIC to NIC over their GPUs", node_alone, ROUTING_STATIC, "node0/nic0", "node0/nic1",
      0, "node 0 nic 0 > node 0 gpu 0 > node 0 nvswitch 0 > node 0 gpu 1 > node 0 nic 1" },
    { "no network: from a GPU to the NIC of another", node_alone, ROUTING_STATIC, "gpu0", "node0/nic5", 0,
      "node 0 gpu 0 > node 0 nvswitch 0 > node 0 gpu 5 > node 0 nic 5" },
    { "no network: from a NIC to a GPU of another tray", rack_alone, ROUTING_STATIC, "node1/nic3",
      "node0/gpu2", 0, "node 1 nic 3 > node 1 gpu 6 > nvswitch 0 > node 0 gpu 2" },
    { "no network: two NICs of one GPU", one_gpu_alone, ROUTING_STATIC, "nic2", "nic0", 0,
      "node 0 nic 2 > node 0 gpu 0 > node 0 nic 0" },
    { "no network: NICs in the PCIe tree", pcie_alone, ROUTING_STATIC, "nic0", "nic1", 0,
      "node 0 nic 0 > node 0 pcie-switch 0 > node 0 cpu 0 > node 0 cpu 1 > node 0 pcie-switch 1 > node 0 nic "
      "1" },
    { "cables: the nearer of two leaves", cables, ROUTING_STATIC, "4", "1", 0,
      "node 4 nic 0 > leaf 1 > node 1 nic 0" },
};

static void path_is_as_named(void **state)
{
    const struct named_case *c = *state;
    arena *a = arena_create("test");
    const topology *t = c->build(a, c->routing);
    sim_error error = { 0 };
    vertex_id from, to;
    char text[1000];
    assert_true(topology_find_vertex(t, c->from, NULL, &from, &error));
    assert_true(topology_find_vertex(t, c->to, NULL, &to, &error));
    assert_string_equal(names_of(t, from, to, c->queue_pair, text), c->want);
    arena_destroy(a);
}

// Rates and delays of a path through a PCIe tree: the narrowest is the link between the sockets.
static void facts_of_a_tree_path(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    const topology *t = pcie_trees(a, ROUTING_STATIC);
    const path_facts facts = topology_path_facts(t, topology_gpu_vertex(t, 2), topology_gpu_vertex(t, 1));
    assert_int_equal(facts.links, 5);
    assert_true(facts.rate_mBps == UINT64_C(19300000000000));
    assert_int_equal(facts.delay_ps, 4 * 110300 + 217100);
    assert_int_equal(facts.class, LINK_PCIE);
    arena_destroy(a);
}

// The longest paths of some fabrics of named_cases are there link by link; the others follow from them.
static void longest_paths_are_as_by_hand(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    assert_int_equal(route_longest(rails_apart(a, ROUTING_STATIC)), 6); // over NVLink to another rail
    assert_int_equal(route_longest(two_tiers_of_rails(a, ROUTING_STATIC)),
                     6); // GPU, NIC, leaf, spine and down
    assert_int_equal(route_longest(racks(a, ROUTING_STATIC)), 6);
    arena_destroy(a);
}

int main(void)
{
    enum {
        F = ARRAY_COUNT(fabrics),
        D = ARRAY_COUNT(dmodk_cases),
        S = ARRAY_COUNT(full_trees),
        N = ARRAY_COUNT(named_cases),
        R = ARRAY_COUNT(permutation_cases)
    };
    struct CMUnitTest tests[2 * F + D + S + N + R + 6];
    size_t n = 0;
    for (size_t i = 0; i < F; i++) {
        tests[n++] = (struct CMUnitTest){ fabrics[i].name, every_path_is_one, NULL, NULL,
                                          (void *)&fabrics[i] };
        tests[n++] = (struct CMUnitTest){ fabrics[i].name, failures_are_routed_around, NULL, NULL,
                                          (void *)&fabrics[i] };
    }
    for (size_t i = 0; i < D; i++)
        tests[n++] = (struct CMUnitTest){ dmodk_cases[i].name, dmodk_is_as_by_hand, NULL, NULL,
                                          (void *)&dmodk_cases[i] };
    for (size_t i = 0; i < S; i++)
        tests[n++] = (struct CMUnitTest){ full_trees[i].name, shifts_do_not_collide, NULL, NULL,
                                          (void *)&full_trees[i] };
    for (size_t i = 0; i < R; i++)
        tests[n++] = (struct CMUnitTest){ permutation_cases[i].name, permutations_end_when_they_must, NULL,
                                          NULL, (void *)&permutation_cases[i] };
    for (size_t i = 0; i < N; i++)
        tests[n++] = (struct CMUnitTest){ named_cases[i].name, path_is_as_named, NULL, NULL,
                                          (void *)&named_cases[i] };
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(hashes_spread_evenly);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(hashes_depend_on_all_of_it);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(the_next_port_is_taken);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(nodes_have_one_way);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(facts_of_a_tree_path);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(longest_paths_are_as_by_hand);
    SIM_ASSERT(n == ARRAY_COUNT(tests));
    return cmocka_run_group_tests_name("routing", tests, NULL, NULL);
}
