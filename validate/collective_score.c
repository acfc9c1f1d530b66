// SPDX-License-Identifier: GPL-3.0-or-later
#include "validate/collective_score.h"
#include "sim/stats.h"
#include <math.h>

const char *const collective_class_words[] = { "ampere-node",    "hopper-node", "grace-hopper-node",
                                               "blackwell-node", "rack",        "infiniband-2",
                                               "infiniband-3",   "roce",        "slingshot",
                                               "cloud",          NULL };
static const char *const class_titles[COLLECTIVE_CLASSES] = {
    [CLASS_AMPERE_NODE] = "one node, A100",
    [CLASS_HOPPER_NODE] = "one node, Hopper",
    [CLASS_GRACE_HOPPER_NODE] = "one node, GH200",
    [CLASS_BLACKWELL_NODE] = "one node, Blackwell",
    [CLASS_RACK] = "NVL72 racks",
    [CLASS_INFINIBAND_2] = "InfiniBand, 2 nodes",
    [CLASS_INFINIBAND_3] = "InfiniBand, 3 and more",
    [CLASS_ROCE] = "RoCE",
    [CLASS_SLINGSHOT] = "Slingshot",
    [CLASS_CLOUD] = "EFA, TCPXO",
};
const char *const size_band_words[] = { "floor", "low", "middle", "upper", "plateau", NULL };
const char *const point_status_words[] = { "scored", "unknown", "fault", NULL };
const char *const point_role_words[] = { "all", "fit", "held back", NULL };

const char *collective_class_title(collective_class which)
{
    SIM_ASSERT(which >= 0 && which < COLLECTIVE_CLASSES);
    return class_titles[which];
}

size_band size_band_of(uint64_t bytes)
{
    static const uint64_t KiB = 1024, MiB = 1024 * 1024;
    return bytes <= 32 * KiB   ? BAND_FLOOR
           : bytes < 64 * KiB  ? BAND_LOW
           : bytes <= 64 * MiB ? BAND_MIDDLE
           : bytes < 256 * MiB ? BAND_UPPER
                               : BAND_PLATEAU;
}

double collective_point_error(const collective_point *p)
{
    return p->status == POINT_SCORED ? log(p->simulated_s / p->measured_s) : (double)NAN;
}

// ---- how near

const double share_factors[SHARES] = { 1.07, 1.15, 1.3 };

const band_aim band_aims[BAND_AIMS] = {
    { .band = BAND_FLOOR, .share = { 0, 0.9, 0 } },
    { .band = BAND_MIDDLE, .share = { 0, 0, 0.8 }, .mean = 0.15 },
    { .band = BAND_PLATEAU, .share = { 0.8, 0.95, 0 } },
};

static bool is_chosen(const collective_point *p, const point_choice *c)
{
    return p->status == POINT_SCORED && (c->class < 0 || p->class == c->class) &&
           (c->band < 0 || (int)size_band_of(p->bytes) == c->band) &&
           (!c->collective || strcmp(p->collective, c->collective) == 0) &&
           (c->role == ROLE_ALL || p->is_fit == (c->role == ROLE_FIT_ONLY));
}

point_score collective_score(arena *a, const collective_point_array *points, const point_choice *choice)
{
    point_score s = { 0 };
    stats_running absolute = { 0 }, signed_ = { 0 };
    uint32_t within[SHARES] = { 0 };
    double *errors = arena_array(a, double, points->count + 1);
    for (uint32_t i = 0; i < points->count; i++) {
        if (!is_chosen(&points->items[i], choice)) continue;
        const double error = collective_point_error(&points->items[i]);
        stats_add(&absolute, fabs(error));
        stats_add(&signed_, error);
        errors[s.n++] = fabs(error);
        for (int k = 0; k < SHARES; k++)
            within[k] += fabs(error) <= log(share_factors[k]);
    }
    s.mean = s.n ? absolute.mean : (double)NAN;
    s.bias = s.n ? signed_.mean : (double)NAN;
    s.median = stats_quantile(errors, s.n, 0.5);
    for (int k = 0; k < SHARES; k++)
        s.within[k] = s.n ? (double)within[k] / s.n : (double)NAN;
    return s;
}

bool band_aim_reached(const band_aim *aim, const point_score *score)
{
    for (int k = 0; k < SHARES; k++)
        if (score->within[k] < aim->share[k]) return false;
    return aim->mean <= 0.0 || score->mean <= aim->mean;
}

double band_miss_factor(size_band band)
{
    return band == BAND_FLOOR || band == BAND_PLATEAU ? share_factors[1] : share_factors[2];
}

// ---- which algorithm is faster

static bool is_beside(const collective_point *left, const collective_point *right)
{
    return *left->compare && strcmp(left->compare, right->compare) == 0 && left->ranks == right->ranks &&
           left->bytes == right->bytes && strcmp(left->collective, right->collective) == 0;
}

static void judge_pair(arena *a, const collective_point_array *points, uint32_t left, uint32_t right,
                       order_score *s, order_pair_array *wrong)
{
    const collective_point *l = &points->items[left], *r = &points->items[right];
    if (strcmp(l->algorithm, r->algorithm) == 0 || l->status == POINT_FAULT || r->status == POINT_FAULT)
        return;
    if (!(fabs(log(l->measured_s / r->measured_s)) >= ORDER_NOISE)) return; // nor what was not measured
    if (l->status != POINT_SCORED || r->status != POINT_SCORED) {
        s->not_played++;
        return;
    }
    const bool is_left_faster = l->measured_s < r->measured_s;
    s->pairs++;
    if (is_left_faster ? l->simulated_s < r->simulated_s : r->simulated_s < l->simulated_s)
        s->pairs_right++;
    else if (wrong)
        *array_push(wrong, a) = is_left_faster ? (order_pair){ left, right } : (order_pair){ right, left };
}

// The cell of its first point, if at least two algorithms of it are played.
static void judge_cell(const collective_point_array *points, uint32_t first, order_score *s)
{
    const collective_point *start = &points->items[first], *winner = start;
    double best_s = start->measured_s;
    uint32_t algorithms = 1;
    for (uint32_t i = 0; i < first; i++)
        if (points->items[i].status == POINT_SCORED && is_beside(&points->items[i], start)) return;
    for (uint32_t i = first + 1; i < points->count; i++) {
        const collective_point *p = &points->items[i];
        if (p->status != POINT_SCORED || !is_beside(start, p)) continue;
        algorithms += strcmp(p->algorithm, start->algorithm) != 0;
        if (p->simulated_s < winner->simulated_s) winner = p;
        if (p->measured_s < best_s) best_s = p->measured_s;
    }
    if (algorithms < 2) return;
    s->cells++;
    s->cells_right += winner->measured_s <= best_s * (1.0 + ORDER_NOISE);
}

order_score collective_order(arena *a, const collective_point_array *points, order_pair_array *wrong)
{
    order_score s = { 0 };
    for (uint32_t i = 0; i < points->count; i++) {
        if (!*points->items[i].compare) continue;
        for (uint32_t k = i + 1; k < points->count; k++)
            if (is_beside(&points->items[i], &points->items[k])) judge_pair(a, points, i, k, &s, wrong);
        if (points->items[i].status == POINT_SCORED) judge_cell(points, i, &s);
    }
    return s;
}
