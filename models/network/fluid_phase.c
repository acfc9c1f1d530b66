// SPDX-License-Identifier: GPL-3.0-or-later
// The bottleneck count. With the option, whatever begins to move gathers until the settle of its instant. There, if nothing
// else moves and maxmin.h's conditions hold (equal sizes, weight 1, no caps, factors 1), all get the rate
//     r = min over links of floor(C_l / n_l)       n_l: of them that cross link l      C_l, r [mB/s]
// which no link is too small for, and end together at ceil(S / r): the instant at which the last of them would end by
// max-min shares, since the link with the least share closes first and its flows keep r to their end. One event and no
// solver; transfers that would have ended earlier are late.
// When something else begins, is cancelled or changes before that, the members become flows of their own with what is left.
// None of them has then moved more than by max-min shares, whose least is r.
#include "models/network/fluid_internal.h"

bool fluid_phase_takes(network *n, uint32_t slot)
{
    fluid_network *f = n->state;
    if (!f->options.bottleneck_count) return false;
    *array_push(&f->gathering, n->arena) = slot;
    f->flows.items[slot].phase_place = f->gathering.count;
    fluid_settle_later(n);
    return true;
}

static bool phase_goes_on(const fluid_network *f)
{
    return f->phase_end.index1 != 0;
}

void fluid_phase_disturb(network *n)
{
    fluid_network *f = n->state;
    if (!phase_goes_on(f)) return;
    f->phase_is_disturbed = true;
    fluid_settle_later(n);
}

void fluid_phase_remove(network *n, uint32_t slot)
{
    fluid_network *f = n->state;
    fluid_flow *flow = &f->flows.items[slot];
    uint32_t place = flow->phase_place - 1;
    bool gathers = place < f->gathering.count && f->gathering.items[place] == slot;
    fluid_id_array *list = gathers ? &f->gathering : &f->phase;
    for (uint32_t c = 0; c < flow->crossing_count && !gathers; c++)
        f->phase_flows[f->pool.items[flow->crossings + c].link]--;
    uint32_t last = list->items[--list->count];
    list->items[place] = last;
    f->flows.items[last].phase_place = place + 1;
    flow->phase_place = 0;
    if (!gathers) fluid_phase_disturb(n);
}

static void enter_all(network *n, fluid_id_array *list)
{
    fluid_network *f = n->state;
    for (uint32_t i = 0; i < list->count; i++) {
        uint32_t slot = list->items[i];
        fluid_flow *flow = &f->flows.items[slot];
        flow->left = fluid_work_left(n, flow);
        flow->since_ps = sim_now(n->sim);
        flow->phase_place = 0;
        fluid_enter(n, slot);
    }
    array_clear(list);
}

static bool fits(const network *n, uint32_t slot, fluid_work work)
{
    const fluid_network *f = n->state;
    const transfer *t = &n->transfers.items[slot];
    const fluid_flow *flow = &f->flows.items[slot];
    bool good = flow->left == work && t->weight == 1 && flow->cap_mBps == MAXMIN_NONE && t->multiplicity == 1;
    for (uint32_t c = 0; c < flow->crossing_count && good; c++)
        good = f->pool.items[flow->crossings + c].factor == 1;
    return good;
}

static bool all_fit(const network *n)
{
    const fluid_network *f = n->state;
    if (f->gathering.count < 2 || maxmin_flow_count(f->solver) > 0 || f->converged.count > 0) return false;
    fluid_work work = f->flows.items[f->gathering.items[0]].left;
    for (uint32_t i = 0; i < f->gathering.count; i++)
        if (!fits(n, f->gathering.items[i], work)) return false;
    return true;
}

// The least share of the links that the gathered flows cross.
static uint64_t least_share(network *n)
{
    fluid_network *f = n->state;
    const uint32_t links = maxmin_link_count(f->solver);
    uint64_t share = MAXMIN_NONE;
    if (!f->phase_flows) f->phase_flows = arena_array(n->arena, uint32_t, links);
    memset(f->phase_flows, 0, links * sizeof *f->phase_flows);
    for (uint32_t i = 0; i < f->gathering.count; i++) {
        const fluid_flow *flow = &f->flows.items[f->gathering.items[i]];
        for (uint32_t c = 0; c < flow->crossing_count; c++)
            f->phase_flows[f->pool.items[flow->crossings + c].link]++;
    }
    for (link_id l = 0; l < links; l++) {
        if (f->phase_flows[l] == 0) continue;
        uint64_t of_link = maxmin_capacity(f->solver, l) / f->phase_flows[l];
        if (of_link < share) share = of_link;
    }
    return share;
}

// False: a link is down, or the clock ends before.
static bool form_phase(network *n)
{
    fluid_network *f = n->state;
    uint64_t rate_mBps = least_share(n);
    if (rate_mBps == 0) return false;
    fluid_work time_ps = maxmin_phase_end(f->flows.items[f->gathering.items[0]].left, rate_mBps);
    sim_time now = sim_now(n->sim);
    if (time_ps > (fluid_work)((SIM_TIME_MAX - now) / 2)) return false;
    fluid_id_array empty = f->phase;
    f->phase = f->gathering;
    f->gathering = empty;
    f->phase_rate_mBps = rate_mBps;
    for (uint32_t i = 0; i < f->phase.count; i++)
        f->flows.items[f->phase.items[i]].rate_mBps = rate_mBps;
    f->phase_end = sim_schedule(n->sim, now + (sim_time)time_ps, f->kind_phase_ends, 0, 0);
    return true;
}

void fluid_phase_settle(network *n)
{
    fluid_network *f = n->state;
    if (phase_goes_on(f) && (f->phase_is_disturbed || f->gathering.count > 0)) {
        sim_cancel(n->sim, f->phase_end);
        f->phase_end = (sim_handle){ 0 };
        enter_all(n, &f->phase);
    }
    f->phase_is_disturbed = false;
    if (f->gathering.count > 0 && !(all_fit(n) && form_phase(n))) enter_all(n, &f->gathering);
}

void fluid_on_phase_ends(sim *s, void *owner, const sim_event *event)
{
    network *n = owner;
    fluid_network *f = n->state;
    (void)s;
    (void)event;
    f->phase_end = (sim_handle){ 0 };
    f->phase_is_disturbed = false;
    f->counters.phases++;
    f->counters.phase_transfers += f->phase.count;
    for (uint32_t i = 0; i < f->phase.count; i++) {
        f->flows.items[f->phase.items[i]].phase_place = 0;
        fluid_finish_moving(n, f->phase.items[i], true);
    }
    array_clear(&f->phase);
}
