// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/hardware/roofline.h"
#include "models/hardware/attention_rate.h"
#include "models/hardware/product.h"
#include "sim/check.h"
#include <math.h>

const char *const kernel_class_words[] = { "matmul", "attention-forward", "attention-backward", "elementwise",
                                           NULL };
const char *const kernel_bound_words[] = { "tensor-core", "hbm", "launch", "vector", NULL };

struct roofline {
    const gpu_def *gpu;
    const kernel_time_array *times; // NULL: none
};

roofline *roofline_create(arena *a, const gpu_def *gpu)
{
    roofline *r = arena_new(a, roofline);
    r->gpu = gpu;
    return r;
}

void roofline_use_times(roofline *r, const kernel_time_array *times)
{
    r->times = times;
}

typedef struct health {
    double clock_ratio, memory_ratio;
    gpu_taken taken;
} health;

static const gpu_taken nothing_taken = { 0.0, 0.0 };

// Multiprocessors that are left, and the share of them.
static double units_left(const roofline *r, health h)
{
    return fmax(r->gpu->multiprocessors - h.taken.multiprocessors, r->gpu->multiprocessors / 2.0);
}

static double units_share(const roofline *r, health h)
{
    return units_left(r, h) / r->gpu->multiprocessors;
}

// Of the memory rate that kernels with this efficiency get of it: what is taken is taken of that.
static double memory_left_Bps(const roofline *r, double efficiency, health h)
{
    const double rate_Bps = r->gpu->memory_rate_Bps * efficiency * h.memory_ratio;
    return fmax(rate_Bps - h.taken.memory_Bps, rate_Bps / 2.0);
}

// A kernel's time before it is rounded, and what it is made of.
typedef struct estimate {
    double overhead_s, compute_s, memory_s, total_s;
    double peak_flops; // that efficiency refers to
    kernel_bound compute_bound;
} estimate;

static estimate product_estimate(const roofline *r, const kernel_shape *kernel, health h)
{
    const gpu_def *gpu = r->gpu;
    const product_def *products = kernel_set_products(&gpu->kernels, kernel->type);
    const double peak_flops = gpu->peak_flops[kernel->type], clock_ratio = gpu->clock_ratio * h.clock_ratio;
    SIM_ASSERT(products && peak_flops > 0.0); // scenario_check() refuses number formats that the GPU lacks
    const uint32_t units = (uint32_t)ceil(units_left(r, h));
    const double share = (double)units / gpu->multiprocessors;
    const product_gpu on = { .multiprocessors = units,
                             .peak_flops = peak_flops * clock_ratio * share,
                             .vector_flops = gpu->vector_flops * clock_ratio * share,
                             .memory_Bps = memory_left_Bps(r, products->memory_efficiency, h) /
                                           products->memory_efficiency };
    const product_shape shape = { .batch = kernel->batch,
                                  .m = kernel->m,
                                  .n = kernel->n,
                                  .k = kernel->k,
                                  .element_bytes = dtype_bytes(kernel->type),
                                  .bytes = kernel->bytes };
    const product_cost cost = product_time(products, &on, &shape);
    return (estimate){ .overhead_s = products->start_s,
                       .compute_s = cost.compute_s,
                       .memory_s = cost.memory_s,
                       .total_s = cost.time_s,
                       .peak_flops = peak_flops,
                       .compute_bound = cost.is_aligned ? BOUND_TENSOR_CORE : BOUND_VECTOR };
}

static double attention_s(const roofline *r, const kernel_shape *kernel, health h)
{
    const attention_query query = { .program = kernel->program,
                                    .length = (double)kernel->m,
                                    .head_size = (uint32_t)kernel->k,
                                    .backward = kernel->class == KERNEL_ATTENTION_BACKWARD,
                                    .blocks = attention_blocks(kernel->batch, kernel->m,
                                                               r->gpu->multiprocessors) };
    const double share = attention_share(&r->gpu->kernels, &query);
    SIM_ASSERT(share > 0.0); // scenario_check() refuses programs without rates
    return kernel->flop / (r->gpu->peak_flops[kernel->type] * share * h.clock_ratio * units_share(r, h));
}

// Attention and elementwise kernels: the longer of arithmetic and traffic.
static estimate stream_estimate(const roofline *r, const kernel_shape *kernel, health h)
{
    const gpu_def *gpu = r->gpu;
    const bool is_attention = kernel->class != KERNEL_ELEMENTWISE;
    estimate e = { .overhead_s = gpu->kernels.kernel_overhead_s * (kernel->launches ? kernel->launches : 1),
                   .peak_flops = is_attention ? gpu->peak_flops[kernel->type] : gpu->vector_flops,
                   .compute_bound = is_attention ? BOUND_TENSOR_CORE : BOUND_VECTOR };
    if (kernel->flop > 0.0)
        e.compute_s = is_attention ? attention_s(r, kernel, h)
                                   : kernel->flop / (gpu->vector_flops * h.clock_ratio * units_share(r, h));
    e.memory_s = kernel->bytes / memory_left_Bps(r, gpu->kernels.stream_efficiency, h);
    e.total_s = e.overhead_s + fmax(e.compute_s, e.memory_s);
    return e;
}

static estimate estimate_of(const roofline *r, const kernel_shape *kernel, health h)
{
    return kernel->class == KERNEL_MATMUL ? product_estimate(r, kernel, h) : stream_estimate(r, kernel, h);
}

static const kernel_time *given_time(const roofline *r, const kernel_shape *kernel)
{
    for (uint32_t i = 0; r->times && i < r->times->count; i++) {
        const kernel_time *t = &r->times->items[i];
        if (t->batch == kernel->batch && t->m == kernel->m && t->n == kernel->n && t->k == kernel->k &&
            strcmp(t->name, kernel->name) == 0)
            return t;
    }
    return NULL;
}

kernel_cost roofline_cost(const roofline *r, const kernel_shape *kernel, double clock_ratio,
                          double memory_ratio)
{
    SIM_ASSERT(clock_ratio > 0.0 && memory_ratio > 0.0);
    SIM_ASSERT(kernel->flop >= 0.0 && kernel->bytes >= 0.0);
    if (!(kernel->flop > 0.0) && !(kernel->bytes > 0.0)) return (kernel_cost){ .bound = BOUND_LAUNCH };

    const estimate e = estimate_of(r, kernel, (health){ clock_ratio, memory_ratio, nothing_taken });
    const bool compute_bound = e.compute_s >= e.memory_s;
    const kernel_time *given = given_time(r, kernel);
    const double wanted_s = given ? given->time_s / (compute_bound ? clock_ratio : memory_ratio) : e.total_s;
    const bool too_long = !(wanted_s <= ROOFLINE_LONGEST_S);
    const double total_s = too_long ? ROOFLINE_LONGEST_S : wanted_s;
    kernel_cost cost = { .too_long = too_long,
                         .is_given = given != NULL,
                         .time_ps = units_ps_from_s_whole_ns(total_s) };
    if (cost.time_ps < PS_PER_NS) cost.time_ps = PS_PER_NS;
    if (2.0 * e.overhead_s > total_s)
        cost.bound = BOUND_LAUNCH;
    else
        cost.bound = compute_bound ? e.compute_bound : BOUND_HBM;
    const double time_s = units_s_from_ps(cost.time_ps);
    cost.efficiency = compute_bound ? kernel->flop / (time_s * e.peak_flops)
                                    : kernel->bytes / (time_s * r->gpu->memory_rate_Bps);
    return cost;
}

// The share by which the estimate grows, of the time that is taken for the kernel, so that it holds for a user's times too.
sim_time roofline_slowed_ps(const roofline *r, const kernel_shape *kernel, const kernel_cost *cost,
                            double clock_ratio, double memory_ratio, const gpu_taken *taken)
{
    SIM_ASSERT(taken->multiprocessors >= 0.0 && taken->memory_Bps >= 0.0);
    if (!(kernel->flop > 0.0) && !(kernel->bytes > 0.0)) return 0;
    const estimate alone = estimate_of(r, kernel, (health){ clock_ratio, memory_ratio, nothing_taken });
    const estimate beside = estimate_of(r, kernel, (health){ clock_ratio, memory_ratio, *taken });
    if (!(beside.total_s > alone.total_s)) return 0;
    return (sim_time)((double)cost->time_ps * (beside.total_s / alone.total_s - 1.0));
}

sim_time roofline_launch_ps(const roofline *r)
{
    return units_ps_from_s_whole_ns(r->gpu->launch_s);
}

const gpu_def *roofline_gpu(const roofline *r)
{
    return r->gpu;
}
