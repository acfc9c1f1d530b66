// SPDX-License-Identifier: GPL-3.0-or-later
// models/collective/node_tree.h: two binary trees over the same nodes, in which the inner nodes of one are the leaves of the
// other, so that together they use what each node sends and receives. As NCCL builds them (src/graph/trees.cc): in the first,
// node 0 is the root, with one child; of the others those with an odd number are the leaves, and the inner ones lie at the
// multiples of 2, of 4 and so on. The second is the first with its nodes renamed: an even number of them backwards, by which
// odd and even change places; an odd number one further, by which all change but one.
//     depth = ceil(log2 nodes)
// Sanders, Speck, Traff: "Two-tree algorithms for full bandwidth broadcast, reduction and scan", Parallel Computing 35, 2009.
// Rooted, both begin at node 0, and only the others are renamed: a broadcast and a reduce, as in that paper.
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum { NODE_TREES = 2 };

// The node above, or the node itself where it is the root.
uint32_t node_tree_parent(uint32_t nodes, uint32_t tree, bool rooted, uint32_t node);
