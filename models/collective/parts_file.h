// SPDX-License-Identifier: GPL-3.0-or-later
// models/collective/parts_file.h: who sends how much to whom in an all-to-all of unequal parts, as a CSV file without a header:
//     3, 0.5, 1      one row per sender, in the order of the ranks
//     1, 3,   2      one column per receiver
//     1, 1,   4
// Numbers are weights of any unit, whole or decimal ("2", "0.5", "1e+3"); what a rank has for itself counts in its row, and is
// not sent. Read: LF and CR LF, a byte order mark, blanks around a number, empty lines, a last line without its end. Refused,
// with line and column: a row or a file that has not one number for each rank, negative numbers and what is no number, and a
// matrix in which nobody sends to another.
#pragma once
#include "sim/arena.h"
#include "sim/error.h"

// Larger files are refused before they are read.
enum { PARTS_FILE_BYTES_MAX = 256 * 1024 * 1024 };

typedef struct parts_weights {
    uint32_t ranks;
    const double *weights;                  // sender x ranks + receiver
    double row_max, row_max_per_mean;       // of the sums of rows
    double column_max, column_max_per_mean; // of columns
} parts_weights;

bool parts_file_read(arena *a, const char *path, const sim_place *where, uint32_t ranks, parts_weights *out,
                     sim_error *error);
// The same from memory; name stands in messages.
bool parts_file_parse(arena *a, const char *name, const char *text, size_t length, uint32_t ranks,
                      parts_weights *out, sim_error *error);
// Parts for a largest row of exactly so many elements (below 2^53), in bytes: rounded so that no sum of a row's first parts is
// off by a whole element. Returns the bytes that leave their ranks; 0: every part is too small.
uint64_t parts_scale(const parts_weights *w, uint64_t elements, uint32_t element_bytes, uint64_t *parts);
