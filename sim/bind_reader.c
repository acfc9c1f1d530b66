// SPDX-License-Identifier: GPL-3.0-or-later
// What was read from where: records of fields, provenance, and the walk over the keys of a table.
#include "sim/bind_internal.h"
#include <stdio.h>

bind_reader *bind_reader_create(arena *a, bind_part_reader *part, void *owner)
{
    bind_reader *r = arena_new(a, bind_reader);
    *r = (bind_reader){ .arena = a, .part = part, .owner = owner, .scope = { .path = "" } };
    r->latest = map_create(a);
    return r;
}

void bind_reader_allow_missing(bind_reader *r)
{
    r->allows_missing = true;
}

void *bind_reader_owner(const bind_reader *r)
{
    return r->owner;
}

arena *bind_reader_arena(const bind_reader *r)
{
    return r->arena;
}

const bind_provenance_array *bind_reader_provenance(const bind_reader *r)
{
    return &r->provenance;
}

const char *bind_grade_name(bind_grade grade)
{
    static const char *const names[] = { "", "measured", "vendor", "assumed" };
    SIM_ASSERT((size_t)grade < ARRAY_COUNT(names));
    return names[grade];
}

size_t bind_field_size(const bind_row *row)
{
    switch (row->type) {
    case BIND_TYPE_BOOL: return sizeof(bool);
    case BIND_TYPE_U32: return sizeof(uint32_t);
    case BIND_TYPE_U64:
    case BIND_TYPE_BYTES: return sizeof(uint64_t);
    case BIND_TYPE_DOUBLE: return sizeof(double);
    case BIND_TYPE_TIME: return sizeof(sim_time);
    case BIND_TYPE_TEXT:
    case BIND_TYPE_PATH: return sizeof(const char *);
    case BIND_TYPE_ENUM: return sizeof(int);
    case BIND_TYPE_STRUCT:
    case BIND_TYPE_PART: return row->size;
    case BIND_TYPE_LIST: return sizeof(bind_record_array); // every array of sim/array.h looks like this one
    case BIND_TYPE_POINTS: return sizeof(bind_points);
    case BIND_TYPE_LATER:
    case BIND_TYPE_END: break;
    }
    return 0;
}

bool bind_is_number(bind_type type)
{
    switch (type) {
    case BIND_TYPE_U32:
    case BIND_TYPE_U64:
    case BIND_TYPE_BYTES:
    case BIND_TYPE_DOUBLE:
    case BIND_TYPE_TIME:
    case BIND_TYPE_POINTS: return true;
    case BIND_TYPE_BOOL:
    case BIND_TYPE_TEXT:
    case BIND_TYPE_PATH:
    case BIND_TYPE_ENUM:
    case BIND_TYPE_STRUCT:
    case BIND_TYPE_PART:
    case BIND_TYPE_LIST:
    case BIND_TYPE_LATER:
    case BIND_TYPE_END: break;
    }
    return false;
}

const char *bind_join_path(arena *a, const char *path, const char *key)
{
    return *path ? arena_format(a, "%s.%s", path, key) : key;
}

// ---- records

uint32_t bind_add_record(bind_reader *r, const void *field, size_t size, const sim_place *place, bool written)
{
    uint32_t older, index = r->records.count;
    bool has_older = map_get(r->latest, (uint64_t)(uintptr_t)field, &older);
    *array_push(&r->records, r->arena) = (bind_record){
        .size = size, .place = *place, .written = written, .older1 = has_older ? older + 1 : 0
    };
    map_set(r->latest, (uint64_t)(uintptr_t)field, index);
    return index;
}

const bind_record *bind_find_record(const bind_reader *r, const void *field, size_t size)
{
    uint32_t index;
    if (!map_get(r->latest, (uint64_t)(uintptr_t)field, &index)) return NULL;
    for (uint32_t next1 = index + 1; next1; next1 = r->records.items[next1 - 1].older1)
        if (r->records.items[next1 - 1].size == size) return &r->records.items[next1 - 1];
    return NULL;
}

const sim_place *bind_place_of_sized(const bind_reader *r, const void *field, size_t size)
{
    const bind_record *record = bind_find_record(r, field, size);
    if (record) return &record->place;
    // A field seen through another type: the innermost record is that of the field itself.
    uint32_t index;
    return map_get(r->latest, (uint64_t)(uintptr_t)field, &index) ? &r->records.items[index].place : NULL;
}

// ---- the list of keys

void bind_list_keys(const bind_row *rows, const char *path,
                    void (*each)(void *owner, const char *path, const bind_row *row), void *owner)
{
    char full[512];
    for (const bind_row *row = rows; row->type != BIND_TYPE_END; row++) {
        int length = snprintf(full, sizeof(full), "%s%s%s", path, *path ? "." : "", row->key);
        SIM_ASSERT(length > 0 && (size_t)length + 2 < sizeof(full));
        each(owner, full, row);
        if (!row->rows) continue;
        if (row->type == BIND_TYPE_LIST) snprintf(full + length, sizeof(full) - (size_t)length, "[]");
        bind_list_keys(row->rows, full, each, owner);
    }
}
