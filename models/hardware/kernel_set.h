// SPDX-License-Identifier: GPL-3.0-or-later
// models/hardware/kernel_set.h: how fast the kernels of a library run on a GPU, as the catalogue's kernels/ describe it. Rates
// are shares of the data sheet, so that a set measured on one GPU can be lent to its kin; what a GPU peaks at is gpu.h's.
#pragma once
#include "models/dtype.h"
#include "sim/bind.h"

// A part of the result that one multiprocessor works on at once, and the same turned.
typedef struct tile_def {
    uint32_t rows, columns; // elements
    double efficiency;      // share of the multiprocessor's peak
} tile_def;
ARRAY_OF(tile_def, tile_array);

typedef struct product_def { // of one number format; models/hardware/product.h has the equation
    int format;              // dtype
    double operand_bytes;    // of one element with its scales, where no kernel says what it moves
    tile_array tiles;
    uint32_t depth_step;      // the depth is worked off in slices of so many elements
    double depth_overhead;    // elements of depth that start and end of a tile cost beside its own
    double memory_efficiency; // share of the memory rate
    double quantise_bytes;    // moved before it for each element of the left operand; 0: that comes quantised
    double start_s;           // of each kernel
    double wave_s;            // of each wave of tiles
    double blend;             // how work and traffic add up: 1 one behind the other; large: the longer alone
} product_def;
ARRAY_OF(product_def, product_array);

// Programs that compute attention as kernels of their own. Their words stand in training.attention and in catalogue files.
typedef enum attention_program {
    PROGRAM_FLASH,      // whichever the set names
    PROGRAM_FA1,        // FlashAttention 1
    PROGRAM_FA1_TRITON, // the same in Triton
    PROGRAM_FA2,
    PROGRAM_FA3,
    PROGRAM_FA4,
    PROGRAM_CUDNN, // cuDNN's, which Transformer Engine calls
    PROGRAM_SDPA,  // PyTorch's scaled_dot_product_attention
    PROGRAM_AITER, // AMD's
    PROGRAM_EAGER, // unfused, operation by operation, as one measured rate
    PROGRAMS
} attention_program;
extern const char *const attention_program_words[]; // "flash", "fa1", ..., "eager", NULL

typedef struct attention_def { // rates of one program
    int program;               // attention_program, not PROGRAM_FLASH
    uint32_t head_size;        // elements
    bool full_mask;            // every pair is computed; otherwise the lower triangle
    bind_points forward;       // sequence length -> share of the peak
    bind_points backward;      // none: no rates are known
} attention_def;
ARRAY_OF(attention_def, attention_array);

typedef struct kernel_set_def {
    const char *name;
    product_array products;
    int flash; // attention_program that "flash" stands for
    attention_array attention;
    // Blocks per multiprocessor at which attention over 2,048 tokens has half its rate; 0: it always has all.
    double attention_fill;
    double stream_efficiency; // share of the memory rate that a kernel gets which only moves bytes
    double kernel_overhead_s; // GPU time of each such kernel, and of attention, beside its work
} kernel_set_def;

extern const bind_row kernel_set_binds[];

// The products of a format. 16-bit formats share theirs, and serve tf32 and fp32 where these have none of their own; NULL: the
// set knows nothing of the format.
const product_def *kernel_set_products(const kernel_set_def *set, dtype type);
// Whether a program (PROGRAM_FLASH: the one it stands for) has forward and backward rates with a causal mask.
bool kernel_set_can_train(const kernel_set_def *set, attention_program program);
