// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/network/topology_facts.h"
#include "tools/show_path.h"

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
        table_cell(&links, "%s", output_number(a, UNIT_RATE, show_rate_Bps(group->rate_mBps)));
        table_cell(&links, "%s", output_number(a, UNIT_TIME, units_s_from_ps(group->delay_ps)));
    }
    printf("\n");
    table_print(&links, "", stdout);
}

static const char *describe_rate(arena *a, uint64_t rate_mBps)
{
    return output_number(a, UNIT_RATE, show_rate_Bps(rate_mBps));
}

// Tiers of switches, from the leaves up.
static void print_tiers(arena *a, const topology_facts *f)
{
    static const table_column columns[] = { { "tier", false },
                                            { "switches", true },
                                            { "ports down", true },
                                            { "ports up", true },
                                            { "oversubscribed", true } };
    table tiers = table_make(a, columns, ARRAY_COUNT(columns));
    for (uint32_t t = 0; t < f->tiers; t++) {
        const tier_facts *tier = &f->tier[t];
        table_cell(&tiers, "%s", vertex_kind_words[VERTEX_LEAF + t]);
        table_cell(&tiers, "%s", output_count(a, tier->switches));
        table_cell(&tiers, "%u", tier->ports_down);
        table_cell(&tiers, "%u", tier->ports_up);
        if (tier->oversubscription > 0.0)
            table_cell(&tiers, "%.4g", tier->oversubscription);
        else
            table_cell(&tiers, "%s", "");
    }
    printf("\n");
    table_print(&tiers, "", stdout);
}

static void print_facts(arena *a, const topology *t, const topology_facts *f)
{
    if (!f->tiers) return;
    print_tiers(a, f);
    printf("\n");
    if (f->has_bisection)
        printf("bisection  %s, %s of what half of the NICs send\n", describe_rate(a, f->bisection_mBps),
               output_percent(a, f->bisection_ratio));
    printf("diameter   %u links\n", f->diameter);
    const fabric_policy *p = topology_policy(t);
    printf("routing    %s, %u queue pair%s\n", routing_words[p->routing], p->queue_pairs,
           p->queue_pairs == 1 ? "" : "s");
}

static const char *degraded_part(const degraded_entry *e)
{
    return e->has.gpu ? e->gpu : e->has.nic ? e->nic : e->link;
}

static void print_ratio(arena *a, const char *key, bool given, double ratio)
{
    if (given) printf("  %s %s", key, output_percent(a, ratio));
}

// The parts as they were written.
static void print_degraded(arena *a, const degraded_entry_array *rows)
{
    if (rows->count) printf("\n");
    for (uint32_t i = 0; i < rows->count; i++) {
        const degraded_entry *e = &rows->items[i];
        printf("degraded   %s", degraded_part(e));
        if (e->both) printf(", both ways");
        if (e->has.index) printf(", number %u of the parallel ones", e->index);
        print_ratio(a, "clock", e->has.clock, e->clock_ratio);
        print_ratio(a, "memory", e->has.memory, e->memory_ratio);
        print_ratio(a, "rate", e->has.rate, e->rate_ratio);
        printf("\n");
    }
}

static void json_degraded(json_writer *j, const degraded_entry_array *rows)
{
    json_array(j, "degraded");
    for (uint32_t i = 0; i < rows->count; i++) {
        const degraded_entry *e = &rows->items[i];
        json_object(j, NULL);
        json_text(j, e->has.gpu ? "gpu" : e->has.nic ? "nic" : "link", degraded_part(e));
        if (e->has.clock) json_number(j, "clock", e->clock_ratio);
        if (e->has.memory) json_number(j, "memory", e->memory_ratio);
        if (e->has.rate) json_number(j, "rate", e->rate_ratio);
        if (e->has.both) json_bool(j, "both", e->both);
        if (e->has.index) json_count(j, "index", e->index);
        json_close(j);
    }
    json_close(j);
}

static void json_tiers(json_writer *j, const topology_facts *f)
{
    json_array(j, "tiers");
    for (uint32_t t = 0; t < f->tiers; t++) {
        const tier_facts *tier = &f->tier[t];
        json_object(j, NULL);
        json_text(j, "tier", vertex_kind_words[VERTEX_LEAF + t]);
        json_count(j, "switches", tier->switches);
        json_count(j, "ports_down", tier->ports_down);
        json_count(j, "ports_up", tier->ports_up);
        if (tier->oversubscription > 0.0)
            json_number(j, "oversubscription", tier->oversubscription);
        else
            json_null(j, "oversubscription");
        json_close(j);
    }
    json_close(j);
    if (f->has_bisection)
        json_number(j, "bisection_Bps", show_rate_Bps(f->bisection_mBps));
    else
        json_null(j, "bisection_Bps");
    if (f->diameter)
        json_count(j, "diameter_links", f->diameter);
    else
        json_null(j, "diameter_links");
}

// The first and the last of the GPUs, or of the NICs where there are none; false: there is one at most.
static bool farthest_ends(const topology *t, vertex_id *from, vertex_id *to)
{
    const uint32_t gpus = topology_gpu_count(t), nics = topology_nic_count(t);
    if (gpus < 2 && nics < 2) return false;
    *from = gpus > 1 ? topology_gpu_vertex(t, 0) : topology_nic_vertex(t, 0);
    *to = gpus > 1 ? topology_gpu_vertex(t, gpus - 1) : topology_nic_vertex(t, nics - 1);
    return true;
}

static void print_json(const show_request *q, const topology *t, const link_group_array *groups)
{
    json_writer j = json_make(stdout);
    const topology_facts facts = topology_facts_of(q->arena, t);
    vertex_id from, to;
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
        show_link_json(&j, groups->items[g].class, groups->items[g].rate_mBps, groups->items[g].delay_ps);
        json_count(&j, "count", groups->items[g].count);
        json_close(&j);
    }
    json_close(&j);
    json_degraded(&j, &q->result->scenario->cluster.degraded);
    json_tiers(&j, &facts);
    if (farthest_ends(t, &from, &to))
        show_path_json(q->arena, &j, "path", t, from, to);
    else
        json_null(&j, "path");
    json_close(&j);
}

bool show_fabric(const show_request *q, sim_error *error)
{
    enum { NODES_WITH_INSIDES = 4 };
    arena *a = q->arena;
    const scenario *s = q->result->scenario;
    const topology *t = world_build_fabric(q->result->arena, s, error);
    vertex_id from, to;
    if (!t) return false;
    if (q->dot) {
        topology_write_dot(a, t, NODES_WITH_INSIDES, stdout);
        return true;
    }
    const link_group_array groups = group_links(a, t);
    if (q->options->json) {
        print_json(q, t, &groups);
        return true;
    }
    const topology_facts facts = topology_facts_of(a, t);
    printf("%s\n\n", answer_cluster(a, s));
    print_parts(a, t);
    if (groups.count) print_links(a, &groups);
    print_facts(a, t, &facts);
    print_degraded(a, &s->cluster.degraded);
    if (farthest_ends(t, &from, &to)) {
        printf("\n");
        show_path_print(a, t, from, to);
    }
    return true;
}
