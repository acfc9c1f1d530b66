// SPDX-License-Identifier: GPL-3.0-or-later
// tests/support/test_costs.h: a collective library and hardware whose times are worked out by hand: one channel,
// which copies in no time; chunks that hold any buffer, in one slice; latencies near NCCL's but with no round numbers.
// With n ranks, steps of s bytes, and B the rate of a GPU's port, or of all NICs of a node over R rings:
//     ring, one node         base + steps (hop + s/B) + slice + s/B
//     ring, a rank per node  base + steps (hop + s/B) + slice
//     send                   base + (S + 1 byte) / B
// hop: TEST_HOP_PS or TEST_NETWORK_HOP_PS; slice: TEST_SLICE_PS, of the hop; base: TEST_BASE_PS; steps: 2 (n - 1) or
// n - 1; by protocol.
#pragma once
#include "models/collective/group_layout.h"
#include "models/collective/library.h"

#define TEST_BASE_PS(protocol_)                                                                              \
    ((protocol_) == PROTOCOL_LL ? 6613000 : (protocol_) == PROTOCOL_LL128 ? 14009000 : 8419000)
#define TEST_SLICE_PS(protocol_)                                                                             \
    ((protocol_) == PROTOCOL_LL ? 301000 : (protocol_) == PROTOCOL_LL128 ? 903000 : 1003000)
#define TEST_HOP_PS(protocol_)                                                                               \
    ((protocol_) == PROTOCOL_LL ? 607000 : (protocol_) == PROTOCOL_LL128 ? 1907000 : 3407000)
#define TEST_NETWORK_HOP_PS(protocol_)                                                                       \
    ((protocol_) == PROTOCOL_LL ? 2711000 : (protocol_) == PROTOCOL_LL128 ? 4013000 : 14011000)
enum { TEST_ENTRY_PS = 4001000, TEST_SEND_PS = 5303000, TEST_NETWORK_SEND_PS = 19314000 };
#define TEST_FAST_Bps 1e30

typedef struct test_costs {
    collective_library library;
    scale_up_costs link;
    nic_costs nic;
    collective_costs kind;
    collective_hardware hardware;
} test_costs;

#define TEST_CUT_(ratio_)                                                                                    \
    {                                                                                                        \
        .threads = 1, .thread_bytes = 1, .ring_chunk_bytes = UINT64_C(1) << 60,                              \
        .tree_chunk_bytes = UINT64_C(1) << 60, .pipe_chunk_bytes = UINT64_C(1) << 60, .slices = 1,           \
        .least_slice_bytes = 1, .wire_ratio = (ratio_)                                                       \
    }
#define TEST_KERNEL_(protocol_)                                                                              \
    {                                                                                                        \
        .rate_Bps = TEST_FAST_Bps, .slice_ps = TEST_SLICE_PS(protocol_),                                     \
        .visible_ps = TEST_HOP_PS(protocol_) - TEST_SLICE_PS(protocol_),                                     \
        .ring_entry_ps = TEST_BASE_PS(protocol_) - TEST_ENTRY_PS                                             \
    }
#define TEST_NETWORK_HOP_(protocol_)                                                                         \
    {                                                                                                        \
        .ring_ps = TEST_NETWORK_HOP_PS(protocol_) - TEST_SLICE_PS(protocol_)                                 \
    }
// What the tuner believes of rings; trees it holds to be endless.
#define TEST_TERMS_(protocol_)                                                                               \
    {                                                                                                        \
        .base_ps = TEST_BASE_PS(protocol_), .hop_ps = {                                                      \
            TEST_HOP_PS(protocol_),                                                                          \
            TEST_HOP_PS(protocol_) + 500000,                                                                 \
            TEST_NETWORK_HOP_PS(protocol_)                                                                   \
        }                                                                                                    \
    }
static double test_endless[] = { TEST_FAST_Bps, TEST_FAST_Bps, TEST_FAST_Bps };
#define TEST_NUMBERS_                                                                                        \
    {                                                                                                        \
        test_endless, 3                                                                                      \
    }

static const test_costs test_usual_costs = {
    .library = {
        .name = "test",
        .ring = { TEST_TERMS_(PROTOCOL_LL), TEST_TERMS_(PROTOCOL_LL128), TEST_TERMS_(PROTOCOL_SIMPLE) },
        .nvls = { .base_ps = 24907000, .least_ranks = 5 },
        .tuning = { .tree = { { .base_ps = PS_PER_S }, { .base_ps = PS_PER_S }, { .base_ps = PS_PER_S } },
                    .nvls_tree = { .base_ps = PS_PER_S },
                    .pat = { .base_ps = PS_PER_S },
                    .ring_ll_ratio = 0.5,
                    .ring_ll128_ratio = 0.9375,
                    .tree_ratio = 1,
                    .plateau_bytes = UINT64_MAX,
                    .generations = { { .ll = TEST_NUMBERS_,
                                       .tree = TEST_NUMBERS_,
                                       .tree_ll128 = TEST_NUMBERS_,
                                       .nvls_tree = TEST_NUMBERS_,
                                       .ring_ll128_Bps = TEST_FAST_Bps,
                                       .nvls_ratio = 1 } } },
        .kernels = { .cuts = { TEST_CUT_(2), TEST_CUT_(16.0 / 15), TEST_CUT_(1) },
                     .slots = 8,
                     .peer_network_Bps = TEST_FAST_Bps,
                     .peers_at_once = 1 << 30,
                     .least_part_bytes = 1,
                     .most_part_bytes = UINT64_C(1) << 60,
                     .most_network_part_bytes = UINT64_C(1) << 60 },
    },
    .link = { .name = "test",
              .protocols = { TEST_KERNEL_(PROTOCOL_LL), TEST_KERNEL_(PROTOCOL_LL128),
                             TEST_KERNEL_(PROTOCOL_SIMPLE) },
              .entry_ps = TEST_ENTRY_PS,
              .channels = 1,
              .network_channels = 1,
              .peers = { .chunk_bytes = 1,
                         .network_chunk_bytes = 1,
                         .entry_ps = TEST_SEND_PS,
                         .channels = 1,
                         .all_to_all_ratio = 1 },
              .search = { .channels = 1, .rate_Bps = 431.7e9, .tree_channels = 1 } },
    .nic = { .name = "test",
             .entry_ps = TEST_ENTRY_PS,
             .hops = { TEST_NETWORK_HOP_(PROTOCOL_LL), TEST_NETWORK_HOP_(PROTOCOL_LL128),
                       TEST_NETWORK_HOP_(PROTOCOL_SIMPLE) },
             .ll128 = true,
             .peers = { .entry_ps = TEST_NETWORK_SEND_PS } },
    .kind = { &test_usual_costs.link, &test_usual_costs.nic },
    .hardware = { .kinds = &test_usual_costs.kind },
};

// A copy, for its latencies to be changed.
static inline void test_costs_copy(const test_costs *from, test_costs *out)
{
    *out = *from;
    out->kind = (collective_costs){ &out->link, &out->nic };
    out->hardware.kinds = &out->kind;
}

// Nothing has a latency, but sends of message_ps.
static inline void test_costs_without_latency(sim_time message_ps, test_costs *out)
{
    test_costs_copy(&test_usual_costs, out);
    for (int p = 0; p < PROTOCOLS; p++) {
        out->link.protocols[p] = (kernel_costs){ .rate_Bps = TEST_FAST_Bps };
        out->nic.hops[p] = (network_hop_costs){ 0 };
    }
    out->link.entry_ps = out->nic.entry_ps = 0;
    out->link.peers.entry_ps = out->nic.peers.entry_ps = message_ps;
}
