// SPDX-License-Identifier: GPL-3.0-or-later
// models/ids.h: names shared by all models. Entities that live as long as their run are indices from 0 into the arrays of
// their owner; NO_ID means none. Things that come and go (transfers, collectives) are {index1, generation}; {0} means none.
#pragma once
#include <stdint.h>

#define NO_ID UINT32_MAX

typedef uint32_t gpu_id;    // all GPUs of the cluster, node by node
typedef uint32_t nic_id;    // all NICs, node by node
typedef uint32_t node_id;   // servers
typedef uint32_t vertex_id; // anything that a cable ends at (models/network/topology.h)
typedef uint32_t link_id;   // one direction of a cable
typedef uint32_t lane_id;   // what is played (models/training/lane.h)
typedef uint32_t rank_id;   // one process of a job, one GPU
typedef uint32_t job_id;

typedef struct transfer_id {
    uint32_t index1, generation;
} transfer_id;
