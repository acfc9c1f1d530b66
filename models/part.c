// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/part.h"
#include "models/part_override.h"
#include "sim/check.h"
#include "sim/os.h"
#include "sim/words.h"
#include <stdlib.h>
#include <string.h>

enum { NAME_LENGTH_MAX = 100, NAMES_SHOWN = 12 };

// ---- where the catalogue is

static bool use_directory(arena *a, const char *directory, catalogue *out)
{
    if (!os_is_directory(directory)) return false;
    out->directory = arena_text(a, directory);
    return true;
}

bool catalogue_find(arena *a, const char *given, catalogue *out, sim_error *error)
{
    if (given) {
        if (use_directory(a, given, out)) return true;
        sim_fail(error, SIM_EXIT_INPUT, NULL, "the catalogue \"%s\" is not a directory", given);
        return sim_hint(error,
                        "a catalogue is a directory that holds gpus, kernels, nodes, link_costs, nics, "
                        "nic_costs, switches, cables, systems, llms, collectives");
    }
    const char *variable = getenv("WINDTUNNEL_CATALOGUE");
    if (variable && *variable) {
        if (use_directory(a, variable, out)) return true;
        return sim_fail(error, SIM_EXIT_INPUT, NULL,
                        "the catalogue \"%s\" that WINDTUNNEL_CATALOGUE names is not a directory", variable);
    }
    char program[OS_PATH_SIZE], installed[OS_PATH_SIZE] = "";
    if (os_program_directory(program, sizeof program) &&
        os_join_path(installed, sizeof installed, program, "../share/windtunnel/catalogue") &&
        use_directory(a, installed, out))
        return true;
    if (use_directory(a, WINDTUNNEL_SOURCE_CATALOGUE, out)) return true;
    sim_fail(error, SIM_EXIT_INPUT, NULL, "there is no catalogue: neither \"%s\" nor \"%s\" is a directory",
             installed, WINDTUNNEL_SOURCE_CATALOGUE);
    return sim_hint(error, "give its directory, by --catalogue to the program, or set WINDTUNNEL_CATALOGUE");
}

int catalogue_names(arena *a, const catalogue *c, const char *folder, const char ***names)
{
    static const char suffix[] = ".yaml";
    char path[OS_PATH_SIZE];
    *names = NULL;
    if (!os_join_path(path, sizeof path, c->directory, folder)) return -1;
    const int count = os_list_directory(path, suffix, NULL, 0);
    if (count <= 0) return count;
    char(*files)[OS_NAME_SIZE] = arena_alloc_array(a, sizeof *files, (size_t)count, 1);
    int listed = os_list_directory(path, suffix, files, count);
    if (listed < 0) return -1;
    if (listed > count) listed = count; // files have joined since: the first are listed
    *names = arena_array(a, const char *, (size_t)listed);
    for (int i = 0; i < listed; i++)
        (*names)[i] = arena_text_n(a, files[i], strlen(files[i]) - (sizeof suffix - 1));
    return listed;
}

// ---- a part by its name

// One part on the way from a name to the part that does without a base.
typedef struct part_chain {
    const char *name;
    const struct part_chain *up; // the part that named this one as its base
} part_chain;

typedef struct part_lookup {
    arena *arena;
    const catalogue *catalogue;
    const bind_row *row; // the key's: says folder and rows, and what a part is called in messages
    sim_error *error;
} part_lookup;

static const doc_node *resolve(const part_lookup *l, const doc_node *node, const part_chain *up);

static bool is_name(const char *text)
{
    const size_t length = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-");
    return length > 0 && length <= NAME_LENGTH_MAX && !text[length] && text[0] != '.';
}

// Hints at the nearest name and lists what there is.
static void hint_names(const part_lookup *l, const char *name)
{
    const char **names, *nearest;
    char list[800];
    const int count = catalogue_names(l->arena, l->catalogue, l->row->folder, &names);
    if (count <= 0) {
        sim_hint(l->error, "the catalogue %s has no %s", l->catalogue->directory, l->row->folder);
        return;
    }
    words_list(list, sizeof list, names, (uint32_t)count, NAMES_SHOWN);
    nearest = words_nearest(name, names, (uint32_t)count);
    if (nearest)
        sim_hint(l->error, "did you mean \"%s\"? %s: %s", nearest, l->row->folder, list);
    else
        sim_hint(l->error, "%s: %s", l->row->folder, list);
}

static const doc_node *refuse_name(const part_lookup *l, const doc_node *node, const char *format)
{
    char shown[WORDS_SHOWN_SIZE];
    sim_fail(l->error, SIM_EXIT_INPUT, &node->place, format, l->row->key, words_show(shown, node->scalar));
    hint_names(l, node->scalar);
    return NULL;
}

// "a -> b -> a": the chain is walked from its newest part up, so the text grows at its front.
static const doc_node *refuse_circle(const part_lookup *l, const doc_node *node, const part_chain *chain)
{
    const char *circle = node->scalar;
    for (const part_chain *c = chain;; c = c->up) {
        circle = arena_format(l->arena, "%s -> %s", c->name, circle);
        if (strcmp(c->name, node->scalar) == 0) break;
    }
    sim_fail(l->error, SIM_EXIT_INPUT, &node->place, "the bases of %s \"%s\" run in a circle: %s",
             l->row->key, node->scalar, circle);
    return NULL;
}

static const doc_node *resolve_name(const part_lookup *l, const doc_node *node, const part_chain *up)
{
    if (!is_name(node->scalar)) return refuse_name(l, node, "%s \"%s\" is not a name of the catalogue");
    for (const part_chain *c = up; c; c = c->up)
        if (strcmp(c->name, node->scalar) == 0) return refuse_circle(l, node, up);
    char folder[OS_PATH_SIZE], path[OS_PATH_SIZE];
    const char *file = arena_format(l->arena, "%s.yaml", node->scalar);
    if (!os_join_path(folder, sizeof folder, l->catalogue->directory, l->row->folder) ||
        !os_join_path(path, sizeof path, folder, file) || !os_exists(path))
        return refuse_name(l, node, "unknown %s \"%s\"");
    document doc;
    if (!document_load(l->arena, path, &doc, l->error)) return NULL;
    if (doc.root->kind != DOC_MAPPING) {
        sim_fail(l->error, SIM_EXIT_INPUT, &doc.root->place, "a part of the catalogue is a mapping, not %s",
                 document_kind_name(doc.root->kind));
        return NULL;
    }
    const part_chain chain = { node->scalar, up };
    return resolve(l, doc.root, &chain);
}

static const doc_node *without_base(arena *a, const doc_node *mapping)
{
    doc_node *out = arena_new(a, doc_node);
    *out = *mapping;
    out->pairs = arena_array(a, doc_pair, mapping->count);
    out->count = 0;
    for (uint32_t i = 0; i < mapping->count; i++)
        if (strcmp(mapping->pairs[i].key, "base") != 0 && strcmp(mapping->pairs[i].key, "base_grade") != 0)
            out->pairs[out->count++] = mapping->pairs[i];
    return out;
}

// What is measured of one part may only be assumed of another that starts from it.
static bool lower_grades(const part_lookup *l, const doc_node *node, const doc_node **base)
{
    doc_node *grade = document_find(node, "base_grade");
    if (!grade) return true;
    if (grade->kind != DOC_SCALAR || strcmp(grade->scalar, bind_grade_name(GRADE_ASSUMED)) != 0) {
        sim_fail(l->error, SIM_EXIT_INPUT, &grade->place, "base_grade is assumed, or is left out");
        sim_hint(l->error, "without it the numbers of the base keep their grades");
        return false;
    }
    *base = part_lower_grades(l->arena, l->row->rows, *base, grade);
    return true;
}

// The mapping of a part with every base applied; NULL and the error when there is none.
static const doc_node *resolve(const part_lookup *l, const doc_node *node, const part_chain *up)
{
    if (node->kind == DOC_SCALAR) return resolve_name(l, node, up);
    if (node->kind == DOC_SEQUENCE) {
        sim_fail(l->error, SIM_EXIT_INPUT, &node->place, "%s is a name of the catalogue or a mapping, not %s",
                 l->row->key, document_kind_name(node->kind));
        return NULL;
    }
    const doc_node *name = document_find(node, "base");
    if (!name) return node;
    if (name->kind != DOC_SCALAR) {
        sim_fail(l->error, SIM_EXIT_INPUT, &name->place, "base is a name of the catalogue, not %s",
                 document_kind_name(name->kind));
        return NULL;
    }
    const doc_node *base = resolve_name(l, name, up);
    if (!base || !lower_grades(l, node, &base)) return NULL;
    return part_override(l->arena, l->row->rows, base, without_base(l->arena, node));
}

bool part_read(bind_reader *r, const bind_row *row, const doc_node *node, void *out, sim_error *error)
{
    SIM_ASSERT(row->folder && row->rows);
    const part_lookup lookup = { bind_reader_arena(r), bind_reader_owner(r), row, error };
    const doc_node *mapping = resolve(&lookup, node, NULL);
    return mapping && bind_read_part(r, row, mapping, out, error);
}
