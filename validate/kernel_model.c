// SPDX-License-Identifier: GPL-3.0-or-later
#include "validate/kernel_model.h"
#include "models/hardware/attention_rate.h"

bool kernel_model_gpu(arena *a, const catalogue *parts, const char *gpu, const char *kernels, gpu_def *out,
                      sim_error *error)
{
    // The part itself, not a struct that holds it; messages about its name stand where names are from.
    static const bind_row gpu_row = {
        .type = BIND_TYPE_PART, .key = "gpu", .folder = "gpus", .rows = gpu_binds, .size = sizeof(gpu_def)
    };
    const bind_row rows[] = { gpu_row, BIND_END };
    const char *text = kernels ? arena_format(a, "gpu: { base: %s, kernels: %s }\n", gpu, kernels)
                               : arena_format(a, "gpu: %s\n", gpu);
    document doc;
    return document_parse(a, "kernel_sets.csv", text, strlen(text), NULL, &doc, error) &&
           bind_read(bind_reader_create(a, part_read, (void *)parts), rows, doc.root, "", out, error);
}

dtype kernel_model_format(const char *printed)
{
    static const struct {
        const char *printed;
        dtype format;
    } formats[] = { { "bf16", DTYPE_BF16 },      { "fp16", DTYPE_BF16 }, { "16-bit", DTYPE_BF16 },
                    { "fp16/bf16", DTYPE_BF16 }, { "fp8", DTYPE_FP8 },   { "fp8(block-scaled)", DTYPE_FP8 },
                    { "nvfp4", DTYPE_FP4 } };
    for (size_t i = 0; i < ARRAY_COUNT(formats); i++)
        if (strcmp(printed, formats[i].printed) == 0) return formats[i].format;
    return DTYPES;
}

product_shape kernel_model_shape(const measured_kernel *row, dtype format, double operand_bytes)
{
    const double m = (double)row->m, n = (double)row->n, k = (double)row->k;
    return (product_shape){ .batch = row->batch,
                            .m = row->m,
                            .n = row->n,
                            .k = row->k,
                            .element_bytes = dtype_bytes(format),
                            .bytes = (double)row->batch *
                                     ((m * k + k * n) * operand_bytes + m * n * row->result_bytes) };
}

product_gpu kernel_model_product_gpu(const gpu_def *gpu, dtype format)
{
    return (product_gpu){ .multiprocessors = gpu->multiprocessors,
                          .peak_flops = gpu->peak_flops[format],
                          .vector_flops = gpu->vector_flops,
                          .memory_Bps = gpu->memory_rate_Bps };
}

static double product_s(arena *a, const gpu_def *gpu, const measured_kernel *row, const char **why)
{
    const dtype format = kernel_model_format(row->dtype);
    const product_def *products = format < DTYPES ? kernel_set_products(&gpu->kernels, format) : NULL;
    if (!products || !(gpu->peak_flops[format] > 0.0)) {
        *why = arena_format(a, "%s has no products of %s", gpu->kernels.name, row->dtype);
        return 0.0;
    }
    const product_gpu on = kernel_model_product_gpu(gpu, format);
    const product_shape shape = kernel_model_shape(row, format, products->operand_bytes);
    product_def alone = *products;
    if (!row->quantises) alone.quantise_bytes = 0.0;
    return product_time(&alone, &on, &shape).time_s;
}

static double attention_s(arena *a, const gpu_def *gpu, attention_program program, const measured_kernel *row,
                          const char **why)
{
    if (kernel_model_format(row->dtype) != DTYPE_BF16) {
        *why = arena_format(a, "attention in %s is not modelled in this version", row->dtype);
        return 0.0;
    }
    double time_s = 0.0;
    for (int backward = 0; backward <= 1; backward++) {
        measured_kernel half = *row;
        half.pass = backward ? PASS_ONLY_BACKWARD : PASS_ONLY_FORWARD;
        if (row->pass != PASS_BOTH && row->pass != half.pass) continue;
        const attention_query query = { .program = program,
                                        .length = (double)row->m,
                                        .head_size = (uint32_t)row->k,
                                        .full_mask = row->full_mask,
                                        .backward = backward,
                                        .blocks = attention_blocks(row->batch, row->m,
                                                                   gpu->multiprocessors) };
        const double share = attention_share(&gpu->kernels, &query);
        if (!(share > 0.0)) {
            *why = arena_format(a, "%s has no rates of %s %s", gpu->kernels.name,
                                attention_program_words[program], backward ? "backward" : "forward");
            return 0.0;
        }
        time_s += gpu->kernels.kernel_overhead_s +
                  measured_kernel_flop(&half) / (gpu->peak_flops[DTYPE_BF16] * share);
    }
    return time_s;
}

double kernel_model_time_s(arena *a, const gpu_def *gpu, attention_program program,
                           const measured_kernel *row, const char **why)
{
    *why = NULL;
    switch (row->table) {
    case MEASURED_GEMM: return product_s(a, gpu, row, why);
    case MEASURED_ATTENTION: return attention_s(a, gpu, program, row, why);
    case MEASURED_ELEMENTWISE:
        return gpu->kernels.kernel_overhead_s +
               row->bytes / (gpu->memory_rate_Bps * gpu->kernels.stream_efficiency);
    case MEASURED_TABLES: break;
    }
    SIM_ASSERT(row->table < MEASURED_TABLES);
    return 0.0;
}
