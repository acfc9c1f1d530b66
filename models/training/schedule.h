// SPDX-License-Identifier: GPL-3.0-or-later
// models/training/schedule.h: a pipeline schedule as data: for each stage the order of its passes. A schedule has no clock
// and sends nothing: who plays it asks schedule_needs() what a pass waits for.
//     stage          p of them, each with 1/p of the layers, numbered from 0 along the model
//     chunk          v of them per stage ("virtual stages"), each with 1/v of the stage's layers; chunk c of stage s is the
//                    virtual stage c p + s of the model
//     pass           forward or backward of one micro-batch through one chunk: each stage has 2 m v of them
#pragma once
#include "sim/arena.h"
#include "sim/error.h"

typedef enum schedule_kind { SCHEDULE_GPIPE, SCHEDULE_1F1B, SCHEDULE_INTERLEAVED_1F1B } schedule_kind;
extern const char *const schedule_kind_words[]; // "gpipe", "1f1b", "interleaved-1f1b"; ends with NULL

typedef enum pass_direction { PASS_FORWARD, PASS_BACKWARD } pass_direction;
extern const char *const pass_direction_words[]; // "forward", "backward"; ends with NULL

enum {
    SCHEDULE_STAGES_MAX = 1024,
    SCHEDULE_CHUNKS_MAX = 1024,
    SCHEDULE_PASSES_MAX = 1 << 22 // 2 p m v: 32 MiB as passes, as much again for their times
};

typedef struct schedule_def {
    schedule_kind kind;
    uint32_t stages, micro_batches, chunks; // p, m and v; v is 1 unless the kind interleaves
} schedule_def;

typedef struct schedule_pass {
    uint32_t micro_batch;
    uint16_t chunk;
    uint16_t direction; // a pass_direction
} schedule_pass;

typedef struct schedule {
    schedule_def def;
    uint32_t pass_count;   // of each stage: 2 m v
    schedule_pass *passes; // stage by stage, in the order in which the stage does them
} schedule;

typedef struct schedule_times {
    uint64_t *starts; // of each pass, as in schedule.passes
    uint64_t total;   // end of the last pass
} schedule_times;

// Can there be such a schedule? If not, the reason and the nearest valid size. where: of the faulty definition, or NULL.
bool schedule_check_sizes(const schedule_def *def, const sim_place *where, sim_error *error);
// The order of a definition that schedule_check_sizes() lets pass.
schedule schedule_build(arena *a, const schedule_def *def);

schedule_pass schedule_pass_at(const schedule *s, uint32_t stage, uint32_t index);
// The pass that pass of stage waits for, and its stage; false: it waits for none. A forward waits for the forward of the
// virtual stage before, a backward for the backward of the virtual stage behind, the last one's for its own forward.
bool schedule_needs(const schedule *s, uint32_t stage, schedule_pass pass, uint32_t *needed_stage,
                    schedule_pass *needed);
// Forwards that a stage does before it does one forward and one backward in turn; m v when it does all of them first.
uint32_t schedule_warm_up(const schedule_def *def, uint32_t stage);
// Forwards of a stage whose backwards are still to come, at most: activations of that many chunks are kept.
uint32_t schedule_peak_in_flight(const schedule *s, uint32_t stage);

// Has every stage each of its passes once, and can they all be done in this order? If not, why (exit code 1). The order may
// be anybody's; scratch is left as it was.
bool schedule_check(const schedule *s, arena *scratch, sim_error *error);
// When every pass starts if a forward of a chunk takes forward and a backward takes backward, both above zero and equal on
// all stages, sending takes no time, and each pass starts as early as it can. The schedule must be a sound one.
//     GPipe, 1F1B            T = (m + p - 1) (F + B)
//     interleaved 1F1B       T = m (F + B) + (p - 1) (F + B) / v
// with F = v forward and B = v backward, a stage's times per micro-batch [the unit of forward and backward]. Narayanan et al.,
// "Efficient large-scale language model training on GPU clusters using Megatron-LM", SC 2021, section 2.2.
schedule_times schedule_evaluate(arena *a, const schedule *s, uint32_t forward, uint32_t backward);
