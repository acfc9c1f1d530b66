// SPDX-License-Identifier: GPL-3.0-or-later
// sim/queue.h: the pending-event set. Entries are small integers (slots of the engine's event pool); the queue knows a
// time per entry and nothing else. Three implementations behind one interface give the same sequence:
//   bucket  multi-level buckets, 11 levels x 64 slots (sim/bucket.c): push, cancel and move are O(1)
//   radix   monotone radix heap (sim/radix.c), for pending sets of 1e5 and more: cancel and move leave stale entries
//   heap    binary heap on (time, order of push) (sim/heap.c): the oracle of the tests, never used in a run
// Order: by time; at equal times first in, first out by push, where a moved entry counts as pushed anew.
// Monotone: nothing may be pushed or moved before the time of the last pop (asserted).
// Memory grows by doubling with the largest entry and the pending count, so it is quiet once a run has warmed up. When
// memory ends the process ends like an arena without an escape: a message and exit code 2.
#pragma once
#include "sim/units.h"
#include <stddef.h>

#define QUEUE_NONE UINT32_MAX

typedef enum queue_kind { QUEUE_BUCKET, QUEUE_RADIX, QUEUE_HEAP } queue_kind;
extern const char *const queue_kind_words[]; // "bucket", "radix", "heap"; ends with NULL
typedef struct queue queue;

queue *queue_create(queue_kind kind); // owns its memory: queues grow and shrink out of step with arenas
void queue_destroy(queue *q);

void queue_push(queue *q, uint32_t entry, sim_time time); // entry < QUEUE_NONE, not pending; time >= 0
void queue_cancel(queue *q, uint32_t entry);              // entry must be pending
void queue_move(queue *q, uint32_t entry, sim_time time); // entry must be pending; goes behind its equals
// The first entry if its time is <= limit; removes it. QUEUE_NONE: there is none. A refused pop changes nothing, so
// pushes between the last pop and the next entry stay allowed. Refusing is O(1) where limit is the time of the last
// pop, which is how the engine finds the end of an instant, and where an earlier refusal already saw so far.
uint32_t queue_pop(queue *q, sim_time limit, sim_time *time);
uint32_t queue_count(const queue *q);
// Approves of the whole structure (tests and checked builds); asserts.
void queue_verify(const queue *q);

// For the implementations: items grown to hold at least count elements of size bytes, by doubling *capacity; the new
// tail is not initialised. Never NULL.
void *queue_grow_items(void *items, uint32_t *capacity, uint64_t count, size_t size);
