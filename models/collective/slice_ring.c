// SPDX-License-Identifier: GPL-3.0-or-later
// The buffer of a channel goes in loops of n chunks; in a loop, step after step, slice after slice, every rank r waits for
//     its own slice before, the arrival of this slice's predecessor (step - 1) from rank r - 1, and a free slot: the slice
//     `slots` earlier consumed by rank r + 1 and that seen here (+ visible),
// and works slice_s + bytes / rate. Inside a node the slice arrives visible_s later; through the NIC it queues there for
// max(host_s, message_s + bytes / nic_Bps) and arrives hop_s after that. The last step only receives: its bytes cost in the
// last loop only, for in between other channels use the link meanwhile.
#include "models/collective/slice_ring.h"
#include "sim/check.h"
#include <math.h>

typedef struct ring_run {
    const slice_ring *ring;
    double *own_s;              // per rank of the node: end of its last slice
    double *nic_s;              // when the NIC behind it is free; only the last rank has one
    double *arrives_s, *next_s; // rank x slice: of this step, of the next
    double *consumed_s;         // rank x window: when what the rank sent was consumed, as it sees it
    uint32_t window;            // slots of the longer, the network's
    uint64_t sent;              // slices that each rank has sent before this step
    double end_s;
} ring_run;

double slice_ring_slice_bytes(const slice_ring *ring, double chunk, uint32_t slice)
{
    const double first = fmin(chunk, fmax(chunk / ring->slices, ring->least_slice_bytes));
    return slice == 0 ? first : chunk - first;
}

// bytes to work on: none in a step that only receives before the last loop.
static void work_slice(ring_run *run, uint32_t rank, uint32_t slice, double bytes, bool receives, bool sends,
                       bool last_loop)
{
    const slice_ring *ring = run->ring;
    const uint32_t g = ring->ranks_per_node, next = (rank + 1) % g;
    const bool network = g < ring->ranks && rank == g - 1;
    double at_s = run->own_s[rank];
    if (receives) at_s = fmax(at_s, run->arrives_s[rank * ring->slices + slice]);
    const uint64_t number = run->sent + slice, slots = network ? run->window : ring->slots;
    if (sends && number >= slots)
        at_s = fmax(at_s, run->consumed_s[rank * run->window + (number - slots) % run->window]);
    at_s += ring->slice_s;
    if (sends)
        at_s += bytes / (network ? ring->network_Bps : fmin(ring->link_Bps, ring->network_Bps));
    else if (last_loop)
        at_s += bytes / ring->network_Bps;
    run->own_s[rank] = at_s;
    run->end_s = fmax(run->end_s, at_s);
    if (!sends) return;
    double arrives_s = at_s + ring->visible_s;
    if (network) {
        run->nic_s[rank] = fmax(run->nic_s[rank], at_s) +
                           fmax(ring->host_s, ring->message_s + bytes / ring->nic_Bps);
        arrives_s = run->nic_s[rank] + ring->hop_s;
    }
    run->next_s[next * ring->slices + slice] = arrives_s;
}

static void run_step(ring_run *run, double chunk, uint32_t step, bool last_loop)
{
    const slice_ring *ring = run->ring;
    const uint32_t g = ring->ranks_per_node;
    const bool receives = step > 0, sends = step < ring->steps;
    for (uint32_t slice = 0; slice < ring->slices; slice++) {
        const double bytes = slice_ring_slice_bytes(ring, chunk, slice);
        for (uint32_t rank = 0; rank < g; rank++)
            work_slice(run, rank, slice, bytes, receives, sends, last_loop);
        if (!receives) continue;
        const uint64_t number = run->sent - ring->slices + slice;
        for (uint32_t rank = 0; rank < g; rank++)
            run->consumed_s[(rank + g - 1) % g * run->window + number % run->window] = run->own_s[rank] +
                                                                                       ring->visible_s;
    }
    if (sends) run->sent += ring->slices;
    double *const swapped = run->arrives_s;
    run->arrives_s = run->next_s;
    run->next_s = swapped;
}

double slice_ring_s(arena *scratch, const slice_ring *ring)
{
    SIM_ASSERT(ring->ranks > 1 && ring->ranks_per_node > 0 && ring->slices > 0 && ring->chunk_bytes > 0);
    const arena_mark_t mark = arena_mark(scratch);
    const uint32_t g = ring->ranks_per_node;
    ring_run run = { .ring = ring, .window = 2 * ring->slots };
    run.own_s = arena_array(scratch, double, g);
    run.nic_s = arena_array(scratch, double, g);
    run.arrives_s = arena_array(scratch, double, (size_t)g * ring->slices);
    run.next_s = arena_array(scratch, double, (size_t)g * ring->slices);
    run.consumed_s = arena_array(scratch, double, (size_t)g *run.window);
    const double loop_bytes = ring->chunk_bytes * ring->ranks;
    for (double left = ring->bytes; left > 0; left -= loop_bytes) {
        const double chunk = left < loop_bytes ? left / ring->ranks : ring->chunk_bytes;
        for (uint32_t step = 0; step <= ring->steps; step++)
            run_step(&run, chunk, step, left <= loop_bytes);
    }
    arena_release(scratch, mark);
    return run.end_s;
}
