// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/training/in_flight.h"
#include "models/training/program.h"
#include "sim/check.h"

// Activations and gradients on their way at once. A stage that computes and sends in turn holds those of one exchange. Beside
// the passes there may be one each way, and both ways at once, on every side of the stage (Megatron-LM keeps a buffer for
// each: p2p_communication.py).
static uint32_t messages(const schedule *s, uint32_t stage, bool overlap)
{
    const uint32_t stages = s->def.stages, both_ways = 2;
    if (stages == 1) return 0;
    if (!overlap) return program_moves_at_once(s, stage);
    const bool has_before = stage > 0 || s->def.chunks > 1;
    const bool has_behind = stage + 1 < stages || s->def.chunks > 1;
    return both_ways * (has_before + has_behind);
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

memory_in_flight in_flight_of(const schedule *s, const stage_table *t, uint32_t stage, bool overlap)
{
    memory_in_flight now = { 0 }, most = { .messages = messages(s, stage, overlap) };
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
