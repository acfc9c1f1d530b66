// SPDX-License-Identifier: GPL-3.0-or-later
// validate/rules.h: what a published row leaves unsaid, as data. A rule file is a YAML list; each rule says for which rows it
// holds and what follows for their scenarios. Of the rules that hold for a row later ones win, key by key.
//     - where: { source: Korthikanti2022, gpu: "A100*" } # patterns of columns, with *; a list: any of them
//       unless: { sp: ["", "0"] }                        # not if all of these match
//       evidence: "paper, section 4"                     # where it is known from
//       grade: assumed                                   # or documented
//       set: { training.attention: unfused }             # keys of the scenario
//       choices: { training.micro_batch: [1, 2] }        # not published: all of these are played
//       convention: megatron                              # in which its TFLOP/s are counted
//       constant: 138 TFLOP/s                            # the same for all rows: the model to beat
//       unknown: "context parallelism is not modelled"   # why it cannot be played
// Of collectives, instead of choices, convention and constant:
//       cluster: dgx-h100                                # a node of the catalogue
//       class: hopper-node                               # how it is judged (collective_score.h)
//       harness: { more: 10 us, least: 38 us }           # what the benchmark program adds to a collective
//       sizes_from: 1 MiB                                # smaller ones do not count, for the evidence that is given
//       together: alps                                   # runs of the same that count as one: their median
//       compare: md1                                     # runs of one system: whether algorithms are in the right order
//       fault: "one NIC in use"                          # the run shows a fault, which is not played
#pragma once
#include "sim/array.h"
#include "sim/document.h"

typedef struct rule_pattern {
    uint32_t column; // index into the columns of the language
    text_list any;   // patterns
} rule_pattern;
ARRAY_OF(rule_pattern, rule_pattern_array);

typedef struct rule_choice {
    const char *path;
    text_list values;
} rule_choice;
ARRAY_OF(rule_choice, rule_choice_array);

typedef struct rule {
    rule_pattern_array where, unless;
    const char *evidence;
    text_list set; // "path=value"
    rule_choice_array choices;
    int convention;        // index into flop_counting_words; -1: says nothing about it
    double constant_flops; // FLOP/s; 0: says nothing about it
    const char *unknown;   // NULL
    const char *cluster, *together, *compare, *fault; // NULL: says nothing about it
    int class; // index into the classes of the language; -1: says nothing about it
    bool has_harness;
    double harness_more_s, harness_least_s;
    uint64_t sizes_from; // bytes; 0: says nothing about it
} rule;
ARRAY_OF(rule, rule_array);

// FLOP of a step as sources count them (measured/README.md has the formulae): Megatron-LM's with and without recomputation;
// by the shape of the layers, full or causal square, or with recomputation; 6 P and attention over the full square, or half.
typedef enum flop_counting {
    COUNT_MEGATRON_HARDWARE,
    COUNT_MEGATRON,
    COUNT_SHAPE,
    COUNT_SHAPE_CAUSAL,
    COUNT_SHAPE_HARDWARE,
    COUNT_6P,
    COUNT_6P_CAUSAL
} flop_counting;
extern const char *const flop_counting_words[]; // "megatron-hardware", ..., NULL

typedef struct rule_language { // what rules about one kind of rows may say; all lists end with NULL
    const char *const *columns;
    const char *const *keys;
    const char *const *classes; // NULL: "class" is none of the keys
} rule_language;
extern const char *const rule_training_keys[];   // those of training steps
extern const char *const rule_collective_keys[]; // those of collectives

// Appends the rules of a file. Refused at their place: keys, columns, grades, classes and conventions that are unknown, and
// rules without evidence.
bool rules_read(arena *a, const char *path, const rule_language *language, rule_array *out, sim_error *error);
bool rules_take(arena *a, const document *doc, const rule_language *language, rule_array *out,
                sim_error *error);                         // of a file that was read
bool rule_holds(const rule *r, const char *const *fields); // of a row, in the order of the columns
// "*" stands for any text, also none.
bool rule_matches(const char *pattern, const char *text);
