// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/show_plan.h"

// ---- ranks, groups, stages

static void print_ranks(arena *a, const world *w)
{
    const uint32_t ranks = parallel_ranks(w->lanes.sizes);
    const char *fold = answer_fold(a, w);
    printf("%s rank%s, played as %s lane%s\n", output_count(a, ranks), ranks == 1 ? "" : "s",
           output_count(a, w->lanes.count), w->lanes.count == 1 ? "" : "s");
    if (*fold) printf("%s\n", fold);
}

static void print_groups(arena *a, const plan_facts *f)
{
    static const table_column columns[] = {
        { "groups", false }, { "of GPUs", true },          { "rings", true },
        { "for", false },    { "the first: from", false }, { "to", false }
    };
    table t = table_make(a, columns, ARRAY_COUNT(columns));
    for (uint32_t i = 0; i < f->groups.count; i++) {
        const plan_group *g = &f->groups.items[i];
        table_cell(&t, "%s %s", output_count(a, g->count), g->label);
        table_cell(&t, "%s", output_count(a, g->members));
        table_cell(&t, "%s", output_count(a, g->rings));
        table_cell(&t, "%s", g->purpose);
        table_cell(&t, "%s", g->from);
        table_cell(&t, "%s", g->to);
    }
    if (!f->groups.count) return;
    printf("\n");
    table_print(&t, "", stdout);
}

static bool same_stage(const plan_stage *a, const plan_stage *b)
{
    if (plan_is_degraded(a) || plan_is_degraded(b)) return false;
    return a->layers == b->layers && a->has_embedding == b->has_embedding && a->has_head == b->has_head &&
           a->parameters == b->parameters && a->forward_s == b->forward_s && a->backward_s == b->backward_s;
}

static const char *range(arena *a, const char *least, const char *greatest)
{
    return strcmp(least, greatest) == 0 ? least : arena_format(a, "%s to %s", least, greatest);
}

static const char *stage_range(arena *a, uint32_t first, uint32_t last)
{
    return first == last ? arena_format(a, "%u", first) : arena_format(a, "%u-%u", first, last);
}

// Of equal stages, which differ only in what they keep.
static void stage_row(arena *a, const plan_facts *f, uint32_t first, uint32_t last, table *t)
{
    const plan_stage *s = &f->stages[first];
    const char *ends = s->has_embedding && s->has_head ? "both"
                       : s->has_embedding              ? "embedding"
                       : s->has_head                   ? "head"
                                                       : "";
    uint32_t least = s->in_flight, most = s->in_flight;
    uint64_t least_bytes = s->memory_bytes, most_bytes = s->memory_bytes;
    for (uint32_t i = first; i <= last; i++) {
        const plan_stage *x = &f->stages[i];
        if (x->in_flight < least) least = x->in_flight;
        if (x->in_flight > most) most = x->in_flight;
        if (x->memory_bytes < least_bytes) least_bytes = x->memory_bytes;
        if (x->memory_bytes > most_bytes) most_bytes = x->memory_bytes;
    }
    table_cell(t, "%s%s", stage_range(a, first, last), plan_is_degraded(s) ? " *" : "");
    table_cell(t, "%u", s->layers);
    table_cell(t, "%s", ends);
    table_cell(t, "%.2f bn", (double)s->parameters * 1e-9);
    table_cell(t, "%s", output_number(a, UNIT_TIME, s->forward_s));
    table_cell(t, "%s", output_number(a, UNIT_TIME, s->backward_s));
    table_cell(t, "%.4g", s->flop * 1e-12);
    table_cell(t, "%s", output_percent(a, plan_stage_s(s) / plan_stage_s(&f->stages[f->slowest])));
    table_cell(t, "%s", stage_range(a, least, most));
    table_cell(t, "%s", range(a, output_bytes(a, (double)least_bytes), output_bytes(a, (double)most_bytes)));
}

// What the stars stand for.
static void print_degraded(const plan_facts *f)
{
    for (uint32_t i = 0; i < f->world->stages.stages; i++) {
        const plan_stage *s = &f->stages[i];
        if (!plan_is_degraded(s)) continue;
        printf("* stage %u: %s is degraded:", i, s->gpu);
        if (s->clock_ratio != 1.0) printf(" clock %.4g", s->clock_ratio);
        if (s->memory_ratio != 1.0)
            printf("%s memory %.4g", s->clock_ratio != 1.0 ? "," : "", s->memory_ratio);
        printf("\n");
    }
}

static void print_stages(arena *a, const plan_facts *f)
{
    static const table_column columns[] = { { "stage", false },    { "layers", true },
                                            { "ends", false },     { "parameters", true },
                                            { "forward", true },   { "backward", true },
                                            { "TFLOP", true },     { "of slowest", true },
                                            { "in flight", true }, { "memory", true } };
    const uint32_t stages = f->world->stages.stages;
    table t = table_make(a, columns, ARRAY_COUNT(columns));
    if (stages == 1) {
        if (plan_is_degraded(&f->stages[0])) printf("\nof the slowest GPU\n");
        print_degraded(f);
        return;
    }
    for (uint32_t first = 0, end; first < stages; first = end) {
        for (end = first + 1; end < stages && same_stage(&f->stages[first], &f->stages[end]);)
            end++;
        stage_row(a, f, first, end - 1, &t);
    }
    printf(
        "\nthe slowest GPU of each stage; forward and backward of a micro-batch, tensor-parallel collectives "
        "among them;\nin flight: %s, at most\n",
        f->world->stages.chunks > 1 ? "forwards of chunks" : "micro-batches");
    table_print(&t, "", stdout);
    print_degraded(f);
    printf("\nstage %u%s\n", f->stage, f->stage == f->slowest ? ", the slowest" : "");
}

// ---- of one stage

static void print_passes(arena *a, const plan_facts *f)
{
    static const table_column columns[] = { { "pass", false },     { "time", true },
                                            { "recompute", true }, { "waiting for host", true },
                                            { "TFLOP", true },     { "memory traffic", true },
                                            { "launches", true } };
    table t = table_make(a, columns, ARRAY_COUNT(columns));
    for (uint32_t i = 0; i < ARRAY_COUNT(f->passes); i++) {
        const plan_pass *p = &f->passes[i];
        table_cell(&t, "%s", p->name);
        table_cell(&t, "%s", output_number(a, UNIT_TIME, p->time_s));
        table_cell(&t, "%s", output_number(a, UNIT_TIME, units_s_from_ps(p->work.recompute_ps)));
        table_cell(&t, "%s", output_number(a, UNIT_TIME, p->launch_s));
        table_cell(&t, "%.4g", p->work.flop * 1e-12);
        table_cell(&t, "%s", output_number(a, UNIT_BYTES, p->work.bytes));
        table_cell(&t, "%s", output_count(a, p->work.kernels));
    }
    printf("\n");
    table_print(&t, "", stdout);
}

static void print_ops(arena *a, const plan_facts *f)
{
    static const table_column columns[] = { { "operations of a step", false },
                                            { "stream", false },
                                            { "count", true },
                                            { "each alone", true },
                                            { "together", true },
                                            { "bytes", true } };
    table t = table_make(a, columns, ARRAY_COUNT(columns));
    for (uint32_t i = 0; i < f->ops.count; i++) {
        const plan_op *op = &f->ops.items[i];
        table_cell(&t, "%s", op->name);
        table_cell(&t, "%s", op_stream_words[op->stream]);
        table_cell(&t, "%s", output_count(a, op->count));
        table_cell(
            &t, "%s",
            range(a, output_number(a, UNIT_TIME, op->least_s), output_number(a, UNIT_TIME, op->greatest_s)));
        table_cell(&t, "%s", output_number(a, UNIT_TIME, op->total_s));
        table_cell(&t, "%s", op->bytes ? output_number(a, UNIT_BYTES, (double)op->bytes) : "");
    }
    printf("\n");
    table_print(&t, "", stdout);
}

static void print_buckets(arena *a, const plan_facts *f)
{
    static const table_column columns[] = { { "chunk", false },
                                            { "buckets", true },
                                            { "elements of each", true },
                                            { "gradients", true },
                                            { "in collectives", true } };
    const bool coded = scenario_gradient_coding(f->world->scenario).kind != CODING_NONE;
    const double element_bytes = dtype_bytes((dtype)f->world->scenario->training.gradient_dtype);
    const bool chunks = f->world->stages.chunks > 1; // else no column for them
    table t = table_make(a, columns + !chunks, (uint32_t)ARRAY_COUNT(columns) - !chunks - !coded);
    for (uint32_t i = 0; i < f->buckets.count; i++) {
        const plan_bucket *b = &f->buckets.items[i];
        if (chunks) table_cell(&t, "%s", stage_range(a, b->first_chunk, b->last_chunk));
        table_cell(&t, "%u", b->count);
        table_cell(&t, "%s", output_count(a, b->elements));
        table_cell(&t, "%s", output_number(a, UNIT_BYTES, (double)b->elements * element_bytes));
        if (coded)
            table_cell(&t, "%s",
                       range(a, output_number(a, UNIT_BYTES, (double)b->least_bytes),
                             output_number(a, UNIT_BYTES, (double)b->greatest_bytes)));
    }
    if (!f->buckets.count) return;
    printf("\n");
    table_print(&t, "", stdout);
}

static void print_kernels(arena *a, const plan_facts *f)
{
    static const table_column columns[] = { { "kernel", false },   { "shape (m x n x k, or elements)", true },
                                            { "per step", true },  { "each", true },
                                            { "together", true },  { "bound by", false },
                                            { "efficiency", true } };
    table t = table_make(a, columns, ARRAY_COUNT(columns));
    for (uint32_t i = 0; i < f->kernels.count; i++) {
        const plan_kernel *k = &f->kernels.items[i];
        const double each_s = units_s_from_ps(k->use->cost.time_ps);
        table_cell(&t, "%s", k->use->shape.name);
        table_cell(&t, "%s", show_kernel_shape(a, &k->use->shape));
        table_cell(&t, "%s", output_count(a, k->calls));
        table_cell(&t, "%s", output_number(a, UNIT_TIME, each_s));
        table_cell(&t, "%s", output_number(a, UNIT_TIME, each_s * (double)k->calls));
        table_cell(&t, "%s", kernel_bound_words[k->use->cost.bound]);
        table_cell(&t, "%s", output_percent(a, k->use->cost.efficiency));
    }
    printf("\n");
    table_print(&t, "", stdout);
}

// ---- the subject

// "--stage 3"; NULL: the slowest.
static bool read_stage(const char *text, uint32_t stages, uint32_t *stage, sim_error *error)
{
    uint64_t value;
    *stage = PLAN_SLOWEST;
    if (!text) return true;
    const sim_place place = sim_place_of_option("--stage", text);
    if (!units_parse_count(text, &value, &place, error)) return false;
    *stage = (uint32_t)value;
    if (value < stages) return true;
    if (stages == 1)
        sim_fail(error, SIM_EXIT_INPUT, &place, "there is one stage only, number 0");
    else
        sim_fail(error, SIM_EXIT_INPUT, &place, "there are %u stages, numbered from 0", stages);
    return sim_hint(error, "--stage %u", stages - 1);
}

static bool build(const show_request *q, sim_error *error)
{
    run_result *r = q->result;
    world *w;
    const world_options options = { 0 };
    r->has_memory = true; // for the refusal, which prints the table
    if (!world_check_memory(r->arena, r->scenario, &r->memory, error)) return false;
    const bool good = world_create(r->arena, r->scenario, &options, &w, error);
    r->world = w; // run_free() destroys it
    return good;
}

bool show_plan(const show_request *q, sim_error *error)
{
    arena *a = q->arena;
    const run_result *r = q->result;
    uint32_t stage;
    if (!read_stage(q->stage, r->scenario->plan.pipeline, &stage, error) || !build(q, error)) return false;
    const plan_facts facts = plan_facts_of(a, r->world, stage);
    if (q->options->json) {
        plan_print_json(a, &facts);
        return true;
    }
    printf("%s\n", answer_job(a, r->scenario));
    answer_wrapped(a, answer_plan(a, r->scenario), stdout);
    answer_warnings(a, r->world, "warning: ", stdout);
    print_ranks(a, r->world);
    print_groups(a, &facts);
    print_stages(a, &facts);
    print_passes(a, &facts);
    print_ops(a, &facts);
    print_buckets(a, &facts);
    print_kernels(a, &facts);
    return true;
}
