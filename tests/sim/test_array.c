// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "sim/array.h"

typedef struct pair {
    uint64_t key;
    uint8_t tag;
} pair;
ARRAY_OF(pair, pair_array);

static void pushes_and_pops(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    pair_array pairs = { 0 };
    for (uint32_t i = 0; i < 5003; i++) {
        pair *p = array_push(&pairs, a);
        assert_int_equal(p->key, 0);
        assert_int_equal(p->tag, 0);
        p->key = i * 7919u;
        p->tag = (uint8_t)i;
        if (i % 1000 == 0) arena_alloc(a, 1, 1); // something else lies between: the array has to move
    }
    assert_int_equal(pairs.count, 5003);
    assert_true(pairs.capacity >= 5003);
    for (uint32_t i = 0; i < 5003; i++)
        assert_int_equal(pairs.items[i].key, i * 7919u);
    for (uint32_t i = 5003; i-- > 5000;)
        assert_int_equal(array_pop(&pairs)->key, i * 7919u);
    assert_int_equal(pairs.count, 5000);
    arena_destroy(a);
}

static void elements_are_zeroed_again_after_clear(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    pair_array pairs = { 0 };
    for (uint32_t i = 0; i < 20; i++)
        array_push(&pairs, a)->key = 99;
    const pair *items = pairs.items;
    array_clear(&pairs);
    assert_int_equal(pairs.count, 0);
    assert_int_equal(array_push(&pairs, a)->key, 0);
    assert_ptr_equal(pairs.items, items); // the room is kept
    arena_destroy(a);
}

static void reserve_makes_room_once(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    pair_array pairs = { 0 };
    array_reserve(&pairs, a, 1234);
    assert_int_equal(pairs.count, 0);
    assert_true(pairs.capacity >= 1234);
    const pair *items = pairs.items;
    size_t used = arena_used_bytes(a);
    for (uint32_t i = 0; i < 1234; i++)
        array_push(&pairs, a)->key = i;
    assert_ptr_equal(pairs.items, items);
    assert_int_equal(arena_used_bytes(a), used);
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pushes_and_pops),
        cmocka_unit_test(elements_are_zeroed_again_after_clear),
        cmocka_unit_test(reserve_makes_room_once),
    };
    return cmocka_run_group_tests_name("array", tests, NULL, NULL);
}
