// SPDX-License-Identifier: GPL-3.0-or-later
// models/training/memory_need.h: bytes per GPU by part at the worst moment of a step: weights, gradients, optimizer states,
// activations, logits, what a layer's backward pass works on, communication buffers, what the allocator cannot use, reserve.
// Formulae with their sources stand in memory_need.c. It never fails: what is beyond any memory is counted as
// MEMORY_PART_MAX_BYTES.
#pragma once
#include "models/training/gradient_coding.h"

typedef enum sharding_kind { SHARDING_NONE, SHARDING_ZERO_1, SHARDING_ZERO_2, SHARDING_ZERO_3 } sharding_kind;

// What is kept from forward to backward, at the worst moment of a step. Each number has a moment of its own, so what follows
// from all together is an upper bound.
typedef struct memory_in_flight {
    uint64_t layers;     // summed over the passes whose backwards are still to come: layers they went through
    uint32_t embeddings; // such passes through the embedding
    uint32_t heads;      // through the head
    uint32_t messages;   // activations and gradients of a micro-batch on their way from or to other stages
} memory_in_flight;

typedef struct memory_settings {
    kernel_settings kernels;
    int recompute;        // recompute_kind
    int sharding;         // sharding_kind
    int optimizer;        // optimizer_kind
    uint32_t data;        // data-parallel size
    uint32_t layers_here; // transformer layers of this GPU's stage
    bool has_embedding, has_head;
    memory_in_flight in_flight; // models/training/in_flight.h
    bool scattered_messages;    // a tensor-parallel group shares out what it sends to another stage
    double gradient_bytes;      // per element, accumulated gradients
    double parameter_bytes;     // per element, training copy
    gradient_coding coding;     // in which form they are reduced
    uint64_t bucket_bytes;   // of gradients reduced together, held beside them: at most all of them; 0: none
    uint64_t reserved_bytes; // gpu_def.reserved_bytes
} memory_settings;

enum {
    MEMORY_PARAMETERS, // the training copy
    MEMORY_GRADIENTS,
    MEMORY_OPTIMIZER,
    MEMORY_FEEDBACK,    // what compression has not sent yet; 0 without it, as the next one
    MEMORY_CODED,       // gradients as they are sent and received, where that is not as they are kept
    MEMORY_ACTIVATIONS, // kept from forward to backward
    MEMORY_LOGITS,      // logits and their softmax
    MEMORY_WORKING,     // one layer in its backward pass: gradients of activations, what is computed again
    MEMORY_BUFFERS,     // communication
    MEMORY_ALLOCATOR,   // free but in pieces of the wrong size
    MEMORY_RESERVED,    // driver context, communication library
    MEMORY_PARTS
};
#define MEMORY_PART_MAX_BYTES (UINT64_C(1) << 59)
extern const char *const memory_part_words[MEMORY_PARTS];

typedef struct memory_need {
    uint64_t bytes[MEMORY_PARTS];
    uint64_t total_bytes;
} memory_need;

memory_need memory_need_of(const llm_def *m, const memory_settings *s);
// Parameters this GPU holds before ZeRO shares them out: its layers, its share of each tensor-parallel matrix, vocabulary
// padded (kernels_padded_vocabulary). A tied table is held once by a stage with both ends, and once by each end else.
uint64_t memory_parameters_here(const llm_def *m, const memory_settings *s);
typedef struct memory_parts { // the same by part: head + layers_here x layer + embedding
    uint64_t head, layer, embedding;
} memory_parts;
memory_parts memory_parts_here(const llm_def *m, const memory_settings *s);
typedef enum memory_part_kind { PART_HEAD, PART_LAYER, PART_EMBEDDING } memory_part_kind;
enum { MEMORY_TENSORS_MAX = 5 };
// The weights of a part as this GPU holds them, in the order in which the backward pass has their gradients; what is no matrix
// in one. They add up to memory_parts_here(). Returns how many.
uint32_t memory_tensors_here(const llm_def *m, const memory_settings *s, memory_part_kind part,
                             gradient_tensor out[MEMORY_TENSORS_MAX]);
// The same for one layer: what one unit of a layer-wise gather or reduction moves.
uint64_t memory_layer_parameters_here(const llm_def *m, uint32_t tensor);
