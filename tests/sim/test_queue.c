// SPDX-License-Identifier: GPL-3.0-or-later
// The three queues against each other and against a plain list searched from end to end, on random traces of push,
// cancel, move and pop with a limit; and the promises of sim/queue.h one by one.
#include "sim/array.h"
#include "sim/bucket.h"
#include "sim/queue.h"
#include "sim/radix.h"
#include "tests/support/near.h"
#include <stdlib.h>
#include <string.h>

enum { KINDS = 3, COUNT = 600 };

static const queue_kind kinds[KINDS] = { QUEUE_BUCKET, QUEUE_RADIX, QUEUE_HEAP };

static uint64_t draw(uint64_t *state) // splitmix64
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

// The judge: what is pending, in no order; the first by (time, order) is found by looking at all of it.
typedef struct plain_item {
    sim_time time;
    uint64_t order;
    uint32_t entry;
} plain_item;

typedef struct plain_list {
    plain_item items[COUNT];
    uint32_t count;
    uint64_t order;
} plain_list;

static void plain_push(plain_list *l, uint32_t entry, sim_time time)
{
    l->items[l->count++] = (plain_item){ time, l->order++, entry };
}

static void plain_remove(plain_list *l, uint32_t entry)
{
    uint32_t i = 0;
    while (l->items[i].entry != entry)
        i++;
    l->items[i] = l->items[--l->count];
}

static uint32_t plain_pop(plain_list *l, sim_time limit, sim_time *time)
{
    const plain_item *first = NULL;
    for (uint32_t i = 0; i < l->count; i++) {
        const plain_item *item = &l->items[i];
        if (!first || item->time < first->time || (item->time == first->time && item->order < first->order))
            first = item;
    }
    if (!first || first->time > limit) return QUEUE_NONE;
    uint32_t entry = first->entry;
    *time = first->time;
    plain_remove(l, entry);
    return entry;
}

struct trace_case {
    const char *name;
    uint64_t seed;
    uint32_t operations;
    uint64_t spread;             // increments are below this
    uint64_t grain;              // and multiples of this
    uint32_t most;               // pending at one time
    uint32_t push, cancel, move; // shares out of 100; the rest are pops
    uint32_t limited;            // share of the pops, out of 100, with a near limit
    sim_time horizon;            // the trace starts over once it is near
};

static const struct trace_case traces[] = {
    { "few times, many ties", 11, 30000, 7, 1, COUNT, 40, 8, 16, 50, SIM_TIME_MAX },
    { "all at one time", 12, 6000, 1, 1, COUNT, 45, 10, 15, 30, SIM_TIME_MAX },
    { "picoseconds to microseconds", 13, 30000, 1000003, 1, COUNT, 35, 10, 20, 30, SIM_TIME_MAX },
    { "whole nanoseconds", 14, 30000, 100000, 1000, 300, 38, 5, 20, 30, SIM_TIME_MAX },
    { "far and rare", 15, 20000, UINT64_C(1) << 52, 1, 40, 40, 10, 20, 60, INT64_C(1) << 62 },
    { "far, with ties", 16, 20000, UINT64_C(1) << 54, UINT64_C(1) << 51, 80, 40, 10, 20, 40,
      INT64_C(1) << 62 },
    { "moves only leave stale entries", 17, 20000, 5000, 1, 50, 12, 2, 75, 30, SIM_TIME_MAX },
    { "cancels as often as pushes", 18, 20000, 70000, 10, 200, 48, 40, 4, 30, SIM_TIME_MAX },
    { "long lists: slots dealt out from their start", 19, 12000, 4096, 1, COUNT, 55, 1, 4, 5, SIM_TIME_MAX },
    { "nearly empty", 20, 20000, 300, 1, 3, 40, 10, 20, 50, SIM_TIME_MAX },
};

static sim_time some_time(const struct trace_case *c, uint64_t *state, sim_time now)
{
    uint64_t spread = c->spread;
    // A quarter of the increments are short, so that near and far times mix.
    if (draw(state) % 4 == 0) spread = spread / 1000 + 1;
    return now + (sim_time)(draw(state) % spread / c->grain * c->grain);
}

typedef struct rig {
    queue *queues[KINDS];
    plain_list plain;
    uint8_t pending[COUNT];
    sim_time now;
} rig;

static void rig_open(rig *r)
{
    memset(r, 0, sizeof *r);
    for (int k = 0; k < KINDS; k++)
        r->queues[k] = queue_create(kinds[k]);
}

static void rig_close(rig *r)
{
    for (int k = 0; k < KINDS; k++)
        queue_destroy(r->queues[k]);
}

// Pops from all; they must agree on entry and time. False: nothing up to limit.
static bool rig_pop(rig *r, sim_time limit)
{
    sim_time want_time = -1;
    uint32_t want = plain_pop(&r->plain, limit, &want_time);
    for (int k = 0; k < KINDS; k++) {
        sim_time time = -1;
        uint32_t got = queue_pop(r->queues[k], limit, &time);
        if (got != want || time != want_time) print_error("%s differs\n", queue_kind_words[kinds[k]]);
        assert_int_equal(got, want);
        assert_int_equal(time, want_time);
    }
    if (want == QUEUE_NONE) return false;
    r->now = want_time;
    r->pending[want] = 0;
    return true;
}

static void rig_change(rig *r, const struct trace_case *c, uint64_t *state, uint32_t chance)
{
    uint32_t entry = (uint32_t)(draw(state) % COUNT);
    sim_time time = some_time(c, state, r->now);
    if (chance < c->push) {
        if (r->pending[entry] || r->plain.count == c->most) return;
        plain_push(&r->plain, entry, time);
        for (int k = 0; k < KINDS; k++)
            queue_push(r->queues[k], entry, time);
        r->pending[entry] = 1;
        return;
    }
    if (r->plain.count == 0) return;
    entry = r->plain.items[draw(state) % r->plain.count].entry;
    plain_remove(&r->plain, entry);
    if (chance < c->push + c->cancel) {
        for (int k = 0; k < KINDS; k++)
            queue_cancel(r->queues[k], entry);
        r->pending[entry] = 0;
    } else {
        plain_push(&r->plain, entry, time);
        for (int k = 0; k < KINDS; k++)
            queue_move(r->queues[k], entry, time);
    }
}

static void queues_agree_on_random_trace(void **unused)
{
    const struct trace_case *c = *unused;
    for (uint64_t repeat = 0; repeat < 3; repeat++) {
        uint64_t state = c->seed * 1000003 + repeat;
        rig *r = malloc(sizeof *r);
        assert_non_null(r);
        rig_open(r);
        uint32_t refused = 0;
        uint32_t popped = 0;
        for (uint32_t i = 0; i < c->operations; i++) {
            uint32_t chance = (uint32_t)(draw(&state) % 100);
            if (chance < c->push + c->cancel + c->move) {
                rig_change(r, c, &state, chance);
            } else {
                bool limited = draw(&state) % 100 < c->limited;
                bool found = rig_pop(r, limited ? some_time(c, &state, r->now) : SIM_TIME_MAX);
                popped += found;
                refused += !found && r->plain.count > 0;
            }
            for (int k = 0; k < KINDS; k++) {
                assert_int_equal(queue_count(r->queues[k]), r->plain.count);
                if (i % 64 == 0) queue_verify(r->queues[k]);
            }
            if (r->now > c->horizon) {
                rig_close(r);
                rig_open(r);
            }
        }
        while (rig_pop(r, SIM_TIME_MAX))
            popped++;
        for (int k = 0; k < KINDS; k++) {
            queue_verify(r->queues[k]);
            assert_int_equal(queue_count(r->queues[k]), 0);
        }
        // A trace that never pops or never refuses would prove nothing.
        assert_true(popped > c->operations / 100);
        assert_true(refused > 0 || c->spread == 1);
        rig_close(r);
        free(r);
    }
}

static void assert_pops(queue *q, sim_time limit, uint32_t want, sim_time want_time)
{
    sim_time time = -7;
    assert_int_equal(queue_pop(q, limit, &time), want);
    if (want != QUEUE_NONE) assert_int_equal(time, want_time);
    queue_verify(q);
}

static void equal_times_leave_in_order_of_push(void **unused)
{
    (void)unused;
    for (int k = 0; k < KINDS; k++) {
        queue *q = queue_create(kinds[k]);
        queue_push(q, 90, 5077);
        queue_push(q, 3, 5077);
        queue_push(q, 41, 5076);
        queue_push(q, 7, 5077);
        queue_move(q, 90, 5077); // behind 3 and 7, although its time is the same
        assert_pops(q, SIM_TIME_MAX, 41, 5076);
        queue_push(q, 2, 5077); // pushed after time has moved on: still behind
        assert_pops(q, SIM_TIME_MAX, 3, 5077);
        queue_push(q, 3, 5077); // at the time of the last pop
        assert_pops(q, 5077, 7, 5077);
        assert_pops(q, 5077, 90, 5077);
        assert_pops(q, 5077, 2, 5077);
        assert_pops(q, 5077, 3, 5077);
        assert_pops(q, SIM_TIME_MAX, QUEUE_NONE, 0);
        queue_destroy(q);
    }
}

static void refused_pop_changes_nothing(void **unused)
{
    (void)unused;
    for (int k = 0; k < KINDS; k++) {
        queue *q = queue_create(kinds[k]);
        queue_push(q, 1, 100);
        assert_pops(q, 100, 1, 100);
        queue_push(q, 2, 1000000007);
        queue_push(q, 3, 1000000009);
        assert_pops(q, 1000000006, QUEUE_NONE, 0);
        assert_pops(q, 1000000006, QUEUE_NONE, 0);
        queue_push(q, 4, 101); // earlier than all that the refused pop has looked at
        assert_pops(q, 100, QUEUE_NONE, 0);
        assert_pops(q, 1000000006, 4, 101);
        queue_push(q, 5, 999999999);
        queue_cancel(q, 2);
        assert_pops(q, 0, QUEUE_NONE, 0); // a limit in the past
        assert_pops(q, 999999999, 5, 999999999);
        assert_pops(q, 1000000008, QUEUE_NONE, 0);
        queue_move(q, 3, 1000000001);
        assert_pops(q, 1000000008, 3, 1000000001);
        assert_pops(q, SIM_TIME_MAX, QUEUE_NONE, 0);
        queue_push(q, 6, 1000000001);
        assert_pops(q, SIM_TIME_MAX, 6, 1000000001);
        queue_destroy(q);
    }
}

// Long slots are dealt out from their start, but not when the limit lies inside the slot and may lie before its first.
static void refused_pop_leaves_a_long_slot_alone(void **unused)
{
    (void)unused;
    for (int k = 0; k < KINDS; k++) {
        queue *q = queue_create(kinds[k]);
        for (uint32_t entry = 0; entry < 200; entry++)
            queue_push(q, entry, 5 * 4096 + 1000 + entry % 50);
        assert_pops(q, 5 * 4096 + 999, QUEUE_NONE, 0);
        queue_push(q, 500, 5 * 4096 - 7);
        assert_pops(q, 5 * 4096 + 999, 500, 5 * 4096 - 7);
        assert_pops(q, 5 * 4096 + 999, QUEUE_NONE, 0);
        queue_push(q, 501, 5 * 4096);
        assert_pops(q, 5 * 4096 + 4095, 501, 5 * 4096);
        for (uint32_t i = 0; i < 200; i++)
            assert_pops(q, 5 * 4096 + 1049, i / 4 + i % 4 * 50, 5 * 4096 + 1000 + i / 4);
        queue_destroy(q);
    }
}

static void ends_of_the_time_axis(void **unused)
{
    (void)unused;
    for (int k = 0; k < KINDS; k++) {
        queue *q = queue_create(kinds[k]);
        queue_push(q, 0, SIM_TIME_MAX);
        queue_push(q, 1, 0);
        queue_push(q, 2, INT64_C(1) << 62);
        queue_push(q, 3, SIM_TIME_MAX);
        queue_push(q, 4, SIM_TIME_MAX - 1);
        assert_pops(q, -1, QUEUE_NONE, 0);
        assert_pops(q, 0, 1, 0);
        assert_pops(q, (INT64_C(1) << 62) - 1, QUEUE_NONE, 0);
        assert_pops(q, SIM_TIME_MAX, 2, INT64_C(1) << 62);
        assert_pops(q, SIM_TIME_MAX - 1, 4, SIM_TIME_MAX - 1);
        assert_pops(q, SIM_TIME_MAX - 1, QUEUE_NONE, 0);
        assert_pops(q, SIM_TIME_MAX, 0, SIM_TIME_MAX);
        assert_pops(q, SIM_TIME_MAX, 3, SIM_TIME_MAX);
        queue_destroy(q);
    }
}

static void distant_entries_make_room(void **unused)
{
    (void)unused;
    for (int k = 0; k < KINDS; k++) {
        queue *q = queue_create(kinds[k]);
        queue_push(q, 100000, 30);
        queue_push(q, 5, 20);
        assert_pops(q, SIM_TIME_MAX, 5, 20);
        assert_pops(q, SIM_TIME_MAX, 100000, 30);
        queue_destroy(q);
    }
}

static uint64_t radix_items(const radix *r)
{
    uint64_t items = 0;
    for (uint32_t i = 0; i < RADIX_BINS; i++)
        items += r->bins[i].count;
    return items;
}

static void stale_entries_of_the_radix_heap_are_bounded(void **unused)
{
    (void)unused;
    radix r;
    radix_open(&r);
    for (uint32_t entry = 0; entry < 100; entry++)
        radix_push(&r, entry, 1000 + entry);
    for (uint32_t i = 0; i < 100000; i++) {
        radix_move(&r, i % 100, 2000 + i);
        assert_true(radix_items(&r) <= 2 * 100 + RADIX_STALE_SLACK);
    }
    radix_verify(&r, 100);
    for (uint32_t entry = 0; entry < 100; entry++)
        radix_cancel(&r, entry);
    assert_true(radix_items(&r) <= RADIX_STALE_SLACK);
    radix_verify(&r, 0);
    radix_close(&r);
}

// Stale items that lie late stay while what lives is popped: their share must not grow by that.
static void stale_entries_stay_bounded_while_others_are_popped(void **unused)
{
    (void)unused;
    radix r;
    uint64_t time;
    radix_open(&r);
    for (uint32_t entry = 0; entry < COUNT; entry++)
        radix_push(&r, entry, (UINT64_C(1) << 40) + entry);
    for (uint32_t entry = 0; entry < COUNT; entry++)
        radix_move(&r, entry, 1000 + entry);
    for (uint32_t entry = 0; entry < COUNT; entry++) {
        assert_int_equal(radix_pop(&r, UINT64_MAX, &time), entry);
        assert_int_equal(time, 1000 + entry);
        radix_verify(&r, COUNT - 1 - entry);
    }
    radix_close(&r);
}

// After 2^32 generations the first one comes back: an item left from then would come to life again.
static void generations_of_the_radix_heap_come_round(void **unused)
{
    (void)unused;
    radix r;
    uint64_t time = 0;
    radix_open(&r);
    radix_push(&r, 0, 500); // generation 1
    radix_cancel(&r, 0);
    assert_int_equal(r.stale, 1);
    r.generations[0] = UINT32_MAX - 1;
    radix_push(&r, 0, 40);
    assert_int_equal(radix_pop(&r, 40, &time), 0);
    radix_push(&r, 0, 900); // generation 1 again
    assert_int_equal(r.generations[0], 1);
    radix_verify(&r, 1);
    assert_int_equal(radix_pop(&r, 899, &time), QUEUE_NONE);
    assert_int_equal(radix_pop(&r, 900, &time), 0);
    assert_int_equal(time, 900);
    radix_close(&r);
}

static void names_of_the_kinds(void **unused)
{
    (void)unused;
    assert_string_equal(queue_kind_words[QUEUE_BUCKET], "bucket");
    assert_string_equal(queue_kind_words[QUEUE_RADIX], "radix");
    assert_string_equal(queue_kind_words[QUEUE_HEAP], "heap");
}

int main(void)
{
    const struct CMUnitTest single[] = {
        cmocka_unit_test(equal_times_leave_in_order_of_push),
        cmocka_unit_test(refused_pop_changes_nothing),
        cmocka_unit_test(refused_pop_leaves_a_long_slot_alone),
        cmocka_unit_test(ends_of_the_time_axis),
        cmocka_unit_test(distant_entries_make_room),
        cmocka_unit_test(stale_entries_of_the_radix_heap_are_bounded),
        cmocka_unit_test(stale_entries_stay_bounded_while_others_are_popped),
        cmocka_unit_test(generations_of_the_radix_heap_come_round),
        cmocka_unit_test(names_of_the_kinds),
    };
    struct CMUnitTest tests[ARRAY_COUNT(single) + ARRAY_COUNT(traces)];
    memcpy(tests, single, sizeof single);
    for (size_t i = 0; i < ARRAY_COUNT(traces); i++)
        tests[ARRAY_COUNT(single) + i] = (struct CMUnitTest){ .name = traces[i].name,
                                                              .test_func = queues_agree_on_random_trace,
                                                              .initial_state = (void *)&traces[i] };
    return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
