// SPDX-License-Identifier: GPL-3.0-or-later
// Sources: the configuration classes of Hugging Face transformers 4.57 (defaults where a field is left out) and the published
// config.json of each family.
#include "models/hf_fields.h"

#define TAKE(name_, key_)                                                                                    \
    {                                                                                                        \
        .name = (name_), .use = HF_TAKE, .key = (key_)                                                       \
    }
#define REQUIRED(name_, key_)                                                                                \
    {                                                                                                        \
        .name = (name_), .use = HF_TAKE, .key = (key_), .required = true                                     \
    }
#define COUNT(name_, key_)                                                                                   \
    {                                                                                                        \
        .name = (name_), .use = HF_COUNT, .key = (key_)                                                      \
    }
#define ACTIVATION(name_)                                                                                    \
    {                                                                                                        \
        .name = (name_), .use = HF_ACTIVATION, .key = "activation"                                           \
    }
#define DROPOUT(name_)                                                                                       \
    {                                                                                                        \
        .name = (name_), .use = HF_DROPOUT, .key = "dropout"                                                 \
    }
#define BIAS(name_)                                                                                          \
    {                                                                                                        \
        .name = (name_), .use = HF_BIAS, .key = "bias"                                                       \
    }
#define ONLY(name_, only_, what_)                                                                            \
    {                                                                                                        \
        .name = (name_), .use = HF_ONLY, .key = (what_), .only = (only_)                                     \
    }
#define UNUSED(name_, why_)                                                                                  \
    {                                                                                                        \
        .name = (name_), .use = HF_UNUSED, .key = (why_)                                                     \
    }
#define END                                                                                                  \
    {                                                                                                        \
        .use = HF_END                                                                                        \
    }

// ---- fields of all

#define TOKENS "the number of a token changes no shape"
#define GENERATION "for generating text"
#define ANOTHER_TASK "for another task than predicting the next token"
#define STORAGE "how the published weights are stored; training.precision says what is trained"

static const hf_field common[] = {
    UNUSED("architectures", "read first"),
    UNUSED("model_type", "read first"),
    REQUIRED("vocab_size", "vocabulary"),
    TAKE("tie_word_embeddings", "tied_embeddings"),
    UNUSED("_name_or_path", "where it came from"),
    UNUSED("name_or_path", "where it came from"),
    UNUSED("transformers_version", "which version wrote it"),
    UNUSED("_attn_implementation", "training.attention says it"),
    UNUSED("attn_implementation", "training.attention says it"),
    UNUSED("auto_map", "names code; the fields say the shapes"),
    UNUSED("torch_dtype", STORAGE),
    UNUSED("dtype", STORAGE),
    UNUSED("quantization_config", STORAGE),
    UNUSED("use_cache", GENERATION),
    UNUSED("cache_implementation", GENERATION),
    UNUSED("num_logits_to_keep", GENERATION),
    UNUSED("do_sample", GENERATION),
    UNUSED("max_length", GENERATION),
    UNUSED("temperature", GENERATION),
    UNUSED("top_p", GENERATION),
    UNUSED("prefix", GENERATION),
    UNUSED("initializer_range", "of the first weights"),
    UNUSED("init_std", "of the first weights"),
    UNUSED("bos_token_id", TOKENS),
    UNUSED("eos_token_id", TOKENS),
    UNUSED("pad_token_id", TOKENS),
    UNUSED("unk_token_id", TOKENS),
    UNUSED("sep_token_id", TOKENS),
    UNUSED("pretraining_tp", "sums of parts in another order; plan.tensor says the size of the groups"),
    UNUSED("output_attentions", "what a call returns"),
    UNUSED("output_hidden_states", "what a call returns"),
    UNUSED("return_dict", "what a call returns"),
    UNUSED("torchscript", "how it is exported"),
    UNUSED("id2label", ANOTHER_TASK),
    UNUSED("label2id", ANOTHER_TASK),
    UNUSED("task_specific_params", ANOTHER_TASK),
    UNUSED("problem_type", ANOTHER_TASK),
    UNUSED("finetuning_task", ANOTHER_TASK),
    UNUSED("classifier_dropout", ANOTHER_TASK),
    ONLY("is_encoder_decoder", "false", "an encoder before the decoder"),
    ONLY("add_cross_attention", "false", "attention to an encoder"),
    ONLY("chunk_size_feed_forward", "0", "a feed-forward layer in pieces"),
    END,
};

// Of all that use the names of Llama.
static const hf_field sizes[] = {
    REQUIRED("hidden_size", "hidden"),
    REQUIRED("num_hidden_layers", "layers"),
    REQUIRED("num_attention_heads", "heads"),
    REQUIRED("max_position_embeddings", "max_sequence"),
    END,
};
static const hf_field feed_forward[] = {
    REQUIRED("intermediate_size", "ffn"),
    END,
};

#define EPSILON "a small number inside the norms"
#define ANGLES "changes angles, not shapes"

static const hf_field rotary[] = {
    UNUSED("rope_theta", ANGLES),
    UNUSED("rope_scaling", ANGLES),
    UNUSED("rope_parameters", ANGLES),
    UNUSED("rope_interleave", ANGLES),
    UNUSED("rotary_emb_base", ANGLES),
    UNUSED("original_max_position_embeddings", ANGLES),
    UNUSED("partial_rotary_factor", "kernels pass over the whole head, turned or not"),
    UNUSED("rotary_pct", "kernels pass over the whole head, turned or not"),
    UNUSED("rms_norm_eps", EPSILON),
    END,
};

#define WINDOW "attention within a window"
#define ATTENTION_BIAS "biases in attention alone"
#define ATTENTION_DROPOUT "dropout inside attention alone"

static const hf_field grouped[] = {
    TAKE("num_key_value_heads", "kv_heads"),
    TAKE("head_dim", "head_size"),
    ACTIVATION("hidden_act"),
    ONLY("attention_dropout", "0", ATTENTION_DROPOUT),
    END,
};
// The class has a default of its own that is not "as many as heads".
static const hf_field grouped_required[] = {
    REQUIRED("num_key_value_heads", "kv_heads"),
    TAKE("head_dim", "head_size"),
    ACTIVATION("hidden_act"),
    ONLY("attention_dropout", "0", ATTENTION_DROPOUT),
    END,
};

// ---- of one family

static const hf_field llama[] = { BIAS("attention_bias"), BIAS("mlp_bias"), END };

static const hf_field mistral[] = {
    { .name = "sliding_window", .use = HF_ONLY, .key = WINDOW, .only = "null", .required = true },
    END,
};

static const hf_field qwen[] = {
    ONLY("attention_bias", "false", ATTENTION_BIAS),
    ONLY("use_sliding_window", "false", WINDOW),
    UNUSED("use_mrope", ANGLES),
    ONLY("layer_types", "[full_attention]", WINDOW),
    UNUSED("sliding_window", "not without use_sliding_window"),
    UNUSED("max_window_layers", "not without use_sliding_window"),
    END,
};

static const hf_field phi3[] = {
    ONLY("attention_bias", "false", ATTENTION_BIAS),
    ONLY("sliding_window", "null", WINDOW),
    DROPOUT("embd_pdrop"),
    DROPOUT("resid_pdrop"),
    END,
};

static const hf_field nemotron[] = { UNUSED("norm_eps", EPSILON), BIAS("attention_bias"), BIAS("mlp_bias"),
                                     DROPOUT("hidden_dropout"), END };

#define ROUTER "of the router's choice or loss"

static const hf_field mixtral[] = {
    REQUIRED("num_local_experts", "experts"),
    REQUIRED("num_experts_per_tok", "experts_per_token"),
    ONLY("sliding_window", "null", WINDOW),
    UNUSED("output_router_logits", ROUTER),
    UNUSED("router_aux_loss_coef", ROUTER),
    UNUSED("router_jitter_noise", ROUTER),
    END,
};

#define OTHER_LAYERS "layers with and without experts in turn"

static const hf_field qwen_experts[] = {
    REQUIRED("intermediate_size", "ffn"), // of layers without experts; there are none
    REQUIRED("num_experts", "experts"),
    REQUIRED("num_experts_per_tok", "experts_per_token"),
    REQUIRED("moe_intermediate_size", "expert_ffn"),
    ONLY("decoder_sparse_step", "1", OTHER_LAYERS),
    ONLY("mlp_only_layers", "[]", OTHER_LAYERS),
    UNUSED("norm_topk_prob", ROUTER),
    UNUSED("output_router_logits", ROUTER),
    UNUSED("router_aux_loss_coef", ROUTER),
    END,
};

static const hf_field deepseek[] = {
    TAKE("q_lora_rank", "latent_attention.query_rank"),
    REQUIRED("kv_lora_rank", "latent_attention.kv_rank"),
    REQUIRED("qk_rope_head_dim", "latent_attention.rope_size"),
    REQUIRED("qk_nope_head_dim", "latent_attention.plain_size"),
    REQUIRED("v_head_dim", "latent_attention.value_size"),
    UNUSED("num_key_value_heads", "all heads share the low-rank keys and values"),
    ACTIVATION("hidden_act"),
    ONLY("attention_bias", "false", ATTENTION_BIAS),
    ONLY("attention_dropout", "0", ATTENTION_DROPOUT),
    REQUIRED("n_routed_experts", "experts"),
    REQUIRED("num_experts_per_tok", "experts_per_token"),
    REQUIRED("moe_intermediate_size", "expert_ffn"),
    COUNT("n_shared_experts", "shared_experts"),
    COUNT("first_k_dense_replace", "dense_layers"),
    ONLY("moe_layer_freq", "1", OTHER_LAYERS),
    { .name = "num_nextn_predict_layers", .use = HF_NEXT, .key = "predicted_tokens" },
    UNUSED("ep_size", "plans say how experts are spread"),
    UNUSED("n_group", ROUTER),
    UNUSED("topk_group", ROUTER),
    UNUSED("topk_method", ROUTER),
    UNUSED("norm_topk_prob", ROUTER),
    UNUSED("scoring_func", ROUTER),
    UNUSED("routed_scaling_factor", ROUTER),
    UNUSED("aux_loss_alpha", ROUTER),
    UNUSED("seq_aux", ROUTER),
    END,
};

static const hf_field neox[] = {
    ACTIVATION("hidden_act"),
    TAKE("use_parallel_residual", "parallel_block"),
    ONLY("attention_bias", "true", "biases in the feed-forward layer alone"),
    DROPOUT("hidden_dropout"),
    DROPOUT("attention_dropout"),
    UNUSED("layer_norm_eps", EPSILON),
    END,
};

static const hf_field gpt2[] = {
    REQUIRED("n_embd", "hidden"),
    REQUIRED("n_layer", "layers"),
    REQUIRED("n_head", "heads"),
    REQUIRED("n_positions", "max_sequence"),
    UNUSED("n_ctx", "an older name of n_positions"),
    TAKE("n_inner", "ffn"),
    ACTIVATION("activation_function"),
    DROPOUT("resid_pdrop"),
    DROPOUT("embd_pdrop"),
    DROPOUT("attn_pdrop"),
    UNUSED("layer_norm_epsilon", EPSILON),
    UNUSED("scale_attn_weights", "a factor of the scores"),
    UNUSED("scale_attn_by_inverse_layer_idx", "a factor of the scores"),
    UNUSED("reorder_and_upcast_attn", "for old 16-bit arithmetic"),
    UNUSED("summary_activation", ANOTHER_TASK),
    UNUSED("summary_first_dropout", ANOTHER_TASK),
    UNUSED("summary_proj_to_labels", ANOTHER_TASK),
    UNUSED("summary_type", ANOTHER_TASK),
    UNUSED("summary_use_proj", ANOTHER_TASK),
    END,
};

// The table of positions has two rows more than max_position_embeddings, which no token uses; they are not counted.
static const hf_field opt[] = {
    REQUIRED("ffn_dim", "ffn"),
    ACTIVATION("activation_function"),
    TAKE("enable_bias", "bias"),
    DROPOUT("dropout"),
    UNUSED("attention_dropout", "dropout is trained with or without; inside attention it is as dropout says"),
    ONLY("activation_dropout", "0", "dropout behind the activation"),
    ONLY("layerdrop", "0", "layers that are left out by chance"),
    ONLY("do_layer_norm_before", "true", "norms behind each half of a layer"),
    ONLY("_remove_final_layer_norm", "false", "a model without a last norm"),
    ONLY("layer_norm_elementwise_affine", "true", "norms without weights"),
    { .name = "word_embed_proj_dim", .use = HF_SAME, .key = "hidden" },
    END,
};

static const hf_field bloom[] = {
    REQUIRED("hidden_size", "hidden"),
    REQUIRED("n_embed", "hidden"),
    REQUIRED("num_hidden_layers", "layers"),
    REQUIRED("n_layer", "layers"),
    REQUIRED("num_attention_heads", "heads"),
    REQUIRED("n_head", "heads"),
    REQUIRED("seq_length", "max_sequence"),
    TAKE("n_inner", "ffn"),
    DROPOUT("hidden_dropout"),
    DROPOUT("attention_dropout"),
    ONLY("apply_residual_connection_post_layernorm", "false", "a residual stream behind the norms"),
    UNUSED("layer_norm_epsilon", EPSILON),
    UNUSED("attention_softmax_in_fp32", "training.attention says how attention is computed"),
    UNUSED("masked_softmax_fusion", "training.fused_kernels says it"),
    UNUSED("bias_dropout_fusion", "training.fused_kernels says it"),
    UNUSED("skip_bias_add", "training.fused_kernels says it"),
    UNUSED("skip_bias_add_qkv", "training.fused_kernels says it"),
    UNUSED("offset_alibi", "an additive constant of the biases"),
    UNUSED("slow_but_exact", GENERATION),
    END,
};

// ---- the architectures

#define LLAMA_FIXED                                                                                          \
    { "norm", "rmsnorm" }, { "position", "rope" },                                                           \
    {                                                                                                        \
        "activation", "swiglu"                                                                               \
    }
#define EXPERTS "a mixture of experts"

const hf_architecture hf_architectures[] = {
    { .name = "LlamaForCausalLM",
      .types = { "llama" },
      .fields = { common, sizes, feed_forward, grouped, rotary, llama },
      .fixed = { LLAMA_FIXED },
      .gated = true },
    { .name = "MistralForCausalLM",
      .types = { "mistral" },
      .fields = { common, sizes, feed_forward, grouped_required, rotary, mistral },
      .fixed = { LLAMA_FIXED },
      .gated = true },
    { .name = "Qwen2ForCausalLM",
      .types = { "qwen2" },
      .fields = { common, sizes, feed_forward, grouped_required, rotary, qwen },
      .fixed = { LLAMA_FIXED, { "qkv_bias", "true" } },
      .gated = true },
    { .name = "Qwen3ForCausalLM",
      .types = { "qwen3", "qwen3_vl_text" },
      .fields = { common, sizes, feed_forward, grouped_required, rotary, qwen },
      .fixed = { LLAMA_FIXED, { "qk_norm", "true" } },
      .gated = true },
    { .name = "Phi3ForCausalLM",
      .types = { "phi3" },
      .fields = { common, sizes, feed_forward, grouped, rotary, phi3 },
      .fixed = { LLAMA_FIXED },
      .gated = true },
    { .name = "NemotronForCausalLM",
      .types = { "nemotron" },
      .fields = { common, sizes, feed_forward, grouped, rotary, nemotron },
      .fixed = { { "norm", "layernorm" }, { "position", "rope" }, { "activation", "squared_relu" } } },
    { .name = "GPT2LMHeadModel",
      .types = { "gpt2" },
      .fields = { common, gpt2 },
      .fixed = { { "norm", "layernorm" },
                 { "position", "learned" },
                 { "activation", "gelu" },
                 { "bias", "true" },
                 { "tied_embeddings", "true" },
                 { "dropout", "true" } }, // the class's defaults are 0.1
      .ffn_4h = true },
    { .name = "GPTNeoXForCausalLM",
      .types = { "gpt_neox" },
      .fields = { common, sizes, feed_forward, rotary, neox },
      .fixed = { { "norm", "layernorm" },
                 { "position", "rope" },
                 { "activation", "gelu" },
                 { "bias", "true" },
                 { "parallel_block", "true" } } },
    { .name = "OPTForCausalLM",
      .types = { "opt" },
      .fields = { common, sizes, opt },
      .fixed = { { "norm", "layernorm" },
                 { "position", "learned" },
                 { "activation", "relu" },
                 { "bias", "true" },
                 { "tied_embeddings", "true" },
                 { "dropout", "true" } } },
    { .name = "BloomForCausalLM",
      .types = { "bloom" },
      .fields = { common, bloom },
      .fixed = { { "norm", "layernorm" },
                 { "position", "alibi" },
                 { "activation", "gelu" },
                 { "bias", "true" },
                 { "embedding_norm", "true" },
                 { "tied_embeddings", "true" } },
      .ffn_4h = true },
    { .name = "MixtralForCausalLM",
      .types = { "mixtral" },
      .fields = { common, sizes, feed_forward, grouped_required, rotary, mixtral },
      .fixed = { LLAMA_FIXED },
      .gated = true },
    { .name = "Qwen3MoeForCausalLM",
      .types = { "qwen3_moe" },
      .fields = { common, sizes, grouped_required, rotary, qwen, qwen_experts },
      .fixed = { LLAMA_FIXED, { "qk_norm", "true" } },
      .gated = true },
    { .name = "DeepseekV3ForCausalLM",
      .types = { "deepseek_v3", "kimi_k2" },
      .fields = { common, sizes, feed_forward, rotary, deepseek },
      .fixed = { LLAMA_FIXED },
      .gated = true },
    // Refused by name.
    { .name = "GptOssForCausalLM",
      .types = { "gpt_oss" },
      .refusal = EXPERTS " with attention within a window in every other layer",
      .refused_at = "num_local_experts" },
    { .name = "Llama4ForConditionalGeneration",
      .types = { "llama4" },
      .refusal = EXPERTS " and a part for images",
      .refused_at = "text_config" },
    { .name = "DeepseekV32ForCausalLM",
      .types = { "deepseek_v32" },
      .refusal = "sparse attention chosen by an index, with " EXPERTS,
      .refused_at = "index_topk" },
    { .name = "GlmMoeDsaForCausalLM",
      .types = { "glm_moe_dsa" },
      .refusal = "sparse attention chosen by an index, with " EXPERTS,
      .refused_at = "index_topk" },
    { .name = "NemotronHForCausalLM",
      .types = { "nemotron_h" },
      .refusal = "Mamba layers between those with attention",
      .refused_at = "hybrid_override_pattern" },
    { .name = "DeciLMForCausalLM",
      .types = { "nemotron-nas", "deci" },
      .refusal = "layers that differ from one another",
      .refused_at = "block_configs" },
    { .name = "Gemma2ForCausalLM",
      .types = { "gemma2" },
      .refusal = "soft caps of scores and logits, with attention within a window in every other layer",
      .refused_at = "attn_logit_softcapping" },
    { .name = "FalconForCausalLM",
      .types = { "falcon", "RefinedWeb", "RefinedWebModel" },
      .refusal = "attention and feed-forward side by side",
      .refused_at = "parallel_attn" },
    { .name = "RWForCausalLM",
      .refusal = "attention and feed-forward side by side",
      .refused_at = "parallel_attn" },
    { .name = "Qwen3VLForConditionalGeneration",
      .types = { "qwen3_vl" },
      .refusal = "a part for images",
      .refused_at = "vision_config",
      .hint = "for the language model alone, give what stands at text_config as a file of its own" },
};
const size_t hf_architecture_count = sizeof hf_architectures / sizeof hf_architectures[0];
