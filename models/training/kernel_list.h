// SPDX-License-Identifier: GPL-3.0-or-later
// models/training/kernel_list.h: what kernels_layer.c and kernels.c share to write their lists: the sizes one GPU works
// on, the two shapes of kernel that are appended, and the collectives between them. Nobody else includes it.
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
    bool adds_inside; // products of weight gradients add to the accumulated ones
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

// Collectives of the tensor-parallel group, before the kernel that is appended next; none when t = 1. Of the rows of the
// residual stream, w T h bytes: with sequence parallel they are gathered, else they are whole already; sums over the group
// are scattered with sequence parallel, else left whole.
void kernel_list_gather(kernel_list *l, const char *name);
void kernel_list_reduce(kernel_list *l, const char *whole_name, const char *scatter_name);
// Of fp32 numbers, one for each token; waited for at once.
void kernel_list_reduce_tokens(kernel_list *l, const char *name);
void kernel_list_wait(kernel_list *l); // for the collective that began last, if it has not been waited for

// A product of all rows of the stream, which are gathered before it, or whose sums are scattered behind it; names of the other
// form (whole sums) where there is no sequence parallel. With user buffers the product is cut into pieces of rows, and goes on
// while the other pieces still move.
void kernel_list_gathered_matmul(kernel_list *l, const char *name, const char *gather, uint64_t n, uint64_t k,
                                 uint32_t calls);
void kernel_list_reduced_matmul(kernel_list *l, const char *name, const char *whole, const char *scatter,
                                uint64_t n, uint64_t k, uint32_t calls);

// How a linear layer's matrix is split over the group: columns, each GPU with all of the input and a part of the output; or
// rows, each with a part of the input and, for the whole output, a part of each sum.
typedef enum linear_split { LINEAR_COLUMNS, LINEAR_ROWS } linear_split;
// Names of one linear layer's two backward products, of the addition that fused kernels spare, and of the collectives.
typedef struct linear_names {
    const char *dgrad, *wgrad, *accumulate, *bias;
    linear_split split;
    const char *gather;           // columns: of the input; rows: of the output's gradient
    const char *reduce, *scatter; // columns only: of the input's gradient
} linear_names;
// The backward pass of Y (rows x out) = X (rows x in) W: bias gradient if the layer has one, data gradient, weight gradient.
void kernel_list_linear_backward(kernel_list *l, const linear_names *names, uint64_t rows, uint64_t out,
                                 uint64_t in, bool bias, uint64_t bias_rows);

// Norms, forward and backward, of rows x h elements.
void kernel_list_norm_forward(kernel_list *l, const char *name);
void kernel_list_norm_backward(kernel_list *l, const char *name);
// Two norms, over the heads of the queries and over those of the keys: tokens x (q + c) elements together.
void kernel_list_head_norms_forward(kernel_list *l, const char *name);
void kernel_list_head_norms_backward(kernel_list *l, const char *name);
