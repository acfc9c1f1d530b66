// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/hardware/gpu.h"
#include "models/hardware/limits.h"

// One row per number format, at its place in gpu_def.peak_flops.
#define PEAK(type_, key_)                                                                                    \
    {                                                                                                        \
        .type = BIND_TYPE_DOUBLE, .key = (key_), .offset = (type_) * sizeof(double), .unit = UNIT_FLOPS,     \
        BIND_DEFAULT(0.0, "0 FLOP/s: none"), BIND_AT_LEAST(0), BIND_AT_MOST(FLOPS_MAX),                      \
        BIND_NOTE("dense peak of " key_ " products")                                                         \
    }
static const bind_row peak_binds[] = {
    PEAK(DTYPE_FP32, "fp32"),
    PEAK(DTYPE_TF32, "tf32"),
    PEAK(DTYPE_BF16, "bf16"),
    PEAK(DTYPE_FP16, "fp16"),
    PEAK(DTYPE_FP8, "fp8"),
    PEAK(DTYPE_FP4, "fp4"),
    BIND_END,
};

const bind_row gpu_binds[] = {
    BIND_TEXT(gpu_def, name, "name", BIND_DEFAULT(0, "unnamed"),
              BIND_NOTE("what it is called in tables and messages")),
    BIND_TEXT(gpu_def, architecture, "architecture", BIND_REQUIRED, BIND_NOTE("generation: ampere, hopper")),
    BIND_U32(gpu_def, multiprocessors, "multiprocessors", BIND_REQUIRED, BIND_AT_LEAST(1), BIND_AT_MOST(1e6),
             BIND_NOTE("streaming multiprocessors or compute units")),
    BIND_STRUCT(gpu_def, peak_flops, "peak", peak_binds, BIND_REQUIRED,
                BIND_NOTE("dense matrix peaks by number format")),
    BIND_FLOPS(gpu_def, vector_flops, "vector", BIND_REQUIRED, BIND_ABOVE(0), BIND_AT_MOST(FLOPS_MAX),
               BIND_NOTE("FP32 outside the matrix units")),
    BIND_BYTES(gpu_def, memory_bytes, "memory", BIND_REQUIRED, BIND_AT_LEAST(1),
               BIND_AT_MOST(MEMORY_MAX_BYTES), BIND_NOTE("capacity")),
    BIND_RATE(gpu_def, memory_rate_Bps, "memory_rate", BIND_REQUIRED, BIND_ABOVE(0),
              BIND_AT_MOST(RATE_MAX_Bps), BIND_NOTE("of the data sheet")),
    BIND_BYTES(gpu_def, reserved_bytes, "reserved_memory", BIND_REQUIRED, BIND_AT_MOST(MEMORY_MAX_BYTES),
               BIND_NOTE("never available to tensors: driver, context, communication library")),
    BIND_POWER(gpu_def, power_W, "power", BIND_REQUIRED, BIND_AT_LEAST(POWER_LEAST_W),
               BIND_AT_MOST(POWER_MAX_W), BIND_NOTE("thermal design power")),
    BIND_NUMBER(gpu_def, clock_ratio, "clock_ratio", BIND_REQUIRED, BIND_ABOVE(0), BIND_AT_MOST(1),
                BIND_NOTE("sustained clock of products under training load against that of the kernel set")),
    BIND_SECONDS(gpu_def, launch_s, "launch", BIND_REQUIRED, BIND_AT_LEAST(0), BIND_AT_MOST(1),
                 BIND_NOTE("host time of each kernel launch")),
    BIND_PART(gpu_def, kernels, "kernels", "kernels", kernel_set_binds, BIND_REQUIRED,
              BIND_NOTE("how fast kernels run: a name of the catalogue or a mapping")),
    BIND_END,
};
