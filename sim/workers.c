// SPDX-License-Identifier: GPL-3.0-or-later
// Each worker is a child with one socket to the parent. The parent sends the index of a piece, the child answers with
// its error and result, both of fixed size; end of file from the parent ends the child. A child that dies shows as end
// of file in the middle of a piece, so that piece can be named.
#define _POSIX_C_SOURCE 200809L
#include "sim/workers.h"
#include "sim/arena.h"
#include "sim/check.h"
#include "sim/os.h"
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { POLL_MS = 100 }; // how late a signal can be noticed that came just before poll()

typedef struct worker {
    pid_t pid;
    int socket; // -1: ended
    bool busy;
    uint32_t piece;       // while busy
    unsigned char *reply; // the result (first, for its alignment), then the sim_error
    size_t received;
} worker;

typedef struct pool {
    uint32_t count;
    workers_task *task;
    workers_progress *progress;
    void *owner;
    unsigned char *results;
    size_t result_size;
    sim_error *errors;
    sim_error *error; // of the pool

    bool *finished; // per piece
    uint32_t next, done;
    bool stopped; // nothing more is handed out
    bool told;    // the children know of the interruption
    worker *workers;
    struct pollfd *polls;
    uint32_t worker_count, live;
} pool;

static unsigned char *result_of(const pool *p, uint32_t piece)
{
    return p->result_size ? p->results + (size_t)piece * p->result_size : NULL;
}

// error and result are zero before.
static void run_piece(const pool *p, uint32_t piece, void *result, sim_error *error)
{
    bool fine = p->task(p->owner, piece, result, error);
    SIM_ASSERT(fine == !sim_failed(error));
    if (!fine && p->result_size > 0)
        memset(result, 0, p->result_size); // half a result must not be taken for one
}

static void piece_done(pool *p, uint32_t piece)
{
    p->finished[piece] = true;
    p->done++;
    if (p->stopped || !p->progress || p->progress(p->owner, p->done, p->count) || p->done == p->count) return;
    p->stopped = true;
    sim_fail(p->error, SIM_EXIT_INTERRUPTED, NULL, "stopped after %" PRIu32 " of %" PRIu32 " pieces", p->done,
             p->count);
}

static void notice_interruption(pool *p)
{
    if (!os_interrupted() || p->done == p->count) return;
    p->stopped = true;
    if (p->told) return;
    p->told = true;
    sim_fail(p->error, SIM_EXIT_INTERRUPTED, NULL, "interrupted after %" PRIu32 " of %" PRIu32 " pieces",
             p->done, p->count);
    for (uint32_t i = 0; i < p->worker_count; i++)
        if (p->workers[i].socket >= 0)
            kill(p->workers[i].pid, SIGTERM); // not waited for yet: still our child
}

static bool send_all(int socket, const void *data, size_t size)
{
    const char *bytes = data;
    while (size > 0) {
        ssize_t sent = send(socket, bytes, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) return false;
        bytes += sent;
        size -= (size_t)sent;
    }
    return true;
}

static bool receive_all(int socket, void *data, size_t size)
{
    char *bytes = data;
    while (size > 0) {
        ssize_t got = recv(socket, bytes, size, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        bytes += got;
        size -= (size_t)got;
    }
    return true;
}

// The child's life. It leaves by _exit(): what the parent registered for its own end is not the child's to run.
static _Noreturn void work(const pool *p, const worker *w, int socket)
{
    uint32_t piece;
    size_t reply_size = sizeof(sim_error) + p->result_size;
    while (receive_all(socket, &piece, sizeof piece)) {
        sim_error error = { 0 };
        memset(w->reply, 0, reply_size);
        run_piece(p, piece, w->reply, &error);
        memcpy(w->reply + p->result_size, &error, sizeof error);
        if (!send_all(socket, w->reply, reply_size)) break; // the parent is gone
    }
    fflush(stdout);
    fflush(stderr);
    _exit(SIM_EXIT_OK);
}

static bool cannot_start(pool *p)
{
    p->stopped = true;
    return sim_fail(p->error, SIM_EXIT_INPUT, NULL, "cannot start a worker process: %s", strerror(errno));
}

static bool start_worker(pool *p)
{
    worker *w = &p->workers[p->worker_count];
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return cannot_start(p);
    // Signals wait until the child has its own handlers: none may end it that is meant for the parent.
    sigset_t held, before;
    sigemptyset(&held);
    sigaddset(&held, SIGINT);
    sigaddset(&held, SIGTERM);
    SIM_ASSERT(sigprocmask(SIG_BLOCK, &held, &before) == 0);
    fflush(stdout); // else both would write what is buffered
    fflush(stderr);
    pid_t pid = fork();
    int reason = errno;
    if (pid == 0) {
        os_catch_signals_as_worker();
        SIM_ASSERT(sigprocmask(SIG_SETMASK, &before, NULL) == 0);
        close(ends[0]);
        for (uint32_t i = 0; i < p->worker_count; i++) // or the others would not see the parent's end of file
            if (p->workers[i].socket >= 0) close(p->workers[i].socket);
        work(p, w, ends[1]);
    }
    SIM_ASSERT(sigprocmask(SIG_SETMASK, &before, NULL) == 0);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        errno = reason;
        return cannot_start(p);
    }
    w->pid = pid;
    w->socket = ends[0];
    p->worker_count++;
    p->live++;
    return true;
}

// The next piece, or the end of file that sends the child home.
static void hand_out(pool *p, worker *w)
{
    w->received = 0;
    w->busy = !p->stopped && p->next < p->count;
    if (w->busy) {
        w->piece = p->next++;
        // should the child have died meanwhile, reading from it says so
        if (send_all(w->socket, &w->piece, sizeof w->piece)) return;
    }
    shutdown(w->socket, SHUT_WR);
}

static int wait_for(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        SIM_ASSERT(errno == EINTR);
    return status;
}

static int exit_code_of(int status)
{
    if (WIFSIGNALED(status)) return WTERMSIG(status) == SIGKILL ? SIM_EXIT_INPUT : SIM_EXIT_BUG;
    int code = WEXITSTATUS(status);
    return code == SIM_EXIT_INPUT || code == SIM_EXIT_INTERRUPTED ? code : SIM_EXIT_BUG;
}

static void report_death(const pool *p, const worker *w, int status, sim_error *error)
{
    char piece[64], how[128];
    if (w->busy)
        snprintf(piece, sizeof piece, "piece %" PRIu32 " of %" PRIu32, w->piece + 1, p->count);
    else
        snprintf(piece, sizeof piece, "between two pieces");
    if (WIFSIGNALED(status))
        snprintf(how, sizeof how, "was killed by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(how, sizeof how, "ended with exit code %d", WEXITSTATUS(status));
    if (sim_failed(error)) return;
    sim_fail(error, exit_code_of(status), NULL, "%s: the worker process %s", piece, how);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        sim_hint(error, "the system may have run out of memory; fewer jobs need less");
}

// The child has closed its end: it went home as told, or it died.
static void worker_ended(pool *p, worker *w)
{
    close(w->socket);
    w->socket = -1;
    p->live--;
    int status = wait_for(w->pid);
    if (!w->busy && WIFEXITED(status) && WEXITSTATUS(status) == SIM_EXIT_OK) return;
    p->stopped = true;
    report_death(p, w, status, p->error);
    if (!w->busy) return;
    report_death(p, w, status, &p->errors[w->piece]);
    p->finished[w->piece] = true;
}

static void receive_reply(pool *p, worker *w)
{
    size_t reply_size = sizeof(sim_error) + p->result_size;
    // one byte of room even when nothing is expected, to see the end of file
    size_t room = w->busy ? reply_size - w->received : 1;
    ssize_t got = recv(w->socket, w->reply + w->received, room, 0);
    if (got < 0 && errno == EINTR) return;
    if (got <= 0) {
        worker_ended(p, w);
        return;
    }
    SIM_ASSERT(w->busy);
    w->received += (size_t)got;
    if (w->received < reply_size) return;
    memcpy(&p->errors[w->piece], w->reply + p->result_size, sizeof(sim_error));
    if (p->result_size > 0) memcpy(result_of(p, w->piece), w->reply, p->result_size);
    piece_done(p, w->piece);
    hand_out(p, w);
}

static void run_in_children(pool *p, uint32_t jobs)
{
    for (uint32_t i = 0; i < jobs && !p->stopped; i++) {
        notice_interruption(p);
        if (!p->stopped && start_worker(p)) hand_out(p, &p->workers[i]);
    }
    while (p->live > 0) {
        for (uint32_t i = 0; i < p->worker_count; i++) // poll() passes over what is negative
            p->polls[i] = (struct pollfd){ .fd = p->workers[i].socket, .events = POLLIN };
        int ready = poll(p->polls, p->worker_count, POLL_MS);
        SIM_ASSERT(ready >= 0 || errno == EINTR || errno == EAGAIN);
        notice_interruption(p);
        for (uint32_t i = 0; ready > 0 && i < p->worker_count; i++)
            if (p->polls[i].fd >= 0 && p->polls[i].revents) receive_reply(p, &p->workers[i]);
    }
}

static void run_here(pool *p)
{
    while (p->next < p->count) {
        notice_interruption(p);
        if (p->stopped) return;
        uint32_t piece = p->next++;
        run_piece(p, piece, result_of(p, piece), &p->errors[piece]);
        piece_done(p, piece);
    }
}

static void run_pool(pool *p, uint32_t jobs, arena *a)
{
    p->finished = arena_array(a, bool, p->count);
    if (jobs == 1) {
        run_here(p);
    } else {
        if (jobs > p->count) jobs = p->count;
        p->workers = arena_array(a, worker, jobs);
        p->polls = arena_array(a, struct pollfd, jobs);
        for (uint32_t i = 0; i < jobs; i++)
            p->workers[i].reply = arena_alloc(a, sizeof(sim_error) + p->result_size, 64);
        run_in_children(p, jobs);
    }
    for (uint32_t i = 0; i < p->count; i++)
        if (!p->finished[i])
            sim_fail(&p->errors[i], SIM_EXIT_INTERRUPTED, NULL, "not begun: the work was stopped before");
}

bool workers_run(uint32_t count, uint32_t jobs, workers_task *task, workers_progress *progress, void *owner,
                 void *results, size_t result_size, sim_error *errors, sim_error *error)
{
    SIM_ASSERT(jobs > 0 && (result_size == 0 || results || count == 0) && !sim_failed(error));
    if (count == 0) return true;
    memset(errors, 0, count * sizeof *errors);
    if (result_size > 0) memset(results, 0, count * result_size);
    pool p = { .count = count,
               .task = task,
               .progress = progress,
               .owner = owner,
               .results = results,
               .result_size = result_size,
               .errors = errors,
               .error = error };
    arena *a = arena_create("workers");
    jmp_buf escape;
    if (!a || setjmp(escape)) { // all memory is asked for before the first child
        arena_destroy(a);
        return sim_fail(error, SIM_EXIT_INPUT, NULL, "out of memory for %" PRIu32 " worker processes", jobs);
    }
    arena_set_escape(a, &escape);
    run_pool(&p, jobs, a);
    arena_destroy(a);
    return !sim_failed(error);
}
