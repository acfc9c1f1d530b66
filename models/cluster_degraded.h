// SPDX-License-Identifier: GPL-3.0-or-later
// models/cluster_degraded.h: cluster.degraded, parts that are slower than healthy ones from the start of a run to its end: the
// clock or the memory of a GPU, the rate of links. A part that is down is a fault and no matter of this list.
//     gpu: "node 3 gpu 5", clock: 0.9, memory: 0.8     one of both at least
//     nic: "node 2 nic 1", rate: 0.5                   all its cables into the network, both ways; nothing inside the node
//     link: "leaf 0 > spine 1", rate: 0.25             this way; both: true for the way back as well
// Of a NIC or link beside rate or instead of it:
//     loss: 1e-4                                       of packets, which the transport sends again
//     bit_error_rate: 1e-9, retry: link                damaged frames, which the link sends again by itself, or the transport
// Of parallel links between two parts all are meant, or with index: 1 the second one, in the order of their ids.
#pragma once
#include "models/cluster.h"

// What a row says of itself: one part, factors that it has. Before there is a fabric.
bool degraded_check(const degraded_entry_array *rows, const bind_reader *r, sim_error *error);
// Lowers the rates of links and gives them their faults. Refuses parts that the fabric does not have, what is degraded twice,
// and faults that the fabric's transport cannot have.
bool degraded_apply(arena *a, const cluster_def *c, topology *t, const bind_reader *r, sim_error *error);
typedef struct degraded_users { // what a job runs on
    bool *gpus;                 // by GPU of the cluster
    bool *nodes;                // by node
    uint32_t node_count;
} degraded_users;
// A line for each row whose part no rank can notice: outside the nodes of the job, or of the network when it needs none.
void degraded_warn_of_idle(arena *a, const degraded_entry_array *rows, const topology *t,
                           const degraded_users *users, text_list *out);
// By GPU of the cluster, of rows that degraded_apply() lets pass.
gpu_health degraded_gpus(arena *a, const degraded_entry_array *rows, const topology *t);
