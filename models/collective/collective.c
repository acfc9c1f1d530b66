// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/collective/collective.h"
#include "models/collective/plan_cache.h"
#include "models/collective/ring_order.h"
#include "models/digest.h"
#include "sim/array.h"
#include "sim/map.h"

typedef struct group {
    group_def def;
    uint64_t node, label; // words of the digest
    uint32_t rings;       // of the cache of plans
    uint32_t free_instance;
} group;

// All that equal requests share: the plan laid on the group's endpoints, with the protocol it is played by.
typedef struct shape {
    collective_request key; // without the tag
    uint32_t next;          // with the same hash key, or NO_ID
    uint32_t plan;
    bool opened; // not only asked about
    collective_choice choice;
    // One per edge of the plan. Latency and bytes of all steps; messages: latency of one step.
    network_edge *edges;
    uint64_t payload_bytes, network_bytes;
    uint32_t least_rings; // that share an edge
} shape;

typedef struct instance {
    uint32_t shape, tag;
    uint32_t next_free; // of its group
    bool open, started;
    uint32_t missing;  // members not yet there
    uint64_t *arrived; // a bit per member
    sim_time first_arrival_ps, last_arrival_ps;
    uint32_t last_member;
    plan_state *state; // messages
    uint32_t transfers_left;
    uint64_t payload_moved;
} instance;

ARRAY_OF(group, group_array);
ARRAY_OF(shape, shape_array);
ARRAY_OF(instance, instance_array);

struct collectives {
    arena *arena;
    sim *sim;
    network *network;
    collectives_options options;
    plan_cache *plans;
    group_array groups;
    shape_array shapes;
    map *shape_by_key; // mixed key -> the latest shape with it; the others follow by .next
    instance_array instances;
    uint32_t open_count;
    uint16_t client, kind_begin, kind_end;
    collectives_counters counters;
};

// ---- shapes ----

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

static void fill_shape(collectives *c, shape *s)
{
    const group *g = &c->groups.items[s->key.group];
    s->plan = plan_cache_find(c->plans, s->key.kind, g->rings, s->key.bytes);
    const plan *p = &plan_cache_at(c->plans, s->plan)->plan;
    SIM_ASSERT(p->ranks == g->def.count);
    s->edges = arena_array(c->arena, network_edge, p->edge_count);
    for (uint32_t e = 0; e < p->edge_count; e++)
        s->edges[e] = (network_edge){ .from = g->def.members[p->edges[e].from],
                                      .to = g->def.members[p->edges[e].to] };
    ring_hops hops = hops_of(c, s, p);
    s->choice = collective_choose(c->options.terms, p->kind, p->ranks, p->bytes, &hops,
                                  s->key.forced_protocol);
    const sim_time step_ps = step_latency_ps(c, s, p);
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
    s->payload_bytes = plan_payload_bytes(p);
    s->network_bytes = network_bytes_of(c, s);
}

static bool same_request(const collective_request *a, const collective_request *b)
{
    return a->kind == b->kind && a->group == b->group && a->bytes == b->bytes &&
           a->forced_protocol == b->forced_protocol;
}

static uint32_t find_shape(collectives *c, const collective_request *request)
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
    fill_shape(c, s);
    map_set(c->shape_by_key, key, c->shapes.count - 1);
    return c->shapes.count - 1;
}

// ---- instances ----

// Slots stay with their group, because the bits of arrival are sized by it.
static uint32_t take_instance(collectives *c, group_id g)
{
    group *own = &c->groups.items[g];
    uint32_t i = own->free_instance;
    if (i == NO_ID) {
        i = c->instances.count;
        instance *made = array_push(&c->instances, c->arena);
        made->arrived = arena_array(c->arena, uint64_t, (own->def.count + 63) / 64);
    } else {
        own->free_instance = c->instances.items[i].next_free;
    }
    c->open_count++;
    return i;
}

uint32_t collective_open(collectives *c, const collective_request *request)
{
    uint32_t s = find_shape(c, request);
    if (c->shapes.items[s].opened) c->counters.plan_hits++;
    c->shapes.items[s].opened = true;
    uint32_t i = take_instance(c, request->group), members = c->groups.items[request->group].def.count;
    uint64_t *arrived = c->instances.items[i].arrived;
    memset(arrived, 0, (members + 63) / 64 * sizeof *arrived);
    c->instances.items[i] =
        (instance){ .shape = s, .tag = request->tag, .open = true, .missing = members, .arrived = arrived };
    return i;
}

static void finish(collectives *c, uint32_t i)
{
    instance *own = &c->instances.items[i];
    const shape *s = &c->shapes.items[own->shape];
    group *g = &c->groups.items[s->key.group];
    SIM_ASSERT(own->payload_moved == s->payload_bytes);
    collective_result result = { .tag = own->tag,
                                 .kind = s->key.kind,
                                 .group = s->key.group,
                                 .protocol = s->choice.protocol,
                                 .grain = c->options.grain,
                                 .ranks = g->def.count,
                                 .multiplicity = g->def.multiplicity,
                                 .bytes = s->key.bytes,
                                 .payload_bytes = s->payload_bytes,
                                 .first_arrival_ps = own->first_arrival_ps,
                                 .last_arrival_ps = own->last_arrival_ps,
                                 .end_ps = sim_now(c->sim),
                                 .last_member = own->last_member };
    const uint64_t words[] = {
        (uint64_t)result.kind,   g->node,      result.ranks, (uint64_t)result.last_arrival_ps,
        (uint64_t)result.end_ps, result.bytes, g->label
    };
    sim_digest_add(c->sim, DIGEST_COLLECTIVE, words, ARRAY_COUNT(words), result.multiplicity);
    c->counters.played++;
    c->counters.network_bytes += s->network_bytes * result.multiplicity;
    if (own->state) plan_cache_return(c->plans, s->plan, own->state);
    own->open = false;
    own->next_free = g->free_instance;
    g->free_instance = i;
    c->open_count--;
    c->options.done(c->options.owner, &result); // last: it may open others, which moves the arrays
}

static void ask_network(collectives *c, uint32_t i, uint32_t transfer, network_request *request)
{
    const shape *s = &c->shapes.items[c->instances.items[i].shape];
    request->queue_pairs = 1;
    request->multiplicity = c->groups.items[s->key.group].def.multiplicity;
    request->client = c->client;
    request->tag = (uint64_t)i << 32 | transfer;
    network_start(c->network, request);
    c->counters.messages++;
}

// Each ring has a share of its own in what others want too: of a pair that several rings share, the transfers weigh as many
// times those of the pair with the fewest, as in a stream (models/network/fluid_path.c).
static uint32_t weight_of(const shape *s, const plan *p, uint32_t edge)
{
    return (p->edges[edge].rings + s->least_rings - 1) / s->least_rings;
}

static void start_transfer(collectives *c, uint32_t i, uint32_t t)
{
    instance *own = &c->instances.items[i];
    const shape *s = &c->shapes.items[own->shape];
    const cached_plan *cached = plan_cache_at(c->plans, s->plan);
    network_edge edge = s->edges[cached_first_message(cached, t)->edge];
    edge.bytes = protocol_wire_bytes(terms_of(c, s), cached_transfer_bytes(cached, t));
    if (own->state->starts) own->state->starts[t] = sim_now(c->sim);
    ask_network(
        c, i, t,
        &(network_request){ .edges = &edge,
                            .edge_count = 1,
                            .delay_crossings = 1,
                            .weight = weight_of(s, &cached->plan, cached_first_message(cached, t)->edge) });
}

static void start_messages(collectives *c, uint32_t i)
{
    instance *own = &c->instances.items[i];
    const cached_plan *cached = plan_cache_at(c->plans, c->shapes.items[own->shape].plan);
    own->transfers_left = cached->transfer_count;
    for (uint32_t t = 0; t < cached->transfer_count; t++)
        if (cached->waits[t] == 0) start_transfer(c, i, t);
}

static void start_streams(collectives *c, uint32_t i)
{
    instance *own = &c->instances.items[i];
    const shape *s = &c->shapes.items[own->shape];
    const plan *p = &plan_cache_at(c->plans, s->plan)->plan;
    own->transfers_left = 1;
    ask_network(c, i, 0,
                &(network_request){ .edges = s->edges,
                                    .edge_count = p->edge_count,
                                    .latency_ps = s->choice.base_ps,
                                    .delay_crossings = p->steps,
                                    .weight = 1 });
}

// The last member is there. Messages begin when the library's base time has passed; a stream has it in its latency.
static void start(collectives *c, uint32_t i)
{
    instance *own = &c->instances.items[i];
    const shape *s = &c->shapes.items[own->shape];
    own->started = true;
    if (plan_cache_at(c->plans, s->plan)->plan.steps == 0) {
        sim_schedule(c->sim, sim_now(c->sim), c->kind_end, i, 0);
    } else if (c->options.grain == GRAIN_STREAMS) {
        start_streams(c, i);
    } else {
        own->state = plan_cache_lend(c->plans, s->plan);
        sim_schedule(c->sim, sim_now(c->sim) + s->choice.base_ps, c->kind_begin, i, 0);
    }
}

void collective_arrive(collectives *c, uint32_t collective, uint32_t member)
{
    SIM_ASSERT(collective < c->instances.count);
    instance *own = &c->instances.items[collective];
    uint32_t members = c->groups.items[c->shapes.items[own->shape].key.group].def.count;
    SIM_ASSERT(own->open && !own->started && member < members);
    uint64_t bit = UINT64_C(1) << member % 64, *word = &own->arrived[member / 64];
    SIM_ASSERT(!(*word & bit));
    *word |= bit;
    sim_time now = sim_now(c->sim);
    bool first = own->missing == members;
    if (first) own->first_arrival_ps = now;
    if (first || now > own->last_arrival_ps || member < own->last_member) own->last_member = member;
    own->last_arrival_ps = now;
    if (--own->missing == 0) start(c, collective);
}

static void tell_moved(const collectives *c, const instance *own, const network_edge *edge, uint64_t bytes,
                       sim_time start_ps)
{
    if (!c->options.moved) return;
    collective_transfer told = { .tag = own->tag,
                                 .from = edge->from,
                                 .to = edge->to,
                                 .bytes = bytes,
                                 .start_ps = start_ps,
                                 .end_ps = sim_now(c->sim) };
    c->options.moved(c->options.owner, &told);
}

static void transfer_delivered(collectives *c, uint32_t i, uint32_t t)
{
    instance *own = &c->instances.items[i];
    const shape *s = &c->shapes.items[own->shape];
    const cached_plan *cached = plan_cache_at(c->plans, s->plan);
    const uint64_t bytes = cached_transfer_bytes(cached, t);
    own->payload_moved += bytes;
    if (own->state->starts)
        tell_moved(c, own, &s->edges[cached_first_message(cached, t)->edge], bytes, own->state->starts[t]);
    for (uint32_t f = cached->follower_starts[t]; f < cached->follower_starts[t + 1]; f++) {
        uint32_t follower = cached->followers[f];
        SIM_ASSERT(own->state->waits[follower] > 0);
        if (--own->state->waits[follower] == 0) start_transfer(c, i, follower);
    }
}

static void stream_delivered(collectives *c, uint32_t i)
{
    instance *own = &c->instances.items[i];
    const shape *s = &c->shapes.items[own->shape];
    const plan *p = &plan_cache_at(c->plans, s->plan)->plan;
    for (uint32_t e = 0; e < p->edge_count; e++) {
        own->payload_moved += p->edges[e].bytes;
        tell_moved(c, own, &s->edges[e], p->edges[e].bytes, own->last_arrival_ps);
    }
}

static void on_delivered(void *owner, uint64_t tag, transfer_id id)
{
    collectives *c = owner;
    uint32_t i = (uint32_t)(tag >> 32);
    (void)id;
    SIM_ASSERT(c->instances.items[i].open && c->instances.items[i].transfers_left > 0);
    if (c->options.grain == GRAIN_STREAMS)
        stream_delivered(c, i);
    else
        transfer_delivered(c, i, (uint32_t)tag);
    if (--c->instances.items[i].transfers_left == 0) finish(c, i);
}

static void on_begin(sim *s, void *owner, const sim_event *event)
{
    (void)s;
    start_messages(owner, event->target);
}

static void on_end(sim *s, void *owner, const sim_event *event)
{
    (void)s;
    finish(owner, event->target);
}

// ---- groups, forecast, counters ----

collectives *collectives_create(arena *a, sim *s, network *n, const collectives_options *options)
{
    SIM_ASSERT(options->terms && options->done);
    collectives *c = arena_new(a, collectives);
    *c = (collectives){ .arena = a, .sim = s, .network = n, .options = *options };
    c->plans = plan_cache_create(a, options->grain, options->moved != NULL);
    c->shape_by_key = map_create(a);
    c->client = network_add_client(n, on_delivered, c);
    c->kind_begin = sim_add_kind(s, "collective begins", SIM_ACT, on_begin, c);
    c->kind_end = sim_add_kind(s, "collective ends", SIM_ACT, on_end, c);
    return c;
}

group_id collectives_add_group(collectives *c, const group_def *def)
{
    SIM_ASSERT(def->count > 0 && def->multiplicity > 0 && def->label);
    group *g = array_push(&c->groups, c->arena);
    vertex_id *members = arena_array(c->arena, vertex_id, def->count);
    memcpy(members, def->members, def->count * sizeof *members);
    g->def = *def;
    g->def.members = members;
    g->def.label = arena_text(c->arena, def->label);
    g->node = topology_vertex_at(network_topology(c->network), members[0])->node;
    g->label = sim_digest_text(def->label);
    g->free_instance = NO_ID;
    arena_mark_t mark = arena_mark(c->arena);
    ring_set rings = ring_order_make(c->arena, network_topology(c->network), members, def->count);
    bool added;
    g->rings = plan_cache_add_rings(c->plans, &rings, &added);
    if (!added) arena_release(c->arena, mark); // another group has the same
    return c->groups.count - 1;
}

uint32_t collectives_group_count(const collectives *c)
{
    return c->groups.count;
}

const group_def *collectives_group(const collectives *c, group_id g)
{
    SIM_ASSERT(g < c->groups.count);
    return &c->groups.items[g].def;
}

uint32_t collectives_ring_count(const collectives *c, group_id g)
{
    SIM_ASSERT(g < c->groups.count);
    return plan_cache_rings(c->plans, c->groups.items[g].rings)->count;
}

uint64_t collective_message_count(const collectives *c, const collective_request *request)
{
    SIM_ASSERT(request->group < c->groups.count);
    if (c->options.grain == GRAIN_STREAMS) return 0;
    if (request->kind == COLLECTIVE_SEND_RECV) return 1;
    return plan_ring_messages(request->kind,
                              plan_cache_rings(c->plans, c->groups.items[request->group].rings));
}

// One edge alone: all its steps, each of the largest chunks (messages), or all its bytes at once (streams).
static double edge_time_s(const collectives *c, const shape *s, const plan *p, uint32_t e)
{
    const path_facts path = path_of(c, &s->edges[e]);
    if (c->options.grain == GRAIN_STREAMS) {
        sim_time wire_ps = units_wire_time_ps(s->edges[e].bytes, path.rate_mBps);
        return units_s_from_ps(s->edges[e].latency_ps + p->steps * path.delay_ps + wire_ps);
    }
    uint64_t largest = protocol_wire_bytes(terms_of(c, s),
                                           p->edges[e].rings * plan_chunk_bytes(p->bytes, p->chunks, 0));
    sim_time step_ps = s->edges[e].latency_ps + path.delay_ps + units_wire_time_ps(largest, path.rate_mBps);
    return p->steps * units_s_from_ps(step_ps);
}

uint64_t collective_transfer_count(collectives *c, const collective_request *request)
{
    const uint32_t found = find_shape(c, request); // before c->shapes.items is read: it may move
    const cached_plan *cached = plan_cache_at(c->plans, c->shapes.items[found].plan);
    return c->options.grain == GRAIN_STREAMS ? cached->plan.edge_count : cached->transfer_count;
}

// T = base + max over edges of steps max(hop, delay) + b / B: exact on the ideal network, for messages up to chunks of
// unequal size.
double collective_predict_s(collectives *c, const collective_request *request)
{
    const uint32_t found = find_shape(c, request); // before c->shapes.items is read: it may move
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

collectives_counters collectives_counters_of(const collectives *c)
{
    collectives_counters counters = c->counters;
    counters.plans = plan_cache_count(c->plans);
    return counters;
}

uint32_t collectives_open_count(const collectives *c)
{
    return c->open_count;
}
