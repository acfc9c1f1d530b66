// SPDX-License-Identifier: GPL-3.0-or-later
// Whether a schedule can be done at all, and how long that takes in a world of equal stages and free sending.
#include "models/training/schedule.h"
#include "sim/check.h"

typedef struct player {
    const schedule *s;
    uint64_t cost[2];  // of a pass, by direction
    uint64_t *starts;  // as in schedule.passes
    uint64_t *ends;    // by slot(); 0: still to be done, for costs are above zero
    uint64_t *free_at; // when a stage has done what it has begun
    uint32_t *next;    // of each stage: the pass it does next
    uint32_t *queue;   // stages to look at again, a ring; each at most once
    bool *queued;
    uint32_t queue_first, queue_count;
} player;

// Of every pass that there can be, by stage, direction, chunk and micro-batch.
static size_t slot(const schedule *s, uint32_t stage, schedule_pass pass)
{
    const size_t row = ((size_t)stage * 2 + pass.direction) * s->def.chunks + pass.chunk;
    return row * s->def.micro_batches + pass.micro_batch;
}

static void push(player *p, uint32_t stage)
{
    if (p->queued[stage]) return;
    p->queued[stage] = true;
    p->queue[(p->queue_first + p->queue_count++) % p->s->def.stages] = stage;
}

static uint32_t pop(player *p)
{
    const uint32_t stage = p->queue[p->queue_first];
    p->queue_first = (p->queue_first + 1) % p->s->def.stages;
    p->queue_count--;
    p->queued[stage] = false;
    return stage;
}

// When what a pass needs is there; false: not yet known.
static bool ready_at(const player *p, uint32_t stage, schedule_pass pass, uint64_t *time)
{
    uint32_t needed_stage;
    schedule_pass needed;
    *time = 0;
    if (!schedule_needs(p->s, stage, pass, &needed_stage, &needed)) return true;
    *time = p->ends[slot(p->s, needed_stage, needed)];
    return *time != 0;
}

// Does all that a stage can do before it must wait; true: that was something.
static bool advance(player *p, uint32_t stage)
{
    const schedule *s = p->s;
    const uint32_t before = p->next[stage];
    uint64_t ready;
    for (; p->next[stage] < s->pass_count; p->next[stage]++) {
        const schedule_pass pass = schedule_pass_at(s, stage, p->next[stage]);
        if (!ready_at(p, stage, pass, &ready)) break;
        const uint64_t start = ready > p->free_at[stage] ? ready : p->free_at[stage];
        p->starts[(size_t)stage * s->pass_count + p->next[stage]] = start;
        p->free_at[stage] = start + p->cost[pass.direction];
        p->ends[slot(s, stage, pass)] = p->free_at[stage];
    }
    return p->next[stage] > before;
}

// Start times do not depend on the order in which stages are looked at: a pass starts at the later of two known times.
static player play(arena *a, const schedule *s, uint32_t forward, uint32_t backward)
{
    const uint32_t stages = s->def.stages;
    const size_t all = (size_t)s->pass_count * stages;
    SIM_ASSERT(forward > 0 && backward > 0);
    player p = { .s = s,
                 .cost = { forward, backward },
                 .starts = arena_array(a, uint64_t, all),
                 .ends = arena_array(a, uint64_t, all),
                 .free_at = arena_array(a, uint64_t, stages),
                 .next = arena_array(a, uint32_t, stages),
                 .queue = arena_array(a, uint32_t, stages),
                 .queued = arena_array(a, bool, stages) };
    for (uint32_t stage = 0; stage < stages; stage++)
        push(&p, stage);
    while (p.queue_count) {
        const uint32_t stage = pop(&p);
        if (!advance(&p, stage)) continue;
        push(&p, (stage + 1) % stages); // only neighbours can have waited, the last one's being the first
        push(&p, (stage + stages - 1) % stages);
    }
    return p;
}

// ---- the checker

static bool fail_twice(uint32_t stage, uint32_t index, schedule_pass pass, sim_error *error)
{
    return sim_fail(error, SIM_EXIT_NO, NULL,
                    "stage %u does the %s of micro-batch %u in chunk %u twice, the second time as pass %u",
                    stage, pass_direction_words[pass.direction], pass.micro_batch, pass.chunk, index);
}

static bool check_pass(const schedule *s, uint32_t stage, uint32_t index, const bool *done, sim_error *error)
{
    const schedule_pass pass = schedule_pass_at(s, stage, index);
    const bool known = pass.direction == PASS_FORWARD || pass.direction == PASS_BACKWARD;
    if (!known)
        return sim_fail(error, SIM_EXIT_NO, NULL, "pass %u of stage %u is neither forward nor backward",
                        index, stage);
    if (pass.micro_batch >= s->def.micro_batches)
        return sim_fail(error, SIM_EXIT_NO, NULL,
                        "pass %u of stage %u is of micro-batch %u, but there are %u, from 0", index, stage,
                        pass.micro_batch, s->def.micro_batches);
    if (pass.chunk >= s->def.chunks)
        return sim_fail(error, SIM_EXIT_NO, NULL,
                        "pass %u of stage %u is in chunk %u, but there are %u, from 0", index, stage,
                        pass.chunk, s->def.chunks);
    if (done[slot(s, stage, pass)]) return fail_twice(stage, index, pass, error);
    schedule_pass own_forward = pass;
    own_forward.direction = PASS_FORWARD;
    if (pass.direction == PASS_BACKWARD && !done[slot(s, stage, own_forward)])
        return sim_fail(
            error, SIM_EXIT_NO, NULL,
            "stage %u does the backward of micro-batch %u in chunk %u before its forward, as pass %u", stage,
            pass.micro_batch, pass.chunk, index);
    return true;
}

// A stage has room for exactly its passes, so that with none twice none is missing.
static bool check_passes(const schedule *s, arena *scratch, sim_error *error)
{
    bool *done = arena_array(scratch, bool, (size_t)s->pass_count * s->def.stages);
    for (uint32_t stage = 0; stage < s->def.stages; stage++)
        for (uint32_t i = 0; i < s->pass_count; i++) {
            if (!check_pass(s, stage, i, done, error)) return false;
            done[slot(s, stage, schedule_pass_at(s, stage, i))] = true;
        }
    return true;
}

// The first stage that waits for ever tells for what.
static bool check_end(const player *p, sim_error *error)
{
    const schedule *s = p->s;
    for (uint32_t stage = 0; stage < s->def.stages; stage++) {
        if (p->next[stage] == s->pass_count) continue;
        const schedule_pass pass = schedule_pass_at(s, stage, p->next[stage]);
        uint32_t needed_stage;
        schedule_pass needed;
        const bool needs = schedule_needs(s, stage, pass, &needed_stage, &needed);
        SIM_ASSERT(needs); // or it would have been done
        return sim_fail(
            error, SIM_EXIT_NO, NULL,
            "stages wait for each other: stage %u, before its pass %u, waits for the %s of micro-batch "
            "%u in chunk %u of stage %u, which never comes",
            stage, p->next[stage], pass_direction_words[needed.direction], needed.micro_batch, needed.chunk,
            needed_stage);
    }
    return true;
}

bool schedule_check(const schedule *s, arena *scratch, sim_error *error)
{
    if (!schedule_check_sizes(&s->def, NULL, error)) return false;
    SIM_ASSERT(s->pass_count == 2 * s->def.micro_batches * s->def.chunks);
    const arena_mark_t mark = arena_mark(scratch);
    bool good = check_passes(s, scratch, error);
    if (good) {
        const player p = play(scratch, s, 1, 1);
        good = check_end(&p, error);
    }
    arena_release(scratch, mark);
    return good;
}

// ---- the evaluator

schedule_times schedule_evaluate(arena *a, const schedule *s, uint32_t forward, uint32_t backward)
{
    const player p = play(a, s, forward, backward);
    schedule_times times = { .starts = p.starts };
    for (uint32_t stage = 0; stage < s->def.stages; stage++) {
        SIM_ASSERT(p.next[stage] == s->pass_count);
        if (p.free_at[stage] > times.total) times.total = p.free_at[stage];
    }
    return times;
}
