// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/collective/message_play.h"
#include "models/collective/ring_order.h"
#include "models/digest.h"

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

void collective_count_opened(collectives *c, uint32_t s)
{
    shape *own = &c->shapes.items[s];
    if (own->opened) c->counters.plan_hits++;
    own->opened = true;
}

uint32_t collective_open(collectives *c, const collective_request *request)
{
    const uint32_t s = shape_find(c, request);
    const group_id g = shape_at(c, s)->key.group;
    collective_count_opened(c, s);
    uint32_t i = take_instance(c, g), members = c->groups.items[g].def.count;
    uint64_t *arrived = c->instances.items[i].arrived;
    memset(arrived, 0, (members + 63) / 64 * sizeof *arrived);
    c->instances.items[i] =
        (instance){ .shape = s, .tag = request->tag, .open = true, .missing = members, .arrived = arrived };
    return i;
}

void collective_count_end(collectives *c, const shape *s, sim_time start_ps, sim_time end_ps)
{
    const group *g = &c->groups.items[s->key.group];
    const uint64_t words[] = { (uint64_t)s->key.kind, g->node,      g->def.count, (uint64_t)start_ps,
                               (uint64_t)end_ps,      s->key.bytes, g->label };
    sim_digest_add(c->sim, DIGEST_COLLECTIVE, words, ARRAY_COUNT(words), g->def.multiplicity);
    c->counters.played++;
    c->counters.network_bytes += (unsigned __int128)s->network_bytes * g->def.multiplicity;
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
                                 .algorithm = s->choice.algorithm,
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
    collective_count_end(c, s, result.last_arrival_ps, result.end_ps);
    own->open = false;
    own->next_free = g->free_instance;
    g->free_instance = i;
    c->open_count--;
    c->options.done(c->options.owner, &result); // last: it may open others, which moves the arrays
}

// Shapes are few and their streams many, so the network keeps one request for each stage.
static void start_stage(collectives *c, uint32_t i)
{
    instance *own = &c->instances.items[i];
    const shape *s = &c->shapes.items[own->shape];
    stream_stage *stage = &s->stages[own->stage];
    if (stage->prepared == NO_ID) {
        network_request request = shape_stream(c, s, own->stage);
        request.client = c->client;
        stage->prepared = network_prepare(c->network, &request);
    }
    own->stage_start_ps = sim_now(c->sim);
    network_start_prepared(c->network, stage->prepared, (uint64_t)i << 32);
    c->counters.messages++;
}

// The last member is there.
static void start(collectives *c, uint32_t i)
{
    instance *own = &c->instances.items[i];
    const shape *s = &c->shapes.items[own->shape];
    own->started = true;
    if (plan_cache_at(c->plans, s->plan)->plan.steps == 0) {
        sim_schedule(c->sim, sim_now(c->sim), c->kind_end, i, 0);
    } else if (c->options.grain == GRAIN_STREAMS) {
        start_stage(c, i);
    } else {
        c->counters.messages += s->requests;
        message_play(c->messages, own->shape, i);
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

static void on_message(void *owner, uint32_t i, uint32_t t, sim_time start_ps)
{
    collectives *c = owner;
    instance *own = &c->instances.items[i];
    const shape *s = &c->shapes.items[own->shape];
    const cached_plan *cached = plan_cache_at(c->plans, s->plan);
    own->payload_moved += cached_transfer_payload(cached, t);
    for (uint32_t e = cached->first_edges[t]; e < cached->first_edges[t + 1]; e++)
        tell_moved(c, own, &s->edges[cached->edges[e].edge], cached->edges[e].bytes, start_ps);
}

static void on_messages_end(void *owner, uint32_t i)
{
    finish(owner, i);
}

static void on_delivered(void *owner, uint64_t tag, transfer_id id)
{
    collectives *c = owner;
    const uint32_t i = (uint32_t)(tag >> 32);
    instance *own = &c->instances.items[i];
    const shape *s = &c->shapes.items[own->shape];
    const stream_stage *stage = &s->stages[own->stage];
    const plan_edge *edges = plan_cache_at(c->plans, s->plan)->plan.edges;
    (void)id;
    SIM_ASSERT(own->open);
    for (uint32_t e = stage->first_edge; e < stage->first_edge + stage->edge_count; e++) {
        own->payload_moved += edges[e].bytes;
        tell_moved(c, own, &s->edges[e], edges[e].bytes, own->stage_start_ps);
    }
    if (++own->stage < s->requests)
        start_stage(c, i);
    else
        finish(c, i);
}

static void on_end(sim *s, void *owner, const sim_event *event)
{
    (void)s;
    finish(owner, event->target);
}

// ---- groups, counters ----

collectives *collectives_create(arena *a, sim *s, network *n, const collectives_options *options)
{
    SIM_ASSERT(options->library && options->hardware && options->done);
    collectives *c = arena_new(a, collectives);
    *c = (collectives){ .arena = a, .sim = s, .network = n, .options = *options };
    c->plans = plan_cache_create(a, options->grain);
    c->shape_by_key = map_create(a);
    c->client = network_add_client(n, on_delivered, c);
    c->kind_end = sim_add_kind(s, "collective ends", SIM_ACT, on_end, c);
    const message_client client = { .moved = on_message, .ended = on_messages_end, .owner = c };
    if (options->grain == GRAIN_MESSAGES) c->messages = message_player_create(c, s, n, &client);
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

uint32_t collectives_rings(const collectives *c, group_id g)
{
    SIM_ASSERT(g < c->groups.count);
    return c->groups.items[g].rings;
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
