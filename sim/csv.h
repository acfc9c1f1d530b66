// SPDX-License-Identifier: GPL-3.0-or-later
// sim/csv.h: tables of comma-separated values (RFC 4180): a header that names the columns, then rows of as many fields.
// Fields may stand in double quotes, in which "" is one and line ends are kept; blanks around a field without quotes and
// empty lines are skipped; lines end with LF or CR LF. Refused with line and column: a row with more or fewer fields than
// the header, quotes inside a field without quotes or left open, a column named twice or not at all, bytes that are no
// UTF-8, a zero byte, no header, files larger than DOCUMENT_BYTES_MAX.
#pragma once
#include "sim/document.h"

enum { CSV_COLUMNS_MAX = 64 };

typedef struct csv_field {
    const char *text; // without quotes; "" for an empty field; lives as long as the arena
    sim_place place;
} csv_field;

typedef struct csv_reader csv_reader;
// Both read the header. name stands in messages.
csv_reader *csv_open(arena *a, const char *path, const sim_place *where, sim_error *error);
csv_reader *csv_open_text(arena *a, const char *name, const char *text, size_t length, sim_error *error);
uint32_t csv_columns(const csv_reader *r);
const csv_field *csv_column(const csv_reader *r, uint32_t column); // its name and where it stands
// The column of that name; false: there is none.
bool csv_find_column(const csv_reader *r, const char *name, uint32_t *column);
// The next row, which stays until the next call; NULL at the end and after a mistake, which sets error.
const csv_field *csv_next(csv_reader *r, sim_error *error);
// All rows that are left as a document: a list of mappings from column to field, without the empty fields. Binding it
// refuses what is wrong at its place in the table.
bool csv_document(csv_reader *r, document *out, sim_error *error);
