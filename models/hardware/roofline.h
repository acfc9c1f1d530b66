// SPDX-License-Identifier: GPL-3.0-or-later
// models/hardware/roofline.h: the time of one kernel from its work and its shape, by its class.
//     matrix product   models/hardware/product.h, at the peak times gpu.clock_ratio
//     attention        n t0 + max( F / (P e), B / (W s) )     e from models/hardware/attention_rate.h
//     elementwise      n t0 + max( F / V, B / (W s) )
// t0 [s] overhead of each of n launches (at least one), F [FLOP], B [bytes], P [FLOP/s] data-sheet peak of the number format, V
// vector peak, W [bytes/s] data-sheet memory rate, s the stream efficiency of the kernel set. Williams, Waterman, Patterson:
// "Roofline: an insightful visual performance model for multicore architectures", CACM 52(4), 2009. A fused kernel that only
// moves bytes takes bytes over a constant rate plus a constant, from 2 MB to 400 MB (elementwise.csv); s is that of a copy:
// fused forward passes reach 5 to 15 % more, backward passes with sums over rows up to half less.
// The time is rounded once to whole nanoseconds and at least one; a kernel without FLOP and bytes takes none.
// A user's measured times replace all this for the kernels that they name (roofline_use_times).
//
// Beside collectives, which hold k multiprocessors and move w bytes/s of the GPU's memory, a kernel has N - k multiprocessors
// of unchanged speed, and of the memory rate that it gets alone, W s, it gets W s - w: products meet more waves (product.h),
// attention and vector work take N / (N - k) of their time, traffic W s / (W s - w). Half of both is always left. Against
// overlap.csv, to which nothing was fitted: validate/README.md. Left out: the clock under both loads, and persistent kernels,
// whose late blocks begin when all others have ended.
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
// "matmul", "attention-forward", "attention-backward", "elementwise", NULL
extern const char *const kernel_class_words[];
typedef enum kernel_bound { BOUND_TENSOR_CORE, BOUND_HBM, BOUND_LAUNCH, BOUND_VECTOR } kernel_bound;
extern const char *const kernel_bound_words[]; // "tensor-core", "hbm", "launch", "vector", NULL

typedef struct kernel_shape {
    const char *name; // "attention.qkv", a literal
    kernel_class class;
    dtype type;
    // matmul: batch products m x k by k x n; attention: batch b x heads, m = n = length, k = head size; elementwise: m
    // elements, n = k = 1.
    uint64_t batch, m, n, k;
    double flop;               // really executed
    double bytes;              // least traffic with the memory
    uint32_t launches;         // of the host
    attention_program program; // of attention
} kernel_shape;

// A kernel that takes longer is a mistake in its numbers: it is given this time and marked.
#define ROOFLINE_LONGEST_S 1000.0

typedef struct gpu_taken { // by what runs beside a kernel
    double multiprocessors, memory_Bps;
} gpu_taken;

typedef struct kernel_cost {
    bool too_long;      // longer than ROOFLINE_LONGEST_S
    bool is_given;      // time_ps is a user's, bound and efficiency what the model says of it
    sim_time time_ps;   // on the GPU
    kernel_bound bound; // what decides time_ps; LAUNCH when the overhead is more than half of it
    double efficiency;  // flop / (time x P); where memory takes longer than the products, bytes / (time x W)
} kernel_cost;

// A kernel's time as a user measured it on a healthy GPU.
typedef struct kernel_time {
    const char *name;
    uint64_t batch, m, n, k; // as in kernel_shape
    double time_s;
} kernel_time;
ARRAY_OF(kernel_time, kernel_time_array);

typedef struct roofline roofline; // a gpu_def, and a user's times
roofline *roofline_create(arena *a, const gpu_def *gpu);
// The kernels of these names and shapes take these times; the list must live as long.
void roofline_use_times(roofline *r, const kernel_time_array *times);
// clock_ratio: this very GPU's clock against a healthy one (1), memory_ratio the same for its memory.
kernel_cost roofline_cost(const roofline *r, const kernel_shape *kernel, double clock_ratio,
                          double memory_ratio);
// What a kernel's time grows by beside what takes so much of the GPU, at least 0. cost: of the same kernel and ratios.
sim_time roofline_slowed_ps(const roofline *r, const kernel_shape *kernel, const kernel_cost *cost,
                            double clock_ratio, double memory_ratio, const gpu_taken *taken);
sim_time roofline_launch_ps(const roofline *r); // host time per launch
const gpu_def *roofline_gpu(const roofline *r);
