// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/csv.h"
#include "sim/array.h"
#include "sim/document_build.h"
#include "sim/words.h"
#include <string.h>

struct csv_reader {
    arena *arena;
    const char *file, *text; // as it was read
    char *fields;            // a copy in which fields end with a zero
    size_t length, at;
    uint32_t line, column; // of the byte at `at`; a column counts characters
    uint32_t columns;
    csv_field names[CSV_COLUMNS_MAX], row[CSV_COLUMNS_MAX];
};

static sim_place place_here(const csv_reader *r)
{
    return (sim_place){
        .file = r->file, .line = r->line, .column = r->column, .text = r->text, .text_length = r->length
    };
}

static bool fail_here(const csv_reader *r, sim_error *error, const char *message)
{
    const sim_place here = place_here(r);
    return sim_fail(error, SIM_EXIT_INPUT, &here, "%s", message);
}

// ---- bytes

static bool at_end(const csv_reader *r)
{
    return r->at == r->length;
}

static char here(const csv_reader *r)
{
    return at_end(r) ? '\n' : r->text[r->at];
}

static bool at_line_end(const csv_reader *r)
{
    if (here(r) == '\n') return true;
    return here(r) == '\r' && (r->at + 1 == r->length || r->text[r->at + 1] == '\n');
}

// Past one character, which may be a line's end; refuses what is none.
static bool step(csv_reader *r, sim_error *error)
{
    if (r->text[r->at] == '\n') {
        r->line++;
        r->column = 1;
        r->at++;
        return true;
    }
    const size_t length = words_character_length(r->text + r->at, r->length - r->at);
    if (length == 0) return fail_here(r, error, "this is not UTF-8 text");
    if (r->text[r->at] == 0) return fail_here(r, error, "a zero byte is no text");
    r->at += length;
    r->column++;
    return true;
}

static void skip_blanks(csv_reader *r)
{
    while (here(r) == ' ' || here(r) == '\t') {
        r->at++;
        r->column++;
    }
}

static void skip_line_end(csv_reader *r)
{
    if (!at_end(r) && r->text[r->at] == '\r') r->at++;
    if (at_end(r)) return;
    r->at++;
    r->line++;
    r->column = 1;
}

// ---- fields

static bool read_plain(csv_reader *r, csv_field *field, sim_error *error)
{
    const size_t start = r->at;
    while (here(r) != ',' && !at_line_end(r)) {
        if (here(r) == '"')
            return fail_here(r, error, "a quote stands inside a field that does not begin with one");
        if (!step(r, error)) return false;
    }
    size_t end = r->at;
    while (end > start && (r->text[end - 1] == ' ' || r->text[end - 1] == '\t'))
        end--;
    field->text = r->fields + start;
    r->fields[end] = 0; // the byte behind: a blank, the comma, or the line's end
    return true;
}

static bool read_quoted(csv_reader *r, csv_field *field, sim_error *error)
{
    const sim_place opened = place_here(r);
    char *out = r->fields + r->at;
    field->text = out;
    if (!step(r, error)) return false;
    for (;;) {
        if (at_end(r)) return sim_fail(error, SIM_EXIT_INPUT, &opened, "this quote is never closed");
        const bool quote = r->text[r->at] == '"';
        if (quote && (r->at + 1 == r->length || r->text[r->at + 1] != '"')) break;
        if (quote && !step(r, error)) return false;
        const size_t start = r->at;
        if (!step(r, error)) return false;
        memmove(out, r->text + start, r->at - start); // fields never hold more than the text did
        out += r->at - start;
    }
    *out = 0;
    if (!step(r, error)) return false;
    skip_blanks(r);
    if (here(r) == ',' || at_line_end(r)) return true;
    return fail_here(r, error, "a comma or the end of the line is missing behind the quote");
}

static bool read_row(csv_reader *r, csv_field *row, uint32_t *count, sim_error *error)
{
    *count = 0;
    for (;;) {
        skip_blanks(r);
        if (*count == CSV_COLUMNS_MAX) return fail_here(r, error, "there are more than 64 columns");
        csv_field *field = &row[(*count)++];
        field->place = place_here(r);
        if (!(here(r) == '"' ? read_quoted(r, field, error) : read_plain(r, field, error))) return false;
        if (here(r) != ',') break;
        r->at++;
        r->column++;
    }
    skip_line_end(r);
    return true;
}

static void skip_empty_lines(csv_reader *r)
{
    for (skip_blanks(r); !at_end(r) && at_line_end(r); skip_blanks(r))
        skip_line_end(r);
}

// ---- the table

static bool read_header(csv_reader *r, sim_error *error)
{
    if (r->length >= 3 && memcmp(r->text, "\xEF\xBB\xBF", 3) == 0) r->at = 3; // a byte order mark
    skip_empty_lines(r);
    if (at_end(r)) return fail_here(r, error, "the table is empty: its first line must name the columns");
    if (!read_row(r, r->names, &r->columns, error)) return false;
    for (uint32_t c = 0; c < r->columns; c++) {
        const csv_field *name = &r->names[c];
        char shown[WORDS_SHOWN_SIZE];
        if (!*name->text) return sim_fail(error, SIM_EXIT_INPUT, &name->place, "this column has no name");
        for (uint32_t before = 0; before < c; before++)
            if (strcmp(r->names[before].text, name->text) == 0)
                return sim_fail(error, SIM_EXIT_INPUT, &name->place, "two columns are named \"%s\"",
                                words_show(shown, name->text));
    }
    return true;
}

csv_reader *csv_open_text(arena *a, const char *name, const char *text, size_t length, sim_error *error)
{
    csv_reader *r = arena_new(a, csv_reader);
    *r = (csv_reader){ .arena = a, .file = arena_text(a, name), .length = length, .line = 1, .column = 1 };
    r->text = arena_text_n(a, text, length);
    r->fields = arena_text_n(a, text, length);
    return read_header(r, error) ? r : NULL;
}

csv_reader *csv_open(arena *a, const char *path, const sim_place *where, sim_error *error)
{
    char *text;
    size_t length;
    if (!doc_read_text(a, path, where, &text, &length, error)) return NULL;
    return csv_open_text(a, path, text, length, error);
}

uint32_t csv_columns(const csv_reader *r)
{
    return r->columns;
}

const csv_field *csv_column(const csv_reader *r, uint32_t column)
{
    SIM_ASSERT(column < r->columns);
    return &r->names[column];
}

bool csv_find_column(const csv_reader *r, const char *name, uint32_t *column)
{
    for (*column = 0; *column < r->columns; ++*column)
        if (strcmp(r->names[*column].text, name) == 0) return true;
    return false;
}

const csv_field *csv_next(csv_reader *r, sim_error *error)
{
    uint32_t count;
    skip_empty_lines(r);
    if (at_end(r)) return NULL;
    if (!read_row(r, r->row, &count, error)) return NULL;
    if (count == r->columns) return r->row;
    const uint32_t last = count < r->columns ? count - 1 : r->columns;
    sim_fail(error, SIM_EXIT_INPUT, &r->row[last].place, "this row has %u field%s, but the header names %u",
             count, count == 1 ? "" : "s", r->columns);
    return NULL;
}

// ---- as a document

static doc_node *mapping_of(doc_load *load, const csv_reader *r, const csv_field *row, sim_error *error)
{
    doc_node *mapping = doc_node_create(load, DOC_MAPPING, &row[0].place, error);
    if (!mapping) return NULL;
    mapping->pairs = arena_array(load->arena, doc_pair, r->columns);
    for (uint32_t c = 0; c < r->columns; c++) {
        if (!*row[c].text) continue;
        doc_node *value = doc_node_create(load, DOC_SCALAR, &row[c].place, error);
        if (!value) return NULL;
        value->scalar = row[c].text;
        mapping->pairs[mapping->count++] =
            (doc_pair){ .key = r->names[c].text, .key_place = row[c].place, .value = value };
        if (!doc_node_count_child(mapping, 2, value, &row[c].place, error)) return NULL;
    }
    return mapping;
}

bool csv_document(csv_reader *r, document *out, sim_error *error)
{
    ARRAY_OF(doc_node *, node_list);
    node_list items = { 0 };
    doc_load load = { .arena = r->arena };
    doc_node *root = doc_node_create(&load, DOC_SEQUENCE, &r->names[0].place, error);
    if (!root) return false;
    for (const csv_field *row = csv_next(r, error); row; row = csv_next(r, error)) {
        doc_node *mapping = mapping_of(&load, r, row, error);
        if (!mapping || !doc_node_count_child(root, 1, mapping, &row[0].place, error)) return false;
        *array_push(&items, r->arena) = mapping;
    }
    root->items = items.items;
    root->count = items.count;
    *out = (document){ .root = root, .file = r->file, .text = r->text, .text_length = r->length };
    return !sim_failed(error);
}
