// SPDX-License-Identifier: GPL-3.0-or-later
// windtunnel check: is a scenario sound, and does the job fit into memory?
#include "tools/answer.h"
#include "tools/command.h"

typedef struct check_options {
    scenario_options scenario;
} check_options;

static const option options[] = { SCENARIO_OPTIONS(check_options, scenario), OPTION_END };

static void print_verdict(arena *a, const run_result *r)
{
    const scenario *s = r->scenario;
    if (!s->has_model) {
        printf("ok: a cluster without a job: %s\n", answer_cluster(a, s));
        return;
    }
    const stage_memory *m = &r->memory;
    const char *which = m->stages > 1 ? arena_format(a, "of stage %u, the fullest, ", m->fullest) : "";
    printf("ok: %s; %s; each GPU %suses %s of %s\n", answer_job(a, s), answer_plan(a, s), which,
           output_bytes(a, (double)world_fullest(m)->total_bytes),
           output_bytes(a, (double)s->cluster.node.gpu.memory_bytes));
    answer_warnings(a, r->world, "warning: ", stdout);
}

static void print_json(arena *a, const run_result *r)
{
    const scenario *s = r->scenario;
    json_writer j = json_make(stdout);
    json_object(&j, NULL);
    json_text(&j, "scenario", s->file);
    json_bool(&j, "ok", true);
    json_text(&j, "cluster", answer_cluster(a, s));
    json_text(&j, "job", s->has_model ? answer_job(a, s) : NULL);
    json_text(&j, "plan", s->has_model ? answer_plan(a, s) : NULL);
    answer_warnings_json(&j, a, r->world);
    if (s->has_model) answer_memory_json(&j, s, &r->memory);
    json_close(&j);
}

static int run(const command_call *call)
{
    check_options o = { 0 };
    text_list words;
    int exit_code;
    if (!command_parse(call, &o, &o.scenario.json, &words, &exit_code)) return exit_code;
    sim_error error = { 0 };
    const char *path = command_one_word(call, &words, "the scenario", &error);
    if (!path) return command_fail(call->arena, &error, o.scenario.json, NULL);

    run_result r = { 0 };
    const run_options wanted = command_run_options(&o.scenario, path);
    if (!run_check(&wanted, false, &r, &error))
        exit_code = command_fail(call->arena, &error, o.scenario.json, &r);
    else if (o.scenario.json)
        print_json(call->arena, &r);
    else
        print_verdict(call->arena, &r);
    run_free(&r);
    return error.exit_code;
}

const command command_check = {
    .name = "check",
    .usage = "SCENARIO [options]",
    .purpose = "Reads a scenario, checks it and says whether the job fits into memory",
    .explanation = "",
    .examples = "  windtunnel check scenarios/llama3-8b-8xh100.yaml --set training.micro_batch=2\n",
    .options = options,
    .run = run,
};
