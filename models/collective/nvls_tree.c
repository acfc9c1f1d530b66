// SPDX-License-Identifier: GPL-3.0-or-later
// NVLS-tree: in each node, rank i is a head that owns the i-th part of the buffer. Its NVSwitch reads that part from every
// rank of the node and gives the head the sum (nvls.c); heads i of all nodes then sum over one of two binary trees, half of
// the part in each (node_tree.h), as in tree.c; and each head sends the whole sum once to its switch, which copies it to all
// ranks of the node. A lane is a head and a tree. In one node this is NVLS, without trees.
//     messages  a GPU's link carries, each way, S and the head's own part     S [bytes]   N [nodes]   g [ranks of a node]
//               over nodes 2 (N - 1) S in all
//     streams   the same: as edges from each rank to the next of its node, as in nvls.c, and between heads
//     steps     2 ceil(log2 N) + 1 + K    K [pieces]
// The copies into and out of the buffers that the switch reads and writes are inside a GPU, and not here.
#include "models/collective/nvls_tree.h"
#include "models/collective/node_tree.h"
#include "models/collective/plan_sketch.h"

typedef struct nvls_node {
    uint32_t parent, depth, height;
} nvls_node;

typedef struct nvls_work {
    uint32_t nodes, heads, trees;
    uint32_t height;             // of the higher tree
    nvls_node *places;           // tree x nodes + node
    uint32_t *order[NODE_TREES]; // nodes from the root down
} nvls_work;

static uint32_t rank_at(const plan_sketch *s, uint32_t node, uint32_t i)
{
    return plan_chain_at(s->request->rings, 0, node, i);
}

static sketch_send lane_send(const plan_sketch *s, uint32_t lane, uint32_t piece)
{
    return (sketch_send){ .lane = lane, .chunk = lane * s->pieces + piece, .count = sketch_pieces_each(s) };
}

// The switch's two acts have numbers of their own in each node and tree: reading, and sending copies.
static uint32_t operation_of(const nvls_work *w, uint32_t copies, uint32_t tree, uint32_t node)
{
    return 1 + (copies * w->trees + tree) * w->nodes + node;
}

static void draw_reading(plan_sketch *s, uint32_t lane, uint32_t piece, uint32_t node)
{
    const nvls_work *w = s->owner;
    sketch_send send = lane_send(s, lane, piece);
    send.operation = operation_of(w, 0, lane % w->trees, node);
    send.step = piece;
    send.to = s->plan->ranks + node;
    send.reduces = true;
    for (uint32_t i = 0; i < w->heads; i++) {
        send.from = rank_at(s, node, i);
        sketch_add(s, &send);
    }
    send.from = send.to;
    send.to = rank_at(s, node, lane / w->trees);
    send.reduces = false;
    sketch_add(s, &send);
}

static void draw_copies(plan_sketch *s, uint32_t lane, uint32_t piece, uint32_t node)
{
    const nvls_work *w = s->owner;
    const uint32_t tree = lane % w->trees;
    const nvls_node *place = &w->places[tree * w->nodes + node];
    sketch_send send = lane_send(s, lane, piece);
    send.operation = operation_of(w, 1, tree, node);
    send.step = 1 + w->height + place->depth + piece;
    send.from = rank_at(s, node, lane / w->trees);
    send.to = s->plan->ranks + node;
    sketch_add(s, &send);
    send.from = send.to;
    for (uint32_t i = 0; i < w->heads; i++) {
        send.to = rank_at(s, node, i);
        sketch_add(s, &send);
    }
}

// In place of both, as streams: the same bytes on each link.
static void draw_circle(plan_sketch *s, uint32_t lane, uint32_t node)
{
    const nvls_work *w = s->owner;
    sketch_send send = lane_send(s, lane, 0);
    const uint64_t bytes = plan_range_bytes(s->plan->bytes, s->plan->chunks, send.chunk, send.count);
    for (uint32_t i = 0; i < w->heads; i++) {
        send.from = rank_at(s, node, i);
        send.to = rank_at(s, node, (i + 1) % w->heads);
        sketch_add_edge(s, &send, i == lane / w->trees ? 2 * bytes : bytes);
    }
}

static void draw_tree(plan_sketch *s, uint32_t lane, uint32_t piece, bool up)
{
    const nvls_work *w = s->owner;
    const uint32_t tree = lane % w->trees, head = lane / w->trees;
    for (uint32_t at = 1; at < w->nodes; at++) {
        const uint32_t v = w->order[tree][up ? w->nodes - at : at];
        const nvls_node *places = &w->places[tree * w->nodes];
        const uint32_t parent = places[v].parent;
        sketch_send send = lane_send(s, lane, piece);
        send.from = rank_at(s, up ? v : parent, head);
        send.to = rank_at(s, up ? parent : v, head);
        send.step = 1 + piece + (up ? places[v].height : w->height + places[parent].depth);
        send.reduces = up;
        sketch_add(s, &send);
    }
}

static void draw(plan_sketch *s)
{
    const nvls_work *w = s->owner;
    const bool streams = s->request->grain == GRAIN_STREAMS;
    for (uint32_t lane = 0; lane < s->plan->rings; lane++)
        for (uint32_t piece = 0; piece < sketch_rounds(s); piece++) {
            for (uint32_t v = 0; v < w->nodes; v++) {
                if (streams)
                    draw_circle(s, lane, v);
                else
                    draw_reading(s, lane, piece, v);
            }
            draw_tree(s, lane, piece, true);
            draw_tree(s, lane, piece, false);
            for (uint32_t v = 0; v < w->nodes && !streams; v++)
                draw_copies(s, lane, piece, v);
        }
}

static void place_nodes(arena *a, nvls_work *w, uint32_t tree)
{
    nvls_node *places = &w->places[tree * w->nodes];
    uint32_t *starts = arena_array(a, uint32_t, (size_t)w->nodes + 1);
    for (uint32_t v = 0; v < w->nodes; v++)
        places[v].parent = node_tree_parent(w->nodes, tree, false, v);
    for (uint32_t v = 0; v < w->nodes; v++) {
        for (uint32_t at = v; places[at].parent != at; at = places[at].parent) {
            const uint32_t depth = ++places[v].depth;
            nvls_node *above = &places[places[at].parent];
            if (above->height < depth) above->height = depth;
        }
        starts[places[v].depth + 1]++;
        if (w->height < places[v].depth) w->height = places[v].depth;
    }
    for (uint32_t d = 0; d < w->nodes; d++)
        starts[d + 1] += starts[d];
    w->order[tree] = arena_array(a, uint32_t, w->nodes);
    for (uint32_t v = 0; v < w->nodes; v++)
        w->order[tree][starts[places[v].depth]++] = v;
}

static void prepare(plan_sketch *s)
{
    nvls_work *w = s->owner = arena_new(s->arena, nvls_work);
    w->nodes = plan_nodes(s->request->rings);
    w->heads = s->plan->ranks / w->nodes;
    w->trees = s->plan->rings / w->heads;
    w->places = arena_array(s->arena, nvls_node, (size_t)w->trees * w->nodes);
    for (uint32_t tree = 0; tree < w->trees; tree++)
        place_nodes(s->arena, w, tree);
    s->plan->steps = 2 * w->height + 1 + (s->request->grain == GRAIN_STREAMS ? 1 : s->pieces);
}

void nvls_tree_fill(arena *a, const plan_request *r, plan *out)
{
    const uint32_t nodes = plan_nodes(r->rings);
    out->rings = out->ranks / nodes * (nodes > 1 ? NODE_TREES : 1);
    const uint32_t pieces = plan_pieces(&r->cut, (r->bytes + out->rings - 1) / out->rings);
    out->chunks = plan_chunks(out->rings, pieces);
    if (r->grain == GRAIN_MESSAGES) out->switches = nodes;
    plan_sketch s = { .request = r, .plan = out, .arena = a, .pieces = pieces };
    sketch_plan(&s, &(sketch_algorithm){ prepare, draw });
}

void plan_nvls_tree(arena *a, const plan_request *r, plan *out)
{
    SIM_ASSERT(plan_nodes_alike(r->rings) && plan_nodes(r->rings) > 1);
    *out = (plan){ .kind = r->kind, .ranks = r->rings->ranks, .bytes = r->bytes };
    nvls_tree_fill(a, r, out);
}
