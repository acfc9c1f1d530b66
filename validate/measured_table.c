// SPDX-License-Identifier: GPL-3.0-or-later
#include "validate/measured_table.h"
#include "sim/csv.h"

// A list at the top of a document is bound as the one key of a mapping.
bool measured_table_read(arena *a, const char *directory, const char *name, const bind_row *list, void *out,
                         sim_error *error)
{
    document doc = { 0 };
    csv_reader *csv = csv_open(a, arena_format(a, "%s/%s", directory, name), NULL, error);
    if (!csv || !csv_document(csv, &doc, error)) return false;
    doc_pair pair = { .key = "rows", .key_place = doc.root->place, .value = doc.root };
    doc_node top = *doc.root;
    top.kind = DOC_MAPPING;
    top.pairs = &pair;
    top.count = 1;
    return bind_read(bind_reader_create(a, NULL, NULL), list, &top, "", out, error);
}
