// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/bench/bench_peer.h"
#include <map>

struct multimap_peer {
    std::multimap<int64_t, uint32_t> events; // equal times stay in the order of insertion since C++11
};

multimap_peer *multimap_create(void)
{
    return new multimap_peer;
}

void multimap_destroy(multimap_peer *peer)
{
    delete peer;
}

void multimap_fill(multimap_peer *peer, uint32_t size, hold_stream *stream)
{
    for (uint32_t entry = 0; entry < size; entry++)
        peer->events.insert({ hold_increment(stream), entry });
}

void multimap_hold(multimap_peer *peer, uint64_t holds, hold_stream *stream)
{
    for (uint64_t i = 0; i < holds; i++) {
        auto first = peer->events.begin();
        int64_t time = first->first;
        uint32_t entry = first->second;
        peer->events.erase(first);
        hold_note(stream, time, entry);
        peer->events.insert({ time + hold_increment(stream), entry });
    }
}
