// SPDX-License-Identifier: GPL-3.0-or-later
// sim/names.h: text interned to small integers, for trace and messages. Ids count from 1 in order of first use;
// 0 means "no name".
#pragma once
#include "sim/arena.h"
#include <stdint.h>

typedef struct names names;
typedef uint32_t name_id;
names *names_create(arena *a);
name_id names_intern(names *n, const char *text);
const char *names_text(const names *n, name_id id); // valid as long as the arena; id 0 has no text: asserts
uint32_t names_count(const names *n);
