// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/collective_bench.h"
#include "models/collective/collective.h"
#include "models/collective/ring_order.h"
#include "models/collective/tuner.h"
#include "models/world.h"
#include "sim/words.h"
#include <math.h>
#include <string.h>

// About 80 bytes each, as in models/world.c: 2 GB.
#define BENCH_MESSAGES_MAX 25000000
// Of a stream, about 300 bytes each in plan, shape, request and shares: 1.3 GB. All-to-all of 2,048 ranks.
#define BENCH_EDGES_MAX 4200000

struct collective_bench {
    arena *arena;
    const scenario *scenario;
    collective_bench_options options;
    collective_bench_facts facts;
    topology *fabric;
    vertex_id *members; // by rank
    const collective_hardware *hardware;
    ring_set rings;           // of all ranks
    collective_layout layout; // likewise
    uint64_t slowest_mBps;
};

typedef struct play_state { // of one play
    collectives *collectives;
    collective_bench_result *result;
    uint32_t groups, ended;
    group_id last; // to end
} play_state;

// ---- what there is

static void place_ranks(collective_bench *b)
{
    const cluster_def *c = &b->scenario->cluster;
    uint32_t alike, placed = 0;
    const node_id *nodes = cluster_nodes_alike(c, b->arena, &alike);
    collective_bench_facts *f = &b->facts;
    f->nodes = b->options.nodes ? b->options.nodes : alike;
    f->gpus_per_node = b->options.gpus_per_node ? b->options.gpus_per_node : c->node.gpus;
    f->ranks = f->nodes * f->gpus_per_node;
    SIM_ASSERT(f->nodes <= alike && f->gpus_per_node <= c->node.gpus && f->ranks >= 2);
    b->members = arena_array(b->arena, vertex_id, f->ranks);
    gpu_id first = 0;
    for (node_id n = 0; placed < f->nodes; n++) {
        if (n == nodes[placed]) {
            for (uint32_t g = 0; g < f->gpus_per_node; g++)
                b->members[placed * f->gpus_per_node + g] = topology_gpu_vertex(b->fabric, first + g);
            placed++;
        }
        first += cluster_node_at(c, n)->gpus;
    }
}

static bool is_of_nic(const topology *t, const topology_link *link)
{
    return link->class == LINK_NETWORK && (topology_vertex_at(t, link->from)->kind == VERTEX_NIC ||
                                           topology_vertex_at(t, link->to)->kind == VERTEX_NIC);
}

static void look_at_nic(collective_bench *b, nic_id nic)
{
    uint32_t count;
    const link_id *links = topology_outgoing(b->fabric, topology_nic_vertex(b->fabric, nic), &count);
    double healthy_mBps = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        const topology_link *link = topology_link_at(b->fabric, links[i]);
        if (link->class != LINK_NETWORK) continue;
        healthy_mBps += (double)link->rate_mBps / link->health_ratio;
        b->facts.degraded |= link->health_ratio < 1.0;
    }
    const uint64_t mBps = (uint64_t)llround(healthy_mBps);
    if (b->facts.nic_mBps == 0 || mBps < b->facts.nic_mBps) b->facts.nic_mBps = mBps;
}

// GPUs are spread over the NICs in order, so those of one node follow one another.
static uint32_t nics_of_node(collective_bench *b, uint32_t node)
{
    const uint32_t per_node = b->facts.gpus_per_node;
    nic_id first, next = 0;
    uint32_t count, nics = 0;
    for (uint32_t g = 0; g < per_node; g++) {
        const gpu_id gpu = topology_gpu_of(b->fabric, b->members[node * per_node + g]);
        if (!topology_nics_of_gpu(b->fabric, gpu, &first, &count)) return 0;
        if (nics == 0) next = first;
        for (nic_id nic = first < next ? next : first; nic < first + count; nic++, nics++)
            look_at_nic(b, nic);
        if (first + count > next) next = first + count;
    }
    return nics;
}

static uint32_t domain_of_node(const collective_bench *b, uint32_t node)
{
    return topology_domain_of(b->fabric, b->members[node * b->facts.gpus_per_node]);
}

// Nodes that share a domain follow one another.
static void look_at_domains(collective_bench *b)
{
    collective_bench_facts *f = &b->facts;
    f->domain_nodes = f->nodes;
    for (uint32_t first = 0, n; first < f->nodes; first = n, f->domains++) {
        for (n = first + 1; n < f->nodes && domain_of_node(b, n) == domain_of_node(b, first);)
            n++;
        if (n - first < f->domain_nodes) f->domain_nodes = n - first;
    }
    f->leaves_domain = f->domains > 1;
}

static void gather_facts(collective_bench *b)
{
    collective_bench_facts *f = &b->facts;
    const topology *t = b->fabric;
    for (uint32_t n = 0; n < f->nodes; n++) {
        const uint32_t nics = nics_of_node(b, n);
        if (n == 0 || nics < f->nics_per_node) f->nics_per_node = nics;
    }
    look_at_domains(b);
    b->slowest_mBps = UINT64_MAX;
    for (link_id l = 0; l < topology_link_count(t); l++) {
        const topology_link *link = topology_link_at(t, l);
        if (link->rate_mBps < b->slowest_mBps) b->slowest_mBps = link->rate_mBps;
    }
    b->hardware = scenario_hardware(b->arena, b->scenario);
    b->rings = ring_order_make(b->arena, t, b->members, f->ranks);
    b->layout = group_layout(t, b->hardware, &b->rings, b->members, LAYOUT_AS_IT_IS);
}

collective_bench *collective_bench_create(arena *a, const scenario *s,
                                          const collective_bench_options *options, sim_error *error)
{
    collective_bench *b = arena_new(a, collective_bench);
    *b = (collective_bench){ .arena = a, .scenario = s, .options = *options };
    b->fabric = world_build_fabric(a, s, error);
    if (!b->fabric) return NULL;
    place_ranks(b);
    gather_facts(b);
    return b;
}

const collective_bench_facts *collective_bench_facts_of(const collective_bench *b)
{
    return &b->facts;
}

const topology *collective_bench_fabric(const collective_bench *b)
{
    return b->fabric;
}

const collective_layout *collective_bench_layout(const collective_bench *b)
{
    return &b->layout;
}

static uint32_t cables_of_nic(const topology *t, nic_id nic)
{
    uint32_t count, cables = 0;
    const link_id *links = topology_outgoing(t, topology_nic_vertex(t, nic), &count);
    for (uint32_t i = 0; i < count; i++)
        cables += topology_link_at(t, links[i])->class == LINK_NETWORK;
    return cables;
}

// As rings do on static routes.
static bool paces_feel_queue_pairs(const collective_bench *b)
{
    sim_time times_ps[2];
    for (uint32_t i = 0; i < ARRAY_COUNT(times_ps); i++) {
        collective_layout layout = b->layout;
        layout.queue_pairs = 1 + i;
        const collective_pace pace = pace_of(&b->scenario->network.collectives, &layout,
                                             COLLECTIVE_ALL_REDUCE, ALGORITHM_RING, PROTOCOL_SIMPLE,
                                             UINT64_C(1) << 30);
        times_ps[i] = pace_time_ps(&pace);
    }
    return times_ps[0] != times_ps[1];
}

bool collective_bench_feels_queue_pairs(const collective_bench *b)
{
    const topology *t = b->fabric;
    const fabric_policy *policy = topology_policy(t);
    if (!b->facts.leaves_domain) return false;
    if (policy->queue_pair_cap_mBps > 0 || paces_feel_queue_pairs(b)) return true;
    for (uint32_t r = 0; r < b->facts.ranks; r++) {
        nic_id first;
        uint32_t nics;
        if (!topology_nics_of_gpu(t, topology_gpu_of(t, b->members[r]), &first, &nics)) continue;
        if (nics > 1 || cables_of_nic(t, first) > 1) return true;
    }
    return policy->routing == ROUTING_ECMP && topology_bundle_count(t) > 0;
}

// ---- what can be asked

static collective_choice choose(const collective_bench *b, const collective_bench_request *r)
{
    return tuner_choose(&b->scenario->network.collectives, &b->layout, r->kind, r->bytes, r->algorithm,
                        r->protocol);
}

// As long as alone, and were all that it moves to cross the slowest link one after another: no rank passes on more than twice
// the buffer, in all-to-all its own; LL doubles it.
static double longest_s(const collective_bench *b, const collective_bench_request *r)
{
    const collective_library *library = &b->scenario->network.collectives;
    const collective_choice choice = choose(b, r);
    const collective_pace pace = pace_of(library, &b->layout, r->kind, choice.algorithm, choice.protocol,
                                         r->bytes);
    return units_s_from_ps(pace_time_ps(&pace)) + 2.0 * b->facts.ranks * (double)r->bytes *
                                                      library->kernels.cuts[choice.protocol].wire_ratio /
                                                      ((double)b->slowest_mBps / 1000.0);
}

#define OBSTACLE(about_, valid_, ...)                                                                        \
    (collective_bench_obstacle)                                                                              \
    {                                                                                                        \
        .about = OBSTACLE_##about_, .valid = (valid_), .why = arena_format(b->arena, __VA_ARGS__)            \
    }

static bool has_algorithm(const collective_bench *b, collective_kind kind, collective_algorithm algorithm)
{
    const plan_request request = { .kind = kind, .algorithm = algorithm, .rings = &b->rings };
    return tuner_has(&b->scenario->network.collectives, &b->layout, kind, algorithm) && plan_exists(&request);
}

// "ring, tree or nvls".
static const char *algorithms_of(const collective_bench *b, collective_kind kind)
{
    const char *text = NULL, *last = NULL;
    for (int i = 0; i < ALGORITHMS; i++) {
        if (!has_algorithm(b, kind, (collective_algorithm)i)) continue;
        if (last) text = text ? arena_format(b->arena, "%s, %s", text, last) : last;
        last = collective_algorithm_words[i];
    }
    return text ? arena_format(b->arena, "%s or %s", text, last) : last;
}

// On any hardware.
static bool kind_has(collective_kind kind, collective_algorithm algorithm)
{
    const uint32_t starts[] = { 0, 2, 4 };
    const ring_set node = { .ranks = 4, .count = 1 },
                   nodes = { .ranks = 4, .count = 1, .nodes = 2, .node_starts = starts };
    return plan_exists(&(plan_request){ .kind = kind, .algorithm = algorithm, .rings = &node }) ||
           plan_exists(&(plan_request){ .kind = kind, .algorithm = algorithm, .rings = &nodes });
}

static collective_bench_obstacle algorithm_obstacle(const collective_bench *b,
                                                    const collective_bench_request *r)
{
    const collective_algorithm algorithm = (collective_algorithm)r->algorithm;
    const char *valid = algorithms_of(b, r->kind), *word = collective_algorithm_words[algorithm];
    const char *lacks = tuner_lacks(&b->scenario->network.collectives, &b->layout, algorithm);
    if (lacks && kind_has(r->kind, algorithm)) return OBSTACLE(ALGORITHM, valid, "%s", lacks);
    if (lacks || !has_algorithm(b, r->kind, algorithm))
        return OBSTACLE(ALGORITHM, valid, "%s has no algorithm \"%s\" here", collective_kind_words[r->kind],
                        word);
    return (collective_bench_obstacle){ 0 };
}

static collective_bench_obstacle choice_obstacle(const collective_bench *b, const collective_bench_request *r)
{
    if (r->algorithm != ALGORITHM_AUTO) {
        const collective_bench_obstacle obstacle = algorithm_obstacle(b, r);
        if (obstacle.why) return obstacle;
    }
    if (r->protocol == PROTOCOL_AUTO || r->protocol == PROTOCOL_SIMPLE)
        return (collective_bench_obstacle){ 0 };
    const collective_choice choice = choose(b, r);
    if (choice.protocol == (collective_protocol)r->protocol) return (collective_bench_obstacle){ 0 };
    return OBSTACLE(PROTOCOL, "simple", "%s has no protocol \"%s\"",
                    collective_algorithm_words[choice.algorithm], collective_protocol_words[r->protocol]);
}

// ---- one play

static void on_done(void *owner, const collective_result *done)
{
    play_state *p = owner;
    p->ended++;
    if (p->ended > 1 && done->end_ps <= p->result->time_ps) return; // of those that end together the first
    p->result->time_ps = done->end_ps;
    p->result->algorithm = done->algorithm;
    p->result->protocol = done->protocol;
    p->last = done->group;
}

static collectives *make_collectives(const collective_bench *b, const collective_bench_request *r, sim *s,
                                     network *n, play_state *p)
{
    return collectives_create(b->arena, s, n,
                              &(collectives_options){
                                  .library = &b->scenario->network.collectives,
                                  .hardware = b->hardware,
                                  .grain = r->grain,
                                  .forced_algorithm = r->algorithm,
                                  .done = on_done,
                                  .owner = p,
                              });
}

static void add_groups(const collective_bench *b, const collective_bench_request *r, play_state *p)
{
    const uint32_t ranks = b->facts.ranks;
    const bool pairs = r->kind == COLLECTIVE_SEND_RECV;
    p->groups = pairs ? ranks : 1;
    for (uint32_t g = 0; g < p->groups; g++) {
        const vertex_id pair[] = { b->members[g], b->members[(g + 1) % ranks] };
        const group_def def = { .members = pairs ? pair : b->members,
                                .count = pairs ? 2 : ranks,
                                .multiplicity = 1,
                                .communicator_ranks = ranks,
                                .communicator_nodes = b->facts.domains,
                                .label = "bench" };
        collectives_add_group(p->collectives, &def);
    }
}

static collective_request request_of(const collective_bench_request *r, group_id g)
{
    return (collective_request){ .kind = r->kind,
                                 .group = g,
                                 .bytes = r->bytes,
                                 .tag = g,
                                 .forced_protocol = r->protocol,
                                 .parts = r->parts };
}

static void start(const collective_bench *b, const collective_bench_request *r, play_state *p)
{
    const uint32_t ranks = b->facts.ranks;
    const bool pairs = r->kind == COLLECTIVE_SEND_RECV;
    add_groups(b, r, p);
    for (uint32_t g = 0; g < p->groups; g++) {
        const collective_request request = request_of(r, g);
        const uint32_t opened = collective_open(p->collectives, &request);
        for (uint32_t m = 0; m < (pairs ? 2 : ranks); m++)
            collective_arrive(p->collectives, opened, m);
    }
}

static uint32_t channels_of(const play_state *p, const collective_bench_request *r)
{
    const collective_request request = request_of(r, p->last);
    return collective_pace_at(p->collectives, collective_shape(p->collectives, &request))->channels;
}

static void look_at_links(const collective_bench *b, const network *n, collective_bench_result *result)
{
    result->busiest_link = NO_ID;
    for (link_id l = 0; l < topology_link_count(b->fabric); l++) {
        const uint64_t bytes = network_link_bytes(n, l);
        if (bytes == 0) continue;
        const topology_link *link = topology_link_at(b->fabric, l);
        const sim_time least_ps = units_wire_time_ps(bytes, link->rate_mBps);
        if (least_ps > result->link_least_ps) {
            result->link_least_ps = least_ps;
            result->busiest_link = l;
        }
        if (least_ps > result->nic_least_ps && is_of_nic(b->fabric, link)) result->nic_least_ps = least_ps;
    }
}

void collective_bench_play(collective_bench *b, const collective_bench_request *request,
                           collective_bench_result *result)
{
    const arena_mark_t mark = arena_mark(b->arena);
    *result = (collective_bench_result){ 0 };
    sim *s = sim_create(
        b->arena, &(sim_options){ .queue = b->options.queue, .reverse_phases = b->options.reverse_phases });
    network *n = world_build_network(b->arena, b->scenario, s, b->fabric);
    play_state p = { .result = result };
    p.collectives = collectives_create(b->arena, s, n,
                                       &(collectives_options){
                                           .library = &b->scenario->network.collectives,
                                           .hardware = b->hardware,
                                           .grain = request->grain,
                                           .forced_algorithm = request->algorithm,
                                           .done = on_done,
                                           .owner = &p,
                                       });
    if (b->options.poll) sim_set_poll(s, b->options.poll, b->options.owner);
    start(b, request, &p);
    const sim_outcome outcome = sim_run(s, SIM_TIME_MAX);
    result->cancelled = outcome == SIM_STOPPED && p.ended < p.groups;
    if (!result->cancelled) {
        SIM_ASSERT(outcome != SIM_LIVELOCK && p.ended == p.groups);
        const network_counters moved = network_counters_of(n);
        SIM_ASSERT(moved.bytes_sent == moved.bytes_received);
        network_verify(n);
        const unsigned __int128 wire = collectives_counters_of(p.collectives).network_bytes;
        result->wire_bytes = (uint64_t)((wire + b->facts.ranks - 1) / b->facts.ranks);
        result->events = sim_counters_of(s).handled;
        result->digest = sim_digest(s);
        result->channels = channels_of(&p, request);
        look_at_links(b, n, result);
    }
    sim_destroy(s);
    arena_release(b->arena, mark);
}

// ---- what is too large

static uint64_t messages_of(const collective_bench *b, const collective_bench_request *r)
{
    const arena_mark_t mark = arena_mark(b->arena);
    sim *s = sim_create(b->arena, NULL);
    play_state p = { .result = NULL };
    p.collectives = make_collectives(b, r, s, world_build_network(b->arena, b->scenario, s, b->fabric), &p);
    add_groups(b, r, &p);
    uint64_t messages = 0;
    for (uint32_t g = 0; g < p.groups; g++) {
        const collective_request request = request_of(r, g);
        messages += collective_message_count(p.collectives, &request);
    }
    sim_destroy(s);
    arena_release(b->arena, mark);
    return messages;
}

// Rings over nodes have as many edges as ranks and NICs of a node at most; all-to-all has one from each rank to each.
static collective_bench_obstacle size_obstacle(const collective_bench *b, const collective_bench_request *r)
{
    char count[WORDS_GROUPED_SIZE];
    const uint64_t ranks = b->facts.ranks, nics = b->facts.nics_per_node ? b->facts.nics_per_node : 1;
    const bool all_to_all = r->kind == COLLECTIVE_ALL_TO_ALL || r->kind == COLLECTIVE_ALL_TO_ALL_UNEQUAL;
    const uint64_t edges = all_to_all ? ranks * (ranks - 1) : ranks * nics;
    if (edges > BENCH_EDGES_MAX)
        return OBSTACLE(BYTES, NULL,
                        "%s between %u ranks has %s pairs, more than the %.1f million that are played",
                        collective_kind_words[r->kind], b->facts.ranks, words_grouped(count, edges),
                        BENCH_EDGES_MAX / 1e6);
    const uint64_t messages = r->grain == GRAIN_MESSAGES ? messages_of(b, r) : 0;
    if (messages > BENCH_MESSAGES_MAX)
        return OBSTACLE(GRAIN, "streams",
                        "%s between %u ranks has %s messages; at most %d million, which "
                        "take 2 GB of memory, are played one by one",
                        collective_kind_words[r->kind], b->facts.ranks, words_grouped(count, messages),
                        BENCH_MESSAGES_MAX / 1000000);
    if (longest_s(b, r) <= units_s_from_ps(SIM_TIME_MAX) / 2.0) return (collective_bench_obstacle){ 0 };
    return OBSTACLE(BYTES, NULL, "%s may take longer than the 53 days that the clock is given",
                    units_format_binary_bytes((double)r->bytes, (char[32]){ 0 }, 32));
}

collective_bench_obstacle collective_bench_refuse(const collective_bench *b,
                                                  const collective_bench_request *request)
{
    const collective_bench_obstacle obstacle = choice_obstacle(b, request);
    return obstacle.why ? obstacle : size_obstacle(b, request);
}

// ---- bandwidths

double collective_bench_bus_factor(collective_kind kind, uint32_t ranks)
{
    const double others = (ranks - 1.0) / ranks;
    switch (kind) {
    case COLLECTIVE_ALL_REDUCE:
    case COLLECTIVE_BARRIER: return 2.0 * others;
    case COLLECTIVE_REDUCE_SCATTER:
    case COLLECTIVE_ALL_GATHER:
    case COLLECTIVE_ALL_TO_ALL:
    case COLLECTIVE_ALL_TO_ALL_UNEQUAL: return others;
    case COLLECTIVE_SEND_RECV:
    case COLLECTIVE_REDUCE:
    case COLLECTIVE_BROADCAST: return 1.0;
    case COLLECTIVE_KINDS: break;
    }
    SIM_ASSERT(false);
    return 0.0;
}

double collective_bench_bus_Bps(collective_kind kind, uint32_t ranks, uint64_t bytes, sim_time time_ps)
{
    SIM_ASSERT(time_ps > 0);
    return collective_bench_bus_factor(kind, ranks) * (double)bytes / units_s_from_ps(time_ps);
}
