// SPDX-License-Identifier: GPL-3.0-or-later
// validate/compare.h: how well simulated values agree with measured ones, source by source. Every suite of measurements is
// told in this form.
#pragma once
#include "sim/array.h"
#include <stdbool.h>

// error = simulated / measured - 1. Numbers that are not known are NAN.
typedef struct compared_row {
    const char *id, *source;
    double measured, simulated;
    double constant;            // of the model to beat
    const char *unknown_reason; // NULL: it counts
} compared_row;
ARRAY_OF(compared_row, compared_row_array);

typedef struct compared_source {
    const char *source;
    uint32_t n, unknown;  // rows that count, and the others
    double mape, median;  // of the absolute errors
    double worst;         // signed
    double tau;           // Kendall's tau-b of measured and simulated: are the rows in the right order?
    double constant_mape; // of the rows that count and for which it is known
} compared_source;
ARRAY_OF(compared_source, compared_source_array);

double compared_error(const compared_row *row); // NAN where it does not count
// Sources in the order of their first rows.
compared_source_array compare_sources(arena *a, const compared_row_array *rows);
// The rows that count by falling absolute error, then the others; in their order where equal. Indices into rows.
uint32_t *compare_order(arena *a, const compared_row_array *rows);
// Kendall, "The treatment of ties in ranking problems", Biometrika 33(3), 1945: tau-b. NAN below two values, or where all of
// one side are equal.
double compare_tau(const double *left, const double *right, uint32_t count);
