// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/training/fold.h"
#include "models/collective/ring_order.h"
#include "models/network/routing.h"
#include "sim/check.h"

const char *const fold_obstacle_words[] = {
    "nothing is in the way",
    "the network counts transfers of all ranks together (bottleneck_count)",
    "a link loses packets, so that no two ranks wait alike",
    "a tensor-parallel group leaves its node",
    "GPUs of a tensor-parallel group differ in health",
    "ranks of a tensor-parallel group share a link",
    "paths of the ranks of a tensor-parallel group differ",
    "tensor-parallel collectives load the paths of their ranks unevenly",
    "tensor-parallel collectives, played message by message, share links with others",
    NULL
};

typedef struct fold_edge { // somebody sends to somebody
    rank_id from, to;
    uint32_t from_member, to_member; // places in their group, by which columns are compared
} fold_edge;

typedef struct fold_edges {
    fold_edge *items;
    uint32_t count;
} fold_edges;

typedef struct fold_path {
    uint32_t links[TOPOLOGY_PATH_MAX];
    uint32_t count;
} fold_path;

static rank_id rank_of(const fold_question *q, uint32_t tensor, uint32_t data, uint32_t pipeline)
{
    return parallel_rank_at(q->sizes,
                            (parallel_place){ .tensor = tensor, .data = data, .pipeline = pipeline });
}

static vertex_id vertex_of(const fold_question *q, rank_id rank)
{
    return topology_gpu_vertex(q->fabric, q->gpu_of_rank[rank]);
}

// ---- edges, piece by piece

typedef enum fold_piece_kind {
    PIECE_DATA,     // the data-parallel groups of stage `first`
    PIECE_STAGES,   // between the stages `first` and `second`
    PIECE_PIPELINES // the groups of all stages, with data coordinate `first`
} fold_piece_kind;

typedef struct fold_piece {
    fold_piece_kind kind;
    uint32_t first, second;
} fold_piece;

// Of the group's rings, ring by ring.
static fold_edges ring_edges(arena *a, const fold_question *q, const rank_id *members, uint32_t count)
{
    vertex_id *vertices = arena_array(a, vertex_id, count);
    for (uint32_t i = 0; i < count; i++)
        vertices[i] = vertex_of(q, members[i]);
    const ring_set rings = ring_order_make(a, q->fabric, vertices, count);
    fold_edges edges = { .count = rings.count * count };
    edges.items = arena_array(a, fold_edge, edges.count);
    for (uint32_t r = 0; r < rings.count; r++)
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t from = rings.orders[r * count + i], to = rings.orders[r * count + (i + 1) % count];
            edges.items[r * count + i] = (fold_edge){ members[from], members[to], from, to };
        }
    return edges;
}

// Of an all-to-all, from each to each; behind those of the rings.
static fold_edges all_edges(arena *a, const fold_question *q, const rank_id *members, fold_edges rings)
{
    const uint32_t count = q->sizes.data;
    fold_edges edges = { .count = rings.count };
    edges.items = arena_array(a, fold_edge, rings.count + (size_t)count * (count - 1));
    memcpy(edges.items, rings.items, rings.count * sizeof *rings.items);
    for (uint32_t from = 0; from < count; from++)
        for (uint32_t to = 0; to < count; to++)
            if (from != to) edges.items[edges.count++] = (fold_edge){ members[from], members[to], from, to };
    return edges;
}

static fold_edges data_edges(arena *a, const fold_question *q, uint32_t tensor, uint32_t stage)
{
    rank_id *members = arena_array(a, rank_id, q->sizes.data);
    for (uint32_t d = 0; d < q->sizes.data; d++)
        members[d] = rank_of(q, tensor, d, stage);
    const fold_edges rings = ring_edges(a, q, members, q->sizes.data);
    return q->data_to_all ? all_edges(a, q, members, rings) : rings;
}

static fold_edges pipeline_edges(arena *a, const fold_question *q, uint32_t tensor, uint32_t data)
{
    rank_id *members = arena_array(a, rank_id, q->sizes.pipeline);
    for (uint32_t s = 0; s < q->sizes.pipeline; s++)
        members[s] = rank_of(q, tensor, data, s);
    return ring_edges(a, q, members, q->sizes.pipeline);
}

// Both ways.
static fold_edges stage_edges(arena *a, const fold_question *q, uint32_t tensor, uint32_t stage,
                              uint32_t next)
{
    fold_edges edges = { .count = 2 * q->sizes.data };
    edges.items = arena_array(a, fold_edge, edges.count);
    for (uint32_t d = 0; d < q->sizes.data; d++) {
        const rank_id here = rank_of(q, tensor, d, stage), there = rank_of(q, tensor, d, next);
        edges.items[2 * d] = (fold_edge){ here, there, d, d };
        edges.items[2 * d + 1] = (fold_edge){ there, here, d, d };
    }
    return edges;
}

static fold_edges piece_edges(arena *a, const fold_question *q, uint32_t tensor, fold_piece piece)
{
    switch (piece.kind) {
    case PIECE_DATA: return data_edges(a, q, tensor, piece.first);
    case PIECE_STAGES: return stage_edges(a, q, tensor, piece.first, piece.second);
    case PIECE_PIPELINES: return pipeline_edges(a, q, tensor, piece.first);
    }
    SIM_ASSERT(false);
    return (fold_edges){ 0 };
}

// Is told the edges of each column; false: it has seen enough.
typedef bool piece_visit(void *owner, const fold_edges *columns);

static bool visit_piece(arena *a, const fold_question *q, fold_piece piece, piece_visit *visit, void *owner)
{
    const arena_mark_t mark = arena_mark(a);
    fold_edges *columns = arena_array(a, fold_edges, q->sizes.tensor);
    for (uint32_t c = 0; c < q->sizes.tensor; c++)
        columns[c] = piece_edges(a, q, c, piece);
    const bool more = visit(owner, columns);
    arena_release(a, mark);
    return more;
}

static bool visit_pieces(arena *a, const fold_question *q, piece_visit *visit, void *owner)
{
    const uint32_t stages = q->sizes.pipeline;
    for (uint32_t s = 0; s < stages && q->sizes.data > 1; s++)
        if (!visit_piece(a, q, (fold_piece){ .kind = PIECE_DATA, .first = s }, visit, owner)) return false;
    if (stages == 1) return true;
    for (uint32_t s = 0; s + 1 < stages; s++)
        if (!visit_piece(a, q, (fold_piece){ PIECE_STAGES, s, s + 1 }, visit, owner)) return false;
    for (uint32_t d = 0; d < q->sizes.data; d++)
        if (!visit_piece(a, q, (fold_piece){ .kind = PIECE_PIPELINES, .first = d }, visit, owner))
            return false;
    return visit_piece(a, q, (fold_piece){ PIECE_STAGES, stages - 1, 0 }, visit,
                       owner); // ends of tied tables, chunks
}

// ---- paths

// How many queue pairs of an edge may take paths of their own: without a hash they differ by their NICs alone.
static uint32_t pairs_of(const fold_question *q, const fold_edge *edge)
{
    const fabric_policy *policy = topology_policy(q->fabric);
    uint32_t from = 1, to = 1;
    nic_id first;
    if (policy->routing == ROUTING_ECMP) return policy->queue_pairs;
    topology_nics_of_gpu(q->fabric, q->gpu_of_rank[edge->from], &first, &from);
    topology_nics_of_gpu(q->fabric, q->gpu_of_rank[edge->to], &first, &to);
    return from * to < policy->queue_pairs ? from * to : policy->queue_pairs;
}

static void find_path(const fold_question *q, const fold_edge *edge, uint32_t pair, fold_path *path)
{
    path->count = route_find(q->fabric, NULL, vertex_of(q, edge->from), vertex_of(q, edge->to), pair,
                             path->links);
    SIM_ASSERT(path->count != ROUTE_NONE); // topology_check() refuses fabrics that do not join all GPUs
}

// ---- columns

typedef struct fold_proof {
    const fold_question *question;
    uint32_t *column1; // by link or bundle: the column that uses it, counted from 1; 0: none
    uint32_t *name;    // its place in the order of first appearance in that column
    uint32_t *named;   // by column: how many have a name
    int32_t *surplus;  // by name: uses in the first column less those in another
    fold_obstacle obstacle;
} fold_proof;

static bool stop(fold_proof *p, fold_obstacle_kind kind, rank_id rank, uint32_t link)
{
    p->obstacle = (fold_obstacle){ .kind = kind, .rank = rank, .link = link };
    return false;
}

// The links of a path become the column's; false: one is another's.
static bool claim(fold_proof *p, uint32_t column, const fold_path *path, rank_id rank)
{
    for (uint32_t i = 0; i < path->count; i++) {
        const uint32_t l = path->links[i];
        if (p->column1[l] == 0) {
            p->column1[l] = column + 1;
            p->name[l] = p->named[column]++;
        }
        if (p->column1[l] != column + 1) return stop(p, FOLD_COLUMNS_SHARE_LINK, rank, l);
    }
    return true;
}

static bool links_alike(const topology *t, uint32_t a, uint32_t b)
{
    const bool bundle = a >= topology_link_count(t);
    if (bundle != (b >= topology_link_count(t)) || topology_rate_mBps(t, a) != topology_rate_mBps(t, b))
        return false;
    const topology_link *x = topology_link_at(t, bundle ? topology_bundle_members(t, a).first : a),
                        *y = topology_link_at(t, bundle ? topology_bundle_members(t, b).first : b);
    return x->class == y->class && x->delay_ps == y->delay_ps;
}

static bool paths_alike(const fold_proof *p, const fold_path *a, const fold_path *b, uint32_t *link)
{
    *link = b->count > 0 ? b->links[0] : NO_ID;
    if (a->count != b->count) return false;
    for (uint32_t i = 0; i < a->count; i++) {
        *link = b->links[i];
        if (p->name[a->links[i]] != p->name[*link] || !links_alike(p->question->fabric, a->links[i], *link))
            return false;
    }
    return true;
}

// One edge of all columns, and all its queue pairs.
static bool compare_edge(fold_proof *p, const fold_edges *columns, uint32_t e)
{
    const fold_question *q = p->question;
    const fold_edge *first = &columns[0].items[e];
    const uint32_t pairs = pairs_of(q, first);
    for (uint32_t pair = 0; pair < pairs; pair++) {
        fold_path path, other;
        uint32_t link;
        find_path(q, first, pair, &path);
        if (!claim(p, 0, &path, first->from)) return false;
        for (uint32_t c = 1; c < q->sizes.tensor; c++) {
            const fold_edge *edge = &columns[c].items[e];
            find_path(q, edge, pair, &other);
            if (!claim(p, c, &other, edge->from)) return false;
            if (!paths_alike(p, &path, &other, &link)) return stop(p, FOLD_COLUMNS_DIFFER, edge->from, link);
        }
    }
    return true;
}

static bool compare_columns(void *owner, const fold_edges *columns)
{
    fold_proof *p = owner;
    const fold_question *q = p->question;
    for (uint32_t e = 0; e < columns[0].count; e++) {
        const fold_edge *first = &columns[0].items[e];
        for (uint32_t c = 1; c < q->sizes.tensor; c++) {
            const fold_edge *edge = &columns[c].items[e];
            // Rings that visit their members in another order, or other numbers of rings or NICs.
            if (columns[c].count != columns[0].count || edge->from_member != first->from_member ||
                edge->to_member != first->to_member || pairs_of(q, edge) != pairs_of(q, first))
                return stop(p, FOLD_COLUMNS_DIFFER, columns[c].items[0].from, NO_ID);
        }
        if (!compare_edge(p, columns, e)) return false;
    }
    return true;
}

// ---- groups

static bool is_healthy(const fold_question *q, rank_id rank)
{
    return q->health.clock_ratio[rank] == 1.0 && q->health.memory_ratio[rank] == 1.0;
}

static bool check_group(fold_proof *p, uint32_t data, uint32_t pipeline)
{
    const fold_question *q = p->question;
    const rank_id first = rank_of(q, 0, data, pipeline);
    const uint32_t domain = topology_domain_of(q->fabric, vertex_of(q, first));
    for (uint32_t c = 1; c < q->sizes.tensor; c++) {
        const rank_id rank = rank_of(q, c, data, pipeline);
        if (topology_domain_of(q->fabric, vertex_of(q, rank)) != domain)
            return stop(p, FOLD_GROUP_LEAVES_NODE, rank, NO_ID);
        if (q->health.clock_ratio[rank] != q->health.clock_ratio[first] ||
            q->health.memory_ratio[rank] != q->health.memory_ratio[first])
            return stop(p, FOLD_GROUP_DIFFERS_IN_HEALTH, is_healthy(q, rank) ? first : rank, NO_ID);
    }
    return true;
}

static bool check_groups(fold_proof *p)
{
    const parallel_sizes *sizes = &p->question->sizes;
    for (uint32_t s = 0; s < sizes->pipeline; s++)
        for (uint32_t d = 0; d < sizes->data; d++)
            if (!check_group(p, d, s)) return false;
    return true;
}

// ---- tensor-parallel rings on links of columns

static fold_edges tensor_edges(arena *a, const fold_question *q, uint32_t data, uint32_t pipeline)
{
    rank_id *members = arena_array(a, rank_id, q->sizes.tensor);
    for (uint32_t c = 0; c < q->sizes.tensor; c++)
        members[c] = rank_of(q, c, data, pipeline);
    return ring_edges(a, q, members, q->sizes.tensor);
}

// Each link of a path of the first column is crossed as often as that of its name in any other column.
static bool loads_evenly(arena *a, fold_proof *p, const fold_edges *edges)
{
    uint32_t *links = arena_array(a, uint32_t, (size_t)edges->count * TOPOLOGY_PATH_MAX), count = 0;
    for (uint32_t e = 0; e < edges->count; e++) {
        fold_path path;
        find_path(p->question, &edges->items[e], 0, &path); // inside a domain all queue pairs take one path
        for (uint32_t i = 0; i < path.count; i++)
            if (p->column1[path.links[i]] != 0) links[count++] = path.links[i];
    }
    for (uint32_t c = 1; c < p->question->sizes.tensor; c++) {
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t l = links[i];
            if (p->column1[l] == 1) p->surplus[p->name[l]]++;
            if (p->column1[l] == c + 1) p->surplus[p->name[l]]--;
        }
        for (uint32_t i = 0; i < count; i++)
            if (p->surplus[p->name[links[i]]] != 0) return false; // else all are 0 again
    }
    return true;
}

static bool check_loads(arena *a, fold_proof *p)
{
    const fold_question *q = p->question;
    p->surplus = arena_array(a, int32_t, p->named[0]);
    for (uint32_t s = 0; s < q->sizes.pipeline; s++)
        for (uint32_t d = 0; d < q->sizes.data; d++) {
            const arena_mark_t mark = arena_mark(a);
            const fold_edges edges = tensor_edges(a, q, d, s);
            if (!loads_evenly(a, p, &edges))
                return stop(p, FOLD_TENSOR_LOADS_UNEVENLY, rank_of(q, 0, d, s), NO_ID);
            arena_release(a, mark);
        }
    return true;
}

// ---- links of tensor-parallel groups

typedef struct fold_groups {
    const fold_question *question;
    uint32_t *group1; // by link or bundle: the group that uses it, counted from 1; 0: none
} fold_groups;

static bool claim_for_group(fold_groups *g, uint32_t group, uint32_t link)
{
    if (g->group1[link] == 0) g->group1[link] = group + 1;
    return g->group1[link] == group + 1;
}

// Between a GPU and its NVSwitch, both ways.
static bool claim_switch(fold_groups *g, uint32_t group, vertex_id gpu)
{
    const topology *t = g->question->fabric;
    uint32_t count;
    const link_id *links = topology_outgoing(t, gpu, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (topology_vertex_at(t, topology_link_at(t, links[i])->to)->kind != VERTEX_NVSWITCH) continue;
        if (!claim_for_group(g, group, links[i]) || !claim_for_group(g, group, topology_link_back(links[i])))
            return false;
    }
    return true;
}

static bool claim_edges(fold_groups *g, uint32_t group, const fold_edges *edges)
{
    for (uint32_t e = 0; e < edges->count; e++)
        for (uint32_t pair = pairs_of(g->question, &edges->items[e]); pair-- > 0;) {
            fold_path path;
            find_path(g->question, &edges->items[e], pair, &path);
            for (uint32_t i = 0; i < path.count; i++)
                if (!claim_for_group(g, group, path.links[i])) return false;
        }
    return true;
}

static bool claim_groups(arena *a, fold_groups *g)
{
    const fold_question *q = g->question;
    const uint32_t data = q->sizes.data, groups = data * q->sizes.pipeline;
    for (uint32_t group = 0; group < groups; group++) {
        const arena_mark_t mark = arena_mark(a);
        for (uint32_t c = 0; c < q->sizes.tensor; c++)
            if (!claim_switch(g, group, vertex_of(q, rank_of(q, c, group % data, group / data))))
                return false;
        const fold_edges edges = tensor_edges(a, q, group % data, group / data);
        if (!claim_edges(g, group, &edges)) return false;
        arena_release(a, mark);
    }
    return true;
}

static bool avoid_groups(void *owner, const fold_edges *columns)
{
    const fold_groups *g = owner;
    for (uint32_t c = 0; c < g->question->sizes.tensor; c++)
        for (uint32_t e = 0; e < columns[c].count; e++)
            for (uint32_t pair = pairs_of(g->question, &columns[c].items[e]); pair-- > 0;) {
                fold_path path;
                find_path(g->question, &columns[c].items[e], pair, &path);
                for (uint32_t i = 0; i < path.count; i++)
                    if (g->group1[path.links[i]] != 0) return false;
            }
    return true;
}

bool fold_tensor_is_alone(arena *scratch, const fold_question *q)
{
    if (q->sizes.tensor == 1) return true;
    const arena_mark_t mark = arena_mark(scratch);
    const uint32_t links = topology_link_count(q->fabric) + topology_bundle_count(q->fabric);
    fold_groups g = { .question = q, .group1 = arena_array(scratch, uint32_t, links) };
    const bool alone = claim_groups(scratch, &g) && visit_pieces(scratch, q, avoid_groups, &g);
    arena_release(scratch, mark);
    return alone;
}

static uint64_t common_multiple(uint64_t a, uint64_t b)
{
    uint64_t x = a, y = b;
    while (y > 0) {
        const uint64_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

// A chunk for each rank of each ring; groups have few numbers of rings.
uint64_t fold_tensor_multiple(arena *scratch, const fold_question *q)
{
    uint64_t multiple = 1;
    if (fold_tensor_is_alone(scratch, q)) return multiple;
    for (uint32_t s = 0; s < q->sizes.pipeline; s++)
        for (uint32_t d = 0; d < q->sizes.data; d++) {
            const arena_mark_t mark = arena_mark(scratch);
            const fold_edges edges = tensor_edges(scratch, q, d, s); // ranks x rings
            multiple = common_multiple(multiple, edges.count);
            arena_release(scratch, mark);
        }
    return multiple;
}

// ---- the proof

static bool check_network(fold_proof *p)
{
    if (p->question->counts_together) return stop(p, FOLD_TRANSFERS_COUNTED_TOGETHER, NO_ID, NO_ID);
    return !topology_loses(p->question->fabric) || stop(p, FOLD_LINK_LOSES, NO_ID, NO_ID);
}

static bool check_messages(arena *scratch, fold_proof *p)
{
    return !p->question->messages || fold_tensor_is_alone(scratch, p->question) ||
           stop(p, FOLD_TENSOR_MESSAGES_SHARE_LINKS, NO_ID, NO_ID);
}

bool fold_is_exact(arena *scratch, const fold_question *q, fold_obstacle *obstacle)
{
    const arena_mark_t mark = arena_mark(scratch);
    const uint32_t links = topology_link_count(q->fabric) + topology_bundle_count(q->fabric);
    fold_proof p = { .question = q, .obstacle = { .rank = NO_ID, .link = NO_ID } };
    bool exact = true;
    if (q->sizes.tensor > 1) {
        p.column1 = arena_array(scratch, uint32_t, links);
        p.name = arena_array(scratch, uint32_t, links);
        p.named = arena_array(scratch, uint32_t, q->sizes.tensor);
        exact = check_network(&p) && check_groups(&p) && visit_pieces(scratch, q, compare_columns, &p) &&
                check_loads(scratch, &p) && check_messages(scratch, &p);
    }
    if (obstacle) *obstacle = p.obstacle;
    arena_release(scratch, mark);
    return exact;
}
