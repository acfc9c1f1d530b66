// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/array.h"
#include "sim/graph.h"
#include "tests/support/near.h"

enum { CALLS_MAX = 200000 };

typedef struct record { // what was called back, in order
    graph *g;
    uint32_t count;
    bool at_once; // each node is done as soon as it is ready
    uint32_t depth, deepest;
    uint32_t calls[CALLS_MAX];
} record;

static void note_ready(void *owner, uint32_t node)
{
    record *r = owner;
    assert_true(r->count < CALLS_MAX);
    r->calls[r->count++] = node;
    r->depth++;
    if (r->depth > r->deepest) r->deepest = r->depth;
    if (r->at_once) graph_done(r->g, node);
    r->depth--;
}

static void assert_calls(record *r, const uint32_t *want, uint32_t count)
{
    assert_int_equal(r->count, count);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(r->calls[i], want[i]);
    r->count = 0;
}
#define ASSERT_CALLS(r, ...)                                                                                 \
    assert_calls((r), (const uint32_t[]){ __VA_ARGS__ }, sizeof((const uint32_t[]){ __VA_ARGS__ }) / 4)

static int setup(void **state)
{
    *state = arena_create("graph test");
    return *state ? 0 : -1;
}

static int teardown(void **state)
{
    arena_destroy(*state);
    return 0;
}

// 0 and 4 are roots; 0 -> 2, 0 -> 1, 1 -> 3, 2 -> 3, 4 -> 3, 3 -> 5.
static graph *diamond(arena *a)
{
    graph *g = graph_create(a);
    assert_int_equal(graph_add_node(g), 0);
    assert_int_equal(graph_add_nodes(g, 4), 1);
    assert_int_equal(graph_add_node(g), 5);
    graph_add_edge(g, 0, 2);
    graph_add_edge(g, 1, 3);
    graph_add_edge(g, 0, 1);
    graph_add_edge(g, 2, 3);
    graph_add_edge(g, 4, 3);
    graph_add_edge(g, 3, 5);
    graph_seal(g);
    return g;
}

static void rows_keep_the_order_of_adding(void **state)
{
    graph *g = diamond(*state);
    uint32_t count = 0;
    const uint32_t *row = graph_successors(g, 0, &count);
    assert_int_equal(count, 2);
    assert_int_equal(row[0], 2);
    assert_int_equal(row[1], 1);
    graph_successors(g, 5, &count);
    assert_int_equal(count, 0);
    assert_int_equal(graph_node_count(g), 6);
    assert_int_equal(graph_edge_count(g), 6);
    assert_int_equal(graph_predecessor_count(g, 3), 3);
    assert_int_equal(graph_predecessor_count(g, 4), 0);
}

static void nodes_get_ready_after_their_last_predecessor(void **state)
{
    record *r = arena_new(*state, record);
    graph *g = r->g = diamond(*state);
    assert_true(graph_is_acyclic(g));
    for (int play = 0; play < 2; play++) { // a rewound graph plays again alike
        graph_start(g, note_ready, r);
        ASSERT_CALLS(r, 0, 4);
        assert_int_equal(graph_first_waiting(g), 1);
        assert_int_equal(graph_first_running(g), 0);
        graph_done(g, 0);
        ASSERT_CALLS(r, 2, 1); // in the order of the edges
        graph_done(g, 1);
        graph_done(g, 2);
        assert_int_equal(r->count, 0);
        assert_int_equal(graph_first_waiting(g), 3);
        assert_int_equal(graph_first_running(g), 4);
        graph_done(g, 4);
        ASSERT_CALLS(r, 3);
        graph_done(g, 3);
        ASSERT_CALLS(r, 5);
        assert_int_equal(graph_done_count(g), 5);
        assert_int_equal(graph_first_waiting(g), UINT32_MAX);
        assert_int_equal(graph_first_running(g), 5);
        graph_done(g, 5);
        assert_int_equal(graph_done_count(g), 6);
        assert_int_equal(graph_first_running(g), UINT32_MAX);
        graph_rewind(g);
        assert_int_equal(graph_done_count(g), 0);
        assert_int_equal(graph_first_waiting(g), 0);
    }
}

static void play_can_be_broken_off(void **state)
{
    record *r = arena_new(*state, record);
    graph *g = r->g = diamond(*state);
    graph_start(g, note_ready, r);
    graph_done(g, 0);
    graph_done(g, 4);
    ASSERT_CALLS(r, 0, 4, 2, 1);
    graph_rewind(g);
    r->at_once = true;
    graph_start(g, note_ready, r);
    ASSERT_CALLS(r, 0, 4, 2, 1, 3, 5);
    assert_int_equal(graph_done_count(g), 6);
}

static void chain_of_instant_nodes_does_not_nest(void **state)
{
    record *r = arena_new(*state, record);
    graph *g = r->g = graph_create(*state);
    graph_add_nodes(g, CALLS_MAX);
    for (uint32_t node = CALLS_MAX - 1; node > 0; node--)
        graph_add_edge(g, node, node - 1);
    graph_seal(g);
    r->at_once = true;
    graph_start(g, note_ready, r);
    assert_int_equal(graph_done_count(g), CALLS_MAX);
    assert_int_equal(r->deepest, 1);
    assert_int_equal(r->calls[0], CALLS_MAX - 1);
    assert_int_equal(r->calls[CALLS_MAX - 1], 0);
}

static void two_edges_between_the_same_nodes_count_twice(void **state)
{
    record *r = arena_new(*state, record);
    graph *g = r->g = graph_create(*state);
    graph_add_nodes(g, 2);
    graph_add_edge(g, 1, 0);
    graph_add_edge(g, 1, 0);
    graph_seal(g);
    assert_int_equal(graph_predecessor_count(g, 0), 2);
    graph_start(g, note_ready, r);
    graph_done(g, 1);
    ASSERT_CALLS(r, 1, 0);
}

struct shape_case {
    const char *name;
    uint32_t nodes, edge_count, edges[6][2];
    bool acyclic;
    uint32_t stuck; // the first node that never gets ready when all others are done at once
    uint32_t done;
};

static const struct shape_case shapes[] = {
    { "no nodes", 0, 0, { { 0 } }, true, UINT32_MAX, 0 },
    { "no edges", 3, 0, { { 0 } }, true, UINT32_MAX, 3 },
    { "forest", 5, 3, { { 4, 1 }, { 1, 0 }, { 3, 2 } }, true, UINT32_MAX, 5 },
    { "node behind itself", 3, 1, { { 1, 1 } }, false, 1, 2 },
    { "ring of all", 3, 3, { { 0, 1 }, { 1, 2 }, { 2, 0 } }, false, 0, 0 },
    { "cycle in the middle", 6, 5, { { 0, 1 }, { 1, 3 }, { 3, 4 }, { 4, 3 }, { 4, 2 } }, false, 2, 3 },
    { "both ways", 2, 2, { { 0, 1 }, { 1, 0 } }, false, 0, 0 },
};

static void cycles_are_found_and_deadlocks_named(void **state)
{
    const struct shape_case *c = *state;
    arena *a = arena_create("graph shape");
    record *r = arena_new(a, record);
    graph *g = r->g = graph_create(a);
    if (c->nodes) assert_int_equal(graph_add_nodes(g, c->nodes), 0);
    for (uint32_t i = 0; i < c->edge_count; i++)
        graph_add_edge(g, c->edges[i][0], c->edges[i][1]);
    graph_seal(g);
    assert_int_equal(graph_is_acyclic(g), c->acyclic);
    r->at_once = true;
    graph_start(g, note_ready, r);
    assert_int_equal(graph_done_count(g), c->done);
    assert_int_equal(graph_first_waiting(g), c->stuck);
    assert_int_equal(graph_first_running(g), UINT32_MAX);
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest single[] = {
        cmocka_unit_test_setup_teardown(rows_keep_the_order_of_adding, setup, teardown),
        cmocka_unit_test_setup_teardown(nodes_get_ready_after_their_last_predecessor, setup, teardown),
        cmocka_unit_test_setup_teardown(play_can_be_broken_off, setup, teardown),
        cmocka_unit_test_setup_teardown(chain_of_instant_nodes_does_not_nest, setup, teardown),
        cmocka_unit_test_setup_teardown(two_edges_between_the_same_nodes_count_twice, setup, teardown),
    };
    struct CMUnitTest tests[ARRAY_COUNT(single) + ARRAY_COUNT(shapes)];
    memcpy(tests, single, sizeof single);
    for (size_t i = 0; i < ARRAY_COUNT(shapes); i++)
        tests[ARRAY_COUNT(single) + i] =
            (struct CMUnitTest){ .name = shapes[i].name,
                                 .test_func = cycles_are_found_and_deadlocks_named,
                                 .initial_state = (void *)&shapes[i] };
    return cmocka_run_group_tests_name("graph", tests, NULL, NULL);
}
