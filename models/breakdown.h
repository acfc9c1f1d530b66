// SPDX-License-Identifier: GPL-3.0-or-later
// models/breakdown.h: lists that a run answers with beside the numbers of the summary: the blame by pipeline stage, who was
// waited for, which links were used most. They are no part of the digest.
#pragma once
#include "models/summary.h"

typedef struct blame_class {     // neighbouring stages whose GPUs spend their time alike
    uint32_t first, last;        // stages
    double shares[BLAME_CAUSES]; // of their GPU time
} blame_class;
ARRAY_OF(blame_class, blame_class_array);

typedef struct culprit {
    const char *part;   // "node 3 gpu 5", "node 2 nic 1 > leaf 0"
    const char *detail; // "rank 29, clock 0.90", "rate 0.50"
    bool degraded;
    double share; // of all GPU time, in which others waited for it
} culprit;
ARRAY_OF(culprit, culprit_array);

typedef struct busy_link {
    link_id link;
    const char *name, *class;
    uint64_t bytes;    // that crossed it in the steps played
    double busy_share; // of what it can carry in that time
} busy_link;
ARRAY_OF(busy_link, busy_link_array);

enum { BREAKDOWN_CLASSES_MAX = 8, BREAKDOWN_CULPRITS_MAX = 3, BREAKDOWN_LINKS_MAX = 5 };

// Stages are joined with their neighbours where no cause differs by more than a thousandth of their time, and until few
// enough are left, those first that are most alike. One for a job without a pipeline.
void breakdown_classes(arena *a, const summary_input *in, blame_class_array *out);
// The rule for who is named, here and in the rows of the table "blame". Waits that are held against a GPU: those of its groups'
// peers, and bubbles only if it is degraded, for otherwise a bubble is nobody's fault. Against a degraded link: any.
bool breakdown_blames_lane(const lane_def *lane, blame_cause cause);
// So much of all GPU time was waited for it that it is named: a thousandth, for a degraded part a ten-thousandth.
bool breakdown_names(bool degraded, unsigned __int128 waited_ps, unsigned __int128 gpu_time_ps);
// Those that are named: degraded parts first, then by that time.
void breakdown_culprits(arena *a, const summary_input *in, culprit_array *out);
// By busy_share; of links of one class that were used alike, to a thousandth, the first; hardly used ones are left out. Where
// ranks are folded only links of those that were played carry bytes; the others, used just alike, are not named.
void breakdown_links(arena *a, const summary_input *in, busy_link_array *out);
