// SPDX-License-Identifier: GPL-3.0-or-later
// models/table_file.h: a list of a scenario that may stand in a file of its own: a CSV table with the keys of one item as
// columns, or a YAML list. Before the scenario is bound the list is put in the place of the file's name, so that messages
// speak at the line of that file, the resolved scenario holds the list, and no output replaces the file.
#pragma once
#include "sim/document.h"

typedef struct table_file {
    const char *mapping[3]; // the keys that lead to the mapping that has it, from the top; the last is NULL
    const char *key;        // names the file
    const char *list;       // names the list
    const char *example;    // of a file's name, and what stands in it
} table_file;

// True as well where there is no such mapping or key: binding says what is wrong with that.
bool table_file_inline(arena *a, document *doc, const table_file *table, sim_error *error);
