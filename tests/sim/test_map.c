// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "sim/array.h"
#include "sim/map.h"
#include <stdio.h>

// No two alike, and near 0, near 2^64 and with empty low bits.
static uint64_t key_of(uint32_t i)
{
    return i % 3 == 0 ? i : i % 3 == 1 ? (uint64_t)i << 40 : UINT64_MAX - i;
}

static void finds_what_was_set(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    map *m = map_create(a);
    enum { COUNT = 10007 };
    uint32_t value = 7;
    uint64_t key;
    assert_false(map_get(m, 0, &value));
    assert_int_equal(value, 7); // untouched
    for (uint32_t i = 0; i < COUNT; i++)
        map_set(m, key_of(i), i * 31);
    assert_int_equal(map_count(m), COUNT);
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_true(map_get(m, key_of(i), &value));
        assert_int_equal(value, i * 31);
        map_at(m, i, &key, &value);
        assert_true(key == key_of(i));
        assert_int_equal(value, i * 31);
    }
    assert_false(map_get(m, 1, &value));
    assert_false(map_get(m, UINT64_MAX, &value));
    arena_destroy(a);
}

static void setting_again_replaces_in_place(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    map *m = map_create(a);
    map_set(m, 5, 50);
    map_set(m, 0, 10);
    map_set(m, 5, 51);
    assert_int_equal(map_count(m), 2);
    uint64_t key;
    uint32_t value;
    map_at(m, 0, &key, &value);
    assert_int_equal(key, 5);
    assert_int_equal(value, 51);
    map_at(m, 1, &key, &value);
    assert_int_equal(key, 0);
    assert_int_equal(value, 10);
    arena_destroy(a);
}

static void text_keys_are_copied_and_kept_in_order(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    text_map *m = text_map_create(a);
    enum { COUNT = 3001 };
    char key[32];
    uint32_t value;
    assert_false(text_map_get(m, "", &value));
    text_map_set(m, "", 4242);
    for (uint32_t i = 1; i < COUNT; i++) {
        snprintf(key, sizeof key, "link %u of %u", i, i * i);
        text_map_set(m, key, i);
    }
    snprintf(key, sizeof key, "changed");
    text_map_set(m, "link 77 of 5929", 1077);
    assert_int_equal(text_map_count(m), COUNT);
    assert_true(text_map_get(m, "", &value));
    assert_int_equal(value, 4242);
    for (uint32_t i = 1; i < COUNT; i++) {
        snprintf(key, sizeof key, "link %u of %u", i, i * i);
        assert_true(text_map_get(m, key, &value));
        assert_int_equal(value, i == 77 ? 1077 : i);
        assert_string_equal(text_map_at(m, i, &value), key);
        assert_int_equal(value, i == 77 ? 1077 : i);
    }
    assert_false(text_map_get(m, "changed", &value));
    assert_false(text_map_get(m, "link 77 of 592", &value));
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_was_set),
        cmocka_unit_test(setting_again_replaces_in_place),
        cmocka_unit_test(text_keys_are_copied_and_kept_in_order),
    };
    return cmocka_run_group_tests_name("map", tests, NULL, NULL);
}
