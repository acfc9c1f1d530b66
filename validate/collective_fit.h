// SPDX-License-Identifier: GPL-3.0-or-later
// validate/collective_fit.h: numbers of classes of links and NICs (cost_files.h) from measured collectives, those that
// measured/split.csv names for fitting and no others.
//     minimise  mean over runs ( mean over its sizes  sqrt(r^2 + d^2) - d )     r = ln(predicted / measured), d = 0.02
// predicted: pace.h's closed form on the layout of the run's cluster, with what its benchmark adds; nothing is played. Each run
// weighs the same, however many sizes it has; repeats that count as one are one run.
//
// Numbers are sought by Nelder and Mead's simplex (GSL nmsimplex2), on a logarithmic scale within wide bounds, from several
// starts that do not depend on the files. Links and InfiniBand go together, class by class, round after round, for runs over
// nodes feel both; then each other NIC alone, with the links as they are by then. A number that the runs do not tell keeps its
// line: one that fewer than three sizes feel, or whose interval reaches a bound or a factor of three.
#pragma once
#include "models/collective/library.h"
#include "models/collective_bench.h"
#include "validate/collective_suite.h"
#include "validate/cost_files.h"

typedef struct cost_setup { // a cluster and its ranks
    collective_layout layout;
    scale_up_costs link; // the layout's: what a fit varies
    nic_costs nic;
    const collective_library *library;
    uint32_t link_class, nic_class; // of cost_files; nic_class NO_ID: one node
    const bool
        *is_site; // by cost_fields: a rule sets it for this cluster, so that it tells nothing of the class
} cost_setup;

typedef struct cost_point {
    cost_setup *setup;
    uint32_t run; // of cost_data
    collective_kind kind;
    collective_choice choice;
    uint64_t bytes;
    double measured_s;
    const collective_case *of; // what its benchmark adds
} cost_point;
ARRAY_OF(cost_point, cost_point_array);

typedef struct cost_run {
    const char *name, *pattern; // pattern: of split.csv
} cost_run;
ARRAY_OF(cost_run, cost_run_array);
ARRAY_OF(cost_setup *, cost_setup_array);

typedef struct cost_data {
    cost_files files;
    cost_setup_array setups;
    cost_run_array runs;
    cost_point_array points;
} cost_data;

// Refused: what reading and the clusters of the rules refuse.
bool collective_fit_read(arena *a, const char *measured, const catalogue *parts, cost_data *out,
                         sim_error *error);
double collective_fit_predict_s(const cost_point *p);

typedef struct collective_fit_options {
    const char *only; // the class alone, or the links and InfiniBand if it is one of these; NULL: all
    void (*tell)(const char *line); // what was found; NULL: nobody
} collective_fit_options;

// One of each of files.numbers; the setups are left with the fitted numbers.
cost_fit *collective_fit_all(arena *a, cost_data *data, const collective_fit_options *options);
// Whether a class belongs to what only names.
bool collective_fit_is_asked(const cost_files *files, const char *only, uint32_t class);
