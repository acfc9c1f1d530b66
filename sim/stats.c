// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/stats.h"
#include "sim/check.h"
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>

// Mean and sum of squared deviations, updated without cancellation:
//     mean_n = mean_{n-1} + (x - mean_{n-1}) / n      M2_n = M2_{n-1} + (x - mean_{n-1}) (x - mean_n)
// Welford: "Note on a method for calculating corrected sums of squares and products", Technometrics 4(3), 1962.
// Units: those of x, and their square. Holds for finite x whose squared spread does not overflow.
void stats_add(stats_running *r, double value)
{
    SIM_ASSERT(isfinite(value));
    r->count++;
    double before = value - r->mean;
    r->mean += before / (double)r->count;
    r->m2 += before * (value - r->mean);
    if (r->count == 1 || value < r->least) r->least = value;
    if (r->count == 1 || value > r->greatest) r->greatest = value;
}

double stats_variance(const stats_running *r)
{
    return r->count < 2 ? (double)NAN : r->m2 / (double)(r->count - 1);
}

// Half the width of the interval that holds the mean with this confidence:
//     h = t_{(1 + c) / 2, n - 1} sqrt(s^2 / n)      c [1], n [observations], s and h [unit of the observations]
// Student: "The probable error of a mean", Biometrika 6(1), 1908. Holds for independent observations that are nearly
// normal, or many.
double stats_half_width(const stats_running *r, double confidence)
{
    SIM_ASSERT(confidence > 0.0 && confidence < 1.0);
    if (r->count < 2) return (double)NAN;
    double t = gsl_cdf_tdist_Pinv(0.5 + 0.5 * confidence, (double)(r->count - 1));
    SIM_ASSERT(isfinite(t));
    return t * sqrt(stats_variance(r) / (double)r->count);
}

void stats_level_start(stats_level *l, sim_time now, double value)
{
    *l = (stats_level){ .since = now, .start = now, .value = value, .greatest = value };
}

// Kahan's compensated sum ("Further remarks on reducing truncation errors", CACM 8(1), 1965): months of short intervals
// lose no more than one long one.
static double area_until(const stats_level *l, sim_time now, double *compensation)
{
    SIM_ASSERT(now >= l->since);
    double term = l->value * (double)(now - l->since) - l->compensation;
    double sum = l->area + term;
    *compensation = (sum - l->area) - term;
    return sum;
}

void stats_level_set(stats_level *l, sim_time now, double value)
{
    SIM_ASSERT(isfinite(value));
    double compensation;
    l->area = area_until(l, now, &compensation);
    l->compensation = compensation;
    l->since = now;
    l->value = value;
    if (value > l->greatest) l->greatest = value;
}

double stats_level_mean(const stats_level *l, sim_time now)
{
    double compensation;
    double area = area_until(l, now, &compensation);
    return now == l->start ? (double)NAN : area / (double)(now - l->start);
}

// Linear between order statistics: q = (1 - d) x_i + d x_{i+1}, i = floor((n - 1) f), d = (n - 1) f - i; type 7 of
// Hyndman, Fan: "Sample quantiles in statistical packages", The American Statistician 50(4), 1996.
double stats_quantile(double *values, uint32_t count, double fraction)
{
    SIM_ASSERT(fraction >= 0.0 && fraction <= 1.0);
    if (count == 0) return (double)NAN;
    for (uint32_t i = 0; i < count; i++) {
        SIM_ASSERT(isfinite(values[i]));
        values[i] += 0.0; // -0 becomes 0: the two compare equal, and which came first would show
    }
    gsl_sort(values, 1, count);
    return gsl_stats_quantile_from_sorted_data(values, 1, count, fraction);
}

// Bins share a ratio: edge_i = least (greatest / least)^(i / bins), i = 0 .. bins; bin i holds edge_i <= x < edge_{i+1}.
// Values are sought among the edges as reported, so that no rounding can put one into a bin that does not hold it.
struct stats_histogram {
    uint32_t bins;
    double *edges;    // bins + 1
    uint64_t *counts; // bins
    uint64_t below, above;
};

stats_histogram *stats_histogram_create(arena *a, double least, double greatest, uint32_t bins)
{
    SIM_ASSERT(least > 0.0 && greatest > least && isfinite(greatest) && bins > 0 && bins < UINT32_MAX);
    stats_histogram *h = arena_new(a, stats_histogram);
    h->bins = bins;
    h->edges = arena_array(a, double, (size_t)bins + 1);
    h->counts = arena_array(a, uint64_t, bins);
    double span = log(greatest) - log(least);
    for (uint32_t i = 0; i < bins; i++)
        h->edges[i] = i ? least * exp(span * i / bins) : least;
    h->edges[bins] = greatest;
    for (uint32_t i = 0; i < bins; i++)
        SIM_ASSERT(h->edges[i] < h->edges[i + 1]); // else more bins were asked for than there are numbers
    return h;
}

void stats_histogram_add(stats_histogram *h, double value)
{
    SIM_ASSERT(!isnan(value));
    if (value < h->edges[0]) {
        h->below++;
        return;
    }
    if (value >= h->edges[h->bins]) {
        h->above++;
        return;
    }
    uint32_t low = 0, high = h->bins; // edges[low] <= value < edges[high]
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (value < h->edges[middle])
            high = middle;
        else
            low = middle;
    }
    h->counts[low]++;
}

uint64_t stats_histogram_count(const stats_histogram *h, uint32_t bin, double *from, double *to)
{
    SIM_ASSERT(bin < h->bins);
    *from = h->edges[bin];
    *to = h->edges[bin + 1];
    return h->counts[bin];
}

uint64_t stats_histogram_below(const stats_histogram *h)
{
    return h->below;
}

uint64_t stats_histogram_above(const stats_histogram *h)
{
    return h->above;
}
