// SPDX-License-Identifier: GPL-3.0-or-later
// windtunnel validate training --explain: one measured step, and why its simulated time is what it is.
#include "sim/check.h"
#include "tools/answer.h"
#include "tools/validate.h"
#include "validate/training_explain.h"
#include <math.h>

static void print_times(const training_case *c, const run_result *r, arena *a)
{
    const double simulated = summary_find(&r->summary, "step_time")->value;
    printf("\nmeasured    %s\nsimulated   %s", output_number(a, UNIT_TIME, c->measured_s),
           output_number(a, UNIT_TIME, simulated));
    printf("  %+.1f %%\n", 100.0 * (simulated / c->measured_s - 1.0));
    const uint32_t variants = training_case_variants(c);
    if (variants > 1)
        printf("not published: %s; the first of %u possibilities is told\n",
               training_case_describe_choices(c, a), variants);
    if (isfinite(c->constant_s))
        printf("constant    %s  %+.1f %%: one rate for all rows of this GPU and number format\n",
               output_number(a, UNIT_TIME, c->constant_s), 100.0 * (c->constant_s / c->measured_s - 1.0));
}

static void print_sensitivity(arena *a, const sensitivity_array *all)
{
    static const table_column columns[] = { { NULL, false }, { NULL, true } };
    table t = table_make(a, columns, ARRAY_COUNT(columns));
    for (uint32_t i = 0; i < all->count; i++) {
        table_cell(&t, "%s", all->items[i].name);
        table_cell(&t, "%+.2f %%", 100.0 * all->items[i].change);
    }
    printf("\nchange of the step time when this is a tenth slower\n");
    table_print(&t, "  ", stdout);
}

static bool explain(const validate_request *q, const training_suite *suite, uint32_t index,
                    const run_result *r, sim_error *error)
{
    sensitivity_array all = { 0 };
    arena *a = q->arena;
    printf("# %s of %s\n", suite->rows.items[index].fields[COLUMN_ID],
           suite->rows.items[index].fields[COLUMN_SOURCE]);
    training_explain_write(r->scenario->document.root, 0, stdout);
    print_times(&suite->cases[index], r, a);
    answer_blame(a, &r->blame, stdout);
    printf("\nmemory\n");
    answer_memory(a, r->scenario, &r->memory, stdout);
    if (!training_explain_sensitivity(suite, &q->training, index, r, &all, error)) return false;
    print_sensitivity(a, &all);
    return true;
}

static bool refuse(const training_case *c, const char *reason, sim_error *error)
{
    return sim_fail(error, SIM_EXIT_NO, &c->row->place, "unknown: %s", reason);
}

bool validate_explain(const validate_request *q, sim_error *error)
{
    training_suite suite;
    run_result r;
    if (!training_suite_open(q->arena, &q->training, &suite, error) ||
        !training_suite_choose(&suite, &q->training.choice, error))
        return false;
    if (suite.cases[0].unknown) return refuse(&suite.cases[0], suite.cases[0].unknown, error);
    const run_options wanted = training_suite_run(&suite, &q->training, 0, 0);
    sim_error refusal = { 0 };
    const bool ran = run_execute(&wanted, &r, &refusal);
    const char *why = training_suite_refusal(&suite, 0, &r, &refusal);
    if (refusal.exit_code == SIM_EXIT_BUG || refusal.exit_code == SIM_EXIT_INTERRUPTED)
        *error = refusal;
    else if (why)
        refuse(&suite.cases[0], why, error);
    const bool good = ran && !why && explain(q, &suite, 0, &r, error);
    run_free(&r);
    return good;
}
