// SPDX-License-Identifier: GPL-3.0-or-later
// validate/field_rule.h: what one column of a measured table may hold. A value that no measurement can have refuses the table
// at its place: no number, a fraction where things are counted, out of the bounds, a word that is none of the column's.
#pragma once
#include "sim/csv.h"
#include <stdbool.h>

typedef enum field_kind { FIELD_TEXT, FIELD_COUNT, FIELD_NUMBER, FIELD_WORD } field_kind;

typedef struct field_rule {
    field_kind kind;
    double least, greatest;
    bool is_share;            // of a number: "40%" is one
    const char *const *words; // the field is one of them,
    const char *const *open;  // or goes on behind one of these
} field_rule;

#define FIELD_COUNT_RULE(least_, greatest_)                                                                  \
    {                                                                                                        \
        .kind = FIELD_COUNT, .least = least_, .greatest = greatest_                                          \
    }
#define FIELD_NUMBER_RULE(least_, greatest_)                                                                 \
    {                                                                                                        \
        .kind = FIELD_NUMBER, .least = least_, .greatest = greatest_                                         \
    }

// Does the text go on behind the word? "FSDP2" goes on behind "FSDP" as one word does, not as the next one.
bool field_goes_on(const char *text, const char *word);
// May the field stand in this column? Whole numbers become plain digits, because rules compare texts: "1.0" is "1". Empty: not
// published.
bool field_rule_read(arena *a, const field_rule *rule, const char *column, const csv_field *field,
                     const char **text, sim_error *error);
