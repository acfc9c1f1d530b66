// SPDX-License-Identifier: GPL-3.0-or-later
// sim/document_build.h: what the files document*.c share and nobody else includes: the texts a document is read from, the
// limits they have in common, and mappings while they grow.
#pragma once
#include "sim/document.h"
#include "sim/map.h"

// One text: a file, a text in memory, or the value of --set.
typedef struct doc_source {
    const char *file; // as the user named it
    const char *text; // whole, in the arena
    size_t length;
    size_t start;                      // where YAML begins: behind "path=" of --set, behind a byte order mark
    uint32_t start_column;             // the characters before it that count
    const char *directory;             // of included files; NULL: includes are refused
    const char *real_path;             // to find cycles; NULL: not a file
    const struct doc_source *includer; // NULL: the main text
} doc_source;

// Shared by a text and everything it includes.
typedef struct doc_load {
    arena *arena;
    uint32_t nodes;     // made so far, at most DOCUMENT_NODES_MAX
    uint32_t includes;  // asked for so far, at most DOCUMENT_INCLUDES_MAX
    text_list included; // paths of those that were read
} doc_load;

// A mapping that grows. Keys are found by hash once there are many: a million keys must not take a million squared steps.
typedef struct doc_pairs {
    doc_pair *items;
    uint32_t count, capacity;
    text_map *index; // NULL: few keys
} doc_pairs;

doc_pair *doc_pairs_find(const doc_pairs *pairs, const char *key); // NULL: not there
void doc_pairs_add(doc_pairs *pairs, arena *a, const doc_pair *pair);

// A zeroed node of height and size one. NULL: the limit is reached, error is set.
doc_node *doc_node_create(doc_load *load, doc_kind kind, const sim_place *place, sim_error *error);
bool doc_node_is_empty(const doc_node *node); // a value that was left out
// Counts child into its parent, which stands at this depth (from 1). Refuses what grows too large or too deep, at where.
bool doc_node_count_child(doc_node *parent, uint32_t depth, const doc_node *child, const sim_place *where,
                          sim_error *error);

// document.c: bytes of the byte order mark that a text may begin with.
size_t doc_mark_length(const char *text, size_t length);
// document_yaml.c: the text of source to a tree whose root stands at this depth (from 1).
bool doc_read_yaml(doc_load *load, const doc_source *source, uint32_t depth, doc_node **root,
                   sim_error *error);
// document_json.c: the same of JSON, whose root stands at depth 1.
bool doc_read_json(doc_load *load, const doc_source *source, doc_node **root, sim_error *error);
// document_include.c: the text of a file, copied into the arena. where: who names it, or NULL.
bool doc_read_text(arena *a, const char *path, const sim_place *where, char **copy, size_t *length,
                   sim_error *error);
// A file, read whole. where: who names it, or NULL.
bool doc_load_file(doc_load *load, const char *path, const doc_source *includer, uint32_t depth,
                   const sim_place *where, doc_source *source, doc_node **root, sim_error *error);
// Replaces the key "include" of a mapping by the keys of the files it names.
bool doc_include(doc_load *load, const doc_source *source, doc_node *mapping, uint32_t depth,
                 sim_error *error);
