// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/training/llm.h"
#include "models/training/parallel.h"
#include "sim/check.h"
#include <inttypes.h>

static const char *const activation_words[] = { "gelu", "swiglu", "relu", "squared_relu", NULL };
static const char *const norm_words[] = { "layernorm", "rmsnorm", NULL };
static const char *const position_words[] = { "learned", "rope", "none", "alibi", NULL };

#define HIDDEN_MAX 1000000

static const bind_row latent_binds[] = {
    BIND_U64(latent_attention, query_rank, "query_rank", BIND_AT_LEAST(1), BIND_AT_MOST(HIDDEN_MAX),
             BIND_NOTE("of the matrices that make queries; left out: one matrix of full rank")),
    BIND_U64(latent_attention, kv_rank, "kv_rank", BIND_REQUIRED, BIND_AT_LEAST(1), BIND_AT_MOST(HIDDEN_MAX),
             BIND_NOTE("of those that make keys and values")),
    BIND_U64(latent_attention, rope_size, "rope_size", BIND_REQUIRED, BIND_AT_LEAST(1), BIND_AT_MOST(1e6),
             BIND_NOTE("of a head's query and key, the part that is turned")),
    BIND_U64(latent_attention, plain_size, "plain_size", BIND_REQUIRED, BIND_AT_LEAST(1), BIND_AT_MOST(1e6),
             BIND_NOTE("the part that is not")),
    BIND_U64(latent_attention, value_size, "value_size", BIND_REQUIRED, BIND_AT_LEAST(1), BIND_AT_MOST(1e6),
             BIND_NOTE("of a head's value")),
    BIND_END,
};

// The ranges keep llm_parameters() below 2^63: layers x hidden x (4 x attention width + 3 x ffn) is at most
// 1e4 x 1e6 x (4e7 + 3e7) = 7e17, with low ranks 1e4 x (3e6 x 1e6 + 5e7 x 1e6) = 6e17, with experts
// 1e4 x 1e6 x (3e8 + 1e5) = 3e18, and both embeddings are at most 2e14.
const bind_row llm_binds[] = {
    BIND_TEXT(llm_def, name, "name", BIND_DEFAULT(0, "unnamed"), BIND_NOTE("what messages call the model")),
    BIND_U32(llm_def, layers, "layers", BIND_REQUIRED, BIND_AT_LEAST(1), BIND_AT_MOST(1e4),
             BIND_NOTE("transformer layers")),
    BIND_U64(llm_def, hidden, "hidden", BIND_REQUIRED, BIND_AT_LEAST(1), BIND_AT_MOST(HIDDEN_MAX),
             BIND_NOTE("width of the residual stream")),
    BIND_U32(llm_def, heads, "heads", BIND_REQUIRED, BIND_AT_LEAST(1), BIND_AT_MOST(1e6),
             BIND_NOTE("attention (query) heads")),
    BIND_U32(llm_def, kv_heads, "kv_heads", BIND_AT_LEAST(1), BIND_AT_MOST(1e6),
             BIND_NOTE("key/value heads; left out: as many as heads, less: grouped-query attention")),
    BIND_U64(llm_def, head_size, "head_size", BIND_AT_LEAST(1), BIND_AT_MOST(1e6),
             BIND_NOTE("width of one head; left out: hidden / heads")),
    BIND_U64(llm_def, ffn, "ffn", BIND_REQUIRED, BIND_AT_LEAST(1), BIND_AT_MOST(1e7),
             BIND_NOTE("width of the feed-forward layer")),
    BIND_U64(llm_def, vocabulary, "vocabulary", BIND_REQUIRED, BIND_AT_LEAST(1), BIND_AT_MOST(1e8),
             BIND_NOTE("tokens of the tokenizer, without padding")),
    BIND_U64(llm_def, max_sequence, "max_sequence", BIND_REQUIRED, BIND_AT_LEAST(1), BIND_AT_MOST(1e8),
             BIND_NOTE("longest sequence the model was made for; rows of a learned position table")),
    BIND_ENUM(
        llm_def, activation, "activation", activation_words, BIND_REQUIRED,
        BIND_NOTE("gelu, relu, squared_relu: two feed-forward matrices; swiglu: three, one of them a gate")),
    BIND_ENUM(llm_def, norm, "norm", norm_words, BIND_REQUIRED,
              BIND_NOTE("layernorm: weight and bias; rmsnorm: weight only")),
    BIND_ENUM(
        llm_def, position, "position", position_words, BIND_REQUIRED,
        BIND_NOTE(
            "learned: a table added to the embedding; rope: rotary; alibi: biases of the scores, kernels "
            "of their own only in unfused attention; none")),
    BIND_BOOL(llm_def, tied_embeddings, "tied_embeddings", BIND_DEFAULT(0, "false"),
              BIND_NOTE("input and output embedding are one matrix")),
    BIND_BOOL(llm_def, bias, "bias", BIND_DEFAULT(0, "false"), BIND_NOTE("linear layers carry biases")),
    BIND_BOOL(
        llm_def, qkv_bias, "qkv_bias", BIND_DEFAULT(0, "false"),
        BIND_NOTE("the product that makes queries, keys and values carries a bias, whatever bias says")),
    BIND_BOOL(llm_def, qk_norm, "qk_norm", BIND_DEFAULT(0, "false"),
              BIND_NOTE("queries and keys pass a norm, head by head")),
    BIND_BOOL(llm_def, embedding_norm, "embedding_norm", BIND_DEFAULT(0, "false"),
              BIND_NOTE("a norm stands between the embedding and the first layer")),
    BIND_BOOL(llm_def, dropout, "dropout", BIND_DEFAULT(0, "false"),
              BIND_NOTE("trained with dropout, whose masks are kept for the backward pass")),
    // hf_config_inline() puts its keys in the place of its name.
    BIND_PATH(llm_def, hf, "hf",
              BIND_NOTE("a config.json of Hugging Face that says the keys above; those beside it win")),
    BIND_BOOL(llm_def, parallel_block, "parallel_block", BIND_DEFAULT(0, "false"),
              BIND_NOTE("attention and feed-forward side by side; counted, not trained in this version")),
    BIND_U32(llm_def, experts, "experts", BIND_AT_LEAST(1), BIND_AT_MOST(1e5),
             BIND_NOTE("of each sparse layer; counted, not trained in this version")),
    BIND_U32(llm_def, experts_per_token, "experts_per_token", BIND_AT_LEAST(1), BIND_AT_MOST(1e5),
             BIND_NOTE("experts that a token is sent to; required with experts")),
    BIND_U32(llm_def, shared_experts, "shared_experts", BIND_AT_LEAST(1), BIND_AT_MOST(1e5),
             BIND_NOTE("experts that every token passes besides")),
    BIND_U64(llm_def, expert_ffn, "expert_ffn", BIND_AT_LEAST(1), BIND_AT_MOST(1e7),
             BIND_NOTE("width of one expert; left out: ffn")),
    BIND_U32(llm_def, dense_layers, "dense_layers", BIND_AT_LEAST(1), BIND_AT_MOST(1e4),
             BIND_NOTE("first layers that have no experts, where others have")),
    BIND_STRUCT(llm_def, latent, "latent_attention", latent_binds, BIND_SET_FLAG(llm_def, latent.given),
                BIND_NOTE("queries, keys and values of low rank; counted, not trained in this version")),
    BIND_U32(llm_def, predicted_tokens, "predicted_tokens", BIND_DEFAULT(1, "1"), BIND_AT_LEAST(1),
             BIND_AT_MOST(1000),
             BIND_NOTE("by each position; more than one is neither counted nor trained in this version")),
    BIND_LATER("sliding_window", BIND_NOT_MODELLED),
    BIND_END,
};

// Where the key that filled a field of the model stands; no place for a model that came from no file.
#define PLACE_OF(field_) (r ? bind_place_of(r, &model->field_) : NULL)

static uint64_t nearest_multiple(uint64_t value, uint64_t of, uint64_t most)
{
    const uint64_t below = value / of * of, above = below + of;
    return below && (value - below <= above - value || above > most) ? below : above;
}

// The nearest that turns in pairs and is not too wide together.
static uint64_t nearest_even(const llm_def *m)
{
    const uint64_t above = m->head_size + 1;
    return m->heads * above <= LLM_ATTENTION_WIDTH_MAX ? above : m->head_size - 1;
}

static bool complete_heads(llm_def *model, const bind_reader *r, sim_error *error)
{
    if (!model->head_size && model->latent.given)
        model->head_size = model->latent.plain_size + model->latent.rope_size;
    if (!model->head_size && model->hidden % model->heads) {
        sim_fail(error, SIM_EXIT_INPUT, PLACE_OF(heads), "%u heads do not divide a hidden size of %" PRIu64,
                 model->heads, model->hidden);
        return sim_hint(error, "hidden: %" PRIu64 ", or write head_size",
                        nearest_multiple(model->hidden, model->heads, HIDDEN_MAX));
    }
    if (!model->head_size) model->head_size = model->hidden / model->heads;
    if (model->heads * model->head_size > LLM_ATTENTION_WIDTH_MAX) {
        sim_fail(error, SIM_EXIT_INPUT, PLACE_OF(head_size),
                 "%u heads x head_size %" PRIu64 " = %" PRIu64 " are above %" PRIu64, model->heads,
                 model->head_size, model->heads * model->head_size, LLM_ATTENTION_WIDTH_MAX);
        const uint64_t most = LLM_ATTENTION_WIDTH_MAX / model->heads;
        return sim_hint(error, "head_size: %" PRIu64, model->position == POSITION_ROPE ? most / 2 * 2 : most);
    }
    if (model->position == POSITION_ROPE && model->head_size % 2) {
        sim_fail(error, SIM_EXIT_INPUT, PLACE_OF(head_size),
                 "rotary positions turn pairs, so a head size of %" PRIu64 " cannot be odd",
                 model->head_size);
        return sim_hint(error, "head_size: %" PRIu64, nearest_even(model));
    }
    if (!model->kv_heads) model->kv_heads = model->heads;
    if (model->heads % model->kv_heads) {
        sim_fail(error, SIM_EXIT_INPUT, PLACE_OF(kv_heads), "kv_heads %u does not divide heads %u",
                 model->kv_heads, model->heads);
        return sim_hint(error, "kv_heads: %" PRIu64, parallel_nearest_divisor(model->heads, model->kv_heads));
    }
    return true;
}

// A key of experts where there are none is a slip, not a wish.
static bool refuse_experts_keys(const llm_def *model, const bind_reader *r, sim_error *error)
{
    const sim_place *place = model->experts_per_token ? PLACE_OF(experts_per_token)
                             : model->shared_experts  ? PLACE_OF(shared_experts)
                             : model->expert_ffn      ? PLACE_OF(expert_ffn)
                             : model->dense_layers    ? PLACE_OF(dense_layers)
                                                      : NULL;
    if (!model->experts_per_token && !model->shared_experts && !model->expert_ffn && !model->dense_layers)
        return true;
    sim_fail(error, SIM_EXIT_INPUT, place, "the model has no experts that this could belong to");
    return sim_hint(error, "write experts, or leave this out");
}

static bool complete_experts(llm_def *model, const bind_reader *r, sim_error *error)
{
    if (!model->experts) return refuse_experts_keys(model, r, error);
    if (!model->experts_per_token || model->experts_per_token > model->experts) {
        sim_fail(error, SIM_EXIT_INPUT, PLACE_OF(experts_per_token),
                 "a token is sent to 1 to %u of %u experts (experts_per_token), not to %u", model->experts,
                 model->experts, model->experts_per_token);
        return sim_hint(error, "experts_per_token: %u", model->experts_per_token ? model->experts : 1);
    }
    if (model->dense_layers >= model->layers) {
        sim_fail(error, SIM_EXIT_INPUT, PLACE_OF(dense_layers),
                 "%u dense layers leave none of %u layers to the experts", model->dense_layers,
                 model->layers);
        return sim_hint(error, "leave experts out");
    }
    if (!model->expert_ffn) model->expert_ffn = model->ffn;
    const uint64_t all = (uint64_t)model->experts + model->shared_experts;
    if (all * model->expert_ffn > LLM_EXPERTS_WIDTH_MAX) {
        sim_fail(error, SIM_EXIT_INPUT, PLACE_OF(expert_ffn),
                 "%" PRIu64 " experts of width %" PRIu64 " are wider together than %" PRIu64, all,
                 model->expert_ffn, LLM_EXPERTS_WIDTH_MAX);
        return sim_hint(error, "expert_ffn: %" PRIu64, LLM_EXPERTS_WIDTH_MAX / all);
    }
    return true;
}

// Ranges alone would allow 1e6 heads of 1e6 each.
static bool check_latent(const llm_def *model, const bind_reader *r, sim_error *error)
{
    const latent_attention *l = &model->latent;
    const uint64_t widest = l->plain_size + (l->rope_size > l->value_size ? l->rope_size : l->value_size);
    if (!l->given || widest * model->heads <= LLM_ATTENTION_WIDTH_MAX) return true;
    sim_fail(error, SIM_EXIT_INPUT, PLACE_OF(latent),
             "%u heads of %" PRIu64 " in low-rank attention are above %" PRIu64, model->heads, widest,
             LLM_ATTENTION_WIDTH_MAX);
    return sim_hint(error, "smaller parts of a head");
}

bool llm_complete(llm_def *model, const bind_reader *r, sim_error *error)
{
    return complete_heads(model, r, error) && complete_experts(model, r, error) &&
           check_latent(model, r, error);
}

#define SAYS(field_) (*field = &m->field_, *size = sizeof m->field_)
const char *llm_untrained(const llm_def *m, const void **field, size_t *size)
{
    if (m->experts) return SAYS(experts), "a mixture of experts";
    if (m->latent.given) return SAYS(latent), "low-rank (latent) attention";
    if (m->parallel_block) return SAYS(parallel_block), "attention and feed-forward side by side";
    if (m->predicted_tokens > 1) return SAYS(predicted_tokens), "several predicted tokens";
    return NULL;
}

uint64_t llm_norm_parameters(const llm_def *m)
{
    return m->norm == NORM_LAYERNORM ? 2 * m->hidden : m->hidden;
}

uint32_t llm_up_products(const llm_def *m)
{
    return m->activation == ACTIVATION_SWIGLU ? 2 : 1;
}

bool llm_has_qkv_bias(const llm_def *m)
{
    return m->bias || m->qkv_bias;
}

uint64_t llm_qk_norm_parameters(const llm_def *m)
{
    if (!m->qk_norm) return 0;
    return 2 * (m->norm == NORM_LAYERNORM ? 2 * m->head_size : m->head_size);
}

// Elements of the matrices of one layer's attention, with q = a d and c = k d (widths of the queries and of the keys):
//     h (q + 2 c) + q h
// With low ranks r and p of queries and of keys and values, heads of n + t (t turned) and values of w (DeepSeek-V2, 2024):
//     h r + r a (n + t)  +  h (p + t) + p a (n + w)  +  a w h          h a (n + t) for the first two where r is none
static uint64_t attention_matrices(const llm_def *m)
{
    const uint64_t h = m->hidden, a = m->heads;
    const latent_attention *l = &m->latent;
    if (!l->given) {
        const uint64_t q = a * m->head_size, c = m->kv_heads * m->head_size;
        return h * (q + 2 * c) + q * h;
    }
    const uint64_t key = a * (l->plain_size + l->rope_size), value = a * l->value_size;
    const uint64_t queries = l->query_rank ? h * l->query_rank + l->query_rank * key : h * key;
    return queries + h * (l->kv_rank + l->rope_size) + l->kv_rank * (a * l->plain_size + value) + value * h;
}

// Norms and biases of one layer, but for those of the feed-forward products: two norms over the residual stream, those over
// queries and keys, or over their low ranks.
static uint64_t layer_vectors(const llm_def *m)
{
    const uint64_t q = m->heads * m->head_size, c = m->kv_heads * m->head_size;
    const uint64_t biases = (llm_has_qkv_bias(m) ? q + 2 * c : 0) + (m->bias ? m->hidden : 0);
    const uint64_t ranks = m->latent.given ? m->latent.query_rank + m->latent.kv_rank : 0;
    return 2 * llm_norm_parameters(m) + llm_qk_norm_parameters(m) + ranks + biases;
}

// A feed-forward layer: g matrices in (1, or 2 when gated), one out.
static uint64_t feed_forward(const llm_def *m, uint64_t width)
{
    const uint64_t up = llm_up_products(m);
    return (up + 1) * m->hidden * width + (m->bias ? up * width + m->hidden : 0);
}

// Parameters of one layer (q, c as above; g matrices into the feed-forward layer: 1, or 2 when gated):
//     P = h (q + 2 c) + q h + (g + 1) h f  +  2 norms  +  bias (q + 2 c + h + g f + h)
// A GPT (q = c = h, f = 4 h, biases, LayerNorm) gives 12 h^2 + 13 h. Source: counting the matrices of Vaswani et al.
// 2017, Shazeer 2020 (SwiGLU), Ainslie et al. 2023 (grouped queries).
uint64_t llm_layer_parameters(const llm_def *m)
{
    return attention_matrices(m) + layer_vectors(m) + feed_forward(m, m->ffn);
}

// Instead of one feed-forward layer so many experts, and the router, h x E.
static uint64_t layer_with_experts(const llm_def *m, uint64_t experts)
{
    return attention_matrices(m) + layer_vectors(m) + experts * feed_forward(m, m->expert_ffn) +
           m->hidden * m->experts;
}

uint64_t llm_sparse_layer_parameters(const llm_def *m)
{
    return layer_with_experts(m, (uint64_t)m->experts + m->shared_experts);
}

static uint32_t sparse_layers(const llm_def *m)
{
    return m->experts ? m->layers - m->dense_layers : 0;
}

uint64_t llm_embedding_parameters(const llm_def *m)
{
    const uint64_t positions = m->position == POSITION_LEARNED ? m->max_sequence : 0;
    return (m->vocabulary + positions) * m->hidden + (m->embedding_norm ? llm_norm_parameters(m) : 0);
}

uint64_t llm_head_parameters(const llm_def *m)
{
    return llm_norm_parameters(m) + (m->tied_embeddings ? 0 : m->vocabulary * m->hidden);
}

static uint64_t parameters_with(const llm_def *m, uint64_t sparse_layer)
{
    const uint32_t sparse = sparse_layers(m);
    return (m->layers - sparse) * llm_layer_parameters(m) + sparse * sparse_layer +
           llm_embedding_parameters(m) + llm_head_parameters(m);
}

uint64_t llm_parameters(const llm_def *m)
{
    return parameters_with(m, m->experts ? llm_sparse_layer_parameters(m) : 0);
}

uint64_t llm_active_parameters(const llm_def *m)
{
    const uint64_t passed = (uint64_t)m->experts_per_token + m->shared_experts;
    return parameters_with(m, m->experts ? layer_with_experts(m, passed) : 0);
}

// FLOP per token of the forward pass, times 3 (the backward pass has two products for each one forward):
//     F = L (2 h (q + 2 c) + 2 q h + 2 (g + 1) h f + 4 q s w) + 2 h v      [FLOP/token]
// w = 1 for the full square of scores, 1/2 for its causal half; s sequence length, v vocabulary without padding.
// For a GPT and w = 1 it is Narayanan et al., "Efficient large-scale language model training on GPU clusters using
// Megatron-LM", SC'21, eq. 3, without its recomputation: 72 s L h^2 (1 + s/(6 h) + v/(12 L h)) per sequence. The
// causal half neglects the diagonal, as kernel benchmarks do (Dao 2023). Norms, activations and softmax are left out.
// Of experts those count that a token passes, and the router; low-rank attention has 2 a (n + t + w) s w for the scores.
// FLOP_6N: Kaplan et al., "Scaling laws for neural language models", 2020, C = 6 N; N here counts the embeddings too,
// as Hoffmann et al. 2022 and the trackers of most frameworks do; of experts the active ones.
double llm_flop_per_token(const llm_def *m, uint64_t sequence_length, flop_convention convention)
{
    if (convention == FLOP_6N) return 6.0 * (double)llm_active_parameters(m);
    SIM_ASSERT(convention == FLOP_MODEL_FULL || convention == FLOP_MODEL_CAUSAL);
    const double h = (double)m->hidden, up = llm_up_products(m), sparse = sparse_layers(m);
    const double passed = (double)m->experts_per_token + m->shared_experts;
    const double widths = (m->layers - sparse) * (double)m->ffn + sparse * passed * (double)m->expert_ffn;
    const double products = m->layers * 2.0 * (double)attention_matrices(m) + 2.0 * (up + 1.0) * h * widths +
                            sparse * 2.0 * h * m->experts;
    const latent_attention *l = &m->latent;
    const double head = l->given ? (double)(l->plain_size + l->rope_size + l->value_size)
                                 : 2.0 * (double)m->head_size;
    const double attention = 2.0 * m->heads * head * (double)sequence_length *
                             (convention == FLOP_MODEL_CAUSAL ? 0.5 : 1.0);
    return 3.0 * (products + m->layers * attention + 2.0 * h * (double)m->vocabulary);
}
