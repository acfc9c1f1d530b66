// SPDX-License-Identifier: GPL-3.0-or-later
// The fabric as text for Graphviz.
#include "models/network/topology_facts.h"
#include "models/network/topology_internal.h"
#include "sim/check.h"
#include "sim/map.h"
#include <inttypes.h>
#include <stdlib.h>

typedef struct dot_edge { // all cables between two boxes
    uint32_t low, high;   // boxes
    uint32_t cables;
    uint64_t rate_mBps; // of the first
    link_class class;
    bool mixed; // rates differ
} dot_edge;
ARRAY_OF(dot_edge, dot_edge_array);

typedef struct dot_writer {
    arena *arena;
    const topology *t;
    bool insides; // draws what is in a node
    FILE *out;
} dot_writer;

// A box is a vertex, or a node as a whole: these count on behind the vertices.
static uint32_t box_of(const dot_writer *w, vertex_id v)
{
    const topology_vertex *vertex = &w->t->vertices.items[v];
    return w->insides || vertex->node == NO_ID ? v : w->t->vertices.count + vertex->node;
}

static int by_boxes(const void *left, const void *right)
{
    const dot_edge *a = left, *b = right; // no two join the same boxes
    if (a->low != b->low) return a->low < b->low ? -1 : 1;
    return a->high < b->high ? -1 : 1;
}

static dot_edge_array gather_edges(const dot_writer *w)
{
    dot_edge_array edges = { 0 };
    map *known = map_create(w->arena);
    for (link_id l = 0; l < w->t->links.count; l += 2) {
        const topology_link *link = &w->t->links.items[l];
        const uint32_t x = box_of(w, link->from), y = box_of(w, link->to);
        const uint32_t low = x < y ? x : y, high = x < y ? y : x;
        uint32_t at;
        if (low == high) continue;
        if (!map_get(known, (uint64_t)low << 32 | high, &at)) {
            at = edges.count;
            map_set(known, (uint64_t)low << 32 | high, at);
            *array_push(&edges, w->arena) =
                (dot_edge){ .low = low, .high = high, .rate_mBps = link->rate_mBps, .class = link->class };
        }
        edges.items[at].cables++;
        edges.items[at].mixed |= edges.items[at].rate_mBps != link->rate_mBps;
    }
    if (edges.count > 0) qsort(edges.items, edges.count, sizeof *edges.items, by_boxes);
    return edges;
}

static const char *colour_of(link_class class)
{
    static const char *const colours[LINK_CLASSES] = {
        [LINK_NVLINK] = "forestgreen", [LINK_PCIE] = "grey40", [LINK_NETWORK] = "steelblue"
    };
    return colours[class];
}

static void write_edges(const dot_writer *w, const dot_edge_array *edges)
{
    for (uint32_t i = 0; i < edges->count; i++) {
        const dot_edge *e = &edges->items[i];
        // Graphviz draws from top to bottom: what has the greater number, a switch further up, comes first.
        const bool node = e->high >= w->t->vertices.count;
        fprintf(w->out, "  b%" PRIu32 " -- b%" PRIu32 " [color=%s", node ? e->low : e->high,
                node ? e->high : e->low, colour_of(e->class));
        if (e->cables > 1)
            fprintf(w->out, ", label=\"%" PRIu32 "x%s\", penwidth=%.1f", e->cables, e->mixed ? " mixed" : "",
                    e->cables < 8 ? 1.0 + 0.25 * e->cables : 3.0);
        fputs("];\n", w->out);
    }
}

// What the colours mean, and each rate once.
static void write_legend(const dot_writer *w, const dot_edge_array *edges)
{
    enum { RATES_SHOWN = 8 };
    uint64_t shown[RATES_SHOWN];
    link_class classes[RATES_SHOWN];
    uint32_t count = 0;
    fputs("  label=\"", w->out);
    for (uint32_t i = 0; i < edges->count; i++) {
        const dot_edge *e = &edges->items[i];
        uint32_t k = 0;
        while (k < count && (shown[k] != e->rate_mBps || classes[k] != e->class))
            k++;
        if (k < count || count == RATES_SHOWN) continue;
        char rate[32];
        units_format(UNIT_RATE, (double)e->rate_mBps / 1000.0, rate, sizeof rate);
        fprintf(w->out, "%s%s (%s) %s", count ? "   " : "", link_class_words[e->class], colour_of(e->class),
                rate);
        shown[count] = e->rate_mBps;
        classes[count++] = e->class;
    }
    fputs("\";\n", w->out);
}

// Boxes of one rank in the order of their numbers.
static void write_order(const dot_writer *w, const uint32_t *boxes, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        fprintf(w->out, "    b%" PRIu32 " -- b%" PRIu32 " [style=invis];\n", boxes[i - 1], boxes[i]);
}

static void write_tier(const dot_writer *w, vertex_kind kind)
{
    uint32_t *boxes = arena_array(w->arena, uint32_t, w->t->kind_counts[kind]), count = 0;
    fprintf(w->out, "  subgraph tier_%s {\n    rank=same;\n    node [style=filled, fillcolor=lightblue];\n",
            vertex_kind_words[kind]);
    for (vertex_id v = 0; v < w->t->vertices.count; v++) {
        const topology_vertex *vertex = &w->t->vertices.items[v];
        if (vertex->kind != kind) continue;
        boxes[count++] = v;
        fprintf(w->out, "    b%" PRIu32 " [label=\"%s %" PRIu32 "\"];\n", v, vertex_kind_words[kind],
                vertex->number);
    }
    write_order(w, boxes, count);
    fputs("  }\n", w->out);
}

static void write_switches(const dot_writer *w)
{
    for (uint32_t tier = TIERS_MAX; tier-- > 0;)
        if (w->t->kind_counts[VERTEX_LEAF + tier] > 0) write_tier(w, (vertex_kind)(VERTEX_LEAF + tier));
    for (vertex_id v = 0; v < w->t->vertices.count; v++) {
        const topology_vertex *vertex = &w->t->vertices.items[v];
        if (vertex->kind == VERTEX_NVSWITCH && vertex->node == NO_ID)
            fprintf(w->out,
                    "  b%" PRIu32 " [label=\"nvswitch %" PRIu32 "\", style=filled, fillcolor=palegreen];\n",
                    v, vertex->number);
    }
}

// "8 x gpu\n8 x nic"
static void write_node_label(const dot_writer *w, node_id n)
{
    const topology_node *node = &w->t->nodes.items[n];
    fprintf(w->out, "node %" PRIu32, n);
    if (node->gpus > 0) fprintf(w->out, "\\n%" PRIu32 " x gpu", node->gpus);
    if (node->nics > 0) fprintf(w->out, "\\n%" PRIu32 " x nic", node->nics);
}

static void write_nodes(const dot_writer *w)
{
    const topology *t = w->t;
    if (!w->insides) {
        uint32_t *boxes = arena_array(w->arena, uint32_t, t->nodes.count);
        fputs("  subgraph nodes {\n    rank=same;\n", w->out);
        for (node_id n = 0; n < t->nodes.count; n++) {
            boxes[n] = t->vertices.count + n;
            fprintf(w->out, "    b%" PRIu32 " [label=\"", boxes[n]);
            write_node_label(w, n);
            fputs("\"];\n", w->out);
        }
        write_order(w, boxes, t->nodes.count);
        fputs("  }\n", w->out);
        return;
    }
    vertex_id v = 0;
    for (node_id n = 0; n < t->nodes.count; n++) {
        fprintf(w->out, "  subgraph cluster_node%" PRIu32 " {\n    label=\"node %" PRIu32 "\";\n", n, n);
        while (t->vertices.items[v].node == NO_ID) // an NVSwitch that this node shares with others
            v++;
        for (; v < t->vertices.count && t->vertices.items[v].node == n; v++)
            fprintf(w->out, "    b%" PRIu32 " [label=\"%s %" PRIu32 "\"];\n", v,
                    vertex_kind_words[t->vertices.items[v].kind], t->vertices.items[v].number);
        fputs("  }\n", w->out);
    }
}

void topology_write_dot(arena *a, const topology *t, uint32_t insides, FILE *out)
{
    const arena_mark_t mark = arena_mark(a);
    const dot_writer w = { .arena = a, .t = t, .insides = t->nodes.count <= insides, .out = out };
    fputs("graph fabric {\n"
          "  graph [rankdir=TB, ranksep=1.6, nodesep=0.25, splines=line, fontname=\"Helvetica\"];\n"
          "  node [shape=box, fontname=\"Helvetica\", fontsize=11];\n"
          "  edge [fontname=\"Helvetica\", fontsize=8];\n",
          out);
    const dot_edge_array edges = gather_edges(&w);
    write_legend(&w, &edges);
    write_switches(&w);
    write_nodes(&w);
    write_edges(&w, &edges);
    fputs("}\n", out);
    arena_release(a, mark);
}
