// SPDX-License-Identifier: GPL-3.0-or-later
// models/training/memory_need.h: bytes per GPU by part: weights, gradients, optimizer states, activations, logits,
// communication buffers, reserve. Formulae with their sources stand in memory_need.c.
#pragma once
#include "models/training/kernels.h"

typedef enum sharding_kind { SHARDING_NONE, SHARDING_ZERO_1, SHARDING_ZERO_2, SHARDING_ZERO_3 } sharding_kind;
typedef enum optimizer_kind { OPTIMIZER_ADAM, OPTIMIZER_SGD } optimizer_kind;

typedef struct memory_settings {
    kernel_settings kernels;
    int recompute;        // recompute_kind
    int sharding;         // sharding_kind
    uint32_t data;        // data-parallel size
    uint32_t layers_here; // transformer layers of this GPU's stage
    bool has_embedding, has_head;
    uint32_t micro_batches_in_flight; // per stage; 1 without pipeline
    double gradient_bytes;            // per element, accumulated gradients
    double parameter_bytes;           // per element, training copy
    uint64_t bucket_bytes;            // largest communication bucket held beside the gradients; 0: none
    uint64_t reserved_bytes;          // gpu_def.reserved_bytes
} memory_settings;

enum {
    MEMORY_PARAMETERS,
    MEMORY_GRADIENTS,
    MEMORY_OPTIMIZER,
    MEMORY_ACTIVATIONS,
    MEMORY_LOGITS,
    MEMORY_BUFFERS,
    MEMORY_RESERVED,
    MEMORY_PARTS
};
extern const char *const memory_part_words[MEMORY_PARTS];

typedef struct memory_need {
    uint64_t bytes[MEMORY_PARTS];
    uint64_t total_bytes;
} memory_need;

memory_need memory_need_of(const llm_def *m, const memory_settings *s);
uint64_t memory_parameters_here(const llm_def *m, const memory_settings *s); // parameters this GPU holds
