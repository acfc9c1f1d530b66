// SPDX-License-Identifier: GPL-3.0-or-later
// validate/collective_case.h: a measured run as something to play: which cluster it was, from its columns and from the rules
// that hold for it (collectives/*.yaml), and what its benchmark program adds.
#pragma once
#include "models/collective/plan.h"
#include "validate/collective_rows.h"
#include "validate/collective_score.h"
#include "validate/rules.h"

extern const rule_language collective_rule_language;

typedef struct collective_case {
    const measured_run *run;
    const char *cluster;  // a node of the catalogue
    text_list sets;       // "path=value", in order
    collective_kind kind; // unless it is unknown
    int class;            // collective_class, or -1
    double harness_more_s, harness_least_s;
    uint64_t sizes_from; // bytes; smaller ones do not count
    const char *sizes_reason;
    const char *together;  // runs with the same count as one; NULL: with none
    const char *compare;   // "": with none
    const char *algorithm; // that was asked for, as the scenario has it; "auto"
    const char *fault;     // NULL: none
    const char *unknown;   // why it cannot be played; NULL: it can
} collective_case;

collective_case collective_case_of(arena *a, const measured_run *run, const rule_array *rules);
// What the benchmark prints for a collective of this time.
double collective_case_printed_s(const collective_case *c, double time_s);
