// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/law/plan_maker.h"
#include "sim/check.h"
#include "tests/support/random.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

// ---- what there is to choose from

typedef struct knob_def {
    const char *name;
    uint32_t percent; // of the scenarios turn it at all
    uint32_t count;
    uint32_t numbers[10]; // the first is the plainest
} knob_def;

static const struct {
    const char *name, *fabric_switch;
    uint32_t gpus, nics;
} nodes[] = { { "dgx-h100", "qm9700", 8, 8 },
              { "dgx-a100", "qm8700", 8, 8 },
              { "a100-4x", "qm8790", 4, 4 },
              { "rtx4090-4x", "qm8790-hdr100", 4, 1 },
              { "dgx-2", "sn2700", 16, 8 } };

static const char *const fabrics[] = { "topology: single-switch",
                                       "topology: fat-tree",
                                       "topology: fat-tree, oversubscription: 2",
                                       "topology: fat-tree, tiers: 2",
                                       "topology: spine-leaf, leaves: 2, spines: 2, uplinks: 4",
                                       "topology: rail-optimized",
                                       "topology: rail-only" };
static const char *const routings[] = { "static", "ecmp", "adaptive" };
static const char *const activations[] = { "gelu", "swiglu" };
static const char *const norms[] = { "layernorm", "rmsnorm" };
static const char *const positions[] = { "learned", "rope", "none" };
static const char *const shardings[] = { "none", "zero-1", "zero-3" };
static const char *const recomputes[] = { "none", "selective", "full" };
static const char *const schedules[] = { "1f1b", "gpipe", "interleaved-1f1b" };
static const char *const splits[] = { "even", "uneven", "ends" };
static const char *const orders[] = {
    "tp-dp-pp", "tp-pp-dp", "dp-tp-pp", "dp-pp-tp", "pp-tp-dp", "pp-dp-tp"
};
static const char *const precisions[] = { "fp16", "bf16", "fp32", "fp8" };
static const char *const gradient_types[] = { "fp32", "bf16", "fp16" };
static const char *const codings[] = { "",
                                       "", // cast
                                       "{ method: powersgd, rank: 3 }",
                                       "{ method: top-k, ratio: 0.02 }",
                                       "{ method: quantize, block: 300 }",
                                       "{ method: quantize, bits: 4 }" };
enum { CODED_BY_CAST = 1 };
static const char *const grains[] = { "streams", "messages" };
static const char *const protocols[] = { "auto", "simple", "ll128", "ll" };
static const char *const algorithms[] = { "auto", "ring", "nvls", "tree", "hierarchical", "recursive" };
static const char *const windows[] = { "0", "0.01", "0.2" };
enum {
    SPLIT_BY_LIST = 3,
    PLACED_ROUND_ROBIN = 1,
    PLACED_BY_LIST,
    PLACED_BY_FILE,
    PLACED_WRONGLY,
    INTERLEAVED = 2
};

static const knob_def knobs[KNOBS] = {
    [KNOB_NODE] = { "node", 75, 5, { 0, 1, 2, 3, 4 } },
    [KNOB_NODES] = { "nodes", 75, 8, { 1, 2, 3, 4, 5, 6, 7, 8 } },
    [KNOB_NICS] = { "nics", 15, 2, { 0, 1 } },
    [KNOB_FABRIC] = { "fabric", 70, 7, { 0, 1, 2, 3, 4, 5, 6 } },
    [KNOB_ROUTING] = { "routing", 40, 3, { 0, 1, 2 } },
    [KNOB_QUEUE_PAIRS] = { "queue pairs", 15, 3, { 1, 2, 4 } },
    [KNOB_DEGRADED] = { "degraded parts", 25, 4, { 0, 1, 2, 3 } },
    [KNOB_DEGRADED_SEED] = { "which parts", 90, 10, { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 } },
    [KNOB_LAYERS] = { "layers", 80, 8, { 2, 1, 3, 4, 6, 8, 12, 16 } },
    [KNOB_HEADS] = { "heads", 70, 5, { 8, 2, 4, 12, 16 } },
    [KNOB_KV_HEADS] = { "heads of a key", 40, 4, { 1, 2, 4, 8 } },
    [KNOB_HEAD_SIZE] = { "head size", 50, 5, { 64, 16, 40, 108, 128 } },
    [KNOB_FFN] = { "ffn", 50, 5, { 1024, 96, 1000, 2048, 4096 } },
    [KNOB_VOCABULARY] = { "vocabulary", 50, 4, { 1000, 129, 32000, 250880 } },
    [KNOB_SEQUENCE] = { "sequence", 60, 5, { 64, 17, 128, 512, 2048 } },
    [KNOB_ACTIVATION] = { "activation", 50, 2, { 0, 1 } },
    [KNOB_NORM] = { "norm", 50, 2, { 0, 1 } },
    [KNOB_POSITION] = { "position", 50, 3, { 0, 1, 2 } },
    [KNOB_TIED] = { "tied", 40, 2, { 0, 1 } },
    [KNOB_BIAS] = { "bias", 40, 2, { 0, 1 } },
    [KNOB_DROPOUT] = { "dropout", 30, 2, { 0, 1 } },
    [KNOB_TENSOR] = { "tensor", 75, 6, { 1, 2, 4, 8, 16, 3 } },
    [KNOB_PIPELINE] = { "pipeline", 75, 8, { 1, 2, 4, 3, 6, 8, 5, 12 } },
    [KNOB_DATA] = { "data", 8, 6, { 0, 1, 2, 3, 4, 8 } },
    [KNOB_GPUS] = { "gpus", 25, 10, { 0, 1, 2, 4, 6, 8, 12, 16, 24, 32 } },
    [KNOB_SHARDING] = { "sharding", 45, 2, { 0, 1 } },
    [KNOB_RECOMPUTE] = { "recompute", 40, 3, { 0, 1, 2 } },
    [KNOB_BUCKET] = { "bucket", 60, 5, { 160000000, 100000, 1234567, 6000000, 30000000 } },
    [KNOB_OVERLAP_GRADIENTS] = { "gradients not overlapped", 35, 2, { 0, 1 } },
    [KNOB_OVERLAP_PARAMETERS] = { "parameters overlapped", 30, 2, { 0, 1 } },
    [KNOB_SEQUENCE_PARALLEL] = { "sequence parallel", 45, 2, { 0, 1 } },
    [KNOB_OVERLAP_TENSOR] = { "tensor not overlapped", 35, 2, { 0, 1 } },
    [KNOB_SCHEDULE] = { "schedule", 60, 3, { 0, 1, 2 } },
    [KNOB_CHUNKS] = { "chunks", 50, 4, { 1, 2, 3, 4 } },
    [KNOB_SPLIT] = { "split", 40, 4, { 0, 1, 2, 3 } },
    [KNOB_SPLIT_SEED] = { "which split", 90, 10, { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 } },
    [KNOB_OVERLAP_PIPELINE] = { "pipeline not overlapped", 45, 2, { 0, 1 } },
    [KNOB_SCATTER_GATHER] = { "no scatter and gather", 35, 2, { 0, 1 } },
    [KNOB_ORDER] = { "order", 50, 6, { 0, 1, 2, 3, 4, 5 } },
    [KNOB_PLACEMENT] = { "placement", 45, 5, { 0, 1, 2, 3, 4 } },
    [KNOB_PLACEMENT_SEED] = { "which placement", 90, 10, { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 } },
    [KNOB_MICRO_BATCHES] = { "micro-batches", 80, 9, { 1, 2, 3, 4, 5, 6, 8, 12, 16 } },
    [KNOB_MICRO_BATCH] = { "micro-batch", 40, 4, { 1, 2, 3, 4 } },
    [KNOB_ODD_BATCH] = { "odd batch", 3, 2, { 0, 1 } },
    [KNOB_PRECISION] = { "precision", 30, 4, { 0, 1, 2, 3 } },
    [KNOB_GRADIENTS] = { "gradients", 30, 3, { 0, 1, 2 } },
    [KNOB_OPTIMIZER] = { "optimizer", 20, 2, { 0, 1 } },
    [KNOB_ATTENTION] = { "attention", 40, 2, { 0, 1 } },
    [KNOB_FUSED] = { "not fused", 30, 2, { 0, 1 } },
    [KNOB_ENGINE] = { "ideal network", 35, 2, { 0, 1 } },
    [KNOB_WINDOW] = { "completion window", 8, 3, { 0, 1, 2 } },
    [KNOB_COUNT] = { "bottleneck count", 8, 2, { 0, 1 } },
    [KNOB_GRAIN] = { "grain", 25, 2, { 0, 1 } },
    [KNOB_PROTOCOL] = { "protocol", 50, 4, { 0, 1, 2, 3 } },
    [KNOB_ALGORITHM] = { "algorithm", 40, 6, { 0, 1, 2, 3, 4, 5 } },
    [KNOB_STEPS] = { "steps", 50, 2, { 1, 2 } },
    [KNOB_SEED] = { "seed", 20, 4, { 0, 1, 2, 3 } },
    [KNOB_CODING] = { "coding of gradients", 30, 6, { 0, 1, 2, 3, 4, 5 } },
};

uint32_t plan_plainest(knob k)
{
    return knobs[k].numbers[0];
}

const char *plan_knob_name(knob k)
{
    return knobs[k].name;
}

// ---- drawing

static uint32_t draw(uint64_t *random, knob k)
{
    const knob_def *def = &knobs[k];
    if (test_random_below(random, 100) >= def->percent) return def->numbers[0];
    return def->numbers[test_random_below(random, def->count)];
}

static uint32_t gpus_of(const made_plan *p)
{
    const uint32_t all = nodes[p->value[KNOB_NODE]].gpus * p->value[KNOB_NODES];
    return p->value[KNOB_GPUS] ? p->value[KNOB_GPUS] : all;
}

// The greatest number of the knob's choices that is at most `most` and divides n.
static uint32_t divisor_of(knob k, uint32_t n, uint32_t most)
{
    uint32_t best = 1;
    for (uint32_t i = 0; i < knobs[k].count; i++) {
        const uint32_t number = knobs[k].numbers[i];
        if (number > best && number <= most && n % number == 0) best = number;
    }
    return best;
}

// Makes what belongs together fit.
static void mend(made_plan *p)
{
    uint32_t *v = p->value;
    const uint32_t all = nodes[v[KNOB_NODE]].gpus * v[KNOB_NODES];
    if (v[KNOB_GPUS] > all) v[KNOB_GPUS] = 0;
    while (v[KNOB_HEADS] % v[KNOB_KV_HEADS] || v[KNOB_HEADS] == v[KNOB_KV_HEADS])
        v[KNOB_KV_HEADS] /= 2;
    const uint32_t keys = v[KNOB_HEADS] / v[KNOB_KV_HEADS];
    v[KNOB_TENSOR] = divisor_of(KNOB_TENSOR, keys, v[KNOB_TENSOR]);
    while (v[KNOB_FFN] % v[KNOB_TENSOR])
        v[KNOB_FFN] += 4;
    v[KNOB_TENSOR] = divisor_of(KNOB_TENSOR, gpus_of(p), v[KNOB_TENSOR]);
    while (keys % v[KNOB_TENSOR])
        v[KNOB_TENSOR] = divisor_of(KNOB_TENSOR, gpus_of(p), v[KNOB_TENSOR] - 1);
    v[KNOB_PIPELINE] = divisor_of(KNOB_PIPELINE, gpus_of(p) / v[KNOB_TENSOR], v[KNOB_PIPELINE]);
    v[KNOB_DATA] = 0;
    if (v[KNOB_PIPELINE] == 1 && v[KNOB_SCHEDULE] == INTERLEAVED) v[KNOB_SCHEDULE] = 0;
    if (v[KNOB_SCHEDULE] != INTERLEAVED) v[KNOB_CHUNKS] = 1;
    if (v[KNOB_SCHEDULE] == INTERLEAVED && v[KNOB_CHUNKS] == 1) v[KNOB_CHUNKS] = 2;
    const uint32_t places = v[KNOB_PIPELINE] * v[KNOB_CHUNKS];
    if (v[KNOB_SPLIT] == 0) v[KNOB_LAYERS] = (v[KNOB_LAYERS] + places - 1) / places * places;
    if (v[KNOB_SPLIT] == 2) v[KNOB_LAYERS] = (v[KNOB_LAYERS] + 2 + places - 1) / places * places - 2;
    if (v[KNOB_LAYERS] < places || v[KNOB_LAYERS] > 1000) v[KNOB_LAYERS] = places;
    if (v[KNOB_SPLIT] == 2 && (v[KNOB_LAYERS] + 2) % places) v[KNOB_SPLIT] = 0;
    if (v[KNOB_SCHEDULE] == INTERLEAVED)
        v[KNOB_MICRO_BATCHES] = (v[KNOB_MICRO_BATCHES] + v[KNOB_PIPELINE] - 1) / v[KNOB_PIPELINE] *
                                v[KNOB_PIPELINE];
    if (v[KNOB_TENSOR] == 1) v[KNOB_SEQUENCE_PARALLEL] = 0;
    if (v[KNOB_SEQUENCE_PARALLEL] && v[KNOB_SEQUENCE] == 17) v[KNOB_SEQUENCE] = 48;
    if (v[KNOB_SHARDING] == 0) v[KNOB_OVERLAP_PARAMETERS] = 0;
    if (v[KNOB_ENGINE]) v[KNOB_WINDOW] = v[KNOB_COUNT] = 0;
    if (v[KNOB_PRECISION] == 3) v[KNOB_PRECISION] = 0;
    if (v[KNOB_NODE] == 4 && v[KNOB_PRECISION] == 1) v[KNOB_PRECISION] = 0;
    if (v[KNOB_NODE] == 3) v[KNOB_NICS] = 0;
    if (v[KNOB_NODE] == 4 && v[KNOB_ROUTING] == 2) v[KNOB_ROUTING] = 0;
    if (v[KNOB_PLACEMENT] == PLACED_WRONGLY) v[KNOB_PLACEMENT] = PLACED_BY_LIST;
}

// Many small buckets, and messages between many, take minutes and show nothing new.
static void spare_time(made_plan *p)
{
    uint32_t *v = p->value;
    const uint64_t hidden = v[KNOB_HEADS] * v[KNOB_HEAD_SIZE];
    const uint64_t parameters = v[KNOB_LAYERS] * hidden * (4 * hidden + 3 * v[KNOB_FFN]) +
                                2 * hidden * v[KNOB_VOCABULARY];
    if (4 * parameters / v[KNOB_BUCKET] * gpus_of(p) > 2000) v[KNOB_BUCKET] = plan_plainest(KNOB_BUCKET);
    if (gpus_of(p) > 16) v[KNOB_GRAIN] = 0;
}

made_plan plan_make(uint64_t seed, uint64_t index)
{
    uint64_t random = seed * UINT64_C(1000003) + index;
    made_plan p;
    for (int k = 0; k < KNOBS; k++)
        p.value[k] = draw(&random, (knob)k);
    if (test_random_below(&random, 100) < 85) mend(&p);
    spare_time(&p);
    return p;
}

// ---- writing

static const char *truth(uint32_t turned, bool plain)
{
    return (turned != 0) != plain ? "true" : "false";
}

static void write_degraded(FILE *out, const made_plan *p)
{
    uint64_t random = p->value[KNOB_DEGRADED_SEED];
    if (p->value[KNOB_DEGRADED] == 0) return;
    fprintf(out, "  degraded:\n");
    for (uint32_t i = 0; i < p->value[KNOB_DEGRADED]; i++) {
        const uint32_t node = test_random_below(&random, p->value[KNOB_NODES]);
        const uint32_t gpu = test_random_below(&random, nodes[p->value[KNOB_NODE]].gpus);
        const uint32_t tenths = 1 + test_random_below(&random, 9);
        switch (test_random_below(&random, 4)) {
        case 0: fprintf(out, "    - { gpu: node %u gpu %u, clock: 0.%u }\n", node, gpu, tenths); break;
        case 1:
            fprintf(out, "    - { gpu: node %u gpu %u, clock: 0.9, memory: 0.%u }\n", node, gpu, tenths);
            break;
        case 2: fprintf(out, "    - { nic: node %u nic 0, rate: 0.%u }\n", node, tenths); break;
        case 3:
            fprintf(out, "    - { link: node %u gpu %u > node %u nvswitch 0, rate: 0.%u, both: %s }\n", node,
                    gpu, node, tenths, tenths % 2 ? "true" : "false");
            break;
        }
    }
}

static void write_cluster(FILE *out, const made_plan *p)
{
    const uint32_t *v = p->value;
    fprintf(out, "cluster:\n  node: { base: %s", nodes[v[KNOB_NODE]].name);
    if (v[KNOB_NICS]) fprintf(out, ", nics: %u", nodes[v[KNOB_NODE]].nics / 2);
    fprintf(out, " }\n  nodes: %u\n", v[KNOB_NODES]);
    if (v[KNOB_NODES] > 1) {
        fprintf(out, "  fabric: { %s, switch: %s", fabrics[v[KNOB_FABRIC]],
                nodes[v[KNOB_NODE]].fabric_switch);
        fprintf(out, ", routing: %s, queue_pairs: %u }\n", routings[v[KNOB_ROUTING]], v[KNOB_QUEUE_PAIRS]);
    }
    write_degraded(out, p);
}

static void write_model(FILE *out, const made_plan *p)
{
    const uint32_t *v = p->value;
    fprintf(
        out,
        "model:\n  { name: made, layers: %u, hidden: %u, heads: %u, kv_heads: %u, head_size: %u, ffn: %u,\n"
        "    vocabulary: %u, max_sequence: %u, activation: %s, norm: %s, position: %s,\n"
        "    tied_embeddings: %s, bias: %s, dropout: %s }\n",
        v[KNOB_LAYERS], v[KNOB_HEADS] * v[KNOB_HEAD_SIZE], v[KNOB_HEADS], v[KNOB_HEADS] / v[KNOB_KV_HEADS],
        v[KNOB_HEAD_SIZE], v[KNOB_FFN], v[KNOB_VOCABULARY], v[KNOB_SEQUENCE], activations[v[KNOB_ACTIVATION]],
        norms[v[KNOB_NORM]], positions[v[KNOB_POSITION]], truth(v[KNOB_TIED], false),
        truth(v[KNOB_BIAS], false), truth(v[KNOB_DROPOUT], false));
}

// As many layers as there are, of which only the first and the last place may have none.
static void write_layers(FILE *out, const made_plan *p)
{
    const uint32_t places = p->value[KNOB_PIPELINE] * p->value[KNOB_CHUNKS];
    uint64_t random = p->value[KNOB_SPLIT_SEED];
    uint32_t counts[64] = { 0 };
    SIM_ASSERT(places <= 64);
    uint32_t left = p->value[KNOB_LAYERS];
    for (uint32_t i = 0; i < places && left > 0; i++) {
        if (i == 0 && places > 2 && p->value[KNOB_SPLIT_SEED] % 2) continue;
        counts[i]++;
        left--;
    }
    for (; left > 0; left--)
        counts[test_random_below(&random, places)]++;
    fprintf(out, "  layers: [");
    for (uint32_t i = 0; i < places; i++)
        fprintf(out, "%s%u", i ? ", " : "", counts[i]);
    fprintf(out, "]\n");
}

// Ranks on GPUs that were shuffled; wrongly placed are two on one GPU.
static bool write_ranks(FILE *out, const made_plan *p)
{
    enum { GPUS_MAX = 8 * 16 };
    const uint32_t here = nodes[p->value[KNOB_NODE]].gpus, all = here * p->value[KNOB_NODES];
    const uint32_t placement = p->value[KNOB_PLACEMENT];
    uint64_t random = p->value[KNOB_PLACEMENT_SEED];
    uint32_t places[GPUS_MAX];
    SIM_ASSERT(all <= GPUS_MAX);
    for (uint32_t i = 0; i < all; i++) {
        const uint32_t j = test_random_below(&random, i + 1);
        places[i] = places[j];
        places[j] = i;
    }
    const uint32_t ranks = gpus_of(p) < all ? gpus_of(p) : all;
    if (placement == PLACED_WRONGLY) places[ranks - 1] = places[0];
    FILE *file = placement == PLACED_BY_FILE ? fopen("ranks.csv", "w") : out;
    if (!file) return false;
    fprintf(file, placement == PLACED_BY_FILE ? "rank,node,gpu\n" : "  ranks:\n");
    for (uint32_t r = 0; r < ranks; r++)
        fprintf(file, placement == PLACED_BY_FILE ? "%u,%u,%u\n" : "    - { rank: %u, node: %u, gpu: %u }\n",
                r, places[r] / here, places[r] % here);
    if (file == out) return true;
    fprintf(out, "  rank_file: ranks.csv\n");
    return fclose(file) == 0;
}

static bool write_plan(FILE *out, const made_plan *p)
{
    const uint32_t *v = p->value;
    fprintf(out, "plan:\n  tensor: %u\n  pipeline: %u\n", v[KNOB_TENSOR], v[KNOB_PIPELINE]);
    if (v[KNOB_DATA]) fprintf(out, "  data: %u\n", v[KNOB_DATA]);
    if (v[KNOB_GPUS]) fprintf(out, "  gpus: %u\n", v[KNOB_GPUS]);
    fprintf(out, "  sharding: %s\n  recompute: %s\n  bucket: %u B\n", shardings[v[KNOB_SHARDING]],
            recomputes[v[KNOB_RECOMPUTE]], v[KNOB_BUCKET]);
    fprintf(
        out,
        "  overlap_gradients: %s\n  overlap_parameters: %s\n  sequence_parallel: %s\n  overlap_tensor: %s\n",
        truth(v[KNOB_OVERLAP_GRADIENTS], true), truth(v[KNOB_OVERLAP_PARAMETERS], false),
        truth(v[KNOB_SEQUENCE_PARALLEL], false), truth(v[KNOB_OVERLAP_TENSOR], true));
    fprintf(out, "  schedule: %s\n  virtual_stages: %u\n  overlap_pipeline: %s\n  scatter_gather: %s\n",
            schedules[v[KNOB_SCHEDULE]], v[KNOB_CHUNKS], truth(v[KNOB_OVERLAP_PIPELINE], true),
            truth(v[KNOB_SCATTER_GATHER], true));
    fprintf(out, "  rank_order: %s\n", orders[v[KNOB_ORDER]]);
    if (*codings[v[KNOB_CODING]]) fprintf(out, "  gradient_compression: %s\n", codings[v[KNOB_CODING]]);
    if (v[KNOB_SPLIT] == SPLIT_BY_LIST)
        write_layers(out, p);
    else
        fprintf(out, "  layer_split: %s\n", splits[v[KNOB_SPLIT]]);
    if (v[KNOB_PLACEMENT] > PLACED_ROUND_ROBIN) return write_ranks(out, p);
    fprintf(out, "  placement: %s\n", v[KNOB_PLACEMENT] ? "round-robin" : "packed");
    return true;
}

static void write_rest(FILE *out, const made_plan *p)
{
    const uint32_t *v = p->value;
    const uint32_t model_parallel = v[KNOB_TENSOR] * v[KNOB_PIPELINE];
    const uint32_t left = gpus_of(p) / model_parallel, data = v[KNOB_DATA] ? v[KNOB_DATA] : left ? left : 1;
    fprintf(out,
            "training:\n  { global_batch: %u, micro_batch: %u, precision: %s, gradient_dtype: %s, optimizer: "
            "%s,\n",
            data * v[KNOB_MICRO_BATCH] * v[KNOB_MICRO_BATCHES] + v[KNOB_ODD_BATCH], v[KNOB_MICRO_BATCH],
            precisions[v[KNOB_PRECISION]], gradient_types[v[KNOB_GRADIENTS]],
            v[KNOB_OPTIMIZER] ? "sgd" : "adam");
    if (v[KNOB_CODING] == CODED_BY_CAST) fprintf(out, "    reduce_dtype: bf16,\n");
    fprintf(out, "    attention: %s, fused_kernels: %s }\n", v[KNOB_ATTENTION] ? "unfused" : "flash",
            truth(v[KNOB_FUSED], true));
    fprintf(
        out,
        "network:\n  { engine: %s, completion_window: %s, bottleneck_count: %s, grain: %s, protocol: %s,\n"
        "    algorithm: %s }\n",
        v[KNOB_ENGINE] ? "ideal" : "fluid", windows[v[KNOB_WINDOW]], truth(v[KNOB_COUNT], false),
        grains[v[KNOB_GRAIN]], protocols[v[KNOB_PROTOCOL]], algorithms[v[KNOB_ALGORITHM]]);
    fprintf(out, "run: { steps: %u, seed: %u, trace: summary }\n", v[KNOB_STEPS], v[KNOB_SEED]);
}

bool plan_write(const made_plan *p, const char *path)
{
    FILE *out = fopen(path, "w");
    if (!out) return false;
    fprintf(out, "windtunnel: 1\n");
    write_cluster(out, p);
    write_model(out, p);
    bool good = write_plan(out, p);
    write_rest(out, p);
    good = good && !ferror(out);
    return fclose(out) == 0 && good;
}
