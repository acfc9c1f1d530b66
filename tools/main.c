// SPDX-License-Identifier: GPL-3.0-or-later
// The program: finds the subcommand, and sees to it that what was printed has arrived.
#include "sim/os.h"
#include "sim/words.h"
#include "tools/command.h"
#include <errno.h>
#include <gsl/gsl_errno.h>
#include <string.h>

static const command *const commands[] = { &command_check,   &command_show,       &command_run,
                                           &command_traffic, &command_collective, &command_validate };

// Commands of versions to come: named, so that whoever has read about them hears that it is too early.
static const char *const later[] = { "job",    "sweep",  "search",    "storage", "report", "compare",
                                     "export", "import", "calibrate", "schema",  "doctor" };

static void print_help(FILE *out)
{
    fprintf(out, "usage: windtunnel COMMAND [options]\n\n"
                 "Simulates the training of large language models on a cluster of GPUs.\n\ncommands:\n");
    for (uint32_t i = 0; i < ARRAY_COUNT(commands); i++)
        fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->purpose);
    fprintf(out, "\n  windtunnel COMMAND --help   options and examples\n"
                 "  windtunnel --version\n\n"
                 "example:\n  windtunnel run scenarios/llama3-8b-8xh100.yaml -o run.db\n\n"
                 "exit codes: 0 fine; 1 the answer is no, such as a job that does not fit into memory; 2 the "
                 "input or\n"
                 "the environment is at fault; 3 a bug of ours; 130 interrupted\n");
}

static int fail_unknown(arena *a, const char *word)
{
    const char *known[ARRAY_COUNT(commands)];
    char shown[WORDS_SHOWN_SIZE], list[128];
    sim_error error = { 0 };
    for (uint32_t i = 0; i < ARRAY_COUNT(commands); i++)
        known[i] = commands[i]->name;
    words_list(list, sizeof(list), known, ARRAY_COUNT(known), ARRAY_COUNT(known));
    for (uint32_t i = 0; i < ARRAY_COUNT(later); i++) {
        if (strcmp(later[i], word) != 0) continue;
        sim_fail(&error, SIM_EXIT_INPUT, NULL, "the command \"%s\" is not in this version", word);
        sim_hint(&error, "commands: %s", list);
        return command_fail(a, &error, false, NULL);
    }
    if (word[0] == '-')
        sim_fail(&error, SIM_EXIT_INPUT, NULL, "unknown option %s", words_show(shown, word));
    else
        sim_fail(&error, SIM_EXIT_INPUT, NULL, "unknown command \"%s\"", words_show(shown, word));
    const char *nearest = words_nearest(word, known, ARRAY_COUNT(known));
    if (nearest)
        sim_hint(&error, "did you mean \"%s\"?", nearest);
    else
        sim_hint(&error, "commands: %s; windtunnel --help", list);
    return command_fail(a, &error, false, NULL);
}

static const char *join_words(arena *a, const char *const *words, uint32_t count)
{
    const char *line = "";
    for (uint32_t i = 0; i < count; i++)
        line = arena_format(a, "%s%s%s", line, i ? " " : "", words[i]);
    return line;
}

static int call(arena *a, const char *const *words, uint32_t count)
{
    const char *word = count ? words[0] : "";
    if (!count) {
        print_help(stderr);
        return SIM_EXIT_INPUT;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
        print_help(stdout);
        return SIM_EXIT_OK;
    }
    if (strcmp(word, "--version") == 0) {
        printf("windtunnel %s\n", WINDTUNNEL_VERSION);
        return SIM_EXIT_OK;
    }
    for (uint32_t i = 0; i < ARRAY_COUNT(commands); i++) {
        if (strcmp(commands[i]->name, word) != 0) continue;
        const command_call this_call = { .command = commands[i],
                                         .arena = a,
                                         .arguments = words + 1,
                                         .count = count - 1,
                                         .line = join_words(a, words, count) };
        return commands[i]->run(&this_call);
    }
    return fail_unknown(a, word);
}

// A full disk or a reader that has gone shows here at the latest; without this, half an answer would pass for one.
static int finish_output(int exit_code)
{
    errno = 0;
    const bool failed = fflush(stdout) != 0 || ferror(stdout);
    if (!failed) return exit_code;
    fprintf(stderr, "windtunnel: error: cannot write to standard output%s%s\n", errno ? ": " : "",
            errno ? strerror(errno) : "");
    return exit_code == SIM_EXIT_OK ? SIM_EXIT_INPUT : exit_code;
}

int main(int argc, char **argv)
{
    gsl_set_error_handler_off(); // every result is checked instead
    os_ignore_broken_pipe();     // it is an error of writing like others
    arena *a = arena_create("command");
    if (!a) {
        fprintf(stderr, "windtunnel: error: out of memory\n");
        return SIM_EXIT_INPUT;
    }
    const int exit_code = argc > 0 ? call(a, (const char *const *)argv + 1, (uint32_t)argc - 1)
                                   : SIM_EXIT_INPUT;
    arena_destroy(a);
    return finish_output(exit_code);
}
