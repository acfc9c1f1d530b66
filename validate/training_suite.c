// SPDX-License-Identifier: GPL-3.0-or-later
#include "validate/training_suite.h"
#include "sim/check.h"
#include "sim/os.h"
#include "sim/words.h"
#include "sim/workers.h"
#include "validate/folder.h"
#include <math.h>
#include <string.h>

const char *const played_status_words[] = { "scored", "range", "unknown", NULL };

static const char base_file[] = "training/base.yaml";
// Later ones win: parts and software first, then what is told of single sources, then what no version of the model plays.
static const char *const rule_files[] = { "training/systems.yaml", "training/frameworks.yaml",
                                          "training/limits.yaml" };

static const char *path_in(const training_suite *s, const char *name)
{
    return arena_format(s->arena, "%s/%s", s->folder, name);
}

bool training_suite_open(arena *a, const training_options *options, training_suite *out, sim_error *error)
{
    *out = (training_suite){ .arena = a };
    out->folder = validate_folder(a, error);
    if (!out->folder) return false;
    for (size_t i = 0; i < ARRAY_COUNT(rule_files); i++)
        if (!rules_read(a, path_in(out, rule_files[i]), &training_rule_language, &out->rules, error))
            return false;
    const char *measured = options->measured ? options->measured : path_in(out, "measured");
    const char *data = options->data ? options->data : arena_format(a, "%s/training.csv", measured);
    if (!training_rows_read(a, data, &out->rows, error)) return false;
    out->cases = arena_array(a, training_case, out->rows.count);
    for (uint32_t i = 0; i < out->rows.count; i++)
        out->cases[i] = training_case_of(a, &out->rows.items[i], &out->rules);
    return true;
}

// ---- which rows

static bool check_choice(const training_suite *s, const training_choice *choice, sim_error *error)
{
    const training_column column = choice->id ? COLUMN_ID : COLUMN_SOURCE;
    const char *wanted = choice->id ? choice->id : choice->source;
    char shown[WORDS_SHOWN_SIZE];
    text_list known = { 0 };
    if (!wanted) return true;
    for (uint32_t i = 0; i < s->rows.count; i++) {
        const char *word = s->rows.items[i].fields[column];
        if (strcmp(word, wanted) == 0) return true;
        if (known.count == 0 || strcmp(known.items[known.count - 1], word) != 0)
            *array_push(&known, s->arena) = word;
    }
    sim_fail(error, SIM_EXIT_INPUT, NULL, "no row has the %s \"%s\"", training_column_words[column],
             words_show(shown, wanted));
    return words_hint(error, wanted, known.items, known.count, 12, choice->id ? "rows" : "sources");
}

// Keeps the rows that were chosen, in their order.
static void keep_chosen(training_suite *s, const training_choice *choice)
{
    uint32_t kept = 0;
    uint32_t *of_source = arena_array(s->arena, uint32_t, s->rows.count);
    for (uint32_t i = 0; i < s->rows.count; i++) {
        const char *source = s->rows.items[i].fields[COLUMN_SOURCE];
        uint32_t before = 0;
        for (uint32_t k = i; k-- > 0 && !before;)
            if (strcmp(s->rows.items[k].fields[COLUMN_SOURCE], source) == 0) before = of_source[k];
        of_source[i] = before + 1;
    }
    for (uint32_t i = 0; i < s->rows.count; i++) {
        const training_row row = s->rows.items[i];
        if (choice->source && strcmp(row.fields[COLUMN_SOURCE], choice->source) != 0) continue;
        if (choice->id && strcmp(row.fields[COLUMN_ID], choice->id) != 0) continue;
        if (choice->every && (of_source[i] - 1) % choice->every) continue;
        s->rows.items[kept] = row;
        s->cases[kept] = s->cases[i];
        s->cases[kept].row = &s->rows.items[kept];
        kept++;
    }
    s->rows.count = kept;
}

bool training_suite_choose(training_suite *suite, const training_choice *choice, sim_error *error)
{
    if (!check_choice(suite, choice, error)) return false;
    keep_chosen(suite, choice);
    return true;
}

// ---- playing

typedef struct player {
    const training_suite *suite;
    const training_options *options;
    const uint32_t *order; // of the rows: the longest first, so that all processes end at about the same time
} player;

// About how many passes all stages of all replicas do.
static double passes_of(const training_suite *s, uint32_t index)
{
    const training_row *row = &s->rows.items[index];
    const double stages = training_row_number(row, COLUMN_PP), chunks = training_row_number(row, COLUMN_VPP);
    const double batch = training_row_number(row, COLUMN_GLOBAL_BATCH_SEQS);
    const double at_once = training_row_number(row, COLUMN_MICRO_BATCH);
    if (s->cases[index].unknown || !(batch > 0.0)) return 0.0;
    return (stages > 1.0 ? stages : 1.0) * (chunks > 1.0 ? chunks : 1.0) * batch /
           (at_once > 1.0 ? at_once : 1.0) * training_case_variants(&s->cases[index]);
}

static const uint32_t *order_of(const training_suite *s)
{
    uint32_t *order = arena_array(s->arena, uint32_t, s->rows.count);
    for (uint32_t i = 0; i < s->rows.count; i++) {
        uint32_t k = i;
        for (; k > 0 && passes_of(s, i) > passes_of(s, order[k - 1]); k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
    return order;
}

run_options training_suite_run(const training_suite *suite, const training_options *options, uint32_t index,
                               uint32_t variant)
{
    const text_list sets = training_case_sets(&suite->cases[index], variant, suite->arena);
    return (run_options){
        .scenario_path = path_in(suite, base_file),
        .sets = sets.items,
        .set_count = sets.count,
        .catalogue_path = options->catalogue_path,
        .ignore_memory = true,
    };
}

static bool not_interrupted(void *owner, const run_progress *progress)
{
    (void)owner;
    (void)progress;
    return !os_interrupted();
}

static void take_time(const run_result *r, bool first, played_case *out)
{
    const double time_s = summary_find(&r->summary, "step_time")->value;
    const double ratio = (double)world_fullest(&r->memory)->total_bytes /
                         (double)r->scenario->cluster.node.gpu.memory_bytes;
    if (first || time_s < out->least_s) out->least_s = time_s;
    if (first || time_s > out->greatest_s) out->greatest_s = time_s;
    if (first || ratio < out->memory_ratio) out->memory_ratio = ratio;
}

// The catalogue's nodes of this GPU are not the row's. Of one node only so many are taken as there are. Where its nodes have
// fewer, there are not as many GPUs as the plan takes.
static const char *why_other_nodes(arena *a, const training_row *row, const run_result *r,
                                   const sim_error *refusal)
{
    static const char taken_key[] = "plan.gpus=";
    const char *told = row->fields[COLUMN_GPUS_PER_NODE];
    const double taken = *told ? training_row_number(row, COLUMN_GPUS_PER_NODE) : TRAINING_GPUS_PER_NODE;
    const double gpus = training_row_number(row, COLUMN_GPUS);
    const uint32_t has = r->scenario ? r->scenario->cluster.node.gpus : 0;
    const bool fewer = !has && strncmp(refusal->line_text, taken_key, sizeof taken_key - 1) == 0;
    if (!fewer && (!has || (uint32_t)taken == has || (gpus <= taken && gpus <= has))) return NULL;
    return arena_format(a, "gpus_per_node %.0f%s, but the catalogue's nodes of \"%s\" have %s", taken,
                        *told ? "" : " is taken where none is published", row->fields[COLUMN_GPU],
                        fewer ? "fewer" : arena_format(a, "%u", has));
}

const char *training_suite_refusal(const training_suite *suite, uint32_t index, const run_result *r,
                                   const sim_error *refusal)
{
    arena *a = suite->arena;
    const char *other_nodes = why_other_nodes(a, suite->cases[index].row, r, refusal);
    if (other_nodes || refusal->exit_code == SIM_EXIT_OK) return other_nodes;
    const char *message = training_case_in_columns(refusal->message, a);
    const char *hint = training_case_in_columns(refusal->hint, a);
    return *hint ? arena_format(a, "%s; %s", message, hint) : message;
}

static bool play_case(void *owner, uint32_t piece, void *result, sim_error *error)
{
    const player *p = owner;
    const uint32_t index = p->order[piece];
    const training_case *c = &p->suite->cases[index];
    played_case *out = result;
    uint32_t played = 0;
    if (c->unknown) {
        out->status = PLAYED_UNKNOWN;
        snprintf(out->reason, sizeof out->reason, "%s", c->unknown);
        return true;
    }
    for (uint32_t v = 0; v < training_case_variants(c); v++) {
        run_options wanted = training_suite_run(p->suite, p->options, index, v);
        sim_error refusal = { 0 };
        run_result r;
        wanted.progress = not_interrupted;
        const bool good = run_execute(&wanted, &r, &refusal) && r.state == RUN_DONE;
        const char *why = training_suite_refusal(p->suite, index, &r, &refusal);
        if (good && !why) take_time(&r, played++ == 0, out);
        if (why) snprintf(out->reason, sizeof out->reason, "%.599s", why);
        run_free(&r);
        if (os_interrupted()) return sim_fail(error, SIM_EXIT_INTERRUPTED, NULL, "interrupted");
        if (refusal.exit_code == SIM_EXIT_BUG) {
            *error = refusal;
            return false;
        }
    }
    out->status = played == 0 ? PLAYED_UNKNOWN : c->choices.count ? PLAYED_RANGE : PLAYED_SCORED;
    return true;
}

static bool tell_progress(void *owner, uint32_t done, uint32_t count)
{
    const player *p = owner;
    return !p->options->progress || p->options->progress(p->options->owner, done, count);
}

static void describe(const training_suite *s, const training_case *c, played_case *p)
{
    if (p->status == PLAYED_SCORED) p->reason[0] = '\0';
    if (p->status != PLAYED_RANGE) return;
    const bool inside = p->least_s <= c->measured_s && c->measured_s <= p->greatest_s;
    snprintf(p->reason, sizeof p->reason, "not published: %s; %.4g s to %.4g s, measured %s",
             training_case_describe_choices(c, s->arena), p->least_s, p->greatest_s,
             inside                       ? "inside"
             : c->measured_s < p->least_s ? "below"
                                          : "above");
}

bool training_suite_play(training_suite *suite, const training_options *options, played_case **played,
                         sim_error *error)
{
    if (!training_suite_choose(suite, &options->choice, error)) return false;
    const uint32_t count = suite->rows.count;
    const player p = { .suite = suite, .options = options, .order = order_of(suite) };
    played_case *in_order = arena_array(suite->arena, played_case, count);
    *played = arena_array(suite->arena, played_case, count);
    sim_error *errors = arena_array(suite->arena, sim_error, count);
    if (!workers_run(count, options->jobs ? options->jobs : 1, play_case, tell_progress, (void *)&p, in_order,
                     sizeof *in_order, errors, error))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        if (errors[i].exit_code) {
            *error = errors[i];
            return false;
        }
        const uint32_t row = p.order[i];
        (*played)[row] = in_order[i];
        describe(suite, &suite->cases[row], &(*played)[row]);
    }
    return true;
}

compared_row_array training_suite_compare(const training_suite *suite, const played_case *played)
{
    compared_row_array rows = { 0 };
    for (uint32_t i = 0; i < suite->rows.count; i++)
        *array_push(&rows, suite->arena) = (compared_row){
            .id = suite->rows.items[i].fields[COLUMN_ID],
            .source = suite->rows.items[i].fields[COLUMN_SOURCE],
            .measured = suite->cases[i].measured_s,
            .simulated = played[i].status == PLAYED_SCORED ? played[i].least_s : (double)NAN,
            .constant = suite->cases[i].constant_s,
            .unknown_reason = played[i].status == PLAYED_SCORED ? NULL : played[i].reason,
        };
    return rows;
}
