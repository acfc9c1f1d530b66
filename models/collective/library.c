// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/collective/library.h"
#include "models/hardware/limits.h"
#include "sim/check.h"
#include <math.h>

#define BYTES_MAX 1e15

const char *const collective_protocol_words[] = { "ll", "ll128", "simple", NULL };

#define TIME_ROW(struct_, field_, key_, note_)                                                               \
    BIND_TIME(struct_, field_, key_, BIND_AT_LEAST(0), BIND_AT_MOST(1), BIND_REQUIRED, BIND_NOTE(note_))
#define BYTES_ROW(struct_, field_, key_, note_)                                                              \
    BIND_BYTES(struct_, field_, key_, BIND_REQUIRED, BIND_ABOVE(0), BIND_AT_MOST(BYTES_MAX), BIND_NOTE(note_))
#define RATIO_ROW(struct_, field_, key_, note_)                                                              \
    BIND_NUMBER(struct_, field_, key_, BIND_REQUIRED, BIND_ABOVE(0), BIND_AT_MOST(10), BIND_NOTE(note_))
// One of several structs of a kind that stand in an array.
#define ARRAY_ROW(key_, type_, first_, index_, rows_, note_)                                                 \
    {                                                                                                        \
        .type = BIND_TYPE_STRUCT, .key = (key_), .offset = (first_) + (index_) * sizeof(type_),              \
        .rows = (rows_), .size = sizeof(type_), .required = true, .note = (note_)                            \
    }
#define PROTOCOL_ROWS(type_, first_, rows_)                                                                  \
    ARRAY_ROW("ll", type_, first_, PROTOCOL_LL, rows_, "low latency: a flag beside each word"),              \
        ARRAY_ROW("ll128", type_, first_, PROTOCOL_LL128, rows_,                                             \
                  "low latency: a flag in each line of 128 bytes"),                                          \
        ARRAY_ROW("simple", type_, first_, PROTOCOL_SIMPLE, rows_, "full rate: a flag per slice")

// ---- rings, and what has been there before trees

#define HOP_ROWS(struct_)                                                                                    \
    TIME_ROW(struct_, hop_ps[LINK_NVLINK], "nvlink", "per hop, between GPUs over NVLink"),                   \
        TIME_ROW(struct_, hop_ps[LINK_PCIE], "pcie", "per hop, between GPUs over PCIe"),                     \
        TIME_ROW(struct_, hop_ps[LINK_NETWORK], "network", "per hop, between nodes")

static const bind_row ring_protocol_binds[] = {
    TIME_ROW(protocol_terms, base_ps, "base", "once per collective"),
    HOP_ROWS(protocol_terms),
    BIND_END,
};

static const bind_row ring_binds[] = {
    PROTOCOL_ROWS(protocol_terms, 0, ring_protocol_binds),
    BIND_END,
};

static const bind_row nvls_binds[] = {
    TIME_ROW(nvls_terms, base_ps, "base", "once per all-reduce: all of its latency"),
    BIND_TIME(nvls_terms, network_ps, "network", BIND_DEFAULT(0.0, "0 us"), BIND_AT_LEAST(0), BIND_AT_MOST(1),
              BIND_NOTE("beside it, over nodes")),
    BIND_U32(nvls_terms, least_ranks, "least_ranks", BIND_REQUIRED, BIND_AT_LEAST(2), BIND_AT_MOST(65536),
             BIND_NOTE("smaller groups stay with the ring")),
    BIND_END,
};

// ---- the tuner

static bool check_classes(const void *field, const doc_node *node, sim_error *error)
{
    const bind_numbers *numbers = field;
    if (numbers->count == NODE_CLASSES) return true;
    sim_fail(error, SIM_EXIT_INPUT, &node->place, "%u numbers where three are needed", numbers->count);
    return sim_hint(error, "[in one node, over two nodes, over more]");
}

#define CLASSES_ROW(field_, key_, note_)                                                                     \
    BIND_NUMBERS(generation_caps, field_, key_, UNIT_RATE, BIND_REQUIRED, BIND_AT_LEAST(0),                  \
                 BIND_AT_MOST(RATE_MAX_Bps), .check = check_classes, BIND_NOTE(note_))

static const bind_row caps_binds[] = {
    CLASSES_ROW(ll, "ll", "of all channels together: in one node, over two, over more"),
    CLASSES_ROW(tree, "tree", "per channel of a tree"),
    CLASSES_ROW(tree_ll128, "tree_ll128", "per channel of a tree of LL128"),
    CLASSES_ROW(nvls_tree, "nvls_tree", "per head of an NVLS tree"),
    BIND_RATE(generation_caps, ring_ll128_Bps, "ring_ll128", BIND_REQUIRED, BIND_ABOVE(0),
              BIND_AT_MOST(RATE_MAX_Bps), BIND_NOTE("per channel of a ring of LL128")),
    BIND_NUMBER(generation_caps, nvls_ratio, "nvls_ratio", BIND_DEFAULT(0.0, "0"), BIND_AT_LEAST(0),
                BIND_AT_MOST(1), BIND_NOTE("share of the NVLink rate that NVLS gets; 0: no NVLS")),
    RATIO_ROW(generation_caps, collnet_direct_ratio, "collnet_direct_ratio",
              "share of what the NICs give that CollNet Direct gets"),
    RATIO_ROW(generation_caps, plateau_ratio, "plateau_ratio",
              "of the latency of large all-reduces by rings of Simple over nodes"),
    BIND_END,
};

#define GENERATION_ROW(key_, index_)                                                                         \
    ARRAY_ROW(key_, generation_caps, 0, index_, caps_binds, "caps by what the GPUs are")
static const bind_row generation_binds[] = {
    GENERATION_ROW("volta", GENERATION_VOLTA),
    GENERATION_ROW("ampere", GENERATION_AMPERE),
    GENERATION_ROW("hopper", GENERATION_HOPPER),
    GENERATION_ROW("blackwell", GENERATION_BLACKWELL),
    BIND_END,
};

static const bind_row tree_protocol_binds[] = {
    TIME_ROW(protocol_terms, base_ps, "base", "once per collective"),
    HOP_ROWS(protocol_terms),
    BIND_END,
};
static const bind_row tree_binds[] = { PROTOCOL_ROWS(protocol_terms, 0, tree_protocol_binds), BIND_END };

static const bind_row nvls_tree_binds[] = {
    TIME_ROW(nvls_tree_terms, base_ps, "base", "once per collective"),
    TIME_ROW(nvls_tree_terms, node_ps, "node", "once, for what is done inside the nodes"),
    TIME_ROW(nvls_tree_terms, network_ps, "network", "per hop between nodes"),
    BIND_END,
};

static const bind_row collnet_binds[] = {
    TIME_ROW(collnet_terms, base_ps, "base", "once per collective"),
    HOP_ROWS(collnet_terms),
    BIND_TIME(collnet_terms, rank_ps, "rank", BIND_DEFAULT(0.0, "0 us"), BIND_AT_LEAST(0), BIND_AT_MOST(1),
              BIND_NOTE("for each other rank of a node")),
    BIND_U32(collnet_terms, most_ranks_per_node, "most_ranks_per_node", BIND_DEFAULT(0, "0"),
             BIND_AT_MOST(65536), BIND_NOTE("0: any number")),
    BIND_END,
};

static const bind_row pat_binds[] = {
    TIME_ROW(pat_terms, base_ps, "base", "once per collective"),
    TIME_ROW(pat_terms, network_ps, "network", "per hop between nodes"),
    RATIO_ROW(pat_terms, hop_ratio, "hop_ratio", "share of it that a step adds"),
    TIME_ROW(pat_terms, rank_ps, "rank", "for each rank"),
    RATIO_ROW(pat_terms, rate_ratio, "rate_ratio", "of the rings' rate"),
    BYTES_ROW(pat_terms, chunk_bytes, "chunk", "the most"),
    BIND_END,
};

#define HOST_ROWS(struct_, field_, note_)                                                                    \
    TIME_ROW(struct_, field_[HOST_INTEL], "intel", note_),                                                   \
        TIME_ROW(struct_, field_[HOST_AMD], "amd", note_),                                                   \
        TIME_ROW(struct_, field_[HOST_OTHER], "other", note_)

typedef struct host_times {
    sim_time ps[HOST_CPUS];
} host_times;
typedef struct host_rows {
    int row[HOST_CPUS];
} host_rows;
static const bind_row post_binds[] = {
    HOST_ROWS(host_times, ps, "of the host thread, per step; three times that for Simple"),
    BIND_END,
};

#define LL_ROW(index_, key_)                                                                                 \
    BIND_ENUM(host_rows, row[index_], key_, gpu_generation_words, BIND_REQUIRED,                             \
              BIND_NOTE("whose caps of LL serve over nodes"))
static const bind_row ll_row_binds[] = {
    LL_ROW(HOST_INTEL, "intel"),
    LL_ROW(HOST_AMD, "amd"),
    LL_ROW(HOST_OTHER, "other"),
    BIND_END,
};

#define CORRECTION_ROW(index_, key_)                                                                         \
    {                                                                                                        \
        .type = BIND_TYPE_NUMBERS, .key = (key_), .offset = (index_) * sizeof(bind_numbers),                 \
        .unit = UNIT_NONE, .required = true, BIND_ABOVE(0), BIND_AT_MOST(2),                                 \
        BIND_NOTE("from 64 B on, for each power of two")                                                     \
    }
static const bind_row correction_binds[] = {
    CORRECTION_ROW(PROTOCOL_LL, "ll"),
    CORRECTION_ROW(PROTOCOL_LL128, "ll128"),
    CORRECTION_ROW(PROTOCOL_SIMPLE, "simple"),
    BIND_END,
};

static bool check_falling(const void *field, const doc_node *node, sim_error *error)
{
    const bind_numbers *rates = field;
    for (uint32_t i = 1; i < rates->count; i++)
        if (!(rates->items[i] < rates->items[i - 1]))
            return sim_fail(error, SIM_EXIT_INPUT, &node->items[i]->place,
                            "the rates of the search must fall: each is tried after the one before");
    return true;
}

static const bind_row tuning_binds[] = {
    BIND_STRUCT(library_tuning, tree, "tree", tree_binds, BIND_REQUIRED,
                BIND_NOTE("double binary tree, by protocol")),
    BIND_STRUCT(library_tuning, nvls_tree, "nvls_tree", nvls_tree_binds, BIND_REQUIRED,
                BIND_NOTE("NVLS in each domain, trees between them")),
    BIND_STRUCT(library_tuning, collnet_direct, "collnet_direct", collnet_binds, BIND_REQUIRED,
                BIND_NOTE("SHARP, GPUs by NVSwitch")),
    BIND_STRUCT(library_tuning, collnet_chain, "collnet_chain", collnet_binds, BIND_REQUIRED,
                BIND_NOTE("SHARP, GPUs in a chain")),
    BIND_STRUCT(library_tuning, pat, "pat", pat_binds, BIND_REQUIRED,
                BIND_NOTE("parallel aggregated trees: all-gather, reduce-scatter, one GPU per node")),
    RATIO_ROW(library_tuning, ring_ll_ratio, "ring_ll_ratio", "share of the search's rate, rings of LL"),
    RATIO_ROW(library_tuning, ring_ll128_ratio, "ring_ll128_ratio",
              "share of the search's rate, rings of LL128"),
    RATIO_ROW(library_tuning, tree_ratio, "tree_ratio", "share of the search's rate, trees"),
    RATIO_ROW(library_tuning, tree_ll_ratio, "tree_ll_ratio", "share of a tree's rate, LL"),
    RATIO_ROW(library_tuning, tree_ll128_node_ratio, "tree_ll128_node_ratio",
              "share of a tree's rate, LL128 in one node"),
    RATIO_ROW(library_tuning, tree_ll128_ratio, "tree_ll128_ratio",
              "share of a tree's rate, LL128 over nodes"),
    BYTES_ROW(library_tuning, plateau_bytes, "plateau",
              "per channel and rank: from there on a ring's latency has plateau_ratio"),
    BIND_STRUCT(library_tuning, post_ps, "post", post_binds, BIND_REQUIRED,
                BIND_NOTE("of the host thread, by its CPU")),
    BIND_STRUCT(library_tuning, ll_row, "ll_row", ll_row_binds, BIND_REQUIRED,
                BIND_NOTE("caps of LL over nodes go by the host's CPU")),
    BIND_STRUCT(library_tuning, corrections, "corrections", correction_binds, BIND_REQUIRED,
                BIND_NOTE("of a tree's rate, by size")),
    BIND_NUMBERS(library_tuning, search_rates, "search_rates", UNIT_RATE, BIND_REQUIRED, BIND_ABOVE(0),
                 BIND_AT_MOST(RATE_MAX_Bps), .check = check_falling,
                 BIND_NOTE("a NIC gets the first that is not above its line rate")),
    BIND_STRUCT(library_tuning, generations, "generations", generation_binds, BIND_REQUIRED,
                BIND_NOTE("caps by what the GPUs are")),
    BIND_END,
};

// ---- the kernels

static const bind_row cut_binds[] = {
    BIND_U32(protocol_cut, threads, "threads", BIND_REQUIRED, BIND_AT_LEAST(1), BIND_AT_MOST(65536),
             BIND_NOTE("of a channel")),
    BYTES_ROW(protocol_cut, thread_bytes, "thread_bytes",
              "a channel is used when each of its threads has so many; rings of LL: on each rank"),
    BYTES_ROW(protocol_cut, ring_chunk_bytes, "ring_chunk", "payload, the most"),
    BYTES_ROW(protocol_cut, tree_chunk_bytes, "tree_chunk", "payload, the most"),
    BYTES_ROW(protocol_cut, pipe_chunk_bytes, "pipe_chunk", "payload of broadcast and reduce, the most"),
    BIND_U32(protocol_cut, slices, "slices", BIND_REQUIRED, BIND_AT_LEAST(1), BIND_AT_MOST(2),
             BIND_NOTE("of a ring's chunk")),
    BYTES_ROW(protocol_cut, least_slice_bytes, "least_slice", "no slice but the last is smaller"),
    BIND_NUMBER(protocol_cut, wire_ratio, "wire_ratio", BIND_REQUIRED, BIND_AT_LEAST(1), BIND_AT_MOST(100),
                BIND_NOTE("bytes on the wire per byte of payload")),
    BIND_END,
};

static const bind_row kernels_binds[] = {
    PROTOCOL_ROWS(protocol_cut, offsetof(library_kernels, cuts), cut_binds),
    BIND_U32(library_kernels, slots, "slots", BIND_REQUIRED, BIND_AT_LEAST(1), BIND_AT_MOST(1024),
             BIND_NOTE("steps in flight on a connection")),
    BIND_RATE(library_kernels, peer_network_Bps, "peer_network_rate", BIND_REQUIRED, BIND_ABOVE(0),
              BIND_AT_MOST(RATE_MAX_Bps), BIND_NOTE("of a NIC, that one channel of sends is counted for")),
    BIND_U32(library_kernels, peers_at_once, "peers_at_once", BIND_REQUIRED, BIND_AT_LEAST(1),
             BIND_AT_MOST(1024), BIND_NOTE("of an all-to-all")),
    BYTES_ROW(library_kernels, least_part_bytes, "least_part", "of a send, on one channel"),
    BYTES_ROW(library_kernels, most_part_bytes, "most_part", "in a node: larger ones take more channels"),
    BYTES_ROW(library_kernels, most_network_part_bytes, "most_network_part", "the same between nodes"),
    BIND_END,
};

const bind_row collective_library_binds[] = {
    BIND_TEXT(collective_library, name, "name", BIND_REQUIRED, BIND_NOTE("library and version")),
    BIND_STRUCT(collective_library, ring, "ring", ring_binds, BIND_REQUIRED, BIND_NOTE("ring, by protocol")),
    BIND_STRUCT(collective_library, nvls, "nvls", nvls_binds, BIND_REQUIRED,
                BIND_NOTE("all-reduce in the NVSwitch")),
    BIND_NUMBER(
        collective_library, memory_traffic, "memory_traffic", BIND_DEFAULT(0, "0"), BIND_AT_LEAST(0),
        BIND_AT_MOST(16),
        BIND_NOTE("bytes in the GPU's memory per byte that its links move; 0: collectives slow nothing "
                  "that computes beside them")),
    BIND_STRUCT(collective_library, tuning, "tuning", tuning_binds, BIND_REQUIRED,
                BIND_NOTE("what its tuner believes beside the terms above")),
    BIND_STRUCT(collective_library, kernels, "kernels", kernels_binds, BIND_REQUIRED,
                BIND_NOTE("how its kernels cut a buffer")),
    BIND_END,
};

uint64_t library_wire_bytes(const protocol_cut *cut, uint64_t payload_bytes)
{
    SIM_ASSERT(cut->wire_ratio >= 1);
    if (cut->wire_ratio == 1) return payload_bytes; // exact above 2^53 as well
    const double wire_bytes = ceil((double)payload_bytes * cut->wire_ratio);
    SIM_ASSERT(wire_bytes < 0x1p63);
    return (uint64_t)wire_bytes;
}
