// SPDX-License-Identifier: GPL-3.0-or-later
// models/network/network.h: the interface that all network engines share. A client asks for a transfer of one
// edge, or for a stream of many edges that moves at the pace of its slowest edge, and is told when it is delivered.
// The engine keeps counters of bytes per link. Engines: ideal (ideal_network.c: alpha + bytes/rate, no contention), fluid
// (fluid_network.h: every transfer in flight has a rate, shared by max-min fairness).
#pragma once
#include "models/ids.h"
#include "models/network/topology.h"
#include "sim/engine.h"

typedef enum network_engine { ENGINE_IDEAL, ENGINE_FLUID, ENGINE_PACKET, ENGINE_AUTO } network_engine;
extern const char *const network_engine_words[]; // "ideal", "fluid", "packet", "auto"; ends with NULL

typedef struct network_edge {
    vertex_id from, to;  // GPUs or NICs, not the same
    uint64_t bytes;      // that cross this edge, as the links see them
    sim_time latency_ps; // software latency on this edge, all its steps together, beside the path's delay
} network_edge;

typedef struct network_request {
    const network_edge *edges; // copied
    uint32_t edge_count;       // 1: a plain transfer
    sim_time latency_ps;       // software latency of the whole request, charged once, before its edges
    uint32_t delay_crossings;  // times a path's delay is charged: 1 for a transfer, the steps of a stream
    uint64_t rate_cap_mBps;    // of each edge; 0: none
    uint32_t weight;           // of the sharing, >= 1
    uint32_t queue_pairs;      // per connection, >= 1
    // Tells apart what is alike and begins together, for what is drawn at random: any number that no order of events changes.
    uint32_t twin;
    // Equal requests this one stands for (folding), >= 1. Counters multiply, not those of links.
    uint32_t multiplicity;
    uint16_t client; // who is told
    uint64_t tag;    // the client's own number
} network_request;

typedef struct network network;
typedef void network_delivered(void *owner, uint64_t tag, transfer_id id); // id is stale already

network *network_create_ideal(arena *a, sim *s, const topology *t);
uint16_t network_add_client(network *n, network_delivered *delivered, void *owner);
// Delivery is an event, also of zero bytes.
transfer_id network_start(network *n, const network_request *request);
// A request that is started often: its edges are copied once, and the engine may remember its path. Its tag means nothing.
uint32_t network_prepare(network *n, const network_request *request);
transfer_id network_start_prepared(network *n, uint32_t prepared, uint64_t tag);
// It must be in flight; its bytes then count neither as sent nor as received.
void network_cancel(network *n, transfer_id id);
// Counts so many equal requests as if each had been started and delivered on the paths of now: their bytes on links and in the
// counters, but for the high water mark. No time passes and no client is told.
void network_carry(network *n, const network_request *request, uint64_t times);
// Another one of the same kind with the same options on the same topology, at rest: links have the rates that they began
// with, without what network_set_link() has changed since.
network *network_create_like(arena *a, sim *s, const network *n);
// Whether requests that share no link with others take equally long whenever they begin and whatever moves elsewhere. Not with
// completion windows, which lie at fixed instants, nor with the bottleneck count, which asks for a network at rest, nor while
// any link loses packets, for which messages wait at random.
bool network_is_steady(const network *n);
bool network_in_flight(const network *n, transfer_id id);
// The fluid engine only: from this instant on the link carries ratio times its rate; 0: it is down, 1: as it began. A cable is
// two links.
void network_set_link(network *n, link_id l, double ratio);
const topology *network_topology(const network *n);
network_engine network_engine_of(const network *n);

typedef struct network_counters {
    uint64_t started, delivered, cancelled; // requests
    // Of edges, x multiplicity; equal at rest (conservation). A step of 16,384 GPUs sends about 2^53.
    unsigned __int128 bytes_sent, bytes_received;
    uint64_t retransmitted_bytes; // beside these, x multiplicity; not those that links send again themselves
    uint64_t timeouts;            // waited for, x multiplicity
    uint32_t in_flight, in_flight_high_water;
} network_counters;
network_counters network_counters_of(const network *n);
// Carried so far, not multiplied, for what a request stands for uses other links: by finished requests; in the fluid engine
// also by those in flight, up to now.
uint64_t network_link_bytes(const network *n, link_id l);

// What a link has damaged so far, not multiplied. Bytes are sent again by the connections that cross it or by the link itself;
// counted when a request has been sent, the link's own with the bytes that it carries.
typedef struct link_troubles {
    uint64_t retransmitted_bytes, retransmitted_packets; // beside network_link_bytes()
    uint64_t timeouts;                                   // of connections
} link_troubles;
link_troubles network_link_troubles(const network *n, link_id l);

// Who does not move, and will not unless the fabric changes: for the message when nothing else is left to happen.
typedef struct network_stuck_report {
    uint32_t transfers;
    vertex_id from, to; // of an edge of the first of them, by slot; meaningless without any
    uint32_t
        down; // first link or bundle of its path that is down, or NO_ID: it starves among too many others
} network_stuck_report;
network_stuck_report network_stuck(const network *n);
void network_verify(const network *n); // whole-structure check, conservation at rest; asserts
