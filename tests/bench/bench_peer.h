// SPDX-License-Identifier: GPL-3.0-or-later
// tests/bench/bench_peer.h: the hold model, and the peer that is written in C++. A hold pops the first event and pushes
// it again later by an increment drawn from a table: the classical load of an event queue (Jones: "An empirical
// comparison of priority-queue and event-set implementations", CACM 29(4), 1986).
#pragma once
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { HOLD_TABLE = 1 << 16 };

typedef struct hold_stream { // one contender's increments and what it has popped
    const uint32_t *increments;
    uint64_t state; // of the generator that picks from the table
    uint64_t hash;  // of the sequence of (time, entry) popped
} hold_stream;

// Knuth's generator for MMIX ("The Art of Computer Programming" 2, 3.3.4): cheap, and its high bits are good.
static inline uint64_t hold_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state;
}

static inline int64_t hold_increment(hold_stream *stream)
{
    return (int64_t)stream->increments[hold_random(&stream->state) >> 48];
}

static inline void hold_note(hold_stream *stream, int64_t time, uint32_t entry)
{
    stream->hash = (stream->hash ^ ((uint64_t)time + entry)) * UINT64_C(0x9E3779B97F4A7C15);
}

// std::multimap from time to entry: what schedulers built on the C++ library use.
typedef struct multimap_peer multimap_peer;
multimap_peer *multimap_create(void);
void multimap_destroy(multimap_peer *peer);
void multimap_fill(multimap_peer *peer, uint32_t size, hold_stream *stream);
void multimap_hold(multimap_peer *peer, uint64_t holds, hold_stream *stream);

#ifdef __cplusplus
}
#endif
