// SPDX-License-Identifier: GPL-3.0-or-later
// models/hardware/link_costs.h: what a collective library's kernels and host threads get out of a class of link: inside a
// node (scale_up_costs) and through a NIC (nic_costs). Rates of the links themselves are the node's and the NIC's; how times
// follow from these costs is collective/pace.h's. A channel is one block of a kernel (a CTA) and the connections it drives; a
// slice is what it sends at once.
#pragma once
#include "sim/bind.h"

// In the order of collective_protocol (collective/library.h).
enum { COSTS_LL, COSTS_LL128, COSTS_SIMPLE, COSTS_PROTOCOLS };

typedef enum gpu_generation { // the rows of the library's table of caps
    GENERATION_VOLTA,
    GENERATION_AMPERE,
    GENERATION_HOPPER,
    GENERATION_BLACKWELL,
    GENERATIONS
} gpu_generation;
extern const char *const gpu_generation_words[]; // "volta", "ampere", "hopper", "blackwell"; ends with NULL

typedef enum host_cpu {
    HOST_INTEL,
    HOST_AMD,
    HOST_OTHER,
    HOST_CPUS
} host_cpu;                                // whom the library's table asks for
extern const char *const host_cpu_words[]; // "intel", "amd", "other"; ends with NULL

typedef struct kernel_costs { // of one protocol, on one channel
    double rate_Bps;          // of payload that one CTA copies or reduces
    sim_time slice_ps;        // per slice, beside its bytes
    sim_time visible_ps;      // from the end of that work until the next GPU sees the slice
    sim_time ring_entry_ps;   // once per ring collective, beside entry_ps
    sim_time tree_entry_ps;   // once per tree collective
    sim_time tree_hop_ps; // of a chunk in a tree or a chain: slice and visibility together, beside its bytes
} kernel_costs;

typedef struct nvls_costs {   // sums in the NVSwitches, loop by loop
    uint32_t channels;        // 0: the GPUs cannot
    double rate_Bps;          // of the buffer, on one channel
    sim_time loop_ps;         // per loop, beside its bytes
    uint64_t chunk_bytes;     // of one head, the most
    uint64_t far_chunk_bytes; // the same with four nodes and more
} nvls_costs;

typedef struct peer_costs {       // send and receive, all-to-all
    uint64_t chunk_bytes;         // inside a node
    uint64_t network_chunk_bytes; // between nodes
    sim_time chunk_ps;            // per chunk, beside its bytes
    sim_time entry_ps;            // of one send
    sim_time peer_ps;             // of an all-to-all, for each rank of a node
    uint32_t channels;            // to one peer in the node, the most
    double all_to_all_ratio;      // share of the link's payload rate when all send to all
} peer_costs;

typedef struct search_costs {     // what the library's search of the topology finds; for choosing only
    uint32_t channels;            // of rings inside a node
    double rate_Bps;              // of each of them
    double nvls_rate_Bps;         // of a head inside a node; 0: no NVLS
    double nvls_network_rate_Bps; // of a head over nodes
    uint32_t tree_channels;       // whose caps bound a tree's real rate as well
} search_costs;

typedef struct scale_up_costs {
    const char *name;  // NULL: not given
    int generation;    // gpu_generation
    int host;          // host_cpu
    bool through_host; // the GPUs have no links of their own: the library's latencies are those of PCIe
    kernel_costs protocols[COSTS_PROTOCOLS];
    sim_time entry_ps;         // launch and start of a collective inside a node
    uint32_t channels;         // inside a node
    uint32_t network_channels; // over nodes; 0: by the rule of collective/chunking.c
    nvls_costs nvls;           // one domain
    sim_time nvls_entry_ps;    // of an operation in one domain, launch included
    nvls_costs nvls_tree;      // several domains, joined by trees
    peer_costs peers;
    search_costs search;
} scale_up_costs;

typedef struct
    network_hop_costs { // of one protocol: from the end of the NIC's service until the next node sees it
    sim_time ring_ps, tree_ps;
} network_hop_costs;

// The library asks the receiver before it sends a large message.
typedef struct rendezvous_costs {
    uint64_t above_bytes;       // on the wire; 0: never
    sim_time hop_ps;            // added to the hop
    sim_time thread_ps;         // of the host thread, per message
    uint64_t eager_above_bytes; // smaller messages above this size
    sim_time eager_ps;          // are later by this
} rendezvous_costs;

typedef struct
    sharp_costs { // sums in the network's switches: share of the NICs' rate that an all-reduce's buffer gets
    double chain_ratio;      // 0: they cannot
    double direct_ratio;     // to four nodes
    double far_direct_ratio; // beyond
} sharp_costs;

typedef struct network_peer_costs { // send and receive, all-to-all
    sim_time chunk_ps;              // per chunk, beside its bytes
    sim_time entry_ps;              // of one send, end to end
    sim_time all_to_all_entry_ps;   // beside that of any collective
    sim_time peer_ps;               // of an all-to-all, for each remote peer
} network_peer_costs;

typedef struct nic_costs {
    const char *name;  // NULL: not given
    sim_time entry_ps; // launch and start of a collective over nodes
    network_hop_costs hops[COSTS_PROTOCOLS];
    sim_time message_ps;     // of the NIC, per message of rings and NVLS trees, beside its bytes
    sim_time post_ps;        // of the host thread, for each message it posts or awaits
    sim_time line_ps;        // of the host thread, for each line of 16 bytes in a message of LL
    bool ll128;              // stores of 128 bytes arrive whole, so that LL128 may be chosen
    double search_limit_Bps; // what the library's search gives one NIC at most; 0: by its rate alone
    // Static routes of one connection: ring and NVLS tree run at 1 / (1 + loss (1 - 1 / nodes)) of the NIC's rate.
    double static_route_loss;
    rendezvous_costs rendezvous;
    sharp_costs sharp;
    network_peer_costs peers;
} nic_costs;

extern const bind_row scale_up_costs_binds[], nic_costs_binds[];
