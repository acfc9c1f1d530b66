// SPDX-License-Identifier: GPL-3.0-or-later
#include "validate/network_cases.h"
#include "sim/document.h"
#include "sim/units.h"
#include "sim/words.h"
#include "validate/rules.h"
#include <string.h>

const char *const network_answer_words[] = { "latency", "rate", "share", NULL };
const char *const network_role_words[] = { "held", "fit", NULL };

enum { KEYS = 11 };
static const char *const keys[KEYS] = { "where", "answer",   "set",  "less",     "times",  "size",
                                        "take",  "measured", "role", "evidence", "unknown" };

typedef struct case_reader {
    arena *a;
    const doc_node *node;
    network_case *out;
    sim_error *error;
} case_reader;

static bool is_kind(const doc_node *node, doc_kind kind, sim_error *error)
{
    if (node->kind == kind) return true;
    return sim_fail(error, SIM_EXIT_INPUT, &node->place, "this is %s here, not %s", document_kind_name(kind),
                    document_kind_name(node->kind));
}

static bool check_keys(const case_reader *r)
{
    char shown[WORDS_SHOWN_SIZE];
    for (uint32_t i = 0; i < r->node->count; i++) {
        const char *key = r->node->pairs[i].key;
        uint32_t k = 0;
        while (k < KEYS && strcmp(keys[k], key) != 0)
            k++;
        if (k < KEYS) continue;
        sim_fail(r->error, SIM_EXIT_INPUT, &r->node->pairs[i].key_place, "a case has no \"%s\"",
                 words_show(shown, key));
        return words_hint(r->error, key, keys, KEYS, KEYS, "it has");
    }
    return true;
}

// NULL where the key is not there or, with an error, no text.
static const doc_node *scalar_of(const case_reader *r, const char *key)
{
    const doc_node *node = document_find(r->node, key);
    return node && is_kind(node, DOC_SCALAR, r->error) ? node : NULL;
}

static bool read_text(const case_reader *r, const char *key, const char **out)
{
    const doc_node *node = scalar_of(r, key);
    if (node) *out = node->scalar;
    return !sim_failed(r->error);
}

static bool read_word(const case_reader *r, const char *key, const char *const *words, int *out)
{
    const doc_node *node = scalar_of(r, key);
    uint32_t count = 0;
    if (!node) return !sim_failed(r->error);
    for (; words[count]; count++)
        if (strcmp(words[count], node->scalar) == 0) {
            *out = (int)count;
            return true;
        }
    char shown[WORDS_SHOWN_SIZE];
    sim_fail(r->error, SIM_EXIT_INPUT, &node->place, "there is no %s \"%s\"", key,
             words_show(shown, node->scalar));
    return words_hint(r->error, node->scalar, words, count, count, "one of");
}

static bool read_fields(const case_reader *r, const char *key, network_field_array *out)
{
    const doc_node *node = document_find(r->node, key);
    if (!node) return true;
    if (!is_kind(node, DOC_MAPPING, r->error)) return false;
    for (uint32_t i = 0; i < node->count; i++) {
        if (!is_kind(node->pairs[i].value, DOC_SCALAR, r->error)) return false;
        *array_push(out, r->a) = (network_field){ node->pairs[i].key, node->pairs[i].value->scalar };
    }
    return true;
}

static bool read_sets(const case_reader *r, const char *key, text_list *out)
{
    network_field_array fields = { 0 };
    if (!read_fields(r, key, &fields)) return false;
    for (uint32_t i = 0; i < fields.count; i++)
        *array_push(out, r->a) = arena_format(r->a, "%s=%s", fields.items[i].column, fields.items[i].text);
    return true;
}

enum { NUMBERS_MAX = 99 }; // of one value

static bool refuse_number(const case_reader *r, const doc_node *node, const char *message)
{
    return sim_fail(r->error, SIM_EXIT_INPUT, &node->place, "%s", message);
}

static bool read_numbers(const case_reader *r)
{
    network_case *c = r->out;
    const doc_node *times = scalar_of(r, "times"), *take = scalar_of(r, "take"), *size = scalar_of(r, "size");
    uint64_t number = 1;
    if (sim_failed(r->error)) return false;
    c->times = 1.0;
    c->size_bytes = c->answer == ANSWER_LATENCY ? 2 : 1000000000;
    if ((times && !units_parse(UNIT_NONE, times->scalar, &c->times, &times->place, r->error)) ||
        (take && !units_parse_count(take->scalar, &number, &take->place, r->error)) ||
        (size && !units_parse_bytes(size->scalar, &c->size_bytes, &size->place, r->error)))
        return false;
    if (!(c->times > 0.0)) return refuse_number(r, times, "times must be above zero");
    if (number < 1 || number > NUMBERS_MAX) return refuse_number(r, take, "take must be 1 to 99");
    if (c->size_bytes == 0) return refuse_number(r, size, "size must be above zero");
    c->take = (uint32_t)number;
    return true;
}

static bool read_case(case_reader *r)
{
    network_case *c = r->out;
    if (!is_kind(r->node, DOC_MAPPING, r->error) || !check_keys(r)) return false;
    if (!read_fields(r, "where", &c->where) || !read_word(r, "answer", network_answer_words, &c->answer) ||
        !read_word(r, "role", network_role_words, &c->role) || !read_sets(r, "set", &c->set) ||
        !read_sets(r, "less", &c->less) || !read_text(r, "measured", &c->measured) ||
        !read_text(r, "evidence", &c->evidence) || !read_text(r, "unknown", &c->unknown) || !read_numbers(r))
        return false;
    if (c->where.count == 0)
        return sim_fail(r->error, SIM_EXIT_INPUT, &r->node->place,
                        "this case does not say for which rows it holds") ||
               sim_hint(r->error, "where: { metric: \"ib_write_lat*\" }");
    if (c->unknown || c->evidence) return true;
    return sim_fail(r->error, SIM_EXIT_INPUT, &r->node->place, "this case does not say what it rests on") ||
           sim_hint(r->error, "evidence: where it is known from, or unknown: why it is not played");
}

bool network_cases_read(arena *a, const char *path, network_case_array *out, sim_error *error)
{
    document doc;
    if (!document_load(a, path, &doc, error) || !is_kind(doc.root, DOC_SEQUENCE, error)) return false;
    for (uint32_t i = 0; i < doc.root->count; i++) {
        case_reader r = { .a = a, .node = doc.root->items[i], .out = array_push(out, a), .error = error };
        if (!read_case(&r)) return false;
    }
    return true;
}

static const char *text_of(const network_field_array *row, const char *column)
{
    for (uint32_t i = 0; i < row->count; i++)
        if (strcmp(row->items[i].column, column) == 0) return row->items[i].text;
    return "";
}

bool network_case_holds(const network_case *c, const network_field_array *row)
{
    for (uint32_t i = 0; i < c->where.count; i++)
        if (!rule_matches(c->where.items[i].text, text_of(row, c->where.items[i].column))) return false;
    return true;
}
