// SPDX-License-Identifier: GPL-3.0-or-later
// An arena is a stack of blocks; only the top block is allocated from. Blocks come from calloc and remember how far they
// were ever used, so that zeroing costs only what was used before. Under AddressSanitizer the unused part of a block is
// poisoned: reading past an allocation or after arena_release() is caught as if each allocation were its own.
#include "sim/arena.h"
#include "sim/check.h"
#include "sim/error.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_POISON 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define ARENA_POISON 1
#endif
#ifdef ARENA_POISON
#include <sanitizer/asan_interface.h>
#define HIDE(address, size) ASAN_POISON_MEMORY_REGION((address), (size))
#define SHOW(address, size) ASAN_UNPOISON_MEMORY_REGION((address), (size))
#else
#define HIDE(address, size) ((void)(address), (void)(size))
#define SHOW(address, size) ((void)(address), (void)(size))
#endif

static const size_t first_block_bytes = (size_t)64 << 10, greatest_block_bytes = (size_t)64 << 20;

typedef struct block {
    struct block *below;
    size_t capacity, used;
    size_t touched; // bytes from here on are still zero, as calloc gave them
    _Alignas(max_align_t) unsigned char bytes[];
} block;

struct arena {
    const char *name;
    block *top;
    block *spare; // a released block kept, so that a mark at a block's edge does not ask malloc each time
    size_t next_block_bytes;
    size_t used, high_water;
    uint64_t fail_after; // 0: off; 1: the next allocation fails
    jmp_buf *escape;
};

arena *arena_create(const char *name)
{
    arena *a = calloc(1, sizeof *a);
    if (!a) return NULL;
    a->name = name;
    a->next_block_bytes = first_block_bytes;
    return a;
}

static void block_free(block *b)
{
    if (!b) return;
    SHOW(b->bytes, b->capacity);
    free(b);
}

void arena_destroy(arena *a)
{
    if (!a) return;
    while (a->top) {
        block *below = a->top->below;
        block_free(a->top);
        a->top = below;
    }
    block_free(a->spare);
    free(a);
}

void arena_set_escape(arena *a, jmp_buf *escape)
{
    a->escape = escape;
}

jmp_buf *arena_escape(const arena *a)
{
    return a->escape;
}

bool arena_guard(arena *a, bool (*work)(void *owner), void (*clean)(void *owner), void *owner)
{
    jmp_buf here, *outer = a->escape;
    if (outer) {
        if (setjmp(here)) {
            clean(owner);
            a->escape = outer;
            longjmp(*outer, 1);
        }
        a->escape = &here;
    }
    const bool fine = work(owner);
    a->escape = outer;
    clean(owner);
    return fine;
}

void arena_fail_after(arena *a, uint64_t allocations)
{
    a->fail_after = allocations;
}

static _Noreturn void out_of_memory(const arena *a, size_t wanted)
{
    if (a->escape) longjmp(*a->escape, 1);
    fflush(stdout);
    fprintf(stderr, "windtunnel: error: out of memory: %s asked for %zu bytes beside %zu\n", a->name, wanted,
            a->used);
    exit(SIM_EXIT_INPUT);
}

// Puts a block with room for size bytes at any offset up to alignment on top.
static block *block_push(arena *a, size_t size, size_t alignment)
{
    size_t wanted = size + alignment; // cannot wrap: the caller bounds both
    block *b = a->spare;
    if (b && b->capacity >= wanted) {
        a->spare = NULL;
    } else {
        // a large allocation gets a block of its own, of just its size
        size_t capacity = wanted > a->next_block_bytes / 2 ? wanted : a->next_block_bytes;
        b = calloc(1, sizeof *b + capacity);
        if (!b) out_of_memory(a, size);
        b->capacity = capacity;
        HIDE(b->bytes, b->capacity);
        if (capacity == a->next_block_bytes && a->next_block_bytes < greatest_block_bytes)
            a->next_block_bytes *= 2;
    }
    b->below = a->top;
    a->top = b;
    return b;
}

// Hands out the next size bytes of the top block, zeroed.
static void *block_take(arena *a, block *b, size_t padding, size_t size)
{
    size_t begin = b->used + padding, end = begin + size;
    SHOW(b->bytes + begin, size);
    if (begin < b->touched) memset(b->bytes + begin, 0, (end < b->touched ? end : b->touched) - begin);
    if (b->touched < end) b->touched = end;
    b->used = end;
    a->used += padding + size;
    if (a->high_water < a->used) a->high_water = a->used;
    return b->bytes + begin;
}

static size_t padding_to(const block *b, size_t alignment)
{
    return (size_t)(-(uintptr_t)(b->bytes + b->used)) & (alignment - 1);
}

// Counts the allocation, and ends it if memory is to end here or the size cannot be.
static void allocation_begins(arena *a, size_t size, size_t alignment)
{
    SIM_ASSERT(alignment > 0 && (alignment & (alignment - 1)) == 0 && alignment <= 4096);
    bool fails = a->fail_after == 1;
    if (a->fail_after > 0) a->fail_after--;
    if (fails || size > SIZE_MAX / 4) out_of_memory(a, size);
}

static void *take(arena *a, size_t size, size_t alignment)
{
    block *b = a->top;
    size_t padding = b ? padding_to(b, alignment) : 0;
    if (!b || padding > b->capacity - b->used || size > b->capacity - b->used - padding) {
        b = block_push(a, size, alignment);
        padding = padding_to(b, alignment);
    }
    return block_take(a, b, padding, size);
}

void *arena_alloc(arena *a, size_t size, size_t alignment)
{
    allocation_begins(a, size, alignment);
    return take(a, size, alignment);
}

void *arena_alloc_array(arena *a, size_t element_size, size_t count, size_t alignment)
{
    if (element_size > 0 && count > SIZE_MAX / element_size) out_of_memory(a, SIZE_MAX);
    return arena_alloc(a, element_size * count, alignment);
}

void *arena_resize(arena *a, void *old, size_t old_size, size_t new_size, size_t alignment)
{
    SIM_ASSERT(new_size >= old_size);
    allocation_begins(a, new_size, alignment);
    block *b = a->top;
    size_t more = new_size - old_size;
    bool latest = b && old && (unsigned char *)old + old_size == b->bytes + b->used;
    if (latest && ((uintptr_t)old & (alignment - 1)) == 0 && more <= b->capacity - b->used) {
        block_take(a, b, 0, more);
        return old;
    }
    void *copy = take(a, new_size, alignment);
    if (old_size > 0) memcpy(copy, old, old_size);
    return copy;
}

char *arena_text_n(arena *a, const char *text, size_t length)
{
    if (length == SIZE_MAX) out_of_memory(a, length);
    char *copy = arena_alloc(a, length + 1, 1);
    if (length > 0) memcpy(copy, text, length);
    return copy;
}

char *arena_text(arena *a, const char *text)
{
    return arena_text_n(a, text, strlen(text));
}

char *arena_format_list(arena *a, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    SIM_ASSERT(length >= 0);
    char *text = arena_alloc(a, (size_t)length + 1, 1);
    vsnprintf(text, (size_t)length + 1, format, arguments);
    return text;
}

char *arena_format(arena *a, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = arena_format_list(a, format, arguments);
    va_end(arguments);
    return text;
}

arena_mark_t arena_mark(const arena *a)
{
    return (arena_mark_t){ .block = a->top, .used = a->top ? a->top->used : 0 };
}

void arena_release(arena *a, arena_mark_t mark)
{
    while (a->top && a->top != mark.block) {
        block *b = a->top;
        a->top = b->below;
        a->used -= b->used;
        b->used = 0;
        HIDE(b->bytes, b->capacity);
        if (!a->spare || a->spare->capacity < b->capacity) {
            block_free(a->spare);
            a->spare = b;
        } else {
            block_free(b);
        }
    }
    SIM_ASSERT(a->top == mark.block); // else the mark is not of this arena, or was released before
    if (!a->top) return;
    SIM_ASSERT(mark.used <= a->top->used);
    HIDE(a->top->bytes + mark.used, a->top->used - mark.used);
    a->used -= a->top->used - mark.used;
    a->top->used = mark.used;
}

size_t arena_used_bytes(const arena *a)
{
    return a->used;
}

size_t arena_high_water_bytes(const arena *a)
{
    return a->high_water;
}
