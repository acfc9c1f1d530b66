// SPDX-License-Identifier: GPL-3.0-or-later
// tools/output.h: what the program prints: aligned tables and readable numbers for people, JSON for machines. It knows no
// models.
#pragma once
#include "sim/array.h"
#include "sim/error.h"
#include "sim/units.h"

// ---- tables

typedef struct table_column {
    const char *title; // NULL in all columns: no line of titles
    bool right;        // numbers stand right
} table_column;

typedef struct table {
    arena *a;
    const table_column *columns;
    uint32_t column_count;
    text_list cells; // row by row
} table;

table table_make(arena *a, const table_column *columns, uint32_t column_count);
// The next cell, row by row, made printable. A cell may be "".
void table_cell(table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Every row begins with indent; trailing spaces are left out. All rows must be whole.
void table_print(const table *t, const char *indent, FILE *out);

// ---- texts and numbers for people, in the arena

// Foreign text as a terminal may see it: control characters and what is no UTF-8 become "?".
const char *output_printable(arena *a, const char *text);
const char *output_count(arena *a, uint64_t count);                // "1,234,567"
const char *output_number(arena *a, unit_kind kind, double value); // units_format(): "1.234 ms"
const char *output_bytes(arena *a, double bytes);                  // "74.51 GiB"
const char *output_percent(arena *a, double ratio);                // "41.3 %"
// "45 s", "1 min 30 s", "2 h 05 min", "3 d 04 h"; returns buffer.
char *output_duration(char *buffer, size_t size, double seconds);
// Shares in tenths of a percent that add up to the rounded sum of all, by largest remainders (ties: the earlier one).
void output_round_shares(arena *a, const double *shares, uint32_t count, uint32_t *tenths);

// ---- JSON: one value per line, indented. Keys are NULL inside arrays and at the top.

enum { JSON_DEPTH_MAX = 16 };
typedef struct json_writer {
    FILE *out;
    uint32_t depth;
    bool some[JSON_DEPTH_MAX + 1]; // does the container at this depth have members already?
    char end[JSON_DEPTH_MAX + 1];  // what closes it
} json_writer;

json_writer json_make(FILE *out);
void json_object(json_writer *j, const char *key);
void json_array(json_writer *j, const char *key);
void json_close(json_writer *j); // the latest one; at the top a newline follows
// NULL: null. What is no UTF-8 becomes U+FFFD.
void json_text(json_writer *j, const char *key, const char *text);
// The shortest text that reads back; not finite: null.
void json_number(json_writer *j, const char *key, double value);
void json_count(json_writer *j, const char *key, uint64_t value);
void json_large(json_writer *j, const char *key, unsigned __int128 value);
void json_integer(json_writer *j, const char *key, int64_t value);
void json_bool(json_writer *j, const char *key, bool value);
void json_null(json_writer *j, const char *key);
void json_error(json_writer *j, const sim_error *error); // the member "error"
