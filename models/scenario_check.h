// SPDX-License-Identifier: GPL-3.0-or-later
// models/scenario_check.h: what scenario_check.c and the files beside it share and nobody else includes. They speak in this
// order: sizes, then the batch, then the rest of the plan.
#pragma once
#include "models/scenario.h"

// sim_fail() at the key that filled field.
#define REFUSE(field_, ...) sim_fail(error, SIM_EXIT_INPUT, bind_place_of(s->reader, &(field_)), __VA_ARGS__)

// Hints at the multiple of at_once nearest to the batch; at a smaller micro-batch where there is none.
bool scenario_hint_batches(const scenario *s, uint64_t at_once, sim_error *error);

// scenario_check_plan.c. Tensor, pipeline and data against the model and the GPUs; fills gpus, data and order.
bool scenario_check_sizes(scenario *s, sim_error *error);
// Schedule, layers, placement, and what asks for something else; fills virtual_layers.
bool scenario_check_plan(scenario *s, sim_error *error);
void scenario_warn_of_plan(const scenario *s, arena *a, text_list *out);

// scenario_check_kernels.c. Whether the GPU's kernel set knows the attention, and the names in the user's table of times.
bool scenario_check_attention(const scenario *s, sim_error *error);
bool scenario_check_kernel_times(const scenario *s, sim_error *error);
