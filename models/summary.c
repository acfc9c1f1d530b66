// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/breakdown.h"
#include "models/digest.h"
#include <math.h>
#include <stdlib.h>
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
        "per GPU: matrix products, full attention, no recomputation");
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

// What is left of a step when the GPUs' mean time in a cause is taken away.
static double step_without(const summary_input *in, blame_cause cause)
{
    return in->step_s.mean * (1.0 - share_of(in, cause, cause));
}

static void add_causes(arena *a, const summary_input *in, summary_array *out)
{
    const char *what_if = "what would be left of a step if that waiting vanished and nothing else changed";
    const struct {
        const char *metric, *explanation;
        blame_cause from, to;
    } shares[] = {
        { "compute_share", "GPU time spent computing", BLAME_FORWARD, BLAME_CODING },
        { "recompute_share", "GPU time spent computing activations again", BLAME_RECOMPUTE, BLAME_RECOMPUTE },
        { "launch_share", "GPU time spent waiting for the host to launch kernels", BLAME_LAUNCH,
          BLAME_LAUNCH },
        { "bubble_share", "GPU time spent waiting for another stage to hand over", BLAME_BUBBLE,
          BLAME_BUBBLE },
        { "pp_wait_share", "GPU time spent waiting for messages and collectives between stages on their way",
          BLAME_PP_WAIT, BLAME_PP_WAIT },
        { "peer_share", "GPU time spent waiting for others of a group to arrive", BLAME_PEER, BLAME_PEER },
        { "exposed_tp_share", "GPU time spent waiting for tensor-parallel collectives that all had joined",
          BLAME_EXPOSED_TP, BLAME_EXPOSED_TP },
        { "exposed_dp_share", "GPU time spent waiting for data-parallel collectives that all had joined",
          BLAME_EXPOSED_DP, BLAME_EXPOSED_DP },
        { "exposed_communication_share",
          "GPU time spent waiting for collectives that all had joined; what lies between stages is "
          "pp_wait_share",
          BLAME_EXPOSED_TP, BLAME_EXPOSED_CP },
    };
    for (uint32_t i = 0; i < ARRAY_COUNT(shares); i++)
        add(a, out, shares[i].metric, UNIT_NONE, "1", share_of(in, shares[i].from, shares[i].to),
            shares[i].explanation);
    if (in->blame_ps[BLAME_CODING])
        add(a, out, "gradient_coding_share", UNIT_NONE, "1", share_of(in, BLAME_CODING, BLAME_CODING),
            "GPU time spent encoding gradients for their reduction, and decoding them");
    add(a, out, "step_without_bubble", UNIT_TIME, "s", step_without(in, BLAME_BUBBLE), what_if);
    add(a, out, "step_without_exposed_tp", UNIT_TIME, "s", step_without(in, BLAME_EXPOSED_TP), what_if);
    add(a, out, "step_without_exposed_dp", UNIT_TIME, "s", step_without(in, BLAME_EXPOSED_DP), what_if);
}

static void add_healthy(arena *a, const summary_input *in, summary_array *out)
{
    const char *explanation = "length of a step, the first, with all parts healthy, played apart";
    if (in->healthy_known)
        add(a, out, "step_time_healthy", UNIT_TIME, "s", in->healthy_step_s, explanation);
    else
        add_unknown(a, out, "step_time_healthy", UNIT_TIME, "s", in->healthy_reason, explanation);
}

static void add_ideal_bubble(arena *a, const schedule_def *d, summary_array *out)
{
    const char *of_ideal =
        "bubble of this schedule with equal stages, of the time without it: (p - 1) / (m v)";
    const char *of_step = "the same, of the step: (p - 1) / (m v + p - 1)";
    const double more = (double)d->stages - 1.0, passes = (double)d->micro_batches * d->chunks;
    if (d->stages == 1) {
        add_unknown(a, out, "bubble_ideal_of_ideal", UNIT_NONE, "1", "no pipeline", of_ideal);
        add_unknown(a, out, "bubble_ideal_of_step", UNIT_NONE, "1", "no pipeline", of_step);
        return;
    }
    add(a, out, "bubble_ideal_of_ideal", UNIT_NONE, "1", more / passes, of_ideal);
    add(a, out, "bubble_ideal_of_step", UNIT_NONE, "1", more / (passes + more), of_step);
}

// Which of the links carries a byte more may hang on how ranks are folded.
static void add_hottest_link(arena *a, const summary_input *in, summary_array *out)
{
    const char *explanation = "bytes of the link that was used most / what it can carry in that time";
    busy_link_array links = { 0 };
    breakdown_links(a, in, &links);
    if (links.count)
        add(a, out, "hottest_link_busy_share", UNIT_NONE, "1", links.items[0].busy_share, explanation);
    else
        add_unknown(a, out, "hottest_link_busy_share", UNIT_NONE, "1", "no link carried anything",
                    explanation);
    out->items[out->count - 1].is_fact = true;
}

static bool gives(const kernel_time *t, const kernel_use *kernels, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const kernel_shape *k = &kernels[i].shape;
        if (kernels[i].cost.is_given && t->batch == k->batch && t->m == k->m && t->n == k->n &&
            t->k == k->k && strcmp(t->name, k->name) == 0)
            return true;
    }
    return false;
}

// Rows of the user's table that a kernel of the step took its time from.
static uint32_t given_kernels(const world *w)
{
    const kernel_time_array *times = &w->scenario->training.kernel_times;
    uint32_t given = 0;
    for (uint32_t i = 0; i < times->count; i++) {
        bool found = false;
        for (uint32_t c = 0; c < w->costs.chunk_count && !found; c++)
            found = gives(&times->items[i], w->costs.chunks[c]->costs.kernels,
                          w->costs.chunks[c]->costs.kernel_count) ||
                    gives(&times->items[i], w->costs.chunks[c]->costs.coding_kernels,
                          w->costs.chunks[c]->costs.coding_kernel_count);
        for (uint32_t o = 0; o < w->costs.optimizer_count && !found; o++)
            found = gives(&times->items[i], w->costs.optimizers[o]->costs.kernels,
                          w->costs.optimizers[o]->costs.kernel_count);
        given += found;
    }
    return given;
}

static void add_losses(arena *a, const summary_input *in, summary_array *out)
{
    const network_counters n = network_counters_of(in->world->network);
    if (!topology_loses(in->world->fabric)) return;
    add(a, out, "retransmitted_bytes", UNIT_BYTES, "B", (double)n.retransmitted_bytes,
        "what connections sent again in all steps, beside what they had to send");
    add(a, out, "timeouts", UNIT_NONE, "1", (double)n.timeouts,
        "times in all steps that a message waited until its lost end was sent again");
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
    add_healthy(a, in, out);
    add_rates(a, in, out);
    add_causes(a, in, out);
    add_ideal_bubble(a, &in->world->schedule.def, out);
    add_hottest_link(a, in, out);
    add_losses(a, in, out);
    if (s->training.kernel_times.count > 0)
        add(a, out, "kernels_given", UNIT_NONE, "kernels", given_kernels(in->world),
            arena_format(a, "kernels whose time came from the table of training, which has %u",
                         s->training.kernel_times.count));
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
        if (!v->known || v->is_fact) continue;
        memcpy(&bits, &v->value, sizeof(bits));
        const uint64_t words[] = { sim_digest_text(v->metric), bits };
        sim_digest_add(engine, DIGEST_SUMMARY, words, ARRAY_COUNT(words), 1);
    }
}

// Of a kernel set only what this job runs: the products of its format, the tables of its attention.
static bool is_used(const scenario *s, const char *path)
{
    static const char products[] = "cluster.node.gpu.kernels.products[",
                      attention[] = "cluster.node.gpu.kernels."
                                    "attention[";
    const kernel_set_def *set = &s->cluster.node.gpu.kernels;
    if (strncmp(path, products, sizeof products - 1) == 0) {
        const unsigned long i = strtoul(path + sizeof products - 1, NULL, 10);
        return i < set->products.count &&
               kernel_set_products(set, (dtype)s->training.precision) == &set->products.items[i];
    }
    if (strncmp(path, attention, sizeof attention - 1) != 0) return true;
    const unsigned long i = strtoul(path + sizeof attention - 1, NULL, 10);
    if (s->training.attention == ATTENTION_UNFUSED || i >= set->attention.count) return false;
    const attention_program named = attention_program_of(s->training.attention);
    const int wanted = named == PROGRAM_FLASH ? set->flash : (int)named;
    return set->attention.items[i].program == wanted && !set->attention.items[i].full_mask;
}

// NICs of a single node carry nothing.
void summary_usual_costs(arena *a, const scenario *s, assumption_array *out)
{
    for (uint32_t i = 0; i < s->usual_costs.count; i++) {
        const usual_costs *usual = &s->usual_costs.items[i];
        if (!s->cluster.fabric.given && strstr(usual->path, ".nic.")) continue;
        *array_push(out,
                    a) = (assumption){ .path = usual->path, .value = usual->name, .source = usual->rule };
    }
}

void summary_assumptions(arena *a, const scenario *s, assumption_array *out)
{
    const bind_provenance_array *all = bind_reader_provenance(s->reader);
    for (uint32_t i = 0; i < all->count; i++) {
        const bind_provenance *p = &all->items[i];
        if (p->grade == GRADE_ASSUMED && cluster_rests_on(&s->cluster, p->field) && is_used(s, p->path))
            *array_push(out, a) = (assumption){ .path = p->path, .value = p->value, .source = p->source };
    }
}
