// SPDX-License-Identifier: GPL-3.0-or-later
// Shapes: what all equal requests share, worked out once. NCCL's tuner chooses for the layout of the group; the plan of
// the algorithm is laid on the group's endpoints; the pace says how long its kernels take alone.
//     streams latency_ps passes, then all edges move at once, the busiest at its bytes / stream_ps at most and the
//     others
//               at the same pace. Alone that takes latency + stream; beside others latency + max(stream, bytes /
//               share).
//     messages the plan is cut in chunks and slices as the kernels cut it, and played with what each costs
//     (message_play.h).
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

static const protocol_cut *cut_of(const collectives *c, const shape *s)
{
    return &c->options.library->kernels.cuts[s->choice.protocol];
}

static const ring_set *rings_of(const collectives *c, const shape *s)
{
    return plan_cache_rings(c->plans, c->groups.items[s->key.group].rings);
}

// ---- messages: how a plan is cut

// With costs for each slice. Others move in equal steps.
static bool goes_by_slices(const shape *s)
{
    return s->choice.algorithm == ALGORITHM_RING && s->pace.slice_bytes > 0;
}

// In equal steps, piece behind piece over many hops.
static bool is_pipeline(const shape *s)
{
    return s->choice.algorithm == ALGORITHM_TREE ||
           (s->choice.algorithm == ALGORITHM_RING && !goes_by_slices(s));
}

// So much of one channel, on one of the plan's lanes.
static uint64_t lane_bytes(const shape *s, uint64_t channel_bytes, uint32_t lanes)
{
    const unsigned __int128 all = (unsigned __int128)channel_bytes * s->pace.channels;
    const unsigned __int128 bytes = (all + lanes - 1) / lanes;
    return bytes < UINT64_MAX / 2 ? (uint64_t)bytes : UINT64_MAX / 2;
}

// A pipeline passes a piece on before all of it is there, where a lane is busy with one for longer than a hop takes: then
// pieces are cut finer, up to 32 times.
static uint64_t finer_piece_bytes(const shape *s, uint32_t hops, uint64_t piece_bytes)
{
    enum { FINER_MAX = 32 };
    const double pieces = fmax(1, ceil(s->pace.loops)), own_ps = (double)s->pace.stream_ps / pieces;
    const double hops_ps = (double)(pace_time_ps(&s->pace) - s->pace.entry_ps) - (pieces - 1) * own_ps;
    const double finer = ceil(2 * own_ps * hops / fmax(hops_ps, 1));
    if (hops == 0 || finer <= 1) return piece_bytes;
    const uint64_t bytes = piece_bytes / (uint64_t)fmin(finer, FINER_MAX);
    return bytes > 0 ? bytes : 1;
}

// Up and down the chain of the largest node and the binary tree over nodes; or from rank to rank.
static uint32_t pipeline_hops(const shape *s, const ring_set *rings)
{
    uint32_t largest = 1, depth = 0;
    if (s->choice.algorithm != ALGORITHM_TREE) return rings->ranks - 1;
    for (uint32_t v = 0; v < plan_nodes(rings); v++) {
        const uint32_t count = plan_node_start(rings, v + 1) - plan_node_start(rings, v);
        if (count > largest) largest = count;
    }
    while ((UINT64_C(1) << depth) < plan_nodes(rings))
        depth++;
    return 2 * (largest - 1 + depth);
}

// A second slice without bytes is no message, but keeps the lane and the NIC busy.
static void cut_plan(const collectives *c, shape *s, plan_cache_key *key)
{
    const bool by_slices = goes_by_slices(s), pipeline = is_pipeline(s);
    if (c->options.grain == GRAIN_STREAMS) return;
    key->at_once = s->choice.algorithm == ALGORITHM_PAIRWISE;
    if (!by_slices && !pipeline) return;
    const ring_set *rings = rings_of(c, s);
    const uint32_t trees = s->choice.algorithm == ALGORITHM_TREE && plan_nodes(rings) > 1 ? 2 : 1;
    key->cut.chunk_bytes = lane_bytes(s, s->pace.chunk_bytes, trees * rings->count);
    key->apart = plan_nodes(rings) > 1 || (pipeline && rings->count > 1);
    if (pipeline) key->cut.chunk_bytes = finer_piece_bytes(s, pipeline_hops(s, rings), key->cut.chunk_bytes);
    if (!by_slices) return;
    const bool whole = s->pace.slice_bytes >= s->pace.chunk_bytes;
    key->cut.slices = whole ? 1 : s->pace.slices;
    key->slots = whole ? s->pace.slots / s->pace.slices : s->pace.slots;
    if (key->slots < 2) key->slots = 2; // or what is passed on would wait for itself
    s->by_slices = true;
    s->slice_bytes = lane_bytes(s, s->pace.slice_bytes, rings->count);
    const sim_time empty_ps = s->pace.host_ps > s->pace.message_ps ? s->pace.host_ps : s->pace.message_ps;
    const uint32_t empty = whole ? s->pace.slices - 1 : 0;
    s->rest_ps = (sim_time)empty * s->pace.slice_ps;
    s->nic_rest_ps = (sim_time)empty * empty_ps;
    s->drain_ps = s->pace.drain_ps;
}

static plan_cache_key plan_key_of(const collectives *c, const shape *s, collective_algorithm algorithm)
{
    return (plan_cache_key){ .kind = s->key.kind,
                             .algorithm = algorithm,
                             .rings = c->groups.items[s->key.group].rings,
                             .bytes = s->key.kind == COLLECTIVE_BARRIER ? BARRIER_BYTES : s->key.bytes,
                             .parts = s->key.parts };
}

bool collective_has_messages(collective_algorithm algorithm)
{
    return algorithm == ALGORITHM_RING || algorithm == ALGORITHM_TREE || algorithm == ALGORITHM_SEND_RECV ||
           algorithm == ALGORITHM_PAIRWISE;
}

// What the tuner chooses, where there is a plan of it (some need nodes that are alike), and message by message where it
// can be played so. Else the usual algorithm, as NCCL does with what it cannot run.
static collective_choice choose(const collectives *c, const shape *s, const collective_layout *layout)
{
    const collectives_options *o = &c->options;
    const collective_choice choice = tuner_choose(o->library, layout, s->key.kind, s->key.bytes,
                                                  o->forced_algorithm, s->key.forced_protocol);
    const plan_cache_key key = plan_key_of(c, s, choice.algorithm);
    const bool playable = o->grain == GRAIN_STREAMS || collective_has_messages(choice.algorithm);
    if (playable && plan_cache_exists(c->plans, &key)) return choice;
    return tuner_choose(o->library, layout, s->key.kind, s->key.bytes, (int)plan_usual_algorithm(s->key.kind),
                        s->key.forced_protocol);
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
    plan_cache_key key = plan_key_of(c, s, s->choice.algorithm);
    cut_plan(c, s, &key);
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

// At which so many bytes take that long, rounded up, as the network rounds their time up; 0: no cap, for they take no
// time or would need a rate beyond any link's.
static uint64_t cap_mBps(uint64_t bytes, sim_time time_ps)
{
    if (bytes == 0 || time_ps == 0) return 0;
    const unsigned __int128 work = (unsigned __int128)bytes * UINT64_C(1000000000000000),
                            cap = (work + (uint64_t)time_ps - 1) / (uint64_t)time_ps;
    return cap > UINT64_MAX / 2 ? 0 : (uint64_t)cap;
}

// Equal steps: each takes its part of stream_ps, by its bytes. Of a pipeline and of a send, a lane's pieces follow one
// another over each edge, and a piece takes all hops; the parts of an all-to-all move at once. What is left of the
// pace's time is that of the hops.
static void find_steps(shape *s, const plan *p, uint64_t lane_wire_bytes)
{
    const bool at_once = s->choice.algorithm == ALGORITHM_PAIRWISE;
    const uint32_t pieces = at_once ? 1 : p->chunks / p->rings, hops = at_once ? 1 : p->steps - pieces + 1;
    s->line_bytes = is_pipeline(s) ? lane_wire_bytes : s->busiest_bytes;
    const sim_time moving_ps = s->pace.stream_ps / (sim_time)pieces * (sim_time)(pieces - 1);
    const sim_time rest_ps = pace_time_ps(&s->pace) - s->pace.entry_ps - moving_ps;
    s->hop_ps = rest_ps / (sim_time)hops;
}

static void choose_and_pace(collectives *c, shape *s)
{
    const collective_layout layout = layout_for(c, s);
    s->choice = choose(c, s, &layout);
    s->pace = s->key.parts ? pace_unequal(c->arena, c->options.library, &layout, rings_of(c, s), s->key.parts)
                           : pace_of(c->options.library, &layout, s->key.kind, s->choice.algorithm,
                                     s->choice.protocol, s->key.bytes);
}

static void fill_shape(collectives *c, shape *s)
{
    choose_and_pace(c, s);
    lay_plan(c, s);
    const plan *p = &shape_plan(c, s)->plan;
    if (c->options.grain == GRAIN_MESSAGES && !s->by_slices && p->steps > 0)
        find_steps(s, p, library_wire_bytes(cut_of(c, s), p->bytes / p->rings));
    s->payload_bytes = plan_payload_bytes(p);
    s->network_bytes = network_bytes_of(c, s);
    s->requests = c->options.grain == GRAIN_STREAMS ? p->steps > 0 : shape_plan(c, s)->transfer_count;
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
    s->prepared = NO_ID;
    fill_shape(c, s);
    map_set(c->shape_by_key, key, c->shapes.count - 1);
    return c->shapes.count - 1;
}

// ---- requests ----

// Each ring has a share of its own in what others want too: of a pair that several rings share, the transfers weigh as
// many times those of the pair with the fewest, as in a stream (models/network/fluid_path.c).
static uint32_t weight_of(const shape *s, const cached_plan *cached, uint32_t edge)
{
    const plan *p = &cached->plan;
    if (cached->key.apart) return 1;
    return (p->edges[edge].rings + s->least_rings - 1) / s->least_rings;
}

// One transfer, as what it costs depends on it.
typedef struct slice {
    const shape *shape;
    uint32_t edge, rings;
    uint64_t bytes, wire_bytes;
    double part; // of a full first slice of the pace, as the kernels cut it
    bool leaves;
} slice;

// Of the kernels' slice in the place of a message. The plan is cut evenly. The kernels send full chunks and then what
// is left: for pieces that pass hop after hop the first one's time counts; loops of a ring add up to the same. Of a
// chunk they first send a slice that is not less than their least.
static double part_of(const collectives *c, const shape *s, const cached_plan *cached, const slice *x,
                      const plan_message *first)
{
    const plan *p = &cached->plan;
    const uint32_t slices = cached->key.cut.slices;
    double bytes = (double)x->bytes / x->rings;
    if (p->share_chunks == 0) { // pieces k R + r
        const uint32_t pieces = p->chunks / p->rings;
        const double full = (double)cached->key.cut.chunk_bytes, all = (double)p->bytes / p->rings;
        bytes = first->chunk / p->rings + 1 < pieces ? full : fmax(all - (pieces - 1) * full, 0);
    }
    if (slices == 2) {
        const double least = (double)lane_bytes(s, cut_of(c, s)->least_slice_bytes, p->rings);
        const double chunk = 2 * bytes, first_bytes = fmin(chunk, fmax(bytes, least));
        bytes = first->step % slices == 0 ? first_bytes : chunk - first_bytes;
    }
    return bytes / (double)s->slice_bytes;
}

static slice slice_of(const collectives *c, const shape *s, uint32_t t)
{
    const cached_plan *cached = shape_plan(c, s);
    const plan_message *first = cached_first_message(cached, t);
    slice x = { .shape = s,
                .edge = first->edge,
                .rings = cached->first_messages[t + 1] - cached->first_messages[t],
                .bytes = cached_transfer_bytes(cached, t),
                .leaves = cached->leaves[first->edge] };
    x.wire_bytes = library_wire_bytes(cut_of(c, s), x.bytes);
    if (s->by_slices) x.part = part_of(c, s, cached, &x, first);
    return x;
}

static sim_time part_ps(const slice *x, sim_time full_ps)
{
    return llround((double)full_ps * x->part);
}

// Of a transfer between nodes.
static sim_time nic_ps(const slice *x)
{
    const collective_pace *p = &x->shape->pace;
    const sim_time moving_ps = p->nic_ps > p->host_ps ? p->nic_ps - p->message_ps : 0;
    const sim_time all_ps = p->message_ps + part_ps(x, moving_ps);
    return all_ps > p->host_ps ? all_ps : p->host_ps;
}

static sim_time step_ps(const slice *x)
{
    const shape *s = x->shape;
    if (s->line_bytes == 0) return 0;
    return (sim_time)((unsigned __int128)(uint64_t)s->pace.stream_ps * x->wire_bytes / s->line_bytes);
}

slice_times shape_slice_times(const collectives *c, const shape *s, uint32_t t)
{
    const slice x = slice_of(c, s, t);
    if (!s->by_slices) {
        const sim_time own_ps = step_ps(&x);
        return (slice_times){ .seen_ps = s->hop_ps > own_ps ? s->hop_ps - own_ps : 0, .lane_ps = own_ps };
    }
    if (!x.leaves) return (slice_times){ .seen_ps = s->pace.visible_ps, .rest_ps = s->rest_ps };
    return (slice_times){ .by_nic = true,
                          .copy_ps = s->pace.slice_ps + part_ps(&x, s->pace.out_work_ps - s->pace.slice_ps),
                          .seen_ps = s->pace.network_hop_ps,
                          .rest_ps = s->rest_ps };
}

network_request shape_transfer(const collectives *c, const shape *s, uint32_t t, network_edge *edge)
{
    const slice x = slice_of(c, s, t);
    *edge = s->edges[x.edge];
    edge->bytes = x.wire_bytes;
    sim_time latency_ps = 0, moving_ps;
    if (!s->by_slices) {
        moving_ps = step_ps(&x) < s->hop_ps ? step_ps(&x) : s->hop_ps;
    } else if (x.leaves) {
        moving_ps = nic_ps(&x);
    } else {
        latency_ps = s->pace.slice_ps;
        moving_ps = part_ps(&x, s->pace.work_ps - latency_ps);
    }
    return (network_request){ .edges = edge,
                              .edge_count = 1,
                              .latency_ps = latency_ps + (edge->bytes == 0 ? moving_ps : 0),
                              .rate_cap_mBps = cap_mBps(edge->bytes, moving_ps),
                              .weight = weight_of(s, shape_plan(c, s), x.edge),
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

uint64_t collective_message_count(collectives *c, const collective_request *request)
{
    SIM_ASSERT(request->group < c->groups.count);
    if (c->options.grain == GRAIN_STREAMS || c->groups.items[request->group].def.count == 1) return 0;
    shape s = { .key = *request };
    choose_and_pace(c, &s);
    plan_cache_key key = plan_key_of(c, &s, s.choice.algorithm);
    cut_plan(c, &s, &key);
    return plan_cache_messages(c->plans, &key);
}

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
