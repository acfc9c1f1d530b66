// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/array.h"
#include "tests/support/near.h"
#include "tests/support/text.h"
#include "tools/options.h"

typedef struct settings {
    bool force, quiet;
    const char *output;
    text_list sets;
    int queue;
} settings;

static const char *const queues[] = { "bucket", "radix", NULL };
static const option options[] = {
    OPTION_FLAG(settings, force, 'f', "force", "replace FILE"),
    OPTION_FLAG(settings, quiet, 0, "quiet", "say nothing"),
    OPTION_TEXT(settings, output, 'o', "output", "FILE", "where to"),
    OPTION_LIST(settings, sets, 0, "set", "KEY=VALUE", "override a key"),
    OPTION_FOREIGN('n', "iters", "once is enough"),
    OPTION_WORD(settings, queue, 0, "queue", NULL, queues, "which one", .for_tests = true),
    OPTION_END,
};

enum { WORDS_MAX = 8 };
struct parse_case {
    const char *name;
    const char *arguments[WORDS_MAX];
    settings want; // sets are compared apart
    const char *sets[3], *words[3];
    bool help;
    const char *error; // whole, as it is printed; NULL: none
};

static const struct parse_case cases[] = {
    { "nothing", .arguments = { NULL } },
    { "a word", .arguments = { "a.yaml" }, .words = { "a.yaml" } },
    { "flags, by name and by letter", .arguments = { "-f", "--quiet" },
      .want = { .force = true, .quiet = true } },
    { "a value of its own", .arguments = { "--output", "x" }, .want = { .output = "x" } },
    { "a value behind =", .arguments = { "--output=x=y" }, .want = { .output = "x=y" } },
    { "an empty value", .arguments = { "--output=" }, .want = { .output = "" } },
    { "a letter and its value", .arguments = { "-o", "x" }, .want = { .output = "x" } },
    { "a letter with its value", .arguments = { "-ox" }, .want = { .output = "x" } },
    { "a dash alone is a value", .arguments = { "-o", "-" }, .want = { .output = "-" } },
    { "a dash alone is a word", .arguments = { "-" }, .words = { "-" } },
    { "lists keep their order", .arguments = { "--set", "a=1", "w", "--set=b=2" }, .sets = { "a=1", "b=2" },
      .words = { "w" } },
    { "a word of the list", .arguments = { "--queue", "radix" }, .want = { .queue = 1 } },
    { "-- ends the options", .arguments = { "-f", "--", "-o", "--" }, .want = { .force = true },
      .words = { "-o", "--" } },
    { "help", .arguments = { "a", "--help" }, .words = { "a" }, .help = true },
    { "help by letter", .arguments = { "-h", "-f" }, .want = { .force = true }, .help = true },

    { "an unknown option", .arguments = { "--ouptut", "x" }, .words = { "x" },
      .error = "windtunnel: error: unknown option --ouptut\n  hint: did you mean --output?\n" },
    { "one of another program", .arguments = { "-n", "20" }, .words = { "20" },
      .error = "windtunnel: error: there is no -n (--iters) here\n  hint: once is enough\n" },
    { "the same by its name", .arguments = { "--iters=20" },
      .error = "windtunnel: error: there is no -n (--iters) here\n  hint: once is enough\n" },
    { "no hint at one of another program", .arguments = { "--iter" },
      .error = "windtunnel: error: unknown option --iter\n  hint: --help lists the options\n" },
    { "an unknown option with a value", .arguments = { "--sett=a=1" },
      .error = "windtunnel: error: unknown option --sett=a=1\n  hint: did you mean --set?\n" },
    { "help is an option too", .arguments = { "--hepl" },
      .error = "windtunnel: error: unknown option --hepl\n  hint: did you mean --help?\n" },
    { "an option like no other", .arguments = { "--zzzzzz" },
      .error = "windtunnel: error: unknown option --zzzzzz\n  hint: --help lists the options\n" },
    { "a part of a name is not the option", .arguments = { "--out=x" },
      .error = "windtunnel: error: unknown option --out=x\n  hint: did you mean --output?\n" },
    { "an unknown letter", .arguments = { "-x" },
      .error = "windtunnel: error: unknown option -x\n  hint: --help lists the options\n" },
    { "letters of flags do not join", .arguments = { "-fo" },
      .error = "windtunnel: error: unknown option -fo\n  hint: --help lists the options\n" },
    { "a long unknown option is cut", .arguments = { "--0123456789012345678901234567890123456789" },
      .error = "windtunnel: error: unknown option --01234567890123456789012345678901234567...\n  hint: "
               "--help lists the options\n" },
    { "a missing value", .arguments = { "--output" },
      .error = "windtunnel: error: --output needs a value\n  hint: --output FILE\n" },
    { "a missing value before an option", .arguments = { "-o", "--force" }, .want = { .force = true },
      .error = "windtunnel: error: --output needs a value\n"
               "  hint: --output FILE; a value that begins with a dash is written --output=--force\n" },
    { "a value for a flag", .arguments = { "--force=1" },
      .error = "windtunnel: error: --force takes no value\n" },
    { "one text twice", .arguments = { "-o", "x", "--output=y" }, .want = { .output = "x" },
      .error = "windtunnel: error: --output is given twice\n" },
    { "one word twice", .arguments = { "--queue=radix", "--queue=radix" }, .want = { .queue = 1 },
      .error = "windtunnel: error: --queue is given twice\n" },
    { "a word that is none", .arguments = { "--queue=raddix" },
      .error = "windtunnel: error: --queue cannot be \"raddix\"\n  hint: did you mean \"radix\"?\n" },
    { "a word like no other", .arguments = { "--queue=heap" },
      .error = "windtunnel: error: --queue cannot be \"heap\"\n  hint: one of: bucket, radix\n" },
    { "the first error stands, flags behind it count", .arguments = { "--zzzzzz", "--force", "-x" },
      .want = { .force = true },
      .error = "windtunnel: error: unknown option --zzzzzz\n  hint: --help lists the options\n" },
};

static void assert_list(const text_list *got, const char *const *want)
{
    uint32_t count = 0;
    while (want[count])
        count++;
    assert_int_equal(got->count, count);
    for (uint32_t i = 0; i < count; i++)
        assert_string_equal(got->items[i], want[i]);
}

static void arguments_are_read(void **state)
{
    const struct parse_case *c = *state;
    arena *a = arena_create("test");
    settings got = { 0 };
    text_list words;
    bool help;
    sim_error error = { 0 };
    uint32_t count = 0;
    while (c->arguments[count])
        count++;
    const bool fine = options_parse(a, options, c->arguments, count, &got, &words, &help, &error);
    assert_int_equal(fine, !c->error);
    if (c->error) assert_error_prints(&error, c->error);
    if (c->error) assert_int_equal(error.exit_code, SIM_EXIT_INPUT);
    assert_int_equal(got.force, c->want.force);
    assert_int_equal(got.quiet, c->want.quiet);
    assert_int_equal(got.queue, c->want.queue);
    assert_int_equal(!got.output, !c->want.output);
    if (c->want.output) assert_string_equal(got.output, c->want.output);
    assert_list(&got.sets, c->sets);
    assert_list(&words, c->words);
    assert_int_equal(help, c->help);
    arena_destroy(a);
}

static void help_lists_the_options(void **state)
{
    (void)state;
    char text[2048];
    FILE *stream = tmpfile();
    assert_non_null(stream);
    options_print(options, stream);
    assert_string_equal(text_read_back(stream, text, sizeof(text)),
                        "options:\n"
                        "  -f, --force               replace FILE\n"
                        "      --quiet               say nothing\n"
                        "  -o, --output FILE         where to\n"
                        "      --set KEY=VALUE       override a key\n"
                        "  -h, --help                show this page\n"
                        "\n"
                        "for tests (the result is the same):\n"
                        "      --queue bucket|radix  which one\n");
}

static const option wide[] = {
    OPTION_TEXT(settings, output, 0, "a-long-name-of-an-option", "VALUE", "on a line of its own"), OPTION_END
};

static void wide_options_take_two_lines(void **state)
{
    (void)state;
    char text[2048];
    FILE *stream = tmpfile();
    assert_non_null(stream);
    options_print(wide, stream);
    assert_string_equal(text_read_back(stream, text, sizeof(text)),
                        "options:\n"
                        "      --a-long-name-of-an-option VALUE\n"
                        "                            on a line of its own\n"
                        "  -h, --help                show this page\n");
}

int main(void)
{
    struct CMUnitTest tests[ARRAY_COUNT(cases) + 2] = {
        cmocka_unit_test(help_lists_the_options),
        cmocka_unit_test(wide_options_take_two_lines),
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++)
        tests[i + 2] = (struct CMUnitTest){ .name = cases[i].name,
                                            .test_func = arguments_are_read,
                                            .initial_state = (void *)&cases[i] };
    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
