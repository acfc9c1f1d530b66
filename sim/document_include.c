// SPDX-License-Identifier: GPL-3.0-or-later
// Files, and the key "include": the keys of the named files come first, one file after the other, and a mapping's own keys
// win, mapping by mapping.
#include "sim/array.h"
#include "sim/document_build.h"
#include "sim/os.h"
#include "sim/words.h"
#include <stdlib.h>
#include <string.h>

typedef struct file_text {
    arena *arena;
    char *text, *copy;
    size_t length;
} file_text;

static bool copy_text(void *owner)
{
    file_text *f = owner;
    f->copy = arena_text_n(f->arena, f->text, f->length);
    return true;
}

static void free_text(void *owner)
{
    file_text *f = owner;
    free(f->text);
}

// The text of a file in the arena. os_read_file() hands out memory that must be freed also when the arena ends.
bool doc_read_text(arena *a, const char *path, const sim_place *where, char **copy, size_t *length,
                   sim_error *error)
{
    file_text f = { .arena = a };
    if (!os_read_file(path, DOCUMENT_BYTES_MAX, &f.text, &f.length, where, error)) return false;
    const bool fine = arena_guard(a, copy_text, free_text, &f);
    *copy = f.copy;
    *length = f.length;
    return fine;
}

// "a.yaml -> b.yaml -> a.yaml": from the file that is met again, so that the chain shows the circle alone.
static bool fail_cycle(arena *a, const doc_source *again, const doc_source *includer, const sim_place *where,
                       sim_error *error)
{
    const char *chain = again->file;
    for (const doc_source *s = includer; s != again; s = s->includer)
        chain = arena_format(a, "%s -> %s", s->file, chain);
    return sim_fail(error, SIM_EXIT_INPUT, where, "files include each other: %s -> %s", again->file, chain);
}

static bool check_chain(arena *a, const char *real_path, const doc_source *includer, const sim_place *where,
                        sim_error *error)
{
    uint32_t depth = 0;
    for (const doc_source *s = includer; s; s = s->includer, depth++)
        if (s->real_path && strcmp(s->real_path, real_path) == 0)
            return fail_cycle(a, s, includer, where, error);
    if (depth > DOCUMENT_INCLUDE_DEPTH_MAX)
        return sim_fail(error, SIM_EXIT_INPUT, where, "files include each other more than %d deep",
                        DOCUMENT_INCLUDE_DEPTH_MAX);
    return true;
}

bool doc_load_file(doc_load *load, const char *path, const doc_source *includer, uint32_t depth,
                   const sim_place *where, doc_source *source, doc_node **root, sim_error *error)
{
    arena *a = load->arena;
    char directory[OS_PATH_SIZE], real_path[OS_PATH_SIZE], *text;
    size_t length;
    if (!os_directory_of(directory, sizeof(directory), path))
        return sim_fail(error, SIM_EXIT_INPUT, where, "the path of a file is longer than %d bytes",
                        OS_PATH_SIZE);
    if (!os_real_path(path, real_path, sizeof(real_path)))
        memcpy(real_path, "", 1); // it does not exist, which reading it will say
    if (!check_chain(a, real_path, includer, where, error)) return false;
    if (!doc_read_text(a, path, where, &text, &length, error)) return false;
    *source = (doc_source){ .file = arena_text(a, path),
                            .text = text,
                            .length = length,
                            .start = doc_mark_length(text, length),
                            .directory = arena_text(a, directory),
                            .real_path = arena_text(a, real_path),
                            .includer = includer };
    return doc_read_yaml(load, source, depth, root, error);
}

// ---- merging

static doc_node *merge(doc_load *load, const doc_node *under, const doc_node *over, uint32_t depth,
                       sim_error *error);

// The pair that stands for both: the upper value, or both values merged if they are mappings.
static bool merge_pair(doc_load *load, doc_pair *under, const doc_pair *over, uint32_t depth,
                       sim_error *error)
{
    bool both = under->value->kind == DOC_MAPPING && over->value->kind == DOC_MAPPING;
    under->key_place = over->key_place;
    under->value = both ? merge(load, under->value, over->value, depth + 1, error) : over->value;
    return under->value != NULL;
}

static doc_node *merge(doc_load *load, const doc_node *under, const doc_node *over, uint32_t depth,
                       sim_error *error)
{
    doc_pairs pairs = { 0 };
    for (uint32_t i = 0; i < under->count; i++)
        doc_pairs_add(&pairs, load->arena, &under->pairs[i]);
    for (uint32_t i = 0; i < over->count; i++) {
        doc_pair *same = doc_pairs_find(&pairs, over->pairs[i].key);
        if (!same)
            doc_pairs_add(&pairs, load->arena, &over->pairs[i]);
        else if (!merge_pair(load, same, &over->pairs[i], depth, error))
            return NULL;
    }
    doc_node *merged = doc_node_create(load, DOC_MAPPING, &over->place, error);
    if (!merged) return NULL;
    merged->pairs = pairs.items;
    merged->count = pairs.count;
    for (uint32_t i = 0; i < pairs.count; i++)
        if (!doc_node_count_child(merged, depth, pairs.items[i].value, &over->place, error)) return NULL;
    return merged;
}

// ---- the key

static bool include_file(doc_load *load, const doc_source *source, const doc_node *name, uint32_t depth,
                         doc_node **merged, sim_error *error)
{
    char path[OS_PATH_SIZE], shown[WORDS_SHOWN_SIZE];
    const sim_place *where = &name->place;
    if (name->kind != DOC_SCALAR || !*name->scalar)
        return sim_fail(error, SIM_EXIT_INPUT, where, "include needs the name of a file, or a list of names");
    if (!source->directory)
        return sim_fail(error, SIM_EXIT_INPUT, where, "include is possible in files only");
    if (load->includes++ == DOCUMENT_INCLUDES_MAX)
        return sim_fail(error, SIM_EXIT_INPUT, where, "more than %d files are included",
                        DOCUMENT_INCLUDES_MAX);
    if (!os_join_path(path, sizeof(path), source->directory, name->scalar))
        return sim_fail(error, SIM_EXIT_INPUT, where, "the path of \"%s\" is longer than %d bytes",
                        words_show(shown, name->scalar), OS_PATH_SIZE);
    doc_source included;
    doc_node *root;
    if (!doc_load_file(load, path, source, depth, where, &included, &root, error)) return false;
    *array_push(&load->included, load->arena) = included.file;
    if (root->kind != DOC_MAPPING)
        return sim_fail(error, SIM_EXIT_INPUT, where, "\"%s\" holds %s; an included file must hold a mapping",
                        path, document_kind_name(root->kind));
    *merged = merge(load, *merged, root, depth, error);
    return *merged != NULL;
}

bool doc_include(doc_load *load, const doc_source *source, doc_node *mapping, uint32_t depth,
                 sim_error *error)
{
    doc_node *merged = doc_node_create(load, DOC_MAPPING, &mapping->place, error);
    if (!merged) return false;
    doc_node own = *mapping;
    own.pairs = arena_array(load->arena, doc_pair, mapping->count);
    own.count = 0;
    for (uint32_t i = 0; i < mapping->count; i++) {
        const doc_pair *pair = &mapping->pairs[i];
        if (strcmp(pair->key, "include") != 0) {
            own.pairs[own.count++] = *pair;
            continue;
        }
        const doc_node *value = pair->value;
        doc_node *const *names = value->kind == DOC_SEQUENCE ? value->items : &pair->value;
        uint32_t count = value->kind == DOC_SEQUENCE ? value->count : 1;
        for (uint32_t k = 0; k < count; k++)
            if (!include_file(load, source, names[k], depth, &merged, error)) return false;
    }
    merged = merge(load, merged, &own, depth, error);
    if (!merged) return false;
    *mapping = *merged; // in place, for an alias may already know its address
    return true;
}
