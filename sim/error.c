// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/error.h"
#include "sim/check.h"
#include "sim/words.h"
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

// A quoted line shows at most this many characters. Four bytes each and two cut marks fit line_text.
enum { QUOTE_CHARACTERS = 120, CUT_LENGTH = 3 };
static const char cut_mark[CUT_LENGTH + 1] = "...";

_Static_assert(4 * QUOTE_CHARACTERS + 2 * CUT_LENGTH < sizeof((sim_error *)0)->line_text, "quote fits");

// Makes text printable in place; cut says that it was longer before it was put into size bytes.
static void make_printable(char *text, size_t size, bool cut)
{
    size_t left = strlen(text), read = 0, end = 0;
    // What was cut ends with the mark, and never inside a character: one that begins before the limit is whole.
    size_t limit = cut ? size - 1 - CUT_LENGTH : size - 1;
    while (left > 0 && read < limit) {
        char character[4];
        size_t written, length = words_copy_printable(text + read, left, character, &written);
        if (end + written > limit) break;
        memcpy(text + end, character, written);
        end += written;
        read += length;
        left -= length;
    }
    if (cut) {
        memcpy(text + end, cut_mark, CUT_LENGTH);
        end += CUT_LENGTH;
    }
    text[end] = 0;
}

static void format_printable(char *text, size_t size, const char *format, va_list arguments)
{
    int length = vsnprintf(text, size, format, arguments);
    SIM_ASSERT(length >= 0);
    make_printable(text, size, (size_t)length >= size);
}

// Length of the line break at text, 0 for none: the breaks of YAML 1.1 as libyaml counts lines (LF, CR, CR LF, NEL,
// LINE SEPARATOR, PARAGRAPH SEPARATOR), for most places come from there.
static size_t break_length(const char *text, size_t left)
{
    if (text[0] == '\n') return 1;
    if (text[0] == '\r') return left > 1 && text[1] == '\n' ? 2 : 1;
    if (left > 1 && memcmp(text, "\xc2\x85", 2) == 0) return 2;
    if (left > 2 && (memcmp(text, "\xe2\x80\xa8", 3) == 0 || memcmp(text, "\xe2\x80\xa9", 3) == 0)) return 3;
    return 0;
}

// The line with this number from 1, without its break. False when the text has no such line.
static bool find_line(const char *text, size_t length, uint32_t line, const char **begin, size_t *line_length)
{
    size_t at = 0;
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) at = 3; // a byte order mark has no column
    while (line > 1 && at < length) {
        size_t found = break_length(text + at, length - at);
        at += found ? found : 1;
        if (found) line--;
    }
    if (line != 1) return false;
    size_t end = at;
    while (end < length && !break_length(text + end, length - end))
        end++;
    *begin = text + at;
    *line_length = end - at;
    return true;
}

// Fills line_text and caret: the whole line if it is short, else the part around the caret between cut marks.
static void quote_line(sim_error *error, const sim_place *where)
{
    const char *line;
    size_t length;
    if (!find_line(where->text, where->text_length, where->line, &line, &length)) return;
    uint32_t count = words_count_characters(line, length), caret = where->column, first = 0;
    if (caret > count) caret = count + 1; // just behind the end, where something is missing
    if (count > QUOTE_CHARACTERS && caret > QUOTE_CHARACTERS / 2) first = caret - QUOTE_CHARACTERS / 2;
    if (count > QUOTE_CHARACTERS && first > count - QUOTE_CHARACTERS) first = count - QUOTE_CHARACTERS;

    size_t at = 0, end = 0;
    for (uint32_t i = 0; at < length && i < first + QUOTE_CHARACTERS; i++) {
        char character[4];
        size_t written, step;
        if (line[at] == '\t') {
            character[0] = ' ';
            written = step = 1;
        } else {
            step = words_copy_printable(line + at, length - at, character, &written);
        }
        at += step;
        if (i < first) continue;
        if (i == first && first > 0) {
            memcpy(error->line_text, cut_mark, CUT_LENGTH);
            end = CUT_LENGTH;
        }
        memcpy(error->line_text + end, character, written);
        end += written;
    }
    if (at < length) {
        memcpy(error->line_text + end, cut_mark, CUT_LENGTH);
        end += CUT_LENGTH;
    }
    error->line_text[end] = 0;
    if (caret > 0) error->caret = caret - first + (first > 0 ? CUT_LENGTH : 0);
}

sim_place sim_place_of_option(const char *option, const char *value)
{
    return (sim_place){ .file = option, .line = 1, .column = 1, .text = value, .text_length = strlen(value) };
}

bool sim_fail(sim_error *error, int exit_code, const sim_place *where, const char *format, ...)
{
    SIM_ASSERT(error && exit_code != SIM_EXIT_OK);
    if (sim_failed(error)) return false; // what fails later is often only a consequence
    sim_error_clear(error);
    error->exit_code = exit_code;
    va_list arguments;
    va_start(arguments, format);
    format_printable(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    if (!where || !where->file) return false;
    int length = snprintf(error->file, sizeof error->file, "%s", where->file);
    SIM_ASSERT(length >= 0);
    make_printable(error->file, sizeof error->file, (size_t)length >= sizeof error->file);
    error->line = where->line;
    error->column = where->line ? where->column : 0;
    if (where->line && where->text) quote_line(error, where);
    return false;
}

bool sim_hint(sim_error *error, const char *format, ...)
{
    SIM_ASSERT(sim_failed(error));
    va_list arguments;
    va_start(arguments, format);
    format_printable(error->hint, sizeof error->hint, format, arguments);
    va_end(arguments);
    return false;
}

bool sim_failed(const sim_error *error)
{
    return error->exit_code != SIM_EXIT_OK;
}

void sim_error_clear(sim_error *error)
{
    memset(error, 0, sizeof *error);
}

void sim_error_print(const sim_error *error, FILE *out)
{
    if (error->file[0] == 0)
        fprintf(out, "windtunnel: error: %s\n", error->message);
    else if (error->line == 0)
        fprintf(out, "%s: error: %s\n", error->file, error->message);
    else if (error->column == 0)
        fprintf(out, "%s:%" PRIu32 ": error: %s\n", error->file, error->line, error->message);
    else
        fprintf(out, "%s:%" PRIu32 ":%" PRIu32 ": error: %s\n", error->file, error->line, error->column,
                error->message);
    if (error->line_text[0]) fprintf(out, "%5" PRIu32 " | %s\n", error->line, error->line_text);
    if (error->line_text[0] && error->caret) fprintf(out, "      | %*s\n", (int)error->caret, "^");
    if (error->hint[0]) fprintf(out, "  hint: %s\n", error->hint);
}
