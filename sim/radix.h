// SPDX-License-Identifier: GPL-3.0-or-later
// sim/radix.h: a monotone radix heap (base 2) behind sim/queue.h, after Ahuja, Mehlhorn, Orlin, Tarjan: "Faster
// algorithms for the shortest path problem", JACM 37(2), 1990. An item lies in the bin of the highest bit in which its
// time differs from the time of the last pop; bin 0 holds the items equal to it. Bins are arrays, so a large pending
// set streams through the caches instead of being chased through links. When bin 0 is empty the first occupied bin is
// dealt out in order to the bins below it, which keeps equal times first in, first out; each item moves at most 63
// times, in practice by the logarithm of the pending set's spread.
// A cancelled or moved entry leaves its old item behind; a generation per entry tells it from the living one. Stale
// items never exceed the pending ones by more than RADIX_STALE_SLACK: then all bins are swept.
#pragma once
#include <stdint.h>

enum { RADIX_BINS = 64, RADIX_STALE_SLACK = 64 };

typedef struct radix_item {
    uint64_t time;
    uint32_t entry, generation;
} radix_item;

typedef struct radix_bin {
    radix_item *items;
    uint32_t count, capacity;
} radix_bin;

typedef struct radix {
    uint64_t last;         // time of the last pop
    uint64_t occupied;     // bit i: bin i holds items, perhaps stale ones
    uint32_t head;         // the first item of bin 0 not yet popped
    uint32_t live, stale;  // items of both sorts
    uint32_t capacity;     // of generations
    uint32_t *generations; // by entry; odd: pending
    radix_bin bins[RADIX_BINS];
} radix;

void radix_open(radix *r);
void radix_close(radix *r);
void radix_push(radix *r, uint32_t entry, uint64_t time);
void radix_cancel(radix *r, uint32_t entry);
void radix_move(radix *r, uint32_t entry, uint64_t time);
// As queue_pop(); when it refuses, *time is a time before which nothing is pending.
uint32_t radix_pop(radix *r, uint64_t limit, uint64_t *time);
void radix_verify(const radix *r, uint32_t count);
