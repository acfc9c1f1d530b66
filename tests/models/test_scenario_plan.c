// SPDX-License-Identifier: GPL-3.0-or-later
// The plan of a scenario: models/scenario_check_plan.c, and how the modules of training/ are told.
#include "tests/support/scratch.h"

#include "sim/array.h"
#include "tests/support/loaded.h"
#include "tests/support/text.h"

#define MODEL                                                                                                \
    "model: { name: wee, layers: 6, hidden: 64, heads: 8, kv_heads: 4, ffn: 96, vocabulary: 100,\n"          \
    "  max_sequence: 128, activation: gelu, norm: layernorm, position: rope }\n"
#define NODE "cluster: { node: dgx-a100 }\n"
#define BATCH "training: { global_batch: 16 }\n"

struct refusal {
    const char *name, *text, *want;
};
static const struct refusal refusals[] = {
    { "tensor does not divide the heads", NODE MODEL "plan: { tensor: 3 }\n" BATCH,
      "s.yaml:4:9: error: tensor 3 does not divide the 8 attention heads of wee\n"
      "    4 | plan: { tensor: 3 }\n"
      "      |         ^\n"
      "  hint: tensor: 2\n" },
    { "tensor does not divide the key/value heads", NODE MODEL "plan: { tensor: 8 }\n" BATCH,
      "s.yaml:4:9: error: tensor 8 does not divide the 4 key/value heads of wee\n"
      "    4 | plan: { tensor: 8 }\n"
      "      |         ^\n"
      "  hint: tensor: 4\n" },
    { "tensor does not divide the feed-forward layer",
      NODE "model: { name: odd, layers: 6, hidden: 64, heads: 8, ffn: 99, vocabulary: 100,\n"
           "  max_sequence: 128, activation: gelu, norm: layernorm, position: rope }\n"
           "plan: { tensor: 4 }\n" BATCH,
      "s.yaml:4:9: error: tensor 4 does not divide the 99 columns of the feed-forward layer of odd\n"
      "    4 | plan: { tensor: 4 }\n"
      "      |         ^\n"
      "  hint: tensor: 1\n" },
    { "tensor and pipeline leave a rest", NODE MODEL "plan: { tensor: 2, pipeline: 3 }\n" BATCH,
      "s.yaml:4:9: error: tensor 2 x pipeline 3 = 6 does not divide 8 GPUs\n"
      "    4 | plan: { tensor: 2, pipeline: 3 }\n"
      "      |         ^\n"
      "  hint: pipeline: 2\n" },
    { "tensor is far too large", NODE MODEL "plan: { tensor: 4294967295 }\n" BATCH,
      "s.yaml:4:9: error: tensor 4294967295 does not divide the 8 attention heads of wee\n"
      "    4 | plan: { tensor: 4294967295 }\n"
      "      |         ^\n"
      "  hint: tensor: 4\n" },
    { "pipeline does not divide the layers", NODE MODEL "plan: { pipeline: 4 }\n" BATCH,
      "s.yaml:4:9: error: 6 layers cannot be split evenly over 4 stages\n"
      "    4 | plan: { pipeline: 4 }\n"
      "      |         ^\n"
      "  hint: the nearest is 2 stages, or the split uneven\n" },
    { "more stages than layers", NODE MODEL "plan: { pipeline: 8, layer_split: uneven }\n" BATCH,
      "s.yaml:4:9: error: 6 layers cannot be spread over 8 stages\n"
      "    4 | plan: { pipeline: 8, layer_split: uneven }\n"
      "      |         ^\n"
      "  hint: the nearest is 4 stages\n" },
    { "chunks do not divide the layers",
      NODE MODEL "plan: { pipeline: 2, schedule: interleaved-1f1b, virtual_stages: 2 }\n" BATCH,
      "s.yaml:4:50: error: 6 layers cannot be split evenly over 2 stages of 2 chunks\n"
      "    4 | plan: { pipeline: 2, schedule: interleaved-1f1b, virtual_stages: 2 }\n"
      "      |                                                  ^\n"
      "  hint: the nearest is the split uneven\n" },
    { "a list of layers with a rest", NODE MODEL "plan: { pipeline: 2, layers: [4, 3] }\n" BATCH,
      "s.yaml:4:22: error: the list of layers has 7, but the model has 6\n"
      "    4 | plan: { pipeline: 2, layers: [4, 3] }\n"
      "      |                      ^\n"
      "  hint: the nearest has 2 in the last place\n" },
    { "layers by word and by list",
      NODE MODEL "plan: { pipeline: 2, layer_split: even, layers: [3, 3] }\n" BATCH,
      "s.yaml:4:41: error: the layers are split twice: by layer_split and by layers\n"
      "    4 | plan: { pipeline: 2, layer_split: even, layers: [3, 3] }\n"
      "      |                                         ^\n"
      "  hint: leave one of them out\n" },
    { "half a layer", NODE MODEL "plan: { pipeline: 2, layers: [3.5, 2.5] }\n" BATCH,
      "s.yaml:4:31: error: 3.5 is no whole number\n"
      "    4 | plan: { pipeline: 2, layers: [3.5, 2.5] }\n"
      "      |                               ^\n" },
    { "chunks without a schedule for them", NODE MODEL "plan: { pipeline: 2, virtual_stages: 3 }\n" BATCH,
      "s.yaml:4:22: error: 1f1b has 1 virtual stage in each stage, not 3\n"
      "    4 | plan: { pipeline: 2, virtual_stages: 3 }\n"
      "      |                      ^\n"
      "  hint: the nearest is 1, or the schedule interleaved-1f1b\n" },
    { "an interleaved schedule without chunks",
      NODE MODEL "plan: { pipeline: 2, schedule: interleaved-1f1b }\n" BATCH,
      "s.yaml:4:22: error: interleaved-1f1b has at least 2 virtual stages in each stage, not 1\n"
      "    4 | plan: { pipeline: 2, schedule: interleaved-1f1b }\n"
      "      |                      ^\n"
      "  hint: the nearest is 2, or the schedule 1f1b\n" },
    { "more chunks than a schedule can have",
      NODE MODEL "plan: { pipeline: 2, schedule: interleaved-1f1b, virtual_stages: 1025 }\n" BATCH,
      "s.yaml:4:50: error: the virtual stages in a stage must be at most 1024, not 1025\n"
      "    4 | plan: { pipeline: 2, schedule: interleaved-1f1b, virtual_stages: 1025 }\n"
      "      |                                                  ^\n"
      "  hint: the nearest is 1024\n" },
    { "an interleaved schedule of one stage",
      NODE MODEL "plan: { schedule: interleaved-1f1b, virtual_stages: 3 }\n" BATCH,
      "s.yaml:4:9: error: the stages of an interleaved schedule must be at least 2, not 1\n"
      "    4 | plan: { schedule: interleaved-1f1b, virtual_stages: 3 }\n"
      "      |         ^\n"
      "  hint: schedule: 1f1b, or pipeline: 2\n" },
    { "micro-batches that do not fill an interleaved schedule",
      NODE MODEL "plan: { pipeline: 2, schedule: interleaved-1f1b, virtual_stages: 3 }\n"
                 "training: { global_batch: 12 }\n",
      "s.yaml:5:13: error: interleaved-1f1b wants micro-batches that are a multiple of the 2 stages, not 3\n"
      "    5 | training: { global_batch: 12 }\n"
      "      |             ^\n"
      "  hint: global_batch: 16\n" },
    { "fewer micro-batches than an interleaved schedule needs",
      NODE MODEL "plan: { pipeline: 2, schedule: interleaved-1f1b, virtual_stages: 3 }\n"
                 "training: { global_batch: 4 }\n",
      "s.yaml:5:13: error: interleaved-1f1b wants micro-batches that are a multiple of the 2 stages, not 1\n"
      "    5 | training: { global_batch: 4 }\n"
      "      |             ^\n"
      "  hint: global_batch: 8\n" },
    { "more passes than are played",
      NODE MODEL "plan: { pipeline: 8, layer_split: ends, data: 1 }\n"
                 "training: { global_batch: 300000 }\n",
      "s.yaml:5:13: error: the schedule has more than 4,194,304 passes\n"
      "    5 | training: { global_batch: 300000 }\n"
      "      |             ^\n"
      "  hint: with so many stages, at most 262,144 micro-batches\n" },
    { "tokens without a group", NODE MODEL "plan: { sequence_parallel: true }\n" BATCH,
      "s.yaml:4:9: error: sequence_parallel needs a tensor-parallel group\n"
      "    4 | plan: { sequence_parallel: true }\n"
      "      |         ^\n"
      "  hint: sequence_parallel: false, or tensor: 2\n" },
    { "tokens that a group cannot share out",
      NODE MODEL "plan: { tensor: 4, sequence_parallel: true }\n"
                 "training: { global_batch: 16, micro_batch: 2, sequence_length: 101 }\n",
      "s.yaml:4:20: error: sequence_parallel shares out the 202 tokens of a micro-batch, which tensor 4 does "
      "not divide\n"
      "    4 | plan: { tensor: 4, sequence_parallel: true }\n"
      "      |                    ^\n"
      "  hint: sequence_length: 102\n" },
    { "buffers without sequence parallelism", NODE MODEL "plan: { tensor: 2, user_buffers: true }\n" BATCH,
      "s.yaml:4:20: error: user_buffers are about the collectives of sequence_parallel, beside products\n"
      "    4 | plan: { tensor: 2, user_buffers: true }\n"
      "      |                    ^\n"
      "  hint: sequence_parallel: true\n" },
    { "buffers beside nothing",
      NODE MODEL
      "plan: { tensor: 2, sequence_parallel: true, overlap_tensor: false, user_buffers: true }\n" BATCH,
      "s.yaml:4:68: error: user_buffers are about the collectives of sequence_parallel, beside products\n"
      "    4 | plan: { tensor: 2, sequence_parallel: true, overlap_tensor: false, user_buffers: true }\n"
      "      |                                                                    ^\n"
      "  hint: overlap_tensor: true\n" },
    { "owners of nothing", NODE MODEL "plan: { owners_broadcast: true }\n" BATCH,
      "s.yaml:4:9: error: owners_broadcast is about the shares of zero-1\n"
      "    4 | plan: { owners_broadcast: true }\n"
      "      |         ^\n"
      "  hint: sharding: zero-1\n" },
    { "owners that wait for the next step",
      NODE MODEL "plan: { sharding: zero-1, owners_broadcast: true, overlap_parameters: true }\n" BATCH,
      "s.yaml:4:51: error: broadcasts of owners end the step they belong to\n"
      "    4 | plan: { sharding: zero-1, owners_broadcast: true, overlap_parameters: true }\n"
      "      |                                                   ^\n"
      "  hint: overlap_parameters: false\n" },
    { "parameters that nobody gathers", NODE MODEL "plan: { overlap_parameters: true }\n" BATCH,
      "s.yaml:4:9: error: overlap_parameters needs parameters that are gathered\n"
      "    4 | plan: { overlap_parameters: true }\n"
      "      |         ^\n"
      "  hint: overlap_parameters: false, or sharding: zero-1\n" },
    { "an order that leaves one out", NODE MODEL "plan: { rank_order: tp-dp }\n" BATCH,
      "s.yaml:4:9: error: rank_order must be tp, dp and pp in some order, not \"tp-dp\"\n"
      "    4 | plan: { rank_order: tp-dp }\n"
      "      |         ^\n"
      "  hint: did you mean \"tp-dp-pp\"?\n" },
    { "a placement that is none", NODE MODEL "plan: { placement: rond-robin }\n" BATCH,
      "s.yaml:4:20: error: plan.placement cannot be \"rond-robin\"\n"
      "    4 | plan: { placement: rond-robin }\n"
      "      |                    ^\n"
      "  hint: did you mean \"round-robin\"? One of: packed, round-robin\n" },
    { "ranks by word and by list", NODE MODEL "plan: { placement: packed, ranks: [] }\n" BATCH,
      "s.yaml:4:9: error: the ranks are placed twice: by placement and rank by rank\n"
      "    4 | plan: { placement: packed, ranks: [] }\n"
      "      |         ^\n"
      "  hint: leave one of them out\n" },
    { "no rank at all", NODE MODEL "plan: { ranks: [] }\n" BATCH,
      "s.yaml:4:9: error: no row has rank 0, and the job has ranks 0 to 7\n"
      "    4 | plan: { ranks: [] }\n"
      "      |         ^\n"
      "  hint: GPU 0 of node 0 is free\n" },
    { "a file of ranks that is no name", NODE MODEL "plan: { rank_file: [a] }\n" BATCH,
      "s.yaml:4:20: error: plan.rank_file must be the name of a file\n"
      "    4 | plan: { rank_file: [a] }\n"
      "      |                    ^\n"
      "  hint: rank_file: ranks.csv, with the columns rank, node, gpu\n" },
    { "a file of ranks and a list", NODE MODEL "plan: { rank_file: a.csv, ranks: [] }\n" BATCH,
      "s.yaml:4:20: error: the ranks are given twice: by rank_file and by ranks\n"
      "    4 | plan: { rank_file: a.csv, ranks: [] }\n"
      "      |                    ^\n"
      "  hint: leave one of them out\n" },
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

// ---- a file of ranks is refused where it is wrong, in the file

struct file_refusal {
    const char *name, *rows, *want;
};
static const struct file_refusal file_refusals[] = {
    { "no number", "0,0,1\n1,0,x\n",
      "ranks.csv:3:5: error: \"x\" is not a number\n"
      "    3 | 1,0,x\n"
      "      |     ^\n"
      "  hint: a whole number is written like \"12\"\n" },
    { "a rank beyond the last", "2,0,0\n",
      "ranks.csv:2:1: error: rank 2 is not there: the job has ranks 0 to 1\n"
      "    2 | 2,0,0\n"
      "      | ^\n"
      "  hint: the nearest is rank 1\n" },
    { "a node beyond the last", "0,0,0\n1, 1,0\n",
      "ranks.csv:3:4: error: the job has no GPUs on node 1\n"
      "    3 | 1, 1,0\n"
      "      |    ^\n"
      "  hint: the nearest that has is node 0\n" },
    { "a GPU beyond the last", "0,0,8\n",
      "ranks.csv:2:5: error: GPU 8 is not there: node 0 has GPUs 0 to 7\n"
      "    2 | 0,0,8\n"
      "      |     ^\n"
      "  hint: the nearest is GPU 7\n" },
    { "a rank twice", "0,0,0\n0,0,1\n",
      "ranks.csv:3:1: error: rank 0 is on GPU 0 of node 0 already\n"
      "    3 | 0,0,1\n"
      "      | ^\n"
      "  hint: no row has rank 1\n" },
    { "a GPU twice", "1,0,7\n0,0,7\n",
      "ranks.csv:3:5: error: ranks 1 and 0 are both on GPU 7 of node 0\n"
      "    3 | 0,0,7\n"
      "      |     ^\n"
      "  hint: GPU 6 of node 0 is free\n" },
    { "a gap", "1,0,0\n",
      "s.yaml:4:18: error: no row has rank 0, and the job has ranks 0 to 1\n"
      "    4 | plan: { gpus: 2, rank_file: ranks.csv }\n"
      "      |                  ^\n"
      "  hint: GPU 1 of node 0 is free\n" },
};

static void file_refusal_prints(void **state)
{
    const struct file_refusal *c = *state;
    void *folder = NULL;
    char text[256];
    loaded f;
    assert_int_equal(scratch_enter(&folder), 0);
    snprintf(text, sizeof text, "rank,node,gpu\n%s", c->rows);
    scratch_write("ranks.csv", text);
    const bool good = loaded_read(&f, folder, NODE MODEL "plan: { gpus: 2, rank_file: ranks.csv }\n" BATCH,
                                  NULL, 0) &&
                      scenario_check(&f.s, true, &f.error);
    assert_false(good);
    assert_int_equal(f.error.exit_code, SIM_EXIT_INPUT);
    assert_error_prints(&f.error, c->want);
    arena_destroy(f.a);
    assert_int_equal(scratch_leave(&folder), 0);
}

// ---- what is said, what is read

// Of a plan and the number of nodes: what is said, "" for nothing. Tensor and pipeline parallelism are refused last, by
// what this version does not play, so that everything else has been filled.
struct warning_case {
    const char *name, *cluster, *plan, *want;
};
#define NODES_OF(nodes_)                                                                                     \
    "cluster: { node: dgx-a100, nodes: " nodes_ ", fabric: { topology: single-switch, switch: qm8790 } }\n"
static const struct warning_case warnings[] = {
    { "defaults, written out", NODE,
      "plan: { schedule: 1f1b, virtual_stages: 1, layer_split: even, overlap_pipeline: true, overlap_tensor: "
      "true,\n"
      "  scatter_gather: true, sequence_parallel: false, overlap_parameters: false, rank_order: tp-dp-pp, "
      "placement: packed }\n",
      "" },
    { "gpipe alone", NODE, "plan: { schedule: gpipe }\n",
      "schedule: gpipe changes nothing with pipeline: 1" },
    { "a split of one", NODE, "plan: { layer_split: ends }\n",
      "layer_split changes nothing with pipeline: 1" },
    { "a list of one", NODE, "plan: { layers: 6 }\n", "layers changes nothing with pipeline: 1" },
    { "no sends", NODE, "plan: { overlap_pipeline: false }\n",
      "overlap_pipeline: false changes nothing with pipeline: 1" },
    { "no group", NODE, "plan: { overlap_tensor: false }\n",
      "overlap_tensor: false changes nothing with tensor: 1" },
    { "no group that sends", NODE, "plan: { tensor: 4, scatter_gather: false }\n",
      "scatter_gather: false changes nothing unless tensor and pipeline are above 1" },
    { "a group that shares out", NODE,
      "plan: { tensor: 4, pipeline: 2, sequence_parallel: true, scatter_gather: false }\n",
      "scatter_gather: false changes nothing with sequence_parallel, whose activations are shared out" },
    { "a group that sends", NODE, "plan: { tensor: 4, pipeline: 2, scatter_gather: false }\n", "" },
    { "one replica", NODE, "plan: { gpus: 1, sharding: zero-1, overlap_parameters: true }\n",
      "overlap_parameters changes nothing with data: 1" },
    { "one axis", NODE, "plan: { rank_order: dp-tp-pp }\n",
      "rank_order changes nothing unless two of tensor, data and pipeline are above 1" },
    { "two axes", NODE, "plan: { tensor: 2, rank_order: dp-tp-pp }\n", "" },
    { "round-robin at home", NODE, "plan: { placement: round-robin }\n",
      "placement: round-robin changes nothing on one node" },
    { "round-robin over two nodes", NODES_OF("2"), "plan: { placement: round-robin }\n", "" },
    { "a group that fits", NODES_OF("2"), "plan: { tensor: 4 }\n", "" },
    // rank 1 is on node 1
    { "a torn group", NODES_OF("2"), "plan: { tensor: 4, placement: round-robin }\n",
      "tensor 4 spans nodes: the group of rank 0 begins on node 0 and goes on on node 1, so each layer's "
      "collectives cross the network between them" },
    // 4 replicas innermost: the group of rank 0 is ranks 0, 4, 8, 12
    { "a group of strangers", NODES_OF("2"), "plan: { tensor: 4, rank_order: dp-tp-pp }\n",
      "tensor 4 spans nodes: the group of rank 0 begins on node 0 and goes on on node 1, so each layer's "
      "collectives cross the network between them" },
};

static void warning_is_said(void **state)
{
    const struct warning_case *c = *state;
    void *folder = NULL;
    char text[2048];
    loaded f;
    text_list said = { 0 };
    assert_int_equal(scratch_enter(&folder), 0);
    snprintf(text, sizeof text, "%s%s%straining: { global_batch: 32 }\n", c->cluster, MODEL, c->plan);
    assert_true(loaded_read(&f, folder, text, NULL, 0));
    assert_true(scenario_check(&f.s, true, &f.error));
    scenario_warnings(&f.s, f.a, &said);
    assert_int_equal(said.count, *c->want ? 1 : 0);
    if (*c->want) assert_string_equal(said.items[0], c->want);
    arena_destroy(f.a);
    assert_int_equal(scratch_leave(&folder), 0);
}

// A plan as the modules of training/ want it.
static void a_plan_is_read(void **state)
{
    loaded f;
    scratch_write("ranks.csv", "node,gpu,rank\n0,3,1\n0,5,0\n0,0,2\n0,1,3\n0,2,4\n0,4,5\n0,7,6\n0,6,7\n");
    assert_true(loaded_read(&f, *state,
                            NODE MODEL
                            "plan: { tensor: 2, pipeline: 2, schedule: interleaved-1f1b, virtual_stages: 2,\n"
                            "  layers: [0, 3, 2, 1], sequence_parallel: true, rank_order: dp-pp-tp,\n"
                            "  rank_file: ranks.csv }\n" BATCH,
                            NULL, 0));
    assert_true(scenario_check(&f.s, true, &f.error));
    const parallel_sizes sizes = scenario_sizes(&f.s);
    assert_int_equal(parallel_ranks(sizes), 8);
    assert_int_equal(sizes.data, 2);
    assert_int_equal(parallel_place_of(sizes, 1).data, 1);
    assert_int_equal(parallel_place_of(sizes, 2).pipeline, 1);
    const schedule_def order = scenario_schedule(&f.s);
    assert_int_equal(order.kind, SCHEDULE_INTERLEAVED_1F1B);
    assert_int_equal(order.stages, 2);
    assert_int_equal(order.chunks, 2);
    assert_int_equal(order.micro_batches, 8);
    const stages_def stages = scenario_stages(&f.s);
    const stage_table table = stages_build(f.a, &stages);
    assert_int_equal(stage_layers(&table, 0), 2); // 0 + 2
    assert_int_equal(stage_layers(&table, 1), 4); // 3 + 1
    const placement_def placement = scenario_placement(&f.s, f.a);
    const gpu_id *gpus = placement_build(f.a, &placement);
    static const gpu_id want[] = { 5, 3, 0, 1, 2, 4, 7, 6 };
    assert_memory_equal(gpus, want, sizeof want);
    assert_true(scenario_kernel_settings(&f.s).sequence_parallel);
    assert_int_equal(scenario_gpus_together(&f.s), 8);
    assert_int_equal(f.s.document.included.count, 1); // so that no output replaces it
    assert_string_equal(f.s.document.included.items[0], "ranks.csv");
    arena_destroy(f.a);
}

// One stage does each micro-batch forwards and backwards in turn, whatever orders several.
static void one_stage_has_no_schedule(void **state)
{
    loaded f;
    assert_true(loaded_read(&f, *state, NODE MODEL "plan: { schedule: gpipe }\n" BATCH, NULL, 0));
    assert_true(scenario_check(&f.s, true, &f.error));
    assert_int_equal(scenario_schedule(&f.s).kind, SCHEDULE_1F1B);
    assert_int_equal(scenario_stages(&f.s).split, SPLIT_EVEN);
    arena_destroy(f.a);
}

// Nodes without GPUs keep their number; nodes of a rack share their switches.
static void bare_nodes_hold_no_ranks(void **state)
{
    loaded f;
    assert_true(loaded_read(
        &f, *state,
        "cluster:\n"
        "  nodes:\n"
        "  - { node: { name: bare, gpus: 0, nics: 1, nic: connectx-6, nic_pcie_rate: 20 GB/s } }\n"
        "  - { node: { base: dgx-a100, scale_up: { domain_nodes: 2 } }, count: 2 }\n"
        "  fabric: { topology: single-switch, switch: qm8790 }\n" MODEL
        "plan: { ranks: [{ rank: 0, node: 2, gpu: 3 }, { rank: 1, node: 1, gpu: 4 }], gpus: 2 }\n" BATCH,
        NULL, 0));
    assert_true(scenario_check(&f.s, true, &f.error));
    const placement_def placement = scenario_placement(&f.s, f.a);
    const gpu_id *gpus = placement_build(f.a, &placement);
    assert_int_equal(gpus[0], 11);
    assert_int_equal(gpus[1], 4);
    assert_int_equal(scenario_gpus_together(&f.s), 16);
    arena_destroy(f.a);
}

int main(void)
{
    struct CMUnitTest tests[ARRAY_COUNT(refusals) + ARRAY_COUNT(file_refusals) + ARRAY_COUNT(warnings) + 3];
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_COUNT(refusals); i++)
        tests[n++] = (struct CMUnitTest){ refusals[i].name, refusal_prints, NULL, NULL,
                                          (void *)&refusals[i] };
    for (size_t i = 0; i < ARRAY_COUNT(file_refusals); i++)
        tests[n++] = (struct CMUnitTest){ file_refusals[i].name, file_refusal_prints, NULL, NULL,
                                          (void *)&file_refusals[i] };
    for (size_t i = 0; i < ARRAY_COUNT(warnings); i++)
        tests[n++] = (struct CMUnitTest){ warnings[i].name, warning_is_said, NULL, NULL,
                                          (void *)&warnings[i] };
#define IN_SCRATCH(test_)                                                                                    \
    (struct CMUnitTest) cmocka_unit_test_setup_teardown(test_, scratch_enter, scratch_leave)
    tests[n++] = IN_SCRATCH(a_plan_is_read);
    tests[n++] = IN_SCRATCH(one_stage_has_no_schedule);
    tests[n++] = IN_SCRATCH(bare_nodes_hold_no_ranks);
    return cmocka_run_group_tests_name("scenario_plan", tests, NULL, NULL);
}
