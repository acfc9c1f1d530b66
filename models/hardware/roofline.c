// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/hardware/roofline.h"
#include "sim/check.h"
#include <gsl/gsl_errno.h>
#include <gsl/gsl_interp.h>
#include <math.h>

const char *const kernel_class_words[] = { "matmul", "attention-forward", "attention-backward", "elementwise",
                                           NULL };
const char *const kernel_bound_words[] = { "tensor-core", "hbm", "launch", "vector", NULL };

// A catalogue curve over log10 x. GSL's linear interpolation keeps no state of its own, so that its object, which is
// public, lives in the arena with the rest and needs no free.
typedef struct curve {
    double *log_x;
    const double *y;
    uint32_t count;
    gsl_interp linear;
    gsl_interp_accel *near; // where the last look-up was: changes the time of the next one, not its result
} curve;

struct roofline {
    const gpu_def *gpu;
    curve matmul, attention_forward, attention_backward, memory;
};

static void curve_make(arena *a, const bind_points *points, curve *out)
{
    SIM_ASSERT(points->count > 0);
    out->count = points->count;
    out->y = points->y;
    out->log_x = arena_array(a, double, points->count);
    for (uint32_t i = 0; i < points->count; i++) {
        SIM_ASSERT(points->x[i] > 0.0 && points->y[i] > 0.0);
        out->log_x[i] = log10(points->x[i]);
        SIM_ASSERT(i == 0 || out->log_x[i] > out->log_x[i - 1]);
    }
    out->near = arena_new(a, gsl_interp_accel);
    SIM_ASSERT(gsl_interp_accel_reset(out->near) == GSL_SUCCESS);
    if (out->count < 2) return; // one point: a constant
    SIM_ASSERT(gsl_interp_linear->alloc == NULL);
    out->linear = (gsl_interp){ .type = gsl_interp_linear, .size = out->count };
    SIM_ASSERT(gsl_interp_init(&out->linear, out->log_x, out->y, out->count) == GSL_SUCCESS);
}

static double curve_at(const curve *c, double x)
{
    const double log_x = log10(x);
    if (log_x <= c->log_x[0]) return c->y[0];
    if (log_x >= c->log_x[c->count - 1]) return c->y[c->count - 1];
    double y = 0.0;
    SIM_ASSERT(gsl_interp_eval_e(&c->linear, c->log_x, c->y, log_x, c->near, &y) == GSL_SUCCESS);
    return y;
}

roofline *roofline_create(arena *a, const gpu_def *gpu)
{
    roofline *r = arena_new(a, roofline);
    r->gpu = gpu;
    curve_make(a, &gpu->matmul, &r->matmul);
    curve_make(a, &gpu->attention_forward, &r->attention_forward);
    curve_make(a, &gpu->attention_backward, &r->attention_backward);
    curve_make(a, &gpu->memory, &r->memory);
    return r;
}

// Beside its 4 d FLOP on the matrix units, each score costs an exponential and some vector work: as much time as q
// elements of head size. So the share of the peak falls with small heads:
//     e(d) / e(128) = (d / (d + q)) / (128 / (128 + q))     d, q [elements]
// q from attention.csv, FlashAttention-2, fp16, causal, head sizes 64 and 128, lengths 512 to 16,384 on A100 (forward and
// backward together) and H100 (apart): 18 pairs, q 8 to 29, median 18.6, which gives each pair's ratio within 6 %.
static double head_size_factor(uint64_t head_size)
{
    const double q = 18.6, d = (double)head_size;
    return d * (128.0 + q) / (128.0 * (d + q));
}

// Share of the peak that the kernel's FLOP get, and which peak.
static double compute_efficiency(const roofline *r, const kernel_shape *kernel, double *peak_flops)
{
    *peak_flops = r->gpu->peak_flops[kernel->type];
    switch (kernel->class) {
    case KERNEL_MATMUL:
        SIM_ASSERT(kernel->batch > 0);
        return curve_at(&r->matmul, 2.0 * (double)kernel->batch * (double)kernel->m * (double)kernel->n *
                                        (double)kernel->k);
    case KERNEL_ATTENTION_FORWARD:
        return curve_at(&r->attention_forward, (double)kernel->m) * head_size_factor(kernel->k);
    case KERNEL_ATTENTION_BACKWARD:
        return curve_at(&r->attention_backward, (double)kernel->m) * head_size_factor(kernel->k);
    case KERNEL_ELEMENTWISE: *peak_flops = r->gpu->vector_flops; return 1.0;
    }
    SIM_ASSERT(kernel->class <= KERNEL_ELEMENTWISE);
    return 0.0;
}

kernel_cost roofline_cost(const roofline *r, const kernel_shape *kernel, double clock_ratio,
                          double memory_ratio)
{
    SIM_ASSERT(clock_ratio > 0.0 && memory_ratio > 0.0);
    SIM_ASSERT(kernel->flop >= 0.0 && kernel->bytes >= 0.0);
    if (!(kernel->flop > 0.0) && !(kernel->bytes > 0.0)) return (kernel_cost){ .bound = BOUND_LAUNCH };

    double compute_s = 0.0, peak_flops = 0.0, memory_s = 0.0;
    if (kernel->flop > 0.0) {
        const double efficiency = compute_efficiency(r, kernel, &peak_flops);
        SIM_ASSERT(peak_flops > 0.0); // scenario_check() refuses number formats that the GPU lacks
        compute_s = kernel->flop / (peak_flops * efficiency * r->gpu->clock_ratio * clock_ratio);
    }
    const double memory_Bps = r->gpu->memory_rate_Bps;
    if (kernel->bytes > 0.0)
        memory_s = kernel->bytes / (memory_Bps * curve_at(&r->memory, kernel->bytes) * memory_ratio);

    const double overhead_s = r->gpu->kernel_overhead_s * (kernel->launches ? kernel->launches : 1);
    const bool compute_bound = compute_s >= memory_s;
    const double wanted_s = overhead_s + (compute_bound ? compute_s : memory_s);
    const bool too_long = !(wanted_s <= ROOFLINE_LONGEST_S);
    const double total_s = too_long ? ROOFLINE_LONGEST_S : wanted_s;
    kernel_cost cost = { .too_long = too_long, .time_ps = units_ps_from_s_whole_ns(total_s) };
    if (cost.time_ps < PS_PER_NS) cost.time_ps = PS_PER_NS;
    if (2.0 * overhead_s > total_s)
        cost.bound = BOUND_LAUNCH;
    else if (!compute_bound)
        cost.bound = BOUND_HBM;
    else
        cost.bound = kernel->class == KERNEL_ELEMENTWISE ? BOUND_VECTOR : BOUND_TENSOR_CORE;
    const double time_s = units_s_from_ps(cost.time_ps);
    cost.efficiency = compute_bound ? kernel->flop / (time_s * peak_flops)
                                    : kernel->bytes / (time_s * memory_Bps);
    return cost;
}

sim_time roofline_launch_ps(const roofline *r)
{
    return units_ps_from_s_whole_ns(r->gpu->launch_s);
}

const gpu_def *roofline_gpu(const roofline *r)
{
    return r->gpu;
}
