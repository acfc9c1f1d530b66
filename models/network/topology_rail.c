// SPDX-License-Identifier: GPL-3.0-or-later
// Rails: NIC r of every node of a group on leaf r of the group, so that GPUs of one number meet at one switch.
// NVIDIA: "DGX SuperPOD reference architecture" (rail-optimized); Wang, Ghobadi, Shakeri, Zhang, Hasani: "Rail-only: a
// low-cost high-performance network for training LLMs with trillion parameters", 2023.
#include "models/network/topology_internal.h"
#include <inttypes.h>
#include <math.h>

static uint32_t most_nics(const topology *t)
{
    uint32_t most = 0;
    for (node_id n = 0; n < t->nodes.count; n++)
        if (t->nodes.items[n].nics > most) most = t->nodes.items[n].nics;
    return most;
}

// NIC r of node n sits at place n mod group of leaf (n / group) rails + r.
static uint32_t *slots_by_rail(const topology *t, uint32_t rails, uint32_t group)
{
    uint32_t *slots = arena_array(t->arena, uint32_t, t->nics.count);
    for (node_id n = 0; n < t->nodes.count; n++)
        for (uint32_t r = 0; r < t->nodes.items[n].nics; r++)
            slots[t->nodes.items[n].nic_base + r] = (n / group * rails + r) * group + n % group;
    return slots;
}

static bool add_rails(topology *t, const tree_shape *shape, const fabric_tier *tiers, uint32_t rails,
                      const fabric_places *where, sim_error *error)
{
    if ((uint64_t)shape->leaves * shape->children[0] > UINT32_MAX / 2) {
        sim_fail(error, SIM_EXIT_INPUT, where->at[FABRIC_GROUP],
                 "the groups are too large for so many nodes");
        return sim_hint(error, "a smaller group");
    }
    return topology_add_tree(t, shape, tiers, slots_by_rail(t, rails, shape->children[0]), where, error);
}

bool topology_add_rail_optimized(topology *t, const rail_def *def, const fabric_places *where,
                                 sim_error *error)
{
    const fabric_tier *leaf = &def->tree.tier[0];
    const uint32_t nodes = t->nodes.count, rails = most_nics(t);
    uint32_t down, up;
    if (!topology_check_nics(t, where, error)) return false;
    if (!tree_split_ports(leaf->ports, def->tree.oversubscription[0], &down, &up)) {
        sim_fail(error, SIM_EXIT_INPUT, where->at[FABRIC_OVERSUBSCRIPTION],
                 "the %" PRIu32 " ports of switch \"%s\" do not suffice for both NICs and spines",
                 leaf->ports, leaf->name);
        return sim_hint(error, "a switch with more ports, or less oversubscription");
    }
    if (def->group_nodes > down) {
        sim_fail(error, SIM_EXIT_INPUT, where->at[FABRIC_GROUP],
                 "leaf \"%s\" has %" PRIu32 " ports for nodes, but a group has %" PRIu32, leaf->name, down,
                 def->group_nodes);
        return sim_hint(error, "group: %" PRIu32, down);
    }
    if (rails == 0) return true;
    const uint32_t group = def->group_nodes ? def->group_nodes : nodes < down ? nodes : down;
    // A leaf that has fewer nodes than ports for them needs fewer uplinks.
    const double needed = ceil((double)group / def->tree.oversubscription[0] - 1e-9);
    if (needed < up) up = (uint32_t)needed;
    tree_shape shape = { .children = { group }, .parents = { 1 }, .cables = { 1 } };
    shape.leaves = (nodes + group - 1) / group * rails;
    return tree_plan_upper_tiers(t, &def->tree, up, rails, where, &shape, error) &&
           add_rails(t, &shape, def->tree.tier, rails, where, error);
}

// Another rail is reached through the node's own links, so every node needs them, and a NIC for every rail.
static bool check_rail_nodes(const topology *t, uint32_t rails, const fabric_places *where, sim_error *error)
{
    for (node_id n = 0; n < t->nodes.count; n++) {
        const topology_node *node = &t->nodes.items[n];
        if (node->nics != rails) {
            sim_fail(error, SIM_EXIT_INPUT, where->at[FABRIC_TOPOLOGY],
                     "node %" PRIu32 " has %" PRIu32 " NICs, but there are %" PRIu32
                     " rails that nothing else joins",
                     n, node->nics, rails);
            return sim_hint(error, "topology: rail-optimized, or as many NICs in every node");
        }
        for (uint32_t r = 0; rails > 1 && r < rails; r++) {
            if (t->nics.items[node->nic_base + r].gpu != NO_ID && node->scale_up != WIRING_NONE) continue;
            sim_fail(error, SIM_EXIT_INPUT, where->at[FABRIC_TOPOLOGY],
                     "NIC %" PRIu32 " of node %" PRIu32
                     " serves no GPU that others reach inside the node, so its rail is cut off",
                     r, n);
            return sim_hint(error, "topology: rail-optimized, or one NIC");
        }
    }
    return true;
}

bool topology_add_rail_only(topology *t, const fabric_tier *leaf, const fabric_places *where,
                            sim_error *error)
{
    const uint32_t nodes = t->nodes.count, rails = most_nics(t);
    if (!topology_check_nics(t, where, error) || !check_rail_nodes(t, rails, where, error)) return false;
    if (leaf->ports > 0 && nodes > leaf->ports) {
        sim_fail(error, SIM_EXIT_INPUT, where->at[FABRIC_NODES],
                 "%" PRIu32 " nodes do not fit the %" PRIu32 " ports of a rail's switch \"%s\"", nodes,
                 leaf->ports, leaf->name);
        return sim_hint(error, "at most %" PRIu32 " nodes, or topology: rail-optimized", leaf->ports);
    }
    if (rails == 0) return true;
    const tree_shape shape = {
        .tiers = 1, .children = { nodes }, .parents = { 1 }, .cables = { 1 }, .leaves = rails
    };
    t->rails_apart = rails > 1;
    return add_rails(t, &shape, leaf, rails, where, error);
}
