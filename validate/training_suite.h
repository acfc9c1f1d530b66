// SPDX-License-Identifier: GPL-3.0-or-later
// validate/training_suite.h: plays measured training steps and says how far off they are. A row whose micro-batch or number of
// virtual stages is not published is played with all that it may have been: the least and the greatest time are told, and
// whether the measured one lies between them, but it does not count.
#pragma once
#include "models/run.h"
#include "validate/compare.h"
#include "validate/training_case.h"

typedef struct training_suite {
    arena *arena;
    const char *folder; // with the rules, the base scenario and measured/
    training_row_array rows;
    rule_array rules;
    training_case *cases; // as rows
} training_suite;

typedef enum played_status { PLAYED_SCORED, PLAYED_RANGE, PLAYED_UNKNOWN } played_status;
extern const char *const played_status_words[]; // "scored", "range", "unknown", NULL

typedef struct played_case { // plain: it comes from another process
    played_status status;
    double least_s, greatest_s; // of a step; equal when all is published
    double memory_ratio; // least need of a GPU over what it has; above 1 the step was played all the same
    char reason[600];    // range: what is not published; unknown: why
} played_case;

// Which rows are played.
typedef struct training_choice {
    const char *source; // NULL: all
    const char *id;     // NULL: all
    uint32_t every;     // the first of each source and then each every-th; 0: all
} training_choice;

typedef struct training_options {
    const char *data;           // the table; NULL: the published one
    const char *measured;       // the folder of published ones; NULL: the usual one
    const char *catalogue_path; // NULL: found
    training_choice choice;
    uint32_t jobs;                                                // processes
    bool (*progress)(void *owner, uint32_t done, uint32_t count); // false: stop; may be NULL
    void *owner;
} training_options;

bool training_suite_open(arena *a, const training_options *options, training_suite *out, sim_error *error);
// Keeps the rows that are chosen. Refused: a source or an id that no row has.
bool training_suite_choose(training_suite *suite, const training_choice *choice, sim_error *error);
// played: one for each row of the suite, which keeps those that were chosen.
bool training_suite_play(training_suite *suite, const training_options *options, played_case **played,
                         sim_error *error);
compared_row_array training_suite_compare(const training_suite *suite, const played_case *played);
// The scenario of a case, for models/run.h. The texts live in the suite's arena.
run_options training_suite_run(const training_suite *suite, const training_options *options, uint32_t index,
                               uint32_t variant);
// Why a case that was run is not played, in words of the table, with what would be; NULL: it is.
const char *training_suite_refusal(const training_suite *suite, uint32_t index, const run_result *r,
                                   const sim_error *refusal);
