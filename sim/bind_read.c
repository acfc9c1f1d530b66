// SPDX-License-Identifier: GPL-3.0-or-later
// Mappings to structs: known and unknown keys, defaults, lists and parts.
#include "sim/bind_internal.h"
#include "sim/words.h"
#include <string.h>

enum { SHOWN_KEYS = 12 };

const bind_row *bind_find_row(const bind_row *rows, const char *key)
{
    for (; rows && rows->type != BIND_TYPE_END; rows++)
        if (strcmp(rows->key, key) == 0) return rows;
    return NULL;
}

const bind_row *bind_find_path(const bind_row *rows, const char *path, size_t length)
{
    const bind_row *row = NULL;
    for (size_t at = 0, end; at < length; at = end + (end < length && path[end] == '.')) {
        for (end = at; end < length && path[end] != '.' && path[end] != '[';)
            end++;
        for (row = rows; row && row->type != BIND_TYPE_END; row++)
            if (strncmp(row->key, path + at, end - at) == 0 && !row->key[end - at]) break;
        if (!row || row->type == BIND_TYPE_END) return NULL;
        rows = row->rows;
        while (end < length && path[end] != '.') // the index of an item: all have the same rows
            end++;
    }
    return row;
}

bool bind_is_origin_key(const char *key)
{
    return strcmp(key, "source") == 0 || strcmp(key, "grade") == 0;
}

// ---- unknown keys

static bool fail_unknown(const bind_reading *k, const bind_row *rows, const doc_pair *pair)
{
    char shown[WORDS_SHOWN_SIZE];
    uint32_t count = 0;
    for (const bind_row *row = rows; row->type != BIND_TYPE_END; row++)
        count += row->type != BIND_TYPE_LATER;
    const char **words = arena_array(k->reader->arena, const char *, count);
    count = 0;
    for (const bind_row *row = rows; row->type != BIND_TYPE_END; row++)
        if (row->type != BIND_TYPE_LATER) words[count++] = row->key;

    const char *path = k->scope.path;
    sim_fail(k->error, SIM_EXIT_INPUT, &pair->key_place, "unknown key \"%s\"%s%s",
             words_show(shown, pair->key), *path ? " in " : "", path);
    const char *called = *path ? arena_format(k->reader->arena, "keys of %s", path) : "keys";
    return words_hint(k->error, pair->key, words, count, SHOWN_KEYS, called);
}

static bool fail_later(const bind_reading *k, const bind_row *row, const doc_pair *pair)
{
    sim_fail(k->error, SIM_EXIT_INPUT, &pair->key_place, "%s: %s",
             bind_join_path(k->reader->arena, k->scope.path, row->key), BIND_NOT_MODELLED);
    if (row->note && strcmp(row->note, BIND_NOT_MODELLED) != 0) return sim_hint(k->error, "%s", row->note);
    return false;
}

static bool check_keys(const bind_reading *k, const bind_row *rows, const doc_node *node)
{
    for (uint32_t i = 0; i < node->count; i++) {
        const doc_pair *pair = &node->pairs[i];
        const bind_row *row = bind_find_row(rows, pair->key);
        if (row && row->type == BIND_TYPE_LATER) return fail_later(k, row, pair);
        if (!row && !(k->scope.in_part && bind_is_origin_key(pair->key))) return fail_unknown(k, rows, pair);
    }
    return true;
}

// ---- mappings

static bool read_row(const bind_reading *k, const doc_pair *pair, void *field);
static void set_absent(bind_reader *r, const bind_row *rows, const sim_place *place, void *out);

static bool fail_missing(const bind_reading *k, const bind_row *row, const sim_place *place)
{
    const char *path = k->scope.path;
    sim_fail(k->error, SIM_EXIT_INPUT, place, "\"%s\" is missing%s%s", row->key, *path ? " in " : "", path);
    if (row->note) return sim_hint(k->error, "%s: %s", row->key, row->note);
    return false;
}

static void set_flag(const bind_row *row, void *out, bool set)
{
    if (row->has_set_flag) *(bool *)((char *)out + row->set_offset) = set;
}

// A key that is not written: its default, and in a struct the defaults of its keys.
static void set_row_absent(bind_reader *r, const bind_row *row, const sim_place *place, void *out)
{
    void *field = bind_field_of(row, out);
    memset(field, 0, bind_field_size(row));
    bind_add_record(r, field, bind_field_size(row), place, false);
    if (row->type == BIND_TYPE_STRUCT || row->type == BIND_TYPE_PART)
        set_absent(r, row->rows, place, field);
    else
        bind_set_default(row, field, r->arena);
    set_flag(row, out, false);
}

static void set_absent(bind_reader *r, const bind_row *rows, const sim_place *place, void *out)
{
    for (const bind_row *row = rows; row->type != BIND_TYPE_END; row++)
        if (row->type != BIND_TYPE_LATER) set_row_absent(r, row, place, out);
}

// k says where this mapping stands; its row is not looked at.
static bool read_mapping(const bind_reading *k, const bind_row *rows, const doc_node *node, void *out)
{
    bind_reader *r = k->reader;
    bind_scope scope = k->scope;
    if (bind_has_no_value(node) && *scope.path)
        return sim_fail(k->error, SIM_EXIT_INPUT, &node->place, "%s has no value", scope.path);
    if (node->kind != DOC_MAPPING) return bind_fail_kind(k, node, "a mapping");
    if (!check_keys(k, rows, node)) return false;
    if (scope.in_part && !bind_read_origin(k, node, &scope.origin)) return false;
    for (const bind_row *row = rows; row->type != BIND_TYPE_END; row++) {
        if (row->type == BIND_TYPE_LATER) continue;
        const doc_pair *pair = document_find_pair(node, row->key);
        if (!pair && row->required && !r->allows_missing) return fail_missing(k, row, &node->place);
        if (!pair || (!row->required && document_is_null(pair->value))) {
            set_row_absent(r, row, &node->place, out);
            continue;
        }
        void *field = bind_field_of(row, out);
        bind_reading key = { r, row, scope, k->error };
        key.scope.path = bind_join_path(r->arena, scope.path, row->key);
        memset(field, 0, bind_field_size(row));
        bind_add_record(r, field, bind_field_size(row), &pair->key_place, true);
        if (!read_row(&key, pair, field)) return false;
        set_flag(row, out, true); // last: the flag may stand inside the struct that was read
    }
    return true;
}

// ---- lists and parts

static bool read_list(const bind_reading *k, const doc_node *node, void *field)
{
    bind_reader *r = k->reader;
    const bind_row *row = k->row;
    if (node->kind != DOC_SEQUENCE) return bind_fail_kind(k, node, "a list");
    // Places are recorded by address, so the items get their final place before they are read.
    char *items = arena_alloc_array(r->arena, row->size, node->count, 16);
    bind_record_array *list = field;
    list->items = (bind_record *)(void *)items; // any array looks like this one; a row knows no type
    list->count = list->capacity = node->count;
    for (uint32_t i = 0; i < node->count; i++) {
        bind_reading item = *k;
        item.scope.path = arena_format(r->arena, "%s[%u]", k->scope.path, i);
        bind_add_record(r, items + i * row->size, row->size, &node->items[i]->place, true);
        if (!read_mapping(&item, row->rows, node->items[i], items + i * row->size)) return false;
    }
    return true;
}

bool bind_read_part(bind_reader *r, const bind_row *row, const doc_node *mapping, void *out, sim_error *error)
{
    SIM_ASSERT(row->type == BIND_TYPE_PART && r->scope.in_part);
    bind_reading k = { r, row, r->scope, error };
    return read_mapping(&k, row->rows, mapping, out);
}

static bool read_part(const bind_reading *k, const doc_node *node, void *field)
{
    bind_reader *r = k->reader;
    bind_scope outer = r->scope;
    r->scope = k->scope;
    r->scope.in_part = true;
    if (node->kind == DOC_SCALAR) r->scope.origin = (bind_origin){ 0 }; // a named part has sources of its own
    bool fine = r->part ? r->part(r, k->row, node, field, k->error)
                        : bind_read_part(r, k->row, node, field, k->error);
    r->scope = outer;
    return fine;
}

static bool read_row(const bind_reading *k, const doc_pair *pair, void *field)
{
    const doc_node *node = pair->value;
    bind_type type = k->row->type;
    if (bind_has_no_value(node))
        return sim_fail(k->error, SIM_EXIT_INPUT, &node->place, "%s has no value", k->scope.path);
    if (type != BIND_TYPE_STRUCT && type != BIND_TYPE_LIST && type != BIND_TYPE_PART)
        return bind_read_value(k, node, field);
    bool fine = type == BIND_TYPE_STRUCT ? read_mapping(k, k->row->rows, node, field)
                : type == BIND_TYPE_LIST ? read_list(k, node, field)
                                         : read_part(k, node, field);
    return fine && (!k->row->check || k->row->check(field, node, k->error));
}

bool bind_read(bind_reader *r, const bind_row *rows, const doc_node *node, const char *path, void *out,
               sim_error *error)
{
    // Called by a part reader, it stands inside that part.
    bind_reading k = { r, NULL, r->scope, error };
    k.scope.path = path;
    return read_mapping(&k, rows, node, out);
}
