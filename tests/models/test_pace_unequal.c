// SPDX-License-Identifier: GPL-3.0-or-later
// All-to-all of unequal parts, by hand with the costs of H100 and NDR in tests/support/costs.
#include "tests/support/library_group.h"

#include "models/collective/pace.h"
#include "sim/array.h"

enum { RANKS_MAX = 64 };
static const uint64_t MiB = UINT64_C(1) << 20;

static uint64_t *no_parts(const collective_layout *layout)
{
    assert_in_range(layout->ranks, 1, RANKS_MAX);
    return arena_array(scratch, uint64_t, (size_t)layout->ranks * layout->ranks);
}

// Ranks are packed, as nodes follow one another in the only ring.
static collective_pace paced(const collective_layout *layout, const uint64_t *parts)
{
    uint32_t orders[RANKS_MAX], starts[RANKS_MAX + 1];
    for (uint32_t r = 0; r < layout->ranks; r++)
        orders[r] = r;
    for (uint32_t v = 0; v <= layout->nodes; v++)
        starts[v] = v * layout->ranks_per_node;
    const ring_set rings = { .ranks = layout->ranks,
                             .count = 1,
                             .orders = orders,
                             .nodes = layout->nodes > 1 ? layout->nodes : 0,
                             .node_starts = starts };
    return pace_unequal(scratch, library, layout, &rings, parts);
}

static double time_us(const collective_layout *layout, const uint64_t *parts)
{
    const collective_pace pace = paced(layout, parts);
    return (double)pace_time_ps(&pace) * 1e-6;
}

// Seven GPUs send 32 MiB each to the eighth: 4 channels to a peer, 28 in all, of 512 KiB / (1.3 us + 512 KiB / 21.8 GB/s) =
// 20.6821 GB/s, under .97 x 376: min8(579.10, 364.72) = 363.607 GB/s. 4.2 + 8 x .3 + 224 MiB / 363.607 GB/s + 2 x 25.350 =
// 703.27 us. The other way round it is the same.
static void a_hot_rank_in_a_node_by_hand(void **state)
{
    (void)state;
    const collective_layout layout = layouts_of(scratch, H100_NODE);
    uint64_t *to_one = no_parts(&layout), *from_one = no_parts(&layout);
    for (uint32_t r = 0; r < 8; r++) {
        to_one[r * 8 + 3] = 32 * MiB; // what it keeps is not sent
        from_one[3 * 8 + r] = 32 * MiB;
    }
    assert_near(time_us(&layout, to_one), 703.275, 1e-5);
    assert_near(time_us(&layout, from_one), 703.275, 1e-5);
}

// Eight GPUs of one node send 4 MiB each to one of another: 16 channels of 128 KiB / (2.8 us + 128 KiB / 21.8 GB/s) = 14.8734
// GB/s on a NIC of its own: min3(237.97, 48.6) = 48.4628 GB/s. 6.8 + 20 + 8 x 3 + 32 MiB / 48.4628 GB/s + 2 x 8.8125 =
// 760.80 us.
static void a_hot_rank_over_the_network_by_hand(void **state)
{
    (void)state;
    const collective_layout layout = layouts_of(scratch, H100_2);
    uint64_t *parts = no_parts(&layout);
    for (uint32_t r = 0; r < 8; r++)
        parts[r * 16 + 11] = 4 * MiB;
    assert_near(time_us(&layout, parts), 760.800, 1e-5);
    // With four NICs for eight GPUs it has one to itself all the same; with as much for each of its node, half of one.
    collective_layout shared = layout;
    shared.nics_per_node = 4;
    assert_near(time_us(&shared, parts), 760.800, 1e-5);
    for (uint32_t r = 0; r < 8; r++)
        for (uint32_t to = 8; to < 16; to++)
            parts[r * 16 + to] = 4 * MiB;
    // min3(237.97, 24.3) = 24.2914 GB/s
    assert_near(time_us(&shared, parts), 68.425 + 33554432 / 24291.4, 1e-5);
}

// One part has the four channels of one peer: 4 x 20.6821 GB/s. 4.2 + 2 x .3 + 32 MiB / 82.7284 GB/s + 2 x 25.350 = 461.09 us.
static void one_part_has_the_channels_of_one_peer(void **state)
{
    (void)state;
    const collective_layout layout = layouts_of(scratch, H100_NODE);
    uint64_t *parts = no_parts(&layout);
    parts[2 * 8 + 5] = 32 * MiB;
    assert_near(time_us(&layout, parts), 4.8 + 33554432 / 82728.4 + 50.6998, 1e-5);
    // Small parts beside it do not hurry it on.
    for (uint32_t r = 0; r < 8; r++)
        parts[2 * 8 + r] += 1;
    assert_true(time_us(&layout, parts) >= 4.8 + 33554432 / 82728.4 + 50.69);
}

// What is as an all-to-all takes as long as that, and what stays inside its nodes as one of them.
static void equal_parts_take_as_long(void **state)
{
    (void)state;
    static const layouts_name names[] = { H100_NODE, A100_NODE, B200_NODE, GH200_NODE, H100_2,
                                          H100_8,    B200_2,    ALPS_2,    ALPS_16,    A100_4 };
    for (size_t i = 0; i < ARRAY_COUNT(names); i++)
        for (uint64_t part = 4096; part <= 64 * MiB; part *= 8) {
            const collective_layout layout = layouts_of(scratch, names[i]);
            const uint32_t n = layout.ranks;
            uint64_t *parts = no_parts(&layout);
            for (uint32_t p = 0; p < n * n; p++)
                parts[p] = part;
            const collective_pace want = pace_of(library, &layout, COLLECTIVE_ALL_TO_ALL, ALGORITHM_PAIRWISE,
                                                 PROTOCOL_SIMPLE, n * part);
            const collective_pace got = paced(&layout, parts);
            assert_true(got.latency_ps == want.latency_ps && got.stream_ps == want.stream_ps);
            assert_int_equal(got.channels, want.channels);
        }
}

static void more_never_takes_less(void **state)
{
    (void)state;
    const collective_layout layout = layouts_of(scratch, H100_2);
    uint64_t *parts = no_parts(&layout);
    double before_us = 0;
    for (uint32_t to = 1; to < 16; to++)
        for (uint32_t from = 0; from < 16; from++) {
            if (from == to) continue;
            parts[from * 16 + to] = 2 * MiB;
            const double now_us = time_us(&layout, parts);
            assert_true(now_us >= before_us);
            before_us = now_us;
        }
}

static void nothing_takes_no_time(void **state)
{
    (void)state;
    const collective_layout layout = layouts_of(scratch, H100_2);
    uint64_t *parts = no_parts(&layout);
    parts[0] = parts[17] = MiB; // on the diagonal
    assert_true(time_us(&layout, parts) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hot_rank_in_a_node_by_hand),
        cmocka_unit_test(a_hot_rank_over_the_network_by_hand),
        cmocka_unit_test(one_part_has_the_channels_of_one_peer),
        cmocka_unit_test(equal_parts_take_as_long),
        cmocka_unit_test(more_never_takes_less),
        cmocka_unit_test(nothing_takes_no_time),
    };
    return cmocka_run_group_tests_name("pace unequal", tests, open_library, close_library);
}
