// SPDX-License-Identifier: GPL-3.0-or-later
// models/world.h: owner of every entity of one run: fabric, network, GPUs and their health, lanes, costs, the player. Made
// from a checked scenario, in one arena; nothing of it is at file scope, so several worlds may live in one process.
#pragma once
#include "models/scenario.h"
#include "models/training/step.h"

// Memory by pipeline stage: all GPUs of a stage need the same.
typedef struct stage_memory {
    memory_need *of_stage; // of one GPU
    uint32_t stages;
    uint32_t fullest; // the stage that needs most; of several the first
} stage_memory;

typedef struct world {
    arena *arena;
    const scenario *scenario;
    sim *sim;
    topology *fabric;
    network *network;
    roofline *gpu;
    gpu_health gpus;   // by GPU of the cluster
    gpu_health health; // by rank
    const gpu_id *gpu_of_rank;
    lane_table lanes;
    vertex_id *vertex_of_lane;
    pass_costs *costs; // one entry per state of health that occurs
    uint32_t cost_count;
    const pass_costs **costs_of_lane;
    program program;
    stage_memory memory;
    step_player *player;
} world;

typedef struct world_options {
    queue_kind queue;
    bool reverse_phases; // sim_options.reverse_phases
    step_listener listener;
} world_options;

// The fabric alone, sealed and checked; NULL with error when it cannot be built.
topology *world_build_fabric(arena *a, const scenario *s, sim_error *error);
// The engine that the scenario names, on that fabric.
network *world_build_network(arena *a, const scenario *s, sim *engine, const topology *fabric);
// What one GPU computes and holds in a step, without a fabric: for world_create() and for `show`.
bool world_build_costs(arena *a, const scenario *s, const roofline *gpu, double clock_ratio,
                       double memory_ratio, pass_costs *out, sim_error *error);
// What the GPUs need, of a scenario that scenario_check() lets pass.
stage_memory world_memory(arena *a, const scenario *s);
static inline const memory_need *world_fullest(const stage_memory *m)
{
    return &m->of_stage[m->fullest];
}
// Refuses (exit 1) when the memory of a GPU does not suffice; out is the table by stage and part, in both cases.
bool world_check_memory(arena *a, const scenario *s, stage_memory *out, sim_error *error);
// Everything, ready for step_player_start(). Refuses what the functions above refuse, and (exit 2) steps of more operations
// than fit into a memory, or longer than the clock can hold. *out is set from the start, so that it can be destroyed after
// an escape of the arena; NULL once refused.
bool world_create(arena *a, const scenario *s, const world_options *options, world **out, sim_error *error);
void world_destroy(world *w);                                       // what lies outside the arena
uint64_t world_ranks_with(const world *w, const pass_costs *costs); // ranks whose GPU has these costs
