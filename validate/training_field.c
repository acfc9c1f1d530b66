// SPDX-License-Identifier: GPL-3.0-or-later
#include "validate/training_field.h"
#include "models/training/parallel.h"
#include "sim/check.h"
#include "validate/field_rule.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

// ---- single fields

// How much of the state the replicas share out, by the words that sources have for it.
typedef struct sharding_word {
    const char *word;
    int least, greatest; // ZeRO stage
} sharding_word;
static const sharding_word shardings[] = {
    { "none", 0, 0 },
    { "DDP", 0, 0 },
    { "ZeRO-1", 1, 1 },
    { "distributed optimizer", 1, 1 },
    { "hierarchical ZeRO-1", 1, 1 },
    { "ZeRO-2", 2, 2 },
    { "SHARD_GRAD_OP", 2, 2 },
    { "ZeRO-3", 3, 3 },
    { "FULL_SHARD", 3, 3 },
    { "HSDP", 3, 3 },
    { "FSDP", 2, 3 },
    { "FSDP2", 2, 3 },
};
static const char *const sharding_words[] = { "none",
                                              "DDP",
                                              "ZeRO-1",
                                              "distributed optimizer",
                                              "hierarchical ZeRO-1",
                                              "ZeRO-2",
                                              "SHARD_GRAD_OP",
                                              "ZeRO-3",
                                              "FULL_SHARD",
                                              "HSDP",
                                              "FSDP",
                                              "FSDP2",
                                              NULL };
static const char *const recompute_words[] = { "none", "full", "selective", NULL };
static const char *const recompute_open[] = { "selective", NULL };
static const char *const dtype_words[] = { "fp32",  "tf32", "fp16",  "bf16",  "fp8",
                                           "mxfp8", "fp4",  "mxfp4", "nvfp4", NULL };
static const char *const dtype_open[] = { "fp8", "mxfp8", "fp4", "mxfp4", "nvfp4", NULL };
static const char *const flops_words[] = { "model", "hardware", NULL };

// Those of sizes are what a scenario takes.
static const field_rule rules[TRAINING_COLUMNS] = {
    [COLUMN_YEAR] = FIELD_COUNT_RULE(1990, 2100),
    [COLUMN_PARAMS_B] = FIELD_NUMBER_RULE(1e-6, 1e6),
    [COLUMN_LAYERS] = FIELD_COUNT_RULE(1, 1e4),
    [COLUMN_HIDDEN] = FIELD_COUNT_RULE(1, 1e6),
    [COLUMN_HEADS] = FIELD_COUNT_RULE(1, 1e6),
    [COLUMN_KV_HEADS] = FIELD_COUNT_RULE(1, 1e6),
    [COLUMN_FFN] = FIELD_COUNT_RULE(1, 1e7),
    [COLUMN_VOCAB] = FIELD_COUNT_RULE(1, 1e8),
    [COLUMN_SEQ_LEN] = FIELD_COUNT_RULE(1, 1e8),
    [COLUMN_EXPERTS] = FIELD_COUNT_RULE(1, 1e5),
    [COLUMN_TOPK] = FIELD_COUNT_RULE(1, 1e5),
    [COLUMN_GPUS] = FIELD_COUNT_RULE(1, 1e6),
    [COLUMN_GPUS_PER_NODE] = FIELD_COUNT_RULE(1, 1024),
    [COLUMN_TP] = FIELD_COUNT_RULE(1, 1e6),
    [COLUMN_PP] = FIELD_COUNT_RULE(1, 1e6),
    [COLUMN_VPP] = FIELD_COUNT_RULE(1, 1e4),
    [COLUMN_CP] = FIELD_COUNT_RULE(1, 1e6),
    [COLUMN_EP] = FIELD_COUNT_RULE(1, 1e6),
    [COLUMN_DP] = FIELD_COUNT_RULE(1, 1e6),
    [COLUMN_SP] = FIELD_COUNT_RULE(0, 1),
    [COLUMN_ZERO_STAGE] = FIELD_COUNT_RULE(0, 3),
    [COLUMN_SHARDING] = { .kind = FIELD_WORD, .words = sharding_words, .open = sharding_words },
    [COLUMN_RECOMPUTE] = { .kind = FIELD_WORD, .words = recompute_words, .open = recompute_open },
    [COLUMN_MICRO_BATCH] = FIELD_COUNT_RULE(1, 1e6),
    [COLUMN_GLOBAL_BATCH_SEQS] = FIELD_COUNT_RULE(1, 1e9),
    [COLUMN_DTYPE] = { .kind = FIELD_WORD, .words = dtype_words, .open = dtype_open },
    [COLUMN_STEP_TIME_S] = FIELD_NUMBER_RULE(1e-6, TRAINING_STEP_MOST_S),
    [COLUMN_TOKENS_PER_S_PER_GPU] = FIELD_NUMBER_RULE(1e-6, 1e9),
    [COLUMN_TFLOPS_PER_GPU] = FIELD_NUMBER_RULE(1e-6, 1e6),
    [COLUMN_FLOPS_KIND] = { .kind = FIELD_WORD, .words = flops_words },
    [COLUMN_MFU] = { .kind = FIELD_NUMBER, .least = 1e-6, .greatest = 1, .is_share = true },
    [COLUMN_MEM_GB] = FIELD_NUMBER_RULE(1e-6, 1e5),
};

bool training_field_read(arena *a, training_column column, const csv_field *field, const char **text,
                         sim_error *error)
{
    return field_rule_read(a, &rules[column], training_column_words[column], field, text, error);
}

// ---- fields together

static uint64_t whole(const training_row *row, training_column column) // 1 where it is not published
{
    return *row->fields[column] ? (uint64_t)training_row_number(row, column) : 1;
}

static bool says(const training_row *row, training_column column)
{
    return *row->fields[column];
}

// "tp 3 does not divide heads 16; nearest is 4"
static const char *check_shares(arena *a, const training_row *row)
{
    static const struct {
        training_column part, all;
    } shared[] = { { COLUMN_HEADS, COLUMN_HIDDEN }, { COLUMN_KV_HEADS, COLUMN_HEADS },
                   { COLUMN_TP, COLUMN_HEADS },     { COLUMN_TP, COLUMN_KV_HEADS },
                   { COLUMN_TP, COLUMN_FFN },       { COLUMN_EP, COLUMN_EXPERTS } };
    for (size_t i = 0; i < ARRAY_COUNT(shared); i++) {
        const training_column part = shared[i].part, all = shared[i].all;
        if (!says(row, part) || !says(row, all) || whole(row, all) % whole(row, part) == 0) continue;
        return arena_format(a, "%s %s does not divide %s %s; nearest is %" PRIu64,
                            training_column_words[part], row->fields[part], training_column_words[all],
                            row->fields[all], parallel_nearest_divisor(whole(row, all), whole(row, part)));
    }
    return NULL;
}

static const char *check_gpus(arena *a, const training_row *row)
{
    const unsigned __int128 replica = (unsigned __int128)whole(row, COLUMN_TP) * whole(row, COLUMN_PP) *
                                      whole(row, COLUMN_CP);
    const uint64_t gpus = whole(row, COLUMN_GPUS), dp = whole(row, COLUMN_DP);
    const uint64_t each = replica > UINT64_MAX ? UINT64_MAX : (uint64_t)replica;
    if (!says(row, COLUMN_GPUS) || !says(row, COLUMN_TP) || !says(row, COLUMN_PP)) return NULL;
    const char *sizes = arena_format(
        a, "tp %" PRIu64 " x pp %" PRIu64 "%s", whole(row, COLUMN_TP), whole(row, COLUMN_PP),
        says(row, COLUMN_CP) ? arena_format(a, " x cp %s", row->fields[COLUMN_CP]) : "");
    if (each > gpus)
        return arena_format(a, "%s want at least %" PRIu64 " GPUs, but gpus is %" PRIu64, sizes, each, gpus);
    if (gpus % each)
        return arena_format(a, "%s do not divide gpus %" PRIu64 "; nearest is %" PRIu64, sizes, gpus,
                            (gpus / each * each));
    if (!says(row, COLUMN_DP) || gpus / each == dp) return NULL;
    return arena_format(a, "%s x dp %" PRIu64 " are not gpus %" PRIu64 "; dp %" PRIu64 " would be", sizes, dp,
                        gpus, (gpus / each));
}

// Replicas that are not told follow from the GPUs. Where the micro-batch is not told, rules may say more of the batch.
static const char *check_batch(arena *a, const training_row *row)
{
    const uint64_t batch = whole(row, COLUMN_GLOBAL_BATCH_SEQS), micro = whole(row, COLUMN_MICRO_BATCH);
    const uint64_t replica = whole(row, COLUMN_TP) * whole(row, COLUMN_PP) * whole(row, COLUMN_CP);
    if (!says(row, COLUMN_GLOBAL_BATCH_SEQS) || !says(row, COLUMN_MICRO_BATCH) || !says(row, COLUMN_GPUS) ||
        !says(row, COLUMN_TP) || !says(row, COLUMN_PP))
        return NULL;
    const uint64_t at_once = whole(row, COLUMN_GPUS) / replica * micro;
    if (batch % at_once == 0) return NULL;
    const uint64_t below = batch / at_once * at_once;
    const uint64_t nearest = below && batch - below <= at_once / 2 ? below : below + at_once;
    return arena_format(a,
                        "global_batch_seqs %" PRIu64 " is no multiple of micro_batch %" PRIu64 " x %" PRIu64
                        " replicas; nearest is %" PRIu64,
                        batch, micro, (at_once / micro), nearest);
}

static const char *check_experts(arena *a, const training_row *row)
{
    const uint64_t experts = whole(row, COLUMN_EXPERTS), topk = whole(row, COLUMN_TOPK);
    if (!says(row, COLUMN_EXPERTS) && (says(row, COLUMN_TOPK) || whole(row, COLUMN_EP) > 1))
        return says(row, COLUMN_TOPK)
                   ? "topk without experts: leave it empty where the model has none"
                   : arena_format(a, "ep %s without experts; ep 1 would be", row->fields[COLUMN_EP]);
    return topk <= experts ? NULL
                           : arena_format(a, "topk %s of experts %s; at most %s", row->fields[COLUMN_TOPK],
                                          row->fields[COLUMN_EXPERTS], row->fields[COLUMN_EXPERTS]);
}

static const sharding_word *sharding_of(const training_row *row)
{
    const char *text = row->fields[COLUMN_SHARDING];
    for (size_t i = 0; i < ARRAY_COUNT(shardings); i++)
        if (strcmp(text, shardings[i].word) == 0 || field_goes_on(text, shardings[i].word))
            return &shardings[i];
    return NULL;
}

static const char *check_sharding(arena *a, const training_row *row)
{
    const sharding_word *word = sharding_of(row);
    if (!word || !says(row, COLUMN_ZERO_STAGE)) return NULL;
    const int stage = (int)training_row_number(row, COLUMN_ZERO_STAGE);
    if (stage >= word->least && stage <= word->greatest) return NULL;
    return arena_format(a, "zero_stage %d is not what sharding \"%s\" is; zero_stage %d would be", stage,
                        word->word, stage < word->least ? word->least : word->greatest);
}

int training_zero_stage(const training_row *row)
{
    const sharding_word *word = sharding_of(row);
    if (says(row, COLUMN_ZERO_STAGE)) return (int)training_row_number(row, COLUMN_ZERO_STAGE);
    return word ? word->least : -1;
}

const char *training_layout_refusal(arena *a, const training_row *row)
{
    const char *why = check_shares(a, row);
    if (!why) why = check_gpus(a, row);
    if (!why) why = check_batch(a, row);
    if (!why) why = check_experts(a, row);
    if (!why) why = check_sharding(a, row);
    if (!why && whole(row, COLUMN_VPP) > 1 && says(row, COLUMN_PP) && whole(row, COLUMN_PP) == 1)
        why = arena_format(a, "vpp %s with pp 1; vpp 1 or pp 2 would be", row->fields[COLUMN_VPP]);
    if (!why && strcmp(row->fields[COLUMN_SP], "1") == 0 && says(row, COLUMN_TP) &&
        whole(row, COLUMN_TP) == 1)
        why = "sp 1 with tp 1; sp 0 or tp 2 would be";
    return why;
}
