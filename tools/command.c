// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/command.h"
#include "sim/words.h"
#include "tools/answer.h"
#include <inttypes.h>

void command_print_help(const command *c, FILE *out)
{
    fprintf(out, "usage: windtunnel %s %s\n\n%s.\n%s\n", c->name, c->usage, c->purpose, c->explanation);
    options_print(c->options, out);
    fprintf(out, "\nexamples:\n%s", c->examples);
}

bool command_parse(const command_call *call, void *out, const bool *json, text_list *words, int *exit_code)
{
    sim_error error = { 0 };
    bool help;
    const bool fine = options_parse(call->arena, call->command->options, call->arguments, call->count, out,
                                    words, &help, &error);
    if (help) {
        command_print_help(call->command, stdout);
        *exit_code = SIM_EXIT_OK;
        return false;
    }
    if (!fine) *exit_code = command_fail(call->arena, &error, *json, NULL);
    return fine;
}

bool command_read_count(const char *name, const char *text, uint64_t most, uint64_t *out, sim_error *error)
{
    if (!text) return true;
    const sim_place place = sim_place_of_option(name, text);
    if (!units_parse_count(text, out, &place, error)) return false;
    if (0 < *out && *out <= most) return true;
    return sim_fail(error, SIM_EXIT_INPUT, &place, "this must be between 1 and %" PRIu64, most);
}

const char *command_one_word(const command_call *call, const text_list *words, const char *what,
                             sim_error *error)
{
    char shown[WORDS_SHOWN_SIZE];
    if (words->count == 1) return words->items[0];
    if (words->count == 0) {
        sim_fail(error, SIM_EXIT_INPUT, NULL, "%s is missing", what);
        sim_hint(error, "windtunnel %s --help shows how it is used", call->command->name);
    } else {
        sim_fail(error, SIM_EXIT_INPUT, NULL, "one word too many: \"%s\"",
                 words_show(shown, words->items[1]));
        sim_hint(error, "windtunnel %s wants one, %s", call->command->name, what);
    }
    return NULL;
}

int command_fail(arena *a, const sim_error *error, bool json, const run_result *result)
{
    // What has been built fits: a deadlock is a "no" too.
    const bool about_memory = result && result->has_memory && !result->world &&
                              error->exit_code == SIM_EXIT_NO;
    fflush(stdout);
    sim_error_print(error, stderr);
    if (about_memory) {
        fputc('\n', stderr);
        answer_memory(a, result->scenario, &result->memory, stderr);
    }
    if (json) {
        json_writer j = json_make(stdout);
        json_object(&j, NULL);
        json_error(&j, error);
        if (about_memory) answer_memory_json(&j, result->scenario, &result->memory);
        json_close(&j);
    }
    return error->exit_code;
}

run_options command_run_options(const scenario_options *options, const char *scenario_path)
{
    return (run_options){
        .scenario_path = scenario_path,
        .sets = options->sets.items,
        .set_count = options->sets.count,
        .catalogue_path = options->catalogue,
    };
}

bool command_check_output(const play_options *options, sim_error *error)
{
    if (options->output || !(options->force || options->trace_anyway)) return true;
    sim_fail(error, SIM_EXIT_INPUT, NULL, "--%s speaks of an output, but there is none",
             options->force ? "force" : "trace-anyway");
    return sim_hint(error, "--output FILE");
}

run_options command_play_options(const command_call *call, const play_options *options,
                                 const char *scenario_path)
{
    run_options wanted = command_run_options(&options->scenario, scenario_path);
    wanted.output_path = options->output;
    wanted.force = options->force;
    wanted.trace_anyway = options->trace_anyway;
    wanted.hints =
        (run_hints){ "--force replaces a database of windtunnel and its logs; or choose another name",
                     "--trace-anyway writes them all" };
    wanted.arguments = call->line;
    wanted.queue = (queue_kind)options->queue;
    wanted.reverse_phases = options->reverse_phases;
    return wanted;
}
