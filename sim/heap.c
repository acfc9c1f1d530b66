// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/heap.h"
#include "sim/check.h"
#include "sim/queue.h"
#include <stdlib.h>
#include <string.h>

void heap_open(heap *h)
{
    memset(h, 0, sizeof *h);
}

void heap_close(heap *h)
{
    free(h->items);
    free(h->positions);
    h->items = NULL;
    h->positions = NULL;
}

// Orders are unique, so two items never tie.
static bool heap_is_before(const heap_item *a, const heap_item *b)
{
    return a->time != b->time ? a->time < b->time : a->order < b->order;
}

static bool heap_is_pending(const heap *h, uint32_t entry)
{
    return entry < h->entry_capacity && h->positions[entry] != QUEUE_NONE;
}

static void heap_put(heap *h, uint32_t position, const heap_item *item)
{
    h->items[position] = *item;
    h->positions[item->entry] = position;
}

static void heap_rise(heap *h, uint32_t position, const heap_item *item)
{
    while (position > 0) {
        uint32_t parent = (position - 1) / 2;
        if (!heap_is_before(item, &h->items[parent])) break;
        heap_put(h, position, &h->items[parent]);
        position = parent;
    }
    heap_put(h, position, item);
}

static void heap_sink(heap *h, uint32_t position, const heap_item *item)
{
    for (;;) {
        uint64_t child = 2 * (uint64_t)position + 1;
        if (child >= h->count) break;
        if (child + 1 < h->count && heap_is_before(&h->items[child + 1], &h->items[child])) child++;
        if (!heap_is_before(&h->items[child], item)) break;
        heap_put(h, position, &h->items[child]);
        position = (uint32_t)child;
    }
    heap_put(h, position, item);
}

void heap_push(heap *h, uint32_t entry, uint64_t time)
{
    SIM_ASSERT(time >= h->last && !heap_is_pending(h, entry));
    if (entry >= h->entry_capacity) {
        uint32_t old = h->entry_capacity;
        h->positions = queue_grow_items(h->positions, &h->entry_capacity, (uint64_t)entry + 1,
                                        sizeof *h->positions);
        for (uint32_t i = old; i < h->entry_capacity; i++)
            h->positions[i] = QUEUE_NONE;
    }
    if (h->count == h->item_capacity)
        h->items = queue_grow_items(h->items, &h->item_capacity, (uint64_t)h->count + 1, sizeof *h->items);
    heap_item item = { time, h->order++, entry };
    heap_rise(h, h->count++, &item);
}

void heap_cancel(heap *h, uint32_t entry)
{
    SIM_ASSERT(heap_is_pending(h, entry));
    uint32_t position = h->positions[entry];
    heap_item moved = h->items[--h->count];
    h->positions[entry] = QUEUE_NONE;
    if (position == h->count) return;
    if (position > 0 && heap_is_before(&moved, &h->items[(position - 1) / 2]))
        heap_rise(h, position, &moved);
    else
        heap_sink(h, position, &moved);
}

void heap_move(heap *h, uint32_t entry, uint64_t time)
{
    heap_cancel(h, entry);
    heap_push(h, entry, time);
}

uint32_t heap_pop(heap *h, uint64_t limit, uint64_t *time)
{
    *time = h->count ? h->items[0].time : UINT64_MAX;
    if (!h->count || *time > limit) return QUEUE_NONE;
    uint32_t entry = h->items[0].entry;
    h->last = *time;
    heap_cancel(h, entry);
    return entry;
}

void heap_verify(const heap *h, uint32_t count)
{
    uint64_t pending = 0;
    SIM_ASSERT(h->count == count);
    for (uint32_t i = 0; i < h->count; i++) {
        SIM_ASSERT(heap_is_pending(h, h->items[i].entry) && h->positions[h->items[i].entry] == i);
        SIM_ASSERT(h->items[i].time >= h->last);
        SIM_ASSERT(i == 0 || heap_is_before(&h->items[(i - 1) / 2], &h->items[i]));
    }
    for (uint32_t entry = 0; entry < h->entry_capacity; entry++)
        pending += heap_is_pending(h, entry);
    SIM_ASSERT(pending == count);
}
