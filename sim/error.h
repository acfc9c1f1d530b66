// SPDX-License-Identifier: GPL-3.0-or-later
// sim/error.h: the user's mistake as a value: where it is, what is wrong, what would be right, and the exit code
// (README.md lists them). Functions that can fail take a sim_error * last and return false (or NULL) after sim_fail()
// filled it. A sim_error owns all its text, so it outlives the document it speaks of.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    SIM_EXIT_OK = 0,
    SIM_EXIT_NO = 1, // the question was valid and the answer is no: does not fit, deadlock, out of tolerance
    SIM_EXIT_INPUT = 2, // the input or the environment is at fault
    SIM_EXIT_BUG = 3,   // ours
    SIM_EXIT_INTERRUPTED = 130
};

// A place in a text. text points at the whole text of the file (or NULL) so that the line can be quoted; it only has
// to live until sim_fail() returns.
typedef struct sim_place {
    const char *file;      // as the user would name it; NULL: no place
    uint32_t line, column; // from 1; column counts characters (UTF-8), 0: unknown
    const char *text;
    size_t text_length;
} sim_place;

// A value on the command line as a place, so that a message can point into it: "--size:1:3".
sim_place sim_place_of_option(const char *option, const char *value);

typedef struct sim_error {
    int exit_code; // 0: no error
    char file[512];
    uint32_t line, column;
    char message[1024];
    char hint[1024];     // the nearest valid choice, or ""
    char line_text[512]; // the quoted line, made printable, or ""
    uint32_t caret;      // column of the caret within line_text, from 1; 0: none
} sim_error;

// Fills error and returns false. where may be NULL. The first failure wins: an error already set is kept.
bool sim_fail(sim_error *error, int exit_code, const sim_place *where, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
// Adds the hint line ("did you mean ..."); returns false, so that it can end a function. Replaces an earlier hint.
bool sim_hint(sim_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool sim_failed(const sim_error *error);
void sim_error_clear(sim_error *error);
// file:line:column: error: message / the line / the caret / hint: ...   Never colours; ends with a newline.
void sim_error_print(const sim_error *error, FILE *out);
