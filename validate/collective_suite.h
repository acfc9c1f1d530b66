// SPDX-License-Identifier: GPL-3.0-or-later
// validate/collective_suite.h: plays measured collectives and says how far off they are. One value counts for a run at a size:
// the lesser of out of place and in place, for the first use of an algorithm also connects; of runs that count as one
// (rules.h, together) the median. A benchmark's own part is added to what is simulated, never to a model.
#pragma once
#include "models/collective_bench.h"
#include "validate/collective_case.h"
#include "validate/compare.h"
#include "validate/kernel_split.h"

typedef struct
    collective_spread { // of runs that count as one, from 16 MiB on: time over that of the best, at each size
    const char *run;
    uint32_t n;                            // times
    double median, upper, ninth, greatest; // quantiles at a half, three quarters and nine tenths
} collective_spread;
ARRAY_OF(collective_spread, collective_spread_array);

typedef struct prototype_figure { // of a slice-level model with every mechanism, on the same points
    int class;                    // collective_class
    const char *collective;
    int band; // size_band
    int role; // split_role
    uint32_t points;
    double error;            // mean of the absolute errors
    uint32_t within[SHARES]; // points at most a factor off
} prototype_figure;
ARRAY_OF(prototype_figure, prototype_array);

typedef struct collective_suite {
    collective_point_array points;
    collective_spread_array spreads;
    prototype_array prototype; // none unless all published runs are played
} collective_suite;

typedef struct collective_suite_options {
    const char *data;           // the table; NULL: the published one
    const char *measured;       // the folder of published ones; NULL: the usual one
    const char *catalogue_path; // NULL: found
    const char *source;         // a source or a run, * for any text; NULL: all
    uint32_t jobs;              // processes
    bool (*progress)(void *owner, uint32_t done, uint32_t count); // false: stop; may be NULL
    void *owner;
} collective_suite_options;

// Refused: what reading refuses, and a source that no run has.
bool collective_suite_play(arena *a, const collective_suite_options *options, collective_suite *out,
                           sim_error *error);
// The points alone, nothing is played; cases: the first run of each point, as what it would be played.
bool collective_suite_gather(arena *a, const collective_suite_options *options, collective_suite *out,
                             const collective_case ***cases, sim_error *error);
// What plays a case. s: empty, filled. NULL and the error when the rules name what the catalogue has not.
collective_bench *collective_suite_bench(arena *a, const char *catalogue_path, const collective_case *c,
                                         scenario *s, sim_error *error);
// In seconds; a source is a class and a role.
compared_row_array collective_suite_compare(arena *a, const collective_point_array *points);
bool collective_prototype_read(arena *a, const char *folder, prototype_array *out, sim_error *error);
// All figures of a choice, weighed by their points; bias and median are not known.
point_score collective_prototype_score(const prototype_array *all, const point_choice *choice);
