// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "models/cluster.h"
#include "models/collective/library.h"
#include "models/hardware/node.h"
#include "models/hardware/roofline.h"
#include "models/part.h"
#include "models/training/llm.h"
#include "sim/array.h"

#define GIB 1073741824.0

static const char *const directory = "models/catalogue"; // tests run in the root of the source tree

typedef union any_part {
    gpu_def gpu;
    node_def node;
    nic_def nic;
    scale_up_costs link_costs;
    nic_costs nic_costs;
    switch_def network_switch;
    cable_set_def cable_set;
    cluster_def system;
    llm_def llm;
    collective_library collectives;
    kernel_set_def kernels;
} any_part;

#define FOLDER(key_, folder_, rows_, type_)                                                                  \
    {                                                                                                        \
        .type = BIND_TYPE_PART, .key = (key_), .folder = (folder_), .rows = (rows_), .size = sizeof(type_)   \
    }
static const bind_row folders[] = {
    FOLDER("gpu", "gpus", gpu_binds, gpu_def),
    FOLDER("node", "nodes", node_binds, node_def),
    FOLDER("nic", "nics", nic_binds, nic_def),
    FOLDER("link_costs", "link_costs", scale_up_costs_binds, scale_up_costs),
    FOLDER("nic_costs", "nic_costs", nic_costs_binds, nic_costs),
    FOLDER("switch", "switches", switch_binds, switch_def),
    FOLDER("cable_set", "cables", cable_set_binds, cable_set_def),
    FOLDER("cluster", "systems", cluster_binds, cluster_def),
    FOLDER("model", "llms", llm_binds, llm_def),
    FOLDER("collectives", "collectives", collective_library_binds, collective_library),
    FOLDER("kernels", "kernels", kernel_set_binds, kernel_set_def),
};

typedef struct entry {
    arena *arena;
    catalogue catalogue;
    bind_reader *reader;
    any_part part;
} entry;

// Reads one entry; what it says is wrong is a failure of the test.
static void read_entry(entry *e, const bind_row *folder, const char *name)
{
    memset(e, 0, sizeof *e);
    e->arena = arena_create(name);
    e->catalogue.directory = directory;
    e->reader = bind_reader_create(e->arena, part_read, &e->catalogue);
    sim_error error = { 0 };
    const bind_row only[] = { *folder, BIND_END };
    const char *text = arena_format(e->arena, "%s: %s\n", folder->key, name);
    document doc;
    assert_true(document_parse(e->arena, "test", text, strlen(text), NULL, &doc, &error));
    if (bind_read(e->reader, only, doc.root, "", &e->part, &error)) return;
    sim_error_print(&error, stderr);
    fail();
}

static const bind_row *folder_named(const char *name)
{
    for (size_t i = 0; i < ARRAY_COUNT(folders); i++)
        if (strcmp(folders[i].folder, name) == 0) return &folders[i];
    fail();
    return NULL;
}

static const char *name_of(const bind_row *folder, const any_part *part)
{
    const bind_row *row = folder->rows;
    while (strcmp(row->key, "name") != 0)
        row++;
    return *(const char *const *)((const char *)part + row->offset);
}

static void every_number_has_a_source_and_a_grade(void **state)
{
    const bind_row *folder = *state;
    arena *a = arena_create("names");
    const catalogue c = { directory };
    const char **names;
    const int count = catalogue_names(a, &c, folder->folder, &names);
    assert_true(count > 0);
    for (int i = 0; i < count; i++) {
        entry e;
        read_entry(&e, folder, names[i]);
        assert_string_equal(name_of(folder, &e.part), names[i]);
        const bind_provenance_array *numbers = bind_reader_provenance(e.reader);
        assert_true(numbers->count > 0);
        for (uint32_t j = 0; j < numbers->count; j++) {
            const bind_provenance *n = &numbers->items[j];
            if (n->source && strlen(n->source) >= 10 && n->grade != GRADE_NONE) continue;
            print_error("%s:%u: %s = %s has no source or no grade\n", n->place.file, n->place.line, n->path,
                        n->value);
            fail();
        }
        arena_destroy(e.arena);
    }
    arena_destroy(a);
}

static void nodes_hold_together(void **state)
{
    (void)state;
    arena *a = arena_create("nodes");
    const catalogue c = { directory };
    const char **names;
    const int count = catalogue_names(a, &c, "nodes", &names);
    assert_true(count >= 8);
    for (int i = 0; i < count; i++) {
        entry e;
        sim_error error = { 0 };
        read_entry(&e, folder_named("nodes"), names[i]);
        assert_true(node_complete(&e.part.node, e.reader, &error));
        arena_destroy(e.arena);
    }
    arena_destroy(a);
}

// What the data sheets say of a whole node: TFLOP/s in 16 bit, memory of its GPUs, rate of its memory, rate of its links.
struct node_case {
    const char *name;
    double dense_flops, memory_bytes, memory_rate_Bps, scale_up_rate_Bps, nic_rate_Bps;
};
static const struct node_case node_cases[] = {
    { "dgx-2", 2.0e15, 512 * GIB, 14.4e12, 2.4e12, 100e9 },
    { "dgx-a100-40gb", 2.496e15, 320 * GIB, 12.44e12, 2.4e12, 200e9 },
    { "dgx-a100", 2.496e15, 640 * GIB, 16.312e12, 2.4e12, 200e9 },
    { "dgx-h100", 7.9152e15, 640 * GIB, 26.8e12, 3.6e12, 400e9 },
    { "dgx-h200", 7.9152e15, 1128 * GIB, 38.4e12, 3.6e12, 400e9 },
    { "dgx-b200", 18e15, 1440 * GIB, 64e12, 7.2e12, 400e9 },
};
static void nodes_add_up_to_their_data_sheets(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(node_cases); i++) {
        const struct node_case *c = &node_cases[i];
        entry e;
        read_entry(&e, folder_named("nodes"), c->name);
        const node_def *n = &e.part.node;
        assert_near(n->gpus * n->gpu.peak_flops[DTYPE_FP16], c->dense_flops, 1e-9);
        assert_near(n->gpus * (double)n->gpu.memory_bytes, c->memory_bytes, 1e-9);
        assert_near(n->gpus * n->gpu.memory_rate_Bps, c->memory_rate_Bps, 1e-9);
        assert_near(n->gpus * n->scale_up.rate_Bps, c->scale_up_rate_Bps, 1e-9);
        assert_near(8.0 * n->nic.rate_Bps, c->nic_rate_Bps, 1e-9);
        arena_destroy(e.arena);
    }
}

// Large products against what was measured of one of them, or of its kin at their peaks, in TFLOP/s: single rows lie apart by
// this much.
struct product_case {
    const char *gpu;
    dtype type;
    uint64_t m, n, k;
    double clock_ratio, tflops, within;
};
static const struct product_case product_cases[] = {
    // gemm.csv, torch cuBLAS: 4096 x 12288 x 4096 takes 1911 us on A100, 4096 x 8192 x 8192 718 us on H100
    { "a100-sxm-80gb", DTYPE_BF16, 4096, 12288, 4096, 1.0, 215.8, 0.12 },
    { "a100-sxm-40gb", DTYPE_BF16, 4096, 12288, 4096, 1.0, 215.8, 0.12 },
    { "h100-sxm", DTYPE_BF16, 4096, 12288, 4096, 0.88, 706.0 * 0.88, 0.12 },
    // vLLM in long loops: 32768 x 65536 x 16384 takes 104.675 ms on H200, 53.5128 on B200
    { "h200-sxm", DTYPE_BF16, 32768, 65536, 16384, 1.0, 672.26, 0.12 },
    { "b200-sxm", DTYPE_BF16, 32768, 65536, 16384, 1.0, 1315.0, 0.12 },
    // the A100's share of other peaks
    { "rtx-4090", DTYPE_BF16, 4096, 12288, 4096, 1.0, 215.8 * 165.2 / 312.0, 0.12 },
    { "v100-sxm2-32gb", DTYPE_FP16, 4096, 12288, 4096, 1.0, 215.8 * 125.0 / 312.0, 0.12 },
    { "h100-pcie", DTYPE_BF16, 4096, 12288, 4096, 0.74, 706.0 * 756.0 / 989.4 * 0.74, 0.12 },
};
static void products_take_what_was_measured(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(product_cases); i++) {
        const struct product_case *c = &product_cases[i];
        const double m = (double)c->m, n = (double)c->n, k = (double)c->k;
        entry e;
        read_entry(&e, folder_named("gpus"), c->gpu);
        const roofline *r = roofline_create(e.arena, &e.part.gpu);
        const kernel_shape kernel = { .class = KERNEL_MATMUL,
                                      .type = c->type,
                                      .batch = 1,
                                      .m = c->m,
                                      .n = c->n,
                                      .k = c->k,
                                      .flop = 2.0 * m * n * k,
                                      .bytes = 2.0 * (m * k + k * n + m * n),
                                      .launches = 1 };
        const kernel_cost cost = roofline_cost(r, &kernel, 1.0, 1.0);
        assert_int_equal(cost.bound, BOUND_TENSOR_CORE);
        assert_near(e.part.gpu.clock_ratio, c->clock_ratio, 1e-9);
        assert_near(kernel.flop / units_s_from_ps(cost.time_ps) * 1e-12, c->tflops, c->within);
        arena_destroy(e.arena);
    }
}

// Kernels beside NCCL: what overlap.csv says, for comparison (validate/README.md), and what the model said when this was
// written. Shapes, and links of 235 GB/s on A100 and 330 on H100, are chosen where a source does not state them; twice as much
// goes through the memory.
struct beside_case {
    const char *name, *gpu;
    kernel_class class;
    uint64_t m, n, k; // elementwise: m bytes
    double blocks, memory_Bps, measured, predicted;
};
static const struct beside_case beside_cases[] = {
    { "A100, one training run, attention", "a100-sxm-80gb", KERNEL_ATTENTION_FORWARD, 4096, 4096, 128, 24,
      470e9, 1.833, 1.285 },
    { "A100, the same run, product of 1.18 ms", "a100-sxm-80gb", KERNEL_MATMUL, 8192, 4096, 4096, 24, 470e9,
      1.763, 1.315 },
    { "A100, the same run, elementwise", "a100-sxm-80gb", KERNEL_ELEMENTWISE, 200000000, 0, 0, 24, 470e9, 2.5,
      1.419 },
    { "H100, a product of one full wave", "h100-sxm", KERNEL_MATMUL, 2816, 1536, 8192, 24, 660e9, 1.70,
      1.533 },
    { "H100, FSDP, persistent products", "h100-sxm", KERNEL_MATMUL, 8192, 8192, 4096, 13, 660e9, 2.0, 1.124 },
    { "H100, FSDP of Llama-3 8B, 1.3 to 1.4", "h100-sxm", KERNEL_MATMUL, 8192, 14336, 4096, 24, 660e9, 1.35,
      1.214 },
    { "H100, two GPUs, product of 1.35 ms", "h100-sxm", KERNEL_MATMUL, 8192, 8192, 7168, 24, 400e9, 1.152,
      1.187 },
};
static void kernels_are_slower_beside_collectives(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(beside_cases); i++) {
        const struct beside_case *c = &beside_cases[i];
        const double m = (double)c->m, n = (double)c->n, k = (double)c->k;
        const bool product = c->class == KERNEL_MATMUL, elementwise = c->class == KERNEL_ELEMENTWISE;
        entry e;
        read_entry(&e, folder_named("gpus"), c->gpu);
        const roofline *r = roofline_create(e.arena, &e.part.gpu);
        const kernel_shape kernel = { .class = c->class,
                                      .type = DTYPE_BF16,
                                      .batch = product ? 1 : 32,
                                      .m = c->m,
                                      .n = c->n,
                                      .k = c->k,
                                      .flop = product       ? 2.0 * m * n * k
                                              : elementwise ? 0.0
                                                            : 64.0 * m * n * k,
                                      .bytes = product       ? 2.0 * (m * k + k * n + m * n)
                                               : elementwise ? m
                                                             : 256.0 * m * k,
                                      .launches = 1 };
        const kernel_cost cost = roofline_cost(r, &kernel, 1.0, 1.0);
        const gpu_taken taken = { c->blocks, c->memory_Bps };
        const double ratio = 1.0 + (double)roofline_slowed_ps(r, &kernel, &cost, 1.0, 1.0, &taken) /
                                       (double)cost.time_ps;
        assert_near(ratio, c->predicted, 1e-3);
        arena_destroy(e.arena);
    }
}

// The flash attention of each GPU can be trained with, and so can the programs that published steps used.
static void attention_of_each_gpu_has_rates(void **state)
{
    (void)state;
    static const struct {
        const char *gpu;
        attention_program program;
    } rows[] = { { "a100-sxm-80gb", PROGRAM_FA1 },   { "a100-sxm-80gb", PROGRAM_FA1_TRITON },
                 { "a100-sxm-80gb", PROGRAM_EAGER }, { "h100-sxm", PROGRAM_FA1_TRITON },
                 { "h100-sxm", PROGRAM_FA3 },        { "h100-sxm", PROGRAM_CUDNN },
                 { "h100-sxm", PROGRAM_SDPA },       { "h200-sxm", PROGRAM_FA3 },
                 { "b200-sxm", PROGRAM_FA4 },        { "gb200", PROGRAM_CUDNN } };
    arena *a = arena_create("gpus");
    const catalogue c = { directory };
    const char **names;
    const int count = catalogue_names(a, &c, "gpus", &names);
    for (int i = 0; i < count; i++) {
        entry e;
        read_entry(&e, folder_named("gpus"), names[i]);
        assert_true(kernel_set_can_train(&e.part.gpu.kernels, PROGRAM_FLASH));
        arena_destroy(e.arena);
    }
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        entry e;
        read_entry(&e, folder_named("gpus"), rows[i].gpu);
        assert_true(kernel_set_can_train(&e.part.gpu.kernels, rows[i].program));
        arena_destroy(e.arena);
    }
    arena_destroy(a);
}

struct model_case {
    const char *name;
    double parameters; // published
    double within;     // share, or what the published figure is rounded to
};
static const struct model_case model_cases[] = {
    { "llama2-7b", 6.74e9, 0.005 },
    { "llama2-13b", 13.0e9, 0.005 },
    { "llama2-70b", 69.0e9, 0.005 },
    { "llama3-8b", 8.03e9, 0.005 },
    { "llama3-70b", 70.6e9, 0.005 },
    { "llama3.1-8b", 8.03e9, 0.005 },
    { "llama3.1-70b", 70.6e9, 0.005 },
    { "llama3.1-405b", 405e9, 0.005 },
    { "gpt2-1.5b", 1.558e9, 0.005 },
    { "gpt3-2.7b", 2.65e9, 0.005 },
    { "gpt3-175b", 174.6e9, 0.005 },
    { "opt-175b", 175e9, 0.005 },
    { "bloom-176b", 176.247e9, 0.005 },
    { "llama1-7b", 6738415616.0, 1e-05 },
    { "llama1-13b", 13015864320.0, 1e-05 },
    { "llama1-33b", 32528943616.0, 1e-05 },
    { "llama1-65b", 65285660672.0, 1e-05 },
    { "llama2-34b", 33.74e9, 0.005 },
    { "mistral-7b", 7241732096.0, 1e-05 },
    { "mixtral-8x7b", 46702792704.0, 1e-05 },
    { "mixtral-8x22b", 140.63e9, 0.0001 },
    { "deepseek-v3", 671.026e9, 1e-05 },
    { "kimi-k2", 1026.4e9, 0.001 },
    { "qwen3-8b", 8190735360.0, 1e-05 },
    { "qwen3-14b", 14768307200.0, 1e-05 },
    { "qwen3-32b", 32762123264.0, 1e-05 },
    { "qwen3-30b-a3b", 30532122624.0, 1e-05 },
    { "qwen3-235b-a22b", 235093634560.0, 1e-05 },
    { "qwen2.5-7b", 7615616512.0, 1e-05 },
    { "phi-4", 14659507200.0, 1e-05 },
    { "smollm3-3b", 3075098624.0, 1e-05 },
    { "tinyllama-1.1b", 1100048384.0, 1e-05 },
    { "internlm-7b", 7.32e9, 0.005 },
    { "nemotron4-15b", 15.6e9, 0.005 },
    { "nemotron4-340b", 341.03e9, 0.005 },
    { "nemotron3-8b", 8.54e9, 0.005 },
    { "gpt3-760m", 0.76e9, 0.005 },
    { "gpt3-1.3b", 1.315e9, 0.005 },
    { "gpt3-5b", 5.04e9, 0.005 },
    { "gpt3-20b", 20.25e9, 0.005 },
    { "mt-nlg-530b", 530e9, 0.005 },
    { "opt-66b", 65.72e9, 0.005 },
    { "bloomberggpt-50b", 50.6e9, 0.005 },
    { "starcoderbase-15b", 15.52e9, 0.005 },
    { "glm-130b", 130e9, 0.015 },
    { "grok1-314b", 314e9, 0.01 },
    { "gpt-oss-20b", 20.91e9, 0.001 },
    { "gpt-oss-120b", 116.83e9, 0.001 },
    { "gpt-neox-20b", 20554567680.0, 1e-05 },
    { "pythia-70m", 70426624.0, 1e-05 },
    { "pythia-160m", 162322944.0, 1e-05 },
    { "pythia-410m", 405334016.0, 1e-05 },
    { "pythia-1b", 1011781632.0, 1e-05 },
    { "pythia-1.4b", 1414647808.0, 1e-05 },
    { "pythia-2.8b", 2775208960.0, 1e-05 },
    { "pythia-6.9b", 6857302016.0, 1e-05 },
    { "pythia-12b", 11846072320.0, 1e-05 },
    { "falcon-180b", 179.52e9, 0.0001 },
    { "mpt-125m", 0.125e9, 0.005 },
    { "mpt-350m", 0.356e9, 0.005 },
    { "mpt-760m", 0.76e9, 0.005 },
    { "mpt-1b", 1.316e9, 0.005 },
    { "mpt-3b", 2.652e9, 0.005 },
    { "mpt-7b", 6.659e9, 0.005 },
    { "mpt-13b", 12.854e9, 0.005 },
    { "mpt-30b", 29.975e9, 0.005 },
    { "mpt-70b", 64.862e9, 0.005 },
    // Table 1 of Narayanan et al. 2021 gives billions to one decimal.
    { "megatron-1.7b", 1.7e9, 0.05 / 1.7 },
    { "megatron-3.6b", 3.6e9, 0.05 / 3.6 },
    { "megatron-7.5b", 7.5e9, 0.05 / 7.5 },
    { "megatron-18.4b", 18.4e9, 0.05 / 18.4 },
    { "megatron-39.1b", 39.1e9, 0.05 / 39.1 },
    { "megatron-76.1b", 76.1e9, 0.05 / 76.1 },
    { "megatron-145.6b", 145.6e9, 0.05 / 145.6 },
    { "megatron-310.1b", 310.1e9, 0.05 / 310.1 },
    { "megatron-529.6b", 529.6e9, 0.05 / 529.6 },
    { "megatron-1t", 1008.0e9, 0.05 / 1008.0 },
};
static void models_have_their_published_size(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(model_cases); i++) {
        entry e;
        sim_error error = { 0 };
        read_entry(&e, folder_named("llms"), model_cases[i].name);
        assert_true(llm_complete(&e.part.llm, e.reader, &error));
        assert_near((double)llm_parameters(&e.part.llm), model_cases[i].parameters, model_cases[i].within);
        arena_destroy(e.arena);
    }
}

int main(void)
{
    enum { ROWS = ARRAY_COUNT(folders) };
    struct CMUnitTest tests[ROWS + 6] = {
        [ROWS] = cmocka_unit_test(nodes_hold_together),
        [ROWS + 1] = cmocka_unit_test(products_take_what_was_measured),
        [ROWS + 5] = cmocka_unit_test(kernels_are_slower_beside_collectives),
        [ROWS + 2] = cmocka_unit_test(models_have_their_published_size),
        [ROWS + 4] = cmocka_unit_test(attention_of_each_gpu_has_rates),
        [ROWS + 3] = cmocka_unit_test(nodes_add_up_to_their_data_sheets),
    };
    for (size_t i = 0; i < ROWS; i++)
        tests[i] = (struct CMUnitTest){ .name = folders[i].folder,
                                        .test_func = every_number_has_a_source_and_a_grade,
                                        .initial_state = (void *)&folders[i] };
    return cmocka_run_group_tests_name("catalogue", tests, NULL, NULL);
}
