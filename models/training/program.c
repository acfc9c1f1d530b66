// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/training/program.h"
#include "sim/check.h"
#include <math.h>

const char *const op_stream_words[] = { "compute", "tp", "dp", "pp", NULL };

typedef struct builder {
    arena *a;
    uint32_t stage;
    const chunk_costs *const *chunks;
    const program_settings *settings;
    const schedule *schedule;
    program *out;
    gradient_coding coding;
    uint16_t *reduced; // chunks in the order in which their last backward passes end
    uint32_t reduced_count;
} builder;

static program_op *add_op(builder *b, op_kind kind, const char *name)
{
    program_op *op = array_push(&b->out->ops, b->a);
    *op = (program_op){ .kind = (uint8_t)kind, .micro_batch = NO_ID, .name = name };
    return op;
}

static void add_tensor(builder *b, collective_kind kind, uint64_t bytes, const char *name)
{
    if (b->settings->tensor == 1) return;
    add_op(b, OP_TENSOR, name)->first = b->out->tensor_calls.count;
    *array_push(&b->out->tensor_calls, b->a) = (tensor_call){ .kind = kind, .bytes = bytes, .name = name };
}

static uint64_t bytes_of(uint64_t elements, double element_bytes)
{
    return (uint64_t)ceil((double)elements * element_bytes);
}

// ---- data parallel

static uint32_t add_call(builder *b, collective_kind kind, uint64_t bytes, const char *name)
{
    *array_push(&b->out->data_calls, b->a) = (data_call){ .kind = kind, .bytes = bytes, .name = name };
    return b->out->data_calls.count - 1;
}

static void add_coded_calls(builder *b, const gradient_bucket *bucket, coding_step behind)
{
    data_call calls[CODING_CALLS_MAX];
    const uint32_t count = coding_calls(&b->coding, bucket, behind, calls);
    for (uint32_t i = 0; i < count; i++)
        *array_push(&b->out->data_calls, b->a) = calls[i];
}

static void add_line(builder *b, uint32_t first)
{
    program_op *op = add_op(b, OP_LINE, "line");
    op->first = first;
    op->count = b->out->data_calls.count - first;
}

static void add_gather(builder *b, const gradient_bucket *bucket)
{
    add_call(b, COLLECTIVE_ALL_GATHER, bytes_of(bucket->elements, b->settings->parameter_bytes),
             "parameter all-gather");
}

// In the order in which forward passes need them.
static void add_first_gathers(builder *b)
{
    b->out->gathers = arena_array(b->a, uint32_t, b->schedule->def.chunks);
    for (uint32_t c = 0; c < b->schedule->def.chunks; c++) {
        for (uint32_t i = b->chunks[c]->bucket_count; i-- > 0;)
            add_gather(b, &b->chunks[c]->buckets[i]);
        b->out->gathers[c] = b->out->data_calls.count - 1;
    }
    if (b->out->data_calls.count > 0) add_line(b, 0);
}

// Each owner of a share hands it to the others, one after another.
static void add_broadcasts(builder *b)
{
    const program_settings *s = b->settings;
    uint64_t elements = 0;
    for (uint32_t c = 0; c < b->schedule->def.chunks; c++)
        for (uint32_t i = 0; i < b->chunks[c]->bucket_count; i++)
            elements += b->chunks[c]->buckets[i].elements;
    const uint64_t bytes = bytes_of((elements + s->data - 1) / s->data, s->parameter_bytes);
    for (uint32_t owner = 0; owner < s->data; owner++)
        add_call(b, COLLECTIVE_BROADCAST, bytes, "parameter broadcast");
}

// In the order in which the backward pass made them full.
static void add_last_gathers(builder *b)
{
    const uint32_t first = b->out->data_calls.count;
    if (b->settings->owners_broadcast) {
        add_broadcasts(b);
        add_line(b, first);
        return;
    }
    for (uint32_t c = b->schedule->def.chunks; c-- > 0;)
        for (uint32_t i = 0; i < b->chunks[c]->bucket_count; i++)
            add_gather(b, &b->chunks[c]->buckets[i]);
    if (b->out->data_calls.count > first) add_line(b, first);
}

// What the last backward pass through a chunk puts in line, bucket by bucket.
static void add_reductions(builder *b, uint32_t chunk)
{
    const chunk_costs *costs = b->chunks[chunk];
    uint32_t *starts = b->out->reductions[chunk] = arena_array(b->a, uint32_t, costs->bucket_count + 1);
    for (uint32_t i = 0; i < costs->bucket_count; i++) {
        starts[i] = b->out->data_calls.count;
        add_coded_calls(b, &costs->buckets[i], CODING_ENCODE);
    }
    starts[costs->bucket_count] = b->out->data_calls.count;
    b->reduced[b->reduced_count++] = (uint16_t)chunk;
}

// For all calls before `end`.
static void add_data_wait(builder *b, uint32_t end)
{
    if (end > 0) add_op(b, OP_DATA_WAIT, "wait")->first = end;
}

static void add_code(builder *b, uint32_t chunk, uint32_t bucket, coding_step step)
{
    const uint32_t index = b->chunks[chunk]->coding[bucket].works[step];
    if (index == NO_WORK) return;
    program_op *op = add_op(b, OP_CODE, coding_step_words[step]);
    op->chunk = (uint16_t)chunk;
    op->first = index;
}

typedef void bucket_visit(builder *b, uint32_t chunk, uint32_t bucket, uint32_t *end);

static void encode_bucket(builder *b, uint32_t chunk, uint32_t bucket, uint32_t *end)
{
    const uint32_t first = b->out->reductions[chunk][bucket];
    add_code(b, chunk, bucket, CODING_ENCODE);
    if (*end == first) return;
    program_op *line = add_op(b, OP_LINE, "line");
    line->first = first;
    line->count = *end - first;
}

// A bucket whose calls have ended before *end is recoded, and what that makes is put in line.
static void recode_bucket(builder *b, uint32_t chunk, uint32_t bucket, uint32_t *end)
{
    data_call calls[CODING_CALLS_MAX];
    if (coding_calls(&b->coding, &b->chunks[chunk]->buckets[bucket], CODING_RECODE, calls) == 0) return;
    const uint32_t first = b->out->data_calls.count;
    add_data_wait(b, *end);
    add_code(b, chunk, bucket, CODING_RECODE);
    add_coded_calls(b, &b->chunks[chunk]->buckets[bucket], CODING_RECODE);
    add_line(b, first);
    *end = b->out->data_calls.count;
}

static void decode_bucket(builder *b, uint32_t chunk, uint32_t bucket, uint32_t *end)
{
    if (b->chunks[chunk]->coding[bucket].works[CODING_DECODE] == NO_WORK) return;
    add_data_wait(b, *end);
    add_code(b, chunk, bucket, CODING_DECODE);
}

// ends: by bucket in the order of their reductions, behind its last call so far.
static void visit_buckets(builder *b, bucket_visit *visit, uint32_t *ends)
{
    for (uint32_t i = 0; i < b->reduced_count; i++)
        for (uint32_t bucket = 0; bucket < b->chunks[b->reduced[i]]->bucket_count; bucket++)
            visit(b, b->reduced[i], bucket, ends++);
}

static void find_end(builder *b, uint32_t chunk, uint32_t bucket, uint32_t *end)
{
    *end = b->out->reductions[chunk][bucket + 1];
}

// Behind all passes.
static void add_coding(builder *b)
{
    uint32_t buckets = 0;
    for (uint32_t i = 0; i < b->reduced_count; i++)
        buckets += b->chunks[b->reduced[i]]->bucket_count;
    uint32_t *ends = arena_array(b->a, uint32_t, buckets);
    visit_buckets(b, find_end, ends);
    if (!b->settings->overlap_gradients) visit_buckets(b, encode_bucket, ends);
    visit_buckets(b, recode_bucket, ends);
    visit_buckets(b, decode_bucket, ends);
}

// ---- pipeline

uint32_t program_messages(const schedule_def *def)
{
    return 2 * def->chunks * def->micro_batches;
}

static uint32_t message_of(const schedule_def *def, schedule_pass pass)
{
    return (pass.direction * def->chunks + pass.chunk) * def->micro_batches + pass.micro_batch;
}

// The pass that needs what this one makes, on another stage; false: none does, or the same stage has it already.
static bool follower(const builder *b, schedule_pass pass, schedule_pass *out)
{
    const schedule_def *def = &b->schedule->def;
    const uint32_t place = pass.chunk * def->stages + b->stage; // the virtual stage
    *out = pass;
    if (pass.direction == PASS_FORWARD) {
        if (place + 1 == def->stages * def->chunks) return false;
        out->chunk = (uint16_t)((place + 1) / def->stages);
    } else {
        if (place == 0) return false;
        out->chunk = (uint16_t)((place - 1) / def->stages);
    }
    return true;
}

static void add_move(builder *b, bool sends, schedule_pass needing)
{
    *array_push(&b->out->moves, b->a) = (program_move){ .sends = sends,
                                                        .direction = (uint8_t)needing.direction,
                                                        .message = message_of(&b->schedule->def, needing) };
}

static bool add_sending(builder *b, schedule_pass pass)
{
    schedule_pass needing;
    if (!follower(b, pass, &needing)) return false;
    add_move(b, true, needing);
    return true;
}

static bool receives(const builder *b, schedule_pass pass)
{
    uint32_t stage;
    schedule_pass needed;
    return schedule_needs(b->schedule, b->stage, pass, &stage, &needed) && stage != b->stage;
}

static bool add_receiving(builder *b, schedule_pass pass)
{
    if (!receives(b, pass)) return false;
    add_move(b, false, pass);
    return true;
}

// What has been received in shares is put together.
static void add_join_shares(builder *b, uint32_t received)
{
    const program_settings *s = b->settings;
    if (s->sequence_parallel || !s->scatter_gather) return;
    for (uint32_t i = 0; i < received; i++)
        add_tensor(b, COLLECTIVE_ALL_GATHER, s->activation_bytes, "activation all-gather");
}

// Passes between which a blocking stage exchanges nothing: one, or where an interleaved schedule runs steadily a forward and
// the backward behind it (Megatron-LM, forward_backward_pipelining_with_interleaving). A stage that does all its forwards first
// never does: its first backward may need what others make of its last forward. Returns the one behind the last.
static uint32_t run_end(const builder *b, uint32_t first)
{
    const schedule *s = b->schedule;
    const uint32_t ahead = schedule_warm_up(&s->def, b->stage);
    const bool steady = first >= ahead && ahead < s->pass_count / 2;
    const bool pairs = s->def.kind == SCHEDULE_INTERLEAVED_1F1B && steady &&
                       schedule_pass_at(s, b->stage, first).direction == PASS_FORWARD;
    return first + (pairs ? 2 : 1);
}

// Between the passes from `before` to `first` and those from there to `end`.
static void add_exchange(builder *b, uint32_t before, uint32_t first, uint32_t end)
{
    const uint32_t start = b->out->moves.count;
    uint32_t received = 0;
    for (uint32_t i = before; i < first; i++)
        add_sending(b, schedule_pass_at(b->schedule, b->stage, i));
    for (uint32_t i = first; i < end; i++)
        received += add_receiving(b, schedule_pass_at(b->schedule, b->stage, i));
    if (b->out->moves.count == start) return;
    program_op *op = add_op(b, OP_EXCHANGE, "exchange");
    op->first = start;
    op->count = b->out->moves.count - start;
    add_join_shares(b, received);
}

uint32_t program_moves_at_once(const schedule *s, uint32_t stage)
{
    const builder b = { .stage = stage, .schedule = s };
    schedule_pass needing;
    uint32_t before = 0, first = 0, most = 0;
    for (bool more = true; more;) {
        const uint32_t end = first < s->pass_count ? run_end(&b, first) : first;
        uint32_t moves = 0;
        for (uint32_t i = before; i < first; i++)
            moves += follower(&b, schedule_pass_at(s, stage, i), &needing);
        for (uint32_t i = first; i < end; i++)
            moves += receives(&b, schedule_pass_at(s, stage, i));
        if (moves > most) most = moves;
        more = first < s->pass_count;
        before = first;
        first = end;
    }
    return most;
}

// ---- passes

typedef struct pass_counts { // by chunk: passes still to come, to know the last one
    uint32_t *backwards;
    bool *begun;
} pass_counts;

static void add_pass(builder *b, pass_counts *counts, schedule_pass pass)
{
    const bool forward = pass.direction == PASS_FORWARD;
    const program_settings *s = b->settings;
    program_op *op = add_op(b, OP_PASS, pass_direction_words[pass.direction]);
    op->direction = (uint8_t)pass.direction;
    op->chunk = pass.chunk;
    op->micro_batch = pass.micro_batch;
    if (forward) {
        op->marked = b->out->gathers && !counts->begun[pass.chunk];
        counts->begun[pass.chunk] = true;
        return;
    }
    if (--counts->backwards[pass.chunk] > 0 || s->data == 1) return;
    op->marked = s->overlap_gradients;
    add_reductions(b, pass.chunk);
}

static void add_blocking_passes(builder *b, pass_counts *counts)
{
    uint32_t before = 0, first = 0;
    while (first < b->schedule->pass_count) {
        const uint32_t end = run_end(b, first);
        add_exchange(b, before, first, end);
        for (uint32_t i = first; i < end; i++)
            add_pass(b, counts, schedule_pass_at(b->schedule, b->stage, i));
        before = first;
        first = end;
    }
    add_exchange(b, before, first, first);
}

static void add_overlapped_passes(builder *b, pass_counts *counts)
{
    for (uint32_t i = 0; i < b->schedule->pass_count; i++) {
        const schedule_pass pass = schedule_pass_at(b->schedule, b->stage, i);
        const uint32_t move = b->out->moves.count;
        if (add_receiving(b, pass)) {
            add_op(b, OP_RECEIVE, "receive")->first = move;
            add_join_shares(b, 1);
        }
        add_pass(b, counts, pass);
        const uint32_t sent = b->out->moves.count;
        if (add_sending(b, pass)) add_op(b, OP_SEND, "send")->first = sent;
    }
}

static void add_passes(builder *b)
{
    const uint32_t chunks = b->schedule->def.chunks;
    pass_counts counts = { .backwards = arena_array(b->a, uint32_t, chunks),
                           .begun = arena_array(b->a, bool, chunks) };
    for (uint32_t c = 0; c < chunks; c++)
        counts.backwards[c] = b->schedule->def.micro_batches;
    if (b->settings->overlap_pipeline)
        add_overlapped_passes(b, &counts);
    else
        add_blocking_passes(b, &counts);
}

// ---- the end of a step

// Each rank holds a part of the gradients: with ZeRO-1 a share of a replica's, and always its part of the model. The sum of
// squares is one fp32 number. With sequence parallel the gradients of norms, each of a part of the tokens, are added up first.
static void add_gradient_sums(builder *b)
{
    const program_settings *s = b->settings;
    const bool ends = b->stage == 0 || b->stage + 1 == b->schedule->def.stages;
    uint64_t norm_elements = 0;
    for (uint32_t c = 0; c < b->schedule->def.chunks; c++)
        norm_elements += b->chunks[c]->norm_elements;
    if (s->sequence_parallel && norm_elements > 0)
        add_tensor(b, COLLECTIVE_ALL_REDUCE, bytes_of(norm_elements, s->gradient_bytes),
                   "norm weights' gradient all-reduce");
    if (b->schedule->def.stages > 1 && s->tied_table && ends) {
        b->out->table_bytes = bytes_of(s->table_elements, s->gradient_bytes);
        add_op(b, OP_TABLE, "tied table's gradient all-reduce");
    }
    add_tensor(b, COLLECTIVE_ALL_REDUCE, 4, "gradient norm all-reduce");
    if (b->schedule->def.stages > 1) add_op(b, OP_NORM, "gradient norm all-reduce");
    if (s->data > 1 && s->sharding == SHARDING_ZERO_1) {
        const uint32_t norm = add_call(b, COLLECTIVE_ALL_REDUCE, 4, "gradient norm all-reduce");
        add_line(b, norm);
        add_data_wait(b, b->out->data_calls.count);
    }
}

void program_build(arena *a, uint32_t stage, const chunk_costs *const *chunks, const program_settings *s,
                   program *out)
{
    SIM_ASSERT(s->sharding == SHARDING_NONE || s->sharding == SHARDING_ZERO_1);
    SIM_ASSERT(stage < s->schedule->def.stages);
    builder b = {
        .a = a, .stage = stage, .chunks = chunks, .settings = s, .schedule = s->schedule, .out = out
    };
    const bool gathers = s->data > 1 && s->sharding == SHARDING_ZERO_1;
    const uint32_t shares = s->sequence_parallel || s->scatter_gather ? s->tensor : 1;
    *out = (program){ .message_bytes = (s->activation_bytes + shares - 1) / shares };
    out->reductions = arena_array(a, uint32_t *, s->schedule->def.chunks);
    b.coding = s->coding;
    b.coding.replicas = s->data;
    b.coding.scatters = s->sharding == SHARDING_ZERO_1 && !s->owners_broadcast;
    b.reduced = arena_array(a, uint16_t, s->schedule->def.chunks);
    if (gathers && s->overlap_parameters) add_first_gathers(&b);
    const uint32_t reductions = out->data_calls.count;
    add_passes(&b);
    if (s->coding.kind != CODING_NONE)
        add_coding(&b);
    else if (!s->overlap_gradients && out->data_calls.count > reductions)
        add_line(&b, reductions);
    add_data_wait(&b, out->data_calls.count);
    add_gradient_sums(&b);
    add_op(&b, OP_OPTIMIZER, "optimizer");
    if (gathers && !s->overlap_parameters) add_last_gathers(&b);
}
