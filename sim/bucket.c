// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/bucket.h"
#include "sim/check.h"
#include "sim/queue.h"
#include <stdlib.h>
#include <string.h>

void bucket_open(bucket *b)
{
    memset(b, 0, sizeof *b);
}

void bucket_close(bucket *b)
{
    free(b->nodes);
    b->nodes = NULL;
}

static uint32_t bucket_slot_of(uint64_t time, uint64_t last)
{
    uint32_t highest_bit = 63u - (uint32_t)__builtin_clzll((time ^ last) | 1u);
    uint32_t level = (highest_bit * 43u) >> 8; // highest_bit / 6, exact up to 63
    uint32_t digit = (uint32_t)(time >> (level * BUCKET_DIGIT_BITS)) & (BUCKET_SLOTS - 1);
    return level * BUCKET_SLOTS + digit;
}

static bool bucket_is_pending(const bucket *b, uint32_t entry)
{
    return entry < b->capacity && b->nodes[entry].next != entry;
}

static void bucket_grow(bucket *b, uint32_t entry)
{
    uint32_t old = b->capacity;
    b->nodes = queue_grow_items(b->nodes, &b->capacity, (uint64_t)entry + 1, sizeof *b->nodes);
    for (uint32_t i = old; i < b->capacity; i++)
        b->nodes[i] = (bucket_node){ .next = i };
}

static inline void bucket_append(bucket *b, uint32_t entry, uint64_t time)
{
    uint32_t slot = bucket_slot_of(time, b->last);
    uint32_t level = slot / BUCKET_SLOTS;
    uint64_t bit = UINT64_C(1) << (slot % BUCKET_SLOTS);
    bucket_node *node = &b->nodes[entry];
    bucket_list *list = &b->slots[slot];
    node->next = QUEUE_NONE;
    if (b->occupied[level] & bit) {
        node->prev = list->tail;
        b->nodes[list->tail].next = entry;
    } else {
        node->prev = QUEUE_NONE;
        list->head = entry;
        b->occupied[level] |= bit;
        b->levels |= 1u << level;
    }
    list->tail = entry;
}

static void bucket_empty_slot(bucket *b, uint32_t slot)
{
    uint32_t level = slot / BUCKET_SLOTS;
    b->occupied[level] &= ~(UINT64_C(1) << (slot % BUCKET_SLOTS));
    if (!b->occupied[level]) b->levels &= ~(1u << level);
}

static void bucket_remove(bucket *b, uint32_t entry)
{
    bucket_node *node = &b->nodes[entry];
    uint32_t slot = bucket_slot_of(node->time, b->last);
    bucket_list *list = &b->slots[slot];
    if (node->prev == QUEUE_NONE)
        list->head = node->next;
    else
        b->nodes[node->prev].next = node->next;
    if (node->next == QUEUE_NONE)
        list->tail = node->prev;
    else
        b->nodes[node->next].prev = node->prev;
    if (list->head == QUEUE_NONE) bucket_empty_slot(b, slot);
    node->next = entry;
}

void bucket_push(bucket *b, uint32_t entry, uint64_t time)
{
    SIM_ASSERT(time >= b->last);
    if (entry >= b->capacity) bucket_grow(b, entry);
    SIM_ASSERT(!bucket_is_pending(b, entry));
    b->nodes[entry].time = time;
    bucket_append(b, entry, time);
}

void bucket_cancel(bucket *b, uint32_t entry)
{
    SIM_ASSERT(bucket_is_pending(b, entry));
    bucket_remove(b, entry);
}

void bucket_move(bucket *b, uint32_t entry, uint64_t time)
{
    SIM_ASSERT(bucket_is_pending(b, entry) && time >= b->last);
    bucket_remove(b, entry);
    b->nodes[entry].time = time;
    bucket_append(b, entry, time);
}

// Takes the head of a slot of level 0, where all times of a slot are equal.
static inline uint32_t bucket_take_head(bucket *b, uint32_t slot)
{
    uint32_t entry = b->slots[slot].head;
    uint32_t next = b->nodes[entry].next;
    b->nodes[entry].next = entry;
    if (next == QUEUE_NONE) {
        bucket_empty_slot(b, slot);
    } else {
        b->nodes[next].prev = QUEUE_NONE;
        b->slots[slot].head = next;
    }
    return entry;
}

// Deals out a slot above level 0 to the levels below, which are empty; b->last has been set to a time of that slot
// which no entry precedes. The entry except, if any, is left out.
static void bucket_deal(bucket *b, uint32_t slot, uint32_t except)
{
    bucket_node *nodes = b->nodes;
    bucket_empty_slot(b, slot);
    for (uint32_t entry = b->slots[slot].head, next; entry != QUEUE_NONE; entry = next) {
        next = nodes[entry].next;
        if (entry != except) bucket_append(b, entry, nodes[entry].time);
    }
}

// The first entry of a slot above level 0, its time in *time. A list longer than most entries is not walked to its
// end: QUEUE_NONE then.
static uint32_t bucket_first_of(const bucket *b, uint32_t slot, uint32_t most, uint64_t *time)
{
    const bucket_node *nodes = b->nodes;
    uint32_t first = b->slots[slot].head;
    uint64_t least = nodes[first].time;
    for (uint32_t entry = nodes[first].next; entry != QUEUE_NONE; entry = nodes[entry].next) {
        bool earlier = nodes[entry].time < least;
        least = earlier ? nodes[entry].time : least;
        first = earlier ? entry : first;
        if (--most == 0) return QUEUE_NONE;
    }
    *time = least;
    return first;
}

uint32_t bucket_pop(bucket *b, uint64_t limit, uint64_t *time)
{
    *time = UINT64_MAX;
    while (b->levels) {
        uint32_t level = (uint32_t)__builtin_ctz(b->levels);
        uint32_t slot = level * BUCKET_SLOTS + (uint32_t)__builtin_ctzll(b->occupied[level]);
        uint32_t shift = level * BUCKET_DIGIT_BITS;
        uint64_t start = (((b->last >> shift) & ~(uint64_t)(BUCKET_SLOTS - 1)) | slot % BUCKET_SLOTS)
                         << shift;
        *time = start;
        if (start > limit) return QUEUE_NONE;
        if (level == 0) {
            b->last = start;
            return bucket_take_head(b, slot);
        }
        // A short list goes straight to its first entry, as does one that may have to be refused. A long one is
        // walked once instead of twice, since its nodes no longer fit the caches: the start of its slot will do.
        bool refusable = limit - start < (UINT64_C(1) << shift) - 1;
        uint32_t first = bucket_first_of(b, slot, refusable ? UINT32_MAX : BUCKET_SHORT, time);
        if (first != QUEUE_NONE) {
            if (*time > limit) return QUEUE_NONE;
            b->last = *time;
            bucket_deal(b, slot, first);
            b->nodes[first].next = first;
            return first;
        }
        b->last = start;
        bucket_deal(b, slot, QUEUE_NONE);
    }
    return QUEUE_NONE;
}

static uint32_t bucket_verify_slot(const bucket *b, uint32_t slot)
{
    uint32_t length = 0;
    uint32_t prev = QUEUE_NONE;
    for (uint32_t entry = b->slots[slot].head; entry != QUEUE_NONE; entry = b->nodes[entry].next) {
        SIM_ASSERT(bucket_is_pending(b, entry) && length < b->capacity);
        SIM_ASSERT(b->nodes[entry].prev == prev);
        SIM_ASSERT(b->nodes[entry].time >= b->last && bucket_slot_of(b->nodes[entry].time, b->last) == slot);
        prev = entry;
        length++;
    }
    SIM_ASSERT(length > 0 && b->slots[slot].tail == prev);
    return length;
}

void bucket_verify(const bucket *b, uint32_t count)
{
    uint64_t listed = 0;
    uint64_t pending = 0;
    for (uint32_t slot = 0; slot < BUCKET_LEVELS * BUCKET_SLOTS; slot++)
        if (b->occupied[slot / BUCKET_SLOTS] >> (slot % BUCKET_SLOTS) & 1u)
            listed += bucket_verify_slot(b, slot);
    for (uint32_t level = 0; level < BUCKET_LEVELS; level++)
        SIM_ASSERT((b->levels >> level & 1u) == (b->occupied[level] != 0));
    for (uint32_t entry = 0; entry < b->capacity; entry++)
        pending += bucket_is_pending(b, entry);
    SIM_ASSERT(listed == count && pending == count);
}
