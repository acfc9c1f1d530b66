// SPDX-License-Identifier: GPL-3.0-or-later
// Shapes: what all equal requests share, worked out once. The plan is laid on the group's endpoints, the protocol chosen, and
// each edge gets its latency and its bytes as the links see them.
#include "models/collective/collective_internal.h"
#include <math.h>

static const protocol_terms *terms_of(const collectives *c, const shape *s)
{
    return &c->options.terms->ring[s->choice.protocol];
}

static path_facts path_of(const collectives *c, const network_edge *edge)
{
    return topology_path_facts(network_topology(c->network), edge->from, edge->to);
}

// A pair that m of R rings share gives each a share of its rate: together they carry R / m times the rate past it.
static ring_hops hops_of(const collectives *c, const shape *s, const plan *p)
{
    ring_hops hops = { .rate_mBps = UINT64_MAX };
    for (uint32_t e = 0; e < p->edge_count; e++) {
        path_facts path = path_of(c, &s->edges[e]);
        SIM_ASSERT(path.rate_mBps <= UINT64_MAX / p->rings);
        uint64_t rate_mBps = path.rate_mBps * p->rings / p->edges[e].rings;
        if (rate_mBps < hops.rate_mBps) hops.rate_mBps = rate_mBps;
        hops.counts[path.class] += p->edges[e].rings;
    }
    return hops;
}

// The latency of a step [ps], rounded up: the mean over the rings' hops of max(hop, delay). hop is the protocol's, by the
// widest class of the path; it is from end to end, so that the path's delay is in it, unless the path is longer than that.
// The mean, because a chunk meets one hop after another and the hops of different chunks overlap: over n - 1 steps it has
// met them all but one. NCCL adds up the same (src/graph/tuning.cc, ncclTopoTuneModel: steps between nodes and others, each
// with its latency). Exact where hops are alike; a step over the network then seems shorter and one inside a node longer
// than they are. An upper bound where the slowest hop's bytes take longer than a chunk's way round divided by n: they hide
// latency there.
static sim_time step_latency_ps(const collectives *c, const shape *s, const plan *p)
{
    unsigned __int128 sum_ps = 0;
    uint64_t hops = 0;
    for (uint32_t e = 0; e < p->edge_count; e++) {
        path_facts path = path_of(c, &s->edges[e]);
        sim_time hop_ps = terms_of(c, s)->hop_ps[path.class];
        sum_ps += (uint64_t)(hop_ps > path.delay_ps ? hop_ps : path.delay_ps) *
                  (unsigned __int128)p->edges[e].rings;
        hops += p->edges[e].rings;
    }
    return hops ? (sim_time)((sum_ps + hops - 1) / hops) : 0;
}

// What the network will have delivered at the end: of messages, each transfer is rounded up to whole bytes by itself.
static uint64_t network_bytes_of(collectives *c, const shape *s)
{
    const cached_plan *cached = plan_cache_at(c->plans, s->plan);
    uint64_t bytes = 0;
    for (uint32_t t = 0; t < cached->transfer_count; t++)
        bytes += protocol_wire_bytes(terms_of(c, s), cached_transfer_bytes(cached, t));
    for (uint32_t e = 0; c->options.grain == GRAIN_STREAMS && e < cached->plan.edge_count; e++)
        bytes += s->edges[e].bytes;
    return bytes;
}

// The rank whose messages, one after another, take longest, sets the pace of all pairs: the largest takes as long as all of
// that rank's together.
static uint64_t pair_rate_mBps(const collectives *c, const shape *s, const plan *p)
{
    unsigned __int128 longest_ps = 0;
    uint64_t largest = 0;
    for (uint32_t e = 0; e < p->edge_count;) {
        unsigned __int128 port_ps = 0;
        for (const uint32_t from = p->edges[e].from; e < p->edge_count && p->edges[e].from == from; e++) {
            port_ps += (uint64_t)units_wire_time_ps(s->edges[e].bytes, path_of(c, &s->edges[e]).rate_mBps);
            if (s->edges[e].bytes > largest) largest = s->edges[e].bytes;
        }
        if (port_ps > longest_ps) longest_ps = port_ps;
    }
    if (longest_ps == 0) return 0;
    const unsigned __int128 rate_mBps = (unsigned __int128)largest * UINT64_C(1000000000000000) / longest_ps;
    return rate_mBps > 0 ? (uint64_t)rate_mBps : 1;
}

// Of the buffer of an all-reduce in the NVSwitch: what the slowest member does, but not more than a link carries
// (n + 1) / n of it. 0: not all members are on one, or it cannot.
static uint64_t nvls_rate_mBps(const collectives *c, const shape *s, const plan *p)
{
    const group_def *g = &c->groups.items[s->key.group].def;
    const topology *t = network_topology(c->network);
    uint64_t rate_mBps = UINT64_MAX;
    if (c->options.grain != GRAIN_STREAMS || g->count == 1) return 0;
    for (uint32_t m = 0; m < g->count; m++) {
        if (topology_domain_of(t, g->members[m]) != topology_domain_of(t, g->members[0])) return 0;
        const uint64_t own_mBps = topology_nvls_rate_mBps(t, g->members[m]);
        if (own_mBps < rate_mBps) rate_mBps = own_mBps;
    }
    for (uint32_t e = 0; e < p->edge_count; e++) {
        const unsigned __int128 link_mBps = path_of(c, &s->edges[e]).rate_mBps;
        const uint64_t carried_mBps = (uint64_t)(link_mBps * g->count / (g->count + 1));
        if (carried_mBps < rate_mBps) rate_mBps = carried_mBps;
    }
    return rate_mBps;
}

// The plan on the endpoints of the group.
static const plan *lay_plan(collectives *c, shape *s, collective_algorithm algorithm)
{
    const group *g = &c->groups.items[s->key.group];
    s->plan = plan_cache_find(c->plans, s->key.kind, algorithm, g->rings, s->key.bytes);
    const plan *p = &plan_cache_at(c->plans, s->plan)->plan;
    SIM_ASSERT(p->ranks == g->def.count);
    s->edges = arena_array(c->arena, network_edge, p->edge_count);
    for (uint32_t e = 0; e < p->edge_count; e++)
        s->edges[e] = (network_edge){ .from = g->def.members[p->edges[e].from],
                                      .to = g->def.members[p->edges[e].to] };
    return p;
}

// The library's latency of an NVLS all-reduce is that of its one step, from end to end.
static sim_time nvls_latency_ps(const collectives *c, const shape *s, const plan *p)
{
    sim_time latency_ps = c->options.terms->nvls.base_ps;
    for (uint32_t e = 0; e < p->edge_count; e++) {
        const sim_time delay_ps = path_of(c, &s->edges[e]).delay_ps;
        if (delay_ps > latency_ps) latency_ps = delay_ps;
    }
    return latency_ps;
}

// (n + 1) / n of the rate of the buffer.
static uint64_t nvls_cap_mBps(const plan *p, uint64_t rate_mBps)
{
    return (uint64_t)((unsigned __int128)rate_mBps * (p->ranks + 1) / p->ranks);
}

// Linear in the logarithm of the size; constant beyond the ends.
static double share_at(const bind_points *curve, double bytes)
{
    const uint32_t last = curve->count - 1;
    if (bytes <= curve->x[0]) return curve->y[0];
    if (bytes >= curve->x[last]) return curve->y[last];
    uint32_t i = 1;
    while (bytes > curve->x[i])
        i++;
    const double u = log(bytes / curve->x[i - 1]) / log(curve->x[i] / curve->x[i - 1]);
    return curve->y[i - 1] + u * (curve->y[i] - curve->y[i - 1]);
}

// A collective's copy loops do not fill the links at once: their rate inside a node grows with the bytes that pass a rank, far
// beyond where latency matters (collectives.csv). As a cap of the edges, so that others may have what they leave. The share is
// of payload; what the protocol adds on the wire comes on top.
static uint64_t ring_cap_mBps(const collectives *c, const shape *s, const plan *p, const ring_hops *hops)
{
    const bind_points *curve = c->options.ring_efficiency;
    const bool inside = hops->counts[LINK_PCIE] == 0 && hops->counts[LINK_NETWORK] == 0;
    if (!curve || curve->count == 0 || !inside || c->options.grain != GRAIN_STREAMS) return 0;
    const double past_bytes = (double)plan_payload_bytes(p) / p->ranks;
    const double share = share_at(curve, past_bytes) / terms_of(c, s)->payload_ratio;
    uint64_t rate_mBps = UINT64_MAX;
    for (uint32_t e = 0; e < p->edge_count; e++) {
        const uint64_t own_mBps = path_of(c, &s->edges[e]).rate_mBps;
        if (own_mBps < rate_mBps) rate_mBps = own_mBps;
    }
    return p->edge_count == 0 || share >= 1.0 ? 0 : (uint64_t)(share * (double)rate_mBps);
}

static void fill_shape(collectives *c, shape *s)
{
    const plan *p = lay_plan(c, s, plan_usual_algorithm(s->key.kind));
    ring_hops hops = hops_of(c, s, p);
    if (p->kind == COLLECTIVE_ALL_REDUCE) hops.nvls_rate_mBps = nvls_rate_mBps(c, s, p);
    s->choice = collective_choose(c->options.terms, p->kind, p->ranks, p->bytes, &hops,
                                  s->key.forced_protocol, c->options.forced_algorithm);
    const bool nvls = s->choice.algorithm == ALGORITHM_NVLS;
    if (nvls) p = lay_plan(c, s, ALGORITHM_NVLS);
    const sim_time step_ps = nvls ? nvls_latency_ps(c, s, p) : step_latency_ps(c, s, p);
    const sim_time times = c->options.grain == GRAIN_STREAMS ? p->steps : 1;
    for (uint32_t e = 0; e < p->edge_count; e++) {
        network_edge *edge = &s->edges[e];
        const sim_time delay_ps = path_of(c, edge).delay_ps; // the network adds it, once a step
        edge->latency_ps = step_ps > delay_ps ? times * (step_ps - delay_ps) : 0;
        edge->bytes = protocol_wire_bytes(terms_of(c, s), p->edges[e].bytes);
    }
    s->least_rings = UINT32_MAX;
    for (uint32_t e = 0; e < p->edge_count; e++)
        if (p->edges[e].rings < s->least_rings) s->least_rings = p->edges[e].rings;
    if (p->kind == COLLECTIVE_ALL_TO_ALL) s->edge_cap_mBps = pair_rate_mBps(c, s, p);
    if (s->choice.algorithm == ALGORITHM_RING) s->edge_cap_mBps = ring_cap_mBps(c, s, p, &hops);
    if (nvls) s->edge_cap_mBps = nvls_cap_mBps(p, hops.nvls_rate_mBps);
    s->payload_bytes = plan_payload_bytes(p);
    s->network_bytes = network_bytes_of(c, s);
    s->requests = c->options.grain == GRAIN_STREAMS ? p->steps > 0 : shape_plan(c, s)->transfer_count;
}

static bool same_request(const collective_request *a, const collective_request *b)
{
    return a->kind == b->kind && a->group == b->group && a->bytes == b->bytes &&
           a->forced_protocol == b->forced_protocol;
}

uint32_t shape_find(collectives *c, const collective_request *request)
{
    SIM_ASSERT(request->group < c->groups.count && request->kind < COLLECTIVE_KINDS);
    SIM_ASSERT(request->kind != COLLECTIVE_SEND_RECV || c->groups.items[request->group].def.count == 2);
    uint64_t key = request->bytes ^ (uint64_t)request->group << 32 ^ (uint64_t)request->kind << 60 ^
                   (uint64_t)(request->forced_protocol + 1) << 56;
    uint32_t first = NO_ID;
    map_get(c->shape_by_key, key, &first);
    for (uint32_t i = first; i != NO_ID; i = c->shapes.items[i].next)
        if (same_request(&c->shapes.items[i].key, request)) return i;
    shape *s = array_push(&c->shapes, c->arena);
    s->key = *request;
    s->next = first;
    s->alone_ps = ALONE_UNKNOWN;
    s->prepared = NO_ID;
    fill_shape(c, s);
    map_set(c->shape_by_key, key, c->shapes.count - 1);
    return c->shapes.count - 1;
}

// ---- requests ----

// Each ring has a share of its own in what others want too: of a pair that several rings share, the transfers weigh as many
// times those of the pair with the fewest, as in a stream (models/network/fluid_path.c).
static uint32_t weight_of(const shape *s, const plan *p, uint32_t edge)
{
    return (p->edges[edge].rings + s->least_rings - 1) / s->least_rings;
}

network_request shape_transfer(const collectives *c, const shape *s, uint32_t t, network_edge *edge)
{
    const cached_plan *cached = shape_plan(c, s);
    const uint32_t e = cached_first_message(cached, t)->edge;
    *edge = s->edges[e];
    edge->bytes = protocol_wire_bytes(terms_of(c, s), cached_transfer_bytes(cached, t));
    return (network_request){ .edges = edge,
                              .edge_count = 1,
                              .delay_crossings = 1,
                              .weight = weight_of(s, &cached->plan, e),
                              .queue_pairs = 1,
                              .multiplicity = c->groups.items[s->key.group].def.multiplicity };
}

// On the ideal network the pairs of an all-to-all would not share their ports, but for the cap. On others they do.
network_request shape_stream(const collectives *c, const shape *s)
{
    const bool free = s->key.kind == COLLECTIVE_ALL_TO_ALL && network_engine_of(c->network) != ENGINE_IDEAL;
    const plan *p = &shape_plan(c, s)->plan;
    return (network_request){ .edges = s->edges,
                              .edge_count = p->edge_count,
                              .latency_ps = s->choice.base_ps,
                              .delay_crossings = p->steps,
                              .rate_cap_mBps = free ? 0 : s->edge_cap_mBps,
                              .weight = 1,
                              .queue_pairs = 1,
                              .multiplicity = c->groups.items[s->key.group].def.multiplicity };
}

uint32_t collective_shape(collectives *c, const collective_request *request)
{
    return shape_find(c, request);
}

// ---- forecast ----

// One edge alone: all its steps, each of the largest chunks (messages), or all its bytes at once (streams).
static double edge_time_s(const collectives *c, const shape *s, const plan *p, uint32_t e)
{
    const path_facts path = path_of(c, &s->edges[e]);
    if (c->options.grain == GRAIN_STREAMS) {
        const bool capped = s->edge_cap_mBps > 0 && s->edge_cap_mBps < path.rate_mBps;
        sim_time wire_ps = units_wire_time_ps(s->edges[e].bytes, capped ? s->edge_cap_mBps : path.rate_mBps);
        return units_s_from_ps(s->edges[e].latency_ps + p->steps * path.delay_ps + wire_ps);
    }
    uint64_t largest = protocol_wire_bytes(terms_of(c, s),
                                           p->edges[e].rings * plan_chunk_bytes(p->bytes, p->chunks, 0));
    sim_time step_ps = s->edges[e].latency_ps + path.delay_ps + units_wire_time_ps(largest, path.rate_mBps);
    return p->steps * units_s_from_ps(step_ps);
}

uint64_t collective_transfer_count(collectives *c, const collective_request *request)
{
    const uint32_t found = shape_find(c, request); // before c->shapes.items is read: it may move
    const cached_plan *cached = plan_cache_at(c->plans, c->shapes.items[found].plan);
    return c->options.grain == GRAIN_STREAMS ? cached->plan.edge_count : cached->transfer_count;
}

// T = base + max over edges of steps max(hop, delay) + b / B: exact on the ideal network, for messages up to chunks of
// unequal size.
double collective_predict_s(collectives *c, const collective_request *request)
{
    const uint32_t found = shape_find(c, request); // before c->shapes.items is read: it may move
    const shape *s = &c->shapes.items[found];
    const plan *p = &plan_cache_at(c->plans, s->plan)->plan;
    if (p->steps == 0) return 0;
    double longest_s = 0;
    for (uint32_t e = 0; e < p->edge_count; e++) {
        double time_s = edge_time_s(c, s, p, e);
        if (time_s > longest_s) longest_s = time_s;
    }
    return units_s_from_ps(s->choice.base_ps) + longest_s;
}
