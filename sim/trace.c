// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/trace.h"
#include "sim/check.h"
#include "sim/os.h"
#include "sim/trace_file.h"
#include "sim/trace_place.h"
#include <errno.h>
#include <limits.h>
#include <string.h>

const char *const trace_level_words[] = { "summary", "steps", "spans", "transfers", "packets", NULL };

#define COMMIT_INTERVAL_S 1.0 // what was played is to be read meanwhile, and after a crash
#define ROWS_PER_CLOCK 256    // asking the clock for every row would cost as much as a tenth of the insert
#define BUSY_TIMEOUT_MS 1000  // somebody reads along: a reader holds us up only while the log is folded back
#define PAGE_BYTES 4096       // SQLite's own choice
#define LOG_PAGES 1000        // likewise: from so many on the log is copied into the file
#define BUSY_PAUSE_MS 10      // between two tries where SQLite itself does not wait

struct trace {
    trace_options options; // path is a copy
    trace_place place;
    sqlite3 *db;
    sqlite3_stmt **inserts; // by table; NULL: the level leaves it out
    bool in_transaction, is_complete;
    uint64_t room_pages;     // see trace_keep_room()
    uint64_t log_pages;      // in the log after the last commit
    uint64_t log_file_pages; // so long is its file at least
    uint64_t made_pages;     // behind the rows that are to be committed
    uint64_t rows, rows_committed;
    uint32_t rows_since_clock;
    double last_commit_s;
    sim_error failure;
};

// Keeps the first failure and gives up the open transaction: after a full disk SQLite has mostly done so
// itself.
static void keep_failure(trace *t, const char *doing, int code)
{
    trace_file_fail(&t->failure, doing, t->options.path, code, t->db);
    // Nothing more can be told when this fails too: the failure that led here is what the user reads.
    if (!sqlite3_get_autocommit(t->db)) (void)sqlite3_exec(t->db, "ROLLBACK", NULL, NULL, NULL);
    t->in_transaction = false;
    t->rows = t->rows_committed;
}

static bool execute(trace *t, const char *doing, const char *sql)
{
    errno = 0; // so that what it says after a failure is this one's
    int code = sqlite3_exec(t->db, sql, NULL, NULL, NULL);
    SIM_ASSERT((code & 0xff) != SQLITE_ERROR); // wrong SQL is ours
    if (code != SQLITE_OK) keep_failure(t, doing, code);
    return code == SQLITE_OK;
}

// ---- Opening ----

static int open_database(trace *t)
{
    int code = sqlite3_open_v2(t->place.name, &t->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (code == SQLITE_OK) code = sqlite3_extended_result_codes(t->db, 1);
    if (code == SQLITE_OK) code = sqlite3_busy_timeout(t->db, BUSY_TIMEOUT_MS);
    if (code == SQLITE_OK) code = trace_file_set_journal(t->db, "PRAGMA journal_mode = WAL", "wal");
    // NORMAL loses at most the last second at a power cut and nothing at a crash of the program. Some builds of SQLite write
    // zeros over what is deleted, which an update on a full disk has no room for.
    if (code == SQLITE_OK)
        code = sqlite3_exec(t->db,
                            "PRAGMA synchronous = NORMAL; PRAGMA cache_size = -16000;"
                            "PRAGMA secure_delete = OFF",
                            NULL, NULL, NULL);
    // Once the mode has changed SQLite holds no lock until it reads, and from then on one until it is closed: the only sign
    // for others that the file is in use, so it must be there before the place is unlocked.
    if (code == SQLITE_OK) code = sqlite3_exec(t->db, "SELECT count(*) FROM sqlite_schema", NULL, NULL, NULL);
    for (uint32_t i = 0; i < t->options.table_count && code == SQLITE_OK; i++) {
        if (!trace_wants(t, i)) continue;
        code = trace_file_prepare_insert(t->db, &t->options.tables[i], &t->inserts[i]);
    }
    return code;
}

static void finalize_inserts(trace *t)
{
    for (uint32_t i = 0; i < t->options.table_count; i++) {
        sqlite3_finalize(t->inserts[i]); // returns the last step's failure again, which was seen
        t->inserts[i] = NULL;
    }
}

static void close_database(trace *t)
{
    finalize_inserts(t);
    int closed = sqlite3_close(t->db);
    SIM_ASSERT(closed == SQLITE_OK); // every statement was finalized
    t->db = NULL;
}

// Removed while it is open: from the moment it is closed another process may have put its own file there.
static void discard(trace *t)
{
    (void)trace_place_remove(&t->place); // the failure that led here is what the user reads
    close_database(t);
}

trace *trace_open(arena *a, const trace_options *options, sim_error *error)
{
    SIM_ASSERT((uint32_t)options->level < TRACE_LEVELS);
    // All memory first: nothing of SQLite's may be open when the arena's end jumps away.
    trace *t = arena_new(a, trace);
    t->options = *options;
    t->options.path = arena_text(a, options->path);
    t->inserts = arena_array(a, sqlite3_stmt *, options->table_count);
    t->place = trace_place_of(a, t->options.path);
    if (!trace_place_create(&t->place, &t->options, error)) return NULL;
    int code = open_database(t);
    if (code != SQLITE_OK) {
        trace_file_fail(error, "keep a log beside", t->options.path, code, t->db);
        discard(t);
    }
    trace_place_unlock(&t->place); // in use, which shows, or gone: nobody can take the one for the other
    if (code != SQLITE_OK) return NULL;
    t->last_commit_s = os_wall_s();
    return t;
}

// ---- Rows ----

bool trace_wants(const trace *t, uint32_t table)
{
    SIM_ASSERT(table < t->options.table_count);
    return t->options.tables[table].level <= t->options.level;
}

bool trace_ok(const trace *t)
{
    return !sim_failed(&t->failure);
}

bool trace_error_of(const trace *t, sim_error *error)
{
    if (trace_ok(t)) return true;
    if (!sim_failed(error)) *error = t->failure;
    return false;
}

uint64_t trace_rows_written(const trace *t)
{
    return t->rows;
}

static bool begin(trace *t)
{
    if (!t->in_transaction) t->in_transaction = execute(t, "write", "BEGIN");
    return t->in_transaction;
}

// What changed in memory goes into the log, still uncommitted.
static bool flush(trace *t)
{
    errno = 0; // for system_reason(), as in execute()
    int code = sqlite3_db_cacheflush(t->db);
    if (code != SQLITE_OK) keep_failure(t, "write", code);
    return code == SQLITE_OK;
}

// Into the log since the last call.
static uint64_t pages_written(trace *t)
{
    int pages = 0, unused;
    int code = sqlite3_db_status(t->db, SQLITE_DBSTATUS_CACHE_WRITE, &pages, &unused, true);
    SIM_ASSERT(code == SQLITE_OK && pages >= 0);
    return (uint64_t)pages;
}

// Pages that nobody needs are written behind the rows and taken back. The log's file stays as long as they made it, so what
// follows the commit is written over them: it needs no more of the disk. Where they do not fit, the rows are not
// committed either, and the room behind those of the commit before is still there.
static bool make_room(trace *t)
{
    // The rows go first: SQLite would copy each of their pages to be able to take back what comes after them.
    if (t->room_pages == 0 || !flush(t)) return t->room_pages == 0;
    // A log that began anew is shorter than this, and its file is as long as it was.
    if (t->log_pages + pages_written(t) + t->room_pages <= t->log_file_pages) return true;
    if (!execute(t, "write", "SAVEPOINT room")) return false;
    int code = trace_file_insert_filler(t->db, t->options.dictionary, t->room_pages * PAGE_BYTES);
    if (code != SQLITE_OK) keep_failure(t, "write", code);
    if (code != SQLITE_OK || !flush(t) || !execute(t, "write", "ROLLBACK TO room; RELEASE room"))
        return false;
    t->made_pages = t->room_pages;
    return true;
}

// Also copies the log into the file now and then, so that it can begin anew: SQLite does so itself where nobody asks
// to be told of commits. A failure may pass, and until then all is in the log.
static int on_commit(void *owner, sqlite3 *db, const char *name, int pages)
{
    trace *t = owner;
    t->log_pages = (uint64_t)pages;
    const uint64_t reached = t->log_pages + t->made_pages;
    if (t->log_file_pages < reached) t->log_file_pages = reached;
    t->made_pages = 0;
    (void)pages_written(t);
    if (pages >= LOG_PAGES) (void)sqlite3_wal_checkpoint_v2(db, name, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    return SQLITE_OK;
}

void trace_keep_room(trace *t, uint64_t bytes)
{
    SIM_ASSERT(bytes <= INT_MAX / 2); // a text that SQLite takes
    t->room_pages = bytes / PAGE_BYTES + 1;
    sqlite3_wal_hook(t->db, on_commit, t);
}

static void end_transaction(trace *t)
{
    t->rows_since_clock = 0;
    t->last_commit_s = os_wall_s();
    if (!execute(t, "write", "COMMIT")) return;
    t->in_transaction = false;
    t->rows_committed = t->rows;
}

static void commit(trace *t)
{
    if (t->in_transaction && make_room(t)) end_transaction(t);
}

void trace_row(trace *t, uint32_t table, const void *row)
{
    if (!trace_wants(t, table) || !trace_ok(t) || !begin(t)) return;
    int code = trace_file_insert(t->inserts[table], &t->options.tables[table], row);
    if (code != SQLITE_OK) {
        keep_failure(t, "write", code);
        return;
    }
    t->rows++;
    if (++t->rows_since_clock < ROWS_PER_CLOCK) return;
    t->rows_since_clock = 0;
    trace_commit_if_due(t);
}

void trace_commit(trace *t)
{
    if (trace_ok(t)) commit(t);
}

void trace_commit_if_due(trace *t)
{
    if (os_wall_s() - t->last_commit_s >= COMMIT_INTERVAL_S) trace_commit(t);
}

static int bind_value(sqlite3_stmt *statement, int place, const trace_value *value)
{
    switch (value->type) {
    case TRACE_NULL_VALUE: return sqlite3_bind_null(statement, place);
    case TRACE_INTEGER_VALUE: return sqlite3_bind_int64(statement, place, value->integer);
    case TRACE_REAL_VALUE: return sqlite3_bind_double(statement, place, value->real);
    case TRACE_TEXT_VALUE: return sqlite3_bind_text(statement, place, value->text, -1, SQLITE_STATIC);
    }
    SIM_ASSERT(false);
    return SQLITE_ERROR;
}

void trace_update(trace *t, const char *sql, const trace_value *values, uint32_t count)
{
    commit(t); // the rows make room for this; without it, this would take the room that is there
    if (!begin(t)) return;
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(t->db, sql, -1, &statement, NULL);
    if ((code & 0xff) == SQLITE_ERROR) check_failed(sqlite3_errmsg(t->db), __FILE__, __LINE__, __func__);
    for (uint32_t i = 0; i < count && code == SQLITE_OK; i++)
        code = bind_value(statement, (int)i + 1, &values[i]);
    while (code == SQLITE_OK || code == SQLITE_ROW)
        code = sqlite3_step(statement);
    sqlite3_finalize(statement); // says again what the step said
    if (code == SQLITE_DONE)
        end_transaction(t);
    else
        keep_failure(t, "write", code);
}

// ---- Closing ----

static int create_index(trace *t, const trace_index *index)
{
    char *sql = sqlite3_mprintf("CREATE INDEX \"%w\" ON \"%w\"(%s)", index->name, index->table,
                                index->columns);
    int code = sql ? sqlite3_exec(t->db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
    if ((code & 0xff) == SQLITE_ERROR) check_failed(sqlite3_errmsg(t->db), __FILE__, __LINE__, index->name);
    sqlite3_free(sql);
    return code;
}

static void create_indexes(trace *t)
{
    if (!trace_ok(t) || !begin(t)) return;
    for (uint32_t i = 0; i < t->options.index_count; i++) {
        int code = create_index(t, &t->options.indexes[i]);
        if (code == SQLITE_OK) continue;
        keep_failure(t, "index", code);
        return;
    }
    commit(t);
}

static bool is_busy(int code)
{
    return (code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED;
}

void trace_complete(trace *t)
{
    if (t->is_complete) return;
    t->is_complete = true;
    trace_commit(t);
    create_indexes(t);
}

void trace_copy_log(trace *t)
{
    if (!trace_ok(t)) return;
    errno = 0; // for system_reason(), as in execute()
    int code = sqlite3_wal_checkpoint_v2(t->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    if (code != SQLITE_OK && !is_busy(code)) keep_failure(t, "fold the log back into", code);
}

static int try_to_fold_back(trace *t)
{
    errno = 0; // for system_reason(), as in execute()
    int code = sqlite3_wal_checkpoint_v2(t->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    return code == SQLITE_OK ? trace_file_set_journal(t->db, "PRAGMA journal_mode = DELETE", "delete") : code;
}

// One file remains. Not so when somebody reads: then all rows are there, in the file and its log together.
static void fold_back(trace *t)
{
    // SQLite does not wait for the whole file, which a process that wants to replace it has for an instant, while it asks
    // whether the file is in use.
    const double end_s = os_wall_s() + BUSY_TIMEOUT_MS * 1e-3;
    int code = try_to_fold_back(t);
    while (is_busy(code) && os_wall_s() < end_s) {
        sqlite3_sleep(BUSY_PAUSE_MS);
        code = try_to_fold_back(t);
    }
    if (is_busy(code)) {
        sim_fail(&t->failure, SIM_EXIT_INPUT, NULL,
                 "the log of \"%s\" stays beside it, for another process reads the database; nothing is lost",
                 t->options.path);
        return;
    }
    if (code != SQLITE_OK) keep_failure(t, "fold the log back into", code);
}

static void close_trace(trace *t)
{
    commit(t);
    finalize_inserts(t); // open ones would hold the journal mode
    fold_back(t);
    close_database(t);
}

bool trace_close(trace *t, sim_error *error)
{
    trace_complete(t);
    close_trace(t);
    return trace_error_of(t, error);
}

void trace_abandon(trace *t)
{
    close_trace(t);
}

void trace_discard(trace *t)
{
    discard(t);
}

const char *trace_library_version(void)
{
    return sqlite3_libversion();
}
