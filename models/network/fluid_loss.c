// SPDX-License-Identifier: GPL-3.0-or-later
// What windows and lossy links leave of connections.
//
// A link that loses packets with probability p has 1 - p of its rate left, for what it lost it had carried before. Beyond that
// each connection has a cap, its goodput on the whole path if it had it to itself (transport.h):
//     cap = goodput(S, 1 - product of (1 - p_l), least of C_l, 2 delay + ends)   C_l [B/s]: the rate of link l with its losses
// Exact alone. In traffic that leaves a connection less than its cap it is early by what go-back-N would throw away at that
// rate, less than 1 - (1 - p) / (1 + (N - 1) p); links carry none of what is thrown away.
//     resent = bytes (1 / efficiency - 1)      of all packets but the last one of each message
//
// Mostly a lost packet is missed when the next one comes. The last packet of a message has none behind it: if it is lost, with
// probability p for each of the request's messages (its steps), the message waits for the sender's timeout, again and again
// while that packet is lost again. Which messages these are is drawn: a request's waits depend on the run's seed, on who sends
// how much to whom, on when it began, and on its number among those that are alike (its twin), so that neither the order of
// events nor any other request shifts them. Waits of one request add up, as if none of its messages moved meanwhile; two edges
// that wait at once are counted one after the other.
#include "models/network/fluid_internal.h"
#include "sim/hash.h"
#include "sim/rng.h"
#include <math.h>

bool fluid_minds_transport(const network *n)
{
    return topology_loses(n->topology) || topology_policy(n->topology)->terms.window_bytes > 0;
}

// ---- caps

// Of a packet that crosses a link, or a bundle: the mean of its members by what they carry now.
static double loss_of(const network *n, uint32_t link_or_bundle)
{
    const fluid_network *f = n->state;
    const topology *t = n->topology;
    if (link_or_bundle < topology_link_count(t)) return topology_loss(t, link_or_bundle);
    const bundle_members m = topology_bundle_members(t, link_or_bundle);
    double lost = 0.0, all = 0.0;
    for (uint32_t i = 0; i < m.count; i++) {
        const double rate = (double)fabric_capacity_mBps(f->fabric, m.first + 2 * i);
        lost += rate * topology_loss(t, m.first + 2 * i);
        all += rate;
    }
    return all > 0.0 ? lost / all : 0.0;
}

static transport_way way_of(const network *n, const fluid_strand *s)
{
    const transport_terms *terms = &topology_policy(n->topology)->terms;
    transport_way w = { .bytes = s->bytes,
                        .rate_Bps = s->cap_mBps == MAXMIN_NONE ? INFINITY : (double)s->cap_mBps / 1000.0,
                        .round_trip_s = units_s_from_ps(2 * s->delay_ps + terms->ends_ps) };
    double through = 1.0; // a packet's probability
    for (uint32_t i = 0; i < s->count; i++) {
        const double arrives = 1.0 - loss_of(n, s->path[i]);
        through *= arrives;
        w.rate_Bps = fmin(w.rate_Bps, (double)topology_rate_mBps(n->topology, s->path[i]) / 1000.0 / arrives);
    }
    w.loss = 1.0 - through;
    return w;
}

void fluid_limit_strand(const network *n, fluid_strand *s)
{
    const transport_terms *terms = &topology_policy(n->topology)->terms;
    const transport_way w = way_of(n, s);
    const double goodput_Bps = transport_goodput_Bps(terms, &w);
    const uint64_t cap_mBps = (uint64_t)fmax(goodput_Bps * 1000.0, 1.0);
    if (goodput_Bps < w.rate_Bps && cap_mBps < s->cap_mBps) s->cap_mBps = cap_mBps;
    s->loss = w.loss;
    if (s->loss > 0.0) s->resent_ratio = 1.0 / transport_efficiency(terms, &w) - 1.0;
}

// ---- lost ends of messages

typedef struct draws {
    uint64_t key, who, when;
    uint32_t next;
} draws;

// In [0, 1), 53 bits, as rng_uniform(): a block of the generator for each, for few are drawn.
static double draw(draws *d)
{
    const uint64_t who = hash_mix(d->who + d->next++);
    const uint32_t counter[4] = { (uint32_t)who, (uint32_t)(who >> 32), (uint32_t)d->when,
                                  (uint32_t)(d->when >> 32) },
                   key[2] = { (uint32_t)d->key, (uint32_t)(d->key >> 32) };
    uint32_t out[4];
    rng_philox4x32(counter, key, out);
    return (double)(((uint64_t)out[1] << 32 | out[0]) >> 11) * 0x1p-53;
}

// Failures until so many messages have succeeded, each trial failing with probability loss. From one failure to the next
// there are floor(ln(1 - u) / ln(1 - loss)) successes.
static uint32_t count_failures(draws *d, uint32_t messages, double loss)
{
    uint32_t failures = 0;
    for (double left = messages;;) {
        left -= floor(log1p(-draw(d)) / log1p(-loss));
        if (left <= 0.0) return failures;
        failures++;
    }
}

static uint32_t messages_of(const transfer *t)
{
    return t->delay_crossings > 0 ? t->delay_crossings : 1;
}

static uint32_t draw_timeouts(const network *n, const fluid_flow *flow, const transfer *t,
                              const fluid_strand *s)
{
    const network_edge *edge = &network_edges(n, t)[s->edge];
    draws d = { .key = topology_policy(n->topology)->terms.key, .when = (uint64_t)flow->begin_ps };
    const uint64_t which = (uint64_t)t->twin << 32 | s->pair;
    d.who = hash_mix(hash_mix(hash_mix((uint64_t)edge->from << 32 | edge->to) + s->edge) ^
                     (hash_mix(s->bytes) + which));
    return count_failures(&d, messages_of(t), s->loss);
}

// ---- counting

typedef struct blamed { // a link of the path that loses packets, and its part of the losses
    link_id link;
    double weight;
} blamed;

enum { BLAMED_MAX = 64 }; // more faulty links than that on one path are one too many to tell apart

static void add_blamed(const network *n, link_id l, double share, blamed *list, uint32_t *count)
{
    const double loss = topology_loss(n->topology, l);
    if (loss * share > 0.0 && *count < BLAMED_MAX) list[(*count)++] = (blamed){ l, loss * share };
}

static uint32_t find_blamed(const network *n, const fluid_strand *s, blamed *list)
{
    const topology *t = n->topology;
    const fluid_network *f = n->state;
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->path[i] < topology_link_count(t)) {
            add_blamed(n, s->path[i], 1.0, list, &count);
            continue;
        }
        const bundle_members m = topology_bundle_members(t, s->path[i]);
        const double all = (double)fabric_capacity_mBps(f->fabric, s->path[i]);
        for (uint32_t k = 0; k < m.count && all > 0.0; k++)
            add_blamed(n, m.first + 2 * k, (double)fabric_capacity_mBps(f->fabric, m.first + 2 * k) / all,
                       list, &count);
    }
    return count;
}

// What is sent again before timeouts: all but the last packets, which are sent again one by one.
static link_losses losses_of(const network *n, const transfer *t, const fluid_strand *s, uint32_t timeouts)
{
    const uint64_t messages = messages_of(t),
                   packet_bytes = topology_policy(n->topology)->terms.payload_bytes;
    const uint64_t message_bytes = (s->bytes + messages - 1) / messages;
    const uint64_t last_bytes = (message_bytes - 1) % packet_bytes + 1;
    const double others_bytes = (double)s->bytes - (double)messages * (double)last_bytes;
    return (link_losses){ .resent_bytes = (uint64_t)llround(fmax(others_bytes, 0.0) * s->resent_ratio),
                          .last_bytes = last_bytes * timeouts,
                          .timeouts = timeouts };
}

// Dealt out by weight, to the byte; timeouts to the worst link.
static void blame_links(network *n, const fluid_strand *s, const link_losses *losses)
{
    blamed list[BLAMED_MAX];
    const uint32_t count = find_blamed(n, s, list);
    double all = 0.0, through = 0.0;
    uint32_t worst = 0;
    uint64_t dealt = 0;
    for (uint32_t i = 0; i < count; i++) {
        all += list[i].weight;
        if (list[i].weight > list[worst].weight) worst = i;
    }
    for (uint32_t i = 0; i < count; i++) {
        through += list[i].weight;
        const uint64_t until = i + 1 == count ? losses->resent_bytes
                                              : (uint64_t)((double)losses->resent_bytes * (through / all));
        n->losses[list[i].link].resent_bytes += until - dealt;
        dealt = until;
    }
    if (count == 0) return;
    n->losses[list[worst].link].last_bytes += losses->last_bytes;
    n->losses[list[worst].link].timeouts += losses->timeouts;
}

uint32_t fluid_count_losses(network *n, uint32_t slot)
{
    const fluid_network *f = n->state;
    const transfer *t = &n->transfers.items[slot];
    uint32_t all = 0;
    for (fluid_strand s = { 0 }; fluid_next_strand(n, t, &s);) {
        if (s.loss == 0.0 || s.bytes == 0) continue;
        const uint32_t timeouts = draw_timeouts(n, &f->flows.items[slot], t, &s);
        const link_losses losses = losses_of(n, t, &s, timeouts);
        blame_links(n, &s, &losses);
        n->counters.retransmitted_bytes += (losses.resent_bytes + losses.last_bytes) * t->multiplicity;
        n->counters.timeouts += (uint64_t)timeouts * t->multiplicity;
        all += timeouts;
    }
    return all;
}
