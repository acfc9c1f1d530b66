// SPDX-License-Identifier: GPL-3.0-or-later
// models/training/gradient_coding.h: gradients that data-parallel replicas reduce in another form than they keep them in: cast
// to another number format, or compressed. Of one bucket: which collectives, how many bytes, which kernels before and behind
// them, how much memory. Pure functions, without a clock. What it does to convergence is not modelled.
//
//     encode   from the gradients to what is sent, on the compute stream, as soon as the bucket is full
//     recode   from what the first collectives brought to what the second one sends; PowerSGD, quantize
//     decode   to the sums of gradients that the optimizer reads
//
// With E gradients in a bucket, of g bytes each, n replicas:
//     cast       all-reduce or reduce-scatter of E d bytes; d [bytes] of the format that is reduced
//     PowerSGD   each matrix of m x k gradients becomes P (m x r) and Q (k x r), in the format of the gradients: all-reduces
//                of r m g and then of r k g bytes, with rank r; one more of what is no matrix, or no smaller as two. Vogels
//                et al., "PowerSGD", NeurIPS 2019, algorithm 1 (arXiv 1905.13727). As in PyTorch's hook (powerSGD_hook, its
//                min_compression_rate) a matrix is compressed when r (m + k) x 2 < m k. It belongs to the bucket that holds
//                its last gradient.
//     top-k      all-gather of K (g + 4) bytes from each: the K = ceil(ratio E) greatest values and where they stand; what is
//                received grows with n. Aji, Heafield, EMNLP 2017; Lin et al., ICLR 2018 (arXiv 1712.01887).
//     quantize   E b / 8 + 4 ceil(E / block) bytes, b bits for each gradient and an fp32 scale for each block: all-to-all of
//                the replicas' shares, which are summed in fp32; where every replica needs all sums they are quantized once
//                more and gathered. Wang et al., "ZeRO++", 2023 (arXiv 2306.10209), section 3.3, in one hop: its two hops,
//                first inside a node, are not modelled.
// Beside the gradients stay: of PowerSGD and top-k what was not sent (error feedback), E g bytes; and of all that is encoded
// what is sent and received, of all buckets, for sums are decoded behind the last backward pass.
//
// Range: PowerSGD of a rank far below the sides of a matrix; buckets of less than 2^32 gradients for top-k.
#pragma once
#include "models/collective/plan.h"
#include "models/training/kernels.h"

typedef enum coding_kind {
    CODING_NONE, // reduced as they are
    CODING_CAST,
    CODING_POWERSGD,
    CODING_TOP_K,
    CODING_QUANTIZE
} coding_kind;

typedef struct gradient_coding {
    int kind;                // coding_kind
    dtype gradient, reduced; // formats in which gradients are kept, and (cast) in which they are reduced
    uint32_t replicas;       // n
    bool scatters;           // each replica needs only its share of the sums: ZeRO
    uint32_t rank;           // PowerSGD: r
    double ratio;            // top-k: above 0, at most 1
    uint32_t bits;           // quantize: 4 or 8
    uint64_t block;          // quantize: gradients with a scale of their own
} gradient_coding;

typedef struct gradient_tensor { // a weight; columns 1: no matrix
    uint64_t rows, columns;
} gradient_tensor;

typedef struct gradient_bucket { // gradients reduced, parameters gathered by one collective
    uint64_t elements;
    const gradient_tensor *tensors; // PowerSGD: whose last gradient it holds
    uint32_t tensor_count;
} gradient_bucket;

typedef struct data_call { // a collective of the data-parallel group, one after another in their order
    collective_kind kind;
    uint64_t bytes; // as models/collective/plan.h defines them
    const char *name;
} data_call;

typedef enum coding_step { CODING_ENCODE, CODING_RECODE, CODING_DECODE, CODING_STEPS } coding_step;
extern const char *const coding_step_words[]; // "gradient encode", "gradient recode", "gradient decode", NULL
enum { CODING_CALLS_MAX = 2 };                // behind one step
enum { CODING_SCALE_BYTES = 4, CODING_INDEX_BYTES = 4 }; // quantize: fp32; top-k: a place in the bucket

// The collectives that follow a step, encode or recode; returns how many. Without coding the one that reduces the bucket.
uint32_t coding_calls(const gradient_coding *c, const gradient_bucket *b, coding_step behind,
                      data_call out[CODING_CALLS_MAX]);
double coding_top_elements(const gradient_coding *c, double elements); // top-k: K
// Whether PowerSGD sends this one as two.
bool coding_is_compressed(const gradient_coding *c, const gradient_tensor *t);
// gradient_coding_kernels.c: what a step of a bucket launches; nothing where there is nothing to do.
void coding_kernels(const gradient_coding *c, const gradient_bucket *b, coding_step step, arena *a,
                    kernel_array *out);

// What stays from step to step, and what comes and goes with a step, beside so many gradients of a GPU in buckets of so many.
// [bytes]
double coding_feedback_bytes(const gradient_coding *c, double elements);
double coding_copies_bytes(const gradient_coding *c, double elements, const gradient_tensor *tensors,
                           uint32_t tensor_count);
