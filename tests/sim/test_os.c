// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/scratch.h"

#include "sim/array.h"
#include "sim/os.h"
#include "tests/support/text.h"
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

static void write_file(const char *name, const char *content, size_t length)
{
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(content, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static void reads_a_file_whole(void **state)
{
    (void)state;
    char *text;
    size_t length;
    sim_error error = { 0 };
    write_file("a.yaml", "x\0y\n", 4);
    assert_true(os_read_file("a.yaml", 4, &text, &length, NULL, &error)); // just at the limit
    assert_int_equal(length, 4);
    assert_memory_equal(text, "x\0y\n", 5);
    free(text);
    write_file("empty", "", 0);
    assert_true(os_read_file("empty", 0, &text, &length, NULL, &error));
    assert_int_equal(length, 0);
    assert_string_equal(text, "");
    free(text);
    assert_true(os_read_file("/proc/self/status", 1 << 20, &text, &length, NULL, &error)); // its size says 0
    assert_true(length > 100 && strlen(text) == length);
    free(text);
}

static void refuses_what_is_no_readable_file(void **state)
{
    (void)state;
    assert_int_equal(mkdir("folder.yaml", 0700), 0);
    assert_int_equal(mkfifo("fifo", 0600), 0);
    write_file("large", "", 0);
    assert_int_equal(truncate("large", 200000000), 0); // a hole: 200 MB that cost nothing
    static const struct {
        const char *path, *want;
    } cases[] = {
        { "missing", "windtunnel: error: cannot read \"missing\": No such file or directory\n" },
        { "large/x", "windtunnel: error: cannot read \"large/x\": Not a directory\n" },
        { "", "windtunnel: error: cannot read \"\": No such file or directory\n" },
        { "folder.yaml", "windtunnel: error: cannot read \"folder.yaml\": it is a directory\n" },
        { "fifo", "windtunnel: error: cannot read \"fifo\": it is not a regular file\n" },
        { "/dev/zero", "windtunnel: error: cannot read \"/dev/zero\": it is not a regular file\n" },
        { "large", "windtunnel: error: cannot read \"large\": it is 200.0 MB; at most 16.8 MB are read\n" },
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        char *text;
        size_t length;
        sim_error error = { 0 };
        assert_false(os_read_file(cases[i].path, 1 << 24, &text, &length, NULL, &error));
        assert_null(text);
        assert_int_equal(error.exit_code, SIM_EXIT_INPUT);
        assert_error_prints(&error, cases[i].want);
    }
}

static void says_where_a_file_was_named(void **state)
{
    (void)state;
    const char *source = "include: x.yaml\n";
    sim_place where = { "main.yaml", 1, 10, source, strlen(source) };
    char *text;
    size_t length;
    sim_error error = { 0 };
    assert_false(os_read_file("x.yaml", 100, &text, &length, &where, &error));
    assert_error_prints(&error, "main.yaml:1:10: error: cannot read \"x.yaml\": No such file or directory\n"
                                "    1 | include: x.yaml\n"
                                "      |          ^\n");
}

static void shows_the_end_of_long_paths(void **state)
{
    (void)state;
    char path[3001], want[1024];
    for (size_t i = 0; i < 3000; i++)
        path[i] = i % 100 == 99 ? '/' : 'd';
    memcpy(path + 2995, ".yaml", 6);
    snprintf(want, sizeof want, "cannot read \"...%s\": No such file or directory", path + 2400);
    char *text;
    size_t length;
    sim_error error = { 0 };
    assert_false(os_read_file(path, 100, &text, &length, NULL, &error));
    assert_string_equal(error.message, want);
}

// /proc/kmsg and the like aside: a file may grow beyond what its size promised.
static void refuses_a_file_that_outgrows_the_limit(void **state)
{
    (void)state;
    char *text;
    size_t length;
    sim_error error = { 0 };
    assert_false(os_read_file("/proc/self/status", 100, &text, &length, NULL, &error)); // says 0, gives more
    assert_null(text);
    assert_string_equal(error.message,
                        "cannot read \"/proc/self/status\": it is 0.0 MB; at most 0.0 MB are read");
}

static void writes_into_memory(void **state)
{
    (void)state;
    char *text = NULL;
    size_t length = 0;
    FILE *stream = os_open_memory(&text, &length);
    assert_non_null(stream);
    for (int i = 0; i < 1000; i++)
        fprintf(stream, "%03d,", i);
    assert_int_equal(fclose(stream), 0);
    assert_int_equal(length, 4000);
    assert_int_equal(strlen(text), 4000);
    assert_string_equal(text + 3992, "998,999,");
    free(text);
}

static void lists_sorted_names(void **state)
{
    (void)state;
    static const char *const names[] = { "b.yaml", "a.yaml", "c.txt", "B.yaml", "aa.yaml", "d.yaml" };
    for (size_t i = 0; i < ARRAY_COUNT(names); i++)
        write_file(names[i], "", 0);
    assert_int_equal(mkdir("folder.yaml", 0700), 0);
    assert_int_equal(symlink("nowhere", "dangling"), 0);
    char got[8][OS_NAME_SIZE];
    assert_int_equal(os_list_directory(".", ".yaml", got, 8), 5);
    assert_string_equal(got[0], "B.yaml");
    assert_string_equal(got[1], "a.yaml");
    assert_string_equal(got[2], "aa.yaml");
    assert_string_equal(got[3], "b.yaml");
    assert_string_equal(got[4], "d.yaml");
    assert_int_equal(os_list_directory(".", ".yaml", got, 2), 5); // the first two of five
    assert_string_equal(got[0], "B.yaml");
    assert_string_equal(got[1], "a.yaml");
    assert_int_equal(os_list_directory(".", ".none", got, 8), 0);
    assert_int_equal(os_list_directory("missing", "", got, 8), -1);
}

static void renames_without_replacing(void **state)
{
    (void)state;
    write_file("new", "1", 1);
    write_file("old", "", 0);
    assert_true(os_is_empty("old"));
    assert_false(os_is_empty("new"));
    assert_false(os_is_empty("."));
    assert_false(os_is_empty("missing"));
    assert_false(os_rename_new("new", "old"));
    assert_int_equal(errno, EEXIST);
    assert_true(os_is_empty("old"));
    assert_true(os_rename_new("new", "newer"));
    assert_false(os_exists("new"));
    assert_true(os_exists("newer"));
    assert_false(os_rename_new("missing", "newest"));
    assert_int_equal(errno, ENOENT);
    assert_int_equal(mkdir("folder", 0700),
                     0); // has no links, so its new name is taken first, and given back
    assert_false(os_rename_new("folder", "newest"));
    assert_int_equal(errno, ENOTDIR);
    assert_false(os_exists("newest"));
}

static void one_holds_the_lock(void **state)
{
    (void)state;
    int lock = os_lock_file("lock");
    assert_true(lock >= 0);
    assert_int_equal(os_lock_file("lock"), -1);
    assert_int_equal(errno, EAGAIN);
    os_unlock_file("lock", lock);
    assert_false(os_exists("lock"));
    write_file("lock", "", 0); // left by a process that was killed
    lock = os_lock_file("lock");
    assert_true(lock >= 0);
    os_unlock_file("lock", lock);
    assert_false(os_exists("lock"));
    write_file("precious", "1", 1);
    assert_int_equal(mkdir("folder", 0700), 0);
    assert_int_equal(symlink("nowhere", "link"), 0);
    assert_int_equal(mkfifo("pipe", 0600), 0);
    static const char *const others[] = { "precious", "folder", "link", "pipe" };
    for (size_t i = 0; i < ARRAY_COUNT(others); i++) {
        assert_int_equal(os_lock_file(others[i]), -1);
        assert_int_equal(errno, EEXIST);
        assert_true(os_exists(others[i]));
    }
    assert_int_equal(os_lock_file("missing/lock"), -1);
    assert_int_equal(errno, ENOENT);
}

static void tells_what_is_there(void **state)
{
    const scratch_folder *place = *state;
    write_file("a", "1", 1);
    assert_int_equal(symlink("nowhere", "dangling"), 0);
    assert_true(os_exists("a"));
    assert_true(os_exists("dangling"));
    assert_false(os_exists("b"));
    assert_true(os_is_directory("."));
    assert_false(os_is_directory("a"));
    assert_int_equal(symlink("a", "link"), 0);
    assert_int_equal(mkfifo("pipe", 0600), 0);
    assert_true(os_is_regular("a"));
    assert_true(os_is_regular("link"));
    assert_false(os_is_regular("pipe")); // and it does not wait for a writer
    assert_false(os_is_regular("."));
    assert_false(os_is_regular("dangling"));
    assert_int_equal(unlink("pipe"), 0);
    assert_int_equal(unlink("link"), 0);
    assert_true(os_rename("a", "b"));
    assert_false(os_rename("a", "b"));
    assert_false(os_exists("a"));
    assert_true(os_remove("b"));
    assert_true(os_remove("b")); // gone already
    assert_false(os_remove("."));

    char path[4096], folder[4096];
    assert_true(os_real_path(".", path, sizeof path));
    assert_true(os_real_path(place->path, folder, sizeof folder));
    assert_string_equal(path, folder);
    assert_false(os_real_path(".", path, 4));
    assert_string_equal(path, "");
    assert_false(os_real_path("missing", path, sizeof path));
    assert_true(os_is_same_file(".", folder));
    assert_false(os_is_same_file(".", "/"));
    assert_false(os_is_same_file("missing", "missing"));
}

static void joins_and_splits_paths(void **state)
{
    (void)state;
    static const struct {
        const char *directory, *name, *want;
    } joins[] = {
        { "a", "b", "a/b" }, { "a/", "b", "a/b" }, { "/", "b", "/b" },        { ".", "b.yaml", "b.yaml" },
        { "", "b", "b" },    { "a", "/b", "/b" },  { "a", "../b", "a/../b" },
    };
    char path[16];
    for (size_t i = 0; i < ARRAY_COUNT(joins); i++) {
        assert_true(os_join_path(path, sizeof path, joins[i].directory, joins[i].name));
        assert_string_equal(path, joins[i].want);
    }
    assert_true(os_join_path(path, 4, "a", "b"));
    assert_false(os_join_path(path, 3, "a", "b"));
    assert_string_equal(path, "");

    static const struct {
        const char *path, *want;
    } splits[] = { { "a/b", "a" },  { "a", "." },   { "/a", "/" },         { "a/b/c.yaml", "a/b" },
                   { "a//b", "a" }, { "//a", "/" }, { "../c.yaml", ".." }, { "", "." } };
    for (size_t i = 0; i < ARRAY_COUNT(splits); i++) {
        assert_true(os_directory_of(path, sizeof path, splits[i].path));
        assert_string_equal(path, splits[i].want);
    }
    assert_true(os_directory_of(path, 4, "abc/d"));
    assert_false(os_directory_of(path, 3, "abc/d"));
    assert_string_equal(path, "");
}

static void knows_the_machine(void **state)
{
    (void)state;
    double wall_s = os_wall_s(), cpu_s = os_cpu_s();
    assert_true(os_wall_s() >= wall_s && os_cpu_s() >= cpu_s && cpu_s > 0.0);
    assert_true(os_cores() >= 1);
    assert_true(os_peak_memory_bytes() > 500000 && os_peak_memory_bytes() < UINT64_C(1) << 50);
    char text[256];
    os_host_name(text, sizeof text);
    assert_true(strlen(text) > 0);
    os_date_utc(text, sizeof text);
    unsigned year, month, day, hour, minute, second, end = 0;
    assert_int_equal(
        sscanf(text, "%4u-%2u-%2uT%2u:%2u:%2uZ%n", &year, &month, &day, &hour, &minute, &second, &end), 6);
    assert_int_equal(end, 20);
    assert_int_equal(strlen(text), 20);
    assert_true(year >= 2024 && month >= 1 && month <= 12);

    assert_true(os_program_directory(text, sizeof text));
    char program[512];
    assert_true(os_join_path(program, sizeof program, text, "test_os"));
    assert_true(os_exists(program));
    assert_false(os_program_directory(text, 2));

    FILE *file = tmpfile();
    assert_false(os_is_terminal(file));
    assert_int_equal(os_terminal_columns(file), 0);
    fclose(file);
}

// The child ends as its exit code says how it was.
static int in_child(void (*body)(void))
{
    fflush(stdout);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        body();
        _exit(99);
    }
    int status;
    while (waitpid(child, &status, 0) < 0)
        assert_int_equal(errno, EINTR);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void signal_once(void)
{
    os_catch_signals();
    if (os_interrupted()) _exit(1);
    raise(SIGTERM);
    _exit(os_interrupted() ? 40 : 2);
}

static void signal_twice(void)
{
    os_catch_signals();
    raise(SIGINT);
    raise(SIGTERM);
}

static void signal_twice_as_worker(void)
{
    os_catch_signals();
    os_catch_signals_as_worker();
    if (os_interrupted()) _exit(1);
    raise(SIGINT);
    raise(SIGTERM);
    _exit(os_interrupted() ? 41 : 2);
}

static void write_to_nobody(void)
{
    int ends[2];
    os_ignore_broken_pipe();
    if (pipe(ends) != 0 || close(ends[0]) != 0) _exit(1);
    _exit(write(ends[1], "x", 1) < 0 && errno == EPIPE ? 42 : 2);
}

static void signals_set_a_flag(void **state)
{
    (void)state;
    assert_int_equal(in_child(signal_once), 40);
    assert_int_equal(in_child(signal_twice), 130);
    assert_int_equal(in_child(signal_twice_as_worker), 41);
    assert_int_equal(in_child(write_to_nobody), 42);
    assert_false(os_interrupted());
}

#define in_scratch(test) cmocka_unit_test_setup_teardown(test, scratch_enter, scratch_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_scratch(reads_a_file_whole),
        in_scratch(refuses_what_is_no_readable_file),
        in_scratch(says_where_a_file_was_named),
        in_scratch(shows_the_end_of_long_paths),
        cmocka_unit_test(refuses_a_file_that_outgrows_the_limit),
        cmocka_unit_test(writes_into_memory),
        in_scratch(lists_sorted_names),
        in_scratch(tells_what_is_there),
        in_scratch(renames_without_replacing),
        in_scratch(one_holds_the_lock),
        cmocka_unit_test(joins_and_splits_paths),
        cmocka_unit_test(knows_the_machine),
        cmocka_unit_test(signals_set_a_flag),
    };
    return cmocka_run_group_tests_name("os", tests, NULL, NULL);
}
