// SPDX-License-Identifier: GPL-3.0-or-later
// A table of measured training steps: refused with a place, or each row becomes keys that a scenario can be told, or says why
// not. A zero byte parts the table from rules, which then hold for its rows.
#include "tests/fuzz/fuzz.h"
#include "validate/training_case.h"
#include <math.h>
#include <string.h>

enum { TEXT_MAX = 1 << 16, VARIANTS_MAX = 16 };

static const char known_gpu[] = "- where: { gpu: CHIP }\n  evidence: made up\n  set: { cluster.node: box }\n";

static bool read_rules(arena *a, const char *text, size_t length, rule_array *out, sim_error *error)
{
    document doc;
    return document_parse(a, "rules", text, length, NULL, &doc, error) &&
           rules_take(a, &doc, &training_rule_language, out, error);
}

// What is set is what a document then says.
static void check_sets(arena *a, const training_case *c, bool own_rules)
{
    sim_error error = { 0 };
    document doc;
    const char *model = c->row->fields[COLUMN_MODEL];
    SIM_ASSERT(document_parse(a, "base", "windtunnel: 1\n", 14, NULL, &doc, &error));
    for (uint32_t i = 0; i < c->sets.count; i++)
        if (!document_set(a, &doc, c->sets.items[i], &error)) SIM_ASSERT(own_rules);
    const doc_node *keys = document_find(doc.root, "model");
    const doc_node *name = keys ? document_find(keys, "name") : NULL;
    if (!own_rules && *model) SIM_ASSERT(name && strcmp(name->scalar, model) == 0);
}

static void check_case(arena *a, const training_row *row, const rule_array *rules, bool own_rules)
{
    const training_case c = training_case_of(a, row, rules);
    SIM_ASSERT(c.unknown ? *c.unknown : c.measured_s > 0.0 && c.measured_s <= 1e6);
    SIM_ASSERT(!isinf(c.constant_s));
    check_sets(a, &c, own_rules);
    const uint32_t variants = training_case_variants(&c);
    for (uint32_t v = 0; v < variants && v < VARIANTS_MAX; v++)
        training_case_sets(&c, v, a);
    training_case_describe_choices(&c, a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > TEXT_MAX) return 0;
    arena *a = arena_create("fuzz");
    sim_error error = { 0 };
    rule_array rules = { 0 };
    training_row_array rows = { 0 };
    SIM_ASSERT(a);
    const char *text = (const char *)data, *behind = size ? memchr(text, 0, size) : NULL;
    const size_t length = behind ? (size_t)(behind - text) : size;
    bool good = read_rules(a, known_gpu, sizeof known_gpu - 1, &rules, &error);
    SIM_ASSERT(good);
    if (behind) good = read_rules(a, behind + 1, size - length - 1, &rules, &error);
    csv_reader *csv = good ? csv_open_text(a, "rows", text, length, &error) : NULL;
    if (csv && training_rows_take(a, csv, &rows, &error)) {
        for (uint32_t i = 0; i < rows.count; i++)
            check_case(a, &rows.items[i], &rules, behind != NULL);
    } else {
        fuzz_check_error(&error);
        SIM_ASSERT(*error.file && (error.line > 0 || strcmp(error.message, "the document is empty") == 0));
    }
    arena_destroy(a);
    return 0;
}
