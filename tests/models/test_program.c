// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "models/training/program.h"
#include "sim/array.h"
#include "sim/check.h"

enum { TEXT_MAX = 4000, CHUNKS_MAX = 4 };

// Two chunks: two buckets in the first (7,001 and 7,002 elements, full in this order), one in the second.
static gradient_bucket two_buckets[] = { { .elements = 7001 }, { .elements = 7002 } },
                       one_bucket[] = { { .elements = 411 } };
static bucket_work two_coded[] = { { { 3, 4, 5 } }, { { 6, 7, 8 } } }; // encoded, recoded, decoded
static const chunk_costs first_chunk = {
    .buckets = two_buckets, .bucket_count = 2, .coding = two_coded, .norm_elements = 130
};
static const chunk_costs second_chunk = { .buckets = one_bucket, .bucket_count = 1, .norm_elements = 23 };
static const chunk_costs *const both_chunks[CHUNKS_MAX] = { &first_chunk, &second_chunk, &second_chunk,
                                                            &second_chunk };

// ---- a program as a text

typedef struct text {
    char line[TEXT_MAX];
    size_t used;
} text;

static void say(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(text *t, const char *format, ...)
{
    va_list arguments;
    if (t->used > 0) t->line[t->used++] = ' ';
    va_start(arguments, format);
    const int length = vsnprintf(t->line + t->used, sizeof t->line - t->used, format, arguments);
    va_end(arguments);
    t->used += (size_t)length;
    assert_true(t->used < sizeof t->line);
}

static void say_exchange(text *t, const program *p, const program_op *op)
{
    for (uint32_t i = 0; i < op->count; i++) {
        const program_move *move = &p->moves.items[op->first + i];
        say(t, "%s%c%u%s", i == 0 ? "[" : "", move->sends ? '>' : '<', move->message,
            i + 1 == op->count ? "]" : "");
    }
}

static void say_op(text *t, const program *p, const program_op *op)
{
    const program_move *move = &p->moves.items[op->first];
    const tensor_call *call = &p->tensor_calls.items[op->first];
    switch ((op_kind)op->kind) {
    case OP_PASS:
        assert_string_equal(op->name, pass_direction_words[op->direction]);
        say(t, "%c%u%c%s", op->direction == PASS_FORWARD ? 'F' : 'B', op->micro_batch, 'a' + op->chunk,
            op->marked ? "*" : "");
        return;
    case OP_SEND:
    case OP_RECEIVE:
        assert_int_equal(move->sends, op->kind == OP_SEND);
        say(t, "%c%u", move->sends ? '>' : '<', move->message);
        break;
    case OP_EXCHANGE: say_exchange(t, p, op); break;
    case OP_TENSOR:
        assert_string_equal(op->name, call->name);
        say(t, "T%s:%u", call->kind == COLLECTIVE_ALL_GATHER ? "gather" : "reduce", (unsigned)call->bytes);
        break;
    case OP_LINE: say(t, "L%u+%u", op->first, op->count); break;
    case OP_DATA_WAIT: say(t, "W%u", op->first); break;
    case OP_CODE: say(t, "C%u", op->first); break;
    case OP_TABLE: say(t, "E%u", (unsigned)p->table_bytes); break;
    case OP_NORM: say(t, "N"); break;
    case OP_OPTIMIZER: say(t, "O"); break;
    }
    assert_int_equal(op->micro_batch, NO_ID);
}

// "reduce:", "scatter:" or "gather:" and the bytes of each data call.
static void say_calls(text *t, const program *p)
{
    static const char *const words[COLLECTIVE_KINDS] = { [COLLECTIVE_ALL_REDUCE] = "reduce",
                                                         [COLLECTIVE_REDUCE_SCATTER] = "scatter",
                                                         [COLLECTIVE_ALL_GATHER] = "gather",
                                                         [COLLECTIVE_ALL_TO_ALL] = "exchange",
                                                         [COLLECTIVE_BROADCAST] = "broadcast" };
    for (uint32_t i = 0; i < p->data_calls.count; i++)
        say(t, "%s:%u", words[p->data_calls.items[i].kind], (unsigned)p->data_calls.items[i].bytes);
}

static program build(arena *a, const schedule_def *def, uint32_t stage, const program_settings *settings)
{
    const schedule order = schedule_build(a, def);
    program_settings own = *settings;
    program out;
    own.schedule = &order;
    own.gradient_bytes = 4;
    own.parameter_bytes = 2;
    program_build(a, stage, both_chunks, &own, &out);
    return out;
}

static void assert_program(const schedule_def *def, uint32_t stage, const program_settings *settings,
                           const char *want_ops, const char *want_calls)
{
    arena *a = arena_create("test");
    const program p = build(a, def, stage, settings);
    text ops = { .used = 0 }, calls = { .used = 0 };
    for (uint32_t i = 0; i < p.ops.count; i++)
        say_op(&ops, &p, &p.ops.items[i]);
    say_calls(&calls, &p);
    assert_string_equal(ops.line, want_ops);
    assert_string_equal(calls.line, want_calls);
    arena_destroy(a);
}

// ---- pipelines: p stages, m micro-batches. Messages are numbered at their receivers: forward i has number i of p = 3, m = 4,
// its gradient's number is 4 + i. Chunk a of two has messages 0 to 3 forward and 8 to 11 backward, chunk b 4 to 7 and 12 to 15.

typedef struct pipeline_case {
    const char *name;
    schedule_def def;
    bool overlap;
    const char *want[3]; // of each stage; NULL: there is none
} pipeline_case;
#define GPIPE_3                                                                                              \
    {                                                                                                        \
        SCHEDULE_GPIPE, 3, 4, 1                                                                              \
    }
#define ONE_3                                                                                                \
    {                                                                                                        \
        SCHEDULE_1F1B, 3, 4, 1                                                                               \
    }
#define INTERLEAVED_2                                                                                        \
    {                                                                                                        \
        SCHEDULE_INTERLEAVED_1F1B, 2, 4, 2                                                                   \
    }

static const pipeline_case pipelines[] = {
    { "gpipe, messages beside passes",
      GPIPE_3,
      true,
      { "F0a >0 F1a >1 F2a >2 F3a >3 <4 B0a <5 B1a <6 B2a <7 B3a N O",
        "<0 F0a >0 <1 F1a >1 <2 F2a >2 <3 F3a >3 <4 B0a >4 <5 B1a >5 <6 B2a >6 <7 B3a >7 N O",
        "<0 F0a <1 F1a <2 F2a <3 F3a B0a >4 B1a >5 B2a >6 B3a >7 N O" } },
    { "gpipe, messages between passes",
      GPIPE_3,
      false,
      { "F0a [>0] F1a [>1] F2a [>2] F3a [>3 <4] B0a [<5] B1a [<6] B2a [<7] B3a N O",
        "[<0] F0a [>0 <1] F1a [>1 <2] F2a [>2 <3] F3a [>3 <4] B0a [>4 <5] B1a [>5 <6] B2a [>6 <7] B3a [>7] N "
        "O",
        "[<0] F0a [<1] F1a [<2] F2a [<3] F3a B0a [>4] B1a [>5] B2a [>6] B3a [>7] N O" } },
    { "1f1b, messages beside passes", // two, one and no forwards before a stage begins to alternate
      ONE_3,
      true,
      { "F0a >0 F1a >1 F2a >2 <4 B0a F3a >3 <5 B1a <6 B2a <7 B3a N O",
        "<0 F0a >0 <1 F1a >1 <4 B0a >4 <2 F2a >2 <5 B1a >5 <3 F3a >3 <6 B2a >6 <7 B3a >7 N O",
        "<0 F0a B0a >4 <1 F1a B1a >5 <2 F2a B2a >6 <3 F3a B3a >7 N O" } },
    { "1f1b, messages between passes",
      ONE_3,
      false,
      { "F0a [>0] F1a [>1] F2a [>2 <4] B0a F3a [>3 <5] B1a [<6] B2a [<7] B3a N O",
        "[<0] F0a [>0 <1] F1a [>1 <4] B0a [>4 <2] F2a [>2 <5] B1a [>5 <3] F3a [>3 <6] B2a [>6 <7] B3a [>7] N "
        "O",
        "[<0] F0a B0a [>4 <1] F1a B1a [>5 <2] F2a B2a [>6 <3] F3a B3a [>7] N O" } },
    // The first stage begins with 2 + 2 forwards, the second with 2. Chunk a of the second sends to chunk b of the first.
    { "interleaved, messages beside passes",
      INTERLEAVED_2,
      true,
      { "F0a >0 F1a >1 <4 F0b >4 <5 F1b >5 F2a >2 <12 B0b >8 F3a >3 <13 B1b >9 <6 F2b >6 <8 B0a <7 F3b >7 <9 "
        "B1a "
        "<14 B2b >10 <15 B3b >11 <10 B2a <11 B3a N O",
        "<0 F0a >4 <1 F1a >5 <4 F0b B0b >12 <5 F1b B1b >13 <2 F2a >6 <8 B0a >8 <3 F3a >7 <9 B1a >9 <6 F2b "
        "B2b >14 "
        "<7 F3b B3b >15 <10 B2a >10 <11 B3a >11 N O" } },
    // Pairs of passes stay together: what both made is handed over at once.
    { "interleaved, messages between pairs of passes",
      INTERLEAVED_2,
      false,
      { "F0a [>0] F1a [>1 <4] F0b [>4 <5] F1b [>5 <12] F2a B0b [>2 >8 <13] F3a B1b [>3 >9 <6 <8] F2b B0a [>6 "
        "<7 <9] "
        "F3b B1a [>7 <14] B2b [>10 <15] B3b [>11 <10] B2a [<11] B3a N O",
        "[<0] F0a [>4 <1] F1a [>5 <4] F0b B0b [>12 <5] F1b B1b [>13 <2 <8] F2a B0a [>6 >8 <3 <9] F3a B1a [>7 "
        ">9 <6] "
        "F2b B2b [>14 <7] F3b B3b [>15 <10] B2a [>10 <11] B3a [>11] N O" } },
    // As many micro-batches as stages. The first stage does all its forwards first, so the last of them and the first backward,
    // which comes of it, are no pair; the second stage does 2 + 3 forwards before its only pair, the third 3.
    { "interleaved, all forwards before the first backward",
      { SCHEDULE_INTERLEAVED_1F1B, 3, 3, 2 },
      false,
      { "F0a [>0] F1a [>1] F2a [>2 <3] F0b [>3 <4] F1b [>4 <5] F2b [>5 <9] B0b [>6 <10] B1b [>7 <11] B2b [>8 "
        "<6] B0a "
        "[<7] B1a [<8] B2a N O",
        "[<0] F0a [>0 <1] F1a [>1 <2] F2a [>2 <3] F0b [>3 <4] F1b [>4 <5 <9] F2b B0b [>5 >9 <10] B1b [>10 "
        "<11] B2b "
        "[>11 <6] B0a [>6 <7] B1a [>7 <8] B2a [>8] N O",
        "[<0] F0a [>3 <1] F1a [>4 <2] F2a [>5 <3] F0b B0b [>9 <4] F1b B1b [>10 <5] F2b B2b [>11 <6] B0a [>6 "
        "<7] B1a "
        "[>7 <8] B2a [>8] N O" } },
    { "one stage sends nothing", { SCHEDULE_1F1B, 1, 2, 1 }, false, { "F0a B0a F1a B1a O" } },
};

static void pipeline_matches(void **state)
{
    const pipeline_case *c = *state;
    for (uint32_t stage = 0; stage < c->def.stages; stage++)
        assert_program(&c->def, stage,
                       &(program_settings){ .data = 1, .tensor = 1, .overlap_pipeline = c->overlap },
                       c->want[stage], "");
}

// ---- every message is sent once, by the neighbour that it comes from, and received once

typedef struct traffic {
    uint32_t sent[16][256], received[16][256]; // by receiving stage and message
} traffic;

static void count_moves(traffic *t, const schedule_def *def, uint32_t stage, const program *p)
{
    for (uint32_t i = 0; i < p->moves.count; i++) {
        const program_move *move = &p->moves.items[i];
        const uint32_t step = move->direction == PASS_FORWARD ? 1 : def->stages - 1;
        assert_true(move->message < program_messages(def));
        assert_int_equal(move->direction, move->message / (def->chunks * def->micro_batches));
        if (move->sends)
            t->sent[(stage + step) % def->stages][move->message]++;
        else
            t->received[stage][move->message]++;
    }
}

// All but the first virtual stage receive a forward of each micro-batch, all but the last a backward.
static void assert_matched(const traffic *t, const schedule_def *def)
{
    for (uint32_t stage = 0; stage < def->stages; stage++)
        for (uint32_t message = 0; message < program_messages(def); message++) {
            const uint32_t chunk = message / def->micro_batches % def->chunks,
                           place = chunk * def->stages + stage;
            const bool forward = message < program_messages(def) / 2;
            const bool wanted = forward ? place > 0 : place + 1 < def->stages * def->chunks;
            assert_int_equal(t->received[stage][message], wanted);
            assert_int_equal(t->sent[stage][message], wanted);
        }
}

// Both sides of every move come at last when each stage goes on as soon as all moves of its exchange have both.
static void assert_all_move(const schedule_def *def, const program *programs)
{
    uint8_t sides[16][256] = { 0 };
    uint32_t at[16] = { 0 }; // operation of each stage that has been begun, if it is an exchange
    bool begun[16] = { false }, moved = true;
    while (moved) {
        moved = false;
        for (uint32_t stage = 0; stage < def->stages; stage++) {
            const program *p = &programs[stage];
            if (at[stage] == p->ops.count) continue;
            const program_op *op = &p->ops.items[at[stage]];
            bool ends = true;
            for (uint32_t i = op->first; op->kind == OP_EXCHANGE && i < op->first + op->count; i++) {
                const program_move *move = &p->moves.items[i];
                const uint32_t step = move->direction == PASS_FORWARD ? 1 : def->stages - 1;
                const uint32_t receiver = move->sends ? (stage + step) % def->stages : stage;
                sides[receiver][move->message] += !begun[stage];
                ends = ends && sides[receiver][move->message] == 2;
            }
            moved = moved || ends || !begun[stage];
            begun[stage] = !ends;
            at[stage] += ends;
        }
    }
    for (uint32_t stage = 0; stage < def->stages; stage++)
        if (at[stage] < programs[stage].ops.count)
            fail_msg("p %u, m %u, v %u: stage %u stands still", def->stages, def->micro_batches, def->chunks,
                     stage);
}

static void messages_meet_their_receivers(void **state)
{
    (void)state;
    uint32_t programs = 0;
    for (int kind = SCHEDULE_GPIPE; kind <= SCHEDULE_INTERLEAVED_1F1B; kind++)
        for (uint32_t stages = 2; stages <= 5; stages++)
            for (uint32_t micro_batches = 1; micro_batches <= 10; micro_batches++)
                for (uint32_t chunks = 1; chunks <= CHUNKS_MAX; chunks++) {
                    const schedule_def def = { (schedule_kind)kind, stages, micro_batches, chunks };
                    sim_error error = { 0 };
                    if (!schedule_check_sizes(&def, NULL, &error)) continue;
                    for (int overlap = 0; overlap < 2; overlap++) {
                        arena *a = arena_create("test");
                        traffic *t = arena_new(a, traffic);
                        program *all = arena_array(a, program, stages);
                        for (uint32_t stage = 0; stage < stages; stage++, programs++) {
                            all[stage] = build(
                                a, &def, stage,
                                &(program_settings){ .data = 1, .tensor = 1, .overlap_pipeline = overlap });
                            count_moves(t, &def, stage, &all[stage]);
                        }
                        if (!overlap) assert_all_move(&def, all);
                        assert_matched(t, &def);
                        arena_destroy(a);
                    }
                }
    // gpipe and 1f1b: 40 sizes of 3.5 stages in the mean; interleaved: 5, 3, 2, 2 counts of micro-batches, 3 of chunks
    assert_int_equal(programs, 2 * (2 * 140 + 3 * (5 * 2 + 3 * 3 + 2 * 4 + 2 * 5)));
}

// ---- the data-parallel group

typedef struct data_case {
    const char *name;
    program_settings settings;
    const char *want, *want_calls;
} data_case;

// One stage, one chunk, two micro-batches: buckets of 28,004 and 28,008 bytes of gradients, half of that of parameters.
static const data_case data_cases[] = {
    { "one replica has no collectives",
      { .data = 1,
        .tensor = 1,
        .overlap_gradients = true,
        .sharding = SHARDING_ZERO_1,
        .overlap_parameters = true },
      "F0a B0a F1a B1a O",
      "" },
    { "all-reduce beside the last backward pass",
      { .data = 3, .tensor = 1, .overlap_gradients = true },
      "F0a B0a F1a B1a* W2 O",
      "reduce:28004 reduce:28008" },
    { "all-reduce after it",
      { .data = 3, .tensor = 1 },
      "F0a B0a F1a B1a L0+2 W2 O",
      "reduce:28004 reduce:28008" },
    { "ZeRO-1: reduce-scatter, norm, all-gather",
      { .data = 2, .tensor = 1, .sharding = SHARDING_ZERO_1, .overlap_gradients = true },
      "F0a B0a F1a B1a* W2 L2+1 W3 O L3+2",
      "scatter:28004 scatter:28008 reduce:4 gather:14002 gather:14004" },
    { "ZeRO-1, nothing beside anything",
      { .data = 2, .tensor = 1, .sharding = SHARDING_ZERO_1 },
      "F0a B0a F1a B1a L0+2 W2 L2+1 W3 O L3+2",
      "scatter:28004 scatter:28008 reduce:4 gather:14002 gather:14004" },
    { "ZeRO-1 by owners: a third of 14,003 parameters from each, rounded up", // 4,668 of two bytes
      { .data = 3,
        .tensor = 1,
        .sharding = SHARDING_ZERO_1,
        .overlap_gradients = true,
        .owners_broadcast = true },
      "F0a B0a F1a B1a* W2 L2+1 W3 O L3+3",
      "reduce:28004 reduce:28008 reduce:4 broadcast:9336 broadcast:9336 broadcast:9336" },
    { "parameters beside the first forward pass", // the last bucket holds what it needs first
      { .data = 2,
        .tensor = 1,
        .sharding = SHARDING_ZERO_1,
        .overlap_gradients = true,
        .overlap_parameters = true },
      "L0+2 F0a* B0a F1a B1a* W4 L4+1 W5 O",
      "gather:14004 gather:14002 scatter:28004 scatter:28008 reduce:4" },
    { "cast: encoded in the pass, decoded behind it, each when it is reduced",
      { .data = 3, .tensor = 1, .overlap_gradients = true, .coding = { CODING_CAST, .reduced = DTYPE_BF16 } },
      "F0a B0a F1a B1a* W1 C5 W2 C8 W2 O",
      "reduce:14002 reduce:14004" },
    { "cast behind the pass",
      { .data = 3, .tensor = 1, .coding = { CODING_CAST, .reduced = DTYPE_BF16 } },
      "F0a B0a F1a B1a C3 L0+1 C6 L1+1 W1 C5 W2 C8 W2 O",
      "reduce:14002 reduce:14004" },
    { "quantized: shares, then sums", // 7,001 and 7,002 bytes and four scales
      { .data = 3,
        .tensor = 1,
        .overlap_gradients = true,
        .coding = { CODING_QUANTIZE, .bits = 8, .block = 2048 } },
      "F0a B0a F1a B1a* W1 C4 L2+1 W2 C7 L3+1 W3 C5 W4 C8 W4 O",
      "exchange:7017 exchange:7018 gather:7017 gather:7018" },
    { "quantized with ZeRO-1: shares alone",
      { .data = 2,
        .tensor = 1,
        .sharding = SHARDING_ZERO_1,
        .overlap_gradients = true,
        .coding = { CODING_QUANTIZE, .bits = 4, .block = 2048 } },
      "F0a B0a F1a B1a* W1 C5 W2 C8 W2 L2+1 W3 O L3+2",
      "exchange:3517 exchange:3517 reduce:4 gather:14002 gather:14004" },
    { "greatest 1 %", // 71 of 8 bytes from each of three
      { .data = 3, .tensor = 1, .overlap_gradients = true, .coding = { CODING_TOP_K, .ratio = 0.01 } },
      "F0a B0a F1a B1a* W1 C5 W2 C8 W2 O",
      "gather:1704 gather:1704" },
};

static void data_calls_match(void **state)
{
    const data_case *c = *state;
    const schedule_def def = { SCHEDULE_1F1B, 1, 2, 1 };
    assert_program(&def, 0, &c->settings, c->want, c->want_calls);
}

// The last backward through chunk b comes before that through chunk a; the first forward through a before that through b.
static void chunks_have_their_calls(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    const schedule_def def = INTERLEAVED_2;
    program_settings s = { .data = 2, .tensor = 1, .overlap_gradients = true, .overlap_pipeline = true };
    program p = build(a, &def, 1, &s);
    assert_int_equal(p.reductions[1][0], 0);
    assert_int_equal(p.reductions[0][0], 1);
    assert_null(p.gathers);
    s.sharding = SHARDING_ZERO_1;
    s.overlap_parameters = true;
    p = build(a, &def, 1, &s);
    assert_int_equal(p.gathers[0], 1); // bucket 1 of chunk a is call 0, its bucket 0 call 1
    assert_int_equal(p.gathers[1], 2);
    assert_int_equal(p.reductions[1][0], 3);
    assert_int_equal(p.reductions[0][0], 4);
    arena_destroy(a);

    assert_program(
        &def, 1, &s,
        "L0+3 <0 F0a* >4 <1 F1a >5 <4 F0b* B0b >12 <5 F1b B1b >13 <2 F2a >6 <8 B0a >8 <3 F3a >7 <9 B1a >9 "
        "<6 F2b B2b >14 <7 F3b B3b* >15 <10 B2a >10 <11 B3a* >11 W6 N L6+1 W7 O",
        "gather:14004 gather:14002 gather:822 scatter:1644 scatter:28004 scatter:28008 reduce:4");
    s.overlap_parameters = s.overlap_gradients = false; // gathers in the order of the reductions
    assert_program(
        &def, 1, &s,
        "<0 F0a >4 <1 F1a >5 <4 F0b B0b >12 <5 F1b B1b >13 <2 F2a >6 <8 B0a >8 <3 F3a >7 <9 B1a >9 "
        "<6 F2b B2b >14 <7 F3b B3b >15 <10 B2a >10 <11 B3a >11 L0+3 W3 N L3+1 W4 O L4+3",
        "scatter:1644 scatter:28004 scatter:28008 reduce:4 gather:822 gather:14002 gather:14004");
}

// ---- the tensor-parallel group, and both ends of the pipeline

static void ends_of_the_pipeline_share_the_table(void **state)
{
    (void)state;
    const schedule_def def = { SCHEDULE_1F1B, 3, 1, 1 };
    const program_settings s = {
        .data = 1, .tensor = 1, .overlap_pipeline = true, .tied_table = true, .table_elements = 901
    };
    assert_program(&def, 0, &s, "F0a >0 <1 B0a E3604 N O", "");
    assert_program(&def, 1, &s, "<0 F0a >0 <1 B0a >1 N O", "");
    assert_program(&def, 2, &s, "<0 F0a B0a >1 E3604 N O", "");
    assert_program(&(schedule_def){ SCHEDULE_1F1B, 1, 1, 1 }, 0, &s, "F0a B0a O",
                   ""); // it has both ends itself
}

// 130 elements of norms in chunk a, 23 in chunk b, 4 bytes each.
static void the_group_adds_up_its_norms(void **state)
{
    (void)state;
    const schedule_def one = { SCHEDULE_1F1B, 1, 1, 1 }, two = { SCHEDULE_INTERLEAVED_1F1B, 2, 2, 2 };
    program_settings s = { .data = 2, .tensor = 4, .sharding = SHARDING_ZERO_1, .overlap_pipeline = true };
    assert_program(&one, 0, &s, "F0a B0a L0+2 W2 Treduce:4 L2+1 W3 O L3+2",
                   "scatter:28004 scatter:28008 reduce:4 gather:14002 gather:14004");
    s.sequence_parallel = true;
    assert_program(&one, 0, &s, "F0a B0a L0+2 W2 Treduce:520 Treduce:4 L2+1 W3 O L3+2",
                   "scatter:28004 scatter:28008 reduce:4 gather:14002 gather:14004");
    s.data = 1;
    s.tied_table = true;
    s.table_elements = 7;
    assert_program(
        &two, 1, &s,
        "<0 F0a >2 <1 F1a >3 <2 F0b B0b >6 <3 F1b B1b >7 <4 B0a >4 <5 B1a >5 Treduce:612 E28 Treduce:4 N O",
        "");
}

// 1,000,003 bytes between two layers.
static void messages_are_shared_out(void **state)
{
    (void)state;
    static const struct {
        uint32_t tensor;
        bool sequence_parallel, scatter_gather;
        uint64_t want;
        const char *want_ops, *want_blocking;
    } rows[] = {
        { 4, false, false, 1000003, "<0 F0a >0 <1 B0a >1 Treduce:4 N O",
          "[<0] F0a [>0 <1] B0a [>1] Treduce:4 N O" },
        { 4, false, true, 250001, "<0 Tgather:1000003 F0a >0 <1 Tgather:1000003 B0a >1 Treduce:4 N O",
          "[<0] Tgather:1000003 F0a [>0 <1] Tgather:1000003 B0a [>1] Treduce:4 N O" },
        { 4, true, false, 250001, "<0 F0a >0 <1 B0a >1 Treduce:520 Treduce:4 N O",
          "[<0] F0a [>0 <1] B0a [>1] Treduce:520 Treduce:4 N O" },
        { 4, true, true, 250001, "<0 F0a >0 <1 B0a >1 Treduce:520 Treduce:4 N O",
          "[<0] F0a [>0 <1] B0a [>1] Treduce:520 Treduce:4 N O" },
        { 1, false, true, 1000003, "<0 F0a >0 <1 B0a >1 N O", "[<0] F0a [>0 <1] B0a [>1] N O" },
    };
    const schedule_def def = { SCHEDULE_1F1B, 3, 1, 1 };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        program_settings s = { .data = 1,
                               .tensor = rows[i].tensor,
                               .sequence_parallel = rows[i].sequence_parallel,
                               .scatter_gather = rows[i].scatter_gather,
                               .activation_bytes = 1000003,
                               .overlap_pipeline = true };
        arena *a = arena_create("test");
        assert_int_equal(build(a, &def, 1, &s).message_bytes, rows[i].want);
        arena_destroy(a);
        assert_program(&def, 1, &s, rows[i].want_ops, "");
        s.overlap_pipeline = false;
        assert_program(&def, 1, &s, rows[i].want_blocking, "");
    }
}

// What two passes receive at once is gathered one after the other.
static void an_exchange_gathers_all_it_received(void **state)
{
    (void)state;
    const schedule_def def = INTERLEAVED_2;
    const program_settings s = { .data = 1, .tensor = 2, .scatter_gather = true, .activation_bytes = 600 };
    assert_program(
        &def, 1, &s,
        "[<0] Tgather:600 F0a [>4 <1] Tgather:600 F1a [>5 <4] Tgather:600 F0b B0b [>12 <5] Tgather:600 F1b "
        "B1b "
        "[>13 <2 <8] Tgather:600 Tgather:600 F2a B0a [>6 >8 <3 <9] Tgather:600 Tgather:600 F3a B1a "
        "[>7 >9 <6] Tgather:600 F2b B2b [>14 <7] Tgather:600 F3b B3b [>15 <10] Tgather:600 B2a "
        "[>10 <11] Tgather:600 B3a [>11] Treduce:4 N O",
        "");
}

static void streams_have_words(void **state)
{
    (void)state;
    assert_string_equal(op_stream_words[STREAM_COMPUTE], "compute");
    assert_string_equal(op_stream_words[STREAM_TP], "tp");
    assert_string_equal(op_stream_words[STREAM_DP], "dp");
    assert_string_equal(op_stream_words[STREAM_PP], "pp");
    assert_null(op_stream_words[STREAMS]);
}

int main(void)
{
    struct CMUnitTest tests[ARRAY_COUNT(pipelines) + ARRAY_COUNT(data_cases) + 7];
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_COUNT(pipelines); i++)
        tests[n++] = (struct CMUnitTest){ pipelines[i].name, pipeline_matches, NULL, NULL,
                                          (void *)&pipelines[i] };
    for (size_t i = 0; i < ARRAY_COUNT(data_cases); i++)
        tests[n++] = (struct CMUnitTest){ data_cases[i].name, data_calls_match, NULL, NULL,
                                          (void *)&data_cases[i] };
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(messages_meet_their_receivers);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(chunks_have_their_calls);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(ends_of_the_pipeline_share_the_table);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(the_group_adds_up_its_norms);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(messages_are_shared_out);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(an_exchange_gathers_all_it_received);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(streams_have_words);
    SIM_ASSERT(n == ARRAY_COUNT(tests));
    return cmocka_run_group_tests_name("program", tests, NULL, NULL);
}
