// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "models/training/llm.h"
#include "sim/array.h"
#include "tests/support/llms.h"
#include "tests/support/text.h"

static const llm_def odd = {
    // everything unlike everything else: q = 132, c = 44
    .name = "odd",        .layers = 3,
    .hidden = 70,         .heads = 6,
    .kv_heads = 2,        .head_size = 22,
    .ffn = 210,           .vocabulary = 1009,
    .max_sequence = 77,   .activation = ACTIVATION_SWIGLU,
    .norm = NORM_RMSNORM, .position = POSITION_LEARNED,
    .bias = true,
};

struct parameter_case {
    const llm_def *model;
    uint64_t want_layer, want_embedding, want_head, want;
};
static const struct parameter_case parameter_cases[] = {
    // 4096 (4096 + 2 1024) + 4096^2 + 3 4096 14336 + 2 4096; published total (Meta-Llama-3-8B, safetensors index)
    { &llama3_8b, 218112000, 525336576, 525340672, 8030261248 },
    // 8192 (8192 + 2 1024) + 8192^2 + 3 8192 28672 + 2 8192; published total (Meta-Llama-3-70B)
    { &llama3_70b, 855654400, 1050673152, 1050681344, 70553706496 },
    // 12 1600^2 + 13 1600; published total (gpt2-xl)
    { &gpt2_xl, 30740800, 82049600, 3200, 1557611200 },
    // 12 2560^2 + 13 2560; published as 2.7 billion, counted 2.65
    { &gpt3_2_7b, 78676480, 133900800, 5120, 2651553280 },
    // 70 (132 + 88) + 132 70 + 3 70 210 + (132 + 88 + 2 210 + 2 70) + 2 70; (1009 + 77) 70; 1009 70 + 70
    { &odd, 69660, 76020, 70700, 355700 },
};

static void parameters_are_the_published_ones(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(parameter_cases); i++) {
        const struct parameter_case *c = &parameter_cases[i];
        print_message("%s\n", c->model->name);
        assert_int_equal(llm_layer_parameters(c->model), c->want_layer);
        assert_int_equal(llm_embedding_parameters(c->model), c->want_embedding);
        assert_int_equal(llm_head_parameters(c->model), c->want_head);
        assert_int_equal(llm_parameters(c->model), c->want);
    }
}

struct flop_case {
    const llm_def *model;
    uint64_t length;
    double want_full, want_causal, want_6n;
};
static const struct flop_case flop_cases[] = {
    // layer 2 218103808 = 436207616, attention 4 4096 8192 = 134217728 or half, head 2 525336576:
    // 3 (32 570425344 + 1050673152), 3 (32 503316480 + 1050673152)
    { &llama3_8b, 8192, 57912852480.0, 51470401536.0, 48181567488.0 },
    // layer 24 2560^2 = 157286400, attention 4 2560 2048 = 20971520 or half, head 2 2560 50257 = 257315840
    { &gpt3_2_7b, 2048, 17884707840.0, 16878074880.0, 15909319680.0 },
    // layer 2 68740 = 137480, attention 4 132 97 = 51216 or half, head 2 70 1009 = 141260
    { &odd, 97, 2122044.0, 1891572.0, 2134200.0 },
};

static void flop_by_hand(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(flop_cases); i++) {
        const struct flop_case *c = &flop_cases[i];
        print_message("%s\n", c->model->name);
        assert_near(llm_flop_per_token(c->model, c->length, FLOP_MODEL_FULL), c->want_full, 1e-12);
        assert_near(llm_flop_per_token(c->model, c->length, FLOP_MODEL_CAUSAL), c->want_causal, 1e-12);
        assert_near(llm_flop_per_token(c->model, c->length, FLOP_6N), c->want_6n, 1e-12);
    }
}

// Narayanan et al., SC'21, eq. 3 has 96 s L h^2 (1 + s/(6 h) + v/(16 L h)) per sequence with the layers' forward pass
// computed twice. Without: 72 s L h^2 (1 + s/(6 h) + v/(12 L h)).
static void gpt_flop_are_the_published_formula(void **state)
{
    (void)state;
    for (uint32_t i = 1; i < 40; i++) {
        const double h = 96.0 * i, l = 3.0 * i, s = 101.0 * i, v = 50257 + i;
        llm_def m = gpt3_2_7b;
        m.layers = 3 * i;
        m.hidden = 96 * i;
        m.head_size = 3 * i;
        m.ffn = 384 * i;
        m.vocabulary = 50257 + i;
        assert_near(llm_flop_per_token(&m, 101 * i, FLOP_MODEL_FULL) * s,
                    72 * s * l * h * h * (1 + s / (6 * h) + v / (12 * l * h)), 1e-12);
        assert_near((double)llm_layer_parameters(&m), 12 * h * h + 13 * h, 1e-12);
    }
}

// The greatest value of each key together: no count of parameters overflows.
static void greatest_model_can_be_counted(void **state)
{
    (void)state;
    llm_def m = odd;
    for (const bind_row *row = llm_binds; row->type != BIND_TYPE_END; row++) {
        assert_non_null(row->note);
        if (row->type == BIND_TYPE_U32) *(uint32_t *)((char *)&m + row->offset) = (uint32_t)row->greatest;
        if (row->type == BIND_TYPE_U64) *(uint64_t *)((char *)&m + row->offset) = (uint64_t)row->greatest;
        if (row->type == BIND_TYPE_U32 || row->type == BIND_TYPE_U64)
            assert_true(row->has_least && row->least >= 1 && row->has_greatest);
    }
    m.head_size = LLM_ATTENTION_WIDTH_MAX / m.heads;
    sim_error error = { 0 };
    llm_def sparse = m;
    m.experts = m.experts_per_token = m.shared_experts = m.dense_layers = 0;
    m.expert_ffn = 0;
    assert_true(llm_complete(&m, NULL, &error));
    // q = c = 1e7: 1e6 (4e7 + 3e7) + (3e7 + 2e7 + 2e6) + 2e6 per layer, of 1e4; (2e8 + 1e8) 1e6 + 1e6 outside
    assert_int_equal(llm_parameters(&m), UINT64_C(10000) * 70000054000000 + UINT64_C(300000001000000));
    assert_true(llm_parameters(&m) < UINT64_C(1) << 63);
    // Each layer sparse: experts of 3 x 1e6 x 1e8 parameters, and attention of low rank
    sparse.shared_experts = sparse.dense_layers = 0;
    sparse.expert_ffn = LLM_EXPERTS_WIDTH_MAX / sparse.experts;
    sparse.latent = (latent_attention){ true, 1000000, 1000000, 5, 5, 5 };
    assert_true(llm_complete(&sparse, NULL, &error));
    assert_true(llm_parameters(&sparse) > UINT64_C(3) * 1000000000000000000);
    assert_true(llm_parameters(&sparse) < UINT64_C(1) << 63);
}

static void defaults_follow_from_heads(void **state)
{
    (void)state;
    llm_def m = llama3_8b;
    sim_error error = { 0 };
    m.kv_heads = 0;
    m.head_size = 0;
    assert_true(llm_complete(&m, NULL, &error));
    assert_int_equal(m.kv_heads, 32);
    assert_int_equal(m.head_size, 128);
    m = odd; // what is written stays
    assert_true(llm_complete(&m, NULL, &error));
    assert_memory_equal(&m, &odd, sizeof(odd));
    assert_false(sim_failed(&error));
}

struct refused_case {
    const char *text, *want;
};
#define SHAPE "layers: 2\nffn: 11\nvocabulary: 13\nmax_sequence: 17\nactivation: gelu\nnorm: layernorm\n"
static const struct refused_case refused_cases[] = {
    { SHAPE "position: none\nhidden: 4100\nheads: 32\n",
      "m.yaml:9:1: error: 32 heads do not divide a hidden size of 4100\n"
      "    9 | heads: 32\n"
      "      | ^\n"
      "  hint: hidden: 4096, or write head_size\n" },
    { SHAPE "position: none\nhidden: 5\nheads: 7\n",
      "m.yaml:9:1: error: 7 heads do not divide a hidden size of 5\n"
      "    9 | heads: 7\n"
      "      | ^\n"
      "  hint: hidden: 7, or write head_size\n" },
    { SHAPE "position: none\nhidden: 4096\nheads: 32\nkv_heads: 7\n",
      "m.yaml:10:1: error: kv_heads 7 does not divide heads 32\n"
      "   10 | kv_heads: 7\n"
      "      | ^\n"
      "  hint: kv_heads: 8\n" },
    { SHAPE "position: none\nhidden: 4096\nheads: 36\nhead_size: 3\nkv_heads: 11\n",
      "m.yaml:11:1: error: kv_heads 11 does not divide heads 36\n"
      "   11 | kv_heads: 11\n"
      "      | ^\n"
      "  hint: kv_heads: 12\n" },
    { SHAPE "position: none\nhidden: 4096\nheads: 32\nkv_heads: 64\n",
      "m.yaml:10:1: error: kv_heads 64 does not divide heads 32\n"
      "   10 | kv_heads: 64\n"
      "      | ^\n"
      "  hint: kv_heads: 32\n" },
    { SHAPE "position: none\nhidden: 4096\nheads: 321\nhead_size: 31234\n",
      "m.yaml:10:1: error: 321 heads x head_size 31234 = 10026114 are above 10000000\n"
      "   10 | head_size: 31234\n"
      "      | ^\n"
      "  hint: head_size: 31152\n" },
    { SHAPE "position: rope\nhidden: 4096\nheads: 32\nhead_size: 75\n",
      "m.yaml:10:1: error: rotary positions turn pairs, so a head size of 75 cannot be odd\n"
      "   10 | head_size: 75\n"
      "      | ^\n"
      "  hint: head_size: 76\n" },
    // Hints that keep to the other limits: 1,020,000 is nearer but too much; 588,236 would be too wide, 588,235 is odd.
    { SHAPE "position: none\nhidden: 1000000\nheads: 510000\n",
      "m.yaml:9:1: error: 510000 heads do not divide a hidden size of 1000000\n"
      "    9 | heads: 510000\n"
      "      | ^\n"
      "  hint: hidden: 510000, or write head_size\n" },
    { SHAPE "position: rope\nhidden: 4096\nheads: 17\nhead_size: 588235\n",
      "m.yaml:10:1: error: rotary positions turn pairs, so a head size of 588235 cannot be odd\n"
      "   10 | head_size: 588235\n"
      "      | ^\n"
      "  hint: head_size: 588234\n" },
    { SHAPE "position: rope\nhidden: 4096\nheads: 17\nhead_size: 600000\n",
      "m.yaml:10:1: error: 17 heads x head_size 600000 = 10200000 are above 10000000\n"
      "   10 | head_size: 600000\n"
      "      | ^\n"
      "  hint: head_size: 588234\n" },
};

static void mistakes_are_refused_at_their_key(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(refused_cases); i++) {
        const struct refused_case *c = &refused_cases[i];
        arena *a = arena_create("llm");
        assert_non_null(a);
        sim_error error = { 0 };
        document doc;
        llm_def m;
        assert_true(document_parse(a, "m.yaml", c->text, strlen(c->text), NULL, &doc, &error));
        bind_reader *r = bind_reader_create(a, NULL, NULL);
        assert_true(bind_read(r, llm_binds, doc.root, "", &m, &error));
        assert_false(llm_complete(&m, r, &error));
        assert_int_equal(error.exit_code, SIM_EXIT_INPUT);
        assert_error_prints(&error, c->want);
        arena_destroy(a);
    }
}

// The same from a definition that came from no file.
static void mistakes_without_a_file(void **state)
{
    (void)state;
    llm_def m = llama3_8b;
    m.hidden = 4100;
    m.head_size = 0;
    sim_error error = { 0 };
    assert_false(llm_complete(&m, NULL, &error));
    assert_error_prints(&error, "windtunnel: error: 32 heads do not divide a hidden size of 4100\n"
                                "  hint: hidden: 4096, or write head_size\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_are_the_published_ones),
        cmocka_unit_test(flop_by_hand),
        cmocka_unit_test(gpt_flop_are_the_published_formula),
        cmocka_unit_test(greatest_model_can_be_counted),
        cmocka_unit_test(defaults_follow_from_heads),
        cmocka_unit_test(mistakes_are_refused_at_their_key),
        cmocka_unit_test(mistakes_without_a_file),
    };
    return cmocka_run_group_tests_name("llm", tests, NULL, NULL);
}
