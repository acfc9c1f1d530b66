// SPDX-License-Identifier: GPL-3.0-or-later
// windtunnel run: plays a scenario and says how long a step takes and where the time goes.
#include "sim/os.h"
#include "tools/command.h"
#include "tools/progress.h"
#include <inttypes.h>

typedef struct run_command_options {
    play_options play;
} run_command_options;

static const option options[] = { PLAY_OPTIONS(run_command_options, play), OPTION_END };

// ---- for people

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

static void print_metrics(arena *a, const run_result *r)
{
    static const table_column columns[] = { { NULL, false }, { NULL, true }, { NULL, false } };
    const summary_value *step = summary_find(&r->summary, "step_time");
    const summary_value *least = summary_find(&r->summary, "step_time_least");
    const summary_value *greatest = summary_find(&r->summary, "step_time_greatest");
    table t = table_make(a, columns, ARRAY_COUNT(columns));
    if (step) add_metric(a, &t, "step time", step, NULL);
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

enum { BAR_WIDTH = 40 };

static void print_blame(arena *a, const run_result *r)
{
    static const table_column columns[] = {
        { NULL, false }, { NULL, true }, { NULL, true }, { NULL, false }
    };
    static const char bar[BAR_WIDTH + 1] = "########################################";
    const uint32_t count = r->blame.count;
    if (!count) return;
    double *shares = arena_array(a, double, count);
    uint32_t *tenths = arena_array(a, uint32_t, count);
    double total_s = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        shares[i] = r->blame.items[i].share;
        total_s += r->blame.items[i].time_s;
    }
    output_round_shares(a, shares, count, tenths);
    table t = table_make(a, columns, ARRAY_COUNT(columns));
    for (uint32_t i = 0; i < count; i++) {
        const blame_share *b = &r->blame.items[i];
        table_cell(&t, "%s%s", b->idle ? "idle: " : "", b->cause);
        table_cell(&t, "%u.%u %%", tenths[i] / 10, tenths[i] % 10);
        table_cell(&t, "%s", output_number(a, UNIT_TIME, b->time_s));
        table_cell(&t, "%.*s", (int)(b->share * BAR_WIDTH + 0.5), bar);
    }
    table_cell(&t, "all");
    table_cell(&t, "100.0 %%");
    table_cell(&t, "%s", output_number(a, UNIT_TIME, total_s));
    table_cell(&t, "%s", "");
    printf("\nwhere the time of a GPU goes in a step\n");
    table_print(&t, "  ", stdout);
}

static void print_memory(arena *a, const run_result *r)
{
    const stage_memory *m = &r->memory;
    const double need = (double)world_fullest(m)->total_bytes;
    const double have = (double)r->scenario->cluster.node.gpu.memory_bytes;
    const char *which = m->stages > 1 ? arena_format(a, " of stage %u, the fullest", m->fullest) : "";
    printf("\nmemory      %s of %s of each GPU%s, %s; by part: windtunnel show memory\n",
           output_bytes(a, need), output_bytes(a, have), which, output_percent(a, need / have));
}

static void print_summary(arena *a, const play_options *o, const run_result *r)
{
    const scenario *s = r->scenario;
    printf("%s\n%s\n", answer_job(a, s), answer_plan(a, s));
    if (r->state == RUN_CANCELLED)
        printf("\ncancelled after %u of %u steps; what follows is of those\n", r->steps_done, s->run.steps);
    printf("\n");
    print_metrics(a, r);
    print_blame(a, r);
    print_memory(a, r);
    answer_warnings(a, s, "warning     ", stdout);
    answer_assumptions(a, &r->assumptions, o->verbose, stdout);
    printf("played      %u step%s, %s events in %s\n", r->steps_done, r->steps_done == 1 ? "" : "s",
           output_count(a, r->counters.events), output_number(a, UNIT_TIME, r->wall_s));
    if (r->state == RUN_DONE) printf("digest      %016" PRIx64 "\n", r->digest);
    if (o->output) printf("database    %s, %s rows\n", o->output, output_count(a, r->counters.trace_rows));
}

// ---- for machines

static void print_json_lists(json_writer *j, const run_result *r)
{
    answer_summary_json(j, &r->summary);
    json_array(j, "blame");
    for (uint32_t i = 0; i < r->blame.count; i++) {
        json_object(j, NULL);
        json_text(j, "cause", r->blame.items[i].cause);
        json_bool(j, "idle", r->blame.items[i].idle);
        json_number(j, "share", r->blame.items[i].share);
        json_number(j, "time_s", r->blame.items[i].time_s);
        json_close(j);
    }
    json_close(j);
    answer_memory_json(j, r->scenario, &r->memory);
    answer_assumptions_json(j, &r->assumptions);
}

static void print_json(arena *a, const play_options *o, const run_result *r)
{
    const run_counters *c = &r->counters;
    json_writer j = json_make(stdout);
    json_object(&j, NULL);
    json_text(&j, "scenario", r->scenario->file);
    json_text(&j, "job", answer_job(a, r->scenario));
    json_text(&j, "plan", answer_plan(a, r->scenario));
    json_text(&j, "state", run_state_words[r->state]);
    json_text(&j, "digest", r->state == RUN_DONE ? arena_format(a, "%016" PRIx64, r->digest) : NULL);
    json_count(&j, "steps_done", r->steps_done);
    json_count(&j, "steps", r->scenario->run.steps);
    answer_warnings_json(&j, a, r->scenario);
    print_json_lists(&j, r);
    json_object(&j, "counters");
    json_count(&j, "events", c->events);
    json_count(&j, "collectives", c->collectives);
    json_count(&j, "messages", c->messages);
    json_count(&j, "plan_hits", c->plan_hits);
    json_count(&j, "transfers", c->transfers);
    json_count(&j, "bytes_sent", c->bytes_sent);
    json_count(&j, "trace_rows", c->trace_rows);
    json_count(&j, "pending_high_water", c->pending_high_water);
    json_close(&j);
    json_object(&j, "run_env"); // what the same run may answer differently elsewhere
    json_text(&j, "output", o->output);
    json_number(&j, "wall_s", r->wall_s);
    json_number(&j, "cpu_s", r->cpu_s);
    json_count(&j, "arena_bytes", c->arena_bytes);
    json_count(&j, "peak_memory_bytes", os_peak_memory_bytes());
    json_close(&j);
    json_close(&j);
}

// ---- the command

static int answer(const command_call *call, const play_options *o, bool good, const run_result *r,
                  const sim_error *error)
{
    if (!good) return command_fail(call->arena, error, o->scenario.json, r);
    if (o->scenario.json)
        print_json(call->arena, o, r);
    else if (!o->quiet)
        print_summary(call->arena, o, r);
    return r->state == RUN_CANCELLED ? SIM_EXIT_INTERRUPTED : SIM_EXIT_OK;
}

static int run(const command_call *call)
{
    run_command_options all = { 0 };
    const play_options *const o = &all.play;
    text_list words;
    int exit_code;
    if (!command_parse(call, &all, &o->scenario.json, &words, &exit_code)) return exit_code;
    sim_error error = { 0 };
    const char *path = command_one_word(call, &words, "the scenario", &error);
    if (!path || !command_check_output(o, &error))
        return command_fail(call->arena, &error, o->scenario.json, NULL);

    progress shown = progress_make(!o->quiet);
    run_options wanted = command_play_options(call, o, path);
    wanted.progress = progress_show;
    wanted.owner = &shown;

    run_result r;
    os_catch_signals();
    const bool good = run_execute(&wanted, &r, &error);
    progress_clear(&shown);
    exit_code = answer(call, o, good, &r, &error);
    run_free(&r);
    return exit_code;
}

const command command_run = {
    .name = "run",
    .usage = "SCENARIO [-o FILE] [options]",
    .purpose = "Plays the training steps of a scenario and says how long they take and where the time goes",
    .explanation = "Ctrl-C ends the run in good order: the steps that are done are summarised and stay in "
                   "the database.\n",
    .examples = "  windtunnel run scenarios/llama3-8b-8xh100.yaml\n"
                "  windtunnel run scenarios/llama3-8b-8xh100.yaml -o run.db --set training.global_batch=256\n"
                "  windtunnel run scenarios/llama3-8b-8xh100.yaml --json >summary.json\n",
    .options = options,
    .run = run,
};
