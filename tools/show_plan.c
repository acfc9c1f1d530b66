// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/show.h"
#include <inttypes.h>

typedef struct op_group { // operations of a lane that are called alike
    const char *name;
    op_stream stream;
    uint64_t count;
    double least_s, greatest_s, total_s; // predicted, each by itself
    uint64_t bytes;                      // of the collectives together
} op_group;
ARRAY_OF(op_group, op_group_array);

static double op_time_s(const world *w, const program_op *op, uint64_t *bytes)
{
    const work *done = program_work(op, w->costs_of_lane[0]);
    *bytes = 0;
    if (done) return units_s_from_ps(done->duration_ps);
    const program_collective *c = &w->program.collectives.items[op->slot];
    *bytes = c->bytes;
    return collective_predict_s(
        step_player_collectives(w->player),
        &(collective_request){ .kind = c->kind,
                               .group = 0,
                               .bytes = c->bytes,
                               .forced_protocol = scenario_forced_protocol(w->scenario) });
}

// In order of first use.
static op_group_array group_ops(arena *a, const world *w)
{
    op_group_array groups = { 0 };
    for (uint32_t i = 0; i < w->program.ops.count; i++) {
        const program_op *op = &w->program.ops.items[i];
        const char *name = op->kind == OP_BACKWARD_PIECE ? "backward, piece" : op->name;
        uint64_t bytes;
        const double time_s = op_time_s(w, op, &bytes);
        uint32_t g = 0;
        while (g < groups.count && strcmp(groups.items[g].name, name) != 0)
            g++;
        if (g == groups.count)
            *array_push(&groups, a) = (op_group){ .name = name, .stream = op->stream, .least_s = time_s };
        op_group *group = &groups.items[g];
        group->count++;
        group->total_s += time_s;
        group->bytes += bytes;
        if (time_s < group->least_s) group->least_s = time_s;
        if (time_s > group->greatest_s) group->greatest_s = time_s;
    }
    return groups;
}

static const char *range(arena *a, double least_s, double greatest_s)
{
    const char *least = output_number(a, UNIT_TIME, least_s),
               *greatest = output_number(a, UNIT_TIME, greatest_s);
    return strcmp(least, greatest) == 0 ? least : arena_format(a, "%s to %s", least, greatest);
}

static void print_groups(const world *w)
{
    const collectives *c = step_player_collectives(w->player);
    const lane_table *lanes = &w->lanes;
    const lane_def *first = &lanes->lanes[0];
    printf("%u rank%s, played as %u lane%s of %u\n", parallel_ranks(lanes->sizes),
           parallel_ranks(lanes->sizes) == 1 ? "" : "s", lanes->count, lanes->count == 1 ? "" : "s",
           first->multiplicity);
    for (group_id g = 0; g < collectives_group_count(c); g++) {
        const group_def *group = collectives_group(c, g);
        const topology *t = w->fabric;
        char from[64], to[64];
        if (group->count < 2) continue;
        const uint32_t rings = collectives_ring_count(c, g);
        printf("group %s: ", group->label);
        if (rings == 1)
            printf("a ring of");
        else
            printf("%u rings side by side, each of", rings);
        printf(" %u GPUs, %s to %s\n", group->count,
               topology_vertex_name(t, group->members[0], from, sizeof(from)),
               topology_vertex_name(t, group->members[group->count - 1], to, sizeof(to)));
    }
}

static void print_passes(arena *a, const world *w)
{
    static const table_column columns[] = { { "pass", false },     { "time", true },
                                            { "recompute", true }, { "waiting for host", true },
                                            { "TFLOP", true },     { "memory traffic", true },
                                            { "launches", true } };
    const pass_costs *costs = w->costs_of_lane[0];
    const struct {
        const char *name;
        const work *pass;
    } passes[] = { { "forward", &costs->forward },
                   { "backward", &costs->backward },
                   { "optimizer", &costs->optimizer } };
    table t = table_make(a, columns, ARRAY_COUNT(columns));
    for (uint32_t i = 0; i < ARRAY_COUNT(passes); i++) {
        const work *k = passes[i].pass;
        table_cell(&t, "%s", passes[i].name);
        table_cell(&t, "%s", output_number(a, UNIT_TIME, units_s_from_ps(k->duration_ps)));
        table_cell(&t, "%s", output_number(a, UNIT_TIME, units_s_from_ps(k->recompute_ps)));
        table_cell(&t, "%s", output_number(a, UNIT_TIME, units_s_from_ps(k->launch_ps)));
        table_cell(&t, "%.4g", k->flop * 1e-12);
        table_cell(&t, "%s", output_number(a, UNIT_BYTES, k->bytes));
        table_cell(&t, "%s", output_count(a, k->kernels));
    }
    printf("\n");
    table_print(&t, "", stdout);
}

static void print_ops(arena *a, const op_group_array *groups)
{
    static const table_column columns[] = { { "operations of a step", false },
                                            { "stream", false },
                                            { "count", true },
                                            { "each alone", true },
                                            { "together", true },
                                            { "bytes", true } };
    table t = table_make(a, columns, ARRAY_COUNT(columns));
    for (uint32_t i = 0; i < groups->count; i++) {
        const op_group *g = &groups->items[i];
        table_cell(&t, "%s", g->name);
        table_cell(&t, "%s", op_stream_words[g->stream]);
        table_cell(&t, "%s", output_count(a, g->count));
        table_cell(&t, "%s", range(a, g->least_s, g->greatest_s));
        table_cell(&t, "%s", output_number(a, UNIT_TIME, g->total_s));
        table_cell(&t, "%s", g->bytes ? output_number(a, UNIT_BYTES, (double)g->bytes) : "");
    }
    printf("\n");
    table_print(&t, "", stdout);
}

// Buckets of one size that follow one another share a row: most are as large as plan.bucket allows.
static void print_buckets(arena *a, const world *w)
{
    static const table_column columns[] = {
        { "buckets", true }, { "elements of each", true }, { "gradients", true }, { "full after", false }
    };
    const pass_costs *costs = w->costs_of_lane[0];
    const double element_bytes = dtype_bytes((dtype)w->scenario->training.gradient_dtype);
    if (!w->program.collectives.count) return;
    table t = table_make(a, columns, ARRAY_COUNT(columns));
    for (uint32_t i = 0, end; i < costs->bucket_count; i = end) {
        const gradient_bucket *first = &costs->buckets[i];
        for (end = i + 1; end < costs->bucket_count && costs->buckets[end].elements == first->elements;)
            end++;
        const uint32_t from = first->piece + 1, to = costs->buckets[end - 1].piece + 1;
        table_cell(&t, "%u", end - i);
        table_cell(&t, "%s", output_count(a, first->elements));
        table_cell(&t, "%s", output_number(a, UNIT_BYTES, (double)first->elements * element_bytes));
        table_cell(&t, "%s",
                   from == to ? arena_format(a, "piece %u of %u", from, costs->piece_count)
                              : arena_format(a, "pieces %u to %u of %u", from, to, costs->piece_count));
    }
    printf("\n");
    table_print(&t, "", stdout);
}

static const char *shape_text(arena *a, const kernel_shape *k)
{
    if (k->class == KERNEL_ELEMENTWISE) return output_count(a, k->m);
    const char *batch = k->batch > 1 ? arena_format(a, "%" PRIu64 " x ", k->batch) : "";
    return arena_format(a, "%s%" PRIu64 " x %" PRIu64 " x %" PRIu64, batch, k->m, k->n, k->k);
}

static void print_kernels(arena *a, const world *w)
{
    static const table_column columns[] = { { "kernel", false },   { "shape (m x n x k, or elements)", true },
                                            { "per step", true },  { "each", true },
                                            { "together", true },  { "bound by", false },
                                            { "efficiency", true } };
    const pass_costs *costs = w->costs_of_lane[0];
    table t = table_make(a, columns, ARRAY_COUNT(columns));
    for (uint32_t i = 0; i < costs->kernel_count; i++) {
        const kernel_use *k = &costs->kernels[i];
        const double each_s = units_s_from_ps(k->cost.time_ps);
        table_cell(&t, "%s", k->shape.name);
        table_cell(&t, "%s", shape_text(a, &k->shape));
        table_cell(&t, "%s", output_count(a, k->calls));
        table_cell(&t, "%s", output_number(a, UNIT_TIME, each_s));
        table_cell(&t, "%s", output_number(a, UNIT_TIME, each_s * (double)k->calls));
        table_cell(&t, "%s", kernel_bound_words[k->cost.bound]);
        table_cell(&t, "%s", output_percent(a, k->cost.efficiency));
    }
    printf("\n");
    table_print(&t, "", stdout);
}

// ---- for machines

static void json_pass(json_writer *j, const char *name, const work *k)
{
    json_object(j, name);
    json_integer(j, "duration_ps", k->duration_ps);
    json_integer(j, "recompute_ps", k->recompute_ps);
    json_integer(j, "launch_ps", k->launch_ps);
    json_number(j, "flop", k->flop);
    json_number(j, "bytes", k->bytes);
    json_count(j, "launches", k->kernels);
    json_close(j);
}

static void json_groups(json_writer *j, const world *w)
{
    const collectives *c = step_player_collectives(w->player);
    json_array(j, "groups");
    for (group_id g = 0; g < collectives_group_count(c); g++) {
        json_object(j, NULL);
        json_text(j, "label", collectives_group(c, g)->label);
        json_count(j, "members", collectives_group(c, g)->count);
        json_count(j, "rings", collectives_ring_count(c, g));
        json_count(j, "multiplicity", collectives_group(c, g)->multiplicity);
        json_close(j);
    }
    json_close(j);
}

static void json_ops(json_writer *j, const op_group_array *groups)
{
    json_array(j, "operations");
    for (uint32_t i = 0; i < groups->count; i++) {
        const op_group *g = &groups->items[i];
        json_object(j, NULL);
        json_text(j, "name", g->name);
        json_text(j, "stream", op_stream_words[g->stream]);
        json_count(j, "count", g->count);
        json_number(j, "least_s", g->least_s);
        json_number(j, "greatest_s", g->greatest_s);
        json_number(j, "total_s", g->total_s);
        json_count(j, "bytes", g->bytes);
        json_close(j);
    }
    json_close(j);
}

static void json_kernels(json_writer *j, const pass_costs *costs)
{
    json_array(j, "kernels");
    for (uint32_t i = 0; i < costs->kernel_count; i++) {
        const kernel_use *k = &costs->kernels[i];
        json_object(j, NULL);
        json_text(j, "name", k->shape.name);
        json_count(j, "batch", k->shape.batch);
        json_count(j, "m", k->shape.m);
        json_count(j, "n", k->shape.n);
        json_count(j, "k", k->shape.k);
        json_count(j, "calls", k->calls);
        json_integer(j, "time_ps", k->cost.time_ps);
        json_text(j, "bound", kernel_bound_words[k->cost.bound]);
        json_number(j, "efficiency", k->cost.efficiency);
        json_close(j);
    }
    json_close(j);
}

static void print_json(arena *a, const world *w, const op_group_array *groups)
{
    const pass_costs *costs = w->costs_of_lane[0];
    json_writer j = json_make(stdout);
    json_object(&j, NULL);
    json_text(&j, "scenario", w->scenario->file);
    json_text(&j, "job", answer_job(a, w->scenario));
    json_text(&j, "plan", answer_plan(a, w->scenario));
    answer_warnings_json(&j, a, w->scenario);
    json_count(&j, "ranks", parallel_ranks(w->lanes.sizes));
    json_count(&j, "lanes", w->lanes.count);
    json_count(&j, "micro_batches", scenario_micro_batches(w->scenario));
    json_groups(&j, w);
    json_object(&j, "passes");
    json_pass(&j, "forward", &costs->forward);
    json_pass(&j, "backward", &costs->backward);
    json_pass(&j, "optimizer", &costs->optimizer);
    json_close(&j);
    json_ops(&j, groups);
    json_array(&j, "buckets");
    for (uint32_t i = 0; i < costs->bucket_count; i++) {
        json_object(&j, NULL);
        json_count(&j, "elements", costs->buckets[i].elements);
        json_count(&j, "piece", costs->buckets[i].piece);
        json_close(&j);
    }
    json_close(&j);
    json_kernels(&j, costs);
    json_close(&j);
}

bool show_plan(const show_request *q, sim_error *error)
{
    arena *a = q->arena;
    run_result *r = q->result;
    world *w;
    const world_options options = { 0 };
    r->has_memory = true; // for the refusal, which prints the table
    if (!world_check_memory(r->arena, r->scenario, &r->memory, error)) return false;
    const bool good = world_create(r->arena, r->scenario, &options, &w, error);
    r->world = w; // run_free() destroys it
    if (!good) return false;
    const op_group_array groups = group_ops(a, w);
    if (q->options->json) {
        print_json(a, w, &groups);
        return true;
    }
    printf("%s\n%s\n", answer_job(a, r->scenario), answer_plan(a, r->scenario));
    answer_warnings(a, r->scenario, "warning: ", stdout);
    print_groups(w);
    print_passes(a, w);
    print_ops(a, &groups);
    print_buckets(a, w);
    print_kernels(a, w);
    return true;
}
