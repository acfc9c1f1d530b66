// SPDX-License-Identifier: GPL-3.0-or-later
// tools/options.h: the options of a subcommand as declarations: parsing, help and every message come from them. A row ties
// an option to a member of the subcommand's plain struct.
//     --name VALUE   --name=VALUE   -n VALUE   -nVALUE   --   (what follows is no option)
// Refused, with the nearest choice: unknown options, missing and unexpected values, a value given twice.
#pragma once
#include "sim/array.h"
#include "sim/error.h"
#include <stdbool.h>

typedef enum option_type {
    OPTION_TYPE_END,
    OPTION_TYPE_FLAG,   // bool: true when given
    OPTION_TYPE_TEXT,   // const char *
    OPTION_TYPE_LIST,   // text_list: may be given several times
    OPTION_TYPE_WORD,   // int: index into .words
    OPTION_TYPE_FOREIGN // of a program that people come from: refused with what .explanation says
} option_type;

typedef struct option {
    option_type type;
    const char *name; // without its dashes
    char letter;      // 0: none
    const char *value_name;
    const char *const *words; // NULL-terminated
    const char *explanation;
    bool for_tests; // listed apart
    size_t offset;  // of the member
} option;

// The member's type is looked at.
#define OPTION_(T, type_, struct_, field_, letter_, name_, ...)                                              \
    {                                                                                                        \
        .type = OPTION_TYPE_##T, .name = (name_), .letter = (letter_),                                       \
        .offset = offsetof(struct_, field_) + _Generic(((struct_ *)0)->field_, type_ : 0), __VA_ARGS__       \
    }
#define OPTION_FLAG(struct_, field_, letter_, name_, explanation_, ...)                                      \
    OPTION_(FLAG, bool, struct_, field_, letter_, name_, .explanation = (explanation_), __VA_ARGS__)
#define OPTION_TEXT(struct_, field_, letter_, name_, value_, explanation_, ...)                              \
    OPTION_(TEXT, const char *, struct_, field_, letter_, name_, .value_name = (value_),                     \
            .explanation = (explanation_), __VA_ARGS__)
#define OPTION_LIST(struct_, field_, letter_, name_, value_, explanation_, ...)                              \
    OPTION_(LIST, text_list, struct_, field_, letter_, name_, .value_name = (value_),                        \
            .explanation = (explanation_), __VA_ARGS__)
#define OPTION_WORD(struct_, field_, letter_, name_, value_, words_, explanation_, ...)                      \
    OPTION_(WORD, int, struct_, field_, letter_, name_, .value_name = (value_), .words = (words_),           \
            .explanation = (explanation_), __VA_ARGS__)
#define OPTION_FOREIGN(letter_, name_, explanation_)                                                         \
    {                                                                                                        \
        .type = OPTION_TYPE_FOREIGN, .name = (name_), .letter = (letter_), .explanation = (explanation_)     \
    }
#define OPTION_END                                                                                           \
    {                                                                                                        \
        .type = OPTION_TYPE_END                                                                              \
    }

// Reads count words into the members of out (zeroed by the caller); what is no option is listed in words. --help (-h) is
// an option of every subcommand: *help becomes true and errors elsewhere do not matter then. All words are read even
// after an error, so that the flags of out say how it should be told.
bool options_parse(arena *a, const option *options, const char *const *arguments, uint32_t count, void *out,
                   text_list *words, bool *help, sim_error *error);
// The table of a help page: options, then those for tests.
void options_print(const option *options, FILE *out);
