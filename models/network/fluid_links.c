// SPDX-License-Identifier: GPL-3.0-or-later
// Links that change, and the bytes that each link has carried. A change of capacity counts at once; what it means for
// routing comes later, and all changes of one instant are applied together at its settle, so that their order cannot show.
#include "models/network/fluid_internal.h"

// ---- bytes

// The share of a crossing in what the flow has moved.
static uint64_t bytes_of(const fluid_flow *flow, const fluid_crossing *crossing, uint64_t moved_bytes)
{
    if (crossing->bytes == flow->pace_bytes) return moved_bytes;
    return (uint64_t)((fluid_work)crossing->bytes * moved_bytes / flow->pace_bytes);
}

// Of its work, in whole bytes.
static uint64_t moved_until_now(const network *n, const fluid_flow *flow)
{
    fluid_work left = fluid_work_left(n, flow);
    return flow->pace_bytes - (uint64_t)((left + FLUID_WORK_PER_BYTE - 1) / FLUID_WORK_PER_BYTE);
}

// What is sent again counts when it is new again, so that no link's bytes ever fall.
static uint64_t countable(const network *n, const fluid_flow *flow)
{
    uint64_t moved = moved_until_now(n, flow);
    return moved > flow->counted_bytes ? moved : flow->counted_bytes;
}

void fluid_count_links(network *n, uint32_t slot, bool to_end)
{
    const fluid_network *f = n->state;
    fluid_flow *flow = &f->flows.items[slot];
    uint64_t moved = to_end ? flow->pace_bytes : countable(n, flow);
    for (uint32_t i = 0; i < flow->crossing_count; i++) {
        const fluid_crossing *crossing = &f->pool.items[flow->crossings + i];
        uint64_t bytes = bytes_of(flow, crossing, moved) - bytes_of(flow, crossing, flow->counted_bytes);
        n->link_bytes[crossing->link] += bytes;
    }
    flow->counted_bytes = moved;
}

void fluid_carry(network *n, uint32_t slot, uint64_t times)
{
    const fluid_network *f = n->state;
    fluid_find_path(n, slot);
    for (uint32_t i = 0; i < f->path.count; i++)
        n->link_bytes[f->path.items[i].link] += f->path.items[i].bytes * times;
}

static const fluid_crossing *crossing_at(const fluid_network *f, const fluid_flow *flow, link_id l)
{
    const fluid_crossing *crossing = &f->pool.items[flow->crossings];
    while (crossing->link != l)
        crossing++;
    return crossing;
}

// Carried so far by a link, or by a bundle since its members changed.
static uint64_t carried_by(const network *n, uint32_t link)
{
    const fluid_network *f = n->state;
    uint64_t bytes = n->link_bytes[link];
    for (uint32_t i = 0; i < maxmin_flows_on(f->solver, link); i++) {
        uint32_t slot = f->slot_of_flow.items[maxmin_flow_on(f->solver, link, i)];
        const fluid_flow *flow = &f->flows.items[slot];
        const fluid_crossing *crossing = crossing_at(f, flow, link);
        bytes += bytes_of(flow, crossing, countable(n, flow)) - bytes_of(flow, crossing, flow->counted_bytes);
    }
    if (f->phase_end.index1 != 0) { // all members have moved the same, and are counted together
        const fluid_flow *member = &f->flows.items[f->phase.items[0]];
        bytes += f->phase_flows[link] * (countable(n, member) - member->counted_bytes);
    }
    return bytes;
}

// Of what a bundle has carried, the part of its member l: in proportion to capacity, to the byte.
static uint64_t member_part(const fluid_network *f, const bundle_members *m, link_id l, uint64_t bytes)
{
    fluid_work before = 0, through = 0, all = 0;
    for (uint32_t i = 0; i < m->count; i++) {
        const link_id member = m->first + 2 * i;
        const uint64_t capacity = fabric_capacity_mBps(f->fabric, member);
        if (member < l) before += capacity;
        if (member <= l) through += capacity;
        all += capacity;
    }
    if (all == 0)
        return l == m->first ? bytes : 0; // nothing moves on it; of what did, only a rounding is left
    // Rates are below 2^63 and a bundle has fewer than 2^32 members: the parts are taken in units of all / 2^63 at least.
    while (all >> 63) {
        all >>= 1;
        before >>= 1;
        through >>= 1;
    }
    return (uint64_t)(bytes * through / all - bytes * before / all);
}

uint64_t fluid_link_bytes(const network *n, link_id l)
{
    const uint32_t bundle = topology_bundle_of_link(n->topology, l);
    uint64_t bytes = carried_by(n, l);
    if (bundle == NO_ID) return bytes;
    const bundle_members m = topology_bundle_members(n->topology, bundle);
    return bytes + member_part(n->state, &m, l, carried_by(n, bundle));
}

// Before a member of a bundle changes: what it has carried until now is dealt out.
static void deal_out(network *n, uint32_t bundle)
{
    const fluid_network *f = n->state;
    for (uint32_t i = 0; i < maxmin_flows_on(f->solver, bundle); i++)
        fluid_count_links(n, f->slot_of_flow.items[maxmin_flow_on(f->solver, bundle, i)], false);
    for (uint32_t i = 0; i < f->phase.count; i++)
        fluid_count_links(n, f->phase.items[i], false);
    const bundle_members m = topology_bundle_members(n->topology, bundle);
    for (uint32_t i = 0; i < m.count; i++) {
        const link_id l = m.first + 2 * i;
        n->link_bytes[l] += member_part(f, &m, l, n->link_bytes[bundle]);
    }
    n->link_bytes[bundle] = 0;
}

uint64_t fluid_link_rate_mBps(const network *n, uint32_t link_or_bundle)
{
    const fluid_network *f = n->state;
    SIM_ASSERT(n->ops->engine == ENGINE_FLUID && link_or_bundle < maxmin_link_count(f->solver));
    uint64_t rate_mBps = maxmin_load(f->solver, link_or_bundle);
    if (f->phase_end.index1 != 0) rate_mBps += f->phase_flows[link_or_bundle] * f->phase_rate_mBps;
    return rate_mBps;
}

bool fluid_stuck(const network *n, uint32_t slot, uint32_t *down)
{
    const fluid_network *f = n->state;
    const fluid_flow *flow = &f->flows.items[slot];
    *down = NO_ID;
    if (flow->stage == FLUID_LOST) return flow->event.index1 == 0;
    if (flow->stage != FLUID_MOVING || flow->phase_place > 0 || flow->event.index1 != 0) return false;
    for (uint32_t i = 0; i < flow->crossing_count && *down == NO_ID; i++) {
        uint32_t link = f->pool.items[flow->crossings + i].link;
        if (maxmin_capacity(f->solver, link) == 0) *down = link;
    }
    return !f->settle_is_due;
}

// ---- changes

static void update_capacity(network *n, uint32_t link_or_bundle)
{
    fluid_network *f = n->state;
    maxmin_set_capacity(f->solver, link_or_bundle, fabric_capacity_mBps(f->fabric, link_or_bundle));
}

// Routing follows the latest change. Where it has not yet followed the one before, it has nothing to learn any more.
static void schedule_convergence(network *n, link_id l)
{
    fluid_network *f = n->state;
    const sim_time reroute_ps = topology_policy(n->topology)->reroute_ps, now = sim_now(n->sim);
    if (!f->convergences)
        f->convergences = arena_array(n->arena, sim_handle, topology_link_count(n->topology));
    if (sim_pending(n->sim, f->convergences[l])) {
        sim_cancel(n->sim, f->convergences[l]);
        f->convergences[l] = (sim_handle){ 0 };
    } else if (reroute_ps <= SIM_TIME_MAX - now && reroute_ps != SIM_TIME_MAX) {
        f->convergences[l] = sim_schedule(n->sim, now + reroute_ps, f->kind_converges, l, 0);
    }
}

void fluid_set_link(network *n, link_id l, double ratio)
{
    fluid_network *f = n->state;
    const bool up = ratio > 0.0, was_up = fabric_is_up(f->fabric, l);
    const uint32_t bundle = topology_bundle_of_link(n->topology, l);
    const uint64_t before_mBps = fabric_capacity_mBps(f->fabric, l);
    if (bundle != NO_ID) deal_out(n, bundle);
    fabric_set_up(f->fabric, l, up);
    if (up) fabric_set_rate_ratio(f->fabric, l, ratio);
    if (up == was_up && fabric_capacity_mBps(f->fabric, l) == before_mBps) return;
    f->changes++;
    update_capacity(n, l);
    if (bundle != NO_ID) update_capacity(n, bundle);
    fluid_settle_later(n);
    fluid_phase_disturb(n);
    if (up == was_up) return;
    if (!up) *array_push(&f->died, n->arena) = l;
    if (topology_policy(n->topology)->routing == ROUTING_ADAPTIVE) *array_push(&f->adapted, n->arena) = l;
    schedule_convergence(n, l);
}

void fluid_on_converges(sim *s, void *owner, const sim_event *event)
{
    network *n = owner;
    fluid_network *f = n->state;
    (void)s;
    f->convergences[event->target] = (sim_handle){ 0 };
    *array_push(&f->converged, n->arena) = event->target;
    fluid_settle_later(n);
    fluid_phase_disturb(n);
}

// What was on the way when a link of the path died, at the rate it had: the bytes of one round trip.
//     resent = min(x 2 delay, moved on this path)      x [B/s]   delay: the sum of the path's links, one way [s]
// Of a stream, the delay of its longest path; all of it sends again, for its strands keep pace.
static void resend(network *n, uint32_t slot)
{
    fluid_network *f = n->state;
    fluid_flow *flow = &f->flows.items[slot];
    fluid_work in_flight = (fluid_work)flow->rate_mBps * 2 * (uint64_t)flow->delay_ps / FLUID_WORK_PER_BYTE;
    uint64_t moved = moved_until_now(n, flow) - flow->path_bytes;
    uint64_t bytes = in_flight < moved ? (uint64_t)in_flight : moved;
    fluid_count_links(n, slot, false);
    flow->left += (fluid_work)bytes * FLUID_WORK_PER_BYTE;
    n->counters.retransmitted_bytes += bytes * n->transfers.items[slot].multiplicity;
}

static void resend_of_link(network *n, link_id l)
{
    fluid_network *f = n->state;
    if (fabric_is_up(f->fabric, l)) return; // it died and returned within the instant
    for (uint32_t i = 0; i < maxmin_flows_on(f->solver, l); i++) {
        uint32_t slot = f->slot_of_flow.items[maxmin_flow_on(f->solver, l, i)];
        fluid_flow *flow = &f->flows.items[slot];
        if (flow->resent_ps == sim_now(n->sim)) continue; // it crosses another link that died
        flow->resent_ps = sim_now(n->sim);
        resend(n, slot);
    }
}

// ---- other paths

// The same path, but of a bundle other members are left, with other losses.
static void limit_again(network *n, uint32_t slot, uint64_t cap_mBps)
{
    const fluid_network *f = n->state;
    fluid_flow *flow = &f->flows.items[slot];
    if (flow->cap_mBps == cap_mBps) return;
    flow->left = fluid_work_left(n, flow);
    flow->since_ps = sim_now(n->sim);
    flow->cap_mBps = cap_mBps;
    fluid_leave(n, slot);
    fluid_enter(n, slot);
}

// The flow looks for its path again, with what it has left to do.
static void divert(network *n, uint32_t slot)
{
    fluid_network *f = n->state;
    fluid_flow *flow = &f->flows.items[slot];
    const fluid_work left = fluid_work_left(n, flow);
    const uint64_t whole = flow->pace_bytes;
    fluid_demand demand = fluid_find_path(n, slot);
    flow->strays = demand.strays;
    if (left == 0) return;
    if (fluid_path_is_same(n, slot)) {
        limit_again(n, slot, demand.cap_mBps);
        return;
    }
    fluid_count_links(n, slot, false);
    fluid_leave(n, slot);
    fluid_forget_path(n, slot);
    // A stream's pace edge may be another one now: the same share of its work is left.
    flow->left = left / whole * demand.pace_bytes + left % whole * demand.pace_bytes / whole;
    flow->counted_bytes = (uint64_t)((fluid_work)flow->counted_bytes * demand.pace_bytes / whole);
    flow->since_ps = sim_now(n->sim);
    flow->pace_bytes = demand.pace_bytes;
    flow->path_bytes = moved_until_now(n, flow);
    flow->cap_mBps = demand.cap_mBps;
    flow->delay_ps = demand.delay_ps;
    flow->tail_ps = demand.tail_ps;
    fluid_store_path(n, slot);
    fluid_enter(n, slot);
    f->counters.reroutes++;
}

// Flows of a link (or of the bundle of one) that is shut look for another path; when one is back, all that are off theirs
// look again.
static void follow(network *n, uint32_t link_or_bundle, bool shut)
{
    fluid_network *f = n->state;
    array_clear(&f->diverted);
    if (shut) {
        for (uint32_t i = 0; i < maxmin_flows_on(f->solver, link_or_bundle); i++)
            *array_push(&f->diverted,
                        n->arena) = f->slot_of_flow.items[maxmin_flow_on(f->solver, link_or_bundle, i)];
    } else {
        for (uint32_t slot = 0; slot < f->flows.count; slot++)
            if (f->flows.items[slot].solver_flow != NO_ID && f->flows.items[slot].strays)
                *array_push(&f->diverted, n->arena) = slot;
    }
    for (uint32_t i = 0; i < f->diverted.count; i++)
        divert(n, f->diverted.items[i]);
}

void fluid_apply_changes(network *n)
{
    fluid_network *f = n->state;
    for (uint32_t i = 0; i < f->died.count && f->options.resends; i++)
        resend_of_link(n, f->died.items[i]);
    array_clear(&f->died);
    f->changes += f->converged.count;
    for (uint32_t i = 0; i < f->converged.count; i++) // all, before any flow looks for a path
        fabric_set_avoided(f->fabric, f->converged.items[i], !fabric_is_up(f->fabric, f->converged.items[i]));
    for (uint32_t i = 0; i < f->converged.count; i++)
        follow(n, f->converged.items[i], fabric_is_avoided(f->fabric, f->converged.items[i]));
    array_clear(&f->converged);
    for (uint32_t i = 0; i < f->adapted.count; i++) {
        const uint32_t l = f->adapted.items[i], bundle = topology_bundle_of_link(n->topology, l);
        const bool up = fabric_is_up(f->fabric, l);
        if (up || bundle != NO_ID) follow(n, bundle, !up);
        if (up && bundle != NO_ID && topology_loses(n->topology)) follow(n, bundle, true);
    }
    array_clear(&f->adapted);
}
