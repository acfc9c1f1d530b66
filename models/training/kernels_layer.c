// SPDX-License-Identifier: GPL-3.0-or-later
// One transformer layer as kernels. Widths are of this GPU: q = a d / t, c = k d / t, f / t. Products:
//     forward, rows x in -> out:  QKV  h -> q + 2 c    output  q -> h    up  h -> f (2 f when gated)    down  f -> h
//     backward: a data gradient and a weight gradient for each, twice the FLOP.
// Attention over s x s scores, S = b (a / t) s^2 of them: flash attention is one kernel that skips the upper triangle,
// 4 S d / 2 FLOP forward, 2.5 times that backward for it computes the scores again (Dao, "FlashAttention-2", 2023).
// Unfused: two batched products of 2 S d FLOP each over the full square, softmax and dropout through memory, and four
// such products backward. Eager: the same operation by operation, as one kernel of a measured rate, which counts FLOP as flash
// attention does.
//
// Over the tensor-parallel group, each of w T h bytes (Shoeybi et al., "Megatron-LM", 2019; with sequence parallel
// Korthikanti et al. 2022): forward an all-reduce behind output and down, backward one of the gradient in front of QKV and
// up; with sequence parallel forward two all-gathers and two reduce-scatters, backward four (two of inputs) and two.
//
// Bytes of the elementwise kernels per layer, w = 2, E = tokens x h (all divided by t with sequence parallel), as they
// add up in the lists below; tests hold them:
//     GPT, fused, dropout and biases    forward 22 E + 16 E/t, backward 46 E + 38 E/t
//         unfused attention             8 E/t of copies and 9 bytes per score forward, 12 E/t and 11 backward
//     Llama, fused     forward 20 E + (4 (1 + k/a) + 6 f/h) E/t,  backward 28 E + (4 (1 + k/a) + 10 f/h) E/t
//     Llama, op by op  forward 84 E + (20 (1 + k/a) + 10 f/h) E/t, backward 112 E + (26 (1 + k/a) + 16 f/h) E/t
// (q = h in all; gradient accumulation apart). The passes counted are those of Megatron-LM, Transformer Engine and the
// reference code of Llama.
#include "models/training/kernel_list.h"

static const linear_names qkv_names = {
    .dgrad = "attention.qkv.dgrad",
    .wgrad = "attention.qkv.wgrad",
    .accumulate = "attention.qkv.accumulate",
    .bias = "attention.qkv.bias_gradient",
    .split = LINEAR_COLUMNS,
    .gather = "attention.qkv.wgrad all-gather",
    .reduce = "attention.qkv.dgrad all-reduce",
    .scatter = "attention.qkv.dgrad reduce-scatter",
};
static const linear_names output_names = {
    .dgrad = "attention.output.dgrad",
    .wgrad = "attention.output.wgrad",
    .accumulate = "attention.output.accumulate",
    .bias = "attention.output.bias_gradient",
    .split = LINEAR_ROWS,
    .gather = "attention.output.dgrad all-gather",
};
static const linear_names up_names = {
    .dgrad = "mlp.up.dgrad",
    .wgrad = "mlp.up.wgrad",
    .accumulate = "mlp.up.accumulate",
    .bias = "mlp.up.bias_gradient",
    .split = LINEAR_COLUMNS,
    .gather = "mlp.up.wgrad all-gather",
    .reduce = "mlp.up.dgrad all-reduce",
    .scatter = "mlp.up.dgrad reduce-scatter",
};
static const linear_names down_names = {
    .dgrad = "mlp.down.dgrad",
    .wgrad = "mlp.down.wgrad",
    .accumulate = "mlp.down.accumulate",
    .bias = "mlp.down.bias_gradient",
    .split = LINEAR_ROWS,
    .gather = "mlp.down.dgrad all-gather",
};

// A linear layer's forward product, with the calls of its collective when t > 1.
static uint32_t linear_calls(const kernel_list *l)
{
    return l->s->tensor > 1 ? 4 : 2;
}

// Split by columns: all rows are needed before the product.
static void columns_forward(kernel_list *l, const char *name, const char *gather, uint64_t out, uint64_t in)
{
    kernel_list_gathered_matmul(l, name, gather, out, in, linear_calls(l));
}

// Split by rows: each GPU has a part of every sum, and what follows needs the sums.
static void rows_forward(kernel_list *l, const char *name, const char *reduce, const char *scatter,
                         uint64_t out, uint64_t in)
{
    kernel_list_reduced_matmul(l, name, reduce, scatter, out, in, linear_calls(l));
}

static uint64_t score_count(const kernel_list *l)
{
    const uint64_t s = l->s->sequence_length;
    return kernel_list_product(kernel_list_product(l->s->micro_batch, l->heads), kernel_list_product(s, s));
}

// Flash attention's least traffic. Forward: Q, K, V read, O written, one fp32 statistic per row and head. Backward: Q,
// O, dO read and dQ written (4 q), K, V read and dK, dV written (4 c), two statistics.
static void flash_attention(kernel_list *l, const char *name, kernel_class class, double flop_ratio,
                            double tensors, double statistics, uint32_t launches, uint32_t calls)
{
    const double s = (double)l->s->sequence_length, tokens = (double)l->tokens;
    const uint64_t batch = kernel_list_product(l->s->micro_batch, l->heads);
    *array_push(l->out, l->a) = (kernel_shape){
        .name = name,
        .class = class,
        .type = l->s->precision,
        .batch = batch,
        .m = l->s->sequence_length,
        .n = l->s->sequence_length,
        .k = l->m->head_size,
        .flop = flop_ratio * 4.0 * (double)batch * s * s * (double)l->m->head_size / 2.0,
        .bytes = tokens *
                 (tensors * l->w * (double)(l->q_width + l->kv_width) + statistics * 4.0 * (double)l->heads),
        .launches = launches,
        .program = attention_program_of(l->s->attention),
    };
    l->out->host_calls += calls;
}

// The part of unfused attention that selective recomputation repeats: scores, softmax, dropout, times V. The softmax
// reads and writes the scores when fused; else it scales, masks, takes the softmax into fp32 and casts back.
static void unfused_core_forward(kernel_list *l)
{
    const uint64_t batch = kernel_list_product(l->s->micro_batch, l->heads), s = l->s->sequence_length;
    const uint64_t scores = score_count(l), d = l->m->head_size;
    const double cast = l->w < 4 ? 4 + l->w : 0;
    kernel_list_matmul(l, "attention.scores", batch, s, s, d, l->w, 0);
    if (l->m->position == POSITION_ALIBI) // a bias per head and key, the same for all rows: in the cache
        kernel_list_elementwise(l, "attention.alibi", scores, 1, 2 * l->w, 1, 2);
    if (l->fused)
        kernel_list_elementwise(l, "attention.softmax", scores, 5, 2 * l->w, 1, 0);
    else
        kernel_list_elementwise(l, "attention.softmax", scores, 7, 4 * l->w + (l->w + 4) + cast, 4, 0);
    if (l->m->dropout) kernel_list_elementwise(l, "attention.dropout", scores, 2, 2 * l->w + 1, 1, 0);
    kernel_list_matmul(l, "attention.context", batch, s, d, s, l->w, 0);
}

static void unfused_core_backward(kernel_list *l)
{
    const uint64_t batch = kernel_list_product(l->s->micro_batch, l->heads), s = l->s->sequence_length;
    const uint64_t scores = score_count(l), d = l->m->head_size;
    const double cast = l->w < 4 ? 4 + l->w : 0;
    kernel_list_matmul(l, "attention.context.dgrad", batch, s, s, d, l->w, 0); // dP = dO V^T
    kernel_list_matmul(l, "attention.value.dgrad", batch, s, d, s, l->w, 0);   // dV = P^T dO
    if (l->m->dropout)
        kernel_list_elementwise(l, "attention.dropout.backward", scores, 2, 2 * l->w + 1, 1, 0);
    if (l->fused)
        kernel_list_elementwise(l, "attention.softmax.backward", scores, 4, 3 * l->w, 1, 0);
    else
        kernel_list_elementwise(l, "attention.softmax.backward", scores, 5, cast + (8 + l->w) + 2 * l->w, 3,
                                0);
    kernel_list_matmul(l, "attention.query.dgrad", batch, s, d, s, l->w, 0); // dQ = dS K
    kernel_list_matmul(l, "attention.key.dgrad", batch, s, d, s, l->w, 0);   // dK = dS^T Q
}

// Unfused attention wants its heads side by side: Q and the context are copied, K and V repeated for each query head.
static void core_forward(kernel_list *l)
{
    if (l->s->attention != ATTENTION_UNFUSED) {
        flash_attention(l, "attention.core", KERNEL_ATTENTION_FORWARD, 1.0, 2, 1, 1, 9);
        return;
    }
    if (l->kv_width < l->q_width)
        kernel_list_elementwise(l, "attention.repeat", kernel_list_product(l->tokens, l->q_width), 1,
                                2 * l->w + 2 * l->w * (double)l->kv_width / (double)l->q_width, 2, 2);
    kernel_list_elementwise(l, "attention.copy", kernel_list_product(l->tokens, l->q_width), 1, 4 * l->w, 2,
                            9);
    unfused_core_forward(l);
}

static void core_backward(kernel_list *l)
{
    if (l->s->attention != ATTENTION_UNFUSED) {
        flash_attention(l, "attention.core.backward", KERNEL_ATTENTION_BACKWARD, 2.5, 4, 2, 3, 6);
        return;
    }
    unfused_core_backward(l);
    if (l->kv_width < l->q_width)
        kernel_list_elementwise(l, "attention.repeat.backward", kernel_list_product(l->tokens, l->q_width), 1,
                                2 * l->w + 2 * l->w * (double)l->kv_width / (double)l->q_width, 2, 2);
    // dQ, dK and dV are put side by side as the gradient of one product
    kernel_list_elementwise(l, "attention.copy.backward",
                            kernel_list_product(l->tokens, l->q_width + 2 * l->kv_width), 1, 2 * l->w, 1, 6);
}

// Rotary positions on Q and K: one pass fused; else halves negated and joined (1 + 2 passes), times cosine and sine (2
// each), added (3): 10 w. Backward of those: two products 4, the halves padded, negated and added 6, sum 3: 13 w.
static void rotary(kernel_list *l, const char *name, double passes, uint32_t launches)
{
    if (l->m->position != POSITION_ROPE) return;
    const uint64_t elements = kernel_list_product(l->tokens, l->q_width + l->kv_width);
    kernel_list_elementwise(l, name, elements, 3, (l->fused ? 2 : passes) * l->w, l->fused ? 2 : launches,
                            l->fused ? 0 : 2);
}

// The end of each half: bias and dropout (mask kept) and the addition to the residual stream, one pass when fused. The
// generator's state is forked around a dropout, five calls.
static void residual_forward(kernel_list *l, const char *residual, const char *dropout)
{
    const uint64_t elements = kernel_list_product(l->row_tokens, l->m->hidden);
    const bool apart = l->m->dropout && !l->fused;
    const double mask = l->m->dropout && l->fused ? 1 : 0;
    if (apart) kernel_list_elementwise(l, dropout, elements, 2, 2 * l->w + 1, 1, 5);
    kernel_list_elementwise(l, residual, elements, 1 + 2 * mask, 3 * l->w + mask, 1, mask > 0 ? 7 : 2);
}

static void dropout_backward(kernel_list *l, const char *dropout)
{
    if (!l->m->dropout) return;
    kernel_list_elementwise(l, dropout, kernel_list_product(l->row_tokens, l->m->hidden), 2, 2 * l->w + 1, 1,
                            1);
}

// The gradient that went around a half is added to the one that came through it.
static void residual_backward(kernel_list *l, const char *name)
{
    kernel_list_elementwise(l, name, kernel_list_product(l->row_tokens, l->m->hidden), 1, 3 * l->w, 1, 0);
}

// GELU or ReLU with the bias of the product before: 2 w fused or without bias, 4 w apart; apart, squaring is 2 w more.
// SwiGLU: gate and up in, one out, 3 w; apart, SiLU 2 and product 3: 5 w.
static void activation_forward(kernel_list *l)
{
    const uint64_t elements = kernel_list_product(l->tokens, l->ffn);
    if (l->m->activation == ACTIVATION_SWIGLU) {
        kernel_list_elementwise(l, "mlp.activation", elements, 6, (l->fused ? 3 : 5) * l->w, l->fused ? 1 : 2,
                                2);
        return;
    }
    const bool bias_apart = l->m->bias && !l->fused;
    const bool square_apart = l->m->activation == ACTIVATION_SQUARED_RELU && !l->fused;
    const uint32_t passes = 1u + bias_apart + square_apart;
    kernel_list_elementwise(l, "mlp.activation", elements, l->m->activation == ACTIVATION_GELU ? 12 : 2,
                            2 * passes * l->w, passes, 2);
}

// GELU, ReLU: gradient and input in, gradient out, 3 w; apart, squaring is as much again. SwiGLU: gradient, gate, up in, two
// gradients out, 5 w; apart 5 for the product and 3 for SiLU.
static void activation_backward(kernel_list *l)
{
    const uint64_t elements = kernel_list_product(l->tokens, l->ffn);
    if (l->m->activation == ACTIVATION_SWIGLU) {
        kernel_list_elementwise(l, "mlp.activation.backward", elements, 12, (l->fused ? 5 : 8) * l->w,
                                l->fused ? 1 : 3, 2);
    } else {
        const uint32_t passes = l->m->activation == ACTIVATION_SQUARED_RELU && !l->fused ? 2 : 1;
        kernel_list_elementwise(l, "mlp.activation.backward", elements,
                                l->m->activation == ACTIVATION_GELU ? 18 : 3, 3 * passes * l->w, passes, 2);
    }
}

static void layer_forward(kernel_list *l)
{
    const uint64_t h = l->m->hidden;
    kernel_list_norm_forward(l, "attention.norm");
    columns_forward(l, "attention.qkv", "attention.qkv all-gather", l->q_width + 2 * l->kv_width, h);
    if (l->m->qk_norm) kernel_list_head_norms_forward(l, "attention.qk_norm");
    rotary(l, "attention.rotary", 10, 10);
    core_forward(l);
    rows_forward(l, "attention.output", "attention.output all-reduce", "attention.output reduce-scatter", h,
                 l->q_width);
    residual_forward(l, "attention.residual", "attention.residual_dropout");
    kernel_list_norm_forward(l, "mlp.norm");
    columns_forward(l, "mlp.up", "mlp.up all-gather", l->up_width, h);
    activation_forward(l);
    rows_forward(l, "mlp.down", "mlp.down all-reduce", "mlp.down reduce-scatter", h, l->ffn);
    residual_forward(l, "mlp.residual", "mlp.residual_dropout");
}

void kernels_layer_forward(const llm_def *m, const kernel_settings *s, arena *a, kernel_array *out)
{
    kernel_list l = kernel_list_begin(m, s, a, out);
    layer_forward(&l);
}

void kernels_layer_backward(const llm_def *m, const kernel_settings *s, arena *a, kernel_array *out)
{
    kernel_list list = kernel_list_begin(m, s, a, out), *l = &list;
    const uint64_t h = m->hidden;
    dropout_backward(l, "mlp.residual_dropout.backward");
    kernel_list_linear_backward(l, &down_names, l->tokens, h, l->ffn, m->bias, l->row_tokens);
    activation_backward(l);
    kernel_list_linear_backward(l, &up_names, l->tokens, l->up_width, h, m->bias, l->tokens);
    kernel_list_norm_backward(l, "mlp.norm.backward");
    residual_backward(l, "mlp.residual.backward");
    dropout_backward(l, "attention.residual_dropout.backward");
    kernel_list_linear_backward(l, &output_names, l->tokens, h, l->q_width, m->bias, l->row_tokens);
    core_backward(l);
    rotary(l, "attention.rotary.backward", 13, 14);
    if (m->qk_norm) kernel_list_head_norms_backward(l, "attention.qk_norm.backward");
    kernel_list_linear_backward(l, &qkv_names, l->tokens, l->q_width + 2 * l->kv_width, h,
                                llm_has_qkv_bias(m), l->tokens);
    kernel_list_norm_backward(l, "attention.norm.backward");
    residual_backward(l, "attention.residual.backward");
}

void kernels_layer_recompute(const llm_def *m, const kernel_settings *s, int recompute, arena *a,
                             kernel_array *out)
{
    kernel_list l = kernel_list_begin(m, s, a, out);
    switch ((recompute_kind)recompute) {
    case RECOMPUTE_NONE: return;
    case RECOMPUTE_SELECTIVE:
        if (!attention_keeps_scores(s->attention)) return;
        if (s->attention == ATTENTION_UNFUSED)
            unfused_core_forward(&l);
        else
            core_forward(&l);
        break;
    case RECOMPUTE_FULL: layer_forward(&l); break;
    }
    // the checkpoint's own calls: inputs detached, the graph run again, generator states saved and restored
    out->host_calls += m->dropout ? 25 : 10;
}
