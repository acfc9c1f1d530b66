// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/answer_run.h"
#include <inttypes.h>

// ---- the numbers, and where the time goes

// What a metric is called here, in the order of printing, and the rate that belongs to a share of the peak. The others are
// printed where they belong (blame, memory).
typedef struct metric_label {
    const char *metric, *label, *rate;
} metric_label;
static const metric_label labels[] = {
    { "tokens_per_s", "tokens/s", NULL },
    { "tokens_per_s_per_gpu", "tokens/s per GPU", NULL },
    { "mfu", "MFU", "model_flops" },
    { "mfu_causal", "MFU, causal", "model_flops_causal" },
    { "mfu_6n", "MFU, 6 N", NULL },
    { "hfu", "HFU", "hardware_flops" },
    { "energy_per_step", "energy per step", NULL },
    { "cost_per_step", "cost per step", NULL },
    { "kernels_given", "from the kernel table", NULL },
};

// rate: explains a share of the peak in its place; NULL: the value explains itself.
static void add_metric(arena *a, table *t, const char *label, const summary_value *v,
                       const summary_value *rate)
{
    table_cell(t, "%s", label);
    table_cell(t, "%s", answer_value(a, v));
    if (!v->known)
        table_cell(t, "(%s)", v->reason);
    else if (rate && rate->known)
        table_cell(t, "%s %s", answer_value(a, rate), rate->explanation);
    else
        table_cell(t, "%s", v->explanation);
}

static void add_healthy(arena *a, table *t, const run_result *r, const summary_value *step)
{
    const summary_value *healthy = summary_find(&r->summary, "step_time_healthy");
    if (!healthy || !healthy->known || !step || !step->known) return;
    table_cell(t, "step, all healthy");
    table_cell(t, "%s", answer_value(a, healthy));
    table_cell(t, "%s of a step is lost to degraded parts",
               output_percent(a, 1.0 - healthy->value / step->value));
}

static void print_metrics(arena *a, const run_result *r)
{
    static const table_column columns[] = { { NULL, false }, { NULL, true }, { NULL, false } };
    const summary_value *step = summary_find(&r->summary, "step_time");
    const summary_value *least = summary_find(&r->summary, "step_time_least");
    const summary_value *greatest = summary_find(&r->summary, "step_time_greatest");
    table t = table_make(a, columns, ARRAY_COUNT(columns));
    if (step) add_metric(a, &t, "step time", step, NULL);
    add_healthy(a, &t, r, step);
    if (least && greatest && least->value < greatest->value) {
        add_metric(a, &t, "shortest step", least, NULL);
        add_metric(a, &t, "longest step", greatest, NULL);
    }
    for (uint32_t i = 0; i < ARRAY_COUNT(labels); i++) {
        const summary_value *v = summary_find(&r->summary, labels[i].metric);
        const summary_value *rate = labels[i].rate ? summary_find(&r->summary, labels[i].rate) : NULL;
        if (v) add_metric(a, &t, labels[i].label, v, rate);
    }
    table_print(&t, "", stdout);
}

#define WORTH_TELLING 0.001 // of all GPU time

// The mean time of a cause that is worth a line; 0: it is not.
static double cause_time_s(const run_result *r, blame_cause cause)
{
    for (uint32_t i = 0; i < r->blame.count; i++) {
        const blame_share *b = &r->blame.items[i];
        if (strcmp(b->cause, blame_cause_words[cause]) == 0)
            return b->share >= WORTH_TELLING ? b->time_s : 0.0;
    }
    return 0.0;
}

// ---- of a pipeline

// All that computes is one column. Returns the causes that have one of their own.
static uint32_t choose_causes(const run_result *r, blame_cause chosen[BLAME_CAUSES])
{
    uint32_t count = 0;
    for (int cause = BLAME_LAUNCH; cause < BLAME_CAUSES; cause++) {
        double most = 0.0;
        for (uint32_t i = 0; i < r->classes.count; i++)
            if (r->classes.items[i].shares[cause] > most) most = r->classes.items[i].shares[cause];
        if (most >= WORTH_TELLING / 2)
            chosen[count++] = (blame_cause)cause; // it is rounded to a tenth of a percent
    }
    return count;
}

static double compute_share(const blame_class *class)
{
    double sum = 0.0;
    for (int cause = 0; cause < BLAME_CAUSES; cause++)
        if (blame_is_compute((blame_cause)cause)) sum += class->shares[cause];
    return sum;
}

static void print_classes(arena *a, const run_result *r)
{
    blame_cause causes[BLAME_CAUSES];
    const uint32_t count = choose_causes(r, causes);
    table_column columns[2 + BLAME_CAUSES] = { { "", false }, { "compute", true } };
    for (uint32_t c = 0; c < count; c++)
        columns[2 + c] = (table_column){ blame_cause_words[causes[c]], true };
    table t = table_make(a, columns, 2 + count);
    for (uint32_t i = 0; i < r->classes.count; i++) {
        const blame_class *class = &r->classes.items[i];
        if (class->first == class->last)
            table_cell(&t, "stage %u", class->first);
        else
            table_cell(&t, "stages %u-%u", class->first, class->last);
        table_cell(&t, "%s", output_percent(a, compute_share(class)));
        for (uint32_t c = 0; c < count; c++)
            table_cell(&t, "%s", output_percent(a, class->shares[causes[c]]));
    }
    printf("\nthe same by pipeline stage\n");
    table_print(&t, "  ", stdout);
}

static void print_bubble(arena *a, const run_result *r)
{
    const summary_value *real = summary_find(&r->summary, "bubble_share");
    const summary_value *of_step = summary_find(&r->summary, "bubble_ideal_of_step");
    const summary_value *of_ideal = summary_find(&r->summary, "bubble_ideal_of_ideal");
    if (!real || !of_step->known) return;
    printf(
        "\nbubble      %s of the step; ideal with equal stages: %s of the step, %s of the time without it\n",
        answer_value(a, real), answer_value(a, of_step), answer_value(a, of_ideal));
}

static void print_pipeline(arena *a, const run_result *r)
{
    if (r->scenario->plan.pipeline == 1 || !r->classes.count) return;
    print_classes(a, r);
    print_bubble(a, r);
}

// ---- what could be better

static void print_what_if(arena *a, const run_result *r)
{
    static const table_column columns[] = { { NULL, false }, { NULL, true }, { NULL, true } };
    static const struct {
        blame_cause cause;
        const char *metric;
    } rows[] = { { BLAME_BUBBLE, "step_without_bubble" },
                 { BLAME_EXPOSED_TP, "step_without_exposed_tp" },
                 { BLAME_EXPOSED_DP, "step_without_exposed_dp" } };
    table t = table_make(a, columns, ARRAY_COUNT(columns));
    for (uint32_t i = 0; i < ARRAY_COUNT(rows); i++) {
        const summary_value *v = summary_find(&r->summary, rows[i].metric);
        const double time_s = cause_time_s(r, rows[i].cause);
        if (!v || time_s == 0.0) continue;
        table_cell(&t, "%s", blame_cause_words[rows[i].cause]);
        table_cell(&t, "%s", answer_value(a, v));
        table_cell(&t, "%s less", output_number(a, UNIT_TIME, time_s));
    }
    if (!t.cells.count) return;
    printf("\nstep time less the mean waiting\n");
    table_print(&t, "  ", stdout);
}

static void print_culprits(arena *a, const run_result *r)
{
    static const table_column columns[] = { { NULL, false }, { NULL, true } };
    table t = table_make(a, columns, ARRAY_COUNT(columns));
    for (uint32_t i = 0; i < r->culprits.count; i++) {
        const culprit *c = &r->culprits.items[i];
        table_cell(&t, "%s (%s)", c->part, c->detail);
        table_cell(&t, "%.2f %%", 100.0 * c->share);
    }
    if (!r->culprits.count) return;
    printf("\nwho is waited for, and for how much of all GPU time\n");
    table_print(&t, "  ", stdout);
}

static void print_links(arena *a, const run_result *r)
{
    static const table_column columns[] = {
        { NULL, false }, { NULL, false }, { NULL, true }, { NULL, true }
    };
    table t = table_make(a, columns, ARRAY_COUNT(columns));
    for (uint32_t i = 0; i < r->links.count; i++) {
        const busy_link *l = &r->links.items[i];
        table_cell(&t, "%s", l->name);
        table_cell(&t, "%s", l->class);
        table_cell(&t, "%s", output_number(a, UNIT_BYTES, (double)l->bytes));
        table_cell(&t, "%s", output_percent(a, l->busy_share));
    }
    if (!r->links.count) return;
    printf("\nhottest links, of those used alike the first: bytes, share of what they can carry\n");
    table_print(&t, "  ", stdout);
}

// ---- the rest

static void print_memory(arena *a, const run_result *r)
{
    const stage_memory *m = &r->memory;
    const double need = (double)world_fullest(m)->total_bytes;
    const double have = (double)r->scenario->cluster.node.gpu.memory_bytes;
    const char *which = m->stages > 1 ? arena_format(a, " of stage %u, the fullest", m->fullest) : "";
    printf("\nmemory      %s of %s of each GPU%s, %s; by part: windtunnel show memory\n",
           output_bytes(a, need), output_bytes(a, have), which, output_percent(a, need / have));
}

static void print_work(arena *a, const run_result *r)
{
    const run_counters *c = &r->counters;
    const bool is_kept_apart = r->world && !r->world->folded && *answer_fold(a, r->world);
    printf("played      %u step%s, %s events in %s\n", r->steps_done, r->steps_done == 1 ? "" : "s",
           output_count(a, c->events), output_number(a, UNIT_TIME, r->wall_s));
    if (is_kept_apart) printf("            %s\n", answer_fold(a, r->world));
    if (!c->collectives) return;
    const char *alone = c->collectives_alone ? arena_format(a, ", %s of them taken at their time alone",
                                                            output_count(a, c->collectives_alone))
                                             : "";
    const double hits = (double)c->plan_hits / (double)c->collectives;
    printf("            %s collectives, %s looked up%s\n", output_count(a, c->collectives),
           output_percent(a, hits), alone);
    if (c->settles)
        printf("            rates settled %s times, %s flows touched\n", output_count(a, c->settles),
               output_count(a, c->flows_touched));
}

void answer_run(arena *a, const play_options *o, const run_result *r)
{
    const scenario *s = r->scenario;
    printf("%s\n", answer_job(a, s));
    answer_wrapped(a, answer_plan(a, s), stdout);
    if (r->state == RUN_CANCELLED)
        printf("\ncancelled after %u of %u steps; what follows is of those\n", r->steps_done, s->run.steps);
    printf("\n");
    print_metrics(a, r);
    answer_blame(a, &r->blame, stdout);
    print_pipeline(a, r);
    print_what_if(a, r);
    print_culprits(a, r);
    print_links(a, r);
    print_memory(a, r);
    answer_alerts(a, &r->alerts, stdout);
    answer_warnings(a, r->world, "warning     ", stdout);
    answer_assumptions(a, &r->assumptions, o->verbose, stdout);
    print_work(a, r);
    if (r->state == RUN_DONE) printf("digest      %016" PRIx64 "\n", r->digest);
    if (o->output) printf("database    %s, %s rows\n", o->output, output_count(a, r->counters.trace_rows));
}
