// SPDX-License-Identifier: GPL-3.0-or-later
// sim/heap.h: a binary heap on (time, order of push) behind sim/queue.h, with the position of each entry for cancel and
// move. It is the oracle of the tests: plain enough to be believed, slower than the queues it judges.
#pragma once
#include <stdint.h>

typedef struct heap_item {
    uint64_t time, order; // order: number of the push or move
    uint32_t entry;
} heap_item;

typedef struct heap {
    uint64_t last; // time of the last pop
    uint64_t order;
    heap_item *items;
    uint32_t count, item_capacity;
    uint32_t *positions; // by entry; QUEUE_NONE: not pending
    uint32_t entry_capacity;
} heap;

void heap_open(heap *h);
void heap_close(heap *h);
void heap_push(heap *h, uint32_t entry, uint64_t time);
void heap_cancel(heap *h, uint32_t entry);
void heap_move(heap *h, uint32_t entry, uint64_t time);
// As queue_pop(); when it refuses, *time is a time before which nothing is pending.
uint32_t heap_pop(heap *h, uint64_t limit, uint64_t *time);
void heap_verify(const heap *h, uint32_t count);
