// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/network/network_internal.h"

const char *const network_engine_words[] = { "ideal", "fluid", "packet", "auto", NULL };

network *network_create(arena *a, sim *s, const topology *t, const network_ops *ops, void *state)
{
    network *n = arena_new(a, network);
    *n = (network){ .ops = ops, .arena = a, .sim = s, .topology = t, .state = state, .free_transfer = NO_ID };
    for (uint32_t i = 0; i < EDGE_BLOCK_SIZES; i++)
        n->free_edges[i] = NO_ID;
    n->link_bytes = arena_array(a, uint64_t, topology_link_count(t) + topology_bundle_count(t));
    if (topology_loses(t)) n->losses = arena_array(a, link_losses, topology_link_count(t));
    return n;
}

uint16_t network_add_client(network *n, network_delivered *delivered, void *owner)
{
    SIM_ASSERT(n->clients.count < UINT16_MAX);
    *array_push(&n->clients, n->arena) = (network_client){ .delivered = delivered, .owner = owner };
    return (uint16_t)(n->clients.count - 1);
}

// Edges live in blocks of powers of two; a free block links to the next through the `from` of its first edge. So a request
// costs no allocation once as many of its size have been in flight before.
static uint32_t block_size_of(uint32_t count)
{
    uint32_t size = 0;
    while ((UINT32_C(1) << size) < count)
        size++;
    return size;
}

static uint32_t take_edges(network *n, uint32_t count)
{
    uint32_t size = block_size_of(count), block = n->free_edges[size];
    if (block == NO_ID) {
        block = n->edges.count;
        array_reserve(&n->edges, n->arena, UINT32_C(1) << size);
        n->edges.count += UINT32_C(1) << size;
    } else {
        n->free_edges[size] = n->edges.items[block].from;
    }
    return block;
}

static void give_edges(network *n, uint32_t block, uint32_t count)
{
    uint32_t size = block_size_of(count);
    n->edges.items[block].from = n->free_edges[size];
    n->free_edges[size] = block;
}

static uint32_t take_transfer(network *n)
{
    uint32_t slot = n->free_transfer;
    if (slot == NO_ID) {
        slot = n->transfers.count;
        array_push(&n->transfers, n->arena);
    } else {
        n->free_transfer = n->transfers.items[slot].next_free;
    }
    return slot;
}

static void give_transfer(network *n, uint32_t slot)
{
    transfer *t = &n->transfers.items[slot];
    if (t->prepared1 == 0) give_edges(n, t->edges, t->edge_count);
    t->generation++;
    t->next_free = n->free_transfer;
    n->free_transfer = slot;
    n->counters.in_flight--;
}

static void check_request(const network *n, const network_request *r)
{
    SIM_ASSERT(r->edge_count > 0 && r->edge_count <= UINT32_C(1) << 30);
    SIM_ASSERT(r->latency_ps >= 0 && r->weight > 0 && r->queue_pairs > 0 && r->multiplicity > 0);
    SIM_ASSERT(r->client < n->clients.count);
    for (uint32_t e = 0; e < r->edge_count; e++)
        SIM_ASSERT(r->edges[e].from != r->edges[e].to && r->edges[e].latency_ps >= 0);
}

// Copies its edges.
static transfer transfer_of(network *n, const network_request *request)
{
    check_request(n, request);
    transfer t = { .edges = take_edges(n, request->edge_count),
                   .edge_count = request->edge_count,
                   .delay_crossings = request->delay_crossings,
                   .weight = request->weight,
                   .queue_pairs = request->queue_pairs,
                   .twin = request->twin,
                   .multiplicity = request->multiplicity,
                   .latency_ps = request->latency_ps,
                   .rate_cap_mBps = request->rate_cap_mBps,
                   .tag = request->tag,
                   .client = request->client };
    memcpy(&n->edges.items[t.edges], request->edges, request->edge_count * sizeof *request->edges);
    for (uint32_t e = 0; e < request->edge_count; e++)
        t.bytes += request->edges[e].bytes;
    t.bytes *= request->multiplicity;
    return t;
}

// In a slot, but not yet begun.
static uint32_t place_transfer(network *n, const transfer *made)
{
    const uint32_t slot = take_transfer(n);
    transfer *t = &n->transfers.items[slot];
    const uint32_t generation = t->generation + 1;
    *t = *made;
    t->generation = generation;
    n->counters.in_flight++;
    return slot;
}

static transfer_id begin(network *n, const transfer *made)
{
    const uint32_t slot = place_transfer(n, made);
    transfer_id id = { .index1 = slot + 1, .generation = n->transfers.items[slot].generation };
    n->counters.started++;
    n->counters.bytes_sent += made->bytes;
    if (n->counters.in_flight > n->counters.in_flight_high_water)
        n->counters.in_flight_high_water = n->counters.in_flight;
    n->ops->start(n, slot);
    return id;
}

transfer_id network_start(network *n, const network_request *request)
{
    const transfer made = transfer_of(n, request);
    return begin(n, &made);
}

uint32_t network_prepare(network *n, const network_request *request)
{
    transfer made = transfer_of(n, request);
    made.prepared1 = n->prepared.count + 1;
    *array_push(&n->prepared, n->arena) = made;
    return n->prepared.count - 1;
}

transfer_id network_start_prepared(network *n, uint32_t prepared, uint64_t tag)
{
    SIM_ASSERT(prepared < n->prepared.count);
    transfer made = n->prepared.items[prepared];
    made.tag = tag;
    return begin(n, &made);
}

void network_carry(network *n, const network_request *request, uint64_t times)
{
    const transfer made = transfer_of(n, request);
    const uint32_t slot = place_transfer(n, &made);
    const unsigned __int128 bytes = (unsigned __int128)made.bytes * times;
    n->counters.started += times;
    n->counters.delivered += times;
    n->counters.bytes_sent += bytes;
    n->counters.bytes_received += bytes;
    n->ops->carry(n, slot, times);
    give_transfer(n, slot);
}

network *network_create_like(arena *a, sim *s, const network *n)
{
    return n->ops->create_like(a, s, n);
}

bool network_is_steady(const network *n)
{
    return !n->ops->is_steady || n->ops->is_steady(n);
}

void network_finish(network *n, uint32_t slot)
{
    const transfer t = n->transfers.items[slot]; // a copy: the client may start others, which moves the slots
    n->counters.delivered++;
    n->counters.bytes_received += t.bytes;
    give_transfer(n, slot);
    const network_client *client = &n->clients.items[t.client];
    client->delivered(client->owner, t.tag, (transfer_id){ .index1 = slot + 1, .generation = t.generation });
}

bool network_in_flight(const network *n, transfer_id id)
{
    if (id.index1 == 0) return false;
    SIM_ASSERT(id.index1 <= n->transfers.count);
    return n->transfers.items[id.index1 - 1].generation == id.generation;
}

void network_cancel(network *n, transfer_id id)
{
    SIM_ASSERT(network_in_flight(n, id));
    uint32_t slot = id.index1 - 1;
    n->ops->cancel(n, slot);
    n->counters.cancelled++;
    n->counters.bytes_sent -= n->transfers.items[slot].bytes;
    give_transfer(n, slot);
}

const topology *network_topology(const network *n)
{
    return n->topology;
}

network_engine network_engine_of(const network *n)
{
    return n->ops->engine;
}

network_counters network_counters_of(const network *n)
{
    return n->counters;
}

uint64_t network_link_bytes(const network *n, link_id l)
{
    SIM_ASSERT(l < topology_link_count(n->topology));
    if (n->ops->link_bytes) return n->ops->link_bytes(n, l);
    const uint32_t bundle = topology_bundle_of_link(n->topology, l);
    if (bundle == NO_ID) return n->link_bytes[l];
    // What a bundle has carried was spread evenly over its members; the first ones have a byte more.
    const bundle_members m = topology_bundle_members(n->topology, bundle);
    const uint64_t carried = n->link_bytes[bundle];
    return n->link_bytes[l] + carried / m.count + ((l - m.first) / 2 < carried % m.count);
}

link_troubles network_link_troubles(const network *n, link_id l)
{
    link_troubles troubles = { 0 };
    const link_faults *faults = topology_faults_of(n->topology, l);
    if (!faults) return troubles;
    if (faults->frame_error > 0.0)
        troubles.retransmitted_bytes = (uint64_t)((double)network_link_bytes(n, l) * faults->resent_ratio);
    const link_losses losses = n->losses ? n->losses[l] : (link_losses){ 0 };
    const uint64_t packet_bytes = topology_packet_bytes(n->topology, l);
    troubles.retransmitted_bytes += losses.resent_bytes;
    troubles.retransmitted_packets = (troubles.retransmitted_bytes + packet_bytes - 1) / packet_bytes;
    troubles.retransmitted_packets += losses.timeouts;
    troubles.retransmitted_bytes += losses.last_bytes;
    troubles.timeouts = losses.timeouts;
    return troubles;
}

void network_set_link(network *n, link_id l, double ratio)
{
    SIM_ASSERT(n->ops->set_link && l < topology_link_count(n->topology) && ratio >= 0.0 && ratio <= 1.0);
    n->ops->set_link(n, l, ratio);
}

network_stuck_report network_stuck(const network *n)
{
    network_stuck_report report = { .down = NO_ID };
    for (uint32_t slot = 0; n->ops->stuck && slot < n->transfers.count; slot++) {
        const transfer *t = &n->transfers.items[slot];
        uint32_t down = NO_ID;
        if (t->generation % 2 == 0 || !n->ops->stuck(n, slot, &down)) continue;
        if (report.transfers++ > 0) continue;
        report.from = network_edges(n, t)->from;
        report.to = network_edges(n, t)->to;
        report.down = down;
    }
    return report;
}

void network_verify(const network *n)
{
    const network_counters *c = &n->counters;
    uint32_t in_flight = 0, free = 0;
    unsigned __int128 bytes = 0;
    for (uint32_t i = 0; i < n->transfers.count; i++) {
        const transfer *t = &n->transfers.items[i];
        if (t->generation % 2 == 0) continue;
        in_flight++;
        bytes += t->bytes;
    }
    for (uint32_t slot = n->free_transfer; slot != NO_ID; slot = n->transfers.items[slot].next_free) {
        SIM_ASSERT(n->transfers.items[slot].generation % 2 == 0);
        free++;
    }
    SIM_ASSERT(in_flight == c->in_flight && in_flight + free == n->transfers.count);
    SIM_ASSERT(c->started == c->delivered + c->cancelled + in_flight);
    SIM_ASSERT(c->bytes_sent == c->bytes_received + bytes); // conservation: at rest, sent = received
    n->ops->verify(n);
}
