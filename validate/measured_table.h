// SPDX-License-Identifier: GPL-3.0-or-later
// validate/measured_table.h: the small tables of measured/ whose rows are all of one form, bound like lists of a scenario: what
// is missing, unknown or out of range is refused at its place.
#pragma once
#include "sim/bind.h"

// list: one BIND_LIST called "rows" into out; one item for each row of directory/name. Texts live in the arena.
bool measured_table_read(arena *a, const char *directory, const char *name, const bind_row *list, void *out,
                         sim_error *error);
