// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "models/hardware/gpu.h"
#include "sim/array.h"
#include "tests/support/text.h"

#define GPU_UP_TO_KERNELS                                                                                    \
    "name: odd\n"                                                                                            \
    "architecture: none\n"                                                                                   \
    "multiprocessors: 131\n"                                                                                 \
    "peak: { bf16: 937.3 TFLOP/s, fp8: 1.8741 PFLOP/s }\n"                                                   \
    "vector: 61.7 TFLOP/s\n"                                                                                 \
    "memory: 79 GiB\n"                                                                                       \
    "memory_rate: 3117 GB/s\n"                                                                               \
    "reserved_memory: 1.75 GiB\n"                                                                            \
    "power: 691 W\n"                                                                                         \
    "clock_ratio: 0.871\n"                                                                                   \
    "launch: 11.9 us\n"

// As part_read() does for a part that is written in place.
static bool read_in_place(bind_reader *r, const bind_row *row, const doc_node *node, void *out,
                          sim_error *error)
{
    return bind_read_part(r, row, node, out, error);
}

static bool read_gpu(arena *a, const char *kernels, gpu_def *out, sim_error *error)
{
    document doc;
    const char *text = arena_format(a, GPU_UP_TO_KERNELS "kernels:\n%s", kernels);
    assert_true(document_parse(a, "gpu.yaml", text, strlen(text), NULL, &doc, error));
    return bind_read(bind_reader_create(a, read_in_place, NULL), gpu_binds, doc.root, "", out, error);
}

static void every_key_fills_its_field(void **state)
{
    (void)state;
    arena *a = arena_create("gpu");
    gpu_def gpu;
    sim_error error = { 0 };
    assert_true(
        read_gpu(a,
                 "  name: odd ones\n  flash: fa3\n  stream_efficiency: 0.817\n  kernel_overhead: 2.37 us\n"
                 "  attention_fill: 0.9\n  products:\n"
                 "    - { format: bf16, operand_bytes: 2, depth_overhead: 37, memory_efficiency: 0.811,\n"
                 "        start: 3.1 us, wave: 0.23 us, depth_step: 32, blend: 3,\n"
                 "        tiles: [{ rows: 192, columns: 96, efficiency: 0.713 }] }\n"
                 "    - { format: fp8, operand_bytes: 1, quantise_bytes: 4.7, depth_overhead: 0,\n"
                 "        memory_efficiency: 1, start: 0 s, wave: 0 s,\n"
                 "        tiles: [{ rows: 64, columns: 64, efficiency: 1 }] }\n"
                 "  attention:\n"
                 "    - { program: fa3, head_size: 128, forward: [[700, 0.211], [5300, 0.347]],\n"
                 "        backward: [[900, 0.173], [4700, 0.289]] }\n"
                 "    - { program: cudnn, head_size: 64, full_mask: true, forward: [[1, 0.5], [2, 1]] }\n",
                 &gpu, &error));
    assert_string_equal(gpu.name, "odd");
    assert_string_equal(gpu.architecture, "none");
    assert_int_equal(gpu.multiprocessors, 131);
    assert_near(gpu.peak_flops[DTYPE_BF16], 937.3e12, 1e-9);
    assert_near(gpu.peak_flops[DTYPE_FP8], 1874.1e12, 1e-9);
    static const dtype absent[] = { DTYPE_FP32, DTYPE_TF32, DTYPE_FP16, DTYPE_FP4 };
    for (size_t i = 0; i < ARRAY_COUNT(absent); i++)
        assert_true(gpu.peak_flops[absent[i]] == 0.0);
    assert_near(gpu.vector_flops, 61.7e12, 1e-9);
    assert_int_equal(gpu.memory_bytes, UINT64_C(79) << 30);
    assert_near(gpu.memory_rate_Bps, 3117e9, 1e-9);
    assert_int_equal(gpu.reserved_bytes, UINT64_C(7) << 28);
    assert_near(gpu.power_W, 691.0, 1e-9);
    assert_near(gpu.clock_ratio, 0.871, 1e-9);
    assert_near(gpu.launch_s, 11.9e-6, 1e-9);

    const kernel_set_def *k = &gpu.kernels;
    assert_string_equal(k->name, "odd ones");
    assert_int_equal(k->flash, PROGRAM_FA3);
    assert_near(k->stream_efficiency, 0.817, 1e-9);
    assert_near(k->kernel_overhead_s, 2.37e-6, 1e-9);
    assert_near(k->attention_fill, 0.9, 1e-9);
    assert_int_equal(k->products.count, 2);
    const product_def *p = kernel_set_products(k, DTYPE_BF16);
    assert_near(p->operand_bytes, 2.0, 1e-9);
    assert_near(p->depth_overhead, 37.0, 1e-9);
    assert_near(p->memory_efficiency, 0.811, 1e-9);
    assert_near(p->start_s, 3.1e-6, 1e-9);
    assert_near(p->wave_s, 0.23e-6, 1e-9);
    assert_near(p->blend, 3.0, 1e-9);
    assert_int_equal(p->depth_step, 32);
    assert_int_equal(p->tiles.items[0].rows, 192);
    assert_int_equal(p->tiles.items[0].columns, 96);
    assert_near(p->tiles.items[0].efficiency, 0.713, 1e-9);
    assert_ptr_equal(kernel_set_products(k, DTYPE_FP16), p); // 16-bit formats share theirs
    assert_ptr_equal(kernel_set_products(k, DTYPE_TF32), p);
    const product_def *q = kernel_set_products(k, DTYPE_FP8);
    assert_near(q->quantise_bytes, 4.7, 1e-9);
    assert_int_equal(q->depth_step, 64); // the default
    assert_near(q->blend, 4.0, 1e-9);
    assert_null(kernel_set_products(k, DTYPE_FP4));
    assert_int_equal(k->attention.count, 2);
    assert_near(k->attention.items[0].forward.x[1], 5300.0, 1e-9);
    assert_near(k->attention.items[0].backward.y[0], 0.173, 1e-9);
    assert_true(k->attention.items[1].full_mask);
    assert_int_equal(k->attention.items[1].backward.count, 0);
    arena_destroy(a);
}

#define BF16                                                                                                 \
    "{ format: bf16, operand_bytes: 2, depth_overhead: 37, memory_efficiency: 0.811, start: 3 us, wave: 0 "  \
    "s, "
#define TILES "tiles: [{ rows: 192, columns: 96, efficiency: 0.713 }] }"
#define SET                                                                                                  \
    "  flash: fa2\n  stream_efficiency: 0.8\n  kernel_overhead: 2 us\n  products:\n    - " BF16 TILES "\n"

struct refusal {
    const char *name, *kernels, *want;
};
static const struct refusal refusals[] = {
    { "a length of zero",
      SET "  attention:\n    - { program: fa2, head_size: 128, forward: [[0, 0.217], [4096, 0.563]] }\n",
      "gpu.yaml:19:48: error: point 1 of a curve lies at 0, not above zero\n"
      "   19 |     - { program: fa2, head_size: 128, forward: [[0, 0.217], [4096, 0.563]] }\n"
      "      |                                                ^\n" },
    { "a share above one",
      SET "  attention:\n    - { program: fa2, head_size: 128, forward: [[1, 0.2], [2, 1.217]] }\n",
      "gpu.yaml:19:48: error: point 2 of a curve has the share 1.217, which is not above 0 and at most 1\n"
      "   19 |     - { program: fa2, head_size: 128, forward: [[1, 0.2], [2, 1.217]] }\n"
      "      |                                                ^\n" },
    { "rates twice",
      SET "  attention:\n    - { program: fa2, head_size: 64, forward: [[1, 0.2], [2, 0.3]] }\n"
          "    - { program: fa2, head_size: 64, forward: [[1, 0.2], [2, 0.3]] }\n",
      "gpu.yaml:20:7: error: the rates of fa2 with heads of 64 are given twice\n"
      "   20 |     - { program: fa2, head_size: 64, forward: [[1, 0.2], [2, 0.3]] }\n"
      "      |       ^\n" },
    { "flash as flash",
      "  stream_efficiency: 0.8\n  kernel_overhead: 2 us\n  flash: flash\n  products:\n    - " BF16 TILES
      "\n",
      "gpu.yaml:15:10: error: flash stands for one of the others; which one?\n"
      "   15 |   flash: flash\n"
      "      |          ^\n"
      "  hint: fa2\n" },
    { "no tiles",
      "  flash: fa2\n  stream_efficiency: 0.8\n  kernel_overhead: 2 us\n  products:\n    - " BF16 "\n"
      "        tiles: [] }\n",
      "gpu.yaml:18:16: error: products have at least one tile\n"
      "   18 |         tiles: [] }\n"
      "      |                ^\n"
      "  hint: tiles: [{ rows: 128, columns: 128, efficiency: 0.7 }]\n" },
    { "no products", "  flash: fa2\n  stream_efficiency: 0.8\n  kernel_overhead: 2 us\n  products: []\n",
      "gpu.yaml:16:13: error: a kernel set has the products of at least one format\n"
      "   16 |   products: []\n"
      "      |             ^\n" },
    { "products twice", SET "    - " BF16 "\n        " TILES "\n",
      "gpu.yaml:18:7: error: the products of bf16 are given twice\n"
      "   18 |     - { format: bf16, operand_bytes: 2, depth_overhead: 37, memory_efficiency: 0.811, start: "
      "3 us, wave: 0 "
      "s, \n"
      "      |       ^\n" },
};

static void refused(void **state)
{
    const struct refusal *c = *state;
    arena *a = arena_create("gpu");
    gpu_def gpu;
    sim_error error = { 0 };
    assert_false(read_gpu(a, c->kernels, &gpu, &error));
    assert_int_equal(error.exit_code, SIM_EXIT_INPUT);
    assert_error_prints(&error, c->want);
    arena_destroy(a);
}

int main(void)
{
    enum { ROWS = ARRAY_COUNT(refusals) };
    struct CMUnitTest tests[ROWS + 1] = { [ROWS] = cmocka_unit_test(every_key_fills_its_field) };
    for (size_t i = 0; i < ROWS; i++)
        tests[i] = (struct CMUnitTest){ .name = refusals[i].name,
                                        .test_func = refused,
                                        .initial_state = (void *)&refusals[i] };
    return cmocka_run_group_tests_name("gpu", tests, NULL, NULL);
}
