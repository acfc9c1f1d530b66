// SPDX-License-Identifier: GPL-3.0-or-later
// Schedules of every kind and size, with stages of any lengths, played by the step player: when each pass starts and ends.
#include "tests/support/random.h"
#include "tests/support/stage_play.h"

enum { SCHEDULES = 500, STAGES_MAX = 12, CHUNKS_MAX = 4, MICRO_BATCHES_MAX = 24 };

typedef struct span {
    sim_time start, end; // -1: not known
} span;

// By [stage][chunk][micro-batch][direction].
typedef struct spans {
    span at[STAGES_MAX][CHUNKS_MAX][MICRO_BATCHES_MAX][2];
} spans;

static void forget(spans *s)
{
    memset(s, 0xff, sizeof *s);
}

static void keep(void *owner, uint32_t stage, schedule_pass pass, sim_time start, sim_time end)
{
    span *kept = &((spans *)owner)->at[stage][pass.chunk][pass.micro_batch][pass.direction];
    assert_int_equal(kept->start, -1); // each pass once
    *kept = (span){ start, end };
}

// ---- worked out anew: the longest way through the passes

// When the input of a pass has arrived; -1: not known yet. Chunks follow one another through all stages: virtual stage c p + s.
static sim_time input_ps(const stage_play *p, const spans *s, uint32_t stage, schedule_pass pass)
{
    const uint32_t stages = p->def.stages, last = stages * p->def.chunks - 1;
    const uint32_t place = pass.chunk * stages + stage;
    uint32_t from, direction = pass.direction;
    if (pass.direction == PASS_FORWARD) {
        if (place == 0) return 0;
        from = place - 1;
    } else if (place == last) {
        from = place;
        direction = PASS_FORWARD;
    } else {
        from = place + 1;
    }
    const sim_time made = s->at[from % stages][from / stages][pass.micro_batch][direction].end;
    return made < 0 || from % stages == stage ? made : made + p->message_ps;
}

// A pass starts when its input is there and the one before it on its stage has ended. Round and round until all are known.
static sim_time work_out(const stage_play *p, const schedule *order, spans *s)
{
    uint32_t next[STAGES_MAX] = { 0 }, left = order->pass_count * p->def.stages;
    sim_time free_at[STAGES_MAX] = { 0 }, total = 0;
    forget(s);
    while (left > 0) {
        const uint32_t before = left;
        for (uint32_t stage = 0; stage < p->def.stages; stage++) {
            if (next[stage] == order->pass_count) continue;
            const schedule_pass pass = schedule_pass_at(order, stage, next[stage]);
            const sim_time input = input_ps(p, s, stage, pass);
            if (input < 0) continue;
            const sim_time start = input > free_at[stage] ? input : free_at[stage];
            const sim_time end = start +
                                 p->lengths[(stage * p->def.chunks + pass.chunk) * 2 + pass.direction];
            s->at[stage][pass.chunk][pass.micro_batch][pass.direction] = (span){ start, end };
            free_at[stage] = end;
            if (end > total) total = end;
            next[stage]++;
            left--;
        }
        assert_true(left < before); // nobody waits for himself
    }
    return total;
}

// ---- drawn

static schedule_def draw_schedule(uint64_t *random)
{
    schedule_def d = { .kind = (schedule_kind)test_random_below(random, 3),
                       .stages = 1 + test_random_below(random, STAGES_MAX),
                       .micro_batches = 1 + test_random_below(random, MICRO_BATCHES_MAX),
                       .chunks = 1 };
    if (d.kind != SCHEDULE_INTERLEAVED_1F1B) return d;
    if (d.stages == 1) d.stages = 2;
    d.chunks = 2 + test_random_below(random, CHUNKS_MAX - 1);
    d.micro_batches = (1 + test_random_below(random, MICRO_BATCHES_MAX / d.stages)) * d.stages;
    return d;
}

static stage_play draw(uint64_t *random, sim_time *lengths)
{
    stage_play p = { .def = draw_schedule(random), .lengths = lengths, .overlap = true };
    for (uint32_t i = 0; i < p.def.stages * p.def.chunks * 2; i++)
        lengths[i] = 1 + test_random_below(random, i % 7 == 0 ? 9000000 : 1000000);
    return p;
}

static void assert_same(const stage_play *p, const spans *got, const spans *want, uint32_t number)
{
    for (uint32_t stage = 0; stage < p->def.stages; stage++)
        for (uint32_t c = 0; c < p->def.chunks; c++)
            for (uint32_t m = 0; m < p->def.micro_batches; m++)
                for (int d = PASS_FORWARD; d <= PASS_BACKWARD; d++) {
                    const span *g = &got->at[stage][c][m][d], *w = &want->at[stage][c][m][d];
                    if (g->start == w->start && g->end == w->end) continue;
                    fail_msg("schedule %u, %s of micro-batch %u through chunk %u of stage %u: %lld to %lld "
                             "ps, not %lld to %lld",
                             number, pass_direction_words[d], m, c, stage, (long long)g->start,
                             (long long)g->end, (long long)w->start, (long long)w->end);
                }
}

// Every pass to the picosecond, with messages that take no time and with some that do.
static void passes_start_as_early_as_they_can(void **state)
{
    (void)state;
    static spans got, want;
    uint64_t random = 20261130;
    for (uint32_t i = 0; i < SCHEDULES; i++) {
        sim_time lengths[STAGES_MAX * CHUNKS_MAX * 2];
        arena *a = arena_create("test");
        stage_play p = draw(&random, lengths);
        if (i % 2) p.message_ps = test_random_below(&random, 700000);
        p.on_pass = keep;
        p.owner = &got;
        const schedule order = schedule_build(a, &p.def);
        const sim_time total = work_out(&p, &order, &want);
        forget(&got);
        assert_int_equal(stage_play_run(&p).passes_end, total);
        assert_same(&p, &got, &want, i);
        arena_destroy(a);
    }
}

// The evaluator of schedule.h is the same for stages that are alike.
static void alike_stages_are_what_the_schedule_says(void **state)
{
    (void)state;
    uint64_t random = 4;
    for (uint32_t i = 0; i < SCHEDULES / 5; i++) {
        sim_time lengths[STAGES_MAX * CHUNKS_MAX * 2];
        arena *a = arena_create("test");
        stage_play p = draw(&random, lengths);
        const uint32_t forward = 1 + test_random_below(&random, 1000000),
                       backward = 1 + test_random_below(&random, 1000000);
        for (uint32_t j = 0; j < p.def.stages * p.def.chunks * 2; j++)
            lengths[j] = j % 2 ? backward : forward;
        const schedule order = schedule_build(a, &p.def);
        assert_int_equal(stage_play_run(&p).passes_end,
                         schedule_evaluate(a, &order, forward, backward).total);
        arena_destroy(a);
    }
}

// Stages that stand still for their messages come to an end as well, never before those that send beside their passes: whatever
// these wait for, they wait for too. A host that restarts later makes no step shorter.
static void standing_still_takes_no_less(void **state)
{
    (void)state;
    uint64_t random = 75;
    for (uint32_t i = 0; i < SCHEDULES; i++) {
        sim_time lengths[STAGES_MAX * CHUNKS_MAX * 2];
        stage_play p = draw(&random, lengths);
        p.message_ps = test_random_below(&random, 700000);
        const sim_time beside = stage_play_run(&p).passes_end;
        p.overlap = false;
        const sim_time blocking = stage_play_run(&p).passes_end;
        p.restart_ps = 1 + test_random_below(&random, 300000);
        const sim_time restarting = stage_play_run(&p).passes_end;
        if (beside > blocking || blocking > restarting)
            fail_msg("schedule %u: %lld ps beside, %lld ps standing still, %lld ps with restarts", i,
                     (long long)beside, (long long)blocking, (long long)restarting);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_start_as_early_as_they_can),
        cmocka_unit_test(alike_stages_are_what_the_schedule_says),
        cmocka_unit_test(standing_still_takes_no_less),
    };
    return cmocka_run_group_tests_name("schedules played", tests, NULL, NULL);
}
