// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/hardware/network_gear.h"
#include "models/hardware/limits.h"
#include <math.h>

const char *const link_layer_words[] = { "any", "infiniband", "ethernet", "slingshot", "omni-path", NULL };

const bind_row nic_binds[] = {
    BIND_TEXT(nic_def, name, "name", BIND_DEFAULT(0, "unnamed"),
              BIND_NOTE("what it is called in tables and messages")),
    BIND_RATE(nic_def, rate_Bps, "rate", BIND_REQUIRED, BIND_ABOVE(0), BIND_AT_MOST(RATE_MAX_Bps),
              BIND_NOTE("of the line, per direction; of each cable of a NIC")),
    BIND_NUMBER(nic_def, payload_ratio, "payload_ratio", BIND_REQUIRED, BIND_ABOVE(0), BIND_AT_MOST(1),
                BIND_NOTE("share of the line rate that payload gets: measured, at the program that uses it")),
    BIND_TIME(
        nic_def, delay_ps, "delay", BIND_DEFAULT(0.0, "0 ns"), BIND_AT_LEAST(0), BIND_AT_MOST(DELAY_MAX_S),
        BIND_NOTE("from memory to the line or back; counts in the round trip of a transport alone, for what "
                  "collectives cost at each message contains it")),
    BIND_ENUM(nic_def, link_layer, "link_layer", link_layer_words, BIND_DEFAULT(LINK_LAYER_ANY, "any"),
              BIND_NOTE("what its ports are set to: they need a switch of the same; any: nothing is said")),
    BIND_PART(nic_def, costs, "costs", "nic_costs", nic_costs_binds, BIND_SET_FLAG(nic_def, has_costs),
              .default_text = "by rate and transport",
              BIND_NOTE("what collectives get out of it: a name of the catalogue or a mapping")),
    BIND_TEXT(
        nic_def, usual_switch, "switch",
        BIND_NOTE("a switch of the catalogue for its cables, where windtunnel collective makes a fabric")),
    BIND_END,
};

const bind_row switch_binds[] = {
    BIND_TEXT(switch_def, name, "name", BIND_DEFAULT(0, "unnamed"),
              BIND_NOTE("what it is called in tables and messages")),
    BIND_ENUM(switch_def, link_layer, "link_layer", link_layer_words, BIND_DEFAULT(LINK_LAYER_ANY, "any"),
              BIND_NOTE("what its ports speak; any: nothing is said")),
    BIND_U32(switch_def, ports, "ports", BIND_REQUIRED, BIND_AT_LEAST(1), BIND_AT_MOST(1e6),
             BIND_NOTE("of port_rate each")),
    BIND_RATE(switch_def, port_rate_Bps, "port_rate", BIND_REQUIRED, BIND_ABOVE(0),
              BIND_AT_MOST(RATE_MAX_Bps), BIND_NOTE("of one port, per direction")),
    BIND_TIME(switch_def, delay_ps, "delay", BIND_REQUIRED, BIND_AT_LEAST(0), BIND_AT_MOST(DELAY_MAX_S),
              BIND_NOTE("port to port")),
    BIND_NUMBER(switch_def, adaptive_ratio, "adaptive_ratio", BIND_DEFAULT(0.0, "0: no adaptive routing"),
                BIND_AT_LEAST(0), BIND_AT_MOST(1),
                BIND_NOTE("share of the rate of equal links that adaptive routing fills")),
    BIND_BOOL(switch_def, sharp, "sharp", BIND_DEFAULT(0, "false"),
              BIND_NOTE("it can sum what NICs send (SHARP), as InfiniBand's can and Ethernet's cannot")),
    BIND_END,
};

static const bind_row cable_kind_binds[] = {
    BIND_TEXT(cable_kind_def, name, "name", BIND_REQUIRED, BIND_NOTE("what it is called in messages")),
    BIND_LENGTH(cable_kind_def, reach_m, "reach", BIND_REQUIRED, BIND_ABOVE(0), BIND_AT_MOST(CABLE_MAX_m),
                BIND_NOTE("the longest there is")),
    BIND_TIME(cable_kind_def, end_delay_ps, "end_delay", BIND_REQUIRED, BIND_AT_LEAST(0),
              BIND_AT_MOST(DELAY_MAX_S), BIND_NOTE("of the electronics at each end")),
    BIND_END,
};

static bool check_kinds(const void *field, const doc_node *node, sim_error *error)
{
    const cable_kind_array *kinds = field;
    if (kinds->count == 0)
        return sim_fail(error, SIM_EXIT_INPUT, &node->place, "a set of cables has at least one kind");
    for (uint32_t i = 1; i < kinds->count; i++)
        if (!(kinds->items[i].reach_m > kinds->items[i - 1].reach_m))
            return sim_fail(error, SIM_EXIT_INPUT, &node->items[i]->place,
                            "the kinds of cable must be listed by rising reach: %s behind %s",
                            kinds->items[i].name, kinds->items[i - 1].name);
    return true;
}

const bind_row cable_set_binds[] = {
    BIND_TEXT(cable_set_def, name, "name", BIND_DEFAULT(0, "unnamed"),
              BIND_NOTE("what it is called in tables and messages")),
    BIND_LIST(cable_set_def, kinds, "kinds", cable_kind_binds, BIND_REQUIRED, .check = check_kinds,
              BIND_NOTE("by rising reach; a cable is of the first kind that is long enough")),
    BIND_END,
};

const cable_kind_def *cable_kind_for(const cable_set_def *set, double length_m)
{
    for (uint32_t i = 0; i < set->kinds.count; i++)
        if (length_m <= set->kinds.items[i].reach_m) return &set->kinds.items[i];
    return NULL;
}

// T = v L + 2 e   v: 5 ns/m, light in glass (4.9) and waves in copper (4.3 to 4.8) alike   e: electronics of one end
sim_time cable_delay_ps(const cable_kind_def *kind, double length_m)
{
    // in ps, for 5e-9 s is not 5 ns and would be rounded up
    return (sim_time)ceil(length_m * 5000.0) + 2 * kind->end_delay_ps;
}

const char *const transport_words[] = { "infiniband", "roce", "tcp", NULL };

uint64_t transport_default_mtu_bytes(transport_kind kind)
{
    return kind == TRANSPORT_TCP ? 9000 : 4096;
}

uint64_t transport_nearest_mtu_bytes(transport_kind kind, uint64_t mtu_bytes)
{
    if (kind == TRANSPORT_TCP) return mtu_bytes < 576 ? 576 : mtu_bytes > 9216 ? 9216 : mtu_bytes;
    uint64_t nearest = 256;
    for (uint64_t mtu = 512; mtu <= 4096; mtu *= 2)
        if (mtu_bytes * 4 >= mtu * 3) nearest = mtu; // half-way between mtu / 2 and mtu
    return nearest;
}

// eta = payload / (payload + overhead), bytes of a full packet; the extra header of a message's first packet is left out.
//   infiniband  payload = MTU; LRH 8, BTH 12, ICRC 4, VCRC 2 (InfiniBand Architecture Specification 1, chapters 5 to 9)
//   roce        payload = MTU; preamble 8, Ethernet 14, FCS 4, gap 12 (IEEE 802.3), IPv4 20, UDP 8, BTH 12, ICRC 4
//               (RoCEv2: the same, annex 17)
//   tcp         payload = MTU - IPv4 20 - TCP 20 - time stamps 12 (RFC 7323); preamble 8, Ethernet 14, FCS 4, gap 12 beside
//               the MTU
// Line codes and error correction are not counted: rates of ports are quoted without them. Acknowledgements run the other
// way and are small beside full packets (one per several packets: under 1 % of the reverse direction, left out).
transport_packet transport_packet_of(transport_kind kind, uint64_t mtu_bytes)
{
    switch (kind) {
    case TRANSPORT_INFINIBAND: return (transport_packet){ mtu_bytes, mtu_bytes + 26 };
    case TRANSPORT_ROCE: return (transport_packet){ mtu_bytes, mtu_bytes + 82 };
    case TRANSPORT_TCP: return (transport_packet){ mtu_bytes - 52, mtu_bytes + 38 };
    }
    SIM_ASSERT(false);
    return (transport_packet){ 0 };
}

// Cai, Chaudhary, Vuppalapati, Hwang, Agarwal: "Understanding host network stack overheads", SIGCOMM 2021: one flow on one
// core of Linux 5.4, packets of 9000 B and all offloads on: 42 Gb/s.
double transport_connection_Bps(transport_kind kind)
{
    return kind == TRANSPORT_TCP ? 5.25e9 : 0.0;
}

// InfiniBand and RoCE: 4.096 us x 2^T, NCCL's default T = 20 (network-gear.csv). TCP: the least of Linux, 200 ms (RFC 6298
// asks for a second).
sim_time transport_timeout_ps(transport_kind kind)
{
    return kind == TRANSPORT_TCP ? INT64_C(200000000000) : INT64_C(4096000) << 20;
}

double transport_payload_ratio(transport_kind kind, uint64_t mtu_bytes)
{
    const transport_packet packet = transport_packet_of(kind, mtu_bytes);
    return (double)packet.payload_bytes / (double)packet.wire_bytes;
}
