// SPDX-License-Identifier: GPL-3.0-or-later
// models/dtype.h: number formats of tensors.
#pragma once

typedef enum dtype { DTYPE_FP32, DTYPE_TF32, DTYPE_BF16, DTYPE_FP16, DTYPE_FP8, DTYPE_FP4, DTYPES } dtype;

extern const char *const dtype_words[]; // "fp32", "tf32", "bf16", "fp16", "fp8", "fp4", NULL
double dtype_bytes(dtype type);         // of one element: 4, 4, 2, 2, 1, 0.5
