// SPDX-License-Identifier: GPL-3.0-or-later
#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700 // the C library declares realpath() only so, though POSIX has it
#include "sim/os.h"
#include "sim/check.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h> // flock(), which is older than POSIX and everywhere
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// Mutable at file scope, as nothing else but the check context (sim/check.h): a signal handler is given no pointer, and
// signals are sent to the process, not to a run.
static volatile sig_atomic_t interrupted;

static double seconds_of(clockid_t clock)
{
    struct timespec now;
    SIM_ASSERT(clock_gettime(clock, &now) == 0);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double os_wall_s(void)
{
    return seconds_of(CLOCK_MONOTONIC);
}

double os_cpu_s(void)
{
    return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t os_peak_memory_bytes(void)
{
    struct rusage usage;
    SIM_ASSERT(getrusage(RUSAGE_SELF, &usage) == 0);
    return (uint64_t)usage.ru_maxrss * 1024; // Linux counts in KiB
}

uint32_t os_cores(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores > 0 ? (uint32_t)cores : 1;
}

void os_host_name(char *buffer, size_t size)
{
    SIM_ASSERT(size > 0);
    if (gethostname(buffer, size) != 0) snprintf(buffer, size, "unknown");
    buffer[size - 1] = 0; // POSIX leaves a name that was cut without an end
}

void os_date_utc(char *buffer, size_t size)
{
    time_t now = time(NULL);
    struct tm parts;
    SIM_ASSERT(gmtime_r(&now, &parts) && strftime(buffer, size, "%Y-%m-%dT%H:%M:%SZ", &parts) > 0);
}

bool os_is_terminal(FILE *stream)
{
    return isatty(fileno(stream)) == 1;
}

uint32_t os_terminal_columns(FILE *stream)
{
    struct winsize size;
    return ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

static void on_signal(int number)
{
    (void)number;
    if (interrupted) _exit(SIM_EXIT_INTERRUPTED);
    interrupted = 1;
}

static void on_signal_in_worker(int number)
{
    (void)number;
    interrupted = 1;
}

static void set_handler(int number, void (*handler)(int))
{
    // Calls that were interrupted go on: the flag is looked at between events, and a half-written line would be a loss.
    struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
    sigemptyset(&action.sa_mask);
    SIM_ASSERT(sigaction(number, &action, NULL) == 0);
}

void os_catch_signals(void)
{
    set_handler(SIGINT, on_signal);
    set_handler(SIGTERM, on_signal);
}

void os_catch_signals_as_worker(void)
{
    set_handler(SIGINT, on_signal_in_worker);
    set_handler(SIGTERM, on_signal_in_worker);
}

bool os_interrupted(void)
{
    return interrupted != 0;
}

void os_ignore_broken_pipe(void)
{
    set_handler(SIGPIPE, SIG_IGN);
}

bool os_exists(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0; // a link to nowhere exists too: writing there would surprise
}

bool os_is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

bool os_is_regular(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

bool os_remove(const char *path)
{
    return unlink(path) == 0 || errno == ENOENT;
}

bool os_rename(const char *from, const char *to)
{
    return rename(from, to) == 0;
}

bool os_is_empty(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_size == 0;
}

// Removes a name and keeps errno, which tells of a failure before.
static bool undo(const char *path)
{
    int reason = errno;
    (void)unlink(path);
    errno = reason;
    return false;
}

// rename() replaces what is there, link() does not. Where a file system has no links (FAT), the name is taken first.
bool os_rename_new(const char *from, const char *to)
{
    if (link(from, to) == 0) return unlink(from) == 0 ? true : undo(to);
    if (errno == EEXIST) return false;
    int descriptor = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0) return false;
    close(descriptor);
    return rename(from, to) == 0 ? true : undo(to);
}

static bool is_named(int descriptor, const char *path)
{
    struct stat open_one, named;
    return fstat(descriptor, &open_one) == 0 && lstat(path, &named) == 0 && open_one.st_dev == named.st_dev &&
           open_one.st_ino == named.st_ino;
}

// 0 or the reason. A file with something in it is somebody's: it is not ours to lock and remove.
static int lock_open_file(int descriptor)
{
    struct stat status;
    if (fstat(descriptor, &status) != 0) return errno;
    if (!S_ISREG(status.st_mode) || status.st_size != 0) return EEXIST;
    if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) return 0;
    return errno == EWOULDBLOCK ? EAGAIN : errno;
}

int os_lock_file(const char *path)
{
    for (;;) {
        int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0666);
        if (descriptor < 0) {
            if (errno == ELOOP || errno == EISDIR || errno == ENXIO) errno = EEXIST;
            return -1;
        }
        int reason = lock_open_file(descriptor);
        // Between open() and flock() its holder may have removed it, and then another may hold the next.
        if (reason == 0 && is_named(descriptor, path)) return descriptor;
        close(descriptor);
        if (reason == 0) continue;
        errno = reason;
        return -1;
    }
}

void os_unlock_file(const char *path, int lock)
{
    (void)unlink(path); // one that stays is found free by the next
    close(lock);
}

static bool too_long(char *buffer)
{
    buffer[0] = 0; // a path that was cut would name another file
    return false;
}

bool os_program_directory(char *buffer, size_t size)
{
    char path[OS_PATH_SIZE];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length < 0) return too_long(buffer);
    path[length] = 0;
    return os_directory_of(buffer, size, path);
}

bool os_real_path(const char *path, char *buffer, size_t size)
{
    char *real = realpath(path, NULL);
    bool fits = real && strlen(real) < size;
    if (fits) memcpy(buffer, real, strlen(real) + 1);
    free(real);
    return fits ? true : too_long(buffer);
}

bool os_is_same_file(const char *left, const char *right)
{
    char left_path[OS_PATH_SIZE], right_path[OS_PATH_SIZE];
    return os_real_path(left, left_path, sizeof(left_path)) &&
           os_real_path(right, right_path, sizeof(right_path)) && strcmp(left_path, right_path) == 0;
}

bool os_join_path(char *buffer, size_t size, const char *directory, const char *name)
{
    size_t length = strlen(directory);
    bool alone = name[0] == '/' || length == 0 || strcmp(directory, ".") == 0;
    const char *slash = alone || directory[length - 1] == '/' ? "" : "/";
    int written = snprintf(buffer, size, "%s%s%s", alone ? "" : directory, slash, name);
    return written >= 0 && (size_t)written < size ? true : too_long(buffer);
}

bool os_directory_of(char *buffer, size_t size, const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 0;
    while (length > 0 && path[length - 1] == '/') // "a//b"
        length--;
    const char *directory = slash ? path : ".";
    if (length == 0) length = 1; // "." or the root
    if (length >= size) return too_long(buffer);
    memcpy(buffer, directory, length);
    buffer[length] = 0;
    return true;
}

static bool ends_in(const char *name, const char *suffix)
{
    size_t length = strlen(name), end = strlen(suffix);
    return length >= end && strcmp(name + length - end, suffix) == 0;
}

// Keeps the first capacity names in order: what readdir() gives comes in the file system's order.
static void insert_sorted(char names[][OS_NAME_SIZE], int kept, int capacity, const char *name)
{
    int at = kept < capacity ? kept : capacity;
    while (at > 0 && strcmp(names[at - 1], name) > 0)
        at--;
    if (at == capacity) return;
    int moved = (kept < capacity ? kept : capacity - 1) - at;
    memmove(names[at + 1 < capacity ? at + 1 : at], names[at], (size_t)moved * sizeof names[0]);
    memcpy(names[at], name, strlen(name) + 1);
}

int os_list_directory(const char *path, const char *suffix, char names[][OS_NAME_SIZE], int capacity)
{
    DIR *directory = opendir(path);
    if (!directory) return -1;
    int count = 0;
    const struct dirent *entry;
    while (errno = 0, (entry = readdir(directory)) != NULL) {
        struct stat status;
        if (!ends_in(entry->d_name, suffix) || strlen(entry->d_name) >= sizeof names[0] ||
            fstatat(dirfd(directory), entry->d_name, &status, 0) != 0 || !S_ISREG(status.st_mode))
            continue;
        insert_sorted(names, count, capacity, entry->d_name);
        count++;
    }
    bool failed = errno != 0;
    closedir(directory);
    return failed ? -1 : count;
}

typedef struct open_file {
    const char *path;
    int descriptor;
    const sim_place *where;
    sim_error *error;
} open_file;

// Of a very long path the end is shown, so that the reason behind it still fits into the message.
enum { SHOWN_PATH_BYTES = 600 };

static bool cannot_read(const open_file *file, const char *reason)
{
    size_t length = strlen(file->path), hidden = length > SHOWN_PATH_BYTES ? length - SHOWN_PATH_BYTES : 0;
    return sim_fail(file->error, SIM_EXIT_INPUT, file->where, "cannot read \"%s%s\": %s", hidden ? "..." : "",
                    file->path + hidden, reason);
}

static bool too_large(const open_file *file, uint64_t size_bytes, size_t limit_bytes)
{
    char reason[128];
    snprintf(reason, sizeof reason, "it is %.1f MB; at most %.1f MB are read", (double)size_bytes * 1e-6,
             (double)limit_bytes * 1e-6);
    return cannot_read(file, reason);
}

// Reads until the file ends, which may be later than its size said (a log that grows, /proc).
static bool read_to_end(const open_file *file, size_t expected, size_t limit_bytes, char **text,
                        size_t *length)
{
    size_t capacity = expected + 2, used = 0; // one byte to see the end, one for the final 0
    char *buffer = malloc(capacity);
    while (buffer) {
        ssize_t got = read(file->descriptor, buffer + used, capacity - 1 - used);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            free(buffer);
            return cannot_read(file, strerror(errno));
        }
        if (got == 0) {
            buffer[used] = 0;
            *text = buffer;
            *length = used;
            return true;
        }
        used += (size_t)got;
        if (used > limit_bytes) {
            free(buffer);
            return too_large(file, used, limit_bytes);
        }
        if (used < capacity - 1) continue;
        capacity *= 2;
        char *larger = realloc(buffer, capacity);
        if (!larger) free(buffer);
        buffer = larger;
    }
    return cannot_read(file, "out of memory");
}

static bool read_regular(const open_file *file, size_t limit_bytes, char **text, size_t *length)
{
    struct stat status;
    if (fstat(file->descriptor, &status) != 0) return cannot_read(file, strerror(errno));
    if (S_ISDIR(status.st_mode)) return cannot_read(file, "it is a directory");
    if (!S_ISREG(status.st_mode)) return cannot_read(file, "it is not a regular file");
    uint64_t size_bytes = (uint64_t)status.st_size;
    if (size_bytes > limit_bytes) return too_large(file, size_bytes, limit_bytes);
    return read_to_end(file, (size_t)size_bytes, limit_bytes, text, length);
}

bool os_read_file(const char *path, size_t limit_bytes, char **text, size_t *length, const sim_place *where,
                  sim_error *error)
{
    open_file file = { .path = path, .where = where, .error = error };
    *text = NULL;
    *length = 0;
    file.descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK); // a FIFO must not block us
    if (file.descriptor < 0) return cannot_read(&file, strerror(errno));
    bool fine = read_regular(&file, limit_bytes, text, length);
    close(file.descriptor);
    return fine;
}

FILE *os_open_memory(char **text, size_t *length)
{
    return open_memstream(text, length);
}
