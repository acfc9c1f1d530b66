// SPDX-License-Identifier: GPL-3.0-or-later
// sim/stats.h: statistics over observations: running moments, time-weighted means, quantiles, histograms.
#pragma once
#include "sim/arena.h"
#include "sim/units.h"

typedef struct stats_running { // Welford's recurrence; zero-initialise
    uint64_t count;
    double mean, m2, least, greatest;
} stats_running;
void stats_add(stats_running *r, double value);
double stats_variance(const stats_running *r); // of the sample, n - 1; NAN below two observations
// Half of Student's t interval of the mean at this confidence, in (0, 1); NAN below two observations.
double stats_half_width(const stats_running *r, double confidence);

// A piecewise constant quantity over time; stats_level_start() initialises it.
typedef struct stats_level {
    sim_time since, start;
    double value;
    double area; // value x ticks, compensated
    double compensation;
    double greatest;
} stats_level;
void stats_level_start(stats_level *l, sim_time now, double value);
void stats_level_set(stats_level *l, sim_time now, double value);
double stats_level_mean(const stats_level *l, sim_time now); // NAN when no time has passed

// Sorts values; NAN when there are none (GSL, type 7).
double stats_quantile(double *values, uint32_t count, double fraction);

typedef struct stats_histogram stats_histogram; // logarithmic bins
stats_histogram *stats_histogram_create(arena *a, double least, double greatest, uint32_t bins);
void stats_histogram_add(stats_histogram *h, double value);
uint64_t stats_histogram_count(const stats_histogram *h, uint32_t bin, double *from, double *to);
uint64_t stats_histogram_below(const stats_histogram *h);
uint64_t stats_histogram_above(const stats_histogram *h);
