// SPDX-License-Identifier: GPL-3.0-or-later
// windtunnel validate kernels: measured kernels beside what the kernel sets of the catalogue say.
#include "tools/validate.h"
#include "validate/kernel_suite.h"

static void cells(table *t, uint32_t rows, double median, arena *a)
{
    table_cell(t, "%s", rows ? output_count(a, rows) : "");
    table_cell(t, "%s", rows ? output_percent(a, median) : "");
}

static void print_aim(arena *a, const kernel_suite *suite, kernel_aim aim)
{
    static const table_column columns[] = {
        { "GPU", false },      { "rows fitted", true }, { "median", true },
        { "held back", true }, { "median", true },      { "aim", false },
    };
    const double most = kernel_aim_median(aim);
    const aimed_gpu_array gpus = kernel_suite_aim(a, suite, aim);
    if (gpus.count == 0) return;
    table t = table_make(a, columns, ARRAY_COUNT(columns));
    for (uint32_t i = 0; i < gpus.count; i++) {
        const aimed_gpu *g = &gpus.items[i];
        table_cell(&t, "%s", g->gpu);
        cells(&t, g->fit_rows, g->fit_median, a);
        cells(&t, g->held_rows, g->held_median, a);
        table_cell(&t, "%s", g->fit_median > most || g->held_median > most ? "missed" : "met");
    }
    printf("\n%s: aim a median error of at most %s\n", kernel_aim_text(aim), output_percent(a, most));
    table_print(&t, "", stdout);
}

bool validate_kernels(const validate_request *q, sim_error *error)
{
    catalogue parts;
    kernel_suite suite;
    if (!catalogue_find(q->arena, q->catalogue, &parts, error)) return false;
    const kernel_suite_options options = { .measured = validate_measured(q->arena, q->measured, error),
                                           .data = q->data,
                                           .parts = &parts };
    if (!options.measured || !kernel_suite_build(q->arena, &options, &suite, error)) return false;
    if (q->json) {
        validate_print_json(q->arena, "kernels", &suite.rows, stdout);
        return validate_scored(&suite.rows, error);
    }
    validate_print(q->arena, &suite.rows, q->rows, &(validate_columns){ 0 }, stdout);
    for (int aim = 0; aim < AIMS; aim++)
        print_aim(q->arena, &suite, (kernel_aim)aim);
    return validate_scored(&suite.rows, error);
}
