// SPDX-License-Identifier: GPL-3.0-or-later
// The double binary tree: the ranks of a node are a chain, whose first member is at the lane's NIC and has the places above
// and below in one of two binary trees over the nodes (node_tree.h). With T trees (one node: 1) and R rings there are T R
// lanes, each with an equal part of the buffer, cut in pieces that follow one another. All-reduce: every rank adds what its
// children sent to its own and sends it up; the first rank turns round; down the same way. Reduce is the first half of it,
// broadcast the second; there position 0 is the root, whatever its place in the chain.
//     bytes  2 (n - 1) S over all edges, half of it for reduce and broadcast     S [bytes]   n [ranks]
//     steps  2 H + K - 1, H + K - 1 for reduce and broadcast                     K [pieces]
//     H = g - 1 + ceil(log2 N), the longest way up     N [nodes], g of the largest node, whose chain may lie lowest
#include "models/collective/node_tree.h"
#include "models/collective/plan_sketch.h"

typedef struct tree_shape { // of one lane
    uint32_t *parents;      // by position; the root is its own
    uint32_t *depths, *heights;
    uint32_t *order; // positions from the root down
    uint32_t root, height;
} tree_shape;

static bool rooted_kind(collective_kind kind)
{
    return kind == COLLECTIVE_BROADCAST || kind == COLLECTIVE_REDUCE;
}

// Which node position 0 is in, and its place in the chain.
static uint32_t find_root(const ring_set *rings, uint32_t ring, uint32_t *place)
{
    uint32_t at = 0, node = 0;
    while (plan_chain_at(rings, ring, 0, at) != 0)
        at++;
    while (plan_node_start(rings, node + 1) <= at)
        node++;
    *place = at - plan_node_start(rings, node);
    return node;
}

static void fill_parents(const plan_request *r, uint32_t lane, tree_shape *shape)
{
    const ring_set *rings = r->rings;
    const uint32_t nodes = plan_nodes(rings), ring = lane % rings->count, tree = lane / rings->count;
    const bool rooted = rooted_kind(r->kind);
    uint32_t root_place = 0;
    const uint32_t root_node = rooted ? find_root(rings, ring, &root_place) : 0;
    for (uint32_t v = 0; v < nodes; v++) {
        const uint32_t count = plan_node_start(rings, v + 1) - plan_node_start(rings, v);
        const uint32_t up =
            (node_tree_parent(nodes, tree, rooted, (v + nodes - root_node) % nodes) + root_node) % nodes;
        const uint32_t head = plan_chain_at(rings, ring, v, 0);
        shape->parents[head] = plan_chain_at(rings, ring, up, 0);
        if (up == v) shape->root = head;
        for (uint32_t i = 1; i < count; i++)
            shape->parents[plan_chain_at(rings, ring, v, i)] = plan_chain_at(rings, ring, v, i - 1);
    }
    if (!rooted) return;
    for (uint32_t i = 0; i < root_place; i++) // the chain turns round up to the root
        shape->parents[plan_chain_at(rings, ring, root_node, i)] = plan_chain_at(rings, ring, root_node,
                                                                                 i + 1);
    shape->root = 0;
    shape->parents[0] = 0;
}

static void measure(arena *a, uint32_t ranks, tree_shape *shape)
{
    uint32_t *starts = arena_array(a, uint32_t, (size_t)ranks + 1);
    for (uint32_t v = 0; v < ranks; v++) {
        uint32_t depth = 0;
        for (uint32_t at = v; at != shape->root; at = shape->parents[at]) {
            depth++;
            uint32_t *above = &shape->heights[shape->parents[at]];
            if (*above < depth) *above = depth;
        }
        shape->depths[v] = depth;
        starts[depth + 1]++;
    }
    for (uint32_t d = 0; d < ranks; d++)
        starts[d + 1] += starts[d];
    for (uint32_t v = 0; v < ranks; v++)
        shape->order[starts[shape->depths[v]]++] = v;
    shape->height = shape->heights[shape->root];
}

static void draw_up(plan_sketch *s, const tree_shape *shape, uint32_t lane, uint32_t piece)
{
    for (uint32_t i = s->plan->ranks - 1; i > 0; i--) {
        const uint32_t v = shape->order[i];
        sketch_add(s, &(sketch_send){ .from = v,
                                      .to = shape->parents[v],
                                      .step = shape->heights[v] + piece,
                                      .lane = lane,
                                      .chunk = lane * s->pieces + piece,
                                      .count = sketch_pieces_each(s),
                                      .reduces = true });
    }
}

static void draw_down(plan_sketch *s, const tree_shape *shape, uint32_t lane, uint32_t piece, uint32_t begin)
{
    for (uint32_t i = 1; i < s->plan->ranks; i++) {
        const uint32_t v = shape->order[i], from = shape->parents[v];
        sketch_add(s, &(sketch_send){ .from = from,
                                      .to = v,
                                      .step = begin + shape->depths[from] + piece,
                                      .lane = lane,
                                      .chunk = lane * s->pieces + piece,
                                      .count = sketch_pieces_each(s) });
    }
}

static void draw(plan_sketch *s)
{
    const tree_shape *shapes = s->owner;
    const collective_kind kind = s->plan->kind;
    for (uint32_t lane = 0; lane < s->plan->rings; lane++)
        for (uint32_t piece = 0; piece < sketch_rounds(s); piece++) {
            const tree_shape *shape = &shapes[lane];
            if (kind != COLLECTIVE_BROADCAST) draw_up(s, shape, lane, piece);
            if (kind != COLLECTIVE_REDUCE)
                draw_down(s, shape, lane, piece, kind == COLLECTIVE_BROADCAST ? 0 : shape->height);
        }
}

static void prepare(plan_sketch *s)
{
    plan *p = s->plan;
    tree_shape *shapes = s->owner = arena_array(s->arena, tree_shape, p->rings);
    p->steps = 0;
    for (uint32_t lane = 0; lane < p->rings; lane++) {
        tree_shape *shape = &shapes[lane];
        shape->parents = arena_array(s->arena, uint32_t, p->ranks);
        shape->depths = arena_array(s->arena, uint32_t, p->ranks);
        shape->heights = arena_array(s->arena, uint32_t, p->ranks);
        shape->order = arena_array(s->arena, uint32_t, p->ranks);
        fill_parents(s->request, lane, shape);
        measure(s->arena, p->ranks, shape);
        const uint32_t steps = (rooted_kind(p->kind) ? 1 : 2) * shape->height;
        if (steps > p->steps) p->steps = steps;
    }
    p->steps += s->pieces - 1;
}

void plan_tree(arena *a, const plan_request *r, plan *out)
{
    const uint32_t trees = plan_nodes(r->rings) > 1 ? NODE_TREES : 1;
    *out = (plan){
        .kind = r->kind, .ranks = r->rings->ranks, .rings = trees * r->rings->count, .bytes = r->bytes
    };
    const uint32_t pieces = plan_pieces(&r->cut, (r->bytes + out->rings - 1) / out->rings);
    out->chunks = plan_chunks(out->rings, pieces);
    if (out->ranks == 1) return;
    plan_sketch s = { .request = r, .plan = out, .arena = a, .pieces = pieces };
    sketch_plan(&s, &(sketch_algorithm){ prepare, draw });
    if (r->grain == GRAIN_STREAMS) out->steps -= pieces - 1; // those of one piece
}
