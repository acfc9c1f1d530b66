// SPDX-License-Identifier: GPL-3.0-or-later
#include "validate/kernel_fit.h"
#include "sim/csv.h"
#include "sim/os.h"
#include <stdlib.h>

typedef struct fitting {
    arena *a;
    const kernel_fit_options *options;
    kernel_split split;
    measured_kernel_array rows;
    sim_error *error;
} fitting;

static const char *path_of(const fitting *f, const char *name)
{
    char path[4096];
    if (os_join_path(path, sizeof path, f->options->measured, name)) return arena_text(f->a, path);
    sim_fail(f->error, SIM_EXIT_INPUT, NULL, "the path of %s is too long", name);
    return NULL;
}

static bool read_rows(fitting *f)
{
    const char *gemm = path_of(f, "gemm.csv"), *attention = path_of(f, "attention.csv");
    return gemm && attention && kernel_rows_read(f->a, gemm, &f->rows, f->error) &&
           kernel_rows_read(f->a, attention, &f->rows, f->error);
}

// ---- columns of the small tables

static const char *column(const csv_reader *csv, const csv_field *row, const char *name)
{
    for (uint32_t i = 0; i < csv_columns(csv); i++)
        if (strcmp(csv_column(csv, i)->text, name) == 0) return row[i].text;
    return "";
}

// Back-to-back kernels of 4,096 elements, launched apart: nothing but the overhead.
static bool read_overhead(fitting *f, const char *gpu, double *out)
{
    const char *path = path_of(f, "overlap.csv");
    csv_reader *csv = path ? csv_open(f->a, path, NULL, f->error) : NULL;
    const csv_field *row;
    if (!csv) return false;
    while ((row = csv_next(csv, f->error)) != NULL) {
        if (strcmp(column(csv, row, "topic"), "launch") != 0 || strcmp(column(csv, row, "gpu"), gpu) != 0 ||
            !strstr(column(csv, row, "setting"), "separate launches"))
            continue;
        *out = strtod(column(csv, row, "value"), NULL) * 1e-6;
        return true;
    }
    if (f->error->exit_code != SIM_EXIT_OK) return false;
    return sim_fail(f->error, SIM_EXIT_INPUT, NULL, "overlap.csv has no launches apart on \"%s\"", gpu);
}

// Rates that nobody has published as a table: attention_assumed.csv gives them by set.
static bool read_assumed(fitting *f, const gpu_def *gpu, fitted_set *set)
{
    const char *path = path_of(f, "attention_assumed.csv");
    csv_reader *csv = path ? csv_open(f->a, path, NULL, f->error) : NULL;
    const csv_field *row;
    if (!csv) return false;
    while ((row = csv_next(csv, f->error)) != NULL) {
        const char *word = column(csv, row, "program");
        int program = PROGRAM_FA1;
        if (strcmp(column(csv, row, "kernels"), set->def->kernels) != 0) continue;
        while (program < PROGRAMS && strcmp(attention_program_words[program], word) != 0)
            program++;
        if (program == PROGRAMS)
            return sim_fail(f->error, SIM_EXIT_INPUT, &row[0].place, "\"%s\" is no program of attention",
                            word);
        const uint32_t head_size = (uint32_t)strtoul(column(csv, row, "head_size"), NULL, 10);
        uint32_t i = 0;
        while (i < set->attention.count && (set->attention.items[i].table.program != program ||
                                            set->attention.items[i].table.head_size != head_size ||
                                            set->attention.items[i].table.full_mask))
            i++;
        if (i == set->attention.count) {
            fitted_attention *made = array_push(&set->attention, f->a);
            *made = (fitted_attention){ .table = { .program = program, .head_size = head_size },
                                        .source = column(csv, row, "source"),
                                        .grade = "assumed" };
            made->table.forward.x = made->table.backward.x = arena_array(f->a, double, 64);
            made->table.forward.y = arena_array(f->a, double, 64);
            made->table.backward.y = arena_array(f->a, double, 64);
        }
        bind_points *forward = &set->attention.items[i].table.forward,
                    *backward = &set->attention.items[i].table.backward;
        SIM_ASSERT(forward->count < 64);
        const double peak = gpu->peak_flops[DTYPE_BF16];
        forward->x[forward->count] = strtod(column(csv, row, "length"), NULL);
        forward->y[forward->count++] = strtod(column(csv, row, "forward_tflops"), NULL) * 1e12 / peak;
        backward->y[backward->count++] = strtod(column(csv, row, "backward_tflops"), NULL) * 1e12 / peak;
    }
    return f->error->exit_code == SIM_EXIT_OK;
}

// ---- rows of a set

static const split_row *fits(const fitting *f, const fitted_set *set, const measured_kernel *row)
{
    const split_row *where = row->unknown ? NULL : kernel_split_of(&f->split, row);
    return where && where->role == ROLE_FIT && strcmp(where->kernels, set->def->kernels) == 0 ? where : NULL;
}

// Sources in order of appearance, and how many rows each has.
typedef struct source_list {
    const char *names[16], *gpus[16];
    uint32_t rows[16], count;
} source_list;

static uint32_t source_index(source_list *list, const measured_kernel *row)
{
    uint32_t i = 0;
    while (i < list->count &&
           (strcmp(list->names[i], row->source) != 0 || strcmp(list->gpus[i], row->gpu) != 0))
        i++;
    SIM_ASSERT(i < ARRAY_COUNT(list->names));
    if (i == list->count) {
        list->names[list->count] = row->source;
        list->gpus[list->count++] = row->gpu;
    }
    list->rows[i]++;
    return i;
}

static const char *sources_text(arena *a, const char *table, const source_list *list)
{
    const char *text = arena_format(a, "%s.csv", table);
    for (uint32_t i = 0; i < list->count; i++)
        text = arena_format(a, "%s%s %s on %s, %u rows", text, i ? ";" : ":", list->names[i], list->gpus[i],
                            list->rows[i]);
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
        const double m = (double)row->m, n = (double)row->n, k = (double)row->k;
        *array_push(&rows, f->a) = (fit_row){
            .shape = { .batch = row->batch,
                       .m = row->m,
                       .n = row->n,
                       .k = row->k,
                       .element_bytes = dtype_bytes(format),
                       .bytes = (double)row->batch *
                                ((m * k + k * n) * operand_bytes[format] + m * n * row->result_bytes) },
            .time_s = row->time_s,
            .source = source_index(&sources, row),
        };
    }
    if (rows.count < 4 * FIT_PARAMETERS) return;
    const product_gpu on = { .multiprocessors = gpu->multiprocessors,
                             .peak_flops = gpu->peak_flops[format],
                             .vector_flops = gpu->vector_flops,
                             .memory_Bps = gpu->memory_rate_Bps };
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
            *array_push(&rows, f->a) = (attention_row){ row, program, source_index(&sources, row) };
        }
        fit_attention(f->a, &rows, gpu->peak_flops[DTYPE_BF16], gpu->multiprocessors, &tables);
        for (uint32_t i = 0; i < tables.count; i++)
            *array_push(&set->attention,
                        f->a) = (fitted_attention){ .table = tables.items[i],
                                                    .source = sources_text(f->a, "attention", &sources),
                                                    .grade = "measured" };
    }
}

bool kernel_fit_all(arena *a, const kernel_fit_options *options, fitted_sets *out, sim_error *error)
{
    static const dtype formats[] = { DTYPE_BF16, DTYPE_FP8, DTYPE_FP4 };
    fitting f = { .a = a, .options = options, .error = error };
    if (!kernel_split_read(a, options->measured, &f.split, error) || !read_rows(&f)) return false;
    for (uint32_t i = 0; i < f.split.sets.count; i++) {
        fitted_set *set = array_push(out, a);
        gpu_def gpu;
        set->def = &f.split.sets.items[i];
        if (!kernel_model_gpu(a, options->parts, set->def->gpu, NULL, &gpu, error) ||
            !read_overhead(&f, set->def->overhead_gpu, &set->overhead_s))
            return false;
        for (size_t j = 0; j < ARRAY_COUNT(formats); j++)
            if (!options->only || strcmp(options->only, set->def->kernels) == 0)
                fit_format(&f, &gpu, formats[j], set);
        fit_programs(&f, &gpu, set);
        if (!read_assumed(&f, &gpu, set)) return false;
    }
    return true;
}
