// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/network/topology_facts.h"
#include "models/network/topology_internal.h"
#include "sim/check.h"

// ---- tiers

// Rates of the links up from the switches of group g of level l.
static uint64_t group_rate_up(const topology *t, uint32_t l, uint32_t g)
{
    const topology_tree *tree = &t->tree;
    const uint32_t links = tree->planes[l] * tree->ports[l + 1];
    uint64_t sum = 0;
    for (uint32_t i = 0; i < links; i++)
        sum += t->links.items[tree->first_link[l] + 2 * (g * links + i)].rate_mBps;
    return sum;
}

// Rates of the links up into group g of level l from below: from NICs, by their slots, or from groups.
static void add_rates_below(const topology *t, uint32_t l, uint64_t *sums)
{
    const topology_tree *tree = &t->tree;
    if (l > 1) {
        const uint32_t children = tree->span[l] / tree->span[l - 1];
        for (uint32_t g = 0; g < tree->groups[l - 1]; g++)
            sums[g / children] += group_rate_up(t, l - 1, g);
        return;
    }
    for (nic_id n = 0; n < t->nics.count; n++)
        for (uint32_t q = 0; q < tree->ports[1]; q++)
            sums[t->nics.items[n].slot / tree->span[1]] +=
                t->links.items[tree->first_link[0] + 2 * (n * tree->ports[1] + q)].rate_mBps;
}

static void fill_tree_tier(arena *a, const topology *t, uint32_t l, tier_facts *tier)
{
    const topology_tree *tree = &t->tree;
    uint64_t *below = arena_array(a, uint64_t, tree->groups[l]);
    add_rates_below(t, l, below);
    for (uint32_t g = 0; g < tree->groups[l] && l < tree->levels; g++) {
        const double ratio = (double)below[g] / (double)group_rate_up(t, l, g);
        if (ratio > tier->oversubscription) tier->oversubscription = ratio;
    }
}

static void count_ports(const topology *t, topology_facts *f)
{
    for (vertex_id v = 0; v < t->vertices.count; v++) {
        const topology_vertex *vertex = &t->vertices.items[v];
        if (vertex->kind < VERTEX_LEAF) continue;
        tier_facts *tier = &f->tier[vertex->kind - VERTEX_LEAF];
        uint32_t count, up = 0;
        const link_id *out = topology_outgoing(t, v, &count);
        for (uint32_t i = 0; i < count; i++)
            up += t->vertices.items[t->links.items[out[i]].to].kind > vertex->kind;
        tier->switches++;
        if (count - up > tier->ports_down) tier->ports_down = count - up;
        if (up > tier->ports_up) tier->ports_up = up;
        if (vertex->kind - VERTEX_LEAF + 1u > f->tiers) f->tiers = vertex->kind - VERTEX_LEAF + 1u;
    }
}

// ---- bisection

// The NICs of nodes before the cut; of one node, its first ones.
static void mark_first_half(const topology *t, bool *first)
{
    const uint32_t nics = t->nics.count;
    uint32_t taken = 0;
    if (t->nodes.count == 1) {
        for (nic_id n = 0; n < nics / 2; n++)
            first[n] = true;
        return;
    }
    for (node_id n = 0; n + 1 < t->nodes.count && 2 * (taken + t->nodes.items[n].nics) <= nics; n++) {
        for (uint32_t i = 0; i < t->nodes.items[n].nics; i++)
            first[taken + i] = true;
        taken += t->nodes.items[n].nics;
    }
}

typedef struct
    cut_cost { // of the cheapest cut below, if this part is on the side of the senders, of the receivers
    uint64_t sender, receiver;
} cut_cost;

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

// A part below hangs on its parent by links of this rate each way: the cut takes those that lead from sender to receiver.
static void hang(cut_cost *parent, cut_cost below, uint64_t rate_mBps)
{
    parent->sender += lesser(below.sender, below.receiver + rate_mBps);
    parent->receiver += lesser(below.receiver, below.sender + rate_mBps);
}

// The least cut of the tree in which a group of switches is one part; NICs are on the side they were dealt.
static uint64_t least_cut(arena *a, const topology *t, const bool *first)
{
    const topology_tree *tree = &t->tree;
    const uint64_t never = UINT64_MAX / 4;
    cut_cost *below = arena_array(a, cut_cost, tree->groups[1]);
    for (nic_id n = 0; n < t->nics.count; n++) {
        uint64_t rate_mBps = 0;
        for (uint32_t q = 0; q < tree->ports[1]; q++)
            rate_mBps += t->links.items[tree->first_link[0] + 2 * (n * tree->ports[1] + q)].rate_mBps;
        hang(&below[t->nics.items[n].slot / tree->span[1]],
             (cut_cost){ .sender = first[n] ? 0 : never, .receiver = first[n] ? never : 0 }, rate_mBps);
    }
    for (uint32_t l = 1; l < tree->levels; l++) {
        const uint32_t children = tree->span[l + 1] / tree->span[l];
        cut_cost *above = arena_array(a, cut_cost, tree->groups[l + 1]);
        for (uint32_t g = 0; g < tree->groups[l]; g++)
            hang(&above[g / children], below[g], group_rate_up(t, l, g));
        below = above;
    }
    uint64_t cut = 0; // of several roots, which rails have, each is cut by itself
    for (uint32_t g = 0; g < tree->groups[tree->levels]; g++)
        cut += lesser(below[g].sender, below[g].receiver);
    return cut;
}

static void fill_bisection(arena *a, const topology *t, topology_facts *f)
{
    if (t->shape != SHAPE_TREE || t->nics.count < 2) return;
    const topology_tree *tree = &t->tree;
    bool *first = arena_array(a, bool, t->nics.count);
    uint64_t rates[2] = { 0 };
    mark_first_half(t, first);
    for (nic_id n = 0; n < t->nics.count; n++)
        for (uint32_t q = 0; q < tree->ports[1]; q++)
            rates[first[n]] += t->links.items[tree->first_link[0] + 2 * (n * tree->ports[1] + q)].rate_mBps;
    f->has_bisection = true;
    f->bisection_mBps = least_cut(a, t, first);
    const uint64_t most = lesser(rates[0], rates[1]);
    f->bisection_ratio = most ? (double)f->bisection_mBps / (double)most : 0.0;
}

// ---- diameter

// In a tree, the highest level at which two NICs meet; they turn round there.
static uint32_t tree_diameter(const topology *t)
{
    const topology_tree *tree = &t->tree;
    for (uint32_t l = tree->levels; l > 0; l--) {
        // Two NICs meet at level l, and not below, if some group of it has NICs in two groups below.
        for (nic_id n = 1; n < t->nics.count; n++) {
            const uint32_t a = t->nics.items[n - 1].slot, b = t->nics.items[n].slot;
            if (a / tree->span[l] == b / tree->span[l] && a / tree->span[l - 1] != b / tree->span[l - 1])
                return 2 * l;
        }
    }
    // Neighbours in number never met: rails, where those of one rail do.
    return t->rails_apart && t->nodes.count > 1 ? 2 : 0;
}

static uint32_t list_diameter(const topology *t)
{
    uint32_t most = 0;
    const topology_list *list = &t->list;
    for (uint32_t i = 0; i < list->switches; i++)
        for (uint32_t j = 0; j < list->switches; j++) {
            const uint8_t hops = list->distance[(size_t)i * list->switches + j];
            if (hops != LIST_FAR && hops + 2u > most) most = hops + 2u;
        }
    return most ? most : t->nics.count > 1; // no switch at all: one cable
}

topology_facts topology_facts_of(arena *a, const topology *t)
{
    SIM_ASSERT(t->sealed);
    const arena_mark_t mark = arena_mark(a);
    topology_facts f = { 0 };
    for (link_id l = 0; l < t->links.count; l++)
        f.links[t->links.items[l].class]++;
    count_ports(t, &f);
    if (t->shape == SHAPE_TREE) {
        for (uint32_t l = 1; l <= t->tree.levels; l++)
            fill_tree_tier(a, t, l, &f.tier[l - 1]);
        f.diameter = tree_diameter(t);
    }
    if (t->shape == SHAPE_LIST) f.diameter = list_diameter(t);
    fill_bisection(a, t, &f);
    arena_release(a, mark);
    return f;
}
