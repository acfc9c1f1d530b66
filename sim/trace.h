// SPDX-License-Identifier: GPL-3.0-or-later
// sim/trace.h: rows into one SQLite file. Tables are declared by their owner (models/tables.c); this file opens,
// prepares, inserts, commits and closes. WAL mode, a commit at least each second and whenever asked; indexes and views
// are made at close; the log is folded back so that one file remains. Every SQLite result is checked: the first failure
// (full disk) is kept, later rows are dropped, and trace_ok() says so; what was committed stays.
#pragma once
#include "sim/arena.h"
#include "sim/error.h"
#include <stdbool.h>
#include <stdint.h>

typedef enum trace_level {
    TRACE_SUMMARY,
    TRACE_STEPS,
    TRACE_SPANS,
    TRACE_TRANSFERS,
    TRACE_PACKETS
} trace_level;
extern const char *const trace_level_words[]; // "summary", ... NULL-terminated

typedef enum trace_column_type { TRACE_INTEGER, TRACE_REAL, TRACE_TEXT } trace_column_type;
typedef struct trace_column {
    const char *name; // with its unit: start_ps, size_bytes
    trace_column_type type;
    const char *unit;        // "ps", "B", "1", "id", ...
    const char *explanation; // one sentence for the dictionary
    bool nullable;
    bool key; // part of the primary key
} trace_column;
typedef struct trace_table {
    const char *name;
    const char *explanation;
    trace_level level; // written from this level on
    const trace_column *columns;
    uint32_t column_count;
} trace_table;
typedef struct trace_sql { // a view or an index, made at close
    const char *name;
    const char *sql;
    const char *explanation; // views: for the dictionary; NULL: not listed
} trace_sql;

typedef struct trace_value {
    enum { TRACE_NULL_VALUE, TRACE_INTEGER_VALUE, TRACE_REAL_VALUE, TRACE_TEXT_VALUE } type;
    int64_t integer;
    double real;
    const char *text; // copied by SQLite
} trace_value;
#define trace_int(value_) ((trace_value){ .type = TRACE_INTEGER_VALUE, .integer = (int64_t)(value_) })
#define trace_real(value_) ((trace_value){ .type = TRACE_REAL_VALUE, .real = (value_) })
#define trace_text(value_) ((trace_value){ .type = TRACE_TEXT_VALUE, .text = (value_) })
#define trace_null() ((trace_value){ .type = TRACE_NULL_VALUE })

typedef struct trace_options {
    const char *path;
    bool force; // replace an existing file; without it an existing output is refused
    trace_level level;
    int32_t application_id, user_version;
    const trace_table *tables;
    uint32_t table_count; // a table's id is its index
    const trace_sql *views;
    uint32_t view_count;
    const trace_sql *indexes;
    uint32_t index_count;
} trace_options;

// Estimate before anything is created: more than 20 M rows or 2 GB is refused, naming the level that fits (exit 2).
typedef struct trace_estimate {
    uint64_t
        rows[TRACE_PACKETS + 1]; // rows a run at exactly this level would write, all lower levels included
} trace_estimate;
bool trace_estimate_check(const trace_estimate *estimate, trace_level level, bool anyway, sim_error *error);
uint64_t trace_estimate_bytes(uint64_t rows);

typedef struct trace trace;
// Refuses (exit 2): existing output without force, unwritable, not a regular file, a full disk. Nothing half-written: on
// failure no new file remains. With force the old file is replaced only once the new one could be created.
trace *trace_open(arena *a, const trace_options *options, sim_error *error);
bool trace_wants(const trace *t, uint32_t table); // does the level include this table?
void trace_row(trace *t, uint32_t table, const trace_value *values,
               uint32_t count);               // count = column count, asserted
void trace_update(trace *t, const char *sql); // a fixed statement (run.state); commits
void trace_commit(trace *t);                  // now
void trace_commit_if_due(trace *t);           // if a second has passed since the last commit
bool trace_ok(const trace *t);
bool trace_error_of(const trace *t, sim_error *error); // copies the first failure; false, as sim_fail()
uint64_t trace_rows_written(const trace *t);
// Makes indexes and views, folds the log back, closes. False: the first failure, in error.
bool trace_close(trace *t, sim_error *error);
void trace_abandon(trace *t); // closes without finishing: keeps what was committed
