// SPDX-License-Identifier: GPL-3.0-or-later
// models/collective/nvls_tree.h: what NVLS in one node and NVLS-tree over several share: their plan message by message.
#pragma once
#include "models/collective/plan.h"

// The plan has its kind, ranks and bytes.
void nvls_tree_fill(arena *a, const plan_request *r, plan *out);
