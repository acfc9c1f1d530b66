// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/training/schedule.h"
#include "sim/check.h"
#include "sim/words.h"
#include <inttypes.h>

const char *const schedule_kind_words[] = { "gpipe", "1f1b", "interleaved-1f1b", NULL };
const char *const pass_direction_words[] = { "forward", "backward", NULL };

// ---- sizes

static bool check_least(const char *what, uint32_t value, uint32_t least, const sim_place *where,
                        sim_error *error)
{
    if (value >= least) return true;
    sim_fail(error, SIM_EXIT_INPUT, where, "%s must be at least %u, not %u", what, least, value);
    return sim_hint(error, "the nearest is %u", least);
}

static bool check_most(const char *what, uint32_t value, uint32_t most, const sim_place *where,
                       sim_error *error)
{
    if (value <= most) return true;
    sim_fail(error, SIM_EXIT_INPUT, where, "%s must be at most %u, not %u", what, most, value);
    return sim_hint(error, "the nearest is %u", most);
}

// Below, unless there is nothing below or the one above is nearer.
static uint64_t nearest_multiple(uint32_t value, uint32_t of)
{
    const uint32_t over = value % of;
    const uint64_t below = value - over;
    return below && over <= of - over ? below : below + of;
}

static bool check_chunks(const schedule_def *d, const sim_place *where, sim_error *error)
{
    const char *const name = schedule_kind_words[d->kind];
    switch (d->kind) {
    case SCHEDULE_GPIPE:
    case SCHEDULE_1F1B:
        if (d->chunks == 1) return true;
        sim_fail(error, SIM_EXIT_INPUT, where, "%s has 1 virtual stage in each stage, not %u", name,
                 d->chunks);
        return sim_hint(error, "the nearest is 1, or the schedule %s",
                        schedule_kind_words[SCHEDULE_INTERLEAVED_1F1B]);
    case SCHEDULE_INTERLEAVED_1F1B:
        if (d->chunks < 2) {
            sim_fail(error, SIM_EXIT_INPUT, where, "%s has at least 2 virtual stages in each stage, not %u",
                     name, d->chunks);
            return sim_hint(error, "the nearest is 2, or the schedule %s",
                            schedule_kind_words[SCHEDULE_1F1B]);
        }
        if (!check_most("the virtual stages in a stage", d->chunks, SCHEDULE_CHUNKS_MAX, where, error))
            return false;
        if (d->micro_batches % d->stages == 0) return true;
        sim_fail(error, SIM_EXIT_INPUT, where,
                 "%s wants micro-batches that are a multiple of the %u stages, not %u", name, d->stages,
                 d->micro_batches);
        return sim_hint(error, "the nearest is %" PRIu64, nearest_multiple(d->micro_batches, d->stages));
    }
    SIM_ASSERT(false);
    return false;
}

static bool check_passes(const schedule_def *d, const sim_place *where, sim_error *error)
{
    const uint64_t each = 2 * (uint64_t)d->stages * d->chunks;
    uint64_t most = SCHEDULE_PASSES_MAX / each; // micro-batches
    char most_text[WORDS_GROUPED_SIZE];
    if (d->micro_batches <= most) return true;
    if (d->kind == SCHEDULE_INTERLEAVED_1F1B) most -= most % d->stages;
    sim_fail(error, SIM_EXIT_INPUT, where, "the schedule has more than %s passes",
             words_grouped(most_text, SCHEDULE_PASSES_MAX));
    if (most == 0) return sim_hint(error, "fewer stages, or fewer virtual stages in each");
    return sim_hint(error, "with so many stages, at most %s micro-batches", words_grouped(most_text, most));
}

bool schedule_check_sizes(const schedule_def *d, const sim_place *where, sim_error *error)
{
    const bool interleaved = d->kind == SCHEDULE_INTERLEAVED_1F1B;
    const char *const stages = interleaved ? "the stages of an interleaved schedule" : "the stages";
    return check_least(stages, d->stages, interleaved ? 2 : 1, where, error) &&
           check_most("the stages", d->stages, SCHEDULE_STAGES_MAX, where, error) &&
           check_least("the micro-batches", d->micro_batches, 1, where, error) &&
           check_chunks(d, where, error) && check_passes(d, where, error);
}

// ---- orders

// The n-th forward or backward of a stage. Micro-batches go through the chunks in rounds of p: the first p through chunk 0,
// the same p through chunk 1, and so on, then the next p; backwards take the chunks from the last to the first. With one
// chunk this is n itself. Narayanan et al., SC 2021, figure 4.
static schedule_pass nth(const schedule_def *d, uint32_t n, pass_direction direction)
{
    const uint32_t round = d->stages * d->chunks, chunk = n % round / d->stages;
    if (d->chunks == 1) return (schedule_pass){ .micro_batch = n, .direction = (uint16_t)direction };
    return (schedule_pass){
        .micro_batch = n / round * d->stages + n % d->stages,
        .chunk = (uint16_t)(direction == PASS_FORWARD ? chunk : d->chunks - 1 - chunk),
        .direction = (uint16_t)direction,
    };
}

// GPipe does all forwards first (Huang et al., "GPipe", NeurIPS 2019). 1F1B as many as there are stages behind
// ("PipeDream-flush": Narayanan et al., "Memory-efficient pipeline-parallel DNN training", ICML 2021). Interleaved two for each
// stage behind, since a micro-batch passes there in both directions, and p for each chunk but the last (Narayanan et al., SC
// 2021; Megatron-LM does the same).
uint32_t schedule_warm_up(const schedule_def *d, uint32_t stage)
{
    const uint32_t all = d->micro_batches * d->chunks, behind = d->stages - 1 - stage;
    uint32_t count = all;
    switch (d->kind) {
    case SCHEDULE_GPIPE: break;
    case SCHEDULE_1F1B: count = behind; break;
    case SCHEDULE_INTERLEAVED_1F1B: count = 2 * behind + (d->chunks - 1) * d->stages; break;
    }
    return count < all ? count : all;
}

schedule schedule_build(arena *a, const schedule_def *def)
{
    sim_error error = { 0 };
    SIM_ASSERT(schedule_check_sizes(def, NULL, &error));
    const uint32_t half = def->micro_batches * def->chunks;
    schedule s = { .def = *def,
                   .pass_count = 2 * half,
                   .passes = arena_array(a, schedule_pass, (size_t)2 * half * def->stages) };
    schedule_pass *next = s.passes;
    for (uint32_t stage = 0; stage < def->stages; stage++) {
        const uint32_t ahead = schedule_warm_up(def, stage);
        for (uint32_t n = 0; n < half + ahead; n++) { // one forward and one backward in turn, where there are
            if (n < half) *next++ = nth(def, n, PASS_FORWARD);
            if (n >= ahead) *next++ = nth(def, n - ahead, PASS_BACKWARD);
        }
    }
    return s;
}

// ---- questions

schedule_pass schedule_pass_at(const schedule *s, uint32_t stage, uint32_t index)
{
    SIM_ASSERT(stage < s->def.stages && index < s->pass_count);
    return s->passes[(size_t)stage * s->pass_count + index];
}

bool schedule_needs(const schedule *s, uint32_t stage, schedule_pass pass, uint32_t *needed_stage,
                    schedule_pass *needed)
{
    const uint32_t stages = s->def.stages, last = stages * s->def.chunks - 1;
    const uint32_t place = pass.chunk * stages + stage; // the virtual stage
    SIM_ASSERT(stage < stages && pass.chunk < s->def.chunks);
    *needed = pass;
    *needed_stage = stage;
    if (pass.direction == PASS_FORWARD && place == 0) return false;
    if (pass.direction == PASS_BACKWARD && place == last) {
        needed->direction = PASS_FORWARD;
        return true;
    }
    const uint32_t other = pass.direction == PASS_FORWARD ? place - 1 : place + 1;
    needed->chunk = (uint16_t)(other / stages);
    *needed_stage = other % stages;
    return true;
}

uint32_t schedule_peak_in_flight(const schedule *s, uint32_t stage)
{
    uint32_t now = 0, peak = 0;
    for (uint32_t i = 0; i < s->pass_count; i++) {
        if (schedule_pass_at(s, stage, i).direction == PASS_BACKWARD) {
            SIM_ASSERT(now > 0);
            now--;
        } else if (++now > peak) {
            peak = now;
        }
    }
    return peak;
}
