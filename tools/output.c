// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/output.h"
#include "sim/words.h"
#include <inttypes.h>
#include <math.h>

// ---- tables

table table_make(arena *a, const table_column *columns, uint32_t column_count)
{
    return (table){ .a = a, .columns = columns, .column_count = column_count };
}

void table_cell(table *t, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *text = arena_format_list(t->a, format, arguments);
    va_end(arguments);
    *array_push(&t->cells, t->a) = output_printable(t->a, text);
}

static uint32_t width_of(const char *text)
{
    return words_count_characters(text, strlen(text));
}

static void print_row(const table *t, const char *const *cells, const uint32_t *widths, const char *indent,
                      FILE *out)
{
    uint32_t last = t->column_count;
    while (last > 0 && !cells[last - 1][0])
        last--;
    fprintf(out, "%s", last ? indent : "");
    for (uint32_t c = 0; c < last; c++) {
        const int space = (int)(widths[c] - width_of(cells[c]));
        const int before = t->columns[c].right ? space : 0, after = c + 1 < last ? space - before : 0;
        fprintf(out, "%s%*s%s%*s", c ? "  " : "", before, "", cells[c], after, "");
    }
    fputc('\n', out);
}

void table_print(const table *t, const char *indent, FILE *out)
{
    const uint32_t n = t->column_count;
    SIM_ASSERT(n > 0 && t->cells.count % n == 0);
    uint32_t *widths = arena_array(t->a, uint32_t, n);
    const char **titles = arena_array(t->a, const char *, n);
    for (uint32_t c = 0; c < n; c++) {
        titles[c] = t->columns[c].title ? t->columns[c].title : "";
        widths[c] = width_of(titles[c]);
        for (uint32_t i = c; i < t->cells.count; i += n)
            if (width_of(t->cells.items[i]) > widths[c]) widths[c] = width_of(t->cells.items[i]);
    }
    if (t->columns[0].title) print_row(t, titles, widths, indent, out);
    for (uint32_t i = 0; i < t->cells.count; i += n)
        print_row(t, &t->cells.items[i], widths, indent, out);
}

// ---- texts and numbers for people

const char *output_printable(arena *a, const char *text)
{
    size_t left = strlen(text), used = 0;
    char *out = arena_alloc(a, left + 1, 1);
    while (left > 0) {
        char character[4];
        size_t written;
        const size_t read = words_copy_printable(text, left, character, &written);
        memcpy(out + used, character, written);
        used += written;
        text += read;
        left -= read;
    }
    return out;
}

const char *output_count(arena *a, uint64_t count)
{
    char text[WORDS_GROUPED_SIZE];
    return arena_text(a, words_grouped(text, count));
}

const char *output_number(arena *a, unit_kind kind, double value)
{
    char text[64];
    return arena_text(a, units_format(kind, value, text, sizeof(text)));
}

const char *output_bytes(arena *a, double bytes)
{
    char text[64];
    return arena_text(a, units_format_binary_bytes(bytes, text, sizeof(text)));
}

const char *output_percent(arena *a, double ratio)
{
    return arena_format(a, "%.1f %%", 100.0 * ratio);
}

char *output_duration(char *buffer, size_t size, double seconds)
{
    SIM_ASSERT(seconds >= 0.0 && seconds < 1e15);
    const uint64_t s = (uint64_t)(seconds + 0.5);
    const uint64_t minutes = s / 60, hours = minutes / 60, days = hours / 24;
    if (!minutes)
        snprintf(buffer, size, "%" PRIu64 " s", s);
    else if (!hours)
        snprintf(buffer, size, "%" PRIu64 " min %02" PRIu64 " s", minutes, s % 60);
    else if (!days)
        snprintf(buffer, size, "%" PRIu64 " h %02" PRIu64 " min", hours, minutes % 60);
    else
        snprintf(buffer, size, "%" PRIu64 " d %02" PRIu64 " h", days, hours % 24);
    return buffer;
}

void output_round_shares(arena *a, const double *shares, uint32_t count, uint32_t *tenths)
{
    double *rest = arena_array(a, double, count);
    double sum = 0.0;
    uint64_t given = 0;
    for (uint32_t i = 0; i < count; i++) {
        const double exact = 1000.0 * shares[i];
        SIM_ASSERT(exact >= 0.0 && exact < 1e6);
        tenths[i] = (uint32_t)exact;
        rest[i] = exact - tenths[i];
        sum += exact;
        given += tenths[i];
    }
    for (uint64_t left = (uint64_t)llround(sum) - given; left > 0; left--) {
        uint32_t most = 0;
        for (uint32_t i = 1; i < count; i++)
            if (rest[i] > rest[most]) most = i;
        tenths[most]++;
        rest[most] = -1.0;
    }
}

// ---- JSON

json_writer json_make(FILE *out)
{
    return (json_writer){ .out = out };
}

static void put_text(json_writer *j, const char *text)
{
    static const char escapes[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    size_t left = strlen(text);
    fputc('"', j->out);
    while (left > 0) {
        const size_t length = words_character_length(text, left);
        const char *escape = strchr(escapes, *text);
        if (!length)
            fputs("\\ufffd", j->out);
        else if (escape)
            fprintf(j->out, "\\%c", letters[escape - escapes]);
        else if ((unsigned char)*text < 0x20 || *text == 0x7f)
            fprintf(j->out, "\\u%04x", (unsigned)*text);
        else
            fwrite(text, 1, length, j->out);
        text += length ? length : 1;
        left -= length ? length : 1;
    }
    fputc('"', j->out);
}

// Goes to the place of the next value: a line of its own, behind a comma and its key.
static void put_key(json_writer *j, const char *key)
{
    SIM_ASSERT((key != NULL) == (j->depth > 0 && j->end[j->depth] == '}'));
    SIM_ASSERT(j->depth > 0 || !j->some[0]); // one value at the top
    if (j->depth) fprintf(j->out, "%s\n%*s", j->some[j->depth] ? "," : "", (int)(2 * j->depth), "");
    j->some[j->depth] = true;
    if (!key) return;
    put_text(j, key);
    fputs(": ", j->out);
}

static void open_container(json_writer *j, const char *key, char begin, char end)
{
    put_key(j, key);
    SIM_ASSERT(j->depth < JSON_DEPTH_MAX);
    fputc(begin, j->out);
    j->depth++;
    j->some[j->depth] = false;
    j->end[j->depth] = end;
}

void json_object(json_writer *j, const char *key)
{
    open_container(j, key, '{', '}');
}

void json_array(json_writer *j, const char *key)
{
    open_container(j, key, '[', ']');
}

void json_close(json_writer *j)
{
    SIM_ASSERT(j->depth > 0);
    const bool some = j->some[j->depth];
    const char end = j->end[j->depth];
    j->depth--;
    if (some) fprintf(j->out, "\n%*s", (int)(2 * j->depth), "");
    fputc(end, j->out);
    if (j->depth == 0) fputc('\n', j->out);
}

void json_text(json_writer *j, const char *key, const char *text)
{
    put_key(j, key);
    if (text)
        put_text(j, text);
    else
        fputs("null", j->out);
}

void json_number(json_writer *j, const char *key, double value)
{
    char text[64];
    put_key(j, key);
    fputs(isfinite(value) ? units_exact(UNIT_NONE, value, text, sizeof(text)) : "null", j->out);
}

void json_count(json_writer *j, const char *key, uint64_t value)
{
    put_key(j, key);
    fprintf(j->out, "%" PRIu64, value);
}

void json_large(json_writer *j, const char *key, unsigned __int128 value)
{
    char digits[40] = "", *at = &digits[sizeof digits - 1];
    do
        *--at = (char)('0' + (int)(value % 10));
    while (value /= 10);
    put_key(j, key);
    fputs(at, j->out);
}

void json_integer(json_writer *j, const char *key, int64_t value)
{
    put_key(j, key);
    fprintf(j->out, "%" PRId64, value);
}

void json_bool(json_writer *j, const char *key, bool value)
{
    put_key(j, key);
    fputs(value ? "true" : "false", j->out);
}

void json_null(json_writer *j, const char *key)
{
    json_text(j, key, NULL);
}

void json_error(json_writer *j, const sim_error *error)
{
    json_object(j, "error");
    json_count(j, "exit_code", (uint64_t)error->exit_code);
    json_text(j, "file", error->file[0] ? error->file : NULL);
    if (error->line)
        json_count(j, "line", error->line);
    else
        json_null(j, "line");
    if (error->column)
        json_count(j, "column", error->column);
    else
        json_null(j, "column");
    json_text(j, "message", error->message);
    json_text(j, "hint", error->hint[0] ? error->hint : NULL);
    json_close(j);
}
