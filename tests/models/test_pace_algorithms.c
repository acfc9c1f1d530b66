// SPDX-License-Identifier: GPL-3.0-or-later
// Each algorithm by hand once, with the catalogue's costs of H100 (a CTA 21.8 GB/s, 1 us per slice, seen 2.4 us later) and
// NDR (48.6 GB/s, .18 us per message, a hop 12 us, the host thread .8 us); and laws that hold for all.
#include "tests/support/library_group.h"

#include "models/collective/pace_internal.h"
#include "models/collective/tuner.h"
#include "sim/array.h"

static double time_us(const collective_layout *layout, collective_kind kind, collective_algorithm algorithm,
                      collective_protocol protocol, uint64_t bytes)
{
    const collective_pace pace = pace_of(library, layout, kind, algorithm, protocol, bytes);
    return (double)pace_time_ps(&pace) * 1e-6;
}

// 1 GiB on 16 channels: 64 MiB each, which is just 64 x 8 heads x 128 KiB, so chunks of 128 KiB and 64 loops of
// 2.8 us + 1 MiB / 17.95 GB/s = 61.2163 us: 16 + 66 x 61.2163 = 4056.29 us. The stream is 64 of them.
static void nvls_by_hand(void **state)
{
    (void)state;
    const collective_layout layout = layouts_of(scratch, H100_NODE);
    const collective_pace pace = pace_of(library, &layout, COLLECTIVE_ALL_REDUCE, ALGORITHM_NVLS,
                                         PROTOCOL_SIMPLE, UINT64_C(1) << 30);
    assert_int_equal(pace.chunk_bytes, 131072);
    assert_near(pace.loops, 64, 1e-12);
    assert_near((double)pace.stream_ps, 64 * 61.2163e6, 1e-5);
    assert_near((double)pace_time_ps(&pace), 4056.29e6, 1e-5);
}

// Chain: 8.4 + 2 x 7 x 2.8 + 30 = 77.6 us, then 4 GiB / (8 x 48.6 GB/s x .71) = 15558.77. Direct: 8.4 + 2 (3.7 + 7 x .4) +
// 31 = 52.4, then with .72 beyond four nodes 15342.7, with .78 to four 14162.5.
static void sharp_by_hand(void **state)
{
    (void)state;
    const collective_layout two = layouts_of(scratch, B200_2), many = layouts_of(scratch, B200_16);
    const uint64_t bytes = UINT64_C(1) << 32;
    assert_near(time_us(&many, COLLECTIVE_ALL_REDUCE, ALGORITHM_COLLNET_CHAIN, PROTOCOL_SIMPLE, bytes),
                15636.37, 1e-6);
    assert_near(time_us(&many, COLLECTIVE_ALL_REDUCE, ALGORITHM_COLLNET_DIRECT, PROTOCOL_SIMPLE, bytes),
                15395.08, 1e-6);
    assert_near(time_us(&two, COLLECTIVE_ALL_REDUCE, ALGORITHM_COLLNET_DIRECT, PROTOCOL_SIMPLE, bytes),
                14214.9, 1e-5);
    const double ring_us = time_us(&two, COLLECTIVE_ALL_GATHER, ALGORITHM_RING, PROTOCOL_SIMPLE, bytes);
    assert_near(time_us(&two, COLLECTIVE_ALL_GATHER, ALGORITHM_COLLNET_DIRECT, PROTOCOL_SIMPLE, bytes),
                ring_us, 1e-12);
}

// 64 MiB to 7 others on 24 channels: a CTA does min8(21.8, 376 / 24) = 15.5326 GB/s, so a chunk of 512 KiB takes 34.754 us
// and is seen 2.4 us later; 5.33 chunks: 4.2 + 2.0 + 7 x 37.154 + 4.33 x 34.754 = 416.88 us.
static void broadcast_by_hand(void **state)
{
    (void)state;
    const collective_layout layout = layouts_of(scratch, H100_NODE);
    const double us = time_us(&layout, COLLECTIVE_BROADCAST, ALGORITHM_RING, PROTOCOL_SIMPLE, 67108864);
    assert_near(us, 416.878, 1e-5);
    assert_near(time_us(&layout, COLLECTIVE_REDUCE, ALGORITHM_RING, PROTOCOL_SIMPLE, 67108864), us, 1e-12);
}

// 16 lone GPUs gather 64 MiB on 4 channels: blocks of 1 MiB in slices of 64 KiB. w = 1 + 65536 / 21800 = 4.006 us; the NIC
// takes .18 + 262144 / 48600 = 5.574, the host thread 2 x .8 x 4 = 6.4. 6.8 + 2 + 4 (4.006 + 6.4 + 12) + 15 x 16 x 6.4 =
// 1634.42 us.
static void pat_by_hand(void **state)
{
    (void)state;
    const collective_layout layout = layouts_make(scratch, "nvlink4", 376, 16, 1, "infiniband-ndr", 48.6, 1);
    assert_near(time_us(&layout, COLLECTIVE_ALL_GATHER, ALGORITHM_PAT, PROTOCOL_SIMPLE, 67108864), 1634.425,
                1e-5);
}

// 64 MiB on two nodes of 8: exchanges of 32, 16 and 8 MiB in the node (105.40, 53.90, 28.52 us), of 4 MiB over the network
// (101.78); there and back with 8.8 us of entry: 588.00 us. A reduce-scatter is one way.
static void recursive_by_hand(void **state)
{
    (void)state;
    const collective_layout layout = layouts_of(scratch, H100_2);
    assert_near(time_us(&layout, COLLECTIVE_ALL_REDUCE, ALGORITHM_RECURSIVE, PROTOCOL_SIMPLE, 67108864),
                588.002, 1e-5);
    assert_near(time_us(&layout, COLLECTIVE_REDUCE_SCATTER, ALGORITHM_RECURSIVE, PROTOCOL_SIMPLE, 67108864),
                8.8 + (588.002 - 8.8) / 2, 1e-5);
}

// Three operations: those of one node, and of two lone GPUs on an eighth of the buffer.
static void hierarchical_is_the_sum_of_its_parts(void **state)
{
    (void)state;
    const collective_layout layout = layouts_of(scratch, H100_2), node = layouts_of(scratch, H100_NODE);
    const collective_layout across = layouts_make(scratch, "nvlink4", 376, 2, 1, "infiniband-ndr", 48.6, 1);
    const uint64_t bytes = 67108864;
    const double scatter_us = time_us(&node, COLLECTIVE_REDUCE_SCATTER, ALGORITHM_RING, PROTOCOL_SIMPLE,
                                      bytes);
    const double gather_us = time_us(&node, COLLECTIVE_ALL_GATHER, ALGORITHM_RING, PROTOCOL_SIMPLE, bytes);
    const double across_us = time_us(&across, COLLECTIVE_ALL_REDUCE, ALGORITHM_RING, PROTOCOL_SIMPLE,
                                     bytes / 8);
    assert_near(time_us(&layout, COLLECTIVE_ALL_REDUCE, ALGORITHM_HIERARCHICAL, PROTOCOL_SIMPLE, bytes),
                scatter_us + across_us + gather_us, 1e-9);
    const double gather_across_us = time_us(&across, COLLECTIVE_ALL_GATHER, ALGORITHM_RING, PROTOCOL_SIMPLE,
                                            bytes / 8);
    assert_near(time_us(&layout, COLLECTIVE_ALL_GATHER, ALGORITHM_HIERARCHICAL, PROTOCOL_SIMPLE, bytes),
                gather_across_us + gather_us, 1e-9);
}

// Half the NICs serve the GPUs in pairs: each ring across has half of one.
static void hierarchical_shares_nics(void **state)
{
    (void)state;
    collective_layout layout = layouts_of(scratch, H100_8);
    layout.nics_per_node = 4;
    collective_layout across = layouts_make(scratch, "nvlink4", 376, 8, 1, "infiniband-ndr", 24.3, 1);
    const collective_layout node = layouts_of(scratch, H100_NODE);
    const uint64_t bytes = 67108864;
    const double want_us = time_us(&node, COLLECTIVE_REDUCE_SCATTER, ALGORITHM_RING, PROTOCOL_SIMPLE, bytes) +
                           time_us(&across, COLLECTIVE_REDUCE_SCATTER, ALGORITHM_RING, PROTOCOL_SIMPLE,
                                   bytes / 8);
    assert_near(time_us(&layout, COLLECTIVE_REDUCE_SCATTER, ALGORITHM_HIERARCHICAL, PROTOCOL_SIMPLE, bytes),
                want_us, 1e-9);
}

// 256 MiB to a neighbour on 16 channels: alone a chunk of 512 KiB goes at 512 KiB / (1.3 us + 512 KiB / 21.8 GB/s) = 20.682
// GB/s, 16 of them under 376 at min8(20.682, 23.5) = 19.902: 26.343 us each, 33 of them and 8.8 us: 878.12 us, 306 GB/s.
// Measured: 300.
static void send_by_hand(void **state)
{
    (void)state;
    const collective_layout layout = layouts_of(scratch, H100_NODE);
    const collective_pace pace = pace_of(library, &layout, COLLECTIVE_SEND_RECV, ALGORITHM_SEND_RECV,
                                         PROTOCOL_SIMPLE, UINT64_C(1) << 28);
    assert_int_equal(pace.channels, 16);
    assert_near((double)pace_time_ps(&pace), 878.12e6, 1e-5);
    assert_near((double)pace.latency_ps, 35.143e6, 1e-5);
}

static void barrier_is_an_all_reduce_of_a_number(void **state)
{
    (void)state;
    const collective_layout layout = layouts_of(scratch, H100_8);
    assert_near(time_us(&layout, COLLECTIVE_BARRIER, ALGORITHM_TREE, PROTOCOL_LL, 0),
                time_us(&layout, COLLECTIVE_ALL_REDUCE, ALGORITHM_TREE, PROTOCOL_LL, 4), 1e-12);
}

static void a_rank_alone_takes_no_time(void **state)
{
    (void)state;
    collective_layout layout = layouts_of(scratch, H100_NODE);
    layout.ranks = layout.ranks_per_node = 1;
    for (int kind = 0; kind < COLLECTIVE_KINDS; kind++)
        assert_true(time_us(&layout, (collective_kind)kind, ALGORITHM_RING, PROTOCOL_SIMPLE, 1 << 20) == 0);
}

// Slingshot asks the receiver before a message of more than 4 KiB on the wire: from 2 to 4 KiB of data in LL, hops of a
// tree are 6 us longer (measured: 25 to 38 us over two nodes).
static void rendezvous_is_felt_above_its_size(void **state)
{
    (void)state;
    const collective_layout layout = layouts_of(scratch, ALPS_2);
    const double below_us = time_us(&layout, COLLECTIVE_ALL_REDUCE, ALGORITHM_TREE, PROTOCOL_LL, 2048);
    const double above_us = time_us(&layout, COLLECTIVE_ALL_REDUCE, ALGORITHM_TREE, PROTOCOL_LL, 4096);
    assert_true(above_us - below_us > 12 && above_us - below_us < 18);
}

// ---- laws

// Whoever is there, at all sizes: time is positive, the stream not longer than it, more bytes take no less (NVLS: but for
// steps of its staircase of chunks), a faster NIC and a faster link take no longer.
static void laws_hold(void **state)
{
    (void)state;
    for (int system = 0; system < LAYOUTS; system++) {
        const collective_layout layout = layouts_of(scratch, (layouts_name)system);
        collective_layout faster = layout;
        faster.link_mBps *= 2;
        faster.nic_mBps = faster.nic_mBps * 5 / 4; // no other number of channels for sends
        for (int kind = 0; kind < COLLECTIVE_KINDS; kind++)
            for (int algorithm = 0; algorithm < ALGORITHMS; algorithm++) {
                if (!tuner_has(library, &layout, (collective_kind)kind, (collective_algorithm)algorithm))
                    continue;
                if (algorithm == ALGORITHM_SEND_RECV || algorithm == ALGORITHM_PAIRWISE)
                    faster.nic_mBps = layout.nic_mBps;
                for (uint32_t power = 2; power <= 33; power++) {
                    const collective_pace pace = pace_of(library, &layout, (collective_kind)kind,
                                                         (collective_algorithm)algorithm, PROTOCOL_SIMPLE,
                                                         UINT64_C(1) << power);
                    const collective_pace better = pace_of(library, &faster, (collective_kind)kind,
                                                           (collective_algorithm)algorithm, PROTOCOL_SIMPLE,
                                                           UINT64_C(1) << power);
                    assert_true(pace.latency_ps > 0 && pace.stream_ps > 0);
                    if (pace_time_ps(&better) > pace_time_ps(&pace) + 1) // each part is rounded up
                        fail_msg("system %d, %s by %s, 2^%u bytes: faster links take longer", system,
                                 collective_kind_words[kind], collective_algorithm_words[algorithm], power);
                }
            }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nvls_by_hand),
        cmocka_unit_test(sharp_by_hand),
        cmocka_unit_test(broadcast_by_hand),
        cmocka_unit_test(pat_by_hand),
        cmocka_unit_test(recursive_by_hand),
        cmocka_unit_test(hierarchical_is_the_sum_of_its_parts),
        cmocka_unit_test(hierarchical_shares_nics),
        cmocka_unit_test(send_by_hand),
        cmocka_unit_test(barrier_is_an_all_reduce_of_a_number),
        cmocka_unit_test(a_rank_alone_takes_no_time),
        cmocka_unit_test(rendezvous_is_felt_above_its_size),
        cmocka_unit_test(laws_hold),
    };
    return cmocka_run_group_tests_name("pace algorithms", tests, open_library, close_library);
}
