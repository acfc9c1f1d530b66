// SPDX-License-Identifier: GPL-3.0-or-later
// models/training/stages.h: which layers of the model lie where: on each of p stages v chunks, each a run of layers, the first
// of the model with the embedding and the last with the head. Chunk c of stage s is the virtual stage c p + s of the model
// (models/training/schedule.h).
//     even     L / (p v) layers in each; refused unless p v divides L
//     uneven   the first L mod (p v) virtual stages have one layer more
//     ends     embedding and head count as a layer each: (L + 2) / (p v) in each, one less in the first and in the last;
//              refused unless p v divides L + 2. Llama 3 405B: 126 + 2 over 16 x 8, so that the first chunk has the embedding
//              alone and the last the head alone (Grattafiori et al. 2024, "The Llama 3 herd of models", section 3.3.2)
//     a list   layers of each virtual stage, in the model's order; only the first and the last may have none
#pragma once
#include "sim/arena.h"
#include "sim/error.h"

typedef enum layer_split { SPLIT_EVEN, SPLIT_UNEVEN, SPLIT_ENDS, SPLIT_LIST } layer_split;
extern const char *const layer_split_words[]; // "even", "uneven", "ends"; ends with NULL. A list has no word

typedef struct stages_def {
    uint32_t layers;         // L
    uint32_t stages, chunks; // p, v
    layer_split split;
    const uint32_t *list; // SPLIT_LIST: list_count layers
    uint32_t list_count;
    // For hints; 0: any.
    uint32_t least_stages, least_chunks; // that the schedule takes
    uint32_t ranks;                      // that stages share out, so that their number divides it
} stages_def;

typedef struct stage_chunk {
    uint32_t layers;
    bool has_embedding, has_head;
} stage_chunk;

typedef struct stage_table {
    uint32_t stages, chunks;
    stage_chunk *items; // stage x chunks + chunk
} stage_table;

// Can it be split so? If not, the reason and the nearest valid choice (exit code 2). where: of the faulty key, or NULL.
bool stages_check(const stages_def *def, const sim_place *where, sim_error *error);
stage_table stages_build(arena *a, const stages_def *def); // of a definition that stages_check() lets pass
const stage_chunk *stage_chunk_at(const stage_table *t, uint32_t stage, uint32_t chunk);
uint32_t stage_layers(const stage_table *t, uint32_t stage); // of all its chunks
