// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/array.h"
#include "sim/engine.h"
#include "tests/support/near.h"
#include <string.h>

enum { LOG_MAX = 4096 };

// A little machine for tests: events carry a letter as their target, and a script says what handling that letter does.
typedef struct script_line script_line;
typedef struct bench {
    arena *arena;
    sim *s;
    uint16_t kinds[SIM_PHASES];
    const script_line *script;
    sim_handle handles[256]; // by letter
    char log[LOG_MAX];       // letters in the order of handling
    uint32_t count;
    sim_event seen[256]; // by letter, the last event handled
} bench;

typedef enum deed { END, SCHEDULE, MOVE, CANCEL, STOP } deed;
struct script_line {
    char on; // when this letter is handled
    deed deed;
    char letter;     // of the event that it happens to
    sim_phase phase; // of a scheduled event
    sim_time delay;  // from now
};

static void bench_schedule(bench *b, char letter, sim_phase phase, sim_time time)
{
    b->handles[(uint8_t)letter] = sim_schedule(b->s, time, b->kinds[phase], (uint32_t)letter,
                                               7u + (uint32_t)letter);
}

static void bench_on_event(sim *s, void *owner, const sim_event *event)
{
    bench *b = owner;
    char letter = (char)event->target;
    assert_true(b->count < LOG_MAX - 1);
    assert_int_equal(event->time, sim_now(s));
    assert_int_equal(event->extra, 7 + event->target);
    assert_int_equal(event->reserved, 0);
    assert_ptr_equal(sim_current(s), event);
    assert_false(sim_pending(s, b->handles[event->target])); // its own handle is stale by now
    b->log[b->count++] = letter;
    b->seen[event->target] = *event;
    for (const script_line *l = b->script; l && l->deed != END; l++) {
        if (l->on != letter) continue;
        sim_handle handle = b->handles[(uint8_t)l->letter];
        switch (l->deed) {
        case SCHEDULE: bench_schedule(b, l->letter, l->phase, sim_now(s) + l->delay); break;
        case MOVE: sim_move(s, handle, sim_now(s) + l->delay); break;
        case CANCEL: sim_cancel(s, handle); break;
        case STOP: sim_stop(s); break;
        case END: break;
        }
    }
}

static void bench_open(bench *b, const sim_options *options, const script_line *script)
{
    static const char *const names[] = { "act", "settle", "observe" };
    memset(b, 0, sizeof *b);
    b->arena = arena_create("engine test");
    assert_non_null(b->arena);
    b->s = sim_create(b->arena, options);
    b->script = script;
    for (sim_phase phase = 0; phase < SIM_PHASES; phase++)
        b->kinds[phase] = sim_add_kind(b->s, names[phase], phase, bench_on_event, b);
}

static void bench_close(bench *b)
{
    sim_destroy(b->s);
    arena_destroy(b->arena);
}

static const sim_options each_queue[] = { { .queue = QUEUE_BUCKET },
                                          { .queue = QUEUE_RADIX },
                                          { .queue = QUEUE_HEAP } };

struct order_case {
    const char *name;
    const char *start; // letters scheduled at the outset: letter, phase digit and time digit, three by three
    script_line script[8];
    const char *want;
    const char *want_reversed; // each phase's list from the tail
    uint32_t rounds, instants;
};

static const struct order_case orders[] = {
    { "ties: first in, first out", "a05b05c04d05", { { 0 } }, "cabd", "cdba", 2, 2 },
    { "phases before order of scheduling", "a25b15c05d25e15f05", { { 0 } }, "cfbead", "fcebda", 1, 1 },
    { "now, same phase: behind those waiting",
      "a05b05",
      { { 'a', SCHEDULE, 'c', SIM_ACT, 0 } },
      "abc",
      "bac",
      1,
      1 },
    { "now, later phase: same round",
      "a05b05",
      { { 'a', SCHEDULE, 'c', SIM_OBSERVE, 0 }, { 'a', SCHEDULE, 'd', SIM_SETTLE, 0 } },
      "abdc",
      "badc",
      1,
      1 },
    { "now, earlier phase: another round after OBSERVE",
      "a15b25",
      { { 'a', SCHEDULE, 'c', SIM_ACT, 0 }, { 'c', SCHEDULE, 'd', SIM_SETTLE, 0 } },
      "abcd",
      "abcd",
      2,
      1 },
    { "an observer may act", "a25", { { 'a', SCHEDULE, 'b', SIM_ACT, 0 } }, "ab", "ab", 2, 1 },
    { "one tick later is another instant",
      "a05",
      { { 'a', SCHEDULE, 'b', SIM_ACT, 1 }, { 'b', SCHEDULE, 'c', SIM_SETTLE, 0 } },
      "abc",
      "abc",
      2,
      2 },
    { "cancel: queued", "a01b05c05", { { 'a', CANCEL, 'b', 0, 0 } }, "ac", "ac", 2, 2 },
    { "cancel: due now, same phase",
      "a05b05",
      { { 'a', CANCEL, 'b', 0, 0 }, { 'b', CANCEL, 'a', 0, 0 } },
      "a",
      "b",
      1,
      1 },
    { "cancel: due now, later phase, middle of three",
      "a05b15c15d15",
      { { 'a', CANCEL, 'c', 0, 0 } },
      "abd",
      "adb",
      1,
      1 },
    { "move: queued, later", "a01b02c03", { { 'a', MOVE, 'b', 0, 4 } }, "acb", "acb", 3, 3 },
    { "move: queued, behind its equals", "a01b05c05d05", { { 'a', MOVE, 'b', 0, 4 } }, "acdb", "abdc", 2, 2 },
    { "move: queued, to now", "a01b05c01", { { 'a', MOVE, 'b', 0, 0 } }, "acb", "cab", 1, 1 },
    { "move: queued, to now, earlier phase", "a11b05", { { 'a', MOVE, 'b', 0, 0 } }, "ab", "ab", 2, 1 },
    { "move: due now, to later", "a05b15c15", { { 'a', MOVE, 'b', 0, 1 } }, "acb", "acb", 2, 2 },
    { "move: due now, to now: to the end",
      "a05b15c15d15",
      { { 'a', MOVE, 'b', 0, 0 } },
      "acdb",
      "abdc",
      1,
      1 },
    { "move: there and back in one handler",
      "a01b05c01",
      { { 'a', MOVE, 'b', 0, 0 }, { 'a', MOVE, 'b', 0, 3 }, { 'a', MOVE, 'b', 0, 0 } },
      "acb",
      "cab",
      1,
      1 },
};

static void bench_start(bench *b, const char *start)
{
    for (const char *c = start; *c; c += 3)
        bench_schedule(b, c[0], (sim_phase)(c[1] - '0'), c[2] - '0');
}

static void order_of_handling(void **state)
{
    const struct order_case *c = *state;
    for (size_t i = 0; i < 2 * ARRAY_COUNT(each_queue); i++) {
        bench b;
        sim_options options = each_queue[i / 2];
        options.reverse_phases = i % 2;
        bench_open(&b, &options, c->script);
        bench_start(&b, c->start);
        assert_int_equal(sim_run(b.s, SIM_TIME_MAX), SIM_DRAINED);
        assert_string_equal(b.log, options.reverse_phases ? c->want_reversed : c->want);
        sim_counters counters = sim_counters_of(b.s);
        assert_int_equal(counters.rounds, c->rounds);
        assert_int_equal(counters.instants, c->instants);
        assert_int_equal(counters.handled, strlen(c->want));
        assert_int_equal(counters.scheduled, counters.handled + counters.cancelled);
        assert_null(sim_current(b.s));
        bench_close(&b);
    }
}

static void limit_is_included_and_the_run_goes_on(void **unused)
{
    (void)unused;
    bench b;
    bench_open(&b, NULL, NULL);
    bench_start(&b, "a02b04c06");
    assert_int_equal(sim_run(b.s, 1), SIM_REACHED_LIMIT);
    assert_int_equal(sim_now(b.s), 0);
    assert_int_equal(sim_run(b.s, 4), SIM_REACHED_LIMIT);
    assert_string_equal(b.log, "ab");
    assert_int_equal(sim_now(b.s), 4);
    bench_schedule(&b, 'd', SIM_SETTLE, 4); // the instant that has just been handled, again
    bench_schedule(&b, 'e', SIM_ACT, 4);
    bench_schedule(&b, 'f', SIM_ACT, 5); // before what the limit had hidden
    assert_int_equal(sim_run(b.s, 5), SIM_REACHED_LIMIT);
    assert_string_equal(b.log, "abedf");
    assert_int_equal(sim_run(b.s, 6), SIM_DRAINED);
    assert_string_equal(b.log, "abedfc");
    assert_int_equal(sim_run(b.s, 6), SIM_DRAINED);
    bench_close(&b);
}

static void stop_ends_after_the_instant(void **unused)
{
    (void)unused;
    static const script_line script[] = { { 'a', STOP, 0, 0, 0 },
                                          { 'a', SCHEDULE, 'z', SIM_SETTLE, 0 },
                                          { 'z', SCHEDULE, 'y', SIM_ACT, 0 },
                                          { 0 } };
    bench b;
    bench_open(&b, NULL, script);
    bench_start(&b, "a01b01c02");
    assert_int_equal(sim_run(b.s, SIM_TIME_MAX), SIM_STOPPED);
    assert_string_equal(b.log, "abzy");
    assert_int_equal(sim_run(b.s, SIM_TIME_MAX), SIM_DRAINED);
    assert_string_equal(b.log, "abzyc");
    bench_close(&b);
}

static void causes_lead_back(void **unused)
{
    (void)unused;
    static const script_line script[] = { { 'b', SCHEDULE, 'c', SIM_ACT, 3 },
                                          { 'b', SCHEDULE, 'd', SIM_SETTLE, 0 },
                                          { 'e', MOVE, 'c', 0, 9 },
                                          { 'd', SCHEDULE, 'e', SIM_ACT, 1 },
                                          { 0 } };
    bench b;
    bench_open(&b, NULL, script);
    bench_start(&b, "a01b02");
    assert_int_equal(sim_run(b.s, SIM_TIME_MAX), SIM_DRAINED);
    assert_string_equal(b.log, "abdec");
    const struct {
        char letter;
        uint64_t sequence, cause;
    } want[] = {
        { 'a', 1, 0 }, { 'b', 2, 0 }, { 'c', 3, 2 }, { 'd', 4, 2 }, { 'e', 5, 4 },
    }; // c was moved by e and is still there because of b
    for (size_t i = 0; i < ARRAY_COUNT(want); i++) {
        assert_int_equal(b.seen[(uint8_t)want[i].letter].sequence, want[i].sequence);
        assert_int_equal(b.seen[(uint8_t)want[i].letter].cause, want[i].cause);
    }
    assert_int_equal(b.seen['c'].time, 12);
    bench_schedule(&b, 'f', SIM_ACT, 20); // from outside again
    sim_run(b.s, SIM_TIME_MAX);
    assert_int_equal(b.seen['f'].cause, 0);
    bench_close(&b);
}

static void handles_go_stale(void **unused)
{
    (void)unused;
    bench b;
    bench_open(&b, NULL, NULL);
    assert_false(sim_pending(b.s, (sim_handle){ 0 }));
    bench_schedule(&b, 'a', SIM_ACT, 5);
    sim_handle first = b.handles['a'];
    assert_true(sim_pending(b.s, first));
    sim_move(b.s, first, 6);
    assert_true(sim_pending(b.s, first));
    sim_cancel(b.s, first);
    assert_false(sim_pending(b.s, first));
    bench_schedule(&b, 'b', SIM_ACT, 5); // takes the same slot
    assert_int_equal(b.handles['b'].index1, first.index1);
    assert_false(sim_pending(b.s, first));
    assert_true(sim_pending(b.s, b.handles['b']));
    sim_run(b.s, SIM_TIME_MAX);
    assert_false(sim_pending(b.s, b.handles['b']));
    bench_close(&b);
}

static void rounds_without_end_are_a_livelock(void **unused)
{
    (void)unused;
    static const script_line script[] = { { 'a', SCHEDULE, 's', SIM_SETTLE, 0 },
                                          { 's', SCHEDULE, 'a', SIM_ACT, 0 },
                                          { 0 } };
    for (int reverse = 0; reverse < 2; reverse++) {
        bench b;
        bench_open(&b, &(sim_options){ .reverse_phases = reverse }, script);
        bench_start(&b, "x01a02");
        assert_int_equal(sim_run(b.s, SIM_TIME_MAX), SIM_LIVELOCK);
        assert_int_equal(sim_now(b.s), 2);
        assert_int_equal(sim_counters_of(b.s).rounds, 1 + SIM_ROUNDS_MAX);
        assert_int_equal(b.count, 1 + 2 * SIM_ROUNDS_MAX);
        assert_non_null(sim_current(b.s)); // so that the report can name it
        assert_string_equal(sim_kind_name(b.s, sim_current(b.s)->kind), "settle");
        bench_close(&b);
    }
}

static void count_down(sim *s, void *owner, const sim_event *event)
{
    (void)owner;
    if (event->target > 0) sim_schedule(s, sim_now(s), event->kind, event->target - 1, 0);
}

static void phase_without_end_is_a_livelock(void **unused)
{
    (void)unused;
    for (uint32_t length = 5000; length <= 5001; length++) {
        bench b;
        bench_open(&b, &(sim_options){ .chained_max = 5000 }, NULL);
        uint16_t kind = sim_add_kind(b.s, "count_down", SIM_ACT, count_down, NULL);
        sim_schedule(b.s, 8, kind, 5000, 0); // each instant counts anew
        sim_schedule(b.s, 9, kind, length, 0);
        assert_int_equal(sim_run(b.s, SIM_TIME_MAX), length == 5000 ? SIM_DRAINED : SIM_LIVELOCK);
        bench_close(&b);
    }
}

// Two kinds that take turns: SETTLE, ACT, SETTLE, ... The ACT of one round leads to the SETTLE of the same round.
static void ping_pong(sim *s, void *owner, const sim_event *event)
{
    const uint16_t *kinds = owner;
    if (event->target > 0) sim_schedule(s, sim_now(s), kinds[event->kind == kinds[0]], event->target - 1, 0);
}

static void last_allowed_round_is_allowed(void **unused)
{
    (void)unused;
    for (uint32_t rounds = SIM_ROUNDS_MAX; rounds <= SIM_ROUNDS_MAX + 1; rounds++) {
        bench b;
        uint16_t kinds[2];
        bench_open(&b, NULL, NULL);
        kinds[0] = sim_add_kind(b.s, "ping", SIM_SETTLE, ping_pong, kinds);
        kinds[1] = sim_add_kind(b.s, "pong", SIM_ACT, ping_pong, kinds);
        sim_schedule(b.s, 3, kinds[0], 2 * (rounds - 1), 0); // two events each round, but one in the first
        assert_int_equal(sim_run(b.s, SIM_TIME_MAX), rounds == SIM_ROUNDS_MAX ? SIM_DRAINED : SIM_LIVELOCK);
        assert_int_equal(sim_counters_of(b.s).rounds, SIM_ROUNDS_MAX);
        bench_close(&b);
    }
}

typedef struct poll_state {
    uint32_t asked, stop_at;
    uint64_t handled[8];
    sim *s;
} poll_state;

static bool poll(void *owner)
{
    poll_state *p = owner;
    assert_null(sim_current(p->s)); // between instants
    if (p->asked < 8) p->handled[p->asked] = sim_counters_of(p->s).handled;
    return ++p->asked == p->stop_at;
}

static void on_tick(sim *s, void *owner, const sim_event *event)
{
    (void)owner;
    sim_schedule(s, sim_now(s) + 1, event->kind, event->target, 0);
}

static void poll_is_asked_and_may_stop(void **unused)
{
    (void)unused;
    bench b;
    bench_open(&b, NULL, NULL);
    poll_state p = { .stop_at = 3, .s = b.s };
    uint16_t kind = sim_add_kind(b.s, "tick", SIM_ACT, on_tick, NULL);
    for (uint32_t i = 0; i < 10; i++)
        sim_schedule(b.s, 0, kind, i, 0);
    sim_set_poll(b.s, poll, &p);
    assert_int_equal(sim_run(b.s, SIM_TIME_MAX), SIM_STOPPED);
    assert_int_equal(p.asked, 3);
    assert_int_equal(p.handled[0], 1030); // the first multiple of ten from 1,024
    assert_int_equal(p.handled[1], 2060);
    assert_int_equal(p.handled[2], 3090);
    assert_int_equal(sim_run(b.s, sim_now(b.s) + 5), SIM_REACHED_LIMIT); // and the run can go on
    assert_int_equal(sim_counters_of(b.s).handled, 3140);
    bench_close(&b);
}

static void counters_count(void **unused)
{
    (void)unused;
    static const script_line script[] = {
        { 'a', MOVE, 'b', 0, 3 }, { 'a', CANCEL, 'c', 0, 0 }, { 'a', SCHEDULE, 'd', SIM_ACT, 0 }, { 0 }
    };
    bench b;
    bench_open(&b, NULL, script);
    bench_start(&b, "a01b02c03");
    sim_run(b.s, SIM_TIME_MAX);
    sim_counters got = sim_counters_of(b.s);
    assert_string_equal(b.log, "adb");
    assert_int_equal(got.scheduled, 4);
    assert_int_equal(got.handled, 3);
    assert_int_equal(got.cancelled, 1);
    assert_int_equal(got.moved, 1);
    assert_int_equal(got.instants, 2);
    assert_int_equal(got.rounds, 2);
    assert_int_equal(got.pending_high_water, 3);
    bench_close(&b);
}

// ---- The digest ---------------------------------------------------------------------------------------------------

// Worked out by an independent program from the published splitmix64 (its first output for seed 1234567 is
// 6457827717110365317): the chain starts at the number of words and takes in the kind, then each word.
static void digest_has_the_documented_value(void **unused)
{
    (void)unused;
    bench b;
    bench_open(&b, NULL, NULL);
    assert_int_equal(sim_digest(b.s), 0);
    sim_digest_add(b.s, 3, (const uint64_t[]){ 5, UINT64_C(0xFEDCBA9876543210) }, 2, 1);
    assert_int_equal(sim_digest(b.s), UINT64_C(0x25F534FD39FD2C8B));
    sim_digest_add(b.s, 0, NULL, 0, 5);
    assert_int_equal(sim_digest(b.s), UINT64_C(0x90987E1CA19230F6));
    assert_int_equal(sim_digest_text("h100-sxm"), UINT64_C(0x24DD7D7285A4D705));
    bench_close(&b);
}

static uint64_t digest_of(uint32_t kind, const uint64_t *words, uint32_t count, uint64_t multiplicity)
{
    bench b;
    bench_open(&b, NULL, NULL);
    sim_digest_add(b.s, kind, words, count, multiplicity);
    uint64_t digest = sim_digest(b.s);
    bench_close(&b);
    return digest;
}

static void digest_tells_records_apart(void **unused)
{
    (void)unused;
    const uint64_t words[] = { 0, 0, 1, 0 };
    const uint64_t all[] = {
        digest_of(1, words, 0, 1),     digest_of(1, words, 1, 1),     digest_of(1, words, 2, 1),
        digest_of(1, words, 3, 1),     digest_of(1, words + 1, 3, 1), digest_of(1, words + 2, 2, 1),
        digest_of(1, words + 1, 2, 1), digest_of(2, words, 1, 1),     digest_of(2, words + 2, 1, 1),
        sim_digest_text(""),           sim_digest_text("a"),          sim_digest_text("ab"),
        sim_digest_text("ba"),
    };
    for (size_t i = 0; i < ARRAY_COUNT(all); i++)
        for (size_t j = 0; j < i; j++)
            assert_int_not_equal(all[i], all[j]);
}

static void digest_forgets_order_and_folding(void **unused)
{
    (void)unused;
    const uint64_t x[] = { 11, 22 };
    const uint64_t y[] = { 33, 44, 55 };
    bench b;
    bench c;
    bench_open(&b, NULL, NULL);
    bench_open(&c, NULL, NULL);
    sim_digest_add(b.s, 1, x, 2, 3);
    sim_digest_add(b.s, 2, y, 3, 1);
    sim_digest_add(c.s, 1, x, 2, 1);
    sim_digest_add(c.s, 2, y, 3, 1);
    sim_digest_add(c.s, 1, x, 2, 2);
    assert_int_equal(sim_digest(b.s), sim_digest(c.s));
    sim_digest_add(c.s, 1, x, 2, 1);
    assert_int_not_equal(sim_digest(b.s), sim_digest(c.s));
    bench_close(&b);
    bench_close(&c);
}

// ---- A small world whose handlers commute: the digest must not depend on queue or order ---------------------------

enum { SERVERS = 40 };

typedef struct world {
    uint16_t kind_arrived, kind_settle, kind_left, kind_sample;
    uint64_t state[SERVERS];
    uint32_t load[SERVERS];
    sim_handle leaves[SERVERS], settle;
    uint64_t samples;
    bool depends_on_order; // a planted mistake: what is done depends on the order within a phase
    uint32_t last_arrived;
} world;

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

static void need_settle(sim *s, world *w)
{
    if (!sim_pending(s, w->settle)) w->settle = sim_schedule(s, sim_now(s), w->kind_settle, 0, 0);
}

static void on_arrived(sim *s, void *owner, const sim_event *event)
{
    world *w = owner;
    uint32_t server = event->target;
    w->load[server]++;
    w->last_arrived = server;
    sim_digest_add(s, 1, (const uint64_t[]){ server, (uint64_t)sim_now(s), w->load[server] }, 3, 1);
    // Few distinct delays, so that instants are crowded; zero among them.
    if (event->extra > 0)
        sim_schedule(s, sim_now(s) + (sim_time)(next_random(&w->state[server]) % 4) * 1000, w->kind_arrived,
                     server, event->extra - 1);
    need_settle(s, w);
}

static void on_settle(sim *s, void *owner, const sim_event *event)
{
    world *w = owner;
    (void)event;
    for (uint32_t i = 0; i < SERVERS; i++) {
        if (w->load[i] == 0) {
            if (sim_pending(s, w->leaves[i])) sim_cancel(s, w->leaves[i]);
            continue;
        }
        sim_time time = sim_now(s) + 700 * (sim_time)w->load[i];
        if (sim_pending(s, w->leaves[i]))
            sim_move(s, w->leaves[i], time);
        else
            w->leaves[i] = sim_schedule(s, time, w->kind_left, i, 0);
    }
    if (w->depends_on_order) sim_digest_add(s, 4, (const uint64_t[]){ w->last_arrived }, 1, 1);
}

static void on_left(sim *s, void *owner, const sim_event *event)
{
    world *w = owner;
    uint32_t server = event->target;
    w->load[server]--;
    sim_digest_add(s, 2, (const uint64_t[]){ server, (uint64_t)sim_now(s), w->load[server] }, 3, 1);
    need_settle(s, w);
}

static void on_sample(sim *s, void *owner, const sim_event *event)
{
    world *w = owner;
    uint64_t total = 0;
    for (uint32_t i = 0; i < SERVERS; i++)
        total += w->load[i];
    sim_digest_add(s, 3, (const uint64_t[]){ (uint64_t)sim_now(s), total }, 2, 1);
    if (++w->samples < 50) sim_schedule(s, sim_now(s) + 2000, event->kind, 0, 0);
}

static uint64_t world_digest(queue_kind kind, bool reverse, bool mistake, sim_counters *counters)
{
    world w = { .depends_on_order = mistake };
    arena *a = arena_create("engine world");
    sim *s = sim_create(a, &(sim_options){ .queue = kind, .reverse_phases = reverse });
    w.kind_arrived = sim_add_kind(s, "arrived", SIM_ACT, on_arrived, &w);
    w.kind_left = sim_add_kind(s, "left", SIM_ACT, on_left, &w);
    w.kind_settle = sim_add_kind(s, "settle", SIM_SETTLE, on_settle, &w);
    w.kind_sample = sim_add_kind(s, "sample", SIM_OBSERVE, on_sample, &w);
    for (uint32_t i = 0; i < SERVERS; i++) {
        w.state[i] = i;
        sim_schedule(s, (sim_time)(i % 3) * 1000, w.kind_arrived, i, 60);
    }
    sim_schedule(s, 0, w.kind_sample, 0, 0);
    assert_int_equal(sim_run(s, SIM_TIME_MAX), SIM_DRAINED);
    uint64_t digest = sim_digest(s);
    *counters = sim_counters_of(s);
    sim_destroy(s);
    arena_destroy(a);
    return digest;
}

static void digest_is_the_same_for_queues_and_reversed_phases(void **unused)
{
    (void)unused;
    sim_counters want_counters;
    uint64_t want = world_digest(QUEUE_HEAP, false, false, &want_counters);
    assert_true(want_counters.handled > 60 * SERVERS && want_counters.moved > 1000);
    assert_true(want_counters.handled > 5 * want_counters.instants); // crowded instants
    for (size_t i = 0; i < ARRAY_COUNT(each_queue); i++) {
        for (int reverse = 0; reverse < 2; reverse++) {
            sim_counters got;
            assert_int_equal(world_digest(each_queue[i].queue, reverse, false, &got), want);
            assert_int_equal(got.handled, want_counters.handled);
            assert_int_equal(got.instants, want_counters.instants);
        }
    }
    // And it notices a handler that does not commute.
    assert_int_not_equal(world_digest(QUEUE_BUCKET, false, true, &want_counters),
                         world_digest(QUEUE_BUCKET, true, true, &want_counters));
}

static void pool_grows_while_handling(void **unused)
{
    (void)unused;
    bench b;
    bench_open(&b, NULL, NULL);
    uint16_t kind = sim_add_kind(b.s, "count_down", SIM_ACT, count_down, NULL);
    for (uint32_t i = 0; i < 5000; i++)
        sim_schedule(b.s, i % 7, kind, 3, 0);
    assert_int_equal(sim_run(b.s, SIM_TIME_MAX), SIM_DRAINED);
    assert_int_equal(sim_counters_of(b.s).handled, 4 * 5000);
    assert_int_equal(sim_counters_of(b.s).pending_high_water, 5000);
    bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest single[] = {
        cmocka_unit_test(limit_is_included_and_the_run_goes_on),
        cmocka_unit_test(stop_ends_after_the_instant),
        cmocka_unit_test(causes_lead_back),
        cmocka_unit_test(handles_go_stale),
        cmocka_unit_test(rounds_without_end_are_a_livelock),
        cmocka_unit_test(phase_without_end_is_a_livelock),
        cmocka_unit_test(last_allowed_round_is_allowed),
        cmocka_unit_test(poll_is_asked_and_may_stop),
        cmocka_unit_test(counters_count),
        cmocka_unit_test(digest_has_the_documented_value),
        cmocka_unit_test(digest_tells_records_apart),
        cmocka_unit_test(digest_forgets_order_and_folding),
        cmocka_unit_test(digest_is_the_same_for_queues_and_reversed_phases),
        cmocka_unit_test(pool_grows_while_handling),
    };
    struct CMUnitTest tests[ARRAY_COUNT(single) + ARRAY_COUNT(orders)];
    memcpy(tests, single, sizeof single);
    for (size_t i = 0; i < ARRAY_COUNT(orders); i++)
        tests[ARRAY_COUNT(single) + i] = (struct CMUnitTest){ .name = orders[i].name,
                                                              .test_func = order_of_handling,
                                                              .initial_state = (void *)&orders[i] };
    return cmocka_run_group_tests_name("engine", tests, NULL, NULL);
}
