// SPDX-License-Identifier: GPL-3.0-or-later
// models/training/kernels.h: a transformer lowered to its kernels. Each list is what one GPU launches, in order, for one
// micro-batch. Written for tensor parallel size t from the start (t = 1: no sharding), sequence parallel included: the
// products divide by t (columns before attention and activation, rows after), what works on whole rows of the residual
// stream divides by t only with sequence parallel (Korthikanti et al. 2022). A list says where the collectives of the
// tensor-parallel group stand between its kernels, and where their results are waited for.
//
// It is our mistake, and asserted, to ask for what models/scenario_check.c refuses: a t that does not divide heads,
// kv_heads, ffn or (with sequence parallel) the tokens, and fp8 or fp4 products, whose quantise kernels are not modelled.
// Sizes are 64-bit: ask memory_need.h first, whatever fits into a GPU can be counted here.
#pragma once
#include "models/collective/plan.h"
#include "models/hardware/roofline.h"
#include "models/training/llm.h"
#include "sim/array.h"

typedef struct tensor_call { // a collective of the tensor-parallel group
    collective_kind kind;
    uint64_t bytes;   // as models/collective/plan.h defines them
    const char *name; // "attention.output all-reduce", a literal
} tensor_call;

// Before a kernel of a list (of index its number of kernels: behind the last) a collective begins, once all before it has
// ended, or the one that began last is waited for. They take turns, and the last one is waited for inside the list. What
// stands between the two can run beside the collective.
typedef struct tensor_point {
    uint32_t kernel;
    bool waits;
    tensor_call call; // of one that begins
} tensor_point;
ARRAY_OF(tensor_point, tensor_point_array);

// kernel_shape.launches counts kernels. Around them the host makes framework calls that launch nothing (views,
// allocations, autograd nodes, generator states), each taking about as long as a launch: host_calls of the whole list,
// beside its launches. A sim/array.h array, so appending to a list adds to both.
typedef struct kernel_array {
    kernel_shape *items;
    uint32_t count, capacity;
    uint32_t host_calls;
    tensor_point_array points; // in order; none when t = 1
} kernel_array;

typedef enum recompute_kind { RECOMPUTE_NONE, RECOMPUTE_SELECTIVE, RECOMPUTE_FULL } recompute_kind;
// One kernel of the program that the GPU's kernel set takes for flash; products and passes through memory; or one kernel of a
// program by name: ATTENTION_FA1 and so on in the order of attention_program.
typedef enum attention_kind { ATTENTION_FLASH, ATTENTION_UNFUSED, ATTENTION_FA1 } attention_kind;
extern const char *const attention_words[];            // "flash", "unfused", "fa1", ..., "eager", NULL
attention_program attention_program_of(int attention); // PROGRAM_FLASH for flash and unfused
bool attention_keeps_scores(int attention);            // in memory, for the backward pass: unfused and eager
typedef enum optimizer_kind { OPTIMIZER_ADAM, OPTIMIZER_SGD } optimizer_kind; // SGD with momentum

// Whether the product of a weight gradient adds to the accumulated one itself.
typedef enum accumulation_kind {
    ACCUMULATION_AS_FUSED,
    ACCUMULATION_FUSED,
    ACCUMULATION_APART
} accumulation_kind;

typedef struct kernel_settings {
    uint64_t micro_batch, sequence_length;
    dtype precision;     // of the products and activations
    dtype gradient_type; // of the accumulated gradients, which weight-gradient products add to
    int attention;       // attention_kind, or the word of a program
    uint32_t tensor;     // t
    bool sequence_parallel;
    bool user_buffers; // sequence parallel: collectives beside the products that they belong to
    // Norms, activation, rotary and softmax fused; else operation by operation.
    bool fused;
    int accumulation; // accumulation_kind; as fused: what fused says
} kernel_settings;

void kernels_layer_forward(const llm_def *m, const kernel_settings *s, arena *a, kernel_array *out);
void kernels_layer_backward(const llm_def *m, const kernel_settings *s, arena *a, kernel_array *out);
// What is computed again before a layer's backward: nothing; the attention core (selective: Korthikanti et al. 2022; with
// flash attention its backward does so itself, so nothing is added); the whole forward (full).
void kernels_layer_recompute(const llm_def *m, const kernel_settings *s, int recompute, arena *a,
                             kernel_array *out);
void kernels_embedding_forward(const llm_def *m, const kernel_settings *s, arena *a, kernel_array *out);
void kernels_embedding_backward(const llm_def *m, const kernel_settings *s, arena *a, kernel_array *out);
// Final norm, logits, loss.
void kernels_head_forward(const llm_def *m, const kernel_settings *s, arena *a, kernel_array *out);
void kernels_head_backward(const llm_def *m, const kernel_settings *s, arena *a, kernel_array *out);
// The step of the optimizer on the parameters of this GPU (its shard with ZeRO): norm and clipping of the gradients
// (gradient_bytes per element), states and master weights in fp32, the training copy (parameter_bytes) written. With
// parameter_bytes 4 the training copy is the master. Adam; SGD with momentum.
void kernels_optimizer(uint64_t parameters, double gradient_bytes, double parameter_bytes, arena *a,
                       kernel_array *out);
void kernels_optimizer_sgd(uint64_t parameters, double gradient_bytes, double parameter_bytes, arena *a,
                           kernel_array *out);
// Vocabulary padded to a multiple of 128 t (Megatron's rule): the rows of the logits kernels.
uint64_t kernels_padded_vocabulary(const llm_def *m, uint32_t tensor);
// What a GPU of the group holds of the vocabulary table: rows, and elements.
uint64_t kernels_table_rows(const llm_def *m, uint32_t tensor);
uint64_t kernels_table_elements(const llm_def *m, uint32_t tensor);
