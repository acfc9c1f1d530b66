// SPDX-License-Identifier: GPL-3.0-or-later
// models/cluster_fabric.h: the topology of a cluster's definition: nodes with their insides, then the network between them.
// Here line rates become payload rates, lengths become delays, and keys become parameters of the builders.
#pragma once
#include "models/cluster.h"

// Sealed and checked; NULL with error when it cannot be built. seed: of ECMP's hash.
topology *fabric_build(arena *a, const cluster_def *c, uint64_t seed, const bind_reader *r, sim_error *error);
