// SPDX-License-Identifier: GPL-3.0-or-later
// Fat trees: from the ports of switches and an oversubscription, or from their definition as a generalised tree.
#include "models/network/topology_internal.h"
#include <inttypes.h>

static bool refuse_ports(const fabric_tier *box, const char *what, const fabric_places *where,
                         sim_error *error)
{
    sim_fail(error, SIM_EXIT_INPUT, where->at[FABRIC_OVERSUBSCRIPTION],
             "the %" PRIu32 " ports of switch \"%s\" do not suffice for %s", box->ports, box->name, what);
    return sim_hint(error, "a switch with more ports, or less oversubscription");
}

bool topology_add_fat_tree(topology *t, const fat_tree_def *def, const fabric_places *where, sim_error *error)
{
    uint32_t down, up;
    if (!topology_check_nics(t, where, error)) return false;
    if (!tree_split_ports(def->tier[0].ports, def->oversubscription[0], &down, &up))
        return refuse_ports(&def->tier[0], "both NICs and spines", where, error);
    const uint32_t nics = t->nics.count;
    if (nics == 0) return true;
    tree_shape shape = { .children = { down }, .parents = { 1 }, .cables = { 1 } };
    shape.leaves = (nics + down - 1) / down;
    return tree_plan_upper_tiers(t, def, up, 1, where, &shape, error) &&
           topology_add_tree(t, &shape, def->tier, NULL, where, error);
}

// The ports that a switch of each tier needs, against those it has.
static bool check_xgft_ports(const xgft_def *def, const fabric_places *where, sim_error *error)
{
    static const char *const tiers[] = { "leaf", "spine", "core" };
    for (uint32_t l = 0; l < def->tiers; l++) {
        const fabric_tier *box = &def->tier[l];
        uint64_t needed = (uint64_t)def->children[l] * def->cables[l];
        if (l + 1 < def->tiers) needed += (uint64_t)def->parents[l + 1] * def->cables[l + 1];
        if (box->ports == 0 || needed <= box->ports) continue;
        sim_fail(error, SIM_EXIT_INPUT, where->at[FABRIC_XGFT],
                 "a %s of this tree needs %" PRIu64 " ports, but switch \"%s\" has %" PRIu32, tiers[l],
                 needed, box->name, box->ports);
        return sim_hint(error, "m x p of its tier plus w x p of the next: at most %" PRIu32, box->ports);
    }
    return true;
}

bool topology_add_xgft(topology *t, const xgft_def *def, const fabric_places *where, sim_error *error)
{
    if (!topology_check_nics(t, where, error) || !check_xgft_ports(def, where, error)) return false;
    const uint32_t nics = t->nics.count;
    uint64_t places = 1;
    tree_shape shape = { .tiers = def->tiers };
    for (uint32_t l = 0; l < def->tiers; l++) {
        shape.children[l] = def->children[l];
        shape.parents[l] = def->parents[l];
        shape.cables[l] = def->cables[l];
        if (places <= UINT32_MAX) places *= def->children[l];
    }
    if (nics > places) {
        sim_fail(error, SIM_EXIT_INPUT, where->at[FABRIC_XGFT],
                 "this tree has places for %" PRIu64 " NICs, but there are %" PRIu32, places, nics);
        return sim_hint(error, "at most %" PRIu64 " NICs, or greater numbers in m", places);
    }
    if (nics == 0) return true;
    shape.leaves = (nics - 1) / def->children[0] + 1;
    return topology_add_tree(t, &shape, def->tier, NULL, where, error);
}
