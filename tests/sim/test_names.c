// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "sim/names.h"
#include <stdio.h>

static void ids_count_from_one_in_order_of_first_use(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    names *n = names_create(a);
    assert_int_equal(names_count(n), 0);
    assert_int_equal(names_intern(n, "all-reduce"), 1);
    assert_int_equal(names_intern(n, ""), 2);
    assert_int_equal(names_intern(n, "all-gather"), 3);
    assert_int_equal(names_intern(n, "all-reduce"), 1);
    assert_int_equal(names_intern(n, "all-reduc"), 4);
    assert_int_equal(names_count(n), 4);
    assert_string_equal(names_text(n, 1), "all-reduce");
    assert_string_equal(names_text(n, 2), "");
    assert_string_equal(names_text(n, 3), "all-gather");
    assert_string_equal(names_text(n, 4), "all-reduc");
    arena_destroy(a);
}

static void texts_stay_where_they_are(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    names *n = names_create(a);
    char text[32] = "first";
    names_intern(n, text);
    const char *first = names_text(n, 1);
    for (uint32_t i = 2; i <= 2000; i++) {
        snprintf(text, sizeof text, "gpu %u", i);
        assert_int_equal(names_intern(n, text), i);
    }
    assert_ptr_equal(names_text(n, 1), first);
    assert_string_equal(first, "first");
    assert_string_equal(names_text(n, 1999), "gpu 1999");
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_count_from_one_in_order_of_first_use),
        cmocka_unit_test(texts_stay_where_they_are),
    };
    return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
