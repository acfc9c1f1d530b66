// SPDX-License-Identifier: GPL-3.0-or-later
// sim/trace_file.h: how the file of a trace comes to be; only trace.c and trace_file.c include it.
#pragma once
#include "sim/trace.h"
#include <sqlite3.h>

// Makes the database, complete but for its rows, under the name PATH.partial, then gives it its own. On
// failure (exit code 2) neither remains, and a file that was to be replaced is still there.
// room: for the names beside the path, TRACE_FILE_ROOM more than its length. Memory that ends here would leave a file.
bool trace_file_create(arena *a, char *room, const trace_options *options, sim_error *error);
// With its logs; false: something is left, errno says why. room: as above, the path may be PATH.partial.
bool trace_file_remove(char *room, const char *path);
#define TRACE_FILE_ROOM 32

// Fills error from the latest failure of db: "disk full: ...", or SQLite's words and the system's.
// doing: "write".
bool trace_file_fail(sim_error *error, const char *doing, const char *path, int code, sqlite3 *db);

// "INSERT INTO table VALUES(?1, ...)", prepared; returns SQLite's code.
int trace_file_prepare_insert(sqlite3 *db, const trace_table *table, sqlite3_stmt **insert);
// Binds the members of one row, inserts it, and returns SQLite's code; SQLITE_OK: it is in.
int trace_file_insert(sqlite3_stmt *insert, const trace_table *table, const void *row);
