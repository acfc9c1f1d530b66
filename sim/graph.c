// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/graph.h"
#include "sim/array.h"
#include "sim/check.h"
#include <string.h>

enum { NODE_WAITING, NODE_READY, NODE_DONE };

typedef struct graph_edge {
    uint32_t before, after;
} graph_edge;

ARRAY_OF(graph_edge, graph_edge_array);

struct graph {
    arena *arena;
    uint32_t node_count;
    graph_edge_array edges; // as added; of no use once sealed
    bool sealed, acyclic;
    uint32_t *first;        // by node, node_count + 1 of them: where its successors begin
    uint32_t *successors;   // in the order in which the edges were added
    uint32_t *predecessors; // by node: how many
    // The play.
    uint32_t *missing;                // by node: predecessors that are not done
    uint8_t *states;                  // by node
    uint32_t *line;                   // nodes in the order in which they became ready
    uint32_t line_count, line_called; // called: the callback has been made
    uint32_t done_count;
    bool started, calling;
    graph_ready *ready;
    void *owner;
};

graph *graph_create(arena *a)
{
    graph *g = arena_new(a, graph);
    g->arena = a;
    return g;
}

uint32_t graph_add_nodes(graph *g, uint32_t count)
{
    uint32_t first = g->node_count;
    SIM_ASSERT(!g->sealed && count < UINT32_MAX - first);
    g->node_count += count;
    return first;
}

uint32_t graph_add_node(graph *g)
{
    return graph_add_nodes(g, 1);
}

void graph_add_edge(graph *g, uint32_t before, uint32_t after)
{
    SIM_ASSERT(!g->sealed && before < g->node_count && after < g->node_count);
    *array_push(&g->edges, g->arena) = (graph_edge){ before, after };
}

// Counts each node's edges, then puts every edge at its node's next free place: rows in the order of adding.
static void graph_build_rows(graph *g)
{
    for (uint32_t i = 0; i < g->edges.count; i++) {
        g->first[g->edges.items[i].before + 1]++;
        g->predecessors[g->edges.items[i].after]++;
    }
    for (uint32_t node = 0; node < g->node_count; node++)
        g->first[node + 1] += g->first[node];
    uint32_t *next = g->missing; // not yet in use
    memcpy(next, g->first, g->node_count * sizeof *next);
    for (uint32_t i = 0; i < g->edges.count; i++)
        g->successors[next[g->edges.items[i].before]++] = g->edges.items[i].after;
}

static void graph_push_ready(graph *g, uint32_t node)
{
    g->states[node] = NODE_READY;
    g->line[g->line_count++] = node;
}

static void graph_push_roots(graph *g)
{
    for (uint32_t node = 0; node < g->node_count; node++)
        if (g->predecessors[node] == 0) graph_push_ready(g, node);
}

static void graph_finish_node(graph *g, uint32_t node)
{
    SIM_ASSERT(g->states[node] == NODE_READY);
    g->states[node] = NODE_DONE;
    g->done_count++;
    for (uint32_t i = g->first[node]; i < g->first[node + 1]; i++)
        if (--g->missing[g->successors[i]] == 0) graph_push_ready(g, g->successors[i]);
}

void graph_rewind(graph *g)
{
    SIM_ASSERT(g->sealed && !g->calling);
    memcpy(g->missing, g->predecessors, g->node_count * sizeof *g->missing);
    memset(g->states, NODE_WAITING, g->node_count);
    g->line_count = g->line_called = g->done_count = 0;
    g->started = false;
}

// Plays the graph once without telling anyone: what lies on a cycle or behind one never gets ready.
static bool graph_can_finish(graph *g)
{
    graph_push_roots(g);
    for (uint32_t i = 0; i < g->line_count; i++)
        graph_finish_node(g, g->line[i]);
    return g->done_count == g->node_count;
}

void graph_seal(graph *g)
{
    SIM_ASSERT(!g->sealed);
    g->first = arena_array(g->arena, uint32_t, (size_t)g->node_count + 1);
    g->successors = arena_array(g->arena, uint32_t, (size_t)g->edges.count + 1);
    g->predecessors = arena_array(g->arena, uint32_t, (size_t)g->node_count + 1);
    g->missing = arena_array(g->arena, uint32_t, (size_t)g->node_count + 1);
    g->states = arena_array(g->arena, uint8_t, (size_t)g->node_count + 1);
    g->line = arena_array(g->arena, uint32_t, (size_t)g->node_count + 1);
    graph_build_rows(g);
    g->sealed = true;
    graph_rewind(g);
    g->acyclic = graph_can_finish(g);
    graph_rewind(g);
}

bool graph_is_acyclic(const graph *g)
{
    SIM_ASSERT(g->sealed);
    return g->acyclic;
}

uint32_t graph_node_count(const graph *g)
{
    return g->node_count;
}

uint32_t graph_edge_count(const graph *g)
{
    return g->edges.count;
}

const uint32_t *graph_successors(const graph *g, uint32_t node, uint32_t *count)
{
    SIM_ASSERT(g->sealed && node < g->node_count);
    *count = g->first[node + 1] - g->first[node];
    return &g->successors[g->first[node]];
}

uint32_t graph_predecessor_count(const graph *g, uint32_t node)
{
    SIM_ASSERT(g->sealed && node < g->node_count);
    return g->predecessors[node];
}

// Only the outermost call works off the line; a callback that calls graph_done() only adds to it.
static void graph_call_back(graph *g)
{
    if (g->calling) return;
    g->calling = true;
    while (g->line_called < g->line_count)
        g->ready(g->owner, g->line[g->line_called++]);
    g->calling = false;
}

void graph_start(graph *g, graph_ready *ready, void *owner)
{
    SIM_ASSERT(g->sealed && !g->started && ready);
    g->started = true;
    g->ready = ready;
    g->owner = owner;
    graph_push_roots(g);
    graph_call_back(g);
}

void graph_done(graph *g, uint32_t node)
{
    SIM_ASSERT(g->started && node < g->node_count);
    graph_finish_node(g, node);
    graph_call_back(g);
}

uint32_t graph_done_count(const graph *g)
{
    return g->done_count;
}

static uint32_t graph_first_in_state(const graph *g, uint8_t state)
{
    SIM_ASSERT(g->sealed);
    for (uint32_t node = 0; node < g->node_count; node++)
        if (g->states[node] == state) return node;
    return UINT32_MAX;
}

uint32_t graph_first_waiting(const graph *g)
{
    return graph_first_in_state(g, NODE_WAITING);
}

uint32_t graph_first_running(const graph *g)
{
    return graph_first_in_state(g, NODE_READY);
}
