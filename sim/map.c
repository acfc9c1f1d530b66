// SPDX-License-Identifier: GPL-3.0-or-later
// Both maps keep their entries in an array in order of insertion; beside it an open-addressing table of entry numbers,
// at most half full. Only lookups see the table, so that nothing can depend on its order.
#include "sim/map.h"
#include "sim/array.h"
#include "sim/check.h"
#include "sim/hash.h"
#include <string.h>

// Entry numbers from 1 by hash; 0: free. The size is a power of two.
typedef struct hash_table {
    uint32_t *slots;
    uint32_t size;
} hash_table;

static uint32_t table_first(const hash_table *t, uint64_t hash)
{
    return (uint32_t)hash & (t->size - 1);
}

static uint32_t table_next(const hash_table *t, uint32_t slot)
{
    return (slot + 1) & (t->size - 1);
}

static void table_put(hash_table *t, uint64_t hash, uint32_t entry1)
{
    uint32_t slot = table_first(t, hash);
    while (t->slots[slot])
        slot = table_next(t, slot);
    t->slots[slot] = entry1;
}

// True when the table was replaced by a larger, empty one, and all entries have to be put in again.
static bool table_grows(hash_table *t, arena *a, uint32_t entries)
{
    if (entries < t->size / 2) return false;
    SIM_ASSERT(t->size <= UINT32_C(1) << 30);
    t->size = t->size ? 2 * t->size : 16;
    t->slots = arena_array(a, uint32_t, t->size);
    return true;
}

typedef struct entry {
    uint64_t key;
    uint32_t value;
} entry;
ARRAY_OF(entry, entry_array);

struct map {
    arena *arena;
    hash_table table;
    entry_array entries;
};

map *map_create(arena *a)
{
    map *m = arena_new(a, map);
    m->arena = a;
    table_grows(&m->table, a, 0);
    return m;
}

// Number of the key's entry from 1; 0: none.
static uint32_t map_find(const map *m, uint64_t key)
{
    const hash_table *t = &m->table;
    for (uint32_t slot = table_first(t, hash_mix(key)); t->slots[slot]; slot = table_next(t, slot))
        if (m->entries.items[t->slots[slot] - 1].key == key) return t->slots[slot];
    return 0;
}

void map_set(map *m, uint64_t key, uint32_t value)
{
    uint32_t entry1 = map_find(m, key);
    if (entry1) {
        m->entries.items[entry1 - 1].value = value;
        return;
    }
    if (table_grows(&m->table, m->arena, m->entries.count))
        for (uint32_t i = 0; i < m->entries.count; i++)
            table_put(&m->table, hash_mix(m->entries.items[i].key), i + 1);
    *array_push(&m->entries, m->arena) = (entry){ .key = key, .value = value };
    table_put(&m->table, hash_mix(key), m->entries.count);
}

bool map_get(const map *m, uint64_t key, uint32_t *value)
{
    uint32_t entry1 = map_find(m, key);
    if (entry1) *value = m->entries.items[entry1 - 1].value;
    return entry1 != 0;
}

uint32_t map_count(const map *m)
{
    return m->entries.count;
}

void map_at(const map *m, uint32_t index, uint64_t *key, uint32_t *value)
{
    SIM_ASSERT(index < m->entries.count);
    *key = m->entries.items[index].key;
    *value = m->entries.items[index].value;
}

typedef struct text_entry {
    const char *key;
    uint64_t hash; // kept, so that most other keys are told apart without reading them
    uint32_t value;
} text_entry;
ARRAY_OF(text_entry, text_entry_array);

struct text_map {
    arena *arena;
    hash_table table;
    text_entry_array entries;
};

text_map *text_map_create(arena *a)
{
    text_map *m = arena_new(a, text_map);
    m->arena = a;
    table_grows(&m->table, a, 0);
    return m;
}

static uint32_t text_map_find(const text_map *m, const char *key, uint64_t hash)
{
    const hash_table *t = &m->table;
    for (uint32_t slot = table_first(t, hash); t->slots[slot]; slot = table_next(t, slot)) {
        const text_entry *e = &m->entries.items[t->slots[slot] - 1];
        if (e->hash == hash && strcmp(e->key, key) == 0) return t->slots[slot];
    }
    return 0;
}

void text_map_set(text_map *m, const char *key, uint32_t value)
{
    uint64_t hash = hash_mix(hash_text(key));
    uint32_t entry1 = text_map_find(m, key, hash);
    if (entry1) {
        m->entries.items[entry1 - 1].value = value;
        return;
    }
    if (table_grows(&m->table, m->arena, m->entries.count))
        for (uint32_t i = 0; i < m->entries.count; i++)
            table_put(&m->table, m->entries.items[i].hash, i + 1);
    text_entry added = { .key = arena_text(m->arena, key), .hash = hash, .value = value };
    *array_push(&m->entries, m->arena) = added;
    table_put(&m->table, hash, m->entries.count);
}

bool text_map_get(const text_map *m, const char *key, uint32_t *value)
{
    uint32_t entry1 = text_map_find(m, key, hash_mix(hash_text(key)));
    if (entry1) *value = m->entries.items[entry1 - 1].value;
    return entry1 != 0;
}

uint32_t text_map_count(const text_map *m)
{
    return m->entries.count;
}

const char *text_map_at(const text_map *m, uint32_t index, uint32_t *value)
{
    SIM_ASSERT(index < m->entries.count);
    *value = m->entries.items[index].value;
    return m->entries.items[index].key;
}
