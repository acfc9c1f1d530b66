// SPDX-License-Identifier: GPL-3.0-or-later
// A test that must fail: if it passed, no comparison in any other test would mean anything. ctest runs it inverted.
#include "tests/support/near.h"

static void near_tells_one_part_in_a_hundred_million(void **state)
{
    (void)state;
    assert_near(1.0 + 1e-8, 1.0, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(near_tells_one_part_in_a_hundred_million) };
    return cmocka_run_group_tests_name("canary", tests, NULL, NULL);
}
