// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/scratch.h"

#include "models/cluster_fabric.h"
#include "models/cluster_named.h"

typedef struct named {
    arena *a;
    catalogue parts;
    scenario s;
    sim_error error;
} named;

static bool load(named *n, const scratch_folder *folder, const char *name, uint32_t nodes, int shape,
                 const char *set)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/models/catalogue", folder->before);
    memset(n, 0, sizeof *n);
    n->a = arena_create("test");
    const cluster_named wanted = { .name = name, .nodes = nodes, .topology = shape, .called = "--cluster" };
    const cluster_named_places nowhere = { 0 };
    return catalogue_find(n->a, path, &n->parts, &n->error) &&
           cluster_named_load(n->a, &n->parts, &wanted, &nowhere, &set, set ? 1 : 0, &n->s, &n->error) &&
           scenario_check(&n->s, false, &n->error);
}

typedef struct named_case {
    const char *name;
    uint32_t nodes;
    int shape;               // asked for
    const char *want_switch; // NULL: no fabric
    int want_shape, want_routing;
} named_case;

static void nodes_get_the_fabric_of_their_nics(void **state)
{
    const named_case cases[] = {
        { "dgx-h100", 8, -1, "qm9700", FABRIC_RAIL_OPTIMIZED, ROUTING_ADAPTIVE },
        { "dgx-h100", 8, FABRIC_FAT_TREE, "qm9700", FABRIC_FAT_TREE, ROUTING_ADAPTIVE },
        { "dgx-h100", 0, -1, NULL, 0, 0 },
        { "dgx-h100", 1, -1, NULL, 0, 0 },
        { "dgx-h100", 1, FABRIC_SINGLE_SWITCH, "qm9700", FABRIC_SINGLE_SWITCH, ROUTING_ADAPTIVE },
        { "gb200-nvl72-tray", 18, -1, NULL, 0, 0 }, // one rack
        { "gb200-nvl72-tray", 19, -1, "qm9700", FABRIC_RAIL_OPTIMIZED, ROUTING_ADAPTIVE },
        { "rtx4090-4x", 4, -1, "qm8790", FABRIC_FAT_TREE, ROUTING_ADAPTIVE }, // one NIC
        { "a100-8x-4x100g-opa", 2, -1, "omni-path-48", FABRIC_RAIL_OPTIMIZED, ROUTING_STATIC },
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        const named_case *c = &cases[i];
        named n;
        if (!load(&n, *state, c->name, c->nodes, c->shape, NULL)) fail_msg("%zu: %s", i, n.error.message);
        const fabric_def *f = &n.s.cluster.fabric;
        assert_string_equal(n.s.cluster.node.name, c->name);
        assert_int_equal(n.s.cluster.nodes, c->nodes ? c->nodes : 1);
        assert_int_equal(f->given, c->want_switch != NULL);
        if (f->given) {
            assert_string_equal(f->network_switch.name, c->want_switch);
            assert_int_equal(f->topology, c->want_shape);
            assert_int_equal(f->routing, c->want_routing);
        }
        arena_destroy(n.a);
    }
}

// Every node of the catalogue that has NICs can be joined, at the full rate of its lines where they fit the ports.
static void every_node_can_be_joined(void **state)
{
    named n;
    const char **all;
    assert_true(load(&n, *state, "dgx-h100", 1, -1, NULL));
    const int count = catalogue_names(n.a, &n.parts, "nodes", &all);
    assert_true(count > 10);
    for (int i = 0; i < count; i++) {
        named two;
        const char *name = all[i];
        if (!load(&two, *state, name, 40, -1, NULL)) fail_msg("%s: %s", name, two.error.message);
        const cluster_def *c = &two.s.cluster;
        if (c->fabric.network_switch.port_rate_Bps < c->node.nic.rate_Bps)
            fail_msg("%s: its NICs are faster than the ports of %s", name, c->fabric.network_switch.name);
        if (!fabric_build(two.a, c, 1, two.s.reader, &two.error)) fail_msg("%s: %s", name, two.error.message);
        arena_destroy(two.a);
    }
    arena_destroy(n.a);
}

static void systems_come_whole(void **state)
{
    named n;
    assert_true(load(&n, *state, "eos", 8, -1, "cluster.nodes=64"));
    assert_true(cluster_named_is_system(n.a, &n.parts, "eos"));
    assert_false(cluster_named_is_system(n.a, &n.parts, "dgx-h100"));
    assert_int_equal(n.s.cluster.nodes, 64);
    assert_string_equal(n.s.cluster.name, "eos");
    arena_destroy(n.a);
    assert_true(load(&n, *state, "eos", 8, -1, NULL));
    assert_int_equal(n.s.cluster.nodes, 576);
    arena_destroy(n.a);
}

static void others_are_refused(void **state)
{
    named n;
    assert_false(load(&n, *state, "dgx-h101", 8, -1, NULL));
    assert_int_equal(n.error.exit_code, SIM_EXIT_INPUT);
    assert_string_equal(n.error.message, "the catalogue has neither a node nor a system \"dgx-h101\"");
    assert_string_equal(n.error.hint, "did you mean \"dgx-h100\"?");
    arena_destroy(n.a);
    assert_false(load(&n, *state, "eoss", 8, -1, NULL));
    assert_string_equal(n.error.hint, "did you mean \"eos\"?");
    arena_destroy(n.a);
    assert_false(load(&n, *state, "eos", 8, FABRIC_FAT_TREE, NULL));
    assert_string_equal(n.error.message, "system \"eos\" has a fabric of its own");
    assert_string_equal(n.error.hint, "cluster.fabric.topology=fat-tree overrides it");
    arena_destroy(n.a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nodes_get_the_fabric_of_their_nics, scratch_enter, scratch_leave),
        cmocka_unit_test_setup_teardown(every_node_can_be_joined, scratch_enter, scratch_leave),
        cmocka_unit_test_setup_teardown(systems_come_whole, scratch_enter, scratch_leave),
        cmocka_unit_test_setup_teardown(others_are_refused, scratch_enter, scratch_leave),
    };
    return cmocka_run_group_tests_name("cluster_named", tests, NULL, NULL);
}
