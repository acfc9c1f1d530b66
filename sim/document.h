// SPDX-License-Identifier: GPL-3.0-or-later
// sim/document.h: a YAML file as a tree with places (libyaml). Aliases share the node they name. A mapping may carry
// "include: FILE" or a list of files: their keys come first and the mapping's own keys win, mapping by mapping; paths
// are relative to the file that names them. Every text is kept, so that a message can quote its line.
// Refused with place: bytes that are no UTF-8, syntax, duplicate keys, keys that are not plain scalars, aliases to
// nowhere or to a node that contains them, merge keys, tags other than the standard ones, several documents in a file,
// no document at all, cyclic includes, nesting deeper than DOCUMENT_DEPTH_MAX, more than DOCUMENT_NODES_MAX nodes with
// aliases unrolled, more than DOCUMENT_INCLUDES_MAX included files, files larger than DOCUMENT_BYTES_MAX.
#pragma once
#include "sim/array.h"
#include "sim/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    DOCUMENT_DEPTH_MAX = 64, // across includes
    DOCUMENT_NODES_MAX = 1000000,
    DOCUMENT_INCLUDES_MAX = 256,     // files read for one document, counted each time
    DOCUMENT_INCLUDE_DEPTH_MAX = 16, // files that include one another
    DOCUMENT_BYTES_MAX = 16 * 1024 * 1024
};

typedef enum doc_kind { DOC_SCALAR, DOC_SEQUENCE, DOC_MAPPING } doc_kind;
typedef struct doc_node doc_node;
typedef struct doc_pair {
    const char *key;
    sim_place key_place;
    doc_node *value;
} doc_pair;

struct doc_node {
    doc_kind kind;
    bool quoted; // a scalar in quotes is text, never a number, boolean or null
    sim_place place;
    const char *scalar; // DOC_SCALAR: without quotes; "" for an empty value
    doc_node **items;   // DOC_SEQUENCE
    doc_pair *pairs;    // DOC_MAPPING, in the order of the text (included keys first)
    uint32_t count;     // items or pairs
    uint32_t unrolled;  // nodes below and including this one with aliases unrolled
    uint32_t height;    // levels below and including this one with aliases unrolled
};

typedef struct document {
    doc_node *root;
    const char *file; // as the user named it
    const char *text; // of the main file
    size_t text_length;
    text_list included; // paths of the files it includes; what a file includes stands before it
} document;

// Reads path, follows includes. Everything lives in the arena.
bool document_load(arena *a, const char *path, document *out, sim_error *error);
// The same from memory; name stands in messages, includes are relative to directory (NULL: includes are refused).
bool document_parse(arena *a, const char *name, const char *text, size_t length, const char *directory,
                    document *out, sim_error *error);
// The same tree of strict JSON (RFC 8259), where no key includes, escapes are JSON's, and null, numbers, true and false are
// scalars without quotes. NaN, Infinity and -Infinity, which Python writes, are kept so. where: who names the file, or NULL.
bool document_load_json(arena *a, const char *path, const sim_place *where, document *out, sim_error *error);
bool document_parse_json(arena *a, const char *name, const char *text, size_t length, document *out,
                         sim_error *error);
// --set path=value: "plan.data=4", "cluster.nodes[1].count=8". The value is YAML ("{a: 1}" too) and its place is
// argument itself (file "--set"). Makes mappings on the way that do not exist; refuses a path through a scalar or an
// item beyond the end of a list.
bool document_set(arena *a, document *doc, const char *argument, sim_error *error);
// Is the value at a path ("cluster.node", the first length bytes) a name that stands for a mapping?
typedef bool document_is_name(const void *owner, const char *path, size_t length);
// The same, but a path that leads into a name opens it: "node: x" becomes "node: { base: x }" with the key below it.
bool document_set_opening(arena *a, document *doc, const char *argument, document_is_name *is_name,
                          const void *owner, sim_error *error);
const doc_pair *document_find_pair(const doc_node *mapping,
                                   const char *key); // NULL: no such key or no mapping
// Is it null, said in a word (null or ~) rather than left empty?
bool document_is_null(const doc_node *node);
doc_node *document_find(const doc_node *mapping, const char *key); // its value
const char *document_kind_name(doc_kind kind);                     // "a single value", "a list", "a mapping"
