// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "models/training/gradient_coding.h"
#include "models/training/memory_need.h"
#include "sim/array.h"
#include "tests/support/tiny.h"

// Two matrices and seven gradients of no matrix; with rank 3: P of 3 x (96 + 30), Q of 3 x (64 + 20) elements.
static const gradient_tensor weights[] = { { 96, 64 }, { 7, 1 }, { 30, 20 } };
static const gradient_bucket matrices = { .elements = 6144 + 7 + 600, .tensors = weights, .tensor_count = 3 };
static const gradient_bucket thousand = { .elements = 1000 };

typedef struct coding_case {
    const char *name;
    gradient_coding coding;
    const gradient_bucket *bucket;
    data_call first[CODING_CALLS_MAX], second[CODING_CALLS_MAX]; // kind 0 and no bytes: none
    double bytes[CODING_STEPS];                                  // moved by the kernels of a step
    uint32_t launches[CODING_STEPS];
    double feedback_bytes, copies_bytes;
} coding_case;

#define CALL(kind_, bytes_)                                                                                  \
    {                                                                                                        \
        .kind = COLLECTIVE_##kind_, .bytes = (bytes_)                                                        \
    }
static const coding_case cases[] = {
    { .name = "as they are",
      .coding = { .gradient = DTYPE_FP32, .replicas = 3 },
      .bucket = &thousand,
      .first = { CALL(ALL_REDUCE, 4000) } },
    { .name = "as they are, scattered",
      .coding = { .gradient = DTYPE_BF16, .replicas = 3, .scatters = true },
      .bucket = &thousand,
      .first = { CALL(REDUCE_SCATTER, 2000) } },
    { .name = "cast", // 4 + 2 bytes each way
      .coding = { .kind = CODING_CAST, .gradient = DTYPE_FP32, .reduced = DTYPE_BF16, .replicas = 3 },
      .bucket = &thousand,
      .first = { CALL(ALL_REDUCE, 2000) },
      .bytes = { 6000, 0, 6000 },
      .launches = { 1, 0, 1 },
      .copies_bytes = 2000 },
    { .name = "cast, scattered: 334 sums come back",
      .coding = { .kind = CODING_CAST,
                  .gradient = DTYPE_FP32,
                  .reduced = DTYPE_FP16,
                  .replicas = 3,
                  .scatters = true },
      .bucket = &thousand,
      .first = { CALL(REDUCE_SCATTER, 2000) },
      .bytes = { 6000, 0, 2004 },
      .launches = { 1, 0, 1 },
      .copies_bytes = 2668 },
    // 96 x 64: feedback 12 x 6144 = 73,728; a product 4 (6144 + 3 x 160) = 26,496; Gram-Schmidt 4 x 96 x (9 + 9) = 6,912.
    // 30 x 20: 7,200; 3,000; 2,160.
    { .name = "PowerSGD of rank 3",
      .coding = { .kind = CODING_POWERSGD, .gradient = DTYPE_FP32, .replicas = 5, .rank = 3 },
      .bucket = &matrices,
      .first = { CALL(ALL_REDUCE, 28), CALL(ALL_REDUCE, 1512) },
      .second = { CALL(ALL_REDUCE, 1008) },
      .bytes = { 110424, 38568, 110424 },
      .launches = { 4, 30, 4 },
      .feedback_bytes = 27004,
      .copies_bytes = 2520 },
    // 6 (30 + 20) x 2 = 600: no smaller, so 607 go whole. 2 x 96 x (18 + 45) = 12,096; 2 (6144 + 960) = 14,208; 36,864.
    { .name = "PowerSGD of rank 6, in bf16: one matrix is left",
      .coding = { .kind = CODING_POWERSGD, .gradient = DTYPE_BF16, .replicas = 5, .rank = 6 },
      .bucket = &matrices,
      .first = { CALL(ALL_REDUCE, 1214), CALL(ALL_REDUCE, 1152) },
      .second = { CALL(ALL_REDUCE, 768) },
      .bytes = { 51072, 26304, 51072 },
      .launches = { 2, 33, 2 },
      .feedback_bytes = 13502,
      .copies_bytes = 1920 },
    // 13 of 6 bytes. 6000 + (2 passes and one more of 2000, 78) + 13 x 36; behind it 2000 + 39 x (6 + 64).
    { .name = "top-k",
      .coding = { .kind = CODING_TOP_K, .gradient = DTYPE_BF16, .replicas = 3, .ratio = 0.0123 },
      .bucket = &thousand,
      .first = { CALL(ALL_GATHER, 234) },
      .bytes = { 12546, 0, 4730 },
      .launches = { 9, 0, 2 },
      .feedback_bytes = 2000,
      .copies_bytes = 312 },
    // 500 bytes and 4 scales; 154/300 bytes each. 334 sums of 3 shares.
    { .name = "quantize to 4 bits",
      .coding = { .kind = CODING_QUANTIZE, .gradient = DTYPE_FP32, .replicas = 3, .bits = 4, .block = 300 },
      .bucket = &thousand,
      .first = { CALL(ALL_TO_ALL, 516) },
      .second = { CALL(ALL_GATHER, 516) },
      .bytes = { 4513.333333333, 685.813333333, 4513.333333333 },
      .launches = { 1, 1, 1 },
      .copies_bytes = 1032 },
    { .name = "quantize to 8 bits, scattered", // 304/300 bytes each: 334 (3.04 + 4)
      .coding = { .kind = CODING_QUANTIZE,
                  .gradient = DTYPE_FP32,
                  .replicas = 3,
                  .scatters = true,
                  .bits = 8,
                  .block = 300 },
      .bucket = &thousand,
      .first = { CALL(ALL_TO_ALL, 1016) },
      .bytes = { 5013.333333333, 0, 2351.36 },
      .launches = { 1, 0, 1 },
      .copies_bytes = 2032 },
};

static void assert_calls(const coding_case *c, coding_step behind, const data_call *want)
{
    data_call calls[CODING_CALLS_MAX];
    const uint32_t count = coding_calls(&c->coding, c->bucket, behind, calls);
    for (uint32_t i = 0; i < CODING_CALLS_MAX; i++) {
        if (i >= count) {
            assert_int_equal(want[i].bytes, 0);
            continue;
        }
        assert_int_equal(calls[i].kind, want[i].kind);
        assert_int_equal(calls[i].bytes, want[i].bytes);
        assert_non_null(calls[i].name);
    }
}

static void coding_is_as_worked_out(void **state)
{
    const coding_case *c = *state;
    arena *a = arena_create("test");
    assert_calls(c, CODING_ENCODE, c->first);
    assert_calls(c, CODING_RECODE, c->second);
    for (int step = 0; step < CODING_STEPS; step++) {
        kernel_array kernels = { 0 };
        double bytes = 0;
        uint32_t launches = 0;
        coding_kernels(&c->coding, c->bucket, (coding_step)step, a, &kernels);
        for (uint32_t i = 0; i < kernels.count; i++) {
            assert_int_equal(kernels.items[i].class, KERNEL_ELEMENTWISE);
            bytes += kernels.items[i].bytes;
            launches += kernels.items[i].launches;
        }
        assert_near(bytes, c->bytes[step], 1e-9);
        assert_int_equal(launches, c->launches[step]);
    }
    const double elements = (double)c->bucket->elements;
    assert_near(coding_feedback_bytes(&c->coding, elements), c->feedback_bytes, 1e-12);
    assert_near(coding_copies_bytes(&c->coding, elements, c->bucket->tensors, c->bucket->tensor_count),
                c->copies_bytes, 1e-12);
    arena_destroy(a);
}

// Top-k: each replica receives from all others, so that bytes grow with their number; never more than all.
static void top_k_grows_with_the_replicas(void **state)
{
    (void)state;
    gradient_coding c = { .kind = CODING_TOP_K, .gradient = DTYPE_FP32, .ratio = 1.0, .replicas = 2 };
    data_call call[CODING_CALLS_MAX];
    assert_int_equal(coding_calls(&c, &thousand, CODING_ENCODE, call), 1);
    assert_int_equal(call[0].bytes, 2 * 1000 * 8);
    c.replicas = 31;
    c.ratio = 0.1;
    assert_int_equal(coding_calls(&c, &thousand, CODING_ENCODE, call), 1);
    assert_int_equal(call[0].bytes, 31 * 100 * 8);
}

// Flops of thin products: 2 r m k for each.
static void products_are_counted(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    const gradient_coding c = { .kind = CODING_POWERSGD, .gradient = DTYPE_FP32, .replicas = 2, .rank = 3 };
    const gradient_bucket one = { .elements = 6144, .tensors = weights, .tensor_count = 1 };
    kernel_array kernels = { 0 };
    coding_kernels(&c, &one, CODING_RECODE, a, &kernels);
    assert_int_equal(kernels.count, 2);
    assert_string_equal(kernels.items[0].name, "powersgd.orthogonal");
    assert_near(kernels.items[0].flop, 96 * (9 + 12), 1e-12);
    assert_string_equal(kernels.items[1].name, "powersgd.q");
    assert_near(kernels.items[1].flop, 2 * 3 * 6144, 1e-12);
    arena_destroy(a);
}

// ---- memory of a GPU

static void weights_add_up_to_their_part(void **state)
{
    (void)state;
    for (int tied = 0; tied < 2; tied++)
        for (int ends = 0; ends < 4; ends++) {
            llm_def m = tiny_model();
            memory_settings s = tiny_settings(1).memory;
            m.tied_embeddings = tied;
            s.has_embedding = ends & 1;
            s.has_head = ends >> 1;
            const memory_parts parts = memory_parts_here(&m, &s);
            const uint64_t want[] = { parts.head, parts.layer, parts.embedding };
            for (int part = PART_HEAD; part <= PART_EMBEDDING; part++) {
                gradient_tensor tensors[MEMORY_TENSORS_MAX];
                const uint32_t count = memory_tensors_here(&m, &s, (memory_part_kind)part, tensors);
                uint64_t sum = 0;
                for (uint32_t i = 0; i < count; i++)
                    sum += tensors[i].rows * tensors[i].columns;
                assert_int_equal(sum, want[part]);
            }
        }
}

// Rank 2 of the tiny model: sides of 736 in each of three layers, of 320 in each of two tables.
static void memory_has_lines_of_its_own(void **state)
{
    (void)state;
    const llm_def m = tiny_model();
    memory_settings s = tiny_settings(4).memory;
    const memory_need plain = memory_need_of(&m, &s);
    assert_int_equal(plain.bytes[MEMORY_FEEDBACK] + plain.bytes[MEMORY_CODED], 0);
    s.coding = (gradient_coding){ .kind = CODING_POWERSGD, .replicas = 4, .rank = 2 };
    const memory_need factors = memory_need_of(&m, &s);
    assert_int_equal(factors.bytes[MEMORY_FEEDBACK], TINY_PARAMETERS * 4);
    assert_int_equal(factors.bytes[MEMORY_CODED], 2 * 4 * (3 * 736 + 2 * 320));
    assert_int_equal(factors.bytes[MEMORY_GRADIENTS], plain.bytes[MEMORY_GRADIENTS]);
    s.coding = (gradient_coding){ .kind = CODING_CAST, .reduced = DTYPE_BF16, .replicas = 4 };
    const memory_need cast = memory_need_of(&m, &s);
    assert_int_equal(cast.bytes[MEMORY_FEEDBACK], 0);
    assert_int_equal(cast.bytes[MEMORY_CODED], TINY_PARAMETERS * 2);
}

// ---- in passes

static void build_tiny(arena *a, const gradient_coding *coding, uint64_t bucket_bytes, chunk_costs *out)
{
    const llm_def m = tiny_model();
    const gpu_def gpu = tiny_gpu();
    pass_settings s = tiny_settings(4);
    sim_error error = { 0 };
    s.memory.coding = *coding;
    s.memory.bucket_bytes = bucket_bytes;
    assert_true(pass_build(a, &m, roofline_create(a, &gpu), &s, out, &error));
}

// Buckets of 10,000 gradients, so that weights reach over several: each is sent once, with the bucket that it ends in.
static void weights_go_with_their_last_bucket(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    const gradient_coding coding = { .kind = CODING_POWERSGD, .replicas = 4, .rank = 2 };
    chunk_costs costs;
    uint64_t first = 0, second = 0, behind = 0, bucket_end = 0;
    build_tiny(a, &coding, 40000, &costs);
    assert_int_equal(costs.bucket_count, 13);
    for (uint32_t i = 0; i < costs.bucket_count; i++) {
        const gradient_bucket *b = &costs.buckets[i];
        data_call calls[CODING_CALLS_MAX];
        uint32_t count = coding_calls(&coding, b, CODING_ENCODE, calls);
        while (count-- > 0)
            first += calls[count].bytes;
        if (coding_calls(&coding, b, CODING_RECODE, calls)) second += calls[0].bytes;
        bucket_end += b->elements;
        for (uint32_t t = 0; t < b->tensor_count; t++) {
            behind += b->tensors[t].rows * b->tensors[t].columns;
            assert_true(behind <= bucket_end && behind > bucket_end - b->elements);
        }
        assert_int_equal(costs.coding[i].works[CODING_ENCODE] == NO_WORK, b->tensor_count == 0);
    }
    assert_int_equal(behind, TINY_PARAMETERS);
    assert_int_equal(first, 2 * 4 * (3 * 448 + 512) + 4 * (3 * 128 + 64)); // P of all rows, and norms
    assert_int_equal(second, 2 * 4 * (3 * 288 + 128));                     // Q of all columns
    arena_destroy(a);
}

// The cast of 125,376 gradients: 6 bytes each at 10 GB/s and 0.3 us, in the last backward pass alone, before its bucket.
static void the_last_backward_pass_encodes(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    const gradient_coding none = { .replicas = 4 };
    const gradient_coding cast = { .kind = CODING_CAST, .reduced = DTYPE_BF16, .replicas = 4 };
    const sim_time want_ps = 75226000 + 300000;
    chunk_costs plain, coded;
    build_tiny(a, &none, 1000000, &plain);
    build_tiny(a, &cast, 1000000, &coded);
    assert_null(plain.coding);
    assert_int_equal(coded.bucket_count, 1);
    assert_int_equal(coded.backward.item_count, plain.backward.item_count);
    assert_int_equal(coded.last_backward.item_count, plain.last_backward.item_count + 1);
    const pass_item *items = &coded.last_backward.items[coded.last_backward.item_count - 2];
    assert_int_equal(items[0].kind, ITEM_WORK);
    assert_int_equal(items[1].kind, ITEM_BUCKET);
    const work *encode = &coded.works[items[0].index];
    assert_true(encode->codes);
    assert_near((double)encode->gpu_ps, (double)want_ps, 1e-4);
    assert_int_equal(encode->kernels, 1);
    const bucket_work *bucket = &coded.coding[0];
    assert_int_equal(bucket->works[CODING_RECODE], NO_WORK);
    assert_int_equal(coded.works[bucket->works[CODING_ENCODE]].gpu_ps, encode->gpu_ps);
    assert_int_equal(coded.works[bucket->works[CODING_DECODE]].gpu_ps, encode->gpu_ps);
    assert_int_equal(coded.coding_kernel_count, 2);
    assert_int_equal(coded.kernel_count, plain.kernel_count);
    assert_near(coded.flop, plain.flop, 0);
    arena_destroy(a);
}

int main(void)
{
    struct CMUnitTest tests[ARRAY_COUNT(cases) + 6];
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++)
        tests[i] = (struct CMUnitTest){ .name = cases[i].name,
                                        .test_func = coding_is_as_worked_out,
                                        .initial_state = (void *)&cases[i] };
    const struct CMUnitTest others[] = {
        cmocka_unit_test(top_k_grows_with_the_replicas),     cmocka_unit_test(products_are_counted),
        cmocka_unit_test(weights_add_up_to_their_part),      cmocka_unit_test(memory_has_lines_of_its_own),
        cmocka_unit_test(weights_go_with_their_last_bucket), cmocka_unit_test(the_last_backward_pass_encodes)
    };
    _Static_assert(ARRAY_COUNT(tests) == ARRAY_COUNT(cases) + ARRAY_COUNT(others), "room for each");
    memcpy(&tests[ARRAY_COUNT(cases)], others, sizeof others);
    return cmocka_run_group_tests_name("gradient_coding", tests, NULL, NULL);
}
