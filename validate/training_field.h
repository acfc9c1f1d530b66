// SPDX-License-Identifier: GPL-3.0-or-later
// validate/training_field.h: what the fields of a measured training step may hold. One rule parts two kinds of mistakes: a
// value that no measurement can have (no number, a fraction of a GPU, below zero or zero where that cannot be, absurdly large,
// a word that is none of the column's) refuses the table at its place; values that are fine one by one but cannot be together
// make the row unknown, with the reason.
#pragma once
#include "sim/csv.h"
#include "validate/training_rows.h"

#define TRAINING_STEP_MOST_S 1e6 // eleven days: longer than any step

// May the field stand in this column? Whole numbers become plain digits, because rules compare texts: "1.0" is "1". Empty: not
// published.
bool training_field_read(arena *a, training_column column, const csv_field *field, const char **text,
                         sim_error *error);
// Why the layout of a row cannot be, in the words of its columns, with what would; NULL: it can.
const char *training_layout_refusal(arena *a, const training_row *row);
// The ZeRO stage that a row's columns say; -1: nothing.
int training_zero_stage(const training_row *row);
