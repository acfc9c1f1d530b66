// SPDX-License-Identifier: GPL-3.0-or-later
// From a request to a flow: the links and bundles it crosses, how many times it loads each, its work and its latency.
//
// A strand is one connection: an edge, or one of the queue pairs of an edge that goes through the network, with an even part
// of its bytes, a path of its own and the cap of a queue pair. Of one strand, factors are 1, the work is its bytes, and the
// latency is the edge's and the delays of its path.
//
// A request of several strands is one flow whose strands keep pace, so link l carries S_l bytes (the sum over the strands
// that cross it) while the flow does its work. The least strand, b bytes, is the unit (but not less than 1/64 of the greatest,
// so that no factor gets out of hand).
//     a_l = S_l / b, rounded up to a whole number, down where the excess is at most b / 1024 + 8 bytes per strand
//     work = S_p / a_p      p: the link that would take longest alone, with the greatest S_p / C_p
// So a_l counts the unit strands on l: those of a ring, of the rings that share a pair, of queue pairs; each gets as much as a
// transfer of one strand does. Where sizes are whole multiples of the least to within the tolerance, as with all plans of
// rings from about 1 KiB a chunk on, nothing is lost but the tolerance. For other sizes a_l is less than 1 too large and
// never more than 1/1024 (and 8 bytes a strand) too small: a link may seem fuller than it is, by at most the rate of one unit
// strand, but hardly emptier.
// Its latency is chosen so that alone it takes what the slowest strand takes on its own, latency and wire together:
//     T = max over strands of (latency_e + crossings delay_e + W_e) = W + tail       [ps]
// W: the flow alone   W_e: the links of strand e alone, each with all that the request takes over it
// for a strand that is faster than the pace may have a longer latency. Exact for a stream alone, which then equals the ideal
// network unless its edges share links; in traffic that slows only strands below the pace it is early by at most W - W_e.
#include "models/network/fluid_internal.h"

// ---- strands

static bool same_path(const uint32_t *a, uint32_t a_count, const uint32_t *b, uint32_t b_count)
{
    return a_count == b_count && memcmp(a, b, a_count * sizeof *a) == 0;
}

// The path that routing gives now. When none leads there, the one on which the flow then waits.
static void find_route(const network *n, const network_edge *edge, fluid_strand *s)
{
    const fluid_network *f = n->state;
    s->strays = false;
    s->count = route_find(n->topology, f->fabric, edge->from, edge->to, s->pair, s->path);
    if (fabric_avoided_count(f->fabric) > 0 || fabric_down_count(f->fabric) > 0) {
        uint32_t healthy[TOPOLOGY_PATH_MAX];
        const uint32_t count = route_find(n->topology, NULL, edge->from, edge->to, s->pair, healthy);
        s->strays = s->count == ROUTE_NONE || !same_path(s->path, s->count, healthy, count);
        if (s->count == ROUTE_NONE) {
            s->count = route_wait(n->topology, f->fabric, edge->from, edge->to, s->pair, s->path);
        }
    }
    SIM_ASSERT(s->count > 0 && s->count <= TOPOLOGY_PATH_MAX);
}

static const topology_link *link_of(const topology *t, uint32_t link_or_bundle)
{
    if (link_or_bundle < topology_link_count(t)) return topology_link_at(t, link_or_bundle);
    return topology_link_at(t, topology_bundle_members(t, link_or_bundle).first); // they are all alike
}

static bool crosses_network(const network *n, const fluid_strand *s)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (link_of(n->topology, s->path[i])->class == LINK_NETWORK) return true;
    return false;
}

// The delay of its path, and with it the latency of the edge.
static void add_latency(const network *n, const transfer *t, const network_edge *edge, fluid_strand *s)
{
    s->delay_ps = 0;
    for (uint32_t i = 0; i < s->count; i++)
        s->delay_ps += link_of(n->topology, s->path[i])->delay_ps;
    const __int128 latency_ps = edge->latency_ps + (__int128)t->delay_crossings * s->delay_ps;
    SIM_ASSERT(latency_ps <= SIM_TIME_MAX / 2); // the horizon
    s->latency_ps = (sim_time)latency_ps;
}

// Of each strand of an edge: its part of the request's, and what a queue pair carries.
static uint64_t cap_of(const fabric_policy *policy, const transfer *t, const fluid_strand *s, bool networked)
{
    uint64_t cap_mBps = t->rate_cap_mBps > 0 ? t->rate_cap_mBps / s->pairs : MAXMIN_NONE;
    if (networked && policy->queue_pair_cap_mBps > 0 && policy->queue_pair_cap_mBps < cap_mBps)
        cap_mBps = policy->queue_pair_cap_mBps;
    return cap_mBps > 0 ? cap_mBps : 1;
}

// From {0} through all strands of the request, by edge and queue pair; false at the end.
bool fluid_next_strand(const network *n, const transfer *t, fluid_strand *s)
{
    const fabric_policy *policy = topology_policy(n->topology);
    if (s->pair + 1 < s->pairs) {
        s->pair++;
    } else {
        if (s->pairs > 0) s->edge++;
        if (s->edge == t->edge_count) return false;
        s->pair = 0;
        s->pairs = 1;
    }
    const network_edge *edge = &network_edges(n, t)[s->edge];
    find_route(n, edge, s);
    const uint32_t wanted = t->queue_pairs > policy->queue_pairs ? t->queue_pairs : policy->queue_pairs;
    const bool networked = (wanted > 1 || policy->queue_pair_cap_mBps > 0) && crosses_network(n, s);
    if (networked) s->pairs = wanted;
    s->bytes = edge->bytes / s->pairs + (s->pair < edge->bytes % s->pairs);
    s->cap_mBps = cap_of(policy, t, s, networked);
    add_latency(n, t, edge, s);
    s->loss = s->resent_ratio = 0.0;
    if (fluid_minds_transport(n) && crosses_network(n, s)) fluid_limit_strand(n, s);
    return true;
}

// ---- one strand

static fluid_work work_of(uint64_t bytes)
{
    return (fluid_work)bytes * FLUID_WORK_PER_BYTE;
}

static fluid_demand demand_of_one(network *n, const fluid_strand *s)
{
    fluid_network *f = n->state;
    array_clear(&f->path);
    array_reserve(&f->path, n->arena, s->count);
    for (uint32_t i = 0; i < s->count; i++)
        f->path.items[i] = (fluid_crossing){ .link = s->path[i], .factor = 1, .bytes = s->bytes };
    f->path.count = s->count;
    return (fluid_demand){ .work = work_of(s->bytes),
                           .pace_bytes = s->bytes,
                           .cap_mBps = s->cap_mBps,
                           .delay_ps = s->delay_ps,
                           .tail_ps = s->latency_ps,
                           .strays = s->strays };
}

// ---- several strands

// Half of the clock at most: what takes longer does not end, whatever its latency.
static sim_time wire_ps(fluid_work work, uint64_t rate_mBps)
{
    const fluid_work time_ps = (work + rate_mBps - 1) / rate_mBps, most_ps = SIM_TIME_MAX / 2;
    return (sim_time)(time_ps < most_ps ? time_ps : most_ps);
}

static void path_add(network *n, uint32_t link, uint64_t bytes)
{
    fluid_network *f = n->state;
    if (f->place_of_link[link] == 0) {
        array_push(&f->path, n->arena)->link = link;
        f->place_of_link[link] = f->path.count;
    }
    fluid_crossing *crossing = &f->path.items[f->place_of_link[link] - 1];
    SIM_ASSERT(bytes <= UINT64_MAX - crossing->bytes);
    crossing->factor++;
    crossing->bytes += bytes;
}

// Of all strands together.
typedef struct strand_sum {
    uint64_t unit_bytes; // the bytes of the least that has any, or 1/64 of the greatest
    sim_time capped_ps;  // what the slowest of them takes by its cap; 0: there is none
    sim_time least_latency_ps, most_latency_ps, delay_ps;
    bool strays;
} strand_sum;

// Lays all strands on the path.
static strand_sum lay_strands(network *n, const transfer *t)
{
    enum { UNITS_MAX = 64 };
    uint64_t least = UINT64_MAX, greatest = 0;
    strand_sum sum = { .least_latency_ps = SIM_TIME_MAX };
    for (fluid_strand s = { 0 }; fluid_next_strand(n, t, &s);) {
        if (s.latency_ps < sum.least_latency_ps) sum.least_latency_ps = s.latency_ps;
        if (s.latency_ps > sum.most_latency_ps) sum.most_latency_ps = s.latency_ps;
        if (s.delay_ps > sum.delay_ps) sum.delay_ps = s.delay_ps;
        sum.strays |= s.strays;
        if (s.bytes == 0) continue;
        if (s.bytes > greatest) greatest = s.bytes;
        if (s.bytes < least) least = s.bytes;
        if (s.cap_mBps != MAXMIN_NONE) {
            const sim_time capped_ps = wire_ps(work_of(s.bytes), s.cap_mBps);
            if (capped_ps > sum.capped_ps) sum.capped_ps = capped_ps;
        }
        for (uint32_t i = 0; i < s.count; i++)
            path_add(n, s.path[i], s.bytes);
    }
    uint64_t part = greatest / UNITS_MAX + (greatest % UNITS_MAX > 0);
    sum.unit_bytes = least > part ? least : part;
    return sum;
}

static uint32_t units_in(uint64_t bytes, uint64_t unit_bytes, uint32_t strands)
{
    uint64_t units = bytes / unit_bytes, rest = bytes % unit_bytes;
    units += rest > unit_bytes / 1024 + (uint64_t)8 * strands;
    if (units == 0) units = 1;
    return units < UINT32_MAX ? (uint32_t)units : UINT32_MAX;
}

// The place in the path of the link that would take longest alone; ties: the fewest bytes, then the least id, whatever the
// order of the edges. Of those that still tie all have the same rate, so that no numbering of links shows.
static uint32_t pace_link(const network *n)
{
    const fluid_network *f = n->state;
    uint32_t pace = 0;
    for (uint32_t i = 1; i < f->path.count; i++) {
        const fluid_crossing *a = &f->path.items[pace], *b = &f->path.items[i];
        fluid_work of_a = (fluid_work)a->bytes * topology_rate_mBps(n->topology, b->link),
                   of_b = (fluid_work)b->bytes * topology_rate_mBps(n->topology, a->link);
        if (of_b < of_a || (of_b == of_a && b->bytes > a->bytes)) continue;
        if (of_b > of_a || b->bytes < a->bytes || b->link < a->link) pace = i;
    }
    return pace;
}

static sim_time strand_wire_ps(const network *n, const fluid_strand *s)
{
    const fluid_network *f = n->state;
    sim_time longest_ps = 0;
    if (s->bytes == 0) return 0;
    if (s->cap_mBps != MAXMIN_NONE) longest_ps = wire_ps(work_of(s->bytes), s->cap_mBps);
    for (uint32_t i = 0; i < s->count; i++) {
        const fluid_crossing *crossing = &f->path.items[f->place_of_link[s->path[i]] - 1];
        sim_time time_ps = wire_ps(work_of(crossing->bytes), topology_rate_mBps(n->topology, s->path[i]));
        if (time_ps > longest_ps) longest_ps = time_ps;
    }
    return longest_ps;
}

static sim_time flow_wire_ps(const network *n, const fluid_demand *demand)
{
    const fluid_network *f = n->state;
    uint64_t rate_mBps = demand->cap_mBps;
    for (uint32_t i = 0; i < f->path.count; i++) {
        const fluid_crossing *crossing = &f->path.items[i];
        uint64_t of_link = topology_rate_mBps(n->topology, crossing->link) / crossing->factor;
        if (of_link < rate_mBps) rate_mBps = of_link;
    }
    return wire_ps(demand->work, rate_mBps > 0 ? rate_mBps : 1);
}

// The longest that a strand takes alone, with its latency.
static sim_time longest_strand_ps(const network *n, const transfer *t, const strand_sum *sum)
{
    const fluid_network *f = n->state;
    sim_time longest_ps = 0;
    if (sum->least_latency_ps == sum->most_latency_ps) { // then it is that of the slowest link, or by cap
        longest_ps = sum->capped_ps;
        for (uint32_t i = 0; i < f->path.count; i++) {
            const fluid_crossing *crossing = &f->path.items[i];
            const sim_time time_ps = wire_ps(work_of(crossing->bytes),
                                             topology_rate_mBps(n->topology, crossing->link));
            if (time_ps > longest_ps) longest_ps = time_ps;
        }
        return longest_ps + sum->most_latency_ps;
    }
    for (fluid_strand s = { 0 }; fluid_next_strand(n, t, &s);) {
        const sim_time own_ps = s.latency_ps + strand_wire_ps(n, &s);
        if (own_ps > longest_ps) longest_ps = own_ps;
    }
    return longest_ps;
}

// The cap of the unit, by which no strand is faster than its own, and the tail.
static void add_limits(const network *n, const transfer *t, const strand_sum *sum, fluid_demand *demand)
{
    demand->delay_ps = sum->delay_ps;
    demand->strays = sum->strays;
    if (sum->capped_ps > 0) {
        const uint64_t capped_ps = (uint64_t)sum->capped_ps;
        const fluid_work cap_mBps = (demand->work + capped_ps - 1) / capped_ps;
        demand->cap_mBps = cap_mBps < MAXMIN_NONE ? (uint64_t)cap_mBps : MAXMIN_NONE;
    }
    const sim_time longest_ps = longest_strand_ps(n, t, sum), together_ps = flow_wire_ps(n, demand);
    demand->tail_ps = longest_ps > together_ps ? longest_ps - together_ps : 0;
}

static fluid_demand demand_of_many(network *n, const transfer *t)
{
    fluid_network *f = n->state;
    fluid_demand demand = { .cap_mBps = MAXMIN_NONE };
    array_clear(&f->path);
    const strand_sum sum = lay_strands(n, t);
    if (f->path.count > 0) {
        for (uint32_t i = 0; i < f->path.count; i++) // strands were counted in the factor
            f->path.items[i].factor = units_in(f->path.items[i].bytes, sum.unit_bytes,
                                               f->path.items[i].factor);
        const fluid_crossing *p = &f->path.items[pace_link(n)];
        demand.work = (work_of(p->bytes) + p->factor - 1) / p->factor;
        demand.pace_bytes = p->bytes / p->factor + (p->bytes % p->factor > 0);
    }
    add_limits(n, t, &sum, &demand);
    for (uint32_t i = 0; i < f->path.count; i++)
        f->place_of_link[f->path.items[i].link] = 0;
    return demand;
}

fluid_demand fluid_find_path(network *n, uint32_t slot)
{
    const transfer *t = &n->transfers.items[slot];
    fluid_strand first = { 0 };
    if (t->edge_count == 1 && fluid_next_strand(n, t, &first) && first.pairs == 1)
        return demand_of_one(n, &first);
    return demand_of_many(n, t);
}

// ---- blocks of crossings: as those of edges (network.c)

static uint32_t block_size_of(uint32_t count)
{
    uint32_t size = 0;
    while ((UINT32_C(1) << size) < count)
        size++;
    return size;
}

// f->path in a block of the pool; returns where it begins.
static uint32_t store_path(network *n)
{
    fluid_network *f = n->state;
    uint32_t count = f->path.count, size = block_size_of(count), block = f->free_blocks[size];
    if (block == NO_ID) {
        block = f->pool.count;
        array_reserve(&f->pool, n->arena, UINT32_C(1) << size);
        f->pool.count += UINT32_C(1) << size;
    } else {
        f->free_blocks[size] = f->pool.items[block].link;
    }
    if (count > 0) memcpy(&f->pool.items[block], f->path.items, count * sizeof *f->path.items);
    return block;
}

static void free_path(fluid_network *f, uint32_t block, uint32_t count)
{
    uint32_t size = block_size_of(count);
    f->pool.items[block].link = f->free_blocks[size];
    f->free_blocks[size] = block;
}

void fluid_store_path(network *n, uint32_t slot)
{
    fluid_network *f = n->state;
    const uint32_t block = store_path(n);
    fluid_flow *flow = &f->flows.items[slot];
    flow->crossings = block;
    flow->crossing_count = f->path.count;
}

void fluid_forget_path(network *n, uint32_t slot)
{
    fluid_network *f = n->state;
    const fluid_flow *flow = &f->flows.items[slot];
    free_path(f, flow->crossings, flow->crossing_count);
}

// Routes depend on which links are up and on what routing knows of them, so a path holds until either changes.
fluid_demand fluid_recall_path(network *n, uint32_t slot)
{
    fluid_network *f = n->state;
    const uint32_t prepared1 = n->transfers.items[slot].prepared1;
    if (prepared1 == 0) return fluid_find_path(n, slot);
    while (f->known_paths.count < prepared1)
        array_push(&f->known_paths, n->arena);
    fluid_known_path *known = &f->known_paths.items[prepared1 - 1];
    if (known->as_of1 == f->changes + 1) {
        array_clear(&f->path);
        array_reserve(&f->path, n->arena, known->crossing_count);
        if (known->crossing_count > 0)
            memcpy(f->path.items, &f->pool.items[known->crossings],
                   known->crossing_count * sizeof *f->path.items);
        f->path.count = known->crossing_count;
        return known->demand;
    }
    if (known->as_of1 > 0) free_path(f, known->crossings, known->crossing_count);
    known->demand = fluid_find_path(n, slot);
    known->crossings = store_path(n);
    known->crossing_count = f->path.count;
    known->as_of1 = f->changes + 1;
    return known->demand;
}

bool fluid_path_is_same(const network *n, uint32_t slot)
{
    const fluid_network *f = n->state;
    const fluid_flow *flow = &f->flows.items[slot];
    const fluid_crossing *stored = &f->pool.items[flow->crossings];
    if (f->path.count != flow->crossing_count) return false;
    for (uint32_t i = 0; i < flow->crossing_count; i++)
        if (stored[i].link != f->path.items[i].link || stored[i].factor != f->path.items[i].factor)
            return false;
    return true;
}

// ---- in and out of the solver

void fluid_enter(network *n, uint32_t slot)
{
    fluid_network *f = n->state;
    const transfer *t = &n->transfers.items[slot];
    fluid_flow *flow = &f->flows.items[slot];
    const fluid_crossing *crossings = &f->pool.items[flow->crossings];
    array_clear(&f->links_of_path);
    array_clear(&f->factors_of_path);
    array_reserve(&f->links_of_path, n->arena, flow->crossing_count);
    array_reserve(&f->factors_of_path, n->arena, flow->crossing_count);
    for (uint32_t i = 0; i < flow->crossing_count; i++) {
        f->links_of_path.items[i] = crossings[i].link;
        f->factors_of_path.items[i] = crossings[i].factor;
    }
    // The level of a cap is rounded down: not to nothing.
    const uint64_t cap_mBps = flow->cap_mBps < t->weight ? t->weight : flow->cap_mBps;
    flow->solver_flow = maxmin_arrive(f->solver, &(maxmin_demand){ .links = f->links_of_path.items,
                                                                   .factors = f->factors_of_path.items,
                                                                   .hops = flow->crossing_count,
                                                                   .weight = t->weight,
                                                                   .cap = cap_mBps });
    while (f->slot_of_flow.count <= flow->solver_flow)
        array_push(&f->slot_of_flow, n->arena);
    f->slot_of_flow.items[flow->solver_flow] = slot;
    fluid_settle_later(n);
}

void fluid_leave(network *n, uint32_t slot)
{
    fluid_network *f = n->state;
    fluid_flow *flow = &f->flows.items[slot];
    maxmin_depart(f->solver, flow->solver_flow);
    flow->solver_flow = NO_ID;
    fluid_settle_later(n);
}
