// SPDX-License-Identifier: GPL-3.0-or-later
// windtunnel validate collectives: published runs of nccl-tests beside the same collectives played.
#include "sim/words.h"
#include "tools/progress.h"
#include "tools/validate.h"
#include "validate/collective_results.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>

enum { MISSES_SHOWN = 40 };

// ---- points

static double size_of_error(const collective_point *p)
{
    const double error = fabs(collective_point_error(p));
    return isfinite(error) ? error : -1.0;
}

// By falling error; in their order where equal.
static uint32_t *order_of(arena *a, const collective_point_array *points)
{
    uint32_t *order = arena_array(a, uint32_t, points->count + 1);
    for (uint32_t i = 0; i < points->count; i++) {
        uint32_t k = i;
        for (; k > 0 && size_of_error(&points->items[i]) > size_of_error(&points->items[order[k - 1]]); k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
    return order;
}

static bool is_miss(const collective_point *p)
{
    return size_of_error(p) > log(band_miss_factor(size_band_of(p->bytes)));
}

static void print_points(const validate_request *q, const collective_point_array *points, FILE *out)
{
    static const table_column columns[] = { { "run", false },       { "class", false }, { "", false },
                                            { "algorithm", false }, { "size", true },   { "measured", true },
                                            { "simulated", true },  { "ln", true } };
    arena *a = q->arena;
    table t = table_make(a, columns, ARRAY_COUNT(columns));
    const uint32_t *order = order_of(a, points);
    uint32_t shown = 0, misses = 0;
    for (uint32_t i = 0; i < points->count; i++) {
        const collective_point *p = &points->items[order[i]];
        if (p->status != POINT_SCORED) break;
        misses += is_miss(p);
        if (!q->rows && (!is_miss(p) || shown == MISSES_SHOWN)) continue;
        shown++;
        table_cell(&t, "%s", p->run);
        table_cell(&t, "%s", collective_class_title((collective_class)p->class));
        table_cell(&t, "%s", p->is_fit ? "fit" : "held");
        table_cell(&t, "%s", p->algorithm);
        table_cell(&t, "%s", output_bytes(a, (double)p->bytes));
        table_cell(&t, "%s", output_number(a, UNIT_TIME, p->measured_s));
        table_cell(&t, "%s", output_number(a, UNIT_TIME, p->simulated_s));
        table_cell(&t, "%+.3f", collective_point_error(p));
    }
    if (shown) {
        fputs(q->rows ? "every point, greatest errors first\n" : "points that miss, greatest errors first\n",
              out);
        table_print(&t, "  ", out);
        fputc('\n', out);
    }
    if (!q->rows && misses > shown)
        fprintf(out,
                "%u more points miss by more than a factor of 1.15 (from 64 KiB to 128 MiB: 1.3); --rows "
                "lists all\n\n",
                misses - shown);
}

// ---- cells

static void cell_error(table *t, double error)
{
    table_cell(t, "%s", isfinite(error) ? arena_format(t->a, "%.2f", error) : "");
}

static void cell_bias(table *t, double bias)
{
    table_cell(t, "%s", isfinite(bias) ? arena_format(t->a, "%+.2f", bias) : "");
}

static void cell_share(table *t, double share)
{
    table_cell(t, "%s", isfinite(share) ? arena_format(t->a, "%.0f %%", 100.0 * share) : "");
}

// Each collective once, in the order of the points.
static text_list collectives_of(arena *a, const collective_point_array *points)
{
    text_list all = { 0 };
    for (uint32_t i = 0; i < points->count; i++) {
        uint32_t k = 0;
        while (k < all.count && strcmp(all.items[k], points->items[i].collective) != 0)
            k++;
        if (k == all.count) *array_push(&all, a) = points->items[i].collective;
    }
    return all;
}

static bool has_prototype(const collective_suite *s)
{
    return s->prototype.count > 0;
}

static void add_cell(table *t, const collective_suite *s, const point_choice *of_all)
{
    point_choice of_fit = *of_all, of_held = *of_all;
    of_fit.role = ROLE_FIT_ONLY;
    of_held.role = ROLE_HELD_ONLY;
    const point_score all = collective_score(t->a, &s->points, of_all),
                      fit = collective_score(t->a, &s->points, &of_fit),
                      held = collective_score(t->a, &s->points, &of_held);
    if (!all.n) return;
    table_cell(t, "%s", collective_class_title((collective_class)of_all->class));
    table_cell(t, "%s", of_all->collective);
    table_cell(t, "%s", size_band_words[of_all->band]);
    table_cell(t, "%u", all.n);
    cell_error(t, all.mean);
    if (has_prototype(s)) cell_error(t, collective_prototype_score(&s->prototype, of_all).mean);
    cell_error(t, fit.mean);
    cell_error(t, held.mean);
    cell_bias(t, all.bias);
    cell_error(t, all.median);
    for (int k = 0; k < SHARES; k++)
        cell_share(t, all.within[k]);
}

static bool counts_any(const collective_suite *s)
{
    for (uint32_t i = 0; i < s->points.count; i++)
        if (s->points.items[i].status == POINT_SCORED) return true;
    return false;
}

static void print_cells(arena *a, const collective_suite *s, FILE *out)
{
    enum { PROTOTYPE = 5 }; // its column
    table_column columns[] = {
        { "class", false },    { "collective", false }, { "band", false },   { "points", true },
        { "mean |ln|", true }, { "prototype", true },   { "fit", true },     { "held", true },
        { "bias", true },      { "median", true },      { "in 1.07", true }, { "in 1.15", true },
        { "in 1.3", true },
    };
    uint32_t count = ARRAY_COUNT(columns);
    if (!has_prototype(s)) {
        count--;
        memmove(&columns[PROTOTYPE], &columns[PROTOTYPE + 1], (count - PROTOTYPE) * sizeof(*columns));
    }
    const text_list kinds = collectives_of(a, &s->points);
    table t = table_make(a, columns, count);
    for (int class = 0; class < COLLECTIVE_CLASSES; class ++)
        for (uint32_t c = 0; c < kinds.count; c++)
            for (int band = 0; band < SIZE_BANDS; band++)
                add_cell(&t, s,
                         &(point_choice){ .class = class, .band = band, .collective = kinds.items[c] });
    fputs("errors by class of system, collective and band of sizes\n", out);
    table_print(&t, "  ", out);
}

static void add_aim(table *t, const collective_suite *s, const band_aim *aim, point_role role)
{
    const point_choice choice = { .class = -1, .band = (int)aim->band, .role = role };
    const point_score score = collective_score(t->a, &s->points, &choice),
                      beside = collective_prototype_score(&s->prototype, &choice);
    if (!score.n) return;
    table_cell(t, "%s", size_band_words[aim->band]);
    table_cell(t, "%s", point_role_words[role]);
    table_cell(t, "%u", score.n);
    for (int k = 0; k < SHARES; k++)
        cell_share(t, score.within[k]);
    cell_error(t, score.mean);
    cell_error(t, score.median);
    cell_bias(t, score.bias);
    table_cell(t, "%s", band_aim_reached(aim, &score) ? "reached" : "missed");
    if (!has_prototype(s)) return;
    for (int k = 0; k < SHARES; k++)
        cell_share(t, beside.within[k]);
    cell_error(t, beside.mean);
    table_cell(t, "%s", !beside.n ? "" : band_aim_reached(aim, &beside) ? "reached" : "missed");
}

static void print_aims(arena *a, const collective_suite *s, FILE *out)
{
    static const table_column columns[] = {
        { "band", false },   { "runs", false },  { "points", true },         { "in 1.07", true },
        { "in 1.15", true }, { "in 1.3", true }, { "mean |ln|", true },      { "median", true },
        { "bias", true },    { "aim", false },   { "prototype 1.07", true }, { "1.15", true },
        { "1.3", true },     { "mean", true },   { "its aim", false },
    };
    enum { WITHOUT_PROTOTYPE = 10 };
    table t = table_make(a, columns, has_prototype(s) ? ARRAY_COUNT(columns) : WITHOUT_PROTOTYPE);
    for (int i = 0; i < BAND_AIMS; i++)
        for (int role = 0; role < POINT_ROLES; role++)
            add_aim(&t, s, &band_aims[i], (point_role)role);
    fputs("\nerrors by band of sizes, beside what is aimed at\n", out);
    table_print(&t, "  ", out);
    fputs("bands: floor to 32 KiB, low above, middle 64 KiB to 64 MiB, upper above, plateau from 256 MiB on\n"
          "ln: of simulated over measured time; in 1.07: points at most a factor of 1.07 off; bias: mean ln\n"
          "fit: constants were read off these runs; held: they were not\n",
          out);
    if (has_prototype(s))
        fputs("prototype: a slice-level model with every mechanism, on the same points\n", out);
    fputs("aims: floor 90 % within 1.15; middle 80 % within 1.3 and a mean |ln| of 0.15; plateau 80 % within "
          "1.07 and 95 % within 1.15\n",
          out);
}

// ---- order and spread

static void print_order(arena *a, const collective_suite *s, FILE *out)
{
    static const table_column columns[] = { { "wrong order", false }, { "collective", false },
                                            { "ranks", true },        { "size", true },
                                            { "faster", false },      { "slower", false },
                                            { "measured", true },     { "simulated", true } };
    order_pair_array wrong = { 0 };
    const order_score order = collective_order(a, &s->points, &wrong);
    if (!order.pairs && !order.not_played) return;
    table t = table_make(a, columns, ARRAY_COUNT(columns));
    fprintf(
        out,
        "\norder of algorithms at equal size: %u of %u pairs right (aim 9 of 10: %s), the fastest in %u of "
        "%u cells; %u pairs not played\n",
        order.pairs_right, order.pairs, order.pairs_right >= ORDER_AIM * order.pairs ? "reached" : "missed",
        order.cells_right, order.cells, order.not_played);
    for (uint32_t i = 0; i < wrong.count; i++) {
        const collective_point *f = &s->points.items[wrong.items[i].faster],
                               *w = &s->points.items[wrong.items[i].slower];
        table_cell(&t, "%s", f->compare);
        table_cell(&t, "%s", f->collective);
        table_cell(&t, "%u", f->ranks);
        table_cell(&t, "%s", output_bytes(a, (double)f->bytes));
        table_cell(&t, "%s", f->algorithm);
        table_cell(&t, "%s", w->algorithm);
        table_cell(&t, "%.2f", w->measured_s / f->measured_s);
        table_cell(&t, "%.2f", w->simulated_s / f->simulated_s);
    }
    if (wrong.count) table_print(&t, "  ", out);
}

static void print_spreads(arena *a, const collective_spread_array *spreads, FILE *out)
{
    static const table_column columns[] = { { "repeats of", false }, { "times", true },   { "half", true },
                                            { "3 of 4", true },      { "9 of 10", true }, { "worst", true } };
    if (!spreads->count) return;
    table t = table_make(a, columns, ARRAY_COUNT(columns));
    for (uint32_t i = 0; i < spreads->count; i++) {
        const collective_spread *s = &spreads->items[i];
        table_cell(&t, "%s", s->run);
        table_cell(&t, "%u", s->n);
        table_cell(&t, "%.2f", s->median);
        table_cell(&t, "%.2f", s->upper);
        table_cell(&t, "%.2f", s->ninth);
        table_cell(&t, "%.1f", s->greatest);
    }
    fputs("\nmeasured time over the best repeat's, from 16 MiB on\n", out);
    table_print(&t, "  ", out);
}

// ---- what does not count

static void print_left_out(arena *a, const collective_suite *s, FILE *out)
{
    compared_row_array unknown = { 0 }, faults = { 0 };
    for (uint32_t i = 0; i < s->points.count; i++) {
        const collective_point *p = &s->points.items[i];
        if (p->status == POINT_SCORED) continue;
        *array_push(p->status == POINT_FAULT ? &faults : &unknown,
                    a) = (compared_row){ .id = p->run, .source = "", .unknown_reason = p->reason };
    }
    validate_print_reasons(a, &unknown, "unknown, because", out);
    validate_print_reasons(a, &faults, "faults, which are not played", out);
}

// ---- for machines

static void json_score(json_writer *j, const collective_suite *s, arena *a, const point_choice *choice)
{
    const point_score score = collective_score(a, &s->points, choice);
    const point_score beside = collective_prototype_score(&s->prototype, choice);
    if (!score.n) return;
    json_object(j, NULL);
    json_text(j, "class", choice->class < 0 ? NULL : collective_class_words[choice->class]);
    json_text(j, "collective", choice->collective);
    json_text(j, "band", size_band_words[choice->band]);
    json_text(j, "runs", point_role_words[choice->role]);
    json_count(j, "n", score.n);
    json_number(j, "mean_abs_ln", score.mean);
    json_number(j, "bias_ln", score.bias);
    json_number(j, "median_abs_ln", score.median);
    json_number(j, "within_1.07", score.within[0]);
    json_number(j, "within_1.15", score.within[1]);
    json_number(j, "within_1.3", score.within[2]);
    json_number(j, "prototype_mean_abs_ln", beside.mean);
    json_number(j, "prototype_within_1.07", beside.within[0]);
    json_number(j, "prototype_within_1.15", beside.within[1]);
    json_number(j, "prototype_within_1.3", beside.within[2]);
    json_close(j);
}

static void print_json(arena *a, const collective_suite *s, FILE *out)
{
    const compared_row_array rows = collective_suite_compare(a, &s->points);
    const text_list kinds = collectives_of(a, &s->points);
    const order_score order = collective_order(a, &s->points, NULL);
    json_writer j = json_make(out);
    validate_json_begin(a, &j, "collectives", &rows);
    json_array(&j, "cells");
    for (int class = -1; class < COLLECTIVE_CLASSES; class ++)
        for (uint32_t c = 0; c < (class < 0 ? 1 : kinds.count); c++)
            for (int band = 0; band < SIZE_BANDS; band++)
                for (int role = 0; role < POINT_ROLES; role++)
                    json_score(&j, s, a,
                               &(point_choice){ .class = class,
                                                .band = band,
                                                .collective = class < 0 ? NULL : kinds.items[c],
                                                .role = (point_role)role });
    json_close(&j);
    json_object(&j, "order");
    json_count(&j, "pairs", order.pairs);
    json_count(&j, "pairs_right", order.pairs_right);
    json_count(&j, "cells", order.cells);
    json_count(&j, "cells_right", order.cells_right);
    json_count(&j, "pairs_not_played", order.not_played);
    json_close(&j);
    json_close(&j);
}

static bool write_results(const collective_suite *s, const char *path, sim_error *error)
{
    errno = 0;
    FILE *out = fopen(path, "w");
    if (out) collective_results_write(&s->points, out);
    const bool failed = !out || ferror(out);
    if ((!out || fclose(out) == 0) && !failed) return true;
    return sim_fail(error, SIM_EXIT_INPUT, NULL, "cannot write \"%s\": %s", path, strerror(errno));
}

bool validate_collectives(const validate_request *q, sim_error *error)
{
    collective_suite s;
    const collective_suite_options options = {
        .data = q->data,
        .measured = q->measured,
        .catalogue_path = q->catalogue,
        .source = q->training.choice.source,
        .jobs = q->training.jobs,
        .progress = q->training.progress,
        .owner = q->training.owner,
    };
    const bool good = collective_suite_play(q->arena, &options, &s, error);
    progress_clear(q->training.owner);
    if (!good || (q->results && !write_results(&s, q->results, error))) return false;
    if (q->json) {
        print_json(q->arena, &s, stdout);
    } else if (!q->quiet) {
        print_points(q, &s.points, stdout);
        if (counts_any(&s)) {
            print_cells(q->arena, &s, stdout);
            print_aims(q->arena, &s, stdout);
        }
        print_order(q->arena, &s, stdout);
        print_spreads(q->arena, &s.spreads, stdout);
        print_left_out(q->arena, &s, stdout);
    }
    const compared_row_array rows = collective_suite_compare(q->arena, &s.points);
    return validate_scored(&rows, error);
}
