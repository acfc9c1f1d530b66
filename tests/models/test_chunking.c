// SPDX-License-Identifier: GPL-3.0-or-later
// How NCCL's kernels cut a buffer: values by hand from NCCL's rules (nccl-constants.csv).
#include "tests/support/library_group.h"

#include "models/collective/chunking.h"
#include "sim/array.h"

// Of rings: 24 on a node of H100, GH200 and A100, 32 of B200; over nodes of H100 by the rule, of the others what their costs
// say.
static void channels_of_each_system(void **state)
{
    (void)state;
    static const struct {
        layouts_name system;
        uint32_t want, nvls, nvls_tree;
    } rows[] = { { H100_NODE, 24, 16, 16 },  { A100_NODE, 24, 0, 0 }, { B200_NODE, 32, 24, 32 },
                 { GH200_NODE, 24, 0, 0 },   { H100_2, 16, 16, 16 },  { H100_8, 16, 16, 16 },
                 { B200_16, 32, 24, 32 },    { ALPS_8, 16, 0, 0 },    { A100_4, 16, 0, 0 },
                 { H100_LONE_10, 4, 16, 16 } };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        collective_layout layout = layouts_of(scratch, rows[i].system);
        assert_int_equal(chunking_all_channels(library, &layout, ALGORITHM_RING), rows[i].want);
        assert_int_equal(chunking_all_channels(library, &layout, ALGORITHM_TREE), rows[i].want);
        assert_int_equal(chunking_all_channels(library, &layout, ALGORITHM_NVLS), rows[i].nvls);
        assert_int_equal(chunking_all_channels(library, &layout, ALGORITHM_NVLS_TREE), rows[i].nvls_tree);
        layout.channels = 7; // NCCL_MIN_CTAS
        assert_int_equal(chunking_all_channels(library, &layout, ALGORITHM_RING), 7);
        assert_int_equal(chunking_all_channels(library, &layout, ALGORITHM_NVLS), 7);
    }
}

// By hand from NCCL's rule (chunking.c). Doubled rings: from 25 GB/s on, of Hopper and later only up to four or from 50 GB/s.
//     H100, 400 Gb/s (48)   8: 8 x 2    4: 4 x 2 x 2    2: 2 x 2 x 2    1: 1 x 2 x 2, at 24: no further
//     H100, 200 Gb/s (24)   8: 8 x 2    4: 4 x 2        800 Gb/s (96)  1: 1 x 2 at 48, x 2, x 2 again
//     B200, 400 Gb/s        8: 8 x 2    800 Gb/s (96)   8: 8 x 2 x 2
//     A100, 200 Gb/s (24)   8: 8 x 2    4: 4 x 2        1: 1 x 2        400 Gb/s (48)  4: 4 x 2 x 2
//     A100, 100 Gb/s (12)  16: 16 x 2   V100            4: 4 x 2        1: 1 x 2
//     72 GPUs of a rack, 800 Gb/s: 72 x 96 x 71/72 > 720, so 16 of 45 x 2
//     PCIe, 200 Gb/s: 1 x 24 x 7/8 is within 2 x 12, so 1 x 2; 4 x 24 x 7/8 is not, so 2 x 2
static void channels_over_nodes_follow_the_nics(void **state)
{
    (void)state;
    static const struct {
        const char *link, *nic;
        double nic_GBps; // payload
        uint32_t nodes, ranks_per_node, nics, want;
    } rows[] = { { "nvlink4", "infiniband-ndr", 48.6, 2, 8, 8, 16 },
                 { "nvlink4", "infiniband-ndr", 48.6, 2, 4, 4, 16 },
                 { "nvlink4", "infiniband-ndr", 48.6, 4, 2, 2, 8 },
                 { "nvlink4", "infiniband-ndr", 48.6, 2, 1, 1, 4 },
                 { "nvlink4", "infiniband-ndr", 48.6, 10, 1, 1, 4 },
                 { "nvlink4", "infiniband-ndr", 24.1, 4, 8, 8, 16 },
                 { "nvlink4", "infiniband-ndr", 24.1, 4, 8, 4, 8 },
                 { "nvlink4", "infiniband-ndr", 97.1, 3, 1, 1, 8 },
                 { "nvlink5", "infiniband-ndr", 48.6, 2, 8, 8, 16 },
                 { "nvlink5", "infiniband-ndr", 97.1, 2, 8, 8, 32 },
                 { "nvlink3", "infiniband-hdr", 24.1, 2, 8, 8, 16 },
                 { "nvlink3", "infiniband-hdr", 24.1, 32, 8, 4, 8 },
                 { "nvlink3", "infiniband-hdr", 24.1, 2, 4, 1, 2 },
                 { "nvlink3", "infiniband-hdr", 48.6, 2, 8, 4, 16 },
                 { "nvlink3", "roce", 12.2, 2, 8, 16, 32 },
                 { "nvlink2", "infiniband-hdr", 12.2, 2, 8, 4, 8 },
                 { "nvlink2", "infiniband-hdr", 12.2, 2, 8, 1, 2 },
                 { "nvl72", "roce", 97.1, 2, 72, 72, 32 },
                 { "pcie", "infiniband-hdr", 24.1, 2, 8, 1, 2 },
                 { "pcie", "infiniband-hdr", 24.1, 2, 8, 4, 4 } };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        const collective_layout made = layouts_make(scratch, rows[i].link, 300, rows[i].nodes,
                                                    rows[i].ranks_per_node, rows[i].nic, rows[i].nic_GBps,
                                                    rows[i].nics);
        scale_up_costs link = *made.link;
        link.network_channels = 0; // by the rule
        collective_layout layout = made;
        layout.link = &link;
        assert_int_equal(chunking_all_channels(library, &layout, ALGORITHM_RING), rows[i].want);
        link.network_channels = 21;
        assert_int_equal(chunking_all_channels(library, &layout, ALGORITHM_RING), 21);
    }
}

// Two nodes: 8 A100 with 8 NICs of 200 Gb/s: 24, raised to 30, for 8 x 30 x 7/8 = 210 is within 240 and 48 is not. With four
// 48, twice the NIC's. 8 H100 with 400 Gb/s: 48 already, and 80 is too much. 4 GH200 at Slingshot's limit of 18: 40, for
// 30 is not yet twice. A GPU alone in its node has no links to raise.
static void trees_run_faster_inside_a_node(void **state)
{
    (void)state;
    static const struct {
        const char *link, *nic;
        double nic_GBps, want_GBps;
        uint32_t ranks_per_node, nics;
    } rows[] = { { "nvlink3", "infiniband-hdr", 24.1, 30, 8, 8 },
                 { "nvlink3", "infiniband-hdr", 24.1, 48, 8, 4 },
                 { "nvlink4", "infiniband-ndr", 48.6, 48, 8, 8 },
                 { "nvlink4-mesh", "slingshot", 23.2, 40, 4, 4 },
                 { "nvlink4", "infiniband-ndr", 48.6, 48, 1, 1 } };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        const collective_layout layout = layouts_make(scratch, rows[i].link, 300, 2, rows[i].ranks_per_node,
                                                      rows[i].nic, rows[i].nic_GBps, rows[i].nics);
        const network_search found = chunking_network_search(library, &layout);
        assert_int_equal(found.channels, rows[i].nics);
        assert_near(found.tree_rate_Bps, rows[i].want_GBps * 1e9, 1e-12);
    }
}

// 8 H100, 24 channels. Simple takes 32 KiB for each, LL128 5 KiB, LL 4 KiB, in rings 32 KiB: all of them at 768, 120, 96
// and 768 KiB.
static void small_sizes_use_few_channels(void **state)
{
    (void)state;
    static const struct {
        collective_algorithm algorithm;
        collective_protocol protocol;
        uint64_t bytes;
        uint32_t want;
    } rows[] = { { ALGORITHM_RING, PROTOCOL_SIMPLE, 1, 1 },
                 { ALGORITHM_RING, PROTOCOL_SIMPLE, 65535, 1 },
                 { ALGORITHM_RING, PROTOCOL_SIMPLE, 65536, 2 },
                 { ALGORITHM_RING, PROTOCOL_SIMPLE, 786431, 23 },
                 { ALGORITHM_RING, PROTOCOL_SIMPLE, 786432, 24 },
                 { ALGORITHM_RING, PROTOCOL_SIMPLE, 1 << 30, 24 },
                 { ALGORITHM_RING, PROTOCOL_LL128, 5 * 24 * 1024, 24 },
                 { ALGORITHM_RING, PROTOCOL_LL, 98304, 3 },
                 { ALGORITHM_RING, PROTOCOL_LL, 786432, 24 },
                 { ALGORITHM_TREE, PROTOCOL_LL, 98304, 24 },
                 { ALGORITHM_NVLS, PROTOCOL_SIMPLE, 8, 16 } };
    const collective_layout layout = layouts_of(scratch, H100_NODE);
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
        assert_int_equal(
            chunking_channels(library, &layout, rows[i].algorithm, rows[i].protocol, rows[i].bytes),
            rows[i].want);
}

static void slices_are_halves_of_32_KiB_at_least(void **state)
{
    (void)state;
    const protocol_cut *simple = &library->kernels.cuts[PROTOCOL_SIMPLE];
    const struct {
        double chunk, first, second;
    } rows[] = {
        { 2097152, 1048576, 1048576 }, { 65536, 32768, 32768 }, { 40000, 32768, 7232 }, { 3000, 3000, 0 }
    };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        const chunk_slices got = chunking_slices(simple, rows[i].chunk);
        assert_near(got.first_bytes, rows[i].first, 1e-15);
        assert_near(got.second_bytes, rows[i].second, 1e-15);
    }
    const chunk_slices whole = chunking_slices(&library->kernels.cuts[PROTOCOL_LL], 32768);
    assert_near(whole.first_bytes, 32768, 1e-15);
    assert_near(whole.second_bytes, 0, 1e-15);
}

// 8 heads and 16 channels of an H100 node: 16 KiB below 8 MiB, 32 below 64 MiB, 64 below 1 GiB.
static void nvls_staircase(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes, want;
    } rows[] = { { 1 << 20, 16384 },        { (8 << 20) - 1, 16384 },     { 8 << 20, 32768 },
                 { (64 << 20) - 1, 32768 }, { 64 << 20, 65536 },          { (1 << 30) - 1, 65536 },
                 { 1 << 30, 131072 },       { UINT64_C(1) << 33, 131072 } };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
        assert_int_equal(chunking_nvls_chunk_bytes((double)rows[i].bytes / 16, 8, 131072), rows[i].want);
}

// 128 KiB until a channel has less than 4 x 8 chunks of it (4 MiB), 32 KiB below 8 x 64 KiB; with 64 KiB at most from four
// nodes on.
static void nvls_tree_staircase(void **state)
{
    (void)state;
    assert_int_equal(chunking_nvls_tree_chunk_bytes(4194304, 8, 131072), 131072);
    assert_int_equal(chunking_nvls_tree_chunk_bytes(4194303, 8, 131072), 65536);
    assert_int_equal(chunking_nvls_tree_chunk_bytes(524288, 8, 131072), 65536);
    assert_int_equal(chunking_nvls_tree_chunk_bytes(524287, 8, 131072), 32768);
    assert_int_equal(chunking_nvls_tree_chunk_bytes(1e9, 8, 65536), 65536);
}

// Simple and LL always the same. LL128 on 8 nodes of 8: 1 + 3 + .8 steps, so 576000 B are halved while a channel has fewer
// than 4.8 x 64 / 8 = 38.4 of them, to 128 KiB at least, and then while it has fewer than 9.6: 36000 B, which is above 32
// KiB, once more.
static void tree_chunks(void **state)
{
    (void)state;
    const collective_layout layout = layouts_of(scratch, H100_8);
    assert_near(chunking_tree_chunk_bytes(library, &layout, PROTOCOL_SIMPLE, 100), 524288, 1e-15);
    assert_near(chunking_tree_chunk_bytes(library, &layout, PROTOCOL_LL, 1e9), 32768, 1e-15);
    assert_near(chunking_tree_chunk_bytes(library, &layout, PROTOCOL_LL128, 1e9), 576000, 1e-15);
    assert_near(chunking_tree_chunk_bytes(library, &layout, PROTOCOL_LL128, 12e6), 288000, 1e-15);
    assert_near(chunking_tree_chunk_bytes(library, &layout, PROTOCOL_LL128, 1000), 18000, 1e-15);
}

// 8 H100: 4 channels to a peer (32 over 8 ranks), and more where a part exceeds 16 MiB: 4, 4, 8, 16, 32 at 32 to 512 MiB.
// B200 of MD1, 16 channels of sends: 4, 4, 2, 1, 1 over 2 to 32 nodes. Chunks over nodes: a quarter below 128 KiB, half
// below 1 MiB.
static void channels_to_a_peer(void **state)
{
    (void)state;
    const collective_layout node = layouts_of(scratch, H100_NODE);
    static const uint32_t by_size[] = { 4, 4, 8, 16, 32 };
    for (uint32_t i = 0; i < ARRAY_COUNT(by_size); i++)
        assert_int_equal(chunking_peers(library, &node, UINT64_C(32) << (20 + i)).channels, by_size[i]);
    assert_int_equal(chunking_peers(library, &node, 65536).channels, 1);
    assert_int_equal(chunking_peers(library, &node, 65537).channels, 2);
    static const uint32_t by_nodes[] = { 4, 4, 2, 1, 1 };
    for (uint32_t i = 0; i < ARRAY_COUNT(by_nodes); i++) {
        collective_layout layout = layouts_make(scratch, "nvlink5", 760, 2u << i, 8, "infiniband-ndr", 48.6,
                                                8);
        layout.send_channels = 16;
        assert_int_equal(chunking_peers(library, &layout, 1 << 30).channels, by_nodes[i]);
    }
    collective_layout two = layouts_of(scratch, B200_2);
    assert_int_equal(chunking_peers(library, &two, 1 << 30).all_channels, 32);
    assert_near(chunking_peers(library, &two, 1 << 30).chunk_bytes, 131072, 1e-15);
    assert_near(chunking_peers(library, &two, 512 << 10).chunk_bytes, 65536, 1e-15);
    assert_near(chunking_peers(library, &two, 100 << 10).chunk_bytes, 32768, 1e-15);
    assert_near(chunking_peers(library, &two, 10).chunk_bytes, 10, 1e-15);
    two.peer_channels = 2; // NCCL_NCHANNELS_PER_NET_PEER
    assert_int_equal(chunking_peers(library, &two, 1 << 30).channels, 2);
}

// A pair of a communicator over nodes is cut as that: 8 H100 on each of two nodes have 16 channels of rings, the pair alone
// would have four. Four to a peer from 64 KiB x 4 on, also inside a node, where a communicator of one node of 16 would have 2.
static void pairs_are_cut_for_their_communicator(void **state)
{
    (void)state;
    collective_layout pair = layouts_make(scratch, "nvlink4", 376, 2, 1, "infiniband-ndr", 48.6, 1);
    pair.ranks = 16;
    assert_int_equal(chunking_peers(library, &pair, 1 << 30).all_channels, 4);
    pair.send_nodes = 2;
    assert_int_equal(chunking_peers(library, &pair, 1 << 30).all_channels, 16);
    assert_int_equal(chunking_peers(library, &pair, 1 << 30).channels, 4);
    collective_layout inside = layouts_of(scratch, H100_NODE);
    inside.ranks = 16;
    assert_int_equal(chunking_peers(library, &inside, 1 << 20).channels, 2);
    inside.send_nodes = 2;
    inside.nic_mBps = UINT64_C(48600000000000);
    assert_int_equal(chunking_peers(library, &inside, 1 << 20).all_channels, 16);
    assert_int_equal(chunking_peers(library, &inside, 1 << 20).channels, 4);
    assert_near(chunking_peers(library, &inside, UINT64_C(16) << 20).chunk_bytes, 524288, 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channels_of_each_system),
        cmocka_unit_test(channels_over_nodes_follow_the_nics),
        cmocka_unit_test(trees_run_faster_inside_a_node),
        cmocka_unit_test(small_sizes_use_few_channels),
        cmocka_unit_test(slices_are_halves_of_32_KiB_at_least),
        cmocka_unit_test(nvls_staircase),
        cmocka_unit_test(nvls_tree_staircase),
        cmocka_unit_test(tree_chunks),
        cmocka_unit_test(channels_to_a_peer),
        cmocka_unit_test(pairs_are_cut_for_their_communicator),
    };
    return cmocka_run_group_tests_name("chunking", tests, open_library, close_library);
}
