// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "tools/collective_sizes.h"
#include <string.h>

static const element_type double_type = { "double", 8 };

static void sizes_are_read_as_nccl_tests_reads_them(void **state)
{
    (void)state;
    const struct {
        const char *text;
        uint64_t want;
    } rows[] = { { "8", 8 },          { "1K", 1024 },
                 { "32m", 33554432 }, { "1.5G", 1610612736 },
                 { "0.5k", 512 },     { "1024G", UINT64_C(1) << 40 } };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        sim_error error = { 0 };
        uint64_t bytes;
        assert_true(sweep_parse_size("--minbytes", rows[i].text, &bytes, &error));
        assert_int_equal(bytes, rows[i].want);
    }
    const char *const wrong[] = { "",    "K",   "8KB", "8 K",   "-8", "+8",   "0x10",
                                  "1e3", "inf", "nan", "1.2.3", "8T", "1025G" };
    for (size_t i = 0; i < ARRAY_COUNT(wrong); i++) {
        sim_error error = { 0 };
        uint64_t bytes;
        assert_false(sweep_parse_size("--minbytes", wrong[i], &bytes, &error));
        assert_int_equal(error.exit_code, SIM_EXIT_INPUT);
    }
}

static void check(const sweep_texts *texts, uint64_t begin, uint64_t end, uint64_t factor, uint64_t increment)
{
    sim_error error = { 0 };
    sweep s;
    assert_true(sweep_read(texts, &double_type, &s, &error));
    assert_int_equal(s.begin, begin);
    assert_int_equal(s.end, end);
    assert_int_equal(s.factor, factor);
    assert_int_equal(s.increment, increment);
}

static void what_is_not_said_is_32_mebibytes(void **state)
{
    (void)state;
    check(&(sweep_texts){ 0 }, 33554432, 33554432, 2, 0);
    check(&(sweep_texts){ .begin = "8" }, 8, 33554432, 2, 0);
    check(&(sweep_texts){ .begin = "1G" }, 1 << 30, 1 << 30, 2, 0);
    check(&(sweep_texts){ .end = "1G" }, 33554432, 1 << 30, 2, 0);
    check(&(sweep_texts){ .end = "1023" }, 1016, 1023, 2, 0); // whole elements
    check(&(sweep_texts){ .begin = "8", .end = "1K", .factor = "4" }, 8, 1024, 4, 0);
    check(&(sweep_texts){ .begin = "8", .end = "1K", .increment = "16" }, 8, 1024, 0, 16);
}

// The first rows of multi-10x8-h100.log: 80 ranks, doubles.
static void shares_are_cut_as_in_nccl_tests(void **state)
{
    (void)state;
    static const sweep_size gathered[] = { { 33554432, 33553920, 52428 },
                                           { 67108864, 67107840, 104856 },
                                           { 134217728, 134216960, 209714 } };
    static const sweep_size reduced[] = { { 33554432, 33554432, 4194304 },
                                          { 67108864, 67108864, 8388608 },
                                          { 134217728, 134217728, 16777216 } };
    const sweep s = { .begin = 33554432, .end = 134217728, .factor = 2 };
    arena *a = arena_create("test");
    for (int kind = 0; kind < COLLECTIVE_KINDS; kind++) {
        sweep_size_array sizes = { 0 };
        uint32_t left_out;
        sim_error error = { 0 };
        const sweep_size *want = sweep_has_shares((collective_kind)kind) ? gathered : reduced;
        assert_true(sweep_list(a, &s, &double_type, (collective_kind)kind, 80, &sizes, &left_out, &error));
        assert_int_equal(sizes.count, 3);
        assert_int_equal(left_out, 0);
        for (uint32_t i = 0; i < 3; i++) {
            assert_int_equal(sizes.items[i].asked_bytes, want[i].asked_bytes);
            assert_int_equal(sizes.items[i].bytes, want[i].bytes);
            assert_int_equal(sizes.items[i].count, want[i].count);
        }
    }
    arena_destroy(a);
}

static void sweeps_end_where_they_should(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    const struct {
        sweep s;
        uint32_t count, left_out;
    } rows[] = {
        { { .begin = 8, .end = UINT64_C(8) << 30, .factor = 2 }, 31, 0 },
        { { .begin = 8, .end = 24, .increment = 8 }, 3, 0 },
        { { .begin = 8, .end = 31, .increment = 8 }, 3, 0 },
        { { .begin = 8, .end = 1 << 20, .factor = UINT64_MAX }, 1, 0 },
    };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        sweep_size_array sizes = { 0 };
        uint32_t left_out;
        sim_error error = { 0 };
        assert_true(
            sweep_list(a, &rows[i].s, &double_type, COLLECTIVE_ALL_REDUCE, 80, &sizes, &left_out, &error));
        assert_int_equal(sizes.count, rows[i].count);
        assert_int_equal(left_out, rows[i].left_out);
    }
    // A share of 16 bytes for each of 80 ranks: 1,280 bytes. 8 to 1,024 are eight sizes with less.
    sweep_size_array sizes = { 0 };
    uint32_t left_out;
    sim_error error = { 0 };
    const sweep s = { .begin = 8, .end = 2048, .factor = 2 };
    assert_true(sweep_list(a, &s, &double_type, COLLECTIVE_ALL_TO_ALL, 80, &sizes, &left_out, &error));
    assert_int_equal(left_out, 8);
    assert_int_equal(sizes.count, 1);
    assert_int_equal(sizes.items[0].bytes, 1280);
    assert_int_equal(sizes.items[0].count, 2);
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_read_as_nccl_tests_reads_them),
        cmocka_unit_test(what_is_not_said_is_32_mebibytes),
        cmocka_unit_test(shares_are_cut_as_in_nccl_tests),
        cmocka_unit_test(sweeps_end_where_they_should),
    };
    return cmocka_run_group_tests_name("collective_sizes", tests, NULL, NULL);
}
