// SPDX-License-Identifier: GPL-3.0-or-later
// models/network/transport.h: what losses and windows leave of a connection's rate, in closed form. It knows neither links nor
// flows: fluid_loss.c asks it for each connection that crosses a link with faults. Rates are of payload, in B/s; times in s;
// packets are full ones. The headers beside the payload are in the rates already (models/hardware/network_gear.h).
#pragma once
#include "sim/units.h"

// Who sends again what was lost between the ends.
typedef enum loss_recovery {
    RECOVERY_GO_BACK_N, // reliable connections of InfiniBand and RoCE: everything from the lost packet on
    RECOVERY_SELECTIVE_REPEAT, // only what was lost
    RECOVERY_TCP               // and lowers its rate
} loss_recovery;
extern const char *const recovery_words[]; // "go-back-n", "selective-repeat", "tcp"; ends with NULL

typedef struct transport_terms { // of all connections of a fabric
    loss_recovery recovery;
    uint64_t payload_bytes; // of a full packet; 0: not stated, then no link may lose packets
    uint64_t wire_bytes;    // of the same packet with its headers
    uint64_t window_bytes;  // in flight at most, per connection; 0: as many as the path holds
    sim_time ends_ps;       // of a round trip: what the two ends add to the links' delays
    sim_time timeout_ps;    // from a lost packet behind which no other follows until it is sent again
    uint64_t key;           // of the random numbers that decide which packets those are
} transport_terms;

typedef struct transport_way { // what a connection sends, and where
    uint64_t bytes;            // with no pause between; TRANSPORT_ENDLESS: without end
    double loss;               // of a packet; < 1
    double rate_Bps;           // that the path leaves it, lost packets included
    double round_trip_s;
} transport_way;
#define TRANSPORT_ENDLESS UINT64_MAX

// Packets on the way at once: ceil(min(W, R C / MTU)) and no more than there are, at least 1.
double transport_packets_in_flight(const transport_terms *t, const transport_way *w);
// Share of what is sent that is new.
double transport_efficiency(const transport_terms *t, const transport_way *w);
// The most that the connection moves, new bytes only.
double transport_goodput_Bps(const transport_terms *t, const transport_way *w);

// Means of TCP in its steady state, in packets of mss_bytes that are lost at random; loss in (0, 1).
double tcp_pftk_Bps(double loss, double round_trip_s, double timeout_s, double mss_bytes);
double tcp_cubic_Bps(double loss, double round_trip_s, double mss_bytes);

// ---- a link that sends damaged frames again by itself (InfiniBand, NVLink, PCIe)

// Probability that a frame of so many bytes is damaged. bit_error_rate: what error correction leaves.
double frame_error_ratio(double bit_error_rate, uint64_t frame_bytes);
// Share of the link's rate that is left: the damaged frame and those behind it, sent within the link's round trip, go again.
double link_retry_goodput(double frame_error, double link_round_trip_s, double frame_time_s);
// Mean time that a frame waits for its repetitions.
double link_retry_delay_s(double frame_error, double link_round_trip_s, double frame_time_s);
