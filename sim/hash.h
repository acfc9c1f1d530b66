// SPDX-License-Identifier: GPL-3.0-or-later
// sim/hash.h: the two hashes of the kernel: for tables (sim/map.h), for names of random streams (sim/rng.h) and for the
// digest of results (sim/engine.h), which would move with them. Neither is meant to withstand an attacker.
#pragma once
#include <stdint.h>

// The finaliser of SplitMix64: a bijection of 64 bits in which every input bit moves half of the output bits. Steele, Lea,
// Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014 (variant 13 of Stafford's mixers).
static inline uint64_t hash_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

// FNV-1a, 64 bits (Fowler, Noll, Vo). Its low bits are poor: who cuts it short mixes it first.
static inline uint64_t hash_text(const char *text)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return hash;
}
