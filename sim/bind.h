// SPDX-License-Identifier: GPL-3.0-or-later
// sim/bind.h: tables that tie YAML keys to struct fields: what a key is called, which unit it must carry, which range
// it may have, its default. Physics never sees YAML; models/scenario.c and models/part.c are the only callers of
// bind_read(). The same tables write a struct back as YAML (run.resolved) and list every key (scenarios/README.md).
//
// Refused at the key, with the nearest valid choice: unknown keys, missing required keys, a wrong kind of node, wrong or
// missing units, numbers out of range, NaN, overflow, unknown words of an enumeration, keys whose model is not built.
//
// Provenance: in a part (a catalogue file, or a mapping in its place) a mapping may carry "source:" and "grade:"
// (measured | vendor | assumed) for every number in it and below, and any number anywhere may be written
// { value: 80 GB, source: "...", grade: vendor }. Each number read is recorded with its source and grade.
//
// Quotes: "400 Gb/s" is fine, for a number with a unit is a text in YAML anyway; a bare number, true or false in quotes is
// refused. null and ~ stand for a key that is not written, where it may be left out; an empty value is refused.
#pragma once
#include "sim/arena.h"
#include "sim/array.h"
#include "sim/document.h"
#include "sim/error.h"
#include "sim/units.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum bind_type {
    BIND_TYPE_END,
    BIND_TYPE_BOOL,   // bool
    BIND_TYPE_U32,    // uint32_t
    BIND_TYPE_U64,    // uint64_t
    BIND_TYPE_DOUBLE, // double in the base unit of .unit
    BIND_TYPE_TIME,   // sim_time, whole ps
    BIND_TYPE_BYTES,  // uint64_t, whole bytes
    BIND_TYPE_TEXT,   // const char *, in the arena
    BIND_TYPE_PATH,   // const char *: relative to the file that names it, joined
    BIND_TYPE_ENUM,   // int, words in .words (NULL-terminated); the value is the index
    BIND_TYPE_STRUCT, // a nested struct, table in .rows
    BIND_TYPE_LIST, // struct { T *items; uint32_t count, capacity; } (sim/array.h), table of T in .rows, T's size in .size
    BIND_TYPE_POINTS, // bind_points: a curve [[x, y], ...] with x rising; units of x and y in .unit and .unit_y
    BIND_TYPE_NUMBERS, // bind_numbers: [a, b, ...] in .unit, each within the range; a lone number is a list of one
    BIND_TYPE_PART, // a nested struct read through .part: a name to look up, or a mapping
    BIND_TYPE_LATER // a key whose model is not built yet: refused with .note
} bind_type;

typedef struct bind_points {
    double *x, *y;
    uint32_t count;
} bind_points;

typedef struct bind_numbers {
    double *items;
    uint32_t count;
} bind_numbers;

typedef struct bind_reader bind_reader;
typedef struct bind_row bind_row;
// Reads a part (a catalogue entry) into out: node is a name to look up or a mapping. Given to bind_reader_create(). It
// finds the part's mapping and hands it to bind_read_part().
typedef bool bind_part_reader(bind_reader *r, const bind_row *row, const doc_node *node, void *out,
                              sim_error *error);
// An extra check of a row's value after it has been read from node; not called where the key was not written.
typedef bool bind_check(const void *field, const doc_node *node, sim_error *error);
// Such a check for BIND_NUMBERS: whole numbers only.
bool bind_check_whole(const void *field, const doc_node *node, sim_error *error);

struct bind_row {
    bind_type type;
    const char *key;
    size_t offset;
    size_t size; // of one item (LIST), of the struct (STRUCT, PART)
    unit_kind unit, unit_y;
    bool required;
    bool has_default;
    double default_number;    // BOOL 0/1, U32, U64, DOUBLE, TIME (s), BYTES, ENUM (index)
    const char *default_text; // TEXT; for numbers: the default as written ("2 us"), for the list of keys
    bool has_least, has_greatest, above_least; // above_least: the least value itself is refused
    double least, greatest;
    const char *const *words; // ENUM; TIME: words[0], if given, may stand for SIM_TIME_MAX ("never")
    uint32_t later_words; // ENUM, bit by bit: words whose model is not built yet; read, but offered nowhere
    const bind_row *rows;
    const char *folder; // PART: catalogue folder
    size_t set_offset;  // if has_set_flag: a bool that becomes true when the key was written
    bool has_set_flag;
    const char *note; // what it is, one line, for the list of keys; LATER: why it is refused
    bind_check *check;
};

// Rows are written with designated initialisers through these (extra fields may follow: .required = true, ...).
// The field's type is looked at: a table cannot write a double into an integer.
#define BIND_FIELD_(T, type_, struct_, field_, key_, ...)                                                    \
    {                                                                                                        \
        .type = BIND_TYPE_##T, .key = (key_),                                                                \
        .offset = offsetof(struct_, field_) + _Generic(((struct_ *)0)->field_, type_ : 0), __VA_ARGS__       \
    }
#define BIND_ANY_FIELD_(T, struct_, field_, key_, ...)                                                       \
    {                                                                                                        \
        .type = BIND_TYPE_##T, .key = (key_), .offset = offsetof(struct_, field_), __VA_ARGS__               \
    }
#define BIND_BOOL(struct_, field_, key_, ...) BIND_FIELD_(BOOL, bool, struct_, field_, key_, __VA_ARGS__)
#define BIND_U32(struct_, field_, key_, ...) BIND_FIELD_(U32, uint32_t, struct_, field_, key_, __VA_ARGS__)
#define BIND_U64(struct_, field_, key_, ...) BIND_FIELD_(U64, uint64_t, struct_, field_, key_, __VA_ARGS__)
#define BIND_NUMBER(struct_, field_, key_, ...)                                                              \
    BIND_FIELD_(DOUBLE, double, struct_, field_, key_, .unit = UNIT_NONE, __VA_ARGS__)
#define BIND_SECONDS(struct_, field_, key_, ...)                                                             \
    BIND_FIELD_(DOUBLE, double, struct_, field_, key_, .unit = UNIT_TIME, __VA_ARGS__)
#define BIND_RATE(struct_, field_, key_, ...)                                                                \
    BIND_FIELD_(DOUBLE, double, struct_, field_, key_, .unit = UNIT_RATE, __VA_ARGS__)
#define BIND_FLOPS(struct_, field_, key_, ...)                                                               \
    BIND_FIELD_(DOUBLE, double, struct_, field_, key_, .unit = UNIT_FLOPS, __VA_ARGS__)
#define BIND_POWER(struct_, field_, key_, ...)                                                               \
    BIND_FIELD_(DOUBLE, double, struct_, field_, key_, .unit = UNIT_POWER, __VA_ARGS__)
#define BIND_FREQUENCY(struct_, field_, key_, ...)                                                           \
    BIND_FIELD_(DOUBLE, double, struct_, field_, key_, .unit = UNIT_FREQUENCY, __VA_ARGS__)
#define BIND_LENGTH(struct_, field_, key_, ...)                                                              \
    BIND_FIELD_(DOUBLE, double, struct_, field_, key_, .unit = UNIT_LENGTH, __VA_ARGS__)
#define BIND_TIME(struct_, field_, key_, ...)                                                                \
    BIND_FIELD_(TIME, sim_time, struct_, field_, key_, .unit = UNIT_TIME, __VA_ARGS__)
#define BIND_BYTES(struct_, field_, key_, ...)                                                               \
    BIND_FIELD_(BYTES, uint64_t, struct_, field_, key_, .unit = UNIT_BYTES, __VA_ARGS__)
#define BIND_TEXT(struct_, field_, key_, ...)                                                                \
    BIND_FIELD_(TEXT, const char *, struct_, field_, key_, __VA_ARGS__)
#define BIND_PATH(struct_, field_, key_, ...)                                                                \
    BIND_FIELD_(PATH, const char *, struct_, field_, key_, __VA_ARGS__)
#define BIND_ENUM(struct_, field_, key_, words_, ...)                                                        \
    BIND_FIELD_(ENUM, int, struct_, field_, key_, .words = (words_), __VA_ARGS__)
#define BIND_STRUCT(struct_, field_, key_, rows_, ...)                                                       \
    BIND_ANY_FIELD_(STRUCT, struct_, field_, key_, .rows = (rows_), .size = sizeof(((struct_ *)0)->field_),  \
                    __VA_ARGS__)
#define BIND_LIST(struct_, field_, key_, rows_, ...)                                                         \
    BIND_ANY_FIELD_(LIST, struct_, field_, key_, .rows = (rows_),                                            \
                    .size = sizeof(*((struct_ *)0)->field_.items), __VA_ARGS__)
#define BIND_POINTS(struct_, field_, key_, x_, y_, ...)                                                      \
    BIND_FIELD_(POINTS, bind_points, struct_, field_, key_, .unit = (x_), .unit_y = (y_), __VA_ARGS__)
#define BIND_NUMBERS(struct_, field_, key_, unit_, ...)                                                      \
    BIND_FIELD_(NUMBERS, bind_numbers, struct_, field_, key_, .unit = (unit_), __VA_ARGS__)
#define BIND_PART(struct_, field_, key_, folder_, rows_, ...)                                                \
    BIND_ANY_FIELD_(PART, struct_, field_, key_, .folder = (folder_), .rows = (rows_),                       \
                    .size = sizeof(((struct_ *)0)->field_), __VA_ARGS__)
#define BIND_LATER(key_, why_)                                                                               \
    {                                                                                                        \
        .type = BIND_TYPE_LATER, .key = (key_), .note = (why_)                                               \
    }
// The usual reason of a BIND_LATER.
#define BIND_NOT_MODELLED "not modelled in this version"
#define BIND_DEFAULT(number_, text_) .has_default = true, .default_number = (number_), .default_text = (text_)
#define BIND_AT_LEAST(number_) .has_least = true, .least = (number_)
#define BIND_ABOVE(number_) .has_least = true, .above_least = true, .least = (number_)
#define BIND_AT_MOST(number_) .has_greatest = true, .greatest = (number_)
#define BIND_SET_FLAG(struct_, field_) .has_set_flag = true, .set_offset = offsetof(struct_, field_)
#define BIND_WORD_LATER(index_) (1u << (index_))
#define BIND_WORDS_LATER(bits_) .later_words = (bits_)
#define BIND_REQUIRED .required = true
#define BIND_NOTE(text_) .note = (text_)
#define BIND_END                                                                                             \
    {                                                                                                        \
        .type = BIND_TYPE_END                                                                                \
    }

typedef enum bind_grade { GRADE_NONE, GRADE_MEASURED, GRADE_VENDOR, GRADE_ASSUMED } bind_grade;
typedef struct bind_provenance { // one number that was read
    const void *field;           // its address in the struct: bind_write() finds it again
    const char *path;            // "gpu.memory"
    const char *value;           // as written
    const char *source; // NULL: a number of the scenario itself, or the catalogue forgot it (a test looks)
    bind_grade grade;
    sim_place place;
} bind_provenance;
ARRAY_OF(bind_provenance, bind_provenance_array);

const char *bind_grade_name(bind_grade grade); // "measured", "vendor", "assumed"; "" for none

// part may be NULL: then a part is always a mapping.
bind_reader *bind_reader_create(arena *a, bind_part_reader *part, void *owner);
// A document that is still being put together: required keys may be missing, what is there is checked all the same.
void bind_reader_allow_missing(bind_reader *r);
void *bind_reader_owner(const bind_reader *r);
arena *bind_reader_arena(const bind_reader *r);
const bind_provenance_array *bind_reader_provenance(const bind_reader *r);
// Where a field was written, for cross-checks: the place of the key that filled it, or of the mapping that should have had
// it; NULL when nothing is known. A struct and its first field have one address, so the type of field counts.
#define bind_place_of(r, field) bind_place_of_sized((r), (field), sizeof(*(field)))
const sim_place *bind_place_of_sized(const bind_reader *r, const void *field, size_t size);

// Reads a mapping into out: every bound field is set, to its default or zero where the key is missing. path is the prefix
// for messages and provenance ("" at the top).
bool bind_read(bind_reader *r, const bind_row *rows, const doc_node *node, const char *path, void *out,
               sim_error *error);
// For a bind_part_reader: reads the part that row stands for from the mapping that was found for it, under the path of
// that row. A part that was named (rather than given in place) inherits no source.
bool bind_read_part(bind_reader *r, const bind_row *row, const doc_node *mapping, void *out,
                    sim_error *error);
// Whether two structs of one table hold the same: numbers bit by bit, texts, lists and parts by what they hold.
bool bind_equal(const bind_row *rows, const void *a, const void *b);
// Writes value as YAML with every default written out; numbers read back to the same bits; sources where recorded. What was
// not written and has no default is left out. r may be NULL (no sources). Failures stay in out, for its owner to check.
void bind_write(const bind_reader *r, const bind_row *rows, const void *value, int indent, FILE *out);
// Of tables: the row of a key, NULL: there is none (rows may be NULL); whether a type carries a source; whether a key is
// "source" or "grade".
const bind_row *bind_find_row(const bind_row *rows, const char *key);
// The row of a path of keys ("cluster.node.gpu", "jobs[3].model"; its first length bytes); NULL: there is none.
const bind_row *bind_find_path(const bind_row *rows, const char *path, size_t length);
bool bind_is_number(bind_type type);
static inline bool bind_word_is_later(const bind_row *row, uint32_t index)
{
    return index < 32 && (row->later_words >> index & 1) != 0;
}
bool bind_is_origin_key(const char *key);
// Calls back for every key with its full path ("cluster.node.gpu.memory"; "[]" behind a list), in table order, depth first.
void bind_list_keys(const bind_row *rows, const char *path,
                    void (*each)(void *owner, const char *path, const bind_row *row), void *owner);
