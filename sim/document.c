// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/document.h"
#include "sim/array.h"
#include "sim/document_build.h"
#include <string.h>

enum { FEW_KEYS = 16 }; // up to here comparing each key is as fast as a hash

bool document_load(arena *a, const char *path, document *out, sim_error *error)
{
    doc_load load = { .arena = a };
    doc_source source;
    *out = (document){ 0 };
    if (!doc_load_file(&load, path, NULL, 1, NULL, &source, &out->root, error)) return false;
    out->file = source.file;
    out->text = source.text;
    out->text_length = source.length;
    out->included = load.included;
    return true;
}

bool document_parse(arena *a, const char *name, const char *text, size_t length, const char *directory,
                    document *out, sim_error *error)
{
    doc_load load = { .arena = a };
    *out = (document){ 0 };
    if (length > DOCUMENT_BYTES_MAX)
        return sim_fail(error, SIM_EXIT_INPUT, &(sim_place){ .file = name },
                        "the text has %zu bytes; at most %d are read", length, DOCUMENT_BYTES_MAX);
    doc_source source = { .file = arena_text(a, name),
                          .text = arena_text_n(a, text, length),
                          .length = length,
                          .start = doc_mark_length(text, length),
                          .directory = directory ? arena_text(a, directory) : NULL };
    if (!doc_read_yaml(&load, &source, 1, &out->root, error)) return false;
    out->file = source.file;
    out->text = source.text;
    out->text_length = length;
    out->included = load.included;
    return true;
}

static bool parse_json(arena *a, const doc_source *source, document *out, sim_error *error)
{
    doc_load load = { .arena = a };
    *out = (document){ .file = source->file, .text = source->text, .text_length = source->length };
    return doc_read_json(&load, source, &out->root, error);
}

bool document_load_json(arena *a, const char *path, const sim_place *where, document *out, sim_error *error)
{
    char *text;
    size_t length;
    *out = (document){ 0 };
    if (!doc_read_text(a, path, where, &text, &length, error)) return false;
    const doc_source source = {
        .file = arena_text(a, path), .text = text, .length = length, .start = doc_mark_length(text, length)
    };
    return parse_json(a, &source, out, error);
}

bool document_parse_json(arena *a, const char *name, const char *text, size_t length, document *out,
                         sim_error *error)
{
    if (length > DOCUMENT_BYTES_MAX)
        return sim_fail(error, SIM_EXIT_INPUT, &(sim_place){ .file = name },
                        "the text has %zu bytes; at most %d are read", length, DOCUMENT_BYTES_MAX);
    const doc_source source = { .file = arena_text(a, name),
                                .text = arena_text_n(a, text, length),
                                .length = length,
                                .start = doc_mark_length(text, length) };
    return parse_json(a, &source, out, error);
}

const doc_pair *document_find_pair(const doc_node *mapping, const char *key)
{
    if (mapping->kind != DOC_MAPPING) return NULL;
    for (uint32_t i = 0; i < mapping->count; i++)
        if (strcmp(mapping->pairs[i].key, key) == 0) return &mapping->pairs[i];
    return NULL;
}

doc_node *document_find(const doc_node *mapping, const char *key)
{
    const doc_pair *pair = document_find_pair(mapping, key);
    return pair ? pair->value : NULL;
}

const char *document_kind_name(doc_kind kind)
{
    static const char *const names[] = {
        [DOC_SCALAR] = "a single value", [DOC_SEQUENCE] = "a list", [DOC_MAPPING] = "a mapping"
    };
    SIM_ASSERT((size_t)kind < ARRAY_COUNT(names));
    return names[kind];
}

// ---- shared by document*.c

doc_pair *doc_pairs_find(const doc_pairs *pairs, const char *key)
{
    uint32_t found;
    if (pairs->index) return text_map_get(pairs->index, key, &found) ? &pairs->items[found] : NULL;
    for (uint32_t i = 0; i < pairs->count; i++)
        if (strcmp(pairs->items[i].key, key) == 0) return &pairs->items[i];
    return NULL;
}

void doc_pairs_add(doc_pairs *pairs, arena *a, const doc_pair *pair)
{
    *array_push(pairs, a) = *pair;
    if (pairs->count <= FEW_KEYS) return;
    if (!pairs->index) {
        pairs->index = text_map_create(a);
        for (uint32_t i = 0; i + 1 < pairs->count; i++)
            text_map_set(pairs->index, pairs->items[i].key, i);
    }
    text_map_set(pairs->index, pair->key, pairs->count - 1);
}

// It stands for no character: columns are counted behind it.
size_t doc_mark_length(const char *text, size_t length)
{
    static const char mark[] = "\xef\xbb\xbf";
    return length >= 3 && memcmp(text, mark, 3) == 0 ? 3 : 0;
}

bool document_is_null(const doc_node *node)
{
    if (node->kind != DOC_SCALAR || node->quoted) return false;
    return strcmp(node->scalar, "~") == 0 || strcmp(node->scalar, "null") == 0;
}

bool doc_node_is_empty(const doc_node *node)
{
    return node->kind == DOC_SCALAR && !node->quoted && !*node->scalar;
}

doc_node *doc_node_create(doc_load *load, doc_kind kind, const sim_place *place, sim_error *error)
{
    if (load->nodes == DOCUMENT_NODES_MAX) {
        sim_fail(error, SIM_EXIT_INPUT, place, "the document has more than 1,000,000 values");
        return NULL;
    }
    load->nodes++;
    doc_node *node = arena_new(load->arena, doc_node);
    node->kind = kind;
    node->place = *place;
    node->unrolled = node->height = 1;
    return node;
}

bool doc_node_count_child(doc_node *parent, uint32_t depth, const doc_node *child, const sim_place *where,
                          sim_error *error)
{
    if (depth + child->height > DOCUMENT_DEPTH_MAX)
        return sim_fail(error, SIM_EXIT_INPUT, where, "nested deeper than %d levels", DOCUMENT_DEPTH_MAX);
    if (child->unrolled > DOCUMENT_NODES_MAX - parent->unrolled)
        return sim_fail(error, SIM_EXIT_INPUT, where, "aliases unroll to more than 1,000,000 nodes");
    parent->unrolled += child->unrolled;
    if (parent->height < child->height + 1) parent->height = child->height + 1;
    return true;
}
