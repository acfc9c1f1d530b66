// SPDX-License-Identifier: GPL-3.0-or-later
// models/collective/chunking.h: how NCCL's kernels cut a buffer: how many channels share it, in what chunks and slices one
// channel sends its part. Sizes are of payload. Channels share bytes without regard to elements, so parts of a byte occur: a
// time is wanted here, not an address.
#pragma once
#include "models/collective/layout.h"
#include "models/collective/library.h"

// What the library's search of the topology finds for rings over nodes, before it doubles them: channels, each at rate_Bps
// through a NIC. A channel of trees over two nodes may be faster inside a node.
typedef struct network_search {
    uint32_t channels;
    double rate_Bps, tree_rate_Bps;
} network_search;
network_search chunking_network_search(const collective_library *library, const collective_layout *layout);

// Channels of an algorithm that there are, and how many of them a size uses.
uint32_t chunking_all_channels(const collective_library *library, const collective_layout *layout,
                               collective_algorithm algorithm);
uint32_t chunking_channels(const collective_library *library, const collective_layout *layout,
                           collective_algorithm algorithm, collective_protocol protocol, uint64_t bytes);

typedef struct chunk_slices { // second_bytes 0: one slice, or an empty second one
    double first_bytes, second_bytes;
} chunk_slices;
chunk_slices chunking_slices(const protocol_cut *cut, double chunk_bytes);

// share_bytes: of the buffer, on one channel. heads: GPUs of a domain among which NVLS spreads it.
double chunking_tree_chunk_bytes(const collective_library *library, const collective_layout *layout,
                                 collective_protocol protocol, double share_bytes);
uint64_t chunking_nvls_chunk_bytes(double share_bytes, uint32_t heads, uint64_t most_bytes);
uint64_t chunking_nvls_tree_chunk_bytes(double share_bytes, uint32_t heads, uint64_t most_bytes);
uint32_t chunking_heads(const collective_layout *layout);

typedef struct peer_cut {
    uint32_t channels;     // to one peer
    uint32_t all_channels; // of sends, to all peers together
    double part_bytes;     // on one channel
    double chunk_bytes;
} peer_cut;
peer_cut chunking_peers(const collective_library *library, const collective_layout *layout, uint64_t bytes);
