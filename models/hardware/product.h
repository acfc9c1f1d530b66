// SPDX-License-Identifier: GPL-3.0-or-later
// models/hardware/product.h: the time of a matrix product on one GPU, by its shape.
//     t = t0 + (C^p + M^p)^(1/p) + Q
//     C = least over tiles r x c and splits s of   w(r, c, s) (2 r c (d + K0) / (R e) + tw) + S
//     w = ceil( s b ceil(m/r) ceil(n/c) / N )      d = step ceil( ceil(k/s) / step )
//     M = B / (W f)                                S = 8 s b m n / (W f), or 0 where s = 1
//     Q = q b m k / (W f)
// C, M, S, Q, t0, tw [s]   m, n, k, r, c, d, K0 [elements]   N multiprocessors   R = clock P / N [FLOP/s]   P data-sheet peak
// e efficiency of the tile   W data-sheet memory rate [B/s]   f memory efficiency   B bytes moved: operands once, the result as
// often as it is read or written   b products at once   p blend (4)   q bytes moved to quantise an element of the left operand
// (0 with 16 bits).
//
// One multiprocessor works off one tile of the result; the tiles of a product run in waves over all, the last of which may be
// nearly empty. Where tiles are few and the depth long, each is split over s = 1, 2, 3, 4, 6 or 8 multiprocessors (no more than
// two waves, 256 elements of depth each at least) whose fp32 sums pass through memory. K0 is what filling and draining a tile
// cost. The library is taken to choose the best tile. With p = 4 work and traffic hide each other but for the bend.
// Operands must begin on 16 bytes: rows of n or k elements that are no multiple of that leave the matrix units for the vector
// units, whatever the format (heads of 108 or 150 elements in unfused attention).
//
// Form: as in NVIDIA, "Matrix Multiplication Background User's Guide" (tile and wave quantisation), with the sums of Osama et
// al., "Stream-K", PPoPP 2023 for splits. Parameters: fitted by validate/fit_kernels to gemm.csv (catalogue kernels/, each with
// its residuals). Holds for m, n, k of 64 to 131,072 and 16-bit formats; of 8 and 4 bits the sets include the quantisation of
// the left operand, which runs before the product. Left out: L2 reuse, layouts other than that of
// forward passes (0 to 5 %).
#pragma once
#include "models/hardware/kernel_set.h"

typedef struct product_shape {
    uint64_t batch, m, n, k;
    double element_bytes; // of an operand: decides alignment
    double bytes;         // moved in all
} product_shape;

typedef struct product_gpu {
    uint32_t multiprocessors;
    double peak_flops;   // of the format, at this GPU's clock under load
    double vector_flops; // the same of the vector units
    double memory_Bps;   // data sheet, of this very GPU
} product_gpu;

typedef struct product_cost {
    double time_s;
    double compute_s, memory_s; // C and M
    bool is_aligned;
    const tile_def *tile; // of the best choice
    bool turned;
    uint32_t split;
    uint64_t waves;
} product_cost;

product_cost product_time(const product_def *def, const product_gpu *gpu, const product_shape *shape);
// Whether rows of n and k elements begin on 16 bytes.
bool product_is_aligned(const product_shape *shape);
