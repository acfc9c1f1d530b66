// SPDX-License-Identifier: GPL-3.0-or-later
// tools/collective_answer.h: what windtunnel collective answers: the columns of nccl-tests, then ours; or JSON.
#pragma once
#include "models/collective/parts_file.h"
#include "models/collective_bench.h"
#include "models/summary.h"
#include "tools/collective_sizes.h"
#include "tools/output.h"

typedef struct collective_row {
    sweep_size size;
    collective_bench_result played;
    double algorithm_Bps, bus_Bps;
    double nic_limit_Bps; // bus bandwidth at which the busiest NIC would never pause; 0: no NIC is used
    bool is_above;        // what its links allow
} collective_row;
ARRAY_OF(collective_row, collective_row_array);

typedef struct unmet_choice { // a key of the scenario that forces what this collective cannot have here
    const char *key, *forced, *why;
    const char *where; // it is forced, in brackets behind a blank, or ""
} unmet_choice;
ARRAY_OF(unmet_choice, unmet_choice_array);

typedef struct collective_answer {
    arena *arena;
    const scenario *scenario;
    const collective_bench *bench;
    const char *collective; // as nccl-tests has it
    collective_kind kind;
    const element_type *type;
    const char *operation; // NULL: none
    int root;              // -1: none
    sweep sweep;
    const sweep_size_array *sizes; // all that are to be played
    uint32_t left_out;             // sizes too small to share out, or for an element to be sent
    collective_grain grain;
    const char *parts_file; // NULL: parts are equal
    parts_weights parts;
    unmet_choice_array unmet;
    assumption_array assumptions;
    collective_row_array rows;
    bool cancelled, verbose;
} collective_answer;

void collective_answer_add(collective_answer *a, const sweep_size *size,
                           const collective_bench_result *played);
// Lines that begin with #, the title of the columns among them; a row as nccl-tests prints it; lines that begin with #.
void collective_answer_head(const collective_answer *a, FILE *out);
void collective_answer_row(const collective_answer *a, const collective_row *row, FILE *out);
void collective_answer_foot(const collective_answer *a, FILE *out);
void collective_answer_json(const collective_answer *a, FILE *out);
