// SPDX-License-Identifier: GPL-3.0-or-later
// validate/kernel_fit.h: kernel sets made from measurements: fitted where rows are named for a set (measured/split.csv), lent
// by the sets that it is like where not (measured/kernel_sets.csv). kernel_set_file.c writes them as catalogue files.
#pragma once
#include "validate/fit_attention.h"
#include "validate/fit_product.h"
#include "validate/kernel_model.h"

typedef struct fitted_product {
    product_fit fit;
    const char *source; // what it was fitted on
} fitted_product;
ARRAY_OF(fitted_product, fitted_products);

typedef struct fitted_attention {
    attention_def table;
    const char *source, *grade;
} fitted_attention;
ARRAY_OF(fitted_attention, fitted_attentions);

typedef struct fitted_set { // what a set has of its own
    const set_row *def;
    fitted_products products;
    fitted_attentions attention;
    double overhead_s;
} fitted_set;
ARRAY_OF(fitted_set, fitted_sets);

typedef struct kernel_fit_options {
    const char *measured; // the folder
    const catalogue *parts;
    uint32_t samples; // of each bootstrap
    const char *only; // one set alone is fitted; NULL: all
    void (*tell)(const char *line);
} kernel_fit_options;

bool kernel_fit_all(arena *a, const kernel_fit_options *options, fitted_sets *out, sim_error *error);
// The file of a set, with what others lend it; NULL and the error when no set has products of 16 bit for it.
const char *kernel_set_text(arena *a, const fitted_sets *sets, const fitted_set *set, sim_error *error);
