// SPDX-License-Identifier: GPL-3.0-or-later
// sim/bind_internal.h: what the files bind_*.c share and nobody else includes.
#pragma once
#include "sim/bind.h"
#include "sim/map.h"

typedef struct bind_origin { // what a mapping says for the numbers in it and below
    const char *source;      // NULL: nothing
    bind_grade grade;
} bind_origin;

// Where reading stands: inside which key, and inside a part or not.
typedef struct bind_scope {
    const char *path; // "" at the top
    bind_origin origin;
    bool in_part; // "source:" and "grade:" are keys here
} bind_scope;

typedef struct bind_record { // one field of a bound struct
    size_t size;             // a struct and its first field differ by it
    sim_place place;
    bool written;         // false: a default, and place is that of the mapping
    uint32_t provenance1; // index + 1; 0: none
    uint32_t older1;      // index + 1 of the record made before at the same address; 0: none
} bind_record;
ARRAY_OF(bind_record, bind_record_array);

struct bind_reader {
    arena *arena;
    bind_part_reader *part;
    void *owner;
    bool allows_missing; // required keys may be missing
    bind_scope scope;    // of the part that is being read
    bind_provenance_array provenance;
    bind_record_array records;
    map *latest; // address to the index of its latest record; only looked up, never walked
};

size_t bind_field_size(const bind_row *row);
static inline void *bind_field_of(const bind_row *row, void *out)
{
    return (char *)out + row->offset;
}
static inline const void *bind_const_field_of(const bind_row *row, const void *value)
{
    return (const char *)value + row->offset;
}
const char *bind_join_path(arena *a, const char *path, const char *key);

// Index of the new record.
uint32_t bind_add_record(bind_reader *r, const void *field, size_t size, const sim_place *place,
                         bool written);
const bind_record *bind_find_record(const bind_reader *r, const void *field,
                                    size_t size); // NULL: none of this size

// One key that is being read.
typedef struct bind_reading {
    bind_reader *reader;
    const bind_row *row;
    bind_scope scope; // its path is the key's own
    sim_error *error;
} bind_reading;

// bind_value.c. Every kind but mappings, lists and parts; field is zeroed before.
bool bind_read_value(const bind_reading *k, const doc_node *node, void *field);
// Takes "source:" and "grade:" of a mapping, where it has them, into origin.
bool bind_read_origin(const bind_reading *k, const doc_node *mapping, bind_origin *origin);
// "plan must be a mapping, not a list"
bool bind_fail_kind(const bind_reading *k, const doc_node *node, const char *wanted);
bool bind_has_no_value(const doc_node *node);
void bind_set_default(const bind_row *row, void *field, arena *a);
