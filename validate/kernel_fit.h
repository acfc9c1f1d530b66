// SPDX-License-Identifier: GPL-3.0-or-later
// validate/kernel_fit.h: kernel sets made from measurements: fitted where rows are named for a set (measured/split.csv), lent
// by the sets that it is like where not (measured/kernel_sets.csv). kernel_set_file.c writes them as catalogue files.
#pragma once
#include "validate/fit_attention.h"
#include "validate/fit_product.h"
#include "validate/kernel_model.h"

typedef struct fitted_product {
    product_fit fit;
    const char *source; // the tables, sources and GPUs that it was fitted on
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
    uint32_t samples;               // of each bootstrap; 0: none
    const char *only;               // this set alone, and those that lend to it; NULL: all
    void (*tell)(const char *line); // once a format of a set is fitted: how well
} kernel_fit_options;

// Sets in the order of kernel_sets.csv. Refused: what cannot be read, GPUs that the catalogue has not, and a set to be fitted
// alone that is none.
bool kernel_fit_all(arena *a, const kernel_fit_options *options, fitted_sets *out, sim_error *error);
// The text of a set's file, with what others lend it; NULL and the error when no set has products of 16 bit for it.
const char *kernel_set_text(arena *a, const fitted_sets *sets, const fitted_set *set, sim_error *error);
