// SPDX-License-Identifier: GPL-3.0-or-later
// Channels over nodes are a rule of the NICs, their rate and the generation of the GPUs (NVIDIA/nccl 2.21 to 2.30,
// src/graph/search.cc, ncclTopoCompute and ncclTopoDupChannels; src/graph/connect.cc, ncclTopoPostset):
//     1. The search finds a ring for each NIC, at the first of its rates that the NIC's line has: m x r. Inside a node a GPU's
//        links carry m r (g - 1)/g, for one hop in g leaves the node; where that is more than they have, what the search finds
//        inside a node stands for it.
//     2. Rings of 25 GB/s and more are doubled, each at half the rate; from Hopper on only up to four rings, or from 50 GB/s.
//     3. All are doubled, and from Hopper on doubled again where a ring is above 45 GB/s and they are fewer than 16.
//     r [GB/s]   g: GPUs of the group in a node
// Published logs and runs: 16 with 8 NICs of 400 Gb/s (H100: collectives.csv, nvtests309; B200: together-md1); 16 with 4 (H100:
// nccl1411); 8 with 2 (H20: NVIDIA/nccl issue 1189, which shows the second step); 4 with 1 (xxrjun); 2 with one NIC of 200 Gb/s
// on A100 (issue 687), 16 with eight (issue 320); 8 with 4 of 200 Gb/s on GH200 (boeschf/nccl-benchmark-on-alps-2025, the
// library's own log). To 2.19 step 2 doubled Hopper's rings as well, so that 8 NICs had 32 channels (issue 1222). For its
// choice the library counts the rings of step 2; those of step 1 are taken here, which is what runs with one and two NICs show
// (xxrjun), though not those with four (nccl1411).
#include "models/collective/chunking.h"
#include "sim/check.h"
#include <math.h>

enum { KIB = 1024, HEADS_MAX = 8, FAR_NODES = 4, MANY_RINGS = 4, MANY_CHANNELS = 16 };

#define DOUBLED_FROM_Bps 25e9
#define DOUBLED_IF_MANY_FROM_Bps 50e9 // Hopper and later
#define DOUBLED_AGAIN_ABOVE_Bps 45e9  // Hopper and later

// ---- channels

static double link_found_Bps(const collective_layout *layout)
{
    return layout->link->search.channels * layout->link->search.rate_Bps;
}

// Whether the links of a node carry so many channels of so much.
static bool links_carry(const collective_layout *layout, double channels, double rate_Bps)
{
    const double g = layout->ranks_per_node;
    return channels * rate_Bps * (g - 1) / g <= link_found_Bps(layout);
}

// Index of the first of the search's rates that the NIC's line has; the last if it has none.
static uint32_t nic_rate_index(const bind_numbers *rates, double line_Bps)
{
    uint32_t i = 0;
    while (i + 1 < rates->count && rates->items[i] > line_Bps)
        i++;
    return i;
}

// Trees may run faster inside a node: the search raises their rate until it is twice the NIC's or the links have no more.
static double tree_rate_Bps(const bind_numbers *rates, const collective_layout *layout,
                            const network_search *rings)
{
    double rate_Bps = rings->rate_Bps;
    if (layout->ranks_per_node == 1) return rate_Bps;
    for (uint32_t i = rates->count; i > 0; i--) {
        const double next_Bps = rates->items[i - 1];
        if (next_Bps <= rate_Bps) continue;
        if (rate_Bps >= 2 * rings->rate_Bps || !links_carry(layout, rings->channels, next_Bps)) break;
        rate_Bps = next_Bps;
    }
    return rate_Bps;
}

network_search chunking_network_search(const collective_library *library, const collective_layout *layout)
{
    const bind_numbers *rates = &library->tuning.search_rates;
    const double line_Bps = (double)layout->nic_mBps * 1e-3 * 50 / 48; // payload is 24 in 25 of the line rate
    const double limit_Bps = layout->nic ? layout->nic->search_limit_Bps : 0; // no NIC: a send inside a node
    network_search found = { .channels = layout->nics_per_node, .rate_Bps = line_Bps };
    if (rates->count > 0) found.rate_Bps = rates->items[nic_rate_index(rates, line_Bps)];
    if (limit_Bps > 0) found.rate_Bps = fmin(found.rate_Bps, limit_Bps);
    if (!links_carry(layout, found.channels, found.rate_Bps)) {
        found.channels = layout->link->search.channels;
        found.rate_Bps = layout->link->search.rate_Bps;
    }
    found.tree_rate_Bps = tree_rate_Bps(rates, layout, &found);
    return found;
}

static uint32_t network_channels(const collective_library *library, const collective_layout *layout)
{
    if (layout->link->network_channels > 0) return layout->link->network_channels;
    network_search rings = chunking_network_search(library, layout);
    const bool hopper = layout->link->generation >= GENERATION_HOPPER;
    const bool many = hopper && rings.channels > MANY_RINGS;
    if (rings.rate_Bps >= (many ? DOUBLED_IF_MANY_FROM_Bps : DOUBLED_FROM_Bps)) {
        rings.channels *= 2;
        rings.rate_Bps /= 2;
    }
    rings.channels *= 2;
    if (hopper && rings.rate_Bps > DOUBLED_AGAIN_ABOVE_Bps && rings.channels < MANY_CHANNELS)
        rings.channels *= 2;
    return rings.channels;
}

uint32_t chunking_all_channels(const collective_library *library, const collective_layout *layout,
                               collective_algorithm algorithm)
{
    if (layout->channels > 0) return layout->channels;
    if (algorithm == ALGORITHM_NVLS) return layout->link->nvls.channels;
    if (algorithm == ALGORITHM_NVLS_TREE) return layout->link->nvls_tree.channels;
    return layout->nodes == 1 ? layout->link->channels : network_channels(library, layout);
}

// NCCL takes channels away until each thread of the others has its threshold of bytes (nccl-constants.csv,
// chunking_channels); rings of LL count it on every rank. NVLS always uses all.
uint32_t chunking_channels(const collective_library *library, const collective_layout *layout,
                           collective_algorithm algorithm, collective_protocol protocol, uint64_t bytes)
{
    const uint32_t all = chunking_all_channels(library, layout, algorithm);
    if (algorithm == ALGORITHM_NVLS || algorithm == ALGORITHM_NVLS_TREE) return all;
    const protocol_cut *cut = &library->kernels.cuts[protocol];
    uint64_t least_bytes = cut->threads * cut->thread_bytes;
    if (algorithm == ALGORITHM_RING && protocol == PROTOCOL_LL) least_bytes *= layout->ranks;
    const uint64_t used = bytes / least_bytes;
    return used >= all ? all : used > 1 ? (uint32_t)used : 1;
}

// ---- chunks

chunk_slices chunking_slices(const protocol_cut *cut, double chunk_bytes)
{
    if (cut->slices == 1) return (chunk_slices){ .first_bytes = chunk_bytes };
    const double half = fmax(chunk_bytes / cut->slices, (double)cut->least_slice_bytes);
    const double first = fmin(chunk_bytes, half);
    return (chunk_slices){ .first_bytes = first, .second_bytes = chunk_bytes - first };
}

// LL128 halves its chunks while the pipeline is deeper than the chunks of a channel fill (nccl-constants.csv;
// src/enqueue.cc).
double chunking_tree_chunk_bytes(const collective_library *library, const collective_layout *layout,
                                 collective_protocol protocol, double share_bytes)
{
    double chunk = (double)library->kernels.cuts[protocol].tree_chunk_bytes;
    if (protocol != PROTOCOL_LL128) return chunk;
    const double depth = layout->nodes > 1 ? ceil(log2(layout->nodes)) : 0;
    const double steps = 1 + depth + 0.1 * layout->ranks_per_node;
    while (share_bytes / chunk < steps * 64 / layout->ranks_per_node && chunk > 131072)
        chunk /= 2;
    while (share_bytes / chunk < steps * 16 / layout->ranks_per_node && chunk > 32768)
        chunk /= 2;
    return chunk;
}

uint32_t chunking_heads(const collective_layout *layout)
{
    return layout->ranks_per_node < HEADS_MAX ? layout->ranks_per_node : HEADS_MAX;
}

// The staircase (nccl-constants.csv: nvls_chunk; seen in collectives.csv): three tests in this order, each with the chunk
// that the one before has left. On 8 H100: 16 KiB below 8 MiB, 32 below 64 MiB, 64 below 1 GiB, then 128.
uint64_t chunking_nvls_chunk_bytes(double share_bytes, uint32_t heads, uint64_t most_bytes)
{
    static const struct {
        uint32_t chunks, KiB;
    } tests[] = { { 64, 64 }, { 8, 32 }, { 2, 16 } };
    uint64_t chunk = most_bytes;
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        const uint64_t smaller = (uint64_t)tests[i].KiB * KIB;
        if (share_bytes < (double)(tests[i].chunks * heads * chunk) && chunk > smaller) chunk = smaller;
    }
    return chunk;
}

uint64_t chunking_nvls_tree_chunk_bytes(double share_bytes, uint32_t heads, uint64_t most_bytes)
{
    uint64_t chunk = most_bytes;
    if (share_bytes < (double)(4 * heads * chunk) && chunk > 64 * KIB) chunk = 64 * KIB;
    if (share_bytes < (double)(heads * chunk) && chunk > 32 * KIB) chunk = 32 * KIB;
    return chunk;
}

// ---- sends

static uint32_t power_of_two(double least)
{
    uint32_t power = 1;
    while (power < least)
        power *= 2;
    return power;
}

static uint32_t send_nodes(const collective_layout *layout)
{
    return layout->send_nodes > layout->nodes ? layout->send_nodes : layout->nodes;
}

// As many as the rings of the communicator have, to a power of two. All ranks of its nodes are taken to have as many NICs as
// the pair.
static uint32_t send_channels(const collective_library *library, const collective_layout *layout)
{
    collective_layout whole = *layout;
    if (layout->send_channels > 0) return layout->send_channels;
    if (layout->send_nodes > 1) {
        const uint32_t nics = layout->nics_per_node > 0 ? layout->nics_per_node : 1;
        whole.nodes = layout->send_nodes;
        whole.nics_per_node = nics * ((layout->ranks + whole.nodes - 1) / whole.nodes);
    }
    return power_of_two(chunking_all_channels(library, &whole, ALGORITHM_RING));
}

// Channels to one peer that there may be. In one domain as many as the class of link has. Through a NIC as many as its rate
// is worth at peer_network_Bps each, two at least, halved until all peers of a batch have theirs.
static uint32_t most_peer_channels(const collective_library *library, const collective_layout *layout,
                                   uint32_t all)
{
    if (send_nodes(layout) == 1)
        return layout->link->peers.channels < all ? layout->link->peers.channels : all;
    const uint32_t at_once = library->kernels.peers_at_once;
    // The library counts with the line rate, of which payload is 24 in 25.
    const double line_Bps = (double)layout->nic_mBps * 1e-3 * 50 / 48;
    uint32_t most = layout->peer_channels > 0
                        ? layout->peer_channels
                        : power_of_two(fmax(2, line_Bps / library->kernels.peer_network_Bps));
    const uint32_t batches = (layout->ranks + at_once - 1) / at_once;
    while (most * batches > all && most > 1)
        most /= 2;
    return most;
}

// The library's chunk, and over nodes a quarter of it for what is smaller, half of it below eight.
static double peer_chunk_bytes(const collective_layout *layout, uint64_t bytes, double part_bytes)
{
    const peer_costs *peers = &layout->link->peers;
    double chunk = (double)(layout->nodes == 1 ? peers->chunk_bytes : peers->network_chunk_bytes);
    if (layout->nodes > 1 && (double)bytes < chunk)
        chunk /= 4;
    else if (layout->nodes > 1 && (double)bytes < 8 * chunk)
        chunk /= 2;
    return fmin(chunk, part_bytes);
}

peer_cut chunking_peers(const collective_library *library, const collective_layout *layout, uint64_t bytes)
{
    const library_kernels *kernels = &library->kernels;
    const double largest = (double)(send_nodes(layout) == 1 ? kernels->most_part_bytes
                                                            : kernels->most_network_part_bytes);
    peer_cut cut = { .all_channels = send_channels(library, layout) };
    const uint32_t most = most_peer_channels(library, layout, cut.all_channels);
    uint32_t least = most;
    while ((uint64_t)least * layout->ranks > cut.all_channels && least > 1)
        least /= 2;
    const uint64_t parts = (bytes + kernels->least_part_bytes - 1) / kernels->least_part_bytes;
    cut.channels = parts >= least ? least : parts > 1 ? (uint32_t)parts : 1;
    while (fmax((double)kernels->least_part_bytes, (double)bytes / cut.channels) > largest &&
           cut.channels <= most / 2)
        cut.channels *= 2;
    cut.part_bytes = fmax((double)bytes / cut.channels, 1);
    cut.chunk_bytes = peer_chunk_bytes(layout, bytes, cut.part_bytes);
    return cut;
}
