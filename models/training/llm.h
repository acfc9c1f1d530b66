// SPDX-License-Identifier: GPL-3.0-or-later
// models/training/llm.h: a dense decoder-only transformer as a definition, and what follows from it by counting:
// parameters, and FLOP of a token under named conventions. Kernels are in kernels.h, bytes in memory_need.h.
//
// A layer is norm, attention, residual, norm, feed-forward, residual. What a definition can say, count and compare but no
// kernel or memory model knows yet (llm_untrained() names it): mixtures of experts, low-rank ("latent") attention, attention
// and feed-forward side by side, several predicted tokens. Sliding windows are refused as a key.
#pragma once
#include "sim/bind.h"

typedef enum llm_activation {
    ACTIVATION_GELU,
    ACTIVATION_SWIGLU,
    ACTIVATION_RELU,
    ACTIVATION_SQUARED_RELU
} llm_activation;
typedef enum llm_norm { NORM_LAYERNORM, NORM_RMSNORM } llm_norm;
typedef enum llm_position { POSITION_LEARNED, POSITION_ROPE, POSITION_NONE, POSITION_ALIBI } llm_position;

// Queries, keys and values through matrices of low rank (DeepSeek-AI: "DeepSeek-V2", 2024, section 2.1).
typedef struct latent_attention {
    bool given;
    uint64_t query_rank; // 0: queries come straight from the residual stream
    uint64_t kv_rank;
    uint64_t
        rope_size; // of a head's query and key: the part that carries the position, one key part for all heads
    uint64_t plain_size; // the part that does not
    uint64_t value_size; // of a head
} latent_attention;

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
    bool qkv_bias;         // the product that makes queries, keys and values carries one, whatever bias says
    bool qk_norm;          // queries and keys pass a norm, head by head, all heads with the same weights
    bool embedding_norm;   // a norm stands between the embedding and the first layer
    bool dropout;          // trained with dropout (masks are kept for the backward pass)
    const char *hf;        // NULL, for the keys that it stands for are in its place (models/hf_config.h)
    // Counted, but not trained in this version:
    bool parallel_block;        // attention and feed-forward side by side
    uint32_t experts;           // of each sparse layer, E; 0: all layers are dense
    uint32_t experts_per_token; // chosen by the router
    uint32_t shared_experts;    // that every token passes besides
    uint64_t expert_ffn;        // width of one expert; default: ffn
    uint32_t dense_layers;      // the first layers, which have a dense feed-forward layer of width f
    latent_attention latent;
    uint32_t predicted_tokens; // by each position; more than one: by further layers, which are not counted
} llm_def;

// heads x head_size at most: with the ranges of llm_binds it keeps every count of parameters below 2^63.
#define LLM_ATTENTION_WIDTH_MAX UINT64_C(10000000)
// The same for experts x expert_ffn, shared ones included.
#define LLM_EXPERTS_WIDTH_MAX UINT64_C(100000000)

extern const bind_row llm_binds[];

// Fills the defaults that depend on other fields (kv_heads, head_size, expert_ffn) and refuses impossible shapes: heads that
// do not divide the hidden size when no head_size is given, kv_heads that do not divide heads, an attention wider than
// LLM_ATTENTION_WIDTH_MAX, rotary positions with an odd head size, keys of experts without experts, more experts per token
// than there are. Errors are placed through r; r may be NULL for a definition that came from no file.
bool llm_complete(llm_def *model, const bind_reader *r, sim_error *error);
// What the model has that cannot be trained in this version, as words of a message, and the field that says so; NULL: nothing.
const char *llm_untrained(const llm_def *m, const void **field, size_t *size);

uint64_t llm_layer_parameters(const llm_def *m);        // of a dense layer
uint64_t llm_sparse_layer_parameters(const llm_def *m); // of one with experts
uint64_t llm_embedding_parameters(const llm_def *m);    // tokens (and learned positions, and a norm)
uint64_t llm_head_parameters(const llm_def *m);         // final norm and, if not tied, the output matrix
uint64_t llm_parameters(const llm_def *m);
uint64_t
llm_active_parameters(const llm_def *m); // that one token passes: of experts, the chosen and the shared
uint64_t llm_norm_parameters(const llm_def *m); // of one norm over the residual stream
uint64_t
llm_qk_norm_parameters(const llm_def *m);   // of both norms of a layer's queries and keys, if it has them
uint32_t llm_up_products(const llm_def *m); // matrices h x f into the feed-forward layer: 1, or 2 when gated
bool llm_has_qkv_bias(const llm_def *m);

// FLOP of training per token at a sequence length, forward + backward (3 x forward), multiply and add counted as two.
typedef enum flop_convention {
    FLOP_MODEL_FULL,   // matrix products of the model, attention counted over the full s x s square
    FLOP_MODEL_CAUSAL, // the same with attention counted over half of the square
    FLOP_6N            // 6 x all parameters, no attention
} flop_convention;
double llm_flop_per_token(const llm_def *m, uint64_t sequence_length, flop_convention convention);
