// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/training/pass.h"
#include "sim/check.h"

ARRAY_OF(kernel_use, kernel_use_array);
ARRAY_OF(gradient_bucket, gradient_bucket_array);

// A kernel list with its times, played once per layer (or once per pass).
typedef struct timed_list {
    kernel_array kernels;
    sim_time *time_ps;
} timed_list;

typedef struct builder {
    arena *a;
    const llm_def *model;
    const roofline *gpu;
    const pass_settings *settings;
    sim_error *error;
    kernel_use_array uses;
} builder;

static bool same_shape(const kernel_shape *x, const kernel_shape *y)
{
    return strcmp(x->name, y->name) == 0 && x->class == y->class && x->type == y->type &&
           x->batch == y->batch && x->m == y->m && x->n == y->n && x->k == y->k && x->flop == y->flop &&
           x->bytes == y->bytes && x->launches == y->launches;
}

// A step has some tens of distinct kernels, so a scan is the whole search.
static uint32_t use_of(builder *b, const kernel_shape *shape)
{
    for (uint32_t i = 0; i < b->uses.count; i++)
        if (same_shape(&b->uses.items[i].shape, shape)) return i;
    kernel_use *use = array_push(&b->uses, b->a);
    use->shape = *shape;
    use->cost = roofline_cost(b->gpu, shape, b->settings->clock_ratio, b->settings->memory_ratio);
    return b->uses.count - 1;
}

static bool time_list(builder *b, timed_list *list, uint64_t calls)
{
    const uint32_t count = list->kernels.count;
    list->time_ps = arena_array(b->a, sim_time, count);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t index = use_of(b, &list->kernels.items[i]); // may move the table
        kernel_use *use = &b->uses.items[index];
        list->time_ps[i] = use->cost.time_ps;
        use->calls += calls;
        if (use->cost.too_long)
            return sim_fail(b->error, SIM_EXIT_INPUT, b->settings->where,
                            "kernel \"%s\" would take longer than %.0f s on %s", list->kernels.items[i].name,
                            ROOFLINE_LONGEST_S, roofline_gpu(b->gpu)->name) ||
                   sim_hint(b->error,
                            "the GPU's peaks, rates and efficiencies, or the micro-batch, are out of range");
    }
    return true;
}

// The clock of one pass: when the GPU is free, and how many launches the host has made.
typedef struct pass_clock {
    sim_time launch_ps, gpu_free_ps;
    uint64_t launched;
} pass_clock;

static uint64_t spread(uint64_t total, uint32_t index, uint32_t count)
{
    return total * (index + 1) / count - total * index / count;
}

static const sim_time longest_pass_ps = 86400 * PS_PER_S;

// When the host has issued all calls until now. No later than twice the longest pass: that is refused all the same, and
// the clock cannot overflow.
static sim_time issued_ps(const pass_clock *clock)
{
    const unsigned __int128 time_ps = (unsigned __int128)clock->launch_ps * (clock->launched - 1);
    return time_ps < (unsigned __int128)(2 * longest_pass_ps) ? (sim_time)time_ps : 2 * longest_pass_ps;
}

// False when the pass has become longer than any real one; its clock can go on for one more list without overflow.
static bool play(builder *b, pass_clock *clock, const timed_list *list, bool is_recompute, work *into)
{
    for (uint32_t i = 0; i < list->kernels.count; i++) {
        const kernel_shape *kernel = &list->kernels.items[i];
        // The list's other framework calls are spread evenly over its kernels. A kernel of several launches can end no
        // earlier than its last one.
        clock->launched += kernel->launches + spread(list->kernels.host_calls, i, list->kernels.count);
        const sim_time issued = issued_ps(clock);
        const sim_time wait = issued > clock->gpu_free_ps ? issued - clock->gpu_free_ps : 0;
        clock->gpu_free_ps += wait + list->time_ps[i];
        into->duration_ps += wait + list->time_ps[i];
        into->launch_ps += wait;
        if (is_recompute) into->recompute_ps += list->time_ps[i];
        into->flop += kernel->flop;
        into->bytes += kernel->bytes;
        into->kernels += kernel->launches;
    }
    if (clock->gpu_free_ps <= longest_pass_ps) return true;
    return sim_fail(b->error, SIM_EXIT_INPUT, b->settings->where,
                    "one pass of a micro-batch would take longer than a day") ||
           sim_hint(b->error, "layers, micro-batch or the GPU's numbers are out of range");
}

static void work_add(work *sum, const work *part)
{
    sum->duration_ps += part->duration_ps;
    sum->recompute_ps += part->recompute_ps;
    sum->launch_ps += part->launch_ps;
    sum->flop += part->flop;
    sum->bytes += part->bytes;
    sum->kernels += part->kernels;
}

static bool build_forward(builder *b, pass_costs *out)
{
    const memory_settings *s = &b->settings->memory;
    timed_list embedding = { 0 }, layer = { 0 }, head = { 0 };
    const uint64_t passes = b->settings->micro_batches;
    if (s->has_embedding) kernels_embedding_forward(b->model, &s->kernels, b->a, &embedding.kernels);
    kernels_layer_forward(b->model, &s->kernels, b->a, &layer.kernels);
    if (s->has_head) kernels_head_forward(b->model, &s->kernels, b->a, &head.kernels);
    if (!time_list(b, &embedding, passes) || !time_list(b, &layer, passes * s->layers_here) ||
        !time_list(b, &head, passes))
        return false;

    pass_clock clock = { .launch_ps = roofline_launch_ps(b->gpu) };
    if (!play(b, &clock, &embedding, false, &out->forward)) return false;
    for (uint32_t i = 0; i < s->layers_here; i++)
        if (!play(b, &clock, &layer, false, &out->forward)) return false;
    return play(b, &clock, &head, false, &out->forward);
}

// Gradients fill buckets in the order in which the backward pass makes them: head, layers from the last, embedding.
typedef struct bucket_filler {
    uint64_t capacity, filled; // elements
    gradient_bucket_array buckets;
} bucket_filler;

static void bucket_push(builder *b, bucket_filler *f, uint64_t elements, uint32_t piece)
{
    *array_push(&f->buckets, b->a) = (gradient_bucket){ .elements = elements, .piece = piece };
    f->filled -= elements;
}

// True when this part of the model completed at least one bucket: the pass is cut behind it.
static bool bucket_fill(builder *b, bucket_filler *f, uint64_t elements, bool last, uint32_t piece)
{
    const uint32_t before = f->buckets.count;
    f->filled += elements;
    while (f->filled >= f->capacity)
        bucket_push(b, f, f->capacity, piece);
    if (last && f->filled) bucket_push(b, f, f->filled, piece);
    return last || f->buckets.count > before;
}

// Parameters of the parts of the backward pass, in its order. A tied table has both its gradients only at the very end.
typedef struct part_elements {
    uint64_t head, layer, embedding;
} part_elements;

static part_elements elements_of_parts(const llm_def *m, const memory_settings *s)
{
    const uint32_t tensor = s->kernels.tensor;
    const uint64_t table = kernels_padded_vocabulary(m, tensor) / tensor * m->hidden;
    const bool head_table = !m->tied_embeddings || !s->has_embedding;
    const uint64_t positions = m->position == POSITION_LEARNED ? m->max_sequence * m->hidden : 0;
    const part_elements e = {
        .head = s->has_head ? llm_norm_parameters(m) + (head_table ? table : 0) : 0,
        .layer = memory_layer_parameters_here(m, tensor),
        .embedding = s->has_embedding ? table + positions : 0,
    };
    SIM_ASSERT(e.head + s->layers_here * e.layer + e.embedding == memory_parameters_here(m, s));
    return e;
}

typedef struct backward_lists {
    timed_list head, again, layer, embedding; // again: what is recomputed before each layer
} backward_lists;

static bool time_backward(builder *b, backward_lists *lists)
{
    const memory_settings *s = &b->settings->memory;
    const uint64_t passes = b->settings->micro_batches, layers = passes * s->layers_here;
    if (s->has_head) kernels_head_backward(b->model, &s->kernels, b->a, &lists->head.kernels);
    kernels_layer_recompute(b->model, &s->kernels, s->recompute, b->a, &lists->again.kernels);
    kernels_layer_backward(b->model, &s->kernels, b->a, &lists->layer.kernels);
    if (s->has_embedding) kernels_embedding_backward(b->model, &s->kernels, b->a, &lists->embedding.kernels);
    return time_list(b, &lists->head, passes) && time_list(b, &lists->again, layers) &&
           time_list(b, &lists->layer, layers) && time_list(b, &lists->embedding, passes);
}

static uint64_t bucket_capacity(const memory_settings *s)
{
    if (!s->bucket_bytes) return UINT64_MAX;
    const double elements = (double)s->bucket_bytes / s->gradient_bytes;
    return elements < 1.0 ? 1 : (uint64_t)elements;
}

static bool build_backward(builder *b, pass_costs *out)
{
    const memory_settings *s = &b->settings->memory;
    const part_elements elements = elements_of_parts(b->model, s);
    const uint32_t parts = s->layers_here + 2; // head, layers from the last, embedding
    backward_lists lists = { 0 };
    bucket_filler filler = { .capacity = bucket_capacity(s) };
    pass_clock clock = { .launch_ps = roofline_launch_ps(b->gpu) };
    if (!time_backward(b, &lists)) return false;
    out->pieces = arena_array(b->a, work, parts);
    for (uint32_t part = 0; part < parts; part++) {
        const bool first = part == 0, last = part == parts - 1;
        const timed_list *list = first ? &lists.head : last ? &lists.embedding : &lists.layer;
        const uint64_t filled = first ? elements.head : last ? elements.embedding : elements.layer;
        work *piece = &out->pieces[out->piece_count];
        if (!first && !last && !play(b, &clock, &lists.again, true, piece)) return false;
        if (!play(b, &clock, list, false, piece)) return false;
        if (bucket_fill(b, &filler, filled, last, out->piece_count)) out->piece_count++;
    }
    for (uint32_t i = 0; i < out->piece_count; i++)
        work_add(&out->backward, &out->pieces[i]);
    out->buckets = filler.buckets.items;
    out->bucket_count = filler.buckets.count;
    return true;
}

static bool build_optimizer(builder *b, pass_costs *out)
{
    const memory_settings *s = &b->settings->memory;
    const uint64_t here = memory_parameters_here(b->model, s);
    const uint32_t shares = s->sharding == SHARDING_NONE ? 1 : s->data;
    timed_list list = { 0 };
    const uint64_t share = (here + shares - 1) / shares;
    if (s->optimizer == OPTIMIZER_ADAM)
        kernels_optimizer(share, s->gradient_bytes, s->parameter_bytes, b->a, &list.kernels);
    else
        kernels_optimizer_sgd(share, s->gradient_bytes, s->parameter_bytes, b->a, &list.kernels);
    if (!time_list(b, &list, 1)) return false;
    pass_clock clock = { .launch_ps = roofline_launch_ps(b->gpu) };
    return play(b, &clock, &list, false, &out->optimizer);
}

bool pass_build(arena *a, const llm_def *m, const roofline *gpu, const pass_settings *settings,
                pass_costs *out, sim_error *error)
{
    builder b = { .a = a, .model = m, .gpu = gpu, .settings = settings, .error = error };
    *out = (pass_costs){ .clock_ratio = settings->clock_ratio, .memory_ratio = settings->memory_ratio };
    if (!build_forward(&b, out) || !build_backward(&b, out) || !build_optimizer(&b, out)) return false;
    out->kernels = b.uses.items;
    out->kernel_count = b.uses.count;
    return true;
}
