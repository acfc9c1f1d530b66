// SPDX-License-Identifier: GPL-3.0-or-later
// models/world_shares.h: what is left of the links to a transfer when everybody talks at once, the least there is: a link on
// the paths of n edges of groups' rings gives each an n-th. From the paths between neighbours in all rings and between stages.
// Messages between stages are counted apart. A group has one collective at a time, while a stage that is ahead may have many
// messages on their way, but only so many bytes of them in a step, which others need to wait for once.
#pragma once
#include "models/collective/group_layout.h"
#include "models/world.h"

enum { WORLD_LAYOUTS_MAX = 256 };

typedef struct layout_list { // of groups, each once; what goes beyond makes the last of them worse
    collective_layout items[WORLD_LAYOUTS_MAX];
    uint32_t count;
} layout_list;

typedef struct
    link_share {        // of the links on the paths of one kind of group, the least; INFINITY: there is none
    double of_edge_Bps; // rate / edges of groups that cross it
    double of_pair_Bps; // rate / pairs of neighbour stages, each way, that cross it
    layout_list *layouts;
} link_share;

typedef struct world_shares {
    link_share tensor, data, pipeline; // pipeline: groups over stages, and messages
} world_shares;

world_shares world_find_shares(const world *w);
