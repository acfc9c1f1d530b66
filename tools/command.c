// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/command.h"
#include "sim/words.h"
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

// ---- parts of answers

const char *answer_cluster(arena *a, const scenario *s)
{
    const char *text = "";
    for (uint32_t g = 0; g < s->cluster.group_count; g++) {
        const node_group *group = &s->cluster.groups[g];
        const char *name = output_printable(a, group->node->name), *and = g ? ", " : "";
        if (group->node->gpus)
            text = arena_format(a, "%s%s%" PRIu64 " x %s in %u x %s", text, and,
                                (uint64_t)group->count * group->node->gpus,
                                output_printable(a, group->node->gpu.name), group->count, name);
        else
            text = arena_format(a, "%s%s%u x bare host with %u x NIC", text, and, group->count,
                                group->node->nics);
    }
    return text;
}

const char *answer_job(arena *a, const scenario *s)
{
    const char *part = s->plan.gpus < scenario_gpus(s) ? arena_format(a, "%u of ", s->plan.gpus) : "";
    return arena_format(a, "%s on %s%s", output_printable(a, s->model.name), part, answer_cluster(a, s));
}

const char *answer_plan(arena *a, const scenario *s)
{
    static const char *const shardings[] = { "no sharding", "zero-1", "zero-2", "zero-3" };
    static const char *const recomputes[] = { "no recompute", "selective recompute", "full recompute" };
    const plan_def *p = &s->plan;
    const training_def *t = &s->training;
    const char *tensor = p->tensor > 1 ? arena_format(a, "tensor %u, ", p->tensor) : "";
    const char *pipeline = p->pipeline > 1 ? arena_format(a, "pipeline %u, ", p->pipeline) : "";
    const uint64_t micro_batches = scenario_micro_batches(s);
    return arena_format(a, "%s%sdata %u, %s, %s, %s micro-batch%s of %s x %s tokens, %s", tensor, pipeline,
                        p->data, shardings[p->sharding], recomputes[p->recompute],
                        output_count(a, micro_batches), micro_batches == 1 ? "" : "es",
                        output_count(a, t->micro_batch), output_count(a, t->sequence_length),
                        dtype_words[t->precision]);
}

void answer_warnings(arena *a, const scenario *s, const char *before, FILE *out)
{
    text_list warnings = { 0 };
    scenario_warnings(s, a, &warnings);
    for (uint32_t i = 0; i < warnings.count; i++)
        fprintf(out, "%s%s\n", before, output_printable(a, warnings.items[i]));
}

void answer_warnings_json(json_writer *j, arena *a, const scenario *s)
{
    text_list warnings = { 0 };
    scenario_warnings(s, a, &warnings);
    json_array(j, "warnings");
    for (uint32_t i = 0; i < warnings.count; i++)
        json_text(j, NULL, warnings.items[i]);
    json_close(j);
}

const char *answer_value(arena *a, const summary_value *v)
{
    if (!v->known) return "unknown";
    if (strcmp(v->unit, "1") == 0) return output_percent(a, v->value);
    if (v->kind == UNIT_BYTES) return output_bytes(a, v->value);
    if (v->kind == UNIT_NONE && v->value >= 1000.0) return output_count(a, (uint64_t)(v->value + 0.5));
    return output_number(a, v->kind, v->value);
}

void answer_assumptions(arena *a, const assumption_array *assumptions, bool verbose, FILE *out)
{
    static const table_column columns[] = { { NULL, false }, { NULL, false }, { NULL, false } };
    const uint32_t count = assumptions->count;
    if (!count) return;
    fprintf(out, "assumed     %u value%s of the catalogue%s\n", count, count == 1 ? "" : "s",
            verbose ? ":" : ", neither measured nor published; --verbose lists them");
    if (!verbose) return;
    table t = table_make(a, columns, ARRAY_COUNT(columns));
    for (uint32_t i = 0; i < count; i++) {
        table_cell(&t, "%s", assumptions->items[i].path);
        table_cell(&t, "%s", assumptions->items[i].value);
        table_cell(&t, "%s", assumptions->items[i].source ? assumptions->items[i].source : "");
    }
    table_print(&t, "  ", out);
}

void answer_summary_json(json_writer *j, const summary_array *summary)
{
    json_object(j, "summary");
    for (uint32_t i = 0; i < summary->count; i++) {
        const summary_value *v = &summary->items[i];
        json_object(j, v->metric);
        if (v->known)
            json_number(j, "value", v->value);
        else
            json_null(j, "value");
        json_text(j, "unit", v->unit);
        if (!v->known) json_text(j, "reason", v->reason);
        json_close(j);
    }
    json_close(j);
}

void answer_assumptions_json(json_writer *j, const assumption_array *assumptions)
{
    json_array(j, "assumed");
    for (uint32_t i = 0; i < assumptions->count; i++) {
        json_object(j, NULL);
        json_text(j, "path", assumptions->items[i].path);
        json_text(j, "value", assumptions->items[i].value);
        json_text(j, "source", assumptions->items[i].source);
        json_close(j);
    }
    json_close(j);
}
