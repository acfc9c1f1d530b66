// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/part_override.h"

// What a mapping says for the numbers in it and below; NULL: nothing. lowered: instead of any grade of theirs.
typedef struct origin {
    doc_node *source, *grade, *lowered;
} origin;

static origin origin_within(const doc_node *mapping, origin outer)
{
    doc_node *source = document_find(mapping, "source"), *grade = document_find(mapping, "grade");
    return (origin){ source ? source : outer.source, grade ? grade : outer.grade, outer.lowered };
}

// An empty copy with room for count pairs.
static doc_node *mapping_like(arena *a, const doc_node *node, uint32_t count)
{
    doc_node *copy = arena_new(a, doc_node);
    *copy = (doc_node){ .kind = DOC_MAPPING, .place = node->place, .unrolled = 1, .height = 1 };
    copy->pairs = arena_array(a, doc_pair, count);
    return copy;
}

static void add_pair(doc_node *mapping, const char *key, sim_place key_place, doc_node *value)
{
    mapping->pairs[mapping->count++] = (doc_pair){ .key = key, .key_place = key_place, .value = value };
    mapping->unrolled += value->unrolled;
    if (mapping->height <= value->height) mapping->height = value->height + 1;
}

// The number as { value: ..., source: ..., grade: ... }, with what origin knows and it does not say itself.
static doc_node *number_with(arena *a, doc_node *number, origin from)
{
    const bool written = number->kind == DOC_MAPPING;
    if (written && document_find(number, "source")) from.source = NULL;
    if (from.lowered)
        from.grade = from.lowered;
    else if (written && document_find(number, "grade"))
        from.grade = NULL;
    if (!from.source && !from.grade) return number;
    doc_node *full = mapping_like(a, number, (written ? number->count : 1) + 2);
    if (!written) add_pair(full, "value", number->place, number);
    for (uint32_t i = 0; written && i < number->count; i++)
        if (!from.lowered || strcmp(number->pairs[i].key, "grade") != 0)
            add_pair(full, number->pairs[i].key, number->pairs[i].key_place, number->pairs[i].value);
    if (from.source) add_pair(full, "source", from.source->place, from.source);
    if (from.grade) add_pair(full, "grade", from.grade->place, from.grade);
    return full;
}

static doc_node *with_origins(arena *a, const bind_row *rows, const doc_node *mapping, origin outer);

static doc_node *value_with(arena *a, const bind_row *row, doc_node *value, origin from)
{
    if (!row) return value; // an unknown key, and "base"
    if (bind_is_number(row->type)) return number_with(a, value, from);
    if ((row->type == BIND_TYPE_STRUCT || row->type == BIND_TYPE_PART) && value->kind == DOC_MAPPING)
        return with_origins(a, row->rows, value, from);
    if (row->type != BIND_TYPE_LIST || value->kind != DOC_SEQUENCE) return value;
    doc_node *list = arena_new(a, doc_node);
    *list = *value;
    list->items = arena_array(a, doc_node *, value->count);
    list->unrolled = list->height = 1;
    for (uint32_t i = 0; i < value->count; i++) {
        doc_node *item = value->items[i];
        if (item->kind == DOC_MAPPING) item = with_origins(a, row->rows, item, from);
        list->items[i] = item;
        list->unrolled += item->unrolled;
        if (list->height <= item->height) list->height = item->height + 1;
    }
    return list;
}

// The same mapping with source and grade beside each number instead of once for all.
static doc_node *with_origins(arena *a, const bind_row *rows, const doc_node *mapping, origin outer)
{
    const origin from = origin_within(mapping, outer);
    doc_node *out = mapping_like(a, mapping, mapping->count);
    for (uint32_t i = 0; i < mapping->count; i++) {
        const doc_pair *pair = &mapping->pairs[i];
        if (bind_is_origin_key(pair->key)) continue;
        add_pair(out, pair->key, pair->key_place,
                 value_with(a, bind_find_row(rows, pair->key), pair->value, from));
    }
    return out;
}

static doc_node *merged(arena *a, const bind_row *rows, const doc_node *base, const doc_node *over);

// "gpu: h100-sxm" overridden by "gpu: { power: 650 W }" is the named part with that one key changed.
static doc_node *based_on(arena *a, doc_node *name, const doc_node *over)
{
    doc_node *out = mapping_like(a, over, over->count + 1);
    add_pair(out, "base", name->place, name);
    for (uint32_t i = 0; i < over->count; i++)
        add_pair(out, over->pairs[i].key, over->pairs[i].key_place, over->pairs[i].value);
    return out;
}

static doc_node *merged_value(arena *a, const bind_row *row, doc_node *base, doc_node *over)
{
    if (!row || over->kind != DOC_MAPPING) return over;
    if (row->type == BIND_TYPE_STRUCT && base->kind == DOC_MAPPING) return merged(a, row->rows, base, over);
    if (row->type != BIND_TYPE_PART || document_find(over, "base")) return over;
    if (base->kind == DOC_MAPPING) return merged(a, row->rows, base, over);
    return base->kind == DOC_SCALAR ? based_on(a, base, over) : over;
}

static doc_node *merged(arena *a, const bind_row *rows, const doc_node *base, const doc_node *over)
{
    doc_node *out = mapping_like(a, over, base->count + over->count);
    for (uint32_t i = 0; i < base->count; i++) {
        const doc_pair *pair = &base->pairs[i];
        if (!document_find(over, pair->key)) add_pair(out, pair->key, pair->key_place, pair->value);
    }
    for (uint32_t i = 0; i < over->count; i++) {
        const doc_pair *pair = &over->pairs[i];
        doc_node *replaced = document_find(base, pair->key);
        doc_node *value = replaced ? merged_value(a, bind_find_row(rows, pair->key), replaced, pair->value)
                                   : pair->value;
        add_pair(out, pair->key, pair->key_place, value);
    }
    return out;
}

const doc_node *part_override(arena *a, const bind_row *rows, const doc_node *base, const doc_node *over)
{
    const origin none = { 0 };
    return merged(a, rows, with_origins(a, rows, base, none), with_origins(a, rows, over, none));
}

const doc_node *part_lower_grades(arena *a, const bind_row *rows, const doc_node *part, doc_node *grade)
{
    return with_origins(a, rows, part, (origin){ .lowered = grade });
}
