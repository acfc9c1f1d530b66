// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/training/blame.h"
#include "sim/array.h"

const char *const blame_cause_words[] = { "forward",    "backward",   "recompute",  "optimizer",
                                          "launch",     "bubble",     "PP wait",    "wait for peer",
                                          "exposed TP", "exposed DP", "exposed EP", "exposed CP",
                                          "data",       "checkpoint", "fault",      "other",
                                          NULL };

typedef struct idle_interval {
    sim_time start, end;
    sim_time known; // when it was charged
    blame_cause cause;
} idle_interval;
ARRAY_OF(idle_interval, idle_array);

typedef struct lane_account {
    sim_time busy_until;
    sim_time spent[BLAME_CAUSES];
    idle_array idle; // of this step, in order of time
} lane_account;

struct blame {
    arena *arena;
    uint32_t lanes;
    sim_time start;
    lane_account *accounts;
};

bool blame_is_compute(blame_cause cause)
{
    return cause < BLAME_LAUNCH;
}

blame *blame_create(arena *a, uint32_t lanes)
{
    blame *b = arena_new(a, blame);
    b->arena = a;
    b->lanes = lanes;
    b->accounts = arena_array(a, lane_account, lanes);
    return b;
}

void blame_start_step(blame *b, sim_time now)
{
    b->start = now;
    for (lane_id l = 0; l < b->lanes; l++) {
        lane_account *account = &b->accounts[l];
        account->busy_until = now;
        memset(account->spent, 0, sizeof(account->spent));
        array_clear(&account->idle);
    }
}

sim_time blame_busy_until(const blame *b, lane_id lane)
{
    return b->accounts[lane].busy_until;
}

void blame_work(blame *b, lane_id lane, sim_time end, const sim_time parts[BLAME_CAUSES])
{
    lane_account *account = &b->accounts[lane];
    sim_time sum = 0;
    for (int cause = 0; cause < BLAME_CAUSES; cause++) {
        account->spent[cause] += parts[cause];
        sum += parts[cause];
    }
    SIM_ASSERT(account->busy_until + sum == end);
    account->busy_until = end;
}

void blame_idle(blame *b, lane_id lane, sim_time end, blame_cause cause, sim_time now)
{
    lane_account *account = &b->accounts[lane];
    if (end <= account->busy_until) return;
    account->spent[cause] += end - account->busy_until;
    *array_push(&account->idle, b->arena) =
        (idle_interval){ .start = account->busy_until, .end = end, .known = now, .cause = cause };
    account->busy_until = end;
}

// The first interval of a lane that ends after time.
static uint32_t first_after(const idle_array *idle, sim_time time)
{
    uint32_t low = 0, high = idle->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (idle->items[middle].end <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void blame_idle_for_peer(blame *b, lane_id lane, sim_time end, lane_id peer, sim_time now)
{
    if (peer == lane) {
        blame_idle(b, lane, end, BLAME_OTHER, now);
        return;
    }
    const idle_array *theirs = &b->accounts[peer].idle;
    for (uint32_t i = first_after(theirs, blame_busy_until(b, lane)); i < theirs->count; i++) {
        const idle_interval interval = theirs->items[i];
        if (interval.start >= end || interval.known >= now) break;
        blame_idle(b, lane, interval.start, BLAME_PEER, now);
        blame_idle(b, lane, interval.end < end ? interval.end : end, interval.cause, now);
    }
    blame_idle(b, lane, end, BLAME_PEER, now);
}

void blame_end_step(blame *b, sim_time end)
{
    for (lane_id l = 0; l < b->lanes; l++) {
        const lane_account *account = &b->accounts[l];
        sim_time sum = 0;
        for (int cause = 0; cause < BLAME_CAUSES; cause++)
            sum += account->spent[cause];
        SIM_ASSERT(account->busy_until == end && sum == end - b->start);
    }
}

const sim_time *blame_of_lane(const blame *b, lane_id lane)
{
    return b->accounts[lane].spent;
}
