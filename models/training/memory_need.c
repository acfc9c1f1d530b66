// SPDX-License-Identifier: GPL-3.0-or-later
// Weights and states are exact counts. Activations are counted tensor by tensor, as a framework keeps them; for a GPT
// with dropout and unfused attention the sum is the published formula of
//     Korthikanti et al., "Reducing activation recomputation in large transformer models", 2022 (MLSys 2023):
//     per layer, in bytes, w = 2:   s b h (34 + 5 a s / h)                      eq. 1, t = 1
//                                   s b h (10 + 24 / t + 5 a s / (h t))         eq. 2, tensor parallel
//                                   s b h / t (34 + 5 a s / h)                  eq. 4, with sequence parallel
//     selective recomputation drops the 5 a s / h term; full keeps the layer's input, 2 s b h.
// Flash attention keeps its output and one fp32 number per row and head instead of the scores. Grouped queries, gated
// activations, no dropout, other norms and number formats follow from the list in layer_kept_bytes(). Left out: two
// numbers per row of a norm, token ids, rotary tables.
#include "models/training/memory_need.h"
#include <math.h>

const char *const memory_part_words[MEMORY_PARTS] = {
    "parameters",  "gradients",       "optimizer states", "error feedback",        "encoded gradients",
    "activations", "logits and loss", "working set",      "communication buffers", "allocator overhead",
    "reserved",
};

// Sizes of this GPU as doubles: exact up to 2^53, far beyond a memory; what is larger only has to stay large.
typedef struct sizes {
    double w;                  // bytes of an activation
    double tokens;             // T = b s
    double rows;               // rows of the residual stream kept: T, or T / t with sequence parallel
    double h, q, c;            // widths: hidden, queries, keys; q, c and f divided by t
    double f, up;              // feed-forward width, and of what enters the activation (twice f when gated)
    double statistics, scores; // per GPU: T a / t, b a / t s^2
} sizes;

static sizes sizes_of(const llm_def *m, const kernel_settings *k)
{
    SIM_ASSERT(k->tensor > 0 && k->micro_batch > 0 && k->sequence_length > 0);
    SIM_ASSERT(m->kv_heads > 0 && m->head_size > 0); // llm_complete() has been here
    const double t = k->tensor, tokens = (double)k->micro_batch * (double)k->sequence_length;
    const double heads = m->heads / t, d = (double)m->head_size;
    return (sizes){
        .w = dtype_bytes(k->precision),
        .tokens = tokens,
        .rows = k->sequence_parallel ? tokens / t : tokens,
        .h = (double)m->hidden,
        .q = heads * d,
        .c = m->kv_heads / t * d,
        .f = (double)m->ffn / t,
        .up = llm_up_products(m) * (double)m->ffn / t,
        .statistics = tokens * heads,
        .scores = tokens * heads * (double)k->sequence_length,
    };
}

// Scores kept by unfused attention: the softmax (in fp32 as well, operation by operation), and what dropout made of it
// with its mask: w + w + 1 = 5 bytes per score.
static double core_kept_bytes(const llm_def *m, const kernel_settings *k, const sizes *z)
{
    if (!attention_keeps_scores(k->attention)) return 4.0 * z->statistics;
    const bool fused = k->fused && attention_keeps_scores(k->attention);
    const double fp32_copy = !fused && z->w < 4 ? 4.0 : 0.0;
    return z->scores * (z->w + fp32_copy + (m->dropout ? z->w + 1.0 : 0.0));
}

// Input of a norm and its output, which the product behind it keeps. An RMSNorm operation by operation keeps its input
// as fp32 instead, and the scaled row before the weight.
static double norm_kept_each_bytes(const llm_def *m, const kernel_settings *k, const sizes *z)
{
    const bool apart = m->norm == NORM_RMSNORM && !k->fused;
    return apart ? 4.0 + 2.0 * z->w : 2.0 * z->w;
}

static double norm_kept_bytes(const llm_def *m, const kernel_settings *k, const sizes *z)
{
    return z->rows * z->h * norm_kept_each_bytes(m, k, z);
}

// Of the norms over queries and keys what they keep besides their output, which attention keeps.
static double head_norms_kept_bytes(const llm_def *m, const kernel_settings *k, const sizes *z)
{
    if (!m->qk_norm) return 0.0;
    return z->tokens * (z->q + z->c) * (norm_kept_each_bytes(m, k, z) - z->w);
}

static double layer_kept_bytes(const llm_def *m, const kernel_settings *k, int recompute)
{
    const sizes z = sizes_of(m, k);
    if (recompute == RECOMPUTE_FULL) return z.w * z.rows * z.h; // the layer's input
    const bool core_again = recompute == RECOMPUTE_SELECTIVE && attention_keeps_scores(k->attention);
    const double masks = m->dropout ? 2.0 * z.rows * z.h : 0.0; // after attention, after feed-forward
    const double kv = attention_keeps_scores(k->attention) ? z.q
                                                           : z.c; // unfused: repeated for each query head
    const double qkv = z.w * z.tokens * (z.q + 2.0 * kv);         // into attention
    const double output = z.w * z.tokens * z.q;                   // attention's output: input of a product
    const bool gate_apart = m->activation == ACTIVATION_SWIGLU && !k->fused;
    // Its input; its output: input of a product, from which ReLU's gradient follows as well. SiLU(gate), for the product.
    const double into = m->activation == ACTIVATION_RELU ? 0.0 : z.up;
    const double activation = z.w * z.tokens * (into + z.f + (gate_apart ? z.f : 0.0));
    return 2.0 * norm_kept_bytes(m, k, &z) + head_norms_kept_bytes(m, k, &z) + masks + qkv + output +
           activation + (core_again ? 0.0 : core_kept_bytes(m, k, &z));
}

// Outside the layers (Korthikanti et al. 2022, section 4.3): the embedding's dropout mask and what its norm keeps besides its
// output, which is the first layer's input; in the stage with the head the inputs of the last norm and of the logits.
static double ends_kept_bytes(const llm_def *m, const memory_settings *s)
{
    const sizes z = sizes_of(m, &s->kernels);
    const double mask = s->has_embedding && m->dropout ? z.rows * z.h : 0.0;
    const double norm = s->has_embedding && m->embedding_norm
                            ? norm_kept_bytes(m, &s->kernels, &z) - z.w * z.rows * z.h
                            : 0.0;
    const double head = s->has_head ? norm_kept_bytes(m, &s->kernels, &z) : 0.0;
    return s->in_flight.embeddings * (mask + norm) + s->in_flight.heads * head;
}

// Logits over the padded vocabulary: w bytes as the product wrote them (later their gradient), and their fp32 softmax,
// which waits for the backward pass; operation by operation an fp32 copy beside it.
static double logits_bytes(const llm_def *m, const memory_settings *s)
{
    if (!s->has_head) return 0.0;
    const kernel_settings *k = &s->kernels;
    const sizes z = sizes_of(m, k);
    const double logits = z.tokens * (double)(kernels_table_rows(m, k->tensor));
    return logits * (z.w + (k->fused ? 0.0 : 4.0) + 4.0 * s->in_flight.heads);
}

// What exists only while one layer is in its backward pass. Gradients of the activations in hand: in the feed-forward
// half of its output, of the activation's output and input; in the attention half of its output, of the context, of Q,
// K, V and, unfused, of the scores before and after the softmax; and beside either the gradient of the residual stream.
// With sequence parallel a whole row block gathered from the others. With recomputation what was computed again.
static double working_bytes(const llm_def *m, const memory_settings *s)
{
    const kernel_settings *k = &s->kernels;
    if (!s->layers_here) return 0.0;
    const sizes z = sizes_of(m, k);
    const double scores = attention_keeps_scores(k->attention) ? 2.0 * z.scores : 0.0;
    const double mlp = z.tokens * (z.f + z.up), attention = z.tokens * (2.0 * z.q + 2.0 * z.c) + scores;
    const double gathered = k->sequence_parallel && k->tensor > 1 ? z.tokens * z.h : 0.0;
    double again = 0.0;
    if (s->recompute == RECOMPUTE_FULL)
        again = layer_kept_bytes(m, k, RECOMPUTE_NONE) - layer_kept_bytes(m, k, RECOMPUTE_FULL);
    if (s->recompute == RECOMPUTE_SELECTIVE && attention_keeps_scores(k->attention))
        again = core_kept_bytes(m, k, &z);
    return z.w * (fmax(mlp, attention) + 2.0 * z.rows * z.h + gathered) + again;
}

// As llm_layer_parameters(), with the matrices and the biases of split columns divided by t.
uint64_t memory_layer_parameters_here(const llm_def *m, uint32_t tensor)
{
    SIM_ASSERT(tensor > 0 && m->heads % tensor == 0 && m->kv_heads % tensor == 0 && m->ffn % tensor == 0);
    const uint64_t q = m->heads / tensor * m->head_size, c = m->kv_heads / tensor * m->head_size;
    const uint64_t f = m->ffn / tensor, up = llm_up_products(m), h = m->hidden;
    const uint64_t matrices = h * (q + 2 * c) + q * h + (up + 1) * h * f;
    const uint64_t biases = (llm_has_qkv_bias(m) ? q + 2 * c : 0) + (m->bias ? up * f + 2 * h : 0);
    return matrices + biases + 2 * llm_norm_parameters(m) + llm_qk_norm_parameters(m);
}

memory_parts memory_parts_here(const llm_def *m, const memory_settings *s)
{
    const uint64_t table = kernels_table_elements(m, s->kernels.tensor);
    const bool head_table = !m->tied_embeddings || !s->has_embedding;
    const uint64_t positions = m->position == POSITION_LEARNED ? m->max_sequence * m->hidden : 0;
    const uint64_t norm = m->embedding_norm ? llm_norm_parameters(m) : 0;
    return (memory_parts){
        .head = s->has_head ? llm_norm_parameters(m) + (head_table ? table : 0) : 0,
        .layer = memory_layer_parameters_here(m, s->kernels.tensor),
        .embedding = s->has_embedding ? table + positions + norm : 0,
    };
}

static uint32_t add_tensor(gradient_tensor *out, uint32_t count, uint64_t rows, uint64_t columns)
{
    if (rows == 0) return count;
    out[count] = (gradient_tensor){ .rows = rows, .columns = columns };
    return count + 1;
}

// As Megatron-LM holds them: queries, keys and values in one matrix, gate and up-projection in one.
static uint32_t layer_tensors(const llm_def *m, uint32_t t, gradient_tensor *out)
{
    const uint64_t q = m->heads / t * m->head_size, c = m->kv_heads / t * m->head_size;
    const uint64_t f = m->ffn / t, up = llm_up_products(m) * f, h = m->hidden;
    const uint64_t matrices = h * (q + 2 * c) + q * h + up * h + h * f;
    uint32_t count = add_tensor(out, 0, h, f);
    count = add_tensor(out, count, up, h);
    count = add_tensor(out, count, h, q);
    count = add_tensor(out, count, q + 2 * c, h);
    return add_tensor(out, count, memory_layer_parameters_here(m, t) - matrices, 1);
}

uint32_t memory_tensors_here(const llm_def *m, const memory_settings *s, memory_part_kind part,
                             gradient_tensor out[MEMORY_TENSORS_MAX])
{
    const memory_parts parts = memory_parts_here(m, s);
    const uint64_t rows = kernels_table_rows(m, s->kernels.tensor), table = rows * m->hidden;
    const bool tied = m->tied_embeddings && s->has_embedding;
    const uint64_t positions = m->position == POSITION_LEARNED ? m->max_sequence : 0;
    uint32_t count;
    switch (part) {
    case PART_HEAD:
        if (!s->has_head) return 0;
        count = tied ? 0 : add_tensor(out, 0, rows, m->hidden);
        return add_tensor(out, count, parts.head - (tied ? 0 : table), 1);
    case PART_LAYER: return layer_tensors(m, s->kernels.tensor, out);
    case PART_EMBEDDING:
        if (!s->has_embedding) return 0;
        count = add_tensor(out, 0, positions, m->hidden);
        count = add_tensor(out, count, rows, m->hidden);
        return add_tensor(out, count, parts.embedding - table - positions * m->hidden, 1);
    }
    SIM_ASSERT(false);
    return 0;
}

uint64_t memory_parameters_here(const llm_def *m, const memory_settings *s)
{
    const memory_parts parts = memory_parts_here(m, s);
    return parts.head + s->layers_here * parts.layer + parts.embedding;
}

// fp32 master copy 4 (none when training is in fp32), fp32 moments: Adam 4 + 4, SGD with momentum 4. Rajbhandari et al.,
// "ZeRO", SC'20: K = 12 for mixed-precision Adam.
static double optimizer_bytes_each(const memory_settings *s)
{
    SIM_ASSERT(s->optimizer == OPTIMIZER_ADAM || s->optimizer == OPTIMIZER_SGD);
    return (s->parameter_bytes < 4.0 ? 4.0 : 0.0) + (s->optimizer == OPTIMIZER_ADAM ? 8.0 : 4.0);
}

// Communication: the bucket being reduced, which holds no more than there are gradients. ZeRO-2 and 3 hold the gradient of
// one unit whole until it is reduced, ZeRO-3 the gathered weights of two units, the one in use and the next; a unit is a
// layer or a vocabulary table. Between the stages of a pipeline a message is a micro-batch's rows of the residual stream, or
// their gradient; what has arrived for a pass in flight counts as its first layer's input, and what has left is given up at
// once (Megatron-LM: deallocate_pipeline_outputs).
static double buffer_bytes(const llm_def *m, const memory_settings *s)
{
    const uint32_t t = s->kernels.tensor;
    const double layer = s->layers_here ? (double)memory_layer_parameters_here(m, t) : 0.0;
    const double table = s->has_embedding || s->has_head ? (double)kernels_table_elements(m, t) : 0.0;
    const double unit = fmax(layer, table);
    const double gradients = (double)memory_parameters_here(m, s) * s->gradient_bytes;
    const sizes z = sizes_of(m, &s->kernels);
    const double rows = s->scattered_messages ? z.tokens / t : z.rows;
    double bytes = fmin((double)s->bucket_bytes, gradients) + s->in_flight.messages * z.w * rows * z.h;
    if (s->sharding >= SHARDING_ZERO_2) bytes += unit * s->gradient_bytes;
    if (s->sharding >= SHARDING_ZERO_3) bytes += 2.0 * unit * s->parameter_bytes;
    return bytes;
}

// Sums are decoded behind the last backward pass, so that all buckets are there at once at most. Factors are counted matrix by
// matrix.
static double coded_bytes(const llm_def *m, const memory_settings *s)
{
    const gradient_coding *c = &s->coding;
    if (c->kind != CODING_POWERSGD)
        return coding_copies_bytes(c, (double)memory_parameters_here(m, s), NULL, 0);
    double bytes = 0.0;
    for (int part = PART_HEAD; part <= PART_EMBEDDING; part++) {
        gradient_tensor tensors[MEMORY_TENSORS_MAX];
        const uint32_t count = memory_tensors_here(m, s, (memory_part_kind)part, tensors);
        bytes += (part == PART_LAYER ? s->layers_here : 1) * coding_copies_bytes(c, 0.0, tensors, count);
    }
    return bytes;
}

// A caching allocator hands out large blocks in units of 2 MiB and reuses one only for what fits into it, so part of what
// comes and goes in every micro-batch is always free in pieces of the wrong size. Grade: assumed, 3 % of it; weights and
// states stay where they are and cost nothing.
#define ALLOCATOR_WASTE_RATIO 0.03
#define ALLOCATOR_UNIT_BYTES 2097152.0

static uint64_t whole_bytes(double bytes)
{
    SIM_ASSERT(bytes >= 0.0);
    return bytes < (double)MEMORY_PART_MAX_BYTES ? (uint64_t)ceil(bytes) : MEMORY_PART_MAX_BYTES;
}

memory_need memory_need_of(const llm_def *m, const memory_settings *s)
{
    SIM_ASSERT(s->data > 0 && s->in_flight.layers >= s->layers_here);
    const double all = (double)memory_parameters_here(m, s), shard = ceil(all / s->data);
    const double layer = layer_kept_bytes(m, &s->kernels, s->recompute);
    const double activations = (double)s->in_flight.layers * layer + ends_kept_bytes(m, s);
    const double logits = logits_bytes(m, s), working = working_bytes(m, s), buffers = buffer_bytes(m, s);
    const double coded = coded_bytes(m, s);
    const double dynamic = activations + logits + working + buffers + coded;
    const double waste = ALLOCATOR_UNIT_BYTES * ceil(ALLOCATOR_WASTE_RATIO * dynamic / ALLOCATOR_UNIT_BYTES);
    const double bytes[MEMORY_PARTS] = {
        [MEMORY_PARAMETERS] = (s->sharding >= SHARDING_ZERO_3 ? shard : all) * s->parameter_bytes,
        [MEMORY_GRADIENTS] = (s->sharding >= SHARDING_ZERO_2 ? shard : all) * s->gradient_bytes,
        [MEMORY_OPTIMIZER] = (s->sharding >= SHARDING_ZERO_1 ? shard : all) * optimizer_bytes_each(s),
        [MEMORY_FEEDBACK] = coding_feedback_bytes(&s->coding, all),
        [MEMORY_CODED] = coded,
        [MEMORY_ACTIVATIONS] = activations,
        [MEMORY_LOGITS] = logits,
        [MEMORY_WORKING] = working,
        [MEMORY_BUFFERS] = buffers,
        [MEMORY_ALLOCATOR] = waste,
        [MEMORY_RESERVED] = (double)s->reserved_bytes,
    };
    memory_need need = { .total_bytes = 0 };
    for (uint32_t i = 0; i < MEMORY_PARTS; i++) {
        need.bytes[i] = whole_bytes(bytes[i]);
        need.total_bytes += need.bytes[i];
    }
    return need;
}
