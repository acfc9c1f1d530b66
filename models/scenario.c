// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/scenario.h"
#include "models/hf_config.h"
#include "models/table_file.h"
#include "sim/os.h"
#include <stdlib.h>
#include <string.h>

static const char *const sharding_words[] = { "none", "zero-1", "zero-2", "zero-3", NULL };
static const char *const recompute_words[] = { "none", "selective", "full", NULL };
static const char *const optimizer_words[] = { "adam", "sgd", NULL };
static const char *const protocol_words[] = { "auto", "ll", "ll128", "simple", NULL };
// What may be forced; sends and all-to-all have one algorithm each.
static const char *const algorithm_words[] = { "auto",          "ring",      "tree",
                                               "nvls",          "nvls-tree", "collnet-direct",
                                               "collnet-chain", "pat",       "recursive",
                                               "hierarchical",  NULL };
static const int algorithms[] = { ALGORITHM_AUTO,          ALGORITHM_RING,      ALGORITHM_TREE,
                                  ALGORITHM_NVLS,          ALGORITHM_NVLS_TREE, ALGORITHM_COLLNET_DIRECT,
                                  ALGORITHM_COLLNET_CHAIN, ALGORITHM_PAT,       ALGORITHM_RECURSIVE,
                                  ALGORITHM_HIERARCHICAL };
_Static_assert(ARRAY_COUNT(algorithms) + 1 == ARRAY_COUNT(algorithm_words), "one for each word");
static const char *const fold_words[] = { "none", "node", "exact", NULL };

const char *const compression_words[] = { "powersgd", "top-k", "quantize", NULL };

static bool check_bits(const void *field, const doc_node *node, sim_error *error)
{
    const uint32_t bits = *(const uint32_t *)field;
    if (bits == 4 || bits == 8) return true;
    return sim_fail(error, SIM_EXIT_INPUT, &node->place, "gradients are not quantized to %u bits", bits) ||
           sim_hint(error, "bits: %d", bits < 6 ? 4 : 8);
}

#define COMPRESSION_HAS(field_) BIND_SET_FLAG(compression_def, has.field_)
static const bind_row compression_binds[] = {
    BIND_ENUM(compression_def, method, "method", compression_words, BIND_REQUIRED,
              BIND_NOTE("powersgd, top-k or quantize")),
    BIND_U32(compression_def, rank, "rank", .default_text = "4", COMPRESSION_HAS(rank), BIND_AT_LEAST(1),
             BIND_AT_MOST(1024), BIND_NOTE("powersgd: columns of the thin matrices")),
    BIND_NUMBER(compression_def, ratio, "ratio", .default_text = "0.01", COMPRESSION_HAS(ratio),
                BIND_ABOVE(0), BIND_AT_MOST(1), BIND_NOTE("top-k: share of the gradients that is sent")),
    BIND_U32(compression_def, bits, "bits", .default_text = "8", COMPRESSION_HAS(bits), .check = check_bits,
             BIND_NOTE("quantize: of a gradient, 8 or 4")),
    BIND_U64(compression_def, block, "block", .default_text = "2048", COMPRESSION_HAS(block),
             BIND_AT_LEAST(1), BIND_AT_MOST(1e9), BIND_NOTE("quantize: gradients that share an fp32 scale")),
    BIND_END,
};

#define HAS(field_) BIND_SET_FLAG(plan_def, has.field_)
static const bind_row plan_binds[] = {
    BIND_U32(plan_def, tensor, "tensor", BIND_DEFAULT(1, "1"), BIND_AT_LEAST(1),
             BIND_NOTE("tensor-parallel size; it divides the heads, kv_heads and ffn of the model, and the "
                       "vocabulary is padded to a multiple of 128 x tensor")),
    BIND_U32(plan_def, pipeline, "pipeline", BIND_DEFAULT(1, "1"), BIND_AT_LEAST(1),
             BIND_NOTE("pipeline stages")),
    BIND_U32(plan_def, data, "data", BIND_DEFAULT(0, "what is left of gpus"), BIND_AT_LEAST(1),
             BIND_NOTE("data-parallel replicas")),
    BIND_U32(plan_def, gpus, "gpus", BIND_DEFAULT(0, "all of the cluster"), BIND_AT_LEAST(1),
             BIND_NOTE("GPUs the job takes, from the first node on")),
    BIND_ENUM(plan_def, sharding, "sharding", sharding_words, BIND_DEFAULT(SHARDING_NONE, "none"),
              BIND_WORDS_LATER(BIND_WORD_LATER(SHARDING_ZERO_2) | BIND_WORD_LATER(SHARDING_ZERO_3)),
              BIND_NOTE("what the replicas share out; zero-1: optimizer states")),
    BIND_ENUM(plan_def, recompute, "recompute", recompute_words, BIND_DEFAULT(RECOMPUTE_NONE, "none"),
              BIND_NOTE("activations computed again in the backward pass; selective: those inside unfused "
                        "attention, with flash the same as none")),
    BIND_BYTES(plan_def, bucket_bytes, "bucket", BIND_DEFAULT(160e6, "160 MB"), BIND_AT_LEAST(1),
               BIND_NOTE("gradients reduced by one collective (Megatron: 40 M elements of 4 bytes)")),
    BIND_BOOL(plan_def, overlap_gradients, "overlap_gradients", BIND_DEFAULT(1, "true"),
              BIND_NOTE("reduce gradients beside the last backward pass")),
    BIND_BOOL(plan_def, overlap_parameters, "overlap_parameters", BIND_DEFAULT(0, "false"),
              BIND_NOTE("zero-1: gather parameters at the start of the next step, beside its first forward "
                        "passes, instead of at the end")),
    BIND_BOOL(
        plan_def, owners_broadcast, "owners_broadcast", BIND_DEFAULT(0, "false"),
        BIND_NOTE("zero-1: gradients are summed on every replica, and each broadcasts the parameters that it "
                  "updated, one after another (InternEvo); false: reduce-scatter and all-gather")),
    BIND_STRUCT(
        plan_def, compression, "gradient_compression", compression_binds,
        BIND_SET_FLAG(plan_def, compression.given),
        BIND_NOTE("what replicas send of their gradients; its effect on convergence is not modelled")),
    BIND_BOOL(plan_def, sequence_parallel, "sequence_parallel", BIND_DEFAULT(0, "false"),
              BIND_NOTE("a tensor-parallel group shares out the tokens between its products: "
                        "reduce-scatter and all-gather instead of all-reduce")),
    BIND_BOOL(
        plan_def, overlap_tensor, "overlap_tensor", BIND_DEFAULT(1, "true"),
        BIND_NOTE("collectives of a tensor-parallel group beside the other product of a backward pass")),
    BIND_BOOL(
        plan_def, user_buffers, "user_buffers", BIND_DEFAULT(0, "false"),
        BIND_NOTE("with sequence_parallel and overlap_tensor: a product is computed in pieces, beside the "
                  "collective that brings or takes its rows (Transformer Engine)")),
    BIND_ENUM(plan_def, schedule, "schedule", schedule_kind_words, BIND_DEFAULT(SCHEDULE_1F1B, "1f1b"),
              BIND_NOTE("the order of forward and backward passes of a stage")),
    BIND_U32(plan_def, virtual_stages, "virtual_stages", BIND_DEFAULT(1, "1"), BIND_AT_LEAST(1),
             BIND_NOTE("chunks of layers on each stage; interleaved-1f1b takes 2 or more")),
    BIND_ENUM(plan_def, layer_split, "layer_split", layer_split_words, .default_text = "even",
              HAS(layer_split),
              BIND_NOTE("layers of the stages and chunks; uneven: the first have one more; ends: embedding "
                        "and head count as a layer each")),
    BIND_NUMBERS(
        plan_def, layers, "layers", UNIT_NONE, HAS(layers), BIND_AT_LEAST(0), BIND_AT_MOST(1e4),
        .check = bind_check_whole,
        BIND_NOTE("instead of layer_split: the layers of each stage, chunk by chunk, in the order of "
                  "the model")),
    BIND_BOOL(plan_def, overlap_pipeline, "overlap_pipeline", BIND_DEFAULT(1, "true"),
              BIND_NOTE("stages send beside their passes; false: sender and receiver stand still meanwhile")),
    BIND_BOOL(plan_def, scatter_gather, "scatter_gather", BIND_DEFAULT(1, "true"),
              BIND_NOTE("each rank of a tensor-parallel group sends its share of the activations to the next "
                        "stage, which gathers them; false: each sends all")),
    BIND_TEXT(plan_def, rank_order, "rank_order", .default_text = "tp-dp-pp",
              BIND_NOTE("tensor, data and pipeline from the innermost: ranks that follow one another differ "
                        "in the first")),
    BIND_ENUM(plan_def, placement, "placement", placement_words, .default_text = "packed", HAS(placement),
              BIND_NOTE("packed: rank after rank fills node after node; round-robin: rank after rank goes to "
                        "the next node")),
    BIND_LIST(plan_def, ranks, "ranks", placement_row_binds, HAS(ranks),
              BIND_NOTE("instead of placement: on which GPU of which node each rank runs")),
    // scenario_load() puts the table in the place of its name.
    BIND_PATH(plan_def, rank_file, "rank_file",
              BIND_NOTE("a CSV table or YAML list of the ranks, with the keys of one as columns")),
    BIND_LATER("context", BIND_NOT_MODELLED),
    BIND_LATER("expert", BIND_NOT_MODELLED),
    BIND_LATER("offload", BIND_NOT_MODELLED),
    BIND_END,
};

const bind_row kernel_time_binds[] = {
    BIND_TEXT(kernel_time, name, "name", BIND_REQUIRED,
              BIND_NOTE("of the kernel, as windtunnel show kernels tells it")),
    BIND_U64(kernel_time, batch, "batch", BIND_DEFAULT(1, "1"), BIND_AT_LEAST(1),
             BIND_NOTE("products at once; of attention: sequences x heads")),
    BIND_U64(kernel_time, m, "m", BIND_REQUIRED, BIND_AT_LEAST(1),
             BIND_NOTE("rows of the result; of attention: length; of other kernels: elements")),
    BIND_U64(kernel_time, n, "n", BIND_DEFAULT(1, "1"), BIND_AT_LEAST(1),
             BIND_NOTE("columns of the result; of attention: length")),
    BIND_U64(kernel_time, k, "k", BIND_DEFAULT(1, "1"), BIND_AT_LEAST(1),
             BIND_NOTE("depth; of attention: head size")),
    BIND_SECONDS(kernel_time, time_s, "time", BIND_REQUIRED, BIND_ABOVE(0), BIND_AT_MOST(ROOFLINE_LONGEST_S),
                 BIND_NOTE("of one call on a healthy GPU")),
    BIND_END,
};

static const bind_row training_binds[] = {
    BIND_U64(training_def, global_batch, "global_batch", BIND_REQUIRED, BIND_AT_LEAST(1), BIND_AT_MOST(1e9),
             BIND_NOTE("sequences per step, all replicas together")),
    BIND_U64(training_def, micro_batch, "micro_batch", BIND_DEFAULT(1, "1"), BIND_AT_LEAST(1),
             BIND_AT_MOST(1e6),
             BIND_NOTE("sequences a replica handles at once; the rest is gradient accumulation")),
    BIND_U64(training_def, sequence_length, "sequence_length", BIND_DEFAULT(0, "the model's max_sequence"),
             BIND_AT_LEAST(1), BIND_AT_MOST(1e8), BIND_NOTE("tokens per sequence")),
    BIND_ENUM(training_def, precision, "precision", dtype_words, BIND_DEFAULT(DTYPE_BF16, "bf16"),
              BIND_WORDS_LATER(BIND_WORD_LATER(DTYPE_FP8) | BIND_WORD_LATER(DTYPE_FP4)),
              BIND_NOTE("number format of the matrix products and parameters")),
    BIND_ENUM(training_def, gradient_dtype, "gradient_dtype", dtype_words, BIND_DEFAULT(DTYPE_FP32, "fp32"),
              BIND_WORDS_LATER(BIND_WORD_LATER(DTYPE_TF32) | BIND_WORD_LATER(DTYPE_FP8) |
                               BIND_WORD_LATER(DTYPE_FP4)),
              BIND_NOTE("number format in which gradients are accumulated")),
    BIND_ENUM(training_def, reduce_dtype, "reduce_dtype", dtype_words,
              BIND_DEFAULT(DTYPE_FP32, "as gradient_dtype"), BIND_SET_FLAG(training_def, has_reduce_dtype),
              BIND_WORDS_LATER(BIND_WORD_LATER(DTYPE_TF32) | BIND_WORD_LATER(DTYPE_FP8) |
                               BIND_WORD_LATER(DTYPE_FP4)),
              BIND_NOTE("number format in which replicas reduce gradients (DeepSpeed "
                        "communication_data_type, FSDP reduce_dtype), cast before and behind")),
    BIND_ENUM(training_def, optimizer, "optimizer", optimizer_words, BIND_DEFAULT(OPTIMIZER_ADAM, "adam"),
              BIND_NOTE("adam: fp32 master copy and two moments; sgd: fp32 master copy and one momentum")),
    BIND_ENUM(
        training_def, attention, "attention", attention_words, BIND_DEFAULT(ATTENTION_FLASH, "flash"),
        BIND_NOTE("flash: one fused kernel, of the program that the GPU's kernel set names; unfused: two "
                  "products and a softmax through memory; or the fused kernel of a program that the "
                  "set has rates for")),
    // scenario_load() puts the table in the place of its name.
    BIND_PATH(training_def, kernel_table, "kernel_table",
              BIND_NOTE("a CSV table of measured times of kernels, with the keys of one as columns; they "
                        "replace the model")),
    BIND_LIST(training_def, kernel_times, "kernel_times", kernel_time_binds,
              BIND_NOTE("instead of kernel_table: the list itself")),
    BIND_BOOL(training_def, fused_kernels, "fused_kernels", BIND_DEFAULT(1, "true"),
              BIND_NOTE("norms, rotary and activation as single kernels; false: operation by operation")),
    BIND_BOOL(training_def, fused_gradient_accumulation, "fused_gradient_accumulation",
              BIND_DEFAULT(0, "as fused_kernels"),
              BIND_SET_FLAG(training_def, has_fused_gradient_accumulation),
              BIND_NOTE("products of weight gradients add to the accumulated ones (Megatron-LM since 2022); "
                        "false: a kernel of its own does")),
    BIND_END,
};

static bool check_power(const void *field, const doc_node *node, sim_error *error)
{
    const uint32_t channels = *(const uint32_t *)field;
    uint32_t power = 1;
    if ((channels & (channels - 1)) == 0) return true;
    while (power < channels)
        power *= 2;
    return sim_fail(error, SIM_EXIT_INPUT, &node->place, "%u channels of sends are no power of two",
                    channels) ||
           sim_hint(error, "%u or %u", power / 2, power);
}

static const bind_row network_binds[] = {
    BIND_ENUM(
        network_def, engine, "engine", network_engine_words, BIND_DEFAULT(ENGINE_FLUID, "fluid"),
        BIND_WORDS_LATER(BIND_WORD_LATER(ENGINE_PACKET) | BIND_WORD_LATER(ENGINE_AUTO)),
        BIND_NOTE("fluid: transfers share links by max-min fairness; ideal: latency + bytes / rate without "
                  "contention")),
    BIND_NUMBER(
        network_def, completion_window, "completion_window", BIND_DEFAULT(0, "0"), BIND_AT_LEAST(0),
        BIND_AT_MOST(0.1),
        BIND_NOTE("a transfer may end late by at most this share of its time, so that many end together "
                  "and dense traffic is played faster; 0: exact")),
    BIND_BOOL(
        network_def, bottleneck_count, "bottleneck_count", BIND_DEFAULT(0, "false"),
        BIND_NOTE("equal transfers that begin together alone are played to the exact end of the last, which "
                  "all share; when the others would have ended is not known; keeps ranks from being folded")),
    BIND_ENUM(network_def, grain, "grain", collective_grain_words, BIND_DEFAULT(GRAIN_STREAMS, "streams"),
              BIND_NOTE("collectives played as streams, or message by message")),
    BIND_ENUM(network_def, protocol, "protocol", protocol_words, BIND_DEFAULT(0, "auto"),
              BIND_NOTE("NCCL_PROTO; auto takes the least predicted time")),
    BIND_ENUM(
        network_def, algorithm, "algorithm", algorithm_words, BIND_DEFAULT(0, "auto"),
        BIND_NOTE("NCCL_ALGO; auto takes the least predicted time of what NCCL has, so never recursive or "
                  "hierarchical. Where a collective or a group cannot run it, the library's choice stands")),
    BIND_U32(network_def, min_ctas, "min_ctas", BIND_DEFAULT(0, "0: the library's choice"), BIND_AT_MOST(64),
             BIND_NOTE("NCCL_MIN_CTAS and NCCL_MAX_CTAS: channels of rings, trees and NVLS")),
    BIND_U32(network_def, send_channels, "send_channels", BIND_DEFAULT(0, "0: the library's choice"),
             BIND_AT_MOST(64), .check = check_power,
             BIND_NOTE("NCCL_MIN_P2P_NCHANNELS: of all sends together, a power of two")),
    BIND_U32(network_def, peer_channels, "peer_channels", BIND_DEFAULT(0, "0: the library's choice"),
             BIND_AT_MOST(64), .check = check_power,
             BIND_NOTE("NCCL_NCHANNELS_PER_NET_PEER: to one peer in another node, a power of two")),
    BIND_PART(network_def, collectives, "collectives", "collectives", collective_library_binds,
              .default_text = "nccl-2.30",
              BIND_NOTE("the collective library: what its tuner believes, how its kernels cut a buffer")),
    BIND_END,
};

static const bind_row run_binds[] = {
    BIND_U32(run_def, steps, "steps", BIND_DEFAULT(3, "3"), BIND_AT_LEAST(1), BIND_AT_MOST(1e9),
             BIND_NOTE("training steps to play")),
    BIND_U64(run_def, seed, "seed", BIND_DEFAULT(1, "1"), BIND_NOTE("of every random stream")),
    BIND_ENUM(run_def, trace, "trace", trace_level_words, BIND_DEFAULT(TRACE_SPANS, "spans"),
              BIND_WORDS_LATER(BIND_WORD_LATER(TRACE_PACKETS)), BIND_NOTE("how much is written")),
    BIND_ENUM(
        run_def, fold, "fold", fold_words, BIND_DEFAULT(FOLD_NODE, "node"),
        BIND_WORDS_LATER(BIND_WORD_LATER(FOLD_EXACT)),
        BIND_NOTE("ranks played as one lane: none, or the healthy tensor-parallel groups inside a node")),
    BIND_END,
};

enum { FORMAT = 1 };

static bool check_format(const void *field, const doc_node *node, sim_error *error)
{
    const uint32_t format = *(const uint32_t *)field;
    if (format == FORMAT) return true;
    sim_fail(error, SIM_EXIT_INPUT, &node->place,
             "the scenario is written in format %u; this version reads format %d", format, FORMAT);
    return sim_hint(error, "windtunnel: %d", FORMAT);
}

const bind_row scenario_binds[] = {
    BIND_U32(scenario, format, "windtunnel", BIND_DEFAULT(FORMAT, "1"), .check = check_format,
             BIND_NOTE("version of this format")),
    BIND_PART(scenario, cluster, "cluster", "systems", cluster_binds, BIND_REQUIRED,
              BIND_NOTE("what there is, or the name of a system of the catalogue")),
    BIND_PART(scenario, model, "model", "llms", llm_binds, BIND_SET_FLAG(scenario, has_model),
              BIND_NOTE("what is trained: a name of the catalogue or a mapping")),
    BIND_STRUCT(scenario, plan, "plan", plan_binds, BIND_SET_FLAG(scenario, plan.given),
                BIND_NOTE("how the model is spread over the GPUs")),
    BIND_STRUCT(scenario, training, "training", training_binds, BIND_SET_FLAG(scenario, training.given),
                BIND_NOTE("what one step is")),
    BIND_STRUCT(scenario, network, "network", network_binds, BIND_NOTE("how traffic is played")),
    BIND_STRUCT(scenario, run, "run", run_binds, BIND_NOTE("what to play and what to write")),
    BIND_LATER("jobs", BIND_NOT_MODELLED),
    BIND_LATER("storage", BIND_NOT_MODELLED),
    BIND_LATER("data", BIND_NOT_MODELLED),
    BIND_LATER("checkpoint", BIND_NOT_MODELLED),
    BIND_LATER("faults", BIND_NOT_MODELLED),
    BIND_LATER("power", BIND_NOT_MODELLED),
    BIND_LATER("cost", BIND_NOT_MODELLED),
    BIND_END,
};

// Of a cluster whose nodes are a list the same table, but for them.
static const bind_row *rows_of(arena *a, const document *doc)
{
    if (!cluster_is_list(doc)) return scenario_binds;
    bind_row *rows = arena_array(a, bind_row, ARRAY_COUNT(scenario_binds));
    memcpy(rows, scenario_binds, sizeof scenario_binds);
    for (bind_row *row = rows; row->type != BIND_TYPE_END; row++)
        if (row->rows == cluster_binds) row->rows = cluster_list_binds;
    return rows;
}

// Parts with a default are put into the document before it is bound, so that one code path reads them.
static bool add_default_parts(arena *a, document *doc, sim_error *error)
{
    const doc_node *given = document_find(doc->root, "network");
    if (given && document_is_null(given))
        return document_set(a, doc, "network={ collectives: nccl-2.30 }", error);
    if (given && given->kind != DOC_MAPPING) return true;
    const doc_node *terms = given ? document_find(given, "collectives") : NULL;
    if (terms && !document_is_null(terms)) return true;
    return document_set(a, doc, "network.collectives=nccl-2.30", error);
}

// "model.layers=16" reaches into "model: llama3-8b".
static bool is_part(const void *rows, const char *path, size_t length)
{
    const bind_row *row = bind_find_path(rows, path, length);
    return row && row->type == BIND_TYPE_PART;
}

typedef struct scenario_source {
    const char *name; // the path, or what a text is called in messages
    const char *text; // NULL: read the file
} scenario_source;

// Default parts come before the settings, which may reach into them, and after, for those that replace "network" whole.
static bool read_document(arena *a, const scenario_source *source, const char *const *sets,
                          uint32_t set_count, document *out, sim_error *error)
{
    static const table_file ranks = { .mapping = { "plan" },
                                      .key = "rank_file",
                                      .list = "ranks",
                                      .example = "ranks.csv, with the columns rank, node, gpu" };
    static const table_file times = { .mapping = { "training" },
                                      .key = "kernel_table",
                                      .list = "kernel_times",
                                      .example = "kernels.csv, with the columns name, batch, m, n, k, time" };
    if (source->text) {
        if (!document_parse(a, source->name, source->text, strlen(source->text), NULL, out, error))
            return false;
    } else if (!document_load(a, source->name, out, error)) {
        return false;
    }
    if (out->root->kind == DOC_MAPPING && !add_default_parts(a, out, error)) return false;
    for (uint32_t i = 0; i < set_count; i++)
        if (!document_set_opening(a, out, sets[i], is_part, rows_of(a, out), error)) return false;
    return out->root->kind != DOC_MAPPING ||
           (add_default_parts(a, out, error) && cluster_prepare(a, out, error) &&
            hf_config_inline(a, out, error) && table_file_inline(a, out, &ranks, error) &&
            table_file_inline(a, out, &times, error));
}

// Which of the sizes whose product is the number of GPUs was set last on the command line; NULL: none.
static const char *last_size_set(const char *const *sets, uint32_t set_count)
{
    static const char *const sizes[] = { "tensor", "data", "pipeline" };
    static const char before[] = "plan.";
    for (uint32_t i = set_count; i-- > 0;) {
        if (strncmp(sets[i], before, strlen(before)) != 0) continue;
        const char *key = sets[i] + strlen(before), *value = strchr(key, '=');
        if (!value || strcmp(value, "=null") == 0 || strcmp(value, "=~") == 0) continue; // taken back
        for (uint32_t k = 0; k < ARRAY_COUNT(sizes); k++)
            if (strlen(sizes[k]) == (size_t)(value - key) && strncmp(key, sizes[k], strlen(sizes[k])) == 0)
                return sizes[k];
    }
    return NULL;
}

static bool load(arena *a, const catalogue *parts, const scenario_source *source, const char *const *sets,
                 uint32_t set_count, bool may_miss, scenario *out, sim_error *error)
{
    memset(out, 0, sizeof(*out));
    if (!read_document(a, source, sets, set_count, &out->document, error)) return false;
    out->file = arena_text(a, source->name);
    out->reader = bind_reader_create(a, part_read, (void *)parts);
    if (may_miss) bind_reader_allow_missing(out->reader);
    out->rows = rows_of(a, &out->document);
    if (!bind_read(out->reader, out->rows, out->document.root, "", out, error)) return false;
    out->plan.last_set = last_size_set(sets, set_count);
    return true;
}

bool scenario_try(arena *a, const catalogue *parts, const char *path, const char *const *sets,
                  uint32_t set_count, sim_error *error)
{
    const scenario_source file = { .name = path };
    return load(a, parts, &file, sets, set_count, true, arena_new(a, scenario), error);
}

static bool load_whole(arena *a, const catalogue *parts, const scenario_source *source,
                       const char *const *sets, uint32_t set_count, scenario *out, sim_error *error)
{
    return load(a, parts, source, sets, set_count, false, out, error) &&
           scenario_complete_costs(out, error) &&
           cluster_complete(a, &out->cluster, cluster_is_list(&out->document), out->reader, error) &&
           (!out->has_model || llm_complete(&out->model, out->reader, error));
}

bool scenario_load(arena *a, const catalogue *parts, const char *path, const char *const *sets,
                   uint32_t set_count, scenario *out, sim_error *error)
{
    const scenario_source file = { .name = path };
    return load_whole(a, parts, &file, sets, set_count, out, error);
}

bool scenario_load_text(arena *a, const catalogue *parts, const char *name, const char *text,
                        const char *const *sets, uint32_t set_count, scenario *out, sim_error *error)
{
    const scenario_source source = { .name = name, .text = text };
    return load_whole(a, parts, &source, sets, set_count, out, error);
}

typedef struct resolved_text {
    const scenario *scenario;
    arena *arena;
    FILE *out;
    char *text; // malloc's
    size_t length;
    const char *copy; // NULL: writing failed
} resolved_text;

static bool write_resolved(void *owner)
{
    resolved_text *t = owner;
    bind_write(t->scenario->reader, t->scenario->rows, t->scenario, 0, t->out);
    const bool good = fclose(t->out) == 0 && t->text;
    t->out = NULL;
    if (good) t->copy = arena_text_n(t->arena, t->text, t->length);
    return good;
}

static void free_resolved(void *owner)
{
    resolved_text *t = owner;
    if (t->out) fclose(t->out);
    free(t->text);
}

const char *scenario_resolved(const scenario *s, arena *a, sim_error *error)
{
    resolved_text t = { .scenario = s, .arena = a };
    t.out = os_open_memory(&t.text, &t.length);
    if (!t.out || !arena_guard(a, write_resolved, free_resolved, &t))
        sim_fail(error, SIM_EXIT_INPUT, NULL, "no memory for the resolved scenario");
    return t.copy;
}

int scenario_forced_protocol(const scenario *s)
{
    return s->network.protocol - 1; // "auto" comes first
}

int scenario_forced_algorithm(const scenario *s)
{
    return algorithms[s->network.algorithm];
}

uint32_t scenario_gpus(const scenario *s)
{
    return (uint32_t)cluster_gpus(&s->cluster);
}

uint64_t scenario_micro_batches(const scenario *s)
{
    return s->training.global_batch / (s->plan.data * s->training.micro_batch);
}

parallel_sizes scenario_sizes(const scenario *s)
{
    const plan_def *p = &s->plan;
    parallel_sizes sizes = { .tensor = p->tensor, .data = p->data, .pipeline = p->pipeline };
    memcpy(sizes.order, p->order, sizeof sizes.order);
    return sizes;
}

bool scenario_orders_ranks(const scenario *s)
{
    return (s->plan.tensor > 1) + (s->plan.data > 1) + (s->plan.pipeline > 1) > 1;
}

bool scenario_has_usual_order(const scenario *s)
{
    return strcmp(s->plan.rank_order, "tp-dp-pp") == 0;
}

stages_def scenario_stages(const scenario *s)
{
    const plan_def *p = &s->plan;
    const uint32_t least = p->schedule == SCHEDULE_INTERLEAVED_1F1B ? 2 : 1;
    return (stages_def){
        .layers = s->model.layers,
        .stages = p->pipeline,
        .chunks = p->virtual_stages,
        .split = p->has.layers ? SPLIT_LIST : (layer_split)p->layer_split,
        .list = p->virtual_layers,
        .list_count = p->layers.count,
        .least_stages = least,
        .least_chunks = least,
        .ranks = p->gpus / p->tensor,
    };
}

schedule_def scenario_schedule(const scenario *s)
{
    const plan_def *p = &s->plan;
    const bool alone = p->pipeline == 1 && p->schedule == SCHEDULE_GPIPE;
    return (schedule_def){
        .kind = alone ? SCHEDULE_1F1B : (schedule_kind)p->schedule,
        .stages = p->pipeline,
        .micro_batches = (uint32_t)scenario_micro_batches(s),
        .chunks = p->virtual_stages,
    };
}

placement_def scenario_placement(const scenario *s, arena *a)
{
    const plan_def *p = &s->plan;
    placement_def d = {
        .kind = p->has.ranks ? PLACEMENT_LIST : (placement_kind)p->placement,
        .ranks = p->gpus,
        .gpus_per_node = s->cluster.node.gpus,
        .rows = &p->ranks,
    };
    d.nodes = cluster_nodes_alike(&s->cluster, a, &d.node_count);
    return d;
}

uint32_t scenario_gpus_together(const scenario *s)
{
    const node_def *node = &s->cluster.node;
    const uint32_t nodes = node->scale_up.domain_nodes;
    return node->gpus * (nodes > 1 ? nodes : 1);
}

kernel_settings scenario_kernel_settings(const scenario *s)
{
    return (kernel_settings){
        .micro_batch = s->training.micro_batch,
        .sequence_length = s->training.sequence_length,
        .precision = (dtype)s->training.precision,
        .gradient_type = (dtype)s->training.gradient_dtype,
        .attention = s->training.attention,
        .tensor = s->plan.tensor,
        .sequence_parallel = s->plan.sequence_parallel,
        .user_buffers = s->plan.user_buffers,
        .fused = s->training.fused_kernels,
        .accumulation = s->training.fused_gradient_accumulation ? ACCUMULATION_FUSED : ACCUMULATION_APART,
    };
}

gradient_coding scenario_gradient_coding(const scenario *s)
{
    static const coding_kind kinds[] = { [COMPRESSION_POWERSGD] = CODING_POWERSGD,
                                         [COMPRESSION_TOP_K] = CODING_TOP_K,
                                         [COMPRESSION_QUANTIZE] = CODING_QUANTIZE };
    const training_def *t = &s->training;
    const compression_def *c = &s->plan.compression;
    gradient_coding coding = { .gradient = (dtype)t->gradient_dtype,
                               .reduced = (dtype)(t->has_reduce_dtype ? t->reduce_dtype : t->gradient_dtype),
                               .replicas = s->plan.data,
                               .scatters = s->plan.sharding == SHARDING_ZERO_1 && !s->plan.owners_broadcast,
                               .rank = c->rank,
                               .ratio = c->ratio,
                               .bits = c->bits,
                               .block = c->block };
    if (s->plan.data > 1 && c->given)
        coding.kind = (int)kinds[c->method];
    else if (s->plan.data > 1 && coding.reduced != coding.gradient)
        coding.kind = CODING_CAST;
    return coding;
}

memory_settings scenario_memory_settings(const scenario *s, const stage_table *t, uint32_t stage)
{
    return (memory_settings){
        .kernels = scenario_kernel_settings(s),
        .recompute = s->plan.recompute,
        .sharding = s->plan.sharding,
        .optimizer = s->training.optimizer,
        .data = s->plan.data,
        .layers_here = stage_layers(t, stage),
        .has_embedding = stage_chunk_at(t, stage, 0)->has_embedding,
        .has_head = stage_chunk_at(t, stage, t->chunks - 1)->has_head,
        .scattered_messages = s->plan.scatter_gather,
        .gradient_bytes = dtype_bytes((dtype)s->training.gradient_dtype),
        .parameter_bytes = dtype_bytes((dtype)s->training.precision),
        .coding = scenario_gradient_coding(s),
        .bucket_bytes = s->plan.data > 1 ? s->plan.bucket_bytes : 0,
        .reserved_bytes = s->cluster.node.gpu.reserved_bytes,
    };
}
