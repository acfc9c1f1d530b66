// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/rng.h"
#include "sim/check.h"
#include "sim/hash.h"
#include <string.h>

// The 128-bit counter is split: the upper half belongs to the stream, the lower half counts its blocks of four words.
struct rng {
    gsl_rng view; // its state is this very struct: draws through GSL and ours are one sequence
    uint32_t key[2], counter[4];
    uint32_t words[4];
    uint32_t taken; // of words; 4: the next draw makes a block
};

// One round of Philox4x32 (Salmon et al., section 3.3): two 32 x 32 -> 64 bit products and the round's key.
static void philox_round(uint32_t c[4], const uint32_t key[2])
{
    uint64_t product0 = (uint64_t)UINT32_C(0xd2511f53) * c[0];
    uint64_t product1 = (uint64_t)UINT32_C(0xcd9e8d57) * c[2];
    uint32_t high0 = (uint32_t)(product0 >> 32), low0 = (uint32_t)product0;
    uint32_t high1 = (uint32_t)(product1 >> 32), low1 = (uint32_t)product1;
    c[0] = high1 ^ c[1] ^ key[0];
    c[1] = low1;
    c[2] = high0 ^ c[3] ^ key[1];
    c[3] = low0;
}

void rng_philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c[4] = { counter[0], counter[1], counter[2], counter[3] }, k[2] = { key[0], key[1] };
    for (int round = 0; round < 10; round++) {
        philox_round(c, k);
        k[0] += UINT32_C(0x9e3779b9); // a Weyl sequence by the golden ratio
        k[1] += UINT32_C(0xbb67ae85); // and by the root of 3, less 1
    }
    memcpy(out, c, sizeof c);
}

static uint32_t low_word(uint64_t value)
{
    return (uint32_t)value;
}

static uint32_t high_word(uint64_t value)
{
    return (uint32_t)(value >> 32);
}

// The generator mixes its own key: the block of counter (name, index) under key seed gives 128 bits; its two halves are
// counter and key, with the replication, of a second block: key and upper counter of the stream. For one seed the first
// step is one to one, so two streams meet only by a chance of 2^-64 or so.
static void stream_start(rng *r, uint64_t seed, const char *stream, uint64_t index, uint64_t replication)
{
    uint64_t name = hash_text(stream); // only has to tell streams apart
    uint32_t seed_key[2] = { low_word(seed), high_word(seed) }, first[4], second[4];
    uint32_t who[4] = { low_word(name), high_word(name), low_word(index), high_word(index) };
    rng_philox4x32(who, seed_key, first);
    uint32_t which[4] = { first[0], first[1], low_word(replication), high_word(replication) };
    rng_philox4x32(which, &first[2], second);
    r->key[0] = second[0];
    r->key[1] = second[1];
    r->counter[0] = r->counter[1] = 0;
    r->counter[2] = second[2];
    r->counter[3] = second[3];
    r->taken = 4;
}

static uint32_t next_word(rng *r)
{
    if (r->taken == 4) {
        rng_philox4x32(r->counter, r->key, r->words);
        if (++r->counter[0] == 0) r->counter[1]++;
        r->taken = 0;
    }
    return r->words[r->taken++];
}

uint64_t rng_u64(rng *r)
{
    uint64_t low = next_word(r); // the order of the two draws is part of the sequence
    return (uint64_t)next_word(r) << 32 | low;
}

// Multiplies instead of dividing and draws again in the few cases that would favour small values (Lemire: "Fast random
// integer generation in an interval", ACM TOMACS 29(1), 2019).
uint64_t rng_below(rng *r, uint64_t bound)
{
    SIM_ASSERT(bound > 0);
    unsigned __int128 product = (unsigned __int128)rng_u64(r) * bound;
    if ((uint64_t)product < bound) {
        uint64_t unfair = (0 - bound) % bound; // 2^64 mod bound
        while ((uint64_t)product < unfair)
            product = (unsigned __int128)rng_u64(r) * bound;
    }
    return (uint64_t)(product >> 64);
}

double rng_uniform(rng *r)
{
    return (double)(rng_u64(r) >> 11) * 0x1p-53;
}

static unsigned long view_get(void *state)
{
    return next_word(state);
}

static double view_get_double(void *state)
{
    return rng_uniform(state);
}

// gsl_rng_set(): another seed, in a stream of its own.
static void view_set(void *state, unsigned long seed)
{
    stream_start(state, seed, "gsl_rng_set", 0, 0);
}

static const gsl_rng_type view_type = { .name = "philox4x32-10",
                                        .max = UINT32_MAX,
                                        .min = 0,
                                        .size = sizeof(rng),
                                        .set = view_set,
                                        .get = view_get,
                                        .get_double = view_get_double };

rng *rng_create(arena *a, uint64_t seed, const char *stream, uint64_t index, uint64_t replication)
{
    rng *r = arena_new(a, rng);
    r->view = (gsl_rng){ .type = &view_type, .state = r };
    stream_start(r, seed, stream, index, replication);
    return r;
}

gsl_rng *rng_gsl(rng *r)
{
    return &r->view;
}
