// SPDX-License-Identifier: GPL-3.0-or-later
// tests/law/plan_maker.h: small scenarios drawn by chance: any cluster, model and plan that a user may think of, most of them
// sound, some not. A scenario is a row of numbers, one for each knob, of which 0 is always the plainest choice, so that one
// that fails can be made plainer knob by knob.
#pragma once
#include <stdbool.h>
#include <stdint.h>

typedef enum knob {
    KNOB_NODE,
    KNOB_NODES,
    KNOB_NICS, // 1: half of the node's
    KNOB_FABRIC,
    KNOB_ROUTING,
    KNOB_QUEUE_PAIRS,
    KNOB_DEGRADED, // rows
    KNOB_DEGRADED_SEED,
    KNOB_LAYERS,
    KNOB_HEADS,
    KNOB_KV_HEADS,
    KNOB_HEAD_SIZE,
    KNOB_FFN,
    KNOB_VOCABULARY,
    KNOB_SEQUENCE,
    KNOB_ACTIVATION,
    KNOB_NORM,
    KNOB_POSITION,
    KNOB_TIED,
    KNOB_BIAS,
    KNOB_DROPOUT,
    KNOB_TENSOR,
    KNOB_PIPELINE,
    KNOB_DATA, // 0: what is left
    KNOB_GPUS, // 0: all
    KNOB_SHARDING,
    KNOB_RECOMPUTE,
    KNOB_BUCKET,
    KNOB_OVERLAP_GRADIENTS,
    KNOB_OVERLAP_PARAMETERS,
    KNOB_SEQUENCE_PARALLEL,
    KNOB_OVERLAP_TENSOR,
    KNOB_SCHEDULE,
    KNOB_CHUNKS,
    KNOB_SPLIT,
    KNOB_SPLIT_SEED,
    KNOB_OVERLAP_PIPELINE,
    KNOB_SCATTER_GATHER,
    KNOB_ORDER,
    KNOB_PLACEMENT,
    KNOB_PLACEMENT_SEED,
    KNOB_MICRO_BATCHES, // of a replica
    KNOB_MICRO_BATCH,
    KNOB_ODD_BATCH, // sequences that are too many
    KNOB_PRECISION,
    KNOB_GRADIENTS,
    KNOB_OPTIMIZER,
    KNOB_ATTENTION,
    KNOB_FUSED,
    KNOB_ENGINE,
    KNOB_WINDOW,
    KNOB_COUNT,
    KNOB_GRAIN,
    KNOB_PROTOCOL,
    KNOB_ALGORITHM,
    KNOB_STEPS,
    KNOB_SEED,
    KNOB_CODING, // of gradients for their reduction
    KNOBS
} knob;

typedef struct made_plan {
    uint32_t value[KNOBS]; // the number or the place in the list of words
} made_plan;

made_plan plan_make(uint64_t seed, uint64_t index);
uint32_t plan_plainest(knob k);
const char *plan_knob_name(knob k);
// The scenario, and beside it the file "ranks.csv" where it names one, into the present folder.
bool plan_write(const made_plan *plan, const char *path);
