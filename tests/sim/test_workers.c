// SPDX-License-Identifier: GPL-3.0-or-later
#define _POSIX_C_SOURCE 200809L
#include "tests/support/near.h"

#include "sim/os.h"
#include "sim/workers.h"
#include "tests/support/text.h"
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 23 };

typedef struct answer {
    uint64_t square;
    uint32_t bytes[3000]; // more than a pipe hands over at once, with sim_error
} answer;

// What the tasks are told, and what progress noted.
typedef struct notes {
    uint32_t fails_at, dies_at, stops_at, last_done, calls;
    int death; // positive: a signal, else an exit code
} notes;
static const notes quiet = { .fails_at = UINT32_MAX, .dies_at = UINT32_MAX, .stops_at = UINT32_MAX };

static void pause_ms(int milliseconds)
{
    poll(NULL, 0, milliseconds);
}

static bool square(void *owner, uint32_t index, void *result, sim_error *error)
{
    const notes *n = owner;
    answer *out = result;
    if (out->square) _exit(9);       // not cleared; in a child an assertion would go on with the other tests
    if (index % 5 == 2) pause_ms(5); // so that pieces finish out of order
    if (index == n->dies_at && n->death > 0) {
        signal(n->death, SIG_DFL); // a sanitizer would print before it dies
        raise(n->death);
    }
    if (index == n->dies_at) _exit(-n->death);
    out->square = (uint64_t)index * index + 1;
    for (uint32_t i = 0; i < 3000; i++)
        out->bytes[i] = index ^ i;
    if (index == n->fails_at)
        return sim_fail(error, SIM_EXIT_NO, NULL, "piece %" PRIu32 " does not fit", index);
    return true;
}

static bool note_progress(void *owner, uint32_t done, uint32_t count)
{
    notes *n = owner;
    assert_int_equal(count, COUNT);
    assert_int_equal(done, n->last_done + 1);
    n->last_done = done;
    n->calls++;
    return done != n->stops_at;
}

typedef struct outcome {
    answer results[COUNT];
    sim_error errors[COUNT];
    sim_error error;
    bool fine;
} outcome;

static outcome *run(notes *n, uint32_t jobs)
{
    outcome *o = calloc(1, sizeof *o);
    assert_non_null(o);
    memset(o->results, 0xff, sizeof o->results); // stale: must be cleared
    memset(o->errors, 0xff, sizeof o->errors);
    o->fine = workers_run(COUNT, jobs, square, note_progress, n, o->results, sizeof(answer), o->errors,
                          &o->error);
    // no child is left behind, running or dead
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    return o;
}

static void any_number_of_jobs_gives_the_same(void **state)
{
    (void)state;
    static const uint32_t jobs[] = { 2, 3, 100 };
    notes first = quiet;
    first.fails_at = 7;
    outcome *one = run(&first, 1);
    assert_true(one->fine); // a piece that fails is no failure of the pool
    assert_int_equal(first.calls, COUNT);
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_int_equal(one->results[i].square, i == 7 ? 0 : i * i + 1);
        assert_int_equal(one->errors[i].exit_code, i == 7 ? SIM_EXIT_NO : SIM_EXIT_OK);
    }
    assert_error_prints(&one->errors[7], "windtunnel: error: piece 7 does not fit\n");
    for (size_t j = 0; j < sizeof jobs / sizeof jobs[0]; j++) {
        notes again = quiet;
        again.fails_at = 7;
        outcome *many = run(&again, jobs[j]);
        assert_true(many->fine);
        assert_int_equal(again.calls, COUNT);
        assert_memory_equal(many->results, one->results, sizeof one->results);
        assert_memory_equal(many->errors, one->errors, sizeof one->errors);
        free(many);
    }
    free(one);
}

struct death_case {
    const char *name;
    int death, exit_code;
    const char *want;
};
static const struct death_case deaths[] = {
    { "segmentation fault", SIGSEGV, SIM_EXIT_BUG,
      "windtunnel: error: piece 12 of 23: the worker process was killed by signal 11 (Segmentation "
      "fault)\n" },
    { "killed", SIGKILL, SIM_EXIT_INPUT,
      "windtunnel: error: piece 12 of 23: the worker process was killed by signal 9 (Killed)\n"
      "  hint: the system may have run out of memory; fewer jobs need less\n" },
    { "assertion", -SIM_EXIT_BUG, SIM_EXIT_BUG,
      "windtunnel: error: piece 12 of 23: the worker process ended with exit code 3\n" },
    { "out of memory", -SIM_EXIT_INPUT, SIM_EXIT_INPUT,
      "windtunnel: error: piece 12 of 23: the worker process ended with exit code 2\n" },
    { "a task that leaves", 0, SIM_EXIT_BUG,
      "windtunnel: error: piece 12 of 23: the worker process ended with exit code 0\n" },
};

// The piece of a child that died is named; the pieces under way are kept, the rest is not begun.
static void a_death_names_its_piece(void **state)
{
    const struct death_case *c = *state;
    notes n = quiet;
    n.dies_at = 11;
    n.death = c->death;
    outcome *o = run(&n, 2);
    assert_false(o->fine);
    assert_int_equal(o->error.exit_code, c->exit_code);
    assert_error_prints(&o->error, c->want);
    assert_error_prints(&o->errors[11], c->want);
    for (uint32_t i = 0; i < 10; i++)
        assert_int_equal(o->results[i].square, i * i + 1);
    assert_int_equal(o->results[11].square, 0);
    assert_int_equal(o->errors[COUNT - 1].exit_code, SIM_EXIT_INTERRUPTED);
    assert_int_equal(o->results[COUNT - 1].square, 0);
    free(o);
}

static void progress_can_stop(void **state)
{
    (void)state;
    for (uint32_t jobs = 1; jobs <= 3; jobs++) {
        notes n = quiet;
        n.stops_at = 6;
        outcome *o = run(&n, jobs);
        assert_false(o->fine);
        assert_int_equal(n.calls, 6);
        assert_error_prints(&o->error, "windtunnel: error: stopped after 6 of 23 pieces\n");
        uint32_t begun = 0;
        for (uint32_t i = 0; i < COUNT; i++) {
            bool fine = o->errors[i].exit_code == SIM_EXIT_OK;
            assert_int_equal(o->results[i].square, fine ? i * i + 1 : 0);
            begun += fine;
        }
        assert_in_range(begun, 6, 6 + jobs - 1); // those under way are finished
        assert_error_prints(&o->errors[COUNT - 1],
                            "windtunnel: error: not begun: the work was stopped before\n");
        free(o);

        n = quiet;
        n.stops_at = COUNT; // nothing left to stop
        o = run(&n, jobs);
        assert_true(o->fine);
        free(o);
    }
}

static bool wait_for_signal(void *owner, uint32_t index, void *result, sim_error *error)
{
    (void)owner;
    uint32_t *out = result;
    for (int i = 0; i < 5000 && !os_interrupted(); i++)
        pause_ms(2);
    if (!os_interrupted()) _exit(7);
    *out = 1;
    return sim_fail(error, SIM_EXIT_INTERRUPTED, NULL, "piece %" PRIu32 " was interrupted", index);
}

// A pool in a child of its own, so that the flag of this process stays clear. The parent alone gets the signal and
// passes it on; exit code 50 says that all was as it should be.
static void pool_to_be_interrupted(uint32_t jobs, int ready)
{
    enum { PIECES = 9 };
    uint32_t results[PIECES];
    sim_error errors[PIECES], error = { 0 };
    os_catch_signals();
    if (write(ready, "x", 1) != 1) _exit(1);
    if (workers_run(PIECES, jobs, wait_for_signal, NULL, NULL, results, sizeof results[0], errors, &error))
        _exit(2);
    if (error.exit_code != SIM_EXIT_INTERRUPTED) _exit(3);
    uint32_t begun = 0;
    for (uint32_t i = 0; i < PIECES; i++) {
        if (errors[i].exit_code != SIM_EXIT_INTERRUPTED || results[i]) _exit(4);
        begun += strstr(errors[i].message, "was interrupted") != NULL;
    }
    if (begun > jobs) _exit(5); // 0 if the signal came before the first piece
    if (waitpid(-1, NULL, WNOHANG) != -1) _exit(6);
    _exit(50);
}

static void a_signal_stops_the_pool(void **state)
{
    (void)state;
    for (uint32_t jobs = 1; jobs <= 3; jobs++) {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        fflush(stdout);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) pool_to_be_interrupted(jobs, ends[1]);
        char byte;
        assert_int_equal(read(ends[0], &byte, 1), 1);
        pause_ms(60);
        assert_int_equal(kill(child, SIGINT), 0);
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 50);
        close(ends[0]);
        close(ends[1]);
    }
}

static bool nothing(void *owner, uint32_t index, void *result, sim_error *error)
{
    (void)owner, (void)index, (void)result, (void)error;
    return true;
}

static void no_pieces_and_no_results_are_fine(void **state)
{
    (void)state;
    sim_error errors[3], error = { 0 };
    assert_true(workers_run(0, 4, nothing, NULL, NULL, NULL, 8, NULL, &error));
    assert_true(workers_run(3, 1, nothing, NULL, NULL, NULL, 0, errors, &error));
    assert_true(workers_run(3, 2, nothing, NULL, NULL, NULL, 0, errors, &error));
    assert_false(sim_failed(&error));
}

int main(void)
{
    enum { DEATHS = sizeof deaths / sizeof deaths[0] };
    struct CMUnitTest tests[DEATHS + 4] = {
        cmocka_unit_test(any_number_of_jobs_gives_the_same),
        cmocka_unit_test(progress_can_stop),
        cmocka_unit_test(a_signal_stops_the_pool),
        cmocka_unit_test(no_pieces_and_no_results_are_fine),
    };
    for (size_t i = 0; i < DEATHS; i++)
        tests[4 + i] = (struct CMUnitTest){ .name = deaths[i].name,
                                            .test_func = a_death_names_its_piece,
                                            .initial_state = (void *)(uintptr_t)&deaths[i] };
    return cmocka_run_group_tests_name("workers", tests, NULL, NULL);
}
