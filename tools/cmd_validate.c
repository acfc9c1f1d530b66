// SPDX-License-Identifier: GPL-3.0-or-later
// windtunnel validate: predictions beside published or one's own measurements.
#include "sim/os.h"
#include "sim/words.h"
#include "tools/progress.h"
#include "tools/validate.h"
#include "validate/folder.h"

typedef struct validate_command {
    validate_request request;
    const char *source, *row, *every, *jobs;
} validate_command;

static const option options[] = {
    OPTION_TEXT(validate_command, request.data, 0, "data", "FILE",
                "a table with the columns of the published ones, instead of them"),
    OPTION_FLAG(validate_command, request.rows, 0, "rows",
                "kernels, collectives: list every row, greatest errors first"),
    OPTION_TEXT(validate_command, source, 0, "source", "NAME",
                "training: only the rows of one source; collectives: or one run, * stands for any text"),
    OPTION_TEXT(validate_command, every, 0, "every", "N",
                "training: only the first row of each source, and then every Nth"),
    OPTION_TEXT(
        validate_command, row, 0, "explain", "ROW",
        "training: one row, its scenario, where its time goes, its memory, and what its time depends on"),
    OPTION_TEXT(validate_command, jobs, 'j', "jobs", "N",
                "training, collectives: so many played at once, each by a process; 1 unless given"),
    OPTION_TEXT(validate_command, request.results, 0, "results", "FILE",
                "training, collectives: write one line for each row into this CSV table"),
    OPTION_TEXT(validate_command, request.measured, 0, "measured", "DIR",
                "the folder of measurements to use"),
    OPTION_TEXT(validate_command, request.catalogue, 0, "catalogue", "DIR", "the catalogue of parts to use"),
    OPTION_FLAG(validate_command, request.json, 0, "json", "print one JSON object, for machines"),
    OPTION_FLAG(validate_command, request.quiet, 'q', "quiet",
                "training, collectives: print neither tables nor progress"),
    OPTION_END
};

typedef struct suite {
    const char *name;
    bool (*run)(const validate_request *q, sim_error *error);
} suite;
static const suite suites[] = { { "kernels", validate_kernels },
                                { "network", validate_network },
                                { "training", validate_training },
                                { "collectives", validate_collectives } };

static const suite *find_suite(const char *word, sim_error *error)
{
    const char *known[ARRAY_COUNT(suites)];
    char shown[WORDS_SHOWN_SIZE];
    for (uint32_t i = 0; i < ARRAY_COUNT(suites); i++) {
        known[i] = suites[i].name;
        if (strcmp(word, known[i]) == 0) return &suites[i];
    }
    sim_fail(error, SIM_EXIT_INPUT, NULL, "there is no suite \"%s\"", words_show(shown, word));
    words_hint(error, word, known, ARRAY_COUNT(known), ARRAY_COUNT(known), "one of");
    return NULL;
}

const char *validate_measured(arena *a, const char *given, sim_error *error)
{
    const char *folder = given ? NULL : validate_folder(a, error);
    const char *directory = given ? given : folder ? arena_format(a, "%s/measured", folder) : NULL;
    if (!directory || os_is_directory(directory)) return directory;
    sim_fail(error, SIM_EXIT_INPUT, NULL, "the folder of measurements \"%s\" is not a directory", directory);
    sim_hint(error, "give it by --measured: validate/measured of the source tree");
    return NULL;
}

typedef struct option_use { // of one that not every suite has
    const char *name;
    bool given, training, collectives, kernels;
} option_use;

static bool has_use(const option_use *u, const suite *s)
{
    if (s->run == validate_training) return u->training;
    if (s->run == validate_collectives) return u->collectives;
    return s->run == validate_kernels && u->kernels;
}

// An option never does nothing.
static bool check_use(const option_use *u, const suite *s, sim_error *error)
{
    if (!u->given || has_use(u, s)) return true;
    const bool two = u->training + u->collectives + u->kernels == 2;
    sim_fail(error, SIM_EXIT_INPUT, NULL, "--%s goes with validate %s%s%s", u->name,
             u->training ? "training" : "kernels", two ? " and " : "", two ? "collectives" : "");
    return u->kernels && sim_hint(error, "validate %s lists every row anyway", s->name);
}

static bool check_options(const validate_command *o, const suite *s, sim_error *error)
{
    const option_use uses[] = {
        { .name = "source", .given = o->source, .training = true, .collectives = true },
        { .name = "explain", .given = o->row, .training = true },
        { .name = "every", .given = o->every, .training = true },
        { .name = "jobs", .given = o->jobs, .training = true, .collectives = true },
        { .name = "results", .given = o->request.results, .training = true, .collectives = true },
        { .name = "quiet", .given = o->request.quiet, .training = true, .collectives = true },
        { .name = "rows", .given = o->request.rows, .kernels = true, .collectives = true },
    };
    const char *of_many = o->source            ? "source"
                          : o->request.results ? "results"
                          : o->every           ? "every"
                          : o->jobs            ? "jobs"
                                               : NULL;
    for (size_t i = 0; i < ARRAY_COUNT(uses); i++)
        if (!check_use(&uses[i], s, error)) return false;
    if (!o->row) return true;
    if (of_many) {
        sim_fail(error, SIM_EXIT_INPUT, NULL, "--%s goes with many rows, --explain with one", of_many);
        return sim_hint(error, "leave one of them out");
    }
    if (!o->request.json) return true;
    sim_fail(error, SIM_EXIT_INPUT, NULL, "--explain is for people, --json for machines");
    return sim_hint(error, "leave one of them out");
}

// Results replace their file, so it is never the table that they are the results of.
static bool check_results(const validate_request *q, const suite *s, sim_error *error)
{
    const char *measured = q->data || !q->results ? NULL : validate_measured(q->arena, q->measured, error);
    const char *data = q->data    ? q->data
                       : measured ? arena_format(q->arena, "%s/%s.csv", measured, s->name)
                                  : "";
    if (sim_failed(error)) return false;
    if (!q->results || !os_is_same_file(q->results, data)) return true;
    sim_fail(error, SIM_EXIT_INPUT, NULL, "the results \"%s\" are the table of measurements itself",
             q->results);
    return sim_hint(error, "give --results another file");
}

static bool answer(const validate_command *o, const suite *s, sim_error *error)
{
    validate_request q = o->request;
    progress shown = progress_make(!q.quiet);
    shown.started_s = os_wall_s();
    q.training = (training_options){ .data = q.data,
                                     .measured = q.measured,
                                     .catalogue_path = q.catalogue,
                                     .choice = { .source = o->source, .id = o->row },
                                     .progress = progress_show_cases,
                                     .owner = &shown };
    uint64_t jobs = 1, every = 0;
    if (!command_read_count("--jobs", o->jobs, 1024, &jobs, error) ||
        !command_read_count("--every", o->every, 1000000, &every, error))
        return false;
    q.training.jobs = (uint32_t)jobs;
    q.training.choice.every = (uint32_t)every;
    const bool good = o->row ? validate_explain(&q, error) : s->run(&q, error);
    progress_clear(&shown);
    return good;
}

static int run(const command_call *call)
{
    validate_command o = { 0 };
    text_list words;
    int exit_code;
    if (!command_parse(call, &o, &o.request.json, &words, &exit_code)) return exit_code;
    sim_error error = { 0 };
    o.request.arena = call->arena;
    os_catch_signals();
    const char *word = command_one_word(call, &words, "the suite", &error);
    const suite *s = word ? find_suite(word, &error) : NULL;
    if (s && check_options(&o, s, &error) && check_results(&o.request, s, &error) && answer(&o, s, &error))
        return SIM_EXIT_OK;
    // A "no" is said of a suite that has been printed, also as JSON, of which there is one object.
    return command_fail(call->arena, &error, o.request.json && error.exit_code != SIM_EXIT_NO, NULL);
}

const command command_validate = {
    .name = "validate",
    .usage = "kernels|network|training|collectives [options]",
    .purpose = "Holds predictions against measurements, misses included",
    .explanation =
        "  kernels    each measured product, attention and elementwise kernel beside the model of "
        "its kernel\n"
        "             set; fit: the set was fitted to this source, held: it was not\n"
        "  network    each measured latency, rate and effect of losses beside the same flow played; fit: "
        "the\n"
        "             catalogue has a number from the row, held: it has none\n"
        "  training   each measured training step beside the same step simulated; nothing is fitted to "
        "them. A row\n"
        "             that needs what is not modelled, or does not say what was run, is unknown, with "
        "the reason\n"
        "  collectives  each published run of nccl-tests and its like beside the same collectives played, "
        "by class\n"
        "             of system and band of sizes; fit: constants were read off the run; held: they were "
        "not\n"
        "  Where no row at all is scored the exit code is 1. A table of training steps with a value "
        "that no\n"
        "  measurement can have is refused, with 2.\n",
    .examples =
        "  windtunnel validate kernels\n"
        "  windtunnel validate kernels --rows --json\n"
        "  windtunnel validate network\n"
        "  windtunnel validate training --jobs 2\n"
        "  windtunnel validate collectives --jobs 2\n"
        "  windtunnel validate training --explain korth-004\n"
        "  windtunnel validate training --data validate/measured/training.csv --source Korthikanti2022\n",
    .options = options,
    .run = run,
};
