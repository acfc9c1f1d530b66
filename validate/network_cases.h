// SPDX-License-Identifier: GPL-3.0-or-later
// validate/network_cases.h: how rows of measured networks are played, as data. A case says for which rows it holds and which
// flow on which cluster gives the number that was measured. All cases that hold for a row are played, so that a row with two
// numbers has two; where none is, the first that holds says why.
//     - where: { metric: "ib_write_lat 2B 3 hops*" }  # patterns of columns, with *; all must match
//       answer: latency                               # of the flow with its NICs, rate, or share of the NIC's line rate
//       set: { cluster.fabric.leaves: 2 }             # keys of the scenario, over network/base.yaml
//       less: { cluster.fabric.leaves: 1 }            # the answer with these beside is taken off
//       times: 0.5                                    # and what is left is multiplied
//       size: 2 B                                     # of the flow; 1 GB for a rate
//       take: 2                                       # the second number of the value
//       measured: 5 GB/s                              # for a value that is no number, such as a range
//       role: fit                                     # the catalogue has a number from this row; else held
//       evidence: "the case in words"
//       unknown: "why it is not played"               # instead of an answer
#pragma once
#include "sim/array.h"
#include "sim/error.h"

typedef enum network_answer { ANSWER_LATENCY, ANSWER_RATE, ANSWER_SHARE } network_answer;
typedef enum network_role { ROLE_OF_HELD_ROW, ROLE_OF_FITTED_ROW } network_role;
extern const char *const network_answer_words[]; // "latency", "rate", "share", NULL
extern const char *const network_role_words[];   // "held", "fit", NULL

typedef struct network_field { // a column and its text, or a pattern of it
    const char *column, *text;
} network_field;
ARRAY_OF(network_field, network_field_array);

typedef struct network_case {
    network_field_array where;
    int answer;
    text_list set, less; // "path=value"
    double times;
    uint64_t size_bytes;
    uint32_t take;        // from 1
    const char *measured; // NULL: the value of the row
    int role;
    const char *evidence;
    const char *unknown; // NULL: it is played
} network_case;
ARRAY_OF(network_case, network_case_array);

// Refused at their place: keys and words that are unknown, numbers that are none, cases without evidence.
bool network_cases_read(arena *a, const char *path, network_case_array *out, sim_error *error);
bool network_case_holds(const network_case *c, const network_field_array *row);
