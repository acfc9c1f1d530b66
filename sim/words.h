// SPDX-License-Identifier: GPL-3.0-or-later
// sim/words.h: the user's words inside our messages: the nearest valid word, lists of valid words, and foreign text cut
// short.
#pragma once
#include <stddef.h>
#include <stdint.h>

enum { WORDS_SHOWN_SIZE = 200 }; // a buffer that words_show() never fills beyond

// The nearest of words to text by edit distance (insert, delete, replace, swap; a letter in the other case costs little),
// the first of equally near ones; NULL when none is near.
const char *words_nearest(const char *text, const char *const *words, uint32_t count);
// Text for a message (sim_fail() makes it printable): at most 40 characters, then "...". Returns buffer.
char *words_show(char buffer[static WORDS_SHOWN_SIZE], const char *text);
// "a, b, c": up to limit words, then "and 7 more". Returns buffer.
char *words_list(char *buffer, size_t size, const char *const *words, uint32_t count, uint32_t limit);
// Length in bytes of the UTF-8 character at text, of which left bytes can be read; 0 when the bytes are none (overlong
// forms, surrogates and values above U+10FFFF are none: The Unicode Standard, table 3-7).
size_t words_character_length(const char *text, size_t left);
