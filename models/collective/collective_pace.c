// SPDX-License-Identifier: GPL-3.0-or-later
// Which link sets the pace of a group: the one that takes longest for what the group's rings carry over it, each ring the same
// on every hop. Names a culprit; of times only how much it adds to one.
#include "models/collective/collective_internal.h"

typedef struct pace_search {
    const topology *topology;
    uint32_t *crossings; // by link or bundle; all 0 between searches
    uint32_t slowest;    // NO_ID: nothing has been crossed yet
} pace_search;

static bool is_slower(const pace_search *s, uint32_t link)
{
    if (s->slowest == NO_ID) return true;
    const unsigned __int128 mine = (unsigned __int128)s->crossings[link] *
                                   topology_rate_mBps(s->topology, s->slowest),
                            best = (unsigned __int128)s->crossings[s->slowest] *
                                   topology_rate_mBps(s->topology, link);
    return mine > best || (mine == best && link < s->slowest);
}

typedef enum pace_pass { PACE_COUNT, PACE_SEARCH, PACE_RESET, PACE_PASSES } pace_pass;

static void look_at(pace_search *s, vertex_id from, vertex_id to, pace_pass pass)
{
    uint32_t path[TOPOLOGY_PATH_MAX];
    const uint32_t links = topology_route(s->topology, from, to, path);
    for (uint32_t i = 0; i < links; i++)
        if (pass == PACE_COUNT)
            s->crossings[path[i]]++;
        else if (pass == PACE_RESET)
            s->crossings[path[i]] = 0;
        else
            s->slowest = is_slower(s, path[i]) ? path[i] : s->slowest;
}

static void look_at_rings(pace_search *s, const ring_set *rings, const vertex_id *members, pace_pass pass)
{
    for (uint32_t r = 0; r < rings->count; r++)
        for (uint32_t i = 0; i < rings->ranks; i++) {
            const uint32_t *order = &rings->orders[(size_t)r * rings->ranks];
            look_at(s, members[order[i]], members[order[(i + 1) % rings->ranks]], pass);
        }
}

// A large buffer, whose time is that of the running loops; between two members a send.
static double healthy_ratio_of(collectives *c, group_id g)
{
    enum { SIZE_BYTES = 1 << 30 };
    const group *own = &c->groups.items[g];
    const collective_library *library = c->options.library;
    const collective_kind kind = own->def.count == 2 ? COLLECTIVE_SEND_RECV : COLLECTIVE_ALL_REDUCE;
    const collective_layout layouts[] = {
        group_layout(network_topology(c->network), c->options.hardware,
                     plan_cache_rings(c->plans, own->rings), own->def.members, LAYOUT_HEALTHY),
        *group_layout_of(c, g),
    };
    const collective_algorithm usual = plan_usual_algorithm(kind);
    double times[ARRAY_COUNT(layouts)];
    for (size_t i = 0; i < ARRAY_COUNT(layouts); i++) {
        const collective_pace pace = pace_of(library, &layouts[i], kind, usual, PROTOCOL_SIMPLE, SIZE_BYTES);
        times[i] = (double)pace_time_ps(&pace);
    }
    return times[0] < times[1] ? times[0] / times[1] : 1.0;
}

link_id collectives_slowest_link(collectives *c, group_id g, double *healthy_ratio)
{
    const group *own = &c->groups.items[g];
    const topology *t = network_topology(c->network);
    *healthy_ratio = 1.0;
    if (own->def.count == 1) return NO_ID;
    if (!c->crossings)
        c->crossings = arena_array(c->arena, uint32_t, topology_link_count(t) + topology_bundle_count(t));
    pace_search s = { .topology = t, .crossings = c->crossings, .slowest = NO_ID };
    for (int pass = 0; pass < PACE_PASSES; pass++)
        look_at_rings(&s, plan_cache_rings(c->plans, own->rings), own->def.members, (pace_pass)pass);
    if (s.slowest >= topology_link_count(t)) return NO_ID;
    if (topology_link_at(t, s.slowest)->health_ratio < 1.0) *healthy_ratio = healthy_ratio_of(c, g);
    return s.slowest;
}
