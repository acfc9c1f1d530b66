// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "models/training/schedule.h"
#include "sim/array.h"
#include "tests/support/random.h"
#include "tests/support/text.h"

static int setup(void **state)
{
    *state = arena_create("test");
    return *state ? 0 : -1;
}

static int teardown(void **state)
{
    arena_destroy(*state);
    return 0;
}

// ---- orders, worked out by hand from the figures of Narayanan et al., SC 2021

// "0 1 b0": passes of a stage; behind a point the chunk, when there are several.
static const char *order_text(arena *a, const schedule *s, uint32_t stage)
{
    const char *text = "";
    for (uint32_t i = 0; i < s->pass_count; i++) {
        const schedule_pass pass = schedule_pass_at(s, stage, i);
        const char *mark = pass.direction == PASS_BACKWARD ? "b" : "", *gap = i ? " " : "";
        text = s->def.chunks == 1
                   ? arena_format(a, "%s%s%s%u", text, gap, mark, pass.micro_batch)
                   : arena_format(a, "%s%s%s%u.%u", text, gap, mark, pass.micro_batch, pass.chunk);
    }
    return text;
}

struct order_case {
    const char *name;
    schedule_def def;
    uint32_t stage;
    const char *want;
    uint32_t peak;
};
static const struct order_case orders[] = {
    { "gpipe", { SCHEDULE_GPIPE, 3, 4, 1 }, 1, "0 1 2 3 b0 b1 b2 b3", 4 },
    { "1f1b, the first stage", { SCHEDULE_1F1B, 3, 5, 1 }, 0, "0 1 2 b0 3 b1 4 b2 b3 b4", 3 },
    { "1f1b, the middle", { SCHEDULE_1F1B, 3, 5, 1 }, 1, "0 1 b0 2 b1 3 b2 4 b3 b4", 2 },
    { "1f1b, the last stage", { SCHEDULE_1F1B, 3, 5, 1 }, 2, "0 b0 1 b1 2 b2 3 b3 4 b4", 1 },
    { "1f1b, fewer micro-batches than stages", { SCHEDULE_1F1B, 5, 2, 1 }, 0, "0 1 b0 b1", 2 },
    { "one stage", { SCHEDULE_1F1B, 1, 3, 1 }, 0, "0 b0 1 b1 2 b2", 1 },
    // 2 (2 - 1 - 0) + (2 - 1) 2 = 4 forwards, then in turn
    { "interleaved, the first stage",
      { SCHEDULE_INTERLEAVED_1F1B, 2, 4, 2 },
      0,
      "0.0 1.0 0.1 1.1 2.0 b0.1 3.0 b1.1 2.1 b0.0 3.1 b1.0 b2.1 b3.1 b2.0 b3.0",
      5 },
    { "interleaved, the last stage",
      { SCHEDULE_INTERLEAVED_1F1B, 2, 4, 2 },
      1,
      "0.0 1.0 0.1 b0.1 1.1 b1.1 2.0 b0.0 3.0 b1.0 2.1 b2.1 3.1 b3.1 b2.0 b3.0",
      3 },
};

static void orders_are_as_published(void **state)
{
    for (size_t i = 0; i < ARRAY_COUNT(orders); i++) {
        const struct order_case *c = &orders[i];
        const schedule s = schedule_build(*state, &c->def);
        assert_string_equal(order_text(*state, &s, c->stage), c->want);
        assert_int_equal(schedule_peak_in_flight(&s, c->stage), c->peak);
    }
}

// By hand: 2 stages, 2 micro-batches, a forward of 3 and a backward of 5 units. Stage 1 is never idle once it has begun.
static void times_are_as_by_hand(void **state)
{
    const schedule s = schedule_build(*state, &(schedule_def){ SCHEDULE_1F1B, 2, 2, 1 });
    const schedule_times t = schedule_evaluate(*state, &s, 3, 5);
    const uint64_t want[] = { 0, 3, 11, 19, 3, 6, 11, 14 }; // 0 1 b0 b1; 0 b0 1 b1
    for (size_t i = 0; i < ARRAY_COUNT(want); i++)
        assert_int_equal(t.starts[i], want[i]);
    assert_int_equal(t.total, 24); // (2 + 2 - 1) (3 + 5)
}

// ---- laws

static schedule_def random_def(uint64_t *seed)
{
    schedule_def d = { .kind = (schedule_kind)test_random_below(seed, 3),
                       .stages = 1 + test_random_below(seed, 9),
                       .micro_batches = 1 + test_random_below(seed, 23),
                       .chunks = 1 };
    if (d.kind != SCHEDULE_INTERLEAVED_1F1B) return d;
    d.stages++;
    d.micro_batches = d.stages * (1 + test_random_below(seed, 5));
    d.chunks = 2 + test_random_below(seed, 5);
    return d;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t peak_by_formula(const schedule_def *d, uint32_t stage)
{
    const uint32_t p = d->stages, m = d->micro_batches, v = d->chunks;
    switch (d->kind) {
    case SCHEDULE_GPIPE: return m;
    case SCHEDULE_1F1B: return least(m, p - stage);
    // stage 0: p v + p - 1, which is 1 + (p - 1)/(p v) times what p whole stages hold (Korthikanti et al., "Reducing
    // activation recomputation in large transformer models", MLSys 2023, section 4.2.3)
    case SCHEDULE_INTERLEAVED_1F1B: return least(m * v, 2 * (p - 1 - stage) + (v - 1) * p + 1);
    }
    fail();
    return 0;
}

// T = (m + p - 1) (f + b); interleaved m (F + B) + (p - 1) (F + B) / v with F = v f, B = v b. With v = 1 they are one.
static void random_schedules_take_what_the_closed_forms_say(void **state)
{
    uint64_t seed = 20211117;
    for (uint32_t n = 0; n < 400; n++) {
        const arena_mark_t mark = arena_mark(*state);
        const schedule_def d = random_def(&seed);
        const uint32_t f = 1 + test_random_below(&seed, 97), b = 1 + test_random_below(&seed, 97);
        sim_error error = { 0 };
        assert_true(schedule_check_sizes(&d, NULL, &error));
        const schedule s = schedule_build(*state, &d);
        if (!schedule_check(&s, *state, &error)) fail_msg("%s", error.message);
        const uint64_t want = ((uint64_t)d.micro_batches * d.chunks + d.stages - 1) * (f + b);
        const uint64_t got = schedule_evaluate(*state, &s, f, b).total;
        if (got != want)
            fail_msg("%s p %u m %u v %u f %u b %u: %lu, not %lu", schedule_kind_words[d.kind], d.stages,
                     d.micro_batches, d.chunks, f, b, (unsigned long)got, (unsigned long)want);
        for (uint32_t stage = 0; stage < d.stages; stage++)
            assert_int_equal(schedule_peak_in_flight(&s, stage), peak_by_formula(&d, stage));
        arena_release(*state, mark);
    }
}

// Passes of a stage do not overlap, and none starts before what it needs has ended.
static void times_respect_what_is_needed(void **state)
{
    uint64_t seed = 314159;
    for (uint32_t n = 0; n < 20; n++) {
        const arena_mark_t mark = arena_mark(*state);
        const schedule_def d = random_def(&seed);
        const schedule s = schedule_build(*state, &d);
        const uint32_t cost[] = { 1 + test_random_below(&seed, 9), 1 + test_random_below(&seed, 9) };
        const schedule_times t = schedule_evaluate(*state, &s, cost[0], cost[1]);
        for (uint32_t i = 0; i < s.pass_count * d.stages; i++) {
            const uint32_t stage = i / s.pass_count;
            uint32_t needed_stage, at;
            schedule_pass needed;
            if (i % s.pass_count)
                assert_true(t.starts[i] >= t.starts[i - 1] + cost[s.passes[i - 1].direction]);
            if (!schedule_needs(&s, stage, s.passes[i], &needed_stage, &needed)) continue;
            for (at = needed_stage * s.pass_count; memcmp(&s.passes[at], &needed, sizeof(needed)) != 0;)
                at++;
            assert_int_equal(at / s.pass_count, needed_stage);
            assert_true(t.starts[i] >= t.starts[at] + cost[needed.direction]);
        }
        arena_release(*state, mark);
    }
}

// Any order of a stage either passes the checker and can be played, or is refused with a reason; neither hangs.
static void shuffled_orders_are_judged(void **state)
{
    uint64_t seed = 271828;
    uint32_t sound = 0;
    for (uint32_t n = 0; n < 300; n++) {
        const arena_mark_t mark = arena_mark(*state);
        const schedule_def d = random_def(&seed);
        const schedule s = schedule_build(*state, &d);
        const uint32_t swaps = 1 + test_random_below(&seed, 2);
        for (uint32_t k = 0; k < swaps; k++) {
            const uint32_t at = test_random_below(&seed, d.stages) * s.pass_count +
                                test_random_below(&seed, s.pass_count - 1);
            const schedule_pass moved = s.passes[at];
            s.passes[at] = s.passes[at + 1];
            s.passes[at + 1] = moved;
        }
        sim_error error = { 0 };
        if (schedule_check(&s, *state, &error)) {
            const uint64_t ideal = (uint64_t)s.pass_count / 2 * 3;
            assert_true(schedule_evaluate(*state, &s, 1, 2).total >= ideal);
            sound++;
        } else {
            assert_int_equal(error.exit_code, SIM_EXIT_NO);
            assert_true(strlen(error.message) > 0);
        }
        arena_release(*state, mark);
    }
    assert_in_range(sound, 30, 270); // both happen
}

// ---- messages

struct size_case {
    schedule_def def;
    const char *want;
};
static const struct size_case sizes[] = {
    { { SCHEDULE_1F1B, 0, 8, 1 },
      "windtunnel: error: the stages must be at least 1, not 0\n  hint: the nearest is 1\n" },
    { { SCHEDULE_GPIPE, 1025, 8, 1 },
      "windtunnel: error: the stages must be at most 1024, not 1025\n  hint: the nearest is 1024\n" },
    { { SCHEDULE_GPIPE, 4, 0, 1 },
      "windtunnel: error: the micro-batches must be at least 1, not 0\n  hint: the nearest is 1\n" },
    { { SCHEDULE_GPIPE, 4, 8, 2 },
      "windtunnel: error: gpipe has 1 virtual stage in each stage, not 2\n"
      "  hint: the nearest is 1, or the schedule interleaved-1f1b\n" },
    { { SCHEDULE_1F1B, 4, 8, 0 },
      "windtunnel: error: 1f1b has 1 virtual stage in each stage, not 0\n"
      "  hint: the nearest is 1, or the schedule interleaved-1f1b\n" },
    { { SCHEDULE_INTERLEAVED_1F1B, 1, 8, 2 },
      "windtunnel: error: the stages of an interleaved schedule must be at least 2, not 1\n"
      "  hint: the nearest is 2\n" },
    { { SCHEDULE_INTERLEAVED_1F1B, 4, 8, 1 },
      "windtunnel: error: interleaved-1f1b has at least 2 virtual stages in each stage, not 1\n"
      "  hint: the nearest is 2, or the schedule 1f1b\n" },
    { { SCHEDULE_INTERLEAVED_1F1B, 4, 8, 1025 },
      "windtunnel: error: the virtual stages in a stage must be at most 1024, not 1025\n"
      "  hint: the nearest is 1024\n" },
    { { SCHEDULE_INTERLEAVED_1F1B, 4, 10, 2 },
      "windtunnel: error: interleaved-1f1b wants micro-batches that are a multiple of the 4 stages, not 10\n"
      "  hint: the nearest is 8\n" },
    { { SCHEDULE_INTERLEAVED_1F1B, 4, 11, 2 },
      "windtunnel: error: interleaved-1f1b wants micro-batches that are a multiple of the 4 stages, not 11\n"
      "  hint: the nearest is 12\n" },
    { { SCHEDULE_INTERLEAVED_1F1B, 7, 2, 2 },
      "windtunnel: error: interleaved-1f1b wants micro-batches that are a multiple of the 7 stages, not 2\n"
      "  hint: the nearest is 7\n" },
    { { SCHEDULE_INTERLEAVED_1F1B, 7, UINT32_MAX - 3, 2 }, // 4294967292 = 7 x 613566756
      "windtunnel: error: the schedule has more than 4,194,304 passes\n"
      "  hint: with so many stages, at most 149,793 micro-batches\n" }, // 4194304 / 28 = 149796.57, of which / 7
    { { SCHEDULE_1F1B, 13, 161320, 1 },                                 // 4194304 / 26 = 161319.4
      "windtunnel: error: the schedule has more than 4,194,304 passes\n"
      "  hint: with so many stages, at most 161,319 micro-batches\n" },
    { { SCHEDULE_INTERLEAVED_1F1B, 1024, 1024, 4 }, // 4194304 / 8192 = 512
      "windtunnel: error: the schedule has more than 4,194,304 passes\n"
      "  hint: fewer stages, or fewer virtual stages in each\n" },
};

static void impossible_sizes_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
        sim_error error = { 0 };
        assert_false(schedule_check_sizes(&sizes[i].def, NULL, &error));
        assert_int_equal(error.exit_code, SIM_EXIT_INPUT);
        assert_error_prints(&error, sizes[i].want);
    }
}

struct broken_case {
    schedule_def def;
    uint32_t stage, index; // where
    schedule_pass pass;    // instead of what stands there
    int swap_with;         // or -1; else the pass that it changes places with
    const char *want;
};
static const struct broken_case broken[] = {
    { { SCHEDULE_1F1B, 3, 5, 1 },
      1,
      3,
      { 5, 0, PASS_FORWARD },
      -1,
      "pass 3 of stage 1 is of micro-batch 5, but there are 5, from 0" },
    { { SCHEDULE_1F1B, 3, 5, 1 },
      2,
      0,
      { 0, 1, PASS_FORWARD },
      -1,
      "pass 0 of stage 2 is in chunk 1, but there are 1, from 0" },
    { { SCHEDULE_1F1B, 3, 5, 1 },
      0,
      9,
      { 4, 0, 2 },
      -1,
      "pass 9 of stage 0 is neither forward nor backward" },
    { { SCHEDULE_INTERLEAVED_1F1B, 2, 4, 2 },
      0,
      8,
      { 0, 1, PASS_FORWARD },
      -1,
      "stage 0 does the forward of micro-batch 0 in chunk 1 twice, the second time as pass 8" },
    { { SCHEDULE_1F1B, 3, 5, 1 },
      2,
      0,
      { 0 },
      1, // b0 0 1 b1 ...
      "stage 2 does the backward of micro-batch 0 in chunk 0 before its forward, as pass 0" },
    { { SCHEDULE_1F1B, 3, 5, 1 },
      0,
      2,
      { 0 },
      3, // 0 1 b0 2 b1: fine, only slower
      NULL },
    { { SCHEDULE_1F1B, 2, 2, 1 },
      0,
      1,
      { 0 },
      3, // 0 b1 b0 1 is wrong already on its own stage
      "stage 0 does the backward of micro-batch 1 in chunk 0 before its forward, as pass 1" },
    { { SCHEDULE_1F1B, 2, 3, 1 },
      1,
      3,
      { 0 },
      4, // 0 b0 1 2 b1 b2 against 0 1 b0 2 b1 b2: fine
      NULL },
    { { SCHEDULE_1F1B, 2, 3, 1 },
      0,
      3,
      { 0 },
      4, // 0 1 b0 b1 2 b2: fine as well, stage 1 does b1 before 2
      NULL },
    // 0 b0 1 b1 against 0 1 b0 b1: stage 1 wants micro-batch 1 before b0, stage 0 sends it only after b0.
    { { SCHEDULE_1F1B, 3, 2, 1 },
      0,
      1,
      { 0 },
      2,
      "stages wait for each other: stage 0, before its pass 1, waits for the backward of micro-batch 0 in "
      "chunk 0 of stage 1, which never comes" },
};

static void broken_orders_are_refused(void **state)
{
    for (size_t i = 0; i < ARRAY_COUNT(broken); i++) {
        const struct broken_case *c = &broken[i];
        const schedule s = schedule_build(*state, &c->def);
        schedule_pass *row = s.passes + (size_t)c->stage * s.pass_count, old = row[c->index];
        row[c->index] = c->swap_with < 0 ? c->pass : row[c->swap_with];
        if (c->swap_with >= 0) row[c->swap_with] = old;
        sim_error error = { 0 };
        assert_int_equal(schedule_check(&s, *state, &error), !c->want);
        assert_string_equal(error.message, c->want ? c->want : "");
        assert_int_equal(error.exit_code, c->want ? SIM_EXIT_NO : 0);
    }
}

// Each stage alone is in order, together they are not: stage 0 sends 2 only after b1, and stage 1 wants 2 before it does b1.
static void a_deadlock_is_told(void **state)
{
    const schedule s = schedule_build(*state, &(schedule_def){ SCHEDULE_1F1B, 2, 3, 1 });
    const schedule_pass stage0[] = { { 0, 0, 0 }, { 1, 0, 0 }, { 0, 0, 1 },
                                     { 1, 0, 1 }, { 2, 0, 0 }, { 2, 0, 1 } };
    const schedule_pass stage1[] = { { 0, 0, 0 }, { 0, 0, 1 }, { 1, 0, 0 },
                                     { 2, 0, 0 }, { 1, 0, 1 }, { 2, 0, 1 } };
    memcpy(s.passes, stage0, sizeof(stage0));
    memcpy(s.passes + s.pass_count, stage1, sizeof(stage1));
    sim_error error = { 0 };
    assert_false(schedule_check(&s, *state, &error));
    assert_error_prints(
        &error, "windtunnel: error: stages wait for each other: stage 0, before its pass 3, waits for the "
                "backward of micro-batch 1 in chunk 0 of stage 1, which never comes\n");
}

static void the_checker_looks_at_sizes_first(void **state)
{
    sim_error error = { 0 };
    const schedule none = { .def = { SCHEDULE_1F1B, 0, 3, 1 } };
    assert_false(schedule_check(&none, *state, &error));
    assert_string_equal(error.message, "the stages must be at least 1, not 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_are_as_published),
        cmocka_unit_test(times_are_as_by_hand),
        cmocka_unit_test(random_schedules_take_what_the_closed_forms_say),
        cmocka_unit_test(times_respect_what_is_needed),
        cmocka_unit_test(shuffled_orders_are_judged),
        cmocka_unit_test(impossible_sizes_are_refused),
        cmocka_unit_test(broken_orders_are_refused),
        cmocka_unit_test(a_deadlock_is_told),
        cmocka_unit_test(the_checker_looks_at_sizes_first),
    };
    return cmocka_run_group_tests_name("schedule", tests, setup, teardown);
}
