// SPDX-License-Identifier: GPL-3.0-or-later
// The closed form of rings: by hand, and against the recursion slice by slice.
#include "tests/support/layouts.h"

#include "models/collective/pace_internal.h"
#include "sim/array.h"

typedef struct gap_sum {
    double sum, worst;
    uint32_t count;
} gap_sum;

static void add_gap(arena *a, const collective_library *library, const collective_layout *layout,
                    collective_kind kind, collective_protocol protocol, uint64_t bytes, gap_sum *gaps)
{
    const pace_request request = { library, layout, kind, protocol, bytes };
    const slice_ring ring = pace_ring_channel(&request);
    const double gap = fabs(log(pace_ring_closed_s(&ring) / slice_ring_s(a, &ring)));
    gaps->sum += gap;
    gaps->worst = fmax(gaps->worst, gap);
    gaps->count++;
}

// Fourteen systems, three protocols, three collectives, 1 KiB to 2 GiB: 1 % on average, 3 % of each system and protocol, 10
// % at worst (two nodes, where two terms of the longest are equal). On Slingshot from 1 MiB on: below, where it has other
// algorithms, the closed form has no term for the long hops of the first steps and is up to 18 % off.
static void closed_form_is_near_the_recursion(void **state)
{
    (void)state;
    static const collective_kind kinds[] = { COLLECTIVE_ALL_REDUCE, COLLECTIVE_ALL_GATHER,
                                             COLLECTIVE_REDUCE_SCATTER };
    arena *a = arena_create("rings");
    const collective_library *library = layouts_library(a);
    gap_sum all = { 0 };
    for (int system = 0; system < LAYOUTS; system++) {
        const collective_layout layout = layouts_of(a, (layouts_name)system);
        const uint32_t least = layout.nic && layout.nic->rendezvous.above_bytes > 0 ? 20 : 10;
        for (int protocol = 0; protocol < PROTOCOLS; protocol++) {
            gap_sum gaps = { 0 };
            for (size_t k = 0; k < ARRAY_COUNT(kinds); k++)
                for (uint32_t power = least; power <= 31; power += 3)
                    add_gap(a, library, &layout, kinds[k], (collective_protocol)protocol,
                            UINT64_C(1) << power, &gaps);
            if (gaps.sum / gaps.count > 0.03 || gaps.worst > 0.10)
                fail_msg("system %d, %s: mean %.4f, worst %.4f", system, collective_protocol_words[protocol],
                         gaps.sum / gaps.count, gaps.worst);
            all.sum += gaps.sum;
            all.count += gaps.count;
        }
    }
    assert_true(all.sum / all.count <= 0.01);
    arena_destroy(a);
}

// 8 H100, all-reduce of 32 KiB by LL: 32768 / (512 threads x 8 B x 8 ranks) is one channel, chunks of 4 KiB in one loop. A
// slice takes w = .3 us + 4096 B / 10 GB/s = .7096 us and is seen .3 us later, so a step takes 1.0096 us. 4.2 us of entry,
// 14 steps, and a last receive of .7096 us: 19.044 us. Measured: 18.7 to 20.4.
static void small_all_reduce_by_hand(void **state)
{
    (void)state;
    arena *a = arena_create("rings");
    const collective_layout layout = layouts_of(a, H100_NODE);
    const collective_pace pace = pace_of(layouts_library(a), &layout, COLLECTIVE_ALL_REDUCE, ALGORITHM_RING,
                                         PROTOCOL_LL, 32768);
    assert_int_equal(pace.channels, 1);
    assert_int_equal(pace.chunk_bytes, 4096);
    assert_int_equal(pace.slice_bytes, 4096);
    assert_int_equal(pace.slices, 1);
    assert_int_equal(pace.slots, 8);
    assert_int_equal(pace.steps, 14);
    assert_near((double)pace.work_ps, 709600, 1e-5);
    assert_int_equal(pace.visible_ps, 300000);
    assert_near((double)pace.stream_ps, 14 * 1009600.0, 1e-5);
    assert_near((double)pace.latency_ps, 4200000 + 709600.0, 1e-5);
    arena_destroy(a);
}

// Two nodes of H100, all-reduce of 2 MiB by Simple: 16 channels of 128 KiB, chunks of 8 KiB, which are one slice of 8 KiB
// and an empty one. One host thread serves two channels: x = 2 x .8 us x 2 = 3.2 us. w = 1 + 8192 / 21800 = 1.3758 us. The
// longest of work 2.376; round (7 (1.376 + 2.4) + 1.376 + 3.2 + 12) / 8 = 5.376; host 6.4: a step takes 6.4 us (measured: 5
// to 7). Entry 6.8 + 2.0, 30 steps, then 2 x 1.3758 and the hop of 12: 215.55 us.
static void host_thread_by_hand(void **state)
{
    (void)state;
    arena *a = arena_create("rings");
    const collective_layout layout = layouts_of(a, H100_2);
    const collective_pace pace = pace_of(layouts_library(a), &layout, COLLECTIVE_ALL_REDUCE, ALGORITHM_RING,
                                         PROTOCOL_SIMPLE, 2097152);
    assert_int_equal(pace.channels, 16); // 2 MiB / (512 threads x 64 B) are 64 channels: all 16
    assert_near((double)pace_time_ps(&pace), 215.55e6, 1e-4);
    arena_destroy(a);
}

// A path that takes longer than the constants is what a hop takes: 40 us instead of 12.
static void long_paths_are_felt(void **state)
{
    (void)state;
    arena *a = arena_create("rings");
    const collective_library *library = layouts_library(a);
    collective_layout layout = layouts_of(a, H100_2);
    layout.net_delay_ps = 40 * PS_PER_US;
    layout.link_delay_ps = 5 * PS_PER_US;
    const pace_request request = { library, &layout, COLLECTIVE_ALL_REDUCE, PROTOCOL_SIMPLE, 65536 };
    const slice_ring ring = pace_ring_channel(&request);
    assert_near(ring.hop_s, 40e-6, 1e-12);
    assert_near(ring.visible_s, 5e-6, 1e-12);
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_form_is_near_the_recursion),
        cmocka_unit_test(small_all_reduce_by_hand),
        cmocka_unit_test(host_thread_by_hand),
        cmocka_unit_test(long_paths_are_felt),
    };
    return cmocka_run_group_tests_name("pace ring", tests, NULL, NULL);
}
