// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/world_beside.h"
#include <math.h>

// GPUs between which the links of a node are: those of a domain of NVSwitches count as a node.
static uint32_t domain_of(const world *w, rank_id rank)
{
    const node_def *node = &w->scenario->cluster.node;
    const uint32_t nodes = node->scale_up.domain_nodes > 0 ? node->scale_up.domain_nodes : 1;
    return w->gpu_of_rank[rank] / (node->gpus * nodes);
}

// Of the group of rank 0 on an axis; groups of an axis are taken to lie alike.
static uint32_t members_beside_first(const world *w, parallel_axis axis, uint32_t count)
{
    const parallel_sizes sizes = scenario_sizes(w->scenario);
    uint32_t members = 0;
    for (uint32_t i = 0; i < count; i++) {
        const parallel_place place = { .tensor = axis == AXIS_TENSOR ? i : 0,
                                       .data = axis == AXIS_DATA ? i : 0,
                                       .pipeline = axis == AXIS_PIPELINE ? i : 0 };
        members += domain_of(w, parallel_rank_at(sizes, place)) == domain_of(w, 0);
    }
    return members;
}

static double rate_inside_Bps(const node_def *node)
{
    return node->scale_up.rate_Bps * node->scale_up.payload_ratio;
}

static double rate_over_nodes_Bps(const node_def *node, uint32_t members)
{
    const double nics_Bps = node->nic.rate_Bps * node->nic.payload_ratio * node->nics * members / node->gpus;
    return members > 1 ? fmin(nics_Bps, rate_inside_Bps(node)) : nics_Bps;
}

static gpu_taken taken_by(const world *w, uint32_t channels, double rate_Bps)
{
    return (gpu_taken){ channels, rate_Bps * w->scenario->network.collectives.channels.memory_traffic };
}

static gpu_taken taken_by_group(const world *w, parallel_axis axis, uint32_t count)
{
    const struct channel_terms *terms = &w->scenario->network.collectives.channels;
    const node_def *node = &w->scenario->cluster.node;
    const uint32_t members = members_beside_first(w, axis, count);
    if (count == 1) return (gpu_taken){ 0 };
    if (members == count) return taken_by(w, terms->in_node, rate_inside_Bps(node));
    const uint64_t channels = (uint64_t)terms->per_gpu * members;
    return taken_by(w, channels < terms->over_nodes ? (uint32_t)channels : terms->over_nodes,
                    rate_over_nodes_Bps(node, members));
}

static gpu_taken taken_by_messages(const world *w)
{
    const node_def *node = &w->scenario->cluster.node;
    const bool inside = members_beside_first(w, AXIS_PIPELINE, 2) == 2;
    return taken_by(w, w->scenario->network.collectives.channels.per_gpu,
                    inside ? rate_inside_Bps(node) : rate_over_nodes_Bps(node, 1));
}

void world_beside(const world *w, gpu_taken taken[BESIDE_GROUPS])
{
    const plan_def *job = &w->scenario->plan;
    taken[BESIDE_TENSOR] = taken_by_group(w, AXIS_TENSOR, job->tensor);
    taken[BESIDE_DATA] = taken_by_group(w, AXIS_DATA, job->data);
    taken[BESIDE_PIPELINE] = job->pipeline > 1 ? taken_by_messages(w) : (gpu_taken){ 0 };
    if (job->user_buffers) taken[BESIDE_TENSOR].multiprocessors = 0.0;
}
