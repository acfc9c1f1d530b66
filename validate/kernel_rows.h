// SPDX-License-Identifier: GPL-3.0-or-later
// validate/kernel_rows.h: measured times of kernels, read from CSV tables with the columns of measured/gemm.csv, attention.csv
// or elementwise.csv (measured/README.md). Which of the three a table is, its columns say.
//
// A row's source is the origin of its provenance and the program before the first bracket of its lib or impl: "microsoft/vidur,
// torch cuBLAS". A row whose numbers cannot be read, or whose kernel no model here describes, is kept with the reason.
#pragma once
#include "sim/array.h"
#include "sim/csv.h"
#include <stdbool.h>

typedef enum kernel_table_kind {
    MEASURED_GEMM,
    MEASURED_ATTENTION,
    MEASURED_ELEMENTWISE,
    MEASURED_TABLES
} kernel_table_kind;
extern const char *const kernel_table_words[]; // "gemm", "attention", "elementwise", NULL
typedef enum kernel_pass { PASS_ONLY_FORWARD, PASS_ONLY_BACKWARD, PASS_BOTH } kernel_pass;

typedef struct measured_kernel {
    kernel_table_kind table;
    uint32_t line;                    // of the file
    const char *source, *gpu, *dtype; // as printed
    const char *what; // the role of a product, the pass of attention, another kernel's operation
    double time_s;
    uint64_t batch, m, n, k; // gemm; attention: sequences x heads, m = n = length, k = head size
    double result_bytes;     // gemm: moved for each element of the result
    bool quantises;          // gemm: the time includes quantising the left operand, the notes say
    uint64_t value_size;     // attention: head size of V
    bool full_mask;          // attention
    kernel_pass pass;        // attention
    double bytes;            // elementwise
    const char *unknown;     // why it cannot be compared; NULL: it can
} measured_kernel;
ARRAY_OF(measured_kernel, measured_kernel_array);

// Appends the rows of a table. Refused: files that are no CSV, and tables without the columns of any of the three.
bool kernel_rows_read(arena *a, const char *path, measured_kernel_array *out, sim_error *error);
bool kernel_rows_take(arena *a, csv_reader *csv, measured_kernel_array *out, sim_error *error); // the same
// FLOP that a measured product or attention is counted with (not of elementwise kernels); b, m, n, k and k', the head size of
// V, are those above:
//     product      2 b m n k
//     attention    c b m n (k + k'), half of it with a causal mask; c = 2 forward, 5 backward, which computes the scores
//                  anew, 7 both
// Dao, "FlashAttention-2: faster attention with better parallelism and work partitioning", 2023, section 4.1.
double measured_kernel_flop(const measured_kernel *row);
