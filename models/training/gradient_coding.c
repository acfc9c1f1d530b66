// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/training/gradient_coding.h"
#include "sim/check.h"
#include <math.h>

const char *const coding_step_words[] = { "gradient encode", "gradient recode", "gradient decode", NULL };

static uint64_t whole(double bytes)
{
    return (uint64_t)ceil(bytes);
}

// ---- what is sent

static double gradient_bytes(const gradient_coding *c)
{
    return dtype_bytes(c->gradient);
}

bool coding_is_compressed(const gradient_coding *c, const gradient_tensor *t)
{
    const double sides = (double)t->rows + (double)t->columns;
    return t->columns > 1 && c->rank * sides * 2.0 < (double)t->rows * (double)t->columns;
}

typedef struct factor_sizes { // elements
    double p, q, rest;        // of all P, of all Q, of what is reduced whole
} factor_sizes;

static factor_sizes factors_of(const gradient_coding *c, const gradient_tensor *tensors, uint32_t count)
{
    factor_sizes sum = { 0 };
    for (uint32_t i = 0; i < count; i++) {
        const gradient_tensor *t = &tensors[i];
        if (coding_is_compressed(c, t)) {
            sum.p += c->rank * (double)t->rows;
            sum.q += c->rank * (double)t->columns;
        } else {
            sum.rest += (double)t->rows * (double)t->columns;
        }
    }
    return sum;
}

double coding_top_elements(const gradient_coding *c, double elements)
{
    return fmin(elements, ceil(c->ratio * elements));
}

static double quantized_bytes(const gradient_coding *c, double elements)
{
    return ceil(elements * c->bits / 8.0) + CODING_SCALE_BYTES * ceil(elements / (double)c->block);
}

// ---- collectives

static uint32_t add_call(data_call *out, uint32_t count, collective_kind kind, double bytes, const char *name)
{
    if (bytes <= 0.0) return count;
    out[count] = (data_call){ .kind = kind, .bytes = whole(bytes), .name = name };
    return count + 1;
}

static uint32_t reduction(const gradient_coding *c, const gradient_bucket *b, dtype type, data_call *out)
{
    const double bytes = (double)b->elements * dtype_bytes(type);
    return c->scatters ? add_call(out, 0, COLLECTIVE_REDUCE_SCATTER, bytes, "gradient reduce-scatter")
                       : add_call(out, 0, COLLECTIVE_ALL_REDUCE, bytes, "gradient all-reduce");
}

static uint32_t factor_calls(const gradient_coding *c, const gradient_bucket *b, bool first, data_call *out)
{
    const factor_sizes sizes = factors_of(c, b->tensors, b->tensor_count);
    const double g = gradient_bytes(c);
    if (!first) return add_call(out, 0, COLLECTIVE_ALL_REDUCE, sizes.q * g, "factor Q all-reduce");
    const uint32_t count = add_call(out, 0, COLLECTIVE_ALL_REDUCE, sizes.rest * g,
                                    "uncompressed gradient all-reduce");
    return add_call(out, count, COLLECTIVE_ALL_REDUCE, sizes.p * g, "factor P all-reduce");
}

static uint32_t quantized_calls(const gradient_coding *c, const gradient_bucket *b, bool first,
                                data_call *out)
{
    const double bytes = quantized_bytes(c, (double)b->elements);
    if (first) return add_call(out, 0, COLLECTIVE_ALL_TO_ALL, bytes, "quantized gradient all-to-all");
    if (c->scatters) return 0;
    return add_call(out, 0, COLLECTIVE_ALL_GATHER, bytes, "quantized gradient all-gather");
}

uint32_t coding_calls(const gradient_coding *c, const gradient_bucket *b, coding_step behind,
                      data_call out[CODING_CALLS_MAX])
{
    const bool first = behind == CODING_ENCODE;
    SIM_ASSERT(behind == CODING_ENCODE || behind == CODING_RECODE);
    switch ((coding_kind)c->kind) {
    case CODING_NONE: return first ? reduction(c, b, c->gradient, out) : 0;
    case CODING_CAST: return first ? reduction(c, b, c->reduced, out) : 0;
    case CODING_POWERSGD: return factor_calls(c, b, first, out);
    case CODING_TOP_K:
        if (!first) return 0;
        return add_call(out, 0, COLLECTIVE_ALL_GATHER,
                        c->replicas * coding_top_elements(c, (double)b->elements) *
                            (gradient_bytes(c) + CODING_INDEX_BYTES),
                        "greatest gradients all-gather");
    case CODING_QUANTIZE: return quantized_calls(c, b, first, out);
    }
    SIM_ASSERT(false);
    return 0;
}

// ---- memory

double coding_feedback_bytes(const gradient_coding *c, double elements)
{
    const bool keeps = c->kind == CODING_POWERSGD || c->kind == CODING_TOP_K;
    return keeps ? elements * gradient_bytes(c) : 0.0;
}

// A cast reduces in place, its share of the sums apart where they are scattered. Factors likewise; Q stays for the next step.
// Quantized: what is sent and what comes from the others, into which the gathered sums go.
double coding_copies_bytes(const gradient_coding *c, double elements, const gradient_tensor *tensors,
                           uint32_t tensor_count)
{
    const double share = c->scatters ? ceil(elements / c->replicas) : 0.0;
    switch ((coding_kind)c->kind) {
    case CODING_NONE: return 0.0;
    case CODING_CAST: return (elements + share) * dtype_bytes(c->reduced);
    case CODING_POWERSGD: {
        const factor_sizes sizes = factors_of(c, tensors, tensor_count);
        return (sizes.p + sizes.q) * gradient_bytes(c);
    }
    case CODING_TOP_K:
        return (c->replicas + 1.0) * coding_top_elements(c, elements) *
               (gradient_bytes(c) + CODING_INDEX_BYTES);
    case CODING_QUANTIZE: return 2.0 * quantized_bytes(c, elements);
    }
    SIM_ASSERT(false);
    return 0.0;
}
