// SPDX-License-Identifier: GPL-3.0-or-later
// sim/os.h: what only the operating system knows. With workers.c the only file that asks for POSIX.
#pragma once
#include "sim/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    OS_PATH_SIZE = 4096, // bytes of a path with its end: Linux takes no longer one
    OS_NAME_SIZE = 256   // of a name in a directory with its end: no file system of Linux has longer ones
};

double os_wall_s(void); // monotonic
double os_cpu_s(void);  // of this process
uint64_t os_peak_memory_bytes(void);
uint32_t os_cores(void);
void os_host_name(char *buffer, size_t size); // "unknown" where it has none that fits
void os_date_utc(char *buffer, size_t size);  // "2026-11-30T15:06:32Z"

bool os_is_terminal(FILE *stream);
uint32_t os_terminal_columns(FILE *stream); // 0: not a terminal

// SIGINT and SIGTERM set a flag; a second one ends the process at once with exit code 130.
void os_catch_signals(void);
// In a child of sim/workers.c: the same flag, but a second signal changes nothing, for the parent passes its own on.
void os_catch_signals_as_worker(void);
bool os_interrupted(void);
void os_ignore_broken_pipe(void);

bool os_exists(const char *path);
bool os_is_directory(const char *path);
bool os_is_regular(
    const char *path);              // or a link to a regular file; nothing is opened, for it could be a pipe
bool os_remove(const char *path);   // true when it is gone
bool os_is_empty(const char *path); // a regular file without a byte
bool os_rename(const char *from, const char *to);
bool os_rename_new(const char *from,
                   const char *to); // only where nothing bears that name; else errno is EEXIST
// A lock between processes: a file without a byte, which is made where there is none. The system gives the lock back when
// the process ends. -1: errno says why; EAGAIN: another process holds it, EEXIST: something else bears that name.
int os_lock_file(const char *path);
void os_unlock_file(const char *path, int lock); // the file is removed
// Where this program's file lies, without the final slash.
bool os_program_directory(char *buffer, size_t size);
bool os_real_path(const char *path, char *buffer, size_t size);
bool os_is_same_file(const char *left, const char *right); // both are there, and are one
// Text only, the disk is not asked. False: the result does not fit, and buffer holds "".
bool os_join_path(char *buffer, size_t size, const char *directory, const char *name); // absolute names stay
bool os_directory_of(char *buffer, size_t size, const char *path); // "a/b" -> "a", "a" -> ".", "/a" -> "/"
// Names of the regular files in a directory whose name ends in suffix, sorted bytewise: the first capacity of them.
// Returns how many there are, which may be more than capacity; -1: the directory cannot be read.
int os_list_directory(const char *path, const char *suffix, char names[][OS_NAME_SIZE], int capacity);

// Reads a regular file whole. Refuses: missing, a directory, unreadable, larger than limit_bytes (exit code 2, the
// path and the reason in the message, placed at where if given). The text is malloc'ed, ends with a 0 beyond length.
bool os_read_file(const char *path, size_t limit_bytes, char **text, size_t *length, const sim_place *where,
                  sim_error *error);

// A stream that writes into memory: after fflush() or fclose() *text (malloc'ed, ends with a 0 beyond *length) holds what
// was written. NULL: no memory.
FILE *os_open_memory(char **text, size_t *length);
