// SPDX-License-Identifier: GPL-3.0-or-later
// tests/support/llms.h: published models in C, written down apart from the catalogue, so that a slip there shows.
#pragma once
#include "models/training/llm.h"

static const llm_def llama3_8b = {
    .name = "llama3-8b",
    .layers = 32,
    .hidden = 4096,
    .heads = 32,
    .kv_heads = 8,
    .head_size = 128,
    .ffn = 14336,
    .vocabulary = 128256,
    .max_sequence = 8192,
    .activation = ACTIVATION_SWIGLU,
    .norm = NORM_RMSNORM,
    .position = POSITION_ROPE,
};
static const llm_def llama3_70b = {
    .name = "llama3-70b",
    .layers = 80,
    .hidden = 8192,
    .heads = 64,
    .kv_heads = 8,
    .head_size = 128,
    .ffn = 28672,
    .vocabulary = 128256,
    .max_sequence = 8192,
    .activation = ACTIVATION_SWIGLU,
    .norm = NORM_RMSNORM,
    .position = POSITION_ROPE,
};
static const llm_def gpt2_xl = {
    .name = "gpt2-xl",
    .layers = 48,
    .hidden = 1600,
    .heads = 25,
    .kv_heads = 25,
    .head_size = 64,
    .ffn = 6400,
    .vocabulary = 50257,
    .max_sequence = 1024,
    .activation = ACTIVATION_GELU,
    .norm = NORM_LAYERNORM,
    .position = POSITION_LEARNED,
    .tied_embeddings = true,
    .bias = true,
    .dropout = true,
};
static const llm_def gpt3_2_7b = {
    .name = "gpt3-2.7b",
    .layers = 32,
    .hidden = 2560,
    .heads = 32,
    .kv_heads = 32,
    .head_size = 80,
    .ffn = 10240,
    .vocabulary = 50257,
    .max_sequence = 2048,
    .activation = ACTIVATION_GELU,
    .norm = NORM_LAYERNORM,
    .position = POSITION_LEARNED,
    .tied_embeddings = true,
    .bias = true,
    .dropout = true,
};
