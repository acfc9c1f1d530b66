// SPDX-License-Identifier: GPL-3.0-or-later
// sim/array.h: typed growable arrays in an arena; the one macro header. Elements may move when the array grows, so
// keep indices, not pointers.
//     ARRAY_OF(span, span_array);                 declares the type span_array {items, count, capacity}
//     span *s = array_push(&spans, arena);        a zeroed element at the end
#pragma once
#include "sim/arena.h"
#include "sim/check.h"
#include <string.h>

#define ARRAY_COUNT(fixed) (sizeof(fixed) / sizeof((fixed)[0]))

#define ARRAY_OF(type, name)                                                                                 \
    typedef struct name {                                                                                    \
        type *items;                                                                                         \
        uint32_t count;                                                                                      \
        uint32_t capacity;                                                                                   \
    } name

ARRAY_OF(const char *, text_list);

// Makes room for extra more elements.
#define array_reserve(array, arena_, extra)                                                                  \
    ((array)->items = array_grow_((arena_), (array)->items, (array)->count, &(array)->capacity,              \
                                  (uint32_t)(extra), sizeof(*(array)->items)))
#define array_push(array, arena_) (array_reserve((array), (arena_), 1), &(array)->items[(array)->count++])
#define array_pop(array) (SIM_ASSERT((array)->count > 0), &(array)->items[--(array)->count])
#define array_clear(array) ((void)((array)->count = 0))

static inline void *array_grow_(arena *a, void *items, uint32_t count, uint32_t *capacity, uint32_t extra,
                                size_t size)
{
    SIM_ASSERT(extra <= UINT32_MAX - count);
    if (count + extra > *capacity) {
        uint64_t wanted = *capacity ? 2 * (uint64_t)*capacity : 8;
        if (wanted < (uint64_t)count + extra) wanted = (uint64_t)count + extra;
        if (wanted > UINT32_MAX) wanted = UINT32_MAX;
        items = items ? arena_resize(a, items, *capacity * size, wanted * size, 16)
                      : arena_alloc(a, wanted * size, 16);
        *capacity = (uint32_t)wanted;
    }
    // elements are handed out zeroed even after array_clear()
    memset((char *)items + (size_t)count * size, 0, (size_t)extra * size);
    return items;
}
