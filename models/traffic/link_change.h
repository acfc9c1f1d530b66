// SPDX-License-Identifier: GPL-3.0-or-later
// models/traffic/link_change.h: links that go down, degrade and return at given times, as somebody writes them:
//     leaf 0 > spine 3 @ 1 ms            one direction
//     leaf 0 <> spine 3 @ 1 ms           both directions of the cable
//     leaf 0 <> spine 3 @ 1 ms = 25 %    with what is left of its rate
// Ends are called as everywhere ("node 3 nic 1", "leaf 0"; topology_find_vertex()). Parallel cables between two ends
// change together.
#pragma once
#include "models/network/topology.h"
#include "sim/array.h"

typedef struct link_change {
    sim_time time_ps;
    link_id link;
    double ratio; // of its rate from now on: 0: it is down, 1: healthy
} link_change;
ARRAY_OF(link_change, link_change_array);

typedef enum link_change_kind {
    LINK_GOES_DOWN,
    LINK_DEGRADES,
    LINK_RETURNS,
    LINK_CHANGE_KINDS
} link_change_kind;
extern const char *const link_change_words[]; // "down", "degrade", "up"; ends with NULL

// Appends what text says; where names it in messages and has the text itself. Only LINK_DEGRADES takes a ratio.
bool link_change_parse(arena *a, const topology *t, link_change_kind kind, const char *text,
                       const sim_place *where, link_change_array *out, sim_error *error);
// Puts them in the order of their times, of one time in the order of links. Refuses a link that changes twice at one time.
bool link_change_order(const topology *t, link_change_array *changes, sim_error *error);
