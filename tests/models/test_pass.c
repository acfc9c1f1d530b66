// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "tests/support/random.h"
#include "tests/support/text.h"
#include "tests/support/tiny.h"

typedef struct bench {
    arena *a;
    gpu_def gpu;
    llm_def model;
    pass_settings settings;
    chunk_costs costs;
    sim_error error;
} bench;

static int enter(void **state)
{
    static bench b;
    b = (bench){
        .a = arena_create("test"), .gpu = tiny_gpu(), .model = tiny_model(), .settings = tiny_settings(4)
    };
    *state = &b;
    return b.a ? 0 : -1;
}

static int leave(void **state)
{
    bench *b = *state;
    arena_destroy(b->a);
    return 0;
}

static bool build(bench *b)
{
    sim_error_clear(&b->error);
    return pass_build(b->a, &b->model, roofline_create(b->a, &b->gpu), &b->settings, &b->costs, &b->error);
}

static optimizer_costs optimizer_of(bench *b, uint64_t parameters)
{
    optimizer_costs costs;
    const roofline *gpu = roofline_create(b->a, &b->gpu);
    assert_true(pass_build_optimizer(b->a, gpu, &b->settings, parameters, &costs, &b->error));
    return costs;
}

// A collective of a latency and a rate; both 0: none takes any time.
typedef struct wire {
    sim_time latency_ps, byte_ps;
} wire;

static sim_time wire_time_ps(void *owner, const tensor_call *call)
{
    const wire *w = owner;
    return w->latency_ps + w->byte_ps * (sim_time)call->bytes;
}

static sim_time length_ps(const bench *b, const pass_plan *p)
{
    wire none = { 0 };
    return pass_length_ps(&b->costs, p, wire_time_ps, &none);
}

static work work_of(const bench *b, const pass_plan *p)
{
    work sum = { 0 };
    for (uint32_t i = 0; i < p->item_count; i++) {
        if (p->items[i].kind != ITEM_WORK) continue;
        const work *w = &b->costs.works[p->items[i].index];
        assert_true(w->kernels > 0 && w->gpu_ps > 0 && w->host_ps >= w->gpu_ps);
        sum.gpu_ps += w->gpu_ps;
        sum.recompute_ps += w->recompute_ps;
        sum.flop += w->flop;
        sum.bytes += w->bytes;
        sum.kernels += w->kernels;
    }
    return sum;
}

// Three kernels of the embedding of 96 tokens x 64: gather (1 launch and 2 calls, 24,576 B), position (2 and 2,
// 36,864 B), dropout (1 and 6, 30,720 B). At 10 GB/s and 0.3 us a launch they take 2,758, 4,286 and 3,372 ns. The ten
// calls are spread 3, 3, 4, so the last launch of each is call 4, 9 and 14, issued after 3, 8 and 13 x 850 ns.
//     gather waits until 2,550, ends 5,308; position waits until 6,800, ends 11,086; dropout starts at once, ends 14,458
// With times from a launch to the end of the piece: 2,550 + 10,416, 6,800 + 7,658, 11,050 + 3,372.
static void three_kernels_and_their_host_by_hand(void **state)
{
    bench *b = *state;
    b->model.position = POSITION_LEARNED;
    b->model.dropout = true;
    b->settings.memory.layers_here = 0;
    b->settings.memory.has_head = false;
    assert_true(build(b));
    assert_int_equal(b->costs.forward.item_count, 1);
    assert_int_equal(b->costs.forward.items[0].kind, ITEM_WORK);
    const work *f = &b->costs.works[b->costs.forward.items[0].index];
    assert_int_equal(f->gpu_ps, 10416 * PS_PER_NS);
    assert_int_equal(f->host_ps, 14458 * PS_PER_NS);
    assert_int_equal(length_ps(b, &b->costs.forward), 14458 * PS_PER_NS);
    assert_int_equal(f->recompute_ps, 0);
    assert_int_equal(f->kernels, 4);
    assert_near(f->bytes, 24576 + 36864 + 30720, 1e-12);
    assert_near(f->flop, 6144 * (1 + 1 + 2), 1e-12);
}

struct optimizer_case {
    const char *name;
    int optimizer, sharding;
    sim_time want_ns;
    double bytes;
};
// Norm 4, clip 8, Adam 4 + 16 + 8 + 2, SGD 4 + 8 + 8 + 2 bytes per element, one launch each, at 10 GB/s and 0.3 us each.
static const struct optimizer_case optimizers[] = {
    // 31,344 elements: 12,837.6 + 25,375.2 + 94,332
    { "Adam on a quarter of the parameters", OPTIMIZER_ADAM, SHARDING_ZERO_1, 132545, 31344 * 42.0 },
    // 125,376 elements: 50,450.4 + 100,600.8 + 376,428
    { "Adam on all of them", OPTIMIZER_ADAM, SHARDING_NONE, 527479, 125376 * 42.0 },
    // 12,837.6 + 25,375.2 + 69,256.8
    { "SGD", OPTIMIZER_SGD, SHARDING_ZERO_1, 107470, 31344 * 34.0 },
};

static void optimizer_matches(void **state)
{
    const struct optimizer_case *c = *state;
    void *bench_ = NULL;
    assert_int_equal(enter(&bench_), 0);
    bench *b = bench_;
    b->settings.memory.optimizer = c->optimizer;
    b->settings.memory.sharding = c->sharding;
    const optimizer_costs costs = optimizer_of(b, TINY_PARAMETERS);
    assert_int_equal(costs.work.gpu_ps, c->want_ns * PS_PER_NS);
    assert_int_equal(costs.work.host_ps, c->want_ns * PS_PER_NS); // issued after 0, 850 and 1,700 ns
    assert_near(costs.work.bytes, c->bytes, 1e-12);
    assert_int_equal(costs.kernel_count, 3);
    for (uint32_t i = 0; i < costs.kernel_count; i++)
        assert_int_equal(costs.kernels[i].calls, 1);
    leave(&bench_);
}

// A pass in words: launches of each piece of work, names of collectives, joins, buckets.
static const char *pass_text(const chunk_costs *costs, const pass_plan *p, char *buffer, size_t size)
{
    FILE *stream = tmpfile();
    assert_non_null(stream);
    for (uint32_t i = 0; i < p->item_count; i++) {
        const uint32_t index = p->items[i].index;
        if (i) fprintf(stream, "; ");
        switch ((pass_item_kind)p->items[i].kind) {
        case ITEM_WORK: fprintf(stream, "%u", costs->works[index].kernels); break;
        case ITEM_TENSOR: fprintf(stream, "%s", costs->tensor_calls[index].name); break;
        case ITEM_JOIN: fprintf(stream, "join"); break;
        case ITEM_BUCKET: fprintf(stream, "bucket %u", index); break;
        }
    }
    return text_read_back(stream, buffer, size);
}

struct items_case {
    const char *name;
    bool sequence_parallel, overlap;
    int recompute;
    uint64_t bucket_bytes;
    const char *forward, *backward;
};
// One layer between its ends on two GPUs. Launches: gather 1; norm 1, qkv 1, rotary 2, core 1, output 1; residual 1, norm
// 1, up 1, activation 1, down 1; residual 1; norm 1, logits 1, loss 8. Backward: loss 5, products 1 and 1, norm 2; down 1
// and 1, activation 1, up 1 and 1, norm 2, residual 1; output 1 and 1, core 3, rotary 2, qkv 1 and 1, norm 2, residual 1;
// scatter 2, accumulate 2.
#define WHOLE_FORWARD                                                                                        \
    "1; embedding.gather all-reduce; join; 6; attention.output all-reduce; join; 5; mlp.down all-reduce; "   \
    "join; 11; "
#define LOSS                                                                                                 \
    "head.loss maximum all-reduce; join; head.loss target all-reduce; join; head.loss sum all-reduce; join"
static const struct items_case items[] = {
    { "rows whole", false, true, RECOMPUTE_NONE, 0, WHOLE_FORWARD LOSS,
      "6; head.logits.dgrad all-reduce; 1; join; 6; mlp.up.dgrad all-reduce; 1; join; 11; "
      "attention.qkv.dgrad all-reduce; 1; join; 7" },
    { "rows whole, joined at once", false, false, RECOMPUTE_NONE, 0, WHOLE_FORWARD LOSS,
      "6; head.logits.dgrad all-reduce; join; 7; mlp.up.dgrad all-reduce; join; 12; "
      "attention.qkv.dgrad all-reduce; join; 8" },
    { "rows whole, computed again", false, true, RECOMPUTE_FULL, 0, WHOLE_FORWARD LOSS,
      "6; head.logits.dgrad all-reduce; 1; join; 8; attention.output all-reduce; join; 5; "
      "mlp.down all-reduce; join; 5; mlp.up.dgrad all-reduce; 1; join; 11; attention.qkv.dgrad all-reduce; "
      "1; "
      "join; 7" },
    { "sequence parallel", true, true, RECOMPUTE_NONE, 0,
      "1; embedding.gather reduce-scatter; join; 1; attention.qkv all-gather; join; 5; "
      "attention.output reduce-scatter; join; 2; mlp.up all-gather; join; 3; mlp.down reduce-scatter; join; "
      "2; "
      "head.logits all-gather; join; 9; " LOSS,
      "5; head.logits.wgrad all-gather; 1; join; head.logits.dgrad reduce-scatter; 1; join; 2; "
      "mlp.down.dgrad all-gather; join; 3; mlp.up.wgrad all-gather; 1; join; mlp.up.dgrad reduce-scatter; 1; "
      "join; 3; attention.output.dgrad all-gather; join; 7; attention.qkv.wgrad all-gather; 1; join; "
      "attention.qkv.dgrad reduce-scatter; 1; join; 3; embedding.scatter all-gather; join; 4" },
    { "sequence parallel, joined at once", true, false, RECOMPUTE_SELECTIVE, 0,
      "1; embedding.gather reduce-scatter; join; 1; attention.qkv all-gather; join; 5; "
      "attention.output reduce-scatter; join; 2; mlp.up all-gather; join; 3; mlp.down reduce-scatter; join; "
      "2; "
      "head.logits all-gather; join; 9; " LOSS,
      "5; head.logits.wgrad all-gather; join; 1; head.logits.dgrad reduce-scatter; join; 3; "
      "mlp.down.dgrad all-gather; join; 3; mlp.up.wgrad all-gather; join; 1; mlp.up.dgrad reduce-scatter; "
      "join; "
      "4; attention.output.dgrad all-gather; join; 7; attention.qkv.wgrad all-gather; join; 1; "
      "attention.qkv.dgrad reduce-scatter; join; 4; embedding.scatter all-gather; join; 4" },
    // Head 64 + 128 x 64 = 8,256; layer 64 (32 + 32) + 32 x 64 + 3 x 64 x 48 + 128 = 15,488; embedding 8,192. In tens of
    // thousands: none in the head; two with 3,744 left in the layer; one with 1,936 left, which is one more.
    { "buckets", false, true, RECOMPUTE_NONE, 40000,
      "bucket 3; bucket 2; 1; embedding.gather all-reduce; join; bucket 1; bucket 0; 6; "
      "attention.output all-reduce; join; 5; mlp.down all-reduce; join; 11; " LOSS,
      "6; head.logits.dgrad all-reduce; 1; join; 6; mlp.up.dgrad all-reduce; 1; join; 11; "
      "attention.qkv.dgrad all-reduce; 1; join; 3; bucket 0; bucket 1; 4; bucket 2; bucket 3" },
};

static void items_match(void **state)
{
    const struct items_case *c = *state;
    char text[2000];
    void *bench_ = NULL;
    assert_int_equal(enter(&bench_), 0);
    bench *b = bench_;
    b->settings.memory.layers_here = 1;
    b->settings.memory.kernels.tensor = 2;
    b->settings.memory.kernels.sequence_parallel = c->sequence_parallel;
    b->settings.memory.recompute = c->recompute;
    b->settings.memory.bucket_bytes = c->bucket_bytes;
    b->settings.overlap_tensor = c->overlap;
    assert_true(build(b));
    assert_string_equal(pass_text(&b->costs, &b->costs.first_forward, text, sizeof text), c->forward);
    assert_string_equal(pass_text(&b->costs, &b->costs.last_backward, text, sizeof text), c->backward);
    for (uint32_t i = 0; i < b->costs.tensor_call_count;
         i++) // 96 tokens of 64 numbers in bf16, or of one in fp32
        assert_int_equal(b->costs.tensor_calls[i].bytes,
                         strncmp(b->costs.tensor_calls[i].name, "head.loss", 9) == 0 ? 96 * 4 : 96 * 64 * 2);
    leave(&bench_);
}

struct bucket_case {
    const char *name;
    uint64_t bucket_bytes;
    bool tied;
    uint32_t pieces, count;
    struct {
        uint64_t elements;
        uint32_t piece; // of the backward pass, which it ends
    } want[8];
};
// The backward pass fills buckets from the head (16,448; tied: 64) over three layers (30,848 each) to the embedding (16,384).
static const struct bucket_case buckets[] = {
    { "one bucket for all", 4 * 125376 + 3, false, 1, 1, { { 125376, 0 } } },
    // 16,448 + 30,848 -> one, 7,296 left; two layers -> one, 28,992 left; embedding -> one, 5,376 left
    { "cut inside a layer", 160000, false, 3, 4, { { 40000, 0 }, { 40000, 1 }, { 40000, 2 }, { 5376, 2 } } },
    { "exactly full at the end of a layer", 4 * 78144, false, 2, 2, { { 78144, 0 }, { 47232, 1 } } },
    { "exactly full at the very end", 4 * 62688, false, 2, 2, { { 62688, 0 }, { 62688, 1 } } },
    { "one from each part",
      4 * 30000 + 3,
      false,
      4,
      5,
      { { 30000, 0 }, { 30000, 1 }, { 30000, 2 }, { 30000, 3 }, { 5376, 3 } } },
    { "smaller than a part",
      4 * 20000,
      false,
      4,
      7,
      { { 20000, 0 }, { 20000, 0 }, { 20000, 1 }, { 20000, 2 }, { 20000, 2 }, { 20000, 3 }, { 5376, 3 } } },
    // tied: 64 + 3 x 30,848 = 92,608 before the table
    { "a tied table is complete at the end", 4 * 92608, true, 2, 2, { { 92608, 0 }, { 16384, 1 } } },
};

static void compare_works(const bench *b, const pass_plan *x, const pass_plan *y)
{
    const work sum = work_of(b, x), whole = work_of(b, y);
    assert_int_equal(sum.gpu_ps, whole.gpu_ps);
    assert_int_equal(sum.recompute_ps, whole.recompute_ps);
    assert_int_equal(sum.kernels, whole.kernels);
    assert_near(sum.flop, whole.flop, 1e-12);
    assert_near(sum.bytes, whole.bytes, 1e-12);
}

// What the backward pass completes behind a part, the forward pass needs before the same one: as many pieces follow here
// as went before there.
static void compare_marks(const chunk_costs *costs, const struct bucket_case *c)
{
    uint32_t next = 0, pieces = 0;
    for (uint32_t i = 0; i < costs->last_backward.item_count; i++) {
        const pass_item item = costs->last_backward.items[i];
        if (item.kind == ITEM_WORK) {
            pieces++;
            continue;
        }
        assert_int_equal(item.kind, ITEM_BUCKET);
        assert_int_equal(item.index, next);
        assert_int_equal(c->want[next++].piece + 1, pieces);
    }
    assert_int_equal(next, c->count);
    assert_int_equal(pieces, c->pieces);
    for (uint32_t i = 0; i < costs->first_forward.item_count; i++) {
        const pass_item item = costs->first_forward.items[i];
        if (item.kind == ITEM_WORK) {
            pieces--;
            continue;
        }
        assert_int_equal(item.kind, ITEM_BUCKET);
        assert_int_equal(item.index, --next);
        assert_int_equal(c->want[next].piece + 1, pieces);
    }
    assert_int_equal(next, 0);
    assert_int_equal(pieces, 0);
}

static void buckets_match(void **state)
{
    const struct bucket_case *c = *state;
    void *bench_ = NULL;
    assert_int_equal(enter(&bench_), 0);
    bench *b = bench_;
    b->model.tied_embeddings = c->tied;
    b->settings.memory.bucket_bytes = c->bucket_bytes;
    assert_true(build(b));
    uint64_t elements = 0;
    assert_int_equal(b->costs.bucket_count, c->count);
    for (uint32_t i = 0; i < c->count; i++) {
        assert_int_equal(b->costs.buckets[i].elements, c->want[i].elements);
        elements += b->costs.buckets[i].elements;
    }
    assert_int_equal(elements, memory_parameters_here(&b->model, &b->settings.memory));
    compare_marks(&b->costs, c);
    assert_int_equal(b->costs.forward.item_count, 1);
    assert_int_equal(b->costs.backward.item_count, 1);
    compare_works(b, &b->costs.first_forward, &b->costs.forward);
    compare_works(b, &b->costs.last_backward, &b->costs.backward);
    assert_int_equal(length_ps(b, &b->costs.first_forward), length_ps(b, &b->costs.forward));
    assert_int_equal(length_ps(b, &b->costs.last_backward), length_ps(b, &b->costs.backward));
    leave(&bench_);
}

static void without_buckets_nothing_is_marked(void **state)
{
    bench *b = *state;
    assert_true(build(b));
    assert_int_equal(b->costs.bucket_count, 0);
    assert_ptr_equal(b->costs.first_forward.items, b->costs.forward.items);
    assert_ptr_equal(b->costs.last_backward.items, b->costs.backward.items);
}

// 1 B is less than an element: a bucket for each.
static void a_bucket_holds_an_element_at_least(void **state)
{
    bench *b = *state;
    b->settings.memory.bucket_bytes = 1;
    assert_true(build(b));
    assert_int_equal(b->costs.bucket_count, TINY_PARAMETERS);
    assert_int_equal(b->costs.last_backward.item_count, 5 + TINY_PARAMETERS);
    assert_int_equal(b->costs.first_forward.item_count, 5 + TINY_PARAMETERS);
}

// A tied table lies in the embedding of a stage with both ends, and in each end else.
static void ends_hold_their_tables(void **state)
{
    bench *b = *state;
    b->model.tied_embeddings = true;
    b->settings.memory.bucket_bytes = UINT64_C(1) << 40;
    b->settings.memory.layers_here = 1;
    b->settings.memory.has_embedding = false;
    assert_true(build(b));
    assert_int_equal(b->costs.buckets[0].elements, TINY_LAYER_PARAMETERS + 64 + TINY_TABLE_PARAMETERS);
    // without an embedding the bucket is needed before the layer, and the first item all the same
    assert_int_equal(b->costs.first_forward.items[0].kind, ITEM_BUCKET);
    assert_int_equal(b->costs.first_forward.item_count, 2);
    assert_int_equal(b->costs.last_backward.item_count, 2);
    b->settings.memory.has_embedding = true;
    b->settings.memory.has_head = false;
    assert_true(build(b));
    assert_int_equal(b->costs.buckets[0].elements, TINY_LAYER_PARAMETERS + TINY_TABLE_PARAMETERS);
}

// With a host that takes no time and layers alone, what is computed again is the forward pass, and nothing waits.
static void full_recomputation_is_the_forward_pass(void **state)
{
    bench *b = *state;
    b->gpu.launch_s = 0;
    b->settings.memory.has_embedding = b->settings.memory.has_head = false;
    assert_true(build(b));
    const work backward = work_of(b, &b->costs.backward), forward = work_of(b, &b->costs.forward);
    assert_near(b->costs.flop, forward.flop + backward.flop, 1e-12);
    assert_int_equal(backward.recompute_ps, 0);
    b->settings.memory.recompute = RECOMPUTE_FULL;
    assert_true(build(b));
    const work both = work_of(b, &b->costs.backward);
    assert_int_equal(both.recompute_ps, forward.gpu_ps);
    assert_int_equal(both.gpu_ps, backward.gpu_ps + forward.gpu_ps);
    assert_int_equal(length_ps(b, &b->costs.backward), both.gpu_ps);
    assert_int_equal(length_ps(b, &b->costs.forward), forward.gpu_ps);
    assert_near(both.flop, backward.flop + forward.flop, 1e-12);
    assert_near(b->costs.flop, 2 * forward.flop + backward.flop, 1e-12);
}

static uint64_t calls_of(const chunk_costs *costs, const char *name)
{
    uint64_t calls = 0;
    for (uint32_t i = 0; i < costs->kernel_count; i++)
        if (strcmp(costs->kernels[i].shape.name, name) == 0) calls += costs->kernels[i].calls;
    return calls;
}

// One micro-batch through three layers; a kernel that is computed again is the same kernel, called more often.
static void distinct_kernels_are_counted(void **state)
{
    bench *b = *state;
    assert_true(build(b));
    for (uint32_t i = 0; i < b->costs.kernel_count; i++)
        for (uint32_t j = 0; j < i; j++)
            assert_false(
                memcmp(&b->costs.kernels[i].shape, &b->costs.kernels[j].shape, sizeof(kernel_shape)) == 0);
    assert_int_equal(calls_of(&b->costs, "embedding.gather"), 1);
    assert_int_equal(calls_of(&b->costs, "attention.core"), 3);
    assert_int_equal(calls_of(&b->costs, "attention.core.backward"), 3);
    assert_int_equal(calls_of(&b->costs, "head.logits"), 1);
    const uint32_t before = b->costs.kernel_count;
    b->settings.memory.recompute = RECOMPUTE_FULL;
    b->settings.memory.bucket_bytes = 40000;
    assert_true(build(b));
    assert_int_equal(b->costs.kernel_count, before);
    assert_int_equal(calls_of(&b->costs, "attention.core"), 6);
    assert_int_equal(calls_of(&b->costs, "head.logits"), 1);
}

static double product_flop(const chunk_costs *costs)
{
    double flop = 0;
    for (uint32_t i = 0; i < costs->kernel_count; i++)
        if (costs->kernels[i].shape.class != KERNEL_ELEMENTWISE)
            flop += (double)costs->kernels[i].calls * costs->kernels[i].shape.flop;
    return flop;
}

static void tensor_ranks_share_the_products(void **state)
{
    bench *b = *state;
    assert_true(build(b));
    assert_int_equal(b->costs.tensor_call_count, 0);
    const double alone = product_flop(&b->costs), forward = work_of(b, &b->costs.forward).flop;
    b->settings.memory.kernels.tensor = 2;
    assert_true(build(b));
    assert_near(2 * product_flop(&b->costs), alone, 1e-12);
    assert_true(2 * work_of(b, &b->costs.forward).flop > forward); // what works on whole rows is done twice
}

struct norm_case {
    const char *name;
    uint32_t tensor;
    bool sequence_parallel, has_head, layernorm_and_bias;
    uint64_t want;
};
static const struct norm_case norms[] = {
    { "one GPU", 1, true, true, true, 0 },
    { "rows whole", 2, false, true, true, 0 },
    { "three layers and the head", 2, true, true, false, 3 * 2 * 64 + 64 },
    { "three layers", 2, true, false, false, 3 * 2 * 64 },
    { "weights and biases of norms, biases of two products", 2, true, true, true,
      3 * (2 * 128 + 2 * 64) + 128 },
};

static void norms_match(void **state)
{
    const struct norm_case *c = *state;
    void *bench_ = NULL;
    assert_int_equal(enter(&bench_), 0);
    bench *b = bench_;
    if (c->layernorm_and_bias) b->model.norm = NORM_LAYERNORM;
    b->model.bias = c->layernorm_and_bias;
    b->settings.memory.has_head = c->has_head;
    b->settings.memory.kernels.tensor = c->tensor;
    b->settings.memory.kernels.sequence_parallel = c->sequence_parallel;
    assert_true(build(b));
    assert_int_equal(b->costs.norm_elements, c->want);
    leave(&bench_);
}

// A pass kernel by kernel, from the lists and the GPU alone.
typedef struct replay_step {
    bool is_kernel, waits;
    sim_time time_ps, issued_ps;
    uint32_t launches;
    tensor_call call;
} replay_step;
ARRAY_OF(replay_step, replay_step_array);
typedef struct replay {
    const bench *b;
    const roofline *gpu;
    replay_step_array steps;
    uint64_t calls; // of the host, before the list
} replay;

static void replay_list(replay *r, const kernel_array *list)
{
    uint64_t launches = 0;
    for (uint32_t i = 0; i <= list->count; i++) {
        for (uint32_t j = 0; j < list->points.count; j++) {
            const tensor_point *point = &list->points.items[j];
            if (point->kernel == i)
                *array_push(&r->steps, r->b->a) = (replay_step){ .waits = point->waits, .call = point->call };
        }
        if (i == list->count) break;
        const kernel_shape *k = &list->items[i];
        launches += k->launches;
        const uint64_t call = r->calls + launches + list->host_calls * (uint64_t)(i + 1) / list->count;
        *array_push(&r->steps, r->b->a) = (replay_step){
            .is_kernel = true,
            .time_ps = roofline_cost(r->gpu, k, r->b->settings.clock_ratio, 1.0).time_ps,
            .issued_ps = (sim_time)(call - 1) * roofline_launch_ps(r->gpu),
            .launches = k->launches,
        };
    }
    r->calls += launches + list->host_calls;
}

static replay replay_of(const bench *b, bool backward)
{
    const memory_settings *s = &b->settings.memory;
    replay r = { .b = b, .gpu = roofline_create(b->a, &b->gpu) };
    kernel_array first = { 0 }, layer = { 0 }, last = { 0 };
    if (backward) {
        if (s->has_head) kernels_head_backward(&b->model, &s->kernels, b->a, &first);
        if (s->has_embedding) kernels_embedding_backward(&b->model, &s->kernels, b->a, &last);
        kernels_layer_backward(&b->model, &s->kernels, b->a, &layer);
    } else {
        if (s->has_embedding) kernels_embedding_forward(&b->model, &s->kernels, b->a, &first);
        if (s->has_head) kernels_head_forward(&b->model, &s->kernels, b->a, &last);
        kernels_layer_forward(&b->model, &s->kernels, b->a, &layer);
    }
    kernel_array again = { 0 };
    kernels_layer_recompute(&b->model, &s->kernels, backward ? s->recompute : RECOMPUTE_NONE, b->a, &again);
    replay_list(&r, &first);
    for (uint32_t i = 0; i < s->layers_here; i++) {
        replay_list(&r, &again);
        replay_list(&r, &layer);
    }
    replay_list(&r, &last);
    return r;
}

static sim_time after_ps(sim_time x, sim_time y)
{
    return x < y ? y : x;
}

static sim_time replay_length_ps(const replay *r, wire *w)
{
    sim_time end = 0, collective_end = 0;
    for (uint32_t i = 0; i < r->steps.count; i++) {
        const replay_step *step = &r->steps.items[i];
        if (step->is_kernel)
            end = after_ps(end, step->issued_ps) + step->time_ps;
        else if (step->waits)
            end = after_ps(end, collective_end);
        else
            collective_end = end + wire_time_ps(w, &step->call);
        if (!step->is_kernel && !r->b->settings.overlap_tensor) end = after_ps(end, collective_end);
    }
    return end;
}

// Each piece of work ends as its kernels do, whenever it may start.
static void compare_pieces(const bench *b, const replay *r, const pass_plan *p, uint64_t *random)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i < p->item_count; i++) {
        if (p->items[i].kind != ITEM_WORK) continue;
        const work *w = &b->costs.works[p->items[i].index];
        const sim_time start = test_random_below(random, 3000000) * (sim_time)1000;
        sim_time end = start, busy = 0;
        for (uint32_t launches = 0; launches < w->kernels; next++) {
            assert_true(next < r->steps.count);
            const replay_step *step = &r->steps.items[next];
            if (!step->is_kernel) continue;
            end = after_ps(end, step->issued_ps) + step->time_ps;
            busy += step->time_ps;
            launches += step->launches;
        }
        assert_int_equal(w->gpu_ps, busy);
        assert_int_equal(after_ps(start + w->gpu_ps, w->host_ps), end);
    }
    for (; next < r->steps.count; next++)
        assert_false(r->steps.items[next].is_kernel);
}

// Collectives take turns, and none is left when the pass ends.
static void assert_joined(const pass_plan *p)
{
    bool is_open = false;
    for (uint32_t i = 0; i < p->item_count; i++) {
        const pass_item item = p->items[i];
        if (item.kind != ITEM_TENSOR && item.kind != ITEM_JOIN) continue;
        assert_int_equal(is_open, item.kind == ITEM_JOIN);
        is_open = !is_open;
    }
    assert_false(is_open);
}

static void draw_settings(bench *b, uint64_t *random)
{
    memory_settings *s = &b->settings.memory;
    b->gpu.launch_s = test_random_below(random, 4) * 0.7e-6;
    b->model.dropout = test_random_below(random, 2) != 0;
    b->model.bias = test_random_below(random, 2) != 0;
    b->model.tied_embeddings = test_random_below(random, 2) != 0;
    b->model.position = (int)test_random_below(random, 3);
    s->kernels.tensor = 1 + test_random_below(random, 2);
    s->kernels.sequence_parallel = test_random_below(random, 2) != 0;
    s->kernels.fused = test_random_below(random, 2) != 0;
    s->kernels.attention = (int)test_random_below(random, 2);
    s->recompute = (int)test_random_below(random, 3);
    s->layers_here = test_random_below(random, 5);
    s->has_embedding = test_random_below(random, 3) != 0;
    s->has_head = test_random_below(random, 3) != 0;
    s->bucket_bytes = 1000 + test_random_below(random, 200000);
    b->settings.overlap_tensor = test_random_below(random, 2) != 0;
    b->settings.clock_ratio = 0.5 + 0.25 * test_random_below(random, 3);
}

static void passes_end_as_their_kernels_do(void **state)
{
    bench *b = *state;
    uint64_t random = 5;
    for (int round = 0; round < 300; round++) {
        const arena_mark_t mark = arena_mark(b->a);
        draw_settings(b, &random);
        assert_true(build(b));
        wire w = { test_random_below(&random, 20000) * (sim_time)1000,
                   test_random_below(&random, 3) * (sim_time)2000 };
        for (int backward = 0; backward < 2; backward++) {
            const pass_plan *plain = backward ? &b->costs.backward : &b->costs.forward;
            const pass_plan *marked = backward ? &b->costs.last_backward : &b->costs.first_forward;
            const replay r = replay_of(b, backward);
            const sim_time want = replay_length_ps(&r, &w);
            assert_int_equal(pass_length_ps(&b->costs, plain, wire_time_ps, &w), want);
            assert_int_equal(pass_length_ps(&b->costs, marked, wire_time_ps, &w), want);
            compare_pieces(b, &r, plain, &random);
            compare_pieces(b, &r, marked, &random);
            compare_works(b, marked, plain);
            assert_joined(plain);
            assert_joined(marked);
        }
        arena_release(b->a, mark);
    }
}

// A collective hides behind a weight gradient that takes longer, and costs what sticks out otherwise.
static void overlap_hides_collectives(void **state)
{
    bench *b = *state;
    b->gpu.launch_s = 0;
    b->settings.memory.layers_here = 1;
    b->settings.memory.has_embedding = b->settings.memory.has_head = false;
    b->settings.memory.kernels.tensor = 2;
    assert_true(build(b));
    const sim_time alone = length_ps(b, &b->costs.backward);
    // up: operands 2 (96 96 + 96 64) and gradient 8 96 64, 79,872 B, 8,287 ns; qkv: 2 (64 96 + 96 64) + 8 64 64, 57,344 B,
    // 6,034 ns
    wire w = { .latency_ps = 3000 * PS_PER_NS };
    assert_int_equal(pass_length_ps(&b->costs, &b->costs.backward, wire_time_ps, &w), alone);
    w.latency_ps = 10000 * PS_PER_NS;
    assert_int_equal(pass_length_ps(&b->costs, &b->costs.backward, wire_time_ps, &w),
                     alone + (10000 - 8287 + 10000 - 6034) * PS_PER_NS);
    b->settings.overlap_tensor = false;
    assert_true(build(b));
    assert_int_equal(pass_length_ps(&b->costs, &b->costs.backward, wire_time_ps, &w),
                     alone + 20000 * PS_PER_NS);
}

// A slower clock never makes a pass faster, and a pass takes at least what the host needs for its calls.
static void a_slow_gpu_takes_longer(void **state)
{
    bench *b = *state;
    b->gpu.launch_s = 0;
    b->settings.memory.bucket_bytes = 40000;
    assert_true(build(b));
    const uint32_t bucket_count = b->costs.bucket_count;
    const sim_time healthy = length_ps(b, &b->costs.forward);
    b->settings.clock_ratio = 0.5;
    assert_true(build(b));
    assert_true(length_ps(b, &b->costs.forward) > healthy);
    assert_int_equal(b->costs.bucket_count, bucket_count);
    b->settings.clock_ratio = 1.0;
    b->settings.memory_ratio = 0.5;
    // The three kernels of the optimizer are memory's alone: 100,300.8 + 200,601.6 + 752,256 ns, and 300 each.
    assert_int_equal(optimizer_of(b, TINY_PARAMETERS).work.gpu_ps, 1054059 * PS_PER_NS);
}

static void impossible_numbers_are_refused(void **state)
{
    bench *b = *state;
    b->gpu.memory_rate_Bps = 20;
    assert_false(build(b));
    assert_error_prints(
        &b->error, "windtunnel: error: kernel \"embedding.gather\" would take longer than 1000 s on tiny\n"
                   "  hint: the GPU's peaks, rates and efficiencies, or the micro-batch, are out of range\n");

    b->gpu.memory_rate_Bps = 300;
    b->settings.memory.has_head = false;
    b->settings.memory.layers_here = 100;
    assert_false(build(b));
    assert_error_prints(&b->error,
                        "windtunnel: error: one pass of a micro-batch would take longer than a day\n"
                        "  hint: layers, micro-batch or the GPU's numbers are out of range\n");

    // 1.2e15 parameters, 3 x 57 million launches of a second each: 1.7e20 ps, beyond 64 bits.
    optimizer_costs costs;
    b->gpu = tiny_gpu();
    b->gpu.memory_rate_Bps = b->gpu.vector_flops = 1e18;
    b->gpu.kernels.kernel_overhead_s = 0;
    b->gpu.launch_s = 1;
    b->settings.memory.sharding = SHARDING_NONE;
    sim_error_clear(&b->error);
    assert_false(pass_build_optimizer(b->a, roofline_create(b->a, &b->gpu), &b->settings,
                                      UINT64_C(1200000000000000), &costs, &b->error));
    assert_error_prints(&b->error, "windtunnel: error: the optimizer's step would take longer than a day\n"
                                   "  hint: layers, micro-batch or the GPU's numbers are out of range\n");
}

int main(void)
{
    struct CMUnitTest
        tests[ARRAY_COUNT(optimizers) + ARRAY_COUNT(items) + ARRAY_COUNT(buckets) + ARRAY_COUNT(norms) + 11];
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_COUNT(optimizers); i++)
        tests[n++] = (struct CMUnitTest){ optimizers[i].name, optimizer_matches, NULL, NULL,
                                          (void *)&optimizers[i] };
    for (size_t i = 0; i < ARRAY_COUNT(items); i++)
        tests[n++] = (struct CMUnitTest){ items[i].name, items_match, NULL, NULL, (void *)&items[i] };
    for (size_t i = 0; i < ARRAY_COUNT(buckets); i++)
        tests[n++] = (struct CMUnitTest){ buckets[i].name, buckets_match, NULL, NULL, (void *)&buckets[i] };
    for (size_t i = 0; i < ARRAY_COUNT(norms); i++)
        tests[n++] = (struct CMUnitTest){ norms[i].name, norms_match, NULL, NULL, (void *)&norms[i] };
#define WITH_BENCH(test_) (struct CMUnitTest) cmocka_unit_test_setup_teardown(test_, enter, leave)
    tests[n++] = WITH_BENCH(three_kernels_and_their_host_by_hand);
    tests[n++] = WITH_BENCH(without_buckets_nothing_is_marked);
    tests[n++] = WITH_BENCH(a_bucket_holds_an_element_at_least);
    tests[n++] = WITH_BENCH(ends_hold_their_tables);
    tests[n++] = WITH_BENCH(full_recomputation_is_the_forward_pass);
    tests[n++] = WITH_BENCH(distinct_kernels_are_counted);
    tests[n++] = WITH_BENCH(tensor_ranks_share_the_products);
    tests[n++] = WITH_BENCH(passes_end_as_their_kernels_do);
    tests[n++] = WITH_BENCH(overlap_hides_collectives);
    tests[n++] = WITH_BENCH(a_slow_gpu_takes_longer);
    tests[n++] = WITH_BENCH(impossible_numbers_are_refused);
    SIM_ASSERT(n == ARRAY_COUNT(tests));
    return cmocka_run_group_tests_name("pass", tests, NULL, NULL);
}
