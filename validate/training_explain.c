// SPDX-License-Identifier: GPL-3.0-or-later
#include "validate/training_explain.h"
#include "sim/check.h"
#include <string.h>

// ---- the scenario

static void indent(uint32_t depth, FILE *out)
{
    for (uint32_t i = 0; i < depth; i++)
        fputs("  ", out);
}

static void write_scalar(const doc_node *node, FILE *out)
{
    fprintf(out, node->quoted ? "\"%s\"" : "%s", node->scalar);
}

// In the short form, on one line.
static void write_short(const doc_node *node, FILE *out)
{
    if (node->kind == DOC_SCALAR) {
        write_scalar(node, out);
        return;
    }
    fputs(node->kind == DOC_SEQUENCE ? "[" : "{ ", out);
    for (uint32_t i = 0; i < node->count; i++) {
        if (i) fputs(", ", out);
        if (node->kind == DOC_MAPPING) fprintf(out, "%s: ", node->pairs[i].key);
        write_short(node->kind == DOC_MAPPING ? node->pairs[i].value : node->items[i], out);
    }
    fputs(node->kind == DOC_SEQUENCE ? "]" : " }", out);
}

void training_explain_write(const doc_node *node, uint32_t depth, FILE *out)
{
    for (uint32_t i = 0; i < node->count; i++) {
        const doc_node *value = node->pairs[i].value;
        indent(depth, out);
        fprintf(out, "%s:", node->pairs[i].key);
        if (value->kind == DOC_MAPPING) {
            fputc('\n', out);
            training_explain_write(value, depth + 1, out);
            continue;
        }
        fputc(' ', out);
        write_short(value, out);
        fputc('\n', out);
    }
}

// ---- the parameters

// Slower, for some rates are shares that cannot grow.
static const double slower = 1.1;

typedef struct parameter {
    const char *name;
    text_list sets; // none: the scenario has no such thing
} parameter;

enum { PARAMETERS = 10 };

typedef struct parameters {
    arena *a;
    parameter items[PARAMETERS];
    uint32_t count;
} parameters;

static parameter *begin(parameters *p, const char *name)
{
    SIM_ASSERT(p->count < PARAMETERS);
    parameter *made = &p->items[p->count++];
    made->name = name;
    return made;
}

static void slow_down(parameters *p, parameter *of, const char *path, unit_kind unit, double value)
{
    char text[64];
    if (!(value > 0.0)) return;
    if (unit == UNIT_TIME) // latencies are whole picoseconds
        snprintf(text, sizeof text, "%.0f ps", slower * value * (double)PS_PER_S);
    else
        units_exact(unit, value / slower, text, sizeof text);
    *array_push(&of->sets, p->a) = arena_format(p->a, "%s=%s", path, text);
}

static const char *curve(arena *a, const bind_points *points)
{
    const char *text = "[";
    for (uint32_t i = 0; i < points->count; i++)
        text = arena_format(a, "%s%s[%.9g, %.9g]", text, i ? ", " : "", points->x[i], points->y[i] / slower);
    return arena_format(a, "%s]", text);
}

// A list has no names to reach into, so it is written anew as a whole.
static void slow_attention(parameters *p, const kernel_set_def *set)
{
    parameter *of = begin(p, "rate of attention");
    const char *text = "[";
    if (!set->attention.count) return;
    for (uint32_t i = 0; i < set->attention.count; i++) {
        const attention_def *d = &set->attention.items[i];
        text = arena_format(p->a, "%s%s{ program: %s, head_size: %u, full_mask: %s, forward: %s", text,
                            i ? ", " : "", attention_program_words[d->program], d->head_size,
                            d->full_mask ? "true" : "false", curve(p->a, &d->forward));
        text = d->backward.count ? arena_format(p->a, "%s, backward: %s }", text, curve(p->a, &d->backward))
                                 : arena_format(p->a, "%s }", text);
    }
    *array_push(&of->sets, p->a) = arena_format(p->a, "cluster.node.gpu.kernels.attention=%s]", text);
}

static void slow_gpu(parameters *p, const gpu_def *gpu)
{
    slow_down(p, begin(p, "rate of products"), "cluster.node.gpu.clock_ratio", UNIT_NONE, gpu->clock_ratio);
    slow_attention(p, &gpu->kernels);
    slow_down(p, begin(p, "rate of other kernels"), "cluster.node.gpu.kernels.stream_efficiency", UNIT_NONE,
              gpu->kernels.stream_efficiency);
    slow_down(p, begin(p, "overhead of a kernel"), "cluster.node.gpu.kernels.kernel_overhead", UNIT_TIME,
              gpu->kernels.kernel_overhead_s);
    slow_down(p, begin(p, "launch by the host"), "cluster.node.gpu.launch", UNIT_TIME, gpu->launch_s);
}

static void slow_links(parameters *p, const scenario *s)
{
    const node_def *node = &s->cluster.node;
    parameter *inside = begin(p, "rate between GPUs"), *outside = begin(p, "rate of the network");
    slow_down(p, inside, "cluster.node.scale_up.rate", UNIT_RATE, node->scale_up.rate_Bps);
    if (cluster_gpus(&s->cluster) <= node->gpus) return; // it has none
    slow_down(p, outside, "cluster.node.nic.rate", UNIT_RATE, node->nic.rate_Bps);
    slow_down(p, outside, "cluster.node.nic_pcie_rate", UNIT_RATE, node->nic_pcie_rate_Bps);
    slow_down(p, outside, "cluster.fabric.switch.port_rate", UNIT_RATE,
              s->cluster.fabric.network_switch.port_rate_Bps);
}

// Latencies that kernels and host threads pay per slice, in the node and through its NICs.
static void slow_latencies(parameters *p, const node_def *node)
{
    static const char link[] = "cluster.node.scale_up.costs", nic[] = "cluster.node.nic.costs";
    parameter *of = begin(p, "latency of collectives");
    for (int i = 0; i < PROTOCOLS; i++) {
        const char *word = collective_protocol_words[i];
        const kernel_costs *kernel = &node->scale_up.costs.protocols[i];
        slow_down(p, of, arena_format(p->a, "%s.%s.slice", link, word), UNIT_TIME,
                  units_s_from_ps(kernel->slice_ps));
        slow_down(p, of, arena_format(p->a, "%s.%s.visible", link, word), UNIT_TIME,
                  units_s_from_ps(kernel->visible_ps));
        if (node->nics == 0) continue;
        slow_down(p, of, arena_format(p->a, "%s.%s.ring", nic, word), UNIT_TIME,
                  units_s_from_ps(node->nic.costs.hops[i].ring_ps));
        slow_down(p, of, arena_format(p->a, "%s.%s.tree", nic, word), UNIT_TIME,
                  units_s_from_ps(node->nic.costs.hops[i].tree_ps));
    }
    slow_down(p, of, arena_format(p->a, "%s.entry", link), UNIT_TIME,
              units_s_from_ps(node->scale_up.costs.entry_ps));
    slow_down(p, of, arena_format(p->a, "%s.nvls_entry", link), UNIT_TIME,
              units_s_from_ps(node->scale_up.costs.nvls_entry_ps));
    if (node->nics > 0)
        slow_down(p, of, arena_format(p->a, "%s.entry", nic), UNIT_TIME,
                  units_s_from_ps(node->nic.costs.entry_ps));
}

// What one block of a kernel copies: the pace of rings where links are not the limit.
static void slow_copies(parameters *p, const scale_up_costs *costs)
{
    parameter *of = begin(p, "rate of a channel");
    for (int i = 0; i < PROTOCOLS; i++)
        slow_down(p, of,
                  arena_format(p->a, "cluster.node.scale_up.costs.%s.rate", collective_protocol_words[i]),
                  UNIT_RATE, costs->protocols[i].rate_Bps);
    slow_down(p, of, "cluster.node.scale_up.costs.nvls.rate", UNIT_RATE, costs->nvls.rate_Bps);
}

bool training_explain_sensitivity(const training_suite *suite, const training_options *options,
                                  uint32_t index, const run_result *as_it_is, sensitivity_array *out,
                                  sim_error *error)
{
    arena *a = suite->arena;
    parameters all = { .a = a };
    const double before = summary_find(&as_it_is->summary, "step_time")->value;
    slow_gpu(&all, &as_it_is->scenario->cluster.node.gpu);
    slow_links(&all, as_it_is->scenario);
    slow_copies(&all, &as_it_is->scenario->cluster.node.scale_up.costs);
    slow_latencies(&all, &as_it_is->scenario->cluster.node);
    for (uint32_t i = 0; i < all.count; i++) {
        const parameter *p = &all.items[i];
        run_options wanted = training_suite_run(suite, options, index, 0);
        text_list sets = { 0 };
        run_result r;
        if (!p->sets.count) continue;
        for (uint32_t k = 0; k < wanted.set_count; k++)
            *array_push(&sets, a) = wanted.sets[k];
        for (uint32_t k = 0; k < p->sets.count; k++)
            *array_push(&sets, a) = p->sets.items[k];
        wanted.sets = sets.items;
        wanted.set_count = sets.count;
        const bool good = run_execute(&wanted, &r, error);
        if (good)
            *array_push(out, a) = (sensitivity){
                .name = p->name,
                .change = summary_find(&r.summary, "step_time")->value / before - 1.0,
            };
        run_free(&r);
        if (!good) return false;
    }
    return true;
}
