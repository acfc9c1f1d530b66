// SPDX-License-Identifier: GPL-3.0-or-later
// models/traffic/pattern.h: flows drawn by a rule from a seed, to the bit as any other program draws them that follows the
// same rules (hosts i = 0 .. N - 1, B bytes):
//     ring      the all-reduce of a buffer of B bytes, send by send: host i sends chunks of floor(B / N) to i + 1 mod N,
//               2 (N - 1) of them; it starts one when its own send and its own receive of the one before are over
//     perm      host i sends B to p[i], p a permutation without fixed points
//     permrand  the same with random sizes
//     permk     K permutations, all flows at once, random sizes
//     a2a       every host sends B to every other
//     a2arand   the same with random sizes
//     churn     every host keeps one flow in the air, K in a row, each to a random host, of random size
//     incast    every host but 0 sends B to host 0
// All start at 0 but those of the closed loops ring and churn, which follow one another.
//
// Draws come from SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014), its state
// beginning as the seed. Permutation: p = identity; for i = N - 1 .. 1: j = draw mod i, swap p[i] and p[j] (Sattolo: "An
// algorithm to generate a random cyclic permutation", Inf. Process. Lett. 22(6), 1986). Random size: floor(B / 2) + draw mod
// (B + 1). Sizes are drawn after all permutations, in the order of the flows: permutation by permutation, source by source.
// In churn host i has its own stream, seed x 1000003 + i: d = draw mod (N - 1), one more where d >= i, then the size.
#pragma once
#include "models/traffic/flow.h"
#include "sim/error.h"

typedef enum pattern_kind {
    PATTERN_RING,
    PATTERN_PERM,
    PATTERN_PERMRAND,
    PATTERN_PERMK,
    PATTERN_A2A,
    PATTERN_A2ARAND,
    PATTERN_CHURN,
    PATTERN_INCAST,
    PATTERN_KINDS
} pattern_kind;
extern const char *const pattern_words[]; // "ring", ...; ends with NULL

typedef struct pattern_def {
    pattern_kind kind;
    uint64_t bytes;  // B
    uint64_t rounds; // K; 1 where the pattern has none
    uint64_t seed;
} pattern_def;

// Refuses what cannot be played: fewer than two hosts, no bytes, rounds where there are none, more flows than are played.
bool pattern_check(const pattern_def *p, uint32_t hosts, sim_error *error);
// The others may be asked of what has passed the check only.
bool pattern_is_loop(pattern_kind kind); // ring and churn: what starts next depends on what has ended
bool pattern_has_rounds(pattern_kind kind);
bool pattern_has_draws(pattern_kind kind); // the seed matters
uint64_t pattern_flow_count(const pattern_def *p, uint32_t hosts);
// The flows of a pattern that is no loop; out is empty before.
void pattern_draw(arena *a, const pattern_def *p, uint32_t hosts, traffic_flow_array *out);
// "permk of 8 rounds, about 100 MB each, seed 42"
const char *pattern_describe(arena *a, const pattern_def *p);

typedef struct pattern_stream {
    uint64_t state;
} pattern_stream;
uint64_t pattern_next(pattern_stream *s);
void pattern_permute(pattern_stream *s, uint32_t hosts, uint32_t *to); // fills to[hosts]
uint64_t pattern_size(pattern_stream *s, uint64_t bytes);              // about bytes, below UINT64_MAX

pattern_stream pattern_churn_stream(const pattern_def *p, uint32_t host);
traffic_flow pattern_churn_next(const pattern_def *p, pattern_stream *s, uint32_t hosts, uint32_t host);
uint64_t pattern_ring_steps(uint32_t hosts);
uint64_t pattern_ring_chunk_bytes(const pattern_def *p, uint32_t hosts);
