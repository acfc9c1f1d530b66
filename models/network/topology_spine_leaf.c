// SPDX-License-Identifier: GPL-3.0-or-later
// Leaves and spines in given numbers, each leaf with the same cables to every spine.
#include "models/network/topology_internal.h"
#include <inttypes.h>

static bool check_uplinks(const spine_leaf_def *def, const fabric_places *where, sim_error *error)
{
    const fabric_tier *leaf = &def->tier[0];
    if (leaf->ports > 0 && def->uplinks >= leaf->ports) {
        sim_fail(error, SIM_EXIT_INPUT, where->at[FABRIC_UPLINKS],
                 "%" PRIu32 " uplinks leave none of the %" PRIu32 " ports of leaf \"%s\" for NICs",
                 def->uplinks, leaf->ports, leaf->name);
        return sim_hint(error, "uplinks: %" PRIu32, leaf->ports / 2 / def->spines * def->spines);
    }
    if (def->uplinks % def->spines == 0) return true;
    const uint32_t least = def->uplinks / def->spines * def->spines;
    const bool lower = least > 0 && def->uplinks - least <= least + def->spines - def->uplinks;
    sim_fail(error, SIM_EXIT_INPUT, where->at[FABRIC_UPLINKS],
             "%" PRIu32 " uplinks of a leaf are not the same number of cables to each of %" PRIu32 " spines",
             def->uplinks, def->spines);
    return sim_hint(error, "uplinks: %" PRIu32, lower ? least : least + def->spines);
}

// Whole nodes, if they are alike and so many NICs fit.
static uint32_t nics_of_leaf(const topology *t, uint32_t leaves, uint32_t most)
{
    const uint32_t even = (t->nics.count + leaves - 1) / leaves, per_node = t->nodes.items[0].nics;
    for (node_id n = 1; n < t->nodes.count; n++)
        if (t->nodes.items[n].nics != per_node) return even;
    const uint32_t whole = (even + per_node - 1) / per_node * per_node;
    return whole <= most ? whole : even;
}

static bool check_leaves(const topology *t, const spine_leaf_def *def, uint32_t most, uint32_t leaves,
                         const fabric_places *where, sim_error *error)
{
    const fabric_tier *leaf = &def->tier[0], *spine = &def->tier[1];
    const uint32_t needed = (t->nics.count + most - 1) / most, cables = def->uplinks / def->spines;
    if (leaves < needed) {
        sim_fail(error, SIM_EXIT_INPUT, where->at[FABRIC_LEAVES],
                 "%" PRIu32 " leaves \"%s\" with %" PRIu32 " uplinks have ports for %" PRIu64
                 " NICs, but there are %" PRIu32,
                 leaves, leaf->name, def->uplinks, (uint64_t)leaves * most, t->nics.count);
        return sim_hint(error, "leaves: %" PRIu32, needed);
    }
    if (spine->ports == 0 || (uint64_t)leaves * cables <= spine->ports) return true;
    sim_fail(error, SIM_EXIT_INPUT, where->at[FABRIC_SPINES],
             "%" PRIu32 " leaves with %" PRIu32 " cables to each spine need more than the %" PRIu32
             " ports of spine \"%s\"",
             leaves, cables, spine->ports, spine->name);
    return sim_hint(error, "at most %" PRIu32 " leaves, or more spines", spine->ports / cables);
}

bool topology_add_spine_leaf(topology *t, const spine_leaf_def *def, const fabric_places *where,
                             sim_error *error)
{
    if (!topology_check_nics(t, where, error) || !check_uplinks(def, where, error)) return false;
    const uint32_t nics = t->nics.count;
    if (nics == 0) return true;
    const uint32_t most = def->tier[0].ports ? def->tier[0].ports - def->uplinks : nics;
    const uint32_t leaves = def->leaves ? def->leaves : (nics + most - 1) / most;
    if (!check_leaves(t, def, most, leaves, where, error)) return false;
    const tree_shape shape = { .tiers = 2,
                               .children = { nics_of_leaf(t, leaves, most), leaves },
                               .parents = { 1, def->spines },
                               .cables = { 1, def->uplinks / def->spines },
                               .leaves = leaves };
    return topology_add_tree(t, &shape, def->tier, NULL, where, error);
}
