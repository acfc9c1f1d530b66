// SPDX-License-Identifier: GPL-3.0-or-later
// models/training/llm.h: a dense decoder-only transformer as a definition, and what follows from it by counting:
// parameters, and FLOP of a token under named conventions. Kernels are in kernels.h, bytes in memory_need.h.
//
// A layer is norm, attention, residual, norm, feed-forward, residual. Not modelled, and refused as keys: mixtures of
// experts, sliding windows, low-rank attention, attention and feed-forward side by side, several predicted tokens.
#pragma once
#include "sim/bind.h"

typedef enum llm_activation { ACTIVATION_GELU, ACTIVATION_SWIGLU } llm_activation;
typedef enum llm_norm { NORM_LAYERNORM, NORM_RMSNORM } llm_norm;
typedef enum llm_position { POSITION_LEARNED, POSITION_ROPE, POSITION_NONE } llm_position;

typedef struct llm_def {
    const char *name;
    uint32_t layers;
    uint64_t hidden;       // h
    uint32_t heads;        // a, query heads
    uint32_t kv_heads;     // k; grouped-query attention when less than heads; default: heads
    uint64_t head_size;    // d; default: hidden / heads
    uint64_t ffn;          // f, width of the feed-forward layer
    uint64_t vocabulary;   // v, as the tokenizer has it
    uint64_t max_sequence; // longest length the model was made for; also rows of a learned position table
    int activation;        // llm_activation
    int norm;              // llm_norm
    int position;          // llm_position
    bool tied_embeddings;  // input and output embedding share their weights
    bool bias;             // linear layers carry biases (the bias of a LayerNorm is always there)
    bool dropout;          // trained with dropout (masks are kept for the backward pass)
} llm_def;

// heads x head_size at most: with the ranges of llm_binds it keeps every count of parameters below 2^63.
#define LLM_ATTENTION_WIDTH_MAX UINT64_C(10000000)

extern const bind_row llm_binds[];

// Fills the defaults that depend on other fields (kv_heads, head_size) and refuses impossible shapes: heads that do not
// divide the hidden size when no head_size is given, kv_heads that do not divide heads, an attention wider than
// LLM_ATTENTION_WIDTH_MAX, rotary positions with an odd head size. Errors are placed through r; r may be NULL for a
// definition that came from no file.
bool llm_complete(llm_def *model, const bind_reader *r, sim_error *error);

uint64_t llm_layer_parameters(const llm_def *m);
uint64_t llm_embedding_parameters(const llm_def *m); // tokens (and learned positions)
uint64_t llm_head_parameters(const llm_def *m);      // final norm and, if not tied, the output matrix
uint64_t llm_parameters(const llm_def *m);
uint64_t llm_norm_parameters(const llm_def *m); // of one norm
uint32_t llm_up_products(const llm_def *m); // matrices h x f into the feed-forward layer: 1, or 2 when gated

// FLOP of training per token at a sequence length, forward + backward (3 x forward), multiply and add counted as two.
typedef enum flop_convention {
    FLOP_MODEL_FULL,   // matrix products of the model, attention counted over the full s x s square
    FLOP_MODEL_CAUSAL, // the same with attention counted over half of the square
    FLOP_6N            // 6 x all parameters, no attention
} flop_convention;
double llm_flop_per_token(const llm_def *m, uint64_t sequence_length, flop_convention convention);
