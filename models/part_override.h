// SPDX-License-Identifier: GPL-3.0-or-later
// models/part_override.h: a part that starts from another and overrides keys of it, as a mapping of its own. Structs are
// merged key by key, everything else (numbers, curves, lists) is replaced whole. Sources follow their numbers: what stands
// once for a mapping is first written beside each number that it covers, so that a number that is overridden takes
// neither source nor grade from the number that it replaces, nor a kept number from the one that overrides.
#pragma once
#include "sim/bind.h"

// Neither mapping is changed; the result shares what it can with both. It stands at the place of over.
const doc_node *part_override(arena *a, const bind_row *rows, const doc_node *base, const doc_node *over);
// The same part, its numbers with their sources and one grade for all. Of parts that it only names nothing is known here.
const doc_node *part_lower_grades(arena *a, const bind_row *rows, const doc_node *part, doc_node *grade);
