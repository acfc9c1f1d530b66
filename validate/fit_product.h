// SPDX-License-Identifier: GPL-3.0-or-later
// validate/fit_product.h: the parameters of models/hardware/product.h from measured products of one GPU and format.
//     minimise  sum over sources ( 1/n_source  sum over its rows  sqrt(r^2 + d^2) - d )     r = ln(model / measured), d = 0.02
// by Nelder and Mead's simplex (GSL nmsimplex2) from several starts: the ceilings of waves have no derivative. Each source has
// the same weight however many rows it has, and far rows count by their distance, not its square. Eight parameters: the
// efficiencies of the four tile areas, K0, memory efficiency, t0, tw, and below 16 bits q, each within bounds by a logistic
// map. Intervals are the 5th to 95th percentile over bootstrap samples of weight matrices (n, k), whose rows belong together.
// Starts and samples come from fixed sequences, so the same rows give the same numbers.
#pragma once
#include "models/hardware/product.h"

enum { FIT_TILES = 5, FIT_CLASSES = 3 };

typedef enum fit_parameter { // efficiencies are called by the area of their tiles
    FIT_EFFICIENCY_32768,
    FIT_EFFICIENCY_16384,
    FIT_EFFICIENCY_8192,
    FIT_EFFICIENCY_4096,
    FIT_DEPTH_OVERHEAD,    // elements of depth
    FIT_MEMORY_EFFICIENCY, // share
    FIT_START_S,
    FIT_WAVE_S,
    FIT_QUANTISE_BYTES, // for each element; the last, for formats of 16 bits do without
    FIT_PARAMETERS
} fit_parameter;

typedef struct fit_tile {
    uint32_t rows, columns;
    fit_parameter efficiency;
} fit_tile;
extern const fit_tile fit_tiles[FIT_TILES]; // in the order of product_fit.def.tiles

typedef struct fit_row {
    product_shape shape;
    double time_s;
    uint32_t source; // counted from 0
} fit_row;
ARRAY_OF(fit_row, fit_rows);

typedef struct fit_residual { // of rows with m in a class: below 512, below 2048, the rest
    uint32_t count;
    double mape, bias; // means of the absolute and of the signed error of the time, model / measured - 1
} fit_residual;

typedef struct product_fit {
    product_def def;                                  // tiles in the arena
    double low[FIT_PARAMETERS], high[FIT_PARAMETERS]; // ends of the intervals; 0 without a bootstrap
    fit_residual classes[FIT_CLASSES];
    uint32_t rows, sources;
} product_fit;

// format: dtype. gpu: peaks as on the data sheet. samples: of the bootstrap, 0 for none. Needs as many rows as parameters.
product_fit fit_products(arena *a, const fit_rows *rows, const product_gpu *gpu, int format,
                         double operand_bytes, uint32_t samples);
