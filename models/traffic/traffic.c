// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/traffic/traffic.h"
#include "models/digest.h"
#include <math.h>

typedef struct loop_host {
    pattern_stream draws; // churn
    traffic_flow flow;    // in the air, or the latest
    uint64_t started, sent, received;
} loop_host;

struct traffic {
    sim *sim;
    network *network;
    traffic_settings settings;
    traffic_results results;
    uint32_t next_flow;   // of the list: the first that has not started
    uint32_t next_change; // the first that has not happened
    loop_host *loop;      // per host; NULL: a list
    uint64_t loop_steps;  // of a host
    uint16_t client, kind_start, kind_change;
};

static void start_flow(traffic *t, const traffic_flow *flow, uint64_t tag)
{
    const network_edge edge = { .from = t->settings.hosts[flow->from],
                                .to = t->settings.hosts[flow->to],
                                .bytes = flow->bytes };
    t->results.started++;
    network_start(t->network, &(network_request){ .edges = &edge,
                                                  .edge_count = 1,
                                                  .delay_crossings = 1,
                                                  .weight = 1,
                                                  .queue_pairs = 1,
                                                  .twin = (uint32_t)tag,
                                                  .multiplicity = 1,
                                                  .client = t->client,
                                                  .tag = tag });
}

// ---- what has ended

static void note_done(traffic *t, const traffic_done *done)
{
    traffic_results *r = &t->results;
    const sim_time duration_ps = done->end_ps - done->start_ps;
    const bool first = r->finished == 0;
    r->finished++;
    r->bytes += done->bytes;
    r->completion_sum_ps += (unsigned __int128)done->end_ps;
    r->duration_sum_ps += (unsigned __int128)duration_ps;
    if (first || done->end_ps < r->completion_first_ps) r->completion_first_ps = done->end_ps;
    if (first || done->end_ps > r->completion_last_ps) r->completion_last_ps = done->end_ps;
    if (first || duration_ps < r->duration_least_ps) r->duration_least_ps = duration_ps;
    if (first || duration_ps > r->duration_greatest_ps) r->duration_greatest_ps = duration_ps;

    const uint64_t words[] = { done->flow,  done->from,
                               done->to,    (uint64_t)done->start_ps,
                               done->bytes, (uint64_t)done->end_ps };
    sim_digest_add(t->sim, DIGEST_TRANSFER, words, ARRAY_COUNT(words), 1);
    if (t->settings.on_done) t->settings.on_done(t->settings.owner, done);
    // What may still happen to links is nobody's business any more.
    if (r->finished == r->flows && t->next_change < t->settings.changes.count) sim_stop(t->sim);
}

static traffic_done done_now(const traffic *t, const traffic_flow *flow, uint64_t number)
{
    return (traffic_done){ .flow = number,
                           .from = flow->from,
                           .to = flow->to,
                           .bytes = flow->bytes,
                           .start_ps = flow->start_ps,
                           .end_ps = sim_now(t->sim) };
}

// ---- a list: one pending event, for the next flows to start

static void schedule_next(traffic *t)
{
    if (t->next_flow == t->settings.flows.count) return;
    sim_schedule(t->sim, t->settings.flows.items[t->next_flow].start_ps, t->kind_start, 0, 0);
}

static void start_listed(traffic *t)
{
    const traffic_flow_array *flows = &t->settings.flows;
    for (; t->next_flow < flows->count; t->next_flow++) {
        const traffic_flow *flow = &flows->items[t->next_flow];
        SIM_ASSERT(flow->start_ps >= sim_now(t->sim)); // ordered
        if (flow->start_ps > sim_now(t->sim)) break;
        start_flow(t, flow, t->next_flow);
    }
    schedule_next(t);
}

// ---- loops: each host has at most one flow in the air

static void start_in_loop(traffic *t, uint32_t host)
{
    loop_host *h = &t->loop[host];
    h->flow.start_ps = sim_now(t->sim);
    h->started++;
    start_flow(t, &h->flow, host);
}

static void start_churn(traffic *t, uint32_t host)
{
    loop_host *h = &t->loop[host];
    if (h->started == t->loop_steps) return;
    h->flow = pattern_churn_next(&t->settings.loop, &h->draws, t->settings.host_count, host);
    start_in_loop(t, host);
}

// Starts the host's next step if its own send and its own receive of the one before are over. Both ends of a send ask, in
// any order.
static void start_ring(traffic *t, uint32_t host)
{
    const loop_host *h = &t->loop[host];
    if (h->started == t->loop_steps || h->sent < h->started || h->received < h->started) return;
    start_in_loop(t, host);
}

static void start_loop(traffic *t)
{
    for (uint32_t host = 0; host < t->settings.host_count; host++) {
        if (t->settings.loop.kind == PATTERN_CHURN)
            start_churn(t, host);
        else
            start_ring(t, host);
    }
}

static void end_in_loop(traffic *t, uint32_t host)
{
    loop_host *h = &t->loop[host];
    const traffic_done done = done_now(t, &h->flow, h->sent * t->settings.host_count + host);
    const uint32_t to = h->flow.to;
    h->sent++;
    note_done(t, &done);
    if (t->settings.loop.kind == PATTERN_CHURN) {
        start_churn(t, host);
        return;
    }
    t->loop[to].received++;
    start_ring(t, host);
    start_ring(t, to);
}

// ---- links that change: one pending event, for the next of them

static void schedule_change(traffic *t)
{
    const link_change_array *changes = &t->settings.changes;
    if (t->next_change < changes->count)
        sim_schedule(t->sim, changes->items[t->next_change].time_ps, t->kind_change, 0, 0);
}

static void on_change(sim *s, void *owner, const sim_event *event)
{
    traffic *t = owner;
    const link_change_array *changes = &t->settings.changes;
    (void)event;
    if (t->settings.on_changes) t->settings.on_changes(t->settings.owner);
    for (; t->next_change < changes->count; t->next_change++) {
        const link_change *change = &changes->items[t->next_change];
        if (change->time_ps > sim_now(s)) break;
        network_set_link(t->network, change->link, change->ratio);
    }
    schedule_change(t);
}

// ---- the player

static void on_start(sim *s, void *owner, const sim_event *event)
{
    traffic *t = owner;
    (void)s, (void)event;
    if (t->loop)
        start_loop(t);
    else
        start_listed(t);
}

static void on_delivered(void *owner, uint64_t tag, transfer_id id)
{
    traffic *t = owner;
    (void)id;
    if (t->loop) {
        end_in_loop(t, (uint32_t)tag);
        return;
    }
    const traffic_done done = done_now(t, &t->settings.flows.items[tag], tag);
    note_done(t, &done);
}

static void prepare_loop(arena *a, traffic *t)
{
    const pattern_def *p = &t->settings.loop;
    const uint32_t hosts = t->settings.host_count;
    const bool churn = p->kind == PATTERN_CHURN;
    SIM_ASSERT(pattern_is_loop(p->kind));
    t->loop = arena_array(a, loop_host, hosts);
    t->loop_steps = churn ? p->rounds : pattern_ring_steps(hosts);
    t->results.flows = pattern_flow_count(p, hosts);
    for (uint32_t host = 0; host < hosts; host++) {
        if (churn)
            t->loop[host].draws = pattern_churn_stream(p, host);
        else
            t->loop[host].flow = (traffic_flow){ .from = host,
                                                 .to = (host + 1) % hosts,
                                                 .bytes = pattern_ring_chunk_bytes(p, hosts) };
    }
}

traffic *traffic_create(arena *a, sim *s, network *n, const traffic_settings *settings)
{
    traffic *t = arena_new(a, traffic);
    *t = (traffic){ .sim = s, .network = n, .settings = *settings };
    t->client = network_add_client(n, on_delivered, t);
    t->kind_start = sim_add_kind(s, "flows start", SIM_ACT, on_start, t);
    t->kind_change = sim_add_kind(s, "links change", SIM_ACT, on_change, t);
    t->results.flows = settings->flows.count;
    if (!settings->flows.count) prepare_loop(a, t);
    return t;
}

void traffic_start(traffic *t)
{
    SIM_ASSERT(t->results.started == 0);
    if (t->loop)
        sim_schedule(t->sim, sim_now(t->sim), t->kind_start, 0, 0);
    else
        schedule_next(t);
    schedule_change(t);
}

const traffic_results *traffic_results_of(const traffic *t)
{
    return &t->results;
}

double traffic_mean_s(unsigned __int128 sum_ps, uint64_t count)
{
    return count ? (double)sum_ps / (double)count / (double)PS_PER_S : 0.0;
}

// ---- the bound

typedef struct route_load {
    const topology *fabric;
    const traffic_settings *settings;
    double *load;             // per link and bundle
    double delay_s, greatest; // of the slowest path; of load / rate, over all links
    uint32_t links;           // of the longest path
} route_load;

static void add_route(route_load *r, uint32_t from, uint32_t to, double amount)
{
    uint32_t path[TOPOLOGY_PATH_MAX]; // links and bundles
    const vertex_id *hosts = r->settings->hosts;
    const uint32_t links = topology_route(r->fabric, hosts[from], hosts[to], path);
    for (uint32_t i = 0; i < links; i++) {
        r->load[path[i]] += amount;
        r->greatest = fmax(r->greatest,
                           1000.0 * r->load[path[i]] / (double)topology_rate_mBps(r->fabric, path[i]));
    }
    const path_facts facts = topology_path_facts(r->fabric, hosts[from], hosts[to]);
    r->delay_s = fmax(r->delay_s, units_s_from_ps(facts.delay_ps));
    if (links > r->links) r->links = links;
}

static double slowest_Bps(const topology *fabric)
{
    double slowest = INFINITY;
    for (link_id l = 0; l < topology_link_count(fabric); l++)
        slowest = fmin(slowest, (double)topology_link_at(fabric, l)->rate_mBps / 1000.0);
    return slowest;
}

static double longest_delay_s(const topology *fabric)
{
    double longest_s = 0.0;
    for (link_id l = 0; l < topology_link_count(fabric); l++)
        longest_s = fmax(longest_s, units_s_from_ps(topology_link_at(fabric, l)->delay_ps));
    return TOPOLOGY_PATH_MAX * longest_s;
}

// All flows one after another, over paths that nobody knows, at the least rate of all.
static double longest_with_changes_s(const topology *fabric, const traffic_settings *settings)
{
    const traffic_flow_array *flows = &settings->flows;
    const link_change_array *changes = &settings->changes;
    double ratio = 1.0, bytes = 0.0, count = flows->count, start_s = 0.0;
    for (uint32_t i = 0; i < changes->count; i++)
        if (changes->items[i].ratio > 0.0) ratio = fmin(ratio, changes->items[i].ratio);
    for (uint32_t i = 0; i < flows->count; i++)
        bytes += (double)flows->items[i].bytes;
    if (flows->count) {
        start_s = units_s_from_ps(flows->items[flows->count - 1].start_ps);
    } else {
        const pattern_def *p = &settings->loop;
        count = (double)pattern_flow_count(p, settings->host_count);
        bytes = count * (p->kind == PATTERN_RING ? (double)pattern_ring_chunk_bytes(p, settings->host_count)
                                                 : 1.5 * (double)p->bytes);
    }
    return fmax(start_s, units_s_from_ps(changes->items[changes->count - 1].time_ps)) +
           2.0 * TOPOLOGY_PATH_MAX * bytes / (slowest_Bps(fabric) * ratio) + count * longest_delay_s(fabric);
}

double traffic_longest_s(arena *scratch, const topology *fabric, const traffic_settings *settings)
{
    const traffic_flow_array *flows = &settings->flows;
    const uint32_t hosts = settings->host_count;
    const arena_mark_t mark = arena_mark(scratch);
    route_load r = { .fabric = fabric, .settings = settings };
    double longest_s;
    if (settings->changes.count) return longest_with_changes_s(fabric, settings);
    r.load = arena_array(scratch, double, topology_link_count(fabric) + topology_bundle_count(fabric));
    if (flows->count) {
        for (uint32_t i = 0; i < flows->count; i++)
            add_route(&r, flows->items[i].from, flows->items[i].to, (double)flows->items[i].bytes);
        longest_s = units_s_from_ps(flows->items[flows->count - 1].start_ps) +
                    2.0 * (r.links * r.greatest + r.delay_s);
    } else if (settings->loop.kind == PATTERN_RING) {
        for (uint32_t host = 0; host < hosts; host++)
            add_route(&r, host, (host + 1) % hosts, 1.0);
        const double chunk = (double)pattern_ring_chunk_bytes(&settings->loop, hosts);
        longest_s = (double)pattern_ring_steps(hosts) * (2.0 * chunk * r.greatest + r.delay_s);
    } else {
        const double largest = 1.5 * (double)settings->loop.bytes;
        longest_s = (double)settings->loop.rounds *
                    (2.0 * largest * hosts / slowest_Bps(fabric) + longest_delay_s(fabric));
    }
    arena_release(scratch, mark);
    return longest_s;
}
