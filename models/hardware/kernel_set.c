// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/hardware/kernel_set.h"
#include "models/hardware/limits.h"
#include "sim/array.h"

const char *const attention_program_words[] = { "flash", "fa1",  "fa1-triton", "fa2",   "fa3", "fa4",
                                                "cudnn", "sdpa", "aiter",      "eager", NULL };

// A curve maps sizes above zero to shares of a data-sheet peak. Interpolation is in log x, so zero has no place.
static bool check_curve(const void *field, const doc_node *node, sim_error *error)
{
    const bind_points *curve = field;
    for (uint32_t i = 0; i < curve->count; i++) {
        if (!(curve->x[i] > 0.0))
            return sim_fail(error, SIM_EXIT_INPUT, &node->place,
                            "point %u of a curve lies at %g, not above zero", i + 1, curve->x[i]);
        if (!(curve->y[i] > 0.0 && curve->y[i] <= 1.0))
            return sim_fail(error, SIM_EXIT_INPUT, &node->place,
                            "point %u of a curve has the share %g, which is not above 0 and at most 1", i + 1,
                            curve->y[i]);
    }
    return true;
}

static bool check_program(const void *field, const doc_node *node, sim_error *error)
{
    if (*(const int *)field != PROGRAM_FLASH) return true;
    sim_fail(error, SIM_EXIT_INPUT, &node->place, "flash stands for one of the others; which one?");
    return sim_hint(error, "fa2");
}

static bool check_tiles(const void *field, const doc_node *node, sim_error *error)
{
    const tile_array *tiles = field;
    if (tiles->count > 0) return true;
    sim_fail(error, SIM_EXIT_INPUT, &node->place, "products have at least one tile");
    return sim_hint(error, "tiles: [{ rows: 128, columns: 128, efficiency: 0.7 }]");
}

static bool check_products(const void *field, const doc_node *node, sim_error *error)
{
    const product_array *products = field;
    if (products->count == 0)
        return sim_fail(error, SIM_EXIT_INPUT, &node->place,
                        "a kernel set has the products of at least one format");
    for (uint32_t i = 1; i < products->count; i++)
        for (uint32_t j = 0; j < i; j++)
            if (products->items[i].format == products->items[j].format)
                return sim_fail(error, SIM_EXIT_INPUT, &node->items[i]->place,
                                "the products of %s are given twice", dtype_words[products->items[i].format]);
    return true;
}

static bool check_attention(const void *field, const doc_node *node, sim_error *error)
{
    const attention_array *rates = field;
    for (uint32_t i = 0; i < rates->count; i++) {
        const attention_def *one = &rates->items[i];
        for (uint32_t j = 0; j < i; j++) {
            const attention_def *other = &rates->items[j];
            if (one->program == other->program && one->head_size == other->head_size &&
                one->full_mask == other->full_mask)
                return sim_fail(error, SIM_EXIT_INPUT, &node->items[i]->place,
                                "the rates of %s with heads of %u are given twice",
                                attention_program_words[one->program], one->head_size);
        }
    }
    return true;
}

static const bind_row tile_binds[] = {
    BIND_U32(tile_def, rows, "rows", BIND_REQUIRED, BIND_AT_LEAST(1), BIND_AT_MOST(65536),
             BIND_NOTE("of the result; the same tile turned is used too")),
    BIND_U32(tile_def, columns, "columns", BIND_REQUIRED, BIND_AT_LEAST(1), BIND_AT_MOST(65536),
             BIND_NOTE("of the result")),
    BIND_NUMBER(tile_def, efficiency, "efficiency", BIND_REQUIRED, BIND_ABOVE(0), BIND_AT_MOST(1),
                BIND_NOTE("share of a multiprocessor's peak")),
    BIND_END,
};

static const bind_row product_binds[] = {
    BIND_ENUM(product_def, format, "format", dtype_words, BIND_REQUIRED,
              BIND_NOTE("of the operands; bf16 stands for fp16 as well")),
    BIND_NUMBER(product_def, operand_bytes, "operand_bytes", BIND_REQUIRED, BIND_ABOVE(0), BIND_AT_MOST(8),
                BIND_NOTE("of one element with its scales")),
    BIND_LIST(product_def, tiles, "tiles", tile_binds, BIND_REQUIRED, .check = check_tiles,
              BIND_NOTE("of the result, each worked on by one multiprocessor")),
    BIND_U32(product_def, depth_step, "depth_step", BIND_DEFAULT(64, "64"), BIND_AT_LEAST(1),
             BIND_AT_MOST(65536), BIND_NOTE("the depth is worked off in slices of so many elements")),
    BIND_NUMBER(product_def, depth_overhead, "depth_overhead", BIND_REQUIRED, BIND_AT_LEAST(0),
                BIND_AT_MOST(1e6), BIND_NOTE("elements of depth that begin and end of a tile cost")),
    BIND_NUMBER(product_def, memory_efficiency, "memory_efficiency", BIND_REQUIRED, BIND_ABOVE(0),
                BIND_AT_MOST(1), BIND_NOTE("share of memory_rate")),
    BIND_NUMBER(product_def, quantise_bytes, "quantise_bytes", BIND_DEFAULT(0, "0"), BIND_AT_LEAST(0),
                BIND_AT_MOST(100), BIND_NOTE("moved to quantise each element of the left operand")),
    BIND_SECONDS(product_def, start_s, "start", BIND_REQUIRED, BIND_AT_LEAST(0), BIND_AT_MOST(1),
                 BIND_NOTE("of each product beside its work")),
    BIND_SECONDS(product_def, wave_s, "wave", BIND_REQUIRED, BIND_AT_LEAST(0), BIND_AT_MOST(1),
                 BIND_NOTE("of each wave of tiles over the multiprocessors")),
    BIND_NUMBER(product_def, blend, "blend", BIND_DEFAULT(4, "4"), BIND_AT_LEAST(1), BIND_AT_MOST(1e6),
                BIND_NOTE("power in which work and traffic add up: 1 in turn, more beside each other")),
    BIND_END,
};

static const bind_row attention_binds[] = {
    BIND_ENUM(attention_def, program, "program", attention_program_words, BIND_REQUIRED,
              .check = check_program, BIND_NOTE("whose kernels")),
    BIND_U32(attention_def, head_size, "head_size", BIND_REQUIRED, BIND_AT_LEAST(1), BIND_AT_MOST(65536),
             BIND_NOTE("elements")),
    BIND_BOOL(attention_def, full_mask, "full_mask", BIND_DEFAULT(0, "false"),
              BIND_NOTE("every pair; otherwise the lower triangle, and its FLOP")),
    BIND_POINTS(attention_def, forward, "forward", UNIT_NONE, UNIT_NONE, BIND_REQUIRED, .check = check_curve,
                BIND_NOTE("sequence length -> share of the peak")),
    BIND_POINTS(attention_def, backward, "backward", UNIT_NONE, UNIT_NONE, .check = check_curve,
                BIND_NOTE("the same; left out: not known, so not for training")),
    BIND_END,
};

const bind_row kernel_set_binds[] = {
    BIND_TEXT(kernel_set_def, name, "name", BIND_DEFAULT(0, "unnamed"),
              BIND_NOTE("what it is called in tables and messages")),
    BIND_LIST(kernel_set_def, products, "products", product_binds, BIND_REQUIRED, .check = check_products,
              BIND_NOTE("matrix products by number format")),
    BIND_ENUM(kernel_set_def, flash, "flash", attention_program_words, BIND_REQUIRED, .check = check_program,
              BIND_NOTE("the program that training.attention: flash stands for")),
    BIND_LIST(kernel_set_def, attention, "attention", attention_binds, .check = check_attention,
              BIND_NOTE("rates of attention by program, head size and mask")),
    BIND_NUMBER(kernel_set_def, attention_fill, "attention_fill", BIND_DEFAULT(0, "0"), BIND_AT_LEAST(0),
                BIND_AT_MOST(1e6),
                BIND_NOTE("blocks of 128 queries per multiprocessor at which attention over 2,048 tokens has "
                          "half its rate")),
    BIND_NUMBER(kernel_set_def, stream_efficiency, "stream_efficiency", BIND_REQUIRED, BIND_ABOVE(0),
                BIND_AT_MOST(1), BIND_NOTE("share of memory_rate of a kernel that only moves bytes")),
    BIND_SECONDS(kernel_set_def, kernel_overhead_s, "kernel_overhead", BIND_REQUIRED, BIND_AT_LEAST(0),
                 BIND_AT_MOST(1), BIND_NOTE("GPU time of each kernel but products beside its work")),
    BIND_END,
};

static const product_def *products_of(const kernel_set_def *set, dtype type)
{
    for (uint32_t i = 0; i < set->products.count; i++)
        if (set->products.items[i].format == (int)type) return &set->products.items[i];
    return NULL;
}

const product_def *kernel_set_products(const kernel_set_def *set, dtype type)
{
    const product_def *own = products_of(set, type);
    if (own || type == DTYPE_FP8 || type == DTYPE_FP4) return own;
    const product_def *bf16 = products_of(set, DTYPE_BF16);
    return bf16 ? bf16 : products_of(set, DTYPE_FP16);
}

bool kernel_set_can_train(const kernel_set_def *set, attention_program program)
{
    const int wanted = program == PROGRAM_FLASH ? set->flash : (int)program;
    for (uint32_t i = 0; i < set->attention.count; i++) {
        const attention_def *rates = &set->attention.items[i];
        if (rates->program == wanted && !rates->full_mask && rates->backward.count > 0) return true;
    }
    return false;
}
