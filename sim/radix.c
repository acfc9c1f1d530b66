// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/radix.h"
#include "sim/check.h"
#include "sim/queue.h"
#include <stdlib.h>
#include <string.h>

void radix_open(radix *r)
{
    memset(r, 0, sizeof *r);
}

void radix_close(radix *r)
{
    for (uint32_t i = 0; i < RADIX_BINS; i++)
        free(r->bins[i].items);
    free(r->generations);
    memset(r, 0, sizeof *r);
}

static uint32_t radix_bin_of(uint64_t time, uint64_t last)
{
    uint64_t differs = time ^ last;
    return differs ? 64u - (uint32_t)__builtin_clzll(differs) : 0u;
}

static bool radix_is_pending(const radix *r, uint32_t entry)
{
    return entry < r->capacity && (r->generations[entry] & 1u);
}

static bool radix_is_live(const radix *r, const radix_item *item)
{
    return r->generations[item->entry] == item->generation;
}

static inline void radix_append(radix *r, const radix_item *item)
{
    uint32_t index = radix_bin_of(item->time, r->last);
    radix_bin *bin = &r->bins[index];
    if (bin->count == bin->capacity)
        bin->items = queue_grow_items(bin->items, &bin->capacity, (uint64_t)bin->count + 1,
                                      sizeof *bin->items);
    bin->items[bin->count++] = *item;
    r->occupied |= UINT64_C(1) << index;
}

// Drops the stale items of a bin and keeps the order of the others. Items of bin 0 before the head have been popped.
static void radix_sweep_bin(radix *r, uint32_t index)
{
    radix_bin *bin = &r->bins[index];
    uint32_t from = index ? 0 : r->head;
    uint32_t kept = 0;
    for (uint32_t i = from; i < bin->count; i++)
        if (radix_is_live(r, &bin->items[i])) bin->items[kept++] = bin->items[i];
    r->stale -= bin->count - from - kept;
    bin->count = kept;
    if (!index) r->head = 0;
    if (!kept) r->occupied &= ~(UINT64_C(1) << index);
}

static void radix_sweep(radix *r)
{
    for (uint64_t rest = r->occupied; rest; rest &= rest - 1)
        radix_sweep_bin(r, (uint32_t)__builtin_ctzll(rest));
    SIM_ASSERT(r->stale == 0);
}

static void radix_grow(radix *r, uint32_t entry)
{
    uint32_t old = r->capacity;
    r->generations = queue_grow_items(r->generations, &r->capacity, (uint64_t)entry + 1,
                                      sizeof *r->generations);
    memset(r->generations + old, 0, (size_t)(r->capacity - old) * sizeof *r->generations);
}

void radix_push(radix *r, uint32_t entry, uint64_t time)
{
    SIM_ASSERT(time >= r->last);
    if (entry >= r->capacity) radix_grow(r, entry);
    SIM_ASSERT(!radix_is_pending(r, entry));
    // Generations come round after 2^32: no stale item of the first time round may be left then.
    if (r->generations[entry]++ == UINT32_MAX - 1 && r->stale) radix_sweep(r);
    r->live++;
    radix_append(r, &(radix_item){ time, entry, r->generations[entry] });
}

// The entry's item in its bin becomes a stale one.
static void radix_forget(radix *r, uint32_t entry)
{
    SIM_ASSERT(radix_is_pending(r, entry));
    r->generations[entry]++;
    r->live--;
    r->stale++;
}

static void radix_bound_stale(radix *r)
{
    if (r->stale > (uint64_t)r->live + RADIX_STALE_SLACK) radix_sweep(r);
}

void radix_cancel(radix *r, uint32_t entry)
{
    radix_forget(r, entry);
    radix_bound_stale(r);
}

void radix_move(radix *r, uint32_t entry, uint64_t time)
{
    radix_forget(r, entry);
    radix_push(r, entry, time);
    radix_bound_stale(r);
}

static uint32_t radix_take(radix *r, const radix_item *item, uint64_t *time)
{
    const uint32_t entry = item->entry;
    *time = item->time;
    r->generations[entry]++;
    r->live--;
    radix_bound_stale(r); // with fewer that live, fewer stale ones may stay; the item is gone after this
    return entry;
}

// Finds the first item of a bin above bin 0 and, if it may go, makes its time the last pop and deals out the rest of
// the bin to the bins below, which are empty. The bin holds no stale items.
static uint32_t radix_deal_bin(radix *r, uint32_t index, uint64_t limit, uint64_t *time)
{
    radix_bin *bin = &r->bins[index];
    uint32_t first = 0;
    uint64_t least = bin->items[0].time;
    for (uint32_t i = 1; i < bin->count; i++) {
        bool earlier = bin->items[i].time < least;
        least = earlier ? bin->items[i].time : least;
        first = earlier ? i : first;
    }
    *time = least;
    if (least > limit) return QUEUE_NONE;
    r->last = least;
    r->occupied &= ~(UINT64_C(1) << index);
    for (uint32_t i = 0; i < first; i++)
        radix_append(r, &bin->items[i]);
    for (uint32_t i = first + 1; i < bin->count; i++)
        radix_append(r, &bin->items[i]);
    bin->count = 0; // its items stay readable: dealing fills lower bins only
    return radix_take(r, &bin->items[first], time);
}

uint32_t radix_pop(radix *r, uint64_t limit, uint64_t *time)
{
    radix_bin *equal = &r->bins[0];
    *time = r->last;
    if (limit < r->last) return QUEUE_NONE;
    while (r->head < equal->count) {
        const radix_item *item = &equal->items[r->head++];
        if (radix_is_live(r, item)) return radix_take(r, item, time);
        r->stale--;
    }
    r->head = equal->count = 0;
    r->occupied &= ~UINT64_C(1);
    while (r->occupied) {
        uint32_t index = (uint32_t)__builtin_ctzll(r->occupied);
        uint64_t earliest = (r->last >> (index - 1) | 1u) << (index - 1);
        *time = earliest;
        if (earliest > limit) return QUEUE_NONE;
        if (r->stale) radix_sweep_bin(r, index);
        if (r->bins[index].count) return radix_deal_bin(r, index, limit, time);
    }
    *time = UINT64_MAX;
    return QUEUE_NONE;
}

void radix_verify(const radix *r, uint32_t count)
{
    uint64_t live = 0;
    uint64_t stale = 0;
    uint64_t pending = 0;
    for (uint32_t index = 0; index < RADIX_BINS; index++) {
        const radix_bin *bin = &r->bins[index];
        SIM_ASSERT((r->occupied >> index & 1u) == (bin->count != 0));
        for (uint32_t i = index ? 0 : r->head; i < bin->count; i++) {
            bool lives = radix_is_live(r, &bin->items[i]);
            live += lives;
            stale += !lives;
            SIM_ASSERT(bin->items[i].time >= r->last && radix_bin_of(bin->items[i].time, r->last) == index);
        }
    }
    for (uint32_t entry = 0; entry < r->capacity; entry++)
        pending += radix_is_pending(r, entry);
    SIM_ASSERT(live == count && r->live == count && pending == count && stale == r->stale);
    SIM_ASSERT(stale <= live + RADIX_STALE_SLACK);
}
