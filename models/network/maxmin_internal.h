// SPDX-License-Identifier: GPL-3.0-or-later
// models/network/maxmin_internal.h: the records of maxmin.c, and what its files share. A link is one cache line with the
// list of its flows while they are few; the record of a flow is one line up to 4 hops, two up to 8 with the path in the
// first. A visit to either thus costs one miss, and most of a resolve on a large network is such visits. A flow with a
// longer path goes on in further records, its parts.
#pragma once
#include "models/network/maxmin.h"
#include "models/network/maxmin_queue.h"

// An incidence is record << hop_bits | hop: the hop-th link of the path in that record.
enum { MAXMIN_FEW = 4, MAXMIN_LINE_BYTES = 64, MAXMIN_SIZE_CLASSES = 32 };
#define MAXMIN_FLOW_BIT 0x80000000u // in an item of the queue: a flow, else a link
#define MAXMIN_WATCH UINT32_MAX     // an item of the queue: a loose link may come to close above this level
#define MAXMIN_EPOCH_END (UINT32_C(1) << 30)
#define MAXMIN_END UINT32_MAX // of a chain of records

// What the present epoch has made of a link: changed by a departure; by an arrival or a new capacity, so that its least
// share bounds where the changes begin; reconstructed; watched from afar, for it has room (maxmin_resolve.c).
enum { MAXMIN_SEED = 0, MAXMIN_BOUNDED = 1, MAXMIN_DIRTY = 2, MAXMIN_LOOSE = 3 };

typedef struct maxmin_link {
    uint64_t capacity;
    uint64_t closing; // the level at which it closes, MAXMIN_NONE: never
    uint64_t weight;  // of its flows: sum of factor times weight
    // Capacity less the load of its flows at their levels; while it is dirty, of the frozen ones; while it is loose, of all
    // but those that rise above their old level. Below zero (as a signed number) only in a batch that lowers the capacity.
    uint64_t remaining;
    uint64_t
        open; // while it is dirty: the weight of its flows that are not frozen; loose: that rise above their old level
    uint32_t mark;  // epoch << 2 and MAXMIN_SEED, _BOUNDED, _DIRTY or _LOOSE; an older epoch: clean
    uint32_t count; // of incidences
    union {
        uint32_t few[MAXMIN_FEW]; // the incidences, up to so many
        struct {
            uint32_t base, size_class; // more: pool[base ...], room for 1 << size_class
        } many;
    } list;
} maxmin_link;
_Static_assert(sizeof(maxmin_link) == MAXMIN_LINE_BYTES, "a link is one cache line");

typedef struct maxmin_flow {
    uint64_t level;     // MAXMIN_NONE: not resolved yet
    uint64_t cap_level; // MAXMIN_NONE: no cap
    uint32_t weight;    // 0: the record is free, or a part
    uint32_t mark;      // epoch << 1: touched in this resolve; | 1: and frozen
    uint32_t active;    // its place in active[]; of a part: its flow; of a free record: the next free one
    uint8_t hops;       // in this record
    bool has_factors, is_part;
    bool has_more;   // the last place of the path holds the next part
    uint32_t path[]; // path_usual links, then path_usual places in the lists of these links
} maxmin_flow;
_Static_assert(sizeof(maxmin_flow) == MAXMIN_LINE_BYTES / 2, "the path begins in the middle of a line");

typedef struct maxmin_touched {
    uint64_t level; // before this batch; MAXMIN_NONE: it arrived in it
    uint32_t flow;
} maxmin_touched;

typedef struct maxmin_share { // of a link in a solve from scratch; open is 0 between solves
    uint64_t remaining, open;
} maxmin_share;

struct maxmin {
    arena *arena;
    maxmin_options options;
    uint32_t hop_bits;
    size_t flow_bytes; // of a record
    maxmin_link *links;
    unsigned char *flows;
    uint32_t *factors; // by incidence; NULL until a factor is not 1
    uint32_t link_count, link_capacity;
    uint32_t flow_count;               // active
    uint32_t flow_high, flow_capacity; // records ever used, room
    uint32_t free_flow;                // head of the free records
    uint64_t incidences;               // of active flows

    uint32_t *pool; // lists of more than MAXMIN_FEW incidences
    uint32_t pool_used, pool_capacity;
    uint32_t free_lists[MAXMIN_SIZE_CLASSES]; // heads, linked by their first word

    // The batch. Scratch is marked by epoch, never cleared.
    uint32_t epoch;
    uint64_t
        prefix; // the least level at which a departed flow froze, or a link whose capacity changes closed
    uint32_t *seeds;   // links on which something changed, each once
    uint32_t *arrived; // may name a flow twice, or one that has departed again
    uint32_t seed_count, arrived_count, arrived_capacity;
    maxmin_change *changes;
    uint32_t change_count;

    // The replay.
    level_queue queue;
    uint32_t *active;     // ids of active flows
    uint32_t *closing;    // links that close in this round
    uint32_t *candidates; // flows that may freeze in this round
    uint32_t *moved;      // flows that leave their old trajectory in this round
    uint32_t moved_count;
    uint32_t *loose; // links that became loose; some are dirty by now
    uint32_t loose_count;
    uint64_t watch; // no loose link closes up to this level; MAXMIN_NONE: on no level
    maxmin_touched *touched;
    uint32_t touched_count, rising;       // rising: touched and not frozen
    uint32_t dense_failures, dense_skips; // replays given up in a row; batches until the next try
    uint64_t dirtied, dirty_limit;        // incidences of dirty links
    uint64_t visited;                     // incidences, after the links were made dirty

    // The solve from scratch.
    uint64_t *full_levels;   // by flow; MAXMIN_NONE: not frozen
    maxmin_share *shares;    // by link
    uint64_t *full_closings; // by link
    uint32_t *seen;          // links with flows
    uint32_t seen_count;

    maxmin_counters counters;
};

static inline maxmin_flow *maxmin_flow_at(const maxmin *m, uint32_t flow)
{
    return (maxmin_flow *)(void *)(m->flows + flow * m->flow_bytes);
}

static inline uint32_t *maxmin_places(const maxmin *m, maxmin_flow *flow)
{
    return flow->path + m->options.path_usual;
}

// The parts of a flow, beginning with itself:
//     for (uint32_t part = id; part != MAXMIN_END; part = maxmin_next_part(m, part))
static inline uint32_t maxmin_next_part(const maxmin *m, uint32_t part)
{
    const maxmin_flow *record = maxmin_flow_at(m, part);
    return record->has_more ? record->path[m->options.path_usual - 1] : MAXMIN_END;
}

static inline uint32_t maxmin_flow_of(const maxmin *m, uint32_t incidence)
{
    const maxmin_flow *record = maxmin_flow_at(m, incidence >> m->hop_bits);
    return record->is_part ? record->active : incidence >> m->hop_bits;
}

static inline const uint32_t *maxmin_list(const maxmin *m, const maxmin_link *link)
{
    return link->count <= MAXMIN_FEW ? link->list.few : m->pool + link->list.many.base;
}

// What one unit of level of the flow takes from the link of its hop.
static inline uint64_t maxmin_load_per_level(const maxmin *m, const maxmin_flow *flow, uint32_t incidence)
{
    return flow->has_factors ? (uint64_t)flow->weight * m->factors[incidence] : flow->weight;
}

static inline uint32_t maxmin_dirty_mark(const maxmin *m)
{
    return m->epoch << 2 | MAXMIN_DIRTY;
}

static inline uint32_t maxmin_loose_mark(const maxmin *m)
{
    return m->epoch << 2 | MAXMIN_LOOSE;
}

static inline uint64_t maxmin_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

// maxmin_check.c: maxmin_audit() without a look at the links that carry no flow, which are many. Counters stay as they are.
maxmin_audit_report maxmin_judge(maxmin *m);

// maxmin_resolve.c: false when the dense regime made it give up; levels are then as before the batch.
bool maxmin_replay(maxmin *m);

// maxmin_full.c: solves the listed flows from scratch, as if no other flow existed on their links (so the list must hold
// every flow of each link that it crosses: all flows, or a connected component). The result stands in full_levels and, for
// the links seen[0 .. seen_count), full_closings; nothing else changes but the counters.
void maxmin_fill(maxmin *m, const uint32_t *flows, uint32_t count);
// Solves all flows and makes the result theirs.
void maxmin_solve_all(maxmin *m);
