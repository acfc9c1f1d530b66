// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/world_beside.h"
#include "models/collective/group_layout.h"
#include "models/collective/pace.h"
#include "models/collective/ring_order.h"
#include "models/collective/tuner.h"
#include <math.h>

#define LARGE_BYTES (UINT64_C(1) << 30) // so that all channels run

// GPUs between which the links of a node are: those of a domain of NVSwitches count as a node.
static uint32_t domain_of(const world *w, rank_id rank)
{
    const node_def *node = &w->scenario->cluster.node;
    const uint32_t nodes = node->scale_up.domain_nodes > 0 ? node->scale_up.domain_nodes : 1;
    return w->gpu_of_rank[rank] / (node->gpus * nodes);
}

static parallel_place place_on(parallel_axis axis, uint32_t i)
{
    return (parallel_place){ .tensor = axis == AXIS_TENSOR ? i : 0,
                             .data = axis == AXIS_DATA ? i : 0,
                             .pipeline = axis == AXIS_PIPELINE ? i : 0 };
}

// Of the group of rank 0 on an axis; groups of an axis are taken to lie alike.
static uint32_t members_beside_first(const world *w, parallel_axis axis, uint32_t count)
{
    const parallel_sizes sizes = scenario_sizes(w->scenario);
    uint32_t members = 0;
    for (uint32_t i = 0; i < count; i++)
        members += domain_of(w, parallel_rank_at(sizes, place_on(axis, i))) == domain_of(w, 0);
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

// ---- channels

// Of the first members of rank 0's group on an axis.
static collective_layout layout_on(const world *w, parallel_axis axis, uint32_t count)
{
    const parallel_sizes sizes = scenario_sizes(w->scenario);
    const arena_mark_t mark = arena_mark(w->arena);
    vertex_id *members = arena_array(w->arena, vertex_id, count);
    for (uint32_t i = 0; i < count; i++)
        members[i] = w->vertex_of_rank[parallel_rank_at(sizes, place_on(axis, i))];
    const ring_set rings = ring_order_make(w->arena, w->fabric, members, count);
    const collective_layout layout = group_layout(w->fabric, w->hardware, &rings, members, LAYOUT_AS_IT_IS);
    arena_release(w->arena, mark);
    return layout;
}

static uint32_t channels_of(const world *w, const collective_layout *layout, collective_kind kind,
                            uint64_t bytes)
{
    const collective_library *library = &w->scenario->network.collectives;
    const collective_choice choice = tuner_choose(library, layout, kind, bytes,
                                                  scenario_forced_algorithm(w->scenario),
                                                  scenario_forced_protocol(w->scenario));
    return pace_of(library, layout, kind, choice.algorithm, choice.protocol, bytes).channels;
}

static uint32_t domains_of_stages(const world *w, uint32_t stages)
{
    const parallel_sizes sizes = scenario_sizes(w->scenario);
    uint32_t domains = 0;
    for (uint32_t i = 0; i < stages; i++) {
        const uint32_t own = domain_of(w, parallel_rank_at(sizes, place_on(AXIS_PIPELINE, i)));
        bool seen = false;
        for (uint32_t j = 0; j < i && !seen; j++)
            seen = domain_of(w, parallel_rank_at(sizes, place_on(AXIS_PIPELINE, j))) == own;
        domains += !seen;
    }
    return domains;
}

// A message to the next stage is cut for all stages, as it is when it is played (collective_shape.c).
static uint32_t channels_of_message(const world *w, uint32_t stages)
{
    const kernel_settings kernels = scenario_kernel_settings(w->scenario);
    const double bytes = dtype_bytes(kernels.precision) * (double)kernels.micro_batch *
                         (double)kernels.sequence_length * (double)w->scenario->model.hidden;
    collective_layout layout = layout_on(w, AXIS_PIPELINE, 2);
    layout.ranks = stages;
    layout.send_nodes = domains_of_stages(w, stages);
    if (layout.nodes == 1 && layout.send_nodes > 1)
        layout.nic_mBps = group_layout_nic_mBps(w->fabric, w->vertex_of_rank[0]);
    return channels_of(w, &layout, COLLECTIVE_SEND_RECV, (uint64_t)bytes);
}

// ---- what they take

static gpu_taken taken_by(const world *w, uint32_t channels, double rate_Bps)
{
    return (gpu_taken){ channels, rate_Bps * w->scenario->network.collectives.memory_traffic };
}

static gpu_taken taken_by_group(const world *w, parallel_axis axis, uint32_t count, collective_kind kind)
{
    const node_def *node = &w->scenario->cluster.node;
    if (count == 1) return (gpu_taken){ 0 };
    const uint32_t members = members_beside_first(w, axis, count);
    const collective_layout layout = layout_on(w, axis, count);
    return taken_by(w, channels_of(w, &layout, kind, LARGE_BYTES),
                    members == count ? rate_inside_Bps(node) : rate_over_nodes_Bps(node, members));
}

static gpu_taken taken_by_messages(const world *w, uint32_t stages)
{
    const node_def *node = &w->scenario->cluster.node;
    if (stages == 1) return (gpu_taken){ 0 };
    const bool inside = members_beside_first(w, AXIS_PIPELINE, 2) == 2;
    return taken_by(w, channels_of_message(w, stages),
                    inside ? rate_inside_Bps(node) : rate_over_nodes_Bps(node, 1));
}

void world_beside(const world *w, gpu_taken taken[BESIDE_GROUPS])
{
    const plan_def *job = &w->scenario->plan;
    for (int group = 0; group < BESIDE_GROUPS; group++)
        taken[group] = (gpu_taken){ 0 };
    if (!(w->scenario->network.collectives.memory_traffic > 0)) return;
    taken[BESIDE_TENSOR] = taken_by_group(
        w, AXIS_TENSOR, job->tensor, job->sequence_parallel ? COLLECTIVE_ALL_GATHER : COLLECTIVE_ALL_REDUCE);
    taken[BESIDE_DATA] = taken_by_group(w, AXIS_DATA, job->data,
                                        job->sharding == SHARDING_NONE ? COLLECTIVE_ALL_REDUCE
                                                                       : COLLECTIVE_REDUCE_SCATTER);
    taken[BESIDE_PIPELINE] = taken_by_messages(w, job->pipeline);
    if (job->user_buffers) taken[BESIDE_TENSOR].multiprocessors = 0.0;
}
