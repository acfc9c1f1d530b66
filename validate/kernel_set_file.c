// SPDX-License-Identifier: GPL-3.0-or-later
// Writes kernel sets as catalogue files: six digits, each number with its source and grade, residuals as comments.
#include "validate/kernel_fit.h"

typedef struct lender { // who has what is asked for
    const fitted_set *set;
    bool is_other_gpu;
} lender;

static const fitted_set *set_named(const fitted_sets *sets, const char *name)
{
    uint32_t i = 0;
    while (i < sets->count && strcmp(sets->items[i].def->kernels, name) != 0)
        i++;
    SIM_ASSERT(i < sets->count); // kernel_split_read() refuses others, kernel_fit_all() fits lenders
    return &sets->items[i];
}

// The set itself, then those it is like, in order; NULL after the last.
static lender lender_at(const fitted_sets *sets, const fitted_set *set, uint32_t index)
{
    if (index == 0) return (lender){ set, false };
    if (index > set->def->lenders.count) return (lender){ NULL, false };
    const fitted_set *other = set_named(sets, set->def->lenders.items[index - 1]);
    return (lender){ other, strcmp(other->def->gpu, set->def->gpu) != 0 };
}

static const fitted_product *product_of(const fitted_set *set, int format)
{
    for (uint32_t i = 0; i < set->products.count; i++)
        if (set->products.items[i].fit.def.format == format) return &set->products.items[i];
    return NULL;
}

static const char *origin(arena *a, lender from, const fitted_set *set, const char *source, const char *grade,
                          const char *indent)
{
    const char *lent = from.set == set ? "" : arena_format(a, "the shares of %s; ", from.set->def->kernels);
    return arena_format(a, "%ssource: \"%s%s\"\n%sgrade: %s\n", indent, lent, source, indent,
                        from.is_other_gpu ? "assumed" : grade);
}

static const char *residuals(arena *a, const product_fit *fit)
{
    static const char *const of[FIT_CLASSES] = { "m below 512", "below 2,048", "above" };
    const char *text = "    # mean absolute error of the time, and bias:", *between = "";
    for (uint32_t c = 0; c < FIT_CLASSES; c++) {
        const fit_residual *r = &fit->classes[c];
        if (r->count == 0) continue;
        text = arena_format(a, "%s%s %s %.1f %%, %+.1f %% (%u rows)", text, between, of[c], 100.0 * r->mape,
                            100.0 * r->bias, r->count);
        between = ";";
    }
    return arena_format(a, "%s\n", text);
}

// " # [0.75, 0.79]": a comment behind a number.
static const char *interval(arena *a, const product_fit *fit, fit_parameter parameter, double unit)
{
    if (!(fit->high[parameter] > 0.0)) return "";
    return arena_format(a, " # [%.3g, %.3g]", fit->low[parameter] / unit, fit->high[parameter] / unit);
}

static const char *product_text(arena *a, lender from, const fitted_set *set, const fitted_product *p)
{
    const product_def *d = &p->fit.def;
    const char *text = arena_format(a, "  - format: %s\n%s%s", dtype_words[d->format],
                                    origin(a, from, set, p->source, "measured", "    "),
                                    residuals(a, &p->fit));
    text = arena_format(
        a,
        "%s    operand_bytes: %.6g\n    depth_overhead: %.6g%s\n    memory_efficiency: %.6g%s\n"
        "    start: %.6g us%s\n    wave: %.6g us%s\n",
        text, d->operand_bytes, d->depth_overhead, interval(a, &p->fit, FIT_DEPTH_OVERHEAD, 1.0),
        d->memory_efficiency, interval(a, &p->fit, FIT_MEMORY_EFFICIENCY, 1.0), d->start_s * 1e6,
        interval(a, &p->fit, FIT_START_S, 1e-6), d->wave_s * 1e6, interval(a, &p->fit, FIT_WAVE_S, 1e-6));
    if (d->quantise_bytes > 0.0)
        text = arena_format(a, "%s    quantise_bytes: %.6g%s\n", text, d->quantise_bytes,
                            interval(a, &p->fit, FIT_QUANTISE_BYTES, 1.0));
    text = arena_format(a, "%s    tiles:\n", text);
    for (uint32_t i = 0; i < d->tiles.count; i++)
        text = arena_format(a, "%s      - { rows: %u, columns: %u, efficiency: %.6g }%s\n", text,
                            d->tiles.items[i].rows, d->tiles.items[i].columns, d->tiles.items[i].efficiency,
                            interval(a, &p->fit, fit_tiles[i].efficiency, 1.0));
    return text;
}

static const char *points_text(arena *a, const char *key, const bind_points *points)
{
    const char *text = arena_format(a, "    %s: [", key);
    if (points->count == 0) return "";
    for (uint32_t i = 0; i < points->count; i++)
        text = arena_format(a, "%s%s[%.6g, %.6g]", text, i ? ", " : "", points->x[i], points->y[i]);
    if (points->count == 1) // a curve has two points; beyond its last it is constant
        text = arena_format(a, "%s, [%.6g, %.6g]", text, 2.0 * points->x[0], points->y[0]);
    return arena_format(a, "%s]\n", text);
}

// A table for training needs both passes: the pass that this one lacks comes from the next set that has it.
static const bind_points *backward_from(const fitted_sets *sets, const fitted_set *set, uint32_t index,
                                        const attention_def *table, const fitted_set **from)
{
    for (lender l = lender_at(sets, set, index); l.set; l = lender_at(sets, set, ++index))
        for (uint32_t i = 0; i < l.set->attention.count; i++) {
            const attention_def *other = &l.set->attention.items[i].table;
            if (other->program != table->program || other->head_size != table->head_size ||
                other->full_mask != table->full_mask || other->backward.count == 0)
                continue;
            *from = l.set;
            return &other->backward;
        }
    *from = NULL;
    return &table->backward;
}

static bool has_table(const attention_array *tables, const attention_def *table)
{
    for (uint32_t i = 0; i < tables->count; i++)
        if (tables->items[i].program == table->program && tables->items[i].head_size == table->head_size &&
            tables->items[i].full_mask == table->full_mask)
            return true;
    return false;
}

static const char *attention_text(arena *a, const fitted_sets *sets, const fitted_set *set)
{
    attention_array written = { 0 };
    const char *text = "";
    uint32_t index = 0;
    for (lender from = lender_at(sets, set, 0); from.set; from = lender_at(sets, set, ++index))
        for (uint32_t i = 0; i < from.set->attention.count; i++) {
            const fitted_attention *f = &from.set->attention.items[i];
            const fitted_set *back;
            if (has_table(&written, &f->table)) continue;
            *array_push(&written, a) = f->table;
            const bind_points *backward = backward_from(sets, set, index, &f->table, &back);
            const char *lent = back && back != from.set
                                   ? arena_format(a, "; backward the shares of %s", back->def->kernels)
                                   : "";
            text = arena_format(a, "%s  - program: %s\n    head_size: %u\n%s%s%s%s", text,
                                attention_program_words[f->table.program], f->table.head_size,
                                f->table.full_mask ? "    full_mask: true\n" : "",
                                origin(a, from, set, arena_format(a, "%s%s", f->source, lent),
                                       *lent ? "assumed" : f->grade, "    "),
                                points_text(a, "forward", &f->table.forward),
                                points_text(a, "backward", backward));
        }
    return *text ? arena_format(a, "attention:\n%s", text) : "";
}

const char *kernel_set_text(arena *a, const fitted_sets *sets, const fitted_set *set, sim_error *error)
{
    static const int formats[] = { DTYPE_BF16, DTYPE_FP8, DTYPE_FP4 };
    const set_row *d = set->def;
    const char *products = "";
    bool has_bf16 = false;
    for (size_t i = 0; i < ARRAY_COUNT(formats); i++) {
        uint32_t index = 0;
        for (lender from = lender_at(sets, set, 0); from.set; from = lender_at(sets, set, ++index)) {
            const fitted_product *p = product_of(from.set, formats[i]);
            if (!p) continue;
            if (formats[i] == DTYPE_BF16) has_bf16 = true;
            products = arena_format(a, "%s%s", products, product_text(a, from, set, p));
            break;
        }
    }
    if (!has_bf16) {
        sim_fail(error, SIM_EXIT_INPUT, NULL, "kernel set %s has no products of 16 bit, of its own or lent",
                 d->kernels);
        return NULL;
    }
    return arena_format(
        a,
        "# Written by validate/fit_kernels. In brackets the 5th to the 95th percentile of a bootstrap over\n"
        "# weight matrices; parameters stand in for each other, so compare times, not parameters.\n"
        "name: %s\nflash: %s\n"
        "stream_efficiency:\n  value: %.6g\n  source: \"%s\"\n  grade: %s\n"
        "kernel_overhead:\n  value: %.6g us\n  source: \"overlap.csv, launch: back-to-back kernels of "
        "4,096 elements, separate launches, %s\"\n  grade: %s\n"
        "attention_fill:\n  value: %.6g\n  source: \"attention.csv: rows of one length with 4 to 64 "
        "sequences x heads, see attention_rate.h\"\n  grade: measured\n"
        "products:\n%s%s",
        d->kernels, attention_program_words[d->flash], d->stream_efficiency, d->stream_source,
        d->stream_grade, set->overhead_s * 1e6, d->overhead_gpu, d->overhead_grade, FIT_ATTENTION_FILL,
        products, attention_text(a, sets, set));
}
