// SPDX-License-Identifier: GPL-3.0-or-later
// tests/support/stage_play.h: one step of a bare pipeline: one rank a stage, passes of given lengths, messages that take a
// given time however far they go. Nothing else takes any time but for the few picoseconds of the gradients' norm, and
// an optimizer where one is given.
#pragma once
#include "models/network/topology_build.h"
#include "models/training/step.h"
#include "sim/array.h"
#include "sim/check.h"
#include "tests/support/near.h"
#include "tests/support/test_costs.h"

typedef struct stage_play {
    schedule_def def;
    const sim_time *lengths; // [(stage x chunks + chunk) x 2 + direction]
    sim_time message_ps;     // from the hand-over until it has arrived
    sim_time far_message_ps; // between nodes of eight stages; 0: all stages are on one node
    sim_time optimizer_ps;
    bool overlap;        // else sender and receiver stand still
    sim_time restart_ps; // of the host after that
    // Told of every pass: stage, pass, start, end. NULL: nobody.
    void (*on_pass)(void *owner, uint32_t stage, schedule_pass pass, sim_time start, sim_time end);
    void *owner;
} stage_play;

typedef struct stage_played {
    const stage_play *play;
    sim_time passes_end, step_ps;
} stage_played;

static inline void stage_play_on_span(void *owner, const step_span *span)
{
    stage_played *p = owner;
    if (span->stream != STREAM_COMPUTE || span->chunk == NO_ID) return;
    const schedule_pass pass = { .micro_batch = span->micro_batch,
                                 .chunk = (uint16_t)span->chunk,
                                 .direction = strcmp(span->name, "forward") == 0 ? PASS_FORWARD
                                                                                 : PASS_BACKWARD };
    if (span->end_ps > p->passes_end) p->passes_end = span->end_ps;
    if (p->play->on_pass) p->play->on_pass(p->play->owner, span->lane, pass, span->start_ps, span->end_ps);
}

static inline bool stage_play_on_step(void *owner, const step_end *end)
{
    ((stage_played *)owner)->step_ps = end->end_ps - end->start_ps;
    return true;
}

enum { STAGE_PLAY_BYTES = 100000000, STAGE_PLAY_NODE = 8 };

// Bytes cross the network only, at the rate that makes a message as late there as it is to be.
static inline const topology *stage_play_fabric(arena *a, const stage_play *p)
{
    const uint32_t stages = p->def.stages;
    topology *t = topology_create(a);
    node_wiring wiring = { .gpus = stages,
                           .nic_of_gpu = arena_array(a, uint32_t, stages),
                           .scale_up = WIRING_SWITCH,
                           .scale_up_rate_mBps = UINT64_C(1000000000000000000) };
    if (!p->far_message_ps) {
        topology_add_node(t, &wiring);
        topology_seal(t);
        return t;
    }
    static const uint32_t nic_of_gpu[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    SIM_ASSERT(stages % STAGE_PLAY_NODE == 0);
    wiring.gpus = wiring.nics = STAGE_PLAY_NODE;
    wiring.nic_of_gpu = nic_of_gpu;
    wiring.nic_pcie_rate_mBps = UINT64_C(1000000000000000000);
    for (uint32_t i = 0; i < stages / STAGE_PLAY_NODE; i++)
        topology_add_node(t, &wiring);
    sim_error error = { 0 };
    const double rate_Bps = STAGE_PLAY_BYTES / ((double)(p->far_message_ps - p->message_ps) * 1e-12);
    SIM_ASSERT(topology_add_single_switch(t, &(single_switch_def){ .rate_mBps = (uint64_t)(rate_Bps * 1e3) },
                                          NULL, &error));
    topology_seal(t);
    return t;
}

static inline const chunk_costs *stage_play_chunk(arena *a, const sim_time lengths[2])
{
    chunk_costs *c = arena_new(a, chunk_costs);
    c->works = arena_array(a, work, 2);
    pass_plan *const passes[] = { &c->forward, &c->backward };
    for (uint32_t i = 0; i < 2; i++) {
        c->works[i] = (work){ .gpu_ps = lengths[i], .bytes = 1.0 };
        passes[i]->items = arena_new(a, pass_item);
        passes[i]->items[0] = (pass_item){ ITEM_WORK, i };
        passes[i]->item_count = 1;
    }
    c->first_forward = c->forward;
    c->last_backward = c->backward;
    return c;
}

static inline void stage_play_stages(arena *a, const stage_play *p, const schedule *order, step_settings *s)
{
    const uint32_t stages = p->def.stages, chunks = p->def.chunks;
    const program_settings settings = { .schedule = order,
                                        .data = 1,
                                        .tensor = 1,
                                        .overlap_pipeline = p->overlap,
                                        .parameter_bytes = 2,
                                        .gradient_bytes = 4,
                                        .activation_bytes = p->far_message_ps ? STAGE_PLAY_BYTES : 0 };
    program *programs = arena_array(a, program, stages);
    const stage_costs **costs = arena_array(a, const stage_costs *, stages);
    work *optimizer = arena_new(a, work);
    optimizer->gpu_ps = p->optimizer_ps;
    for (uint32_t stage = 0; stage < stages; stage++) {
        const chunk_costs **list = arena_array(a, const chunk_costs *, chunks);
        for (uint32_t c = 0; c < chunks; c++)
            list[c] = stage_play_chunk(a, &p->lengths[(stage * chunks + c) * 2]);
        stage_costs *of_stage = arena_new(a, stage_costs);
        *of_stage = (stage_costs){ .chunks = list, .optimizer = optimizer };
        costs[stage] = of_stage;
        program_build(a, stage, list, &settings, &programs[stage]);
    }
    s->programs = programs;
    s->costs_of_lane = costs;
}

static inline stage_played stage_play_run(const stage_play *p)
{
    arena *a = arena_create("test");
    stage_played out = { .play = p };
    char waiting[128];
    sim *s = sim_create(a, &(sim_options){ 0 });
    const topology *fabric = stage_play_fabric(a, p);
    network *n = network_create_ideal(a, s, fabric);
    test_costs costs;
    test_costs_without_latency(p->message_ps, &costs);
    const schedule order = schedule_build(a, &p->def);
    double *healthy = arena_array(a, double, p->def.stages);
    vertex_id *vertices = arena_array(a, vertex_id, p->def.stages);
    for (rank_id r = 0; r < p->def.stages; r++) {
        healthy[r] = 1.0;
        vertices[r] = topology_gpu_vertex(fabric, r);
    }
    lane_table lanes;
    lanes_build(a, (parallel_sizes){ 1, 1, p->def.stages, { 0 } }, false, (gpu_health){ healthy, healthy },
                &lanes);
    step_settings settings = {
        .lanes = &lanes,
        .vertex_of_rank = vertices,
        .schedule = &order.def,
        .overlap_pipeline = p->overlap,
        .restart_ps = p->restart_ps,
        .library = &costs.library,
        .hardware = &costs.hardware,
        .forced_protocol = PROTOCOL_SIMPLE,
        .steps = 1,
        .listener = { .on_span = stage_play_on_span, .on_step = stage_play_on_step, .owner = &out }
    };
    stage_play_stages(a, p, &order, &settings);
    step_player *player = step_player_create(a, s, n, &settings);
    step_player_start(player);
    sim_run(s, SIM_TIME_MAX);
    if (!step_player_is_finished(player))
        fail_msg("deadlock: %s", step_player_describe_wait(player, waiting, sizeof waiting));
    network_verify(n);
    sim_destroy(s);
    arena_destroy(a);
    return out;
}
