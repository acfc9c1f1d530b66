// SPDX-License-Identifier: GPL-3.0-or-later
// models/training/kernel_list.h: what kernels_layer.c and kernels.c share to write their lists: the sizes one GPU works
// on, and the two shapes of kernel that are appended. Nobody else includes it.
#pragma once
#include "models/training/kernels.h"

typedef struct kernel_list {
    arena *a;
    kernel_array *out;
    const llm_def *m;
    const kernel_settings *s;
    uint64_t tokens;            // T = micro-batch x sequence length
    uint64_t row_tokens;        // rows of the residual stream kept here: T, or T / t with sequence parallel
    uint64_t heads, kv_heads;   // of this GPU: a / t, k / t
    uint64_t q_width, kv_width; // of this GPU: a d / t, k d / t
    uint64_t ffn, up_width;     // of this GPU: f / t, and twice that when gated
    double w;                   // bytes of one element of activations, weights and products
    double gradient_bytes;      // of one element of the accumulated gradients
    bool fused;
} kernel_list;

kernel_list kernel_list_begin(const llm_def *m, const kernel_settings *s, arena *a, kernel_array *out);
// The product of two sizes; asserts that it fits.
uint64_t kernel_list_product(uint64_t x, uint64_t y);
// batch products (m x k) (k x n): 2 batch m n k FLOP; both operands read once, result_bytes moved per element of the
// result (w: written; more: also read, to be added to). One launch, and calls of the framework around it.
void kernel_list_matmul(kernel_list *l, const char *name, uint64_t batch, uint64_t m, uint64_t n, uint64_t k,
                        double result_bytes, uint32_t calls);
// One pass over elements, or several when it is launched operation by operation; launches kernels, and calls around them.
void kernel_list_elementwise(kernel_list *l, const char *name, uint64_t elements, double flop_each,
                             double bytes_each, uint32_t launches, uint32_t calls);

// Names of one linear layer's two backward products, and of the addition that fused kernels spare.
typedef struct linear_names {
    const char *dgrad, *wgrad, *accumulate, *bias;
} linear_names;
// The backward pass of Y (rows x out) = X (rows x in) W: bias gradient if the layer has one, data gradient, weight gradient.
void kernel_list_linear_backward(kernel_list *l, const linear_names *names, uint64_t rows, uint64_t out,
                                 uint64_t in, bool bias, uint64_t bias_rows);

// Norms, forward and backward, of rows x h elements.
void kernel_list_norm_forward(kernel_list *l, const char *name);
void kernel_list_norm_backward(kernel_list *l, const char *name);
