// SPDX-License-Identifier: GPL-3.0-or-later
// models/hardware/roofline.h: the time of one kernel from its work and its shape.
//     t = t_overhead + max( F / (P(dtype) e(F) c), B / (W m(B)) )          t [s], F [FLOP], B [bytes]
// P data-sheet peak, e efficiency curve (matrix product: by FLOP; attention: by sequence length), c sustained clock,
// W data-sheet memory rate, m memory efficiency. Curves are interpolated in log x (GSL) and constant outside their range.
// Source of the form: Williams, Waterman, Patterson, "Roofline", CACM 52(4), 2009; the efficiencies are catalogue values.
// The time is rounded once to whole nanoseconds.
#pragma once
#include "models/hardware/gpu.h"
#include "sim/arena.h"
#include "sim/units.h"

typedef enum kernel_class {
    KERNEL_MATMUL,
    KERNEL_ATTENTION_FORWARD,
    KERNEL_ATTENTION_BACKWARD,
    KERNEL_ELEMENTWISE
} kernel_class;
typedef enum kernel_bound { BOUND_TENSOR_CORE, BOUND_HBM, BOUND_LAUNCH } kernel_bound;
extern const char *const kernel_bound_words[]; // "tensor-core", "hbm", "launch"

typedef struct kernel_shape {
    const char *name; // "attention.qkv", a literal
    kernel_class class;
    dtype type;
    uint64_t batch, m, n,
        k; // matmul: batch products m x k by k x n; attention: batch b x heads, m = n = length, k = head size;
           // elementwise: m elements, n = k = 1
    double flop;       // really executed
    double bytes;      // least traffic with the memory
    uint32_t launches; // of the host
} kernel_shape;

typedef struct kernel_cost {
    sim_time time_ps;   // on the GPU
    kernel_bound bound; // what decides time_ps; LAUNCH when the overhead is more than half of it
    double efficiency;  // of the peak: flop / (time x P); for memory-bound kernels bytes / (time x W)
} kernel_cost;

typedef struct roofline roofline; // a gpu_def with its curves made ready
roofline *roofline_create(arena *a, const gpu_def *gpu);
// clock_ratio: this very GPU's clock against a healthy one (1), memory_ratio the same for its memory.
kernel_cost roofline_cost(const roofline *r, const kernel_shape *kernel, double clock_ratio,
                          double memory_ratio);
sim_time roofline_launch_ps(const roofline *r); // host time per launch
const gpu_def *roofline_gpu(const roofline *r);
