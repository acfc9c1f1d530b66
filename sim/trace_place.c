// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/trace_place.h"
#include "sim/array.h"
#include "sim/check.h"
#include "sim/os.h"
#include "sim/trace_file.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
    PARTIAL_NAMES =
        1000,        // so many are tried: each one that is taken was left by a killed run, or is somebody's
    SUFFIX_ROOM = 32 // ".999.partial-journal" and its end
};

static const char *const log_suffixes[] = { "-wal", "-shm", "-journal" };

trace_place trace_place_of(arena *a, const char *path)
{
    // SQLite knows "file:..." and ":memory:" as something else than files, unless there is a folder before them.
    const char *name = path[0] == '/' ? path : arena_format(a, "./%s", path);
    size_t size = strlen(name) + SUFFIX_ROOM;
    return (trace_place){ .path = path,
                          .name = name,
                          .partial = arena_array(a, char, size),
                          .lock_name = arena_format(a, "%s.windtunnel-lock", name),
                          .room = arena_array(a, char, size),
                          .lock = -1 };
}

// ---- Logs: one that was left behind would be played into whatever database bears the name it was written for ----

static const char *log_name(trace_place *p, const char *name, size_t log)
{
    snprintf(p->room, strlen(p->name) + SUFFIX_ROOM, "%s%s", name, log_suffixes[log]);
    return p->room;
}

// The suffix of the first that is there, or NULL.
static const char *first_log(trace_place *p, const char *name)
{
    for (size_t i = 0; i < ARRAY_COUNT(log_suffixes); i++)
        if (os_exists(log_name(p, name, i))) return log_suffixes[i];
    return NULL;
}

static bool remove_logs(trace_place *p, const char *name)
{
    for (size_t i = 0; i < ARRAY_COUNT(log_suffixes); i++)
        if (!os_remove(log_name(p, name, i))) return false;
    return true;
}

bool trace_place_remove(trace_place *p)
{
    return remove_logs(p, p->name) && os_remove(p->name);
}

// ---- What may be written ----

static bool fail(const trace_place *p, const char *doing, const char *reason, sim_error *error)
{
    return sim_fail(error, SIM_EXIT_INPUT, NULL, "cannot %s \"%s\": %s", doing, p->path, reason);
}

static bool check_name(const trace_place *p, sim_error *error)
{
    if (p->path[0] == 0) return sim_fail(error, SIM_EXIT_INPUT, NULL, "the output has no name");
    if (strcmp(p->path, "-") == 0) {
        sim_fail(error, SIM_EXIT_INPUT, NULL,
                 "the output is a database, which cannot go to a stream (\"-\")");
        return sim_hint(error, "name a file; ./- is one that is called so");
    }
    return true;
}

// What can be said without opening anything.
static bool check_path(trace_place *p, const trace_options *options, sim_error *error)
{
    if (os_is_directory(p->name)) return fail(p, "create", "it is a directory", error);
    // Logs first: those of a run that begins meanwhile come after its file.
    const char *log = first_log(p, p->name);
    p->replaces = os_exists(p->name);
    if (p->replaces && !options->force) {
        sim_fail(error, SIM_EXIT_INPUT, NULL, "the output \"%s\" exists already", p->path);
        return options->force_hint && sim_hint(error, "%s", options->force_hint);
    }
    if (log && !options->force) {
        sim_fail(error, SIM_EXIT_INPUT, NULL,
                 "cannot create \"%s\": \"%s%s\" is there, which would be taken for its log", p->path,
                 p->path, log);
        return options->force_hint && sim_hint(error, "%s", options->force_hint);
    }
    if (p->replaces && !os_is_regular(p->name)) return fail(p, "replace", "it is not a regular file", error);
    return true;
}

static int read_application_id(sqlite3 *db, int32_t *id)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(db, "PRAGMA application_id", -1, &statement, NULL);
    if (code != SQLITE_OK) return code;
    code = sqlite3_step(statement);
    if (code == SQLITE_ROW) *id = sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement); // says again what the step said
    return code == SQLITE_ROW ? SQLITE_OK : code;
}

static bool is_busy(int code)
{
    return (code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED;
}

// A database in WAL mode that is open anywhere is locked, which only asking for all of it shows. Closing it folds
// back the log that a killed run left, so that the old file is whole should anything fail from here on.
static bool check_old_file(const trace_place *p, const trace_options *options, sim_error *error)
{
    sqlite3 *db = NULL;
    int32_t id = 0;
    errno = 0; // for trace_file_fail()
    int code = sqlite3_open_v2(p->name, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (code == SQLITE_OK) code = read_application_id(db, &id);
    bool known = code == SQLITE_OK, ours = known && (id == options->application_id || os_is_empty(p->name));
    if (ours)
        code = sqlite3_exec(db, "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; ROLLBACK", NULL, NULL,
                            NULL);
    bool good = false;
    if (is_busy(code)) {
        fail(p, "replace", "another process has it open", error);
    } else if ((known && !ours) || (code & 0xff) == SQLITE_NOTADB) {
        fail(p, "replace", "it is not a database of windtunnel", error);
        sim_hint(error, "choose another name");
    } else if (!known) {
        trace_file_fail(error, "replace", p->path, code, db);
    } else {
        good = true; // whatever else is wrong with the old file does not matter
    }
    sqlite3_close(db);
    return good;
}

// ---- The lock ----

static bool lock(trace_place *p, sim_error *error)
{
    p->lock = os_lock_file(p->lock_name);
    if (p->lock >= 0) return true;
    if (errno == EAGAIN) return fail(p, "create", "another process is creating it", error);
    if (errno != EEXIST) return fail(p, "create", strerror(errno), error);
    return sim_fail(error, SIM_EXIT_INPUT, NULL, "cannot create \"%s\": \"%s.windtunnel-lock\" is in the way",
                    p->path, p->path);
}

void trace_place_unlock(trace_place *p)
{
    SIM_ASSERT(p->lock >= 0);
    os_unlock_file(p->lock_name, p->lock);
    p->lock = -1;
}

// ---- The file ----

// An empty file under a name of its own. Only fopen() says why a file cannot be made: SQLite tries again read-only, and
// that second failure hides the first.
static bool touch_partial(trace_place *p, sim_error *error)
{
    for (unsigned i = 1; i <= PARTIAL_NAMES; i++) {
        snprintf(p->partial, strlen(p->name) + SUFFIX_ROOM, "%s.%u.partial", p->name, i);
        if (first_log(p, p->partial)) continue;
        errno = 0;
        FILE *file = fopen(p->partial, "wbx");
        if (file && fclose(file) == 0) return true;
        int reason = errno;
        if (file) (void)os_remove(p->partial); // the failure is told below
        if (file || reason != EEXIST)
            return fail(p, "create", reason ? strerror(reason) : "the system gives no reason", error);
    }
    return sim_fail(error, SIM_EXIT_INPUT, NULL,
                    "cannot create \"%s\": all names from \"%s.1.partial\" to \"%s.%d.partial\" are taken",
                    p->path, p->path, p->path, PARTIAL_NAMES);
}

// Writes one page into a log and folds it back: where no log fits, no run should start, nor an old file go.
static int try_log(sqlite3 *db, const trace_options *options)
{
    int code = trace_file_set_journal(db, "PRAGMA journal_mode = WAL", "wal");
    if (code != SQLITE_OK) return code;
    char sql[64];
    snprintf(sql, sizeof sql, "PRAGMA user_version = %d", (int)options->user_version);
    code = sqlite3_exec(db, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? trace_file_set_journal(db, "PRAGMA journal_mode = DELETE", "delete") : code;
}

static bool fill_partial(const trace_place *p, const trace_options *options, sim_error *error)
{
    sqlite3 *db = NULL;
    errno = 0; // for trace_file_fail()
    int code = sqlite3_open_v2(p->partial, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (code == SQLITE_OK) code = trace_file_create_schema(db, options);
    if (code != SQLITE_OK) {
        trace_file_fail(error, "create", p->path, code, db);
    } else {
        code = try_log(db, options);
        if (code != SQLITE_OK) trace_file_fail(error, "keep a log beside", p->path, code, db);
    }
    int closed = sqlite3_close(db);
    SIM_ASSERT(closed == SQLITE_OK); // every statement was finalized
    return code == SQLITE_OK;
}

// The old log must not meet the new file. It is empty by now: what was in it is in the old file.
static bool take_place(trace_place *p, bool force, sim_error *error)
{
    if (force && !remove_logs(p, p->name))
        return sim_fail(error, SIM_EXIT_INPUT, NULL, "cannot replace \"%s\" and its logs: %s", p->path,
                        strerror(errno));
    if (p->replaces ? os_rename(p->partial, p->name) : os_rename_new(p->partial, p->name)) return true;
    return fail(p, p->replaces ? "replace" : "create", strerror(errno), error);
}

static bool make(trace_place *p, const trace_options *options, sim_error *error)
{
    if (!touch_partial(p, error)) return false;
    if (fill_partial(p, options, error) && take_place(p, options->force, error)) return true;
    (void)(remove_logs(p, p->partial) && os_remove(p->partial)); // the failure is told already
    return false;
}

bool trace_place_create(trace_place *p, const trace_options *options, sim_error *error)
{
    // What is wrong at first sight is told even where no lock can be made.
    if (!check_name(p, error) || !check_path(p, options, error) || !lock(p, error)) return false;
    bool good = check_path(p, options, error) && (!p->replaces || check_old_file(p, options, error)) &&
                make(p, options, error);
    if (!good) trace_place_unlock(p);
    return good;
}
