// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/show_plan.h"

static void print_groups(json_writer *j, const plan_facts *f)
{
    json_array(j, "groups");
    for (uint32_t i = 0; i < f->groups.count; i++) {
        const plan_group *g = &f->groups.items[i];
        json_object(j, NULL);
        json_text(j, "label", g->label);
        json_text(j, "purpose", g->purpose);
        json_count(j, "groups", g->count);
        json_count(j, "members", g->members);
        json_count(j, "rings", g->rings);
        json_text(j, "from", g->from);
        json_text(j, "to", g->to);
        json_close(j);
    }
    json_close(j);
}

static void print_stages(json_writer *j, const plan_facts *f)
{
    json_array(j, "stages");
    for (uint32_t i = 0; i < f->world->stages.stages; i++) {
        const plan_stage *s = &f->stages[i];
        json_object(j, NULL);
        json_count(j, "stage", i);
        json_count(j, "layers", s->layers);
        json_bool(j, "embedding", s->has_embedding);
        json_bool(j, "head", s->has_head);
        json_count(j, "parameters", s->parameters);
        json_number(j, "forward_s", s->forward_s);
        json_number(j, "backward_s", s->backward_s);
        json_number(j, "flop", s->flop);
        json_text(j, "gpu", s->gpu);
        json_number(j, "clock_ratio", s->clock_ratio);
        json_number(j, "memory_ratio", s->memory_ratio);
        json_count(j, "forwards_in_flight", s->in_flight);
        json_count(j, "memory_bytes", s->memory_bytes);
        json_number(j, "of_slowest_ratio", plan_stage_s(s) / plan_stage_s(&f->stages[f->slowest]));
        json_close(j);
    }
    json_close(j);
}

static void print_passes(json_writer *j, const plan_facts *f)
{
    json_object(j, "passes");
    for (uint32_t i = 0; i < ARRAY_COUNT(f->passes); i++) {
        const plan_pass *p = &f->passes[i];
        json_object(j, p->name);
        json_number(j, "time_s", p->time_s);
        json_number(j, "recompute_s", units_s_from_ps(p->work.recompute_ps));
        json_number(j, "launch_s", p->launch_s);
        json_number(j, "flop", p->work.flop);
        json_number(j, "bytes", p->work.bytes);
        json_count(j, "launches", p->work.kernels);
        json_close(j);
    }
    json_close(j);
}

static void print_ops(json_writer *j, const plan_facts *f)
{
    json_array(j, "operations");
    for (uint32_t i = 0; i < f->ops.count; i++) {
        const plan_op *op = &f->ops.items[i];
        json_object(j, NULL);
        json_text(j, "name", op->name);
        json_text(j, "stream", op_stream_words[op->stream]);
        json_count(j, "count", op->count);
        json_number(j, "least_s", op->least_s);
        json_number(j, "greatest_s", op->greatest_s);
        json_number(j, "total_s", op->total_s);
        json_count(j, "bytes", op->bytes);
        json_close(j);
    }
    json_close(j);
}

static void print_buckets(json_writer *j, const plan_facts *f)
{
    const bool coded = scenario_gradient_coding(f->world->scenario).kind != CODING_NONE;
    json_array(j, "buckets");
    for (uint32_t i = 0; i < f->buckets.count; i++) {
        const plan_bucket *b = &f->buckets.items[i];
        json_object(j, NULL);
        json_count(j, "first_chunk", b->first_chunk);
        json_count(j, "last_chunk", b->last_chunk);
        json_count(j, "buckets", b->count);
        if (coded) json_count(j, "collective_bytes", b->sent_bytes);
        json_count(j, "elements", b->elements);
        json_close(j);
    }
    json_close(j);
}

static void print_kernels(json_writer *j, const plan_facts *f)
{
    json_array(j, "kernels");
    for (uint32_t i = 0; i < f->kernels.count; i++) {
        const kernel_use *k = f->kernels.items[i].use;
        json_object(j, NULL);
        json_text(j, "name", k->shape.name);
        json_count(j, "batch", k->shape.batch);
        json_count(j, "m", k->shape.m);
        json_count(j, "n", k->shape.n);
        json_count(j, "k", k->shape.k);
        json_count(j, "calls", f->kernels.items[i].calls);
        json_number(j, "time_s", units_s_from_ps(k->cost.time_ps));
        json_text(j, "bound", kernel_bound_words[k->cost.bound]);
        json_number(j, "efficiency_ratio", k->cost.efficiency);
        json_close(j);
    }
    json_close(j);
}

// "obstacle": NULL where ranks are folded or there is nothing to fold.
static void print_lanes(json_writer *j, arena *a, const world *w)
{
    const bool is_apart = !w->folded && *answer_fold(a, w);
    json_count(j, "ranks", parallel_ranks(w->lanes.sizes));
    json_count(j, "lanes", w->lanes.count);
    json_bool(j, "folded", w->folded);
    json_text(j, "obstacle", is_apart ? fold_obstacle_words[w->obstacle.kind] : NULL);
    if (is_apart && w->obstacle.rank != NO_ID)
        json_count(j, "obstacle_rank", w->obstacle.rank);
    else if (is_apart)
        json_null(j, "obstacle_rank");
    json_count(j, "micro_batches", scenario_micro_batches(w->scenario));
}

void plan_print_json(arena *a, const plan_facts *f)
{
    const world *w = f->world;
    json_writer j = json_make(stdout);
    json_object(&j, NULL);
    json_text(&j, "scenario", w->scenario->file);
    json_text(&j, "job", answer_job(a, w->scenario));
    json_text(&j, "plan", answer_plan(a, w->scenario));
    answer_warnings_json(&j, a, w);
    print_lanes(&j, a, w);
    print_groups(&j, f);
    print_stages(&j, f);
    json_count(&j, "slowest_stage", f->slowest);
    json_count(&j, "stage", f->stage); // of all that follows
    print_passes(&j, f);
    print_ops(&j, f);
    print_buckets(&j, f);
    print_kernels(&j, f);
    json_close(&j);
}
