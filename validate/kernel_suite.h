// SPDX-License-Identifier: GPL-3.0-or-later
// validate/kernel_suite.h: every measured kernel beside what the models say of it. Rows of a source are judged apart by GPU,
// format and role: "microsoft/vidur, torch cuBLAS; H100-80GB fp16; fit".
#pragma once
#include "models/part.h"
#include "validate/compare.h"
#include "validate/kernel_split.h"

typedef struct kernel_suite_options {
    const char *measured; // the folder of measurements
    const char *data;     // a table of the user's instead of the three of the folder; NULL: those
    const catalogue *parts;
} kernel_suite_options;

typedef struct kernel_suite {
    compared_row_array rows;  // in seconds
    measured_kernel_array of; // what each is a row of
    bool *is_fit;             // whether its set was fitted to it
} kernel_suite;

bool kernel_suite_build(arena *a, const kernel_suite_options *options, kernel_suite *out, sim_error *error);

// The medians that are aimed at, for one GPU.
typedef enum kernel_aim { AIM_16_BIT, AIM_BELOW_16_BIT, AIM_ATTENTION, AIMS } kernel_aim;
typedef struct aimed_gpu {
    const char *gpu;
    uint32_t fit_rows, held_rows;
    double fit_median, held_median; // of the absolute errors; NAN: no rows
} aimed_gpu;
ARRAY_OF(aimed_gpu, aimed_gpu_array);
double kernel_aim_median(kernel_aim aim);
const char *kernel_aim_text(kernel_aim aim); // "16-bit products with m of 1,024 and more"
aimed_gpu_array kernel_suite_aim(arena *a, const kernel_suite *suite, kernel_aim aim);
