// SPDX-License-Identifier: GPL-3.0-or-later
#include "validate/compare.h"
#include "sim/stats.h"
#include <math.h>
#include <string.h>

double compared_error(const compared_row *row)
{
    return row->unknown_reason ? (double)NAN : row->simulated / row->measured - 1.0;
}

static int sign_of(double difference)
{
    return (difference > 0.0) - (difference < 0.0);
}

//     tau = (C - D) / sqrt((P - X) (P - Y))
// C pairs in the same order, D in the other, P = n (n - 1) / 2 pairs, of which X are equal on the left and Y on the right.
double compare_tau(const double *left, const double *right, uint32_t count)
{
    double agreement = 0.0, left_pairs = 0.0, right_pairs = 0.0;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = i + 1; k < count; k++) {
            const int l = sign_of(left[i] - left[k]), r = sign_of(right[i] - right[k]);
            agreement += l * r;
            left_pairs += l != 0;
            right_pairs += r != 0;
        }
    return left_pairs > 0.0 && right_pairs > 0.0 ? agreement / sqrt(left_pairs * right_pairs) : (double)NAN;
}

static compared_source *source_of(arena *a, compared_source_array *sources, const char *name)
{
    for (uint32_t i = 0; i < sources->count; i++)
        if (strcmp(sources->items[i].source, name) == 0) return &sources->items[i];
    compared_source *made = array_push(sources, a);
    made->source = name;
    return made;
}

static void summarise(arena *a, const compared_row_array *rows, compared_source *s)
{
    double *errors = arena_array(a, double, s->n), *measured = arena_array(a, double, s->n);
    double *simulated = arena_array(a, double, s->n);
    stats_running all = { 0 }, constant = { 0 };
    uint32_t n = 0;
    for (uint32_t i = 0; i < rows->count; i++) {
        const compared_row *row = &rows->items[i];
        if (row->unknown_reason || strcmp(row->source, s->source) != 0) continue;
        const double error = compared_error(row), beside = row->constant / row->measured - 1.0;
        if (fabs(error) > fabs(s->worst)) s->worst = error;
        stats_add(&all, fabs(error));
        if (isfinite(beside)) stats_add(&constant, fabs(beside));
        errors[n] = fabs(error);
        measured[n] = row->measured;
        simulated[n++] = row->simulated;
    }
    s->tau = compare_tau(measured, simulated, n);
    s->mape = n ? all.mean : (double)NAN;
    s->median = stats_quantile(errors, n, 0.5);
    if (!n) s->worst = (double)NAN;
    s->constant_mape = constant.count ? constant.mean : (double)NAN;
}

compared_source_array compare_sources(arena *a, const compared_row_array *rows)
{
    compared_source_array sources = { 0 };
    for (uint32_t i = 0; i < rows->count; i++) {
        compared_source *s = source_of(a, &sources, rows->items[i].source);
        if (rows->items[i].unknown_reason)
            s->unknown++;
        else
            s->n++;
    }
    for (uint32_t i = 0; i < sources.count; i++)
        summarise(a, rows, &sources.items[i]);
    return sources;
}

static bool comes_first(const compared_row *left, const compared_row *right)
{
    const double l = fabs(compared_error(left)), r = fabs(compared_error(right));
    return isfinite(l) && (!isfinite(r) || l > r);
}

uint32_t *compare_order(arena *a, const compared_row_array *rows)
{
    uint32_t *order = arena_array(a, uint32_t, rows->count);
    for (uint32_t i = 0; i < rows->count; i++) {
        uint32_t k = i;
        for (; k > 0 && comes_first(&rows->items[i], &rows->items[order[k - 1]]); k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
    return order;
}
