// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/hardware/attention_rate.h"
#include "sim/check.h"
#include <math.h>

static const bind_points *points_of(const attention_def *rates, bool backward)
{
    return backward ? &rates->backward : &rates->forward;
}

static double distance(uint32_t x, uint32_t y)
{
    return fabs(log((double)x / (double)y));
}

static const attention_def *nearest(const kernel_set_def *set, const attention_query *q, bool full_mask)
{
    const attention_def *best = NULL;
    for (uint32_t i = 0; i < set->attention.count; i++) {
        const attention_def *rates = &set->attention.items[i];
        if (rates->program != (int)q->program || rates->full_mask != full_mask ||
            points_of(rates, q->backward)->count == 0)
            continue;
        const double difference =
            best ? distance(rates->head_size, q->head_size) - distance(best->head_size, q->head_size) : -1.0;
        if (difference < 0.0 || (difference == 0.0 && rates->head_size > best->head_size)) best = rates;
    }
    return best;
}

static double curve_at(const bind_points *curve, double x)
{
    const uint32_t last = curve->count - 1;
    if (x <= curve->x[0]) return curve->y[0] * sqrt(x / curve->x[0]);
    if (x >= curve->x[last]) return curve->y[last];
    uint32_t i = 1;
    while (x > curve->x[i])
        i++;
    const double u = log2(x / curve->x[i - 1]) / log2(curve->x[i] / curve->x[i - 1]);
    return curve->y[i - 1] + u * (curve->y[i] - curve->y[i - 1]);
}

static double head_share(uint32_t head_size)
{
    const double q = 18.6, padded = 32.0 * ceil((double)head_size / 32.0);
    return (double)head_size / (padded + q);
}

double attention_share(const kernel_set_def *set, const attention_query *query)
{
    attention_query known = *query, *q = &known;
    SIM_ASSERT(q->length > 0.0 && q->head_size > 0);
    if (q->program == PROGRAM_FLASH) q->program = (attention_program)set->flash;
    const attention_def *rates = nearest(set, q, q->full_mask);
    if (!rates) rates = nearest(set, q, !q->full_mask);
    if (!rates) return 0.0;
    const double share = curve_at(points_of(rates, q->backward), q->length) * head_share(q->head_size) /
                         head_share(rates->head_size);
    const double full = share < 1.0 ? share : 1.0;
    return q->blocks > 0.0 ? full * attention_fill_share(set->attention_fill, q->blocks, q->length) : full;
}

double attention_blocks(uint64_t sequences_x_heads, uint64_t length, uint32_t multiprocessors)
{
    return (double)sequences_x_heads * ceil((double)length / 128.0) / (double)multiprocessors;
}

double attention_fill_share(double fill, double blocks, double length)
{
    return blocks / (blocks + fill * sqrt(2048.0 / length));
}
