// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/names.h"
#include "sim/check.h"
#include "sim/map.h"

struct names {
    text_map *ids; // in order of insertion, so that the n-th entry is id n
};

names *names_create(arena *a)
{
    names *n = arena_new(a, names);
    n->ids = text_map_create(a);
    return n;
}

name_id names_intern(names *n, const char *text)
{
    name_id id;
    if (text_map_get(n->ids, text, &id)) return id;
    id = text_map_count(n->ids) + 1;
    text_map_set(n->ids, text, id);
    return id;
}

const char *names_text(const names *n, name_id id)
{
    SIM_ASSERT(id > 0);
    name_id found;
    const char *text = text_map_at(n->ids, id - 1, &found);
    SIM_ASSERT(found == id);
    return text;
}

uint32_t names_count(const names *n)
{
    return text_map_count(n->ids);
}
