// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/scratch.h"

#include "models/world_beside.h"
#include "models/world_clock.h"
#include "sim/array.h"
#include "tests/support/loaded.h"
#include "tests/support/text.h"

#define MODEL                                                                                                \
    "model: { name: wee, layers: 2, hidden: 64, heads: 4, kv_heads: 2, ffn: 96, vocabulary: 100,\n"          \
    "  max_sequence: 64, activation: swiglu, norm: rmsnorm, position: rope }\n"
#define BATCH "training: { global_batch: 24, micro_batch: 3 }\n"
#define NICS "nics: 2, nic: { name: fast, rate: 371 Gb/s, payload_ratio: 0.91 }, nic_pcie_rate: 43 GB/s"

static void read_checked(loaded *l, const scratch_folder *folder, const char *text)
{
    if (!loaded_read(l, folder, text, NULL, 0) || !scenario_check(&l->s, false, &l->error)) {
        sim_error_print(&l->error, stderr);
        fail();
    }
}

struct path_case {
    const char *name, *text;
    gpu_id to; // from GPU 0
    double rate_Bps;
    sim_time delay_ps;
    link_class class;
};
// A node's delay is from GPU to GPU, also where there are two links on the way; its rate is that of a GPU to all peers.
static const struct path_case paths[] = {
    { "through an NVSwitch",
      "cluster: { node: { base: dgx-a100, scale_up: { kind: nvswitch, rate: 287 GB/s, payload_ratio: 0.83,\n"
      "  delay: 311 ns } } }\n",
      5, 287e9 * 0.83, 311000, LINK_NVLINK },
    { "over a mesh",
      "cluster: { node: { base: a100-4x, scale_up: { kind: mesh, rate: 288 GB/s, payload_ratio: 0.75,\n"
      "  delay: 311 ns } } }\n",
      3, 288e9 * 0.75 / 3, 311000, LINK_NVLINK },
    { "through the host; an odd picosecond is rounded up",
      "cluster: { node: { base: a100-4x, scale_up: { kind: pcie, rate: 23 GB/s, payload_ratio: 0.87,\n"
      "  delay: 1.000001 us } } }\n",
      2, 23e9 * 0.87, 1000002, LINK_PCIE },
    { "to another node: the NIC's line is the narrowest",
      "cluster: { nodes: 2, node: { base: dgx-a100, " NICS " },\n"
      "  fabric: { topology: single-switch, switch: { name: hub, ports: 7, port_rate: 400 Gb/s, delay: 131 "
      "ns },\n"
      "    cable: 17 m } }\n",
      11, 371e9 / 8 * 0.91, 2 * (85000 + 2 * 50000) + 131000, LINK_NETWORK },
    { "the switch's port is the narrowest",
      "cluster: { nodes: 2, node: { base: dgx-a100, " NICS " },\n"
      "  fabric: { topology: single-switch, switch: { name: hub, ports: 7, port_rate: 100 Gb/s, delay: 131 "
      "ns } } }\n",
      11, 100e9 / 8 * 0.91, 2 * (25000 + 2 * 35000) + 131000, LINK_NETWORK },
};

static void path_matches(void **state)
{
    const struct path_case *c = *state;
    void *folder = NULL;
    loaded l;
    assert_int_equal(scratch_enter(&folder), 0);
    read_checked(&l, folder, c->text);
    const topology *fabric = world_build_fabric(l.a, &l.s, &l.error);
    assert_non_null(fabric);
    const path_facts facts = topology_path_facts(fabric, topology_gpu_vertex(fabric, 0),
                                                 topology_gpu_vertex(fabric, c->to));
    assert_near((double)facts.rate_mBps / 1000.0, c->rate_Bps, 1e-9);
    assert_int_equal(facts.delay_ps, c->delay_ps);
    assert_int_equal(facts.class, c->class);
    arena_destroy(l.a);
    assert_int_equal(scratch_leave(&folder), 0);
}

static void a_world_holds_what_the_scenario_says(void **state)
{
    loaded l;
    read_checked(&l, *state, "cluster: { node: dgx-a100 }\n" MODEL BATCH "plan: { gpus: 4 }\n");
    world *w;
    assert_true(world_create(l.a, &l.s, &(world_options){ .queue = QUEUE_HEAP }, &w, &l.error));
    assert_int_equal(w->lanes.count, 4);
    for (lane_id i = 0; i < 4; i++) {
        assert_int_equal(w->lanes.lanes[i].place.data, i);
        assert_int_equal(w->vertex_of_rank[i], topology_gpu_vertex(w->fabric, i));
        assert_ptr_equal(w->costs.of_lane[i], &w->costs.stages[0]->costs); // all are healthy
    }
    assert_int_equal(w->costs.stage_count, 1);
    assert_int_equal(w->costs.chunk_count, 1);
    assert_int_equal(w->costs.chunks[0]->users, 4);
    assert_int_equal(w->costs.optimizers[0]->users, 4);
    assert_int_equal(w->programs[0].ops.count,
                     2 * 2 + 1 + 1);                      // two micro-batches, the reduction's end, optimizer
    assert_int_equal(w->programs[0].data_calls.count, 1); // one bucket
    assert_false(w->folded || w->alone_tensor);
    assert_false(step_player_is_finished(w->player));
    world_destroy(w);
    arena_destroy(l.a);
}

// Rank r runs on GPU r. One state of health, one set of costs: ranks 1 and 3 share theirs, and 0 and 2.
static void degraded_gpus_compute_at_their_clock(void **state)
{
    loaded l;
    read_checked(
        &l, *state,
        "cluster:\n  node: dgx-a100\n  degraded: [{ gpu: gpu 1, clock: 0.9 }, { gpu: gpu 7, memory: 0.7 },\n"
        "    { gpu: node 0 gpu 3, clock: 0.9, memory: 1 }]\n" MODEL BATCH "plan: { gpus: 4 }\n");
    world *w;
    assert_true(world_create(l.a, &l.s, &(world_options){ .queue = QUEUE_HEAP }, &w, &l.error));
    assert_near(w->gpus.memory_ratio[7], 0.7, 0);
    for (rank_id r = 0; r < 4; r++) {
        assert_near(w->health.clock_ratio[r], r % 2 ? 0.9 : 1.0, 0);
        assert_near(w->health.memory_ratio[r], 1.0, 0);
        assert_near(w->costs.of_lane[r]->chunks[0]->clock_ratio, r % 2 ? 0.9 : 1.0, 0);
    }
    assert_int_equal(w->costs.chunk_count, 2);
    assert_int_equal(w->costs.optimizer_count, 2);
    assert_int_equal(w->costs.stage_count, 2);
    assert_int_equal(w->costs.chunks[1]->users, 2);
    assert_int_equal(w->costs.optimizers[1]->users, 2);
    world_destroy(w);
    arena_destroy(l.a);
}

// Ranks 0, 2, 4, 6 on the GPUs 0 to 3 of node 0, the others on those of node 1; health is that of the GPU.
static void ranks_run_where_they_are_placed(void **state)
{
    loaded l;
    read_checked(
        &l, *state,
        "cluster:\n  node: dgx-a100\n  nodes: 2\n  fabric: { topology: single-switch, switch: qm8790 }\n"
        "  degraded: [{ gpu: node 1 gpu 2, clock: 0.9 }]\n" MODEL
        "plan: { gpus: 12, data: 12, placement: round-robin }\ntraining: { global_batch: 36, micro_batch: 3 "
        "}\n");
    world *w;
    assert_true(world_create(l.a, &l.s, &(world_options){ .queue = QUEUE_HEAP }, &w, &l.error));
    for (rank_id r = 0; r < 12; r++) {
        const gpu_id gpu = r % 2 * 8 + r / 2;
        assert_int_equal(w->gpu_of_rank[r], gpu);
        assert_int_equal(w->vertex_of_rank[r], topology_gpu_vertex(w->fabric, gpu));
        assert_near(w->health.clock_ratio[r], r == 5 ? 0.9 : 1.0, 0);
    }
    world_destroy(w);
    arena_destroy(l.a);
}

// A GPU with exactly what a milder plan needs: that plan is the hint. Neither a group nor a pipeline can share this model out.
static void a_refusal_names_what_would_fit(void **state)
{
    static const struct {
        int sharding, recompute;
        uint64_t micro_batch;
        int gradient_dtype;
        const char *want;
    } cases[] = {
        { SHARDING_NONE, RECOMPUTE_NONE, 6, DTYPE_FP32, NULL },
        { SHARDING_NONE, RECOMPUTE_FULL, 6, DTYPE_FP32, "it fits with plan.recompute: full" },
        { SHARDING_ZERO_1, RECOMPUTE_NONE, 6, DTYPE_FP32, "it fits with plan.sharding: zero-1" },
        { SHARDING_ZERO_1, RECOMPUTE_FULL, 6, DTYPE_FP32,
          "it fits with plan.sharding: zero-1, plan.recompute: full" },
        { SHARDING_ZERO_1, RECOMPUTE_FULL, 1, DTYPE_BF16,
          "it fits with plan.sharding: zero-1, plan.recompute: full, training.micro_batch: 1, "
          "training.gradient_dtype: bf16" },
        // Divisors of the replica's six sequences, the largest that fits: also beside gradients in bf16.
        { SHARDING_ZERO_1, RECOMPUTE_FULL, 3, DTYPE_FP32,
          "it fits with plan.sharding: zero-1, plan.recompute: full, training.micro_batch: 3" },
        { SHARDING_ZERO_1, RECOMPUTE_FULL, 3, DTYPE_BF16,
          "it fits with plan.sharding: zero-1, plan.recompute: full, training.micro_batch: 3, "
          "training.gradient_dtype: bf16" },
    };
    loaded l;
    stage_memory need;
    read_checked(&l, *state,
                 "cluster: { node: dgx-a100 }\nmodel: { base: gpt3-2.7b, kv_heads: 1, layers: 31 }\n"
                 "training: { global_batch: 48, micro_batch: 6 }\n");
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        scenario milder = l.s;
        milder.plan.sharding = cases[i].sharding;
        milder.plan.recompute = cases[i].recompute;
        milder.training.micro_batch = cases[i].micro_batch;
        milder.training.gradient_dtype = cases[i].gradient_dtype;
        const stage_memory enough = world_memory(l.a, &milder);
        const uint64_t bytes = world_fullest(&enough)->total_bytes;
        char size[32], want[256];
        l.s.cluster.node.gpu.memory_bytes = bytes;
        sim_error_clear(&l.error);
        assert_true(world_check_memory(l.a, &l.s, &need, &l.error) == !cases[i].want);
        if (!cases[i].want) continue;
        units_format_binary_bytes((double)bytes, size, sizeof size);
        snprintf(want, sizeof want, "%s (%s)", cases[i].want, size);
        assert_int_equal(l.error.exit_code, SIM_EXIT_NO);
        assert_string_equal(l.error.hint, want);
        assert_true(world_fullest(&need)->total_bytes > bytes);
    }
    arena_destroy(l.a);
}

// What is left when all else is done: 8 replicas become 4, of two GPUs each.
static void groups_and_pipelines_are_remedies(void **state)
{
    static const struct {
        const char *model, *want;
        uint32_t tensor, pipeline;
    } rows[] = {
        { "gpt3-2.7b", "it fits with plan.tensor: 2, plan.data: 4", 2, 1 },
        { "{ base: gpt3-2.7b, kv_heads: 1 }", "it fits with plan.pipeline: 2, plan.data: 4", 1, 2 },
    };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        loaded l;
        stage_memory need;
        char text[512], size[32], want[256];
        snprintf(text, sizeof text,
                 "cluster: { node: dgx-a100 }\nmodel: %s\nplan: { sharding: zero-1, recompute: full }\n"
                 "training: { global_batch: 48, micro_batch: 1, gradient_dtype: bf16 }\n",
                 rows[i].model);
        read_checked(&l, *state, text);
        scenario milder = l.s;
        milder.plan.tensor = rows[i].tensor;
        milder.plan.pipeline = rows[i].pipeline;
        milder.plan.data = 4;
        const stage_memory enough = world_memory(l.a, &milder);
        const uint64_t bytes = world_fullest(&enough)->total_bytes;
        l.s.cluster.node.gpu.memory_bytes = bytes;
        assert_false(world_check_memory(l.a, &l.s, &need, &l.error));
        units_format_binary_bytes((double)bytes, size, sizeof size);
        snprintf(want, sizeof want, "%s (%s)", rows[i].want, size);
        assert_string_equal(l.error.hint, want);
        arena_destroy(l.a);
    }
}

// A GPU of a stage of gpt3-2.7b on 4 stages, 8 layers each.
static void assert_stage_needs(const scenario *s, const stage_memory *got, uint32_t stage,
                               memory_in_flight in_flight)
{
    const memory_settings settings = {
        .kernels = scenario_kernel_settings(s),
        .recompute = s->plan.recompute,
        .sharding = s->plan.sharding,
        .optimizer = s->training.optimizer,
        .data = 2,
        .layers_here = 8,
        .has_embedding = stage == 0,
        .has_head = stage == 3,
        .in_flight = in_flight,
        .gradient_bytes = 4,
        .parameter_bytes = 2,
        .bucket_bytes = s->plan.bucket_bytes,
        .reserved_bytes = s->cluster.node.gpu.reserved_bytes,
    };
    const memory_need want = memory_need_of(&s->model, &settings);
    for (uint32_t part = 0; part < MEMORY_PARTS; part++)
        assert_int_equal(got->of_stage[stage].bytes[part], want.bytes[part]);
    assert_int_equal(got->of_stage[stage].total_bytes, want.total_bytes);
}

// Stages of 8 layers keep 4, 3, 2 and 1 micro-batches in 1f1b. Messages are beside the passes: on one side of the stages at
// the ends, on both sides of the others.
static void each_stage_needs_its_own(void **state)
{
    static const memory_in_flight want[] = {
        { 32, 4, 0, 2 }, { 24, 0, 0, 4 }, { 16, 0, 0, 4 }, { 8, 0, 1, 2 }
    };
    loaded l;
    stage_memory got;
    read_checked(&l, *state,
                 "cluster: { node: dgx-a100 }\nmodel: gpt3-2.7b\n"
                 "training: { global_batch: 48, micro_batch: 2 }\n");
    l.s.plan.pipeline = 4;
    l.s.plan.data = 2;
    assert_true(world_check_memory(l.a, &l.s, &got, &l.error));
    assert_int_equal(got.stages, 4);
    for (uint32_t stage = 0; stage < 4; stage++)
        assert_stage_needs(&l.s, &got, stage, want[stage]);
    assert_int_equal(got.fullest, 0);

    l.s.cluster.node.gpu.memory_bytes = got.of_stage[0].total_bytes - 1;
    assert_false(world_check_memory(l.a, &l.s, &got, &l.error));
    char need[32], message[256];
    units_format_binary_bytes((double)got.of_stage[0].total_bytes, need, sizeof need);
    snprintf(message, sizeof message,
             "the job does not fit: a GPU of stage 0 of 4 needs %s, a100-sxm-80gb has %s", need, need);
    assert_int_equal(l.error.exit_code, SIM_EXIT_NO);
    assert_string_equal(l.error.message, message);

    // 32 (1 + 3 / 8) layers; when the first passes through chunk 0 go backward, two rounds of 4 have gone through it
    l.s.plan.schedule = SCHEDULE_INTERLEAVED_1F1B;
    l.s.plan.virtual_stages = 2;
    got = world_memory(l.a, &l.s);
    assert_stage_needs(&l.s, &got, 0, (memory_in_flight){ 44, 8, 0, 4 });
    l.s.plan.overlap_pipeline = false;
    got = world_memory(l.a, &l.s);
    assert_stage_needs(&l.s, &got, 0, (memory_in_flight){ 44, 8, 0, 4 }); // of two pairs of passes
    arena_destroy(l.a);
}

static void a_world_that_is_refused_is_none(void **state)
{
    loaded l;
    read_checked(&l, *state, "cluster: { node: dgx-a100 }\n" MODEL BATCH);
    l.s.cluster.node.gpu.memory_bytes = 1000000;
    world *w;
    assert_false(world_create(l.a, &l.s, &(world_options){ .queue = QUEUE_BUCKET }, &w, &l.error));
    assert_null(w);
    assert_int_equal(l.error.exit_code, SIM_EXIT_NO);
    arena_destroy(l.a);
}

// ---- lanes, programs and what is played for what

#define MODEL_OF_8                                                                                           \
    "model: { name: wee, layers: 4, hidden: 128, heads: 8, kv_heads: 8, ffn: 256, vocabulary: 1000,\n"       \
    "  max_sequence: 64, activation: swiglu, norm: rmsnorm, position: rope, tied_embeddings: true }\n"
#define TWO_NODES(more_)                                                                                     \
    "cluster: { node: dgx-h100, nodes: 2, fabric: { topology: single-switch, switch: qm9700 }" more_         \
    " }\n" MODEL_OF_8 "training: { global_batch: 16 }\n"

struct fold_case {
    const char *name, *text;
    bool folded, alone;
    fold_obstacle_kind obstacle;
    rank_id rank;
    uint32_t lanes, multiplicity;
};
static const struct fold_case folds[] = {
    { "a group on each node is a lane", TWO_NODES("") "plan: { tensor: 8 }\n", true, true, FOLD_NO_OBSTACLE,
      0, 2, 8 },
    { "two stages of groups", TWO_NODES("") "plan: { tensor: 8, pipeline: 2 }\n", true, true,
      FOLD_NO_OBSTACLE, 0, 2, 8 },
    { "two groups on a node share its NVSwitches", TWO_NODES("") "plan: { tensor: 4 }\n", true, false,
      FOLD_NO_OBSTACLE, 0, 4, 4 },
    { "fold: none", TWO_NODES("") "plan: { tensor: 8 }\nrun: { fold: none }\n", false, false,
      FOLD_NO_OBSTACLE, 0, 16, 1 },
    { "without a group there is nothing to fold", TWO_NODES(""), false, false, FOLD_NO_OBSTACLE, 0, 16, 1 },
    { "a slow GPU is in the way",
      TWO_NODES(", degraded: [{ gpu: gpu 11, clock: 0.9 }]") "plan: { tensor: 8 }\n", false, false,
      FOLD_GROUP_DIFFERS_IN_HEALTH, 11, 16, 1 },
    { "a slow NIC is in the way",
      TWO_NODES(", degraded: [{ nic: node 1 nic 3, rate: 0.9 }]") "plan: { tensor: 8 }\n", false, false,
      FOLD_COLUMNS_DIFFER, 3, 16, 1 },
    { "the bottleneck count is in the way",
      TWO_NODES("") "plan: { tensor: 8 }\nnetwork: { bottleneck_count: true }\n", false, false,
      FOLD_TRANSFERS_COUNTED_TOGETHER, NO_ID, 16, 1 },
    { "message by message, groups that have their links to themselves",
      TWO_NODES("") "plan: { tensor: 8 }\nnetwork: { grain: messages }\n", true, true, FOLD_NO_OBSTACLE, 0, 2,
      8 },
    { "message by message, groups that share links",
      TWO_NODES("") "plan: { tensor: 4 }\nnetwork: { grain: messages }\n", false, false,
      FOLD_TENSOR_MESSAGES_SHARE_LINKS, NO_ID, 16, 1 },
    // The sum of a norm is 4 bytes: of 8 ranks each second one has a chunk of a byte, on links that columns cross too.
    { "chunks that are not equal are in the way",
      "cluster: { node: { base: dgx-h100, gpus: 16 } }\n" MODEL_OF_8 "training: { global_batch: 16 }\n"
      "plan: { tensor: 8 }\n",
      false, false, FOLD_TENSOR_LOADS_UNEVENLY, 0, 16, 1 },
    // A tree puts more on the links of its inner ranks than on those of its ends.
    { "trees are in the way",
      "cluster: { node: { base: dgx-h100, gpus: 16 } }\n" MODEL_OF_8 "training: { global_batch: 16 }\n"
      "plan: { tensor: 4 }\nnetwork: { algorithm: tree }\n",
      false, false, FOLD_TENSOR_LOADS_UNEVENLY, 0, 16, 1 },
    { "but not where they have their links to themselves",
      TWO_NODES("") "plan: { tensor: 8 }\nnetwork: { algorithm: tree }\n", true, true, FOLD_NO_OBSTACLE, 0, 2,
      8 },
    { "while those of 4 ranks are equal",
      "cluster: { node: { base: dgx-h100, gpus: 16 } }\n" MODEL_OF_8 "training: { global_batch: 16 }\n"
      "plan: { tensor: 4 }\n",
      true, false, FOLD_NO_OBSTACLE, 0, 4, 4 },
};

static void hear_span(void *owner, const step_span *span)
{
    (void)owner;
    (void)span;
}

static void fold_is_as_asked_for(void **state)
{
    const struct fold_case *c = *state;
    void *folder = NULL;
    loaded l;
    assert_int_equal(scratch_enter(&folder), 0);
    read_checked(&l, folder, c->text);
    const world_options options[] = { { .queue = QUEUE_HEAP },
                                      { .queue = QUEUE_HEAP, .play_tensor = true },
                                      { .queue = QUEUE_HEAP, .listener = { .on_span = hear_span } } };
    for (size_t i = 0; i < ARRAY_COUNT(options); i++) { // who is to be told of spans needs them played
        world *w;
        assert_true(world_create(l.a, &l.s, &options[i], &w, &l.error));
        assert_int_equal(w->folded, c->folded);
        assert_int_equal(w->alone_tensor, c->alone && i == 0);
        assert_int_equal(w->obstacle.kind, c->obstacle);
        if (c->obstacle != FOLD_NO_OBSTACLE) assert_int_equal(w->obstacle.rank, c->rank);
        assert_int_equal(w->lanes.count, c->lanes);
        assert_int_equal(w->lanes.lanes[0].multiplicity, c->multiplicity);
        world_destroy(w);
    }
    arena_destroy(l.a);
    assert_int_equal(scratch_leave(&folder), 0);
}

// 4 layers over 2 stages of 2 chunks, one each: the first with the embedding, the last with the head, two alike between them.
// 16 sequences, 4 replicas: 4 micro-batches of 64 tokens x 128 x 2 bytes, of which each of 2 ranks sends a half.
static void stages_have_programs(void **state)
{
    loaded l;
    read_checked(
        &l, *state,
        TWO_NODES("") "plan: { tensor: 2, pipeline: 2, schedule: interleaved-1f1b, virtual_stages: 2,\n"
                      "  sharding: zero-1, overlap_pipeline: false }\n");
    world *w;
    assert_true(world_create(l.a, &l.s, &(world_options){ .queue = QUEUE_HEAP }, &w, &l.error));
    assert_int_equal(w->schedule.def.micro_batches, 4);
    assert_int_equal(w->stages.stages, 2);
    assert_int_equal(w->costs.stage_count, 2);
    assert_int_equal(w->costs.chunk_count, 3);
    static const uint64_t users[] = { 8, 16, 8 }; // of ranks' chunks
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(w->costs.chunks[i]->users, users[i]);
        assert_int_equal(w->costs.chunks[i]->has_embedding, i == 0);
        assert_int_equal(w->costs.chunks[i]->has_head, i == 2);
    }
    for (uint32_t stage = 0; stage < 2; stage++) {
        const program *p = &w->programs[stage];
        assert_int_equal(p->message_bytes, 64 * 128 * 2 / 2);
        // of the vocabulary of 1000, padded to 1024, each rank has half: 512 x 128 elements of 4 bytes
        assert_int_equal(p->table_bytes, 512 * 128 * 4);
        // a bucket for each chunk: reduced, the norm, gathered
        assert_int_equal(p->data_calls.count, 2 + 1 + 2);
        assert_int_equal(p->ops.items[p->ops.count - 2].kind, OP_OPTIMIZER);
    }
    for (lane_id lane = 0; lane < w->lanes.count; lane++)
        assert_ptr_equal(w->costs.of_lane[lane],
                         &w->costs.stages[w->lanes.lanes[lane].place.pipeline]->costs);
    world_destroy(w);
    arena_destroy(l.a);
}

static uint64_t digest_of(loaded *l, int fold, const world_options *options)
{
    world *w;
    l->s.run.fold = fold;
    assert_true(world_create(l->a, &l->s, options, &w, &l->error));
    step_player_start(w->player);
    assert_int_equal(sim_run(w->sim, SIM_TIME_MAX), SIM_DRAINED);
    assert_true(step_player_is_finished(w->player));
    const uint64_t digest = sim_digest(w->sim);
    world_destroy(w);
    return digest;
}

static void what_is_played_for_what_does_not_show(void **state)
{
    loaded l;
    read_checked(&l, *state, TWO_NODES("") "plan: { tensor: 8, pipeline: 2, sequence_parallel: true }\n");
    const uint64_t want = digest_of(&l, FOLD_NONE, &(world_options){ .queue = QUEUE_BUCKET });
    for (int reverse = 0; reverse < 2; reverse++)
        for (int play_tensor = 0; play_tensor < 2; play_tensor++)
            assert_true(digest_of(&l, FOLD_NODE,
                                  &(world_options){ .queue = QUEUE_RADIX,
                                                    .reverse_phases = reverse,
                                                    .play_tensor = play_tensor }) == want);
    arena_destroy(l.a);
}

static bool keep_length(void *owner, const step_end *end)
{
    *(sim_time *)owner = end->end_ps - end->start_ps;
    return true;
}

static void a_step_is_no_longer_than_its_bound(void **state)
{
    static const char *const texts[] = {
        TWO_NODES("") "plan: { tensor: 8, pipeline: 2, overlap_pipeline: false }\n",
        TWO_NODES("") "plan: { tensor: 2, pipeline: 4, sharding: zero-1, overlap_parameters: true }\n",
        TWO_NODES("") "plan: { tensor: 2, pipeline: 2, schedule: interleaved-1f1b, virtual_stages: 2,\n"
                      "  overlap_pipeline: false, scatter_gather: false, overlap_tensor: false, "
                      "overlap_gradients: false }\n",
        // Eight data-parallel groups, each with a ring of its own, share the only cable from leaf to spine.
        "cluster: { node: dgx-h100, nodes: 4, fabric: { topology: spine-leaf, leaves: 2, spines: 1, uplinks: "
        "1,\n"
        "  switch: { base: qm9700, port_rate: 1 Mb/s } } }\n" MODEL_OF_8
        "training: { global_batch: 16 }\nplan: { tensor: 8 }\n",
    };
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++) {
        loaded l;
        sim_time length = 0;
        world *w;
        read_checked(&l, *state, texts[i]);
        l.s.run.steps = 1;
        assert_true(world_create(l.a, &l.s, &(world_options){ .queue = QUEUE_BUCKET }, &w, &l.error));
        const double longest_s = world_longest_step_s(w);
        world_destroy(w);
        (void)digest_of(&l, FOLD_NODE,
                        &(world_options){ .listener = { .on_step = keep_length, .owner = &length } });
        assert_true(length > 0 && units_s_from_ps(length) <= longest_s);
        arena_destroy(l.a);
    }
}

struct beside_case {
    const char *name, *plan;
    gpu_taken tensor, data, pipeline;
};
// 16 GPUs with 287 x 0.83 = 238.21 GB/s of links inside two nodes, whose 2 NICs of 371 Gb/s x 0.91 = 42.20125 GB/s serve
// 8 GPUs: 10.5503125 GB/s for each of them. 24 channels inside nodes; over nodes NCCL's rule (chunking.c) for
// NICs at 42 of its rates: of one NIC 1 x 2 x 2, of both 2 x 2 x 2. Messages of 8 KiB have one. 2 bytes for one.
static const struct beside_case beside_cases[] = {
    { "a group inside a node, replicas on both",
      "tensor: 8, data: 2, sequence_parallel: true",
      { 24, 2 * 238.21e9 },
      { 4, 2 * 10.5503125e9 },
      { 0, 0 } },
    { "copy engines move user buffers",
      "tensor: 8, data: 2, sequence_parallel: true, user_buffers: true",
      { 0, 2 * 238.21e9 },
      { 4, 2 * 10.5503125e9 },
      { 0, 0 } },
    { "replicas of whole nodes", "data: 16", { 0, 0 }, { 8, 8 * 2 * 10.5503125e9 }, { 0, 0 } },
    { "two of them in a node, neighbours in a node",
      "pipeline: 4, data: 4, tensor: 1, rank_order: pp-dp-tp",
      { 0, 0 },
      { 8, 2 * 2 * 10.5503125e9 },
      { 1, 2 * 238.21e9 } },
    { "stages on nodes of their own",
      "pipeline: 2, data: 8",
      { 0, 0 },
      { 24, 2 * 238.21e9 },
      { 1, 2 * 10.5503125e9 } },
};
static void collectives_take_of_a_gpu(void **state)
{
    for (size_t i = 0; i < ARRAY_COUNT(beside_cases); i++) {
        const struct beside_case *c = &beside_cases[i];
        char text[2000];
        snprintf(
            text, sizeof text,
            "cluster: { nodes: 2, node: { base: dgx-a100, " NICS ", scale_up: { kind: nvswitch,\n"
            "  rate: 287 GB/s, payload_ratio: 0.83, delay: 311 ns } },\n"
            "  fabric: { topology: single-switch, switch: { name: hub, ports: 7, port_rate: 400 Gb/s,\n"
            "    delay: 131 ns } } }\n"
            "model: { name: wee, layers: 4, hidden: 64, heads: 8, kv_heads: 8, ffn: 96, vocabulary: 128,\n"
            "  max_sequence: 64, activation: swiglu, norm: rmsnorm, position: rope }\n"
            "training: { global_batch: 16 }\nplan: { %s }\n",
            c->plan);
        loaded l;
        world *w;
        gpu_taken got[BESIDE_GROUPS];
        read_checked(&l, *state, text);
        assert_true(world_create(l.a, &l.s, &(world_options){ .queue = QUEUE_BUCKET }, &w, &l.error));
        world_beside(w, got);
        const gpu_taken want[] = { c->tensor, c->data, c->pipeline };
        for (int g = 0; g < BESIDE_GROUPS; g++) {
            if (got[g].multiprocessors != want[g].multiprocessors)
                fail_msg("%s: group %d holds %g", c->name, g, got[g].multiprocessors);
            assert_near(got[g].memory_Bps + 1.0, want[g].memory_Bps + 1.0, 1e-9);
        }
        world_destroy(w);
        arena_destroy(l.a);
    }
}

// 32,000,000 sequences, 16 replicas: 2,000,000 micro-batches, each a forward and a backward; the reduction's end, the optimizer
// and one data call more.
static void too_many_operations_are_refused(void **state)
{
    loaded l;
    read_checked(&l, *state, TWO_NODES("") "plan: { data: 16 }\n");
    l.s.training.global_batch = 32000000;
    world *w;
    assert_false(world_create(l.a, &l.s, &(world_options){ .queue = QUEUE_BUCKET }, &w, &l.error));
    assert_null(w);
    assert_error_prints(
        &l.error,
        "s.yaml:4:13: error: 16 lanes with 64,000,048 operations together are more than the 50 million "
        "operations of a step that are played\n"
        "    4 | training: { global_batch: 16 }\n"
        "      |             ^\n"
        "  hint: a smaller global_batch, or a larger training.micro_batch or plan.bucket\n");
    arena_destroy(l.a);
}

int main(void)
{
    struct CMUnitTest tests[ARRAY_COUNT(paths) + ARRAY_COUNT(folds) + 12];
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_COUNT(paths); i++)
        tests[n++] = (struct CMUnitTest){ paths[i].name, path_matches, NULL, NULL, (void *)&paths[i] };
#define IN_SCRATCH(test_)                                                                                    \
    (struct CMUnitTest) cmocka_unit_test_setup_teardown(test_, scratch_enter, scratch_leave)
    tests[n++] = IN_SCRATCH(a_world_holds_what_the_scenario_says);
    tests[n++] = IN_SCRATCH(degraded_gpus_compute_at_their_clock);
    tests[n++] = IN_SCRATCH(ranks_run_where_they_are_placed);
    tests[n++] = IN_SCRATCH(a_refusal_names_what_would_fit);
    tests[n++] = IN_SCRATCH(groups_and_pipelines_are_remedies);
    tests[n++] = IN_SCRATCH(each_stage_needs_its_own);
    tests[n++] = IN_SCRATCH(a_world_that_is_refused_is_none);
    for (size_t i = 0; i < ARRAY_COUNT(folds); i++)
        tests[n++] = (struct CMUnitTest){ folds[i].name, fold_is_as_asked_for, NULL, NULL,
                                          (void *)&folds[i] };
    tests[n++] = IN_SCRATCH(stages_have_programs);
    tests[n++] = IN_SCRATCH(what_is_played_for_what_does_not_show);
    tests[n++] = IN_SCRATCH(a_step_is_no_longer_than_its_bound);
    tests[n++] = IN_SCRATCH(collectives_take_of_a_gpu);
    tests[n++] = IN_SCRATCH(too_many_operations_are_refused);
    SIM_ASSERT(n == ARRAY_COUNT(tests));
    return cmocka_run_group_tests_name("world", tests, NULL, NULL);
}
