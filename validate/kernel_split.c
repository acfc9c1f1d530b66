// SPDX-License-Identifier: GPL-3.0-or-later
#include "validate/kernel_split.h"
#include "models/hardware/kernel_set.h"
#include "validate/measured_table.h"

const char *const split_role_words[] = { "fit", "held", NULL };

static const bind_row split_binds[] = {
    BIND_TEXT(split_row, table, "table", BIND_REQUIRED),
    BIND_TEXT(split_row, source, "source", BIND_REQUIRED),
    BIND_TEXT(split_row, gpu, "gpu", .default_text = ""),
    BIND_TEXT(split_row, dtype, "dtype", .default_text = ""),
    BIND_ENUM(split_row, role, "role", split_role_words, BIND_REQUIRED),
    BIND_TEXT(split_row, kernels, "kernels", .default_text = ""),
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

static const bind_row rows_list[] = { BIND_LIST(kernel_split, rows, "rows", split_binds), BIND_END };
static const bind_row sets_list[] = { BIND_LIST(kernel_split, sets, "rows", set_binds), BIND_END };

static bool find_lenders(arena *a, const kernel_split *split, set_row *set, sim_error *error)
{
    for (const char *name = set->like; *name; name += strspn(name, " ")) {
        const size_t length = strcspn(name, " ");
        const char *lender = arena_text_n(a, name, length);
        if (!kernel_split_set(split, lender))
            return sim_fail(error, SIM_EXIT_INPUT, NULL,
                            "in kernel_sets.csv \"%s\" is like \"%s\", which is no set", set->kernels,
                            lender);
        *array_push(&set->lenders, a) = lender;
        name += length;
    }
    return true;
}

// Collectives have neither GPU nor set.
static bool check_row(const kernel_split *split, const split_row *row, sim_error *error)
{
    if (strcmp(row->table, "collectives") == 0) return true;
    if (!*row->gpu)
        return sim_fail(error, SIM_EXIT_INPUT, NULL, "in split.csv the source \"%s\" has no GPU",
                        row->source);
    if (kernel_split_set(split, row->kernels)) return true;
    return sim_fail(error, SIM_EXIT_INPUT, NULL, "kernel_sets.csv has no set \"%s\", which split.csv names",
                    row->kernels);
}

bool kernel_split_read(arena *a, const char *directory, kernel_split *out, sim_error *error)
{
    if (!measured_table_read(a, directory, "split.csv", rows_list, out, error) ||
        !measured_table_read(a, directory, "kernel_sets.csv", sets_list, out, error))
        return false;
    for (uint32_t i = 0; i < out->sets.count; i++)
        if (!find_lenders(a, out, &out->sets.items[i], error)) return false;
    for (uint32_t i = 0; i < out->rows.count; i++)
        if (!check_row(out, &out->rows.items[i], error)) return false;
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
        if (!*split->rows.items[i].gpu) continue;
        while (j < out->count && strcmp(out->items[j], split->rows.items[i].gpu) != 0)
            j++;
        if (j == out->count) *array_push(out, a) = split->rows.items[i].gpu;
    }
}
