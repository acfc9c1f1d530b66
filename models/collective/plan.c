// SPDX-License-Identifier: GPL-3.0-or-later
// What all plans share.
#include "models/collective/plan.h"
#include "sim/check.h"

const char *const collective_kind_words[] = { "all-reduce", "reduce-scatter", "all-gather",
                                              "send-recv",  "broadcast",      "all-to-all",
                                              "reduce",     "barrier",        "all-to-all-unequal",
                                              NULL };
const char *const collective_algorithm_words[] = { "ring", "nvls",      "send-recv",      "pairwise",
                                                   "tree", "nvls-tree", "collnet-direct", "collnet-chain",
                                                   "pat",  "recursive", "hierarchical",   NULL };
const char *const collective_grain_words[] = { "streams", "messages", NULL };

uint64_t plan_chunk_bytes(uint64_t bytes, uint32_t chunks, uint32_t chunk)
{
    SIM_ASSERT(chunk < chunks);
    return bytes / chunks + (chunk < bytes % chunks);
}

// Of the first count chunks.
static uint64_t bytes_before(uint64_t bytes, uint32_t chunks, uint32_t count)
{
    const uint64_t more = bytes % chunks;
    return bytes / chunks * count + (count < more ? count : more);
}

uint64_t plan_range_bytes(uint64_t bytes, uint32_t chunks, uint32_t first, uint32_t count)
{
    SIM_ASSERT(first <= chunks && count <= chunks - first);
    return bytes_before(bytes, chunks, first + count) - bytes_before(bytes, chunks, first);
}

uint64_t plan_payload_bytes(const plan *p)
{
    uint64_t sum = 0;
    for (uint32_t e = 0; e < p->edge_count; e++)
        if (p->edges[e].from < p->ranks) sum += p->edges[e].bytes;
    return sum;
}

uint32_t plan_pieces(const plan_cut *cut, uint64_t lane_bytes)
{
    const uint64_t slices = cut->slices > 0 ? cut->slices : 1, most = cut->chunk_bytes;
    uint64_t loops = most > 0 ? lane_bytes / most + (lane_bytes % most > 0) : 1;
    if (loops == 0) loops = 1;
    SIM_ASSERT(loops <= INT32_MAX / slices);
    return (uint32_t)(loops * slices);
}

uint32_t plan_chunks(uint32_t lanes, uint32_t pieces)
{
    SIM_ASSERT((uint64_t)lanes * pieces <= UINT32_MAX);
    return lanes * pieces;
}

uint32_t plan_doublings(uint32_t count)
{
    uint32_t doublings = 0;
    while (UINT64_C(1) << doublings < count)
        doublings++;
    return doublings;
}

uint32_t plan_power_within(uint32_t count)
{
    uint32_t power = 1;
    while (power <= count / 2)
        power *= 2;
    return power;
}

uint32_t plan_more_waits(const plan *p, uint32_t message, uint32_t *first)
{
    uint32_t low = 0, high = p->more_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (p->more[middle].message < message)
            low = middle + 1;
        else
            high = middle;
    }
    *first = low;
    uint32_t count = 0;
    while (low + count < p->more_count && p->more[low + count].message == message)
        count++;
    return count;
}

// ---- nodes ----

uint32_t plan_nodes(const ring_set *rings)
{
    return rings->nodes > 0 ? rings->nodes : 1;
}

uint32_t plan_node_start(const ring_set *rings, uint32_t node)
{
    SIM_ASSERT(node <= plan_nodes(rings));
    if (rings->nodes == 0) return node * rings->ranks;
    return rings->node_starts[node];
}

uint32_t plan_largest_node(const ring_set *rings)
{
    uint32_t largest = 0;
    for (uint32_t v = 0; v < plan_nodes(rings); v++) {
        const uint32_t count = plan_node_start(rings, v + 1) - plan_node_start(rings, v);
        if (count > largest) largest = count;
    }
    return largest;
}

bool plan_nodes_alike(const ring_set *rings)
{
    const uint32_t nodes = plan_nodes(rings);
    for (uint32_t v = 0; v < nodes; v++)
        if ((uint64_t)plan_node_start(rings, v) * nodes != (uint64_t)v * rings->ranks) return false;
    return true;
}

uint32_t plan_chain_at(const ring_set *rings, uint32_t ring, uint32_t node, uint32_t place)
{
    SIM_ASSERT(ring < rings->count);
    const uint32_t *chains = rings->chains ? rings->chains : rings->orders;
    return chains[(size_t)ring * rings->ranks + plan_node_start(rings, node) + place];
}

// ---- kinds and algorithms ----

collective_algorithm plan_usual_algorithm(collective_kind kind)
{
    SIM_ASSERT(kind < COLLECTIVE_KINDS);
    if (kind == COLLECTIVE_SEND_RECV) return ALGORITHM_SEND_RECV;
    return kind == COLLECTIVE_ALL_TO_ALL || kind == COLLECTIVE_ALL_TO_ALL_UNEQUAL ? ALGORITHM_PAIRWISE
                                                                                  : ALGORITHM_RING;
}

bool plan_exists(const plan_request *r)
{
    const collective_kind kind = r->kind;
    const bool shares = kind == COLLECTIVE_REDUCE_SCATTER || kind == COLLECTIVE_ALL_GATHER;
    const bool from_one = kind == COLLECTIVE_BROADCAST || kind == COLLECTIVE_REDUCE;
    const bool sums = collective_sums_for_all(kind);
    const uint32_t nodes = plan_nodes(r->rings);
    switch (r->algorithm) {
    case ALGORITHM_RING: return sums || shares || from_one;
    case ALGORITHM_TREE: return sums || from_one;
    case ALGORITHM_NVLS: return sums && nodes == 1 && r->rings->ranks > 1;
    case ALGORITHM_NVLS_TREE:
        return sums && nodes > 1 && r->rings->ranks > nodes && plan_nodes_alike(r->rings);
    case ALGORITHM_COLLNET_DIRECT:
    case ALGORITHM_COLLNET_CHAIN: return sums && nodes > 1;
    case ALGORITHM_PAT: return shares;
    case ALGORITHM_RECURSIVE: return sums || shares;
    case ALGORITHM_HIERARCHICAL: return (sums || shares) && plan_nodes_alike(r->rings);
    case ALGORITHM_SEND_RECV:
    case ALGORITHM_PAIRWISE: return plan_usual_algorithm(kind) == r->algorithm;
    case ALGORITHMS: break;
    }
    SIM_ASSERT(r->algorithm < ALGORITHMS);
    return false;
}

void plan_build(arena *a, const plan_request *r, plan *out)
{
    static void (*const makers[ALGORITHMS])(arena *, const plan_request *, plan *) = {
        [ALGORITHM_NVLS] = plan_nvls,
        [ALGORITHM_SEND_RECV] = plan_send_recv,
        [ALGORITHM_PAIRWISE] = plan_all_to_all,
        [ALGORITHM_TREE] = plan_tree,
        [ALGORITHM_NVLS_TREE] = plan_nvls_tree,
        [ALGORITHM_COLLNET_DIRECT] = plan_collnet,
        [ALGORITHM_COLLNET_CHAIN] = plan_collnet,
        [ALGORITHM_PAT] = plan_pat,
        [ALGORITHM_RECURSIVE] = plan_recursive,
        [ALGORITHM_HIERARCHICAL] = plan_hierarchical,
    };
    SIM_ASSERT(plan_exists(r));
    if (r->algorithm != ALGORITHM_RING)
        makers[r->algorithm](a, r, out);
    else if (r->kind == COLLECTIVE_BROADCAST || r->kind == COLLECTIVE_REDUCE)
        plan_broadcast(a, r, out);
    else
        plan_ring(a, r, out);
}

static uint64_t ring_message_count(const plan_request *r)
{
    const bool from_one = r->kind == COLLECTIVE_BROADCAST || r->kind == COLLECTIVE_REDUCE;
    return from_one ? plan_broadcast_messages(r) : plan_ring_messages(r);
}

// Of a plan with so many lanes, or ranks that own a share.
static uint64_t chunk_count(const plan_request *r, uint32_t lanes)
{
    return (uint64_t)lanes * plan_pieces(&r->cut, (r->bytes + lanes - 1) / lanes);
}

// Each chunk goes once to all ranks but one, or is summed on the way to one; of an all-reduce both. Switches take it from each
// rank of a node and give it to each.
uint64_t plan_message_count(const plan_request *r)
{
    const uint32_t ranks = r->rings->ranks, nodes = plan_nodes(r->rings);
    const uint64_t ways = (collective_sums_for_all(r->kind) ? UINT64_C(2) : 1) * (ranks - 1);
    if (ranks == 1) return 0;
    switch (r->algorithm) {
    case ALGORITHM_RING: return ring_message_count(r);
    case ALGORITHM_SEND_RECV: return 1;
    case ALGORITHM_PAIRWISE: return plan_all_to_all_messages(r);
    case ALGORITHM_TREE: return chunk_count(r, (nodes > 1 ? 2 : 1) * r->rings->count) * ways;
    case ALGORITHM_NVLS:
    case ALGORITHM_NVLS_TREE: {
        const uint32_t heads = ranks / nodes, lanes = heads * (nodes > 1 ? 2 : 1);
        return chunk_count(r, lanes) * 2 * ((heads + UINT64_C(1)) * nodes + nodes - 1);
    }
    case ALGORITHM_COLLNET_DIRECT:
    case ALGORITHM_COLLNET_CHAIN:
        return chunk_count(r, r->rings->count) * (UINT64_C(2) * (ranks - nodes) + nodes);
    case ALGORITHM_PAT:
    case ALGORITHM_HIERARCHICAL: return chunk_count(r, ranks) * ways;
    case ALGORITHM_RECURSIVE:
        return chunk_count(r, collective_sums_for_all(r->kind) ? plan_power_within(ranks) : ranks) * ways;
    case ALGORITHMS: break;
    }
    SIM_ASSERT(r->algorithm < ALGORITHMS);
    return 0;
}
