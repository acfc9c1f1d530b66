// SPDX-License-Identifier: GPL-3.0-or-later
// validate/cost_files.h: the numbers of classes of links and NICs (models/hardware/link_costs.h) as lines of catalogue files,
// so that fitted ones can be written in their places while all others keep theirs, with their sources and grades.
#pragma once
#include "models/hardware/link_costs.h"
#include "models/ids.h"
#include "models/part.h"
#include "sim/array.h"

typedef struct cost_field { // that a fit may set
    const char *key;        // in its file: "entry", "simple.rate"
    bool is_nic;            // of nic_costs, else of scale_up_costs
    unit_kind unit;         // UNIT_RATE: double [B/s]; UNIT_TIME: sim_time [ps]; UNIT_NONE: double
    size_t offset;
    double least, most; // between which it is sought: B/s, s, 1. Wide: one that ends there is not determined
    const char *written_as; // its unit in files, of which a base unit is this many: 1 s = 1e6 us
    double per_base;
} cost_field;
extern const cost_field cost_fields[];
extern const uint32_t cost_field_count;

typedef struct cost_class { // a file
    const char *name;
    bool is_nic;
    uint32_t base; // NO_ID: none
    const char *text;
} cost_class;
ARRAY_OF(cost_class, cost_class_array);

// That a file says of its class, and of those that are based on it and do not say it themselves. What is graded vendor is
// stated, not unknown, and none: a fit leaves it.
typedef struct cost_number {
    uint32_t class, field, line; // line: counted from 1
} cost_number;
ARRAY_OF(cost_number, cost_number_array);

typedef struct cost_files {
    cost_class_array classes; // bases before those based on them
    cost_number_array numbers;
} cost_files;

// Refused: what is no file of a catalogue, and numbers that do not stand alone on a line.
bool cost_files_read(arena *a, const catalogue *parts, cost_files *out, sim_error *error);
uint32_t cost_files_class(const cost_files *files, bool is_nic, const char *name); // NO_ID: there is none
// Who says a field of a class; NO_ID: nobody does.
uint32_t cost_files_number(const cost_files *files, uint32_t class, uint32_t field);

double cost_field_get(const cost_field *field, const void *costs);
void cost_field_set(const cost_field *field, void *costs, double value);
// "21.8123 GB/s", six digits, and the value that this text has.
const char *cost_field_text(arena *a, const cost_field *field, double value, double *read);

typedef struct cost_fit { // of a number
    bool fitted;          // else its line stays
    double value, low, high;
    const char *runs; // that determine it
} cost_fit;
// A class's file with the fitted numbers (of cost_files.numbers) in their lines.
const char *cost_files_text(arena *a, const cost_files *files, uint32_t class, const cost_fit *fits);
