// SPDX-License-Identifier: GPL-3.0-or-later
// tests/support/nccl_terms.h: latency terms for tests, near NCCL's but with no round numbers.
#pragma once
#include "models/collective/choose.h"

static const collective_terms test_terms = {
    .name = "test",
    .ring = { [PROTOCOL_LL] = { .base_ps = 6613000,
                                .hop_ps = { [LINK_NVLINK] = 607000,
                                            [LINK_PCIE] = 1013000,
                                            [LINK_NETWORK] = 2711000 },
                                .payload_ratio = 0.5 },
              [PROTOCOL_LL128] = { .base_ps = 14009000,
                                   .hop_ps = { [LINK_NVLINK] = 1907000,
                                               [LINK_PCIE] = 2503000,
                                               [LINK_NETWORK] = 4013000 },
                                   .payload_ratio = 0.9375 },
              [PROTOCOL_SIMPLE] = { .base_ps = 8419000,
                                    .hop_ps = { [LINK_NVLINK] = 3407000,
                                                [LINK_PCIE] = 5701000,
                                                [LINK_NETWORK] = 14011000 },
                                    .payload_ratio = 1 } },
    .send_recv_base_ps = 5303000,
    .nvls = { .base_ps = 24907000, .least_ranks = 5 },
};
