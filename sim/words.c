// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/words.h"
#include "sim/check.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    LENGTH_MAX = 64,  // longer words are near to nothing
    STEP = 4,         // what an edit costs
    CASE_STEP = 1,    // what a letter in the other case costs
    SHOWN_CHARS = 40, // of foreign text inside a message
};

// Letters of ASCII only and without a locale: keys and units are ASCII.
static char lower(char c)
{
    return 'A' <= c && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t replace_cost(char a, char b)
{
    if (a == b) return 0;
    return lower(a) == lower(b) ? CASE_STEP : STEP;
}

// Optimal string alignment: like Levenshtein's distance, and two neighbours swapped count once.
//     d(i, j) = min( d(i-1, j) + 1, d(i, j-1) + 1, d(i-1, j-1) + [a_i != b_j], d(i-2, j-2) + 1 if swapped )
static uint32_t distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    uint32_t rows[3][LENGTH_MAX + 1];
    uint32_t *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_length; j++)
        row[j] = (uint32_t)j * STEP;
    for (size_t i = 1; i <= a_length; i++) {
        uint32_t *oldest = before;
        before = above, above = row, row = oldest;
        row[0] = (uint32_t)i * STEP;
        for (size_t j = 1; j <= b_length; j++) {
            row[j] = least(above[j], row[j - 1]) + STEP;
            row[j] = least(row[j], above[j - 1] + replace_cost(a[i - 1], b[j - 1]));
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]))
                row[j] = least(row[j], before[j - 2] + STEP);
        }
    }
    return row[b_length];
}

enum { LETTERS_LEAST = 3 }; // of a part of a word: fewer stand in too many words

size_t words_alike(const char *a, const char *b)
{
    size_t alike = 0;
    while (a[alike] && lower(a[alike]) == lower(b[alike]))
        alike++;
    return alike;
}

// The shortest word that goes on where text ends; of equally short ones the first.
static const char *continuation(const char *text, size_t length, const char *const *words, uint32_t count)
{
    const char *begins = NULL;
    for (uint32_t i = 0; length >= LETTERS_LEAST && i < count; i++)
        if (words_alike(text, words[i]) == length && (!begins || strlen(words[i]) < strlen(begins)))
            begins = words[i];
    return begins;
}

static bool holds(const char *word, const char *text, size_t length)
{
    for (; *word; word++)
        if (words_alike(text, word) == length) return true;
    return false;
}

// The shortest word that has text inside; of equally short ones the first.
static const char *holder(const char *text, size_t length, const char *const *words, uint32_t count)
{
    const char *found = NULL;
    for (uint32_t i = 0; length >= LETTERS_LEAST && i < count; i++)
        if (holds(words[i], text, length) && (!found || strlen(words[i]) < strlen(found))) found = words[i];
    return found;
}

const char *words_nearest(const char *text, const char *const *words, uint32_t count)
{
    size_t length = strlen(text);
    if (length == 0 || length > LENGTH_MAX) return NULL;
    // One edit for a short word, three for a long one; letters in the other case come on top.
    uint32_t edits = length <= 3 ? 1 : length <= 6 ? 2 : 3;
    uint32_t best = edits * STEP + (STEP - 1);
    const char *nearest = NULL, *begins = continuation(text, length, words, count);
    for (uint32_t i = 0; i < count; i++) {
        size_t word_length = strlen(words[i]);
        if (word_length > LENGTH_MAX) continue;
        uint32_t d = distance(text, length, words[i], word_length);
        // a word of which no letter is left is not near
        if (d < (nearest ? best : best + 1) && d < STEP * (length > word_length ? length : word_length)) {
            best = d;
            nearest = words[i];
        }
    }
    // what was begun is meant rather than what shares its last letters ("H100": "H100-SXM", not "B200"), but for one slip
    if (begins && best > STEP) return begins;
    return nearest ? nearest : holder(text, length, words, count);
}

size_t words_character_length(const char *text, size_t left)
{
    const unsigned char *s = (const unsigned char *)text;
    unsigned char least = 0x80, greatest = 0xbf; // of the second byte
    size_t length;
    if (s[0] < 0x80) return 1;
    if (s[0] >= 0xc2 && s[0] <= 0xdf)
        length = 2;
    else if (s[0] >= 0xe0 && s[0] <= 0xef)
        length = 3;
    else if (s[0] >= 0xf0 && s[0] <= 0xf4)
        length = 4;
    else
        return 0;
    if (s[0] == 0xe0) least = 0xa0;
    if (s[0] == 0xed) greatest = 0x9f;
    if (s[0] == 0xf0) least = 0x90;
    if (s[0] == 0xf4) greatest = 0x8f;
    if (length > left || s[1] < least || s[1] > greatest) return 0;
    for (size_t i = 2; i < length; i++)
        if (s[i] < 0x80 || s[i] > 0xbf) return 0;
    return length;
}

uint32_t words_count_characters(const char *text, size_t length)
{
    uint32_t count = 0;
    for (size_t at = 0; at < length; count++) {
        size_t step = words_character_length(text + at, length - at);
        at += step ? step : 1;
    }
    return count;
}

static bool is_control(const char *text, size_t length)
{
    const unsigned char *s = (const unsigned char *)text;
    return (length == 1 && (s[0] < 0x20 || s[0] == 0x7f)) || (length == 2 && s[0] == 0xc2 && s[1] < 0xa0);
}

size_t words_copy_printable(const char *text, size_t left, char out[static 4], size_t *written)
{
    size_t length = words_character_length(text, left);
    if (length == 0 || is_control(text, length)) {
        *out = '?';
        *written = 1;
        return length ? length : 1;
    }
    memcpy(out, text, length);
    *written = length;
    return length;
}

char *words_show(char buffer[static WORDS_SHOWN_SIZE], const char *text)
{
    size_t out = 0, chars = 0;
    for (const char *c = text; *c; c++) {
        if (((unsigned char)*c & 0xC0) != 0x80 && chars++ == SHOWN_CHARS) { // the next character begins
            memcpy(buffer + out, "...", 3);
            out += 3;
            break;
        }
        if (out == WORDS_SHOWN_SIZE - 4) break; // bytes that are no UTF-8 may go on without a beginning
        buffer[out++] = *c;
    }
    buffer[out] = 0;
    return buffer;
}

char *words_list(char *buffer, size_t size, const char *const *words, uint32_t count, uint32_t limit)
{
    SIM_ASSERT(size > 0);
    size_t used = 0;
    buffer[0] = 0;
    for (uint32_t i = 0; i < count && used < size; i++) {
        const char *comma = i ? ", " : "";
        int wrote = i == limit ? snprintf(buffer + used, size - used, " and %u more", count - limit)
                               : snprintf(buffer + used, size - used, "%s%s", comma, words[i]);
        SIM_ASSERT(wrote >= 0);
        used += (size_t)wrote;
        if (i == limit) break;
    }
    return buffer;
}

bool words_hint(sim_error *error, const char *text, const char *const *words, uint32_t count, uint32_t limit,
                const char *called)
{
    char list[512];
    const char *nearest = words_nearest(text, words, count);
    if (nearest) return sim_hint(error, "did you mean \"%s\"?", nearest);
    return sim_hint(error, "%s: %s", called, words_list(list, sizeof(list), words, count, limit));
}

bool words_hint_holders(sim_error *error, const char *text, const char *const *words, uint32_t count,
                        uint32_t limit, const char *called)
{
    enum { HOLDERS_MAX = 64 };
    char list[512], shown[WORDS_SHOWN_SIZE];
    const char *found[HOLDERS_MAX];
    const size_t length = strlen(text);
    uint32_t holders = 0;
    for (uint32_t i = 0; length >= LETTERS_LEAST && i < count && holders < HOLDERS_MAX; i++)
        if (holds(words[i], text, length)) found[holders++] = words[i];
    if (holders < 2) return words_hint(error, text, words, count, limit, called);
    return sim_hint(error, "%s with \"%s\": %s", called, words_show(shown, text),
                    words_list(list, sizeof(list), found, holders, limit));
}

char *words_grouped(char buffer[static WORDS_GROUPED_SIZE], uint64_t number)
{
    char digits[24];
    int length = snprintf(digits, sizeof(digits), "%" PRIu64, number), used = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) buffer[used++] = ',';
        buffer[used++] = digits[i];
    }
    buffer[used] = 0;
    return buffer;
}
