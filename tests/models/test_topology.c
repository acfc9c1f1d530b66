// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "models/network/topology_build.h"
#include "sim/array.h"

// Numbers of the tests: a GPU's NVLink 431.7 GB/s, PCIe to the NIC 53.1 GB/s, cable of a NIC 48.3 GB/s.
#define SCALE_UP_MBPS UINT64_C(431700000000000)
#define PCIE_MBPS UINT64_C(53100000000000)
#define CABLE_MBPS UINT64_C(48300000000000)

// Which NIC serves a GPU, by the number of NICs (0 to 4).
static const uint32_t nic_of_gpu[5][8] = { { 0 }, { 0 }, { 0, 0, 1, 1 }, { 0 }, { 0, 0, 1, 1, 2, 2, 3, 3 } };
static const single_switch_def fabric_switch = { .rate_mBps = CABLE_MBPS,
                                                 .cable_delay_ps = 25300,
                                                 .switch_delay_ps = 230700 };

static node_wiring wiring(node_wiring_kind kind, uint32_t gpus, uint32_t nics)
{
    return (node_wiring){ .gpus = gpus,
                          .nics = nics,
                          .scale_up = kind,
                          .scale_up_rate_mBps = SCALE_UP_MBPS,
                          .scale_up_delay_ps = 150100,
                          .nic_pcie_rate_mBps = PCIE_MBPS,
                          .nic_of_gpu = nic_of_gpu[nics] };
}

static topology *build(arena *a, node_wiring_kind kind, uint32_t nodes, uint32_t gpus, uint32_t nics)
{
    topology *t = topology_create(a);
    node_wiring w = wiring(kind, gpus, nics);
    for (uint32_t i = 0; i < nodes; i++)
        topology_add_node(t, &w);
    sim_error error = { 0 };
    assert_true(topology_add_single_switch(t, &fabric_switch, NULL, &error));
    topology_seal(t);
    if (!topology_check(t, NULL, &error)) fail_msg("%s", error.message);
    return t;
}

// ---- shapes: counts and names ----

struct shape_case {
    const char *name;
    node_wiring_kind kind;
    uint32_t nodes, gpus, nics, vertices, links;
};
static const struct shape_case shapes[] = {
    { "eight GPUs on an NVSwitch, no network", WIRING_SWITCH, 1, 8, 0, 9, 16 },
    { "eight GPUs on an NVSwitch, four NICs, three nodes", WIRING_SWITCH, 3, 8, 4, 40,
      120 }, // 3 (8+1+4) + 1; 3 (16+16+8)
    { "mesh of four", WIRING_MESH, 1, 4, 0, 4, 12 },
    { "mesh of three with two NICs, two nodes", WIRING_MESH, 2, 3, 2, 11, 32 }, // 2 (3+2) + 1; 2 (6+6+4)
    { "four GPUs on the host's PCIe, one NIC", WIRING_HOST, 2, 4, 1, 13, 36 },  // 2 (4+1+1) + 1; 2 (8+8+2)
    { "one GPU alone", WIRING_NONE, 1, 1, 0, 1, 0 },
    { "bare hosts", WIRING_NONE, 5, 0, 1, 6, 10 },
};

static void shape_has_its_parts(void **state)
{
    const struct shape_case *c = *state;
    arena *a = arena_create("test");
    topology *t = build(a, c->kind, c->nodes, c->gpus, c->nics);
    assert_int_equal(topology_vertex_count(t), c->vertices);
    assert_int_equal(topology_link_count(t), c->links);
    assert_int_equal(topology_node_count(t), c->nodes);
    assert_int_equal(topology_gpu_count(t), c->nodes * c->gpus);
    assert_int_equal(topology_nic_count(t), c->nodes * c->nics);
    uint32_t sum = 0;
    for (int kind = 0; kind < VERTEX_KINDS; kind++)
        sum += topology_count_kind(t, (vertex_kind)kind);
    assert_int_equal(sum, c->vertices);
    assert_int_equal(topology_count_kind(t, VERTEX_GPU), c->nodes * c->gpus);
    arena_destroy(a);
}

static bool leads(const topology *t, const link_id *path, uint32_t links, vertex_id from, vertex_id to)
{
    vertex_id at = from;
    for (uint32_t i = 0; i < links; i++) {
        if (topology_link_at(t, path[i])->from != at) return false;
        at = topology_link_at(t, path[i])->to;
    }
    return at == to;
}

// Between every two GPUs and NICs: the links of the path meet end to end, lead there, and visit no vertex twice; the way
// back is as long and has the same rate and class.
static void every_path_leads_there(void **state)
{
    const struct shape_case *c = *state;
    arena *a = arena_create("test");
    topology *t = build(a, c->kind, c->nodes, c->gpus, c->nics);
    for (vertex_id from = 0; from < topology_vertex_count(t); from++)
        for (vertex_id to = 0; to < topology_vertex_count(t); to++) {
            vertex_kind f = topology_vertex_at(t, from)->kind, g = topology_vertex_at(t, to)->kind;
            if ((f != VERTEX_GPU && f != VERTEX_NIC) || (g != VERTEX_GPU && g != VERTEX_NIC)) continue;
            uint32_t path[TOPOLOGY_PATH_MAX];
            uint32_t links = topology_route(t, from, to, path);
            assert_true(leads(t, path, links, from, to));
            assert_true((links == 0) == (from == to));
            for (uint32_t i = 0; i < links; i++)
                for (uint32_t j = 0; j < i; j++)
                    assert_int_not_equal(topology_link_at(t, path[i])->to,
                                         topology_link_at(t, path[j])->from);
            path_facts there = topology_path_facts(t, from, to), back = topology_path_facts(t, to, from);
            assert_int_equal(there.links, links);
            assert_int_equal(there.links, back.links);
            assert_int_equal(there.rate_mBps, back.rate_mBps);
            assert_int_equal(there.class, back.class);
            assert_int_equal(there.delay_ps, back.delay_ps);
        }
    arena_destroy(a);
}

static void rows_hold_every_link_once(void **state)
{
    const struct shape_case *c = *state;
    arena *a = arena_create("test");
    topology *t = build(a, c->kind, c->nodes, c->gpus, c->nics);
    uint32_t sum = 0;
    for (vertex_id v = 0; v < topology_vertex_count(t); v++) {
        uint32_t count;
        const link_id *row = topology_outgoing(t, v, &count);
        for (uint32_t i = 0; i < count; i++) {
            assert_int_equal(topology_link_at(t, row[i])->from, v);
            if (i > 0) assert_true(row[i - 1] < row[i]);
        }
        sum += count;
    }
    assert_int_equal(sum, topology_link_count(t));
    arena_destroy(a);
}

// ---- paths worked out by hand ----

struct path_case {
    const char *name;
    node_wiring_kind kind;
    uint32_t nodes, gpus, nics;
    gpu_id from, to;
    uint32_t links;
    uint64_t rate_mBps;
    sim_time delay_ps;
    link_class class;
    const char *text; // the vertices on the way
};
static const struct path_case paths[] = {
    { "through the NVSwitch", WIRING_SWITCH, 2, 8, 4, 3, 6, 2, SCALE_UP_MBPS, 300200, LINK_NVLINK,
      "node 0 gpu 3 > node 0 nvswitch 0; node 0 nvswitch 0 > node 0 gpu 6; " },
    { "to another node", WIRING_SWITCH, 2, 8, 4, 5, 14, 4, CABLE_MBPS, 281300,
      LINK_NETWORK, // 2 25300 + 230700
      "node 0 gpu 5 > node 0 nic 2; node 0 nic 2 > leaf 0; leaf 0 > node 1 nic 3; node 1 nic 3 > node 1 gpu "
      "6; " },
    { "mesh, upwards", WIRING_MESH, 1, 4, 0, 1, 3, 1, SCALE_UP_MBPS / 3, 150100, LINK_NVLINK,
      "node 0 gpu 1 > node 0 gpu 3; " },
    { "mesh, downwards", WIRING_MESH, 1, 4, 0, 3, 0, 1, SCALE_UP_MBPS / 3, 150100, LINK_NVLINK,
      "node 0 gpu 3 > node 0 gpu 0; " },
    { "through the CPU", WIRING_HOST, 1, 4, 0, 2, 1, 2, SCALE_UP_MBPS, 300200, LINK_PCIE,
      "node 0 gpu 2 > node 0 cpu 0; node 0 cpu 0 > node 0 gpu 1; " },
    { "GPUs that share a NIC, apart", WIRING_SWITCH, 2, 2, 1, 1, 2, 4, CABLE_MBPS, 281300, LINK_NETWORK,
      "node 0 gpu 1 > node 0 nic 0; node 0 nic 0 > leaf 0; leaf 0 > node 1 nic 0; node 1 nic 0 > node 1 gpu "
      "0; " },
    { "to itself", WIRING_SWITCH, 1, 8, 0, 4, 4, 0, UINT64_MAX, 0, LINK_NVLINK, "" },
};

static void path_is_as_by_hand(void **state)
{
    const struct path_case *c = *state;
    arena *a = arena_create("test");
    topology *t = build(a, c->kind, c->nodes, c->gpus, c->nics);
    vertex_id from = topology_gpu_vertex(t, c->from), to = topology_gpu_vertex(t, c->to);
    path_facts facts = topology_path_facts(t, from, to);
    assert_int_equal(facts.links, c->links);
    assert_true(facts.rate_mBps == c->rate_mBps);
    assert_int_equal(facts.delay_ps, c->delay_ps);
    assert_int_equal(facts.class, c->class);
    uint32_t path[TOPOLOGY_PATH_MAX];
    uint32_t links = topology_route(t, from, to, path);
    char text[512] = "", name[160];
    for (uint32_t i = 0; i < links; i++) {
        strcat(text, topology_link_name(t, path[i], name, sizeof name));
        strcat(text, "; ");
    }
    assert_string_equal(text, c->text);
    arena_destroy(a);
}

static void nics_are_ends_too(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    topology *t = build(a, WIRING_SWITCH, 2, 8, 4);
    uint32_t path[TOPOLOGY_PATH_MAX];
    char name[160];
    // A GPU to its own NIC does not leave the node; to another NIC of its node it goes out and back in.
    assert_int_equal(topology_route(t, topology_gpu_vertex(t, 6), topology_nic_vertex(t, 3), path), 1);
    assert_string_equal(topology_link_name(t, path[0], name, sizeof name), "node 0 gpu 6 > node 0 nic 3");
    assert_int_equal(topology_route(t, topology_gpu_vertex(t, 6), topology_nic_vertex(t, 1), path), 3);
    assert_string_equal(topology_link_name(t, path[2], name, sizeof name), "leaf 0 > node 0 nic 1");
    assert_int_equal(topology_route(t, topology_nic_vertex(t, 5), topology_nic_vertex(t, 2), path), 2);
    assert_string_equal(topology_link_name(t, path[0], name, sizeof name), "node 1 nic 1 > leaf 0");
    assert_string_equal(topology_link_name(t, path[1], name, sizeof name), "leaf 0 > node 0 nic 2");
    arena_destroy(a);
}

static void different_nodes_mix(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    topology *t = topology_create(a);
    node_wiring first = wiring(WIRING_MESH, 3, 1), second = wiring(WIRING_HOST, 2, 2),
                bare = wiring(WIRING_NONE, 0, 3);
    static const uint32_t zero[3] = { 0 };
    first.nic_of_gpu = zero;
    second.nic_of_gpu = (const uint32_t[]){ 1, 0 };
    topology_add_node(t, &bare);
    topology_add_node(t, &first);
    topology_add_node(t, &second);
    sim_error error = { 0 };
    assert_true(topology_add_single_switch(t, &fabric_switch, NULL, &error));
    topology_seal(t);
    assert_true(topology_check(t, NULL, &error));
    uint32_t path[TOPOLOGY_PATH_MAX];
    char name[160];
    assert_int_equal(topology_route(t, topology_gpu_vertex(t, 2), topology_gpu_vertex(t, 3), path), 4);
    assert_string_equal(topology_link_name(t, path[1], name, sizeof name), "node 1 nic 0 > leaf 0");
    assert_string_equal(topology_link_name(t, path[3], name, sizeof name), "node 2 nic 1 > node 2 gpu 0");
    assert_int_equal(topology_route(t, topology_nic_vertex(t, 2), topology_gpu_vertex(t, 4), path), 3);
    assert_string_equal(topology_link_name(t, path[2], name, sizeof name), "node 2 nic 0 > node 2 gpu 1");
    arena_destroy(a);
}

// ---- what is refused ----

static void check_refuses(topology *t, const char *message, const char *hint)
{
    topology_seal(t);
    sim_error error = { 0 };
    assert_false(topology_check(t, NULL, &error));
    assert_int_equal(error.exit_code, SIM_EXIT_INPUT);
    assert_string_equal(error.message, message);
    assert_string_equal(error.hint, hint);
}

static void check_messages(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    check_refuses(topology_create(a), "the fabric has no parts", "");

    topology *t = topology_create(a);
    node_wiring w = wiring(WIRING_NONE, 4, 0);
    topology_add_node(t, &w);
    check_refuses(t, "node 0 has 4 GPUs and no links between them",
                  "give the node a scale-up of nvswitch, mesh or pcie, or one GPU");

    t = topology_create(a);
    w = wiring(WIRING_SWITCH, 4, 0);
    w.scale_up_rate_mBps = 0;
    topology_add_node(t, &w);
    check_refuses(t, "the rate of the link node 0 gpu 0 > node 0 nvswitch 0 is zero", "");

    t = topology_create(a);
    w = wiring(WIRING_MESH, 4, 0);
    w.scale_up_rate_mBps = 2; // a third of it rounds down to nothing
    topology_add_node(t, &w);
    check_refuses(t, "the rate of the link node 0 gpu 0 > node 0 gpu 1 is zero", "");

    t = topology_create(a);
    w = wiring(WIRING_SWITCH, 4, 2);
    topology_add_node(t, &w);
    topology_add_node(t, &w);
    check_refuses(t, "the fabric is not connected: there is no path from node 0 gpu 0 to node 1 gpu 0", "");
    arena_destroy(a);
}

static void single_switch_messages(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    topology *t = topology_create(a);
    node_wiring with = wiring(WIRING_SWITCH, 8, 4), without = wiring(WIRING_SWITCH, 8, 0);
    topology_add_node(t, &with);
    topology_add_node(t, &without);
    topology_add_node(t, &with);
    sim_error error = { 0 };
    sim_place where = { .file = "a.yaml", .line = 7, .column = 3 };
    assert_false(topology_add_single_switch(t, &fabric_switch, &where, &error));
    assert_int_equal(error.exit_code, SIM_EXIT_INPUT);
    assert_int_equal(error.line, 7);
    assert_string_equal(error.message, "node 1 has no NIC, so it cannot reach the other 2 nodes");
    assert_string_equal(error.hint, "give the node at least one NIC, or use one node");

    t = topology_create(a);
    for (int i = 0; i < 3; i++)
        topology_add_node(t, &with);
    single_switch_def small = fabric_switch;
    small.ports = 11;
    sim_error_clear(&error);
    assert_false(topology_add_single_switch(t, &small, &where, &error));
    assert_string_equal(error.message, "12 NICs do not fit a single switch of 11 ports");
    assert_string_equal(error.hint, "at most 11 NICs; take fewer nodes or a switch with more ports");
    small.ports = 12; // exactly full is fine
    sim_error_clear(&error);
    assert_true(topology_add_single_switch(t, &small, &where, &error));
    arena_destroy(a);
}

// ---- degraded links ----

static void a_degraded_link_keeps_its_factor(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    topology *t = build(a, WIRING_SWITCH, 2, 8, 4);
    uint32_t count;
    topology_degraded_links(t, &count);
    assert_int_equal(count, 0);
    for (link_id l = 0; l < topology_link_count(t); l++)
        assert_near(topology_link_at(t, l)->health_ratio, 1.0, 0);
    topology_degrade_link(t, 40, 0.25);
    topology_degrade_link(t, 3, 0.9);
    topology_degrade_link(t, 7, 1.0); // healthy all the same
    topology_degrade_link(t, 11, 1e-30);
    const link_id *links = topology_degraded_links(t, &count);
    static const link_id want[] = { 3, 11, 40 };
    assert_int_equal(count, 3);
    assert_memory_equal(links, want, sizeof want);
    assert_true(topology_rate_mBps(t, 3) == UINT64_C(388530000000000)); // 0.9 x 431.7 GB/s
    assert_true(topology_rate_mBps(t, topology_link_back(3)) == SCALE_UP_MBPS);
    assert_true(topology_rate_mBps(t, 11) == 1); // the least there is
    assert_near(topology_link_at(t, 40)->health_ratio, 0.25, 0);
    arena_destroy(a);
}

// Leaves with two uplinks to each of two spines: a bundle of four, of which traffic fills 0.9.
static void a_bundle_has_the_rates_of_all_its_members(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    topology *t = topology_create(a);
    const node_wiring w = wiring(WIRING_SWITCH, 8, 4);
    for (uint32_t i = 0; i < 4; i++)
        topology_add_node(t, &w);
    const fabric_tier tier = { .name = "box", .port_rate_mBps = CABLE_MBPS, .adaptive_ppm = 900000 };
    const spine_leaf_def def = { .leaves = 2, .spines = 2, .uplinks = 4, .tier = { tier, tier } };
    sim_error error = { 0 };
    assert_true(topology_add_spine_leaf(t, &def, &(fabric_places){ 0 }, &error));
    topology_seal(t);
    const uint32_t up = topology_link_count(t), down = up + 1;
    const bundle_members m = topology_bundle_members(t, up);
    assert_int_equal(m.count, 4);
    assert_true(topology_rate_mBps(t, up) == UINT64_C(173880000000000)); // 0.9 x 4 x 48.3 GB/s
    topology_degrade_link(t, m.first, 0.5);
    topology_degrade_link(t, m.first + 4, 0.1);
    assert_true(topology_rate_mBps(t, up) == UINT64_C(113022000000000)); // 0.9 x (2 + 0.5 + 0.1) x 48.3 GB/s
    assert_true(topology_rate_mBps(t, down) == UINT64_C(173880000000000));
    arena_destroy(a);
}

int main(void)
{
    enum { EXTRA = 6 };
    struct CMUnitTest tests[3 * ARRAY_COUNT(shapes) + ARRAY_COUNT(paths) + EXTRA];
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_COUNT(shapes); i++) {
        void *row = (void *)&shapes[i];
        tests[n++] = (struct CMUnitTest){ shapes[i].name, shape_has_its_parts, NULL, NULL, row };
        tests[n++] = (struct CMUnitTest){ shapes[i].name, every_path_leads_there, NULL, NULL, row };
        tests[n++] = (struct CMUnitTest){ shapes[i].name, rows_hold_every_link_once, NULL, NULL, row };
    }
    for (size_t i = 0; i < ARRAY_COUNT(paths); i++)
        tests[n++] = (struct CMUnitTest){ paths[i].name, path_is_as_by_hand, NULL, NULL, (void *)&paths[i] };
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(nics_are_ends_too);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(different_nodes_mix);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(a_degraded_link_keeps_its_factor);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(a_bundle_has_the_rates_of_all_its_members);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(check_messages);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(single_switch_messages);
    SIM_ASSERT(n == ARRAY_COUNT(tests));
    return cmocka_run_group_tests_name("topology", tests, NULL, NULL);
}
