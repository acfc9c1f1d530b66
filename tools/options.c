// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/options.h"
#include "sim/words.h"
#include <string.h>

enum { OPTIONS_MAX = 48 }; // of one subcommand; asserted

typedef struct parser {
    arena *a;
    const option *options;
    const char *const *arguments;
    uint32_t count, next;
    void *out;
    bool given[OPTIONS_MAX];
    sim_error *error;
} parser;

static uint32_t option_count(const option *options)
{
    uint32_t count = 0;
    while (options[count].type != OPTION_TYPE_END)
        count++;
    SIM_ASSERT(count <= OPTIONS_MAX);
    return count;
}

static void *member(const parser *p, const option *o)
{
    return (char *)p->out + o->offset;
}

static void add_to_list(const parser *p, const option *o, const char *value)
{
    text_list *list = member(p, o);
    *array_push(list, p->a) = value;
}

static void set_word(parser *p, const option *o, const char *value)
{
    uint32_t count = 0;
    for (; o->words[count]; count++) {
        if (strcmp(o->words[count], value) != 0) continue;
        int index = (int)count;
        memcpy(member(p, o), &index, sizeof(index));
        return;
    }
    char shown[WORDS_SHOWN_SIZE];
    if (sim_failed(p->error)) return;
    sim_fail(p->error, SIM_EXIT_INPUT, NULL, "--%s cannot be \"%s\"", o->name, words_show(shown, value));
    words_hint(p->error, value, o->words, count, count, "one of");
}

static void set(parser *p, const option *o, const char *value)
{
    const size_t index = (size_t)(o - p->options);
    const bool again = p->given[index];
    p->given[index] = true;
    switch (o->type) {
    case OPTION_TYPE_FLAG: *(bool *)member(p, o) = true; return;
    case OPTION_TYPE_LIST: add_to_list(p, o, value); return;
    case OPTION_TYPE_TEXT:
    case OPTION_TYPE_WORD:
        if (again) {
            sim_fail(p->error, SIM_EXIT_INPUT, NULL, "--%s is given twice", o->name);
            return;
        }
        if (o->type == OPTION_TYPE_WORD)
            set_word(p, o, value);
        else
            memcpy(member(p, o), &value, sizeof(value));
        return;
    case OPTION_TYPE_FOREIGN:
    case OPTION_TYPE_END: break;
    }
    SIM_ASSERT(false);
}

// Sets an option to the value that stands with it (NULL: none does) or in the next argument.
static void take(parser *p, const option *o, const char *value)
{
    if (o->type == OPTION_TYPE_FOREIGN) {
        if (sim_failed(p->error)) return;
        sim_fail(p->error, SIM_EXIT_INPUT, NULL, "there is no -%c (--%s) here", o->letter, o->name);
        sim_hint(p->error, "%s", o->explanation);
        return;
    }
    if (o->type == OPTION_TYPE_FLAG && value) {
        sim_fail(p->error, SIM_EXIT_INPUT, NULL, "--%s takes no value", o->name);
        return;
    }
    if (o->type != OPTION_TYPE_FLAG && !value) {
        const char *next = p->next < p->count ? p->arguments[p->next] : NULL;
        if (!next || (next[0] == '-' && next[1])) {
            if (sim_failed(p->error)) return;
            sim_fail(p->error, SIM_EXIT_INPUT, NULL, "--%s needs a value", o->name);
            char shown[WORDS_SHOWN_SIZE];
            if (next)
                sim_hint(p->error, "--%s %s; a value that begins with a dash is written --%s=%s", o->name,
                         o->value_name, o->name, words_show(shown, next));
            else
                sim_hint(p->error, "--%s %s", o->name, o->value_name);
            return;
        }
        value = next;
        p->next++;
    }
    set(p, o, value);
}

static void fail_unknown(parser *p, const char *text)
{
    const char *names[OPTIONS_MAX + 1];
    uint32_t count = 0;
    char shown[WORDS_SHOWN_SIZE], name[WORDS_SHOWN_SIZE];
    if (sim_failed(p->error)) return;
    for (const option *o = p->options; o->type != OPTION_TYPE_END; o++)
        if (o->type != OPTION_TYPE_FOREIGN) names[count++] = o->name;
    names[count] = "help";
    const char *bare = text + strspn(text, "-");
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(bare, "="), bare);
    const char *nearest = words_nearest(name, names, count + 1);
    sim_fail(p->error, SIM_EXIT_INPUT, NULL, "unknown option %s", words_show(shown, text));
    if (nearest)
        sim_hint(p->error, "did you mean --%s?", nearest);
    else
        sim_hint(p->error, "--help lists the options");
}

static const option *find_long(const parser *p, const char *name, size_t length)
{
    for (const option *o = p->options; o->type != OPTION_TYPE_END; o++)
        if (strlen(o->name) == length && memcmp(o->name, name, length) == 0) return o;
    return NULL;
}

static const option *find_letter(const parser *p, char letter)
{
    for (const option *o = p->options; o->type != OPTION_TYPE_END; o++)
        if (o->letter == letter) return o;
    return NULL;
}

static void parse_option(parser *p, const char *text)
{
    if (text[1] == '-') {
        const size_t length = strcspn(text + 2, "=");
        const option *o = find_long(p, text + 2, length);
        if (o)
            take(p, o, text[2 + length] ? text + 3 + length : NULL);
        else
            fail_unknown(p, text);
        return;
    }
    const option *o = find_letter(p, text[1]);
    const char *attached = text[2] ? text + 2 : NULL;
    if (o && !(o->type == OPTION_TYPE_FLAG && attached))
        take(p, o, attached);
    else
        fail_unknown(p, text);
}

bool options_parse(arena *a, const option *options, const char *const *arguments, uint32_t count, void *out,
                   text_list *words, bool *help, sim_error *error)
{
    parser p = {
        .a = a, .options = options, .arguments = arguments, .count = count, .out = out, .error = error
    };
    SIM_ASSERT(option_count(options) <= OPTIONS_MAX);
    *words = (text_list){ 0 };
    *help = false;
    bool options_end = false;
    while (p.next < count) {
        const char *text = arguments[p.next++];
        if (options_end || text[0] != '-' || !text[1])
            *array_push(words, a) = text;
        else if (strcmp(text, "--") == 0)
            options_end = true;
        else if (strcmp(text, "--help") == 0 || strcmp(text, "-h") == 0)
            *help = true;
        else
            parse_option(&p, text);
    }
    return !sim_failed(error);
}

// ---- help

enum { HELP_COLUMN = 27 };

static void print_option(const option *o, FILE *out)
{
    char left[320], choice[256] = "";
    for (uint32_t i = 0; o->words && o->words[i]; i++)
        snprintf(choice + strlen(choice), sizeof(choice) - strlen(choice), "%s%s", i ? "|" : "", o->words[i]);
    SIM_ASSERT(strlen(choice) < sizeof(choice) - 1); // not cut off
    const char *value = o->words ? choice : o->value_name ? o->value_name : "";
    const char dash[] = { o->letter ? '-' : ' ', o->letter ? o->letter : ' ', o->letter ? ',' : ' ', 0 };
    int length = snprintf(left, sizeof(left), "  %s --%s%s%s", dash, o->name, *value ? " " : "", value);
    SIM_ASSERT(length > 0 && (size_t)length < sizeof(left));
    if (length < HELP_COLUMN)
        fprintf(out, "%-*s %s\n", HELP_COLUMN, left, o->explanation);
    else
        fprintf(out, "%s\n%*s %s\n", left, HELP_COLUMN, "", o->explanation);
}

void options_print(const option *options, FILE *out)
{
    static const option help = {
        .type = OPTION_TYPE_FLAG, .name = "help", .letter = 'h', .explanation = "show this page"
    };
    bool some_for_tests = false;
    fprintf(out, "options:\n");
    for (const option *o = options; o->type != OPTION_TYPE_END; o++) {
        if (o->for_tests)
            some_for_tests = true;
        else if (o->type != OPTION_TYPE_FOREIGN)
            print_option(o, out);
    }
    print_option(&help, out);
    if (!some_for_tests) return;
    fprintf(out, "\nfor tests (the result is the same):\n");
    for (const option *o = options; o->type != OPTION_TYPE_END; o++)
        if (o->for_tests) print_option(o, out);
}
