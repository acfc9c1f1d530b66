// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/training/llm.h"
#include "models/training/parallel.h"
#include "sim/check.h"
#include <inttypes.h>

static const char *const activation_words[] = { "gelu", "swiglu", NULL };
static const char *const norm_words[] = { "layernorm", "rmsnorm", NULL };
static const char *const position_words[] = { "learned", "rope", "none", NULL };

#define HIDDEN_MAX 1000000

// The ranges keep llm_parameters() below 2^63: layers x hidden x (4 x attention width + 3 x ffn) is at most
// 1e4 x 1e6 x (4e7 + 3e7) = 7e17, and both embeddings are at most 2e14.
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
    BIND_ENUM(llm_def, activation, "activation", activation_words, BIND_REQUIRED,
              BIND_NOTE("gelu: two feed-forward matrices; swiglu: three, one of them a gate")),
    BIND_ENUM(llm_def, norm, "norm", norm_words, BIND_REQUIRED,
              BIND_NOTE("layernorm: weight and bias; rmsnorm: weight only")),
    BIND_ENUM(llm_def, position, "position", position_words, BIND_REQUIRED,
              BIND_NOTE("learned: a table added to the embedding; rope: rotary; none: no kernels for it")),
    BIND_BOOL(llm_def, tied_embeddings, "tied_embeddings", BIND_DEFAULT(0, "false"),
              BIND_NOTE("input and output embedding are one matrix")),
    BIND_BOOL(llm_def, bias, "bias", BIND_DEFAULT(0, "false"), BIND_NOTE("linear layers carry biases")),
    BIND_BOOL(llm_def, dropout, "dropout", BIND_DEFAULT(0, "false"),
              BIND_NOTE("trained with dropout, whose masks are kept for the backward pass")),
    BIND_LATER("experts", BIND_NOT_MODELLED),
    BIND_LATER("experts_per_token", BIND_NOT_MODELLED),
    BIND_LATER("shared_experts", BIND_NOT_MODELLED),
    BIND_LATER("sliding_window", BIND_NOT_MODELLED),
    BIND_LATER("latent_attention", BIND_NOT_MODELLED),
    BIND_LATER("parallel_block", BIND_NOT_MODELLED),
    BIND_LATER("predicted_tokens", BIND_NOT_MODELLED),
    BIND_LATER("hf", BIND_NOT_MODELLED),
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

bool llm_complete(llm_def *model, const bind_reader *r, sim_error *error)
{
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

uint64_t llm_norm_parameters(const llm_def *m)
{
    return m->norm == NORM_LAYERNORM ? 2 * m->hidden : m->hidden;
}

uint32_t llm_up_products(const llm_def *m)
{
    return m->activation == ACTIVATION_SWIGLU ? 2 : 1;
}

// Parameters of one layer, with q = a d and c = k d (widths of the queries and of the keys), g matrices into the
// feed-forward layer (1, or 2 when gated):
//     P = h (q + 2 c) + q h + (g + 1) h f  +  2 norms  +  bias (q + 2 c + h + g f + h)
// A GPT (q = c = h, f = 4 h, biases, LayerNorm) gives 12 h^2 + 13 h. Source: counting the matrices of Vaswani et al.
// 2017, Shazeer 2020 (SwiGLU), Ainslie et al. 2023 (grouped queries).
uint64_t llm_layer_parameters(const llm_def *m)
{
    const uint64_t q = m->heads * m->head_size, c = m->kv_heads * m->head_size;
    const uint64_t up = llm_up_products(m);
    const uint64_t matrices = m->hidden * (q + 2 * c) + q * m->hidden + (up + 1) * m->hidden * m->ffn;
    const uint64_t biases = m->bias ? q + 2 * c + up * m->ffn + 2 * m->hidden : 0;
    return matrices + biases + 2 * llm_norm_parameters(m);
}

uint64_t llm_embedding_parameters(const llm_def *m)
{
    const uint64_t positions = m->position == POSITION_LEARNED ? m->max_sequence : 0;
    return (m->vocabulary + positions) * m->hidden;
}

uint64_t llm_head_parameters(const llm_def *m)
{
    return llm_norm_parameters(m) + (m->tied_embeddings ? 0 : m->vocabulary * m->hidden);
}

uint64_t llm_parameters(const llm_def *m)
{
    return m->layers * llm_layer_parameters(m) + llm_embedding_parameters(m) + llm_head_parameters(m);
}

// FLOP per token of the forward pass, times 3 (the backward pass has two products for each one forward):
//     F = L (2 h (q + 2 c) + 2 q h + 2 (g + 1) h f + 4 q s w) + 2 h v      [FLOP/token]
// w = 1 for the full square of scores, 1/2 for its causal half; s sequence length, v vocabulary without padding.
// For a GPT and w = 1 it is Narayanan et al., "Efficient large-scale language model training on GPU clusters using
// Megatron-LM", SC'21, eq. 3, without its recomputation: 72 s L h^2 (1 + s/(6 h) + v/(12 L h)) per sequence. The
// causal half neglects the diagonal, as kernel benchmarks do (Dao 2023). Norms, activations and softmax are left out.
// FLOP_6N: Kaplan et al., "Scaling laws for neural language models", 2020, C = 6 N; N here counts the embeddings too,
// as Hoffmann et al. 2022 and the trackers of most frameworks do.
double llm_flop_per_token(const llm_def *m, uint64_t sequence_length, flop_convention convention)
{
    if (convention == FLOP_6N) return 6.0 * (double)llm_parameters(m);
    SIM_ASSERT(convention == FLOP_MODEL_FULL || convention == FLOP_MODEL_CAUSAL);
    const double h = (double)m->hidden, f = (double)m->ffn;
    const double q = (double)(m->heads * m->head_size), c = (double)(m->kv_heads * m->head_size);
    const double products = 2.0 * h * (2.0 * q + 2.0 * c) + 2.0 * (llm_up_products(m) + 1) * h * f;
    const double attention = 4.0 * q * (double)sequence_length *
                             (convention == FLOP_MODEL_CAUSAL ? 0.5 : 1.0);
    return 3.0 * (m->layers * (products + attention) + 2.0 * h * (double)m->vocabulary);
}
