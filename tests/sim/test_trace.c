// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/database.h"

#include "sim/array.h"
#include "sim/os.h"
#include "sim/trace.h"
#include "tests/support/text.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct row_state {
    int64_t state_id;
    const char *state;
} row_state;
typedef struct row_thing {
    uint32_t thing_id;
    int64_t start_ps;
    uint64_t size_bytes;
    bool folded;
    double rate_Bps;
    const char *name;
    const char *note;
    trace_opt_int step;
    trace_opt_real power_W;
} row_thing;
enum { STATE, THING, DICTIONARY };

static const trace_column state_columns[] = {
    TRACE_KEY(row_state, state_id, "id", "Always 1."),
    TRACE_COLUMN(row_state, state, "text", "What the run is doing."),
};
static const trace_column thing_columns[] = {
    TRACE_KEY(row_thing, thing_id, "id", "Its number."),
    TRACE_COLUMN(row_thing, start_ps, "ps", "When it began."),
    TRACE_COLUMN(row_thing, size_bytes, "B", "How large it is."),
    TRACE_COLUMN(row_thing, folded, "1", "1: it stands for others."),
    TRACE_COLUMN(row_thing, rate_Bps, "B/s", "How fast it moves."),
    TRACE_COLUMN(row_thing, name, "text", "What it is called."),
    TRACE_TEXT_OR_NULL(row_thing, note, "What is to be said about it."),
    TRACE_COLUMN(row_thing, step, "1", "The step it belongs to."),
    TRACE_COLUMN(row_thing, power_W, "W", "What it draws."),
};
static const trace_column dictionary_columns[] = {
    TRACE_COLUMN(trace_dictionary_row, table_name, "text", "The table."),
    TRACE_TEXT_OR_NULL(trace_dictionary_row, column_name, "The column."),
    TRACE_TEXT_OR_NULL(trace_dictionary_row, unit, "The unit."),
    TRACE_COLUMN(trace_dictionary_row, explanation, "text", "The meaning."),
};
static const trace_table declared[] = {
    { "state", "One row.", TRACE_SUMMARY, NULL, state_columns, ARRAY_COUNT(state_columns) },
    { "thing", "One row each.", TRACE_SPANS, "size_bytes > 0", thing_columns, ARRAY_COUNT(thing_columns) },
    { "dictionary", "This.", TRACE_SUMMARY, NULL, dictionary_columns, ARRAY_COUNT(dictionary_columns) },
};
static const trace_label large_columns[] = { { "thing_id", "id", "Which." },
                                             { "size_MB", "MB", "How large." } };
static const trace_view views[] = {
    { "large", "Larger than 1 MB.",
      "SELECT thing_id, size_bytes * 1e-6 AS size_MB FROM thing WHERE size_bytes > 1000000", large_columns,
      ARRAY_COUNT(large_columns) },
};
static const trace_index indexes[] = { { "thing_by_start", "thing", "start_ps, thing_id" } };

static const row_thing apple = { .thing_id = 7,
                                 .start_ps = INT64_C(-6148914691236517),
                                 .size_bytes = INT64_MAX,
                                 .folded = true,
                                 .rate_Bps = 4.31e11,
                                 .name = "apple",
                                 .note = "it's \"red\"",
                                 .step = { true, 3 },
                                 .power_W = { true, 687.5 } };
static const row_thing pear = { .thing_id = 4294967294u,
                                .start_ps = 1234567890123,
                                .size_bytes = 1,
                                .rate_Bps = -0.125,
                                .name = "p\xc3\xaar" };

static trace_options options_of(trace_level level)
{
    return (trace_options){ .path = "run.db",
                            .level = level,
                            .application_id = 0x57544e4c,
                            .user_version = 3,
                            .tables = declared,
                            .table_count = ARRAY_COUNT(declared),
                            .dictionary = "dictionary",
                            .views = views,
                            .view_count = ARRAY_COUNT(views),
                            .indexes = indexes,
                            .index_count = ARRAY_COUNT(indexes) };
}

// A trace in a fresh arena, opened without trouble.
typedef struct opened {
    arena *a;
    trace *t;
} opened;

static opened open_with(const trace_options *options)
{
    opened o = { .a = arena_create("trace test") };
    sim_error error = { 0 };
    o.t = trace_open(o.a, options, &error);
    if (!o.t) fail_msg("%s", error.message);
    row_state running = { 1, "running" };
    trace_row(o.t, STATE, &running);
    trace_commit(o.t);
    return o;
}

static opened open_at(trace_level level)
{
    trace_options options = options_of(level);
    return open_with(&options);
}

static void close_well(opened *o)
{
    sim_error error = { 0 };
    if (!trace_close(o->t, &error)) fail_msg("%s", error.message);
    arena_destroy(o->a);
}

static void write_things(trace *t, uint32_t from, uint32_t count)
{
    for (uint32_t i = from; i < from + count; i++) {
        row_thing row = { .thing_id = i,
                          .start_ps = 1000003 * (int64_t)i,
                          .size_bytes = 17,
                          .rate_Bps = 1.5,
                          .name = "a name that takes some room in the page" };
        trace_row(t, THING, &row);
    }
}

static void rows_are_read_back(void **state)
{
    (void)state;
    opened o = open_at(TRACE_SPANS);
    trace_row(o.t, THING, &apple);
    trace_row(o.t, THING, &pear);
    assert_int_equal(trace_rows_written(o.t), 3);
    assert_true(trace_ok(o.t));
    close_well(&o);
    assert_string_equal(
        query("run.db", "SELECT * FROM thing ORDER BY thing_id"),
        "7|-6148914691236517|9223372036854775807|1|431000000000.0|apple|it's \"red\"|3|687.5\n"
        "4294967294|1234567890123|1|0|-0.125|p\xc3\xaar|NULL|NULL|NULL");
    assert_string_equal(query("run.db", "SELECT * FROM large"), "7|9223372036854.78");
}

static void one_file_remains(void **state)
{
    (void)state;
    opened o = open_at(TRACE_PACKETS);
    assert_int_equal(scratch_count(".partial"), 0);
    assert_int_equal(scratch_count("-wal"), 1);
    assert_string_equal(query("run.db", "PRAGMA journal_mode"), "wal");
    close_well(&o);
    assert_int_equal(scratch_count(""), 1);
    assert_string_equal(query("run.db", "PRAGMA journal_mode"), "delete");
    assert_string_equal(query("run.db", "PRAGMA application_id"), "1465142860"); // "WTNL"
    assert_string_equal(query("run.db", "PRAGMA user_version"), "3");
    assert_string_equal(query("run.db", "PRAGMA integrity_check"), "ok");
    assert_string_equal(query("run.db",
                              "SELECT name, strict FROM pragma_table_list WHERE type = 'table' AND name NOT "
                              "LIKE 'sqlite%' ORDER BY name"),
                        "dictionary|1\nstate|1\nthing|1");
    assert_string_equal(
        query("run.db", "SELECT name, tbl_name FROM sqlite_schema WHERE type = 'index' AND sql NOT NULL"),
        "thing_by_start|thing");
}

static void a_level_leaves_tables_out(void **state)
{
    (void)state;
    opened o = open_at(TRACE_STEPS);
    assert_true(trace_wants(o.t, STATE));
    assert_false(trace_wants(o.t, THING));
    trace_row(o.t, THING, &apple);
    assert_int_equal(trace_rows_written(o.t), 1);
    close_well(&o);
    assert_string_equal(query("run.db", "SELECT count(*) FROM thing"), "0"); // yet it is there
}

static void the_dictionary_explains(void **state)
{
    (void)state;
    opened o = open_at(TRACE_SUMMARY);
    // Readable while the run lasts, and after a kill: so it is there from the start.
    assert_string_equal(query("run.db", "SELECT * FROM dictionary WHERE table_name IN ('state', 'large')"),
                        "state|NULL|NULL|One row. Written from level summary on.\n"
                        "state|state_id|id|Always 1.\n"
                        "state|state|text|What the run is doing.\n"
                        "large|NULL|NULL|Larger than 1 MB.\n"
                        "large|thing_id|id|Which.\n"
                        "large|size_MB|MB|How large.");
    assert_string_equal(query("run.db", "SELECT count(*) FROM dictionary"), "21");
    close_well(&o);
}

static void an_update_binds_and_commits(void **state)
{
    (void)state;
    opened o = open_at(TRACE_SPANS);
    trace_row(o.t, THING, &apple);
    trace_value values[] = { trace_text("it's done"), trace_int(1) };
    trace_update(o.t, "UPDATE state SET state = ?1 WHERE state_id = ?2", values, 2);
    assert_string_equal(query("run.db", "SELECT state, (SELECT count(*) FROM thing) FROM state"),
                        "it's done|1");
    trace_value others[] = { trace_real(0.375), trace_null() };
    trace_update(o.t, "UPDATE thing SET power_W = ?1, step = ?2", others, 2);
    assert_string_equal(query("run.db", "SELECT power_W, step FROM thing"), "0.375|NULL");
    close_well(&o);
}

static void commits_each_second(void **state)
{
    (void)state;
    const double before_s = os_wall_s();
    opened o = open_at(TRACE_SPANS);
    write_things(o.t, 0, 100);
    trace_commit_if_due(o.t);
    const bool too_early = os_wall_s() - before_s < 1.0; // but on a machine that stood still
    if (too_early) assert_string_equal(query("run.db", "SELECT count(*) FROM thing"), "0");
    nanosleep(&(struct timespec){ .tv_sec = 1, .tv_nsec = 20000000 }, NULL);
    write_things(o.t, 100, 155); // 256 rows with the state's: the clock is looked at
    if (too_early) assert_string_equal(query("run.db", "SELECT count(*) FROM thing"), "0");
    write_things(o.t, 255, 2);
    assert_string_equal(query("run.db", "SELECT count(*) FROM thing"), "256");
    close_well(&o);
}

// Limits how large a file may grow; the signal that goes with it is ignored, so writing fails.
static struct rlimit limit_file_size(rlim_t bytes)
{
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit = { .rlim_cur = bytes, .rlim_max = before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    return before;
}

// ---- Refusals ----

static void refuse(const trace_options *options, const char *want)
{
    arena *a = arena_create("trace test");
    sim_error error = { 0 };
    assert_null(trace_open(a, options, &error));
    assert_int_equal(error.exit_code, SIM_EXIT_INPUT);
    assert_error_prints(&error, want);
    arena_destroy(a);
}

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void assert_file_holds(const char *name, const char *want)
{
    char *text;
    size_t length;
    sim_error error = { 0 };
    if (!os_read_file(name, 100, &text, &length, NULL, &error)) fail_msg("%s", error.message);
    assert_string_equal(text, want);
    free(text);
}

static void make_old_database(void)
{
    opened o = open_at(TRACE_SPANS);
    write_things(o.t, 0, 3);
    close_well(&o);
}

static void refuses_an_existing_output(void **state)
{
    (void)state;
    write_file("run.db", "precious");
    trace_options options = options_of(TRACE_SPANS);
    refuse(&options, "windtunnel: error: the output \"run.db\" exists already\n");
    options.force_hint = "ask for it";
    refuse(&options, "windtunnel: error: the output \"run.db\" exists already\n  hint: ask for it\n");
    assert_file_holds("run.db", "precious");
    assert_int_equal(scratch_count(""), 1);
}

static void force_replaces_file_and_logs(void **state)
{
    (void)state;
    make_old_database();
    write_file("run.db-wal", "a log of another database");
    write_file("run.db-journal", "a journal of another database");
    write_file("xrun.db", "a name that ends alike");
    trace_options options = options_of(TRACE_SPANS);
    options.force = true;
    opened o = open_with(&options);
    close_well(&o);
    assert_string_equal(query("run.db", "SELECT state, (SELECT count(*) FROM thing) FROM state"),
                        "running|0");
    assert_int_equal(scratch_count("run.db"), 2);
    assert_int_equal(scratch_count(""), 2);
}

static void force_replaces_an_empty_file(void **state)
{
    (void)state;
    write_file("run.db", "");
    trace_options options = options_of(TRACE_SPANS);
    options.force = true;
    opened o = open_with(&options);
    close_well(&o);
    assert_string_equal(query("run.db", "SELECT state FROM state"), "running");
    assert_int_equal(scratch_count(""), 1);
}

static void force_spares_what_is_no_database_of_ours(void **state)
{
    (void)state;
    static const char want[] =
        "windtunnel: error: cannot replace \"run.db\": it is not a database of windtunnel\n"
        "  hint: choose another name\n";
    trace_options options = options_of(TRACE_SPANS);
    options.force = true;
    write_file("run.db", "precious");
    refuse(&options, want);
    assert_file_holds("run.db", "precious");
    assert_true(os_remove("run.db"));
    write_file("run.db", "");
    query("run.db", "CREATE TABLE precious(a)"); // of no program
    refuse(&options, want);
    query("run.db", "PRAGMA application_id = 1465142861"); // another program's
    refuse(&options, want);
    assert_string_equal(query("run.db", "SELECT count(*) FROM precious"), "0");
}

// Each of the names that SQLite would use beside a new output.
static void a_log_of_somebody_is_refused(void **state)
{
    (void)state;
    static const char *const logs[] = { "run.db-wal", "run.db-shm", "run.db-journal" };
    for (size_t i = 0; i < ARRAY_COUNT(logs); i++) {
        write_file(logs[i], "precious");
        trace_options options = options_of(TRACE_SPANS);
        options.force_hint = "ask for it";
        char want[200];
        snprintf(
            want, sizeof want,
            "windtunnel: error: cannot create \"run.db\": \"%s\" is there, which would be taken for its log\n"
            "  hint: ask for it\n",
            logs[i]);
        refuse(&options, want);
        assert_file_holds(logs[i], "precious");
        assert_int_equal(scratch_count(""), 1);
        options.force = true;
        opened o = open_with(&options);
        close_well(&o);
        assert_int_equal(scratch_count(""), 1);
        assert_true(os_remove("run.db"));
    }
}

// Whatever lies under a name that would be handy for the database in the making, or beside it, is left alone.
static void what_lies_beside_is_not_touched(void **state)
{
    (void)state;
    static const char *const files[] = { "run.db.partial", "run.db.1.partial", "run.db.2.partial-journal",
                                         "run.db.3.partial-wal" };
    for (int force = 0; force < 2; force++) {
        for (size_t i = 0; i < ARRAY_COUNT(files); i++)
            write_file(files[i], "precious");
        trace_options options = options_of(TRACE_SPANS);
        options.force = force;
        opened o = open_with(&options);
        close_well(&o);
        assert_int_equal(scratch_count(""), 1 + ARRAY_COUNT(files));
        for (size_t i = 0; i < ARRAY_COUNT(files); i++)
            assert_file_holds(files[i], "precious");
    }
}

static void a_killed_run_is_replaced(void **state)
{
    (void)state;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        opened o = open_at(TRACE_SPANS);
        write_things(o.t, 0, 1000);
        trace_commit(o.t);
        raise(SIGKILL);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(scratch_count("-wal"), 1);
    trace_options options = options_of(TRACE_SPANS);
    options.force = true;
    opened o = open_with(&options);
    close_well(&o);
    assert_string_equal(query("run.db", "SELECT count(*) FROM thing"), "0");
    assert_int_equal(scratch_count(""), 1);
}

static void a_name_is_a_plain_file(void **state)
{
    (void)state;
    static const char *const names[] = { ":memory:", "file:x.db", "file:x.db?mode=memory", "file:" };
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        trace_options options = options_of(TRACE_SPANS);
        options.path = names[i];
        opened o = open_with(&options);
        close_well(&o);
        assert_int_equal(scratch_count(names[i]), 1);
        assert_int_equal(scratch_count(""), 1);
        char path[64];
        snprintf(path, sizeof path, "./%s", names[i]);
        assert_string_equal(query(path, "SELECT state FROM state"), "running");
        assert_true(os_remove(path));
    }
    trace_options options = options_of(TRACE_SPANS);
    options.path = "-";
    for (int force = 0; force < 2; force++) {
        options.force = force;
        refuse(&options, "windtunnel: error: the output is a database, which cannot go to a stream (\"-\")\n"
                         "  hint: name a file; ./- is one that is called so\n");
    }
}

static void refuses_what_is_no_file(void **state)
{
    (void)state;
    trace_options options = options_of(TRACE_SPANS);
    options.force = true;
    options.path = "";
    refuse(&options, "windtunnel: error: the output has no name\n");
    options.path = "/tmp";
    refuse(&options, "windtunnel: error: cannot create \"/tmp\": it is a directory\n");
    options.path = "/dev/null";
    refuse(&options, "windtunnel: error: cannot replace \"/dev/null\": it is not a regular file\n");
    assert_int_equal(mkfifo("pipe", 0600), 0);
    options.path = "pipe";
    refuse(&options, "windtunnel: error: cannot replace \"pipe\": it is not a regular file\n");
    assert_true(os_remove("pipe"));
    assert_int_equal(symlink("nowhere", "link"), 0);
    options.path = "link";
    refuse(&options, "windtunnel: error: cannot replace \"link\": it is not a regular file\n");
    assert_true(os_remove("link"));
    options.path = "missing/run.db";
    refuse(&options, "windtunnel: error: cannot create \"missing/run.db\": No such file or directory\n");
    write_file("file", "");
    options.path = "file/run.db";
    refuse(&options, "windtunnel: error: cannot create \"file/run.db\": Not a directory\n");
}

// Before the first row too: else a second run would take the name of one that goes on.
static void refuses_a_file_just_opened(void **state)
{
    (void)state;
    arena *a = arena_create("trace test");
    sim_error error = { 0 };
    trace_options options = options_of(TRACE_SPANS);
    options.force = true;
    trace *t = trace_open(a, &options, &error);
    assert_non_null(t);
    refuse(&options, "windtunnel: error: cannot replace \"run.db\": another process has it open\n");
    row_state running = { 1, "running" };
    trace_row(t, STATE, &running);
    if (!trace_close(t, &error)) fail_msg("%s", error.message);
    arena_destroy(a);
    assert_string_equal(query("run.db", "SELECT state FROM state"), "running");
    assert_int_equal(scratch_count(""), 1);
}

static void refuses_a_file_in_use(void **state)
{
    (void)state;
    opened o = open_at(TRACE_SPANS);
    trace_options options = options_of(TRACE_SPANS);
    options.force = true;
    refuse(&options, "windtunnel: error: cannot replace \"run.db\": another process has it open\n");
    close_well(&o);
    assert_string_equal(query("run.db", "SELECT state FROM state"), "running");
}

// ---- Two at once ----

static void refuses_what_another_is_creating(void **state)
{
    (void)state;
    trace_options options = options_of(TRACE_SPANS);
    int lock = os_lock_file("run.db.windtunnel-lock");
    assert_true(lock >= 0);
    for (int force = 0; force < 2; force++) {
        options.force = force;
        refuse(&options, "windtunnel: error: cannot create \"run.db\": another process is creating it\n");
    }
    assert_int_equal(scratch_count(""), 1);
    os_unlock_file("run.db.windtunnel-lock", lock);
    write_file("run.db.windtunnel-lock", "precious");
    refuse(&options, "windtunnel: error: cannot create \"run.db\": \"run.db.windtunnel-lock\" is in the "
                     "way\n");
    assert_file_holds("run.db.windtunnel-lock", "precious");
    write_file("run.db.windtunnel-lock", ""); // left by a killed run
    make_old_database();
    assert_int_equal(scratch_count(""), 1);
}

// Opens at a sign from the parent, tells whether that went well, and keeps the trace open until the next sign.
static void compete(const trace_options *options, int start, int answer, int end)
{
    static const char *const losses[] = { "the output \"run.db\" exists already",
                                          "cannot create \"run.db\": another process is creating it",
                                          "cannot replace \"run.db\": another process has it open" };
    char byte;
    arena *a = arena_create("trace test");
    sim_error error = { 0 };
    if (read(start, &byte, 1) != 1) _exit(3);
    trace *t = trace_open(a, options, &error);
    byte = t ? 'w' : '?';
    for (size_t i = 0; i < ARRAY_COUNT(losses); i++)
        if (error.exit_code == SIM_EXIT_INPUT && strcmp(error.message, losses[i]) == 0) byte = 'l';
    if (byte == '?') fprintf(stderr, "%s\n", error.message);
    if (write(answer, &byte, 1) != 1 || read(end, &byte, 1) != 1) _exit(3);
    if (t) {
        row_state running = { 1, "running" };
        trace_row(t, STATE, &running);
        if (!trace_close(t, &error)) {
            fprintf(stderr, "%s\n", error.message);
            _exit(4);
        }
    }
    arena_destroy(a);
    _exit(0);
}

enum { RIVALS = 4 };

static void one_wins(const trace_options *options)
{
    int start[2], answer[2], end[2];
    assert_int_equal(pipe(start), 0);
    assert_int_equal(pipe(answer), 0);
    assert_int_equal(pipe(end), 0);
    fflush(NULL);
    pid_t children[RIVALS];
    for (int i = 0; i < RIVALS; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) compete(options, start[0], answer[1], end[0]);
    }
    char bytes[RIVALS];
    assert_int_equal(write(start[1], "go!!", RIVALS), RIVALS);
    int wins = 0, losses = 0;
    for (int i = 0; i < RIVALS; i++) {
        assert_int_equal(read(answer[0], &bytes[i], 1), 1);
        wins += bytes[i] == 'w';
        losses += bytes[i] == 'l';
    }
    assert_int_equal(write(end[1], "end!", RIVALS), RIVALS);
    for (int i = 0; i < RIVALS; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    for (int i = 0; i < 2; i++) {
        close(start[i]);
        close(answer[i]);
        close(end[i]);
    }
    assert_int_equal(wins, 1);
    assert_int_equal(losses, RIVALS - 1);
    assert_string_equal(query("run.db", "SELECT state, (SELECT count(*) FROM thing) FROM state"),
                        "running|0");
    assert_string_equal(query("run.db", "PRAGMA integrity_check"), "ok");
    assert_int_equal(scratch_count(""), 1);
}

static void one_of_several_wins(void **state)
{
    (void)state;
    trace_options options = options_of(TRACE_SPANS);
    for (int round = 0; round < 8; round++) {
        options.force = round % 2;
        one_wins(&options); // there is nothing yet
        assert_true(os_remove("run.db"));
    }
    options.force = true;
    for (int round = 0; round < 8; round++) {
        if (round % 2 == 0) assert_true(os_remove("run.db"));
        if (round % 2 == 0) make_old_database();
        one_wins(&options);
    }
}

// ---- Ends that are not planned ----

static void a_killed_run_leaves_what_was_committed(void **state)
{
    (void)state;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        opened o = open_at(TRACE_SPANS);
        write_things(o.t, 0, 1000);
        trace_commit(o.t);
        write_things(o.t, 1000, 500);
        raise(SIGKILL);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(scratch_count("-wal"), 1);
    assert_string_equal(query("run.db", "SELECT state, (SELECT count(*) FROM thing) FROM state"),
                        "running|1000");
    assert_string_equal(query("run.db", "PRAGMA integrity_check"), "ok");
    assert_string_equal(query("run.db", "SELECT count(*) FROM large"), "0"); // the view is there
}

static void an_abandoned_trace_keeps_its_rows(void **state)
{
    (void)state;
    opened o = open_at(TRACE_SPANS);
    write_things(o.t, 0, 300);
    trace_abandon(o.t);
    arena_destroy(o.a);
    assert_int_equal(scratch_count(""), 1);
    assert_string_equal(query("run.db", "SELECT count(*) FROM thing"), "300");
    assert_string_equal(query("run.db", "SELECT count(*) FROM sqlite_schema WHERE name = 'thing_by_start'"),
                        "0");
}

// SQLite's own limit stands for the end of the disk: the same result code, on any file system.
static void a_full_disk_keeps_what_was_committed(void **state)
{
    (void)state;
    opened o = open_at(TRACE_SPANS);
    write_things(o.t, 0, 100);
    trace_update(o.t, "PRAGMA max_page_count = 30", NULL, 0);
    write_things(o.t, 100, 5000);
    assert_false(trace_ok(o.t));
    assert_int_equal(trace_rows_written(o.t), 101);
    write_things(o.t, 6000, 10); // dropped
    trace_commit(o.t);
    sim_error error = { 0 };
    assert_false(trace_error_of(o.t, &error));
    assert_int_equal(error.exit_code, SIM_EXIT_INPUT);
    assert_error_prints(&error, "windtunnel: error: disk full: cannot write \"run.db\"\n");
    trace_value failed = trace_text("failed");
    trace_update(o.t, "UPDATE state SET state = ?1", &failed, 1);
    sim_error_clear(&error);
    assert_false(trace_close(o.t, &error));
    assert_error_prints(&error, "windtunnel: error: disk full: cannot write \"run.db\"\n");
    arena_destroy(o.a);
    assert_int_equal(scratch_count(""), 1);
    assert_string_equal(query("run.db", "SELECT state, (SELECT count(*) FROM thing) FROM state"),
                        "failed|100");
    assert_string_equal(query("run.db", "PRAGMA integrity_check"), "ok");
}

static void a_write_that_fails_is_told(void **state)
{
    (void)state;
    opened o = open_at(TRACE_SPANS);
    write_things(o.t, 0, 100);
    trace_commit(o.t);
    struct rlimit before = limit_file_size(200000);
    for (uint32_t i = 0; i < 50 && trace_ok(o.t); i++) {
        write_things(o.t, 100 + 100 * i, 100);
        trace_commit(o.t);
    }
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    uint64_t rows = trace_rows_written(o.t) - 1;
    assert_in_range(rows, 100, 5000);
    sim_error error = { 0 };
    assert_false(trace_close(o.t, &error));
    arena_destroy(o.a);
    assert_int_equal(error.exit_code, SIM_EXIT_INPUT);
    assert_error_prints(&error,
                        "windtunnel: error: cannot write \"run.db\": disk I/O error: File too large\n");
    char want[32];
    snprintf(want, sizeof want, "%u", (unsigned)rows);
    assert_string_equal(query("run.db", "SELECT count(*) FROM thing"), want);
    assert_string_equal(query("run.db", "PRAGMA integrity_check"), "ok");
}

static void nothing_remains_when_there_is_no_room(void **state)
{
    (void)state;
    struct rlimit before = limit_file_size(4096);
    trace_options options = options_of(TRACE_SPANS);
    refuse(&options, "windtunnel: error: cannot create \"run.db\": disk I/O error: File too large\n");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(scratch_count(""), 0);
}

// The old database is there until a new one is complete: neither room for that one nor for its log.
static void an_old_database_survives_a_failure(void **state)
{
    (void)state;
    static const struct {
        rlim_t bytes;
        const char *want;
    } cases[] = {
        { 4096, "windtunnel: error: cannot create \"run.db\": disk I/O error: File too large\n" },
        { 30000, "windtunnel: error: cannot keep a log beside \"run.db\": disk I/O error: File too large\n" },
    };
    make_old_database();
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        trace_options options = options_of(TRACE_SPANS);
        options.force = true;
        struct rlimit before = limit_file_size(cases[i].bytes);
        refuse(&options, cases[i].want);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(scratch_count(""), 1);
        assert_string_equal(query("run.db", "SELECT state, (SELECT count(*) FROM thing) FROM state"),
                            "running|3");
    }
}

static void a_discarded_trace_leaves_nothing(void **state)
{
    (void)state;
    opened o = open_at(TRACE_SPANS);
    write_things(o.t, 0, 300);
    trace_discard(o.t);
    arena_destroy(o.a);
    assert_int_equal(scratch_count(""), 0);
}

static void a_reader_keeps_the_log_there(void **state)
{
    (void)state;
    opened o = open_at(TRACE_SPANS);
    write_things(o.t, 0, 10);
    trace_commit(o.t);
    sqlite3 *reader = NULL;
    assert_int_equal(sqlite3_open("run.db", &reader), SQLITE_OK);
    assert_int_equal(sqlite3_exec(reader, "BEGIN; SELECT * FROM thing", NULL, NULL, NULL), SQLITE_OK);
    write_things(o.t, 10, 10);
    sim_error error = { 0 };
    assert_false(trace_close(o.t, &error));
    assert_error_prints(
        &error,
        "windtunnel: error: the log of \"run.db\" stays beside it, for another process reads the database; "
        "nothing is lost\n");
    arena_destroy(o.a);
    sqlite3_close(reader);
    assert_string_equal(query("run.db", "SELECT count(*) FROM thing"), "20");
}

// What a process does that wants to replace the file, only longer: it has the file open, and is gone before patience ends.
static void a_rival_that_looks_is_waited_for(void **state)
{
    (void)state;
    opened o = open_at(TRACE_SPANS);
    write_things(o.t, 0, 10);
    trace_commit(o.t);
    int looks[2];
    assert_int_equal(pipe(looks), 0);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        sqlite3 *rival = NULL;
        bool good = sqlite3_open("run.db", &rival) == SQLITE_OK &&
                    sqlite3_exec(rival, "SELECT * FROM thing", NULL, NULL, NULL) == SQLITE_OK &&
                    write(looks[1], "l", 1) == 1;
        sqlite3_sleep(200);
        sqlite3_close(rival);
        _exit(good ? 0 : 3);
    }
    char byte;
    assert_int_equal(read(looks[0], &byte, 1), 1);
    close_well(&o);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(looks[0]);
    close(looks[1]);
    assert_int_equal(scratch_count(""), 1);
    assert_string_equal(query("run.db", "SELECT count(*) FROM thing"), "10");
}

// ---- The estimate ----

static void an_estimate_names_the_level_that_fits(void **state)
{
    (void)state;
    trace_estimate estimate = { .rows = { 120, 4321, 20000001, 31415926535, 31415926535 } };
    sim_error error = { 0 };
    assert_true(trace_estimate_check(&estimate, TRACE_STEPS, false, &error));
    assert_true(trace_estimate_check(&estimate, TRACE_PACKETS, true, &error));
    assert_false(sim_failed(&error));
    assert_false(trace_estimate_check(&estimate, TRACE_TRANSFERS, false, &error));
    assert_int_equal(error.exit_code, SIM_EXIT_INPUT);
    assert_error_prints(&error,
                        "windtunnel: error: the trace at level transfers would have 31,415,926,535 rows "
                        "(about 3141.6 GB); at most "
                        "20,000,000 rows or 2 GB are written unasked\n"
                        "  hint: run.trace: steps writes 4,321 rows\n");
    estimate.rows[TRACE_SUMMARY] = estimate.rows[TRACE_STEPS] = 23456789;
    sim_error_clear(&error);
    assert_false(trace_estimate_check(&estimate, TRACE_SPANS, false, &error));
    assert_error_prints(
        &error,
        "windtunnel: error: the trace at level spans would have 20,000,001 rows (about 2.0 GB); at most "
        "20,000,000 rows or 2 GB are written unasked\n"
        "  hint: no lower level fits either\n");
    assert_true(trace_estimate_bytes(UINT64_MAX) == UINT64_MAX);
}

#define IN_SCRATCH(test_) cmocka_unit_test_setup_teardown(test_, scratch_enter, scratch_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(rows_are_read_back),
        IN_SCRATCH(one_file_remains),
        IN_SCRATCH(a_level_leaves_tables_out),
        IN_SCRATCH(the_dictionary_explains),
        IN_SCRATCH(an_update_binds_and_commits),
        IN_SCRATCH(commits_each_second),
        IN_SCRATCH(refuses_an_existing_output),
        IN_SCRATCH(force_replaces_file_and_logs),
        IN_SCRATCH(force_replaces_an_empty_file),
        IN_SCRATCH(force_spares_what_is_no_database_of_ours),
        IN_SCRATCH(a_log_of_somebody_is_refused),
        IN_SCRATCH(what_lies_beside_is_not_touched),
        IN_SCRATCH(a_killed_run_is_replaced),
        IN_SCRATCH(a_name_is_a_plain_file),
        IN_SCRATCH(refuses_what_is_no_file),
        IN_SCRATCH(refuses_a_file_just_opened),
        IN_SCRATCH(refuses_a_file_in_use),
        IN_SCRATCH(refuses_what_another_is_creating),
        IN_SCRATCH(one_of_several_wins),
        IN_SCRATCH(a_killed_run_leaves_what_was_committed),
        IN_SCRATCH(an_abandoned_trace_keeps_its_rows),
        IN_SCRATCH(a_full_disk_keeps_what_was_committed),
        IN_SCRATCH(a_write_that_fails_is_told),
        IN_SCRATCH(nothing_remains_when_there_is_no_room),
        IN_SCRATCH(an_old_database_survives_a_failure),
        IN_SCRATCH(a_discarded_trace_leaves_nothing),
        IN_SCRATCH(a_reader_keeps_the_log_there),
        IN_SCRATCH(a_rival_that_looks_is_waited_for),
        cmocka_unit_test(an_estimate_names_the_level_that_fits),
    };
    return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}
