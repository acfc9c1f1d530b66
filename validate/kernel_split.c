// SPDX-License-Identifier: GPL-3.0-or-later
#include "validate/kernel_split.h"
#include "models/hardware/kernel_set.h"
#include "sim/csv.h"
#include "sim/os.h"

const char *const split_role_words[] = { "fit", "held", NULL };

static const bind_row split_binds[] = {
    BIND_TEXT(split_row, table, "table", BIND_REQUIRED),
    BIND_TEXT(split_row, source, "source", BIND_REQUIRED),
    BIND_TEXT(split_row, gpu, "gpu", BIND_REQUIRED),
    BIND_TEXT(split_row, dtype, "dtype", .default_text = ""),
    BIND_ENUM(split_row, role, "role", split_role_words, BIND_REQUIRED),
    BIND_TEXT(split_row, kernels, "kernels", BIND_REQUIRED),
    BIND_ENUM(split_row, program, "program", attention_program_words, BIND_DEFAULT(PROGRAM_FLASH, "flash")),
    BIND_TEXT(split_row, why, "why", .default_text = ""),
    BIND_END,
};

static const bind_row set_binds[] = {
    BIND_TEXT(set_row, kernels, "kernels", BIND_REQUIRED),
    BIND_TEXT(set_row, gpu, "gpu", BIND_REQUIRED),
    BIND_TEXT(set_row, like, "like", .default_text = ""),
    BIND_ENUM(set_row, flash, "flash", attention_program_words, BIND_REQUIRED),
    BIND_NUMBER(set_row, stream_efficiency, "stream_efficiency", BIND_REQUIRED, BIND_ABOVE(0),
                BIND_AT_MOST(1)),
    BIND_TEXT(set_row, stream_grade, "stream_grade", BIND_REQUIRED),
    BIND_TEXT(set_row, stream_source, "stream_source", BIND_REQUIRED),
    BIND_TEXT(set_row, overhead_gpu, "overhead_gpu", BIND_REQUIRED),
    BIND_TEXT(set_row, overhead_grade, "overhead_grade", BIND_REQUIRED),
    BIND_END,
};

typedef struct both_lists {
    split_array rows;
    set_array sets;
} both_lists;

static const bind_row rows_list[] = { BIND_LIST(both_lists, rows, "rows", split_binds), BIND_END };
static const bind_row sets_list[] = { BIND_LIST(both_lists, sets, "rows", set_binds), BIND_END };

// A list at the top of a document is bound as the one key of a mapping.
static bool read_list(arena *a, const char *directory, const char *name, const bind_row *rows,
                      both_lists *out, sim_error *error)
{
    char path[4096];
    document doc = { 0 };
    if (!os_join_path(path, sizeof path, directory, name))
        return sim_fail(error, SIM_EXIT_INPUT, NULL, "the path of %s is too long", name);
    csv_reader *csv = csv_open(a, path, NULL, error);
    if (!csv || !csv_document(csv, &doc, error)) return false;
    doc_pair pair = { .key = "rows", .key_place = doc.root->place, .value = doc.root };
    doc_node top = *doc.root;
    top.kind = DOC_MAPPING;
    top.pairs = &pair;
    top.count = 1;
    return bind_read(bind_reader_create(a, NULL, NULL), rows, &top, "", out, error);
}

bool kernel_split_read(arena *a, const char *directory, kernel_split *out, sim_error *error)
{
    both_lists lists = { 0 }, sets = { 0 };
    if (!read_list(a, directory, "split.csv", rows_list, &lists, error) ||
        !read_list(a, directory, "kernel_sets.csv", sets_list, &sets, error))
        return false;
    out->rows = lists.rows;
    out->sets = sets.sets;
    return true;
}

static bool speaks_of(const split_row *s, const measured_kernel *row)
{
    const bool any_source = strcmp(s->source, "*") == 0, any_dtype = !*s->dtype && !strchr(row->dtype, '(');
    return strcmp(s->table, kernel_table_words[row->table]) == 0 && strcmp(s->gpu, row->gpu) == 0 &&
           (any_source || strcmp(s->source, row->source) == 0) &&
           (any_dtype || strcmp(s->dtype, row->dtype) == 0);
}

const split_row *kernel_split_of(const kernel_split *split, const measured_kernel *row)
{
    for (uint32_t i = 0; i < split->rows.count; i++)
        if (speaks_of(&split->rows.items[i], row)) return &split->rows.items[i];
    return NULL;
}

const set_row *kernel_split_set(const kernel_split *split, const char *kernels)
{
    for (uint32_t i = 0; i < split->sets.count; i++)
        if (strcmp(split->sets.items[i].kernels, kernels) == 0) return &split->sets.items[i];
    return NULL;
}

void kernel_split_gpus(const kernel_split *split, arena *a, text_list *out)
{
    for (uint32_t i = 0; i < split->rows.count; i++) {
        uint32_t j = 0;
        while (j < out->count && strcmp(out->items[j], split->rows.items[i].gpu) != 0)
            j++;
        if (j == out->count) *array_push(out, a) = split->rows.items[i].gpu;
    }
}
