// SPDX-License-Identifier: GPL-3.0-or-later
// A ring slice by slice: by hand where that can be done, and against a second implementation where it cannot.
#include "tests/support/layouts.h"

#include "models/collective/pace_internal.h"
#include "sim/array.h"

// Two ranks, one node, one slice a chunk: reduce-scatter's single send, then a step that only receives. Work 3 + 100/20 =
// 8, seen at 8 + 2 = 10, then 3 + 100/20 again: 18 s.
static void two_ranks_by_hand(void **state)
{
    (void)state;
    arena *a = arena_create("slices");
    const slice_ring ring = { .ranks = 2,
                              .ranks_per_node = 2,
                              .steps = 1,
                              .slices = 1,
                              .slots = 8,
                              .bytes = 200,
                              .chunk_bytes = 1000,
                              .least_slice_bytes = 1,
                              .link_Bps = 20,
                              .network_Bps = 20,
                              .slice_s = 3,
                              .visible_s = 2 };
    assert_near(slice_ring_s(a, &ring), 18, 1e-12);
    arena_destroy(a);
}

// Two nodes of one rank each. The slice is worked on until 8, leaves the NIC at 8 + max(host, 1 + 100/10 = 11), is seen 7
// later and worked on once more: 8 + 11 + 7 + 8 = 34; with a host thread of 13, 36.
static void the_nic_or_the_host_by_hand(void **state)
{
    (void)state;
    arena *a = arena_create("slices");
    slice_ring ring = { .ranks = 2,
                        .ranks_per_node = 1,
                        .steps = 1,
                        .slices = 1,
                        .slots = 8,
                        .bytes = 200,
                        .chunk_bytes = 1000,
                        .least_slice_bytes = 1,
                        .link_Bps = 20,
                        .network_Bps = 20,
                        .nic_Bps = 10,
                        .slice_s = 3,
                        .visible_s = 2,
                        .message_s = 1,
                        .hop_s = 7 };
    assert_near(slice_ring_s(a, &ring), 34, 1e-12);
    ring.host_s = 13;
    assert_near(slice_ring_s(a, &ring), 36, 1e-12);
    arena_destroy(a);
}

// Two slices of a chunk of 100: 50 and 50; 60 and 40 where no slice is below 60; 100 and an empty one, which is posted all
// the same, where none is below 200.
static void slices_of_a_chunk(void **state)
{
    (void)state;
    slice_ring ring = { .slices = 2, .least_slice_bytes = 1 };
    assert_near(slice_ring_slice_bytes(&ring, 100, 0), 50, 1e-15);
    assert_near(slice_ring_slice_bytes(&ring, 100, 1), 50, 1e-15);
    ring.least_slice_bytes = 60;
    assert_near(slice_ring_slice_bytes(&ring, 100, 1), 40, 1e-15);
    ring.least_slice_bytes = 200;
    assert_near(slice_ring_slice_bytes(&ring, 100, 0), 100, 1e-15);
    assert_near(slice_ring_slice_bytes(&ring, 100, 1), 0, 1e-15);
}

// The expected values are those of a second implementation: the prototype's recursion, in another program.
struct point {
    layouts_name system;
    collective_kind kind;
    collective_protocol protocol;
    uint64_t bytes;
    double want_us;
};
static const struct point points[] = {
    { H100_NODE, COLLECTIVE_ALL_REDUCE, PROTOCOL_SIMPLE, UINT64_C(1) << 24, 114.3849 },
    { H100_NODE, COLLECTIVE_ALL_GATHER, PROTOCOL_SIMPLE, UINT64_C(1) << 30, 2661.105 },
    { H100_NODE, COLLECTIVE_ALL_REDUCE, PROTOCOL_LL, UINT64_C(1) << 18, 14.84483 },
    { GH200_NODE, COLLECTIVE_REDUCE_SCATTER, PROTOCOL_SIMPLE, UINT64_C(1) << 22, 21.98475 },
    { H100_2, COLLECTIVE_ALL_REDUCE, PROTOCOL_SIMPLE, UINT64_C(1) << 23, 210.6666 },
    { H100_8, COLLECTIVE_ALL_REDUCE, PROTOCOL_SIMPLE, UINT64_C(1) << 28, 1824.521 },
    { H100_8, COLLECTIVE_ALL_GATHER, PROTOCOL_LL, UINT64_C(1) << 16, 112.0688 },
    { B200_2, COLLECTIVE_ALL_GATHER, PROTOCOL_SIMPLE, UINT64_C(1) << 25, 208.7307 },
    { ALPS_8, COLLECTIVE_ALL_REDUCE, PROTOCOL_SIMPLE, UINT64_C(1) << 27, 4293.625 },
    { ALPS_8, COLLECTIVE_ALL_REDUCE, PROTOCOL_LL, UINT64_C(1) << 19, 727.4832 },
    { H100_LONE_10, COLLECTIVE_ALL_GATHER, PROTOCOL_SIMPLE, UINT64_C(1) << 22, 206.0499 },
    { A100_4, COLLECTIVE_ALL_REDUCE, PROTOCOL_SIMPLE, UINT64_C(1) << 26, 1403.096 },
};

static void recursion_is_that_of_a_second_implementation(void **state)
{
    (void)state;
    arena *a = arena_create("slices");
    const collective_library *library = layouts_library(a);
    for (size_t i = 0; i < ARRAY_COUNT(points); i++) {
        const struct point *p = &points[i];
        const collective_layout layout = layouts_of(a, p->system);
        const pace_request request = { library, &layout, p->kind, p->protocol, p->bytes };
        const slice_ring ring = pace_ring_channel(&request);
        assert_near(slice_ring_s(a, &ring) * 1e6, p->want_us, 1e-5);
    }
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_ranks_by_hand),
        cmocka_unit_test(the_nic_or_the_host_by_hand),
        cmocka_unit_test(slices_of_a_chunk),
        cmocka_unit_test(recursion_is_that_of_a_second_implementation),
    };
    return cmocka_run_group_tests_name("slice ring", tests, NULL, NULL);
}
