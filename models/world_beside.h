// SPDX-License-Identifier: GPL-3.0-or-later
// models/world_beside.h: what the collectives of a job's groups take of a GPU that computes beside them, before there is a
// network. In nodes with g GPUs and N NICs, of a group with m members in a node:
//     k: channels of its pace (collective/pace.h): groups' of a large reduction or gathering, messages' of one activation
//     inside a node    r = R
//     over nodes       r = min(R, W m N / g), with m = 1 W N / g
//     memory w = memory_traffic x r
// k thread blocks, each on a multiprocessor of its own; r [bytes/s] what a member sends at most; R, W payload rate of a GPU's
// links inside the node and of a NIC. Collectives in user buffers are moved by copy engines: k = 0. Terms: choose.h. NCCL's
// kernels hold their multiprocessors from their launch on, so a member that waits for others is slowed too.
#pragma once
#include "models/training/pass.h"
#include "models/world.h"

void world_beside(const world *w, gpu_taken taken[BESIDE_GROUPS]);
