// SPDX-License-Identifier: GPL-3.0-or-later
// tests/support/plans.h: groups over nodes without a fabric, and what every plan must keep, whatever its algorithm.
#pragma once
#include "tests/support/near.h"
#include "tests/support/random.h"

#include "models/collective/plan.h"
#include "sim/array.h"
#include <inttypes.h>

// A group over nodes of the sizes given, with so many rings as ring_order.h makes them: ring r begins in each node with another
// member; with several rings every second node is passed backwards. Which position is where is drawn, seed 0: in order.
static inline ring_set plans_group(arena *a, const uint32_t *sizes, uint32_t nodes, uint32_t rings,
                                   uint64_t seed)
{
    uint32_t *starts = arena_array(a, uint32_t, nodes + 1), ranks = 0;
    for (uint32_t v = 0; v < nodes; v++)
        starts[v + 1] = ranks += sizes[v];
    uint32_t *positions = arena_array(a, uint32_t, ranks);
    for (uint32_t i = 0; i < ranks; i++)
        positions[i] = i;
    for (uint32_t i = ranks; seed > 0 && i > 1; i--) {
        const uint32_t other = test_random_below(&seed, i), position = positions[other];
        positions[other] = positions[i - 1];
        positions[i - 1] = position;
    }
    uint32_t *orders = arena_array(a, uint32_t, (size_t)rings * ranks);
    uint32_t *chains = arena_array(a, uint32_t, (size_t)rings * ranks);
    for (uint32_t r = 0; r < rings; r++)
        for (uint32_t v = 0; v < nodes; v++)
            for (uint32_t i = 0; i < sizes[v]; i++) {
                const uint32_t first = r * ranks + starts[v], begin = r * sizes[v] / rings;
                chains[first + i] = positions[starts[v] + (begin + i) % sizes[v]];
                orders[first + (rings > 1 && v % 2 == 1 ? sizes[v] - 1 - i : i)] = chains[first + i];
            }
    return (ring_set){ .ranks = ranks,
                       .count = rings,
                       .orders = orders,
                       .nodes = nodes,
                       .node_starts = starts,
                       .chains = chains };
}

static inline uint32_t plans_node_of(const ring_set *rings, uint32_t position)
{
    uint32_t place = 0, node = 0;
    while (rings->orders[place] != position)
        place++;
    while (rings->node_starts[node + 1] <= place)
        node++;
    return node;
}

// Of positions in different nodes.
static inline uint64_t plans_bytes_between_nodes(const ring_set *rings, const plan *p)
{
    uint64_t bytes = 0;
    for (uint32_t e = 0; e < p->edge_count; e++) {
        const plan_edge *edge = &p->edges[e];
        if (edge->from >= p->ranks || edge->to >= p->ranks) continue;
        if (plans_node_of(rings, edge->from) != plans_node_of(rings, edge->to)) bytes += edge->bytes;
    }
    return bytes;
}

static inline void plans_fail(const plan_request *r, const char *why)
{
    char nodes[256] = "", *end = nodes;
    for (uint32_t v = 0; v < plan_nodes(r->rings) && end < nodes + sizeof nodes - 12; v++)
        end += sprintf(end, " %" PRIu32, plan_node_start(r->rings, v + 1) - plan_node_start(r->rings, v));
    fail_msg("%s by %s, nodes of%s, %" PRIu32 " rings, %" PRIu64 " bytes, cut %" PRIu64 " / %" PRIu32 ": %s",
             collective_kind_words[r->kind], collective_algorithm_words[r->algorithm], nodes, r->rings->count,
             r->bytes, r->cut.chunk_bytes, r->cut.slices, why);
}

// Stages are in their order and have an edge each at least, no pair twice; over all of them each pair carries what it does as
// messages.
static inline void plans_check_stages(const plan_request *r, const plan *messages, const plan *streams)
{
    uint32_t next = 0, steps = 0;
    for (uint32_t i = 0; i < streams->stage_count; i++) {
        const edge_stage *stage = &streams->stages[i];
        if (stage->first_edge != next || stage->edge_count == 0 || stage->steps == 0)
            plans_fail(r, "a stage");
        next += stage->edge_count;
        steps += stage->steps;
        for (uint32_t e = stage->first_edge; e < next; e++)
            for (uint32_t other = e + 1; other < next; other++)
                if (streams->edges[e].from == streams->edges[other].from &&
                    streams->edges[e].to == streams->edges[other].to)
                    plans_fail(r, "a pair twice in a stage");
    }
    if (next != streams->edge_count || steps != streams->steps) plans_fail(r, "stages do not add up");
    for (uint32_t e = 0; e < messages->edge_count; e++) {
        uint64_t bytes = 0;
        for (uint32_t other = 0; other < streams->edge_count; other++)
            if (streams->edges[other].from == messages->edges[e].from &&
                streams->edges[other].to == messages->edges[e].to)
                bytes += streams->edges[other].bytes;
        if (bytes != messages->edges[e].bytes) plans_fail(r, "bytes of stages");
    }
    if (plan_payload_bytes(streams) != plan_payload_bytes(messages)) plans_fail(r, "all bytes of stages");
}

// Both grains: the plan of messages is proved, no message is longer than the cut allows, and edges agree.
static inline void plans_check(arena *a, const plan_request *request, plan *messages, plan *streams)
{
    plan_request r = *request;
    r.grain = GRAIN_MESSAGES;
    plan_build(a, &r, messages);
    r.grain = GRAIN_STREAMS;
    plan_build(a, &r, streams);
    if (!plan_is_valid(a, messages)) plans_fail(request, "not valid");
    if (streams->messages || streams->steps > messages->steps) plans_fail(request, "steps");
    if (r.cut.chunk_bytes > 0)
        for (uint32_t m = 0; m < messages->message_count; m++)
            if (messages->messages[m].bytes > r.cut.chunk_bytes) plans_fail(request, "a message is too long");
    if (messages->switches > 0) return; // its streams have other edges
    if (streams->stage_count > 0) {
        plans_check_stages(&r, messages, streams);
        return;
    }
    if (streams->edge_count != messages->edge_count) plans_fail(request, "edges of the grains differ");
    for (uint32_t e = 0; e < streams->edge_count; e++)
        if (memcmp(&streams->edges[e], &messages->edges[e], sizeof *streams->edges) != 0)
            plans_fail(request, "the grains differ in an edge");
}

typedef struct plans_row { // a message as it should be; more: the one further that it waits for, or PLAN_NONE
    uint32_t from, to, step, chunk;
    bool reduces;
    uint64_t bytes;
    int32_t after_received, more;
    uint32_t operation;
} plans_row;

static inline void plans_compare(const plan *p, const plans_row *rows, size_t count)
{
    assert_int_equal(p->message_count, count);
    for (uint32_t m = 0; m < count; m++) {
        const plan_message *got = &p->messages[m];
        const plans_row *want = &rows[m];
        uint32_t first;
        const uint32_t more = plan_more_waits(p, m, &first);
        if (got->from != want->from || got->to != want->to || got->step != want->step ||
            got->chunk != want->chunk || got->reduces != want->reduces || got->bytes != want->bytes ||
            got->after_received != want->after_received || more != (want->more != PLAN_NONE) ||
            (more > 0 && p->more[first].received != (uint32_t)want->more) ||
            p->edges[got->edge].operation != want->operation)
            fail_msg("message %" PRIu32 ": %" PRIu32 " > %" PRIu32 ", step %" PRIu32 ", chunk %" PRIu32
                     ", after %" PRId32 " and %" PRIu32 " more",
                     m, got->from, got->to, got->step, got->chunk, got->after_received, more);
    }
}
