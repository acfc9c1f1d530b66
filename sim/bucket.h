// SPDX-License-Identifier: GPL-3.0-or-later
// sim/bucket.h: the multi-level bucket queue behind sim/queue.h. A time is read as 11 digits of 6 bits. An entry lies
// at the level of the highest digit in which its time differs from the time of the last pop, in the slot of that
// digit's value; so lower levels are always earlier, and within a level lower slots are. Slots are doubly linked lists
// through nodes indexed by entry, and an occupancy word per level finds the first of them. The slot of an entry is
// never stored: it follows from its time and the last pop, also after the last pop has moved on. When the first
// occupied slot is above level 0, its list is dealt out to the levels below in order, which keeps equal times first
// in, first out. Push, cancel and move are O(1); each entry is dealt out at most ten times, in practice one to three.
#pragma once
#include <stdint.h>

enum {
    BUCKET_LEVELS = 11,
    BUCKET_DIGIT_BITS = 6,
    BUCKET_SLOTS = 1 << BUCKET_DIGIT_BITS,
    BUCKET_SHORT = 32 // entries of a list that is worth searching for its first before it is dealt out
};

typedef struct bucket_node {
    uint64_t time;
    uint32_t next, prev; // QUEUE_NONE at the ends; next is the node's own entry: not pending
} bucket_node;

typedef struct bucket_list {
    uint32_t head, tail; // valid only while the slot's occupancy bit is set
} bucket_list;

typedef struct bucket {
    uint64_t last;   // time of the last pop
    uint32_t levels; // bit l: level l has an occupied slot
    uint32_t capacity;
    bucket_node *nodes;
    uint64_t occupied[BUCKET_LEVELS]; // bit d: slot d of the level is not empty
    bucket_list slots[BUCKET_LEVELS * BUCKET_SLOTS];
} bucket;

void bucket_open(bucket *b);
void bucket_close(bucket *b);
void bucket_push(bucket *b, uint32_t entry, uint64_t time);
void bucket_cancel(bucket *b, uint32_t entry);
void bucket_move(bucket *b, uint32_t entry, uint64_t time);
// As queue_pop(); when it refuses, *time is a time before which nothing is pending.
uint32_t bucket_pop(bucket *b, uint64_t limit, uint64_t *time);
void bucket_verify(const bucket *b, uint32_t count);
