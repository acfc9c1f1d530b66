// SPDX-License-Identifier: GPL-3.0-or-later
// models/hardware/network_gear.h: NICs, switches, cables and transports as definitions. How they are joined is network/'s.
#pragma once
#include "models/hardware/link_costs.h"
#include "sim/bind.h"

// What ports speak. A NIC that can speak several is set to one; ANY: nobody says, and all fit.
typedef enum link_layer {
    LINK_LAYER_ANY,
    LINK_LAYER_INFINIBAND,
    LINK_LAYER_ETHERNET,
    LINK_LAYER_SLINGSHOT,
    LINK_LAYER_OMNI_PATH
} link_layer;
extern const char *const link_layer_words[]; // "any", "infiniband", ...; ends with NULL

typedef struct nic_def {
    const char *name;
    double rate_Bps;      // of the line, per direction
    double payload_ratio; // share of the line rate that payload gets
    sim_time delay_ps;    // memory to line, or line to memory
    int link_layer;
    bool has_costs;
    nic_costs costs; // what a collective library gets out of it
    const char
        *usual_switch; // of the catalogue, where a fabric is made that nobody has described; NULL: none
} nic_def;

typedef struct switch_def {
    const char *name;
    int link_layer;
    uint32_t ports;
    double port_rate_Bps;
    sim_time delay_ps;     // port to port
    double adaptive_ratio; // share of its parallel links that adaptive routing fills; 0: it has none
    bool sharp;            // it can sum what NICs send
} switch_def;

typedef struct cable_kind_def { // copper, active copper, optics
    const char *name;
    double reach_m;
    sim_time end_delay_ps; // of the electronics at each end, beside 5 ns per metre
} cable_kind_def;
ARRAY_OF(cable_kind_def, cable_kind_array);

typedef struct
    cable_set_def { // kinds of cable by rising reach: a cable is of the first kind that is long enough
    const char *name;
    cable_kind_array kinds;
} cable_set_def;

extern const bind_row nic_binds[], switch_binds[], cable_set_binds[];

const cable_kind_def *cable_kind_for(const cable_set_def *set,
                                     double length_m);                // NULL: no kind reaches so far
sim_time cable_delay_ps(const cable_kind_def *kind, double length_m); // last byte in to last byte out

// What carries payload over a line: headers, gaps and checksums beside it.
typedef enum transport_kind { TRANSPORT_INFINIBAND, TRANSPORT_ROCE, TRANSPORT_TCP } transport_kind;
extern const char *const transport_words[]; // "infiniband", "roce", "tcp"; ends with NULL
uint64_t transport_default_mtu_bytes(transport_kind kind);
// The nearest MTU that the transport has: 256 to 4096 in powers of two, for TCP any from 576 to 9216.
uint64_t transport_nearest_mtu_bytes(transport_kind kind, uint64_t mtu_bytes);
typedef struct transport_packet { // a full one
    uint64_t payload_bytes, wire_bytes;
} transport_packet;
transport_packet transport_packet_of(transport_kind kind,
                                     uint64_t mtu_bytes); // of an MTU that the transport has
// What a connection moves at most that one core serves; 0: no core takes part.
double transport_connection_Bps(transport_kind kind);
// From the loss of a packet that nobody misses until it is sent again.
sim_time transport_timeout_ps(transport_kind kind);
// Share of the line rate that payload gets in a long message: payload_bytes / wire_bytes.
double transport_payload_ratio(transport_kind kind, uint64_t mtu_bytes);
