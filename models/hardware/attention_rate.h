// SPDX-License-Identifier: GPL-3.0-or-later
// models/hardware/attention_rate.h: the rate of attention as one kernel, from measured tables.
//     F / (P e(l, d) c) (b + b0) / b     F [FLOP] of the pairs that the mask leaves, 4 d each forward and 10 d backward
// e is read from the table of the program, mask and pass whose head size d0 is nearest (by ratio; the larger of two that are
// equally near), linear in log2 of the sequence length l between points. Below the first point e falls with the root of l
// (by 0.73 from 1,024 to 512, by 0.87 from 2,048 to 1,024 in FlashAttention-2's tables); beyond the last it stays. For another
// head size
//     e(d) = e(d0) x(d) / x(d0)     x(d) = d / (32 ceil(d / 32) + q)     d, q [elements]     q = 18.6
// kernels are made for heads of a multiple of 32 elements and pad others; beside its 4 d FLOP each score costs an exponential
// and vector work that take as long as q elements. q: attention.csv, FlashAttention-2, fp16, causal, head sizes 64 and 128,
// lengths 512 to 16,384, A100 and H100: 18 pairs, q 8 to 29, median 18.6, which gives each pair's ratio within 6 %.
// Where the causal table is missing the full one stands in, and the other way round: kernels skip what the mask covers.
// P is the data-sheet peak of the format, c this very GPU's clock against a healthy one: the tables were measured in loops, so
// gpu.clock_ratio is not applied again.
// b = batch x heads x ceil(l / 128) / multiprocessors: blocks of queries for each. Few blocks leave multiprocessors idle:
// b0 = f (2048 / l)^(1/2), f the set's attention_fill, 1 from rows of one length with 4 to 64 sequences x heads (attention.csv,
// A100, H100, H200, B200, GB200, MI300X, MI355X, 181 groups; medians of b0 1.3, 0.95, 0.7, 0.7, 0.45 at 1,024, 2,048, ...
// 16,384).
// Valid from b = 1 and l = 512 on; deterministic modes, windows and paged caches are left out.
#pragma once
#include "models/hardware/kernel_set.h"

typedef struct attention_query {
    attention_program program;
    double length;      // of the sequence
    uint32_t head_size; // elements
    bool full_mask, backward;
    double blocks; // of queries for each multiprocessor; 0: enough
} attention_query;

// The share of the peak, at most 1; 0: the set has no such rate.
double attention_share(const kernel_set_def *set, const attention_query *query);
// b above: blocks of 128 queries for each multiprocessor.
double attention_blocks(uint64_t sequences_x_heads, uint64_t length, uint32_t multiprocessors);
// Of the rate of a full GPU: b / (b + b0).
double attention_fill_share(double fill, double blocks, double length);
