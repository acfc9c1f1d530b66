// SPDX-License-Identifier: GPL-3.0-or-later
// Links that damage what they carry. A damaged packet is lost, and its connection sends it again (fluid_loss.c), or the link
// has noticed and sends the frame again itself, which nobody sees but for its rate and its counters.
#include "models/network/topology_internal.h"
#include <math.h>
#include <string.h>

// Of NVLink and PCIe: 256 B of data and a header of about 16 B (NVLink: NVIDIA's Pascal white paper, 2016; PCIe: Base
// Specification, a TLP of the usual greatest payload).
enum { INNER_FRAME_BYTES = 272, INNER_DATA_BYTES = 256 };

typedef struct frame_terms {
    uint64_t payload_bytes, wire_bytes;
} frame_terms;

static frame_terms frames_of(const topology *t, link_id l)
{
    if (t->links.items[l].class != LINK_NETWORK) return (frame_terms){ INNER_DATA_BYTES, INNER_FRAME_BYTES };
    return (frame_terms){ t->policy.terms.payload_bytes, t->policy.terms.wire_bytes };
}

// The place of a link among the faulty ones, or where it would be.
static uint32_t place_of(const topology *t, link_id l)
{
    uint32_t low = 0, high = t->faulty.count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (t->faulty.items[middle] < l)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void add_faults(topology *t, link_id l, const link_faults *faults)
{
    const uint32_t place = place_of(t, l), behind = t->faulty.count - place;
    array_push(&t->faulty, t->arena);
    array_push(&t->faults, t->arena);
    memmove(&t->faulty.items[place + 1], &t->faulty.items[place], behind * sizeof *t->faulty.items);
    memmove(&t->faults.items[place + 1], &t->faults.items[place], behind * sizeof *t->faults.items);
    t->faulty.items[place] = l;
    t->faults.items[place] = *faults;
}

// Packets that are lost have used the link: 1 - p of its rate is left. What go-back-N throws away beyond them depends on the
// connection; for the link's health a path of four links like this one is taken, both ways, with its losses and without.
static void lose(topology *t, link_id l, double loss)
{
    enum { LINKS_OF_ROUND_TRIP = 8 };
    const topology_link *link = &t->links.items[l];
    transport_way way = { .bytes = TRANSPORT_ENDLESS,
                          .rate_Bps = (double)link->rate_mBps / 1000.0,
                          .round_trip_s = units_s_from_ps(LINKS_OF_ROUND_TRIP * link->delay_ps +
                                                          t->policy.terms.ends_ps) };
    const double healthy_Bps = transport_goodput_Bps(&t->policy.terms, &way);
    way.loss = loss;
    const double goodput_Bps = transport_goodput_Bps(&t->policy.terms, &way);
    topology_lower_rate(t, l, 1.0 - loss, fmin(goodput_Bps / healthy_Bps, 1.0));
    t->loses = true;
}

// Payload and headers scale alike, so a frame's time is that of its payload at the link's rate of payload. What is sent again:
//     resent / delivered = (1 - g) / g     g: goodput of the link (transport.h)
static void repeat(topology *t, link_id l, const frame_terms *frame, link_faults *faults)
{
    topology_link *link = &t->links.items[l];
    const double frame_s = (double)frame->payload_bytes / ((double)link->rate_mBps / 1000.0);
    const double round_trip_s = units_s_from_ps(2 * link->delay_ps);
    const double goodput = link_retry_goodput(faults->frame_error, round_trip_s, frame_s);
    faults->resent_ratio = (1.0 - goodput) / goodput;
    link->delay_ps += (sim_time)llround(link_retry_delay_s(faults->frame_error, round_trip_s, frame_s) *
                                        1e12);
    topology_lower_rate(t, l, goodput, goodput);
}

void topology_fault_link(topology *t, link_id l, const link_fault_def *def)
{
    SIM_ASSERT(t->sealed && l < t->links.count && !topology_faults_of(t, l));
    SIM_ASSERT(def->loss >= 0.0 && def->loss < 1.0 && def->bit_error_rate >= 0.0 &&
               def->bit_error_rate < 1.0);
    const frame_terms frame = frames_of(t, l);
    SIM_ASSERT(frame.payload_bytes > 0);
    const double damaged = frame_error_ratio(def->bit_error_rate, frame.wire_bytes);
    link_faults faults = { .loss = def->loss, .frame_error = def->repeats ? damaged : 0.0 };
    if (!def->repeats) faults.loss = 1.0 - (1.0 - def->loss) * (1.0 - damaged);
    if (faults.loss == 0.0 && faults.frame_error == 0.0) return;
    SIM_ASSERT(faults.loss == 0.0 || t->links.items[l].class == LINK_NETWORK);
    if (faults.frame_error > 0.0) repeat(t, l, &frame, &faults);
    if (faults.loss > 0.0) lose(t, l, faults.loss);
    add_faults(t, l, &faults);
}

const link_faults *topology_faults_of(const topology *t, link_id l)
{
    const uint32_t place = place_of(t, l);
    return place < t->faulty.count && t->faulty.items[place] == l ? &t->faults.items[place] : NULL;
}

const link_id *topology_faulty_links(const topology *t, uint32_t *count)
{
    *count = t->faulty.count;
    return t->faulty.items;
}

uint64_t topology_packet_bytes(const topology *t, link_id l)
{
    return frames_of(t, l).payload_bytes;
}

uint64_t topology_frame_bytes(const topology *t, link_id l)
{
    return frames_of(t, l).wire_bytes;
}

bool topology_loses(const topology *t)
{
    return t->loses;
}

double topology_loss(const topology *t, link_id l)
{
    const link_faults *faults = t->loses ? topology_faults_of(t, l) : NULL;
    return faults ? faults->loss : 0.0;
}
