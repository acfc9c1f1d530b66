// SPDX-License-Identifier: GPL-3.0-or-later
// models/hardware/gpu.h: a GPU as the catalogue describes it. It keeps what has no wires.
#pragma once
#include "models/hardware/kernel_set.h"

typedef struct gpu_def {
    const char *name;
    const char *architecture;
    uint32_t multiprocessors; // SMs or CUs
    // Dense matrix peaks of the data sheet, FLOP/s; 0: the GPU has no such unit (using it is refused)
    double peak_flops[DTYPES];
    double vector_flops;     // FP32 outside the tensor cores
    uint64_t memory_bytes;   // capacity
    double memory_rate_Bps;  // data sheet
    uint64_t reserved_bytes; // driver context, communication library: never available to tensors
    double power_W;          // thermal design power
    double clock_ratio;      // sustained clock of products under training load against that of the kernel set
    double launch_s;         // host time per kernel launch
    kernel_set_def kernels;  // how fast a library's kernels run on it
} gpu_def;

// Of many GPUs, by an index that whoever has it names; 1 is a healthy one.
typedef struct gpu_health {
    const double *clock_ratio;
    const double *memory_ratio;
} gpu_health;

extern const bind_row gpu_binds[];
