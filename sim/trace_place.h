// SPDX-License-Identifier: GPL-3.0-or-later
// sim/trace_place.h: how the file of a trace gets its name, without harm to any other file; only trace.c and
// trace_place.c include it.
#pragma once
#include "sim/trace.h"

typedef struct trace_place { // all its names are allocated at once: memory that ends later would leave a file
    const char *path;        // as the user says it: for messages
    const char *name;        // the same as a plain file's name, which SQLite takes for nothing else
    char *partial;           // the database in the making, beside the other; a name that nobody has
    char *lock_name, *room;  // the lock's file; room for the name of a log
    int lock;
    bool replaces; // there is an old file
} trace_place;

trace_place trace_place_of(arena *a, const char *path);
// Makes the database, complete but for its rows, under a name of its own, then gives it the right one. The place stays
// locked: SQLite gives no lock to what a file is named, so that another process could replace the new one before it
// is opened and read, which is when SQLite locks it. On failure (exit code 2) nothing is locked or new, and a file that
// was to be replaced is still there.
bool trace_place_create(trace_place *p, const trace_options *options, sim_error *error);
void trace_place_unlock(trace_place *p);
// The file with its logs; false: something is left, errno says why.
bool trace_place_remove(trace_place *p);
