// SPDX-License-Identifier: GPL-3.0-or-later
// sim/arena.h: regions of memory that live and die together. The only file that asks malloc for run memory.
// arena_alloc() never returns NULL: when memory ends, the arena jumps to the escape set by its owner (models/run.c sets
// one, frees everything and reports "out of memory"); without an escape the process ends with exit code 2.
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct arena arena;
typedef struct arena_mark_t { // a moment to which arena_release() goes back
    void *block;
    size_t used;
} arena_mark_t;

arena *arena_create(const char *name); // NULL when memory has ended; the name is kept, not copied
void arena_destroy(arena *a);          // frees everything; NULL is fine
void arena_set_escape(arena *a, jmp_buf *escape);
jmp_buf *arena_escape(const arena *a); // the one that is set; NULL: none
// For work in the arena that also holds foreign memory (a library's, a stream's): runs work(owner), then clean(owner), which
// is run as well when the arena ends and jumps past the work. Returns what work returned.
bool arena_guard(arena *a, bool (*work)(void *owner), void (*clean)(void *owner), void *owner);
// The n-th allocation of this arena from now on fails, as if memory had ended (tests only); 0 switches it off.
void arena_fail_after(arena *a, uint64_t allocations);

void *arena_alloc(arena *a, size_t size, size_t alignment); // zeroed
// Grows the latest allocation in place where it can, else copies. new_size >= old_size; the new tail is zeroed.
void *arena_resize(arena *a, void *old, size_t old_size, size_t new_size, size_t alignment);
char *arena_text(arena *a, const char *text);                  // a copy
char *arena_text_n(arena *a, const char *text, size_t length); // a copy of length bytes and a final 0
char *arena_format(arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *arena_format_list(arena *a, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

arena_mark_t arena_mark(const arena *a);
void arena_release(arena *a, arena_mark_t mark); // everything allocated after the mark is gone

size_t arena_used_bytes(const arena *a);
size_t arena_high_water_bytes(const arena *a);

#define arena_new(a, type) ((type *)arena_alloc((a), sizeof(type), _Alignof(type)))
#define arena_array(a, type, count) ((type *)arena_alloc_array((a), sizeof(type), (count), _Alignof(type)))
void *arena_alloc_array(arena *a, size_t element_size, size_t count, size_t alignment); // checks the product
