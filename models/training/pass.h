// SPDX-License-Identifier: GPL-3.0-or-later
// models/training/pass.h: what one GPU does in one pass of a micro-batch through one chunk of layers, from its kernels: a list
// of items in the order of the compute stream: pieces of work, collectives of the tensor-parallel group, places where gradients
// are complete or parameters are needed. A pass has no clock and no network.
//
// The host launches kernels, and makes framework calls around them that launch nothing, one after another, and runs ahead of
// the GPU. Times are relative to the start of the pass:
//     j            a kernel of the pass, counted in the order of launching
//     c_j          calls that the host has made before it launches kernel j
//     launch       from one call of the host to the next (launch_s; measured: 11 to 18 us per PyTorch call)
//     time_j       how long kernel j runs; from start_j to end_j
//     r            when the first kernel of a piece of work may start, for what was waited for before it is there
// A kernel starts when the one before it has ended and the host has launched it:
//     start_j = max(end_{j-1}, c_j x launch),  end_j = start_j + time_j
// so a piece of work ends at
//     max(r + G, H)     G = sum of time_j     H = max over j of (c_j x launch + sum of time_i from j to the end of the piece)
// with j and i over the kernels of the piece, whatever came before it in the pass. The first kernel's launch hides behind the
// pass before.
#pragma once
#include "models/training/kernels.h"
#include "models/training/memory_need.h"

// Groups whose collectives and messages may move beside work. A set of them is a bit for each.
typedef enum beside_group { BESIDE_TENSOR, BESIDE_DATA, BESIDE_PIPELINE, BESIDE_GROUPS } beside_group;
enum { BESIDE_SETS = 1 << BESIDE_GROUPS };

typedef struct work {
    bool codes;                      // gradients for their reduction, or back (gradient_coding.h)
    sim_time slowed_ps[BESIDE_SETS]; // what G grows by while those of a set move all the time; of none 0
    sim_time gpu_ps;                 // G
    sim_time host_ps;                // H
    sim_time recompute_ps;           // of G: activations computed again
    double flop, bytes;
    uint32_t kernels; // launches
} work;

typedef enum pass_item_kind {
    ITEM_WORK,   // works[index] is done
    ITEM_TENSOR, // tensor_calls[index] begins, once all before it has ended; what follows goes on beside it
    ITEM_JOIN,   // what follows waits for the collective that began last; at most one has not been joined
    ITEM_BUCKET // backward: buckets[index] has all its gradients; forward: its parameters are needed from here on
} pass_item_kind;

typedef struct pass_item {
    uint32_t kind, index;
} pass_item;

typedef struct pass_plan {
    pass_item *items; // every ITEM_TENSOR is joined before the end
    uint32_t item_count;
} pass_plan;

typedef struct bucket_work { // of one bucket: works, by coding_step; NO_WORK: there is nothing to do
    uint32_t works[CODING_STEPS];
} bucket_work;
enum { NO_WORK = UINT32_MAX };

typedef struct kernel_use { // a distinct kernel
    kernel_shape shape;
    kernel_cost cost;
    sim_time slowed_ps[BESIDE_SETS];
    uint64_t calls; // per micro-batch; of the optimizer, and of what codes gradients, per step
} kernel_use;

// All passes of one chunk on a GPU of one state of health. Those with buckets are cut where a bucket is complete or needed;
// for the last backward and the first forward of a step.
typedef struct chunk_costs {
    double clock_ratio, memory_ratio;
    work *works;
    tensor_call *tensor_calls;
    uint32_t tensor_call_count;
    pass_plan forward, backward;
    pass_plan first_forward;  // ITEM_BUCKET before the work that needs it, the last bucket first
    pass_plan last_backward;  // ITEM_BUCKET behind the work that completes it and encodes it, bucket 0 first
    gradient_bucket *buckets; // in the order in which the backward pass fills them
    uint32_t bucket_count;
    bucket_work *coding; // by bucket, outside passes; NULL: gradients are reduced as they are
    // With sequence parallel: parameters of which each rank of the tensor-parallel group holds all, but has the gradients
    // of its own rows only, to be added up once per step (norms; biases of products split by rows). 0 else.
    uint64_t norm_elements;
    double flop; // of one micro-batch, forward and backward, recomputation included
    kernel_use *kernels;
    uint32_t kernel_count;
    kernel_use *coding_kernels; // of all buckets
    uint32_t coding_kernel_count;
} chunk_costs;

typedef struct pass_settings {
    memory_settings memory; // shapes, recompute, layers_here, has_embedding, has_head: of this chunk
    // Backward collectives beside the other product (Megatron-LM since 2022); else each is joined at once.
    bool overlap_tensor;
    double clock_ratio, memory_ratio;
    gpu_taken beside[BESIDE_GROUPS]; // by their collectives
    const sim_place *where;          // of the GPU, for refusals; may be NULL
} pass_settings;

typedef struct optimizer_costs {
    work work;
    kernel_use *kernels;
    uint32_t kernel_count;
} optimizer_costs;

// Refuses (exit 2) numbers that no GPU has: a kernel of more than ROOFLINE_LONGEST_S, a pass of more than a day.
bool pass_build(arena *a, const llm_def *m, const roofline *gpu, const pass_settings *settings,
                chunk_costs *out, sim_error *error);
// The optimizer's step on what a GPU holds of its stage: parameters before ZeRO shares them out.
bool pass_build_optimizer(arena *a, const roofline *gpu, const pass_settings *settings, uint64_t parameters,
                          optimizer_costs *out, sim_error *error);
// Without any waiting for others but the tensor-parallel collectives, each of which takes time(owner, call): the length of a
// pass, for forecasts and tests.
sim_time pass_length_ps(const chunk_costs *costs, const pass_plan *p,
                        sim_time (*time)(void *owner, const tensor_call *call), void *owner);
