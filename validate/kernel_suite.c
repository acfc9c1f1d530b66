// SPDX-License-Identifier: GPL-3.0-or-later
#include "validate/kernel_suite.h"
#include "sim/words.h"
#include "validate/kernel_model.h"
#include <math.h>

typedef struct bench { // a set on its GPU, read once
    const char *kernels;
    gpu_def gpu;
} bench;
ARRAY_OF(bench, bench_array);

typedef struct validation {
    arena *a;
    const kernel_suite_options *options;
    kernel_split split;
    bench_array benches;
    text_list gpus;
    sim_error *error;
} validation;

static const gpu_def *bench_of(validation *v, const set_row *set)
{
    for (uint32_t i = 0; i < v->benches.count; i++)
        if (strcmp(v->benches.items[i].kernels, set->kernels) == 0) return &v->benches.items[i].gpu;
    bench *made = array_push(&v->benches, v->a);
    made->kernels = set->kernels;
    return kernel_model_gpu(v->a, v->options->parts, set->gpu, set->kernels, &made->gpu, v->error)
               ? &made->gpu
               : NULL;
}

static const char *why_no_set(validation *v, const measured_kernel *row)
{
    char shown[WORDS_SHOWN_SIZE], listed[400];
    for (uint32_t i = 0; i < v->gpus.count; i++)
        if (strcmp(v->gpus.items[i], row->gpu) == 0)
            return arena_format(v->a, "no kernel set is named for this source on \"%s\"", row->gpu);
    const char *nearest = words_nearest(row->gpu, v->gpus.items, v->gpus.count);
    words_show(shown, row->gpu);
    if (nearest) return arena_format(v->a, "unknown GPU \"%s\"; nearest is \"%s\"", shown, nearest);
    words_list(listed, sizeof listed, v->gpus.items, v->gpus.count, 20);
    return arena_format(v->a, "unknown GPU \"%s\"; there are %s", shown, listed);
}

static bool compare(validation *v, const measured_kernel *row, compared_row *out, bool *is_fit)
{
    const split_row *where = kernel_split_of(&v->split, row);
    const split_role role = where ? (split_role)where->role : ROLE_HELD;
    *is_fit = role == ROLE_FIT;
    out->source = arena_format(v->a, "%s; %s%s%s; %s", row->source, row->gpu, *row->dtype ? " " : "",
                               row->dtype, split_role_words[role]);
    out->simulated = NAN;
    out->unknown_reason = row->unknown ? row->unknown : where ? NULL : why_no_set(v, row);
    if (out->unknown_reason) return true;
    const gpu_def *gpu = bench_of(v, kernel_split_set(&v->split, where->kernels));
    if (!gpu) return false;
    const double time_s = kernel_model_time_s(v->a, gpu, (attention_program)where->program, row,
                                              &out->unknown_reason);
    if (!out->unknown_reason) out->simulated = time_s;
    return true;
}

static bool read_tables(validation *v, measured_kernel_array *out)
{
    if (v->options->data) return kernel_rows_read(v->a, v->options->data, out, v->error);
    for (int t = 0; t < MEASURED_TABLES; t++) {
        const char *path = arena_format(v->a, "%s/%s.csv", v->options->measured, kernel_table_words[t]);
        if (!kernel_rows_read(v->a, path, out, v->error)) return false;
    }
    return true;
}

bool kernel_suite_build(arena *a, const kernel_suite_options *options, kernel_suite *out, sim_error *error)
{
    validation v = { .a = a, .options = options, .error = error };
    memset(out, 0, sizeof *out);
    if (!kernel_split_read(a, options->measured, &v.split, error) || !read_tables(&v, &out->of)) return false;
    kernel_split_gpus(&v.split, a, &v.gpus);
    out->is_fit = arena_array(a, bool, out->of.count + 1);
    for (uint32_t i = 0; i < out->of.count; i++) {
        const measured_kernel *row = &out->of.items[i];
        compared_row *r = array_push(&out->rows, a);
        r->id = arena_format(a, "%s:%u", kernel_table_words[row->table], row->line);
        r->measured = row->time_s > 0.0 ? row->time_s : NAN;
        r->constant = NAN;
        if (!compare(&v, row, r, &out->is_fit[i])) return false;
    }
    return true;
}

// ---- aims

typedef struct aim {
    const char *text;
    kernel_table_kind table;
    bool below_16_bit;
    uint64_t least_m;
    double median;
} aim;
static const aim aims[AIMS] = {
    [AIM_16_BIT] = { "16-bit products with m of 1,024 and more", MEASURED_GEMM, false, 1024, 0.07 },
    [AIM_BELOW_16_BIT] = { "8- and 4-bit products with m of 1,024 and more", MEASURED_GEMM, true, 1024,
                           0.15 },
    [AIM_ATTENTION] = { "attention", MEASURED_ATTENTION, false, 0, 0.10 },
};

double kernel_aim_median(kernel_aim which)
{
    return aims[which].median;
}

const char *kernel_aim_text(kernel_aim which)
{
    return aims[which].text;
}

static bool is_of(const aim *m, const measured_kernel *row)
{
    const dtype format = kernel_model_format(row->dtype);
    return row->table == m->table && format < DTYPES && (format != DTYPE_BF16) == m->below_16_bit &&
           row->m >= m->least_m;
}

// The rows of one GPU and role, judged as one source.
static compared_source judge(arena *a, const kernel_suite *suite, const aim *m, const char *gpu, bool fit)
{
    compared_row_array rows = { 0 };
    for (uint32_t i = 0; i < suite->rows.count; i++) {
        const measured_kernel *row = &suite->of.items[i];
        if (suite->rows.items[i].unknown_reason || suite->is_fit[i] != fit || !is_of(m, row) ||
            strcmp(row->gpu, gpu) != 0)
            continue;
        compared_row *copy = array_push(&rows, a);
        *copy = suite->rows.items[i];
        copy->source = gpu;
    }
    const compared_source_array one = compare_sources(a, &rows);
    return one.count ? one.items[0] : (compared_source){ .median = NAN };
}

aimed_gpu_array kernel_suite_aim(arena *a, const kernel_suite *suite, kernel_aim which)
{
    aimed_gpu_array out = { 0 };
    for (uint32_t i = 0; i < suite->of.count; i++) {
        const measured_kernel *row = &suite->of.items[i];
        uint32_t j = 0;
        if (suite->rows.items[i].unknown_reason || !is_of(&aims[which], row)) continue;
        while (j < out.count && strcmp(out.items[j].gpu, row->gpu) != 0)
            j++;
        if (j < out.count) continue;
        const compared_source fit = judge(a, suite, &aims[which], row->gpu, true);
        const compared_source held = judge(a, suite, &aims[which], row->gpu, false);
        *array_push(&out, a) = (aimed_gpu){ row->gpu, fit.n, held.n, fit.median, held.median };
    }
    return out;
}
