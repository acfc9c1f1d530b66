// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/network/topology_internal.h"
#include "sim/check.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

const char *const vertex_kind_words[] = { "gpu",  "nvswitch", "pcie-switch", "cpu", "nic",
                                          "leaf", "spine",    "core",        NULL };
const char *const link_class_words[] = { "nvlink", "pcie", "network", NULL };
const char *const routing_words[] = { "static", "ecmp", "adaptive", NULL };

topology *topology_create(arena *a)
{
    topology *t = arena_new(a, topology);
    t->arena = a;
    t->policy = (fabric_policy){ .routing = ROUTING_STATIC, .queue_pairs = 1, .reroute_ps = SIM_TIME_MAX };
    return t;
}

void topology_set_policy(topology *t, const fabric_policy *policy)
{
    SIM_ASSERT(!t->sealed && policy->queue_pairs > 0 && policy->reroute_ps >= 0);
    t->policy = *policy;
}

const fabric_policy *topology_policy(const topology *t)
{
    return &t->policy;
}

uint64_t topology_connection_cap_mBps(const topology *t, uint32_t queue_pairs)
{
    const fabric_policy *p = &t->policy;
    const uint32_t count = queue_pairs > p->queue_pairs ? queue_pairs : p->queue_pairs;
    const unsigned __int128 cap = (unsigned __int128)p->queue_pair_cap_mBps * count;
    return cap == 0 || cap > UINT64_MAX ? UINT64_MAX : (uint64_t)cap;
}

vertex_id topology_add_vertex(topology *t, vertex_kind kind, node_id node, uint32_t number)
{
    SIM_ASSERT(!t->sealed && kind < VERTEX_KINDS && t->vertices.count < NO_ID - 1);
    *array_push(&t->vertices, t->arena) = (topology_vertex){ .kind = kind, .node = node, .number = number };
    t->kind_counts[kind]++;
    return t->vertices.count - 1;
}

link_id topology_add_cable(topology *t, const topology_link *there)
{
    SIM_ASSERT(!t->sealed && t->links.count < NO_ID - 2);
    SIM_ASSERT(there->from < t->vertices.count && there->to < t->vertices.count && there->from != there->to);
    SIM_ASSERT(there->class < LINK_CLASSES && there->delay_ps >= 0);
    topology_link link = *there;
    link.health_ratio = 1.0;
    *array_push(&t->links, t->arena) = link;
    link.from = there->to;
    link.to = there->from;
    *array_push(&t->links, t->arena) = link;
    return t->links.count - 2;
}

void topology_seal(topology *t)
{
    SIM_ASSERT(!t->sealed);
    uint32_t vertices = t->vertices.count, links = t->links.count;
    t->out_starts = arena_array(t->arena, uint32_t, (size_t)vertices + 1);
    t->out_links = arena_array(t->arena, link_id, links);
    for (link_id l = 0; l < links; l++)
        t->out_starts[t->links.items[l].from + 1]++;
    for (vertex_id v = 0; v < vertices; v++)
        t->out_starts[v + 1] += t->out_starts[v];
    // Each start moves to the next vertex's start while its row is filled; afterwards all are moved back by one vertex.
    for (link_id l = 0; l < links; l++)
        t->out_links[t->out_starts[t->links.items[l].from]++] = l;
    for (vertex_id v = vertices; v > 0; v--)
        t->out_starts[v] = t->out_starts[v - 1];
    t->out_starts[0] = 0;
    const uint32_t bundles = topology_bundle_count(t);
    t->bundle_rates_mBps = arena_array(t->arena, uint64_t, bundles);
    for (uint32_t b = 0; b < bundles; b++)
        t->bundle_rates_mBps[b] = tree_bundle_rate_mBps(t, links + b);
    t->sealed = true;
    if (t->shape != SHAPE_LIST) return;
    const size_t switches = t->list.switches;
    t->list.distance = arena_array(t->arena, uint8_t, switches * switches);
    list_fill_distances(t, NULL, t->list.distance);
}

// By halving and one move of memory: there may be tens of thousands.
static void add_degraded(topology *t, link_id l)
{
    uint32_t low = 0, high = t->degraded.count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (t->degraded.items[middle] < l)
            low = middle + 1;
        else
            high = middle;
    }
    array_push(&t->degraded, t->arena);
    memmove(&t->degraded.items[low + 1], &t->degraded.items[low],
            (t->degraded.count - 1 - low) * sizeof *t->degraded.items);
    t->degraded.items[low] = l;
}

void topology_lower_rate(topology *t, link_id l, double ratio, double health)
{
    topology_link *link = &t->links.items[l];
    const uint64_t rate_mBps = (uint64_t)llround((double)link->rate_mBps * ratio);
    link->rate_mBps = rate_mBps > 0 ? rate_mBps : 1;
    if (link->health_ratio == 1.0 && health < 1.0) add_degraded(t, l);
    link->health_ratio *= health;
    const uint32_t bundle = topology_bundle_of_link(t, l);
    if (bundle != NO_ID) t->bundle_rates_mBps[bundle - t->links.count] = tree_bundle_rate_mBps(t, bundle);
}

void topology_degrade_link(topology *t, link_id l, double ratio)
{
    SIM_ASSERT(t->sealed && l < t->links.count && ratio > 0.0 && ratio <= 1.0);
    SIM_ASSERT(t->links.items[l].health_ratio == 1.0);
    topology_lower_rate(t, l, ratio, ratio);
}

// ---- what is refused

static bool check_rates(const topology *t, const sim_place *where, sim_error *error)
{
    for (link_id l = 0; l < t->links.count; l++) {
        if (t->links.items[l].rate_mBps > 0) continue;
        char name[160];
        return sim_fail(error, SIM_EXIT_INPUT, where, "the rate of the link %s is zero",
                        topology_link_name(t, l, name, sizeof name));
    }
    return true;
}

static bool check_inside_of_nodes(const topology *t, const sim_place *where, sim_error *error)
{
    for (node_id n = 0; n < t->nodes.count; n++) {
        const topology_node *node = &t->nodes.items[n];
        if (node->scale_up != WIRING_NONE || node->gpus < 2) continue;
        sim_fail(error, SIM_EXIT_INPUT, where,
                 "node %" PRIu32 " has %" PRIu32 " GPUs and no links between them", n, node->gpus);
        return sim_hint(error, "give the node a scale-up of nvswitch, mesh or pcie, or one GPU");
    }
    return true;
}

// Breadth first from vertex 0. Every cable goes both ways, so reached from there means connected.
static bool check_connected(const topology *t, const sim_place *where, sim_error *error)
{
    arena_mark_t mark = arena_mark(t->arena);
    uint32_t count = t->vertices.count, reached = 1;
    bool *seen = arena_array(t->arena, bool, count);
    vertex_id *list = arena_array(t->arena, vertex_id, count);
    seen[0] = true;
    list[0] = 0;
    for (uint32_t next = 0; next < reached; next++) {
        uint32_t rows;
        const link_id *row = topology_outgoing(t, list[next], &rows);
        for (uint32_t i = 0; i < rows; i++) {
            vertex_id to = t->links.items[row[i]].to;
            if (seen[to]) continue;
            seen[to] = true;
            list[reached++] = to;
        }
    }
    vertex_id lost = 0;
    while (lost < count && seen[lost])
        lost++;
    arena_release(t->arena, mark);
    if (lost == count) return true;
    char first[80], second[80];
    return sim_fail(error, SIM_EXIT_INPUT, where,
                    "the fabric is not connected: there is no path from %s to %s",
                    topology_vertex_name(t, 0, first, sizeof first),
                    topology_vertex_name(t, lost, second, sizeof second));
}

bool topology_check(const topology *t, const sim_place *where, sim_error *error)
{
    SIM_ASSERT(t->sealed);
    if (t->vertices.count == 0) return sim_fail(error, SIM_EXIT_INPUT, where, "the fabric has no parts");
    return check_rates(t, where, error) && check_inside_of_nodes(t, where, error) &&
           check_connected(t, where, error) &&
           (t->shape != SHAPE_LIST || list_check_lengths(t, where, error));
}

// ---- what there is

uint32_t topology_vertex_count(const topology *t)
{
    return t->vertices.count;
}

uint32_t topology_link_count(const topology *t)
{
    return t->links.count;
}

const topology_vertex *topology_vertex_at(const topology *t, vertex_id v)
{
    SIM_ASSERT(v < t->vertices.count);
    return &t->vertices.items[v];
}

const topology_link *topology_link_at(const topology *t, link_id l)
{
    SIM_ASSERT(l < t->links.count);
    return &t->links.items[l];
}

const link_id *topology_outgoing(const topology *t, vertex_id v, uint32_t *count)
{
    SIM_ASSERT(t->sealed && v < t->vertices.count);
    *count = t->out_starts[v + 1] - t->out_starts[v];
    return t->out_links + t->out_starts[v];
}

const link_id *topology_degraded_links(const topology *t, uint32_t *count)
{
    *count = t->degraded.count;
    return t->degraded.items;
}

uint32_t topology_node_count(const topology *t)
{
    return t->nodes.count;
}

uint32_t topology_gpu_count(const topology *t)
{
    return t->gpus.count;
}

uint32_t topology_nic_count(const topology *t)
{
    return t->nics.count;
}

vertex_id topology_gpu_vertex(const topology *t, gpu_id gpu)
{
    SIM_ASSERT(gpu < t->gpus.count);
    return t->gpus.items[gpu].vertex;
}

vertex_id topology_nic_vertex(const topology *t, nic_id nic)
{
    SIM_ASSERT(nic < t->nics.count);
    return t->nics.items[nic].vertex;
}

gpu_id topology_gpu_of(const topology *t, vertex_id v)
{
    const topology_vertex *vertex = topology_vertex_at(t, v);
    SIM_ASSERT(vertex->kind == VERTEX_GPU);
    return t->nodes.items[vertex->node].gpu_base + vertex->number;
}

nic_id topology_nic_of(const topology *t, vertex_id v)
{
    const topology_vertex *vertex = topology_vertex_at(t, v);
    SIM_ASSERT(vertex->kind == VERTEX_NIC);
    return t->nodes.items[vertex->node].nic_base + vertex->number;
}

bool topology_nics_of_gpu(const topology *t, gpu_id gpu, nic_id *nic, uint32_t *count)
{
    SIM_ASSERT(gpu < t->gpus.count);
    const topology_gpu *g = &t->gpus.items[gpu];
    if (g->nic == NO_ID) return false;
    *nic = t->nodes.items[t->vertices.items[g->vertex].node].nic_base + g->nic;
    *count = g->nics;
    return true;
}

uint32_t topology_domain_of(const topology *t, vertex_id v)
{
    const topology_vertex *vertex = topology_vertex_at(t, v);
    SIM_ASSERT(vertex->kind == VERTEX_GPU || vertex->kind == VERTEX_NIC);
    const topology_node *node = &t->nodes.items[vertex->node];
    // A number that no other domain has: the hub, or for nodes without one the first of their parts.
    return node->hub != NO_ID ? node->hub : node->first_gpu;
}

uint32_t topology_count_kind(const topology *t, vertex_kind kind)
{
    SIM_ASSERT(kind < VERTEX_KINDS);
    return t->kind_counts[kind];
}
