// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/network/fabric_state_internal.h"
#include "models/network/topology_internal.h"
#include "sim/check.h"
#include <math.h>
#include <string.h>

fabric_state *fabric_state_create(arena *a, const topology *t)
{
    SIM_ASSERT(t->sealed);
    fabric_state *s = arena_new(a, fabric_state);
    const uint32_t links = t->links.count;
    s->topology = t;
    s->rates_mBps = arena_array(a, uint64_t, links);
    s->down = arena_array(a, uint8_t, links);
    s->avoided = arena_array(a, uint8_t, links);
    for (link_id l = 0; l < links; l++)
        s->rates_mBps[l] = t->links.items[l].rate_mBps;
    if (t->shape != SHAPE_LIST) return s;
    const size_t pairs = (size_t)t->list.switches * t->list.switches;
    s->distance = arena_array(a, uint8_t, pairs);
    memcpy(s->distance, t->list.distance, pairs);
    return s;
}

const topology *fabric_state_topology(const fabric_state *s)
{
    return s->topology;
}

void fabric_set_up(fabric_state *s, link_id l, bool up)
{
    SIM_ASSERT(l < s->topology->links.count);
    if (s->down[l] == !up) return;
    s->down[l] = !up;
    s->down_count = up ? s->down_count - 1 : s->down_count + 1;
}

void fabric_set_avoided(fabric_state *s, link_id l, bool avoided)
{
    SIM_ASSERT(l < s->topology->links.count);
    if ((bool)s->avoided[l] == avoided) return;
    s->avoided[l] = avoided;
    s->avoided_count = avoided ? s->avoided_count + 1 : s->avoided_count - 1;
    if (s->distance) list_fill_distances(s->topology, s->avoided, s->distance);
}

void fabric_set_rate_ratio(fabric_state *s, link_id l, double ratio)
{
    SIM_ASSERT(l < s->topology->links.count && ratio >= 0.0);
    const double rate_mBps = (double)s->topology->links.items[l].rate_mBps * ratio;
    SIM_ASSERT(rate_mBps < 0x1p62);
    s->rates_mBps[l] = (uint64_t)llround(rate_mBps);
}

bool fabric_is_up(const fabric_state *s, link_id l)
{
    SIM_ASSERT(l < s->topology->links.count);
    return !s->down[l];
}

bool fabric_is_avoided(const fabric_state *s, link_id l)
{
    SIM_ASSERT(l < s->topology->links.count);
    return s->avoided[l];
}

uint32_t fabric_avoided_count(const fabric_state *s)
{
    return s->avoided_count;
}

uint32_t fabric_down_count(const fabric_state *s)
{
    return s->down_count;
}

uint64_t fabric_capacity_mBps(const fabric_state *s, uint32_t link_or_bundle)
{
    if (link_or_bundle < s->topology->links.count)
        return s->down[link_or_bundle] ? 0 : s->rates_mBps[link_or_bundle];
    const bundle_members m = topology_bundle_members(s->topology, link_or_bundle);
    unsigned __int128 sum = 0;
    for (uint32_t i = 0; i < m.count; i++) {
        const link_id l = m.first + 2 * i;
        if (!s->down[l]) sum += s->rates_mBps[l];
    }
    return (uint64_t)(sum * m.ratio_ppm / 1000000);
}
