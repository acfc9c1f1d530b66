// SPDX-License-Identifier: GPL-3.0-or-later
// models/hardware/roofline.h: the time of one kernel from its work and its shape.
//     t = n t0 + max( F / (P e c), B / (W m) )     t, t0 [s], F [FLOP], B [bytes], P [FLOP/s], W [bytes/s]
// n launches (at least one), t0 overhead of each, P data-sheet peak of the number format, e efficiency (below), c clock
// under load, W data-sheet memory rate, m memory efficiency at B. Williams, Waterman, Patterson: "Roofline: an insightful
// visual performance model for multicore architectures", CACM 52(4), 2009; the efficiencies are catalogue values, measured
// with 16-bit formats and used for all. They are interpolated linearly in log x (GSL) and constant beyond their ends.
//     matrix product   e at the FLOP of the kernel's products together (2 batch m n k): they fill the GPU at once
//     attention        e at the sequence length, for head size 128. F of a causal kernel is its lower triangle. For other
//                      head sizes d from 32 to 256: e(d) = e(128) d (128 + q) / (128 (d + q)), q = 18.6 (see roofline.c)
//     elementwise      P the vector peak, e = 1
// Valid for products of 1e9 FLOP and more and sequences of 512 and more. Left out: waves of tiles, alignment of m, n, k.
// The time is rounded once to whole nanoseconds and at least one; a kernel without FLOP and bytes takes none.
#pragma once
#include "models/hardware/gpu.h"
#include "sim/arena.h"
#include "sim/units.h"
#include <stdbool.h>

typedef enum kernel_class {
    KERNEL_MATMUL,
    KERNEL_ATTENTION_FORWARD,
    KERNEL_ATTENTION_BACKWARD,
    KERNEL_ELEMENTWISE
} kernel_class;
extern const char
    *const kernel_class_words[]; // "matmul", "attention-forward", "attention-backward", "elementwise", NULL
typedef enum kernel_bound { BOUND_TENSOR_CORE, BOUND_HBM, BOUND_LAUNCH, BOUND_VECTOR } kernel_bound;
extern const char *const kernel_bound_words[]; // "tensor-core", "hbm", "launch", "vector", NULL

typedef struct kernel_shape {
    const char *name; // "attention.qkv", a literal
    kernel_class class;
    dtype type;
    // matmul: batch products m x k by k x n; attention: batch b x heads, m = n = length, k = head size; elementwise: m
    // elements, n = k = 1.
    uint64_t batch, m, n, k;
    double flop;       // really executed
    double bytes;      // least traffic with the memory
    uint32_t launches; // of the host
} kernel_shape;

// A kernel that takes longer is a mistake in its numbers: it is given this time and marked.
#define ROOFLINE_LONGEST_S 1000.0

typedef struct kernel_cost {
    bool too_long;      // longer than ROOFLINE_LONGEST_S
    sim_time time_ps;   // on the GPU
    kernel_bound bound; // what decides time_ps; LAUNCH when the overhead is more than half of it
    double efficiency;  // flop / (time x P); where memory takes longer than the products, bytes / (time x W)
} kernel_cost;

typedef struct roofline roofline; // a gpu_def with its curves made ready
roofline *roofline_create(arena *a, const gpu_def *gpu);
// clock_ratio: this very GPU's clock against a healthy one (1), memory_ratio the same for its memory.
kernel_cost roofline_cost(const roofline *r, const kernel_shape *kernel, double clock_ratio,
                          double memory_ratio);
sim_time roofline_launch_ps(const roofline *r); // host time per launch
const gpu_def *roofline_gpu(const roofline *r);
