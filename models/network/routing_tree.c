// SPDX-License-Identifier: GPL-3.0-or-later
// Paths in a tree of switches (topology_tree in topology_internal.h): up to the first level that serves both ends, then down.
#include "models/network/routing_internal.h"
#include "sim/check.h"

// Numbers of the choices that a hash decides: ports up from level l, ports tried after the first, cables down to level l.
enum { PICK_UP = 0, PICK_AGAIN = 8, PICK_DOWN = 16 };

typedef struct tree_walk {
    const topology_tree *tree;
    const fabric_state *state;
    const route_key *key;
    uint32_t from_slot, to_slot;
    uint32_t top; // level at which it turns
    bool ecmp, adaptive;
    uint32_t *path; // 2 top links
} tree_walk;

// Of a link between levels l and l + 1. Adaptive switches learn at once which links of a bundle are dead; all else waits for
// routing to converge.
static bool is_shut(const tree_walk *w, uint32_t l, link_id link)
{
    if (!w->state) return false;
    return w->adaptive && l > 0 ? w->state->down[link] : w->state->avoided[link];
}

// Number of the vertex of level l that serves a slot, in a plane.
static uint32_t vertex_number(const topology_tree *tree, uint32_t l, nic_id nic, uint32_t slot,
                              uint32_t plane)
{
    return l == 0 ? nic : slot / tree->span[l] * tree->planes[l] + plane;
}

static link_id link_up(const tree_walk *w, uint32_t l, uint32_t plane, uint32_t port)
{
    const uint32_t x = vertex_number(w->tree, l, w->key->from, w->from_slot, plane);
    return w->tree->first_link[l] + 2 * (x * w->tree->ports[l + 1] + port);
}

static link_id link_down(const tree_walk *w, uint32_t l, uint32_t plane, uint32_t port)
{
    const uint32_t x = vertex_number(w->tree, l, w->key->to, w->to_slot, plane);
    return w->tree->first_link[l] + 2 * (x * w->tree->ports[l + 1] + port) + 1;
}

// The k-th port to try from level l up; 0 is the one it takes while nothing is avoided.
static uint32_t port_up(const tree_walk *w, uint32_t l, uint32_t k)
{
    const uint32_t ports = w->tree->ports[l + 1];
    if (!w->ecmp) return (w->to_slot / w->tree->planes[l] + k) % ports;
    if (k == 0) return routing_pick(w->key->hash, PICK_UP + l, ports);
    return (routing_pick(w->key->hash, PICK_AGAIN + l, ports) + k - 1) % ports;
}

// Likewise the k-th of the parallel cables down to level l.
static uint32_t cable_down(const tree_walk *w, uint32_t l, uint32_t k)
{
    const uint32_t cables = w->tree->cables[l + 1];
    if (cables == 1) return 0;
    if (!w->ecmp) return (w->to_slot / w->tree->planes[l + 1] + k) % cables;
    return (routing_pick(w->key->hash, PICK_DOWN + l, cables) + k) % cables;
}

// From the top switch in this plane down to the receiver; false where every cable of a hop is avoided.
static bool descend(const tree_walk *w, uint32_t plane)
{
    const topology_tree *tree = w->tree;
    for (uint32_t l = w->top; l-- > 0;) {
        const uint32_t below = plane % tree->planes[l], parent = plane / tree->planes[l];
        uint32_t k = 0;
        link_id link;
        do {
            if (k == tree->cables[l + 1]) return false;
            link = link_down(w, l, below, parent + cable_down(w, l, k++) * tree->parents[l + 1]);
        } while (is_shut(w, l, link));
        w->path[2 * w->top - 1 - l] = link;
        plane = below;
    }
    return true;
}

// From the switch of level l in this plane up and down; tries ports in order while links are avoided.
static bool climb(const tree_walk *w, uint32_t l, uint32_t plane)
{
    if (l == w->top) return descend(w, plane);
    SIM_ASSERT(l < TIERS_MAX); // no tree is higher, so the recursion ends
    const topology_tree *tree = w->tree;
    const uint32_t ports = tree->ports[l + 1];
    const uint32_t tries = w->ecmp ? ports + 1 : ports; // the first may come again
    for (uint32_t k = 0; k < tries; k++) {
        const uint32_t port = port_up(w, l, k);
        const link_id link = link_up(w, l, plane, port);
        if (is_shut(w, l, link)) continue;
        w->path[l] = link;
        if (climb(w, l + 1, plane + port % tree->parents[l + 1] * tree->planes[l])) return true;
    }
    return false;
}

// Adaptive: the NIC's cable, bundles up and down, the receiver's cable. Bundles are what may differ in a path, so they stand
// as long as one path through them is live.
static uint32_t name_bundles(const topology *t, const tree_walk *w)
{
    const topology_tree *tree = w->tree;
    const uint32_t last = 2 * w->top - 1, base = t->links.count;
    for (uint32_t l = 1; l < w->top; l++) {
        w->path[l] = base + tree->first_bundle[l] + 2 * (w->from_slot / tree->span[l]);
        w->path[last - l] = base + tree->first_bundle[l] + 2 * (w->to_slot / tree->span[l]) + 1;
    }
    return last + 1;
}

uint32_t route_tree(const topology *t, const fabric_state *state, const route_key *key, uint32_t *path)
{
    const topology_tree *tree = &t->tree;
    tree_walk w = { .tree = tree,
                    .state = state && (state->avoided_count > 0 || state->down_count > 0) ? state : NULL,
                    .key = key,
                    .from_slot = t->nics.items[key->from].slot,
                    .to_slot = t->nics.items[key->to].slot,
                    .top = 1,
                    .ecmp = t->policy.routing == ROUTING_ECMP,
                    .adaptive = t->policy.routing == ROUTING_ADAPTIVE,
                    .path = path };
    while (w.from_slot / tree->span[w.top] != w.to_slot / tree->span[w.top])
        if (++w.top > tree->levels) return ROUTE_NONE; // rails apart
    if (!climb(&w, 0, 0)) return ROUTE_NONE;
    return w.adaptive && !key->single ? name_bundles(t, &w) : 2 * w.top;
}
