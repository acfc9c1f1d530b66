// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/world_costs.h"
#include "sim/array.h"

typedef struct health {
    double clock_ratio, memory_ratio;
} health;

typedef struct builder {
    arena *a;
    const scenario *scenario;
    const roofline *gpu;
    const stage_table *stages;
    const gpu_taken *beside; // by group
    world_costs *out;
    sim_error *error;
} builder;

static pass_settings settings_of(const builder *b, const memory_settings *memory, health h)
{
    const scenario *s = b->scenario;
    return (pass_settings){ .memory = *memory,
                            .overlap_tensor = s->plan.overlap_tensor,
                            .clock_ratio = h.clock_ratio,
                            .memory_ratio = h.memory_ratio,
                            .beside = { b->beside[BESIDE_TENSOR], b->beside[BESIDE_DATA],
                                        b->beside[BESIDE_PIPELINE] },
                            .where = bind_place_of(s->reader, &s->cluster.node) };
}

static bool build_chunk(const builder *b, const stage_chunk *chunk, health h, chunk_costs *out)
{
    const scenario *s = b->scenario;
    memory_settings memory = scenario_memory_settings(s, b->stages, 0);
    memory.layers_here = chunk->layers;
    memory.has_embedding = chunk->has_embedding;
    memory.has_head = chunk->has_head;
    const pass_settings settings = settings_of(b, &memory, h);
    return pass_build(b->a, &s->model, b->gpu, &settings, out, b->error);
}

bool world_build_chunk(arena *a, const scenario *s, const roofline *gpu, const stage_table *stages,
                       const stage_chunk *chunk, double clock_ratio, double memory_ratio, chunk_costs *out,
                       sim_error *error)
{
    static const gpu_taken nothing[BESIDE_GROUPS] = { { 0 } };
    const builder b = {
        .a = a, .scenario = s, .gpu = gpu, .stages = stages, .beside = nothing, .error = error
    };
    return build_chunk(&b, chunk, (health){ clock_ratio, memory_ratio }, out);
}

static bool same_health(double clock_ratio, double memory_ratio, health h)
{
    return clock_ratio == h.clock_ratio && memory_ratio == h.memory_ratio;
}

// There is room for as many as lanes have chunks: everything is found by a scan of the few that differ.
static costed_chunk *chunk_of(builder *b, const stage_chunk *chunk, health h)
{
    for (uint32_t i = 0; i < b->out->chunk_count; i++) {
        costed_chunk *known = b->out->chunks[i];
        if (known->layers == chunk->layers && known->has_embedding == chunk->has_embedding &&
            known->has_head == chunk->has_head &&
            same_health(known->costs.clock_ratio, known->costs.memory_ratio, h))
            return known;
    }
    costed_chunk *made = arena_new(b->a, costed_chunk);
    made->layers = chunk->layers;
    made->has_embedding = chunk->has_embedding;
    made->has_head = chunk->has_head;
    if (!build_chunk(b, chunk, h, &made->costs)) return NULL;
    return b->out->chunks[b->out->chunk_count++] = made;
}

static costed_optimizer *optimizer_of(builder *b, uint32_t stage, health h)
{
    const memory_settings memory = scenario_memory_settings(b->scenario, b->stages, stage);
    const uint64_t parameters = memory_parameters_here(&b->scenario->model, &memory);
    for (uint32_t i = 0; i < b->out->optimizer_count; i++) {
        costed_optimizer *known = b->out->optimizers[i];
        if (known->parameters == parameters && same_health(known->clock_ratio, known->memory_ratio, h))
            return known;
    }
    costed_optimizer *made = arena_new(b->a, costed_optimizer);
    made->parameters = parameters;
    made->clock_ratio = h.clock_ratio;
    made->memory_ratio = h.memory_ratio;
    const pass_settings settings = settings_of(b, &memory, h);
    if (!pass_build_optimizer(b->a, b->gpu, &settings, parameters, &made->costs, b->error)) return NULL;
    return b->out->optimizers[b->out->optimizer_count++] = made;
}

static const stage_costs *stage_of(builder *b, uint32_t stage, health h)
{
    for (uint32_t i = 0; i < b->out->stage_count; i++) {
        const costed_stage *known = b->out->stages[i];
        if (known->stage == stage && same_health(known->clock_ratio, known->memory_ratio, h))
            return &known->costs;
    }
    costed_stage *made = arena_new(b->a, costed_stage);
    const chunk_costs **chunks = arena_array(b->a, const chunk_costs *, b->stages->chunks);
    for (uint32_t c = 0; c < b->stages->chunks; c++) {
        const costed_chunk *chunk = chunk_of(b, stage_chunk_at(b->stages, stage, c), h);
        if (!chunk) return NULL;
        chunks[c] = &chunk->costs;
    }
    const costed_optimizer *optimizer = optimizer_of(b, stage, h);
    if (!optimizer) return NULL;
    *made = (costed_stage){ .stage = stage,
                            .clock_ratio = h.clock_ratio,
                            .memory_ratio = h.memory_ratio,
                            .costs = { .chunks = chunks, .optimizer = &optimizer->costs.work } };
    b->out->stages[b->out->stage_count++] = made;
    return &made->costs;
}

static void count_users(builder *b, const lane_def *lane)
{
    const health h = { lane->clock_ratio, lane->memory_ratio };
    for (uint32_t c = 0; c < b->stages->chunks; c++)
        chunk_of(b, stage_chunk_at(b->stages, lane->place.pipeline, c), h)->users += lane->multiplicity;
    optimizer_of(b, lane->place.pipeline, h)->users += lane->multiplicity;
}

bool world_build_costs(arena *a, const scenario *s, const roofline *gpu, const stage_table *stages,
                       const lane_table *lanes, const gpu_taken beside[BESIDE_GROUPS], world_costs *out,
                       sim_error *error)
{
    builder b = {
        .a = a, .scenario = s, .gpu = gpu, .stages = stages, .beside = beside, .out = out, .error = error
    };
    *out = (world_costs){ .chunks = arena_array(a, costed_chunk *, (size_t)lanes->count * stages->chunks),
                          .optimizers = arena_array(a, costed_optimizer *, lanes->count),
                          .stages = arena_array(a, costed_stage *, lanes->count),
                          .of_lane = arena_array(a, const stage_costs *, lanes->count) };
    for (lane_id l = 0; l < lanes->count; l++) {
        const lane_def *lane = &lanes->lanes[l];
        out->of_lane[l] = stage_of(&b, lane->place.pipeline,
                                   (health){ lane->clock_ratio, lane->memory_ratio });
        if (!out->of_lane[l]) return false;
        count_users(&b, lane);
    }
    return true;
}
