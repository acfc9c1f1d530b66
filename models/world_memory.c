// SPDX-License-Identifier: GPL-3.0-or-later
// Does the job fit into the memory of its GPUs, and if not, what is the least change with which it would?
#include "models/training/in_flight.h"
#include "models/world.h"
#include "sim/check.h"
#include <inttypes.h>

// ---- the need

static memory_need need_of_stage(const scenario *s, const stage_table *t, const schedule *order,
                                 uint32_t stage)
{
    memory_settings settings = scenario_memory_settings(s, t, stage);
    settings.in_flight = in_flight_of(order, t, stage, s->plan.overlap_pipeline);
    return memory_need_of(&s->model, &settings);
}

stage_memory world_memory(arena *a, const scenario *s)
{
    const stages_def layers = scenario_stages(s);
    const schedule_def passes = scenario_schedule(s);
    stage_memory m = { .of_stage = arena_array(a, memory_need, layers.stages), .stages = layers.stages };
    const arena_mark_t mark = arena_mark(a);
    const stage_table table = stages_build(a, &layers);
    const schedule order = schedule_build(a, &passes);
    for (uint32_t stage = 0; stage < m.stages; stage++) {
        m.of_stage[stage] = need_of_stage(s, &table, &order, stage);
        if (m.of_stage[stage].total_bytes > world_fullest(&m)->total_bytes) m.fullest = stage;
    }
    arena_release(a, mark);
    return m;
}

// ---- remedies

typedef enum remedy {
    REMEDY_ZERO_1,
    REMEDY_SELECTIVE,
    REMEDY_FULL,
    REMEDY_MICRO_BATCH,
    REMEDY_GRADIENTS,
    REMEDY_TENSOR,
    REMEDY_PIPELINE,
    REMEDIES
} remedy;

// What may be changed, in the order in which changes are tried, and what fits.
typedef struct search {
    arena *a;
    const scenario *scenario;
    bool taken[REMEDIES];
    scenario changed; // with those that are taken
} search;

static uint64_t need_bytes(const search *h, const scenario *s)
{
    const arena_mark_t mark = arena_mark(h->a);
    const stage_memory m = world_memory(h->a, s);
    const uint64_t bytes = world_fullest(&m)->total_bytes;
    arena_release(h->a, mark);
    return bytes;
}

static bool fits(const search *h, const scenario *s)
{
    return need_bytes(h, s) <= s->cluster.node.gpu.memory_bytes;
}

// A remedy that is refused elsewhere is none.
static bool is_sound(const scenario *s)
{
    arena *a = bind_reader_arena(s->reader); // where the check writes what follows from the plan
    const arena_mark_t mark = arena_mark(a);
    scenario copy = *s;
    sim_error error = { 0 };
    const bool sound = scenario_check(&copy, true, &error);
    arena_release(a, mark);
    return sound;
}

// The largest that the replica's batch is a multiple of and that fits, else 1; below: what is there now.
static uint64_t largest_micro_batch(const search *h, scenario s, uint64_t below)
{
    const uint64_t batch = s.training.global_batch / s.plan.data;
    for (uint64_t size = below - 1; size > 1; size--) {
        s.training.micro_batch = size;
        if (batch % size == 0 && is_sound(&s) && fits(h, &s)) return size;
    }
    return 1;
}

// Tensor-parallel groups or pipelines of several times the size, out of as many replicas: the smallest that fit, else the
// largest. Tensor-parallel groups need no fabric.
static bool divide_more(const search *h, uint32_t *size, uint32_t most, scenario *s)
{
    const uint32_t now = *size, data = s->plan.data;
    scenario largest = *s;
    for (uint32_t times = 2; times <= data && (uint64_t)now * times <= most; times++) {
        if (data % times) continue;
        *size = now * times;
        s->plan.data = data / times;
        if (!is_sound(s)) continue;
        if (fits(h, s)) return true;
        largest = *s;
    }
    *s = largest;
    return *size > now;
}

// Changes a scenario by a remedy; false when it is so already, or cannot be.
static bool change(const search *h, remedy r, scenario *s)
{
    switch (r) {
    case REMEDY_ZERO_1:
        if (s->plan.sharding != SHARDING_NONE || s->plan.data == 1) return false;
        s->plan.sharding = SHARDING_ZERO_1;
        return true;
    case REMEDY_SELECTIVE:
        if (s->plan.recompute != RECOMPUTE_NONE) return false;
        s->plan.recompute = RECOMPUTE_SELECTIVE;
        return true;
    case REMEDY_FULL:
        if (s->plan.recompute == RECOMPUTE_FULL) return false;
        s->plan.recompute = RECOMPUTE_FULL;
        return true;
    case REMEDY_MICRO_BATCH:
        if (s->training.micro_batch == 1) return false;
        s->training.micro_batch = largest_micro_batch(h, *s, s->training.micro_batch);
        return true;
    case REMEDY_GRADIENTS:
        if (dtype_bytes((dtype)s->training.gradient_dtype) <= dtype_bytes(DTYPE_BF16)) return false;
        s->training.gradient_dtype = DTYPE_BF16;
        return true;
    case REMEDY_TENSOR: return divide_more(h, &s->plan.tensor, scenario_gpus_together(s), s);
    case REMEDY_PIPELINE: return divide_more(h, &s->plan.pipeline, s->model.layers, s);
    case REMEDIES: break;
    }
    SIM_ASSERT(false);
    return false;
}

static bool apply(const search *h, remedy r, scenario *s)
{
    return change(h, r, s) && is_sound(s);
}

// "plan.sharding: zero-1, training.micro_batch: 4"
static const char *describe(const search *h)
{
    static const char *const words[REMEDIES] = { [REMEDY_ZERO_1] = "plan.sharding: zero-1",
                                                 [REMEDY_SELECTIVE] = "plan.recompute: selective",
                                                 [REMEDY_FULL] = "plan.recompute: full",
                                                 [REMEDY_GRADIENTS] = "training.gradient_dtype: bf16" };
    const plan_def *p = &h->changed.plan;
    text_list parts = { 0 };
    for (remedy r = 0; r < REMEDIES; r++) {
        if (!h->taken[r]) continue;
        *array_push(&parts, h->a) = r == REMEDY_MICRO_BATCH
                                        ? arena_format(h->a, "training.micro_batch: %" PRIu64,
                                                       h->changed.training.micro_batch)
                                    : r == REMEDY_TENSOR ? arena_format(h->a, "plan.tensor: %u", p->tensor)
                                    : r == REMEDY_PIPELINE
                                        ? arena_format(h->a, "plan.pipeline: %u", p->pipeline)
                                        : words[r];
    }
    if (h->taken[REMEDY_TENSOR] || h->taken[REMEDY_PIPELINE])
        *array_push(&parts, h->a) = arena_format(h->a, "plan.data: %u", p->data);
    const char *text = "";
    for (uint32_t i = 0; i < parts.count; i++)
        text = arena_format(h->a, "%s%s%s", text, i ? ", " : "", parts.items[i]);
    return text;
}

// One change that suffices.
static bool take_one(search *h)
{
    for (remedy r = 0; r < REMEDIES; r++) {
        scenario one = *h->scenario;
        if (!apply(h, r, &one) || !fits(h, &one)) continue;
        h->changed = one;
        h->taken[r] = true;
        return true;
    }
    return false;
}

// Changes, each worth something, until they suffice together; then a micro-batch no smaller than it must be.
static bool take_several(search *h)
{
    const uint64_t micro_batch = h->changed.training.micro_batch;
    for (remedy r = 0; r < REMEDIES && !fits(h, &h->changed); r++) {
        scenario more = h->changed;
        if (r == REMEDY_SELECTIVE || !apply(h, r, &more)) continue;
        if (need_bytes(h, &more) >= need_bytes(h, &h->changed)) continue;
        h->changed = more;
        h->taken[r] = true;
    }
    if (!fits(h, &h->changed)) return false;
    if (h->taken[REMEDY_MICRO_BATCH])
        h->changed.training.micro_batch = largest_micro_batch(h, h->changed, micro_batch);
    return true;
}

static bool hint_remedy(arena *a, const scenario *s, sim_error *error)
{
    static const char needed[] = "a smaller model, shorter sequences or GPUs with more memory are needed";
    search h = { .a = a, .scenario = s, .changed = *s };
    const bool enough = take_one(&h) || take_several(&h);
    const char *list = describe(&h);
    char total[32];
    units_format_binary_bytes((double)need_bytes(&h, &h.changed), total, sizeof(total));
    if (enough) return sim_hint(error, "it fits with %s (%s)", list, total);
    return *list ? sim_hint(error, "with %s it is %s, still too much: %s", list, total, needed)
                 : sim_hint(error, "%s", needed);
}

bool world_check_memory(arena *a, const scenario *s, stage_memory *out, sim_error *error)
{
    const gpu_def *gpu = &s->cluster.node.gpu;
    *out = world_memory(a, s);
    if (world_fullest(out)->total_bytes <= gpu->memory_bytes) return true;
    char total[32], have[32];
    units_format_binary_bytes((double)world_fullest(out)->total_bytes, total, sizeof(total));
    units_format_binary_bytes((double)gpu->memory_bytes, have, sizeof(have));
    const char *which = out->stages > 1 ? arena_format(a, " of stage %u of %u", out->fullest, out->stages)
                                        : "";
    sim_fail(error, SIM_EXIT_NO, bind_place_of(s->reader, &s->plan),
             "the job does not fit: a GPU%s needs %s, %s has %s", which, total, gpu->name, have);
    return hint_remedy(a, s, error);
}
