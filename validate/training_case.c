// SPDX-License-Identifier: GPL-3.0-or-later
#include "validate/training_case.h"
#include "sim/check.h"
#include "sim/words.h"
#include "validate/training_field.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VARIANTS_MOST = 100 };
const rule_language training_rule_language = { .columns = training_column_words, .keys = rule_training_keys };

typedef struct builder {
    arena *a;
    const rule_array *rules;
    training_case *c;
    int convention;
    double constant_flops;
} builder;

static const char *field(const builder *b, training_column column)
{
    return b->c->row->fields[column];
}

static void set(builder *b, const char *path, const char *value)
{
    *array_push(&b->c->sets, b->a) = arena_format(b->a, "%s=%s", path, value);
}

static void set_number(builder *b, const char *path, double value)
{
    set(b, path, arena_format(b->a, "%.0f", value));
}

// The first reason stays: it is the most general.
static void give_up(builder *b, const char *reason)
{
    if (!b->c->unknown) b->c->unknown = reason;
}

static const char *last_value(const text_list *sets, const char *path)
{
    const size_t length = strlen(path);
    for (uint32_t i = sets->count; i-- > 0;)
        if (strncmp(sets->items[i], path, length) == 0 && sets->items[i][length] == '=')
            return sets->items[i] + length + 1;
    return NULL;
}

// ---- what the columns say

typedef struct plain_column { // whose value is that of a key
    training_column column;
    const char *path;
    bool required;
} plain_column;
static const plain_column plain_columns[] = {
    { COLUMN_LAYERS, "model.layers", true },
    { COLUMN_HIDDEN, "model.hidden", true },
    { COLUMN_HEADS, "model.heads", true },
    { COLUMN_KV_HEADS, "model.kv_heads", false },
    { COLUMN_VOCAB, "model.vocabulary", false },
    { COLUMN_SEQ_LEN, "model.max_sequence", true },
    { COLUMN_SEQ_LEN, "training.sequence_length", true },
    { COLUMN_TP, "plan.tensor", true },
    { COLUMN_PP, "plan.pipeline", true },
    { COLUMN_GPUS, "plan.gpus", true },
    { COLUMN_MICRO_BATCH, "training.micro_batch", false },
    { COLUMN_GLOBAL_BATCH_SEQS, "training.global_batch", false },
    { COLUMN_DTYPE, "training.precision", false },
};

// As YAML reads it back: what is neither plain ASCII nor a mark of its own is escaped. The text is UTF-8.
static const char *quoted(arena *a, const char *text)
{
    enum { ESCAPE_SIZE = 11 }; // "\U0001F600" and its end
    char *out = arena_array(a, char, ESCAPE_SIZE *strlen(text) + 3), *at = out;
    *at++ = '"';
    while (*text) {
        const size_t bytes = words_character_length(text, strlen(text));
        uint32_t code = (unsigned char)*text & (bytes > 1 ? 0x7FU >> bytes : 0x7FU);
        for (size_t i = 1; i < bytes; i++)
            code = code << 6 | ((unsigned char)text[i] & 0x3FU);
        if (code < 0x20 || code > 0x7E || code == '"' || code == '\\')
            at += snprintf(at, ESCAPE_SIZE, "\\U%08X", code);
        else
            *at++ = *text;
        text += bytes ? bytes : 1;
    }
    *at++ = '"';
    *at = '\0';
    return out;
}

static void take_columns(builder *b)
{
    for (size_t i = 0; i < ARRAY_COUNT(plain_columns); i++) {
        const plain_column *p = &plain_columns[i];
        const char *text = field(b, p->column);
        if (*text) set(b, p->path, text);
    }
    const char *model = field(b, COLUMN_MODEL), *recompute = field(b, COLUMN_RECOMPUTE);
    if (*model) set(b, "model.name", quoted(b->a, model));
    set_number(b, "model.ffn",
               *field(b, COLUMN_FFN) ? training_row_number(b->c->row, COLUMN_FFN)
                                     : 4.0 * training_row_number(b->c->row, COLUMN_HIDDEN));
    if (*recompute) set(b, "plan.recompute", recompute);
    if (strcmp(field(b, COLUMN_SP), "1") == 0) set(b, "plan.sequence_parallel", "true");
    if (training_zero_stage(b->c->row) == 1) set(b, "plan.sharding", "zero-1");
}

static double or_one(double value)
{
    return value >= 1.0 ? value : 1.0;
}

// Chunks of layers; where they cannot be equal the first ones have one more.
static void take_stages(builder *b)
{
    const training_row *row = b->c->row;
    const double stages = or_one(training_row_number(row, COLUMN_PP));
    const double chunks = or_one(training_row_number(row, COLUMN_VPP));
    const double layers = training_row_number(row, COLUMN_LAYERS);
    if (stages > 1.0 && chunks > 1.0) set_number(b, "plan.virtual_stages", chunks);
    if (stages > 1.0 && fmod(layers, stages * chunks) != 0.0) set(b, "plan.layer_split", "uneven");
}

static double nodes_of(const training_row *row)
{
    const double per_node = training_row_number(row, COLUMN_GPUS_PER_NODE);
    return ceil(training_row_number(row, COLUMN_GPUS) /
                (per_node >= 1.0 ? per_node : TRAINING_GPUS_PER_NODE));
}

// ---- what the rules say

static bool is_of_fabric(const char *set)
{
    static const char prefix[] = "cluster.fabric";
    return strncmp(set, prefix, sizeof prefix - 1) == 0;
}

static void take_rule(builder *b, const rule *r)
{
    const bool lone = !(nodes_of(b->c->row) > 1.0); // one node has no fabric
    for (uint32_t i = 0; i < r->set.count; i++)
        if (!lone || !is_of_fabric(r->set.items[i])) *array_push(&b->c->sets, b->a) = r->set.items[i];
    for (uint32_t i = 0; i < r->choices.count; i++)
        *array_push(&b->c->choices, b->a) = r->choices.items[i];
    if (r->convention >= 0) b->convention = r->convention;
    if (r->constant_flops > 0.0) b->constant_flops = r->constant_flops;
    if (r->unknown) give_up(b, r->unknown);
}

static void add_once(arena *a, text_list *list, const char *text)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i], text) == 0) return;
    *array_push(list, a) = text;
}

// The GPUs that any rule knows, without patterns.
static text_list known_gpus(builder *b)
{
    text_list known = { 0 };
    for (uint32_t i = 0; i < b->rules->count; i++) {
        const rule_pattern_array *where = &b->rules->items[i].where;
        for (uint32_t k = 0; k < where->count; k++) {
            if (where->items[k].column != COLUMN_GPU) continue;
            for (uint32_t n = 0; n < where->items[k].any.count; n++)
                if (!strchr(where->items[k].any.items[n], '*'))
                    add_once(b->a, &known, where->items[k].any.items[n]);
        }
    }
    return known;
}

// The nearest by spelling, else the first that begins most alike, with three letters or more: "A100-81GB" is "A100-80GB-SXM".
static const char *nearest_gpu(const text_list *known, const char *name)
{
    const char *nearest = words_nearest(name, known->items, known->count);
    size_t most = 2;
    for (uint32_t i = 0; i < known->count && !nearest; i++) {
        const size_t alike = words_alike(name, known->items[i]);
        if (alike <= most) continue;
        most = alike;
        nearest = known->items[i];
    }
    return nearest;
}

static const char *why_no_gpu(builder *b)
{
    char shown[WORDS_SHOWN_SIZE], listed[400];
    const text_list known = known_gpus(b);
    const char *gpu = field(b, COLUMN_GPU), *nearest = nearest_gpu(&known, gpu);
    words_show(shown, gpu);
    if (!*gpu) return "gpu is not published";
    if (nearest)
        return arena_format(b->a, "column gpu: no catalogue GPU is called \"%s\"; nearest is \"%s\"", shown,
                            nearest);
    words_list(listed, sizeof listed, known.items, known.count, 20);
    return arena_format(b->a, "column gpu: no catalogue GPU is called \"%s\"; there are %s", shown, listed);
}

static void check_what_is_known(builder *b)
{
    for (size_t i = 0; i < ARRAY_COUNT(plain_columns); i++)
        if (plain_columns[i].required && !*field(b, plain_columns[i].column))
            give_up(
                b, arena_format(b->a, "%s is not published", training_column_words[plain_columns[i].column]));
    static const char *const needed[] = { "training.global_batch", "training.micro_batch",
                                          "model.vocabulary" };
    static const char *const called[] = { "the global batch", "the micro-batch", "the vocabulary" };
    for (size_t i = 0; i < ARRAY_COUNT(needed); i++) {
        bool chosen = false;
        for (uint32_t k = 0; k < b->c->choices.count; k++)
            chosen |= strcmp(b->c->choices.items[k].path, needed[i]) == 0;
        if (!chosen && !training_case_value(b->c, needed[i]))
            give_up(b, arena_format(b->a, "%s is not published", called[i]));
    }
    if (training_case_value(b->c, "cluster.node") || training_case_value(b->c, "cluster.base")) return;
    give_up(b, why_no_gpu(b));
}

// ---- what was measured

// FLOP of one step, as sources count them: B sequences of s tokens, L layers of width h with a heads of which k have keys and
// values, feed-forward width f with g matrices up, vocabulary V, P parameters.
//     megatron           72 B s L h^2 (1 + s / 6h + V / 12 L h); with one more forward pass: 96 ... (V / 16 L h)
//                        Narayanan et al., SC 2021, eq. 3
//     shape              12 B s L h^2 (1 + k/a + (f/h)(g + 1)/2 + s/h + V / 2 L h); causal: half of s/h
//                        num_floating_point_operations() of Megatron-LM; hardware: 4/3 of it, as with one more forward
//                        pass, but for that of the vocabulary, 2 B s h V
//     6p                 B s (6 P + 12 L h s); causal: 6 L h s
static double flop_of_step(const builder *b)
{
    const training_row *row = b->c->row;
    const char *const batch = training_case_value(b->c, "training.global_batch");
    const char *const activation = training_case_value(b->c, "model.activation");
    const double sequences = batch ? strtod(batch, NULL) : (double)NAN;
    const double s = training_row_number(row, COLUMN_SEQ_LEN),
                 layers = training_row_number(row, COLUMN_LAYERS);
    const double h = training_row_number(row, COLUMN_HIDDEN), a = training_row_number(row, COLUMN_HEADS);
    const double v = training_row_number(row, COLUMN_VOCAB),
                 p = training_row_number(row, COLUMN_PARAMS_B) * 1e9;
    const double k = *field(b, COLUMN_KV_HEADS) ? training_row_number(row, COLUMN_KV_HEADS) : a;
    const double f = *field(b, COLUMN_FFN) ? training_row_number(row, COLUMN_FFN) : 4.0 * h;
    const double up = activation && strcmp(activation, "swiglu") == 0 ? 1.5 : 1.0;
    const double tokens = sequences * s, layer = tokens * layers * h * h;
    const double shape = 12.0 * layer * (1.0 + k / a + f / h * up + v / (2.0 * layers * h));
    switch ((flop_counting)b->convention) {
    case COUNT_MEGATRON_HARDWARE: return 96.0 * layer * (1.0 + s / (6.0 * h) + v / (16.0 * layers * h));
    case COUNT_MEGATRON: return 72.0 * layer * (1.0 + s / (6.0 * h) + v / (12.0 * layers * h));
    case COUNT_SHAPE: return shape + 12.0 * layer * s / h;
    case COUNT_SHAPE_CAUSAL: return shape + 6.0 * layer * s / h;
    case COUNT_SHAPE_HARDWARE: return 4.0 / 3.0 * (shape + 12.0 * layer * s / h) - 2.0 * tokens * h * v;
    case COUNT_6P: return tokens * (6.0 * p + 12.0 * layers * h * s);
    case COUNT_6P_CAUSAL: return tokens * (6.0 * p + 6.0 * layers * h * s);
    }
    return (double)NAN;
}

static double measured_s(const builder *b)
{
    const training_row *row = b->c->row;
    const char *const batch = training_case_value(b->c, "training.global_batch");
    const double gpus = training_row_number(row, COLUMN_GPUS),
                 time = training_row_number(row, COLUMN_STEP_TIME_S);
    const double rate = training_row_number(row, COLUMN_TOKENS_PER_S_PER_GPU);
    if (time > 0.0) return time;
    if (rate > 0.0)
        return (batch ? strtod(batch, NULL) : (double)NAN) * training_row_number(row, COLUMN_SEQ_LEN) /
               (rate * gpus);
    if (b->convention < 0) return (double)NAN;
    return flop_of_step(b) / (training_row_number(row, COLUMN_TFLOPS_PER_GPU) * 1e12 * gpus);
}

// One rate for all: m P + 2 m L h s FLOP for each token, m = 6, or 8 with full recomputation.
static double constant_s(const builder *b)
{
    const training_row *row = b->c->row;
    const char *const batch = training_case_value(b->c, "training.global_batch");
    const char *const recompute = training_case_value(b->c, "plan.recompute");
    if (!(b->constant_flops > 0.0) || !batch) return (double)NAN;
    const double m = recompute && strcmp(recompute, "full") == 0 ? 8.0 : 6.0;
    const double s = training_row_number(row, COLUMN_SEQ_LEN);
    const double each = m * training_row_number(row, COLUMN_PARAMS_B) * 1e9 +
                        2.0 * m * training_row_number(row, COLUMN_LAYERS) *
                            training_row_number(row, COLUMN_HIDDEN) * s;
    return strtod(batch, NULL) * s * each / (b->constant_flops * training_row_number(row, COLUMN_GPUS));
}

training_case training_case_of(arena *a, const training_row *row, const rule_array *rules)
{
    training_case c = { .row = row };
    builder b = { .a = a, .rules = rules, .c = &c, .convention = -1 };
    take_columns(&b);
    take_stages(&b);
    c.unknown = training_layout_refusal(a, row);
    set_number(&b, "cluster.nodes", nodes_of(row));
    for (uint32_t i = 0; i < rules->count; i++)
        if (rule_holds(&rules->items[i], row->fields)) take_rule(&b, &rules->items[i]);
    check_what_is_known(&b);
    if (training_case_variants(&c) > VARIANTS_MOST)
        give_up(&b, arena_format(a, "what is not published makes more than %d scenarios", VARIANTS_MOST));
    c.measured_s = measured_s(&b);
    c.constant_s = constant_s(&b);
    if (!(c.measured_s > 0.0)) give_up(&b, "no time of a step follows from what is published");
    if (c.measured_s > TRAINING_STEP_MOST_S)
        give_up(&b, arena_format(a, "its rate makes a step of %.4g s", c.measured_s));
    return c;
}

const char *training_case_value(const training_case *c, const char *path)
{
    return last_value(&c->sets, path);
}

uint32_t training_case_variants(const training_case *c)
{
    uint32_t variants = 1;
    for (uint32_t i = 0; i < c->choices.count && variants <= VARIANTS_MOST; i++)
        variants *= c->choices.items[i].values.count; // of files of few megabytes: no overflow
    return variants;
}

text_list training_case_sets(const training_case *c, uint32_t variant, arena *a)
{
    text_list sets = { 0 };
    for (uint32_t i = 0; i < c->sets.count; i++)
        *array_push(&sets, a) = c->sets.items[i];
    for (uint32_t i = 0; i < c->choices.count; i++) {
        const rule_choice *choice = &c->choices.items[i];
        const uint32_t which = variant % choice->values.count;
        variant /= choice->values.count;
        *array_push(&sets, a) = arena_format(a, "%s=%s", choice->path, choice->values.items[which]);
    }
    const char *chunks = last_value(&sets, "plan.virtual_stages");
    if (chunks && strcmp(chunks, "1") != 0) *array_push(&sets, a) = "plan.schedule=interleaved-1f1b";
    return sets;
}

// Keys that columns become, behind which the message stands for the column.
static const char *column_of_key(const char *text, size_t *length)
{
    static const plain_column others[] = {
        { COLUMN_FFN, "model.ffn", false },
        { COLUMN_RECOMPUTE, "plan.recompute", false },
        { COLUMN_SP, "plan.sequence_parallel", false },
        { COLUMN_SHARDING, "plan.sharding", false },
        { COLUMN_VPP, "plan.virtual_stages", false },
        { COLUMN_GPUS, "cluster.nodes", false },
    };
    for (size_t i = 0; i < ARRAY_COUNT(plain_columns) + ARRAY_COUNT(others); i++) {
        const plain_column *p = i < ARRAY_COUNT(plain_columns) ? &plain_columns[i]
                                                               : &others[i - ARRAY_COUNT(plain_columns)];
        *length = strlen(p->path);
        if (strncmp(text, p->path, *length) == 0) return training_column_words[p->column];
    }
    return NULL;
}

const char *training_case_in_columns(const char *message, arena *a)
{
    char *out = arena_array(a, char, strlen(message) + 1),
         *at = out; // every column's name is shorter than its key
    while (*message) {
        size_t length;
        const char *column = column_of_key(message, &length);
        if (!column) {
            *at++ = *message++;
            continue;
        }
        memcpy(at, column, strlen(column));
        at += strlen(column);
        message += length;
    }
    *at = '\0';
    return out;
}

const char *training_case_describe_choices(const training_case *c, arena *a)
{
    const char *text = "";
    for (uint32_t i = 0; i < c->choices.count; i++) {
        const rule_choice *choice = &c->choices.items[i];
        text = arena_format(a, "%s%s%s %s to %s", text, i ? ", " : "", choice->path, choice->values.items[0],
                            choice->values.items[choice->values.count - 1]);
    }
    return text;
}
