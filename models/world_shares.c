// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/world_shares.h"
#include "models/collective/ring_order.h"
#include "models/network/routing.h"
#include <math.h>

typedef struct crossings {
    const world *world;
    arena *scratch;
    uint32_t *edges, *pairs; // by link or bundle, as in link_share
    link_share least;        // of the links that are looked at
    bool counting;           // else the shares are looked at, and layouts of groups
    layout_list *layouts[PARALLEL_AXES];
} crossings;

static void look_at(crossings *c, uint32_t link)
{
    const double rate_Bps = (double)topology_rate_mBps(c->world->fabric, link) / 1000.0;
    if (c->edges[link]) c->least.of_edge_Bps = fmin(c->least.of_edge_Bps, rate_Bps / c->edges[link]);
    if (c->pairs[link]) c->least.of_pair_Bps = fmin(c->least.of_pair_Bps, rate_Bps / c->pairs[link]);
}

// Connections have several paths where they have several queue pairs: each is counted as if it carried everything.
static void cross(crossings *c, vertex_id from, vertex_id to, uint32_t *counts)
{
    const topology *t = c->world->fabric;
    uint32_t path[TOPOLOGY_PATH_MAX];
    for (uint32_t pair = 0; pair < topology_policy(t)->queue_pairs; pair++) {
        const uint32_t links = route_find(t, NULL, from, to, pair, path);
        SIM_ASSERT(links != ROUTE_NONE);
        for (uint32_t i = 0; i < links; i++)
            if (c->counting)
                counts[path[i]]++;
            else
                look_at(c, path[i]);
    }
}

static vertex_id vertex_at(const crossings *c, parallel_place place)
{
    return c->world->vertex_of_rank[parallel_rank_at(c->world->lanes.sizes, place)];
}

static bool same_layout(const collective_layout *a, const collective_layout *b)
{
    return a->ranks == b->ranks && a->nodes == b->nodes && a->ranks_per_node == b->ranks_per_node &&
           a->nics_per_node == b->nics_per_node && a->link_mBps == b->link_mBps &&
           a->nic_mBps == b->nic_mBps && a->link_delay_ps == b->link_delay_ps &&
           a->net_delay_ps == b->net_delay_ps && a->nvswitch == b->nvswitch && a->link == b->link &&
           a->nic == b->nic;
}

static void worsen(collective_layout *a, const collective_layout *b)
{
    if (b->link_mBps < a->link_mBps) a->link_mBps = b->link_mBps;
    if (b->nic_mBps < a->nic_mBps) a->nic_mBps = b->nic_mBps;
    if (b->nics_per_node < a->nics_per_node) a->nics_per_node = b->nics_per_node;
    if (b->link_delay_ps > a->link_delay_ps) a->link_delay_ps = b->link_delay_ps;
    if (b->net_delay_ps > a->net_delay_ps) a->net_delay_ps = b->net_delay_ps;
}

static void add_layout(crossings *c, const ring_set *rings, const vertex_id *members)
{
    layout_list *list = c->least.layouts;
    const collective_layout made = group_layout(c->world->fabric, c->world->hardware, rings, members,
                                                LAYOUT_AS_IT_IS);
    for (uint32_t i = 0; i < list->count; i++)
        if (same_layout(&list->items[i], &made)) return;
    if (list->count < WORLD_LAYOUTS_MAX)
        list->items[list->count++] = made;
    else
        worsen(&list->items[WORLD_LAYOUTS_MAX - 1], &made);
}

static void cross_rings(crossings *c, const vertex_id *members, uint32_t count)
{
    const ring_set rings = ring_order_make(c->scratch, c->world->fabric, members, count);
    if (!c->counting) add_layout(c, &rings, members);
    for (uint32_t r = 0; r < rings.count; r++)
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t *order = &rings.orders[(size_t)r * count];
            cross(c, members[order[i]], members[order[(i + 1) % count]], c->edges);
        }
}

// The groups along one axis that have a member at place 0 of it.
static void cross_groups(crossings *c, parallel_axis axis, uint32_t count)
{
    const parallel_sizes sizes = c->world->lanes.sizes;
    if (count == 1) return;
    for (rank_id rank = 0; rank < parallel_ranks(sizes); rank++) {
        parallel_place place = parallel_place_of(sizes, rank);
        uint32_t *own = axis == AXIS_TENSOR ? &place.tensor
                        : axis == AXIS_DATA ? &place.data
                                            : &place.pipeline;
        if (*own != 0) continue;
        const arena_mark_t mark = arena_mark(c->scratch);
        vertex_id *members = arena_array(c->scratch, vertex_id, count);
        for (uint32_t i = 0; i < count; i++) {
            *own = i;
            members[i] = vertex_at(c, place);
        }
        cross_rings(c, members, count);
        arena_release(c->scratch, mark);
    }
}

// To the next stage and back, around the ends too, where chunks and the halves of a tied table meet.
static void cross_stages(crossings *c)
{
    const world *w = c->world;
    const parallel_sizes sizes = w->lanes.sizes;
    if (sizes.pipeline == 1) return;
    for (rank_id rank = 0; rank < parallel_ranks(sizes); rank++) {
        parallel_place place = parallel_place_of(sizes, rank);
        place.pipeline = (place.pipeline + 1) % sizes.pipeline;
        const vertex_id here = w->vertex_of_rank[rank], next = vertex_at(c, place);
        uint32_t *const counts[] = { c->pairs, c->edges };
        const arena_mark_t mark = arena_mark(c->scratch);
        const vertex_id pair[] = { here, next };
        const ring_set rings = ring_order_make(c->scratch, w->fabric, pair, ARRAY_COUNT(pair));
        if (!c->counting) add_layout(c, &rings, pair);
        arena_release(c->scratch, mark);
        for (int of_table = place.pipeline == 0; of_table >= 0; of_table--) {
            cross(c, here, next, counts[of_table]);
            cross(c, next, here, counts[of_table]);
        }
    }
}

static link_share cross_axis(crossings *c, parallel_axis axis)
{
    const parallel_sizes sizes = c->world->lanes.sizes;
    const uint32_t counts[PARALLEL_AXES] = {
        [AXIS_TENSOR] = sizes.tensor, [AXIS_DATA] = sizes.data, [AXIS_PIPELINE] = sizes.pipeline
    };
    c->least = (link_share){ INFINITY, INFINITY, c->counting ? NULL : c->layouts[axis] };
    cross_groups(c, axis, counts[axis]);
    if (axis == AXIS_PIPELINE) cross_stages(c);
    return c->least;
}

world_shares world_find_shares(const world *w)
{
    crossings c = { .world = w, .scratch = w->arena, .counting = true };
    for (int axis = 0; axis < PARALLEL_AXES; axis++)
        c.layouts[axis] = arena_new(w->arena, layout_list);
    const arena_mark_t mark = arena_mark(w->arena);
    const uint32_t links = topology_link_count(w->fabric) + topology_bundle_count(w->fabric);
    c.edges = arena_array(w->arena, uint32_t, links);
    c.pairs = arena_array(w->arena, uint32_t, links);
    for (int axis = 0; axis < PARALLEL_AXES; axis++)
        cross_axis(&c, (parallel_axis)axis);
    c.counting = false;
    const world_shares shares = { .tensor = cross_axis(&c, AXIS_TENSOR),
                                  .data = cross_axis(&c, AXIS_DATA),
                                  .pipeline = cross_axis(&c, AXIS_PIPELINE) };
    arena_release(w->arena, mark);
    return shares;
}
