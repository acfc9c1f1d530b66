// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/trace_file.h"
#include "sim/check.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

static bool is_quota(int system)
{
#ifdef EDQUOT // not in C17, yet on every system that has quotas
    return system == EDQUOT;
#else
    (void)system;
    return false;
#endif
}

// The system's reason for SQLite's failure, or 0. SQLite forgets it when a COMMIT fails; errno has it still.
static int system_reason(int code, sqlite3 *db)
{
    int kind = code & 0xff, latest = errno;
    if (kind != SQLITE_IOERR && kind != SQLITE_CANTOPEN) return 0;
    int system = sqlite3_system_errno(db);
    if (system != 0) return system;
    return latest == ENOSPC || latest == EFBIG || is_quota(latest) ? latest : 0;
}

bool trace_file_fail(sim_error *error, const char *doing, const char *path, int code, sqlite3 *db)
{
    int system = system_reason(code, db);
    if ((code & 0xff) == SQLITE_FULL || system == ENOSPC || is_quota(system))
        return sim_fail(error, SIM_EXIT_INPUT, NULL, "disk full: cannot %s \"%s\"", doing, path);
    return sim_fail(error, SIM_EXIT_INPUT, NULL, "cannot %s \"%s\": %s%s%s", doing, path,
                    sqlite3_errstr(code), system ? ": " : "", system ? strerror(system) : "");
}

// ---- Rows ----

static int bind_text(sqlite3_stmt *statement, int place, const trace_column *column, const char *text)
{
    SIM_ASSERT(text != NULL || column->nullable);
    // Not copied: the statement is stepped before the row can go.
    return text ? sqlite3_bind_text(statement, place, text, -1, SQLITE_STATIC)
                : sqlite3_bind_null(statement, place);
}

static int bind_double(sqlite3_stmt *statement, int place, double value)
{
    SIM_ASSERT(isfinite(value)); // SQLite would turn a NaN into a NULL, silently
    return sqlite3_bind_double(statement, place, value);
}

static int bind_member(sqlite3_stmt *statement, int place, const trace_column *column, const void *member)
{
    switch (column->field) {
    case TRACE_INT64: return sqlite3_bind_int64(statement, place, *(const int64_t *)member);
    case TRACE_UINT64:
        SIM_ASSERT(*(const uint64_t *)member <= INT64_MAX);
        return sqlite3_bind_int64(statement, place, (int64_t) * (const uint64_t *)member);
    case TRACE_UINT32:
        SIM_ASSERT(*(const uint32_t *)member != UINT32_MAX);
        return sqlite3_bind_int64(statement, place, *(const uint32_t *)member);
    case TRACE_BOOL: return sqlite3_bind_int(statement, place, *(const bool *)member);
    case TRACE_DOUBLE: return bind_double(statement, place, *(const double *)member);
    case TRACE_CHARS: return bind_text(statement, place, column, *(const char *const *)member);
    case TRACE_OPT_INT: {
        const trace_opt_int *value = member;
        return value->known ? sqlite3_bind_int64(statement, place, value->value)
                            : sqlite3_bind_null(statement, place);
    }
    case TRACE_OPT_REAL: {
        const trace_opt_real *value = member;
        return value->known ? bind_double(statement, place, value->value)
                            : sqlite3_bind_null(statement, place);
    }
    }
    SIM_ASSERT(false);
    return SQLITE_ERROR;
}

int trace_file_insert(sqlite3_stmt *insert, const trace_table *table, const void *row)
{
    for (uint32_t i = 0; i < table->column_count; i++) {
        const trace_column *column = &table->columns[i];
        int code = bind_member(insert, (int)i + 1, column, (const char *)row + column->offset);
        if (code != SQLITE_OK) return code;
    }
    int code = sqlite3_step(insert);
    if ((code & 0xff) == SQLITE_CONSTRAINT ||
        (code & 0xff) == SQLITE_MISMATCH) // a row twice, a broken check: ours
        check_failed(sqlite3_errmsg(sqlite3_db_handle(insert)), __FILE__, __LINE__, table->name);
    int reset = sqlite3_reset(insert);
    return code == SQLITE_DONE ? reset : code;
}

int trace_file_prepare_insert(sqlite3 *db, const trace_table *table, sqlite3_stmt **insert)
{
    sqlite3_str *sql = sqlite3_str_new(db);
    sqlite3_str_appendf(sql, "INSERT INTO \"%w\" VALUES(", table->name);
    for (uint32_t i = 0; i < table->column_count; i++)
        sqlite3_str_appendf(sql, "%s?%u", i ? "," : "", i + 1);
    sqlite3_str_appendall(sql, ")");
    char *text = sqlite3_str_finish(sql); // NULL: no memory, of which db knows nothing
    int code = text ? sqlite3_prepare_v3(db, text, -1, SQLITE_PREPARE_PERSISTENT, insert, NULL)
                    : SQLITE_NOMEM;
    sqlite3_free(text);
    return code;
}

// ---- The schema ----

// Takes the text, which is NULL when memory has ended.
static int exec_text(sqlite3 *db, char *sql)
{
    int code = sql ? sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
    sqlite3_free(sql);
    SIM_ASSERT((code & 0xff) != SQLITE_ERROR); // a wrong declaration: ours
    return code;
}

static const char *sql_type(trace_field field)
{
    switch (field) {
    case TRACE_INT64:
    case TRACE_UINT64:
    case TRACE_UINT32:
    case TRACE_BOOL:
    case TRACE_OPT_INT: return "INTEGER";
    case TRACE_DOUBLE:
    case TRACE_OPT_REAL: return "REAL";
    case TRACE_CHARS: return "TEXT";
    }
    SIM_ASSERT(false);
    return NULL;
}

static int create_table(sqlite3 *db, const trace_table *table)
{
    sqlite3_str *sql = sqlite3_str_new(db);
    sqlite3_str_appendf(sql, "CREATE TABLE \"%w\"(", table->name);
    for (uint32_t i = 0; i < table->column_count; i++) {
        const trace_column *column = &table->columns[i];
        SIM_ASSERT(!(column->key && column->nullable));
        sqlite3_str_appendf(sql, "%s\n  \"%w\" %s%s", i ? "," : "", column->name, sql_type(column->field),
                            column->nullable ? "" : " NOT NULL");
    }
    uint32_t keys = 0;
    for (uint32_t i = 0; i < table->column_count; i++)
        if (table->columns[i].key)
            sqlite3_str_appendf(sql, "%s\"%w\"", keys++ ? ", " : ",\n  PRIMARY KEY(", table->columns[i].name);
    if (keys) sqlite3_str_appendall(sql, ")");
    if (table->check) sqlite3_str_appendf(sql, ",\n  CHECK(%s)", table->check);
    sqlite3_str_appendall(sql, "\n) STRICT");
    return exec_text(db, sqlite3_str_finish(sql));
}

// The declared columns are what the dictionary says, so they must be what the view gives.
static int check_view(sqlite3 *db, const trace_view *view)
{
    char *sql = sqlite3_mprintf("SELECT * FROM \"%w\"", view->name);
    if (!sql) return SQLITE_NOMEM;
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    sqlite3_free(sql);
    if ((code & 0xff) == SQLITE_ERROR) check_failed(sqlite3_errmsg(db), __FILE__, __LINE__, view->name);
    if (code != SQLITE_OK) return code;
    SIM_ASSERT(sqlite3_column_count(statement) == (int)view->column_count);
    for (uint32_t i = 0; i < view->column_count; i++)
        SIM_ASSERT(strcmp(sqlite3_column_name(statement, (int)i), view->columns[i].name) == 0);
    return sqlite3_finalize(statement);
}

static int create_view(sqlite3 *db, const trace_view *view)
{
    int code = exec_text(db, sqlite3_mprintf("CREATE VIEW \"%w\" AS %s", view->name, view->select));
    return code == SQLITE_OK ? check_view(db, view) : code;
}

// ---- The dictionary ----

typedef struct dictionary {
    sqlite3_stmt *insert;
    const trace_table *table;
    int code; // the first failure
} dictionary;

static void dictionary_add(dictionary *d, const char *table, const char *column, const char *unit,
                           const char *explanation)
{
    trace_dictionary_row row = { table, column, unit, explanation };
    if (d->code == SQLITE_OK) d->code = trace_file_insert(d->insert, d->table, &row);
}

static void dictionary_add_table(dictionary *d, const trace_table *table)
{
    char *text = sqlite3_mprintf("%s Written from level %s on.", table->explanation,
                                 trace_level_words[table->level]);
    if (!text) {
        d->code = SQLITE_NOMEM;
        return;
    }
    dictionary_add(d, table->name, NULL, NULL, text);
    sqlite3_free(text);
    for (uint32_t i = 0; i < table->column_count; i++)
        dictionary_add(d, table->name, table->columns[i].name, table->columns[i].unit,
                       table->columns[i].explanation);
}

static int fill_dictionary(sqlite3 *db, const trace_options *options)
{
    dictionary d = { .code = SQLITE_OK };
    for (uint32_t i = 0; i < options->table_count; i++)
        if (strcmp(options->tables[i].name, options->dictionary) == 0) d.table = &options->tables[i];
    SIM_ASSERT(d.table != NULL);
    d.code = trace_file_prepare_insert(db, d.table, &d.insert);
    if (d.code != SQLITE_OK) return d.code;
    for (uint32_t i = 0; i < options->table_count; i++)
        dictionary_add_table(&d, &options->tables[i]);
    for (uint32_t i = 0; i < options->view_count; i++) {
        const trace_view *view = &options->views[i];
        dictionary_add(&d, view->name, NULL, NULL, view->explanation);
        for (uint32_t j = 0; j < view->column_count; j++)
            dictionary_add(&d, view->name, view->columns[j].name, view->columns[j].unit,
                           view->columns[j].explanation);
    }
    sqlite3_finalize(d.insert);
    return d.code;
}

int trace_file_insert_filler(sqlite3 *db, const char *table, uint64_t bytes)
{
    // The columns of trace_dictionary_row. hex() makes two letters of a byte.
    return exec_text(db, sqlite3_mprintf("INSERT INTO \"%w\" VALUES('', NULL, NULL, hex(zeroblob(%llu)))",
                                         table, (unsigned long long)bytes / 2));
}

// ---- The file ----

int trace_file_set_journal(sqlite3 *db, const char *sql, const char *want)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    if (code != SQLITE_OK) return code;
    code = sqlite3_step(statement);
    const char *mode = code == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, 0) : NULL;
    bool done = mode && strcmp(mode, want) == 0;
    sqlite3_finalize(statement); // says again what the step said
    return done ? SQLITE_OK : code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_CANTOPEN : code;
}

int trace_file_create_schema(sqlite3 *db, const trace_options *options)
{
    errno = 0; // for system_reason()
    // A journal would guard nothing: the file is thrown away unless all of it was made.
    int code = exec_text(db, sqlite3_mprintf("PRAGMA journal_mode = OFF; PRAGMA application_id = %d;"
                                             "PRAGMA user_version = %d; BEGIN",
                                             (int)options->application_id, (int)options->user_version));
    for (uint32_t i = 0; i < options->table_count && code == SQLITE_OK; i++)
        code = create_table(db, &options->tables[i]);
    for (uint32_t i = 0; i < options->view_count && code == SQLITE_OK; i++)
        code = create_view(db, &options->views[i]);
    if (code == SQLITE_OK) code = fill_dictionary(db, options);
    return code == SQLITE_OK ? sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) : code;
}
