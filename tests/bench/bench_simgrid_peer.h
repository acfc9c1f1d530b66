// SPDX-License-Identifier: GPL-3.0-or-later
// tests/bench/bench_simgrid_peer.h: a load of transfers on a network as plain numbers, and SimGrid, which plays it (Debian's
// libsimgrid-dev). Its engine cannot be made twice in one process: whoever plays twice forks.
#pragma once
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct load_slot {  // transfers from one host to another, one after another
    uint32_t from, to;      // hosts
    const uint32_t *path;   // links
    uint32_t path_links;    // the same for all slots between two hosts
    uint64_t rate_cap_mBps; // of each transfer; 0: none
    const uint64_t *bytes;  // of each transfer, load.rounds of them
} load_slot;

typedef struct load {
    uint32_t hosts, links, slots, rounds;
    const uint64_t *link_mBps; // by link; a link carries one direction
    const load_slot *slot;
} load;

// Max-min fair sharing alone: model CM02 without cross traffic, TCP's window and latencies, every other setting as it
// comes. Transfers are started by callbacks, without actors and mailboxes, which is the fastest way SimGrid has.
typedef struct simgrid_peer simgrid_peer;
simgrid_peer *simgrid_create(const load *l); // keeps l; lives until the process ends
// ends_s: when each transfer ends, slots x rounds, slot by slot.
void simgrid_play(simgrid_peer *peer, double *ends_s);

#ifdef __cplusplus
}
#endif
