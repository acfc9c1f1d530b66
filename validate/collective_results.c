// SPDX-License-Identifier: GPL-3.0-or-later
#include "validate/collective_results.h"
#include "sim/csv.h"
#include "sim/units.h"
#include "sim/words.h"
#include <inttypes.h>
#include <math.h>

enum {
    RESULT_RUN,
    RESULT_CLASS,
    RESULT_COLLECTIVE,
    RESULT_ALGORITHM,
    RESULT_COMPARE,
    RESULT_RANKS,
    RESULT_ROLE,
    RESULT_BYTES,
    RESULT_MEASURED,
    RESULT_SIMULATED,
    RESULT_ERROR,
    RESULT_STATUS,
    RESULT_REASON,
    RESULT_COLUMNS
};
static const char *const columns[RESULT_COLUMNS] = { "run",         "class",        "collective", "algorithm",
                                                     "compare",     "ranks",        "role",       "bytes",
                                                     "measured_us", "simulated_us", "error",      "status",
                                                     "reason" };
static const char *const roles[] = { "held", "fit", NULL };

// ---- the file is written

// In quotes where it must be; the others stay as sort and grep like them.
static void write_text(FILE *out, const char *text, char after)
{
    const bool is_quoted = strpbrk(text, ",\"\r\n") != NULL;
    if (is_quoted) fputc('"', out);
    for (; *text; text++) {
        if (*text == '"') fputc('"', out);
        fputc(*text, out);
    }
    if (is_quoted) fputc('"', out);
    fputc(after, out);
}

static void write_number(FILE *out, const char *format, double value)
{
    if (isfinite(value)) fprintf(out, format, value);
    fputc(',', out);
}

// Of the sizes of a run that do not count for one reason the first is enough, unless its algorithm is compared with others.
static bool is_told(const collective_point_array *points, uint32_t index)
{
    const collective_point *p = &points->items[index];
    if (p->status == POINT_SCORED || *p->compare) return true;
    for (uint32_t i = 0; i < index; i++)
        if (strcmp(points->items[i].run, p->run) == 0 && strcmp(points->items[i].reason, p->reason) == 0)
            return false;
    return true;
}

void collective_results_write(const collective_point_array *points, FILE *out)
{
    for (int i = 0; i < RESULT_COLUMNS; i++)
        write_text(out, columns[i], i + 1 < RESULT_COLUMNS ? ',' : '\n');
    for (uint32_t i = 0; i < points->count; i++) {
        const collective_point *p = &points->items[i];
        if (!is_told(points, i)) continue;
        write_text(out, p->run, ',');
        write_text(out, p->class < 0 ? "" : collective_class_words[p->class], ',');
        write_text(out, p->collective, ',');
        write_text(out, p->algorithm, ',');
        write_text(out, p->compare, ',');
        fprintf(out, "%" PRIu32 ",%s,%" PRIu64 ",", p->ranks, roles[p->is_fit], p->bytes);
        write_number(out, "%.5g", 1e6 * p->measured_s);
        write_number(out, "%.5g", 1e6 * p->simulated_s);
        write_number(out, "%+.4f", collective_point_error(p));
        write_text(out, point_status_words[p->status], ',');
        write_text(out, p->reason, '\n');
    }
}

// ---- the file is read

static bool read_word(const csv_field *field, const char *const *words, int *out, sim_error *error)
{
    char shown[WORDS_SHOWN_SIZE];
    for (*out = 0; words[*out]; (*out)++)
        if (strcmp(field->text, words[*out]) == 0) return true;
    return sim_fail(error, SIM_EXIT_INPUT, &field->place, "there is no \"%s\" in a table of results",
                    words_show(shown, field->text));
}

static bool read_time(const csv_field *field, double *out_s, sim_error *error)
{
    double time_us = (double)NAN;
    if (*field->text && !units_parse(UNIT_NONE, field->text, &time_us, &field->place, error)) return false;
    *out_s = time_us / 1e6;
    return true;
}

static bool read_point(const csv_field *f, collective_point *p, sim_error *error)
{
    int role, status;
    uint64_t ranks;
    *p = (collective_point){
        .run = f[RESULT_RUN].text,
        .class = -1,
        .collective = f[RESULT_COLLECTIVE].text,
        .algorithm = f[RESULT_ALGORITHM].text,
        .compare = f[RESULT_COMPARE].text,
        .reason = f[RESULT_REASON].text,
    };
    if ((*f[RESULT_CLASS].text && !read_word(&f[RESULT_CLASS], collective_class_words, &p->class, error)) ||
        !read_word(&f[RESULT_ROLE], roles, &role, error) ||
        !read_word(&f[RESULT_STATUS], point_status_words, &status, error) ||
        !units_parse_count(f[RESULT_RANKS].text, &ranks, &f[RESULT_RANKS].place, error) ||
        !units_parse_count(f[RESULT_BYTES].text, &p->bytes, &f[RESULT_BYTES].place, error) ||
        !read_time(&f[RESULT_MEASURED], &p->measured_s, error) ||
        !read_time(&f[RESULT_SIMULATED], &p->simulated_s, error))
        return false;
    p->ranks = (uint32_t)ranks;
    p->is_fit = role == 1;
    p->status = (point_status)status;
    return true;
}

bool collective_results_read(arena *a, const char *path, collective_point_array *out, sim_error *error)
{
    const csv_field *f;
    csv_reader *r = csv_open(a, path, NULL, error);
    if (!r) return false;
    for (uint32_t i = 0; i < RESULT_COLUMNS; i++)
        if (i >= csv_columns(r) || strcmp(csv_column(r, i)->text, columns[i]) != 0)
            return sim_fail(error, SIM_EXIT_INPUT, &csv_column(r, 0)->place,
                            "column %u of a table of results is not \"%s\"", i + 1, columns[i]);
    while ((f = csv_next(r, error)) != NULL)
        if (!read_point(f, array_push(out, a), error)) return false;
    return !sim_failed(error);
}

// ---- a table for README.md

static void percent(FILE *out, double share)
{
    fprintf(out, isfinite(share) ? " %.0f %% |" : " |", 100.0 * share);
}

static void write_cell(arena *a, const collective_point_array *points, const prototype_array *prototype,
                       int class, int band, FILE *out)
{
    const point_choice choice = { .class = class, .band = band };
    const point_score s = collective_score(a, points, &choice);
    const double beside = collective_prototype_score(prototype, &choice).mean;
    if (s.n)
        fprintf(out, " %.2f (%u) |", s.mean, s.n);
    else
        fputs(" |", out);
    fprintf(out, isfinite(beside) ? " %.2f |" : " |", beside);
}

static void write_classes(arena *a, const collective_point_array *points, const prototype_array *prototype,
                          FILE *out)
{
    static const int bands[] = { BAND_FLOOR, BAND_MIDDLE, BAND_PLATEAU };
    fputs("| mean abs. ln(simulated / measured) | to 32 KiB | prototype | 64 KiB to 64 MiB | prototype | "
          "from 256 MiB | prototype |\n"
          "| --- | --- | --- | --- | --- | --- | --- |\n",
          out);
    for (int class = 0; class <= COLLECTIVE_CLASSES; class ++) {
        const bool is_all = class == COLLECTIVE_CLASSES;
        fprintf(out, "| %s |", is_all ? "all" : collective_class_title((collective_class) class));
        for (size_t k = 0; k < ARRAY_COUNT(bands); k++)
            write_cell(a, points, prototype, is_all ? -1 : class, bands[k], out);
        fputc('\n', out);
    }
}

static const char *reached(const band_aim *aim, const point_score *score)
{
    return band_aim_reached(aim, score) ? "reached" : "missed";
}

static void write_aims(arena *a, const collective_point_array *points, const prototype_array *prototype,
                       FILE *out)
{
    fputs(
        "\n| band | runs | points | within 1.07 | within 1.15 | within 1.3 | mean error | aim | prototype |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
        out);
    for (int i = 0; i < BAND_AIMS; i++)
        for (int role = ROLE_FIT_ONLY; role < POINT_ROLES; role++) {
            const band_aim *aim = &band_aims[i];
            const point_choice choice = { .class = -1, .band = (int)aim->band, .role = (point_role)role };
            const point_score s = collective_score(a, points, &choice);
            if (!s.n) continue;
            fprintf(out, "| %s | %s | %u |", size_band_words[aim->band], point_role_words[role], s.n);
            for (int k = 0; k < SHARES; k++)
                percent(out, s.within[k]);
            const point_score beside = collective_prototype_score(prototype, &choice);
            fprintf(out, " %.2f | %s | %s |\n", s.mean, reached(aim, &s),
                    beside.n ? reached(aim, &beside) : "");
        }
}

void collective_results_write_table(arena *a, const collective_point_array *points,
                                    const prototype_array *prototype, FILE *out)
{
    const order_score order = collective_order(a, points, NULL);
    write_classes(a, points, prototype, out);
    write_aims(a, points, prototype, out);
    fprintf(out,
            "\nOrder of algorithms at equal size: %u of %u pairs right, the fastest right in %u of %u cells; "
            "%u pairs "
            "with an algorithm that is not played.\n",
            order.pairs_right, order.pairs, order.cells_right, order.cells, order.not_played);
}
