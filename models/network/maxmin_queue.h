// SPDX-License-Identifier: GPL-3.0-or-later
// models/network/maxmin_queue.h: the events of a water level that only rises: links that may close and flows that froze
// there before. A radix heap (Ahuja, Mehlhorn, Orlin, Tarjan: "Faster algorithms for the shortest path problem", JACM 37(2),
// 1990): an entry stands in the bin of the highest bit in which its level differs from the present one, so that all
// entries of the least level come out together as one list, and no comparison is mispredicted. Entries are nodes of one
// array; nothing is allocated while it works.
#pragma once
#include "sim/check.h"

enum { LEVEL_QUEUE_BINS = 64 };
#define LEVEL_QUEUE_END UINT32_MAX

typedef struct level_entry {
    uint64_t level;
    uint32_t item; // the caller's
    uint32_t next;
} level_entry;

typedef struct level_queue {
    level_entry *entries;
    uint32_t count, capacity;
    uint64_t level;    // the present one
    uint64_t occupied; // a bit per bin
    uint64_t pushes, moves;
    uint32_t heads[LEVEL_QUEUE_BINS];
} level_queue;

static inline void level_queue_clear(level_queue *q)
{
    q->count = 0;
    q->level = 0;
    q->occupied = 0;
}

// Links an entry that stands in no bin into its bin. Levels are below 2^63.
static inline void level_queue_put(level_queue *q, uint32_t entry, uint64_t level)
{
    uint64_t differs = level ^ q->level;
    uint32_t bin = differs ? 64u - (uint32_t)__builtin_clzll(differs) : 0u;
    uint64_t bit = UINT64_C(1) << bin;
    q->entries[entry].level = level;
    q->entries[entry].next = q->occupied & bit ? q->heads[bin] : LEVEL_QUEUE_END;
    q->heads[bin] = entry;
    q->occupied |= bit;
}

static inline void level_queue_push(level_queue *q, uint64_t level, uint32_t item)
{
    SIM_ASSERT(q->level <= level && level <= INT64_MAX && q->count < q->capacity);
    q->entries[q->count].item = item;
    level_queue_put(q, q->count++, level);
    q->pushes++;
}

// Takes all entries of the least level as a list linked by next; LEVEL_QUEUE_END when the queue is empty.
static inline uint32_t level_queue_take(level_queue *q)
{
    if (!q->occupied) return LEVEL_QUEUE_END;
    uint32_t bin = (uint32_t)__builtin_ctzll(q->occupied);
    uint32_t head = q->heads[bin];
    q->occupied &= q->occupied - 1;
    if (bin == 0) return head;
    uint64_t least = q->entries[head].level;
    for (uint32_t e = q->entries[head].next; e != LEVEL_QUEUE_END; e = q->entries[e].next)
        least = q->entries[e].level < least ? q->entries[e].level : least;
    q->level = least;
    uint32_t taken = LEVEL_QUEUE_END;
    for (uint32_t e = head, next; e != LEVEL_QUEUE_END; e = next) {
        next = q->entries[e].next;
        if (q->entries[e].level == least) {
            q->entries[e].next = taken;
            taken = e;
        } else {
            level_queue_put(q, e, q->entries[e].level);
            q->moves++;
        }
    }
    return taken;
}
