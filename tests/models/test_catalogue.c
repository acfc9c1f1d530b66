// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "models/collective/choose.h"
#include "models/hardware/node.h"
#include "models/hardware/roofline.h"
#include "models/part.h"
#include "models/training/llm.h"
#include "sim/array.h"

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
    static const char *const names[] = { "dgx-h100", "dgx-a100", "a100-4x", "rtx4090-4x" };
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        entry e;
        sim_error error = { 0 };
        read_entry(&e, folder_named("nodes"), names[i]);
        assert_true(node_complete(&e.part.node, e.reader, &error));
        arena_destroy(e.arena);
    }
}

// A product of 5.5e11 FLOP, of the size of a layer's, takes FLOP / (peak x share x clock) + overhead.
struct product_case {
    const char *gpu;
    double share, clock_ratio, peak_flops, overhead_s;
};
static const struct product_case product_cases[] = {
    { "a100-sxm-80gb", 0.743, 1.0, 312e12, 2.62e-6 },
    { "h100-sxm", 0.745, 0.88, 989.4e12, 2.43e-6 },
    { "rtx-4090", 0.743, 1.0, 165.2e12, 2.62e-6 },
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
                                      .type = DTYPE_BF16,
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
};
static const struct model_case model_cases[] = {
    { "llama3-8b", 8.03e9 },
    { "llama3-70b", 70.6e9 },
    { "gpt2-1.5b", 1.558e9 },
    { "gpt3-2.7b", 2.65e9 },
};
static void models_have_their_published_size(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(model_cases); i++) {
        entry e;
        sim_error error = { 0 };
        read_entry(&e, folder_named("llms"), model_cases[i].name);
        assert_true(llm_complete(&e.part.llm, e.reader, &error));
        assert_near((double)llm_parameters(&e.part.llm), model_cases[i].parameters, 0.005);
        arena_destroy(e.arena);
    }
}

int main(void)
{
    enum { ROWS = ARRAY_COUNT(folders) };
    struct CMUnitTest tests[ROWS + 3] = {
        [ROWS] = cmocka_unit_test(nodes_hold_together),
        [ROWS + 1] = cmocka_unit_test(products_take_what_was_measured),
        [ROWS + 2] = cmocka_unit_test(models_have_their_published_size),
    };
    for (size_t i = 0; i < ROWS; i++)
        tests[i] = (struct CMUnitTest){ .name = folders[i].folder,
                                        .test_func = every_number_has_a_source_and_a_grade,
                                        .initial_state = (void *)&folders[i] };
    return cmocka_run_group_tests_name("catalogue", tests, NULL, NULL);
}
