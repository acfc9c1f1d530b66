// SPDX-License-Identifier: GPL-3.0-or-later
// sim/lines.h: a table of plain numbers, line by line, with the place of each field. For what is too large for csv.h, or has
// no header. Lines end with LF or CR LF, the last one with or without; a byte order mark is skipped. Fields stand between
// commas, blanks around them do not count, and quotes mean nothing. Nothing is copied: all points into the text.
#pragma once
#include "sim/error.h"
#include <stdbool.h>
#include <stddef.h>

typedef struct line_reader {
    const char *name, *text, *end;      // name stands in messages
    const char *line, *line_end, *next; // the line at hand, without its break; where the one below begins
    uint32_t line_number;               // from 1; 0: before the first
} line_reader;

typedef struct line_field {
    const char *begin, *end; // without the blanks around
} line_field;

line_reader lines_open(const char *name, const char *text, size_t length);
// Goes to the next line. False when the text has ended.
bool lines_next(line_reader *r);
bool lines_is_blank(const line_reader *r); // the line at hand has nothing but blanks
// The field at *at, which goes to the comma behind it, or to the end of the line.
line_field lines_take_field(const line_reader *r, const char **at);
// Of a character of the line at hand; columns count characters.
sim_place lines_place(const line_reader *r, const char *at);
