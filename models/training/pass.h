// SPDX-License-Identifier: GPL-3.0-or-later
// models/training/pass.h: what one GPU computes in a step, as pieces of work between two synchronisation points: one
// forward pass, one backward pass (whole, or cut where gradient buckets fill), the optimizer. Times follow from kernels.
//
// The host launches kernels, and makes framework calls around them that launch nothing, one after another, launch_s apart,
// and runs ahead of the GPU; kernel j of a pass starts when kernel j-1 has ended and it has been launched, as call c_j:
//     start_j = max(end_{j-1}, c_j x launch),  end_j = start_j + time_j,  so a pass takes about max(GPU, calls x launch)
// (FINDINGS on the host: measured 11-18 us per PyTorch call). The first kernel's launch hides behind the pass before.
#pragma once
#include "models/training/kernels.h"
#include "models/training/memory_need.h"

typedef struct work {
    sim_time duration_ps;  // of which:
    sim_time recompute_ps; //   activations computed again
    sim_time launch_ps;    //   GPU waiting for the host
    double flop, bytes;
    uint32_t kernels; // launches
} work;

typedef struct gradient_bucket { // gradients reduced by one collective
    uint64_t elements;
    uint32_t piece; // index of the backward piece after which it is full
} gradient_bucket;

typedef struct kernel_use { // a distinct kernel and how often one GPU runs it in a step
    kernel_shape shape;
    kernel_cost cost;
    uint64_t calls;
} kernel_use;

typedef struct pass_costs {
    double clock_ratio, memory_ratio; // of the GPU they are for
    work forward;                     // one micro-batch
    work backward;                    // one micro-batch, recompute included
    work *pieces;                     // the same backward cut at bucket boundaries; the sum is backward
    uint32_t piece_count;
    gradient_bucket *buckets;
    uint32_t bucket_count;
    work optimizer;
    kernel_use *kernels;
    uint32_t kernel_count;
} pass_costs;

typedef struct pass_settings {
    memory_settings memory; // shapes, recompute, sharding, layers
    uint64_t micro_batches; // per step, for the kernels' calls
    double clock_ratio, memory_ratio;
    const sim_place *where; // of the GPU, for refusals; may be NULL
} pass_settings;

// Refuses (exit 2) numbers that no GPU has: a kernel of more than ROOFLINE_LONGEST_S, a pass of more than a day.
bool pass_build(arena *a, const llm_def *m, const roofline *gpu, const pass_settings *settings,
                pass_costs *out, sim_error *error);
