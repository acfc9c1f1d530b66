// SPDX-License-Identifier: GPL-3.0-or-later
// windtunnel show kernels: what one GPU runs for a layer, kernel by kernel. It needs no scenario: a model and a GPU.
#include "models/hardware/roofline.h"
#include "models/part.h"
#include "models/training/kernels.h"
#include "sim/words.h"
#include "tools/show.h"
#include <inttypes.h>

typedef struct pair_of_parts {
    llm_def model;
    gpu_def gpu;
} pair_of_parts;

static const bind_row pair_binds[] = {
    BIND_PART(pair_of_parts, model, "model", "llms", llm_binds, BIND_REQUIRED),
    BIND_PART(pair_of_parts, gpu, "gpu", "gpus", gpu_binds, BIND_REQUIRED),
    BIND_END,
};

typedef struct shown {
    arena *a;
    pair_of_parts parts;
    kernel_settings settings;
    const roofline *gpu;
} shown;

// ---- reading

static bool read_parts(shown *k, const show_request *q, sim_error *error)
{
    catalogue parts;
    document doc;
    if (!catalogue_find(k->a, q->options->catalogue, &parts, error)) return false;
    const char *text = arena_format(k->a, "model: \"%s\"\ngpu: \"%s\"\n", q->ends[0], q->ends[1]);
    bind_reader *reader = bind_reader_create(k->a, part_read, &parts);
    return document_parse(k->a, "show kernels", text, strlen(text), NULL, &doc, error) &&
           bind_read(reader, pair_binds, doc.root, "", &k->parts, error) &&
           llm_complete(&k->parts.model, reader, error);
}

static bool check_tensor(const shown *k, sim_error *error)
{
    const llm_def *m = &k->parts.model;
    const uint32_t t = k->settings.tensor;
    if (m->heads % t == 0 && m->kv_heads % t == 0 && m->ffn % t == 0) return true;
    uint32_t less = t;
    while (m->heads % less || m->kv_heads % less || m->ffn % less)
        less--;
    sim_fail(error, SIM_EXIT_INPUT, NULL,
             "tensor %u does not divide the %u heads, %u key/value heads and %" PRIu64 " columns of %s", t,
             m->heads, m->kv_heads, m->ffn, m->name);
    return sim_hint(error, "--tensor %u", less);
}

static bool check_tokens(const shown *k, sim_error *error)
{
    const kernel_settings *s = &k->settings;
    const uint64_t tokens = s->micro_batch * s->sequence_length;
    if (!s->sequence_parallel || tokens % s->tensor == 0) return true;
    sim_fail(error, SIM_EXIT_INPUT, NULL,
             "--sequence-parallel: %" PRIu64 " tokens cannot be shared equally by %u GPUs", tokens,
             s->tensor);
    return sim_hint(error, "--micro-batch x --sequence must be a multiple of --tensor");
}

static bool check_kernels(const shown *k, sim_error *error)
{
    const gpu_def *gpu = &k->parts.gpu;
    const kernel_settings *s = &k->settings;
    if (!(gpu->peak_flops[s->precision] > 0.0) || !kernel_set_products(&gpu->kernels, s->precision))
        return sim_fail(error, SIM_EXIT_INPUT, NULL, "GPU \"%s\" has no products of %s", gpu->name,
                        dtype_words[s->precision]);
    if (s->attention == ATTENTION_UNFUSED ||
        kernel_set_can_train(&gpu->kernels, attention_program_of(s->attention)))
        return true;
    const char *known[PROGRAMS + 2];
    char list[200];
    uint32_t count = 0;
    for (int i = 0; attention_words[i]; i++)
        if (i == ATTENTION_UNFUSED || kernel_set_can_train(&gpu->kernels, attention_program_of(i)))
            known[count++] = attention_words[i];
    sim_fail(error, SIM_EXIT_INPUT, NULL, "kernel set \"%s\" has no rates of %s attention", gpu->kernels.name,
             attention_words[s->attention]);
    return sim_hint(error, "--attention: one of %s", words_list(list, sizeof list, known, count, count));
}

static bool prepare(shown *k, const show_request *q, sim_error *error)
{
    const kernel_options *o = q->kernels;
    uint64_t tensor = 1;
    k->a = q->arena;
    if (!read_parts(k, q, error)) return false;
    const gpu_def *gpu = &k->parts.gpu;
    k->settings = (kernel_settings){ .micro_batch = 1,
                                     .sequence_length = k->parts.model.max_sequence,
                                     .precision = gpu->peak_flops[DTYPE_BF16] > 0.0 ? DTYPE_BF16 : DTYPE_FP16,
                                     .gradient_type = DTYPE_FP32,
                                     .attention = o->attention,
                                     .sequence_parallel = o->sequence_parallel,
                                     .fused = !o->unfused };
    if (!command_read_count("--micro-batch", o->micro_batch, 1000000, &k->settings.micro_batch, error) ||
        !command_read_count("--sequence", o->sequence, 100000000, &k->settings.sequence_length, error) ||
        !command_read_count("--tensor", o->tensor, 1024, &tensor, error))
        return false;
    k->settings.tensor = (uint32_t)tensor;
    if (!check_tensor(k, error) || !check_kernels(k, error)) return false;
    if (!check_tokens(k, error)) return false;
    k->gpu = roofline_create(k->a, gpu);
    return true;
}

// ---- telling

const char *show_kernel_shape(arena *a, const kernel_shape *s)
{
    if (s->class == KERNEL_ELEMENTWISE) return output_count(a, s->m);
    const char *batch = s->batch > 1 ? arena_format(a, "%" PRIu64 " x ", s->batch) : "";
    return arena_format(a, "%s%" PRIu64 " x %" PRIu64 " x %" PRIu64, batch, s->m, s->n, s->k);
}

static void add_kernels(const shown *k, const kernel_array *kernels, table *t)
{
    for (uint32_t i = 0; i < kernels->count; i++) {
        const kernel_shape *s = &kernels->items[i];
        const kernel_cost cost = roofline_cost(k->gpu, s, 1.0, 1.0);
        table_cell(t, "%s", s->name);
        table_cell(t, "%s", show_kernel_shape(k->a, s));
        table_cell(t, "%s",
                   s->class == KERNEL_ELEMENTWISE ? "" : arena_format(k->a, "%#.4g", s->flop * 1e-12));
        table_cell(t, "%s", output_bytes(k->a, s->bytes));
        table_cell(t, "%s", output_number(k->a, UNIT_TIME, units_s_from_ps(cost.time_ps)));
        table_cell(t, "%s", kernel_bound_words[cost.bound]);
        table_cell(t, "%s", output_percent(k->a, cost.efficiency));
    }
}

static void print_kernels(const shown *k, const kernel_array *forward, const kernel_array *backward)
{
    static const table_column columns[] = {
        { "kernel", false },    { "shape (m x n x k, or elements)", true },
        { "TFLOP", true },      { "memory traffic", true },
        { "time", true },       { "bound by", false },
        { "efficiency", true },
    };
    table t = table_make(k->a, columns, ARRAY_COUNT(columns));
    add_kernels(k, forward, &t);
    for (size_t i = 0; i < ARRAY_COUNT(columns); i++) // between the passes
        table_cell(&t, "%s", "");
    add_kernels(k, backward, &t);
    table_print(&t, "", stdout);
    printf("efficiency: share of the data sheet's FLOP/s, or of its memory rate where that is what takes "
           "longer\n");
}

// Times of the classes of a list: what a layer is spent on.
typedef struct class_sums {
    sim_time product_ps, attention_ps, other_ps;
    double flop;
} class_sums;

static class_sums sums_of(const shown *k, const kernel_array *kernels)
{
    class_sums sums = { 0 };
    for (uint32_t i = 0; i < kernels->count; i++) {
        const kernel_shape *s = &kernels->items[i];
        const sim_time time_ps = roofline_cost(k->gpu, s, 1.0, 1.0).time_ps;
        if (s->class == KERNEL_MATMUL)
            sums.product_ps += time_ps;
        else if (s->class == KERNEL_ELEMENTWISE)
            sums.other_ps += time_ps;
        else
            sums.attention_ps += time_ps;
        if (s->class != KERNEL_ELEMENTWISE) sums.flop += s->flop;
    }
    return sums;
}

static void add_sums(const shown *k, const char *pass, const kernel_array *kernels, table *t)
{
    const class_sums s = sums_of(k, kernels);
    const double total_s = units_s_from_ps(s.product_ps + s.attention_ps + s.other_ps);
    table_cell(t, "%s", pass);
    table_cell(t, "%s", output_number(k->a, UNIT_TIME, total_s));
    table_cell(t, "%s", output_number(k->a, UNIT_TIME, units_s_from_ps(s.product_ps)));
    table_cell(t, "%s", output_number(k->a, UNIT_TIME, units_s_from_ps(s.attention_ps)));
    table_cell(t, "%s", output_number(k->a, UNIT_TIME, units_s_from_ps(s.other_ps)));
    table_cell(t, "%s", output_number(k->a, UNIT_FLOPS, s.flop / total_s));
    table_cell(t, "%s",
               output_percent(k->a, s.flop / total_s / k->parts.gpu.peak_flops[k->settings.precision]));
}

// Unfused attention is products and elementwise kernels, so its column says 0 s.
static void print_sums(const shown *k, const kernel_array *forward, const kernel_array *backward)
{
    static const table_column columns[] = { { "pass", false },       { "time", true },
                                            { "products", true },    { "attention", true },
                                            { "elementwise", true }, { "rate", true },
                                            { "of the peak", true } };
    table t = table_make(k->a, columns, ARRAY_COUNT(columns));
    add_sums(k, "forward", forward, &t);
    add_sums(k, "backward", backward, &t);
    table_print(&t, "", stdout);
}

static void print_text(const shown *k, const kernel_array *forward, const kernel_array *backward)
{
    const kernel_settings *s = &k->settings;
    const gpu_def *gpu = &k->parts.gpu;
    const char *attention = s->attention == ATTENTION_FLASH
                                ? arena_format(k->a, "flash (%s)",
                                               attention_program_words[gpu->kernels.flash])
                                : attention_words[s->attention];
    printf("a layer of %s on %s, kernel set %s: %" PRIu64 " x %" PRIu64
           " tokens, tensor %u, %s, %s attention\n\n",
           k->parts.model.name, gpu->name, gpu->kernels.name, s->micro_batch, s->sequence_length, s->tensor,
           dtype_words[s->precision], attention);
    print_kernels(k, forward, backward);
    printf("\n");
    print_sums(k, forward, backward);
}

static void kernels_json(json_writer *j, const shown *k, const char *key, const kernel_array *kernels)
{
    json_array(j, key);
    for (uint32_t i = 0; i < kernels->count; i++) {
        const kernel_shape *s = &kernels->items[i];
        const kernel_cost cost = roofline_cost(k->gpu, s, 1.0, 1.0);
        json_object(j, NULL);
        json_text(j, "name", s->name);
        json_text(j, "class", kernel_class_words[s->class]);
        json_count(j, "batch", s->batch);
        json_count(j, "m", s->m);
        json_count(j, "n", s->n);
        json_count(j, "k", s->k);
        json_number(j, "flop", s->flop);
        json_number(j, "bytes", s->bytes);
        json_count(j, "launches", s->launches);
        json_number(j, "time_s", units_s_from_ps(cost.time_ps));
        json_text(j, "bound", kernel_bound_words[cost.bound]);
        json_number(j, "efficiency", cost.efficiency);
        json_close(j);
    }
    json_close(j);
}

static void print_json(const shown *k, const kernel_array *forward, const kernel_array *backward)
{
    json_writer j = json_make(stdout);
    json_object(&j, NULL);
    json_text(&j, "model", k->parts.model.name);
    json_text(&j, "gpu", k->parts.gpu.name);
    json_text(&j, "kernels", k->parts.gpu.kernels.name);
    json_text(&j, "precision", dtype_words[k->settings.precision]);
    json_text(&j, "attention", attention_words[k->settings.attention]);
    json_count(&j, "micro_batch", k->settings.micro_batch);
    json_count(&j, "sequence_length", k->settings.sequence_length);
    json_count(&j, "tensor", k->settings.tensor);
    json_bool(&j, "sequence_parallel", k->settings.sequence_parallel);
    json_bool(&j, "fused", k->settings.fused);
    kernels_json(&j, k, "forward", forward);
    kernels_json(&j, k, "backward", backward);
    json_close(&j);
}

bool show_kernels(const show_request *q, sim_error *error)
{
    shown k = { 0 };
    kernel_array forward = { 0 }, backward = { 0 };
    if (!prepare(&k, q, error)) return false;
    kernels_layer_forward(&k.parts.model, &k.settings, k.a, &forward);
    kernels_layer_backward(&k.parts.model, &k.settings, k.a, &backward);
    if (q->options->json)
        print_json(&k, &forward, &backward);
    else
        print_text(&k, &forward, &backward);
    return true;
}
