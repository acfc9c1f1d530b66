// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/hardware/product.h"
#include "sim/array.h"
#include <math.h>

enum { ALIGNMENT_BYTES = 16, SPLIT_DEPTH_LEAST = 256, SPLIT_WAVES_MOST = 2 };

bool product_is_aligned(const product_shape *shape)
{
    const uint64_t elements = (uint64_t)(ALIGNMENT_BYTES / shape->element_bytes);
    return elements == 0 || (shape->n % elements == 0 && shape->k % elements == 0);
}

// (x^p + y^p)^(1/p) without overflow.
static double blended(double x, double y, double power)
{
    const double more = x > y ? x : y, less = x > y ? y : x;
    if (!(less > 0.0)) return more;
    return more * pow(1.0 + pow(less / more, power), 1.0 / power);
}

// What does not change while tiles are tried.
typedef struct search {
    const product_def *def;
    const product_shape *shape;
    double unit_flops;  // of one multiprocessor
    double units;       // multiprocessors
    double sum_s;       // of one split: its fp32 sums written and read
    product_cost *best; // compute_s: the least so far
} search;

static void try_tile(const search *q, const tile_def *tile, bool turned)
{
    static const uint32_t splits[] = { 1, 2, 3, 4, 6, 8 };
    const double rows = turned ? tile->columns : tile->rows, columns = turned ? tile->rows : tile->columns;
    const double tiles = (double)q->shape->batch * ceil((double)q->shape->m / rows) *
                         ceil((double)q->shape->n / columns);
    const double area_s = 2.0 * rows * columns / (q->unit_flops * tile->efficiency),
                 step = q->def->depth_step;
    for (size_t i = 0; i < ARRAY_COUNT(splits); i++) {
        const double s = splits[i], depth = ceil((double)q->shape->k / s);
        if (i > 0 && ((double)q->shape->k < s * SPLIT_DEPTH_LEAST || tiles * s > SPLIT_WAVES_MOST * q->units))
            return;
        const double waves = ceil(tiles * s / q->units);
        const double wave_s = area_s * (step * ceil(depth / step) + q->def->depth_overhead) + q->def->wave_s;
        const double time_s = waves * wave_s + (i > 0 ? s * q->sum_s : 0.0);
        if (q->best->tile && !(time_s < q->best->compute_s)) continue;
        q->best->compute_s = time_s;
        q->best->tile = tile;
        q->best->turned = turned;
        q->best->split = splits[i];
        q->best->waves = (uint64_t)waves;
    }
}

product_cost product_time(const product_def *def, const product_gpu *gpu, const product_shape *shape)
{
    SIM_ASSERT(shape->batch > 0 && shape->m > 0 && shape->n > 0 && shape->k > 0 && def->tiles.count > 0);
    SIM_ASSERT(gpu->multiprocessors > 0 && gpu->peak_flops > 0.0 && gpu->memory_Bps > 0.0);
    product_cost cost = { .is_aligned = product_is_aligned(shape) };
    const double memory_Bps = gpu->memory_Bps * def->memory_efficiency;
    const bool slow = !cost.is_aligned && gpu->vector_flops < gpu->peak_flops;
    const search q = {
        .def = def,
        .shape = shape,
        .unit_flops = (slow ? gpu->vector_flops : gpu->peak_flops) / gpu->multiprocessors,
        .units = gpu->multiprocessors,
        .sum_s = 8.0 * (double)shape->batch * (double)shape->m * (double)shape->n / memory_Bps,
        .best = &cost,
    };
    for (uint32_t i = 0; i < def->tiles.count; i++) {
        const tile_def *tile = &def->tiles.items[i];
        try_tile(&q, tile, false);
        if (tile->rows != tile->columns) try_tile(&q, tile, true);
    }
    cost.memory_s = shape->bytes / memory_Bps;
    const double elements = (double)shape->batch * (double)shape->m * (double)shape->k;
    cost.time_s = def->start_s + blended(cost.compute_s, cost.memory_s, def->blend) +
                  def->quantise_bytes * elements / memory_Bps;
    return cost;
}
