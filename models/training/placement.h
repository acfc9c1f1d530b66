// SPDX-License-Identifier: GPL-3.0-or-later
// models/training/placement.h: which GPU of the cluster a rank runs on. With N nodes for the job, each with g GPUs:
//     packed        rank r on GPU r of the job: node r / g, GPU r mod g there
//     round-robin   rank r on node r mod N, GPU r div N there
//     a list        rank by rank, on any of the nodes
// It knows no network: whether a group's GPUs are near one another is only told (placement_keeps_tensor_groups).
#pragma once
#include "models/training/parallel.h"
#include "sim/array.h"
#include "sim/bind.h"

typedef enum placement_kind { PLACEMENT_PACKED, PLACEMENT_ROUND_ROBIN, PLACEMENT_LIST } placement_kind;
extern const char *const placement_words[]; // "packed", "round-robin"; ends with NULL. A list has no word

typedef struct placement_row {
    uint32_t rank, node, gpu; // gpu: of the node
} placement_row;
ARRAY_OF(placement_row, placement_row_array);
extern const bind_row placement_row_binds[];

typedef struct placement_def {
    placement_kind kind;
    uint32_t ranks, gpus_per_node;
    const node_id *nodes; // that have GPUs for the job: GPUs i g to (i + 1) g - 1 are those of nodes[i]
    uint32_t node_count;
    const placement_row_array *rows; // PLACEMENT_LIST
} placement_def;

// Has each rank a GPU that there is, and none that another has? If not, the reason and the nearest valid choice (exit code
// 2), at the row that r has read, or with r NULL nowhere. Only a list can be wrong.
bool placement_check(const placement_def *def, arena *scratch, const bind_reader *r, sim_error *error);
// By rank, of a definition that placement_check() lets pass.
gpu_id *placement_build(arena *a, const placement_def *def);

typedef struct placement_split { // a tensor-parallel group that is torn apart
    rank_id rank;                // its first
    gpu_id gpu, other_gpu;       // of its first rank; of the first rank that is elsewhere
} placement_split;
// Lies each tensor-parallel group within one block of gpus_together GPUs, counted from GPU 0 (a node, or nodes whose GPUs
// share their switches)? If not, fills the first group that does not.
bool placement_keeps_tensor_groups(const gpu_id *gpu_of_rank, parallel_sizes sizes, uint32_t gpus_together,
                                   placement_split *split);
