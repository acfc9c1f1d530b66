// SPDX-License-Identifier: GPL-3.0-or-later
#include "validate/kernel_fit.h"
#include "sim/csv.h"
#include "validate/measured_table.h"

typedef struct assumed_rate { // that nobody has published as a table: a row of attention_assumed.csv
    const char *kernels, *source;
    int program; // attention_program
    uint32_t head_size;
    double length, forward_tflops, backward_tflops;
} assumed_rate;
ARRAY_OF(assumed_rate, assumed_array);

typedef struct fitting {
    arena *a;
    const kernel_fit_options *options;
    kernel_split split;
    measured_kernel_array rows;
    assumed_array assumed;
    sim_error *error;
} fitting;

static const char *path_of(const fitting *f, const char *name)
{
    return arena_format(f->a, "%s/%s", f->options->measured, name);
}

// ---- the overhead of a kernel

// Back-to-back kernels of 4,096 elements, launched apart: nothing but the overhead.
static bool read_overhead(fitting *f, const char *gpu, double *out)
{
    enum { TOPIC, GPU, SETTING, VALUE, UNIT, NEEDED };
    static const char *const needed[NEEDED] = { "topic", "gpu", "setting", "value", "unit" };
    uint32_t at[NEEDED];
    csv_reader *csv = csv_open(f->a, path_of(f, "overlap.csv"), NULL, f->error);
    const csv_field *row;
    if (!csv) return false;
    for (int i = 0; i < NEEDED; i++)
        if (!csv_find_column(csv, needed[i], &at[i]))
            return sim_fail(f->error, SIM_EXIT_INPUT, &csv_column(csv, 0)->place,
                            "the column \"%s\" is missing", needed[i]);
    while ((row = csv_next(csv, f->error)) != NULL) {
        if (strcmp(row[at[TOPIC]].text, "launch") != 0 || strcmp(row[at[GPU]].text, gpu) != 0 ||
            !strstr(row[at[SETTING]].text, "separate launches"))
            continue;
        const char *time = arena_format(f->a, "%s %s", row[at[VALUE]].text, row[at[UNIT]].text);
        return units_parse(UNIT_TIME, time, out, &row[at[VALUE]].place, f->error);
    }
    if (sim_failed(f->error)) return false;
    return sim_fail(f->error, SIM_EXIT_INPUT, NULL, "overlap.csv has no launches apart on \"%s\"", gpu);
}

// ---- assumed rates of attention

static const bind_row assumed_binds[] = {
    BIND_TEXT(assumed_rate, kernels, "kernels", BIND_REQUIRED),
    BIND_ENUM(assumed_rate, program, "program", attention_program_words, BIND_REQUIRED),
    BIND_U32(assumed_rate, head_size, "head_size", BIND_REQUIRED, BIND_AT_LEAST(1), BIND_AT_MOST(65536)),
    BIND_NUMBER(assumed_rate, length, "length", BIND_REQUIRED, BIND_AT_LEAST(1)),
    BIND_NUMBER(assumed_rate, forward_tflops, "forward_tflops", BIND_REQUIRED, BIND_ABOVE(0)),
    BIND_NUMBER(assumed_rate, backward_tflops, "backward_tflops", BIND_REQUIRED, BIND_ABOVE(0)),
    BIND_TEXT(assumed_rate, source, "source", BIND_REQUIRED),
    BIND_END,
};
static const bind_row assumed_list[] = { BIND_LIST(fitting, assumed, "rows", assumed_binds), BIND_END };

static attention_def *assumed_table(fitting *f, const assumed_rate *rate, fitted_set *set)
{
    for (uint32_t i = 0; i < set->attention.count; i++) {
        attention_def *table = &set->attention.items[i].table;
        if (table->program == rate->program && table->head_size == rate->head_size && !table->full_mask)
            return table;
    }
    fitted_attention *made = array_push(&set->attention, f->a);
    const uint32_t most = f->assumed.count;
    *made = (fitted_attention){ .table = { .program = rate->program, .head_size = rate->head_size },
                                .source = rate->source,
                                .grade = "assumed" };
    made->table.forward.x = made->table.backward.x = arena_array(f->a, double, most);
    made->table.forward.y = arena_array(f->a, double, most);
    made->table.backward.y = arena_array(f->a, double, most);
    return &made->table;
}

static void take_assumed(fitting *f, const gpu_def *gpu, fitted_set *set)
{
    const double peak_flops = gpu->peak_flops[DTYPE_BF16];
    for (uint32_t i = 0; i < f->assumed.count; i++) {
        const assumed_rate *rate = &f->assumed.items[i];
        if (strcmp(rate->kernels, set->def->kernels) != 0) continue;
        attention_def *table = assumed_table(f, rate, set);
        bind_points *forward = &table->forward, *backward = &table->backward;
        forward->x[forward->count] = rate->length;
        forward->y[forward->count++] = rate->forward_tflops * 1e12 / peak_flops;
        backward->y[backward->count++] = rate->backward_tflops * 1e12 / peak_flops;
    }
}

// ---- rows of a set

static const split_row *fits(const fitting *f, const fitted_set *set, const measured_kernel *row)
{
    const split_row *where = row->unknown ? NULL : kernel_split_of(&f->split, row);
    return where && where->role == ROLE_FIT && strcmp(where->kernels, set->def->kernels) == 0 ? where : NULL;
}

typedef struct source_rows { // a source's rows of one GPU
    const char *source, *gpu;
    uint32_t rows;
} source_rows;
ARRAY_OF(source_rows, source_list); // in order of appearance

// Counts a row; the index of its source.
static uint32_t count_row(arena *a, source_list *list, const measured_kernel *row)
{
    uint32_t i = 0;
    while (i < list->count &&
           (strcmp(list->items[i].source, row->source) != 0 || strcmp(list->items[i].gpu, row->gpu) != 0))
        i++;
    if (i == list->count) *array_push(list, a) = (source_rows){ .source = row->source, .gpu = row->gpu };
    list->items[i].rows++;
    return i;
}

static const char *sources_text(arena *a, const char *table, const source_list *list)
{
    const char *text = arena_format(a, "%s.csv", table);
    for (uint32_t i = 0; i < list->count; i++) {
        const source_rows *s = &list->items[i];
        text = arena_format(a, "%s%s %s on %s, %u rows", text, i ? ";" : ":", s->source, s->gpu, s->rows);
    }
    return text;
}

static void fit_format(fitting *f, const gpu_def *gpu, dtype format, fitted_set *set)
{
    static const double operand_bytes[DTYPES] = {
        [DTYPE_BF16] = 2.0, [DTYPE_FP8] = 1.0, [DTYPE_FP4] = 0.5625
    };
    fit_rows rows = { 0 };
    source_list sources = { 0 };
    for (uint32_t i = 0; i < f->rows.count; i++) {
        const measured_kernel *row = &f->rows.items[i];
        if (row->table != MEASURED_GEMM || kernel_model_format(row->dtype) != format || !fits(f, set, row))
            continue;
        *array_push(&rows, f->a) = (fit_row){
            .shape = kernel_model_shape(row, format, operand_bytes[format]),
            .time_s = row->time_s,
            .source = count_row(f->a, &sources, row),
        };
    }
    if (rows.count < 4 * FIT_PARAMETERS) return;
    const product_gpu on = kernel_model_product_gpu(gpu, format);
    fitted_product *made = array_push(&set->products, f->a);
    made->source = sources_text(f->a, "gemm", &sources);
    made->fit = fit_products(f->a, &rows, &on, (int)format, operand_bytes[format], f->options->samples);
    const fit_residual *c = made->fit.classes;
    f->options->tell(
        arena_format(f->a,
                     "%s %s: %u rows; error by m: below 512 %.1f %% (%u), below 2048 %.1f %% (%u), "
                     "rest %.1f %% (%u)",
                     set->def->kernels, dtype_words[format], rows.count, 100.0 * c[0].mape, c[0].count,
                     100.0 * c[1].mape, c[1].count, 100.0 * c[2].mape, c[2].count));
}

static void fit_programs(fitting *f, const gpu_def *gpu, fitted_set *set)
{
    for (int program = PROGRAM_FA1; program < PROGRAMS; program++) {
        attention_rows rows = { 0 };
        attention_array tables = { 0 };
        source_list sources = { 0 };
        for (uint32_t i = 0; i < f->rows.count; i++) {
            const measured_kernel *row = &f->rows.items[i];
            const split_row *where = row->table == MEASURED_ATTENTION &&
                                             kernel_model_format(row->dtype) == DTYPE_BF16
                                         ? fits(f, set, row)
                                         : NULL;
            if (!where || where->program != program) continue;
            *array_push(&rows, f->a) = (attention_row){ row, program, count_row(f->a, &sources, row) };
        }
        fit_attention(f->a, &rows, gpu->peak_flops[DTYPE_BF16], gpu->multiprocessors, &tables);
        for (uint32_t i = 0; i < tables.count; i++)
            *array_push(&set->attention,
                        f->a) = (fitted_attention){ .table = tables.items[i],
                                                    .source = sources_text(f->a, "attention", &sources),
                                                    .grade = "measured" };
    }
}

// Whether the file of a set is asked for, or may borrow what this one has.
static bool is_wanted(const fitting *f, const set_row *set)
{
    const char *only = f->options->only;
    if (!only || strcmp(only, set->kernels) == 0) return true;
    const set_row *borrower = kernel_split_set(&f->split, only);
    for (uint32_t i = 0; borrower && i < borrower->lenders.count; i++)
        if (strcmp(borrower->lenders.items[i], set->kernels) == 0) return true;
    return false;
}

static bool read_measurements(fitting *f)
{
    const char *measured = f->options->measured;
    return kernel_split_read(f->a, measured, &f->split, f->error) &&
           kernel_rows_read(f->a, path_of(f, "gemm.csv"), &f->rows, f->error) &&
           kernel_rows_read(f->a, path_of(f, "attention.csv"), &f->rows, f->error) &&
           measured_table_read(f->a, measured, "attention_assumed.csv", assumed_list, f, f->error);
}

bool kernel_fit_all(arena *a, const kernel_fit_options *options, fitted_sets *out, sim_error *error)
{
    static const dtype formats[] = { DTYPE_BF16, DTYPE_FP8, DTYPE_FP4 };
    fitting f = { .a = a, .options = options, .error = error };
    if (!read_measurements(&f)) return false;
    if (options->only && !kernel_split_set(&f.split, options->only))
        return sim_fail(error, SIM_EXIT_INPUT, NULL, "kernel_sets.csv has no set \"%s\"", options->only);
    for (uint32_t i = 0; i < f.split.sets.count; i++) {
        gpu_def gpu;
        const set_row *def = &f.split.sets.items[i];
        if (!is_wanted(&f, def)) continue;
        fitted_set *set = array_push(out, a);
        set->def = def;
        if (!kernel_model_gpu(a, options->parts, def->gpu, NULL, &gpu, error) ||
            !read_overhead(&f, def->overhead_gpu, &set->overhead_s))
            return false;
        for (size_t j = 0; j < ARRAY_COUNT(formats); j++)
            fit_format(&f, &gpu, formats[j], set);
        fit_programs(&f, &gpu, set);
        take_assumed(&f, &gpu, set);
    }
    return true;
}
