// SPDX-License-Identifier: GPL-3.0-or-later
// --set path=value. What stands on the path is copied before it is changed, so that an alias elsewhere keeps its value.
#include "sim/array.h"
#include "sim/document_build.h"
#include "sim/words.h"
#include <string.h>

typedef struct set_step { // ".key" or "[index]"
    const char *key;      // NULL: an index
    uint32_t index;
    size_t end; // of the path up to here, bytes into the argument
    sim_place place;
} set_step;

typedef struct set_path {
    doc_load load;
    const char *argument;
    size_t value_start;
    set_step steps[DOCUMENT_DEPTH_MAX];
    uint32_t count;
    document_is_name *is_name; // may be NULL
    const void *owner;
    sim_error *error;
} set_path;

static sim_place place_at(const set_path *p, size_t byte)
{
    sim_place place = sim_place_of_option("--set", p->argument);
    place.column += words_count_characters(p->argument, byte);
    return place;
}

static bool fail_form(const set_path *p, size_t byte, const char *reason)
{
    sim_place place = place_at(p, byte);
    sim_fail(p->error, SIM_EXIT_INPUT, &place, "%s", reason);
    return sim_hint(p->error, "a setting is a path, \"=\" and a value, such as plan.data=4");
}

// "[12]" at byte *at.
static bool take_index(set_path *p, size_t *at, set_step *step)
{
    const char *c = p->argument + *at + 1;
    uint32_t digits = 0;
    for (; '0' <= *c && *c <= '9' && digits < 9; c++, digits++)
        step->index = step->index * 10 + (uint32_t)(*c - '0');
    if (digits == 0 || *c != ']') return fail_form(p, *at, "a list's item is written as a number in [ ]");
    *at = (size_t)(c + 1 - p->argument);
    return true;
}

static bool take_word(set_path *p, size_t *at, set_step *step)
{
    size_t length = strcspn(p->argument + *at, ".[=");
    if (length == 0) return fail_form(p, *at, "a key is missing in the path");
    step->key = arena_text_n(p->load.arena, p->argument + *at, length);
    *at += length;
    return true;
}

// Cuts "a.b[3].c=value" into steps.
static bool split(set_path *p)
{
    size_t at = 0;
    if (!strchr(p->argument, '=')) return fail_form(p, strlen(p->argument), "\"=\" and a value are missing");
    do {
        if (p->count == DOCUMENT_DEPTH_MAX)
            return fail_form(p, at, "the path is deeper than a document can be");
        bool index = p->argument[at] == '[' && p->count > 0;
        if (p->argument[at] == '.' && p->count > 0) at++;
        set_step step = { .place = place_at(p, at) };
        if (index ? !take_index(p, &at, &step) : !take_word(p, &at, &step)) return false;
        step.end = at;
        p->steps[p->count++] = step;
        if (!strchr(".[=", p->argument[at])) return fail_form(p, at, "\".\", \"[\" or \"=\" is missing here");
    } while (p->argument[at] != '=');
    p->value_start = at + 1;
    return true;
}

// Says that what the path has reached before this step cannot be entered by it.
static bool fail_step(const set_path *p, uint32_t number, const doc_node *in)
{
    const set_step *step = &p->steps[number];
    int length = number ? (int)p->steps[number - 1].end : 0;
    const char *above = number ? p->argument : "the document";
    if (!number) length = (int)strlen(above);
    sim_fail(p->error, SIM_EXIT_INPUT, &step->place, "%.*s is %s, not %s", length, above,
             in ? document_kind_name(in->kind) : "not given", step->key ? "a mapping" : "a list");
    if (step->key && in && in->kind == DOC_SEQUENCE && number)
        sim_hint(p->error, "say which item: %.*s[0]", length, above);
    return false;
}

static bool opens(const set_path *p, uint32_t number, const doc_node *in)
{
    return p->is_name && number && in->kind == DOC_SCALAR &&
           p->is_name(p->owner, p->argument, p->steps[number - 1].end);
}

// { base: NAME } with room for one more pair; its place stays that of the name.
static doc_node *open_name(set_path *p, const doc_node *in)
{
    doc_node *name = doc_node_create(&p->load, DOC_SCALAR, &in->place, p->error);
    doc_node *opened = name ? doc_node_create(&p->load, DOC_MAPPING, &in->place, p->error) : NULL;
    if (!opened) return NULL;
    *name = *in;
    opened->pairs = arena_array(p->load.arena, doc_pair, 2);
    opened->pairs[0] = (doc_pair){ .key = "base", .key_place = in->place, .value = name };
    opened->count = 1;
    return opened;
}

// A copy of in with room for one more pair; an empty mapping if there is nothing yet.
static doc_node *copy_mapping(set_path *p, uint32_t number, const doc_node *in)
{
    const set_step *step = &p->steps[number];
    if (in && !doc_node_is_empty(in) && in->kind != DOC_MAPPING) {
        if (opens(p, number, in)) return open_name(p, in);
        fail_step(p, number, in);
        return NULL;
    }
    bool given = in && in->kind == DOC_MAPPING;
    doc_node *copy = doc_node_create(&p->load, DOC_MAPPING, given ? &in->place : &step->place, p->error);
    if (!copy) return NULL;
    copy->pairs = arena_array(p->load.arena, doc_pair, given ? in->count + 1 : 1);
    if (given && in->count) memcpy(copy->pairs, in->pairs, in->count * sizeof(doc_pair));
    copy->count = given ? in->count : 0;
    return copy;
}

static doc_node *copy_sequence(set_path *p, uint32_t number, const doc_node *in)
{
    const set_step *step = &p->steps[number];
    if (!in || in->kind != DOC_SEQUENCE) {
        fail_step(p, number, in);
        return NULL;
    }
    if (step->index >= in->count) {
        sim_fail(p->error, SIM_EXIT_INPUT, &step->place, "%.*s has %u item%s; there is no [%u]",
                 (int)p->steps[number - 1].end, p->argument, in->count, in->count == 1 ? "" : "s",
                 step->index);
        sim_hint(p->error, "items are counted from 0");
        return NULL;
    }
    doc_node *copy = doc_node_create(&p->load, DOC_SEQUENCE, &in->place, p->error);
    if (!copy) return NULL;
    copy->items = arena_array(p->load.arena, doc_node *, in->count);
    memcpy(copy->items, in->items, in->count * sizeof(doc_node *));
    copy->count = in->count;
    return copy;
}

// Counts all children anew: one of them may be larger and deeper than before.
static bool recount(set_path *p, uint32_t number, doc_node *node)
{
    const sim_place *where = &p->steps[number].place;
    for (uint32_t i = 0; i < node->count; i++) {
        const doc_node *child = node->kind == DOC_SEQUENCE ? node->items[i] : node->pairs[i].value;
        if (!doc_node_count_child(node, number + 1, child, where, p->error)) return false;
    }
    return true;
}

// The changed copy of in, which the first number steps have reached; NULL after a failure.
static doc_node *with_value(set_path *p, uint32_t number, const doc_node *in, doc_node *value)
{
    if (number == p->count) return value;
    const set_step *step = &p->steps[number];
    doc_node *copy = step->key ? copy_mapping(p, number, in) : copy_sequence(p, number, in);
    if (!copy) return NULL;
    doc_node **slot = NULL;
    if (!step->key) {
        slot = &copy->items[step->index];
    } else {
        uint32_t at = 0;
        while (at < copy->count && strcmp(copy->pairs[at].key, step->key) != 0)
            at++;
        if (at == copy->count) copy->pairs[copy->count++] = (doc_pair){ .key = step->key };
        // What lies above the value that is set still stands where it was written, unless the setting makes it another.
        const doc_node *older = copy->pairs[at].value;
        if (!older || older->kind != DOC_MAPPING || number + 1 == p->count)
            copy->pairs[at].key_place = step->place;
        slot = &copy->pairs[at].value;
    }
    *slot = with_value(p, number + 1, *slot, value);
    return *slot && recount(p, number, copy) ? copy : NULL;
}

bool document_set(arena *a, document *doc, const char *argument, sim_error *error)
{
    return document_set_opening(a, doc, argument, NULL, NULL, error);
}

bool document_set_opening(arena *a, document *doc, const char *argument, document_is_name *is_name,
                          const void *owner, sim_error *error)
{
    set_path p = { .load = { .arena = a },
                   .argument = arena_text(a, argument),
                   .is_name = is_name,
                   .owner = owner,
                   .error = error };
    if (!split(&p)) return false;
    if (!p.argument[p.value_start + strspn(p.argument + p.value_start, " ")])
        return fail_form(&p, p.value_start, "a value is missing behind \"=\"");
    sim_place start = place_at(&p, p.value_start);
    doc_source source = { .file = "--set",
                          .text = p.argument,
                          .length = strlen(p.argument),
                          .start = p.value_start,
                          .start_column = start.column - 1 };
    doc_node *value;
    if (!doc_read_yaml(&p.load, &source, p.count + 1, &value, error)) return false;
    doc_node *root = with_value(&p, 0, doc->root, value);
    if (!root) return false;
    doc->root = root;
    return true;
}
