// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "models/network/fabric_state.h"
#include "tests/support/fabrics.h"

// Three tiers: 4 hosts a leaf, 2 leaves a pod with 4 and 2 spines.., so that all counts differ.
static const topology *tree(arena *a)
{
    const uint32_t m[] = { 4, 2, 3 }, w[] = { 1, 2, 3 }, p[] = { 1, 2, 1 };
    const xgft_def def = fabrics_xgft_def(3, m, w, p);
    return fabrics_xgft(a, 24, &def, NULL);
}

static void links_change_and_come_back(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    const topology *t = tree(a);
    fabric_state *s = fabric_state_create(a, t);
    assert_ptr_equal(fabric_state_topology(s), t);
    for (link_id l = 0; l < topology_link_count(t); l++) {
        assert_true(fabric_is_up(s, l));
        assert_true(fabric_capacity_mBps(s, l) == FABRICS_RATE_MBPS);
    }
    fabric_set_rate_ratio(s, 7, 0.37);
    assert_true(fabric_capacity_mBps(s, 7) == UINT64_C(17871000000000));
    fabric_set_up(s, 7, false);
    assert_false(fabric_is_up(s, 7));
    assert_true(fabric_capacity_mBps(s, 7) == 0);
    assert_true(fabric_capacity_mBps(s, topology_link_back(7)) == FABRICS_RATE_MBPS);
    assert_false(fabric_is_avoided(s, 7)); // routes do not know yet
    fabric_set_up(s, 7, true);
    assert_true(fabric_capacity_mBps(s, 7) == UINT64_C(17871000000000)); // as slow as before
    fabric_set_rate_ratio(s, 7, 1.0);
    assert_true(fabric_capacity_mBps(s, 7) == FABRICS_RATE_MBPS);
    fabric_set_rate_ratio(s, 7, 0.0);
    assert_true(fabric_capacity_mBps(s, 7) == 0);
    fabric_set_avoided(s, 7, true);
    fabric_set_avoided(s, 7, true);
    fabric_set_avoided(s, 9, true);
    assert_int_equal(fabric_avoided_count(s), 2);
    fabric_set_avoided(s, 7, false);
    assert_int_equal(fabric_avoided_count(s), 1);
    arena_destroy(a);
}

// Bundles: of 6 leaves 4 links each, of 3 pods 2 spines with 3 links each; one up and one down. Every link between switches
// is in one, links of NICs are in none.
static void bundles_partition_the_links(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    const topology *t = tree(a);
    const uint32_t links = topology_link_count(t), bundles = topology_bundle_count(t);
    assert_int_equal(bundles, 2 * (6 + 3));
    uint32_t *seen = arena_array(a, uint32_t, links);
    for (uint32_t b = links; b < links + bundles; b++) {
        const bundle_members m = topology_bundle_members(t, b);
        const topology_link *first = topology_link_at(t, m.first);
        const vertex_kind from = topology_vertex_at(t, first->from)->kind;
        assert_int_equal(m.count, b < links + 12 ? 4 : 6);
        assert_int_equal(m.ratio_ppm, 970000);
        for (uint32_t i = 0; i < m.count; i++) {
            const link_id l = m.first + 2 * i;
            assert_int_equal(topology_bundle_of_link(t, l), b);
            assert_int_equal(topology_vertex_at(t, topology_link_at(t, l)->from)->kind, from);
            seen[l]++;
        }
        assert_true(topology_rate_mBps(t, b) == FABRICS_RATE_MBPS * m.count / 100 * 97);
    }
    for (link_id l = 0; l < links; l++) {
        const bool of_nic = l < 48;
        assert_int_equal(seen[l], !of_nic);
        if (of_nic) assert_int_equal(topology_bundle_of_link(t, l), NO_ID);
    }
    arena_destroy(a);
}

static void bundles_shrink_with_their_members(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    const topology *t = tree(a);
    fabric_state *s = fabric_state_create(a, t);
    const uint32_t bundle = topology_link_count(t) + 13; // pod 0, down
    const bundle_members m = topology_bundle_members(t, bundle);
    assert_true(fabric_capacity_mBps(s, bundle) == topology_rate_mBps(t, bundle));
    fabric_set_up(s, m.first + 2, false);
    fabric_set_up(s, m.first + 3, false); // the way back counts for the bundle up
    fabric_set_rate_ratio(s, m.first + 8, 0.5);
    // 0.97 (4 + 0.5) x 48.3 GB/s
    assert_true(fabric_capacity_mBps(s, bundle) == UINT64_C(210829500000000));
    assert_true(fabric_capacity_mBps(s, bundle - 1) == FABRICS_RATE_MBPS * 5 / 100 * 97);
    for (uint32_t i = 0; i < m.count; i++)
        fabric_set_up(s, m.first + 2 * i, false);
    assert_true(fabric_capacity_mBps(s, bundle) == 0);
    arena_destroy(a);
}

static void small_fabrics_have_no_bundles(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    sim_error error = { 0 };
    topology *t = fabrics_nodes(a, 3, NULL);
    const single_switch_def def = { .rate_mBps = FABRICS_RATE_MBPS };
    fabrics_seal(t, topology_add_single_switch(t, &def, NULL, &error), &error);
    assert_int_equal(topology_bundle_count(t), 0);
    assert_int_equal(topology_bundle_of_link(t, 2), NO_ID);
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links_change_and_come_back),
        cmocka_unit_test(bundles_partition_the_links),
        cmocka_unit_test(bundles_shrink_with_their_members),
        cmocka_unit_test(small_fabrics_have_no_bundles),
    };
    return cmocka_run_group_tests_name("fabric_state", tests, NULL, NULL);
}
