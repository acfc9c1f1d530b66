// SPDX-License-Identifier: GPL-3.0-or-later
#include "validate/fit_attention.h"
#include "validate/digits.h"

enum { OCTAVES = 16 };

typedef struct fit {
    arena *a;
    const attention_rows *rows;
    double peak_flops;
    uint32_t multiprocessors, sources;
} fit;

typedef struct bin { // sums over the rows of one source and octave
    double log_length, log_share;
    uint32_t count;
} bin;

// Of one curve: sources x octaves.
static bin *make_bins(const fit *f)
{
    return arena_array(f->a, bin, (size_t)f->sources * OCTAVES);
}

static void add(const fit *f, bin *bins, const attention_row *r, double flop, double time_s)
{
    const measured_kernel *row = r->row;
    const double blocks = attention_blocks(row->batch, row->m, f->multiprocessors);
    const double share = flop / (time_s * f->peak_flops) /
                         attention_fill_share(FIT_ATTENTION_FILL, blocks, (double)row->m);
    const double octave = round(log2((double)row->m / 512.0));
    if (octave < 0.0 || octave >= OCTAVES || !(share > 0.0)) return;
    bin *b = &bins[r->source * OCTAVES + (uint32_t)octave];
    b->log_length += log((double)row->m);
    b->log_share += log(share);
    b->count++;
}

static bool same_table(const attention_row *x, const attention_row *y)
{
    return x->program == y->program && x->row->k == y->row->k && x->row->full_mask == y->row->full_mask;
}

static bool same_shape(const attention_row *x, const attention_row *y)
{
    return x->source == y->source && same_table(x, y) && x->row->batch == y->row->batch &&
           x->row->m == y->row->m;
}

// The forward row of a row of both passes; NULL: none was published.
static const measured_kernel *forward_of(const fit *f, const attention_row *both)
{
    for (uint32_t i = 0; i < f->rows->count; i++) {
        const attention_row *r = &f->rows->items[i];
        if (r->row->pass == PASS_ONLY_FORWARD && same_shape(r, both)) return r->row;
    }
    return NULL;
}

static void add_both(const fit *f, bin *forward, bin *backward, const attention_row *r)
{
    const double flop = measured_kernel_flop(r->row), time_s = r->row->time_s;
    const measured_kernel *first = forward_of(f, r);
    if (first && time_s > first->time_s) {
        add(f, backward, r, flop * 5.0 / 7.0, time_s - first->time_s);
        return;
    }
    add(f, forward, r, flop * 2.0 / 7.0, time_s * 2.0 / 7.0);
    add(f, backward, r, flop * 5.0 / 7.0, time_s * 5.0 / 7.0);
}

static bind_points curve_of(const fit *f, const bin *bins)
{
    bind_points curve = { .x = arena_array(f->a, double, OCTAVES), .y = arena_array(f->a, double, OCTAVES) };
    for (uint32_t o = 0; o < OCTAVES; o++) {
        double log_length = 0.0, log_share = 0.0, sources = 0.0;
        for (uint32_t s = 0; s < f->sources; s++) {
            const bin *b = &bins[s * OCTAVES + o];
            if (b->count == 0) continue;
            log_length += b->log_length / b->count;
            log_share += b->log_share / b->count;
            sources += 1.0;
        }
        if (!(sources > 0.0)) continue;
        curve.x[curve.count] = round(exp(log_length / sources));
        curve.y[curve.count++] = fmin(digits_six(exp(log_share / sources)), 1.0);
    }
    return curve;
}

// The rows of the table of row first, which are marked as done.
static attention_def fit_table(const fit *f, uint32_t first, bool *done)
{
    const attention_row *rows = f->rows->items;
    bin *forward = make_bins(f), *backward = make_bins(f);
    for (uint32_t i = first; i < f->rows->count; i++) {
        const measured_kernel *row = rows[i].row;
        if (done[i] || !same_table(&rows[i], &rows[first])) continue;
        done[i] = true;
        if (row->pass == PASS_BOTH)
            add_both(f, forward, backward, &rows[i]);
        else
            add(f, row->pass == PASS_ONLY_BACKWARD ? backward : forward, &rows[i], measured_kernel_flop(row),
                row->time_s);
    }
    return (attention_def){ .program = rows[first].program,
                            .head_size = (uint32_t)rows[first].row->k,
                            .full_mask = rows[first].row->full_mask,
                            .forward = curve_of(f, forward),
                            .backward = curve_of(f, backward) };
}

void fit_attention(arena *a, const attention_rows *rows, double peak_flops, uint32_t multiprocessors,
                   attention_array *out)
{
    fit f = { .a = a, .rows = rows, .peak_flops = peak_flops, .multiprocessors = multiprocessors };
    bool *done = arena_array(a, bool, rows->count + 1);
    for (uint32_t i = 0; i < rows->count; i++)
        if (rows->items[i].source >= f.sources) f.sources = rows->items[i].source + 1;
    for (uint32_t i = 0; i < rows->count; i++) {
        if (done[i]) continue;
        const attention_def table = fit_table(&f, i, done);
        if (table.forward.count > 0) *array_push(out, a) = table;
    }
}
