// SPDX-License-Identifier: GPL-3.0-or-later
// sim/trace.h: rows into one SQLite file. Tables are declared by their owner (models/tables.h): a row is the
// owner's plain struct, and a column names a member of it; this file opens, prepares, inserts, commits and
// closes, and knows nothing of what the rows mean.
//
// The file is complete from the first instant: tables, views and dictionary are made under a temporary name,
// which becomes the path before the run starts. From then on it is in WAL mode, with a commit at least each
// second and whenever asked, so that a killed run leaves a database that opens. At close the indexes are made
// and the log is folded back so that one file remains. Every SQLite result is checked: the first failure (a
// full disk) is kept, later rows are dropped, and trace_ok() says so; what was committed stays. Each commit leaves
// room in the log, so that how it ended can still be written where the disk is full.
#pragma once
#include "sim/arena.h"
#include "sim/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum trace_level {
    TRACE_SUMMARY,
    TRACE_STEPS,
    TRACE_SPANS,
    TRACE_TRANSFERS,
    TRACE_PACKETS
} trace_level;
#define TRACE_LEVELS ((uint32_t)TRACE_PACKETS + 1)
extern const char *const trace_level_words[]; // "summary", ... NULL-terminated

// What may be unknown. Zeroed memory is NULL, so that a member nobody filled can never pass for a 0.
typedef struct trace_opt_int {
    bool known;
    int64_t value;
} trace_opt_int;
typedef struct trace_opt_real {
    bool known;
    double value;
} trace_opt_real;
#define known_int(value_) ((trace_opt_int){ .known = true, .value = (int64_t)(value_) })
#define known_real(value_) ((trace_opt_real){ .known = true, .value = (value_) })

typedef enum trace_field { // how the member lies in memory
    TRACE_INT64,
    TRACE_UINT64, // below 2^63, asserted: SQLite's integers are signed
    TRACE_UINT32, // UINT32_MAX, "no id", is refused by an assertion: such a column wants a trace_opt_int
    TRACE_BOOL,
    TRACE_DOUBLE, // finite, asserted
    TRACE_CHARS,  // NULL only where the column is nullable
    TRACE_OPT_INT,
    TRACE_OPT_REAL
} trace_field;
typedef struct trace_column {
    const char *name; // with its unit: start_ps, size_bytes
    const char *unit; // "ps", "B", "1", "id", "text", ...
    const char *explanation;
    size_t offset; // of the member in the row's struct
    trace_field field;
    bool nullable;
    bool key; // part of the primary key; a table whose only key is an integer is stored in its order
} trace_column;
// clang-format off
#define TRACE_FIELD_OF(member_) _Generic((member_), \
    int64_t: TRACE_INT64, uint64_t: TRACE_UINT64, uint32_t: TRACE_UINT32, bool: TRACE_BOOL, \
    double: TRACE_DOUBLE, const char *: TRACE_CHARS, \
    trace_opt_int: TRACE_OPT_INT, trace_opt_real: TRACE_OPT_REAL)
#define TRACE_OPTIONAL(member_) _Generic((member_), trace_opt_int: true, trace_opt_real: true, default: false)
#define TRACE_COLUMN_AS(row_, member_, unit_, explanation_, nullable_, key_)                               \
    { .name = #member_, .unit = (unit_), .explanation = (explanation_), .offset = offsetof(row_, member_), \
      .field = TRACE_FIELD_OF(((row_ *)0)->member_), .nullable = (nullable_), .key = (key_) }
// clang-format on
// A column from the member it is kept in: the name, the place and the type cannot disagree.
#define TRACE_COLUMN(row_, member_, unit_, explanation_)                                                     \
    TRACE_COLUMN_AS(row_, member_, unit_, explanation_, TRACE_OPTIONAL(((row_ *)0)->member_), false)
#define TRACE_KEY(row_, member_, unit_, explanation_)                                                        \
    TRACE_COLUMN_AS(row_, member_, unit_, explanation_, false, true)
#define TRACE_TEXT_OR_NULL(row_, member_, explanation_)                                                      \
    TRACE_COLUMN_AS(row_, member_, "text", explanation_, true, false)

typedef struct trace_table {
    const char *name;
    const char *explanation;
    trace_level level; // written from this level on
    const char *check; // a condition that every row satisfies, in SQL; NULL: none
    const trace_column *columns;
    uint32_t column_count;
} trace_table;
typedef struct trace_label { // a column of a view
    const char *name, *unit, *explanation;
} trace_label;
typedef struct trace_view {
    const char *name;
    const char *explanation;
    const char *select;
    const trace_label *columns; // exactly those that select gives, in their order (asserted)
    uint32_t column_count;
} trace_view;
typedef struct trace_index {
    const char *name, *table, *columns;
} trace_index;

typedef struct trace_options {
    const char *path;
    bool force;             // replace an existing file; without it an existing output is refused
    const char *force_hint; // how the user asks for that, in the refusal; NULL: it says nothing
    trace_level level;
    int32_t application_id, user_version;
    const trace_table *tables; // these declarations live as long as the trace
    uint32_t table_count;      // a table's id is its index
    // The table that explains all others, declared with the columns of trace_dictionary_row; filled here.
    const char *dictionary;
    const trace_view *views;
    uint32_t view_count;
    const trace_index *indexes;
    uint32_t index_count;
} trace_options;
typedef struct trace_dictionary_row {
    const char *table_name;
    const char *column_name; // NULL: the row speaks of the table itself
    const char *unit;        // NULL with column_name
    const char *explanation;
} trace_dictionary_row;

// Estimate before anything is created: more than 20 M rows or 2 GB is refused, naming the level that
// fits (exit 2).
typedef struct trace_estimate {
    uint64_t rows[TRACE_LEVELS]; // rows a run at exactly this level would write, all lower levels included
} trace_estimate;
bool trace_estimate_check(const trace_estimate *estimate, trace_level level, bool anyway, sim_error *error);
uint64_t trace_estimate_bytes(uint64_t rows);

typedef struct trace trace;
// Refuses (exit 2): existing output without force; with it, what is no empty file and no database with this
// application_id; logs of another database, unless forced; unwritable, not a regular file, in use by another process,
// a full disk. Of several processes that create one output one wins. Nothing half-written: on failure no new
// file remains, and nothing else was touched. With force the old file is replaced only once the new one is
// complete and a log was seen to fit beside it. The path is a file's name, whatever it looks like to SQLite
// (":memory:"); "-" is refused. The arena must outlive the trace; whoever catches its escape calls trace_abandon()
// or trace_discard() first.
trace *trace_open(arena *a, const trace_options *options, sim_error *error);
bool trace_wants(const trace *t, uint32_t table); // does the level include this table?
void trace_row(trace *t, uint32_t table,
               const void *row); // does nothing where the level leaves the table out
bool trace_ok(const trace *t);
bool trace_error_of(const trace *t, sim_error *error); // true: no failure; else copies the first one
uint64_t trace_rows_written(const trace *t);           // after a failure: those that were committed
void trace_commit(trace *t);                           // now
void trace_commit_if_due(trace *t);                    // if a second has passed since the last commit

typedef struct trace_value { // for an update: what its ?1, ?2, ... stand for
    enum { TRACE_NULL_VALUE, TRACE_INTEGER_VALUE, TRACE_REAL_VALUE, TRACE_TEXT_VALUE } type;
    int64_t integer;
    double real;
    const char *text;
} trace_value;
#define trace_int(value_) ((trace_value){ .type = TRACE_INTEGER_VALUE, .integer = (int64_t)(value_) })
#define trace_real(value_) ((trace_value){ .type = TRACE_REAL_VALUE, .real = (value_) })
#define trace_text(value_) ((trace_value){ .type = TRACE_TEXT_VALUE, .text = (value_) })
#define trace_null() ((trace_value){ .type = TRACE_NULL_VALUE })
// The rows' commit, one fixed statement (run.state), then its commit. Tried even after a failure, so that the state can
// still say so.
void trace_update(trace *t, const char *sql, const trace_value *values, uint32_t count);

// Each commit of rows from now on leaves room in the log for updates of so many bytes in all, and fails where it cannot.
// SQLite writes a row anew when the length of any of its values changes: count the whole row, and some pages (4 KiB).
void trace_keep_room(trace *t, uint64_t bytes);
// Commits and makes the indexes: afterwards there are only updates.
void trace_complete(trace *t);
// From the log into the file, as far as no reader needs the log. It fails where the file cannot grow; then all is in the log
// still, and updates too.
void trace_copy_log(trace *t);

// Completes, folds the log back, closes: the trace is gone, whatever is returned. False: the first failure.
bool trace_close(trace *t, sim_error *error);
void trace_discard(trace *t); // the file and its logs are removed
void trace_abandon(trace *t); // closes without indexes: what was written until now is kept if it still can be
const char *trace_library_version(void); // of SQLite
