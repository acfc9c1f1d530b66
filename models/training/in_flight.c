// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/training/in_flight.h"
#include "sim/check.h"

// Micro-batches' activations and gradients on the way at once. A stage that computes and sends in turn has one that it sends
// and one that it receives. Interleaved schedules send beside the computing, in both directions at the same time, so that
// every side of the stage has both (Megatron-LM: p2p_communication.py; --overlap-p2p-communication).
static uint32_t messages(const schedule *s, uint32_t stage)
{
    const uint32_t stages = s->def.stages, each_side = 2;
    if (stages == 1) return 0;
    if (s->def.kind != SCHEDULE_INTERLEAVED_1F1B) return each_side;
    const bool has_before = stage > 0 || s->def.chunks > 1,
               has_behind = stage + 1 < stages || s->def.chunks > 1;
    return each_side * (has_before + has_behind);
}

static void keep(memory_in_flight *now, const stage_chunk *chunk)
{
    now->layers += chunk->layers;
    now->embeddings += chunk->has_embedding;
    now->heads += chunk->has_head;
}

static void give_up(memory_in_flight *now, const stage_chunk *chunk)
{
    SIM_ASSERT(now->layers >= chunk->layers);
    now->layers -= chunk->layers;
    now->embeddings -= chunk->has_embedding;
    now->heads -= chunk->has_head;
}

memory_in_flight in_flight_of(const schedule *s, const stage_table *t, uint32_t stage)
{
    memory_in_flight now = { 0 }, most = { .messages = messages(s, stage) };
    SIM_ASSERT(s->def.stages == t->stages && s->def.chunks == t->chunks);
    for (uint32_t i = 0; i < s->pass_count; i++) {
        const schedule_pass pass = schedule_pass_at(s, stage, i);
        const stage_chunk *chunk = stage_chunk_at(t, stage, pass.chunk);
        if (pass.direction == PASS_BACKWARD)
            give_up(&now, chunk);
        else
            keep(&now, chunk);
        if (now.layers > most.layers) most.layers = now.layers;
        if (now.embeddings > most.embeddings) most.embeddings = now.embeddings;
        if (now.heads > most.heads) most.heads = now.heads;
    }
    return most;
}
