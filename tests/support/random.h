// SPDX-License-Identifier: GPL-3.0-or-later
// tests/support/random.h: seeded random input for tests of laws; not the simulator's own streams, so that a mistake there
// cannot hide here. SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
#pragma once
#include <stdint.h>

static inline uint64_t test_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static inline uint32_t test_random_below(uint64_t *state, uint32_t bound)
{
    return (uint32_t)((test_random(state) >> 32) * bound >> 32);
}
