// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "models/training/kernels.h"
#include "tests/support/llms.h"
#include "tests/support/text.h"

static const llm_def gpt = {
    .name = "gpt",
    .layers = 5,
    .hidden = 1536,
    .heads = 24,
    .kv_heads = 24,
    .head_size = 64,
    .ffn = 6144,
    .vocabulary = 50257,
    .max_sequence = 1024,
    .activation = ACTIVATION_GELU,
    .norm = NORM_LAYERNORM,
    .position = POSITION_LEARNED,
    .tied_embeddings = true,
    .bias = true,
    .dropout = true,
};
typedef void lower(const llm_def *m, const kernel_settings *s, arena *a, kernel_array *out);

static int make_arena(void **state)
{
    *state = arena_create("kernels");
    return *state ? 0 : -1;
}
static int free_arena(void **state)
{
    arena_destroy(*state);
    return 0;
}

static kernel_array listed(lower *make, const llm_def *m, const kernel_settings *s, arena *a)
{
    kernel_array list = { 0 };
    make(m, s, a, &list);
    return list;
}

static const kernel_shape *find(const kernel_array *list, const char *name)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].name, name) == 0) return &list->items[i];
    fail_msg("no kernel is called %s", name);
    return NULL;
}

static bool is_accumulation(const kernel_shape *kernel)
{
    return strstr(kernel->name, ".accumulate") != NULL;
}

// Bytes of a list's elementwise kernels; gradient accumulation is counted apart.
static double elementwise_bytes(const kernel_array *list)
{
    double bytes = 0;
    for (uint32_t i = 0; i < list->count; i++)
        if (list->items[i].class == KERNEL_ELEMENTWISE && !is_accumulation(&list->items[i]))
            bytes += list->items[i].bytes;
    return bytes;
}

static double product_flop(const kernel_array *list, bool with_attention)
{
    double flop = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        const kernel_shape *k = &list->items[i];
        const bool attention = k->class == KERNEL_ATTENTION_FORWARD || k->class == KERNEL_ATTENTION_BACKWARD;
        if (k->class == KERNEL_MATMUL || (attention && with_attention)) flop += k->flop;
    }
    return flop;
}

static uint32_t launches(const kernel_array *list)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < list->count; i++)
        sum += list->items[i].launches;
    return sum;
}

struct shape_case {
    const char *name;
    uint32_t launches;
    uint64_t batch, m, n, k;
    double flop, bytes; // flop 0: elementwise, not compared
};

static void compare_shapes(const kernel_array *list, const struct shape_case *want, uint32_t count)
{
    assert_int_equal(list->count, count);
    for (uint32_t i = 0; i < count; i++) {
        const kernel_shape *k = &list->items[i];
        assert_string_equal(k->name, want[i].name);
        assert_int_equal(k->launches, want[i].launches);
        assert_int_equal(k->batch, want[i].batch);
        assert_int_equal(k->m, want[i].m);
        assert_int_equal(k->n, want[i].n);
        assert_int_equal(k->k, want[i].k);
        if (want[i].flop > 0) assert_near(k->flop, want[i].flop, 1e-12);
        assert_near(k->bytes, want[i].bytes, 1e-12);
    }
}

// Llama 3 8B, one sequence of 8,192 on two GPUs with sequence parallel: T = 8192 tokens, 4096 rows of the residual stream,
// 16 query heads (q = 2048), 4 key/value heads (c = 512), f = 7168. Every number by hand.
static void llama_layer_by_hand(void **state)
{
    const kernel_settings s = { .micro_batch = 1,
                                .sequence_length = 8192,
                                .precision = DTYPE_BF16,
                                .tensor = 2,
                                .sequence_parallel = true,
                                .fused = true };
    const uint64_t rows = 16777216; // 4096 x 4096
    const struct shape_case forward[] = {
        { "attention.norm", 1, 1, rows, 1, 1, 0, 67108864 },        // 4 bytes each
        { "attention.qkv", 1, 1, 8192, 3072, 4096, 206158430208.0,  // 2 8192 3072 4096
          142606336 },                                              // 2 (8192 4096 + 4096 3072 + 8192 3072)
        { "attention.rotary", 2, 1, 20971520, 1, 1, 0, 83886080 },  // 8192 (2048 + 512), 4 bytes each
        { "attention.core", 1, 16, 8192, 8192, 128, 274877906944.0, // 4 16 8192^2 128 / 2
          84410368 },                                               // 8192 (2 2 (2048 + 512) + 4 16)
        { "attention.output", 1, 1, 8192, 4096, 2048, 137438953472.0, 117440512 },
        { "attention.residual", 1, 1, rows, 1, 1, 0, 100663296 }, // 6 bytes each
        { "mlp.norm", 1, 1, rows, 1, 1, 0, 67108864 },
        { "mlp.up", 1, 1, 8192, 14336, 4096, 962072674304.0, 419430400 }, // gate and up in one product
        { "mlp.activation", 1, 1, 58720256, 1, 1, 0, 352321536 },         // 8192 7168, 6 bytes each
        { "mlp.down", 1, 1, 8192, 4096, 7168, 481036337152.0, 243269632 },
        { "mlp.residual", 1, 1, rows, 1, 1, 0, 100663296 },
    };
    const struct shape_case backward[] = {
        { "mlp.down.dgrad", 1, 1, 8192, 7168, 4096, 481036337152.0, 243269632 },
        { "mlp.down.wgrad", 1, 1, 4096, 7168, 8192, 481036337152.0, // operands 2 (4096 8192 + 8192 7168),
          419430400 },                                              // gradient read and written, 8 4096 7168
        { "mlp.activation.backward", 1, 1, 58720256, 1, 1, 0, 587202560 }, // 10 bytes each
        { "mlp.up.dgrad", 1, 1, 8192, 4096, 14336, 962072674304.0, 419430400 },
        { "mlp.up.wgrad", 1, 1, 14336, 4096, 8192, 962072674304.0, 771751936 },
        { "mlp.norm.backward", 2, 1, rows, 1, 1, 0, 134217728 },     // 8 bytes each
        { "mlp.residual.backward", 1, 1, rows, 1, 1, 0, 100663296 }, // 6 bytes each
        { "attention.output.dgrad", 1, 1, 8192, 2048, 4096, 137438953472.0, 117440512 },
        { "attention.output.wgrad", 1, 1, 4096, 2048, 8192, 137438953472.0, 167772160 },
        { "attention.core.backward", 3, 16, 8192, 8192, 128, 687194767360.0, // 2.5 times forward
          168820736 },                                                       // 8192 (4 2 (2048 + 512) + 8 16)
        { "attention.rotary.backward", 2, 1, 20971520, 1, 1, 0, 83886080 },
        { "attention.qkv.dgrad", 1, 1, 8192, 4096, 3072, 206158430208.0, 142606336 },
        { "attention.qkv.wgrad", 1, 1, 3072, 4096, 8192, 206158430208.0, 218103808 },
        { "attention.norm.backward", 2, 1, rows, 1, 1, 0, 134217728 },
        { "attention.residual.backward", 1, 1, rows, 1, 1, 0, 100663296 },
    };
    kernel_array list = listed(kernels_layer_forward, &llama3_8b, &s, *state);
    compare_shapes(&list, forward, ARRAY_COUNT(forward));
    list = listed(kernels_layer_backward, &llama3_8b, &s, *state);
    compare_shapes(&list, backward, ARRAY_COUNT(backward));
}

// The ends of the same model on one GPU, 3 sequences of 100 tokens, gradients in bf16, operation by operation; and of a
// GPT, whose vocabulary of 50,257 is padded to 393 x 128 = 50,304.
static void ends_by_hand(void **state)
{
    const kernel_settings s = { .micro_batch = 3,
                                .sequence_length = 100,
                                .precision = DTYPE_BF16,
                                .gradient_type = DTYPE_BF16,
                                .tensor = 1 };
    const struct shape_case head[] = {
        { "head.norm", 8, 1, 1228800, 1, 1, 0, 44236800 }, // 300 4096, 36 bytes each
        { "head.logits", 1, 1, 300, 128256, 4096, 315201945600.0,
          1130084352 },                                       // 2 (300 4096 + 4096 v + 300 v)
        { "head.loss", 8, 1, 38476800, 1, 1, 0, 1192780800 }, // 31 bytes per logit
    };
    const struct shape_case head_backward[] = {
        { "head.loss.backward", 5, 1, 38476800, 1, 1, 0, 731059200 }, // 19 bytes per logit
        { "head.logits.dgrad", 1, 1, 300, 4096, 128256, 315201945600.0, 1130084352 },
        { "head.logits.wgrad", 1, 1, 128256, 4096, 300, 315201945600.0, 1130084352 },
        { "head.logits.accumulate", 1, 1, 525336576, 1, 1, 0, 3152019456 }, // 2 + 2 2 bytes each
        { "head.norm.backward", 14, 1, 1228800, 1, 1, 0, 61440000 },        // 50 bytes each
    };
    kernel_array list = listed(kernels_head_forward, &llama3_8b, &s, *state);
    compare_shapes(&list, head, ARRAY_COUNT(head));
    list = listed(kernels_head_backward, &llama3_8b, &s, *state);
    compare_shapes(&list, head_backward, ARRAY_COUNT(head_backward));

    const kernel_settings fused = {
        .micro_batch = 2, .sequence_length = 1024, .precision = DTYPE_FP16, .tensor = 1, .fused = true
    };
    const struct shape_case embedding[] = {
        { "embedding.gather", 1, 1, 3145728, 1, 1, 0, 12582912 },   // 2048 1536, 4 bytes each
        { "embedding.position", 2, 1, 3145728, 1, 1, 0, 18874368 }, // 6
        { "embedding.dropout", 1, 1, 3145728, 1, 1, 0, 15728640 },  // 5
    };
    const struct shape_case embedding_backward[] = {
        { "embedding.dropout.backward", 1, 1, 3145728, 1, 1, 0, 15728640 },
        { "embedding.position.backward", 1, 1, 3145728, 1, 1, 0, 6291456 },
        { "embedding.scatter", 2, 1, 3145728, 1, 1, 0, 18874368 },
        { "embedding.accumulate", 2, 1, 77266944, 1, 1, 0, 927203328 }, // 50304 1536, 2 2 + 2 4 bytes each
    };
    list = listed(kernels_embedding_forward, &gpt, &fused, *state);
    compare_shapes(&list, embedding, ARRAY_COUNT(embedding));
    list = listed(kernels_embedding_backward, &gpt, &fused, *state);
    compare_shapes(&list, embedding_backward, ARRAY_COUNT(embedding_backward));
    list = listed(kernels_head_forward, &gpt, &fused, *state);
    assert_near(find(&list, "head.loss")->bytes, 2048.0 * 50304 * 27, 1e-12);
    list = listed(kernels_head_backward, &gpt, &fused, *state);
    assert_near(find(&list, "head.loss.backward")->bytes, 2048.0 * 50304 * 16, 1e-12);
    assert_int_equal(kernels_padded_vocabulary(&gpt, 1), 50304);
    assert_int_equal(kernels_padded_vocabulary(&gpt, 8), 51200);
    assert_int_equal(kernels_padded_vocabulary(&llama3_8b, 1), 128256);
}

struct optimizer_case {
    const char *name;
    void (*make)(uint64_t, double, double, arena *, kernel_array *);
    double gradient_bytes, parameter_bytes;
    const char *kernel;
    double want_bytes[3]; // norm, clip, step; per parameter
};
static const struct optimizer_case optimizer_cases[] = {
    { "adam, fp32 gradients", kernels_optimizer, 4, 2, "optimizer.adam", { 4, 8, 30 } }, // 4 + 16 + 8 + 2
    { "adam, bf16 gradients", kernels_optimizer, 2, 2, "optimizer.adam", { 2, 4, 28 } },
    { "adam, all fp32", kernels_optimizer, 4, 4, "optimizer.adam", { 4, 8, 28 } }, // no copy to write
    { "sgd", kernels_optimizer_sgd, 4, 2, "optimizer.sgd", { 4, 8, 22 } },         // one moment less
};

static void optimizer_by_hand(void **state)
{
    const uint64_t parameters = 1003782671; // 15,317 chunks of 65,536, so 48 launches of 320
    for (size_t i = 0; i < ARRAY_COUNT(optimizer_cases); i++) {
        const struct optimizer_case *c = &optimizer_cases[i];
        kernel_array list = { 0 };
        c->make(parameters, c->gradient_bytes, c->parameter_bytes, *state, &list);
        assert_int_equal(list.count, 3);
        assert_string_equal(list.items[2].name, c->kernel);
        for (uint32_t j = 0; j < 3; j++) {
            assert_int_equal(list.items[j].m, parameters);
            assert_int_equal(list.items[j].launches, 48);
            assert_near(list.items[j].bytes, (double)parameters * c->want_bytes[j], 1e-12);
            assert_true(list.items[j].flop > 0);
        }
    }
}

struct traffic_case {
    const char *name;
    const llm_def *model;
    bool fused, sequence_parallel;
    int attention;
    // bytes per E = tokens x hidden, rows of the residual stream and what tensor parallel divides; per score
    double rows_forward, split_forward, scores_forward;
    double rows_backward, split_backward, scores_backward;
};

// Published recipes' totals: Megatron GPT (q = h, f = 4 h) and Llama (here k/a = 1/4, f/h = 3.5):
// 4 (1 + k/a) + 6 f/h = 26, 4 (1 + k/a) + 10 f/h = 40, 20 (1 + k/a) + 10 f/h = 60, 26 (1 + k/a) + 16 f/h = 88.5.
static const struct traffic_case traffic_cases[] = {
    { "gpt, fused, flash", &gpt, true, false, ATTENTION_FLASH, 22, 16, 0, 46, 38, 0 },
    { "gpt, fused, flash, sequence parallel", &gpt, true, true, ATTENTION_FLASH, 22, 16, 0, 46, 38, 0 },
    { "gpt, fused, unfused attention", &gpt, true, false, ATTENTION_UNFUSED, 22, 24, 9, 46, 50, 11 },
    { "llama, fused", &llama3_8b, true, false, ATTENTION_FLASH, 20, 26, 0, 28, 40, 0 },
    { "llama, fused, sequence parallel", &llama3_8b, true, true, ATTENTION_FLASH, 20, 26, 0, 28, 40, 0 },
    { "llama, operation by operation", &llama3_8b, false, false, ATTENTION_FLASH, 84, 60, 0, 112, 88.5, 0 },
    // 2 norms 4, 2 dropouts 5, 2 additions 6; bias and GELU 8 f/h, copies 8; softmax 8 + 6 + 6, dropout 5
    { "gpt, operation by operation", &gpt, false, false, ATTENTION_UNFUSED, 30, 40, 25, 46, 50, 25 },
    // fused, and 4 (1 + k/a) = 5 to repeat K and V, 8 of copies; backward 5, and 4 (1 + 2 k/a) = 6 of copies
    { "llama, unfused attention", &llama3_8b, true, false, ATTENTION_UNFUSED, 20, 39, 4, 28, 51, 6 },
};

static void elementwise_traffic_adds_up(void **state)
{
    for (size_t i = 0; i < ARRAY_COUNT(traffic_cases); i++)
        for (uint32_t t = 1; t <= 8; t *= 2) {
            const struct traffic_case *c = &traffic_cases[i];
            const kernel_settings s = { .micro_batch = 3,
                                        .sequence_length = 1000,
                                        .precision = DTYPE_BF16,
                                        .attention = c->attention,
                                        .tensor = t,
                                        .sequence_parallel = c->sequence_parallel,
                                        .fused = c->fused };
            const double e = 3000.0 * (double)c->model->hidden, rows = c->sequence_parallel ? e / t : e;
            const double scores = 3e6 * c->model->heads / t;
            const kernel_array forward = listed(kernels_layer_forward, c->model, &s, *state);
            const kernel_array backward = listed(kernels_layer_backward, c->model, &s, *state);
            assert_near(elementwise_bytes(&forward),
                        c->rows_forward * rows + c->split_forward * e / t + c->scores_forward * scores,
                        1e-12);
            assert_near(elementwise_bytes(&backward),
                        c->rows_backward * rows + c->split_backward * e / t + c->scores_backward * scores,
                        1e-12);
        }
}

// Operation by operation a weight gradient is written in the training format and added in a pass of its own: 2 + (2 + 4 +
// 4) bytes per weight instead of 8.
static void accumulation_apart(void **state)
{
    kernel_settings s = { .micro_batch = 1, .sequence_length = 64, .precision = DTYPE_BF16, .tensor = 1 };
    const kernel_array apart = listed(kernels_layer_backward, &gpt, &s, *state);
    double bytes = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < apart.count; i++)
        if (is_accumulation(&apart.items[i])) bytes += apart.items[i].bytes, count++;
    assert_int_equal(count, 4);
    assert_near(bytes, 12.0 * 1536 * 1536 * 10, 1e-12); // 12 h^2 weights
    const double operands = 2.0 * (64 * 6144 + 64 * 1536), weights = 6144.0 * 1536;
    assert_near(find(&apart, "mlp.up.wgrad")->bytes, operands + 2 * weights, 1e-12);
    s.fused = true;
    const kernel_array fused = listed(kernels_layer_backward, &gpt, &s, *state);
    assert_near(find(&fused, "mlp.up.wgrad")->bytes, operands + 8 * weights, 1e-12);
    s.gradient_type = DTYPE_BF16;
    const kernel_array half = listed(kernels_layer_backward, &gpt, &s, *state);
    assert_near(find(&half, "mlp.up.wgrad")->bytes, operands + 4 * weights, 1e-12);
}

// Fused products may leave the addition to a kernel of its own all the same (Megatron-LM before 2022), and the other way round.
static void accumulation_is_a_choice_of_its_own(void **state)
{
    kernel_settings s = {
        .micro_batch = 1, .sequence_length = 64, .precision = DTYPE_BF16, .tensor = 1, .fused = true
    };
    const double operands = 2.0 * (64 * 6144 + 64 * 1536), weights = 6144.0 * 1536;
    s.accumulation = ACCUMULATION_APART;
    const kernel_array apart = listed(kernels_layer_backward, &gpt, &s, *state);
    assert_near(find(&apart, "mlp.up.wgrad")->bytes, operands + 2 * weights, 1e-12);
    s.fused = false;
    s.accumulation = ACCUMULATION_FUSED;
    const kernel_array inside = listed(kernels_layer_backward, &gpt, &s, *state);
    assert_near(find(&inside, "mlp.up.wgrad")->bytes, operands + 8 * weights, 1e-12);
}

// 8,192 tokens of 4,096 elements of two bytes, half of which has nothing to hide behind with t = 2: 33,554,432 bytes. The
// product that the other half moves beside is cut into four; what all pieces compute and all parts move is as without.
static void user_buffers_cut_products(void **state)
{
    kernel_settings s = { .micro_batch = 1,
                          .sequence_length = 8192,
                          .precision = DTYPE_BF16,
                          .tensor = 2,
                          .sequence_parallel = true,
                          .user_buffers = true,
                          .fused = true };
    const kernel_array cut = listed(kernels_layer_forward, &llama3_8b, &s, *state);
    const tensor_point *p = cut.points.items;
    assert_int_equal(cut.points.count, 16);
    static const struct {
        uint32_t kernel;
        bool waits;
        collective_kind kind;
    } want[] = {
        { 1, false, COLLECTIVE_ALL_GATHER },
        { 1, true, 0 },
        { 1, false, COLLECTIVE_ALL_GATHER },
        { 5, true, 0 },
        // rotary 5, attention 6, then four pieces of the output's product
        { 7, false, COLLECTIVE_REDUCE_SCATTER },
        { 11, true, 0 },
        { 11, false, COLLECTIVE_REDUCE_SCATTER },
        { 11, true, 0 },
    };
    for (size_t i = 0; i < ARRAY_COUNT(want); i++) {
        assert_int_equal(p[i].kernel, want[i].kernel);
        assert_int_equal(p[i].waits, want[i].waits);
        if (p[i].waits) continue;
        assert_int_equal(p[i].call.kind, want[i].kind);
        assert_int_equal(p[i].call.bytes, 33554432);
    }
    for (uint32_t i = 1; i < 5; i++) {
        assert_string_equal(cut.items[i].name, "attention.qkv");
        assert_int_equal(cut.items[i].m, 2048);
    }
    double flop = 0, whole_flop = 0;
    s.user_buffers = false;
    const kernel_array whole = listed(kernels_layer_forward, &llama3_8b, &s, *state);
    for (uint32_t i = 0; i < cut.count; i++)
        flop += cut.items[i].flop;
    for (uint32_t i = 0; i < whole.count; i++)
        whole_flop += whole.items[i].flop;
    assert_near(flop, whole_flop, 1e-12);
    assert_int_equal(cut.host_calls, whole.host_calls);
    assert_int_equal(cut.count, whole.count + 12);
}

static void host_is_kept_busy(void **state)
{
    struct {
        const char *name;
        const llm_def *model;
        bool dropout, fused;
        uint32_t tensor, want_forward, want_backward, want_forward_kernels, want_backward_kernels;
    } cases[] = {
        { "gpt", &gpt, true, true, 1, 47, 60, 10, 24 },
        { "gpt without dropout", &gpt, false, true, 1, 37, 56, 10, 22 },
        { "gpt, two GPUs", &gpt, false, true, 2, 45, 64, 10, 22 },
        { "llama", &llama3_8b, false, true, 1, 39, 50, 12, 20 },
        { "llama, operation by operation", &llama3_8b, false, false, 1, 64, 96, 35, 62 },
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        llm_def m = *cases[i].model;
        m.dropout = cases[i].dropout;
        const kernel_settings s = { .micro_batch = 1,
                                    .sequence_length = 128,
                                    .precision = DTYPE_BF16,
                                    .tensor = cases[i].tensor,
                                    .fused = cases[i].fused };
        const kernel_array forward = listed(kernels_layer_forward, &m, &s, *state);
        const kernel_array backward = listed(kernels_layer_backward, &m, &s, *state);
        print_message("%s\n", cases[i].name);
        assert_int_equal(launches(&forward), cases[i].want_forward_kernels);
        assert_int_equal(launches(&backward), cases[i].want_backward_kernels);
        assert_int_equal(launches(&forward) + forward.host_calls, cases[i].want_forward);
        assert_int_equal(launches(&backward) + backward.host_calls, cases[i].want_backward);
    }
}

static void recompute_repeats_what_was_dropped(void **state)
{
    kernel_settings s = { .micro_batch = 1,
                          .sequence_length = 128,
                          .precision = DTYPE_BF16,
                          .attention = ATTENTION_UNFUSED,
                          .tensor = 1,
                          .fused = true };
    kernel_array list = { 0 };
    kernels_layer_recompute(&gpt, &s, RECOMPUTE_NONE, *state, &list);
    assert_int_equal(list.count, 0);
    assert_int_equal(list.host_calls, 0);

    kernels_layer_recompute(&gpt, &s, RECOMPUTE_SELECTIVE, *state, &list);
    const char *core[] = { "attention.scores", "attention.softmax", "attention.dropout",
                           "attention.context" };
    assert_int_equal(list.count, ARRAY_COUNT(core));
    for (uint32_t i = 0; i < list.count; i++)
        assert_string_equal(list.items[i].name, core[i]);
    assert_int_equal(list.host_calls, 25);
    assert_near(list.items[0].flop, 2.0 * 24 * 128 * 128 * 64, 1e-12); // the whole square
    assert_near(list.items[1].bytes, 4.0 * 24 * 128 * 128, 1e-12);
    assert_near(list.items[3].bytes, 2.0 * 24 * (128 * 128 + 128 * 64 + 128 * 64), 1e-12);

    list = (kernel_array){ 0 };
    kernels_layer_recompute(&llama3_8b, &s, RECOMPUTE_SELECTIVE, *state, &list);
    assert_int_equal(list.count, 3);
    assert_int_equal(list.host_calls, 10); // no generator states

    s.attention = ATTENTION_FLASH;
    list = (kernel_array){ 0 };
    kernels_layer_recompute(&gpt, &s, RECOMPUTE_SELECTIVE, *state, &list);
    assert_int_equal(list.count, 0); // its backward pass does it anyway

    kernels_layer_recompute(&gpt, &s, RECOMPUTE_FULL, *state, &list);
    const kernel_array forward = listed(kernels_layer_forward, &gpt, &s, *state);
    assert_int_equal(list.count, forward.count);
    for (uint32_t i = 0; i < list.count; i++)
        assert_memory_equal(&list.items[i], &forward.items[i], sizeof(kernel_shape));
    assert_int_equal(list.host_calls, forward.host_calls + 25);

    s.tensor = 2;
    list = (kernel_array){ 0 };
    kernels_layer_recompute(&gpt, &s, RECOMPUTE_FULL, *state, &list);
    assert_int_equal(list.points.count, 4); // both all-reduces again
    s.attention = ATTENTION_UNFUSED;
    list = (kernel_array){ 0 };
    kernels_layer_recompute(&gpt, &s, RECOMPUTE_SELECTIVE, *state, &list);
    assert_int_equal(list.points.count, 0);
}

static const char *kernel_name(const kernel_array *list, uint32_t index)
{
    return index < list->count ? list->items[index].name : "the end";
}

// The collectives of a list, one a line: name, kind, bytes, and before which kernels it begins and is waited for.
static void write_collectives(const kernel_array *list, FILE *stream)
{
    assert_int_equal(list->points.count % 2, 0);
    for (uint32_t i = 0; i < list->points.count; i += 2) {
        const tensor_point *begins = &list->points.items[i], *waits = begins + 1;
        assert_true(!begins->waits && waits->waits);
        assert_true(begins->kernel <= waits->kernel && waits->kernel <= list->count);
        fprintf(stream, "%s: %s, %lu B, %s to %s\n", begins->call.name,
                collective_kind_words[begins->call.kind], (unsigned long)begins->call.bytes,
                kernel_name(list, begins->kernel), kernel_name(list, waits->kernel));
    }
}

struct collective_case {
    const char *name;
    bool sequence_parallel;
    const char *want[6]; // embedding, layer, head; forward, then backward
};
// Llama 3 8B, one sequence of 8,192 on two GPUs: w T h = 2 8192 4096 = 67,108,864 B; three numbers of 4 bytes per token.
static const struct collective_case collective_cases[] = {
    { "rows whole",
      false,
      {
          "embedding.gather all-reduce: all-reduce, 67108864 B, the end to the end\n",
          "attention.output all-reduce: all-reduce, 67108864 B, attention.residual to attention.residual\n"
          "mlp.down all-reduce: all-reduce, 67108864 B, mlp.residual to mlp.residual\n",
          "head.loss maximum all-reduce: all-reduce, 32768 B, the end to the end\n"
          "head.loss target all-reduce: all-reduce, 32768 B, the end to the end\n"
          "head.loss sum all-reduce: all-reduce, 32768 B, the end to the end\n",
          "",
          "mlp.up.dgrad all-reduce: all-reduce, 67108864 B, mlp.up.wgrad to mlp.norm.backward\n"
          "attention.qkv.dgrad all-reduce: all-reduce, 67108864 B, attention.qkv.wgrad to "
          "attention.norm.backward\n",
          "head.logits.dgrad all-reduce: all-reduce, 67108864 B, head.logits.wgrad to head.norm.backward\n",
      } },
    { "sequence parallel",
      true,
      {
          "embedding.gather reduce-scatter: reduce-scatter, 67108864 B, the end to the end\n",
          "attention.qkv all-gather: all-gather, 67108864 B, attention.qkv to attention.qkv\n"
          "attention.output reduce-scatter: reduce-scatter, 67108864 B, attention.residual to "
          "attention.residual\n"
          "mlp.up all-gather: all-gather, 67108864 B, mlp.up to mlp.up\n"
          "mlp.down reduce-scatter: reduce-scatter, 67108864 B, mlp.residual to mlp.residual\n",
          "head.logits all-gather: all-gather, 67108864 B, head.logits to head.logits\n"
          "head.loss maximum all-reduce: all-reduce, 32768 B, the end to the end\n"
          "head.loss target all-reduce: all-reduce, 32768 B, the end to the end\n"
          "head.loss sum all-reduce: all-reduce, 32768 B, the end to the end\n",
          "embedding.scatter all-gather: all-gather, 67108864 B, embedding.scatter to embedding.scatter\n",
          "mlp.down.dgrad all-gather: all-gather, 67108864 B, mlp.down.dgrad to mlp.down.dgrad\n"
          "mlp.up.wgrad all-gather: all-gather, 67108864 B, mlp.up.dgrad to mlp.up.wgrad\n"
          "mlp.up.dgrad reduce-scatter: reduce-scatter, 67108864 B, mlp.up.wgrad to mlp.norm.backward\n"
          "attention.output.dgrad all-gather: all-gather, 67108864 B, attention.output.dgrad to "
          "attention.output.dgrad\n"
          "attention.qkv.wgrad all-gather: all-gather, 67108864 B, attention.qkv.dgrad to "
          "attention.qkv.wgrad\n"
          "attention.qkv.dgrad reduce-scatter: reduce-scatter, 67108864 B, attention.qkv.wgrad to "
          "attention.norm.backward\n",
          "head.logits.wgrad all-gather: all-gather, 67108864 B, head.logits.dgrad to head.logits.wgrad\n"
          "head.logits.dgrad reduce-scatter: reduce-scatter, 67108864 B, head.logits.wgrad to "
          "head.norm.backward\n",
      } },
};
static lower *const all_lists[] = {
    kernels_embedding_forward,  kernels_layer_forward,  kernels_head_forward,
    kernels_embedding_backward, kernels_layer_backward, kernels_head_backward
};

static void collectives_stand_where_they_are_needed(void **state)
{
    for (size_t i = 0; i < ARRAY_COUNT(collective_cases); i++)
        for (size_t j = 0; j < ARRAY_COUNT(all_lists); j++) {
            const struct collective_case *c = &collective_cases[i];
            kernel_settings s = { .micro_batch = 1,
                                  .sequence_length = 8192,
                                  .precision = DTYPE_BF16,
                                  .tensor = 2,
                                  .sequence_parallel = c->sequence_parallel,
                                  .fused = true };
            char text[4096];
            FILE *stream = tmpfile();
            assert_non_null(stream);
            kernel_array list = listed(all_lists[j], &llama3_8b, &s, *state);
            write_collectives(&list, stream);
            assert_string_equal(text_read_back(stream, text, sizeof text), c->want[j]);
            s.tensor = 1;
            list = listed(all_lists[j], &llama3_8b, &s, *state);
            assert_int_equal(list.points.count, 0);
        }
}

// A small generator of shapes: the same ones each time.
static uint64_t draw(uint64_t *seed, uint64_t least, uint64_t most)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return least + (*seed >> 33) % (most - least + 1);
}

static llm_def random_model(uint64_t *seed, uint64_t tensor)
{
    const uint64_t kv = tensor * draw(seed, 1, 4), d = 2 * draw(seed, 4, 100);
    const llm_def m = { .layers = (uint32_t)draw(seed, 1, 90),
                        .hidden = draw(seed, 10, 9000),
                        .heads = (uint32_t)(kv * draw(seed, 1, 6)),
                        .kv_heads = (uint32_t)kv,
                        .head_size = d,
                        .ffn = tensor * draw(seed, 10, 3000),
                        .vocabulary = 128 * tensor * draw(seed, 1, 500), // padding adds nothing
                        .max_sequence = draw(seed, 10, 9000),
                        .activation = (int)draw(seed, 0, 3),
                        .norm = (int)draw(seed, 0, 1),
                        .position = (int)draw(seed, 0, 3),
                        .tied_embeddings = draw(seed, 0, 1) != 0,
                        .bias = draw(seed, 0, 1) != 0,
                        .qkv_bias = draw(seed, 0, 1) != 0,
                        .qk_norm = draw(seed, 0, 1) != 0,
                        .embedding_norm = draw(seed, 0, 1) != 0,
                        .dropout = draw(seed, 0, 1) != 0 };
    return m;
}

static void compare_traffic(const kernel_array *list, uint32_t collectives, double bytes)
{
    assert_int_equal(list->points.count, 2 * collectives);
    for (uint32_t i = 0; i < list->points.count; i++) {
        const tensor_point *point = &list->points.items[i];
        assert_int_equal(point->waits, i % 2);
        if (!point->waits) assert_near((double)point->call.bytes, bytes, 0);
        if (i) assert_true(point->kernel >= list->points.items[i - 1].kernel);
    }
}

// Forward products = a third of the FLOP by formula; backward products twice the forward; all GPUs of a tensor group
// together do what one would; every kernel does something; a layer's collectives move w T h each, in turns.
static void products_obey_the_formula(void **state)
{
    uint64_t seed = 20240607;
    for (int round = 0; round < 300; round++) {
        const uint32_t t = (uint32_t)draw(&seed, 1, 8);
        const llm_def m = random_model(&seed, t);
        kernel_settings s = { .micro_batch = t * draw(&seed, 1, 4),
                              .sequence_length = draw(&seed, 1, 5000),
                              .precision = draw(&seed, 0, 1) ? DTYPE_BF16 : DTYPE_FP32,
                              .attention = (int)draw(&seed, 0, 1),
                              .tensor = t,
                              .sequence_parallel = draw(&seed, 0, 1) != 0,
                              .fused = draw(&seed, 0, 1) != 0 };
        arena *a = *state;
        const arena_mark_t mark = arena_mark(a);
        const kernel_array forward = listed(kernels_layer_forward, &m, &s, a);
        const kernel_array backward = listed(kernels_layer_backward, &m, &s, a);
        const kernel_array head = listed(kernels_head_forward, &m, &s, a);
        const kernel_array head_backward = listed(kernels_head_backward, &m, &s, a);
        const kernel_array embedding = listed(kernels_embedding_forward, &m, &s, a);
        const kernel_array embedding_backward = listed(kernels_embedding_backward, &m, &s, a);

        const double tokens = (double)(s.micro_batch * s.sequence_length);
        const flop_convention convention = s.attention == ATTENTION_FLASH ? FLOP_MODEL_CAUSAL
                                                                          : FLOP_MODEL_FULL;
        const double all = t * (m.layers * product_flop(&forward, true) + product_flop(&head, true));
        assert_near(all, llm_flop_per_token(&m, s.sequence_length, convention) / 3 * tokens, 1e-12);
        assert_near(product_flop(&backward, false), 2 * product_flop(&forward, false), 1e-12);
        assert_near(product_flop(&head_backward, true), 2 * product_flop(&head, true), 1e-12);

        kernel_settings alone = s;
        alone.tensor = 1;
        const kernel_array whole = listed(kernels_layer_forward, &m, &alone, a);
        assert_int_equal(whole.count, forward.count);
        assert_near(t * product_flop(&forward, true), product_flop(&whole, true), 1e-12);

        const kernel_array *lists[] = { &forward,       &backward,  &head,
                                        &head_backward, &embedding, &embedding_backward };
        for (size_t i = 0; i < ARRAY_COUNT(lists); i++)
            for (uint32_t j = 0; j < lists[i]->count; j++) {
                const kernel_shape *k = &lists[i]->items[j];
                assert_true(k->flop > 0 && k->bytes > 0 && k->launches > 0);
                assert_true(k->batch > 0 && k->m > 0 && k->n > 0 && k->k > 0);
                assert_non_null(kernel_class_words[k->class]);
            }
        const uint32_t each = t == 1 ? 0 : s.sequence_parallel ? 4 : 2;
        compare_traffic(&forward, each, tokens * (double)m.hidden * dtype_bytes(s.precision));
        compare_traffic(&backward, s.sequence_parallel ? each * 3 / 2 : each,
                        tokens * (double)m.hidden * dtype_bytes(s.precision));
        arena_release(a, mark);
    }
}

// Sixteen tokens, 128 columns of queries and 64 of keys, 128 of feed-forward, 4 x 16^2 scores; two bytes each.
static const llm_def small = {
    .layers = 1,
    .hidden = 64,
    .heads = 4,
    .kv_heads = 2,
    .head_size = 32,
    .ffn = 128,
    .vocabulary = 128,
    .max_sequence = 16,
    .activation = ACTIVATION_SQUARED_RELU,
    .norm = NORM_RMSNORM,
    .position = POSITION_ALIBI,
    .qkv_bias = true,
    .qk_norm = true,
    .embedding_norm = true,
};
struct detail_case {
    const char *name;
    lower *make;
    bool fused;
    double bytes, flop;
    uint32_t launches;
};
static const struct detail_case detail_cases[] = {
    { "attention.qk_norm", kernels_layer_forward, true, 16 * 192 * 4, 16 * 192 * 7, 2 },
    { "attention.qk_norm", kernels_layer_forward, false, 16 * 192 * 36, 16 * 192 * 6, 16 },
    { "attention.qk_norm.backward", kernels_layer_backward, true, 16 * 192 * 8, 16 * 192 * 10, 4 },
    { "attention.qk_norm.backward", kernels_layer_backward, false, 16 * 192 * 50, 16 * 192 * 12, 28 },
    { "attention.qkv.bias_gradient", kernels_layer_backward, true, 16 * 256 * 2, 16 * 256, 1 },
    { "attention.alibi", kernels_layer_forward, true, 1024 * 4, 1024, 1 },
    // ReLU and square: in and out, twice apart; backward gradient, input and result
    { "mlp.activation", kernels_layer_forward, true, 16 * 128 * 4, 16 * 128 * 2, 1 },
    { "mlp.activation", kernels_layer_forward, false, 16 * 128 * 8, 16 * 128 * 2, 2 },
    { "mlp.activation.backward", kernels_layer_backward, true, 16 * 128 * 6, 16 * 128 * 3, 1 },
    { "mlp.activation.backward", kernels_layer_backward, false, 16 * 128 * 12, 16 * 128 * 3, 2 },
    { "embedding.norm", kernels_embedding_forward, true, 16 * 64 * 4, 16 * 64 * 7, 1 },
    { "embedding.norm.backward", kernels_embedding_backward, true, 16 * 64 * 8, 16 * 64 * 10, 2 },
};
static void details_of_dense_models(void **state)
{
    kernel_settings s = { .micro_batch = 1,
                          .sequence_length = 16,
                          .precision = DTYPE_BF16,
                          .attention = ATTENTION_UNFUSED,
                          .tensor = 1 };
    for (size_t i = 0; i < ARRAY_COUNT(detail_cases); i++) {
        const struct detail_case *c = &detail_cases[i];
        s.fused = c->fused;
        const kernel_array list = listed(c->make, &small, &s, *state);
        const kernel_shape *kernel = find(&list, c->name);
        assert_near(kernel->bytes, c->bytes, 0);
        assert_near(kernel->flop, c->flop, 0);
        assert_int_equal(kernel->launches, c->launches);
    }
    // Biases of the other products are bias's; flash attention adds biases of positions inside.
    const kernel_array backward = listed(kernels_layer_backward, &small, &s, *state);
    for (uint32_t i = 0; i < backward.count; i++)
        assert_null(strstr(backward.items[i].name, "output.bias"));
    s.attention = ATTENTION_FLASH;
    const kernel_array forward = listed(kernels_layer_forward, &small, &s, *state);
    for (uint32_t i = 0; i < forward.count; i++)
        assert_string_not_equal(forward.items[i].name, "attention.alibi");
}

static void classes_have_words(void **state)
{
    (void)state;
    assert_string_equal(kernel_class_words[KERNEL_MATMUL], "matmul");
    assert_string_equal(kernel_class_words[KERNEL_ATTENTION_FORWARD], "attention-forward");
    assert_string_equal(kernel_class_words[KERNEL_ATTENTION_BACKWARD], "attention-backward");
    assert_string_equal(kernel_class_words[KERNEL_ELEMENTWISE], "elementwise");
}

// Wider numbers move more bytes and the same FLOP; operation by operation never moves less.
static void wider_numbers_move_more(void **state)
{
    uint64_t seed = 77;
    for (int round = 0; round < 50; round++) {
        const llm_def m = random_model(&seed, 1);
        kernel_settings s = {
            .micro_batch = 1, .sequence_length = 300, .precision = DTYPE_BF16, .tensor = 1, .fused = true
        };
        const kernel_array narrow = listed(kernels_layer_forward, &m, &s, *state);
        s.precision = DTYPE_TF32;
        const kernel_array wide = listed(kernels_layer_forward, &m, &s, *state);
        for (uint32_t i = 0; i < wide.count; i++) {
            assert_true(wide.items[i].bytes > narrow.items[i].bytes);
            assert_near(wide.items[i].flop, narrow.items[i].flop, 0);
        }
        s.precision = DTYPE_BF16;
        s.fused = false;
        const kernel_array apart = listed(kernels_layer_forward, &m, &s, *state);
        assert_true(elementwise_bytes(&apart) >= elementwise_bytes(&narrow));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(llama_layer_by_hand, make_arena, free_arena),
        cmocka_unit_test_setup_teardown(ends_by_hand, make_arena, free_arena),
        cmocka_unit_test_setup_teardown(optimizer_by_hand, make_arena, free_arena),
        cmocka_unit_test_setup_teardown(elementwise_traffic_adds_up, make_arena, free_arena),
        cmocka_unit_test_setup_teardown(accumulation_apart, make_arena, free_arena),
        cmocka_unit_test_setup_teardown(accumulation_is_a_choice_of_its_own, make_arena, free_arena),
        cmocka_unit_test_setup_teardown(user_buffers_cut_products, make_arena, free_arena),
        cmocka_unit_test_setup_teardown(host_is_kept_busy, make_arena, free_arena),
        cmocka_unit_test_setup_teardown(recompute_repeats_what_was_dropped, make_arena, free_arena),
        cmocka_unit_test_setup_teardown(collectives_stand_where_they_are_needed, make_arena, free_arena),
        cmocka_unit_test_setup_teardown(products_obey_the_formula, make_arena, free_arena),
        cmocka_unit_test_setup_teardown(details_of_dense_models, make_arena, free_arena),
        cmocka_unit_test(classes_have_words),
        cmocka_unit_test_setup_teardown(wider_numbers_move_more, make_arena, free_arena),
    };
    return cmocka_run_group_tests_name("kernels", tests, NULL, NULL);
}
