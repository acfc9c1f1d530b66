// SPDX-License-Identifier: GPL-3.0-or-later
// validate/training_explain.h: why the simulated time of one measured step is what it is: the scenario that was made of the
// row, and how much longer the step takes when one part of the model is a tenth slower.
#pragma once
#include "validate/training_suite.h"

typedef struct
    sensitivity {     // to one part of the model: its rates 1.1 times lower, its times 1.1 times longer
    const char *name; // "rate of products"
    double change;    // of the step time; 0.1: a tenth more
} sensitivity;
ARRAY_OF(sensitivity, sensitivity_array);

// A scenario as YAML, as far as it was written or set.
void training_explain_write(const doc_node *node, uint32_t depth, FILE *out);
// By playing the first variant of a case again for each parameter that it has. as_it_is: its result. What is slower never
// fails, so any error is that of a run.
bool training_explain_sensitivity(const training_suite *suite, const training_options *options,
                                  uint32_t index, const run_result *as_it_is, sensitivity_array *out,
                                  sim_error *error);
