// SPDX-License-Identifier: GPL-3.0-or-later
// tests/support/play.h: training steps played from passes whose times a test makes up, on the fabric of fabric.h. A
// test says how a job is cut up, what each rank computes, and which events are to be looked at; what was told comes
// back, after it has been held against itself.
#pragma once
#include "models/network/fluid_network.h"
#include "models/training/fold.h"
#include "models/training/step.h"
#include "sim/array.h"
#include "tests/support/fabric.h"
#include "tests/support/near.h"
#include "tests/support/test_costs.h"

enum {
    PLAY_PIECES = 12, // of a pass
    PLAY_CHUNKS = 4,
    PLAY_LANES = 48,
    PLAY_STEPS = 4,
    PLAY_GRADIENT_BYTES = 4,
    PLAY_PARAMETER_BYTES = 2
};

// One item of a pass: ITEM_BUCKET counts only in marked passes. In a backward pass it makes the next bucket, of so many
// elements; in a forward pass it needs the bucket of that number.
typedef struct play_piece {
    uint32_t kind; // pass_item_kind
    work work;
    tensor_call call;
    uint64_t elements;
    gradient_tensor matrix; // its gradients; rows 0: none
    uint32_t bucket;
} play_piece;

typedef struct play_chunk {
    play_piece forward[PLAY_PIECES], backward[PLAY_PIECES];
    uint32_t forward_count, backward_count;
    uint64_t norm_elements;
    sim_time coding_ps[CODING_STEPS]; // of every bucket, outside passes
} play_chunk;

typedef struct play_rank { // what a rank computes
    play_chunk chunks[PLAY_CHUNKS];
    work optimizer;
} play_rank;

#define PLAY_WORK(gpu_) ((play_piece){ .kind = ITEM_WORK, .work = { .gpu_ps = (gpu_), .bytes = 1.0 } })
#define PLAY_TENSOR(kind_, bytes_)                                                                           \
    ((play_piece){ .kind = ITEM_TENSOR, .call = { .kind = (kind_), .bytes = (bytes_), .name = "tensor" } })
#define PLAY_JOIN ((play_piece){ .kind = ITEM_JOIN })
#define PLAY_BUCKET(elements_) ((play_piece){ .kind = ITEM_BUCKET, .elements = (elements_) })
#define PLAY_NEEDS(bucket_) ((play_piece){ .kind = ITEM_BUCKET, .bucket = (bucket_) })

typedef struct play_options {
    parallel_sizes sizes;
    schedule_def schedule; // its stages are set from sizes; chunks 0: one
    void (*fill)(const void *owner, parallel_place place, play_rank *out);
    const void *owner;
    program_settings program; // the options; schedule, sizes and bytes of elements are set
    sim_time restart_ps;
    uint32_t steps;
    // Rank r runs on GPU r x gpu_stride of nodes; 0 of both: 1. With a stride of 2 each rank has a NIC of its own.
    uint32_t nodes, gpu_stride;
    bool instant;    // the node's NVSwitch has no delay, and a rate beyond measure
    bool no_latency; // collectives have none, sends message_ps; else as test_usual_costs
    sim_time message_ps;
    network_engine engine;
    collective_grain grain;
    bool fold, alone; // alone: tensor-parallel collectives at their time alone, where fold.h allows it
    queue_kind queue;
    bool reverse, quiet; // quiet: no spans, collectives and transfers are asked for
    uint32_t stop_after; // steps; 0: never
    sim_time limit;      // 0: none
} play_options;

typedef struct played {
    uint64_t digest;
    uint32_t steps, spans, collectives, transfers;
    step_counts counted; // before the first step, of one
    sim_time step_ps[PLAY_STEPS];
    sim_time spent[PLAY_LANES][BLAME_CAUSES];                    // of the last step
    unsigned __int128 total[BLAME_CAUSES];                       // of all steps and ranks
    uint64_t caused_peer[PLAY_LANES], caused_bubble[PLAY_LANES]; // by lane as the culprit, in the last step
    uint64_t transfer_bytes, network_bytes, programmed_bytes; // delivered to all; what the programs ask for
    bool was_folded, was_alone;
    uint32_t lanes, stop_after;
    lane_table table; // only while it is played
    sim_time last_end;
    char waiting[128];
} played;

// ---- what is told

static inline void play_on_span(void *owner, const step_span *span)
{
    played *p = owner;
    p->spans++;
    assert_true(span->start_ps <= span->end_ps && span->start_ps >= p->last_end);
    assert_int_equal(span->step, p->steps);
    assert_int_equal(span->stream == STREAM_COMPUTE, span->work != NULL);
    if (span->work)
        assert_int_equal(span->end_ps - span->start_ps,
                         span->work->gpu_ps + span->launch_ps + span->slowed_ps);
}

static inline void play_on_collective(void *owner, const step_collective *told)
{
    played *p = owner;
    p->collectives++;
    assert_int_equal(told->step, p->steps);
    assert_true(told->last_lane < p->lanes);
}

static inline void play_on_transfer(void *owner, uint32_t step, uint64_t collective, const group_def *group,
                                    const collective_transfer *moved)
{
    played *p = owner;
    (void)collective;
    p->transfers++;
    p->transfer_bytes += moved->bytes * group->multiplicity;
    assert_int_equal(step, p->steps);
}

// Conservation, again: each lane's causes add up to the step, and nothing is left without a cause.
static inline void play_add_up(played *p, const step_end *end)
{
    for (lane_id l = 0; l < p->lanes; l++) {
        const sim_time *spent = blame_of_lane(end->accounts, l);
        sim_time sum = 0;
        memcpy(p->spent[l], spent, sizeof p->spent[l]);
        for (int cause = 0; cause < BLAME_CAUSES; cause++) {
            sum += spent[cause];
            p->total[cause] += (unsigned __int128)spent[cause] * p->table.lanes[l].multiplicity;
        }
        assert_int_equal(sum, end->end_ps - end->start_ps);
        assert_int_equal(spent[BLAME_OTHER], 0);
        p->caused_peer[l] = (uint64_t)blame_caused_by(end->accounts, l, BLAME_PEER);
        p->caused_bubble[l] = (uint64_t)blame_caused_by(end->accounts, l, BLAME_BUBBLE);
    }
}

static inline bool play_on_step(void *owner, const step_end *end)
{
    played *p = owner;
    assert_int_equal(end->step, p->steps);
    assert_int_equal(end->start_ps, p->last_end);
    p->last_end = end->end_ps;
    p->step_ps[p->steps++] = end->end_ps - end->start_ps;
    play_add_up(p, end);
    return p->steps != p->stop_after;
}

// ---- costs

static inline void play_add_item(pass_plan *out, pass_item_kind kind, uint32_t index)
{
    out->items[out->item_count++] = (pass_item){ (uint32_t)kind, index };
}

static inline void play_add_pass(chunk_costs *c, const play_piece *pieces, uint32_t count, pass_plan *plain,
                                 pass_plan *marked, bool backward, uint32_t *works)
{
    for (uint32_t i = 0; i < count; i++) {
        const play_piece *piece = &pieces[i];
        const pass_item_kind kind = (pass_item_kind)piece->kind;
        uint32_t index = 0;
        if (kind == ITEM_WORK) c->works[index = (*works)++] = piece->work;
        if (kind == ITEM_TENSOR) c->tensor_calls[index = c->tensor_call_count++] = piece->call;
        if (kind == ITEM_BUCKET && backward)
            c->buckets[c->bucket_count] = (gradient_bucket){ .elements = piece->elements,
                                                             .tensors = &piece->matrix,
                                                             .tensor_count = piece->matrix.rows > 0 };
        if (kind == ITEM_BUCKET) index = backward ? c->bucket_count++ : piece->bucket;
        play_add_item(marked, kind, index);
        if (kind != ITEM_BUCKET) play_add_item(plain, kind, index);
    }
}

// Works of their own for each bucket.
static inline void play_add_coding(chunk_costs *c, const sim_time coding_ps[CODING_STEPS], uint32_t works)
{
    for (uint32_t i = 0; i < c->bucket_count * CODING_STEPS; i++) {
        const sim_time gpu_ps = coding_ps[i % CODING_STEPS];
        c->coding[i / CODING_STEPS].works[i % CODING_STEPS] = gpu_ps ? works : NO_WORK;
        if (gpu_ps) c->works[works++] = (work){ .codes = true, .gpu_ps = gpu_ps, .bytes = 1.0 };
    }
}

static inline const chunk_costs *play_costs(arena *a, const play_chunk *chunk)
{
    chunk_costs *c = arena_new(a, chunk_costs);
    uint32_t works = 0;
    c->works = arena_array(a, work, 2 * PLAY_PIECES + CODING_STEPS * PLAY_PIECES);
    c->coding = arena_array(a, bucket_work, PLAY_PIECES);
    c->tensor_calls = arena_array(a, tensor_call, 2 * PLAY_PIECES);
    c->buckets = arena_array(a, gradient_bucket, PLAY_PIECES);
    c->norm_elements = chunk->norm_elements;
    pass_plan *const plans[] = { &c->forward, &c->first_forward, &c->backward, &c->last_backward };
    for (size_t i = 0; i < ARRAY_COUNT(plans); i++)
        plans[i]->items = arena_array(a, pass_item, PLAY_PIECES);
    play_add_pass(c, chunk->forward, chunk->forward_count, &c->forward, &c->first_forward, false, &works);
    play_add_pass(c, chunk->backward, chunk->backward_count, &c->backward, &c->last_backward, true, &works);
    play_add_coding(c, chunk->coding_ps, works);
    return c;
}

static inline const stage_costs *play_stage(arena *a, const play_options *o, parallel_place place)
{
    play_rank *rank = arena_new(a, play_rank);
    work *optimizer = arena_new(a, work);
    stage_costs *costs = arena_new(a, stage_costs);
    const uint32_t chunks = o->schedule.chunks ? o->schedule.chunks : 1;
    const chunk_costs **list = arena_array(a, const chunk_costs *, chunks);
    o->fill(o->owner, place, rank);
    for (uint32_t c = 0; c < chunks; c++)
        list[c] = play_costs(a, &rank->chunks[c]);
    *optimizer = rank->optimizer;
    *costs = (stage_costs){ .chunks = list, .optimizer = optimizer };
    return costs;
}

// ---- what the programs ask of the network, as long as all goes by the "simple" protocol

static inline uint64_t play_ring_bytes(collective_kind kind, uint32_t ranks, uint64_t bytes)
{
    return (kind == COLLECTIVE_ALL_REDUCE ? 2 : 1) * (uint64_t)(ranks - 1) * bytes;
}

static inline uint64_t play_pass_bytes(const chunk_costs *c, const pass_plan *pass, uint32_t tensor)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < pass->item_count; i++) {
        const tensor_call *call = &c->tensor_calls[pass->items[i].index];
        if (pass->items[i].kind == ITEM_TENSOR) bytes += play_ring_bytes(call->kind, tensor, call->bytes);
    }
    return bytes;
}

// Of one rank: a collective's bytes belong to the first of its group, a message's to its receiver.
static inline uint64_t play_rank_bytes(const step_settings *s, rank_id rank)
{
    const parallel_sizes sizes = s->lanes->sizes;
    const parallel_place place = parallel_place_of(sizes, rank);
    const program *p = &s->programs[place.pipeline];
    const stage_costs *costs = s->costs_of_lane[s->lanes->lane_of_rank[rank]];
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < p->ops.count; i++) {
        const program_op *op = &p->ops.items[i];
        if (op->kind == OP_NORM && place.pipeline == 0)
            bytes += play_ring_bytes(COLLECTIVE_ALL_REDUCE, sizes.pipeline, 4);
        if (op->kind == OP_TABLE && place.pipeline == 0)
            bytes += play_ring_bytes(COLLECTIVE_ALL_REDUCE, 2, p->table_bytes);
        if (place.tensor > 0) continue;
        const tensor_call *call = &p->tensor_calls.items[op->first];
        if (op->kind == OP_TENSOR) bytes += play_ring_bytes(call->kind, sizes.tensor, call->bytes);
        if (op->kind != OP_PASS) continue;
        const chunk_costs *chunk = costs->chunks[op->chunk];
        bytes += play_pass_bytes(chunk, op->direction == PASS_FORWARD ? &chunk->forward : &chunk->backward,
                                 sizes.tensor);
    }
    for (uint32_t i = 0; i < p->data_calls.count && place.data == 0; i++)
        bytes += play_ring_bytes(p->data_calls.items[i].kind, sizes.data, p->data_calls.items[i].bytes);
    for (uint32_t i = 0; i < p->moves.count; i++)
        if (!p->moves.items[i].sends) bytes += p->message_bytes;
    return bytes;
}

// ---- playing

static inline const topology *play_fabric(arena *a, const play_options *o)
{
    static const uint32_t nic_of_gpu[] = { 0, 0, 1, 1, 2, 2, 3, 3 };
    if (!o->instant) return test_fabric(a, o->nodes ? o->nodes : 1, WIRING_SWITCH, SCALE_UP_MBPS, CABLE_MBPS);
    topology *t = topology_create(a);
    topology_add_node(t, &(node_wiring){ .gpus = 8,
                                         .nic_of_gpu = nic_of_gpu,
                                         .scale_up = WIRING_SWITCH,
                                         .scale_up_rate_mBps = UINT64_C(1000000000000000000) });
    topology_seal(t);
    return t;
}

static inline void play_lanes(arena *a, const topology *fabric, const play_options *o, step_settings *s,
                              played *out)
{
    const uint32_t ranks = parallel_ranks(o->sizes), stride = o->gpu_stride ? o->gpu_stride : 1;
    double *healthy = arena_array(a, double, ranks);
    gpu_id *gpu_of_rank = arena_array(a, gpu_id, ranks);
    vertex_id *vertices = arena_array(a, vertex_id, ranks);
    for (rank_id r = 0; r < ranks; r++) {
        healthy[r] = 1.0;
        gpu_of_rank[r] = r * stride;
        vertices[r] = topology_gpu_vertex(fabric, gpu_of_rank[r]);
    }
    const gpu_health health = { healthy, healthy };
    const fold_question question = {
        .fabric = fabric, .sizes = o->sizes, .gpu_of_rank = gpu_of_rank, .health = health
    };
    out->was_folded = o->fold && fold_is_exact(a, &question, NULL);
    out->was_alone = o->alone && out->was_folded && fold_tensor_is_alone(a, &question);
    lanes_build(a, o->sizes, out->was_folded, health, &out->table);
    out->lanes = out->table.count;
    assert_true(out->lanes <= PLAY_LANES);
    s->lanes = &out->table;
    s->vertex_of_rank = vertices;
}

static inline void play_programs(arena *a, const play_options *o, step_settings *s)
{
    schedule *order = arena_new(a, schedule);
    schedule_def def = o->schedule;
    program_settings settings = o->program;
    program *programs = arena_array(a, program, o->sizes.pipeline);
    const stage_costs **costs = arena_array(a, const stage_costs *, s->lanes->count);
    def.stages = o->sizes.pipeline;
    if (def.chunks == 0) def.chunks = 1;
    *order = schedule_build(a, &def);
    settings.schedule = order;
    settings.data = o->sizes.data;
    settings.tensor = o->sizes.tensor;
    settings.gradient_bytes = PLAY_GRADIENT_BYTES;
    settings.parameter_bytes = PLAY_PARAMETER_BYTES;
    for (lane_id l = 0; l < s->lanes->count; l++) {
        const parallel_place place = s->lanes->lanes[l].place;
        costs[l] = play_stage(a, o, place);
        if (programs[place.pipeline].ops.count == 0)
            program_build(a, place.pipeline, costs[l]->chunks, &settings, &programs[place.pipeline]);
    }
    s->programs = programs;
    s->schedule = &order->def;
    s->costs_of_lane = costs;
    s->tied_table = settings.tied_table;
    s->overlap_pipeline = settings.overlap_pipeline;
}

static inline void play_run(const play_options *o, sim *s, network *n, step_player *p, played *out)
{
    out->counted = step_player_counts(p);
    step_player_start(p);
    assert_false(step_player_is_finished(p));
    sim_run(s, o->limit ? o->limit : SIM_TIME_MAX);
    step_player_describe_wait(p, out->waiting, sizeof out->waiting);
    if (!step_player_is_finished(p) && !o->limit) fail_msg("nothing moves: %s", out->waiting);
    assert_int_equal(step_player_steps_done(p), out->steps);
    network_verify(n);
    out->network_bytes = (uint64_t)network_counters_of(n).bytes_received;
    out->digest = sim_digest(s);
    if (o->limit) return;
    assert_int_equal(collectives_open_count(step_player_collectives(p)), 0);
    assert_int_equal(network_counters_of(n).bytes_sent, out->network_bytes);
    assert_int_equal(collectives_counters_of(step_player_collectives(p)).network_bytes, out->network_bytes);
}

static inline played play(const play_options *o)
{
    arena *a = arena_create("test");
    played out = { .stop_after = o->stop_after };
    const sim_options clock = { .queue = o->queue, .reverse_phases = o->reverse };
    sim *s = sim_create(a, &clock), *alone = sim_create(a, &clock);
    const topology *fabric = play_fabric(a, o);
    network *n = o->engine == ENGINE_FLUID
                     ? network_create_fluid(a, s, fabric, &(fluid_options){ .check_every = 997 })
                     : network_create_ideal(a, s, fabric);
    test_costs costs;
    if (o->no_latency)
        test_costs_without_latency(o->message_ps, &costs);
    else
        test_costs_copy(&test_usual_costs, &costs);
    step_settings settings = { .restart_ps = o->restart_ps,
                               .alone_sim = alone,
                               .library = &costs.library,
                               .hardware = &costs.hardware,
                               .grain = o->grain,
                               .forced_protocol = PROTOCOL_SIMPLE,
                               .forced_algorithm = ALGORITHM_RING,
                               .steps = o->steps,
                               .tokens_per_step = 4242,
                               .listener = { .on_step = play_on_step, .owner = &out } };
    play_lanes(a, fabric, o, &settings, &out);
    play_programs(a, o, &settings);
    settings.alone_tensor = out.was_alone;
    if (!o->quiet && !out.was_alone) {
        settings.listener.on_span = play_on_span;
        settings.listener.on_collective = play_on_collective;
        settings.listener.on_transfer = play_on_transfer;
    }
    for (rank_id r = 0; r < parallel_ranks(o->sizes); r++)
        out.programmed_bytes += play_rank_bytes(&settings, r) * o->steps;
    play_run(o, s, n, step_player_create(a, s, n, &settings), &out);
    sim_destroy(s);
    sim_destroy(alone);
    arena_destroy(a);
    return out;
}

// A ring on one node by Simple (test_costs.h): base + steps (hop + S / n / B) + slice + S / n / B: latency and stream
// are rounded to the tick apart. n divides S.
static inline sim_time play_ring_ps(collective_kind kind, uint32_t ranks, uint64_t bytes)
{
    const uint64_t steps = (kind == COLLECTIVE_ALL_REDUCE ? 2 : 1) * (ranks - 1);
    assert_int_equal(bytes % ranks, 0);
    const double step_s = (double)(bytes / ranks) / ((double)SCALE_UP_MBPS * 1e-3);
    return llround(8419000 + 1003000 + step_s * 1e12) + llround((double)steps * (3407000 + step_s * 1e12));
}

static inline void assert_spent(const played *p, lane_id lane, const sim_time want[BLAME_CAUSES])
{
    for (int cause = 0; cause < BLAME_CAUSES; cause++)
        if (p->spent[lane][cause] != want[cause])
            fail_msg("lane %u, %s: got %lld ps, want %lld ps", lane, blame_cause_words[cause],
                     (long long)p->spent[lane][cause], (long long)want[cause]);
}

// However it was played: whole steps, times and blame of all ranks together.
static inline void assert_played_same(const played *x, const played *y)
{
    assert_true(x->digest == y->digest);
    assert_memory_equal(x->step_ps, y->step_ps, sizeof x->step_ps);
    assert_memory_equal(x->total, y->total, sizeof x->total);
    assert_int_equal(x->network_bytes, y->network_bytes);
}
