// SPDX-License-Identifier: GPL-3.0-or-later
// models/collective/pace_internal.h: what the files of pace.h share. Times in s, rates in bytes/s, sizes in bytes, as doubles:
// rounded once, to the tick, when a pace is made. Equations are written in these units.
#pragma once
#include "models/collective/chunking.h"
#include "models/collective/pace.h"
#include "models/collective/slice_ring.h"

// From so many nodes on static routes are felt (collectives.csv: MD1).
enum { STATIC_ROUTE_NODES = 4 };

// (a^-p + b^-p)^(-1/p): the lesser of two rates, less where they are near each other. p = 8 for a channel and its share of a
// link, 3 for sends and a NIC (collectives.csv: sendrecv over one size step where both are felt).
enum { SOFT_LINK = 8, SOFT_NIC = 3 };
double pace_soft_min(double a, double b, double power);

double pace_link_Bps(const collective_layout *layout); // of a GPU's port
double pace_pair_Bps(const collective_layout *layout); // from one GPU to another: in a mesh one of its links
double pace_nics_Bps(const collective_layout *layout); // of all NICs of a node
// Less on static routes, for the algorithms that feel them.
double pace_routed_nics_Bps(const collective_layout *layout);
double pace_entry_s(const collective_layout *layout);
double pace_visible_s(const collective_layout *layout, collective_protocol protocol);
double pace_network_hop_s(const collective_layout *layout,
                          sim_time hop_ps); // no shorter than the path's delay
// Channels that one host thread serves: those of a node over its GPUs.
double pace_channels_per_thread(const collective_layout *layout, double channels);
// What asking the receiver first adds, for one message of so many bytes on the wire: to the hop, to the host thread.
double pace_rendezvous_hop_s(const collective_layout *layout, double wire_bytes);
double pace_rendezvous_thread_s(const collective_layout *layout, double wire_bytes);

// To the nearest tick; what takes longer than a clock runs is cut off.
sim_time pace_ps(double seconds);
// latency_s and stream_s to ticks. The rest of the pace is left to its maker.
collective_pace pace_make(double latency_s, double stream_s);

typedef struct pace_request {
    const collective_library *library;
    const collective_layout *layout;
    collective_kind kind;
    collective_protocol protocol;
    uint64_t bytes;
} pace_request;

slice_ring pace_ring_channel(const pace_request *request); // pace_ring.c: one channel of a ring
double pace_ring_closed_s(const slice_ring *ring);         // its closed form, drain included
collective_pace pace_ring(const pace_request *request);
collective_pace pace_pipe(const pace_request *request);
collective_pace pace_tree(const pace_request *request);
collective_pace pace_nvls(const pace_request *request);
collective_pace pace_nvls_tree(const pace_request *request);
collective_pace pace_collnet(const pace_request *request, collective_algorithm algorithm);
collective_pace pace_pat(const pace_request *request);
void pace_pat_steps(const pace_request *request, uint32_t count, step_pace *steps);
collective_pace pace_recursive(const pace_request *request);
void pace_recursive_steps(const pace_request *request, uint32_t count, step_pace *steps);
collective_pace pace_hierarchical(const pace_request *request);
void pace_hierarchical_steps(const pace_request *request, uint32_t count, step_pace *steps);
collective_pace pace_send_recv(const pace_request *request);
collective_pace pace_all_to_all(const pace_request *request);
