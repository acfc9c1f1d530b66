// SPDX-License-Identifier: GPL-3.0-or-later
// sim/trace_file.h: what is in the file of a trace; only trace.c, trace_place.c and trace_file.c include it.
#pragma once
#include "sim/trace.h"
#include <sqlite3.h>

// Tables, views and dictionary in an empty database, whose rollback journal it turns off; returns SQLite's code.
int trace_file_create_schema(sqlite3 *db, const trace_options *options);
// A pragma that cannot do what it is told answers with what is, and no error: that is SQLITE_CANTOPEN here.
// sql: "PRAGMA journal_mode = WAL", want: "wal".
int trace_file_set_journal(sqlite3 *db, const char *sql, const char *want);

// Fills error from the latest failure of db: "disk full: ...", or SQLite's words and the system's.
// doing: "write".
bool trace_file_fail(sim_error *error, const char *doing, const char *path, int code, sqlite3 *db);

// "INSERT INTO table VALUES(?1, ...)", prepared; returns SQLite's code.
int trace_file_prepare_insert(sqlite3 *db, const trace_table *table, sqlite3_stmt **insert);
// Binds the members of one row, inserts it, and returns SQLite's code; SQLITE_OK: it is in.
int trace_file_insert(sqlite3_stmt *insert, const trace_table *table, const void *row);
// A row into the table of the dictionary that takes so many bytes, at most INT_MAX; returns SQLite's code. It is to be taken
// back.
int trace_file_insert_filler(sqlite3 *db, const char *table, uint64_t bytes);
