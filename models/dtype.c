// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/dtype.h"
#include "sim/check.h"
#include <stddef.h>

const char *const dtype_words[] = { "fp32", "tf32", "bf16", "fp16", "fp8", "fp4", NULL };

double dtype_bytes(dtype type)
{
    switch (type) {
    case DTYPE_FP32:
    case DTYPE_TF32: return 4.0;
    case DTYPE_BF16:
    case DTYPE_FP16: return 2.0;
    case DTYPE_FP8: return 1.0;
    case DTYPE_FP4: return 0.5;
    case DTYPES: break;
    }
    SIM_ASSERT(type < DTYPES);
    return 0.0;
}
