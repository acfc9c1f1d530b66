// SPDX-License-Identifier: GPL-3.0-or-later
// validate/fit_attention.h: the tables of models/hardware/attention_rate.h from measured rows of one GPU and program.
// Each row's share of the peak is taken to that of a full GPU (attention_rate.h). A row of both passes gives the
// backward pass where the same source has the forward one of the same shape, by the difference of their times; else both
// passes get the rate of the two together. Rows of a source that lie within the same octave of sequence length (around 512 x
// 2^i) are one point, then sources are averaged with equal weight, both in the logarithm.
#pragma once
#include "models/hardware/attention_rate.h"
#include "validate/kernel_rows.h"

typedef struct attention_row {
    const measured_kernel *row;
    int program;     // attention_program
    uint32_t source; // counted from 0
} attention_row;
ARRAY_OF(attention_row, attention_rows);

#define FIT_ATTENTION_FILL                                                                                   \
    1.0 // kernel_set_def.attention_fill of every set; attention_rate.h tells where it is from
// Appends a table for each program, head size and mask of the rows, which are all of one GPU; none where only backward passes
// are known.
void fit_attention(arena *a, const attention_rows *rows, double peak_flops, uint32_t multiprocessors,
                   attention_array *out);
