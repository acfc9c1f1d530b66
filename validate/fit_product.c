// SPDX-License-Identifier: GPL-3.0-or-later
#include "validate/fit_product.h"
#include "validate/digits.h"
#include <gsl/gsl_errno.h>
#include <gsl/gsl_multimin.h>
#include <gsl/gsl_qrng.h>
#include <gsl/gsl_rng.h>
#include <gsl/gsl_sort_double.h>
#include <gsl/gsl_statistics_double.h>

enum { STARTS = 16, START_STEPS = 400, FINISHES = 3, FINISH_STEPS = 900, SAMPLE_STEPS = 200 };

const fit_tile fit_tiles[FIT_TILES] = {
    { 256, 128, FIT_EFFICIENCY_32768 }, { 128, 128, FIT_EFFICIENCY_16384 }, { 256, 64, FIT_EFFICIENCY_16384 },
    { 128, 64, FIT_EFFICIENCY_8192 },   { 64, 64, FIT_EFFICIENCY_4096 },
};

// Wide: a parameter that ends at its bound says that the rows do not tell it.
static const struct {
    double least, most;
} bounds[FIT_PARAMETERS] = {
    [FIT_EFFICIENCY_32768] = { 0.2, 1.0 }, [FIT_EFFICIENCY_16384] = { 0.2, 1.0 },
    [FIT_EFFICIENCY_8192] = { 0.12, 1.0 }, [FIT_EFFICIENCY_4096] = { 0.1, 1.0 },
    [FIT_DEPTH_OVERHEAD] = { 0.0, 600.0 }, [FIT_MEMORY_EFFICIENCY] = { 0.3, 0.97 },
    [FIT_START_S] = { 0.0, 12e-6 },        [FIT_WAVE_S] = { 0.0, 5e-6 },
    [FIT_QUANTISE_BYTES] = { 0.0, 8.0 },
};

typedef struct fit {
    const fit_rows *rows;
    const uint32_t *drawn; // how often each row counts; NULL: once
    const double *weights; // of a row of each source
    const product_gpu *gpu;
    product_def *def;
} fit;

// The last parameter is of formats that are quantised.
static uint32_t parameters(const fit *f)
{
    return f->def->operand_bytes < 2.0 ? FIT_PARAMETERS : FIT_QUANTISE_BYTES;
}

static double bounded(uint32_t i, double x)
{
    return bounds[i].least + (bounds[i].most - bounds[i].least) / (1.0 + exp(-x));
}

static double unbounded(uint32_t i, double value)
{
    double u = (value - bounds[i].least) / (bounds[i].most - bounds[i].least);
    u = u < 1e-6 ? 1e-6 : u > 1.0 - 1e-6 ? 1.0 - 1e-6 : u;
    return log(u / (1.0 - u));
}

static void put(product_def *def, const double values[FIT_PARAMETERS])
{
    for (uint32_t i = 0; i < FIT_TILES; i++)
        def->tiles.items[i] = (tile_def){ fit_tiles[i].rows, fit_tiles[i].columns,
                                          values[fit_tiles[i].efficiency] };
    def->depth_overhead = values[FIT_DEPTH_OVERHEAD];
    def->memory_efficiency = values[FIT_MEMORY_EFFICIENCY];
    def->start_s = values[FIT_START_S];
    def->wave_s = values[FIT_WAVE_S];
    def->quantise_bytes = def->operand_bytes < 2.0 ? values[FIT_QUANTISE_BYTES] : 0.0;
}

static double row_error(const fit *f, const fit_row *row)
{
    return log(product_time(f->def, f->gpu, &row->shape).time_s / row->time_s);
}

static double loss(const gsl_vector *x, void *owner)
{
    const double bend = 0.02; // d
    fit *f = owner;
    double values[FIT_PARAMETERS] = { 0 }, sum = 0.0;
    for (uint32_t i = 0; i < parameters(f); i++)
        values[i] = bounded(i, gsl_vector_get(x, i));
    put(f->def, values);
    for (uint32_t i = 0; i < f->rows->count; i++) {
        const fit_row *row = &f->rows->items[i];
        const uint32_t times = f->drawn ? f->drawn[i] : 1;
        if (times == 0) continue;
        const double r = row_error(f, row);
        sum += times * f->weights[row->source] * (sqrt(r * r + bend * bend) - bend);
    }
    return sum;
}

// Walks from x for so many steps or until the simplex is small; the least loss.
static double descend(fit *f, double x[FIT_PARAMETERS], double size, uint32_t steps)
{
    const uint32_t n = parameters(f);
    gsl_multimin_function function = { .f = loss, .n = n, .params = f };
    gsl_vector *at = gsl_vector_alloc(n), *step = gsl_vector_alloc(n);
    gsl_multimin_fminimizer *m = gsl_multimin_fminimizer_alloc(gsl_multimin_fminimizer_nmsimplex2, n);
    SIM_ASSERT(at && step && m);
    for (uint32_t i = 0; i < n; i++)
        gsl_vector_set(at, i, x[i]);
    gsl_vector_set_all(step, size);
    SIM_ASSERT(gsl_multimin_fminimizer_set(m, &function, at, step) == GSL_SUCCESS);
    for (uint32_t i = 0; i < steps; i++)
        if (gsl_multimin_fminimizer_iterate(m) != GSL_SUCCESS || gsl_multimin_fminimizer_size(m) < 1e-4)
            break;
    for (uint32_t i = 0; i < n; i++)
        x[i] = gsl_vector_get(gsl_multimin_fminimizer_x(m), i);
    const double best = gsl_multimin_fminimizer_minimum(m);
    gsl_multimin_fminimizer_free(m);
    gsl_vector_free(at);
    gsl_vector_free(step);
    return best;
}

// A few steps from points spread over the bounds, then to the end from the best of them.
static void search(fit *f, double best[FIT_PARAMETERS])
{
    double x[STARTS][FIT_PARAMETERS], value[STARTS], least_loss = INFINITY;
    gsl_qrng *points = gsl_qrng_alloc(gsl_qrng_sobol, FIT_PARAMETERS);
    SIM_ASSERT(points);
    for (uint32_t s = 0; s < STARTS; s++) {
        double u[FIT_PARAMETERS];
        SIM_ASSERT(gsl_qrng_get(points, u) == GSL_SUCCESS);
        for (uint32_t i = 0; i < FIT_PARAMETERS; i++)
            x[s][i] = unbounded(i, bounds[i].least + u[i] * (bounds[i].most - bounds[i].least));
        value[s] = descend(f, x[s], 1.0, START_STEPS);
    }
    gsl_qrng_free(points);
    for (uint32_t r = 0; r < FINISHES; r++) {
        uint32_t first = 0;
        for (uint32_t s = 1; s < STARTS; s++)
            if (value[s] < value[first]) first = s;
        descend(f, x[first], 0.5, FINISH_STEPS);
        const double end = descend(f, x[first], 0.3, FINISH_STEPS);
        if (end < least_loss) memcpy(best, x[first], sizeof x[first]);
        if (end < least_loss) least_loss = end;
        value[first] = INFINITY;
    }
}

// Rows of one weight matrix are drawn together, as often as there are matrices.
static void draw(const fit *f, gsl_rng *random, const uint32_t *block, uint32_t blocks, uint32_t *times,
                 uint32_t *drawn)
{
    memset(times, 0, blocks * sizeof *times);
    for (uint32_t i = 0; i < blocks; i++)
        times[gsl_rng_uniform_int(random, blocks)]++;
    for (uint32_t i = 0; i < f->rows->count; i++)
        drawn[i] = times[block[i]];
}

static uint32_t number_blocks(const fit_rows *rows, uint32_t *block)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < rows->count; i++) {
        uint32_t j = 0;
        while (j < i && (rows->items[j].shape.n != rows->items[i].shape.n ||
                         rows->items[j].shape.k != rows->items[i].shape.k))
            j++;
        block[i] = j < i ? block[j] : count++;
    }
    return count;
}

static void find_intervals(arena *a, fit *f, const double best[FIT_PARAMETERS], uint32_t samples,
                           product_fit *out)
{
    uint32_t *block = arena_array(a, uint32_t, f->rows->count),
             *drawn = arena_array(a, uint32_t, f->rows->count);
    const uint32_t blocks = number_blocks(f->rows, block);
    uint32_t *times = arena_array(a, uint32_t, blocks);
    double *found = arena_array(a, double, (size_t)samples *FIT_PARAMETERS);
    gsl_rng *random = gsl_rng_alloc(gsl_rng_mt19937);
    SIM_ASSERT(random);
    gsl_rng_set(random, 1);
    f->drawn = drawn;
    for (uint32_t s = 0; s < samples; s++) {
        double x[FIT_PARAMETERS];
        memcpy(x, best, sizeof x);
        draw(f, random, block, blocks, times, drawn);
        descend(f, x, 0.3, SAMPLE_STEPS);
        for (uint32_t i = 0; i < FIT_PARAMETERS; i++)
            found[(size_t)i * samples + s] = bounded(i, x[i]);
    }
    f->drawn = NULL;
    gsl_rng_free(random);
    for (uint32_t i = 0; i < FIT_PARAMETERS; i++) {
        double *values = &found[(size_t)i * samples];
        gsl_sort(values, 1, samples);
        out->low[i] = gsl_stats_quantile_from_sorted_data(values, 1, samples, 0.05);
        out->high[i] = gsl_stats_quantile_from_sorted_data(values, 1, samples, 0.95);
    }
}

static void find_residuals(const fit *f, product_fit *out)
{
    for (uint32_t i = 0; i < f->rows->count; i++) {
        const fit_row *row = &f->rows->items[i];
        fit_residual *of = &out->classes[row->shape.m < 512 ? 0 : row->shape.m < 2048 ? 1 : 2];
        const double error = exp(row_error(f, row)) - 1.0;
        of->count++;
        of->mape += fabs(error);
        of->bias += error;
    }
    for (uint32_t c = 0; c < FIT_CLASSES; c++) {
        if (out->classes[c].count == 0) continue;
        out->classes[c].mape /= out->classes[c].count;
        out->classes[c].bias /= out->classes[c].count;
    }
}

product_fit fit_products(arena *a, const fit_rows *rows, const product_gpu *gpu, int format,
                         double operand_bytes, uint32_t samples)
{
    SIM_ASSERT(rows->count >= FIT_PARAMETERS);
    product_fit out = { .rows = rows->count };
    for (uint32_t i = 0; i < rows->count; i++)
        if (rows->items[i].source >= out.sources) out.sources = rows->items[i].source + 1;
    double *weights = arena_array(a, double, out.sources);
    for (uint32_t i = 0; i < rows->count; i++)
        weights[rows->items[i].source] += 1.0;
    for (uint32_t s = 0; s < out.sources; s++)
        weights[s] = weights[s] > 0.0 ? 1.0 / (weights[s] * out.sources) : 0.0;
    out.def =
        (product_def){ .format = format, .operand_bytes = operand_bytes, .depth_step = 64, .blend = 4.0 };
    for (uint32_t i = 0; i < FIT_TILES; i++)
        *array_push(&out.def.tiles, a) = (tile_def){ 0 };
    fit f = { .rows = rows, .weights = weights, .gpu = gpu, .def = &out.def };
    double best[FIT_PARAMETERS], values[FIT_PARAMETERS];
    search(&f, best);
    if (samples > 0) find_intervals(a, &f, best, samples, &out);
    for (uint32_t i = 0; i < FIT_PARAMETERS; i++)
        values[i] = digits_six(bounded(i, best[i]));
    put(&out.def, values);
    find_residuals(&f, &out);
    return out;
}
