// SPDX-License-Identifier: GPL-3.0-or-later
// The kernels around a coded reduction. All but move bytes, so each is one of models/hardware/roofline.h's kernels of bytes and
// vector FLOP, thin products with r columns too: 2 r / g FLOP per byte of the matrix, which vector units do at the pace of the
// memory up to r of some tens (PyTorch multiplies fp32 matrices on them unless told otherwise). With g bytes for each of E
// gradients, bytes moved:
//     cast        g + d each; back d + g, of a share where sums are scattered
//     PowerSGD    feedback 3 g: e += G;  P = e Q reads e;  P made orthogonal by Gram-Schmidt, column by column;  Q = e^T P
//                 reads e;  G = P Q^T writes G;  what was not sent 3 g: e -= G. One launch for each matrix, 6 r - 4 of
//                 Gram-Schmidt (a norm and a division for each column, and four operations that take it from those that
//                 follow, as PyTorch's hook does it up to rank 2; beyond, it calls a QR).
//     top-k       feedback 3 g: e += G;  selection by radix, 8 bits a pass: one reading for each byte of a value, three
//                 launches each, and one that collects the K values and their places;  what is sent is set to zero in e;
//                 behind the all-gather G = 0, and n K values are added where they belong.
//     quantize    g + q to quantize, q = b / 8 + 4 / block;  shares of n replicas read, summed in fp32 and quantized again, or
//                 written as they are where sums are scattered;  q + g back to gradients
// Single values at scattered places move whole sectors of 32 bytes (CUDA C++ Best Practices Guide, coalesced access). Launches:
// assumed, by counting.
#include "models/training/gradient_coding.h"
#include "models/training/kernel_list.h"
#include "sim/check.h"

#define SECTOR_BYTES 32.0
enum { SELECT_LAUNCHES = 3 }; // of a pass of the selection: count, sum up, find the digit

typedef struct coder {
    const gradient_coding *c;
    const gradient_bucket *b;
    double g; // bytes of a gradient
    kernel_list list;
} coder;

// bytes and FLOP of all elements together.
static void add(coder *k, const char *name, uint64_t elements, double bytes, double flop, uint64_t launches)
{
    if (elements == 0) return;
    kernel_list_elementwise(&k->list, name, elements, flop / (double)elements, bytes / (double)elements,
                            launches > UINT32_MAX ? UINT32_MAX : (uint32_t)launches, 0);
}

static uint64_t share_of(const coder *k)
{
    const uint64_t n = k->c->replicas;
    return (k->b->elements + n - 1) / n;
}

// ---- cast

static void add_cast(coder *k, coding_step step)
{
    const double d = dtype_bytes(k->c->reduced);
    const uint64_t sums = k->c->scatters ? share_of(k) : k->b->elements;
    if (step == CODING_ENCODE)
        add(k, "gradient.cast", k->b->elements, (double)k->b->elements * (k->g + d), 0, 1);
    if (step == CODING_DECODE) add(k, "gradient.cast_back", sums, (double)sums * (k->g + d), 0, 1);
}

// ---- PowerSGD

static void add_orthogonal(coder *k, const gradient_tensor *t)
{
    const double r = k->c->rank, rows = (double)t->rows;
    const double pairs = r * (r - 1.0) / 2.0; // of a column and one that follows
    add(k, "powersgd.orthogonal", t->rows * k->c->rank, rows * k->g * (3.0 * r + 3.0 * pairs),
        rows * (3.0 * r + 4.0 * pairs), 6 * (uint64_t)k->c->rank - 4);
}

static void add_matrix(coder *k, const gradient_tensor *t, coding_step step)
{
    const double r = k->c->rank, size = (double)t->rows * (double)t->columns;
    const double factors = r * ((double)t->rows + (double)t->columns), flop = 2.0 * r * size;
    const uint64_t elements = kernel_list_product(t->rows, t->columns);
    switch (step) {
    case CODING_ENCODE:
        add(k, "powersgd.feedback", elements, 3.0 * k->g * size, size, 1);
        add(k, "powersgd.p", elements, k->g * (size + factors), flop, 1);
        break;
    case CODING_RECODE:
        add_orthogonal(k, t);
        add(k, "powersgd.q", elements, k->g * (size + factors), flop, 1);
        break;
    case CODING_DECODE:
        add(k, "powersgd.product", elements, k->g * (size + factors), flop, 1);
        add(k, "powersgd.unsent", elements, 3.0 * k->g * size, size, 1);
        break;
    case CODING_STEPS: break;
    }
}

static void add_powersgd(coder *k, coding_step step)
{
    for (uint32_t i = 0; i < k->b->tensor_count; i++)
        if (coding_is_compressed(k->c, &k->b->tensors[i])) add_matrix(k, &k->b->tensors[i], step);
}

// ---- top-k

static void add_top_k(coder *k, coding_step step)
{
    const uint64_t all = k->b->elements;
    const double size = (double)all, top = coding_top_elements(k->c, size), sent = k->g + CODING_INDEX_BYTES;
    const double n = k->c->replicas;
    const uint32_t passes = (uint32_t)k->g;
    if (step == CODING_ENCODE) {
        add(k, "topk.feedback", all, 3.0 * k->g * size, size, 1);
        add(k, "topk.select", all, k->g * size * (passes + 1.0) + top * sent, size * (passes + 1.0),
            SELECT_LAUNCHES * passes + 1);
        add(k, "topk.unsent", (uint64_t)top, top * (CODING_INDEX_BYTES + SECTOR_BYTES), 0, 1);
    }
    if (step == CODING_DECODE) {
        add(k, "topk.zero", all, k->g * size, 0, 1);
        add(k, "topk.scatter", k->c->replicas * (uint64_t)top, n * top * (sent + 2.0 * SECTOR_BYTES), n * top,
            1);
    }
}

// ---- quantize

static void add_quantize(coder *k, coding_step step)
{
    const double each = k->c->bits / 8.0 + CODING_SCALE_BYTES / (double)k->c->block;
    const double size = (double)k->b->elements, share = (double)share_of(k), n = k->c->replicas;
    if (step == CODING_ENCODE) add(k, "quantize.encode", k->b->elements, size * (k->g + each), 4.0 * size, 1);
    if (step == CODING_RECODE && !k->c->scatters)
        add(k, "quantize.sum", share_of(k), share * (n + 1.0) * each, share * (2.0 * n + 4.0), 1);
    if (step == CODING_DECODE && k->c->scatters)
        add(k, "quantize.sum", share_of(k), share * (n * each + k->g), share * 2.0 * n, 1);
    if (step == CODING_DECODE && !k->c->scatters)
        add(k, "quantize.decode", k->b->elements, size * (k->g + each), size, 1);
}

void coding_kernels(const gradient_coding *c, const gradient_bucket *b, coding_step step, arena *a,
                    kernel_array *out)
{
    coder k = { .c = c, .b = b, .g = dtype_bytes(c->gradient), .list = { .a = a, .out = out } };
    switch ((coding_kind)c->kind) {
    case CODING_NONE: return;
    case CODING_CAST: add_cast(&k, step); return;
    case CODING_POWERSGD: add_powersgd(&k, step); return;
    case CODING_TOP_K: add_top_k(&k, step); return;
    case CODING_QUANTIZE: add_quantize(&k, step); return;
    }
    SIM_ASSERT(false);
}
