// SPDX-License-Identifier: GPL-3.0-or-later
// bench_queue: the hold model on our queues and on std::multimap, side by side in one run: the contenders take turns
// (A-B-C-A-B-C), the medians of CPU time are compared, and a hash over everything popped proves that all gave the same
// order. It fails when they did not; it never fails for being slow (tests/bench/README.md).
//     bench_queue            sizes 1e3, 1e5, 1e6
//     bench_queue --quick    small sizes, a fraction of a second: run by ctest so that the program never rots
#include "sim/check.h"
#include "sim/queue.h"
#include "tests/bench/bench_peer.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CONTENDERS = 3, ROUNDS = 7 }; // multimap, bucket, radix

// 1 us in ticks of 1 ps: at a million pending one event per tick, with ties.
static const double mean_increment = 1e6;

static void make_increments(uint32_t *table)
{
    uint64_t state = UINT64_C(0x243F6A8885A308D3); // the fraction of pi, for want of a reason
    for (int i = 0; i < HOLD_TABLE; i++) {
        double uniform = ((double)(hold_random(&state) >> 11) + 0.5) * 0x1p-53;
        table[i] = 1 + (uint32_t)(-mean_increment * log(uniform));
    }
}

static void queue_hold(queue *q, uint64_t holds, hold_stream *stream)
{
    for (uint64_t i = 0; i < holds; i++) {
        sim_time time = 0;
        uint32_t entry = queue_pop(q, SIM_TIME_MAX, &time);
        hold_note(stream, time, entry);
        queue_push(q, entry, time + hold_increment(stream));
    }
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y); // equal durations are the same value: which one comes first cannot show
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    return values[count / 2];
}

typedef struct contenders {
    multimap_peer *peer;
    queue *queues[CONTENDERS]; // [0] is not used: the peer stands there
    hold_stream streams[CONTENDERS];
} contenders;

static void contender_hold(contenders *all, int which, uint64_t holds)
{
    if (which == 0)
        multimap_hold(all->peer, holds, &all->streams[0]);
    else
        queue_hold(all->queues[which], holds, &all->streams[which]);
}

static void contenders_open(contenders *all, const uint32_t *increments, uint32_t size)
{
    for (int i = 0; i < CONTENDERS; i++)
        all->streams[i] = (hold_stream){ .increments = increments, .state = size };
    all->peer = multimap_create();
    multimap_fill(all->peer, size, &all->streams[0]);
    all->queues[1] = queue_create(QUEUE_BUCKET);
    all->queues[2] = queue_create(QUEUE_RADIX);
    for (int i = 1; i < CONTENDERS; i++)
        for (uint32_t entry = 0; entry < size; entry++)
            queue_push(all->queues[i], entry, hold_increment(&all->streams[i]));
}

static void contenders_close(contenders *all)
{
    multimap_destroy(all->peer);
    for (int i = 1; i < CONTENDERS; i++)
        queue_destroy(all->queues[i]);
}

// Prints one row; false when the contenders did not pop the same sequence.
static bool measure(const uint32_t *increments, uint32_t size, uint64_t holds)
{
    contenders all = { 0 };
    double seconds[CONTENDERS][ROUNDS];
    double ns[CONTENDERS];
    contenders_open(&all, increments, size);
    for (int round = 0; round < ROUNDS; round++) {
        for (int which = 0; which < CONTENDERS; which++) {
            contender_hold(&all, which, holds / 4 + 1); // brings its memory back into the caches
            clock_t start = clock();
            contender_hold(&all, which, holds);
            seconds[which][round] = (double)(clock() - start) / CLOCKS_PER_SEC;
        }
    }
    for (int which = 0; which < CONTENDERS; which++)
        ns[which] = median(seconds[which], ROUNDS) * 1e9 / (double)holds;
    bool same = all.streams[0].hash == all.streams[1].hash && all.streams[0].hash == all.streams[2].hash;
    printf("%9" PRIu32 " %10.1f %10.1f (%5.2f) %10.1f (%5.2f)   %016" PRIx64 " %s\n", size, ns[0], ns[1],
           ns[0] / ns[1], ns[2], ns[0] / ns[2], all.streams[0].hash, same ? "same" : "DIFFERENT");
    contenders_close(&all);
    return same;
}

int main(int argc, char **argv)
{
    uint32_t *increments = malloc(HOLD_TABLE * sizeof *increments);
    bool quick = argc == 2 && strcmp(argv[1], "--quick") == 0;
    if (argc > 1 && !quick) {
        fprintf(stderr, "usage: bench_queue [--quick]\n");
        return 2;
    }
    if (!increments) {
        fprintf(stderr, "bench_queue: out of memory\n");
        return 2;
    }
    make_increments(increments);
    printf(
        "hold model, exponential increments, CPU time per hold in ns, medians of %d rounds taken in turn\n",
        ROUNDS);
    printf("(how many times faster than std::multimap)\n");
    printf("%9s %10s %18s %18s   %s\n", "pending", "multimap", "bucket", "radix", "order");
    bool same = true;
    if (quick) {
        same &= measure(increments, 100, 2000);
        same &= measure(increments, 3000, 10000);
    } else {
        same &= measure(increments, 1000, 500000);
        same &= measure(increments, 100000, 500000);
        same &= measure(increments, 1000000, 1000000);
    }
    free(increments);
    return same ? 0 : 1;
}
