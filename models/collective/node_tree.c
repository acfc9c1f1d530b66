// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/collective/node_tree.h"
#include "sim/check.h"

static uint32_t first_parent(uint32_t nodes, uint32_t node)
{
    if (node == 0) return 0;
    const uint32_t bit = node & (~node + 1);
    const uint32_t up = (node ^ bit) | bit << 1;
    return up < nodes ? up : node ^ bit;
}

// Renames places 0 .. count - 1: back undoes it.
static uint32_t rename(uint32_t count, uint32_t place, bool back)
{
    if (count % 2 == 0) return count - 1 - place;
    return (place + (back ? 1 : count - 1)) % count;
}

uint32_t node_tree_parent(uint32_t nodes, uint32_t tree, bool rooted, uint32_t node)
{
    SIM_ASSERT(node < nodes && tree < NODE_TREES);
    if (tree == 0 || nodes == 1) return first_parent(nodes, node);
    if (!rooted) return rename(nodes, first_parent(nodes, rename(nodes, node, false)), true);
    if (node == 0) return 0;
    const uint32_t up = first_parent(nodes, rename(nodes - 1, node - 1, false) + 1);
    return up == 0 ? 0 : rename(nodes - 1, up - 1, true) + 1;
}
