// SPDX-License-Identifier: GPL-3.0-or-later
// Holds the parts of a scenario against each other: sizes that must multiply, divide or fit, and what this version does not
// model. Whether the memory fits is a question with an answer, not a mistake: models/training/memory_need.h, asked by run.
#include "models/scenario_check.h"
#include "models/collective/collective.h"
#include "models/collective/tuner.h"
#include "sim/check.h"
#include <inttypes.h>
#include <math.h>

// A GPU's best known format for training; its data sheet names one of them, or it has no matrix units at all.
static const char *trainable_format(const gpu_def *gpu)
{
    static const dtype formats[] = { DTYPE_BF16, DTYPE_FP16, DTYPE_TF32, DTYPE_FP32 };
    for (size_t i = 0; i < ARRAY_COUNT(formats); i++)
        if (gpu->peak_flops[formats[i]] > 0.0) return dtype_words[formats[i]];
    return NULL;
}

static bool check_formats(const scenario *s, sim_error *error)
{
    const char *trainable = trainable_format(&s->cluster.node.gpu);
    const training_def *t = &s->training;
    const dtype precision = (dtype)t->precision;
    if (precision == DTYPE_FP8 || precision == DTYPE_FP4)
        return REFUSE(t->precision, "%s is not modelled in this version", dtype_words[precision]) ||
               (trainable && sim_hint(error, "precision: %s", trainable));
    const gpu_def *gpu = &s->cluster.node.gpu;
    if (!(gpu->peak_flops[precision] > 0.0))
        return REFUSE(t->precision, "GPU \"%s\" has no %s matrix units", s->cluster.node.gpu.name,
                      dtype_words[precision]) ||
               (trainable && sim_hint(error, "precision: %s", trainable));
    if (!kernel_set_products(&gpu->kernels, precision))
        return REFUSE(t->precision, "kernel set \"%s\" of GPU \"%s\" has no products of %s",
                      gpu->kernels.name, gpu->name, dtype_words[precision]);
    if (t->gradient_dtype != DTYPE_FP32 && t->gradient_dtype != DTYPE_BF16 && t->gradient_dtype != DTYPE_FP16)
        return REFUSE(t->gradient_dtype, "gradients are not kept in %s", dtype_words[t->gradient_dtype]) ||
               sim_hint(error, "gradient_dtype: fp32, bf16 or fp16");
    if (!t->has_reduce_dtype) return true;
    if (t->reduce_dtype == DTYPE_FP8 || t->reduce_dtype == DTYPE_FP4)
        return REFUSE(t->reduce_dtype,
                      "a sum in %s needs scales that all replicas agree on, which are not modelled",
                      dtype_words[t->reduce_dtype]) ||
               sim_hint(error,
                        "reduce_dtype: bf16, or plan.gradient_compression: { method: quantize, bits: "
                        "%d }, which sums in fp32",
                        t->reduce_dtype == DTYPE_FP8 ? 8 : 4);
    if (t->reduce_dtype != DTYPE_FP32 && t->reduce_dtype != DTYPE_BF16 && t->reduce_dtype != DTYPE_FP16)
        return REFUSE(t->reduce_dtype, "gradients are not reduced in %s", dtype_words[t->reduce_dtype]) ||
               sim_hint(error, "reduce_dtype: fp32, bf16 or fp16");
    return true;
}

bool scenario_hint_batches(const scenario *s, uint64_t at_once, sim_error *error)
{
    const uint64_t greatest = 1000000000; // of training.global_batch
    const uint64_t batch = s->training.global_batch, nearest = (batch + at_once / 2) / at_once;
    const uint64_t most = greatest / at_once, times = nearest < most ? nearest : most;
    if (most) return sim_hint(error, "global_batch: %" PRIu64, (times ? times : 1) * at_once);
    return sim_hint(error, "micro_batch: 1");
}

static bool check_training(scenario *s, sim_error *error)
{
    training_def *t = &s->training;
    if (!t->sequence_length) t->sequence_length = s->model.max_sequence;
    if (!t->has_reduce_dtype) t->reduce_dtype = t->gradient_dtype;
    if (!t->has_fused_gradient_accumulation) t->fused_gradient_accumulation = t->fused_kernels;
    if (s->model.position == POSITION_LEARNED && t->sequence_length > s->model.max_sequence)
        return REFUSE(t->sequence_length, "%s has learned positions for %" PRIu64 " tokens, not %" PRIu64,
                      s->model.name, s->model.max_sequence, t->sequence_length) ||
               sim_hint(error, "sequence_length: %" PRIu64, s->model.max_sequence);
    const uint64_t at_once = s->plan.data * t->micro_batch;
    if (t->global_batch % at_once) {
        REFUSE(t->global_batch,
               "global_batch %" PRIu64 " is not a multiple of data %u x micro_batch %" PRIu64 " = %" PRIu64,
               t->global_batch, s->plan.data, t->micro_batch, at_once);
        return scenario_hint_batches(s, at_once, error);
    }
    if (t->global_batch / at_once > 1000000)
        return REFUSE(t->global_batch,
                      "%" PRIu64 " micro-batches per step are more than the 1,000,000 that are played",
                      t->global_batch / at_once) ||
               sim_hint(error, "global_batch: %" PRIu64, 1000000 * at_once);
    return check_formats(s, error) && scenario_check_attention(s, error);
}

// Of a GPU of the stage that has most.
static uint64_t most_parameters(const scenario *s)
{
    arena *a = bind_reader_arena(s->reader);
    const arena_mark_t mark = arena_mark(a);
    const stages_def layers = scenario_stages(s);
    const stage_table table = stages_build(a, &layers);
    uint64_t most = 0;
    for (uint32_t stage = 0; stage < table.stages; stage++) {
        const memory_settings settings = scenario_memory_settings(s, &table, stage);
        const uint64_t here = memory_parameters_here(&s->model, &settings);
        if (here > most) most = here;
    }
    arena_release(a, mark);
    return most;
}

// Gradients are reduced bucket by bucket; each is a collective of its own in every step.
static bool check_buckets(const scenario *s, sim_error *error)
{
    if (s->plan.data == 1) return true;
    const double element_bytes = dtype_bytes((dtype)s->training.gradient_dtype);
    const double elements = (double)most_parameters(s), most = 100000;
    const double bucket = floor((double)s->plan.bucket_bytes / element_bytes);
    if (elements <= most * bucket) return true;
    char bytes[32];
    units_format(UNIT_BYTES, (double)s->plan.bucket_bytes, bytes, sizeof(bytes));
    REFUSE(s->plan.bucket_bytes,
           "%.0f gradients in buckets of %s are more than the 100,000 collectives a step may have", elements,
           bytes);
    return sim_hint(error, "bucket: %.0f B", ceil(elements / most) * element_bytes);
}

static bool check_fold(const scenario *s, sim_error *error)
{
    if (s->run.fold != FOLD_EXACT) return true;
    return REFUSE(s->run.fold, "exact folding is not modelled in this version") ||
           sim_hint(error, "fold: node");
}

// Forced, the hardware of all nodes must be able to; whether a group or a kind can is seen when it comes to it.
static bool check_algorithm(const scenario *s, collective_algorithm algorithm, sim_error *error)
{
    const network_def *n = &s->network;
    const bool several = algorithm != ALGORITHM_NVLS;
    if (algorithm != ALGORITHM_NVLS && algorithm != ALGORITHM_NVLS_TREE &&
        algorithm != ALGORITHM_COLLNET_CHAIN && algorithm != ALGORITHM_COLLNET_DIRECT)
        return true;
    if (n->protocol != 0 && scenario_forced_protocol(s) != PROTOCOL_SIMPLE)
        return REFUSE(n->algorithm, "%s has no protocol \"%s\"", collective_algorithm_words[algorithm],
                      collective_protocol_words[scenario_forced_protocol(s)]) ||
               sim_hint(error, "protocol: simple, or algorithm: ring");
    for (uint32_t g = 0; g < s->cluster.group_count; g++) {
        const node_def *node = s->cluster.groups[g].node;
        const bool switched = node->scale_up.kind == SCALE_UP_NVSWITCH;
        const collective_layout layout = { .nodes = several ? 2 : 1,
                                           .ranks_per_node = 2,
                                           .nvswitch = switched,
                                           .nvls = switched,
                                           .sharp = s->cluster.fabric.sharp && node->nics > 0,
                                           .link = &node->scale_up.costs,
                                           .nic = &node->nic.costs };
        const char *lacks = node->gpus ? tuner_lacks(&n->collectives, &layout, algorithm) : NULL;
        if (lacks)
            return REFUSE(n->algorithm, "%s, and node \"%s\" has none", lacks, node->name) ||
                   sim_hint(error, "algorithm: ring");
    }
    return true;
}

// It has no connections: only what lowers the rate of a link.
static bool check_ideal(const scenario *s, sim_error *error)
{
    const cluster_def *c = &s->cluster;
    if (c->fabric.window_bytes > 0)
        return REFUSE(c->fabric.window_bytes, "on the ideal network no connection has a window") ||
               sim_hint(error, "engine: fluid");
    for (uint32_t i = 0; i < c->degraded.count; i++) {
        const degraded_entry *e = &c->degraded.items[i];
        if (e->has.loss)
            return REFUSE(e->loss, "on the ideal network no packet is lost") ||
                   sim_hint(error, "engine: fluid");
        if (e->has.bit_error_rate)
            return REFUSE(e->bit_error_rate, "on the ideal network no packet is damaged") ||
                   sim_hint(error, "engine: fluid");
    }
    return true;
}

static bool check_network(const scenario *s, sim_error *error)
{
    const network_def *n = &s->network;
    if (n->engine != ENGINE_IDEAL && n->engine != ENGINE_FLUID)
        return REFUSE(n->engine, "network engine \"%s\" is not modelled in this version",
                      network_engine_words[n->engine]) ||
               sim_hint(error, "engine: fluid");
    if (n->engine == ENGINE_IDEAL && n->completion_window > 0.0)
        return REFUSE(n->completion_window, "the ideal network has no completion windows") ||
               sim_hint(error, "engine: fluid");
    if (n->engine == ENGINE_IDEAL && n->bottleneck_count)
        return REFUSE(n->bottleneck_count, "the ideal network has no bottlenecks to count") ||
               sim_hint(error, "engine: fluid");
    if (n->engine == ENGINE_IDEAL && !check_ideal(s, error)) return false;
    const int forced = scenario_forced_algorithm(s);
    if (forced != ALGORITHM_AUTO && !check_algorithm(s, (collective_algorithm)forced, error)) return false;
    if (s->run.trace == TRACE_PACKETS)
        return REFUSE(s->run.trace, "trace level \"packets\" needs the packet engine, which is not modelled "
                                    "in this version") ||
               sim_hint(error, "trace: transfers");
    return true;
}

// As many sequences for each replica as 512 are for the eight of one usual node.
static uint64_t usual_batch(const scenario *s)
{
    const uint64_t gpus = scenario_gpus(s), taken = s->plan.data ? s->plan.data : s->plan.gpus;
    return 64 * (taken && taken < gpus ? taken : gpus);
}

static bool check_job_is_there(const scenario *s, sim_error *error)
{
    const sim_place *top = &s->document.root->place;
    const char *missing = !s->has_model ? "model" : !s->training.given ? "training" : NULL;
    if (!missing) return true;
    sim_fail(error, SIM_EXIT_INPUT, top, "the scenario has no \"%s:\", so there is nothing to train",
             missing);
    if (!s->has_model) return sim_hint(error, "model: llama3-8b");
    return sim_hint(error, "training: { global_batch: %" PRIu64 " }", usual_batch(s));
}

// What a definition can say, so that models can be listed and counted, but kernels and memory do not know yet.
static bool check_model(const scenario *s, sim_error *error)
{
    const void *field;
    size_t size;
    const char *what = llm_untrained(&s->model, &field, &size);
    return !what || sim_fail(error, SIM_EXIT_INPUT, bind_place_of_sized(s->reader, field, size),
                             "%s has %s, which is not modelled in this version", s->model.name, what);
}

bool scenario_check(scenario *s, bool job_wanted, sim_error *error)
{
    if (!cluster_check(&s->cluster, s->reader, error) || !check_network(s, error)) return false;
    const bool has_job = s->has_model || s->training.given || s->plan.given;
    if (!has_job && !job_wanted) return true;
    return check_job_is_there(s, error) && check_model(s, error) && scenario_check_sizes(s, error) &&
           check_training(s, error) && scenario_check_plan(s, error) &&
           scenario_check_kernel_times(s, error) && check_buckets(s, error) && check_fold(s, error);
}

void scenario_warnings(const scenario *s, arena *a, text_list *out)
{
    const training_def *t = &s->training;
    if (!s->has_model) return;
    if (t->sequence_length > s->model.max_sequence)
        *array_push(out, a) = arena_format(
            a, "sequence_length %" PRIu64 " is more than the %" PRIu64 " tokens that %s was made for",
            t->sequence_length, s->model.max_sequence, s->model.name);
    if (s->plan.recompute == RECOMPUTE_SELECTIVE && !attention_keeps_scores(t->attention))
        *array_push(out, a) = arena_format(a,
                                           "recompute: selective recomputes nothing beside attention: %s, "
                                           "which keeps nothing that could be",
                                           attention_words[t->attention]);
    scenario_warn_of_plan(s, a, out);
}
