// SPDX-License-Identifier: GPL-3.0-or-later
// Trees of switches: what single switches, fat trees, spines and leaves and rails have in common. topology_internal.h says
// how vertices and links are numbered; routing_tree.c counts on it.
#include "models/network/topology_internal.h"
#include "sim/check.h"
#include <inttypes.h>

bool topology_check_nics(const topology *t, const fabric_places *where, sim_error *error)
{
    const uint32_t nodes = t->nodes.count;
    for (node_id n = 0; nodes > 1 && n < nodes; n++) {
        if (t->nodes.items[n].nics > 0) continue;
        sim_fail(error, SIM_EXIT_INPUT, where->at[FABRIC_NODES],
                 "node %" PRIu32 " has no NIC, so it cannot reach the other %" PRIu32 " nodes", n, nodes - 1);
        return sim_hint(error, "give the node at least one NIC, or use one node");
    }
    return true;
}

bool tree_split_ports(uint32_t ports, double oversubscription, uint32_t *down, uint32_t *up)
{
    // A ratio such as 1.4 = 7 / 5 is not exact in binary: what misses a whole number by rounding alone counts as it.
    const double most = (double)ports / (1.0 + oversubscription) + 1e-9;
    *up = (uint32_t)most;
    const double below = *up * oversubscription + 1e-9;
    *down = below < ports - *up ? (uint32_t)below : ports - *up;
    return *up > 0 && *down > 0;
}

uint32_t tree_fewest_parents(uint32_t below, uint32_t uplinks, uint32_t ports)
{
    for (uint32_t parents = 1; parents <= uplinks; parents++)
        if (uplinks % parents == 0 && (ports == 0 || (uint64_t)below * (uplinks / parents) <= ports))
            return parents;
    return 0;
}

static bool refuse_tier(const topology *t, const fat_tree_def *def, uint32_t tier, uint64_t nics,
                        const fabric_places *where, sim_error *error)
{
    static const char *const below[] = { NULL, "leaves", "pods" };
    const fabric_tier *box = &def->tier[tier];
    sim_fail(error, SIM_EXIT_INPUT, where->at[FABRIC_NODES],
             "%" PRIu32 " NICs need more %s than a switch \"%s\" above them has ports (%" PRIu32 ")",
             t->nics.count, below[tier], box->name, box->ports);
    return sim_hint(error, "at most %" PRIu64 " NICs%s", nics,
                    tier == 1 ? ", tiers: 3, or more oversubscription" : ", or more oversubscription");
}

bool tree_plan_upper_tiers(const topology *t, const fat_tree_def *def, uint32_t uplinks,
                           uint32_t pod_multiple, const fabric_places *where, tree_shape *shape,
                           sim_error *error)
{
    const fabric_tier *spine = &def->tier[1], *core = &def->tier[2];
    const uint32_t leaves = shape->leaves;
    const uint32_t spines = tree_fewest_parents(leaves, uplinks, spine->ports);
    shape->tiers = def->tiers ? def->tiers : leaves == 1 ? 1 : spines ? 2 : 3;
    if (shape->tiers == 1) return true;
    if (shape->tiers == 2) {
        if (!spines) return refuse_tier(t, def, 1, (uint64_t)spine->ports * shape->children[0], where, error);
        shape->parents[1] = spines;
        shape->cables[1] = uplinks / spines;
        shape->children[1] = leaves;
        return true;
    }
    uint32_t down, up;
    if (!tree_split_ports(spine->ports, def->oversubscription[1], &down, &up)) {
        sim_fail(error, SIM_EXIT_INPUT, where->at[FABRIC_OVERSUBSCRIPTION],
                 "the %" PRIu32 " ports of switch \"%s\" do not suffice for both tiers beside the spines",
                 spine->ports, spine->name);
        return sim_hint(error, "a spine_switch with more ports, or less oversubscription");
    }
    if (down > pod_multiple) down -= down % pod_multiple;
    const uint32_t pods = (leaves + down - 1) / down, cores = tree_fewest_parents(pods, up, core->ports);
    if (!cores)
        return refuse_tier(t, def, 2, (uint64_t)core->ports * down * shape->children[0], where, error);
    shape->parents[1] = uplinks;
    shape->cables[1] = 1;
    shape->children[1] = down;
    shape->parents[2] = cores;
    shape->cables[2] = up / cores;
    shape->children[2] = pods;
    return true;
}

// ---- from a shape to vertices and links

// false: more links than a fabric may have.
static bool size_tree(topology_tree *tree, const tree_shape *shape, uint32_t nics)
{
    uint64_t links = 0, span = shape->children[0], planes = 1, groups = shape->leaves;
    tree->levels = shape->tiers;
    tree->span[0] = tree->planes[0] = 1;
    tree->groups[0] = nics;
    for (uint32_t l = 1; l <= shape->tiers; l++) {
        const uint32_t parents = shape->parents[l - 1], cables = shape->cables[l - 1];
        if ((uint64_t)parents * cables > TREE_LINKS_MAX) return false;
        links += 2 * tree->groups[l - 1] * planes * parents * cables;
        planes *= parents;
        if (l > 1) {
            groups = (groups + shape->children[l - 1] - 1) / shape->children[l - 1];
            span *= shape->children[l - 1];
        }
        if (links > TREE_LINKS_MAX || groups * planes > TREE_LINKS_MAX) return false;
        tree->parents[l] = parents;
        tree->cables[l] = cables;
        tree->ports[l] = parents * cables;
        tree->planes[l] = (uint32_t)planes;
        tree->groups[l] = (uint32_t)groups;
        tree->span[l] = span < UINT32_MAX ? (uint32_t)span : UINT32_MAX;
    }
    return true;
}

static void add_switches(topology *t, uint32_t level)
{
    topology_tree *tree = &t->tree;
    const vertex_kind kind = (vertex_kind)(VERTEX_LEAF + level - 1);
    tree->first_vertex[level] = t->vertices.count;
    for (uint32_t x = 0; x < tree->groups[level] * tree->planes[level]; x++)
        topology_add_vertex(t, kind, NO_ID, x);
}

// The cables from a vertex of the level below, which serves slots from `slot` on, up to level l.
static void add_uplinks(topology *t, uint32_t l, vertex_id from, uint32_t slot, uint32_t plane,
                        uint64_t rate_mBps, const fabric_tier *tier)
{
    const topology_tree *tree = &t->tree;
    for (uint32_t q = 0; q < tree->ports[l]; q++) {
        const uint32_t above = plane + q % tree->parents[l] * tree->planes[l - 1];
        const topology_link up = {
            .from = from,
            .to = tree->first_vertex[l] + slot / tree->span[l] * tree->planes[l] + above,
            .class = LINK_NETWORK,
            .rate_mBps = rate_mBps,
            .delay_ps = tier->cable_delay_ps,
        };
        // Port to port is charged on the way in to a switch: here for the switch above; the caller adds that below.
        const link_id there = topology_add_cable(t, &up);
        t->links.items[there].delay_ps += tier->switch_delay_ps;
    }
}

static void add_nic_cables(topology *t, const fabric_tier *leaf)
{
    t->tree.first_link[0] = t->links.count;
    for (nic_id i = 0; i < t->nics.count; i++) {
        const topology_nic *nic = &t->nics.items[i];
        const topology_vertex *vertex = &t->vertices.items[nic->vertex];
        uint64_t rate_mBps = t->nodes.items[vertex->node].nic_rate_mBps;
        if (rate_mBps == 0 || rate_mBps > leaf->port_rate_mBps) rate_mBps = leaf->port_rate_mBps;
        add_uplinks(t, 1, nic->vertex, nic->slot, 0, rate_mBps, leaf);
    }
}

static void add_switch_cables(topology *t, uint32_t level, const fabric_tier *below, const fabric_tier *above)
{
    topology_tree *tree = &t->tree;
    const uint64_t rate_mBps = below->port_rate_mBps < above->port_rate_mBps ? below->port_rate_mBps
                                                                             : above->port_rate_mBps;
    tree->first_link[level] = t->links.count;
    for (uint32_t x = 0; x < tree->groups[level] * tree->planes[level]; x++)
        add_uplinks(t, level + 1, tree->first_vertex[level] + x, x / tree->planes[level] * tree->span[level],
                    x % tree->planes[level], rate_mBps, above);
    for (link_id down = tree->first_link[level] + 1; down < t->links.count; down += 2)
        t->links.items[down].delay_ps += below->switch_delay_ps;
}

bool topology_add_tree(topology *t, const tree_shape *shape, const fabric_tier *tiers, const uint32_t *slots,
                       const fabric_places *where, sim_error *error)
{
    SIM_ASSERT(!t->sealed && t->shape == SHAPE_NO_NETWORK && shape->tiers >= 1 && shape->tiers <= TIERS_MAX);
    if (!size_tree(&t->tree, shape, t->nics.count)) {
        sim_fail(error, SIM_EXIT_INPUT, where->at[FABRIC_TOPOLOGY],
                 "this fabric has more than the %" PRIu64 " links that are built", TREE_LINKS_MAX);
        return sim_hint(error, "fewer nodes, or fewer parallel cables");
    }
    for (nic_id i = 0; i < t->nics.count; i++)
        t->nics.items[i].slot = slots ? slots[i] : i;
    for (uint32_t l = 1; l <= shape->tiers; l++)
        add_switches(t, l);
    add_nic_cables(t, &tiers[0]);
    uint32_t bundles = 0;
    for (uint32_t l = 1; l < shape->tiers; l++) {
        add_switch_cables(t, l, &tiers[l - 1], &tiers[l]);
        t->tree.first_bundle[l] = bundles;
        t->tree.adaptive_ppm[l] = tiers[l - 1].adaptive_ppm;
        bundles += 2 * t->tree.groups[l];
    }
    t->tree.first_bundle[shape->tiers] = bundles;
    t->shape = SHAPE_TREE;
    return true;
}

// ---- bundles

uint32_t topology_bundle_count(const topology *t)
{
    return t->shape == SHAPE_TREE ? t->tree.first_bundle[t->tree.levels] : 0;
}

static uint32_t level_of_bundle(const topology_tree *tree, uint32_t number)
{
    uint32_t level = 1;
    while (number >= tree->first_bundle[level + 1])
        level++;
    return level;
}

bundle_members topology_bundle_members(const topology *t, uint32_t bundle)
{
    const topology_tree *tree = &t->tree;
    SIM_ASSERT(bundle >= t->links.count && bundle - t->links.count < topology_bundle_count(t));
    const uint32_t number = bundle - t->links.count, level = level_of_bundle(tree, number);
    const uint32_t within = number - tree->first_bundle[level];
    const uint32_t count = tree->planes[level] * tree->ports[level + 1];
    return (bundle_members){ .first = tree->first_link[level] + 2 * (within / 2 * count) + within % 2,
                             .count = count,
                             .ratio_ppm = tree->adaptive_ppm[level] };
}

uint32_t topology_bundle_of_link(const topology *t, link_id l)
{
    const topology_tree *tree = &t->tree;
    SIM_ASSERT(l < t->links.count);
    if (topology_bundle_count(t) == 0 || l < tree->first_link[1]) return NO_ID;
    uint32_t level = tree->levels - 1;
    while (l < tree->first_link[level])
        level--;
    const uint32_t count = tree->planes[level] * tree->ports[level + 1], at = l - tree->first_link[level];
    return t->links.count + tree->first_bundle[level] + 2 * (at / 2 / count) + at % 2;
}

uint64_t tree_bundle_rate_mBps(const topology *t, uint32_t bundle)
{
    const bundle_members m = topology_bundle_members(t, bundle);
    unsigned __int128 sum = 0;
    for (uint32_t i = 0; i < m.count; i++)
        sum += t->links.items[m.first + 2 * i].rate_mBps;
    return (uint64_t)(sum * m.ratio_ppm / 1000000);
}

uint64_t topology_rate_mBps(const topology *t, uint32_t link_or_bundle)
{
    if (link_or_bundle < t->links.count) return t->links.items[link_or_bundle].rate_mBps;
    SIM_ASSERT(t->sealed && link_or_bundle - t->links.count < topology_bundle_count(t));
    return t->bundle_rates_mBps[link_or_bundle - t->links.count];
}
