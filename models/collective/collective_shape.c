// SPDX-License-Identifier: GPL-3.0-or-later
// Shapes: what all equal requests share, worked out once. NCCL's tuner chooses for the layout of the group; the plan of
// the algorithm is laid on the group's endpoints; the pace says how long its kernels take alone.
//     streams   latency_ps passes, then all edges move at once, the busiest at its bytes / stream_ps at most and the others
//               at the same pace. Alone that takes latency + stream; beside others latency + max(stream, bytes / share).
//               Where steps differ, stage after stage does so.
//     messages  the plan is cut in chunks and slices as the kernels cut it, and played with what each costs
//               (message_shape.c, message_play.h)
#include "models/collective/collective_internal.h"
#include "models/collective/tuner.h"
#include <math.h>

const collective_layout *group_layout_of(collectives *c, group_id g)
{
    group *own = &c->groups.items[g];
    if (own->layout.ranks == 0)
        own->layout = group_layout(network_topology(c->network), c->options.hardware,
                                   plan_cache_rings(c->plans, own->rings), own->def.members, LAYOUT_AS_IT_IS);
    return &own->layout;
}

// A send is cut for its communicator, of which the group is a part: inside a node as well, where that leaves it.
static collective_layout layout_for(collectives *c, const shape *s)
{
    collective_layout layout = *group_layout_of(c, s->key.group);
    const group_def *def = &c->groups.items[s->key.group].def;
    if (s->key.kind != COLLECTIVE_SEND_RECV || def->communicator_ranks <= layout.ranks) return layout;
    layout.ranks = def->communicator_ranks;
    layout.send_nodes = def->communicator_nodes;
    if (layout.nodes == 1 && layout.send_nodes > 1)
        layout.nic_mBps = group_layout_nic_mBps(network_topology(c->network), def->members[0]);
    return layout;
}

const protocol_cut *shape_cut(const collectives *c, const shape *s)
{
    return &c->options.library->kernels.cuts[s->choice.protocol];
}

const ring_set *shape_rings(const collectives *c, const shape *s)
{
    return plan_cache_rings(c->plans, c->groups.items[s->key.group].rings);
}

static plan_cache_key plan_key_of(const collectives *c, const shape *s, collective_algorithm algorithm)
{
    return (plan_cache_key){ .kind = s->key.kind,
                             .algorithm = algorithm,
                             .rings = c->groups.items[s->key.group].rings,
                             .bytes = s->key.kind == COLLECTIVE_BARRIER ? BARRIER_BYTES : s->key.bytes,
                             .parts = s->key.parts };
}

// What the tuner chooses, where there is a plan of it (some need nodes that are alike). Else the usual algorithm, as NCCL does
// with what it cannot run.
static collective_choice choose(const collectives *c, const shape *s, const collective_layout *layout)
{
    const collectives_options *o = &c->options;
    const collective_choice choice = tuner_choose(o->library, layout, s->key.kind, s->key.bytes,
                                                  o->forced_algorithm, s->key.forced_protocol);
    const plan_cache_key key = plan_key_of(c, s, choice.algorithm);
    if (plan_cache_exists(c->plans, &key)) return choice;
    return tuner_choose(o->library, layout, s->key.kind, s->key.bytes, (int)plan_usual_algorithm(s->key.kind),
                        s->key.forced_protocol);
}

// What the network will have delivered at the end: of messages, each edge of a transfer is rounded up to whole
// bytes by itself.
static uint64_t network_bytes_of(collectives *c, const shape *s)
{
    const cached_plan *cached = plan_cache_at(c->plans, s->plan);
    uint64_t bytes = 0;
    for (uint32_t t = 0; t < cached->transfer_count; t++)
        for (uint32_t e = cached->first_edges[t]; e < cached->first_edges[t + 1]; e++)
            bytes += message_wire_bytes(c, s, t, e);
    for (uint32_t e = 0; c->options.grain == GRAIN_STREAMS && e < cached->plan.edge_count; e++)
        bytes += s->edges[e].bytes;
    return bytes;
}

// Where an edge leads. What a GPU gives its NVSwitch goes to the next GPU of its node, and what the switch sends is not played:
// a circle over the node puts on each link, act by act, what goes into the switch and as much out of it, and all acts
// together what they really do.
static vertex_id end_of(const collectives *c, const shape *s, const plan_edge *edge)
{
    const group_def *def = &c->groups.items[s->key.group].def;
    if (edge->to < def->count) return def->members[edge->to];
    const ring_set *rings = shape_rings(c, s);
    const uint32_t node = edge->to - def->count, first = plan_node_start(rings, node);
    uint32_t place = first;
    while (rings->orders[place] != edge->from)
        place++;
    return def->members[rings->orders[place + 1 < plan_node_start(rings, node + 1) ? place + 1 : first]];
}

// The plan on the endpoints of the group, with the bytes of its edges as the links see them.
static void lay_plan(collectives *c, shape *s)
{
    plan_cache_key key = plan_key_of(c, s, s->choice.algorithm);
    message_cut(c, s, &key);
    s->plan = plan_cache_find(c->plans, &key);
    const plan *p = &plan_cache_at(c->plans, s->plan)->plan;
    SIM_ASSERT(p->ranks == c->groups.items[s->key.group].def.count);
    s->edges = arena_array(c->arena, network_edge, p->edge_count);
    s->least_rings = UINT32_MAX;
    for (uint32_t e = 0; e < p->edge_count; e++) {
        if (p->edges[e].from >= p->ranks) continue; // of a switch
        s->edges[e] = (network_edge){ .from = c->groups.items[s->key.group].def.members[p->edges[e].from],
                                      .to = end_of(c, s, &p->edges[e]),
                                      .bytes = library_wire_bytes(shape_cut(c, s), p->edges[e].bytes) };
        if (p->edges[e].rings < s->least_rings) s->least_rings = p->edges[e].rings;
        if (s->edges[e].bytes > s->busiest_bytes) s->busiest_bytes = s->edges[e].bytes;
    }
}

uint64_t shape_cap_mBps(uint64_t bytes, sim_time time_ps)
{
    if (bytes == 0 || time_ps == 0) return 0;
    const unsigned __int128 work = (unsigned __int128)bytes * UINT64_C(1000000000000000),
                            cap = (work + (uint64_t)time_ps - 1) / (uint64_t)time_ps;
    return cap > UINT64_MAX / 2 ? 0 : (uint64_t)cap;
}

static void choose_and_pace(collectives *c, shape *s)
{
    const collective_layout layout = layout_for(c, s);
    s->choice = choose(c, s, &layout);
    s->pace = s->key.parts
                  ? pace_unequal(c->arena, c->options.library, &layout, shape_rings(c, s), s->key.parts)
                  : pace_of(c->options.library, &layout, s->key.kind, s->choice.algorithm, s->choice.protocol,
                            s->key.bytes);
}

// What each stage takes is the sum of its steps; the first has the entry as well.
static void pace_stages(collectives *c, shape *s, const plan *p)
{
    const collective_layout layout = layout_for(c, s);
    const arena_mark_t mark = arena_mark(c->arena);
    step_pace *steps = arena_array(c->arena, step_pace, p->steps);
    pace_steps_of(c->options.library, &layout, s->key.kind, s->choice.algorithm, s->choice.protocol,
                  s->key.bytes, p->steps, steps);
    uint32_t step = 0;
    for (uint32_t i = 0; i < p->stage_count; i++)
        for (uint32_t end = step + p->stages[i].steps; step < end; step++) {
            s->stages[i].latency_ps += steps[step].latency_ps;
            s->stages[i].stream_ps += steps[step].stream_ps;
        }
    SIM_ASSERT(step == p->steps);
    s->stages[0].latency_ps += s->pace.entry_ps;
    arena_release(c->arena, mark);
}

static void find_stages(collectives *c, shape *s, const plan *p)
{
    s->requests = p->steps == 0 ? 0 : p->stage_count > 0 ? p->stage_count : 1;
    if (s->requests == 0) return;
    s->stages = arena_array(c->arena, stream_stage, s->requests);
    s->stages[0] = (stream_stage){ .edge_count = p->edge_count,
                                   .latency_ps = s->pace.latency_ps,
                                   .stream_ps = s->pace.stream_ps };
    for (uint32_t i = 0; i < p->stage_count; i++)
        s->stages[i] = (stream_stage){ .first_edge = p->stages[i].first_edge,
                                       .edge_count = p->stages[i].edge_count };
    if (p->stage_count > 0) pace_stages(c, s, p);
    for (uint32_t i = 0; i < s->requests; i++) {
        stream_stage *stage = &s->stages[i];
        stage->prepared = NO_ID;
        for (uint32_t e = 0; e < stage->edge_count; e++) {
            const uint64_t bytes = s->edges[stage->first_edge + e].bytes;
            if (stage->busiest_bytes < bytes) stage->busiest_bytes = bytes;
        }
    }
}

static void fill_shape(collectives *c, shape *s)
{
    choose_and_pace(c, s);
    lay_plan(c, s);
    const plan *p = &shape_plan(c, s)->plan;
    s->payload_bytes = plan_payload_bytes(p);
    s->network_bytes = network_bytes_of(c, s);
    if (c->options.grain == GRAIN_STREAMS) {
        find_stages(c, s, p);
        return;
    }
    const collective_layout layout = layout_for(c, s);
    if (p->steps > 0) message_find_times(c, s, &layout);
    s->requests = shape_plan(c, s)->transfer_count;
}

static bool same_request(const collective_request *a, const collective_request *b)
{
    return a->kind == b->kind && a->group == b->group && a->bytes == b->bytes &&
           a->forced_protocol == b->forced_protocol && a->parts == b->parts;
}

uint32_t shape_find(collectives *c, const collective_request *request)
{
    SIM_ASSERT(request->group < c->groups.count && request->kind < COLLECTIVE_KINDS);
    SIM_ASSERT((request->kind == COLLECTIVE_ALL_TO_ALL_UNEQUAL) == (request->parts != NULL));
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
    fill_shape(c, s);
    map_set(c->shape_by_key, key, c->shapes.count - 1);
    return c->shapes.count - 1;
}

// Each has then a share of its own in what others want too, as its messages would (message_shape.c); the network counts
// those of an edge beyond the least (models/network/fluid_path.c).
static bool lanes_go_apart(const collectives *c, const shape *s)
{
    return !pace_has_steps(s->choice.algorithm) && s->choice.algorithm != ALGORITHM_PAIRWISE &&
           plan_nodes(shape_rings(c, s)) > 1;
}

network_request shape_stream(const collectives *c, const shape *s, uint32_t stage)
{
    const stream_stage *own = &s->stages[stage];
    return (network_request){ .edges = &s->edges[own->first_edge],
                              .edge_count = own->edge_count,
                              .latency_ps = own->latency_ps + (own->busiest_bytes == 0 ? own->stream_ps : 0),
                              .rate_cap_mBps = shape_cap_mBps(own->busiest_bytes, own->stream_ps),
                              .weight = lanes_go_apart(c, s) ? s->least_rings : 1,
                              .queue_pairs = 1,
                              .multiplicity = c->groups.items[s->key.group].def.multiplicity };
}

uint32_t collective_shape(collectives *c, const collective_request *request)
{
    return shape_find(c, request);
}

// ---- forecast ----

uint64_t collective_message_count(collectives *c, const collective_request *request)
{
    SIM_ASSERT(request->group < c->groups.count);
    if (c->options.grain == GRAIN_STREAMS || c->groups.items[request->group].def.count == 1) return 0;
    shape s = { .key = *request };
    choose_and_pace(c, &s);
    plan_cache_key key = plan_key_of(c, &s, s.choice.algorithm);
    message_cut(c, &s, &key);
    return plan_cache_messages(c->plans, &key);
}

uint64_t collective_transfer_count(collectives *c, const collective_request *request)
{
    const uint32_t found = shape_find(c, request); // before c->shapes.items is read: it may move
    const cached_plan *cached = plan_cache_at(c->plans, c->shapes.items[found].plan);
    if (c->options.grain == GRAIN_STREAMS) return cached->plan.edge_count;
    return cached->transfer_count > 0 ? cached->first_edges[cached->transfer_count] : 0;
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
