// SPDX-License-Identifier: GPL-3.0-or-later
// sim/map.h: hash maps u64 -> u32 and text -> u32 in an arena. Walked in insertion order only, so that no result can
// depend on a hash. Nothing is ever removed.
#pragma once
#include "sim/arena.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct map map; // u64 -> u32
map *map_create(arena *a);
void map_set(map *m, uint64_t key, uint32_t value); // replaces
bool map_get(const map *m, uint64_t key, uint32_t *value);
uint32_t map_count(const map *m);
void map_at(const map *m, uint32_t index, uint64_t *key, uint32_t *value); // index in order of insertion

typedef struct text_map text_map; // text -> u32; keys are copied into the arena
text_map *text_map_create(arena *a);
void text_map_set(text_map *m, const char *key, uint32_t value);
bool text_map_get(const text_map *m, const char *key, uint32_t *value);
uint32_t text_map_count(const text_map *m);
const char *text_map_at(const text_map *m, uint32_t index, uint32_t *value);
