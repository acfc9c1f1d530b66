// SPDX-License-Identifier: GPL-3.0-or-later
#include "validate/collective_suite.h"
#include "models/cluster_named.h"
#include "models/collective_bench.h"
#include "sim/map.h"
#include "sim/os.h"
#include "sim/stats.h"
#include "sim/words.h"
#include "sim/workers.h"
#include "validate/folder.h"
#include "validate/measured_table.h"
#include <inttypes.h>
#include <math.h>

enum { PLAY_SIZES_MAX = 64 };

typedef struct series { // runs that count as one: mostly one run
    uint32_t case_of;   // its first run
    const char *name;
    bool is_together;
} series;
ARRAY_OF(series, series_array);

typedef struct sample { // what one run says of a size
    uint32_t series, run;
    uint64_t bytes;
    double least_s; // NAN: nothing is published
} sample;
ARRAY_OF(sample, sample_array);

typedef struct play { // sizes of one collective on one cluster
    uint32_t case_of;
    uint32_t count;
    uint64_t bytes[PLAY_SIZES_MAX];
    uint32_t points[PLAY_SIZES_MAX];
} play;
ARRAY_OF(play, play_array);

typedef struct play_result {       // plain: it comes from another process
    double time_s[PLAY_SIZES_MAX]; // NAN: not played
    char reason[400];
} play_result;

ARRAY_OF(uint32_t, index_list);

typedef struct builder {
    arena *a;
    const collective_suite_options *options;
    const char *folder;
    collective_rows rows;
    rule_array rules;
    kernel_split split;
    collective_case *cases; // by run
    bool *is_fit;           // by run
    uint32_t *series_of;    // by run
    series_array series;
    sample_array samples;
    index_list case_of; // by point
    play_array plays;
    collective_suite *out;
    sim_error *error;
} builder;

// ---- what is read

// Later ones win: clusters first, then what benchmarks add, then what is not played and why.
static const char *const rule_files[] = { "collectives/systems.yaml", "collectives/benchmarks.yaml",
                                          "collectives/limits.yaml" };

static split_role role_of(const kernel_split *split, const char *id)
{
    for (uint32_t i = 0; i < split->rows.count; i++)
        if (strcmp(split->rows.items[i].table, "collectives") == 0 &&
            rule_matches(split->rows.items[i].source, id))
            return (split_role)split->rows.items[i].role;
    return ROLE_HELD;
}

static bool read_all(builder *b)
{
    const collective_suite_options *o = b->options;
    b->folder = validate_folder(b->a, b->error);
    if (!b->folder) return false;
    const char *measured = o->measured ? o->measured : arena_format(b->a, "%s/measured", b->folder);
    const char *data = o->data ? o->data : arena_format(b->a, "%s/collectives.csv", measured);
    for (size_t i = 0; i < ARRAY_COUNT(rule_files); i++)
        if (!rules_read(b->a, arena_format(b->a, "%s/%s", b->folder, rule_files[i]),
                        &collective_rule_language, &b->rules, b->error))
            return false;
    if (!collective_rows_read(b->a, data, &b->rows, b->error) ||
        !kernel_split_read(b->a, measured, &b->split, b->error))
        return false;
    const bool is_whole = !o->data && !o->source; // the prototype's figures are of all published runs
    return !is_whole || collective_prototype_read(b->a, b->folder, &b->out->prototype, b->error);
}

static bool is_chosen(const builder *b, const measured_run *run)
{
    const char *wanted = b->options->source;
    return !wanted || rule_matches(wanted, run->fields[RUN_SOURCE]) ||
           rule_matches(wanted, run->fields[RUN_ID]);
}

// A text with which several runs or sources begin is a pattern that lacks its end.
static bool hint_at_pattern(const builder *b)
{
    const char *wanted = b->options->source, *pattern = arena_format(b->a, "%s*", wanted);
    uint32_t runs = 0;
    for (uint32_t i = 0; i < b->rows.runs.count; i++) {
        const measured_run *run = &b->rows.runs.items[i];
        runs += rule_matches(pattern, run->fields[RUN_ID]) || rule_matches(pattern, run->fields[RUN_SOURCE]);
    }
    if (runs > 1) sim_hint(b->error, "--source '%s': %u runs begin so", pattern, runs);
    return runs > 1;
}

static bool check_choice(builder *b)
{
    char shown[WORDS_SHOWN_SIZE];
    text_list known = { 0 };
    for (uint32_t i = 0; i < b->rows.runs.count; i++) {
        if (is_chosen(b, &b->rows.runs.items[i])) return true;
        *array_push(&known, b->a) = b->rows.runs.items[i].fields[RUN_ID];
    }
    for (uint32_t i = 0; i < b->rows.runs.count; i++)
        *array_push(&known, b->a) = b->rows.runs.items[i].fields[RUN_SOURCE];
    if (!b->options->source) return true; // an empty table
    sim_fail(b->error, SIM_EXIT_INPUT, NULL, "no run has the id or the source \"%s\"",
             words_show(shown, b->options->source));
    if (hint_at_pattern(b)) return false;
    return words_hint_holders(b->error, b->options->source, known.items, known.count, 6,
                              "runs and their sources");
}

// ---- what was measured

static void find_series(builder *b)
{
    text_map *named = text_map_create(b->a);
    const uint32_t runs = b->rows.runs.count;
    b->cases = arena_array(b->a, collective_case, runs + 1);
    b->is_fit = arena_array(b->a, bool, runs + 1);
    b->series_of = arena_array(b->a, uint32_t, runs + 1);
    for (uint32_t i = 0; i < runs; i++) {
        const measured_run *run = &b->rows.runs.items[i];
        collective_case *c = &b->cases[i];
        *c = collective_case_of(b->a, run, &b->rules);
        b->is_fit[i] = role_of(&b->split, run->fields[RUN_ID]) == ROLE_FIT;
        const char *name = c->together ? arena_format(b->a, "%s-N%u", c->together, run->nodes)
                                       : run->fields[RUN_ID];
        const char *key = arena_format(b->a, "%s %s", run->fields[RUN_COLLECTIVE], name);
        if (text_map_get(named, key, &b->series_of[i])) continue;
        b->series_of[i] = b->series.count;
        text_map_set(named, key, b->series.count);
        *array_push(&b->series, b->a) = (series){ .case_of = i, .name = name, .is_together = c->together };
    }
}

static void add_point(builder *b, uint32_t run, uint64_t bytes, double measured_s, const char *name)
{
    const collective_case *c = &b->cases[run];
    const bool is_small = bytes < c->sizes_from;
    *array_push(&b->case_of, b->a) = run;
    collective_point *p = array_push(&b->out->points, b->a);
    *p = (collective_point){
        .run = name,
        .collective = c->run->fields[RUN_COLLECTIVE],
        .algorithm = c->algorithm,
        .compare = c->compare,
        .class = c->class,
        .is_fit = b->is_fit[run],
        .ranks = c->run->ranks,
        .bytes = bytes,
        .measured_s = measured_s,
        .simulated_s = (double)NAN,
    };
    p->reason = c->fault            ? c->fault
                : c->unknown        ? c->unknown
                : bytes == 0        ? "nothing is sent"
                : isnan(measured_s) ? "no time is published"
                : is_small          ? c->sizes_reason
                                    : "";
    p->status = c->fault ? POINT_FAULT : *p->reason ? POINT_UNKNOWN : POINT_SCORED;
}

static void take_samples(builder *b)
{
    text_map *known = text_map_create(b->a);
    for (uint32_t i = 0; i < b->rows.sizes.count; i++) {
        const measured_size *size = &b->rows.sizes.items[i];
        const measured_run *run = &b->rows.runs.items[size->run];
        const char *key = arena_format(b->a, "%u %" PRIu64, size->run, size->bytes);
        uint32_t at;
        if (!is_chosen(b, run)) continue;
        if (size->wrong) {
            add_point(b, size->run, size->bytes, size->time_s, run->fields[RUN_ID]);
            collective_point *p = &b->out->points.items[b->out->points.count - 1];
            p->status = POINT_FAULT;
            p->reason = "the test itself found wrong results at this size";
        } else if (text_map_get(known, key, &at)) {
            b->samples.items[at].least_s = fmin(b->samples.items[at].least_s,
                                                size->time_s); // a number beats NAN
        } else {
            text_map_set(known, key, b->samples.count);
            *array_push(&b->samples, b->a) = (sample){ .series = b->series_of[size->run],
                                                       .run = size->run,
                                                       .bytes = size->bytes,
                                                       .least_s = size->time_s };
        }
    }
}

// All times of a series at a size; the first sample of them adds the point.
static uint32_t times_of(const builder *b, uint32_t first, double *times)
{
    const sample *s = &b->samples.items[first];
    uint32_t count = 0;
    for (uint32_t i = first; i < b->samples.count; i++) {
        const sample *other = &b->samples.items[i];
        if (other->series == s->series && other->bytes == s->bytes && !isnan(other->least_s))
            times[count++] = other->least_s;
    }
    return count;
}

static void make_points(builder *b)
{
    text_map *known = text_map_create(b->a);
    double *times = arena_array(b->a, double, b->samples.count + 1);
    for (uint32_t i = 0; i < b->samples.count; i++) {
        const sample *s = &b->samples.items[i];
        const series *of = &b->series.items[s->series];
        const char *key = arena_format(b->a, "%u %" PRIu64, s->series, s->bytes);
        uint32_t seen;
        if (text_map_get(known, key, &seen)) continue;
        text_map_set(known, key, i);
        const uint32_t count = of->is_together ? times_of(b, i, times) : 1;
        const double measured_s = of->is_together ? stats_quantile(times, count, 0.5) : s->least_s;
        add_point(b, s->run, s->bytes, measured_s, of->name);
    }
}

enum { SPREAD_FROM = 16 << 20, SPREAD_LEAST = 3 }; // bytes; repeats

// Time over the best at the same size.
static uint32_t slowdowns_of(const builder *b, uint32_t which, double *slowdowns, double *times)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->samples.count; i++) {
        const sample *s = &b->samples.items[i];
        bool is_first = s->series == which && s->bytes >= SPREAD_FROM;
        for (uint32_t k = 0; k < i && is_first; k++)
            is_first = b->samples.items[k].series != which || b->samples.items[k].bytes != s->bytes;
        const uint32_t count = is_first ? times_of(b, i, times) : 0;
        double best = INFINITY;
        for (uint32_t k = 0; k < count; k++)
            best = fmin(best, times[k]);
        for (uint32_t k = 0; k < count && count >= SPREAD_LEAST; k++)
            slowdowns[n++] = times[k] / best;
    }
    return n;
}

static void find_spreads(builder *b)
{
    double *all = arena_array(b->a, double, b->samples.count + 1),
           *times = arena_array(b->a, double, b->samples.count + 1);
    for (uint32_t i = 0; i < b->series.count; i++) {
        const uint32_t n = b->series.items[i].is_together ? slowdowns_of(b, i, all, times) : 0;
        if (!n) continue;
        *array_push(&b->out->spreads, b->a) = (collective_spread){
            .run = b->series.items[i].name,
            .n = n,
            .median = stats_quantile(all, n, 0.5),
            .upper = stats_quantile(all, n, 0.75),
            .ninth = stats_quantile(all, n, 0.9),
            .greatest = stats_quantile(all, n, 1.0),
        };
    }
}

// ---- playing

// Points of the same key are sizes of one sweep.
static const char *key_of(const builder *b, const collective_case *c)
{
    const char *key = arena_format(b->a, "%s %u %u %d", c->cluster, c->run->nodes, c->run->per_node,
                                   (int)c->kind);
    for (uint32_t i = 0; i < c->sets.count; i++)
        key = arena_format(b->a, "%s %s", key, c->sets.items[i]);
    return key;
}

static void plan_plays(builder *b)
{
    text_map *known = text_map_create(b->a);
    for (uint32_t i = 0; i < b->out->points.count; i++) {
        const collective_point *p = &b->out->points.items[i];
        uint32_t at;
        if (p->status != POINT_SCORED) continue;
        const char *key = key_of(b, &b->cases[b->case_of.items[i]]);
        if (!text_map_get(known, key, &at) || b->plays.items[at].count == PLAY_SIZES_MAX) {
            at = b->plays.count;
            text_map_set(known, key, at);
            array_push(&b->plays, b->a)->case_of = b->case_of.items[i];
        }
        play *q = &b->plays.items[at];
        q->bytes[q->count] = p->bytes;
        q->points[q->count++] = i;
    }
}

static bool is_interrupted(void *owner)
{
    (void)owner;
    return os_interrupted();
}

collective_bench *collective_suite_bench(arena *a, const char *catalogue_path, const collective_case *c,
                                         scenario *s, sim_error *error)
{
    catalogue parts;
    const cluster_named wanted = {
        .name = c->cluster, .nodes = c->run->nodes, .topology = -1, .called = "rules"
    };
    if (!catalogue_find(a, catalogue_path, &parts, error) ||
        !cluster_named_load(a, &parts, &wanted, &(cluster_named_places){ 0 }, c->sets.items, c->sets.count, s,
                            error) ||
        !scenario_check(s, false, error))
        return NULL;
    if (c->run->per_node > s->cluster.node.gpus) {
        sim_fail(error, SIM_EXIT_INPUT, NULL, "a node \"%s\" has %u GPUs, not %u", c->cluster,
                 s->cluster.node.gpus, c->run->per_node);
        return NULL;
    }
    const collective_bench_options options = { .nodes = c->run->nodes,
                                               .gpus_per_node = c->run->per_node,
                                               .poll = is_interrupted };
    return collective_bench_create(a, s, &options, error);
}

static void play_sizes(const collective_case *c, const play *p, const scenario *s, collective_bench *bench,
                       play_result *out)
{
    for (uint32_t i = 0; i < p->count && !os_interrupted(); i++) {
        const collective_bench_request request = {
            .kind = c->kind,
            .bytes = p->bytes[i],
            .algorithm = scenario_forced_algorithm(s),
            .protocol = scenario_forced_protocol(s),
            .grain = (collective_grain)s->network.grain,
        };
        const collective_bench_obstacle obstacle = collective_bench_refuse(bench, &request);
        collective_bench_result result;
        if (obstacle.why) {
            snprintf(out->reason, sizeof out->reason, "%s", obstacle.why);
            continue;
        }
        collective_bench_play(bench, &request, &result);
        if (!result.cancelled) out->time_s[i] = units_s_from_ps(result.time_ps);
    }
}

static bool play_one(void *owner, uint32_t piece, void *result, sim_error *error)
{
    const builder *b = owner;
    const play *p = &b->plays.items[piece];
    const collective_case *c = &b->cases[p->case_of];
    play_result *out = result;
    arena *a = arena_create("collective");
    scenario *s = arena_new(a, scenario);
    sim_error refusal = { 0 };
    for (uint32_t i = 0; i < PLAY_SIZES_MAX; i++)
        out->time_s[i] = (double)NAN;
    collective_bench *bench = collective_suite_bench(a, b->options->catalogue_path, c, s, &refusal);
    if (bench) play_sizes(c, p, s, bench, out);
    if (refusal.exit_code) snprintf(out->reason, sizeof out->reason, "%.399s", refusal.message);
    arena_destroy(a);
    if (os_interrupted()) return sim_fail(error, SIM_EXIT_INTERRUPTED, NULL, "interrupted");
    if (refusal.exit_code != SIM_EXIT_BUG) return true;
    *error = refusal;
    return false;
}

static void take_result(builder *b, const play *p, const play_result *r)
{
    const char *reason = arena_text(b->a, r->reason);
    for (uint32_t i = 0; i < p->count; i++) {
        collective_point *point = &b->out->points.items[p->points[i]];
        if (isnan(r->time_s[i])) {
            point->status = POINT_UNKNOWN;
            point->reason = reason;
        } else {
            point->simulated_s = collective_case_printed_s(&b->cases[b->case_of.items[p->points[i]]],
                                                           r->time_s[i]);
        }
    }
}

static bool tell_progress(void *owner, uint32_t done, uint32_t count)
{
    const collective_suite_options *o = ((const builder *)owner)->options;
    return !o->progress || o->progress(o->owner, done, count);
}

static bool play_all(builder *b)
{
    const uint32_t count = b->plays.count;
    play_result *results = arena_array(b->a, play_result, count + 1);
    sim_error *errors = arena_array(b->a, sim_error, count + 1);
    if (!workers_run(count, b->options->jobs ? b->options->jobs : 1, play_one, tell_progress, b, results,
                     sizeof *results, errors, b->error))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        if (errors[i].exit_code) {
            *b->error = errors[i];
            return false;
        }
        take_result(b, &b->plays.items[i], &results[i]);
    }
    return true;
}

static bool gather(builder *b)
{
    *b->out = (collective_suite){ 0 };
    if (!read_all(b) || !check_choice(b)) return false;
    find_series(b);
    take_samples(b);
    make_points(b);
    return true;
}

bool collective_suite_gather(arena *a, const collective_suite_options *options, collective_suite *out,
                             const collective_case ***cases, sim_error *error)
{
    builder b = { .a = a, .options = options, .out = out, .error = error };
    if (!gather(&b)) return false;
    *cases = arena_array(a, const collective_case *, out->points.count + 1);
    for (uint32_t i = 0; i < out->points.count; i++)
        (*cases)[i] = &b.cases[b.case_of.items[i]];
    return true;
}

bool collective_suite_play(arena *a, const collective_suite_options *options, collective_suite *out,
                           sim_error *error)
{
    builder b = { .a = a, .options = options, .out = out, .error = error };
    if (!gather(&b)) return false;
    find_spreads(&b);
    plan_plays(&b);
    return play_all(&b);
}

// ---- beside others

compared_row_array collective_suite_compare(arena *a, const collective_point_array *points)
{
    compared_row_array rows = { 0 };
    for (uint32_t i = 0; i < points->count; i++) {
        const collective_point *p = &points->items[i];
        const char *class = p->class < 0 ? "not known" : collective_class_title((collective_class)p->class);
        *array_push(&rows, a) = (compared_row){
            .id = arena_format(a, "%s:%" PRIu64, p->run, p->bytes),
            .source = arena_format(a, "%s; %s", class,
                                   point_role_words[p->is_fit ? ROLE_FIT_ONLY : ROLE_HELD_ONLY]),
            .measured = p->measured_s,
            .simulated = p->simulated_s,
            .constant = (double)NAN,
            .unknown_reason = p->status == POINT_SCORED  ? NULL
                              : p->status == POINT_FAULT ? arena_format(a, "fault: %s", p->reason)
                                                         : p->reason,
        };
    }
    return rows;
}

static const bind_row figure_binds[] = {
    BIND_ENUM(prototype_figure, class, "class", collective_class_words, BIND_REQUIRED),
    BIND_TEXT(prototype_figure, collective, "collective", BIND_REQUIRED),
    BIND_ENUM(prototype_figure, band, "band", size_band_words, BIND_REQUIRED),
    BIND_ENUM(prototype_figure, role, "role", split_role_words, BIND_REQUIRED),
    BIND_U32(prototype_figure, points, "points", BIND_REQUIRED, BIND_AT_LEAST(1)),
    BIND_NUMBER(prototype_figure, error, "error", BIND_REQUIRED, BIND_AT_LEAST(0)),
    BIND_U32(prototype_figure, within[0], "in_1.07", BIND_REQUIRED),
    BIND_U32(prototype_figure, within[1], "in_1.15", BIND_REQUIRED),
    BIND_U32(prototype_figure, within[2], "in_1.3", BIND_REQUIRED),
    BIND_END,
};

typedef struct figure_table {
    prototype_array rows;
} figure_table;
static const bind_row figure_list[] = { BIND_LIST(figure_table, rows, "rows", figure_binds), BIND_END };

bool collective_prototype_read(arena *a, const char *folder, prototype_array *out, sim_error *error)
{
    figure_table table = { 0 };
    const char *directory = arena_format(a, "%s/collectives", folder);
    if (!measured_table_read(a, directory, "prototype.csv", figure_list, &table, error)) return false;
    *out = table.rows;
    return true;
}

static bool is_of(const prototype_figure *f, const point_choice *c)
{
    return (c->class < 0 || f->class == c->class) && (c->band < 0 || f->band == c->band) &&
           (!c->collective || strcmp(f->collective, c->collective) == 0) &&
           (c->role == ROLE_ALL || (f->role == ROLE_FIT) == (c->role == ROLE_FIT_ONLY));
}

point_score collective_prototype_score(const prototype_array *all, const point_choice *choice)
{
    double sum = 0.0;
    uint32_t within[SHARES] = { 0 };
    point_score s = { .bias = (double)NAN, .median = (double)NAN };
    for (uint32_t i = 0; i < all->count; i++) {
        const prototype_figure *f = &all->items[i];
        if (!is_of(f, choice)) continue;
        sum += f->error * f->points;
        s.n += f->points;
        for (int k = 0; k < SHARES; k++)
            within[k] += f->within[k];
    }
    s.mean = s.n ? sum / s.n : (double)NAN;
    for (int k = 0; k < SHARES; k++)
        s.within[k] = s.n ? (double)within[k] / s.n : (double)NAN;
    return s;
}
