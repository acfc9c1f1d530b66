// SPDX-License-Identifier: GPL-3.0-or-later
// What was read from where: records of fields, provenance, and the walk over the keys of a table.
#include "sim/bind_internal.h"
#include <stdio.h>
#include <string.h>

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
    case BIND_TYPE_NUMBERS: return sizeof(bind_numbers);
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
    case BIND_TYPE_NUMBERS:
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

// ---- equality

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_numbers(const double *a, const double *b, uint32_t count)
{
    return count == 0 || memcmp(a, b, count * sizeof *a) == 0;
}

static bool same_list(const bind_row *row, const bind_record_array *a, const bind_record_array *b)
{
    if (a->count != b->count) return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (!bind_equal(row->rows, (const char *)(const void *)a->items + i * row->size,
                        (const char *)(const void *)b->items + i * row->size))
            return false;
    return true;
}

static bool same_field(const bind_row *row, const void *a, const void *b)
{
    const bind_points *p = a, *q = b;
    const bind_numbers *m = a, *n = b;
    switch (row->type) {
    case BIND_TYPE_STRUCT:
    case BIND_TYPE_PART: return bind_equal(row->rows, a, b);
    case BIND_TYPE_LIST: return same_list(row, a, b); // any array looks like this one; a row knows no type
    case BIND_TYPE_TEXT:
    case BIND_TYPE_PATH: return same_text(*(const char *const *)a, *(const char *const *)b);
    case BIND_TYPE_POINTS:
        return p->count == q->count && same_numbers(p->x, q->x, p->count) &&
               same_numbers(p->y, q->y, p->count);
    case BIND_TYPE_NUMBERS: return m->count == n->count && same_numbers(m->items, n->items, m->count);
    case BIND_TYPE_LATER: return true;
    case BIND_TYPE_BOOL:
    case BIND_TYPE_U32:
    case BIND_TYPE_U64:
    case BIND_TYPE_DOUBLE:
    case BIND_TYPE_TIME:
    case BIND_TYPE_BYTES:
    case BIND_TYPE_ENUM:
    case BIND_TYPE_END: break;
    }
    return memcmp(a, b, bind_field_size(row)) == 0;
}

bool bind_equal(const bind_row *rows, const void *a, const void *b)
{
    for (; rows->type != BIND_TYPE_END; rows++)
        if (!same_field(rows, bind_const_field_of(rows, a), bind_const_field_of(rows, b))) return false;
    return true;
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
