// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/training/placement.h"
#include "sim/check.h"

const char *const placement_words[] = { "packed", "round-robin", NULL };

const bind_row placement_row_binds[] = {
    BIND_U32(placement_row, rank, "rank", BIND_REQUIRED, BIND_NOTE("from 0 on, each once")),
    BIND_U32(placement_row, node, "node", BIND_REQUIRED, BIND_NOTE("of the cluster, from 0 on")),
    BIND_U32(placement_row, gpu, "gpu", BIND_REQUIRED, BIND_NOTE("of the node, from 0 on")),
    BIND_END,
};

// ---- lists

typedef struct list_check {
    const placement_def *def;
    const bind_reader *reader;
    sim_error *error;
    uint32_t *row_of_rank; // NO_ID: none
    rank_id *rank_of_gpu;  // likewise
} list_check;

#define REFUSE(field_, ...)                                                                                  \
    sim_fail(c->error, SIM_EXIT_INPUT, c->reader ? bind_place_of(c->reader, &(field_)) : NULL, __VA_ARGS__)

static uint32_t *array_of_none(arena *a, uint32_t count)
{
    uint32_t *items = arena_array(a, uint32_t, count);
    for (uint32_t i = 0; i < count; i++)
        items[i] = NO_ID;
    return items;
}

// The least index whose node is not below node; node_count: none.
static uint32_t find_node(const placement_def *d, node_id node)
{
    uint32_t low = 0, high = d->node_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (d->nodes[middle] < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static gpu_id gpu_of_row(const placement_def *d, const placement_row *row)
{
    return find_node(d, row->node) * d->gpus_per_node + row->gpu;
}

static bool check_node(const list_check *c, const placement_row *row)
{
    const placement_def *d = c->def;
    const uint32_t index = find_node(d, row->node);
    if (index < d->node_count && d->nodes[index] == row->node) return true;
    const uint32_t nearest = index < d->node_count ? index : d->node_count - 1;
    REFUSE(row->node, "the job has no GPUs on node %u", row->node);
    return sim_hint(c->error, "the nearest that has is node %u", d->nodes[nearest]);
}

static bool check_rank(const list_check *c, const placement_row *row)
{
    const placement_def *d = c->def;
    if (row->rank >= d->ranks) {
        REFUSE(row->rank, "rank %u is not there: the job has ranks 0 to %u", row->rank, d->ranks - 1);
        return sim_hint(c->error, "the nearest is rank %u", d->ranks - 1);
    }
    if (c->row_of_rank[row->rank] == NO_ID) return true;
    const placement_row *older = &d->rows->items[c->row_of_rank[row->rank]];
    REFUSE(row->rank, "rank %u is on GPU %u of node %u already", row->rank, older->gpu, older->node);
    for (uint32_t i = 0; i < d->rows->count; i++)
        if (d->rows->items[i].rank < d->ranks) c->row_of_rank[d->rows->items[i].rank] = i;
    for (rank_id missing = 0; missing < d->ranks; missing++)
        if (c->row_of_rank[missing] == NO_ID) return sim_hint(c->error, "no row has rank %u", missing);
    return sim_hint(c->error, "leave one of the two rows out");
}

static bool check_ranges(const list_check *c)
{
    const placement_def *d = c->def;
    for (uint32_t i = 0; i < d->rows->count; i++) {
        const placement_row *row = &d->rows->items[i];
        if (!check_rank(c, row) || !check_node(c, row)) return false;
        if (row->gpu >= d->gpus_per_node) {
            REFUSE(row->gpu, "GPU %u is not there: node %u has GPUs 0 to %u", row->gpu, row->node,
                   d->gpus_per_node - 1);
            return sim_hint(c->error, "the nearest is GPU %u", d->gpus_per_node - 1);
        }
        c->row_of_rank[row->rank] = i;
    }
    return true;
}

// There is always one when a rank needs it: no rank stands twice, and the job takes no more GPUs than there are.
static bool hint_free(const list_check *c, gpu_id wanted)
{
    const placement_def *d = c->def;
    const uint32_t all = d->node_count * d->gpus_per_node;
    for (uint32_t distance = 0; distance < all; distance++) {
        const gpu_id below = wanted - distance, above = wanted + distance; // below wraps around
        const gpu_id nearest = below < all && c->rank_of_gpu[below] == NO_ID ? below : above;
        if (nearest < all && c->rank_of_gpu[nearest] == NO_ID)
            return sim_hint(c->error, "GPU %u of node %u is free", nearest % d->gpus_per_node,
                            d->nodes[nearest / d->gpus_per_node]);
    }
    SIM_ASSERT(false && "no GPU is free");
    return false;
}

static bool check_shared(const list_check *c)
{
    const placement_def *d = c->def;
    const placement_row *shared = NULL;
    rank_id other = NO_ID;
    for (uint32_t i = 0; i < d->rows->count; i++) {
        const placement_row *row = &d->rows->items[i];
        rank_id *holder = &c->rank_of_gpu[gpu_of_row(d, row)];
        if (*holder == NO_ID) {
            *holder = row->rank;
        } else if (!shared) {
            shared = row;
            other = *holder;
        }
    }
    if (!shared) return true;
    REFUSE(shared->gpu, "ranks %u and %u are both on GPU %u of node %u", other, shared->rank, shared->gpu,
           shared->node);
    return hint_free(c, gpu_of_row(d, shared));
}

static bool check_gaps(const list_check *c)
{
    const placement_def *d = c->def;
    for (rank_id rank = 0; rank < d->ranks; rank++) {
        if (c->row_of_rank[rank] != NO_ID) continue;
        REFUSE(*d->rows, "no row has rank %u, and the job has ranks 0 to %u", rank, d->ranks - 1);
        return hint_free(c, rank);
    }
    return true;
}

bool placement_check(const placement_def *def, arena *scratch, const bind_reader *r, sim_error *error)
{
    if (def->kind != PLACEMENT_LIST) return true;
    SIM_ASSERT((uint64_t)def->node_count * def->gpus_per_node >= def->ranks);
    const arena_mark_t mark = arena_mark(scratch);
    const list_check c = {
        .def = def,
        .reader = r,
        .error = error,
        .row_of_rank = array_of_none(scratch, def->ranks),
        .rank_of_gpu = array_of_none(scratch, def->node_count * def->gpus_per_node),
    };
    const bool good = check_ranges(&c) && check_shared(&c) && check_gaps(&c);
    arena_release(scratch, mark);
    return good;
}

// ---- what follows

gpu_id *placement_build(arena *a, const placement_def *def)
{
    gpu_id *gpus = arena_array(a, gpu_id, def->ranks);
    const uint32_t nodes = (def->ranks + def->gpus_per_node - 1) / def->gpus_per_node;
    switch (def->kind) {
    case PLACEMENT_PACKED:
        for (rank_id r = 0; r < def->ranks; r++)
            gpus[r] = r;
        break;
    case PLACEMENT_ROUND_ROBIN:
        for (rank_id r = 0; r < def->ranks; r++)
            gpus[r] = r % nodes * def->gpus_per_node + r / nodes;
        break;
    case PLACEMENT_LIST:
        for (uint32_t i = 0; i < def->rows->count; i++)
            gpus[def->rows->items[i].rank] = gpu_of_row(def, &def->rows->items[i]);
        break;
    }
    return gpus;
}

bool placement_keeps_tensor_groups(const gpu_id *gpu_of_rank, parallel_sizes sizes, uint32_t gpus_together,
                                   placement_split *split)
{
    for (rank_id first = 0; first < parallel_ranks(sizes); first++) {
        parallel_place place = parallel_place_of(sizes, first);
        if (place.tensor != 0) continue;
        const gpu_id gpu = gpu_of_rank[first];
        for (place.tensor = 1; place.tensor < sizes.tensor; place.tensor++) {
            const gpu_id other = gpu_of_rank[parallel_rank_at(sizes, place)];
            if (other / gpus_together == gpu / gpus_together) continue;
            *split = (placement_split){ .rank = first, .gpu = gpu, .other_gpu = other };
            return false;
        }
    }
    return true;
}
