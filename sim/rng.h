// SPDX-License-Identifier: GPL-3.0-or-later
// sim/rng.h: named streams of random numbers. A counter-based generator (Philox4x32-10; Salmon, Moraes, Dror, Shaw:
// "Parallel random numbers: as easy as 1, 2, 3", SC'11) keyed by (seed, stream name, index, replication): a new
// component never shifts the draws of another. It is registered as a gsl_rng_type so that GSL's distributions draw
// from it.
#pragma once
#include "sim/arena.h"
#include <gsl/gsl_rng.h>
#include <stdint.h>

typedef struct rng rng;
rng *rng_create(arena *a, uint64_t seed, const char *stream, uint64_t index, uint64_t replication);
uint64_t rng_u64(rng *r);
uint64_t rng_below(rng *r, uint64_t bound); // uniform in 0 .. bound - 1, without bias; bound > 0
double rng_uniform(rng *r);                 // in [0, 1), 53 bits
gsl_rng *rng_gsl(rng *r);                   // the same stream through GSL; owned by r
// The bare block function, for the published test vectors.
void rng_philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);
