// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/collective/parts_file.h"
#include "sim/array.h"
#include "sim/lines.h"
#include "sim/os.h"
#include "sim/words.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

// So that sums of them are numbers, whatever the ranks.
static const double weight_max = 1e200;

ARRAY_OF(double, weight_array);

typedef struct parts_reader {
    arena *a;
    line_reader lines;
    uint32_t ranks, rows;
    weight_array weights;
    sim_error *error;
} parts_reader;

#define REFUSE(at_, ...)                                                                                     \
    (place = lines_place(&r->lines, (at_)), sim_fail(r->error, SIM_EXIT_INPUT, &place, __VA_ARGS__))

// ---- numbers

static void skip_digits(const char **at, const char *end)
{
    while (*at < end && **at >= '0' && **at <= '9')
        ++*at;
}

// Digits with at most one point, then perhaps an exponent. No signs, no "inf", no hexadecimals, which strtod() would take.
static bool is_decimal(const char *at, const char *end)
{
    const char *first = at;
    skip_digits(&at, end);
    size_t digits = (size_t)(at - first);
    if (at < end && *at == '.') {
        first = ++at;
        skip_digits(&at, end);
        digits += (size_t)(at - first);
    }
    if (digits == 0) return false;
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        if (at < end && (*at == '+' || *at == '-')) at++;
        first = at;
        skip_digits(&at, end);
        if (at == first) return false;
    }
    return at == end;
}

static bool refuse_field(const parts_reader *r, const line_field *f, const char *text)
{
    sim_place place;
    char shown[WORDS_SHOWN_SIZE];
    if (f->begin == f->end) return REFUSE(f->begin, "a weight is missing");
    if (*f->begin == '-' && is_decimal(f->begin + 1, f->end))
        return REFUSE(f->begin, "a weight is negative: %s", words_show(shown, text));
    REFUSE(f->begin, "a weight must be a number, but is \"%s\"", words_show(shown, text));
    return sim_hint(r->error, "one row per sender, one column per receiver, no header; whole or decimal");
}

static bool read_weight(parts_reader *r, const line_field *f)
{
    enum { LENGTH_MAX = 400 };
    sim_place place;
    char text[LENGTH_MAX + 1];
    const size_t length = (size_t)(f->end - f->begin), kept = length < LENGTH_MAX ? length : LENGTH_MAX;
    memcpy(text, f->begin, kept);
    text[kept] = 0;
    if (length > LENGTH_MAX || !is_decimal(f->begin, f->end)) return refuse_field(r, f, text);
    const double weight = strtod(text, NULL);
    if (weight > weight_max) return REFUSE(f->begin, "a weight is too large: more than %g", weight_max);
    *array_push(&r->weights, r->a) = weight;
    return true;
}

// ---- the matrix

static bool read_row(parts_reader *r)
{
    sim_place place;
    const char *at = r->lines.line;
    if (r->rows == r->ranks)
        return REFUSE(r->lines.line, "a row too many: there are %u ranks, a row for each", r->ranks);
    for (uint32_t column = 0; column < r->ranks; column++) {
        const line_field f = lines_take_field(&r->lines, &at);
        if (!read_weight(r, &f)) return false;
        if (column + 1 == r->ranks) break;
        if (at == r->lines.line_end)
            return REFUSE(at, "this row has %u column%s, but there are %u ranks, a column for each",
                          column + 1, column == 0 ? "" : "s", r->ranks);
        at++;
    }
    if (at < r->lines.line_end)
        return REFUSE(at + 1, "a column too many: there are %u ranks, a column for each", r->ranks);
    r->rows++;
    return true;
}

static double largest_of(const double *sums, uint32_t count, double *per_mean)
{
    double largest = 0, all = 0;
    for (uint32_t i = 0; i < count; i++) {
        largest = fmax(largest, sums[i]);
        all += sums[i];
    }
    *per_mean = largest / (all / count);
    return largest;
}

static bool sum_up(const parts_reader *r, parts_weights *out)
{
    const uint32_t n = r->ranks;
    const sim_place place = { .file = r->lines.name };
    double *rows = arena_array(r->a, double, n), *columns = arena_array(r->a, double, n);
    bool any = false;
    for (uint32_t from = 0; from < n; from++)
        for (uint32_t to = 0; to < n; to++) {
            const double weight = r->weights.items[(size_t)from * n + to];
            rows[from] += weight;
            columns[to] += weight;
            any |= weight > 0 && from != to;
        }
    *out = (parts_weights){ .ranks = n, .weights = r->weights.items };
    if (!any)
        return sim_fail(r->error, SIM_EXIT_INPUT, &place, "no rank sends anything to another") ||
               sim_hint(r->error, "a weight above zero that is not on the diagonal");
    out->row_max = largest_of(rows, n, &out->row_max_per_mean);
    out->column_max = largest_of(columns, n, &out->column_max_per_mean);
    return true;
}

bool parts_file_parse(arena *a, const char *name, const char *text, size_t length, uint32_t ranks,
                      parts_weights *out, sim_error *error)
{
    SIM_ASSERT(ranks > 0);
    parts_reader r = { .a = a, .lines = lines_open(name, text, length), .ranks = ranks, .error = error };
    while (lines_next(&r.lines))
        if (!lines_is_blank(&r.lines) && !read_row(&r)) return false;
    if (r.rows == ranks) return sum_up(&r, out);
    const sim_place place = { .file = name };
    return sim_fail(error, SIM_EXIT_INPUT, &place,
                    "the file has %u row%s, but there are %u ranks, a row for each", r.rows,
                    r.rows == 1 ? "" : "s", ranks);
}

// ---- a file

typedef struct parts_reading {
    arena *arena;
    const char *path;
    char *text; // malloc's
    size_t length;
    uint32_t ranks;
    parts_weights *out;
    sim_error *error;
} parts_reading;

static bool parse_text(void *owner)
{
    const parts_reading *r = owner;
    return parts_file_parse(r->arena, r->path, r->text, r->length, r->ranks, r->out, r->error);
}

static void free_text(void *owner)
{
    const parts_reading *r = owner;
    free(r->text);
}

bool parts_file_read(arena *a, const char *path, const sim_place *where, uint32_t ranks, parts_weights *out,
                     sim_error *error)
{
    parts_reading r = { .arena = a, .path = path, .ranks = ranks, .out = out, .error = error };
    return os_read_file(path, PARTS_FILE_BYTES_MAX, &r.text, &r.length, where, error) &&
           arena_guard(a, parse_text, free_text, &r);
}

// ---- a size

// Where the elements of a row's first parts end; those of the whole largest row exactly at all of them.
static uint64_t end_of(double sum, double row_max, uint64_t elements)
{
    return sum >= row_max ? elements : (uint64_t)floor(sum * (double)elements / row_max);
}

uint64_t parts_scale(const parts_weights *w, uint64_t elements, uint32_t element_bytes, uint64_t *parts)
{
    SIM_ASSERT(elements < UINT64_C(1) << 53);
    uint64_t sent_bytes = 0;
    for (uint32_t from = 0; from < w->ranks; from++) {
        double sum = 0;
        uint64_t before = 0;
        for (uint32_t to = 0; to < w->ranks; to++) {
            const size_t at = (size_t)from * w->ranks + to;
            sum += w->weights[at];
            const uint64_t end = end_of(sum, w->row_max, elements);
            parts[at] = (end - before) * element_bytes;
            before = end;
            if (from != to) sent_bytes += parts[at];
        }
    }
    return sent_bytes;
}
