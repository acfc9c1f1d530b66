// SPDX-License-Identifier: GPL-3.0-or-later
// windtunnel run: plays a scenario and says how long a step takes and where the time goes.
#include "sim/os.h"
#include "tools/answer_run.h"
#include "tools/progress.h"

typedef struct run_command_options {
    play_options play;
} run_command_options;

static const option options[] = { PLAY_OPTIONS(run_command_options, play), OPTION_END };

static int answer(const command_call *call, const play_options *o, bool good, const run_result *r,
                  const sim_error *error)
{
    if (!good) return command_fail(call->arena, error, o->scenario.json, r);
    if (o->scenario.json)
        answer_run_json(call->arena, o, r);
    else if (!o->quiet)
        answer_run(call->arena, o, r);
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
                "  windtunnel run scenarios/llama3-8b-8xh100.yaml --json >summary.json\n"
                "  windtunnel run scenarios/llama3-70b-64xh100.yaml\n",
    .options = options,
    .run = run,
};
