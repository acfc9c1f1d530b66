// SPDX-License-Identifier: GPL-3.0-or-later
// Paths in a list of cables: every hop is one of the links that lead nearer, by the table of distances between switches.
#include "models/network/routing_internal.h"
#include "sim/check.h"

typedef struct list_walk {
    const topology *t;
    const fabric_state *state; // NULL: nothing is avoided
    const uint8_t *distance;
    vertex_id to;
    const link_id *to_links; // cables of the receiver, among its outgoing links
    uint32_t to_count;
} list_walk;

// Links from a switch to the receiver over switches; LIST_FAR: none.
static uint32_t distance_of(const list_walk *w, vertex_id v)
{
    const topology_list *list = &w->t->list;
    const uint8_t *row = w->distance + (size_t)(v - list->first_switch) * list->switches;
    uint32_t least = LIST_FAR;
    for (uint32_t i = 0; i < w->to_count; i++) {
        const topology_link *cable = &w->t->links.items[w->to_links[i]];
        if (cable->to < list->first_switch || routing_avoids(w->state, topology_link_back(w->to_links[i])))
            continue;
        const uint32_t far = row[cable->to - list->first_switch];
        if (far != LIST_FAR && far + 1 < least) least = far + 1;
    }
    return least;
}

// How far the receiver is behind a link; LIST_FAR: the link does not lead there.
static uint32_t distance_behind(const list_walk *w, link_id l)
{
    const topology_link *link = &w->t->links.items[l];
    if (link->class != LINK_NETWORK || routing_avoids(w->state, l)) return LIST_FAR;
    if (link->to == w->to) return 0;
    return link->to < w->t->list.first_switch ? LIST_FAR : distance_of(w, link->to);
}

// The choice-th of the links from v that lead as near as any; their count in *equal. NO_ID: none leads there.
static link_id best_link(const list_walk *w, vertex_id v, uint32_t choice, uint32_t *equal)
{
    uint32_t count, least = LIST_FAR;
    const link_id *out = topology_outgoing(w->t, v, &count);
    link_id found = NO_ID;
    *equal = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t far = distance_behind(w, out[i]);
        if (far == LIST_FAR || far > least) continue;
        if (far < least) *equal = 0;
        least = far;
        if ((*equal)++ <= choice) found = out[i];
    }
    return found;
}

uint32_t route_list(const topology *t, const fabric_state *state, const route_key *key, uint32_t *path)
{
    list_walk w = { .t = t,
                    .state = state && state->avoided_count > 0 ? state : NULL,
                    .distance = state ? state->distance : t->list.distance,
                    .to = t->nics.items[key->to].vertex };
    w.to_links = topology_outgoing(t, w.to, &w.to_count);
    vertex_id at = t->nics.items[key->from].vertex;
    uint32_t links = 0, equal;
    while (at != w.to) {
        if (best_link(&w, at, 0, &equal) == NO_ID || links == LIST_HOPS_MAX + 2) return ROUTE_NONE;
        const uint32_t choice = t->policy.routing == ROUTING_ECMP ? routing_pick(key->hash, links, equal)
                                                                  : key->to % equal;
        path[links] = best_link(&w, at, choice, &equal);
        at = t->links.items[path[links++]].to;
    }
    return links;
}
