// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/show.h"

typedef struct link_group { // links that are alike
    link_class class;
    uint64_t rate_mBps;
    sim_time delay_ps;
    uint32_t count;
} link_group;
ARRAY_OF(link_group, link_group_array);

// In order of first use. A fabric has a handful of kinds of links, so a scan is the whole search.
static link_group_array group_links(arena *a, const topology *t)
{
    link_group_array groups = { 0 };
    for (link_id l = 0; l < topology_link_count(t); l++) {
        const topology_link *link = topology_link_at(t, l);
        uint32_t g = 0;
        for (; g < groups.count; g++)
            if (groups.items[g].class == link->class && groups.items[g].rate_mBps == link->rate_mBps &&
                groups.items[g].delay_ps == link->delay_ps)
                break;
        if (g == groups.count)
            *array_push(&groups, a) = (link_group){ .class = link->class,
                                                    .rate_mBps = link->rate_mBps,
                                                    .delay_ps = link->delay_ps };
        groups.items[g].count++;
    }
    return groups;
}

static double rate_Bps(uint64_t rate_mBps)
{
    return (double)rate_mBps / 1000.0;
}

static void print_parts(arena *a, const topology *t)
{
    static const table_column columns[] = { { "part", false }, { "count", true } };
    table parts = table_make(a, columns, ARRAY_COUNT(columns));
    table_cell(&parts, "node");
    table_cell(&parts, "%s", output_count(a, topology_node_count(t)));
    for (vertex_kind kind = 0; kind < VERTEX_KINDS; kind++) {
        const uint32_t count = topology_count_kind(t, kind);
        if (!count) continue;
        table_cell(&parts, "%s", vertex_kind_words[kind]);
        table_cell(&parts, "%s", output_count(a, count));
    }
    table_print(&parts, "", stdout);
}

static void print_links(arena *a, const link_group_array *groups)
{
    static const table_column columns[] = {
        { "links, one way", false }, { "count", true }, { "rate", true }, { "delay", true }
    };
    table links = table_make(a, columns, ARRAY_COUNT(columns));
    for (uint32_t g = 0; g < groups->count; g++) {
        const link_group *group = &groups->items[g];
        table_cell(&links, "%s", link_class_words[group->class]);
        table_cell(&links, "%s", output_count(a, group->count));
        table_cell(&links, "%s", output_number(a, UNIT_RATE, rate_Bps(group->rate_mBps)));
        table_cell(&links, "%s", output_number(a, UNIT_TIME, units_s_from_ps(group->delay_ps)));
    }
    printf("\n");
    table_print(&links, "", stdout);
}

static void print_path(arena *a, const topology *t, vertex_id from, vertex_id to)
{
    static const table_column columns[] = {
        { "path", false }, { "link", false }, { "rate", true }, { "delay", true }
    };
    link_id path[TOPOLOGY_PATH_MAX];
    char name[128];
    const uint32_t hops = topology_route(t, from, to, path);
    const path_facts facts = topology_path_facts(t, from, to);
    table steps = table_make(a, columns, ARRAY_COUNT(columns));
    table_cell(&steps, "%s", topology_vertex_name(t, from, name, sizeof(name)));
    for (uint32_t i = 0; i < 3; i++)
        table_cell(&steps, "%s", "");
    for (uint32_t i = 0; i < hops; i++) {
        const topology_link *link = topology_link_at(t, path[i]);
        table_cell(&steps, "%s", topology_vertex_name(t, link->to, name, sizeof(name)));
        table_cell(&steps, "%s", link_class_words[link->class]);
        table_cell(&steps, "%s", output_number(a, UNIT_RATE, rate_Bps(link->rate_mBps)));
        table_cell(&steps, "%s", output_number(a, UNIT_TIME, units_s_from_ps(link->delay_ps)));
    }
    table_cell(&steps, "%u hops", hops);
    table_cell(&steps, "%s", "");
    table_cell(&steps, "%s", output_number(a, UNIT_RATE, rate_Bps(facts.rate_mBps)));
    table_cell(&steps, "%s", output_number(a, UNIT_TIME, units_s_from_ps(facts.delay_ps)));
    printf("\n");
    table_print(&steps, "", stdout);
}

static void json_link(json_writer *j, link_class class, uint64_t rate_mBps, sim_time delay_ps)
{
    json_text(j, "class", link_class_words[class]);
    json_number(j, "rate_Bps", rate_Bps(rate_mBps));
    json_integer(j, "delay_ps", delay_ps);
}

static void json_path(json_writer *j, const topology *t, vertex_id from, vertex_id to)
{
    link_id path[TOPOLOGY_PATH_MAX];
    char name[128];
    const uint32_t hops = topology_route(t, from, to, path);
    const path_facts facts = topology_path_facts(t, from, to);
    json_object(j, "path");
    json_text(j, "from", topology_vertex_name(t, from, name, sizeof(name)));
    json_array(j, "hops");
    for (uint32_t i = 0; i < hops; i++) {
        const topology_link *link = topology_link_at(t, path[i]);
        json_object(j, NULL);
        json_text(j, "to", topology_vertex_name(t, link->to, name, sizeof(name)));
        json_link(j, link->class, link->rate_mBps, link->delay_ps);
        json_close(j);
    }
    json_close(j);
    json_number(j, "rate_Bps", rate_Bps(facts.rate_mBps));
    json_integer(j, "delay_ps", facts.delay_ps);
    json_close(j);
}

static void print_json(const show_request *q, const topology *t, const link_group_array *groups,
                       bool has_path, vertex_id from, vertex_id to)
{
    json_writer j = json_make(stdout);
    json_object(&j, NULL);
    json_text(&j, "scenario", q->result->scenario->file);
    json_text(&j, "cluster", answer_cluster(q->arena, q->result->scenario));
    json_object(&j, "parts");
    json_count(&j, "node", topology_node_count(t));
    for (vertex_kind kind = 0; kind < VERTEX_KINDS; kind++)
        json_count(&j, vertex_kind_words[kind], topology_count_kind(t, kind));
    json_close(&j);
    json_array(&j, "links");
    for (uint32_t g = 0; g < groups->count; g++) {
        json_object(&j, NULL);
        json_link(&j, groups->items[g].class, groups->items[g].rate_mBps, groups->items[g].delay_ps);
        json_count(&j, "count", groups->items[g].count);
        json_close(&j);
    }
    json_close(&j);
    if (has_path)
        json_path(&j, t, from, to);
    else
        json_null(&j, "path");
    json_close(&j);
}

bool show_fabric(const show_request *q, sim_error *error)
{
    arena *a = q->arena;
    const scenario *s = q->result->scenario;
    const topology *t = world_build_fabric(q->result->arena, s, error);
    if (!t) return false;
    const link_group_array groups = group_links(a, t);
    const uint32_t gpus = topology_gpu_count(t);
    const vertex_id from = topology_gpu_vertex(t, 0), to = topology_gpu_vertex(t, gpus - 1);
    if (q->options->json) {
        print_json(q, t, &groups, gpus > 1, from, to);
        return true;
    }
    printf("%s\n\n", answer_cluster(a, s));
    print_parts(a, t);
    if (groups.count) print_links(a, &groups);
    if (gpus > 1) print_path(a, t, from, to);
    return true;
}
