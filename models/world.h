// SPDX-License-Identifier: GPL-3.0-or-later
// models/world.h: owner of every entity of one run: fabric, network, GPUs and their health, lanes, costs, the player. Made
// from a checked scenario, in one arena; nothing of it is at file scope, so several worlds may live in one process.
#pragma once
#include "models/scenario.h"
#include "models/training/fold.h"
#include "models/training/step.h"
#include "models/world_costs.h"

// Memory by pipeline stage: all GPUs of a stage need the same.
typedef struct stage_memory {
    memory_need *of_stage; // of one GPU
    uint32_t stages;
    uint32_t fullest; // the stage that needs most; of several the first
} stage_memory;

typedef struct world {
    arena *arena;
    const scenario *scenario;
    sim *sim, *alone; // alone: where collectives are tried (models/collective/collective_alone.c)
    topology *fabric;
    network *network;
    const collective_hardware *hardware;
    roofline *gpu;
    gpu_health gpus; // by GPU of the cluster
    gpu_id *gpu_of_rank;
    gpu_health health; // by rank
    stage_table stages;
    schedule schedule;
    lane_table lanes;
    bool folded;            // lanes stand for whole tensor-parallel groups
    fold_obstacle obstacle; // why not, where that was wanted
    bool alone_tensor;      // tensor-parallel collectives are taken at their time alone
    vertex_id *vertex_of_rank;
    world_costs costs;
    program *programs; // by stage
    stage_memory memory;
    step_player *player;
} world;

typedef struct world_options {
    queue_kind queue;
    bool reverse_phases; // sim_options.reverse_phases
    bool play_tensor;    // play tensor-parallel collectives also where their time alone would do
    bool ignore_memory;  // build also what does not fit
    step_listener listener;
} world_options;

// The fabric alone, sealed and checked; NULL with error when it cannot be built.
topology *world_build_fabric(arena *a, const scenario *s, sim_error *error);
// The engine that the scenario names, on that fabric.
network *world_build_network(arena *a, const scenario *s, sim *engine, const topology *fabric);
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
// What is played all the same, but may not be meant: scenario_warnings(), and what only a world knows.
void world_warnings(const world *w, arena *a, text_list *out);
void world_destroy(world *w); // what lies outside the arena
