// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/table_file.h"
#include "sim/csv.h"
#include "sim/os.h"
#include <string.h>

// A copy of the mapping in which one key has another value, and perhaps another name, which no other pair keeps.
static doc_node *with_pair(arena *a, const doc_node *mapping, const char *key, const char *name,
                           doc_node *value)
{
    doc_node *copy = arena_new(a, doc_node);
    *copy = *mapping;
    copy->pairs = arena_array(a, doc_pair, mapping->count);
    copy->count = 0;
    for (uint32_t i = 0; i < mapping->count; i++) {
        doc_pair pair = mapping->pairs[i];
        const bool is_meant = strcmp(pair.key, key) == 0;
        if (!is_meant && strcmp(pair.key, name) == 0) continue; // null, or it would have been refused
        if (is_meant) {
            copy->unrolled += value->unrolled - pair.value->unrolled;
            if (copy->height <= value->height) copy->height = value->height + 1;
            pair.key = name;
            pair.value = value;
        }
        copy->pairs[copy->count++] = pair;
    }
    return copy;
}

// The same deep below: keys lead from the mapping to the one that has the key.
static doc_node *with_pair_below(arena *a, const doc_node *mapping, const char *const *keys,
                                 const table_file *table, doc_node *list)
{
    if (!*keys) return with_pair(a, mapping, table->key, table->list, list);
    doc_node *below = with_pair_below(a, document_find(mapping, *keys), keys + 1, table, list);
    return with_pair(a, mapping, *keys, *keys, below);
}

// What says of the whole file that it cannot be read stands where the file is named.
static bool fail_at(const table_file *table, const sim_place *where, sim_error *error)
{
    const sim_error placeless = *error;
    if (*error->file) return false;
    sim_error_clear(error);
    sim_fail(error, placeless.exit_code, where, "%s", placeless.message);
    if (*placeless.hint) return sim_hint(error, "%s", placeless.hint);
    return sim_hint(error, "paths are relative to the file that names them; %s: %s", table->key,
                    table->example);
}

static bool read_list(arena *a, document *main, const table_file *table, const doc_node *file, doc_node **out,
                      sim_error *error)
{
    char directory[4096], path[4096];
    if (!os_directory_of(directory, sizeof directory, file->place.file) ||
        !os_join_path(path, sizeof path, directory, file->scalar))
        return sim_fail(error, SIM_EXIT_INPUT, &file->place, "the path of this file is too long");
    const size_t length = strlen(path);
    document doc = { 0 };
    if (length >= 4 && strcmp(path + length - 4, ".csv") == 0) {
        csv_reader *r = csv_open(a, path, NULL, error);
        if (!r || !csv_document(r, &doc, error)) return fail_at(table, &file->place, error);
    } else if (!document_load(a, path, &doc, error)) {
        return fail_at(table, &file->place, error);
    }
    for (uint32_t i = 0; i < doc.included.count; i++)
        *array_push(&main->included, a) = doc.included.items[i];
    *array_push(&main->included, a) = arena_text(a, path);
    *out = doc.root;
    return true;
}

static const char *path_of(arena *a, const table_file *table)
{
    const char *path = "";
    for (const char *const *key = table->mapping; *key; key++)
        path = arena_format(a, "%s%s.", path, *key);
    return arena_format(a, "%s%s", path, table->key);
}

bool table_file_inline(arena *a, document *doc, const table_file *table, sim_error *error)
{
    const doc_node *mapping = doc->root;
    for (const char *const *key = table->mapping; *key && mapping; key++)
        mapping = document_find(mapping, *key);
    const doc_node *file = mapping ? document_find(mapping, table->key) : NULL;
    if (!file || document_is_null(file)) return true;
    if (file->kind != DOC_SCALAR || !*file->scalar) {
        sim_fail(error, SIM_EXIT_INPUT, &file->place, "%s must be the name of a file", path_of(a, table));
        return sim_hint(error, "%s: %s", table->key, table->example);
    }
    const doc_node *given = document_find(mapping, table->list);
    if (given && !document_is_null(given)) {
        sim_fail(error, SIM_EXIT_INPUT, &file->place, "the %s are given twice: by %s and by %s", table->list,
                 table->key, table->list);
        return sim_hint(error, "leave one of them out");
    }
    doc_node *list;
    if (!read_list(a, doc, table, file, &list, error)) return false;
    doc->root = with_pair_below(a, doc->root, table->mapping, table, list);
    return true;
}
