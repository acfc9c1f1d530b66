// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "models/training/in_flight.h"
#include "tests/support/llms.h"

static const llm_def gpt_22b = {
    // of Korthikanti et al. 2022
    .layers = 48,
    .hidden = 6144,
    .heads = 64,
    .kv_heads = 64,
    .head_size = 96,
    .ffn = 24576,
    .vocabulary = 51200,
    .max_sequence = 2048,
    .activation = ACTIVATION_GELU,
    .norm = NORM_LAYERNORM,
    .position = POSITION_LEARNED,
    .tied_embeddings = true,
    .bias = true,
    .dropout = true,
};
static memory_settings settings(uint64_t micro_batch, uint64_t length, uint32_t layers, int attention)
{
    return (memory_settings){
        .kernels = { .micro_batch = micro_batch,
                     .sequence_length = length,
                     .precision = DTYPE_BF16,
                     .attention = attention,
                     .tensor = 1,
                     .fused = true },
        .data = 1,
        .layers_here = layers,
        .in_flight = { .layers = layers, .embeddings = 1, .heads = 1 },
        .gradient_bytes = 4,
        .parameter_bytes = 2,
    };
}

struct korthikanti_case {
    const char *name;
    uint32_t tensor;
    bool sequence_parallel;
    int recompute;
    uint64_t want_bytes;
};

// 22B: s = 2048, b = 4, h = 6144, a = 64: s b h = 50,331,648 and 5 a s^2 b = 5,368,709,120.
static const struct korthikanti_case korthikanti_cases[] = {
    { "eq. 1", 1, false, RECOMPUTE_NONE, 7079985152 },                  // 34 s b h + 5 a s^2 b
    { "eq. 2, t = 8", 8, false, RECOMPUTE_NONE, 1325400064 },           // (10 + 24/8) s b h + 5 a s^2 b / 8
    { "eq. 4, sequence parallel", 8, true, RECOMPUTE_NONE, 884998144 }, // eq. 1 / 8
    { "selective", 1, false, RECOMPUTE_SELECTIVE, 1711276032 },         // 34 s b h
    { "selective, t = 8", 8, false, RECOMPUTE_SELECTIVE, 654311424 },   // 13 s b h
    { "selective, sequence parallel", 8, true, RECOMPUTE_SELECTIVE, 213909504 }, // 34/8 s b h
    { "full", 8, false, RECOMPUTE_FULL, 100663296 },                             // 2 s b h
    { "full, sequence parallel", 8, true, RECOMPUTE_FULL, 12582912 },
};

static void gpt_activations_are_the_published_formula(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(korthikanti_cases); i++) {
        const struct korthikanti_case *c = &korthikanti_cases[i];
        memory_settings s = settings(4, 2048, 48, ATTENTION_UNFUSED);
        s.kernels.tensor = c->tensor;
        s.kernels.sequence_parallel = c->sequence_parallel;
        s.recompute = c->recompute;
        s.in_flight.layers = UINT64_C(3) * 48;
        const memory_need need = memory_need_of(&gpt_22b, &s);
        print_message("%s\n", c->name);
        assert_int_equal(need.bytes[MEMORY_ACTIVATIONS], 3 * 48 * c->want_bytes);
    }
}

// Korthikanti et al. 2022, section 4.3: the embedding keeps its mask, s b h, the last stage 4 s b h and 4 s b v; flash
// attention keeps one number per row and head, 4 a s b, instead of the scores.
static void the_ends_and_flash(void **state)
{
    (void)state;
    memory_settings s = settings(4, 2048, 0, ATTENTION_UNFUSED);
    s.has_embedding = true;
    assert_int_equal(memory_need_of(&gpt_22b, &s).bytes[MEMORY_ACTIVATIONS], 50331648);
    assert_int_equal(memory_need_of(&gpt_22b, &s).bytes[MEMORY_LOGITS], 0);
    assert_int_equal(memory_need_of(&gpt_22b, &s).bytes[MEMORY_WORKING], 0);
    s.has_embedding = false;
    s.has_head = true;
    s.in_flight.heads = 5;
    assert_int_equal(memory_need_of(&gpt_22b, &s).bytes[MEMORY_ACTIVATIONS], UINT64_C(5) * 4 * 50331648);
    // 8192 tokens x 51200: bf16 once, fp32 for each micro-batch in flight
    assert_int_equal(memory_need_of(&gpt_22b, &s).bytes[MEMORY_LOGITS], 419430400 * UINT64_C(22));
    s.kernels.fused = false; // and an fp32 copy
    assert_int_equal(memory_need_of(&gpt_22b, &s).bytes[MEMORY_LOGITS], 419430400 * UINT64_C(26));

    s = settings(4, 2048, 1, ATTENTION_FLASH);
    assert_int_equal(memory_need_of(&gpt_22b, &s).bytes[MEMORY_ACTIVATIONS],
                     34 * UINT64_C(50331648) + 4 * 64 * 2048 * 4);
    s.recompute = RECOMPUTE_SELECTIVE; // nothing to drop
    assert_int_equal(memory_need_of(&gpt_22b, &s).bytes[MEMORY_ACTIVATIONS],
                     34 * UINT64_C(50331648) + 4 * 64 * 2048 * 4);
}

struct part_case {
    const char *name;
    uint64_t want_bytes[MEMORY_PARTS];
};

static void compare_parts(const memory_need *need, const uint64_t *want)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < MEMORY_PARTS; i++) {
        print_message("%s\n", memory_part_words[i]);
        assert_int_equal(need->bytes[i], want[i]);
        total += want[i];
    }
    assert_int_equal(need->total_bytes, total);
}

// GPT-3 2.7B on one GPU, 2 sequences of 2,048, unfused attention, nothing shared out.
static void gpt3_by_hand(void **state)
{
    (void)state;
    memory_settings s = settings(2, 2048, 32, ATTENTION_UNFUSED);
    s.has_embedding = s.has_head = true;
    s.reserved_bytes = 1234567890;
    // 32 (12 2560^2 + 13 2560) = 2517647360; table 50304 2560 = 128778240; positions 5242880; last norm 5120
    const uint64_t parameters = 2651673600;
    assert_int_equal(memory_parameters_here(&gpt3_2_7b, &s), parameters);
    const uint64_t want[MEMORY_PARTS] = {
        [MEMORY_PARAMETERS] = 2 * parameters,
        [MEMORY_GRADIENTS] = 4 * parameters,
        [MEMORY_OPTIMIZER] = 12 * parameters,
        // s b h = 10485760; layer 34 s b h + 5 32 2048^2 2 = 1698693120; 32 of them; 1 + 4 s b h at the ends
        [MEMORY_ACTIVATIONS] = 54410608640,
        [MEMORY_LOGITS] = 1236271104, // 4096 50304 6
        // gradients of Q, K, V, context 4 4096 2560, of the scores 2 32 2 2048^2, of two rows; 2 bytes each
        [MEMORY_WORKING] = 1199570944,
        [MEMORY_BUFFERS] = 0,
        [MEMORY_ALLOCATOR] = 1707081728, // 3 % of 56846450688 = 813.2 units of 2 MiB: 814
        [MEMORY_RESERVED] = 1234567890,
    };
    const memory_need need = memory_need_of(&gpt3_2_7b, &s);
    compare_parts(&need, want);
}

// Llama 3 8B, one sequence of 8,192, ZeRO-1 over 8, buckets of 160 MB. Per token and layer, in elements of 2 bytes: four
// rows of 4096 around the norms, Q, K, V 6144, attention's output 4096, gate and up 28672, the activation 14336: 69632;
// and 32 fp32 statistics. 8192 (2 69632 + 4 32) = 1141899264.
static void llama_by_hand(void **state)
{
    (void)state;
    memory_settings s = settings(1, 8192, 32, ATTENTION_FLASH);
    s.has_embedding = s.has_head = true;
    s.sharding = SHARDING_ZERO_1;
    s.data = 8;
    s.bucket_bytes = 160000000;
    s.reserved_bytes = 1;
    assert_int_equal(memory_parameters_here(&llama3_8b, &s), 8030261248);
    uint64_t want[MEMORY_PARTS] = {
        [MEMORY_PARAMETERS] = 16060522496,
        [MEMORY_GRADIENTS] = 32121044992,
        [MEMORY_OPTIMIZER] = 12045391872,   // 8030261248 / 8 12
        [MEMORY_ACTIVATIONS] = 36674994176, // 32 1141899264 + 2 2 8192 4096 for the last norm and the logits
        [MEMORY_LOGITS] = 6304038912,       // 8192 128256 6
        [MEMORY_WORKING] = 838860800,       // 2 8192 (3 14336 + 2 4096)
        [MEMORY_BUFFERS] = 160000000,
        [MEMORY_ALLOCATOR] = 1321205760, // 3 % of 43977893888 = 629.1 units: 630
        [MEMORY_RESERVED] = 1,
    };
    memory_need need = memory_need_of(&llama3_8b, &s);
    compare_parts(&need, want);

    s.recompute = RECOMPUTE_FULL;
    want[MEMORY_ACTIVATIONS] = 2281701376; // (32 + 2) 2 8192 4096
    want[MEMORY_WORKING] = 1913651200;     // and the rest of one layer, 1141899264 - 67108864
    want[MEMORY_ALLOCATOR] = 320864256;    // 3 % of 10659391488 = 152.5 units: 153
    need = memory_need_of(&llama3_8b, &s);
    compare_parts(&need, want);
}

struct sharding_case {
    const char *name;
    int sharding, optimizer;
    double gradient_bytes, parameter_bytes;
    uint64_t want_parameters, want_gradients, want_optimizer, want_buffers;
};

// One layer of GPT-3 2.7B, P = 78676480, shared out over 7: ceil(P / 7) = 11239498.
static const struct sharding_case sharding_cases[] = {
    { "none", SHARDING_NONE, OPTIMIZER_ADAM, 4, 2, 157352960, 314705920, 944117760, 1000 },
    { "zero-1", SHARDING_ZERO_1, OPTIMIZER_ADAM, 4, 2, 157352960, 314705920, 134873976, 1000 },
    { "zero-1, bf16 gradients, sgd", SHARDING_ZERO_1, OPTIMIZER_SGD, 2, 2, 157352960, 157352960, 89915984,
      1000 },
    { "zero-2", SHARDING_ZERO_2, OPTIMIZER_ADAM, 4, 2, 157352960, 44957992, 134873976, 314706920 },
    { "zero-3", SHARDING_ZERO_3, OPTIMIZER_ADAM, 4, 2, 22478996, 44957992, 134873976, 629412840 },
    { "all fp32", SHARDING_NONE, OPTIMIZER_ADAM, 4, 4, 314705920, 314705920, 629411840, 1000 },
    { "all fp32, sgd", SHARDING_NONE, OPTIMIZER_SGD, 4, 4, 314705920, 314705920, 314705920, 1000 },
};

static void states_are_shared_out(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(sharding_cases); i++) {
        const struct sharding_case *c = &sharding_cases[i];
        memory_settings s = settings(1, 100, 1, ATTENTION_FLASH);
        s.data = 7;
        s.sharding = c->sharding;
        s.optimizer = c->optimizer;
        s.gradient_bytes = c->gradient_bytes;
        s.parameter_bytes = c->parameter_bytes;
        s.bucket_bytes = 1000;
        const memory_need need = memory_need_of(&gpt3_2_7b, &s);
        print_message("%s\n", c->name);
        assert_int_equal(need.bytes[MEMORY_PARAMETERS], c->want_parameters);
        assert_int_equal(need.bytes[MEMORY_GRADIENTS], c->want_gradients);
        assert_int_equal(need.bytes[MEMORY_OPTIMIZER], c->want_optimizer);
        assert_int_equal(need.bytes[MEMORY_BUFFERS], c->want_buffers);
    }
}

// One layer of GPT-3 2.7B has 78676480 gradients of 4 bytes.
static void a_bucket_holds_at_most_all_gradients(void **state)
{
    (void)state;
    memory_settings s = settings(1, 100, 1, ATTENTION_FLASH);
    s.bucket_bytes = 314705919;
    assert_int_equal(memory_need_of(&gpt3_2_7b, &s).bytes[MEMORY_BUFFERS], 314705919);
    s.bucket_bytes = 314705921;
    assert_int_equal(memory_need_of(&gpt3_2_7b, &s).bytes[MEMORY_BUFFERS], 314705920);
}

static void tensor_parallel_divides_parameters(void **state)
{
    (void)state;
    memory_settings s = settings(1, 8192, 80, ATTENTION_FLASH);
    s.has_embedding = s.has_head = true;
    assert_int_equal(memory_parameters_here(&llama3_70b, &s), llm_parameters(&llama3_70b));
    // t = 8: 8192 (1024 + 2 128) + 1024 8192 + 3 8192 3584 + 2 8192 = 106971136 per layer; the vocabulary padded to
    // 126 1024 = 129024, an eighth of it 16128 rows, twice; the last norm
    s.kernels.tensor = 8;
    assert_int_equal(memory_layer_parameters_here(&llama3_70b, 8), 106971136);
    assert_int_equal(memory_parameters_here(&llama3_70b, &s), 8821940224);
    // biases: of QKV and up divided, of output and down whole: 12 h^2 / 8 + (3 h + 4 h) / 8 + 2 h + 4 h
    assert_int_equal(memory_layer_parameters_here(&gpt_22b, 8), 56623104 + 5376 + 36864);
    // a tied table is held by either end, once when one stage has both
    s = settings(1, 1024, 0, ATTENTION_FLASH);
    s.has_head = true;
    assert_int_equal(memory_parameters_here(&gpt3_2_7b, &s), 128778240 + 5120);
    s.has_embedding = true;
    assert_int_equal(memory_parameters_here(&gpt3_2_7b, &s), 128778240 + 5120 + 5242880);
}

// Over all GPUs of a replica there is each parameter once, but for what t GPUs or two stages have each: norms and the biases
// of rows, positions, the table of a tied model once more; and rows that pad the vocabulary.
static void all_gpus_together_hold_the_model(void **state)
{
    (void)state;
    const llm_def *const models[] = { &llama3_8b, &gpt3_2_7b };
    const uint64_t vocabularies[] = { 128256, 50257 },
                   padded_at_8[] = { 129024, 51200 }; // multiples of 128 t
    for (size_t i = 0; i < ARRAY_COUNT(models); i++) {
        const llm_def *m = models[i];
        for (uint32_t stages = 1; stages <= 4; stages *= 2) {
            uint64_t sum = 0;
            for (uint32_t stage = 0; stage < stages; stage++) {
                memory_settings s = settings(1, 1024, 32 / stages, ATTENTION_FLASH);
                s.kernels.tensor = 8;
                s.has_embedding = stage == 0;
                s.has_head = stage + 1 == stages;
                sum += 8 * memory_parameters_here(m, &s);
            }
            const bool gpt = m == &gpt3_2_7b;
            const uint64_t h = m->hidden, norm = gpt ? 2 * h : h, row_biases = gpt ? 2 * h : 0;
            const uint64_t tables = gpt && stages == 1 ? 1 : 2;
            const uint64_t many = 32 * (2 * norm + row_biases) + norm +
                                  (gpt ? 2048 * h : 0); // each of 8 has them
            const uint64_t again = gpt && stages > 1 ? vocabularies[i] * h : 0;
            const uint64_t padding = tables * (padded_at_8[i] - vocabularies[i]) * h;
            assert_int_equal(sum, llm_parameters(m) + 7 * many + again + padding);
        }
    }
}

// Between stages a message is 2 bytes for each of 8192 x 6144 elements, or an eighth of it when the group shares it out.
static void messages_are_buffers(void **state)
{
    (void)state;
    memory_settings s = settings(4, 2048, 6, ATTENTION_UNFUSED);
    s.in_flight.messages = 4;
    s.kernels.tensor = 8;
    assert_int_equal(memory_need_of(&gpt_22b, &s).bytes[MEMORY_BUFFERS], 402653184);
    s.scattered_messages = true;
    assert_int_equal(memory_need_of(&gpt_22b, &s).bytes[MEMORY_BUFFERS], 50331648);
    s.scattered_messages = false;
    s.kernels.sequence_parallel = true;
    s.bucket_bytes = 1000;
    assert_int_equal(memory_need_of(&gpt_22b, &s).bytes[MEMORY_BUFFERS], 50331648 + 1000);
}

// Gradients in hand while one layer of the 22B model goes backward, t = 8, scores 8 4 2048^2 = 134217728: of Q, K, V and
// context 8192 4 768 and of the scores twice; two rows; and the scores that selective recomputation makes again, 5 bytes.
static void working_set_by_hand(void **state)
{
    (void)state;
    memory_settings s = settings(4, 2048, 1, ATTENTION_UNFUSED);
    s.kernels.tensor = 8;
    s.recompute = RECOMPUTE_SELECTIVE; // 2 (25165824 + 268435456 + 2 50331648) + 5 134217728
    assert_int_equal(memory_need_of(&gpt_22b, &s).bytes[MEMORY_WORKING], 1459617792);
    s.kernels.sequence_parallel =
        true; // rows an eighth, but one gathered: 2 (293601280 + 2 6291456 + 50331648) + ...
    assert_int_equal(memory_need_of(&gpt_22b, &s).bytes[MEMORY_WORKING], 1384120320);
    s.recompute = RECOMPUTE_FULL; // again: 34 50331648 / 8 + 5 134217728, less the layer's input
    assert_int_equal(memory_need_of(&gpt_22b, &s).bytes[MEMORY_WORKING], 713031680 + 884998144 - 12582912);
    s.recompute = RECOMPUTE_NONE;
    assert_int_equal(memory_need_of(&gpt_22b, &s).bytes[MEMORY_WORKING], 713031680);
}

// Operation by operation more is kept: the norm's input as fp32 and its scaled row (4 + 2 bytes more, less the input's 2),
// SiLU of the gate, an fp32 softmax. K and V of grouped heads are repeated for unfused attention.
static void unfused_keeps_more(void **state)
{
    (void)state;
    memory_settings s = settings(1, 1000, 1, ATTENTION_UNFUSED);
    // fused: 1000 2 (4 4096 + 3 4096 + 4096 + 28672 + 14336) + 2 32 1000^2
    assert_int_equal(memory_need_of(&llama3_8b, &s).bytes[MEMORY_ACTIVATIONS], 151552000 + 64000000);
    s.kernels.fused = false; // + 1000 (2 4 4096 + 2 14336) + 4 32 1000^2
    assert_int_equal(memory_need_of(&llama3_8b, &s).bytes[MEMORY_ACTIVATIONS],
                     215552000 + 61440000 + 128000000);
    s.kernels.precision =
        DTYPE_FP32; // no copies, 4 bytes each: 1000 4 (6 4096 + 4 4096 + 28672 + 2 14336) + 4 32 1e6
    assert_int_equal(memory_need_of(&llama3_8b, &s).bytes[MEMORY_ACTIVATIONS], 393216000 + 128000000);
}

// What dense models have beside a Llama: norms over 4096 + 1024 columns of queries and keys keep their input, in one layer of
// 1,000 tokens; a norm behind the embedding keeps its own; of ReLU only the output is kept.
static void norms_of_heads_keep_their_input(void **state)
{
    (void)state;
    memory_settings s = settings(1, 1000, 1, ATTENTION_FLASH);
    const uint64_t before = memory_need_of(&llama3_8b, &s).bytes[MEMORY_ACTIVATIONS];
    llm_def m = llama3_8b;
    m.qk_norm = true;
    m.qkv_bias = true;
    assert_int_equal(memory_need_of(&m, &s).bytes[MEMORY_ACTIVATIONS] - before, 1000 * 5120 * 2);
    s.kernels.fused = false; // as fp32, and the scaled row: 1000 (5120 6 + 2 4096 4 + 2 14336)
    assert_int_equal(memory_need_of(&m, &s).bytes[MEMORY_ACTIVATIONS] - before, 92160000);
    // Weights of both norms, as wide as a head, and biases of 4096 + 2 1024
    assert_int_equal(memory_layer_parameters_here(&m, 1), 218112000 + 2 * 128 + 6144);
    assert_int_equal(memory_layer_parameters_here(&m, 8) - memory_layer_parameters_here(&llama3_8b, 8),
                     2 * 128 + 768);
    s.kernels.fused = true;
    s.has_embedding = true;
    m.qk_norm = m.qkv_bias = false;
    m.embedding_norm = true;
    assert_int_equal(memory_need_of(&m, &s).bytes[MEMORY_ACTIVATIONS] - before, 1000 * 4096 * 2);
    const uint64_t parameters = memory_parameters_here(&m, &s);
    m.embedding_norm = false;
    assert_int_equal(parameters - memory_parameters_here(&m, &s), 4096);
    m = gpt_22b;
    const uint64_t gelu = memory_need_of(&m, &s).bytes[MEMORY_ACTIVATIONS];
    m.activation = ACTIVATION_RELU;
    assert_int_equal(gelu - memory_need_of(&m, &s).bytes[MEMORY_ACTIVATIONS], 1000 * 24576 * 2);
}

struct published_case {
    const char *name;
    uint32_t layers, hidden, heads, micro_batch, stages, micro_batches;
    double published_GiB;
};

// Qi et al., "Zero bubble pipeline parallelism", 2023: peak memory of 1F1B on A100 (GPT, s = 1024, unfused attention with
// dropout, one layer less in the first and last stage), of the stage that has most. What the driver reserves is outside their
// figure. Nothing here was fitted to it.
static const struct published_case published_cases[] = {
    { "1.5B", 22, 2304, 24, 6, 8, 24, 30 },
    { "1.5B, 2 micro-batches", 22, 2304, 24, 6, 8, 2, 11 },
    { "6.2B", 30, 4096, 32, 3, 8, 24, 39 },
    { "6.2B, 4 micro-batches", 30, 4096, 32, 3, 8, 4, 28 },
    { "6.2B, 16 stages", 30, 4096, 32, 6, 16, 48, 61 },
    { "14.6B", 46, 5120, 40, 1, 16, 48, 32 },
    { "14.6B, 24 stages", 46, 5120, 40, 2, 24, 72, 44 },
    { "28.3B", 62, 6144, 48, 1, 32, 96, 43 },
    { "28.3B, 2 sequences", 62, 6144, 48, 2, 32, 96, 69 },
};

static double most_GiB(const struct published_case *c)
{
    llm_def m = gpt3_2_7b;
    m.layers = c->layers;
    m.hidden = c->hidden;
    m.heads = m.kv_heads = c->heads;
    m.head_size = c->hidden / c->heads;
    m.ffn = 4 * UINT64_C(1) * c->hidden;
    arena *a = arena_create("test");
    const schedule order = schedule_build(a,
                                          &(schedule_def){ SCHEDULE_1F1B, c->stages, c->micro_batches, 1 });
    const stage_table table = stages_build(
        a, &(stages_def){ .layers = c->layers, .stages = c->stages, .chunks = 1, .split = SPLIT_ENDS });
    double most = 0.0;
    for (uint32_t stage = 0; stage < c->stages; stage++) {
        memory_settings s = settings(c->micro_batch, 1024, stage_layers(&table, stage), ATTENTION_UNFUSED);
        s.has_embedding = stage == 0;
        s.has_head = stage + 1 == c->stages;
        s.in_flight = in_flight_of(&order, &table, stage, true);
        most = fmax(most, (double)memory_need_of(&m, &s).total_bytes / 1073741824.0);
    }
    arena_destroy(a);
    return most;
}

static void published_peaks_are_met(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(published_cases); i++) {
        const struct published_case *c = &published_cases[i];
        const double got = most_GiB(c);
        print_message("%s: %.1f GiB, published %.0f\n", c->name, got, c->published_GiB);
        assert_near(got, c->published_GiB, 0.05);
    }
}

// More of anything never needs less; what is beyond any memory stays a number.
static void laws(void **state)
{
    (void)state;
    memory_settings s = settings(2, 512, 7, ATTENTION_UNFUSED);
    s.has_embedding = s.has_head = true;
    const uint64_t base = memory_need_of(&llama3_8b, &s).total_bytes;
    memory_settings more = s;
    more.layers_here++;
    more.in_flight.layers++;
    assert_true(memory_need_of(&llama3_8b, &more).total_bytes > base);
    more = s;
    more.kernels.sequence_length++;
    assert_true(memory_need_of(&llama3_8b, &more).total_bytes > base);
    more = s;
    more.in_flight.layers++;
    assert_true(memory_need_of(&llama3_8b, &more).total_bytes > base);
    more = s;
    more.in_flight.messages++;
    assert_true(memory_need_of(&llama3_8b, &more).total_bytes > base);
    memory_settings less = s;
    less.recompute = RECOMPUTE_SELECTIVE;
    const uint64_t selective = memory_need_of(&llama3_8b, &less).total_bytes;
    less.recompute = RECOMPUTE_FULL;
    assert_true(selective < base && memory_need_of(&llama3_8b, &less).total_bytes < selective);

    more.kernels.sequence_length = 100000000;
    more.kernels.micro_batch = 1000000;
    more.reserved_bytes = UINT64_MAX;
    const memory_need beyond = memory_need_of(&llama3_8b, &more);
    assert_int_equal(beyond.bytes[MEMORY_ACTIVATIONS], MEMORY_PART_MAX_BYTES);
    assert_int_equal(beyond.bytes[MEMORY_RESERVED], MEMORY_PART_MAX_BYTES);
    assert_true(beyond.total_bytes >= 4 * MEMORY_PART_MAX_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpt_activations_are_the_published_formula),
        cmocka_unit_test(the_ends_and_flash),
        cmocka_unit_test(gpt3_by_hand),
        cmocka_unit_test(llama_by_hand),
        cmocka_unit_test(states_are_shared_out),
        cmocka_unit_test(a_bucket_holds_at_most_all_gradients),
        cmocka_unit_test(tensor_parallel_divides_parameters),
        cmocka_unit_test(all_gpus_together_hold_the_model),
        cmocka_unit_test(messages_are_buffers),
        cmocka_unit_test(working_set_by_hand),
        cmocka_unit_test(unfused_keeps_more),
        cmocka_unit_test(norms_of_heads_keep_their_input),
        cmocka_unit_test(published_peaks_are_met),
        cmocka_unit_test(laws),
    };
    return cmocka_run_group_tests_name("memory_need", tests, NULL, NULL);
}
