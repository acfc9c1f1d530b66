// SPDX-License-Identifier: GPL-3.0-or-later
#define _POSIX_C_SOURCE 200809L
#include "tests/support/near.h"

#include "sim/arena.h"
#include "tests/support/text.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_zero(const void *memory, size_t size)
{
    const unsigned char *bytes = memory;
    for (size_t i = 0; i < size; i++)
        if (bytes[i]) return false;
    return true;
}

static void aligns_and_zeroes(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    for (size_t alignment = 1; alignment <= 4096; alignment *= 2)
        for (size_t size = 0; size < 40; size += 13) {
            unsigned char *memory = arena_alloc(a, size, alignment);
            assert_non_null(memory);
            assert_int_equal((uintptr_t)memory & (alignment - 1), 0);
            assert_true(is_zero(memory, size));
            if (size) memset(memory, 0xa5, size);
        }
    arena_destroy(a);
    arena_destroy(NULL);
}

// Allocations do not touch each other, in blocks of any size and beyond them.
static void keeps_what_was_written(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    static const size_t sizes[] = { 1, 8, 100, 5000, 70000, 3, 1000000, 24, 65536, 17 };
    enum { COUNT = 200 };
    unsigned char *memory[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        memory[i] = arena_alloc(a, sizes[i % 10], 8);
        assert_true(is_zero(memory[i], sizes[i % 10]));
        memset(memory[i], (int)(i + 1), sizes[i % 10]);
    }
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(memory[i][0], i + 1);
        assert_int_equal(memory[i][sizes[i % 10] - 1], i + 1);
    }
    arena_destroy(a);
}

static void release_goes_back_to_the_mark(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    arena_mark_t empty = arena_mark(a);
    char *kept = arena_text(a, "kept");
    size_t used = arena_used_bytes(a);
    assert_int_equal(used, 5);
    arena_mark_t mark = arena_mark(a);
    for (size_t round = 0; round < 3; round++) {
        for (size_t i = 0; i < 30; i++)
            memset(arena_alloc(a, 9001, 16), 0xff, 9001);
        assert_true(arena_used_bytes(a) >= used + 30 * 9001);
        arena_release(a, mark);
        assert_int_equal(arena_used_bytes(a), used);
        // what is handed out again is zero again
        unsigned char *again = arena_alloc(a, 60000, 1);
        assert_true(is_zero(again, 60000));
        arena_release(a, mark);
    }
    assert_string_equal(kept, "kept");
    assert_true(arena_high_water_bytes(a) >= 30 * 9001 && arena_high_water_bytes(a) <= 30 * 9016 + 4096);
    arena_release(a, empty);
    assert_int_equal(arena_used_bytes(a), 0);
    memset(arena_array(a, uint64_t, 31), 1, 31 * sizeof(uint64_t));
    arena_destroy(a);
}

static void resize_grows_the_latest_in_place(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    uint32_t *first = arena_array(a, uint32_t, 3);
    first[2] = 77;
    uint32_t *grown = arena_resize(a, first, 12, 400, _Alignof(uint32_t));
    assert_ptr_equal(grown, first);
    assert_int_equal(grown[2], 77);
    assert_true(is_zero(grown + 3, 400 - 12));

    arena_alloc(a, 1, 1); // no longer the latest
    uint32_t *moved = arena_resize(a, grown, 400, 800, _Alignof(uint32_t));
    assert_ptr_not_equal(moved, grown);
    assert_int_equal(moved[2], 77);
    assert_true(is_zero(moved + 3, 800 - 12));

    uint32_t *large = arena_resize(a, moved, 800, 1 << 20, _Alignof(uint32_t)); // not into this block
    assert_ptr_not_equal(large, moved);
    assert_int_equal(large[2], 77);
    assert_true(is_zero(large + 3, (1 << 20) - 12));
    arena_destroy(a);
}

static void copies_and_formats_text(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    char source[] = "windtunnel";
    char *copy = arena_text(a, source), *part = arena_text_n(a, source, 4),
         *none = arena_text_n(a, source, 0);
    source[0] = 'W';
    assert_string_equal(copy, "windtunnel");
    assert_string_equal(part, "wind");
    assert_string_equal(none, "");
    assert_string_equal(arena_format(a, "%s has %d of %.2f", "x", 3, 7.125), "x has 3 of 7.12");
    arena_destroy(a);
}

// The n-th allocation jumps to the escape, and the arena can still be destroyed.
static void fails_at_the_nth_allocation(void **state)
{
    (void)state;
    for (volatile uint64_t n = 1; n <= 6; n++) {
        arena *a = arena_create("test");
        jmp_buf escape;
        volatile uint64_t reached = 0;
        if (setjmp(escape) == 0) {
            arena_set_escape(a, &escape);
            arena_fail_after(a, n);
            void *memory = arena_alloc(a, 10, 1);
            reached = 1;
            memory = arena_resize(a, memory, 10, 20, 1);
            reached = 2;
            arena_text(a, "text");
            reached = 3;
            arena_format(a, "%d", 3);
            reached = 4;
            (void)arena_array(a, double, 7);
            reached = 5;
        }
        assert_int_equal(reached, n - 1);
        arena_destroy(a);
    }
}

static void impossible_sizes_escape(void **state)
{
    (void)state;
    for (volatile int i = 0; i < 4; i++) {
        arena *a = arena_create("test");
        jmp_buf escape;
        volatile int escaped = setjmp(escape);
        if (escaped == 0) {
            arena_set_escape(a, &escape);
            if (i == 0) (void)arena_array(a, double, SIZE_MAX / 4);
            if (i == 1) arena_alloc(a, SIZE_MAX, 1);
            if (i == 2) arena_text_n(a, "", SIZE_MAX);
            if (i == 3) arena_resize(a, arena_alloc(a, 1, 1), 1, SIZE_MAX - 3, 1);
            fail_msg("case %d was not refused", i);
        }
        assert_int_equal(escaped, 1);
        arena_destroy(a);
    }
}

static void ends_the_process_without_escape(void **state)
{
    (void)state;
    FILE *stream = tmpfile();
    assert_non_null(stream);
    fflush(stdout);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(fileno(stream), STDERR_FILENO);
        arena *a = arena_create("scratch");
        arena_alloc(a, 100, 1);
        arena_fail_after(a, 1);
        arena_alloc(a, 23, 1);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 2);
    char text[4096];
    assert_string_equal(text_read_back(stream, text, sizeof text),
                        "windtunnel: error: out of memory: scratch asked for 23 bytes beside 100\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aligns_and_zeroes),
        cmocka_unit_test(keeps_what_was_written),
        cmocka_unit_test(release_goes_back_to_the_mark),
        cmocka_unit_test(resize_grows_the_latest_in_place),
        cmocka_unit_test(copies_and_formats_text),
        cmocka_unit_test(fails_at_the_nth_allocation),
        cmocka_unit_test(impossible_sizes_escape),
        cmocka_unit_test(ends_the_process_without_escape),
    };
    return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
