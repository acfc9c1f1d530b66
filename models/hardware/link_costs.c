// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/hardware/link_costs.h"
#include "models/hardware/limits.h"

#define CHUNK_MAX_BYTES 1e12
#define CHANNELS_MAX 64 // NCCL's, from 2.26 on

const char *const gpu_generation_words[] = { "volta", "ampere", "hopper", "blackwell", NULL };
const char *const host_cpu_words[] = { "intel", "amd", "other", NULL };

// Rows of times, rates and sizes that all have the same range.
#define TIME_ROW(struct_, field_, key_, note_)                                                               \
    BIND_TIME(struct_, field_, key_, BIND_DEFAULT(0.0, "0 ns"), BIND_AT_LEAST(0), BIND_AT_MOST(1),           \
              BIND_NOTE(note_))
#define RATE_ROW(struct_, field_, key_, note_)                                                               \
    BIND_RATE(struct_, field_, key_, BIND_DEFAULT(0.0, "0 B/s"), BIND_AT_LEAST(0),                           \
              BIND_AT_MOST(RATE_MAX_Bps), BIND_NOTE(note_))
#define CHUNK_ROW(struct_, field_, key_, note_)                                                              \
    BIND_BYTES(struct_, field_, key_, BIND_REQUIRED, BIND_ABOVE(0), BIND_AT_MOST(CHUNK_MAX_BYTES),           \
               BIND_NOTE(note_))
#define RATIO_ROW(struct_, field_, key_, note_)                                                              \
    BIND_NUMBER(struct_, field_, key_, BIND_DEFAULT(0.0, "0"), BIND_AT_LEAST(0), BIND_AT_MOST(1),            \
                BIND_NOTE(note_))
#define PROTOCOL_ROW(key_, index_, rows_, struct_, first_, note_)                                            \
    {                                                                                                        \
        .type = BIND_TYPE_STRUCT, .key = (key_), .offset = (first_) + (index_) * sizeof(struct_),            \
        .rows = (rows_), .size = sizeof(struct_), .required = true, .note = (note_)                          \
    }

static const bind_row kernel_binds[] = {
    BIND_RATE(kernel_costs, rate_Bps, "rate", BIND_REQUIRED, BIND_ABOVE(0), BIND_AT_MOST(RATE_MAX_Bps),
              BIND_NOTE("payload that one CTA copies or reduces")),
    TIME_ROW(kernel_costs, slice_ps, "slice", "per slice, beside its bytes"),
    TIME_ROW(kernel_costs, visible_ps, "visible", "then, until the next GPU sees the slice"),
    TIME_ROW(kernel_costs, ring_entry_ps, "ring_entry", "once per collective by rings, beside entry"),
    TIME_ROW(kernel_costs, tree_entry_ps, "tree_entry", "once per collective by trees, beside entry"),
    TIME_ROW(kernel_costs, tree_hop_ps, "tree_hop", "per chunk and hop of a tree, beside its bytes"),
    BIND_END,
};

#define KERNEL_ROW(key_, index_, note_)                                                                      \
    PROTOCOL_ROW(key_, index_, kernel_binds, kernel_costs, offsetof(scale_up_costs, protocols), note_)

static const bind_row nvls_binds[] = {
    BIND_U32(nvls_costs, channels, "channels", BIND_DEFAULT(0, "0"), BIND_AT_MOST(CHANNELS_MAX),
             BIND_NOTE("0: the GPUs cannot")),
    RATE_ROW(nvls_costs, rate_Bps, "rate", "of the buffer, on one channel"),
    TIME_ROW(nvls_costs, loop_ps, "loop", "per loop, beside its bytes"),
    BIND_BYTES(nvls_costs, chunk_bytes, "chunk", BIND_DEFAULT(131072, "128 KiB"), BIND_AT_LEAST(16384),
               BIND_AT_MOST(CHUNK_MAX_BYTES), BIND_NOTE("of one head, the most")),
    BIND_BYTES(nvls_costs, far_chunk_bytes, "far_chunk", BIND_DEFAULT(131072, "128 KiB"),
               BIND_AT_LEAST(16384), BIND_AT_MOST(CHUNK_MAX_BYTES),
               BIND_NOTE("the same with four nodes and more")),
    BIND_END,
};

static const bind_row peer_binds[] = {
    CHUNK_ROW(peer_costs, chunk_bytes, "chunk", "inside a node"),
    CHUNK_ROW(peer_costs, network_chunk_bytes, "network_chunk", "between nodes"),
    TIME_ROW(peer_costs, chunk_ps, "chunk_cost", "per chunk, beside its bytes"),
    TIME_ROW(peer_costs, entry_ps, "entry", "of one send"),
    TIME_ROW(peer_costs, peer_ps, "peer", "of an all-to-all, for each rank"),
    BIND_U32(peer_costs, channels, "channels", BIND_REQUIRED, BIND_AT_LEAST(1), BIND_AT_MOST(CHANNELS_MAX),
             BIND_NOTE("to one peer, the most")),
    BIND_NUMBER(peer_costs, all_to_all_ratio, "all_to_all_ratio", BIND_DEFAULT(1, "1"), BIND_ABOVE(0),
                BIND_AT_MOST(1), BIND_NOTE("share of the link's rate when all send to all")),
    BIND_END,
};

static const bind_row search_binds[] = {
    BIND_U32(search_costs, channels, "channels", BIND_REQUIRED, BIND_AT_LEAST(1), BIND_AT_MOST(CHANNELS_MAX),
             BIND_NOTE("of rings inside a node")),
    BIND_RATE(search_costs, rate_Bps, "rate", BIND_REQUIRED, BIND_ABOVE(0), BIND_AT_MOST(RATE_MAX_Bps),
              BIND_NOTE("of each of them")),
    RATE_ROW(search_costs, nvls_rate_Bps, "nvls_rate", "of a head inside a node; 0 B/s: no NVLS"),
    RATE_ROW(search_costs, nvls_network_rate_Bps, "nvls_network_rate", "of a head over nodes"),
    BIND_U32(search_costs, tree_channels, "tree_channels", BIND_REQUIRED, BIND_AT_LEAST(1),
             BIND_AT_MOST(CHANNELS_MAX), BIND_NOTE("whose caps bound a tree's real rate as well")),
    BIND_END,
};

const bind_row scale_up_costs_binds[] = {
    BIND_TEXT(scale_up_costs, name, "name", BIND_DEFAULT(0, "unnamed"),
              BIND_NOTE("what it is called in tables and messages")),
    BIND_ENUM(scale_up_costs, generation, "generation", gpu_generation_words, BIND_REQUIRED,
              BIND_NOTE("of the GPUs, for the library's table of caps")),
    BIND_ENUM(scale_up_costs, host, "host", host_cpu_words, BIND_DEFAULT(HOST_OTHER, "other"),
              BIND_NOTE("whose CPUs, for the library's table")),
    BIND_BOOL(scale_up_costs, through_host, "through_host", BIND_DEFAULT(0, "false"),
              BIND_NOTE("the GPUs have no links of their own: the library's latencies of PCIe hold")),
    KERNEL_ROW("ll", COSTS_LL, "protocol LL, of one channel"),
    KERNEL_ROW("ll128", COSTS_LL128, "protocol LL128, of one channel"),
    KERNEL_ROW("simple", COSTS_SIMPLE, "protocol Simple, of one channel"),
    TIME_ROW(scale_up_costs, entry_ps, "entry", "launch and start of a collective inside a node"),
    BIND_U32(scale_up_costs, channels, "channels", BIND_REQUIRED, BIND_AT_LEAST(1),
             BIND_AT_MOST(CHANNELS_MAX), BIND_NOTE("inside a node")),
    BIND_U32(scale_up_costs, network_channels, "network_channels", BIND_DEFAULT(0, "0"),
             BIND_AT_MOST(CHANNELS_MAX), BIND_NOTE("over nodes; 0: by the library's rule of the NICs")),
    BIND_STRUCT(scale_up_costs, nvls, "nvls", nvls_binds,
                BIND_NOTE("sums in the NVSwitches of one domain; left out: none")),
    TIME_ROW(scale_up_costs, nvls_entry_ps, "nvls_entry", "of a sum in one domain, launch included"),
    BIND_STRUCT(scale_up_costs, nvls_tree, "nvls_tree", nvls_binds,
                BIND_NOTE("sums in several domains, joined by trees; left out: none")),
    BIND_STRUCT(scale_up_costs, peers, "peers", peer_binds, BIND_REQUIRED,
                BIND_NOTE("send and receive, all-to-all")),
    BIND_STRUCT(scale_up_costs, search, "search", search_binds, BIND_REQUIRED,
                BIND_NOTE("what the library finds in the topology; for choosing only")),
    BIND_END,
};

static const bind_row hop_binds[] = {
    BIND_TIME(network_hop_costs, ring_ps, "ring", BIND_REQUIRED, BIND_AT_LEAST(0), BIND_AT_MOST(1),
              BIND_NOTE("from the end of the NIC's service until the next node sees a slice")),
    BIND_TIME(network_hop_costs, tree_ps, "tree", BIND_REQUIRED, BIND_AT_LEAST(0), BIND_AT_MOST(1),
              BIND_NOTE("of a chunk of a tree, from end to end, beside its bytes")),
    BIND_END,
};

#define HOP_ROW(key_, index_, note_)                                                                         \
    PROTOCOL_ROW(key_, index_, hop_binds, network_hop_costs, offsetof(nic_costs, hops), note_)

static const bind_row rendezvous_binds[] = {
    BIND_BYTES(rendezvous_costs, above_bytes, "above", BIND_DEFAULT(0, "0 B"), BIND_AT_MOST(CHUNK_MAX_BYTES),
               BIND_NOTE("size on the wire from which the receiver is asked first; 0 B: never")),
    TIME_ROW(rendezvous_costs, hop_ps, "hop", "added to a hop"),
    TIME_ROW(rendezvous_costs, thread_ps, "thread", "of the host thread, per message"),
    BIND_BYTES(rendezvous_costs, eager_above_bytes, "eager_above", BIND_DEFAULT(0, "0 B"),
               BIND_AT_MOST(CHUNK_MAX_BYTES), BIND_NOTE("smaller messages above this size")),
    TIME_ROW(rendezvous_costs, eager_ps, "eager", "are later by this"),
    BIND_END,
};

static const bind_row sharp_binds[] = {
    RATIO_ROW(sharp_costs, chain_ratio, "chain", "of CollNet Chain; 0: there is none"),
    RATIO_ROW(sharp_costs, direct_ratio, "direct", "of CollNet Direct, to four nodes"),
    RATIO_ROW(sharp_costs, far_direct_ratio, "far_direct", "beyond"),
    BIND_END,
};

static const bind_row network_peer_binds[] = {
    TIME_ROW(network_peer_costs, chunk_ps, "chunk_cost", "per chunk, beside its bytes"),
    TIME_ROW(network_peer_costs, entry_ps, "entry", "of one send, end to end"),
    TIME_ROW(network_peer_costs, all_to_all_entry_ps, "all_to_all_entry", "beside that of any collective"),
    TIME_ROW(network_peer_costs, peer_ps, "peer", "of an all-to-all, for each remote peer"),
    BIND_END,
};

const bind_row nic_costs_binds[] = {
    BIND_TEXT(nic_costs, name, "name", BIND_DEFAULT(0, "unnamed"),
              BIND_NOTE("what it is called in tables and messages")),
    TIME_ROW(nic_costs, entry_ps, "entry", "launch and start of a collective over nodes"),
    HOP_ROW("ll", COSTS_LL, "protocol LL, of one hop"),
    HOP_ROW("ll128", COSTS_LL128, "protocol LL128, of one hop"),
    HOP_ROW("simple", COSTS_SIMPLE, "protocol Simple, of one hop"),
    TIME_ROW(nic_costs, message_ps, "message",
             "of the NIC, per message of rings and NVLS trees, beside its bytes"),
    TIME_ROW(nic_costs, post_ps, "post", "of the host thread, for each message it posts or awaits"),
    TIME_ROW(nic_costs, line_ps, "line", "of the host thread, for each 16 bytes of a message of LL"),
    BIND_BOOL(nic_costs, ll128, "ll128_allowed", BIND_DEFAULT(1, "true"),
              BIND_NOTE("stores of 128 bytes arrive whole: the library may choose LL128")),
    RATE_ROW(nic_costs, search_limit_Bps, "search_limit",
             "what the library's search gives one NIC at most; 0 B/s: by its rate alone"),
    BIND_NUMBER(nic_costs, static_route_loss, "static_route_loss", BIND_DEFAULT(0.0, "0"), BIND_AT_LEAST(0),
                BIND_AT_MOST(10),
                BIND_NOTE("one connection, static routes, four nodes and more: rate / (1 + loss (1 - 1 / "
                          "nodes)) for rings and NVLS trees")),
    BIND_STRUCT(nic_costs, rendezvous, "rendezvous", rendezvous_binds,
                BIND_NOTE("large messages ask first; left out: none do")),
    BIND_STRUCT(nic_costs, sharp, "sharp", sharp_binds,
                BIND_NOTE("sums in the network's switches: share of the NICs' rate that an all-reduce's "
                          "buffer gets")),
    BIND_STRUCT(nic_costs, peers, "peers", network_peer_binds, BIND_NOTE("send and receive, all-to-all")),
    BIND_END,
};
