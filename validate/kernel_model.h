// SPDX-License-Identifier: GPL-3.0-or-later
// validate/kernel_model.h: what the models say of a measured kernel. Rows are single kernels in loops or bursts, as their sets
// were fitted, so gpu.clock_ratio, which is a training step's, is left out.
#pragma once
#include "models/hardware/gpu.h"
#include "models/hardware/product.h"
#include "models/part.h"
#include "validate/kernel_split.h"

// A GPU of the catalogue with another kernel set of the catalogue; NULL: its own.
bool kernel_model_gpu(arena *a, const catalogue *parts, const char *gpu, const char *kernels, gpu_def *out,
                      sim_error *error);
// The format that a printed one is modelled as: 16 bit as bf16, fp8, nvfp4 as fp4; DTYPES: none. The recipe with blocks is
// fp8 as well, of sets that are named for it.
dtype kernel_model_format(const char *printed);
// A measured product, for models/hardware/product.h: its operands are moved once, with operand_bytes for an element.
product_shape kernel_model_shape(const measured_kernel *row, dtype format, double operand_bytes);
// Peaks and rate as on the data sheet.
product_gpu kernel_model_product_gpu(const gpu_def *gpu, dtype format);
// Seconds that the row's kernel takes; 0 and *why when no model speaks of it.
double kernel_model_time_s(arena *a, const gpu_def *gpu, attention_program program,
                           const measured_kernel *row, const char **why);
