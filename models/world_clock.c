// SPDX-License-Identifier: GPL-3.0-or-later
// A bound from above: all stages one after another, all collectives and messages one after another, each with the worst of
// every term: the slowest protocol, the longest links, all of its bytes over the slowest of them. In floating point, because
// what the clock cannot hold overflows integers too.
#include "models/world_clock.h"
#include "models/network/routing.h"
#include <math.h>

typedef struct worst { // of the library's terms and of the fabric's links
    double base_s, hop_s, path_s, slowest_Bps, payload_ratio;
} worst;

static worst worst_of(const world *w)
{
    const collective_terms *terms = &w->scenario->network.collectives;
    double link_s = 0.0;
    worst x = { .base_s = units_s_from_ps(terms->send_recv_base_ps),
                .slowest_Bps = INFINITY,
                .payload_ratio = 1.0 };
    for (int p = 0; p < PROTOCOLS; p++) {
        x.base_s = fmax(x.base_s, units_s_from_ps(terms->ring[p].base_ps));
        x.payload_ratio = fmin(x.payload_ratio, terms->ring[p].payload_ratio);
        for (int class = 0; class < LINK_CLASSES; class ++)
            x.hop_s = fmax(x.hop_s, units_s_from_ps(terms->ring[p].hop_ps[class]));
    }
    x.base_s = fmax(x.base_s, units_s_from_ps(terms->nvls.base_ps));
    for (gpu_id g = 0; g < topology_gpu_count(w->fabric); g++) {
        const uint64_t rate_mBps = topology_nvls_rate_mBps(w->fabric, topology_gpu_vertex(w->fabric, g));
        if (rate_mBps > 0) x.slowest_Bps = fmin(x.slowest_Bps, (double)rate_mBps / 1000.0);
    }
    for (link_id l = 0; l < topology_link_count(w->fabric); l++) {
        const topology_link *link = topology_link_at(w->fabric, l);
        link_s = fmax(link_s, units_s_from_ps(link->delay_ps));
        x.slowest_Bps = fmin(x.slowest_Bps, (double)link->rate_mBps / 1000.0);
    }
    x.path_s = route_longest(w->fabric) * link_s; // its length is in links
    return x;
}

static double collective_s(const worst *x, uint32_t ranks, uint64_t bytes)
{
    const double steps = 2.0 * ranks;
    return x->base_s + steps * (x->hop_s + x->path_s) +
           2.0 * (double)bytes / x->payload_ratio / x->slowest_Bps;
}

static double tensor_calls_s(const world *w, const worst *x, const tensor_call *calls, uint32_t index)
{
    return collective_s(x, w->lanes.sizes.tensor, calls[index].bytes);
}

static double pass_s(const world *w, const worst *x, const chunk_costs *costs, const pass_plan *items)
{
    double sum_s = 0.0, host_s = 0.0;
    for (uint32_t i = 0; i < items->item_count; i++) {
        const pass_item *item = &items->items[i];
        if (item->kind == ITEM_WORK) {
            sum_s += units_s_from_ps(costs->works[item->index].gpu_ps);
            host_s = fmax(host_s, units_s_from_ps(costs->works[item->index].host_ps));
        } else if (item->kind == ITEM_TENSOR) {
            sum_s += tensor_calls_s(w, x, costs->tensor_calls, item->index);
        }
    }
    return sum_s + host_s;
}

static double stage_s(const world *w, const worst *x, uint32_t stage, const stage_costs *costs)
{
    const program *program_ = &w->programs[stage];
    const double micro_batches = w->schedule.def.micro_batches;
    double sum_s = units_s_from_ps(costs->optimizer->gpu_ps) + units_s_from_ps(costs->optimizer->host_ps);
    for (uint32_t c = 0; c < w->stages.chunks; c++)
        sum_s += micro_batches * (pass_s(w, x, costs->chunks[c], &costs->chunks[c]->first_forward) +
                                  pass_s(w, x, costs->chunks[c], &costs->chunks[c]->last_backward));
    for (uint32_t i = 0; i < program_->data_calls.count; i++)
        sum_s += collective_s(x, w->lanes.sizes.data, program_->data_calls.items[i].bytes);
    for (uint32_t i = 0; i < program_->tensor_calls.count; i++)
        sum_s += tensor_calls_s(w, x, program_->tensor_calls.items, i);
    const double restart_s = units_s_from_ps(roofline_launch_ps(w->gpu)) * PROGRAM_RESTART_CALLS;
    return sum_s + program_->moves.count * (collective_s(x, 2, program_->message_bytes) + restart_s) +
           collective_s(x, 2, program_->table_bytes) + collective_s(x, w->lanes.sizes.pipeline, 4);
}

static double step_s(const world *w)
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

bool world_check_clock(const world *w, sim_error *error)
{
    const scenario *s = w->scenario;
    const double of_step_s = step_s(w), clock_s = units_s_from_ps(SIM_TIME_MAX) / 2.0;
    if (of_step_s * s->run.steps <= clock_s) return true;
    char step[32];
    units_format(UNIT_TIME, of_step_s, step, sizeof(step));
    sim_fail(error, SIM_EXIT_INPUT, bind_place_of(s->reader, &s->run.steps),
             "%u steps of up to %s are more than the 53 days that the clock of a step simulation may run",
             s->run.steps, step);
    if (of_step_s <= clock_s) return sim_hint(error, "steps: %.0f", floor(clock_s / of_step_s));
    return sim_hint(error, "rates, latencies or sizes are out of range");
}
