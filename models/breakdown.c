// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/breakdown.h"
#include <math.h>

#define ALIKE 0.001       // shares that differ by less are told together
#define BUSY_LEAST 0.0005 // of a link beside the hottest

// One part in so many of all GPU time; about a degraded part somebody will ask.
enum { CULPRIT_PART = 1000, DEGRADED_PART = 10000 };

// ---- the blame by stage

static double difference(const blame_class *a, const blame_class *b)
{
    double most = 0.0;
    for (int cause = 0; cause < BLAME_CAUSES; cause++)
        most = fmax(most, fabs(a->shares[cause] - b->shares[cause]));
    return most;
}

static void join(blame_class *a, const blame_class *b)
{
    const double left = a->last - a->first + 1, right = b->last - b->first + 1;
    for (int cause = 0; cause < BLAME_CAUSES; cause++)
        a->shares[cause] = (a->shares[cause] * left + b->shares[cause] * right) / (left + right);
    a->last = b->last;
}

static bool join_nearest(blame_class_array *all)
{
    uint32_t nearest = 0;
    if (all->count < 2) return false;
    for (uint32_t i = 1; i + 1 < all->count; i++)
        if (difference(&all->items[i], &all->items[i + 1]) <
            difference(&all->items[nearest], &all->items[nearest + 1]))
            nearest = i;
    blame_class *first = &all->items[nearest];
    if (difference(first, first + 1) > ALIKE && all->count <= BREAKDOWN_CLASSES_MAX) return false;
    join(first, first + 1);
    for (uint32_t i = nearest + 1; i + 1 < all->count; i++)
        all->items[i] = all->items[i + 1];
    all->count--;
    return true;
}

void breakdown_classes(arena *a, const summary_input *in, blame_class_array *out)
{
    const uint32_t stages = in->world->stages.stages;
    if (in->gpu_time_ps == 0) return;
    for (uint32_t stage = 0; stage < stages; stage++) {
        blame_class *class = array_push(out, a);
        const unsigned __int128 *spent = &in->blame_of_stage[stage * BLAME_CAUSES];
        *class = (blame_class){ .first = stage, .last = stage };
        for (int cause = 0; cause < BLAME_CAUSES; cause++)
            class->shares[cause] = (double)spent[cause] * stages /
                                   (double)in->gpu_time_ps; // all have as many GPUs
    }
    while (join_nearest(out))
        ;
}

// ---- who was waited for

bool breakdown_blames_lane(const lane_def *lane, blame_cause cause)
{
    return cause == BLAME_PEER || (cause == BLAME_BUBBLE && lane_is_degraded(lane));
}

bool breakdown_names(bool degraded, unsigned __int128 waited_ps, unsigned __int128 gpu_time_ps)
{
    return waited_ps > 0 && waited_ps * (degraded ? DEGRADED_PART : CULPRIT_PART) >= gpu_time_ps;
}

static void offer(arena *a, culprit_array *all, const culprit *c)
{
    array_push(all, a);
    uint32_t place = all->count - 1;
    for (; place > 0; place--) {
        const culprit *before = &all->items[place - 1];
        if (before->degraded > c->degraded || (before->degraded == c->degraded && before->share >= c->share))
            break;
        all->items[place] = *before;
    }
    all->items[place] = *c;
    if (all->count > BREAKDOWN_CULPRITS_MAX) array_pop(all);
}

static const char *lane_detail(arena *a, const world *w, lane_id l)
{
    const lane_def *lane = &w->lanes.lanes[l];
    const rank_id last = lane_rank(&w->lanes, l, lane->multiplicity - 1);
    const char *ranks = lane->multiplicity == 1 ? arena_format(a, "rank %u", lane->first_rank)
                                                : arena_format(a, "ranks %u to %u", lane->first_rank, last);
    const char *clock = lane->clock_ratio < 1.0 ? arena_format(a, ", clock %.2f", lane->clock_ratio) : "";
    const char *memory = lane->memory_ratio < 1.0 ? arena_format(a, ", memory %.2f", lane->memory_ratio) : "";
    return arena_format(a, "%s%s%s", ranks, clock, memory);
}

static void offer_lane(arena *a, const summary_input *in, lane_id l, culprit_array *out)
{
    const world *w = in->world;
    const lane_def *lane = &w->lanes.lanes[l];
    const bool degraded = lane_is_degraded(lane);
    const unsigned __int128 bubble = breakdown_blames_lane(lane, BLAME_BUBBLE) ? in->bubble_by_lane[l] : 0;
    const unsigned __int128 time = in->peer_by_lane[l] + bubble;
    char name[128];
    if (!breakdown_names(degraded, time, in->gpu_time_ps)) return;
    topology_vertex_name(w->fabric, w->vertex_of_rank[lane->first_rank], name, sizeof(name));
    offer(a, out,
          &(culprit){ .part = arena_format(a, "%s", name),
                      .detail = lane_detail(a, w, l),
                      .degraded = degraded,
                      .share = (double)time / (double)in->gpu_time_ps });
}

static void offer_link(arena *a, const summary_input *in, link_id l, unsigned __int128 time,
                       culprit_array *out)
{
    const topology *t = in->world->fabric;
    char name[192];
    if (!breakdown_names(true, time, in->gpu_time_ps)) return;
    topology_link_name(t, l, name, sizeof(name));
    offer(a, out,
          &(culprit){ .part = arena_format(a, "%s", name),
                      .detail = arena_format(a, "rate %.2f", topology_link_at(t, l)->health_ratio),
                      .degraded = true,
                      .share = (double)time / (double)in->gpu_time_ps });
}

void breakdown_culprits(arena *a, const summary_input *in, culprit_array *out)
{
    uint32_t links;
    const link_id *slow = topology_degraded_links(in->world->fabric, &links);
    if (in->gpu_time_ps == 0) return;
    for (lane_id l = 0; l < in->world->lanes.count; l++)
        offer_lane(a, in, l, out);
    for (uint32_t i = 0; i < links; i++)
        offer_link(a, in, slow[i], in->caused_by_link[i], out);
}

// ---- links

static double busy_share(const summary_input *in, link_id l)
{
    const double rate_Bps = (double)topology_link_at(in->world->fabric, l)->rate_mBps / 1000.0;
    return (double)in->link_bytes[l] / (rate_Bps * units_s_from_ps(in->played_ps));
}

static bool is_told(const summary_input *in, const busy_link_array *told, link_id l)
{
    for (uint32_t i = 0; i < told->count; i++) {
        const busy_link *other = &told->items[i];
        const bool same_class = topology_link_at(in->world->fabric, l)->class ==
                                topology_link_at(in->world->fabric, other->link)->class;
        if (same_class && fabs(busy_share(in, l) - other->busy_share) <= ALIKE * other->busy_share)
            return true;
    }
    return false;
}

void breakdown_links(arena *a, const summary_input *in, busy_link_array *out)
{
    const topology *t = in->world->fabric;
    char name[192];
    while (in->played_ps > 0 && out->count < BREAKDOWN_LINKS_MAX) {
        link_id hottest = NO_ID;
        for (link_id l = 0; l < topology_link_count(t); l++) {
            if (in->link_bytes[l] == 0 || is_told(in, out, l)) continue;
            if (hottest == NO_ID || busy_share(in, l) > busy_share(in, hottest)) hottest = l;
        }
        if (hottest == NO_ID || (out->count > 0 && busy_share(in, hottest) < BUSY_LEAST)) return;
        topology_link_name(t, hottest, name, sizeof(name));
        *array_push(out, a) = (busy_link){ .link = hottest,
                                           .name = arena_format(a, "%s", name),
                                           .class = link_class_words[topology_link_at(t, hottest)->class],
                                           .bytes = in->link_bytes[hottest],
                                           .busy_share = busy_share(in, hottest) };
    }
}
