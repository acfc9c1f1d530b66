// SPDX-License-Identifier: GPL-3.0-or-later
// windtunnel show: what a scenario amounts to before it is played, how a pipeline is scheduled, what the catalogue holds.
#include "models/training/kernels.h"
#include "models/training/schedule.h"
#include "sim/words.h"
#include "tools/show.h"

typedef struct show_options {
    scenario_options scenario;
    schedule_options schedule;
    const char *stage;
    kernel_options kernels;
    bool dot;
} show_options;

enum { NOT_GIVEN = -1 };

static const option options[] = {
    SCENARIO_OPTIONS(show_options, scenario),
    OPTION_FLAG(show_options, dot, 0, "dot", "the fabric as text for Graphviz, to be drawn by dot"),
    OPTION_TEXT(show_options, stage, 0, "stage", "N",
                "the stage whose operations a plan shows; the slowest unless given"),
    OPTION_WORD(show_options, schedule.kind, 0, "schedule", "NAME", schedule_kind_words,
                "which schedule is shown; 1f1b unless given"),
    OPTION_TEXT(show_options, schedule.stages, 0, "stages", "P", "stages of the pipeline; 4 unless given"),
    OPTION_TEXT(show_options, schedule.micro_batches, 0, "micro-batches", "M",
                "micro-batches in a step; 8 unless given"),
    OPTION_TEXT(show_options, schedule.virtual_stages, 0, "virtual-stages", "V",
                "virtual stages in each, interleaved; 2 unless given"),
    OPTION_TEXT(show_options, kernels.tensor, 0, "tensor", "T", "GPUs that share a layer; 1 unless given"),
    OPTION_TEXT(show_options, kernels.micro_batch, 0, "micro-batch", "B",
                "sequences at once; 1 unless given"),
    OPTION_TEXT(show_options, kernels.sequence, 0, "sequence", "S",
                "tokens of each; those the model was made for unless given"),
    OPTION_WORD(show_options, kernels.attention, 0, "attention", "NAME", attention_words,
                "which attention; flash unless given"),
    OPTION_FLAG(show_options, kernels.sequence_parallel, 0, "sequence-parallel",
                "rows between the products are shared too"),
    OPTION_FLAG(show_options, kernels.unfused, 0, "unfused", "operation by operation"),
    OPTION_END
};

typedef struct subject {
    const char *name;
    bool wants_scenario, wants_job, wants_ends;
    bool (*show)(const show_request *q, sim_error *error);
} subject;

static const subject subjects[] = {
    { "memory", true, true, false, show_memory },         { "plan", true, true, false, show_plan },
    { "fabric", true, false, false, show_fabric },        { "path", true, false, true, show_path },
    { "schedule", false, false, false, show_schedule },   { "kernels", false, false, false, show_kernels },
    { "catalogue", false, false, false, show_catalogue },
};

static const subject *find_subject(const text_list *words, sim_error *error)
{
    const char *known[ARRAY_COUNT(subjects)];
    char shown[WORDS_SHOWN_SIZE];
    const char *word = words->count ? words->items[0] : "";
    for (uint32_t i = 0; i < ARRAY_COUNT(subjects); i++) {
        known[i] = subjects[i].name;
        if (strcmp(word, known[i]) == 0) return &subjects[i];
    }
    if (words->count)
        sim_fail(error, SIM_EXIT_INPUT, NULL, "there is no \"%s\" to show", words_show(shown, word));
    else
        sim_fail(error, SIM_EXIT_INPUT, NULL, "what is to be shown?");
    words_hint(error, word, known, ARRAY_COUNT(known), ARRAY_COUNT(known), "one of");
    return NULL;
}

// Of "SCENARIO A B" the last two.
static bool take_ends(text_list *words, show_request *request, sim_error *error)
{
    if (words->count != 3) {
        sim_fail(error, SIM_EXIT_INPUT, NULL, "a path is that of a scenario between two ends");
        return sim_hint(error, "windtunnel show path SCENARIO \"gpu 0\" \"node 2 nic 1\"");
    }
    request->ends[0] = words->items[1];
    request->ends[1] = words->items[2];
    words->count = 1;
    return true;
}

// What belongs to schedules alone is refused elsewhere, and the other way round: an option never does nothing.
static bool check_schedule_options(const show_options *o, const subject *s, sim_error *error)
{
    const schedule_options *p = &o->schedule;
    if (s->show != show_schedule) {
        const char *name = p->kind != NOT_GIVEN ? "schedule"
                           : p->stages          ? "stages"
                           : p->micro_batches   ? "micro-batches"
                           : p->virtual_stages  ? "virtual-stages"
                                                : NULL;
        if (!name) return true;
        sim_fail(error, SIM_EXIT_INPUT, NULL, "--%s goes with show schedule, not with show %s", name,
                 s->name);
        return sim_hint(error, "windtunnel show schedule --stages 4 --micro-batches 8");
    }
    if (!o->scenario.sets.count && !o->scenario.catalogue) return true;
    sim_fail(error, SIM_EXIT_INPUT, NULL, "--%s is about a scenario, and a schedule has none",
             o->scenario.sets.count ? "set" : "catalogue");
    return sim_hint(error, "windtunnel show schedule --stages 4 --micro-batches 8");
}

static bool check_stage(const show_options *o, const subject *s, sim_error *error)
{
    if (!o->stage || s->show == show_plan) return true;
    sim_fail(error, SIM_EXIT_INPUT, NULL, "--stage goes with show plan, not with show %s", s->name);
    return sim_hint(error, "windtunnel show plan SCENARIO --stage 0");
}

// The same of a layer's kernels.
static bool check_kernel_options(const show_options *o, const subject *s, sim_error *error)
{
    const kernel_options *k = &o->kernels;
    const char *name = k->tensor              ? "tensor"
                       : k->micro_batch       ? "micro-batch"
                       : k->sequence          ? "sequence"
                       : k->attention         ? "attention"
                       : k->sequence_parallel ? "sequence-parallel"
                       : k->unfused           ? "unfused"
                                              : NULL;
    if (s->show == show_kernels && o->scenario.sets.count)
        return sim_fail(error, SIM_EXIT_INPUT, NULL, "--set is about a scenario, and kernels have none");
    if (s->show == show_kernels || !name) return true;
    sim_fail(error, SIM_EXIT_INPUT, NULL, "--%s goes with show kernels, not with show %s", name, s->name);
    return sim_hint(error, "windtunnel show kernels llama3-8b h100-sxm --tensor 2");
}

// Model and GPU.
static bool take_pair(const text_list *words, show_request *request, sim_error *error)
{
    if (words->count != 2) {
        sim_fail(error, SIM_EXIT_INPUT, NULL, "kernels are those of a model on a GPU");
        return sim_hint(error, "windtunnel show kernels llama3-8b h100-sxm");
    }
    request->ends[0] = words->items[0];
    request->ends[1] = words->items[1];
    return true;
}

static bool show(const command_call *call, const show_request *q, const subject *s, const text_list *rest,
                 sim_error *error)
{
    show_request request = *q;
    if (request.dot && s->show != show_fabric) {
        sim_fail(error, SIM_EXIT_INPUT, NULL, "--dot draws a fabric, not a %s", s->name);
        return sim_hint(error, "windtunnel show fabric SCENARIO --dot");
    }
    if (request.dot && request.options->json)
        return sim_fail(error, SIM_EXIT_INPUT, NULL, "--dot and --json are two forms of one answer") ||
               sim_hint(error, "leave one of them out");
    if (s->show == show_schedule) {
        if (rest->count == 0) return s->show(&request, error);
        char shown[WORDS_SHOWN_SIZE];
        sim_fail(error, SIM_EXIT_INPUT, NULL, "one word too many: \"%s\"", words_show(shown, rest->items[0]));
        return sim_hint(error, "a schedule has no scenario: windtunnel show schedule --schedule gpipe");
    }
    if (s->show == show_kernels) return take_pair(rest, &request, error) && s->show(&request, error);
    if (!s->wants_scenario) {
        if (rest->count > 1) return command_one_word(call, rest, "an entry of the catalogue", error) != NULL;
        request.entry = rest->count ? rest->items[0] : NULL;
        return s->show(&request, error);
    }
    text_list scenario_word = *rest;
    if (s->wants_ends && !take_ends(&scenario_word, &request, error)) return false;
    const char *path = command_one_word(call, &scenario_word, "the scenario", error);
    if (!path) return false;
    const run_options wanted = command_run_options(q->options, path);
    return run_load(&wanted, s->wants_job, q->result, error) && s->show(&request, error);
}

static int run(const command_call *call)
{
    show_options o = { .schedule.kind = NOT_GIVEN };
    text_list words;
    int exit_code;
    if (!command_parse(call, &o, &o.scenario.json, &words, &exit_code)) return exit_code;
    sim_error error = { 0 };
    run_result r = { 0 };
    const subject *s = find_subject(&words, &error);
    const bool sound = s && check_schedule_options(&o, s, &error) && check_stage(&o, s, &error) &&
                       check_kernel_options(&o, s, &error);
    if (o.schedule.kind == NOT_GIVEN) o.schedule.kind = SCHEDULE_1F1B;
    const show_request request = { .arena = call->arena,
                                   .options = &o.scenario,
                                   .result = &r,
                                   .dot = o.dot,
                                   .schedule = &o.schedule,
                                   .stage = o.stage,
                                   .kernels = &o.kernels };
    const text_list rest = { .items = words.items + (s ? 1 : 0), .count = s ? words.count - 1 : 0 };
    exit_code = SIM_EXIT_OK;
    if (!sound || !show(call, &request, s, &rest, &error))
        exit_code = command_fail(call->arena, &error, o.scenario.json, &r);
    run_free(&r);
    return exit_code;
}

const command command_show = {
    .name = "show",
    .usage = "memory|plan|fabric SCENARIO [options]\n       windtunnel show path SCENARIO A B [options]\n"
             "       windtunnel show schedule [options]\n"
             "       windtunnel show kernels MODEL GPU [options]\n"
             "       windtunnel show catalogue [FOLDER/NAME] [options]",
    .purpose = "Shows the memory, the plan, the fabric or a path of a scenario, a schedule, kernels, or the "
               "catalogue "
               "of parts",
    .explanation =
        "  memory     bytes on each GPU, by part\n"
        "  plan       groups of ranks, stages, and of one stage passes, operations with times, buckets, "
        "kernels\n"
        "  fabric     switches, NICs and links, bisection, and the path from the first GPU to the last; the "
        "rate of\n"
        "             a NIC is that of each of its cables\n"
        "  path       links between two ends, such as \"gpu 3\", \"node 2 nic 1\" or a host's number\n"
        "  schedule   the order of passes in a pipeline, drawn, with its bubble and micro-batches in "
        "flight;\n"
        "             it has no scenario\n"
        "  kernels    what a GPU runs for a layer, forward and backward: shape, time, what bounds it\n"
        "  catalogue  what parts there are; with FOLDER/NAME, the numbers of one and their sources\n",
    .examples =
        "  windtunnel show memory scenarios/llama3-8b-8xh100.yaml --set training.micro_batch=2\n"
        "  windtunnel show plan scenarios/llama3-8b-8xh100.yaml\n"
        "  windtunnel show plan scenarios/llama3.1-405b-16384xh100.yaml --stage 0\n"
        "  windtunnel show fabric scenarios/examples/gpt3-2.7b-2xdgx-a100.yaml --dot >fabric.dot\n"
        "  windtunnel show path scenarios/examples/gpt3-2.7b-2xdgx-a100.yaml \"gpu 0\" \"node 1 gpu 5\"\n"
        "  windtunnel show schedule --schedule interleaved-1f1b --stages 4 --micro-batches 8 "
        "--virtual-stages 2\n"
        "  windtunnel show kernels llama3-70b h100-sxm --tensor 8 --attention fa3\n"
        "  windtunnel show catalogue gpus/h100-sxm\n",
    .options = options,
    .run = run,
};
