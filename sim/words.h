// SPDX-License-Identifier: GPL-3.0-or-later
// sim/words.h: the user's words inside our messages: the nearest valid word, lists of valid words, foreign text cut short
// and made printable. Text is UTF-8.
#pragma once
#include "sim/error.h"
#include <stddef.h>
#include <stdint.h>

enum {
    WORDS_SHOWN_SIZE = 200, // a buffer that words_show() never fills beyond
    WORDS_GROUPED_SIZE = 32 // the same for words_grouped()
};

// The nearest of words to text: one that is a single edit away (insert, delete, replace, swap; a letter in the other case costs
// little); else the shortest that begins with text ("H100": "h100-sxm"); else the nearest by edits, the first of equally near
// ones; else the shortest that has it inside ("sxm": "h100-sxm"); NULL when none is near.
const char *words_nearest(const char *text, const char *const *words, uint32_t count);
// Bytes with which both begin, case aside.
size_t words_alike(const char *a, const char *b);
// Text for a message (sim_fail() makes it printable): at most 40 characters, then "...". Returns buffer.
char *words_show(char buffer[static WORDS_SHOWN_SIZE], const char *text);
// "a, b, c": up to limit words, then "and 7 more". Returns buffer.
char *words_list(char *buffer, size_t size, const char *const *words, uint32_t count, uint32_t limit);
// Hints at the nearest of words to text, else lists them behind what they are called: "commands: check, show". False, so that
// it can end a function.
bool words_hint(sim_error *error, const char *text, const char *const *words, uint32_t count, uint32_t limit,
                const char *called);
// Lists those that have text inside, case aside, where there are several; else as words_hint().
bool words_hint_holders(sim_error *error, const char *text, const char *const *words, uint32_t count,
                        uint32_t limit, const char *called);
// 31415927 as "31,415,927". Returns buffer.
char *words_grouped(char buffer[static WORDS_GROUPED_SIZE], uint64_t number);

// Length in bytes of the UTF-8 character at text, of which left bytes can be read; 0 when the bytes are none (overlong
// forms, surrogates and values above U+10FFFF are none: The Unicode Standard, table 3-7).
size_t words_character_length(const char *text, size_t left);
// Characters of a text; what is not UTF-8 counts as one per byte.
uint32_t words_count_characters(const char *text, size_t length);
// Copies one character in printable form to out, *written bytes of it; returns the bytes read. Control characters (a terminal
// obeys C0 and C1) and what is not UTF-8 become "?", byte by byte.
size_t words_copy_printable(const char *text, size_t left, char out[static 4], size_t *written);
