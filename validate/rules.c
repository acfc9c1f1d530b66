// SPDX-License-Identifier: GPL-3.0-or-later
#include "validate/rules.h"
#include "sim/check.h"
#include "sim/units.h"
#include "sim/words.h"
#include <string.h>

const char *const flop_counting_words[] = { "megatron-hardware", "megatron", "shape",     "shape-causal",
                                            "shape-hardware",    "6p",       "6p-causal", NULL };
static const char *const grades[] = { "documented", "assumed", NULL };

typedef enum rule_key {
    KEY_WHERE,
    KEY_UNLESS,
    KEY_EVIDENCE,
    KEY_GRADE,
    KEY_SET,
    KEY_UNKNOWN,
    KEY_CHOICES,
    KEY_CONVENTION,
    KEY_CONSTANT,
    KEY_CLUSTER,
    KEY_CLASS,
    KEY_HARNESS,
    KEY_SIZES_FROM,
    KEY_TOGETHER,
    KEY_COMPARE,
    KEY_FAULT
} rule_key;
static const char *const all_keys[] = { "where",      "unless",     "evidence", "grade",   "set",   "unknown",
                                        "choices",    "convention", "constant", "cluster", "class", "harness",
                                        "sizes_from", "together",   "compare",  "fault",   NULL };
const char *const rule_training_keys[] = { "where",   "unless",     "evidence", "grade",   "set",
                                           "choices", "convention", "constant", "unknown", NULL };
const char *const rule_collective_keys[] = { "where",   "unless", "evidence", "grade",      "set",
                                             "cluster", "class",  "harness",  "sizes_from", "together",
                                             "compare", "fault",  "unknown",  NULL };

static uint32_t count_words(const char *const *words)
{
    uint32_t count = 0;
    while (words[count])
        count++;
    return count;
}

static int find_word(const char *const *words, const char *text)
{
    for (int i = 0; words[i]; i++)
        if (strcmp(words[i], text) == 0) return i;
    return -1;
}

static bool fail_word(const sim_place *where, const char *what, const char *text, const char *const *words,
                      sim_error *error)
{
    char shown[WORDS_SHOWN_SIZE];
    sim_fail(error, SIM_EXIT_INPUT, where, "there is no %s \"%s\"", what, words_show(shown, text));
    return words_hint(error, text, words, count_words(words), count_words(words), "one of");
}

static bool is_kind(const doc_node *node, doc_kind kind, const char *what, sim_error *error)
{
    if (node->kind == kind) return true;
    return sim_fail(error, SIM_EXIT_INPUT, &node->place, "%s is %s here, not %s", what,
                    document_kind_name(kind), document_kind_name(node->kind));
}

// One text, or a list of them.
static bool read_texts(arena *a, const doc_node *node, text_list *out, sim_error *error)
{
    const uint32_t count = node->kind == DOC_SEQUENCE ? node->count : 1;
    for (uint32_t i = 0; i < count; i++) {
        const doc_node *item = node->kind == DOC_SEQUENCE ? node->items[i] : node;
        if (!is_kind(item, DOC_SCALAR, "this", error)) return false;
        *array_push(out, a) = item->scalar;
    }
    return true;
}

static bool read_patterns(arena *a, const doc_node *node, const char *const *columns, rule_pattern_array *out,
                          sim_error *error)
{
    if (!is_kind(node, DOC_MAPPING, "the choice of rows", error)) return false;
    for (uint32_t i = 0; i < node->count; i++) {
        const int column = find_word(columns, node->pairs[i].key);
        if (column < 0)
            return fail_word(&node->pairs[i].key_place, "column", node->pairs[i].key, columns, error);
        rule_pattern *pattern = array_push(out, a);
        pattern->column = (uint32_t)column;
        if (!read_texts(a, node->pairs[i].value, &pattern->any, error)) return false;
    }
    return true;
}

// Of a list "[a, b]", as --set takes it.
static bool read_sets(arena *a, const doc_node *node, rule *r, sim_error *error)
{
    if (!is_kind(node, DOC_MAPPING, "set", error)) return false;
    for (uint32_t i = 0; i < node->count; i++) {
        text_list values = { 0 };
        if (!read_texts(a, node->pairs[i].value, &values, error)) return false;
        const bool listed = node->pairs[i].value->kind == DOC_SEQUENCE;
        const char *text = listed ? "[" : "";
        for (uint32_t k = 0; k < values.count; k++)
            text = arena_format(a, "%s%s%s", text, k ? ", " : "", values.items[k]);
        *array_push(&r->set, a) = arena_format(a, "%s=%s%s", node->pairs[i].key, text, listed ? "]" : "");
    }
    return true;
}

static bool read_choices(arena *a, const doc_node *node, rule *r, sim_error *error)
{
    if (!is_kind(node, DOC_MAPPING, "choices", error)) return false;
    for (uint32_t i = 0; i < node->count; i++) {
        rule_choice *choice = array_push(&r->choices, a);
        choice->path = node->pairs[i].key;
        if (!read_texts(a, node->pairs[i].value, &choice->values, error)) return false;
        if (choice->values.count == 0)
            return sim_fail(error, SIM_EXIT_INPUT, &node->pairs[i].value->place,
                            "a choice of no value at all; leave \"%s\" out", choice->path);
    }
    return true;
}

static bool read_word(const doc_node *node, const char *what, const char *const *words, int *out,
                      sim_error *error)
{
    if (!is_kind(node, DOC_SCALAR, what, error)) return false;
    *out = find_word(words, node->scalar);
    return *out >= 0 || fail_word(&node->place, what, node->scalar, words, error);
}

static bool read_text(const doc_node *node, const char *what, const char **out, sim_error *error)
{
    if (!is_kind(node, DOC_SCALAR, what, error)) return false;
    *out = node->scalar;
    return true;
}

static bool read_harness(const doc_node *node, rule *r, sim_error *error)
{
    static const char *const parts[] = { "more", "least", NULL };
    if (!is_kind(node, DOC_MAPPING, "harness", error)) return false;
    r->has_harness = true;
    for (uint32_t i = 0; i < node->count; i++) {
        const doc_pair *pair = &node->pairs[i];
        const int part = find_word(parts, pair->key);
        if (part < 0) return fail_word(&pair->key_place, "key of a harness", pair->key, parts, error);
        if (!is_kind(pair->value, DOC_SCALAR, pair->key, error) ||
            !units_parse(UNIT_TIME, pair->value->scalar, part == 0 ? &r->harness_more_s : &r->harness_least_s,
                         &pair->value->place, error))
            return false;
    }
    return true;
}

typedef struct rule_reader {
    arena *arena;
    const rule_language *language;
    sim_error *error;
} rule_reader;

// A key that the language has. The grade is for readers of the file: nothing depends on it.
static bool read_value(const rule_reader *q, rule_key key, const doc_node *node, rule *r)
{
    arena *a = q->arena;
    sim_error *error = q->error;
    int grade;
    switch (key) {
    case KEY_WHERE: return read_patterns(a, node, q->language->columns, &r->where, error);
    case KEY_UNLESS: return read_patterns(a, node, q->language->columns, &r->unless, error);
    case KEY_EVIDENCE: return read_text(node, "evidence", &r->evidence, error);
    case KEY_GRADE: return read_word(node, "grade", grades, &grade, error);
    case KEY_SET: return read_sets(a, node, r, error);
    case KEY_UNKNOWN: return read_text(node, "unknown", &r->unknown, error);
    case KEY_CHOICES: return read_choices(a, node, r, error);
    case KEY_CONVENTION: return read_word(node, "convention", flop_counting_words, &r->convention, error);
    case KEY_CONSTANT:
        return is_kind(node, DOC_SCALAR, "constant", error) &&
               units_parse(UNIT_FLOPS, node->scalar, &r->constant_flops, &node->place, error);
    case KEY_CLUSTER: return read_text(node, "cluster", &r->cluster, error);
    case KEY_CLASS: return read_word(node, "class", q->language->classes, &r->class, error);
    case KEY_HARNESS: return read_harness(node, r, error);
    case KEY_SIZES_FROM:
        return is_kind(node, DOC_SCALAR, "sizes_from", error) &&
               units_parse_bytes(node->scalar, &r->sizes_from, &node->place, error);
    case KEY_TOGETHER: return read_text(node, "together", &r->together, error);
    case KEY_COMPARE: return read_text(node, "compare", &r->compare, error);
    case KEY_FAULT: return read_text(node, "fault", &r->fault, error);
    }
    return false;
}

static bool read_key(const rule_reader *q, const doc_pair *pair, rule *r)
{
    const char *const *keys = q->language->keys;
    if (find_word(keys, pair->key) < 0)
        return fail_word(&pair->key_place, "key of a rule", pair->key, keys, q->error);
    return read_value(q, (rule_key)find_word(all_keys, pair->key), pair->value, r);
}

static bool read_rule(const rule_reader *q, const doc_node *node, rule *r)
{
    r->convention = r->class = -1;
    if (!is_kind(node, DOC_MAPPING, "a rule", q->error)) return false;
    for (uint32_t i = 0; i < node->count; i++)
        if (!read_key(q, &node->pairs[i], r)) return false;
    const bool needs_none = (r->unknown || r->fault) && !r->set.count &&
                            !r->choices.count; // it claims nothing
    if (r->evidence || needs_none) return true;
    return sim_fail(q->error, SIM_EXIT_INPUT, &node->place, "a rule without evidence");
}

bool rules_read(arena *a, const char *path, const rule_language *language, rule_array *out, sim_error *error)
{
    document doc;
    return document_load(a, path, &doc, error) && rules_take(a, &doc, language, out, error);
}

bool rules_take(arena *a, const document *doc, const rule_language *language, rule_array *out,
                sim_error *error)
{
    const rule_reader q = { .arena = a, .language = language, .error = error };
    if (!is_kind(doc->root, DOC_SEQUENCE, "a file of rules", error)) return false;
    for (uint32_t i = 0; i < doc->root->count; i++)
        if (!read_rule(&q, doc->root->items[i], array_push(out, a))) return false;
    return true;
}

bool rule_matches(const char *pattern, const char *text)
{
    const char *star = NULL, *from = text; // the latest star may stand for more
    while (*text) {
        if (*pattern == '*') {
            star = pattern++;
            from = text;
        } else if (*pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star + 1;
            text = ++from;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

static bool all_match(const rule_pattern_array *patterns, const char *const *fields)
{
    for (uint32_t i = 0; i < patterns->count; i++) {
        const rule_pattern *p = &patterns->items[i];
        uint32_t k = 0;
        while (k < p->any.count && !rule_matches(p->any.items[k], fields[p->column]))
            k++;
        if (k == p->any.count) return false;
    }
    return true;
}

bool rule_holds(const rule *r, const char *const *fields)
{
    return all_match(&r->where, fields) && !(r->unless.count && all_match(&r->unless, fields));
}
