// SPDX-License-Identifier: GPL-3.0-or-later
// models/training/program.h: what one lane does in one step, as data: operations in order and what waits for what. All lanes
// of a pipeline stage share one program. It has no times and no clock.
//
// Data parallel (DESIGN.md 8): micro-batches forward and backward in turn; in the last backward pass gradient buckets are
// reduced as they fill (all-reduce; reduce-scatter with ZeRO-1), in order, on a stream of their own; the optimizer waits for
// all of them; with ZeRO-1 the norm of the gradients is summed first and the new parameters are gathered bucket by bucket.
#pragma once
#include "models/collective/plan.h"
#include "models/ids.h"
#include "models/training/pass.h"

typedef enum op_kind { OP_FORWARD, OP_BACKWARD, OP_BACKWARD_PIECE, OP_OPTIMIZER, OP_COLLECTIVE } op_kind;
typedef enum op_stream { STREAM_COMPUTE, STREAM_DP, STREAMS } op_stream;
extern const char *const op_stream_words[]; // "compute", "dp"

typedef struct program_op {
    op_kind kind;
    op_stream stream;
    const char *name;     // "forward", "gradient reduce-scatter", ...: the span's kind
    uint32_t micro_batch; // NO_ID: none
    uint32_t piece;       // OP_BACKWARD_PIECE
    uint32_t slot;        // OP_COLLECTIVE: which of the program's collectives
} program_op;

typedef struct program_collective {
    collective_kind kind;
    uint64_t bytes; // as models/collective/plan.h defines them
    const char *name;
    uint32_t op; // the operation that takes part in it
} program_collective;

typedef struct program_edge {
    uint32_t before, after; // operations
} program_edge;

ARRAY_OF(program_op, program_op_array);
ARRAY_OF(program_collective, program_collective_array);
ARRAY_OF(program_edge, program_edge_array);

typedef struct program {
    program_op_array ops;
    program_edge_array edges;
    program_collective_array collectives;
} program;

typedef struct program_settings {
    uint64_t micro_batches;
    uint32_t data; // replicas; 1: no collectives
    int sharding;  // sharding_kind
    bool overlap_gradients;
    double gradient_bytes, parameter_bytes; // per element
} program_settings;

void program_build(arena *a, const pass_costs *costs, const program_settings *settings, program *out);
// The work of an operation; NULL for a collective.
const work *program_work(const program_op *op, const pass_costs *costs);
