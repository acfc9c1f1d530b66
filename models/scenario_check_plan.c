// SPDX-License-Identifier: GPL-3.0-or-later
// Holds a plan against the model, the batch and the cluster.
#include "models/scenario_check.h"
#include "sim/words.h"
#include <inttypes.h>

// ---- sizes

static bool check_tensor(const scenario *s, sim_error *error)
{
    const uint32_t t = s->plan.tensor;
    const llm_def *m = &s->model;
    const struct {
        uint64_t count;
        const char *what;
    } shared[] = { { m->heads, "attention heads" },
                   { m->kv_heads, "key/value heads" },
                   { m->ffn, "columns of the feed-forward layer" } };
    uint64_t common = 0;
    for (size_t i = 0; i < ARRAY_COUNT(shared); i++)
        common = parallel_common_divisor(common, shared[i].count);
    for (size_t i = 0; i < ARRAY_COUNT(shared); i++) {
        if (shared[i].count % t == 0) continue;
        REFUSE(s->plan.tensor, "tensor %u does not divide the %" PRIu64 " %s of %s", t, shared[i].count,
               shared[i].what, m->name);
        return sim_hint(error, "tensor: %" PRIu64, parallel_nearest_divisor(common, t));
    }
    return true;
}

// A job runs on GPUs of one kind in nodes with as many.
static bool check_kinds(const scenario *s, bool whole, sim_error *error)
{
    const cluster_def *c = &s->cluster;
    const uint64_t alike = cluster_gpus_alike(c);
    if (alike == 0)
        return REFUSE(c->fabric, "the cluster has no GPUs, so nothing trains on it") ||
               sim_hint(error, "node: dgx-h100");
    if (s->plan.gpus <= alike) return true;
    const node_def *other = cluster_node_of_gpu(c, alike);
    if (whole)
        REFUSE(c->list, "GPUs of several kinds in one job are not modelled in this version: %s, then %s",
               c->node.gpu.name, other->gpu.name);
    else
        REFUSE(s->plan.gpus,
               "%u GPUs are of several kinds, which one job cannot have in this version: %s, then %s",
               s->plan.gpus, c->node.gpu.name, other->gpu.name);
    return sim_hint(error, "plan.gpus: at most %" PRIu64, alike);
}

// ---- sizes whose product is not the number of GPUs

enum {
    SIZES_TENSOR,
    SIZES_DATA,
    SIZES_PIPELINE,
    SIZES
}; // in the order in which they are said to be at fault

static uint32_t *size_of(plan_def *p, int key)
{
    return key == SIZES_TENSOR ? &p->tensor : key == SIZES_DATA ? &p->data : &p->pipeline;
}

static const char *const size_words[SIZES] = { "tensor", "data", "pipeline" };

// The size to blame: the one set last on the command line, else that of the replicas, or without it the tensor-parallel one.
static int size_to_blame(const plan_def *p)
{
    for (int key = 0; key < SIZES; key++)
        if (p->last_set && strcmp(p->last_set, size_words[key]) == 0) return key;
    return p->data ? SIZES_DATA : SIZES_TENSOR;
}

static bool check_stages(scenario *s, sim_error *error);

// May a model be spread so? A hint that is refused next is none.
static bool suits(const scenario *s, const plan_def *p)
{
    scenario other = *s;
    sim_error refused = { 0 };
    other.plan = *p;
    return check_tensor(&other, &refused) && check_stages(&other, &refused);
}

// Another value of one size with which the product is right, the nearest. Without data the rest is data's.
static bool mend_size(const scenario *s, int key, uint32_t *value)
{
    plan_def p = s->plan;
    const uint32_t now = *size_of(&p, key);
    uint64_t others = 1;
    for (int other = 0; other < SIZES; other++)
        if (other != key && *size_of(&p, other)) others *= *size_of(&p, other);
    if (others > p.gpus || p.gpus % others) return false;
    const uint32_t rest = (uint32_t)(p.gpus / others);
    if (p.data || key == SIZES_DATA) {
        *value = *size_of(&p, key) = rest;
        return suits(s, &p);
    }
    uint32_t found = 0;
    for (uint32_t v = 1; v <= rest; v++) {
        const uint32_t distance = v > now ? v - now : now - v;
        if (rest % v || (found && distance >= (found > now ? found - now : now - found))) continue;
        *size_of(&p, key) = v;
        if (suits(s, &p)) found = v;
    }
    *value = found;
    return found > 0;
}

static const char *add_choice(arena *a, const char *list, const char *choice)
{
    return *list ? arena_format(a, "%s, or %s", list, choice) : choice;
}

// Fewer GPUs, as many as the sizes make, or as many as more replicas of the same sizes can fill.
static const char *mend_gpus(const scenario *s, arena *a, uint64_t all, const char *list)
{
    const plan_def *p = &s->plan;
    const uint64_t replica = (uint64_t)p->tensor * p->pipeline;
    if (replica > all || !suits(s, p)) return list;
    const uint64_t most = p->gpus / replica, data = p->data;
    if (!*list && most > 0 && most != data)
        list = data ? arena_format(a, "data: %" PRIu64 " with gpus: %" PRIu64, most, most * replica)
                    : arena_format(a, "gpus: %" PRIu64, most * replica);
    if (data == 0 || data > all / replica) return list;
    return add_choice(a, list, arena_format(a, "gpus: %" PRIu64, data * replica));
}

static bool refuse_product(const scenario *s, uint32_t all, sim_error *error)
{
    arena *a = bind_reader_arena(s->reader);
    plan_def p = s->plan;
    const int blamed = size_to_blame(&p);
    const sim_place *where = bind_place_of(s->reader, size_of((plan_def *)&s->plan, blamed));
    const unsigned __int128 product = (unsigned __int128)p.tensor * p.pipeline * (p.data ? p.data : 1);
    const uint64_t shown = product > UINT64_MAX ? UINT64_MAX : (uint64_t)product;
    const char *choices = "";
    if (p.data)
        sim_fail(error, SIM_EXIT_INPUT, where,
                 "tensor %u x pipeline %u x data %u = %" PRIu64 ", but the %s %u GPU%s", p.tensor, p.pipeline,
                 p.data, shown, p.gpus == all ? "cluster has" : "job takes", p.gpus, p.gpus == 1 ? "" : "s");
    else
        sim_fail(error, SIM_EXIT_INPUT, where,
                 "tensor %u x pipeline %u = %" PRIu64 " does not divide %u GPU%s", p.tensor, p.pipeline,
                 shown, p.gpus, p.gpus == 1 ? "" : "s");
    const int order[] = { blamed, SIZES_DATA, SIZES_PIPELINE, SIZES_TENSOR };
    for (uint32_t i = 0; i < ARRAY_COUNT(order) && !*choices; i++) {
        uint32_t value;
        if (mend_size(s, order[i], &value)) choices = arena_format(a, "%s: %u", size_words[order[i]], value);
    }
    choices = mend_gpus(s, a, cluster_gpus_alike(&s->cluster), choices);
    if (*choices) return sim_hint(error, "%s", choices);
    return sim_hint(error,
                    "a product of %u, with a tensor that divides the heads and a pipeline that splits "
                    "the layers",
                    p.gpus);
}

static bool complete_sizes(scenario *s, sim_error *error)
{
    plan_def *p = &s->plan;
    const uint32_t all = scenario_gpus(s);
    if (p->gpus > all)
        return REFUSE(p->gpus, "the job wants %u GPUs, but the cluster has %u", p->gpus, all) ||
               sim_hint(error, "gpus: %u", all);
    const bool whole = p->gpus == 0;
    if (whole) p->gpus = all;
    if (!check_kinds(s, whole, error)) return false;
    const uint64_t model_parallel = (uint64_t)p->tensor * p->pipeline;
    if (!p->data && p->gpus % model_parallel == 0) p->data = (uint32_t)(p->gpus / model_parallel);
    if (p->data && (unsigned __int128)model_parallel * p->data == p->gpus) return true;
    return refuse_product(s, all, error);
}

static bool check_order(scenario *s, sim_error *error)
{
    static const char *const orders[] = { "tp-dp-pp", "tp-pp-dp", "dp-tp-pp",
                                          "dp-pp-tp", "pp-tp-dp", "pp-dp-tp" };
    plan_def *p = &s->plan;
    char shown[WORDS_SHOWN_SIZE];
    if (parallel_order_read(p->rank_order, p->order)) return true;
    REFUSE(p->rank_order, "rank_order must be tp, dp and pp in some order, not \"%s\"",
           words_show(shown, p->rank_order));
    return words_hint(error, p->rank_order, orders, ARRAY_COUNT(orders), ARRAY_COUNT(orders), "orders");
}

bool scenario_check_sizes(scenario *s, sim_error *error)
{
    return check_tensor(s, error) && check_order(s, error) && complete_sizes(s, error);
}

// ---- the pipeline

static uint64_t at_once(const scenario *s)
{
    return (uint64_t)s->plan.data * s->training.micro_batch;
}

// The key that schedule_check_sizes() has something against.
static const sim_place *place_of_schedule(const scenario *s, const schedule_def *d)
{
    const bind_reader *r = s->reader;
    const bool interleaved = d->kind == SCHEDULE_INTERLEAVED_1F1B;
    if (interleaved && (d->stages == 1 || d->chunks == 1)) return bind_place_of(r, &s->plan.schedule);
    if (d->stages > SCHEDULE_STAGES_MAX) return bind_place_of(r, &s->plan.pipeline);
    if (!interleaved || d->chunks > SCHEDULE_CHUNKS_MAX)
        if (d->chunks > 1) return bind_place_of(r, &s->plan.virtual_stages);
    return bind_place_of(r, &s->training.global_batch);
}

static bool check_schedule(const scenario *s, sim_error *error)
{
    const schedule_def d = scenario_schedule(s);
    if (schedule_check_sizes(&d, place_of_schedule(s, &d), error)) return true;
    const bool interleaved = d.kind == SCHEDULE_INTERLEAVED_1F1B;
    if (interleaved && d.stages == 1) return sim_hint(error, "schedule: 1f1b, or pipeline: 2");
    if (interleaved && d.chunks > 1 && d.chunks <= SCHEDULE_CHUNKS_MAX && d.micro_batches % d.stages)
        return scenario_hint_batches(s, at_once(s) * d.stages, error);
    return false;
}

static bool check_stages(scenario *s, sim_error *error)
{
    plan_def *p = &s->plan;
    if (p->has.layers && p->has.layer_split)
        return REFUSE(p->layers, "the layers are split twice: by layer_split and by layers") ||
               sim_hint(error, "leave one of them out");
    uint32_t *layers = arena_array(bind_reader_arena(s->reader), uint32_t, p->layers.count);
    for (uint32_t i = 0; i < p->layers.count; i++)
        layers[i] = (uint32_t)p->layers.items[i];
    p->virtual_layers = layers;
    const stages_def d = scenario_stages(s);
    const bind_reader *r = s->reader;
    return stages_check(&d,
                        d.split == SPLIT_LIST ? bind_place_of(r, &p->layers)
                        : d.chunks > 1        ? bind_place_of(r, &p->virtual_stages)
                                              : bind_place_of(r, &p->pipeline),
                        error);
}

// ---- what asks for something else

static bool check_owners(const scenario *s, sim_error *error)
{
    const plan_def *p = &s->plan;
    if (!p->owners_broadcast) return true;
    if (p->sharding != SHARDING_ZERO_1)
        return REFUSE(p->owners_broadcast, "owners_broadcast is about the shares of zero-1") ||
               sim_hint(error, "sharding: zero-1");
    if (!p->overlap_parameters) return true;
    REFUSE(p->overlap_parameters, "broadcasts of owners end the step they belong to");
    return sim_hint(error, "overlap_parameters: false");
}

static bool check_user_buffers(const scenario *s, sim_error *error)
{
    const plan_def *p = &s->plan;
    if (!p->user_buffers || (p->sequence_parallel && p->overlap_tensor)) return true;
    REFUSE(p->user_buffers, "user_buffers are about the collectives of sequence_parallel, beside products");
    return sim_hint(error, "%s", p->sequence_parallel ? "overlap_tensor: true" : "sequence_parallel: true");
}

static bool check_sequence_parallel(const scenario *s, sim_error *error)
{
    const plan_def *p = &s->plan;
    const training_def *t = &s->training;
    if (!p->sequence_parallel) return true;
    if (p->tensor == 1)
        return REFUSE(p->sequence_parallel, "sequence_parallel needs a tensor-parallel group") ||
               sim_hint(error, "sequence_parallel: false, or tensor: 2");
    const uint64_t tokens = t->micro_batch * t->sequence_length;
    if (tokens % p->tensor == 0) return true;
    REFUSE(p->sequence_parallel,
           "sequence_parallel shares out the %" PRIu64 " tokens of a micro-batch, which tensor %u does not "
           "divide",
           tokens, p->tensor);
    const uint64_t step = p->tensor / parallel_common_divisor(p->tensor, t->micro_batch);
    const uint64_t times = (t->sequence_length + step / 2) / step;
    return sim_hint(error, "sequence_length: %" PRIu64, (times ? times : 1) * step);
}

static bool check_sharding(const scenario *s, sim_error *error)
{
    const plan_def *p = &s->plan;
    if (p->sharding > SHARDING_ZERO_1)
        return REFUSE(p->sharding, "this sharding is not modelled in this version") ||
               sim_hint(error, "sharding: zero-1");
    if (p->overlap_parameters && p->sharding == SHARDING_NONE)
        return REFUSE(p->overlap_parameters, "overlap_parameters needs parameters that are gathered") ||
               sim_hint(error, "overlap_parameters: false, or sharding: zero-1");
    return true;
}

// What its method has no use for is refused; what is left out gets its default.
static bool complete_compression(scenario *s, sim_error *error)
{
    compression_def *c = &s->plan.compression;
    const struct {
        const void *field;
        size_t size;
        bool *has;
        const char *key;
        int method;
    } keys[] = {
        { &c->rank, sizeof c->rank, &c->has.rank, "rank", COMPRESSION_POWERSGD },
        { &c->ratio, sizeof c->ratio, &c->has.ratio, "ratio", COMPRESSION_TOP_K },
        { &c->bits, sizeof c->bits, &c->has.bits, "bits", COMPRESSION_QUANTIZE },
        { &c->block, sizeof c->block, &c->has.block, "block", COMPRESSION_QUANTIZE },
    };
    for (size_t i = 0; i < ARRAY_COUNT(keys); i++) {
        if (*keys[i].has && keys[i].method != c->method)
            return sim_fail(error, SIM_EXIT_INPUT,
                            bind_place_of_sized(s->reader, keys[i].field, keys[i].size),
                            "%s is of method %s, not of %s", keys[i].key, compression_words[keys[i].method],
                            compression_words[c->method]) ||
                   sim_hint(error, "leave it out, or method: %s", compression_words[keys[i].method]);
    }
    if (c->method == COMPRESSION_POWERSGD && !c->has.rank) c->rank = 4;
    if (c->method == COMPRESSION_TOP_K && !c->has.ratio) c->ratio = 0.01;
    if (c->method == COMPRESSION_QUANTIZE && !c->has.bits) c->bits = 8;
    if (c->method == COMPRESSION_QUANTIZE && !c->has.block) c->block = 2048;
    for (size_t i = 0; i < ARRAY_COUNT(keys); i++)
        *keys[i].has = keys[i].method == c->method;
    return true;
}

static bool check_compression(scenario *s, sim_error *error)
{
    const plan_def *p = &s->plan;
    const compression_def *c = &p->compression;
    if (!c->given) return true;
    if (!complete_compression(s, error)) return false;
    if (p->data == 1)
        return REFUSE(p->compression,
                      "gradient_compression needs replicas: data is 1, so nothing is reduced") ||
               sim_hint(error, "leave it out, or data: 2");
    if (s->training.has_reduce_dtype && s->training.reduce_dtype != s->training.gradient_dtype)
        return REFUSE(s->training.reduce_dtype,
                      "compressed gradients have a form of their own, so that none is "
                      "cast to %s for its reduction",
                      dtype_words[s->training.reduce_dtype]) ||
               sim_hint(error, "leave reduce_dtype or plan.gradient_compression out");
    if (p->sharding != SHARDING_NONE && c->method != COMPRESSION_QUANTIZE)
        return REFUSE(
                   p->compression.method,
                   "%s sums whole gradients on every replica, which zero-1 does not; together they are not "
                   "modelled",
                   compression_words[c->method]) ||
               sim_hint(error, "method: quantize, or sharding: none");
    return true;
}

static bool check_placement(const scenario *s, sim_error *error)
{
    const plan_def *p = &s->plan;
    if (p->has.placement && p->has.ranks)
        return REFUSE(p->placement, "the ranks are placed twice: by placement and rank by rank") ||
               sim_hint(error, "leave one of them out");
    arena *scratch = bind_reader_arena(s->reader);
    const placement_def d = scenario_placement(s, scratch);
    return placement_check(&d, scratch, s->reader, error);
}

bool scenario_check_plan(scenario *s, sim_error *error)
{
    return check_schedule(s, error) && check_stages(s, error) && check_sequence_parallel(s, error) &&
           check_user_buffers(s, error) && check_owners(s, error) && check_sharding(s, error) &&
           check_compression(s, error) && check_placement(s, error);
}

// ---- what may not be meant

static void warn_of_split(const scenario *s, arena *a, text_list *out)
{
    placement_split split;
    if (s->plan.tensor == 1) return;
    const placement_def d = scenario_placement(s, a);
    if (placement_keeps_tensor_groups(placement_build(a, &d), scenario_sizes(s), scenario_gpus_together(s),
                                      &split))
        return;
    *array_push(out, a) = arena_format(
        a,
        "tensor %u spans nodes: the group of rank %u begins on node %u and goes on on node %u, so "
        "each layer's collectives cross the network between them",
        s->plan.tensor, split.rank, d.nodes[split.gpu / d.gpus_per_node],
        d.nodes[split.other_gpu / d.gpus_per_node]);
}

// Keys that the plan has no use for; what a default says is not worth a word.
static void warn_of_idle_keys(const scenario *s, arena *a, text_list *out)
{
    const plan_def *p = &s->plan;
    const uint32_t gpus = s->cluster.node.gpus, nodes = (p->gpus + gpus - 1) / gpus;
    const bool staged = p->pipeline > 1, grouped = p->tensor > 1;
    const struct {
        bool idle;
        const char *text;
    } keys[] = {
        { !staged && p->schedule == SCHEDULE_GPIPE, "schedule: gpipe changes nothing with pipeline: 1" },
        { !staged && p->layer_split != SPLIT_EVEN, "layer_split changes nothing with pipeline: 1" },
        { !staged && p->has.layers, "layers changes nothing with pipeline: 1" },
        { !staged && !p->overlap_pipeline, "overlap_pipeline: false changes nothing with pipeline: 1" },
        { !grouped && !p->overlap_tensor, "overlap_tensor: false changes nothing with tensor: 1" },
        { !(grouped && staged) && !p->scatter_gather,
          "scatter_gather: false changes nothing unless tensor and pipeline are above 1" },
        { grouped && staged && p->sequence_parallel && !p->scatter_gather,
          "scatter_gather: false changes nothing with sequence_parallel, whose activations are shared out" },
        { p->data == 1 && p->overlap_parameters, "overlap_parameters changes nothing with data: 1" },
        { p->data == 1 && s->training.has_reduce_dtype &&
              s->training.reduce_dtype != s->training.gradient_dtype,
          "reduce_dtype changes nothing with data: 1" },
        { !scenario_orders_ranks(s) && !scenario_has_usual_order(s),
          "rank_order changes nothing unless two of tensor, data and pipeline are above 1" },
        { nodes == 1 && !p->has.ranks && p->placement == PLACEMENT_ROUND_ROBIN,
          "placement: round-robin changes nothing on one node" },
    };
    for (size_t i = 0; i < ARRAY_COUNT(keys); i++)
        if (keys[i].idle) *array_push(out, a) = keys[i].text;
}

// Steps may become faster than what they are worth.
static void warn_of_compression(const scenario *s, arena *a, text_list *out)
{
    const compression_def *c = &s->plan.compression;
    if (!c->given) return;
    *array_push(out,
                a) = arena_format(a,
                                  "gradient_compression: %s changes what is learned in a step; its effect "
                                  "on convergence is not modelled",
                                  compression_words[c->method]);
}

void scenario_warn_of_plan(const scenario *s, arena *a, text_list *out)
{
    warn_of_compression(s, a, out);
    warn_of_split(s, a, out);
    warn_of_idle_keys(s, a, out);
}
