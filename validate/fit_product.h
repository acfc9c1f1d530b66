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

enum { FIT_TILES = 5, FIT_PARAMETERS = 9, FIT_CLASSES = 3 };

typedef struct fit_row {
    product_shape shape;
    double time_s;
    uint32_t source; // counted from 0
} fit_row;
ARRAY_OF(fit_row, fit_rows);

typedef struct fit_residual { // of rows with m in a class: below 512, below 2048, the rest
    uint32_t count;
    double mape, bias;
} fit_residual;

typedef struct product_fit {
    product_def def;                                  // tiles in the arena
    double low[FIT_PARAMETERS], high[FIT_PARAMETERS]; // of the parameters in the order of fit_parameter_words
    fit_residual classes[FIT_CLASSES];
    uint32_t rows, sources;
} product_fit;
extern const char *const fit_parameter_words[]; // for the comments of a catalogue file; NULL at the end

// gpu: peaks as on the data sheet. samples: of the bootstrap, 0 for none. Needs as many rows as parameters.
product_fit fit_products(arena *a, const fit_rows *rows, const product_gpu *gpu, int format,
                         double operand_bytes, uint32_t samples);
