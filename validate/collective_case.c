// SPDX-License-Identifier: GPL-3.0-or-later
#include "validate/collective_case.h"
#include "sim/words.h"
#include <math.h>

const rule_language collective_rule_language = {
    .columns = run_column_words,
    .keys = rule_collective_keys,
    .classes = collective_class_words,
};

typedef struct builder {
    arena *a;
    const rule_array *rules;
    collective_case *c;
} builder;

// The first reason stays: it is the most general.
static void give_up(builder *b, const char *reason)
{
    if (!b->c->unknown) b->c->unknown = reason;
}

// ---- what the columns say

static const struct {
    const char *name; // as nccl-tests has it
    collective_kind kind;
} kinds[] = {
    { "all_reduce", COLLECTIVE_ALL_REDUCE },
    { "all_gather", COLLECTIVE_ALL_GATHER },
    { "reduce_scatter", COLLECTIVE_REDUCE_SCATTER },
    { "alltoall", COLLECTIVE_ALL_TO_ALL },
    { "sendrecv", COLLECTIVE_SEND_RECV },
    { "broadcast", COLLECTIVE_BROADCAST },
};

static const char *name_nearest(builder *b, const char *what, const char *name, const char *const *known,
                                uint32_t count)
{
    char shown[WORDS_SHOWN_SIZE];
    const char *nearest = words_nearest(name, known, count);
    words_show(shown, name);
    return nearest
               ? arena_format(b->a, "the %s \"%s\" is not known; the nearest is \"%s\"", what, shown, nearest)
               : arena_format(b->a, "the %s \"%s\" is not known", what, shown);
}

static void take_kind(builder *b)
{
    const char *known[ARRAY_COUNT(kinds)], *name = b->c->run->fields[RUN_COLLECTIVE];
    for (uint32_t i = 0; i < ARRAY_COUNT(kinds); i++) {
        known[i] = kinds[i].name;
        b->c->kind = kinds[i].kind;
        if (strcmp(name, kinds[i].name) == 0) return;
    }
    give_up(b, name_nearest(b, "collective", name, known, ARRAY_COUNT(known)));
}

// ---- what the rules say

static bool begins(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static void take_rule(builder *b, const rule *r)
{
    collective_case *c = b->c;
    for (uint32_t i = 0; i < r->set.count; i++) {
        const char *set = r->set.items[i];
        if (c->run->nodes == 1 && begins(set, "cluster.fabric")) continue; // one node has no fabric
        *array_push(&c->sets, b->a) = set;
        if (begins(set, "network.algorithm=")) c->algorithm = strchr(set, '=') + 1;
    }
    if (r->cluster) c->cluster = r->cluster;
    if (r->class > CLASS_BLACKWELL_NODE || (r->class >= 0 && c->run->nodes == 1)) c->class = r->class;
    if (r->together) c->together = r->together;
    if (r->compare) c->compare = r->compare;
    if (r->fault && !c->fault) c->fault = r->fault;
    if (r->unknown) give_up(b, r->unknown);
    if (r->has_harness) {
        c->harness_more_s = r->harness_more_s;
        c->harness_least_s = r->harness_least_s;
    }
    if (r->sizes_from) {
        c->sizes_from = r->sizes_from;
        c->sizes_reason = r->evidence;
    }
}

// What any rule knows in a column, without patterns.
static text_list known_in(builder *b, uint32_t column)
{
    text_list known = { 0 };
    for (uint32_t i = 0; i < b->rules->count; i++) {
        const rule_pattern_array *where = &b->rules->items[i].where;
        for (uint32_t k = 0; k < where->count; k++)
            for (uint32_t n = 0; where->items[k].column == column && n < where->items[k].any.count; n++)
                if (!strchr(where->items[k].any.items[n], '*'))
                    *array_push(&known, b->a) = where->items[k].any.items[n];
    }
    return known;
}

// A rule about the GPU names the node and the class of one node, a rule about the fabric the class of several.
static void check_what_is_known(builder *b)
{
    const uint32_t column = b->c->cluster ? RUN_FABRIC : RUN_GPU;
    if (b->c->cluster && b->c->class >= 0) return;
    const text_list known = known_in(b, column);
    if (!*b->c->run->fields[column]) {
        give_up(b, "several nodes, and the fabric is not stated"); // a GPU always is
        return;
    }
    give_up(b, name_nearest(b, column == RUN_GPU ? "GPU" : "fabric", b->c->run->fields[column], known.items,
                            known.count));
}

collective_case collective_case_of(arena *a, const measured_run *run, const rule_array *rules)
{
    collective_case c = { .run = run, .class = -1, .algorithm = "auto", .compare = "" };
    builder b = { .a = a, .rules = rules, .c = &c };
    for (uint32_t i = 0; i < rules->count; i++)
        if (rule_holds(&rules->items[i], run->fields)) take_rule(&b, &rules->items[i]);
    take_kind(&b);
    check_what_is_known(&b);
    return c;
}

double collective_case_printed_s(const collective_case *c, double time_s)
{
    return fmax(c->harness_least_s, time_s + c->harness_more_s);
}
