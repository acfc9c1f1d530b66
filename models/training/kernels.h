// SPDX-License-Identifier: GPL-3.0-or-later
// models/training/kernels.h: a transformer lowered to its kernels. Each list is what one GPU launches, in order, for one
// micro-batch. Written for tensor parallel size t from the start (t = 1: no sharding), sequence parallel included.
#pragma once
#include "models/hardware/roofline.h"
#include "models/training/llm.h"
#include "sim/array.h"

ARRAY_OF(kernel_shape, kernel_array);

typedef enum recompute_kind { RECOMPUTE_NONE, RECOMPUTE_SELECTIVE, RECOMPUTE_FULL } recompute_kind;
typedef enum attention_kind { ATTENTION_FLASH, ATTENTION_UNFUSED } attention_kind;

typedef struct kernel_settings {
    uint64_t micro_batch, sequence_length;
    dtype precision; // of the products
    int attention;   // attention_kind
    uint32_t tensor; // t
    bool sequence_parallel;
    bool fused; // norms, activation and rotary fused into single kernels (else op by op)
} kernel_settings;

void kernels_layer_forward(const llm_def *m, const kernel_settings *s, arena *a, kernel_array *out);
void kernels_layer_backward(const llm_def *m, const kernel_settings *s, arena *a, kernel_array *out);
// What is computed again before a layer's backward: nothing; the attention core (selective: Korthikanti et al. 2022; with
// flash attention its backward does so itself, so nothing is added); the whole forward (full).
void kernels_layer_recompute(const llm_def *m, const kernel_settings *s, int recompute, arena *a,
                             kernel_array *out);
void kernels_embedding_forward(const llm_def *m, const kernel_settings *s, arena *a, kernel_array *out);
void kernels_embedding_backward(const llm_def *m, const kernel_settings *s, arena *a, kernel_array *out);
void kernels_head_forward(const llm_def *m, const kernel_settings *s, arena *a,
                          kernel_array *out); // final norm, logits, loss
void kernels_head_backward(const llm_def *m, const kernel_settings *s, arena *a, kernel_array *out);
// Adam on parameters elements of this GPU, with gradient_bytes per gradient element and master weights in fp32.
void kernels_optimizer(uint64_t parameters, double gradient_bytes, double parameter_bytes, arena *a,
                       kernel_array *out);
// Vocabulary padded to a multiple of 128 t (Megatron's rule): the rows of the logits kernels.
uint64_t kernels_padded_vocabulary(const llm_def *m, uint32_t tensor);
