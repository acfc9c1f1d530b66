// SPDX-License-Identifier: GPL-3.0-or-later
// A bound from above: all stages one after another, all collectives and messages one after another, each as long as it takes
// alone on the slowest of its groups' layouts, and all of its bytes at the least share of a link that is left to it while
// all others talk too (world_shares.h). A step waits for each of them once in each stage at most, for it goes through the
// operations of a stage in their order, on whichever lane. In floating point, because what the clock cannot hold overflows
// integers too.
#include "models/world_clock.h"
#include "models/collective/pace.h"
#include "models/collective/tuner.h"
#include "models/network/routing.h"
#include "models/world_shares.h"
#include <math.h>

enum { NORM_BYTES = 4 }; // one fp32 number, over the stages

typedef struct worst { // of the library's terms and of the fabric's links
    double cap_Bps, wire_ratio, late;
    world_shares shares;
    double path_links;           // at most
    double messages, pair_bytes; // of two neighbour stages, one way: on their way at once, in a step
} worst;

static worst worst_of(const world *w)
{
    const collective_library *library = &w->scenario->network.collectives;
    worst x = { .cap_Bps = (double)topology_connection_cap_mBps(w->fabric, 1) / 1000.0,
                .wire_ratio = 1.0,
                .late = 1.0 + w->scenario->network.completion_window,
                .shares = world_find_shares(w) };
    for (int p = 0; p < PROTOCOLS; p++)
        x.wire_ratio = fmax(x.wire_ratio, library->kernels.cuts[p].wire_ratio);
    x.path_links = route_longest(w->fabric);
    // A stage is ahead of its neighbours by no more micro-batches than it is in the middle of.
    for (uint32_t stage = 0; stage < w->stages.stages; stage++)
        x.messages = fmax(x.messages, schedule_peak_in_flight(&w->schedule, stage));
    x.pair_bytes = (double)w->schedule.def.chunks * w->schedule.def.micro_batches *
                   (double)w->programs[0].message_bytes * x.late * x.wire_ratio;
    return x;
}

// The longest that a group of this kind takes alone, and how many buffers cross a link: a ring puts two on it, edges of trees
// that leave by one NIC four times as many at most; each with what its protocol adds.
static double alone_s(const world *w, collective_kind kind, uint64_t bytes, const layout_list *layouts,
                      double *buffers)
{
    const collective_library *library = &w->scenario->network.collectives;
    double longest_s = 0.0;
    *buffers = 0.0;
    for (uint32_t i = 0; i < layouts->count; i++) {
        const collective_layout *l = &layouts->items[i];
        const collective_choice choice = tuner_choose(library, l, kind, bytes,
                                                      scenario_forced_algorithm(w->scenario),
                                                      scenario_forced_protocol(w->scenario));
        const collective_pace pace = pace_of(library, l, kind, choice.algorithm, choice.protocol, bytes);
        longest_s = fmax(longest_s, units_s_from_ps(pace_time_ps(&pace)));
        const bool tree = choice.algorithm == ALGORITHM_TREE || choice.algorithm == ALGORITHM_NVLS_TREE;
        *buffers = fmax(*buffers, (tree ? 8.0 : 2.0) * library->kernels.cuts[choice.protocol].wire_ratio);
    }
    return longest_s;
}

// Whatever shares a link with it has no more than it has, so that messages between stages delay it by as many bytes as it
// moves for each that may be on its way, or by all of the step's on every link of its path.
static double collective_s(const world *w, const worst *x, collective_kind kind, uint64_t bytes,
                           const link_share *share)
{
    double buffers;
    const double lone_s = alone_s(w, kind, bytes, share->layouts, &buffers);
    const double edge_bytes = buffers * (double)bytes * x->late;
    const double message_bytes = fmin(edge_bytes * x->messages, x->path_links * x->pair_bytes);
    return x->late * lone_s + edge_bytes / fmin(share->of_edge_Bps, x->cap_Bps) +
           message_bytes / share->of_pair_Bps;
}

static double tensor_calls_s(const world *w, const worst *x, const tensor_call *calls, uint32_t index)
{
    return collective_s(w, x, calls[index].kind, calls[index].bytes, &x->shares.tensor);
}

static double pass_s(const world *w, const worst *x, const chunk_costs *costs, const pass_plan *items)
{
    double sum_s = 0.0, host_s = 0.0;
    for (uint32_t i = 0; i < items->item_count; i++) {
        const pass_item *item = &items->items[i];
        if (item->kind == ITEM_WORK) {
            const work *done = &costs->works[item->index];
            sum_s += units_s_from_ps(done->gpu_ps);
            if (x) sum_s += units_s_from_ps(done->slowed_ps[BESIDE_SETS - 1]);
            host_s = fmax(host_s, units_s_from_ps(done->host_ps));
        } else if (item->kind == ITEM_TENSOR && x) {
            sum_s += tensor_calls_s(w, x, costs->tensor_calls, item->index);
        }
    }
    return x ? sum_s + host_s : sum_s;
}

// Without x: what the GPU computes alone.
static double passes_s(const world *w, const worst *x, const stage_costs *costs)
{
    double sum_s = 0.0;
    for (uint32_t c = 0; c < w->stages.chunks; c++)
        sum_s += pass_s(w, x, costs->chunks[c], &costs->chunks[c]->first_forward) +
                 pass_s(w, x, costs->chunks[c], &costs->chunks[c]->last_backward);
    return w->schedule.def.micro_batches * sum_s;
}

static double stage_s(const world *w, const worst *x, uint32_t stage, const stage_costs *costs)
{
    const program *program_ = &w->programs[stage];
    double sum_s = units_s_from_ps(costs->optimizer->gpu_ps) + units_s_from_ps(costs->optimizer->host_ps) +
                   passes_s(w, x, costs);
    for (uint32_t i = 0; i < program_->data_calls.count; i++)
        sum_s += collective_s(w, x, program_->data_calls.items[i].kind, program_->data_calls.items[i].bytes,
                              &x->shares.data);
    for (uint32_t i = 0; i < program_->ops.count; i++) {
        const program_op *op = &program_->ops.items[i];
        if (op->kind != OP_CODE) continue;
        const work *done = &costs->chunks[op->chunk]->works[op->first];
        sum_s += units_s_from_ps(done->gpu_ps) + units_s_from_ps(done->host_ps);
        if (x) sum_s += units_s_from_ps(done->slowed_ps[BESIDE_SETS - 1]);
    }
    for (uint32_t i = 0; i < program_->tensor_calls.count; i++)
        sum_s += tensor_calls_s(w, x, program_->tensor_calls.items, i);
    const double restart_s = units_s_from_ps(roofline_launch_ps(w->gpu)) * PROGRAM_RESTART_CALLS;
    const link_share *pipeline = &x->shares.pipeline;
    return sum_s +
           program_->moves.count *
               (collective_s(w, x, COLLECTIVE_SEND_RECV, program_->message_bytes, pipeline) + restart_s) +
           collective_s(w, x, COLLECTIVE_ALL_REDUCE, program_->table_bytes, pipeline) +
           collective_s(w, x, COLLECTIVE_ALL_REDUCE, NORM_BYTES, pipeline);
}

double world_longest_step_s(const world *w)
{
    const worst x = worst_of(w);
    double sum_s = 0.0;
    for (uint32_t stage = 0; stage < w->stages.stages; stage++) {
        double longest_s = 0.0;
        for (uint32_t i = 0; i < w->costs.stage_count; i++) {
            const costed_stage *costs = w->costs.stages[i];
            if (costs->stage == stage) longest_s = fmax(longest_s, stage_s(w, &x, stage, &costs->costs));
        }
        sum_s += longest_s;
    }
    return sum_s;
}

// What the GPU that computes longest computes.
static double least_step_s(const world *w)
{
    double least_s = 0.0;
    for (uint32_t i = 0; i < w->costs.stage_count; i++)
        least_s = fmax(least_s, passes_s(w, NULL, &w->costs.stages[i]->costs));
    return least_s;
}

bool world_check_clock(const world *w, sim_error *error)
{
    const scenario *s = w->scenario;
    const double clock_s = units_s_from_ps(WORLD_CLOCK_PS), longest_s = world_longest_step_s(w);
    const double least_s = least_step_s(w);
    const sim_place *where = bind_place_of(s->reader, &s->run.steps);
    char step[32];
    units_format(UNIT_TIME, longest_s > clock_s ? longest_s : least_s, step, sizeof(step));
    if (longest_s > clock_s) {
        sim_fail(error, SIM_EXIT_INPUT, where,
                 "a step of up to %s is more than the 53 days that the clock of a step simulation may run",
                 step);
        return sim_hint(error, "rates, latencies or sizes are out of range");
    }
    if (least_s * s->run.steps <= clock_s) return true;
    sim_fail(error, SIM_EXIT_INPUT, where,
             "%u steps of at least %s are more than the 53 days that the clock of a step simulation may run",
             s->run.steps, step);
    return sim_hint(error, "steps: %.0f", floor(clock_s / least_s));
}
