// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/scratch.h"

#include "sim/array.h"
#include "tests/support/loaded.h"
#include "tests/support/text.h"

#define MODEL_WITH(position_)                                                                                \
    "model: { name: wee, layers: 6, hidden: 64, heads: 8, kv_heads: 4, ffn: 96, vocabulary: 100,\n"          \
    "  max_sequence: 128, activation: gelu, norm: layernorm, position: " position_ " }\n"
#define MODEL MODEL_WITH("rope")
#define NODE "cluster: { node: dgx-a100 }\n"
#define BATCH "training: { global_batch: 16 }\n"

struct refusal {
    const char *name, *text, *want;
};
static const struct refusal refusals[] = {
    { "nothing to train", NODE,
      "s.yaml:1:1: error: the scenario has no \"model:\", so there is nothing to train\n"
      "    1 | cluster: { node: dgx-a100 }\n"
      "      | ^\n"
      "  hint: model: llama3-8b\n" },
    { "a model without a batch", NODE MODEL,
      "s.yaml:1:1: error: the scenario has no \"training:\", so there is nothing to train\n"
      "    1 | cluster: { node: dgx-a100 }\n"
      "      | ^\n"
      "  hint: training: { global_batch: 512 }\n" },
    { "a plan alone", NODE "plan: { data: 8 }\n",
      "s.yaml:1:1: error: the scenario has no \"model:\", so there is nothing to train\n"
      "    1 | cluster: { node: dgx-a100 }\n"
      "      | ^\n"
      "  hint: model: llama3-8b\n" },
    { "a million GPUs and more", "cluster: { node: dgx-a100, nodes: 125001 }\n",
      "s.yaml:1:28: error: 125001 nodes x 8 GPUs are more than the 1,000,000 GPUs a cluster may have\n"
      "    1 | cluster: { node: dgx-a100, nodes: 125001 }\n"
      "      |                            ^\n"
      "  hint: nodes: 125000\n" },
    { "nodes without a fabric", "cluster: { node: dgx-a100, nodes: 2 }\n",
      "s.yaml:1:28: error: 2 nodes need a fabric\n"
      "    1 | cluster: { node: dgx-a100, nodes: 2 }\n"
      "      |                            ^\n"
      "  hint: fabric: { topology: single-switch, switch: qm9700 }\n" },
    { "nodes without NICs",
      "cluster:\n"
      "  node: { base: dgx-a100, name: bare, nics: 0 }\n"
      "  nodes: 2\n"
      "  fabric: { topology: single-switch, switch: qm8790 }\n",
      "s.yaml:2:39: error: node \"bare\" has no NICs, so 2 of them cannot be joined\n"
      "    2 |   node: { base: dgx-a100, name: bare, nics: 0 }\n"
      "      |                                       ^\n"
      "  hint: nodes: 1\n" },
    { "more NICs than ports",
      "cluster: { node: dgx-a100, nodes: 6, fabric: { topology: single-switch, switch: qm8790 } }\n",
      "s.yaml:1:28: error: 6 nodes x 8 NICs need 48 ports, but switch \"qm8790\" has 40\n"
      "    1 | cluster: { node: dgx-a100, nodes: 6, fabric: { topology: single-switch, switch: qm8790 } }\n"
      "      |                            ^\n"
      "  hint: nodes: 5\n" },
    { "a switch without room for one node",
      "cluster: { node: dgx-a100, nodes: 2, fabric: { topology: single-switch, switch: { base: qm8790, "
      "ports: "
      "1 } } }\n",
      "s.yaml:1:28: error: 2 nodes x 8 NICs need 16 ports, but switch \"qm8790\" has 1\n"
      "    1 | cluster: { node: dgx-a100, nodes: 2, fabric: { topology: single-switch, switch: { base: "
      "qm8790, "
      "ports: 1 } } }\n"
      "      |                            ^\n"
      "  hint: nodes: 1, without a fabric, or a switch with more ports\n" },
    { "the nearest batch that is allowed",
      NODE MODEL "plan: { gpus: 7 }\ntraining: { global_batch: 999999999 }\n",
      "s.yaml:5:13: error: global_batch 999999999 is not a multiple of data 7 x micro_batch 1 = 7\n"
      "    5 | training: { global_batch: 999999999 }\n"
      "      |             ^\n"
      "  hint: global_batch: 999999994\n" },
    { "micro-batches larger than any batch",
      "cluster: { node: dgx-a100, nodes: 126, fabric: { topology: single-switch, switch: { base: qm8790, "
      "ports: "
      "1008 } } }\n" MODEL "training: { global_batch: 1000000000, micro_batch: 1000000 }\n",
      "s.yaml:4:13: error: global_batch 1000000000 is not a multiple of data 1008 x micro_batch 1000000 = "
      "1008000000\n"
      "    4 | training: { global_batch: 1000000000, micro_batch: 1000000 }\n"
      "      |             ^\n"
      "  hint: micro_batch: 1\n" },
    { "the key's own limit, within 64 bits", NODE "run: { steps: 5000000000 }\n",
      "s.yaml:2:15: error: run.steps must be at most 1000000000\n"
      "    2 | run: { steps: 5000000000 }\n"
      "      |               ^\n" },
    { "the key's own limit, beyond 64 bits", NODE "run: { steps: 99999999999999999999 }\n",
      "s.yaml:2:15: error: run.steps must be at most 1000000000\n"
      "    2 | run: { steps: 99999999999999999999 }\n"
      "      |               ^\n" },
    { "the key's own limit, below zero", NODE "run: { steps: -3 }\n",
      "s.yaml:2:15: error: run.steps must be at least 1\n"
      "    2 | run: { steps: -3 }\n"
      "      |               ^\n" },
    { "a batch for four GPUs is hinted", NODE MODEL "plan: { gpus: 4 }\n",
      "s.yaml:1:1: error: the scenario has no \"training:\", so there is nothing to train\n"
      "    1 | cluster: { node: dgx-a100 }\n"
      "      | ^\n"
      "  hint: training: { global_batch: 256 }\n" },
    { "GPUs without links", "cluster:\n  node: { base: dgx-a100, name: apart, scale_up: { kind: none } }\n",
      "s.yaml:2:40: error: a node with 8 GPUs needs links between them (scale_up)\n"
      "    2 |   node: { base: dgx-a100, name: apart, scale_up: { kind: none } }\n"
      "      |                                        ^\n"
      "  hint: scale_up.kind: nvswitch, mesh or pcie\n" },
    { "engines that are not built yet", NODE "network: { engine: packet }\n",
      "s.yaml:2:12: error: network engine \"packet\" is not modelled in this version\n"
      "    2 | network: { engine: packet }\n"
      "      |            ^\n"
      "  hint: engine: fluid\n" },
    { "windows without rates", NODE "network: { engine: ideal, completion_window: 0.1 % }\n",
      "s.yaml:2:27: error: the ideal network has no completion windows\n"
      "    2 | network: { engine: ideal, completion_window: 0.1 % }\n"
      "      |                           ^\n"
      "  hint: engine: fluid\n" },
    { "a count without contention", NODE "network: { engine: ideal, bottleneck_count: true }\n",
      "s.yaml:2:27: error: the ideal network has no bottlenecks to count\n"
      "    2 | network: { engine: ideal, bottleneck_count: true }\n"
      "      |                           ^\n"
      "  hint: engine: fluid\n" },
    { "sums with flags", NODE "network: { protocol: ll128, algorithm: nvls }\n",
      "s.yaml:2:29: error: nvls has no protocol \"ll128\"\n"
      "    2 | network: { protocol: ll128, algorithm: nvls }\n"
      "      |                             ^\n"
      "  hint: protocol: simple, or algorithm: ring\n" },
    { "sums in switches that cannot", "cluster: { node: dgx-a100 }\nnetwork: { algorithm: nvls }\n",
      "s.yaml:2:12: error: NVLS needs an NVSwitch that can sum, and node \"dgx-a100\" has none\n"
      "    2 | network: { algorithm: nvls }\n"
      "      |            ^\n"
      "  hint: algorithm: ring\n" },
    { "a level that is not built yet", NODE "run: { trace: packets }\n",
      "s.yaml:2:8: error: trace level \"packets\" needs the packet engine, which is not modelled in this "
      "version\n"
      "    2 | run: { trace: packets }\n"
      "      |        ^\n"
      "  hint: trace: transfers\n" },
    { "more GPUs than there are", NODE MODEL "plan: { gpus: 9 }\n" BATCH,
      "s.yaml:4:9: error: the job wants 9 GPUs, but the cluster has 8\n"
      "    4 | plan: { gpus: 9 }\n"
      "      |         ^\n"
      "  hint: gpus: 8\n" },
    { "more replicas than GPUs", NODE MODEL "plan: { data: 9 }\n" BATCH,
      "s.yaml:4:9: error: tensor 1 x pipeline 1 x data 9 = 9, but the cluster has 8 GPUs\n"
      "    4 | plan: { data: 9 }\n"
      "      |         ^\n"
      "  hint: data: 8\n" },
    { "fewer replicas than GPUs", NODE MODEL "plan: { data: 3 }\n" BATCH,
      "s.yaml:4:9: error: tensor 1 x pipeline 1 x data 3 = 3, but the cluster has 8 GPUs\n"
      "    4 | plan: { data: 3 }\n"
      "      |         ^\n"
      "  hint: data: 8, or gpus: 3\n" },
    { "fewer replicas than the job takes", NODE MODEL "plan: { data: 3, gpus: 5 }\n" BATCH,
      "s.yaml:4:9: error: tensor 1 x pipeline 1 x data 3 = 3, but the job takes 5 GPUs\n"
      "    4 | plan: { data: 3, gpus: 5 }\n"
      "      |         ^\n"
      "  hint: data: 5, or gpus: 3\n" },
    { "no replicas", NODE MODEL "plan: { data: 0 }\n" BATCH,
      "s.yaml:4:15: error: plan.data must be at least 1\n"
      "    4 | plan: { data: 0 }\n"
      "      |               ^\n" },
    { "no GPUs", NODE MODEL "plan: { gpus: 0 }\n" BATCH,
      "s.yaml:4:15: error: plan.gpus must be at least 1\n"
      "    4 | plan: { gpus: 0 }\n"
      "      |               ^\n" },
    { "sharding that is not built yet", NODE MODEL "plan: { sharding: zero-3 }\n" BATCH,
      "s.yaml:4:9: error: this sharding is not modelled in this version\n"
      "    4 | plan: { sharding: zero-3 }\n"
      "      |         ^\n"
      "  hint: sharding: zero-1\n" },
    { "folding that is not built yet", NODE MODEL BATCH "run: { fold: exact }\n",
      "s.yaml:5:8: error: exact folding is not modelled in this version\n"
      "    5 | run: { fold: exact }\n"
      "      |        ^\n"
      "  hint: fold: node\n" },
    { "buckets without number", NODE MODEL "plan: { bucket: 1 B }\n" BATCH,
      "s.yaml:4:9: error: 165504 gradients in buckets of 1 B are more than the 100,000 collectives a step "
      "may have\n"
      "    4 | plan: { bucket: 1 B }\n"
      "      |         ^\n"
      "  hint: bucket: 8 B\n" },
    { "no sequence", NODE MODEL "training: { global_batch: 16, sequence_length: 0 }\n",
      "s.yaml:4:48: error: training.sequence_length must be at least 1\n"
      "    4 | training: { global_batch: 16, sequence_length: 0 }\n"
      "      |                                                ^\n" },
    { "beyond learned positions",
      NODE MODEL_WITH("learned") "training: { global_batch: 16, sequence_length: 129 }\n",
      "s.yaml:4:31: error: wee has learned positions for 128 tokens, not 129\n"
      "    4 | training: { global_batch: 16, sequence_length: 129 }\n"
      "      |                               ^\n"
      "  hint: sequence_length: 128\n" },
    { "a batch that does not divide", NODE MODEL "training: { global_batch: 21, micro_batch: 1 }\n",
      "s.yaml:4:13: error: global_batch 21 is not a multiple of data 8 x micro_batch 1 = 8\n"
      "    4 | training: { global_batch: 21, micro_batch: 1 }\n"
      "      |             ^\n"
      "  hint: global_batch: 24\n" },
    { "a batch that is too small", NODE MODEL "training: { global_batch: 3, micro_batch: 2 }\n",
      "s.yaml:4:13: error: global_batch 3 is not a multiple of data 8 x micro_batch 2 = 16\n"
      "    4 | training: { global_batch: 3, micro_batch: 2 }\n"
      "      |             ^\n"
      "  hint: global_batch: 16\n" },
    { "too many micro-batches", NODE MODEL "training: { global_batch: 8000008 }\n",
      "s.yaml:4:13: error: 1000001 micro-batches per step are more than the 1,000,000 that are played\n"
      "    4 | training: { global_batch: 8000008 }\n"
      "      |             ^\n"
      "  hint: global_batch: 8000000\n" },
    { "fp8", NODE MODEL "training: { global_batch: 8, precision: fp8 }\n",
      "s.yaml:4:30: error: fp8 is not modelled in this version\n"
      "    4 | training: { global_batch: 8, precision: fp8 }\n"
      "      |                              ^\n"
      "  hint: precision: bf16\n" },
    { "a format that the GPU lacks",
      "cluster: { node: { base: dgx-a100, gpu: { base: a100-sxm-80gb, peak: { bf16: 0 FLOP/s } } } }\n" MODEL
      "training: { global_batch: 8 }\n",
      "s.yaml:4:11: error: GPU \"a100-sxm-80gb\" has no bf16 matrix units\n"
      "    4 | training: { global_batch: 8 }\n"
      "      |           ^\n"
      "  hint: precision: fp16\n" },
    { "gradients in tf32", NODE MODEL "training: { global_batch: 8, gradient_dtype: tf32 }\n",
      "s.yaml:4:30: error: gradients are not kept in tf32\n"
      "    4 | training: { global_batch: 8, gradient_dtype: tf32 }\n"
      "      |                              ^\n"
      "  hint: gradient_dtype: fp32, bf16 or fp16\n" },
    { "jobs", NODE "jobs: []\n",
      "s.yaml:2:1: error: jobs: not modelled in this version\n"
      "    2 | jobs: []\n"
      "      | ^\n" },
    { "no cluster", MODEL BATCH,
      "s.yaml:1:1: error: \"cluster\" is missing\n"
      "    1 | model: { name: wee, layers: 6, hidden: 64, heads: 8, kv_heads: 4, ffn: 96, vocabulary: 100,\n"
      "      | ^\n"
      "  hint: cluster: what there is, or the name of a system of the catalogue\n" },
    { "a later format", "windtunnel: 2\n" NODE,
      "s.yaml:1:13: error: the scenario is written in format 2; this version reads format 1\n"
      "    1 | windtunnel: 2\n"
      "      |             ^\n"
      "  hint: windtunnel: 1\n" },
};

static void refusal_prints(void **state)
{
    const struct refusal *c = *state;
    void *folder = NULL;
    loaded f;
    assert_int_equal(scratch_enter(&folder), 0);
    const bool good = loaded_read(&f, folder, c->text, NULL, 0) && scenario_check(&f.s, true, &f.error);
    assert_false(good);
    assert_int_equal(f.error.exit_code, SIM_EXIT_INPUT);
    assert_error_prints(&f.error, c->want);
    arena_destroy(f.a);
    assert_int_equal(scratch_leave(&folder), 0);
}

// What follows from other keys is filled; a fabric alone passes where no job is wanted.
static void what_follows_is_filled(void **state)
{
    loaded f;
    assert_true(loaded_read(&f, *state, NODE MODEL BATCH, NULL, 0));
    assert_true(scenario_check(&f.s, true, &f.error));
    assert_int_equal(f.s.plan.gpus, 8);
    assert_int_equal(f.s.plan.data, 8);
    assert_int_equal(f.s.training.sequence_length, 128);
    assert_int_equal(f.s.training.micro_batch, 1);
    assert_int_equal(f.s.plan.bucket_bytes, 160000000);
    assert_true(f.s.plan.overlap_gradients && f.s.training.fused_kernels);
    assert_int_equal(f.s.run.steps, 3);
    assert_int_equal(f.s.run.trace, TRACE_SPANS);
    assert_string_equal(f.s.network.collectives.name, "nccl-2.30");
    assert_int_equal(scenario_gpus(&f.s), 8);
    assert_int_equal(scenario_micro_batches(&f.s), 2);
    arena_destroy(f.a);

    assert_true(loaded_read(&f, *state, NODE, NULL, 0));
    assert_true(scenario_check(&f.s, false, &f.error));
    arena_destroy(f.a);
}

static void settings_of_kernels_and_memory_are_the_scenario_s(void **state)
{
    loaded f;
    assert_true(loaded_read(
        &f, *state,
        NODE MODEL "plan: { data: 2, gpus: 2, sharding: zero-1, recompute: selective, bucket: 3 MB }\n"
                   "training: { global_batch: 12, micro_batch: 3, sequence_length: 96, precision: tf32,\n"
                   "  gradient_dtype: bf16, optimizer: sgd, attention: unfused, fused_kernels: false }\n",
        NULL, 0));
    assert_true(scenario_check(&f.s, true, &f.error));
    assert_int_equal(scenario_micro_batches(&f.s), 2);
    const stages_def layers = scenario_stages(&f.s);
    const stage_table table = stages_build(f.a, &layers);
    const memory_settings m = scenario_memory_settings(&f.s, &table, 0);
    assert_int_equal(m.kernels.micro_batch, 3);
    assert_int_equal(m.kernels.sequence_length, 96);
    assert_int_equal(m.kernels.precision, DTYPE_TF32);
    assert_int_equal(m.kernels.gradient_type, DTYPE_BF16);
    assert_int_equal(m.kernels.attention, ATTENTION_UNFUSED);
    assert_int_equal(m.kernels.tensor, 1);
    assert_false(m.kernels.fused);
    assert_int_equal(m.recompute, RECOMPUTE_SELECTIVE);
    assert_int_equal(m.sharding, SHARDING_ZERO_1);
    assert_int_equal(m.optimizer, OPTIMIZER_SGD);
    assert_int_equal(m.data, 2);
    assert_int_equal(m.layers_here, 6);
    assert_true(m.has_embedding && m.has_head);
    assert_near(m.gradient_bytes, 2, 0);
    assert_near(m.parameter_bytes, 4, 0);
    assert_int_equal(m.bucket_bytes, 3000000);
    arena_destroy(f.a);
}

// Sets are applied in their order, also for keys that the file does not have.
static void sets_override(void **state)
{
    static const char *const sets[] = { "plan.gpus=6", "plan.gpus=4",         "training.global_batch=20",
                                        "run.seed=77", "network.protocol=ll", "run.steps=5" };
    loaded f;
    assert_true(loaded_read(&f, *state, NODE MODEL BATCH, sets, ARRAY_COUNT(sets)));
    assert_true(scenario_check(&f.s, true, &f.error));
    assert_int_equal(f.s.plan.data, 4);
    assert_int_equal(f.s.training.global_batch, 20);
    assert_int_equal(f.s.run.seed, 77);
    assert_int_equal(f.s.run.steps, 5);
    assert_int_equal(f.s.network.protocol - 1, PROTOCOL_LL);
    arena_destroy(f.a);
}

// A set reaches into a part that the file, an entry of the catalogue or a default only names; the rest of the part stays.
static void sets_reach_into_named_parts(void **state)
{
    static const char *const sets[] = {
        "model.layers=16",
        "cluster.node.gpu.memory=64 GB",
        "cluster.node.gpu.peak.bf16=300 TFLOP/s",
        "cluster.node.nic.rate=100 Gb/s",
        "cluster.fabric.switch.ports=64",
        "network.collectives.ring.ll.base=7 us",
    };
    static const char file[] =
        "cluster: { node: dgx-a100, nodes: 2, fabric: { topology: single-switch, switch: "
        "qm8790 } }\nmodel: llama3-8b\n" BATCH;
    loaded f, plain;
    assert_true(loaded_read(&f, *state, file, sets, ARRAY_COUNT(sets)));
    assert_true(scenario_check(&f.s, true, &f.error));
    assert_true(loaded_read(&plain, *state, file, NULL, 0));
    assert_int_equal(f.s.model.layers, 16);
    assert_int_equal(plain.s.model.layers, 32);
    assert_int_equal(f.s.model.hidden, plain.s.model.hidden);
    assert_string_equal(f.s.model.name, plain.s.model.name);
    const gpu_def *gpu = &f.s.cluster.node.gpu, *plain_gpu = &plain.s.cluster.node.gpu;
    assert_int_equal(gpu->memory_bytes, 64000000000);
    assert_near(gpu->peak_flops[DTYPE_BF16], 300e12, 0);
    assert_near(gpu->peak_flops[DTYPE_FP16], plain_gpu->peak_flops[DTYPE_FP16], 0);
    assert_string_equal(gpu->name, plain_gpu->name);
    assert_near(f.s.cluster.node.nic.rate_Bps, 12.5e9, 1e-12);
    assert_int_equal(f.s.cluster.fabric.network_switch.ports, 64);
    assert_int_equal(f.s.cluster.fabric.network_switch.delay_ps,
                     plain.s.cluster.fabric.network_switch.delay_ps);
    assert_int_equal(f.s.network.collectives.ring[PROTOCOL_LL].base_ps, 7000000);
    assert_int_equal(f.s.network.collectives.ring[PROTOCOL_LL128].base_ps,
                     plain.s.network.collectives.ring[PROTOCOL_LL128].base_ps);
    arena_destroy(f.a);
    arena_destroy(plain.a);
}

// A name that is opened keeps its place in the file; a network that is set whole gets its default part all the same.
static void opened_names_keep_their_places(void **state)
{
    static const char *const sets[] = { "model.layers=16" };
    static const char *const whole[] = { "network.collectives.ring.ll.base=7 us",
                                         "network={ grain: messages }" };
    loaded f;
    assert_false(loaded_read(&f, *state, NODE "model: llama3-9b\n" BATCH, sets, ARRAY_COUNT(sets)));
    assert_string_equal(f.error.file, "s.yaml");
    assert_int_equal(f.error.line, 2);
    assert_int_equal(f.error.column, 8);
    assert_string_equal(f.error.message, "unknown model \"llama3-9b\"");
    arena_destroy(f.a);
    assert_true(loaded_read(&f, *state, NODE, whole, ARRAY_COUNT(whole)));
    assert_int_equal(f.s.network.grain, GRAIN_MESSAGES);
    assert_string_equal(f.s.network.collectives.name, "nccl-2.30");
    assert_int_not_equal(f.s.network.collectives.ring[PROTOCOL_LL].base_ps, 7000000);
    arena_destroy(f.a);
}

// Keys by themselves are checked, but neither that they are there nor that they agree.
static void what_is_not_complete_can_be_tried(void **state)
{
    static const char *const sets[] = { "plan.data=3" };
    static const char *const wrong[] = { "plan.data=-3" };
    loaded f;
    assert_true(loaded_read(&f, *state, NODE, NULL, 0)); // finds the catalogue
    scratch_write("s.yaml", "model: { heads: 7, hidden: 50 }\ntraining: { micro_batch: 3 }\n");
    assert_true(scenario_try(f.a, &f.parts, "s.yaml", sets, 1, &f.error));
    assert_false(scenario_try(f.a, &f.parts, "s.yaml", wrong, 1, &f.error));
    assert_string_equal(f.error.file, "--set");
    arena_destroy(f.a);
}

static void what_may_not_be_meant_is_said(void **state)
{
    loaded f;
    text_list said = { 0 };
    assert_true(loaded_read(&f, *state, NODE MODEL "training: { global_batch: 16, sequence_length: 128 }\n",
                            NULL, 0));
    assert_true(scenario_check(&f.s, true, &f.error));
    scenario_warnings(&f.s, f.a, &said);
    assert_int_equal(said.count, 0);
    arena_destroy(f.a);
    assert_true(loaded_read(&f, *state,
                            NODE MODEL "plan: { recompute: selective }\n"
                                       "training: { global_batch: 16, sequence_length: 129 }\n",
                            NULL, 0));
    assert_true(scenario_check(&f.s, true, &f.error));
    scenario_warnings(&f.s, f.a, &said);
    assert_int_equal(said.count, 2);
    assert_string_equal(said.items[0],
                        "sequence_length 129 is more than the 128 tokens that wee was made for");
    assert_string_equal(said.items[1],
                        "recompute: selective recomputes nothing beside attention: flash, which keeps "
                        "nothing that could be");
    arena_destroy(f.a);
    said = (text_list){ 0 };
    assert_true(loaded_read(&f, *state, NODE, NULL, 0)); // no model: nothing to say
    scenario_warnings(&f.s, f.a, &said);
    assert_int_equal(said.count, 0);
    arena_destroy(f.a);
}

static void a_set_is_refused_where_it_stands(void **state)
{
    static const char *const sets[] = { "plan={ data: 5 }" };
    loaded f;
    assert_true(loaded_read(&f, *state, NODE MODEL BATCH, sets, ARRAY_COUNT(sets)));
    assert_false(scenario_check(&f.s, true, &f.error));
    assert_error_prints(&f.error,
                        "--set:1:8: error: tensor 1 x pipeline 1 x data 5 = 5, but the cluster has 8 GPUs\n"
                        "    1 | plan={ data: 5 }\n"
                        "      |        ^\n"
                        "  hint: data: 8, or gpus: 5\n");
    arena_destroy(f.a);
}

// The words of a protocol, and of an algorithm, are "auto" and those of the library, in its order.
static void protocols_are_those_of_the_library(void **state)
{
    for (int i = PROTOCOL_AUTO; i < PROTOCOLS; i++) {
        char set[64];
        snprintf(set, sizeof set, "network.protocol=%s",
                 i == PROTOCOL_AUTO ? "auto" : collective_protocol_words[i]);
        const char *const sets[] = { set };
        loaded f;
        assert_true(loaded_read(&f, *state, NODE, sets, 1));
        assert_int_equal(f.s.network.protocol - 1, i);
        arena_destroy(f.a);
    }
    for (int i = ALGORITHM_AUTO; i < ALGORITHMS; i++) {
        char set[64];
        snprintf(set, sizeof set, "network.algorithm=%s",
                 i == ALGORITHM_AUTO ? "auto" : collective_algorithm_words[i]);
        const char *const sets[] = { set, "cluster.fabric.sharp=true" };
        const bool lone = i == ALGORITHM_SEND_RECV || i == ALGORITHM_PAIRWISE; // these cannot be forced
        loaded f;
        assert_int_equal(
            loaded_read(&f, *state,
                        "cluster: { node: dgx-h100, nodes: 2, fabric: { topology: single-switch, "
                        "switch: qm9700 } }\n",
                        sets, 2),
            !lone);
        if (!lone) {
            assert_true(scenario_check(&f.s, false, &f.error));
            assert_int_equal(scenario_forced_algorithm(&f.s), i);
        }
        arena_destroy(f.a);
    }
}

// Read again, the resolved text resolves to itself: nothing was lost, nothing is left to a default or to the catalogue.
static void the_resolved_text_is_a_fixed_point(void **state)
{
    static const char *const sets[] = { "run.seed=12345678901234567",
                                        "plan.sharding=zero-1",
                                        "plan.rank_file=ranks.csv",
                                        "plan.gpus=2",
                                        "plan.layers=[6]",
                                        "plan.rank_order=pp-dp-tp" };
    scratch_write("ranks.csv", "rank,node,gpu\n1,0,4\n0,1,3\n");
    loaded f, again;
    assert_true(
        loaded_read(&f, *state,
                    "cluster: { node: dgx-a100, nodes: 2, fabric: { topology: single-switch, switch: qm8790, "
                    "cable: 31 m } }\n" MODEL BATCH,
                    sets, ARRAY_COUNT(sets)));
    assert_true(scenario_check(&f.s, true, &f.error));
    const char *text = scenario_resolved(&f.s, f.a, &f.error);
    assert_non_null(text);
    assert_true(loaded_read(&again, *state, text, NULL, 0));
    assert_true(scenario_check(&again.s, true, &again.error));
    assert_string_equal(scenario_resolved(&again.s, again.a, &again.error), text);
    assert_int_equal(again.s.run.seed, 12345678901234567);
    assert_int_equal(again.s.plan.data, 2);
    assert_int_equal(again.s.plan.ranks.items[0].gpu, 4);
    assert_int_equal(again.s.plan.virtual_layers[0], 6);
    assert_int_equal(again.s.plan.order[0], AXIS_PIPELINE);
    assert_int_equal(again.s.plan.sharding, SHARDING_ZERO_1);
    assert_near(again.s.cluster.fabric.cable_m.items[0], 31, 0);
    assert_memory_equal(again.s.network.collectives.ring, f.s.network.collectives.ring,
                        sizeof f.s.network.collectives.ring);
    assert_memory_equal(again.s.cluster.node.gpu.peak_flops, f.s.cluster.node.gpu.peak_flops,
                        sizeof f.s.cluster.node.gpu.peak_flops);
    arena_destroy(f.a);
    arena_destroy(again.a);
}

int main(void)
{
    struct CMUnitTest tests[ARRAY_COUNT(refusals) + 10];
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_COUNT(refusals); i++)
        tests[n++] = (struct CMUnitTest){ refusals[i].name, refusal_prints, NULL, NULL,
                                          (void *)&refusals[i] };
#define IN_SCRATCH(test_)                                                                                    \
    (struct CMUnitTest) cmocka_unit_test_setup_teardown(test_, scratch_enter, scratch_leave)
    tests[n++] = IN_SCRATCH(what_follows_is_filled);
    tests[n++] = IN_SCRATCH(settings_of_kernels_and_memory_are_the_scenario_s);
    tests[n++] = IN_SCRATCH(sets_override);
    tests[n++] = IN_SCRATCH(sets_reach_into_named_parts);
    tests[n++] = IN_SCRATCH(opened_names_keep_their_places);
    tests[n++] = IN_SCRATCH(what_is_not_complete_can_be_tried);
    tests[n++] = IN_SCRATCH(what_may_not_be_meant_is_said);
    tests[n++] = IN_SCRATCH(a_set_is_refused_where_it_stands);
    tests[n++] = IN_SCRATCH(protocols_are_those_of_the_library);
    tests[n++] = IN_SCRATCH(the_resolved_text_is_a_fixed_point);
    SIM_ASSERT(n == ARRAY_COUNT(tests));
    return cmocka_run_group_tests_name("scenario", tests, NULL, NULL);
}
