// SPDX-License-Identifier: GPL-3.0-or-later
// All-reduces that the switches of the network sum (SHARP; NCCL's CollNet). Each NIC of a node has a head, the member there,
// and each lane is a NIC with an equal part of the buffer, cut in pieces. The heads of a lane send their node's sum once
// into the network and receive the whole sum once. Direct: all other ranks send their share to the head, and get the sum from
// it. Chain: shares are added along the chain of the node's ranks that ends at the head, and the sum goes back along it.
//     bytes  2 (n - N) S inside nodes and N S between them: each NIC carries S / R each way
//     steps  2 + K direct, 2 g - 2 + K in chains    K [pieces]   g [ranks of the largest node]; without other ranks K
//     S [bytes]   n [ranks]   N [nodes]   R [NICs of a node that serve the group]
// Between nodes the edges of a lane are a circle over its heads, as one operation (plan.h): what one edge carries out of a NIC
// is that node's part, what it brings into the next is the sum.
#include "models/collective/plan_sketch.h"

typedef struct collnet_lane {
    plan_sketch *sketch;
    uint32_t lane, piece, nodes, largest;
} collnet_lane;

static uint32_t member(const collnet_lane *l, uint32_t node, uint32_t place)
{
    return plan_chain_at(l->sketch->request->rings, l->lane, node, place);
}

static uint32_t node_size(const collnet_lane *l, uint32_t node)
{
    const ring_set *rings = l->sketch->request->rings;
    return plan_node_start(rings, node + 1) - plan_node_start(rings, node);
}

static void add(const collnet_lane *l, sketch_send send, uint32_t step)
{
    send.lane = l->lane;
    send.chunk = l->lane * l->sketch->pieces + l->piece;
    send.count = sketch_pieces_each(l->sketch);
    send.step = step + l->piece;
    sketch_add(l->sketch, &send);
}

static void draw_circle(const collnet_lane *l, uint32_t step)
{
    for (uint32_t v = 0; v < l->nodes; v++)
        add(l,
            (sketch_send){
                .from = member(l, v, 0), .to = member(l, (v + 1) % l->nodes, 0), .operation = 1 + l->lane },
            step);
}

static void draw_direct(const collnet_lane *l)
{
    const uint32_t inside = l->largest > 1;
    for (uint32_t v = 0; v < l->nodes; v++)
        for (uint32_t i = 1; i < node_size(l, v); i++)
            add(l, (sketch_send){ .from = member(l, v, i), .to = member(l, v, 0), .reduces = true }, 0);
    draw_circle(l, inside);
    for (uint32_t v = 0; v < l->nodes; v++)
        for (uint32_t i = 1; i < node_size(l, v); i++)
            add(l, (sketch_send){ .from = member(l, v, 0), .to = member(l, v, i) }, 1 + inside);
}

static void draw_chain(const collnet_lane *l)
{
    for (uint32_t v = 0; v < l->nodes; v++)
        for (uint32_t i = node_size(l, v) - 1; i > 0; i--)
            add(l, (sketch_send){ .from = member(l, v, i), .to = member(l, v, i - 1), .reduces = true },
                l->largest - 1 - i);
    draw_circle(l, l->largest - 1);
    for (uint32_t v = 0; v < l->nodes; v++)
        for (uint32_t i = 1; i < node_size(l, v); i++)
            add(l, (sketch_send){ .from = member(l, v, i - 1), .to = member(l, v, i) }, l->largest + i - 1);
}

static void draw(plan_sketch *s)
{
    const ring_set *rings = s->request->rings;
    collnet_lane l = { .sketch = s, .nodes = plan_nodes(rings), .largest = plan_largest_node(rings) };
    for (l.lane = 0; l.lane < s->plan->rings; l.lane++)
        for (l.piece = 0; l.piece < sketch_rounds(s); l.piece++) {
            if (s->request->algorithm == ALGORITHM_COLLNET_DIRECT)
                draw_direct(&l);
            else
                draw_chain(&l);
        }
}

void plan_collnet(arena *a, const plan_request *r, plan *out)
{
    const uint32_t largest = plan_largest_node(r->rings);
    SIM_ASSERT(plan_nodes(r->rings) > 1);
    *out = (plan){ .kind = r->kind, .ranks = r->rings->ranks, .rings = r->rings->count, .bytes = r->bytes };
    const uint32_t pieces = plan_pieces(&r->cut, (r->bytes + out->rings - 1) / out->rings);
    out->chunks = plan_chunks(out->rings, pieces);
    out->steps = r->algorithm == ALGORITHM_COLLNET_CHAIN ? 2 * largest - 2 : largest > 1 ? 2 : 0;
    out->steps += r->grain == GRAIN_STREAMS ? 1 : pieces;
    plan_sketch s = { .request = r, .plan = out, .arena = a, .pieces = pieces };
    sketch_plan(&s, &(sketch_algorithm){ .draw = draw });
}
