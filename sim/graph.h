// SPDX-License-Identifier: GPL-3.0-or-later
// sim/graph.h: a dependency graph. Nodes wait for their predecessors and call back when ready; used for steps and
// collectives. Built once (add nodes and edges, then seal to compressed rows of 32-bit ids), played any number of times
// (rewind). It has no clock.
#pragma once
#include "sim/arena.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct graph graph;
typedef void graph_ready(void *owner, uint32_t node);

graph *graph_create(arena *a);
uint32_t graph_add_node(graph *g);                  // ids from 0
uint32_t graph_add_nodes(graph *g, uint32_t count); // the first of count new ids
void graph_add_edge(graph *g, uint32_t before, uint32_t after);
void graph_seal(graph *g); // no more nodes or edges
bool graph_is_acyclic(const graph *g);
uint32_t graph_node_count(const graph *g);
uint32_t graph_edge_count(const graph *g);
const uint32_t *graph_successors(const graph *g, uint32_t node, uint32_t *count);
uint32_t graph_predecessor_count(const graph *g, uint32_t node);

void graph_rewind(graph *g); // every node waits again
// Calls back for each node without predecessors, by id.
void graph_start(graph *g, graph_ready *ready, void *owner);
// Calls back for each successor that became ready, in the order of the edges. node must have been called back and not
// be done. From within a callback the new ones are called back after it has returned, first in, first out: a chain of
// nodes that take no time does not pile up on the stack.
void graph_done(graph *g, uint32_t node);
uint32_t graph_done_count(const graph *g);
// For deadlock reports, by id; UINT32_MAX: there is none.
uint32_t graph_first_waiting(const graph *g); // the first node that never got ready
uint32_t graph_first_running(const graph *g); // the first node that was called back and is not done
