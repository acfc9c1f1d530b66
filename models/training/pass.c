// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/training/pass.h"
#include "sim/check.h"

ARRAY_OF(kernel_use, kernel_use_array);
ARRAY_OF(gradient_bucket, gradient_bucket_array);
ARRAY_OF(work, work_array);
ARRAY_OF(tensor_call, tensor_call_array);
ARRAY_OF(pass_item, pass_item_array);
ARRAY_OF(gradient_tensor, gradient_tensor_array);

// A kernel list with its times, played once per layer (or once per pass).
typedef struct timed_list {
    kernel_array kernels;
    uint32_t *uses;
    bool codes; // gradients: its kernels are in a table of their own
} timed_list;

typedef struct builder {
    arena *a;
    const llm_def *model; // NULL for the optimizer
    const roofline *gpu;
    const pass_settings *settings;
    sim_error *error;
    kernel_use_array uses, coding_uses;
    work_array works;
    tensor_call_array calls;
} builder;

static bool same_shape(const kernel_shape *x, const kernel_shape *y)
{
    return strcmp(x->name, y->name) == 0 && x->class == y->class && x->type == y->type &&
           x->batch == y->batch && x->m == y->m && x->n == y->n && x->k == y->k && x->flop == y->flop &&
           x->bytes == y->bytes && x->launches == y->launches && x->program == y->program;
}

static void slow_down(const builder *b, kernel_use *use)
{
    const pass_settings *s = b->settings;
    for (uint32_t set = 1; set < BESIDE_SETS; set++) {
        gpu_taken taken = { 0 };
        for (uint32_t g = 0; g < BESIDE_GROUPS; g++) {
            if (!(set >> g & 1)) continue;
            taken.multiprocessors += s->beside[g].multiprocessors;
            taken.memory_Bps += s->beside[g].memory_Bps;
        }
        use->slowed_ps[set] = roofline_slowed_ps(b->gpu, &use->shape, &use->cost, s->clock_ratio,
                                                 s->memory_ratio, &taken);
    }
}

// A pass has some tens of distinct kernels, so a scan is the whole search.
static uint32_t use_of(const builder *b, kernel_use_array *uses, const kernel_shape *shape)
{
    for (uint32_t i = 0; i < uses->count; i++)
        if (same_shape(&uses->items[i].shape, shape)) return i;
    kernel_use *use = array_push(uses, b->a);
    use->shape = *shape;
    use->cost = roofline_cost(b->gpu, shape, b->settings->clock_ratio, b->settings->memory_ratio);
    slow_down(b, use);
    return uses->count - 1;
}

static kernel_use_array *uses_of(builder *b, const timed_list *list)
{
    return list->codes ? &b->coding_uses : &b->uses;
}

static uint32_t call_of(builder *b, const tensor_call *call)
{
    for (uint32_t i = 0; i < b->calls.count; i++) {
        const tensor_call *other = &b->calls.items[i];
        if (other->kind == call->kind && other->bytes == call->bytes && strcmp(other->name, call->name) == 0)
            return i;
    }
    *array_push(&b->calls, b->a) = *call;
    return b->calls.count - 1;
}

static bool time_list(builder *b, timed_list *list, uint64_t calls)
{
    const uint32_t count = list->kernels.count;
    list->uses = arena_array(b->a, uint32_t, count);
    for (uint32_t i = 0; i < count; i++) {
        kernel_use_array *uses = uses_of(b, list);
        const uint32_t index = use_of(b, uses, &list->kernels.items[i]); // may move the table
        kernel_use *use = &uses->items[index];
        list->uses[i] = index;
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

// A pass being written: its items so far, the work since the last of them, the launches of the host. The clock without
// anything to wait for only shows when the pass has become too long.
typedef struct writer {
    builder *b;
    const char *what;
    pass_item_array items;
    work work;
    bool works;      // work has a kernel
    bool is_waiting; // a collective has begun and not been joined
    sim_time launch_ps, free_ps;
    uint64_t launched;
} writer;

static writer writer_begin(builder *b, const char *what)
{
    return (writer){ .b = b, .what = what, .launch_ps = roofline_launch_ps(b->gpu) };
}

static void add_item(writer *w, pass_item_kind kind, uint32_t index)
{
    if (w->works) {
        *array_push(&w->items, w->b->a) = (pass_item){ .kind = ITEM_WORK, .index = w->b->works.count };
        *array_push(&w->b->works, w->b->a) = w->work;
    }
    w->work = (work){ 0 };
    w->works = false;
    if (kind != ITEM_WORK) *array_push(&w->items, w->b->a) = (pass_item){ .kind = kind, .index = index };
}

static pass_plan writer_end(writer *w)
{
    SIM_ASSERT(!w->is_waiting);
    add_item(w, ITEM_WORK, 0);
    return (pass_plan){ .items = w->items.items, .item_count = w->items.count };
}

static void join(writer *w)
{
    SIM_ASSERT(w->is_waiting);
    add_item(w, ITEM_JOIN, 0);
    w->is_waiting = false;
}

// Without overlap a collective is joined where it begins, and where the list waits for it nothing is left to do.
static void play_point(writer *w, const tensor_point *point)
{
    if (point->waits) {
        if (w->is_waiting) join(w);
        return;
    }
    SIM_ASSERT(!w->is_waiting);
    add_item(w, ITEM_TENSOR, call_of(w->b, &point->call));
    w->is_waiting = true;
    if (!w->b->settings->overlap_tensor) join(w);
}

static uint64_t spread(uint64_t total, uint32_t index, uint32_t count)
{
    return total * (index + 1) / count - total * index / count;
}

static const sim_time longest_pass_ps = 86400 * PS_PER_S;

// When the host has issued all calls until now. No later than twice the longest pass: that is refused all the same, and
// the clock cannot overflow.
static sim_time issued_ps(const writer *w)
{
    const unsigned __int128 time_ps = (unsigned __int128)w->launch_ps * (w->launched - 1);
    return time_ps < (unsigned __int128)(2 * longest_pass_ps) ? (sim_time)time_ps : 2 * longest_pass_ps;
}

static sim_time later_ps(sim_time x, sim_time y)
{
    return x > y ? x : y;
}

static void play_kernel(writer *w, const kernel_use *use, bool is_recompute)
{
    const kernel_shape *kernel = &use->shape;
    const sim_time time_ps = use->cost.time_ps;
    const sim_time issued = issued_ps(w);
    w->works = true;
    w->free_ps = later_ps(w->free_ps, issued) + time_ps;
    w->work.host_ps = later_ps(w->work.host_ps, issued) + time_ps;
    w->work.gpu_ps += time_ps;
    if (is_recompute) w->work.recompute_ps += time_ps;
    for (uint32_t set = 1; set < BESIDE_SETS; set++)
        w->work.slowed_ps[set] += use->slowed_ps[set];
    w->work.flop += kernel->flop;
    w->work.bytes += kernel->bytes;
    w->work.kernels += kernel->launches;
}

// False when the pass has become longer than any real one; its clock can go on for one more list without overflow.
static bool play(writer *w, const timed_list *list, bool is_recompute)
{
    const kernel_array *kernels = &list->kernels;
    uint32_t point = 0;
    for (uint32_t i = 0; i < kernels->count; i++) {
        for (; point < kernels->points.count && kernels->points.items[point].kernel == i; point++)
            play_point(w, &kernels->points.items[point]);
        // The list's other framework calls are spread evenly over its kernels. A kernel of several launches can end no
        // earlier than its last one.
        w->launched += kernels->items[i].launches + spread(kernels->host_calls, i, kernels->count);
        play_kernel(w, &uses_of(w->b, list)->items[list->uses[i]], is_recompute);
    }
    for (; point < kernels->points.count; point++)
        play_point(w, &kernels->points.items[point]);
    SIM_ASSERT(!w->is_waiting);
    if (w->free_ps <= longest_pass_ps) return true;
    return sim_fail(w->b->error, SIM_EXIT_INPUT, w->b->settings->where, "%s would take longer than a day",
                    w->what) ||
           sim_hint(w->b->error, "layers, micro-batch or the GPU's numbers are out of range");
}

// The kernels of a chunk. Each list is timed once and played for each of its layers in each pass.
typedef struct chunk_lists {
    timed_list embedding, layer, head;
    timed_list head_backward, again, layer_backward,
        embedding_backward; // again: computed again before a layer
} chunk_lists;

static bool time_chunk(builder *b, chunk_lists *lists)
{
    const memory_settings *s = &b->settings->memory;
    const kernel_settings *k = &s->kernels;
    if (s->has_embedding) kernels_embedding_forward(b->model, k, b->a, &lists->embedding.kernels);
    kernels_layer_forward(b->model, k, b->a, &lists->layer.kernels);
    if (s->has_head) kernels_head_forward(b->model, k, b->a, &lists->head.kernels);
    if (s->has_head) kernels_head_backward(b->model, k, b->a, &lists->head_backward.kernels);
    kernels_layer_recompute(b->model, k, s->recompute, b->a, &lists->again.kernels);
    kernels_layer_backward(b->model, k, b->a, &lists->layer_backward.kernels);
    if (s->has_embedding) kernels_embedding_backward(b->model, k, b->a, &lists->embedding_backward.kernels);
    return time_list(b, &lists->embedding, 1) && time_list(b, &lists->layer, s->layers_here) &&
           time_list(b, &lists->head, 1) && time_list(b, &lists->head_backward, 1) &&
           time_list(b, &lists->again, s->layers_here) &&
           time_list(b, &lists->layer_backward, s->layers_here) &&
           time_list(b, &lists->embedding_backward, 1);
}

// Parts of a chunk in the order of the backward pass: 0 the head, then layers from the last, the embedding.
static uint32_t part_count(const memory_settings *s)
{
    return s->layers_here + 2;
}

// Gradients fill buckets in the order in which the backward pass makes them. A bucket is complete with the part that holds
// its last element; that is also the first of its parts in the order of the forward pass, which needs it there.
typedef struct bucket_list {
    gradient_bucket_array buckets;
    uint32_t *ends;     // per part, how many buckets are complete behind it
    timed_list *coding; // by bucket x CODING_STEPS + step; NULL: none
} bucket_list;

static uint64_t bucket_capacity(const memory_settings *s)
{
    const double elements = (double)s->bucket_bytes / s->gradient_bytes;
    return elements < 1.0 ? 1 : (uint64_t)elements;
}

// A tied table has both its gradients only at the very end, where memory_parts_here() has it: with the embedding.
static void fill_buckets(builder *b, bucket_list *list)
{
    const memory_settings *s = &b->settings->memory;
    const memory_parts elements = memory_parts_here(b->model, s);
    const uint64_t capacity = bucket_capacity(s);
    const uint32_t parts = part_count(s);
    uint64_t filled = 0;
    list->ends = arena_array(b->a, uint32_t, parts);
    for (uint32_t part = 0; part < parts; part++) {
        const bool last = part == parts - 1;
        filled += part == 0 ? elements.head : last ? elements.embedding : elements.layer;
        for (; filled >= capacity; filled -= capacity)
            array_push(&list->buckets, b->a)->elements = capacity;
        if (last && filled) array_push(&list->buckets, b->a)->elements = filled;
        list->ends[part] = list->buckets.count;
    }
}

// ---- gradients in another form

static bool factors(const memory_settings *s)
{
    return s->coding.kind == CODING_POWERSGD;
}

static memory_part_kind part_kind(uint32_t part, uint32_t parts)
{
    return part == 0 ? PART_HEAD : part == parts - 1 ? PART_EMBEDDING : PART_LAYER;
}

// Each weight goes with the bucket that holds its last gradient; so weights and buckets are walked along together.
static void share_out_tensors(builder *b, bucket_list *list)
{
    const memory_settings *s = &b->settings->memory;
    const uint32_t parts = part_count(s);
    gradient_tensor_array all = { 0 };
    uint32_t *ends = arena_array(b->a, uint32_t, list->buckets.count); // by bucket, behind its last one
    uint64_t behind = 0, bucket_end = 0;
    uint32_t bucket = 0;
    if (list->buckets.count) bucket_end = list->buckets.items[0].elements;
    for (uint32_t part = 0; part < parts; part++) {
        gradient_tensor tensors[MEMORY_TENSORS_MAX];
        const uint32_t count = memory_tensors_here(b->model, s, part_kind(part, parts), tensors);
        for (uint32_t i = 0; i < count; i++) {
            behind += tensors[i].rows * tensors[i].columns;
            while (behind > bucket_end) {
                ends[bucket++] = all.count;
                bucket_end += list->buckets.items[bucket].elements;
            }
            *array_push(&all, b->a) = tensors[i];
        }
    }
    for (; bucket < list->buckets.count; bucket++)
        ends[bucket] = all.count;
    for (uint32_t i = 0; i < list->buckets.count; i++) {
        const uint32_t first = i ? ends[i - 1] : 0;
        list->buckets.items[i].tensors = all.items + first;
        list->buckets.items[i].tensor_count = ends[i] - first;
    }
}

static bool time_coding(builder *b, bucket_list *list)
{
    const memory_settings *s = &b->settings->memory;
    const uint32_t count = list->buckets.count;
    if (s->coding.kind == CODING_NONE) return true;
    if (factors(s)) share_out_tensors(b, list);
    list->coding = arena_array(b->a, timed_list, (size_t)count * CODING_STEPS);
    for (uint32_t i = 0; i < count * CODING_STEPS; i++) {
        timed_list *kernels = &list->coding[i];
        kernels->codes = true;
        coding_kernels(&s->coding, &list->buckets.items[i / CODING_STEPS], (coding_step)(i % CODING_STEPS),
                       b->a, &kernels->kernels);
        if (!time_list(b, kernels, 1)) return false;
    }
    return true;
}

static bool play_coding(writer *w, const timed_list *list)
{
    add_item(w, ITEM_WORK, 0);
    w->work.codes = true;
    const bool good = play(w, list, false);
    add_item(w, ITEM_WORK, 0);
    return good;
}

// Outside passes each step of a bucket is a piece of work by itself.
static bool write_coding(builder *b, const bucket_list *list, chunk_costs *out)
{
    if (!list->coding) return true;
    out->coding = arena_array(b->a, bucket_work, list->buckets.count);
    for (uint32_t i = 0; i < list->buckets.count * CODING_STEPS; i++) {
        uint32_t *index = &out->coding[i / CODING_STEPS].works[i % CODING_STEPS];
        writer w = writer_begin(b, "the coding of gradients");
        *index = list->coding[i].kernels.count ? b->works.count : NO_WORK;
        if (!play_coding(&w, &list->coding[i])) return false;
    }
    return true;
}

// ---- passes

// The forward pass; with buckets, needed before their part.
static bool write_forward(builder *b, const chunk_lists *lists, const bucket_list *buckets, pass_plan *out)
{
    const uint32_t parts = part_count(&b->settings->memory);
    writer w = writer_begin(b, "one pass of a micro-batch");
    for (uint32_t part = parts; part-- > 0;) {
        const uint32_t first = buckets && part ? buckets->ends[part - 1] : 0;
        for (uint32_t i = buckets ? buckets->ends[part] : 0; i-- > first;)
            add_item(&w, ITEM_BUCKET, i);
        if (!play(&w,
                  part == 0           ? &lists->head
                  : part == parts - 1 ? &lists->embedding
                                      : &lists->layer,
                  false))
            return false;
    }
    *out = writer_end(&w);
    return true;
}

// The backward pass; with buckets, complete behind their part, and encoded there.
static bool write_backward(builder *b, const chunk_lists *lists, const bucket_list *buckets, pass_plan *out)
{
    const uint32_t parts = part_count(&b->settings->memory);
    writer w = writer_begin(b, "one pass of a micro-batch");
    for (uint32_t part = 0, bucket = 0; part < parts; part++) {
        const bool first = part == 0, last = part == parts - 1;
        if (!first && !last && !play(&w, &lists->again, true)) return false;
        if (!play(&w,
                  first  ? &lists->head_backward
                  : last ? &lists->embedding_backward
                         : &lists->layer_backward,
                  false))
            return false;
        for (; buckets && bucket < buckets->ends[part]; bucket++) {
            if (buckets->coding && !play_coding(&w, &buckets->coding[bucket * CODING_STEPS])) return false;
            add_item(&w, ITEM_BUCKET, bucket);
        }
    }
    *out = writer_end(&w);
    return true;
}

static double flop_of(const builder *b, const pass_plan *p)
{
    double flop = 0;
    for (uint32_t i = 0; i < p->item_count; i++)
        if (p->items[i].kind == ITEM_WORK) flop += b->works.items[p->items[i].index].flop;
    return flop;
}

// Megatron-LM marks the same parameters "sequence_parallel" and adds their gradients up before the step.
static uint64_t norm_elements_of(const llm_def *m, const memory_settings *s)
{
    if (s->kernels.tensor == 1 || !s->kernels.sequence_parallel) return 0;
    const uint64_t layer = 2 * llm_norm_parameters(m) + llm_qk_norm_parameters(m) +
                           (m->bias ? 2 * m->hidden : 0);
    const uint64_t ends = (uint64_t)s->has_head + (s->has_embedding && m->embedding_norm);
    return s->layers_here * layer + ends * llm_norm_parameters(m);
}

static bool write_passes(builder *b, chunk_costs *out)
{
    chunk_lists lists = { 0 };
    bucket_list buckets = { 0 };
    if (!time_chunk(b, &lists) || !write_forward(b, &lists, NULL, &out->forward) ||
        !write_backward(b, &lists, NULL, &out->backward))
        return false;
    out->first_forward = out->forward;
    out->last_backward = out->backward;
    if (!b->settings->memory.bucket_bytes) return true;
    fill_buckets(b, &buckets);
    if (!time_coding(b, &buckets) || !write_coding(b, &buckets, out)) return false;
    out->buckets = buckets.buckets.items;
    out->bucket_count = buckets.buckets.count;
    return write_forward(b, &lists, &buckets, &out->first_forward) &&
           write_backward(b, &lists, &buckets, &out->last_backward);
}

bool pass_build(arena *a, const llm_def *m, const roofline *gpu, const pass_settings *settings,
                chunk_costs *out, sim_error *error)
{
    builder b = { .a = a, .model = m, .gpu = gpu, .settings = settings, .error = error };
    *out = (chunk_costs){ .clock_ratio = settings->clock_ratio, .memory_ratio = settings->memory_ratio };
    if (!write_passes(&b, out)) return false;
    out->norm_elements = norm_elements_of(m, &settings->memory);
    out->flop = flop_of(&b, &out->forward) + flop_of(&b, &out->backward);
    out->works = b.works.items;
    out->tensor_calls = b.calls.items;
    out->tensor_call_count = b.calls.count;
    out->kernels = b.uses.items;
    out->kernel_count = b.uses.count;
    out->coding_kernels = b.coding_uses.items;
    out->coding_kernel_count = b.coding_uses.count;
    return true;
}

bool pass_build_optimizer(arena *a, const roofline *gpu, const pass_settings *settings, uint64_t parameters,
                          optimizer_costs *out, sim_error *error)
{
    const memory_settings *s = &settings->memory;
    const uint32_t shares = s->sharding == SHARDING_NONE ? 1 : s->data;
    const uint64_t share = (parameters + shares - 1) / shares;
    builder b = { .a = a, .gpu = gpu, .settings = settings, .error = error };
    timed_list list = { 0 };
    *out = (optimizer_costs){ 0 };
    if (s->optimizer == OPTIMIZER_ADAM)
        kernels_optimizer(share, s->gradient_bytes, s->parameter_bytes, a, &list.kernels);
    else
        kernels_optimizer_sgd(share, s->gradient_bytes, s->parameter_bytes, a, &list.kernels);
    writer w = writer_begin(&b, "the optimizer's step");
    if (!time_list(&b, &list, 1) || !play(&w, &list, false)) return false;
    out->work = w.work;
    out->kernels = b.uses.items;
    out->kernel_count = b.uses.count;
    return true;
}

sim_time pass_length_ps(const chunk_costs *costs, const pass_plan *p,
                        sim_time (*time)(void *owner, const tensor_call *call), void *owner)
{
    sim_time now = 0, collective_end = 0;
    for (uint32_t i = 0; i < p->item_count; i++) {
        const pass_item *item = &p->items[i];
        switch ((pass_item_kind)item->kind) {
        case ITEM_WORK: {
            const work *done = &costs->works[item->index];
            now = later_ps(now + done->gpu_ps, done->host_ps);
            break;
        }
        case ITEM_TENSOR: collective_end = now + time(owner, &costs->tensor_calls[item->index]); break;
        case ITEM_JOIN: now = later_ps(now, collective_end); break;
        case ITEM_BUCKET: break;
        }
    }
    return now;
}
