// SPDX-License-Identifier: GPL-3.0-or-later
#include "validate/fit_attention.h"
#include "validate/digits.h"

enum { OCTAVES = 16, SOURCES_MAX = 16 };

typedef struct fit {
    arena *a;
    const attention_rows *rows;
    double peak_flops;
    uint32_t multiprocessors;
} fit;

typedef struct bin { // of one source
    double log_length, log_share;
    uint32_t count;
} bin;
typedef struct curve_bins {
    bin of[SOURCES_MAX][OCTAVES];
} curve_bins;

static void add(const fit *f, curve_bins *bins, const attention_row *r, double flop, double time_s)
{
    const measured_kernel *row = r->row;
    const double blocks = attention_blocks(row->batch, row->m, f->multiprocessors);
    const double share = flop / (time_s * f->peak_flops) /
                         attention_fill_share(FIT_ATTENTION_FILL, blocks, (double)row->m);
    const double octave = round(log2((double)row->m / 512.0));
    if (octave < 0.0 || octave >= OCTAVES || !(share > 0.0)) return;
    SIM_ASSERT(r->source < SOURCES_MAX);
    bin *b = &bins->of[r->source][(int)octave];
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

static void add_both(const fit *f, curve_bins *forward, curve_bins *backward, const attention_row *r)
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

static bind_points curve_of(const fit *f, const curve_bins *bins)
{
    bind_points curve = { .x = arena_array(f->a, double, OCTAVES), .y = arena_array(f->a, double, OCTAVES) };
    for (uint32_t o = 0; o < OCTAVES; o++) {
        double log_length = 0.0, log_share = 0.0, sources = 0.0;
        for (uint32_t s = 0; s < SOURCES_MAX; s++) {
            const bin *b = &bins->of[s][o];
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

void fit_attention(arena *a, const attention_rows *rows, double peak_flops, uint32_t multiprocessors,
                   attention_array *out)
{
    const fit f = { .a = a, .rows = rows, .peak_flops = peak_flops, .multiprocessors = multiprocessors };
    curve_bins *bins = arena_array(a, curve_bins, 2);
    bool *done = arena_array(a, bool, rows->count + 1);
    for (uint32_t i = 0; i < rows->count; i++) {
        const attention_row *first = &rows->items[i];
        if (done[i]) continue;
        memset(bins, 0, 2 * sizeof *bins);
        for (uint32_t j = i; j < rows->count; j++) {
            const attention_row *r = &rows->items[j];
            if (done[j] || !same_table(r, first)) continue;
            done[j] = true;
            if (r->row->pass == PASS_BOTH)
                add_both(&f, &bins[0], &bins[1], r);
            else
                add(&f, &bins[r->row->pass == PASS_ONLY_BACKWARD], r, measured_kernel_flop(r->row),
                    r->row->time_s);
        }
        const attention_def table = { .program = first->program,
                                      .head_size = (uint32_t)first->row->k,
                                      .full_mask = first->row->full_mask,
                                      .forward = curve_of(&f, &bins[0]),
                                      .backward = curve_of(&f, &bins[1]) };
        if (table.forward.count > 0) *array_push(out, a) = table;
    }
}
