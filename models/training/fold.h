// SPDX-License-Identifier: GPL-3.0-or-later
// models/training/fold.h: whether one rank may be played for a whole tensor-parallel group without changing any time. Proved on
// the fabric, path by path; where the proof fails, the ranks are to be played one by one.
//
// A column is the ranks of one tensor coordinate. With T = 3, D = 1 and two stages, ranks r0 to r5:
//
//     column       0     1     2
//     stage 0   [ r0 -- r1 -- r2 ]    a tensor-parallel group: one lane, if the columns are alike
//                  |     |     |      activations and gradients, in each column by itself
//     stage 1   [ r3 -- r4 -- r5 ]    another one
//
// Beside the collectives of its tensor-parallel groups, in which all columns meet, a rank talks within its column only: in the
// rings of its data-parallel group (or with all of it: data_to_all), with the stages before and behind, also around the ends,
// and in the rings of all stages.
// Take the links (and bundles) on the paths of all these in a fixed order, and name those of each column by their first
// appearance. If no two columns share a link, and the named paths of all columns are equal link by link, with equal rates,
// delays and classes, then the columns are disjoint copies of one network: max-min shares of one do not depend on flows of
// another, so what begins at the same time in all of them ends at the same time in all of them. Their ranks begin together,
// for they are alike in health, run the same program, and meet in the tensor-parallel collectives. By induction over the
// events of a step one column's times are those of all. Where a tensor-parallel group's own rings cross links of columns, they
// must cross those of all its columns alike, and its ranks must carry equal chunks: all bytes of its collectives a multiple of
// fold_tensor_multiple(), which the caller sees to; they then move at the pace of the one column that is played, as streams do.
// Played message by message they do not: those that cross links of columns that are not played would be ahead.
// A degraded link, a NIC that two ranks share, a hash that sends two columns over one uplink all break the premise, and show
// as such.
//
// It needs a network where what a transfer does depends on none with which it shares no link: not the bottleneck count, which
// looks at all that begins together; and where it is the same each time: not while a link loses packets.
//
// It holds for a healthy fabric, that is until a link fails or changes in the course of a run.
#pragma once
#include "models/network/topology.h"
#include "models/training/lane.h"

typedef struct fold_question {
    const topology *fabric;
    parallel_sizes sizes;
    const gpu_id *gpu_of_rank;
    gpu_health health;    // by rank
    bool messages;        // collectives are played message by message
    bool data_to_all;     // members of a data-parallel group send to all others, not along its rings alone
    bool counts_together; // the network counts what begins together: network.bottleneck_count
} fold_question;

typedef enum fold_obstacle_kind {
    FOLD_NO_OBSTACLE,
    FOLD_TRANSFERS_COUNTED_TOGETHER,
    FOLD_LINK_LOSES,
    FOLD_GROUP_LEAVES_NODE,
    FOLD_GROUP_DIFFERS_IN_HEALTH,
    FOLD_COLUMNS_SHARE_LINK,
    FOLD_COLUMNS_DIFFER,
    FOLD_TENSOR_LOADS_UNEVENLY,
    FOLD_TENSOR_MESSAGES_SHARE_LINKS,
    FOLD_OBSTACLES
} fold_obstacle_kind;
// "a tensor-parallel group leaves its node", ..; ends with NULL.
extern const char *const fold_obstacle_words[];

typedef struct fold_obstacle { // the first one that was met
    fold_obstacle_kind kind;
    rank_id rank;  // one that is concerned; NO_ID: all alike
    uint32_t link; // or bundle, of a path of that rank; NO_ID: none
} fold_obstacle;

// obstacle may be NULL. Its time goes with the sum of the lengths of all paths: 16,384 GPUs take 20 ms.
bool fold_is_exact(arena *scratch, const fold_question *q, fold_obstacle *obstacle);
// Whether tensor-parallel collectives have their links to themselves: no link of a group's rings, nor between its GPUs and
// their NVSwitches, is on a path of a column or of another group. Holds whether or not folding is exact.
bool fold_tensor_is_alone(arena *scratch, const fold_question *q);
// What the bytes of all tensor-parallel collectives must be a multiple of, so that all chunks are equal, where folding is exact
// only then; 1: they are alone, whatever their bytes are.
uint64_t fold_tensor_multiple(arena *scratch, const fold_question *q);
