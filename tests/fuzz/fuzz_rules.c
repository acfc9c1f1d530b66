// SPDX-License-Identifier: GPL-3.0-or-later
// A file of rules, in both languages: refused with a place, or each rule either claims nothing or has evidence, and is held
// against a row.
#include "tests/fuzz/fuzz.h"
#include "validate/collective_case.h"
#include "validate/training_case.h"
#include <math.h>
#include <string.h>

enum { TEXT_MAX = 1 << 16 };

static void check_rule(const rule *r)
{
    training_row row;
    for (int c = 0; c < TRAINING_COLUMNS; c++)
        row.fields[c] = c % 2 ? "aab-ab" : "";
    SIM_ASSERT(r->evidence || ((r->unknown || r->fault) && !r->set.count && !r->choices.count));
    SIM_ASSERT(r->class >= -1 && r->class < COLLECTIVE_CLASSES);
    SIM_ASSERT(r->convention >= -1 && r->convention <= COUNT_6P_CAUSAL);
    SIM_ASSERT(isfinite(r->constant_flops) && r->constant_flops >= 0.0);
    for (uint32_t i = 0; i < r->choices.count; i++)
        SIM_ASSERT(r->choices.items[i].values.count > 0);
    (void)rule_holds(r, row.fields);
}

static void read(const uint8_t *data, size_t size, const rule_language *language)
{
    arena *a = arena_create("fuzz");
    sim_error error = { 0 };
    document doc;
    rule_array rules = { 0 };
    SIM_ASSERT(a);
    if (document_parse(a, "rules", (const char *)data, size, NULL, &doc, &error) &&
        rules_take(a, &doc, language, &rules, &error)) {
        for (uint32_t i = 0; i < rules.count; i++)
            check_rule(&rules.items[i]);
    } else {
        fuzz_check_error(&error);
        SIM_ASSERT(*error.file && (error.line > 0 || strcmp(error.message, "the document is empty") == 0));
    }
    arena_destroy(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > TEXT_MAX) return 0;
    read(data, size, &training_rule_language);
    read(data, size, &collective_rule_language);
    return 0;
}
