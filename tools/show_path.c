// SPDX-License-Identifier: GPL-3.0-or-later
// The way of a connection through the fabric, link by link.
#include "tools/show_path.h"
#include "models/network/routing.h"
#include <inttypes.h>

typedef struct hop { // a link, or a bundle of equal ones
    const char *to;
    link_class class;
    uint64_t rate_mBps;
    sim_time delay_ps;
} hop;

static hop hop_of(arena *a, const topology *t, uint32_t link_or_bundle)
{
    char name[160];
    const bool bundle = link_or_bundle >= topology_link_count(t);
    const link_id member = bundle ? topology_bundle_members(t, link_or_bundle).first : link_or_bundle;
    const topology_link *link = topology_link_at(t, member);
    hop h = { .class = link->class,
              .rate_mBps = topology_rate_mBps(t, link_or_bundle),
              .delay_ps = link->delay_ps };
    topology_link_name(t, link_or_bundle, name, sizeof(name));
    if (bundle)
        h.to = arena_format(a, "%s (%u links as one)", name,
                            topology_bundle_members(t, link_or_bundle).count);
    else
        h.to = arena_text(a, topology_vertex_name(t, link->to, name, sizeof(name)));
    return h;
}

double show_rate_Bps(uint64_t rate_mBps)
{
    return (double)rate_mBps / 1000.0;
}

void show_path_print(arena *a, const topology *t, vertex_id from, vertex_id to)
{
    static const table_column columns[] = {
        { "path", false }, { "link", false }, { "rate", true }, { "delay", true }
    };
    uint32_t path[TOPOLOGY_PATH_MAX];
    char name[128];
    const uint32_t hops = topology_route(t, from, to, path);
    const path_facts facts = topology_path_facts(t, from, to);
    table steps = table_make(a, columns, ARRAY_COUNT(columns));
    table_cell(&steps, "%s", topology_vertex_name(t, from, name, sizeof(name)));
    for (uint32_t i = 0; i < 3; i++)
        table_cell(&steps, "%s", "");
    for (uint32_t i = 0; i < hops; i++) {
        const hop h = hop_of(a, t, path[i]);
        table_cell(&steps, "%s", h.to);
        table_cell(&steps, "%s", link_class_words[h.class]);
        table_cell(&steps, "%s", output_number(a, UNIT_RATE, show_rate_Bps(h.rate_mBps)));
        table_cell(&steps, "%s", output_number(a, UNIT_TIME, units_s_from_ps(h.delay_ps)));
    }
    table_cell(&steps, "%u hops", hops);
    table_cell(&steps, "%s", "");
    table_cell(&steps, "%s", hops ? output_number(a, UNIT_RATE, show_rate_Bps(facts.rate_mBps)) : "");
    table_cell(&steps, "%s", output_number(a, UNIT_TIME, units_s_from_ps(facts.delay_ps)));
    table_print(&steps, "", stdout);
}

void show_link_json(json_writer *j, link_class class, uint64_t rate_mBps, sim_time delay_ps)
{
    json_text(j, "class", link_class_words[class]);
    json_number(j, "rate_Bps", show_rate_Bps(rate_mBps));
    json_integer(j, "delay_ps", delay_ps);
}

void show_path_json(arena *a, json_writer *j, const char *key, const topology *t, vertex_id from,
                    vertex_id to)
{
    uint32_t path[TOPOLOGY_PATH_MAX];
    char name[128];
    const uint32_t hops = topology_route(t, from, to, path);
    const path_facts facts = topology_path_facts(t, from, to);
    json_object(j, key);
    json_text(j, "from", topology_vertex_name(t, from, name, sizeof(name)));
    json_array(j, "hops");
    for (uint32_t i = 0; i < hops; i++) {
        const hop h = hop_of(a, t, path[i]);
        json_object(j, NULL);
        json_text(j, "to", h.to);
        show_link_json(j, h.class, h.rate_mBps, h.delay_ps);
        json_close(j);
    }
    json_close(j);
    if (hops)
        json_number(j, "rate_Bps", show_rate_Bps(facts.rate_mBps));
    else
        json_null(j, "rate_Bps");
    json_integer(j, "delay_ps", facts.delay_ps);
    json_close(j);
}

static bool is_end(const topology *t, vertex_id v)
{
    const vertex_kind kind = topology_vertex_at(t, v)->kind;
    return kind == VERTEX_GPU || kind == VERTEX_NIC;
}

// "node 3": its NIC, where it is a host with no more than that; else told what its ends are. False: text names no node.
static bool names_node(const topology *t, const char *text, vertex_id *out, sim_error *error)
{
    uint32_t node, gpus = 0, nics = 0;
    int end = 0;
    if (sscanf(text, " node %9" SCNu32 " %n", &node, &end) != 1 || end == 0 || text[end]) return false;
    if (node >= topology_node_count(t)) return false;
    for (vertex_id v = 0; v < topology_vertex_count(t); v++) {
        const topology_vertex *vertex = topology_vertex_at(t, v);
        if (vertex->node != node) continue;
        gpus += vertex->kind == VERTEX_GPU;
        nics += vertex->kind == VERTEX_NIC;
        if (vertex->kind == VERTEX_NIC) *out = v;
    }
    if (gpus == 0 && nics == 1) return true;
    sim_fail(error, SIM_EXIT_INPUT, NULL,
             "node %" PRIu32 " is not an end of a path: it has %" PRIu32 " GPU%s and %" PRIu32 " NIC%s", node,
             gpus, gpus == 1 ? "" : "s", nics, nics == 1 ? "" : "s");
    sim_hint(error, "one of them: \"node %" PRIu32 " %s 0\"", node, gpus ? "gpu" : "nic");
    return true;
}

static bool find_end(const topology *t, const char *text, vertex_id *out, sim_error *error)
{
    char name[128];
    if (names_node(t, text, out, error)) return !sim_failed(error);
    if (!topology_find_vertex(t, text, NULL, out, error)) return false;
    if (is_end(t, *out)) return true;
    sim_fail(error, SIM_EXIT_INPUT, NULL, "a path does not end at %s",
             topology_vertex_name(t, *out, name, sizeof(name)));
    return sim_hint(error, "it ends at GPUs and NICs: \"gpu 3\", \"node 2 nic 1\"");
}

bool show_path(const show_request *q, sim_error *error)
{
    const topology *t = world_build_fabric(q->result->arena, q->result->scenario, error);
    vertex_id from, to;
    if (!t || !find_end(t, q->ends[0], &from, error) || !find_end(t, q->ends[1], &to, error)) return false;
    if (q->options->json) {
        json_writer j = json_make(stdout);
        show_path_json(q->arena, &j, NULL, t, from, to);
        return true;
    }
    show_path_print(q->arena, t, from, to);
    return true;
}
