// SPDX-License-Identifier: GPL-3.0-or-later
// The points of a fit: measured sizes of the runs that split.csv names for it, on the layouts of their clusters.
#include "models/collective/pace.h"
#include "models/collective/tuner.h"
#include "sim/map.h"
#include "validate/collective_fit.h"
#include <string.h>

typedef struct reading {
    arena *a;
    const catalogue *parts;
    kernel_split split;
    text_map *setups, *runs;
    cost_data *out;
    sim_error *error;
} reading;

static const char *key_of(arena *a, const collective_case *c)
{
    const char *key = arena_format(a, "%s %u %u", c->cluster, c->run->nodes, c->run->per_node);
    for (uint32_t i = 0; i < c->sets.count; i++)
        key = arena_format(a, "%s %s", key, c->sets.items[i]);
    return key;
}

// The class of a setup as the catalogue has it.
static bool read_class(reading *r, const char *name, bool is_nic, void *out)
{
    const char *folder = is_nic ? "nic_costs" : "link_costs";
    const bind_row rows[] = { { .type = BIND_TYPE_PART,
                                .key = folder,
                                .folder = folder,
                                .rows = is_nic ? nic_costs_binds : scale_up_costs_binds,
                                .size = is_nic ? sizeof(nic_costs) : sizeof(scale_up_costs) },
                              BIND_END };
    doc_node value = { .kind = DOC_SCALAR, .quoted = true, .scalar = name, .unrolled = 1, .height = 1 };
    doc_pair pair = { .key = folder, .value = &value };
    const doc_node mapping = { .kind = DOC_MAPPING, .pairs = &pair, .count = 1, .unrolled = 2, .height = 2 };
    return bind_read(bind_reader_create(r->a, part_read, (void *)(uintptr_t)r->parts), rows, &mapping, "",
                     out, r->error);
}

static bool find_site(reading *r, cost_setup *s)
{
    scale_up_costs link;
    nic_costs nic;
    bool *is_site = arena_array(r->a, bool, cost_field_count);
    if (!read_class(r, s->link.name, false, &link) ||
        (s->nic_class != NO_ID && !read_class(r, s->nic.name, true, &nic)))
        return false;
    for (uint32_t i = 0; i < cost_field_count; i++) {
        const cost_field *field = &cost_fields[i];
        if (field->is_nic && s->nic_class == NO_ID) continue;
        const void *own = field->is_nic ? (const void *)&s->nic : (const void *)&s->link;
        const void *of_class = field->is_nic ? (const void *)&nic : (const void *)&link;
        is_site[i] = cost_field_get(field, own) != cost_field_get(field, of_class);
    }
    s->is_site = is_site;
    return true;
}

// NULL: costs of its own, which are no class of the catalogue.
static cost_setup *make_setup(reading *r, const scenario *s, const collective_layout *layout)
{
    cost_setup *made = arena_new(r->a, cost_setup);
    *made = (cost_setup){
        .layout = *layout, .link = *layout->link, .library = &s->network.collectives, .nic_class = NO_ID
    };
    made->layout.link = &made->link;
    made->link_class = cost_files_class(&r->out->files, false, made->link.name);
    if (layout->nodes > 1) {
        made->nic = *layout->nic;
        made->layout.nic = &made->nic;
        made->nic_class = cost_files_class(&r->out->files, true, made->nic.name);
    }
    if (made->link_class == NO_ID || (layout->nodes > 1 && made->nic_class == NO_ID)) return NULL;
    return find_site(r, made) ? made : NULL;
}

// The scenario stays: the library and what a run asks for are in it.
typedef struct built {
    cost_setup *setup;
    const scenario *scenario;
} built;
ARRAY_OF(built, built_array);

static const built *build(reading *r, built_array *all, const collective_case *c, sim_error *error)
{
    uint32_t at;
    const char *key = key_of(r->a, c);
    if (text_map_get(r->setups, key, &at)) return &all->items[at];
    scenario *s = arena_new(r->a, scenario);
    const collective_bench *bench = collective_suite_bench(r->a, r->parts->directory, c, s, error);
    cost_setup *setup = bench ? make_setup(r, s, collective_bench_layout(bench)) : NULL;
    if (!setup) return NULL;
    text_map_set(r->setups, key, all->count);
    *array_push(&r->out->setups, r->a) = setup;
    built *made = array_push(all, r->a);
    *made = (built){ setup, s };
    return made;
}

static const char *pattern_of(const reading *r, const char *id)
{
    for (uint32_t i = 0; i < r->split.rows.count; i++) {
        const split_row *row = &r->split.rows.items[i];
        if (strcmp(row->table, "collectives") == 0 && rule_matches(row->source, id)) return row->source;
    }
    return id;
}

static uint32_t run_of(reading *r, const collective_point *p, const collective_case *c)
{
    uint32_t at;
    const char *key = arena_format(r->a, "%s %s", p->collective, p->run);
    if (text_map_get(r->runs, key, &at)) return at;
    text_map_set(r->runs, key, r->out->runs.count);
    *array_push(&r->out->runs, r->a) = (cost_run){ p->run, pattern_of(r, c->run->fields[RUN_ID]) };
    return r->out->runs.count - 1;
}

// A size of which the benchmark's own part is more than a tenth tells nothing of kernels, for that part is a guess.
static bool is_kernels(const collective_point *p, const collective_case *c)
{
    return c->harness_more_s <= p->measured_s / 10 && c->harness_least_s <= p->measured_s * 0.9;
}

// What cannot be run on its cluster is no point; validate collectives says why.
static bool take_point(reading *r, built_array *all, const collective_point *p, const collective_case *c)
{
    sim_error refusal = { 0 };
    const built *b = build(r, all, c, &refusal);
    if (!b && refusal.exit_code == SIM_EXIT_BUG) *r->error = refusal;
    if (!b) return !r->error->exit_code;
    const int algorithm = scenario_forced_algorithm(b->scenario);
    if (algorithm != ALGORITHM_AUTO &&
        tuner_lacks(b->setup->library, &b->setup->layout, (collective_algorithm)algorithm))
        return true;
    *array_push(&r->out->points, r->a) = (cost_point){
        .setup = b->setup,
        .run = run_of(r, p, c),
        .kind = c->kind,
        .choice = tuner_choose(b->setup->library, &b->setup->layout, c->kind, p->bytes, algorithm,
                               scenario_forced_protocol(b->scenario)),
        .bytes = p->bytes,
        .measured_s = p->measured_s,
        .of = c,
    };
    return true;
}

bool collective_fit_read(arena *a, const char *measured, const catalogue *parts, cost_data *out,
                         sim_error *error)
{
    const collective_suite_options options = { .measured = measured, .catalogue_path = parts->directory };
    const collective_case **cases;
    collective_suite suite;
    built_array all = { 0 };
    reading r = { .a = a, .parts = parts, .out = out, .error = error };
    *out = (cost_data){ 0 };
    r.setups = text_map_create(a);
    r.runs = text_map_create(a);
    if (!cost_files_read(a, parts, &out->files, error) || !kernel_split_read(a, measured, &r.split, error) ||
        !collective_suite_gather(a, &options, &suite, &cases, error))
        return false;
    for (uint32_t i = 0; i < suite.points.count; i++) {
        const collective_point *p = &suite.points.items[i];
        if (p->is_fit && p->status == POINT_SCORED && is_kernels(p, cases[i]) &&
            !take_point(&r, &all, p, cases[i]))
            return false;
    }
    return true;
}

double collective_fit_predict_s(const cost_point *p)
{
    const collective_pace pace = pace_of(p->setup->library, &p->setup->layout, p->kind, p->choice.algorithm,
                                         p->choice.protocol, p->bytes);
    return collective_case_printed_s(p->of, units_s_from_ps(pace_time_ps(&pace)));
}
