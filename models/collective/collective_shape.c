// SPDX-License-Identifier: GPL-3.0-or-later
// Shapes: what all equal requests share, worked out once. NCCL's tuner chooses for the layout of the group; the plan of the
// algorithm is laid on the group's endpoints; the pace says how long its kernels take alone.
//     streams   latency_ps passes, then all edges move at once, the busiest at its bytes / stream_ps at most and the others
//               at the same pace. Alone that takes latency + stream; beside others latency + max(stream, bytes / share).
//     messages  latency_ps passes, then each step takes stream_ps / steps, or longer beside others.
#include "models/collective/collective_internal.h"
#include "models/collective/tuner.h"

const collective_layout *group_layout_of(collectives *c, group_id g)
{
    group *own = &c->groups.items[g];
    if (own->layout.ranks == 0)
        own->layout = group_layout(network_topology(c->network), c->options.hardware,
                                   plan_cache_rings(c->plans, own->rings), own->def.members, LAYOUT_AS_IT_IS);
    return &own->layout;
}

// A send is cut for its communicator, of which the group is a part.
static collective_layout layout_for(collectives *c, const shape *s)
{
    collective_layout layout = *group_layout_of(c, s->key.group);
    const uint32_t communicator = c->groups.items[s->key.group].def.communicator_ranks;
    if (s->key.kind == COLLECTIVE_SEND_RECV && communicator > layout.ranks) layout.ranks = communicator;
    return layout;
}

static const protocol_cut *cut_of(const collectives *c, const shape *s)
{
    return &c->options.library->kernels.cuts[s->choice.protocol];
}

static plan_cache_key plan_key_of(const collectives *c, const shape *s, collective_algorithm algorithm)
{
    return (plan_cache_key){ .kind = s->key.kind,
                             .algorithm = algorithm,
                             .rings = c->groups.items[s->key.group].rings,
                             .bytes = s->key.kind == COLLECTIVE_BARRIER ? BARRIER_BYTES : s->key.bytes };
}

// What the tuner chooses, where there is a plan of it: some need nodes that are alike, and message by message there are the
// usual algorithms only.
static collective_choice choose(const collectives *c, const shape *s, const collective_layout *layout)
{
    const collectives_options *o = &c->options;
    const bool messages = o->grain == GRAIN_MESSAGES;
    const collective_algorithm usual = plan_usual_algorithm(s->key.kind);
    const int forced = messages ? (int)usual : o->forced_algorithm;
    const collective_choice choice = tuner_choose(o->library, layout, s->key.kind, s->key.bytes, forced,
                                                  s->key.forced_protocol);
    const plan_cache_key key = plan_key_of(c, s, choice.algorithm);
    if (plan_cache_exists(c->plans, &key)) return choice;
    return tuner_choose(o->library, layout, s->key.kind, s->key.bytes, (int)usual, s->key.forced_protocol);
}

// What the network will have delivered at the end: of messages, each transfer is rounded up to whole bytes by itself.
static uint64_t network_bytes_of(collectives *c, const shape *s)
{
    const cached_plan *cached = plan_cache_at(c->plans, s->plan);
    uint64_t bytes = 0;
    for (uint32_t t = 0; t < cached->transfer_count; t++)
        bytes += library_wire_bytes(cut_of(c, s), cached_transfer_bytes(cached, t));
    for (uint32_t e = 0; c->options.grain == GRAIN_STREAMS && e < cached->plan.edge_count; e++)
        bytes += s->edges[e].bytes;
    return bytes;
}

// The plan on the endpoints of the group, with the bytes of its edges as the links see them.
static void lay_plan(collectives *c, shape *s)
{
    const group *g = &c->groups.items[s->key.group];
    const plan_cache_key key = plan_key_of(c, s, s->choice.algorithm);
    s->plan = plan_cache_find(c->plans, &key);
    const plan *p = &plan_cache_at(c->plans, s->plan)->plan;
    SIM_ASSERT(p->ranks == g->def.count);
    s->edges = arena_array(c->arena, network_edge, p->edge_count);
    s->least_rings = UINT32_MAX;
    for (uint32_t e = 0; e < p->edge_count; e++) {
        s->edges[e] = (network_edge){ .from = g->def.members[p->edges[e].from],
                                      .to = g->def.members[p->edges[e].to],
                                      .bytes = library_wire_bytes(cut_of(c, s), p->edges[e].bytes) };
        if (p->edges[e].rings < s->least_rings) s->least_rings = p->edges[e].rings;
        if (s->edges[e].bytes > s->busiest_bytes) s->busiest_bytes = s->edges[e].bytes;
    }
}

// At which so many bytes take that long; 0: no cap, for they take no time or would need a rate beyond any link's.
static uint64_t cap_mBps(uint64_t bytes, sim_time time_ps)
{
    if (bytes == 0 || time_ps == 0) return 0;
    const unsigned __int128 cap = (unsigned __int128)bytes * UINT64_C(1000000000000000) /
                                  (unsigned __int128)time_ps;
    return cap > UINT64_MAX / 2 ? 0 : cap > 0 ? (uint64_t)cap : 1;
}

static void fill_shape(collectives *c, shape *s)
{
    const collective_layout layout = layout_for(c, s);
    s->choice = choose(c, s, &layout);
    s->pace = pace_of(c->options.library, &layout, s->key.kind, s->choice.algorithm, s->choice.protocol,
                      s->key.bytes);
    lay_plan(c, s);
    const plan *p = &shape_plan(c, s)->plan;
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
    const sim_time step_ps = s->pace.stream_ps / (sim_time)cached->plan.steps;
    *edge = s->edges[e];
    edge->bytes = library_wire_bytes(cut_of(c, s), cached_transfer_bytes(cached, t));
    return (network_request){ .edges = edge,
                              .edge_count = 1,
                              .latency_ps = edge->bytes == 0 ? step_ps : 0,
                              .rate_cap_mBps = cap_mBps(edge->bytes, step_ps),
                              .weight = weight_of(s, &cached->plan, e),
                              .queue_pairs = 1,
                              .multiplicity = c->groups.items[s->key.group].def.multiplicity };
}

network_request shape_stream(const collectives *c, const shape *s)
{
    return (network_request){ .edges = s->edges,
                              .edge_count = shape_plan(c, s)->plan.edge_count,
                              .latency_ps = s->pace.latency_ps +
                                            (s->busiest_bytes == 0 ? s->pace.stream_ps : 0),
                              .rate_cap_mBps = cap_mBps(s->busiest_bytes, s->pace.stream_ps),
                              .weight = 1,
                              .queue_pairs = 1,
                              .multiplicity = c->groups.items[s->key.group].def.multiplicity };
}

uint32_t collective_shape(collectives *c, const collective_request *request)
{
    return shape_find(c, request);
}

// ---- forecast ----

uint64_t collective_transfer_count(collectives *c, const collective_request *request)
{
    const uint32_t found = shape_find(c, request); // before c->shapes.items is read: it may move
    const cached_plan *cached = plan_cache_at(c->plans, c->shapes.items[found].plan);
    return c->options.grain == GRAIN_STREAMS ? cached->plan.edge_count : cached->transfer_count;
}

const collective_pace *collective_pace_at(collectives *c, uint32_t found)
{
    return &shape_at(c, found)->pace;
}

double collective_predict_s(collectives *c, const collective_request *request)
{
    const uint32_t found = shape_find(c, request); // before c->shapes.items is read: it may move
    const shape *s = &c->shapes.items[found];
    return shape_plan(c, s)->plan.steps == 0 ? 0 : units_s_from_ps(pace_time_ps(&s->pace));
}
