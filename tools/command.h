// SPDX-License-Identifier: GPL-3.0-or-later
// tools/command.h: what a subcommand is, and the options that several of them share. A subcommand parses, calls a library,
// prints; it returns the exit code (README.md lists them).
#pragma once
#include "models/run.h"
#include "tools/options.h"
#include "tools/output.h"

typedef struct command command;
typedef struct command_call { // how it was called
    const command *command;
    arena *arena;                 // for as long as the command runs
    const char *const *arguments; // behind the command's name
    uint32_t count;
    const char *line; // all words as the user typed them
} command_call;

struct command {
    const char *name;
    const char *usage;       // what follows "windtunnel NAME"
    const char *purpose;     // one line
    const char *explanation; // further lines, each ended; "" for none
    const char *examples;    // lines, each ended; they work from the root of the source tree
    const option *options;
    int (*run)(const command_call *call);
};
extern const command command_check, command_show, command_run, command_traffic, command_collective,
    command_validate;

// Parses the call into out and words. False when the command has ended with *exit_code: help was printed, or an error.
// json: the member of out that says whether errors are also told as JSON.
bool command_parse(const command_call *call, void *out, const bool *json, text_list *words, int *exit_code);
// The only word of a command that wants one; NULL and the error when there are none or several.
const char *command_one_word(const command_call *call, const text_list *words, const char *what,
                             sim_error *error);
// The value of an option that counts, 1 to most; text NULL, for it was not given: *out stays.
bool command_read_count(const char *name, const char *text, uint64_t most, uint64_t *out, sim_error *error);
// Tells an error on stderr and, with json, as an object on stdout; of a job that does not fit (result, may be NULL) also the
// table of its memory by part. Returns the exit code.
int command_fail(arena *a, const sim_error *error, bool json, const run_result *result);
void command_print_help(const command *c, FILE *out);

typedef struct scenario_options { // of every command that reads a scenario
    text_list sets;
    const char *catalogue;
    bool json;
} scenario_options;
#define SCENARIO_OPTIONS(struct_, field_)                                                                    \
    OPTION_LIST(struct_, field_.sets, 0, "set", "KEY=VALUE",                                                 \
                "override a key: --set plan.data=4; repeatable"),                                            \
        OPTION_TEXT(struct_, field_.catalogue, 0, "catalogue", "DIR", "the catalogue of parts to use"),      \
        OPTION_FLAG(struct_, field_.json, 0, "json", "print one JSON object, for machines")

run_options command_run_options(const scenario_options *options, const char *scenario_path);

typedef struct play_options { // of every command that plays a scenario
    scenario_options scenario;
    const char *output;
    bool force, trace_anyway, quiet, verbose, reverse_phases;
    int queue; // queue_kind
} play_options;
#define PLAY_OPTIONS(struct_, field_)                                                                        \
    OPTION_TEXT(struct_, field_.output, 'o', "output", "FILE",                                               \
                "write every detail into this SQLite database"),                                             \
        OPTION_FLAG(struct_, field_.force, 'f', "force", "replace FILE, the database of an earlier run"),    \
        OPTION_FLAG(struct_, field_.trace_anyway, 0, "trace-anyway",                                         \
                    "write also what is estimated to be very large"),                                        \
        SCENARIO_OPTIONS(struct_, field_.scenario),                                                          \
        OPTION_FLAG(struct_, field_.verbose, 'v', "verbose",                                                 \
                    "list the assumed values that the result rests on"),                                     \
        OPTION_FLAG(struct_, field_.quiet, 'q', "quiet", "print neither summary nor progress"),              \
        OPTION_WORD(struct_, field_.queue, 0, "queue", NULL, queue_kind_words,                               \
                    "how pending events are kept", .for_tests = true),                                       \
        OPTION_FLAG(struct_, field_.reverse_phases, 0, "reverse-phases",                                     \
                    "play the events of an instant backwards", .for_tests = true)

// Refuses options that speak of an output when there is none.
bool command_check_output(const play_options *options, sim_error *error);
run_options command_play_options(const command_call *call, const play_options *options,
                                 const char *scenario_path);
