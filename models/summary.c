// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/summary.h"
#include "models/digest.h"
#include <string.h>

static void add(arena *a, summary_array *out, const char *metric, unit_kind kind, const char *unit,
                double value, const char *explanation)
{
    *array_push(out, a) = (summary_value){ .metric = metric,
                                           .kind = kind,
                                           .unit = unit,
                                           .known = true,
                                           .value = value,
                                           .explanation = explanation };
}

static void add_unknown(arena *a, summary_array *out, const char *metric, unit_kind kind, const char *unit,
                        const char *reason, const char *explanation)
{
    *array_push(out, a) = (summary_value){
        .metric = metric, .kind = kind, .unit = unit, .reason = reason, .explanation = explanation
    };
}

// By distinct costs, not by lanes, so that the sum is rounded alike however ranks are folded.
double summary_executed_flop(const world *w)
{
    const double micro_batches = (double)scenario_micro_batches(w->scenario);
    double flop = 0.0;
    for (uint32_t c = 0; c < w->costs.chunk_count; c++)
        flop += w->costs.chunks[c]->costs.flop * micro_batches * (double)w->costs.chunks[c]->users;
    return flop;
}

static void add_rates(arena *a, const summary_input *in, summary_array *out)
{
    const scenario *s = in->world->scenario;
    const double step_s = in->step_s.mean;
    const double gpus = s->plan.gpus;
    const double tokens = (double)(s->training.global_batch * s->training.sequence_length);
    const double peak = s->cluster.node.gpu.peak_flops[s->training.precision];
    const double per_token = tokens / step_s / gpus;
    const uint64_t length = s->training.sequence_length;
    const double model_full = llm_flop_per_token(&s->model, length, FLOP_MODEL_FULL) * per_token;
    const double model_causal = llm_flop_per_token(&s->model, length, FLOP_MODEL_CAUSAL) * per_token;
    const double six_n = llm_flop_per_token(&s->model, length, FLOP_6N) * per_token;
    const double executed = summary_executed_flop(in->world) / (gpus * step_s);

    add(a, out, "tokens_per_s", UNIT_NONE, "tokens/s", tokens / step_s, "tokens of all replicas per second");
    add(a, out, "tokens_per_s_per_gpu", UNIT_NONE, "tokens/s", per_token, "the same per GPU");
    add(a, out, "model_flops", UNIT_FLOPS, "FLOP/s", model_full,
        "per GPU: the model's matrix products, attention over the full square, no recomputation");
    add(a, out, "mfu", UNIT_NONE, "1", model_full / peak, "model_flops / data-sheet peak of the precision");
    add(a, out, "model_flops_causal", UNIT_FLOPS, "FLOP/s", model_causal,
        "per GPU: the same with attention over the lower triangle only");
    add(a, out, "mfu_causal", UNIT_NONE, "1", model_causal / peak, "model_flops_causal / data-sheet peak");
    add(a, out, "mfu_6n", UNIT_NONE, "1", six_n / peak,
        "6 x parameters per token, no attention / data-sheet peak");
    add(a, out, "hardware_flops", UNIT_FLOPS, "FLOP/s", executed,
        "per GPU: FLOP really executed, recomputation included");
    add(a, out, "hfu", UNIT_NONE, "1", executed / peak, "hardware_flops / data-sheet peak");
}

static double share_of(const summary_input *in, blame_cause from, blame_cause to)
{
    unsigned __int128 sum = 0;
    for (int cause = (int)from; cause <= (int)to; cause++)
        sum += in->blame_ps[cause];
    return in->gpu_time_ps ? (double)sum / (double)in->gpu_time_ps : 0.0;
}

void summary_build(arena *a, const summary_input *in, summary_array *out)
{
    const scenario *s = in->world->scenario;
    const uint64_t capacity = s->cluster.node.gpu.memory_bytes;
    const double need_bytes = (double)world_fullest(&in->world->memory)->total_bytes;
    if (in->step_s.count == 0) {
        add_unknown(a, out, "step_time", UNIT_TIME, "s", "no step was finished", "mean length of a step");
        return;
    }
    add(a, out, "step_time", UNIT_TIME, "s", in->step_s.mean, "mean length of a step");
    add(a, out, "step_time_least", UNIT_TIME, "s", in->step_s.least, "the shortest step");
    add(a, out, "step_time_greatest", UNIT_TIME, "s", in->step_s.greatest, "the longest step");
    add_rates(a, in, out);
    add(a, out, "compute_share", UNIT_NONE, "1", share_of(in, BLAME_FORWARD, BLAME_OPTIMIZER),
        "GPU time spent computing");
    add(a, out, "recompute_share", UNIT_NONE, "1", share_of(in, BLAME_RECOMPUTE, BLAME_RECOMPUTE),
        "GPU time spent computing activations again");
    add(a, out, "launch_share", UNIT_NONE, "1", share_of(in, BLAME_LAUNCH, BLAME_LAUNCH),
        "GPU time spent waiting for the host to launch kernels");
    add(a, out, "exposed_communication_share", UNIT_NONE, "1",
        share_of(in, BLAME_EXPOSED_TP, BLAME_EXPOSED_CP),
        "GPU time spent waiting for collectives that all had joined");
    add(a, out, "memory_need", UNIT_BYTES, "B", need_bytes, "memory of one GPU in use");
    add(a, out, "memory_share", UNIT_NONE, "1", need_bytes / (double)capacity, "of the GPU's capacity");
    add_unknown(a, out, "energy_per_step", UNIT_NONE, "J", "power is not modelled in this version",
                "energy of all GPUs in a step");
    add_unknown(a, out, "cost_per_step", UNIT_NONE, "USD", "prices are not modelled in this version",
                "cost of a step");
}

const summary_value *summary_find(const summary_array *s, const char *metric)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (strcmp(s->items[i].metric, metric) == 0) return &s->items[i];
    return NULL;
}

void summary_digest(const summary_array *s, sim *engine)
{
    for (uint32_t i = 0; i < s->count; i++) {
        const summary_value *v = &s->items[i];
        uint64_t bits = 0;
        if (!v->known) continue;
        memcpy(&bits, &v->value, sizeof(bits));
        const uint64_t words[] = { sim_digest_text(v->metric), bits };
        sim_digest_add(engine, DIGEST_SUMMARY, words, ARRAY_COUNT(words), 1);
    }
}

void summary_assumptions(arena *a, const scenario *s, assumption_array *out)
{
    const bind_provenance_array *all = bind_reader_provenance(s->reader);
    for (uint32_t i = 0; i < all->count; i++) {
        const bind_provenance *p = &all->items[i];
        if (p->grade == GRADE_ASSUMED && cluster_rests_on(&s->cluster, p->field))
            *array_push(out, a) = (assumption){ .path = p->path, .value = p->value, .source = p->source };
    }
}
