// SPDX-License-Identifier: GPL-3.0-or-later
// validate/network_suite.h: measured latencies and rates of networks and what losses do to them, each beside the same flow
// played on the fluid network.
#pragma once
#include "sim/units.h"
#include "validate/compare.h"
#include "validate/network_cases.h"

typedef struct network_suite_options {
    const char *measured;       // the folder of measurements
    const char *data;           // a table of the user's instead of the two of the folder; NULL: those
    const char *catalogue_path; // NULL: found
} network_suite_options;

typedef struct network_suite {
    compared_row_array
        rows; // a source is a table and whether the catalogue was made from the row: "network-gear, held"
    unit_kind *units; // of the rows
} network_suite;

// Plays all rows: two seconds or less. Refused: tables without the columns of either published one, broken cases.
bool network_suite_build(arena *a, const network_suite_options *options, network_suite *out,
                         sim_error *error);
