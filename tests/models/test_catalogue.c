// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "models/collective/choose.h"
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
    switch_def network_switch;
    cable_set_def cable_set;
    llm_def llm;
    collective_terms collectives;
} any_part;

#define FOLDER(key_, folder_, rows_, type_)                                                                  \
    {                                                                                                        \
        .type = BIND_TYPE_PART, .key = (key_), .folder = (folder_), .rows = (rows_), .size = sizeof(type_)   \
    }
static const bind_row folders[] = {
    FOLDER("gpu", "gpus", gpu_binds, gpu_def),
    FOLDER("node", "nodes", node_binds, node_def),
    FOLDER("nic", "nics", nic_binds, nic_def),
    FOLDER("switch", "switches", switch_binds, switch_def),
    FOLDER("cable_set", "cables", cable_set_binds, cable_set_def),
    FOLDER("model", "llms", llm_binds, llm_def),
    FOLDER("collectives", "collectives", collective_terms_binds, collective_terms),
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

// A product of 5.5e11 FLOP, of the size of a layer's, takes FLOP / (peak x share x clock) + overhead.
struct product_case {
    const char *gpu;
    dtype type;
    double share, clock_ratio, peak_flops, overhead_s;
};
static const struct product_case product_cases[] = {
    { "a100-sxm-80gb", DTYPE_BF16, 0.743, 1.0, 312e12, 2.62e-6 },
    { "a100-sxm-40gb", DTYPE_BF16, 0.743, 1.0, 312e12, 2.62e-6 },
    { "h100-sxm", DTYPE_BF16, 0.745, 0.88, 989.4e12, 2.43e-6 },
    { "h200-sxm", DTYPE_BF16, 0.785, 0.88, 989.4e12, 2.43e-6 },
    { "b200-sxm", DTYPE_BF16, 0.661, 0.907, 2250e12, 2.43e-6 },
    { "rtx-4090", DTYPE_BF16, 0.743, 1.0, 165.2e12, 2.62e-6 },
    // Between the points (2.20e11, 0.743) and (7.17e11, 0.750): 0.743 + 0.007 ln(5.5 / 2.20) / ln(7.17 / 2.20)
    { "v100-sxm2-32gb", DTYPE_FP16, 0.748428960, 1.0, 125e12, 2.62e-6 },
    // Between the points (4.20e11, 0.745) and (1.26e12, 0.718): 0.745 - 0.027 ln(5.5 / 4.20) / ln(12.6 / 4.20)
    { "h100-pcie", DTYPE_BF16, 0.738372624, 0.74, 756e12, 2.43e-6 },
};
static void products_take_what_was_measured(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(product_cases); i++) {
        const struct product_case *c = &product_cases[i];
        entry e;
        read_entry(&e, folder_named("gpus"), c->gpu);
        const roofline *r = roofline_create(e.arena, &e.part.gpu);
        const kernel_shape kernel = { .class = KERNEL_MATMUL,
                                      .type = c->type,
                                      .batch = 1,
                                      .m = 5500,
                                      .n = 10000,
                                      .k = 5000,
                                      .flop = 5.5e11,
                                      .bytes = 4.1e8,
                                      .launches = 1 };
        const kernel_cost cost = roofline_cost(r, &kernel, 1.0, 1.0);
        assert_int_equal(cost.bound, BOUND_TENSOR_CORE);
        const double want_s = 5.5e11 / (c->peak_flops * c->share * c->clock_ratio) + c->overhead_s;
        assert_true(fabs(units_s_from_ps(cost.time_ps) - want_s) <= 0.5e-9 + 1e-12);
        arena_destroy(e.arena);
    }
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
    struct CMUnitTest tests[ROWS + 4] = {
        [ROWS] = cmocka_unit_test(nodes_hold_together),
        [ROWS + 1] = cmocka_unit_test(products_take_what_was_measured),
        [ROWS + 2] = cmocka_unit_test(models_have_their_published_size),
        [ROWS + 3] = cmocka_unit_test(nodes_add_up_to_their_data_sheets),
    };
    for (size_t i = 0; i < ROWS; i++)
        tests[i] = (struct CMUnitTest){ .name = folders[i].folder,
                                        .test_func = every_number_has_a_source_and_a_grade,
                                        .initial_state = (void *)&folders[i] };
    return cmocka_run_group_tests_name("catalogue", tests, NULL, NULL);
}
