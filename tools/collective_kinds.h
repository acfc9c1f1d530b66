// SPDX-License-Identifier: GPL-3.0-or-later
// tools/collective_kinds.h: the collectives as nccl-tests calls them.
#pragma once
#include "models/collective/plan.h"
#include "sim/error.h"

typedef struct collective_word {
    const char *name; // as nccl-tests has it; the other is ours (collective_kind_words)
    collective_kind kind;
    int root; // as nccl-tests prints it; -1: none
    bool reduces;
} collective_word;

// By either name; NULL text: all_reduce. NULL with error: unknown.
const collective_word *collective_word_find(const char *text, sim_error *error);
