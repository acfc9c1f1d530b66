// SPDX-License-Identifier: GPL-3.0-or-later
// What NCCL takes: the sizes at which runs of collectives.csv were seen to change algorithm or protocol, NCCL's affine
// times by hand, and what there is on which hardware.
#include "tests/support/layouts.h"

#include "models/collective/tuner.h"
#include "sim/array.h"

static arena *scratch;
static const collective_library *library, *older;

static int open_libraries(void **state)
{
    (void)state;
    scratch = arena_create("tuner");
    library = layouts_library(scratch);
    collective_library *out = arena_new(scratch, collective_library);
    layouts_read(scratch, "models/catalogue", "collectives", "nccl-2.27", collective_library_binds,
                 sizeof *out, out);
    older = out;
    return 0;
}

static int close_libraries(void **state)
{
    (void)state;
    arena_destroy(scratch);
    return 0;
}

// The first power of two from which on a size takes the algorithm (and protocol, unless it is PROTOCOL_AUTO), when the size
// before did not. seen_low, seen_high: where the run changed. The table is within one step of that, but for trees to rings
// on Slingshot, where it is up to four times late.
enum { ANY = PROTOCOL_AUTO };
struct switch_point {
    const char *name;
    const char *link, *nic;
    double link_GBps, nic_GBps;
    uint32_t nodes, ranks_per_node, nics;
    bool older; // 2.26.2, and what is not said
    int forced, channels;
    collective_algorithm algorithm;
    int protocol;
    uint64_t seen_low, seen_high, want;
};
#define HOPPER(nodes_) "nvlink4", "infiniband-ndr", 376, 48.6, nodes_, 8, 8
#define ALPS(nodes_) "nvlink4-mesh", "slingshot", 350, 23.2, nodes_, 4, 4
#define KIB UINT64_C(1024)
#define MIB (KIB * KIB)
#define AUTO ALGORITHM_AUTO
static const struct switch_point points[] = {
    { "8 Hopper, to NVLS", HOPPER(1), true, AUTO, 0, ALGORITHM_NVLS, ANY, MIB, 2 * MIB, 2 * MIB },
    { "8 B200, to NVLS", "nvlink5", NULL, 760, 0, 1, 8, 0, true, AUTO, 0, ALGORITHM_NVLS, ANY, 4 * MIB,
      4 * MIB, 4 * MIB },
    { "2 H100 nodes, to NVLS tree", HOPPER(2), true, AUTO, 0, ALGORITHM_NVLS_TREE, ANY, MIB, MIB, MIB },
    { "4 H100 nodes, to NVLS tree", HOPPER(4), true, AUTO, 0, ALGORITHM_NVLS_TREE, ANY, 2 * MIB, 2 * MIB,
      2 * MIB },
    { "4 H100 nodes, to rings", HOPPER(4), true, AUTO, 0, ALGORITHM_RING, ANY, 256 * MIB, 512 * MIB,
      512 * MIB },
    { "8 H100 nodes, to NVLS tree", HOPPER(8), true, AUTO, 0, ALGORITHM_NVLS_TREE, ANY, 8 * MIB, 8 * MIB,
      8 * MIB },
    { "8 H100 nodes, to rings", HOPPER(8), true, AUTO, 0, ALGORITHM_RING, ANY, 1024 * MIB, 1024 * MIB,
      1024 * MIB },
    { "2 H100 nodes, rings: to Simple", HOPPER(2), true, ALGORITHM_RING, 24, ALGORITHM_RING, PROTOCOL_SIMPLE,
      128 * MIB, 256 * MIB, 128 * MIB },
    { "Slingshot 2, to rings", ALPS(2), false, AUTO, 0, ALGORITHM_RING, PROTOCOL_LL, 64 * KIB, 64 * KIB,
      128 * KIB },
    { "Slingshot 4, to rings", ALPS(4), false, AUTO, 0, ALGORITHM_RING, PROTOCOL_LL, 128 * KIB, 128 * KIB,
      128 * KIB },
    { "Slingshot 8, to rings", ALPS(8), false, AUTO, 0, ALGORITHM_RING, PROTOCOL_LL, 256 * KIB, 256 * KIB,
      512 * KIB },
    { "Slingshot 2, to trees of Simple", ALPS(2), false, AUTO, 0, ALGORITHM_TREE, PROTOCOL_SIMPLE, 2 * MIB,
      2 * MIB, 2 * MIB },
    { "Slingshot 4, to trees of Simple", ALPS(4), false, AUTO, 0, ALGORITHM_TREE, PROTOCOL_SIMPLE, 2 * MIB,
      2 * MIB, 2 * MIB },
    { "Slingshot 8, to trees of Simple", ALPS(8), false, AUTO, 0, ALGORITHM_TREE, PROTOCOL_SIMPLE, MIB, MIB,
      MIB },
    { "Slingshot 16, to trees of Simple", ALPS(16), false, AUTO, 0, ALGORITHM_TREE, PROTOCOL_SIMPLE,
      256 * KIB, 256 * KIB, 512 * KIB },
    { "Slingshot 32, to trees of Simple", ALPS(32), false, AUTO, 0, ALGORITHM_TREE, PROTOCOL_SIMPLE,
      512 * KIB, 512 * KIB, 512 * KIB },
    { "Slingshot 128, to trees of Simple", ALPS(128), false, AUTO, 0, ALGORITHM_TREE, PROTOCOL_SIMPLE, MIB,
      MIB, MIB },
    { "Slingshot 4, to rings of Simple", ALPS(4), false, AUTO, 0, ALGORITHM_RING, PROTOCOL_SIMPLE, 16 * MIB,
      16 * MIB, 16 * MIB },
    { "Slingshot 8, to rings of Simple", ALPS(8), false, AUTO, 0, ALGORITHM_RING, PROTOCOL_SIMPLE, 16 * MIB,
      32 * MIB, 32 * MIB },
    { "Slingshot 16, to rings of Simple", ALPS(16), false, AUTO, 0, ALGORITHM_RING, PROTOCOL_SIMPLE, 64 * MIB,
      64 * MIB, 256 * MIB },
    { "Slingshot 32, to rings of Simple", ALPS(32), false, AUTO, 0, ALGORITHM_RING, PROTOCOL_SIMPLE,
      256 * MIB, 256 * MIB, 512 * MIB },
};

static bool takes(const struct switch_point *p, const collective_layout *layout, uint64_t bytes)
{
    const collective_choice got = tuner_choose(p->older ? older : library, layout, COLLECTIVE_ALL_REDUCE,
                                               bytes, p->forced, PROTOCOL_AUTO);
    return got.algorithm == p->algorithm && (p->protocol == ANY || (int)got.protocol == p->protocol);
}

static void changes_where_the_runs_did(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(points); i++) {
        const struct switch_point *p = &points[i];
        collective_layout layout = layouts_make(scratch, p->link, p->link_GBps, p->nodes, p->ranks_per_node,
                                                p->nic, p->nic_GBps, p->nics);
        layout.channels = (uint32_t)p->channels;
        if (takes(p, &layout, p->want / 2) || !takes(p, &layout, p->want)) fail_msg("%s: not there", p->name);
        const bool late = p->want <= 4 * p->seen_high;
        const bool slow = p->algorithm == ALGORITHM_RING && p->protocol == PROTOCOL_SIMPLE && p->nics == 4;
        assert_true(2 * p->want >= p->seen_low && (p->want <= 2 * p->seen_high || (slow && late)));
    }
}

// ---- by hand

// 8 H100, all-reduce, S = 1 MiB. Ring: 12 channels of 30 GB/s.
//     LL      6.6 + 14 x .6 + S / (min(141, 180) x 8/14)    = 15.0 + 13.014 = 28.014 us
//     LL128   14 + 14 x 1.9 + S / (min(331.2, 440.4) x 8/14) = 40.6 + 5.540 = 46.140
//     Simple  8.4 + 14 x 3.4 + S / (360 x 8/14)             = 56.0 + 5.097 = 61.097
// Tree, LL: 6.8 + 14 x .6 + S / (min(141, min(331.2, 464.4) / 3.8) / 2 x .5) = 15.2 + 48.123 = 63.323 (331.2 / 3.8 =
// 87.158) NVLS: 25 + S / (8 x 46 x .85 x 7/8 x 2 x 8/14) = 25 + 3.352 = 28.352
static void times_by_hand_in_a_node(void **state)
{
    (void)state;
    const collective_layout layout = layouts_of(scratch, H100_NODE);
    static const struct {
        collective_algorithm algorithm;
        collective_protocol protocol;
        double want_us;
    } rows[] = { { ALGORITHM_RING, PROTOCOL_LL, 28.0142 },
                 { ALGORITHM_RING, PROTOCOL_LL128, 46.1405 },
                 { ALGORITHM_RING, PROTOCOL_SIMPLE, 61.0972 },
                 { ALGORITHM_TREE, PROTOCOL_LL, 63.3229 },
                 { ALGORITHM_NVLS, PROTOCOL_SIMPLE, 28.3523 } };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
        assert_near(tuner_predicted_s(library, &layout, COLLECTIVE_ALL_REDUCE, rows[i].algorithm,
                                      rows[i].protocol, MIB) *
                        1e6,
                    rows[i].want_us, 1e-5);
}

// 8 nodes of 8 H100, all-reduce, S = 64 MiB. 8 channels of 48 GB/s; 126 steps, 14 of them over the network.
//     Ring Simple  1.4 (8.4 + 112 x 3.4 + 14 x 14) + S / (384 x 64/126) = 819.28 + 344.06 = 1163.34 us
//     Ring LL128   14 + 112 x 1.9 + 14 x 4 + S / (min(353.28, 293.6) x 64/126) = 282.8 + 450.00 = 732.80
//     Tree Simple  8.4 + 2 (7 x 4 + 3 x 14) + S / (min(353.28, 288) / 2 x .8) = 148.4 + 582.54 = 730.94
//     NVLS tree    8.4 + 25 + 6 x 20.9 + S / (8 x min(68.43, 42, 45.5) x 64/126) = 158.8 + 393.22 = 552.02 (older: 109)
static void times_by_hand_over_nodes(void **state)
{
    (void)state;
    const collective_layout layout = layouts_of(scratch, H100_8);
    static const struct {
        collective_algorithm algorithm;
        collective_protocol protocol;
        bool older;
        double want_us;
    } rows[] = { { ALGORITHM_RING, PROTOCOL_SIMPLE, false, 1163.344 },
                 { ALGORITHM_RING, PROTOCOL_LL128, false, 732.798 },
                 { ALGORITHM_TREE, PROTOCOL_SIMPLE, false, 730.942 },
                 { ALGORITHM_NVLS_TREE, PROTOCOL_SIMPLE, false, 552.016 },
                 { ALGORITHM_NVLS_TREE, PROTOCOL_SIMPLE, true, 502.216 } };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
        assert_near(tuner_predicted_s(rows[i].older ? older : library, &layout, COLLECTIVE_ALL_REDUCE,
                                      rows[i].algorithm, rows[i].protocol, 64 * MIB) *
                        1e6,
                    rows[i].want_us, 1e-5);
}

// ---- what there is

static void assert_chosen(const collective_layout *layout, collective_kind kind, int forced,
                          collective_algorithm want)
{
    const collective_choice got = tuner_choose(library, layout, kind, MIB, forced, PROTOCOL_AUTO);
    assert_string_equal(collective_algorithm_words[got.algorithm], collective_algorithm_words[want]);
}

// NVLS asked for over nodes runs the NVLS tree over two, rings beyond and where the kind has none.
static void forced_algorithms_give_way(void **state)
{
    (void)state;
    const collective_layout node = layouts_of(scratch, H100_NODE), two = layouts_of(scratch, H100_2);
    const collective_layout four = layouts_of(scratch, H100_4);
    assert_chosen(&node, COLLECTIVE_ALL_REDUCE, ALGORITHM_NVLS, ALGORITHM_NVLS);
    assert_chosen(&node, COLLECTIVE_ALL_GATHER, ALGORITHM_NVLS, ALGORITHM_RING);
    assert_chosen(&two, COLLECTIVE_ALL_REDUCE, ALGORITHM_NVLS, ALGORITHM_NVLS_TREE);
    assert_chosen(&two, COLLECTIVE_ALL_GATHER, ALGORITHM_NVLS, ALGORITHM_RING);
    assert_chosen(&four, COLLECTIVE_REDUCE_SCATTER, ALGORITHM_NVLS, ALGORITHM_RING);
    assert_chosen(&four, COLLECTIVE_ALL_REDUCE, ALGORITHM_TREE, ALGORITHM_TREE);
    assert_chosen(&four, COLLECTIVE_BROADCAST, ALGORITHM_TREE, ALGORITHM_RING);
    assert_chosen(&four, COLLECTIVE_ALL_REDUCE, ALGORITHM_RECURSIVE, ALGORITHM_RECURSIVE);
    assert_chosen(&four, COLLECTIVE_ALL_REDUCE, ALGORITHM_HIERARCHICAL, ALGORITHM_HIERARCHICAL);
    assert_chosen(&four, COLLECTIVE_SEND_RECV, ALGORITHM_RING, ALGORITHM_SEND_RECV);
    assert_chosen(&four, COLLECTIVE_ALL_TO_ALL, ALGORITHM_AUTO, ALGORITHM_PAIRWISE);
    assert_chosen(&four, COLLECTIVE_ALL_TO_ALL_UNEQUAL, ALGORITHM_AUTO, ALGORITHM_PAIRWISE);
}

static void forced_protocols_are_taken(void **state)
{
    (void)state;
    const collective_layout alps = layouts_of(scratch, ALPS_2), node = layouts_of(scratch, H100_NODE);
    for (uint64_t bytes = 8; bytes <= 1024 * MIB; bytes *= 4) {
        assert_int_not_equal(
            tuner_choose(library, &alps, COLLECTIVE_ALL_REDUCE, bytes, AUTO, PROTOCOL_AUTO).protocol,
            PROTOCOL_LL128); // Slingshot does not promise whole lines
        const collective_choice forced = tuner_choose(library, &alps, COLLECTIVE_ALL_REDUCE, bytes, AUTO,
                                                      PROTOCOL_LL128);
        assert_int_equal(forced.protocol, PROTOCOL_LL128);
    }
    const collective_choice nvls = tuner_choose(library, &node, COLLECTIVE_ALL_REDUCE, MIB, ALGORITHM_NVLS,
                                                PROTOCOL_LL);
    assert_int_equal(nvls.algorithm, ALGORITHM_NVLS);
    assert_int_equal(nvls.protocol, PROTOCOL_SIMPLE); // it has no other
}

// Four GPUs stay with the ring where NVLS would be there; PAT is for lone GPUs.
static void groups_that_are_too_small(void **state)
{
    (void)state;
    collective_layout four = layouts_of(scratch, H100_NODE);
    four.ranks = four.ranks_per_node = 4;
    assert_chosen(&four, COLLECTIVE_ALL_REDUCE, AUTO, ALGORITHM_RING);
    assert_true(isinf(
        tuner_predicted_s(library, &four, COLLECTIVE_ALL_REDUCE, ALGORITHM_NVLS, PROTOCOL_SIMPLE, MIB)));
    const collective_layout lone = layouts_of(scratch, H100_LONE_10);
    assert_true(tuner_has(library, &lone, COLLECTIVE_ALL_GATHER, ALGORITHM_PAT));
    assert_false(tuner_has(library, &lone, COLLECTIVE_ALL_REDUCE, ALGORITHM_PAT));
    collective_layout alone = four;
    alone.ranks = alone.ranks_per_node = 1;
    assert_true(tuner_choose(library, &alone, COLLECTIVE_ALL_REDUCE, MIB, AUTO, PROTOCOL_AUTO).predicted_s ==
                0);
}

static void hardware_that_lacks_it_says_why(void **state)
{
    (void)state;
    const collective_layout hopper = layouts_of(scratch, H100_NODE), ampere = layouts_of(scratch, A100_NODE);
    const collective_layout two = layouts_of(scratch, H100_2), alps = layouts_of(scratch, ALPS_8);
    collective_layout sharp = layouts_of(scratch, H100_2);
    sharp.sharp = true;
    collective_layout mesh = layouts_of(scratch, ALPS_8);
    mesh.nic = sharp.nic;
    mesh.sharp = true;
    collective_layout wide = sharp;
    wide.ranks_per_node = 16;
    const struct {
        const collective_layout *layout;
        collective_algorithm algorithm;
        const char *want;
    } rows[] = {
        { &ampere, ALGORITHM_NVLS, "NVLS needs an NVSwitch that can sum" },
        { &two, ALGORITHM_NVLS, "NVLS joins the GPUs of one NVLink domain; over several it is nvls-tree" },
        { &alps, ALGORITHM_NVLS_TREE, "NVLS trees need NVSwitches that can sum" },
        { &hopper, ALGORITHM_NVLS_TREE, "NVLS trees join NVLink domains, and there is one" },
        { &hopper, ALGORITHM_COLLNET_CHAIN, "CollNet sums in the network's switches, and there is one node" },
        { &two, ALGORITHM_COLLNET_DIRECT, "CollNet needs InfiniBand switches with SHARP" },
        { &mesh, ALGORITHM_COLLNET_DIRECT, "CollNet Direct needs an NVSwitch" },
        { &wide, ALGORITHM_COLLNET_DIRECT, "CollNet Direct has no more ranks in a node than 8" },
        { &two, ALGORITHM_PAT, "PAT needs one GPU per node" },
        { &hopper, ALGORITHM_HIERARCHICAL, "a hierarchy needs several nodes of several GPUs" },
        { &hopper, ALGORITHM_NVLS, NULL },
        { &two, ALGORITHM_NVLS_TREE, NULL },
        { &sharp, ALGORITHM_COLLNET_DIRECT, NULL },
        { &mesh, ALGORITHM_COLLNET_CHAIN, NULL },
        { &alps, ALGORITHM_TREE, NULL },
    };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        const char *got = tuner_lacks(library, rows[i].layout, rows[i].algorithm);
        if (!rows[i].want)
            assert_null(got);
        else
            assert_string_equal(got, rows[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_where_the_runs_did),      cmocka_unit_test(times_by_hand_in_a_node),
        cmocka_unit_test(times_by_hand_over_nodes),        cmocka_unit_test(forced_algorithms_give_way),
        cmocka_unit_test(forced_protocols_are_taken),      cmocka_unit_test(groups_that_are_too_small),
        cmocka_unit_test(hardware_that_lacks_it_says_why),
    };
    return cmocka_run_group_tests_name("tuner", tests, open_libraries, close_libraries);
}
