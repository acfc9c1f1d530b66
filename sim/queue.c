// SPDX-License-Identifier: GPL-3.0-or-later
// sim/queue.c: the interface: one switch per call, and what the three implementations have in common.
#include "sim/queue.h"
#include "sim/bucket.h"
#include "sim/check.h"
#include "sim/heap.h"
#include "sim/radix.h"
#include <stdio.h>
#include <stdlib.h>

const char *const queue_kind_words[] = { "bucket", "radix", "heap", NULL };

struct queue {
    queue_kind kind;
    uint32_t count;
    // Nothing is pending before this time: what the last refusal saw, lowered by each push. It spares a run in many
    // short limits from searching the same far slot at each of them.
    sim_time none_before;
    union {
        bucket bucket;
        radix radix;
        heap heap;
    } as;
};

static _Noreturn void queue_out_of_memory(uint64_t bytes)
{
    fflush(stdout);
    fprintf(stderr, "windtunnel: error: out of memory: the event queue asked for %llu bytes\n",
            (unsigned long long)bytes);
    exit(SIM_EXIT_INPUT);
}

void *queue_grow_items(void *items, uint32_t *capacity, uint64_t count, size_t size)
{
    uint64_t wanted = *capacity ? 2 * (uint64_t)*capacity : 64;
    while (wanted < count)
        wanted *= 2;
    if (wanted > UINT32_MAX) wanted = UINT32_MAX;
    SIM_ASSERT(wanted >= count);
    void *grown = realloc(items, wanted * size);
    if (!grown) queue_out_of_memory(wanted * size);
    *capacity = (uint32_t)wanted;
    return grown;
}

queue *queue_create(queue_kind kind)
{
    queue *q = calloc(1, sizeof *q);
    if (!q) queue_out_of_memory(sizeof *q);
    q->kind = kind;
    switch (kind) {
    case QUEUE_BUCKET: bucket_open(&q->as.bucket); break;
    case QUEUE_RADIX: radix_open(&q->as.radix); break;
    case QUEUE_HEAP: heap_open(&q->as.heap); break;
    }
    return q;
}

void queue_destroy(queue *q)
{
    if (!q) return;
    switch (q->kind) {
    case QUEUE_BUCKET: bucket_close(&q->as.bucket); break;
    case QUEUE_RADIX: radix_close(&q->as.radix); break;
    case QUEUE_HEAP: heap_close(&q->as.heap); break;
    }
    free(q);
}

void queue_push(queue *q, uint32_t entry, sim_time time)
{
    SIM_ASSERT(time >= 0 && entry != QUEUE_NONE);
    q->none_before = time < q->none_before ? time : q->none_before;
    q->count++;
    switch (q->kind) {
    case QUEUE_BUCKET: bucket_push(&q->as.bucket, entry, (uint64_t)time); break;
    case QUEUE_RADIX: radix_push(&q->as.radix, entry, (uint64_t)time); break;
    case QUEUE_HEAP: heap_push(&q->as.heap, entry, (uint64_t)time); break;
    }
}

void queue_cancel(queue *q, uint32_t entry)
{
    switch (q->kind) {
    case QUEUE_BUCKET: bucket_cancel(&q->as.bucket, entry); break;
    case QUEUE_RADIX: radix_cancel(&q->as.radix, entry); break;
    case QUEUE_HEAP: heap_cancel(&q->as.heap, entry); break;
    }
    q->count--;
}

void queue_move(queue *q, uint32_t entry, sim_time time)
{
    SIM_ASSERT(time >= 0);
    q->none_before = time < q->none_before ? time : q->none_before;
    switch (q->kind) {
    case QUEUE_BUCKET: bucket_move(&q->as.bucket, entry, (uint64_t)time); break;
    case QUEUE_RADIX: radix_move(&q->as.radix, entry, (uint64_t)time); break;
    case QUEUE_HEAP: heap_move(&q->as.heap, entry, (uint64_t)time); break;
    }
}

uint32_t queue_pop(queue *q, sim_time limit, sim_time *time)
{
    uint32_t entry = QUEUE_NONE;
    uint64_t found = 0;
    if (limit < q->none_before || limit < 0) return QUEUE_NONE;
    switch (q->kind) {
    case QUEUE_BUCKET: entry = bucket_pop(&q->as.bucket, (uint64_t)limit, &found); break;
    case QUEUE_RADIX: entry = radix_pop(&q->as.radix, (uint64_t)limit, &found); break;
    case QUEUE_HEAP: entry = heap_pop(&q->as.heap, (uint64_t)limit, &found); break;
    }
    if (entry == QUEUE_NONE) {
        q->none_before = found < SIM_TIME_MAX ? (sim_time)found : SIM_TIME_MAX;
        return QUEUE_NONE;
    }
    q->count--;
    *time = (sim_time)found;
    return entry;
}

uint32_t queue_count(const queue *q)
{
    return q->count;
}

void queue_verify(const queue *q)
{
    switch (q->kind) {
    case QUEUE_BUCKET: bucket_verify(&q->as.bucket, q->count); break;
    case QUEUE_RADIX: radix_verify(&q->as.radix, q->count); break;
    case QUEUE_HEAP: heap_verify(&q->as.heap, q->count); break;
    }
}
