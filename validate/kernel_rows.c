// SPDX-License-Identifier: GPL-3.0-or-later
#include "validate/kernel_rows.h"
#include "sim/csv.h"
#include "sim/words.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>

const char *const kernel_table_words[] = { "gemm", "attention", "elementwise", NULL };

// Beyond them there is nothing to be measured.
#define COUNT_MOST 1e8
#define TIME_MOST_S 1e4
#define BYTES_MOST 1e15

enum { NEEDED_MAX = 11 };
// What each table must have.
static const char *const needed[MEASURED_TABLES][NEEDED_MAX] = {
    { "gpu", "dtype", "m", "n", "k", "time_us", "lib", "kind", "provenance" },
    { "gpu", "impl", "dtype", "pass", "causal", "batch", "seqlen", "heads", "head_dim", "time_ms",
      "provenance" },
    { "gpu", "op", "pass", "dtype", "bytes", "time_us", "impl", "provenance" },
};

typedef struct reading { // of one row after the other
    arena *a;
    csv_reader *csv;
    kernel_table_kind table;
    const csv_field *row;
    measured_kernel *out;
} reading;

// ---- columns

// The columns that a table lacks, joined; "" when none is missing.
static const char *lacking(arena *a, const csv_reader *csv, kernel_table_kind table, uint32_t *count)
{
    const char *list = "";
    uint32_t column;
    *count = 0;
    for (uint32_t i = 0; i < NEEDED_MAX && needed[table][i]; i++)
        if (!csv_find_column(csv, needed[table][i], &column)) {
            list = arena_format(a, "%s%s%s", list, *count ? ", " : "", needed[table][i]);
            ++*count;
        }
    return list;
}

static bool find_table(reading *r, sim_error *error)
{
    uint32_t least = UINT32_MAX;
    const char *missing = "";
    for (int t = 0; t < MEASURED_TABLES; t++) {
        uint32_t count;
        const char *list = lacking(r->a, r->csv, (kernel_table_kind)t, &count);
        if (count >= least) continue;
        least = count;
        missing = list;
        r->table = (kernel_table_kind)t;
    }
    if (least == 0) return true;
    sim_fail(error, SIM_EXIT_INPUT, &csv_column(r->csv, 0)->place,
             "these are not the columns of gemm.csv, attention.csv or elementwise.csv of measured kernels");
    return sim_hint(error, "nearest is %s.csv, of which it lacks %s", kernel_table_words[r->table], missing);
}

// "" also where a table lacks a column that it need not have.
static const char *field(const reading *r, const char *name)
{
    uint32_t column;
    return csv_find_column(r->csv, name, &column) ? r->row[column].text : "";
}

// ---- numbers

static bool number(reading *r, const char *name, double *out)
{
    const char *text = field(r, name);
    char *end;
    errno = 0;
    *out = strtod(text, &end);
    if (*text && !*end && errno == 0 && isfinite(*out)) return true;
    char shown[WORDS_SHOWN_SIZE];
    if (*text)
        r->out->unknown = arena_format(r->a, "%s \"%s\" is no number", name, words_show(shown, text));
    else
        r->out->unknown = arena_format(r->a, "no value of %s was published", name);
    return false;
}

static bool count(reading *r, const char *name, uint64_t *out)
{
    double value;
    if (!number(r, name, &value)) return false;
    if (!(value >= 1.0 && value <= COUNT_MOST && value == floor(value))) {
        r->out->unknown = arena_format(r->a, "%s %s is no whole number from 1 to %.0f", name, field(r, name),
                                       COUNT_MOST);
        return false;
    }
    *out = (uint64_t)value;
    return true;
}

static bool time_of(reading *r, const char *name, double unit_s)
{
    double value;
    if (!number(r, name, &value)) return false;
    if (value > 0.0 && value * unit_s <= TIME_MOST_S) {
        r->out->time_s = value * unit_s;
        return true;
    }
    r->out->unknown = value > 0.0
                          ? arena_format(r->a, "%s %s is longer than any kernel", name, field(r, name))
                          : arena_format(r->a, "%s is not above zero", name);
    return false;
}

static bool unknown(reading *r, const char *why)
{
    r->out->unknown = why;
    return false;
}

// Of a column that may be empty.
static bool one_of(reading *r, const char *name, const char *const *words)
{
    char shown[WORDS_SHOWN_SIZE], listed[80];
    uint32_t count = 0;
    const char *text = field(r, name);
    for (; words[count]; count++)
        if (strcmp(words[count], text) == 0) return true;
    if (!*text) return true;
    r->out->unknown = arena_format(r->a, "%s \"%s\" is none of %s", name, words_show(shown, text),
                                   words_list(listed, sizeof listed, words, count, count));
    return false;
}

static const char *const accumulates_words[] = { "0", "1", NULL };
static const char *const result_words[] = { "fp16", "bf16", "fp32", NULL };

// ---- rows of each table

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool read_gemm(reading *r)
{
    measured_kernel *out = r->out;
    uint64_t groups = 1;
    out->what = field(r, "kind");
    if (starts(out->what, "grouped") || starts(out->what, "moe"))
        return unknown(r, "grouped products are not modelled in this version");
    if (starts(out->what, "best-of-kernels"))
        return unknown(r, "a choice over many kernels, not a library's");
    if (*field(r, "groups") && !count(r, "groups", &groups)) return false;
    if (!one_of(r, "accumulate", accumulates_words) || !one_of(r, "out_dtype", result_words)) return false;
    const bool accumulates = strcmp(field(r, "accumulate"), "1") == 0;
    const bool fp32 = strcmp(field(r, "out_dtype"), "fp32") == 0;
    out->batch = groups;
    out->quantises = strstr(field(r, "notes"), "includes") && strstr(field(r, "notes"), "quantis");
    out->result_bytes = accumulates ? 8.0
                        : fp32      ? 4.0
                                    : 2.0; // sums are fp32, and read before they are written
    return count(r, "m", &out->m) && count(r, "n", &out->n) && count(r, "k", &out->k) &&
           time_of(r, "time_us", 1e-6);
}

static bool read_attention(reading *r)
{
    measured_kernel *out = r->out;
    uint64_t batch, heads;
    const char *pass = field(r, "pass"), *causal = field(r, "causal");
    out->what = pass;
    if (strcmp(pass, "fwd") != 0 && strcmp(pass, "bwd") != 0 && strcmp(pass, "fwd+bwd") != 0)
        return unknown(r, "neither fwd, bwd nor fwd+bwd");
    out->pass = pass[0] == 'b' ? PASS_ONLY_BACKWARD : pass[3] ? PASS_BOTH : PASS_ONLY_FORWARD;
    if (strcmp(causal, "True") != 0 && strcmp(causal, "False") != 0)
        return unknown(r, "no mask was published");
    out->full_mask = causal[0] == 'F';
    if (*field(r, "window")) return unknown(r, "windows are not modelled in this version");
    if (!count(r, "batch", &batch) || !count(r, "heads", &heads) || !count(r, "seqlen", &out->m) ||
        !count(r, "head_dim", &out->k) || !time_of(r, "time_ms", 1e-3))
        return false;
    out->batch = batch * heads; // no more than a square of the greatest count
    out->n = out->m;
    out->value_size = out->k;
    return !*field(r, "head_dim_v") || count(r, "head_dim_v", &out->value_size);
}

static bool read_elementwise(reading *r)
{
    measured_kernel *out = r->out;
    const char *pass = field(r, "pass");
    out->what = *pass ? arena_format(r->a, "%s %s", field(r, "op"), pass) : arena_text(r->a, field(r, "op"));
    if (!number(r, "bytes", &out->bytes)) return false;
    if (out->bytes > BYTES_MOST) return unknown(r, "it moves more bytes than any kernel");
    return out->bytes > 0.0 ? time_of(r, "time_us", 1e-6) : unknown(r, "it moves no bytes");
}

// "github:owner/repo@commit:path" -> "owner/repo"; "https://github.com/owner/repo/pull/1" -> "owner/repo/pull/1".
static const char *origin_of(arena *a, const char *provenance)
{
    static const char *const prefixes[] = { "github:", "https://github.com/", "https://www.github.com/",
                                            "https://" };
    for (size_t i = 0; i < ARRAY_COUNT(prefixes); i++)
        if (starts(provenance, prefixes[i])) {
            provenance += strlen(prefixes[i]);
            break;
        }
    return arena_text_n(a, provenance, strcspn(provenance, "@"));
}

static const char *source_of(const reading *r)
{
    const char *program = field(r, r->table == MEASURED_GEMM ? "lib" : "impl");
    size_t length = strcspn(program, "(");
    while (length > 0 && program[length - 1] == ' ')
        length--;
    const char *origin = origin_of(r->a, field(r, "provenance"));
    if (length == 0) return *origin ? origin : "not stated";
    return *origin ? arena_format(r->a, "%s, %.*s", origin, (int)length, program)
                   : arena_text_n(r->a, program, length);
}

static void read_row(reading *r)
{
    measured_kernel *out = r->out;
    out->table = r->table;
    out->line = r->row[0].place.line;
    out->batch = 1;
    out->gpu = field(r, "gpu");
    out->dtype = field(r, "dtype");
    out->source = source_of(r);
    out->what = "";
    switch (r->table) {
    case MEASURED_GEMM: read_gemm(r); break;
    case MEASURED_ATTENTION: read_attention(r); break;
    case MEASURED_ELEMENTWISE: read_elementwise(r); break;
    case MEASURED_TABLES: SIM_ASSERT(r->table < MEASURED_TABLES);
    }
}

bool kernel_rows_read(arena *a, const char *path, measured_kernel_array *out, sim_error *error)
{
    csv_reader *csv = csv_open(a, path, NULL, error);
    return csv && kernel_rows_take(a, csv, out, error);
}

bool kernel_rows_take(arena *a, csv_reader *csv, measured_kernel_array *out, sim_error *error)
{
    reading r = { .a = a, .csv = csv };
    if (!find_table(&r, error)) return false;
    while ((r.row = csv_next(r.csv, error)) != NULL) {
        r.out = array_push(out, a);
        read_row(&r);
    }
    return error->exit_code == SIM_EXIT_OK;
}

double measured_kernel_flop(const measured_kernel *row)
{
    SIM_ASSERT(row->table != MEASURED_ELEMENTWISE);
    const double pairs = (double)row->batch * (double)row->m * (double)row->n;
    if (row->table == MEASURED_GEMM) return 2.0 * pairs * (double)row->k;
    const double both = (double)row->k + (double)row->value_size;
    const double times = row->pass == PASS_ONLY_FORWARD ? 2.0 : row->pass == PASS_ONLY_BACKWARD ? 5.0 : 7.0;
    return times * both * pairs * (row->full_mask ? 1.0 : 0.5);
}
