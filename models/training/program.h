// SPDX-License-Identifier: GPL-3.0-or-later
// models/training/program.h: what the lanes of one pipeline stage do in one step, as data: operations in the order of the
// compute stream, and what they put on the stream of the data-parallel group. It has no times and no clock.
//
// Pipeline. Passes follow the schedule (schedule.h). Between neighbours activations go forward and their gradients back, a
// message for each pass that needs one. Either sends go on beside compute: a message starts when the pass that made it has
// ended, and the pass that needs it waits for it. Or, as Megatron-LM's batched send/receive does it, which a synchronisation
// of the device follows, both sides stand still: between two passes (interleaved, once it runs steadily: two pairs of passes)
// a stage hands over what the former made, asks for what the latter needs, and waits until all of it has moved; then the
// host, which has run dry, needs PROGRAM_RESTART_CALLS calls until the GPU works again.
// Without sequence parallel every rank of a tensor-parallel group holds all activations; with scatter/gather each sends its
// share and the receivers gather (Narayanan et al., SC 2021, section 4.1), else each sends everything.
//
// Data parallel: in the last backward pass through a chunk gradient buckets are reduced as they fill (all-reduce;
// reduce-scatter with ZeRO-1), in order, on a stream of their own. Gradients that are reduced in another form
// (gradient_coding.h) are encoded as the buckets fill, or without overlap behind the passes; what follows their first
// collective, a second one and decoding, comes behind the passes, bucket by bucket, beside the collectives of those that
// follow. When all are reduced, the first and the last stage add up
// the gradients of a tied table; the norm of the gradients is summed over all that hold a part of them; the optimizer; with
// ZeRO-1 the new parameters are gathered bucket by bucket, at the end of the step, or (overlap_parameters) at the beginning of
// the next one, beside the first forward pass through each chunk, which waits for what it needs. Then every step begins with
// those of the step before, also the first.
#pragma once
#include "models/ids.h"
#include "models/training/pass.h"
#include "models/training/schedule.h"
#include "models/training/stages.h"

// Host calls from the end of a blocking exchange until the first kernel after it runs: receive buffers, operations, group
// launch, two waits and the synchronisation (about 12), and then the entry of a pass up to its first kernel (about 10).
// Grade: assumed, by counting the calls of Megatron-LM (megatron/core/pipeline_parallel/p2p_communication.py); measured
// pipelines agree (tests/models/test_zero_bubble.c).
enum { PROGRAM_RESTART_CALLS = 22 };

typedef enum op_kind {
    OP_PASS,      // a pass of micro_batch through chunk
    OP_SEND,      // hands moves[first] to the network
    OP_RECEIVE,   // waits until moves[first] has arrived
    OP_EXCHANGE,  // hands over and asks for moves[first .. first + count - 1], waits until all have moved
    OP_TENSOR,    // tensor_calls[first], and waits for it
    OP_LINE,      // puts data_calls[first .. first + count - 1] in line
    OP_DATA_WAIT, // waits until data_calls before first have ended
    OP_CODE,      // works[first] of chunk: a bucket is encoded, recoded or decoded
    OP_TABLE,     // the gradients of a tied table are added up with those of the other end of the pipeline
    OP_NORM,      // the pipeline's stages add up the norm of their gradients
    OP_OPTIMIZER
} op_kind;

typedef enum op_stream { STREAM_COMPUTE, STREAM_TP, STREAM_DP, STREAM_PP, STREAMS } op_stream;
extern const char *const op_stream_words[]; // "compute", "tp", "dp", "pp"

typedef struct program_op {
    uint8_t kind;      // op_kind
    uint8_t direction; // OP_PASS: pass_direction
    bool marked;       // OP_PASS: first_forward or last_backward, whose buckets count
    uint16_t chunk;    // OP_PASS, OP_CODE
    uint32_t micro_batch;
    uint32_t first, count;
    const char *name; // "forward", "gradient norm all-reduce", ...: the span's kind
} program_op;

// A message is numbered at its receiver: (direction x chunks + chunk) x micro-batches + micro-batch, all of the pass that needs
// it. A forward goes to the next stage, a backward to the one before, around the ends where chunks follow one another.
typedef struct program_move {
    bool sends;
    uint8_t direction; // pass_direction of the pass that needs it
    uint32_t message;
} program_move;

ARRAY_OF(program_op, program_op_array);
ARRAY_OF(program_move, program_move_array);
ARRAY_OF(data_call, data_call_array);
ARRAY_OF(tensor_call, tensor_call_array);

typedef struct program {
    program_op_array ops;
    program_move_array moves;
    data_call_array data_calls;
    tensor_call_array tensor_calls;
    // By chunk and bucket, with one more behind the last: bucket i, once it is full, is reduced by the calls from
    // reductions[chunk][i] on, up to that of the next.
    uint32_t **reductions;
    // By chunk: the data call that gathers its bucket 0, at the beginning of a step only. Bucket i is gathered by
    // gathers[chunk] - i, for the first forward needs the last bucket first. Of 3 buckets with the calls 4, 5 and 6, call 4
    // gathers bucket 2, and gathers[chunk] is 6. NULL: there are none.
    uint32_t *gathers;
    uint64_t message_bytes; // of each message and rank
    uint64_t table_bytes;   // OP_TABLE
} program;

typedef struct program_settings {
    const schedule *schedule;
    const stage_table *stages;
    uint32_t data, tensor; // sizes
    int sharding;          // sharding_kind
    bool sequence_parallel, scatter_gather;
    bool overlap_gradients, overlap_parameters, overlap_pipeline;
    // ZeRO-1: whole gradients are summed, and each owner of a share broadcasts its parameters.
    bool owners_broadcast;
    bool tied_table;        // held by both ends of the pipeline
    gradient_coding coding; // of what replicas reduce; its replicas and scatters follow from the rest
    double gradient_bytes, parameter_bytes; // per element
    uint64_t activation_bytes;              // of a micro-batch between two layers: w T h
    uint64_t table_elements;                // of a rank's share of the vocabulary table
} program_settings;

// chunks: the costs of the stage's chunks; only what does not depend on a GPU's health is looked at.
void program_build(arena *a, uint32_t stage, const chunk_costs *const *chunks,
                   const program_settings *settings, program *out);
// Without overlap: the most messages that one exchange of the stage sends and receives.
uint32_t program_moves_at_once(const schedule *s, uint32_t stage);
uint32_t program_messages(const schedule_def *def); // numbers of messages: 2 chunks x micro-batches
