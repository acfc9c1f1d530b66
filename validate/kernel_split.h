// SPDX-License-Identifier: GPL-3.0-or-later
// validate/kernel_split.h: which kernel set measured rows are held against, and whether they were fitted or held back:
// measured/split.csv. And how the sets are made: measured/kernel_sets.csv.
#pragma once
#include "validate/kernel_rows.h"

typedef enum split_role { ROLE_FIT, ROLE_HELD } split_role;
extern const char *const split_role_words[]; // "fit", "held", NULL

typedef struct
    split_row { // of a table, a source ("*": any) and a GPU, both as the rows say them; of collectives, runs by a
                // pattern of ids, without a GPU and a kernel set
    const char *table, *source, *gpu;
    const char *dtype;   // "": any but those with a recipe in brackets, which are named
    int role;            // split_role
    const char *kernels; // the set
    int program;         // attention_program; PROGRAM_FLASH: the set's
    const char *why;
} split_row;
ARRAY_OF(split_row, split_array);

typedef struct set_row {
    const char *kernels, *gpu; // of the catalogue
    const char *like;          // the lenders, parted by blanks
    text_list lenders;         // sets that lend what this one has no rows for, nearest first
    int flash;                 // attention_program
    double stream_efficiency;
    const char *stream_grade, *stream_source;
    const char *overhead_gpu; // of the rows of overlap.csv that give the overhead of a kernel
    const char *overhead_grade;
} set_row;
ARRAY_OF(set_row, set_array);

typedef struct kernel_split {
    split_array rows;
    set_array sets;
} kernel_split;

// Both tables from the folder of measurements. Refused: what binding refuses, and names of sets that are none.
bool kernel_split_read(arena *a, const char *directory, kernel_split *out, sim_error *error);
// The first row that fits; NULL: no set is named for it.
const split_row *kernel_split_of(const kernel_split *split, const measured_kernel *row);
const set_row *kernel_split_set(const kernel_split *split, const char *kernels); // NULL: there is none
// All names of GPUs as measured rows say them, each once.
void kernel_split_gpus(const kernel_split *split, arena *a, text_list *out);
