// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/scratch.h"

#include "models/hf_config.h"
#include "models/training/llm.h"
#include "sim/array.h"
#include "tests/support/loaded.h"
#include "tests/support/text.h"

static arena *memory;

static int set_up(void **state)
{
    (void)state;
    memory = arena_create("test");
    return memory ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    arena_destroy(memory);
    return 0;
}

static bool bind(const document *config, llm_def *out, sim_error *error)
{
    doc_node *model;
    bind_reader *r = bind_reader_create(memory, NULL, NULL);
    return hf_config_read(memory, config, &model, error) &&
           bind_read(r, llm_binds, model, "model", out, error) && llm_complete(out, r, error);
}

static void read_published(const char *name, llm_def *out)
{
    document config;
    sim_error error = { 0 };
    const char *path = arena_format(memory, "tests/fuzz/corpus/hf/%s.json", name);
    if (document_load_json(memory, path, NULL, &config, &error) && bind(&config, out, &error)) return;
    sim_error_print(&error, stderr);
    fail();
}

// Counts of the published weights (safetensors indices and model pages).
struct published_case {
    const char *name;
    uint64_t parameters, left_out; // left_out: of the published count, what is not counted
    const char *untrained;
};
static const struct published_case published_cases[] = {
    { "llama-3.1-8b", 8030261248, 0, NULL },
    { "llama-3.1-70b", 70553706496, 0, NULL },
    { "llama-3.1-405b", 405853388800, 0, NULL },
    { "mistral-7b", 7241732096, 0, NULL },
    { "qwen2.5-7b", 7615616512, 0, NULL },
    { "qwen3-32b", 32762123264, 0, NULL },
    { "qwen3-vl-8b-text", 8190735360, 0, NULL }, // the shape of Qwen3-8B
    { "phi-4", 14659507200, 0, NULL },
    { "gpt2", 124439808, 0, NULL },
    { "opt-125m", 125239296, UINT64_C(2) * 768, NULL }, // two rows of positions
    { "bloomz-560m", 559214592, 0, NULL },
    // 96 (18432 (18432 + 2 1536) + 18432^2 + 2 18432 73728 + 4 18432) + 2 256000 18432 + 2 18432: "341 billion"
    { "nemotron-4-340b", 341029195776, 0, NULL },
    { "pythia-1b", 1011781632, 0, "attention and feed-forward side by side" },
    { "mixtral-8x7b", 46702792704, 0, "a mixture of experts" },
    { "qwen3-30b-a3b-fp8", 30532122624, 0, "a mixture of experts" },
    { "qwen3-235b-a22b", 235093634560, 0, "a mixture of experts" },
    // Biases of the router's choice, 256 in each of 58 layers
    { "deepseek-v3", 671026419200, UINT64_C(58) * 256, "a mixture of experts" },
};
static void models_have_their_published_parameters(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(published_cases); i++) {
        const struct published_case *c = &published_cases[i];
        llm_def m;
        const void *field;
        size_t size;
        print_message("%s\n", c->name);
        read_published(c->name, &m);
        assert_int_equal(llm_parameters(&m), c->parameters - c->left_out);
        const char *untrained = llm_untrained(&m, &field, &size);
        assert_int_equal(untrained != NULL, c->untrained != NULL);
        if (untrained) assert_string_equal(untrained, c->untrained);
    }
}

// 12.88 of 46.70 (Mistral AI: "Mixtral of Experts", 2024: 13B active), 37.55 of 671 with both tables (DeepSeek-V3: 37B).
static void of_experts_few_are_active(void **state)
{
    (void)state;
    llm_def m;
    read_published("mixtral-8x7b", &m);
    // 46,702,792,704 less six of eight experts, 3 x 4096 x 14336 each, in 32 layers
    assert_int_equal(llm_active_parameters(&m), UINT64_C(46702792704) - UINT64_C(32) * 6 * 176160768);
    assert_near(llm_flop_per_token(&m, 4096, FLOP_6N), 6.0 * 12879925248.0, 1e-12);
    // The head is a product as well, the embedding none; attention 4 s q: 3 (2 (active - norms - embedding) + 32 4 4096 4096)
    const double products = 12879925248.0 - 65 * 4096 - 32000 * 4096;
    assert_near(llm_flop_per_token(&m, 4096, FLOP_MODEL_FULL), 3 * (2 * products + 32 * 4.0 * 4096 * 4096),
                1e-12);
    read_published("deepseek-v3", &m);
    assert_int_equal(m.head_size, 192);
    assert_int_equal(m.dense_layers, 3);
    assert_int_equal(m.predicted_tokens, 2);
    assert_near((double)llm_active_parameters(&m), 37.55e9, 1e-3);
    llm_def plain = m; // scores of 192 and values of 128 for each head
    plain.latent.value_size = 0;
    const double by_value = llm_flop_per_token(&m, 1000, FLOP_MODEL_FULL) -
                            llm_flop_per_token(&plain, 1000, FLOP_MODEL_FULL);
    assert_near(by_value, 3 * 61 * (2.0 * 128 * 128 * 1000 + 2.0 * 128 * 128 * (512 + 7168)), 1e-12);
}

static void every_field_of_a_dense_model_is_used(void **state)
{
    (void)state;
    llm_def m;
    read_published("bloomz-560m", &m);
    const llm_def bloom = { .layers = 24,
                            .hidden = 1024,
                            .heads = 16,
                            .kv_heads = 16,
                            .head_size = 64,
                            .ffn = 4096,
                            .vocabulary = 250880,
                            .max_sequence = 2048,
                            .activation = ACTIVATION_GELU,
                            .norm = NORM_LAYERNORM,
                            .position = POSITION_ALIBI,
                            .tied_embeddings = true,
                            .bias = true,
                            .embedding_norm = true,
                            .predicted_tokens = 1 };
    assert_true(m.name && strcmp(m.name, "unnamed") == 0);
    m.name = NULL;
    assert_true(bind_equal(llm_binds, &m, &bloom));
    read_published("opt-125m", &m);
    const llm_def opt = { .layers = 12,
                          .hidden = 768,
                          .heads = 12,
                          .kv_heads = 12,
                          .head_size = 64,
                          .ffn = 3072,
                          .vocabulary = 50272,
                          .max_sequence = 2048,
                          .activation = ACTIVATION_RELU,
                          .norm = NORM_LAYERNORM,
                          .position = POSITION_LEARNED,
                          .tied_embeddings = true,
                          .bias = true,
                          .dropout = true,
                          .predicted_tokens = 1 };
    m.name = NULL;
    assert_true(bind_equal(llm_binds, &m, &opt));
}

// ---- what is refused

#define LLAMA                                                                                                \
    "\"architectures\": [\"LlamaForCausalLM\"], \"hidden_size\": 64, \"num_hidden_layers\": 2,\n"            \
    "\"num_attention_heads\": 4, \"intermediate_size\": 96, \"vocab_size\": 100, "                           \
    "\"max_position_embeddings\": 32"

struct refused_case {
    const char *text;
    uint32_t line, column;
    const char *message, *hint;
};
static const struct refused_case refused_cases[] = {
    { "[1]", 1, 1, "a config.json is a mapping, not a list", "" },
    { "{}", 1, 1, "neither \"architectures\" nor \"model_type\" says which model this is",
      "a config.json of Hugging Face has one of them" },
    { "{\"architectures\": [\"LlamaForCausalML\"]}", 1, 20,
      "the architecture \"LlamaForCausalML\" is not modelled in this version",
      "did you mean \"LlamaForCausalLM\"?" },
    { "{\"model_type\": \"t5\"}", 1, 16, "the model_type \"t5\" is not modelled in this version",
      "modelled: llama, mistral, qwen2, qwen3, phi3, nemotron, gpt2, gpt_neox, opt, bloom, mixtral, "
      "qwen3_moe, "
      "deepseek_v3" },
    { "{\"architectures\": [\"A\", \"B\"]}", 1, 19, "architectures is a list of one name, not a list", "" },
    { "{\"architectures\": [7]}", 1, 20, "architectures is a list of one name, not 7", "" },
    { "{\"architectures\": [\"LlamaForCausalLM\"], \"model_type\": 7}", 1, 55,
      "model_type is the name of one family of models, not 7", "" },
    { "{\"architectures\": [\"LlamaForCausalLM\"], \"model_type\": [\"llama\"]}", 1, 55,
      "model_type is the name of one family of models, not a list", "" },
    { "{\"model_type\": {}}", 1, 16, "model_type is the name of one family of models, not a mapping", "" },
    { "{\"architectures\": [\"RwkvModel\"]}", 1, 20,
      "the architecture \"RwkvModel\" is not modelled in this version",
      "modelled: LlamaForCausalLM, MistralForCausalLM, Qwen2ForCausalLM, Qwen3ForCausalLM, Phi3ForCausalLM, "
      "NemotronForCausalLM, GPT2LMHeadModel, GPTNeoXForCausalLM, OPTForCausalLM, BloomForCausalLM, "
      "MixtralForCausalLM, Qwen3MoeForCausalLM, DeepseekV3ForCausalLM" },
    { "{" LLAMA ",\n \"hiden_size\": 3}", 3, 2,
      "LlamaForCausalLM is not known to have a field \"hiden_size\"", "did you mean \"hidden_size\"?" },
    { "{\"model_type\": \"llama\", \"vocab_size\": 7}", 1, 1, "\"hidden_size\" is missing",
      "a config.json of LlamaForCausalLM says it" },
    { "{\"model_type\": \"llama\", \"vocab_size\": null}", 1, 39, "\"vocab_size\" has no value",
      "a config.json of LlamaForCausalLM says it" },
    { "{\"model_type\": \"bloom\", \"vocab_size\": 7}", 1, 1, "\"hidden_size\" is missing",
      "a config.json of BloomForCausalLM says it" },
    { "{\"model_type\": \"bloom\", \"hidden_size\": 64,\n \"n_embed\": 64}", 2, 2,
      "\"n_embed\" says hidden a second time", "" },
    { "{" LLAMA ",\n \"hidden_act\": \"gelu\"}", 3, 16,
      "hidden_act \"gelu\" of LlamaForCausalLM is not modelled in this version", "modelled: silu" },
    { "{" LLAMA ",\n \"hidden_act\": 7}", 3, 16,
      "hidden_act \"7\" of LlamaForCausalLM is not modelled in this version", "modelled: silu" },
    { "{\"model_type\": \"gpt2\", \"activation_function\": \"silu\"}", 1, 47,
      "activation_function \"silu\" of GPT2LMHeadModel is not modelled in this version",
      "modelled: gelu, relu, relu2" },
    { "{" LLAMA ",\n \"attention_bias\": true, \"mlp_bias\": false}", 3, 20,
      "attention_bias without mlp_bias: biases in half of a layer are not modelled in this version", "" },
    { "{" LLAMA ",\n \"mlp_bias\": \"yes\"}", 3, 14, "mlp_bias is true or false, not yes", "" },
    { "{" LLAMA ",\n \"attention_dropout\": 0.1}", 3, 23,
      "attention_dropout: 0.1: dropout inside attention alone is not modelled in this version", "" },
    { "{" LLAMA ",\n \"is_encoder_decoder\": true}", 3, 24,
      "is_encoder_decoder: true: an encoder before the decoder is not modelled in this version", "" },
    { "{\"model_type\": \"gpt2\", \"attn_pdrop\": 2}", 1, 38, "attn_pdrop is a share from 0 to 1, not 2",
      "" },
    { "{\"model_type\": \"gpt2\", \"attn_pdrop\": [1]}", 1, 38,
      "attn_pdrop is a share from 0 to 1, not a list", "" },
    { "{\"model_type\": \"deepseek_v3\", \"num_nextn_predict_layers\": 0.5}", 1, 59,
      "num_nextn_predict_layers must be a whole number, not 0.5", "" },
    { "{\"model_type\": \"qwen3_moe\",\n \"mlp_only_layers\": [0]}", 2, 21,
      "mlp_only_layers: a list: layers with and without experts in turn is not modelled in this version",
      "" },
    { "{\"model_type\": \"qwen3\",\n \"layer_types\": [\"full_attention\", \"sliding_attention\"]}", 2, 17,
      "layer_types: a list: attention within a window is not modelled in this version", "" },
    { "{\"model_type\": \"qwen3\",\n \"use_sliding_window\": true}", 2, 24,
      "use_sliding_window: true: attention within a window is not modelled in this version", "" },
    { "{\"model_type\": \"opt\", \"hidden_size\": 1024, \"num_hidden_layers\": 2, \"num_attention_heads\": "
      "4,\n"
      "\"ffn_dim\": 96, \"vocab_size\": 100, \"max_position_embeddings\": 32, \"word_embed_proj_dim\": 512}",
      2, 89, "word_embed_proj_dim 512 other than hidden 1024 is not modelled in this version", "" },
    // Values that no model has are refused by what reads models, at their place here.
    { "{\"model_type\": \"llama\", \"hidden_size\": 0, \"num_hidden_layers\": 2, \"num_attention_heads\": "
      "4,\n"
      "\"intermediate_size\": 96, \"vocab_size\": 100, \"max_position_embeddings\": 32}",
      1, 40, "model.hidden must be at least 1", "" },
    { "{\"model_type\": \"llama\", \"hidden_size\": \"64\", \"num_hidden_layers\": 2, "
      "\"num_attention_heads\": 4,\n"
      "\"intermediate_size\": 96, \"vocab_size\": 100, \"max_position_embeddings\": 32}",
      1, 40, "model.hidden must be a number; \"64\" in quotes is a text", "leave the quotes out" },
    { "{\"model_type\": \"llama\", \"hidden_size\": 64, \"num_hidden_layers\": 2, \"num_attention_heads\": "
      "5,\n"
      "\"intermediate_size\": 96, \"vocab_size\": 100, \"max_position_embeddings\": 32}",
      1, 68, "5 heads do not divide a hidden size of 64", "hidden: 65, or write head_size" },
    { "{" LLAMA ",\n \"num_key_value_heads\": 3}", 3, 2, "kv_heads 3 does not divide heads 4",
      "kv_heads: 2" },
    { "{\"model_type\": \"gpt2\", \"n_embd\": [], \"n_layer\": 2, \"n_head\": 2, \"n_positions\": 8, "
      "\"vocab_size\": "
      "9}",
      1, 34, "model.hidden must be a number, not a list", "" },
};
static void others_are_refused_where_they_stand(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(refused_cases); i++) {
        const struct refused_case *c = &refused_cases[i];
        document config;
        sim_error error = { 0 };
        llm_def m;
        assert_true(document_parse_json(memory, "c.json", c->text, strlen(c->text), &config, &error));
        assert_false(bind(&config, &m, &error));
        assert_string_equal(error.message, c->message);
        assert_string_equal(error.hint, c->hint);
        assert_int_equal(error.line, c->line);
        assert_int_equal(error.column, c->column);
        assert_int_equal(error.exit_code, SIM_EXIT_INPUT);
    }
}

struct named_case {
    const char *name, *message;
    uint32_t line;
};
static const struct named_case named_cases[] = {
    { "gpt-oss-120b",
      "GptOssForCausalLM has a mixture of experts with attention within a window in every other layer", 59 },
    { "llama-4-scout", "Llama4ForConditionalGeneration has a mixture of experts and a part for images", 6 },
    { "deepseek-v3.2",
      "DeepseekV32ForCausalLM has sparse attention chosen by an index, with a mixture of experts", 15 },
    { "glm-5", "GlmMoeDsaForCausalLM has sparse attention chosen by an index, with a mixture of experts",
      20 },
    { "nemotron-h-56b", "NemotronHForCausalLM has Mamba layers between those with attention", 19 },
    { "nemotron-super-49b-two-blocks", "DeciLMForCausalLM has layers that differ from one another", 12 },
    { "gemma-2-2b",
      "Gemma2ForCausalLM has soft caps of scores and logits, with attention within a window in every "
      "other layer",
      7 },
    { "falcon-40b-patched", "RefinedWeb has attention and feed-forward side by side", 20 },
    { "qwen3-vl-8b", "Qwen3VLForConditionalGeneration has a part for images", 28 },
};
static void architectures_are_refused_by_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(named_cases); i++) {
        const struct named_case *c = &named_cases[i];
        document config;
        sim_error error = { 0 };
        llm_def m;
        const char *path = arena_format(memory, "tests/fuzz/corpus/hf/%s.json", c->name);
        assert_true(document_load_json(memory, path, NULL, &config, &error));
        assert_false(bind(&config, &m, &error));
        assert_string_equal(error.message,
                            arena_format(memory, "%s, which is not modelled in this version", c->message));
        assert_int_equal(error.line, c->line);
    }
}

static void windows_are_refused(void **state)
{
    (void)state;
    document config;
    sim_error error = { 0 };
    llm_def m;
    assert_true(
        document_load_json(memory, "tests/fuzz/corpus/hf/mistral-7b-window.json", NULL, &config, &error));
    assert_false(bind(&config, &m, &error));
    assert_string_equal(error.message,
                        "sliding_window: 4096: attention within a window is not modelled in this version");
}

// ---- in a scenario

#define JOB "cluster: { node: dgx-a100 }\ntraining: { global_batch: 16 }\n"
#define CONFIG                                                                                               \
    "{\"architectures\": [\"LlamaForCausalLM\"], \"hidden_size\": 64, \"num_hidden_layers\": 2,\n"           \
    "\"num_attention_heads\": 4, \"intermediate_size\": 96, \"vocab_size\": 100, "                           \
    "\"max_position_embeddings\": 32}"

static void a_scenario_names_the_file(void **state)
{
    scratch_write("models/wee/config.json", CONFIG);
    loaded l;
    assert_true(loaded_read(&l, *state, JOB "model: { hf: models/wee/config.json, layers: 3 }\n", NULL, 0));
    assert_string_equal(l.s.model.name, "wee");
    assert_int_equal(l.s.model.layers, 3); // what stands beside wins
    assert_int_equal(l.s.model.ffn, 96);
    assert_null(l.s.model.hf);
    assert_int_equal(l.s.document.included.count, 1); // so that no output replaces it
    assert_string_equal(l.s.document.included.items[0], "models/wee/config.json");
    arena_destroy(l.a);
    scratch_write("wee-7.config.json", CONFIG);
    const char *const sets[] = { "model.hf=wee-7.config.json", "model.dropout=true" };
    assert_true(loaded_read(&l, *state, JOB, sets, 2));
    assert_string_equal(l.s.model.name, "wee-7");
    assert_true(l.s.model.dropout);
    arena_destroy(l.a);
}

struct scenario_case {
    const char *text, *want;
};
static const struct scenario_case scenario_cases[] = {
    { "model: { base: llama3-8b, hf: c.json }\n",
      "s.yaml:3:27: error: the model is given twice: by base and by hf\n"
      "    3 | model: { base: llama3-8b, hf: c.json }\n"
      "      |                           ^\n"
      "  hint: leave one of them out\n" },
    { "model: { hf: [c.json] }\n", "s.yaml:3:14: error: model.hf must be the name of a file\n"
                                   "    3 | model: { hf: [c.json] }\n"
                                   "      |              ^\n"
                                   "  hint: hf: config.json\n" },
    { "model: { hf: none.json }\n",
      "s.yaml:3:14: error: cannot read \"none.json\": No such file or directory\n"
      "    3 | model: { hf: none.json }\n"
      "      |              ^\n" },
    { "model: { hf: printed.txt }\n",
      "printed.txt:1:1: error: not valid JSON: here stands \"G\" instead of a value\n"
      "    1 | GPT2Config {\n"
      "      | ^\n"
      "  hint: as Python prints it: JSON begins with the brace behind \"GPT2Config\"\n" },
};
static void files_that_are_none_are_refused(void **state)
{
    scratch_write("c.json", CONFIG);
    scratch_write("printed.txt", "GPT2Config {\n}\n");
    for (size_t i = 0; i < ARRAY_COUNT(scenario_cases); i++) {
        loaded l;
        const char *text = arena_format(memory, JOB "%s", scenario_cases[i].text);
        assert_false(loaded_read(&l, *state, text, NULL, 0));
        assert_error_prints(&l.error, scenario_cases[i].want);
        arena_destroy(l.a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_have_their_published_parameters),
        cmocka_unit_test(of_experts_few_are_active),
        cmocka_unit_test(every_field_of_a_dense_model_is_used),
        cmocka_unit_test(others_are_refused_where_they_stand),
        cmocka_unit_test(architectures_are_refused_by_name),
        cmocka_unit_test(windows_are_refused),
        cmocka_unit_test_setup_teardown(a_scenario_names_the_file, scratch_enter, scratch_leave),
        cmocka_unit_test_setup_teardown(files_that_are_none_are_refused, scratch_enter, scratch_leave),
    };
    return cmocka_run_group_tests_name("hf_config", tests, set_up, tear_down);
}
