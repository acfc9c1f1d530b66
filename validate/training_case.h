// SPDX-License-Identifier: GPL-3.0-or-later
// validate/training_case.h: a measured row as something to play: the keys of its scenario, from its columns and from the rules
// that hold for it, and what was measured, as seconds of a step.
#pragma once
#include "validate/rules.h"
#include "validate/training_rows.h"

#define TRAINING_GPUS_PER_NODE 8.0 // where none is published

typedef struct training_case {
    const training_row *row;
    text_list sets;            // "path=value", in order
    rule_choice_array choices; // of what is not published; each played with each
    const char *unknown;       // why it cannot be played; NULL: it can
    double measured_s;         // of a step; NAN: not known
    double constant_s;         // what one constant rate for all rows says; NAN: not known
} training_case;

extern const rule_language training_rule_language;

// Of a row whose numbers are readable (training_rows_read()).
training_case training_case_of(arena *a, const training_row *row, const rule_array *rules);
// The latest value of a key; NULL: it is not set.
const char *training_case_value(const training_case *c, const char *path);
// How many scenarios it is, and the keys of one of them.
uint32_t training_case_variants(const training_case *c);
text_list training_case_sets(const training_case *c, uint32_t variant, arena *a);
// A refusal of the scenario in words of the table: "plan.tensor" becomes "tp".
const char *training_case_in_columns(const char *message, arena *a);
// "training.micro_batch 1 to 4, ...": what is not published.
const char *training_case_describe_choices(const training_case *c, arena *a);
