// SPDX-License-Identifier: GPL-3.0-or-later
// tests/support/tiny.h: a GPU and a model in C, so small that their kernels and parameters can be counted by hand.
#pragma once
#include "models/training/pass.h"

// Every kernel moves its bytes at 10 GB/s, every matrix product runs at 3.7e11 FLOP/s (half of the peak): one multiprocessor
// works on tiles of one element, and the longer of work and traffic is the time.
static inline gpu_def tiny_gpu(void)
{
    static double one[] = { 1.0 }, half[] = { 0.5 };
    static tile_def tile = { .rows = 1, .columns = 1, .efficiency = 0.5 };
    static product_def product = { .format = DTYPE_BF16,
                                   .operand_bytes = 2.0,
                                   .tiles = { .items = &tile, .count = 1 },
                                   .depth_step = 1,
                                   .memory_efficiency = 1.0,
                                   .start_s = 0.3e-6,
                                   .blend = 1e6 };
    static attention_def attention = { .program = PROGRAM_FA2,
                                       .head_size = 16,
                                       .forward = { .x = one, .y = half, .count = 1 },
                                       .backward = { .x = one, .y = half, .count = 1 } };
    gpu_def gpu = { .name = "tiny",
                    .multiprocessors = 1,
                    .vector_flops = 9.1e13,
                    .memory_bytes = UINT64_C(3000000000),
                    .memory_rate_Bps = 10e9,
                    .clock_ratio = 1.0,
                    .launch_s = 0.85e-6,
                    .kernels = { .name = "tiny",
                                 .products = { .items = &product, .count = 1 },
                                 .flash = PROGRAM_FA2,
                                 .attention = { .items = &attention, .count = 1 },
                                 .stream_efficiency = 1.0,
                                 .kernel_overhead_s = 0.3e-6 } };
    for (int type = 0; type < DTYPES; type++)
        gpu.peak_flops[type] = 7.4e11;
    return gpu;
}

// Parameters: a layer 64 (64 + 2 x 32) + 64 x 64 + 3 x 64 x 96 + 2 x 64 = 30,848; the table, padded to 256 rows, 16,384;
// the head 64 + 16,384. Together 3 x 30,848 + 16,384 + 16,448 = 125,376.
static inline llm_def tiny_model(void)
{
    return (llm_def){ .name = "tiny",
                      .layers = 3,
                      .hidden = 64,
                      .heads = 4,
                      .kv_heads = 2,
                      .head_size = 16,
                      .ffn = 96,
                      .vocabulary = 200,
                      .max_sequence = 48,
                      .activation = ACTIVATION_SWIGLU,
                      .norm = NORM_RMSNORM,
                      .position = POSITION_ROPE };
}
enum { TINY_LAYER_PARAMETERS = 30848, TINY_TABLE_PARAMETERS = 16384, TINY_PARAMETERS = 125376 };

// Two sequences of 48 tokens at once, bf16 with gradients in fp32, the whole model on each of `data` GPUs.
static inline pass_settings tiny_settings(uint32_t data)
{
    return (pass_settings){
        .memory = { .kernels = { .micro_batch = 2,
                                 .sequence_length = 48,
                                 .precision = DTYPE_BF16,
                                 .gradient_type = DTYPE_FP32,
                                 .tensor = 1,
                                 .fused = true },
                    .data = data,
                    .layers_here = 3,
                    .has_embedding = true,
                    .has_head = true,
                    .in_flight = { .layers = 3, .embeddings = 1, .heads = 1 },
                    .gradient_bytes = 4.0,
                    .parameter_bytes = 2.0 },
        .overlap_tensor = true,
        .clock_ratio = 1.0,
        .memory_ratio = 1.0,
    };
}
