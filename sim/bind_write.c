// SPDX-License-Identifier: GPL-3.0-or-later
// A struct back to YAML, so that reading it gives the same struct: numbers to the last bit, parts in place of their names,
// every default written out.
#include "sim/bind_internal.h"
#include "sim/words.h"
#include <inttypes.h>
#include <string.h>

typedef struct writer {
    const bind_reader *reader; // may be NULL
    FILE *out;
} writer;

// ---- what is written

static bool is_zero(const void *field, size_t size)
{
    const unsigned char *bytes = field;
    for (size_t i = 0; i < size; i++)
        if (bytes[i]) return false;
    return true;
}

// Padding inside a struct may hold anything, so structs are looked at row by row.
static bool is_unset(const bind_row *row, const void *field)
{
    if (row->type != BIND_TYPE_STRUCT && row->type != BIND_TYPE_PART)
        return is_zero(field, bind_field_size(row));
    for (const bind_row *inner = row->rows; inner->type != BIND_TYPE_END; inner++)
        if (inner->type != BIND_TYPE_LATER && !is_unset(inner, bind_const_field_of(inner, field)))
            return false;
    return true;
}

static bool has_required(const bind_row *rows)
{
    for (; rows->type != BIND_TYPE_END; rows++)
        if (rows->required) return true;
    return false;
}

// Left out: keys that are not built yet, and what was not written and has no value of its own.
static bool is_written(const writer *w, const bind_row *row, const void *value)
{
    if (row->type == BIND_TYPE_LATER) return false;
    const void *field = bind_const_field_of(row, value);
    if (row->required) return true;
    if (row->has_set_flag && !*(const bool *)((const char *)value + row->set_offset)) return row->has_default;
    const bind_record *record = w->reader ? bind_find_record(w->reader, field, bind_field_size(row)) : NULL;
    if (record && record->written) return true;
    bool mapping = row->type == BIND_TYPE_STRUCT || row->type == BIND_TYPE_PART;
    // A struct that was not written stands with its defaults, unless it could not be read back.
    if (mapping && record) return row->type == BIND_TYPE_STRUCT && !has_required(row->rows);
    return row->has_default || !is_unset(row, field);
}

// ---- texts

// One character of UTF-8 at text; what is none counts as a byte of Latin 1. Returns the bytes taken.
static size_t take_character(const char *text, size_t left, uint32_t *code)
{
    static const unsigned char masks[] = { 0, 0xFF, 0x1F, 0x0F, 0x07 }; // of the first byte, by length
    const unsigned char *bytes = (const unsigned char *)text;
    size_t length = words_character_length(text, left);
    if (length == 0) length = 1;
    *code = bytes[0] & masks[length];
    for (size_t i = 1; i < length; i++)
        *code = *code << 6 | (bytes[i] & 0x3F);
    return length;
}

// In double quotes, with an escape for all that YAML does not print or would fold.
static void write_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (size_t left = strlen(text), length; left > 0; text += length, left -= length) {
        uint32_t code;
        length = take_character(text, left, &code);
        bool raw = length == 1 && code >= 0x80;
        if (code == '"' || code == '\\')
            fprintf(out, "\\%c", (char)code);
        else if (code < 0x20 || (0x7F <= code && code < 0xA0) || raw)
            fprintf(out, "\\x%02X", code);
        else if (code == 0x2028 || code == 0x2029 || code == 0xFEFF || code == 0xFFFE || code == 0xFFFF)
            fprintf(out, "\\u%04X", code);
        else
            fwrite(text, 1, length, out);
    }
    fputc('"', out);
}

// ---- values

static void write_points(FILE *out, const bind_row *row, const bind_points *points)
{
    char x[64], y[64];
    fputc('[', out);
    for (uint32_t i = 0; i < points->count; i++)
        fprintf(out, "%s[%s, %s]", i ? ", " : "", units_exact(row->unit, points->x[i], x, sizeof(x)),
                units_exact(row->unit_y, points->y[i], y, sizeof(y)));
    fputc(']', out);
}

static void write_numbers(FILE *out, const bind_row *row, const bind_numbers *numbers)
{
    char number[64];
    const bool list = numbers->count != 1;
    if (list) fputc('[', out);
    for (uint32_t i = 0; i < numbers->count; i++)
        fprintf(out, "%s%s", i ? ", " : "",
                units_exact(row->unit, numbers->items[i], number, sizeof(number)));
    if (list) fputc(']', out);
}

static void write_time(FILE *out, const bind_row *row, sim_time time_ps)
{
    if (row->words && time_ps == SIM_TIME_MAX)
        fputs(row->words[0], out);
    else
        fprintf(out, "%" PRId64 " ps", time_ps);
}

static void write_value(FILE *out, const bind_row *row, const void *field)
{
    char number[64];
    switch (row->type) {
    case BIND_TYPE_BOOL: fputs(*(const bool *)field ? "true" : "false", out); return;
    case BIND_TYPE_U32: fprintf(out, "%" PRIu32, *(const uint32_t *)field); return;
    case BIND_TYPE_U64: fprintf(out, "%" PRIu64, *(const uint64_t *)field); return;
    case BIND_TYPE_BYTES: fprintf(out, "%" PRIu64 " B", *(const uint64_t *)field); return;
    case BIND_TYPE_TIME: write_time(out, row, *(const sim_time *)field); return;
    case BIND_TYPE_NUMBERS: write_numbers(out, row, field); return;
    case BIND_TYPE_DOUBLE:
        fputs(units_exact(row->unit, *(const double *)field, number, sizeof(number)), out);
        return;
    case BIND_TYPE_TEXT:
    case BIND_TYPE_PATH: write_text(out, *(const char *const *)field); return;
    case BIND_TYPE_ENUM: fputs(row->words[*(const int *)field], out); return;
    case BIND_TYPE_POINTS: write_points(out, row, field); return;
    case BIND_TYPE_STRUCT:
    case BIND_TYPE_LIST:
    case BIND_TYPE_PART:
    case BIND_TYPE_LATER:
    case BIND_TYPE_END: break;
    }
    SIM_ASSERT(false && "a table's row of another kind");
}

static const bind_provenance *provenance_of(const writer *w, const bind_row *row, const void *field)
{
    if (!w->reader || !bind_is_number(row->type)) return NULL;
    const bind_record *record = bind_find_record(w->reader, field, bind_field_size(row));
    if (!record || !record->provenance1) return NULL;
    const bind_provenance *p = &w->reader->provenance.items[record->provenance1 - 1];
    return p->source || p->grade ? p : NULL;
}

static void write_single(const writer *w, const bind_row *row, const void *field)
{
    const bind_provenance *p = provenance_of(w, row, field);
    fputs(p ? " { value: " : " ", w->out);
    write_value(w->out, row, field);
    if (p && p->source) {
        fputs(", source: ", w->out);
        write_text(w->out, p->source);
    }
    if (p && p->grade) fprintf(w->out, ", grade: %s", bind_grade_name(p->grade));
    fputs(p ? " }\n" : "\n", w->out);
}

// ---- mappings

static void write_mapping(const writer *w, const bind_row *rows, const void *value, int indent);

static bool is_empty(const writer *w, const bind_row *rows, const void *value)
{
    for (; rows->type != BIND_TYPE_END; rows++)
        if (is_written(w, rows, value)) return false;
    return true;
}

// Behind a key or the dash of an item.
static void write_below(const writer *w, const bind_row *rows, const void *value, int indent)
{
    bool empty = is_empty(w, rows, value);
    fputs(empty ? " {}\n" : "\n", w->out);
    if (!empty) write_mapping(w, rows, value, indent);
}

static void write_list(const writer *w, const bind_row *row, const void *field, int indent)
{
    const bind_record_array *list = field; // any array looks like this one; a row knows no type
    fputs(list->count ? "\n" : " []\n", w->out);
    for (uint32_t i = 0; i < list->count; i++) {
        fprintf(w->out, "%*s-", indent, "");
        write_below(w, row->rows, (const char *)(const void *)list->items + i * row->size, indent + 2);
    }
}

static void write_mapping(const writer *w, const bind_row *rows, const void *value, int indent)
{
    for (const bind_row *row = rows; row->type != BIND_TYPE_END; row++) {
        if (!is_written(w, row, value)) continue;
        const void *field = bind_const_field_of(row, value);
        fprintf(w->out, "%*s%s:", indent, "", row->key);
        if (row->type == BIND_TYPE_STRUCT || row->type == BIND_TYPE_PART)
            write_below(w, row->rows, field, indent + 2);
        else if (row->type == BIND_TYPE_LIST)
            write_list(w, row, field, indent + 2);
        else
            write_single(w, row, field);
    }
}

void bind_write(const bind_reader *r, const bind_row *rows, const void *value, int indent, FILE *out)
{
    const writer w = { r, out };
    if (is_empty(&w, rows, value))
        fprintf(out, "%*s{}\n", indent, "");
    else
        write_mapping(&w, rows, value, indent);
}
