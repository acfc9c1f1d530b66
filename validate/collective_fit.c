// SPDX-License-Identifier: GPL-3.0-or-later
#include "validate/collective_fit.h"
#include "validate/digits.h"
#include <gsl/gsl_errno.h>
#include <gsl/gsl_multimin.h>
#include <gsl/gsl_qrng.h>
#include <math.h>

enum {
    STARTS = 12,
    START_STEPS = 500,
    FINISHES = 2,
    FINISH_STEPS = 1500,
    ROUNDS = 8,
    SEARCH_ROUNDS = 2,
    ROUND_STEPS = 800,
    NUMBERS_MAX = 40, // of a block; Sobol's sequence has as many dimensions
    LEAST_POINTS = 3
};
#define BEND 0.02  // d
#define FELT 1e-2  // of ln(time), by a number a tenth larger: about what repeats differ by
#define WORSE 1.05 // within an interval the error is at most so many times the least
#define WIDEST 3.0 // high / low of an interval that says something

ARRAY_OF(uint32_t, index_array);

typedef struct fit {
    arena *a;
    cost_data *data;
    const collective_fit_options *options;
    cost_fit *fits;
    bool *open; // by number: sought now
} fit;

// Points and numbers that are fitted together.
typedef struct block {
    const fit *f;
    index_array numbers, points;
    double *weights; // by point of data
} block;

// ---- numbers

static const cost_field *field_of(const fit *f, uint32_t number)
{
    return &cost_fields[f->data->files.numbers.items[number].field];
}

// Where a setup has a field from this number.
static bool uses(const fit *f, const cost_setup *s, uint32_t number)
{
    const cost_files *files = &f->data->files;
    const cost_number *n = &files->numbers.items[number];
    const uint32_t class = cost_fields[n->field].is_nic ? s->nic_class : s->link_class;
    return class != NO_ID && !s->is_site[n->field] && cost_files_number(files, class, n->field) == number;
}

static void set_number(const fit *f, uint32_t number, double value)
{
    const cost_field *field = field_of(f, number);
    for (uint32_t i = 0; i < f->data->setups.count; i++) {
        cost_setup *s = f->data->setups.items[i];
        if (uses(f, s, number))
            cost_field_set(field, field->is_nic ? (void *)&s->nic : (void *)&s->link, value);
    }
    f->fits[number].value = value;
}

// The value that the files have; NAN: no setup has it.
static double get_number(const fit *f, uint32_t number)
{
    const cost_field *field = field_of(f, number);
    for (uint32_t i = 0; i < f->data->setups.count; i++) {
        const cost_setup *s = f->data->setups.items[i];
        if (uses(f, s, number))
            return cost_field_get(field, field->is_nic ? (const void *)&s->nic : (const void *)&s->link);
    }
    return (double)NAN;
}

static double bounded(const cost_field *field, double x)
{
    return field->least * pow(field->most / field->least, 1 / (1 + exp(-x)));
}

static double unbounded(const cost_field *field, double value)
{
    const double u = log(value / field->least) / log(field->most / field->least);
    const double v = u < 1e-6 ? 1e-6 : u > 1 - 1e-6 ? 1 - 1e-6 : u;
    return log(v / (1 - v));
}

// ---- the error

static double point_error(const cost_point *p)
{
    return log(collective_fit_predict_s(p) / p->measured_s);
}

static double loss_of(const block *b)
{
    double sum = 0;
    for (uint32_t i = 0; i < b->points.count; i++) {
        const uint32_t point = b->points.items[i];
        const double r = point_error(&b->f->data->points.items[point]);
        sum += b->weights[point] * (sqrt(r * r + BEND * BEND) - BEND);
    }
    return sum;
}

static double loss(const gsl_vector *x, void *owner)
{
    const block *b = owner;
    for (uint32_t i = 0; i < b->numbers.count; i++)
        set_number(b->f, b->numbers.items[i],
                   bounded(field_of(b->f, b->numbers.items[i]), gsl_vector_get(x, i)));
    return loss_of(b);
}

// Each run the same, each size of a run.
static void weigh(block *b)
{
    const cost_data *data = b->f->data;
    uint32_t *sizes = arena_array(b->f->a, uint32_t, data->runs.count), runs = 0;
    b->weights = arena_array(b->f->a, double, data->points.count);
    for (uint32_t i = 0; i < b->points.count; i++)
        runs += sizes[data->points.items[b->points.items[i]].run]++ == 0;
    for (uint32_t i = 0; i < b->points.count; i++) {
        const uint32_t point = b->points.items[i];
        b->weights[point] = 1.0 / runs / sizes[data->points.items[point].run];
    }
}

// ---- the search

static double descend(block *b, double *x, double size, uint32_t steps)
{
    const uint32_t n = b->numbers.count;
    gsl_multimin_function function = { .f = loss, .n = n, .params = b };
    gsl_vector *at = gsl_vector_alloc(n), *step = gsl_vector_alloc(n);
    gsl_multimin_fminimizer *m = gsl_multimin_fminimizer_alloc(gsl_multimin_fminimizer_nmsimplex2, n);
    SIM_ASSERT(at && step && m);
    for (uint32_t i = 0; i < n; i++)
        gsl_vector_set(at, i, x[i]);
    gsl_vector_set_all(step, size);
    const int set = gsl_multimin_fminimizer_set(m, &function, at, step);
    SIM_ASSERT(set == GSL_SUCCESS);
    for (uint32_t i = 0; i < steps; i++)
        if (gsl_multimin_fminimizer_iterate(m) != GSL_SUCCESS || gsl_multimin_fminimizer_size(m) < 1e-6)
            break;
    for (uint32_t i = 0; i < n; i++)
        x[i] = gsl_vector_get(gsl_multimin_fminimizer_x(m), i);
    const double best = loss(gsl_multimin_fminimizer_x(m), b); // leaves the numbers at the best
    gsl_multimin_fminimizer_free(m);
    gsl_vector_free(at);
    gsl_vector_free(step);
    return best;
}

static void spread(const block *b, gsl_qrng *sequence, double *x)
{
    double u[NUMBERS_MAX];
    const int got = gsl_qrng_get(sequence, u);
    SIM_ASSERT(got == GSL_SUCCESS);
    for (uint32_t i = 0; i < b->numbers.count; i++)
        x[i] = log(u[i] / (1 - u[i])); // 0 < u < 1
}

// A few steps from points spread over the bounds, then to the end from the best of them.
static void search(block *b)
{
    double x[STARTS][NUMBERS_MAX], value[STARTS], best[NUMBERS_MAX] = { 0 }, least = INFINITY;
    const uint32_t n = b->numbers.count;
    if (n == 0) return;
    gsl_qrng *sequence = gsl_qrng_alloc(gsl_qrng_sobol, n);
    SIM_ASSERT(sequence);
    for (uint32_t s = 0; s < STARTS; s++) {
        spread(b, sequence, x[s]);
        value[s] = descend(b, x[s], 1.0, START_STEPS);
    }
    gsl_qrng_free(sequence);
    for (uint32_t r = 0; r < FINISHES; r++) {
        uint32_t first = 0;
        for (uint32_t s = 1; s < STARTS; s++)
            if (value[s] < value[first]) first = s;
        descend(b, x[first], 0.5, FINISH_STEPS);
        const double end = descend(b, x[first], 0.2, FINISH_STEPS);
        if (end < least) memcpy(best, x[first], n * sizeof *best);
        least = fmin(end, least);
        value[first] = INFINITY;
    }
    descend(b, best, 0.1, FINISH_STEPS);
}

static void refine(block *b)
{
    double x[NUMBERS_MAX];
    for (uint32_t i = 0; i < b->numbers.count; i++)
        x[i] = unbounded(field_of(b->f, b->numbers.items[i]), b->f->fits[b->numbers.items[i]].value);
    if (b->numbers.count > 0) descend(b, x, 0.1, ROUND_STEPS);
}

// ---- what the runs tell

static bool is_felt(const fit *f, uint32_t number, const cost_point *p)
{
    const double value = f->fits[number].value;
    if (!uses(f, p->setup, number)) return false;
    const double before = point_error(p);
    set_number(f, number, value * 1.1);
    const double after = point_error(p);
    set_number(f, number, value);
    return fabs(after - before) > FELT;
}

// The least or the largest value, in one direction, with which the error stays near its best.
static double edge(const block *b, uint32_t number, double limit, double bound)
{
    const double best = b->f->fits[number].value;
    double in = 0, out = 1;
    set_number(b->f, number, bound);
    if (loss_of(b) > limit)
        for (int i = 0; i < 40; i++) {
            const double at = (in + out) / 2;
            set_number(b->f, number, best * pow(bound / best, at));
            *(loss_of(b) > limit ? &out : &in) = at;
        }
    set_number(b->f, number, best);
    return best * pow(bound / best, out);
}

// With all other numbers where they are: an error that has several dips ends at any of them.
static void find_interval(const fit *f, uint32_t number, const index_array *points)
{
    block felt = { .f = f };
    for (uint32_t i = 0; i < points->count; i++)
        if (is_felt(f, number, &f->data->points.items[points->items[i]]))
            *array_push(&felt.points, f->a) = points->items[i];
    weigh(&felt);
    cost_fit *out = &f->fits[number];
    const cost_field *field = field_of(f, number);
    out->fitted = false;
    if (felt.points.count < LEAST_POINTS) return;
    const double limit = (loss_of(&felt) + 1e-5) * WORSE;
    out->low = edge(&felt, number, limit, field->least);
    out->high = edge(&felt, number, limit, field->most);
    out->fitted = out->low > field->least * 1.001 && out->high < field->most * 0.999 &&
                  out->high / out->low <= WIDEST;
    out->runs = "";
    for (uint32_t i = 0; i < felt.points.count; i++) {
        const cost_run *run = &f->data->runs.items[f->data->points.items[felt.points.items[i]].run];
        if (strstr(out->runs, run->pattern)) continue;
        out->runs = arena_format(f->a, "%s%s%s", out->runs, *out->runs ? ", " : "", run->pattern);
    }
}

// ---- families

static bool is_infiniband(const cost_files *files, uint32_t class)
{
    return class == NO_ID || strncmp(files->classes.items[class].name, "infiniband", 10) == 0;
}

// Links and InfiniBand are one family, called NO_ID; each other NIC is one.
static uint32_t family_of(const cost_files *files, uint32_t class)
{
    return !files->classes.items[class].is_nic || is_infiniband(files, class) ? NO_ID : class;
}

static uint32_t family_of_setup(const cost_files *files, const cost_setup *s)
{
    return s->nic_class == NO_ID ? NO_ID : family_of(files, s->nic_class);
}

static index_array points_of(const fit *f, uint32_t family)
{
    index_array out = { 0 };
    for (uint32_t i = 0; i < f->data->points.count; i++)
        if (family_of_setup(&f->data->files, f->data->points.items[i].setup) == family)
            *array_push(&out, f->a) = i;
    return out;
}

// The open numbers of a class, and those of the points that have any of them.
static block block_of(const fit *f, uint32_t class, const index_array *points, bool inside)
{
    block b = { .f = f };
    for (uint32_t n = 0; n < f->data->files.numbers.count; n++)
        if (f->open[n] && f->data->files.numbers.items[n].class == class && b.numbers.count < NUMBERS_MAX)
            *array_push(&b.numbers, f->a) = n;
    for (uint32_t i = 0; i < points->count; i++) {
        const cost_point *p = &f->data->points.items[points->items[i]];
        bool has = !inside || p->setup->nic_class == NO_ID;
        for (uint32_t k = 0; has && k < b.numbers.count && !uses(f, p->setup, b.numbers.items[k]); k++)
            has = k + 1 < b.numbers.count;
        if (has) *array_push(&b.points, f->a) = points->items[i];
    }
    weigh(&b);
    return b;
}

// Class by class, round after round. Links are first sought on runs inside nodes, where nothing of the NICs is felt; then all
// once more from several starts, for by then the others are near.
static void fit_family(fit *f, uint32_t family, bool again)
{
    const cost_files *files = &f->data->files;
    const index_array points = points_of(f, family);
    const uint32_t rounds = family == NO_ID ? ROUNDS : 1;
    for (uint32_t round = 0; round < rounds; round++)
        for (uint32_t c = 0; c < files->classes.count; c++) {
            if (family_of(files, c) != family) continue;
            block b = block_of(f, c, &points, round == 0 && !files->classes.items[c].is_nic);
            if (b.points.count == 0) continue;
            if (round < SEARCH_ROUNDS && !again) search(&b);
            refine(&b);
        }
}

// Numbers start in the middle of their bounds, whatever the files have.
static void open_numbers(fit *f, uint32_t family)
{
    const cost_files *files = &f->data->files;
    const index_array points = points_of(f, family);
    for (uint32_t n = 0; n < files->numbers.count; n++) {
        const cost_field *field = field_of(f, n);
        bool used = false;
        for (uint32_t i = 0; i < points.count && !used; i++)
            used = uses(f, f->data->points.items[points.items[i]].setup, n);
        f->open[n] = used && family_of(files, files->numbers.items[n].class) == family &&
                     f->fits[n].value > 0;
        if (f->open[n]) set_number(f, n, sqrt(field->least * field->most));
    }
}

// Numbers that the runs do not tell go back to what the files have; how many.
static uint32_t close_numbers(fit *f, uint32_t family, const double *in_files)
{
    const index_array points = points_of(f, family);
    uint32_t closed = 0;
    for (uint32_t n = 0; n < f->data->files.numbers.count; n++) {
        if (!f->open[n]) continue;
        find_interval(f, n, &points);
        if (f->fits[n].fitted) continue;
        f->open[n] = false;
        closed++;
        set_number(f, n, in_files[n]);
    }
    return closed;
}

// Six digits; then intervals about what is written.
static void finish(fit *f, uint32_t family)
{
    const index_array points = points_of(f, family);
    for (uint32_t n = 0; n < f->data->files.numbers.count; n++) {
        double read;
        if (!f->open[n]) continue;
        cost_field_text(f->a, field_of(f, n), f->fits[n].value, &read);
        set_number(f, n, read);
    }
    for (uint32_t n = 0; n < f->data->files.numbers.count; n++) {
        const cost_number *number = &f->data->files.numbers.items[n];
        if (!f->open[n]) continue;
        find_interval(f, n, &points);
        f->fits[n].fitted = true;
        if (!f->options->tell) continue;
        const cost_field *field = field_of(f, n);
        f->options->tell(arena_format(
            f->a, "%-16s %-22s %10.6g %-5s [%.3g, %.3g] %s", f->data->files.classes.items[number->class].name,
            field->key, f->fits[n].value * field->per_base, field->written_as,
            f->fits[n].low * field->per_base, f->fits[n].high * field->per_base, f->fits[n].runs));
    }
}

static double mean_error(const fit *f, uint32_t family, uint32_t *count)
{
    const index_array points = points_of(f, family);
    double sum = 0;
    for (uint32_t i = 0; i < points.count; i++)
        sum += fabs(point_error(&f->data->points.items[points.items[i]]));
    *count = points.count;
    return sum / points.count;
}

static void fit_one(fit *f, uint32_t family, const double *in_files)
{
    uint32_t count;
    const double before = mean_error(f, family, &count);
    if (count == 0) return;
    open_numbers(f, family);
    fit_family(f, family, false);
    while (close_numbers(f, family, in_files) > 0)
        fit_family(f, family, true);
    finish(f, family);
    if (f->options->tell)
        f->options->tell(
            arena_format(f->a, "%s: %u sizes, mean error %.4f, before %.4f",
                         family == NO_ID ? "links and InfiniBand" : f->data->files.classes.items[family].name,
                         count, mean_error(f, family, &count), before));
}

bool collective_fit_is_asked(const cost_files *files, const char *only, uint32_t class)
{
    if (!only) return true;
    for (uint32_t c = 0; c < files->classes.count; c++)
        if (strcmp(files->classes.items[c].name, only) == 0)
            return family_of(files, c) == family_of(files, class);
    return false;
}

cost_fit *collective_fit_all(arena *a, cost_data *data, const collective_fit_options *options)
{
    const uint32_t numbers = data->files.numbers.count;
    fit f = { .a = a, .data = data, .options = options };
    f.fits = arena_array(a, cost_fit, numbers + 1);
    f.open = arena_array(a, bool, numbers + 1);
    double *in_files = arena_array(a, double, numbers + 1);
    for (uint32_t n = 0; n < numbers; n++)
        in_files[n] = f.fits[n].value = get_number(&f, n);
    bool asked = !options->only;
    for (uint32_t c = 0; c < data->files.classes.count && !asked; c++)
        asked = family_of(&data->files, c) == NO_ID &&
                collective_fit_is_asked(&data->files, options->only, c);
    if (asked) fit_one(&f, NO_ID, in_files);
    for (uint32_t c = 0; c < data->files.classes.count; c++)
        if (family_of(&data->files, c) == c && collective_fit_is_asked(&data->files, options->only, c))
            fit_one(&f, c, in_files);
    return f.fits;
}
