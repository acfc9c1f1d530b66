// SPDX-License-Identifier: GPL-3.0-or-later
// models/scenario.h: a scenario file as plain definitions. scenario_load() reads and binds, scenario_check() holds the parts
// against each other; both speak at the line of the file. The result is read only for the rest of the run.
// Every key with unit and default stands in scenarios/README.md, which a test compares with the tables of scenario.c.
#pragma once
#include "models/cluster.h"
#include "models/collective/group_layout.h"
#include "models/collective/library.h"
#include "models/network/network.h"
#include "models/part.h"
#include "models/training/llm.h"
#include "models/training/memory_need.h"
#include "models/training/placement.h"
#include "models/training/schedule.h"
#include "models/training/stages.h"
#include "sim/trace.h"

typedef enum compression_method {
    COMPRESSION_POWERSGD,
    COMPRESSION_TOP_K,
    COMPRESSION_QUANTIZE
} compression_method;
extern const char *const compression_words[]; // "powersgd", "top-k", "quantize", NULL

typedef struct compression_def { // of gradients between replicas (gradient_coding.h)
    bool given;
    int method; // compression_method
    uint32_t rank;
    double ratio;
    uint32_t bits;
    uint64_t block;
    struct { // which keys were written; once checked, those of the method
        bool rank, ratio, bits, block;
    } has;
} compression_def;

typedef struct plan_def {
    bool given;
    uint32_t tensor, pipeline;
    uint32_t data;           // 0 in the file: what is left of gpus
    uint32_t gpus;           // 0 in the file: all of the cluster
    int sharding;            // sharding_kind
    int recompute;           // recompute_kind
    uint64_t bucket_bytes;   // gradients reduced together
    bool overlap_gradients;  // reduce buckets beside the backward pass of the last micro-batch
    bool overlap_parameters; // ZeRO-1: gather them at the start of the next step, beside its first forwards
    bool owners_broadcast;   // ZeRO-1: each owner of a share broadcasts it
    compression_def compression;
    bool sequence_parallel;
    bool overlap_tensor; // collectives of the backward pass beside the other product
    bool user_buffers;   // collectives beside the products that they belong to
    int schedule;        // schedule_kind
    uint32_t virtual_stages;
    int layer_split; // layer_split, unless layers are given
    bind_numbers layers;
    bool overlap_pipeline; // sends beside compute
    bool scatter_gather;   // a tensor-parallel group sends activations once, 1/t from each rank
    const char *rank_order;
    int placement; // placement_kind, unless ranks are given
    placement_row_array ranks;
    const char *rank_file; // NULL, for its rows are in ranks
    struct {               // which keys were written
        bool layer_split, layers, placement, ranks;
    } has;
    // not bound:
    const char *last_set;           // which of tensor, data and pipeline --set has written last; NULL: none
    uint8_t order[PARALLEL_AXES];   // what rank_order says
    const uint32_t *virtual_layers; // what layers says
} plan_def;

typedef struct training_def {
    bool given;
    uint64_t global_batch;    // sequences per step
    uint64_t micro_batch;     // sequences per micro-batch of one data-parallel rank
    uint64_t sequence_length; // 0 in the file: the model's max_sequence
    int precision;            // dtype of the products and of the parameters gathered
    int gradient_dtype;       // dtype in which gradients are accumulated
    int reduce_dtype;         // dtype in which replicas reduce them
    bool has_reduce_dtype;    // left out: as gradient_dtype
    int optimizer;            // optimizer_kind
    int attention;            // of attention_words
    bool fused_kernels;
    bool fused_gradient_accumulation, has_fused_gradient_accumulation; // left out: as fused_kernels
    kernel_time_array kernel_times;                                    // measured by the user
    const char *kernel_table; // NULL, for its rows are in kernel_times
} training_def;

typedef struct network_def {
    int engine; // network_engine
    double completion_window;
    bool bottleneck_count;
    int grain;     // collective_grain
    int protocol;  // 0: by predicted time; else 1 + collective_protocol
    int algorithm; // 0: by predicted time; else 1 + its place in a list (scenario_forced_algorithm())
    uint32_t min_ctas, send_channels, peer_channels; // layout.h; 0: the library's choice
    collective_library collectives;
} network_def;

typedef enum fold_kind { FOLD_NONE, FOLD_NODE, FOLD_EXACT } fold_kind;

typedef struct run_def {
    uint32_t steps;
    uint64_t seed;
    int trace; // trace_level
    int fold;  // fold_kind
} run_def;

typedef struct usual_costs { // a class that nobody has named
    const char *path, *name; // "cluster.node.nic.costs", "infiniband-ndr"
    const char *rule;        // by which it was found
} usual_costs;
ARRAY_OF(usual_costs, usual_costs_array);

typedef struct scenario {
    uint32_t format; // "windtunnel: 1"
    cluster_def cluster;
    bool has_model;
    llm_def model;
    plan_def plan;
    training_def training;
    network_def network;
    run_def run;
    // not bound:
    const char *file;
    document document;    // with every --set applied
    bind_reader *reader;  // places and provenance
    const bind_row *rows; // that it was bound with: scenario_binds, or the same with cluster.nodes as a list
    usual_costs_array usual_costs;
} scenario;

extern const bind_row scenario_binds[], kernel_time_binds[]; // the latter: of one row of a kernel table
bool scenario_load(arena *a, const catalogue *parts, const char *path, const char *const *sets,
                   uint32_t set_count, scenario *out, sim_error *error);
// The same from memory; name stands in messages. It includes no files.
bool scenario_load_text(arena *a, const catalogue *parts, const char *name, const char *text,
                        const char *const *sets, uint32_t set_count, scenario *out, sim_error *error);
// Would it load, but for what belongs together? Syntax, keys, units and ranges are checked; keys may be missing yet.
bool scenario_try(arena *a, const catalogue *parts, const char *path, const char *const *sets,
                  uint32_t set_count, sim_error *error);
// scenario_check.c: fills what follows from other keys (data, gpus, order, sequence_length) and refuses what cannot be played.
// A scenario with only "cluster:" is a fabric alone and passes unless job_wanted.
bool scenario_check(scenario *s, bool job_wanted, sim_error *error);
// What is played all the same, but may not be meant; after scenario_check(). The texts live in the arena or for ever.
void scenario_warnings(const scenario *s, arena *a, text_list *out);
// The scenario with every default, --set, include and catalogue value written out: running it gives the same digest.
// The text lives in the arena; NULL and error when memory or the temporary stream fails.
const char *scenario_resolved(const scenario *s, arena *a, sim_error *error);
int scenario_forced_protocol(const scenario *s);  // collective_protocol, or PROTOCOL_AUTO
int scenario_forced_algorithm(const scenario *s); // collective_algorithm, or ALGORITHM_AUTO
// What its nodes' hardware costs collectives (scenario_costs.c).
bool scenario_complete_costs(scenario *s,
                             sim_error *error); // once it is bound: classes that are not named, by rule
const collective_hardware *scenario_hardware(arena *a, const scenario *s);
uint32_t scenario_gpus(const scenario *s);          // of the cluster
uint64_t scenario_micro_batches(const scenario *s); // per data-parallel rank and step
parallel_sizes scenario_sizes(const scenario *s);
bool scenario_orders_ranks(const scenario *s);    // two of tensor, data and pipeline are above 1
bool scenario_has_usual_order(const scenario *s); // tensor, data, pipeline
stages_def scenario_stages(const scenario *s);
schedule_def scenario_schedule(const scenario *s); // of one stage: 1f1b, for there is nothing to order
placement_def scenario_placement(const scenario *s, arena *a);
// GPUs between which a tensor-parallel group needs no fabric: of a node, or of the nodes that share their NVSwitches.
uint32_t scenario_gpus_together(const scenario *s);
kernel_settings scenario_kernel_settings(const scenario *s);
gradient_coding scenario_gradient_coding(const scenario *s); // of one replica: none
// Of a GPU of a stage, but for what it has in flight, which the order of its passes tells (world_memory()).
memory_settings scenario_memory_settings(const scenario *s, const stage_table *t, uint32_t stage);
