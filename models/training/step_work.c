// SPDX-License-Identifier: GPL-3.0-or-later
// Work that goes on while collectives and messages come and go beside it. With L = gpu_ps and L_s = L + slowed_ps[s] for the
// set s of what moves, time t beside s does t L / L_s of the work. What is left is kept in whole picoseconds at full speed and
// taken off where the set changes, rounded so that nothing is done early.
#include "models/training/step_internal.h"

void step_work_begin(lane_state *own, const work *w, blame_cause cause, sim_time start)
{
    own->work = w;
    own->cause = (uint8_t)cause;
    own->work_start = own->settled_ps = start;
    own->work_left = w->gpu_ps;
    for (int g = 0; g < BESIDE_GROUPS; g++)
        own->slowed_ps[g] = 0;
}

// For what is left, from settled_ps on.
static sim_time needed_ps(const lane_state *own)
{
    const work *w = own->work;
    const sim_time more = w->slowed_ps[own->beside];
    if (more == 0 || own->work_left == 0) return own->work_left;
    const __int128 product = (__int128)own->work_left * (w->gpu_ps + more);
    return (sim_time)((product + w->gpu_ps - 1) / w->gpu_ps);
}

// The host launches as fast as ever.
sim_time step_work_end(const lane_state *own)
{
    const sim_time gpu_end = own->settled_ps + needed_ps(own), host_end = own->op_start + own->work->host_ps;
    return gpu_end > host_end ? gpu_end : host_end;
}

// Of the set that moves: which alone would slow the work most; ties: the first.
static beside_group slowest(const lane_state *own)
{
    beside_group most = BESIDE_GROUPS;
    for (int g = 0; g < BESIDE_GROUPS; g++)
        if (own->beside >> g & 1 &&
            (most == BESIDE_GROUPS || own->work->slowed_ps[1 << g] > own->work->slowed_ps[1 << most]))
            most = (beside_group)g;
    return most;
}

void step_work_settle(lane_state *own, sim_time until)
{
    const work *w = own->work;
    const sim_time more = w->slowed_ps[own->beside], needed = needed_ps(own);
    const sim_time passed = until - own->settled_ps, used = passed < needed ? passed : needed;
    SIM_ASSERT(passed >= 0);
    own->settled_ps = until;
    if (more == 0) {
        own->work_left -= used;
        return;
    }
    const sim_time done = used == needed ? own->work_left
                                         : (sim_time)((__int128)used * w->gpu_ps / (w->gpu_ps + more));
    own->work_left -= done;
    own->slowed_ps[slowest(own)] += used - done;
}

// How long it would have taken alone.
static sim_time alone_ps(const lane_state *own)
{
    const sim_time host = own->op_start + own->work->host_ps - own->work_start;
    return host > own->work->gpu_ps ? host : own->work->gpu_ps;
}

sim_time step_work_launch(const lane_state *own)
{
    return alone_ps(own) - own->work->gpu_ps;
}

sim_time step_work_slowed(const lane_state *own, sim_time end)
{
    return end - own->work_start - alone_ps(own);
}

// What hid behind the host's launches is nobody's.
void step_work_charge(step_player *p, lane_id lane, sim_time end)
{
    static const blame_cause causes[] = { [BESIDE_TENSOR] = BLAME_SLOWED_TP,
                                          [BESIDE_DATA] = BLAME_SLOWED_DP,
                                          [BESIDE_PIPELINE] = BLAME_SLOWED_PP };
    const lane_state *own = &p->lanes[lane];
    const work *w = own->work;
    sim_time parts[BLAME_CAUSES] = { 0 }, rest = step_work_slowed(own, end);
    SIM_ASSERT(own->work_left == 0);
    parts[own->cause] = w->gpu_ps - w->recompute_ps;
    parts[BLAME_RECOMPUTE] = w->recompute_ps;
    parts[BLAME_LAUNCH] = step_work_launch(own);
    for (int g = 0; g < BESIDE_GROUPS; g++) {
        parts[causes[g]] = own->slowed_ps[g] < rest ? own->slowed_ps[g] : rest;
        rest -= parts[causes[g]];
    }
    blame_work(p->blame, lane, end, parts);
}
