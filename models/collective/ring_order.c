// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/collective/ring_order.h"
#include "sim/array.h"
#include "sim/check.h"
#include <stdlib.h>
#include <string.h>

typedef struct ring_member {
    uint32_t position;
    uint32_t node;       // the domain (topology_domain_of())
    vertex_id nic;       // that serves it; NO_ID: none
    uint32_t node_place; // of its node among the group's nodes, in the order of first appearance
} ring_member;

typedef struct ring_node { // a node of the group: its members follow one another
    uint32_t first, count;
    uint32_t nics;
    bool zigzag; // visits its members in the order of a mesh
} ring_node;

typedef struct ring_builder {
    const topology *topology;
    const vertex_id *vertices; // of the group, by position
    ring_member *members;
    uint32_t count;
    ring_node *nodes;
    uint32_t node_count;
    uint32_t rings;
    uint32_t *orders, *chains;
} ring_builder;

// ---- members by node and NIC ----

static vertex_id nic_of(const topology *t, vertex_id v)
{
    if (topology_vertex_at(t, v)->kind == VERTEX_NIC) return v;
    nic_id first;
    uint32_t count;
    return topology_nics_of_gpu(t, topology_gpu_of(t, v), &first, &count) ? topology_nic_vertex(t, first)
                                                                          : NO_ID;
}

static int compare(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

// No two members share a position, so none of these tie.
static int by_node(const void *left, const void *right)
{
    const ring_member *a = left, *b = right;
    return a->node != b->node ? compare(a->node, b->node) : compare(a->position, b->position);
}

static int by_place(const void *left, const void *right)
{
    const ring_member *a = left, *b = right;
    return a->node_place != b->node_place ? compare(a->node_place, b->node_place)
                                          : compare(a->position, b->position);
}

static int by_nic(const void *left, const void *right)
{
    const ring_member *a = left, *b = right;
    if (a->node_place != b->node_place) return compare(a->node_place, b->node_place);
    return a->nic != b->nic ? compare(a->nic, b->nic) : compare(a->position, b->position);
}

static int by_first(const void *left, const void *right)
{
    const ring_member *const *a = left, *const *b = right;
    return compare((*a)->position, (*b)->position);
}

// Sorted by node and position, the first member of each node is the one by which the node ranks among the others.
static void place_nodes(arena *a, ring_builder *b)
{
    qsort(b->members, b->count, sizeof *b->members, by_node);
    ring_member **firsts = arena_array(a, ring_member *, b->count);
    for (uint32_t i = 0; i < b->count; i++)
        if (i == 0 || b->members[i].node != b->members[i - 1].node) firsts[b->node_count++] = &b->members[i];
    qsort(firsts, b->node_count, sizeof *firsts, by_first);
    for (uint32_t v = 0; v < b->node_count; v++)
        firsts[v]->node_place = v;
    for (uint32_t i = 1; i < b->count; i++)
        if (b->members[i].node == b->members[i - 1].node)
            b->members[i].node_place = b->members[i - 1].node_place;
}

// Every two of them have a link of their own. Where they have not, the first two already show it.
static bool is_mesh(const ring_builder *b, const ring_node *node)
{
    const ring_member *members = &b->members[node->first];
    for (uint32_t i = 0; i < node->count; i++)
        for (uint32_t j = 0; j < node->count; j++) {
            if (i == j) continue;
            vertex_id from = b->vertices[members[i].position], to = b->vertices[members[j].position];
            if (topology_path_facts(b->topology, from, to).links != 1) return false;
        }
    return true;
}

// Members sorted by node and NIC.
static void find_nodes(arena *a, ring_builder *b)
{
    qsort(b->members, b->count, sizeof *b->members, by_nic);
    b->nodes = arena_array(a, ring_node, b->node_count);
    for (uint32_t i = 0; i < b->count; i++) {
        const ring_member *m = &b->members[i];
        ring_node *node = &b->nodes[m->node_place];
        SIM_ASSERT(b->node_count == 1 ||
                   m->nic != NO_ID); // topology_check() refuses what cannot reach the others
        if (node->count++ == 0) node->first = i;
        if (node->count == 1 || m->nic != m[-1].nic) node->nics++;
    }
}

// ---- a mesh alone ----

// A cycle through all, zigzag: s, s + 1, s - 1, s + 2, s - 2, .. modulo n, at step i. For even n, the zigzags from all s
// use every ordered pair once (Williams: "Experimental designs balanced for the estimation of residual effects of
// treatments", Aust. J. Sci. Res. A 2, 1949); for odd n, at most twice.
static uint32_t zigzag(uint32_t start, uint32_t i, uint32_t n)
{
    uint32_t shift = i % 2 == 1 ? (i + 1) / 2 : n - i / 2;
    return (start + shift) % n;
}

// Walecki's rings: the last member, then a zigzag through the even number m of others from r, closed through the last.
// Shifting r shifts every pair, so no two rings share one. For even n, the last but one is put between the zigzag's first
// and second, which are other pairs in each ring as well.
// Lucas: "Recreations mathematiques" II, 1892; in our words, with both directions of each of Walecki's cycles.
static void fill_walecki(const ring_builder *b)
{
    const uint32_t n = b->count, m = b->rings;
    for (uint32_t r = 0; r < m; r++) {
        uint32_t *order = &b->orders[r * n], used = 0;
        order[used++] = n - 1;
        for (uint32_t i = 0; i < m; i++) {
            order[used++] = zigzag(r, i, m);
            if (i == 0 && n % 2 == 0) order[used++] = n - 2;
        }
        SIM_ASSERT(used == n);
    }
}

// For even n, n - 1 disjoint rings exist but for 4 and 6 (Tillson: "A Hamiltonian decomposition of K*_2m, 2m >= 8",
// J. Combin. Theory B 29, 1980). Instead of his construction the first one in the order of words is searched: ring r begins
// 0, r + 1. Backtracks 62 thousand times at most up to 16 members, which no server's mesh exceeds; beyond, Walecki's.
enum { RING_SEARCH_LEAST = 8, RING_SEARCH_MOST = 16 };

typedef struct ring_search {
    uint32_t n;
    bool used[RING_SEARCH_MOST][RING_SEARCH_MOST];
    uint32_t *orders;
} ring_search;

// Extends the rings from `place` of ring r on; visited has a bit per member that ring r has been at.
static bool search_rings(ring_search *s, uint32_t r, uint32_t place, uint32_t visited)
{
    if (r == s->n - 1) return true;
    uint32_t *order = &s->orders[r * s->n];
    if (place == 0) return search_rings(s, r, 1, 1); // every ring begins at 0, where its zero already is
    const uint32_t from = order[place - 1];
    if (place == s->n) {
        if (s->used[from][0]) return false;
        s->used[from][0] = true;
        if (search_rings(s, r + 1, 0, 0)) return true;
        s->used[from][0] = false;
        return false;
    }
    const uint32_t first = place == 1 ? r + 1 : 1, last = place == 1 ? r + 1 : s->n - 1;
    for (uint32_t to = first; to <= last; to++) {
        if (visited >> to & 1 || s->used[from][to]) continue;
        s->used[from][to] = true;
        order[place] = to;
        if (search_rings(s, r, place + 1, visited | UINT32_C(1) << to)) return true;
        s->used[from][to] = false;
    }
    return false;
}

// Two disjoint rings are all that four members have, and leave a third of the links idle. All six together use each link
// twice: four GH200 reach what their links give (collectives.csv: alps, 339 of 350 GB/s), which two rings could not.
static const uint32_t rings_of_four[][4] = { { 0, 1, 2, 3 }, { 0, 3, 2, 1 }, { 0, 1, 3, 2 },
                                             { 0, 2, 3, 1 }, { 0, 2, 1, 3 }, { 0, 3, 1, 2 } };

static uint32_t mesh_rings(uint32_t n, bool search)
{
    if (n == 2) return 1;
    if (n == 4) return ARRAY_COUNT(rings_of_four);
    return n % 2 == 1 || search ? n - 1 : n - 2;
}

static void fill_mesh(arena *a, ring_builder *b)
{
    const uint32_t n = b->count;
    bool search = n % 2 == 0 && n >= RING_SEARCH_LEAST && n <= RING_SEARCH_MOST;
    b->rings = mesh_rings(n, search);
    b->orders = arena_array(a, uint32_t, (size_t)b->rings * n);
    if (n == 2) {
        b->orders[1] = 1;
    } else if (n == 4) {
        memcpy(b->orders, rings_of_four, sizeof rings_of_four);
    } else if (search) {
        ring_search s = { .n = n, .orders = b->orders };
        bool found = search_rings(&s, 0, 0, 0);
        SIM_ASSERT(found);
    } else {
        fill_walecki(b);
    }
}

// ---- one ring, and rings over NICs ----

static void fill_one(arena *a, ring_builder *b)
{
    qsort(b->members, b->count, sizeof *b->members, by_place);
    b->rings = 1;
    b->orders = arena_array(a, uint32_t, b->count);
    for (uint32_t i = 0; i < b->count; i++)
        b->orders[i] = b->members[i].position;
}

// The node's member, counted from its first, at which ring r begins: the first one of a NIC. Rings are spread evenly over
// the NICs where there are more NICs than rings.
static uint32_t first_of_ring(const ring_builder *b, const ring_node *node, uint32_t r)
{
    const uint32_t wanted = (uint32_t)((uint64_t)r * node->nics / b->rings);
    const ring_member *members = &b->members[node->first];
    uint32_t nic = 0, i = 0;
    for (; nic < wanted; i++)
        nic += members[i + 1].nic != members[i].nic;
    return i;
}

// In a mesh, a pair's link is one of many: rings that all went round in the same order would fill a few and leave the
// others idle. Zigzags spread them, and end a constant shift from where they begin; so the NICs at which they end differ
// as long as each NIC serves equally many.
static bool visits_zigzag(const ring_builder *b, const ring_node *node)
{
    const uint32_t per_nic = node->count / node->nics;
    if (node->nics != b->rings || node->count % node->nics != 0) return false;
    for (uint32_t r = 0; r < b->rings; r++)
        if (first_of_ring(b, node, r) != r * per_nic) return false;
    return is_mesh(b, node);
}

// Ring r passes a node from the first member of its NIC to the last of the NIC before, or through the zigzag; every second
// node backwards.
static void fill_over_nodes(arena *a, ring_builder *b)
{
    b->orders = arena_array(a, uint32_t, (size_t)b->rings * b->count);
    b->chains = arena_array(a, uint32_t, (size_t)b->rings * b->count);
    uint32_t *next = b->orders, *chain = b->chains;
    for (uint32_t v = 0; v < b->node_count; v++)
        b->nodes[v].zigzag = visits_zigzag(b, &b->nodes[v]);
    for (uint32_t r = 0; r < b->rings; r++)
        for (uint32_t v = 0; v < b->node_count; v++) {
            const ring_node *node = &b->nodes[v];
            const uint32_t n = node->count, start = first_of_ring(b, node, r);
            for (uint32_t i = 0; i < n; i++, chain++) {
                uint32_t member = node->zigzag ? zigzag(start, i, n) : (start + i) % n;
                *chain = b->members[node->first + member].position;
            }
            for (uint32_t i = 0; i < n; i++)
                *next++ = v % 2 == 1 ? chain[-(ptrdiff_t)i - 1] : chain[(ptrdiff_t)i - n];
        }
}

ring_set ring_order_make(arena *a, const topology *t, const vertex_id *members, uint32_t count)
{
    SIM_ASSERT(count > 0);
    ring_builder b = { .topology = t, .vertices = members, .count = count };
    b.members = arena_array(a, ring_member, count);
    for (uint32_t i = 0; i < count; i++)
        b.members[i] = (ring_member){ .position = i,
                                      .node = topology_domain_of(t, members[i]),
                                      .nic = nic_of(t, members[i]) };
    place_nodes(a, &b);
    find_nodes(a, &b);
    b.rings = UINT32_MAX;
    for (uint32_t v = 0; v < b.node_count; v++)
        if (b.nodes[v].nics < b.rings) b.rings = b.nodes[v].nics;
    if (b.node_count == 1 && count > 1 && is_mesh(&b, &b.nodes[0]))
        fill_mesh(a, &b);
    else if (b.node_count == 1 || b.rings == 1)
        fill_one(a, &b);
    else
        fill_over_nodes(a, &b);
    uint32_t *starts = arena_array(a, uint32_t, (size_t)b.node_count + 1);
    for (uint32_t v = 0; v < b.node_count; v++)
        starts[v + 1] = starts[v] + b.nodes[v].count;
    return (ring_set){ .ranks = count,
                       .count = b.rings,
                       .orders = b.orders,
                       .nodes = b.node_count,
                       .node_starts = starts,
                       .chains = b.chains };
}
