// SPDX-License-Identifier: GPL-3.0-or-later
// What a world tells of a scenario that may not be meant: keys that nothing of the job has a use for.
#include "models/cluster_degraded.h"
#include "models/world.h"

// ---- parts that are degraded

static void warn_of_idle_parts(const world *w, arena *a, text_list *out)
{
    const uint32_t gpus = topology_gpu_count(w->fabric), nodes = topology_node_count(w->fabric);
    degraded_users users = { .gpus = arena_array(a, bool, gpus), .nodes = arena_array(a, bool, nodes) };
    for (rank_id r = 0; r < w->scenario->plan.gpus; r++) {
        const node_id node = topology_vertex_at(w->fabric, w->vertex_of_rank[r])->node;
        users.gpus[w->gpu_of_rank[r]] = true;
        users.node_count += !users.nodes[node];
        users.nodes[node] = true;
    }
    degraded_warn_of_idle(a, &w->scenario->cluster.degraded, w->fabric, &users, out);
}

// ---- NVLS

static bool reduces_on_one_switch(const world *w, group_id id)
{
    if (id == NO_ID) return false;
    const group_def *group = collectives_group(step_player_collectives(w->player), id);
    const uint32_t domain = topology_domain_of(w->fabric, group->members[0]);
    for (uint32_t m = 1; m < group->count; m++)
        if (topology_domain_of(w->fabric, group->members[m]) != domain) return false;
    return true;
}

// All groups reduce something, if only the norm of the gradients, but those in which messages move.
static void warn_of_nvls(const world *w, arena *a, text_list *out)
{
    if (scenario_forced_algorithm(w->scenario) != ALGORITHM_NVLS) return;
    for (lane_id l = 0; l < w->lanes.count; l++) {
        const step_groups g = step_player_groups_of(w->player, l);
        if (reduces_on_one_switch(w, g.tensor) || reduces_on_one_switch(w, g.data) ||
            reduces_on_one_switch(w, g.norm) || reduces_on_one_switch(w, g.table))
            return;
    }
    *array_push(out, a) = "algorithm: nvls changes nothing: no group of this plan lies on one NVSwitch";
}

void world_warnings(const world *w, arena *a, text_list *out)
{
    scenario_warnings(w->scenario, a, out);
    if (topology_node_count(w->fabric) > 1) cluster_warnings(&w->scenario->cluster, a, out);
    warn_of_idle_parts(w, a, out);
    warn_of_nvls(w, a, out);
}
