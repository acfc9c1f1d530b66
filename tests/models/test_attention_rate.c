// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "models/hardware/attention_rate.h"
#include "sim/array.h"

static double forward_x[] = { 700, 5300 }, forward_y[] = { 0.211, 0.347 };
static double backward_x[] = { 900, 4700 }, backward_y[] = { 0.173, 0.289 };
static double full_x[] = { 600, 6000 }, full_y[] = { 0.31, 0.43 };
static double small_x[] = { 800, 5000 }, small_y[] = { 0.13, 0.27 };
static attention_def tables[] = {
    { .program = PROGRAM_FA2,
      .head_size = 128,
      .forward = { forward_x, forward_y, 2 },
      .backward = { backward_x, backward_y, 2 } },
    { .program = PROGRAM_FA2, .head_size = 128, .full_mask = true, .forward = { full_x, full_y, 2 } },
    { .program = PROGRAM_FA2, .head_size = 64, .forward = { small_x, small_y, 2 } },
};
static const kernel_set_def set = { .flash = PROGRAM_FA2, .attention = { .items = tables, .count = 3 } };

struct rate_case {
    const char *name;
    attention_query query;
    double want;
};
static const struct rate_case cases[] = {
    // .211 + .136 log(2741 / 700) / log(5300 / 700)
    { "between two points", { PROGRAM_FA2, 2741, 128, false, false, 0 }, 0.30270192045 },
    { "flash is what the set says", { PROGRAM_FLASH, 2741, 128, false, false, 0 }, 0.30270192045 },
    // .173 + .116 log(2741 / 900) / log(4700 / 900)
    { "backward", { PROGRAM_FA2, 2741, 128, false, true, 0 }, 0.25115685590 },
    { "beyond the last point", { PROGRAM_FA2, 70001, 128, false, false, 0 }, 0.347 },
    { "below the first point",
      { PROGRAM_FA2, 350, 128, false, false, 0 },
      0.14919953083 }, // .211 (350 / 700)^(1/2)
    // .31 + .12 log(2741 / 600) / log(10)
    { "full mask", { PROGRAM_FA2, 2741, 128, true, false, 0 }, 0.38917093422 },
    // No full backward table: the causal one stands in.
    { "full mask backward", { PROGRAM_FA2, 2741, 128, true, true, 0 }, 0.25115685590 },
    // 64 is nearest to 80: .27 (80 / (96 + 18.6)) / (64 / (64 + 18.6))
    { "heads of 80", { PROGRAM_FA2, 5000, 80, false, false, 0 }, 0.24325916230 },
    // 64 has no backward: .289 (64 / 82.6) / (128 / 146.6)
    { "heads of 64 backward", { PROGRAM_FA2, 4700, 64, false, true, 0 }, 0.25646125908 },
    { "heads of 160",
      { PROGRAM_FA2, 5300, 160, false, false, 0 },
      0.35603443449 }, // .347 (160 / 178.6) (146.6 / 128)
    { "another program", { PROGRAM_FA3, 5300, 128, false, false, 0 }, 0.0 },
};

static void share_matches_hand_computation(void **state)
{
    const struct rate_case *c = *state;
    assert_near(attention_share(&set, &c->query), c->want, 1e-9);
}

static void few_blocks_leave_multiprocessors_idle(void **state)
{
    (void)state;
    kernel_set_def filling = set;
    filling.attention_fill = 1.3;
    // 3 sequences x 7 heads of 2741: 22 blocks each, 462 on 131 multiprocessors
    assert_near(attention_blocks(21, 2741, 131), 3.5267175573, 1e-9);
    const attention_query query = { PROGRAM_FA2, 2741, 128, false, false, 3.5267175573 };
    // 3.5267 / (3.5267 + 1.3 (2048 / 2741)^(1/2)) = .758364
    assert_near(attention_share(&filling, &query), 0.30270192045 * 0.758364337, 1e-8);
    attention_query more = query;
    more.blocks *= 2.0;
    assert_true(attention_share(&filling, &more) > attention_share(&filling, &query));
}

static void training_needs_both_passes(void **state)
{
    (void)state;
    assert_true(kernel_set_can_train(&set, PROGRAM_FA2));
    assert_true(kernel_set_can_train(&set, PROGRAM_FLASH));
    assert_false(kernel_set_can_train(&set, PROGRAM_CUDNN));
    const kernel_set_def forward_only = { .flash = PROGRAM_FA2,
                                          .attention = { .items = &tables[2], .count = 1 } };
    assert_false(kernel_set_can_train(&forward_only, PROGRAM_FA2));
}

int main(void)
{
    enum { ROWS = ARRAY_COUNT(cases) };
    struct CMUnitTest tests[ROWS + 2] = {
        [ROWS] = cmocka_unit_test(few_blocks_leave_multiprocessors_idle),
        [ROWS + 1] = cmocka_unit_test(training_needs_both_passes),
    };
    for (size_t i = 0; i < ROWS; i++)
        tests[i] = (struct CMUnitTest){ .name = cases[i].name,
                                        .test_func = share_matches_hand_computation,
                                        .initial_state = (void *)&cases[i] };
    return cmocka_run_group_tests_name("attention_rate", tests, NULL, NULL);
}
